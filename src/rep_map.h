/* rep_map: what a walk over a tree remembers of the nodes it met, so that shared nodes are walked once and time follows the
 * nodes there are, not the tree written out. A map without memory forgets, and what is shared is walked anew: who cannot do without has an error for it. */
#ifndef LDG_REP_MAP_H
#define LDG_REP_MAP_H

#include "rep.h"

/* The few that most trees share stay on the stack, searched one by one; then open addressing, at most half full. */
enum { LDG_MAP_FEW = 8 };
typedef struct ldg_map_slot { const void *key; void *value; } ldg_map_slot;
typedef struct ldg_map { int64_t n, cap; ldg_map_slot *slot, few[LDG_MAP_FEW]; } ldg_map;

static inline void ldg_map_open(ldg_map *m) {
  m->n = m->cap = 0;
  m->slot = NULL;
}

static inline void ldg_map_close(ldg_map *m) {
  ldg_free(m->slot);
  ldg_map_open(m);
}

/* Where the key is or would be. The low bits of addresses say nothing. */
static inline ldg_map_slot *ldg_map_probe(const ldg_map *m, const void *key) {
  uint64_t i = ((uint64_t)(uintptr_t)key >> 4) * 0x9e3779b97f4a7c15u >> 20;
  for (;; i++) {
    ldg_map_slot *s = &m->slot[i & (uint64_t)(m->cap - 1)];
    if (!s->key || s->key == key) return s;
  }
}

/* The value of the key, NULL when it has none. */
static inline void *ldg_map_get(const ldg_map *m, const void *key) {
  if (m->cap) return ldg_map_probe(m, key)->value;
  for (int64_t i = 0; i < m->n; i++)
    if (m->few[i].key == key) return m->few[i].value;
  return NULL;
}

/* The place for the key's value, until the next call; a new one holds NULL. NULL: it is a new one, and there is no memory. */
void **ldg_map_put(ldg_map *m, const void *key);

/* Every value there is: *i counts up from 0; NULL after the last. */
static inline void *ldg_map_next(const ldg_map *m, int64_t *i) {
  const ldg_map_slot *slot = m->cap ? m->slot : m->few;
  for (const int64_t end = m->cap ? m->cap : m->n; *i < end;) {
    void *value = slot[(*i)++].value;
    if (value) return value;
  }
  return NULL;
}

/* The key of all nodes of that content, and of others at times. */
static inline const void *ldg_map_by_content(const ldg_rep *r) { return (const void *)(uintptr_t)(ldg_rep_hash(r) | 1); }

/* ldg_rep_equal that remembers what is equal of nodes that stay where they are, from call to call; all is forgotten where something is not. */
bool ldg_map_equal(ldg_map *met, const ldg_rep *a, const ldg_rep *b);

/* Whether some other node may hold this one, too: only such nodes are worth remembering. */
static inline bool ldg_rep_shared(const ldg_rep *r) {
  return atomic_load_explicit(&((ldg_rep *)r)->refs, memory_order_relaxed) != 1;
}

/* Remembers a node. True when it was met before. */
static inline bool ldg_map_met(ldg_map *m, const ldg_rep *r) {
  if (!ldg_rep_shared(r)) return false;
  void **v = ldg_map_put(m, r);
  const bool met = v && *v;
  if (v) *v = m;
  return met;
}

#endif
