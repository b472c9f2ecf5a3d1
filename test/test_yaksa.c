/* yaksa: what callers of yaksa.h rely on. Everything goes through that header and the library that is installed; the judges are
 * the naive typemaps and the scalar ops. */
#include "yaksa_side.h"
#include <pthread.h>
#include <stddef.h>
#include <wchar.h>

#define OK(call) ck_assert_int_eq((call), YAKSA_SUCCESS)

/* ---- numbers: another program was compiled with them ---- */

_Static_assert(YAKSA_TYPE__NULL == 0 && YAKSA_TYPE___BOOL == 1 && YAKSA_TYPE__CHAR == 2 && YAKSA_TYPE__WCHAR_T == 5, "types");
_Static_assert(YAKSA_TYPE__INT8_T == 6 && YAKSA_TYPE__UINT64_T == 13 && YAKSA_TYPE__INT == 14 && YAKSA_TYPE__UNSIGNED_LONG_LONG == 21, "types");
_Static_assert(YAKSA_TYPE__INT_FAST8_T == 22 && YAKSA_TYPE__UINT_LEAST64_T == 37 && YAKSA_TYPE__BYTE == 38, "types");
_Static_assert(YAKSA_TYPE__SIZE_T == 41 && YAKSA_TYPE__PTRDIFF_T == 44 && YAKSA_TYPE__FLOAT == 45 && YAKSA_TYPE__LONG_DOUBLE == 47, "types");
_Static_assert(YAKSA_TYPE__C_COMPLEX == 48 && YAKSA_TYPE__FLOAT_INT == 51 && YAKSA_TYPE__LONG_DOUBLE_INT == 56, "types");
_Static_assert(YAKSA_OP__MAX == 0 && YAKSA_OP__SUM == 2 && YAKSA_OP__LAND == 4 && YAKSA_OP__LXOR == 8 && YAKSA_OP__REPLACE == 10, "ops");
_Static_assert(YAKSA_OP__LAST == 11 && YAKSA_REQUEST__NULL == 0 && YAKSA_SUBARRAY_ORDER__FORTRAN == 1 && YAKSA_ERR__NOT_SUPPORTED == 3, "others");
_Static_assert(YAKSA_NUMVERSION == YAKSA_CALC_VERSION(0, 4, 0, YAKSA_RELEASE_TYPE_PATCH, 0), "version");
_Static_assert(sizeof(yaksa_type_t) == 8 && sizeof(yaksa_op_t) == 8 && sizeof(yaksa_request_t) == 8 && YAKSA_INFO_MAX_KEYLEN == 256, "handles");

