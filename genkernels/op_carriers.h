/* How the elements of reductions come into registers and back: from packed bytes at any address. */
#ifndef LDG_OP_CARRIERS_H
#define LDG_OP_CARRIERS_H

#include "kernels.h"

#include <float.h>

/* A pair as it is packed: the value, then the index right behind it. */
typedef struct ldg_fi { float v; int32_t i; } ldg_fi;
typedef struct ldg_di { double v; int32_t i; } ldg_di;
typedef struct ldg_li { long v; int32_t i; } ldg_li;
typedef struct ldg_ii { int32_t v, i; } ldg_ii;
typedef struct ldg_si { short v; int32_t i; } ldg_si;
typedef struct ldg_ldi { long double v; int32_t i; } ldg_ldi;

#define LDG_OP_GET_PLAIN(x, p, size) __builtin_memcpy(&(x), p, sizeof(x))
#define LDG_OP_PUT_PLAIN(p, x, size) __builtin_memcpy(p, &(x), sizeof(x))
#define LDG_OP_GET_PAIR(x, p, size) (__builtin_memcpy(&(x).v, p, (size_t)(size) - 4), __builtin_memcpy(&(x).i, (p) + (size) - 4, 4))
#define LDG_OP_PUT_PAIR(p, x, size) (__builtin_memcpy(p, &(x).v, (size_t)(size) - 4), __builtin_memcpy((p) + (size) - 4, &(x).i, 4))

/* The padding of an x87 number stays as it is in memory: what is in a register has none to give. */
#define LDG_LONG_BYTES (LDBL_MANT_DIG == 64 ? 10 : sizeof(long double))
#define LDG_LONG_AT(x, k) ((const char *)&(x) + (k) * sizeof(long double))
#define LDG_OP_GET_LONG(x, p, size) LDG_OP_GET_PLAIN(x, p, size)
#define LDG_OP_PUT_LONG(p, x, size) __builtin_memcpy(p, &(x), LDG_LONG_BYTES)
#define LDG_OP_GET_LONG2(x, p, size) LDG_OP_GET_PLAIN(x, p, size)
#define LDG_OP_PUT_LONG2(p, x, size)                                       \
  (__builtin_memcpy(p, LDG_LONG_AT(x, 0), LDG_LONG_BYTES),                 \
   __builtin_memcpy((p) + sizeof(long double), LDG_LONG_AT(x, 1), LDG_LONG_BYTES))
#define LDG_OP_GET_LONGPAIR(x, p, size) LDG_OP_GET_PAIR(x, p, size)
#define LDG_OP_PUT_LONGPAIR(p, x, size) \
  (__builtin_memcpy(p, &(x).v, LDG_LONG_BYTES), __builtin_memcpy((p) + (size) - 4, &(x).i, 4))

/* 16-bit floats by their bits, so that every compiler and machine does it alike. One operation in float and one rounding
 * to even is correct rounding for a sum or a product (24 >= 2 * 11 + 2). */
LDG_INLINE float ldg_float_of_bits(uint32_t u) {
  float f;
  __builtin_memcpy(&f, &u, 4);
  return f;
}
LDG_INLINE uint32_t ldg_bits_of_float(float f) {
  uint32_t u;
  __builtin_memcpy(&u, &f, 4);
  return u;
}

LDG_INLINE float ldg_get_bf16(const char *p) {
  uint16_t h;
  __builtin_memcpy(&h, p, 2);
  return ldg_float_of_bits((uint32_t)h << 16);
}
LDG_INLINE void ldg_put_bf16(char *p, float f) {
  const uint32_t u = ldg_bits_of_float(f), even = (u >> 16) & 1;
  const uint16_t h = (uint16_t)(f == f ? (u + 0x7fff + even) >> 16 : (u >> 16) | 0x40); /* of a NaN, rounding would lose it */
  __builtin_memcpy(p, &h, 2);
}

/* The exponent is moved; subnormals get one and lose what it adds, so that no subnormal float is ever used. */
LDG_INLINE float ldg_get_f16(const char *p) {
  uint16_t h;
  __builtin_memcpy(&h, p, 2);
  const uint32_t all = (uint32_t)(h & 0x7fff) << 13, sign = (uint32_t)(h & 0x8000) << 16, exponent = h & 0x7c00;
  const uint32_t tiny = ldg_bits_of_float(ldg_float_of_bits(all + 0x38800000) - 0x1p-14f);
  return ldg_float_of_bits(sign | (exponent == 0 ? tiny : exponent == 0x7c00 ? all | 0x7f800000 : all + 0x38000000));
}
/* Subnormal halves: the sum with 1/2 has its last place where theirs is, and rounds there. */
LDG_INLINE void ldg_put_f16(char *p, float f) {
  const uint32_t u = ldg_bits_of_float(f), all = u & 0x7fffffff, even = (all >> 13) & 1;
  const uint32_t tiny = ldg_bits_of_float(ldg_float_of_bits(all) + 0.5f) - 0x3f000000, usual = (all - 0x38000000 + 0xfff + even) >> 13;
  const uint32_t big = all > 0x7f800000 ? 0x7e00 | ((all >> 13) & 0x3ff) : 0x7c00;
  const uint16_t h = (uint16_t)((all < 0x38800000 ? tiny : all >= 0x477ff000 ? big : usual) | ((u >> 16) & 0x8000));
  __builtin_memcpy(p, &h, 2);
}
#define LDG_OP_GET_F16(x, p, size) ((x) = ldg_get_f16(p))
#define LDG_OP_PUT_F16(p, x, size) ldg_put_f16(p, x)
#define LDG_OP_GET_BF16(x, p, size) ((x) = ldg_get_bf16(p))
#define LDG_OP_PUT_BF16(p, x, size) ldg_put_bf16(p, x)

#endif
