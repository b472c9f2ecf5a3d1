/* From a work to cargos. Best first: a run, one nest with its ragged ends, a long list around one, the places of small layouts, and what never refuses, the trees of both sides.
 * All of them in the order of the stream: a single thread that runs them keeps it. Where that matters a work goes in turns, most of which need none. */
#include "queue.h"

#include "nest_tree.h"

/* What is under way: the work, where it goes, and cargos so far. */
typedef struct shipment {
  const ldg_device *dev;
  ldg_lane *lane;
  const ldg_work *work;
  const ldg_op *op;            /* of all elements; NULL: a move */
  bool ordered, kept;          /* kept: for somebody else's launch */
  int n, room;
  ldg_cargo *cargo;
} shipment;

enum { PIECE_MAX = 8 /* bytes of a word that is a piece of an element */ };

static int32_t word_of(uint64_t bits, int64_t most) {
  const int32_t w = 1 << __builtin_ctzll(bits | LDG_WORD_MAX);
  return w < most ? w : (int32_t)most;
}

/* Of sums kernels know words of several elements, of other reductions of one. */
static int32_t widest(const shipment *s, uint64_t bits) {
  const bool one = s->op && s->work->reduction.op != LADING_SUM;
  return word_of(bits | (one ? (uint64_t)s->op->size : 0), LDG_WORD_MAX);
}
/* Bytes that words have to keep together: of a sum of complex numbers their parts, which are added by themselves. */
static int32_t least_of(const shipment *s) {
  const int kind = s->op ? s->work->reduction.sig.node->kind : 0;
  const bool by_parts = s->op && s->work->reduction.op == LADING_SUM && (kind == LADING_C_FLOAT || kind == LADING_C_DOUBLE);
  return !s->op ? 1 : (int32_t)s->op->size / (by_parts ? 2 : 1);
}
/* Words of so many bytes are whole elements. */
static bool is_whole(const shipment *s, int32_t word) { return word % least_of(s) == 0; }

static uint64_t bits_of(const void *p) { return (uint64_t)(uintptr_t)p; }

int ldg_queue_coincides(const ldg_work *w, bool *out) {
  const ldg_plan *p = w->plan[LDG_DST];
  const int64_t count = w->side[LDG_DST].count;
  ldg_rep_stats st = { .overlaps = false };
  const int e = p && p->layout->rep->runs > 1 ? ldg_layout_stats(p->layout, &st) : LADING_OK;
  *out = st.overlaps || (p && count > 1 && count > p->distinct);
  return e;
}

static const char *run_at(const ldg_side *s, int64_t lo) { return ldg_at(s->base, s->rep->first + lo); }

/* ---- the list of cargos ---- */

static int depart(shipment *s) {
  if (s->kept) return LADING_ERR_UNSUPPORTED;
  const int e = s->n ? s->dev->move(s->lane, s->cargo, s->n, s->ordered) : LADING_OK;
  s->n = 0;
  return e;
}

static int load(shipment *s, const ldg_cargo *c) {
  const bool full = s->n == s->room || (s->n && !s->kept && s->cargo[0].form != c->form);
  const int e = full ? depart(s) : LADING_OK;
  if (!e && c->lo < c->hi) s->cargo[s->n++] = *c;
  return e;
}

/* Its form is not filled in. */
static ldg_cargo blank(const shipment *s) {
  ldg_cargo c;
  memset(&c, 0, offsetof(ldg_cargo, as));
  c.op = s->op ? (int16_t)s->work->reduction.op : LADING_REPLACE, c.tile = LDG_TILE;
  c.elem = s->op ? (int16_t)s->work->reduction.sig.node->kind : 0;
  return c;
}

/* ---- nests ---- */

/* One more of a loop takes the place of `n` more of the one inside. Whoever counts in 32 bits comes to no second one of a longer loop. */
static ldg_cargo_dim digit(ldg_dim inner, ldg_dim outer, bool narrow) {
  const uint64_t n = (uint64_t)inner.n;
  return (ldg_cargo_dim){ ldg_queue_divisor(narrow ? ldg_min(inner.n, INT32_MAX) : inner.n, narrow),
                          (int64_t)((uint64_t)outer.src - n * (uint64_t)inner.src), (int64_t)((uint64_t)outer.dst - n * (uint64_t)inner.dst) };
}

