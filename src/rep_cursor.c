/* rep: the cursor over pieces and runs, and runs by index. A node of one run is one piece however it is built, so every
 * node that the cursor opens has a boundary of runs inside and merging never loops for long. */
#include "rep.h"

/* Children of one entry of counted blocks that touch each other: the entry is one piece. */
static inline bool entry_is_dense(const ldg_rep *r) {
  return r->child->runs == 1 && r->stride == r->child->size;
}

static inline void push(ldg_cursor *c, const ldg_rep *r, int64_t base, int64_t i, int64_t j) {
  c->level[++c->top] = (ldg_cursor_level){ r, i, j, base };
}

/* Opens levels from r down to the piece that holds packed byte `byte` of r. */
LDG_INLINE void descend(ldg_cursor *c, const ldg_rep *r, int64_t base, int64_t byte) {
  while (r->runs > 1) {
    int64_t i, j = 0;
    const ldg_rep *k = r->child;
    if (r->psum) {
      i = ldg_rep_find(r->psum, r->n, byte);
      byte -= r->psum[i];
      if (r->kind == LDG_JOIN) {
        k = r->kids[i];
      } else if (entry_is_dense(r)) {
        push(c, r, base, i, r->cnt[i] - 1);
        c->off = ldg_rep_move(ldg_rep_move(base, r->at[i]), k->first + byte);
        c->len = r->cnt[i] * k->size - byte;
        return;
      } else if (byte) {
        j = byte / k->size;
        byte -= j * k->size;
      }
    } else {
      i = byte ? byte / k->size : 0;
      byte -= i * k->size;
    }
    push(c, r, base, i, j);
    base = ldg_rep_move(base, r->at ? r->at[i] : i * r->stride);
    base = ldg_rep_move(base, j * r->stride);
    r = k;
  }
  c->off = ldg_rep_move(base, r->first + byte);
  c->len = r->size - byte;
}

void ldg_cursor_seek(ldg_cursor *c, const ldg_rep *r, int64_t byte) {
  c->top = -1;
  c->off = c->len = 0;
  if (byte >= r->size) return;
  if (r->runs == 1) push(c, &ldg_rep_one_byte, 0, 0, 0); /* stands in for a root that is one piece, so that there is a level to leave */
  descend(c, r, 0, byte);
}

/* The next entry of counted blocks that has children, or the next child of this one. */
static bool next_counted(ldg_cursor *c, ldg_cursor_level *l) {
  const ldg_rep *r = l->r, *k = r->child;
  if (++l->j >= r->cnt[l->i]) {
    do if (++l->i >= r->n) return false;
    while (r->cnt[l->i] == 0);
    l->j = 0;
  }
  int64_t base = ldg_rep_move(ldg_rep_move(l->base, r->at[l->i]), l->j * r->stride);
  if (entry_is_dense(r)) {
    l->j = r->cnt[l->i] - 1;
    c->off = ldg_rep_move(base, k->first);
    c->len = r->cnt[l->i] * k->size;
  } else {
    descend(c, k, base, 0);
  }
  return true;
}

static bool next_kid(ldg_cursor *c, ldg_cursor_level *l) {
  const ldg_rep *r = l->r;
  do if (++l->i >= r->n) return false;
  while (r->kids[l->i]->size == 0);
  descend(c, r->kids[l->i], ldg_rep_move(l->base, r->at[l->i]), 0);
  return true;
}

/* The next piece below the innermost level; false when that level is done. */
static inline bool next_in(ldg_cursor *c, ldg_cursor_level *l) {
  const ldg_rep *r = l->r;
  if (r->psum) return r->kind == LDG_JOIN ? next_kid(c, l) : next_counted(c, l);
  if (r->kind == LDG_BYTES || ++l->i >= r->n) return false;
  descend(c, r->child, ldg_rep_move(l->base, r->at ? r->at[l->i] : l->i * r->stride), 0);
  return true;
}

static void advance(ldg_cursor *c) {
  c->len = 0;
  while (c->top >= 0 && !next_in(c, &c->level[c->top])) c->top--;
}

bool ldg_cursor_piece(const ldg_cursor *c, int64_t *off, int64_t *len) {
  if (c->top < 0) return false;
  *off = c->off;
  *len = c->len;
  return true;
}

void ldg_cursor_take(ldg_cursor *c, int64_t n) {
  c->off += n;
  c->len -= n;
  if (c->len == 0) advance(c);
}

