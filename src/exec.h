/* exec: how much. Runs a plan over packed bytes [lo, hi): ragged head, whole iterations, ragged tail. */
#ifndef LDG_EXEC_H
#define LDG_EXEC_H

#include "plan.h"

/* dir LDG_PACK: mem to packed; LDG_UNPACK: packed to mem. `packed` is the place of byte lo. The range is valid. */
void ldg_exec(const ldg_plan *p, int64_t count, int dir, const char *mem, const char *packed, int64_t lo, int64_t hi);

/* One side of a copy: `count` items of a canonical rep, `extent` bytes apart. */
typedef struct ldg_side { const ldg_rep *rep; int64_t count, extent; const char *base; } ldg_side;
/* Layout to layout, stream bytes [lo, hi); the counted reps of both sides fit (ldg_rep_repeat_in). The definition. */
void ldg_exec_copy(const ldg_side *src, const ldg_side *dst, int64_t lo, int64_t hi);
/* The same, where both layouts refine to one nest; false: they do not, and nothing was done. */
bool ldg_exec_nest(const ldg_side *src, const ldg_side *dst, int64_t lo, int64_t hi);
/* The same in the fastest way there is; the plans are those of the sides. */
void ldg_exec_move(const ldg_plan *sp, const ldg_side *src, const ldg_plan *dp, const ldg_side *dst, int64_t lo, int64_t hi);

/* Segments of `count` items: runs in stream order, merged across items. ERR_OVERFLOW, ERR_NOMEM. */
int ldg_exec_segments(const ldg_side *s, int64_t *n);
int ldg_exec_iov(const ldg_side *s, int64_t first, struct iovec *iov, int64_t max, int64_t *got);
int ldg_exec_segment_at(const ldg_side *s, int64_t byte, int64_t *index, int64_t *residue);

#endif