/* Loops that run once have no digit. */
static void nest_digits(ldg_cargo *c, const ldg_nest *n, bool narrow) {
  ldg_dim inner = { n->block / c->unit, c->unit, c->unit };
  ldg_cargo_nest *to = &c->as.nest;
  c->nd = 0, to->src = to->dst = c->unit;
  for (int k = 0; k < n->nd; k++) {
    if (n->dim[k].n == 1) continue;
    if (inner.n > 1) to->dim[c->nd++] = digit(inner, n->dim[k], narrow);
    else to->src = n->dim[k].src, to->dst = n->dim[k].dst;
    inner = n->dim[k];
  }
}

static bool is_int32(int64_t x) { return x == (int32_t)x; }
static bool is_near(const ldg_cargo *c) {
  const ldg_cargo_nest *n = &c->as.nest;
  bool yes = is_int32(n->src) && is_int32(n->dst);
  for (int k = 0; k < c->nd; k++) yes = yes && is_int32(n->dim[k].src) && is_int32(n->dim[k].dst);
  return yes;
}

/* What lies close together is read by threads that are all at work only where each of them reads more than one narrow word: of 64 MiB in words of 4 bytes, 8
 * bytes apart, 63 us by one and 50 by four. All else gains 5 % at most, and blocks far apart lose up to a tenth (an H200; ../bench/README.md). */
enum { AT_ONCE = 1 << 18 /* threads */, NEAR = 64 /* bytes */, NARROW = 8 };
static bool is_close(int64_t block, int64_t stride) { return block >= NEAR || (stride <= 2 * block && stride >= -2 * block); }
static int32_t tile_of(const ldg_cargo *c, const ldg_nest *n) {
  if (c->op != LADING_REPLACE) return LDG_TILE;
  const bool close = n->nd == 0 || (is_close(n->block, n->dim[0].src) && is_close(n->block, n->dim[0].dst));
  return close && c->word <= NARROW && c->hi - c->lo > AT_ONCE ? LDG_TILE_MOST : LDG_TILE;
}

/* Bytes [lo, hi) of the stream, of what it is that moves, in units of that many bytes and words that divide them. */
typedef void shape(ldg_cargo *c, const void *of, int32_t word, int64_t unit, int64_t lo, int64_t hi);

static void nest_shape(ldg_cargo *c, const void *nest, int32_t word, int64_t unit, int64_t lo, int64_t hi) {
  const ldg_nest *n = nest;
  c->word = word, c->unit = (int32_t)unit, c->lo = lo / unit, c->hi = hi / unit;
  nest_digits(c, n, true);
  c->form = c->hi < INT32_MAX && is_near(c) ? LDG_FORM_NARROW : LDG_FORM_WIDE;
  if (c->form == LDG_FORM_WIDE) nest_digits(c, n, false);
  c->tile = tile_of(c, n);
}

enum { LONG_BLOCK = 1 << 20 }; /* bytes */

/* Of a single block that is long the ends that are no words go by themselves: of a short one they would cost a launch by a graph, which is of one cargo. */
static uint64_t nest_bits(const ldg_nest *n) {
  uint64_t all = n->block < LONG_BLOCK ? (uint64_t)n->block : 0;
  for (int k = 0; k < n->nd; k++)
    if (n->dim[k].n > 1) all |= (uint64_t)n->block | (uint64_t)n->dim[k].src | (uint64_t)n->dim[k].dst;
  return all;
}

