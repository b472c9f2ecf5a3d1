/* verify: every strategy against the definition, byte for byte. */
#ifndef LBENCH_VERIFY_H
#define LBENCH_VERIFY_H

#include "problem.h"

typedef struct verify_options {
  bool quick;
  int ranges;      /* random ranges per strategy and direction */
  uint64_t seed;
} verify_options;

typedef enum verdict { VERIFY_OK, VERIFY_WRONG, VERIFY_SKIPPED } verdict;

/* Prints one line, `verify NAME ok (k strategies, m ranges)`, or what is wrong and how to see it again. */
verdict verify_problem(problem *p, const verify_options *o);

#endif
