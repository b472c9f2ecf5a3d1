/* move: pack, unpack and copy of byte ranges, through the API and through every strategy, against the naive stream. */
#include "random_types.h"
#include "sides.h"
#include "api.h"
#include "base_cpu.h"
#include "base_model.h"
#include "kernel_rows.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

START_TEST(random_ranges) {
  rng r = rng_of(11);
  for (int i = 0; i < share_of(4000); i++) {
    sample *s = random_type(&r, i % 6, 650);
    check_moves(s, rng_in(&r, 0, 3), &r);
    sample_free(s);
  }
}
END_TEST

START_TEST(small_types_every_range) {
  rng r = rng_of(12);
  for (int i = 0; i < share_of(2500); i++) {
    sample *s = random_type(&r, i % 5, 12);
    check_moves(s, rng_in(&r, 1, 2), &r);
    sample_free(s);
  }
}
END_TEST

START_TEST(every_strategy) {
  rng r = rng_of(13);
  for (int i = 0; i < share_of(2500); i++) {
    sample *s = random_type(&r, i % 6, 400);
    check_strategies(s, rng_in(&r, 1, 3), &r);
    sample_free(s);
  }
}
END_TEST

/* Shapes that the fast strategies are made for: blocks of every width, both nests of a transpose, lists, long runs. */
static sample *regular(rng *r) {
  sample *block = s_contiguous(rng_in(r, 1, 70), s_elem(LADING_BYTE));
  int64_t n = rng_in(r, 1, 40), m = rng_in(r, 1, 6), e = map_extent(block->map), at[40];
  for (int64_t i = 0; i < n; i++) at[i] = e * rng_in(r, 0, 200);
  switch (rng_in(r, 0, 4)) {
  case 0: return s_hvector(n, 1, e + rng_in(r, 0, 40), block);
  case 1: return s_hvector(m, 1, e, s_hvector(n, 1, e * m, block));
  case 2: return s_hindexed_block(n, 1, at, block);
  case 3: return s_resized(s_hvector(m, 1, e + 9, s_hvector(n, 1, 8 * (e + 20), block)), 0, rng_in(r, 0, 4000));
  default: return s_hvector(3, 1, -20000, s_hvector(m, 1, 2000, s_hvector(n, 1, e + 1, block)));
  }
}

START_TEST(regular_shapes) {
  rng r = rng_of(14);
  for (int i = 0; i < share_of(400); i++) {
    sample *s = regular(&r);
    int64_t count = rng_in(&r, 1, 2);
    check_moves(s, count, &r);
    check_strategies(s, count, &r);
    sample_free(s);
  }
}
END_TEST

/* Ranges of matrices, moved by columns: few of them, so that parts of squares and single elements are left, with lines that meet and with
 * others, in groups of any size, either way up, alone and in loops. */
START_TEST(few_columns) {
  static const int64_t width[] = { 1, 2, 4, 8, 12, 16, 24, 32 };
  rng r = rng_of(41);
  ldg_model m = ldg_model_builtin();
  for (int i = 0; i < 160; i++) {
    const int64_t w = width[i % 8], rows = rng_in(&r, 17, 70), columns = rng_in(&r, 1, i / 8 % 2 ? 9 : 16 + 64 / w);
    const int64_t stride = rng_in(&r, 0, 1) ? (int64_t)1 << rng_in(&r, 10, 12) : columns * w + rng_in(&r, 0, 100);
    m.number[LDG_MODEL_MEET] = rng_in(&r, 0, 5), m.number[LDG_MODEL_MEET_WRITTEN] = rng_in(&r, 0, 5);
    m.number[LDG_MODEL_SETS] = rng_in(&r, 0, 8), m.number[LDG_MODEL_SETS_WRITTEN] = rng_in(&r, 0, 8);
    ldg_model_use(&m);
    const int64_t across = rng_in(&r, 0, 1) ? w : -w, down = ldg_max(stride, columns * w) * (rng_in(&r, 0, 1) ? 1 : -1);
    sample *s = s_hvector(columns, 1, across, s_hvector(rows, 1, down, s_contiguous(w, s_elem(LADING_BYTE))));
    if (i % 3 == 2) s = s_hvector(rng_in(&r, 2, 3), 1, rows * ldg_max(stride, columns * w) + rng_in(&r, 0, 99), s);
    check_moves(s, 1, &r);
    check_strategies(s, 1, &r);
    sample_free(s);
  }
  ldg_model_use(NULL);
}
END_TEST

