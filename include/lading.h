/* lading: the datatype engine. Describes non-contiguous memory once, and moves it.
 *
 * A type says which bytes of memory make up one item and in which order they stand in the packed stream, as an MPI
 * derived datatype does. Everything else follows from it: packing and unpacking of any byte range of the stream,
 * copies from one layout into another, lists of contiguous segments, and a content id that names the layout.
 *
 * Said once, for the whole header:
 *  - Lengths, offsets and strides are int64_t. `size` is packed bytes, `extent` the distance between items in memory.
 *  - Functions return LADING_OK (0) or a negative LADING_ERR_*; where that is said, a positive LADING_NEED_LAYOUT,
 *    LADING_BATCH_FULL or LADING_NOT_MAPPED, which are no errors. On an error nothing was written to any output, but for a
 *    length that would be needed where that is said, and nothing leaks. No input makes the library abort; only memory that
 *    is not there can fault.
 *  - Every function may be called from any thread at any time. A type never changes after its creation; a count of
 *    references keeps it alive, and requests under way hold their own. After fork() the child may go on.
 *  - There is no init and no finalize. Buffers may be NULL where no byte is touched; packed bytes at NULL are LADING_ERR_ARG
 *    otherwise. As the memory of a type NULL is fine with absolute displacements, as with MPI_BOTTOM.
 *  - A type that moves many bytes may have a kernel compiled for it. No call waits for that, but a thread of the library is there meanwhile,
 *    a process (lading-jit) may be started, and files are kept in the user's cache folder. LADING_JIT=off in the environment
 *    before the first call: none of these.
 *  - Types nest at most LADING_DEPTH_MAX levels deep (LADING_ERR_DEPTH), and a type written out as a tree has at most
 *    2^22 nodes, index entries not counted (LADING_ERR_OVERFLOW). Normal form (below: the canonical tree) may be some levels deeper.
 */
#ifndef LADING_H
#define LADING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(LADING_API) /* as who builds it says: empty, where a library of its own has lading in it and exports nothing of it */
#elif defined(__GNUC__)
#define LADING_API __attribute__((visibility("default")))
#else
#define LADING_API
#endif

#define LADING_DEPTH_MAX 128

/* Of this header; the library that is loaded may be another one's: MAJOR * 10000 + MINOR * 100 + PATCH. */
#define LADING_VERSION_MAJOR 0
#define LADING_VERSION_MINOR 1
#define LADING_VERSION_PATCH 0
#define LADING_VERSION (LADING_VERSION_MAJOR * 10000 + LADING_VERSION_MINOR * 100 + LADING_VERSION_PATCH)

enum {
  LADING_OK = 0,
  LADING_ERR_ARG = -1,         /* an argument is out of its domain */
  LADING_ERR_NOMEM = -2,       /* memory is exhausted */
  LADING_ERR_RANGE = -3,       /* a byte range outside the stream */
  LADING_ERR_OVERFLOW = -4,    /* a product or sum leaves 64 bits */
  LADING_ERR_FORMAT = -5,      /* text or wire bytes that do not parse */
  LADING_ERR_UNSUPPORTED = -6, /* well-formed, but not defined */
  LADING_ERR_DEVICE = -7,      /* a device or its driver failed */
  LADING_ERR_SYSTEM = -8,      /* a system call failed */
  LADING_ERR_DEPTH = -9        /* nested deeper than LADING_DEPTH_MAX */
};

/* What an error code means, in one line of English; never NULL, also for unknown codes. */
LADING_API const char *lading_strerror(int code);
/* LADING_VERSION of the library that is loaded. */
LADING_API int lading_version(void);

/* ---- types ---------------------------------------------------------------------------------------------------- */

typedef struct lading_type lading_type;

/* Basic elements. Pair types have the holes of the C structs {float,int}, {double,int}, {long,int}, {int,int},
 * {short,int}, {long double,int} (MPI-4.1 section 6.9.4). */
typedef enum lading_elem {
  LADING_BYTE, LADING_CHAR, LADING_BOOL,
  LADING_INT8, LADING_INT16, LADING_INT32, LADING_INT64, LADING_UINT8, LADING_UINT16, LADING_UINT32, LADING_UINT64,
  LADING_FLOAT16, LADING_BFLOAT16, LADING_FLOAT, LADING_DOUBLE, LADING_LONG_DOUBLE,
  LADING_C_FLOAT, LADING_C_DOUBLE, LADING_C_LONG_DOUBLE,
  LADING_FLOAT_INT, LADING_DOUBLE_INT, LADING_LONG_INT, LADING_2INT, LADING_SHORT_INT, LADING_LONG_DOUBLE_INT,
  LADING_ELEM_MAX
} lading_elem;

typedef enum lading_order { LADING_ORDER_C, LADING_ORDER_FORTRAN } lading_order;
typedef enum lading_distrib { LADING_DISTRIB_BLOCK, LADING_DISTRIB_CYCLIC, LADING_DISTRIB_NONE } lading_distrib;
#define LADING_DARG_DEFAULT (-1)

/* The built-in type of a basic element; never freed. NULL when `elem` is out of range. */
LADING_API const lading_type *lading_elem_type(lading_elem elem);