/* In the widest words that `bits` have, and what is before and after them in single bytes, or elements. */
static int load_words(shipment *s, ldg_cargo *c, shape *fill, const void *of, uint64_t bits, int64_t lo, int64_t hi) {
  const int32_t word = widest(s, bits), least = least_of(s);
  const int64_t from = ldg_min(hi, (lo + word - 1) / word * word), to = ldg_max(from, hi / word * word);
  const struct { int32_t word; int64_t lo, hi; } part[3] = { { least, lo, from }, { word, from, to }, { least, to, hi } };
  int e = LADING_OK;
  for (int i = 0; i < 3 && !e; i++) {
    if (part[i].lo == part[i].hi) continue;
    fill(c, of, part[i].word, part[i].word, part[i].lo, part[i].hi);
    e = load(s, c);
  }
  return e;
}

/* Elements that do not lie in words. */
static int load_pieces(shipment *s, ldg_cargo *c, shape *fill, const void *of, uint64_t bits, int64_t lo, int64_t hi) {
  fill(c, of, word_of(bits | (uint64_t)s->op->size, PIECE_MAX), s->op->size, lo, hi);
  return load(s, c);
}

static int load_units(shipment *s, ldg_cargo *c, shape *fill, const void *of, uint64_t bits, int64_t lo, int64_t hi) {
  return (is_whole(s, widest(s, bits)) ? load_words : load_pieces)(s, c, fill, of, bits, lo, hi);
}

static int load_nest(shipment *s, ldg_cargo *c, const ldg_nest *n, int64_t lo, int64_t hi) {
  return load_units(s, c, nest_shape, n, nest_bits(n) | bits_of(c->src) | bits_of(c->dst), lo, hi);
}

/* ---- transposes ---- */

enum { SQUARE_MIN = 8 };  /* iterations, below which a square is mostly empty */
enum { APART_MIN = 1 << 20 }; /* bytes, from which on squares are worth a launch beside that of the ends */
int64_t ldg_queue_sums_apart[2] = { 1 << 18, 1 << 16 }; /* sums of more words go by squares: of what is read by columns, and of what is written so (an H200; ../bench/README.md) */

static int dense_dim(const ldg_nest *n, bool at_dst) {
  for (int k = 0; k < n->nd; k++)
    if (n->dim[k].n >= SQUARE_MIN && (at_dst ? n->dim[k].dst : n->dim[k].src) == n->block) return k;
  return -1;
}

/* Whole iterations of the outermost loop in the work: [from, to) of them, `each` bytes long. */
typedef struct middle { int64_t each, from, to; } middle;
static middle middle_of(const shipment *s, const ldg_nest *n) {
  middle m = { .each = n->block };
  for (int k = 0; k < n->nd - 1; k++) m.each *= n->dim[k].n;
  m.from = (s->work->lo + m.each - 1) / m.each, m.to = s->work->hi / m.each;
  return m;
}

static bool can_square(const shipment *s, const ldg_nest *n, int32_t word) {
  const int64_t words = (s->work->hi - s->work->lo) / word, few = ldg_queue_sums_apart[n->dim[0].dst != n->block];
  return !s->op || (s->work->reduction.op == LADING_SUM && is_whole(s, word) && words > few);
}

/* Of single words, or sums of them, dense along one dim at the source and along another one at the destination. */
static bool is_transpose(const shipment *s, const ldg_cargo *c, const ldg_nest *n, int *i, int *j) {
  *i = dense_dim(n, false), *j = dense_dim(n, true);
  const int32_t word = widest(s, nest_bits(n) | bits_of(c->src) | bits_of(c->dst));
  return can_square(s, n, word) && !s->ordered && !s->kept && *i >= 0 && *j >= 0 && *i != *j && word == n->block;
}

static int transpose(shipment *s, ldg_cargo c, const ldg_nest *n, int i, int j) {
  ldg_cargo_grid *to = &c.as.grid;
  c.word = c.unit = (int32_t)n->block, c.nd = 2;
  for (int k = 0; k < n->nd; k++) {
    const ldg_dim d = n->dim[k];
    const int at = k == i ? 0 : k == j ? 1 : c.nd++;
    if (at < 2) to->n[at] = d.n;
    to->dim[at] = (ldg_cargo_dim){ ldg_queue_divisor(at < 2 ? (d.n - 1) / LDG_SQUARE + 1 : d.n, true), d.src, d.dst };
  }
  return s->dev->transpose(s->lane, &c);
}

