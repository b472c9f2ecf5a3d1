/* calibrate_numbers: overheads, as what is left of a time when the blocks in it are paid for; thresholds, as the place from which
 * on one loop beats another. */
#include "calibrate_numbers.h"
#include "api.h"
#include "plan_tree.h"
#include "problem.h"
#include <math.h>
#include <pthread.h>

/* ---- overheads ---------------------------------------------------------------------------------------------------------- */

static double of_nest(const bench_pools *p, const ldg_nest *n, const char *name) {
  ldg_job j;
  ldg_nest once = *n;
  once.once = true; /* one kernel, and not the best one of those that are tried */
  ldg_plan_nest(&j, &once, name, NULL);
  return calibrate_warm(&j, p->strided, p->dense, n->dim[n->nd - 1].n);
}

static double near8(const ldg_model *m) { return (double)m->block[3] * 1e-3; } /* ns of a block of 8 bytes: read, near, L1 */

double calibrate_call(const bench_pools *p) {
  const ldg_nest one = { .block = 8, .nd = 1, .dim = { { 1, 16, 8 } } };
  double least = 1e9;
  for (int i = 0; i < 20; i++) least = fmin(least, of_nest(p, &one, "block"));
  return least;
}

static double row_ns(const bench_pools *p, const ldg_model *m) {
  const ldg_nest rows = { .block = 8, .nd = 2, .dim = { { 4, 16, 8 }, { 64, 80, 32 } } };
  double least = 1e9;
  for (int i = 0; i < 20; i++) least = fmin(least, of_nest(p, &rows, "block"));
  return fmax(0, (least - p->call) / 64 - 4 * near8(m));
}

/* One tile of 4 x 4 elements of 16 bytes. */
static double tiled_ns(const bench_pools *p, const ldg_model *m) {
  const ldg_nest tile = { .block = 16, .nd = 2, .dim = { { 4, 128, 16 }, { 4, 16, 64 } } };
  double least = 1e9;
  for (int i = 0; i < 20; i++) least = fmin(least, of_nest(p, &tile, "transpose"));
  return fmax(0, least - p->call - 16 * (double)m->transpose[4] * 1e-3);
}

/* A plan of `text` with one strategy at its root: ns of the whole item. */
static double of_type(const bench_pools *p, const char *text, const char *force) {
  const ldg_plan *made, *plan;
  lading_type *t;
  double least = 1e9;
  if (lading_type_parse(text, &t) != LADING_OK) return 0;
  if (ldg_api_plan(t, &made) == LADING_OK && ldg_plan_forced(made->layout, made->extent, force, &plan) == LADING_OK) {
    const ldg_job *j = &plan->one.job[LDG_PACK];
    for (int i = 0; i < 20; i++) least = fmin(least, calibrate_warm(j, p->strided, p->dense, plan->one.n));
    ldg_plan_release(plan);
  }
  lading_type_free(t);
  return least < 1e9 ? least : 0;
}

/* 32 items of two short strided loops: three children an item, with their join. */
static const char fields[] = "(repeat 32 512 (join (0 (repeat 4 16 (bytes 8))) (256 (repeat 4 24 (bytes 8)))))";

static double child_ns(const bench_pools *p, const ldg_model *m) {
  const double loops = 64 * (p->call + 4 * near8(m));
  return fmax(0, (of_type(p, fields, "/loop") - p->call - loops) / 96);
}
/* Random lengths of 1 to 64 bytes, a line each. */
#define BLOCKS 240
typedef struct ragged { int64_t at[BLOCKS], sum[BLOCKS + 1]; } ragged;
static void make_ragged(ragged *r) {
  uint64_t seed = 5;
  r->sum[0] = 0;
  for (int i = 0; i < BLOCKS; i++) r->at[i] = 64 * i, r->sum[i + 1] = r->sum[i] + 1 + (int64_t)(splitmix64(&seed) % 64);
}

static double varlist_ns(const bench_pools *p, const ldg_model *m) {
  ragged r;
  double least = 1e9, each = 0;
  make_ragged(&r);
  for (int i = 0; i < BLOCKS; i++) each += (double)m->list[63 - __builtin_clzll((uint64_t)(r.sum[i + 1] - r.sum[i]))] * 1e-3 / BLOCKS;
  const ldg_nest nest = { .block = 1, .nd = 1, .dim = { { BLOCKS, 0, 1 } }, .at = r.at, .psum = r.sum, .span = 64 * BLOCKS };
  for (int i = 0; i < 20; i++) least = fmin(least, of_nest(p, &nest, "varlist"));
  return fmax(0, (least - p->call) / BLOCKS - each);
}

