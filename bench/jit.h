/* jit: what kernels compiled at run time gain, and what they cost those who wait for none. */
#ifndef LBENCH_JIT_H
#define LBENCH_JIT_H

/* `helper`: lading-jit, to fill a cache of this run's own. An exit status. */
int jit_time(const char *helper);

/* Of jit.c and jit_waits.c: commits, and calls while kernels are compiled, with kernels switched on and off. */
int jit_waits(const char *helper);
double jit_now(void); /* ns */
/* Options of the library are read once in a process: whoever sets other ones needs a process. */
int jit_in_a_child(int work(void *arg), void *arg);

#endif
