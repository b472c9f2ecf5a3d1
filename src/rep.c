/* rep: the nodes. Constructors with their facts, references, and the repeat that lives on a caller's stack. A node is one
 * allocation, with its arrays behind the struct. */
#include "rep.h"

const ldg_rep ldg_rep_nothing = LDG_REP_BYTES(0), ldg_rep_one_byte = LDG_REP_BYTES(1);

/* The stream of the entries seen so far. `bad`: something left 64 bits; the numbers are then wrapped and worthless. */
typedef struct facts {
  int64_t size, lo, hi, first, end, runs;
  bool bad;
} facts;

static inline facts facts_of(const ldg_rep *r) {
  return (facts){ r->size, r->lo, r->hi, r->first, r->end, r->runs, false };
}

/* The last offset fits where lo and hi do, and there are no more runs than bytes: neither needs a check of its own. */
static inline facts copies(int64_t n, int64_t stride, const facts *k) {
  facts f = { 0 };
  if (n == 0 || k->size == 0) return f;
  int64_t step, span;
  f.bad = ldg_mul(n - 1, stride, &step);
  f.bad |= ldg_mul(n, k->size, &f.size);
  f.bad |= ldg_add(k->lo, ldg_min(step, 0), &f.lo);
  f.bad |= ldg_add(k->hi, ldg_max(step, 0), &f.hi);
  f.bad |= ldg_sub(f.hi, f.lo, &span);
  f.first = k->first;
  f.end = ldg_rep_move(k->end, step);
  uint64_t joins = k->end - k->first == stride ? (uint64_t)n - 1 : 0;
  f.runs = (int64_t)((uint64_t)n * (uint64_t)k->runs - joins);
  return f;
}

/* One more entry, not empty, at the end of the stream. */
static inline void append(facts *f, int64_t at, const facts *e) {
  int64_t lo, hi, first = ldg_rep_move(at, e->first);
  f->bad |= ldg_add(at, e->lo, &lo);
  f->bad |= ldg_add(at, e->hi, &hi);
  if (f->size == 0) {
    f->first = first;
    f->lo = lo;
    f->hi = hi;
  }
  bool joins = f->size > 0 && f->end == first;
  f->bad |= ldg_add(f->size, e->size, &f->size);
  f->runs = ldg_rep_move(f->runs, e->runs - joins);
  f->end = ldg_rep_move(at, e->end);
  f->lo = ldg_min(f->lo, lo);
  f->hi = ldg_max(f->hi, hi);
}

/* All but the facts. Field by field: for a whole struct compilers zero memory first, which costs as much as malloc. */
static inline void clear(ldg_rep *r, ldg_kind kind, int64_t n, int64_t refs) {
  atomic_init(&r->refs, refs);
  r->kind = kind;
  r->depth = 1;
  r->nodes = 1;
  r->n = n;
  r->stride = 0;
  r->child = NULL;
  r->at = r->cnt = r->psum = NULL;
  r->kids = NULL;
  atomic_init(&r->rsum, NULL);
  atomic_init(&r->hash, 0);
}

static inline ldg_rep *make(ldg_kind kind, int64_t n, int64_t words) {
  ldg_rep *r = ldg_alloc((int64_t)sizeof *r + 8 * words);
  if (r) clear(r, kind, n, 1);
  return r;
}

static inline void set_facts(ldg_rep *r, const facts *f) {
  r->size = f->size;
  r->lo = f->lo;
  r->hi = f->hi;
  r->first = f->first;
  r->end = f->end;
  r->runs = f->runs;
}

static int publish(ldg_rep *r, const facts *f, const ldg_rep **out) {
  int64_t span;
  if (f->bad || ldg_sub(f->hi, f->lo, &span)) {
    ldg_free(r);
    return LADING_ERR_OVERFLOW;
  }
  set_facts(r, f);
  *out = r;
  return LADING_OK;
}

/* Whether one more level may stand on this child. */
static int may_hold(const ldg_rep *child) {
  if (!child) return LADING_ERR_ARG;
  if (child->depth >= LDG_DEPTH_MAX) return LADING_ERR_DEPTH;
  return child->nodes >= LDG_NODES_MAX ? LADING_ERR_OVERFLOW : LADING_OK;
}

static inline void put_over(ldg_rep *r, const ldg_rep *child) {
  r->child = child;
  r->depth = child->depth + 1;
  r->nodes = child->nodes + 1;
}

