/* slot: one place per shape for all plans of the process, in a table that never grows. Slots count bytes; one that would have saved
 * more than a compilation costs is asked for, one helper at a time compiles for all, and whoever moves bytes later looks whether
 * it is done. No lock is ever waited for: who finds the helper's desk taken goes on. */
#define _GNU_SOURCE
#include "cache.h"
#include "base_cpu.h"
#include "cut.h"
#include "spawn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

enum { COLD, WANTED, BUILDING, READY, WORSE, FAILED };

typedef struct entry {
  ldg_slot slot;
  _Atomic int claim;        /* FREE, TAKEN while it is written, then USED for good */
  _Atomic(const char *) why; /* of FAILED */
  double gain;              /* ns a byte, at most */
  char key[LDG_KEY_MAX];
} entry;
enum { FREE, TAKEN, USED };

#define SLOTS 256
static entry table[SLOTS];

static _Atomic int64_t compile_ns = 60000000; /* until one was measured */

static bool talks(void) {
  const char *verbose = ldg_option_get(LDG_OPT_VERBOSE);
  return verbose && *verbose > '0';
}
static void say(const char *what, const char *why) {
  if (talks()) fprintf(stderr, "lading: jit: %s: %s; it goes on without a kernel\n", what, why);
}

/* ---- on or off ---- */

static const char *helper_path(void) {
  const char *given = ldg_option_get(LDG_OPT_JIT);
  return given && *given == '/' ? given : LDG_JIT_HELPER;
}
static bool is(ldg_option o, const char *what) {
  const char *v = ldg_option_get(o);
  return v && !strcmp(v, what);
}

static const char *off_why(void) {
  char path[LDG_CACHE_PATH];
  const char *isa = ldg_cpu_isa();
  if (is(LDG_OPT_JIT, "off")) return "LADING_JIT says so";
  if (getauxval(AT_SECURE)) return "this program has more rights than its user, who sets the variables";
  if (ldg_option_get(LDG_OPT_FORCE) && !is(LDG_OPT_FORCE, "jit")) return "LADING_FORCE names another strategy";
  if (!*helper_path()) return "it was built without lading-jit";
  if (!ldg_jit_level_of(isa, strlen(isa))) return "no kernels are made for this machine";
  return ldg_cache_path(path);
}

enum { UNKNOWN, ON, OFF };
static _Atomic int power;
bool ldg_jit_on(void) {
  int p = atomic_load_explicit(&power, memory_order_relaxed);
  if (p == UNKNOWN) {
    const char *why = off_why();
    p = why ? OFF : ON;
    atomic_store_explicit(&power, p, memory_order_relaxed);
    if (why && !is(LDG_OPT_JIT, "off")) say("off", why);
  }
  return p == ON;
}

bool ldg_jit_forced(void) { return is(LDG_OPT_FORCE, "jit"); }

/* ---- publication ---- */

static int state_of(const entry *e) { return atomic_load_explicit(&e->slot.state, memory_order_acquire); }
static void set_state(entry *e, int state) { atomic_store_explicit(&e->slot.state, state, memory_order_release); }
static void fail(entry *e, const char *why) {
  atomic_store_explicit(&e->why, why, memory_order_relaxed);
  set_state(e, FAILED);
}

/* From the cache, if it is there. Only one thread at a time does this to an entry. */
static const char *load(entry *e) {
  ldg_cache_kernel k;
  const char *why = ldg_cache_load(e->key, &k);
  if (why) return why;
  atomic_store_explicit(&compile_ns, k.compile_ns, memory_order_relaxed);
  const bool better = k.least < INT64_MAX || ldg_jit_forced();
  e->slot.least = ldg_jit_forced() ? 1 : k.least;
  if (better) atomic_store_explicit(&e->slot.kernel, k.run, memory_order_release);
  else ldg_cache_unload(&k);
  set_state(e, better ? READY : WORSE);
  return NULL;
}

/* ---- the helper ---- */

#define BATCH 16 /* keys in one go */
typedef struct desk {
  int fd;               /* of the helper that is at work */
  bool busy;
  int64_t until;        /* ns of the monotonic clock; a helper that is not gone by then is forgotten */
  int failures;         /* helpers in a row that left nothing */
  entry *batch[BATCH];
  int n;
  bool ended;           /* what it made is taken now */
  int good;             /* of that so far */
  const char *late;     /* why it was waited for no longer; NULL: it was not */
} desk;
static desk helper;                /* for the thread that holds it */
static _Atomic int holder;         /* the process that holds it: the desk of a parent is not held in a child of fork */
static _Atomic int pending;        /* slots wanted or building */

