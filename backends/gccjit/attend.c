/* attend: looks after the slots: takes what is in the cache, starts one helper at a time for what is not, and waits for it. */
#define _GNU_SOURCE
#include "attend.h"

#include "look.h"
#include "slot.h"
#include "spawn.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { AWAY, HERE, LEAVING };
static _Atomic int here;        /* is an attendant; one that leaves looks once more, and may be replaced meanwhile */
static char **environment;      /* of the attendant that is HERE */
static _Atomic int64_t cost = 60000000; /* until one was measured */
static int failures;            /* helpers in a row that left nothing */
#define PATIENCE 4

int64_t ldg_attend_cost(void) { return atomic_load_explicit(&cost, memory_order_relaxed); }

/* ---- publication ---- */

static void set_state(ldg_entry *e, int state) { atomic_store_explicit(&e->slot.state, state, memory_order_release); }
static void set_why(ldg_entry *e, const char *why) { atomic_store_explicit(&e->why, why, memory_order_relaxed); }
static void fail(ldg_entry *e, const char *why) {
  set_why(e, why);
  set_state(e, LDG_SLOT_FAILED);
}
/* It may be asked for again when it has earned that again. */
static void put_off(ldg_entry *e, const char *why) {
  set_why(e, why);
  atomic_store_explicit(&e->slot.moved, 0, memory_order_relaxed);
  set_state(e, LDG_SLOT_COLD);
}

/* From the cache, if it is there. */
static const char *load(ldg_entry *e) {
  ldg_cache_kernel k;
  const char *why = ldg_cache_load(e->key, &k);
  if (why) return why;
  atomic_store_explicit(&cost, k.compile_ns, memory_order_relaxed);
  const bool better = k.least < INT64_MAX || ldg_jit_forced();
  e->slot.least = ldg_jit_forced() ? 1 : k.least, e->slot.most = ldg_jit_forced() ? INT64_MAX : k.most;
  if (better) atomic_store_explicit(&e->slot.kernel, k.run, memory_order_release);
  else ldg_cache_unload(&k);
  set_state(e, better ? LDG_SLOT_READY : LDG_SLOT_WORSE);
  return NULL;
}

/* ---- the helper ---- */

#define BATCH 16 /* keys in one go */

/* Why no helper is to be started; said once. */
static const char *no_helper(void) {
  static const char why[] = "this process is init or a subreaper, and would be told of the helper's end";
  static bool said;
  if (failures >= PATIENCE) return "the helper failed too often";
  if (!ldg_spawn_inherits()) return NULL;
  if (!said) said = true, ldg_slot_say("no helper is started", why);
  return why;
}

static bool passing(int error) { return error == EMFILE || error == ENFILE || error == EAGAIN || error == ENOMEM; }

typedef enum outcome { RAN, AGAIN, NEVER } outcome;
static bool look_all(void);
/* For its turn it waits as long as for a kernel. Did it get it? */
static outcome await(const ldg_spawned *s, int n, const char **why) {
  char word;
  if (!ldg_spawn_await(s, (ldg_cache_limit() + 2) * (n + 1) * 1000, look_all, &word)) return *why = "the helper did not end in time", RAN;
  if (word == LDG_JIT_LOCKED) return *why = "other processes have theirs made", AGAIN;
  return *why = NULL, RAN;
}

/* *why: nothing is to be expected of it. */
static outcome run_helper(ldg_entry *const *batch, int n, const char **why) {
  const char *argv[BATCH + 4] = { ldg_slot_helper(), "compile", "--" };
  ldg_spawned s;
  if ((*why = no_helper())) return NEVER;
  for (int i = 0; i < n; i++) argv[3 + i] = batch[i]->key;
  const int e = ldg_spawn(argv[0], (char *const *)(uintptr_t)argv, environment, ldg_slot_talks(), &s);
  if (!e) return await(&s, n, why);
  ldg_slot_say(argv[0], *why = "the helper cannot be started");
  if (!passing(e)) failures = PATIENCE; /* a shortage is no fault of the helper's */
  return passing(e) ? AGAIN : NEVER;
}

static void build(ldg_entry *const *batch, int n) {
  const char *late;
  int good = 0;
  const outcome o = run_helper(batch, n, &late);
  for (int i = 0; i < n; i++) {
    const char *why = load(batch[i]);
    if (!why) good++;
    else if (o == AGAIN) put_off(batch[i], late);
    else ldg_slot_say("a kernel did not come", why), fail(batch[i], late ? late : why);
  }
  if (good) failures = 0;
  else if (o == RAN) failures++;
}

/* ---- the attendant ---- */

