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

/* False: the layouts have no nest in common, or none of whole elements. */
static bool by_nest(ldg_chain *c, const ldg_side *src, const ldg_side *dst, const ldg_op *op, int64_t lo, int64_t hi) {
  const ldg_way w = { .dir = LDG_PACK, .op = op };
  ldg_nest n;
  int64_t so, to;
  if (!ldg_nest_common(src->rep, src->extent, dst->rep, dst->extent, hi, &n, &so, &to) || (op && n.block % op->size)) return false;
  n.ordered = !ldg_nest_distinct(&n);
  const bool ragged = is_ragged(&n, lo, hi);
  if (!is_made(c, &n, ragged)) chain_of(c, &n, op, ragged);
  ldg_exec_range(&c->step[n.nd - 1], &w, ldg_at(src->base, so), ldg_at(dst->base, to), lo, hi);
  return true;
}

bool ldg_exec_nest(ldg_chain *c, const ldg_side *src, const ldg_side *dst, int64_t lo, int64_t hi) {
  return lo == hi || by_nest(c, src, dst, NULL, lo, hi);
}

void ldg_exec_copy_op(const ldg_side *src, const ldg_side *dst, const ldg_reduction *r, int64_t lo, int64_t hi) {
  const ldg_op *op = ldg_exec_op_of(r);
  ldg_chain c;
  c.made = false;
  if (lo == hi || (op && by_nest(&c, src, dst, op, lo, hi))) return;
  ldg_exec_op_walk(r, src, dst, lo, hi);
}

static void both_sides(const ldg_plan *sp, const ldg_side *src, const ldg_plan *dp, const ldg_side *dst, const ldg_reduction *r, int64_t lo, int64_t hi) {
  const ldg_items a = { sp, src->count, src->base }, b = { dp, dst->count, dst->base };
  const ldg_reduce how = ldg_exec_how(r);
  int64_t from = hi, to = hi;
  if (how.how) ldg_pair_run(&a, &b, &how, lo, hi, &from, &to);
  ldg_exec_copy_op(src, dst, r, lo, from);
  ldg_exec_copy_op(src, dst, r, to, hi);
}

void ldg_exec_move_op(const ldg_plan *sp, const ldg_side *src, const ldg_plan *dp, const ldg_side *dst, const ldg_reduction *r, int64_t lo, int64_t hi) {
  if (lo == hi) return;
  if (ldg_side_is_run(src)) ldg_exec_op(dp, dst->count, LDG_UNPACK, r, dst->base, ldg_at(src->base, src->rep->first + lo), lo, hi);
  else if (ldg_side_is_run(dst)) ldg_exec_op(sp, src->count, LDG_PACK, r, src->base, ldg_at(dst->base, dst->rep->first + lo), lo, hi);
  else both_sides(sp, src, dp, dst, r, lo, hi);
}