int ldg_rep_bytes(int64_t n, const ldg_rep **out) {
  if (n < 0) return LADING_ERR_ARG;
  ldg_rep *r = make(LDG_BYTES, n, 0);
  if (!r) return LADING_ERR_NOMEM;
  set_facts(r, &(facts){ n, 0, n, 0, n, n > 0, false });
  *out = r;
  return LADING_OK;
}

int ldg_rep_repeat(int64_t n, int64_t stride, const ldg_rep *child, const ldg_rep **out) {
  if (n < 0) return LADING_ERR_ARG;
  int rc = may_hold(child);
  if (rc) return rc;
  facts k = facts_of(child), f = copies(n, stride, &k);
  if (f.bad) return LADING_ERR_OVERFLOW;
  ldg_rep *r = make(LDG_REPEAT, n, 0);
  if (!r) return LADING_ERR_NOMEM;
  r->stride = stride;
  put_over(r, ldg_rep_ref(child));
  set_facts(r, &f);
  *out = r;
  return LADING_OK;
}

int ldg_rep_repeat_in(ldg_rep *r, int64_t n, int64_t stride, const ldg_rep *child) {
  if (n < 0 || !child) return LADING_ERR_ARG;
  facts k = facts_of(child), f = copies(n, stride, &k);
  if (f.bad) return LADING_ERR_OVERFLOW;
  clear(r, LDG_REPEAT, n, LDG_IMMORTAL);
  r->stride = stride;
  put_over(r, child);
  set_facts(r, &f);
  return LADING_OK;
}

/* One child per entry: everything but the extreme offsets and the touching neighbours is a product. Differences wrap;
 * where one did, the span does not fit either and the node is refused. */
static facts single_facts(int64_t n, const int64_t *at, int64_t *copy, const facts *k) {
  facts f = { 0 };
  int64_t least = INT64_MAX, most = INT64_MIN, joins = 0;
  uint64_t len = (uint64_t)(k->end - k->first), last = n ? (uint64_t)at[0] - len - 1 : 0;
  for (int64_t i = 0; i < n; i++) {
    int64_t a = at[i];
    copy[i] = a;
    least = ldg_min(least, a);
    most = ldg_max(most, a);
    joins += (uint64_t)a - last == len;
    last = (uint64_t)a;
  }
  if (n == 0 || k->size == 0) return f;
  f.bad = ldg_mul(n, k->size, &f.size);
  f.bad |= ldg_add(least, k->lo, &f.lo);
  f.bad |= ldg_add(most, k->hi, &f.hi);
  f.first = ldg_rep_move(at[0], k->first);
  f.end = ldg_rep_move(at[n - 1], k->end);
  f.runs = (int64_t)((uint64_t)n * (uint64_t)k->runs - (uint64_t)joins);
  return f;
}

/* The entries that have children; what grows with an entry's count is linear in it. If the largest count fits, so do all. */
static facts counted_facts(int64_t n, const int64_t *at, const int64_t *cnt, int64_t stride, int64_t *psum, const facts *k) {
  int64_t most = 0, entries = 0, joins = 0, end = 0;
  for (int64_t i = 0; i < n; i++) most = ldg_max(most, cnt[i]);
  facts f = { .bad = copies(most, stride, k).bad, .lo = INT64_MAX, .hi = INT64_MIN };
  const int64_t size = k->size, back = ldg_min(stride, 0), ahead = ldg_max(stride, 0);
  for (int64_t i = 0; i < n && size > 0 && !f.bad; i++) {
    int64_t a = at[i], more = cnt[i] - 1, lo, hi;
    psum[i] = f.size;
    if (more < 0) continue;
    bool bad = ldg_add(a, k->lo + more * back, &lo);
    bad |= ldg_add(a, k->hi + more * ahead, &hi);
    bad |= ldg_add(f.size, cnt[i] * size, &f.size);
    int64_t first = ldg_rep_move(a, k->first);
    if (entries++ == 0) f.first = first;
    else joins += first == end;
    end = ldg_rep_move(a, k->end + more * stride);
    f.lo = ldg_min(f.lo, lo);
    f.hi = ldg_max(f.hi, hi);
    f.bad = bad;
  }
  if (entries == 0) {
    memset(psum, 0, (size_t)(n + 1) * sizeof *psum);
    return (facts){ .bad = f.bad };
  }
  psum[n] = f.size;
  int64_t children = f.size / size;
  f.end = end;
  f.runs = children * k->runs - (k->end - k->first == stride ? children - entries : 0) - joins;
  return f;
}

