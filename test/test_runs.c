/* runs: what is in one piece, parts of it, and where its page ends. */
#include "random_types.h"
#include "sides.h"
#include "api.h"
#include "base_model.h"
#include <sys/mman.h>
#include <unistd.h>

/* Parts of a run of one item, or of many items, that is long enough for them to go another way than whole messages of their length. */
static int64_t libc_of_runs(bool part) {
  ldg_job j;
  int64_t libc;
  ldg_plan_nest(&j, &(ldg_nest){ .block = 1, .nd = 1, .part = part, .dim = { { LDG_PLAN_LONG, 1, 1 } } }, "memcpy", NULL);
  return memcpy(&libc, j.own, sizeof libc), libc; /* what long runs go by begins with that */
}
START_TEST(parts_of_long_runs) {
  static const struct { int64_t libc, rows, part; } numbers[] = { { 1 << 20, 512, 4096 }, { 1 << 20, 9000, 9000 }, { 1 << 20, INT64_MAX, 1 << 20 }, { 1000, 512, 1000 }, { INT64_MAX, 512, 4096 } };
  rng r = rng_of(53);
  ldg_model m = ldg_model_builtin();
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) { /* the last ones stay: in this process there was no plan before */
    m.number[LDG_MODEL_LIBC] = numbers[i].libc, m.number[LDG_MODEL_LIBC_ROWS] = numbers[i].rows;
    ldg_model_use(&m);
    ck_assert_int_eq(libc_of_runs(true), numbers[i].part);
    ck_assert_int_eq(libc_of_runs(false), numbers[i].libc);
  }
  for (int i = 0; i < 12; i++) {
    const int64_t block = rng_in(&r, 1, 3) * 8, all = LDG_PLAN_LONG + 4096 * (i % 4 - 1) + rng_in(&r, 0, 9);
    sample *run = i % 3 ? s_contiguous(block / 8, s_elem(LADING_DOUBLE)) : s_contiguous(all, s_elem(LADING_BYTE)); /* 0: one item */
    if (i % 3 == 2) run = s_hindexed_block(1, 1, (int64_t[]){ rng_in(&r, 1, 99) }, run); /* it starts elsewhere */
    check_moves(run, i % 3 ? all / block : 1, &r);
    sample_free(run);
  }
  ldg_model_use(NULL);
}
END_TEST

/* Runs within a struct go by the same job where a call moves only some of a long message. */
static int parts_run;
static ldg_run *part_run;
static int count_parts(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) { return parts_run++, part_run(j, src, dst, i0, n); }
static int parts_of(const sample *s, int64_t lo, int64_t hi) {
  static char mem[1 << 17], packed[1 << 17];
  parts_run = 0;
  ck_assert_int_eq(lading_pack(s->type, 1, mem, packed, lo, hi), LADING_OK);
  const int packs = parts_run;
  ck_assert_int_eq(lading_unpack(s->type, 1, mem, packed, lo, hi), LADING_OK);
  ck_assert_int_eq(parts_run, 2 * packs);
  return packs;
}
START_TEST(parts_within_structs) {
  sample *longer = s_hindexed(2, (int64_t[]){ 20000, 20001 }, (int64_t[]){ 0, 30000 }, s_elem(LADING_BYTE)), *shorter = s_hindexed(2, (int64_t[]){ 9000, 9001 }, (int64_t[]){ 0, 30000 }, s_elem(LADING_BYTE));
  ldg_job *part = (ldg_job *)(uintptr_t)ldg_plan_part;
  parts_of(longer, 0, 40001); /* which makes its plan */
  part_run = part->run, part->run = count_parts;
  ck_assert_int_eq(parts_of(longer, 0, 40001), 0);
  ck_assert_int_eq(parts_of(longer, 100, 8292), 1);
  ck_assert_int_eq(parts_of(longer, 15000, 25000), 2);
  ck_assert_int_eq(parts_of(shorter, 100, 8292), 0);
  part->run = part_run;
  sample_free(longer), sample_free(shorter);
}
END_TEST

