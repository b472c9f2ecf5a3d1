/* Cross-memory attach: process_vm_readv and process_vm_writev move lists of blocks between two address spaces in one call.
 *
 * What a call costs is the remote list: the kernel pins the pages of every remote block by themselves, whatever its length, while
 * local blocks are cheap. So a get of small blocks that lie close reads the bytes between them too ("covers" them) into scratch
 * memory, and lets the engine pick out what is wanted. A put must not: to write back bytes between blocks would undo what their
 * owner did meanwhile. Small local blocks are packed into scratch memory, or unpacked from it, rather than listed. */
#define _GNU_SOURCE /* process_vm_readv */
#include "direct.h"

#include <errno.h>

/* Measured on an AMD EPYC 9xx4 (virtual machine, Linux 6.18), the best of 200 calls of 1024 blocks of 8 B, 512 B .. 8 KiB apart and
 * anywhere in 140 MB: a remote block takes 360 to 560 ns (310 in pages just used; the same up to 256 B), a covered byte 0.13 to 0.18
 * ns, a call 1 to 2.5 us, a local block 7 to 20 ns. So a gap of 2.5 KB costs what a block does. Copies out of scratch memory, which
 * is in cache, by the tables of base_model: about 3 ns a block and 0.06 ns a byte. Only ratios matter, and only by what is lost at
 * the border. */
enum { CALL_NS = 1000, FAR_BLOCK_NS = 400, NEAR_BLOCK_NS = 12, MOVED_BLOCK_NS = 3, FAR_BYTE_PS = 160, MOVED_BYTE_PS = 60 };

enum { BATCH = 1024 };               /* blocks a call takes on either side: IOV_MAX */
enum { FIRST_BATCH = 64 };           /* after so many blocks a cover is tried again, then after twice as many */
enum { SCRATCH = 256 << 10 };        /* bytes; one call for them takes 50 times as long as an empty one */
#define CALL_BYTES ((int64_t)1 << 30) /* the kernel stops at 2 GiB less a page */

typedef struct transfer {
  int dir;
  pid_t pid;
  const ldg_side *far, *near;
  const ldg_plan *fp, *np;
  ldg_rep far_rep, near_rep;         /* all items */
  struct iovec *far_list, *near_list; /* BATCH each */
  char *scratch;                     /* NULL: there was no memory, so everything is listed */
  int64_t batch;
} transfer;

/* As many as everywhere: counting them could take memory for every entry of a list, and this only chooses the way. */
static int64_t runs_within(const ldg_rep *r, int64_t lo, int64_t hi) {
  return ldg_min(hi - lo, (int64_t)((__int128)(hi - lo) * r->runs / r->size) + 1);
}

/* Lists stream bytes from lo on: at most n of them in at most `max` blocks. How many bytes that are. */
static int64_t list(const ldg_rep *r, const char *base, int64_t lo, int64_t n, struct iovec *v, int64_t max, unsigned long *blocks) {
  ldg_cursor c;
  int64_t got = 0, k = 0, off, len, end = 0;
  ldg_cursor_seek(&c, r, lo);
  for (; got < n && ldg_cursor_piece(&c, &off, &len); got += len, end = off + len) {
    len = ldg_min(len, n - got);
    if (k && off == end) v[k - 1].iov_len += (size_t)len;
    else if (k < max) v[k++] = (struct iovec){ ldg_at(base, off), (size_t)len };
    else break;
    ldg_cursor_take(&c, len);
  }
  *blocks = (unsigned long)k;
  return got;
}

static int64_t call(const transfer *t, const struct iovec *near, unsigned long near_n, const struct iovec *far, unsigned long far_n) {
  if (t->dir == LDG_PUT) return process_vm_writev(t->pid, near, near_n, far, far_n, 0);
  return process_vm_readv(t->pid, near, near_n, far, far_n, 0);
}

/* ---- by lists ---- */

static bool near_blocks_are_small(const transfer *t, int64_t lo, int64_t hi) {
  const int64_t runs = runs_within(&t->near_rep, lo, hi);
  return t->scratch && runs > 1 && runs * (NEAR_BLOCK_NS - MOVED_BLOCK_NS) * 1000 > (hi - lo) * MOVED_BYTE_PS;
}

/* The local side is the packed stream, in scratch memory. */
static int64_t through_scratch(transfer *t, int64_t lo, int64_t n, unsigned long far_n) {
  const struct iovec near = { t->scratch, (size_t)n };
  if (t->dir == LDG_PUT) ldg_exec(t->np, t->near->count, LDG_PACK, t->near->base, t->scratch, lo, lo + n);
  const int64_t got = call(t, &near, 1, t->far_list, far_n);
  if (t->dir == LDG_GET && got > 0) ldg_exec(t->np, t->near->count, LDG_UNPACK, t->near->base, t->scratch, lo, lo + got);
  return got;
}

