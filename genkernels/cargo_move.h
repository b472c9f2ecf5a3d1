/* How a block of threads moves a tile of a cargo: where its words are, then loads, then stores. Device code, see device.h. */
#ifndef LDG_CARGO_MOVE_H
#define LDG_CARGO_MOVE_H

#include "device.h"
#include "cargo.h"

typedef struct ldg_pair { const char *src; char *dst; } ldg_pair;

LDG_DEVICE int64_t ldg_dev_over(int64_t x, const ldg_divisor *d) {
  return d->magic ? (int64_t)(ldg_dev_mulhi64((uint64_t)x, d->magic) >> d->shift) : x;
}
LDG_DEVICE uint32_t ldg_dev_over_narrow(uint32_t x, const ldg_divisor *d) {
  return d->magic ? (uint32_t)((uint64_t)x * (uint32_t)d->magic >> 32) >> d->shift : x;
}

/* ---- nests: the digits of the unit's number, from the inside out ---- */

#define LDG_NEST_PAIR(name, T, over)                                                                  \
  LDG_DEVICE ldg_pair name(const ldg_cargo *c, T x) {                                                 \
    const ldg_cargo_nest *n = &c->as.nest;                                                            \
    T up = over(x, &n->block);                                                                        \
    const int64_t in = (int64_t)(x - up * (T)n->block.n) * c->unit;                                   \
    int64_t src = in, dst = in;                                                                       \
    LDG_UNROLL(1)                                                                                     \
    for (int k = 0; k < c->nd - 1; k++) {                                                             \
      const T next = over(up, &n->dim[k].n), i = up - next * (T)n->dim[k].n.n;                        \
      src += (int64_t)i * n->dim[k].src, dst += (int64_t)i * n->dim[k].dst;                           \
      up = next;                                                                                      \
    }                                                                                                 \
    const ldg_pair p = { c->src + src + (int64_t)up * n->dim[c->nd - 1].src, c->dst + dst + (int64_t)up * n->dim[c->nd - 1].dst }; \
    return p;                                                                                         \
  }
LDG_NEST_PAIR(ldg_dev_wide, int64_t, ldg_dev_over)
LDG_NEST_PAIR(ldg_dev_narrow, uint32_t, ldg_dev_over_narrow)

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
  const ldg_pair p = { c->src + ldg_dev_seek(&c->as.trees.side[0], byte), c->dst + ldg_dev_seek(&c->as.trees.side[1], byte) };
  return p;
}

/* ---- tiles ---- */

/* n units at the places p, all read before the first is written. */
#define LDG_MOVE_WORDS(T, p, n)                                                 \
  do {                                                                          \
    T v[n];                                                                     \
    LDG_UNROLL(4)                                                               \
    for (int k = 0; k < n; k++) v[k] = LDG_LOAD(T, p[k].src);                   \
    LDG_UNROLL(4)                                                               \
    for (int k = 0; k < n; k++) LDG_STORE(T, p[k].dst, v[k]);                   \
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
#define LDG_MOVE_SOME(name, find, n)                                            \
  LDG_DEVICE void name(const ldg_cargo *c, int64_t x, int64_t step) {           \
    ldg_pair p[n];                                                              \
    if (x + (n - 1) * step < c->hi) {                                           \
      LDG_UNROLL(4)                                                             \
      for (int k = 0; k < n; k++) p[k] = find(c, x + k * step);                 \
      ldg_dev_move_##n(p, c->word);                                             \
      return;                                                                   \
    }                                                                           \
    for (int k = 0; k < n && x < c->hi; k++, x += step) {                       \
      p[0] = find(c, x);                                                        \
      ldg_dev_move_1(p, c->word);                                               \
    }                                                                           \
  }

LDG_DEVICE ldg_pair ldg_dev_narrow_unit(const ldg_cargo *c, int64_t x) { return ldg_dev_narrow(c, (uint32_t)x); }
LDG_DEVICE ldg_pair ldg_dev_tree_unit(const ldg_cargo *c, int64_t x) { return ldg_dev_trees(c, x, 0); }
LDG_MOVE_SOME(ldg_dev_move_narrow, ldg_dev_narrow_unit, 4)
LDG_MOVE_SOME(ldg_dev_move_wide, ldg_dev_wide, 2)
LDG_MOVE_SOME(ldg_dev_move_trees, ldg_dev_tree_unit, 4)
LDG_MOVE_SOME(ldg_dev_move_tree, ldg_dev_tree_unit, 1)

/* Tile t of the cargo; all threads of the block come here, and four times their number divides a tile. */
#define LDG_MOVE_TILE(name, move, n)                                            \
  LDG_DEVICE void name(const ldg_cargo *c, int64_t t) {                         \
    const int64_t x = c->lo + t * LDG_TILE + LDG_TID, step = LDG_BLOCK_DIM;     \
    for (int64_t i = 0; i < LDG_TILE; i += n * step) move(c, x + i, step);      \
  }
LDG_MOVE_TILE(ldg_dev_tile_narrow, ldg_dev_move_narrow, 4)
LDG_MOVE_TILE(ldg_dev_tile_wide, ldg_dev_move_wide, 2)
LDG_MOVE_TILE(ldg_dev_tile_trees, ldg_dev_move_trees, 4)
LDG_MOVE_TILE(ldg_dev_tile_tree, ldg_dev_move_tree, 1)

LDG_DEVICE const ldg_cargo *ldg_dev_cargo(const ldg_cargo_args *a, int64_t t) {
  int64_t i = 0;
  while (i + 1 < a->n && a->cargo[i + 1].first <= t) i++;
  return &a->cargo[i];
}

#endif