static bool any_negative(int64_t n, const int64_t *v) {
  int64_t sign = 0;
  for (int64_t i = 0; i < n; i++) sign |= v[i];
  return sign < 0;
}

int ldg_rep_blocks(int64_t n, const int64_t *at, const int64_t *cnt, int64_t stride, const ldg_rep *child, const ldg_rep **out) {
  if (n < 0 || (n && !at) || (cnt && any_negative(n, cnt))) return LADING_ERR_ARG;
  int rc = may_hold(child);
  if (rc) return rc;
  ldg_rep *r = make(LDG_BLOCKS, n, cnt ? 3 * n + 1 : n);
  if (!r) return LADING_ERR_NOMEM;
  int64_t *array = (int64_t *)(r + 1);
  facts k = facts_of(child), f;
  r->at = array;
  if (cnt) {
    ldg_copy_bytes(array, at, 8 * n);
    ldg_copy_bytes(array + n, cnt, 8 * n);
    r->cnt = array + n;
    r->psum = array + 2 * n;
    r->stride = stride;
    f = counted_facts(n, r->at, r->cnt, stride, array + 2 * n, &k);
  } else {
    f = single_facts(n, at, array, &k);
  }
  rc = publish(r, &f, out);
  if (!rc) put_over(r, ldg_rep_ref(child));
  return rc;
}

/* Depth and nodes of a join, in the node; the limit on nodes also keeps their sum far from overflow. */
static int measure(ldg_rep *r, const ldg_rep *const *kids) {
  for (int64_t i = 0; i < r->n; i++) {
    int rc = may_hold(kids[i]);
    if (rc) return rc;
    r->depth = kids[i]->depth >= r->depth ? kids[i]->depth + 1 : r->depth;
    r->nodes += kids[i]->nodes;
    if (r->nodes > LDG_NODES_MAX) return LADING_ERR_OVERFLOW;
  }
  return LADING_OK;
}

static facts join_facts(int64_t n, const int64_t *at, const ldg_rep *const *kids, int64_t *psum) {
  facts f = { 0 };
  for (int64_t i = 0; i < n; i++) {
    facts k = facts_of(kids[i]);
    psum[i] = f.size;
    if (k.size > 0) append(&f, at[i], &k);
  }
  psum[n] = f.size;
  return f;
}

int ldg_rep_join(int64_t n, const int64_t *at, const ldg_rep *const *kids, const ldg_rep **out) {
  if (n < 0 || (n && (!at || !kids))) return LADING_ERR_ARG;
  ldg_rep *r = make(LDG_JOIN, n, 3 * n + 1);
  if (!r) return LADING_ERR_NOMEM;
  int rc = measure(r, kids);
  if (rc) {
    ldg_free(r);
    return rc;
  }
  int64_t *array = (int64_t *)(r + 1);
  const ldg_rep **copy = (const ldg_rep **)(array + 2 * n + 1);
  ldg_copy_bytes(array, at, 8 * n);
  ldg_copy_bytes(copy, kids, (int64_t)sizeof *copy * n);
  r->at = array;
  r->psum = array + n;
  r->kids = copy;
  facts f = join_facts(n, at, kids, array + n);
  rc = publish(r, &f, out);
  for (int64_t i = 0; i < n && !rc; i++) ldg_rep_ref(copy[i]);
  return rc;
}

const ldg_rep *ldg_rep_ref(const ldg_rep *r) {
  _Atomic int64_t *refs = &((ldg_rep *)r)->refs;
  if (atomic_load_explicit(refs, memory_order_relaxed) != LDG_IMMORTAL) atomic_fetch_add_explicit(refs, 1, memory_order_relaxed);
  return r;
}

static void destroy(ldg_rep *r) {
  if (r->child) ldg_rep_free(r->child);
  for (int64_t i = 0; r->kids && i < r->n; i++) ldg_rep_free(r->kids[i]);
  ldg_free((void *)atomic_load_explicit(&r->rsum, memory_order_relaxed));
  ldg_free(r);
}

void ldg_rep_free(const ldg_rep *shared) {
  ldg_rep *r = (ldg_rep *)shared;
  int64_t refs = r ? atomic_load_explicit(&r->refs, memory_order_acquire) : LDG_IMMORTAL;
  if (refs == LDG_IMMORTAL) return;
  /* the only reference is ours: nobody can take another one meanwhile */
  if (refs == 1 || atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) == 1) destroy(r);
}