/* One call for at most `batch` remote blocks from stream byte lo on. The bytes moved, or -1 with errno. */
static int64_t by_lists(transfer *t, int64_t lo, int64_t hi) {
  unsigned long far_n, near_n;
  int64_t n = list(&t->far_rep, t->far->base, lo, ldg_min(hi - lo, CALL_BYTES), t->far_list, t->batch, &far_n);
  if (near_blocks_are_small(t, lo, lo + n)) {
    if (n > SCRATCH) n = list(&t->far_rep, t->far->base, lo, SCRATCH, t->far_list, t->batch, &far_n);
    return through_scratch(t, lo, n, far_n);
  }
  const int64_t fits = list(&t->near_rep, t->near->base, lo, n, t->near_list, BATCH, &near_n);
  if (fits < n) list(&t->far_rep, t->far->base, lo, fits, t->far_list, t->batch, &far_n);
  return call(t, t->near_list, near_n, t->far_list, far_n);
}

/* ---- by covering ---- */

typedef struct span { int64_t hi, from, to; } span; /* stream bytes up to hi are at remote offsets [from, to) */

/* The longest part of the stream, or nearly, from lo on whose hull fits into scratch memory. */
static span reach(const transfer *t, int64_t lo, int64_t hi) {
  span s = { .hi = ldg_min(hi, lo + SCRATCH) };
  for (;;) {
    ldg_rep_hull(&t->far_rep, lo, s.hi, &s.from, &s.to);
    const double over = ((double)s.to - (double)s.from) / SCRATCH; /* hulls may exceed 63 bits */
    if (over <= 1.0 || s.hi - lo <= 1) return s;
    s.hi = lo + ldg_max((int64_t)((double)(s.hi - lo) * 0.95 / over), 1);
  }
}

static bool cover_pays(const transfer *t, int64_t lo, const span *s) {
  const int64_t bytes = s->hi - lo, runs = runs_within(&t->far_rep, lo, s->hi);
  const int64_t covered = CALL_NS + (s->to - s->from) * FAR_BYTE_PS / 1000 + runs * MOVED_BLOCK_NS + bytes * MOVED_BYTE_PS / 1000;
  return covered < runs * FAR_BLOCK_NS + bytes * FAR_BYTE_PS / 1000;
}

/* False: not worth it, or not all of the span is there to be read; then lists have to say what is. */
static bool by_cover(transfer *t, int64_t lo, int64_t hi, int64_t *moved) {
  const span s = t->dir == LDG_GET && t->scratch && t->far_rep.runs > 1 ? reach(t, lo, hi) : (span){ 0, 0, 0 };
  if (!s.hi || !cover_pays(t, lo, &s)) return false;
  const struct iovec near = { t->scratch, (size_t)(s.to - s.from) }, far = { ldg_at(t->far->base, s.from), near.iov_len };
  if (call(t, &near, 1, &far, 1) != s.to - s.from) return false;
  ldg_side here = *t->far;
  here.base = ldg_at(t->scratch, -s.from);
  ldg_exec_move(t->fp, &here, t->np, t->near, lo, s.hi);
  *moved = s.hi - lo;
  return true;
}

/* ---- all of it ---- */

/* The next part of the stream; <= 0: errno says why not. */
static int64_t step(transfer *t, int64_t lo, int64_t hi) {
  int64_t n;
  if (by_cover(t, lo, hi, &n)) {
    t->batch = FIRST_BATCH;
    return n;
  }
  errno = EFAULT; /* should a call say nothing */
  n = by_lists(t, lo, hi);
  t->batch = ldg_min(2 * t->batch, BATCH);
  return n;
}

/* No block lies partly beyond either end of the address space. */
static bool within_space(const ldg_rep *r, uint64_t base, int64_t lo, int64_t hi) {
  int64_t from, to;
  ldg_rep_hull(r, lo, hi, &from, &to);
  const bool below = from < 0 && base < -(uint64_t)from, above = to > 0 && base > UINT64_MAX - (uint64_t)to;
  return !below && !above;
}

static int run(transfer *t, int64_t lo, int64_t hi, int64_t *done) {
  int64_t at = lo, n = 1;
  while (at < hi && n > 0) {
    n = step(t, at, hi);
    if (n > 0) at += n;
  }
  *done = at - lo;
  return at < hi ? LADING_ERR_SYSTEM : LADING_OK;
}

int ldg_direct_cma(int dir, pid_t pid, const ldg_side *far, const ldg_plan *fp, const ldg_side *near, const ldg_plan *np,
                   int64_t lo, int64_t hi, int64_t *done) {
  transfer t = { .dir = dir, .pid = pid, .far = far, .near = near, .fp = fp, .np = np, .batch = FIRST_BATCH };
  if (lo == hi) return LADING_OK;
  int e = ldg_rep_repeat_in(&t.far_rep, far->count, far->extent, far->rep);
  if (!e) e = ldg_rep_repeat_in(&t.near_rep, near->count, near->extent, near->rep);
  if (!e && !within_space(&t.far_rep, (uint64_t)(uintptr_t)far->base, lo, hi)) e = LADING_ERR_OVERFLOW;
  if (e) return e;
  t.far_list = ldg_alloc(2 * BATCH * (int64_t)sizeof *t.far_list);
  if (!t.far_list) return LADING_ERR_NOMEM;
  t.near_list = t.far_list + BATCH;
  t.scratch = t.far_rep.runs > 1 || t.near_rep.runs > 1 ? ldg_alloc(SCRATCH) : NULL;
  e = run(&t, lo, hi, done);
  const int why = errno;
  ldg_free(t.scratch);
  ldg_free(t.far_list);
  errno = why;
  return e;
}
