/* yaksa.h, as lading offers it: a program that was written for the datatype engine Yaksa (0.4), such as an MPI that was
 * configured with one, runs on lading instead. Same names, values and argument orders; nothing else is shared.
 *
 *  - Functions return YAKSA_SUCCESS or a YAKSA_ERR__*, and then have written no data. Every function may be called from any
 *    thread at any time, yaksa_init and yaksa_finalize too: they are not needed.
 *  - A type is a number: one of the built-in ones, or made by a constructor and freed by yaksa_type_free. The types it was
 *    made of may be freed at once. There is no commit.
 *  - Counts, strides and displacements are those of the MPI constructors; `displacements` and `stride` count extents of
 *    `oldtype`, but bytes in the functions with an h. Bounds are those of MPI, with a struct padded to its alignment.
 *  - `info` may be NULL. Hints are accepted and not needed. Memory is that of the host.
 */
#ifndef YAKSA_H_INCLUDED
#define YAKSA_H_INCLUDED

#include <stdint.h>
#include <stdio.h> /* as the original does: its callers may count on it */
#include <sys/types.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define YAKSA_VERSION "0.4"
#define YAKSA_RELEASE_TYPE_ALPHA 0
#define YAKSA_RELEASE_TYPE_BETA 1
#define YAKSA_RELEASE_TYPE_RC 2
#define YAKSA_RELEASE_TYPE_PATCH 3
#define YAKSA_CALC_VERSION(MAJOR, MINOR, REVISION, TYPE, PATCH) \
  ((MAJOR) * 10000000 + (MINOR) * 100000 + (REVISION) * 1000 + (TYPE) * 100 + (PATCH))
#define YAKSA_NUMVERSION 400300

#define YAKSA_SUCCESS 0
#define YAKSA_ERR__OUT_OF_MEM 1
#define YAKSA_ERR__INTERNAL 2      /* an argument out of its domain, a size that leaves 64 bits, bytes that are no type */
#define YAKSA_ERR__NOT_SUPPORTED 3 /* an op that is not defined for an element of the type */

/* ---- handles -------------------------------------------------------------------------------------------------------- */

typedef uint64_t yaksa_type_t;
typedef uint64_t yaksa_request_t;
typedef uint64_t yaksa_op_t;
typedef void *yaksa_info_t;

#define YAKSA_REQUEST__NULL ((yaksa_request_t) 0)
#define YAKSA_INFO_MAX_KEYLEN 256

typedef enum { YAKSA_SUBARRAY_ORDER__C, YAKSA_SUBARRAY_ORDER__FORTRAN } yaksa_subarray_order_e;

/* out = out op in, for every element. All but REPLACE take the elements that MPI defines them for; those of a pair (FLOAT_INT
 * ...) are its two parts, one by one. */
#define YAKSA_OP__MAX     ((yaksa_op_t) 0)
#define YAKSA_OP__MIN     ((yaksa_op_t) 1)
#define YAKSA_OP__SUM     ((yaksa_op_t) 2)
#define YAKSA_OP__PROD    ((yaksa_op_t) 3)
#define YAKSA_OP__LAND    ((yaksa_op_t) 4)
#define YAKSA_OP__BAND    ((yaksa_op_t) 5)
#define YAKSA_OP__LOR     ((yaksa_op_t) 6)
#define YAKSA_OP__BOR     ((yaksa_op_t) 7)
#define YAKSA_OP__LXOR    ((yaksa_op_t) 8)
#define YAKSA_OP__BXOR    ((yaksa_op_t) 9)
#define YAKSA_OP__REPLACE ((yaksa_op_t) 10)
#define YAKSA_OP__LAST    ((yaksa_op_t) 11)

