/* exec: how much. Runs a plan over packed bytes [lo, hi): ragged head, whole iterations, ragged tail. */
#ifndef LDG_EXEC_H
#define LDG_EXEC_H

#include "build.h"
#include "plan.h"

/* Packed bytes [lo, hi) of `count` items, a valid range; `packed` is the place of byte lo. LADING_OK, so that who calls may end with it. */
int ldg_exec_pack(const ldg_plan *p, int64_t count, const char *mem, const char *packed, int64_t lo, int64_t hi);
int ldg_exec_unpack(const ldg_plan *p, int64_t count, const char *mem, const char *packed, int64_t lo, int64_t hi);
static inline int ldg_exec(const ldg_plan *p, int64_t count, int dir, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  return dir == LDG_PACK ? ldg_exec_pack(p, count, mem, packed, lo, hi) : ldg_exec_unpack(p, count, mem, packed, lo, hi);
}

/* One side of a copy: `count` items of a canonical rep, `extent` bytes apart. */
typedef struct ldg_side { const ldg_rep *rep; int64_t count, extent; const char *base; } ldg_side;
/* All of it is one run: then its stream is its memory. */
static inline bool ldg_side_is_run(const ldg_side *s) { return s->rep->runs == 1 && (s->count == 1 || s->extent == s->rep->size); }
/* Layout to layout, stream bytes [lo, hi); the plans are those of the sides, whose counted reps fit (ldg_rep_repeat_in). */
void ldg_exec_move(const ldg_plan *sp, const ldg_side *src, const ldg_plan *dp, const ldg_side *dst, int64_t lo, int64_t hi);
/* The same, planned as one move, however few bytes there are. */
void ldg_exec_move_planned(const ldg_plan *sp, const ldg_side *src, const ldg_plan *dp, const ldg_side *dst, int64_t lo, int64_t hi);

/* dst = op(src, dst) for the elements of `sig`, which are those of the whole stream; all of them support the op. lo and hi are
 * boundaries of elements. Elements that coincide in the destination are reduced in stream order. */
typedef struct ldg_reduction { lading_op op; ldg_sig sig; } ldg_reduction;
void ldg_exec_op(const ldg_plan *p, int64_t count, int dir, const ldg_reduction *r, const char *mem, const char *packed, int64_t lo, int64_t hi);
/* The same from layout to layout; the plans are those of the sides, and may be NULL where one is a run. */
void ldg_exec_move_op(const ldg_plan *sp, const ldg_side *src, const ldg_plan *dp, const ldg_side *dst, const ldg_reduction *r, int64_t lo, int64_t hi);
/* The definition of a reduction: element by element, wherever its bytes are. */
void ldg_exec_op_walk(const ldg_reduction *r, const ldg_side *src, const ldg_side *dst, int64_t lo, int64_t hi);
/* The op when all elements are of one kind, else NULL. */
const ldg_op *ldg_exec_op_of(const ldg_reduction *r);
/* How a kernel would reduce, when all elements are of one kind; LDG_MOVE: none would. */
ldg_reduce ldg_exec_how(const ldg_reduction *r);

/* External32 bytes [lo, hi) of the elements `sig` on that side, written or read at `packed`. ERR_UNSUPPORTED, and nothing was
 * written: a long beyond 4 bytes (pack), an element cut that cannot be put together from parts (unpack). */
int ldg_exec_external(const ldg_side *side, ldg_sig sig, int dir, const char *packed, int64_t lo, int64_t hi);

/* Segments of `count` items: runs in stream order, merged across items. ERR_OVERFLOW, ERR_NOMEM. */
int ldg_exec_segments(const ldg_side *s, int64_t *n);
int ldg_exec_iov(const ldg_side *s, int64_t first, struct iovec *iov, int64_t max, int64_t *got);
int ldg_exec_segment_at(const ldg_side *s, int64_t byte, int64_t *index, int64_t *residue);

#endif
