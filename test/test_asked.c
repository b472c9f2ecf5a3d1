/* asked: which lines are asked for before it is their turn, of which side, and how far ahead. */
#include "common.h"
#include "base_model.h"
#include "base_trial.h"
#include "../backends/host/ahead.h"
#include "../backends/host/kernels.h"

static int nothing(const ldg_job *j, const char *s, char *d, int64_t i0, int64_t n) { return (void)j, (void)s, (void)d, (void)i0, (void)n, LADING_OK; }

/* A machine that waits for lines that are written (or not: 0), and stores 2 GiB and more past its caches. */
static ldg_model waiting(int64_t written) {
  ldg_model m = ldg_model_builtin();
  for (int k = 0; k < LDG_MODEL_LEVELS; k++) m.level[k] = INT64_C(16384) << 5 * k;
  m.number[LDG_MODEL_AHEAD] = 64, m.number[LDG_MODEL_WRITTEN] = written, m.number[LDG_MODEL_TOUCHED] = 0, m.number[LDG_MODEL_STREAM] = INT32_MAX;
  return m;
}

enum { ENTRIES = 4096 };
static const int64_t listed[ENTRIES]; /* nobody looks */
static const int32_t listed4[ENTRIES];
#define LISTED(side, from, to) { .block = 16, .nd = 1, .dim = { { ENTRIES, from, to } }, .at = listed, .at4 = listed4, .span = 40 * ENTRIES, .list = side }

/* [1]: where lines that are written take longer. */
static const struct { ldg_nest nest; const char *why_not[2]; int64_t ahead[2]; bool writes[2]; } asked_for[] = {
  { { .block = 16384, .nd = 1, .dim = { { 128, 20000, 16384 } } }, { "blocks are long", NULL }, { 0, 16 * 64 }, { false, true } },
  { { .block = 16384, .nd = 1, .dim = { { 128, 16384, 20000 } } }, { "blocks are long", NULL }, { 0, 16 * 64 }, { false, true } },
  { { .block = 2 << 20, .nd = 1, .dim = { { 128, 3 << 20, 2 << 20 } } }, { "blocks are long", "blocks are long" }, { 0, 0 }, { false, false } },
  { { .block = 1 << 20, .nd = 1, .dim = { { 2048, 3 << 20, 1 << 20 } } }, { "blocks are long", "they go past the caches" }, { 0, 0 }, { false, false } },
  { { .block = 64, .nd = 1, .dim = { { 4000, 192, 128 } } }, { NULL, NULL }, { 64 * 192, 64 * 128 }, { false, true } },
  { { .block = 64, .nd = 1, .dim = { { 200, 64, 128 } } }, { "lines are few", NULL }, { 0, 64 * 128 }, { false, true } },
  { { .block = 48, .nd = 1, .dim = { { 4000, 79, 48 } } }, { "blocks share lines, or come back to them", "blocks share lines, or come back to them" }, { 0, 0 }, { false, false } },
  { { .block = 264, .nd = 1, .dim = { { 4000, 295, 264 } } }, { "blocks share lines, or come back to them", NULL }, { 0, 16 * 64 }, { false, true } },
  { { .block = 264, .nd = 1, .dim = { { 4000, 296, 264 } } }, { NULL, NULL }, { 13 * 296, 16 * 64 }, { false, true } },
  { LISTED(LDG_LIST_DST, 16, 0), { "blocks share lines", NULL }, { 0, 64 }, { false, true } },
  { LISTED(LDG_LIST_SRC, 0, 16), { "blocks share lines", "blocks share lines" }, { 0, 0 }, { false, false } },
};

START_TEST(lines_that_are_written) {
  for (int w = 0; w < 2; w++) {
    const ldg_model m = waiting(16 * w);
    ldg_model_use(&m);
    for (int64_t i = 0; i < COUNT_OF(asked_for); i++) {
      ldg_job j = { .nest = asked_for[i].nest }, plain = { .run = nothing };
      const char *why = ldg_ahead_why_not(&j.nest), *expected = asked_for[i].why_not[w];
      ck_assert_msg(why == expected || (why && expected && !strcmp(why, expected)), "nest %d: %s", (int)i, why ? why : "asked for");
      if (why) continue;
      ldg_ahead_prepare(&j, &plain, nothing, NULL);
      ck_assert_int_eq(LDG_ASKED(&j)->ahead, asked_for[i].ahead[w]);
      ck_assert_int_eq(LDG_ASKED(&j)->writes, asked_for[i].writes[w]);
    }
  }
  ldg_model_use(NULL);
}
END_TEST