/* The null type has no bytes and extent 0; it may be used like any other. */
#define YAKSA_TYPE__NULL                  ((yaksa_type_t) 0)
#define YAKSA_TYPE___BOOL                 ((yaksa_type_t) 1)
#define YAKSA_TYPE__CHAR                  ((yaksa_type_t) 2)
#define YAKSA_TYPE__SIGNED_CHAR           ((yaksa_type_t) 3)
#define YAKSA_TYPE__UNSIGNED_CHAR         ((yaksa_type_t) 4)
#define YAKSA_TYPE__WCHAR_T               ((yaksa_type_t) 5)
#define YAKSA_TYPE__INT8_T                ((yaksa_type_t) 6)
#define YAKSA_TYPE__INT16_T               ((yaksa_type_t) 7)
#define YAKSA_TYPE__INT32_T               ((yaksa_type_t) 8)
#define YAKSA_TYPE__INT64_T               ((yaksa_type_t) 9)
#define YAKSA_TYPE__UINT8_T               ((yaksa_type_t) 10)
#define YAKSA_TYPE__UINT16_T              ((yaksa_type_t) 11)
#define YAKSA_TYPE__UINT32_T              ((yaksa_type_t) 12)
#define YAKSA_TYPE__UINT64_T              ((yaksa_type_t) 13)
#define YAKSA_TYPE__INT                   ((yaksa_type_t) 14)
#define YAKSA_TYPE__UNSIGNED              ((yaksa_type_t) 15)
#define YAKSA_TYPE__SHORT                 ((yaksa_type_t) 16)
#define YAKSA_TYPE__UNSIGNED_SHORT        ((yaksa_type_t) 17)
#define YAKSA_TYPE__LONG                  ((yaksa_type_t) 18)
#define YAKSA_TYPE__UNSIGNED_LONG         ((yaksa_type_t) 19)
#define YAKSA_TYPE__LONG_LONG             ((yaksa_type_t) 20)
#define YAKSA_TYPE__UNSIGNED_LONG_LONG    ((yaksa_type_t) 21)
#define YAKSA_TYPE__INT_FAST8_T           ((yaksa_type_t) 22)
#define YAKSA_TYPE__INT_FAST16_T          ((yaksa_type_t) 23)
#define YAKSA_TYPE__INT_FAST32_T          ((yaksa_type_t) 24)
#define YAKSA_TYPE__INT_FAST64_T          ((yaksa_type_t) 25)
#define YAKSA_TYPE__UINT_FAST8_T          ((yaksa_type_t) 26)
#define YAKSA_TYPE__UINT_FAST16_T         ((yaksa_type_t) 27)
#define YAKSA_TYPE__UINT_FAST32_T         ((yaksa_type_t) 28)
#define YAKSA_TYPE__UINT_FAST64_T         ((yaksa_type_t) 29)
#define YAKSA_TYPE__INT_LEAST8_T          ((yaksa_type_t) 30)
#define YAKSA_TYPE__INT_LEAST16_T         ((yaksa_type_t) 31)
#define YAKSA_TYPE__INT_LEAST32_T         ((yaksa_type_t) 32)
#define YAKSA_TYPE__INT_LEAST64_T         ((yaksa_type_t) 33)
#define YAKSA_TYPE__UINT_LEAST8_T         ((yaksa_type_t) 34)
#define YAKSA_TYPE__UINT_LEAST16_T        ((yaksa_type_t) 35)
#define YAKSA_TYPE__UINT_LEAST32_T        ((yaksa_type_t) 36)
#define YAKSA_TYPE__UINT_LEAST64_T        ((yaksa_type_t) 37)
#define YAKSA_TYPE__BYTE                  ((yaksa_type_t) 38)
#define YAKSA_TYPE__INTMAX_T              ((yaksa_type_t) 39)
#define YAKSA_TYPE__UINTMAX_T             ((yaksa_type_t) 40)
#define YAKSA_TYPE__SIZE_T                ((yaksa_type_t) 41)
#define YAKSA_TYPE__INTPTR_T              ((yaksa_type_t) 42)
#define YAKSA_TYPE__UINTPTR_T             ((yaksa_type_t) 43)
#define YAKSA_TYPE__PTRDIFF_T             ((yaksa_type_t) 44)
#define YAKSA_TYPE__FLOAT                 ((yaksa_type_t) 45)
#define YAKSA_TYPE__DOUBLE                ((yaksa_type_t) 46)
#define YAKSA_TYPE__LONG_DOUBLE           ((yaksa_type_t) 47)
#define YAKSA_TYPE__C_COMPLEX             ((yaksa_type_t) 48)
#define YAKSA_TYPE__C_DOUBLE_COMPLEX      ((yaksa_type_t) 49)
#define YAKSA_TYPE__C_LONG_DOUBLE_COMPLEX ((yaksa_type_t) 50)
#define YAKSA_TYPE__FLOAT_INT             ((yaksa_type_t) 51)
#define YAKSA_TYPE__DOUBLE_INT            ((yaksa_type_t) 52)
#define YAKSA_TYPE__LONG_INT              ((yaksa_type_t) 53)
#define YAKSA_TYPE__2INT                  ((yaksa_type_t) 54)
#define YAKSA_TYPE__SHORT_INT             ((yaksa_type_t) 55)
#define YAKSA_TYPE__LONG_DOUBLE_INT       ((yaksa_type_t) 56)

