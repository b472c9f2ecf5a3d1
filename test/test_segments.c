/* segments: the list of maximal runs from any position, against the naive stream; and types far too big to write out. */
#include "api.h"
#include "random_types.h"
#include <inttypes.h>

START_TEST(random_trees) {
  rng r = rng_of(21);
  for (int i = 0; i < 5000; i++) {
    sample *s = random_type(&r, i % 6, 500);
    check_segments(s, rng_in(&r, 0, 3), &r);
    sample_free(s);
  }
}
END_TEST

START_TEST(fresh_and_committed_agree) {
  rng r = rng_of(22);
  for (int i = 0; i < 500; i++) {
    sample *s = random_type(&r, 4, 200);
    ck_assert_int_eq(lading_type_commit(s->type), LADING_OK);
    check_segments(s, 2, &r);
    sample_free(s);
  }
}
END_TEST

static int64_t segments_of(const sample *s, int64_t count) {
  int64_t n = -1;
  ck_assert_int_eq(lading_segments_count(s->type, count, &n), LADING_OK);
  return n;
}

START_TEST(runs_merge_across_items) {
  sample *s = s_resized(s_vector(2, 1, 2, s_elem(LADING_INT32)), 0, 12); /* 0-4 8-12 | 12-16 20-24 */
  rng r = rng_of(23);
  ck_assert_int_eq(segments_of(s, 1), 2);
  ck_assert_int_eq(segments_of(s, 2), 3);
  ck_assert_int_eq(segments_of(s, 1000), 1001);
  for (int64_t count = 0; count < 9; count++) check_segments(s, count, &r);
  sample_free(s);
}
END_TEST

START_TEST(runs_merge_across_constructors) {
  sample *s = S_STRUCT(3, LIST(1, 2, 1), LIST(0, 4, 12), s_elem(LADING_INT32), s_vector(1, 4, 9, s_elem(LADING_BYTE)),
                       s_hindexed(3, LIST(4, 0, 4), LIST(0, 99, 4), s_elem(LADING_BYTE)));
  ck_assert_int_eq(segments_of(s, 1), 1);
  ck_assert_int_eq(segments_of(s, 7), 1);
  check_all(s, 3);
  sample_free(s);
}
END_TEST

/* Adjacent in memory, not in the stream: two runs; and a run never continues backwards. */
START_TEST(only_stream_neighbours_merge) {
  sample *s = s_hindexed(2, LIST(4, 4), LIST(4, 0), s_elem(LADING_BYTE));
  ck_assert_int_eq(segments_of(s, 1), 2);
  check_all(s, 2);
  sample_free(s);
}
END_TEST

/* 10^12 blocks of 8 bytes, 16 apart: 10^6 rows of 10^6, rows 16 * 10^6 + 64 bytes apart so that no rule flattens it away. */
static lading_type *huge(void) {
  lading_type *row, *all;
  ck_assert_int_eq(lading_type_hvector(1000000, 1, 16, lading_elem_type(LADING_DOUBLE), &row), LADING_OK);
  ck_assert_int_eq(lading_type_hvector(1000000, 1, 16000064, row, &all), LADING_OK);
  lading_type_free(row);
  return all;
}
static int64_t huge_offset(int64_t block) { return block / 1000000 * 16000064 + block % 1000000 * 16; }

START_TEST(a_trillion_blocks) {
  lading_type *t = huge(); /* anything that goes through the blocks takes hours: the runner's timeout */
  ck_assert_int_eq(lading_type_commit(t), LADING_OK);
  lading_info i = info_of(t);
  int64_t n;
  ck_assert_int_eq(i.blocks, 1000000000000);
  ck_assert_int_eq(i.size, 8000000000000);
  ck_assert_int_eq(i.true_extent, huge_offset(999999999999) + 8);
  ck_assert_int_lt(i.description_bytes, 4096);
  ck_assert(!i.overlaps && i.monotonic && i.min_block == 8 && i.max_block == 8);
  ck_assert_int_eq(lading_segments_count(t, 3, &n), LADING_OK);
  ck_assert(n == 3 * i.blocks || n == 3 * i.blocks - 2); /* items may touch: extent is the true extent */
  lading_id a = id_of(t, 1), b = id_of(t, 1000);
  ck_assert(!same_id(a, b));
  lading_type_free(t);
}
END_TEST

