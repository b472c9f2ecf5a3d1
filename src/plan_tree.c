/* Strategies that go down the tree: what few runs a small item has, sums of nests in tiles, a loop over the children, and the walk. */
#include "plan_tree.h"

#include "base_model.h"
#include "nest_tree.h"

/* Directions are compile-time constants. */
#define TWO_WAYS(name)                                                                                                  \
  static int name##_pack(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) {                         \
    return name(j, LDG_PACK, src, dst, i0, n);                                                                          \
  }                                                                                                                     \
  static int name##_unpack(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) {                       \
    return name(j, LDG_UNPACK, src, dst, i0, n);                                                                        \
  }                                                                                                                     \
  static ldg_run *const name##_run[2] = { name##_pack, name##_unpack };

/* Where iteration i is on either side, and what runs it. Places of a repeat start at the first iteration of the run. */
typedef struct place { int64_t mem, packed, n; const ldg_step *step; const ldg_rep *rep; } place;
LDG_INLINE place place_of(const ldg_step *s, int64_t i, int64_t i0) {
  const ldg_rep *r = s->rep;
  const ldg_step *step = s->child;
  const int64_t n = r->cnt ? r->cnt[i] : step ? step->n : 1;
  switch (r->kind) {
  case LDG_REPEAT: return (place){ (i - i0) * s->stride[0], (i - i0) * s->stride[1], n, step, r->child };
  case LDG_BLOCKS: return (place){ r->at[i], r->psum ? r->psum[i] : i * s->each, n, step, r->child };
  case LDG_JOIN: return (place){ r->at[i], r->psum[i], n, step, r->kids[i] };
  default: return (place){ 0, 0, n, NULL, r };
  }
}

/* ---- costs ---- */

/* Bytes of the lines touched, halved: memcpy that many takes as many from as far away. */
static double reach(const ldg_rep *r, double times) {
  const double span = (double)r->hi - (double)r->lo, apart = 64.0 * (double)r->runs, touched = span < apart ? span : apart;
  return times * (touched > (double)r->size ? touched + (double)r->size : 2.0 * (double)r->size) / 2;
}

/* ns more for `bytes` found as far away as all of them reach, where costs were predicted for parts of them. */
static double farther(double bytes, double part) {
  const double most = 0x1p40; /* farther than that is no different, and what is reached may not fit in an integer */
  const int64_t all = (int64_t)(bytes < most ? bytes : most), some = (int64_t)(part < 4096 ? 4096 : part < most ? part : most);
  if (all <= some) return 0;
  const double more = ldg_model_copy(all) / (double)all - ldg_model_copy(some) / (double)some;
  return more > 0 ? more * bytes : 0;
}

/* ---- loop: the children one after the other ---- */

LDG_INLINE int loop(const ldg_job *j, int dir, const char *src, char *dst, int64_t i0, int64_t n) {
  const ldg_step *s = j->aux;
  for (int64_t i = i0; i < i0 + n; i++) {
    const place p = place_of(s, i, i0);
    const char *from = ldg_at(src, dir == LDG_PACK ? p.mem : p.packed);
    char *to = ldg_at(dst, dir == LDG_PACK ? p.packed : p.mem);
    if (p.step) ldg_job_run(&p.step->job[dir], from, to, 0, p.n);
    else memcpy(to, from, (size_t)(p.n * p.rep->size));
  }
  return LADING_OK;
}
TWO_WAYS(loop)

/* The same of a join, whose children are often few and short: no more differs from child to child than what is called (4, 9 times 40 and 36 bytes: 18 ns, so 17; Zen 4). */
LDG_INLINE int join(const ldg_job *j, int dir, const char *src, char *dst, int64_t i0, int64_t n) {
  const ldg_step *s = j->aux;
  ldg_step *const *kids = s->kids;
  const int64_t *at = s->rep->at, *sum = s->rep->psum;
  for (int64_t i = i0; i < i0 + n; i++) {
    const ldg_job *job = kids[i] ? &kids[i]->job[dir] : ldg_plan_bytes;
    const char *from = ldg_at(src, dir == LDG_PACK ? at[i] : sum[i]);
    ldg_job_run(job, from, ldg_at(dst, dir == LDG_PACK ? sum[i] : at[i]), 0, kids[i] ? kids[i]->n : sum[i + 1] - sum[i]);
  }
  return LADING_OK;
}
TWO_WAYS(join)