/* Fields of 9 of 16 bytes: the machines that shuffle only lanes of 4 bytes are measured on 4 of 8. */
static double shuffle_ns(const bench_pools *p, int64_t windows) {
  const ldg_nest bytes = { .block = 9, .nd = 1, .dim = { { 4 * windows, 16, 9 } } };
  const ldg_nest lanes = { .block = 4, .nd = 1, .dim = { { 8 * windows, 8, 4 } } };
  double least = 1e9;
  ldg_job j;
  ldg_plan_nest(&j, &bytes, "shuffle", NULL);
  const ldg_nest *n = strcmp(j.name, "shuffle") ? &lanes : &bytes;
  ldg_plan_nest(&j, n, "shuffle", NULL);
  if (strcmp(j.name, "shuffle")) return 0; /* no machine for it, so nobody asks */
  for (int i = 0; i < 20; i++) least = fmin(least, of_nest(p, n, "shuffle"));
  return fmax(0, (least - p->call) / (double)windows);
}

/* Two blocks a window, as one of 12 bytes is none where there are no masks; whatever a window holds. */
static double window_ns(const bench_pools *p) {
  const ldg_nest n = { .block = 4, .nd = 2, .dim = { { 2, 12, 4 }, { 256, 40, 8 } } };
  double least = 1e9;
  ldg_job j;
  ldg_plan_nest(&j, &n, "window", NULL);
  if (strcmp(j.name, "window")) return 0; /* no machine for it, so nobody asks */
  for (int i = 0; i < 20; i++) least = fmin(least, of_nest(p, &n, "window"));
  return fmax(0, (least - p->call) / (256 + 5)); /* with those that a row takes more: cost.h */
}

/* The walk is left for what is irregular, so that is what it is measured on: its branches go wrong there. */
static double walk_ns(const bench_pools *p, const ldg_model *m) {
  static char text[BLOCKS * 32];
  const char *at = text;
  const ldg_rep *rep;
  double least = 1e9;
  ragged r;
  ldg_text t;
  make_ragged(&r);
  ldg_text_init(&t, text, sizeof text);
  ldg_text_add(&t, "(join");
  for (int i = 0; i < BLOCKS; i++) ldg_text_add(&t, " (%lld (bytes %lld))", (long long)r.at[i], (long long)(r.sum[i + 1] - r.sum[i]));
  ldg_text_add(&t, ")");
  if (ldg_rep_read(&at, &rep) != LADING_OK) return 0;
  for (int i = 0; i < 200; i++) {
    const double start = calibrate_now();
    for (int k = 0; k < 20; k++) ldg_tree_walk(rep, LDG_PACK, p->strided, p->dense, 0, rep->size);
    least = fmin(least, (calibrate_now() - start) / 20);
  }
  ldg_rep_free(rep);
  return fmax(0, least / BLOCKS - (double)m->block[LDG_MODEL_PAGE * LDG_MODEL_LEVELS * LDG_MODEL_BLOCKS + 5] * 1e-3);
}

/* Rows of twelve doubles, four at a time. */
static double reduced_ns(const bench_pools *p) {
  enum { ROWS = 64, FOURS = 3, ROW = 4 * FOURS * sizeof(double) };
  const ldg_op *op = ldg_plan_op(LADING_SUM, LADING_DOUBLE);
  double least = 1e9;
  memset(p->strided, 0, ROWS * 2 * ROW), memset(p->dense, 0, ROWS * ROW); /* numbers of the usual kind */
  for (int i = 0; i < 200; i++) {
    const double start = calibrate_now();
    for (int k = 0; k < 20; k++) op->strided(p->strided, p->dense, ROWS, 4 * FOURS, 2 * ROW, ROW);
    least = fmin(least, (calibrate_now() - start) / 20);
  }
  return fmax(0, (least - p->call) / (ROWS * FOURS));
}

/* ---- threads ---------------------------------------------------------------------------------------------------------- */

typedef struct bell { pthread_mutex_t lock; pthread_cond_t rings; int turn, rounds; } bell;