/* Which blocks are read before they are moved, where that gains: of 64 lines and more, and of 128 narrow ones or where nobody knows how many there are, not those that are written to one set or two, or by one call, nor long or listed ones. */
START_TEST(blocks_that_are_read) {
  static const struct { ldg_nest nest; bool may, touched; } of[] = {
    { { .block = 40, .nd = 1, .dim = { { 128, 1000, 40 } } }, true, true },   { { .block = 40, .nd = 1, .dim = { { 128, 4096, 40 } } }, true, true },
    { { .block = 40, .nd = 1, .dim = { { 128, 40, 1000 } } }, true, true },   { { .block = 40, .nd = 1, .dim = { { 128, 40, -512 } } }, true, true },   { { .block = 40, .nd = 1, .dim = { { 128, 40, 1024 } } }, true, true },
    { { .block = 40, .nd = 1, .dim = { { 128, 40, 2048 } } }, true, false },  { { .block = 40, .nd = 1, .dim = { { 128, 40, -4096 } } }, true, false },
    { { .block = 40, .nd = 1, .dim = { { 128, 40, 256 } } }, true, true },    { { .block = 40, .nd = 1, .dim = { { 63, 1000, 40 } } }, false, true },
    { { .block = 40, .nd = 1, .any = true, .dim = { { 64, 1000, 40 } } }, false, true }, { { .block = 257, .nd = 1, .dim = { { 64, 1000, 257 } } }, false, false },
    { { .block = 17, .nd = 1, .dim = { { 64, 1000, 17 } } }, true, true },    { { .block = 16, .nd = 1, .dim = { { 127, 1000, 16 } } }, false, true },   { { .block = 16, .nd = 1, .dim = { { 128, 1000, 16 } } }, true, true },
    { { .block = 256, .nd = 1, .dim = { { 128, 256, 1000 } } }, true, true }, { { .block = 257, .nd = 1, .dim = { { 128, 257, 1000 } } }, false, false },
    { { .block = 56, .nd = 1, .dim = { { 128, 64, 56 } } }, true, true },     { { .block = 64, .nd = 1, .dim = { { 128, 64, -65 } } }, true, true },    { { .block = 64, .nd = 1, .dim = { { 128, 64, 64 } } }, false, true },
    { { .block = 33, .nd = 1, .dim = { { 128, 63, 33 } } }, false, true },    { { .block = 256, .nd = 1, .dim = { { 128, 257, 256 } } }, true, true },  { { .block = 64, .nd = 1, .dim = { { 128, 72, 64 } }, .once = true }, false, true },
    { { .block = 8, .nd = 1, .dim = { { 4000, 40, 8 } } }, false, true },     { { .block = 40, .nd = 1, .dim = { { 128, 40, 1000 } }, .once = true }, false, false },     { { .block = 40, .nd = 1, .dim = { { 128, 1000, 40 } }, .once = true }, false, true },
    { { .block = 16, .nd = 1, .dim = { { ENTRIES, 16, 0 } }, .at = listed, .at4 = listed4, .span = 100 * ENTRIES, .list = LDG_LIST_DST }, false, false },
  };
  ldg_model m = waiting(0);
  for (int touched = 0; touched < 2; touched++) {
    m.number[LDG_MODEL_TOUCHED] = touched, ldg_model_use(&m);
    for (int i = 0; i < COUNT_OF(of); i++) {
      ldg_job j = { .nest = of[i].nest };
      ck_assert_msg(ldg_ahead_may_gain(&j.nest, ldg_ahead_least(&j.nest)) == (touched && of[i].may), "nest %d", i);
      if (i == 0) ck_assert_str_eq(ldg_ahead_why_not(&j.nest), touched ? "lines are few, so it is only a way of the trials of others" : "lines are few");
      ldg_ahead_settle(&j);
      ck_assert_msg(LDG_ASKED(&j)->touch == (touched && of[i].touched), "nest %d", i);
      j.nest.any = true, ldg_ahead_settle(&j);
      if (i == 0) ck_assert_int_eq(LDG_ASKED(&j)->ahead, 1000 * 64); /* nobody knows how many there are */
      j.nest.any = false, ldg_ahead_settle(&j);
      if (i == 0) ck_assert_int_eq(LDG_ASKED(&j)->ahead, 1000 * (touched ? 128 / 4 : 64)); /* of few lines a quarter */
    }
  }
  ldg_model_use(NULL);
}
END_TEST

