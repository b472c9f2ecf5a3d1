/* slot: one place per shape for all plans of the process, in a table that never grows. Slots count bytes; one that would have saved
 * more than a compilation costs is asked for. All that takes time is the attendant's (attend.h). */
#include "slot.h"

#include "attend.h"
#include "base_cpu.h"
#include "cut.h"
#include "look.h"

#include <stdio.h>
#include <sys/auxv.h>

static ldg_entry table[LDG_SLOTS];

bool ldg_slot_talks(void) {
  const char *verbose = ldg_option_get(LDG_OPT_VERBOSE);
  return verbose && *verbose > '0';
}
void ldg_slot_say(const char *what, const char *why) {
  if (ldg_slot_talks()) fprintf(stderr, "lading: jit: %s: %s; it goes on without a kernel\n", what, why);
}

/* ---- on or off ---- */

const char *ldg_slot_helper(void) {
  const char *given = ldg_option_get(LDG_OPT_JIT);
  return given && *given ? given : LDG_JIT_HELPER;
}
static bool is(ldg_option o, const char *what) {
  const char *v = ldg_option_get(o);
  return v && !strcmp(v, what);
}

/* Whoever writes 0 or no means off; a path begins with a slash. */
static bool is_off(void) {
  const char *given = ldg_option_get(LDG_OPT_JIT);
  return given && *given && *given != '/';
}

static const char *off_why(void) {
  char path[LDG_CACHE_PATH];
  const char *isa = ldg_cpu_isa();
  if (is_off()) return "LADING_JIT says so";
  if (getauxval(AT_SECURE)) return "this program has more rights than its user, who sets the variables";
  if (ldg_option_get(LDG_OPT_FORCE) && !is(LDG_OPT_FORCE, "jit")) return "LADING_FORCE names another strategy";
  if (!*ldg_slot_helper()) return "it was built without lading-jit";
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
    if (why && !is_off()) ldg_slot_say("off", why);
  }
  return p == ON;
}

bool ldg_jit_forced(void) { return is(LDG_OPT_FORCE, "jit"); }

/* ---- slots ---- */

ldg_entry *ldg_slot_entry(int i) { return atomic_load_explicit(&table[i].used, memory_order_acquire) ? &table[i] : NULL; }

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

static bool earned(double gain, int64_t bytes, double part) { return (double)bytes * gain > part * (double)ldg_attend_cost(); }

static void want(ldg_entry *e) {
  int cold = LDG_SLOT_COLD;
  atomic_compare_exchange_strong(&e->slot.state, &cold, LDG_SLOT_WANTED);
}

const char ldg_jit_later[] = "there is no room for shapes that little is moved by";
static int used;

/* Half of the table is for whoever comes first: a kernel may be in the cache. The other half is for what has moved so much that it will
 * soon be asked for, so that many shapes that do not matter do not keep out one that does. */
static const char *claim(ldg_entry *e, const char *key, double gain, int64_t bytes) {
  if (used >= LDG_SLOTS / 2 && !ldg_jit_forced() && !earned(gain, bytes, 0.1)) return ldg_jit_later;
  strcpy(e->key, key);
  e->gain = gain, used++;
  atomic_store_explicit(&e->used, true, memory_order_release);
  return NULL;
}

/* Open addressing; one look at a time. */
const char *ldg_jit_slot(const ldg_shape *shape, double gain, int64_t bytes, ldg_slot **out) {
  ldg_key key;
  char text[LDG_KEY_MAX];
  if (!ldg_jit_on() || !prepare_key(shape, &key) || !ldg_key_print(&key, text)) return "no kernels are made of such";
  const uint64_t hash = ldg_key_hash(text);
  for (int i = 0; i < LDG_SLOTS; i++) {
    ldg_entry *e = &table[(hash + (uint64_t)i) % LDG_SLOTS];
    const char *why = atomic_load_explicit(&e->used, memory_order_relaxed) ? NULL : claim(e, text, gain, bytes);
    if (why) return why;
    if (!strcmp(e->key, text)) return *out = &e->slot, NULL;
  }
  return "there is no room for another shape";
}

bool ldg_jit_moved(ldg_slot *slot, int64_t bytes) {
  ldg_entry *e = (ldg_entry *)slot;
  const int64_t all = atomic_fetch_add_explicit(&slot->moved, bytes, memory_order_relaxed) + bytes;
  if (ldg_slot_state(e) == LDG_SLOT_COLD && (ldg_jit_forced() || earned(e->gain, all, 1))) want(e);
  if (ldg_slot_open(e)) ldg_attend();
  return ldg_slot_state(e) < LDG_SLOT_READY;
}

const char ldg_slot_no_gain[] = "there is nothing to be gained";
void ldg_jit_ask(ldg_slot *slot) {
  ldg_entry *e = (ldg_entry *)slot;
  int fresh = LDG_SLOT_NEW, failed = LDG_SLOT_FAILED;
  atomic_compare_exchange_strong(&slot->state, &fresh, LDG_SLOT_WANTED);
  want(e);
  if (ldg_slot_state(e) == LDG_SLOT_FAILED && atomic_load_explicit(&e->why, memory_order_relaxed) == ldg_slot_no_gain)
    atomic_compare_exchange_strong(&slot->state, &failed, LDG_SLOT_WANTED);
  if (ldg_slot_open(e)) ldg_attend();
}

/* Not before what the caller stored, on no machine: an attendant that leaves says so, then looks. */
bool ldg_slot_some_open(void) {
  const ldg_entry *e;
  for (int i = 0; i < LDG_SLOTS; i++)
    if ((e = ldg_slot_entry(i)) && ldg_slot_is_open(atomic_load(&e->slot.state))) return true;
  return ldg_look_some();
}

bool ldg_jit_settled(void) {
  if (ldg_slot_some_open()) return ldg_attend(), false;
  return !ldg_attended();
}

void ldg_jit_explain(const ldg_slot *slot, ldg_text *t) {
  static const char *const says[] = { "tier 1, its kernel is looked for in the cache", "tier 1, counting", "tier 1, waits for the helper", "tier 1, is being compiled", "tier 2",
                                      "tier 1, its kernel is no faster", "tier 1, no kernel came" };
  const ldg_entry *e = (const ldg_entry *)slot;
  const int state = ldg_slot_state(e);
  const char *why = atomic_load_explicit(&e->why, memory_order_relaxed);
  const double all = (double)atomic_load_explicit(&slot->moved, memory_order_relaxed);
  ldg_text_add(t, "%s", says[state]);
  if (state == LDG_SLOT_COLD)
    ldg_text_add(t, ": of %.0f bytes moved a kernel could have saved %.2f ms; one takes %.0f ms to make", all, all * e->gain * 1e-6, (double)ldg_attend_cost() * 1e-6);
  if (state == LDG_SLOT_READY) ldg_text_add(t, " from %lld iterations on", (long long)slot->least);
  if (state == LDG_SLOT_READY && slot->most < INT64_MAX) ldg_text_add(t, ", up to %lld", (long long)slot->most);
  if (state < LDG_SLOT_READY || state == LDG_SLOT_FAILED) ldg_text_add(t, "%s%s", why ? ": " : "", why ? why : "");
  ldg_text_add(t, "\n      %.100s\n", e->key);
}
