/* plan_joint: copies that are asked for again. */
#include "plan_joint.h"

#include "nest_tree.h"

/* What else has it is told apart by what is kept; of what was only seen it is found out too early. */
static uint64_t name_of(const ldg_plan *with, int64_t bytes) {
  return ((with->serial * UINT64_C(0xd6e8feb86659fd93) ^ (uint64_t)bytes) * UINT64_C(0x9e3779b97f4a7c15)) & ~UINT64_C(3);
}

/* Behind the name: it was seen twice, or in vain. Two that take turns at one place are both found: what was seen last leaves for the second other one. */
enum { STAYS = 1, NONE = 2 };
typedef enum sight { NEW, AGAIN, IN_VAIN } sight;
static _Atomic uint64_t *place_of(ldg_plan *p, uint64_t name) { return &p->joints.seen[name >> 32 & (LDG_JOINTS - 1)]; }
static sight see(ldg_plan *p, uint64_t name) {
  _Atomic uint64_t *at = place_of(p, name);
  const uint64_t was = atomic_load_explicit(at, memory_order_relaxed);
  if ((was & ~UINT64_C(3)) == name && was) return was & NONE ? IN_VAIN : AGAIN;
  atomic_store_explicit(at, was & STAYS ? was & ~(uint64_t)STAYS : name | STAYS, memory_order_relaxed);
  return NEW;
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

/* Also where a compiled kernel might be for it: bodies of few blocks have some, but are nests as well. */
static bool by_nest(ldg_joint *j, const ldg_items *src, const ldg_items *dst) {
  const ldg_plan *a = src->plan, *b = dst->plan;
  ldg_nest n;
  double cost;
  if (!ldg_nest_common(a->layout->rep, a->extent, b->layout->rep, b->extent, j->bytes, &n, &j->at[0], &j->at[1]) || !is_whole(&n, j->bytes)) return false;
  n.ordered = !ldg_nest_distinct(&n);
  j->n[0] = n.dim[n.nd - 1].n;
  return ldg_plan_nest(&j->job, &n, NULL, &cost) && is_faster(src, dst, j->bytes, cost);
}

static bool by_parts(ldg_joint *j, const ldg_items *src, const ldg_items *dst) {
  j->at[0] = src->plan->at, j->at[1] = dst->plan->at;
  j->part[0] = ldg_plan_whole(src->plan, src->count, LDG_PACK, 0, j->bytes, &j->n[0]);
  j->part[1] = ldg_plan_whole(dst->plan, dst->count, LDG_UNPACK, 0, j->bytes, &j->n[1]);
  return j->part[0] && j->part[1] && (j->bytes <= LDG_PLAN_FEW || (j->bytes <= LDG_PLAN_TILE && !ldg_pair_moves(src, dst)));
}

int ldg_joint_stage(const ldg_job *const part[2], const int64_t n[2], const char *src, const char *dst) {
  char room[LDG_PLAN_TILE + LDG_LINE_BYTES], *const tile = ldg_aligned(room);
  ldg_job_run(part[0], src, tile, 0, n[0]);
  return ldg_job_run(part[1], tile, (char *)(uintptr_t)dst, 0, n[1]);
}

static const ldg_joint *keep(ldg_plan *p, uint64_t name, ldg_joint *j) {
  for (int i = 0; i < LDG_JOINTS; i++) {
    ldg_joint *none = NULL;
    if (!atomic_compare_exchange_strong_explicit(&p->joints.kept[i], &none, j, memory_order_release, memory_order_relaxed)) continue;
    atomic_store_explicit(&p->joints.name[i], name, memory_order_release);
    atomic_store_explicit(&p->joints.latest, j, memory_order_release);
    return j;
  }
  return ldg_free(j), NULL;
}

/* Of two threads both may keep one. */
static const ldg_joint *find_out(ldg_plan *p, uint64_t name, const ldg_items *src, const ldg_items *dst, int64_t bytes) {
  ldg_joint *j = ldg_alloc(sizeof *j);
  if (!j) return NULL;
  memset(j, 0, sizeof *j);
  j->with = dst->plan->serial, j->bytes = bytes, j->count[0] = src->count, j->count[1] = dst->count;
  j->direct = by_nest(j, src, dst);
  if (j->direct || by_parts(j, src, dst)) return keep(p, name, j);
  ldg_free(j);
  atomic_store_explicit(place_of(p, name), name | NONE, memory_order_relaxed);
  return NULL;
}

/* Plans of tests and measurements do as they are told, and so does all where LADING_FORCE says how. */
static bool may_keep(const ldg_plan *src, const ldg_plan *dst) {
  return src->entry.memo && dst->entry.memo && !atomic_load_explicit(&src->joints.kept[LDG_JOINTS - 1], memory_order_relaxed) && !ldg_option_get(LDG_OPT_FORCE);
}

const ldg_joint *ldg_joint_of(const ldg_items *src, const ldg_items *dst, int64_t bytes) {
  ldg_plan *p = (ldg_plan *)(uintptr_t)src->plan;
  const uint64_t name = name_of(dst->plan, bytes);
  for (int i = 0; i < LDG_JOINTS; i++) {
    if (atomic_load_explicit(&p->joints.name[i], memory_order_acquire) != name) continue;
    const ldg_joint *j = atomic_load_explicit(&p->joints.kept[i], memory_order_acquire);
    if (j && j->with == dst->plan->serial && j->bytes == bytes) return j;
  }
  return see(p, name) == AGAIN && may_keep(p, dst->plan) ? find_out(p, name, src, dst, bytes) : NULL;
}

void ldg_joint_free(ldg_plan *p) {
  for (int i = 0; i < LDG_JOINTS; i++) ldg_free(atomic_load_explicit(&p->joints.kept[i], memory_order_acquire));
}

void ldg_joint_explain(const ldg_plan *p, ldg_text *t) {
  for (int i = 0; i < LDG_JOINTS; i++) {
    const ldg_joint *j = atomic_load_explicit(&p->joints.kept[i], memory_order_acquire);
    if (j) ldg_text_add(t, "  copies of %lld bytes to plan %llu: %s%s\n", (long long)j->bytes, (unsigned long long)j->with, j->direct ? "one nest, by " : "packed and unpacked", j->direct ? j->job.name : "");
  }
}
