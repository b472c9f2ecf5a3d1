/* batch_apart: what is said to be apart has no byte in common, and what a halo needs is said. */
#include "random_types.h"
#include "api.h"
#include "batch_apart.h"

static ldg_side side_of(const sample *s, int64_t count, int64_t base) {
  ldg_side side;
  ck_assert_int_eq(ldg_api_side(s->type, count, (void *)(uintptr_t)base, NULL, &side), LADING_OK);
  return side;
}

static void mark(char *used, const stream *x, int64_t lo, int64_t hi, int64_t shift) {
  for (int64_t k = lo; k < hi; k++) used[x->at[k] + shift] = 1;
}

static bool apart(ldg_batch_place *a, ldg_batch_place *b) {
  int64_t looks = INT64_MAX;
  return ldg_batch_apart(a, b, &looks);
}

/* Where everything is, relative to `home`, which is in the middle of the map. */
enum { MAP = 1 << 18, HOME = 1 << 17, FAR = 1 << 20 };

static bool meet(const stream *x, int64_t xl, int64_t xh, int64_t xat, const stream *y, int64_t yl, int64_t yh, int64_t yat) {
  static char used[MAP];
  memset(used, 0, sizeof used);
  mark(used, x, xl, xh, HOME + xat);
  for (int64_t k = yl; k < yh; k++)
    if (used[y->at[k] + HOME + yat]) return true;
  return false;
}

typedef struct tally { int64_t apart, told, meshed; } tally;

static void one_pair(rng *r, bool nests, tally *t) {
  sample *a = nests ? random_nest(r, 3, 600) : random_type(r, 3, 600), *b = nests ? random_nest(r, 3, 600) : random_type(r, 3, 600);
  const int64_t n = rng_in(r, 1, 2), m = rng_in(r, 1, 2);
  stream *x = stream_of(a->map, n), *y = stream_of(b->map, m);
  const ldg_side sa = side_of(a, n, FAR);
  for (int i = 0; i < 8; i++) {
    const int64_t reach = ldg_max(1, ldg_max(x->hi - x->lo, y->hi - y->lo)), at = x->lo - y->lo + rng_in(r, -reach, reach);
    const int64_t xl = i % 2 ? rng_in(r, 0, x->n) : 0, xh = i % 2 ? rng_in(r, xl, x->n) : x->n;
    const int64_t yl = i % 2 ? rng_in(r, 0, y->n) : 0, yh = i % 2 ? rng_in(r, yl, y->n) : y->n;
    const ldg_side sb = side_of(b, m, FAR + at);
    ldg_batch_place p, q;
    ldg_batch_place_side(&p, &sa, xl, xh), ldg_batch_place_side(&q, &sb, yl, yh);
    const bool told = apart(&p, &q), back = apart(&q, &p);
    if (llabs(x->lo) > HOME / 4 || llabs(y->lo + at) > HOME / 4) continue;
    const bool met = meet(x, xl, xh, 0, y, yl, yh, at);
    ck_assert_msg(!met || (!told && !back), "%s and, %d further on, %s do meet", a->spell, (int)at, b->spell);
    t->apart += !met, t->told += !met && told, t->meshed += !met && told && !ldg_batch_spans_apart(&p, &q);
  }
  stream_free(x), stream_free(y), sample_free(a), sample_free(b);
}

START_TEST(never_wrong) {
  rng r = rng_of(7);
  tally nests = { 0 }, all = { 0 };
  for (int i = 0; i < 3000; i++) one_pair(&r, true, &nests), one_pair(&r, false, &all);
  printf("apart: of nests %d, told %d, of them meshed %d; of all types %d, told %d\n", (int)nests.apart, (int)nests.told, (int)nests.meshed,
         (int)all.apart, (int)all.told);
  ck_assert_int_gt(nests.meshed, 200);
  ck_assert_int_gt(nests.told * 20, nests.apart * 19);
}
END_TEST

