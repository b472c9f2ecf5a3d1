/* A list by last use. The link is the first member of what is listed, so a link is an entry; not locked. */
#ifndef LDG_BASE_LRU_H
#define LDG_BASE_LRU_H

#include "base.h"

typedef struct ldg_lru_link { struct ldg_lru_link *newer, *older; } ldg_lru_link;
typedef struct ldg_lru { ldg_lru_link *newest, *oldest; } ldg_lru;

static inline void ldg_lru_add(ldg_lru *l, ldg_lru_link *e) {
  e->newer = NULL;
  e->older = l->newest;
  if (l->newest) l->newest->newer = e;
  else l->oldest = e;
  l->newest = e;
}

static inline void ldg_lru_remove(ldg_lru *l, const ldg_lru_link *e) {
  if (e->newer) e->newer->older = e->older;
  else l->newest = e->older;
  if (e->older) e->older->newer = e->newer;
  else l->oldest = e->newer;
}

static inline void ldg_lru_use(ldg_lru *l, ldg_lru_link *e) {
  if (e == l->newest) return;
  ldg_lru_remove(l, e);
  ldg_lru_add(l, e);
}

#endif
