/* cost: what a nest is, seen from the caches, and what the model says of that. Iterations may be 10^12 and strides anything, so
 * all arithmetic here is in doubles. */
#include "cost.h"

#define LINE 64
#define PAGE 4096

static double least(double a, double b) { return a < b ? a : b; }
static double most(double a, double b) { return a > b ? a : b; }
static double lines(double bytes) { return bytes < 0x1p60 ? (double)(((int64_t)bytes + LINE - 1) & -LINE) : bytes; }
static double size(double x) { return x < 0 ? -x : x; }
static double stride_of(const ldg_dim *d, int side) { return size((double)(side == LDG_MODEL_READ ? d->src : d->dst)); }

/* ---- footprints ---- */

/* Bytes of the lines touched on one side by the innermost loops, and what they span. */
typedef struct trace { double all, span; } trace;

/* One more loop. Iterations less than a line apart share lines, and no loop touches more than it spans. */
static inline trace go_round(trace t, double many, double stride) {
  const double span = t.span + (many - 1) * stride, all = t.all * (stride < LINE ? most(1, many * stride * (1.0 / LINE)) : many);
  return (trace){ least(all, lines(span)), span };
}

/* Of both sides, for 0, 1, ... nd loops. */
typedef struct traces { trace t[LDG_DIMS + 1][LDG_MODEL_SIDES]; } traces;
static void trace_nest(const ldg_nest *n, traces *x) {
  x->t[0][0] = x->t[0][1] = (trace){ lines((double)n->block), (double)n->block };
  for (int k = 0; k < n->nd; k++)
    for (int side = 0; side < LDG_MODEL_SIDES; side++)
      x->t[k + 1][side] = go_round(x->t[k][side], (double)n->dim[k].n, stride_of(&n->dim[k], side));
}
static double footprint(const traces *x, int nd) { return x->t[nd][0].all + x->t[nd][1].all; }

double ldg_cost_footprint(const ldg_nest *n) {
  traces x;
  trace_nest(n, &x);
  return footprint(&x, n->nd);
}

/* A stride of 2^k lines finds room in one of 2^k sets only, so its lines crowd the caches like 2^k times as many. 64 sets are a page
 * of lines: beyond, sets and pages go on alike. */
static double crowding(double stride) {
  if (stride < 2 * LINE || stride >= 0x1p60) return 1;
  const int64_t s = (int64_t)stride, power = s & -s;
  return power < 2 * LINE ? 1 : (double)ldg_min(power, PAGE) / LINE;
}

/* What a side feels like that crowds: not beyond the last cache, the sets of which are hashed, nor beyond what is spanned. */
static double crowded(const trace *t, double crowd) {
  return crowd > 1 ? least(t->all * crowd, least(lines(t->span), ldg_model_footprint(LDG_MODEL_L3))) : 0;
}

/* The product of all dims but p and q. */
static double around(const ldg_nest *n, int p, int q) {
  double all = 1;
  for (int i = 0; i < n->nd; i++)
    if (i != p && i != q) all *= (double)n->dim[i].n;
  return all;
}

/* ---- strided ---- */

static int class_of(double stride, int64_t block) {
  return stride - (double)block < LINE ? LDG_MODEL_NEAR : stride < PAGE / 2 ? LDG_MODEL_LINE : LDG_MODEL_PAGE;
}

/* The outer dim that comes back to the lines of the loops inside it, 0 for none. */
static int returning_dim(const ldg_nest *n, int side) {
  for (int k = 1; k < n->nd; k++)
    if (n->dim[k].n > 1 && stride_of(&n->dim[k], side) < LINE) return k;
  return 0;
}

/* One side of the blocks of a nest. */
typedef struct flank { int side, class; double crowd; } flank;

