/* yaksa_types: constructor calls of types as text, made through yaksa.h. */
#include "yaksa_types.h"
#include <yaksa.h>

_Static_assert(sizeof(intptr_t) == sizeof(int64_t), "numbers are passed as they are");

static bool make_elem(lading_elem e, type_handle *out) {
  static const yaksa_type_t table[LADING_ELEM_MAX] = {
    [LADING_BYTE] = YAKSA_TYPE__BYTE, [LADING_CHAR] = YAKSA_TYPE__CHAR, [LADING_BOOL] = YAKSA_TYPE___BOOL, [LADING_INT8] = YAKSA_TYPE__INT8_T,
    [LADING_INT16] = YAKSA_TYPE__INT16_T, [LADING_INT32] = YAKSA_TYPE__INT32_T, [LADING_INT64] = YAKSA_TYPE__INT64_T,
    [LADING_UINT8] = YAKSA_TYPE__UINT8_T, [LADING_UINT16] = YAKSA_TYPE__UINT16_T, [LADING_UINT32] = YAKSA_TYPE__UINT32_T,
    [LADING_UINT64] = YAKSA_TYPE__UINT64_T, [LADING_FLOAT16] = YAKSA_TYPE__UINT16_T, [LADING_BFLOAT16] = YAKSA_TYPE__UINT16_T,
    [LADING_FLOAT] = YAKSA_TYPE__FLOAT, [LADING_DOUBLE] = YAKSA_TYPE__DOUBLE, [LADING_LONG_DOUBLE] = YAKSA_TYPE__LONG_DOUBLE,
    [LADING_C_FLOAT] = YAKSA_TYPE__C_COMPLEX, [LADING_C_DOUBLE] = YAKSA_TYPE__C_DOUBLE_COMPLEX,
    [LADING_C_LONG_DOUBLE] = YAKSA_TYPE__C_LONG_DOUBLE_COMPLEX, [LADING_FLOAT_INT] = YAKSA_TYPE__FLOAT_INT,
    [LADING_DOUBLE_INT] = YAKSA_TYPE__DOUBLE_INT, [LADING_LONG_INT] = YAKSA_TYPE__LONG_INT, [LADING_2INT] = YAKSA_TYPE__2INT,
    [LADING_SHORT_INT] = YAKSA_TYPE__SHORT_INT, [LADING_LONG_DOUBLE_INT] = YAKSA_TYPE__LONG_DOUBLE_INT,
  };
  *out = table[e];
  return *out != YAKSA_TYPE__NULL;
}

/* Handles of the elements are small; freeing one would be an error. */
static void drop(type_handle t) {
  if (t > YAKSA_TYPE__LONG_DOUBLE_INT) yaksa_type_free((yaksa_type_t)t);
}

static int create(const type_call *c, yaksa_type_t *t) {
  const intptr_t n = (intptr_t)c->n, *num = (const intptr_t *)c->number;
  const intptr_t *const *list = (const intptr_t *const *)c->list;
  const yaksa_type_t *old = (const yaksa_type_t *)c->old;
  const yaksa_subarray_order_e order = c->fortran ? YAKSA_SUBARRAY_ORDER__FORTRAN : YAKSA_SUBARRAY_ORDER__C;
  switch (c->kind) {
  case TYPE_CONTIGUOUS: return yaksa_type_create_contig(num[0], old[0], NULL, t);
  case TYPE_VECTOR: return yaksa_type_create_vector(num[0], num[1], num[2], old[0], NULL, t);
  case TYPE_HVECTOR: return yaksa_type_create_hvector(num[0], num[1], num[2], old[0], NULL, t);
  case TYPE_INDEXED: return yaksa_type_create_indexed(n, list[0], list[1], old[0], NULL, t);
  case TYPE_HINDEXED: return yaksa_type_create_hindexed(n, list[0], list[1], old[0], NULL, t);
  case TYPE_INDEXED_BLOCK: return yaksa_type_create_indexed_block(n, num[0], list[0], old[0], NULL, t);
  case TYPE_HINDEXED_BLOCK: return yaksa_type_create_hindexed_block(n, num[0], list[0], old[0], NULL, t);
  case TYPE_STRUCT: return yaksa_type_create_struct(n, list[0], list[1], old, NULL, t);
  case TYPE_SUBARRAY: return yaksa_type_create_subarray((int)n, list[0], list[1], list[2], order, old[0], NULL, t);
  case TYPE_RESIZED: return yaksa_type_create_resized(old[0], num[0], num[1], NULL, t);
  case TYPE_DARRAY: break; /* there is none */
  }
  return YAKSA_ERR__NOT_SUPPORTED;
}

static bool make(const type_call *c, type_handle *out) {
  yaksa_type_t t = YAKSA_TYPE__NULL;
  bool ok = create(c, &t) == YAKSA_SUCCESS;
  *out = t;
  return ok;
}

const type_maker yaksa_maker = { make_elem, make, drop };
