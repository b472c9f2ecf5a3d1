/* Spans first; then whether some block of one box meets some block of the other, by a search through both their loops. */
#include "batch_apart.h"

#include "nest_tree.h"

#include <stdlib.h>

void ldg_batch_place_dense(ldg_batch_place *p, const void *at, int64_t bytes) {
  p->lo = bytes > 0 ? (uintptr_t)at : 0, p->hi = bytes > 0 ? (uintptr_t)at + (uint64_t)bytes : 0;
  p->rep = NULL, p->count = 1, p->extent = 0, p->base = 0, p->boxes = 0;
}

void ldg_batch_place_side(ldg_batch_place *p, const ldg_side *s, int64_t lo, int64_t hi) {
  ldg_rep items;
  int64_t from = 0, to = 0;
  p->lo = p->hi = 0, p->rep = s->rep, p->count = s->count, p->extent = s->extent, p->base = (uintptr_t)s->base, p->boxes = 0;
  if (lo >= hi) return;
  if (s->count == 1) ldg_rep_hull(s->rep, lo, hi, &from, &to);
  else if (ldg_rep_repeat_in(&items, s->count, s->extent, s->rep)) {
    p->hi = UINT64_MAX, p->boxes = LDG_BATCH_NO_BOX; /* anywhere */
    return;
  } else ldg_rep_hull(&items, lo, hi, &from, &to);
  p->lo = p->base + (uint64_t)from, p->hi = p->base + (uint64_t)to;
}

/* ---- boxes ---- */

/* With spans of no more than that, nothing below overflows. */
#define SPAN_MAX (INT64_C(1) << 60)

static bool add_loop(ldg_batch_box *b, int64_t n, int64_t stride) {
  int64_t reach;
  if (n == 1 || stride == 0) return true;
  if (b->nd == LDG_BATCH_LOOPS || __builtin_mul_overflow(n - 1, llabs(stride), &reach) || reach > SPAN_MAX) return false;
  if (stride < 0) b->at -= reach;
  b->loop[b->nd++] = (ldg_batch_loop){ llabs(stride), n };
  b->span += reach;
  return b->span <= SPAN_MAX;
}

static bool start_box(ldg_batch_box *b, int64_t at, int64_t block) {
  b->at = at, b->block = b->span = block, b->nd = 0;
  return block <= SPAN_MAX;
}

static bool box_of(const ldg_batch_place *p, ldg_batch_box *b) {
  ldg_term t;
  if (!p->rep) return start_box(b, (int64_t)p->lo, (int64_t)(p->hi - p->lo));
  if (ldg_nest_terms(p->rep, &t, 1) != 1 || !start_box(b, (int64_t)(p->base + (uint64_t)t.src), t.nest.block)) return false;
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
typedef struct way { int64_t gap, from, to, down, up; } way;
typedef struct search { way w[2 * LDG_BATCH_LOOPS]; int n; int64_t steps, before, behind; } search;

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
    s->w[i].down = in->down + in->from * in->gap, s->w[i].up = in->up + in->to * in->gap;
  }
}

static int64_t floor_div(int64_t x, int64_t y) { return x / y - (x % y < 0); }

/* Some block of a starts less than `behind` after, or less than `before` before one of b. True also when steps run out. */
static bool may_meet(search *s, int i, int64_t off) {
  if (i == s->n) return off > -s->before && off < s->behind;
  const way *w = &s->w[i];
  const int64_t from = ldg_max(w->from, -floor_div(off + w->up + s->before - 1, w->gap));
  const int64_t to = ldg_min(w->to, floor_div(s->behind - 1 - off - w->down, w->gap));
  for (int64_t d = from; d <= to; d++)
    if (--s->steps < 0 || may_meet(s, i + 1, off + d * w->gap)) return true;
  return false;
}

#define STEPS 128 /* for a pair */

/* Spans meet, so that the boxes begin no further apart than the longer one is. */
bool ldg_batch_boxes_apart(ldg_batch_place *a, ldg_batch_place *b, int64_t *looks) {
  if (!has_box(a) || !has_box(b)) return false;
  const int64_t most = ldg_min(STEPS, *looks);
  search s;
  s.n = 0, s.steps = most, s.before = a->box.block, s.behind = b->box.block;
  for (int i = 0; i < a->box.nd; i++) add_way(&s, a->box.loop[i].gap, 0, a->box.loop[i].n - 1);
  for (int i = 0; i < b->box.nd; i++) add_way(&s, b->box.loop[i].gap, 1 - b->box.loop[i].n, 0);
  sum_up(&s);
  const bool meet = may_meet(&s, 0, (int64_t)((uint64_t)a->box.at - (uint64_t)b->box.at));
  *looks -= most - ldg_max(0, s.steps);
  return !meet;
}