START_TEST(a_trillion_blocks_from_anywhere) {
  lading_type *t = huge();
  rng r = rng_of(24);
  for (int i = 0; i < 300; i++) {
    int64_t first = i ? rng_in(&r, 0, 999999999990) : 999999999990, got, k, rest;
    struct iovec v[5];
    ck_assert_int_eq(lading_iov(t, 1, NULL, first, v, 5, &got), LADING_OK);
    ck_assert_int_eq(got, 5);
    for (int j = 0; j < 5; j++) {
      ck_assert_uint_eq((uint64_t)(uintptr_t)v[j].iov_base, (uint64_t)huge_offset(first + j));
      ck_assert_uint_eq(v[j].iov_len, 8);
    }
    ck_assert_int_eq(lading_segment_at(t, 1, first * 8 + 5, &k, &rest), LADING_OK);
    ck_assert(k == first && rest == 5);
  }
  lading_type_free(t);
}
END_TEST

/* The memory of 16 TB is not there: the part that is packed is mapped, the base lies wherever that makes it. */
START_TEST(a_trillion_blocks_packed_in_part) {
  lading_type *t = huge();
  int64_t first = 555555000000 + 999000, blocks = 3000, bytes = blocks * 8, lo = huge_offset(first);
  int64_t span = huge_offset(first + blocks) - lo;
  buffer mem = buffer_new(span), packed = buffer_new(bytes - 3);
  buffer_fill(&mem, 9);
  char *base = at_offset(mem.data, -lo);
  ck_assert_int_eq(lading_pack(t, 1, base, packed.data, first * 8 + 1, first * 8 + bytes - 2), LADING_OK);
  for (int64_t k = 1; k < bytes - 2; k++) ck_assert_int_eq(packed.data[k - 1], mem.data[huge_offset(first + k / 8) - lo + k % 8]);
  memset(mem.data, 0, (size_t)span);
  ck_assert_int_eq(lading_unpack(t, 1, base, packed.data, first * 8 + 1, first * 8 + bytes - 2), LADING_OK);
  for (int64_t k = 1; k < bytes - 2; k++) ck_assert_int_eq(packed.data[k - 1], mem.data[huge_offset(first + k / 8) - lo + k % 8]);
  ck_assert_int_eq(mem.data[0], 0);
  ck_assert(buffer_guards(&mem) && buffer_guards(&packed));
  buffer_free(&mem);
  buffer_free(&packed);
  lading_type_free(t);
}
END_TEST

/* A list of 2^20 + 5 entries with no pattern, reached anywhere in no time. */
START_TEST(a_million_entries_from_anywhere) {
  enum { N = (1 << 20) + 5 };
  rng r = rng_of(25);
  int64_t *at = malloc(N * sizeof *at), *bl = malloc(N * sizeof *bl), pos = 0, k, rest, got;
  int64_t *start = malloc(N * sizeof *start);
  for (int64_t i = 0, mem = 0; i < N; i++) {
    mem += rng_in(&r, 1, 3);
    at[i] = mem;
    bl[i] = rng_in(&r, 1, 4);
    start[i] = pos;
    pos += 4 * bl[i];
    mem += bl[i];
  }
  lading_type *t;
  ck_assert_int_eq(lading_type_indexed(N, bl, at, lading_elem_type(LADING_FLOAT), &t), LADING_OK);
  ck_assert_int_eq(info_of(t).blocks, N);
  struct iovec v[4];
  for (int i = 0; i < 2000; i++) {
    int64_t first = i ? rng_in(&r, 0, N - 4) : 1 << 20;
    ck_assert_int_eq(lading_iov(t, 1, NULL, first, v, 4, &got), LADING_OK);
    ck_assert_int_eq(got, 4);
    for (int64_t j = 0; j < 4; j++) ck_assert((int64_t)(uintptr_t)v[j].iov_base == 4 * at[first + j] && (int64_t)v[j].iov_len == 4 * bl[first + j]);
    ck_assert_int_eq(lading_segment_at(t, 1, start[first] + 3, &k, &rest), LADING_OK);
    ck_assert(k == first && rest == 3);
  }
  for (int i = 0; i < 1000000; i++) /* a scan from the start would run into the timeout */
    ck_assert_int_eq(lading_iov(t, 1, NULL, 1 << 20, v, 1, &got), LADING_OK);
  lading_type_free(t);
  free(at);
  free(bl);
  free(start);
}
END_TEST

