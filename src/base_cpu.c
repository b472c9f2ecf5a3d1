/* base: which machine this is: processor, instruction set level, cache sizes. */
#include "base_cpu.h"

#include <stdio.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* ---- processor ---- */

#if defined(__x86_64__)
static void processor(char name[64]) {
  unsigned int r[12], most = __get_cpuid_max(0x80000000u, NULL);
  snprintf(name, 64, "x86-64");
  if (most < 0x80000004u) return;
  for (unsigned int i = 0; i < 3; i++) __get_cpuid(0x80000002u + i, &r[4 * i], &r[4 * i + 1], &r[4 * i + 2], &r[4 * i + 3]);
  memcpy(name, r, sizeof r);
  name[sizeof r] = 0;
  __get_cpuid(1, &r[0], &r[1], &r[2], &r[3]); /* clouds call all of theirs the same: family, model and stepping tell */
  snprintf(name + strlen(name), 64 - strlen(name), " %x", r[0]);
}
#else
static void processor(char name[64]) {
  char line[32] = "";
  FILE *f = fopen("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", "r");
  if (f && !fgets(line, sizeof line, f)) line[0] = 0;
  if (f) fclose(f);
  snprintf(name, 64, "processor %s", line[0] ? line : "unknown");
}
#endif

int ldg_cpu_amd_family(void) {
#if defined(__x86_64__)
  unsigned int r[4];
  if (!__get_cpuid(0, &r[0], &r[1], &r[2], &r[3]) || r[1] != signature_AMD_ebx || !__get_cpuid(1, &r[0], &r[1], &r[2], &r[3])) return 0;
  return (int)(r[0] >> 8 & 0xf) + (int)(r[0] >> 20 & 0xff); /* the second part counts where the first one is 15, as AMD's have long been */
#else
  return 0;
#endif
}

/* ---- level ---- */

/* Of this architecture alone, each better than those before it. */
#if defined(__x86_64__)
static const char *const isa_name[] = { "base", "v2", "v3", "v4", "v4+vbmi" };
/* What the kernels of a level are compiled for, all of it: a hypervisor may hide any one. */
static int best(void) {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("popcnt")) return 0;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2")) return 1;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw")) return 2;
  if (!__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl")) return 2;
  return __builtin_cpu_supports("avx512vbmi") ? 4 : 3;
}
#elif defined(__aarch64__)
static const char *const isa_name[] = { "base", "neon" };
static int best(void) { return 1; }
#else
static const char *const isa_name[] = { "base" };
static int best(void) { return 0; }
#endif

static int capped(int most) {
  const char *cap = ldg_option_get(LDG_OPT_ISA);
  for (int i = 0; cap && i < most; i++)
    if (!strcmp(cap, isa_name[i])) return i;
  return most;
}
static bool is_within(const char *isa, int most) {
  for (int i = capped(most); i >= 0; i--)
    if (!strcmp(isa, isa_name[i])) return true;
  return false;
}

const char *ldg_cpu_isa(void) { return isa_name[capped(best())]; }
bool ldg_cpu_has(const char *isa) { return is_within(isa, best()); }
/* What is played takes so long that whoever times kernels does without, and who wants it says so. */
bool ldg_cpu_runs(const char *isa) {
  enum { V3 = 2, ALL = 4 };
  const int most = best(), played = !ldg_option_get(LDG_OPT_ISA) || most < V3 ? ldg_min(most, V3) : ALL;
  return is_within(isa, LDG_PLAYED ? played : most);
}

/* ---- caches ---- */

int64_t ldg_cpu_cache(int level) {
  static const int64_t usual[] = { 32 << 10, 1 << 20, 32 << 20 };
  long size = 0;
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  static const int name[] = { _SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE };
  size = sysconf(name[level - 1]);
#endif
  return size > 0 ? size : usual[level - 1];
}

/* ---- all of it ---- */

/* One blank between words, nothing that does not print: the line is a line of a file. */
static void tidy(char *s) {
  char *to = s;
  for (const char *from = s; *from; from++) {
    const char c = *from > ' ' && *from < 127 ? *from : ' ';
    if (c != ' ' || (to > s && to[-1] != ' ')) *to++ = c;
  }
  while (to > s && to[-1] == ' ') to--;
  *to = 0;
}

static uint64_t ticks(void) { return ldg_cpu_ticks(); }
uint64_t (*ldg_cpu_clock)(void) = ticks;

void ldg_cpu_fingerprint(char line[LDG_CPU_LINE]) {
  char name[64];
  processor(name);
  snprintf(line, LDG_CPU_LINE, "%s, %s, caches %lld %lld %lld", name, ldg_cpu_isa(), (long long)ldg_cpu_cache(1), (long long)ldg_cpu_cache(2),
           (long long)ldg_cpu_cache(3));
  tidy(line);
}
