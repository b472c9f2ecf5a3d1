/* Windows of up to 64 bytes on both sides: which bytes of one become which of the other. The body of a window is a list, or the inner
 * dims of a nest as far as they fit; then as many iterations of the next dim as fit, if each comes behind the
 * one before on both sides or, under masks, before it. */
#include "shuffle.h"

#include "base_model.h"
#include "cost.h"
#include <limits.h>

#define WINDOW 64
enum { LINE = 64 };
#define BACK_MIN 5 /* iterations of a window: of 4 and 2 blocks of 8 to 24 bytes backwards lost a tenth to a third, of 5 and more they gained that or more */

typedef struct field { int64_t at[2], len; } field; /* [0] source, [1] destination */
typedef struct reach { int64_t lo[2], hi[2], bytes; } reach;
typedef struct body { int window, n, inside; bool masked; reach all; field f[WINDOW]; } body; /* at most `window` bytes */

static int64_t span_of(const body *b, int side) { return b->all.hi[side] - b->all.lo[side]; }
static bool fits(const body *b) { return span_of(b, 0) <= b->window && span_of(b, 1) <= b->window; }

static bool add(body *b, int64_t src, int64_t dst, int64_t len) {
  const field f = { { src, dst }, len };
  if (len == 0) return true; /* where it would be may be far from the message */
  if (b->n == b->window || len > b->window) return false;
  for (int side = 0; side < 2; side++) {
    b->all.lo[side] = b->n ? ldg_min(b->all.lo[side], f.at[side]) : f.at[side];
    b->all.hi[side] = b->n ? ldg_max(b->all.hi[side], f.at[side] + len) : f.at[side] + len;
  }
  b->f[b->n++] = f, b->all.bytes += len;
  return fits(b);
}

static bool listed_body(const ldg_nest *n, body *b) {
  const bool from = n->list == LDG_LIST_SRC;
  const int64_t step = from ? n->dim[0].dst : n->dim[0].src;
  for (int64_t i = 0; i < n->dim[0].n; i++) {
    const int64_t other = n->psum ? n->psum[i] : i * step, len = n->psum ? n->psum[i + 1] - n->psum[i] : n->block;
    if (!add(b, from ? n->at[i] : other, from ? other : n->at[i], len)) return false;
  }
  b->inside = 1;
  return true;
}

/* All iterations of one more dim, or none. */
static bool absorb(body *b, const ldg_dim *d) {
  const int n = b->n, w = b->window;
  const reach was = b->all;
  if (d->n > w / n || d->src > w || d->src < -w || d->dst > w || d->dst < -w) return false;
  for (int64_t i = 1; i < d->n; i++)
    for (int k = 0; k < n; k++)
      if (!add(b, b->f[k].at[0] + i * d->src, b->f[k].at[1] + i * d->dst, b->f[k].len)) {
        b->n = n, b->all = was;
        return false;
      }
  return true;
}

/* The outermost dim stays a loop: how often it runs is the caller's. */
static bool strided_body(const ldg_nest *n, body *b) {
  if (!add(b, 0, 0, n->block)) return false;
  while (b->inside + 1 < n->nd && absorb(b, &n->dim[b->inside])) b->inside++;
  return true;
}

/* Iterations of the dim around the body that one window holds, when each comes after the one before on both sides; under masks also
 * before it, but few of those move faster one by one. */
static int64_t times_of(const body *b, const ldg_dim *d) {
  const int64_t stride[2] = { d->src, d->dst };
  const bool back = d->src < 0 || d->dst < 0;
  int64_t most = b->window;
  for (int side = 0; side < 2; side++) {
    if (stride[side] < -b->window || stride[side] > b->window) return 1;
    const int64_t span = span_of(b, side), far = b->masked && stride[side] < 0 ? -stride[side] : stride[side];
    if (far < span) return 1;
    most = ldg_min(most, (b->window - span) / far + 1);
  }
  return back && most < BACK_MIN ? 1 : most;
}

