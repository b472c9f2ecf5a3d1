/* plan_pair: what two plans have in common. Sides are loops around a body; a period is the least stretch of the stream that is whole
 * bodies on both sides, and the loops of neither end within one. */
#include "plan_pair.h"

#include "base_model.h"
#include "plan_hot.h"

struct ldg_pair {
  ldg_hot hot;
  uint64_t with;          /* the other plan's serial */
  /* set before there is a slot */
  int64_t period, row, most; /* bytes of the stream: the least that both loops have in common, and the most at once */
  int64_t at[2];          /* of the kernel's places, from those of the period */
};

#define BYTES_MIN 512 /* what is looked for and found takes some 10 ns */

/* ---- sides ---- */

/* dim[0] is of items, the innermost loop, the last, goes around the body. */
typedef struct side { int nd; struct { int64_t stride, size; } dim[LDG_DIMS + 1]; int64_t row; const ldg_rep *body; } side;

/* row: bytes of all iterations of the innermost loop; 0: it is that of the items, which has no end. */
static bool open_side(side *s, const ldg_plan *p) {
  const ldg_rep *r = p->one.rep;
  s->nd = 1, s->dim[0].stride = p->extent, s->dim[0].size = p->size, s->row = 0;
  for (; !ldg_hot_fits(r) && r->kind == LDG_REPEAT && s->nd <= LDG_DIMS; r = r->child)
    s->dim[s->nd].stride = r->stride, s->dim[s->nd++].size = r->child->size, s->row = r->size;
  s->body = r;
  return ldg_hot_fits(r);
}

/* Where stream byte pos is, at the start of a body; *left: bytes until the innermost loop ends. */
static int64_t place(const side *s, int64_t pos, int64_t *left) {
  int64_t off = 0;
  for (int d = 0; d < s->nd; pos %= s->dim[d++].size) {
    off += pos / s->dim[d].size * s->dim[d].stride;
    if (d == s->nd - 1 && s->row) *left = ldg_min(*left, s->row - pos);
  }
  return off;
}

static int64_t stride_of(const side *s, int64_t period) { return period / s->body->size * s->dim[s->nd - 1].stride; }

/* ---- shapes ---- */

static int64_t period_of(int64_t a, int64_t b) {
  int64_t x = a, y = b;
  for (int64_t rest; y; x = y, y = rest) rest = x % y;
  return a / x > LDG_SHAPE_BYTES / b ? 0 : a / x * b;
}

/* Where the runs of a period are, in stream order. */
typedef struct runs { int64_t off, n; ldg_field f[LDG_SHAPE_FIELDS]; } runs; /* src: in memory, dst: in the stream */
static int add_run(void *arg, int64_t off, int64_t pos, int64_t len) {
  runs *r = arg;
  if (r->n == LDG_SHAPE_FIELDS) return 1;
  const int64_t start = r->n ? r->f[r->n - 1].dst + r->f[r->n - 1].len : 0;
  (void)pos;
  r->f[r->n++] = (ldg_field){ r->off + off, start, len };
  return 0;
}
static bool runs_of(const side *s, int64_t period, runs *r) {
  r->n = 0;
  for (int64_t i = 0; i < period / s->body->size; i++) {
    r->off = i * s->dim[s->nd - 1].stride;
    if (ldg_rep_walk(s->body, 0, s->body->size, add_run, r)) return false;
  }
  return true;
}

static bool zip(ldg_shape *s, const runs *a, const runs *b, int64_t period) {
  int64_t i = 0, k = 0;
  for (int64_t at = 0, end; at < period; at = end) {
    const ldg_field *x = &a->f[i], *y = &b->f[k];
    end = ldg_min(x->dst + x->len, y->dst + y->len);
    if (!ldg_hot_field(s, x->src + at - x->dst, y->src + at - y->dst, end - at)) return false;
    i += end == x->dst + x->len, k += end == y->dst + y->len;
  }
  return true;
}

typedef struct maker { ldg_pair *pair; const ldg_items *src, *dst; int64_t bytes; } maker;

/* At most what packing and unpacking take, beyond a memcpy. */
static double gain_of(const maker *m) {
  const double tier1 = ldg_plan_cost(m->src->plan, m->src->count, LDG_PACK, m->bytes) + ldg_plan_cost(m->dst->plan, m->dst->count, LDG_UNPACK, m->bytes);
  return (tier1 - ldg_model_copy(m->bytes)) / (double)m->bytes;
}

