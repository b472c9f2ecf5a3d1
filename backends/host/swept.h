/* swept: lists whose lines are read from end to end before a block is moved, where that turns out to be faster. */
#ifndef LDG_HOST_SWEPT_H
#define LDG_HOST_SWEPT_H

#include "../backend.h"

/* In words why that could gain nothing, or must not be; else NULL. */
const char *ldg_swept_why_not(const ldg_nest *n);
/* Reads, then runs the kernel of the same list that is plain; or NULL. Writes what it goes by into job->own, to what lists go by there and behind it. */
ldg_run *ldg_swept_way(ldg_job *j, ldg_run *plain);

#endif
