/* rep: bounds of a part of the sequence. Whole children have their bounds among their facts, so only the two ragged ends go down:
 * O(depth + log entries + listed entries inside). */
#include "rep.h"

typedef struct hull { int64_t from, to; } hull; /* empty: from > to */

static void widen(hull *h, int64_t from, int64_t to) {
  h->from = ldg_min(h->from, from);
  h->to = ldg_max(h->to, to);
}

static void whole(hull *h, const ldg_rep *r, int64_t base) {
  if (r->size) widen(h, ldg_rep_move(base, r->lo), ldg_rep_move(base, r->hi));
}

static void part(hull *h, const ldg_rep *r, int64_t base, int64_t lo, int64_t hi);

/* Bytes [lo, hi) of copies of a child, `stride` bytes apart. */
static void copies(hull *h, const ldg_rep *child, int64_t stride, int64_t base, int64_t lo, int64_t hi) {
  if (lo >= hi) return;
  const int64_t size = child->size, i = lo / size, j = (hi - 1) / size;
  part(h, child, ldg_rep_move(base, i * stride), lo - i * size, ldg_min(hi - i * size, size));
  if (i == j) return;
  if (i + 1 < j) whole(h, child, ldg_rep_move(base, (i + 1) * stride)), whole(h, child, ldg_rep_move(base, (j - 1) * stride));
  part(h, child, ldg_rep_move(base, j * stride), 0, hi - j * size);
}

static void entry(hull *h, const ldg_rep *r, int64_t i, int64_t base, int64_t lo, int64_t hi) {
  const int64_t at = ldg_rep_move(base, r->at[i]), first = ldg_rep_starts(r, i);
  lo = ldg_max(lo - first, 0), hi = ldg_min(hi, ldg_rep_starts(r, i + 1)) - first;
  if (r->kind == LDG_JOIN) part(h, r->kids[i], at, lo, hi);
  else copies(h, r->child, r->stride, at, lo, hi);
}

/* Entries of one child each, none of them cut: the lowest and the highest place say it all. */
static void listed(hull *h, const ldg_rep *r, int64_t i, int64_t j, int64_t base) {
  int64_t low = r->at[i], high = r->at[i];
  for (; i < j; i++) low = ldg_min(low, r->at[i]), high = ldg_max(high, r->at[i]);
  whole(h, r->child, ldg_rep_move(base, low));
  whole(h, r->child, ldg_rep_move(base, high));
}

static int64_t holds(const ldg_rep *r, int64_t byte) { return r->psum ? ldg_rep_find(r->psum, r->n, byte) : byte / r->child->size; }

static void entries(hull *h, const ldg_rep *r, int64_t base, int64_t lo, int64_t hi) {
  const int64_t i = holds(r, lo), j = holds(r, hi - 1);
  entry(h, r, i, base, lo, hi);
  if (!r->psum && i + 1 < j) listed(h, r, i + 1, j, base);
  for (int64_t k = i + 1; r->psum && k < j; k++) entry(h, r, k, base, lo, hi);
  if (j > i) entry(h, r, j, base, lo, hi);
}

static void part(hull *h, const ldg_rep *r, int64_t base, int64_t lo, int64_t hi) {
  if (lo >= hi) return;
  if (lo == 0 && hi == r->size) whole(h, r, base);
  else if (r->kind == LDG_BYTES) widen(h, ldg_rep_move(base, lo), ldg_rep_move(base, hi));
  else if (r->kind == LDG_REPEAT) copies(h, r->child, r->stride, base, lo, hi);
  else entries(h, r, base, lo, hi);
}

void ldg_rep_hull(const ldg_rep *r, int64_t lo, int64_t hi, int64_t *from, int64_t *to) {
  hull h = { INT64_MAX, INT64_MIN };
  part(&h, r, 0, lo, hi);
  *from = lo < hi ? h.from : 0;
  *to = lo < hi ? h.to : 0;
}