static void pass(bell *b, int me) {
  pthread_mutex_lock(&b->lock);
  for (int i = 0; i < b->rounds; i++) {
    while (b->turn != me) pthread_cond_wait(&b->rings, &b->lock);
    b->turn = !me;
    pthread_cond_signal(&b->rings);
  }
  pthread_mutex_unlock(&b->lock);
}
static void *answer(void *arg) { return pass(arg, 1), NULL; }

/* A thread that sleeps is woken, and wakes the one that called it. */
static double wake_ns(void) {
  double least = 1e9;
  for (int i = 0; i < 50; i++) {
    bell b = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 50 };
    pthread_t other;
    if (pthread_create(&other, NULL, answer, &b) != 0) return 50e3;
    const double start = calibrate_now();
    pass(&b, 0);
    pthread_join(other, NULL);
    least = fmin(least, (calibrate_now() - start) / b.rounds);
  }
  return least;
}

/* ---- prefetch --------------------------------------------------------------------------------------------------------- */

static const int distances[] = { 0, 8, 12, 16, 24, 32, 48, 64 };
enum { DISTANCES = sizeof distances / sizeof distances[0], ENTRIES = 1 << 15, AROUND = 8 << 20 };

static double gather_ns(const bench_pools *p, const ldg_nest *n, int ahead, int64_t shift) {
  const ldg_model *before = ldg_model_get();
  ldg_model m = *before;
  ldg_job j;
  m.number[LDG_MODEL_PREFETCH] = ahead;
  ldg_model_use(&m);
  ldg_plan_nest(&j, n, "list", NULL);
  ldg_model_use(before);
  const double start = calibrate_now();
  j.run(&j, p->strided + shift, p->dense, 0, ENTRIES);
  return calibrate_now() - start;
}

/* The best distance for entries scattered over some MiB, of 12 bytes: they take two moves each, so fewer of them are in flight by themselves. */
static int prefetch_ahead(const bench_pools *p) {
  int64_t *at = bench_alloc(ENTRIES * (int64_t)sizeof *at);
  int32_t *at4 = bench_alloc(ENTRIES * (int64_t)sizeof *at4);
  const ldg_nest n = { .block = 12, .nd = 1, .dim = { { ENTRIES, 0, 12 } }, .at = at, .at4 = at4, .span = p->bytes, .once = true };
  double ns[DISTANCES];
  uint64_t seed = 3;
  int best = 0;
  for (int i = 0; i < ENTRIES; i++) at[i] = at4[i] = (int32_t)(splitmix64(&seed) % (uint64_t)(AROUND / 64) * 64);
  for (int i = 0; i < DISTANCES; i++) ns[i] = 1e18;
  for (int round = 0; round < 24; round++)
    for (int i = 0; i < DISTANCES; i++) ns[i] = fmin(ns[i], gather_ns(p, &n, distances[i], (round * DISTANCES + i) * 64 * 23));
  ldg_free(at), ldg_free(at4);
  for (int i = 1; i < DISTANCES; i++) best = ns[i] < 0.95 * ns[best] ? i : best; /* it has to be worth it */
  return distances[best];
}

/* ---- lanes ------------------------------------------------------------------------------------------------------------- */

/* Blocks out of lines of their own, in cache, one by one and put together, by turns: what a model that says either takes, in the mean over those that this machine has both ways for. */
static bool gains_by(const bench_pools *p, ldg_model_name name, const int64_t *blocks, int n, int64_t stride, int64_t rows) {
  const ldg_model *before = ldg_model_get();
  ldg_model says = *before;
  double gains = 0;
  int both = 0;
  for (int k = 0; k < n; k++) {
    const ldg_nest nest = { .block = blocks[k], .nd = 1, .dim = { { rows, stride, blocks[k] } }, .once = true };
    double ns[2] = { 1e9, 1e9 };
    ldg_job j[2];
    for (int lanes = 0; lanes < 2; lanes++) {
      says.number[name] = lanes;
      ldg_model_use(&says);
      ldg_plan_nest(&j[lanes], &nest, "block", NULL);
      ldg_model_use(before);
    }
    for (int i = 0; i < 80; i++) ns[i % 2] = fmin(ns[i % 2], calibrate_warm(&j[i % 2], p->strided, p->dense, rows));
    if (j[0].run != j[1].run) gains += log(ns[0] / ns[1]), both++;
  }
  return gains > both * log(1 / 0.97);
}
int64_t calibrate_lanes(const bench_pools *p) { return gains_by(p, LDG_MODEL_LANES, (const int64_t[]){ 2, 4, 8 }, 3, 64, 240); }
int64_t calibrate_joined(const bench_pools *p) { return gains_by(p, LDG_MODEL_JOINED, (const int64_t[]){ 12, 24, 40, 72, 120 }, 5, 280, 64); }

