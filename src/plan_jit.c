/* plan_jit: kernels that are compiled while the program runs, in front of the jobs of a plan. At commit nothing is decided but
 * whether a job is of the kind that a kernel may beat: a few facts of the rep, no look at its entries. Once a job has moved some
 * bytes its shape is looked at, by another thread, and from then on it shares a slot with all others of that shape. */
#include "plan_jit.h"

#include "base_cpu.h"
#include "base_model.h"
#include "base_trial.h"
#include "plan_hot.h"

#include <math.h>

typedef struct hot {
  ldg_hot hot;
  ldg_run *below;                /* the job's own: tier 1 */
  const ldg_step *step;
  int dir;
  int64_t each;                  /* bytes of an iteration of the step, in the mean */
  _Atomic int64_t straight;      /* iterations: calls of up to so many are the kernel's one loop, and not timed; set once there is a kernel */
  /* set before there is a slot */
  int64_t light;                 /* fewer iterations go to the kernel's one loop at once; 0: there are more loops */
  int64_t each_turns;            /* iterations of the kernel in one of the step */
  int64_t at[2];                 /* of the kernel's places, from those of the iteration */
  int loops;                     /* dim[0] is the kernel's own loop; 0: there is none, the kernel does the whole step */
  bool listed;                   /* of entries whose offsets are in step->at4 */
  ldg_dim dim[LDG_DIMS];
  ldg_trial trial;               /* of tier 1 and the kernel */
} hot;

/* ---- running ---- */

static void run_loops(const hot *h, ldg_kernel *k, int d, const char *src, char *dst, int64_t n) {
  if (d == 0) k(src, dst, n, h->dim[0].src, h->dim[0].dst, NULL);
  else for (int64_t i = 0; i < n; i++)
    run_loops(h, k, d - 1, ldg_at(src, i * h->dim[d].src), ldg_at(dst, i * h->dim[d].dst), h->dim[d - 1].n);
}

/* The kernel's own loop, or one turn of it for the whole step. */
LDG_INLINE int run_here(const hot *h, ldg_kernel *k, const char *src, char *dst, int64_t turns) {
  return k(ldg_at(src, h->at[0]), ldg_at(dst, h->at[1]), turns, h->dim[0].src, h->dim[0].dst, NULL);
}
/* Entries of a list: their packed places are counted from that of the first of all. */
LDG_INLINE int run_entries(const hot *h, ldg_kernel *k, const char *src, char *dst, int64_t i0, int64_t n) {
  const ldg_dim *d = &h->dim[0];
  return k(ldg_at(src, h->at[0] + i0 * d->src), ldg_at(dst, h->at[1] + i0 * d->dst), n, d->src, d->dst, h->step->at4 + i0);
}
LDG_INLINE int64_t turns_of(const hot *h, int64_t n) { return h->loops ? n : n == h->step->n; }

/* Is the kernel for such a call? */
static bool is_for(const hot *h, int64_t n) {
  const int64_t turns = h->loops > 1 ? h->dim[0].n : turns_of(h, n);
  return ldg_hot_is_for(&h->hot, turns, h->loops > 1 ? n * h->each_turns : turns);
}

LDG_INLINE int run_kernel(const hot *h, ldg_kernel *k, const char *src, char *dst, int64_t i0, int64_t n) {
  if (h->listed) return run_entries(h, k, src, dst, i0, n);
  if (h->loops <= 1) return run_here(h, k, src, dst, turns_of(h, n));
  run_loops(h, k, h->loops - 1, ldg_at(src, h->at[0]), ldg_at(dst, h->at[1]), n);
  return LADING_OK;
}

static __attribute__((noinline)) int run_timed(const ldg_job *j, hot *h, ldg_kernel *k, const char *src, char *dst, int64_t i0, int64_t n) {
  ldg_lap lap;
  const int which = ldg_trial_start(&h->trial, n, &lap);
  lap.since = ldg_cpu_clock();
  if (which) run_kernel(h, k, src, dst, i0, n);
  else h->below(j, src, dst, i0, n);
  ldg_trial_stop(&lap, n, ldg_cpu_clock());
  return LADING_OK;
}

