/* batch_apart: whether two places have no byte in common, as far as it can be told cheaply. Most are told by their spans; those that
 * mesh, such as the faces of one box, by their loops. */
#ifndef LDG_BATCH_APART_H
#define LDG_BATCH_APART_H

#include "exec.h"

/* Bytes `gap` apart, n of them, inside of each other; the offset of the first block is absolute. */
typedef struct ldg_batch_loop { int64_t gap, n; } ldg_batch_loop;
#define LDG_BATCH_LOOPS 5
typedef struct ldg_batch_box { int64_t at, block; int nd; ldg_batch_loop loop[LDG_BATCH_LOOPS]; } ldg_batch_box;

typedef struct ldg_batch_place {
  uint64_t lo, hi;          /* all bytes are at addresses [lo, hi); lo == hi: there are none */
  const ldg_rep *rep;       /* of an item at `base`; NULL: dense. It lives as long as the place is used */
  int64_t count, extent;
  uint64_t base;
  int boxes;                /* not looked at yet: 0; one, which is `box`; or LDG_BATCH_NO_BOX */
  ldg_batch_box box;
} ldg_batch_place;
#define LDG_BATCH_NO_BOX (-1)

ldg_batch_place ldg_batch_dense(const void *at, int64_t bytes);
/* Stream bytes [lo, hi) of a side whose counted rep fits. */
ldg_batch_place ldg_batch_place_of(const ldg_side *s, int64_t lo, int64_t hi);

static inline bool ldg_batch_spans_apart(const ldg_batch_place *a, const ldg_batch_place *b) { return a->hi <= b->lo || b->hi <= a->lo; }
/* True: proven. Looks into places whose spans meet, within a bound of about a hundred steps. */
bool ldg_batch_apart(ldg_batch_place *a, ldg_batch_place *b);

#endif