/* ---- columns ----------------------------------------------------------------------------------------------------------- */

enum { MEETINGS = 5, POWERS = 4, LENGTHS = 2, PAGE = 4096 }; /* columns of 1, 2, 4, 8 sets, a short one and a long one */

/* What a column takes by `paced`, by what it takes without; 1 where it has too few blocks. */
static double gain_of(const bench_pools *p, int side, int64_t block, int power, int64_t rows) {
  const int64_t stride = PAGE >> power;
  const int64_t src = side == LDG_MODEL_READ ? stride : block, dst = side == LDG_MODEL_READ ? block : stride;
  const ldg_nest column = { .block = block, .nd = 1, .dim = { { rows, src, dst } }, .once = true }; /* so that it is not only tried */
  double paced = 1e18, plain = 1e18;
  ldg_job j;
  ldg_plan_nest(&j, &column, "paced", NULL);
  if (strcmp(j.name, "paced")) return 1;
  for (int k = 0; k < 12; k++) paced = fmin(paced, of_nest(p, &column, "paced")), plain = fmin(plain, of_nest(p, &column, "block"));
  return paced / plain;
}

/* By groups of so many lines a set: the mean of both lengths. */
static double by_groups(const bench_pools *p, int side, int64_t block, int power, int64_t lines) {
  static const int64_t rows[LENGTHS] = { 128, 1024 };
  const ldg_model *before = ldg_model_get();
  ldg_model m = *before;
  double times = 1;
  m.number[LDG_MODEL_MEET] = m.number[LDG_MODEL_MEET_WRITTEN] = lines;
  m.number[LDG_MODEL_SETS] = m.number[LDG_MODEL_SETS_WRITTEN] = m.number[LDG_MODEL_SETS_WHOLE] = 1 << power;
  m.number[LDG_MODEL_SETS_APART] = 0;
  ldg_model_use(&m);
  for (int i = 0; i < LENGTHS; i++) times *= sqrt(gain_of(p, side, block, power, rows[i]));
  ldg_model_use(before);
  return times;
}

/* By which lines a set columns of doubles gain most, and of up to how many sets; lines written whole go by the former. */
static void lines_to_meet(const bench_pools *p, int side, int64_t *meet, int64_t *sets) {
  static const int64_t lines[MEETINGS] = { 1, 2, 4, 8, 16 };
  double best = 1;
  *meet = *sets = 0;
  for (int i = 0; i < MEETINGS; i++) {
    double all = 1, times = 0;
    for (int power = 0; power < POWERS && (times = by_groups(p, side, 8, power, lines[i])) < 0.9; power++)
      if ((all *= times) < 0.97 * best) best = all, *meet = lines[i], *sets = 1 << power;
  }
}
static int64_t sets_whole(const bench_pools *p, int64_t meet) {
  int power = 0;
  while (meet && power < POWERS && by_groups(p, LDG_MODEL_WRITE, 64, power, meet) < 0.9) power++;
  return power ? 1 << (power - 1) : 0;
}

/* Of up to how many sets columns gain by blocks that are kept apart: those that reach twice over the second cache, and are read. */
static int64_t sets_apart(const bench_pools *p) {
  const ldg_model *before = ldg_model_get();
  ldg_model m = *before;
  int64_t sets = 0;
  double times = 0;
  m.number[LDG_MODEL_SETS] = 0;
  for (int power = 1; power < POWERS && times < 0.95; power++) {
    m.number[LDG_MODEL_SETS_APART] = 1 << power;
    ldg_model_use(&m);
    const int64_t rows = ldg_min(4 * (int64_t)ldg_model_footprint(LDG_MODEL_L2), p->bytes / 2) / (PAGE >> power);
    times = sqrt(gain_of(p, LDG_MODEL_READ, 8, power, rows) * gain_of(p, LDG_MODEL_READ, 32, power, rows));
    if (times < 0.95) sets = 1 << power;
  }
  ldg_model_use(before);
  return sets;
}