/* The constructors of MPI-4.1 section 5.1 with its semantics: order of the typemap, lb, ub, extent, explicit bounds of
 * resized/subarray/darray children (they win over data bounds), and the alignment epsilon of struct. Counts and block
 * lengths are >= 0 and count copies of `old`; `displs` and `stride` count extents of `old`, `displs_bytes` and
 * `stride_bytes` bytes; any of these may be negative. A zero-size `old` keeps its lb and extent; entries of block length
 * 0 leave no trace. `old` may be freed right after. The new type has one reference, owned by the caller.
 * Errors: ERR_ARG (NULL, negative count), ERR_OVERFLOW, ERR_DEPTH, ERR_NOMEM. Cost: O(count) for lists, else O(1). */
LADING_API int lading_type_contiguous(int64_t count, const lading_type *old, lading_type **out);
LADING_API int lading_type_vector(int64_t count, int64_t blocklen, int64_t stride, const lading_type *old, lading_type **out);
LADING_API int lading_type_hvector(int64_t count, int64_t blocklen, int64_t stride_bytes, const lading_type *old, lading_type **out);
LADING_API int lading_type_indexed(int64_t count, const int64_t *blocklens, const int64_t *displs, const lading_type *old, lading_type **out);
LADING_API int lading_type_hindexed(int64_t count, const int64_t *blocklens, const int64_t *displs_bytes, const lading_type *old, lading_type **out);
LADING_API int lading_type_indexed_block(int64_t count, int64_t blocklen, const int64_t *displs, const lading_type *old, lading_type **out);
LADING_API int lading_type_hindexed_block(int64_t count, int64_t blocklen, const int64_t *displs_bytes, const lading_type *old, lading_type **out);
LADING_API int lading_type_struct(int64_t count, const int64_t *blocklens, const int64_t *displs_bytes, const lading_type *const *olds, lading_type **out);
/* Arrays have `ndims` >= 1 entries each; 0 <= subsizes[d] <= sizes[d], 0 <= starts[d] <= sizes[d] - subsizes[d]. The extent is that of
 * the whole array, also where a subsizes[d] of 0, which MPI does not allow, makes the size 0. */
LADING_API int lading_type_subarray(int ndims, const int64_t *sizes, const int64_t *subsizes, const int64_t *starts, lading_order order, const lading_type *old, lading_type **out);
/* The part of process `rank` of `size` in a distributed array; psizes multiply to `size`, process grids are row-major. */
LADING_API int lading_type_darray(int64_t size, int64_t rank, int ndims, const int64_t *gsizes, const lading_distrib *distribs, const int64_t *dargs, const int64_t *psizes,
                                  lading_order order, const lading_type *old, lading_type **out);
LADING_API int lading_type_resized(const lading_type *old, int64_t lb, int64_t extent, lading_type **out);

/* One more reference to the same type. NULL gives NULL. */
LADING_API lading_type *lading_type_ref(const lading_type *type);
/* Drops one reference. NULL and built-in types: no-op. The type goes with its last reference. A call that blocks (pack, copy,
 * iov ...) is covered by a reference of its caller; requests that go on after a call hold one of their own. */
LADING_API void lading_type_free(lading_type *type);
/* Optional: do now the work that the first use of the type would do (canonical form, interning, plan). ERR_ARG, ERR_NOMEM. */
LADING_API int lading_type_commit(const lading_type *type);

/* Packed bytes of one item; lower bound and extent in bytes. O(1), no work is done for a fresh type. ERR_ARG. */
LADING_API int lading_type_size(const lading_type *type, int64_t *size);
LADING_API int lading_type_extent(const lading_type *type, int64_t *lb, int64_t *extent);

typedef struct lading_info {
  int64_t size, lb, extent, true_lb, true_extent; /* bytes; size = packed bytes of one item */
  int64_t blocks, min_block, max_block;           /* maximal contiguous runs of one item, in stream order (adjacent runs merged) */
  int64_t elements;                               /* basic elements in one item; a pair is one */
  int64_t description_bytes;                      /* memory held by the layout */
  int elem;                                       /* lading_elem if all basic elements are of one kind, else -1 */
  int depth;                                      /* levels of the canonical tree; 1 for one contiguous run, 0 when empty */
  bool contiguous;                                /* one run, and extent == size: any count is one run; false when empty */
  bool monotonic;                                 /* offsets never decrease along the stream */
  bool overlaps;                                  /* some byte appears twice in one item */
} lading_info;
/* Facts about one item. `overlaps` is exact for every type of at most 2^20 runs; beyond, it may be true where a
 * disjointness proof was not found within a bounded search. */
LADING_API int lading_type_info(const lading_type *type, lading_info *out);

typedef struct lading_id { uint64_t w[2]; } lading_id;
/* Names the sequence of byte offsets of `count` items relative to the buffer: equal for equal sequences whatever the
 * constructors, in every process and on every machine; different otherwise, but for a chance of about 2^-100 (it is a hash
 * with public constants: it names layouts, it does not authenticate them). O(description * log count). */
LADING_API int lading_type_id(const lading_type *type, int64_t count, lading_id *out);
/* Names the sequence of basic element kinds of `count` items: equal iff the MPI type signatures are equal. A pair type
 * counts as its two elements. */
LADING_API int lading_type_signature(const lading_type *type, int64_t count, lading_id *out);

/* Prints the canonical form like snprintf: returns the length without the NUL, writes at most `cap` bytes including it.
 * (repeat 3 256 (repeat 4 32 (bytes 8))). Negative on an error. */
LADING_API int64_t lading_type_text(const lading_type *type, char *buf, int64_t cap);
/* Reads that language back (bounds are those of the data, elements are bytes), or constructor calls:
 * vector(8,1,8,double). See README.md for the grammar. ERR_FORMAT when it does not parse, else the errors of the constructors. */