/* The middle in squares, and what is left at its ends, word by word. *done: it was worth it. */
static int by_squares(shipment *s, ldg_cargo *c, const ldg_nest *nest, bool *done) {
  const middle m = middle_of(s, nest);
  const int64_t lo = s->work->lo, hi = s->work->hi, from = m.from * m.each, to = m.to * m.each;
  ldg_nest n = *nest;
  ldg_dim *const outer = &n.dim[n.nd - 1];
  int i, j;
  ldg_cargo squares = *c;
  outer->n = m.to - m.from;
  squares.src += m.from * outer->src, squares.dst += m.from * outer->dst;
  *done = is_transpose(s, &squares, &n, &i, &j) && (to - from == hi - lo || to - from >= APART_MIN) && (to - from) / n.block < INT32_MAX;
  if (!*done) return LADING_OK;
  int e = lo < from ? load_nest(s, c, nest, lo, from) : LADING_OK;
  if (!e && to < hi) e = load_nest(s, c, nest, to, hi);
  return e ? e : transpose(s, squares, &n, i, j);
}

/* *done: both layouts refine to one nest, of whole elements. */
static int by_nest(shipment *s, bool *done) {
  const ldg_side *a = &s->work->side[LDG_SRC], *b = &s->work->side[LDG_DST];
  ldg_cargo c = blank(s);
  ldg_nest n;
  int64_t from, to;
  bool squares = false;
  *done = ldg_nest_common(a->rep, a->extent, b->rep, b->extent, s->work->hi, &n, &from, &to) && !(s->op && n.block % s->op->size);
  if (!*done) return LADING_OK;
  c.src = ldg_at(a->base, from), c.dst = ldg_at(b->base, to);
  const int e = n.nd > 1 ? by_squares(s, &c, &n, &squares) : LADING_OK;
  return e || squares ? e : load_nest(s, &c, &n, s->work->lo, s->work->hi);
}

/* ---- images ---- */

static int64_t bytes_of_image(const void *of) { return 8 * ldg_queue_image_words(of); }
static void fill_image(const void *of, void *to) { ldg_queue_image_write(of, to); }

static const char *body_at(const ldg_side *s) { return ldg_at(s->base, ldg_rep_is_shifted(s->rep) ? s->rep->at[0] : 0); }

static int image_of(shipment *s, const ldg_plan *p, ldg_table_words *out) {
  const ldg_table_maker maker = { bytes_of_image, fill_image, ldg_rep_body(p->layout->rep) };
  const lading_id id = ldg_layout_named(p->layout);
  return s->dev->table(s->lane, &id, &maker, out);
}

static int64_t bytes_of_flat(const void *of) { return 8 * ldg_queue_flat_words(of); }
static void fill_flat(const void *of, void *to) { ldg_queue_flat_write(of, to); }

/* Of the same layout, so its id has another name. */
static int flat_of(shipment *s, const ldg_plan *p, ldg_table_words *out) {
  const ldg_table_maker maker = { bytes_of_flat, fill_flat, p->layout };
  lading_id id = ldg_layout_named(p->layout);
  id.w[1] = ~id.w[1];
  return s->dev->table(s->lane, &id, &maker, out);
}

/* A layout has one of them, whatever is asked of it. */
static int its_image_of(shipment *s, const ldg_plan *p, ldg_table_words *out) { return ldg_queue_is_flat(p->layout) ? flat_of(s, p, out) : image_of(s, p, out); }

int ldg_queue_keep_tables(const ldg_device *dev, ldg_lane *lane, const ldg_work *w) {
  shipment s = { .dev = dev, .lane = lane, .work = w };
  ldg_table_words image;
  int e = LADING_OK;
  for (int i = LDG_SRC; i <= LDG_DST && !e; i++) e = its_image_of(&s, w->plan[i], &image);
  return e;
}

/* ---- lists of entries of one nest, beside a run ---- */

