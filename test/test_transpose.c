/* transpose: matrices by columns, of every shape and in every order that the kernels have, against what it means to transpose. */
#include "random_types.h"
#include "api.h"
#include "base_cpu.h"
#include "base_model.h"
#include "plan.h"
#include "../backends/host/paced.h"
#include "../backends/host/trial.h"

enum { OFTEN = 4 * 32 + 2 }; /* calls: all ways have their first ones */

typedef struct matrix { int64_t width, rows, columns, stride; } matrix;

/* Columns lo to hi, one after the other, are what is packed: bytes at `packed` and their places in `mem`, both ways. */
UNJUDGED static void transpose(const matrix *x, int64_t lo, int64_t hi, char *mem, char *packed, bool back) {
  for (int64_t c = lo; c < hi; c++)
    for (int64_t i = 0; i < x->rows; i++) {
      char *m = mem + i * x->stride + c * x->width, *p = packed + (c * x->rows + i) * x->width;
      memcpy(back ? m : p, back ? p : m, (size_t)x->width);
    }
}

/* Any range, by every strategy: of one matrix, and of three in a row. */
static void check_ranges(const matrix *x, rng *r) {
  for (int planes = 1; planes <= 3; planes += 2) {
    sample *s = s_hvector(x->columns, 1, x->width, s_hvector(x->rows, 1, x->stride, s_contiguous(x->width, s_elem(LADING_BYTE))));
    if (planes > 1) s = s_hvector(planes, 1, x->rows * x->stride + 8, s);
    check_strategies(s, 1, r);
    sample_free(s);
  }
}

/* Moves these columns that many times each way, and nothing else. counts[dir] of plans that go by `order`; written: those that write in groups. */
UNJUDGED static void check_matrix(const matrix *x, int64_t lo, int64_t hi, int times, rng *r, int64_t order, int64_t counts[2], int64_t *written) {
  const int64_t size = x->columns * x->rows * x->width, all = x->rows * x->stride, from = lo * x->rows * x->width, to = hi * x->rows * x->width;
  sample *s = s_hvector(x->columns, 1, x->width, s_hvector(x->rows, 1, x->stride, s_contiguous(x->width, s_elem(LADING_BYTE))));
  const ldg_plan *planned, *p;
  ck_assert_int_eq(ldg_api_plan(s->type, &planned), LADING_OK);
  ck_assert_int_eq(ldg_plan_forced(planned->layout, planned->extent, "transpose", &p), LADING_OK);
  for (int dir = LDG_PACK; dir <= LDG_UNPACK; dir++)
    counts[dir] += p->one.job[dir].name && !strcmp(p->one.job[dir].name, "transpose") && p->one.job[dir].own[LDG_ORDER] == order;
  const int64_t *own = p->one.job[LDG_UNPACK].own;
  if (written) *written += own[LDG_FEW_WRITTEN] || own[LDG_TILE_NUMBERS + LDG_FEW_WRITTEN];
  char *mem = malloc((size_t)all), *want_mem = malloc((size_t)all), *packed = malloc((size_t)size), *want = malloc((size_t)size);
  bytes_random(r, mem, all);
  memcpy(want_mem, mem, (size_t)all), memset(want, 77, (size_t)size), memset(packed, 77, (size_t)size);
  for (int k = 0; k < times; k++) {
    transpose(x, lo, hi, want_mem, want, false), memset(packed + from, k, (size_t)(to - from));
    ck_assert_int_eq(ldg_exec_pack(p, 1, mem, packed + from, from, to), LADING_OK);
    ck_assert_msg(memcmp(packed, want, (size_t)size) == 0, "pack, call %d: %ld rows of %ld columns of %ld bytes, %ld apart, from %ld to %ld", k, (long)x->rows, (long)x->columns, (long)x->width, (long)x->stride, (long)lo, (long)hi);
    bytes_vary(packed + from, to - from), memcpy(want + from, packed + from, (size_t)(to - from));
    transpose(x, lo, hi, want_mem, want, true);
    ck_assert_int_eq(ldg_exec_unpack(p, 1, mem, packed + from, from, to), LADING_OK);
    ck_assert_msg(memcmp(mem, want_mem, (size_t)all) == 0, "unpack, call %d: %ld rows of %ld columns of %ld bytes, %ld apart, from %ld to %ld", k, (long)x->rows, (long)x->columns, (long)x->width, (long)x->stride, (long)lo, (long)hi);
  }
  ldg_plan_release(p), free(packed), free(want), free(mem), free(want_mem), sample_free(s);
}

