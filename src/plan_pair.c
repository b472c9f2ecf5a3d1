/* plan_pair: what two plans have in common. Sides are loops around a body, or a list of bodies; a period is the least stretch of the
 * stream that is whole bodies on both sides, and the loops of neither end within one. */
#include "plan_pair.h"

#include "base_model.h"

/* ---- sides ---- */

/* dim[0] is of items, the innermost loop, the last, goes around the body; or, within an item, a list does. */
typedef struct side { const int32_t *list; int nd; struct { int64_t stride, size; } dim[LDG_DIMS + 1]; int64_t row, at; const ldg_rep *body; ldg_rep bytes; } side;

/* What few fields the whole of it has are better constants. */
static bool is_list(const ldg_step *s) { return ldg_hot_lists(s->rep, s->at4) && !ldg_hot_fits(s->rep); }

static bool open_list(side *s, const ldg_step *step) {
  s->list = step->at4, s->row = step->rep->size, s->body = step->rep->child;
  return true;
}

/* row: bytes of all iterations of the innermost loop; 0: it is that of the items, which has no end. */
static bool open_plan(side *s, const ldg_plan *p) {
  const ldg_rep *r = p->one.rep;
  s->nd = 1, s->dim[0].stride = p->extent, s->dim[0].size = p->size, s->row = 0, s->at = p->at, s->list = NULL;
  if (is_list(&p->one)) return open_list(s, &p->one);
  for (; !ldg_hot_fits(r) && r->kind == LDG_REPEAT && s->nd <= LDG_DIMS; r = r->child)
    s->dim[s->nd].stride = r->stride, s->dim[s->nd++].size = r->child->size, s->row = r->size;
  s->body = r;
  return ldg_hot_fits(r);
}

/* In bodies as large as those of the other side. */
static void open_packed(side *s, int64_t size) {
  s->nd = 1, s->dim[0].stride = s->dim[0].size = size, s->row = s->at = 0, s->list = NULL;
  s->bytes = (ldg_rep){ .kind = LDG_BYTES, .n = size, .size = size, .hi = size, .end = size, .runs = 1 }, s->body = &s->bytes;
}

/* One side at least has a plan. */
static bool open_sides(side *a, side *b, const ldg_items *src, const ldg_items *dst) {
  if ((!src->plan && !dst->plan) || (src->plan && !open_plan(a, src->plan)) || (dst->plan && !open_plan(b, dst->plan))) return false;
  if (!src->plan) open_packed(a, b->body->size);
  if (!dst->plan) open_packed(b, a->body->size);
  return true;
}

/* Where stream byte pos is, at the start of a body; *left: bytes until the innermost loop, or the list, ends; *list: from there on. */
static int64_t place(const side *s, int64_t pos, int64_t *left, const int32_t **list) {
  int64_t off = s->at;
  for (int d = 0; d < s->nd; pos %= s->dim[d++].size) {
    off += pos / s->dim[d].size * s->dim[d].stride;
    if (d == s->nd - 1 && s->row && !s->list) *left = ldg_min(*left, s->row - pos);
  }
  if (s->list) *left = ldg_min(*left, s->row - pos), *list = s->list + pos / s->body->size;
  return off;
}

static int64_t stride_of(const side *s, int64_t period) { return period / s->body->size * s->dim[s->nd - 1].stride; }

/* ---- shapes ---- */

static int64_t period_of(int64_t a, int64_t b) {
  const int64_t x = (int64_t)ldg_gcd((uint64_t)a, (uint64_t)b);
  return a / x > LDG_SHAPE_BYTES / b ? 0 : a / x * b;
}

/* Where the runs of a period are, in stream order; src: in memory, dst: in the stream. */
typedef struct runs { int n; ldg_field f[LDG_SHAPE_FIELDS]; } runs;
static bool runs_of(const side *s, int64_t period, runs *r) {
  const int64_t size = s->body->size;
  r->n = 0;
  for (int64_t i = 0; i < period / size; i++)
    if (!ldg_rep_fields(s->body, false, i * s->dim[s->nd - 1].stride, i * size, &(ldg_fields){ r->f, &r->n, LDG_SHAPE_FIELDS })) return false;
  return true;
}