/* ---- the library ---------------------------------------------------------------------------------------------------- */

int yaksa_init(yaksa_info_t info);
int yaksa_finalize(void);

/* An info object takes no memory, so one that is never freed does no harm. Every key and value is accepted. */
int yaksa_info_create(yaksa_info_t *info);
int yaksa_info_free(yaksa_info_t info);
int yaksa_info_keyval_append(yaksa_info_t info, const char *key, const void *val, unsigned int vallen);

/* ---- types ---------------------------------------------------------------------------------------------------------- */

/* A type that has no bytes and no bounds of its own comes out as YAKSA_TYPE__NULL. */
int yaksa_type_create_contig(intptr_t count, yaksa_type_t oldtype, yaksa_info_t info, yaksa_type_t *newtype);
int yaksa_type_create_vector(intptr_t count, intptr_t blocklength, intptr_t stride, yaksa_type_t oldtype, yaksa_info_t info,
                             yaksa_type_t *newtype);
int yaksa_type_create_hvector(intptr_t count, intptr_t blocklength, intptr_t stride, yaksa_type_t oldtype, yaksa_info_t info,
                              yaksa_type_t *newtype);
int yaksa_type_create_indexed_block(intptr_t count, intptr_t blocklength, const intptr_t *displacements, yaksa_type_t oldtype,
                                    yaksa_info_t info, yaksa_type_t *newtype);
int yaksa_type_create_hindexed_block(intptr_t count, intptr_t blocklength, const intptr_t *displacements, yaksa_type_t oldtype,
                                     yaksa_info_t info, yaksa_type_t *newtype);
int yaksa_type_create_indexed(intptr_t count, const intptr_t *blocklengths, const intptr_t *displacements, yaksa_type_t oldtype,
                              yaksa_info_t info, yaksa_type_t *newtype);
int yaksa_type_create_hindexed(intptr_t count, const intptr_t *blocklengths, const intptr_t *displacements, yaksa_type_t oldtype,
                               yaksa_info_t info, yaksa_type_t *newtype);
int yaksa_type_create_struct(intptr_t count, const intptr_t *blocklengths, const intptr_t *displacements,
                             const yaksa_type_t *oldtypes, yaksa_info_t info, yaksa_type_t *newtype);
int yaksa_type_create_subarray(int ndims, const intptr_t *sizes, const intptr_t *subsizes, const intptr_t *starts,
                               yaksa_subarray_order_e order, yaksa_type_t oldtype, yaksa_info_t info, yaksa_type_t *newtype);
int yaksa_type_create_resized(yaksa_type_t oldtype, intptr_t lb, intptr_t extent, yaksa_info_t info, yaksa_type_t *newtype);
/* The same type once more: to be freed by itself. */
int yaksa_type_create_dup(yaksa_type_t oldtype, yaksa_info_t info, yaksa_type_t *newtype);
/* The null type and the built-in ones stay. */
int yaksa_type_free(yaksa_type_t type);

