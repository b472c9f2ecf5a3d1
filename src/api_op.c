/* Reductions while moving. Whole messages of one kind of element, and runs of them, go straight to an op; the rest is checked first. */
#include "api.h"
#include "exec_range.h"
#include "plan_pair.h"

bool lading_op_supported(lading_op op, lading_elem elem) {
  if ((unsigned)op >= LADING_OP_MAX || (unsigned)elem >= LADING_ELEM_MAX) return false;
  return op == LADING_REPLACE || ldg_plan_op(op, elem);
}

bool ldg_api_all_support(lading_op op, uint32_t kinds) {
  for (; kinds; kinds &= kinds - 1)
    if (op != LADING_REPLACE && !ldg_plan_op(op, (lading_elem)__builtin_ctz(kinds))) return false;
  return true;
}

/* Both ends of the stream are; elsewhere it takes a division or two. */
static bool boundaries(ldg_sig s, int64_t all, int64_t lo, int64_t hi) {
  return (lo == 0 || ldg_elements_boundary(s, lo)) && (hi == all || ldg_elements_boundary(s, hi));
}

static bool valid_op(lading_op op) { return (unsigned)op < LADING_OP_MAX; }
/* A kernel of complex numbers adds their parts. */
static inline bool adds_numbers(lading_op op, int kind) { return op == LADING_SUM && kind != LADING_C_FLOAT && kind != LADING_C_DOUBLE; }

/* ---- pack, unpack ---- */

int ldg_api_elements(const lading_type *t, int64_t count, lading_op op, int64_t lo, int64_t hi, ldg_sig *out) {
  const int e = ldg_build_sig_times(t->sig, count, out);
  if (e) return e;
  const int64_t all = count * t->rep->size;
  if (lo < 0 || lo > hi || hi > all) return LADING_ERR_RANGE;
  if (t->sig.n && !ldg_api_all_support(op, t->sig.node->kinds)) return LADING_ERR_UNSUPPORTED;
  return boundaries(*out, all, lo, hi) ? LADING_OK : LADING_ERR_ARG;
}

static int move_op(const lading_type *t, int64_t count, int dir, const void *mem, const void *packed, int64_t lo, int64_t hi, lading_op op) {
  const ldg_plan *p;
  ldg_side s;
  ldg_reduction r = { op, { 0 } };
  if (!valid_op(op)) return LADING_ERR_ARG;
  int e = ldg_api_side(t, count, mem, &p, &s);
  if (!e) e = ldg_api_elements(t, count, op, lo, hi, &r.sig);
  if (!e && !packed && lo < hi) e = LADING_ERR_ARG;
  if (e) return e;
  if (lo < hi) ldg_exec_op(p, count, dir, &r, mem, packed, lo, hi);
  return LADING_OK;
}

/* The op, when all of the count's bytes are one run of one kind, with [lo, hi) good in it; else NULL. No plan is needed. */
static inline const ldg_op *run_op(const lading_type *t, int64_t count, int64_t lo, int64_t hi, lading_op op) {
  if (!t || !valid_op(op) || t->sig.n == 0 || t->sig.node->kind < 0 || t->rep->runs != 1) return NULL;
  int64_t size = t->rep->size;
  int64_t end;
  if (count != 1 && (t->ub - t->lb != size || count < 0 || ldg_mul(count, size, &size) || ldg_add(t->rep->first, size, &end))) return NULL;
  const ldg_op *k = ldg_plan_op(op, (lading_elem)t->sig.node->kind);
  return k && lo >= 0 && lo <= hi && hi <= size && ldg_op_ends(k, lo) && ldg_op_ends(k, hi) ? k : NULL;
}

/* A whole message: nothing is left to check but whether there is such an op. */
typedef struct whole { const ldg_plan *plan; const ldg_job *job; const ldg_op *op; int64_t n; } whole;
static inline bool is_whole(const lading_type *t, int64_t count, int dir, const void *packed, int64_t lo, int64_t hi, lading_op op, whole *w) {
  if (!t || !packed || !valid_op(op)) return false;
  w->plan = ldg_api_plan_made(t), w->job = ldg_plan_whole(w->plan, count, dir, lo, hi, &w->n);
  if (!w->job || t->sig.n == 0 || t->sig.node->kind < 0) return false;
  return (w->op = ldg_plan_op(op, (lading_elem)t->sig.node->kind)) != NULL;
}

