/* Windows of a register or two: loads, shuffles of single bytes, and stores, as each level has them. */
#ifndef LDG_WINDOW_H
#define LDG_WINDOW_H

#include "kernels.h"

#if defined(__AVX2__)

enum { LDG_WINDOW = 32 };
typedef struct ldg_wide { __m256i first, second; } ldg_wide; /* 16 bytes each, twice: shuffles do not leave lanes of 16 bytes */
typedef ldg_wide ldg_lookup;
typedef __m256i ldg_made;

#define LDG_AT_128(p) ((const __m128i *)(const void *)(p))
#define LDG_TO_128(p) ((__m128i *)(void *)(p))
LDG_INLINE __m256i ldg_twice(const char *s) { return _mm256_broadcastsi128_si256(_mm_loadu_si128(LDG_AT_128(s))); }
LDG_INLINE ldg_wide ldg_load(const char *s) { return (ldg_wide){ ldg_twice(s), ldg_twice(s + 16) }; }

/* Of each half: indices from 128 on give 0, of others four bits count. */
LDG_INLINE ldg_lookup ldg_lookup_of(const unsigned char *at) {
  const __m256i first = _mm256_loadu_si256((const __m256i *)(const void *)at);
  return (ldg_lookup){ first, _mm256_xor_si256(first, _mm256_set1_epi8(-128)) };
}
LDG_INLINE __m256i ldg_shuffled(ldg_wide x, ldg_lookup at) {
  return _mm256_or_si256(_mm256_shuffle_epi8(x.first, at.first), _mm256_shuffle_epi8(x.second, at.second));
}
LDG_INLINE void ldg_put(char *d, __m256i x) { _mm256_storeu_si256((__m256i *)(void *)d, x); }
LDG_INLINE void ldg_put_half(char *d, __m256i x) { _mm_storeu_si128(LDG_TO_128(d), _mm256_castsi256_si128(x)); }
LDG_INLINE ldg_wide ldg_of_words(uint64_t x, uint64_t y) {
  return (ldg_wide){ _mm256_broadcastsi128_si256(_mm_set_epi64x((int64_t)y, (int64_t)x)), _mm256_setzero_si256() };
}
LDG_INLINE uint64_t ldg_word_0(__m256i x) { return (uint64_t)_mm256_extract_epi64(x, 0); }
LDG_INLINE uint64_t ldg_word_1(__m256i x) { return (uint64_t)_mm256_extract_epi64(x, 1); }
LDG_INLINE ldg_wide ldg_load_16s(const char *s, int64_t span) { return (ldg_wide){ ldg_twice(s), ldg_twice(s + span - 16) }; }
LDG_INLINE void ldg_put_16s(char *d, __m256i x, int64_t span) {
  _mm_storeu_si128(LDG_TO_128(d), _mm256_castsi256_si128(x)), _mm_storeu_si128(LDG_TO_128(d + span - 16), _mm256_extracti128_si256(x, 1));
}

#elif defined(__SSE4_1__)

enum { LDG_WINDOW = 16 };
typedef __m128i ldg_wide, ldg_lookup, ldg_made;

#define LDG_AT_128(p) ((const __m128i *)(const void *)(p))
#define LDG_TO_128(p) ((__m128i *)(void *)(p))
LDG_INLINE __m128i ldg_load(const char *s) { return _mm_loadu_si128(LDG_AT_128(s)); }
LDG_INLINE __m128i ldg_lookup_of(const unsigned char *at) { return _mm_loadu_si128(LDG_AT_128(at)); }
LDG_INLINE __m128i ldg_shuffled(__m128i x, __m128i at) { return _mm_shuffle_epi8(x, at); }
LDG_INLINE void ldg_put(char *d, __m128i x) { _mm_storeu_si128((__m128i *)(void *)d, x); }
LDG_INLINE void ldg_put_half(char *d, __m128i x) { _mm_storel_epi64(LDG_TO_128(d), x); }
LDG_INLINE __m128i ldg_of_words(uint64_t x, uint64_t y) { return _mm_set_epi64x((int64_t)y, (int64_t)x); }
LDG_INLINE uint64_t ldg_word_0(__m128i x) { return (uint64_t)_mm_cvtsi128_si64(x); }
LDG_INLINE uint64_t ldg_word_1(__m128i x) { return (uint64_t)_mm_extract_epi64(x, 1); }
LDG_INLINE __m128i ldg_load_16s(const char *s, int64_t span) { return (void)span, ldg_load(s); } /* never */
LDG_INLINE void ldg_put_16s(char *d, __m128i x, int64_t span) { (void)span, ldg_put(d, x); }      /* never */

