/* Layout to layout without a staging buffer: one nest where both layouts have a common refinement, else both are zipped. */
#include "exec.h"
#include "exec_range.h"
#include "nest_tree.h"
#include "plan_pair.h"

/* `ragged`: the steps inside are needed, too; they have to be planned, which takes longer than to move a little message. */
static void chain_of(ldg_chain *c, const ldg_nest *n, const ldg_op *op, bool ragged) {
  int64_t each = n->block;
  c->rep[0] = (ldg_rep){ .kind = LDG_BYTES, .n = n->block, .size = n->block };
  for (int k = 0; k < n->nd; each *= n->dim[k].n, k++) {
    ldg_step *s = &c->step[k];
    c->rep[k + 1] = (ldg_rep){ .kind = LDG_REPEAT, .n = n->dim[k].n, .stride = n->dim[k].src, .child = &c->rep[k] };
    s->rep = &c->rep[k + 1], s->n = n->dim[k].n, s->each = each, s->size = each * s->n;
    s->stride[0] = n->dim[k].src, s->stride[1] = n->dim[k].dst;
    s->child = k ? &c->step[k - 1] : NULL, s->thin = false, s->kids = NULL;
    if (op || ragged || k == n->nd - 1) s->per_each = ldg_inverse_of(each, 63); /* else nothing is looked for there; it takes a long division */
    ldg_nest sub = *n;
    sub.nd = k + 1;
    if (op) s->job[LDG_PACK].nest = sub;
    else if (ragged || k == n->nd - 1) ldg_plan_once(&s->job[LDG_PACK], &sub);
  }
  c->nest = *n, c->made = true, c->ragged = ragged;
}

/* Fields of a struct are often alike. */
static bool is_made(const ldg_chain *c, const ldg_nest *n, bool ragged) {
  return c->made && (c->ragged || !ragged) && c->nest.block == n->block && c->nest.nd == n->nd && c->nest.ordered == n->ordered &&
         !memcmp(c->nest.dim, n->dim, (size_t)n->nd * sizeof *n->dim);
}

static bool is_ragged(const ldg_nest *n, int64_t lo, int64_t hi) {
  int64_t each = n->block;
  for (int k = 0; k < n->nd - 1; k++) each *= n->dim[k].n;
  return lo % each || hi % each;
}

/* ns of packing what is not packed, reducing it there, and unpacking it; of where the order does not count. */
typedef struct pair { const ldg_items *src, *dst; } pair;
static double tiles_ns(const pair *p, int64_t bytes) {
  const ldg_items *a = p->src, *b = p->dst;
  const double moved = ldg_plan_cost(a->plan, a->count, LDG_PACK, bytes) + ldg_plan_cost(b->plan, b->count, LDG_PACK, bytes) + ldg_plan_cost(b->plan, b->count, LDG_UNPACK, bytes);
  return moved + ldg_plan_op_tiles(bytes, 3);
}

/* Whether an op goes by a nest: one of whole elements, that is not predicted to take longer than tiles, if those may be (else NULL). To predict it takes some 100 ns. */
enum { WEIGHED_FROM = 4 << 10 };
static bool reduces(const ldg_nest *n, const ldg_op *op, const pair *tiles, int64_t lo, int64_t hi) {
  if (n->block % op->size) return false;
  return !tiles || hi - lo < WEIGHED_FROM || ldg_plan_op_blocks(n, op->size) <= tiles_ns(tiles, hi); /* both of all bytes up to there */
}

/* False: the layouts have no nest in common, or an op does not go by it. */
static bool by_nest(ldg_chain *c, const ldg_side *src, const ldg_side *dst, const ldg_op *op, const pair *tiles, int64_t lo, int64_t hi) {
  const ldg_way w = { .dir = LDG_PACK, .op = op };
  ldg_nest n;
  int64_t so, to;
  if (!ldg_nest_common(src->rep, src->extent, dst->rep, dst->extent, hi, &n, &so, &to) || (op && !reduces(&n, op, tiles, lo, hi))) return false;
  n.ordered = !ldg_nest_distinct(&n);
  const bool ragged = is_ragged(&n, lo, hi);
  if (!is_made(c, &n, ragged)) chain_of(c, &n, op, ragged);
  ldg_exec_range(&c->step[n.nd - 1], &w, ldg_at(src->base, so), ldg_at(dst->base, to), lo, hi);
  return true;
}

bool ldg_exec_nest(ldg_chain *c, const ldg_side *src, const ldg_side *dst, int64_t lo, int64_t hi) {
  return lo == hi || by_nest(c, src, dst, NULL, NULL, lo, hi);
}

/* The chain takes 16 KiB of the stack: a frame of its own, which is gone before tiles or the walk take as much. */
static __attribute__((noinline)) bool reduce_nest(const pair *tiles, const ldg_side *src, const ldg_side *dst, const ldg_op *op, int64_t lo, int64_t hi) {
  ldg_chain c;
  c.made = false;
  return by_nest(&c, src, dst, op, tiles, lo, hi);
}

/* By one nest, or tiles, or else element by element. */
static void reduce(const pair *p, const ldg_side *src, const ldg_side *dst, const ldg_reduction *r, int64_t lo, int64_t hi) {
  const ldg_op *op = ldg_exec_op_of(r);
  const bool any_order = ldg_plan_is_distinct(p->dst->plan, p->dst->count);
  if (lo == hi || (op && reduce_nest(any_order ? p : NULL, src, dst, op, lo, hi))) return;
  if (any_order) ldg_exec_op_tiles(p->src, p->dst, r, lo, hi);
  else ldg_exec_op_walk(r, src, dst, lo, hi);
}

void ldg_exec_move_op(const ldg_plan *sp, const ldg_side *src, const ldg_plan *dp, const ldg_side *dst, const ldg_reduction *r, int64_t lo, int64_t hi) {
  const bool from_run = ldg_side_is_run(src), to_run = ldg_side_is_run(dst);
  const ldg_items a = from_run ? (ldg_items){ NULL, 0, ldg_at(src->base, src->rep->first) } : (ldg_items){ sp, src->count, src->base };
  const ldg_items b = to_run ? (ldg_items){ NULL, 0, ldg_at(dst->base, dst->rep->first) } : (ldg_items){ dp, dst->count, dst->base };
  int64_t from, to;
  if (lo == hi) return;
  if (from_run && to_run) ldg_exec_op_tiles(&a, &b, r, lo, hi);
  else if (from_run) ldg_exec_op(dp, b.count, LDG_UNPACK, r, b.base, ldg_at(a.base, lo), lo, hi);
  else if (to_run) ldg_exec_op(sp, a.count, LDG_PACK, r, a.base, ldg_at(b.base, lo), lo, hi);
  else {
    ldg_exec_op_kernel(&a, &b, r, lo, hi, &from, &to);
    const pair both = { &a, &b };
    reduce(&both, src, dst, r, lo, from), reduce(&both, src, dst, r, to, hi);
  }
}
