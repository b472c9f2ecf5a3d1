/* yaksa_move: pack and unpack. What a call asks for becomes a range of the stream that ends where elements end; the rest is
 * lading's. Everything is done when a call returns, so the calls with requests and streams are the same. */
#include "yaksa_type.h"

static const unsigned char op_of[YAKSA_OP__LAST] = {
  [YAKSA_OP__MAX] = LADING_MAX, [YAKSA_OP__MIN] = LADING_MIN, [YAKSA_OP__SUM] = LADING_SUM, [YAKSA_OP__PROD] = LADING_PROD,
  [YAKSA_OP__LAND] = LADING_LAND, [YAKSA_OP__BAND] = LADING_BAND, [YAKSA_OP__LOR] = LADING_LOR, [YAKSA_OP__BOR] = LADING_BOR,
  [YAKSA_OP__LXOR] = LADING_LXOR, [YAKSA_OP__BXOR] = LADING_BXOR, [YAKSA_OP__REPLACE] = LADING_REPLACE,
};

/* Packed bytes from the start of the element that holds `byte`; 0 between two. */
static int64_t into_element(ldg_sig items, int64_t byte) {
  ldg_elements c;
  return items.node->count ? ldg_elements_seek(&c, items, LDG_PACKED, byte, NULL) : byte % items.node->size;
}

/* The largest range of whole elements that begins at lo and ends in (lo, hi]; *hi == lo when there is none. */
static int whole_elements(const lading_type *t, int64_t count, int64_t total, int64_t lo, int64_t *hi) {
  ldg_sig items;
  const int e = ldg_build_sig_times(t->sig, count, &items);
  if (e) return e;
  if (*hi < total) *hi -= into_element(items, *hi);
  if (*hi < lo || (lo > 0 && into_element(items, lo) > 0)) *hi = lo;
  return LADING_OK;
}

typedef struct range { int64_t count, lo, hi; } range;

/* Of `count` items, from `offset` on, at most `max` bytes. */
static inline int range_of(const lading_type *t, uintptr_t count, uintptr_t offset, uintptr_t max, range *r) {
  int64_t total;
  if (!t) return LADING_ERR_ARG;
  *r = (range){ (int64_t)count, 0, 0 };
  if (count > INT64_MAX || ldg_mul((int64_t)count, t->rep->size, &total)) return LADING_ERR_OVERFLOW;
  if (offset >= (uintptr_t)total) return LADING_OK;
  r->lo = (int64_t)offset, r->hi = total;
  if (max < (uintptr_t)(total - r->lo)) r->hi = r->lo + (int64_t)max;
  return r->lo == 0 && r->hi == total ? LADING_OK : whole_elements(t, r->count, total, r->lo, &r->hi);
}

static int reduce(const lading_type *t, const range *r, int dir, const void *mem, const void *packed, lading_op op) {
  void *to = (void *)(uintptr_t)(dir == LDG_PACK ? packed : mem);
  const int e = dir == LDG_PACK ? lading_pack_op(t, r->count, mem, to, r->lo, r->hi, op)
                                : lading_unpack_op(t, r->count, to, packed, r->lo, r->hi, op);
  return e == LADING_ERR_UNSUPPORTED ? ldg_yaksa_reduce_pairs(t, r->count, dir, mem, packed, r->lo, r->hi, op) : e;
}

static inline int move(int dir, const void *mem, uintptr_t count, yaksa_type_t type, uintptr_t offset, const void *packed, uintptr_t max,
                       uintptr_t *actual, yaksa_op_t op) {
  const lading_type *t = ldg_yaksa_type(type);
  range r;
  if (!actual) return YAKSA_ERR__INTERNAL;
  *actual = 0;
  if (op >= YAKSA_OP__LAST) return YAKSA_ERR__NOT_SUPPORTED;
  int e = range_of(t, count, offset, max, &r);
  if (e || r.lo == r.hi) return ldg_yaksa_error(e);
  if (op != YAKSA_OP__REPLACE) e = reduce(t, &r, dir, mem, packed, (lading_op)op_of[op]);
  else if (dir == LDG_PACK) e = lading_pack(t, r.count, mem, (void *)(uintptr_t)packed, r.lo, r.hi);
  else e = lading_unpack(t, r.count, (void *)(uintptr_t)mem, packed, r.lo, r.hi);
  if (e) return ldg_yaksa_error(e);
  *actual = (uintptr_t)(r.hi - r.lo);
  return YAKSA_SUCCESS;
}

int yaksa_pack(const void *inbuf, uintptr_t incount, yaksa_type_t type, uintptr_t inoffset, void *outbuf, uintptr_t max_pack_bytes,
               uintptr_t *actual_pack_bytes, yaksa_info_t info, yaksa_op_t op) {
  (void)info;
  return move(LDG_PACK, inbuf, incount, type, inoffset, outbuf, max_pack_bytes, actual_pack_bytes, op);
}

int yaksa_unpack(const void *inbuf, uintptr_t insize, void *outbuf, uintptr_t outcount, yaksa_type_t type, uintptr_t outoffset,
                 uintptr_t *actual_unpack_bytes, yaksa_info_t info, yaksa_op_t op) {
  (void)info;
  return move(LDG_UNPACK, outbuf, outcount, type, outoffset, inbuf, insize, actual_unpack_bytes, op);
}

int yaksa_ipack(const void *inbuf, uintptr_t incount, yaksa_type_t type, uintptr_t inoffset, void *outbuf, uintptr_t max_pack_bytes,
                uintptr_t *actual_pack_bytes, yaksa_info_t info, yaksa_op_t op, yaksa_request_t *request) {
  if (!request) return YAKSA_ERR__INTERNAL;
  *request = YAKSA_REQUEST__NULL;
  return yaksa_pack(inbuf, incount, type, inoffset, outbuf, max_pack_bytes, actual_pack_bytes, info, op);
}

int yaksa_iunpack(const void *inbuf, uintptr_t insize, void *outbuf, uintptr_t outcount, yaksa_type_t type, uintptr_t outoffset,
                  uintptr_t *actual_unpack_bytes, yaksa_info_t info, yaksa_op_t op, yaksa_request_t *request) {
  if (!request) return YAKSA_ERR__INTERNAL;
  *request = YAKSA_REQUEST__NULL;
  return yaksa_unpack(inbuf, insize, outbuf, outcount, type, outoffset, actual_unpack_bytes, info, op);
}

int yaksa_pack_stream(const void *inbuf, uintptr_t incount, yaksa_type_t type, uintptr_t inoffset, void *outbuf,
                      uintptr_t max_pack_bytes, uintptr_t *actual_pack_bytes, yaksa_info_t info, yaksa_op_t op, void *stream) {
  (void)stream;
  return yaksa_pack(inbuf, incount, type, inoffset, outbuf, max_pack_bytes, actual_pack_bytes, info, op);
}

int yaksa_unpack_stream(const void *inbuf, uintptr_t insize, void *outbuf, uintptr_t outcount, yaksa_type_t type,
                        uintptr_t outoffset, uintptr_t *actual_unpack_bytes, yaksa_info_t info, yaksa_op_t op, void *stream) {
  (void)stream;
  return yaksa_unpack(inbuf, insize, outbuf, outcount, type, outoffset, actual_unpack_bytes, info, op);
}