static bool is_list(const ldg_work *w, int i) {
  const ldg_side *s = &w->side[i];
  const ldg_rep *r = ldg_rep_body(s->rep);
  return s->count == 1 && r->kind == LDG_BLOCKS && !r->psum && ldg_side_is_run(&w->side[!i]) && !ldg_queue_is_flat(w->plan[i]->layout);
}

/* With the list as the outermost loop, whose places are in memory. False: it is no nest, or no narrow one. */
static bool list_nest(const ldg_rep *r, ldg_nest *n) {
  if (r->n < 2 || !ldg_nest_of(r->child, n) || n->nd == LDG_DIMS || r->size >= INT32_MAX / 2) return false; /* a loop that runs once has no digit */
  for (int k = 0; k < n->nd; k++)
    if (n->dim[k].src > INT32_MAX / 2 / n->dim[k].n || n->dim[k].src < -INT32_MAX / 2 / n->dim[k].n) return false;
  n->dim[n->nd++] = (ldg_dim){ r->n, 0, r->child->size };
  return true;
}

/* The table of an id is of whichever tree came first: of a long list that may be spelled otherwise, as a join of two. If its root is a list of entries as
 * long as these, their places are the same. */
static const int64_t *places_of(const ldg_table_words *image, const ldg_rep *r) {
  const ldg_image_node *root = (const void *)image->head;
  return root->kind == LDG_IMAGE_BLOCKS && !root->pairs && root->each.n == r->child->size ? image->there + root->at : NULL;
}

static void list_shape(ldg_cargo *c, const void *nest, int32_t word, int64_t unit, int64_t lo, int64_t hi) {
  nest_shape(c, nest, word, unit, lo, hi); /* a narrow one: see list_nest */
  c->form = LDG_FORM_LIST, c->tile = LDG_TILE;
}

static int by_list(shipment *s, bool *done) {
  const ldg_side *side = s->work->side;
  const int at = is_list(s->work, LDG_SRC) ? LDG_SRC : LDG_DST;
  const ldg_rep *r = ldg_rep_body(side[at].rep);
  const ldg_side *run = &side[!at];
  ldg_cargo c = blank(s);
  ldg_nest n;
  ldg_table_words image;
  *done = is_list(s->work, at) && list_nest(r, &n);
  if (!*done) return LADING_OK;
  const char *listed = ldg_at(body_at(&side[at]), r->child->first), *line = ldg_at(run->base, run->rep->first);
  if (at == LDG_DST) n = ldg_nest_swapped(n);
  c.src = at == LDG_SRC ? listed : line, c.dst = (char *)(uintptr_t)(at == LDG_SRC ? line : listed);
  const uint64_t bits = nest_bits(&n) | (uint64_t)ldg_layout_grain(s->work->plan[at]->layout) | bits_of(c.src) | bits_of(c.dst);
  *done = is_whole(s, widest(s, bits));
  if (!*done) return LADING_OK;
  const int e = image_of(s, s->work->plan[at], &image);
  const int64_t *places = e ? NULL : places_of(&image, r);
  *done = e || places;
  c.as.list.at = places, c.as.list.at_dst = at;
  return e || !places ? e : load_words(s, &c, list_shape, &n, bits, s->work->lo, s->work->hi);
}

/* ---- trees ---- */

/* Where the side begins, and what words divide. */
static const char *side_at(const ldg_side *s) { return ldg_side_is_run(s) ? run_at(s, 0) : body_at(s); }
static uint64_t side_bits(const ldg_side *s, const ldg_plan *p) {
  return bits_of(side_at(s)) | (ldg_side_is_run(s) ? 0 : (uint64_t)ldg_layout_grain(p->layout) | (s->count > 1 ? (uint64_t)s->extent : 0));
}

/* By places of whole words. */
static bool is_flat(const shipment *s, uint64_t bits) {
  const ldg_work *w = s->work;
  return is_whole(s, widest(s, bits)) && ldg_queue_is_flat_side(w->plan[LDG_SRC], &w->side[LDG_SRC], w->hi) && ldg_queue_is_flat_side(w->plan[LDG_DST], &w->side[LDG_DST], w->hi);
}

