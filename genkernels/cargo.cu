/* The kernels that move cargos: all of a launch are of one form. A grid may have fewer blocks than there are tiles. */
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
LDG_TILES(trees, ldg_dev_tile_trees)
LDG_TILES(reduce, ldg_dev_reduce_tile)

/* ---- transpose: a square is read along dim[0] and written along dim[1] ---- */

typedef struct ldg_square { int64_t i, j; const char *src; char *dst; } ldg_square; /* in units; where dims 0 and 1 begin */

LDG_DEVICE ldg_square ldg_dev_square(const ldg_cargo *c, int64_t t) {
  const ldg_cargo_dim *dim = c->as.nest.dim;
  const int64_t across = (dim[0].n.n - 1) / LDG_SQUARE + 1, down = (dim[1].n.n - 1) / LDG_SQUARE + 1;
  int64_t up = t / across / down;
  ldg_square s = { t % across * LDG_SQUARE, t / across % down * LDG_SQUARE, c->src, c->dst };
  for (int k = 2; k < c->nd; k++) {
    const int64_t i = up % dim[k].n.n;
    up /= dim[k].n.n;
    s.src += i * dim[k].src, s.dst += i * dim[k].dst;
  }
  return s;
}

/* Rows of the square lie one unit further apart than they are long, so that columns are spread over the banks. */
#define LDG_TRANSPOSE(T)                                                                                        \
  do {                                                                                                          \
    T *const in = (T *)square;                                                                                  \
    for (int64_t j = LDG_TID / LDG_SQUARE, i = LDG_TID % LDG_SQUARE; j < LDG_SQUARE; j += LDG_BLOCK_DIM / LDG_SQUARE) \
      if (s.i + i < dim[0].n.n && s.j + j < dim[1].n.n)                                                         \
        in[j * (LDG_SQUARE + 1) + i] = LDG_LOAD(T, s.src + (s.i + i) * dim[0].src + (s.j + j) * dim[1].src);    \
    LDG_SYNC();                                                                                                 \
    for (int64_t i = LDG_TID / LDG_SQUARE, j = LDG_TID % LDG_SQUARE; i < LDG_SQUARE; i += LDG_BLOCK_DIM / LDG_SQUARE) \
      if (s.i + i < dim[0].n.n && s.j + j < dim[1].n.n)                                                         \
        LDG_STORE(T, s.dst + (s.i + i) * dim[0].dst + (s.j + j) * dim[1].dst, in[j * (LDG_SQUARE + 1) + i]);    \
    LDG_SYNC();                                                                                                 \
  } while (0)

LDG_KERNEL(transpose, ldg_cargo_args) {
  LDG_SHARED(ldg_word16, square, LDG_SQUARE * (LDG_SQUARE + 1));
  const ldg_cargo *c = &a->cargo[0];
  const ldg_cargo_dim *dim = c->as.nest.dim;
  for (int64_t t = LDG_BID; t < a->tiles; t += LDG_GRID_DIM) {
    const ldg_square s = ldg_dev_square(c, t);
    switch (c->word) {
    case 16: LDG_TRANSPOSE(ldg_word16); break;
    case 8: LDG_TRANSPOSE(uint64_t); break;
    case 4: LDG_TRANSPOSE(uint32_t); break;
    case 2: LDG_TRANSPOSE(uint16_t); break;
    default: LDG_TRANSPOSE(uint8_t); break;
    }
  }
}

/* ---- fused: tiles of many requests; the last tile of a request says so ---- */

/* The last cargo that starts at or before the tile. */
LDG_DEVICE int64_t ldg_dev_fused_cargo(const ldg_fused_args *a, int64_t t) {
  int64_t lo = 0;
  for (int64_t n = a->n; n > 1;) {
    const int64_t half = n / 2;
    if (LDG_LOAD(int64_t, &a->page->start[lo + half].first) <= t) lo += half;
    n -= half;
  }
  return lo;
}

LDG_DEVICE void ldg_dev_any_tile(const ldg_cargo *c, int64_t t, bool reduces) {
  if (reduces && c->op != LADING_REPLACE) ldg_dev_reduce_tile(c, t);
  else if (c->form == LDG_FORM_NARROW) ldg_dev_tile_narrow(c, t);
  else if (c->form == LDG_FORM_WIDE) ldg_dev_tile_wide(c, t);
  else ldg_dev_tile_tree(c, t); /* one word at a time: with four all kinds of requests would have 64 registers a thread, not 40 (sm_90) */
}

/* By one thread, when the whole block has written its tile. The fence puts that before the count, and whoever counts to the end
 * has seen all of them count: the fence of the system in publish then covers what all blocks wrote. */
LDG_DEVICE void ldg_dev_fused_end(ldg_fused_end *e) {
  ldg_dev_fence();
  if (ldg_dev_atomic_sub32(&e->left, 1) != 1) return;
  uint64_t *const word = (uint64_t *)(uintptr_t)LDG_LOAD(uint64_t, &e->word);
  if (word) ldg_dev_publish64(word, LDG_LOAD(uint64_t, &e->id));
}

LDG_DEVICE void ldg_dev_fused(const ldg_fused_args *a, bool reduces) {
  LDG_SHARED(ldg_cargo, c, 1); /* read once, by all */
  for (int64_t t = LDG_BID; t < a->tiles; t += LDG_GRID_DIM) {
    const int64_t i = ldg_dev_fused_cargo(a, t);
    for (uint32_t k = LDG_TID; k < sizeof(ldg_cargo) / 8; k += LDG_BLOCK_DIM)
      ((uint64_t *)c)[k] = LDG_LOAD(uint64_t, (const uint64_t *)&a->page->cargo[i] + k);
    LDG_SYNC();
    LDG_UNROLL(1) /* what does not change is read anew, too: nothing of it takes a register, and 40 of them are few enough for 6 blocks */
    for (int32_t k = 0; k < LDG_FUSED_PARTS(c->unit); k++)
      ldg_dev_any_tile(c, (t - LDG_LOAD(int64_t, &a->page->start[i].first)) * LDG_FUSED_PARTS(c->unit) + k, reduces);
    LDG_SYNC();
    if (LDG_TID == 0) ldg_dev_fused_end(&a->page->end[LDG_LOAD(int64_t, &a->page->start[i].end)]);
  }
}

/* Without reductions it takes 40 registers a thread rather than 64 (ptxas of CUDA 13 for sm_90). */
LDG_KERNEL(fused, ldg_fused_args) { ldg_dev_fused(a, false); }
LDG_KERNEL(fused_reduce, ldg_fused_args) { ldg_dev_fused(a, true); }
