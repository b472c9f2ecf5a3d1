/* How reductions go. Nests reduce in place, which takes an op longer than a move where blocks are short; through tiles of packed bytes every strategy of
 * moves counts, and what it knows of caches, but bytes are moved twice or three times. */
#include "base_model.h"
#include "nest_tree.h"
#include "plan_tree.h"
#include "rep_map.h"

#include <math.h>
#include <pthread.h>

#define BACKEND LDG_PLAN_BACKEND

static const ldg_op *table[LADING_OP_MAX][LADING_ELEM_MAX];
const ldg_op_table *_Atomic ldg_plan_ops;

static void find_ops(void) {
  for (int op = 0; op < LADING_OP_MAX; op++)
    for (int e = 0; e < LADING_ELEM_MAX; e++) table[op][e] = BACKEND->op((lading_op)op, (lading_elem)e);
  atomic_store_explicit(&ldg_plan_ops, (const ldg_op_table *)&table, memory_order_release);
}
const ldg_op_table *ldg_plan_ops_first(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_ops);
  return (const ldg_op_table *)&table;
}

/* ---- whole elements ---- */

/* Divides g, and the length of every block that steps run as one. */
static int64_t grain(ldg_map *met, const ldg_rep *r, int64_t g) {
  if (r->kind == LDG_BYTES) return ldg_gcd(g, r->n);
  if (ldg_map_met(met, r)) return g; /* it divides those, too */
  if (r->cnt && ldg_nest_of_list(r, &(ldg_nest){ 0 }))
    for (int64_t i = 0; i < r->n && g != 1; i++) g = ldg_gcd(g, r->cnt[i] * r->child->size);
  else if (r->kind == LDG_JOIN)
    for (int64_t i = 0; i < r->n && g != 1; i++) g = grain(met, r->kids[i], g);
  else
    g = grain(met, r->child, g);
  return g;
}

static bool are_whole(const ldg_plan *p, int64_t size) {
  ldg_map met;
  if (p->one.thin) return false;
  ldg_map_open(&met);
  const int64_t g = grain(&met, p->layout->rep, 0);
  ldg_map_close(&met);
  return g % size == 0;
}

/* ---- predictions ---- */

double ldg_plan_op_blocks(const ldg_nest *n, int64_t size) { return BACKEND->reduce(n, size); }

/* A tile is in the first cache; an op reads two of them and writes one. What is moved goes by a range for each tile, which takes as long as some calls (4 of a
 * whole message, 8 of a part; Zen 4). */
double ldg_plan_op_tiles(int64_t bytes, int ranges) {
  const double tiles = (double)(bytes / LDG_PLAN_TILE + (bytes % LDG_PLAN_TILE != 0));
  return 2 * ldg_model_copy(LDG_PLAN_TILE) * ((double)bytes / LDG_PLAN_TILE) + (8 * tiles - 4) * ranges * ldg_model_ns(LDG_MODEL_CALL);
}

/* What is not one nest goes child by child, each of which is gone down to (gap400_x16: 11 ns each; Zen 4). */
static double by_blocks(const ldg_step *s, int dir, int64_t size) {
  if (s->job[dir].nest.block) return ldg_plan_op_blocks(&s->job[dir].nest, size);
  double ns = (double)s->n * (ldg_model_ns(LDG_MODEL_CHILD) + 6 * ldg_model_ns(LDG_MODEL_CALL));
  if (!s->kids) return ns + (s->child ? by_blocks(s->child, dir, size) * ((double)s->size / (double)s->child->size) : ldg_plan_op_tiles(s->size, 0));
  for (int64_t i = 0; i < s->n; i++) ns += s->kids[i] ? by_blocks(s->kids[i], dir, size) : ldg_plan_op_tiles(s->rep->kids[i]->size, 0);
  return ns;
}

static double by_tiles(const ldg_step *s, int dir) {
  const double moved = ldg_plan_step_cost(s, LDG_PACK) + (dir == LDG_UNPACK ? ldg_plan_step_cost(s, LDG_UNPACK) : 0);
  return moved + ldg_plan_op_tiles(s->size, dir == LDG_UNPACK ? 2 : 1);
}

/* ---- tiles ---- */