/* What is small is found by one load, whatever its tree. */
static int load_image(shipment *s, ldg_cargo_side *to, const ldg_side *side, const ldg_plan *p, bool narrow) {
  const bool one_run = ldg_rep_body(side->rep)->kind == LDG_BYTES;
  ldg_table_words image = { .there = NULL };
  const int e = narrow && one_run ? LADING_OK : its_image_of(s, p, &image);
  if (e) return e;
  memcpy(&to->root, image.head, sizeof to->root);
  to->image = image.there, to->words = one_run || to->root.kind == LDG_IMAGE_FLAT ? 0 : image.n;
  to->item = (ldg_divisor){ 0, 0, 0 }, to->extent = 0;
  if (side->count > 1) to->item = ldg_queue_divisor(narrow ? ldg_min(side->rep->size, INT32_MAX) : side->rep->size, narrow), to->extent = side->extent;
  return LADING_OK;
}

static int load_side(shipment *s, ldg_cargo *c, int i) {
  const ldg_side *side = &s->work->side[i];
  if (i == LDG_SRC) c->src = side_at(side);
  else c->dst = (char *)(uintptr_t)side_at(side);
  return ldg_side_is_run(side) ? LADING_OK : load_image(s, &c->as.trees.side[i], side, s->work->plan[i], c->form == LDG_FORM_FLAT);
}

/* One unit after the other. */
static void tree_shape(ldg_cargo *c, const void *of, int32_t word, int64_t unit, int64_t lo, int64_t hi) {
  (void)of;
  c->word = word, c->unit = (int32_t)unit, c->lo = 0, c->hi = (hi - lo) / unit;
  if (c->form == LDG_FORM_FLAT) c->as.flat.from = lo;
  else c->as.trees.from = lo;
}

static void compact(ldg_cargo *c) {
  ldg_cargo_flat f = { .from = 0 };
  for (int i = LDG_SRC; i <= LDG_DST; i++) {
    const ldg_cargo_side *s = &c->as.trees.side[i];
    const int32_t *place = s->root.kind == LDG_IMAGE_FLAT ? (const int32_t *)(s->image + s->root.at) : NULL;
    f.side[i] = (ldg_flat_side){ place, s->extent, (uint32_t)s->item.n, (uint32_t)s->item.magic, (uint32_t)s->item.shift, (uint32_t)s->root.shift };
  }
  c->as.flat = f;
}

static int by_trees(shipment *s) {
  ldg_cargo c = blank(s);
  const ldg_work *w = s->work;
  const uint64_t bits = side_bits(&w->side[LDG_SRC], w->plan[LDG_SRC]) | side_bits(&w->side[LDG_DST], w->plan[LDG_DST]);
  memset(&c.as.trees, 0, sizeof c.as.trees);
  c.form = is_flat(s, bits) ? LDG_FORM_FLAT : LDG_FORM_TREES;
  int e = load_side(s, &c, LDG_SRC);
  if (!e) e = load_side(s, &c, LDG_DST);
  if (e) return e;
  if (c.form == LDG_FORM_FLAT) compact(&c);
  return load_units(s, &c, tree_shape, NULL, bits, w->lo, w->hi);
}

/* ---- runs ---- */

enum { RUN_MOST = 1 << 16 /* words */ };

/* Words that divide all of it, so that it is one launch. */
static bool is_small_run(const shipment *s, const ldg_side *a, const ldg_side *b) {
  const ldg_work *w = s->work;
  const int64_t bytes = w->hi - w->lo, word = word_of((uint64_t)bytes | bits_of(run_at(a, w->lo)) | bits_of(run_at(b, w->lo)), LDG_WORD_MAX);
  const lading_mem *m = w->mem;
  return m[LDG_SRC].kind == LADING_MEM_DEVICE && m[LDG_DST].kind == LADING_MEM_DEVICE && m[LDG_SRC].device == m[LDG_DST].device && bytes / word <= RUN_MOST &&
         s->dev->small_moves(s->lane, m[LDG_SRC].device);
}

