/* rep_map: how maps of nodes grow. */
#include "rep_map.h"

static bool grow(ldg_map *m) {
  const int64_t cap = m->cap ? 2 * m->cap : 8 * LDG_MAP_FEW, before = m->cap ? m->cap : m->n;
  ldg_map_slot *old = m->cap ? m->slot : m->few, *slot = ldg_alloc(cap * (int64_t)sizeof *slot);
  if (!slot) return false;
  memset(slot, 0, (size_t)cap * sizeof *slot);
  ldg_map next = { .n = m->n, .cap = cap, .slot = slot };
  for (int64_t i = 0; i < before; i++)
    if (old[i].key) *ldg_map_probe(&next, old[i].key) = old[i];
  ldg_free(m->slot);
  m->slot = slot;
  m->cap = cap;
  return true;
}

void **ldg_map_put(ldg_map *m, const void *key) {
  if (!m->cap) {
    for (int64_t i = 0; i < m->n; i++)
      if (m->few[i].key == key) return &m->few[i].value;
    if (m->n < LDG_MAP_FEW) {
      m->few[m->n] = (ldg_map_slot){ key, NULL };
      return &m->few[m->n++].value;
    }
  }
  ldg_map_slot *s = m->cap ? ldg_map_probe(m, key) : NULL;
  if (s && s->key) return &s->value;
  if (2 * m->n >= m->cap) {
    if (!grow(m)) return NULL;
    s = ldg_map_probe(m, key);
  }
  *s = (ldg_map_slot){ key, NULL }, m->n++;
  return &s->value;
}
