/* by_16: what comes from memory is loaded by 16 bytes, where the model says so, and words are stored so; that all ways move the same. */
#include "common.h"
#include "base_cpu.h"
#include "base_model.h"
#include "../backends/host/kernels.h"
#include "../backends/host/trial.h"

enum { ROOM = 1 << 18, ROWS = 40 };

static ldg_model model; /* it is not copied */
static void use(int64_t touched, int64_t first_cache) {
  model = ldg_model_builtin();
  model.number[LDG_MODEL_TOUCHED] = touched, model.number[LDG_MODEL_WRITTEN] = 0, model.level[LDG_MODEL_L1] = first_cache;
  ldg_model_use(&model);
}

static bool wide(void) { return ldg_host_kernels()->register_bytes > 16; }

/* False: that strategy does not run it. */
static bool plan(ldg_job *j, const ldg_nest *n, const char *strategy) {
  const ldg_strategy *row = strategy_named(strategy);
  *j = (ldg_job){ .nest = *n };
  if (row->why_not(n)) return false;
  row->prepare(j);
  return true;
}

typedef struct arena { char *from, *to, *expected; } arena;
static arena arena_of(rng *r) {
  const arena a = { malloc(ROOM), malloc(ROOM), malloc(ROOM) };
  for (int64_t k = 0; k < ROOM; k++) a.from[k] = (char)rng_in(r, 0, 255);
  return a;
}
static void arena_free(const arena *a) { free(a->from), free(a->to), free(a->expected); }

/* Block by block; lists are of the source. */
static void move_plainly(const ldg_nest *n, int k, const char *s, char *d, int64_t some) {
  for (int64_t i = 0; i < some; i++) {
    const char *x = s + i * n->dim[k].src;
    char *y = d + i * n->dim[k].dst;
    if (k) move_plainly(n, k - 1, x, y, n->dim[k - 1].n);
    else memcpy(y, n->at ? x + n->at[i] : x, (size_t)n->block);
  }
}
/* A whole nest and parts of it, from places that lie anywhere. Lists get where a part begins, others begin there. */
static void check_run(const ldg_job *j, ldg_run *way, const arena *a, int64_t start, rng *r) {
  const ldg_dim *outer = &j->nest.dim[j->nest.nd - 1];
  for (int turn = 0; turn < 4; turn++) {
    const int64_t i0 = turn && !j->nest.at ? rng_in(r, 0, outer->n - 1) : 0, some = turn ? rng_in(r, 1, outer->n - i0) : outer->n;
    const int64_t s = start + rng_in(r, 0, 64) + i0 * outer->src, d = start + rng_in(r, 0, 64) + i0 * outer->dst;
    memset(a->to, 7, ROOM), memset(a->expected, 7, ROOM);
    move_plainly(&j->nest, j->nest.nd - 1, a->from + s, a->expected + d, some);
    ck_assert_int_eq(way(j, a->from + s, a->to + d, 0, some), LADING_OK);
    ck_assert_msg(!memcmp(a->to, a->expected, ROOM), "block %d, %d of %d from %d", (int)j->nest.block, (int)some, (int)outer->n, (int)i0);
  }
}
static int ways_of(const ldg_job *j) {
  int n = 0;
  while (n < LDG_TRIAL_WAYS && ldg_trial_way(j, n)) n++;
  return n;
}

/* Rows of 257 to 1200 bytes, packed or unpacked; listed ones; in one loop and two. */
static ldg_nest rows_of(int kind, rng *r) {
  static int64_t at[ROWS];
  static int32_t at4[ROWS];
  const int64_t block = rng_in(r, 257, 1200), apart = block + rng_in(r, 0, 400), n = kind == 2 ? 5 : ROWS;
  ldg_nest x = { .block = block, .nd = 1, .dim = { { n, apart, block } } };
  if (kind == 1) x.dim[0] = (ldg_dim){ n, block, apart };
  if (kind == 2) x.nd = 2, x.dim[1] = (ldg_dim){ ROWS / 5, 5 * apart + 33, 5 * block };
  if (kind < 3) return x;
  for (int k = 0; k < ROWS; k++) at[k] = (ROWS - 1 - k) * apart, at4[k] = (int32_t)at[k];
  x.dim[0].src = 0, x.at = at, x.at4 = at4, x.span = ROWS * apart, x.list = LDG_LIST_SRC;
  return x;
}
START_TEST(ways_of_rows) {
  rng r = rng_of(61);
  const arena a = arena_of(&r);
  for (int i = 0; i < 64; i++) {
    const ldg_nest n = rows_of(i % 4, &r);
    int ways[2];
    for (int touched = 0; touched < 2; touched++) {
      ldg_job j;
      use(touched, i / 4 % 2 ? 1 << 12 : 1 << 20);
      model.number[LDG_MODEL_ALIGN] = i / 8 % 2, model.number[LDG_MODEL_LIBC] = i / 16 % 2 ? 300 : INT32_MAX, model.number[LDG_MODEL_LIBC_ROWS] = INT32_MAX;
      model.number[LDG_MODEL_STREAM] = i / 32 ? 20000 : INT32_MAX;
      ck_assert(plan(&j, &n, n.at ? "list" : "block"));
      check_run(&j, j.run, &a, 1000, &r);
      ways[touched] = ways_of(&j);
      for (int k = 0; k < ways[touched]; k++) check_run(&j, ldg_trial_way(&j, k), &a, 1000, &r);
    }
    if (ldg_cpu_ticks()) ck_assert_int_eq(ways[1], wide() ? ldg_max(ways[0], 1) + 1 : ways[0]);
  }
  ldg_model_use(NULL);
  arena_free(&a);
}
END_TEST

