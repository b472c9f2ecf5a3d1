/* joint: copies that plans keep. That they move what they should is looked at wherever copies are (sides.c). */
#include "random_types.h"
#include "sides.h"
#include "api.h"
#include "plan_joint.h"

#include <pthread.h>

enum { N = 40, MOST = 8 };

static lading_type *doubles(int64_t n, int64_t stride) {
  lading_type *t;
  ck_assert_int_eq(lading_type_hvector(n, 1, stride, lading_elem_type(LADING_DOUBLE), &t), LADING_OK);
  ck_assert_int_eq(lading_type_commit(t), LADING_OK);
  return t;
}

typedef struct memory { double from[3 * N], to[30 * N], want[30 * N]; } memory;
static memory fresh(void) {
  memory m;
  for (int i = 0; i < 3 * N; i++) m.from[i] = i + 1;
  for (int i = 0; i < 30 * N; i++) m.to[i] = m.want[i] = -i;
  return m;
}

/* n doubles, every `x`-th to every `y`-th. */
static void check(const lading_type *s, int64_t x, const lading_type *d, int64_t y, int64_t n) {
  memory m = fresh();
  for (int64_t i = 0; i < n; i++) m.want[i * y] = m.from[i * x];
  ck_assert_int_eq(lading_copy(s, 1, m.from, d, 1, m.to, 0, 8 * n), LADING_OK);
  ck_assert(!memcmp(m.to, m.want, sizeof m.to));
}

static int kept(const lading_type *t, bool direct) {
  int n = 0;
  for (int i = 0; i < MOST; i++) {
    const ldg_joint *j = atomic_load(&ldg_api_plan_made(t)->joints.kept[i]);
    n += j && j->direct == direct;
  }
  return n;
}

/* What is copied once leaves nothing; what is copied again is kept, once. */
START_TEST(again) {
  lading_type *s = doubles(N, 16), *d = doubles(N, 24);
  for (int i = 0; i < 5; i++) {
    check(s, 2, d, 3, N);
    ck_assert_int_eq(kept(s, true), i > 0);
  }
  const ldg_plan *a = ldg_api_plan_made(s), *b = ldg_api_plan_made(d);
  const ldg_joint *j = ldg_joint_latest(a);
  ck_assert(ldg_joint_is(j, 1, b, 1, 8 * N) && !ldg_joint_is(j, 1, b, 1, 8 * N - 8) && !ldg_joint_is(j, 2, b, 1, 8 * N) && !ldg_joint_is(j, 1, b, 2, 8 * N) && !ldg_joint_is(j, 1, a, 1, 8 * N));
  ck_assert_int_eq(kept(d, true) + kept(d, false), 0);
  lading_type_free(s), lading_type_free(d);
}
END_TEST

/* The first bytes of a stream, which end with an iteration of the nest, or within one: then there is none. */
START_TEST(parts) {
  lading_type *s = doubles(N, 16), *d = doubles(N, 24);
  for (int64_t n = N - 2; n <= N; n++)
    for (int i = 0; i < 3; i++) check(s, 2, d, 3, n);
  memory m = fresh();
  memcpy(&m.want[0], &m.from[0], 8), memcpy(&m.want[3], &m.from[2], 8), memcpy(&m.want[6], &m.from[4], 4);
  for (int i = 0; i < 4; i++) ck_assert_int_eq(lading_copy(s, 1, m.from, d, 1, m.to, 0, 20), LADING_OK);
  ck_assert(!memcmp(m.to, m.want, sizeof m.to));
  ck_assert_int_eq(kept(s, true) + kept(s, false), 3);
  lading_type_free(s), lading_type_free(d);
}
END_TEST

/* Of many others some are kept; a type that has another one's place in memory is not taken for it. */
START_TEST(others) {
  lading_type *s = doubles(N, 16);
  for (int i = 0; i < 3 * MOST; i++) {
    lading_type *d = doubles(N, 24 + 8 * i);
    for (int k = 0; k < 3; k++) check(s, 2, d, 3 + i, N);
    lading_type_free(d);
  }
  ck_assert_int_eq(kept(s, true) + kept(s, false), MOST);
  lading_type_free(s);
}
END_TEST