LADING_API int lading_type_parse(const char *text, lading_type **out);
/* Prints what the library made of the type and why, for people: tree, rules fired, canonical form, id, every strategy
 * with its reason, the plan. Lengths as lading_type_text. */
LADING_API int64_t lading_explain(const lading_type *type, int64_t count, char *buf, int64_t cap);

/* ---- moving bytes on the host --------------------------------------------------------------------------------- */

/* Moves exactly the packed bytes [lo, hi) of the stream of `count` items at `mem`. `packed` is the place of byte lo: it
 * receives or supplies hi - lo bytes. 0 <= lo <= hi <= count * size, else ERR_RANGE. Any split of [0, count * size) into
 * ranges, in any order and from any threads, gives the bytes of one whole call. `mem` and `packed` must not overlap.
 * Where items or blocks of an unpack overlap in memory, the byte that comes last in the stream stays. Bytes between the blocks
 * that a pack or a copy takes may be read (and thrown away), never written: other threads may write them meanwhile, but tools that look for races may see it. */
LADING_API int lading_pack(const lading_type *type, int64_t count, const void *mem, void *packed, int64_t lo, int64_t hi);
LADING_API int lading_unpack(const lading_type *type, int64_t count, void *mem, const void *packed, int64_t lo, int64_t hi);

/* Copies stream bytes [lo, hi) of `sc` items of `st` at `src` to the same stream positions of `dc` items of `dt` at `dst`,
 * without a buffer of the message's size. Layouts that have loops in common, as a whole or part by part, lists and long pieces are
 * copied straight; what is left, short pieces of many lengths, goes through a tile of 4 to 64 KiB. hi is bounded by the
 * smaller stream. The bytes read and the bytes written must not overlap. The stack takes up to 40 KiB. What is copied from the start of a
 * stream again is remembered by the source's type, up to eight copies of 1 KiB each: the second call may allocate that. */
LADING_API int lading_copy(const lading_type *st, int64_t sc, const void *src, const lading_type *dt, int64_t dc, void *dst, int64_t lo, int64_t hi);

/* The same on threads of the caller; the library starts none for it. `pf` has to call body(arg, i) once for every i in [0, n), on
 * any threads in any order, and to return after the last call has; `ctx` is passed on to it. The range is cut into at most
 * `ways` parts, at cache lines of the packed side (of a copy: of the stream). All of it runs in the calling thread, without
 * pf, where that is expected to be faster, when ways <= 1 or pf is NULL, and where destination bytes may coincide, so that
 * their order counts. On an error pf is not called. */
typedef void lading_parallel_for(void *ctx, int64_t n, void (*body)(void *arg, int64_t i), void *arg);
LADING_API int lading_pack_threads(const lading_type *type, int64_t count, const void *mem, void *packed, int64_t lo, int64_t hi,
                                   lading_parallel_for *pf, void *ctx, int64_t ways);
LADING_API int lading_unpack_threads(const lading_type *type, int64_t count, void *mem, const void *packed, int64_t lo, int64_t hi,
                                     lading_parallel_for *pf, void *ctx, int64_t ways);
LADING_API int lading_copy_threads(const lading_type *st, int64_t sc, const void *src, const lading_type *dt, int64_t dc, void *dst, int64_t lo, int64_t hi,
                                   lading_parallel_for *pf, void *ctx, int64_t ways);

/* ---- reductions and external32 ---------------------------------------------------------------------------------- */

/* The predefined ops of MPI (MPI-4.1 sections 6.9.2 and 6.9.4). LADING_REPLACE is a plain move. */
typedef enum lading_op {
  LADING_REPLACE, LADING_SUM, LADING_PROD, LADING_MIN, LADING_MAX, LADING_LAND, LADING_LOR, LADING_LXOR,
  LADING_BAND, LADING_BOR, LADING_BXOR, LADING_MINLOC, LADING_MAXLOC, LADING_OP_MAX
} lading_op;
/* What MPI defines: on integers SUM to BXOR, on floats SUM to MAX, on complex numbers SUM and PROD, on BOOL LAND LOR LXOR, on
 * BYTE BAND BOR BXOR, on pairs MINLOC and MAXLOC; on CHAR, which is for printing, nothing; REPLACE on everything. False for
 * what is no op or no element. */
LADING_API bool lading_op_supported(lading_op op, lading_elem elem);

/* Reduce elements of the stream while they are moved: pack_op makes packed[i] = op(mem[i], packed[i]), unpack_op mem[i] =
 * op(packed[i], mem[i]), copy_op dst[i] = op(src[i], dst[i]), for the whole elements in packed bytes [lo, hi); arguments as for
 * pack, unpack and copy. `packed` holds elements as pack leaves them, at any address: a pair is its value and its index right
 * behind it. Once a type is committed nothing is allocated, except where a kernel is asked for (LADING_JIT), and up to 72 KiB while
 * a large transpose is reduced, which goes on in smaller parts where that is not to be had. The stack takes up to 16 KiB, of copy_op 28 KiB.
 *  - Integers wrap. 16-bit floats are reduced in float and rounded to nearest, ties to even, after every element. MIN and MAX
 *    keep what is in the destination where one of the two is a NaN (of 16-bit floats the quiet one), and so do MINLOC and MAXLOC, which take the lower index among equals; which of -0 and 0 stays is left open.
 *    The bits of padding in a long double of the destination stay.
 *  - Elements that coincide in the destination are reduced in turn, in stream order.
 *  - Of a type with elements of several kinds, all of them have to support the op.
 *  - copy_op: the elements in [lo, hi) are the same on both sides, kind by kind, a pair never being its two parts. A side whose
 *    elements are all BYTE (such as a type that lading_type_parse read from a tree) takes those of the other side.
 * lo and hi are element boundaries, except with REPLACE. Errors, in this order: ERR_ARG (NULL types, negative counts, no such
 * op), those of lading_type_commit, ERR_OVERFLOW, ERR_RANGE, ERR_UNSUPPORTED, ERR_ARG (lo or hi inside of an element, or other
 * elements on the two sides of a copy). */
