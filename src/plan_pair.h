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
/* Surely no kernel adds elements of so many bytes to packed ones, or packed ones to them, where a nest says: rows of a few numbers of 4 and 8 bytes, and lists of them, are added as fast
 * by kernels of the library, and the way to a compiled one takes 20 to 40 ns (40 rows of two doubles 24 ns and 56 so, 300 103 and 144, 2000 713 and 760, 16 rows of 5 of them 45 and 73;
 * Zen 4). */
enum { LDG_PAIR_ROW = 4 };
static inline bool ldg_pair_none(const ldg_nest *n, int64_t size) {
  return n->block && !n->psum && (size == 4 || size == 8) && n->block <= LDG_PAIR_ROW * size && !ldg_jit_forced();
}
/* Moves or reduces what a kernel can of stream bytes [lo, hi), which both sides have: *from to *to, with nothing done yet before and behind it.
 * False: nothing was done, since there is no kernel, or not yet, or it is not for so few. NULL: moves. */
bool ldg_pair_run(const ldg_items *src, const ldg_items *dst, const ldg_reduce *reduce, int64_t lo, int64_t hi, int64_t *from, int64_t *to);
/* Asks at once for the kernel that moves or reduces whole items of one into the other. NULL, or why there will be none. */
const char *ldg_pair_warm(const ldg_items *src, const ldg_items *dst, const ldg_reduce *reduce);
/* A line for each pair of the plan. */
void ldg_pair_explain(const ldg_plan *p, ldg_text *t);

#endif