/* Columns that go on from line to line are read first, and only their own line is asked for. */
START_TEST(columns_that_are_foreseen) {
  static const struct { int64_t src, dst; bool asks[2]; } of[] = {
    { 79, 8, { true, false } }, { 80, 8, { true, true } }, { -64, 8, { true, true } }, { 8, 72, { true, false } }, { 8, -80, { true, true } },
  };
  ldg_model m = waiting(0);
  for (int i = 0; i < 2 * COUNT_OF(of); i++) {
    ldg_job j = { .nest = { .block = 8, .nd = 1, .dim = { { 4000, of[i / 2].src, of[i / 2].dst } } } };
    m.number[LDG_MODEL_TOUCHED] = i % 2, ldg_model_use(&m);
    ldg_ahead_settle(&j);
    ck_assert_msg((LDG_ASKED(&j)->ahead != 0) == of[i / 2].asks[i % 2], "columns %d", i / 2);
    j.nest.nd = 2, j.nest.dim[0].n = 8, j.nest.dim[1] = (ldg_dim){ 500, 8 * 4096, 8 * 4096 };
    ldg_ahead_settle(&j);
    ck_assert_msg(LDG_ASKED(&j)->ahead != 0, "rows of columns %d", i / 2); /* the next row is not */
  }
  ldg_model_use(NULL);
}
END_TEST

/* So are blocks with fewer than half a line between them, in short rows, too, each of which begins near the end of the one before. */
START_TEST(close_columns_that_are_foreseen) {
  static const struct { int64_t block, stride; bool asks; int64_t next; bool row_asks; } of[] = {
    { 64, 95, false, 8 * 95, false }, { 64, 96, true, 8 * 96, true }, { 200, 231, false, 8 * 231 + 511, false }, { 200, 231, false, 8 * 231 + 512, true },
    { 56, 64, false, 7 * 64 + 1, false }, { 56, 64, false, 7 * 64, true }, { 56, -64, true, -8 * 64, true }, { 56, 64, false, INT64_MAX, true }, { 56, 64, false, INT64_MIN + 1, true }, { 40, 76, false, 8 * 76, true },
  };
  ldg_model m = waiting(0);
  m.number[LDG_MODEL_TOUCHED] = 1, ldg_model_use(&m);
  for (int i = 0; i < 2 * COUNT_OF(of); i++) {
    const int64_t block = of[i / 2].block, stride = of[i / 2].stride, next = of[i / 2].next;
    ldg_job j = { .nest = { .block = block, .nd = 1, .dim = { i % 2 ? (ldg_dim){ 4000, stride, block } : (ldg_dim){ 4000, block, stride } } } };
    ldg_ahead_settle(&j);
    ck_assert_msg((LDG_ASKED(&j)->ahead != 0) == of[i / 2].asks, "columns %d", i / 2);
    j.nest.nd = 2, j.nest.dim[0].n = 8, j.nest.dim[1] = i % 2 ? (ldg_dim){ 500, next, 8 * block } : (ldg_dim){ 500, 8 * block, next };
    ldg_ahead_settle(&j);
    ck_assert_msg((LDG_ASKED(&j)->ahead != 0) == of[i / 2].row_asks, "rows of columns %d", i / 2);
  }
  ldg_model_use(NULL);
}
END_TEST

/* Close blocks are read first, but what one call writes is not: then they share lines, as on machines that gain nothing by it; and of two sides the one whose blocks have their own is asked for. */
START_TEST(close_blocks) {
  static const struct { int64_t src, dst; bool once; const char *why_not; bool writes; int64_t ahead; } of[] = {
    { 72, 64, false, NULL, false, 0 }, { 72, 64, true, NULL, false, 0 }, { 64, 72, false, NULL, true, 0 }, { 64, 72, true, "blocks share lines, or come back to them", true, 64 * 72 },
    { 72, 1000, false, NULL, true, 64 * 1000 }, { 1000, 72, false, NULL, false, 64 * 1000 }, { 72, 80, false, NULL, false, 0 }, { 64, 64, false, "blocks share lines, or come back to them", true, 0 },
  };
  ldg_model m = waiting(0);
  m.number[LDG_MODEL_TOUCHED] = 1, ldg_model_use(&m);
  for (int i = 0; i < COUNT_OF(of); i++) {
    ldg_job j = { .nest = { .block = 64, .nd = 1, .dim = { { 1 << 20, of[i].src, of[i].dst } }, .once = of[i].once } };
    ck_assert_pstr_eq(ldg_ahead_why_not(&j.nest), of[i].why_not);
    ldg_ahead_settle(&j);
    ck_assert_msg(LDG_ASKED(&j)->writes == of[i].writes && LDG_ASKED(&j)->ahead == of[i].ahead, "blocks %d", i);
  }
  ldg_model_use(NULL);
}
END_TEST