bool ldg_cursor_run(ldg_cursor *c, int64_t *off, int64_t *len) {
  if (c->top < 0) return false;
  int64_t end = c->off + c->len;
  *off = c->off;
  advance(c);
  while (c->top >= 0 && c->off == end) {
    end += c->len;
    advance(c);
  }
  *len = end - *off;
  return true;
}

/* ---- rows ---- */

/* The entries of a list, or the iterations of a repeat, that are one piece each; the current one is whole. */
static void row_of_entries(ldg_cursor_row *row, ldg_cursor_level *l) {
  const ldg_rep *r = l->r;
  *row = (ldg_cursor_row){ .n = r->n - l->i, .base = ldg_rep_move(l->base, r->child->first), .stride = r->stride, .len = r->child->size,
                           .span = r->hi - r->lo, .at = r->at ? r->at + l->i : NULL, .psum = r->psum ? r->psum + l->i : NULL };
  if (!r->at) row->base = ldg_rep_move(row->base, l->i * r->stride);
  l->i = r->n - 1;
  if (r->cnt) l->j = r->cnt[l->i] - 1;
}

/* The children of one entry of counted blocks. */
static void row_of_copies(ldg_cursor_row *row, ldg_cursor_level *l, int64_t off) {
  const ldg_rep *r = l->r;
  *row = (ldg_cursor_row){ .n = r->cnt[l->i] - l->j, .base = off, .stride = r->stride, .len = r->child->size };
  l->j = r->cnt[l->i] - 1;
}

/* Bytes of the whole piece that the level's entry is; 0 when entries are no pieces. */
static int64_t piece_bytes(const ldg_cursor_level *l) {
  const ldg_rep *r = l->r;
  if (r->kind == LDG_JOIN || r->kind == LDG_BYTES) return 0;
  return r->cnt && entry_is_dense(r) ? r->psum[l->i + 1] - r->psum[l->i] : r->child->size;
}

bool ldg_cursor_row_take(ldg_cursor *c, ldg_cursor_row *row) {
  if (c->top < 0) return false;
  ldg_cursor_level *l = &c->level[c->top];
  if (c->len != piece_bytes(l)) *row = (ldg_cursor_row){ .n = 1, .base = c->off, .len = c->len };
  else if (l->r->cnt && !entry_is_dense(l->r)) row_of_copies(row, l, c->off);
  else row_of_entries(row, l);
  advance(c);
  return true;
}

/* ---- runs by index. Run k, k > 0, starts at the k-th break: a link between entries that do not touch, or a break inside
 * an entry. The run index of an entry is that of the run its first byte lies in. ---------------------------------------- */

static bool copies_touch(const ldg_rep *child, int64_t stride) {
  return child->end - child->first == stride;
}

/* Runs that one more copy of the child adds, where all copies add the same; else -1. */
static int64_t runs_per_copy(const ldg_rep *r) {
  const ldg_rep *k = r->child;
  if (r->kind == LDG_REPEAT) return k->runs - copies_touch(k, r->stride);
  if (r->psum) return -1;
  int64_t touching = r->n * k->runs - r->runs;
  if (touching == 0) return k->runs;
  return touching == r->n - 1 ? k->runs - 1 : -1;
}

typedef struct span {
  int64_t first, end, runs;
} span;

static span entry_span(const ldg_rep *r, int64_t i) {
  const ldg_rep *k = r->kids ? r->kids[i] : r->child;
  int64_t n = r->cnt ? r->cnt[i] : 1;
  if (n == 0 || k->size == 0) return (span){ 0, 0, 0 };
  int64_t end = ldg_rep_move(r->at[i], (n - 1) * r->stride);
  return (span){ ldg_rep_move(r->at[i], k->first), ldg_rep_move(end, k->end), n * k->runs - (n - 1) * copies_touch(k, r->stride) };
}

/* An empty entry has the index of the next one that is not, and so is never the last one below some index. */
static void fill_sums(const ldg_rep *r, int64_t *sums) {
  int64_t runs = 0, end = 0, filled = 0;
  for (int64_t i = 0; i < r->n; i++) {
    span e = entry_span(r, i);
    if (e.runs == 0) continue;
    runs -= runs > 0 && e.first == end;
    while (filled <= i) sums[filled++] = runs;
    runs += e.runs;
    end = e.end;
  }
  while (filled <= r->n) sums[filled++] = runs;
}

