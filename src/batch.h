/* batch: many works, one launch. A ring of requests: request `id` has slot id mod slots from its add until it is done and its error,
 * if it had one, was told; then a later request may have the slot. What is done is said by a word a slot, which only grows: the request
 * is done when the word of its slot is at least its id. So a word never has to be reset, an id never comes twice, and whoever writes the
 * words, a kernel for instance, needs no lock.
 *
 *     added ----- conflict, rules, flush, wait ---> started ----- executor ---> done ----- sweep ---> slot free
 *
 * The requests of one launch touch no byte that another one of them writes. Where they might, the ones before are started first:
 * launches of one batch take effect in order. */
#ifndef LDG_BATCH_H
#define LDG_BATCH_H

#include "batch_apart.h"
#include "batch_policy.h"
#include "queue.h"

/* One a slot; `slots` is a power of two. */
typedef struct ldg_batch_words { _Atomic uint64_t *at; int64_t slots; } ldg_batch_words;
static inline int64_t ldg_batch_slot(const ldg_batch_words *w, uint64_t id) { return (int64_t)(id & (uint64_t)(w->slots - 1)); }
static inline bool ldg_batch_is_done(const ldg_batch_words *w, uint64_t id) {
  return atomic_load_explicit(&w->at[ldg_batch_slot(w, id)], memory_order_acquire) >= id;
}

typedef struct ldg_batch_item {
  uint64_t id;                   /* of the last request that had this slot; 0: none yet */
  ldg_work work;
  ldg_batch_place place[2];      /* what it reads, what it writes */
  lading_type *type[2];          /* references, until it was found done */
  int64_t from;                  /* bytes of the requests before it in its launch */
  bool alone;                    /* no launch takes it: it goes by itself, in its turn */
  bool nameless;                 /* nobody has its number: a flush tells its error */
  bool owes;                     /* its error has not been told to who has it */
  _Atomic int error;             /* set before the word */
} ldg_batch_item;

/* The place where launches go. Not locked: the batch calls it under its lock. */
typedef struct ldg_batch_executor {
  /* Whether it takes this work, and whether with others; may fill in kinds of memory. Errors are those of the request's add. */
  int (*take)(void *self, ldg_work *w, bool *alone);
  /* Runs n items in one launch, behind all that was started before, or one item that is alone. Whoever is done says so by
   * ldg_batch_done or by writing its word. An error is that of all items of which nobody says otherwise. */
  int (*start)(void *self, ldg_batch_item *const *items, int64_t n);
  /* Looks what is done, and never waits for it. ERR_DEVICE: nothing that is not done will ever be. */
  int (*poll)(void *self);
  /* Whether what is started now runs now, and not when somebody plays a recording. NULL: it does. */
  bool (*runs)(void *self);
  void (*close)(void *self);
  ldg_batch_words words;
  double launch, byte;           /* ns that a launch and a packed byte take */
  int64_t most;                  /* requests that one launch takes; more are several */
  void *self;
} ldg_batch_executor;

/* attr has no zeros left but for the policy; its slots are those of the words. The executor is closed by ldg_batch_free, and on an error here. */
int ldg_batch_open(const ldg_batch_executor *x, const lading_batch_attr *attr, lading_batch **out);
/* Starts what waits, and waits for all of it. */
void ldg_batch_free(lading_batch *b);
/* The place of every request is what it was when it was added: `w` is copied, the types get a reference. LADING_BATCH_FULL. */
int ldg_batch_add(lading_batch *b, ldg_work *w, const lading_type *const type[2], lading_request *out);
int ldg_batch_flush(lading_batch *b);
void ldg_batch_expect(lading_batch *b, int64_t n);
int ldg_batch_passed(lading_batch *b, lading_request r, bool wait, bool *done);
void ldg_batch_stats(lading_batch *b, lading_batch_counts *out);
/* Testing: the next request gets this id; none was added yet. */
void ldg_batch_begin_at(lading_batch *b, uint64_t id);
/* Testing: the most looks at other requests that an add took, and how many it may take. */
int64_t ldg_batch_looked(const lading_batch *b);
enum { LDG_BATCH_LOOKS = 256 };
/* Testing: the time, instead of the system's. NULL: the system's again. */
void ldg_batch_clock(int64_t (*now)(void));
int64_t ldg_batch_now(void);

/* For executors, from any thread: this request is done. */
void ldg_batch_done(const ldg_batch_words *w, ldg_batch_item *it, int error);

/* ---- executors ---- */

#define LDG_BATCH_FLUSH_BYTES ((int64_t)512 << 10)
#define LDG_BATCH_SLOTS 256
#define LDG_BATCH_SLOTS_MAX (1 << 20)
/* Runs launches at once, on the threads of the attr. ERR_NOMEM. */
int ldg_batch_host(const lading_batch_attr *attr, ldg_batch_executor *out);
/* That one for a host's queue; for a device's, launches there. */
int ldg_batch_executor_of(lading_queue *q, const lading_batch_attr *attr, ldg_batch_executor *out);

#endif
