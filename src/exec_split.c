/* From listed places to listed places, where a block of one side is a few of the other's: each longer one piece by piece, in stream order.
 * Packed and unpacked, all would be stored and loaded once more. To prefetch gains nothing here, also where lists go beyond the caches. */
#include "exec_range.h"

/* n longer blocks of m pieces. */
LDG_INLINE bool blocks(const ldg_lists *l, bool splits, int64_t piece, int64_t n, int64_t m) {
  const char *src = l->src;
  char *dst = l->dst;
  const int32_t *each = splits ? l->from : l->to, *list = splits ? l->to : l->from;
  for (; n > 0; n--, each++, list += m) {
    LDG_UNROLL_BY(2)
    for (int64_t k = 0; k < m; k++) {
      if (splits) memcpy(dst + list[k], src + *each + k * piece, (size_t)piece);
      else memcpy(dst + *each + k * piece, src + list[k], (size_t)piece);
    }
  }
  return true;
}

LDG_INLINE bool by_width(const ldg_lists *l, bool splits, int64_t piece, int64_t n, int64_t m) {
#define CASE(BYTES) case BYTES: return blocks(l, splits, BYTES, n, m);
  switch (piece) {
    LDG_EXEC_WIDTHS(CASE)
  default: return false;
  }
#undef CASE
}

bool ldg_exec_split(const ldg_lists *l, int64_t src_block, int64_t dst_block, int64_t n) {
  if (src_block > dst_block) return by_width(l, true, dst_block, n, src_block / dst_block);
  return by_width(l, false, src_block, n, dst_block / src_block);
}
