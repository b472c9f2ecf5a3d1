/* edge: what users of other engines hit (shared/edge-cases.md), groups A to C, one test each, named after the item. */
#include "random_types.h"

static sample *ints(int64_t n) { return s_contiguous(n, s_elem(LADING_INT32)); }
static sample *bytes(int64_t n) { return s_contiguous(n, s_elem(LADING_BYTE)); }

static void done(sample *s, int64_t counts) {
  for (int64_t count = 0; count <= counts; count++) check_all(s, count);
  sample_free(s);
}

static void check_bounds(const sample *s, int64_t lb, int64_t extent, int64_t true_lb, int64_t true_extent) {
  lading_info i = info_of(s->type);
  ck_assert_int_eq(i.lb, lb);
  ck_assert_int_eq(i.extent, extent);
  ck_assert_int_eq(i.true_lb, true_lb);
  ck_assert_int_eq(i.true_extent, true_extent);
}

/* The packed stream of `count` items, as numbers of ints from the base, must be `want`. */
static void check_ints(const sample *s, int64_t count, int64_t n, const int64_t *want) {
  int mem[256], packed[256];
  for (int i = 0; i < 256; i++) mem[i] = i - 128;
  ck_assert_int_eq(info_of(s->type).size * count, 4 * n);
  ck_assert_int_eq(lading_pack(s->type, count, mem + 128, packed, 0, 4 * n), LADING_OK);
  for (int64_t i = 0; i < n; i++) ck_assert_int_eq(packed[i], want[i]);
}

/* ---- A. zero size, zero count ---- */

START_TEST(A1) { /* contiguous(0, T): a no-op, nothing divides by the size */
  sample *s = ints(0);
  char mem[4] = { 1, 2, 3, 4 };
  ck_assert_int_eq(lading_pack(s->type, 5, mem, NULL, 0, 0), LADING_OK);
  ck_assert_int_eq(lading_unpack(s->type, 5, mem, NULL, 0, 0), LADING_OK);
  ck_assert_int_eq(lading_copy(s->type, 5, mem, s->type, 5, NULL, 0, 0), LADING_OK);
  ck_assert_int_eq(lading_copy(s->type, 5, mem, lading_elem_type(LADING_INT32), 1, mem, 0, 0), LADING_OK);
  ck_assert_int_eq(lading_pack(s->type, 5, mem, mem, 0, 1), LADING_ERR_RANGE);
  done(s, 3);
}
END_TEST

START_TEST(A2) { /* every constructor takes a zero-size old type */
  sample *olds[] = { ints(0), s_resized(ints(0), -8, 20), s_resized(ints(0), 4, -12) };
  for (int64_t i = 0; i < COUNT_OF(olds); i++) {
    sample *o = olds[i];
    done(s_contiguous(3, s_dup(o)), 3);
    done(s_vector(3, 2, -1, s_dup(o)), 3);
    done(s_hvector(3, 2, 40, s_dup(o)), 3);
    done(s_indexed(3, LIST(1, 0, 2), LIST(4, -9, 7), s_dup(o)), 3);
    done(s_hindexed(3, LIST(1, 0, 2), LIST(4, -9, 7), s_dup(o)), 3);
    done(s_indexed_block(2, 3, LIST(4, -9), s_dup(o)), 3);
    done(s_hindexed_block(2, 3, LIST(4, -9), s_dup(o)), 3);
    done(S_STRUCT(3, LIST(1, 2, 1), LIST(0, 8, 30), s_dup(o), s_elem(LADING_INT32), s_dup(o)), 3);
    done(s_subarray(2, LIST(3, 4), LIST(2, 2), LIST(1, 1), LADING_ORDER_FORTRAN, s_dup(o)), 3);
    done(s_darray(4, 3, 1, LIST(9), (lading_distrib[]){ LADING_DISTRIB_CYCLIC }, LIST(2), LIST(4), LADING_ORDER_C, s_dup(o)), 3);
    done(s_resized(o, 1, 2), 3);
  }
}
END_TEST

START_TEST(A3) { /* zero-size types keep lb and ub */
  sample *s = s_contiguous(10, s_resized(ints(0), -8, 20));
  check_bounds(s, -8, 200, 0, 0);
  ck_assert_int_eq(info_of(s->type).size, 0);
  done(s, 2);
}
END_TEST

