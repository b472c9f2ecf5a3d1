/* yaksa_more: segments, flattened types and threads through yaksa.h. */
#include "yaksa_side.h"
#include <limits.h>
#include <pthread.h>

#define OK(call) ck_assert_int_eq((call), YAKSA_SUCCESS)

/* ---- segments ---- */

typedef struct segment { int64_t at, len; } segment;
typedef struct segments { segment *s; int64_t n; } segments;

/* By the definition: runs within each item; one for all when everything is one run. */
static segments naive_segments(const sample *s, int64_t count) {
  stream *one = stream_of(s->map, 1), *all = stream_of(s->map, count);
  segments v = { malloc((size_t)(count * one->runs + 1) * sizeof(segment)), 0 };
  if (all->runs == 1) v.s[v.n++] = (segment){ all->lo, all->n };
  else for (int64_t i = 0; i < count; i++)
    for (int64_t k = 0; k < one->runs; k++)
      v.s[v.n++] = (segment){ one->at[one->start[k]] + i * map_extent(s->map), one->start[k + 1] - one->start[k] };
  stream_free(one);
  stream_free(all);
  return v;
}

static void check_list(const sample *s, yaksa_type_t t, int64_t count, const segments *want, int64_t first, int64_t max) {
  struct iovec *v = malloc((size_t)(want->n + 9) * sizeof *v);
  const char *buf = (const char *)(uintptr_t)0x40000000;
  uintptr_t got = 99;
  const int64_t n = first < want->n ? ldg_min(max, want->n - first) : 0;
  OK(yaksa_iov(buf, (uintptr_t)count, t, (uintptr_t)first, v, (uintptr_t)max, &got));
  ck_assert_msg((int64_t)got == n, "%s x %d: %d segments from %d, not %d", s->spell, (int)count, (int)got, (int)first, (int)n);
  for (int64_t i = 0; i < n; i++)
    ck_assert_msg(v[i].iov_base == at_offset(buf, want->s[first + i].at) && (int64_t)v[i].iov_len == want->s[first + i].len,
                  "%s x %d: segment %d", s->spell, (int)count, (int)(first + i));
  free(v);
}

static void check_len_max(const sample *s, yaksa_type_t t, int64_t count, const segments *want, int64_t max) {
  uintptr_t n = 99, bytes = 99;
  int64_t k = 0, sum = 0;
  while (k < want->n && sum + want->s[k].len <= max) sum += want->s[k++].len;
  OK(yaksa_iov_len_max((uintptr_t)count, t, (uintptr_t)max, &n, &bytes));
  ck_assert_msg((int64_t)n == k && (int64_t)bytes == sum, "%s x %d: %d segments, %d bytes within %d", s->spell, (int)count, (int)n, (int)bytes, (int)max);
}

static void check_segments_of(const sample *s, yaksa_type_t t, int64_t count, rng *r) {
  segments want = naive_segments(s, count);
  int64_t total = 0;
  uintptr_t n = 99;
  for (int64_t i = 0; i < want.n; i++) total += want.s[i].len;
  OK(yaksa_iov_len((uintptr_t)count, t, &n));
  ck_assert_msg((int64_t)n == want.n, "%s x %d: %d segments, not %d", s->spell, (int)count, (int)n, (int)want.n);
  check_list(s, t, count, &want, 0, want.n);
  check_list(s, t, count, &want, 0, want.n + 5);
  for (int i = 0; i < 6; i++) check_list(s, t, count, &want, rng_in(r, 0, want.n + 2), rng_in(r, 0, 4));
  for (int i = 0; i < 6; i++) check_len_max(s, t, count, &want, rng_in(r, 0, total + 2));
  free(want.s);
}

START_TEST(segments_of_random_types) {
  rng r = rng_of(1);
  for (int i = 0; i < 3000; i++) {
    sample *s = random_yaksa(&r, 4, 500);
    const yaksa_type_t t = yaksa_of(s);
    if (t != YAKSA_TYPE__NULL)
      for (int64_t count = 0; count < 5; count++) check_segments_of(s, t, count, &r);
    OK(yaksa_type_free(t));
    sample_free(s);
  }
}
END_TEST

/* The last run of an item touches the first of the next. */
START_TEST(items_stay_apart) {
  rng r = rng_of(2);
  sample *s = s_resized(s_indexed(2, LIST(2, 2), LIST(0, 4), s_elem(LADING_INT32)), 0, 24);
  const yaksa_type_t t = yaksa_of(s);
  uintptr_t n;
  OK(yaksa_iov_len(2, t, &n));
  ck_assert_uint_eq(n, 4);
  check_segments_of(s, t, 7, &r);
  OK(yaksa_type_free(t));
  sample_free(s);
}
END_TEST

/* Nothing is expanded: any of 2^50 segments is found at once. */
START_TEST(huge_lists) {
  const uintptr_t far = (UINT64_C(1) << 50) - 3;
  yaksa_type_t t;
  uintptr_t n, bytes;
  struct iovec v[4];
  OK(yaksa_type_create_vector(INT64_C(1) << 40, 1, 2, YAKSA_TYPE__CHAR, NULL, &t));
  OK(yaksa_iov_len(1 << 10, t, &n));
  ck_assert_uint_eq(n, far + 3);
  OK(yaksa_iov(NULL, 1 << 10, t, far, v, 4, &n));
  ck_assert(n == 3 && (uintptr_t)v[2].iov_base == 2 * (far + 2) - ((1 << 10) - 1) && v[2].iov_len == 1);
  OK(yaksa_iov_len_max(1 << 10, t, far, &n, &bytes));
  ck_assert(n == far && bytes == far);
  OK(yaksa_type_free(t));
}
END_TEST

