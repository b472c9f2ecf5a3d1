/* The judge of reductions: one packed element at a time, in the C types that MPI names, with nothing of the library's. */
#ifndef TEST_REF_OP_H
#define TEST_REF_OP_H

#include "common.h"
#include <complex.h>
#include <float.h>
#include <math.h>

enum { IS_INT = 1, IS_FLOAT = 2, IS_COMPLEX = 4, IS_BOOL = 8, IS_BYTE = 16, IS_PAIR = 32 };
static inline int ref_class(int kind) {
  if (kind == LADING_BYTE) return IS_BYTE;
  if (kind == LADING_CHAR) return 0;
  if (kind == LADING_BOOL) return IS_BOOL;
  if (kind <= LADING_UINT64) return IS_INT;
  return kind <= LADING_LONG_DOUBLE ? IS_FLOAT : kind <= LADING_C_LONG_DOUBLE ? IS_COMPLEX : IS_PAIR;
}

/* MPI-4.1 sections 6.9.2 and 6.9.4, as a list of classes an op. */
static inline bool ref_defined(int op, int kind) {
  static const int classes[LADING_OP_MAX] = {
    [LADING_SUM] = IS_INT | IS_FLOAT | IS_COMPLEX, [LADING_PROD] = IS_INT | IS_FLOAT | IS_COMPLEX, [LADING_MIN] = IS_INT | IS_FLOAT,
    [LADING_MAX] = IS_INT | IS_FLOAT, [LADING_LAND] = IS_INT | IS_BOOL, [LADING_LOR] = IS_INT | IS_BOOL, [LADING_LXOR] = IS_INT | IS_BOOL,
    [LADING_BAND] = IS_INT | IS_BYTE, [LADING_BOR] = IS_INT | IS_BYTE, [LADING_BXOR] = IS_INT | IS_BYTE,
    [LADING_MINLOC] = IS_PAIR, [LADING_MAXLOC] = IS_PAIR,
  };
  return op == LADING_REPLACE || (classes[op] & ref_class(kind)) != 0;
}

/* ---- 16-bit floats, by arithmetic ---- */

static inline double half_value(uint16_t h, int bits, int bias) {
  const int e = (h & 0x7fff) >> bits, m = h & ((1 << bits) - 1), top = 0x7fff >> bits;
  const double v = e == top ? (m ? NAN : INFINITY) : e ? ldexp(m + (1 << bits), e - bias - bits) : ldexp(m, 1 - bias - bits);
  return h & 0x8000 ? -v : v;
}

static inline uint16_t half_of(double v, int bits, int bias) {
  const int top = 0x7fff >> bits;
  const uint16_t sign = signbit(v) ? 0x8000 : 0;
  int e;
  if (v != v) return (uint16_t)(0x7fff ^ ((1 << (bits - 1)) - 1));
  if (v == 0) return sign;
  if (isinf(v)) return (uint16_t)(sign | top << bits);
  frexp(v, &e);
  if (e - 1 < 1 - bias) e = 2 - bias;
  const double m = nearbyint(ldexp(fabs(v), bits + 1 - e)); /* in units of the last place */
  const int64_t all = ((int64_t)(e - 1 + bias) << bits) + (int64_t)m - (INT64_C(1) << bits);
  return (uint16_t)(sign | (all >= (int64_t)top << bits ? (int64_t)top << bits : all));
}

/* ---- the ops ---- */

#define REF_INTS(X) X(INT8, int8_t, uint8_t) X(INT16, int16_t, uint16_t) X(INT32, int32_t, uint32_t) X(INT64, int64_t, uint64_t) \
  X(UINT8, uint8_t, uint8_t) X(UINT16, uint16_t, uint16_t) X(UINT32, uint32_t, uint32_t) X(UINT64, uint64_t, uint64_t)

