/* canon: the way to the normal form. A nest goes loop by loop; a tree of at most LDG_CANON_RUNS runs is rebuilt from them,
 * so its form is a function of the sequence alone, unless it would be much larger than the tree is. Then, and when there are
 * more runs, the tree is reduced from the leaves up by the rules: what was shared is reduced once and stays shared, so time
 * and memory follow the nodes that there are and neither the runs nor the tree written out. */
#include "canon_rules.h"

/* Passes over a locally reduced tree until it stays as it is. */
enum { PASSES_MAX = 8 };

/* How often the memory of the input a tree may take that was rebuilt from its runs; bytes that are never too many. */
enum { GROWTH = 4, SMALL = 4096 };

/* ---- trees that say they are nests ------------------------------------------------------------------------------------ */

static bool holds_bytes(const ldg_rep *r, int64_t i) {
  return r->kids ? r->kids[i]->size > 0 : !r->cnt || r->cnt[i] > 0;
}

/* The only entry with bytes in it; -1 when there are more. The node is not empty. */
static int64_t only_entry(const ldg_rep *r) {
  int64_t found = -1;
  for (int64_t i = 0; i < r->n; i++) {
    if (!holds_bytes(r, i)) continue;
    if (found >= 0) return -1;
    found = i;
  }
  return found;
}

static bool is_nest(const ldg_rep *r) {
  while (r->runs > 1) {
    int64_t i = r->kind == LDG_REPEAT ? 0 : only_entry(r);
    if (i < 0) return false;
    r = r->kids ? r->kids[i] : r->child;
  }
  return true;
}

static int one_run(ldg_canon_ctx *x, const ldg_rep *in, ldg_canon_item *out) {
  out->at = in->first;
  if (in->kind != LDG_BYTES) {
    ldg_canon_fired(x, LDG_RULE_DENSE); /* all of what is below, at once */
    return ldg_rep_bytes(in->size, &out->rep);
  }
  out->rep = ldg_rep_ref(in);
  return LADING_OK;
}

/* n times the canonical *k, which is replaced. `in` is the node that says so, reused when it is canonical as it stands. */
static int loop(ldg_canon_ctx *x, const ldg_rep *in, int64_t n, int64_t stride, ldg_canon_item *k) {
  const ldg_rep *child = k->rep;
  ldg_rep view = ldg_view_repeat(n, stride, child);
  int rc = ldg_canon_node(x, in->kind == LDG_REPEAT && in->child == child ? in : &view, &k->rep);
  ldg_rep_free(child);
  return rc;
}

static int reduce_nest(ldg_canon_ctx *x, const ldg_rep *in, ldg_canon_item *out) {
  if (in->runs == 1) return one_run(x, in, out);
  if (in->kind == LDG_REPEAT) {
    int rc = reduce_nest(x, in->child, out);
    return rc ? rc : loop(x, in, in->n, in->stride, out);
  }
  int64_t i = only_entry(in);
  int rc = reduce_nest(x, in->kids ? in->kids[i] : in->child, out);
  if (rc) return rc;
  if (in->n > 1) ldg_canon_fired(x, LDG_RULE_EMPTY);
  ldg_canon_fired(x, LDG_RULE_ONCE);
  out->at = ldg_rep_move(out->at, in->at[i]);
  return in->cnt ? loop(x, in, in->cnt[i], in->stride, out) : LADING_OK;
}

/* ---- shared nodes ----------------------------------------------------------------------------------------------------- */

/* A node that the input has more than one edge to, or one of equal content: what else the caller keeps must make no
 * difference, and neither must whether equal parts are one object, or a tree that was shipped would have another form. */
typedef struct shared { int64_t edges; const ldg_rep *rep; ldg_canon_item item; } shared;

