/* yaksa_flatten: types as bytes: the length of lading's wire format in 4 bytes, little-endian, since the reader is not told
 * one; then these bytes. The null type has none. */
#include "yaksa_type.h"
#include <limits.h>

enum { HEADER = 4 };

/* Bytes after the header. */
static int wire_bytes(yaksa_type_t type, int64_t *n) {
  *n = 0;
  if (type == YAKSA_TYPE__NULL) return LADING_OK;
  const int e = lading_wire_size(ldg_yaksa_type(type), n);
  return e ? e : *n > INT_MAX - HEADER ? LADING_ERR_OVERFLOW : LADING_OK;
}

int yaksa_flatten_size(yaksa_type_t type, uintptr_t *flattened_type_size) {
  int64_t n;
  if (!flattened_type_size) return YAKSA_ERR__INTERNAL;
  const int e = wire_bytes(type, &n);
  if (!e) *flattened_type_size = (uintptr_t)(HEADER + n);
  return ldg_yaksa_error(e);
}

int yaksa_flatten(yaksa_type_t type, void *flattened_type) {
  unsigned char *to = flattened_type;
  int64_t n;
  if (!to) return YAKSA_ERR__INTERNAL;
  int e = wire_bytes(type, &n);
  if (!e && n) e = lading_wire_encode(ldg_yaksa_type(type), to + HEADER, n, &n);
  for (int i = 0; !e && i < HEADER; i++) to[i] = (unsigned char)(n >> 8 * i);
  return ldg_yaksa_error(e);
}

int yaksa_unflatten(yaksa_type_t *type, const void *flattened_type) {
  const unsigned char *from = flattened_type;
  lading_type *t;
  int64_t n = 0;
  if (!type || !from) return YAKSA_ERR__INTERNAL;
  for (int i = 0; i < HEADER; i++) n |= (int64_t)from[i] << 8 * i;
  const int e = n ? lading_wire_decode(from + HEADER, n, &t) : LADING_OK;
  if (!e) *type = n ? ldg_yaksa_handle(t) : YAKSA_TYPE__NULL;
  return ldg_yaksa_error(e);
}