static const char *loop_why_not(const ldg_step *s, int dir) {
  (void)dir;
  if (s->thin) return "too many nodes for steps of their own";
  return s->rep->kind == LDG_BYTES ? "one contiguous block has no children" : NULL;
}
static double child_cost(const ldg_step *child, const ldg_rep *r, int dir) {
  return ldg_model_ns(LDG_MODEL_CHILD) + (child ? ldg_plan_step_cost(child, dir) : ldg_model_copy(r->size));
}
/* Copies of counted blocks: as many runs of the child step as there are in all entries. */
static double copies_cost(const ldg_step *s, int dir) {
  const double each = s->child ? ldg_plan_step_cost(s->child, dir) * (double)s->rep->child->size / (double)ldg_max(1, s->child->size)
                               : ldg_model_copy(s->rep->child->size);
  return (double)s->n * ldg_model_ns(LDG_MODEL_CHILD) + (double)s->size / (double)ldg_max(1, s->rep->child->size) * each;
}
static double loop_cost(const ldg_step *s, int dir) {
  const ldg_rep *r = s->rep;
  double all = ldg_model_ns(LDG_MODEL_CALL), part = 0;
  if (r->cnt) return all + copies_cost(s, dir);
  if (r->kind != LDG_JOIN) all += (double)s->n * child_cost(s->child, r->child, dir), part = reach(r->child, 1);
  else for (int64_t i = 0; i < r->n; i++) all += child_cost(s->kids[i], r->kids[i], dir), part += reach(r->kids[i], 1) / (double)r->n;
  return all + farther(r->kind == LDG_JOIN ? part * (double)r->n : reach(r->child, (double)s->n), part);
}
static int loop_prepare(ldg_step *s, int dir, const char *force) {
  (void)force;
  s->job[dir].aux = s, s->job[dir].run = (s->kids ? join_run : loop_run)[dir];
  return LADING_OK;
}

/* ---- pieces: one item of few runs ---- */

typedef struct flat { int n; ldg_field f[LDG_RUNS_FEW]; } flat;
static bool flat_of(const ldg_step *s, int dir, flat *a) {
  a->n = 0;
  return s->rep->runs <= LDG_RUNS_FEW && s->size <= LDG_RUNS_FEW_BYTES && ldg_rep_fields(s->rep, dir == LDG_UNPACK, 0, 0, &(ldg_fields){ a->f, &a->n, LDG_RUNS_FEW });
}
static const char *pieces_why_not(const ldg_step *s, int dir) {
  flat all;
  if (loop_why_not(s, dir)) return loop_why_not(s, dir);
  if (dir == LDG_UNPACK && s->job[dir].nest.ordered) return "destination bytes may coincide, so stream order must be kept";
  return flat_of(s, dir, &all) ? LDG_PLAN_BACKEND->pieces.why_not(all.f, all.n) : "too many runs, or bytes";
}
static double pieces_cost(const ldg_step *s, int dir) {
  flat all;
  flat_of(s, dir, &all);
  return LDG_PLAN_BACKEND->pieces.cost(all.f, all.n);
}
static int pieces_prepare(ldg_step *s, int dir, const char *force) {
  flat all;
  loop_prepare(s, dir, force); /* for some of the children */
  flat_of(s, dir, &all), LDG_PLAN_BACKEND->pieces.prepare(&s->job[dir], all.f, all.n, s->job[dir].run, s->n);
  return LADING_OK;
}

/* ---- terms: the body is a sum of nests; tiles of iterations, every nest over a tile ---- */

#define TERMS_MAX 64
#define TILE_BYTES (16 << 10) /* both sides of a tile stay in the first-level cache while all terms pass over it */

typedef struct term_jobs { int64_t tile, stride[2]; int n; struct { int64_t src, dst; ldg_job job; } term[]; } term_jobs;

