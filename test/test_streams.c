/* streams: what is done about lines that are beyond the caches: which long blocks are stored past them, by how many bytes they are and where they go; which lines rows ask for. */
#include "common.h"
#include "base_model.h"
#include "base_cpu.h"
#include "../backends/host/shuffle.h"

enum { STREAM = 100000, LINE = 64, FIRSTS = 4 * 16 + 1 }; /* first calls of a trial of four ways, of less than 512 KiB; four a way of more */

/* In place of the kernels: how often each ran. */
static int near_calls, far_calls;
static int count_near(const ldg_job *j, const char *s, char *d, int64_t i0, int64_t n) { return (void)j, (void)s, (void)d, (void)i0, (void)n, near_calls++, LADING_OK; }
static int count_far(const ldg_job *j, const char *s, char *d, int64_t i0, int64_t n) { return (void)j, (void)s, (void)d, (void)i0, (void)n, far_calls++, LADING_OK; }

static char source[1024], to[1024] __attribute__((aligned(LINE)));

static ldg_job counted(const ldg_nest *n, const char *strategy) {
  const ldg_strategy *s = strategy_named(strategy);
  ck_assert(s->why_not(n) == NULL);
  ldg_job j = { .nest = *n };
  s->prepare(&j);
  ldg_long *l = (ldg_long *)(void *)j.own;
  l->near = count_near, l->far = count_far;
  return j;
}
static bool goes_far(const ldg_job *j, int64_t at, int64_t n) {
  near_calls = far_calls = 0;
  ck_assert_int_eq(j->run(j, source, to + at, 0, n), LADING_OK);
  ck_assert_int_eq(near_calls + far_calls, 1);
  return far_calls == 1;
}

enum { MANY = 1000 };
static const int64_t listed[MANY]; /* nobody looks */
static const int32_t listed4[MANY];

/* far: to a place that begins a line, to one that does not. */
static const struct { ldg_nest nest; const char *strategy; bool far[2]; } blocks[] = {
  { { .block = 320, .nd = 1, .dim = { { MANY, 400, 320 } } }, "block", { true, false } },
  { { .block = 320, .nd = 1, .dim = { { MANY, 320, 384 } } }, "block", { true, false } },
  { { .block = 320, .nd = 1, .dim = { { MANY, 320, 400 } } }, "block", { false, false } },
  { { .block = 320, .nd = 2, .dim = { { 10, 384, 320 }, { MANY / 10, 9000, 3200 } } }, "block", { true, false } },
  { { .block = 320, .nd = 2, .dim = { { 10, 320, 384 }, { MANY / 10, 3200, 9000 } } }, "block", { false, false } },
  { { .block = 280, .nd = 1, .dim = { { MANY, 320, 280 } } }, "block", { false, false } },
  { { .block = 767, .nd = 1, .dim = { { MANY, 800, 767 } } }, "block", { false, false } },
  { { .block = 767, .nd = 1, .dim = { { MANY, 767, 800 } } }, "block", { false, false } },
  { { .block = 768, .nd = 1, .dim = { { MANY, 777, 768 } } }, "block", { true, true } },
  { { .block = 768, .nd = 1, .dim = { { MANY, 768, 777 } } }, "block", { true, true } },
  { { .block = 320, .nd = 1, .dim = { { MANY, 0, 320 } }, .at = listed, .at4 = listed4, .span = 400 * MANY, .list = LDG_LIST_SRC }, "list", { true, false } },
  { { .block = 320, .nd = 1, .dim = { { MANY, 320, 0 } }, .at = listed, .at4 = listed4, .span = 400 * MANY, .list = LDG_LIST_DST }, "list", { false, false } },
  { { .block = 960, .nd = 1, .dim = { { MANY, 960, 0 } }, .at = listed, .at4 = listed4, .span = 1000 * MANY, .list = LDG_LIST_DST }, "list", { true, true } },
};

static ldg_model streaming(void) {
  ldg_model m = ldg_model_builtin();
  m.number[LDG_MODEL_STREAM] = STREAM, m.number[LDG_MODEL_AHEAD] = 0;
  return m;
}

/* One call finds nothing out: it is up to the layout and the place. */
START_TEST(calls_that_try_nothing) {
  const ldg_model m = streaming();
  ldg_model_use(&m);
  for (int64_t i = 0; i < COUNT_OF(blocks); i++) {
    ldg_nest n = blocks[i].nest;
    n.once = true;
    const ldg_job j = counted(&n, blocks[i].strategy);
    int64_t each = n.block;
    for (int k = 0; k < n.nd - 1; k++) each *= n.dim[k].n;
    const int64_t least = (STREAM + each - 1) / each;
    for (int64_t at = 0; at < LINE; at++) {
      ck_assert_msg(goes_far(&j, at, least) == blocks[i].far[at > 0], "nest %d at %d", (int)i, (int)at);
      ck_assert(!goes_far(&j, at, least - 1));
    }
  }
  ldg_model_use(NULL);
}
END_TEST