/* Through a tile on the stack, by the jobs that there are. */
static __attribute__((noinline)) bool tile_few(const whole *w, int64_t count, int dir, char *at, char *line, int64_t hi) {
  char room[LDG_PLAN_TILE + LDG_LINE_BYTES], *const tile = ldg_aligned(room);
  int64_t n = w->n;
  const ldg_job *pack = dir == LDG_PACK ? w->job : ldg_plan_whole(w->plan, count, LDG_PACK, 0, hi, &n);
  if (!pack) return false;
  ldg_job_run(pack, at, tile, 0, n);
  w->op->dense(dir == LDG_PACK ? tile : line, dir == LDG_PACK ? line : tile, ldg_op_elements(w->op, hi));
  if (dir == LDG_UNPACK) ldg_job_run(w->job, tile, at, 0, w->n);
  return true;
}

/* By a kernel of the plan's and of packed bytes, if there is one; behind its last period by others. */
static __attribute__((noinline)) bool by_kernel(const lading_type *t, const whole *w, int64_t count, int dir, const void *mem, const void *packed, int64_t hi, lading_op op) {
  const ldg_items items = { w->plan, count, mem }, line = { NULL, 0, packed };
  const ldg_reduce how = ldg_pair_reduce(op, (lading_elem)t->sig.node->kind);
  ldg_reduction r = { op, { 0 } };
  int64_t from, to;
  if (!how.how || !ldg_pair_run(dir == LDG_PACK ? &items : &line, dir == LDG_PACK ? &line : &items, &how, 0, hi, &from, &to)) return false;
  if (to < hi && !ldg_build_sig_times(t->sig, count, &r.sig)) ldg_exec_op(w->plan, count, dir, &r, mem, ldg_at(packed, to), to, hi); /* the items fit: all of them do */
  return true;
}

static bool move_whole(const lading_type *t, int64_t count, int dir, const void *mem, const void *packed, int64_t lo, int64_t hi, lading_op op) {
  whole w;
  if (!is_whole(t, count, dir, packed, lo, hi, op, &w)) return false;
  char *const at = (char *)(uintptr_t)ldg_at(mem, w.plan->at), *const line = (char *)(uintptr_t)packed, *const src = dir == LDG_PACK ? at : line, *const dst = dir == LDG_PACK ? line : at;
  const ldg_op_way way = ldg_plan_op_way(w.plan, count, dir, (lading_elem)t->sig.node->kind, w.op->size);
  const ldg_nest *nest = &w.job->nest;
  if (way == LDG_OP_TILES ? hi > LDG_PLAN_TILE : way != LDG_OP_BLOCKS || !nest->block) return false; /* who goes on there looks for a kernel */
  if (ldg_pair_may(hi) && !(adds_numbers(op, t->sig.node->kind) && ldg_pair_none(nest, w.op->size)) && by_kernel(t, &w, count, dir, mem, packed, hi, op)) return true;
  if (way == LDG_OP_TILES) return tile_few(&w, count, dir, at, line, hi);
  if (nest->nd == 1 && !nest->at) ldg_exec_op_row(w.op, src, dst, w.n, nest->block, nest->dim->src, nest->dim->dst);
  else ldg_exec_nest_op(w.op, nest, src, dst, 0, w.n);
  return true;
}

/* All but what is over at once; a run needs no plan. */
static int move_more(const lading_type *t, int64_t count, int dir, const void *mem, const void *packed, int64_t lo, int64_t hi, lading_op op) {
  if (op == LADING_REPLACE) return dir == LDG_PACK ? lading_pack(t, count, mem, (char *)(uintptr_t)packed, lo, hi) : lading_unpack(t, count, (char *)(uintptr_t)mem, packed, lo, hi);
  if (move_whole(t, count, dir, mem, packed, lo, hi, op)) return LADING_OK;
  const ldg_op *k = packed ? run_op(t, count, lo, hi, op) : NULL;
  if (!k) return move_op(t, count, dir, mem, packed, lo, hi, op);
  const char *const at = ldg_at(mem, t->rep->first + lo);
  return k->dense(dir == LDG_PACK ? at : packed, (char *)(uintptr_t)(dir == LDG_PACK ? packed : at), ldg_op_elements(k, hi - lo));
}
static __attribute__((noinline)) int pack_more(const lading_type *t, int64_t count, const void *mem, const void *packed, int64_t lo, int64_t hi, lading_op op) {
  return move_more(t, count, LDG_PACK, mem, packed, lo, hi, op);
}
static __attribute__((noinline)) int unpack_more(const lading_type *t, int64_t count, const void *mem, const void *packed, int64_t lo, int64_t hi, lading_op op) {
  return move_more(t, count, LDG_UNPACK, mem, packed, lo, hi, op);
}

