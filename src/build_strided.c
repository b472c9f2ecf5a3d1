/* build_strided: contiguous, vector, hvector (MPI-4.1 section 5.1.2). One builder: count blocks of blocklen items. */
#include "build.h"

static int strided_rep(int64_t count, int64_t blocklen, int64_t stride, const lading_type *old, const ldg_rep **out) {
  const ldg_rep *block;
  int r = ldg_build_loop(blocklen, ldg_build_extent(old), ldg_rep_ref(old->rep), &block);
  return r ? r : ldg_build_loop(count, stride, block, out);
}

/* stride in bytes; count and blocklen are at least 1 */
static int strided(int64_t count, int64_t blocklen, int64_t stride, const lading_type *old, lading_type **out) {
  ldg_bounds b = ldg_build_bounds(old);
  ldg_sig sig;
  const ldg_rep *rep;
  int r = ldg_build_spread(&b, blocklen, ldg_build_extent(old));
  if (!r) r = ldg_build_spread(&b, count, stride);
  if (!r) r = ldg_build_sig_times(old->sig, blocklen, &sig);
  if (!r) r = ldg_build_sig_times(sig, count, &sig);
  if (!r) r = strided_rep(count, blocklen, stride, old, &rep);
  return r ? r : ldg_build_make(rep, sig, b, old->align, out);
}

int lading_type_contiguous(int64_t count, const lading_type *old, lading_type **out) {
  if (count < 0 || !old || !out) return LADING_ERR_ARG;
  return count ? strided(1, count, 0, old, out) : ldg_build_empty(out);
}

int lading_type_hvector(int64_t count, int64_t blocklen, int64_t stride_bytes, const lading_type *old, lading_type **out) {
  if (count < 0 || blocklen < 0 || !old || !out) return LADING_ERR_ARG;
  return count && blocklen ? strided(count, blocklen, stride_bytes, old, out) : ldg_build_empty(out);
}

int lading_type_vector(int64_t count, int64_t blocklen, int64_t stride, const lading_type *old, lading_type **out) {
  int64_t bytes = 0;
  if (count < 0 || blocklen < 0 || !old || !out) return LADING_ERR_ARG;
  /* the stride of a single block is never used, so it cannot overflow either */
  if (count > 1 && blocklen && ldg_mul(stride, ldg_build_extent(old), &bytes)) return LADING_ERR_OVERFLOW;
  return lading_type_hvector(count, blocklen, bytes, old, out);
}