LADING_API int lading_pack_op(const lading_type *type, int64_t count, const void *mem, void *packed, int64_t lo, int64_t hi, lading_op op);
LADING_API int lading_unpack_op(const lading_type *type, int64_t count, void *mem, const void *packed, int64_t lo, int64_t hi, lading_op op);
LADING_API int lading_copy_op(const lading_type *st, int64_t sc, const void *src, const lading_type *dt, int64_t dc, void *dst, int64_t lo, int64_t hi, lading_op op);

/* The external32 representation (MPI-4.1 section 14.5.2): big-endian, no padding, the same everywhere. Elements take their packed
 * bytes, but: a long double 16 (IEEE binary128), the long of a LONG_INT 4 (MPI_LONG itself has no element: an INT64 takes 8). 16-bit floats, which MPI does not have, take 2,
 * pairs the bytes of their parts. Elements that are BYTE or CHAR (such as those of a parsed tree) move as they are. */
LADING_API int lading_external32_size(const lading_type *type, int64_t count, int64_t *n);
/* Converts exactly the external bytes [lo, hi) of the stream of `count` items at `mem`; `packed` is the place of byte lo. Ranges
 * compose as those of pack and unpack do, also inside of elements: an unpack writes only bytes that it was given.
 * ERR_UNSUPPORTED: a long in [lo, hi) does not fit in 4 bytes (MPI_ERR_CONVERSION); lo or hi of an unpack cuts an element with
 * a long double or a long, which only converts whole; the machine's long double is of no known format. A binary128 is rounded
 * to nearest, ties to even. ERR_RANGE unless 0 <= lo <= hi <= the external size; ERR_ARG, ERR_OVERFLOW, those of commit. */
LADING_API int lading_pack_external32(const lading_type *type, int64_t count, const void *mem, void *packed, int64_t lo, int64_t hi);
LADING_API int lading_unpack_external32(const lading_type *type, int64_t count, void *mem, const void *packed, int64_t lo, int64_t hi);

/* ---- segments, for RMA, sendmsg, preadv/pwritev, MPIX_Type_iov ------------------------------------------------- */

/* The number of maximal contiguous runs of `count` items, in stream order; runs merge across items. */
LADING_API int lading_segments_count(const lading_type *type, int64_t count, int64_t *n);
/* Segments [first, first + max) as addresses, fewer at the end; *got says how many. Never a segment of 0 bytes.
 * O(depth + log entries) to reach any `first`. ERR_RANGE when first < 0. */
LADING_API int lading_iov(const lading_type *type, int64_t count, const void *mem, int64_t first, struct iovec *iov, int64_t max, int64_t *got);
/* Which segment holds packed byte `byte`, and how many bytes of that segment come before it. ERR_RANGE outside. */
LADING_API int lading_segment_at(const lading_type *type, int64_t count, int64_t byte, int64_t *index, int64_t *residue);

/* ---- shipping layouts ------------------------------------------------------------------------------------------- */

/* A type as bytes that mean the same on every machine: one that is decoded has the sequence of bytes, the bounds and the
 * elements of the encoded one, hence its ids. The same type always gives the same bytes, also after a decode; others may decode to it, too.
 * Both: ERR_ARG, ERR_NOMEM. */
LADING_API int lading_wire_size(const lading_type *type, int64_t *n);
/* ERR_RANGE when more than `cap` bytes are needed: then *used says how many, and nothing else is written. */
LADING_API int lading_wire_encode(const lading_type *type, void *buf, int64_t cap, int64_t *used);
/* Takes bytes from anyone. ERR_FORMAT (also: bytes left over, ids or bounds that are not those of the type, but explicit lb and extent are
 * taken as they stand, elements whose sizes differ here), ERR_OVERFLOW, ERR_DEPTH, ERR_NOMEM. Holds at most 96 n + 4096 bytes of memory at a time, with the
 * type it returns; time O(n). The type has one reference, owned by the caller. */
LADING_API int lading_wire_decode(const void *buf, int64_t n, lading_type **out);

/* What one remote process knows of our types, and we of its. The caller moves the messages, in any way: lost, doubled and
 * late ones do no harm. Types are named by content, so what is accepted is always what was offered. A repeated offer takes
 * 28 to 36 bytes. A peer belongs to the process that made it; a child after fork() makes its own.
 *
 * capacity_bytes: memory that the types kept of each direction may take, least recently used ones leave first; 0: 1 MiB.
 * epoch: any number, sent with every message. A message with another epoch than the last one (at first: than our own) says
 * that the other side has begun anew: nothing is taken for known there any more, and what it offered before is forgotten. */
typedef struct lading_peer lading_peer;
typedef struct lading_peer_attr { int64_t capacity_bytes; uint64_t epoch; } lading_peer_attr;
LADING_API int lading_peer_create(const lading_peer_attr *attr, lading_peer **out); /* attr: not NULL, or ERR_ARG */
LADING_API void lading_peer_free(lading_peer *peer); /* NULL: no-op. Types that were accepted live on */

