/* The kernels that move cargos: all of a launch are of one form. A grid may have fewer blocks than there are tiles, or more. */
#include "cargo_reduce.h"

#define LDG_TILES(name, tile)                                 \
  LDG_KERNEL(name, ldg_cargo_args) {                          \
    for (int64_t t = LDG_BID; t < a->tiles; t += LDG_GRID_DIM) { \
      const ldg_cargo *c = ldg_dev_cargo(a, t);               \
      tile(c, t - c->first);                                  \
    }                                                         \
  }
LDG_TILES(narrow, ldg_dev_tile_narrow)
LDG_TILES(wide, ldg_dev_tile_wide)
LDG_TILES(list, ldg_dev_tile_list)
LDG_TILES(flat, ldg_dev_tile_flat)
LDG_TILES(trees, ldg_dev_tile_tree)
LDG_TILES(reduce, ldg_dev_reduce_tile)

#define LDG_TILES_OF_ONE(name, tile)                          \
  LDG_KERNEL(name##_one, ldg_one_args) {                      \
    for (int64_t t = LDG_BID; t < a->tiles; t += LDG_GRID_DIM) tile(&a->cargo, t); \
  }
LDG_TILES_OF_ONE(narrow, ldg_dev_tile_narrow)
LDG_TILES_OF_ONE(wide, ldg_dev_tile_wide)
LDG_TILES_OF_ONE(list, ldg_dev_tile_list)
LDG_TILES_OF_ONE(flat, ldg_dev_tile_flat)
LDG_TILES_OF_ONE(sum, ldg_dev_sum_tile)

LDG_KERNEL(trees_one, ldg_one_args) {
  LDG_SHARED(int64_t, words, LDG_IMAGE_NEAR);
  if (LDG_BID >= a->tiles) return; /* all of the block: it copies nothing */
  const ldg_images images = ldg_dev_near_images(&a->cargo, words);
  for (int64_t t = LDG_BID; t < a->tiles; t += LDG_GRID_DIM) ldg_dev_tile_tree_by(&a->cargo, images, t);
}

LDG_KERNEL(reduce_one, ldg_one_args) {
  LDG_SHARED(int64_t, words, LDG_IMAGE_NEAR);
  const ldg_images none = { { NULL, NULL } };
  if (LDG_BID >= a->tiles) return;
  const bool near = a->cargo.form == LDG_FORM_TREES && a->cargo.unit == a->cargo.word; /* pieces go down the images themselves */
  const ldg_images images = near ? ldg_dev_near_images(&a->cargo, words) : none;
  for (int64_t t = LDG_BID; t < a->tiles; t += LDG_GRID_DIM) ldg_dev_reduce_tile_by(&a->cargo, images, t);
}

/* ---- transpose: a square is read along dim[0] and written along dim[1] ---- */

typedef struct ldg_square { int64_t i, j; const char *src; char *dst; } ldg_square; /* first units; where dims 0 and 1 begin */

LDG_DEVICE uint32_t ldg_dev_digit(uint32_t *t, const ldg_divisor *d) {
  const uint32_t up = ldg_dev_over_narrow(*t, d), digit = *t - up * (uint32_t)d->n;
  *t = up;
  return digit;
}

LDG_DEVICE int ldg_dev_least(int64_t left) { return left < LDG_SQUARE ? (int)left : LDG_SQUARE; } /* what is there of a side */

LDG_DEVICE ldg_square ldg_dev_square(const ldg_cargo *c, uint32_t t) {
  const ldg_cargo_dim *dim = c->as.grid.dim;
  ldg_square s = { 0, 0, c->src, c->dst };
  s.i = (int64_t)ldg_dev_digit(&t, &dim[0].n) * LDG_SQUARE, s.j = (int64_t)ldg_dev_digit(&t, &dim[1].n) * LDG_SQUARE;
  LDG_UNROLL(1)
  for (int k = 2; k < c->nd; k++) {
    const int64_t i = ldg_dev_digit(&t, &dim[k].n);
    s.src += i * dim[k].src, s.dst += i * dim[k].dst;
  }
  return s;
}

/* Rows of the square lie one unit further apart than they are long, so that columns are spread over the banks. A thread has LDG_LINES
 * units each way, all of them read before the first is written. */
#define LDG_LINES 4
#define LDG_STEP (LDG_SQUARE / LDG_LINES)
#define LDG_SQUARE_OF(T)                                                                                        \
  T *const in = (T *)square, v[LDG_LINES] = {}; /* what is set takes half the registers of what is not */         \
  const char *from = s.src + (s.i + x) * dim[0].src + (s.j + y) * dim[1].src;                                   \
  char *to = s.dst + (s.i + y) * dim[0].dst + (s.j + x) * dim[1].dst
