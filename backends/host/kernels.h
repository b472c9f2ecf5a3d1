/* The generated kernels, as the strategies of the host backend see them: one table per instruction set level. */
#ifndef LDG_HOST_KERNELS_H
#define LDG_HOST_KERNELS_H

#include "../backend.h"
#include "kernel_rows.h" /* generated */
#include "loops.h"
#include "paced.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__clang__)
#define LDG_UNROLL _Pragma("clang loop unroll(full)")
#define LDG_UNROLL_MANY LDG_UNROLL
#define LDG_UNROLL_NONE _Pragma("clang loop unroll(disable)")
#else
#define LDG_UNROLL _Pragma("GCC unroll 16")
#define LDG_UNROLL_MANY _Pragma("GCC unroll 64")
#define LDG_UNROLL_NONE _Pragma("GCC unroll 1")
#endif
#define LDG_UNROLL_FEW LDG_UNROLL_BY(4)
#define LDG_HEAD_LOOP 0        /* long blocks: see table.py */
#define LDG_HEAD_BY_16 (-1)
#define LDG_HEAD_CALL (-2)
#define LDG_HEAD_STREAM (-3)
#define LDG_HEAD_AS_IS (-4)
#define LDG_FEW_NEAR 256       /* so many lines of few sets come from the second-level cache: then twice as many; of half as many written ones four times */
#define LDG_TRANSPOSE_ROW 256  /* elements of the rows of one that goes by rows */
#define LDG_FEW_COLUMNS(width) ((width) > 16 ? 4 : 64 / (width)) /* columns, or rows, of a transpose that are few: a line of them, or four */
#define LDG_TRANSPOSE_PANEL 64 /* rows of a transpose panel: as many pages as the smallest first-level TLB holds */

/* gcc 12.2 at -O2 makes wrong code for POWER of a register that is interleaved with one of zeros (of one row of 4-byte elements it stores zeros only); no other gcc was
 * looked at there. `./bootstrap.sh test-on ppc64le` sees it: transpose_64_w4. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector) && !(defined(__powerpc__) && !defined(__clang__))
#define LDG_HAVE_SHUFFLE 1
#endif
#endif
#ifndef LDG_HAVE_SHUFFLE
#define LDG_HAVE_SHUFFLE 0
#endif

/* Squares of 16 bytes a side, one in each lane of a register: rows of them that lie `apart`, and the elements of two interleaved, lane by lane. (Lanes that are loaded under
 * masks come later from out of the caches: 300 x 1000 floats 159 us, so 100; in them it is the same; Zen 5.) */
#if defined(__AVX512BW__)
#define LDG_SQUARES 4
typedef __m512i ldg_squares;
#define LDG_OF_LANES(name) _mm512_##name
#define LDG_LANE(x, s, i) _mm512_inserti32x4(x, _mm_loadu_si128((const __m128i *)(const void *)(s)), i)
LDG_INLINE ldg_squares ldg_squares_of(const char *s, int64_t apart) {
  const ldg_squares one = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)s));
  return LDG_LANE(LDG_LANE(LDG_LANE(one, s + apart, 1), s + 2 * apart, 2), s + 3 * apart, 3);
}
#elif defined(__AVX2__)
#define LDG_SQUARES 2
typedef __m256i ldg_squares;
#define LDG_OF_LANES(name) _mm256_##name
LDG_INLINE ldg_squares ldg_squares_of(const char *s, int64_t apart) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)s)), _mm_loadu_si128((const __m128i *)(const void *)(s + apart)), 1);
}
#else
#define LDG_SQUARES 1
#endif
#if LDG_SQUARES > 1
LDG_INLINE ldg_squares ldg_squares_low(ldg_squares a, ldg_squares b, int width) {
  return width == 1 ? LDG_OF_LANES(unpacklo_epi8)(a, b) : width == 2 ? LDG_OF_LANES(unpacklo_epi16)(a, b) : width == 4 ? LDG_OF_LANES(unpacklo_epi32)(a, b) : LDG_OF_LANES(unpacklo_epi64)(a, b);
}
LDG_INLINE ldg_squares ldg_squares_high(ldg_squares a, ldg_squares b, int width) {
  return width == 1 ? LDG_OF_LANES(unpackhi_epi8)(a, b) : width == 2 ? LDG_OF_LANES(unpackhi_epi16)(a, b) : width == 4 ? LDG_OF_LANES(unpackhi_epi32)(a, b) : LDG_OF_LANES(unpackhi_epi64)(a, b);
}
#endif

