/* paced: columns whose lines meet in few sets of a cache, a few at a time, or further apart in time; and those with a page for each block. */
#ifndef LDG_HOST_PACED_H
#define LDG_HOST_PACED_H

#include "../backend.h"

/* In words why lines do not meet; else NULL. */
const char *ldg_paced_why_not(const ldg_nest *n);
double ldg_paced_cost(const ldg_nest *n);
/* Blocks that may be on their way at once, where the lines of a side with that stride meet; 0: any number. */
int64_t ldg_paced_read(int64_t block, int64_t stride);
int64_t ldg_paced_written(int64_t block, int64_t stride);
/* `groups` and `apart` are kernels of the innermost dim of job->nest, `plain` and `late`, which may be NULL, of all of it. */
void ldg_paced_prepare(ldg_job *j, ldg_run *groups, ldg_run *apart, ldg_run *plain, ldg_run *late);

#endif