#define LADING_NEED_LAYOUT 1

/* In the next three, ERR_RANGE says that the message does not fit: its length is then in *n, *rn or *on, and nothing else
 * happened; ERR_NOMEM that nothing happened; ERR_FORMAT that `msg` is no such message. */

/* Sender: writes the message that offers `count` items of the type: the name alone when the other side should know it, else
 * with the layout, which is kept to answer a need. Of items as many as there may be: count * size is not looked at. */
LADING_API int lading_peer_offer(lading_peer *peer, const lading_type *type, int64_t count, void *msg, int64_t cap, int64_t *n);
/* Receiver: takes an offer, or the answer to a need, in `msg`. LADING_OK: *out is a reference for the caller to free, *count
 * the number of items, *rn is 0. LADING_NEED_LAYOUT: send the *rn bytes of `reply` back; *out and *count are untouched.
 * Also ERR_OVERFLOW and ERR_DEPTH, as from lading_wire_decode. A reply takes at most 36 bytes. */
LADING_API int lading_peer_accept(lading_peer *peer, const void *msg, int64_t n, lading_type **out, int64_t *count, void *reply, int64_t cap, int64_t *rn);
/* Sender: answers the need in `msg`: send the *on bytes of `out`, which lading_peer_accept takes. ERR_ARG when the type is not
 * kept any more: offer it again. */
LADING_API int lading_peer_reply(lading_peer *peer, const void *msg, int64_t n, void *out, int64_t cap, int64_t *on);

typedef struct lading_peer_counts {
  int64_t offers;        /* made */
  int64_t hits;          /* offers made, and offers accepted, by name alone */
  int64_t layouts_sent;  /* with offers, and to answer needs */
  int64_t needs;         /* sent, and answered */
  int64_t evictions;     /* of types, for want of capacity */
  int64_t bytes;         /* of memory that types kept take now */
} lading_peer_counts;
LADING_API int lading_peer_stats(const lading_peer *peer, lading_peer_counts *out);

/* ---- straight between processes -------------------------------------------------------------------------------------- */

/* Copies stream bytes [lo, hi) between `rc` items of `rt` in process `pid`, at its address `remote`, and the same stream positions
 * of `lc` items of `lt` at `local` here: get reads the remote memory, put writes it. Linux cross-memory attach (process_vm_readv(2),
 * process_vm_writev(2)): no cooperation of the other process, but the right to trace it. For types with absolute displacements
 * `remote` is 0. hi is bounded by the smaller stream.
 *
 * A put writes exactly the bytes of the remote layout. A get may read bytes between them, where that is faster, but writes exactly
 * those of the local one. Neither is atomic. The remote process may run on; what it writes to the same bytes meanwhile is a race.
 *
 * *done: bytes of the stream moved, from lo on, also on an error; of the local memory of a get and the remote one of a put nothing
 * else was written. ERR_SYSTEM: a call failed, and errno says how. EPERM: not allowed (also in some containers), ENOSYS: not there:
 * copy in another way. ESRCH: no such process. EFAULT: the next byte is not mapped in one of the processes. Also ERR_ARG (done is
 * NULL, as for lading_copy), ERR_RANGE, ERR_OVERFLOW (also: blocks beyond the end of the address space), ERR_NOMEM. Holds at most
 * 353 KiB of memory; where there is only a little it goes on with less, more slowly. */
LADING_API int lading_cma_get(pid_t pid, uint64_t remote, const lading_type *rt, int64_t rc, void *local, const lading_type *lt, int64_t lc,
                              int64_t lo, int64_t hi, int64_t *done);
LADING_API int lading_cma_put(pid_t pid, uint64_t remote, const lading_type *rt, int64_t rc, const void *local, const lading_type *lt, int64_t lc,
                              int64_t lo, int64_t hi, int64_t *done);

/* Bytes that `count` items touch lie at [*lo, *hi) relative to the buffer, tight; 0, 0 when there are none: the range to look up
 * in a map, or to register. ERR_ARG, ERR_OVERFLOW, ERR_NOMEM. */
LADING_API int lading_type_span(const lading_type *type, int64_t count, int64_t *lo, int64_t *hi);

/* Where memory of other processes is mapped here, however that came about (shared memory, XPMEM, CUDA IPC ...): one translation a
 * buffer, then lading_copy goes straight into or out of the peer's memory, by the layout that lading_peer_accept gave.
 *
 * An `owner` is any number for a remote process, `remote` its address, `bytes` >= 1. Ranges of one owner never overlap in the map:
 * what is inserted replaces every range that it overlaps, since it is the newer truth. When there are more than max_entries ranges
 * or max_bytes bytes (0: no limit) the least recently used ones leave that nobody has pinned; a range stays pinned, and so mapped,
 * from the find or insert that gave the pin to its release. unmap(ctx, local, bytes, handle), which may be NULL, is called exactly
 * once for every range, by the thread whose call made it leave or released it last, and without a lock, so it may use the map.
 * An insert that overtakes the invalidate of the same bytes puts back what it should not: order them. A map belongs to the process
 * that made it. */
typedef struct lading_map lading_map;
typedef struct lading_mapping lading_mapping; /* a pin */
typedef struct lading_map_attr {
  int64_t max_entries, max_bytes;
  void (*unmap)(void *ctx, void *local, int64_t bytes, void *handle);
  void *ctx;
} lading_map_attr;
LADING_API int lading_map_create(const lading_map_attr *attr, lading_map **out); /* attr: not NULL, or ERR_ARG */
LADING_API void lading_map_free(lading_map *map); /* unmaps everything; no pin is held and no other call under way. NULL: no-op */

