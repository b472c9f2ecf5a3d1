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

/* The last entry that begins at or before the byte, and so never an empty one; the few of one width of the index are searched by halves. */
LDG_DEVICE int64_t ldg_dev_find(const int64_t *pairs, const int64_t *index, int64_t shift, int64_t byte) {
  int64_t lo = LDG_LOAD(int64_t, index + (byte >> shift)), hi = LDG_LOAD(int64_t, index + (byte >> shift) + 1);
  while (lo < hi) {
    const int64_t mid = hi - (hi - lo) / 2;
    if (LDG_LOAD(int64_t, pairs + 2 * mid) <= byte) lo = mid;
    else hi = mid - 1;
  }
  return lo;
}

/* Byte `byte` of a node into an entry of it; the rest of the way is the entry's, whose node is returned, 0 for bytes. A root is an argument of the
 * kernel, or what it was copied to; all others are in memory. */
#define LDG_ENTER(name, GET)                                                                                    \
  LDG_DEVICE int64_t name(const int64_t *image, const ldg_image_node *node, int64_t *byte, int64_t *at) {       \
    const ldg_divisor each = { GET(node->each.n), (uint64_t)GET(node->each.magic), GET(node->each.shift) };     \
    const int64_t kind = GET(node->kind), pairs = GET(node->pairs);                                             \
    int64_t i;                                                                                                  \
    if (pairs) {                                                                                                \
      i = ldg_dev_find(image + pairs, image + GET(node->index), GET(node->shift), *byte);                       \
      *byte -= LDG_LOAD(int64_t, image + pairs + 2 * i), *at += LDG_LOAD(int64_t, image + pairs + 2 * i + 1);   \
      if (kind == LDG_IMAGE_JOIN) return LDG_LOAD(int64_t, image + GET(node->kids) + i);                        \
    }                                                                                                           \
    if (pairs || kind == LDG_IMAGE_REPEAT) {                                                                    \
      i = ldg_dev_over(*byte, &each);                                                                           \
      *at += i * GET(node->stride);                                                                             \
    } else {                                                                                                    \
      i = ldg_dev_over(*byte, &each);                                                                           \
      *at += LDG_LOAD(int64_t, image + GET(node->at) + i);                                                      \
    }                                                                                                           \
    *byte -= i * each.n;                                                                                        \
    return GET(node->child);                                                                                    \
  }
#define LDG_GET_PLAIN(x) (x)
#define LDG_GET_LOADED(x) LDG_LOAD(int64_t, (const int64_t *)&(x))
LDG_ENTER(ldg_dev_enter_root, LDG_GET_PLAIN)
LDG_ENTER(ldg_dev_enter, LDG_GET_LOADED)

LDG_DEVICE int64_t ldg_dev_place(const int32_t *place, uint32_t grain, uint32_t byte) {
  return LDG_LOAD(int32_t, place + (byte >> grain)) + (int64_t)(byte & ((1u << grain) - 1));
}

/* The offset of stream byte `byte`. */
LDG_DEVICE int64_t ldg_dev_seek(const ldg_cargo_side *s, const int64_t *image, int64_t byte) {
  if (!image) return byte;
  const int64_t item = ldg_dev_over(byte, &s->item);
  int64_t at = item * s->extent;
  byte -= item * s->item.n;
  if (s->root.kind == LDG_IMAGE_FLAT) return at + ldg_dev_place((const int32_t *)(image + s->root.at), (uint32_t)s->root.shift, (uint32_t)byte);
  if (s->root.kind == LDG_IMAGE_BYTES) return at + byte;
  int64_t word = ldg_dev_enter_root(image, &s->root, &byte, &at);
  while (word) word = ldg_dev_enter(image, (const ldg_image_node *)(image + word), &byte, &at);
  return at + byte;
}

/* Where both images are: in memory, or what a block of threads copied. */
typedef struct ldg_images { const int64_t *of[2]; } ldg_images;
LDG_DEVICE ldg_images ldg_dev_images(const ldg_cargo *c) {
  const ldg_images i = { { c->as.trees.side[0].image, c->as.trees.side[1].image } };
  return i;
}

