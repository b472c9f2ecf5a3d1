/* traps: the seven ways in which canonicalization goes wrong (design 2), each with the answer written down. */
#include "random_types.h"

/* The offsets of the elements (`unit` bytes each) in the order of the stream. */
static void check_order(const sample *s, int64_t count, int64_t unit, int64_t n, const int64_t *want) {
  stream *x = stream_of(s->map, count);
  char *mem = malloc((size_t)(x->hi - x->lo)), *packed = malloc((size_t)x->n);
  for (int64_t i = 0; i < x->hi - x->lo; i++) mem[i] = (char)(i + x->lo);
  ck_assert_int_eq(lading_pack(s->type, count, at_offset(mem, -x->lo), packed, 0, x->n), LADING_OK);
  ck_assert_int_eq(x->n, n * unit);
  for (int64_t i = 0; i < n; i++)
    for (int64_t b = 0; b < unit; b++) ck_assert_int_eq(packed[i * unit + b], (char)(want[i] * unit + b));
  free(mem);
  free(packed);
  stream_free(x);
}

/* TEMPI sorts streams by stride and packs 0 1 2 3. */
START_TEST(transpose_order) {
  sample *s = s_hvector(2, 1, 4, s_vector(2, 1, 2, s_elem(LADING_INT32)));
  check_order(s, 1, 4, 4, LIST(0, 2, 1, 3));
  check_all(s, 1);
  check_all(s, 3);
  lading_type *plain;
  ck_assert_int_eq(lading_type_contiguous(4, lading_elem_type(LADING_INT32), &plain), LADING_OK);
  ck_assert(!same_id(id_of(plain, 1), id_of(s->type, 1)));
  lading_type_free(plain);
  sample_free(s);
}
END_TEST

/* TEMPI drops dims of count one, and with them where they start. */
START_TEST(a_face_of_thickness_one_keeps_its_offset) {
  sample *s = s_subarray(3, LIST(4, 5, 6), LIST(4, 5, 1), LIST(0, 0, 5), LADING_ORDER_C, s_elem(LADING_DOUBLE));
  ck_assert_int_eq(info_of(s->type).true_lb, 40);
  check_all(s, 2);
  sample_free(s);
  s = s_subarray(3, LIST(4, 5, 6), LIST(1, 1, 1), LIST(2, 3, 4), LADING_ORDER_C, s_elem(LADING_DOUBLE));
  ck_assert_int_eq(info_of(s->type).true_lb, 8 * (4 + 6 * (3 + 5 * 2)));
  check_all(s, 2);
  sample_free(s);
  s = s_hindexed(1, LIST(1), LIST(-24), s_vector(1, 1, 100, s_elem(LADING_INT32)));
  ck_assert_int_eq(info_of(s->type).true_lb, -24);
  check_all(s, 2);
  sample_free(s);
}
END_TEST

/* The same bytes at count 1; at count 2 the extent decides. */
START_TEST(extents_under_count) {
  sample *a = s_vector(4, 1, 2, s_elem(LADING_INT32)), *b = s_subarray(2, LIST(4, 2), LIST(4, 1), LIST(0, 0), LADING_ORDER_C, s_elem(LADING_INT32));
  ck_assert(same_id(id_of(a->type, 1), id_of(b->type, 1)));
  ck_assert(!same_id(id_of(a->type, 2), id_of(b->type, 2)));
  ck_assert_int_eq(info_of(a->type).extent, 28);
  ck_assert_int_eq(info_of(b->type).extent, 32);
  check_order(a, 2, 4, 8, LIST(0, 2, 4, 6, 7, 9, 11, 13));
  check_order(b, 2, 4, 8, LIST(0, 2, 4, 6, 8, 10, 12, 14));
  check_all(a, 3);
  check_all(b, 3);
  sample_free(a);
  sample_free(b);
  sample *c = s_resized(s_contiguous(2, s_elem(LADING_INT32)), 0, 12); /* one run, but not contiguous at count 2 */
  ck_assert(!info_of(c->type).contiguous);
  check_order(c, 2, 4, 4, LIST(0, 1, 3, 4));
  check_all(c, 3);
  sample_free(c);
}
END_TEST

START_TEST(negative_stride) {
  sample *s = s_vector(4, 1, -1, s_elem(LADING_INT32));
  check_order(s, 1, 4, 4, LIST(0, -1, -2, -3));
  ck_assert_int_eq(info_of(s->type).lb, -12);
  ck_assert_int_eq(info_of(s->type).blocks, 4);
  ck_assert(!info_of(s->type).monotonic);
  check_all(s, 3);
  sample_free(s);
}
END_TEST

/* Pairs have holes: their bytes are not one run. */
START_TEST(pair_padding) {
  sample *s = s_contiguous(3, s_elem(LADING_SHORT_INT));
  ck_assert_int_eq(info_of(s->type).size, 18);
  ck_assert_int_eq(info_of(s->type).extent, 24);
  ck_assert_int_eq(info_of(s->type).blocks, 4); /* 2 | 4+2 | 4+2 | 4 */
  check_all(s, 2);
  sample_free(s);
  s = s_contiguous(3, s_elem(LADING_DOUBLE_INT));
  ck_assert_int_eq(info_of(s->type).blocks, 3);
  check_all(s, 2);
  sample_free(s);
}
END_TEST

/* dense folds stride == L, never -L, and never less than L. */
START_TEST(stride_minus_length_does_not_fold) {
  sample *s = s_hvector(3, 1, -4, s_elem(LADING_INT32));
  ck_assert_int_eq(info_of(s->type).blocks, 3);
  check_all(s, 2);
  sample_free(s);
  s = s_hvector(3, 1, -8, s_hvector(2, 1, 4, s_elem(LADING_INT32)));
  ck_assert_int_eq(info_of(s->type).blocks, 3);
  ck_assert_int_eq(info_of(s->type).max_block, 8);
  check_all(s, 2);
  sample_free(s);
  s = s_hvector(2, 1, -8, s_hvector(2, 1, -4, s_elem(LADING_INT32))); /* the signed merge is right: 0 -4 -8 -12 */
  char *text = text_of(s->type);
  ck_assert_str_eq(text, "(repeat 4 -4 (bytes 4))");
  free(text);
  check_all(s, 2);
  sample_free(s);
}
END_TEST

START_TEST(overlap) {
  sample *s = s_hvector(4, 1, 2, s_elem(LADING_INT32)); /* 0-4 2-6 4-8 6-10 */
  ck_assert(info_of(s->type).overlaps);
  ck_assert_int_eq(info_of(s->type).blocks, 4);
  ck_assert_int_eq(info_of(s->type).size, 16);
  check_all(s, 3);
  sample_free(s);
  s = s_vector(3, 1, 0, s_elem(LADING_INT32));
  check_order(s, 1, 4, 3, LIST(0, 0, 0));
  check_all(s, 3);
  sample_free(s);
  s = s_resized(s_contiguous(8, s_elem(LADING_INT32)), 0, 4); /* items overlap, one item does not */
  ck_assert(!info_of(s->type).overlaps);
  check_all(s, 3);
  sample_free(s);
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("traps", argc, argv, transpose_order, a_face_of_thickness_one_keeps_its_offset, extents_under_count, negative_stride, pair_padding,
                    stride_minus_length_does_not_fold, overlap);
}
