/* layout: canonical reps interned by content, and facts that are made at first demand. */
#include "layout.h"

static ldg_layout *layout_of(const ldg_memo_entry *e) {
  return (ldg_layout *)e;
}

static bool equal(const ldg_memo_entry *e, const void *key) {
  return ldg_rep_equal(layout_of(e)->rep, key);
}

static int make(const void *key, ldg_memo_entry **out) {
  ldg_layout *l = ldg_alloc(sizeof *l);
  if (!l) return LADING_ERR_NOMEM;
  l->rep = ldg_rep_ref(key);
  atomic_init(&l->stats, NULL);
  *out = &l->entry;
  return LADING_OK;
}

static void destroy(ldg_memo_entry *e) {
  ldg_layout *l = layout_of(e);
  ldg_rep_free(l->rep);
  ldg_free(atomic_load_explicit(&l->stats, memory_order_relaxed));
  ldg_free(l);
}

static const ldg_memo_class layout_class = { equal, make, destroy };
static ldg_memo layouts = { .cls = &layout_class };

int ldg_layout_intern(const ldg_rep *canonical, const ldg_layout **out) {
  ldg_memo_entry *e;
  int rc = ldg_memo_intern(&layouts, ldg_rep_hash(canonical), canonical, &e);
  if (!rc) *out = layout_of(e);
  return rc;
}

const ldg_layout *ldg_layout_ref(const ldg_layout *l) {
  ldg_memo_ref((ldg_memo_entry *)&l->entry);
  return l;
}

void ldg_layout_release(const ldg_layout *l) {
  if (l) ldg_memo_release((ldg_memo_entry *)&l->entry);
}

/* The first to finish publishes; whoever comes second throws his own away. */
int ldg_layout_stats(const ldg_layout *l, ldg_rep_stats *out) {
  _Atomic(ldg_rep_stats *) *slot = &((ldg_layout *)l)->stats;
  ldg_rep_stats *s = atomic_load_explicit(slot, memory_order_acquire), *none = NULL;
  if (!s) {
    s = ldg_alloc(sizeof *s);
    if (!s) return LADING_ERR_NOMEM;
    int rc = ldg_rep_stats_of(l->rep, s);
    if (rc) {
      ldg_free(s);
      return rc;
    }
    if (!atomic_compare_exchange_strong_explicit(slot, &none, s, memory_order_acq_rel, memory_order_acquire)) {
      ldg_free(s);
      s = none;
    }
  }
  *out = *s;
  return LADING_OK;
}