/* Runs of all lengths of a few lines, in the middle of a page, at its end, and across it, where no page follows. */
START_TEST(short_runs_at_page_ends) {
  const int64_t page = sysconf(_SC_PAGESIZE);
  char *two[2];
  for (int i = 0; i < 2; i++) {
    two[i] = mmap(NULL, (size_t)(3 * page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(two[i] != MAP_FAILED && mprotect(two[i] + 2 * page, (size_t)page, PROT_NONE) == 0);
  }
  for (int64_t n = 1; n <= 200; n++) {
    sample *run = s_contiguous(n, s_elem(LADING_BYTE));
    const int64_t places[] = { 100, page - n / 2, page - n, 2 * page - n - 1, 2 * page - n };
    for (int at = 0; at < 5 * 5 * 2; at++) {
      char *from = two[0] + places[at % 5], *to = two[1] + places[at / 5 % 5];
      for (int64_t i = 0; i < n; i++) from[i] = (char)(i + at), to[i] = 0;
      const bool more = to + n < two[1] + 2 * page;
      to[-1] = 'x';
      if (more) to[n] = 'y';
      ck_assert_int_eq(at < 25 ? lading_pack(run->type, 1, from, to, 0, n) : lading_unpack(run->type, 1, to, from, 0, n), LADING_OK);
      ck_assert(memcmp(from, to, (size_t)n) == 0 && to[-1] == 'x');
      if (more) ck_assert_int_eq(to[n], 'y');
    }
    sample_free(run);
  }
  for (int i = 0; i < 2; i++) munmap(two[i], (size_t)(3 * page));
}
END_TEST

/* At every place in a line, next to bytes that stay and a page that is not there; often enough for calls to have tried all ways. The destination before and behind the source, by their places in pages. */
static void long_run_everywhere(int64_t n, char *from_end, char *to_end) {
  sample *run = s_contiguous(n, s_elem(LADING_BYTE));
  for (int64_t at = 0; at < 64 * 2; at++) {
    char *from = from_end - n - at * 5 % 64 - (at % 3 == 2 ? 1064 : 0), *to = to_end - n - at % 64 - (at % 3 == 1 ? 2100 : 0);
    memset(to - 64, 'x', (size_t)(to_end - to + 64));
    ck_assert_int_eq(at < 64 ? lading_pack(run->type, 1, from, to, 0, n) : lading_unpack(run->type, 1, to, from, 0, n), LADING_OK);
    ck_assert(memcmp(from, to, (size_t)n) == 0 && to[-1] == 'x' && (to + n == to_end || to[n] == 'x'));
  }
  sample_free(run);
}

/* To places as they come and aligned ones, asking for lines or not, with a trial, and past the caches. */
static ldg_model way_of_runs(int way) {
  ldg_model m = ldg_model_builtin();
  m.number[LDG_MODEL_ALIGN] = way % 2, m.number[LDG_MODEL_WRITTEN] = way / 2 % 2 * 16, m.level[LDG_MODEL_L1] = 2048;
  m.number[LDG_MODEL_LIBC] = 40000, m.number[LDG_MODEL_LIBC_ROWS] = 512, m.number[LDG_MODEL_STREAM] = way == 4 ? 4097 : INT32_MAX;
  return m;
}
START_TEST(long_runs_at_every_place) {
  static const int64_t lengths[] = { 511, 512, 513, 575, 640, 767, 1023, 2047, 2048, 2049, 2111, 2112, 2304, 4095, 4097, 8191, 8192, 8193, 16320, 32767, 40001 };
  const int64_t page = sysconf(_SC_PAGESIZE), room = 64 << 10;
  char *two[2];
  for (int i = 0; i < 2; i++) {
    two[i] = mmap(NULL, (size_t)(room + page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(two[i] != MAP_FAILED && mprotect(two[i] + room, (size_t)page, PROT_NONE) == 0);
  }
  for (int64_t i = 0; i < room; i++) two[0][i] = (char)(i * 7 + i / 251);
  for (int way = 0; way < 5; way++) {
    const ldg_model m = way_of_runs(way);
    ldg_model_use(&m);
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) long_run_everywhere(lengths[k], two[0] + room, two[1] + room);
  }
  ldg_model_use(NULL);
  for (int i = 0; i < 2; i++) munmap(two[i], (size_t)(room + page));
}
END_TEST

int main(int argc, char **argv) { return CHECK_MAIN("runs", argc, argv, parts_of_long_runs, parts_within_structs, short_runs_at_page_ends, long_runs_at_every_place); }