/* Built at most once in effect: threads that race build the same numbers, and all but one throw theirs away. */
static int run_sums(const ldg_rep *r, const int64_t **out) {
  _Atomic(const int64_t *) *place = &((ldg_rep *)r)->rsum;
  *out = atomic_load_explicit(place, memory_order_acquire);
  if (*out) return LADING_OK;
  int64_t *sums = ldg_alloc(8 * (r->n + 1));
  if (!sums) return LADING_ERR_NOMEM;
  fill_sums(r, sums);
  if (atomic_compare_exchange_strong_explicit(place, out, sums, memory_order_acq_rel, memory_order_acquire)) *out = sums;
  else ldg_free(sums);
  return LADING_OK;
}

/* A place in the tree on the way down: the node, and what is left to go in it. */
typedef struct place {
  const ldg_rep *r;
  int64_t byte, k;
} place;

/* Goes to copy i of `child`, where each adds `each` runs. */
static void enter_copy(place *p, const ldg_rep *child, int64_t i, int64_t each, int sign) {
  p->byte += sign * i * child->size;
  p->k -= sign * i * each;
  p->r = child;
}

/* Into the copy that holds break p->k or the link after it. */
static void break_in_copies(place *p, const ldg_rep *child, int64_t each) {
  enter_copy(p, child, (p->k - 1) / each, each, 1);
}

static void byte_in_copies(place *p, const ldg_rep *child, int64_t each) {
  enter_copy(p, child, p->byte / child->size, each, -1);
}

/* One level down, to the entry that holds break p->k or the link after it; *done: it is that link, at p->byte. */
static int step_to_break(place *p, bool *done) {
  const ldg_rep *r = p->r;
  int64_t each = runs_per_copy(r);
  if (each >= 0) {
    break_in_copies(p, r->child, each);
  } else {
    const int64_t *sums;
    int rc = run_sums(r, &sums);
    if (rc) return rc;
    int64_t i = ldg_rep_find(sums, r->n, p->k - 1);
    p->k -= sums[i];
    *done = p->k >= entry_span(r, i).runs;
    p->byte += ldg_rep_starts(r, i + *done);
    p->r = r->kids ? r->kids[i] : r->child;
    if (*done) return LADING_OK;
    if (r->cnt) break_in_copies(p, r->child, r->child->runs - copies_touch(r->child, r->stride));
  }
  *done = p->k >= p->r->runs;
  if (*done) p->byte += p->r->size;
  return LADING_OK;
}

int ldg_rep_run_start(const ldg_rep *r, int64_t k, int64_t *byte) {
  if (k < 0 || k > r->runs) return LADING_ERR_RANGE;
  place p = { r, 0, k };
  bool done = k == r->runs;
  if (done) p.byte = r->size;
  while (!done && p.k > 0) {
    int rc = step_to_break(&p, &done);
    if (rc) return rc;
  }
  *byte = p.byte;
  return LADING_OK;
}

/* One level down, to the entry that holds packed byte p->byte of the node. */
static int step_to_byte(place *p) {
  const ldg_rep *r = p->r;
  int64_t each = runs_per_copy(r);
  if (each >= 0) {
    byte_in_copies(p, r->child, each);
    return LADING_OK;
  }
  const int64_t *sums;
  int rc = run_sums(r, &sums);
  if (rc) return rc;
  int64_t i = r->psum ? ldg_rep_find(r->psum, r->n, p->byte) : p->byte / r->child->size;
  p->byte -= ldg_rep_starts(r, i);
  p->k += sums[i];
  p->r = r->kids ? r->kids[i] : r->child;
  if (r->cnt) byte_in_copies(p, r->child, r->child->runs - copies_touch(r->child, r->stride));
  return LADING_OK;
}

int ldg_rep_run_at(const ldg_rep *r, int64_t byte, int64_t *k, int64_t *start) {
  if (byte < 0 || byte >= r->size) return LADING_ERR_RANGE;
  place p = { r, byte, 0 };
  while (p.r->runs > 1) {
    int rc = step_to_byte(&p);
    if (rc) return rc;
  }
  int64_t from;
  int rc = ldg_rep_run_start(r, p.k, &from);
  if (rc) return rc;
  *k = p.k;
  *start = from;
  return LADING_OK;
}