#elif defined(__aarch64__)

#include <arm_neon.h>

enum { LDG_WINDOW = 32 };
typedef uint8x16x2_t ldg_wide, ldg_lookup, ldg_made;

LDG_INLINE uint8x16_t ldg_vector(const char *s) { return vld1q_u8((const uint8_t *)s); }
LDG_INLINE ldg_wide ldg_load(const char *s) { return (ldg_wide){ { ldg_vector(s), ldg_vector(s + 16) } }; }
LDG_INLINE ldg_lookup ldg_lookup_of(const unsigned char *at) {
  const uint8x16_t base = vdupq_n_u8(LDG_WINDOW_BASE);
  return (ldg_lookup){ { vsubq_u8(vld1q_u8(at), base), vsubq_u8(vld1q_u8(at + 16), base) } };
}
LDG_INLINE ldg_made ldg_shuffled(ldg_wide x, ldg_lookup at) { return (ldg_made){ { vqtbl2q_u8(x, at.val[0]), vqtbl2q_u8(x, at.val[1]) } }; }
LDG_INLINE ldg_wide ldg_load_16s(const char *s, int64_t span) { return (ldg_wide){ { ldg_vector(s), ldg_vector(s + span - 16) } }; }
LDG_INLINE void ldg_put_16s(char *d, ldg_made x, int64_t span) {
  vst1q_u8((uint8_t *)d, x.val[0]), vst1q_u8((uint8_t *)(d + span - 16), x.val[1]);
}
LDG_INLINE void ldg_put(char *d, ldg_made x) { ldg_put_16s(d, x, 32); }
LDG_INLINE void ldg_put_half(char *d, ldg_made x) { vst1q_u8((uint8_t *)d, x.val[0]); }
LDG_INLINE ldg_wide ldg_of_words(uint64_t x, uint64_t y) {
  const uint8x16_t all = vcombine_u8(vcreate_u8(x), vcreate_u8(y));
  return (ldg_wide){ { all, all } };
}
LDG_INLINE uint64_t ldg_word_0(ldg_made x) { return vgetq_lane_u64(vreinterpretq_u64_u8(x.val[0]), 0); }
LDG_INLINE uint64_t ldg_word_1(ldg_made x) { return vgetq_lane_u64(vreinterpretq_u64_u8(x.val[0]), 1); }

#endif

/* Spans of less than a register: two halves of 8 or 4 bytes. */
LDG_INLINE ldg_wide ldg_load_less(const char *s, int64_t span) {
  uint64_t x, y = 0;
  if (span >= 8) {
    __builtin_memcpy(&x, s, 8), __builtin_memcpy(&y, s + span - 8, 8);
  } else {
    uint32_t a, b;
    __builtin_memcpy(&a, s, 4), __builtin_memcpy(&b, s + span - 4, 4);
    x = a | (uint64_t)b << 32;
  }
  return ldg_of_words(x, y);
}
LDG_INLINE void ldg_put_less(char *d, ldg_made all, int64_t span) {
  const uint64_t x = ldg_word_0(all), y = ldg_word_1(all);
  if (span >= 8) {
    __builtin_memcpy(d, &x, 8), __builtin_memcpy(d + span - 8, &y, 8);
  } else {
    const uint32_t a = (uint32_t)x, b = (uint32_t)(x >> 32);
    __builtin_memcpy(d, &a, 4), __builtin_memcpy(d + span - 4, &b, 4);
  }
}

LDG_INLINE ldg_wide ldg_load_halves(const char *s, int64_t span) {
  return ldg_window_half(span, LDG_WINDOW) == 16 ? ldg_load_16s(s, span) : ldg_load_less(s, span);
}
LDG_INLINE void ldg_put_halves(char *d, ldg_made x, int64_t span) {
  if (ldg_window_half(span, LDG_WINDOW) == 16) ldg_put_16s(d, x, span);
  else ldg_put_less(d, x, span);
}

#endif
