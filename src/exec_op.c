/* Reductions: nests through the kernels of an op, and the walk by elements, which is the definition. */
#include "exec_elements.h"
#include "exec_range.h"
#include "plan_pair.h"

/* ---- nests ---- */

static inline bool are_few(const ldg_op *op, int64_t block) { return block == op->size || block < op->called; }

/* The innermost dim: blocks of elements; where it is dense on both sides, one block. */
static inline void row(const ldg_op *op, const char *src, char *dst, int64_t n, int64_t block, int64_t ss, int64_t ds) {
  if (ss == block && ds == block) block *= n, n = 1;
  if (are_few(op, block)) op->strided(src, dst, n, ldg_op_elements(op, block), ss, ds);
  else for (const int64_t m = ldg_op_elements(op, block); n > 0; n--, src = ldg_at(src, ss), dst = ldg_at(dst, ds)) op->dense(src, dst, m);
}

/* n rounds of the last dim, each with all that is in it by turns: the two innermost dims, of rows that are few elements, or the innermost one. */
static __attribute__((noinline)) void deep(const ldg_op *op, const ldg_nest *nest, const ldg_op_planes *planes, const char *s, char *d, int64_t n) {
  const ldg_dim *x = nest->dim;
  const int last = nest->nd - 1, inner = planes ? 2 : 1;
  int64_t at[LDG_DIMS] = { 0 };
  while (at[last] < n) {
    if (planes) op->planes(s, d, planes);
    else row(op, s, d, x->n, nest->block, x->src, x->dst);
    for (int k = inner; k <= last; k++) {
      s = ldg_at(s, x[k].src), d = ldg_at(d, x[k].dst);
      if (++at[k] < x[k].n || k == last) break;
      s = ldg_at(s, -x[k].n * x[k].src), d = ldg_at(d, -x[k].n * x[k].dst), at[k] = 0;
    }
  }
}

static void strided(const ldg_op *op, const ldg_nest *nest, const char *s, char *d, int64_t n) {
  const ldg_dim *x = nest->dim;
  if (nest->nd == 1) { row(op, s, d, n, nest->block, x->src, x->dst); return; }
  if (!are_few(op, nest->block) || (x->src == nest->block && x->dst == nest->block)) { deep(op, nest, NULL, s, d, n); return; }
  const ldg_op_planes p = { x->n, ldg_op_elements(op, nest->block), x->src, x->dst, nest->nd == 2 ? n : x[1].n, x[1].src, x[1].dst };
  if (nest->nd == 2) op->planes(s, d, &p);
  else deep(op, nest, &p, s, d, n);
}

/* Blocks of one length, or of lengths of their own. */
static void listed(const ldg_op *op, const ldg_nest *nest, const char *s, char *d, int64_t i0, int64_t n) {
  const bool to_list = nest->list == LDG_LIST_DST;
  const int64_t *at = nest->at, *sum = nest->psum, stride = to_list ? nest->dim->src : nest->dim->dst;
  if (sum && are_few(op, (sum[i0 + n] - sum[i0]) / n)) {
    op->ragged(s, d, n, at + i0, sum + i0, to_list);
    return;
  }
  if (!sum && are_few(op, nest->block)) {
    op->listed(to_list ? ldg_at(s, i0 * stride) : s, to_list ? d : ldg_at(d, i0 * stride), n, ldg_op_elements(op, nest->block), at + i0, stride, to_list);
    return;
  }
  for (int64_t i = i0; i < i0 + n; i++) {
    const int64_t len = sum ? sum[i + 1] - sum[i] : nest->block, line = sum ? sum[i] : i * stride;
    op->dense(ldg_at(s, to_list ? line : at[i]), ldg_at(d, to_list ? at[i] : line), ldg_op_elements(op, len));
  }
}

