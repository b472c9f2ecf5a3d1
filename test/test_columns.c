/* columns: blocks whose lines meet in few sets of a cache: which way they go, and that they arrive. */
#include "random_types.h"
#include "sides.h"
#include "api.h"
#include "base_cpu.h"
#include "base_model.h"
#include "plan.h"
#include "../backends/host/paced.h"
#include "../backends/host/trial.h"

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

/* Which columns go by groups: those of few sets that have blocks enough and come from a cache, whatever the numbers of a model file are. */
START_TEST(columns_that_go_by_groups) {
  const ldg_nest
    column = { .block = 8, .nd = 1, .dim = { { 128, 4096, 8 } } },
    written = { .block = 8, .nd = 1, .dim = { { 64, 8, -4096 } } },
    dense = { .block = 8, .nd = 1, .dim = { { 64, 72, 8 } } },
    few = { .block = 8, .nd = 1, .dim = { { 8, 4096, 8 } } },
    far = { .block = 8, .nd = 1, .dim = { { 1 << 20, 512, 8 } } },
    within = { .block = 8, .nd = 1, .dim = { { 2048, 512, 8 } } },
    beyond = { .block = 8, .nd = 1, .dim = { { 4096, 512, 8 } } },
    far_of_one_set = { .block = 8, .nd = 1, .dim = { { 1 << 20, 4096, 8 } } },
    near_in_far = { .block = 8, .nd = 2, .dim = { { 2048, 512, 8 }, { 1 << 10, 1 << 20, 8 * 2048 } } },
    interleaved = { .block = 16, .nd = 2, .dim = { { 2048, 2048, 16 * 8 }, { 8, 16, 16 } } },
    longest = { .block = 64, .nd = 3, .dim = { { INT64_C(1) << 40, INT64_C(1) << 40, INT64_MIN }, { INT64_MAX, 1, 1 }, { INT64_MAX, INT64_MIN, 1 } } };
  ldg_model m = ldg_model_builtin();
  m.level[LDG_MODEL_L3] = 32 << 20;
  m.number[LDG_MODEL_MEET] = m.number[LDG_MODEL_MEET_WRITTEN] = 2;
  m.number[LDG_MODEL_SETS] = m.number[LDG_MODEL_SETS_WRITTEN] = m.number[LDG_MODEL_SETS_WHOLE] = 8, m.number[LDG_MODEL_SETS_APART] = m.number[LDG_MODEL_PACE] = 0;
  ldg_model_use(&m);
  const ldg_strategy *paced = strategy_named("paced");
  ck_assert_ptr_null(paced->why_not(&column));
  ck_assert_ptr_null(paced->why_not(&written));
  ck_assert_ptr_null(paced->why_not(&interleaved));
  ck_assert_ptr_null(paced->why_not(&far_of_one_set)); /* its lines wait for each other in any case */
  ck_assert_str_eq(paced->why_not(&few), "there are few blocks");
  ck_assert_str_eq(paced->why_not(&far), "its lines come from memory");
  ck_assert_str_eq(paced->why_not(&near_in_far), "its lines come from memory");
  ck_assert_ptr_nonnull(strstr(paced->why_not(&dense), "few sets"));
  m.number[LDG_MODEL_SETS] = 4; /* lines 512 bytes apart are of 8 sets */
  ck_assert_ptr_nonnull(strstr(paced->why_not(&far), "few sets"));
  m.number[LDG_MODEL_SETS_APART] = 8, m.level[LDG_MODEL_L2] = 1 << 20; /* only those beyond the second cache are kept apart */
  ck_assert_str_eq(paced->why_not(&far), "its lines come from memory");
  ck_assert_ptr_null(paced->why_not(&beyond));
  ck_assert_ptr_nonnull(strstr(paced->why_not(&within), "few sets"));
  const ldg_nest to_memory = { .block = 8, .nd = 1, .dim = { { 1 << 17, 8, 1032 } } }, few_lines = { .block = 8, .nd = 1, .dim = { { 4096, 8, 1 << 20 | 64 } } },
    near_lines = { .block = 8, .nd = 2, .dim = { { 1000, 8, 2056 }, { 16, 8000, 1 << 24 } } },
    wide = { .block = 24, .nd = 1, .dim = { { 1 << 17, 24, 1032 } } }, wide_of_few = { .block = 24, .nd = 1, .dim = { { 1 << 17, 24, -1024 } } };
  ck_assert_ptr_null(paced->why_not(&to_memory)); /* of any number of sets */
  ck_assert_ptr_null(paced->why_not(&few_lines)); /* which have a page each */
  ck_assert_ptr_nonnull(strstr(paced->why_not(&near_lines), "few sets"));
  ck_assert_ptr_nonnull(strstr(paced->why_not(&wide), "few sets"));
  ck_assert_ptr_null(paced->why_not(&wide_of_few)); /* a near store between any two blocks may gain */
  for (int i = 0; i < LDG_MODEL_NAMES; i++) m.number[i] = INT64_C(1) << 52;
  ck_assert_str_eq(paced->why_not(&column), "there are few blocks"); /* a group is of no more lines than 1024 */
  ck_assert_ptr_null(paced->why_not(&far_of_one_set));
  (void)paced->why_not(&longest), (void)ldg_strategy_cost(paced, &longest);
  ldg_model_use(NULL);
}
END_TEST