typedef struct built_in { yaksa_type_t type; size_t size, extent, segments; } built_in;
#define PLAIN(name, c) { YAKSA_TYPE__##name, sizeof(c), sizeof(c), 1 }
#define PAIR(name, a, b) \
  { YAKSA_TYPE__##name, sizeof(a) + sizeof(b), sizeof(struct { a x; b y; }), offsetof(struct { a x; b y; }, y) == sizeof(a) ? 1 : 2 }
static const built_in built_ins[] = {
  { YAKSA_TYPE__NULL, 0, 0, 1 }, PLAIN(_BOOL, _Bool), PLAIN(CHAR, char), PLAIN(SIGNED_CHAR, char), PLAIN(UNSIGNED_CHAR, char), PLAIN(WCHAR_T, wchar_t),
  PLAIN(INT8_T, int8_t), PLAIN(INT16_T, int16_t), PLAIN(INT32_T, int32_t), PLAIN(INT64_T, int64_t), PLAIN(UINT8_T, int8_t),
  PLAIN(UINT16_T, int16_t), PLAIN(UINT32_T, int32_t), PLAIN(UINT64_T, int64_t), PLAIN(INT, int), PLAIN(UNSIGNED, int), PLAIN(SHORT, short),
  PLAIN(UNSIGNED_SHORT, short), PLAIN(LONG, long), PLAIN(UNSIGNED_LONG, long), PLAIN(LONG_LONG, long long), PLAIN(UNSIGNED_LONG_LONG, long long),
  PLAIN(INT_FAST8_T, int_fast8_t), PLAIN(INT_FAST16_T, int_fast16_t), PLAIN(INT_FAST32_T, int_fast32_t), PLAIN(INT_FAST64_T, int_fast64_t),
  PLAIN(UINT_FAST8_T, uint_fast8_t), PLAIN(UINT_FAST16_T, uint_fast16_t), PLAIN(UINT_FAST32_T, uint_fast32_t), PLAIN(UINT_FAST64_T, uint_fast64_t),
  PLAIN(INT_LEAST8_T, int_least8_t), PLAIN(INT_LEAST16_T, int_least16_t), PLAIN(INT_LEAST32_T, int_least32_t), PLAIN(INT_LEAST64_T, int_least64_t),
  PLAIN(UINT_LEAST8_T, uint_least8_t), PLAIN(UINT_LEAST16_T, uint_least16_t), PLAIN(UINT_LEAST32_T, uint_least32_t),
  PLAIN(UINT_LEAST64_T, uint_least64_t), PLAIN(BYTE, char), PLAIN(INTMAX_T, intmax_t), PLAIN(UINTMAX_T, uintmax_t), PLAIN(SIZE_T, size_t),
  PLAIN(INTPTR_T, intptr_t), PLAIN(UINTPTR_T, uintptr_t), PLAIN(PTRDIFF_T, ptrdiff_t), PLAIN(FLOAT, float), PLAIN(DOUBLE, double),
  PLAIN(LONG_DOUBLE, long double), PLAIN(C_COMPLEX, float _Complex), PLAIN(C_DOUBLE_COMPLEX, double _Complex),
  PLAIN(C_LONG_DOUBLE_COMPLEX, long double _Complex), PAIR(FLOAT_INT, float, int), PAIR(DOUBLE_INT, double, int), PAIR(LONG_INT, long, int),
  PAIR(2INT, int, int), PAIR(SHORT_INT, short, int), PAIR(LONG_DOUBLE_INT, long double, int),
};

static void check_bounds(yaksa_type_t t, int64_t size, int64_t lb, int64_t extent) {
  uintptr_t n;
  intptr_t a, b;
  OK(yaksa_type_get_size(t, &n));
  OK(yaksa_type_get_extent(t, &a, &b));
  ck_assert_int_eq((int64_t)n, size);
  ck_assert_int_eq(a, lb);
  ck_assert_int_eq(b, extent);
}

START_TEST(built_in_types) {
  ck_assert_int_eq(COUNT_OF(built_ins), 57);
  for (int64_t i = 0; i < COUNT_OF(built_ins); i++) {
    const built_in *b = &built_ins[i];
    uintptr_t n;
    intptr_t lb, extent;
    ck_assert_uint_eq(b->type, (uint64_t)i);
    check_bounds(b->type, (int64_t)b->size, 0, (int64_t)b->extent);
    OK(yaksa_type_get_true_extent(b->type, &lb, &extent));
    ck_assert_int_eq(lb, 0);
    ck_assert_int_le(extent, (intptr_t)b->extent);
    OK(yaksa_iov_len(1, b->type, &n));
    ck_assert_uint_eq(n, b->segments);
    OK(yaksa_type_free(b->type)); /* stays */
    check_bounds(b->type, (int64_t)b->size, 0, (int64_t)b->extent);
  }
}
END_TEST

/* What is signed: MIN of -1 and 1. */
START_TEST(signs) {
  for (yaksa_type_t t = YAKSA_TYPE__SIGNED_CHAR; t <= YAKSA_TYPE__PTRDIFF_T; t++) {
    int64_t one = 1, all = -1;
    uintptr_t actual;
    const bool natural = t == YAKSA_TYPE__UNSIGNED_CHAR || (t >= YAKSA_TYPE__UINT8_T && t <= YAKSA_TYPE__UINT64_T) || t == YAKSA_TYPE__UNSIGNED ||
                         t == YAKSA_TYPE__UNSIGNED_SHORT || t == YAKSA_TYPE__UNSIGNED_LONG || t == YAKSA_TYPE__UNSIGNED_LONG_LONG ||
                         (t >= YAKSA_TYPE__UINT_FAST8_T && t <= YAKSA_TYPE__UINT_FAST64_T) || t == YAKSA_TYPE__UINTMAX_T || t == YAKSA_TYPE__SIZE_T ||
                         (t >= YAKSA_TYPE__UINT_LEAST8_T && t <= YAKSA_TYPE__UINT_LEAST64_T) || t == YAKSA_TYPE__UINTPTR_T;
    if (t == YAKSA_TYPE__BYTE) continue;
    OK(yaksa_pack(&all, 1, t, 0, &one, 8, &actual, NULL, YAKSA_OP__MIN));
    ck_assert_uint_eq(actual, built_ins[t].size);
    ck_assert_msg((one == 1) == natural, "type %d", (int)t);
  }
}
END_TEST

/* ---- the library, info, requests ---- */

static void pack_an_int(yaksa_info_t info) {
  const int from = 42;
  int to = 0;
  uintptr_t actual = 0;
  OK(yaksa_pack(&from, 1, YAKSA_TYPE__INT, 0, &to, sizeof to, &actual, info, YAKSA_OP__REPLACE));
  ck_assert(to == 42 && actual == sizeof to);
}

START_TEST(init_in_any_order) {
  pack_an_int(NULL);
  OK(yaksa_finalize());
  for (int i = 0; i < 3; i++) OK(yaksa_init(NULL));
  for (int i = 0; i < 5; i++, pack_an_int(NULL)) OK(yaksa_finalize());
  OK(yaksa_init(NULL));
  pack_an_int(NULL);
}
END_TEST

START_TEST(info_objects) {
  static const char *const keys[] = { "yaksa_gpu_driver", "yaksa_has_wait_kernel", "yaksa_cuda_inbuf_ptr_attr", "yaksa_cuda_outbuf_ptr_attr",
                                      "yaksa_hip_inbuf_ptr_attr", "yaksa_ze_outbuf_ptr_attr", "yaksa_mapped_device", "yaksa_gpu_iov_pack_threshold", "?" };
  yaksa_info_t info = NULL;
  for (int i = 0; i < 1000000; i++) OK(yaksa_info_create(&info)); /* never freed: takes no memory */
  ck_assert_ptr_nonnull(info);
  for (int64_t i = 0; i < COUNT_OF(keys); i++) OK(yaksa_info_keyval_append(info, keys[i], "nogpu", 6));
  OK(yaksa_init(info));
  pack_an_int(info);
  OK(yaksa_info_free(info));
  OK(yaksa_finalize());
}
END_TEST

START_TEST(requests_are_done) {
  const int from[2] = { 5, 6 };
  int to[2] = { 0, 0 }, completed = 0;
  uintptr_t actual = 0;
  yaksa_request_t request = 77;
  OK(yaksa_ipack(from, 2, YAKSA_TYPE__INT, 0, to, sizeof to, &actual, NULL, YAKSA_OP__REPLACE, &request));
  ck_assert(request == YAKSA_REQUEST__NULL && actual == sizeof to && to[1] == 6);
  OK(yaksa_request_test(request, &completed));
  ck_assert_int_eq(completed, 1);
  request = 77;
  OK(yaksa_iunpack(from, sizeof from, to, 2, YAKSA_TYPE__INT, 0, &actual, NULL, YAKSA_OP__SUM, &request));
  ck_assert(request == YAKSA_REQUEST__NULL && actual == sizeof to && to[0] == 10);
  OK(yaksa_request_wait(request));
  ck_assert_int_ne(yaksa_request_wait(77), YAKSA_SUCCESS);
  ck_assert_int_ne(yaksa_request_test(77, &completed), YAKSA_SUCCESS);
}
END_TEST

/* ---- types ---- */

START_TEST(null_type) {
  yaksa_type_t t = 5, u = 5;
  uintptr_t n = 9, bytes = 9;
  struct iovec v = { &t, 9 };
  OK(yaksa_iov_len(2, YAKSA_TYPE__NULL, &n));
  ck_assert_uint_eq(n, 1);
  OK(yaksa_iov_len_max(2, YAKSA_TYPE__NULL, 0, &n, &bytes));
  ck_assert(n == 1 && bytes == 0);
  OK(yaksa_iov((char *)&t, 2, YAKSA_TYPE__NULL, 0, &v, 1, &n));
  ck_assert(n == 1 && v.iov_base == &t && v.iov_len == 0);
  OK(yaksa_pack(NULL, 3, YAKSA_TYPE__NULL, 0, NULL, 8, &n, NULL, YAKSA_OP__SUM));
  ck_assert_uint_eq(n, 0);
  OK(yaksa_type_create_contig(0, YAKSA_TYPE__INT, NULL, &t));
  ck_assert_uint_eq(t, YAKSA_TYPE__NULL);
  OK(yaksa_type_create_vector(3, 2, 4, YAKSA_TYPE__NULL, NULL, &t));
  ck_assert_uint_eq(t, YAKSA_TYPE__NULL);
  OK(yaksa_type_create_hindexed(0, NULL, NULL, YAKSA_TYPE__INT, NULL, &t));
  ck_assert_uint_eq(t, YAKSA_TYPE__NULL);
  OK(yaksa_type_create_indexed_block(0, 5, NULL, YAKSA_TYPE__INT, NULL, &t));
  ck_assert_uint_eq(t, YAKSA_TYPE__NULL);
  OK(yaksa_type_create_struct(0, NULL, NULL, NULL, NULL, &t));
  ck_assert_uint_eq(t, YAKSA_TYPE__NULL);
  OK(yaksa_type_create_resized(YAKSA_TYPE__NULL, -3, 10, NULL, &t));
  check_bounds(t, 0, -3, 10);
  OK(yaksa_type_create_struct(3, LIST(1, 2, 1), LIST(4, 8, 0), (const yaksa_type_t[]){ t, YAKSA_TYPE__NULL, YAKSA_TYPE__INT }, NULL, &u));
  check_bounds(u, 4, 1, 10);
  OK(yaksa_type_free(t));
  OK(yaksa_type_free(u));
  OK(yaksa_type_free(YAKSA_TYPE__NULL));
}
END_TEST

#define CHECK_STRUCT(fields, n, bl, at, ...) do { \
    typedef struct s fields s; \
    yaksa_type_t t; \
    OK(yaksa_type_create_struct(n, bl, at, (const yaksa_type_t[]){ __VA_ARGS__ }, NULL, &t)); \
    intptr_t lb, extent; \
    OK(yaksa_type_get_extent(t, &lb, &extent)); \
    ck_assert(lb == 0 && extent == sizeof(s)); \
    OK(yaksa_type_free(t)); \
  } while (0)