#define LADING_NOT_MAPPED 3

/* [remote, remote + bytes) of `owner` is at `local` from now on; `handle` is for unmap. *pin: until released. On an error the range
 * is not taken, and still the caller's to unmap. ERR_ARG (also: local is NULL, the range does not fit in 64 bits), ERR_NOMEM,
 * ERR_OVERFLOW (the bytes of all ranges do not). */
LADING_API int lading_map_insert(lading_map *map, uint64_t owner, uint64_t remote, int64_t bytes, void *local, void *handle, lading_mapping **pin);
/* LADING_OK: one range holds all of these bytes; *local is where the first of them is here, *pin the range. LADING_NOT_MAPPED: none
 * does, outputs are untouched. O(log entries). */
LADING_API int lading_map_find(lading_map *map, uint64_t owner, uint64_t remote, int64_t bytes, void **local, lading_mapping **pin);
LADING_API void lading_map_release(lading_map *map, lading_mapping *pin); /* NULL: no-op */
/* The owner freed or remapped these bytes: ranges that hold any of them are found no more; pinned ones are unmapped at their last
 * release. (map, owner, 0, UINT64_MAX): all of the owner, as when it has gone. */
LADING_API int lading_map_invalidate(lading_map *map, uint64_t owner, uint64_t remote, uint64_t bytes);

typedef struct lading_map_counts {
  int64_t entries, bytes;          /* in the map now */
  int64_t pinned;                  /* ranges with pins now, also those that left the map */
  int64_t hits, misses, evictions; /* finds; ranges that left for want of capacity */
} lading_map_counts;
LADING_API int lading_map_stats(const lading_map *map, lading_map_counts *out);

/* Memory of any kind, attached in another process by the XPMEM kernel module, which both of them have to have (/dev/xpmem), with a
 * library built with -Dxpmem. Otherwise every call returns ERR_UNSUPPORTED: ask by the first export, and use shared memory or CMA.
 *
 * export makes a token for [at, at + bytes), at least its pages; the caller sends it in any way, to processes of the same user on the
 * same machine. attach maps that range at *local, for reading and writing; *bytes is its length, and *handle what detach needs: a
 * lading_map takes local, bytes and handle as they are, and detach is what its unmap has to call. withdraw ends the export; what is
 * attached stays. A token means something as long as its process lives and has not withdrawn it.
 *
 * ERR_ARG (NULL, bytes < 1, a range that leaves the address space), ERR_FORMAT (bytes that are no token), ERR_SYSTEM with errno. */
typedef struct lading_xpmem { unsigned char bytes[64]; } lading_xpmem;
LADING_API int lading_xpmem_export(const void *at, int64_t bytes, lading_xpmem *out);
LADING_API int lading_xpmem_withdraw(const lading_xpmem *token);
LADING_API int lading_xpmem_attach(const lading_xpmem *token, void **local, int64_t *bytes, void **handle);
LADING_API int lading_xpmem_detach(void *local, void *handle);

/* ---- devices ------------------------------------------------------------------------------------------------------------ */

/* Backends by name: "cuda", "hip", and "host", which is this process and always there, so that one code runs everywhere; "fake", a
 * device of tests, never is. Drivers are loaded at first use, nothing is created on a device that is not used, and the caller's
 * current device and context stay what they are. */

/* *n devices; 0: no driver, or not in this build. "host" has one. ERR_ARG: no such name. */
LADING_API int lading_device_count(const char *backend, int *n);

typedef enum lading_memkind { LADING_MEM_UNKNOWN, LADING_MEM_HOST, LADING_MEM_PINNED, LADING_MEM_DEVICE, LADING_MEM_MANAGED } lading_memkind;
/* A hint; zeros: the driver is asked, which takes longer than a launch. A "host" queue asks nobody: to it such memory is the host's. */
typedef struct lading_mem { lading_memkind kind; int device; } lading_mem;
/* What kind of memory is at that address, and of which device (-1: the host). What no driver knows is HOST, and so is registered memory
 * that devices have at another address: a hint of PINNED says that they have it at this one. A thread without a context is told what the
 * context of a queue knows, or a primary one that is active; where there is none all is HOST, and none is made. */
LADING_API int lading_mem_query(const void *at, lading_mem *out);

/* Ordered work on one device. wrap: the caller's cudaStream_t or hipStream_t by value, which has to outlive the queue; NULL is the
 * default stream of the current device, which is device 0 in a thread that has no context yet (before CUDA 12 a cudaSetDevice made none);
 * the default stream that each thread has of its own (2 by value) orders nothing between threads:
 * ERR_UNSUPPORTED. create: a stream of its own. "host": work is done when its enqueue returns. A queue may be used by several threads, and
 * belongs to the process that made it. free does not wait for work under way. After a device was reset (CUDA) queues from before can be
 * freed, and new ones be made. ERR_ARG (no such backend or device), ERR_DEVICE (also: no driver), ERR_NOMEM. */
typedef struct lading_queue lading_queue;
LADING_API int lading_queue_wrap(const char *backend, void *native_stream, lading_queue **out);
LADING_API int lading_queue_create(const char *backend, int device, lading_queue **out);
LADING_API void lading_queue_free(lading_queue *queue); /* NULL: no-op */
LADING_API int lading_queue_sync(lading_queue *queue);  /* waits for all of it; ERR_DEVICE when some of it failed */