/* What keeps blocks of a column of one set apart best, so many of that between two, the most first: of columns of some lengths that are written, or of longer ones, beyond the second cache, that
 * are read. Fewer have to be worth it. What is measured is the mean of the least times of each length, as parts of those by the first number; where `paced` refuses a column, that it is. */
enum { SLOTS = 4, COLUMNS = 3 };
static int64_t best_slots(const bench_pools *p, int side, ldg_model_name name, const int64_t slots[SLOTS]) {
  const bool reads = side == LDG_MODEL_READ;
  const int64_t longest = ldg_min(16 * (int64_t)ldg_model_footprint(LDG_MODEL_L2), p->bytes / 2) / PAGE, block = reads ? 32 : 8;
  const ldg_model *before = ldg_model_get();
  ldg_model m[SLOTS];
  double ns[SLOTS][COLUMNS], all[SLOTS] = { 0 };
  int best = 0;
  for (int i = 0; i < SLOTS; i++) {
    m[i] = *before, m[i].number[name] = slots[i];
    m[i].number[LDG_MODEL_PACE] = m[i].number[LDG_MODEL_MEET] = 0, m[i].number[LDG_MODEL_MEET_WRITTEN] = 1, m[i].number[LDG_MODEL_SETS_WRITTEN] = m[i].number[LDG_MODEL_SETS_APART] = 8;
    for (int k = 0; k < COLUMNS; k++) ns[i][k] = 1e18;
  }
  for (int round = 0; round < 12; round++)
    for (int k = 0; k < COLUMNS; k++)
      for (int i = 0; i < SLOTS; i++) {
        const ldg_nest column = { .block = block, .nd = 1, .dim = { { longest >> (reads ? k : 2 * k), reads ? PAGE : block, reads ? block : PAGE } }, .once = true };
        ldg_job j;
        ldg_model_use(&m[i]);
        ldg_plan_nest(&j, &column, "paced", NULL);
        if (strcmp(j.name, "paced")) return ldg_model_use(before), slots[0];
        ns[i][k] = fmin(ns[i][k], of_nest(p, &column, "paced"));
      }
  ldg_model_use(before);
  for (int i = 0; i < SLOTS; i++)
    for (int k = 0; k < COLUMNS; k++) all[i] += ns[i][k] / ns[0][k];
  for (int i = 1; i < SLOTS; i++)
    if (all[i] < 0.97 * all[best]) best = i;
  return slots[best];
}

/* ---- lines asked for ------------------------------------------------------------------------------------------------------ */

enum { ASKS = 5, COLUMN = 1 << 17 };

/* ns of a column of every fifth line by these distances, from beyond all caches but the last, on one side, no block being read before it is moved. Everything is
 * taken to be far, and each job for the only call, so that it is not timed but asks. False: the kernels know no asking. */
static bool ask_ns(const bench_pools *p, int side, const int *blocks, double *ns) {
  const int64_t n = ldg_min(COLUMN, p->bytes / 320);
  const bool reads = side == LDG_MODEL_READ;
  const ldg_nest column = { .block = 8, .nd = 1, .dim = { { n, reads ? 320 : 8, reads ? 8 : 320 } }, .once = true };
  const ldg_model *before = ldg_model_get();
  ldg_job j[ASKS];
  bool known = true;
  for (int i = 0; i < ASKS; i++) {
    ldg_model m = *before;
    m.number[LDG_MODEL_AHEAD] = blocks[i], m.number[LDG_MODEL_TOUCHED] = 0, ns[i] = 1e18;
    for (int k = 0; k < LDG_MODEL_LEVELS; k++) m.level[k] = 64 << k;
    ldg_model_use(&m);
    if (blocks[i]) ldg_plan_once(&j[i], &column);
    else ldg_plan_nest(&j[i], &column, "block", NULL);
    known &= !strcmp(j[i].name, blocks[i] ? "ahead" : "block");
  }
  ldg_model_use(before);
  for (int round = 0; known && round < 12; round++)
    for (int i = 0; i < ASKS; i++) {
      const double start = calibrate_now();
      j[i].run(&j[i], reads ? p->strided : p->dense, reads ? p->dense : p->strided, 0, n);
      ns[i] = fmin(ns[i], calibrate_now() - start);
    }
  return known;
}

