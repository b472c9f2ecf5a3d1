/* layout: one canonical rep, interned: there is one object per canonical tree in the process. */
#ifndef LDG_LAYOUT_H
#define LDG_LAYOUT_H

#include "memo.h"
#include "rep.h"

typedef struct ldg_layout {
  ldg_memo_entry entry;            /* first: the memo owns it */
  const ldg_rep *rep;              /* canonical */
  _Atomic(ldg_rep_stats *) stats;  /* made at first demand */
  _Atomic int64_t grain;           /* so is this; 0: not yet */
  _Atomic int named;               /* so is name[], the layout id; all who race write the same words */
  _Atomic uint64_t name[2];
} ldg_layout;

/* The layout of a canonical rep (interned by content). Takes its own reference of rep if it keeps it. */
int ldg_layout_intern(const ldg_rep *canonical, const ldg_layout **out);
const ldg_layout *ldg_layout_ref(const ldg_layout *l);
void ldg_layout_release(const ldg_layout *l);
int ldg_layout_stats(const ldg_layout *l, ldg_rep_stats *out); /* cached; ERR_NOMEM */
/* The greatest power of two up to 16 that divides every run of the tree and where it begins, by its lengths, offsets and strides; cached. */
int64_t ldg_layout_grain(const ldg_layout *l);

/* Design 2.2. The stream as a string of byte deltas has a polynomial hash that composes over a tree without expanding it:
 * equal sequences have equal ids, whatever the trees. */
lading_id ldg_layout_id(const ldg_rep *r);       /* XXH3-128 over (format version, length, first offset, hash) */
lading_id ldg_layout_named(const ldg_layout *l); /* of the layout; cached */

#endif