enum { OFTEN = 4 * 32 + 2 }; /* calls: all ways have their first ones */
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

/* What only a trial knows to gain starts plain; groups that are sure to gain are what the first call runs, whatever the other side is. */
static uint64_t even_clock(void) { /* all take as long, so that none is tried seldom */
  static uint64_t now = 1;
  return now += 1000;
}
static int ran;
static char place[1]; /* which none of these kernels touches */
static int groups_kernel(const ldg_job *j, const char *s, char *d, int64_t i0, int64_t n) { (void)j, (void)s, (void)d, (void)i0, (void)n; return ran = 1, LADING_OK; }
static int apart_kernel(const ldg_job *j, const char *s, char *d, int64_t i0, int64_t n) { (void)j, (void)s, (void)d, (void)i0, (void)n; return ran = 2, LADING_OK; }
static int whole_kernel(const ldg_job *j, const char *s, char *d, int64_t i0, int64_t n) { (void)j, (void)s, (void)d, (void)i0, (void)n; return ran = 3, LADING_OK; }
static int first_of_length(ldg_nest n, int64_t iterations) {
  ldg_job j = { .nest = n };
  ldg_paced_prepare(&j, &(ldg_paced_ways){ groups_kernel, apart_kernel, whole_kernel, whole_kernel, NULL });
  j.run(&j, place, place, 0, iterations);
  return ran;
}
static const bool *ways_of_length(ldg_nest n, int64_t iterations) {
  static bool seen[4];
  ldg_job j = { .nest = n };
  memset(seen, 0, sizeof seen), ldg_paced_prepare(&j, &(ldg_paced_ways){ groups_kernel, apart_kernel, whole_kernel, NULL, NULL });
  for (int i = 0; i < OFTEN; i++) j.run(&j, place, place, 0, iterations), seen[ran] = true;
  if (ldg_cpu_ticks()) ldg_trial_way(&j, 1)(&j, place, place, 0, iterations), seen[0] = ran == 1; /* whether that one is by groups */
  return seen;
}
static int first_of(ldg_nest n) { return first_of_length(n, n.dim[n.nd - 1].n); }
static ldg_paced numbers_of(ldg_nest n) {
  ldg_job j = { .nest = n };
  ldg_paced_prepare(&j, &(ldg_paced_ways){ groups_kernel, apart_kernel, whole_kernel, NULL, NULL });
  return *LDG_PACED(&j);
}
START_TEST(first_calls_of_columns) {
  const int64_t many = 1 << 17;
  ldg_model m = ldg_model_builtin();
  m.level[LDG_MODEL_L2] = 1 << 19, m.level[LDG_MODEL_L3] = 16 << 20;
  m.number[LDG_MODEL_MEET] = m.number[LDG_MODEL_MEET_WRITTEN] = 2, m.number[LDG_MODEL_SETS] = 2;
  m.number[LDG_MODEL_SETS_WRITTEN] = m.number[LDG_MODEL_SETS_APART] = 8, m.number[LDG_MODEL_PACE] = 0;
  ldg_model_use(&m);
  ck_assert_int_eq(first_of((ldg_nest){ .block = 8, .nd = 1, .dim = { { many, 8, 1032 } } }), 3); /* written to memory */
  ck_assert_int_eq(first_of((ldg_nest){ .block = 8, .nd = 1, .dim = { { many, 8, 1024 } } }), 3); /* too far for groups */
  ck_assert_int_eq(first_of((ldg_nest){ .block = 64, .nd = 1, .dim = { { many, 64, 1024 } } }), 3);
  ck_assert_int_eq(first_of((ldg_nest){ .block = 40, .nd = 1, .dim = { { many, 40, 2048 } } }), 3);
  ck_assert_int_eq(first_of((ldg_nest){ .block = 8, .nd = 1, .dim = { { many, 8, 4096 } } }), 2); /* of one set: they wait for each other in any case */
  ck_assert_int_eq(first_of((ldg_nest){ .block = 8, .nd = 1, .dim = { { many, 4096, 1032 } } }), 2); /* read beyond the second cache */
  ck_assert_int_eq(first_of((ldg_nest){ .block = 8, .nd = 1, .dim = { { 4096, 2048, 8 } } }), 2);
  ck_assert_int_eq(first_of((ldg_nest){ .block = 8, .nd = 1, .dim = { { 200, 2048, 8 } } }), 1); /* and within it */
  const ldg_nest perhaps = { .block = 8, .nd = 1, .dim = { { 12000, 2048, 8 } } }, far = { .block = 8, .nd = 1, .dim = { { 20000, 2048, 8 } } };
  ck_assert_int_eq(first_of(perhaps), 3); /* the last cache may hold them or not, so that is only tried */
  ck_assert_ptr_null(ldg_paced_why_not(&perhaps));
  ck_assert_pstr_eq(ldg_paced_why_not(&far), "its lines come from memory");
  const ldg_nest drifting = { .block = 32, .nd = 1, .dim = { { 1000, -4099, 32 } } }, most = { .block = 33, .nd = 1, .dim = { { (1 << 19) / 96, 12289, 33 } } }, more = { .block = 33, .nd = 1, .dim = { { (1 << 19) / 96 + 1, 12289, 33 } } },
    apart = { .block = 8, .nd = 1, .dim = { { 6000, 6145, 8 } } };
  ck_assert_int_eq(first_of(drifting), 3); /* tried, while the second cache holds its lines: 96 bytes for each 33, in the mean */
  ck_assert_int_eq(first_of((ldg_nest){ .block = 8, .nd = 1, .dim = { { 200, 2049, 8 } } }), 3); /* within that, by groups alone */
  ck_assert_ptr_null(ldg_paced_why_not(&drifting));
  ck_assert_ptr_null(ldg_paced_why_not(&most));
  ck_assert_ptr_nonnull(ldg_paced_why_not(&more));
  ck_assert_ptr_null(ldg_paced_why_not(&apart)); /* it reaches over twice the last cache, of all whose places it has some */
  ck_assert_int_eq(first_of((ldg_nest){ .block = 8, .nd = 1, .dim = { { 2000, 4099, 4096 } } }), 2); /* a guess about what is read leaves what is sure of what is written as it is: by stores, */
  ck_assert_int_eq(numbers_of((ldg_nest){ .block = 8, .nd = 1, .dim = { { 2000, 4099, 4096 } } }).idle, 0); /* without slots */
  ck_assert_int_gt(numbers_of((ldg_nest){ .block = 8, .nd = 1, .dim = { { 2000, 4099, 8 } } }).idle, 0);
  m.number[LDG_MODEL_SETS_WRITTEN] = m.number[LDG_MODEL_SETS_WHOLE] = 0, ldg_model_use(&m);
  const ldg_paced by_pages = numbers_of((ldg_nest){ .block = 40, .nd = 1, .dim = { { 1000, 40, 12289 } } }); /* what is written and drifts has a store, not slots */
  ck_assert(by_pages.stores == 1 && by_pages.idle == 0);
  m.number[LDG_MODEL_SETS_WRITTEN] = 8, ldg_model_use(&m);
  for (int written = 0; written < 2; written++) { /* how far items reach the call says */
    const ldg_nest any = { .block = 8, .nd = 1, .any = true, .dim = { { 20000, written ? 8 : 2048, written ? 2048 : 8 } } };
    ck_assert_ptr_null(ldg_paced_why_not(&any));
    ck_assert_int_eq(first_of_length(any, 1000), 3);
  }
  for (int sets = 1; sets <= 8; sets *= 2) /* of transposes */
    for (int64_t stores = 4; stores <= 16; stores += 12) {
      bool first;
      m.number[LDG_MODEL_STORES] = stores, ldg_model_use(&m);
      ck_assert_int_gt(ldg_paced_stores(8, 4096 / sets, &first), 0);
      ck_assert_int_eq(first, stores == 16 || sets <= 2);
    }
  for (int sets = 1; sets <= 8; sets *= 2) { /* by stores, where that takes more than one of a short store queue; else by groups */
    m.number[LDG_MODEL_STORES] = 4, ldg_model_use(&m);
    ck_assert_int_eq(first_of((ldg_nest){ .block = 8, .nd = 1, .dim = { { 1000, 8, 4096 / sets } } }), sets <= 2 ? 2 : 1);
    m.number[LDG_MODEL_STORES] = 16, ldg_model_use(&m);
    ck_assert_int_eq(first_of((ldg_nest){ .block = 8, .nd = 1, .dim = { { 1000, 8, 4096 / sets } } }), 2);
  }
  ldg_model_use(NULL);
}
END_TEST

