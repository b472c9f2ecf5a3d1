/* What coincides, in turns: pieces of the stream between which its order is kept, so that each of them can be moved, or reduced, by as many threads as there are. The tree says
 * where to cut: a part of it that holds no place twice is a piece, any other one is cut into its own parts, or left to a single thread where that costs less. */
#include "queue.h"

/* A part of the stream: bytes [lo, hi), inside of what `r` at `base` describes from stream byte `pos` on. */
typedef struct part { const ldg_rep *r; int64_t base, pos, lo, hi; } part;

typedef struct cutter {
  int64_t least;  /* bytes that are worth a turn */
  int64_t looks;  /* that are left: entries of lists */
  bool reduces;   /* what is written first counts as well */
  int n, max;
  ldg_turn *turn;
} cutter;

/* A launch behind another one takes 2 to 3 us, a word by a single thread 0.14 us at least (4096 of them at one place on an H200: 568 us; 61208 words of 26 boxes: 7 us each). */
enum { WORDS_LEAST = 32 };
enum { LOOKS_MOST = 1 << 16 };

static bool look(cutter *c, int64_t n) { return (c->looks -= n) >= 0; }

/* The longest way of a proof. */
static int64_t entries_of(const ldg_rep *r) {
  int64_t n = r->at ? r->n : 1;
  if (r->child) n += entries_of(r->child);
  for (int64_t i = 0; r->kids && i < r->n; i++) n += entries_of(r->kids[i]);
  return n;
}

/* Provably no place twice. No looks left: who knows. */
static bool apart(cutter *c, const ldg_rep *r) { return r->nodes <= c->looks && look(c, entries_of(r)) && ldg_rep_disjoint(r); }

static bool can_join(const ldg_turn *last, const ldg_turn *next) {
  if (last->hi != next->lo || last->ordered != next->ordered) return false;
  return next->ordered || next->from >= last->to || next->to <= last->from;
}

/* False: there is no room. */
static bool add(cutter *c, const part *p, bool ordered) {
  const ldg_turn t = { p->lo, p->hi, ldg_rep_move(p->base, p->r->lo), ldg_rep_move(p->base, p->r->hi), ordered };
  ldg_turn *const last = c->n ? &c->turn[c->n - 1] : NULL;
  if (last && can_join(last, &t)) {
    *last = (ldg_turn){ last->lo, t.hi, ldg_min(last->from, t.from), ldg_max(last->to, t.to), ordered };
    return true;
  }
  if (c->n == c->max) return false;
  c->turn[c->n++] = t;
  return true;
}

static bool cut_up(cutter *c, const part *p);

/* What is cut into turns that are not worth it is put together again. */
static bool cut(cutter *c, const part *p, bool is_apart) {
  const int n = c->n;
  const ldg_turn last = n ? c->turn[n - 1] : (ldg_turn){ .lo = 0 };
  if (is_apart) return add(c, p, false);
  if (cut_up(c, p) && (c->n <= n + 1 || (c->n - n) * c->least <= p->hi - p->lo)) return true;
  c->n = n;
  if (n) c->turn[n - 1] = last;
  return add(c, p, true);
}

/* `r` with its first byte at stream byte pos, as far as it is in p. */
static part inner(const part *p, const ldg_rep *r, int64_t base, int64_t pos) {
  return (part){ r, base, pos, ldg_max(p->lo, pos), ldg_min(p->hi, pos + r->size) };
}

/* The most iterations that are provably apart, of those that are by themselves: at least one. */
static int64_t iterations_apart(cutter *c, const ldg_rep *r) {
  int64_t least = 1, most = r->stride ? r->n : 1;
  while (least + 1 < most) {
    ldg_rep some;
    const int64_t mid = least + (most - least) / 2;
    const bool yes = !ldg_rep_repeat_in(&some, mid, r->stride, r->child) && apart(c, &some);
    *(yes ? &least : &most) = mid;
  }
  return least;
}

/* Iterations all at one place: the last bytes, as many as one has, are written behind all others of theirs, and are all that stays. */
static bool cut_same(cutter *c, const part *p) {
  part last = *p;
  last.lo = ldg_max(p->lo, p->hi - p->r->child->size);
  if (apart(c, p->r->child)) return last.r = p->r->child, add(c, &last, false);
  bool room = true;
  for (int64_t i = (last.lo - p->pos) / p->r->child->size; room && look(c, 1) && p->pos + i * p->r->child->size < p->hi; i++) {
    const part one = inner(&last, p->r->child, p->base, p->pos + i * p->r->child->size);
    room = cut(c, &one, false);
  }
  return room && c->looks >= 0;
}