/* Items that interleave: the first few are disjoint, a later one falls onto the blocks of an earlier one. */
/* Bodies of at most 64 bytes on either side, as shuffles take them: lists of fields, small nests, in loops and alone. */
static sample *small_body(rng *r) {
  const int64_t width = rng_in(r, 0, 1) ? 4 : 1, n = rng_in(r, 1, 12);
  int64_t at[12], bl[12];
  for (int64_t i = 0, p = 0; i < n; i++) {
    p += width * rng_in(r, 0, 3);
    at[i] = p, bl[i] = width * rng_in(r, 1, 3);
    p += bl[i];
  }
  for (int64_t i = n - 1; i > 0 && rng_in(r, 0, 2) == 0; i--) { /* some out of order */
    const int64_t k = rng_in(r, 0, i), t = at[i], u = bl[i];
    at[i] = at[k], bl[i] = bl[k], at[k] = t, bl[k] = u;
  }
  if (rng_in(r, 0, 2)) return s_hindexed(n, bl, at, s_elem(LADING_BYTE));
  return s_hvector(rng_in(r, 1, 5), 1, rng_in(r, 0, 1) ? 16 : -12, s_hvector(rng_in(r, 1, 3), rng_in(r, 1, 2), 3, s_elem(LADING_BYTE)));
}

START_TEST(small_bodies) {
  rng r = rng_of(18);
  for (int i = 0; i < share_of(1500); i++) {
    sample *s = small_body(&r);
    const int64_t e = map_extent(s->map) + rng_in(&r, -2, 20), m = rng_in(&r, 1, i % 5 ? 9 : 40);
    if (i % 3) s = s_hvector(m, 1, rng_in(&r, 0, 2) ? e : -e, s);
    if (i % 3 == 2) s = s_hvector(rng_in(&r, 1, 4), 1, e * m + rng_in(&r, 0, 50), s);
    const int64_t count = rng_in(&r, 1, 4);
    check_moves(s, count, &r);
    check_strategies(s, count, &r);
    sample_free(s);
  }
}
END_TEST

/* Blocks long enough for the C library, for stores past the caches, or to read what will be written, where the model says that these begin early. */
static void check_long(rng *r, int64_t libc, int64_t streamed, int64_t written) {
  ldg_model m = ldg_model_builtin();
  m.number[LDG_MODEL_LIBC] = libc, m.number[LDG_MODEL_STREAM] = streamed, m.number[LDG_MODEL_WRITTEN] = written, m.level[LDG_MODEL_L1] = 256;
  ldg_model_use(&m);
  for (int i = 0; i < 24; i++) {
    m.number[LDG_MODEL_ALIGN] = i / 4 % 2, m.number[LDG_MODEL_LIBC_ROWS] = i / 8 % 2 ? libc : rng_in(r, 300, 900);
    int64_t b = rng_in(r, 200, 1500), n = rng_in(r, 1, 5), at[5], len[5];
    for (int64_t k = 0; k < n; k++) at[k] = 7000 - 1600 * k + rng_in(r, 0, 60), len[k] = rng_in(r, 100, 1500);
    sample *block = i % 4 == 2 ? s_elem(LADING_BYTE) : s_contiguous(b, s_elem(LADING_BYTE));
    sample *s = i % 4 == 0   ? s_hvector(n, 1, b + rng_in(r, 0, 70), block)
                : i % 4 == 1 ? s_hindexed_block(n, 1, at, block)
                : i % 4 == 2 ? s_hindexed(n, len, at, block)
                             : block;
    check_moves(s, 1 + i % 2, r);
    check_strategies(s, 1 + i % 2, r);
    sample_free(s);
  }
  ldg_model_use(NULL);
}

START_TEST(long_blocks) {
  rng r = rng_of(19);
  check_long(&r, INT64_MAX, INT64_MAX, 8);
  check_long(&r, INT64_MAX, INT64_MAX, 0);
  check_long(&r, 300, INT64_MAX, 0);
  check_long(&r, INT64_MAX, 1000, 0);
  check_long(&r, 700, 2000, 0);
}
END_TEST

/* Blocks out of strided or listed places, near or over more than the second cache holds, stored one by one or put together in registers, as the model says. */
static void check_put_together(ldg_model *m, ldg_model_name name, int64_t b, rng *r) {
  const int64_t n = rng_in(r, 1, 70), farthest = rng_in(r, 0, 1) ? 60 : 600000 / b;
  int64_t at[70];
  m->number[name] = rng_in(r, 0, 1);
  ldg_model_use(m);
  for (int64_t k = 0; k < n; k++) at[k] = rng_in(r, 0, farthest) * b + k % 3;
  sample *block = s_contiguous(b, s_elem(LADING_BYTE));
  sample *s = rng_in(r, 0, 1) ? s_hindexed_block(n, 1, at, block) : s_hvector(n, 1, b + rng_in(r, 1, 90), block);
  if (rng_in(r, 0, 1)) s = s_hvector(rng_in(r, 1, 4), 1, 700000, s);
  check_moves(s, rng_in(r, 1, 2), r);
  check_strategies(s, 1, r);
  sample_free(s);
}
START_TEST(narrow_blocks) {
  rng r = rng_of(37);
  ldg_model m = ldg_model_builtin();
  for (int i = 0; i < share_of(360); i++) check_put_together(&m, LDG_MODEL_LANES, INT64_C(1) << i % 4, &r);
  ldg_model_use(NULL);
}
END_TEST

