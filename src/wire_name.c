/* wire_name: one 128-bit digest for all that makes a type what it is: two types may share the sequence of bytes and differ
 * in bounds or elements, and must not be taken for one another in a cache. */
#define XXH_INLINE_ALL
#include "layout.h"
#include "wire.h"

#include <xxhash.h>

enum { NAME_VERSION = 1 };

static void store(unsigned char *to, uint64_t v) {
  for (int i = 0; i < 8; i++) to[i] = (unsigned char)(v >> 8 * i);
}

static uint64_t mix(uint64_t h, uint64_t a, uint64_t b) {
  unsigned char key[16];
  store(key, a);
  store(key + 8, b);
  return XXH3_64bits_withSeed(key, sizeof key, h);
}

/* The signature id takes pairs apart. This says which letters stand in pairs; the same tree without pairs is a number of
 * letters. */
static uint64_t pairs_of(const ldg_signode *node) {
  uint64_t h = 0;
  if (node->elements == node->letters) return (uint64_t)node->letters;
  if (node->kind >= 0) return mix(1, (uint64_t)node->kind, (uint64_t)node->elements);
  for (int64_t i = 0; i < node->count; i++) h = mix(h, (uint64_t)node->part[i].n, pairs_of(node->part[i].node));
  return h;
}

static lading_id name_of(const lading_type *t, const lading_id *layout) {
  lading_id sig = { { 0, 0 } };
  ldg_build_signature(&t->sig, 1, &sig); /* one item always can be counted */
  const uint64_t words[9] = { NAME_VERSION, layout->w[0], layout->w[1], (uint64_t)t->lb, (uint64_t)t->ub, (uint64_t)t->align << 1 | t->marked,
                              sig.w[0], sig.w[1], t->sig.n ? pairs_of(t->sig.node) : 0 };
  unsigned char key[sizeof words];
  for (int i = 0; i < 9; i++) store(key + 8 * i, words[i]);
  const XXH128_hash_t h = XXH3_128bits(key, sizeof key);
  return (lading_id){ { h.low64, h.high64 } };
}

static void remember(lading_type *t, lading_id name) {
  for (int i = 0; i < 2; i++) atomic_store_explicit(&t->name[i], name.w[i], memory_order_relaxed);
  atomic_store_explicit(&t->named, 1, memory_order_release);
}

void ldg_wire_set_name(lading_type *t, const lading_id *layout) {
  remember(t, name_of(t, layout));
}

lading_id ldg_wire_name(const lading_type *t) {
  if (!atomic_load_explicit(&t->named, memory_order_acquire)) {
    const lading_id layout = ldg_layout_id(t->rep);
    ldg_wire_set_name((lading_type *)(uintptr_t)t, &layout);
  }
  return (lading_id){ { atomic_load_explicit(&t->name[0], memory_order_relaxed), atomic_load_explicit(&t->name[1], memory_order_relaxed) } };
}

static int64_t sig_memory(const ldg_signode *node) {
  int64_t bytes = node->count ? ldg_build_sig_memory(node->count) : 0;
  for (int64_t i = 0; i < node->count; i++) bytes += sig_memory(node->part[i].node);
  return bytes;
}

int64_t ldg_wire_memory(const lading_type *t) {
  return (int64_t)sizeof *t + ldg_rep_memory(t->rep) + (t->sig.n ? sig_memory(t->sig.node) : 0);
}