START_TEST(A4) { /* zero size with a NULL buffer and count 1 */
  sample *s = s_resized(ints(0), 0, 64);
  int64_t n = -1, got = -1;
  struct iovec v;
  ck_assert_int_eq(lading_pack(s->type, 1, NULL, NULL, 0, 0), LADING_OK);
  ck_assert_int_eq(lading_unpack(s->type, 1, NULL, NULL, 0, 0), LADING_OK);
  ck_assert_int_eq(lading_copy(s->type, 1, NULL, s->type, 1, NULL, 0, 0), LADING_OK);
  ck_assert_int_eq(lading_segments_count(s->type, 1, &n), LADING_OK);
  ck_assert_int_eq(lading_iov(s->type, 1, NULL, 0, &v, 1, &got), LADING_OK);
  ck_assert(n == 0 && got == 0);
  sample_free(s);
}
END_TEST

START_TEST(A5) { /* every second block length 0, 8192 entries: as if they were not there */
  enum { N = 8192 };
  static int64_t bl[N], at[N], few_bl[N / 2], few_at[N / 2];
  for (int i = 0; i < N; i++) {
    bl[i] = i % 2 ? 0 : 1 + i % 3;
    at[i] = i % 2 ? -1000000 : 5 * i + i % 7;
    if (i % 2 == 0) { few_bl[i / 2] = bl[i]; few_at[i / 2] = at[i]; }
  }
  sample *a = s_indexed(N, bl, at, s_elem(LADING_INT16)), *b = s_indexed(N / 2, few_bl, few_at, s_elem(LADING_INT16));
  ck_assert(same_id(id_of(a->type, 3), id_of(b->type, 3)));
  ck_assert_int_eq(info_of(a->type).extent, info_of(b->type).extent);
  ck_assert_int_eq(info_of(a->type).lb, info_of(b->type).lb);
  rng r = rng_of(5);
  check_info(a);
  check_moves(a, 1, &r);
  sample_free(a);
  sample_free(b);
}
END_TEST

START_TEST(A6) { /* bounds make no segments: (4,0)(0,4)(16,0) is (0,4) */
  sample *s = s_resized(s_resized(s_elem(LADING_INT32), 4, 12), 4, 12);
  struct iovec v[3];
  int64_t got;
  ck_assert_int_eq(lading_iov(s->type, 1, (char *)4096, 0, v, 3, &got), LADING_OK);
  ck_assert(got == 1 && v[0].iov_base == (char *)4096 && v[0].iov_len == 4);
  done(s, 3);
}
END_TEST

START_TEST(A7) { /* no memcpy(NULL, ..., 0) inside (the undefined-behaviour sanitizer looks on) */
  rng r = rng_of(7);
  for (int i = 0; i < 600; i++) {
    sample *s = random_type(&r, 4, 300);
    int64_t size = info_of(s->type).size, at = rng_in(&r, 0, 2 * size);
    ck_assert_int_eq(lading_pack(s->type, 2, NULL, NULL, at, at), LADING_OK);
    ck_assert_int_eq(lading_unpack(s->type, 2, NULL, NULL, at, at), LADING_OK);
    ck_assert_int_eq(lading_copy(s->type, 2, NULL, s->type, 2, NULL, at, at), LADING_OK);
    ck_assert_int_eq(lading_pack(s->type, 0, NULL, NULL, 0, 0), LADING_OK);
    sample_free(s);
  }
}
END_TEST

/* ---- B. bounds, extent, order ---- */

START_TEST(B1) { /* negative extents under contiguous */
  sample *s = s_contiguous(3, s_resized(bytes(4), 6, -9));
  check_bounds(s, -12, 9, -18, 22);
  done(s, 3);
}
END_TEST

START_TEST(B2) { /* vector(64,1,-1) on the last element packs in reverse */
  sample *s = s_vector(64, 1, -1, s_elem(LADING_INT32));
  int mem[64], packed[64];
  for (int i = 0; i < 64; i++) mem[i] = i;
  ck_assert_int_eq(lading_pack(s->type, 1, mem + 63, packed, 0, 256), LADING_OK);
  for (int i = 0; i < 64; i++) ck_assert_int_eq(packed[i], 63 - i);
  check_bounds(s, -252, 256, -252, 256);
  done(s, 2);
}
END_TEST

START_TEST(B3) { /* the lb of an inner struct does not leak: MPI-3.1 example 4.6 */
  sample *type1 = S_STRUCT(2, LIST(1, 1), LIST(0, 8), s_elem(LADING_DOUBLE), s_elem(LADING_CHAR));
  check_bounds(type1, 0, 16, 0, 9);
  sample *s = S_STRUCT(3, LIST(2, 1, 3), LIST(0, 16, 26), s_elem(LADING_FLOAT), type1, s_elem(LADING_CHAR));
  check_bounds(s, 0, 32, 0, 29);
  done(s, 3);
}
END_TEST

