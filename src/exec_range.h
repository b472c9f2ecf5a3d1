/* exec_range: the one mover over ranges, for plans and for copies. */
#ifndef LDG_EXEC_RANGE_H
#define LDG_EXEC_RANGE_H

#include "plan.h"

/* Bytes [lo, hi) of a step, 0 <= lo < hi; `mem` and `packed` are the places of its offset 0 on either side. The count of a
 * repeat is not looked at: the root of many items has none. */
void ldg_exec_range(const ldg_step *s, int dir, const char *mem, const char *packed, int64_t lo, int64_t hi);

#endif
