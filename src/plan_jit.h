/* plan_jit: tier 2. Puts itself in front of the jobs that a compiled kernel may beat; they run as planned until it is there. */
#ifndef LDG_PLAN_JIT_H
#define LDG_PLAN_JIT_H

#include "../backends/jit.h"
#include "plan.h"

/* Does a plan that was forced so have kernels? Plans that are private to a test or to explain, and forced, have none. */
bool ldg_jit_lets(const char *force);
/* The job of a direction was chosen: wraps it where a kernel may pay, and there is memory to. */
void ldg_jit_wrap(ldg_step *s, int dir);
/* A job that runs a kernel with one loop as that of a plan does once it has one, for whoever judges what it takes. job->hot is to be freed. */
bool ldg_jit_alone(ldg_job *job, ldg_kernel *k, int64_t src_stride, int64_t dst_stride);
/* Before a step is freed. */
void ldg_jit_unwrap(ldg_step *s);
/* Asks at once for all kernels of a plan that are predicted to gain anything, for who measures or tests: where a call finds just then that none is to be expected, nobody may find it. */
void ldg_jit_warm(const ldg_plan *p);
/* What the wrapper of a step, if it has one, knows; no line otherwise. */
void ldg_jit_explain_step(const ldg_step *s, int dir, ldg_text *t);

#endif
