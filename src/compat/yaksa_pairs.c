/* yaksa_pairs: ops on pairs. MPI has MINLOC and MAXLOC for them, which the interface has no names for; Yaksa takes any other op
 * for one on each of the two parts. So the elements of the stream are told again with pairs taken apart. */
#include "yaksa_type.h"

static const lading_elem value_of[LADING_ELEM_MAX] = {
  [LADING_FLOAT_INT] = LADING_FLOAT, [LADING_DOUBLE_INT] = LADING_DOUBLE, [LADING_2INT] = LADING_INT32, [LADING_SHORT_INT] = LADING_INT16,
  [LADING_LONG_INT] = sizeof(long) == 8 ? LADING_INT64 : LADING_INT32, [LADING_LONG_DOUBLE_INT] = LADING_LONG_DOUBLE,
};

#define FIRST_PAIR LADING_FLOAT_INT
_Static_assert(LADING_LONG_DOUBLE_INT - FIRST_PAIR == 5 && LADING_LONG_DOUBLE_INT == LADING_ELEM_MAX - 1, "pairs are the last ones");

static int element_apart(ldg_sig s, ldg_sig *out) {
  const lading_elem value = value_of[s.node->elem];
  const ldg_sig part[2] = { { 1, &ldg_build_elem_nodes[value] }, { 1, &ldg_build_elem_nodes[LADING_INT32] } };
  int e = LADING_OK;
  if (s.node->elem < FIRST_PAIR) *out = s;
  else if (value == LADING_INT32) *out = (ldg_sig){ 2 * s.n, part[1].node }; /* so many bytes are in the stream, and more */
  else if (!(e = ldg_build_sig_join(2, part, out))) out->n = s.n;
  return e;
}

static int take_apart(ldg_sig s, ldg_sig *out) {
  const int64_t n = s.node->count;
  int64_t i = 0;
  int e = LADING_OK;
  if (n == 0) return element_apart(s, out);
  ldg_sig *part = ldg_alloc(n * (int64_t)sizeof *part);
  if (!part) return LADING_ERR_NOMEM;
  while (i < n && !(e = take_apart(s.node->part[i], &part[i]))) i++;
  if (!e) e = ldg_build_sig_join(n, part, out);
  if (!e) out->n = s.n;
  while (i > 0) ldg_build_sig_free(part[--i]);
  ldg_free(part);
  return e;
}

int ldg_yaksa_reduce_pairs(const lading_type *t, int64_t count, int dir, const void *mem, const void *packed, int64_t lo, int64_t hi,
                           lading_op op) {
  ldg_reduction r = { op, { 0 } };
  const ldg_plan *p;
  ldg_sig apart;
  ldg_side side;
  if (t->sig.n == 0 || t->sig.node->kinds >> FIRST_PAIR == 0) return LADING_ERR_UNSUPPORTED;
  int e = ldg_api_side(t, count, mem, &p, &side);
  if (!e) e = take_apart(t->sig, &apart);
  if (e) return e;
  e = ldg_api_all_support(op, apart.node->kinds) ? ldg_build_sig_times(apart, count, &r.sig) : LADING_ERR_UNSUPPORTED;
  if (!e) ldg_exec_op(p, count, dir, &r, mem, packed, lo, hi);
  ldg_build_sig_free(apart);
  return e;
}
