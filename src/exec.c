/* Ranges: positions by division or by bisection of prefix sums, whole iterations by the step's job, and only the ragged ends
 * go down the tree: at most two paths, O(depth + log entries). */
#include "exec.h"
#include "exec_range.h"
#include "plan_pair.h"
#include "plan_tree.h"

static const char *from(const ldg_way *w, const char *mem, const char *packed) { return w->dir == LDG_PACK ? mem : packed; }
static char *to(const ldg_way *w, const char *mem, const char *packed) {
  return (char *)(uintptr_t)(w->dir == LDG_PACK ? packed : mem);
}

#define MOVES(w) __builtin_expect(!(w)->op, 1) /* rather than reduces */

static inline void leaf(const ldg_way *w, const char *mem, const char *packed, int64_t n) {
  if (MOVES(w)) memcpy(to(w, mem, packed), from(w, mem, packed), (size_t)n);
  else w->op->dense(from(w, mem, packed), to(w, mem, packed), n / w->op->size);
}

static void part(const ldg_step *child, const ldg_way *w, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  if (child) ldg_exec_range(child, w, mem, packed, lo, hi);
  else leaf(w, ldg_at(mem, lo), ldg_at(packed, lo), hi - lo);
}

/* Bytes [lo, hi) of iteration or entry i. */
static void entry_part(const ldg_step *s, int64_t i, const ldg_way *w, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  const ldg_rep *r = s->rep;
  const bool repeat = r->kind == LDG_REPEAT;
  mem = ldg_at(mem, repeat ? i * s->stride[0] : r->at[i]);
  packed = ldg_at(packed, repeat ? i * s->stride[1] : r->psum ? r->psum[i] : i * s->each);
  part(r->kind == LDG_JOIN ? s->kids[i] : s->child, w, mem, packed, lo, hi);
}

static void start(const ldg_step *s, int64_t i, const char **mem, const char **packed) {
  if (s->rep->kind == LDG_REPEAT) *mem = ldg_at(*mem, i * s->stride[0]), *packed = ldg_at(*packed, i * s->stride[1]);
}

/* Jobs know their nest; what goes down the tree by itself only copies. Out of the way of moves, which have less to do. */
static __attribute__((noinline)) void whole_op(const ldg_step *s, const ldg_way *w, const char *mem, const char *packed, int64_t i0, int64_t i1) {
  const ldg_nest *nest = &s->job[w->dir].nest;
  if (nest->block) {
    start(s, i0, &mem, &packed);
    ldg_exec_nest_op(w->op, nest, from(w, mem, packed), to(w, mem, packed), i0, i1 - i0);
  } else for (int64_t i = i0; i < i1; i++) {
    const int64_t size = s->rep->psum ? s->rep->psum[i + 1] - s->rep->psum[i] : s->each;
    if (size) entry_part(s, i, w, mem, packed, 0, size);
  }
}

static void whole(const ldg_step *s, const ldg_way *w, const char *mem, const char *packed, int64_t i0, int64_t i1) {
  const ldg_job *j = &s->job[w->dir];
  if (!MOVES(w)) {
    whole_op(s, w, mem, packed, i0, i1);
    return;
  }
  start(s, i0, &mem, &packed);
  j->run(j, from(w, mem, packed), to(w, mem, packed), i0, i1 - i0);
}

static void uniform(const ldg_step *s, const ldg_way *w, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  int64_t i0 = lo / s->each, i1 = hi / s->each;
  const int64_t head = lo - i0 * s->each, tail = hi - i1 * s->each;
  if (i0 == i1) { entry_part(s, i0, w, mem, packed, head, tail); return; }
  if (head) entry_part(s, i0++, w, mem, packed, head, s->each);
  if (i0 < i1) whole(s, w, mem, packed, i0, i1);
  if (tail) entry_part(s, i1, w, mem, packed, 0, tail);
}

