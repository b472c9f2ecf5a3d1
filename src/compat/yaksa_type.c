/* yaksa_type: handles, constructors, facts of a type. */
#include "yaksa_type.h"
#include <limits.h>
#include <stddef.h>
#include <wchar.h>

_Static_assert(sizeof(intptr_t) == sizeof(int64_t), "numbers are passed as they are");

/* ---- the built-in types ---- */

#define OF_SIZE(n, one, two, four, eight) ((n) == 1 ? (one) : (n) == 2 ? (two) : (n) == 4 ? (four) : (eight))
#define INTEGER(type) OF_SIZE(sizeof(type), LADING_INT8, LADING_INT16, LADING_INT32, LADING_INT64)
#define NATURAL(type) OF_SIZE(sizeof(type), LADING_UINT8, LADING_UINT16, LADING_UINT32, LADING_UINT64)
#define INTEGERS(width, type, plain) \
  [YAKSA_TYPE__INT##width##_T] = INTEGER(type), [YAKSA_TYPE__UINT##width##_T] = NATURAL(u##type), \
  [YAKSA_TYPE__INT_FAST##width##_T] = INTEGER(int_fast##plain), [YAKSA_TYPE__UINT_FAST##width##_T] = NATURAL(uint_fast##plain), \
  [YAKSA_TYPE__INT_LEAST##width##_T] = INTEGER(int_least##plain), [YAKSA_TYPE__UINT_LEAST##width##_T] = NATURAL(uint_least##plain)

static const unsigned char elem_of[LDG_YAKSA_LAST + 1] = {
  [YAKSA_TYPE___BOOL] = LADING_BOOL,
  [YAKSA_TYPE__CHAR] = CHAR_MIN < 0 ? LADING_INT8 : LADING_UINT8, [YAKSA_TYPE__SIGNED_CHAR] = LADING_INT8, [YAKSA_TYPE__UNSIGNED_CHAR] = LADING_UINT8,
  [YAKSA_TYPE__WCHAR_T] = INTEGER(wchar_t),
  INTEGERS(8, int8_t, 8_t), INTEGERS(16, int16_t, 16_t), INTEGERS(32, int32_t, 32_t), INTEGERS(64, int64_t, 64_t),
  [YAKSA_TYPE__SHORT] = INTEGER(short), [YAKSA_TYPE__UNSIGNED_SHORT] = NATURAL(short),
  [YAKSA_TYPE__INT] = INTEGER(int), [YAKSA_TYPE__UNSIGNED] = NATURAL(int),
  [YAKSA_TYPE__LONG] = INTEGER(long), [YAKSA_TYPE__UNSIGNED_LONG] = NATURAL(long),
  [YAKSA_TYPE__LONG_LONG] = INTEGER(long long), [YAKSA_TYPE__UNSIGNED_LONG_LONG] = NATURAL(long long),
  [YAKSA_TYPE__BYTE] = LADING_BYTE,
  [YAKSA_TYPE__INTMAX_T] = INTEGER(intmax_t), [YAKSA_TYPE__UINTMAX_T] = NATURAL(uintmax_t),
  [YAKSA_TYPE__SIZE_T] = NATURAL(size_t), [YAKSA_TYPE__INTPTR_T] = INTEGER(intptr_t), [YAKSA_TYPE__UINTPTR_T] = NATURAL(uintptr_t),
  [YAKSA_TYPE__PTRDIFF_T] = INTEGER(ptrdiff_t),
  [YAKSA_TYPE__FLOAT] = LADING_FLOAT, [YAKSA_TYPE__DOUBLE] = LADING_DOUBLE, [YAKSA_TYPE__LONG_DOUBLE] = LADING_LONG_DOUBLE,
  [YAKSA_TYPE__C_COMPLEX] = LADING_C_FLOAT, [YAKSA_TYPE__C_DOUBLE_COMPLEX] = LADING_C_DOUBLE,
  [YAKSA_TYPE__C_LONG_DOUBLE_COMPLEX] = LADING_C_LONG_DOUBLE,
  [YAKSA_TYPE__FLOAT_INT] = LADING_FLOAT_INT, [YAKSA_TYPE__DOUBLE_INT] = LADING_DOUBLE_INT, [YAKSA_TYPE__LONG_INT] = LADING_LONG_INT,
  [YAKSA_TYPE__2INT] = LADING_2INT, [YAKSA_TYPE__SHORT_INT] = LADING_SHORT_INT, [YAKSA_TYPE__LONG_DOUBLE_INT] = LADING_LONG_DOUBLE_INT,
};

static lading_type null_type = { .refs = LDG_IMMORTAL, .rep = &ldg_rep_nothing, .align = 1 }; /* not const: a plan is hung onto it */

const lading_type *ldg_yaksa_builtin(yaksa_type_t number) {
  if (number == YAKSA_TYPE__NULL) return &null_type;
  return number <= LDG_YAKSA_LAST ? lading_elem_type((lading_elem)elem_of[number]) : NULL;
}

/* ---- handles ---- */

yaksa_type_t ldg_yaksa_handle(lading_type *t) {
  const bool null = t->rep->size == 0 && !t->marked;
  if (null) lading_type_free(t);
  return null ? YAKSA_TYPE__NULL : (yaksa_type_t)(uintptr_t)t;
}

/* What a constructor returned, for the caller. */
static int made(int e, lading_type *t, yaksa_type_t *newtype) {
  if (!e) *newtype = ldg_yaksa_handle(t);
  return ldg_yaksa_error(e);
}

int yaksa_type_free(yaksa_type_t type) {
  if (!ldg_yaksa_type(type)) return YAKSA_ERR__INTERNAL;
  if (type >= LDG_YAKSA_ADDRESSES) lading_type_free((lading_type *)(uintptr_t)type);
  return YAKSA_SUCCESS;
}

int yaksa_type_create_dup(yaksa_type_t oldtype, yaksa_info_t info, yaksa_type_t *newtype) {
  (void)info;
  if (!newtype || !ldg_yaksa_type(oldtype)) return YAKSA_ERR__INTERNAL;
  if (oldtype >= LDG_YAKSA_ADDRESSES) lading_type_ref(ldg_yaksa_type(oldtype));
  *newtype = oldtype;
  return YAKSA_SUCCESS;
}

/* ---- constructors ---- */

/* The constructors check the rest, the old type included. */
#define CREATE(call)                             \
  lading_type *t = NULL;                         \
  (void)info;                                    \
  if (!newtype) return YAKSA_ERR__INTERNAL;      \
  const int e = (call);                          \
  return made(e, t, newtype)

int yaksa_type_create_contig(intptr_t count, yaksa_type_t oldtype, yaksa_info_t info, yaksa_type_t *newtype) {
  CREATE(lading_type_contiguous(count, ldg_yaksa_type(oldtype), &t));
}

int yaksa_type_create_vector(intptr_t count, intptr_t blocklength, intptr_t stride, yaksa_type_t oldtype, yaksa_info_t info,
                             yaksa_type_t *newtype) {
  CREATE(lading_type_vector(count, blocklength, stride, ldg_yaksa_type(oldtype), &t));
}

int yaksa_type_create_hvector(intptr_t count, intptr_t blocklength, intptr_t stride, yaksa_type_t oldtype, yaksa_info_t info,
                              yaksa_type_t *newtype) {
  CREATE(lading_type_hvector(count, blocklength, stride, ldg_yaksa_type(oldtype), &t));
}

int yaksa_type_create_indexed_block(intptr_t count, intptr_t blocklength, const intptr_t *displacements, yaksa_type_t oldtype,
                                    yaksa_info_t info, yaksa_type_t *newtype) {
  CREATE(lading_type_indexed_block(count, blocklength, displacements, ldg_yaksa_type(oldtype), &t));
}

int yaksa_type_create_hindexed_block(intptr_t count, intptr_t blocklength, const intptr_t *displacements, yaksa_type_t oldtype,
                                     yaksa_info_t info, yaksa_type_t *newtype) {
  CREATE(lading_type_hindexed_block(count, blocklength, displacements, ldg_yaksa_type(oldtype), &t));
}

int yaksa_type_create_indexed(intptr_t count, const intptr_t *blocklengths, const intptr_t *displacements, yaksa_type_t oldtype,
                              yaksa_info_t info, yaksa_type_t *newtype) {
  CREATE(lading_type_indexed(count, blocklengths, displacements, ldg_yaksa_type(oldtype), &t));
}

int yaksa_type_create_hindexed(intptr_t count, const intptr_t *blocklengths, const intptr_t *displacements, yaksa_type_t oldtype,
                               yaksa_info_t info, yaksa_type_t *newtype) {
  CREATE(lading_type_hindexed(count, blocklengths, displacements, ldg_yaksa_type(oldtype), &t));
}

int yaksa_type_create_subarray(int ndims, const intptr_t *sizes, const intptr_t *subsizes, const intptr_t *starts,
                               yaksa_subarray_order_e order, yaksa_type_t oldtype, yaksa_info_t info, yaksa_type_t *newtype) {
  const lading_order o = order == YAKSA_SUBARRAY_ORDER__C ? LADING_ORDER_C : LADING_ORDER_FORTRAN;
  CREATE(lading_type_subarray(ndims, sizes, subsizes, starts, o, ldg_yaksa_type(oldtype), &t));
}

int yaksa_type_create_resized(yaksa_type_t oldtype, intptr_t lb, intptr_t extent, yaksa_info_t info, yaksa_type_t *newtype) {
  CREATE(lading_type_resized(ldg_yaksa_type(oldtype), lb, extent, &t));
}

/* As callers know it from Yaksa: fields of one and the same type are an index type, whose extent is not rounded up to an alignment. */
static bool fields_are_alike(intptr_t count, const yaksa_type_t *oldtypes) {
  for (intptr_t i = 1; i < count; i++)
    if (oldtypes[i] != oldtypes[0]) return false;
  return count > 0;
}

/* `olds` has room for the types. */
static int create_struct(intptr_t count, const intptr_t *blocklengths, const intptr_t *displacements, const yaksa_type_t *oldtypes,
                         const lading_type **olds, lading_type **t) {
  for (intptr_t i = 0; i < count; i++) olds[i] = ldg_yaksa_type(oldtypes[i]);
  if (fields_are_alike(count, oldtypes)) return lading_type_hindexed(count, blocklengths, displacements, olds[0], t);
  return lading_type_struct(count, blocklengths, displacements, olds, t);
}

int yaksa_type_create_struct(intptr_t count, const intptr_t *blocklengths, const intptr_t *displacements,
                             const yaksa_type_t *oldtypes, yaksa_info_t info, yaksa_type_t *newtype) {
  const lading_type *few[32] = { NULL }, **olds = few;
  lading_type *t = NULL;
  int64_t bytes;
  (void)info;
  if (!newtype || (count > 0 && !oldtypes) || ldg_mul(count, (int64_t)sizeof *olds, &bytes)) return YAKSA_ERR__INTERNAL;
  if (bytes > (int64_t)sizeof few) olds = ldg_alloc(bytes);
  if (!olds) return YAKSA_ERR__OUT_OF_MEM;
  const int e = create_struct(count, blocklengths, displacements, oldtypes, olds, &t);
  if (olds != few) ldg_free(olds);
  return made(e, t, newtype);
}

/* ---- facts ---- */

int yaksa_type_get_size(yaksa_type_t type, uintptr_t *size) {
  const lading_type *t = ldg_yaksa_type(type);
  if (!t || !size) return YAKSA_ERR__INTERNAL;
  *size = (uintptr_t)t->rep->size;
  return YAKSA_SUCCESS;
}

int yaksa_type_get_extent(yaksa_type_t type, intptr_t *lb, intptr_t *extent) {
  const lading_type *t = ldg_yaksa_type(type);
  if (!t || !lb || !extent) return YAKSA_ERR__INTERNAL;
  *lb = t->lb, *extent = t->ub - t->lb;
  return YAKSA_SUCCESS;
}

/* Facts of the rep as it was made: lading_type_info would make the plan first. */
int yaksa_type_get_true_extent(yaksa_type_t type, intptr_t *lb, intptr_t *extent) {
  const lading_type *t = ldg_yaksa_type(type);
  if (!t || !lb || !extent) return YAKSA_ERR__INTERNAL;
  *lb = t->rep->lo, *extent = t->rep->hi - t->rep->lo;
  return YAKSA_SUCCESS;
}
