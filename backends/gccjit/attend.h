/* attend: a thread of ours, which is there as long as kernels are looked for, made or taken, so that no caller does or awaits any of
 * it: he pays for the start of a thread, once for all that is wanted while it is there. It hears no signals. */
#ifndef LDG_JIT_ATTEND_H
#define LDG_JIT_ATTEND_H

#include "base.h"

/* Sees to it that the open entries of the table will be looked at; does nothing when that is so already. Without memory for a thread
 * nothing happens, and who calls again tries again. */
void ldg_attend(void);
/* Is it there, in this process? */
bool ldg_attended(void);
/* ns that a kernel takes to make, as far as one knows. */
int64_t ldg_attend_cost(void);

#endif