/* Blocks of 20 to 270 bytes, packed, unpacked or both, in one loop to three, few and many. */
static ldg_nest blocks_of(int kind, rng *r) {
  const int64_t block = rng_in(r, 20, 270), apart = block + rng_in(r, 0, 99), n = rng_in(r, 1, 150);
  ldg_nest x = { .block = block, .nd = 1, .once = rng_in(r, 0, 9) == 0, .dim = { { n, kind % 3 == 1 ? block : apart, kind % 3 == 0 ? block : -apart } } };
  if (kind < 6) return x;
  x.nd = 2, x.dim[0].n = rng_in(r, 1, 9), x.dim[1] = (ldg_dim){ rng_in(r, 1, 12), 4000, 4100 };
  if (kind < 9) return x;
  x.nd = 3, x.dim[2] = (ldg_dim){ 2, 50000, 51000 };
  return x;
}
static bool narrower_level_was_built(void) {
  static const ldg_kernels *const built[] = { LDG_LEVELS };
  for (int i = 0; i < COUNT_OF(built); i++)
    if (built[i]->register_bytes == 16) return true;
  return false;
}
START_TEST(blocks_that_lie_anywhere) {
  rng r = rng_of(62);
  const arena a = arena_of(&r);
  int able = 0;
  for (int i = 0; i < 600; i++) {
    const ldg_nest n = blocks_of(i % 12, &r);
    const int64_t lines = (n.block + 63) / 64 * n.dim[0].n * (n.nd > 1 ? n.dim[1].n : 1) * (n.nd > 2 ? 2 : 1);
    ldg_job by_16, block;
    use(i % 5 != 4, 1 << 20);
    const bool is = plan(&by_16, &n, "by_16"), may = wide() && narrower_level_was_built() && i % 5 != 4 && n.block >= 32 && n.block <= 256 && !n.once;
    ck_assert(may ? is || lines < 64 : !is);
    if (is) ck_assert_int_ge(lines, 32); /* whole iterations of the outermost loop count */
    ck_assert(plan(&block, &n, "block"));
    const int ways = ldg_cpu_ticks() ? ways_of(&block) : 0;
    bool found = false;
    for (int k = 0; k < ways; k++) found |= is && ldg_trial_way(&block, k) == by_16.run, check_run(&block, ldg_trial_way(&block, k), &a, ROOM / 2, &r);
    if (ldg_cpu_ticks()) ck_assert_int_eq(found, is);
    if (is) check_run(&by_16, by_16.run, &a, ROOM / 2, &r), able++;
  }
  if (wide() && narrower_level_was_built()) ck_assert_int_gt(able, 100);
  ldg_model_use(NULL);
  arena_free(&a);
}
END_TEST

/* What no trial finds out: more than the first cache holds. */
START_TEST(rows_of_one_call) {
  ldg_run *near[2][2];
  for (int k = 0; k < 4; k++) {
    ldg_nest n = { .block = 500, .nd = 1, .once = true, .dim = { { ROWS, 530, 500 } } };
    ldg_job j;
    use(k % 2, k / 2 ? 1 << 20 : 1 << 12);
    model.number[LDG_MODEL_LIBC] = model.number[LDG_MODEL_LIBC_ROWS] = model.number[LDG_MODEL_STREAM] = INT32_MAX;
    ck_assert(plan(&j, &n, "block"));
    near[k / 2][k % 2] = ((const ldg_long *)(const void *)j.own)->near;
  }
  ck_assert((near[0][1] != near[0][0]) == wide() && near[1][0] == near[0][0] && near[1][1] == near[0][0]);
  ldg_model_use(NULL);
}
END_TEST

START_TEST(dense_runs) {
  rng r = rng_of(63);
  const arena a = arena_of(&r);
  for (int i = 0; i < 200; i++) {
    const int64_t bytes = rng_in(&r, 1, i % 2 ? 5000 : 1500), cache = rng_in(&r, 0, 2) ? 600 : 3000;
    const ldg_nest n = { .block = 1, .nd = 1, .dim = { { bytes, 1, 1 } } };
    ldg_job j;
    use(i % 4 != 3, cache);
    ck_assert(plan(&j, &n, "memcpy"));
    ck_assert_int_eq(LDG_ONE_RUN(&j)->asks, wide() && i % 4 != 3 ? cache : INT64_MAX);
    check_run(&j, j.run, &a, 100, &r);
  }
  ldg_model_use(NULL);
  arena_free(&a);
}
END_TEST