/* What is read beyond the second cache is tried by idle slots, which come first and are as many as the model says, the fewer the more sets there are, by groups, at once and late. */
static int64_t idle_seen;
static int idle_kernel(const ldg_job *j, const char *s, char *d, int64_t i0, int64_t n) { (void)s, (void)d, (void)i0, (void)n; return idle_seen = LDG_PACED(j)->idle, ran = 2, LADING_OK; }
static int late_kernel(const ldg_job *j, const char *s, char *d, int64_t i0, int64_t n) { (void)j, (void)s, (void)d, (void)i0, (void)n; return ran = 4, LADING_OK; }
START_TEST(columns_by_idle_slots) {
  ldg_model m = ldg_model_builtin();
  m.level[LDG_MODEL_L2] = 1 << 19, m.level[LDG_MODEL_L3] = 64 << 20;
  m.number[LDG_MODEL_MEET] = 2, m.number[LDG_MODEL_SETS] = 4, m.number[LDG_MODEL_SETS_APART] = 8;
  for (int sets = 1; sets <= 8 && ldg_cpu_ticks(); sets *= 2)
    for (int64_t idle = 4; idle <= 9; idle += 5) {
      m.number[LDG_MODEL_IDLE] = idle, m.number[LDG_MODEL_PACE] = idle == 4 ? 0 : 11, ldg_model_use(&m);
      ldg_job j = { .nest = { .block = 8, .nd = 1, .dim = { { 4096, 4096 / sets, 8 } } } };
      ldg_paced_prepare(&j, &(ldg_paced_ways){ groups_kernel, idle_kernel, whole_kernel, late_kernel, NULL });
      bool seen[5] = { false };
      for (int i = 0; i < OFTEN; i++) {
        j.run(&j, place, place, 0, 4096), seen[ran] = true;
        if (i == 0) ck_assert_int_eq(ran, 2);
      }
      ck_assert_int_eq(idle_seen, idle == 4 ? ldg_max(4 / (sets * sets), 1) : 12 / sets); /* not fewer than one more than what is nearer has */
      ck_assert(seen[1] == (sets <= 4) && seen[2] && seen[3] && seen[4]);
    }
  ldg_model_use(NULL);
}
END_TEST

