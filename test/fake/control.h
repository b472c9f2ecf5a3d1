/* What a test says to the stand-in driver: one line of text, found by dlsym(driver, "ldg_fake_control"). The environment variable
 * LDG_FAKE holds such lines, too, separated by semicolons, for programs that cannot call.
 *
 *   reset                   counts are 0, nothing fails on demand any more
 *   ran KERNEL              how often that kernel ran, ever; -1: there is none
 *   count [NAME]            calls of cuNAME... since then; of all of them without a name
 *   fail NAME N E           the N-th call of NAME from now returns error E and does nothing; NAME any: of all calls,
 *                           but those that pop a context, since nobody could do anything about it
 *   kernel-fail N E         the N-th kernel from now fails with E when it runs; the context is lost with it
 *   lost E                  the device is lost: every call returns E
 *   room BYTES              device memory in all (-1: no limit)
 *   devices N | version V   how many devices, which driver; before cuInit
 *   patience US             queued work begins by itself after so long (-1: only when somebody waits or asks); at first 1000
 *   late N                  N queries of a stream say "not ready" before the truth, from its next command on
 *   still 0|1               1: a query of a stream or an event runs no command, so that what is queued stays there with patience -1
 *   shuffle SEED            a query runs a command of any stream that may go on, threads start in any order
 *   reuse 0|1               1: freed addresses come back at once, as real drivers do it; 0: never
 *   apart 0|1               1: a device has registered memory at other addresses than the host has it
 *   silent 0|1              1: HIP does not tell by which handles memory is exported, nor its pool, as ROCm up to 7 does not
 *   launch-takes NS         each launch of a kernel takes so much more, by the clock of events; a wait for it does not
 *   graph-takes NS          each launch of a graph does, and none of its kernels
 *   faults                  how many faults were found; `forgive` sets that to 0. With any at exit the process ends with 86
 *   leaks                   how many objects and ranges of memory are alive; says which
 *   pageable                copies from or to memory that no driver knows, since `reset`
 *   orphans                 pieces of memory that were freed while another process had them open, since `reset`
 *   queued                  commands that have not run
 *
 * Returns the number asked for, 0 for a setting, -1 for a line that means nothing.
 */
#ifndef FAKE_CONTROL_H
#define FAKE_CONTROL_H

#include <stdint.h>

typedef int64_t ldg_fake_control_fn(const char *line);

#endif
