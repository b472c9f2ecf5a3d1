/* pack, unpack, copy. Whole items of a committed type are a pointer chase and a call; the rest is checked first. */
#include "api.h"

#include "plan_joint.h"

static inline const ldg_plan *plan_made(const lading_type *t) { return t ? ldg_api_plan_made(t) : NULL; }

/* The first call of a type, and more items than are known to fit. */
static __attribute__((noinline)) int move_first(const lading_type *t, int64_t count, int dir, const void *mem, const void *packed, int64_t lo, int64_t hi) {
  const ldg_plan *p;
  if (!t || count < 0) return LADING_ERR_ARG;
  int e = ldg_api_plan(t, &p);
  if (!e) e = ldg_api_fits(p, count);
  if (e) return e;
  if (lo < 0 || lo > hi || hi > count * p->size) return LADING_ERR_RANGE;
  return packed || lo == hi ? ldg_exec(p, count, dir, mem, packed, lo, hi) : LADING_ERR_ARG;
}

/* `at` is the place of the items, moved by where the plan has them. Whoever returns this goes there, and does not come back. */
LDG_INLINE int run(const ldg_job *j, int dir, const char *at, const void *packed, int64_t n) {
  return dir == LDG_PACK ? ldg_job_run(j, at, (char *)(uintptr_t)packed, 0, n) : ldg_job_run(j, packed, (char *)(uintptr_t)at, 0, n);
}

/* All but whole items. Segments of a few KiB: every function that is entered and left takes a line of stack from them in the first-level
 * cache. So this one ends with a call, rather than after one, and is there for each direction. */
LDG_INLINE int move_more(const lading_type *t, int64_t count, int dir, const void *mem, const void *packed, int64_t lo, int64_t hi) {
  const ldg_plan *p = plan_made(t);
  if (!p || !packed || count < 0 || count > p->easy[LDG_PACK]) return move_first(t, count, dir, mem, packed, lo, hi);
  if (lo < 0 || lo > hi || hi > count * p->size) return LADING_ERR_RANGE;
  return ldg_exec(p, count, dir, mem, packed, lo, hi);
}
static __attribute__((noinline)) int pack_more(const lading_type *t, int64_t count, const void *mem, const void *packed, int64_t lo, int64_t hi) {
  return move_more(t, count, LDG_PACK, mem, packed, lo, hi);
}
static __attribute__((noinline)) int unpack_more(const lading_type *t, int64_t count, const void *mem, const void *packed, int64_t lo, int64_t hi) {
  return move_more(t, count, LDG_UNPACK, mem, packed, lo, hi);
}

/* Whole items, few enough: no register to save, and for one nothing to multiply, and no jump that is taken. What an empty item has runs for nothing. */
LDG_INLINE int move(const lading_type *t, int64_t count, int dir, const void *mem, const void *packed, int64_t lo, int64_t hi) {
  const ldg_plan *p = plan_made(t);
  int64_t n = 0;
  const ldg_job *j = packed ? ldg_plan_whole(p, count, dir, lo, hi, &n) : NULL;
  if (__builtin_expect(j != NULL, 1)) return run(j, dir, ldg_at(mem, p->at), packed, n);
  return dir == LDG_PACK ? pack_more(t, count, mem, packed, lo, hi) : unpack_more(t, count, mem, packed, lo, hi);
}

/* What these take depends on where in a line of code they begin: halfway, 8 bytes take 1.5 to 1.6 ns, at its start 1.7 to 2.2 (16 bytes 2.0, and 2.2 to 2.5; Zen 5). */
#if defined(__x86_64__) && __has_attribute(patchable_function_entry)
#define HALFWAY __attribute__((aligned(64), patchable_function_entry(32, 32))) /* bytes before it that do nothing */
#else
#define HALFWAY
#endif
HALFWAY int lading_pack(const lading_type *type, int64_t count, const void *mem, void *packed, int64_t lo, int64_t hi) {
  return move(type, count, LDG_PACK, mem, packed, lo, hi);
}
HALFWAY int lading_unpack(const lading_type *type, int64_t count, void *mem, const void *packed, int64_t lo, int64_t hi) {
  return move(type, count, LDG_UNPACK, mem, packed, lo, hi);
}

/* Whole messages of a few bytes: by what both have in common, or packed and unpacked by the jobs that there are, with no thought. */
static __attribute__((noinline)) bool copy_few(const ldg_items *s, const ldg_items *d, int64_t lo, int64_t hi) {
  int64_t n[2];
  const ldg_job *part[2] = { hi <= LDG_PLAN_FEW ? ldg_plan_whole(s->plan, s->count, LDG_PACK, lo, hi, &n[0]) : NULL };
  if (!part[0] || !(part[1] = ldg_plan_whole(d->plan, d->count, LDG_UNPACK, lo, hi, &n[1]))) return false;
  const ldg_joint *j = hi ? ldg_joint_of(s, d, hi) : NULL;
  if (j) return ldg_joint_run(j, s->base, d->base), true;
  return ldg_joint_stage(part, n, ldg_at(s->base, s->plan->at), ldg_at(d->base, d->plan->at)), true;
}

static __attribute__((noinline)) int copy(const lading_type *st, int64_t sc, const void *src, const lading_type *dt, int64_t dc, void *dst, int64_t lo, int64_t hi) {
  const ldg_plan *sp, *dp;
  ldg_side s, d;
  if (copy_few(&(ldg_items){ plan_made(st), sc, src }, &(ldg_items){ plan_made(dt), dc, dst }, lo, hi)) return LADING_OK;
  int e = ldg_api_side(st, sc, src, &sp, &s);
  if (!e) e = ldg_api_side(dt, dc, dst, &dp, &d);
  if (e) return e;
  if (lo < 0 || lo > hi || hi > ldg_min(sc * s.rep->size, dc * d.rep->size)) return LADING_ERR_RANGE;
  ldg_exec_move(sp, &s, dp, &d, lo, hi);
  return LADING_OK;
}

int lading_copy(const lading_type *st, int64_t sc, const void *src, const lading_type *dt, int64_t dc, void *dst, int64_t lo, int64_t hi) {
  const ldg_plan *p;
  const ldg_joint *j;
  if (!st || !dt || lo || !(p = ldg_api_plan_made(st)) || !(j = ldg_joint_latest(p)) || !(p = ldg_api_plan_made(dt)) || !ldg_joint_is(j, sc, p, dc, hi)) return copy(st, sc, src, dt, dc, dst, lo, hi);
  return ldg_joint_run(j, src, dst);
}
