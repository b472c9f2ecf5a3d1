/* How a block of threads moves a tile of a cargo: where its words are, then loads, then stores. Device code, see device.h. */
#ifndef LDG_CARGO_MOVE_H
#define LDG_CARGO_MOVE_H

#include "device.h"
#include "cargo.h"

typedef struct ldg_pair { uint64_t src, dst; } ldg_pair; /* addresses: sums of them may pass through what is none */

LDG_DEVICE int64_t ldg_dev_over(int64_t x, const ldg_divisor *d) {
  return d->magic ? (int64_t)(ldg_dev_mulhi64((uint64_t)x, d->magic) >> d->shift) : x;
}
LDG_DEVICE uint32_t ldg_dev_over_narrow(uint32_t x, const ldg_divisor *d) {
  return d->magic ? ldg_dev_mulhi32(x, (uint32_t)d->magic) >> (uint32_t)d->shift : x;
}
/* By more than 1. */
LDG_DEVICE uint64_t ldg_dev_by(uint64_t x, const ldg_divisor *d) { return ldg_dev_mulhi64(x, d->magic) >> d->shift; }
LDG_DEVICE uint32_t ldg_dev_by_narrow(uint32_t x, const ldg_divisor *d) { return ldg_dev_mulhi32(x, (uint32_t)d->magic) >> (uint32_t)d->shift; }

/* ---- nests: n units, `step` apart, from x on; a dim is read once for all of them ---- */

LDG_DEVICE uint64_t ldg_dev_address(const void *p) { return (uint64_t)(uintptr_t)p; }

/* up: quotients; MAD(n, stride, place): place + n * stride, modulo 2^64. */
#define LDG_NEST_PAIRS(name, T, over, MAD, count)                                                     \
  LDG_DEVICE void name(const ldg_cargo *c, T x, T step, ldg_pair *p) {                                \
    const ldg_cargo_nest *n = &c->as.nest;                                                            \
    T up[count];                                                                                      \
    LDG_UNROLL(4)                                                                                     \
    for (int i = 0; i < count; i++) {                                                                 \
      up[i] = x + (T)i * step;                                                                        \
      p[i].src = MAD(up[i], n->src, ldg_dev_address(c->src)), p[i].dst = MAD(up[i], n->dst, ldg_dev_address(c->dst)); \
    }                                                                                                 \
    LDG_UNROLL(1)                                                                                     \
    for (int k = 0; k < c->nd; k++) {                                                                 \
      const ldg_cargo_dim *d = &n->dim[k];                                                            \
      LDG_UNROLL(4)                                                                                   \
      for (int i = 0; i < count; i++) {                                                               \
        up[i] = over(up[i], &d->n);                                                                   \
        p[i].src = MAD(up[i], d->src, p[i].src), p[i].dst = MAD(up[i], d->dst, p[i].dst);             \
      }                                                                                               \
    }                                                                                                 \
  }
#define LDG_MAD_NARROW(n, stride, place) ldg_dev_mad(n, (int32_t)(stride), place)
#define LDG_MAD_WIDE(n, stride, place) ((place) + (uint64_t)(stride) * (n))
LDG_NEST_PAIRS(ldg_dev_narrow_4, uint32_t, ldg_dev_by_narrow, LDG_MAD_NARROW, 4)
LDG_NEST_PAIRS(ldg_dev_narrow_1, uint32_t, ldg_dev_by_narrow, LDG_MAD_NARROW, 1)
LDG_NEST_PAIRS(ldg_dev_wide_2, uint64_t, ldg_dev_by, LDG_MAD_WIDE, 2)
LDG_NEST_PAIRS(ldg_dev_wide_1, uint64_t, ldg_dev_by, LDG_MAD_WIDE, 1)

/* ---- trees ---- */

/* The last entry that starts at or before the byte: never an empty one. */
LDG_DEVICE int64_t ldg_dev_find(const int64_t *sum, int64_t n, int64_t byte) {
  int64_t lo = 0;
  while (n > 1) {
    const int64_t half = n / 2;
    if (LDG_LOAD(int64_t, sum + lo + half) <= byte) lo += half;
    n -= half;
  }
  return lo;
}

LDG_DEVICE ldg_divisor ldg_dev_load_divisor(const ldg_divisor *d) {
  const ldg_divisor v = { LDG_LOAD(int64_t, &d->n), LDG_LOAD(uint64_t, &d->magic), LDG_LOAD(int64_t, &d->shift) };
  return v;
}

/* Byte `byte` of a node into entry i of it; the rest of the way is the entry's. */
LDG_DEVICE int64_t ldg_dev_enter(const int64_t *image, const ldg_image_node *node, int64_t kind, int64_t *byte, int64_t *at) {
  const int64_t psum = LDG_LOAD(int64_t, &node->psum);
  const ldg_divisor each = ldg_dev_load_divisor(&node->each);
  int64_t i;
  if (psum) {
    i = ldg_dev_find(image + psum, LDG_LOAD(int64_t, &node->n), *byte);
    *byte -= LDG_LOAD(int64_t, image + psum + i);
  } else {
    i = ldg_dev_over(*byte, &each);
    *byte -= i * each.n;
  }
  if (kind == LDG_IMAGE_REPEAT) *at += i * LDG_LOAD(int64_t, &node->stride);
  else *at += LDG_LOAD(int64_t, image + LDG_LOAD(int64_t, &node->at) + i);
  if (kind == LDG_IMAGE_JOIN) return LDG_LOAD(int64_t, image + LDG_LOAD(int64_t, &node->kids) + i);
  if (kind == LDG_IMAGE_BLOCKS && psum) {
    const int64_t copy = ldg_dev_over(*byte, &each);
    *at += copy * LDG_LOAD(int64_t, &node->stride), *byte -= copy * each.n;
  }
  return LDG_LOAD(int64_t, &node->child);
}