/* ns a block whose line was last seen when the `nd` innermost dims began. Far strides cost page walks, crowded sets misses. */
static double block_after(const ldg_nest *n, const flank *s, const traces *x, int nd) {
  const double far = ldg_model_block(s->side, s->class, n->block, footprint(x, nd)), felt = crowded(&x->t[nd][s->side], s->crowd);
  if (felt <= x->t[nd][s->side].all || felt <= ldg_model_footprint(LDG_MODEL_L1)) return far;
  return most(far, ldg_model_block(s->side, s->class, n->block, felt)); /* as far strides are: nothing is prefetched for them */
}

/* ns a block, for one side. Where lines are come back to, the first visit finds them as far as the whole nest reaches, the others
 * as far as what passed in between; pages are come back to by all of them. */
static double block_side(const ldg_nest *n, int side, const traces *x) {
  const double stride = stride_of(&n->dim[0], side);
  const flank s = { side, class_of(stride, n->block), crowding(stride) };
  const int k = s.class == LDG_MODEL_NEAR ? 0 : returning_dim(n, side);
  if (!k) return block_after(n, &s, x, n->nd);
  const double again = block_after(n, &s, x, k);
  const double first = most(again, ldg_model_block(side, LDG_MODEL_LINE, n->block, footprint(x, n->nd)));
  double share = most(stride_of(&n->dim[k], side), (double)n->block) * (1.0 / LINE);
  if (share * (double)n->dim[k].n < 1) share = 1 / (double)n->dim[k].n;
  return share >= 1 ? first : share * first + (1 - share) * again;
}

/* The side that is not dense binds; of two, the dearer. */
static double block_each(const ldg_nest *n) {
  const bool to = n->dim[0].dst == n->block, from = n->dim[0].src == n->block;
  traces x;
  trace_nest(n, &x);
  const double read = from && !to ? 0 : block_side(n, LDG_MODEL_READ, &x) + ldg_model_odd(LDG_MODEL_ODD_READ, n->block);
  const double write = to ? 0 : block_side(n, LDG_MODEL_WRITE, &x) + ldg_model_odd(LDG_MODEL_ODD_WRITE, n->block);
  return most(read, write);
}

double ldg_cost_memcpy(const ldg_nest *n) {
  const double bytes = (double)n->block * (double)n->dim[0].n;
  return ldg_model_copy(bytes < 0x1p62 ? (int64_t)bytes : (int64_t)1 << 62);
}

double ldg_cost_block(const ldg_nest *n) {
  const double call = ldg_model_ns(LDG_MODEL_CALL), rows = around(n, 0, 0);
  if (n->nd == 1 && n->dim[0].src == n->block && n->dim[0].dst == n->block) return call + ldg_cost_memcpy(n);
  return call + (n->nd > 1 ? rows * ldg_model_ns(LDG_MODEL_ROW) : 0) + rows * (double)n->dim[0].n * block_each(n);
}

/* How many squares of k elements a side of n takes, with halves and quarters of one, or without. The rest moves one by one. */
static int64_t squares_of(int64_t n, int64_t k, bool with_parts, int64_t *rest) {
  int64_t all = n / k;
  *rest = n % k;
  for (int64_t part = k / 2; with_parts && part > 0 && 4 * part >= k; part /= 2)
    if (*rest >= part) *rest -= part, all++;
  return all;
}

/* As ../../genkernels/transpose.inc goes: squares are of 16 bytes a side, rounded to a power of two; a matrix is narrow if its short side is no longer than a line, or four: then that one has
 * parts of squares, and single bytes on the other; else both have, of up to 4 bytes. What has no square is moved as blocks are. */
