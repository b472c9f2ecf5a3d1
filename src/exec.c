/* Ranges: positions by division or by bisection of prefix sums, whole iterations by the step's job, and only the ragged ends
 * go down the tree: at most two paths, O(depth + log entries). */
#include "exec.h"
#include "exec_range.h"
#include "plan_pair.h"
#include "plan_tree.h"

LDG_INLINE const char *from(const ldg_way *w, const char *mem, const char *packed) { return w->dir == LDG_PACK ? mem : packed; }
LDG_INLINE char *to(const ldg_way *w, const char *mem, const char *packed) {
  return (char *)(uintptr_t)(w->dir == LDG_PACK ? packed : mem);
}

#define MOVES(w) __builtin_expect(!(w)->op, 1) /* rather than reduces */

LDG_INLINE int leaf(const ldg_way *w, const char *mem, const char *packed, int64_t n) {
  const ldg_job *j = w->part ? ldg_plan_part : ldg_plan_bytes;
  if (MOVES(w)) return ldg_job_run(j, from(w, mem, packed), to(w, mem, packed), 0, n);
  return w->op->dense(from(w, mem, packed), to(w, mem, packed), ldg_op_elements(w->op, n)), LADING_OK;
}

LDG_INLINE void start(const ldg_step *s, int64_t i, const char **mem, const char **packed) {
  if (s->rep->kind == LDG_REPEAT) *mem = ldg_at(*mem, i * s->stride[0]), *packed = ldg_at(*packed, i * s->stride[1]);
}

LDG_INLINE int64_t size_of(const ldg_step *s, int64_t i) { return s->rep->psum ? s->rep->psum[i + 1] - s->rep->psum[i] : s->each; }

/* Goes into iteration or entry i; NULL: its bytes are in one piece. */
LDG_INLINE const ldg_step *enter(const ldg_step *s, int64_t i, const char **mem, const char **packed) {
  const ldg_rep *r = s->rep;
  const bool repeat = r->kind == LDG_REPEAT;
  *mem = ldg_at(*mem, repeat ? i * s->stride[0] : r->at[i]);
  *packed = ldg_at(*packed, repeat ? i * s->stride[1] : r->psum ? r->psum[i] : i * s->each);
  return r->kind == LDG_JOIN ? s->kids[i] : s->child;
}

static void prefix(const ldg_step *s, const ldg_way *w, const char *mem, const char *packed, int64_t hi);

/* Jobs know their nest; what goes down the tree by itself only copies. Out of the way of moves, which have less to do. */
static __attribute__((noinline)) int whole_op(const ldg_step *s, const ldg_way *w, const char *mem, const char *packed, int64_t i0, int64_t i1) {
  const ldg_nest *nest = &s->job[w->dir].nest;
  if (nest->block) {
    start(s, i0, &mem, &packed);
    ldg_exec_nest_op(w->op, nest, from(w, mem, packed), to(w, mem, packed), i0, i1 - i0);
  } else for (int64_t i = i0; i < i1; i++) {
    const char *m = mem, *p = packed;
    const ldg_step *child = enter(s, i, &m, &p);
    prefix(child, w, m, p, size_of(s, i));
  }
  return LADING_OK;
}

LDG_INLINE int whole(const ldg_step *s, const ldg_way *w, const char *mem, const char *packed, int64_t i0, int64_t i1) {
  const ldg_job *j = &s->job[w->dir];
  if (!MOVES(w)) return whole_op(s, w, mem, packed, i0, i1);
  start(s, i0, &mem, &packed);
  return ldg_job_run(j, from(w, mem, packed), to(w, mem, packed), i0, i1 - i0);
}

/* Whether there are no steps to go down to. Then the bytes were moved. */
LDG_INLINE bool bottom(const ldg_step *s, const ldg_way *w, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  if (!s || s->rep->kind == LDG_BYTES) return leaf(w, ldg_at(mem, lo), ldg_at(packed, lo), hi - lo), true;
  return s->thin ? ldg_tree_walk(s->rep, w->dir, mem, packed, lo, hi), true : false;
}