/* Whole squares, halves and quarters of them, several side by side, and single elements. */
START_TEST(every_shape) {
  static const int64_t widths[] = { 1, 2, 4, 8, 12, 16, 24, 32 };
  rng r = rng_of(61);
  int64_t plain[2] = { 0, 0 };
  for (int w = 0; w < 8; w++)
    for (int64_t rows = 1; rows <= 41; rows += 1 + (rows > 34))
      for (int64_t columns = 2; columns <= 36; columns += 1 + columns % 2) {
        const matrix x = { widths[w], rows, columns, widths[w] * columns + rng_in(&r, 0, 9) };
        check_matrix(&x, 0, columns, 1, &r, LDG_BY_LINES, plain, NULL);
      }
  for (int i = 0; i < 60; i++) {
    const int64_t width = widths[i % 8], columns = rng_in(&r, 60, 300);
    const matrix x = { width, rng_in(&r, 60, 300), columns, width * columns + rng_in(&r, 0, 200) };
    check_matrix(&x, 0, columns, 1, &r, LDG_BY_LINES, plain, NULL);
  }
  ck_assert_int_gt(plain[LDG_PACK], 1000);
  ck_assert_int_gt(plain[LDG_UNPACK], 1000);
}
END_TEST

/* A few columns of a matrix at a time, the far lines of which are of few sets: in groups and as many at once as the processor likes, by turns. */
START_TEST(few_columns) {
  rng r = rng_of(45);
  ldg_model m = ldg_model_builtin();
  int64_t all[2] = { 0, 0 }, written = 0;
  m.number[LDG_MODEL_MEET] = m.number[LDG_MODEL_MEET_WRITTEN] = 2, m.number[LDG_MODEL_SETS] = m.number[LDG_MODEL_SETS_WRITTEN] = 8;
  ldg_model_use(&m);
  for (int i = 0; i < 12; i++) {
    const matrix x = { INT64_C(1) << i % 6, rng_in(&r, 150, 400), rng_in(&r, 9, 20), 1024 * rng_in(&r, 1, 2) };
    const int64_t few = rng_in(&r, 1, 8), lo = rng_in(&r, 0, x.columns - few);
    check_matrix(&x, lo, lo + few, OFTEN, &r, LDG_BY_ROWS, all, &written); /* what is packed is read from few sets, and written to many */
  }
  ck_assert_int_gt(all[LDG_PACK], 0);
  ck_assert_int_gt(written, 0);
  ldg_model_use(NULL);
}
END_TEST