/* Each length that is put together, out of strided places, of few blocks a row and many, and listed ones, all near and some beyond the second cache; then any, put together or not. */
static sample *joined(int64_t b, int how, rng *r) {
  const int64_t n = 40 + rng_in(r, 0, 9);
  int64_t at[50];
  for (int64_t k = 0; k < n; k++) at[k] = rng_in(r, 0, 60) * b + k % 3;
  at[n / 2] = how == 3 ? 600000 : 0; /* reaches over as much for sure */
  sample *block = s_contiguous(b, s_elem(LADING_BYTE));
  return how >= 2 ? s_hindexed_block(n, 1, at, block) : how == 1 ? s_hvector(3, 1, 90 * b + 5000, s_hvector(16 + n % 3, 1, b + 40, block)) : s_hvector(n, 1, b + rng_in(r, 1, 90), block);
}
static bool is_joined(int64_t b) { return b == 12 || b == 16 || (b > 16 && b < 256 && b % 8 == 0 && b % 32); }
START_TEST(joined_blocks) {
  rng r = rng_of(38);
  ldg_model m = ldg_model_builtin();
  m.number[LDG_MODEL_JOINED] = 1, m.number[LDG_MODEL_PREFETCH] = 8, ldg_model_use(&m); /* far kernels ask for some entries of them */
  for (int64_t b = 12; b < 256; b += 4)
    for (int how = 0; how < 4 && is_joined(b); how++) {
      sample *s = joined(b, how, &r);
      check_moves(s, 1, &r), check_strategies(s, 1, &r), sample_free(s);
    }
  for (int i = 0; i < share_of(300); i++) check_put_together(&m, LDG_MODEL_JOINED, i % 3 ? 8 * rng_in(&r, 1, 31) : 12, &r);
  ldg_model_use(NULL);
}
END_TEST

/* What kernels a nest has where the model says that blocks are put together, and not; are they different ones? */
static bool has_two_ways(ldg_model *m, const ldg_nest *n, const char *strategy, ldg_run *way[2]) {
  for (int joins = 0; joins < 2; joins++) {
    ldg_job j;
    m->number[LDG_MODEL_JOINED] = joins, ldg_model_use(m);
    ck_assert(ldg_plan_nest(&j, n, strategy, NULL) && !strcmp(j.name, strategy));
    way[joins] = j.run;
  }
  return ldg_model_use(NULL), way[0] != way[1];
}
static bool goes_by(const char *level) { return strstr(LEVELS_BUILT, level) && ldg_cpu_runs(level); }
static bool ends_a_row(int64_t b) {
  static const int64_t rows[][2] = { LDG_BLOCK_ROW_TABLE };
  for (int i = 0;; i++) if (rows[i][1] >= b) return rows[i][1] == b;
}
/* They are packed, and only packed, by kernels of their own; of rows in nests those of 8 blocks and more, of 16 bytes those of 16, of lists the shorter blocks, near and far. */
START_TEST(joined_kernels) {
  ldg_model m = ldg_model_builtin();
  const int64_t at[16] = { 0 };
  const int32_t at4[16] = { 0 };
  const bool wide = goes_by("v4") || goes_by("v3"); /* and v2 has 12 bytes */
  for (int64_t b = 1; b <= 300; b++) {
    const bool joins = is_joined(b) && (ends_a_row(b) || LDG_FIELD_ORDERED > 3 /* a build of all rows */) && (wide || (b == 12 && goes_by("v2")));
    ldg_run *way[2], *far[2];
    ldg_nest n = { .block = b, .nd = 1, .dim = { { 16, b + 40, b }, { 4, 20000, 16 * b } }, .once = true };
    ck_assert_msg(has_two_ways(&m, &n, "block", way) == joins, "%" PRId64 " bytes", b);
    const int64_t least = b == 16 ? 16 : 8;
    for (n.nd = 2, n.dim[0].n = least - 1; n.dim[0].n <= least; n.dim[0].n++)
      ck_assert_msg(has_two_ways(&m, &n, "block", way) == (joins && n.dim[0].n == least), "%" PRId64 " bytes, rows of %" PRId64, b, n.dim[0].n);
    n.nd = 1, n.dim[0] = (ldg_dim){ 16, b, b + 40 };
    ck_assert_msg(!has_two_ways(&m, &n, "block", way), "%" PRId64 " bytes, unpacked", b);
    n.dim[0] = (ldg_dim){ 16, 0, b }, n.at = at, n.at4 = at4, n.span = 1000;
    ck_assert_msg(has_two_ways(&m, &n, "list", way) == (joins && b <= 64), "%" PRId64 " bytes, listed", b);
    n.span = 1 << 20;
    const bool two = has_two_ways(&m, &n, "list", far), apart = way[0] != far[0] && way[1] != far[1];
    ck_assert_msg(two == (joins && b <= 64) && (apart || b > 64), "%" PRId64 " bytes, listed, far", b);
  }
}
END_TEST