/* 26 ghost regions of one array: spans mesh, bytes do not. */
START_TEST(faces_of_a_box) {
  const int64_t n = 12, sizes[3] = { n, n, n };
  ldg_batch_place p[26];
  sample *s[26];
  int k = 0;
  for (int d = 0; d < 27; d++) {
    if (d == 13) continue;
    int64_t sub[3], start[3];
    for (int i = 0, e = d; i < 3; i++, e /= 3) sub[i] = e % 3 == 1 ? n - 2 : 1, start[i] = e % 3 == 0 ? 0 : e % 3 == 1 ? 1 : n - 1;
    s[k] = s_subarray(3, sizes, sub, start, LADING_ORDER_C, s_elem(LADING_DOUBLE));
    const ldg_side side = side_of(s[k], 1, FAR);
    ldg_batch_place_side(&p[k], &side, 0, side.rep->size), k++;
  }
  for (int i = 0; i < 26; i++)
    for (int j = 0; j < 26; j++) ck_assert_msg(apart(&p[i], &p[j]) == (i != j), "%s and %s", s[i]->spell, s[j]->spell);
  for (int i = 0; i < 26; i++) sample_free(s[i]);
}
END_TEST

START_TEST(dense_and_empty) {
  static char buf[64];
  ldg_batch_place a, b, c, none;
  ldg_batch_place_dense(&a, buf, 10), ldg_batch_place_dense(&b, buf + 10, 5), ldg_batch_place_dense(&c, buf + 9, 1);
  ldg_batch_place_dense(&none, NULL, 0);
  ck_assert(apart(&a, &b) && apart(&b, &a) && apart(&b, &c) && apart(&a, &none));
  ck_assert(!apart(&a, &c) && !apart(&c, &a) && !apart(&a, &a));
}
END_TEST

/* Loops that would take for ever to tell apart are not told, and what was looked at is taken from the looks. */
START_TEST(looks_are_counted) {
  sample *s = s_hvector(1000, 1, 4096, s_hvector(1000, 1, 4104, s_elem(LADING_BYTE)));
  const ldg_side sa = side_of(s, 1, FAR), sb = side_of(s, 1, FAR + 2);
  ldg_batch_place p, q;
  ldg_batch_place_side(&p, &sa, 0, 1000000), ldg_batch_place_side(&q, &sb, 0, 1000000);
  for (int64_t most = 0; most < 400; most += 7) {
    int64_t looks = most;
    ck_assert(!ldg_batch_apart(&p, &q, &looks));
    ck_assert_int_ge(looks, ldg_max(0, most - 129));
    ck_assert(looks < most || !most);
  }
  int64_t looks = 1;
  ldg_batch_place_dense(&p, NULL, 0);
  ck_assert(ldg_batch_apart(&p, &q, &looks));
  ck_assert_int_eq(looks, 0);
  ck_assert(!ldg_batch_apart(&p, &q, &looks));
  sample_free(s);
}
END_TEST

/* Items whose places cannot be counted may be anywhere, and then so is all that has bytes. */
START_TEST(beyond_numbers) {
  ldg_batch_place p, some, none;
  const ldg_side s = { &ldg_rep_one_byte, INT64_C(1) << 40, INT64_C(1) << 40, (const char *)(uintptr_t)FAR };
  ldg_batch_place_side(&p, &s, 0, 1000);
  ldg_batch_place_dense(&some, (void *)(uintptr_t)1, 1), ldg_batch_place_dense(&none, (void *)(uintptr_t)1, 0);
  ck_assert(!apart(&p, &some) && !apart(&some, &p) && !apart(&p, &p));
  ck_assert(apart(&p, &none));
  ldg_batch_place_side(&p, &s, 5, 5);
  ck_assert(apart(&p, &some));
}
END_TEST

int main(int argc, char **argv) { return CHECK_MAIN("batch_apart", argc, argv, never_wrong, faces_of_a_box, dense_and_empty, beyond_numbers, looks_are_counted); }
