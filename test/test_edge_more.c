/* edge: groups D to I of shared/edge-cases.md, as far as they concern the host, one test each, named after the item. */
#include "random_types.h"
#include <inttypes.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GIB (INT64_C(1) << 30)

static void done(sample *s, int64_t counts) {
  for (int64_t count = 0; count <= counts; count++) check_all(s, count);
  sample_free(s);
}

static const lading_type *elem(int k) { return lading_elem_type((lading_elem)k); }

/* Moves stream bytes [at, at + n) of a type whose bytes there lie at off, off+1 ...: only those n bytes exist in memory. */
static void check_window(const lading_type *t, int64_t count, int64_t at, int64_t n, int64_t off) {
  buffer mem = buffer_new(n), packed = buffer_new(n);
  char *base = at_offset(mem.data, -off);
  buffer_fill(&mem, 77);
  ck_assert_int_eq(lading_pack(t, count, base, packed.data, at, at + n), LADING_OK);
  ck_assert_mem_eq(packed.data, mem.data, (size_t)n);
  memset(mem.data, 0, (size_t)n);
  ck_assert_int_eq(lading_unpack(t, count, base, packed.data, at, at + n), LADING_OK);
  ck_assert_mem_eq(packed.data, mem.data, (size_t)n);
  ck_assert(buffer_guards(&mem) && buffer_guards(&packed));
  buffer_free(&mem);
  buffer_free(&packed);
}

/* ---- D. big numbers ---- */

START_TEST(D1) { /* 2^31 - 1 bytes and one more: the size is 2^31 */
  lading_type *big, *s;
  ck_assert_int_eq(lading_type_contiguous(INT32_MAX, elem(LADING_BYTE), &big), LADING_OK);
  const lading_type *const olds[] = { big, elem(LADING_BYTE) };
  ck_assert_int_eq(lading_type_struct(2, LIST(1, 1), LIST(0, INT32_MAX), olds, &s), LADING_OK);
  ck_assert_int_eq(info_of(s).size, INT64_C(1) << 31);
  ck_assert_int_eq(info_of(s).blocks, 1);
  check_window(s, 1, INT32_MAX - 50, 51, INT32_MAX - 50);
  lading_type_free(big);
  lading_type_free(s);
}
END_TEST

START_TEST(D2) { /* vector(n, INT_MAX, INT_MAX): products in 64 bits, data beyond 6 GB */
  lading_type *t;
  ck_assert_int_eq(lading_type_vector(4, INT32_MAX, INT32_MAX, elem(LADING_INT32), &t), LADING_OK);
  ck_assert_int_eq(info_of(t).size, 16 * (int64_t)INT32_MAX);
  ck_assert_int_eq(info_of(t).extent, 16 * (int64_t)INT32_MAX);
  check_window(t, 1, 7 * GIB - 9, 1000, 7 * GIB - 9);
  lading_type_free(t);
  ck_assert_int_eq(lading_type_vector(4, INT32_MAX, INT64_C(1) + INT32_MAX, elem(LADING_INT32), &t), LADING_OK);
  check_window(t, 1, 12 * (int64_t)INT32_MAX + 5, 1000, 12 * (INT64_C(1) + INT32_MAX) + 5);
  lading_type_free(t);
}
END_TEST

START_TEST(D3) { /* an indexed type over 80 MB items that spans 64 GB */
  lading_type *item, *t;
  ck_assert_int_eq(lading_type_contiguous(20000000, elem(LADING_FLOAT), &item), LADING_OK);
  ck_assert_int_eq(lading_type_indexed(3, LIST(1, 1, 1), LIST(0, 192, 3 * 192 + 224), item, &t), LADING_OK);
  ck_assert_int_eq(info_of(t).true_extent, INT64_C(801) * 80000000);
  check_window(t, 1, 80000000 + 3, 500, INT64_C(192) * 80000000 + 3);
  check_window(t, 2, 5 * INT64_C(80000000) + 3, 500, INT64_C(1601) * 80000000 + 3);
  lading_type_free(item);
  lading_type_free(t);
}
END_TEST

