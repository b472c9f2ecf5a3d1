/* plan_hot: a shape, a slot, a kernel. */
#include "plan_hot.h"

/* Bytes between two words to the slot, and between two looks at whether it has a kernel. */
static int64_t between_words(void) { return ldg_jit_forced() ? 1 : 1 << 20; }
enum { BETWEEN_LOOKS = 64 << 10 };

/* So many bytes until the next look. Who counts meanwhile may take that back, to what is left of an earlier gift. */
static void give(ldg_hot *h, int64_t bytes) {
  if (bytes < INT64_MAX) atomic_store_explicit(&h->given, bytes, memory_order_relaxed);
  atomic_store_explicit(&h->rest, bytes, memory_order_relaxed);
}
/* Bytes since then; `given` is what they are counted from. */
static int64_t bytes_since(int64_t given, int64_t rest) { return rest == INT64_MAX ? 0 : ldg_max(given - rest, 0); }
/* They become part of what was moved, once. */
static int64_t gather(ldg_hot *h) {
  const int64_t rest = atomic_load_explicit(&h->rest, memory_order_relaxed), moved = atomic_load_explicit(&h->moved, memory_order_relaxed);
  if (rest == INT64_MAX) return moved;
  const int64_t all = moved + bytes_since(atomic_exchange_explicit(&h->given, rest, memory_order_relaxed), rest);
  atomic_store_explicit(&h->moved, all, memory_order_relaxed);
  return all;
}
/* The next call looks. */
static void hurry(ldg_hot *h) { gather(h), give(h, 0); }
static void give_more(ldg_hot *h) {
  const int64_t tell = atomic_load_explicit(&h->tell, memory_order_acquire), moved = atomic_load_explicit(&h->moved, memory_order_relaxed);
  give(h, tell == INT64_MAX ? tell : ldg_min(ldg_max(tell - moved, 0), BETWEEN_LOOKS));
}

/* Also of one that others may be looking at: those of a pair are used again. */
void ldg_hot_init(ldg_hot *h) {
  atomic_store_explicit(&h->kernel, NULL, memory_order_relaxed);
  atomic_store_explicit(&h->least, 1, memory_order_relaxed), atomic_store_explicit(&h->most, INT64_MAX, memory_order_relaxed);
  atomic_store_explicit(&h->slot, NULL, memory_order_relaxed), atomic_store_explicit(&h->why, NULL, memory_order_relaxed);
  atomic_store_explicit(&h->moved, 0, memory_order_relaxed), atomic_store_explicit(&h->left, 0, memory_order_relaxed);
  atomic_store_explicit(&h->tell, ldg_jit_forced() ? 1 : LDG_HOT_LOOK, memory_order_relaxed);
  give_more(h);
}

static bool adopt(ldg_hot *h, const ldg_slot *slot) {
  ldg_kernel *k = atomic_load_explicit(&slot->kernel, memory_order_acquire);
  if (!k) return false;
  atomic_store_explicit(&h->least, slot->least, memory_order_relaxed), atomic_store_explicit(&h->most, slot->most, memory_order_relaxed);
  atomic_store_explicit(&h->kernel, k, memory_order_release);
  return true;
}

static void no_slot(ldg_hot *h, const char *why) {
  const int64_t moved = atomic_load_explicit(&h->moved, memory_order_relaxed);
  const bool later = why == ldg_jit_later && moved < INT64_MAX / 2;
  atomic_store_explicit(&h->why, why, memory_order_relaxed);
  if (later) atomic_store_explicit(&h->left, 0, memory_order_relaxed);
  atomic_store_explicit(&h->tell, later ? 2 * ldg_max(moved, LDG_HOT_LOOK) : INT64_MAX, memory_order_release);
  hurry(h);
}