/* What is stored before it is stored first. Processors write stores to their caches in order, some of them two at once where these go on in one line; a
 * compiler's scheduler knows nothing of that, and likes to store a tail before its head: then lines take turns, and beyond the first-level
 * cache each turn takes time. */
#define LDG_IN_ORDER() __asm__ volatile("" ::: "memory")

/* The widest registers of a level. */
#if defined(__AVX512F__)
#define LDG_REGISTER 64
#elif defined(__AVX__)
#define LDG_REGISTER 32
#else
#define LDG_REGISTER 16
#endif
enum { LDG_TOGETHER = LDG_REGISTER == 16 ? 8 : 4 };
typedef uint64_t ldg_register __attribute__((vector_size(LDG_REGISTER)));
typedef uint64_t ldg_half_register __attribute__((vector_size(LDG_REGISTER == 16 ? 16 : 32)));
typedef uint64_t ldg_16 __attribute__((vector_size(16)));
typedef struct ldg_32 { ldg_half_register part[32 / sizeof(ldg_half_register)]; } ldg_32; /* loaded as a whole */
typedef struct ldg_64 { ldg_register part[64 / sizeof(ldg_register)]; } ldg_64;

/* 256 bytes by the widest registers of a level, some of which are loaded before the first is stored. A load that follows a store to the
 * same place of another page waits for it, and where rows lie that way each of them would: a fifth of the time. */
LDG_INLINE void ldg_move_together(char *restrict d, const char *restrict s, int n, int together, bool back) {
  ldg_register x[8];
  LDG_UNROLL
  for (int i0 = 0; i0 < n / LDG_REGISTER; i0 += together) {
#define LDG_AT(i) ((back ? n / LDG_REGISTER - 1 - i0 - (i) : i0 + (i)) * LDG_REGISTER)
    LDG_UNROLL
    for (int i = 0; i < together; i++) __builtin_memcpy(&x[i], s + LDG_AT(i), LDG_REGISTER);
    LDG_UNROLL
    for (int i = 0; i < together; i++) __builtin_memcpy(d + LDG_AT(i), &x[i], LDG_REGISTER);
#undef LDG_AT
  }
}
/* n bytes, a constant. Of a memcpy of 32 bytes gcc 12 makes two of 16 where it may use AVX2, but not where AVX-512. */
LDG_INLINE void ldg_move_const(char *restrict d, const char *restrict s, int n) {
  const int wide = LDG_REGISTER == 32 ? n & -32 : 0;
  ldg_move_together(d, s, wide, 1, false);
  __builtin_memcpy(d + wide, s + wide, (size_t)(n - wide));
}
LDG_INLINE void ldg_move_256(char *restrict d, const char *restrict s) { ldg_move_together(d, s, 256, LDG_TOGETHER, false); }
LDG_INLINE void ldg_move_256_back(char *restrict d, const char *restrict s) { ldg_move_together(d, s, 256, LDG_TOGETHER, true); } /* the last register first */
LDG_INLINE void ldg_move_128(char *restrict d, const char *restrict s) { ldg_move_together(d, s, 128, 128 / LDG_REGISTER, false); }

/* Two of 16 bytes, where registers are wider. */
LDG_INLINE ldg_half_register ldg_of_two(ldg_16 low, ldg_16 high) {
#if LDG_REGISTER > 16
  __m256i both = _mm256_insertf128_si256(_mm256_castsi128_si256((__m128i)low), (__m128i)high, 1);
  __asm__("" : "+x"(both)); /* clang 14 would store more of them in halves */
  return (ldg_half_register)both;
#else
  return (void)high, low;
#endif
}