/* Columns that are written to few sets: at once, by groups, by stores to a near line, and late, by turns; the fewer sets, the more such stores. */
static int stores_seen;
static int stores_kernel(const ldg_job *j, const char *s, char *d, int64_t i0, int64_t n) { (void)s, (void)d, (void)i0, (void)n; return stores_seen = LDG_PACED(j)->stores, LADING_OK; }
static int stores_of_blocks(int64_t n, int64_t block, int64_t stride) {
  ldg_job j = { .nest = { .block = block, .nd = 1, .dim = { { n, block, stride } } } };
  ldg_paced_prepare(&j, &(ldg_paced_ways){ groups_kernel, stores_kernel, whole_kernel, NULL, NULL });
  for (int i = stores_seen = 0; i < OFTEN && !stores_seen; i++) j.run(&j, place, place, 0, n);
  return stores_seen;
}
static int stores_between(int64_t block, int64_t stride) { return stores_of_blocks(200, block, stride); }
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
  for (int sets = 1; sets <= 8 && ldg_cpu_ticks(); sets *= 2) ck_assert_int_eq(stores_between(8, 4096 / sets), ldg_max(12 / sets - 1, sets <= 4 ? 3 : 1));
  for (int sets = 1; sets <= 8 && ldg_cpu_ticks(); sets *= 2) ck_assert_int_eq(stores_of_blocks(641, 8, 4096 / sets), 16 / sets - 1);
  if (ldg_cpu_ticks()) {
    static const struct { int64_t stride; int stores; } drifting[] = { { 4097, 11 }, { -4094, 9 }, { 8195, 8 }, { 4100, 1 }, { 2049, 6 }, { -2050, 5 }, { 2051, 0 }, { 1023, 3 }, { 1026, 0 }, { 3, 0 }, { INT64_MAX, 1 }, { INT64_MIN + 1, 11 } };
    for (size_t i = 0; i < sizeof drifting / sizeof *drifting; i++) ck_assert_int_eq(stores_between(8, drifting[i].stride), drifting[i].stores);
    ck_assert_int_eq(stores_between(65, -4096), 2 * (12 / 2 - 1)); /* rows of two lines, for each of them */
    ck_assert_int_eq(stores_of_blocks(160, 256, 4096), 4 * (12 / 4 - 1));
    ck_assert_int_eq(stores_of_blocks(200, 256, 4096), 4 * (16 / 4 - 1)); /* more lines */
    ck_assert_int_eq(stores_between(128, 4098), 2 * (4 * 16 / (4 * 2 + 2) - 1)); /* drifting */
    ck_assert_int_eq(stores_between(128, 4100), 0);
    ck_assert_int_eq(stores_of_blocks(INT64_MAX, 65, 4096), 2 * (16 / 2 - 1));
    ck_assert_int_eq(stores_of_blocks(128, 257, 4096), 5 * (12 / 5 - 1)); /* a row's lines are of as many sets, if it is whole pages from the next one */
    ck_assert_int_eq(stores_of_blocks(91, 448, -8192), 7);
  }
  const ldg_nest of_eight_sets = { .block = 128, .nd = 1, .dim = { { 200, 128, 1024 } } }, of_ten = { .block = 257, .nd = 1, .dim = { { 200, 257, 2048 } } }, long_rows = { .block = 449, .nd = 1, .dim = { { 200, 449, 4096 } } },
    read_rows = { .block = 257, .nd = 1, .dim = { { 200, 4096, 257 } } }, far_rows = { .block = 257, .nd = 1, .dim = { { 1 << 20, 257, 4096 } } },
    longest = { .block = INT64_MAX, .nd = 1, .dim = { { 200, INT64_MAX, INT64_MIN } } }, most = { .block = 65, .nd = 1, .dim = { { INT64_MAX, 65, 4096 } } }, rows = { .block = 65, .nd = 1, .dim = { { 200, 65, 4096 } } };
  ck_assert_ptr_nonnull(ldg_paced_why_not(&of_eight_sets));
  ck_assert_ptr_nonnull(ldg_paced_why_not(&of_ten));
  ck_assert_ptr_nonnull(ldg_paced_why_not(&long_rows));
  ck_assert_ptr_nonnull(ldg_paced_why_not(&read_rows));
  ck_assert_ptr_nonnull(ldg_paced_why_not(&far_rows)); /* to memory */
  ck_assert_ptr_nonnull(ldg_paced_why_not(&longest));
  ck_assert_ptr_null(ldg_paced_why_not(&rows));
  ck_assert_ptr_null(ldg_paced_why_not(&most));
  m.number[LDG_MODEL_SETS_APART] = 0, ldg_model_use(&m);
  ck_assert_ptr_nonnull(ldg_paced_why_not(&rows)); /* nobody knows that it gains */
  ldg_model_use(NULL);
}
END_TEST