/* n iterations of a loop around a short list, entry by entry, so many at a time that their lines stay in the first cache. */
enum { SHORT_LIST = 64, LOOPED_LEAST = 16, LOOPED_SPAN = 8 << 10 };
static bool is_by_entries(const ldg_nest *nest, int64_t n) { return !nest->ordered && !nest->psum && n >= LOOPED_LEAST && nest->dim[0].n <= SHORT_LIST; }
static void by_entries(const ldg_op *op, const ldg_nest *nest, const char *s, char *d, int64_t n) {
  const ldg_dim *x = &nest->dim[1];
  const bool to_list = nest->list == LDG_LIST_DST;
  const int64_t stride = to_list ? nest->dim->src : nest->dim->dst, far = to_list ? x->dst : x->src, most = ldg_max(LOOPED_LEAST, LOOPED_SPAN / (far < 0 ? -far : far + 1));
  for (int64_t k; n > 0; n -= k, s = ldg_at(s, k * x->src), d = ldg_at(d, k * x->dst)) {
    k = ldg_min(n, most);
    for (int64_t i = 0; i < nest->dim[0].n; i++)
      row(op, ldg_at(s, to_list ? i * stride : nest->at[i]), ldg_at(d, to_list ? nest->at[i] : i * stride), k, nest->block, x->src, x->dst);
  }
}

/* n iterations of dim k, inside of which is a list. */
static void looped(const ldg_op *op, const ldg_nest *nest, int k, const char *s, char *d, int64_t n) {
  if (k == 1 && is_by_entries(nest, n)) { by_entries(op, nest, s, d, n); return; }
  for (const ldg_dim *x = &nest->dim[k]; n > 0; n--, s = ldg_at(s, x->src), d = ldg_at(d, x->dst)) {
    if (k == 1) listed(op, nest, s, d, 0, nest->dim[0].n);
    else looped(op, nest, k - 1, s, d, nest->dim[k - 1].n);
  }
}

int ldg_exec_nest_op(const ldg_op *op, const ldg_nest *nest, const char *src, char *dst, int64_t i0, int64_t n) {
  if (!nest->at) strided(op, nest, src, dst, n);
  else if (nest->nd == 1) listed(op, nest, src, dst, i0, n);
  else looped(op, nest, nest->nd - 1, src, dst, n);
  return LADING_OK;
}

void ldg_exec_op_row(const ldg_op *op, const char *src, char *dst, int64_t n, int64_t block, int64_t ss, int64_t ds) { row(op, src, dst, n, block, ss, ds); }

/* ---- the walk ---- */

const ldg_op *ldg_exec_op_of(const ldg_reduction *r) {
  return r->sig.n && r->sig.node->kind >= 0 ? ldg_plan_op(r->op, (lading_elem)r->sig.node->kind) : NULL;
}

ldg_reduce ldg_exec_how(const ldg_reduction *r) {
  return ldg_exec_op_of(r) ? ldg_pair_reduce(r->op, (lading_elem)r->sig.node->kind) : (ldg_reduce){ .size = 1 };
}

void ldg_exec_op_kernel(const ldg_items *src, const ldg_items *dst, const ldg_reduction *r, int64_t lo, int64_t hi, int64_t *from, int64_t *to) {
  *from = *to = hi;
  if (!ldg_pair_may(hi - lo)) return;
  const ldg_reduce how = ldg_exec_how(r);
  if (how.how) ldg_pair_run(src, dst, &how, lo, hi, from, to);
}

static void reduce_split(const ldg_op *op, ldg_strand *src, ldg_strand *dst) {
  char a[LDG_ELEMENT_MAX], b[LDG_ELEMENT_MAX];
  ldg_scattered from, to;
  ldg_strand_gather(src, op->size, &from), ldg_strand_gather(dst, op->size, &to);
  ldg_scattered_read(&from, a), ldg_scattered_read(&to, b);
  op->dense(a, b, 1);
  ldg_scattered_write(&to, b);
}

/* At least one element of the next n; how many. */
static int64_t reduce_some(const ldg_op *op, ldg_strand *src, ldg_strand *dst, int64_t n) {
  char *s, *d;
  n = ldg_strand_whole(src, op->size, n, &s);
  if (n) n = ldg_strand_whole(dst, op->size, n, &d);
  if (n == 0) {
    reduce_split(op, src, dst);
    return 1;
  }
  op->dense(s, d, n);
  ldg_cursor_take(&src->c, n * op->size), ldg_cursor_take(&dst->c, n * op->size);
  return n;
}

