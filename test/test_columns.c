/* columns: blocks whose lines meet in few sets of a cache, long ones, and items that go on, arrive whichever way they go. */
#include "random_types.h"
#include "sides.h"
#include "api.h"
#include "base_cpu.h"
#include "base_model.h"
#include "often.h"
#include "plan.h"

/* Columns whose lines meet in 1 to 8 sets of a cache: pages apart, or parts of one, upwards and downwards, alone and in loops; as many lines
 * of a set at once as the model says. */
START_TEST(columns_of_few_sets) {
  rng r = rng_of(41);
  ldg_model m = ldg_model_builtin();
  int paced = 0;
  for (int i = 0; i < 96; i++) {
    const int64_t stride = (INT64_C(512) << rng_in(&r, 0, 4)) * (rng_in(&r, 0, 3) ? rng_in(&r, 1, 3) : -1), n = rng_in(&r, 8, i % 4 ? 90 : 200);
    m.number[LDG_MODEL_MEET] = i % 8 ? rng_in(&r, 1, 3) : 0, m.number[LDG_MODEL_MEET_WRITTEN] = i % 7 ? rng_in(&r, 1, 3) : 0;
    m.number[LDG_MODEL_SETS] = m.number[LDG_MODEL_SETS_WRITTEN] = 4 + rng_in(&r, 0, 1) * 4, m.number[LDG_MODEL_SETS_WHOLE] = rng_in(&r, 0, 8);
    m.number[LDG_MODEL_SETS_APART] = i % 3 ? 8 : 0, m.number[LDG_MODEL_PACE] = i % 5 < 2 ? rng_in(&r, 1, 9) : 0, m.level[LDG_MODEL_L2] = 4096; /* those that go by no groups are kept apart */
    m.level[LDG_MODEL_L3] = i % 2 ? m.level[LDG_MODEL_MEMORY] / 2 : 8192;
    ldg_model_use(&m);
    sample *block = s_contiguous(rng_in(&r, 0, 3) ? INT64_C(1) << rng_in(&r, 0, 6) : rng_in(&r, 1, 460), s_elem(LADING_BYTE));
    sample *d = s_hvector(n, 1, 1024 * rng_in(&r, 1, 4), s_dup(block)), *s = s_hvector(n, 1, stride, block);
    check_copy(s, 1, d, 1, &r);
    sample_free(d);
    if (i % 3 == 2) s = s_hvector(rng_in(&r, 2, 3), 1, 64 * rng_in(&r, 1, 3), s);
    const ldg_plan *p;
    ck_assert_int_eq(ldg_api_plan(s->type, &p), LADING_OK);
    for (int dir = LDG_PACK; dir <= LDG_UNPACK; dir++) paced += p->one.job[dir].name && !strcmp(p->one.job[dir].name, "paced");
    check_moves(s, 1, &r);
    check_strategies(s, rng_in(&r, 1, 2), &r);
    sample_free(s);
  }
  ck_assert_int_gt(paced, 20);
  ldg_model_use(NULL);
}
END_TEST


static void check_often(const sample *s, int64_t size, int64_t span) {
  char *packed = malloc((size_t)size), *again = malloc((size_t)size), *mem = calloc(1, (size_t)span);
  for (int64_t i = 0; i < span; i++) mem[i] = (char)(i * 7 + i / 251);
  ck_assert_int_eq(lading_pack(s->type, 1, mem, packed, 0, size), LADING_OK); /* check_moves says that this is right */
  for (int i = 0; i < OFTEN; i++) {
    memset(again, i, (size_t)size);
    ck_assert_int_eq(lading_pack(s->type, 1, mem, again, 0, size), LADING_OK);
    ck_assert(memcmp(packed, again, (size_t)size) == 0);
    for (int64_t k = 0; k < size; k++) packed[k] = (char)(packed[k] + 1);
    ck_assert_int_eq(lading_unpack(s->type, 1, mem, packed, 0, size), LADING_OK);
  }
  free(packed), free(again), free(mem);
}

/* Blocks long enough that a call tries some kernels, strided and listed, in a few more lines than that takes, both ways; all have a turn in the first
 * calls. */