static bool zip(ldg_shape *s, const runs *a, const runs *b, int64_t period) {
  int64_t i = 0, k = 0;
  for (int64_t at = 0, end; at < period; at = end) {
    const ldg_field *x = &a->f[i], *y = &b->f[k];
    end = ldg_min(x->dst + x->len, y->dst + y->len);
    if (!ldg_field_add(&(ldg_fields){ s->field, &s->n, LDG_SHAPE_FIELDS }, (ldg_field){ x->src + at - x->dst, y->src + at - y->dst, end - at })) return false;
    i += end == x->dst + x->len, k += end == y->dst + y->len;
  }
  return true;
}

/* It is left to others, so it has no pointer to a caller's. */
typedef struct maker { ldg_pair *pair; ldg_items src, dst; ldg_reduce reduce; int64_t bytes; } maker;

/* What an element takes at most, op by op, by a plan or through tiles. */
#define REDUCE_NS 2.5

/* At most: of a copy what packing and unpacking take, beyond a memcpy. */
static double gain_of(const maker *m) {
  if (m->reduce.how) return REDUCE_NS / m->reduce.size;
  const double tier1 = ldg_plan_cost(m->src.plan, m->src.count, LDG_PACK, m->bytes) + ldg_plan_cost(m->dst.plan, m->dst.count, LDG_UNPACK, m->bytes);
  return (tier1 - ldg_model_copy(m->bytes)) / (double)m->bytes;
}

/* Does some field have a part of an element? */
static bool splits(const ldg_shape *s) {
  for (int i = 0; i < s->n; i++)
    if (s->field[i].len % s->reduce.size) return true;
  return false;
}

/* Of what an op goes by: of a complex number, one that is added, a part. */
static int size_of(lading_elem e) {
  switch (e) {
  case LADING_BYTE: case LADING_BOOL: case LADING_INT8: case LADING_UINT8: return 1;
  case LADING_INT16: case LADING_UINT16: return 2;
  case LADING_INT32: case LADING_UINT32: case LADING_FLOAT: case LADING_C_FLOAT: return 4;
  case LADING_INT64: case LADING_UINT64: case LADING_DOUBLE: case LADING_C_DOUBLE: return 8;
  default: return 0;
  }
}

static bool is_complex(lading_elem e) { return e == LADING_C_FLOAT || e == LADING_C_DOUBLE; }

static bool is_none(const ldg_items *src, const ldg_items *dst, const ldg_reduce *r) {
  const ldg_items *i = src->plan ? src : dst;
  if ((src->plan && dst->plan) || r->how != LDG_SUM || r->whole != r->size) return false;
  return ldg_pair_none(&(i->count > 1 ? &i->plan->many : &i->plan->one)->job[src->plan ? LDG_PACK : LDG_UNPACK].nest, r->size);
}

/* What two layouts tell already: NULL, or why there will be no kernel. */
static const char *none_for(const ldg_items *src, const ldg_items *dst, const ldg_reduce *r, side *a, side *b, int64_t *period) {
  const bool packed = !(src->plan && dst->plan);
  if (!open_sides(a, b, src, dst)) return "its bodies are too large";
  if (!r->how && a->body->runs == 1 && b->body->runs == 1) return "a nest does, in the order that is best for it";
  if (is_none(src, dst, r)) return "rows of a few elements need none";
  if ((a->list || b->list) && !packed) return "lists go with packed bytes only";
  if (!(*period = period_of(a->body->size, b->body->size))) return "what both sides have in common is too large";
  return a->row % *period || b->row % *period ? "the loops of both sides do not end together" : NULL;
}

bool ldg_pair_moves(const ldg_items *src, const ldg_items *dst) {
  int64_t period;
  side a, b;
  return !none_for(src, dst, &(ldg_reduce){ .size = 1 }, &a, &b, &period);
}