/* 256 bytes by loads of 16, which some processors wait for less than for wider ones where lines come from memory (bench/README.md); all of them before the first store. */
#if LDG_REGISTER > 16
LDG_INLINE ldg_half_register ldg_load_by_16(const char *s) {
  ldg_16 low, high;
  __builtin_memcpy(&low, s, 16), __builtin_memcpy(&high, s + 16, 16);
  __asm__("" : "+x"(low)); /* or a compiler would load both at once */
  return ldg_of_two(low, high);
}
LDG_INLINE void ldg_move_256_by_16(char *restrict d, const char *restrict s) {
  ldg_half_register x[8];
  LDG_UNROLL
  for (int k = 0; k < 8; k++) x[k] = ldg_load_by_16(s + 32 * k);
  LDG_IN_ORDER();
  LDG_UNROLL
  for (int k = 0; k < 8; k++) __builtin_memcpy(d + 32 * k, &x[k], 32);
}
#else
LDG_INLINE void ldg_move_256_by_16(char *restrict d, const char *restrict s) { ldg_move_256(d, s); }
#endif

/* Words of two blocks in a register of 16 bytes, of which `left` are of the first one, a multiple of 4. */
typedef uint32_t ldg_16_by_4 __attribute__((vector_size(16)));
LDG_INLINE uint64_t ldg_word(const char *s) {
  uint64_t x;
  __builtin_memcpy(&x, s, 8);
  return x;
}
LDG_INLINE uint32_t ldg_half_word(const char *s) {
  uint32_t x;
  __builtin_memcpy(&x, s, 4);
  return x;
}
LDG_INLINE ldg_16 ldg_across(const char *s, const char *t, int left) {
  /* The least byte comes first on all machines that have such kernels. By half words in a register 64 blocks of 12 bytes take 24 ns, so 21.5 (v4, Zen 4). */
  if (left == 4) return (ldg_16){ ldg_half_word(s) | (uint64_t)ldg_half_word(t) << 32, ldg_word(t + 4) };
  if (left == 8) return (ldg_16){ ldg_word(s), ldg_word(t) };
  ldg_16_by_4 x = (ldg_16_by_4)(ldg_16){ ldg_word(s), 0 };
  x[2] = ldg_half_word(s + 8), x[3] = ldg_half_word(t);
  return (ldg_16)x;
}
enum { LDG_JOINED = LDG_REGISTER == 16 ? 16 : 32 };
/* 64 bytes to an aligned line, past the caches; the fence orders them before what follows. */
#if defined(__AVX512F__)
#define LDG_STREAM(d, s) _mm512_stream_si512((void *)(d), _mm512_loadu_si512(s))
#elif defined(__AVX__)
#define LDG_STREAM_HALF(d, s) _mm256_stream_si256((__m256i *)(void *)(d), _mm256_loadu_si256((const __m256i *)(const void *)(s)))
#define LDG_STREAM(d, s) (LDG_STREAM_HALF(d, s), LDG_STREAM_HALF((d) + 32, (s) + 32))
#elif defined(__x86_64__)
#define LDG_STREAM_16(d, s) _mm_stream_si128((__m128i *)(void *)(d), _mm_loadu_si128((const __m128i *)(const void *)(s)))
#define LDG_STREAM(d, s) (LDG_STREAM_16(d, s), LDG_STREAM_16((d) + 16, (s) + 16), LDG_STREAM_16((d) + 32, (s) + 32), LDG_STREAM_16((d) + 48, (s) + 48))
#endif
#if defined(__x86_64__)
#define LDG_STREAM_FENCE() _mm_sfence()
#else
#define LDG_STREAM_FENCE() ((void)0)
#endif

/* Up to LDG_SHORT, or LDG_LINE, bytes of any number at once: a mask does what else takes a branch by their number, which is hard to
 * foresee in a list. The wider one takes a third longer. */
#if defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__BMI2__)
enum { LDG_SHORT = 32, LDG_LINE = 64 };
LDG_INLINE void ldg_move_masked(char *d, const char *s, uint64_t there) { _mm256_mask_storeu_epi8(d, (__mmask32)there, _mm256_maskz_loadu_epi8((__mmask32)there, s)); }
LDG_INLINE void ldg_move_short(char *d, const char *s, int64_t n) { ldg_move_masked(d, s, ((uint64_t)1 << n) - 1); }
LDG_INLINE void ldg_move_line(char *d, const char *s, int64_t n) {
  const __mmask64 there = _bzhi_u64(~UINT64_C(0), (unsigned)n);
  _mm512_mask_storeu_epi8(d, there, _mm512_maskz_loadu_epi8(there, s));
}
#else
enum { LDG_SHORT = 0, LDG_LINE = 0 };
LDG_INLINE void ldg_move_short(char *d, const char *s, int64_t n) { (void)d, (void)s, (void)n; }
LDG_INLINE void ldg_move_line(char *d, const char *s, int64_t n) { (void)d, (void)s, (void)n; }
#endif

