/* plan: how the bytes of a layout are moved here. A plan is a tree of steps shaped like the layout's canonical tree; every
 * step has a job for whole iterations in either direction, and exec goes down the tree only for ragged ends. */
#ifndef LDG_PLAN_H
#define LDG_PLAN_H

#include "../backends/backend.h"
#include "base_inverse.h"
#include "layout.h"
#include "plan_hot.h"

enum { LDG_PACK, LDG_UNPACK }; /* memory side to packed side, and back */

typedef struct ldg_joint ldg_joint;
typedef struct ldg_step ldg_step;
struct ldg_step {
  const ldg_rep *rep;          /* what it runs */
  int64_t n;                   /* iterations, entries; 1 for bytes */
  int64_t size;                /* packed bytes of the whole step */
  int64_t each;                /* packed bytes of one iteration or entry; 0 when they differ (psum) */
  ldg_inverse per_each;        /* of `each` where it is not 0 */
  int64_t stride[2];           /* of a repeat: memory side, packed side */
  ldg_step *child;             /* NULL: bytes. Of counted blocks: the copies of an entry, a repeat whose count is cnt[i] */
  const ldg_rep *copies;       /* owned: what that child runs */
  ldg_step **kids;             /* of a join; an entry may be NULL: bytes */
  int64_t shared;              /* others that have this one as child or kid, too, besides one */
  bool thin;                   /* has no steps below: too many nodes, so what is not one job is walked */
  int32_t *at4;                /* short copy of a list's offsets */
  int32_t *where;              /* of many entries that differ in size: the one that holds stream byte b << shift */
  int shift;
  void *aux[2];                /* what the strategies of job[] own */
  void *hot[2];                /* what plan_jit.h puts in front of job[] */
  double cost[2];              /* predicted ns of job[], whole; negative: not weighed yet, since a nest needed no comparison */
  ldg_job job[2];              /* by direction: whole iterations */
};

/* Copies that a plan was the source of: those that are kept, by name, the latest of them, and names that were seen. */
enum { LDG_JOINTS = 8 };
typedef struct ldg_joints { _Atomic uint64_t name[LDG_JOINTS], seen[LDG_JOINTS]; _Atomic(ldg_joint *) kept[LDG_JOINTS], latest; } ldg_joints;

typedef struct ldg_plan {
  ldg_memo_entry entry;        /* interned by (layout, extent) */
  const ldg_layout *layout;
  int64_t size, extent;        /* of one item */
  int64_t at;                  /* memory offset of the roots */
  int64_t per;                 /* iterations of `many` an item takes */
  int64_t distinct;            /* so many items never overlap in memory, 0: one may; more are unpacked item by item */
  int64_t easy[2];             /* so many items of a whole message, by direction, need no check and no thought: many.job[] runs them */
  _Atomic int64_t tile;        /* of plan_op.c, as is the next one: 0 until they are asked for */
  _Atomic uint8_t op_way[3][2][LADING_ELEM_MAX]; /* of one item, of more, and where the order counts; by direction, for elements of that kind */
  uint64_t serial;             /* no other plan in the process ever has it */
  ldg_pair pair[LDG_PAIRS];    /* of plan_pair.c, as is the next one */
  _Atomic int64_t unpaired;    /* bytes that there was no place for among them, up to some */
  ldg_step one, many;          /* one item; any number of items: a repeat whose count is the caller's */
  ldg_rep many_rep;            /* what `many` runs: 64 items, or fewer where 64 bits say no more */
  ldg_joints joints;           /* of plan_joint.c; behind all that calls read which have nothing to do with them */
} ldg_plan;

/* Where stream byte `at` of a step is, at most its size: the iteration or entry, and which of its bytes. */
static inline int64_t ldg_plan_divide(const ldg_step *s, int64_t at, int64_t *rest) { /* where each is of one length */
  const int64_t i = ldg_inverse_quotient(at, s->per_each);
  return *rest = at - i * s->each, i;
}
static inline int64_t ldg_plan_find(const ldg_step *s, int64_t at, int64_t *rest) {
  const int64_t *psum = s->rep->psum;
  if (!psum) return ldg_plan_divide(s, at, rest);
  const int64_t from = s->where ? s->where[at >> s->shift] : 0, to = s->where ? s->where[(at >> s->shift) + 1] : s->n - 1;
  const int64_t i = at == psum[s->n] ? s->n : from + ldg_rep_find(psum + from, to + 1 - from, at);
  return *rest = at - psum[i], i;
}

/* A whole message of one item. */
static inline bool ldg_plan_is_one(const ldg_plan *p, int64_t lo, int64_t hi) { return ((hi ^ p->size) | lo) == 0; }
/* What runs a whole message of one item, or of some where there is no more to think about, *n iterations of it; NULL of other ranges, or where there is no plan. */
static inline const ldg_job *ldg_plan_whole(const ldg_plan *p, int64_t count, int dir, int64_t lo, int64_t hi, int64_t *n) {
  if (!p) return NULL;
  if (__builtin_expect(count == 1, 1)) return ldg_plan_is_one(p, lo, hi) ? *n = p->one.n, &p->one.job[dir] : NULL;
  const bool easy = count > 1 && count <= p->easy[dir] && hi != 0 && ((hi ^ count * p->size) | lo) == 0;
  return easy ? *n = count * p->per, &p->many.job[dir] : NULL;
}
enum { LDG_PLAN_FEW = 1024 }; /* bytes of a message that goes through a tile on the stack, by the jobs that there are */