/* What is written to lines that the first cache has ways for, and some more, goes at once, and what is read where calls are not timed. */
START_TEST(few_blocks_of_few_sets) {
  static const struct { int64_t block, stride, few; } written[] = { { 8, 4096, 17 }, { 8, -4096, 17 }, { 8, 2048, 29 }, { 8, 1024, 53 }, { 8, 512, 101 }, { 8, 4099, 17 }, { 64, 1024, 53 }, { 50, 4096, 17 }, { 100, 4096, 14 }, { 100, 2048, 26 } },
    read[] = { { 8, 4096, 127 }, { 8, 512, 128 }, { 40, -2048, 127 }, { 100, 4096, 63 } };
  ldg_model m = ldg_model_builtin();
  m.level[LDG_MODEL_L1] = 24 << 10, m.level[LDG_MODEL_L2] = 1 << 20, m.level[LDG_MODEL_L3] = 32 << 20; /* half of what it holds: twelve ways */
  m.number[LDG_MODEL_MEET] = m.number[LDG_MODEL_MEET_WRITTEN] = 1;
  m.number[LDG_MODEL_SETS] = m.number[LDG_MODEL_SETS_WRITTEN] = m.number[LDG_MODEL_SETS_WHOLE] = m.number[LDG_MODEL_SETS_APART] = 8, m.number[LDG_MODEL_STORES] = 16, m.number[LDG_MODEL_PACE] = 0;
  ldg_model_use(&m);
  for (size_t i = 0; i < sizeof written / sizeof *written; i++)
    for (int more = 0; more < 2; more++) {
      const ldg_nest n = { .block = written[i].block, .nd = 1, .dim = { { written[i].few + more, written[i].block, written[i].stride } } };
      ck_assert_pstr_eq(ldg_paced_why_not(&n), more ? NULL : "there are few blocks");
    }
  for (size_t i = 0; i < sizeof read / sizeof *read; i++)
    for (int more = 0; more < 2; more++) {
      const ldg_nest n = { .block = read[i].block, .nd = 1, .dim = { { read[i].few + more, read[i].stride, read[i].block } } };
      ck_assert_pstr_eq(ldg_paced_why_not(&n), more ? NULL : "there are few blocks");
    }
  ldg_nest any = { .block = 8, .nd = 1, .any = true, .dim = { { 64, 8, 4096 } } }, rows = { .block = 128, .nd = 1, .dim = { { 200, 128, 4096 } } };
  for (int64_t n = 17; n <= 18; n++) ck_assert_int_eq(first_of_length(any, n), n == 17 ? 3 : 2); /* how many blocks there are the call says */
  any.dim[0] = (ldg_dim){ 64, 4096, 8 };
  for (int64_t n = 127; n <= 128; n++) ck_assert_int_eq(first_of_length(any, n), n == 127 ? 3 : 1);
  m.number[LDG_MODEL_MEET_WRITTEN] = 16, ldg_model_use(&m);
  const ldg_nest by_groups = { .block = 8, .nd = 1, .any = true, .dim = { { 64, 8, 2048 } } };
  for (int64_t n = 127; n <= 128; n++) ck_assert_int_eq(first_of_length(by_groups, n), n == 127 ? 3 : 2); /* of 32 */
  m.number[LDG_MODEL_MEET_WRITTEN] = 1, ldg_model_use(&m);
  ck_assert_int_eq(first_of(rows), 2);
  rows.dim[0] = (ldg_dim){ 1 << 20, 128, 2048 };
  ck_assert_int_eq(first_of(rows), 3); /* from memory */
  const ldg_nest short_in_loops = { .block = 8, .nd = 2, .dim = { { 20, 4096, 8 }, { 100, 1 << 20, 160 } } };
  ck_assert_pstr_eq(ldg_paced_why_not(&short_in_loops), NULL);
  const ldg_nest rows_in_loops = { .block = 8, .nd = 2, .dim = { { 100, 4096, 8 }, { 100, 8, 800 } } }, columns_in_loops = { .block = 8, .nd = 2, .dim = { { 100, 4096, 8 }, { 100, 1 << 20, 800 } } };
  ck_assert_pstr_eq(ldg_paced_why_not(&rows_in_loops), "there are few blocks"); /* of which a call has 100 lines */
  ck_assert_pstr_eq(ldg_paced_why_not(&columns_in_loops), NULL);
  const ldg_nest one_side = { .block = 8, .nd = 1, .dim = { { 100, 4096, 4096 } } }; /* stores for what is written, and no slots for what is read */
  ldg_job j = { .nest = one_side };
  ldg_paced_prepare(&j, &(ldg_paced_ways){ groups_kernel, stores_kernel, whole_kernel, NULL, NULL });
  ck_assert_int_eq(LDG_PACED(&j)->stores, 11);
  ck_assert_int_eq(LDG_PACED(&j)->idle, 0);
  ck_assert(!LDG_PACED(&j)->reads && LDG_PACED(&j)->writes);
  ldg_model_use(NULL);
}
END_TEST

