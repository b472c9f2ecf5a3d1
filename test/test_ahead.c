/* ahead: lines that are asked for before it is their turn: what is moved, and which kernel does it. */
#include "random_types.h"
#include "sides.h"
#include "api.h"
#include "base_cpu.h"
#include "base_model.h"
#include "../backends/host/ahead.h"
#include "../backends/host/paced.h"
#include "../backends/host/trial.h"
#include "plan.h"

#include <pthread.h>

/* Blocks that have lines of their own, or a byte or more between them, strided in up to three dims and listed, short and long; asked for ahead from the first call on, or
 * when that turns out to be faster. */
START_TEST(lines_asked_for) {
  ONE_THREAD_ONLY();
  rng r = rng_of(47);
  ldg_model m = ldg_model_builtin();
  int ahead = 0;
  for (int i = 0; i < share_of(72); i++) {
    const int64_t len = rng_in(&r, 0, 3) ? rng_in(&r, 1, 300) : rng_in(&r, 1, 3000), n = rng_in(&r, 30, len > 300 ? 60 : 300), gap = rng_in(&r, 0, 2) ? rng_in(&r, 32, 900) : rng_in(&r, 1, 31), step = ldg_max(len + gap, 64);
    m.number[LDG_MODEL_AHEAD] = i % 8 ? rng_in(&r, 1, 200) : 0;
    m.number[LDG_MODEL_WRITTEN] = i % 4 < 2 ? rng_in(&r, 1, 40) : 0, m.number[LDG_MODEL_TOUCHED] = i / 4 % 2;
    for (int k = 0; k < LDG_MODEL_LEVELS; k++) m.level[k] = i % 2 || k == 0 ? (int64_t)64 << k : (int64_t)64 << (20 + k);
    ldg_model_use(&m);
    sample *s = s_contiguous(len, s_elem(LADING_BYTE));
    if (i % 3 == 2) {
      int64_t at[300];
      for (int64_t k = 0, end = 0; k < n; k++) at[k] = end, end += len + rng_in(&r, 32, 900);
      s = s_hindexed_block(n, 1, at, s);
    } else s = s_hvector(n, 1, rng_in(&r, 0, 4) ? step : -step, s);
    if (i % 3 == 1) s = s_hvector(rng_in(&r, 2, 3), 1, n * step + rng_in(&r, gap < 32 ? 1 : 64, 400), s);
    if (i % 6 == 1) s = s_hvector(2, 1, 3 * n * step + 2000, s);
    const ldg_plan *p;
    ck_assert_int_eq(ldg_api_plan(s->type, &p), LADING_OK);
    for (int dir = LDG_PACK; dir <= LDG_UNPACK; dir++) ahead += p->one.job[dir].name && !strcmp(p->one.job[dir].name, "ahead");
    check_moves(s, 1, &r);
    check_strategies(s, rng_in(&r, 1, 2), &r);
    sample_free(s);
  }
  ck_assert_int_gt(ahead, share_of(40));
  ldg_model_use(NULL);
}
END_TEST

/* Two kernels that take their time, by a clock that goes on by that alone, and how often each did; the first calls of one may take longer. */
static _Atomic int took[2], spins[2], slow[2];
static _Atomic uint64_t now = 1;
static uint64_t clock_of_kernels(void) { return now; }
static void spin(int which) {
  now += (uint64_t)(took[which] < slow[which] ? 100 * spins[which] : spins[which]);
  took[which]++;
}
static char place[1]; /* which neither touches */
static int plain_kernel(const ldg_job *j, const char *s, char *d, int64_t i0, int64_t n) { (void)j, (void)s, (void)d, (void)i0, (void)n; return spin(0), LADING_OK; }
static int asking_kernel(const ldg_job *j, const char *s, char *d, int64_t i0, int64_t n) { (void)j, (void)s, (void)d, (void)i0, (void)n; return spin(1), LADING_OK; }

/* A column of n lines, for which the plain kernel is the likely one. */
static void prepare_column(ldg_job *j, int64_t n) {
  const ldg_job plain = { .run = plain_kernel };
  *j = (ldg_job){ .nest = { .block = 8, .nd = 1, .dim = { { n, 320, 8 } } } };
  ldg_ahead_prepare(j, &plain, asking_kernel, NULL);
  took[0] = 0; took[1] = 0;
}
static void call(const ldg_job *j, int calls, int64_t n) {
  for (int i = 0; i < calls; i++) j->run(j, place, place, 0, n);
}

