/* compat: handles of yaksa.h. A handle is the address of a type, or, when it is small, the number of a built-in one: nothing
 * is looked up, locked or allocated to use it. */
#ifndef LDG_YAKSA_TYPE_H
#define LDG_YAKSA_TYPE_H

#include "../api.h"
#include "yaksa.h"

#define LDG_YAKSA_LAST YAKSA_TYPE__LONG_DOUBLE_INT /* of the numbers */
#define LDG_YAKSA_ADDRESSES UINT64_C(4096)         /* nothing is ever stored below: numbers that mean nothing are told apart */

/* The built-in type with that number; NULL when there is none. */
const lading_type *ldg_yaksa_builtin(yaksa_type_t number);

static inline const lading_type *ldg_yaksa_type(yaksa_type_t handle) {
  return handle >= LDG_YAKSA_ADDRESSES ? (const lading_type *)(uintptr_t)handle : ldg_yaksa_builtin(handle);
}

/* The handle of a new type, which takes over the caller's reference. */
yaksa_type_t ldg_yaksa_handle(lading_type *t);
/* YAKSA_SUCCESS or YAKSA_ERR__*, for LADING_OK or LADING_ERR_*. */
int ldg_yaksa_error(int e);

/* Reduces whole elements [lo, hi) of a type that has pairs: part by part, each pair being two elements. */
int ldg_yaksa_reduce_pairs(const lading_type *t, int64_t count, int dir, const void *mem, const void *packed, int64_t lo, int64_t hi,
                           lading_op op);

#endif