START_TEST(long_blocks_are_tried) {
  rng r = rng_of(43);
  ldg_model m = ldg_model_builtin();
  m.number[LDG_MODEL_ALIGN] = 0, m.number[LDG_MODEL_LIBC] = m.number[LDG_MODEL_STREAM] = INT64_MAX, m.number[LDG_MODEL_AHEAD] = 0;
  m.level[LDG_MODEL_L1] = 64; /* all are beyond the first cache */
  for (int i = 0; i < 12; i++) {
    m.number[LDG_MODEL_LIBC_ROWS] = i % 3 ? INT64_MAX : 300, m.number[LDG_MODEL_STREAM] = i % 5 ? INT64_MAX : 17500;
    ldg_model_use(&m);
    const int64_t len = rng_in(&r, 257, 900), n = 16384 / len + 2, step = len + rng_in(&r, 1, 300);
    int64_t at[80];
    for (int64_t k = 0; k < n; k++) at[k] = (n - k) * step + rng_in(&r, 0, 1);
    sample *block = s_contiguous(len, s_elem(LADING_BYTE)), *s = i % 2 ? s_hindexed_block(n, 1, at, block) : s_hvector(n, 1, step, block);
    const ldg_plan *p;
    ck_assert_int_eq(ldg_api_plan(s->type, &p), LADING_OK);
    for (int dir = LDG_PACK; dir <= LDG_UNPACK; dir++) ck_assert_str_eq(p->one.job[dir].name, i % 2 ? "list" : "block");
    for (int dir = LDG_PACK; dir <= LDG_UNPACK && ldg_cpu_ticks(); dir++) {
      ldg_nest nest = p->one.job[dir].nest;
      ldg_job tried, plain; /* one call cannot try */
      ldg_plan_nest(&tried, &nest, p->one.job[dir].name, NULL);
      nest.once = true, ldg_plan_nest(&plain, &nest, p->one.job[dir].name, NULL);
      ck_assert(tried.run != plain.run);
    }
    for (int calls = 0; calls < 6; calls++) check_moves(s, 1, &r);
    check_often(s, n * len, (n + 1) * step + len);
    sample_free(s);
  }
  ldg_model_use(NULL);
}
END_TEST

/* Columns that are written to few sets, some of which drift, by all ways that are tried. */
START_TEST(columns_by_near_stores) {
  rng r = rng_of(47);
  ldg_model m = ldg_model_builtin();
  int paced = 0;
  m.number[LDG_MODEL_MEET] = m.number[LDG_MODEL_MEET_WRITTEN] = 2, m.number[LDG_MODEL_SETS] = m.number[LDG_MODEL_SETS_WRITTEN] = m.number[LDG_MODEL_SETS_WHOLE] = 8;
  m.level[LDG_MODEL_L1] = 64, m.number[LDG_MODEL_STORES] = 16, m.number[LDG_MODEL_PACE] = 0;
  for (int i = 0; i < 48; i++) {
    m.number[LDG_MODEL_SETS_APART] = i < 24 ? 0 : 8; /* groups come first, or stores */
    ldg_model_use(&m);
    const int64_t stride = (INT64_C(512) << i % 4) + (i % 8 == 2 || i % 8 == 3 ? i / 8 % 3 - 1 : 0), n = 130 + 11 * (i % 24); /* some drift */
    sample *s = s_hvector(n, 1, stride, s_contiguous(i % 8 > 5 ? rng_in(&r, 65, i % 16 < 8 ? 256 : 448) : i % 3 ? INT64_C(1) << i % 24 / 4 : 3 + i % 24, s_elem(LADING_BYTE)));
    const ldg_plan *p;
    ck_assert_int_eq(ldg_api_plan(s->type, &p), LADING_OK);
    paced += !strcmp(p->one.job[LDG_UNPACK].name, "paced");
    check_often(s, p->size, n * stride);
    sample_free(s);
  }
  ck_assert_int_gt(paced, 35);
  ldg_model_use(NULL);
}
END_TEST

