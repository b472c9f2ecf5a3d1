/* plan_jit: kernels that are compiled while the program runs, in front of the jobs of a plan. At commit nothing is decided but
 * whether a job is of the kind that a kernel may beat: a few facts of the rep, no look at its entries. Once a job has moved some
 * bytes its shape is made, and from then on it shares a slot with all others of that shape. */
#include "plan_jit.h"

#include "../backends/jit.h"
#include "base_model.h"

#define WORTH_A_LOOK (256 << 10) /* bytes through a job before its shape is made */
#define TELL (1 << 20)           /* bytes through a job between two words to its slot */

typedef struct hot {
  ldg_run *below;                /* the job's own: tier 1 */
  const ldg_step *step;
  int dir;
  int64_t each;                  /* bytes of an iteration of the step; 0: only the whole of it is counted */
  _Atomic(ldg_kernel *) kernel;  /* of the slot, once it is there */
  _Atomic int64_t least;         /* iterations that it is for; set before the kernel is */
  _Atomic(ldg_slot *) slot;      /* NULL: not yet, or never */
  _Atomic int64_t moved;         /* bytes, not yet told to the slot; racy: some may be lost */
  _Atomic int64_t tell;          /* when that many; INT64_MAX: nobody wants to know any more */
  /* set before the slot is */
  int64_t most;                  /* iterations of the step, at once, that a kernel is for: more go past the caches, as kernels do not */
  int64_t src, dst;              /* of the kernel's place, from that of the iteration */
  int loops;                     /* dim[0] is the kernel's own loop; 0: there is none, the kernel does the whole step */
  ldg_dim dim[LDG_DIMS];
  _Atomic int turn;              /* who makes the shape */
  _Atomic(const char *) why;     /* there is no slot */
} hot;

/* ---- running ---- */

static void run_loops(const hot *h, ldg_kernel *k, int d, const char *src, char *dst, int64_t n) {
  if (d == 0) k(src, dst, n, h->dim[0].src, h->dim[0].dst);
  else for (int64_t i = 0; i < n; i++)
    run_loops(h, k, d - 1, ldg_at(src, i * h->dim[d].src), ldg_at(dst, i * h->dim[d].dst), h->dim[d - 1].n);
}

/* What is not one loop of the kernel's. False: the kernel is not for so few. */
static bool run_shaped(const hot *h, ldg_kernel *k, int64_t least, const char *src, char *dst, int64_t i0, int64_t n) {
  if (h->loops == 0) {
    if (least > 1 || i0 != 0 || n != h->step->n) return false;
    k(src, dst, 1, 0, 0);
    return true;
  }
  if (h->dim[0].n < least) return false;
  run_loops(h, k, h->loops - 1, src, dst, n);
  return true;
}

static bool run_kernel(const hot *h, ldg_kernel *k, const char *src, char *dst, int64_t i0, int64_t n) {
  const int64_t least = atomic_load_explicit(&h->least, memory_order_relaxed);
  src = ldg_at(src, h->src), dst = ldg_at(dst, h->dst);
  if (h->loops != 1) return run_shaped(h, k, least, src, dst, i0, n);
  if (n < least) return false;
  k(src, dst, n, h->dim[0].src, h->dim[0].dst);
  return true;
}

/* The slot's kernel becomes the job's own, so that calls have no slot to go to. */
static bool adopt(hot *h, const ldg_slot *slot) {
  ldg_kernel *k = atomic_load_explicit(&slot->kernel, memory_order_acquire);
  if (!k) return false;
  atomic_store_explicit(&h->least, slot->least, memory_order_relaxed);
  atomic_store_explicit(&h->kernel, k, memory_order_release);
  return true;
}

static void tell(hot *h);

static void count(hot *h, int64_t n) {
  const int64_t mark = atomic_load_explicit(&h->tell, memory_order_relaxed);
  if (mark == INT64_MAX) return;
  const ldg_slot *slot = atomic_load_explicit(&h->slot, memory_order_acquire);
  if (slot && adopt(h, slot)) return;
  const int64_t all = atomic_load_explicit(&h->moved, memory_order_relaxed) + (h->each ? n * h->each : h->step->size);
  atomic_store_explicit(&h->moved, all, memory_order_relaxed);
  if (all >= mark) tell(h);
}