static bool in_lanes(const body *b, const ldg_dim *d, int lane) {
  int64_t bits = d ? d->src | d->dst : 0;
  for (int k = 0; k < b->n; k++) bits |= (b->f[k].at[0] - b->all.lo[0]) | (b->f[k].at[1] - b->all.lo[1]) | b->f[k].len;
  return (bits & (lane - 1)) == 0;
}

/* Up to 64 bits from a bit on. */
static uint64_t bits_at(int64_t at, int64_t n) { return (~UINT64_C(0) >> (64 - n)) << at; }
static void set_lanes(ldg_shuffle *w, int lane, int64_t src, int64_t dst, int64_t n) {
  w->load |= bits_at(src, n), w->store |= bits_at(dst, n);
  for (int64_t i = 0; lane == 1 && i < n; i++) w->lane[dst + i] = (unsigned char)(src + i);
  for (int64_t i = 0; lane == 4 && i < n; i++) memcpy(w->lane + 4 * (dst + i), &(int32_t){ (int32_t)(src + i) }, 4);
}

/* Which iteration stands at the start of a line is a division modulo a power of two: by a stride of 2^unit times something odd. */
static void settle_lines(ldg_shuffle *w, int64_t stride) {
  if (stride == 0) return;
  const uint64_t step = (uint64_t)(w->times * stride), unit = (uint64_t)__builtin_ctzll((uint64_t)stride), odd = (uint64_t)(stride >> unit);
  w->within = (unsigned char)(((step & -step) - 1) & 63), w->unit = (unsigned char)unit;
  w->inverse = (unsigned char)(odd * (2 - odd * odd)); /* odd is its own inverse modulo 8; this is right modulo 64 */
}

/* Windows that load 64 bytes, and store 64 to a dense destination, need iterations behind them that have, less than a page on, a byte of the message
 * behind what is read in vain, and overwrite what is stored too much. */
static void settle_room(ldg_shuffle *w, const body *b, const ldg_dim *d) {
  const int64_t masked = ldg_model_count(LDG_MODEL_MASKED);
  w->ahead = (unsigned char)ldg_min(masked, UCHAR_MAX);
  if (!masked || !d || d->src <= 0 || d->src > LDG_WINDOW_NEAR) return;
  const bool whole = d->dst == b->all.bytes && span_of(b, 1) == b->all.bytes;
  w->ahead = (unsigned char)(whole ? 0 : ldg_min(masked, UCHAR_MAX));
  w->room = (int32_t)(4 * w->times + WINDOW / (whole ? ldg_min(d->src, d->dst) : d->src));
}

/* Lines beyond the second cache are waited for, and what is moved under masks is foreseen nowhere (bench/README.md, "What is moved under masks"). */
static int64_t many_of(const ldg_nest *n) {
  const double many = 2 * ldg_model_footprint(LDG_MODEL_L2) * (double)n->dim[n->nd - 1].n / ldg_cost_footprint(n);
  return ldg_model_count(LDG_MODEL_MASKED) && many < 0x1p62 ? (int64_t)many : INT64_MAX;
}

/* Rows of the loop around the body that are so many lines on; where that has few of them, of the next loop around it, or what is asked for would not be what comes. */
enum { ROWS_LEAST = 4 }; /* times as far */
static int64_t ahead_on(const ldg_nest *n, int inside, int side) {
  const int64_t least = LINE * ldg_min(ldg_model_count(LDG_MODEL_MASKED), UCHAR_MAX);
  for (int k = inside + 1;; k++) {
    const int64_t stride = side ? n->dim[k].dst : n->dim[k].src, size = ldg_max(stride < 0 ? -stride : stride, 1);
    if (k == n->nd - 1 || (double)n->dim[k].n * (double)size >= (double)(ROWS_LEAST * least)) return (least + size - 1) / size * stride;
  }
}
static void settle_many(ldg_shuffle *w, const ldg_nest *n) {
  if (w->inside >= n->nd - 1) return;
  w->many = many_of(n);
  w->next = (ldg_dim){ 0, ahead_on(n, w->inside, 0), ahead_on(n, w->inside, 1) };
}

