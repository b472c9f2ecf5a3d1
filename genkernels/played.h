/* What kernels of v4 ask of AVX-512, as plain C over AVX2 (-Dplayed=true): sanitizers see every byte that a mask lets through, and no other, and machines without AVX-512 run these
 * kernels, too. Included before all else, so that the compiler's own header is read as for v3. A function that is missing here does not compile: it would need the real thing. */
#ifndef LDG_PLAYED_H
#define LDG_PLAYED_H

#include <immintrin.h>
#include <stdint.h>

#define __AVX512F__ 1
#define __AVX512BW__ 1
#define __AVX512DQ__ 1
#define __AVX512VL__ 1
#define target(level) unused /* of functions with AVX-512 VBMI */

#define LDG_PLAY static __attribute__((noinline, unused)) /* none is on any way that is timed */
typedef union ldg_played_bytes { __m512i all; __m256i half[2]; __m128i lane[4]; char byte[64]; uint8_t at[64]; uint32_t word[16]; } ldg_played_bytes;

/* ---- under masks: n lanes ---- */

LDG_PLAY void ldg_played_some(char *d, const char *s, uint64_t mask, int n, int lane) {
  for (int i = 0; i < n; i++)
    for (int k = i * lane; (mask >> i & 1) && k < (i + 1) * lane; k++) d[k] = s[k];
}
LDG_PLAY __m512i ldg_played_load(uint64_t mask, const void *s, int n, int lane) {
  ldg_played_bytes x = { .byte = { 0 } };
  ldg_played_some(x.byte, (const char *)s, mask, n, lane);
  return x.all;
}
LDG_PLAY void ldg_played_store(void *d, uint64_t mask, __m512i from, int n, int lane) {
  const ldg_played_bytes x = { .all = from };
  ldg_played_some((char *)d, x.byte, mask, n, lane);
}
LDG_PLAY __m512i ldg_played_wide(__m256i low) { return ((ldg_played_bytes){ .half = { low } }).all; }
LDG_PLAY __m256i ldg_played_low(__m512i x) { return ((ldg_played_bytes){ .all = x }).half[0]; }
#define _mm512_maskz_loadu_epi8(mask, s) ldg_played_load(mask, s, 64, 1)
#define _mm512_maskz_loadu_epi32(mask, s) ldg_played_load(mask, s, 16, 4)
#define _mm256_maskz_loadu_epi8(mask, s) ldg_played_low(ldg_played_load(mask, s, 32, 1))
#define _mm512_mask_storeu_epi8(d, mask, x) ldg_played_store(d, mask, x, 64, 1)
#define _mm512_mask_storeu_epi32(d, mask, x) ldg_played_store(d, mask, x, 16, 4)
#define _mm256_mask_storeu_epi8(d, mask, x) ldg_played_store(d, mask, ldg_played_wide(x), 32, 1)

/* ---- shuffles ---- */

LDG_PLAY __m512i ldg_played_by_bytes(__m512i lanes, __m512i from, int n) {
  const ldg_played_bytes l = { .all = lanes }, x = { .all = from };
  ldg_played_bytes y = x;
  for (int i = 0; i < n; i++) y.at[i] = x.at[l.at[i] & (n - 1)];
  return y.all;
}
LDG_PLAY __m512i ldg_played_by_words(__m512i lanes, __m512i from) {
  const ldg_played_bytes l = { .all = lanes }, x = { .all = from };
  ldg_played_bytes y = x;
  for (int i = 0; i < 16; i++) y.word[i] = x.word[l.word[i] & 15];
  return y.all;
}
#define _mm512_permutexvar_epi8(lanes, x) ldg_played_by_bytes(lanes, x, 64)
#define _mm256_permutexvar_epi8(lanes, x) ldg_played_low(ldg_played_by_bytes(ldg_played_wide(lanes), ldg_played_wide(x), 32))
#define _mm512_permutexvar_epi32(lanes, x) ldg_played_by_words(lanes, x)

/* Elements of two registers take turns, in each lane of 16 bytes: so each half is one of AVX2. */
#define LDG_PLAY_UNPACK(name)                                                                           \
  LDG_PLAY __m512i ldg_played_##name(__m512i a, __m512i b) {                                            \
    const ldg_played_bytes x = { .all = a }, y = { .all = b };                                          \
    return ((ldg_played_bytes){ .half = { _mm256_##name(x.half[0], y.half[0]), _mm256_##name(x.half[1], y.half[1]) } }).all; \
  }
LDG_PLAY_UNPACK(unpacklo_epi8)
LDG_PLAY_UNPACK(unpacklo_epi16)
LDG_PLAY_UNPACK(unpacklo_epi32)
LDG_PLAY_UNPACK(unpacklo_epi64)
LDG_PLAY_UNPACK(unpackhi_epi8)
LDG_PLAY_UNPACK(unpackhi_epi16)
LDG_PLAY_UNPACK(unpackhi_epi32)
LDG_PLAY_UNPACK(unpackhi_epi64)
#define _mm512_unpacklo_epi8(a, b) ldg_played_unpacklo_epi8(a, b)
#define _mm512_unpacklo_epi16(a, b) ldg_played_unpacklo_epi16(a, b)
#define _mm512_unpacklo_epi32(a, b) ldg_played_unpacklo_epi32(a, b)
#define _mm512_unpacklo_epi64(a, b) ldg_played_unpacklo_epi64(a, b)
#define _mm512_unpackhi_epi8(a, b) ldg_played_unpackhi_epi8(a, b)
#define _mm512_unpackhi_epi16(a, b) ldg_played_unpackhi_epi16(a, b)
#define _mm512_unpackhi_epi32(a, b) ldg_played_unpackhi_epi32(a, b)
#define _mm512_unpackhi_epi64(a, b) ldg_played_unpackhi_epi64(a, b)

/* ---- whole registers ---- */

#undef _mm512_inserti32x4 /* clang's headers have these as macros, gcc's where it does not optimize */
#undef _mm512_inserti64x4
LDG_PLAY __m512i ldg_played_lane(__m512i from, __m128i with, int i) {
  ldg_played_bytes x = { .all = from };
  x.lane[i] = with;
  return x.all;
}
LDG_PLAY __m512i ldg_played_of_two(__m512i low, __m256i high) { return ((ldg_played_bytes){ .half = { ldg_played_low(low), high } }).all; }
LDG_PLAY __m512i ldg_played_get(const void *s) {
  __m512i x;
  __builtin_memcpy(&x, s, sizeof x);
  return x;
}
LDG_PLAY void ldg_played_put(void *d, __m512i x) { __builtin_memcpy(d, &x, sizeof x); }
LDG_PLAY void ldg_played_stream(void *d, __m512i x) { /* plainly: no sanitizer sees the other one */
  if ((uintptr_t)d % 64) __builtin_trap();
  ldg_played_put(d, x);
}
#define _mm512_castsi128_si512(x) ldg_played_lane(ldg_played_wide(_mm256_setzero_si256()), x, 0)
#define _mm512_castsi256_si512(x) ldg_played_wide(x)
#define _mm512_inserti32x4(x, with, i) ldg_played_lane(x, with, i)
#define _mm512_inserti64x4(x, with, one) ldg_played_of_two(x, with)
#define _mm512_loadu_si512(s) ldg_played_get(s)
#define _mm512_storeu_si512(d, x) ldg_played_put(d, x)
#define _mm512_stream_si512(d, x) ldg_played_stream(d, x)

#endif
