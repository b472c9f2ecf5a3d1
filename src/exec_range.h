/* exec_range: the one mover over ranges, for plans and for copies. */
#ifndef LDG_EXEC_RANGE_H
#define LDG_EXEC_RANGE_H

#include "exec.h"
#include "plan_pair.h"

/* What becomes of the bytes that meet: they are moved or, with an op, reduced: then no block of the step splits an element, and
 * there are steps all the way down (none is thin). `part`: of a long message, see ldg_plan_part. */
typedef struct ldg_way { int dir; bool part; const ldg_op *op; } ldg_way;

/* Bytes [lo, hi) of a step, 0 <= lo < hi; `mem` and `packed` are the places of its offset 0 on either side. The count of a
 * repeat is not looked at: the root of many items has none. */
void ldg_exec_range(const ldg_step *s, const ldg_way *w, const char *mem, const char *packed, int64_t lo, int64_t hi);

/* A nest as a chain of steps on the stack, innermost first, so that ranges run as for any plan; kept from one copy to the next. */
typedef struct ldg_chain { bool made, ragged; ldg_nest nest; ldg_step step[LDG_DIMS]; ldg_rep rep[LDG_DIMS + 1]; } ldg_chain;

/* As ldg_exec_move, where both layouts refine to one nest; false: they do not, and nothing was done. At first c->made is false. */
bool ldg_exec_nest(ldg_chain *c, const ldg_side *src, const ldg_side *dst, int64_t lo, int64_t hi);

/* Stream bytes [lo, hi) from one layout to the other, in stream order. */
void ldg_exec_zip(const ldg_rep *sr, const char *src, const ldg_rep *dr, const char *dst, int64_t lo, int64_t hi);

/* Is it a list of blocks that have lengths of their own, so psum is there, each in one piece? */
bool ldg_exec_is_list(const ldg_rep *r);

/* Of two such lists, from lo on as long as their blocks coincide in the stream; how far that was, at most hi. */
int64_t ldg_exec_zip_alike(const ldg_rep *sr, const char *src, const ldg_rep *dr, const char *dst, int64_t lo, int64_t hi);

/* Lengths of blocks that have a loop of their own: LOOP(bytes) for each. */
#define LDG_EXEC_WIDTHS(LOOP) LOOP(1) LOOP(2) LOOP(4) LOOP(8) LOOP(12) LOOP(16) LOOP(20) LOOP(24) LOOP(32) LOOP(40) LOOP(48) LOOP(64)

/* Listed blocks on both sides, of one length on each: where the first of them are. */
typedef struct ldg_lists { const char *src; char *dst; const int32_t *from, *to; } ldg_lists;
/* The first n of the longer blocks, each split into those of the other list: one length is a multiple of the other, both positive, and the
 * lists begin at one byte of the stream, with as many offsets as that takes. In stream order. False: the shorter length has no loop of
 * its own, and nothing was done; with a length from memory it takes longer than to pack and unpack. */
bool ldg_exec_split(const ldg_lists *l, int64_t src_block, int64_t dst_block, int64_t n);

/* Iterations [i0, i0 + n) of a nest, as ldg_run does it; LADING_OK. */
int ldg_exec_nest_op(const ldg_op *op, const ldg_nest *nest, const char *src, char *dst, int64_t i0, int64_t n);

/* n rows of a block of elements, ss and ds bytes apart. */
void ldg_exec_op_row(const ldg_op *op, const char *src, char *dst, int64_t n, int64_t block, int64_t ss, int64_t ds);

/* What a kernel that was compiled does of stream bytes [lo, hi) is done: all but [lo, *from) and [*to, hi). */
void ldg_exec_op_kernel(const ldg_items *src, const ldg_items *dst, const ldg_reduction *r, int64_t lo, int64_t hi, int64_t *from, int64_t *to);

/* Through packed tiles; lo and hi are boundaries of elements, and bytes of the destination never coincide. A side without a plan is packed. */
void ldg_exec_op_tiles(const ldg_items *src, const ldg_items *dst, const ldg_reduction *r, int64_t lo, int64_t hi);

/* Elements of several kinds, or split ones: many items at a time, or through tiles; else the walk. `packed` is the place of byte 0. */
void ldg_exec_op_items(const ldg_plan *p, int64_t count, int dir, const ldg_reduction *r, const char *mem, const char *packed, int64_t lo, int64_t hi);

#endif