START_TEST(structs_are_padded) {
  CHECK_STRUCT({ double a; char b; }, 2, LIST(1, 1), LIST(0, offsetof(s, b)), YAKSA_TYPE__DOUBLE, YAKSA_TYPE__CHAR);
  CHECK_STRUCT({ char a; int b; char c; }, 3, LIST(1, 1, 1), LIST(0, offsetof(s, b), offsetof(s, c)), YAKSA_TYPE__CHAR, YAKSA_TYPE__INT,
               YAKSA_TYPE__SIGNED_CHAR);
  CHECK_STRUCT({ long double a; short b[3]; }, 2, LIST(1, 3), LIST(0, offsetof(s, b)), YAKSA_TYPE__LONG_DOUBLE, YAKSA_TYPE__SHORT);
  CHECK_STRUCT({ struct { short a; int b; } p; char c; }, 2, LIST(1, 1), LIST(0, offsetof(s, c)), YAKSA_TYPE__SHORT_INT, YAKSA_TYPE__BYTE);
}
END_TEST

/* Of one type: an index type, as it ends. */
START_TEST(structs_of_one_type_are_not_padded) {
  const yaksa_type_t two[] = { YAKSA_TYPE__DOUBLE, YAKSA_TYPE__DOUBLE }, mixed[] = { YAKSA_TYPE__DOUBLE, YAKSA_TYPE__BYTE };
  yaksa_type_t t;
  OK(yaksa_type_create_struct(2, LIST(1, 1), LIST(0, 9), two, NULL, &t));
  check_bounds(t, 16, 0, 17);
  OK(yaksa_type_free(t));
  OK(yaksa_type_create_struct(1, LIST(1), LIST(1), two, NULL, &t));
  check_bounds(t, 8, 1, 8);
  OK(yaksa_type_free(t));
  OK(yaksa_type_create_struct(2, LIST(1, 1), LIST(0, 9), mixed, NULL, &t));
  check_bounds(t, 9, 0, 16);
  OK(yaksa_type_free(t));
}
END_TEST

