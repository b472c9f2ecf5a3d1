/* Quotients without a division. */
#ifndef LDG_BASE_INVERSE_H
#define LDG_BASE_INVERSE_H

#include "base.h"

typedef struct ldg_inverse { uint64_t by; int shift; } ldg_inverse;

/* Of n > 0, for dividends of so many bits, at most 63: by = floor(2^(bits + shift) / n) + 1, where 2^(shift - 1) < n <= 2^shift. That is
 * too large by at most n / 2^(bits + shift) <= 2^-bits of itself: it moves no quotient of an x < 2^bits to the next integer. */
static inline ldg_inverse ldg_inverse_of(int64_t n, int bits) {
  const int shift = n > 1 ? 64 - __builtin_clzll((uint64_t)n - 1) : 0;
  return (ldg_inverse){ (uint64_t)(((unsigned __int128)1 << (bits + shift)) / (uint64_t)n + 1), shift };
}

/* x / n, of an inverse for 63 bits; 0 <= x. */
static inline int64_t ldg_inverse_quotient(int64_t x, ldg_inverse n) {
  return (int64_t)((uint64_t)((unsigned __int128)(2 * (uint64_t)x) * n.by >> 64) >> n.shift);
}

#endif