typedef enum lading_work_kind { LADING_WORK_PACK, LADING_WORK_UNPACK, LADING_WORK_COPY } lading_work_kind;
/* One operation, as lading_pack_op, lading_unpack_op and lading_copy_op take it; zero-initialize, and fill what applies. */
typedef struct lading_work {
  lading_work_kind kind;
  lading_op op;                               /* LADING_REPLACE moves */
  const lading_type *src_type, *dst_type;     /* the packed side has none */
  int64_t src_count, dst_count;
  const void *src;                            /* buffers; of the packed side, the place of byte lo */
  void *dst;
  int64_t lo, hi;
  lading_mem src_mem, dst_mem;                /* with an absolute type (its buffer is NULL) and no hint, every member is asked for by itself */
} lading_work;
typedef uint64_t lading_request;

/* Puts the work behind what is in the queue, and returns; the types may be freed. One run on both sides is one kernel or one copy of the driver,
 * all else one kernel, or two where the model says so. A type that is no nest of loops has a table in the device's memory, which its first use there fills and waits
 * for. Memory that the device does not reach goes through pinned memory of the library, of which there is a bounded amount: when all
 * of it is in use, this call waits for some, and where nothing is under way, in a stream that does not wait for the default one, it packs a short source that is there itself; not while a graph is recorded from the
 * stream (ERR_UNSUPPORTED), and what a graph records has to have been enqueued once before, if it is no nest (likewise). Memory of another device takes peer access, which is the caller's
 * to enable. Bytes that coincide in the destination are moved or reduced by a launch for every piece that holds none twice; where such pieces are too short, or too many, by one thread, slowly.
 * *out, unless NULL: for test and wait; NULL while a graph is recorded, which has no requests. Errors are those of the call for host memory,
 * ERR_UNSUPPORTED (a reduction of long doubles, or of elements of several kinds that coincide, by a device; or of one whose bytes lie, by a type without hints, in memory of two kinds; a request while a graph is
 * recorded), ERR_NOMEM, ERR_DEVICE (also: memory that a hint says is a device's, on a "host" queue). After the last two parts of the work may be under way: sync the
 * queue before its buffers go. */
LADING_API int lading_enqueue(lading_queue *queue, const lading_work *work, lading_request *out);
/* Whether everything up to that request is done. One that is not when the 64th request behind it is made may be said to be done only when that
 * one is, or a later one. ERR_ARG: not of this queue; ERR_DEVICE: the device failed. */
LADING_API int lading_test(lading_queue *queue, lading_request request, bool *done);
LADING_API int lading_wait(lading_queue *queue, lading_request request);

/* Device memory of one process, used in another one on the same machine (CUDA and HIP IPC). export: a token for the address, which
 * may be inside of an allocation; send it in any way. open: where those bytes are here, for the current device (in a thread that has no
 * context: for the one that has the owner's number, or else device 0); opened once a buffer and device, however often it is asked for, and
 * in the process that exported it, that address itself. close: one for each open; what is not open any more stays mapped until room is
 * needed (for more than 256 of them, however long they are) or its place in the owner has become other memory's, which is opened. The owner
 * frees the memory after everybody closed it.
 *
 * Memory that was mapped from pieces (cuMemCreate) is exported, each piece by itself, if it was made with handles for a fabric or for
 * POSIX descriptors; with both, for the fabric, where the owner may export for it: who opens it has to be of that fabric, too. Of descriptors
 * the library keeps one open for each of the last 64 places exported, until an export finds them unmapped: so long their memory is not given
 * back. Opening them takes the permission to trace the owner (pidfd_getfd, Linux 5.6), in the same pid namespace.
 *
 * So is memory of a pool that was made with handles for POSIX descriptors (cuMemPoolCreate), up to 5 GiB each: drivers were seen to crash beyond that.
 * Its pool is imported once, and kept; the memory itself is let go by the last close, before which all work with it has to be done. That close
 * waits for the device, as a free does, and who opens the same memory meanwhile for that close. When it fails (ERR_DEVICE), the memory is
 * closed, but stays mapped: the last close after another open tries again. Memory of a driver's own pools has no handles. HIP's runtimes
 * tell of neither up to now, and those before 7.1 are not asked: all of this is then ERR_UNSUPPORTED there.
 *
 * A token is for memory that is there: its owner frees nothing that may still be opened. Where descriptors take part, who opens it is sure to be told
 * that it has gone (ERR_DEVICE) only after its owner's next export of such memory. Until then a driver may open it all the same: the piece, which the
 * descriptor keeps, or the place in the pool, where other memory of the owner's may be by then.
 *
 * Bytes of a token that were changed on their way are found by a checksum (ERR_FORMAT) before a driver sees them: a process that opened hundreds of changed
 * ones was seen to end with a corrupted heap. A checksum names no author, so take tokens only from those whom you trust with your process.
 *
 * ERR_UNSUPPORTED: memory that the driver does not export, such as of pools without handles, two devices that do not reach each other, or no such permission; ERR_FORMAT: no token; ERR_ARG: not
 * open; ERR_DEVICE (also: no driver; the memory has gone, as above, or its descriptor); ERR_NOMEM, ERR_SYSTEM. */
typedef struct lading_ipc { unsigned char bytes[128]; } lading_ipc;
LADING_API int lading_ipc_export(const void *device_ptr, lading_ipc *out);
LADING_API int lading_ipc_open(const lading_ipc *token, void **ptr);
LADING_API int lading_ipc_close(void *ptr);

