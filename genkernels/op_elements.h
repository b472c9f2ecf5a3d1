/* Elements that no compiler knows everywhere, for host and device code alike: pairs, and 16-bit floats. LDG_ELEMENT says what kind of
 * function these are. */
#ifndef LDG_OP_ELEMENTS_H
#define LDG_OP_ELEMENTS_H

#include <stdint.h>

/* A pair as it is packed: the value, then the index right behind it. */
typedef struct ldg_fi { float v; int32_t i; } ldg_fi;
typedef struct ldg_di { double v; int32_t i; } ldg_di;
typedef struct ldg_li { long v; int32_t i; } ldg_li;
typedef struct ldg_ii { int32_t v, i; } ldg_ii;
typedef struct ldg_si { short v; int32_t i; } ldg_si;

/* 16-bit floats by their bits, so that every compiler and machine does it alike. One operation in float and one rounding
 * to even is correct rounding for a sum or a product (24 >= 2 * 11 + 2). */
typedef union ldg_float_bits { float f; uint32_t u; } ldg_float_bits;
LDG_ELEMENT float ldg_float_of_bits(uint32_t u) {
  ldg_float_bits x;
  x.u = u;
  return x.f;
}
LDG_ELEMENT uint32_t ldg_bits_of_float(float f) {
  ldg_float_bits x;
  x.f = f;
  return x.u;
}

LDG_ELEMENT float ldg_float_of_bf16(uint32_t h) { return ldg_float_of_bits(h << 16); }
LDG_ELEMENT uint32_t ldg_bf16_of_float(float f) {
  const uint32_t u = ldg_bits_of_float(f), even = (u >> 16) & 1;
  return f == f ? (u + 0x7fff + even) >> 16 : (u >> 16) | 0x40; /* of a NaN, rounding would lose it */
}

/* The exponent is moved; subnormals get one and lose what it adds, so that no subnormal float is ever used. */
LDG_ELEMENT float ldg_float_of_f16(uint32_t h) {
  const uint32_t all = (h & 0x7fff) << 13, sign = (h & 0x8000) << 16, exponent = h & 0x7c00;
  const uint32_t tiny = ldg_bits_of_float(ldg_float_of_bits(all + 0x38800000) - 0x1p-14f);
  return ldg_float_of_bits(sign | (exponent == 0 ? tiny : exponent == 0x7c00 ? all | 0x7f800000 : all + 0x38000000));
}
/* Subnormal halves: the sum with 1/2 has its last place where theirs is, and rounds there. */
LDG_ELEMENT uint32_t ldg_f16_of_float(float f) {
  const uint32_t u = ldg_bits_of_float(f), all = u & 0x7fffffff, even = (all >> 13) & 1;
  const uint32_t tiny = ldg_bits_of_float(ldg_float_of_bits(all) + 0.5f) - 0x3f000000, usual = (all - 0x38000000 + 0xfff + even) >> 13;
  const uint32_t big = all > 0x7f800000 ? 0x7e00 | ((all >> 13) & 0x3ff) : 0x7c00;
  return (all < 0x38800000 ? tiny : all >= 0x477ff000 ? big : usual) | ((u >> 16) & 0x8000);
}

#endif
