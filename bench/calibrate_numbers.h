/* calibrate_numbers: the single numbers of the model: overheads and thresholds. */
#ifndef LBENCH_CALIBRATE_NUMBERS_H
#define LBENCH_CALIBRATE_NUMBERS_H

#include "base_model.h"
#include "plan.h"

typedef struct bench_pools {
  char *strided, *dense;                 /* memory on both sides of a move */
  int64_t bytes;                         /* samples may begin anywhere in so many, and go on for half as many */
  int64_t level[LDG_MODEL_LEVELS];
  double call;                           /* ns to enter a kernel */
} bench_pools;

double calibrate_now(void);              /* ns */
/* The least ns of job->run for n iterations, repeated. */
double calibrate_warm(const ldg_job *j, const char *src, char *dst, int64_t n);
double calibrate_call(const bench_pools *p);
/* Fills m->number; all else of m is measured. */
int64_t calibrate_lanes(const bench_pools *p);                    /* LDG_MODEL_LANES */
int64_t calibrate_written(const bench_pools *p);                  /* LDG_MODEL_WRITTEN */
int64_t calibrate_joined(const bench_pools *p);                   /* LDG_MODEL_JOINED */
int64_t calibrate_masked(const bench_pools *p);                   /* LDG_MODEL_MASKED */
void calibrate_numbers(const bench_pools *p, ldg_model *m);

#endif
