/* pack, unpack and copy on the caller's threads: ranges of one call, cut at cache lines of the packed side. */
#include "api.h"

#include "base_model.h"

#define LINE 64

/* Bytes [0, n) of a call in `parts` parts of `step` bytes each; the first one is `head` bytes longer, the last one ends at n. */
typedef struct cut { int64_t n, head, step, parts; } cut;

static cut one_part(int64_t n) { return (cut){ n, 0, n, 1 }; }

/* As many parts as have enough to do, by the model; `at` is the address to align to. */
static cut cut_into(int64_t n, int64_t ways, double ns, uintptr_t at) {
  ways = ldg_model_parts(ns, ways);
  const int64_t head = (int64_t)(-at & (LINE - 1)), lines = n > head ? (n - head - 1) / LINE + 1 : 0;
  if (ways < 2 || lines < 2) return one_part(n);
  const int64_t step = (lines / ways + (lines % ways != 0)) * LINE;
  return (cut){ n, head, step, (n - head) / step + ((n - head) % step != 0) };
}

static int64_t part_lo(const cut *c, int64_t i) { return i ? c->head + i * c->step : 0; }
static int64_t part_hi(const cut *c, int64_t i) { return i + 1 < c->parts ? c->head + (i + 1) * c->step : c->n; }

/* ---- pack, unpack ---- */

typedef struct move { const ldg_plan *plan; int64_t count; int dir; const char *mem, *packed; int64_t lo; cut cut; } move;

static void move_part(void *arg, int64_t i) {
  const move *m = arg;
  const int64_t lo = part_lo(&m->cut, i), hi = part_hi(&m->cut, i);
  ldg_exec(m->plan, m->count, m->dir, m->mem, ldg_at(m->packed, lo), m->lo + lo, m->lo + hi);
}

static int move_threads(const lading_type *t, int64_t count, int dir, const void *mem, const void *packed, int64_t lo, int64_t hi,
                        lading_parallel_for *pf, void *ctx, int64_t ways) {
  const ldg_plan *p;
  ldg_side items;
  const int e = ldg_api_side(t, count, mem, &p, &items);
  if (e) return e;
  if (lo < 0 || lo > hi || hi > count * p->size) return LADING_ERR_RANGE;
  if (!packed && lo < hi) return LADING_ERR_ARG;
  move m = { p, count, dir, mem, packed, lo, one_part(hi - lo) };
  if (pf && ways > 1 && lo < hi && (dir == LDG_PACK || ldg_plan_is_distinct(p, count)))
    m.cut = cut_into(hi - lo, ways, ldg_plan_cost(p, count, dir, hi - lo), (uintptr_t)packed);
  if (m.cut.parts > 1) pf(ctx, m.cut.parts, move_part, &m);
  else move_part(&m, 0);
  return LADING_OK;
}

int lading_pack_threads(const lading_type *type, int64_t count, const void *mem, void *packed, int64_t lo, int64_t hi,
                        lading_parallel_for *pf, void *ctx, int64_t ways) {
  return move_threads(type, count, LDG_PACK, mem, packed, lo, hi, pf, ctx, ways);
}

int lading_unpack_threads(const lading_type *type, int64_t count, void *mem, const void *packed, int64_t lo, int64_t hi,
                          lading_parallel_for *pf, void *ctx, int64_t ways) {
  return move_threads(type, count, LDG_UNPACK, mem, packed, lo, hi, pf, ctx, ways);
}

/* ---- copy ---- */

typedef struct transfer { const ldg_plan *sp, *dp; ldg_side src, dst; int64_t lo; cut cut; } transfer;

static void copy_part(void *arg, int64_t i) {
  const transfer *c = arg;
  ldg_exec_move(c->sp, &c->src, c->dp, &c->dst, c->lo + part_lo(&c->cut, i), c->lo + part_hi(&c->cut, i));
}

int lading_copy_threads(const lading_type *st, int64_t sc, const void *src, const lading_type *dt, int64_t dc, void *dst, int64_t lo,
                        int64_t hi, lading_parallel_for *pf, void *ctx, int64_t ways) {
  transfer c = { .lo = lo };
  int e = ldg_api_side(st, sc, src, &c.sp, &c.src);
  if (!e) e = ldg_api_side(dt, dc, dst, &c.dp, &c.dst);
  if (e) return e;
  if (lo < 0 || lo > hi || hi > ldg_min(sc * c.src.rep->size, dc * c.dst.rep->size)) return LADING_ERR_RANGE;
  c.cut = one_part(hi - lo);
  if (pf && ways > 1 && lo < hi && ldg_plan_is_distinct(c.dp, dc)) {
    const double from = ldg_plan_cost(c.sp, sc, LDG_PACK, hi - lo), to = ldg_plan_cost(c.dp, dc, LDG_UNPACK, hi - lo);
    c.cut = cut_into(hi - lo, ways, from > to ? from : to, 0);
  }
  if (c.cut.parts > 1) pf(ctx, c.cut.parts, copy_part, &c);
  else copy_part(&c, 0);
  return LADING_OK;
}