/* The first bytes of a step. */
static void prefix(const ldg_step *s, const ldg_way *w, const char *mem, const char *packed, int64_t hi) {
  while (hi && !bottom(s, w, mem, packed, 0, hi)) {
    const int64_t i = ldg_plan_find(s, hi, &hi);
    if (i) whole(s, w, mem, packed, 0, i);
    if (hi) s = enter(s, i, &mem, &packed);
  }
}

/* The last ones, of `size`. */
static void suffix(const ldg_step *s, const ldg_way *w, const char *mem, const char *packed, int64_t lo, int64_t size) {
  if (bottom(s, w, mem, packed, lo, size)) return;
  int64_t none, i = ldg_plan_find(s, lo, &lo);
  const int64_t n = size == s->size ? s->n : ldg_plan_find(s, size, &none); /* of copies there may be fewer */
  if (lo) {
    const char *m = mem, *p = packed;
    const ldg_step *child = enter(s, i, &m, &p);
    suffix(child, w, m, p, lo, size_of(s, i)), i++;
  }
  if (i < n) whole(s, w, mem, packed, i, n);
}

static __attribute__((noinline)) int ragged(const ldg_step *s, const ldg_way *w, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  int64_t i0, i1, head, tail;
  for (;; s = enter(s, i0, &mem, &packed), lo = head, hi = tail) {
    if (bottom(s, w, mem, packed, lo, hi)) return LADING_OK;
    i0 = ldg_plan_find(s, lo, &head), i1 = ldg_plan_find(s, hi, &tail);
    if (i0 < i1) break;
  }
  if (head) {
    const char *m = mem, *p = packed;
    const ldg_step *child = enter(s, i0, &m, &p);
    suffix(child, w, m, p, head, size_of(s, i0)), i0++;
  }
  if (i0 < i1) whole(s, w, mem, packed, i0, i1);
  if (tail) s = enter(s, i1, &mem, &packed), prefix(s, w, mem, packed, tail);
  return LADING_OK;
}

/* Of a loop around one block: what is cut of the first and of the last one, and whole ones between. */
static __attribute__((noinline)) int cut(const ldg_step *s, const ldg_way *w, const char *mem, const char *packed, int64_t i0, int64_t head, int64_t i1, int64_t tail) {
  const char *m = mem, *p = packed;
  start(s, i0, &m, &p);
  if (i0 == i1) return leaf(w, ldg_at(m, head), ldg_at(p, head), tail - head);
  if (head) leaf(w, ldg_at(m, head), ldg_at(p, head), s->each - head), i0++;
  if (i0 < i1) whole(s, w, mem, packed, i0, i1);
  if (!tail) return LADING_OK;
  start(s, i1, &mem, &packed);
  return leaf(w, mem, packed, tail);
}

/* Whole iterations or entries of one length are a call that passes on what it got. */
LDG_INLINE int range(const ldg_step *s, const ldg_way *w, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  int64_t head, tail;
  if (s->each == 0 || s->thin || s->rep->kind == LDG_BYTES) return ragged(s, w, mem, packed, lo, hi);
  const int64_t i0 = ldg_plan_divide(s, lo, &head), i1 = ldg_plan_divide(s, hi, &tail);
  if (!(head | tail)) return whole(s, w, mem, packed, i0, i1);
  return s->child || s->rep->kind != LDG_REPEAT ? ragged(s, w, mem, packed, lo, hi) : cut(s, w, mem, packed, i0, head, i1, tail);
}

void ldg_exec_range(const ldg_step *s, const ldg_way *w, const char *mem, const char *packed, int64_t lo, int64_t hi) { range(s, w, mem, packed, lo, hi); }