static bool hold(void) {
  int none = 0, me = (int)getpid();
  int old = atomic_load_explicit(&holder, memory_order_relaxed);
  if (old != me) none = old;       /* 0, or of the process that we were forked from */
  return atomic_compare_exchange_strong_explicit(&holder, &none, me, memory_order_acquire, memory_order_relaxed);
}
static void let_go(void) { atomic_store_explicit(&holder, 0, memory_order_release); }

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}
static int64_t limit_seconds(void) {
  const char *v = ldg_option_get(LDG_OPT_JIT_LIMIT);
  const int64_t s = v ? strtol(v, NULL, 10) : 0;
  return s > 0 && s < 3600 ? s : LDG_JIT_LIMIT;
}

#define PATIENCE 4
/* It is gone, or was waited for long enough: what it was asked for is taken, one a look, since whoever looks is somebody's call. */
static void end_helper(const char *late) {
  helper.ended = true, helper.late = late, helper.good = 0;
  close(helper.fd);
}

static void settle_one(void) {
  entry *e = helper.batch[--helper.n];
  const char *why = load(e);
  if (!why) helper.good++;
  else say("a kernel did not come", why), fail(e, helper.late ? helper.late : why);
  if (helper.n == 0) helper.failures = helper.good ? 0 : helper.failures + 1, helper.busy = false;
  atomic_fetch_sub_explicit(&pending, 1, memory_order_relaxed);
}

static void look(void) {
  char none;
  if (helper.ended) { settle_one(); return; }
  const ssize_t got = read(helper.fd, &none, 1);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    if (now() > helper.until) end_helper("the helper did not end in time");
  } else if (got <= 0) end_helper(NULL);
}

static void start(void) {
  const char *argv[BATCH + 4] = { helper_path(), "compile", "--" };
  for (int i = 0; i < helper.n; i++) argv[3 + i] = helper.batch[i]->key;
  const int e = ldg_spawn(argv[0], (char *const *)(uintptr_t)argv, talks(), &helper.fd);
  helper.busy = !e, helper.ended = false, helper.until = now() + (limit_seconds() + 2) * helper.n * INT64_C(1000000000);
  if (!e) return;
  say(argv[0], "it cannot be started");
  for (int i = 0; i < helper.n; i++) fail(helper.batch[i], "the helper cannot be started");
  atomic_fetch_sub_explicit(&pending, helper.n, memory_order_relaxed);
  helper.n = 0, helper.failures = PATIENCE;
}

/* Why no helper is to be started; said once. */
static const char *no_helper(void) {
  static bool said;
  if (helper.failures >= PATIENCE) return "the helper failed too often";
  if (!ldg_spawn_inherits()) return NULL;
  static const char why[] = "this process is init or a subreaper, and would be told of the helper's end";
  if (!said) said = true, say("no helper is started", why);
  return why;
}

static void next_batch(void) {
  const char *no = no_helper();
  for (int i = 0; i < SLOTS && helper.n < BATCH; i++) {
    entry *e = &table[i];
    if (atomic_load_explicit(&e->claim, memory_order_acquire) != USED || state_of(e) != WANTED) continue;
    if (no) fail(e, no), atomic_fetch_sub_explicit(&pending, 1, memory_order_relaxed);
    else set_state(e, BUILDING), helper.batch[helper.n++] = e;
  }
  if (helper.n) start();
}

#define LOOK_NS 5000000 /* between two looks: they are system calls, and whoever looks is somebody's call that moves data */

static void attend(void) {
  static _Atomic int64_t next;
  const int64_t t = now();
  if (t < atomic_load_explicit(&next, memory_order_relaxed) || !hold()) return;
  atomic_store_explicit(&next, t + LOOK_NS, memory_order_relaxed);
  const int saved = errno;
  if (helper.busy) look();
  if (!helper.busy) next_batch();
  errno = saved;
  let_go();
}

bool ldg_jit_settled(void) {
  if (atomic_load_explicit(&pending, memory_order_relaxed)) attend();
  return atomic_load_explicit(&pending, memory_order_relaxed) == 0;
}

/* ---- slots ---- */