/* A few blocks of few sets at the pace of the second cache: how many stores, or slots, stand between two of them, and which way the first call goes: by 2 so, by 1 in groups, by 3 at once. -1: nothing is done about it. */
enum { READ = LDG_MODEL_READ, WRITTEN = LDG_MODEL_WRITE };
static ldg_nest column_of(int of, int64_t n, int64_t block, int64_t stride) {
  return (ldg_nest){ .block = block, .nd = 1, .dim = { { n, of == READ ? stride : block, of == READ ? block : stride } } };
}
static void use_pace(ldg_model *m, int64_t pace) { m->number[LDG_MODEL_PACE] = pace, ldg_model_use(m); }
static ldg_model paced_model(void) {
  ldg_model m = ldg_model_builtin();
  m.level[LDG_MODEL_L1] = 24 << 10, m.level[LDG_MODEL_L2] = 1 << 20, m.level[LDG_MODEL_L3] = 32 << 20;
  m.number[LDG_MODEL_MEET] = 8, m.number[LDG_MODEL_MEET_WRITTEN] = 4, m.number[LDG_MODEL_SETS] = m.number[LDG_MODEL_SETS_APART] = 4, m.number[LDG_MODEL_SETS_WRITTEN] = 8, m.number[LDG_MODEL_SETS_WHOLE] = 0;
  m.number[LDG_MODEL_STORES] = 4;
  return m;
}
START_TEST(few_blocks_at_pace) {
  static const struct { int of; int64_t n, block, stride; int stores, idle, first; } rows[] = {
    { READ, 24, 8, 4096, -1, 0, 0 }, { READ, 25, 8, 4096, 3, 0, 2 }, { READ, 25, 16, -8192, 3, 0, 2 }, { READ, 17, 17, 12288, 4, 0, 2 }, { READ, 16, 17, 4096, -1, 0, 0 }, { READ, 127, 64, 4096, 4, 0, 2 }, /* of one set */
    { READ, 32, 8, 2048, -1, 0, 0 }, { READ, 33, 8, 2048, 2, 0, 2 }, { READ, 33, 32, 6144, 2, 0, 2 }, { READ, 33, 33, 2048, 3, 0, 2 }, /* of two */
    { READ, 64, 8, 1024, -1, 0, 0 }, { READ, 65, 8, 1024, 0, 0, 2 }, { READ, 65, 64, 1024, 0, 0, 2 }, { READ, 100, 8, 512, -1, 0, 0 }, /* of four one after the other, of eight at once */
    { READ, 100, 8, 4099, -1, 0, 0 }, { READ, 100, 9, 4099, 3, 0, 2 }, { READ, 100, 32, 2050, 2, 0, 2 }, /* drifting */
    { READ, 16, 65, 4096, -1, 0, 0 }, { READ, 17, 65, 4096, 5, 0, 2 }, { READ, 17, 192, 4096, 5, 0, 2 }, { READ, 40, 193, 4096, -1, 0, 0 }, { READ, 40, 65, 2048, -1, 0, 0 }, { READ, 64, 128, 4096, 5, 0, 3 },
    { WRITTEN, 17, 8, 4096, -1, 0, 0 }, { WRITTEN, 18, 8, 4096, 0, 5, 2 }, { WRITTEN, 18, 64, -4096, 0, 5, 2 }, { WRITTEN, 29, 16, 2048, -1, 0, 0 }, { WRITTEN, 30, 16, 2048, 0, 2, 2 }, { WRITTEN, 30, 17, 2048, 0, 3, 2 },
    { WRITTEN, 17, 40, 4096, -1, 0, 0 }, { WRITTEN, 15, 41, 4096, -1, 0, 0 }, { WRITTEN, 16, 41, 4096, 0, 5, 2 }, { WRITTEN, 27, 63, 2048, -1, 0, 0 }, { WRITTEN, 28, 63, 2048, 0, 3, 2 }, { WRITTEN, 17, 64, 4096, -1, 0, 0 }, /* by two stores */
    { WRITTEN, 64, 8, 1024, -1, 0, 0 }, { WRITTEN, 65, 8, 1024, 3, 0, 1 }, { WRITTEN, 100, 8, 4098, -1, 0, 0 }, { WRITTEN, 100, 9, 4098, 0, 5, 2 },
    { WRITTEN, 64, 64, 1024, -1, 0, 0 }, { WRITTEN, 65, 64, -1024, 2, 0, 2 }, { WRITTEN, 65, 41, 3072, 2, 0, 2 }, { WRITTEN, 65, 40, 1024, -1, 0, 0 }, { WRITTEN, 100, 64, 1025, 2, 0, 2 }, { WRITTEN, 200, 64, 1024, 2, 0, 3 }, { WRITTEN, 4000, 64, 1024, 2, 0, 3 }, { WRITTEN, 100, 64, 512, -1, 0, 0 },
    { WRITTEN, 15, 65, 4096, 9, 0, 2 }, { WRITTEN, 20, 192, 4096, 9, 0, 2 }, { WRITTEN, 20, 256, 4096, 8, 0, 2 }, { WRITTEN, 40, 65, 2048, 4, 0, 2 }, { WRITTEN, 40, 192, 2048, 1, 0, 2 }, { WRITTEN, 40, 256, 2048, -1, 0, 0 },
    { WRITTEN, 200, 128, 4096, 9, 0, 2 }, { WRITTEN, 1 << 18, 192, 2048, 1, 0, 3 }, { WRITTEN, 100, 65, 1024, -1, 0, 0 },
    { WRITTEN, 200, 8, 4096, 3, 0, 2 }, { WRITTEN, 200, 8, 2048, 3, 0, 1 }, { WRITTEN, 200, 40, 4096, 0, 5, 3 }, { READ, 200, 8, 4096, 0, 0, 1 }, { READ, 200, 8, 2048, 0, 0, 1 }, { READ, 200, 8, 4097, 0, 0, 3 }, /* timed */
    { WRITTEN, 10000, 128, 4097, 9, 0, 2 }, { READ, 5000, 128, 4097, 5, 0, 3 }, { READ, 10000, 128, 4097, -1, 0, 0 }, /* those that drift reach far, and the last cache holds their lines; but what is read so has to be in the second one */
  };
  ldg_model m = paced_model();
  use_pace(&m, 4);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const ldg_nest n = column_of(rows[i].of, rows[i].n, rows[i].block, rows[i].stride);
    ck_assert_msg((ldg_paced_why_not(&n) == NULL) == (rows[i].stores >= 0), "row %zu", i);
    if (rows[i].stores < 0) continue;
    const ldg_paced p = numbers_of(n);
    ck_assert_msg(p.stores == rows[i].stores && p.idle == rows[i].idle, "row %zu: %d stores, %d slots", i, p.stores, p.idle);
    if (ldg_cpu_ticks()) ck_assert_msg(first_of(n) == rows[i].first, "row %zu", i);
  }
  ldg_model_use(NULL);
}
END_TEST

