/* floor: the least time a problem can take here. Both ways touch the same cache lines: those that hold its bytes in memory,
 * and those of the packed buffer; they have to be moved as memcpy moves as many. */
#ifndef LBENCH_FLOOR_H
#define LBENCH_FLOOR_H

#include "sampler.h"

#define FLOOR_LINE 64

/* Distinct lines of `line` bytes that moving the whole message touches, on both sides. Exact up to 2^22 runs, else estimated from
 * samples of them; in arrays beyond 16 GiB only lines of consecutive runs count once. */
int64_t floor_lines(const problem *p, int64_t line);
static inline int64_t floor_touched(const problem *p) { return floor_lines(p, FLOOR_LINE) * FLOOR_LINE; } /* bytes */
/* The time of a memcpy from half as many lines to the other half, in as many copies as `like` has: the fastest so far of its
 * class of sizes. */
double floor_traffic_ns(const sampler *like, int64_t lines, int samples);
/* What fits in L1 is bound by the call and its instructions, not by lines: no mover is faster than memcpy of its bytes. */
double floor_least_ns(int64_t lines, double traffic_ns, double memcpy_ns);

void floor_memcpy(sampler *s, int64_t reps); /* a batch: packed bytes to the other buffer */

#endif