/* The plan of a layout tiled with `extent`; interned. */
int ldg_plan_intern(const ldg_layout *l, int64_t extent, const ldg_plan **out);
void ldg_plan_release(const ldg_plan *p);

/* For tests, verify and explain: a private plan that uses strategy `force` in every step that it can run (others as
 * planned); "/name" only at the root of one item, "*name" only at that of many. Release it like any plan. */
int ldg_plan_forced(const ldg_layout *l, int64_t extent, const char *force, const ldg_plan **out);
int ldg_plan_strategies(void);                    /* how many there are: the backend's, then the plan's own tree ones */
const ldg_strategy *ldg_plan_strategy(int i);     /* the last is `walk`, which never refuses and is the definition */
void ldg_plan_explain(const ldg_plan *p, ldg_text *t);
double ldg_plan_step_cost(const ldg_step *s, int dir); /* predicted ns of the step, whole */
/* Strategy i at the root for `count` items: predicted ns, and in *why_not NULL or why it cannot. */
double ldg_plan_predict(const ldg_plan *p, int64_t count, int dir, int i, const char **why_not);
/* Predicted ns of moving `bytes` of the stream of `count` items as planned. */
double ldg_plan_cost(const ldg_plan *p, int64_t count, int dir, int64_t bytes);

/* The backend's op on an element; NULL where it is not defined. The table is there from the first call on. */
typedef const ldg_op *ldg_op_table[LADING_OP_MAX][LADING_ELEM_MAX];
extern const ldg_op_table *_Atomic ldg_plan_ops;
const ldg_op_table *ldg_plan_ops_first(void);
static inline const ldg_op *ldg_plan_op_made(lading_op op, lading_elem e) { /* NULL before the first call of ldg_plan_op, too */
  const ldg_op_table *t = atomic_load_explicit(&ldg_plan_ops, memory_order_acquire);
  return t ? (*t)[op][e] : NULL;
}
static inline const ldg_op *ldg_plan_op(lading_op op, lading_elem e) {
  const ldg_op_table *t = atomic_load_explicit(&ldg_plan_ops, memory_order_acquire);
  return (*(t ? t : ldg_plan_ops_first()))[op][e];
}
/* How elements of one kind are reduced by a plan: block by block, by the nests of its steps; tile by tile, through packed bytes, also of blocks that split elements; or
 * one after the other, where neither may be. */
typedef enum ldg_op_way { LDG_OP_UNKNOWN, LDG_OP_BLOCKS, LDG_OP_TILES, LDG_OP_ELEMENTS } ldg_op_way;
enum { LDG_OP_ONE, LDG_OP_MANY, LDG_OP_ORDERED };
ldg_op_way ldg_plan_op_choose(const ldg_plan *p, int items, int dir, lading_elem e, int64_t size); /* the one that is predicted to take less time, from then on */
void ldg_plan_op_predict(const ldg_plan *p, int items, int dir, int64_t size, double *blocks, double *tiles); /* ns, whole; INFINITY: not so */
/* `e` is the kind of the elements, of `size` bytes. */
static inline ldg_op_way ldg_plan_op_way(const ldg_plan *p, int64_t count, int dir, lading_elem e, int64_t size) {
  const int items = dir == LDG_UNPACK && count > p->distinct ? LDG_OP_ORDERED : count > 1;
  const ldg_op_way w = atomic_load_explicit(&p->op_way[items][dir][e], memory_order_relaxed);
  return w != LDG_OP_UNKNOWN ? w : ldg_plan_op_choose(p, items, dir, e, size);
}
void ldg_plan_op_explain(const ldg_plan *p, lading_elem e, ldg_text *t);
/* Predicted ns: of that many packed bytes through tiles, for each of which so many ranges are packed or unpacked, but for the moving, and of a nest block by block. */
double ldg_plan_op_tiles(int64_t bytes, int ranges);
double ldg_plan_op_blocks(const ldg_nest *n, int64_t size);
enum { LDG_PLAN_TILE = 8 << 10, LDG_PLAN_TILE_MOST = 64 << 10 };
/* Packed bytes of a tile that both plans, one of which may be NULL, are as fast by as by all of the stream. */
int64_t ldg_plan_tile(const ldg_plan *a, const ldg_plan *b);
/* Do items of the plan never coincide in memory, so that they may be written in any order? */
static inline bool ldg_plan_is_distinct(const ldg_plan *p, int64_t count) { return p->distinct >= count; }

/* Moves n bytes, from any place to any, as memory that is dense on both sides is moved here, with nothing tried; by the model that was in use when the
 * first plan was made, before which it may not be run. */
extern const ldg_job *const ldg_plan_bytes;
/* The same for runs inside a part of a message of LDG_PLAN_LONG bytes or more, most of which is not in the first cache. */
enum { LDG_PLAN_LONG = 32 << 10 };
extern const ldg_job *const ldg_plan_part;

/* The cheapest strategy of the backend for a nest; false when none can run it. `force` and `cost` may be NULL. */
bool ldg_plan_once(ldg_job *job, const ldg_nest *nest); /* for a job that this call runs */
bool ldg_plan_nest(ldg_job *job, const ldg_nest *nest, const char *force, double *cost);

#endif