static inline uint64_t ref_bits(int op, uint64_t a, uint64_t b) {
  switch (op) {
  case LADING_SUM: return a + b;
  case LADING_PROD: return a * b;
  case LADING_LAND: return a != 0 && b != 0;
  case LADING_LOR: return a != 0 || b != 0;
  case LADING_LXOR: return (a != 0) ^ (b != 0);
  case LADING_BAND: return a & b;
  case LADING_BOR: return a | b;
  default: return a ^ b;
  }
}

#define REF_INT(name, type, wide)                                                           \
  static inline void ref_##name(int op, const void *s, void *d) {                           \
    type a, b;                                                                              \
    memcpy(&a, s, sizeof a), memcpy(&b, d, sizeof b);                                       \
    if (op == LADING_MIN) b = b < a ? b : a;                                                \
    else if (op == LADING_MAX) b = b > a ? b : a;                                           \
    else b = (type)(wide)ref_bits(op, (wide)a, (wide)b);                                    \
    memcpy(d, &b, sizeof b);                                                                \
  }
REF_INTS(REF_INT)

#define REF_REAL(name, type, bytes)                                                         \
  static inline void ref_##name(int op, const void *s, void *d) {                           \
    type a, b;                                                                              \
    memcpy(&a, s, sizeof a), memcpy(&b, d, sizeof b);                                       \
    if (op == LADING_SUM) b = b + a;                                                        \
    else if (op == LADING_PROD) b = b * a;                                                  \
    else if (op == LADING_MIN) b = a < b ? a : b;                                           \
    else b = a > b ? a : b;                                                                 \
    memcpy(d, &b, bytes);                                                                   \
  }
#define LONG_VALUE (LDBL_MANT_DIG == 64 ? 10 : sizeof(long double)) /* bytes that hold value, of an x87 number */
REF_REAL(FLOAT, float, sizeof(float))
REF_REAL(DOUBLE, double, sizeof(double))
REF_REAL(LONG_DOUBLE, long double, LONG_VALUE)

static inline void ref_half(int op, const void *s, void *d, int bits, int bias) {
  uint16_t x, y;
  memcpy(&x, s, 2), memcpy(&y, d, 2);
  const float a = (float)half_value(x, bits, bias), b = (float)half_value(y, bits, bias);
  const float r = op == LADING_SUM ? a + b : op == LADING_PROD ? a * b : op == LADING_MIN ? (a < b ? a : b) : a > b ? a : b;
  x = half_of(r, bits, bias);
  memcpy(d, &x, 2);
}

#define REF_COMPLEX(name, type, part, bytes)                                                \
  static inline void ref_##name(int op, const void *s, void *d) {                           \
    part a[2], b[2], r[2];                                                                  \
    memcpy(a, s, sizeof a), memcpy(b, d, sizeof b);                                         \
    if (op == LADING_SUM) r[0] = a[0] + b[0], r[1] = a[1] + b[1];                           \
    else r[0] = a[0] * b[0] - a[1] * b[1], r[1] = a[0] * b[1] + a[1] * b[0];                \
    memcpy(d, &r[0], bytes), memcpy((char *)d + sizeof(part), &r[1], bytes);                \
  }
REF_COMPLEX(C_FLOAT, float _Complex, float, sizeof(float))
REF_COMPLEX(C_DOUBLE, double _Complex, double, sizeof(double))
REF_COMPLEX(C_LONG_DOUBLE, long double _Complex, long double, LONG_VALUE)

#define REF_PAIR(name, type, bytes)                                                         \
  static inline void ref_##name(int op, const void *s, void *d) {                           \
    type a, b;                                                                              \
    int i, j;                                                                               \
    memcpy(&a, s, sizeof a), memcpy(&b, d, sizeof b);                                       \
    memcpy(&i, (const char *)s + sizeof a, 4), memcpy(&j, (char *)d + sizeof b, 4);         \
    const bool take = op == LADING_MINLOC ? a < b : a > b;                                  \
    if (a == b) j = i < j ? i : j;                                                          \
    if (take) memcpy(d, &a, bytes), j = i;                                                  \
    memcpy((char *)d + sizeof b, &j, 4);                                                    \
  }
