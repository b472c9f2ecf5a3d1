/* layout: canonical reps interned by content, and facts that are made at first demand. */
#include "layout.h"
#include "rep_map.h"

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
  atomic_init(&l->named, 0), atomic_init(&l->grain, 0);
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

static uint64_t bits_of_list(const int64_t *v, int64_t n) {
  uint64_t bits = 0;
  for (int64_t i = 0; v && i < n; i++) bits |= (uint64_t)v[i];
  return bits;
}

/* Entries of bytes with lengths of their own, which normal form counts one by one. */
static uint64_t bits_of_lengths(const ldg_rep *r) {
  uint64_t bits = bits_of_list(r->at, r->n);
  for (int64_t i = 0; i < r->n; i++) bits |= (uint64_t)(r->cnt[i] * r->child->n);
  return bits;
}

static uint64_t bits(ldg_map *met, const ldg_rep *r) {
  if (r->kind == LDG_BYTES) return (uint64_t)r->n;
  if (ldg_map_met(met, r)) return 0; /* they are in it */
  if (r->cnt && r->child->kind == LDG_BYTES && r->stride == r->child->n) return bits_of_lengths(r);
  uint64_t all = bits_of_list(r->at, r->n) | (r->kind == LDG_REPEAT || r->cnt ? (uint64_t)r->stride : 0);
  if (r->child) all |= bits(met, r->child);
  for (int64_t i = 0; r->kids && i < r->n; i++) all |= bits(met, r->kids[i]);
  return all;
}

/* All who race write the same. */
int64_t ldg_layout_grain(const ldg_layout *l) {
  _Atomic int64_t *slot = &((ldg_layout *)(uintptr_t)l)->grain;
  int64_t grain = atomic_load_explicit(slot, memory_order_relaxed);
  if (!grain) {
    ldg_map met;
    ldg_map_open(&met);
    grain = 1 << __builtin_ctzll(bits(&met, l->rep) | 16);
    ldg_map_close(&met);
    atomic_store_explicit(slot, grain, memory_order_relaxed);
  }
  return grain;
}

lading_id ldg_layout_named(const ldg_layout *l) {
  ldg_layout *own = (ldg_layout *)(uintptr_t)l;
  if (!atomic_load_explicit(&own->named, memory_order_acquire)) {
    const lading_id id = ldg_layout_id(l->rep);
    for (int i = 0; i < 2; i++) atomic_store_explicit(&own->name[i], id.w[i], memory_order_relaxed);
    atomic_store_explicit(&own->named, 1, memory_order_release);
  }
  return (lading_id){ { atomic_load_explicit(&own->name[0], memory_order_relaxed), atomic_load_explicit(&own->name[1], memory_order_relaxed) } };
}