/* The best distance for both sides together, of those that neither loses by: processors differ in which of them waits more. */
static int best_distance(const double *read, const double *written) {
  double times[ASKS];
  int best = 0;
  for (int i = 0; i < ASKS; i++) times[i] = read[i] * written[i];
  for (int i = 1; i < ASKS; i++)
    if (fmax(read[i] / read[0], written[i] / written[0]) < 1.05) best = times[i] < (best ? 0.98 : 0.95) * times[best] ? i : best;
  return best;
}
/* Whether blocks are best read before they are moved stays as it is built in, and with it a distance, if none gains here: these columns come from the last cache, where that loses, and what
 * gains comes from memory. */
static void ask_ahead(const bench_pools *p, ldg_model *m) {
  static const int blocks[ASKS] = { 0, 32, 64, 128, 256 };
  double read[ASKS], written[ASKS];
  if (!ask_ns(p, LDG_MODEL_READ, blocks, read) || !ask_ns(p, LDG_MODEL_WRITE, blocks, written)) return;
  const int best = best_distance(read, written);
  if (best || !m->number[LDG_MODEL_TOUCHED]) m->number[LDG_MODEL_AHEAD] = blocks[best];
}

/* ---- long blocks ------------------------------------------------------------------------------------------------------- */

/* A word of every line of a message that was just moved: whoever receives it. */
static void read_lines(const char *at, int64_t n) {
  uint64_t all = 0, word;
  for (int64_t i = 0; i + 8 <= n; i += 64) memcpy(&word, at + i, 8), all += word;
  __asm__ volatile("" ::"r"(all) : "memory");
}

/* A whole run of n bytes by the dense kernel, with these thresholds, read where it went if `is_read`. The model in use is put aside for that. */
static double run_ns(const bench_pools *p, const ldg_model *m, int64_t libc, int64_t stream, int64_t n, bool is_read) {
  ldg_model other = *m;
  ldg_job j;
  const ldg_nest one = { .block = n, .nd = 1, .once = true, .dim = { { 1, n, n } } };
  double least = 1e18;
  other.number[LDG_MODEL_LIBC] = libc, other.number[LDG_MODEL_STREAM] = stream;
  const ldg_model *before = ldg_model_get();
  ldg_model_use(&other);
  ldg_plan_nest(&j, &one, "memcpy", NULL);
  ldg_model_use(before);
  for (int i = 0; i < 6; i++) {
    const int64_t reps = ldg_max(1, ((int64_t)1 << 18) / n);
    const double start = calibrate_now();
    for (int64_t k = 0; k < reps; k++) {
      j.run(&j, p->strided, p->dense, 0, 1);
      if (is_read) read_lines(p->dense, n);
    }
    if (i) least = fmin(least, (calibrate_now() - start) / (double)reps);
  }
  return least;
}

enum { WRITES = 4, RUN = 64 << 10 };

/* The first stands for none: it has to be worth it. */
static int best_write(const double *ns) {
  int best = 0;
  for (int i = 1; i < WRITES; i++) best = ns[i] < (best ? 0.98 : 0.95) * ns[best] ? i : best;
  return best;
}

/* The best distance to read lines from that are about to be written, in runs beyond the second-level cache. */
int64_t calibrate_written(const bench_pools *p) {
  static const int lines[WRITES] = { 0, 8, 16, 32 };
  const int64_t all = ldg_min(p->bytes, (int64_t)64 << 20);
  const ldg_nest one = { .block = RUN, .nd = 1, .once = true, .dim = { { 1, RUN, RUN } } };
  const ldg_model *before = ldg_model_get();
  double ns[WRITES];
  ldg_job j[WRITES];
  for (int i = 0; i < WRITES; i++) {
    ldg_model m = *before;
    m.number[LDG_MODEL_WRITTEN] = lines[i], m.number[LDG_MODEL_LIBC] = m.number[LDG_MODEL_STREAM] = INT64_MAX, ns[i] = 1e18;
    ldg_model_use(&m);
    ldg_plan_nest(&j[i], &one, "memcpy", NULL);
  }
  ldg_model_use(before);
  for (int round = 0; round < 12; round++)
    for (int i = 0; i < WRITES; i++) {
      const double start = calibrate_now();
      for (int64_t at = 0; at + RUN <= all; at += RUN) j[i].run(&j[i], p->strided + at, p->dense + at, 0, 1);
      ns[i] = fmin(ns[i], calibrate_now() - start);
    }
  return lines[best_write(ns)];
}

