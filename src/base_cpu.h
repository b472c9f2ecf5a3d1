/* base_cpu: which machine this is. */
#ifndef LDG_BASE_CPU_H
#define LDG_BASE_CPU_H

#include "base.h"

/* The instruction set level that kernels are chosen for: v2, v3, v4, v4+vbmi of x86-64, neon, base; capped by LADING_ISA. */
const char *ldg_cpu_isa(void);
/* Is a level no better than that one? */
bool ldg_cpu_has(const char *isa);
/* And for the kernels that were built: where they are played (genkernels/played.h), v3 is as good as all of v4 if LADING_ISA says v4 or v4+vbmi. */
bool ldg_cpu_runs(const char *isa);
int ldg_cpu_amd_family(void); /* 0: of another maker; 0x1a: Zen 5, ones before are less */
/* Bytes of the data cache of level 1, 2, 3 as one core sees it; a usual size where the system does not say. */
int64_t ldg_cpu_cache(int level);
/* A clock that goes on evenly and is read without the system, in steps of at most some 10 ns; 0 where there is none. */
static inline uint64_t ldg_cpu_ticks(void) {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t x;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(x));
  return x;
#else
  return 0;
#endif
}
/* The same for calls that find out which way is faster. Tests put a clock of their own in its place, before there are such calls, or others on the machine would
 * decide what they see. */
extern uint64_t (*ldg_cpu_clock)(void);
/* One line: processor, level, caches. What was measured on one machine holds for all of the same line. */
#define LDG_CPU_LINE 200
void ldg_cpu_fingerprint(char line[LDG_CPU_LINE]);

#endif
