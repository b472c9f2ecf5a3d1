/* nest: loops that carry a stride on BOTH sides around a contiguous block. Pack, unpack and copy are all nests; swapping
 * the columns swaps the direction. A nest knows no tree and no MPI word: it is what backends run. */
#ifndef LDG_NEST_H
#define LDG_NEST_H

#include "base.h"

#define LDG_DIMS 8
typedef struct ldg_dim { int64_t n, src, dst; } ldg_dim; /* iterations, bytes between them on either side */

typedef struct ldg_nest {
  int64_t block;          /* contiguous bytes on both sides, >= 1 */
  int nd;                 /* >= 1; dim[0] is innermost, dim[nd-1] outermost */
  bool ordered;           /* destination bytes may coincide: stream order must be kept */
  bool once;              /* of a job that tries nothing: one call makes and runs it, or all layouts share it, or it is what is measured */
  bool any;               /* of the job of many items: the outermost n is only likely; the planner sets it */
  bool part;              /* of a job that moves parts of what has as many iterations, or more; the planner sets it */
  ldg_dim dim[LDG_DIMS];
  /* In a list nest (at != NULL) dim[0] is listed: entry i is at at[i] on side `list`, and at i times the other side's stride.
   * With psum its blocks have lengths of their own: entry i is psum[i+1] - psum[i] long and at psum[i] on the other side.
   * The other dims are strided as ever. With at2, which needs one dim only, entry i is at at2[i] on the other side. */
  const int64_t *at, *psum, *at2;
  const int32_t *at4, *at2_4; /* the same offsets, where they fit in 4 bytes; else NULL */
  int64_t span;           /* of the listed side, bytes */
  enum { LDG_LIST_SRC, LDG_LIST_DST } list;
} ldg_nest;

/* Nothing yet: only the dims, which nd counts, are left as they are. */
static inline void ldg_nest_blank(ldg_nest *n) {
  memset(n, 0, offsetof(ldg_nest, dim));
  n->at = n->psum = n->at2 = NULL, n->at4 = n->at2_4 = NULL, n->span = 0, n->list = LDG_LIST_SRC;
}

static inline ldg_nest ldg_nest_swapped(ldg_nest n) {
  for (int i = 0; i < n.nd; i++) { int64_t t = n.dim[i].src; n.dim[i].src = n.dim[i].dst; n.dim[i].dst = t; }
  n.list = n.list == LDG_LIST_SRC ? LDG_LIST_DST : LDG_LIST_SRC;
  return n;
}

#endif