static int count_edges(ldg_canon_ctx *x, const ldg_rep *r) {
  if (r->kind == LDG_BYTES) return LADING_OK;
  void **slot = ldg_map_put(x->shared, ldg_map_by_content(r));
  shared *s = slot ? *slot : NULL;
  if (s) return s->edges++, LADING_OK;
  s = slot ? ldg_alloc(sizeof *s) : NULL;
  if (!s) return LADING_ERR_NOMEM;
  *s = (shared){ 1, r, { 0, NULL } };
  *slot = s;
  int rc = r->child ? count_edges(x, r->child) : LADING_OK;
  for (int64_t i = 0; r->kids && i < r->n && !rc; i++) rc = count_edges(x, r->kids[i]);
  return rc;
}

static void forget_shared(ldg_canon_ctx *x) {
  int64_t i = 0;
  for (shared *s; (s = ldg_map_next(x->shared, &i)); ldg_free(s)) ldg_rep_free(s->item.rep);
  ldg_map_close(x->shared), ldg_map_close(x->equals);
  x->shared = x->equals = NULL;
}

/* `equals`: of the tree that r is in. */
static shared *find_shared(const ldg_canon_ctx *x, ldg_map *equals, const ldg_rep *r) {
  shared *s = x->shared && r->kind != LDG_BYTES ? ldg_map_get(x->shared, ldg_map_by_content(r)) : NULL;
  return s && s->edges > 1 && ldg_map_equal(equals, s->rep, r) ? s : NULL;
}

/* Memory of what nobody else holds below the node, and of the node. Leaves are too small to count. */
static int64_t owned(const ldg_canon_ctx *x, ldg_map *equals, const ldg_rep *r) {
  if (r->kind == LDG_BYTES) return 0;
  int64_t bytes = ldg_rep_node_memory(r);
  if (r->child && !find_shared(x, equals, r->child)) bytes += owned(x, equals, r->child);
  for (int64_t i = 0; r->kids && i < r->n; i++)
    if (!find_shared(x, equals, r->kids[i])) bytes += owned(x, equals, r->kids[i]);
  return bytes;
}

/* Of a tree that was built of others, and may go again. */
static int64_t owned_anew(const ldg_canon_ctx *x, const ldg_rep *r) {
  ldg_map equals;
  ldg_map_open(&equals);
  const int64_t bytes = owned(x, &equals, r);
  ldg_map_close(&equals);
  return bytes;
}

/* ---- trees reduced from the leaves up ---------------------------------------------------------------------------------- */

static int reduce(ldg_canon_ctx *x, const ldg_rep *in, ldg_canon_item *out);

static int64_t live_entries(const ldg_rep *r) {
  int64_t n = 0;
  for (int64_t i = 0; i < r->n; i++) n += holds_bytes(r, i);
  return n;
}

/* The view of the n entries that hold bytes; its arrays are in *arrays. */
static int drop_empty(ldg_canon_ctx *x, const ldg_rep *in, int64_t n, ldg_rep *view, int64_t **arrays) {
  int64_t *at = ldg_alloc(16 * n), m = 0;
  if (!at) return LADING_ERR_NOMEM;
  for (int64_t i = 0; i < in->n; i++) {
    if (in->cnt[i] == 0) continue;
    at[m] = in->at[i];
    at[n + m++] = in->cnt[i];
  }
  ldg_canon_fired(x, LDG_RULE_EMPTY);
  *view = ldg_view_blocks(n, at, at + n, in->stride, view->child);
  *arrays = at;
  return LADING_OK;
}

static int reduce_blocks(ldg_canon_ctx *x, const ldg_rep *in, ldg_canon_item *out) {
  const int64_t n = live_entries(in);
  ldg_canon_item k;
  int rc = reduce(x, in->child, &k);
  if (rc) return rc;
  ldg_rep view = ldg_view_blocks(in->n, in->at, in->cnt, in->stride, k.rep);
  int64_t *live = NULL;
  if (n < in->n) rc = drop_empty(x, in, n, &view, &live);
  if (!rc) {
    out->at = ldg_rep_move(view.at[0], k.at);
    rc = ldg_canon_node(x, !live && k.rep == in->child ? in : &view, &out->rep);
  }
  ldg_rep_free(k.rep);
  ldg_free(live);
  return rc;
}