/* The one loop of an item, of so many times. */
LDG_INLINE int loop(const ldg_op *k, const ldg_nest *n, int64_t times, int dir, const char *src, char *dst) {
  const int64_t m = ldg_op_elements(k, n->block);
  if (n->at) return k->listed(src, dst, times, m, n->at, dir == LDG_PACK ? n->dim->dst : n->dim->src, dir == LDG_UNPACK);
  return k->strided(src, dst, times, m, n->dim->src, n->dim->dst);
}

/* One item of one loop, long enough for a kernel of its own: if no kernel is for such, that is all. */
LDG_INLINE int move_loop(const lading_type *t, int dir, const void *mem, const void *packed, int64_t hi, lading_op op) {
  const ldg_plan *p = ldg_api_plan_made(t);
  const ldg_op *k = ldg_plan_op(op, (lading_elem)t->sig.node->kind);
  const ldg_nest *n = &p->one.job[dir].nest;
  const char *const at = ldg_at(mem, p->at);
  if (!adds_numbers(op, t->sig.node->kind) || !ldg_pair_none(n, k->size)) return dir == LDG_PACK ? pack_more(t, 1, mem, packed, 0, hi, op) : unpack_more(t, 1, mem, packed, 0, hi, op);
  return loop(k, n, p->one.n, dir, dir == LDG_PACK ? at : packed, (char *)(uintptr_t)(dir == LDG_PACK ? packed : at));
}
static __attribute__((noinline)) int pack_loop(const lading_type *t, const void *mem, const void *packed, int64_t hi, lading_op op) { return move_loop(t, LDG_PACK, mem, packed, hi, op); }
static __attribute__((noinline)) int unpack_loop(const lading_type *t, const void *mem, const void *packed, int64_t hi, lading_op op) { return move_loop(t, LDG_UNPACK, mem, packed, hi, op); }

/* One item of one kind of element, of one run or loop, or so short that no kernel is for it: whoever returns this goes there, and does not come back. */
LDG_INLINE int move(const lading_type *t, int64_t count, int dir, const void *mem, const void *packed, int64_t lo, int64_t hi, lading_op op) {
  const ldg_plan *p = t ? ldg_api_plan_made(t) : NULL;
  if (!p || !packed || count != 1 || !ldg_plan_is_one(p, lo, hi) || !valid_op(op) || !t->sig.node || t->sig.node->kind < 0) goto more;
  const ldg_op *k = ldg_plan_op_made(op, (lading_elem)t->sig.node->kind);
  const ldg_nest *n = &p->one.job[dir].nest;
  if (!k || atomic_load_explicit(&p->op_way[LDG_OP_ONE][dir][t->sig.node->kind], memory_order_relaxed) != LDG_OP_BLOCKS || !n->block) goto more;
  const char *const at = ldg_at(mem, p->at), *const src = dir == LDG_PACK ? at : packed;
  char *const dst = (char *)(uintptr_t)(dir == LDG_PACK ? packed : at);
  if (n->nd != 1 || n->psum) {
    if (hi >= LDG_PAIR_LEAST) goto more;
    return ldg_exec_nest_op(k, n, src, dst, 0, p->one.n);
  }
  if (n->dim->src == n->block && n->dim->dst == n->block) return k->dense(src, dst, ldg_op_elements(k, hi));
  if (hi >= LDG_PAIR_LEAST) return dir == LDG_PACK ? pack_loop(t, mem, packed, hi, op) : unpack_loop(t, mem, packed, hi, op);
  return loop(k, n, p->one.n, dir, src, dst);
more:
  return dir == LDG_PACK ? pack_more(t, count, mem, packed, lo, hi, op) : unpack_more(t, count, mem, packed, lo, hi, op);
}

int lading_pack_op(const lading_type *type, int64_t count, const void *mem, void *packed, int64_t lo, int64_t hi, lading_op op) {
  return move(type, count, LDG_PACK, mem, packed, lo, hi, op);
}
int lading_unpack_op(const lading_type *type, int64_t count, void *mem, const void *packed, int64_t lo, int64_t hi, lading_op op) {
  return move(type, count, LDG_UNPACK, mem, packed, lo, hi, op);
}

