/* Ranges: positions by division or by bisection of prefix sums, whole iterations by the step's job, and only the ragged ends
 * go down the tree: at most two paths, O(depth + log entries). */
#include "exec.h"
#include "exec_range.h"
#include "plan_tree.h"

static void copy_ways(int dir, const char *mem, const char *packed, int64_t n) {
  memcpy((char *)(uintptr_t)(dir == LDG_PACK ? packed : mem), dir == LDG_PACK ? mem : packed, (size_t)n);
}

static void whole(const ldg_step *s, int dir, const char *mem, const char *packed, int64_t i0, int64_t i1) {
  const ldg_job *j = &s->job[dir];
  if (s->rep->kind == LDG_REPEAT) mem = ldg_at(mem, i0 * s->stride[0]), packed = ldg_at(packed, i0 * s->stride[1]);
  j->run(j, dir == LDG_PACK ? mem : packed, (char *)(uintptr_t)(dir == LDG_PACK ? packed : mem), i0, i1 - i0);
}

static void part(const ldg_step *child, int dir, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  if (child) ldg_exec_range(child, dir, mem, packed, lo, hi);
  else copy_ways(dir, ldg_at(mem, lo), ldg_at(packed, lo), hi - lo);
}

/* Bytes [lo, hi) of iteration or entry i. */
static void entry_part(const ldg_step *s, int64_t i, int dir, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  const ldg_rep *r = s->rep;
  const bool repeat = r->kind == LDG_REPEAT;
  mem = ldg_at(mem, repeat ? i * s->stride[0] : r->at[i]);
  packed = ldg_at(packed, repeat ? i * s->stride[1] : r->psum ? r->psum[i] : i * s->each);
  part(r->kind == LDG_JOIN ? s->kids[i] : s->child, dir, mem, packed, lo, hi);
}

static void uniform(const ldg_step *s, int dir, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  int64_t i0 = lo / s->each, i1 = hi / s->each;
  const int64_t head = lo - i0 * s->each, tail = hi - i1 * s->each;
  if (i0 == i1) { entry_part(s, i0, dir, mem, packed, head, tail); return; }
  if (head) entry_part(s, i0++, dir, mem, packed, head, s->each);
  if (i0 < i1) whole(s, dir, mem, packed, i0, i1);
  if (tail) entry_part(s, i1, dir, mem, packed, 0, tail);
}

static void summed(const ldg_step *s, int dir, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  const int64_t *psum = s->rep->psum, n = s->rep->n;
  int64_t i0 = ldg_rep_find(psum, n, lo), i1 = hi == psum[n] ? n : ldg_rep_find(psum, n, hi);
  const int64_t head = lo - psum[i0], tail = hi - psum[i1];
  if (i0 == i1) { entry_part(s, i0, dir, mem, packed, head, tail); return; }
  if (head) entry_part(s, i0, dir, mem, packed, head, psum[i0 + 1] - psum[i0]), i0++;
  if (i0 < i1) whole(s, dir, mem, packed, i0, i1);
  if (tail) entry_part(s, i1, dir, mem, packed, 0, tail);
}

void ldg_exec_range(const ldg_step *s, int dir, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  if (s->thin) ldg_tree_walk(s->rep, dir, mem, packed, lo, hi);
  else if (s->rep->kind == LDG_BYTES) copy_ways(dir, ldg_at(mem, lo), ldg_at(packed, lo), hi - lo);
  else if (s->rep->psum) summed(s, dir, mem, packed, lo, hi);
  else uniform(s, dir, mem, packed, lo, hi);
}

/* Items that may overlap in memory, one after the other, so that the last in stream order stays. */
static void item_by_item(const ldg_plan *p, int dir, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  for (int64_t i = lo / p->size; i * p->size < hi; i++)
    ldg_exec_range(&p->one, dir, ldg_at(mem, i * p->extent), ldg_at(packed, i * p->size), ldg_max(lo - i * p->size, 0),
                   ldg_min(hi - i * p->size, p->size));
}

void ldg_exec(const ldg_plan *p, int64_t count, int dir, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  if (lo == hi) return;
  mem = ldg_at(mem, p->at), packed = ldg_at(packed, -lo);
  if (count == 1) ldg_exec_range(&p->one, dir, mem, packed, lo, hi);
  else if (dir == LDG_UNPACK && count > p->distinct && p->distinct > 1) item_by_item(p, dir, mem, packed, lo, hi);
  else if (hi - lo == count * p->size) whole(&p->many, dir, mem, packed, 0, count * p->per); /* no division for whole messages */
  else ldg_exec_range(&p->many, dir, mem, packed, lo, hi);
}