#define LDG_SQUARE_IN(T)                                                                                        \
  LDG_UNROLL(4)                                                                                                 \
  for (int k = 0; k < LDG_LINES; k++)                                                                           \
    if (x < across && y + k * LDG_STEP < down) v[k] = LDG_LOAD(T, from + k * LDG_STEP * dim[1].src);            \
  LDG_UNROLL(4)                                                                                                 \
  for (int k = 0; k < LDG_LINES; k++)                                                                           \
    if (x < across && y + k * LDG_STEP < down) in[(y + k * LDG_STEP) * (LDG_SQUARE + 1) + x] = v[k];            \
  LDG_SYNC()
#define LDG_TRANSPOSE(T, sum)                                                                                   \
  do {                                                                                                          \
    LDG_SQUARE_OF(T);                                                                                           \
    LDG_SQUARE_IN(T);                                                                                           \
    LDG_UNROLL(4)                                                                                               \
    for (int k = 0; k < LDG_LINES; k++)                                                                         \
      if (x < down && y + k * LDG_STEP < across)                                                                \
        LDG_STORE(T, to + k * LDG_STEP * dim[0].dst, in[x * (LDG_SQUARE + 1) + y + k * LDG_STEP]);              \
    LDG_SYNC();                                                                                                 \
  } while (0)
#define LDG_TRANSPOSE_SUM(T, sum)                                                                               \
  do {                                                                                                          \
    T w[LDG_LINES] = {}; /* what is there is read at once, too */                                               \
    LDG_SQUARE_OF(T);                                                                                           \
    LDG_UNROLL(4)                                                                                               \
    for (int k = 0; k < LDG_LINES; k++)                                                                         \
      if (x < down && y + k * LDG_STEP < across) w[k] = LDG_LOAD(T, to + k * LDG_STEP * dim[0].dst);            \
    LDG_SQUARE_IN(T);                                                                                           \
    LDG_UNROLL(4)                                                                                               \
    for (int k = 0; k < LDG_LINES; k++)                                                                         \
      if (x < down && y + k * LDG_STEP < across)                                                                \
        LDG_STORE(T, to + k * LDG_STEP * dim[0].dst, sum(c->elem, in[x * (LDG_SQUARE + 1) + y + k * LDG_STEP], w[k])); \
    LDG_SYNC();                                                                                                 \
  } while (0)

/* By blocks of LDG_BLOCK_MAX threads. */
#define LDG_SQUARES(name, move)                                                                                 \
  LDG_KERNEL(name, ldg_one_args) {                                                                              \
    LDG_SHARED(ldg_word16, square, LDG_SQUARE * (LDG_SQUARE + 1));                                              \
    const ldg_cargo *c = &a->cargo;                                                                             \
    const ldg_cargo_dim *dim = c->as.grid.dim;                                                                  \
    const int x = (int)(LDG_TID % LDG_SQUARE), y = (int)(LDG_TID / LDG_SQUARE);                                 \
    for (int64_t t = LDG_BID; t < a->tiles; t += LDG_GRID_DIM) {                                                \
      const ldg_square s = ldg_dev_square(c, (uint32_t)t);                                                      \
      const int across = ldg_dev_least(c->as.grid.n[0] - s.i), down = ldg_dev_least(c->as.grid.n[1] - s.j);     \
      switch (c->word) {                                                                                        \
      case 16: move(ldg_word16, ldg_dev_sum16); break;                                                          \
      case 8: move(uint64_t, ldg_dev_sum); break;                                                               \
      case 4: move(uint32_t, ldg_dev_sum); break;                                                               \
      case 2: move(uint16_t, ldg_dev_sum); break;                                                               \
      default: move(uint8_t, ldg_dev_sum); break;                                                               \
      }                                                                                                         \
    }                                                                                                           \
  }
LDG_SQUARES(transpose, LDG_TRANSPOSE)
LDG_SQUARES(transpose_sum, LDG_TRANSPOSE_SUM)

/* ---- fused: tiles of many requests; the last tile of a request says so ---- */

/* The last cargo that starts at or before the tile. */
LDG_DEVICE int ldg_dev_fused_cargo(const ldg_fused_args *a, uint32_t t) {
  int lo = 0;
  for (int n = (int)a->n; n > 1;) {
    const int half = n / 2;
    if (LDG_LOAD(int64_t, &a->page->start[lo + half].first) <= (int64_t)t) lo += half;
    n -= half;
  }
  return lo;
}

