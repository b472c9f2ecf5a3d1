/* late: addresses that come some cycles later, blocks one by one; and lists under masks that ask for lines. */
#include "random_types.h"
#include "sides.h"
#include "api.h"
#include "base_cpu.h"
#include "base_model.h"
#include "base_trial.h"
#include "plan.h"

/* Addresses that come late: strided blocks of all lengths, read or written, in loops, and lists, by ranges that begin and end anywhere. Columns whose lines go on
 * from line to line, and narrow ones that have a page each, wait for nothing. */
START_TEST(late_addresses) {
  rng r = rng_of(44);
  ldg_model m = ldg_model_builtin();
  int late = 0;
  m.level[LDG_MODEL_L1] = 64;
  ldg_model_use(&m);
  for (int i = 0; i < 4 * 90; i++) { /* each length in all shapes */
    const int64_t len = i < 4 * 64 ? i / 4 + 1 : rng_in(&r, 65, i % 16 < 8 ? 700 : 3000), n = rng_in(&r, 3, i % 16 < 8 ? 60 : 12), step = len + rng_in(&r, 1, 300) + (i % 11 ? 0 : 4096);
    int64_t at[60], lens[60];
    sample *block = s_contiguous(len, s_elem(LADING_BYTE)), *s;
    for (int64_t k = 0; k < n; k++) at[k] = (n - k) * step + rng_in(&r, 0, 1), lens[k] = rng_in(&r, 1, len);
    if (i % 4 == 1) s = s_hindexed_block(n, 1, at, block);
    else if (i % 4 == 3) s = s_hindexed(n, lens, at, s_elem(LADING_BYTE)), sample_free(block);
    else s = s_hvector(n, 1, rng_in(&r, 0, 3) ? step : -step, block);
    if (i % 4 == 2) s = s_hvector(rng_in(&r, 2, 4), 1, (n + 3) * step, s);
    const ldg_plan *p, *forced;
    ck_assert_int_eq(ldg_api_plan(s->type, &p), LADING_OK);
    ck_assert_int_eq(ldg_plan_forced(p->layout, p->extent, "late", &forced), LADING_OK);
    for (int dir = LDG_PACK; dir <= LDG_UNPACK; dir++) late += forced->one.job[dir].name && !strcmp(forced->one.job[dir].name, "late");
    ldg_plan_release(forced);
    check_strategies(s, rng_in(&r, 1, 2), &r);
    sample_free(s);
  }
  ck_assert_int_gt(late, 600);
  ldg_model_use(NULL);
}
END_TEST

/* Lists of both sides are for others. */
START_TEST(late_lists) {
  static const int64_t at[2] = { 0, 100 }, sums[3] = { 0, 50, 60 };
  static const int32_t at4[2] = { 0, 100 };
  ldg_model m = ldg_model_builtin();
  m.level[LDG_MODEL_L1] = 8;
  ldg_nest n = { .block = 8, .nd = 1, .dim = { { 2, 0, 8 } }, .at = at, .at4 = at4, .list = LDG_LIST_SRC, .span = 108 };
  const ldg_strategy *late = strategy_named("late");
  ldg_model_use(&m);
  ck_assert_ptr_null(late->why_not(&n));
  n.at4 = NULL;
  ck_assert_ptr_nonnull(late->why_not(&n));
  n.psum = sums;
  ck_assert_ptr_null(late->why_not(&n));
  n.once = true;
  ck_assert_ptr_nonnull(late->why_not(&n));
  n.once = false, n.at2 = at;
  ck_assert_ptr_nonnull(late->why_not(&n));
  n.list = LDG_LIST_DST;
  ck_assert_ptr_nonnull(late->why_not(&n));
  ldg_model_use(NULL);
}
END_TEST

/* Of lists that no first cache is too small for, those that are many, all of up to 32 bytes, and under masks that the machine does not foresee, ask for lines; without masks, those of up to 64 bytes go without
 * branches; that is tried. */
START_TEST(lists_that_ask) {
  enum { MANY = LDG_TRIAL_LEAST / 64 };
  static int64_t at[MANY], sums[MANY + 1];
  static const struct { int64_t n, longest; int masked; bool asks, plain; } lists[] = {
    { MANY, 32, 16, true, true }, { MANY, 33, 16, false, true }, { MANY - 1, 32, 16, false, false }, { MANY, 32, 0, false, true }, { MANY, 64, 0, false, true }, { MANY, 65, 0, false, false },
  };
  ldg_model m = ldg_model_builtin();
  m.level[LDG_MODEL_L1] = 1 << 20;
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    for (int64_t k = 0; k < MANY; k++) at[k] = 100 * k, sums[k + 1] = sums[k] + (k % 2 ? lists[i].longest : 5);
    m.number[LDG_MODEL_MASKED] = lists[i].masked;
    ldg_model_use(&m);
    ldg_job j = { .nest = { .block = 1, .nd = 1, .dim = { { lists[i].n, 0, 1 } }, .at = at, .psum = sums, .list = LDG_LIST_SRC, .span = 100 * MANY } }, once = j;
    const char *no_masks = strategy_named("shuffle")->why_not(&j.nest);
    const bool asks = no_masks && !strcmp(no_masks, "needs AVX-512") ? lists[i].plain : lists[i].asks;
    ck_assert_int_eq(strategy_named("late")->why_not(&j.nest) == NULL, asks);
    once.nest.once = true, strategy_named("varlist")->prepare(&j), strategy_named("varlist")->prepare(&once);
    ck_assert_int_eq(j.run != once.run, asks && ldg_cpu_ticks());
  }
  ldg_model_use(NULL);
}
END_TEST

/* Of a part of a list, in whatever order its entries are, nothing is read behind the last byte of that part, which only the address sanitizer sees. */
START_TEST(parts_of_lists) {
  enum { MANY = 256 };
  rng r = rng_of(51);
  int64_t at[MANY], sums[MANY + 1] = { 0 };
  for (int turn = 0; turn < 60; turn++) {
    const int64_t i0 = rng_in(&r, 0, MANY - 1), n = rng_in(&r, 1, MANY - i0), longest = turn % 2 ? 30 : 60;
    int64_t end = 0;
    for (int64_t i = 0; i < MANY; i++) sums[i + 1] = sums[i] + rng_in(&r, 1, longest), at[i] = 70 * (turn % 3 == 0 ? i : turn % 3 == 1 ? MANY - 1 - i : i ^ 5);
    for (int64_t i = i0; i < i0 + n; i++) end = ldg_max(end, at[i] + sums[i + 1] - sums[i]);
    ldg_job j = { .nest = { .block = 1, .nd = 1, .dim = { { MANY, 0, 1 } }, .at = at, .psum = sums, .list = LDG_LIST_SRC, .span = 70 * MANY } };
    char *mem = malloc((size_t)end), *packed = malloc((size_t)(sums[i0 + n] - sums[i0]));
    bytes_random(&r, mem, end);
    strategy_named("late")->prepare(&j);
    j.run(&j, mem, at_offset(packed, -sums[i0]), i0, n);
    for (int64_t i = i0; i < i0 + n; i++) ck_assert_mem_eq(packed + (sums[i] - sums[i0]), mem + at[i], (size_t)(sums[i + 1] - sums[i]));
    free(mem), free(packed);
  }
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("late", argc, argv, late_addresses, late_lists, lists_that_ask, parts_of_lists);
}