START_TEST(B4) { /* an extent of 6 for an int survives contiguous(1); misaligned elements are legal */
  sample *s = s_contiguous(1, s_resized(s_elem(LADING_INT32), 0, 6));
  check_bounds(s, 0, 6, 0, 4);
  done(s, 3);
}
END_TEST

START_TEST(B5) { /* explicit ub wins over the epsilon and over data; without one the extent is padded */
  sample *plain = S_STRUCT(2, LIST(1, 1), LIST(0, 8), s_elem(LADING_DOUBLE), s_elem(LADING_INT32));
  check_bounds(plain, 0, 16, 0, 12);
  done(plain, 2);
  sample *marked = S_STRUCT(2, LIST(1, 1), LIST(0, 8), s_elem(LADING_DOUBLE), s_resized(s_elem(LADING_INT32), 0, 4));
  check_bounds(marked, 8, 4, 0, 12);
  done(marked, 2);
  sample *same_place = S_STRUCT(2, LIST(1, 1), LIST(0, 0), s_elem(LADING_DOUBLE), s_resized(s_elem(LADING_INT32), 0, 4));
  check_bounds(same_place, 0, 4, 0, 8);
  done(same_place, 2);
}
END_TEST

START_TEST(B6) { /* resized of resized is one 4-byte segment where the int is */
  sample *s = s_resized(s_resized(s_elem(LADING_INT32), 4, 12), 4, 12);
  check_bounds(s, 4, 12, 0, 4);
  ck_assert_int_eq(info_of(s->type).blocks, 1);
  done(s, 3);
}
END_TEST

START_TEST(B7) { /* one run that does not start at 0: every fast path adds true_lb */
  sample *rows[] = { s_hindexed(1, LIST(4), LIST(40), s_elem(LADING_INT32)), s_resized(ints(4), 48, 16),
                     s_subarray(1, LIST(9), LIST(4), LIST(3), LADING_ORDER_C, s_elem(LADING_INT32)),
                     s_hindexed(1, LIST(4), LIST(-40), s_elem(LADING_INT32)), s_resized(s_hindexed(1, LIST(4), LIST(16), s_elem(LADING_INT32)), 16, 16) };
  const int64_t true_lb[] = { 40, 0, 12, -40, 16 };
  for (int64_t i = 0; i < COUNT_OF(rows); i++) {
    ck_assert_int_eq(info_of(rows[i]->type).true_lb, true_lb[i]);
    ck_assert_int_eq(info_of(rows[i]->type).blocks, 1);
    done(rows[i], 4);
  }
}
END_TEST

START_TEST(B8) { /* contiguous is a property of (type, count) */
  sample *s = s_resized(ints(4), 0, 24);
  int64_t n;
  ck_assert(!info_of(s->type).contiguous);
  ck_assert_int_eq(lading_segments_count(s->type, 1, &n), LADING_OK);
  ck_assert_int_eq(n, 1);
  ck_assert_int_eq(lading_segments_count(s->type, 262144, &n), LADING_OK);
  ck_assert_int_eq(n, 262144);
  done(s, 3);
  sample *c = s_resized(ints(4), -8, 16); /* another lb does not matter */
  ck_assert(info_of(c->type).contiguous);
  ck_assert_int_eq(lading_segments_count(c->type, 262144, &n), LADING_OK);
  ck_assert_int_eq(n, 1);
  done(c, 3);
}
END_TEST

START_TEST(B9) { /* iov of builtin and contiguous types with count > 1 */
  struct iovec v[2];
  int64_t got;
  ck_assert_int_eq(lading_iov(lading_elem_type(LADING_DOUBLE), 7, (char *)64, 0, v, 2, &got), LADING_OK);
  ck_assert(got == 1 && v[0].iov_len == 56 && v[0].iov_base == (char *)64);
  for (int k = 0; k < LADING_ELEM_MAX; k++) done(s_elem(k), 5);
  done(ints(6), 5);
}
END_TEST

START_TEST(B10) { /* merging neighbours never reorders: a 2-D subsection as struct of structs, rows listed upside down */
  sample *row = S_STRUCT(2, LIST(2, 2), LIST(8, 0), s_elem(LADING_INT32), s_elem(LADING_INT32));
  sample *s = S_STRUCT(3, LIST(1, 1, 1), LIST(32, 16, 0), s_dup(row), s_dup(row), s_dup(row));
  sample_free(row);
  check_ints(s, 1, 12, LIST(10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1));
  ck_assert_int_eq(info_of(s->type).blocks, 6);
  done(s, 2);
}
END_TEST