static const char *shape_of(const maker *m, ldg_shape *s) {
  ldg_pair *p = m->pair;
  side a, b;
  runs x, y;
  if (!open_side(&a, m->src->plan) || !open_side(&b, m->dst->plan)) return "its bodies are too large";
  if (a.body->runs == 1 && b.body->runs == 1) /* in the order that is best for it: it may be a transpose */
    return "a nest does";
  if (!(p->period = period_of(a.body->size, b.body->size))) return "what both sides have in common is too large";
  if (a.row % p->period || b.row % p->period) return "the loops of both sides do not end together";
  p->row = ldg_min(a.row ? a.row : INT64_MAX, b.row ? b.row : INT64_MAX);
  s->n = 0, s->stride[0] = stride_of(&a, p->period), s->stride[1] = stride_of(&b, p->period);
  if (!runs_of(&a, p->period, &x) || !runs_of(&b, p->period, &y) || !zip(s, &x, &y, p->period)) return "it has too many fields";
  ldg_hot_settle(s, p->at);
  return NULL;
}

static const char *make_shape(void *arg, ldg_shape *s, double *gain) {
  const maker *m = arg;
  m->pair->most = ldg_jit_forced() ? INT64_MAX : ldg_model_count(LDG_MODEL_STREAM) - 1;
  *gain = gain_of(m);
  return shape_of(m, s);
}

/* ---- pairs ---- */

/* What a plan knows of another one; NULL: it knows others already. */
static ldg_pair *find(const ldg_plan *p, uint64_t with) {
  _Atomic(ldg_pair *) *list = ((ldg_plan *)(uintptr_t)p)->pair;
  for (int i = 0; i < LDG_PAIRS; i++) {
    ldg_pair *none = NULL, *have = atomic_load_explicit(&list[i], memory_order_acquire);
    if (!have) {
      ldg_pair *fresh = ldg_alloc(sizeof *fresh);
      if (!fresh) return NULL;
      ldg_hot_init(&fresh->hot), fresh->with = with;
      if (atomic_compare_exchange_strong_explicit(&list[i], &none, fresh, memory_order_acq_rel, memory_order_acquire)) return fresh;
      ldg_free(fresh);
      have = none;
    }
    if (have->with == with) return have;
  }
  return NULL;
}

static void run(const ldg_pair *p, ldg_kernel *k, const ldg_items *src, const ldg_items *dst, int64_t from, int64_t to) {
  side a, b;
  open_side(&a, src->plan), open_side(&b, dst->plan);
  for (int64_t n; from < to; from += n) {
    n = to - from;
    const int64_t x = place(&a, from, &n) + src->plan->at + p->at[0], y = place(&b, from, &n) + dst->plan->at + p->at[1];
    k(ldg_at(src->base, x), (char *)(uintptr_t)ldg_at(dst->base, y), n / p->period, stride_of(&a, p->period), stride_of(&b, p->period));
  }
}

bool ldg_pair_copy(const ldg_items *src, const ldg_items *dst, int64_t lo, int64_t hi, int64_t *from, int64_t *to) {
  const bool shared = src->plan->entry.memo && dst->plan->entry.memo; /* those of tests and measurements do as they are told */
  if (hi - lo < BYTES_MIN || !shared || !ldg_jit_on() || dst->plan->distinct < 2 || dst->plan->distinct < dst->count) return false;
  ldg_pair *p = find(src->plan, dst->plan->serial);
  if (!p) return false;
  ldg_kernel *k = ldg_hot_kernel(&p->hot);
  if (!k) {
    ldg_hot_count(&p->hot, hi - lo, make_shape, &(maker){ p, src, dst, hi - lo });
    return false;
  }
  const int64_t a = (lo + p->period - 1) / p->period * p->period, z = hi / p->period * p->period;
  if (hi - lo > p->most || ldg_min(p->row, z - a) < p->period * atomic_load_explicit(&p->hot.least, memory_order_relaxed)) return false;
  run(p, k, src, dst, a, z);
  *from = a, *to = z;
  return true;
}

void ldg_pair_close(ldg_plan *p) {
  for (int i = 0; i < LDG_PAIRS; i++) ldg_free(atomic_load_explicit(&p->pair[i], memory_order_relaxed));
}

void ldg_pair_explain(const ldg_plan *p, ldg_text *t) {
  for (int i = 0; i < LDG_PAIRS; i++) {
    const ldg_pair *pair = atomic_load_explicit(&((ldg_plan *)(uintptr_t)p)->pair[i], memory_order_acquire);
    if (!pair) return;
    ldg_text_add(t, "copies to plan %llu: ", (unsigned long long)pair->with);
    ldg_hot_explain(&pair->hot, t);
  }
}