static const char *shape_of(const maker *m, ldg_shape *s) {
  ldg_pair *p = m->pair;
  side a, b;
  runs x, y;
  const char *none = none_for(&m->src, &m->dst, &m->reduce, &a, &b, &p->period);
  if (none) return none;
  p->row = ldg_min(a.row ? a.row : INT64_MAX, b.row ? b.row : INT64_MAX);
  s->reduce = m->reduce, s->n = 0, s->listed[0] = a.list, s->listed[1] = b.list, s->stride[0] = s->stride[1] = 0;
  if (!a.list && !b.list) s->stride[0] = stride_of(&a, p->period), s->stride[1] = stride_of(&b, p->period);
  if (!runs_of(&a, p->period, &x) || !runs_of(&b, p->period, &y) || !zip(s, &x, &y, p->period)) return "it has too many fields";
  ldg_hot_settle(s, p->at);
  return splits(s) ? "it splits elements" : NULL;
}

static const char *make_shape(void *arg, ldg_shape *s, double *gain) {
  const maker *m = arg;
  m->pair->most = ldg_jit_forced() ? INT64_MAX : ldg_model_count(LDG_MODEL_STREAM) - 1;
  *gain = gain_of(m);
  return shape_of(m, s);
}

static void look(const ldg_look *l, bool dropped) {
  maker m;
  memcpy(&m, l->word, sizeof m);
  if (!dropped) ldg_hot_attach(&m.pair->hot, make_shape, &m);
  atomic_fetch_sub(&m.pair->busy, 1);
}

static ldg_look look_of(const maker *m) {
  ldg_look l = { look, { m->src.plan, m->dst.plan }, { 0 } };
  _Static_assert(sizeof *m <= sizeof l.word, "a look has few words");
  memcpy(l.word, m, sizeof *m);
  return l;
}

/* ---- reductions ---- */

static ldg_number number_of(lading_op op, lading_elem e) {
  if (e == LADING_FLOAT || e == LADING_DOUBLE || is_complex(e)) return LDG_FLOATS;
  if (op != LADING_MIN && op != LADING_MAX) return LDG_WHOLE;
  return e == LADING_INT8 || e == LADING_INT16 || e == LADING_INT32 || e == LADING_INT64 ? LDG_SIGNED : LDG_UNSIGNED;
}

ldg_reduce ldg_pair_reduce(lading_op op, lading_elem e) {
  static const ldg_how how[LADING_OP_MAX] = { [LADING_SUM] = LDG_SUM, [LADING_PROD] = LDG_PROD, [LADING_BAND] = LDG_AND, [LADING_BOR] = LDG_OR, [LADING_BXOR] = LDG_XOR,
                                              [LADING_MIN] = LDG_MIN, [LADING_MAX] = LDG_MAX, [LADING_LAND] = LDG_ALL, [LADING_LOR] = LDG_ANY, [LADING_LXOR] = LDG_ONE };
  const int size = size_of(e);
  if (!size || !how[op] || (is_complex(e) && op != LADING_SUM)) return (ldg_reduce){ .size = 1 };
  return (ldg_reduce){ how[op], number_of(op, e), size, is_complex(e) ? 2 * size : size };
}

/* ---- pairs ---- */

enum { FREE, TAKEN, USED };

/* From the lowest: 2 bits of the numbers, 4 of the op, 4 of the size, 1 of the direction. */
static uint64_t name_of(const ldg_items *src, const ldg_items *dst, const ldg_reduce *r) {
  const uint64_t other = src->plan && dst->plan ? dst->plan->serial : 0, packs = src->plan != NULL;
  return ((other * 2 + packs) * 16 + (uint64_t)r->size) * 64 + (uint64_t)r->how * 4 + (uint64_t)r->number;
}

static bool is_with(ldg_pair *p, uint64_t with) { return atomic_load(&p->claim) == USED && atomic_load_explicit(&p->with, memory_order_relaxed) == with; }

static ldg_pair *find(ldg_plan *p, uint64_t with) {
  for (int i = 0; i < LDG_PAIRS; i++)
    if (is_with(&p->pair[i], with)) return &p->pair[i];
  return NULL;
}

static void settle_in(ldg_pair *p, uint64_t with) {
  ldg_hot_init(&p->hot);
  atomic_store_explicit(&p->worth, 0, memory_order_relaxed);
  atomic_store_explicit(&p->with, with, memory_order_relaxed);
}