/* Where there is a trial both have their turn, the likely one first, and none of fewer bytes goes past the caches. */
START_TEST(calls_find_out) {
  ldg_model m = streaming();
  for (int any = 0; any < 2; any++) {
    m.number[LDG_MODEL_STREAM] = any ? 1000 * STREAM : STREAM; /* of how many there are the layout says nothing */
    ldg_model_use(&m);
    for (int64_t i = 0; i < COUNT_OF(blocks) && ldg_cpu_ticks(); i++) {
      ldg_nest n = blocks[i].nest;
      n.any = any;
      ldg_job j = counted(&n, blocks[i].strategy);
      for (int k = 0; k < LDG_LONG_OTHERS; k++) ((ldg_long_ways *)(void *)j.own)->other[k] = count_near;
      const int64_t all = n.nd == 1 ? MANY : MANY / 10, times = any ? 1000 : 1, place = i % 2;
      ck_assert(goes_far(&j, place, all * times) == blocks[i].far[place]);
      int far = 0;
      for (int calls = 1; calls < FIRSTS; calls++) far += goes_far(&j, place, all * times);
      ck_assert_int_ge(far, 4);
      ck_assert_int_le(far, FIRSTS - 1 - 4);
      for (int calls = 0; calls < 3 * FIRSTS; calls++) ck_assert(!goes_far(&j, place, all * times / 10));
    }
  }
  ldg_model_use(NULL);
}
END_TEST

/* What calls of fewer bytes found out says nothing: the first one of so many goes the likely way again. */
static uint64_t now = 1;
static uint64_t clock_of_kernels(void) { return now; }
static int count_slowly(const ldg_job *j, const char *s, char *d, int64_t i0, int64_t n) { return now += 20000, count_near(j, s, d, i0, n); }
START_TEST(sizes_apart) {
  ldg_model m = streaming();
  m.number[LDG_MODEL_STREAM] = 1000 * STREAM;
  ldg_model_use(&m);
  for (int64_t i = 0; i < COUNT_OF(blocks) && ldg_cpu_ticks(); i++) {
    ldg_nest n = blocks[i].nest;
    n.any = true;
    ldg_job j = counted(&n, blocks[i].strategy);
    ldg_long_ways *w = (ldg_long_ways *)(void *)j.own;
    const int64_t all = n.nd == 1 ? MANY : MANY / 10;
    w->long_.near = count_slowly;
    for (int k = 0; k < LDG_LONG_OTHERS; k++) w->other[k] = k == LDG_LONG_OTHERS - 1 ? count_near : count_slowly;
    for (int calls = 0; calls < 2 * FIRSTS; calls++) ck_assert(!goes_far(&j, i % 2, 10 * all));
    ck_assert(goes_far(&j, i % 2, 1000 * all) == blocks[i].far[i % 2]);
  }
  ldg_model_use(NULL);
}
END_TEST

/* Rows that are beyond the second cache ask for lines that come, by their own loop if it goes on so far. */
START_TEST(lines_that_come) {
  static const struct { ldg_nest nest; int64_t src, dst; } rows[] = {
    { { .block = 6, .nd = 2, .dim = { { 7, 37, 6 }, { 100000, 312, 42 } } }, 4 * 312, 25 * 42 },
    { { .block = 6, .nd = 2, .dim = { { 7, 37, 6 }, { 100000, -312, 42 } } }, -4 * 312, 25 * 42 },
    { { .block = 6, .nd = 2, .dim = { { 7, 6, 37 }, { 100000, 42, 5000 } } }, 25 * 42, 5000 },
    { { .block = 6, .nd = 3, .dim = { { 7, 37, 6 }, { 2, 300, 42 }, { 100000, 10000, 84 } } }, 10000, 13 * 84 },
    { { .block = 6, .nd = 3, .dim = { { 7, 37, 6 }, { 20, 300, 42 }, { 100000, 10000, 840 } } }, 4 * 300, 2 * 840 },
  };
  ldg_model m = ldg_model_builtin();
  ldg_shuffle w;
  for (int i = 0; i < COUNT_OF(rows); i++) {
    ldg_nest n = rows[i].nest;
    m.level[LDG_MODEL_L2] = 1 << 20, m.number[LDG_MODEL_MASKED] = 16;
    ldg_model_use(&m);
    ck_assert_ptr_null(ldg_shuffle_of(&n, 1, &w));
    ck_assert_int_eq(w.next.src, rows[i].src);
    ck_assert_int_eq(w.next.dst, rows[i].dst);
    ck_assert_int_gt(w.many, 100);
    ck_assert_int_le(w.many, 100000);
    m.number[LDG_MODEL_MASKED] = 0; /* machines that foresee what is moved under masks */
    ldg_model_use(&m);
    ck_assert_ptr_null(ldg_shuffle_of(&n, 1, &w));
    ck_assert_int_eq(w.many, INT64_MAX);
  }
  ldg_model_use(NULL);
}
END_TEST

int main(int argc, char **argv) {
  ldg_cpu_clock = clock_of_kernels;
  return CHECK_MAIN("streams", argc, argv, calls_that_try_nothing, calls_find_out, sizes_apart, lines_that_come);
}
