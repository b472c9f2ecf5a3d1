/* Windows of 64 bytes on both sides: which bytes of one become which of the other. The body of a window is a list, or the inner
 * dims of a nest as far as they fit; then as many iterations of the next dim as fit, if they follow each other on both sides. */
#include "shuffle.h"

#define WINDOW 64

typedef struct field { int64_t at[2], len; } field; /* [0] source, [1] destination */
typedef struct body { int n, inside; int64_t lo[2], hi[2], bytes; field f[WINDOW]; } body;

static bool fits(const body *b) { return b->hi[0] - b->lo[0] <= WINDOW && b->hi[1] - b->lo[1] <= WINDOW; }

static bool add(body *b, int64_t src, int64_t dst, int64_t len) {
  const field f = { { src, dst }, len };
  if (b->n == WINDOW || len > WINDOW) return false;
  for (int side = 0; side < 2; side++) {
    b->lo[side] = b->n ? ldg_min(b->lo[side], f.at[side]) : f.at[side];
    b->hi[side] = b->n ? ldg_max(b->hi[side], f.at[side] + len) : f.at[side] + len;
  }
  b->f[b->n++] = f, b->bytes += len;
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
  const int n = b->n;
  if (d->n > WINDOW / n || d->src > WINDOW || d->src < -WINDOW || d->dst > WINDOW || d->dst < -WINDOW) return false;
  body more = *b;
  for (int64_t i = 1; i < d->n; i++)
    for (int k = 0; k < n; k++)
      if (!add(&more, b->f[k].at[0] + i * d->src, b->f[k].at[1] + i * d->dst, b->f[k].len)) return false;
  *b = more;
  return true;
}

/* The outermost dim stays a loop: how often it runs is the caller's. */
static bool strided_body(const ldg_nest *n, body *b) {
  if (!add(b, 0, 0, n->block)) return false;
  while (b->inside + 1 < n->nd && absorb(b, &n->dim[b->inside])) b->inside++;
  return true;
}

/* Iterations of the dim around the body that one window holds, when each comes after the one before on both sides. */
static int64_t times_of(const body *b, const ldg_dim *d) {
  const int64_t stride[2] = { d->src, d->dst };
  int64_t most = WINDOW;
  for (int side = 0; side < 2; side++) {
    const int64_t span = b->hi[side] - b->lo[side];
    if (stride[side] < span || stride[side] > WINDOW) return 1;
    most = ldg_min(most, (WINDOW - span) / stride[side] + 1);
  }
  return most;
}

static bool in_lanes(const body *b, const ldg_dim *d, int lane) {
  int64_t bits = d ? d->src | d->dst : 0;
  for (int k = 0; k < b->n; k++) bits |= (b->f[k].at[0] - b->lo[0]) | (b->f[k].at[1] - b->lo[1]) | b->f[k].len;
  return (bits & (lane - 1)) == 0;
}

static void set_lane(ldg_shuffle *w, int lane, int64_t src, int64_t dst) {
  if (lane == 1) w->lane[dst] = (unsigned char)src;
  else memcpy(w->lane + 4 * dst, &(int32_t){ (int32_t)src }, 4);
  w->load |= (uint64_t)1 << src, w->store |= (uint64_t)1 << dst;
}

static void fill(ldg_shuffle *w, const body *b, const ldg_dim *d, int lane) {
  memset(w, 0, sizeof *w);
  w->from = b->lo[0], w->to = b->lo[1], w->inside = b->inside;
  w->times = d ? times_of(b, d) : 1;
  for (int64_t i = 0; i < w->times; i++)
    for (int k = 0; k < b->n; k++)
      for (int64_t at = 0; at < b->f[k].len; at += lane) {
        const int64_t src = b->f[k].at[0] - b->lo[0] + (d ? i * d->src : 0) + at, dst = b->f[k].at[1] - b->lo[1] + (d ? i * d->dst : 0) + at;
        set_lane(w, lane, src / lane, dst / lane);
      }
}

const char *ldg_shuffle_of(const ldg_nest *n, int lane, ldg_shuffle *w) {
  body b;
  b.n = b.inside = 0, b.bytes = 0;
  if (n->ordered) return "destination bytes may coincide, so stream order must be kept";
  if (n->block > WINDOW || (n->at && n->dim[0].n > WINDOW)) return "more than fits into 64 bytes";
  if (!(n->at ? listed_body(n, &b) : strided_body(n, &b))) return "more than fits into 64 bytes";
  const ldg_dim *d = b.inside < n->nd ? &n->dim[b.inside] : NULL;
  if (b.n == 1 && (!d || times_of(&b, d) == 1)) return "one block at a time, which needs no shuffle";
  if (!in_lanes(&b, d && times_of(&b, d) > 1 ? d : NULL, lane)) return "not in lanes of 4 bytes, and this machine shuffles no single bytes";
  if (w) fill(w, &b, d, lane);
  return NULL;
}
