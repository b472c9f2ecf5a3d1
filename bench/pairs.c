/* pairs: `lbench copy`. All ways take their samples in rounds, as those of `lbench time` do. */
#include "pairs.h"
#include "floor.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { COPY, STAGED, BY_HAND, WAYS };

typedef struct pair {
  char *text;
  const char *name;
  problem side[2];            /* source, destination */
  pair_part part[PAIR_PARTS];
  int parts;
  sampler s[2];
} pair;

typedef struct score { int n; double log_sum, least; char worst[64]; } score;
typedef struct run { const pairs_options *o; score score[WAYS]; int done, status; } run;

static int refuse(const char *name, const char *why) {
  fprintf(stderr, "lbench: %s: %s\n", name, why);
  return 2;
}

/* ---- reading ------------------------------------------------------------------------------------------------------- */

/* `8 @0:64 256x8:2080 256x2112:8 :30`: elements of 8 bytes, where both sides start, loops outermost first with the strides of both,
 * elements in a row. */
static bool read_part(pair_part *p, char *text) {
  int64_t dims = 0, n[PAIR_DIMS], ss[PAIR_DIMS], ds[PAIR_DIMS];
  char *save;
  *p = (pair_part){ .run = 1 };
  for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
    if (!p->width) p->width = strtoll(word, NULL, 10);
    else if (sscanf(word, "@%" SCNd64 ":%" SCNd64, &p->src, &p->dst) == 2 || sscanf(word, ":%" SCNd64, &p->run) == 1) continue;
    else if (dims == PAIR_DIMS || sscanf(word, "%" SCNd64 "x%" SCNd64 ":%" SCNd64, &n[dims], &ss[dims], &ds[dims]) != 3) return false;
    else dims++;
  }
  for (int64_t i = 0; i < PAIR_DIMS; i++) {
    const int64_t k = i - (PAIR_DIMS - dims);
    p->n[i] = k < 0 ? 1 : n[k], p->ss[i] = k < 0 ? 0 : ss[k], p->ds[i] = k < 0 ? 0 : ds[k];
  }
  return p->width == 1 || p->width == 4 || p->width == 8 || p->width == 16;
}

static bool read_hand(pair *q, char *text) {
  char *save;
  if (strcmp(text, "-") == 0) return true;
  for (char *part = strtok_r(text, "+", &save); part; part = strtok_r(NULL, "+", &save))
    if (q->parts == PAIR_PARTS || !read_part(&q->part[q->parts++], part)) return false;
  return true;
}

static char *field(char **rest) {
  char *s = *rest, *bar = s ? strchr(s, '|') : NULL;
  if (!s) return NULL;
  *rest = bar ? bar + 1 : NULL;
  if (bar) *bar = 0;
  while (*s == ' ') s++;
  for (char *end = s + strlen(s); end > s && end[-1] == ' ';) *--end = 0;
  return s;
}

static bool open_side(problem *p, const char *name, const char *type, char *fault, size_t cap) {
  const int64_t room = (int64_t)(strlen(name) + strlen(type)) + 16;
  char *line = bench_alloc(room);
  snprintf(line, (size_t)room, "%s | 1 | - | %s", name, type);
  bool ok = problem_read(p, line, fault, cap);
  ldg_free(line);
  if (!ok || problem_open(p, fault, cap)) return ok;
  ldg_free(p->text);
  return false;
}

static void close_side(problem *p) {
  problem_close(p);
  ldg_free(p->text);
}

static bool open_pair(pair *q, const char *line, char *fault, size_t cap) {
  *q = (pair){ .text = bench_alloc((int64_t)strlen(line) + 1) };
  memcpy(q->text, line, strlen(line));
  char *rest = q->text, *name = field(&rest), *loops = field(&rest), *from = field(&rest), *to = field(&rest);
  q->name = name;
  snprintf(fault, cap, "a pair is 'name | hand loops or - | source type | destination type'");
  if (!to || rest || !read_hand(q, loops) || !open_side(&q->side[0], name, from, fault, cap)) return ldg_free(q->text), false;
  if (open_side(&q->side[1], name, to, fault, cap)) {
    if (q->side[0].size == q->side[1].size) return true;
    snprintf(fault, cap, "the source has %" PRId64 " bytes, the destination %" PRId64, q->side[0].size, q->side[1].size);
    close_side(&q->side[1]);
  }
  close_side(&q->side[0]);
  ldg_free(q->text);
  return false;
}