REF_PAIR(FLOAT_INT, float, sizeof(float))
REF_PAIR(DOUBLE_INT, double, sizeof(double))
REF_PAIR(LONG_INT, long, sizeof(long))
REF_PAIR(2INT, int, sizeof(int))
REF_PAIR(SHORT_INT, short, sizeof(short))
REF_PAIR(LONG_DOUBLE_INT, long double, LONG_VALUE)

/* One element; op is defined for it and no REPLACE. */
static inline void ref_op(int op, int kind, const void *s, void *d) {
  switch (kind) {
#define REF_CASE(name, ...) case LADING_##name: ref_##name(op, s, d); return;
  REF_INTS(REF_CASE)
  case LADING_BYTE: case LADING_BOOL: ref_UINT8(op, s, d); return;
  case LADING_FLOAT16: ref_half(op, s, d, 10, 15); return;
  case LADING_BFLOAT16: ref_half(op, s, d, 7, 127); return;
  REF_CASE(FLOAT) REF_CASE(DOUBLE) REF_CASE(LONG_DOUBLE) REF_CASE(C_FLOAT) REF_CASE(C_DOUBLE) REF_CASE(C_LONG_DOUBLE)
  REF_CASE(FLOAT_INT) REF_CASE(DOUBLE_INT) REF_CASE(LONG_INT) REF_CASE(2INT) REF_CASE(SHORT_INT) REF_CASE(LONG_DOUBLE_INT)
  default: ck_abort_msg("no reference");
  }
}

/* ---- values: finite, small enough that most sums and products round or wrap, none is a NaN ---- */

static inline double some_value(rng *r) { return rng_in(r, 0, 3) ? (double)rng_in(r, -40, 40) / 8 : ldexp((double)rng_in(r, -999999, 999999), (int)rng_in(r, -40, 0)); }

static inline void some_element(rng *r, int kind, char *out) {
  int parts[2];
  int64_t at[2], len[2], pos = 0;
  if (ref_class(kind) == IS_PAIR) {
    const int n = elem_pieces(kind, at, len, parts);
    for (int p = 0; p < n; pos += len[p], p++) some_element(r, parts[p], out + pos);
    return;
  }
  const int64_t n = elem_size(kind);
  const double v = some_value(r), w = some_value(r);
  bytes_random(r, out, n);
  if (kind == LADING_BOOL) out[0] = (char)rng_in(r, 0, 1);
  else if (rng_in(r, 0, 2) && kind >= LADING_INT8 && kind <= LADING_UINT64) memset(out, 0, (size_t)n), out[0] = (char)rng_in(r, 0, 3);
  const uint16_t half = kind == LADING_FLOAT16 ? half_of(fmod(v, 50), 10, 15) : half_of(v, 7, 127); /* 50 * 50 is no infinity */
  if (kind == LADING_FLOAT16 || kind == LADING_BFLOAT16) memcpy(out, &half, 2);
  if (kind == LADING_FLOAT || kind == LADING_C_FLOAT) memcpy(out, &(float){ (float)v }, 4);
  if (kind == LADING_DOUBLE || kind == LADING_C_DOUBLE) memcpy(out, &(double){ v }, 8);
  if (kind == LADING_LONG_DOUBLE || kind == LADING_C_LONG_DOUBLE) memcpy(out, &(long double){ v / 3 }, LONG_VALUE);
  if (kind == LADING_C_FLOAT) memcpy(out + 4, &(float){ (float)w }, 4);
  if (kind == LADING_C_DOUBLE) memcpy(out + 8, &(double){ w }, 8);
  if (kind == LADING_C_LONG_DOUBLE) memcpy(out + sizeof(long double), &(long double){ w / 7 }, LONG_VALUE);
}

#endif
