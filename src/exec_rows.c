/* Two layouts zipped: where both have blocks of one length, row by row, by a kernel or a loop of that width; else piece by piece. All
 * in stream order, so that of bytes that coincide in the destination the last stays. */
#include "exec.h"
#include "exec_range.h"

enum { PLANNED_MIN = 64 };  /* blocks: planning a nest takes up to 200 ns */
enum { SPLIT_MIN = 4 };     /* short blocks in a long one, from which on it is a row of them */

/* A place in a row: what is left of piece i. */
typedef struct spot { int64_t i, off, len; } spot;
/* One side: a row of the cursor's, and how far it was taken. No bytes are left only at the end. */
typedef struct feed { ldg_cursor c; ldg_cursor_row row; spot at; const char *base; } feed;

static inline spot piece(const ldg_cursor_row *r, int64_t i) {
  return (spot){ i, ldg_rep_move(r->base, r->at ? r->at[i] : i * r->stride), r->psum ? r->psum[i + 1] - r->psum[i] : r->len };
}

static inline spot next_in_row(const ldg_cursor_row *r, spot s) {
  do s = s.i + 1 < r->n ? piece(r, s.i + 1) : (spot){ r->n, 0, 0 };
  while (!s.len && s.i < r->n);
  return s;
}

static void next_row(feed *f) {
  f->at.len = 0;
  if (ldg_cursor_row_take(&f->c, &f->row)) f->at = piece(&f->row, 0);
}

static inline spot take(const ldg_cursor_row *r, spot s, int64_t n) {
  s.off = ldg_rep_move(s.off, n), s.len -= n;
  return s.len ? s : next_in_row(r, s);
}

/* ---- rows of blocks of one length: listed or strided on either side ---- */

typedef struct place { const char *base; const int64_t *at; int64_t stride, span; } place;

/* The loops for one length; the offsets are on neither, one or both sides. */
#define LOOPS(NAME, BYTES)                                                                                            \
  static void NAME(const place *from, const place *to, int64_t n, int64_t len) {                                      \
    const char *s = from->base;                                                                                       \
    char *d = (char *)(uintptr_t)to->base;                                                                            \
    const int64_t *sat = from->at, *dat = to->at, ss = from->stride, ds = to->stride;                                 \
    (void)len;                                                                                                        \
    if (sat && dat) {                                                                                                 \
      LDG_UNROLL_BY(4)                                                                                                \
      for (int64_t i = 0; i < n; i++) memcpy(ldg_at(d, dat[i]), ldg_at(s, sat[i]), (size_t)(BYTES));                  \
    }                                                                                                                 \
    else if (sat) for (int64_t i = 0; i < n; i++, d = ldg_at(d, ds)) memcpy(d, ldg_at(s, sat[i]), (size_t)(BYTES));   \
    else if (dat) for (int64_t i = 0; i < n; i++, s = ldg_at(s, ss)) memcpy(ldg_at(d, dat[i]), s, (size_t)(BYTES));   \
    else for (int64_t i = 0; i < n; i++, s = ldg_at(s, ss), d = ldg_at(d, ds)) memcpy(d, s, (size_t)(BYTES));         \
  }
#define LOOPS_OF(BYTES) LOOPS(loop##BYTES, BYTES)
LDG_EXEC_WIDTHS(LOOPS_OF)
LOOPS(loop_any, len)

static void by_loop(const place *from, const place *to, int64_t n, int64_t len) {
#define CASE(BYTES) case BYTES: loop##BYTES(from, to, n, len); return;
  switch (len) {
    LDG_EXEC_WIDTHS(CASE)
  default: loop_any(from, to, n, len);
  }
#undef CASE
}

typedef struct kernel { ldg_job job; int64_t len, ss, ds; } kernel; /* len 0: none yet */

/* Destinations may coincide where they are listed, or strided by less than a block. */
static void plan(kernel *k, const place *from, const place *to, int64_t n, int64_t len) {
  ldg_nest nest = { .block = len, .nd = 1, .dim = { { n, from->stride, to->stride } }, .at = from->at ? from->at : to->at,
                    .span = from->at ? from->span : to->span, .list = from->at ? LDG_LIST_SRC : LDG_LIST_DST };
  nest.ordered = to->at || (to->stride < len && to->stride > -len);
  ldg_plan_once(&k->job, &nest);
  k->len = from->at || to->at ? 0 : len, k->ss = from->stride, k->ds = to->stride;
}