/* What is not there, or is of no use, is made when it has earned that, or is asked for. */
static void look(ldg_entry *e) {
  const char *why = load(e);
  int fresh = LDG_SLOT_NEW;
  if (!why) return;
  if (why != ldg_cache_none) ldg_slot_say("a kernel in the cache is not used", why);
  const bool hopeless = e->gain <= 0 && !ldg_jit_forced();
  if (hopeless) set_why(e, ldg_slot_no_gain);
  atomic_compare_exchange_strong(&e->slot.state, &fresh, hopeless ? LDG_SLOT_FAILED : LDG_SLOT_COLD); /* else it was asked for meanwhile */
}

/* At what callers left, and at what that led to. Was there anything? */
static bool look_all(void) {
  ldg_entry *e;
  bool some = ldg_look_all();
  for (int i = 0; i < LDG_SLOTS; i++)
    if ((e = ldg_slot_entry(i)) && ldg_slot_state(e) == LDG_SLOT_NEW) look(e), some = true;
  return some;
}

/* Some other process may have made it meanwhile. */
static bool is_missing(ldg_entry *e) {
  const bool missing = load(e) != NULL;
  if (missing) set_state(e, LDG_SLOT_BUILDING);
  return missing;
}

/* False: there was nothing to do. */
static bool turn(void) {
  ldg_entry *batch[BATCH], *e;
  const bool some = look_all();
  int n = 0;
  for (int i = 0; i < LDG_SLOTS && n < BATCH; i++)
    if ((e = ldg_slot_entry(i)) && ldg_slot_state(e) == LDG_SLOT_WANTED && is_missing(e)) batch[n++] = e;
  if (n) build(batch, n);
  return some || n;
}

/* Neither bound to the core of the thread that happened to call, nor of its class: that one computes there. */
static void settle_down(void) {
  const struct sched_param none = { 0 };
  cpu_set_t all;
  memset(&all, 0xff, sizeof all);
  sched_setaffinity(0, sizeof all, &all);
  sched_setscheduler(0, SCHED_OTHER, &none);
  pthread_setname_np(pthread_self(), "lading-jit");
}

/* True: there was none, and now it is the caller's turn to be it, or to start it. */
static bool take_over(void) { return atomic_exchange(&here, HERE) != HERE; }

/* Who opened an entry behind our last look at it, and found us here, relies on us. False: it stays. */
static bool leave(void) {
  char **mine = environment;
  int leaving = LEAVING;
  atomic_store(&here, LEAVING);
  if (ldg_slot_some_open() && take_over()) return environment = mine, false;
  ldg_free(mine);
  atomic_compare_exchange_strong(&here, &leaving, AWAY);
  return true;
}

static void *attend(void *none) {
  ldg_entry *e;
  settle_down();
  for (int i = 0; i < LDG_SLOTS; i++) /* a parent's attendant was at it when we were forked */
    if ((e = ldg_slot_entry(i)) && ldg_slot_state(e) == LDG_SLOT_BUILDING) set_state(e, LDG_SLOT_WANTED);
  do while (turn()) { } while (!leave());
  return none;
}

/* All options, so that the attendant asks the environment for none: the host may change it while it is in no call of ours. */
static void read_options(void) {
  for (int o = 0; o < LDG_OPT_MAX; o++) ldg_option_get((ldg_option)o);
}

/* The attendant's code stays where it is, also where lading is in a plugin that is closed; of a program there is no such handle, and no need. Once, in the call that
 * starts the first attendant: later the plugin may be closed already. A name without a folder is a program's, and would be searched for. */
static void stay(void) {
  static atomic_flag stays = ATOMIC_FLAG_INIT;
  Dl_info me;
  if (atomic_flag_test_and_set(&stays) || !dladdr((const void *)(uintptr_t)attend, &me) || !strchr(me.dli_fname, '/')) return;
  void *self = dlopen(me.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  if (self) dlclose(self);
  else dlerror(); /* which nobody else is to hear of */
}

static bool start(void) {
  pthread_attr_t attr;
  pthread_t thread;
  sigset_t all, before;
  read_options(), stay();
  if (!(environment = ldg_spawn_environment())) return false;
  bool good = !pthread_attr_init(&attr);
  if (good) {
    sigfillset(&all);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    good = !pthread_create(&thread, &attr, attend, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
  }
  if (!good) ldg_free(environment);
  return good;
}

bool ldg_attended(void) { return atomic_load(&here) != AWAY; }

/* Of a fork's child, where there is none. */
static void nobody_here(void) {
  atomic_store(&here, AWAY);
  ldg_look_forked();
}
/* When the library is loaded: at first use another thread may fork between a lock that is taken and this. */
static bool forks_are_told;
__attribute__((constructor)) static void watch_forks(void) { forks_are_told = pthread_atfork(NULL, NULL, nobody_here) == 0; }

void ldg_attend(void) {
  if (!forks_are_told || atomic_load(&here) == HERE || !take_over()) return;
  if (!start()) atomic_store(&here, AWAY);
}
