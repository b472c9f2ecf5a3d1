/* rep: which bytes, in which order.
 *
 * A rep denotes a finite sequence of byte offsets in packed order. It is an immutable tree of four kinds of node, shared
 * by reference count. It knows no MPI words, no bounds, no element kinds: everything is bytes.
 *
 *   bytes  n                          0, 1, ... n-1
 *   repeat n stride child             child at 0, stride, 2*stride ...
 *   blocks n at[] child               child at at[0], at[1] ...
 *   blocks n at[] cnt[] stride child  cnt[i] children at at[i], at[i]+stride ...
 *   join   n at[] kids[]              kids[i] at at[i], one after the other in the stream
 *
 * A "run" is a maximal contiguous piece in stream order: neighbours that touch are one run. Counts of runs compose:
 * runs(AB) = runs(A) + runs(B) - [A's end is B's first], so no tree has to be expanded to know them.
 */
#ifndef LDG_REP_H
#define LDG_REP_H

#include "base_field.h"

typedef enum ldg_kind { LDG_BYTES, LDG_REPEAT, LDG_BLOCKS, LDG_JOIN } ldg_kind;
typedef struct ldg_rep ldg_rep;

#define LDG_NODES_MAX ((int64_t)1 << 23) /* of a rep written out as a tree: bounds the walks that do so */
#define LDG_DEPTH_MAX (LADING_DEPTH_MAX + 64)
/* Both are more than types of users may have (build.h): normal form puts an offset at the root, and loops into lists, each of which at least doubles the bytes, of which there are less than 2^63. */

struct ldg_rep {
  _Atomic int64_t refs;       /* LDG_IMMORTAL: static, never counted */
  ldg_kind kind;
  int depth;                  /* levels; bytes is 1 */
  int64_t nodes;              /* of the tree written out */
  int64_t n;                  /* BYTES: length. REPEAT: iterations. BLOCKS, JOIN: entries */
  int64_t stride;             /* REPEAT: between iterations. BLOCKS with cnt: between the children of one entry */
  const ldg_rep *child;       /* REPEAT, BLOCKS */
  const int64_t *at;          /* BLOCKS, JOIN: n offsets */
  const int64_t *cnt;         /* BLOCKS: n counts of children, or NULL: one each */
  const ldg_rep *const *kids; /* JOIN: n */
  const int64_t *psum;        /* JOIN, BLOCKS with cnt: n+1 packed offsets where entries start; else NULL */
  /* facts about the sequence */
  int64_t size;               /* bytes in the sequence */
  int64_t lo, hi;             /* every offset is in [lo, hi), tight; 0, 0 when empty */
  int64_t first, end;         /* the first offset, and the last one plus 1; 0, 0 when empty */
  int64_t runs;               /* maximal contiguous runs in stream order */
  _Atomic(const int64_t *) rsum; /* n+1 run indices where entries start; built when first asked for, else NULL */
  _Atomic uint64_t hash;      /* ldg_rep_hash when it was asked for, else 0; never set in static nodes, which may be read-only */
};

/* Offsets above a node may leave 64 bits on the way to a valid one, as in (join (2^62 (join (-2^63 ...)))): sums of them
 * wrap, and only the offset of a byte means something. */
static inline int64_t ldg_rep_move(int64_t base, int64_t by) { return (int64_t)((uint64_t)base + (uint64_t)by); }

/* The entry that holds packed byte `byte` (0 <= byte < sum[n]): the last i with sum[i] <= byte, never an empty one. */
static inline int64_t ldg_rep_find(const int64_t *sum, int64_t n, int64_t byte) {
  int64_t lo = 0;
  while (n > 1) {
    int64_t half = n / 2;
    lo = sum[lo + half] <= byte ? lo + half : lo;
    n -= half;
  }
  return lo;
}

/* The packed byte at which entry i of blocks or a join, or iteration i of a repeat, starts. */
static inline int64_t ldg_rep_starts(const ldg_rep *r, int64_t i) { return r->psum ? r->psum[i] : i * r->child->size; }

/* What does not begin at 0 is, in normal form, a join of one: its place is the base's, and its body has a level less to go down. */
static inline bool ldg_rep_is_shifted(const ldg_rep *r) { return r->kind == LDG_JOIN && r->n == 1; }
static inline const ldg_rep *ldg_rep_body(const ldg_rep *r) { return ldg_rep_is_shifted(r) ? r->kids[0] : r; }

#define LDG_IMMORTAL INT64_MIN
/* A static bytes node, for tables of built-in types. */
#define LDG_REP_BYTES(len) { .refs = LDG_IMMORTAL, .kind = LDG_BYTES, .depth = 1, .nodes = 1, .n = (len), .size = (len), \
                             .hi = (len), .end = (len), .runs = (len) > 0 }
extern const ldg_rep ldg_rep_nothing, ldg_rep_one_byte;

/* Constructors. Arrays are copied, children get a reference of the new node; *out has one reference. n == 0, counts of 0
 * and empty children are legal and denote nothing. Return LADING_OK, ERR_ARG (negative counts), ERR_OVERFLOW (any offset,
 * size or node count out of bounds; also of every part by itself, such as one entry of counted blocks before its at[i] is
 * added), ERR_DEPTH, ERR_NOMEM. */