START_TEST(B11) { /* 21 irregular blocks over contiguous(1, LONG) are those over LONG */
  const int64_t bl[] = { 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 2, 4, 6, 6, 1, 7, 6, 5, 5, 3 };
  const int64_t at[] = { 0, 2, 4, 6, 8, 10, 12, 16, 20, 24, 28, 33, 36, 44, 56, 69, 75, 87, 98, 108, 118 };
  sample *a = s_indexed(21, bl, at, s_elem(LADING_INT64)), *b = s_indexed(21, bl, at, s_contiguous(1, s_elem(LADING_INT64)));
  ck_assert(same_id(id_of(a->type, 2), id_of(b->type, 2)));
  done(a, 2);
  done(b, 2);
}
END_TEST

START_TEST(B12) { /* a gap in front: only the bytes of the type are ever touched, however far away the base is */
  sample *s = s_hindexed(2, LIST(3, 5), LIST(INT64_C(1) << 40, (INT64_C(1) << 40) + 9), s_elem(LADING_INT32));
  done(s_resized(s, 0, 40), 2);
}
END_TEST

START_TEST(B13) { /* the span of count items is (count-1)*extent + true_extent: guards stand right behind it */
  done(s_resized(ints(3), 0, -20), 4);
  done(s_resized(ints(3), 0, 100), 4);
  done(s_resized(ints(3), -60, 8), 4);
}
END_TEST

START_TEST(B14) { /* struct{INT@0, UINT64@8} x 20705 */
  sample *s = S_STRUCT(2, LIST(1, 1), LIST(0, 8), s_elem(LADING_INT32), s_elem(LADING_UINT64));
  rng r = rng_of(14);
  check_bounds(s, 0, 16, 0, 16);
  check_moves(s, 20705, &r);
  sample_free(s);
}
END_TEST

/* ---- C. overlap and duplicates ---- */

START_TEST(C1) { /* a source may list a byte again and again: each copy is sent */
  sample *s = S_STRUCT(2, LIST(1, 1), LIST(0, 12), s_vector(3, 1, 0, s_elem(LADING_INT32)), s_indexed(1, LIST(1), LIST(0), s_elem(LADING_INT32)));
  check_ints(s, 1, 4, LIST(0, 0, 0, 3));
  ck_assert(info_of(s->type).overlaps);
  done(s, 3);
}
END_TEST

START_TEST(C2) { /* the struct of six overlapping parts, with the stream its reporters expect */
  sample *s = S_STRUCT(6, LIST(1, 1, 1, 1, 1, 1), LIST(36, 40, 40, 56, 68, 68), s_vector(4, 1, 0, s_elem(LADING_INT32)), s_elem(LADING_INT32),
                       s_vector(4, 2, 1, s_elem(LADING_INT32)), s_vector(3, 1, 0, s_elem(LADING_INT32)), s_elem(LADING_INT32),
                       s_indexed(5, LIST(6, 1, 1, 6, 1), LIST(0, 5, 8, 8, 13), s_elem(LADING_INT32)));
  check_ints(s, 1, 32, LIST(9, 9, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 14, 14, 17, 17, 18, 19, 20, 21, 22, 22, 25, 25, 26, 27, 28, 29, 30, 30));
  done(s, 3);
}
END_TEST

START_TEST(C3) { /* items overlap by resized: the extent is honoured on the send side */
  sample *s = s_resized(ints(8), 0, 4);
  check_ints(s, 2, 16, LIST(0, 1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5, 6, 7, 8));
  done(s, 3);
}
END_TEST

START_TEST(C4) { /* overlapping destination: last in stream order stays, overlaps says so, nothing outside is touched */
  sample *s = s_hvector(5, 1, 2, s_elem(LADING_INT32));
  unsigned char mem[12], packed[20];
  for (int i = 0; i < 20; i++) packed[i] = (unsigned char)i;
  ck_assert_int_eq(lading_unpack(s->type, 1, mem, packed, 0, 20), LADING_OK);
  const unsigned char want[12] = { 0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 18, 19 };
  ck_assert_mem_eq(mem, want, 12);
  ck_assert(info_of(s->type).overlaps);
  done(s, 3);
  done(s_hindexed_block(6, 3, LIST(0, 5, 0, 2, 2, 1), s_elem(LADING_INT16)), 3);
}
END_TEST

START_TEST(C5) { /* overlapping sources of scatter: neighbours share their border */
  sample *s = s_resized(s_vector(3, 2, 3, s_elem(LADING_INT32)), 0, 4);
  check_ints(s, 2, 12, LIST(0, 1, 3, 4, 6, 7, 1, 2, 4, 5, 7, 8));
  done(s, 4);
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("edge", argc, argv, A1, A2, A3, A4, A5, A6, A7, B1, B2, B3, B4, B5, B6, B7, B8, B9, B10, B11, B12, B13, B14, C1, C2, C3, C4, C5);
}