/* A message is nowhere as it was where the kernel was judged: so calls that are long enough are timed here, too. */
static __attribute__((noinline)) int run_tried(const ldg_job *j, ldg_kernel *k, const char *src, char *dst, int64_t i0, int64_t n) {
  hot *h = j->hot;
  if (!is_for(h, n)) return h->below(j, src, dst, i0, n);
  if (!ldg_trial_may(&h->trial, n)) return run_kernel(h, k, src, dst, i0, n);
  if (ldg_trial_is_due(&h->trial, n)) return run_timed(j, h, k, src, dst, i0, n);
  return ldg_trial_best(&h->trial, n) ? run_kernel(h, k, src, dst, i0, n) : h->below(j, src, dst, i0, n);
}

static void look(const ldg_look *l, bool dropped);

/* Which of these a job runs is what is known of its kernel, so that a short call has nothing else to ask. */
static ldg_run run_counted, run_compiled, run_straight, run_list;
static void becomes(const ldg_job *j, ldg_run *was, ldg_run *run) {
  __atomic_compare_exchange_n(&((ldg_job *)(uintptr_t)j)->run, &was, run, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

/* Nobody goes on counting where none is to be expected any more. */
static __attribute__((noinline)) int run_due(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) {
  hot *h = j->hot;
  ldg_hot_due(&h->hot, &(const ldg_look){ look, { h, NULL }, { 0 } });
  if (ldg_hot_kernel(&h->hot)) becomes(j, run_counted, h->listed ? run_list : run_compiled);
  else if (ldg_hot_is_settled(&h->hot)) becomes(j, run_counted, h->below);
  return h->below(j, src, dst, i0, n);
}

static int run_counted(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) {
  hot *h = j->hot;
  return ldg_hot_count(&h->hot, n * h->each) ? run_due(j, src, dst, i0, n) : h->below(j, src, dst, i0, n);
}

/* From then on a call of a few iterations is two comparisons away from the kernel, or from tier 1 (five structs of two fields of 8 bytes 8.1 and 8.3 ns, and so 7.3 and 7.5; Zen 3). */
static void go_straight(const ldg_job *j, hot *h) {
  atomic_store_explicit(&h->straight, ldg_min(h->light - 1, atomic_load_explicit(&h->hot.most, memory_order_relaxed)), memory_order_relaxed);
  becomes(j, run_compiled, run_straight);
}

/* Short calls are what the kernel was judged by. */
static int run_compiled(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) {
  hot *h = j->hot;
  ldg_kernel *k = ldg_hot_kernel(&h->hot);
  if (n >= h->light) return run_tried(j, k, src, dst, i0, n);
  const int64_t turns = turns_of(h, n);
  if (!ldg_hot_is_for(&h->hot, turns, turns)) return h->below(j, src, dst, i0, n);
  if (h->loops) go_straight(j, h);
  return run_here(h, k, src, dst, turns);
}

/* Whoever comes here has seen all that was stored before. */
static int run_straight(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) {
  const hot *h = j->hot;
  if (n < atomic_load_explicit(&h->hot.least, memory_order_relaxed)) return h->below(j, src, dst, i0, n);
  if (__builtin_expect(n > atomic_load_explicit(&h->straight, memory_order_relaxed), 0)) return run_compiled(j, src, dst, i0, n);
  return run_here(h, atomic_load_explicit(&h->hot.kernel, memory_order_relaxed), src, dst, n);
}

static int run_list(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) {
  const hot *h = j->hot;
  ldg_kernel *k = ldg_hot_kernel(&h->hot);
  if (n >= h->light) return run_tried(j, k, src, dst, i0, n);
  return ldg_hot_is_for(&h->hot, n, n) ? run_entries(h, k, src, dst, i0, n) : h->below(j, src, dst, i0, n);
}

/* ---- shapes ---- */

static ldg_dim dim_of(const ldg_rep *r, int dir) {
  return (ldg_dim){ r->n, dir == LDG_PACK ? r->stride : r->child->size, dir == LDG_PACK ? r->child->size : r->stride };
}

/* Those of one block gain nothing, and what few fields the whole of it has are better constants, unless its destinations may coincide: then
 * only the list's order is right. */
static bool is_listed(const ldg_step *s, int dir) {
  const ldg_rep *r = s->rep;
  if (!ldg_hot_lists(r, s->at4) || r->child->runs < 2) return false;
  return s->job[dir].nest.ordered ? ldg_rep_disjoint(r->child) : !ldg_hot_fits(r);
}

/* The body is an entry. */
static const ldg_rep *list_of(hot *h, ldg_shape *s) {
  const int mem = h->dir == LDG_PACK ? 0 : 1;
  const int64_t each = h->step->each;
  h->listed = true, h->loops = 1, h->dim[0] = (ldg_dim){ h->step->n, mem == 0 ? 0 : each, mem == 0 ? each : 0 };
  s->listed[mem] = true, s->stride[0] = s->stride[1] = 0;
  return h->step->rep->child;
}

/* The body that iterations of the innermost possible loop are made of, and all loops around it. */
static const ldg_rep *loops_of(hot *h, ldg_shape *s) {
  const ldg_rep *r = h->step->rep;
  int loops = 0;
  ldg_dim outer[LDG_DIMS];
  for (; r->kind == LDG_REPEAT && loops < LDG_DIMS; r = r->child) {
    outer[loops++] = dim_of(r, h->dir);
    if (ldg_hot_fits(r->child)) { r = r->child; break; }
  }
  h->listed = false, h->loops = loops, h->dim[0] = (ldg_dim){ 0, 0, 0 };
  h->each_turns = 1;
  for (int i = 0; i < loops; i++) h->dim[i] = outer[loops - 1 - i];
  for (int i = 0; i < loops - 1; i++) h->each_turns *= h->dim[i].n;
  s->stride[0] = loops ? h->dim[0].src : 0, s->stride[1] = loops ? h->dim[0].dst : 0;
  return r;
}

static bool shape_of(hot *h, ldg_shape *s) {
  s->reduce = (ldg_reduce){ .size = 1 };
  s->n = 0, s->listed[0] = s->listed[1] = false;
  const ldg_rep *r = is_listed(h->step, h->dir) ? list_of(h, s) : loops_of(h, s);
  if (!ldg_hot_fits(r) || !ldg_rep_fields(r, h->dir == LDG_UNPACK, 0, 0, &(ldg_fields){ s->field, &s->n, LDG_SHAPE_FIELDS })) return false;
  ldg_hot_settle(s, h->at);
  return true;
}

/* ns that a kernel could save for a byte: none is faster than a memcpy. Whether one is as fast is not predicted but measured, by the
 * helper: what was never asked for would never be known. */
static double gain_of(const hot *h) {
  const int64_t all = h->step->size;
  return (ldg_plan_step_cost(h->step, h->dir) - ldg_model_copy(all)) / (double)all;
}

/* Bytes of the lines of an iteration: a run that is far from others has one of its own, those near each other have as many as they span. */
static int64_t bytes_each(const ldg_step *s) {
  const bool repeat = s->rep->kind == LDG_REPEAT;
  const ldg_rep *of = repeat ? s->rep->child : s->rep;
  const int64_t n = repeat ? 1 : ldg_max(s->n, 1);
  const double far = 64.0 * (double)of->runs / (double)n, span = ((double)of->hi - (double)of->lo) / (double)n, stride = repeat ? fabs((double)s->stride[0]) : 0;
  const double near = span > stride ? span : stride, lines = near < far ? near : far;
  return ldg_max(s->each ? s->each : s->size / n, lines < 1e15 ? (int64_t)lines : INT64_C(1) << 50);
}

static const char *make_shape(void *arg, ldg_shape *s, double *gain) {
  hot *h = arg;
  if (!shape_of(h, s)) return "it has too many fields";
  ldg_trial_init(&h->trial, bytes_each(h->step), LDG_TRIAL_LEAST, 2, 1);
  if (ldg_jit_forced()) ldg_trial_never(&h->trial);
  h->light = h->loops > 1 ? 0 : h->trial.few;
  *gain = gain_of(h);
  return NULL;
}

static void look(const ldg_look *l, bool dropped) {
  hot *h = (hot *)(uintptr_t)l->of[0];
  if (!dropped) ldg_hot_attach(&h->hot, make_shape, h);
}

/* ---- wrapping ---- */

bool ldg_jit_lets(const char *force) { return (!force || !strcmp(force, "jit")) && ldg_jit_on(); }

/* The widest plain block that a kernel with constants moves better than one for any width; the fewest bytes that could make up for
 * a call through a wrapper, which took 1.4 ns when that was found: of plain blocks, that have kernels of their own length anyway, it takes more. */
#define BLOCK_MAX 256
#define BYTES_MIN 128
#define PLAIN_MIN 4096

/* What a kernel for the same loops would be slower than: it knows of no cache. Of plain blocks in lines of their own kernels gained 0 to 14 %
 * where that is, and lost half where they come from memory. */
static bool is_kept(const char *strategy) { return !strcmp(strategy, "memcpy") || !strcmp(strategy, "transpose") || !strcmp(strategy, "paced") || !strcmp(strategy, "ahead"); }

static bool may_pay(const ldg_step *s, int dir) {
  const ldg_rep *r = s->rep, *body = r->kind == LDG_REPEAT ? r->child : r;
  const ldg_nest *nest = &s->job[dir].nest;
  if (s->thin || s->size < BYTES_MIN) return false;
  if (is_listed(s, dir)) return true;
  if (nest->ordered || is_kept(s->job[dir].name)) return false;
  while (body->kind == LDG_REPEAT && !ldg_hot_fits(body)) body = body->child;
  if (body->runs == 1 && s->size < PLAIN_MIN && !ldg_jit_forced()) return false;
  return ldg_hot_fits(body) && (body->runs > 1 || body->size <= BLOCK_MAX) && (body != r || r->kind != LDG_BYTES);
}

void ldg_jit_wrap(ldg_step *s, int dir) {
  hot *h = may_pay(s, dir) ? ldg_alloc(sizeof *h) : NULL;
  if (!h) return; /* nor is it worth an error */
  h->below = s->job[dir].run, h->step = s, h->dir = dir;
  h->each = s->rep->psum ? ldg_max(s->size / ldg_max(s->n, 1), 1) : s->each;
  ldg_hot_init(&h->hot);
  s->hot[dir] = h, s->job[dir].hot = h, s->job[dir].run = run_counted;
}

bool ldg_jit_alone(ldg_job *job, ldg_kernel *k, int64_t src_stride, int64_t dst_stride) {
  hot *h = ldg_alloc(sizeof *h);
  if (!h) return false;
  memset(h, 0, sizeof *h), ldg_hot_init(&h->hot);
  atomic_store(&h->hot.kernel, k);
  h->loops = 1, h->light = INT64_MAX, h->dim[0] = (ldg_dim){ 0, src_stride, dst_stride };
  job->hot = h, job->run = run_compiled, go_straight(job, h);
  return true;
}

void ldg_jit_unwrap(ldg_step *s) {
  for (int dir = LDG_PACK; dir <= LDG_UNPACK; dir++) {
    if (s->hot[dir]) ldg_jit_forget(s->hot[dir]);
    ldg_free(s->hot[dir]);
  }
}

void ldg_jit_explain_step(const ldg_step *s, int dir, ldg_text *t) {
  const hot *h = s->hot[dir];
  if (!h) return;
  ldg_text_add(t, "    %s: ", dir == LDG_PACK ? "pack" : "unpack");
  ldg_hot_explain(&h->hot, t);
  if (!atomic_load_explicit(&h->hot.slot, memory_order_acquire)) return;
  if (ldg_hot_kernel(&h->hot)) ldg_trial_explain(&h->trial, "tier 1", t);
}

static void warm_job(hot *h) {
  if (!h) return;
  ldg_hot_ask(&h->hot, &(const ldg_look){ look, { h, NULL }, { 0 } });
  if (!ldg_hot_is_settled(&h->hot)) becomes(&h->step->job[h->dir], h->below, run_counted);
}

static void warm_step(const ldg_step *s) {
  for (int dir = LDG_PACK; dir <= LDG_UNPACK; dir++) warm_job(s->hot[dir]);
  if (s->child) warm_step(s->child);
  for (int64_t i = 0; s->kids && i < s->n; i++)
    if (s->kids[i]) warm_step(s->kids[i]);
}

void ldg_jit_warm(const ldg_plan *p) {
  warm_step(&p->one);
  for (int dir = LDG_PACK; dir <= LDG_UNPACK; dir++) warm_job(p->many.hot[dir]);
}