/* Does calls' trial of a transpose, packed or unpacked, have blocks for its last way, of so many, and tiles in any order for its first one? */
static bool tries_blocks(ldg_nest n, bool back, int ways) {
  ldg_job tried, plain, block;
  if (back) n = ldg_nest_swapped(n);
  ck_assert(ldg_plan_nest(&tried, &n, "transpose", NULL) && !strcmp(tried.name, "transpose"));
  n.once = true;
  ck_assert(ldg_plan_nest(&plain, &n, "transpose", NULL) && ldg_plan_nest(&block, &n, "block", NULL));
  if (tried.run != plain.run) ck_assert(ldg_trial_way(&tried, 0) == plain.run && ldg_trial_way(&tried, ways - 1) == block.run);
  return tried.run != plain.run;
}
/* Elements that have no squares are tried by tiles and block by block where the second cache holds all lines until the first one is come back to. */
START_TEST(block_by_block) {
  static const struct { matrix x; bool tried; } of[] = {
    { { 12, 60, 50, 620 }, true }, { { 16, 40, 60, 976 }, true }, { { 24, 50, 50, 1208 }, true }, { { 32, 60, 33, 1088 }, true }, { { 12, 60, 50, 620 }, true }, { { 24, 50, 50, 1208 }, true },
    { { 8, 60, 60, 504 }, false }, { { 12, 3000, 8, 116 }, false }, { { 32, 300, 20, 1056 }, false }, { { 16, 60, 40, 1024 }, false }, { { 16, 9, 9, 160 }, false },
  };
  rng r = rng_of(48);
  ldg_model m = ldg_model_builtin();
  int64_t plain[2] = { 0, 0 }, all[2] = { 0, 0 }, written = 0;
  m.level[LDG_MODEL_L2] = 64 * 200, m.number[LDG_MODEL_TOUCHED] = 0, m.number[LDG_MODEL_MEET] = m.number[LDG_MODEL_MEET_WRITTEN] = 0;
  for (int i = 0; i < (int)(sizeof of / sizeof *of); i++) {
    const matrix *x = &of[i].x;
    const ldg_nest n = { .block = x->width, .nd = 2, .dim = { { x->rows, x->stride, x->width }, { x->columns, x->width, x->rows * x->width } } };
    ldg_nest backwards = n, planes = n;
    m.number[LDG_MODEL_JOINED] = i < 4, ldg_model_use(&m); /* what is put together is tried, too */
    backwards.dim[0].src = -x->stride, backwards.dim[1].dst = -x->rows * x->width;
    planes.nd = 3, planes.dim[2] = n.dim[1], planes.dim[1] = (ldg_dim){ 200, x->rows * x->stride, x->rows * x->width }, planes.dim[2].dst *= 200; /* a line waits for all of them */
    for (int back = 0; back < 2 && ldg_cpu_ticks(); back++) {
      ck_assert_msg(tries_blocks(n, back, 2) == of[i].tried && tries_blocks(backwards, back, 2) == of[i].tried, "case %d, %d", i, back);
      ck_assert_msg(!tries_blocks(planes, back, 2), "planes of case %d, %d", i, back);
    }
    check_matrix(x, 0, x->columns, of[i].tried ? OFTEN : 2, &r, LDG_BY_LINES, plain, NULL);
  }
  ck_assert_int_ge(plain[LDG_PACK], 10);
  ck_assert_int_ge(plain[LDG_UNPACK], 10);
  ldg_nest some = { .block = 16, .nd = 2, .dim = { { 9, 160, 16 }, { 9, 16, 144 } } }; /* few, as above, but there may be many */
  ck_assert(!tries_blocks(some, false, 2));
  some.any = true;
  ck_assert_int_eq(tries_blocks(some, false, 2), ldg_cpu_ticks() != 0);
  m = ldg_model_builtin(); /* four ways: groups of few sets as well */
  m.level[LDG_MODEL_L2] = 1 << 20, m.number[LDG_MODEL_TOUCHED] = 0, m.number[LDG_MODEL_MEET] = m.number[LDG_MODEL_MEET_WRITTEN] = 2, m.number[LDG_MODEL_SETS] = m.number[LDG_MODEL_SETS_WRITTEN] = 8;
  ldg_model_use(&m);
  check_matrix(&(matrix){ 16, 66, 70, 2048 }, 0, 70, 2 * OFTEN, &r, LDG_BY_LINES, all, &written);
  ck_assert_int_gt(written, 0);
  ldg_job four, block;
  ldg_nest columns = { .block = 16, .nd = 2, .dim = { { 66, 16, 2048 }, { 70, 66 * 16, 16 } } };
  ck_assert(ldg_plan_nest(&four, &columns, "transpose", NULL) && !strcmp(four.name, "transpose"));
  columns.once = true;
  ck_assert(ldg_plan_nest(&block, &columns, "block", NULL));
  ck_assert(!ldg_cpu_ticks() || ldg_trial_way(&four, 3) == block.run);
  ldg_model_use(NULL);
}
END_TEST

