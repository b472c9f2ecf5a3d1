/* base: what every layer may use. Checked arithmetic, allocation, bounded text, the options table. */
#ifndef LDG_BASE_H
#define LDG_BASE_H

#include <lading.h>
#include <stdatomic.h>
#include <string.h>

#define LDG_INLINE static inline __attribute__((always_inline)) /* with some arguments as constants, or where a call would save registers */
#define LDG_PRAGMA(words) _Pragma(#words)
#if defined(__clang__)
#define LDG_UNROLL_BY(n) LDG_PRAGMA(clang loop unroll_count(n))
#else
#define LDG_UNROLL_BY(n) LDG_PRAGMA(GCC unroll n)
#endif

/* true when a op b does not fit in int64_t; *r is then undefined */
static inline bool ldg_add(int64_t a, int64_t b, int64_t *r) { return __builtin_add_overflow(a, b, r); }
static inline bool ldg_sub(int64_t a, int64_t b, int64_t *r) { return __builtin_sub_overflow(a, b, r); }
static inline bool ldg_mul(int64_t a, int64_t b, int64_t *r) { return __builtin_mul_overflow(a, b, r); }
static inline int64_t ldg_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t ldg_max(int64_t a, int64_t b) { return a > b ? a : b; }
/* That of a number and 0 is the number. */
static inline uint64_t ldg_gcd(uint64_t a, uint64_t b) {
  for (uint64_t rest; b; a = b, b = rest) rest = a % b;
  return a;
}

/* p + off, defined for NULL and absolute addresses too */
static inline char *ldg_at(const void *p, int64_t off) { return (char *)((uintptr_t)p + (uintptr_t)off); }
/* Where the next line begins, in room that has LDG_LINE_BYTES more: a frame that is aligned takes more stores, which what is loaded waits for. */
enum { LDG_LINE_BYTES = 64 };
static inline char *ldg_aligned(char *room) { return ldg_at(room, -(intptr_t)room & (LDG_LINE_BYTES - 1)); }

/* FNV-1a: every step is reversible, so no single flip stays hidden. It finds damage, and keeps nobody out. */
static inline uint64_t ldg_checksum(const void *bytes, int64_t n) {
  const unsigned char *p = bytes;
  uint64_t h = 0xcbf29ce484222325u;
  for (int64_t i = 0; i < n; i++) h = (h ^ p[i]) * 0x100000001b3u;
  return h;
}

/* memcpy that may be called with NULL for 0 bytes */
static inline void ldg_copy_bytes(void *dst, const void *src, int64_t n) { if (n > 0) memcpy(dst, src, (size_t)n); }

/* Every allocation of the library goes through these two, so that tests can make the n-th one fail. n >= 0; alloc(0)
 * is a valid pointer. A product that overflows is the caller's to check (counts that fit in memory do not overflow). */
void *ldg_alloc(int64_t bytes);
void ldg_free(void *p);
/* Testing: allocation number `n` from now (0 = the next) and all later ones fail; -1 switches it off. */
void ldg_alloc_fail(int64_t n);
int64_t ldg_alloc_live(void); /* allocations not yet freed; counted only in builds with -Dchecks=cheap or full */

/* Append-only text, snprintf manners: len counts what there is to say, buf gets what fits and is always terminated. */
typedef struct ldg_text { char *buf; int64_t cap, len; } ldg_text;
void ldg_text_init(ldg_text *t, char *buf, int64_t cap);
void ldg_text_add(ldg_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A signed decimal number, which *at moves past. False: there is none that fits, and *at stays. */
bool ldg_text_int(const char **at, int64_t *out);
static inline bool ldg_text_is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* The one table of options; values come from LADING_<NAME> in the environment, read once. */
typedef enum ldg_option {
  LDG_OPT_VERBOSE, LDG_OPT_FORCE, LDG_OPT_ISA, LDG_OPT_MODEL,
  LDG_OPT_JIT, LDG_OPT_CACHE, LDG_OPT_JIT_LIMIT, LDG_OPT_DUMP,
  LDG_OPT_CACHE_HOME, LDG_OPT_HOME, /* where users keep files; not ours to name */
  LDG_OPT_MAX
} ldg_option;
const char *ldg_option_get(ldg_option o);    /* the value, or NULL when unset */
const char *ldg_option_name(ldg_option o);   /* of its variable */
void ldg_option_print(ldg_text *t);          /* of each LADING_ one that is set: name, value, what it may be */

/* 0: none. 1, -Dchecks=cheap: allocations are counted. 2, full: whole structures are validated after every step, too. */
#ifndef LDG_CHECKS
#define LDG_CHECKS 0
#endif

#endif