/* Strides and extents at the ends of what there is: nothing is computed of them that is not defined. */
START_TEST(farthest_columns) {
  lading_type *t, *u;
  for (int k = 55; k < 63; k++) {
    ck_assert_int_eq(lading_type_hvector(2, 1, (INT64_C(1) << k) * (k % 2 ? 1 : -1), lading_elem_type(LADING_BYTE), &t), LADING_OK);
    ck_assert_int_eq(lading_type_commit(t), LADING_OK);
    lading_type_free(t);
  }
  ck_assert_int_eq(lading_type_resized(lading_elem_type(LADING_BYTE), 0, INT64_MIN, &u), LADING_OK);
  ck_assert_int_eq(lading_type_commit(u), LADING_OK);
  lading_type_free(u);
}
END_TEST

START_TEST(interleaved_items) {
  rng r = rng_of(19);
  for (int i = 0; i < share_of(400); i++) {
    int64_t block = rng_in(&r, 0, 1) ? INT64_C(1) << rng_in(&r, 0, 4) : rng_in(&r, 1, 9), n = rng_in(&r, 1, 24), room = rng_in(&r, 1, 20);
    sample *s = s_hvector(n, 1, block * room + rng_in(&r, 0, 2), s_contiguous(block, s_elem(LADING_BYTE)));
    if (rng_in(&r, 0, 3) == 0) s = S_STRUCT(2, LIST(1, 1), LIST(0, block * 2), s, s_elem(LADING_BYTE));
    s = s_resized(s, 0, (rng_in(&r, 0, 2) ? block : rng_in(&r, 1, 12)) * (rng_in(&r, 0, 2) ? 1 : -1));
    int64_t count = rng_in(&r, 2, 40);
    check_moves(s, count, &r);
    check_strategies(s, count, &r);
    check_segments(s, count, &r);
    sample_free(s);
  }
}
END_TEST

/* ---- copy ---- */

START_TEST(copy_between_strangers) {
  rng r = rng_of(15);
  for (int i = 0; i < share_of(1500); i++) {
    sample *s = random_type(&r, i % 6, 500), *d = random_type(&r, (i / 6) % 6, 500);
    check_copy(s, rng_in(&r, 0, 3), d, rng_in(&r, 0, 3), &r);
    sample_free(s);
    sample_free(d);
  }
}
END_TEST

/* Nests whose radices refine each other often, or only in part, counts above one, contiguous sides. */
START_TEST(copy_between_nests) {
  rng r = rng_of(27);
  for (int i = 0; i < share_of(900); i++) {
    sample *s = rng_in(&r, 0, 5) ? random_nest(&r, 3, 300) : s_contiguous(rng_in(&r, 1, 300), s_elem(LADING_BYTE));
    sample *d = rng_in(&r, 0, 5) ? random_nest(&r, 3, 300) : s_contiguous(rng_in(&r, 1, 300), s_elem(LADING_BYTE));
    check_copy(s, rng_in(&r, 1, 4), d, rng_in(&r, 1, 4), &r);
    sample_free(s);
    sample_free(d);
  }
}
END_TEST

/* Same signature, other shape: the pairs that programs really use, with a common refinement. */
START_TEST(copy_between_partners) {
  rng r = rng_of(16);
  for (int i = 0; i < share_of(700); i++) {
    int64_t n = rng_in(&r, 1, 6), m = rng_in(&r, 1, 6), k = rng_in(&r, 1, 3);
    int kind = (int)rng_in(&r, 0, LADING_C_LONG_DOUBLE);
    sample *e = s_elem(kind), *parts[5];
    int64_t x = map_extent(e->map);
    parts[0] = s_contiguous(n * m * k, s_dup(e));
    parts[1] = s_vector(n * m, k, k + 1, s_dup(e));
    parts[2] = s_hvector(m, 1, x * k, s_vector(n, k, k * m, s_dup(e)));
    parts[3] = s_subarray(3, LIST(n + 1, m + 2, k), LIST(n, m, k), LIST(1, 1, 0), LADING_ORDER_C, s_dup(e));
    parts[4] = s_hvector(n, 1, -x * m * (k + 2), s_vector(m, k, k + 2, e));
    for (int p = 0; p < 5; p++) check_copy(parts[p], 1, parts[rng_in(&r, 0, 4)], 1, &r);
    for (int p = 0; p < 5; p++) sample_free(parts[p]);
  }
}
END_TEST

