/* plan_hot: what stands in front of tier 1 until a kernel comes: it counts bytes, has a slot looked for, and takes the slot's kernel. What
 * takes longer than a count is left to a thread of the backend's. Steps have one a direction (plan_jit.h), pairs of plans that are copied have one (plan_pair.h). */
#ifndef LDG_PLAN_HOT_H
#define LDG_PLAN_HOT_H

#include "../backends/jit.h"
#include "rep.h"

#define LDG_HOT_LOOK (256 << 10) /* bytes before the shape is made */

typedef struct ldg_hot {
  _Atomic(ldg_kernel *) kernel;  /* of the slot, once it is there */
  _Atomic int64_t least, most;   /* iterations that it is for, of its loop and in all; set before the kernel is */
  _Atomic(ldg_slot *) slot;      /* NULL: not yet, or never */
  _Atomic int64_t rest, given;   /* bytes until it is looked at whether something is due, of so many; INT64_MAX: nobody wants to know any more */
  _Atomic int64_t moved;         /* bytes before those, not yet told to the slot; racy: some may be lost */
  _Atomic int64_t tell;          /* when that many; INT64_MAX: never */
  _Atomic int left;              /* the generation in which it was left to be looked at, 0: none */
  _Atomic(const char *) why;     /* there is no slot */
} ldg_hot;

/* What a plan knows of another one, or of packed bytes, that it is moved to or from, or reduced with (plan_pair.h). Once there is a
 * kernel it stays as it is for good; until then it may become another one's, while nobody is busy with it. */
typedef struct ldg_pair {
  _Atomic int claim;         /* of plan_pair.c */
  _Atomic int busy;          /* who has it looked at, and looks that were left */
  _Atomic uint64_t with;     /* which other plan, direction and op */
  _Atomic int64_t worth;     /* bytes moved, less those that others moved who would have its place; racy, as all counters of bytes are */
  ldg_hot hot;
  /* set before there is a slot */
  int64_t period, row, most; /* bytes of the stream: the least that both loops have in common, and the most at once */
  int64_t at[2];             /* of the kernel's places, from those of the period */
} ldg_pair;
#define LDG_PAIRS 4

/* Makes the shape, and what else is to be known before there is a slot; `gain` as ldg_jit_slot takes it. NULL or why there is none. */
typedef const char *ldg_hot_shape(void *arg, ldg_shape *s, double *gain);

void ldg_hot_init(ldg_hot *h);
/* Of a look: finds the slot, unless it was found. */
void ldg_hot_attach(ldg_hot *h, ldg_hot_shape *make, void *arg);
/* What is due: the slot's kernel becomes its own, so that calls have no slot to go to; or the slot is told, or left to be looked for, once.
 * Was it left, so that the look will run, besides any that was left before? */
bool ldg_hot_due(ldg_hot *h, const ldg_look *look);
/* Asks for the kernel at once. */
void ldg_hot_ask(ldg_hot *h, const ldg_look *look);
void ldg_hot_explain(const ldg_hot *h, ldg_text *t);

/* The kernel; or NULL, and so many bytes more were counted: is it time to look at what is due? Small calls do nothing else for it, so this is a count down. */
static inline ldg_kernel *ldg_hot_kernel(const ldg_hot *h) { return atomic_load_explicit(&h->kernel, memory_order_acquire); }
static inline bool ldg_hot_count(ldg_hot *h, int64_t bytes) {
  const int64_t rest = atomic_load_explicit(&h->rest, memory_order_relaxed);
  if (rest == INT64_MAX) return false;
  atomic_store_explicit(&h->rest, rest - bytes, memory_order_relaxed);
  return rest <= bytes;
}
/* Without a kernel, and none is to be expected? */
static inline bool ldg_hot_is_settled(const ldg_hot *h) { return atomic_load_explicit(&h->rest, memory_order_relaxed) == INT64_MAX; }
/* Is it for calls of so many iterations, which are so many in all? */
static inline bool ldg_hot_is_for(const ldg_hot *h, int64_t turns, int64_t all) {
  return turns >= atomic_load_explicit(&h->least, memory_order_relaxed) && all <= atomic_load_explicit(&h->most, memory_order_relaxed);
}

/* Is a body small enough for a shape? */
static inline bool ldg_hot_fits(const ldg_rep *body) { return body->runs <= LDG_SHAPE_FIELDS && body->size <= LDG_SHAPE_BYTES && body->size > 0; }
/* Entries that are the same but for their places, which kernels have as an argument: a body, at `at4`. */
static inline bool ldg_hot_lists(const ldg_rep *r, const int32_t *at4) { return r->kind == LDG_BLOCKS && !r->cnt && at4 && ldg_hot_fits(r->child); }
/* Fields of a shape are then counted from the least of either side, which is at[0] and at[1]. */
void ldg_hot_settle(ldg_shape *s, int64_t at[2]);

#endif
