/* plan_joint: nests that pairs of plans have in common. */
#include "plan_joint.h"

#include "nest_tree.h"

enum { MOST = 8, TILE = 8 << 10, LINE = 64 }; /* a plan keeps; bytes of the stack */

/* What is seen there again is worth it. Two that take turns at one place are both found: what was seen last leaves for the second other one. */
static bool is_seen(ldg_plan *p, uint64_t with, int64_t bytes) {
  const uint64_t name = ((with * UINT64_C(0xd6e8feb86659fd93) ^ (uint64_t)bytes) * UINT64_C(0x9e3779b97f4a7c15)) | 1; /* of two that share it one is found too early */
  _Atomic uint64_t *at = &p->seen[name >> 32 & (LDG_PLAN_SEEN - 1)];
  const uint64_t was = atomic_load_explicit(at, memory_order_relaxed);
  if ((was | 1) == name) return true;
  atomic_store_explicit(at, was & 1 ? was & ~UINT64_C(1) : name, memory_order_relaxed);
  return false;
}

/* The outermost dim may go beyond what is copied. */
static bool is_whole(const ldg_nest *n, int64_t bytes) {
  uint64_t all = (uint64_t)n->block;
  for (int k = 0; k < n->nd; k++) all *= (uint64_t)n->dim[k].n;
  return all == (uint64_t)bytes;
}

static bool is_faster(const ldg_items *src, const ldg_items *dst, int64_t bytes, double nest) {
  return nest <= ldg_plan_cost(src->plan, src->count, LDG_PACK, bytes) + ldg_plan_cost(dst->plan, dst->count, LDG_UNPACK, bytes);
}

static bool by_nest(ldg_joint *j, const ldg_items *src, const ldg_items *dst) {
  const ldg_plan *a = src->plan, *b = dst->plan;
  ldg_nest n;
  double cost;
  if (!ldg_nest_common(a->layout->rep, a->extent, b->layout->rep, b->extent, j->bytes, &n, &j->at[0], &j->at[1]) || !is_whole(&n, j->bytes)) return false;
  n.ordered = !ldg_nest_distinct(&n);
  j->n[0] = n.dim[n.nd - 1].n;
  return ldg_plan_nest(&j->job, &n, NULL, &cost) && is_faster(src, dst, j->bytes, cost);
}

static bool by_tile(ldg_joint *j, const ldg_items *src, const ldg_items *dst) {
  j->at[0] = src->plan->at, j->at[1] = dst->plan->at;
  j->part[0] = ldg_plan_whole(src->plan, src->count, LDG_PACK, 0, j->bytes, &j->n[0]);
  j->part[1] = ldg_plan_whole(dst->plan, dst->count, LDG_UNPACK, 0, j->bytes, &j->n[1]);
  return j->part[0] && j->part[1] && (j->bytes <= LDG_PLAN_FEW || (j->bytes <= TILE && !ldg_pair_moves(src, dst, j->bytes)));
}

int ldg_joint_run_staged(const ldg_joint *j, const char *src, const char *dst) {
  char room[TILE + LINE], *const few = ldg_at(room, -(intptr_t)room & (LINE - 1)); /* a frame that is aligned takes more stores, which what is loaded waits for */
  j->part[0]->run(j->part[0], ldg_at(src, j->at[0]), few, 0, j->n[0]);
  return j->part[1]->run(j->part[1], few, (char *)(uintptr_t)ldg_at(dst, j->at[1]), 0, j->n[1]);
}

/* Of two threads both may keep one, of which the later one is found. */
static const ldg_joint *add(ldg_plan *p, ldg_joint *first, const ldg_items *src, const ldg_items *dst, int64_t bytes) {
  ldg_joint *j = ldg_alloc(sizeof *j);
  if (!j) return NULL;
  memset(j, 0, sizeof *j);
  j->with = dst->plan->serial, j->bytes = bytes, j->count[0] = src->count, j->count[1] = dst->count;
  j->direct = by_nest(j, src, dst);
  j->staged = !j->direct && by_tile(j, src, dst);
  if (!j->direct && !j->staged) j->count[0] = -1;
  do j->next = first, j->depth = first ? first->depth + 1 : 1;
  while (!atomic_compare_exchange_weak_explicit(&p->joint, &first, j, memory_order_release, memory_order_acquire));
  return j;
}

const ldg_joint *ldg_joint_of(const ldg_items *src, const ldg_items *dst, int64_t bytes) {
  ldg_plan *p = (ldg_plan *)(uintptr_t)src->plan;
  ldg_joint *first = atomic_load_explicit(&p->joint, memory_order_acquire);
  const ldg_joint *j = first;
  while (j && (j->with != dst->plan->serial || j->bytes != bytes)) j = j->next;
  if (!j && (!first || first->depth < MOST) && is_seen(p, dst->plan->serial, bytes)) j = add(p, first, src, dst, bytes);
  return j && (j->direct || j->staged) ? j : NULL;
}

void ldg_joint_free(ldg_plan *p) {
  for (ldg_joint *j = atomic_load_explicit(&p->joint, memory_order_acquire), *next; j; j = next) next = j->next, ldg_free(j);
}

void ldg_joint_explain(const ldg_plan *p, ldg_text *t) {
  for (const ldg_joint *j = atomic_load_explicit(&p->joint, memory_order_acquire); j; j = j->next)
    ldg_text_add(t, "  copies of %lld bytes to plan %llu: %s%s\n", (long long)j->bytes, (unsigned long long)j->with, j->direct ? "one nest, by " : j->staged ? "packed and unpacked" : "as found by each call", j->direct ? j->job.name : "");
}