/* What no cache has room for is likely to gain by any stride, but written by one call, which reads nothing first; else strides of few sets are not. */
START_TEST(blocks_beyond) {
  static const struct { int64_t blocks, src, dst; bool once, likely; } of[] = {
    { 1 << 20, 512, 8, false, true }, { 1 << 20, 8, 512, false, true }, { 1 << 20, 8, 4096, false, true }, { 1 << 20, 4096, 8, true, true },
    { 1 << 20, 8, 512, true, false }, { 1 << 20, 8, 4096, true, false }, { 1 << 16, 512, 8, false, false }, { 1 << 16, 8, 512, false, false },
  };
  ldg_model m = waiting(0);
  for (int touched = 0; touched < 2; touched++) {
    m.number[LDG_MODEL_TOUCHED] = touched, ldg_model_use(&m);
    for (int i = 0; i < COUNT_OF(of); i++) {
      const ldg_nest n = { .block = 8, .nd = 1, .dim = { { of[i].blocks, of[i].src, of[i].dst } }, .once = of[i].once };
      ck_assert_msg((ldg_ahead_share(&n) < 0.9) == (touched && of[i].likely), "nest %d", i);
    }
  }
  ldg_model_use(NULL);
}
END_TEST

/* Of bytes in a row those that the first-level cache does not hold. */
START_TEST(runs_that_are_written) {
  for (int w = 0; w < 2; w++) {
    const ldg_model m = waiting(16 * w);
    ldg_job j = { .nest = { .block = 8, .nd = 1, .dim = { { 1000, 8, 8 } } } };
    ldg_model_use(&m);
    ldg_backend_host.strategies[0].prepare(&j);
    ck_assert_str_eq(ldg_backend_host.strategies[0].name, "memcpy");
    ck_assert_int_eq(LDG_ONE_RUN(&j)->ahead, 64 * 16 * w);
    ck_assert_int_eq(LDG_ONE_RUN(&j)->asks, w ? m.level[LDG_MODEL_L1] : INT64_MAX);
  }
  ldg_model_use(NULL);
}
END_TEST

/* Which columns have late addresses: neither those whose lines go on from line to line, nor narrow ones that have a page each. */
START_TEST(columns_that_wait) {
  static const struct { int64_t stride, block; bool waits; } columns[] = {
    { 127, 8, false }, { 128, 8, true }, { -127, 8, false }, { -128, 8, true }, { 4095, 8, true }, { 4096, 8, false }, { -4095, 4, true }, { -4096, 4, false }, { 4096, 9, true }, { -40880, 40, true },
    { 0, 8, false }, { INT64_MIN, 8, false }, { INT64_MIN + 1, 40, true }, { INT64_MAX, 40, true } };
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) ck_assert_int_eq(ldg_may_wait(columns[i].stride, columns[i].block), columns[i].waits);
}
END_TEST

/* Whether the C library is better is tried where the model says that it is for rows, from these on, and never where all layouts share a job. */
START_TEST(runs_that_are_tried) {
  static const struct { int64_t libc, rows, tried[2]; } numbers[] = {
    { 32768, 512, { LDG_TRIAL_LEAST, INT64_MAX } }, { 32768, 9000, { 9000, INT64_MAX } }, { 8192, 512, { INT64_MAX, INT64_MAX } }, { 32768, INT32_MAX, { INT64_MAX, INT64_MAX } },
  };
  for (int64_t i = 0; i < 2 * COUNT_OF(numbers); i++) {
    ldg_model m = waiting(0);
    ldg_job j = { .nest = { .block = 8, .nd = 1, .once = i % 2, .dim = { { 1000, 8, 8 } } } };
    m.number[LDG_MODEL_LIBC] = numbers[i / 2].libc, m.number[LDG_MODEL_LIBC_ROWS] = numbers[i / 2].rows;
    ldg_model_use(&m);
    ldg_backend_host.strategies[0].prepare(&j);
    ck_assert_int_eq(LDG_ONE_RUN(&j)->tried, numbers[i / 2].tried[i % 2]);
  }
  ldg_model_use(NULL);
}
END_TEST

int main(int argc, char **argv) { return CHECK_MAIN("asked", argc, argv, columns_that_wait, columns_that_are_foreseen, close_columns_that_are_foreseen, close_blocks, lines_that_are_written, blocks_that_are_read, blocks_beyond, runs_that_are_written, runs_that_are_tried); }