double ldg_cost_transpose(const ldg_nest *n, int p, int q) {
  const int64_t w = n->block, np = n->dim[p].n, nq = n->dim[q].n, less = ldg_min(np, nq), more = ldg_max(np, nq);
  const int up = w > 1 ? 64 - __builtin_clzll((uint64_t)w - 1) : 0; /* log2, rounded up */
  const int64_t line = (int64_t)1 << (up < 5 ? 6 - up : 2), k = (int64_t)1 << (up < 4 ? 4 - up : 0);
  int64_t less_left, more_left;
  const bool narrow = less <= line && less < more, parts = w <= (narrow ? 1 : 4);
  const double squares = (double)squares_of(less, k, narrow || parts, &less_left) * (double)squares_of(more, k, parts, &more_left);
  if (squares == 0) return 1.01 * ldg_cost_block(n);
  const double planes = around(n, p, q), f = ldg_cost_footprint(n), odd = ldg_model_odd(LDG_MODEL_ODD_TRANSPOSE, w);
  const double ragged = (double)less * (double)more - (double)(less - less_left) * (double)(more - more_left);
  const double each = ldg_model_transpose(w, f) + odd, one = most(each, ldg_model_block(LDG_MODEL_WRITE, LDG_MODEL_LINE, w, f) + odd);
  return ldg_model_ns(LDG_MODEL_CALL) + planes * (ldg_model_ns(LDG_MODEL_TILED) + squares * (double)(k * k) * each + ragged * one);
}

/* ---- windows ---- */

/* A memcpy that touches as many lines, less what it takes to enter it. What a list spans counts as touched. */
static double traffic(const ldg_nest *n) {
  ldg_nest all = *n;
  if (n->at) {
    all.block = n->span, all.nd = n->nd - 1;
    memmove(all.dim, all.dim + 1, (size_t)all.nd * sizeof all.dim[0]);
  }
  const double bytes = ldg_cost_footprint(&all) / 2;
  return ldg_model_copy(bytes < 0x1p62 ? (int64_t)bytes : (int64_t)1 << 62) - ldg_model_copy(1);
}

/* Windows, or the lines that they touch, whichever takes longer: what fits into a window shares lines, so those stream. Rows take
 * `more` windows than they have. */
static double windows_cost(const ldg_nest *n, int inside, int times, double window, double more) {
  double windows = 1, items = 1;
  for (int k = inside; k < n->nd; k++) {
    const double many = (double)n->dim[k].n;
    windows *= k > inside || many >= 0x1p62 ? many : (double)((int64_t)(many + times - 1) / times);
    items *= many;
  }
  const double rows = inside < n->nd ? items / (double)n->dim[inside].n : 1;
  return ldg_model_ns(LDG_MODEL_CALL) + (rows - 1) * ldg_model_ns(LDG_MODEL_ROW) +
         most((windows + rows * more) * window, traffic(n));
}

double ldg_cost_shuffle(const ldg_nest *n, int inside, int times) {
  return windows_cost(n, inside, times, ldg_model_shuffle(ldg_cost_footprint(n)), 0);
}
double ldg_cost_window(const ldg_nest *n, int inside, int times) {
  return windows_cost(n, inside, times, ldg_model_ns(LDG_MODEL_WINDOW), LDG_COST_WINDOWS_MORE);
}

/* ---- lists ---- */

#define PROBES 8

/* A few places of the list tell how it goes: the share of steps in each class of strides. */
typedef struct gait { double share[LDG_MODEL_STRIDES]; } gait;
static gait gait_of(const ldg_nest *n, int64_t block) {
  gait g = { { 0 } };
  const int64_t steps = n->dim[0].n - 1;
  if (steps < 1) return (gait){ { 1 } };
  for (int i = 0; i < PROBES; i++) {
    const int64_t k = (int64_t)((__int128)(steps - 1) * i / (PROBES - 1));
    g.share[class_of(size((double)n->at[k + 1] - (double)n->at[k]), block)] += 1.0 / PROBES;
  }
  return g;
}

static double list_of(const ldg_nest *n, double block) {
  const int side = n->list == LDG_LIST_SRC ? LDG_MODEL_READ : LDG_MODEL_WRITE;
  const int64_t b = ldg_max(1, (int64_t)block);
  const double many = (double)n->dim[0].n;
  const gait g = gait_of(n, b);
  const double f = least(many * lines(block), lines((double)n->span)) + many * block;
  double each = g.share[LDG_MODEL_PAGE] > 0 ? g.share[LDG_MODEL_PAGE] * ldg_model_list(side, b, f) : 0;
  for (int c = LDG_MODEL_NEAR; c < LDG_MODEL_PAGE; c++)
    if (g.share[c] > 0) each += g.share[c] * ldg_model_block(side, c, b, f);
  return ldg_model_ns(LDG_MODEL_CALL) + many * (each + ldg_model_odd(side, b));
}

