/* args: bad input of every kind gives the right error, touches no output, and never crashes. */
#include "random_types.h"
#include <inttypes.h>

#define INT lading_elem_type(LADING_INT32)
#define MARK ((lading_type *)(uintptr_t)0x7151) /* what outputs hold before a call that must fail */

static void fails(int rc, int want, lading_type *out, const char *what) {
  ck_assert_msg(rc == want, "%s: %d (%s), not %d", what, rc, lading_strerror(rc), want);
  ck_assert_msg(out == MARK, "%s: the output was written", what);
}

#define FAILS(want, expression) do { lading_type *t = MARK; fails(expression, want, t, #expression); } while (0)

START_TEST(null_pointers) {
  const lading_type *const null_old[] = { NULL };
  const lading_distrib cyclic[] = { LADING_DISTRIB_CYCLIC };
  FAILS(LADING_ERR_ARG, lading_type_contiguous(1, NULL, &t));
  FAILS(LADING_ERR_ARG, lading_type_vector(1, 1, 1, NULL, &t));
  FAILS(LADING_ERR_ARG, lading_type_hvector(1, 1, 1, NULL, &t));
  FAILS(LADING_ERR_ARG, lading_type_indexed(1, LIST(1), LIST(0), NULL, &t));
  FAILS(LADING_ERR_ARG, lading_type_indexed(1, NULL, LIST(0), INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_indexed(1, LIST(1), NULL, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_hindexed(1, NULL, LIST(0), INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_hindexed(1, LIST(1), LIST(0), NULL, &t));
  FAILS(LADING_ERR_ARG, lading_type_indexed_block(1, 1, NULL, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_indexed_block(1, 1, LIST(0), NULL, &t));
  FAILS(LADING_ERR_ARG, lading_type_hindexed_block(1, 1, NULL, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_struct(1, NULL, LIST(0), null_old, &t));
  FAILS(LADING_ERR_ARG, lading_type_struct(1, LIST(1), LIST(0), NULL, &t));
  FAILS(LADING_ERR_ARG, lading_type_struct(1, LIST(1), LIST(0), null_old, &t));
  FAILS(LADING_ERR_ARG, lading_type_subarray(1, NULL, LIST(1), LIST(0), LADING_ORDER_C, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_subarray(1, LIST(1), LIST(1), LIST(0), LADING_ORDER_C, NULL, &t));
  FAILS(LADING_ERR_ARG, lading_type_darray(1, 0, 1, NULL, cyclic, LIST(1), LIST(1), LADING_ORDER_C, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_darray(1, 0, 1, LIST(1), NULL, LIST(1), LIST(1), LADING_ORDER_C, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_darray(1, 0, 1, LIST(1), cyclic, LIST(1), LIST(1), LADING_ORDER_C, NULL, &t));
  FAILS(LADING_ERR_ARG, lading_type_resized(NULL, 0, 1, &t));
  FAILS(LADING_ERR_ARG, lading_type_parse(NULL, &t));
  ck_assert_int_eq(lading_type_contiguous(1, INT, NULL), LADING_ERR_ARG);
  ck_assert_int_eq(lading_type_vector(1, 1, 1, INT, NULL), LADING_ERR_ARG);
  ck_assert_int_eq(lading_type_hvector(0, 1, 1, INT, NULL), LADING_ERR_ARG);
  ck_assert_int_eq(lading_type_indexed(1, LIST(1), LIST(0), INT, NULL), LADING_ERR_ARG);
  ck_assert_int_eq(lading_type_hindexed_block(1, 1, LIST(0), INT, NULL), LADING_ERR_ARG);
  ck_assert_int_eq(lading_type_struct(0, NULL, NULL, NULL, NULL), LADING_ERR_ARG);
  ck_assert_int_eq(lading_type_subarray(1, LIST(1), LIST(1), LIST(0), LADING_ORDER_C, INT, NULL), LADING_ERR_ARG);
  ck_assert_int_eq(lading_type_resized(INT, 0, 1, NULL), LADING_ERR_ARG);
  ck_assert_int_eq(lading_type_parse("int32", NULL), LADING_ERR_ARG);
}
END_TEST

START_TEST(null_is_fine_where_nothing_is_read) {
  lading_type *t;
  ck_assert_int_eq(lading_type_struct(0, NULL, NULL, NULL, &t), LADING_OK);
  lading_type_free(t);
  ck_assert_int_eq(lading_type_indexed(0, NULL, NULL, INT, &t), LADING_OK);
  lading_type_free(t);
  ck_assert_int_eq(lading_type_hindexed_block(0, 3, NULL, INT, &t), LADING_OK);
  lading_type_free(t);
}
END_TEST

START_TEST(negative_counts) {
  const lading_type *const olds[] = { INT, INT };
  FAILS(LADING_ERR_ARG, lading_type_contiguous(-1, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_vector(-1, 1, 1, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_vector(1, -1, 1, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_hvector(INT64_MIN, 1, 1, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_hvector(1, INT64_MIN, 1, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_indexed(-1, LIST(1), LIST(0), INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_indexed(2, LIST(1, -1), LIST(0, 0), INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_hindexed(2, LIST(-1, 1), LIST(0, 0), INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_indexed_block(1, -1, LIST(0), INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_hindexed_block(-1, 1, LIST(0), INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_struct(-1, LIST(1), LIST(0), olds, &t));
  FAILS(LADING_ERR_ARG, lading_type_struct(2, LIST(1, -2), LIST(0, 0), olds, &t));
}
END_TEST

START_TEST(arrays_out_of_bounds) {
  const lading_distrib block[] = { LADING_DISTRIB_BLOCK, LADING_DISTRIB_BLOCK }, none[] = { LADING_DISTRIB_NONE, LADING_DISTRIB_NONE };
  const lading_distrib wrong[] = { (lading_distrib)7, LADING_DISTRIB_NONE };
  const lading_order bad = (lading_order)2;
  FAILS(LADING_ERR_ARG, lading_type_subarray(0, LIST(4), LIST(2), LIST(0), LADING_ORDER_C, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_subarray(-1, LIST(4), LIST(2), LIST(0), LADING_ORDER_C, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_subarray(1, LIST(4), LIST(5), LIST(0), LADING_ORDER_C, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_subarray(1, LIST(4), LIST(2), LIST(3), LADING_ORDER_C, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_subarray(1, LIST(4), LIST(2), LIST(-1), LADING_ORDER_C, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_subarray(1, LIST(4), LIST(-1), LIST(0), LADING_ORDER_C, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_subarray(1, LIST(-4), LIST(1), LIST(0), LADING_ORDER_C, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_subarray(1, LIST(4), LIST(2), LIST(INT64_MAX), LADING_ORDER_C, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_subarray(1, LIST(4), LIST(2), LIST(0), bad, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_darray(4, 4, 1, LIST(8), block, LIST(-1), LIST(4), LADING_ORDER_C, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_darray(4, -1, 1, LIST(8), block, LIST(-1), LIST(4), LADING_ORDER_C, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_darray(0, 0, 1, LIST(8), block, LIST(-1), LIST(0), LADING_ORDER_C, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_darray(4, 0, 2, LIST(8, 8), block, LIST(-1, -1), LIST(2, 3), LADING_ORDER_C, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_darray(4, 0, 1, LIST(8), block, LIST(1), LIST(4), LADING_ORDER_C, INT, &t)); /* 1 * 4 < 8 */
  FAILS(LADING_ERR_ARG, lading_type_darray(4, 0, 1, LIST(8), block, LIST(0), LIST(4), LADING_ORDER_C, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_darray(4, 0, 1, LIST(8), block, LIST(-2), LIST(4), LADING_ORDER_C, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_darray(4, 0, 1, LIST(-8), block, LIST(-1), LIST(4), LADING_ORDER_C, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_darray(4, 0, 1, LIST(8), none, LIST(-1), LIST(4), LADING_ORDER_C, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_darray(1, 0, 1, LIST(8), wrong, LIST(-1), LIST(1), LADING_ORDER_C, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_darray(1, 0, 0, LIST(8), none, LIST(-1), LIST(1), LADING_ORDER_C, INT, &t));
  FAILS(LADING_ERR_ARG, lading_type_darray(1, 0, 1, LIST(8), none, LIST(-1), LIST(1), bad, INT, &t));
}
END_TEST

/* Bounds far out, extents that wrap, spans that wrap: every product and sum that a constructor forms. */
START_TEST(overflow) {
  const int64_t big = INT64_MAX, small = INT64_MIN;
  lading_type *wide;
  ck_assert_int_eq(lading_type_resized(INT, 0, big, &wide), LADING_OK);
  const lading_type *const olds[] = { wide, INT };
  FAILS(LADING_ERR_OVERFLOW, lading_type_contiguous(big, INT, &t));
  FAILS(LADING_ERR_OVERFLOW, lading_type_contiguous(2, wide, &t));
  FAILS(LADING_ERR_OVERFLOW, lading_type_vector(2, 1, 2, wide, &t));
  FAILS(LADING_ERR_OVERFLOW, lading_type_vector(3, 1, small, INT, &t));
  FAILS(LADING_ERR_OVERFLOW, lading_type_hvector(3, 1, small, INT, &t));
  FAILS(LADING_ERR_OVERFLOW, lading_type_hvector(2, 1, big, INT, &t));
  FAILS(LADING_ERR_OVERFLOW, lading_type_hvector(big, big, 0, INT, &t));
  FAILS(LADING_ERR_OVERFLOW, lading_type_indexed(2, LIST(big, big), LIST(0, 0), INT, &t));
  FAILS(LADING_ERR_OVERFLOW, lading_type_hindexed(1, LIST(1), LIST(big - 2), INT, &t));
  FAILS(LADING_ERR_OVERFLOW, lading_type_hindexed(2, LIST(1, 1), LIST(small, 0), INT, &t));
  FAILS(LADING_ERR_OVERFLOW, lading_type_hindexed_block(2, 1, LIST(small, big - 8), INT, &t));
  FAILS(LADING_ERR_OVERFLOW, lading_type_indexed_block(2, 1, LIST(small, 3), INT, &t));
  FAILS(LADING_ERR_OVERFLOW, lading_type_struct(2, LIST(2, 1), LIST(0, 0), olds, &t));
  FAILS(LADING_ERR_OVERFLOW, lading_type_struct(2, LIST(1, 1), LIST(1, 0), olds, &t));
  FAILS(LADING_ERR_OVERFLOW, lading_type_subarray(2, LIST(big, big), LIST(1, 1), LIST(0, 0), LADING_ORDER_C, INT, &t));
  FAILS(LADING_ERR_OVERFLOW, lading_type_resized(INT, small, -1, &t));
  lading_type_free(wide);
}
END_TEST

START_TEST(what_just_fits) {
  lading_type *t;
  ck_assert_int_eq(lading_type_contiguous(INT64_MAX, lading_elem_type(LADING_BYTE), &t), LADING_OK);
  ck_assert_int_eq(info_of(t).size, INT64_MAX);
  lading_type_free(t);
  ck_assert_int_eq(lading_type_hindexed(1, LIST(1), LIST(INT64_MIN), INT, &t), LADING_OK);
  ck_assert_int_eq(info_of(t).true_lb, INT64_MIN);
  lading_type_free(t);
  ck_assert_int_eq(lading_type_hindexed(1, LIST(1), LIST(INT64_MAX - 4), INT, &t), LADING_OK);
  ck_assert_int_eq(info_of(t).true_lb, INT64_MAX - 4);
  lading_type_free(t);
  ck_assert_int_eq(lading_type_hvector(1, 1, INT64_MIN, INT, &t), LADING_OK); /* the stride of one block is never used */
  lading_type_free(t);
}
END_TEST

START_TEST(ranges_out_of_bounds) {
  char mem[64] = { 0 }, packed[8] = "unmoved", to[64] = "unmoved";
  const int64_t ranges[][2] = { { -1, 2 }, { 0, 9 }, { 5, 4 }, { 9, 9 }, { INT64_MIN, 0 }, { 0, INT64_MAX }, { INT64_MAX, INT64_MAX }, { -4, -2 } };
  lading_type *t;
  ck_assert_int_eq(lading_type_vector(2, 1, 3, INT, &t), LADING_OK);
  for (int64_t i = 0; i < COUNT_OF(ranges); i++) {
    int64_t lo = ranges[i][0], hi = ranges[i][1];
    ck_assert_int_eq(lading_pack(t, 1, mem, packed, lo, hi), LADING_ERR_RANGE);
    ck_assert_int_eq(lading_unpack(t, 1, to, packed, lo, hi), LADING_ERR_RANGE);
    ck_assert_int_eq(lading_copy(t, 1, mem, t, 5, to, lo, hi), LADING_ERR_RANGE);
  }
  ck_assert_int_eq(lading_copy(t, 5, NULL, t, 1, to, 0, 40), LADING_ERR_RANGE); /* nothing is read before both sides are known to have it */
  ck_assert_int_eq(lading_pack(t, -1, mem, packed, 0, 0), LADING_ERR_ARG);
  ck_assert_int_eq(lading_unpack(t, -1, mem, packed, 0, 0), LADING_ERR_ARG);
  ck_assert_int_eq(lading_copy(t, -1, mem, t, 1, to, 0, 0), LADING_ERR_ARG);
  ck_assert_int_eq(lading_copy(t, 1, mem, t, -1, to, 0, 0), LADING_ERR_ARG);
  for (int64_t n = 1; n <= 2; n++) { /* of packed bytes at NULL there can only be none */
    ck_assert_int_eq(lading_pack(t, n, mem, NULL, 0, 4 * n), LADING_ERR_ARG);
    ck_assert_int_eq(lading_pack(t, n, mem, NULL, 1, 2), LADING_ERR_ARG);
    ck_assert_int_eq(lading_unpack(t, n, mem, NULL, 0, 4 * n), LADING_ERR_ARG);
    ck_assert_int_eq(lading_pack(t, n, mem, NULL, 3, 3), LADING_OK);
    ck_assert_int_eq(lading_pack_op(t, n, mem, NULL, 0, 4 * n, LADING_SUM), LADING_ERR_ARG);
    ck_assert_int_eq(lading_unpack_op(t, n, mem, NULL, 0, 4 * n, LADING_SUM), LADING_ERR_ARG);
    ck_assert_int_eq(lading_unpack_op(t, n, mem, NULL, 0, 4 * n, LADING_REPLACE), LADING_ERR_ARG);
    ck_assert_int_eq(lading_pack_external32(t, n, mem, NULL, 0, 4 * n), LADING_ERR_ARG);
    ck_assert_int_eq(lading_unpack_external32(t, n, mem, NULL, 0, 4 * n), LADING_ERR_ARG);
    ck_assert_int_eq(lading_pack_threads(t, n, mem, NULL, 0, 4 * n, NULL, NULL, 1), LADING_ERR_ARG);
    ck_assert_int_eq(lading_unpack_threads(t, n, mem, NULL, 0, 4 * n, NULL, NULL, 1), LADING_ERR_ARG);
  }
  ck_assert_int_eq(lading_pack(NULL, 1, mem, packed, 0, 0), LADING_ERR_ARG);
  ck_assert_int_eq(lading_unpack(NULL, 1, mem, packed, 0, 0), LADING_ERR_ARG);
  ck_assert_int_eq(lading_copy(NULL, 1, mem, t, 1, to, 0, 0), LADING_ERR_ARG);
  ck_assert_int_eq(lading_copy(t, 1, mem, NULL, 1, to, 0, 0), LADING_ERR_ARG);
  ck_assert_str_eq(packed, "unmoved");
  ck_assert_str_eq(to, "unmoved");
  lading_type_free(t);
}
END_TEST

START_TEST(queries) {
  lading_info i;
  lading_id id = { { 1, 2 } };
  int64_t n = 42, k = 42;
  struct iovec v = { NULL, 42 };
  char text[8];
  ck_assert_int_eq(lading_type_info(NULL, &i), LADING_ERR_ARG);
  ck_assert_int_eq(lading_type_info(INT, NULL), LADING_ERR_ARG);
  ck_assert_int_eq(lading_type_id(NULL, 1, &id), LADING_ERR_ARG);
  ck_assert_int_eq(lading_type_id(INT, -1, &id), LADING_ERR_ARG);
  ck_assert_int_eq(lading_type_id(INT, 1, NULL), LADING_ERR_ARG);
  ck_assert_int_eq(lading_type_id(INT, INT64_MAX, &id), LADING_ERR_OVERFLOW);
  ck_assert_int_eq(lading_type_signature(NULL, 1, &id), LADING_ERR_ARG);
  ck_assert_int_eq(lading_type_signature(INT, -1, &id), LADING_ERR_ARG);
  ck_assert_int_eq(lading_type_signature(INT, 1, NULL), LADING_ERR_ARG);
  ck_assert_int_eq(lading_type_commit(NULL), LADING_ERR_ARG);
  ck_assert_int_eq(lading_type_text(NULL, text, 8), LADING_ERR_ARG);
  ck_assert_int_eq(lading_type_text(INT, NULL, 8), LADING_ERR_ARG);
  ck_assert_int_eq(lading_type_text(INT, text, -1), LADING_ERR_ARG);
  ck_assert_int_eq(lading_explain(NULL, 1, text, 8), LADING_ERR_ARG);
  ck_assert_int_eq(lading_explain(INT, -1, text, 8), LADING_ERR_ARG);
  ck_assert_int_gt(lading_explain(INT, 1, NULL, 0), 0);
  ck_assert_int_eq(lading_segments_count(NULL, 1, &n), LADING_ERR_ARG);
  ck_assert_int_eq(lading_segments_count(INT, -1, &n), LADING_ERR_ARG);
  ck_assert_int_eq(lading_segments_count(INT, 1, NULL), LADING_ERR_ARG);
  ck_assert_int_eq(lading_iov(NULL, 1, NULL, 0, &v, 1, &n), LADING_ERR_ARG);
  ck_assert_int_eq(lading_iov(INT, -1, NULL, 0, &v, 1, &n), LADING_ERR_ARG);
  ck_assert_int_eq(lading_iov(INT, 1, NULL, -1, &v, 1, &n), LADING_ERR_RANGE);
  ck_assert_int_eq(lading_iov(INT, 1, NULL, 0, &v, -1, &n), LADING_ERR_ARG);
  ck_assert_int_eq(lading_iov(INT, 1, NULL, 0, NULL, 1, &n), LADING_ERR_ARG);
  ck_assert_int_eq(lading_iov(INT, 1, NULL, 0, &v, 1, NULL), LADING_ERR_ARG);
  ck_assert_int_eq(lading_segment_at(INT, 1, 4, &n, &k), LADING_ERR_RANGE);
  ck_assert_int_eq(lading_segment_at(INT, 1, -1, &n, &k), LADING_ERR_RANGE);
  ck_assert_int_eq(lading_segment_at(NULL, 1, 0, &n, &k), LADING_ERR_ARG);
  ck_assert_int_eq(lading_segment_at(INT, 1, 0, NULL, &k), LADING_ERR_ARG);
  ck_assert_int_eq(lading_segment_at(INT, 0, 0, &n, &k), LADING_ERR_RANGE);
  ck_assert(n == 42 && k == 42 && v.iov_len == 42 && id.w[0] == 1 && id.w[1] == 2);
  ck_assert_int_eq(lading_iov(INT, 1, NULL, 0, NULL, 0, &n), LADING_OK);
  ck_assert_int_eq(n, 0);
}
END_TEST

START_TEST(one_version) {
  char text[40];
  snprintf(text, sizeof text, "%d.%d.%d", LADING_VERSION_MAJOR, LADING_VERSION_MINOR, LADING_VERSION_PATCH);
  ck_assert_str_eq(text, PROJECT_VERSION);
  ck_assert_int_eq(lading_version(), LADING_VERSION);
}
END_TEST

START_TEST(error_texts) {
  for (int code = -12; code <= 3; code++) {
    ck_assert_ptr_nonnull(lading_strerror(code));
    ck_assert_int_gt((int64_t)strlen(lading_strerror(code)), 1);
  }
  ck_assert_ptr_nonnull(lading_strerror(INT32_MIN));
  for (int state = LADING_NEED_LAYOUT; state <= LADING_NOT_MAPPED; state++) ck_assert_str_ne(lading_strerror(state), lading_strerror(INT32_MIN));
  for (int a = -9; a <= 0; a++)
    for (int b = a + 1; b <= 0; b++) ck_assert_str_ne(lading_strerror(a), lading_strerror(b));
}
END_TEST

static const char *const malformed[] = {
  "", " ", "x", "int", "(", ")", "()", "(bytes)", "(bytes x)", "(bytes -1)", "(bytes 4", "(bytes 4))", "(bytes 4) (bytes 4)", "(byte 4)", "(bytes 4 4)",
  "(bytes 99999999999999999999)", "(repeat 2 8)", "(repeat 2 (bytes 1))", "(repeat -2 8 (bytes 1))", "(repeat 2 8 (bytes 1) (bytes 1))",
  "(blocks 2 (0) (bytes 1))", "(blocks 1 (0 1) (bytes 1))", "(blocks 1 0 (bytes 1))", "(blocks 2 (0 9) (1 -1) 4 (bytes 1))", "(blocks 2 (0 9) (1) 4 (bytes 1))",
  "(join (0))", "(join (bytes 1))", "(join (x (bytes 1)))", "(join (0 (bytes 1))", "vector", "vector(", "vector()", "vector(8,1,8)", "vector(8,1,8,double",
  "vector(8,1,8,double))", "vector(8,1,8,double),", "vector(8,1,,double)", "vector(8;1;8;double)", "vector(8,1,8,double,double)", "vectors(8,1,8,double)",
  "vector(8.0,1,8,double)", "vector(0x8,1,8,double)", "vector(8,1,8,real)", "contiguous(,int32)", "contiguous(9223372036854775808,byte)",
  "contiguous(--1,byte)", "struct([1],[0],[int32", "struct([1],[0],int32)", "struct([1,2],[0],[int32])", "indexed([1,2],[0],int32)", "indexed([1,[0],int32)",
  "indexed_block(1,0,int32)", "subarray([4],[2],[0],X,int32)", "subarray([4],[2,2],[0],C,int32)", "darray(4,0,[8],[block,none],[-1],[4],C,int32)",
  "darray(4,0,[8],[blob],[-1],[4],C,int32)", "resized(int32,0)", "resized(0,4,int32)", "int32 int32", "int32x", "\x80\xff", "contiguous(2,int32)\x01",
};

START_TEST(text_that_does_not_parse) {
  for (int64_t i = 0; i < COUNT_OF(malformed); i++) {
    lading_type *t = MARK;
    int rc = lading_type_parse(malformed[i], &t);
    if (strcmp(malformed[i], "int") == 0) { /* an alias */
      ck_assert_int_eq(rc, LADING_OK);
      lading_type_free(t);
      continue;
    }
    ck_assert_msg(rc == LADING_ERR_FORMAT && t == MARK, "'%s' gives %d (%s)", malformed[i], rc, lading_strerror(rc));
  }
}
END_TEST

/* The same characters are blanks in calls, in trees, and around both; here each _ is one. */
START_TEST(blanks) {
  static const char *const spelled[] = { "vector_(_8_,_1,-3_,double_)_", "_contiguous(3,(repeat_2_8_(bytes_4_)_)_)", "(join_(4_(bytes_4)))_" };
  for (int64_t i = 0; i < COUNT_OF(spelled); i++)
    for (const char *blank = " \t\n\v\f\r"; *blank; blank++) {
      char text[64];
      lading_type *t;
      strcpy(text, spelled[i]);
      for (char *c = text; *c; c++) *c = *c == '_' ? *blank : *c;
      ck_assert_msg(lading_type_parse(text, &t) == LADING_OK, "'%s' with blank %d", spelled[i], *blank);
      lading_type_free(t);
    }
}
END_TEST

/* What reads but is no type: the error of the constructor, not of the reader. */
START_TEST(text_of_impossible_types) {
  FAILS(LADING_ERR_ARG, lading_type_parse("contiguous(-1,int32)", &t));
  FAILS(LADING_ERR_ARG, lading_type_parse("subarray([4],[5],[0],C,int32)", &t));
  FAILS(LADING_ERR_ARG, lading_type_parse("darray(4,4,[8],[block],[-1],[4],C,int32)", &t));
  FAILS(LADING_ERR_OVERFLOW, lading_type_parse("contiguous(9223372036854775807,int32)", &t));
  FAILS(LADING_ERR_OVERFLOW, lading_type_parse("hvector(2,1,9223372036854775807,int32)", &t));
  FAILS(LADING_ERR_OVERFLOW, lading_type_parse("(repeat 9223372036854775807 8 (bytes 8))", &t));
}
END_TEST

/* `open` 1500 times, a core, `close` 1500 times. */
static void bomb(const char *open, const char *core, const char *close_, int levels, bool good) {
  size_t n = strlen(open) * (size_t)levels + strlen(core) + strlen(close_) * (size_t)levels + 1;
  char *text = malloc(n), *p = text;
  for (int i = 0; i < levels; i++) p = stpcpy(p, open);
  p = stpcpy(p, core);
  for (int i = 0; i < levels; i++) p = stpcpy(p, close_);
  lading_type *t = MARK;
  int rc = lading_type_parse(text, &t);
  if (good) ck_assert_msg(rc == LADING_OK, "%d levels of %s: %d (%s)", levels, open, rc, lading_strerror(rc));
  else ck_assert_msg((rc == LADING_ERR_DEPTH || rc == LADING_ERR_FORMAT) && t == MARK, "%d levels of %s: %d (%s)", levels, open, rc, lading_strerror(rc));
  if (!rc) lading_type_free(t);
  free(text);
}

START_TEST(depth_bombs) {
  static const char *const rows[][3] = {
    { "contiguous(1,", "int32", ")" }, { "vector(1,1,1,", "int32", ")" }, { "struct([1,1],[0,900],[", "byte", ",byte])" }, { "resized(", "int32", ",0,9)" },
    { "subarray([2],[1],[0],C,", "byte", ")" }, { "hindexed([1],[3],", "byte", ")" }, { "(repeat 1 1 ", "(bytes 1)", ")" }, { "(join (3 ", "(bytes 1)", "))" },
    { "(blocks 1 (3) ", "(bytes 1)", ")" }, { "contiguous(1,(repeat 1 1 ", "(bytes 1)", "))" }, { "(", "", "" }, { "vector(", "", "" }, { "struct([1],[0],[", "", "" },
  };
  for (int64_t i = 0; i < COUNT_OF(rows); i++) {
    bomb(rows[i][0], rows[i][1], rows[i][2], 1500, false);
    bomb(rows[i][0], rows[i][1], rows[i][2], 200000, false);
    if (i < 9) bomb(rows[i][0], rows[i][1], rows[i][2], 50, true);
  }
}
END_TEST

/* The same through the API: every level that nests must be counted, and the limit must come before the stack ends. */
START_TEST(depth_bombs_by_api) {
  for (int kind = 0; kind < 6; kind++) {
    lading_type *t = lading_type_ref(INT);
    int rc = LADING_OK;
    for (int level = 0; level < 1500 && !rc; level++) {
      lading_type *up = MARK;
      const lading_type *const olds[] = { t, lading_elem_type(LADING_CHAR) };
      switch (kind) {
      case 0: rc = lading_type_struct(2, LIST(1, 1), LIST(1, 0), olds, &up); break;
      case 1: rc = lading_type_hindexed(2, LIST(level == 0, 1), LIST(0, 1), t, &up); break;
      case 2: rc = lading_type_hvector(level % 40 ? 1 : 2, 1, 100000, t, &up); break;
      case 3: rc = lading_type_resized(t, level, 7, &up); break;
      case 4: rc = lading_type_subarray(1, LIST(1), LIST(1), LIST(0), LADING_ORDER_C, t, &up); break;
      default: rc = lading_type_struct(1, LIST(1), LIST(1), olds, &up); break;
      }
      if (rc) {
        ck_assert_ptr_eq(up, MARK);
        break;
      }
      lading_type_free(t);
      t = up;
    }
    ck_assert_msg(rc == LADING_OK || rc == LADING_ERR_DEPTH || rc == LADING_ERR_OVERFLOW, "kind %d: %d", kind, rc);
    lading_info i = info_of(t);
    ck_assert_int_le(i.depth, LADING_DEPTH_MAX);
    char *text = text_of(t);
    lading_type *back = parsed(text);
    ck_assert(same_id(id_of(back, 1), id_of(t, 1)));
    lading_type_free(back);
    free(text);
    lading_type_free(t);
  }
}
END_TEST

/* 2^24 nodes written out is the limit: shared children would be a tree of 2^40. */
START_TEST(doubling_bomb) {
  lading_type *t = lading_type_ref(lading_elem_type(LADING_BYTE));
  int rc = LADING_OK, level = 0;
  for (; level < 60 && !rc; level++) {
    lading_type *up = MARK;
    const lading_type *const olds[] = { t, t };
    rc = lading_type_struct(2, LIST(1, 1), LIST(0, 3 * (INT64_C(1) << level) + level % 3), olds, &up);
    if (rc) break;
    lading_type_free(t);
    t = up;
  }
  ck_assert_int_eq(rc, LADING_ERR_OVERFLOW);
  ck_assert_int_le(level, 24);
  lading_type_free(t);
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("args", argc, argv, null_pointers, null_is_fine_where_nothing_is_read, negative_counts, arrays_out_of_bounds, overflow, what_just_fits,
                    ranges_out_of_bounds, queries, error_texts, text_that_does_not_parse, blanks, text_of_impossible_types, depth_bombs, depth_bombs_by_api, doubling_bomb, one_version);
}
