/* build: the constructors of MPI. Knows typemaps, bounds and elements; makes reps. Blind to everything to the right. */
#ifndef LDG_BUILD_H
#define LDG_BUILD_H

#include "rep.h"

/* The signature: the sequence of basic elements of a type, as n times a node. A node is one element or a list of (n, node).
 * So contiguous, vector and index types only multiply n, and only struct types make nodes. A struct type makes one only
 * for two or more different parts, which also gives its rep a join: the depth of a signature is bounded by its rep's. */
typedef struct ldg_signode ldg_signode;
typedef struct ldg_sig { int64_t n; const ldg_signode *node; } ldg_sig; /* n == 0: empty, node NULL */
typedef struct ldg_sig_at { int64_t packed, external; } ldg_sig_at;
struct ldg_signode {
  _Atomic int64_t refs;        /* LDG_IMMORTAL for basic elements */
  lading_elem elem;            /* when count == 0 */
  int64_t count;               /* entries of part[]: none empty, neighbours differ in node */
  int64_t elements;            /* basic elements of one node, pairs being one */
  int64_t letters;             /* the same, pairs being two, as in an MPI signature; never more than the bytes */
  int64_t size, external;      /* bytes of one node: packed, and in external32 */
  uint32_t kinds;              /* bit e: some element is of kind e */
  int kind;                    /* lading_elem when all are of one kind, else -1 */
  int depth;                   /* levels, at most LADING_DEPTH_MAX; an element is 1 */
  const ldg_sig *part;         /* in the same allocation, as is at[] */
  const ldg_sig_at *at;        /* count + 1 places: where the parts start, by bytes */
  _Atomic int hashed;          /* hash[] is made at first need; all who race write the same words */
  _Atomic uint64_t hash[4];
};

struct lading_type {
  _Atomic int64_t refs;           /* LDG_IMMORTAL for built-ins */
  const ldg_rep *rep;             /* as constructed, before canonicalization */
  ldg_sig sig;
  int64_t lb, ub;                 /* bytes; extent = ub - lb, which fits, as does rep->hi - rep->lo */
  int64_t align;                  /* of the strictest basic element, for the epsilon of struct; 1 when empty */
  bool marked;                    /* lb and ub are those of explicit markers (MPI-4.1 section 5.1.7), which win over the data bounds */
  _Atomic(void *) plan;           /* made at first use by the api layer, published once, released by it */
  _Atomic int named;              /* name[] is made at first need by the wire layer; all who race write the same words */
  _Atomic uint64_t name[2];
};

/* Frees everything but the plan, which the api layer drops first. */
void ldg_build_destroy(lading_type *t);
/* A type of bytes laid out as `rep` says, with natural bounds. Takes its own reference. */
int ldg_build_from_rep(const ldg_rep *rep, lading_type **out);
/* Reads `vector(8,1,8,double)` and the spaces around it; moves *text past what it read, or to what did not parse. */
int ldg_build_read(const char **text, lading_type **out);
/* A cursor over the elements of a signature, from any byte of its packed or its external32 stream, in O(depth + log parts). It
 * yields runs of elements of one kind. Lives on the stack, allocates nothing. */
enum { LDG_PACKED, LDG_EXTERNAL };
typedef struct ldg_elements_level { ldg_sig sig; int64_t copy, part; } ldg_elements_level;
typedef struct ldg_elements {
  int top;                                             /* innermost open level; -1: the last run is open, or the end */
  lading_elem kind;
  int64_t n;                                           /* elements left of the current run; 0 at the end */
  ldg_elements_level level[LADING_DEPTH_MAX + 1];
} ldg_elements;
/* To the element that holds byte `byte` of that stream, 0 <= byte <= its length; how many bytes of it come before. *packed
 * (may be NULL): where the element starts in the packed stream. */
int64_t ldg_elements_seek(ldg_elements *c, ldg_sig s, int stream, int64_t byte, int64_t *packed);
/* Takes n <= c->n elements, to go on. */
void ldg_elements_take(ldg_elements *c, int64_t n);
/* Whether byte `byte` of the packed stream is between elements. */
bool ldg_elements_boundary(ldg_sig s, int64_t byte);
/* Whether packed bytes [lo, hi) of both, element boundaries of a, are the same elements. */
bool ldg_elements_agree(ldg_sig a, ldg_sig b, int64_t lo, int64_t hi);
/* MPI signature id of count items. ERR_ARG for a negative count, ERR_OVERFLOW. */
int ldg_build_signature(const ldg_sig *sig, int64_t count, lading_id *out);
/* "double"; "mixed" for what is no lading_elem, such as the -1 of lading_info. */
const char *ldg_build_elem_name(lading_elem e);

/* ---- between the files of this layer ---- */

static inline int64_t ldg_build_extent(const lading_type *t) { return t->ub - t->lb; }

/* Bounds under construction. Every constructor that sets markers sets both, so one flag stands for the pair. */
typedef struct ldg_bounds {
  int64_t lb, ub;
  bool any;      /* something contributes: data or markers. Else lb == ub == 0 */
  bool marked;   /* lb and ub are those of explicit markers */
} ldg_bounds;

ldg_bounds ldg_build_bounds(const lading_type *t);
/* Of n >= 1 copies `stride` bytes apart, of copies at least at `lo` and at most at `hi`, and of a and b together. Markers
 * silence data bounds. The extent may be negative, so lb and ub spread by themselves. ERR_OVERFLOW. */
int ldg_build_spread(ldg_bounds *b, int64_t n, int64_t stride);
int ldg_build_shift(ldg_bounds *b, int64_t lo, int64_t hi);
ldg_bounds ldg_build_unite(ldg_bounds a, ldg_bounds b);

/* The only maker of types: checks that both extents fit. Takes over the caller's reference of rep, on an error too; takes
 * its own of sig.node. */
int ldg_build_own(const ldg_rep *rep, ldg_sig sig, ldg_bounds b, int64_t align, lading_type **out);
/* The same of what users nest, which leaves room for normal form; what comes from elsewhere, or is as deep as before, may be in normal form already. */
#define LDG_BUILD_NODES_MAX ((int64_t)1 << 22)
int ldg_build_make(const ldg_rep *rep, ldg_sig sig, ldg_bounds b, int64_t align, lading_type **out);
int ldg_build_empty(lading_type **out); /* empty typemap: no bytes, no bounds */

/* Like the rep constructors, but take over the caller's reference of child, on an error too, and add no node for one
 * iteration, an offset of 0, or an empty child. n >= 0. */
int ldg_build_loop(int64_t n, int64_t stride, const ldg_rep *child, const ldg_rep **out);
int ldg_build_place(int64_t at, const ldg_rep *child, const ldg_rep **out);

extern const ldg_signode ldg_build_elem_nodes[LADING_ELEM_MAX];
int ldg_build_sig_times(ldg_sig s, int64_t n, ldg_sig *out); /* same node, no reference taken */
/* Of the parts in sequence, which are not empty and differ in node from their neighbours. Makes a reference for *out. */
int ldg_build_sig_join(int64_t n, const ldg_sig *parts, ldg_sig *out);
int64_t ldg_build_sig_memory(int64_t n); /* bytes that a node of n parts takes */
void ldg_build_sig_ref(ldg_sig s);
void ldg_build_sig_free(ldg_sig s);

#endif