/* What is zipped row by row: lists and strides of blocks of one length or of any, blocks of another length made of theirs, in a record
 * or by themselves; also onto each other. */
static sample *row_of_blocks(rng *r, int64_t block) {
  enum { N = 300 };
  const int64_t n = rng_in(r, 40, N);
  int64_t at[N], len[N];
  for (int64_t i = 0; i < n; i++) {
    at[i] = block * rng_in(r, 0, 2 * N);
    len[i] = block * rng_in(r, 0, 5);
  }
  switch (rng_in(r, 0, 5)) {
  case 0: return s_hindexed_block(n, block, at, s_elem(LADING_BYTE));
  case 1: return s_hvector(n, block, rng_in(r, -2 * block, 3 * block), s_elem(LADING_BYTE));
  case 2: return s_hindexed(n, len, at, s_elem(LADING_BYTE));
  case 3: return s_hvector(5, 1, 900 * block, s_hvector(n / 4, block, block + 3, s_elem(LADING_BYTE)));
  case 4: return s_hvector(n / 8, block * 8, block * 8 + rng_in(r, 1, 9), s_elem(LADING_BYTE));
  default: return s_hindexed(n, len, at, s_resized(s_contiguous(block, s_elem(LADING_BYTE)), 0, block + rng_in(r, 0, 2)));
  }
}

START_TEST(copy_between_rows) {
  static const int64_t lengths[] = { 1, 2, 3, 4, 8, 12, 16, 24, 31, 32, 64, 100 };
  rng r = rng_of(31);
  for (int i = 0; i < share_of(200); i++) {
    const int64_t block = lengths[rng_in(&r, 0, COUNT_OF(lengths) - 1)], other = rng_in(&r, 0, 2) ? block : lengths[rng_in(&r, 0, COUNT_OF(lengths) - 1)];
    sample *s = row_of_blocks(&r, block), *d = row_of_blocks(&r, other);
    if (rng_in(&r, 0, 1)) s = S_STRUCT(2, LIST(1, 1), LIST(0, 70000), s, row_of_blocks(&r, block));
    check_copy(s, rng_in(&r, 1, 2), d, rng_in(&r, 1, 3), &r);
    sample_free(s);
    sample_free(d);
  }
}
END_TEST

/* Entries of some KiB, each a row of blocks apart from each other, some of one block or none: onto entries of the same numbers or of other
 * ones, onto rows, onto blocks of another length, in a record or by themselves; also onto each other. */
static sample *entries_of_rows(rng *r, int64_t block, const int64_t *len, int64_t n) {
  int64_t at[12];
  for (int64_t i = 0, end = 0; i < n; i++) at[i] = end + rng_in(r, 0, 900) - 300 * (rng_in(r, 0, 9) == 0), end = at[i] + len[i] * (block + 40);
  sample *s = s_hindexed(n, len, at, s_resized(s_contiguous(block, s_elem(LADING_BYTE)), 0, block + rng_in(r, -1, 9) * 5));
  return rng_in(r, 0, 2) ? s : S_STRUCT(2, LIST(rng_in(r, 1, 3000), 1), LIST(0, 4000), s_elem(LADING_CHAR), s);
}

START_TEST(copy_between_entries_of_rows) {
  rng r = rng_of(34);
  for (int i = 0; i < share_of(120); i++) {
    const int64_t block = rng_in(&r, 0, 3) ? rng_in(&r, 100, 1200) : 8 * rng_in(&r, 1, 4), n = rng_in(&r, 2, 12);
    int64_t len[12], all = 0;
    for (int64_t k = 0; k < n; k++) len[k] = rng_in(&r, 0, 3) ? rng_in(&r, 2, 9000 / block + 3) : rng_in(&r, 0, 1), all += len[k];
    sample *a = entries_of_rows(&r, block, len, n), *rows = s_hvector(all + 3, 1, block + rng_in(&r, 1, 99), s_contiguous(block, s_elem(LADING_BYTE)));
    if (i % 3 == 0) len[rng_in(&r, 0, n - 1)] += rng_in(&r, 1, 3);
    sample *b = entries_of_rows(&r, i % 7 ? block : 2 * block, len, n);
    check_copy(a, rng_in(&r, 1, 2), b, rng_in(&r, 1, 2), &r);
    check_copy(a, 1, rows, 1, &r);
    check_copy(rows, 1, b, 1, &r);
    sample_free(a);
    sample_free(b);
    sample_free(rows);
  }
}
END_TEST

