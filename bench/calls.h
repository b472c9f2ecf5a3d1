/* calls: what single calls take that move nothing or little. */
#ifndef LBENCH_CALLS_H
#define LBENCH_CALLS_H

/* Prints a table, medians in ns. 0, or 2 when there is no memory. */
int calls_time(void);

#endif
