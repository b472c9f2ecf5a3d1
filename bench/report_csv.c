/* report_csv: rows for programs (compare, plot). Columns are only ever added at the end; what was not measured is empty. */
#include "floor.h"
#include "report.h"
#include <inttypes.h>
#include <stdio.h>

static const struct { const char *name; way way; } ways[] = {
  { "pack", WAY_PACK }, { "unpack", WAY_UNPACK }, { "hand_pack", WAY_HAND_PACK }, { "hand_unpack", WAY_HAND_UNPACK }, { "memcpy", WAY_MEMCPY },
};
#define WAYS ((int)(sizeof ways / sizeof *ways))

static const char *const dirs[2] = { "pack", "unpack" };

static void names(const char *suffix) {
  for (int i = 0; i < WAYS; i++) printf(",%s%s", ways[i].name, suffix);
}

void report_csv_header(const report *r) {
  printf("suite,name,bytes,blocks");
  names("_gbs");
  printf(",pack_vs_hand,unpack_vs_hand,pack_vs_memcpy,unpack_vs_memcpy");
  names("_ns");
  printf(",segment,pack_vs_whole,unpack_vs_whole,cold");
  for (int i = 0; i < WAYS; i++) printf(",%s_q1_ns,%s_q3_ns", ways[i].name, ways[i].name);
  printf(",lines,floor_ns,floor_gbs,pack_of_floor,unpack_of_floor,pack_vs_best,unpack_vs_best,touched");
  for (int i = 0; i < r->rivals->n; i++) {
    const char *name = r->rivals->list[i].name;
    for (int dir = 0; dir < 2; dir++)
      printf(",%s_%s_ns,%s_%s_q1_ns,%s_%s_q3_ns,%s_vs_%s", name, dirs[dir], name, dirs[dir], name, dirs[dir], dirs[dir], name);
    printf(",%s_note", name);
  }
  printf(",memcpy_vs_whole\n");
}

static void value(double v) {
  if (v > 0) printf(",%.4g", v);
  else printf(",");
}

static void text(const char *s) {
  if (strpbrk(s, ",\"\n")) {
    putchar('"');
    for (; *s; s++) printf(*s == '"' ? "\"\"" : *s == '\n' ? " " : "%c", *s);
    putchar('"');
  } else printf("%s", s);
}

static void peer_values(const report *r, const measure_row *row) {
  for (int i = 0; i < r->rivals->n; i++) {
    for (int dir = 0; dir < 2; dir++) {
      const timing t = row->peer[i][dir];
      value(t.ns);
      value(t.q1);
      value(t.q3);
      value(report_ratio(t, row->way[ways[dir].way]));
    }
    putchar(',');
    text(row->note[i]);
  }
}

void report_csv_row(const report *r, const problem *p, const measure_row *row) {
  const timing *t = row->way, own[2] = { t[WAY_PACK], t[WAY_UNPACK] };
  const way whole[2] = { WAY_WHOLE_PACK, WAY_WHOLE_UNPACK };
  text(p->suite);
  putchar(',');
  text(p->name);
  printf(",%" PRId64 ",%" PRId64, p->size, p->runs);
  for (int i = 0; i < WAYS; i++) value(report_rate(p, t[ways[i].way].ns));
  for (int dir = 0; dir < 2; dir++) value(report_ratio(report_rival(row, RIVAL_HAND, dir), own[dir]));
  for (int dir = 0; dir < 2; dir++) value(report_ratio(t[WAY_MEMCPY], own[dir]));
  for (int i = 0; i < WAYS; i++) value(t[ways[i].way].ns);
  printf(",%" PRId64, r->o->segment);
  for (int dir = 0; dir < 2; dir++) value(report_ratio(t[whole[dir]], own[dir]));
  printf(",%" PRId64, r->o->cold);
  for (int i = 0; i < WAYS; i++) {
    value(t[ways[i].way].q1);
    value(t[ways[i].way].q3);
  }
  printf(",%" PRId64, row->lines);
  value(row->floor_ns);
  value(report_rate(p, row->floor_ns));
  for (int dir = 0; dir < 2; dir++) value(measured(own[dir]) ? row->floor_ns / own[dir].ns : 0);
  for (int dir = 0; dir < 2; dir++) value(report_ratio(report_rival(row, RIVAL_BEST, dir), own[dir]));
  printf(",%" PRId64, row->lines * FLOOR_LINE);
  peer_values(r, row);
  value(report_ratio(t[WAY_MEMCPY], t[WAY_SPLIT_MEMCPY]));
  printf("\n");
}
