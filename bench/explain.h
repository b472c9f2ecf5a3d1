/* explain: the strategies' predicted times beside what they take. */
#ifndef LBENCH_EXPLAIN_H
#define LBENCH_EXPLAIN_H

#include "measure.h"

/* Prints a line for every strategy that can run the whole message at its root, either way. False with a message. */
bool explain_measured(const problem *p, const measure_options *o, char *why, size_t cap);

#endif
