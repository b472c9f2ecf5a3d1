/* How the elements of reductions come into registers and back: from packed bytes at any address. */
#ifndef LDG_OP_CARRIERS_H
#define LDG_OP_CARRIERS_H

#include "kernels.h"

#include <float.h>

#define LDG_ELEMENT LDG_INLINE
#include "op_elements.h"

typedef struct ldg_ldi { long double v; int32_t i; } ldg_ldi;

/* Elements of a row that are reduced at once: as many as fill a register, of 4 and 8 bytes. */
#ifdef __AVX2__
#define LDG_OP_WIDTH_PLAIN(size) ((size) == 4 ? 8 : 4)
#else
#define LDG_OP_WIDTH_PLAIN(size) 4
#endif
#define LDG_OP_WIDTH_PAIR(size) 1
#define LDG_OP_WIDTH_LONG(size) 1
#define LDG_OP_WIDTH_LONG2(size) 1
#define LDG_OP_WIDTH_LONGPAIR(size) 1
#define LDG_OP_WIDTH_F16(size) 1
#define LDG_OP_WIDTH_BF16(size) 1
enum { LDG_OP_WIDTH = 8 }; /* at most */

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

LDG_INLINE uint32_t ldg_get_16(const char *p) {
  uint16_t h;
  __builtin_memcpy(&h, p, 2);
  return h;
}
LDG_INLINE void ldg_put_16(char *p, uint32_t bits) {
  const uint16_t h = (uint16_t)bits;
  __builtin_memcpy(p, &h, 2);
}
#define LDG_OP_GET_F16(x, p, size) ((x) = ldg_float_of_f16(ldg_get_16(p)))
#define LDG_OP_PUT_F16(p, x, size) ldg_put_16(p, ldg_f16_of_float(x))
#define LDG_OP_GET_BF16(x, p, size) ((x) = ldg_float_of_bf16(ldg_get_16(p)))
#define LDG_OP_PUT_BF16(p, x, size) ldg_put_16(p, ldg_bf16_of_float(x))

#endif