void ldg_exec_op_walk(const ldg_reduction *r, const ldg_side *src, const ldg_side *dst, int64_t lo, int64_t hi) {
  ldg_rep sr, dr;
  ldg_strand s, d;
  ldg_elements e;
  if (lo == hi) return;
  ldg_strand_open(&s, src, &sr, lo), ldg_strand_open(&d, dst, &dr, lo);
  ldg_elements_seek(&e, r->sig, LDG_PACKED, lo, NULL);
  while (lo < hi) {
    const ldg_op *op = ldg_plan_op(r->op, e.kind);
    const int64_t n = reduce_some(op, &s, &d, ldg_min(e.n, ldg_op_elements(op, hi - lo)));
    lo += n * op->size;
    ldg_elements_take(&e, n);
  }
}

/* ---- items of several kinds ---- */

#define TILE_BYTES (16 << 10) /* packed bytes of items that stay in the first-level cache while all their runs pass over them */
#define TILE_LEAST 16

/* Every run of an item, over n items from these places on; with n == 0 it only looks. False: some element is split. */
static bool reduce_items(const ldg_plan *p, int dir, const ldg_reduction *r, const char *mem, char *packed, int64_t n) {
  const ldg_side item = { p->layout->rep, 1, 0, mem };
  const int64_t ss = dir == LDG_PACK ? p->extent : p->size, ds = dir == LDG_PACK ? p->size : p->extent;
  ldg_rep rep;
  ldg_strand s;
  ldg_elements e;
  ldg_strand_open(&s, &item, &rep, 0);
  ldg_elements_seek(&e, r->sig, LDG_PACKED, 0, NULL);
  for (int64_t pos = 0, bytes; pos < p->size; pos += bytes) {
    const ldg_op *op = ldg_plan_op(r->op, e.kind);
    char *at, *line = ldg_at(packed, pos);
    const int64_t k = ldg_strand_whole(&s, op->size, ldg_min(e.n, (p->size - pos) / op->size), &at);
    if (k == 0) return false;
    bytes = k * op->size;
    if (n) row(op, dir == LDG_PACK ? at : line, dir == LDG_PACK ? line : at, n, bytes, ss, ds);
    ldg_cursor_take(&s.c, bytes), ldg_elements_take(&e, k);
  }
  return true;
}

/* By tiles, unless the order counts. */
static void rest(const ldg_plan *p, int64_t count, int dir, const ldg_reduction *r, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  const ldg_items items = { p, count, mem }, bytes = { NULL, 0, packed };
  if (lo == hi) return;
  if (dir == LDG_PACK || ldg_plan_is_distinct(p, count)) {
    ldg_exec_op_tiles(dir == LDG_PACK ? &items : &bytes, dir == LDG_PACK ? &bytes : &items, r, lo, hi);
    return;
  }
  const ldg_rep stream = LDG_REP_BYTES(hi);
  const ldg_side side = { p->layout->rep, count, p->extent, mem }, line = { &stream, 1, hi, packed };
  ldg_exec_op_walk(r, dir == LDG_PACK ? &side : &line, dir == LDG_PACK ? &line : &side, lo, hi);
}

/* Items that coincide in memory are reduced in turn, hence walked; of many others every run of an item is a loop over them, if all begin with the same element: items of bytes alone, which take
 * the elements of the other side, need not. */
void ldg_exec_op_items(const ldg_plan *p, int64_t count, int dir, const ldg_reduction *r, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  const int64_t i0 = lo / p->size + (lo % p->size != 0), i1 = hi / p->size, tile = ldg_max(TILE_LEAST, TILE_BYTES / p->size);
  const bool many = i1 - i0 >= TILE_LEAST && p->size % r->sig.node->size == 0 && (dir == LDG_PACK || ldg_plan_is_distinct(p, count)) && reduce_items(p, dir, r, NULL, NULL, 0);
  if (!many) {
    rest(p, count, dir, r, mem, packed, lo, hi);
    return;
  }
  rest(p, count, dir, r, mem, packed, lo, i0 * p->size);
  for (int64_t i = i0; i < i1; i += tile)
    reduce_items(p, dir, r, ldg_at(mem, i * p->extent), ldg_at(packed, i * p->size), ldg_min(tile, i1 - i));
  rest(p, count, dir, r, mem, packed, i1 * p->size, hi);
}