/* 4 and 8 bytes through a vector register: compilers would take another one. In the first cache that takes a tenth longer, from the second one less (8 bytes, 816 apart, with
 * late addresses: 0.45 ns by another one, so 0.41; Zen 5). */
#if defined(__SSE2__)
LDG_INLINE void ldg_move_4(char *d, const char *s) {
  float x;
  __builtin_memcpy(&x, s, 4);
  __asm__("" : "+x"(x));
  __builtin_memcpy(d, &x, 4);
}
LDG_INLINE void ldg_move_8(char *d, const char *s) {
  double x;
  __builtin_memcpy(&x, s, 8);
  __asm__("" : "+x"(x));
  __builtin_memcpy(d, &x, 8);
}
#else
LDG_INLINE void ldg_move_4(char *d, const char *s) { __builtin_memcpy(d, s, 4); }
LDG_INLINE void ldg_move_8(char *d, const char *s) { __builtin_memcpy(d, s, 8); }
#endif

/* By the processor's own loop, where it has one. From about 1 KiB on it is the fastest to lines of the second cache, or nearly so, on Zen 5; where it is not, a trial
 * finds that out. */
LDG_INLINE bool ldg_moved_as_string(char *d, const char *s, int64_t n) {
#if defined(__x86_64__)
  if (n < 1024) return false;
  __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
  return true;
#else
  return (void)d, (void)s, (void)n, false;
#endif
}

/* A byte that is 0, and that will be in the first cache; if there is such a place not where in its page stores to d, d + stride and so on,
 * b bytes each, are in theirs: a load waits for stores that might be to its place (64 bytes, 512 apart, late: 20 us a column, or 43 where they were). */
extern const char ldg_zeros[4096];
LDG_INLINE const char *ldg_near(const char *d, int64_t stride, int64_t b) {
  const uint64_t power = ((uint64_t)stride & -(uint64_t)stride) | sizeof ldg_zeros, apart = power & -power;
  return ldg_zeros + (((uint64_t)(uintptr_t)d + ((uint64_t)b + apart) / 2 - (uint64_t)(uintptr_t)ldg_zeros) & (apart - 1));
}

/* 0, when that byte was read: what depends on it waits for its line. */
LDG_INLINE int64_t ldg_await(const char *at) {
  int64_t x = *(const volatile unsigned char *)at;
  __asm__ volatile("" : "+r"(x)); /* or it would be known to be below 256 */
  return x >> 8;
}

/* Whether columns of b bytes gain by that: not those whose lines go on from line to line, nor narrow ones that have a page for each. */
LDG_INLINE bool ldg_may_wait(int64_t stride, int64_t b) {
  const int64_t most = b > 8 ? INT64_MAX : 4095;
  return (stride >= 128 && stride <= most) || (stride <= -128 && stride >= -most);
}

/* Some of a processor's slots, in which it does nothing. */
#define LDG_IDLE() __asm__ volatile("nop\n\tnop\n\tnop\n\tnop")

#define LDG_PACED_MAX 64  /* bytes of blocks that have kernels for groups */

typedef struct ldg_block_row { int64_t lo, hi; } ldg_block_row;

enum { LDG_ANY, LDG_DENSE_DST, LDG_DENSE_SRC, LDG_IN_LANES, LDG_ASKING, LDG_LATE, LDG_DENSITIES }; /* what is known of the innermost strides; lines are asked for; addresses are late */
enum { LDG_NEAR4, LDG_NEAR8, LDG_FAR4, LDG_NEAR_LANES, LDG_FAR_LANES, LDG_ASKING4, LDG_HOWS }; /* width of the offsets; far: prefetched */
typedef struct ldg_block_kernels {
  ldg_run *strided[3][LDG_DENSITIES];                             /* [dims - 1, 3 and more alike][density] */
  ldg_run *list[2][LDG_HOWS];                                     /* [side of the list][how] */
  ldg_run *both[2];                                               /* lists on both sides: [far] */
  ldg_run *groups, *apart;                                        /* the innermost dim, a few blocks at a time, or apart; NULL: of more than LDG_PACED_MAX bytes, of ways to move long blocks but as_is */
  ldg_run *singly[2];                                             /* [side of the list]: offsets of 4 bytes, block by block; NULL as for groups */
} ldg_block_kernels;