/* More members than fit on the stack. */
START_TEST(long_struct) {
  enum { N = 100 };
  intptr_t bl[N], at[N];
  yaksa_type_t olds[N], t;
  for (int i = 0; i < N; i++) bl[i] = 1, at[i] = 16 * i, olds[i] = i % 2 ? YAKSA_TYPE__DOUBLE : YAKSA_TYPE__INT;
  OK(yaksa_type_create_struct(N, bl, at, olds, NULL, &t));
  check_bounds(t, 12 * N / 2, 0, 16 * (N - 1) + 8);
  OK(yaksa_type_free(t));
}
END_TEST

START_TEST(dup_and_free) {
  yaksa_type_t t, u, v;
  OK(yaksa_type_create_vector(4, 1, 2, YAKSA_TYPE__INT, NULL, &t));
  OK(yaksa_type_create_dup(t, NULL, &u));
  OK(yaksa_type_free(t));
  OK(yaksa_type_create_contig(2, u, NULL, &v));
  OK(yaksa_type_free(u));
  check_bounds(v, 32, 0, 56);
  OK(yaksa_type_free(v));
  OK(yaksa_type_create_dup(YAKSA_TYPE__FLOAT, NULL, &t));
  check_bounds(t, 4, 0, 4);
  OK(yaksa_type_free(t));
}
END_TEST