/* A few bigger ones, so that tiles and unrolled bodies turn over: 1 to 3 MB through the API, ends ragged. */
START_TEST(bigger_streams) {
  rng r = rng_of(17);
  sample *rows[] = {
    s_vector(20000, 1, 3, s_elem(LADING_DOUBLE)),
    s_hvector(300, 1, 16, s_vector(200, 1, 300, s_elem(LADING_C_DOUBLE))),
    s_subarray(3, LIST(70, 60, 50), LIST(30, 40, 33), LIST(1, 2, 3), LADING_ORDER_FORTRAN, s_elem(LADING_FLOAT)),
    s_hvector(5000, 1, 28, s_contiguous(3, s_elem(LADING_C_FLOAT))),
  };
  for (int64_t i = 0; i < COUNT_OF(rows); i++) {
    check_moves(rows[i], 1, &r);
    check_strategies(rows[i], 1, &r);
    check_copy(rows[i], 1, rows[(i + 1) % COUNT_OF(rows)], 1, &r);
  }
  for (int64_t i = 0; i < COUNT_OF(rows); i++) sample_free(rows[i]);
}
END_TEST

/* Fields of some KiB: runs, nests, lists, anything. */
static sample *field(rng *r) {
  const int64_t n = rng_in(r, 2, 60);
  switch (rng_in(r, 0, 6)) {
  case 0: return s_contiguous(rng_in(r, 1, 6000), s_elem(LADING_BYTE));
  case 1: return s_vector(n, rng_in(r, 1, 40), 41 + n, s_elem(LADING_FLOAT));
  case 2: return s_indexed(4, LIST(n, 1, 2 * n, n + 1), LIST(0, 500, 600, 1200), s_vector(3, 11, 13, s_elem(LADING_INT16)));
  case 3: return s_hvector(n, 1, 4000, S_STRUCT(2, LIST(1, 1), LIST(0, 1800), s_contiguous(200, s_elem(LADING_DOUBLE)), s_elem(LADING_CHAR)));
  case 4: return s_hindexed(4, LIST(700, 1, 1, 900), LIST(9000, 0, 40, 2000), s_elem(LADING_INT32));
  case 5: return s_hindexed(3, LIST(40, 2, n), LIST(0, 29000, 33000), s_resized(s_contiguous(600 + n, s_elem(LADING_BYTE)), 0, 700));
  default: return random_type(r, 4, 4000);
  }
}

/* The fields at other places each time, also onto each other. */
static sample *record_of(rng *r, sample *const *fields, int64_t n) {
  sample *own[4];
  int64_t at[4];
  for (int64_t i = 0; i < n; i++) own[i] = s_dup(fields[i]), at[i] = rng_in(r, 0, 9) ? i * 90000 + rng_in(r, 0, 2000) : rng_in(r, 0, 9000);
  return s_struct(n, LIST(1, 1, 1, 1), at, own);
}

/* Two lists of the same lengths at other places, but for a few entries that are split on one side; some are longer than a tile. */
START_TEST(copy_between_lists) {
  enum { N = 300 };
  rng r = rng_of(31);
  for (int i = 0; i < 60; i++) {
    const int64_t longest = i % 5 == 4 ? 700 : i % 5 == 3 ? 70 : 20;
    int64_t len[2][2 * N], at[2][2 * N], n[2] = { 0, 0 }, end[2] = { 0, 0 };
    for (int k = 0; k < N; k++) {
      const int64_t all = rng_in(&r, 1, longest);
      for (int w = 0; w < 2; w++) {
        const int64_t first = all > 1 && rng_in(&r, 0, 40) == 0 ? rng_in(&r, 1, all - 1) : all;
        for (int64_t done = 0, l = first; done < all; done += l, l = all - done) {
          len[w][n[w]] = l, at[w][n[w]++] = end[w] + rng_in(&r, 1, 9);
          end[w] = at[w][n[w] - 1] + l;
        }
      }
    }
    sample *s = s_hindexed(n[0], len[0], at[0], s_elem(LADING_BYTE)), *d = s_hindexed(n[1], len[1], at[1], s_elem(LADING_BYTE));
    check_copy(s, rng_in(&r, 1, 2), d, rng_in(&r, 1, 2), &r);
    sample_free(s);
    sample_free(d);
  }
}
END_TEST

/* Of many entries with lengths from 1 byte to some KiB, every byte is found, and so is the end. */
START_TEST(entries_are_found) {
  enum { N = 150 };
  rng r = rng_of(37);
  for (int i = 1; i < 12; i++) { /* those of one byte, and some others, are a sum of lists */
    int64_t len[N], at[N], end = 0, k = 0, rest;
    for (int e = 0; e < N; end = at[e] + len[e], e++) len[e] = rng_in(&r, 0, 20) ? rng_in(&r, 1, i + 1) : rng_in(&r, 1, 4000), at[e] = end + rng_in(&r, 1, 9);
    sample *s = s_hindexed(N, len, at, s_elem(LADING_BYTE));
    const ldg_plan *p;
    ck_assert_int_eq(ldg_api_plan(s->type, &p), LADING_OK);
    const ldg_step *step = &p->one;
    for (int64_t byte = 0, start = 0; byte <= p->size; byte++) {
      if (k < N && byte == start + len[k]) start += len[k++];
      ck_assert_int_eq(ldg_plan_find(step, byte, &rest), k);
      ck_assert_int_eq(rest, byte - start);
    }
    ck_assert_int_eq(k, N);
    ck_assert(step->where != NULL);
    check_moves(s, 2, &r);
    sample_free(s);
  }
}
END_TEST