/* Canonical kids of a join; *n of them, also on an error. Equal neighbours are reduced once. */
static int reduce_kids(ldg_canon_ctx *x, const ldg_rep *in, int64_t *at, const ldg_rep **kids, int64_t *n) {
  ldg_canon_item k = { 0, NULL };
  const ldg_rep *before = NULL;
  for (int64_t i = 0; i < in->n; i++) {
    if (!holds_bytes(in, i)) continue;
    int rc = in->kids[i] == before ? LADING_OK : reduce(x, in->kids[i], &k);
    if (rc) return rc;
    if (in->kids[i] == before) ldg_rep_ref(k.rep);
    before = in->kids[i];
    at[*n] = ldg_rep_move(in->at[i], k.at);
    kids[(*n)++] = k.rep;
  }
  if (*n < in->n) ldg_canon_fired(x, LDG_RULE_EMPTY);
  return LADING_OK;
}

static bool unchanged(const ldg_rep *in, const int64_t *at, const ldg_rep *const *kids, int64_t n) {
  return n == in->n && !memcmp(at, in->at, (size_t)n * sizeof *at) && !memcmp(kids, in->kids, (size_t)n * sizeof *kids);
}

static int reduce_join(ldg_canon_ctx *x, const ldg_rep *in, ldg_canon_item *out) {
  int64_t n = 0, *at = ldg_alloc(16 * in->n);
  if (!at) return LADING_ERR_NOMEM;
  const ldg_rep **kids = (const ldg_rep **)(at + in->n);
  int rc = reduce_kids(x, in, at, kids, &n);
  if (!rc) {
    ldg_rep view = ldg_view_join(n, at, kids);
    out->at = at[0];
    rc = ldg_canon_node(x, unchanged(in, at, kids, n) ? in : &view, &out->rep);
  }
  while (n > 0) ldg_rep_free(kids[--n]);
  ldg_free(at);
  return rc;
}

/* The node by itself; its children by `reduce`. */
static int reduce_node(ldg_canon_ctx *x, const ldg_rep *in, ldg_canon_item *out) {
  if (in->kind == LDG_BLOCKS) return reduce_blocks(x, in, out);
  if (in->kind == LDG_JOIN) return reduce_join(x, in, out);
  int rc = reduce(x, in->child, out);
  return rc ? rc : loop(x, in, in->n, in->stride, out);
}

/* Part of a larger tree: rebuilt when it takes no more memory then, by itself. That is tried where the runs are not many
 * times what is written; where it was for nothing, it is tried again for much smaller parts only. */
static int reduce_part(ldg_canon_ctx *x, const ldg_rep *in, ldg_canon_item *out) {
  const int64_t most = x->most, room = in->runs <= most ? owned(x, x->equals, in) : 0;
  if (in->runs <= GROWTH * room) {
    int rc = ldg_canon_rebuild(x, in, out);
    if (rc || owned_anew(x, out->rep) <= room) return rc;
    ldg_rep_free(out->rep);
    x->most = in->runs / 2;
  }
  int rc = reduce_node(x, in, out);
  x->most = most;
  return rc;
}

static int reduce(ldg_canon_ctx *x, const ldg_rep *in, ldg_canon_item *out) {
  shared *s = find_shared(x, x->equals, in);
  if (s && s->item.rep) {
    *out = (ldg_canon_item){ s->item.at, ldg_rep_ref(s->item.rep) };
    return LADING_OK;
  }
  int rc = is_nest(in) ? reduce_nest(x, in, out) : reduce_part(x, in, out);
  if (s && !rc) s->item = (ldg_canon_item){ out->at, ldg_rep_ref(out->rep) };
  return rc;
}

static int pass(ldg_canon_ctx *x, const ldg_rep *in, ldg_canon_item *out) {
  ldg_map map, equals;
  ldg_map_open(&map), ldg_map_open(&equals);
  x->shared = &map, x->equals = &equals;
  int rc = count_edges(x, in);
  if (!rc) rc = reduce_node(x, in, out);
  forget_shared(x);
  return rc;
}