/* The lanes of a register of 16 bytes, L(k) being that of block k. */
#define LDG_LANES_8(L) { L(0), L(1) }
#define LDG_LANES_4(L) { L(0), L(1), L(2), L(3) }
#define LDG_LANES_2(L) { L(0), L(1), L(2), L(3), L(4), L(5), L(6), L(7) }
#define LDG_LANES_1(L) { L(0), L(1), L(2), L(3), L(4), L(5), L(6), L(7), L(8), L(9), L(10), L(11), L(12), L(13), L(14), L(15) }

/* What long blocks and lists go by, in job->own. Bytes from which on the C library's memcpy is better than a loop, and stores past the
 * caches may be better than either; of a strided or list nest also the bytes of an iteration and the kernel for each, and whether the far one is likely to gain: at any place, at one that begins a line. Where blocks
 * have lengths of their own, `each` is the longest one, and `end`, instead of `stream` and only for late kernels, where the last byte of the listed side ends. Of lists that are far apart: entries to prefetch ahead. */
typedef struct ldg_long { int64_t libc; union { int64_t stream, end; }; int64_t each; ldg_run *near, *far; int32_t ahead; bool parts, whole; } ldg_long;
/* And what else is tried: the last one is late, or what is best from the caches. */
enum { LDG_LONG_OTHERS = 4 };
typedef struct ldg_long_ways { ldg_long long_; ldg_run *other[LDG_LONG_OTHERS]; } ldg_long_ways;
#define LDG_AHEAD(job) (((const ldg_long *)(const void *)(job)->own)->ahead)

/* What one run goes by, in job->own. Bytes from which on the C library is better, stores go past the caches, `trial` finds out whether the C library is better,
 * lines are asked for so many bytes before they are written or, if that is 0, loads are of 16 bytes; the others are stored to aligned places, up to `back` bytes also from the end on. Fewer than `plain`: nothing of that. Iterations of `trial` are bytes. */
typedef struct ldg_one_run { int64_t libc, stream, tried, asks, ahead, back, plain; ldg_run *trial; } ldg_one_run;
#define LDG_ONE_RUN(job) ((const ldg_one_run *)(const void *)(job)->own)

/* What kernels that ask for lines ahead go by, in job->own behind what others go by: how many bytes, or entries, ahead; whether on the side that is written; whether blocks are
 * read in some places there before they are moved. */
typedef struct ldg_asked { int64_t ahead; bool writes, touch; } ldg_asked;
#define LDG_ASKED_AT 56 /* bytes: of what columns go by (paced.c), and items (fields.c), 56, or of ldg_long 48 and of what is swept 8 (swept.c) */
#define LDG_ASKED(job) ((const ldg_asked *)(const void *)((const char *)(job)->own + LDG_ASKED_AT))
enum { LDG_FIRST_CACHE = 1, LDG_SECOND_CACHE }; /* into which lines are asked for; 0: none are */
LDG_INLINE void ldg_ask(const char *at) { __builtin_prefetch(at, 0, 2); } /* into the second-level cache */
LDG_INLINE void ldg_touch(const char *at) { (void)*(const volatile char *)at; }
LDG_INLINE void ldg_ask_near(const char *at) { __builtin_prefetch(at, 0, 3); }

/* What a shuffle kernel goes by, in job->own. Lanes are of 1 or 4 bytes; masks have a bit for each. */
typedef struct ldg_shuffle {
  ldg_long long_;                                                 /* what `part` goes by, which looks for it first in job->own */
  unsigned char lane[64];                                         /* of every lane of the destination, its lane of the source */
  uint64_t load, store;                                           /* the lanes that are read and written */
  uint64_t both;                                                  /* and, of 32 lanes, those that are written above those that are read */
  int64_t from, to;                                               /* where windows start, from the places of their iterations */
  int32_t times;                                                  /* iterations of the innermost loop in a window */
  int32_t inside;                                                 /* dims inside of the window; the next one is that loop */
  int32_t room;                                                   /* iterations that windows leave behind them whose loads are not masked; 0: all are */
  unsigned char within, inverse, unit;                            /* what is left over of a line where windows are, as a mask; 1 / stride there,
                                                                   * of the destination, in 2^unit bytes */
  unsigned char ahead;                                            /* windows ahead that these ask for lines, and one alone for its own; 0: they store whole registers */
  int64_t many;                                                   /* so many iterations of the outermost dim, and more, have lines so far that short rows */
  ldg_dim next;                                                   /* ask for those of the rows that are so many bytes on */
  ldg_run *part;                                                  /* for a part of a list */
} ldg_shuffle;

