/* batch_apart: whether two places have no byte in common, as far as it can be told cheaply. Most are told by their spans; those that
 * mesh, such as the faces of one box, by their loops. */
#ifndef LDG_BATCH_APART_H
#define LDG_BATCH_APART_H

#include "exec.h"

/* Bytes `gap` apart, n of them, inside of each other; the offset of the first block is absolute. */
typedef struct ldg_batch_loop { int64_t gap, n; } ldg_batch_loop;
#define LDG_BATCH_LOOPS 5
typedef struct ldg_batch_box { int64_t at, block, span; int nd; ldg_batch_loop loop[LDG_BATCH_LOOPS]; } ldg_batch_box; /* span: of all blocks */

typedef struct ldg_batch_place {
  uint64_t lo, hi;          /* all bytes are at addresses [lo, hi); lo == hi: there are none */
  const ldg_rep *rep;       /* of an item at `base`; NULL: dense. It lives as long as the place is used */
  int64_t count, extent;
  uint64_t base;
  int boxes;                /* not looked at yet: 0, and `box` is not set; one, which is `box`; or LDG_BATCH_NO_BOX */
  ldg_batch_box box;
} ldg_batch_place;
#define LDG_BATCH_NO_BOX (-1)

void ldg_batch_place_dense(ldg_batch_place *p, const void *at, int64_t bytes);
/* Stream bytes [lo, hi) of a side whose counted rep fits. */
void ldg_batch_place_side(ldg_batch_place *p, const ldg_side *s, int64_t lo, int64_t hi);

static inline bool ldg_batch_spans_apart(const ldg_batch_place *a, const ldg_batch_place *b) { return a->hi <= b->lo || b->hi <= a->lo; }
/* The same by their loops, of places whose spans meet. */
bool ldg_batch_boxes_apart(ldg_batch_place *a, ldg_batch_place *b, int64_t *looks);
/* True: proven. Takes from `looks`: one for the pair, and some for its loops, about a hundred at most; with none left, nothing is proven. */
static inline bool ldg_batch_apart(ldg_batch_place *a, ldg_batch_place *b, int64_t *looks) {
  if (*looks <= 0) return false;
  --*looks;
  return ldg_batch_spans_apart(a, b) || ldg_batch_boxes_apart(a, b, looks);
}

#endif
