/* cut: which bytes are loaded, shuffled and stored together. */
#include "cut.h"

#define WINDOW 64
#define PAGE 4096

static int64_t bytes_of(const ldg_shape *s) {
  int64_t all = 0;
  for (int i = 0; i < s->n; i++) all += s->field[i].len;
  return all;
}

/* ---- plain moves ---- */

static int64_t narrower(const ldg_key *key, int64_t w) { return w > LDG_KEY_VECTOR || !ldg_key_chooses(key) ? w / 2 : key->shape.reduce.size; }

/* A tail of a move is as narrow as it can be, or else overlaps what is before it; what is reduced must not be so twice. */
static int plain_field(const ldg_key *key, const ldg_field *f, int64_t src, int64_t dst, ldg_cut *out) {
  int n = 0;
  const bool twice = !key->shape.reduce.how;
  int64_t w = ldg_key_width(key);
  while (w > f->len) w = narrower(key, w);
  for (int64_t at = 0; at < f->len; n++) {
    while (twice ? f->len - at <= w / 2 : f->len - at < w) w = narrower(key, w);
    at = ldg_min(at, f->len - w);
    if (out) out[n] = (ldg_cut){ .to = dst + f->dst + at, .from = { src + f->src + at, 0 }, .width = (int)w, .windows = 1 };
    at += w;
  }
  return n;
}

static int plain(const ldg_key *key, int64_t items, ldg_cut *out) {
  const ldg_shape *s = &key->shape;
  int n = 0;
  if (out && plain(key, items, NULL) < 0) return -1;
  for (int64_t i = 0; i < items; i++)
    for (int k = 0; k < s->n; k++) n += plain_field(key, &s->field[k], i * s->stride[0], i * s->stride[1], out ? out + n : NULL);
  return n <= LDG_CUTS ? n : -1;
}

/* ---- shuffles ---- */

/* What is moved, in the order of the destination; the hull of the source may be read where no gap in it is a page long, since
 * every page of it then has a byte that is read anyway. */
typedef struct pile { int n; ldg_field f[LDG_CUTS]; int64_t lo, hi; bool gaps; } pile;

static void by_dst(pile *p) {
  for (int i = 1; i < p->n; i++)
    for (int k = i; k > 0 && p->f[k].dst < p->f[k - 1].dst; k--) {
      const ldg_field t = p->f[k];
      p->f[k] = p->f[k - 1], p->f[k - 1] = t;
    }
}

/* Is there a field that begins before `at` and within a page of it, or at it? Else the bytes before `at` may not be there. */
static bool near_before(const pile *p, int64_t at) {
  for (int i = 0; i < p->n; i++)
    if (p->f[i].src < at && p->f[i].src + p->f[i].len > at - PAGE) return true;
  return at == p->lo;
}

static bool heap(const ldg_shape *s, int64_t items, pile *p) {
  if (items * s->n > LDG_CUTS) return false;
  p->n = 0, p->lo = INT64_MAX, p->hi = INT64_MIN, p->gaps = false;
  for (int64_t i = 0; i < items; i++)
    for (int k = 0; k < s->n; k++) {
      const ldg_field f = { s->field[k].src + i * s->stride[0], s->field[k].dst + i * s->stride[1], s->field[k].len };
      p->f[p->n++] = f, p->lo = ldg_min(p->lo, f.src), p->hi = ldg_max(p->hi, f.src + f.len);
    }
  for (int i = 0; i < p->n && !p->gaps; i++) p->gaps = !near_before(p, p->f[i].src);
  by_dst(p);
  return true;
}

static void open_window(const pile *p, ldg_cut *c, int64_t src) {
  const bool slides = !p->gaps && p->hi - p->lo >= WINDOW;
  c->from[c->windows++] = slides ? ldg_min(src, p->hi - WINDOW) : src;
  c->masked = !slides;
}

/* One lane more; false when it belongs into another cut. */
static bool take_lane(const pile *p, ldg_cut *c, int64_t src, int64_t dst, int lane) {
  int w = 0;
  if (dst - c->to > WINDOW - lane) return false;
  while (w < c->windows && (src < c->from[w] || src > c->from[w] + WINDOW - lane)) w++;
  if (w == 2) return false;
  if (w == c->windows) open_window(p, c, src);
  for (int b = 0; b < lane; b++) {
    const int64_t from = src + b - c->from[w], to = dst + b - c->to;
    c->lane[to] = (unsigned char)(WINDOW * w + from), c->load[w] |= (uint64_t)1 << from, c->store |= (uint64_t)1 << to;
  }
  return true;
}

/* One run that a plain move can do. */
static void simplify(ldg_cut *c) {
  int64_t n = __builtin_popcountll(c->store);
  if (c->windows != 1 || (n & (n - 1)) || (n < WINDOW && c->store != ((uint64_t)1 << n) - 1)) return;
  for (int64_t i = 0; i < n; i++)
    if (c->lane[i] != c->lane[0] + i) return;
  c->from[0] += c->lane[0], c->width = (int)n;
}

static bool in_lanes(const pile *p, int lane) {
  int64_t bits = 0;
  for (int i = 0; i < p->n; i++) bits |= p->f[i].src | p->f[i].dst | p->f[i].len;
  return (bits & (lane - 1)) == 0;
}