START_TEST(bounds_of_random_types) {
  rng r = rng_of(1);
  for (int i = 0; i < 3000; i++) {
    sample *s = random_yaksa(&r, 4, 2000);
    stream *x = stream_of(s->map, 1);
    const yaksa_type_t t = yaksa_of(s);
    intptr_t lb, extent;
    check_bounds(t, x->n, s->map->lb, map_extent(s->map));
    OK(yaksa_type_get_true_extent(t, &lb, &extent));
    ck_assert(lb == x->lo && extent == x->hi - x->lo);
    OK(yaksa_type_free(t));
    stream_free(x);
    sample_free(s);
  }
}
END_TEST

START_TEST(wrong_arguments) {
  const yaksa_type_t none = YAKSA_TYPE__LONG_DOUBLE_INT + 1;
  yaksa_type_t t = 99;
  uintptr_t n = 99;
  intptr_t lb = 99;
  struct iovec v;
  char b[8] = { 0 };
  ck_assert_int_ne(yaksa_type_create_contig(-1, YAKSA_TYPE__INT, NULL, &t), YAKSA_SUCCESS);
  ck_assert_int_ne(yaksa_type_create_contig(1, none, NULL, &t), YAKSA_SUCCESS);
  ck_assert_int_ne(yaksa_type_create_contig(INTPTR_MAX, YAKSA_TYPE__INT, NULL, &t), YAKSA_SUCCESS);
  ck_assert_int_ne(yaksa_type_create_struct(-1, NULL, NULL, NULL, NULL, &t), YAKSA_SUCCESS);
  ck_assert_int_ne(yaksa_type_create_struct(INTPTR_MAX, NULL, NULL, &t, NULL, &t), YAKSA_SUCCESS);
  ck_assert_int_ne(yaksa_type_create_contig(1, YAKSA_TYPE__INT, NULL, NULL), YAKSA_SUCCESS);
  ck_assert_int_ne(yaksa_type_create_dup(none, NULL, &t), YAKSA_SUCCESS);
  ck_assert_int_ne(yaksa_type_free(none), YAKSA_SUCCESS);
  ck_assert_int_ne(yaksa_type_get_size(none, &n), YAKSA_SUCCESS);
  ck_assert_int_ne(yaksa_type_get_extent(none, &lb, &lb), YAKSA_SUCCESS);
  ck_assert_int_ne(yaksa_type_get_true_extent(none, &lb, &lb), YAKSA_SUCCESS);
  ck_assert_int_ne(yaksa_iov_len(1, none, &n), YAKSA_SUCCESS);
  ck_assert_int_ne(yaksa_iov_len(UINTPTR_MAX, YAKSA_TYPE__SHORT_INT, &n), YAKSA_SUCCESS);
  ck_assert_int_ne(yaksa_iov_len_max(1, none, 1, &n, &n), YAKSA_SUCCESS);
  ck_assert_int_ne(yaksa_iov(b, 1, none, 0, &v, 1, &n), YAKSA_SUCCESS);
  ck_assert_int_ne(yaksa_flatten_size(none, &n), YAKSA_SUCCESS);
  ck_assert_int_ne(yaksa_flatten(none, b), YAKSA_SUCCESS);
  ck_assert_int_ne(yaksa_unflatten(&t, "\5\0\0\0hello"), YAKSA_SUCCESS);
  ck_assert(t == 99 && n == 99 && lb == 99);
  ck_assert_int_ne(yaksa_pack(b, 1, none, 0, b, 1, &n, NULL, YAKSA_OP__REPLACE), YAKSA_SUCCESS);
  ck_assert_int_ne(yaksa_pack(b, UINTPTR_MAX, YAKSA_TYPE__CHAR, 0, b, 1, &n, NULL, YAKSA_OP__REPLACE), YAKSA_SUCCESS);
  ck_assert_int_ne(yaksa_pack(b, UINTPTR_MAX / 4, YAKSA_TYPE__INT, 0, b, 1, &n, NULL, YAKSA_OP__REPLACE), YAKSA_SUCCESS);
  ck_assert_int_ne(yaksa_pack(b, 1, YAKSA_TYPE__INT, 0, b + 4, 4, NULL, NULL, YAKSA_OP__REPLACE), YAKSA_SUCCESS);
  ck_assert_int_ne(yaksa_ipack(b, 1, YAKSA_TYPE__INT, 0, b + 4, 4, &n, NULL, YAKSA_OP__REPLACE, NULL), YAKSA_SUCCESS);
  ck_assert_int_eq(yaksa_pack(b, 1, YAKSA_TYPE__INT, 0, b + 4, 4, &n, NULL, YAKSA_OP__LAST), YAKSA_ERR__NOT_SUPPORTED);
}
END_TEST