/* Which windows: full ones of one loop over more than the first cache holds. Any move the same. */
static const struct { ldg_nest nest; bool by_16; } windows[] = {
  { { .block = 8, .nd = 1, .dim = { { 300, -8, 8 } } }, true },   { { .block = 8, .nd = 1, .dim = { { 301, 8, -8 } } }, true },   { { .block = 4, .nd = 1, .dim = { { 999, -4, 4 } } }, true },
  { { .block = 4, .nd = 1, .dim = { { 300, -8, 4 } } }, false },  { { .block = 4, .nd = 1, .dim = { { 300, 4, -8 } } }, false },  { { .block = 4, .nd = 2, .dim = { { 2, 0, 4 }, { 300, 4, 8 } } }, false }, /* each twice */
  { { .block = 4, .nd = 2, .dim = { { 16, -4, 4 }, { 100, 128, 64 } } }, false },                                                  { { .block = 4, .nd = 2, .dim = { { 2, 0, 4 }, { 300, 8, 8 } } }, false }, /* each twice, and gaps */
  { { .block = 12, .nd = 1, .dim = { { 300, -12, 12 } } }, false }, { { .block = 4, .nd = 2, .dim = { { 2, 4, -4 }, { 300, 8, 8 } } }, true }, { { .block = 4, .nd = 2, .dim = { { 40, -4, 4 }, { 30, 200, 160 } } }, false },
};
START_TEST(full_windows) {
  rng r = rng_of(64);
  const arena a = arena_of(&r);
  int planned = 0;
  for (int i = 0; i < COUNT_OF(windows); i++) {
    ldg_job small, large, off;
    use(1, 1 << 20);
    if (!plan(&small, &windows[i].nest, "shuffle")) continue; /* this machine has none, or not for these */
    planned++;
    use(1, 512), ck_assert(plan(&large, &windows[i].nest, "shuffle"));
    use(0, 512), ck_assert(plan(&off, &windows[i].nest, "shuffle"));
    ck_assert(small.run == off.run);
    ck_assert_msg((large.run != off.run) == windows[i].by_16, "windows %d", i);
    for (int turn = 0; turn < 8; turn++) check_run(&large, large.run, &a, ROOM / 2, &r), check_run(&off, off.run, &a, ROOM / 2, &r);
  }
  ck_assert_int_eq(planned, ldg_host_kernels()->by_16[LDG_LANES_OF_1] ? COUNT_OF(windows) : 0);
  for (int i = 0; i < 240; i++) {
    const int64_t block = rng_in(&r, 1, 3) << i % 4, n = rng_in(&r, 0, 3) ? rng_in(&r, 100, 900) : rng_in(&r, 1, 30), src = block + (i & 1) * block, dst = block + (i & 2) * block / 2;
    const ldg_nest x = { .block = block, .nd = 1, .dim = { { n, i % 3 == 1 ? src : -src, i % 3 == 0 ? dst : -dst } } };
    ldg_job j;
    use(1, 16);
    if (plan(&j, &x, "shuffle")) check_run(&j, j.run, &a, ROOM / 2, &r);
  }
  ldg_model_use(NULL);
  arena_free(&a);
}
END_TEST

/* Words are put together in registers of 16 bytes where they fill one, or a call may say so: which kernel that is. */
START_TEST(words_that_fill_a_register) {
  use(0, 1 << 20);
  for (int lanes = 0; lanes < 2; lanes++)
    for (int64_t block = 1; block <= 8; block *= 2) {
      const int64_t full = 16 / block;
      ldg_nest n = { .block = block, .nd = 1, .once = true, .dim = { { full, 5 * block, block } } }, rows = { .block = block, .nd = 2, .once = true, .dim = { { full, 5 * block, block }, { 9, 700, 16 } } };
      ldg_job enough, few, any, row, short_row;
      model.number[LDG_MODEL_LANES] = lanes, ldg_model_use(&model);
      ck_assert(plan(&enough, &n, "block") && plan(&row, &rows, "block"));
      n.dim[0].n = rows.dim[0].n = full - 1;
      ck_assert(plan(&few, &n, "block") && plan(&short_row, &rows, "block"));
      n.any = true;
      ck_assert(plan(&any, &n, "block"));
      ck_assert((enough.run != few.run) == lanes && (row.run != short_row.run) == lanes && (any.run != few.run) == lanes);
    }
  ldg_model_use(NULL);
}
END_TEST

int main(int argc, char **argv) { return CHECK_MAIN("by_16", argc, argv, ways_of_rows, blocks_that_lie_anywhere, rows_of_one_call, dense_runs, full_windows, words_that_fill_a_register); }
