/* plan_pair: tier 2 of copies from layout to layout, and of reductions, one side of which may be packed: a kernel that moves, or reduces, a
 * period of the stream, which is whole bodies on either side, as often as both sides go on so. A plan keeps what it knows of a few
 * others: of those that have a kernel, and then of those that it moves most by. */
#ifndef LDG_PLAN_PAIR_H
#define LDG_PLAN_PAIR_H

#include "plan.h"

/* One side: items of a plan. Without a plan: packed bytes, from byte 0 on. */
typedef struct ldg_items { const ldg_plan *plan; int64_t count; const char *base; } ldg_items;

enum { LDG_PAIR_LEAST = 512 }; /* bytes: what is looked for and found takes some 10 ns */
/* Might some kernel be for so many? */
static inline bool ldg_pair_may(int64_t bytes) { return bytes >= LDG_PAIR_LEAST && ldg_jit_on(); }
/* Might one be for copies from one of these into the other, if they are long enough? */
bool ldg_pair_moves(const ldg_items *src, const ldg_items *dst);
/* How a kernel reduces elements; LDG_MOVE: none does. */
ldg_reduce ldg_pair_reduce(lading_op op, lading_elem e);
/* Surely none reduces that many items of a plan with packed bytes, or packed bytes with them. */
bool ldg_pair_none(const ldg_reduce *r, const ldg_plan *p, int64_t count, int dir);
/* Moves or reduces what a kernel can of stream bytes [lo, hi), which both sides have: *from to *to, with nothing done yet before and behind it.
 * False: nothing was done, since there is no kernel, or not yet, or it is not for so few. NULL: moves. */
bool ldg_pair_run(const ldg_items *src, const ldg_items *dst, const ldg_reduce *reduce, int64_t lo, int64_t hi, int64_t *from, int64_t *to);
/* Asks at once for the kernel that moves or reduces whole items of one into the other. NULL, or why there will be none. */
const char *ldg_pair_warm(const ldg_items *src, const ldg_items *dst, const ldg_reduce *reduce);
/* A line for each pair of the plan. */
void ldg_pair_explain(const ldg_plan *p, ldg_text *t);

#endif