/* Small ones are read once, by all: every step down a tree waits for a word, and in memory far longer. */
LDG_DEVICE ldg_images ldg_dev_near_images(const ldg_cargo *c, int64_t *to) {
  ldg_images i = ldg_dev_images(c);
  const int64_t words = c->as.trees.side[0].words, all = words + c->as.trees.side[1].words;
  if (!all || all > LDG_IMAGE_NEAR) return i;
  for (int64_t k = LDG_TID; k < all; k += LDG_BLOCK_DIM) to[k] = LDG_LOAD(int64_t, k < words ? i.of[0] + k : i.of[1] + (k - words));
  LDG_SYNC();
  if (words) i.of[0] = to;
  if (all > words) i.of[1] = to + words;
  return i;
}

/* Byte k of unit x. */
LDG_DEVICE ldg_pair ldg_dev_trees(const ldg_cargo *c, ldg_images i, int64_t x, int64_t k) {
  const int64_t byte = c->as.trees.from + x * c->unit + k;
  const ldg_pair p = { ldg_dev_address(c->src) + (uint64_t)ldg_dev_seek(&c->as.trees.side[0], i.of[0], byte),
                       ldg_dev_address(c->dst) + (uint64_t)ldg_dev_seek(&c->as.trees.side[1], i.of[1], byte) };
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

/* By halves: of five cases in a row a jump through a table is made, which is in constant memory that nobody has read before. */
LDG_DEVICE void ldg_dev_move_1(const ldg_pair *p, int word) {
  if (word > 4) {
    if (word == 16) LDG_MOVE_WORDS(ldg_word16, p, 1);
    else LDG_MOVE_WORDS(uint64_t, p, 1);
  } else if (word == 4) LDG_MOVE_WORDS(uint32_t, p, 1);
  else if (word == 2) LDG_MOVE_WORDS(uint16_t, p, 1);
  else LDG_MOVE_WORDS(uint8_t, p, 1);
}

/* n units, `step` apart, from x on: those that are there. A thread that is alone thus takes them in the order of the stream. */
#define LDG_MOVE_SOME(name, T, find, n)                                         \
  LDG_DEVICE void name##_1(const ldg_cargo *c, T x) {                           \
    ldg_pair p;                                                                 \
    if (x >= (T)c->hi) return;                                                  \
    find##_1(c, x, 0, &p);                                                      \
    ldg_dev_move_1(&p, c->word);                                                \
  }                                                                             \
  LDG_DEVICE void name##_##n(const ldg_cargo *c, T x, T step) {                 \
    ldg_pair p[n];                                                              \
    if (x + (n - 1) * step < (T)c->hi) {                                        \
      find##_##n(c, x, step, p);                                                \
      ldg_dev_move_##n(p, c->word);                                             \
      return;                                                                   \
    }                                                                           \
    for (int k = 0; k < n; k++) name##_1(c, x + (T)k * step);                   \
  }
LDG_MOVE_SOME(ldg_dev_move_narrow, uint32_t, ldg_dev_narrow, 4)
LDG_MOVE_SOME(ldg_dev_move_wide, uint64_t, ldg_dev_wide, 2)

/* Tile t of the cargo; all threads of the block come here, and four times their number divides the larger tile. */
#define LDG_MOVE_TILE(name, T, move, n)                                         \
  LDG_DEVICE void name(const ldg_cargo *c, int64_t t) {                         \
    const T x = (T)(c->lo + t * c->tile) + LDG_TID, step = LDG_BLOCK_DIM;       \
    if (c->tile == LDG_TILE) {                                                  \
      for (T i = 0; i < LDG_TILE; i += step) move##_1(c, x + i);                \
    } else {                                                                    \
      for (T i = 0; i < LDG_TILE_MOST; i += n * step) move##_##n(c, x + i, step); \
    }                                                                           \
  }
LDG_MOVE_TILE(ldg_dev_tile_narrow, uint32_t, ldg_dev_move_narrow, 4)
LDG_MOVE_TILE(ldg_dev_tile_wide, uint64_t, ldg_dev_move_wide, 2)