/* A copy of CUDA's from host memory to host memory returns when it is done, behind all that is in the stream (its manual); a kernel waits for nothing. */
static bool is_host_run(const ldg_work *w) { return w->mem[LDG_SRC].kind == LADING_MEM_PINNED && w->mem[LDG_DST].kind == LADING_MEM_PINNED; }

/* Small ones as a nest without loops, where that is a launch by a graph: on an H200 1.9 us of the host, a copy of the driver 3.6 (enqueue_ns of NAS_LU_x). */
static int ship_run(shipment *s) {
  const ldg_work *w = s->work;
  const ldg_side *a = &w->side[LDG_SRC], *b = &w->side[LDG_DST];
  const int64_t bytes = w->hi - w->lo;
  char *const dst = (char *)(uintptr_t)run_at(b, w->lo);
  const char *src = run_at(a, w->lo);
  if (!is_host_run(w) && !is_small_run(s, a, b)) return s->dev->copy(s->lane, dst, src, bytes);
  ldg_cargo c = blank(s);
  const ldg_nest n = { .block = bytes };
  c.src = src, c.dst = dst;
  const int e = load_nest(s, &c, &n, 0, bytes);
  return e ? e : depart(s);
}

/* ---- all ---- */

/* What kernels reduce: elements of one kind, none of them wider than the device's registers know. */
static const ldg_op *device_op(const ldg_work *w) {
  const uint32_t wide = 1u << LADING_LONG_DOUBLE | 1u << LADING_C_LONG_DOUBLE | 1u << LADING_LONG_DOUBLE_INT;
  return w->reduction.sig.node->kinds & wide ? NULL : ldg_exec_op_of(&w->reduction);
}

bool ldg_queue_ships(const ldg_work *w) { return w->reduction.op == LADING_REPLACE || device_op(w); }

/* By the first way that there is. */
static int load_all(shipment *s) {
  bool done;
  int e = by_nest(s, &done);
  if (!e && !done) e = by_list(s, &done);
  return e || done ? e : by_trees(s);
}

/* All that is loaded is on its way at the end. */
static int ship_part(shipment *s, const ldg_work *part) {
  s->work = part;
  const int e = load_all(s);
  return e ? e : depart(s);
}

/* A launch each, but for ragged ends. Without memory for them one thread moves all of it. */
static int ship_turns(shipment *s) {
  const int most = ldg_queue_turns_most(s->work);
  ldg_turn *const turn = ldg_alloc(most * (int64_t)sizeof *turn), whole = { .lo = s->work->lo, .hi = s->work->hi, .ordered = true };
  const int n = turn ? ldg_queue_turns(s->work, turn, most) : 1;
  ldg_work part = *s->work;
  int e = LADING_OK;
  for (int i = 0; i < n && !e; i++) {
    const ldg_turn *t = turn ? &turn[i] : &whole;
    part.lo = t->lo, part.hi = t->hi, s->ordered = t->ordered;
    e = ship_part(s, &part);
  }
  ldg_free(turn);
  return e;
}

int ldg_queue_ship(const ldg_device *dev, ldg_lane *lane, const ldg_work *w) {
  ldg_cargo own[LDG_CARGO_OWN];
  shipment s = { .dev = dev, .lane = lane, .work = w, .room = LDG_CARGO_OWN, .cargo = own };
  const bool moves = w->reduction.op == LADING_REPLACE;
  if (moves && ldg_side_is_run(&w->side[LDG_SRC]) && ldg_side_is_run(&w->side[LDG_DST])) return ship_run(&s);
  const int e = ldg_queue_coincides(w, &s.ordered);
  if (e) return e;
  s.op = moves ? NULL : device_op(w);
  return s.ordered ? ship_turns(&s) : ship_part(&s, w);
}

int ldg_queue_cargos(const ldg_device *dev, ldg_lane *lane, const ldg_work *w, ldg_cargo *out, int max, int *n) {
  shipment s = { .dev = dev, .lane = lane, .work = w, .kept = true, .room = max, .cargo = out };
  s.op = w->reduction.op == LADING_REPLACE ? NULL : device_op(w);
  const int e = load_all(&s);
  *n = s.n;
  return e;
}
