/* report: rows for people, and what a suite comes to. */
#include "report.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define GOAL 0.9

static const way ours[2] = { WAY_PACK, WAY_UNPACK }, by_hand[2] = { WAY_HAND_PACK, WAY_HAND_UNPACK };

double report_rate(const problem *p, double ns) { return ns > 0 ? (double)p->size / ns : 0; } /* bytes per ns are GB/s */

double report_ratio(timing other, timing own) { return measured(own) && measured(other) ? other.ns / own.ns : 0; }

timing report_rival(const measure_row *row, int rival, int dir) {
  if (rival == RIVAL_HAND) return row->way[by_hand[dir]];
  if (rival != RIVAL_BEST) return row->peer[rival - RIVAL_PEER][dir];
  timing best = row->way[by_hand[dir]];
  for (int i = 0; i < PEERS_MAX; i++) {
    const timing t = row->peer[i][dir];
    if (measured(t) && (!measured(best) || t.ns < best.ns)) best = t;
  }
  return best;
}

static int rivals(const report *r) { return RIVAL_PEER + r->rivals->n; }

static const char *rival_name(const report *r, int rival) {
  if (rival == RIVAL_BEST) return "the best";
  return rival == RIVAL_HAND ? "hand" : r->rivals->list[rival - RIVAL_PEER].name;
}

/* ---- the table ---------------------------------------------------------------------------------------------------- */

static void cell(int width, int digits, double v) {
  if (v > 0) printf(" %*.*f", width, v < 9999 ? digits : 0, v);
  else printf(" %*s", width, "-");
}

static void time_cell(double ns) {
  if (ns < 1e4) printf(" %7.1fns", ns);
  else if (ns < 1e7) printf(" %7.1fus", ns / 1e3);
  else printf(" %7.1fms", ns / 1e6);
}

/* With --segment the last column of a direction compares with the whole move, and one of memcpy with its own whole; else with memcpy; peers take
 * its room. */
static void header_direction(const report *r, const char *title) {
  printf(" |%7s%7s%8s", title, "hand", "of hand");
  for (int i = 0; i < r->rivals->n; i++) printf("%9.8s%6s", r->rivals->list[i].name, "of it");
  if (r->rivals->n) printf("%8s", "of best");
  if (r->o->segment) printf("%10s", "of whole");
  else if (!r->rivals->n && !r->o->floor) printf("%10s", "of memcpy");
  if (r->o->floor) printf("%9s", "of floor");
}

static void header(const report *r) {
  for (int i = 0; i < r->rivals->n; i++) {
    const peer *it = &r->rivals->list[i];
    printf("%s is %s%s\n", it->name, it->version, r->o->segment && !it->ranges ? "; it moves no ranges, its figures are those of whole messages" : "");
  }
  printf("%-30s %9s %8s", "GB/s of packed bytes", "bytes", "blocks");
  header_direction(r, "pack");
  header_direction(r, "unpack");
  printf(" |%7s", "memcpy");
  if (r->o->segment) printf("%10s", "of whole");
  if (r->o->floor) printf("%7s", "floor");
  printf(" |%10s%10s\n", "pack", "unpack");
}

static void direction(const report *r, const problem *p, const measure_row *row, int dir) {
  const timing own = row->way[ours[dir]];
  printf(" |");
  cell(6, 2, report_rate(p, own.ns));
  for (int i = RIVAL_HAND; i < rivals(r); i++) {
    const timing other = report_rival(row, i, dir);
    cell(i == RIVAL_HAND ? 6 : 8, 2, report_rate(p, other.ns));
    cell(i == RIVAL_HAND ? 7 : 5, 2, report_ratio(other, own));
  }
  if (r->rivals->n) cell(7, 2, report_ratio(report_rival(row, RIVAL_BEST, dir), own));
  if (r->o->segment) cell(9, 2, report_ratio(row->way[dir ? WAY_WHOLE_UNPACK : WAY_WHOLE_PACK], own));
  else if (!r->rivals->n && !r->o->floor) cell(9, 2, report_ratio(row->way[WAY_MEMCPY], own));
  if (r->o->floor) cell(8, 2, measured(own) ? row->floor_ns / own.ns : 0);
}

static void row_text(const report *r, const problem *p, const measure_row *row) {
  printf("%-30.40s %9" PRId64 " %8" PRId64, p->name, p->size, p->runs);
  direction(r, p, row, 0);
  direction(r, p, row, 1);
  printf(" |");
  cell(6, 1, report_rate(p, row->way[WAY_MEMCPY].ns));
  if (r->o->segment) cell(9, 2, report_ratio(row->way[WAY_MEMCPY], row->way[WAY_SPLIT_MEMCPY]));
  if (r->o->floor) cell(6, 1, report_rate(p, row->floor_ns));
  printf(" |");
  time_cell(row->way[WAY_PACK].ns);
  time_cell(row->way[WAY_UNPACK].ns);
  printf("\n");
  for (int i = 0; i < r->rivals->n; i++)
    if (row->note[i][0]) printf("  %s not measured: %s\n", r->rivals->list[i].name, row->note[i]);
}

/* ---- sums --------------------------------------------------------------------------------------------------------- */

static void count_score(score *s, double x, const char *name) {
  if (!s->n || x < s->least) {
    s->least = x;
    s->worst = name;
  }
  s->n++;
  s->log_sum += log(x);
  s->below += x < GOAL;
}

static void count_in(tally *t, const problem *p, const measure_row *row) {
  t->problems++;
  t->with_hand += p->hand && p->size;
  for (int i = 0; p->size && i < RIVALS; i++)
    for (int dir = 0; dir < 2; dir++) {
      double x = report_ratio(report_rival(row, i, dir), row->way[ours[dir]]);
      if (x > 0) count_score(&t->score[i][dir], x, p->name);
    }
}

static void add_score(score *s, const score *more) {
  if (!more->n) return;
  if (!s->n || more->least < s->least) {
    s->least = more->least;
    s->worst = more->worst;
  }
  s->n += more->n;
  s->log_sum += more->log_sum;
  s->below += more->below;
}

void report_add(tally *sum, const tally *t) {
  sum->problems += t->problems;
  sum->with_hand += t->with_hand;
  for (int i = 0; i < RIVALS; i++)
    for (int dir = 0; dir < 2; dir++) add_score(&sum->score[i][dir], &t->score[i][dir]);
}

/* ---- public ------------------------------------------------------------------------------------------------------- */

void report_header(const report *r) {
  if (r->csv) report_csv_header(r);
  else header(r);
}

void report_row(const report *r, const problem *p, const measure_row *row, tally *t) {
  if (r->csv) report_csv_row(r, p, row);
  else row_text(r, p, row);
  fflush(stdout);
  count_in(t, p, row);
}

void report_summary(const report *r, const char *name, const tally *t) {
  FILE *out = r->csv ? stderr : stdout;
  fprintf(out, "%s: %d problems, %d with a hand-written loop\n", *name ? name : "command line", t->problems, t->with_hand);
  for (int i = r->rivals->n ? RIVAL_BEST : RIVAL_HAND; i < rivals(r); i++)
    for (int dir = 0; dir < 2; dir++) {
      const score *s = &t->score[i][dir];
      if (s->n)
        fprintf(out, "  %-6s of %s: geometric mean %.2f, least %.2f (%s), %d of %d below %.1f\n", dir ? "unpack" : "pack", rival_name(r, i),
                exp(s->log_sum / s->n), s->least, s->worst, s->below, s->n, GOAL);
    }
  if (!r->csv) fprintf(out, "\n");
}
