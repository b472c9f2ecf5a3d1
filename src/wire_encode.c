/* wire_encode: a type as bytes. Twice over the nodes: once to count and to find those that come again, once to write, so that nothing is written that does
 * not fit or for which there is no memory. */
#include "layout.h"
#include "plan.h"
#include "rep_map.h"
#include "wire.h"
#include "wire_bytes.h"
#include "wire_format.h"

/* ---- nodes ---- */

/* What was written. Equal subtrees are known by content, whoever shares them here: one sequence has one encoding. `first`: by
 * its hash, or one of the keys behind it, the first such node; `number`: which one that is of those that are numbered, from 1 on; `equals`: what was compared. */
typedef struct names { ldg_map first, number, equals; int64_t numbered, nodes; bool no_memory; } names;

/* A loop over bytes takes few itself. */
static bool worth_a_name(const ldg_rep *r) { return r->kind >= LDG_BLOCKS || r->depth > 2; }

/* The first node that is equal to r, NULL where there is none as yet; *key: its key, or r's to be. Others of the same hash have the keys before. */
static const ldg_rep *first_of(names *s, const ldg_rep *r, uintptr_t *key) {
  for (*key = (uintptr_t)ldg_map_by_content(r);; *key += 2) {
    const ldg_rep *first = ldg_map_get(&s->first, (const void *)*key);
    if (!first || ldg_map_equal(&s->equals, first, r)) return first;
  }
}

/* How many numbered nodes back an equal one is; 0: there is none, or r is the first itself, which has its name from the time before. */
static int64_t back_to(names *s, const ldg_rep *r) {
  uintptr_t key;
  const ldg_rep *first = worth_a_name(r) ? first_of(s, r, &key) : NULL;
  return first ? ldg_max(0, s->numbered + 1 - (int64_t)(intptr_t)ldg_map_get(&s->number, first)) : 0;
}

static void give_name(names *s, const ldg_rep *r) {
  uintptr_t key;
  s->numbered++;
  if (!worth_a_name(r) || first_of(s, r, &key)) return;
  void **first = ldg_map_put(&s->first, (const void *)key), **number = ldg_map_put(&s->number, r);
  if (!first || !number) s->no_memory = true;
  else *first = (void *)(uintptr_t)r, *number = (void *)(intptr_t)s->numbered;
}

static void put_again(ldg_writer *w, int64_t back) {
  ldg_wire_put_byte(w, LDG_WIRE_AGAIN);
  ldg_wire_put_uint(w, (uint64_t)back);
}

static void put_node(ldg_writer *w, names *s, const ldg_rep *r) {
  if (s->no_memory) return;
  const int64_t back = back_to(s, r);
  if (back) {
    put_again(w, back), s->nodes++;
    return;
  }
  if (r->child) put_node(w, s, r->child);
  for (int64_t i = 0; r->kids && i < r->n; i++) put_node(w, s, r->kids[i]);
  ldg_wire_put_byte(w, r->cnt ? LDG_WIRE_COUNTED : r->kind == LDG_JOIN ? LDG_WIRE_JOIN : (int)r->kind);
  if (!r->at) ldg_wire_put_uint(w, (uint64_t)r->n);
  if (r->kind == LDG_REPEAT || r->cnt) ldg_wire_put_int(w, r->stride);
  if (r->cnt) ldg_wire_put_list(w, r->n, r->cnt);
  if (r->at) ldg_wire_put_list(w, r->n, r->at);
  s->nodes++;
  if (r->kind != LDG_BYTES) give_name(s, r);
}

/* The same every time; the first time it gives names, which takes memory. */
static void put_nodes(ldg_writer *w, names *s, const ldg_rep *r) {
  s->numbered = s->nodes = 0;
  put_node(w, s, r);
}

/* ---- the rest ---- */

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

static void put_head(ldg_writer *w, const lading_type *t, int64_t nodes) {
  ldg_wire_put_byte(w, LDG_WIRE_MAGIC);
  ldg_wire_put_byte(w, LDG_WIRE_VERSION);
  put_bounds(w, t);
  ldg_wire_put_uint(w, (uint64_t)nodes);
}

static void put_tail(ldg_writer *w, const lading_type *t, const ldg_rep *canonical, const lading_id *id) {
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

static int encode(const lading_type *t, names *s, ldg_writer *w, int64_t *used) {
  const ldg_plan *p = atomic_load_explicit(&t->plan, memory_order_acquire);
  const ldg_layout *layout = p->layout; /* every plan of the type is of one */
  lading_id id = { { 0, 0 } };
  ldg_writer count = { NULL, 0, 0 };
  put_nodes(&count, s, layout->rep);
  if (s->no_memory) return LADING_ERR_NOMEM;
  put_head(&count, t, s->nodes);
  put_tail(&count, t, layout->rep, &id);
  *used = count.len;
  if (count.len > w->cap) return LADING_ERR_RANGE;
  id = ldg_layout_named(layout);
  put_head(w, t, s->nodes);
  put_nodes(w, s, layout->rep);
  put_tail(w, t, layout->rep, &id);
  return LADING_OK;
}

int ldg_wire_encode(const lading_type *t, void *buf, int64_t cap, int64_t *used) {
  ldg_writer w = { buf, cap, 0 };
  names s;
  s.no_memory = false;
  ldg_map_open(&s.first), ldg_map_open(&s.number), ldg_map_open(&s.equals);
  const int rc = encode(t, &s, &w, used);
  ldg_map_close(&s.first), ldg_map_close(&s.number), ldg_map_close(&s.equals);
  return rc;
}