int yaksa_type_get_size(yaksa_type_t type, uintptr_t *size);
int yaksa_type_get_extent(yaksa_type_t type, intptr_t *lb, intptr_t *extent);
int yaksa_type_get_true_extent(yaksa_type_t type, intptr_t *lb, intptr_t *extent);

/* ---- moving --------------------------------------------------------------------------------------------------------- */

/* Move the bytes of the packed stream of `incount` (`outcount`) items from `inoffset` (`outoffset`) on: at most so many as the
 * packed side holds, and only whole basic elements, a pair being one. *actual says how many bytes that were: 0 when the offset
 * is beyond the end, or inside of an element. A NULL buffer goes with absolute displacements. */
int yaksa_pack(const void *inbuf, uintptr_t incount, yaksa_type_t type, uintptr_t inoffset, void *outbuf, uintptr_t max_pack_bytes,
               uintptr_t *actual_pack_bytes, yaksa_info_t info, yaksa_op_t op);
int yaksa_unpack(const void *inbuf, uintptr_t insize, void *outbuf, uintptr_t outcount, yaksa_type_t type, uintptr_t outoffset,
                 uintptr_t *actual_unpack_bytes, yaksa_info_t info, yaksa_op_t op);

/* These give a request to wait for. All is done when they return, so it is always YAKSA_REQUEST__NULL. */
int yaksa_ipack(const void *inbuf, uintptr_t incount, yaksa_type_t type, uintptr_t inoffset, void *outbuf, uintptr_t max_pack_bytes,
                uintptr_t *actual_pack_bytes, yaksa_info_t info, yaksa_op_t op, yaksa_request_t *request);
int yaksa_iunpack(const void *inbuf, uintptr_t insize, void *outbuf, uintptr_t outcount, yaksa_type_t type, uintptr_t outoffset,
                  uintptr_t *actual_unpack_bytes, yaksa_info_t info, yaksa_op_t op, yaksa_request_t *request);
int yaksa_request_test(yaksa_request_t request, int *completed);
int yaksa_request_wait(yaksa_request_t request);

/* `stream` points to a stream of a device. Host memory is moved at once, whatever is queued there. */
int yaksa_pack_stream(const void *inbuf, uintptr_t incount, yaksa_type_t type, uintptr_t inoffset, void *outbuf,
                      uintptr_t max_pack_bytes, uintptr_t *actual_pack_bytes, yaksa_info_t info, yaksa_op_t op, void *stream);
int yaksa_unpack_stream(const void *inbuf, uintptr_t insize, void *outbuf, uintptr_t outcount, yaksa_type_t type,
                        uintptr_t outoffset, uintptr_t *actual_unpack_bytes, yaksa_info_t info, yaksa_op_t op, void *stream);

/* ---- segments ------------------------------------------------------------------------------------------------------- */

/* Contiguous pieces in the order of the stream, as long as they get within one item; items that together are one run are one
 * segment. So `count` items that are not have count times the segments of one. The null type has one segment, of 0 bytes. */
int yaksa_iov_len(uintptr_t count, yaksa_type_t type, uintptr_t *iov_len);
/* The first segments that together have at most so many bytes. */
int yaksa_iov_len_max(uintptr_t count, yaksa_type_t type, uintptr_t max_iov_bytes, uintptr_t *iov_len, uintptr_t *actual_iov_bytes);
/* Segments [iov_offset, iov_offset + max_iov_len), fewer at the end. */
int yaksa_iov(const char *buf, uintptr_t count, yaksa_type_t type, uintptr_t iov_offset, struct iovec *iov, uintptr_t max_iov_len,
              uintptr_t *actual_iov_len);

/* ---- shipping ------------------------------------------------------------------------------------------------------- */

/* A type as bytes that another process can read, on any machine whose elements have the same sizes. At most INT_MAX bytes. */
int yaksa_flatten_size(yaksa_type_t type, uintptr_t *flattened_type_size);
int yaksa_flatten(yaksa_type_t type, void *flattened_type);
int yaksa_unflatten(yaksa_type_t *type, const void *flattened_type);

#ifdef __cplusplus
}
#endif
#endif