/* What is kept spares no check, and neither does what is not. */
static void check_arguments(const lading_type *s, const lading_type *d, int64_t bytes) {
  static char from[1 << 16], to[1 << 16], was[1 << 16];
  for (int i = 0; i < 4; i++) ck_assert_int_eq(lading_copy(s, 1, from, d, 1, to, 0, bytes), LADING_OK);
  memset(from, 1, sizeof from), memcpy(was, to, sizeof was);
  ck_assert_int_eq(lading_copy(s, 1, from, d, 0, to, 0, bytes), LADING_ERR_RANGE);
  ck_assert_int_eq(lading_copy(s, -1, from, d, 1, to, 0, bytes), LADING_ERR_ARG);
  ck_assert_int_eq(lading_copy(s, 1, from, d, -1, to, 0, bytes), LADING_ERR_ARG);
  ck_assert_int_eq(lading_copy(s, -1, from, d, -1, to, 0, bytes), LADING_ERR_ARG);
  ck_assert_int_eq(lading_copy(s, 1, from, d, INT64_MAX, to, 0, bytes), LADING_ERR_OVERFLOW);
  ck_assert_int_eq(lading_copy(s, 1, from, d, 1, to, 0, bytes + 1), LADING_ERR_RANGE);
  ck_assert_int_eq(lading_copy(s, 1, from, d, 1, to, bytes, 0), LADING_ERR_RANGE);
  ck_assert_int_eq(lading_copy(s, 1, from, NULL, 1, to, 0, bytes), LADING_ERR_ARG);
  ck_assert_int_eq(lading_copy(NULL, 1, from, d, 1, to, 0, bytes), LADING_ERR_ARG);
  ck_assert(!memcmp(to, was, sizeof to));
}
START_TEST(arguments) {
  lading_type *s = doubles(N, 16), *d = doubles(N, 24);
  check_arguments(s, d, 8 * N);
  ck_assert_int_eq(kept(s, true), 1);
  lading_type_free(s), lading_type_free(d);
  for (int64_t n = 2; n <= 2000; n *= 10) { /* a few bytes by their jobs; more are not kept */
    lading_type *item;
    const int64_t at[2] = { 0, 5 }, lens[2] = { 3, 2 };
    ck_assert_int_eq(lading_type_hindexed(2, lens, at, lading_elem_type(LADING_BYTE), &item), LADING_OK);
    ck_assert_int_eq(lading_type_hvector(n, 1, 9, item, &s), LADING_OK);
    ck_assert_int_eq(lading_type_hvector(n, 1, 11, item, &d), LADING_OK);
    check_arguments(s, d, 5 * n);
    ck_assert_int_eq(kept(s, true), 0);
    ck_assert_int_eq(kept(s, false), 5 * n <= LDG_PLAN_FEW);
    lading_type_free(s), lading_type_free(d), lading_type_free(item);
  }
}
END_TEST

/* Without memory copies go on as before. */
START_TEST(no_memory) {
  lading_type *s = doubles(N, 16), *d = doubles(N, 24);
  for (int i = 0; i < 4; i++) {
    ldg_alloc_fail(0);
    check(s, 2, d, 3, N);
    ldg_alloc_fail(-1);
  }
  ck_assert_int_eq(kept(s, true) + kept(s, false), 0);
  lading_type_free(s), lading_type_free(d);
}
END_TEST

/* n rows of m blocks of b bytes, either of which may be split, or go backwards; on the side that is written blocks may overlap: what is later in the stream stays. */
static sample *rows(rng *r, int64_t n, int64_t m, int64_t b, bool overlap) {
  const int64_t least = overlap ? 1 : b, in = rng_in(r, least, b + 40), out = rng_in(r, overlap ? 1 : in * m, in * m + 100);
  sample *s = s_contiguous(b, s_elem(LADING_BYTE));
  if (rng_in(r, 0, 3) == 0) return s_hvector(n * m, 1, rng_in(r, 0, 1) ? in : -in, s);
  if (m % 2 == 0 && rng_in(r, 0, 2) == 0) s = s_hvector(m / 2, 1, 2 * in, s_hvector(2, 1, in, s));
  else s = s_hvector(m, 1, in, s);
  return s_hvector(n, 1, rng_in(r, 0, 3) ? out : -out, s);
}
START_TEST(nests) {
  rng r = rng_of(91);
  const int share = share_of(900);
  int direct = 0;
  for (int i = 0; i < share; i++) {
    const int64_t n = rng_in(&r, 1, 8), m = rng_in(&r, 1, 12), b = rng_in(&r, 1, i % 3 ? 24 : 80);
    sample *s = rows(&r, n, m, b, false), *d = rows(&r, n, m, b, i % 5 == 0);
    check_copy(s, rng_in(&r, 1, 3), d, rng_in(&r, 1, 3), &r);
    direct += kept(s->type, true);
    sample_free(s), sample_free(d);
  }
  ck_assert_int_gt(direct, share / 3);
}
END_TEST

/* All find, and keep, the same at once. */
typedef struct many { lading_type *s, *d[4]; } many;
static void *copies(void *arg) {
  const many *m = arg;
  for (int i = 0; i < 400; i++) check(m->s, 2, m->d[i % 4], 3 + i % 4, N - i % 2);
  return NULL;
}
START_TEST(threads) {
  for (int round = 0; round < 20; round++) {
    many m = { doubles(N, 16), { 0 } };
    pthread_t t[4];
    for (int i = 0; i < 4; i++) m.d[i] = doubles(N, 24 + 8 * i);
    for (int i = 0; i < 4; i++) ck_assert_int_eq(pthread_create(&t[i], NULL, copies, &m), 0);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    ck_assert_int_ge(kept(m.s, true) + kept(m.s, false), 4);
    lading_type_free(m.s);
    for (int i = 0; i < 4; i++) lading_type_free(m.d[i]);
  }
}
END_TEST

int main(int argc, char **argv) { return CHECK_MAIN("joint", argc, argv, again, parts, others, arguments, no_memory, nests, threads); }
