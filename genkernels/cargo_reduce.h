/* A reduction: words of whole elements at the places that moves find, or elements in pieces, put together in registers, and written back. Device code, see
 * device.h. */
#ifndef LDG_CARGO_REDUCE_H
#define LDG_CARGO_REDUCE_H

#include "cargo_move.h"

#include <lading.h>
#define LDG_ELEMENT LDG_DEVICE
#include "op_elements.h"

typedef struct ldg_cf { float re, im; } ldg_cf;
typedef struct ldg_cd { double re, im; } ldg_cd;
#define LDG_COMPLEX(T)                                                                        \
  LDG_DEVICE T T##_product(T a, T b) {                                                        \
    const T r = { a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re };                     \
    return r;                                                                                 \
  }
LDG_COMPLEX(ldg_cf)
LDG_COMPLEX(ldg_cd)

/* ---- an element as two words: its bytes in order of addresses, all machines here being little-endian ---- */

#define LDG_TAKE_PLAIN(T, size, x, w)                                                         \
  do { union { ldg_word16 w_; T t; } u_; u_.w_ = w; x = u_.t; } while (0)
#define LDG_MAKE_PLAIN(T, size, w, x)                                                         \
  do { union { ldg_word16 w_; T t; } u_; u_.w_.a = u_.w_.b = 0; u_.t = x; w = u_.w_; } while (0)
#define LDG_TAKE_F16(T, size, x, w) (x = ldg_float_of_f16((uint32_t)w.a & 0xffff))
#define LDG_MAKE_F16(T, size, w, x) (w.a = ldg_f16_of_float(x) & 0xffff)
#define LDG_TAKE_BF16(T, size, x, w) (x = ldg_float_of_bf16((uint32_t)w.a & 0xffff))
#define LDG_MAKE_BF16(T, size, w, x) (w.a = ldg_bf16_of_float(x) & 0xffff)

/* Pairs: the value, and 4 bytes of index right behind it. */
#define LDG_TAKE_PAIR(T, size, x, w)                                                          \
  do {                                                                                        \
    union { ldg_word16 w_; T t; } u_;                                                         \
    u_.w_ = w; x.v = u_.t.v;                                                                  \
    x.i = (int32_t)(size == 12 ? w.b : w.a >> (8 * (size - 4) & 63));                         \
  } while (0)
#define LDG_MAKE_PAIR(T, size, w, x)                                                          \
  do {                                                                                        \
    union { ldg_word16 w_; T t; } u_;                                                         \
    u_.w_.a = u_.w_.b = 0; u_.t.v = x.v;                                                      \
    w.a = u_.w_.a;                                                                            \
    if (size == 12) w.b = (uint32_t)x.i;                                                      \
    else w.a = (w.a & ((UINT64_C(1) << (8 * (size - 4) & 63)) - 1)) | (uint64_t)(uint32_t)x.i << (8 * (size - 4) & 63); \
  } while (0)

#define LDG_REDUCTION(op, elem) ((op) * 64 + (elem))
#define LDG_REDUCE(T, size, how, expr)                                                        \
  do {                                                                                        \
    T a, b;                                                                                   \
    LDG_TAKE_##how(T, size, a, s);                                                            \
    LDG_TAKE_##how(T, size, b, d);                                                            \
    const T r = expr;                                                                         \
    LDG_MAKE_##how(T, size, d, r);                                                            \
  } while (0); break

LDG_DEVICE ldg_word16 ldg_dev_op(int reduction, ldg_word16 s, ldg_word16 d) {
  switch (reduction) {
#include "reduce_cases.h"
  default: break; /* the host asks for no other */
  }
  return d;
}

/* ---- sums, of all elements in 8 bytes; those behind the last one are 0, and come to nothing. They are what is asked for most: a jump through a table reads constant memory
 * that nobody has read before ---- */

#define LDG_SUM_PARTS(T, s, d)                                                                \
  do {                                                                                        \
    union { uint64_t w; T v[8 / sizeof(T)]; } a_, b_;                                         \
    a_.w = s, b_.w = d;                                                                       \
    LDG_UNROLL(2)                                                                             \
    for (int k_ = 0; k_ < (int)(8 / sizeof(T)); k_++) b_.v[k_] += a_.v[k_];                   \
    return b_.w;                                                                              \
  } while (0)

/* 16-bit floats come by at the lower end, and go in again at the upper one. */
LDG_OUTLINE uint64_t ldg_dev_sum_halves(bool bf16, uint64_t s, uint64_t d) {
  LDG_UNROLL(1)
  for (int k = 0; k < 4; k++, s >>= 16) {
    const uint32_t x = (uint32_t)s & 0xffff, y = (uint32_t)d & 0xffff;
    const uint32_t sum = bf16 ? ldg_bf16_of_float(ldg_float_of_bf16(x) + ldg_float_of_bf16(y)) : ldg_f16_of_float(ldg_float_of_f16(x) + ldg_float_of_f16(y));
    d = d >> 16 | (uint64_t)(sum & 0xffff) << 48;
  }
  return d;
}

