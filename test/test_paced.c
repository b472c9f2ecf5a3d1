/* paced: which way columns go whose lines meet in few sets of a cache, by kernels that only say that they ran. That they arrive is what columns says. */
#include "random_types.h"
#include "api.h"
#include "base_cpu.h"
#include "base_model.h"
#include "often.h"
#include "plan.h"
#include "../backends/host/paced.h"
#include "../backends/host/trial.h"

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

/* What only a trial knows to gain starts plain; groups that are sure to gain are what the first call runs, whatever the other side is. */
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
  ldg_model m = ldg_model_builtin();
  m.number[LDG_MODEL_MEET] = m.number[LDG_MODEL_MEET_WRITTEN] = 2, m.number[LDG_MODEL_SETS] = m.number[LDG_MODEL_SETS_WRITTEN] = m.number[LDG_MODEL_SETS_WHOLE] = m.number[LDG_MODEL_SETS_APART] = 8;
  m.level[LDG_MODEL_L1] = 64, m.number[LDG_MODEL_STORES] = 16, m.number[LDG_MODEL_PACE] = 0, ldg_model_use(&m);
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

/* What is a column on both sides has what suits the side that takes more of it. */
static ldg_nest copied_column(int64_t n, int64_t block, int64_t src, int64_t dst) {
  return (ldg_nest){ .block = block, .nd = 1, .dim = { { n, src, dst } } };
}
START_TEST(pace_of_copies) {
  ldg_model m = paced_model();
  use_pace(&m, 4);
  ck_assert_int_eq(numbers_of(copied_column(40, 128, 4096, 4096)).stores, 9); /* as rows of two lines that are written */
  ck_assert_int_eq(numbers_of(copied_column(40, 128, 4096, 2048)).stores, 5); /* and those that are read, of which there are four elsewhere */
  const ldg_paced narrow = numbers_of(copied_column(40, 8, 4096, 4096));
  ck_assert(narrow.stores == 3 && narrow.idle == 5); /* what suits either */
  ck_assert_int_eq(numbers_of(copied_column(400, 40, 5120, 4096)).idle, 5); /* the most slots, too */
  const ldg_nest to_eight_sets = copied_column(110, 8, 4096, 512), /* by no groups that what is written so would have */
    looped = { .block = 8, .nd = 2, .dim = { { 40, 4096, 8 }, { 16, 16, 320 } } },
    from_many_lines = { .block = 8, .nd = 2, .dim = { { 40, 4096, 2048 }, { 4, 64, 8 } } }; /* which groups may suit as well */
  ck_assert(first_of(to_eight_sets) == 2 && numbers_of(to_eight_sets).stores == 3);
  ck_assert(first_of(looped) == 2 && numbers_of(looped).stores == 3);
  for (int way = 1; way <= 3 && ldg_cpu_ticks(); way++) ck_assert(ways_of_length(from_many_lines, 4)[way]);
  ldg_model_use(NULL);
}
END_TEST

/* Columns of any length, whatever a file says, and a model that changes. */
START_TEST(pace_of_any_model) {
  ldg_model m = paced_model();
  use_pace(&m, 4);
  ldg_nest any = column_of(WRITTEN, 40, 8, 4096);
  any.any = true; /* how many there are the call says: of so many the first cache holds the lines */
  ck_assert_int_eq(first_of_length(any, 17), 3);
  ck_assert_int_eq(first_of_length(any, 18), 2);
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
  ldg_model_use(NULL);
}
END_TEST

/* Columns that are packed are timed from so many blocks on, and tried by groups, where few stores may be on their way and no pace is kept; elsewhere from 128 on. Whoever says how
 * many there are, the plan or the call; copies have what suits what is written. */
static const struct { int64_t from, block, stride; } short_columns[] = { { 40, 8, 4096 }, { 40, 32, -4096 }, { 32, 33, 4096 }, { 72, 8, 2048 }, { 64, 64, 2048 }, { 40, 8, 4098 }, { 40, 9, 4099 }, { 72, 8, 2049 },
  { 128, 8, 4099 }, { 128, 8, 2050 }, { 128, 8, 1024 } };
static void use_stores(ldg_model *m, int64_t stores, int64_t pace) { m->number[LDG_MODEL_STORES] = stores, use_pace(m, pace); }
static ldg_nest of_any_length(int k) { /* reaches farther than the second cache has room, or not */
  ldg_nest n = column_of(READ, k % 2 ? 64 : 4096, short_columns[k].block, short_columns[k].stride);
  n.any = true;
  return n;
}
START_TEST(short_columns_that_are_tried) {
  ldg_model m = paced_model();
  for (int k = 0; k < COUNT_OF(short_columns); k++) {
    const int64_t from = short_columns[k].from;
    const ldg_nest enough = column_of(READ, from, short_columns[k].block, short_columns[k].stride), few = column_of(READ, from - 1, short_columns[k].block, short_columns[k].stride);
    ldg_nest loops = column_of(READ, 127, short_columns[k].block, short_columns[k].stride);
    loops.nd = 2, loops.dim[1] = (ldg_dim){ 9, 8, 9 << 20 };
    for (int many = 0; many < 2; many++) { /* stores on their way */
      const bool tried = !many && from < 128;
      use_stores(&m, many ? 16 : 4, 0);
      ck_assert_msg(ldg_paced_why_not(&few) && ldg_paced_why_not(&loops), "row %d", k);
      ck_assert_msg(!ldg_paced_why_not(&enough) == (tried || from == 128), "row %d", k);
      if (tried) ck_assert_msg(first_of(enough) == 3, "row %d", k); /* plainly */
      for (int64_t n = from - 1; n <= from && ldg_cpu_ticks(); n++) {
        ck_assert_msg(ways_of_length(of_any_length(k), n)[1] == (n == from && (tried || n == 128)), "row %d, %d blocks", k, (int)n);
        if (!tried) continue;
        const bool *seen = ways_of_length(enough, n);
        ck_assert_msg(seen[1] == (n == from) && seen[0] == (n == from), "row %d, %d blocks", k, (int)n);
      }
    }
    use_stores(&m, 4, 4);
    ck_assert_msg(!ways_of_length(of_any_length(k), ldg_min(from, 127))[1], "row %d", k);
  }
  for (int i = 0; i < 3; i++) { /* what is no short column, whatever the model is */
    use_stores(&m, i == 1 ? 16 : 4, i == 2 ? 4 : 0);
    ck_assert_int_eq(first_of(column_of(WRITTEN, 40, 200, 4096)), i ? 2 : 3); /* rows have stores where many may be on their way, or a pace is kept */
    if (i == 2) continue;
    ck_assert(!ways_of_length(copied_column(127, 8, 4096, 4096), 127)[1]);
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

int main(int argc, char **argv) {
  ldg_cpu_clock = even_clock;
  return CHECK_MAIN("paced", argc, argv, columns_that_go_by_groups, first_calls_of_columns, columns_by_idle_slots, columns_by_near_stores, few_blocks_of_few_sets, few_blocks_at_pace, pace_of_copies, pace_of_any_model, short_columns_that_are_tried, columns_to_memory);
}