/* What one call moves under masks is foreseen nowhere, so calls by turns would each wait for their lines (out of cache 28 ns a struct, so 15; 0.3 ns in
 * the first-level cache; Zen 5). */
LDG_INLINE void ldg_ask_once(const ldg_shuffle *w, const char *s, const char *d) {
  if (w->ahead) ldg_ask_near(s), ldg_ask_near(d);
}

enum { LDG_PART_OWN = 7 };
_Static_assert(sizeof(ldg_long) <= LDG_PART_OWN * sizeof(int64_t), "what blocks and lists go by has room");

/* What a window kernel goes by, in job->own, where there are no masks of bytes. A span that is not to be left is loaded and stored as two
 * halves, which overlap; `exact` shuffles from those to those, `fast` from a whole register to a whole one, of which the first half is stored if that has the span. */
typedef struct ldg_window {
  int64_t own[LDG_PART_OWN];                                      /* what `part` goes by, which looks for it first in job->own */
  unsigned char fast[32], exact[32];                              /* of every byte of the destination, its byte of the source, from LDG_WINDOW_BASE on */
  int32_t span[2], times, inside;                                 /* bytes of a window on either side; as in ldg_shuffle */
  int64_t from, to;
  int64_t room;                                                   /* iterations left that a fast window needs, itself among them */
  int64_t few;                                                    /* fewer iterations of the outermost dim go by `part` */
  ldg_run *part;                                                  /* blocks, a list, or its fields */
} ldg_window;
/* Do n bytes from here on end on this page, whatever the size of pages is? */
LDG_INLINE bool ldg_in_page(const char *s, int64_t n) { return (int64_t)((uintptr_t)s & 4095) <= 4096 - n; }
enum { LDG_WINDOW_NEAR = 2048 }; /* bytes from a window to the next, half a page, up to which no page without a byte of the message is between them */
#define LDG_WINDOW_BASE 0x70 /* so that bytes 16 and on are 0x80 and on, which x86's shuffles of 16 bytes take for none */
static inline int64_t ldg_window_half(int64_t span, int window) { return span >= 16 && window > 16 ? 16 : span >= 8 ? 8 : 4; }
static inline int64_t ldg_window_stored(int64_t span, int window) { return span <= window / 2 ? window / 2 : window; } /* by a fast one */

/* What a kernel of few runs goes by, in job->own: words of 32 bytes, and from the end on those under masks, of up to as many, that are `there`; or, of levels without masks, words of 32, 16, 8, 4, 2 bytes and one,
 * each width behind the one before. The last of each kind comes first. Other iterations than all are for `part`, which looks for what it goes by first. */
enum { LDG_PIECE_WORD = 32, LDG_PIECE_WIDTHS = 6, LDG_PIECE_ROOM = 60, LDG_PIECE_MOST = 30 };
typedef struct ldg_piece { int32_t src, dst; } ldg_piece;
typedef struct ldg_piece_masked { ldg_piece to; uint64_t there; } ldg_piece_masked;
typedef struct ldg_pieces {
  ldg_long long_;
  ldg_run *part;
  int64_t iterations;
  unsigned char n_whole, n_masked, n_words[LDG_PIECE_WIDTHS]; /* at most LDG_PIECE_MOST of each, and no more than there is room for */
  union { ldg_piece whole[LDG_PIECE_ROOM]; ldg_piece_masked masked[LDG_PIECE_ROOM / 2]; int64_t word[LDG_PIECE_ROOM]; }; /* a word is both places in one load */
} ldg_pieces;
#define LDG_PIECE_MASKED(p, k) ((p)->masked[LDG_PIECE_ROOM / 2 - 1 - (k)])
LDG_INLINE int64_t ldg_piece_word(int32_t src, int32_t dst) { return (int64_t)dst * ((int64_t)1 << 32) + (uint32_t)src; }
LDG_INLINE int64_t ldg_piece_src(int64_t word) { return (int32_t)word; }
LDG_INLINE int64_t ldg_piece_dst(int64_t word) { return word >> 32; }
#define LDG_PIECE_CASES(F) F(29) F(28) F(27) F(26) F(25) F(24) F(23) F(22) F(21) F(20) F(19) F(18) F(17) F(16) F(15) F(14) F(13) F(12) F(11) F(10) F(9) F(8) F(7) F(6) F(5) F(4) F(3) F(2) F(1) F(0)
#define LDG_PIECE_COUNT(k) + 1
_Static_assert(0 LDG_PIECE_CASES(LDG_PIECE_COUNT) == LDG_PIECE_MOST, "there is a case for each");