static void fill(ldg_shuffle *w, const body *b, const ldg_dim *d, int lane) {
  memset(w, 0, sizeof *w);
  w->times = d ? times_of(b, d) : 1, w->inside = b->inside;
  const int64_t last = w->times - 1, step[2] = { last ? d->src : 0, last ? d->dst : 0 };
  w->from = b->all.lo[0] + ldg_min(0, last * step[0]), w->to = b->all.lo[1] + ldg_min(0, last * step[1]);
  for (int64_t i = 0; i <= last; i++)
    for (int k = 0; k < b->n; k++)
      set_lanes(w, lane, (b->f[k].at[0] + i * step[0] - w->from) / lane, (b->f[k].at[1] + i * step[1] - w->to) / lane, b->f[k].len / lane);
  w->both = w->load | w->store << 32;
  settle_lines(w, step[1]), settle_room(w, b, d);
}

/* The body, and what says no to windows of any kind. *d: the dim around it, NULL where there is none. */
static const char *body_of(const ldg_nest *n, int window, bool masked, body *b, const ldg_dim **d) {
  b->window = window, b->masked = masked, b->n = b->inside = 0, b->all = (reach){ 0 };
  if (n->ordered) return "destination bytes may coincide, so stream order must be kept";
  if (n->block > window || (n->at && n->dim[0].n > window) || !(n->at ? listed_body(n, b) : strided_body(n, b))) return "more than this machine shuffles at once";
  *d = b->inside < n->nd ? &n->dim[b->inside] : NULL;
  return b->n == 0 ? "nothing in it" : NULL;
}

static const char one_block[] = "one block at a time, which needs no shuffle";
static bool is_one_block(const body *b, const ldg_dim *d) { return b->n == 1 && (!d || times_of(b, d) == 1); }

static const char *shuffled_body(const ldg_nest *n, int lane, body *b, const ldg_dim **d) {
  const char *why = body_of(n, WINDOW, true, b, d);
  if (why) return why;
  if (is_one_block(b, *d)) return one_block;
  return in_lanes(b, *d && times_of(b, *d) > 1 ? *d : NULL, lane) ? NULL : "not in lanes of 4 bytes, and this machine shuffles no single bytes";
}

/* One loop of windows end to end that are all bytes of the message, over more than the first cache holds (bench/README.md, "Lines asked for ahead"). */
bool ldg_shuffle_is_by_16(const ldg_nest *n, int lane, const ldg_shuffle *w) {
  const uint64_t full = ~UINT64_C(0) >> (64 - WINDOW / lane);
  if (!ldg_model_count(LDG_MODEL_TOUCHED) || w->inside != n->nd - 1 || w->load != full || w->store != full) return false;
  const ldg_dim *d = &n->dim[n->nd - 1];
  for (int side = 0; side < 2; side++)
    if (ldg_max(side ? d->dst : d->src, side ? -d->dst : -d->src) * w->times != WINDOW) return false;
  return ldg_cost_footprint(n) > 2 * ldg_model_footprint(LDG_MODEL_L1);
}

const char *ldg_shuffle_of(const ldg_nest *n, int lane, ldg_shuffle *w) {
  body b;
  const ldg_dim *d;
  const char *why = shuffled_body(n, lane, &b, &d);
  if (!why) fill(w, &b, d, lane), settle_many(w, n);
  return why;
}

const char *ldg_shuffle_extent(const ldg_nest *n, int lane, int *inside, int *times) {
  body b;
  const ldg_dim *d;
  const char *why = shuffled_body(n, lane, &b, &d);
  if (!why) *inside = b.inside, *times = d ? (int)times_of(&b, d) : 1;
  return why;
}

