/* slot: the table of shapes, as the callers who count and the attendant who looks after it see it. */
#ifndef LDG_JIT_SLOT_H
#define LDG_JIT_SLOT_H

#include "cache.h"

/* A slot starts NEW, until the attendant has looked into the cache. Callers make it WANTED, all else is the attendant's. */
enum { LDG_SLOT_NEW, LDG_SLOT_COLD, LDG_SLOT_WANTED, LDG_SLOT_BUILDING, LDG_SLOT_READY, LDG_SLOT_WORSE, LDG_SLOT_FAILED };

typedef struct ldg_entry {
  ldg_slot slot;
  _Atomic bool used;         /* for good; whoever looks makes it so */
  _Atomic(const char *) why; /* no kernel came, the last time one was wanted */
  double gain;               /* ns a byte, at most */
  char key[LDG_KEY_MAX];
} ldg_entry;

/* The i-th entry, NULL where there is none. */
#define LDG_SLOTS 512 /* all suites have 250 */
ldg_entry *ldg_slot_entry(int i);
static inline int ldg_slot_state(const ldg_entry *e) { return atomic_load_explicit(&e->slot.state, memory_order_acquire); }
static inline bool ldg_slot_is_open(int state) { return state == LDG_SLOT_NEW || state == LDG_SLOT_WANTED || state == LDG_SLOT_BUILDING; }
/* Is there something for the attendant to do? */
static inline bool ldg_slot_open(const ldg_entry *e) { return ldg_slot_is_open(ldg_slot_state(e)); }
/* In any entry, or behind it: something to be looked at? */
bool ldg_slot_some_open(void);

extern const char ldg_slot_no_gain[]; /* why: who asks gets it all the same */

bool ldg_slot_talks(void);
void ldg_slot_say(const char *what, const char *why);
const char *ldg_slot_helper(void);

#endif
