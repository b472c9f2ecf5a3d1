/* A job that runs one of some kernels. */
#include "trial.h"

#include "base_cpu.h"

enum { LINE = 64 };

typedef struct ways { ldg_run *run[LDG_TRIAL_WAYS]; ldg_trial trial; } ways;
_Static_assert(LDG_TRIAL_OWN + sizeof(ways) <= sizeof ((ldg_job *)NULL)->own && LDG_TRIAL_OWN % _Alignof(ways) == 0, "it fits into a job");

static ways *ways_of(const ldg_job *j) { return (ways *)((uintptr_t)(const void *)j->own + LDG_TRIAL_OWN); }

ldg_run *ldg_trial_way(const ldg_job *j, int k) { return ways_of(j)->run[k]; }

static __attribute__((noinline)) int run_timed(const ldg_job *j, ways *a, const char *src, char *dst, int64_t i0, int64_t n) {
  ldg_lap lap;
  ldg_run *const way = a->run[ldg_trial_start(&a->trial, n, &lap)];
  lap.since = ldg_cpu_clock();
  way(j, src, dst, i0, n);
  ldg_trial_stop(&lap, n, ldg_cpu_clock());
  return LADING_OK;
}

LDG_INLINE int run_best(const ldg_job *j, const ways *a, const char *src, char *dst, int64_t i0, int64_t n) {
  return a->run[ldg_trial_best(&a->trial, n)](j, src, dst, i0, n);
}
static __attribute__((noinline)) int run_many(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) {
  ways *a = ways_of(j);
  return ldg_trial_is_due(&a->trial, n) ? run_timed(j, a, src, dst, i0, n) : run_best(j, a, src, dst, i0, n);
}
/* Small calls, of which nothing is to be found out, save no register. */
static int run(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) {
  const ways *a = ways_of(j);
  return ldg_trial_may(&a->trial, n) ? run_many(j, src, dst, i0, n) : run_best(j, a, src, dst, i0, n);
}

int64_t ldg_trial_lines(const ldg_nest *n) {
  int64_t bytes = n->block > INT64_MAX / 2 ? INT64_MAX / 2 : (n->block + LINE - 1) & -LINE;
  for (int k = 0; k < n->nd - 1; k++)
    if (ldg_mul(bytes, ldg_max(n->dim[k].n, 1), &bytes)) return INT64_MAX / 2;
  return bytes;
}

bool ldg_trial_times(const ldg_nest *n, int64_t least) { return n->dim[n->nd - 1].n >= ldg_trial_few(ldg_trial_lines(n), least); }

void ldg_trial_prepare(ldg_job *j, ldg_run *const *list, int n, int likely, int64_t bytes, int64_t least) {
  ways *a = ways_of(j);
  j->run = list[likely];
  if (n < 2 || j->nest.once || !ldg_cpu_ticks()) return;
  memcpy(a->run, list, (size_t)n * sizeof *list);
  ldg_trial_init(&a->trial, bytes, least, n, likely);
  j->run = run;
}
