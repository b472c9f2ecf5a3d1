/* judge: is a kernel right, and is it faster than what the library does without it? */
#ifndef LDG_JIT_JUDGE_H
#define LDG_JIT_JUDGE_H

#include "gccjit/cache.h"

/* Runs the kernel of a key on every count of iterations that takes another way through it, next to
 * pages that must not be touched, against the fields one after the other. NULL or what is wrong; reads and writes out of bounds
 * end the process. */
const char *judge_right(const ldg_key *key, ldg_kernel *kernel);
/* Sets least, most, before_ps and after_ps; and *ratio, how many times faster it is, the mean over many and few iterations. */
const char *judge_speed(const ldg_key *key, ldg_kernel *kernel, ldg_cache_tail *tail, double *ratio);
int64_t judge_now(void); /* ns of a clock that goes on evenly */

#endif