START_TEST(D4) { /* overflowing products are errors at creation; the 32-bit one of the report is fine here */
  lading_type *t = NULL, *huge;
  ck_assert_int_eq(lading_type_hvector(6553, 1, 819208, elem(LADING_INT32), &t), LADING_OK);
  ck_assert_int_eq(info_of(t).extent, INT64_C(6552) * 819208 + 4);
  lading_type_free(t);
  t = NULL;
  ck_assert_int_eq(lading_type_contiguous(INT64_MAX, elem(LADING_INT16), &t), LADING_ERR_OVERFLOW);
  ck_assert_int_eq(lading_type_hvector(3, 1, INT64_MAX / 2 + 1, elem(LADING_BYTE), &t), LADING_ERR_OVERFLOW);
  ck_assert_int_eq(lading_type_hvector(3, 1, INT64_MIN / 2 - 1, elem(LADING_BYTE), &t), LADING_ERR_OVERFLOW);
  ck_assert_int_eq(lading_type_vector(2, 1, INT64_MAX / 4, elem(LADING_DOUBLE), &t), LADING_ERR_OVERFLOW);
  ck_assert_int_eq(lading_type_vector(INT64_C(1) << 40, INT64_C(1) << 40, 1, elem(LADING_BYTE), &t), LADING_ERR_OVERFLOW);
  ck_assert_int_eq(lading_type_indexed(1, LIST(1), LIST(INT64_MAX / 2), elem(LADING_INT32), &t), LADING_ERR_OVERFLOW);
  ck_assert_int_eq(lading_type_hindexed(2, LIST(1, 1), LIST(INT64_MIN, INT64_MAX - 8), elem(LADING_INT32), &t), LADING_ERR_OVERFLOW);
  ck_assert_int_eq(lading_type_subarray(3, LIST(1 << 30, 1 << 30, 1 << 30), LIST(1, 1, 1), LIST(0, 0, 0), LADING_ORDER_C, elem(LADING_BYTE), &t), LADING_ERR_OVERFLOW);
  ck_assert_int_eq(lading_type_resized(elem(LADING_INT32), INT64_MAX, 1, &t), LADING_ERR_OVERFLOW);
  ck_assert_ptr_null(t);
  ck_assert_int_eq(lading_type_contiguous(INT64_MAX / 2, elem(LADING_BYTE), &huge), LADING_OK);
  ck_assert_int_eq(lading_type_contiguous(3, huge, &t), LADING_ERR_OVERFLOW);
  int64_t n = 4711;
  ck_assert_int_eq(lading_segments_count(huge, 3, &n), LADING_ERR_OVERFLOW);
  ck_assert_int_eq(lading_pack(huge, 3, NULL, NULL, 0, 0), LADING_ERR_OVERFLOW);
  ck_assert_int_eq(n, 4711);
  lading_type_free(huge);
}
END_TEST

START_TEST(D5) { /* 64-bit numbers survive print and read */
  lading_type *t;
  ck_assert_int_eq(lading_type_hindexed(2, LIST(1, 1), LIST(-(INT64_C(1) << 61), INT64_C(1) << 61), elem(LADING_DOUBLE), &t), LADING_OK);
  char *text = text_of(t);
  lading_type *u = parsed(text);
  ck_assert(same_id(id_of(t, 1), id_of(u, 1)));
  ck_assert_int_eq(info_of(u).true_lb, -(INT64_C(1) << 61));
  free(text);
  lading_type_free(t);
  lading_type_free(u);
}
END_TEST

START_TEST(D6) { /* single segments > 2 GiB, more than 2^32 segments */
  lading_type *t;
  struct iovec v[2];
  int64_t n, got;
  ck_assert_int_eq(lading_type_vector(3, 5 * GIB, 6 * GIB, elem(LADING_BYTE), &t), LADING_OK);
  ck_assert_int_eq(lading_iov(t, 1, NULL, 1, v, 2, &got), LADING_OK);
  ck_assert(got == 2 && (int64_t)v[0].iov_len == 5 * GIB && (int64_t)(uintptr_t)v[1].iov_base == 12 * GIB);
  lading_type_free(t);
  ck_assert_int_eq(lading_type_vector(8 * GIB, 1, 2, elem(LADING_BYTE), &t), LADING_OK);
  ck_assert_int_eq(lading_segments_count(t, 1, &n), LADING_OK);
  ck_assert_int_eq(n, 8 * GIB);
  ck_assert_int_eq(lading_iov(t, 1, NULL, 5 * GIB, v, 2, &got), LADING_OK);
  ck_assert(got == 2 && (int64_t)(uintptr_t)v[0].iov_base == 10 * GIB && v[0].iov_len == 1);
  lading_type_free(t);
}
END_TEST