static void run(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) {
  hot *h = j->hot;
  ldg_kernel *k = atomic_load_explicit(&h->kernel, memory_order_acquire);
  if (k && n <= h->most && run_kernel(h, k, src, dst, i0, n)) return;
  if (!k) count(h, n);
  h->below(j, src, dst, i0, n);
}

/* ---- shapes ---- */

static int add_piece(void *arg, int64_t off, int64_t pos, int64_t len) {
  ldg_shape *s = arg;
  ldg_field *last = s->n ? &s->field[s->n - 1] : NULL;
  if (last && last->src + last->len == off && last->dst + last->len == pos) last->len += len;
  else if (s->n == LDG_SHAPE_FIELDS) return 1;
  else s->field[s->n++] = (ldg_field){ off, pos, len };
  return 0;
}

static bool fits(const ldg_rep *body) { return body->runs <= LDG_SHAPE_FIELDS && body->size <= LDG_SHAPE_BYTES && body->size > 0; }

/* The direction of a field, and where the least of all starts. */
static void settle_fields(ldg_shape *s, int dir, hot *h) {
  h->src = h->dst = INT64_MAX;
  for (int i = 0; i < s->n; i++) {
    ldg_field *f = &s->field[i];
    if (dir == LDG_UNPACK) *f = (ldg_field){ f->dst, f->src, f->len };
    h->src = ldg_min(h->src, f->src), h->dst = ldg_min(h->dst, f->dst);
  }
  for (int i = 0; i < s->n; i++) s->field[i].src -= h->src, s->field[i].dst -= h->dst;
}

static ldg_dim dim_of(const ldg_rep *r, int dir) {
  return (ldg_dim){ r->n, dir == LDG_PACK ? r->stride : r->child->size, dir == LDG_PACK ? r->child->size : r->stride };
}

/* The body that iterations of the innermost possible loop are made of, all loops around it, and the shape of it. */
static bool shape_of(hot *h, ldg_shape *s) {
  const ldg_rep *r = h->step->rep;
  int loops = 0;
  ldg_dim outer[LDG_DIMS];
  for (; r->kind == LDG_REPEAT && loops < LDG_DIMS; r = r->child) {
    outer[loops++] = dim_of(r, h->dir);
    if (fits(r->child)) { r = r->child; break; }
  }
  h->loops = loops;
  for (int i = 0; i < loops; i++) h->dim[i] = outer[loops - 1 - i];
  s->n = 0, s->stride[0] = loops ? h->dim[0].src : 0, s->stride[1] = loops ? h->dim[0].dst : 0;
  if (!fits(r) || ldg_rep_walk(r, 0, r->size, add_piece, s)) return false;
  settle_fields(s, h->dir, h);
  return true;
}

/* Of many items, as many as were planned for. */
static int64_t bytes_of(const ldg_step *s) {
  int64_t all = s->size;
  return s->rep->kind == LDG_REPEAT && ldg_mul(s->n, s->each, &all) ? INT64_MAX : all;
}

/* ns that a kernel could save for a byte: none is faster than a memcpy. Whether one is as fast is not predicted but measured, by the
 * helper: what was never asked for would never be known. */
static double gain_of(const hot *h) {
  const int64_t all = bytes_of(h->step);
  return (ldg_plan_step_cost(h->step, h->dir) - ldg_model_copy(all)) / (double)all;
}

/* Kernels are tried in cache, and have no stores past it. */
static int64_t most_at_once(const hot *h) {
  const int64_t bytes = ldg_model_count(LDG_MODEL_STREAM) - 1;
  if (ldg_jit_forced()) return INT64_MAX;
  if (h->each) return bytes / h->each;
  return h->step->size <= bytes ? INT64_MAX : 0;
}

static void no_slot(hot *h, const char *why) {
  const int64_t moved = atomic_load_explicit(&h->moved, memory_order_relaxed);
  const bool later = why == ldg_jit_later && moved < INT64_MAX / 2;
  atomic_store_explicit(&h->why, why, memory_order_relaxed);
  atomic_store_explicit(&h->tell, later ? 2 * ldg_max(moved, WORTH_A_LOOK) : INT64_MAX, memory_order_relaxed);
  if (later) atomic_store_explicit(&h->turn, 0, memory_order_release);
}