/* Rows after the first one often have the same strides. */
static void move_row(kernel *k, const place *from, const place *to, int64_t n, int64_t len) {
  const bool again = k->len == len && !from->at && !to->at && k->ss == from->stride && k->ds == to->stride;
  if (!again && (n < PLANNED_MIN || (from->at && to->at))) {
    by_loop(from, to, n, len);
    return;
  }
  if (!again) plan(k, from, to, n, len);
  k->job.run(&k->job, from->base, (char *)(uintptr_t)to->base, 0, n);
}

/* Blocks of `len` bytes at hand: those of the row, or what the next piece is made of. */
static int64_t blocks(const feed *f, int64_t len, place *p) {
  const ldg_cursor_row *r = &f->row;
  const bool whole = !r->psum && r->len == len && f->at.len == len;
  *p = (place){ ldg_at(f->base, f->at.off), NULL, whole ? r->stride : len, 0 };
  if (whole && r->at) *p = (place){ ldg_at(f->base, r->base), r->at + f->at.i, 0, r->span };
  return whole ? r->n - f->at.i : f->at.len / len;
}

static void take_blocks(feed *f, int64_t n, int64_t len) {
  const bool whole = !f->row.psum && f->row.len == len;
  if (whole) f->at.i += n - 1, f->at.len = len;
  f->at = take(&f->row, f->at, whole ? len : n * len);
}

/* Are blocks of the length of the shorter piece at hand on both sides, a few of them? */
static inline bool alike(const spot *a, const spot *b) {
  return a->len == b->len || a->len / SPLIT_MIN >= b->len || b->len / SPLIT_MIN >= a->len;
}

/* A row of at most `left` bytes, if there is one on both sides; how many it was. */
static int64_t zip_row(kernel *k, feed *a, feed *b, int64_t left) {
  const int64_t len = ldg_min(a->at.len, b->at.len);
  place from, to;
  if (!alike(&a->at, &b->at)) return 0;
  int64_t n = ldg_min(blocks(a, len, &from), blocks(b, len, &to));
  n = ldg_min(n, left / len);
  if (n < SPLIT_MIN) return 0;
  move_row(k, &from, &to, n, len);
  take_blocks(a, n, len), take_blocks(b, n, len);
  return n * len;
}

/* ---- pieces ---- */

static bool is_strided(const feed *f) { return !f->row.at && !f->row.psum; }
static int64_t left_in_row(const feed *f) { return f->at.len + (f->row.n - 1 - f->at.i) * f->row.len; }

static void take_bytes(feed *f, int64_t n) {
  const int64_t at = f->row.n * f->row.len - left_in_row(f) + n, i = at / f->row.len;
  if (i == f->row.n) f->at = (spot){ i, 0, 0 };
  else f->at = take(&f->row, piece(&f->row, i), at - i * f->row.len);
}

/* Short ones by two loads and two stores that may overlap. */
static inline void move_piece(char *d, const char *s, int64_t n) {
  typedef struct half { char byte[16]; } half;
  if (n >= 16 && n <= 32) {
    half x, y;
    memcpy(&x, s, 16), memcpy(&y, s + n - 16, 16);
    memcpy(d, &x, 16), memcpy(d + n - 16, &y, 16);
  } else if (n >= 8 && n < 16) {
    uint64_t x, y;
    memcpy(&x, s, 8), memcpy(&y, s + n - 8, 8);
    memcpy(d, &x, 8), memcpy(d + n - 8, &y, 8);
  } else {
    memcpy(d, s, (size_t)n);
  }
}