START_TEST(D7) { /* displacements that are absolute addresses, base NULL */
  int a[4] = { 1, 2, 3, 4 }, packed[4];
  double *b = malloc(sizeof *b);
  *b = 2.5;
  lading_type *t;
  const lading_type *const olds[] = { elem(LADING_INT32), elem(LADING_DOUBLE) };
  ck_assert_int_eq(lading_type_struct(2, LIST(2, 1), LIST((int64_t)(uintptr_t)(a + 1), (int64_t)(uintptr_t)b), olds, &t), LADING_OK);
  ck_assert_int_eq(lading_pack(t, 1, NULL, packed, 0, 16), LADING_OK);
  ck_assert(packed[0] == 2 && packed[1] == 3 && memcmp(packed + 2, b, 8) == 0);
  packed[0] = 9;
  *b = 0;
  ck_assert_int_eq(lading_unpack(t, 1, NULL, packed, 0, 16), LADING_OK);
  ck_assert(a[0] == 1 && a[1] == 9 && a[3] == 4 && *b == 2.5);
  lading_type_free(t);
  free(b);
}
END_TEST

/* ---- E. partial and out of order ---- */

/* Packs and unpacks in fragments of `step` bytes, from the front or from the back. */
static void in_fragments(const sample *s, int64_t count, int64_t step, bool backwards) {
  stream *x = stream_of(s->map, count);
  buffer mem = buffer_new(x->hi - x->lo), wire = buffer_new(x->n), copy = buffer_new(x->hi - x->lo);
  int64_t n = (x->n + step - 1) / step;
  buffer_fill(&mem, 3);
  buffer_fill(&copy, 4);
  for (int64_t k = 0; k < n; k++) {
    int64_t lo = (backwards ? n - 1 - k : k) * step, hi = lo + step < x->n ? lo + step : x->n;
    ck_assert_int_eq(lading_pack(s->type, count, at_offset(mem.data, -x->lo), wire.data + lo, lo, hi), LADING_OK);
    ck_assert_int_eq(lading_unpack(s->type, count, at_offset(copy.data, -x->lo), wire.data + lo, lo, hi), LADING_OK);
  }
  for (int64_t k = 0; k < x->n; k++) {
    ck_assert_int_eq(wire.data[k], mem.data[x->at[k] - x->lo]);
    ck_assert_int_eq(copy.data[x->at[k] - x->lo], wire.data[k]);
  }
  ck_assert(buffer_guards(&mem) && buffer_guards(&wire) && buffer_guards(&copy));
  buffer_free(&mem);
  buffer_free(&wire);
  buffer_free(&copy);
  stream_free(x);
}

static sample *ragged(void) { /* mixed blocks with gaps, nothing aligned to anything */
  return S_STRUCT(3, LIST(1, 2, 1), LIST(0, 30, 131), s_vector(5, 1, 2, s_elem(LADING_INT16)), s_hvector(4, 1, 13, s_contiguous(7, s_elem(LADING_BYTE))),
                  s_elem(LADING_LONG_DOUBLE_INT));
}

START_TEST(E1) { /* fragments of 8252 bytes and others, mid-element and mid-block */
  sample *s = ragged(), *v = s_vector(4000, 3, 5, s_elem(LADING_DOUBLE));
  const int64_t steps[] = { 8252, 1, 3, 7, 64, 100, 4093 };
  for (int64_t i = 0; i < COUNT_OF(steps); i++) {
    in_fragments(s, 500, steps[i], false);
    in_fragments(v, 1, steps[i], false);
  }
  sample_free(s);
  sample_free(v);
}
END_TEST

START_TEST(E2) { /* fragments smaller than one element make progress */
  sample *s = s_vector(9, 1, 2, s_elem(LADING_C_LONG_DOUBLE));
  in_fragments(s, 3, 1, false);
  in_fragments(s, 3, 1, true);
  sample_free(s);
}
END_TEST

START_TEST(E3) { /* any byte range is honoured exactly */
  rng r = rng_of(3);
  sample *s = ragged();
  check_moves(s, 4, &r);
  check_strategies(s, 4, &r);
  sample_free(s);
}
END_TEST

START_TEST(E4) { /* fragments from the back to the front */
  sample *s = ragged();
  for (int64_t step = 1; step < 300; step += 13) in_fragments(s, 100, step, true);
  sample_free(s);
}
END_TEST