/* Whoever comes first makes the shape; all others go on. */
static void attach(hot *h) {
  ldg_shape shape;
  ldg_slot *slot;
  if (atomic_exchange_explicit(&h->turn, 1, memory_order_acquire)) return;
  h->most = most_at_once(h);
  const char *why = shape_of(h, &shape) ? ldg_jit_slot(&shape, gain_of(h), atomic_load_explicit(&h->moved, memory_order_relaxed), &slot) : "it has too many fields";
  if (why) { no_slot(h, why); return; }
  atomic_store_explicit(&h->tell, ldg_jit_forced() ? 1 : TELL, memory_order_relaxed);
  atomic_store_explicit(&h->slot, slot, memory_order_release);
}

static void tell(hot *h) {
  ldg_slot *slot = atomic_load_explicit(&h->slot, memory_order_relaxed);
  if (!slot) attach(h), slot = atomic_load_explicit(&h->slot, memory_order_acquire);
  if (!slot) return;
  const int64_t bytes = atomic_exchange_explicit(&h->moved, 0, memory_order_relaxed);
  if (ldg_jit_moved(slot, bytes)) return;
  adopt(h, slot);
  atomic_store_explicit(&h->tell, INT64_MAX, memory_order_relaxed);
}

/* ---- wrapping ---- */

bool ldg_jit_lets(const char *force) { return (!force || !strcmp(force, "jit")) && ldg_jit_on(); }

/* The widest plain block that a kernel with constants moves better than one for any width; the fewest bytes that could make up for
 * a call through a wrapper, which takes 1.4 ns: of plain blocks, that have kernels of their own length anyway, it takes more. */
#define BLOCK_MAX 256
#define BYTES_MIN 128
#define PLAIN_MIN 4096

static bool may_pay(const ldg_step *s, int dir) {
  const ldg_rep *r = s->rep, *body = r->kind == LDG_REPEAT ? r->child : r;
  const ldg_nest *nest = &s->job[dir].nest;
  if (s->thin || nest->ordered || bytes_of(s) < BYTES_MIN || !strcmp(s->job[dir].name, "memcpy") || !strcmp(s->job[dir].name, "transpose")) return false;
  while (body->kind == LDG_REPEAT && !fits(body)) body = body->child;
  if (body->runs == 1 && bytes_of(s) < PLAIN_MIN && !ldg_jit_forced()) return false;
  return fits(body) && (body->runs > 1 || body->size <= BLOCK_MAX) && (body != r || r->kind != LDG_BYTES);
}

void ldg_jit_wrap(ldg_step *s, int dir) {
  hot *h = may_pay(s, dir) ? ldg_alloc(sizeof *h) : NULL;
  if (!h) return; /* nor is it worth an error */
  h->below = s->job[dir].run, h->step = s, h->dir = dir;
  h->each = s->rep->psum ? 0 : s->each;
  atomic_init(&h->kernel, NULL), atomic_init(&h->least, 1), atomic_init(&h->slot, NULL), atomic_init(&h->moved, 0), atomic_init(&h->turn, 0), atomic_init(&h->why, NULL);
  atomic_init(&h->tell, ldg_jit_forced() ? 1 : WORTH_A_LOOK);
  s->hot[dir] = h, s->job[dir].hot = h, s->job[dir].run = run;
}

void ldg_jit_explain_step(const ldg_step *s, int dir, ldg_text *t) {
  const hot *h = s->hot[dir];
  if (!h) return;
  const ldg_slot *slot = atomic_load_explicit(&h->slot, memory_order_acquire);
  ldg_text_add(t, "    %s: ", dir == LDG_PACK ? "pack" : "unpack");
  const char *why = atomic_load_explicit(&h->why, memory_order_relaxed);
  if (!slot && why) ldg_text_add(t, "tier 1, %s\n", why);
  else if (!slot) ldg_text_add(t, "tier 1, %lld of %d bytes moved before its shape is looked at\n", (long long)atomic_load_explicit(&h->moved, memory_order_relaxed), WORTH_A_LOOK);
  else ldg_jit_explain(slot, t);
  if (slot && h->most < INT64_MAX) ldg_text_add(t, "      for less than %lld bytes at once\n", (long long)ldg_model_count(LDG_MODEL_STREAM));
}

static void warm_job(hot *h) {
  if (!h) return;
  if (!atomic_load_explicit(&h->slot, memory_order_acquire)) attach(h);
  ldg_slot *slot = atomic_load_explicit(&h->slot, memory_order_acquire);
  if (slot) ldg_jit_ask(slot);
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