/* The best distance, in windows, to ask for lines that are stored under masks, every other 12 bytes beyond the second-level cache. */
int64_t calibrate_masked(const bench_pools *p) {
  static const int windows[WRITES] = { 0, 8, 16, 32 };
  const ldg_nest column = { .block = 12, .nd = 1, .dim = { { ldg_min(p->bytes, (int64_t)64 << 20) / 24, 12, 24 } } };
  const ldg_model *before = ldg_model_get();
  double ns[WRITES];
  ldg_job j[WRITES];
  for (int i = 0; i < WRITES; i++) {
    ldg_model m = *before;
    m.number[LDG_MODEL_MASKED] = windows[i], ns[i] = 1e18;
    ldg_model_use(&m);
    ldg_plan_nest(&j[i], &column, "shuffle", NULL);
  }
  ldg_model_use(before);
  if (strcmp(j[0].name, "shuffle")) return 0; /* no machine for it, so nobody asks */
  for (int round = 0; round < 12; round++)
    for (int i = 0; i < WRITES; i++) {
      const double start = calibrate_now();
      j[i].run(&j[i], p->dense, p->strided, 0, column.dim[0].n);
      ns[i] = fmin(ns[i], calibrate_now() - start);
    }
  return windows[best_write(ns)];
}

/* Do stores past the caches gain for n bytes? Nobody packs what nobody reads, and what went past the caches is read from memory. */
static bool is_streamed(const bench_pools *p, const ldg_model *m, int64_t n) {
  return run_ns(p, m, INT64_MAX, n, n, true) <= 0.97 * run_ns(p, m, INT64_MAX, INT64_MAX, n, true);
}
/* The least size from which on all sizes gain by it; INT32_MAX when the largest does not. */
static int64_t stream_from(const bench_pools *p, const ldg_model *m) {
  int64_t n = ldg_min((int64_t)256 << 20, p->bytes);
  if (!is_streamed(p, m, n)) return INT32_MAX;
  while (n > (int64_t)256 << 10 && is_streamed(p, m, n / 2)) n /= 2;
  return n;
}
/* Is it better to store to aligned places? Rows that are not, of what the second-level cache holds, read and written. */
static int64_t is_aligned_better(const bench_pools *p) {
  const ldg_nest rows[] = { { .block = 2048, .nd = 1, .dim = { { 100, 2064, 2048 } } }, { .block = 2048, .nd = 1, .dim = { { 100, 2048, 2064 } } },
    { .block = 800, .nd = 1, .dim = { { 100, 8168, 800 } } }, { .block = 800, .nd = 1, .dim = { { 100, 800, 8168 } } } };
  const ldg_model *before = ldg_model_get();
  ldg_model m = *before;
  double times = 1;
  for (int i = 0; i < 4; i++) {
    double ns[2] = { 1e18, 1e18 };
    for (int k = 0; k < 40; k++) {
      m.number[LDG_MODEL_ALIGN] = k % 2, m.number[LDG_MODEL_LIBC] = m.number[LDG_MODEL_STREAM] = INT64_MAX;
      ldg_model_use(&m);
      ns[k % 2] = fmin(ns[k % 2], of_nest(p, &rows[i], "block"));
    }
    times *= ns[0] / ns[1];
  }
  ldg_model_use(before);
  return times > 0.9; /* of four */
}

/* By what libc takes, what loops take: a run of n bytes, and rows of them, not next to each other, whose lines are of `level`, from that size on by `name`. */
static double libc_for_rows_in(const bench_pools *p, const ldg_model *m, int64_t n, int level, ldg_model_name name) {
  const int64_t far = n + 72, many = ldg_max(1, ldg_min(p->level[level], p->bytes) / 2 / far);
  const ldg_nest rows[] = { { .block = n, .nd = 1, .dim = { { many, far, n } } }, { .block = n, .nd = 1, .dim = { { many, n, far } } } };
  const ldg_model *before = ldg_model_get();
  ldg_model other = *m;
  double times = 1;
  other.number[LDG_MODEL_LIBC] = other.number[LDG_MODEL_LIBC_ROWS] = other.number[LDG_MODEL_STREAM] = INT64_MAX;
  for (int i = 0; i < 2; i++) {
    double ns[2] = { 1e18, 1e18 };
    for (int k = 0; k < 24; k++) {
      other.number[name] = k % 2 ? n : INT64_MAX;
      ldg_model_use(&other);
      ns[k % 2] = fmin(ns[k % 2], of_nest(p, &rows[i], "block"));
    }
    times *= sqrt(ns[1] / ns[0]);
  }
  ldg_model_use(before);
  return times;
}
static double libc_for_rows(const bench_pools *p, const ldg_model *m, int64_t n) { return libc_for_rows_in(p, m, n, LDG_MODEL_L2, LDG_MODEL_LIBC_ROWS); }
/* Runs that come again and again may gain where rows in the last cache lose a third: both have to gain. */
static double libc_for_run(const bench_pools *p, const ldg_model *m, int64_t n) {
  double libc = 1e18, loop = 1e18;
  for (int k = 0; k < 6; k++) libc = fmin(libc, run_ns(p, m, n, INT64_MAX, n, false)), loop = fmin(loop, run_ns(p, m, INT64_MAX, INT64_MAX, n, false));
  return fmax(libc / loop, libc_for_rows_in(p, m, n, LDG_MODEL_L3, LDG_MODEL_LIBC));
}