static int terms_run(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) {
  const term_jobs *t = j->aux;
  for (int64_t done = 0; done < n; done += t->tile)
    for (int k = 0; k < t->n; k++) {
      const ldg_job *term = &t->term[k].job;
      const char *s = ldg_at(src, t->term[k].src + done * t->stride[0]);
      ldg_job_run(term, s, ldg_at(dst, t->term[k].dst + done * t->stride[1]), i0 + done, ldg_min(t->tile, n - done));
    }
  return LADING_OK;
}

/* A term of the body with the loop of the step around it, memory to packed. False: it does not fit a nest. */
static bool lift(const ldg_step *s, ldg_term *t) {
  ldg_nest *n = &t->nest;
  if (s->rep->kind == LDG_REPEAT) {
    if (n->nd == LDG_DIMS) return false;
    n->dim[n->nd++] = (ldg_dim){ s->n, s->stride[0], s->stride[1] };
    return true;
  }
  if (n->nd != 0) return false;
  n->nd = 1, n->dim[0] = (ldg_dim){ s->n, 0, s->each };
  n->at = s->rep->at, n->at4 = s->at4, n->span = s->rep->hi - s->rep->lo;
  return true;
}

static int lifted_terms(const ldg_step *s, ldg_term *t) {
  const int n = ldg_nest_terms(s->rep->child, t, TERMS_MAX);
  for (int i = 0; i < n; i++)
    if (t[i].nest.block < 1 || !lift(s, &t[i])) return -1; /* items may be empty */
  return n;
}

static int64_t term_bytes(const ldg_term *t) {
  int64_t all = t->nest.block;
  for (int i = 0; i + 1 < t->nest.nd; i++) all *= t->nest.dim[i].n;
  return all;
}

/* The term with most bytes comes first: it streams the lines in, and the others find them in the cache. */
static void sort_terms(ldg_term *t, int n) {
  for (int i = 1; i < n; i++)
    for (int j = i; j > 0 && term_bytes(&t[j]) > term_bytes(&t[j - 1]); j--) {
      const ldg_term swap = t[j];
      t[j] = t[j - 1], t[j - 1] = swap;
    }
}

/* Iterations that stay in the first-level cache. */
static int64_t tile_of(const ldg_step *s) {
  const int64_t span = ldg_min(s->rep->child->hi - s->rep->child->lo, TILE_BYTES) + ldg_min(s->each, TILE_BYTES);
  return ldg_max(16, TILE_BYTES / ldg_max(1, span));
}

static const char *terms_why_not(const ldg_step *s, int dir) {
  ldg_term t[TERMS_MAX];
  if (s->rep->kind != LDG_REPEAT && (s->rep->kind != LDG_BLOCKS || s->rep->cnt)) return "no loop around a body";
  if (dir == LDG_UNPACK && s->job[dir].nest.ordered) return "destination bytes may coincide, so stream order must be kept";
  return lifted_terms(s, t) < 1 ? "the body is not a sum of at most 64 nests" : NULL;
}
static double terms_cost(const ldg_step *s, int dir) {
  ldg_term t[TERMS_MAX];
  const int n = lifted_terms(s, t);
  const int64_t tile = ldg_min(tile_of(s), s->n);
  double all = 0, one;
  for (int i = 0; i < n; i++) {
    ldg_nest nest = dir == LDG_PACK ? t[i].nest : ldg_nest_swapped(t[i].nest);
    ldg_job job;
    nest.dim[nest.nd - 1].n = tile;
    if (ldg_plan_nest(&job, &nest, NULL, &one)) all += one;
  }
  all *= (double)s->n / (double)tile;
  return ldg_model_ns(LDG_MODEL_CALL) + all + farther(reach(s->rep->child, (double)s->n), reach(s->rep->child, (double)tile));
}
static int terms_prepare(ldg_step *s, int dir, const char *force) {
  ldg_term t[TERMS_MAX];
  const int n = lifted_terms(s, t);
  sort_terms(t, n);
  term_jobs *jobs = ldg_alloc((int64_t)sizeof *jobs + n * (int64_t)sizeof jobs->term[0]);
  if (!jobs) return LADING_ERR_NOMEM;
  const bool strided = s->rep->kind == LDG_REPEAT;
  jobs->n = n, jobs->tile = tile_of(s);
  jobs->stride[0] = strided ? s->stride[dir] : 0, jobs->stride[1] = strided ? s->stride[1 - dir] : 0;
  for (int i = 0; i < n; i++) {
    const ldg_nest nest = dir == LDG_PACK ? t[i].nest : ldg_nest_swapped(t[i].nest);
    jobs->term[i].src = dir == LDG_PACK ? t[i].src : t[i].dst, jobs->term[i].dst = dir == LDG_PACK ? t[i].dst : t[i].src;
    ldg_plan_nest(&jobs->term[i].job, &nest, force, NULL);
  }
  ldg_free(s->aux[dir]);
  s->aux[dir] = jobs, s->job[dir].aux = jobs, s->job[dir].run = terms_run;
  return LADING_OK;
}

