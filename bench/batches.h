/* batches: many requests at once on a device: fused, one launch each, a stream each, a captured graph of launches. */
#ifndef LBENCH_BATCHES_H
#define LBENCH_BATCHES_H

#include <stdbool.h>

/* Prints a table, or with `csv` a line for every number of requests of every problem. Every way's bytes are checked first. Problems
 * are those of ddtbench.suite in that folder, and the 26 faces of a box. The exit status of lbench. */
int batches_time(const char *backend, const char *suites_dir, bool csv);

#endif