static void close_pair(pair *q) {
  for (int i = 0; i < 2; i++) close_side(&q->side[i]);
  ldg_free(q->text);
}

/* ---- the ways: the source's sampler is turned, the destination's goes along ------------------------------------------- */

static void copy_way(sampler *s, int64_t reps) {
  pair *q = s->arg;
  while (reps-- > 0) {
    const copy *a = sampler_turn(&q->s[0]), *b = sampler_turn(&q->s[1]);
    lading_copy(q->side[0].type, 1, a->mem, q->side[1].type, 1, b->mem, 0, q->side[0].size);
  }
}

static void staged_way(sampler *s, int64_t reps) {
  pair *q = s->arg;
  while (reps-- > 0) {
    const copy *a = sampler_turn(&q->s[0]), *b = sampler_turn(&q->s[1]);
    lading_pack(q->side[0].type, 1, a->mem, a->packed, 0, q->side[0].size);
    lading_unpack(q->side[1].type, 1, b->mem, a->packed, 0, q->side[0].size);
  }
}

static void hand_way(sampler *s, int64_t reps) {
  pair *q = s->arg;
  while (reps-- > 0) {
    const copy *a = sampler_turn(&q->s[0]), *b = sampler_turn(&q->s[1]);
    for (int i = 0; i < q->parts; i++) pair_hand_move(&q->part[i], a->mem, b->mem);
  }
}

static batch *const ways[WAYS] = { copy_way, staged_way, hand_way };
static bool has(const pair *q, int which) { return which != BY_HAND || q->parts > 0; }

/* Every way has to leave the source's stream in the destination. */
static bool right(pair *q, int which) {
  const copy *a = &q->s[0].copy[0], *b = &q->s[1].copy[0];
  const int64_t n = q->side[0].size;
  for (int i = 0; i < 2; i++) q->s[i].next = 0;
  lading_unpack(q->side[1].type, 1, b->mem, b->packed, 0, n); /* something else */
  ways[which](&q->s[0], 1);
  lading_pack(q->side[0].type, 1, a->mem, a->packed, 0, n);
  lading_pack(q->side[1].type, 1, b->mem, b->other, 0, n);
  return memcmp(a->packed, b->other, (size_t)n) == 0;
}

/* ---- sampling ------------------------------------------------------------------------------------------------------ */

static void sample(pair *q, int samples, timing *t) {
  static double ns[WAYS][SAMPLES_MAX];
  int64_t reps[WAYS] = { 0 };
  for (int w = 0; w < WAYS; w++)
    if (has(q, w)) reps[w] = sampler_calibrate(&q->s[0], ways[w]);
  for (int i = 0; i < samples; i++)
    for (int w = 0; w < WAYS; w++)
      if (has(q, w)) ns[w][i] = sampler_time(&q->s[0], ways[w], reps[w]);
  for (int w = 0; w < WAYS; w++) t[w] = sampler_stats(ns[w], has(q, w) ? samples : 0);
}

/* Bytes of the cache lines of both arrays: those that the copy has to touch. */
static int64_t touched(const pair *q) { return floor_touched(&q->side[0]) + floor_touched(&q->side[1]) - 2 * ((q->side[0].size + FLOOR_LINE - 1) & -FLOOR_LINE); }

static bool open_memory(pair *q, const measure_options *o) {
  for (int i = 0; i < 2; i++) {
    q->s[i] = (sampler){ .p = &q->side[i], .min_ns = o->min_ns, .arg = q };
    if (!sampler_size(&q->s[i], o->cold, touched(q), 2)) return false;
  }
  const int copies = (int)ldg_min(q->s[0].copies, q->s[1].copies);
  for (int i = 0; i < 2; i++) {
    q->s[i].copies = copies;
    if (sampler_open(&q->s[i], true)) continue;
    if (i) sampler_close(&q->s[0]);
    return false;
  }
  return true;
}

/* ---- the table ------------------------------------------------------------------------------------------------------- */

static void count(score *s, double x, const char *name) {
  if (!s->n || x < s->least) {
    s->least = x;
    snprintf(s->worst, sizeof s->worst, "%s", name);
  }
  s->n++;
  s->log_sum += log(x);
}