int ldg_rep_bytes(int64_t n, const ldg_rep **out);
int ldg_rep_repeat(int64_t n, int64_t stride, const ldg_rep *child, const ldg_rep **out);
int ldg_rep_blocks(int64_t n, const int64_t *at, const int64_t *cnt, int64_t stride, const ldg_rep *child, const ldg_rep **out);
int ldg_rep_join(int64_t n, const int64_t *at, const ldg_rep *const *kids, const ldg_rep **out);
/* Like ldg_rep_repeat into the caller's memory, taking no references: `count` items of a type. Not to be freed. */
int ldg_rep_repeat_in(ldg_rep *node, int64_t n, int64_t stride, const ldg_rep *child);

const ldg_rep *ldg_rep_ref(const ldg_rep *r);
void ldg_rep_free(const ldg_rep *r); /* drops one reference; NULL is a no-op */

bool ldg_rep_equal(const ldg_rep *a, const ldg_rep *b);  /* same tree, by content */
uint64_t ldg_rep_hash(const ldg_rep *r);                 /* of the tree, by content (XXH3); kept in the nodes */
/* Bytes held by the tree, each node once however often it is shared; of a node alone. What is built later (rsum) is not
 * counted: the same tree always gives the same numbers. */
int64_t ldg_rep_memory(const ldg_rep *r);
int64_t ldg_rep_node_memory(const ldg_rep *r);

/* The definition of everything: calls fn for packed bytes [lo, hi) piece by piece in stream order, as the tree is written
 * (pieces are not merged): `off` is the offset in memory, `pos` the offset in the stream. Stops when fn returns nonzero. */
typedef int ldg_rep_visit(void *arg, int64_t off, int64_t pos, int64_t len);
int ldg_rep_walk(const ldg_rep *r, int64_t lo, int64_t hi, ldg_rep_visit *fn, void *arg);

/* All of it as fields, from memory or to it, `off` bytes further there, and `pos` in the stream. False: too many. */
bool ldg_rep_fields(const ldg_rep *r, bool to_memory, int64_t off, int64_t pos, const ldg_fields *to);

/* Offsets of packed bytes [lo, hi) are in [*from, *to), tight; 0, 0 when lo == hi. O(depth + log entries + entries inside). */
void ldg_rep_hull(const ldg_rep *r, int64_t lo, int64_t hi, int64_t *from, int64_t *to);

/* Longer facts, O(tree). */
typedef struct ldg_rep_stats { int64_t min_run, max_run; bool monotonic, overlaps; } ldg_rep_stats;
int ldg_rep_stats_of(const ldg_rep *r, ldg_rep_stats *out); /* ERR_NOMEM */

/* Cheap proof that no byte appears twice; false: not proven. Does without memory where there is none. */
bool ldg_rep_disjoint(const ldg_rep *r);

/* Text: (repeat 3 256 (blocks 2 (0 24) (bytes 8))). The reader moves *text behind it, or to the character that did not parse. */
void ldg_rep_print(const ldg_rep *r, ldg_text *t);
int ldg_rep_read(const char **text, const ldg_rep **out);

/* A cursor over the pieces of a rep, from any packed byte; O(depth + log entries) to seek. It yields runs, merged across
 * every boundary of the tree. Lives on the stack, allocates nothing. */
typedef struct ldg_cursor_level { const ldg_rep *r; int64_t i, j, base; } ldg_cursor_level;
typedef struct ldg_cursor {
  int top;                                             /* innermost open level; -1: at the end */
  int64_t off, len;                                    /* what is left of the current leaf */
  ldg_cursor_level level[LDG_DEPTH_MAX + 2];
} ldg_cursor;
void ldg_cursor_seek(ldg_cursor *c, const ldg_rep *r, int64_t byte); /* 0 <= byte <= size */
/* The current contiguous piece, not merged: false at the end. Take n <= *len bytes of it to go on. */
bool ldg_cursor_piece(const ldg_cursor *c, int64_t *off, int64_t *len);
void ldg_cursor_take(ldg_cursor *c, int64_t n);
/* The whole next run from here, merged; false at the end. */
bool ldg_cursor_run(ldg_cursor *c, int64_t *off, int64_t *len);

/* Pieces of one node, not merged: piece i is at base + at[i], or base + i * stride without at, and has len bytes, or
 * psum[i + 1] - psum[i] with psum, which may then be 0. */
typedef struct ldg_cursor_row { int64_t n, base, stride, len, span; const int64_t *at, *psum; } ldg_cursor_row;
/* Takes all pieces from here on that are one row; n >= 1, and the first one has bytes. False at the end. */
bool ldg_cursor_row_take(ldg_cursor *c, ldg_cursor_row *row);

/* Runs by index, O(depth + log entries): the packed offset where run k starts (k in [0, runs]; runs gives size), and the
 * run that holds a packed byte. */
int ldg_rep_run_start(const ldg_rep *r, int64_t k, int64_t *byte);
int ldg_rep_run_at(const ldg_rep *r, int64_t byte, int64_t *k, int64_t *start);

#endif