static int64_t part_of(const ldg_step *s, int dir) {
  for (int i = 0; i < BACKEND->n; i++)
    if (BACKEND->strategies[i].part && !strcmp(BACKEND->strategies[i].name, s->job[dir].name)) return ldg_min(BACKEND->strategies[i].part(&s->job[dir].nest), LDG_PLAN_TILE_MOST);
  return 0;
}
static int64_t tile_of(const ldg_plan *p) {
  int64_t most = p ? atomic_load_explicit(&p->tile, memory_order_relaxed) : LDG_PLAN_TILE;
  if (most) return most;
  most = LDG_PLAN_TILE;
  for (int dir = LDG_PACK; dir <= LDG_UNPACK; dir++) most = ldg_max(most, ldg_max(part_of(&p->one, dir), part_of(&p->many, dir)));
  atomic_store_explicit(&((ldg_plan *)(uintptr_t)p)->tile, most, memory_order_relaxed);
  return most;
}
int64_t ldg_plan_tile(const ldg_plan *a, const ldg_plan *b) { return ldg_max(tile_of(a), tile_of(b)); }

/* ---- the choice ---- */

/* There is nothing to gather. */
static bool is_run(const ldg_plan *p, int items) { return p->one.rep->kind == LDG_BYTES && (items == LDG_OP_ONE || p->extent == p->size); }

void ldg_plan_op_predict(const ldg_plan *p, int items, int dir, int64_t size, double *blocks, double *tiles) {
  const ldg_step *s = items == LDG_OP_ONE ? &p->one : &p->many;
  *blocks = are_whole(p, size) ? by_blocks(s, dir, size) : INFINITY;
  *tiles = items == LDG_OP_ORDERED || (is_run(p, items) && *blocks < INFINITY) ? INFINITY : by_tiles(s, dir);
}

/* All who race find the same. */
ldg_op_way ldg_plan_op_choose(const ldg_plan *p, int items, int dir, lading_elem e, int64_t size) {
  double blocks, tiles;
  ldg_plan_op_predict(p, items, dir, size, &blocks, &tiles);
  const double most = (dir == LDG_UNPACK ? 0.8 : 1) * blocks; /* who moves thrice as much has to be sure */
  const ldg_op_way w = blocks < INFINITY && most <= tiles ? LDG_OP_BLOCKS : tiles < INFINITY ? LDG_OP_TILES : LDG_OP_ELEMENTS;
  atomic_store_explicit(&((ldg_plan *)(uintptr_t)p)->op_way[items][dir][e], w, memory_order_relaxed);
  return w;
}

/* ---- explain ---- */

static void explain_way(const ldg_plan *p, int dir, lading_elem e, int64_t size, ldg_text *t) {
  static const char *const ways[] = { [LDG_OP_BLOCKS] = "block by block", [LDG_OP_TILES] = "through packed tiles", [LDG_OP_ELEMENTS] = "element by element" };
  const ldg_op_way way = ldg_plan_op_way(p, 1, dir, e, size);
  double blocks, tiles;
  const bool any_order = dir == LDG_PACK || ldg_plan_is_distinct(p, 1);
  ldg_plan_op_predict(p, any_order ? LDG_OP_ONE : LDG_OP_ORDERED, dir, size, &blocks, &tiles);
  ldg_text_add(t, "  %s: %s; ", dir == LDG_PACK ? "pack" : "unpack", ways[way]);
  if (!any_order) ldg_text_add(t, "destinations may coincide\n");
  else if (blocks == INFINITY) ldg_text_add(t, "blocks are no whole elements, or too many to plan for\n");
  else if (tiles == INFINITY) ldg_text_add(t, "it is one run\n");
  else ldg_text_add(t, "predicted: block by block %.1f ns, through packed tiles %.1f ns\n", blocks, tiles);
}

void ldg_plan_op_explain(const ldg_plan *p, lading_elem e, ldg_text *t) {
  const ldg_op *op = NULL;
  for (int o = 0; o < LADING_OP_MAX && !op; o++) op = ldg_plan_op((lading_op)o, e);
  if (!op || p->size == 0) return;
  ldg_text_add(t, "reductions of one item, elements of %lld B\n", (long long)op->size);
  explain_way(p, LDG_PACK, e, op->size, t), explain_way(p, LDG_UNPACK, e, op->size, t);
}