/* ---- windows without masks ---- */

/* Two halves that overlap hold a span of one to two halves: where byte x of the span is in a register of them. */
static int64_t in_halves(int64_t x, int64_t span, int window) {
  const int64_t half = ldg_window_half(span, window);
  return x < half ? x : x - span + 2 * half;
}

/* Bytes of a window's destination are written from the first to the last, so each of them has to be one of the message. */
static void set_byte(ldg_window *w, int window, int64_t src, int64_t dst) {
  const int64_t span = w->span[1], half = ldg_window_half(span, window), exact = LDG_WINDOW_BASE + in_halves(src, w->span[0], window);
  w->fast[dst] = (unsigned char)(LDG_WINDOW_BASE + src);
  if (dst < half) w->exact[dst] = (unsigned char)exact;
  if (dst >= span - half) w->exact[dst - span + 2 * half] = (unsigned char)exact;
}

/* Fast windows load a whole register and store one, or half of one if that holds them. The iterations that follow overwrite what is too much, and have a byte of the message behind what is
 * read in vain: less than a page on, or kernels look where pages end. The least number of them, with the window's own. */
static int64_t room_of(const body *b, const ldg_dim *d, int64_t written) {
  if (!d || d->dst != b->all.bytes || d->src <= 0) return INT64_MAX;
  const int64_t stored = ldg_window_stored(written, b->window);
  const int64_t src = ldg_min(d->src, b->window), write = (stored - 1) / d->dst + 1, read = (b->window - span_of(b, 0) + src - 1) / src + 1;
  return ldg_max(write, read);
}

static void fill_window(ldg_window *w, const body *b, const ldg_dim *d) {
  memset(w, 0, sizeof *w);
  w->from = b->all.lo[0], w->to = b->all.lo[1], w->inside = b->inside;
  w->times = d ? (int)ldg_max(1, ldg_min(times_of(b, d), d->n)) : 1;
  for (int side = 0; side < 2; side++) w->span[side] = (int)(span_of(b, side) + (w->times - 1) * (d ? side ? d->dst : d->src : 0));
  w->room = room_of(b, d, w->span[1]);
  for (int64_t i = 0; i < w->times; i++)
    for (int k = 0; k < b->n; k++)
      for (int64_t at = 0; at < b->f[k].len; at++)
        set_byte(w, b->window, b->f[k].at[0] - b->all.lo[0] + at + (d ? i * d->src : 0), b->f[k].at[1] - b->all.lo[1] + at + (d ? i * d->dst : 0));
}

/* One block of three words or more, next to each other, is one store, where a window is a register of 16 bytes; half of one of 32 takes longer, or no less (bench/README.md, "Windows of one block"). */
static bool gains_stores(const body *b, const ldg_dim *d) {
  const int64_t n = b->all.bytes;
  return b->window == 16 && n > 8 && n < 16 && __builtin_popcountll((uint64_t)n) > 2 && d && d->dst == n && d->src > 0 && d->src <= LDG_WINDOW_NEAR;
}

const char *ldg_window_of(const ldg_nest *n, int window, ldg_window *w) {
  ldg_window other;
  body b;
  const ldg_dim *d;
  const char *why = body_of(n, window, false, &b, &d);
  if (why) return why;
  if (is_one_block(&b, d) && !gains_stores(&b, d)) return one_block;
  w = w ? w : &other;
  if (span_of(&b, 1) != b.all.bytes) return "gaps in the destination, and this machine has no masks to leave them out";
  fill_window(w, &b, d);
  if (w->times > 1 && d->dst != b.all.bytes) return "gaps in the destination, and this machine has no masks to leave them out";
  return ldg_min(w->span[0], w->span[1]) < 4 ? "less than 4 bytes at a time" : NULL;
}