/* ---- flattened types ---- */

static yaksa_type_t shipped(yaksa_type_t t) {
  uintptr_t n = 0;
  yaksa_type_t u = 99;
  OK(yaksa_flatten_size(t, &n));
  ck_assert(n > 0 && n <= INT_MAX);
  buffer b = buffer_new((int64_t)n + 1);
  OK(yaksa_flatten(t, b.data + 1)); /* at any address */
  OK(yaksa_type_free(t));
  OK(yaksa_unflatten(&u, b.data + 1));
  ck_assert(buffer_guards(&b));
  buffer_free(&b);
  return u;
}

START_TEST(flattened_types) {
  rng r = rng_of(3);
  random_kinds = ALL_KINDS;
  for (int i = 0; i < 1000; i++) {
    sample *s = random_yaksa(&r, 4, 500);
    side d = side_of(s, 2, &r);
    const yaksa_type_t t = shipped(yaksa_of(s));
    intptr_t lb, extent;
    uintptr_t actual;
    const int64_t cut = rng_in(&r, 0, d.pos[d.n]);
    buffer packed = buffer_new(d.pos[d.n]);
    OK(yaksa_type_get_extent(t, &lb, &extent));
    ck_assert(lb == s->map->lb && extent == map_extent(s->map));
    if (t != YAKSA_TYPE__NULL) check_segments_of(s, t, 2, &r);
    OK(yaksa_pack(base_of(&d), 2, t, 0, packed.data, (uintptr_t)cut, &actual, NULL, YAKSA_OP__REPLACE));
    ck_assert_int_eq((int64_t)actual, d.pos[boundary(&d, cut)]); /* elements came along */
    OK(yaksa_type_free(t));
    buffer_free(&packed);
    side_free(&d);
    sample_free(s);
  }
}
END_TEST

START_TEST(flattened_built_in_types) {
  for (yaksa_type_t t = YAKSA_TYPE__NULL; t <= YAKSA_TYPE__LONG_DOUBLE_INT; t++) {
    const yaksa_type_t u = shipped(t);
    uintptr_t a, b;
    intptr_t lb, x, y;
    OK(yaksa_type_get_size(t, &a));
    OK(yaksa_type_get_size(u, &b));
    ck_assert_uint_eq(a, b);
    OK(yaksa_type_get_extent(t, &lb, &x));
    OK(yaksa_type_get_extent(u, &lb, &y));
    ck_assert_int_eq(x, y);
    OK(yaksa_type_free(u));
  }
}
END_TEST

/* ---- threads ---- */

enum { THREADS = 8 };
typedef struct worker { pthread_t thread; int id; yaksa_type_t shared; } worker;

/* Adds to every second int of its own memory, some at a time. */
static void add_by_parts(yaksa_type_t t, rng *r) {
  int mem[64], packed[32];
  uintptr_t actual;
  for (int i = 0; i < 64; i++) mem[i] = i, packed[i / 2] = 7;
  for (uintptr_t at = 0; at < sizeof packed; at += actual) {
    const uintptr_t some = (uintptr_t)rng_in(r, 4, 30);
    OK(yaksa_unpack((char *)packed + at, some < sizeof packed - at ? some : sizeof packed - at, mem, 1, t, at, &actual, NULL, YAKSA_OP__SUM));
    ck_assert(actual > 0 && actual % 4 == 0);
  }
  for (int i = 0; i < 64; i++) ck_assert_int_eq(mem[i], i % 2 ? i : i + 7);
}

static void own_type(rng *r) {
  sample *s = random_yaksa(r, 3, 200);
  yaksa_type_t t = yaksa_of(s);
  if (t != YAKSA_TYPE__NULL) check_segments_of(s, t, 2, r);
  t = shipped(t);
  if (t != YAKSA_TYPE__NULL) check_segments_of(s, t, 1, r);
  OK(yaksa_type_free(t));
  sample_free(s);
}

static void *work(void *arg) {
  const worker *w = arg;
  rng r = rng_of((uint64_t)w->id + 100);
  yaksa_type_t t;
  for (int i = 0; i < 200; i++) {
    OK(yaksa_init(NULL));
    OK(yaksa_type_create_dup(w->shared, NULL, &t));
    add_by_parts(i % 2 ? t : w->shared, &r);
    OK(yaksa_type_free(t));
    own_type(&r);
    OK(yaksa_finalize());
  }
  return NULL;
}

START_TEST(eight_threads) {
  worker w[THREADS];
  yaksa_type_t t;
  OK(yaksa_type_create_vector(32, 1, 2, YAKSA_TYPE__INT, NULL, &t)); /* its plan is made by all at once */
  for (int i = 0; i < THREADS; i++) {
    w[i].id = i, w[i].shared = t;
    ck_assert_int_eq(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(w[i].thread, NULL);
  OK(yaksa_type_free(t));
}
END_TEST

int main(int argc, char **argv) {
  random_alike_fields = false; /* Yaksa makes index types of such structs, which are not padded */
  return CHECK_MAIN("yaksa_more", argc, argv, segments_of_random_types, items_stay_apart, huge_lists, flattened_types,
                    flattened_built_in_types, eight_threads);
}
