/* Hashes of long strings that compose: Karp-Rabin words. h(AB) = h(A) * r^|B| + h(B) modulo 2^61 - 1, for two bases at once,
 * so that concatenation and repetition never expand anything. Ids made of them are compared between processes and releases:
 * any change of the constants is a change of every format version. They name, they do not authenticate: the bases are public,
 * so whoever wants can construct two strings of one hash.
 */
#ifndef LDG_BASE_HASH_H
#define LDG_BASE_HASH_H

#include "base.h"

typedef struct ldg_word { uint64_t h[2], power[2]; } ldg_word; /* of a string, and r^length to put it behind another */

#define LDG_WORD_MODULUS (((uint64_t)1 << 61) - 1) /* a Mersenne prime: reduction is a shift and an add */
extern const ldg_word ldg_word_empty;

static inline uint64_t ldg_word_fold(uint64_t x) {
  x = (x & LDG_WORD_MODULUS) + (x >> 61);
  return x >= LDG_WORD_MODULUS ? x - LDG_WORD_MODULUS : x;
}

static inline uint64_t ldg_word_times(uint64_t a, uint64_t b) {
  unsigned __int128 p = (unsigned __int128)a * b;
  return ldg_word_fold((uint64_t)(p & LDG_WORD_MODULUS) + (uint64_t)(p >> 61));
}

static inline ldg_word ldg_word_concat(ldg_word a, ldg_word b) {
  ldg_word r;
  for (int k = 0; k < 2; k++) {
    r.h[k] = ldg_word_fold(ldg_word_times(a.h[k], b.power[k]) + b.h[k]);
    r.power[k] = ldg_word_times(a.power[k], b.power[k]);
  }
  return r;
}

/* The word of one letter. All 2^64 letters differ in at least one of the two hashes: equal ones would need
 * (C0 - C1) * (difference of the high halves) = 0 modulo the prime. */
ldg_word ldg_word_letter(uint64_t letter);

/* The 128-bit id of (version, length, more, word): XXH3-128 over their little-endian bytes on every machine. */
lading_id ldg_word_id(uint64_t version, int64_t length, int64_t more, const uint64_t h[2]);

#endif