START_TEST(E5) { /* unpack is bounded by the bytes supplied, not by count */
  int mem[8] = { 0 }, packed[3] = { 7, 8, 9 };
  sample *s = s_vector(2, 1, 2, s_elem(LADING_INT32));
  ck_assert_int_eq(lading_unpack(s->type, 1000000, mem, packed, 0, 12), LADING_OK);
  ck_assert(mem[0] == 7 && mem[2] == 8 && mem[3] == 9 && mem[1] == 0 && mem[4] == 0 && mem[5] == 0);
  sample_free(s);
}
END_TEST

START_TEST(E7) { /* count > 1 with offsets inside later items */
  sample *s = s_resized(ragged(), -3, 170);
  rng r = rng_of(7);
  for (int64_t count = 1; count < 8; count++) check_moves(s, count, &r);
  in_fragments(s, 1000, 777, true);
  sample_free(s);
}
END_TEST

/* ---- G. basic types ---- */

START_TEST(G1) { /* pairs have holes: size != extent, and no segment covers one */
  const int kinds[] = { LADING_SHORT_INT, LADING_DOUBLE_INT, LADING_LONG_INT, LADING_LONG_DOUBLE_INT };
  for (int64_t i = 0; i < COUNT_OF(kinds); i++) {
    lading_info f = info_of(elem(kinds[i]));
    ck_assert_int_ne(f.size, f.extent);
    ck_assert(!f.contiguous && f.elements == 1 && f.elem == kinds[i]);
    done(s_elem(kinds[i]), 4);
    done(s_vector(3, 2, 3, s_elem(kinds[i])), 2);
  }
  ck_assert_int_eq(info_of(elem(LADING_SHORT_INT)).blocks, 2);
  ck_assert(info_of(elem(LADING_FLOAT_INT)).contiguous && info_of(elem(LADING_2INT)).contiguous);
}
END_TEST

START_TEST(G6) { /* an unknown basic type is an error at creation; the 16-bit floats are known */
  lading_type *t = NULL;
  ck_assert_ptr_null(elem(LADING_ELEM_MAX));
  ck_assert_ptr_null(elem(-1));
  ck_assert_int_eq(lading_type_contiguous(2, elem(LADING_ELEM_MAX), &t), LADING_ERR_ARG);
  ck_assert_int_eq(lading_type_parse("contiguous(2,quad)", &t), LADING_ERR_FORMAT);
  ck_assert_ptr_null(t);
  done(s_contiguous(3, s_elem(LADING_FLOAT16)), 2);
  done(s_contiguous(3, s_elem(LADING_BFLOAT16)), 2);
}
END_TEST

START_TEST(G7) { /* darray BLOCK inside CYCLIC, 6 x 4 on a 2 x 2 grid: each dimension is resized before the next */
  const lading_distrib dist[] = { LADING_DISTRIB_BLOCK, LADING_DISTRIB_CYCLIC };
  bool seen[24] = { false };
  for (int64_t rank = 0; rank < 4; rank++) {
    sample *s = s_darray(4, rank, 2, LIST(6, 4), dist, LIST(LADING_DARG_DEFAULT, LADING_DARG_DEFAULT), LIST(2, 2), LADING_ORDER_FORTRAN, s_elem(LADING_INT32));
    stream *x = stream_of(s->map, 1);
    ck_assert_int_eq(info_of(s->type).size, 24);
    ck_assert_int_eq(info_of(s->type).extent, 96);
    for (int64_t k = 0; k < x->n; k += 4) { /* column-major: rows 3*(rank/2).., columns rank%2 and rank%2+2 */
      int64_t e = x->at[k] / 4;
      ck_assert(e % 6 / 3 == rank / 2 && e / 6 % 2 == rank % 2 && !seen[e]);
      seen[e] = true;
    }
    stream_free(x);
    done(s, 3);
  }
}
END_TEST

/* ---- H. depth, size, memory ---- */