/* The highest bit of each whole number takes no carry out of it. */
LDG_DEVICE uint64_t ldg_dev_highest(int elem) {
  if (elem == LADING_INT32 || elem == LADING_UINT32) return UINT64_C(0x8000000080000000);
  if (elem == LADING_INT64 || elem == LADING_UINT64) return UINT64_C(0x8000000000000000);
  return elem == LADING_INT16 || elem == LADING_UINT16 ? UINT64_C(0x8000800080008000) : UINT64_C(0x8080808080808080);
}

/* Complex numbers go by parts. */
LDG_DEVICE uint64_t ldg_dev_sum(int elem, uint64_t s, uint64_t d) {
  if (elem == LADING_DOUBLE || elem == LADING_C_DOUBLE) LDG_SUM_PARTS(double, s, d);
  if (elem == LADING_FLOAT || elem == LADING_C_FLOAT) LDG_SUM_PARTS(float, s, d);
  if (elem == LADING_FLOAT16 || elem == LADING_BFLOAT16) return ldg_dev_sum_halves(elem == LADING_BFLOAT16, s, d);
  const uint64_t high = ldg_dev_highest(elem);
  return ((s & ~high) + (d & ~high)) ^ ((s ^ d) & high);
}
LDG_DEVICE ldg_word16 ldg_dev_sum16(int elem, ldg_word16 s, ldg_word16 d) {
  const ldg_word16 r = { ldg_dev_sum(elem, s.a, d.a), ldg_dev_sum(elem, s.b, d.b) };
  return r;
}

/* ---- units: words of whole elements ---- */

/* Not of a tree. */
LDG_DEVICE ldg_pair ldg_dev_looped(const ldg_cargo *c, int64_t x) {
  ldg_pair p;
  if (c->form == LDG_FORM_NARROW) ldg_dev_narrow_1(c, (uint32_t)x, 0, &p);
  else if (c->form == LDG_FORM_WIDE) ldg_dev_wide_1(c, (uint64_t)x, 0, &p);
  else p = c->form == LDG_FORM_LIST ? ldg_dev_listed(c, (uint32_t)x) : ldg_dev_flat(c, (uint32_t)x);
  return p;
}

#define LDG_SUM_WORD(T, sum, elem, p)                                                         \
  do {                                                                                        \
    const T s_ = LDG_LOAD(T, ldg_dev_global(p.src)), d_ = LDG_LOAD(T, ldg_dev_global(p.dst)); \
    LDG_STORE(T, ldg_dev_global(p.dst), sum(elem, s_, d_));                                   \
  } while (0)
LDG_DEVICE void ldg_dev_sum_word(int elem, int word, ldg_pair p) {
  if (word > 4) {
    if (word == 16) LDG_SUM_WORD(ldg_word16, ldg_dev_sum16, elem, p);
    else LDG_SUM_WORD(uint64_t, ldg_dev_sum, elem, p);
  } else if (word == 4) LDG_SUM_WORD(uint32_t, ldg_dev_sum, elem, p);
  else if (word == 2) LDG_SUM_WORD(uint16_t, ldg_dev_sum, elem, p);
  else LDG_SUM_WORD(uint8_t, ldg_dev_sum, elem, p);
}

LDG_DEVICE void ldg_dev_sum_tile(const ldg_cargo *c, int64_t t) {
  const int64_t x = c->lo + t * LDG_TILE;
  for (uint32_t i = LDG_TID; i < LDG_TILE && x + i < c->hi; i += LDG_BLOCK_DIM) ldg_dev_sum_word(c->elem, c->word, ldg_dev_looped(c, x + i));
}

/* ---- all else: other ops, trees, elements in pieces ---- */

LDG_DEVICE uint64_t ldg_dev_read(uint64_t at, int word) {
  const char *p = ldg_dev_global(at);
  if (word == 8) return LDG_LOAD(uint64_t, p);
  if (word == 4) return LDG_LOAD(uint32_t, p);
  return word == 2 ? LDG_LOAD(uint16_t, p) : LDG_LOAD(uint8_t, p);
}
LDG_DEVICE void ldg_dev_write(uint64_t at, int word, uint64_t v) {
  char *p = ldg_dev_global(at);
  if (word == 8) LDG_STORE(uint64_t, p, v);
  else if (word == 4) LDG_STORE(uint32_t, p, (uint32_t)v);
  else if (word == 2) LDG_STORE(uint16_t, p, (uint16_t)v);
  else LDG_STORE(uint8_t, p, (uint8_t)v);
}