/* ---- batches: many works, one launch ------------------------------------------------------------------------------------- */

/* A batch collects works for a queue and starts them together, in one launch of a kernel that runs them all, or on a "host" queue in
 * one call of a parallel-for. Every request is done by itself, not with the launch that it was in. A request that was not started yet
 * is not in the queue: works that are enqueued meanwhile come first. Requests may be of any types, kinds, ops and lengths; one that
 * writes what another one touches is started after it, and the result is that of the order in which they were added.
 *
 * What waits is started, all of it at once, by
 *   flush           the caller says so;
 *   a sync point    wait, for a request that was not started;
 *   order           add, of a work that may touch bytes of one that waits, where one of the two writes: those that wait go before it. What an
 *                   add looks at is bounded, so many works whose places mesh are started before they have to be;
 * and with LADING_BATCH_MODEL also by add and test, when they find that
 *   bytes           flush_bytes are there, or half of the slots, or what fills a launch (64 on a device);
 *   age             one waits for max_age_ns;
 *   idle progress   nothing is under way, and together they have waited as long as a launch takes: at most twice as much launching and
 *                   waiting as somebody would need who knew what will still come;
 *   announced ones  after lading_batch_expect, so many of them are there that the last one is sent earliest.
 * Nothing happens between calls. lading_batch_stats counts what it was.
 *
 * On a device, what no kernel shares has a launch of its own, in its turn: memory that the device does not reach, destinations that
 * coincide, ops that it does not know. What lies in host or pinned memory, takes less than a launch, and finds the queue's stream with
 * nothing to do runs in the calling thread, which is no enqueue that a later recording may count on. A flush while the stream is recorded into a graph is recorded: its requests count as done, and
 * run whenever the graph does. The batch then has to outlive the graph; it keeps 16 such launches, later ones are recorded work by work.
 * Flush, wait and order alone start what is recorded; what add and test would start waits for the end of the recording. A flush
 * that comes again and again, of as many pieces as before, may become a graph of the library's, if the device's clock and the host's find
 * that faster; nobody sees the difference. */
enum { LADING_BATCH_MODEL, LADING_BATCH_MANUAL }; /* policy; MANUAL: flush, wait and a conflict start requests, nothing else does */
typedef struct lading_batch_attr {
  int64_t slots;               /* of the ring of requests; rounded up to a power of two. More than 2^20: ERR_ARG; 0: 256 */
  int64_t flush_bytes;         /* so many are started at once. 0: 512 KiB */
  int64_t max_age_ns;          /* nobody waits longer, if anybody calls. 0: 20 times a launch */
  int policy;
  int64_t send_ns, send_rate;  /* what the network takes for each message that is packed here, ns and bytes a second; 0: no time */
  lading_parallel_for *pf;     /* of a "host" queue, on at most `ways` threads; its body calls no function of the batch. NULL: this one */
  void *ctx;
  int64_t ways;
} lading_batch_attr;
typedef struct lading_batch lading_batch;

/* attr NULL: zeros. The queue outlives the batch; both belong to the process that made them. ERR_ARG, ERR_NOMEM, ERR_DEVICE. */
LADING_API int lading_batch_create(lading_queue *queue, const lading_batch_attr *attr, lading_batch **out);
/* Starts what waits, and returns when all of it is done; no other call is under way. NULL: no-op. */
LADING_API void lading_batch_free(lading_batch *batch);

#define LADING_BATCH_FULL 2

/* LADING_OK: the work is taken; *out, unless NULL, is its request, a number that no other request of the batch ever has. The types may
 * be freed, the buffers are the library's until it is done. LADING_BATCH_FULL: not taken, since the request of
 * `slots` before it is not done, or failed and nobody asked: enqueue the work, or wait for the oldest request, or flush and try again. Errors are those of lading_enqueue for its arguments; nothing was taken. */
LADING_API int lading_batch_add(lading_batch *batch, const lading_work *work, lading_request *out);
/* n requests, counted from here, come one after the other: they are cut into launches so that the last one is sent earliest, as send_ns
 * and send_rate say; within 7 % of the earliest end that any launches have, in a ring that holds n. With n == 0 the rest is unknown again. ERR_ARG: n < 0. */
LADING_API int lading_batch_expect(lading_batch *batch, int64_t n);
/* Starts what waits. The error of a request that was added with out == NULL is returned by the first flush that knows of it, one of
 * several; all others are told by test and wait. */
LADING_API int lading_batch_flush(lading_batch *batch);
/* Whether the request is done, and how it ended: LADING_OK or its error, such as ERR_DEVICE when it could not be launched or the
 * device is lost; what it wrote is then undefined. An error is told until the slot has a later request. wait starts the request, if
 * it was not, and returns when it is done. ERR_ARG: no request of this batch. */
LADING_API int lading_batch_test(lading_batch *batch, lading_request request, bool *done);
LADING_API int lading_batch_wait(lading_batch *batch, lading_request request);

typedef struct lading_batch_counts {
  int64_t requests, launches;
  int64_t alone;                                            /* requests that no kernel shares, with a launch of their own */
  int64_t full;                                             /* not taken */
  int64_t failed;
  int64_t waiting;                                          /* now, not started */
  int64_t by_caller, by_wait, by_order, by_count, by_bytes, by_age, by_rent; /* why they were started: flush, wait, a conflict, rules */
} lading_batch_counts;
LADING_API int lading_batch_stats(lading_batch *batch, lading_batch_counts *out);

#ifdef __cplusplus
}
#endif
#endif