START_TEST(H1) { /* nesting is bounded: 1500 levels are refused, at the limit everything works */
  lading_type *t = (lading_type *)(uintptr_t)elem(LADING_INT32);
  int rc = LADING_OK, levels = 0;
  for (; levels < 1500 && !rc; levels++) {
    lading_type *up = NULL;
    const lading_type *const olds[] = { t, elem(LADING_BYTE) };
    rc = lading_type_struct(2, LIST(1, 1), LIST(3, 0), olds, &up);
    if (!rc) { lading_type_free(t); t = up; }
    else ck_assert_ptr_null(up);
  }
  ck_assert_int_eq(rc, LADING_ERR_DEPTH);
  ck_assert_int_ge(levels, 100);
  lading_info i = info_of(t);
  char *mem = calloc(1, (size_t)i.true_extent), *packed = malloc((size_t)i.size), *text = text_of(t);
  ck_assert_int_eq(lading_pack(t, 1, mem - i.true_lb, packed, 0, i.size), LADING_OK);
  lading_type_free(parsed(text));
  free(text);
  free(mem);
  free(packed);
  lading_type_free(t);
}
END_TEST

static void *commit_and_pack(void *arg) {
  lading_type *t = arg;
  int64_t size, n;
  if (lading_type_commit(t)) return arg;
  size = info_of(t).size;
  char *mem = malloc((size_t)info_of(t).true_extent), *packed = malloc((size_t)size), *base = at_offset(mem, -info_of(t).true_lb);
  memset(mem, 1, (size_t)info_of(t).true_extent);
  int rc = lading_pack(t, 1, base, packed, 0, size) | lading_unpack(t, 1, base, packed, 3, size - 3) | lading_segments_count(t, 1, &n);
  free(mem);
  free(packed);
  return rc ? arg : NULL;
}

START_TEST(H2) { /* 10^6 blocks on a thread with a small stack */
  enum { N = 1000000 };
  int64_t *at = malloc(N * sizeof *at), *bl = malloc(N * sizeof *bl);
  rng r = rng_of(2);
  for (int64_t i = 0, mem = 0; i < N; i++) {
    mem += rng_in(&r, 0, 6);
    at[i] = mem;
    bl[i] = rng_in(&r, 1, 3);
    mem += bl[i];
  }
  lading_type *t;
  ck_assert_int_eq(lading_type_hindexed(N, bl, at, elem(LADING_BYTE), &t), LADING_OK);
  pthread_attr_t small;
  pthread_t thread;
  void *failed;
  pthread_attr_init(&small);
  ck_assert_int_eq(pthread_attr_setstacksize(&small, 256 * 1024), 0);
  ck_assert_int_eq(pthread_create(&thread, &small, commit_and_pack, t), 0);
  pthread_join(thread, &failed);
  ck_assert_ptr_null(failed);
  lading_type_free(t);
  free(at);
  free(bl);
}
END_TEST

START_TEST(H3) { /* a column of a huge matrix: memory is that of the description */
  lading_type *t;
  ck_assert_int_eq(lading_type_subarray(2, LIST(100000000, 1000000), LIST(100000000, 1), LIST(0, 77), LADING_ORDER_C, elem(LADING_DOUBLE), &t), LADING_OK);
  ck_assert_int_eq(lading_type_commit(t), LADING_OK);
  ck_assert_int_eq(info_of(t).blocks, 100000000);
  ck_assert_int_lt(info_of(t).description_bytes, 4096);
  check_window(t, 1, 8 * INT64_C(99999999), 8, INT64_C(99999999) * 8000000 + 77 * 8);
  lading_type_free(t);
}
END_TEST

START_TEST(H4) { /* four times 644742 indices: near-linear; a step a pair would be 3 * 10^12, more than the runner's timeout allows */
  const int64_t n = 4 * 644742;
  int64_t *at = malloc((size_t)n * sizeof *at);
  rng r = rng_of(4);
  for (int64_t i = 0; i < n; i++) at[i] = rng_in(&r, 0, 4 * n);
  lading_type *t;
  ck_assert_int_eq(lading_type_indexed_block(n, 1, at, elem(LADING_FLOAT), &t), LADING_OK);
  ck_assert_int_eq(lading_type_commit(t), LADING_OK);
  ck_assert_int_gt(info_of(t).blocks, n / 2);
  (void)id_of(t, 1);
  lading_type_free(t);
  free(at);
}
END_TEST

/* ---- I. lifetime, handles, threads, fork ---- */

typedef struct flight { lading_type *t; int64_t n; char *mem, *packed; _Atomic int started; int rc; } flight;

static void *fly(void *arg) {
  flight *f = arg;
  f->started = 1;
  f->rc = lading_pack(f->t, 1, f->mem, f->packed, 0, f->n);
  lading_type_free(f->t); /* its own reference: a call that blocks is covered by one of its caller's */
  return NULL;
}

