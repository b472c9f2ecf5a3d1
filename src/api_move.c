/* pack, unpack, copy. A whole item of a committed type is a pointer chase and a call; the rest is checked first. */
#include "api.h"

static int move_part(const lading_type *t, int64_t count, int dir, const void *mem, const void *packed, int64_t lo, int64_t hi) {
  const ldg_plan *p;
  if (!t || count < 0) return LADING_ERR_ARG;
  int e = ldg_api_plan(t, &p);
  if (!e) e = ldg_api_fits(p, count);
  if (e) return e;
  if (lo < 0 || lo > hi || hi > count * p->size) return LADING_ERR_RANGE;
  ldg_exec(p, count, dir, mem, packed, lo, hi);
  return LADING_OK;
}

/* The plan, when the call is one whole item of a type that has one; else NULL. */
static inline const ldg_plan *whole_item(const lading_type *t, int64_t count, int64_t lo, int64_t hi) {
  const ldg_plan *p = t ? ldg_api_plan_made(t) : NULL;
  return p && count == 1 && lo == 0 && hi == p->size && hi > 0 ? p : NULL;
}

int lading_pack(const lading_type *type, int64_t count, const void *mem, void *packed, int64_t lo, int64_t hi) {
  const ldg_plan *p = whole_item(type, count, lo, hi);
  if (!p) return move_part(type, count, LDG_PACK, mem, packed, lo, hi);
  const ldg_job *j = &p->one.job[LDG_PACK];
  j->run(j, ldg_at(mem, p->at), packed, 0, p->one.n);
  return LADING_OK;
}

int lading_unpack(const lading_type *type, int64_t count, void *mem, const void *packed, int64_t lo, int64_t hi) {
  const ldg_plan *p = whole_item(type, count, lo, hi);
  if (!p) return move_part(type, count, LDG_UNPACK, mem, packed, lo, hi);
  const ldg_job *j = &p->one.job[LDG_UNPACK];
  j->run(j, packed, ldg_at(mem, p->at), 0, p->one.n);
  return LADING_OK;
}

int lading_copy(const lading_type *st, int64_t sc, const void *src, const lading_type *dt, int64_t dc, void *dst, int64_t lo, int64_t hi) {
  const ldg_plan *sp, *dp;
  ldg_side s, d;
  int e = ldg_api_side(st, sc, src, &sp, &s);
  if (!e) e = ldg_api_side(dt, dc, dst, &dp, &d);
  if (e) return e;
  if (lo < 0 || lo > hi || hi > ldg_min(sc * s.rep->size, dc * d.rep->size)) return LADING_ERR_RANGE;
  ldg_exec_move(sp, &s, dp, &d, lo, hi);
  return LADING_OK;
}