double ldg_cost_list(const ldg_nest *n) { return list_of(n, (double)n->block); }

double ldg_cost_varlist(const ldg_nest *n) {
  const double many = (double)n->dim[0].n, bytes = (double)n->psum[n->dim[0].n] - (double)n->psum[0];
  return list_of(n, bytes / most(1, many)) + many * ldg_model_ns(LDG_MODEL_VARLIST);
}

/* ---- reductions ---- */

/* As rows of m elements are reduced, sums of doubles and floats, of which alone this was measured: four at a time, also single ones that go to a dense row, of 4 bytes twice as many; three as two and one; from so many bytes as are `called` of sums
 * on by a call for each row, shorter ones in two loops by one (16 rows of 256 bytes 72 ns, of 512 120, of 1 KiB 265; Zen 3). Other elements and ops take longer by blocks and through tiles. */
enum { AT_ONCE = 4, FLOAT = 4 };
static double called_of_sums(double size) { return size < FLOAT ? LDG_OP_CALLED : LDG_OP_CALLED_WIDE; }
static double reduced(double block, double size, bool dense) {
  const double m = block / size, four = ldg_model_ns(LDG_MODEL_REDUCED);
  if (block >= called_of_sums(size) && m > 1) return ldg_model_ns(LDG_MODEL_CALL) + 1.6 * ldg_model_copy(block < 0x1p62 ? (int64_t)block : (int64_t)1 << 62);
  if (m <= 1 && dense) return four * 0.43;
  if (m < AT_ONCE) return four * (m < 3 ? 0.65 : 1.6);
  return four * (double)(int64_t)((m + AT_ONCE - 1) / AT_ONCE) * (size == FLOAT && m > 2 * AT_ONCE ? 0.5 : 1);
}

/* What blocks take to be moved. Destinations that are not dense are read as well: that is over with the first access, but for lines that are come back to, which pay twice
 * each time (squares of 16 bytes, rows of 1 KiB, 2.3 ns each by blocks, of which a write is 0.5; Zen 4). */
static double fetched(const ldg_nest *n, double rows) {
  ldg_nest back = *n;
  if (n->at) return rows * (n->psum ? ldg_cost_varlist(n) : ldg_cost_list(n));
  if (n->dim[0].dst == n->block) return ldg_cost_block(n);
  for (int k = 0; k < n->nd; k++) back.dim[k].src = n->dim[k].dst, back.dim[k].dst = n->block; /* whatever it is beyond the innermost: it does not count */
  const double write = ldg_cost_block(n), read = ldg_cost_block(&back);
  return returning_dim(n, LDG_MODEL_WRITE) ? write + read : most(write, read);
}

/* That, or what elements take to be reduced, whichever is longer. */
double ldg_cost_reduce(const ldg_nest *n, int64_t size) {
  const double rows = around(n, 0, 0), many = (double)n->dim[0].n;
  const double block = n->psum ? ((double)n->psum[n->dim[0].n] - (double)n->psum[0]) / most(1, many) : (double)n->block;
  const bool is_run = !n->at && n->dim[0].src == n->block && n->dim[0].dst == n->block;
  const bool dense = !n->psum && n->dim[0].n >= (size == FLOAT ? 2 * AT_ONCE : AT_ONCE) && n->dim[0].dst == n->block && !(n->at && n->list == LDG_LIST_DST);
  const double row = is_run ? reduced(block * many, (double)size, dense) : many * reduced(block, (double)size, dense);
  const double calls = n->at || is_run || (block >= called_of_sums((double)size) && block > (double)size) ? rows : n->nd > 2 ? rows / (double)n->dim[1].n : 1; /* two dims of rows of few elements by one */
  return most(fetched(n, rows), calls * ldg_model_ns(LDG_MODEL_CALL) + rows * (ldg_model_ns(LDG_MODEL_ROW) + row));
}