/* ---- moving ---- */

typedef int pack_call(const void *, uintptr_t, yaksa_type_t, uintptr_t, void *, uintptr_t, uintptr_t *, yaksa_op_t);
typedef int unpack_call(const void *, uintptr_t, void *, uintptr_t, yaksa_type_t, uintptr_t, uintptr_t *, yaksa_op_t);

#define PACK_ARGS const void *in, uintptr_t n, yaksa_type_t t, uintptr_t at, void *out, uintptr_t max, uintptr_t *actual, yaksa_op_t op
#define UNPACK_ARGS const void *in, uintptr_t size, void *out, uintptr_t n, yaksa_type_t t, uintptr_t at, uintptr_t *actual, yaksa_op_t op
static yaksa_request_t no_request = YAKSA_REQUEST__NULL;
static int pack_now(PACK_ARGS) { return yaksa_pack(in, n, t, at, out, max, actual, NULL, op); }
static int pack_later(PACK_ARGS) { return yaksa_ipack(in, n, t, at, out, max, actual, NULL, op, &(yaksa_request_t){ 0 }); }
static int pack_queued(PACK_ARGS) { return yaksa_pack_stream(in, n, t, at, out, max, actual, NULL, op, &no_request); }
static int unpack_now(UNPACK_ARGS) { return yaksa_unpack(in, size, out, n, t, at, actual, NULL, op); }
static int unpack_later(UNPACK_ARGS) { return yaksa_iunpack(in, size, out, n, t, at, actual, NULL, op, &(yaksa_request_t){ 0 }); }
static int unpack_queued(UNPACK_ARGS) { return yaksa_unpack_stream(in, size, out, n, t, at, actual, NULL, op, &no_request); }
static pack_call *const packs[] = { pack_now, pack_later, pack_queued };
static unpack_call *const unpacks[] = { unpack_now, unpack_later, unpack_queued };

static buffer packed_values(const side *s, rng *r) {
  buffer b = buffer_new(s->pos[s->n]);
  for (int64_t i = 0; i < s->n; i++) some_element(r, s->kind[i], b.data + s->pos[i]);
  return b;
}

static void check_pack(side *s, yaksa_type_t t, int op, int64_t offset, int64_t max, rng *r) {
  buffer got = packed_values(s, r), want = copy_of(&got), mem = copy_of(&s->b);
  int64_t i, j;
  uintptr_t actual = 99;
  char e[32];
  moved_elements(s, offset, max, &i, &j);
  for (int64_t k = i; k < j; k++) get_element(s, k, e), op_element(op, s->kind[k], e, want.data + s->pos[k]);
  OK(packs[rng_in(r, 0, 2)](base_of(s), (uintptr_t)s->count, t, (uintptr_t)offset, at_offset(got.data, offset), (uintptr_t)max, &actual,
                            (yaksa_op_t)op));
  ck_assert_uint_eq(actual, (uintptr_t)(s->pos[j] - s->pos[i]));
  same_bytes(op_name[op], &want, &got, s, s->pos[i], s->pos[j]);
  same_bytes("the source of pack", &mem, &s->b, s, s->pos[i], s->pos[j]);
  buffer_free(&want);
  buffer_free(&got);
  buffer_free(&mem);
}

