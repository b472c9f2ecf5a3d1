/* Segments of a type. */
#include "api.h"

int lading_segments_count(const lading_type *type, int64_t count, int64_t *n) {
  ldg_side s;
  if (!n) return LADING_ERR_ARG;
  const int e = ldg_api_side(type, count, NULL, NULL, &s);
  return e ? e : ldg_exec_segments(&s, n);
}

int lading_iov(const lading_type *type, int64_t count, const void *mem, int64_t first, struct iovec *iov, int64_t max, int64_t *got) {
  ldg_side s;
  if (!got || max < 0 || (max > 0 && !iov)) return LADING_ERR_ARG;
  const int e = ldg_api_side(type, count, mem, NULL, &s);
  if (e) return e;
  return first < 0 ? LADING_ERR_RANGE : ldg_exec_iov(&s, first, iov, max, got);
}

int lading_segment_at(const lading_type *type, int64_t count, int64_t byte, int64_t *index, int64_t *residue) {
  ldg_side s;
  if (!index || !residue) return LADING_ERR_ARG;
  const int e = ldg_api_side(type, count, NULL, NULL, &s);
  return e ? e : ldg_exec_segment_at(&s, byte, index, residue);
}
