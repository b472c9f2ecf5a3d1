/* plan_pair: tier 2 of copies from layout to layout: a kernel that moves a period of the stream, which is whole bodies on either side,
 * as often as both sides go on so. A plan keeps what it knows of the first plans that it was copied to. */
#ifndef LDG_PLAN_PAIR_H
#define LDG_PLAN_PAIR_H

#include "plan.h"

/* One side: items of a plan. */
typedef struct ldg_items { const ldg_plan *plan; int64_t count; const char *base; } ldg_items;

/* Moves what a kernel can of stream bytes [lo, hi), which both sides have: *from to *to, with nothing moved yet before and behind it. False:
 * nothing was moved, since there is no kernel, or not yet, or it is not for so few. */
bool ldg_pair_copy(const ldg_items *src, const ldg_items *dst, int64_t lo, int64_t hi, int64_t *from, int64_t *to);
void ldg_pair_close(ldg_plan *p);
/* A line for each plan that this one was copied to; none otherwise. */
void ldg_pair_explain(const ldg_plan *p, ldg_text *t);

#endif