/* Iteration q of n bytes each holds bytes q * n to q * n + n - 1 of the stream. */
static void check_found(int64_t n, int64_t q, int64_t around) {
  const ldg_step s = { .each = n, .per_each = ldg_inverse_of(n, 63) };
  for (int64_t by = -around; by <= around; by++) {
    int64_t at, rest;
    if (__builtin_add_overflow(q * n, by, &at) || at < 0) continue;
    const int64_t i = ldg_plan_divide(&s, at, &rest);
    if (i != at / n || rest != at % n) ck_abort_msg("byte %" PRId64 " of iterations of %" PRId64 ": %" PRId64 ", %" PRId64, at, n, i, rest);
  }
}

/* An inverse is exact up to the last byte that can be counted: it is nearest to being wrong next to multiples, and for the largest. */
static void check_iterations_of(int64_t n, rng *r) {
  for (int shift = 0; shift < 63; shift++) {
    const int64_t most = (INT64_MAX >> shift) / n;
    for (int64_t down = 0; down < 3; down++) check_found(n, ldg_max(most - down, 0), 2);
    check_found(n, rng_in(r, 0, ldg_min(most, INT64_MAX - 1)), 2);
  }
}

START_TEST(iterations_are_found) {
  rng r = rng_of(26);
  for (int64_t n = 1; n <= 300; n++)
    for (int64_t q = 0; q <= 300; q++) check_found(n, q, 1);
  for (int64_t n = 1; n <= 3000; n++) check_iterations_of(n, &r);
  for (int shift = 2; shift < 63; shift++) {
    for (int64_t by = -3; by <= 3; by++) check_iterations_of((INT64_C(1) << shift) + by, &r), check_iterations_of(INT64_MAX / shift - 3 + by, &r);
    for (int i = 0; i < 50; i++) check_iterations_of(rng_in(&r, 1, INT64_MAX >> (62 - shift)), &r);
  }
  check_iterations_of(INT64_MAX, &r);
}
END_TEST

/* Segments that merge across many items: one run of n items, found from any byte. */
START_TEST(one_run_over_many_items) {
  lading_type *t;
  int64_t n, k, rest, got;
  struct iovec v[2];
  ck_assert_int_eq(lading_type_contiguous(10, lading_elem_type(LADING_INT32), &t), LADING_OK);
  ck_assert_int_eq(lading_segments_count(t, INT64_C(1) << 40, &n), LADING_OK);
  ck_assert_int_eq(n, 1);
  ck_assert_int_eq(lading_iov(t, INT64_C(1) << 40, NULL, 0, v, 2, &got), LADING_OK);
  ck_assert(got == 1 && v[0].iov_len == (size_t)40 << 40);
  ck_assert_int_eq(lading_segment_at(t, INT64_C(1) << 40, INT64_C(1) << 39, &k, &rest), LADING_OK);
  ck_assert(k == 0 && rest == INT64_C(1) << 39);
  lading_type_free(t);
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("segments", argc, argv, random_trees, fresh_and_committed_agree, runs_merge_across_items, runs_merge_across_constructors,
                    only_stream_neighbours_merge, a_trillion_blocks, a_trillion_blocks_from_anywhere, a_trillion_blocks_packed_in_part,
                    a_million_entries_from_anywhere, iterations_are_found, one_run_over_many_items);
}