/* One word a thread: what it waits for is its place. */
LDG_DEVICE ldg_pair ldg_dev_listed(const ldg_cargo *c, uint32_t x) {
  const ldg_cargo_nest *n = &c->as.list.nest;
  ldg_pair p = { ldg_dev_mad(x, (int32_t)n->src, ldg_dev_address(c->src)), ldg_dev_mad(x, (int32_t)n->dst, ldg_dev_address(c->dst)) };
  LDG_UNROLL(1)
  for (int k = 0; k < c->nd; k++) {
    const ldg_cargo_dim *d = &n->dim[k];
    x = ldg_dev_by_narrow(x, &d->n);
    p.src = ldg_dev_mad(x, (int32_t)d->src, p.src), p.dst = ldg_dev_mad(x, (int32_t)d->dst, p.dst);
  }
  const uint64_t at = (uint64_t)LDG_LOAD(int64_t, c->as.list.at + x);
  if (c->as.list.at_dst) p.dst += at;
  else p.src += at;
  return p;
}

LDG_DEVICE void ldg_dev_tile_list(const ldg_cargo *c, int64_t t) {
  const uint32_t x = (uint32_t)(c->lo + t * LDG_TILE);
  for (uint32_t i = LDG_TID; i < LDG_TILE && x + i < (uint32_t)c->hi; i += LDG_BLOCK_DIM) {
    const ldg_pair p = ldg_dev_listed(c, x + i);
    ldg_dev_move_1(&p, c->word);
  }
}

/* Where stream byte `byte` of a flat side is. */
LDG_DEVICE uint64_t ldg_dev_flat_at(const ldg_flat_side *s, const void *base, uint32_t byte) {
  uint64_t at = ldg_dev_address(base);
  if (s->item) {
    const uint32_t item = s->magic ? ldg_dev_mulhi32(byte, s->magic) >> s->shift : byte;
    byte -= item * s->item;
    at = ldg_dev_mad(item, (int32_t)s->extent, at);
  }
  return s->place ? at + (uint64_t)ldg_dev_place(s->place, s->grain, byte) : at + byte;
}

LDG_DEVICE ldg_pair ldg_dev_flat(const ldg_cargo *c, uint32_t x) {
  const uint32_t byte = (uint32_t)c->as.flat.from + x * (uint32_t)c->unit;
  const ldg_pair p = { ldg_dev_flat_at(&c->as.flat.side[0], c->src, byte), ldg_dev_flat_at(&c->as.flat.side[1], c->dst, byte) };
  return p;
}

LDG_DEVICE void ldg_dev_tile_flat(const ldg_cargo *c, int64_t t) {
  const uint32_t x = (uint32_t)(c->lo + t * LDG_TILE);
  for (uint32_t i = LDG_TID; i < LDG_TILE && x + i < (uint32_t)c->hi; i += LDG_BLOCK_DIM) {
    const ldg_pair p = ldg_dev_flat(c, x + i);
    ldg_dev_move_1(&p, c->word);
  }
}

/* One word a thread: four ways down a tree take four times as long. */
LDG_DEVICE void ldg_dev_tile_tree_by(const ldg_cargo *c, ldg_images images, int64_t t) {
  const int64_t x = c->lo + t * LDG_TILE;
  for (int64_t i = LDG_TID; i < LDG_TILE && x + i < c->hi; i += LDG_BLOCK_DIM) {
    const ldg_pair p = ldg_dev_trees(c, images, x + i, 0);
    ldg_dev_move_1(&p, c->word);
  }
}
LDG_DEVICE void ldg_dev_tile_tree(const ldg_cargo *c, int64_t t) { ldg_dev_tile_tree_by(c, ldg_dev_images(c), t); }

LDG_DEVICE const ldg_cargo *ldg_dev_cargo(const ldg_cargo_args *a, int64_t t) {
  int64_t i = 0;
  while (i + 1 < a->n && a->cargo[i + 1].first <= t) i++;
  return &a->cargo[i];
}

#endif