/* Lines of the next tiles are asked for where the model says so, of 8 KiB and more, but by the first way, and not of few columns; from the first call on if the second cache does not hold them. */
START_TEST(asked_for) {
  static const int64_t widths[] = { 1, 2, 4, 8, 12, 16, 24, 32 };
  rng r = rng_of(50);
  ldg_model m = ldg_model_builtin();
  int64_t counts[2] = { 0, 0 };
  m.number[LDG_MODEL_MEET] = m.number[LDG_MODEL_MEET_WRITTEN] = 0, m.number[LDG_MODEL_AHEAD] = 64;
  for (int i = 0; i < 32; i++) {
    const int64_t width = widths[i % 8], rows = rng_in(&r, 66, 200), columns = rng_in(&r, 140, 200), odd = (width * columns + width + 8) | 8; /* no few sets */
    const matrix x = { width, rows, columns, i < 16 ? odd : 4096 * (width > 16 ? 2 : 1) };
    ldg_nest n = { .block = width, .nd = 2, .dim = { { rows, x.stride, width }, { columns, width, rows * width } } };
    m.number[LDG_MODEL_TOUCHED] = i % 4 < 3, m.level[LDG_MODEL_L2] = i % 3 ? 4096 : 1 << 24, ldg_model_use(&m);
    ldg_job tried = { .run = NULL }, once = { .run = NULL };
    ck_assert(ldg_plan_nest(&tried, &n, "transpose", NULL) && !strcmp(tried.name, "transpose"));
    n.once = true;
    ck_assert(ldg_plan_nest(&once, &n, "transpose", NULL));
    ck_assert_int_eq(tried.own[LDG_ASKS], i % 4 < 3);
    if (ldg_cpu_ticks() && i % 4 < 3) ck_assert(once.run == ldg_trial_way(&tried, i % 3 != 0 || once.own[LDG_ORDER] != LDG_BY_LINES));
    check_matrix(&x, 0, columns, i % 4 ? 3 : OFTEN, &r, LDG_BY_LINES, counts, NULL);
  }
  static const struct { int64_t rows, columns, stride; int ahead, sets; bool any, asks; } of[] = {
    { 3000, 9, 88, 64, 0, false, true },   { 3000, 8, 88, 64, 0, false, false },  { 8, 3000, 24008, 64, 0, false, false }, { 30, 30, 264, 64, 0, false, false },
    { 30, 30, 264, 64, 0, true, true },    { 3000, 9, 88, 0, 0, false, false },   { 200, 200, 4096, 64, 8, false, false }, { 3000, 8, 88, 64, 0, true, true },
  }; /* few columns, few rows, few bytes, of which there may be more, nothing asks, by rows */
  static const struct { ldg_dim dim[3]; int nd; bool asks; } any[] = { /* how many iterations the outermost dim has is not known */
    { { { 3000, 88, 8 }, { 8, 8, 24000 }, { 2, 264000, 192000 } }, 3, false }, { { { 3000, 88, 8 }, { 9, 8, 24000 }, { 2, 264000, 216000 } }, 3, true },
    { { { 3000, 8, 64 }, { 8, 24008, 8 } }, 2, true }, { { { 8, 8, 24000 }, { 3000, 88, 8 } }, 2, false },
  }; /* few columns, and not, in a loop; few rows, of any number; few columns in any number of rows */
  m.number[LDG_MODEL_TOUCHED] = 1, m.number[LDG_MODEL_MEET] = m.number[LDG_MODEL_MEET_WRITTEN] = 2, m.number[LDG_MODEL_SETS_WRITTEN] = 0;
  for (int i = 0; i < (int)(sizeof of / sizeof *of); i++) {
    const ldg_nest n = { .block = 8, .nd = 2, .dim = { { of[i].rows, of[i].stride, 8 }, { of[i].columns, 8, 8 * of[i].rows } }, .any = of[i].any };
    m.number[LDG_MODEL_AHEAD] = of[i].ahead, m.number[LDG_MODEL_SETS] = of[i].sets, ldg_model_use(&m);
    ldg_job j = { .run = NULL };
    ck_assert(ldg_plan_nest(&j, &n, "transpose", NULL));
    ck_assert_msg(j.own[LDG_ASKS] == of[i].asks, "case %d", i);
    ck_assert_int_eq(j.own[LDG_ORDER] == LDG_BY_ROWS, of[i].sets != 0);
  }
  m.number[LDG_MODEL_AHEAD] = 64, m.number[LDG_MODEL_SETS] = 0, ldg_model_use(&m);
  for (int i = 0; i < COUNT_OF(any); i++) {
    ldg_nest n = { .block = 8, .nd = any[i].nd, .any = true };
    memcpy(n.dim, any[i].dim, sizeof any[i].dim);
    ldg_job j = { .run = NULL };
    ck_assert(ldg_plan_nest(&j, &n, "transpose", NULL));
    ck_assert_msg(j.own[LDG_ASKS] == any[i].asks, "any %d", i);
  }
  ldg_model_use(NULL);
}
END_TEST