static void summed(const ldg_step *s, const ldg_way *w, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  const int64_t *psum = s->rep->psum, n = s->rep->n;
  int64_t i0 = ldg_rep_find(psum, n, lo), i1 = hi == psum[n] ? n : ldg_rep_find(psum, n, hi);
  const int64_t head = lo - psum[i0], tail = hi - psum[i1];
  if (i0 == i1) { entry_part(s, i0, w, mem, packed, head, tail); return; }
  if (head) entry_part(s, i0, w, mem, packed, head, psum[i0 + 1] - psum[i0]), i0++;
  if (i0 < i1) whole(s, w, mem, packed, i0, i1);
  if (tail) entry_part(s, i1, w, mem, packed, 0, tail);
}

void ldg_exec_range(const ldg_step *s, const ldg_way *w, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  if (s->thin) ldg_tree_walk(s->rep, w->dir, mem, packed, lo, hi);
  else if (s->rep->kind == LDG_BYTES) leaf(w, ldg_at(mem, lo), ldg_at(packed, lo), hi - lo);
  else if (s->rep->psum) summed(s, w, mem, packed, lo, hi);
  else uniform(s, w, mem, packed, lo, hi);
}

/* Items that may overlap in memory, one after the other, so that the last in stream order stays. */
static void item_by_item(const ldg_plan *p, const ldg_way *w, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  for (int64_t i = lo / p->size; i * p->size < hi; i++)
    ldg_exec_range(&p->one, w, ldg_at(mem, i * p->extent), ldg_at(packed, i * p->size), ldg_max(lo - i * p->size, 0),
                   ldg_min(hi - i * p->size, p->size));
}

static void run(const ldg_plan *p, int64_t count, const ldg_way *w, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  if (lo == hi) return;
  mem = ldg_at(mem, p->at), packed = ldg_at(packed, -lo);
  if (count == 1 && hi - lo == p->size && MOVES(w)) whole(&p->one, w, mem, packed, 0, p->one.n); /* no division for whole messages */
  else if (count == 1) ldg_exec_range(&p->one, w, mem, packed, lo, hi);
  else if (w->dir == LDG_UNPACK && count > p->distinct && p->distinct > 1) item_by_item(p, w, mem, packed, lo, hi);
  else if (hi - lo == count * p->size) whole(&p->many, w, mem, packed, 0, count * p->per);
  else ldg_exec_range(&p->many, w, mem, packed, lo, hi);
}

void ldg_exec(const ldg_plan *p, int64_t count, int dir, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  static const ldg_way move[] = { { LDG_PACK, NULL }, { LDG_UNPACK, NULL } };
  run(p, count, &move[dir], mem, packed, lo, hi);
}

/* Elements of one kind that no block splits are reduced by the plan, all others element by element. */
static void reduce(const ldg_plan *p, int64_t count, int dir, const ldg_reduction *r, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  const ldg_way w = { dir, ldg_exec_op_of(r) };
  if (w.op && !p->one.thin && ldg_plan_grain(p) % w.op->size == 0) run(p, count, &w, mem, packed, lo, hi);
  else ldg_exec_op_items(p, count, dir, r, mem, ldg_at(packed, -lo), lo, hi);
}

void ldg_exec_op(const ldg_plan *p, int64_t count, int dir, const ldg_reduction *r, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  const ldg_items items = { p, count, mem }, line = { NULL, 0, ldg_at(packed, -lo) };
  const ldg_reduce how = ldg_exec_how(r);
  int64_t from = hi, to = hi;
  if (how.how) ldg_pair_run(dir == LDG_PACK ? &items : &line, dir == LDG_PACK ? &line : &items, &how, lo, hi, &from, &to);
  if (lo < from) reduce(p, count, dir, r, mem, packed, lo, from);
  if (to < hi) reduce(p, count, dir, r, mem, ldg_at(packed, to - lo), to, hi);
}