/* Whichever is faster runs most of the calls, also when that changes; parts of few lines are not timed. */
START_TEST(faster_kernel_runs) {
  ldg_job j;
  prepare_column(&j, 1000);
  call(&j, 1, 1000);
  ck_assert_int_eq(took[0], 1); /* the likely one comes first: a column of 1000 may be near */
  if (ldg_cpu_ticks() == 0) { /* then it is the only one */
    call(&j, 100, 1000);
    ck_assert_int_eq(took[1], 0);
    return;
  }
  for (int turn = 0; turn < 4; turn++) {
    const int fast = turn % 2;
    spins[fast] = 400; spins[!fast] = 8000;
    call(&j, 1500, 1000);
    took[0] = 0; took[1] = 0;
    call(&j, 1000, 1000);
    ck_assert_int_gt(took[fast], 800);
    ck_assert_int_eq(took[0] + took[1], 1000);
    ck_assert_int_gt(took[!fast], 0); /* it is not forgotten */
    took[0] = 0; took[1] = 0;
    call(&j, 1000, 100);
    ck_assert_int_eq(took[fast], 1000);
  }
}
END_TEST

enum { ROW = 32 }; /* calls of one way, of less than 64 KiB of lines; of more half as many */

/* Calls of the slower kernel among 8000 of n lines, of a column of so many: two of 32 that are timed, without the first ones. */
static int calls_of_the_slower(int64_t column, int64_t n) {
  ldg_job j;
  prepare_column(&j, column);
  call(&j, 8000, n);
  const int first = n * 64 < 65536 ? ROW : ROW / 2;
  ck_assert_int_ge(took[1], first);
  return took[1] - first;
}

/* Columns go by groups at first, and block by block where that is faster, as when their lines come from memory. */
START_TEST(groups_are_tried) {
  ldg_model m = ldg_model_builtin();
  m.number[LDG_MODEL_MEET] = m.number[LDG_MODEL_SETS] = 4, m.number[LDG_MODEL_SETS_APART] = 0;
  for (int fast = 0; fast < 2; fast++) {
    ldg_job j = { .nest = { .block = 8, .nd = 1, .dim = { { 1024, 4096, 8 } } } };
    ldg_model_use(&m);
    ldg_paced_prepare(&j, &(ldg_paced_ways){ asking_kernel, NULL, plain_kernel, NULL, NULL });
    ldg_model_use(NULL);
    spins[fast] = 400; spins[!fast] = 8000;
    took[0] = took[1] = 0;
    j.run(&j, place, place, 0, 1024);
    ck_assert_int_eq(took[1], 1);
    if (ldg_cpu_ticks() == 0) continue;
    for (int i = 0; i < 300; i++) j.run(&j, place, place, 0, 1024);
    ck_assert_int_gt(took[fast], 200);
  }
}
END_TEST

/* As many lines later, not as many calls; and lines are those of the call, not those of the job. */
START_TEST(few_lines_are_timed_less_often) {
  if (ldg_cpu_ticks() == 0) return;
  spins[0] = 100; spins[1] = 4000;
  const int few = calls_of_the_slower(128, 128), part = calls_of_the_slower(1024, 128), many = calls_of_the_slower(1024, 1024);
  ck_assert_msg(4 * few < many && 4 * part < many, "%d of 128 lines, %d of 128 of 1024, %d of 1024", few, part, many);
}
END_TEST

/* Of jobs that take turns each is timed: none keeps what has become the slower kernel. */
START_TEST(jobs_take_turns) {
  ldg_job j[2], plain = { .run = plain_kernel };
  for (int i = 0; i < 2; i++) {
    j[i] = (ldg_job){ .nest = { .block = 8, .nd = 1, .dim = { { 1024, 320, 8 } } } };
    ldg_ahead_prepare(&j[i], &plain, asking_kernel, NULL);
  }
  if (ldg_cpu_ticks() == 0) return;
  for (int turn = 0; turn < 4; turn++) {
    const int fast = turn % 2;
    spins[fast] = 100; spins[!fast] = 4000;
    for (int i = 0; i < 6000; i++) j[i % 2].run(&j[i % 2], place, place, 0, 1024);
    took[0] = 0; took[1] = 0;
    for (int i = 0; i < 2000; i++) j[i % 2].run(&j[i % 2], place, place, 0, 1024);
    ck_assert_int_gt(took[fast], 1600);
  }
}
END_TEST