/* The rules look at a node when its children are done; what they build may let a rule above it fire, or below it. */
static int reduce_locally(ldg_canon_ctx *x, const ldg_rep *in, ldg_canon_item *item) {
  int rc = pass(x, in, item);
  bool stays = false;
  for (int i = 1; i < PASSES_MAX && !rc && !stays && !is_nest(item->rep); i++) {
    ldg_canon_item next;
    rc = pass(x, item->rep, &next);
    stays = !rc && ldg_rep_equal(next.rep, item->rep);
    ldg_rep_free(item->rep);
    if (!rc) item->rep = next.rep;
  }
  return rc;
}

/* ---- the root ----------------------------------------------------------------------------------------------------------- */

static int root(ldg_canon_ctx *x, const ldg_rep *in, ldg_canon_item *item, const ldg_rep **out) {
  if (item->at == 0 || (ldg_rep_is_shifted(in) && in->kids[0] == item->rep)) {
    *out = item->at == 0 ? item->rep : ldg_rep_ref(in);
    if (item->at != 0) ldg_rep_free(item->rep);
    return LADING_OK;
  }
  ldg_canon_fired(x, LDG_RULE_HOIST);
  int rc = ldg_rep_join(1, &item->at, &item->rep, out);
  ldg_rep_free(item->rep);
  return rc;
}

/* Without the offset that a canonical tree has at its root: it must weigh the same as the tree it came from. */
static int64_t weight(const ldg_rep *r) {
  while (ldg_rep_is_shifted(r)) r = r->kids[0];
  return ldg_rep_memory(r);
}

static int reduce_whole(ldg_canon_ctx *x, const ldg_rep *in, ldg_canon_item *out) {
  if (is_nest(in)) return reduce_nest(x, in, out);
  if (in->runs > x->limit) return reduce_locally(x, in, out);
  int rc = ldg_canon_rebuild(x, in, out);
  const int64_t bytes = rc ? 0 : ldg_rep_memory(out->rep);
  if (bytes <= SMALL || bytes <= GROWTH * weight(in)) return rc;
  ldg_canon_item local;
  x->most = in->runs / 2;
  rc = reduce_locally(x, in, &local);
  if (rc && rc != LADING_ERR_NOMEM) return LADING_OK;
  const bool keep = !rc && bytes <= GROWTH * weight(local.rep);
  ldg_rep_free(keep ? local.rep : out->rep);
  if (!keep) *out = local;
  return rc;
}

/* Rules may make more nodes of a list, and more levels of one, than reps have room for above it. By the one that only leaves nodes out there are no more than there were. */
static int reduce_plainly(ldg_canon_ctx *x, const ldg_rep *in, ldg_canon_item *out) {
  x->level = LDG_CANON_LEVELS, x->most = 0;
  if (x->trace) *x->trace = (ldg_canon_trace){ 0 }; /* what fired before made nothing of it */
  return pass(x, in, out);
}

int ldg_canon_within(const ldg_rep *in, int64_t limit, const ldg_rep **out, ldg_canon_trace *trace) {
  ldg_canon_ctx x = { .trace = trace, .limit = limit, .most = limit };
  ldg_canon_item item;
  if (in->size == 0) {
    if (in->kind != LDG_BYTES) ldg_canon_fired(&x, LDG_RULE_EMPTY);
    *out = &ldg_rep_nothing;
    return LADING_OK;
  }
  int rc = reduce_whole(&x, in, &item);
  if (rc == LADING_ERR_OVERFLOW || rc == LADING_ERR_DEPTH) rc = reduce_plainly(&x, in, &item);
  return rc ? rc : root(&x, in, &item, out);
}

int ldg_canon(const ldg_rep *in, const ldg_rep **out, ldg_canon_trace *trace) {
  return ldg_canon_within(in, LDG_CANON_RUNS, out, trace);
}