/* Pieces of two strided rows, until one ends: a loop that keeps in registers what it needs, and asks nothing about lists. */
static int64_t zip_strided(feed *a, feed *b, int64_t left) {
  const int64_t done = ldg_min(left, ldg_min(left_in_row(a), left_in_row(b)));
  const int64_t slen = a->row.len, dlen = b->row.len, sgap = a->row.stride - slen, dgap = b->row.stride - dlen;
  const char *s = ldg_at(a->base, a->at.off);
  char *d = ldg_at((char *)(uintptr_t)b->base, b->at.off);
  int64_t x = a->at.len, y = b->at.len;
  for (int64_t todo = done, n; todo > 0; todo -= n) {
    n = ldg_min(todo, ldg_min(x, y));
    move_piece(d, s, n);
    s = ldg_at(s, n), d = ldg_at(d, n), x -= n, y -= n;
    if (!x) s = ldg_at(s, sgap), x = slen;
    if (!y) d = ldg_at(d, dgap), y = dlen;
  }
  take_bytes(a, done), take_bytes(b, done);
  return done;
}

/* Pieces, until a row ends or whole ones of one length meet. */
static int64_t zip_pieces(feed *a, feed *b, int64_t left) {
  const char *src = a->base;
  char *dst = (char *)(uintptr_t)b->base;
  spot x = a->at, y = b->at;
  int64_t done = 0;
  if (is_strided(a) && is_strided(b)) return zip_strided(a, b, left);
  do {
    const int64_t n = ldg_min(left - done, ldg_min(x.len, y.len));
    move_piece(ldg_at(dst, y.off), ldg_at(src, x.off), n);
    x = take(&a->row, x, n), y = take(&b->row, y, n);
    done += n;
  } while (done < left && x.len && y.len && (x.len != y.len || x.len != a->row.len || y.len != b->row.len));
  a->at = x, b->at = y;
  return done;
}

/* ---- two lists ---- */

bool ldg_exec_is_list(const ldg_rep *r) {
  return r->kind == LDG_BLOCKS && r->psum && r->child->runs == 1 && (!r->cnt || r->stride == r->child->size);
}

/* How many entries of both lists end at the same bytes, up to n; compared by the C library as far as they do. */
static int64_t alike_entries(const int64_t *a, const int64_t *b, int64_t n) {
  enum { MANY = 32 };
  int64_t k = 0;
  while (k + MANY <= n && !memcmp(a + k, b + k, MANY * sizeof *a)) k += MANY;
  while (k < n && a[k] == b[k]) k++;
  return k;
}

int64_t ldg_exec_zip_alike(const ldg_rep *sr, const char *src, const ldg_rep *dr, const char *dst, int64_t lo, int64_t hi) {
  const int64_t i = ldg_rep_find(sr->psum, sr->n, lo), j = ldg_rep_find(dr->psum, dr->n, lo);
  if (sr->psum[i] != lo || dr->psum[j] != lo) return lo;
  const int64_t last = hi == sr->psum[sr->n] ? sr->n : ldg_rep_find(sr->psum, sr->n, hi); /* of the entries that end by hi */
  const int64_t n = alike_entries(sr->psum + i + 1, dr->psum + j + 1, ldg_min(last - i, dr->n - j));
  if (n < PLANNED_MIN) return lo;
  ldg_nest nest = { .block = 1, .nd = 1, .dim = { { n, 0, 0 } }, .at = sr->at + i, .psum = sr->psum + i, .at2 = dr->at + j,
                    .span = sr->hi - sr->lo, .ordered = true };
  ldg_job job;
  ldg_plan_once(&job, &nest);
  job.run(&job, ldg_at(src, sr->child->first), ldg_at((char *)(uintptr_t)dst, dr->child->first), 0, n);
  return sr->psum[i + n];
}

static void open_feed(feed *f, const ldg_rep *r, const char *base, int64_t lo) {
  f->base = base;
  ldg_cursor_seek(&f->c, r, lo);
  next_row(f);
}

void ldg_exec_zip(const ldg_rep *sr, const char *src, const ldg_rep *dr, const char *dst, int64_t lo, int64_t hi) {
  kernel k = { .len = 0 };
  feed a, b;
  open_feed(&a, sr, src, lo), open_feed(&b, dr, dst, lo);
  for (int64_t left = hi - lo, n; left > 0 && a.at.len && b.at.len; left -= n) {
    n = zip_row(&k, &a, &b, left);
    if (!n) n = zip_pieces(&a, &b, left);
    if (!a.at.len) next_row(&a);
    if (!b.at.len) next_row(&b);
  }
}
