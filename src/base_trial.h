/* base_trial: of two ways to do the same, calls find the faster one. Which it is may hang on where their lines come from, which nobody can
 * tell from a layout. */
#ifndef LDG_BASE_TRIAL_H
#define LDG_BASE_TRIAL_H

#include "base.h"

#define LDG_TRIAL_LEAST (128 * 64) /* bytes: calls of fewer are not timed, but of an iteration that has half as many */

/* What is known of both ways; any number of threads may run them. All of it is racy: what is lost was only timed in vain. */
typedef struct ldg_trial {
  int32_t few, many, bytes; /* iterations: fewer are not timed, so many count as a call like any other; bytes of one */
  _Atomic int which;        /* 0, or 1: the other way; of the first calls, the likely one */
  _Atomic bool waits;       /* the slower one ran untimed: the next turn is timed */
  _Atomic unsigned timed;   /* calls */
  _Atomic uint64_t pace[2]; /* 1/1024 ticks for an iteration; 0: not known */
} ldg_trial;

/* Of iterations that take as long as so many bytes, each line of which counts whole. Without a clock the likely way stays. */
void ldg_trial_init(ldg_trial *t, int64_t bytes, bool other_is_likely);

/* The way that seems faster. */
static inline int ldg_trial_best(const ldg_trial *t) { return atomic_load_explicit(&t->which, memory_order_relaxed); }
static inline bool ldg_trial_may(const ldg_trial *t, int64_t n) { return n >= t->few; }

/* A call of n iterations that may be timed: is it to be? If so it takes the way that start says, and goes to stop when it is done. */
typedef struct ldg_lap { uint64_t since; unsigned call; int which; bool early, timed; } ldg_lap;
bool ldg_trial_is_due(const ldg_trial *t, int64_t n);
int ldg_trial_start(ldg_trial *t, ldg_lap *lap);
void ldg_trial_stop(ldg_trial *t, int64_t n, const ldg_lap *lap);

#endif