/* The offset of stream byte `byte`. */
LDG_DEVICE int64_t ldg_dev_seek(const ldg_cargo_side *s, int64_t byte) {
  if (!s->image) return byte;
  const int64_t item = ldg_dev_over(byte, &s->item);
  int64_t at = item * s->extent, word = 0;
  byte -= item * s->item.n;
  for (;;) {
    const ldg_image_node *node = (const ldg_image_node *)(s->image + word);
    const int64_t kind = LDG_LOAD(int64_t, &node->kind);
    if (kind == LDG_IMAGE_BYTES) return at + byte;
    word = ldg_dev_enter(s->image, node, kind, &byte, &at);
  }
}

/* Byte k of unit x. */
LDG_DEVICE ldg_pair ldg_dev_trees(const ldg_cargo *c, int64_t x, int64_t k) {
  const int64_t byte = c->as.trees.from + x * c->unit + k;
  const ldg_pair p = { ldg_dev_address(c->src) + (uint64_t)ldg_dev_seek(&c->as.trees.side[0], byte),
                       ldg_dev_address(c->dst) + (uint64_t)ldg_dev_seek(&c->as.trees.side[1], byte) };
  return p;
}

/* ---- tiles ---- */

/* n units at the places p, all read before the first is written. */
#define LDG_MOVE_WORDS(T, p, n)                                                 \
  do {                                                                          \
    T v[n];                                                                     \
    LDG_UNROLL(4)                                                               \
    for (int k = 0; k < n; k++) v[k] = LDG_LOAD(T, ldg_dev_global(p[k].src));   \
    LDG_UNROLL(4)                                                               \
    for (int k = 0; k < n; k++) LDG_STORE(T, ldg_dev_global(p[k].dst), v[k]);   \
  } while (0)

#define LDG_MOVE_PAIRS(name, n)                                                 \
  LDG_DEVICE void name(const ldg_pair *p, int word) {                           \
    switch (word) {                                                             \
    case 16: LDG_MOVE_WORDS(ldg_word16, p, n); break;                           \
    case 8: LDG_MOVE_WORDS(uint64_t, p, n); break;                              \
    case 4: LDG_MOVE_WORDS(uint32_t, p, n); break;                              \
    case 2: LDG_MOVE_WORDS(uint16_t, p, n); break;                              \
    default: LDG_MOVE_WORDS(uint8_t, p, n); break;                              \
    }                                                                           \
  }
LDG_MOVE_PAIRS(ldg_dev_move_4, 4)
LDG_MOVE_PAIRS(ldg_dev_move_2, 2)
LDG_MOVE_PAIRS(ldg_dev_move_1, 1)

/* n units, `step` apart, from x on: those that are there. A thread that is alone thus takes them in the order of the stream. */
#define LDG_MOVE_SOME(name, T, find, n)                                         \
  LDG_DEVICE void name(const ldg_cargo *c, T x, T step) {                       \
    const T hi = (T)c->hi;                                                      \
    ldg_pair p[n];                                                              \
    if (x + (n - 1) * step < hi) {                                              \
      find##_##n(c, x, step, p);                                                \
      ldg_dev_move_##n(p, c->word);                                             \
      return;                                                                   \
    }                                                                           \
    for (int k = 0; k < n && x < hi; k++, x += step) {                          \
      find##_1(c, x, step, p);                                                  \
      ldg_dev_move_1(p, c->word);                                               \
    }                                                                           \
  }

#define LDG_TREE_PAIRS(name, count)                                             \
  LDG_DEVICE void name(const ldg_cargo *c, int64_t x, int64_t step, ldg_pair *p) { \
    LDG_UNROLL(4)                                                               \
    for (int k = 0; k < count; k++) p[k] = ldg_dev_trees(c, x + k * step, 0);   \
  }
LDG_TREE_PAIRS(ldg_dev_trees_4, 4)
LDG_TREE_PAIRS(ldg_dev_trees_1, 1)
LDG_MOVE_SOME(ldg_dev_move_narrow, uint32_t, ldg_dev_narrow, 4)
LDG_MOVE_SOME(ldg_dev_move_wide, uint64_t, ldg_dev_wide, 2)
LDG_MOVE_SOME(ldg_dev_move_trees, int64_t, ldg_dev_trees, 4)
LDG_MOVE_SOME(ldg_dev_move_tree, int64_t, ldg_dev_trees, 1)

/* Tile t of the cargo; all threads of the block come here, and four times their number divides a tile. */
#define LDG_MOVE_TILE(name, T, move, n)                                         \
  LDG_DEVICE void name(const ldg_cargo *c, int64_t t) {                         \
    const T x = (T)(c->lo + t * LDG_TILE) + LDG_TID, step = LDG_BLOCK_DIM;      \
    for (T i = 0; i < LDG_TILE; i += n * step) move(c, x + i, step);            \
  }
LDG_MOVE_TILE(ldg_dev_tile_narrow, uint32_t, ldg_dev_move_narrow, 4)
LDG_MOVE_TILE(ldg_dev_tile_wide, uint64_t, ldg_dev_move_wide, 2)
LDG_MOVE_TILE(ldg_dev_tile_trees, int64_t, ldg_dev_move_trees, 4)
LDG_MOVE_TILE(ldg_dev_tile_tree, int64_t, ldg_dev_move_tree, 1)

LDG_DEVICE const ldg_cargo *ldg_dev_cargo(const ldg_cargo_args *a, int64_t t) {
  int64_t i = 0;
  while (i + 1 < a->n && a->cargo[i + 1].first <= t) i++;
  return &a->cargo[i];
}

#endif
