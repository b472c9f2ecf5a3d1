/* wire_encode: a type as bytes. Twice over the tree: once to count, once to write, so that nothing is written that does
 * not fit. */
#include "layout.h"
#include "plan.h"
#include "wire.h"
#include "wire_bytes.h"
#include "wire_format.h"

static void put_node(ldg_writer *w, const ldg_rep *r) {
  if (r->child) put_node(w, r->child);
  for (int64_t i = 0; r->kids && i < r->n; i++) put_node(w, r->kids[i]);
  ldg_wire_put_byte(w, r->cnt ? LDG_WIRE_COUNTED : r->kind == LDG_JOIN ? LDG_WIRE_JOIN : (int)r->kind);
  if (!r->at) ldg_wire_put_uint(w, (uint64_t)r->n);
  if (r->kind == LDG_REPEAT || r->cnt) ldg_wire_put_int(w, r->stride);
  if (r->cnt) ldg_wire_put_list(w, r->n, r->cnt);
  if (r->at) ldg_wire_put_list(w, r->n, r->at);
}

static int64_t items_of(const ldg_signode *node) {
  int64_t items = 1;
  for (int64_t i = 0; i < node->count; i++) items += items_of(node->part[i].node);
  return items;
}

static void put_sig(ldg_writer *w, ldg_sig s) {
  for (int64_t i = 0; i < s.node->count; i++) put_sig(w, s.node->part[i]);
  ldg_wire_put_byte(w, s.node->count ? LDG_WIRE_PARTS : (int)s.node->elem);
  if (s.node->count) ldg_wire_put_uint(w, (uint64_t)s.node->count);
  ldg_wire_put_uint(w, (uint64_t)s.n);
}

static void put_bounds(ldg_writer *w, const lading_type *t) {
  const bool natural = t->lb == t->rep->lo && t->ub == t->rep->hi;
  ldg_wire_put_byte(w, (t->marked ? LDG_WIRE_MARKED : 0) | (natural ? LDG_WIRE_NATURAL : 0) | __builtin_ctzll((uint64_t)t->align) << LDG_WIRE_ALIGN);
  if (natural) return;
  ldg_wire_put_int(w, t->lb);
  ldg_wire_put_int(w, ldg_build_extent(t));
}

static void put_type(ldg_writer *w, const lading_type *t, const ldg_rep *canonical, const lading_id *id) {
  ldg_wire_put_byte(w, LDG_WIRE_MAGIC);
  ldg_wire_put_byte(w, LDG_WIRE_VERSION);
  put_bounds(w, t);
  ldg_wire_put_uint(w, (uint64_t)canonical->nodes);
  put_node(w, canonical);
  ldg_wire_put_uint(w, (uint64_t)(t->sig.n ? items_of(t->sig.node) : 0));
  if (t->sig.n) put_sig(w, t->sig);
  ldg_wire_put_seal(w, canonical, id);
}

void ldg_wire_put_seal(ldg_writer *w, const ldg_rep *r, const lading_id *id) {
  ldg_wire_put_int(w, r->lo);
  ldg_wire_put_uint(w, (uint64_t)(r->hi - r->lo));
  ldg_wire_put_word(w, id->w[0]);
  ldg_wire_put_word(w, id->w[1]);
}

int ldg_wire_encode(const lading_type *t, void *buf, int64_t cap, int64_t *used) {
  const ldg_plan *p = atomic_load_explicit(&t->plan, memory_order_acquire);
  const ldg_rep *canonical = p->layout->rep; /* every plan of the type is of one layout */
  lading_id id = { { 0, 0 } };
  ldg_writer count = { NULL, 0, 0 }, w = { buf, cap, 0 };
  put_type(&count, t, canonical, &id);
  *used = count.len;
  if (count.len > cap) return LADING_ERR_RANGE;
  id = ldg_layout_named(p->layout);
  put_type(&w, t, canonical, &id);
  return LADING_OK;
}
