/* Life and facts of a type: commit, free, info, ids. */
#include "api.h"

/* ---- the plan of a type ---- */

static int make_plan(const lading_type *t, const ldg_plan **out) {
  const ldg_rep *canonical;
  const ldg_layout *layout;
  int e = ldg_canon(t->rep, &canonical, NULL);
  if (e) return e;
  e = ldg_layout_intern(canonical, &layout);
  ldg_rep_free(canonical);
  if (e) return e;
  e = ldg_plan_intern(layout, t->ub - t->lb, out); /* holds the layout */
  ldg_layout_release(layout);
  return e;
}

int ldg_api_plan(const lading_type *t, const ldg_plan **out) {
  const ldg_plan *p = ldg_api_plan_made(t);
  if (!p) {
    const int e = make_plan(t, &p);
    if (e) return e;
    void *none = NULL;
    lading_type *own = (lading_type *)(uintptr_t)t;
    if (!atomic_compare_exchange_strong_explicit(&own->plan, &none, (void *)(uintptr_t)p, memory_order_acq_rel, memory_order_acquire)) {
      ldg_plan_release(p); /* another thread was first, with the same plan */
      p = none;
    }
  }
  *out = p;
  return LADING_OK;
}

int ldg_api_fits(const ldg_plan *p, int64_t count) {
  ldg_rep items;
  return count <= p->easy[LDG_PACK] ? LADING_OK : ldg_rep_repeat_in(&items, count, p->extent, p->layout->rep);
}

int ldg_api_side(const lading_type *t, int64_t count, const void *base, const ldg_plan **plan, ldg_side *out) {
  if (!t || count < 0) return LADING_ERR_ARG;
  const ldg_plan *p;
  int e = ldg_api_plan(t, &p);
  if (!e) e = ldg_api_fits(p, count);
  if (e) return e;
  *out = (ldg_side){ p->layout->rep, count, p->extent, base };
  if (plan) *plan = p;
  return LADING_OK;
}

int lading_type_commit(const lading_type *type) {
  const ldg_plan *p;
  return type ? ldg_api_plan(type, &p) : LADING_ERR_ARG;
}

void lading_type_free(lading_type *type) {
  if (!type || atomic_load_explicit(&type->refs, memory_order_relaxed) == LDG_IMMORTAL) return;
  if (atomic_fetch_sub_explicit(&type->refs, 1, memory_order_acq_rel) != 1) return;
  ldg_plan_release(ldg_api_plan_made(type));
  ldg_build_destroy(type);
}

/* ---- facts ---- */

int lading_type_size(const lading_type *type, int64_t *size) {
  if (!type || !size) return LADING_ERR_ARG;
  *size = type->rep->size;
  return LADING_OK;
}

int lading_type_extent(const lading_type *type, int64_t *lb, int64_t *extent) {
  if (!type || !lb || !extent) return LADING_ERR_ARG;
  *lb = type->lb, *extent = type->ub - type->lb;
  return LADING_OK;
}

int lading_type_info(const lading_type *type, lading_info *out) {
  const ldg_plan *p;
  ldg_rep_stats st;
  if (!type || !out) return LADING_ERR_ARG;
  int e = ldg_api_plan(type, &p);
  if (!e) e = ldg_layout_stats(p->layout, &st);
  if (e) return e;
  const ldg_rep *r = p->layout->rep;
  *out = (lading_info){
    .size = r->size, .lb = type->lb, .extent = type->ub - type->lb, .true_lb = r->lo, .true_extent = r->hi - r->lo,
    .blocks = r->runs, .min_block = st.min_run, .max_block = st.max_run,
    .elements = type->sig.n ? type->sig.n * type->sig.node->elements : 0,
    .description_bytes = (int64_t)sizeof *p->layout + ldg_rep_memory(r),
    .elem = type->sig.n ? type->sig.node->kind : -1,
    .depth = r->size ? ldg_rep_body(r)->depth : 0,
    .contiguous = r->runs == 1 && type->ub - type->lb == r->size,
    .monotonic = st.monotonic, .overlaps = st.overlaps,
  };
  return LADING_OK;
}

int lading_type_id(const lading_type *type, int64_t count, lading_id *out) {
  ldg_side s;
  ldg_rep items;
  if (!out) return LADING_ERR_ARG;
  int e = ldg_api_side(type, count, NULL, NULL, &s);
  if (!e) e = ldg_rep_repeat_in(&items, count, s.extent, s.rep);
  if (e) return e;
  *out = ldg_layout_id(&items);
  return LADING_OK;
}

int lading_type_signature(const lading_type *type, int64_t count, lading_id *out) {
  if (!type || !out || count < 0) return LADING_ERR_ARG;
  return ldg_build_signature(&type->sig, count, out);
}