/* One call in 40 of a thread's: its turns are seldom, but it has some, and finds out what has become faster. */
START_TEST(a_rare_job) {
  ldg_job often, rare, plain = { .run = plain_kernel };
  often = rare = (ldg_job){ .nest = { .block = 8, .nd = 1, .dim = { { 1024, 320, 8 } } } };
  ldg_ahead_prepare(&often, &plain, asking_kernel, NULL), ldg_ahead_prepare(&rare, &plain, asking_kernel, NULL);
  if (ldg_cpu_ticks() == 0) return;
  for (int turn = 0; turn < 3; turn++) {
    const int fast = turn % 2;
    spins[fast] = 100; spins[!fast] = 1000;
    for (int i = 0; i < 80000; i++) (i % 40 ? &often : &rare)->run(i % 40 ? &often : &rare, place, place, 0, 1024);
    took[0] = 0; took[1] = 0;
    call(&rare, 20, 1024);
    ck_assert_int_gt(took[fast], 14);
  }
}
END_TEST

/* The first calls are timed, whatever they find: the likely kernel, a row of the other one, the likely one again. That the faster one
 * began slowly decides nothing. */
START_TEST(slow_beginning) {
  if (ldg_cpu_ticks() == 0) return;
  for (int turn = 0; turn < 6; turn++) {
    const int fast = turn % 2;
    ldg_job j, between;
    prepare_column(&between, 1000), call(&between, 2 * ROW + 2, 1000);
    prepare_column(&j, 1000);
    spins[fast] = 400; spins[!fast] = 1600; slow[fast] = 1 + turn / 2;
    for (int i = 0; i < 2 * ROW + 1; i++) {
      call(&j, 1, 1000);
      ck_assert_int_eq(took[1], i < ROW ? i : ROW);
      ck_assert_int_eq(took[0], i + 1 - took[1]);
      if (i < 2 * ROW) call(&j, 1, 100), took[0]--; /* too short to count */
    }
    slow[fast] = 0; took[fast] = 0;
    call(&j, 100, 1000);
    ck_assert_int_ge(took[fast], 93);
  }
}
END_TEST

/* What comes from far now takes both kernels longer than either took before: within 200 calls that are timed, one in 16, the other one runs. */
START_TEST(slow_later) {
  if (ldg_cpu_ticks() == 0) return;
  for (int fast = 0; fast < 2; fast++) {
    ldg_job j;
    prepare_column(&j, 1000);
    spins[fast] = 400; spins[!fast] = 600;
    call(&j, 400, 1000);
    spins[fast] = 9600; spins[!fast] = 4800;
    call(&j, 200 * 16, 1000);
    took[0] = 0; took[1] = 0;
    call(&j, 400, 1000);
    ck_assert_int_gt(took[!fast], 300);
  }
}
END_TEST

/* Asking that gains next to nothing is left alone, however often it is timed. */
START_TEST(plain_stays) {
  if (ldg_cpu_ticks() == 0) return;
  ldg_job j;
  prepare_column(&j, 1000);
  spins[0] = 4000; spins[1] = 3960;
  call(&j, 4000, 1000);
  ck_assert_int_gt(took[0], 3600);
}
END_TEST

static void *many_calls(void *job) {
  const ldg_job *j = job;
  for (int i = 0; i < 1000; i++) j->run(j, place, place, 0, 1000);
  return NULL;
}

/* Every call of every thread runs one of both. */
START_TEST(threads_share_a_job) {
  enum { THREADS = 4 };
  static ldg_job j = { .nest = { .block = 8, .nd = 1, .dim = { { 1000, 320, 8 } } } };
  ldg_job plain = { .run = plain_kernel };
  pthread_t thread[THREADS];
  ldg_ahead_prepare(&j, &plain, asking_kernel, NULL);
  spins[0] = 50; spins[1] = 50; took[0] = 0; took[1] = 0;
  for (int i = 0; i < THREADS; i++) ck_assert_int_eq(pthread_create(&thread[i], NULL, many_calls, &j), 0);
  for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
  ck_assert_int_eq(took[0] + took[1], THREADS * 1000);
}
END_TEST