/* Up to 8 bytes in words, all of them read, or written, in a row. */
#define LDG_PIECES_OF(T, at, n, v, ACCESS)                                                    \
  do {                                                                                        \
    LDG_UNROLL(8)                                                                             \
    for (int k_ = 0; k_ < 8; k_ += (int)sizeof(T))                                            \
      if (k_ < n) ACCESS(T, ldg_dev_global(at + (uint64_t)k_), v, 8 * k_);                    \
  } while (0)
#define LDG_PIECE_READ(T, p, v, shift) (v |= (uint64_t)LDG_LOAD(T, p) << (shift))
#define LDG_PIECE_WRITE(T, p, v, shift) LDG_STORE(T, p, (T)(v >> (shift)))
#define LDG_PIECES(at, n, word, v, ACCESS)                                                    \
  do {                                                                                        \
    if (word == 8) LDG_PIECES_OF(uint64_t, at, n, v, ACCESS);                                 \
    else if (word == 4) LDG_PIECES_OF(uint32_t, at, n, v, ACCESS);                            \
    else if (word == 2) LDG_PIECES_OF(uint16_t, at, n, v, ACCESS);                            \
    else LDG_PIECES_OF(uint8_t, at, n, v, ACCESS);                                            \
  } while (0)

/* An element of n bytes from there on. */
LDG_DEVICE ldg_word16 ldg_dev_gather(uint64_t at, int n, int word) {
  ldg_word16 w = { 0, 0 };
  if (word == 16) return LDG_LOAD(ldg_word16, ldg_dev_global(at));
  LDG_PIECES(at, n, word, w.a, LDG_PIECE_READ);
  if (n > 8) LDG_PIECES(at + 8, n - 8, word, w.b, LDG_PIECE_READ);
  return w;
}
LDG_DEVICE void ldg_dev_scatter(uint64_t at, int n, int word, ldg_word16 w) {
  if (word == 16) {
    LDG_STORE(ldg_word16, ldg_dev_global(at), w);
    return;
  }
  LDG_PIECES(at, n, word, w.a, LDG_PIECE_WRITE);
  if (n > 8) LDG_PIECES(at + 8, n - 8, word, w.b, LDG_PIECE_WRITE);
}

/* In a tree every word of an element may be somewhere else. */
LDG_OUTLINE ldg_pair ldg_dev_piece_at(const ldg_cargo *c, int64_t x, int k) { return ldg_dev_trees(c, ldg_dev_images(c), x, k); }
LDG_DEVICE void ldg_dev_insert(ldg_word16 *w, int byte, uint64_t v) {
  if (byte < 8) w->a |= v << 8 * byte;
  else w->b |= v << 8 * (byte - 8);
}
LDG_DEVICE uint64_t ldg_dev_extract(const ldg_word16 *w, int byte) { return byte < 8 ? w->a >> 8 * byte : w->b >> 8 * (byte - 8); }

LDG_DEVICE void ldg_dev_reduce_unit(const ldg_cargo *c, ldg_images images, int64_t x) {
  const bool tree = c->form == LDG_FORM_TREES, apart = tree && c->unit != c->word;
  const ldg_pair nowhere = { 0, 0 }, unit = apart ? nowhere : tree ? ldg_dev_trees(c, images, x, 0) : ldg_dev_looped(c, x);
  ldg_word16 s = { 0, 0 }, d = { 0, 0 };
  if (!apart) s = ldg_dev_gather(unit.src, c->unit, c->word), d = ldg_dev_gather(unit.dst, c->unit, c->word);
  for (int k = 0; apart && k < c->unit; k += c->word) {
    const ldg_pair p = ldg_dev_piece_at(c, x, k);
    ldg_dev_insert(&s, k, ldg_dev_read(p.src, c->word));
    ldg_dev_insert(&d, k, ldg_dev_read(p.dst, c->word));
  }
  d = c->op == LADING_SUM ? ldg_dev_sum16(c->elem, s, d) : ldg_dev_op(LDG_REDUCTION(c->op, c->elem), s, d);
  if (!apart) ldg_dev_scatter(unit.dst, c->unit, c->word, d);
  for (int k = 0; apart && k < c->unit; k += c->word) ldg_dev_write(ldg_dev_piece_at(c, x, k).dst, c->word, ldg_dev_extract(&d, k));
}

LDG_DEVICE void ldg_dev_reduce_tile_by(const ldg_cargo *c, ldg_images images, int64_t t) {
  const int64_t x = c->lo + t * LDG_TILE;
  for (int64_t i = LDG_TID; i < LDG_TILE && x + i < c->hi; i += LDG_BLOCK_DIM) ldg_dev_reduce_unit(c, images, x + i);
}

/* In line, in kernels of several cargos, nvcc 13.0 had not compiled it after ten minutes. */
LDG_OUTLINE void ldg_dev_reduce_tile(const ldg_cargo *c, int64_t t) {
  if (LDG_CARGO_SUMS(c)) ldg_dev_sum_tile(c, t);
  else ldg_dev_reduce_tile_by(c, ldg_dev_images(c), t);
}

#endif
