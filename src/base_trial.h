/* base_trial: of some ways to do the same, calls find the fastest one. Which it is may hang on where their lines come from, which nobody can
 * tell from a layout. */
#ifndef LDG_BASE_TRIAL_H
#define LDG_BASE_TRIAL_H

#include "base.h"

#define LDG_TRIAL_LEAST (128 * 64) /* bytes: calls of fewer are mostly not timed (of iterations of more than half as many one is enough) */
#define LDG_TRIAL_KINDS 4          /* of calls: of less than 64 KiB, of less than 512 KiB, of less than may go past the caches, of more */
#define LDG_TRIAL_WAYS 5           /* at most */

/* What is known of the ways for calls of one kind. All of it is racy: what is lost was only timed in vain. */
typedef struct ldg_verdict {
  _Atomic unsigned char which; /* the fastest; of the first calls, the likely one */
  _Atomic bool waits;       /* a slower one ran untimed: the next turn is timed */
  _Atomic unsigned short counted; /* paces of the row of calls that go one way */
  _Atomic unsigned proof;   /* calls that are left of those by which another way proves that it is faster, and that way; 0: none does */
  _Atomic unsigned timed;   /* calls */
  _Atomic uint64_t least, second, greatest, sum; /* of those paces */
  _Atomic uint64_t pace[LDG_TRIAL_WAYS]; /* 1/65536 ticks for an iteration, which may be a byte; 0: not known */
  _Atomic unsigned char doubts[LDG_TRIAL_WAYS]; /* proofs that failed since the last good one */
} ldg_verdict;

/* Any number of threads may run all ways. */
typedef struct ldg_trial {
  int64_t few;              /* iterations: fewer are not timed; INT64_MAX: none ever is */
  int64_t edge[LDG_TRIAL_KINDS - 1]; /* iterations: so many are a call of the next kind */
  int64_t bytes;            /* of an iteration */
  int32_t ways, likely;     /* so many; the one that the first calls take */
  ldg_verdict of[LDG_TRIAL_KINDS];
} ldg_trial;

/* Of iterations that take as long as so many bytes, each line of which counts whole; calls of less than `least` of those, in whole iterations, are not timed; of 2 to LDG_TRIAL_WAYS ways. Without a clock
 * the likely way stays. */
void ldg_trial_init(ldg_trial *t, int64_t bytes, int64_t least, int ways, int likely);
/* So many iterations are timed then. */
static inline int64_t ldg_trial_few(int64_t bytes, int64_t least) { return least / ldg_min(ldg_max(bytes, 1), least); }
/* No call is timed. */
void ldg_trial_never(ldg_trial *t);
/* A line for each kind of calls for which way 0, which is called `plain`, seems fastest. */
void ldg_trial_explain(const ldg_trial *t, const char *plain, ldg_text *out);

/* Which kind of call n iterations are. */
static inline ldg_verdict *ldg_trial_verdict(const ldg_trial *t, int64_t n) {
  return (ldg_verdict *)(uintptr_t)&t->of[n < t->edge[0] ? 0 : n < t->edge[1] ? 1 : n < t->edge[2] ? 2 : 3];
}
/* The way that seems fastest. */
static inline int ldg_trial_best(const ldg_trial *t, int64_t n) { return atomic_load_explicit(&ldg_trial_verdict(t, n)->which, memory_order_relaxed); }
static inline bool ldg_trial_may(const ldg_trial *t, int64_t n) { return n >= t->few; }

/* A call of n iterations that may be timed: is it to be? If so it takes the way that start says, notes in `since` when it begins, by
 * ldg_cpu_clock, and says to stop when it is done. Of what it calls only first calls are timed; then it does not count. */
typedef struct ldg_lap {
  uint64_t since;
  const ldg_trial *trial;
  ldg_verdict *of;
  unsigned call, firsts, proof; /* which one it is; first calls that the thread had timed by then; where a proof stood, or 0 */
  int which;                    /* way */
  bool within, early, timed;    /* another one; one of the first calls; is it to be timed, or only the one before that */
} ldg_lap;
bool ldg_trial_is_due(const ldg_trial *t, int64_t n);
int ldg_trial_start(const ldg_trial *t, int64_t n, ldg_lap *lap);
void ldg_trial_stop(const ldg_lap *lap, int64_t n, uint64_t now);

#endif
