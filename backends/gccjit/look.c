/* look: places in two words of bits: those that are taken, and those of them that are written. */
#include "look.h"

#include "attend.h"

#include <pthread.h>

static _Atomic uint64_t taken, written;
static ldg_look place[64];
static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER; /* who runs one, or drops some */

bool ldg_look_some(void) { return atomic_load(&written) != 0; }

bool ldg_jit_look(const ldg_look *l) {
  uint64_t t = atomic_load_explicit(&taken, memory_order_relaxed);
  do
    if (t == UINT64_MAX) return false;
  while (!atomic_compare_exchange_weak(&taken, &t, t | (t + 1)));
  place[__builtin_ctzll(~t)] = *l;
  atomic_fetch_or(&written, ~t & (t + 1));
  ldg_attend();
  return true;
}

void ldg_jit_remind(void) {
  if (ldg_look_some()) ldg_attend();
}

void ldg_jit_look_now(const ldg_look *l) {
  pthread_mutex_lock(&looking);
  l->run(l, false);
  pthread_mutex_unlock(&looking);
}

static bool is_of(const ldg_look *l, const void *what) { return !what || l->of[0] == what || l->of[1] == what; }

/* The first of those that are about `what`, from place `from` on; NULL: all are. The place after it, 0: there was none. */
static int take(int from, const void *what) {
  pthread_mutex_lock(&looking);
  uint64_t w = from < 64 ? atomic_load(&written) >> from << from : 0;
  while (w && !is_of(&place[__builtin_ctzll(w)], what)) w &= w - 1;
  const int i = w ? __builtin_ctzll(w) : -1;
  if (w) {
    place[i].run(&place[i], what != NULL);
    atomic_fetch_and(&written, ~(w & -w)), atomic_fetch_and(&taken, ~(w & -w));
  }
  pthread_mutex_unlock(&looking);
  return i + 1;
}

bool ldg_look_all(void) {
  bool some = false;
  for (int i = 0; ldg_look_some() && (i = take(i, NULL));) some = true;
  return some;
}

/* Also where nothing is left: the look that was taken last may be under way, and keeps its bit until it is over. */
void ldg_jit_forget(const void *what) {
  for (int i = 0; ldg_look_some() && (i = take(i, what));) { }
}

void ldg_look_forked(void) {
  looking = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  atomic_store(&taken, atomic_load(&written));
}
