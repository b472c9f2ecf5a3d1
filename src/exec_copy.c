/* Layout to layout without a staging buffer: one nest where both layouts have a common refinement, else both are zipped. */
#include "exec.h"
#include "exec_range.h"
#include "nest_tree.h"

/* The nest as a chain of steps on the stack, innermost first, so that ranges run as for any plan. */
typedef struct chain { ldg_step step[LDG_DIMS]; ldg_rep rep[LDG_DIMS + 1]; } chain;

static const ldg_step *chain_of(chain *c, const ldg_nest *n, const ldg_op *op) {
  int64_t each = n->block;
  c->rep[0] = (ldg_rep){ .kind = LDG_BYTES, .n = n->block, .size = n->block };
  for (int k = 0; k < n->nd; each *= n->dim[k].n, k++) {
    ldg_step *s = &c->step[k];
    c->rep[k + 1] = (ldg_rep){ .kind = LDG_REPEAT, .n = n->dim[k].n, .stride = n->dim[k].src, .child = &c->rep[k] };
    s->rep = &c->rep[k + 1], s->n = n->dim[k].n, s->each = each, s->size = each * s->n;
    s->stride[0] = n->dim[k].src, s->stride[1] = n->dim[k].dst;
    s->child = k ? &c->step[k - 1] : NULL, s->thin = false, s->kids = NULL;
    ldg_nest sub = *n;
    sub.nd = k + 1;
    if (op) s->job[LDG_PACK].nest = sub;
    else ldg_plan_nest(&s->job[LDG_PACK], &sub, NULL, NULL);
  }
  return &c->step[n->nd - 1];
}

/* False: the layouts have no nest in common, or none of whole elements. */
static bool by_nest(const ldg_side *src, const ldg_side *dst, const ldg_op *op, int64_t lo, int64_t hi) {
  const ldg_way w = { LDG_PACK, op };
  ldg_nest n;
  chain c;
  int64_t so, to;
  if (!ldg_nest_common(src->rep, src->extent, dst->rep, dst->extent, hi, &n, &so, &to) || (op && n.block % op->size)) return false;
  n.ordered = !ldg_nest_distinct(&n);
  ldg_exec_range(chain_of(&c, &n, op), &w, ldg_at(src->base, so), ldg_at(dst->base, to), lo, hi);
  return true;
}

bool ldg_exec_nest(const ldg_side *src, const ldg_side *dst, int64_t lo, int64_t hi) { return lo == hi || by_nest(src, dst, NULL, lo, hi); }

void ldg_exec_copy(const ldg_side *src, const ldg_side *dst, int64_t lo, int64_t hi) {
  ldg_rep sr, dr;
  if (ldg_exec_nest(src, dst, lo, hi)) return;
  if (ldg_rep_repeat_in(&sr, src->count, src->extent, src->rep) || ldg_rep_repeat_in(&dr, dst->count, dst->extent, dst->rep)) return;
  ldg_exec_zip(&sr, src->base, &dr, dst->base, lo, hi);
}

void ldg_exec_copy_op(const ldg_side *src, const ldg_side *dst, const ldg_reduction *r, int64_t lo, int64_t hi) {
  const ldg_op *op = ldg_exec_op_of(r);
  if (lo == hi || (op && by_nest(src, dst, op, lo, hi))) return;
  ldg_exec_op_walk(r, src, dst, lo, hi);
}
