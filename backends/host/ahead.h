/* ahead: blocks whose lines are asked for before it is their turn, where that turns out to be faster. */
#ifndef LDG_HOST_AHEAD_H
#define LDG_HOST_AHEAD_H

#include "../backend.h"

/* In words why that could gain nothing; else NULL. */
const char *ldg_ahead_why_not(const ldg_nest *n);
double ldg_ahead_share(const ldg_nest *n); /* of what the plain kernel takes */
/* Bytes of lines from which on calls of a nest are timed, where nothing else is known of it. */
int64_t ldg_ahead_least(const ldg_nest *n);
/* Is that worth to be tried for strided blocks of any other strategy, of which calls of so many bytes are timed? */
bool ldg_ahead_may_gain(const ldg_nest *n, int64_t least);
/* Writes what kernels that ask go by (kernels.h). */
void ldg_ahead_settle(ldg_job *j);
/* `plain` is prepared for the same nest without that; `asking` is the kernel that asks; `by_16`, which may be NULL, one more way. */
void ldg_ahead_prepare(ldg_job *j, const ldg_job *plain, ldg_run *asking, ldg_run *by_16);

#endif
