/* plan_joint: how the first so many bytes of one plan's stream are copied to another's: by the nest that both have in common, or, of a few KiB, packed and unpacked. To find that out takes 150 to
 * 400 ns, to plan the nest among them, so a plan keeps what it found for some that are asked for again. */
#ifndef LDG_PLAN_JOINT_H
#define LDG_PLAN_JOINT_H

#include "plan_pair.h"

/* Never changes, but for what its job notes, and is there as long as the source's plan; the other one may have gone, whose serial nobody has again. */
struct ldg_joint {
  uint64_t with;             /* serial of the other plan */
  int64_t bytes, count[2];   /* of the stream; items of both sides, of the copy that it was found for */
  bool direct;               /* by `job`; else packed and unpacked, by `part` */
  int64_t at[2], n[2];       /* of the places of both sides, from those of the items; iterations */
  const ldg_job *part[2];
  ldg_job job;
};

/* Of that many bytes, which both sides have. NULL: there is more to think about, or it is not known yet: then it is noted that both were asked for, and when they are asked for again it is found out,
 * and kept, if there is room and memory. */
const ldg_joint *ldg_joint_of(const ldg_items *src, const ldg_items *dst, int64_t bytes);
/* The latest one of that source; is it of such a copy? Then there is nothing to check. */
static inline const ldg_joint *ldg_joint_latest(const ldg_plan *src) { return atomic_load_explicit(&src->joints.latest, memory_order_acquire); }
static inline bool ldg_joint_is(const ldg_joint *j, int64_t sc, const ldg_plan *dst, int64_t dc, int64_t bytes) {
  return j->with == dst->serial && j->bytes == bytes && j->count[0] == sc && j->count[1] == dc;
}
/* Packs n[0] iterations of part[0], of up to LDG_PLAN_TILE bytes, and unpacks n[1] of part[1]. */
int ldg_joint_stage(const ldg_job *const part[2], const int64_t n[2], const char *src, const char *dst);
static inline int ldg_joint_run(const ldg_joint *j, const char *src, const char *dst) {
  src = ldg_at(src, j->at[0]), dst = ldg_at(dst, j->at[1]);
  return j->direct ? j->job.run(&j->job, src, (char *)(uintptr_t)dst, 0, j->n[0]) : ldg_joint_stage(j->part, j->n, src, dst);
}
void ldg_joint_free(ldg_plan *p);
/* A line for each. */
void ldg_joint_explain(const ldg_plan *p, ldg_text *t);

#endif