static void check_unpack(side *s, yaksa_type_t t, int op, int64_t offset, int64_t max, rng *r) {
  buffer packed = packed_values(s, r), before = copy_of(&s->b), want;
  int64_t i, j;
  uintptr_t actual = 99;
  char e[32];
  moved_elements(s, offset, max, &i, &j);
  for (int64_t k = i; k < j; k++) get_element(s, k, e), op_element(op, s->kind[k], packed.data + s->pos[k], e), put_element(s, k, e);
  want = copy_of(&s->b);
  memcpy(s->b.data, before.data, (size_t)before.n);
  OK(unpacks[rng_in(r, 0, 2)](at_offset(packed.data, offset), (uintptr_t)max, base_of(s), (uintptr_t)s->count, t, (uintptr_t)offset, &actual,
                              (yaksa_op_t)op));
  ck_assert_uint_eq(actual, (uintptr_t)(s->pos[j] - s->pos[i]));
  same_bytes(op_name[op], &want, &s->b, s, s->pos[i], s->pos[j]);
  buffer_free(&want);
  buffer_free(&before);
  buffer_free(&packed);
}

/* Whole, cut anywhere, and beyond the end. */
static void check_moves_of(side *s, yaksa_type_t t, int op, rng *r) {
  const int64_t total = s->pos[s->n];
  check_pack(s, t, op, 0, total, r);
  check_unpack(s, t, op, 0, total, r);
  for (int k = 0; k < 4; k++) {
    const int64_t offset = k < 2 ? s->pos[rng_in(r, 0, s->n)] : rng_in(r, 0, total + 2), max = rng_in(r, 0, 3) ? rng_in(r, 0, total + 9) : INT64_MAX;
    check_pack(s, t, op, offset, max, r);
    check_unpack(s, t, op, offset, max, r);
  }
}

START_TEST(moves_of_random_types) {
  rng r = rng_of(2);
  random_kinds = ALL_KINDS;
  for (int i = 0; i < 1500; i++) {
    sample *s = random_yaksa(&r, 4, 400);
    side d = side_of(s, rng_in(&r, 0, 4), &r);
    const yaksa_type_t t = yaksa_of(s);
    check_moves_of(&d, t, YAKSA_OP__REPLACE, &r);
    OK(yaksa_type_free(t));
    side_free(&d);
    sample_free(s);
  }
}
END_TEST

START_TEST(absolute_addresses) {
  static struct { int a[4]; char between[8]; double b; } there = { { 1, 2, 3, 4 }, "", 5 };
  int *const a = there.a;
  char packed[sizeof there.a + sizeof there.b], *at = packed;
  uintptr_t actual;
  yaksa_type_t t;
  struct iovec v[2];
  OK(yaksa_type_create_struct(2, LIST(4, 1), LIST((intptr_t)a, (intptr_t)&there.b), (const yaksa_type_t[]){ YAKSA_TYPE__INT, YAKSA_TYPE__DOUBLE }, NULL, &t));
  OK(yaksa_pack(NULL, 1, t, 0, at, 10, &actual, NULL, YAKSA_OP__REPLACE));
  ck_assert_uint_eq(actual, 8);
  OK(yaksa_pack(NULL, 1, t, 8, at + 8, sizeof packed - 8, &actual, NULL, YAKSA_OP__REPLACE));
  ck_assert(actual == 16 && memcmp(at, a, sizeof there.a) == 0 && memcmp(at + sizeof there.a, &there.b, sizeof there.b) == 0);
  OK(yaksa_unpack(at, sizeof packed, NULL, 1, t, 0, &actual, NULL, YAKSA_OP__SUM));
  ck_assert(actual == sizeof packed && a[3] == 8 && there.b == 10);
  OK(yaksa_iov(NULL, 1, t, 0, v, 2, &actual));
  ck_assert(actual == 2 && v[0].iov_base == a && v[1].iov_base == &there.b);
  OK(yaksa_type_free(t));
}
END_TEST