/* ---- walk: the definition ---- */

typedef struct walk_sides { const char *src; char *dst; } walk_sides;
static int walk_pack_piece(void *arg, int64_t off, int64_t pos, int64_t len) {
  const walk_sides *w = arg;
  memcpy(ldg_at(w->dst, pos), ldg_at(w->src, off), (size_t)len);
  return 0;
}
static int walk_unpack_piece(void *arg, int64_t off, int64_t pos, int64_t len) {
  const walk_sides *w = arg;
  memcpy(ldg_at(w->dst, off), ldg_at(w->src, pos), (size_t)len);
  return 0;
}
void ldg_tree_walk(const ldg_rep *r, int dir, const char *mem, const char *packed, int64_t lo, int64_t hi) {
  walk_sides w = { dir == LDG_PACK ? mem : packed, (char *)(uintptr_t)(dir == LDG_PACK ? packed : mem) };
  ldg_rep_walk(r, lo, hi, dir == LDG_PACK ? walk_pack_piece : walk_unpack_piece, &w);
}

LDG_INLINE int walk(const ldg_job *j, int dir, const char *src, char *dst, int64_t i0, int64_t n) {
  const ldg_step *s = j->aux;
  const char *mem = dir == LDG_PACK ? src : dst, *packed = dir == LDG_PACK ? dst : src;
  for (int64_t i = i0; i < i0 + n; i++) {
    const place p = place_of(s, i, i0);
    const int64_t copies = s->rep->cnt ? s->rep->cnt[i] : 1;
    for (int64_t c = 0; c < copies; c++)
      ldg_tree_walk(p.rep, dir, ldg_at(mem, p.mem + c * s->rep->stride), ldg_at(packed, p.packed + c * p.rep->size), 0, p.rep->size);
  }
  return LADING_OK;
}
TWO_WAYS(walk)

static const char *walk_why_not(const ldg_step *s, int dir) { (void)s, (void)dir; return NULL; }
static double walk_cost(const ldg_step *s, int dir) {
  const ldg_rep *r = s->rep;
  const int64_t pieces = ldg_max(1, r->cnt && r->child->kind == LDG_BYTES ? r->size / ldg_max(1, r->child->size) : r->runs);
  const double each = ldg_model_ns(LDG_MODEL_WALK) + ldg_model_block(dir, LDG_MODEL_PAGE, s->size / pieces, 2 * reach(r, 1));
  return ldg_model_ns(LDG_MODEL_CALL) + (double)pieces * each;
}
static int walk_prepare(ldg_step *s, int dir, const char *force) {
  (void)force;
  s->job[dir].aux = s, s->job[dir].run = walk_run[dir];
  return LADING_OK;
}

const ldg_tree_strategy ldg_tree_table[LDG_TREE_STRATEGIES] = {
  { { "terms", "a sum of nests, each over a tile of iterations", NULL, NULL, NULL, NULL, NULL }, terms_why_not, terms_cost, terms_prepare },
  { { "pieces", "one item of few runs, which are known before", NULL, NULL, NULL, NULL, NULL }, pieces_why_not, pieces_cost, pieces_prepare },
  { { "loop", "a loop over the children", NULL, NULL, NULL, NULL, NULL }, loop_why_not, loop_cost, loop_prepare },
  { { "walk", "the definition: the tree, block by block", NULL, NULL, NULL, NULL, NULL }, walk_why_not, walk_cost, walk_prepare },
};