enum { LDG_VAR_SRC, LDG_VAR_DST, LDG_VAR_BOTH, LDG_VAR_LATE, LDG_VARS = LDG_VAR_LATE + 2 }; /* late: of the first two; with late addresses of long blocks, and asking for the lines of short ones, or without branches that hang on their lengths */
enum { LDG_VAR_SHORT = 128 }; /* bytes: longer ones go by a loop */
enum { LDG_LANES_OF_4, LDG_LANES_OF_1, LDG_LANES };
typedef struct ldg_kernels {
  const char *isa;
  ldg_run *dense, *dense_loop;                                    /* one run; a long one of n bytes by a loop, never by the C library */
  const ldg_block_kernels *block[LDG_BLOCK_ROWS];                 /* some may be those of another level */
  ldg_run *transpose[LDG_TRANSPOSE_ROWS][3];                      /* [any number of lines at once, by the first numbers of job->own, by the second ones] */
  ldg_run *varlist[LDG_VARS];                                     /* [sides that are listed], and late */
  ldg_run *shuffle[LDG_LANES], *by_16[LDG_LANES];                 /* NULL: not at this level */
  ldg_run *pieces[2], *words;                                     /* [they ask for lines], of levels with masks, and of those without; NULL: not at this level */
  ldg_run *once[2][2];                                            /* a list in a window of 32 bytes, of 64; [it asks for its lines, and may start anywhere]; with lanes of 1 byte */
  ldg_run *window;                                                /* NULL: not at this level */
  int window_bytes, short_bytes, register_bytes;                  /* LDG_SHORT, LDG_REGISTER */
} ldg_kernels;

/* Dims beyond the inner two: an odometer, which goes on to the next plane. */
LDG_INLINE void ldg_next_plane(const ldg_dim *x, int last, int64_t *at, const char **s, char **d) {
  for (int k = 2; k <= last; k++) {
    *s += x[k].src, *d += x[k].dst;
    if (++at[k] < x[k].n || k == last) break;
    *s -= x[k].n * x[k].src, *d -= x[k].n * x[k].dst, at[k] = 0;
  }
}

/* Around a kernel of planes, once for all of them: inlined it would be there for each. */
static __attribute__((noinline, unused)) int ldg_planes(const ldg_job *j, ldg_run *plane, const char *src, char *dst, int64_t n) {
  ldg_loops(j, plane, 1, j->nest.nd - 1, src, dst, n);
  return LADING_OK;
}

