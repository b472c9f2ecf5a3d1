/* external32: sizes, pack and unpack. */
#include "api.h"

static int external_bytes(const lading_type *t, int64_t count, ldg_sig *all, int64_t *n) {
  if (!t || count < 0) return LADING_ERR_ARG;
  const int e = ldg_build_sig_times(t->sig, count, all);
  if (e) return e;
  return ldg_mul(all->n, all->n ? all->node->external : 0, n) ? LADING_ERR_OVERFLOW : LADING_OK;
}

int lading_external32_size(const lading_type *type, int64_t count, int64_t *n) {
  ldg_sig all;
  int64_t bytes;
  if (!n) return LADING_ERR_ARG;
  const int e = external_bytes(type, count, &all, &bytes);
  if (!e) *n = bytes;
  return e;
}

static int move_external(const lading_type *t, int64_t count, int dir, const void *mem, const void *packed, int64_t lo, int64_t hi) {
  ldg_sig all;
  ldg_side s;
  int64_t bytes;
  int e = external_bytes(t, count, &all, &bytes);
  if (!e) e = ldg_api_side(t, count, mem, NULL, &s);
  if (e) return e;
  if (lo < 0 || lo > hi || hi > bytes) return LADING_ERR_RANGE;
  if (!packed && lo < hi) return LADING_ERR_ARG;
  return ldg_exec_external(&s, all, dir, packed, lo, hi);
}

int lading_pack_external32(const lading_type *type, int64_t count, const void *mem, void *packed, int64_t lo, int64_t hi) {
  return move_external(type, count, LDG_PACK, mem, packed, lo, hi);
}

int lading_unpack_external32(const lading_type *type, int64_t count, void *mem, const void *packed, int64_t lo, int64_t hi) {
  return move_external(type, count, LDG_UNPACK, mem, packed, lo, hi);
}
