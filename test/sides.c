/* sides: copies of every kind against the list of their bytes. */
#include "sides.h"

#include "api.h"

#include <inttypes.h>

side side_of(const sample *s, int64_t count, uint64_t salt) {
  side d = { s, count, stream_of(s->map, count), { 0 } };
  d.b = buffer_new(d.x->hi - d.x->lo);
  buffer_fill(&d.b, salt);
  return d;
}

void side_free(side *d) {
  ck_assert(buffer_guards(&d->b));
  buffer_free(&d->b);
  stream_free(d->x);
}

char *base_of(const side *d) { return at_offset(d->b.data, -d->x->lo); }

/* As lading_copy does it, and as it would if there were more bytes. */
static void copy_planned(const side *a, const side *b, int64_t lo, int64_t hi) {
  const ldg_plan *sp, *dp;
  ldg_side s, d;
  ck_assert_int_eq(ldg_api_side(a->s->type, a->count, base_of(a), &sp, &s), LADING_OK);
  ck_assert_int_eq(ldg_api_side(b->s->type, b->count, base_of(b), &dp, &d), LADING_OK);
  ldg_exec_move_planned(sp, &s, dp, &d, lo, hi);
}

static void try_copy(const side *a, side *b, int64_t lo, int64_t hi) {
  const size_t n = (size_t)b->b.n;
  char *was = malloc(n + 1), *want = malloc(n + 1);
  memcpy(was, b->b.data, n), memcpy(want, was, n);
  for (int64_t k = lo; k < hi; k++) want[b->x->at[k] - b->x->lo] = a->b.data[a->x->at[k] - a->x->lo];
  for (int planned = 0; planned < 2; planned++) {
    memcpy(b->b.data, was, n);
    if (planned) copy_planned(a, b, lo, hi);
    else ck_assert_int_eq(lading_copy(a->s->type, a->count, base_of(a), b->s->type, b->count, base_of(b), lo, hi), LADING_OK);
    ck_assert_msg(memcmp(want, b->b.data, n) == 0, "copy of [%" PRId64 ", %" PRId64 ") from %s x %" PRId64 " to %s x %" PRId64 "%s is wrong", lo, hi,
                  a->s->spell, a->count, b->s->spell, b->count, planned ? ", planned," : "");
  }
  free(was), free(want);
}

void check_copy(const sample *s, int64_t sc, const sample *d, int64_t dc, rng *r) {
  side a = side_of(s, sc, rng_next(r)), b = side_of(d, dc, rng_next(r));
  int64_t n = a.x->n < b.x->n ? a.x->n : b.x->n;
  for (int64_t some = n, last = rng_in(r, 0, n);; some = last) { /* the first so many bytes: again and again, since then plans keep how */
    for (int again = 0; again < 3; again++) buffer_fill(&a.b, rng_next(r)), try_copy(&a, &b, 0, some);
    if (some == last) break;
  }
  for (int i = 0; i < 6; i++) {
    int64_t lo = rng_in(r, 0, n);
    buffer_fill(&a.b, rng_next(r));
    try_copy(&a, &b, lo, rng_in(r, lo, n));
  }
  int rc = lading_copy(s->type, sc, base_of(&a), d->type, dc, base_of(&b), 0, n + 1);
  ck_assert_int_eq(rc, LADING_ERR_RANGE);
  side_free(&a);
  side_free(&b);
}