START_TEST(I1) { /* a type freed by its owner while an operation of another holder is under way: the operation finishes */
  enum { N = 1 << 22 };
  int64_t *at = malloc(N * sizeof *at);
  rng r = rng_of(1);
  flight f = { .n = INT64_C(8) * N };
  for (int64_t i = 0; i < N; i++) at[i] = rng_in(&r, 0, N - 1) * 8;
  f.mem = malloc((size_t)f.n);
  f.packed = malloc((size_t)f.n);
  memset(f.mem, 5, (size_t)f.n);
  memset(f.packed, 0, (size_t)f.n);
  ck_assert_int_eq(lading_type_hindexed_block(N, 8, at, elem(LADING_BYTE), &f.t), LADING_OK);
  ck_assert_int_eq(lading_type_commit(f.t), LADING_OK);
  pthread_t thread;
  lading_type *mine = lading_type_ref(f.t);
  pthread_create(&thread, NULL, fly, &f);
  while (!f.started) { }
  nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
  lading_type_free(mine);
  pthread_join(thread, NULL);
  ck_assert_int_eq(f.rc, LADING_OK);
  for (int64_t i = 0; i < f.n; i++)
    if (f.packed[i] != 5) ck_abort_msg("byte %" PRId64 " was not packed", i);
  free(at);
  free(f.mem);
  free(f.packed);
}
END_TEST

START_TEST(I2) { /* children survive the parent and the parent its children; references count; built-ins are immortal */
  sample *child = s_vector(3, 1, 2, s_elem(LADING_INT32)), *parent = s_contiguous(2, s_dup(child)), *other = s_hvector(2, 1, 99, s_dup(child));
  sample_free(parent);
  done(child, 2);
  done(other, 2);
  lading_type *b = lading_type_ref(elem(LADING_INT32));
  for (int i = 0; i < 100; i++) lading_type_free(b);
  ck_assert_int_eq(info_of(elem(LADING_INT32)).size, 4);
  lading_type_free(NULL);
  ck_assert_ptr_null(lading_type_ref(NULL));
}
END_TEST

START_TEST(I3) { /* a handle freed and made again has nothing of the old one */
  rng r = rng_of(3);
  for (int i = 0; i < 400; i++) {
    sample *s = random_type(&r, 3, 60);
    check_moves(s, 2, &r);
    check_info(s);
    sample_free(s);
  }
}
END_TEST

static void *first_use(void *arg) {
  char mem[64] = { 0 }, packed[24];
  return lading_pack(arg, 1, mem, packed, 0, 24) ? arg : NULL;
}

START_TEST(I4) { /* two threads use a fresh type first (test_threads has the long version) */
  for (int i = 0; i < 200; i++) {
    lading_type *t;
    pthread_t a, b;
    void *x, *y;
    ck_assert_int_eq(lading_type_hvector(6, 1, 8 + i % 3, elem(LADING_INT32), &t), LADING_OK);
    pthread_create(&a, NULL, first_use, t);
    pthread_create(&b, NULL, first_use, t);
    pthread_join(a, &x);
    pthread_join(b, &y);
    ck_assert(!x && !y);
    lading_type_free(t);
  }
}
END_TEST

START_TEST(I5) { /* nothing sticks to a type: ranges, counts and directions in any order give what they gave alone */
  sample *s = ragged();
  rng r = rng_of(5);
  for (int i = 0; i < 40; i++) check_moves(s, rng_in(&r, 0, 5), &r);
  sample_free(s);
}
END_TEST

START_TEST(I6) { /* after fork the child packs (test_threads forks under load) */
  sample *s = ragged();
  check_all(s, 1);
  pid_t child = fork();
  if (child == 0) {
    sample *fresh = s_vector(4, 1, 3, s_elem(LADING_DOUBLE));
    check_all(s, 2);
    check_all(fresh, 2);
    _exit(0);
  }
  int status = -1;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  sample_free(s);
}
END_TEST

START_TEST(I7) { /* several users of one process: the same layouts come and go for each without the other */
  sample *mine = ragged(), *theirs = ragged();
  check_all(mine, 1);
  sample_free(mine);
  done(theirs, 2);
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("edge", argc, argv, D1, D2, D3, D4, D5, D6, D7, E1, E2, E3, E4, E5, E7, G1, G6, G7, H1, H2, H3, H4, I1, I2, I3, I4, I5, I6, I7);
}