/* Also where all of them together are nearly as many as can be counted. */
START_TEST(far_entries_are_found) {
  enum { N = 80 };
  int64_t len[N], at[N], start = 0, rest;
  const ldg_plan *p;
  lading_type *t;
  for (int i = 0; i < N; i++) len[i] = i < 64 ? INT64_MAX / 64 - 1000 - i : 17 + i, at[i] = 3 * i;
  ck_assert_int_eq(lading_type_hindexed(N, len, at, lading_elem_type(LADING_BYTE), &t), LADING_OK);
  ck_assert_int_eq(ldg_api_plan(t, &p), LADING_OK);
  ck_assert(p->one.where != NULL);
  for (int i = 0; i < N; start += len[i++]) {
    ck_assert_int_eq(ldg_plan_find(&p->one, start, &rest), i);
    ck_assert_int_eq(rest, 0);
    ck_assert_int_eq(ldg_plan_find(&p->one, start + len[i] - 1, &rest), i);
    ck_assert_int_eq(rest, len[i] - 1);
  }
  ck_assert_int_eq(ldg_plan_find(&p->one, start, &rest), N);
  lading_type_free(t);
}
END_TEST

/* A list of blocks that have lengths of their own, by itself or as a field, onto rows and back: tiles of whole entries, of which a few are
 * longer than a tile, or are cut where the field of the other side ends. */
START_TEST(copy_between_list_and_rows) {
  enum { N = 900, LONG = 9000 };
  rng r = rng_of(33);
  for (int i = 0; i < 40; i++) {
    const int64_t longest = i % 3 ? 64 : 20, row = rng_in(&r, 40, 200);
    int64_t len[N], at[N], end = 0, all = 0;
    for (int k = 0; k < N; k++) {
      len[k] = rng_in(&r, 0, 700) ? rng_in(&r, 0, longest) : LONG;
      at[k] = end + rng_in(&r, i % 10 ? 0 : -9, 9), end = at[k] + len[k], all += len[k];
    }
    sample *s = s_hindexed(N, len, at, s_elem(LADING_BYTE)), *d = s_hvector(all / row, row, row + rng_in(&r, 1, 9), s_elem(LADING_BYTE));
    if (i % 2) s = S_STRUCT(3, LIST(rng_in(&r, 1, 99), 1, 1), LIST(0, 200, end + 900), s_elem(LADING_CHAR), s, s_dup(d));
    check_copy(s, rng_in(&r, 1, 2), d, rng_in(&r, 1, 3), &r);
    check_copy(d, rng_in(&r, 1, 3), s, rng_in(&r, 1, 2), &r);
    sample_free(s);
    sample_free(d);
  }
}
END_TEST

/* Lists of blocks of one length on one side or both, one length a few times the other or not, and rows; tiles of whole blocks turn over. */
START_TEST(copy_between_lengths) {
  static const int64_t pieces[] = { 1, 2, 3, 4, 8, 12, 16, 24, 32, 40 };
  enum { N = 540 };
  rng r = rng_of(35);
  for (int i = 0; i < 150; i++) {
    const int64_t piece = pieces[rng_in(&r, 0, COUNT_OF(pieces) - 1)], times = rng_in(&r, 2, 9), n = rng_in(&r, 40, N / times);
    const int64_t block[2] = { piece * times, i % 3 ? piece : piece * rng_in(&r, 2, 9) };
    sample *s[2];
    for (int k = 0; k < 2; k++) {
      int64_t at[N + 1];
      const int64_t all = n * block[0] / block[k] + rng_in(&r, 0, 1), room = rng_in(&r, 0, 3) ? 2 * all : all / 2;
      for (int64_t e = 0; e < all; e++) at[e] = block[k] * rng_in(&r, 0, room);
      if (i % 4 == 3 && k == i / 4 % 2) s[k] = s_hvector(all, 1, block[k] + rng_in(&r, 1, 9), s_contiguous(block[k], s_elem(LADING_BYTE)));
      else s[k] = s_hindexed_block(all, block[k], at, s_elem(LADING_BYTE));
    }
    if (i % 5 == 4) for (int k = 0; k < 2; k++) s[k] = S_STRUCT(2, LIST(2000, 1), LIST(0, 3000), s_elem(LADING_CHAR), s[k]);
    const int way = (int)rng_in(&r, 0, 1);
    check_copy(s[way], rng_in(&r, 1, 2), s[!way], rng_in(&r, 1, 2), &r);
    for (int k = 0; k < 2; k++) sample_free(s[k]);
  }
}
END_TEST