static void print_row(run *r, const pair *q, const timing *t) {
  printf("%-28s %8" PRId64 " %7" PRId64 " %7" PRId64 " |", q->name, q->side[0].size, q->side[0].runs, q->side[1].runs);
  for (int w = 0; w < WAYS; w++)
    if (measured(t[w])) printf(" %9.2f", t[w].ns / 1e3);
    else printf(" %9s", "-");
  printf(" |");
  for (int w = STAGED; w < WAYS; w++) {
    if (!measured(t[w])) printf(" %9s", "-");
    else printf(" %9.2f", t[w].ns / t[COPY].ns);
    if (measured(t[w])) count(&r->score[w], t[w].ns / t[COPY].ns, q->name);
  }
  printf("\n");
  fflush(stdout);
}

static int time_pair(run *r, pair *q) {
  const measure_options *o = r->o->measure;
  timing t[WAYS];
  int bad = WAYS;
  if (!open_memory(q, o)) return refuse(q->name, "needs more memory than there is");
  for (int w = 0; w < WAYS; w++)
    if (has(q, w) && !right(q, w)) bad = w;
  if (bad == WAYS) sample(q, (int)ldg_max(1, ldg_min(o->samples, SAMPLES_MAX)), t);
  for (int i = 0; i < 2; i++) sampler_close(&q->s[i]);
  if (bad == BY_HAND) return refuse(q->name, "the hand loop does not copy what the types do");
  if (bad != WAYS) return refuse(q->name, "the copy is WRONG"), 1;
  print_row(r, q, t);
  return 0;
}

static void summary(const run *r) {
  static const char *const whom[WAYS] = { "", "pack + unpack", "hand" };
  for (int w = STAGED; w < WAYS; w++) {
    const score *s = &r->score[w];
    if (s->n) printf("  of %s: geometric mean %.2f, least %.2f (%s), %d pairs\n", whom[w], exp(s->log_sum / s->n), s->least, s->worst, s->n);
  }
}

/* ---- the list -------------------------------------------------------------------------------------------------------- */

static void one_line(run *r, const char *line) {
  char fault[512];
  pair q;
  int rc = 0;
  if (!open_pair(&q, line, fault, sizeof fault)) {
    r->status = refuse(line, fault);
    return;
  }
  if (!r->o->filter || regexec(r->o->filter, q.name, 0, NULL, 0) == 0) rc = time_pair(r, &q), r->done++;
  if (rc > r->status) r->status = rc;
  close_pair(&q);
}

static bool is_named(const char *line, const char *name) {
  const size_t n = strlen(name);
  return strncmp(line, name, n) == 0 && line[n + strspn(line + n, " ")] == '|';
}

/* A fifth field is an op: such pairs are for lading-jit. */
static bool has_op(const char *line) {
  int bars = 0;
  for (; *line; line++) bars += *line == '|';
  return bars > 3;
}

/* The lines of a file; only the one of that name unless it is NULL. */
static void each_line(run *r, const char *path, const char *name) {
  char *line = NULL;
  size_t cap = 0;
  FILE *f = fopen(path, "r");
  if (!f) {
    r->status = refuse(path, "cannot be read");
    return;
  }
  while (getline(&line, &cap, f) > 0) {
    line[strcspn(line, "\n")] = 0;
    if (*line && *line != '#' && !has_op(line) && (!name || is_named(line, name))) one_line(r, line);
  }
  free(line);
  fclose(f);
}

static void one_what(run *r, const char *what, const char *all) {
  const int before = r->done;
  if (strchr(what, '|')) one_line(r, what);
  else if (strstr(what, ".pairs")) each_line(r, what, NULL);
  else each_line(r, all, what);
  if (r->done == before && !r->status && !r->o->filter) r->status = refuse(what, "is no pair; see copy.pairs");
}

int pairs_run(const pairs_options *o) {
  char all[4600];
  run r = { .o = o };
  snprintf(all, sizeof all, "%s/copy.pairs", o->dir);
  printf("%-28s %8s %7s %7s | %9s %9s %9s | %9s %9s\n", "us of one copy; of: times it", "bytes", "blocks", "to", "copy", "pack+unp.", "hand",
         "of p+u", "of hand");
  if (!o->n_what) each_line(&r, all, NULL);
  for (int i = 0; i < o->n_what; i++) one_what(&r, o->what[i], all);
  summary(&r);
  return r.done || r.status ? r.status : refuse("copy", "no pair matches --filter");
}