LDG_DEVICE void ldg_dev_any_tile(const ldg_cargo *c, int64_t t, bool reduces) {
  if (reduces && c->op != LADING_REPLACE) ldg_dev_reduce_tile(c, t);
  else if (c->form == LDG_FORM_NARROW) ldg_dev_tile_narrow(c, t);
  else if (c->form == LDG_FORM_WIDE) ldg_dev_tile_wide(c, t);
  else if (c->form == LDG_FORM_LIST) ldg_dev_tile_list(c, t);
  else if (c->form == LDG_FORM_FLAT) ldg_dev_tile_flat(c, t);
  else ldg_dev_tile_tree(c, t);
}

/* By one thread, when the whole block has written its tile. The fence puts that before the count, and whoever counts to the end
 * has seen all of them count: the fence of the system in publish then covers what all blocks wrote. */
LDG_DEVICE void ldg_dev_fused_end(uint64_t *word, uint64_t id, uint32_t tiles, uint32_t *left) {
  ldg_dev_fence();
  if (ldg_dev_atomic_sub32(left, 1) != 1 - tiles) return;
  LDG_STORE(uint32_t, left, 0); /* for the next launch */
  if (word) ldg_dev_publish64(word, id);
}

LDG_DEVICE void ldg_dev_fused(const ldg_fused_args *a, bool reduces) {
  LDG_SHARED(ldg_cargo, c, 1); /* read once, by all */
  for (uint32_t t = LDG_BID; t < (uint32_t)a->tiles; t += LDG_GRID_DIM) { /* fewer than 2^32: see number_tiles */
    const int i = ldg_dev_fused_cargo(a, t);
    for (uint32_t k = LDG_TID; k < sizeof(ldg_cargo) / 8; k += LDG_BLOCK_DIM)
      ((uint64_t *)c)[k] = LDG_LOAD(uint64_t, (const uint64_t *)&a->page->cargo[i] + k);
    LDG_SYNC();
    LDG_UNROLL(1) /* what does not change is read anew, too, so that nothing of it takes a register */
    for (int32_t k = 0; k < a->parts; k++) ldg_dev_any_tile(c, ((int64_t)t - LDG_LOAD(int64_t, &a->page->start[i].first)) * a->parts + k, reduces);
    LDG_SYNC();
    ldg_fused_end *const e = &a->page->end[LDG_LOAD(int64_t, &a->page->start[i].end)];
    if (LDG_TID == 0) ldg_dev_fused_end((uint64_t *)(uintptr_t)LDG_LOAD(uint64_t, &e->word), LDG_LOAD(uint64_t, &e->id), LDG_LOAD(uint32_t, &e->tiles), &e->left);
  }
}

LDG_DEVICE void ldg_dev_by_value(const ldg_fused_args *a, const ldg_fused_end *end, const ldg_fused_start *start, const ldg_cargo *c, bool reduces) {
  for (int64_t t = LDG_BID; t < a->tiles; t += LDG_GRID_DIM) {
    int i = 0;
    while (i + 1 < a->n && start[i + 1].first <= t) i++;
    LDG_UNROLL(1)
    for (int32_t k = 0; k < a->parts; k++) ldg_dev_any_tile(&c[i], (t - start[i].first) * a->parts + k, reduces);
    LDG_SYNC();
    const int64_t r = start[i].end;
    if (LDG_TID == 0) ldg_dev_fused_end(end[r].word, end[r].id, end[r].tiles, &a->page->end[r].left);
  }
}

/* Without reductions it takes fewer registers, and more blocks fit (../test/test_resources.py). */
LDG_KERNEL_BESIDE(fused, ldg_fused_args, 5) { ldg_dev_fused(a, false); }
LDG_KERNEL_BESIDE(fused_reduce, ldg_fused_args, 4) { ldg_dev_fused(a, true); }
LDG_KERNEL_BESIDE(pair, ldg_pair_args, 6) { ldg_dev_by_value(&a->all, a->end, a->start, a->cargo, false); }
LDG_KERNEL_BESIDE(pair_reduce, ldg_pair_args, 4) { ldg_dev_by_value(&a->all, a->end, a->start, a->cargo, true); }
LDG_KERNEL_BESIDE(few, ldg_few_args, 6) { ldg_dev_by_value(&a->all, a->end, a->start, a->cargo, false); }
LDG_KERNEL_BESIDE(few_reduce, ldg_few_args, 4) { ldg_dev_by_value(&a->all, a->end, a->start, a->cargo, true); }