/* Items that may overlap in memory, one after the other, so that the last in stream order stays. */
static int item_by_item(const ldg_plan *p, const ldg_way *w, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  for (int64_t i = lo / p->size; i * p->size < hi; i++)
    ldg_exec_range(&p->one, w, ldg_at(mem, i * p->extent), ldg_at(packed, i * p->size), ldg_max(lo - i * p->size, 0),
                   ldg_min(hi - i * p->size, p->size));
  return LADING_OK;
}

static bool are_one_run(const ldg_plan *p) { return p->one.rep->kind == LDG_BYTES && p->extent == p->size; }

/* More than one item. */
static __attribute__((noinline)) int items(const ldg_plan *p, int64_t count, const ldg_way *w, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  if (w->dir == LDG_UNPACK && count > p->distinct && p->distinct > 1) return item_by_item(p, w, mem, packed, lo, hi);
  if (MOVES(w) && w->part && are_one_run(p)) return leaf(w, ldg_at(mem, lo), ldg_at(packed, lo), hi - lo);
  return range(&p->many, w, mem, packed, lo, hi);
}

/* Is [lo, hi) only some of a message most of which is not in the first cache? */
LDG_INLINE bool is_part(const ldg_plan *p, int64_t count, int64_t lo, int64_t hi) { return count * p->size >= LDG_PLAN_LONG && hi - lo < count * p->size; }

LDG_INLINE int run(const ldg_plan *p, int64_t count, const ldg_way *w, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  if (lo == hi) return LADING_OK;
  mem = ldg_at(mem, p->at), packed = ldg_at(packed, -lo);
  return count == 1 ? range(&p->one, w, mem, packed, lo, hi) : items(p, count, w, mem, packed, lo, hi);
}

/* Each way is a constant of a copy of `run`. */
int ldg_exec_pack(const ldg_plan *p, int64_t count, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  static const ldg_way pack = { .dir = LDG_PACK }, part = { .dir = LDG_PACK, .part = true };
  return is_part(p, count, lo, hi) ? run(p, count, &part, mem, packed, lo, hi) : run(p, count, &pack, mem, packed, lo, hi);
}

int ldg_exec_unpack(const ldg_plan *p, int64_t count, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  static const ldg_way unpack = { .dir = LDG_UNPACK }, part = { .dir = LDG_UNPACK, .part = true };
  return is_part(p, count, lo, hi) ? run(p, count, &part, mem, packed, lo, hi) : run(p, count, &unpack, mem, packed, lo, hi);
}

/* Elements of one kind go by nests of the plan or through tiles. */
static void reduce(const ldg_items *i, int dir, const ldg_reduction *r, const char *packed, int64_t lo, int64_t hi) {
  const ldg_way w = { .dir = dir, .op = ldg_exec_op_of(r) };
  const ldg_items bytes = { NULL, 0, ldg_at(packed, -lo) };
  const ldg_op_way way = w.op ? ldg_plan_op_way(i->plan, i->count, dir, (lading_elem)r->sig.node->kind, w.op->size) : LDG_OP_ELEMENTS;
  if (way == LDG_OP_BLOCKS) run(i->plan, i->count, &w, i->base, packed, lo, hi);
  else if (way == LDG_OP_TILES) ldg_exec_op_tiles(dir == LDG_PACK ? i : &bytes, dir == LDG_PACK ? &bytes : i, r, lo, hi);
  else ldg_exec_op_items(i->plan, i->count, dir, r, i->base, bytes.base, lo, hi);
}

void ldg_exec_op(const ldg_plan *p, int64_t count, int dir, const ldg_reduction *r, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  const ldg_items items = { p, count, mem }, line = { NULL, 0, ldg_at(packed, -lo) };
  int64_t from, to;
  ldg_exec_op_kernel(dir == LDG_PACK ? &items : &line, dir == LDG_PACK ? &line : &items, r, lo, hi, &from, &to);
  if (lo < from) reduce(&items, dir, r, packed, lo, from);
  if (to < hi) reduce(&items, dir, r, ldg_at(packed, to - lo), to, hi);
}
