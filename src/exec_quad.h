/* exec_quad: long double <-> IEEE binary128, the long double of external32, by bits. x87 extended has the exponents of binary128
 * and 63 of its 112 bits of fraction, so that widening is exact; narrowing rounds to nearest, ties to even. */
#ifndef LDG_EXEC_QUAD_H
#define LDG_EXEC_QUAD_H

#include "base.h"

typedef unsigned __int128 ldg_quad;
#define LDG_QUAD_FRACTION (((ldg_quad)1 << 112) - 1)
#define LDG_QUAD_QUIET ((ldg_quad)1 << 111)

static inline ldg_quad ldg_quad_make(bool sign, uint64_t exponent, ldg_quad fraction) {
  return (ldg_quad)sign << 127 | (ldg_quad)exponent << 112 | fraction;
}
static inline bool ldg_quad_sign(ldg_quad q) { return q >> 127; }
static inline uint64_t ldg_quad_exponent(ldg_quad q) { return (uint64_t)(q >> 112) & 0x7fff; }

/* v / 2^bits; a carry goes on into whatever stands above. */
static inline ldg_quad ldg_quad_round(ldg_quad v, int bits) {
  if (bits > 127) return 0;
  const ldg_quad rest = v & (((ldg_quad)1 << bits) - 1), half = (ldg_quad)1 << (bits - 1), q = v >> bits;
  return q + (rest > half || (rest == half && (q & 1)));
}

/* `m` is the significand with its integer bit, `se` sign and exponent. Numbers without an integer bit where there has to be one
 * are invalid to the processor, too: NaN. Subnormals with one (which x87 reads, never writes) are normal in binary128. */
static inline ldg_quad ldg_quad_of_x87(uint64_t m, uint16_t se) {
  const uint64_t exponent = se & 0x7fff;
  const bool sign = se >> 15, integer = m >> 63;
  const ldg_quad fraction = (ldg_quad)(m & INT64_MAX) << 49;
  if (exponent && !integer) return ldg_quad_make(sign, 0x7fff, LDG_QUAD_QUIET);
  return ldg_quad_make(sign, exponent == 0 && integer ? 1 : exponent, fraction);
}

static inline uint64_t ldg_x87_of_quad(ldg_quad q, uint16_t *se) {
  const uint64_t exponent = ldg_quad_exponent(q);
  const ldg_quad fraction = q & LDG_QUAD_FRACTION;
  ldg_quad all = (ldg_quad)exponent << 63;
  if (exponent < 0x7fff) all = ldg_quad_round(q & ~((ldg_quad)1 << 127), 49);
  else if (fraction) all |= (ldg_quad)1 << 62 | fraction >> 49;
  const uint16_t e = (uint16_t)(all >> 63);
  *se = (uint16_t)(e | ldg_quad_sign(q) << 15);
  return ((uint64_t)all & INT64_MAX) | (uint64_t)(e != 0) << 63;
}

/* For machines whose long double is a double. */
static inline ldg_quad ldg_quad_of_double(double d) {
  uint64_t u;
  memcpy(&u, &d, sizeof u);
  const uint64_t fraction = u & ((UINT64_C(1) << 52) - 1), exponent = u >> 52 & 0x7ff;
  if (exponent == 0x7ff) return ldg_quad_make(u >> 63, 0x7fff, (ldg_quad)fraction << 60);
  if (exponent) return ldg_quad_make(u >> 63, exponent + 16383 - 1023, (ldg_quad)fraction << 60);
  if (!fraction) return ldg_quad_make(u >> 63, 0, 0);
  const int up = __builtin_clzll(fraction) - 11; /* until the first bit stands where the hidden one does */
  return ldg_quad_make(u >> 63, (uint64_t)(16383 - 1022 - up), (ldg_quad)fraction << (60 + up) & LDG_QUAD_FRACTION);
}

static inline double ldg_double_of_quad(ldg_quad q) {
  const int64_t exponent = (int64_t)ldg_quad_exponent(q) - 16383 + 1023;
  const ldg_quad fraction = q & LDG_QUAD_FRACTION, whole = (ldg_quad)1 << 112 | fraction;
  uint64_t u = UINT64_C(0x7ff) << 52;
  if (ldg_quad_exponent(q) == 0x7fff) u |= (uint64_t)(fraction >> 60) | (uint64_t)(fraction != 0) << 51;
  else if (ldg_quad_exponent(q) == 0) u = 0;
  else if (exponent < 1) u = (uint64_t)ldg_quad_round(whole, (int)ldg_min(61 - exponent, 128));
  else if (exponent < 0x7ff) u = ((uint64_t)(exponent - 1) << 52) + (uint64_t)ldg_quad_round(whole, 60); /* may become infinity */
  u |= (uint64_t)ldg_quad_sign(q) << 63;
  double d;
  memcpy(&d, &u, sizeof d);
  return d;
}

#endif
