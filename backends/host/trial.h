/* trial: of some kernels that move the same, calls find the fastest one. */
#ifndef LDG_HOST_TRIAL_H
#define LDG_HOST_TRIAL_H

#include "../backend.h"
#include "base_trial.h"

/* Sets job->run, which runs one of 1 to LDG_TRIAL_WAYS of them, the first being the plain one; the likely one until calls were timed, and for good where
 * there is no clock, or the nest says `once`. An iteration of the outermost dim counts as so many bytes; calls of less than `least` are not timed. Takes all of job->own from LDG_TRIAL_OWN bytes on; before that is what the kernels go by. Any number of
 * threads may run the job. */
#define LDG_TRIAL_OWN 80
void ldg_trial_prepare(ldg_job *j, ldg_run *const *ways, int n, int likely, int64_t bytes, int64_t least);
/* The k-th of them; of a job without any, what job->own had there, which those who ask had better have cleared. */
ldg_run *ldg_trial_way(const ldg_job *j, int k);
/* Of the lines of an iteration of the outermost dim, of blocks that have lines of their own; so many that it cannot matter where there are more than can be counted. */
int64_t ldg_trial_lines(const ldg_nest *n);
/* Whether calls of all of a nest are timed, if those of so many bytes of lines are. */
bool ldg_trial_times(const ldg_nest *n, int64_t least);

#endif