/* Blocks as long as can be, onto short ones: no number of bytes is whole blocks on both sides. */
START_TEST(copy_between_far_lengths) {
  enum { BYTES = 20000, ROW = 95, GAP = 5 };
  static char src[BYTES + 8], dst[BYTES / ROW * (ROW + GAP) + ROW + GAP];
  for (int64_t i = 0; i < BYTES; i++) src[i] = (char)(i * 7 + i / 251);
  for (int k = 55; k <= 57; k++) {
    lading_type *block, *longs, *row, *rows;
    ck_assert_int_eq(lading_type_contiguous(INT64_C(1) << k, lading_elem_type(LADING_BYTE), &block), LADING_OK);
    ck_assert_int_eq(lading_type_hvector(32, 1, 8, block, &longs), LADING_OK);
    ck_assert_int_eq(lading_type_contiguous(ROW, lading_elem_type(LADING_BYTE), &row), LADING_OK);
    ck_assert_int_eq(lading_type_hvector(INT64_C(1) << 40, 1, ROW + GAP, row, &rows), LADING_OK);
    const int64_t count = (INT64_C(1) << (k + 5 - 40)) / ROW;
    memset(dst, 0, sizeof dst);
    ck_assert_int_eq(lading_copy(longs, 1, src, rows, count, dst, 0, BYTES), LADING_OK);
    for (int64_t i = 0; i < BYTES; i++) ck_assert_int_eq(dst[i / ROW * (ROW + GAP) + i % ROW], src[i]);
    lading_type *all[] = { rows, row, longs, block };
    for (int i = 0; i < COUNT_OF(all); i++) lading_type_free(all[i]);
  }
}
END_TEST

START_TEST(copy_part_by_part) {
  rng r = rng_of(28);
  for (int i = 0; i < share_of(60); i++) {
    sample *fields[4], *cut = NULL;
    const int64_t n = rng_in(&r, 1, 4);
    for (int64_t k = 0; k < n; k++) fields[k] = field(&r);
    sample *a = record_of(&r, fields, n), *b = record_of(&r, fields, n);
    cut = S_STRUCT(2, LIST(1, 1), LIST(0, 50000), s_contiguous(rng_in(&r, 1, 3000), s_elem(LADING_CHAR)), s_dup(b));
    check_copy(a, 1, b, 1, &r);
    check_copy(a, 2, b, 3, &r);
    check_copy(cut, 1, a, 1, &r); /* fields of one end inside those of the other */
    check_copy(fields[0], 2, a, 1, &r);
    sample_free(a);
    sample_free(b);
    sample_free(cut);
    for (int64_t k = 0; k < n; k++) sample_free(fields[k]);
  }
}
END_TEST

/* pack and unpack are each other's inverse, also when the ranges of the two do not agree. */
START_TEST(round_trip_in_fragments) {
  rng r = rng_of(18);
  for (int i = 0; i < share_of(600); i++) {
    sample *s = random_type(&r, 4, 600);
    side a = side_of(s, 2, rng_next(&r)), b = side_of(s, 2, rng_next(&r));
    char *wire = malloc((size_t)a.x->n + 1);
    int64_t step = rng_in(&r, 1, 40), pos, n = a.x->n;
    for (pos = 0; pos < n; pos += step)
      ck_assert_int_eq(lading_pack(s->type, 2, base_of(&a), wire + pos, pos, pos + step < n ? pos + step : n), LADING_OK);
    step = rng_in(&r, 1, 40);
    for (pos = 0; pos < n; pos += step)
      ck_assert_int_eq(lading_unpack(s->type, 2, base_of(&b), wire + pos, pos, pos + step < n ? pos + step : n), LADING_OK);
    for (int64_t k = 0; k < n; k++) ck_assert_int_eq(a.b.data[a.x->at[k] - a.x->lo], b.b.data[b.x->at[k] - b.x->lo]);
    free(wire);
    side_free(&a);
    side_free(&b);
    sample_free(s);
  }
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("move", argc, argv, random_ranges, small_types_every_range, every_strategy, regular_shapes, few_columns, small_bodies, long_blocks, narrow_blocks, joined_blocks, joined_kernels, farthest_columns, interleaved_items, copy_between_strangers, copy_between_nests, copy_between_partners,
                    copy_between_rows, copy_between_entries_of_rows, copy_between_lists, copy_between_list_and_rows, copy_between_lengths, copy_between_far_lengths, bigger_streams, entries_are_found, far_entries_are_found, copy_part_by_part, round_trip_in_fragments);
}
