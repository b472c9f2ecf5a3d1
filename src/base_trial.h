/* base_trial: of two ways to do the same, calls find the faster one. Which it is may hang on where their lines come from, which nobody can
 * tell from a layout. */
#ifndef LDG_BASE_TRIAL_H
#define LDG_BASE_TRIAL_H

#include "base.h"

#define LDG_TRIAL_LEAST (128 * 64) /* bytes: calls of fewer are not timed, but of an iteration that has half as many */
#define LDG_TRIAL_KINDS 3          /* of calls: of less than 64 KiB, of less than 512 KiB, of more */

/* What is known of both ways for calls of one kind. All of it is racy: what is lost was only timed in vain. */
typedef struct ldg_verdict {
  _Atomic int which;        /* 0, or 1: the other way; of the first calls, the likely one */
  _Atomic bool waits;       /* the slower one ran untimed: the next turn is timed */
  _Atomic unsigned timed;   /* calls */
  _Atomic uint64_t pace[2]; /* 1/1024 ticks for an iteration; 0: not known */
} ldg_verdict;

/* Any number of threads may run both ways. */
typedef struct ldg_trial {
  int64_t few;              /* iterations: fewer are not timed; INT64_MAX: none ever is */
  int64_t edge[LDG_TRIAL_KINDS - 1]; /* iterations: so many are a call of the next kind */
  int64_t bytes;            /* of an iteration */
  ldg_verdict of[LDG_TRIAL_KINDS];
} ldg_trial;

/* Of iterations that take as long as so many bytes, each line of which counts whole. Without a clock the likely way stays. */
void ldg_trial_init(ldg_trial *t, int64_t bytes, bool other_is_likely);
/* No call is timed. */
void ldg_trial_never(ldg_trial *t);
/* A line for each kind of calls for which way 0, which is called `plain`, seems faster. */
void ldg_trial_explain(const ldg_trial *t, const char *plain, ldg_text *out);

/* Which kind of call n iterations are. */
static inline ldg_verdict *ldg_trial_verdict(const ldg_trial *t, int64_t n) {
  return (ldg_verdict *)(uintptr_t)&t->of[n < t->edge[0] ? 0 : n < t->edge[1] ? 1 : 2];
}
/* The way that seems faster. */
static inline int ldg_trial_best(const ldg_trial *t, int64_t n) { return atomic_load_explicit(&ldg_trial_verdict(t, n)->which, memory_order_relaxed); }
static inline bool ldg_trial_may(const ldg_trial *t, int64_t n) { return n >= t->few; }

/* A call of n iterations that may be timed: is it to be? If so it takes the way that start says, notes in `since` when it begins, by
 * ldg_cpu_ticks, and says to stop when it is done. Of what it calls, nothing is timed; but if it turns out to be there only so that the next one
 * is timed, first calls are. */
typedef struct ldg_lap { uint64_t since; ldg_verdict *of; unsigned call; int which, within; bool early, timed; } ldg_lap;
bool ldg_trial_is_due(const ldg_trial *t, int64_t n);
int ldg_trial_start(const ldg_trial *t, int64_t n, ldg_lap *lap);
void ldg_trial_stop(const ldg_lap *lap, int64_t n, uint64_t now);

#endif
