/* When a batch is started. Pure functions of times that the caller measures or models: no clock, no state, no device, so that a
 * simulator with a virtual clock can hold them against the optimum (test/test_batch_policy.c). Times are ns.
 *
 * A launch takes `launch`; it packs its messages one after the other, `pack` each, and what it packed is sent, `send` each, by a
 * network that works on one message at a time and beside the packing. */
#ifndef LDG_BATCH_POLICY_H
#define LDG_BATCH_POLICY_H

#include "base.h"

/* The size of the next batch when n messages are there or announced, n >= 1, so that the last one is sent as early as possible.
 *
 * Batches of b messages give, where packing is the bottleneck, n launch / b + n pack + b send, least for b = sqrt(n launch / send);
 * where the network is, launch + b pack + n send, least for the smallest b that keeps it busy, b = launch / (send - pack). But equal
 * batches are not the best ones. In the best row neither side waits for the other (lot streaming in a
 * two-machine flow shop, Potts and Baker 1989): each batch is as long on the network as the next one takes to be launched and
 * packed. From the last one, x, backwards b(0) = x, b(j+1) = (launch + pack b(j)) / send; q of them end at q launch + n pack + send x.
 * All b(j) are linear in x, so their sum n gives x, and the first of the best row is the answer,
 * rounded to the side that ends earlier. */
int64_t ldg_batch_next(int64_t n, double launch, double pack, double send);

/* What waits to be started. */
typedef struct ldg_batch_waiting {
  int64_t n, bytes;
  int64_t oldest;    /* when the first one came */
  int64_t later;     /* sum over all of how much later than that they came */
} ldg_batch_waiting;

static inline void ldg_batch_came(ldg_batch_waiting *w, int64_t bytes, int64_t now) {
  if (w->n++ == 0) w->oldest = now, w->bytes = 0, w->later = 0;
  w->bytes += bytes, w->later += now - w->oldest;
}

/* Time that all of them have waited, together. */
static inline int64_t ldg_batch_waited(const ldg_batch_waiting *w, int64_t now) { return w->n * (now - w->oldest) - w->later; }

typedef struct ldg_batch_rules {
  int64_t count, bytes; /* so many are enough for a launch */
  int64_t age;          /* nobody waits longer */
  int64_t launch;       /* what a launch costs */
} ldg_batch_rules;

typedef enum ldg_batch_why { LDG_BATCH_NOT_YET, LDG_BATCH_COUNT, LDG_BATCH_BYTES, LDG_BATCH_AGE, LDG_BATCH_RENT } ldg_batch_why;

/* Is it time, when nobody knows what will still come? `busy`: a batch is under way, behind which another one would only queue up.
 *
 * Ski rental: rent is the time that requests spend waiting, to buy is to launch. It is time when the rent paid comes to the price:
 * a launch that the best plan, which knows the future, saves costs it at least as much waiting, so launches and waiting together are
 * at most twice those of the best plan, and no rule that does not know the future is better (Dooly, Goldman, Scott 2001).
 *
 * The end is at most twice the earliest one, too, where requests complete one by one: let the last message come at t. The last launch
 * starts by t + launch, or when the batch under way then is done, and that one was started by t. So both of them end within
 * (t + launch) + (launch + packing and sending of all, overlapped), and no plan ends before either of these. */
ldg_batch_why ldg_batch_due(const ldg_batch_rules *r, const ldg_batch_waiting *w, int64_t now, bool busy);

#endif
