/* jit: what kernels compiled at run time gain, and what they cost those who wait for none. */
#ifndef LBENCH_JIT_H
#define LBENCH_JIT_H

/* `helper`: lading-jit, to fill a cache of this run's own. An exit status. */
int jit_time(const char *helper);

#endif