/* What is read from few sets goes by rows of the source: from memory, and from packed columns. */
START_TEST(by_rows) {
  static const int64_t widths[] = { 1, 2, 4, 8, 16, 32 };
  rng r = rng_of(47);
  ldg_model m = ldg_model_builtin();
  int64_t counts[2] = { 0, 0 };
  m.number[LDG_MODEL_MEET] = m.number[LDG_MODEL_MEET_WRITTEN] = 2, m.number[LDG_MODEL_SETS] = m.number[LDG_MODEL_SETS_WRITTEN] = 8;
  ldg_model_use(&m);
  for (int i = 0; i < 36; i++) {
    const int64_t width = widths[i % 6], columns = rng_in(&r, 65, 150);
    const bool far = i / 6 % 2; /* else a column has as many bytes */
    const matrix x = { width, far ? rng_in(&r, 65, 300) : 4096 / width << (i > 24 && width > 2), columns, far ? 8192 << (width > 16) : width * columns + 24 };
    check_matrix(&x, 0, columns, 2 + (i < 12 && (!TEST_ASAN || i % 3 == i / 6) ? OFTEN : 0), &r, LDG_BY_ROWS, counts, NULL);
    if (i >= 32 && !(TEST_ASAN && i % 2)) check_ranges(&x, &r);
  }
  ck_assert_int_ge(counts[LDG_PACK], 12);
  ck_assert_int_ge(counts[LDG_UNPACK], 12);
  ldg_model_use(NULL);
}
END_TEST

/* What is written to more lines of a set than a cache holds is put together nearby: to memory, and to packed bytes, whole tiles and what is left. */
START_TEST(put_together) {
  static const int64_t widths[] = { 1, 2, 4, 8 }; /* the last has eight lines, which a cache holds */
  rng r = rng_of(46);
  int64_t counts[2] = { 0, 0 };
  for (int i = 0; i < 16; i++) {
    const int64_t width = widths[i % 4], columns = rng_in(&r, 66, 140);
    const matrix x = { width, i & 4 ? rng_in(&r, 66, 150) : 4096 / width, columns, i & 4 ? 4096 << i / 8 : 256 * width };
    const int64_t lo = rng_in(&r, 0, 30);
    check_matrix(&x, 0, columns, 2, &r, LDG_PUT_TOGETHER, counts, NULL);
    check_matrix(&x, lo, rng_in(&r, lo + 1, columns), 2, &r, LDG_PUT_TOGETHER, counts, NULL);
    if (i % (TEST_ASAN ? 15 : 5) == 0) check_ranges(&x, &r);
  }
  ck_assert_int_ge(counts[LDG_PACK], 12);
  ck_assert_int_ge(counts[LDG_UNPACK], 12);
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("transpose", argc, argv, every_shape, few_columns, block_by_block, asked_for, by_rows, put_together);
}
