/* Reductions while moving. What is one run of one kind of element goes straight to the kernel; the rest is checked first. */
#include "api.h"

bool lading_op_supported(lading_op op, lading_elem elem) {
  if ((unsigned)op >= LADING_OP_MAX || (unsigned)elem >= LADING_ELEM_MAX) return false;
  return op == LADING_REPLACE || ldg_plan_op(op, elem);
}

/* Every kind that has its bit. */
static bool all_support(lading_op op, uint32_t kinds) {
  for (int e = 0; kinds; kinds >>= 1, e++)
    if ((kinds & 1) && !ldg_plan_op(op, (lading_elem)e)) return false;
  return true;
}

static bool boundaries(ldg_sig s, int64_t lo, int64_t hi) { return ldg_elements_boundary(s, lo) && ldg_elements_boundary(s, hi); }

static bool valid_op(lading_op op) { return (unsigned)op < LADING_OP_MAX; }

/* ---- pack, unpack ---- */

int ldg_api_elements(const lading_type *t, int64_t count, lading_op op, int64_t lo, int64_t hi, ldg_sig *out) {
  const int e = ldg_build_sig_times(t->sig, count, out);
  if (e) return e;
  if (lo < 0 || lo > hi || hi > count * t->rep->size) return LADING_ERR_RANGE;
  if (t->sig.n && !all_support(op, t->sig.node->kinds)) return LADING_ERR_UNSUPPORTED;
  return boundaries(*out, lo, hi) ? LADING_OK : LADING_ERR_ARG;
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
  if (count != 1 && (t->ub - t->lb != size || count < 0 || ldg_mul(count, size, &size))) return NULL;
  const ldg_op *k = ldg_plan_op(op, (lading_elem)t->sig.node->kind);
  return k && lo >= 0 && lo <= hi && hi <= size && lo % k->size == 0 && hi % k->size == 0 ? k : NULL;
}

int lading_pack_op(const lading_type *type, int64_t count, const void *mem, void *packed, int64_t lo, int64_t hi, lading_op op) {
  if (op == LADING_REPLACE) return lading_pack(type, count, mem, packed, lo, hi);
  const ldg_op *k = packed ? run_op(type, count, lo, hi, op) : NULL;
  if (!k) return move_op(type, count, LDG_PACK, mem, packed, lo, hi, op);
  k->dense(ldg_at(mem, type->rep->first + lo), packed, (hi - lo) / k->size);
  return LADING_OK;
}

int lading_unpack_op(const lading_type *type, int64_t count, void *mem, const void *packed, int64_t lo, int64_t hi, lading_op op) {
  if (op == LADING_REPLACE) return lading_unpack(type, count, mem, packed, lo, hi);
  const ldg_op *k = packed ? run_op(type, count, lo, hi, op) : NULL;
  if (!k) return move_op(type, count, LDG_UNPACK, mem, packed, lo, hi, op);
  k->dense(packed, ldg_at(mem, type->rep->first + lo), (hi - lo) / k->size);
  return LADING_OK;
}

/* ---- copy ---- */

static bool all_bytes(ldg_sig s) { return s.n == 0 || s.node->kind == LADING_BYTE; }

/* The elements of both sides of a copy: bytes alone are whatever the other side says. */
static int common_elements(ldg_sig s, ldg_sig d, lading_op op, int64_t lo, int64_t hi, ldg_sig *out) {
  const bool untyped = all_bytes(s) || all_bytes(d);
  *out = all_bytes(s) ? d : s;
  if (out->n && !all_support(op, out->node->kinds | (untyped ? 0 : d.node->kinds))) return LADING_ERR_UNSUPPORTED;
  if (!boundaries(*out, lo, hi)) return LADING_ERR_ARG;
  return untyped || ldg_elements_agree(s, d, lo, hi) ? LADING_OK : LADING_ERR_ARG;
}

int ldg_api_common_elements(const lading_type *st, int64_t sc, const lading_type *dt, int64_t dc, lading_op op, int64_t lo, int64_t hi, ldg_sig *out) {
  ldg_sig ss, ds;
  int e = ldg_build_sig_times(st->sig, sc, &ss);
  if (!e) e = ldg_build_sig_times(dt->sig, dc, &ds);
  if (e) return e;
  if (lo < 0 || lo > hi || hi > ldg_min(sc * st->rep->size, dc * dt->rep->size)) return LADING_ERR_RANGE;
  return common_elements(ss, ds, op, lo, hi, out);
}

int lading_copy_op(const lading_type *st, int64_t sc, const void *src, const lading_type *dt, int64_t dc, void *dst, int64_t lo, int64_t hi,
                   lading_op op) {
  const ldg_plan *sp, *dp;
  ldg_side s, d;
  ldg_reduction r = { op, { 0 } };
  if (op == LADING_REPLACE) return lading_copy(st, sc, src, dt, dc, dst, lo, hi);
  if (!valid_op(op)) return LADING_ERR_ARG;
  int e = ldg_api_side(st, sc, src, &sp, &s);
  if (!e) e = ldg_api_side(dt, dc, dst, &dp, &d);
  if (!e) e = ldg_api_common_elements(st, sc, dt, dc, op, lo, hi, &r.sig);
  if (!e) ldg_exec_move_op(sp, &s, dp, &d, &r, lo, hi);
  return e;
}