#define STRIDE_MAX 512 /* iterations farther apart share no windows worth a kernel of their own stride */
static bool close_by(int64_t stride) { return stride <= STRIDE_MAX && stride >= -STRIDE_MAX; }

static bool prepare_key(const ldg_shape *shape, ldg_key *key) {
  const char *isa = ldg_cpu_isa();
  key->level = ldg_jit_level_of(isa, strlen(isa)), key->shape = *shape;
  if (!key->level) return false;
  /* Strides are constants of the kernel only where iterations are taken together. */
  if (!close_by(shape->stride[0]) || !close_by(shape->stride[1]) || ldg_cut_items(key, LDG_CUT_SHUFFLED) == 1) key->shape.stride[0] = key->shape.stride[1] = 0;
  return true;
}

static void want(entry *e) {
  int cold = COLD;
  if (atomic_compare_exchange_strong(&e->slot.state, &cold, WANTED)) atomic_fetch_add_explicit(&pending, 1, memory_order_relaxed);
}

/* Without a gain to hope for only a kernel that is there already, and was faster when it was tried, is worth an entry. */
static void fill(entry *e, const char *key, double gain) {
  int claim = FREE;
  if (!atomic_compare_exchange_strong(&e->claim, &claim, TAKEN)) return;
  strcpy(e->key, key);
  e->gain = gain;
  const char *why = load(e);
  if (why && why != ldg_cache_none) say("a kernel in the cache is not used", why); /* the helper makes a new one */
  const bool hope = state_of(e) == READY || gain > 0 || ldg_jit_forced();
  if (!hope) set_state(e, COLD);
  atomic_store_explicit(&e->claim, hope ? USED : FREE, memory_order_release);
}

/* Open addressing; an entry that another thread is writing just now counts as no room, rather than to wait for it. */
ldg_slot *ldg_jit_slot(const ldg_shape *shape, double gain) {
  ldg_key key;
  char text[LDG_KEY_MAX];
  if (!ldg_jit_on() || !prepare_key(shape, &key) || !ldg_key_print(&key, text)) return NULL;
  const uint64_t hash = ldg_key_hash(text);
  for (int i = 0; i < SLOTS; i++) {
    entry *e = &table[(hash + (uint64_t)i) % SLOTS];
    if (atomic_load_explicit(&e->claim, memory_order_acquire) == FREE) fill(e, text, gain);
    if (atomic_load_explicit(&e->claim, memory_order_acquire) != USED) return NULL;
    if (!strcmp(e->key, text)) return &e->slot;
  }
  return NULL;
}

bool ldg_jit_moved(ldg_slot *slot, int64_t bytes) {
  entry *e = (entry *)slot;
  const int64_t all = atomic_fetch_add_explicit(&slot->moved, bytes, memory_order_relaxed) + bytes;
  const double cost = (double)atomic_load_explicit(&compile_ns, memory_order_relaxed);
  if (state_of(e) == COLD && (ldg_jit_forced() || (double)all * e->gain > cost)) want(e);
  if (atomic_load_explicit(&pending, memory_order_relaxed)) attend();
  return state_of(e) < READY;
}

void ldg_jit_ask(ldg_slot *slot) {
  want((entry *)slot);
  attend();
}

void ldg_jit_explain(const ldg_slot *slot, ldg_text *t) {
  static const char *const says[] = { "tier 1, counting", "tier 1, waits for the helper", "tier 1, is being compiled", "tier 2", "tier 1, its kernel is no faster",
                                      "tier 1, no kernel came" };
  const entry *e = (const entry *)slot;
  const int state = state_of(e);
  const char *why = atomic_load_explicit(&e->why, memory_order_relaxed);
  const double cost = (double)atomic_load_explicit(&compile_ns, memory_order_relaxed), all = (double)atomic_load_explicit(&slot->moved, memory_order_relaxed);
  ldg_text_add(t, "%s", says[state]);
  if (state == COLD) ldg_text_add(t, ": of %.0f bytes moved a kernel could have saved %.2f ms; one takes %.0f ms to make", all, all * e->gain * 1e-6, cost * 1e-6);
  if (state == READY) ldg_text_add(t, " from %lld iterations on", (long long)slot->least);
  if (state == FAILED && why) ldg_text_add(t, ": %s", why);
  ldg_text_add(t, "\n      %.100s\n", e->key);
}