/* Unsupported: an error, and nothing is written. */
static void check_refused(side *s, yaksa_type_t t, int op, rng *r) {
  buffer packed = packed_values(s, r), was = copy_of(&packed), mem = copy_of(&s->b);
  const uintptr_t n = (uintptr_t)s->count, total = (uintptr_t)packed.n;
  uintptr_t actual = 99;
  ck_assert_int_eq(yaksa_pack(base_of(s), n, t, 0, packed.data, total, &actual, NULL, (yaksa_op_t)op), YAKSA_ERR__NOT_SUPPORTED);
  ck_assert_uint_eq(actual, 0);
  ck_assert_int_eq(yaksa_unpack(packed.data, total, base_of(s), n, t, 0, &actual, NULL, (yaksa_op_t)op), YAKSA_ERR__NOT_SUPPORTED);
  ck_assert_uint_eq(actual, 0);
  same_bytes("nothing", &was, &packed, s, 0, 0);
  same_bytes("nothing", &mem, &s->b, s, 0, 0);
  buffer_free(&packed);
  buffer_free(&was);
  buffer_free(&mem);
}

/* Where floats overlap, NaNs may come, and their bits are nobody's promise. */
static bool any_nan(const side *s) {
  int64_t at[2], len[2];
  int kinds[2];
  bool floats = false;
  for (int64_t k = 0; k < s->n; k++) elem_pieces(s->kind[k], at, len, kinds), floats |= kinds[0] >= LADING_FLOAT16;
  return floats && s->x->overlaps;
}

/* The judge goes by MPI, which has no ops on plain chars. */
static bool any_char(const side *s) {
  for (int64_t k = 0; k < s->n; k++)
    if (s->kind[k] == LADING_CHAR) return true;
  return false;
}

/* Callers of Yaksa take plain chars for small integers. */
START_TEST(plain_chars_are_integers) {
  char mem[3] = { 1, -2, 3 }, packed[3] = { 10, 20, -30 };
  uintptr_t actual;
  OK(yaksa_unpack(packed, 3, mem, 3, YAKSA_TYPE__CHAR, 0, &actual, NULL, YAKSA_OP__SUM));
  ck_assert(actual == 3 && mem[0] == 11 && mem[1] == 18 && mem[2] == (char)-27);
}
END_TEST

static void check_ops(const sample *s, int64_t count, rng *r) {
  side d = side_of(s, count, r);
  const yaksa_type_t t = yaksa_of(s);
  for (int op = 0; op < (int)YAKSA_OP__LAST; op++) {
    if (op != YAKSA_OP__REPLACE && any_char(&d)) continue;
    side_fill(&d, r);
    if (!op_defined_all(op, &d)) check_refused(&d, t, op, r);
    else if (op == YAKSA_OP__REPLACE || !any_nan(&d)) check_moves_of(&d, t, op, r);
  }
  OK(yaksa_type_free(t));
  side_free(&d);
}

START_TEST(ops_of_every_element) {
  rng r = rng_of(3);
  for (int kind = 0; kind < KINDS; kind++)
    for (int which = 0; which < SHAPES && (ALL_KINDS >> kind & 1); which++) {
      sample *s = shape(which, kind);
      check_ops(s, 1, &r);
      check_ops(s, 3, &r);
      sample_free(s);
    }
}
END_TEST

/* Of several kinds that have ops in common; and of anything. */
START_TEST(ops_of_random_types) {
  static const uint32_t mixes[] = { ALL_KINDS, 1 << LADING_INT8 | 1 << LADING_2INT | 1 << LADING_UINT16 | 1 << LADING_SHORT_INT,
                                    1 << LADING_FLOAT | 1 << LADING_DOUBLE_INT | 1 << LADING_LONG_DOUBLE_INT | 1 << LADING_UINT64,
                                    1 << LADING_C_DOUBLE | 1 << LADING_LONG_INT | 1 << LADING_FLOAT_INT };
  rng r = rng_of(4);
  for (int i = 0; i < 400; i++) {
    random_kinds = mixes[i % COUNT_OF(mixes)];
    sample *s = random_yaksa(&r, 4, 300);
    check_ops(s, rng_in(&r, 0, 3), &r);
    sample_free(s);
  }
  random_kinds = ALL_KINDS;
}
END_TEST

int main(int argc, char **argv) {
  random_alike_fields = false; /* Yaksa makes index types of such structs, which are not padded */
  return CHECK_MAIN("yaksa", argc, argv, built_in_types, signs, init_in_any_order, info_objects, requests_are_done, null_type, plain_chars_are_integers, structs_are_padded, structs_of_one_type_are_not_padded,
                    long_struct, dup_and_free, bounds_of_random_types, wrong_arguments, moves_of_random_types, absolute_addresses,
                    ops_of_every_element, ops_of_random_types);
}