void ldg_hot_attach(ldg_hot *h, ldg_hot_shape *make, void *arg) {
  ldg_shape shape;
  ldg_slot *slot;
  double gain;
  if (atomic_load_explicit(&h->slot, memory_order_acquire)) return;
  const char *why = make(arg, &shape, &gain);
  if (!why) why = ldg_jit_slot(&shape, gain, atomic_load_explicit(&h->moved, memory_order_relaxed), &slot);
  if (why) { no_slot(h, why); return; }
  atomic_store_explicit(&h->slot, slot, memory_order_release);
  atomic_store_explicit(&h->tell, between_words(), memory_order_relaxed);
  hurry(h); /* a kernel may be there soon */
}

/* Until it was looked at callers count on, and look for a slot; where there is no place to leave it, or nobody to look, they try again
 * later. What was left before a fork is lost in the child, and left once more, in its stead. */
static bool leave(ldg_hot *h, const ldg_look *look) {
  int64_t mark = atomic_load_explicit(&h->tell, memory_order_relaxed);
  const int64_t again = ldg_min(atomic_load_explicit(&h->moved, memory_order_relaxed), INT64_MAX / 2) + LDG_HOT_LOOK;
  const int now = ldg_jit_generation(), was = atomic_exchange_explicit(&h->left, now, memory_order_acquire);
  atomic_compare_exchange_strong_explicit(&h->tell, &mark, again, memory_order_relaxed, memory_order_relaxed); /* unless it was looked at */
  if (was == now) ldg_jit_remind();
  else if (ldg_jit_look(look)) return was == 0;
  else atomic_store_explicit(&h->left, was, memory_order_release);
  return false;
}

static void tell(ldg_hot *h, ldg_slot *slot) {
  const int64_t bytes = atomic_exchange_explicit(&h->moved, 0, memory_order_relaxed);
  if (!ldg_jit_moved(slot, bytes) && !adopt(h, slot)) atomic_store_explicit(&h->tell, INT64_MAX, memory_order_relaxed);
}

/* Who leaves it to be looked at touches it no more: it may be another one's once that is done. */
bool ldg_hot_due(ldg_hot *h, const ldg_look *look) {
  ldg_slot *slot = atomic_load_explicit(&h->slot, memory_order_acquire);
  const int64_t moved = gather(h);
  const bool due = moved >= atomic_load_explicit(&h->tell, memory_order_relaxed);
  if (slot && adopt(h, slot)) return false;
  if (!slot && due) return give(h, BETWEEN_LOOKS), leave(h, look);
  if (due) tell(h, slot);
  if (!ldg_hot_kernel(h)) give_more(h);
  return false;
}

void ldg_hot_ask(ldg_hot *h, const ldg_look *look) {
  ldg_jit_look_now(look);
  ldg_slot *slot = atomic_load_explicit(&h->slot, memory_order_acquire);
  if (!slot) return;
  ldg_jit_ask(slot);
  atomic_store_explicit(&h->tell, between_words(), memory_order_relaxed); /* it may have been told that nothing is to be expected */
  hurry(h);
}

void ldg_hot_explain(const ldg_hot *h, ldg_text *t) {
  const ldg_slot *slot = atomic_load_explicit(&h->slot, memory_order_acquire);
  const char *why = atomic_load_explicit(&h->why, memory_order_relaxed);
  const int64_t moved = atomic_load_explicit(&h->moved, memory_order_relaxed) + bytes_since(atomic_load_explicit(&h->given, memory_order_relaxed), atomic_load_explicit(&h->rest, memory_order_relaxed));
  if (slot) ldg_jit_explain(slot, t);
  else if (why) ldg_text_add(t, "tier 1, %s\n", why);
  else ldg_text_add(t, "tier 1, by kernels of the library: %lld of %d bytes moved before one of its own is looked for\n", (long long)moved, LDG_HOT_LOOK);
}

void ldg_hot_settle(ldg_shape *s, int64_t at[2]) {
  at[0] = at[1] = INT64_MAX;
  for (int i = 0; i < s->n; i++) at[0] = ldg_min(at[0], s->field[i].src), at[1] = ldg_min(at[1], s->field[i].dst);
  for (int i = 0; i < s->n; i++) s->field[i].src -= at[0], s->field[i].dst -= at[1];
}