/* A job for one call does what is likely, and times nothing; the longest blocks are asked about like all others. */
START_TEST(one_call) {
  ldg_model m = ldg_model_builtin();
  ldg_nest near = { .block = 8, .nd = 1, .dim = { { 1000, 320, 8 } } }, far = near, longest = { .block = INT64_MAX, .nd = 1, .dim = { { 1, 8, 8 } } };
  ldg_job j, plain = { .run = plain_kernel };
  m.number[LDG_MODEL_AHEAD] = 64, m.number[LDG_MODEL_TOUCHED] = 0, far.dim[0].n = 1 << 20, near.once = far.once = true;
  ldg_model_use(&m);
  ck_assert(ldg_ahead_why_not(&near) != NULL);
  ck_assert(ldg_ahead_why_not(&far) == NULL);
  ck_assert(ldg_ahead_why_not(&longest) != NULL);
  j.nest = far; took[0] = 0; took[1] = 0;
  ldg_ahead_prepare(&j, &plain, asking_kernel, NULL);
  for (int i = 0; i < 100; i++) j.run(&j, place, place, 0, 1000);
  ck_assert_int_eq(took[1], 100);
  ldg_model_use(NULL);
}
END_TEST

/* Blocks of other strategies have their lines asked for as another way, by what stands behind what those go by: all ways move the same. */
static void check_ways(const char *strategy, const ldg_nest *n, bool asks, rng *r) {
  const int64_t blocks = n->dim[0].n, from = n->block + (blocks - 1) * n->dim[0].src, to = n->block + (blocks - 1) * n->dim[0].dst;
  ldg_job j = { .run = NULL }, ahead = { .run = NULL };
  bool asked = false;
  ck_assert(ldg_plan_nest(&j, n, strategy, NULL) && !strcmp(j.name, strategy));
  ck_assert(ldg_plan_nest(&ahead, n, "ahead", NULL) && !strcmp(ahead.name, "ahead"));
  char *src = malloc((size_t)from), *dst = malloc((size_t)to), *expected = malloc((size_t)to);
  for (int64_t i = 0; i < from; i++) src[i] = (char)rng_in(r, 0, 255);
  memset(expected, 7, (size_t)to);
  for (int64_t i = 0; i < blocks; i++) memcpy(expected + i * n->dim[0].dst, src + i * n->dim[0].src, (size_t)n->block);
  for (int k = 0; k < LDG_TRIAL_WAYS && (k == 0 || ldg_trial_way(&j, k)); k++) { /* with one way, or no clock, there is no trial */
    memset(dst, 7, (size_t)to);
    ldg_run *const way = ldg_trial_way(&j, k);
    (way ? way : j.run)(&j, src, dst, 0, blocks);
    ck_assert_msg(!memcmp(dst, expected, (size_t)to), "way %d", k);
    asked |= way && way == ldg_trial_way(&ahead, 1);
  }
  ck_assert_int_eq(asked, asks && ldg_cpu_ticks());
  free(src), free(dst), free(expected);
}
START_TEST(asked_for_too) {
  rng r = rng_of(49);
  ldg_model m = ldg_model_builtin();
  for (int k = 0; k < LDG_MODEL_LEVELS; k++) m.level[k] = 64;
  m.number[LDG_MODEL_MEET] = m.number[LDG_MODEL_MEET_WRITTEN] = m.number[LDG_MODEL_SETS] = m.number[LDG_MODEL_SETS_WRITTEN] = m.number[LDG_MODEL_SETS_APART] = 4;
  m.number[LDG_MODEL_AHEAD] = 16, m.number[LDG_MODEL_WRITTEN] = 0;
  for (int i = 0; i < 60; i++) {
    const int64_t block = rng_in(&r, 1, 64), far = i % 3 ? 4096 : 4096 + rng_in(&r, 8, 500);
    const ldg_nest read = { .block = block, .nd = 1, .dim = { { rng_in(&r, 130, 300), 4096, block } }, .any = true };
    const ldg_nest written = { .block = block, .nd = 1, .dim = { { rng_in(&r, 130, 300), block, far } }, .any = true };
    m.number[LDG_MODEL_TOUCHED] = i % 2, ldg_model_use(&m);
    check_ways("paced", &read, i % 2, &r), check_ways("paced", &written, i % 2, &r);
    check_ways("block", &read, i % 2, &r), check_ways("block", &written, i % 2, &r);
  }
  ldg_model_use(NULL);
}
END_TEST

int main(int argc, char **argv) {
  ldg_cpu_clock = clock_of_kernels;
  return CHECK_MAIN("ahead", argc, argv, lines_asked_for, faster_kernel_runs, groups_are_tried, few_lines_are_timed_less_often, jobs_take_turns, a_rare_job, slow_beginning, slow_later, plain_stays, threads_share_a_job, one_call, asked_for_too);
}