/* Copies, loops, columns of any length, whatever a file says, and a model that changes. */
START_TEST(pace_of_others) {
  ldg_model m = paced_model();
  use_pace(&m, 4);
  ldg_nest both = column_of(READ, 40, 128, 4096);
  both.dim[0].dst = 4096; ck_assert_int_eq(numbers_of(both).stores, 9); /* as many as the side that takes more, */
  both.dim[0].dst = 2048; /* as rows elsewhere, four */
  ck_assert_int_eq(numbers_of(both).stores, 5); /* whichever that is, */
  both = column_of(READ, 40, 8, 4096), both.dim[0].dst = 4096;
  ck_assert(numbers_of(both).stores == 3 && numbers_of(both).idle == 5); /* and what suits either, */
  both = column_of(READ, 400, 40, 5120), both.dim[0].dst = 4096; ck_assert_int_eq(numbers_of(both).idle, 5); /* the most slots, too, */
  both = column_of(READ, 110, 8, 4096), both.dim[0].dst = 512; /* by no groups that what is written to eight sets would have */
  ck_assert(first_of(both) == 2 && numbers_of(both).stores == 3);
  both = (ldg_nest){ .block = 8, .nd = 2, .dim = { { 40, 4096, 8 }, { 16, 16, 320 } } }; ck_assert(first_of(both) == 2 && numbers_of(both).stores == 3);
  both = (ldg_nest){ .block = 8, .nd = 2, .dim = { { 40, 4096, 2048 }, { 4, 64, 8 } } }; /* read in many lines, which groups may suit as well */
  ck_assert(!ldg_cpu_ticks() || (ways_of_length(both, 4)[1] && ways_of_length(both, 4)[2] && ways_of_length(both, 4)[3]));
  both = column_of(WRITTEN, 40, 8, 4096), both.any = true;
  ck_assert_int_eq(first_of_length(both, 17), 3); /* how many there are the call says: of so many the first cache holds the lines */
  ck_assert_int_eq(first_of_length(both, 18), 2);
  const ldg_nest column = column_of(READ, 100, 8, 4096), huge = column_of(WRITTEN, 3, INT64_MAX, INT64_MIN), row = column_of(WRITTEN, 100, 128, 4096);
  ck_assert_ptr_null(ldg_paced_why_not(&column));
  use_pace(&m, 0); /* since it was chosen */
  ck_assert_int_eq(numbers_of(column).stores, 0);
  for (int i = 0; i < 3; i++) {
    use_pace(&m, (int64_t[]){ 1, INT64_C(1) << 52, INT64_MAX }[i]);
    ck_assert_int_eq(numbers_of(column).stores, i ? 63 : 0);
    ck_assert((ldg_paced_why_not(&column) == NULL) == (i > 0));
    ck_assert_int_eq(numbers_of(row).stores, i ? 129 : 3);
    ck_assert_ptr_nonnull(ldg_paced_why_not(&huge));
  }
  /* what is short: rows that are written have stores where many may be on their way, or a pace is kept, and columns that are packed are timed from fewer blocks on elsewhere, and by groups, whoever says how many there are */
  static const struct { int64_t n, block, stride; } read[] = { { 40, 8, 4096 }, { 40, 32, -4096 }, { 32, 33, 4096 }, { 72, 8, 2048 }, { 64, 64, 2048 }, { 40, 8, 4098 }, { 40, 9, 4099 }, { 72, 8, 2049 }, { 128, 8, 4099 }, { 128, 8, 2050 }, { 128, 8, 1024 } };
  for (int i = 0; i < 3; i++) {
    m.number[LDG_MODEL_STORES] = i == 1 ? 16 : 4, use_pace(&m, i == 2 ? 4 : 0); ck_assert_int_eq(first_of(column_of(WRITTEN, 40, 200, 4096)), i ? 2 : 3);
    for (int k = 0, tried; k < COUNT_OF(read); k++) {
      ldg_nest any = column_of(READ, k % 2 ? 64 : 4096, read[k].block, read[k].stride), from = any, few = any, loops = any; /* reaches farther than the second cache has room, or not */
      tried = i == 0 && read[k].n < 128, from.dim[0].n = read[k].n, few.dim[0].n = read[k].n - 1, any.any = true, both = column_of(READ, 127, 8, 4096), both.dim[0].dst = 4096, loops.dim[0].n = 127, loops.nd = 2, loops.dim[1] = (ldg_dim){ 9, 8, 9 << 20 };
      if (i == 2) { ck_assert_msg(!ways_of_length(any, ldg_min(read[k].n, 127))[1], "row %d", k); continue; }
      ck_assert_msg(ldg_paced_why_not(&few) && ldg_paced_why_not(&loops) && !ldg_paced_why_not(&from) == (tried || read[k].n == 128) && !ways_of_length(both, 127)[1] && (!tried || first_of(from) == 3), "row %d", k); /* a copy has what suits what is written */
      for (int64_t n = read[k].n - 1; n <= read[k].n && ldg_cpu_ticks(); n++)
        ck_assert_msg(ways_of_length(any, n)[1] == (n == read[k].n && (tried || n == 128)) && (!tried || (ways_of_length(from, n)[1] == (n == read[k].n) && ways_of_length(from, n)[0] == (n == read[k].n))), "row %d, %d blocks", k, (int)n);
    }
  }
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

/* More lines of four sets than the last level holds, of one or two bytes, are written with near stores, by all calls; else all ways have a turn. */
static bool always_apart(ldg_nest n) {
  ldg_job j = { .nest = n };
  bool all = true;
  ldg_paced_prepare(&j, &(ldg_paced_ways){ groups_kernel, apart_kernel, whole_kernel, whole_kernel, NULL });
  for (int i = 0; i < OFTEN; i++) j.run(&j, place, place, 0, n.dim[0].n), all = all && ran == 2;
  return all;
}
START_TEST(columns_to_memory) {
  const int64_t few = 1 << 18, many = few + 1;
  static const struct { int64_t block, stride, more, read; bool known; } columns[] = {
    { 1, 1024, 1, 0, true }, { 2, -1024, 1, 0, true }, { 1, 1024, 0, 0, false }, { 3, 1024, 1, 0, false }, { 1, 512, 1, 0, false }, { 1, 2048, 1, 0, false }, { 1, 1024, 1, 4096, false } };
  ldg_model m = ldg_model_builtin();
  m.level[LDG_MODEL_L1] = 1 << 15, m.level[LDG_MODEL_L2] = 1 << 19, m.level[LDG_MODEL_L3] = (double)(64 * few);
  m.number[LDG_MODEL_MEET] = m.number[LDG_MODEL_MEET_WRITTEN] = 2, m.number[LDG_MODEL_SETS] = 2;
  m.number[LDG_MODEL_SETS_WRITTEN] = m.number[LDG_MODEL_SETS_APART] = 8, m.number[LDG_MODEL_STORES] = 16;
  ldg_model_use(&m);
  for (size_t i = 0; i < sizeof columns / sizeof *columns && ldg_cpu_ticks(); i++) {
    const int64_t block = columns[i].block, read = columns[i].read ? columns[i].read : block, n = columns[i].more ? many : few;
    ck_assert_int_eq(always_apart((ldg_nest){ .block = block, .nd = 1, .dim = { { n, read, columns[i].stride } } }), columns[i].known);
  }
  ck_assert_int_eq(stores_of_blocks(many, 1, 1024), 1);
  m.number[LDG_MODEL_STORES] = 4, ldg_model_use(&m); /* with few stores on their way nobody knows */
  ck_assert(!ldg_cpu_ticks() || !always_apart((ldg_nest){ .block = 1, .nd = 1, .dim = { { many, 1, 1024 } } }));
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
  return CHECK_MAIN("columns", argc, argv, columns_of_few_sets, columns_that_go_by_groups, long_blocks_are_tried, first_calls_of_columns, columns_by_idle_slots, columns_by_near_stores, few_blocks_of_few_sets, few_blocks_at_pace, pace_of_others, columns_outlive_the_model, columns_to_memory, items_that_go_on, thin_items_that_go_on);
}
