/* Elements of a reduction: read word by word, reduced in registers, written back. Device code, see device.h. */
#ifndef LDG_CARGO_REDUCE_H
#define LDG_CARGO_REDUCE_H

#include "cargo_move.h"

#include <lading.h>
#define LDG_ELEMENT LDG_DEVICE
#include "op_elements.h"

typedef struct ldg_cf { float re, im; } ldg_cf;
typedef struct ldg_cd { double re, im; } ldg_cd;
#define LDG_COMPLEX(T)                                                                        \
  LDG_DEVICE T T##_sum(T a, T b) { const T r = { a.re + b.re, a.im + b.im }; return r; }      \
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

LDG_DEVICE ldg_word16 ldg_dev_op(int op, int elem, ldg_word16 s, ldg_word16 d) {
  switch (LDG_REDUCTION(op, elem)) {
#include "reduce_cases.h"
  default: break; /* the host asks for no other */
  }
  return d;
}

/* ---- words of 1 to 8 bytes ---- */

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
LDG_DEVICE void ldg_dev_insert(ldg_word16 *w, int byte, uint64_t v) {
  if (byte < 8) w->a |= v << 8 * byte;
  else w->b |= v << 8 * (byte - 8);
}
LDG_DEVICE uint64_t ldg_dev_extract(const ldg_word16 *w, int byte) { return byte < 8 ? w->a >> 8 * byte : w->b >> 8 * (byte - 8); }

/* Byte k of unit x: in a tree every word of an element is somewhere else. */
LDG_DEVICE ldg_pair ldg_dev_word_at(const ldg_cargo *c, int64_t x, ldg_pair unit, int k) {
  const ldg_pair p = { unit.src + (uint64_t)k, unit.dst + (uint64_t)k };
  return c->form == LDG_FORM_TREES ? ldg_dev_trees(c, ldg_dev_images(c), x, k) : p;
}
LDG_DEVICE ldg_pair ldg_dev_unit_at(const ldg_cargo *c, int64_t x) {
  ldg_pair p = { 0, 0 };
  if (c->form == LDG_FORM_NARROW) ldg_dev_narrow_1(c, (uint32_t)x, 0, &p);
  else if (c->form == LDG_FORM_WIDE) ldg_dev_wide_1(c, (uint64_t)x, 0, &p);
  return p;
}

LDG_DEVICE void ldg_dev_reduce_unit(const ldg_cargo *c, int64_t x) {
  const ldg_pair unit = ldg_dev_unit_at(c, x);
  ldg_word16 s = { 0, 0 }, d = { 0, 0 };
  for (int k = 0; k < c->unit; k += c->word) {
    const ldg_pair p = ldg_dev_word_at(c, x, unit, k);
    ldg_dev_insert(&s, k, ldg_dev_read(p.src, c->word));
    ldg_dev_insert(&d, k, ldg_dev_read(p.dst, c->word));
  }
  d = ldg_dev_op(c->op, c->elem, s, d);
  for (int k = 0; k < c->unit; k += c->word) ldg_dev_write(ldg_dev_word_at(c, x, unit, k).dst, c->word, ldg_dev_extract(&d, k));
}

LDG_OUTLINE void ldg_dev_reduce_tile(const ldg_cargo *c, int64_t t) {
  const int64_t x = c->lo + t * c->tile;
  for (int64_t i = LDG_TID; i < c->tile && x + i < c->hi; i += LDG_BLOCK_DIM) ldg_dev_reduce_unit(c, x + i);
}

#endif