static bool cut_repeat(cutter *c, const part *p) {
  const ldg_rep *r = p->r;
  if (r->stride == 0 && !c->reduces) return cut_same(c, p);
  const bool is_apart = apart(c, r->child);
  const int64_t many = is_apart ? iterations_apart(c, r) : 1;
  bool room = true;
  for (int64_t i = (p->lo - p->pos) / r->child->size; room && look(c, 1) && i < r->n && p->pos + i * r->child->size < p->hi; i += many) {
    ldg_rep some;
    const int64_t base = (int64_t)((uint64_t)p->base + (uint64_t)i * (uint64_t)r->stride);
    if (ldg_rep_repeat_in(&some, ldg_min(many, r->n - i), r->stride, r->child)) return false;
    const part next = inner(p, is_apart ? &some : r->child, base, p->pos + i * r->child->size);
    room = cut(c, &next, is_apart);
  }
  return room && c->looks >= 0;
}

/* Blocks and joins. Neighbours that are of one kid are asked about once. */
static bool cut_entries(cutter *c, const part *p) {
  const ldg_rep *r = p->r, *asked = NULL;
  const int64_t first = r->psum ? ldg_rep_find(r->psum, r->n, p->lo - p->pos) : (p->lo - p->pos) / r->child->size;
  bool room = true, is_apart = false;
  for (int64_t i = first; room && look(c, 1) && i < r->n && p->pos + ldg_rep_starts(r, i) < p->hi; i++) {
    const ldg_rep *kid = r->kids ? r->kids[i] : r->child;
    ldg_rep some;
    const bool several = r->cnt && r->cnt[i] > 1;
    if (kid->size == 0 || (r->cnt && r->cnt[i] == 0)) continue;
    if (several && ldg_rep_repeat_in(&some, r->cnt[i], r->stride, kid)) return false;
    if (several || kid != asked) is_apart = apart(c, several ? &some : kid), asked = several ? NULL : kid;
    const part next = inner(p, several ? &some : kid, ldg_rep_move(p->base, r->at[i]), p->pos + ldg_rep_starts(r, i));
    room = cut(c, &next, is_apart);
  }
  return room && c->looks >= 0;
}

/* False: it cannot be, or would take too long. */
static bool cut_up(cutter *c, const part *p) {
  if (c->looks < 0 || p->r->kind == LDG_BYTES) return false;
  return p->r->kind == LDG_REPEAT ? cut_repeat(c, p) : cut_entries(c, p);
}

/* Two that have an element in common become one. How many there are. */
static int make_whole(const ldg_work *w, ldg_turn *turn, int n) {
  int last = 0;
  for (int i = 1; i < n; i++) {
    const ldg_turn t = turn[last], next = turn[i];
    if (w->reduction.op == LADING_REPLACE || ldg_elements_boundary(w->reduction.sig, t.hi)) turn[++last] = next;
    else turn[last] = (ldg_turn){ t.lo, next.hi, ldg_min(t.from, next.from), ldg_max(t.to, next.to), true };
  }
  return last + 1;
}

static int64_t word_of(const ldg_work *w) { return ldg_layout_grain(w->plan[LDG_DST]->layout); }

enum { FEW = 1024, MOST = 1 << 15, LONG = 256 /* words */ };
int ldg_queue_turns_most(const ldg_work *w) { return (int)ldg_min(MOST, ldg_max(FEW, (w->hi - w->lo) / word_of(w) / LONG)); }

int ldg_queue_turns(const ldg_work *w, ldg_turn *turn, int max) {
  const ldg_side *d = &w->side[LDG_DST];
  cutter c = { WORDS_LEAST * word_of(w), LOOKS_MOST, w->reduction.op != LADING_REPLACE, 0, max, turn };
  part all = { d->rep, 0, 0, w->lo, w->hi };
  ldg_rep items;
  turn[0] = (ldg_turn){ w->lo, w->hi, 0, 0, true };
  if (d->count > 1 && ldg_rep_repeat_in(&items, d->count, d->extent, d->rep)) return 1;
  if (d->count > 1) all.r = &items;
  cut(&c, &all, apart(&c, all.r));
  return make_whole(w, turn, c.n);
}
