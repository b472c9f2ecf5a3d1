/* nest_tree: from trees to nests. The memory side is the source, the packed side the destination, unless said. */
#ifndef LDG_NEST_TREE_H
#define LDG_NEST_TREE_H

#include "nest.h"
#include "rep.h"

/* repeat* bytes, as a nest into dense packed memory. False: another shape, or more than LDG_DIMS dims. */
bool ldg_nest_of(const ldg_rep *r, ldg_nest *n);

/* repeat* around a list of bytes: blocks, counted blocks that touch, or a join. Loops around a list take one of a few entries. */
bool ldg_nest_of_list(const ldg_rep *r, ldg_nest *n);

/* A tree without long lists is a sum of terms: perfect nests (nd may be 0: one block) at an offset on either side. */
typedef struct ldg_term { int64_t src, dst; ldg_nest nest; } ldg_term;
/* Writes the terms of r in stream order; the number of them, or -1 when there are more than max or a term is too deep. */
int ldg_nest_terms(const ldg_rep *r, ldg_term *out, int max);

/* The common refinement of items of sr, `se` bytes apart, and of dr, `de` apart: one nest that walks both layouts. False when one does
 * not exist (a list, or radices that do not divide). The outermost dim covers at least `bytes` of the stream. */
bool ldg_nest_common(const ldg_rep *sr, int64_t se, const ldg_rep *dr, int64_t de, int64_t bytes, ldg_nest *n,
                     int64_t *src_at, int64_t *dst_at);

/* Are the destination bytes pairwise distinct, provably? Strided nests only. */
bool ldg_nest_distinct(const ldg_nest *n);

#endif