/* The size, `most` or less and `least_n` or more, from which on all sizes together gain most: single ones are close, and samples differ, so none counts for much. */
static int64_t gains_from(const bench_pools *p, const ldg_model *m, int64_t least_n, int64_t most, double times(const bench_pools *p, const ldg_model *m, int64_t n)) {
  int64_t best = INT32_MAX;
  double all = 1, least = 1;
  for (int64_t n = most; n >= least_n; n /= 2) {
    all *= fmax(0.8, fmin(times(p, m, n), 1.25));
    if (all < 0.98 * least) least = all, best = n;
  }
  return best;
}

void calibrate_numbers(const bench_pools *p, ldg_model *m) {
  const double ns[] = {
    [LDG_MODEL_CALL] = p->call, [LDG_MODEL_ROW] = row_ns(p, m), [LDG_MODEL_TILED] = tiled_ns(p, m),
    [LDG_MODEL_CHILD] = child_ns(p, m), [LDG_MODEL_WALK] = walk_ns(p, m),
    [LDG_MODEL_VARLIST] = varlist_ns(p, m), [LDG_MODEL_SHUFFLE] = shuffle_ns(p, 256), [LDG_MODEL_WINDOW] = window_ns(p),
    [LDG_MODEL_PART] = 2 * wake_ns(), /* a part has to gain more than it takes to hand it out */
  };
  for (int i = 0; i <= LDG_MODEL_PART; i++) m->number[i] = (int64_t)(ns[i] * 1e3 + 0.5);
  m->number[LDG_MODEL_PREFETCH] = prefetch_ahead(p);
  lines_to_meet(p, LDG_MODEL_READ, &m->number[LDG_MODEL_MEET], &m->number[LDG_MODEL_SETS]);
  lines_to_meet(p, LDG_MODEL_WRITE, &m->number[LDG_MODEL_MEET_WRITTEN], &m->number[LDG_MODEL_SETS_WRITTEN]);
  m->number[LDG_MODEL_SETS_WHOLE] = sets_whole(p, m->number[LDG_MODEL_MEET_WRITTEN]);
  m->number[LDG_MODEL_SETS_APART] = sets_apart(p);
  m->number[LDG_MODEL_STORES] = best_slots(p, LDG_MODEL_WRITE, LDG_MODEL_STORES, (const int64_t[SLOTS]){ 24, 16, 8, 4 });
  m->number[LDG_MODEL_IDLE] = best_slots(p, LDG_MODEL_READ, LDG_MODEL_IDLE, (const int64_t[SLOTS]){ 9, 4, 2, 1 });
  ask_ahead(p, m);
  m->number[LDG_MODEL_REDUCED] = (int64_t)(reduced_ns(p) * 1e3 + 0.5);
  m->number[LDG_MODEL_SHUFFLE_FAR] = (int64_t)(shuffle_ns(p, p->level[LDG_MODEL_L2] / 100) * 1e3 + 0.5); /* which touch about 100 bytes each */
  m->number[LDG_MODEL_ALIGN] = is_aligned_better(p);
  m->number[LDG_MODEL_STREAM] = stream_from(p, m);
  m->number[LDG_MODEL_LIBC] = gains_from(p, m, 1024, p->level[LDG_MODEL_L2], libc_for_run);
  m->number[LDG_MODEL_LIBC_ROWS] = gains_from(p, m, 512, 32 << 10, libc_for_rows);
}
