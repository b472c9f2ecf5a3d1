/* look: places in two words of bits: those that are taken, and those of them that are written. */
#include "look.h"

#include "attend.h"

#include <pthread.h>

static _Atomic uint64_t taken, written;
static ldg_look place[64];
static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER; /* who runs one, until it is over */
static pthread_mutex_t picking = PTHREAD_MUTEX_INITIALIZER; /* who picks one to run, or drops some; never for long */
static int under_way = -1;                                  /* the place of the one that is run */
static _Atomic int generation = 1;

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

/* The first that is written, from place `from` on, and is about `what`; NULL: all are. -1: none. */
static int pick(int from, const void *what) {
  uint64_t w = from < 64 ? atomic_load(&written) >> from << from : 0;
  while (w && !is_of(&place[__builtin_ctzll(w)], what)) w &= w - 1;
  if (w) atomic_fetch_and(&written, ~(w & -w));
  return w ? __builtin_ctzll(w) : -1;
}
static void give_back(int i) { atomic_fetch_and(&taken, ~((uint64_t)1 << i)); }

static void set_under_way(int i) {
  pthread_mutex_lock(&picking);
  under_way = i;
  pthread_mutex_unlock(&picking);
}

/* The place after the one that was run, 0: there was none. */
static int run_one(int from) {
  pthread_mutex_lock(&looking);
  pthread_mutex_lock(&picking);
  const int i = under_way = pick(from, NULL);
  pthread_mutex_unlock(&picking);
  if (i >= 0) place[i].run(&place[i], false), set_under_way(-1), give_back(i);
  pthread_mutex_unlock(&looking);
  return i + 1;
}

bool ldg_look_all(void) {
  bool some = false;
  for (int i = 0; ldg_look_some() && (i = run_one(i));) some = true;
  return some;
}

/* Waits only for one that is about it, and that holds `looking` until it is over. */
void ldg_jit_forget(const void *what) {
  if (!atomic_load(&taken)) return;
  pthread_mutex_lock(&picking);
  for (int i = 0; (i = pick(i, what)) >= 0;) place[i].run(&place[i], true), give_back(i);
  const bool wait = under_way >= 0 && is_of(&place[under_way], what);
  pthread_mutex_unlock(&picking);
  if (wait) pthread_mutex_lock(&looking), pthread_mutex_unlock(&looking);
}

int ldg_jit_generation(void) { return atomic_load_explicit(&generation, memory_order_relaxed); }

void ldg_look_forked(void) {
  looking = picking = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  under_way = -1;
  atomic_store(&written, 0), atomic_store(&taken, 0);
  atomic_fetch_add(&generation, 1);
}
