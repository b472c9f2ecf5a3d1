/* pack, unpack, copy. A whole item of a committed type is a pointer chase and a call; the rest is checked first. */
#include "api.h"

/* Not inlined: the short way then saves no registers. */
static __attribute__((noinline)) int move_part(const lading_type *t, int64_t count, int dir, const void *mem, const void *packed, int64_t lo, int64_t hi) {
  const ldg_plan *p;
  if (!t || count < 0) return LADING_ERR_ARG;
  int e = ldg_api_plan(t, &p);
  if (!e) e = ldg_api_fits(p, count);
  if (e) return e;
  if (lo < 0 || lo > hi || hi > count * p->size) return LADING_ERR_RANGE;
  ldg_exec(p, count, dir, mem, packed, lo, hi);
  return LADING_OK;
}

/* What runs a whole message of a committed type, *n iterations of it; NULL where there is more to think about. */
static inline const ldg_job *whole_message(const lading_type *t, int64_t count, int dir, int64_t lo, int64_t hi, int64_t *n) {
  const ldg_plan *p = t ? ldg_api_plan_made(t) : NULL;
  if (!p || lo != 0 || hi <= 0) return NULL;
  if (count == 1) return *n = p->one.n, hi == p->size ? &p->one.job[dir] : NULL;
  if (count < 1 || count > p->easy[dir] || hi != count * p->size) return NULL;
  return *n = count * p->per, &p->many.job[dir];
}

int lading_pack(const lading_type *type, int64_t count, const void *mem, void *packed, int64_t lo, int64_t hi) {
  int64_t n;
  const ldg_job *j = whole_message(type, count, LDG_PACK, lo, hi, &n);
  if (!j) return move_part(type, count, LDG_PACK, mem, packed, lo, hi);
  j->run(j, ldg_at(mem, ldg_api_plan_made(type)->at), packed, 0, n);
  return LADING_OK;
}

int lading_unpack(const lading_type *type, int64_t count, void *mem, const void *packed, int64_t lo, int64_t hi) {
  int64_t n;
  const ldg_job *j = whole_message(type, count, LDG_UNPACK, lo, hi, &n);
  if (!j) return move_part(type, count, LDG_UNPACK, mem, packed, lo, hi);
  j->run(j, packed, ldg_at(mem, ldg_api_plan_made(type)->at), 0, n);
  return LADING_OK;
}

/* Whole messages of a few bytes: packed and unpacked by the jobs that there are, with no thought. */
enum { FEW = 1024 };
static bool copy_few(const lading_type *st, int64_t sc, const void *src, const lading_type *dt, int64_t dc, void *dst, int64_t lo, int64_t hi) {
  char few[FEW];
  int64_t n, m;
  const ldg_job *p = hi <= FEW ? whole_message(st, sc, LDG_PACK, lo, hi, &n) : NULL, *u = p ? whole_message(dt, dc, LDG_UNPACK, lo, hi, &m) : NULL;
  if (!u) return false;
  p->run(p, ldg_at(src, ldg_api_plan_made(st)->at), few, 0, n);
  u->run(u, few, ldg_at(dst, ldg_api_plan_made(dt)->at), 0, m);
  return true;
}

int lading_copy(const lading_type *st, int64_t sc, const void *src, const lading_type *dt, int64_t dc, void *dst, int64_t lo, int64_t hi) {
  const ldg_plan *sp, *dp;
  ldg_side s, d;
  if (copy_few(st, sc, src, dt, dc, dst, lo, hi)) return LADING_OK;
  int e = ldg_api_side(st, sc, src, &sp, &s);
  if (!e) e = ldg_api_side(dt, dc, dst, &dp, &d);
  if (e) return e;
  if (lo < 0 || lo > hi || hi > ldg_min(sc * s.rep->size, dc * d.rep->size)) return LADING_ERR_RANGE;
  ldg_exec_move(sp, &s, dp, &d, lo, hi);
  return LADING_OK;
}