#define WORTH_MAX (16 << 20) /* what moved much, long ago, does not stay for good; and who has no more to say need not write */
static void add(_Atomic int64_t *to, int64_t bytes) {
  const int64_t now = atomic_load_explicit(to, memory_order_relaxed);
  if (now < WORTH_MAX) atomic_store_explicit(to, now + bytes, memory_order_relaxed);
}

/* The one without a kernel that is worth least; or one that nobody has. NULL: none, or another thread is at it. */
static ldg_pair *cheapest(ldg_plan *p) {
  ldg_pair *found = NULL;
  int64_t least = INT64_MAX;
  for (int i = 0; i < LDG_PAIRS; i++) {
    ldg_pair *x = &p->pair[i];
    const int claim = atomic_load(&x->claim);
    const int64_t worth = atomic_load_explicit(&x->worth, memory_order_relaxed);
    if (claim == FREE) return x;
    if (claim == TAKEN) return NULL;
    if (!ldg_hot_kernel(&x->hot) && worth < least) found = x, least = worth;
  }
  return found;
}

/* Whoever has no place lowers what the cheapest is worth, and has its place once that is less than nothing: those by which most is
 * moved stay, and when too many move as much as each other, none drives another out. */
static bool take(ldg_pair *p, int64_t bytes) {
  int claim = FREE;
  if (atomic_compare_exchange_strong(&p->claim, &claim, TAKEN)) return true;
  const int64_t left = atomic_load_explicit(&p->worth, memory_order_relaxed) - bytes;
  if (claim != USED || left < 0) return claim == USED && atomic_compare_exchange_strong(&p->claim, &claim, TAKEN);
  atomic_store_explicit(&p->worth, left, memory_order_relaxed);
  return false;
}

/* NULL: there is no place, or not yet. */
static ldg_pair *move_in(ldg_plan *p, uint64_t with, int64_t bytes) {
  ldg_pair *x = cheapest(p);
  if (!x || !take(x, bytes)) return add(&p->unpaired, bytes), NULL;
  const bool mine = !atomic_load(&x->busy) && !ldg_hot_kernel(&x->hot); /* who was there before we took it may be at it still */
  if (mine) settle_in(x, with);
  atomic_store(&x->claim, USED);
  return mine ? x : NULL;
}

static bool tell(ldg_pair *p, const maker *m) {
  const ldg_look l = look_of(m);
  return ldg_hot_due(&p->hot, &l);
}

/* Who is busy with it keeps it as it is: either he is seen, or he sees that it was taken. A look that was left is busy until it is over. */
static __attribute__((noinline)) void look_at(ldg_pair *p, uint64_t with, const maker *m) {
  atomic_fetch_add(&p->busy, 1);
  if (!is_with(p, with) || !tell(p, m)) atomic_fetch_sub(&p->busy, 1);
}

/* Who only counts keeps nobody: bytes may be counted to a pair that is another one's by now. */
static bool count(ldg_pair *p, int64_t bytes) {
  add(&p->worth, bytes);
  return ldg_hot_count(&p->hot, bytes);
}

static void run(const ldg_pair *p, ldg_kernel *k, const ldg_items *src, const ldg_items *dst, int64_t from, int64_t to) {
  side a, b;
  if (!open_sides(&a, &b, src, dst)) return; /* not so: there was a shape */
  const int32_t *list = NULL;
  for (int64_t n; from < to; from += n) {
    n = to - from;
    const int64_t x = place(&a, from, &n, &list) + p->at[0], y = place(&b, from, &n, &list) + p->at[1];
    k(ldg_at(src->base, x), (char *)(uintptr_t)ldg_at(dst->base, y), n / p->period, stride_of(&a, p->period), stride_of(&b, p->period), list);
  }
}

/* Those within [lo, hi), if they are as many as the kernel is for, and no more, and of whole elements: sums of complex numbers have the kernels of their parts. The stream may be
 * as long as an int64_t can say. */