/* Windows slide to the end of the hull, so that is in lanes, too. */
static int shuffled(const ldg_key *key, int64_t items, ldg_cut *out) {
  pile p;
  ldg_cut c = { .width = -1 }; /* none yet */
  int n = 0;
  const int lane = key->level->lane;
  if (!lane || key->shape.reduce.how || !heap(&key->shape, items, &p) || !in_lanes(&p, lane)) return -1;
  for (int k = 0; k < p.n; k++)
    for (int64_t b = 0; b < p.f[k].len; b += lane) {
      if (c.width == 0 && take_lane(&p, &c, p.f[k].src + b, p.f[k].dst + b, lane)) continue;
      if (c.width == 0 && out) simplify(&c), out[n - 1] = c;
      if (n++ == LDG_CUTS) return -1;
      c = (ldg_cut){ .to = p.f[k].dst + b };
      take_lane(&p, &c, p.f[k].src + b, p.f[k].dst + b, lane);
    }
  if (out) simplify(&c), out[n - 1] = c;
  return n;
}

/* ---- shuffles of 16 bytes ---- */

#define SMALL 16 /* nothing is masked: what is stored is whole, and what is loaded is within the hull */

static bool take_byte(const pile *p, ldg_cut *c, int i, int64_t src) {
  int w = 0;
  while (w < c->windows && (src < c->from[w] || src >= c->from[w] + SMALL)) w++;
  if (w == LDG_CUT_WINDOWS) return false;
  if (w == c->windows) c->from[c->windows++] = ldg_min(src, p->hi - SMALL);
  c->lane[i] = (unsigned char)(WINDOW * w + src - c->from[w]);
  c->load[w] |= (uint64_t)1 << (src - c->from[w]), c->store |= (uint64_t)1 << i;
  return true;
}

/* From dst on, which is in the k-th field or behind it. */
static bool small_cut(const pile *p, int k, int64_t dst, ldg_cut *c) {
  *c = (ldg_cut){ .to = dst };
  for (int i = 0; i < SMALL; i++) {
    while (dst + i >= p->f[k].dst + p->f[k].len) k++;
    if (!take_byte(p, c, i, p->f[k].src + dst + i - p->f[k].dst)) return false;
  }
  simplify(c);
  return true;
}

/* A run of the destination, the k-th field to the one before `end`: its last window goes back to its end, one too short has none. -1:
 * not able. */
static int small_run(const ldg_key *key, const pile *p, int k, int end, ldg_cut *out) {
  const int64_t to = p->f[end - 1].dst + p->f[end - 1].len, last = to - SMALL;
  int n = 0;
  for (int i = k; last < p->f[k].dst && i < end; i++) n += plain_field(key, &p->f[i], 0, 0, out ? out + n : NULL);
  if (last < p->f[k].dst) return n;
  for (int64_t dst = p->f[k].dst; dst < to; dst += SMALL, n++) {
    ldg_cut c;
    if (n == LDG_CUTS || !small_cut(p, k, ldg_min(dst, last), &c)) return -1;
    if (out) out[n] = c;
  }
  return n;
}

/* It takes more than plain moves do where no run is long enough. */
static int small(const ldg_key *key, int64_t items, ldg_cut *out) {
  pile p;
  bool some = false;
  int n = 0;
  if (key->shape.reduce.how || !heap(&key->shape, items, &p) || p.gaps || p.hi - p.lo < SMALL) return -1;
  if (out && small(key, items, NULL) < 0) return -1;
  for (int k = 0, end; k < p.n; k = end) {
    for (end = k + 1; end < p.n && p.f[end].dst == p.f[end - 1].dst + p.f[end - 1].len;) end++;
    const int more = small_run(key, &p, k, end, out ? out + n : NULL);
    if (more < 0 || (n += more) > LDG_CUTS) return -1;
    some |= end > k + 1 && p.f[end - 1].dst + p.f[end - 1].len - p.f[k].dst >= SMALL;
  }
  return some ? n : -1;
}

/* ---- groups ---- */

int ldg_cut_group(const ldg_key *key, ldg_cut_way way, int64_t items, ldg_cut *out) {
  if (way == LDG_CUT_PLAIN) return plain(key, items, out);
  return key->level->window == SMALL ? small(key, items, out) : shuffled(key, items, out);
}

bool ldg_cut_able(const ldg_key *key, ldg_cut_way way) { return ldg_cut_group(key, way, ldg_cut_items(key, way), NULL) >= 0; }

#define TOGETHER 24 /* cuts: each has a register for its lanes, of 32 */

int64_t ldg_cut_items(const ldg_key *key, ldg_cut_way way) {
  const ldg_shape *s = &key->shape;
  int64_t best = 1;
  double least = ldg_cut_group(key, way, 1, NULL);
  if (way == LDG_CUT_PLAIN || !key->level->window || (!s->stride[0] && !s->stride[1])) return 1;
  if (least < 0) least = plain(key, 1, NULL);
  for (int64_t items = 2; items <= 64 && items * bytes_of(s) <= LDG_SHAPE_BYTES; items *= 2) {
    const int n = ldg_cut_group(key, way, items, NULL);
    if (n > TOGETHER) break;
    if (n >= 0 && n < 0.95 * least * (double)items) best = items, least = (double)n / (double)items;
  }
  return best;
}