/* ---- copy ---- */

static bool all_bytes(ldg_sig s) { return s.n == 0 || s.node->kind == LADING_BYTE; }

/* Of types, however many items there are: none of one that the op is not for is an error, too. */
static bool both_support(ldg_sig s, ldg_sig d, lading_op op) {
  const ldg_sig typed = all_bytes(s) ? d : s;
  return typed.n == 0 || ldg_api_all_support(op, typed.node->kinds | (all_bytes(d) ? 0 : d.node->kinds));
}

/* The elements of both sides of a copy: bytes alone are whatever the other side says. */
static int common_elements(ldg_sig s, ldg_sig d, int64_t lo, int64_t hi, ldg_sig *out) {
  const bool untyped = all_bytes(s) || all_bytes(d);
  *out = all_bytes(s) ? d : s;
  if (!boundaries(*out, out->n ? out->n * out->node->size : 0, lo, hi)) return LADING_ERR_ARG;
  return untyped || ldg_elements_agree(s, d, lo, hi) ? LADING_OK : LADING_ERR_ARG;
}

int ldg_api_common_elements(const lading_type *st, int64_t sc, const lading_type *dt, int64_t dc, lading_op op, int64_t lo, int64_t hi, ldg_sig *out) {
  ldg_sig ss, ds;
  int e = ldg_build_sig_times(st->sig, sc, &ss);
  if (!e) e = ldg_build_sig_times(dt->sig, dc, &ds);
  if (e) return e;
  if (lo < 0 || lo > hi || hi > ldg_min(sc * st->rep->size, dc * dt->rep->size)) return LADING_ERR_RANGE;
  return both_support(st->sig, dt->sig, op) ? common_elements(ss, ds, lo, hi, out) : LADING_ERR_UNSUPPORTED;
}

/* Whole messages of a few elements of one kind: packed, reduced and unpacked by the jobs that there are. */
static __attribute__((noinline)) bool copy_few(const lading_type *st, int64_t sc, const void *src, const lading_type *dt, int64_t dc, void *dst, int64_t lo, int64_t hi, lading_op op) {
  char from[LDG_PLAN_FEW], to[LDG_PLAN_FEW];
  int64_t n = 0, m = 0, k = 0;
  if (!st || !dt || hi > LDG_PLAN_FEW || ldg_pair_may(hi) || !st->sig.node || !dt->sig.node || st->sig.node->kind < 0 || st->sig.node->kind != dt->sig.node->kind) return false;
  const ldg_op *o = ldg_plan_op(op, (lading_elem)st->sig.node->kind);
  const ldg_plan *sp = ldg_api_plan_made(st), *dp = ldg_api_plan_made(dt);
  const ldg_job *pack = ldg_plan_whole(sp, sc, LDG_PACK, lo, hi, &n), *fetch = ldg_plan_whole(dp, dc, LDG_PACK, lo, hi, &m), *unpack = ldg_plan_whole(dp, dc, LDG_UNPACK, lo, hi, &k);
  if (!o || !pack || !fetch || !unpack || !ldg_plan_is_distinct(dp, dc)) return false;
  char *const at = (char *)(uintptr_t)ldg_at(dst, dp->at);
  ldg_job_run(pack, ldg_at(src, sp->at), from, 0, n), ldg_job_run(fetch, at, to, 0, m);
  o->dense(from, to, ldg_op_elements(o, hi));
  ldg_job_run(unpack, to, at, 0, k);
  return true;
}

int lading_copy_op(const lading_type *st, int64_t sc, const void *src, const lading_type *dt, int64_t dc, void *dst, int64_t lo, int64_t hi,
                   lading_op op) {
  const ldg_plan *sp, *dp;
  ldg_side s, d;
  ldg_reduction r = { op, { 0 } };
  if (op == LADING_REPLACE) return lading_copy(st, sc, src, dt, dc, dst, lo, hi);
  if (!valid_op(op)) return LADING_ERR_ARG;
  if (copy_few(st, sc, src, dt, dc, dst, lo, hi, op)) return LADING_OK;
  int e = ldg_api_side(st, sc, src, &sp, &s);
  if (!e) e = ldg_api_side(dt, dc, dst, &dp, &d);
  if (!e) e = ldg_api_common_elements(st, sc, dt, dc, op, lo, hi, &r.sig);
  if (!e) ldg_exec_move_op(sp, &s, dp, &d, &r, lo, hi);
  return e;
}
