/* Spans first; then whether some block of one box meets some block of the other, by a search through both their loops. */
#include "batch_apart.h"

#include "nest_tree.h"

#include <stdlib.h>

ldg_batch_place ldg_batch_dense(const void *at, int64_t bytes) {
  ldg_batch_place p = { .lo = (uintptr_t)at, .hi = (uintptr_t)at + (uint64_t)bytes };
  return bytes > 0 ? p : (ldg_batch_place){ 0 };
}

ldg_batch_place ldg_batch_place_of(const ldg_side *s, int64_t lo, int64_t hi) {
  ldg_batch_place p = { .rep = s->rep, .count = s->count, .extent = s->extent, .base = (uintptr_t)s->base };
  ldg_rep items;
  int64_t from, to;
  if (lo >= hi) return p;
  if (s->count == 1) ldg_rep_hull(s->rep, lo, hi, &from, &to);
  else if (ldg_rep_repeat_in(&items, s->count, s->extent, s->rep)) return p.hi = UINT64_MAX, p; /* anywhere */
  else ldg_rep_hull(&items, lo, hi, &from, &to);
  p.lo = p.base + (uint64_t)from, p.hi = p.base + (uint64_t)to;
  return p;
}

/* ---- boxes ---- */

static bool add_loop(ldg_batch_box *b, int64_t n, int64_t stride) {
  if (n == 1 || stride == 0) return true;
  if (b->nd == LDG_BATCH_LOOPS) return false;
  if (stride < 0) b->at += (n - 1) * stride;
  b->loop[b->nd++] = (ldg_batch_loop){ llabs(stride), n };
  return true;
}

static bool box_of(const ldg_batch_place *p, ldg_batch_box *b) {
  ldg_term t;
  *b = (ldg_batch_box){ .at = (int64_t)p->lo, .block = (int64_t)(p->hi - p->lo) };
  if (!p->rep) return true;
  if (ldg_nest_terms(p->rep, &t, 1) != 1) return false;
  b->at = (int64_t)(p->base + (uint64_t)t.src), b->block = t.nest.block;
  for (int i = 0; i < t.nest.nd; i++)
    if (!add_loop(b, t.nest.dim[i].n, t.nest.dim[i].src)) return false;
  return add_loop(b, p->count, p->extent);
}

static bool has_box(ldg_batch_place *p) {
  if (!p->boxes) p->boxes = box_of(p, &p->box) ? 1 : LDG_BATCH_NO_BOX;
  return p->boxes == 1;
}

/* ---- the search: loops of a count up, loops of b down ---- */

/* d in [from, to] steps of gap; what the loops behind it can still add is in [down, up]. */
typedef struct way { int64_t gap, from, to; __int128 down, up; } way;
typedef struct search { way w[2 * LDG_BATCH_LOOPS]; int n, steps; int64_t before, behind; } search;

/* Loops of one gap on both sides are one. */
static void add_way(search *s, int64_t gap, int64_t from, int64_t to) {
  for (int i = 0; i < s->n; i++)
    if (s->w[i].gap == gap) {
      s->w[i].from += from, s->w[i].to += to;
      return;
    }
  int i = s->n++;
  for (; i > 0 && s->w[i - 1].gap < gap; i--) s->w[i] = s->w[i - 1];
  s->w[i] = (way){ gap, from, to, 0, 0 };
}

static void sum_up(search *s) {
  for (int i = s->n - 2; i >= 0; i--) {
    const way *in = &s->w[i + 1];
    s->w[i].down = in->down + (__int128)in->from * in->gap, s->w[i].up = in->up + (__int128)in->to * in->gap;
  }
}

static int64_t floor_div(__int128 x, int64_t y) {
  const __int128 q = x / y - (x % y < 0);
  return q > INT64_MAX ? INT64_MAX : q < -INT64_MAX ? -INT64_MAX : (int64_t)q;
}

/* Some block of a starts less than `behind` after, or less than `before` before one of b. True also when steps run out. */
static bool may_meet(search *s, int i, __int128 off) {
  if (i == s->n) return off > -s->before && off < s->behind;
  const way *w = &s->w[i];
  const int64_t from = ldg_max(w->from, -floor_div(off + w->up + s->before - 1, w->gap));
  const int64_t to = ldg_min(w->to, floor_div(s->behind - 1 - off - w->down, w->gap));
  for (int64_t d = from; d <= to; d++)
    if (--s->steps < 0 || may_meet(s, i + 1, off + (__int128)d * w->gap)) return true;
  return false;
}

#define STEPS 128

bool ldg_batch_apart(ldg_batch_place *a, ldg_batch_place *b) {
  if (ldg_batch_spans_apart(a, b)) return true;
  if (!has_box(a) || !has_box(b)) return false;
  search s = { .steps = STEPS, .before = a->box.block, .behind = b->box.block };
  for (int i = 0; i < a->box.nd; i++) add_way(&s, a->box.loop[i].gap, 0, a->box.loop[i].n - 1);
  for (int i = 0; i < b->box.nd; i++) add_way(&s, b->box.loop[i].gap, 1 - b->box.loop[i].n, 0);
  sum_up(&s);
  return !may_meet(&s, 0, (__int128)a->box.at - b->box.at);
}