/* The model may change between the choice of a way and its being made ready: a column then still moves, block by block. */
START_TEST(columns_outlive_the_model) {
  ldg_model m = ldg_model_builtin(), other = m;
  const ldg_nest column = { .block = 8, .nd = 1, .dim = { { 128, 4096, 8 } } };
  static char src[128 * 4096], dst[128 * 8];
  ldg_job j = { .nest = column };
  m.number[LDG_MODEL_PACE] = other.number[LDG_MODEL_PACE] = 0;
  m.number[LDG_MODEL_SETS_APART] = other.number[LDG_MODEL_SETS_APART] = 0; /* which a second cache of 512 KiB is too small for */
  m.number[LDG_MODEL_MEET] = m.number[LDG_MODEL_SETS] = 4, other.number[LDG_MODEL_MEET] = 0;
  const ldg_strategy *paced = strategy_named("paced");
  ldg_model_use(&m);
  ck_assert(paced->why_not(&column) == NULL);
  ldg_model_use(&other);
  ck_assert(paced->why_not(&column) != NULL);
  paced->prepare(&j);
  for (int i = 0; i < 128; i++) memset(src + 4096 * i, i + 1, 8);
  j.run(&j, src, dst, 0, 128);
  for (int i = 0; i < 1024; i++) ck_assert_int_eq((unsigned char)dst[i], i / 8 + 1);
  const ldg_strategy *late = strategy_named("late");
  for (int64_t block = 8; block < 1000; block += 500) {
    ldg_job l = { .nest = { .block = block, .nd = 1, .dim = { { 64, 4096, block } } } };
    m.level[LDG_MODEL_L1] = 64, other.level[LDG_MODEL_L1] = 1 << 20;
    static char far[64 * 508];
    ldg_model_use(&m);
    ck_assert(late->why_not(&l.nest) == NULL);
    ldg_model_use(&other);
    ck_assert_str_eq(late->why_not(&l.nest), "the first cache holds its lines");
    late->prepare(&l);
    l.run(&l, src, far, 0, 64);
    for (int i = 0; i < 64; i++) ck_assert(memcmp(far + block * i, src + 4096 * i, (size_t)block) == 0);
  }
  ldg_model_use(NULL);
}
END_TEST

/* Where the loop of one item goes on from item to item, what is best for many is not what is best for one: eight blocks that the first cache holds, and any number
 * of them, which calls try by late addresses, too. */
START_TEST(items_that_go_on) {
  rng r = rng_of(53);
  ldg_model m = ldg_model_builtin();
  m.level[LDG_MODEL_L1] = 1 << 14, m.number[LDG_MODEL_AHEAD] = 0;
  ldg_model_use(&m);
  sample *s = s_resized(s_vector(8, 1, 10, s_elem(LADING_DOUBLE)), 0, 8 * 80);
  const ldg_plan *p;
  ck_assert_int_eq(ldg_api_plan(s->type, &p), LADING_OK);
  ck_assert_int_eq(p->per, 8);
  for (int dir = LDG_PACK; dir <= LDG_UNPACK; dir++) {
    const ldg_nest *one = &p->one.job[dir].nest, *many = &p->many.job[dir].nest;
    ck_assert_int_eq(one->nd, 1);
    ck_assert_int_eq(many->nd, 1);
    ck_assert_int_gt(many->dim[0].n, one->dim[0].n);
    ck_assert(many->any && !one->any);
    for (int k = 0; k < 2 && ldg_cpu_ticks(); k++) { /* one call cannot try; eight blocks have nothing to try */
      ldg_nest nest = k ? *many : *one;
      ldg_job tried, plain;
      ldg_plan_nest(&tried, &nest, "block", NULL);
      nest.once = true, ldg_plan_nest(&plain, &nest, "block", NULL);
      ck_assert_int_eq(tried.run != plain.run, k);
    }
  }
  check_moves(s, 1, &r), check_moves(s, 300, &r), check_strategies(s, 40, &r);
  sample_free(s);
  ldg_model_use(NULL);
  s = s_hvector(4, 1, 40000, s_struct(2, (int64_t[]){ 1, 1 }, (int64_t[]){ 0, 20000 }, (sample *[]){ s_hvector(2, 1, 7000, s_contiguous(4096, s_elem(LADING_BYTE))), s_contiguous(5000, s_elem(LADING_BYTE)) })); /* no nest: ways down the tree are weighed by all that many items are */
  s = s_resized(s, 0, 160000);
  ck_assert_int_eq(ldg_api_plan(s->type, &p), LADING_OK);
  ck_assert_int_eq(p->per, 4);
  ck_assert_int_eq(p->many.size, p->many.n * p->many.each);
  for (int dir = LDG_PACK; dir <= LDG_UNPACK; dir++) ck_assert_str_eq(p->many.job[dir].name, p->one.job[dir].name);
  check_moves(s, 1, &r), check_moves(s, 5, &r);
  sample_free(s);
  s = s_resized(s_hvector(4, 1, 8, s_contiguous(12, s_elem(LADING_BYTE))), 0, 32); /* destinations coincide */
  check_moves(s, 1, &r), check_moves(s, 50, &r), check_strategies(s, 20, &r);
  sample_free(s);
  for (int64_t n = INT64_MAX >> 16; n <= (INT64_MAX >> 16) + 1; n++) { /* what is many by itself goes on no further */
    lading_type *of = NULL, *t = NULL;
    ck_assert_int_eq(lading_type_hvector(n, 1, 2, lading_elem_type(LADING_BYTE), &of), LADING_OK);
    ck_assert_int_eq(lading_type_resized(of, 0, 2 * n, &t), LADING_OK);
    ck_assert_int_eq(ldg_api_plan(t, &p), LADING_OK);
    ck_assert_int_eq(p->per, n == INT64_MAX >> 16 ? n : 1);
    ck_assert(p->many.size > 0 && ldg_plan_cost(p, 2, LDG_PACK, p->size) > 0);
    lading_type_free(of), lading_type_free(t);
  }
}
END_TEST

