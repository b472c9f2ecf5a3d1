/* Reductions through tiles: what is not packed is packed, reduced there, and unpacked where it is the destination. So all strategies of moves
 * count, and blocks may split elements. The destination's bytes never coincide. */
#include "exec_elements.h"
#include "exec_range.h"

enum { LINE = 64, PAGE = 4096, APART = 17 * LINE }; /* two tiles never begin at the same place of a page: stores would look like those that loads wait for */

/* ---- packed bytes ---- */

typedef struct lines { const ldg_reduction *r; const ldg_op *op; const char *src; char *dst; } lines; /* places of byte `lo` of a tile; op: of all elements, or NULL */

/* Bytes [lo, hi) of the stream, element by element. */
static void by_elements(const lines *l, int64_t lo, int64_t hi) {
  ldg_elements e;
  ldg_elements_seek(&e, l->r->sig, LDG_PACKED, lo, NULL);
  for (int64_t n; lo < hi; lo += n) {
    const ldg_op *op = ldg_plan_op(l->r->op, e.kind);
    const int64_t k = ldg_min(e.n, ldg_op_elements(op, hi - lo));
    op->dense(ldg_at(l->src, lo), ldg_at(l->dst, lo), k);
    ldg_elements_take(&e, k), n = k * op->size;
  }
}

/* The sequence of elements that all of the stream repeats, n times from byte lo on: each run of it over all of them. */
static void by_runs(const lines *l, int64_t lo, int64_t n) {
  const ldg_sig one = { 1, l->r->sig.node };
  const int64_t size = one.node->size;
  ldg_elements e;
  ldg_elements_seek(&e, one, LDG_PACKED, 0, NULL);
  for (int64_t at = 0, bytes; at < size; at += bytes) {
    const ldg_op *op = ldg_plan_op(l->r->op, e.kind);
    bytes = e.n * op->size;
    ldg_exec_op_row(op, ldg_at(l->src, lo + at), ldg_at(l->dst, lo + at), n, bytes, size, size);
    ldg_elements_take(&e, e.n);
  }
}

enum { REPEATS = 4 }; /* from so many on what it takes to find them is worth it */
static void reduce(const lines *l, int64_t lo, int64_t hi) {
  if (l->op) { l->op->dense(ldg_at(l->src, lo), ldg_at(l->dst, lo), ldg_op_elements(l->op, hi - lo)); return; }
  const int64_t size = l->r->sig.node->size, from = (lo + size - 1) / size, to = hi / size;
  if (to - from < REPEATS) { by_elements(l, lo, hi); return; }
  by_elements(l, lo, from * size);
  by_runs(l, from * size, to - from);
  by_elements(l, to * size, hi);
}

/* ---- tiles ---- */

/* Where at most `most` bytes from lo on end between two elements; whole repetitions, if there is one. */
static int64_t end_of(const lines *l, int64_t lo, int64_t hi, int64_t most) {
  const int64_t size = l->op ? l->op->size : l->r->sig.node->size;
  if (hi - lo <= most) return hi;
  if (l->op || size <= most) return lo + most - (l->op ? most % size : (lo + most) % size);
  int64_t end = lo + most;
  while (!ldg_elements_boundary(l->r->sig, end)) end--;
  return end;
}

static void tile(const ldg_items *src, const ldg_items *dst, lines *l, char *a, char *b, int64_t lo, int64_t hi) {
  if (src->plan) ldg_exec(src->plan, src->count, LDG_PACK, src->base, a, lo, hi);
  if (dst->plan) ldg_exec(dst->plan, dst->count, LDG_PACK, dst->base, b, lo, hi);
  l->src = src->plan ? ldg_at(a, -lo) : src->base, l->dst = dst->plan ? ldg_at(b, -lo) : (char *)(uintptr_t)dst->base;
  reduce(l, lo, hi);
  if (dst->plan) ldg_exec(dst->plan, dst->count, LDG_UNPACK, dst->base, b, lo, hi);
}

/* Where two sides are packed, both tiles together are as long as one. Packed bytes alone need none. */
void ldg_exec_op_tiles(const ldg_items *src, const ldg_items *dst, const ldg_reduction *r, int64_t lo, int64_t hi) {
  char small[LDG_PLAN_TILE + APART + LINE];
  const bool both = src->plan && dst->plan, any = src->plan || dst->plan;
  int64_t most = any ? ldg_min(ldg_plan_tile(src->plan, dst->plan) >> both, hi - lo) : hi - lo, least = LDG_PLAN_TILE >> both;
  const int64_t pages = both ? (most + PAGE - 1) & -PAGE : 0;
  char *const large = any && most > least ? ldg_alloc(pages + most + APART + LINE) : NULL;
  if (any && !large) most = ldg_min(most, least);
  char *const room = large ? large : small, *const a = ldg_aligned(room), *const b = both ? ldg_at(a, (large ? pages : least) + APART) : a;
  lines l = { .r = r, .op = ldg_exec_op_of(r) };
  for (int64_t end; lo < hi; lo = end) {
    end = end_of(&l, lo, hi, most);
    tile(src, dst, &l, a, b, lo, end);
  }
  ldg_free(large);
}