/* The kernels of a row, by the suffixes of those for a dense destination, and that in lanes, and for a dense source. */
#define LDG_KERNELS_OF(name, isa, pd, ps, pl, pf, late, l, a, paced)                                                                \
  { { { ldg_k_##name##_copy1_##isa, ldg_k_##name##_copy1##pd##isa, ldg_k_##name##_copy1##ps##isa, ldg_k_##name##_copy1##pl##isa, ldg_k_##name##_copy1##pf##isa, ldg_k_##name##_copy1##late##isa },  \
      { ldg_k_##name##_copy2_##isa, ldg_k_##name##_copy2##pd##isa, ldg_k_##name##_copy2##ps##isa, ldg_k_##name##_copy2##pl##isa, ldg_k_##name##_copy2##pf##isa, ldg_k_##name##_copy2##late##isa },  \
      { ldg_k_##name##_copyn_##isa, ldg_k_##name##_copyn##pd##isa, ldg_k_##name##_copyn##ps##isa, ldg_k_##name##_copyn##pl##isa, ldg_k_##name##_copyn##pf##isa, ldg_k_##name##_copyn##late##isa } }, \
    { { ldg_k_##name##_src4_##isa, ldg_k_##name##_src8_##isa, ldg_k_##name##_srcf_##isa, ldg_k_##name##_src4##l##isa, ldg_k_##name##_srcf##l##isa, ldg_k_##name##_src##a##isa }, \
      { ldg_k_##name##_dst4_##isa, ldg_k_##name##_dst8_##isa, ldg_k_##name##_dstf_##isa, ldg_k_##name##_dst4_##isa, ldg_k_##name##_dstf_##isa, ldg_k_##name##_dst##a##isa } }, \
    { ldg_k_##name##_both_##isa, ldg_k_##name##_bothf_##isa }, LDG_ROW_##paced(name, isa) }
#define LDG_ROW_PACED(name, isa) ldg_k_##name##_groups_##isa, ldg_k_##name##_apart_##isa, { ldg_k_##name##_src1_##isa, ldg_k_##name##_dst1_##isa }
#define LDG_ROW_APART(name, isa) NULL, ldg_k_##name##_apart_##isa, { NULL, NULL }
#define LDG_ROW_NOT(name, isa) NULL, NULL, { NULL, NULL }
#define LDG_BLOCK_KERNELS(name, isa) LDG_KERNELS_OF(name, isa, _pd_, _ps_, _pd_, _pf_, _late_, _, a_, PACED)
#define LDG_LANED_BLOCK_KERNELS(name, isa) LDG_KERNELS_OF(name, isa, _pd_, _ps_, _pl_, _pf_, _late_, l_, a_, PACED)
#define LDG_WIDE_BLOCK_KERNELS(name, isa) /* it does not matter that a side is dense */ \
  LDG_KERNELS_OF(name, isa, _, _, _, _pf_, _late_, _, a_, PACED)
#define LDG_LANED_WIDE_BLOCK_KERNELS(name, isa) LDG_KERNELS_OF(name, isa, _, _, _pl_, _pf_, _late_, l_, a_, PACED)
#define LDG_LINES_BLOCK_KERNELS(name, isa) LDG_KERNELS_OF(name, isa, _, _, _, _pf_, _late_, _, a_, APART)
#define LDG_LANED_LINES_BLOCK_KERNELS(name, isa) LDG_KERNELS_OF(name, isa, _, _, _pl_, _pf_, _late_, _, a_, APART)
#define LDG_LOOP_BLOCK_KERNELS(name, isa) LDG_KERNELS_OF(name, isa, _, _, _, _pf_, _late_, _, f_, NOT)
#define LDG_AS_IS_BLOCK_KERNELS(name, isa) LDG_KERNELS_OF(name, isa, _, _, _, _, _, _, f_, APART)
#define LDG_LONG_BLOCK_KERNELS(name, isa) LDG_KERNELS_OF(name, isa, _, _, _, _, _, _, f_, NOT)

/* Reductions, which are made for some levels. */
typedef struct ldg_ops { const char *isa; ldg_op row[LDG_OP_ROWS]; } ldg_ops;
#define LDG_OP_KERNELS(name, isa) { ldg_k_##name##_size_##isa, ldg_k_##name##_called_##isa, ldg_k_##name##_dense_##isa, ldg_k_##name##_strided_##isa, ldg_k_##name##_planes_##isa, ldg_k_##name##_listed_##isa, ldg_k_##name##_ragged_##isa }

extern const ldg_ops ldg_ops_base, ldg_ops_v2, ldg_ops_v3, ldg_ops_v4, ldg_ops_neon;
/* Of the best level that was built and that this machine has the instructions for. */
const ldg_kernels *ldg_host_kernels(void);
extern const ldg_block_kernels ldg_blocks_base[], ldg_blocks_v2[], ldg_blocks_v3[], ldg_blocks_v4[], ldg_blocks_neon[]; /* those that are a level's own */
extern const ldg_kernels ldg_kernels_base, ldg_kernels_v2, ldg_kernels_v3, ldg_kernels_v4, ldg_kernels_neon;

#endif