/* Items of more nodes than have steps, whose loop goes on: what is not whole is walked. */
static int64_t kid_of(int64_t i) { return (int64_t)((uint64_t)i * 0x9E3779B97F4A7C15u >> 60) % 6; } /* no period */
START_TEST(thin_items_that_go_on) {
  enum { KIDS = 40000, TIMES = 3, ITEMS = 2, SPAN = 32 };
  static int64_t ones[KIDS], at[KIDS];
  static const lading_type *kids[KIDS];
  const int64_t extent = (int64_t)KIDS * SPAN;
  lading_type *kid[6], *all = NULL, *one = NULL, *many = NULL;
  int64_t size = 0;
  for (int k = 0; k < 6; k++) ck_assert_int_eq(lading_type_hvector(2 + k % 2, 1 + k % 3, 5 + k, lading_elem_type(LADING_BYTE), &kid[k]), LADING_OK);
  for (int64_t i = 0; i < KIDS; i++) {
    const int64_t k = kid_of(i);
    ones[i] = 1, at[i] = i * SPAN + k % 3, kids[i] = kid[k], size += (2 + k % 2) * (1 + k % 3);
  }
  ck_assert_int_eq(lading_type_struct(KIDS, ones, at, kids, &all), LADING_OK);
  ck_assert_int_eq(lading_type_resized(all, 0, extent, &one), LADING_OK);
  ck_assert_int_eq(lading_type_contiguous(TIMES, one, &many), LADING_OK);
  char *mem = malloc((size_t)(extent * TIMES * ITEMS)), *want = malloc((size_t)(size * TIMES * ITEMS)), *got = malloc((size_t)(size * TIMES * ITEMS)), *w = want;
  for (int64_t i = 0; i < extent * TIMES * ITEMS; i++) mem[i] = (char)(i * 7 + i / 251);
  for (int64_t t = 0; t < TIMES * ITEMS; t++)
    for (int64_t i = 0; i < KIDS; i++)
      for (int64_t k = kid_of(i), b = 0; b < 2 + k % 2; b++, w += 1 + k % 3) memcpy(w, mem + t * extent + at[i] + b * (5 + k), (size_t)(1 + k % 3));
  ck_assert_int_eq(w - want, size * TIMES * ITEMS);
  const ldg_plan *p;
  ck_assert_int_eq(ldg_api_plan(many, &p), LADING_OK);
  ck_assert_int_eq(p->per, TIMES);
  ck_assert(p->one.thin && p->many.thin);
  rng r = rng_of(59);
  for (int i = 0; i < 12; i++) {
    const int64_t lo = i ? rng_in(&r, 0, size * TIMES * ITEMS) : 0, hi = i ? rng_in(&r, lo, size * TIMES * ITEMS) : size * TIMES * ITEMS;
    memset(got, 0, (size_t)(size * TIMES * ITEMS));
    ck_assert_int_eq(lading_pack(many, ITEMS, mem, got, lo, hi), LADING_OK);
    ck_assert_msg(memcmp(got, want + lo, (size_t)(hi - lo)) == 0, "%ld to %ld", (long)lo, (long)hi);
  }
  for (int k = 0; k < 6; k++) lading_type_free(kid[k]);
  lading_type_free(all), lading_type_free(one), lading_type_free(many);
  free(mem), free(want), free(got);
}
END_TEST

int main(int argc, char **argv) {
  ldg_cpu_clock = even_clock;
  return CHECK_MAIN("columns", argc, argv, columns_of_few_sets, long_blocks_are_tried, columns_by_near_stores, columns_outlive_the_model, items_that_go_on, thin_items_that_go_on);
}