static bool whole_periods(const ldg_pair *p, const ldg_reduce *r, int64_t lo, int64_t hi, int64_t *from, int64_t *to) {
  if (r->how && p->period % r->whole) return false;
  const int64_t before = lo % p->period ? p->period - lo % p->period : 0, behind = hi % p->period, bytes = hi - lo - before - behind;
  if (hi - lo > p->most || bytes <= 0 || !ldg_hot_is_for(&p->hot, ldg_min(p->row, bytes) / p->period, bytes / p->period)) return false;
  *from = lo + before, *to = hi - behind;
  return true;
}

/* Plans of tests and measurements do as they are told. */
static bool is_shared(const ldg_items *i) { return !i->plan || i->plan->entry.memo; }
static bool is_distinct(const ldg_items *i) { return !i->plan || (i->plan->distinct > 1 && ldg_plan_is_distinct(i->plan, i->count)); } /* one by itself is not worth a kernel */

bool ldg_pair_run(const ldg_items *src, const ldg_items *dst, const ldg_reduce *reduce, int64_t lo, int64_t hi, int64_t *from, int64_t *to) {
  const ldg_reduce r = reduce ? *reduce : (ldg_reduce){ .size = 1 };
  if (!ldg_pair_may(hi - lo) || !is_shared(src) || !is_shared(dst) || !is_distinct(dst) || is_none(src, dst, &r)) return false;
  ldg_plan *own = (ldg_plan *)(uintptr_t)(src->plan ? src->plan : dst->plan);
  const uint64_t with = name_of(src, dst, &r);
  ldg_pair *p = find(own, with);
  if (!p && !(p = move_in(own, with, hi - lo))) return false;
  ldg_kernel *k = ldg_hot_kernel(&p->hot);
  if (!k && count(p, hi - lo)) look_at(p, with, &(const maker){ p, *src, *dst, r, hi - lo });
  if (!k || !is_with(p, with)) return false; /* with a kernel it is the same from then on */
  if (!whole_periods(p, &r, lo, hi, from, to)) return false;
  run(p, k, src, dst, *from, *to);
  return true;
}

const char *ldg_pair_warm(const ldg_items *src, const ldg_items *dst, const ldg_reduce *reduce) {
  if (!is_distinct(dst)) return "items that may coincide are written in the order of the stream";
  ldg_plan *own = (ldg_plan *)(uintptr_t)(src->plan ? src->plan : dst->plan);
  const uint64_t with = name_of(src, dst, reduce);
  ldg_pair *p = find(own, with);
  if (!p && !(p = move_in(own, with, WORTH_MAX + 1))) return "there is no place for another pair";
  const ldg_look l = look_of(&(const maker){ p, *src, *dst, *reduce, own->size });
  atomic_fetch_add(&p->busy, 1);
  if (is_with(p, with)) ldg_hot_ask(&p->hot, &l);
  else atomic_fetch_sub(&p->busy, 1);
  return atomic_load_explicit(&p->hot.why, memory_order_relaxed);
}

/* ---- explain ---- */

static void explain(ldg_pair *p, ldg_text *t) {
  static const char *const hows[] = { "copies", "sums", "products", "ands", "ors", "exclusive ors", "minima", "maxima", "logical ands", "logical ors", "logical exclusive ors" };
  const uint64_t with = atomic_load_explicit(&p->with, memory_order_relaxed), packs = with >> 10 & 1;
  ldg_text_add(t, "  %s %s ", hows[with >> 2 & 15], packs ? "to" : "of");
  if (with >> 11) ldg_text_add(t, "plan %llu: ", (unsigned long long)(with >> 11)); /* its id would have to be found while nobody frees it */
  else ldg_text_add(t, "packed bytes: ");
  ldg_hot_explain(&p->hot, t);
}

void ldg_pair_explain(const ldg_plan *p, ldg_text *t) {
  ldg_plan *own = (ldg_plan *)(uintptr_t)p;
  int n = 0;
  for (int i = 0; i < LDG_PAIRS; i++)
    if (atomic_load(&own->pair[i].claim) == USED) explain(&own->pair[i], t), n++;
  if (n == LDG_PAIRS && atomic_load_explicit(&own->unpaired, memory_order_relaxed))
    ldg_text_add(t, "  others: tier 1, a plan looks after %d pairs at a time: those with a kernel, and those by which most is moved\n", n);
}
