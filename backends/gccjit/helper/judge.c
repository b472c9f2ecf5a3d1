/* judge: every kernel is tried here before it may be used by anybody. */
#include "judge.h"

#include "api.h"
#include "base_cpu.h"
#include "plan_jit.h"

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* ---- sides ---- */

/* Bytes [lo, hi) relative to the place of iteration 0, or to what offsets are counted from, hold all n iterations. */
typedef struct side { int64_t stride, lo, hi; const int32_t *at; } side;

static int64_t field_at(const ldg_field *f, int which) { return which ? f->dst : f->src; }

static int64_t span_of(const ldg_shape *s, int which) {
  int64_t span = 0;
  for (int i = 0; i < s->n; i++) span = ldg_max(span, field_at(&s->field[i], which) + s->field[i].len);
  return span;
}

/* Strides are arguments of the kernel. */
static bool open_strides(const ldg_shape *s) { return !s->stride[0] && !s->stride[1]; }

/* As structs leave a gap. */
static int64_t wide(const ldg_shape *s, int which, int64_t gap) { return ((span_of(s, which) + 7) & -8) + gap; }

/* Can the side be the packed one: nothing between fields, nor between iterations? */
static bool packed(const ldg_shape *s, int which) {
  int64_t at = 0;
  if (s->listed[which]) return false;
  for (int i = 0; i < s->n; at += s->field[i++].len)
    if (field_at(&s->field[i], which) != at) return false;
  return open_strides(s) || s->stride[which] == at;
}

/* Of a listed side `list` has the offsets. */
static side side_of(const ldg_shape *s, int which, int64_t n, int64_t stride, const int32_t *list) {
  const int64_t last = (n - 1) * stride;
  side d = { stride, ldg_min(0, last), ldg_max(0, last), NULL };
  if (s->listed[which]) d = (side){ stride, list[0], list[0], list };
  for (int64_t i = 0; d.at && i < n; i++) d.lo = ldg_min(d.lo, list[i]), d.hi = ldg_max(d.hi, list[i]);
  d.hi += span_of(s, which);
  return d;
}

static int64_t place_of(const side *d, int64_t i) { return d->at ? d->at[i] : i * d->stride; }

/* The strides to try, also between the offsets of a list: the known ones; else packed sides, gaps on either, and on both, differing and backwards. */
#define PACES 7
static int paces_of(const ldg_shape *s, int64_t pace[PACES][2]) {
  const int64_t gap[2] = { wide(s, 0, 40), wide(s, 1, 48) }, tight[2] = { span_of(s, 0), span_of(s, 1) };
  const int64_t all[PACES][2] = { { gap[0], tight[1] }, { tight[0], gap[1] }, { tight[0], tight[1] },  { gap[0], gap[1] },
                                  { -gap[0], gap[1] },  { gap[0], -gap[1] },  { -gap[0], -tight[1] } };
  memcpy(pace, all, sizeof all);
  if (open_strides(s)) return PACES;
  pace[0][0] = s->stride[0], pace[0][1] = s->stride[1];
  return 1;
}

/* ---- right ---- */

typedef struct fence { char *map, *from, *to; int64_t bytes; } fence; /* [from, to): between two pages that nobody may touch */

static bool fence_new(fence *f, int64_t bytes) {
  const int64_t page = sysconf(_SC_PAGESIZE), inside = (bytes + page - 1) & -page;
  f->bytes = inside + 2 * page;
  f->map = mmap(NULL, (size_t)f->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (f->map == MAP_FAILED) return false;
  f->from = f->map + page, f->to = f->from + inside;
  return mprotect(f->from, (size_t)inside, PROT_READ | PROT_WRITE) == 0;
}

/* Without the bit that NaNs have: which of two NaNs comes out is nobody's promise. */
static uint64_t state = 1;
static uint64_t draw(void) { return (state = state * 6364136223846793005u + 1442695040888963407u) >> 40; }
static void noise(char *p, char *end) {
  for (; p < end; p++) *p = (char)(draw() >> 16 & 0xBF);
}

static void put_number(char *to, uint64_t bits, int64_t size) {
  const uint32_t few = (uint32_t)bits;
  memcpy(to, size == 4 ? (const void *)&few : &bits, (size_t)size);
}

/* What ops tell apart, and noise has none of: zeros where each is judged; where floats are compared, those of both signs, or a NaN on
 * one side. */
static void season(const ldg_reduce *r, char *a, char *b) {
  const uint64_t zero[2] = { 0, (uint64_t)1 << (8 * r->size - 1) }, nan = r->size == 4 ? 0x7fc00001 : 0x7ff8000000000001;
  const uint64_t pick = draw() % 9, size = (uint64_t)r->size;
  if (r->how >= LDG_ALL && pick % 3 == 0) memset(a, 0, size);
  if (r->how >= LDG_ALL && pick / 3 == 0) memset(b, 0, size);
  if (r->how >= LDG_ALL || r->how < LDG_MIN || r->number != LDG_FLOATS) return;
  if (pick < 2) put_number(a, zero[pick], r->size), put_number(b, zero[1 - pick], r->size);
  else if (pick < 4) put_number(pick == 2 ? a : b, nan, r->size);
}

static lading_elem element_of(const ldg_reduce *r) {
  if (r->number == LDG_FLOATS) return r->size == 4 ? LADING_FLOAT : LADING_DOUBLE;
  if (r->number == LDG_SIGNED) return r->size == 1 ? LADING_INT8 : r->size == 2 ? LADING_INT16 : r->size == 4 ? LADING_INT32 : LADING_INT64;
  return r->how == LDG_MOVE ? LADING_BYTE : r->size == 1 ? LADING_UINT8 : r->size == 2 ? LADING_UINT16 : r->size == 4 ? LADING_UINT32 : LADING_UINT64;
}
static lading_op op_of(const ldg_reduce *r) {
  static const lading_op op[LDG_HOWS] = { LADING_REPLACE, LADING_SUM, LADING_PROD, LADING_BAND, LADING_BOR, LADING_BXOR, LADING_MIN, LADING_MAX, LADING_LAND, LADING_LOR, LADING_LXOR };
  return op[r->how];
}

static void define(const ldg_shape *s, const char *src, char *dst, int64_t n, const side *a, const side *b) {
  const ldg_op *op = s->reduce.how ? ldg_plan_op(op_of(&s->reduce), element_of(&s->reduce)) : NULL;
  for (int64_t i = 0; i < n; i++)
    for (int k = 0; k < s->n; k++) {
      const ldg_field *f = &s->field[k];
      const char *from = src + place_of(a, i) + f->src;
      char *to = dst + place_of(b, i) + f->dst;
      if (op) op->dense(from, to, f->len / op->size);
      else memcpy(to, from, (size_t)f->len);
    }
}

static void season_all(const ldg_shape *s, char *src, char *dst, int64_t n, const side *a, const side *b) {
  for (int64_t i = 0; i < n; i++)
    for (const ldg_field *f = s->field; f < s->field + s->n; f++)
      for (int64_t at = 0; at < f->len; at += s->reduce.size) season(&s->reduce, src + place_of(a, i) + f->src + at, dst + place_of(b, i) + f->dst + at);
}

#define MOST 150 /* iterations: more than twice the largest group, and an end of every length after it */
#define FEW 20   /* where strides are arguments there are no groups */

/* Fences: of the source, of the destination, of what it should be, of the offsets. */
typedef struct trial { const ldg_key *key; ldg_kernel *kernel; int64_t pace[2]; int32_t list[MOST]; fence f[4]; } trial;

/* In no order, some offsets twice, before and behind what they are counted from; some destinations meet in part, but where elements are
 * reduced: parts of two may be no number. */
static void scatter(int32_t *list, int64_t n, int64_t pace, bool in_part) {
  for (int64_t i = 0; i < n; i++) list[i] = (int32_t)(((int64_t)draw() % 41 - 20) * pace + (in_part ? i % 5 : 0));
}

static void sides_tried(const trial *t, int64_t n, const int32_t *list, side d[2]) {
  for (int k = 0; k < 2; k++) d[k] = side_of(&t->key->shape, k, n, t->pace[k], list);
}

/* At the low or the high end of the fences. */
static bool try(const trial *t, int64_t n, bool high) {
  const ldg_shape *s = &t->key->shape;
  const fence *f = t->f;
  side d[2];
  int32_t *list = (int32_t *)(void *)(high ? f[3].to - n * (int64_t)sizeof *list : f[3].from);
  memcpy(list, t->list, (size_t)n * sizeof *list);
  sides_tried(t, n, list, d);
  const int64_t bytes = f[1].to - f[1].from;
  char *src = high ? f[0].to - d[0].hi : f[0].from - d[0].lo;
  const int64_t at = high ? bytes - d[1].hi : -d[1].lo;
  noise(f[0].from, f[0].to), noise(f[1].from, f[1].to);
  season_all(s, src, f[1].from + at, n, &d[0], &d[1]);
  memcpy(f[2].from, f[1].from, (size_t)bytes);
  const int e = t->kernel(src, f[1].from + at, n, d[0].stride, d[1].stride, list);
  define(s, src, f[2].from + at, n, &d[0], &d[1]);
  return e == LADING_OK && memcmp(f[1].from, f[2].from, (size_t)bytes) == 0;
}

static bool fences_new(trial *t, int64_t n) {
  side d[2];
  sides_tried(t, n, t->list, d);
  return fence_new(&t->f[0], d[0].hi - d[0].lo) && fence_new(&t->f[1], d[1].hi - d[1].lo) && fence_new(&t->f[2], d[1].hi - d[1].lo) &&
         fence_new(&t->f[3], n * (int64_t)sizeof t->list[0]);
}

/* With one pair of strides, up to `most` iterations. */
static const char *right_at(const ldg_key *key, ldg_kernel *kernel, const int64_t pace[2], int64_t most) {
  trial t = { .key = key, .kernel = kernel, .pace = { pace[0], pace[1] } };
  scatter(t.list, most, pace[key->shape.listed[1]], !key->shape.reduce.how);
  if (!fences_new(&t, most)) return "no memory to try it in";
  for (int64_t n = 1; n <= most; n += n < 70 ? 1 : 16)
    if (!try(&t, n, false) || !try(&t, n, true)) return "it moves other bytes than it should";
  for (int i = 0; i < 4; i++) munmap(t.f[i].map, (size_t)t.f[i].bytes);
  return NULL;
}

const char *judge_right(const ldg_key *key, ldg_kernel *kernel) {
  int64_t pace[PACES][2];
  const int n = paces_of(&key->shape, pace);
  const char *why = NULL;
  for (int i = 0; i < n && !why; i++) why = right_at(key, kernel, pace[i], i == 0 ? MOST : FEW);
  return why;
}

/* ---- speed ---- */

int64_t judge_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

enum { COPY = LDG_UNPACK + 1 }; /* another direction: neither side is packed */

/* The types of the sides that are not packed, and what the library does with them now. */
typedef struct rival { lading_type *type[2]; const ldg_plan *plan[2]; int dir; } rival;

static bool is_memory(int dir, int which) { return dir == COPY || (dir == LDG_PACK) == (which == 0); }

#define LONGEST 256 /* iterations */

/* n of them, at a list's offsets. */
static bool list_type(lading_type **t, int64_t n, const int32_t *list) {
  int64_t at[LONGEST];
  lading_type *one = *t;
  for (int64_t i = 0; i < n; i++) at[i] = list[i];
  const int e = lading_type_hindexed_block(n, 1, at, one, t);
  lading_type_free(one);
  if (e) *t = NULL;
  return !e;
}

static bool open_type(const ldg_shape *s, int which, const side *d, int64_t n, rival *r) {
  int64_t len[LDG_SHAPE_FIELDS], at[LDG_SHAPE_FIELDS];
  lading_type *t;
  for (int i = 0; i < s->n; i++) len[i] = s->field[i].len / s->reduce.size, at[i] = field_at(&s->field[i], which);
  if (lading_type_hindexed(s->n, len, at, lading_elem_type(element_of(&s->reduce)), &t)) return false;
  const int e = lading_type_resized(t, 0, d->stride, &r->type[which]);
  lading_type_free(t);
  return !e && (!d->at || list_type(&r->type[which], n, d->at)) && !ldg_api_plan(r->type[which], &r->plan[which]);
}

typedef struct race { ldg_kernel *kernel; ldg_job job; lading_op op; rival rival; char *room[2]; const char *src; char *dst; side a, b; bool listed; int32_t list[LONGEST]; } race;

static void lap_op(const race *r, int64_t n) {
  lading_type *const *t = r->rival.type;
  const ldg_plan *p = r->rival.plan[r->rival.dir == LDG_UNPACK];
  const int64_t bytes = n * (r->listed ? p->size / p->one.n : p->size);
  if (r->listed) n = 1; /* of it as much as n entries are */
  if (r->rival.dir == COPY) lading_copy_op(t[0], n, r->src, t[1], n, r->dst, 0, bytes, r->op);
  else if (r->rival.dir == LDG_PACK) lading_pack_op(t[0], n, r->src, r->dst, 0, bytes, r->op);
  else lading_unpack_op(t[1], n, r->dst, r->src, 0, bytes, r->op);
}

static void lap_copy(const race *r, int64_t n) {
  const ldg_plan *p = r->rival.plan[0], *q = r->rival.plan[1];
  const ldg_side src = { p->layout->rep, n, p->extent, r->src }, dst = { q->layout->rep, n, q->extent, r->dst };
  ldg_exec_move(p, &src, q, &dst, 0, n * p->size);
}

static void lap_job(const race *r, int64_t n) {
  const bool pack = r->rival.dir == LDG_PACK;
  const ldg_plan *p = r->rival.plan[!pack];
  const ldg_job *j = n == 1 || r->listed ? &p->one.job[r->rival.dir] : &p->many.job[r->rival.dir];
  j->run(j, ldg_at(r->src, pack ? p->at : 0), ldg_at(r->dst, pack ? 0 : p->at), 0, r->listed ? n : n == 1 ? p->one.n : n * p->per);
}

/* Who packs or unpacks by a loop goes to the kernel through the job of a plan, which takes as long as some fields. What stands in front of other kernels, those of
 * lists and of pairs, is not counted. */
static void lap(const race *r, bool compiled, int64_t n) {
  if (compiled && r->job.run) ldg_job_run(&r->job, r->src, r->dst, 0, n);
  else if (compiled) r->kernel(r->src, r->dst, n, r->a.stride, r->b.stride, r->list);
  else if (r->op != LADING_REPLACE) lap_op(r, n);
  else if (r->rival.dir == COPY) lap_copy(r, n);
  else lap_job(r, n);
  __asm__ volatile("" ::: "memory");
}

#define ROUNDS 7
#define LAP_NS 20000
/* Iterations between two looks at the clock: fewer when instrumented, where times are of no use, and long. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNLOOKED LONGEST
#else
#define UNLOOKED (64 * LONGEST)
#endif

/* The least of some rounds, picoseconds an iteration, taken in turns. */
static void time_here(const race *r, int64_t n, int64_t ps[2]) {
  const int64_t unlooked = ldg_max(1, UNLOOKED / n); /* laps */
  ps[0] = ps[1] = INT64_MAX;
  for (int round = 0; round < ROUNDS; round++)
    for (int k = 0; k < 2; k++) {
      const int64_t start = judge_now();
      int64_t laps = 0, ns = 0;
      for (; ns < LAP_NS; ns = judge_now() - start)
        for (int64_t i = 0; i < unlooked; i++, laps++) lap(r, k, n);
      ps[k] = ldg_min(ps[k], ns * 1000 / (laps * n));
    }
}

/* With the destination at a line, and half a page and a part of a line further: much depends on where both sides lie in lines and pages. */
enum { LINE = 64, FURTHER = 2048 + 16 };
static void time_both(const race *r, int64_t n, int64_t ps[2]) {
  race further = *r;
  int64_t more[2];
  further.dst += FURTHER;
  time_here(r, n, ps), time_here(&further, n, more);
  for (int k = 0; k < 2; k++) ps[k] = (ps[k] + more[k]) / 2;
}

#define NOISE 1.03  /* as fast, as far as one can tell */
#define FASTER 1.05 /* for many: it is worth to be used */
#define LIGHTER 1.2 /* in the mean: it is, for few */

/* From as many iterations as the first-level cache holds down to the first count for which it is slower; the mean of all ratios. */
static double time_all(const race *r, int64_t most, ldg_cache_tail *tail) {
  double sum = 0;
  int counts = 0;
  tail->least = INT64_MAX;
  for (int64_t n = most; n >= 1; n /= 2, counts++) {
    int64_t ps[2];
    time_both(r, n, ps);
    if (n == most) tail->before_ps = ps[0], tail->after_ps = ps[1];
    if ((double)ps[1] > NOISE * (double)ps[0]) break;
    sum += log((double)ps[0] / (double)ldg_max(1, ps[1])), tail->least = n;
  }
  const double ratio = counts ? exp(sum / counts) : 0;
  if ((double)tail->before_ps < FASTER * (double)tail->after_ps && ratio < LIGHTER) tail->least = INT64_MAX;
  return ratio;
}

/* In order, as the library likes it best, but by no stride, nor where a stride within entries would go on. */
static void stroll(int32_t *list, int64_t stride) {
  for (int64_t i = list[0] = 0; i + 1 < LONGEST; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    list[i + 1] = list[i] + (int32_t)(2 * stride + 8 * (int64_t)(state >> 63));
  }
}

/* The sides of a race: a packed one is tight, others have gaps; and how many iterations: `n`, halved until both take no more bytes. */
static int64_t sides_of(const ldg_shape *s, int64_t n, int64_t bytes, race *r) {
  const int dir = r->rival.dir;
  int64_t stride[2];
  for (int k = 0; k < 2; k++) stride[k] = !open_strides(s) ? s->stride[k] : is_memory(dir, k) ? wide(s, k, 8) : span_of(s, k);
  stroll(r->list, stride[dir == LDG_UNPACK]);
  do n /= 2, r->a = side_of(s, 0, n, stride[0], r->list), r->b = side_of(s, 1, n, stride[1], r->list);
  while (n > 8 && r->a.hi - r->a.lo + r->b.hi - r->b.lo > bytes);
  return n;
}

static bool open_rival(const ldg_shape *s, int64_t n, race *r) {
  return (!is_memory(r->rival.dir, 0) || open_type(s, 0, &r->a, n, &r->rival)) && (!is_memory(r->rival.dir, 1) || open_type(s, 1, &r->b, n, &r->rival));
}

/* Few fields of one length and their list are one longer list to the library, so nobody asks for a kernel of them. */
static bool is_list(const rival *r, int64_t n) {
  const ldg_step *one = &r->plan[r->dir == LDG_UNPACK]->one;
  return one->rep->kind == LDG_BLOCKS && one->n == n;
}

/* Memory and types for the sides of a race; its iterations. 0: no memory. */
static int64_t open_race(const ldg_shape *s, int64_t n, int64_t bytes, race *r) {
  n = sides_of(s, n, bytes, r);
  const int64_t a = r->a.hi - r->a.lo, b = r->b.hi - r->b.lo;
  r->room[0] = ldg_alloc(a), r->room[1] = ldg_alloc(b + LINE + FURTHER);
  if (!r->room[0] || !r->room[1] || !open_rival(s, n, r)) return 0;
  memset(r->room[0], 1, (size_t)a), memset(r->room[1], 1, (size_t)(b + LINE + FURTHER));
  r->src = r->room[0] - r->a.lo, r->dst = r->room[1] + (-(intptr_t)r->room[1] & (LINE - 1)) - r->b.lo;
  if (r->op == LADING_REPLACE && r->rival.dir != COPY && !r->listed && !ldg_jit_alone(&r->job, r->kernel, r->a.stride, r->b.stride)) return 0;
  return n;
}

static void close_race(race *r) {
  for (int k = 0; k < 2; k++) lading_type_free(r->rival.type[k]), ldg_free(r->room[k]);
  ldg_free(r->job.hot);
}

#define CACHED (24 << 10)
static const char no_room[] = "no memory to time it in";

/* Does it lose in the second-level cache what it gained in the first? Stores that lie across lines do there. */
static const char *time_far(const ldg_shape *s, race r, int64_t near, ldg_cache_tail *tail) {
  const int64_t bytes = ldg_cpu_cache(2) / 2, n = open_race(s, bytes, bytes, &r);
  int64_t ps[2] = { 1, 0 };
  bool loses = n > near;
  for (int i = 0; loses && i < 2; i++) time_both(&r, n, ps), loses = (double)ps[1] > NOISE * (double)ps[0]; /* twice: it is said for good */
  if (loses) tail->most = near;
  close_race(&r);
  return n ? NULL : no_room;
}

static const char *speed_of(const ldg_shape *s, ldg_kernel *kernel, int dir, ldg_cache_tail *tail, double *ratio) {
  const race fresh = { .kernel = kernel, .op = op_of(&s->reduce), .rival.dir = dir, .listed = s->listed[0] || s->listed[1] };
  race r = fresh;
  const int64_t n = open_race(s, 2 * LONGEST, CACHED, &r);
  tail->least = tail->most = INT64_MAX;
  if (n && (!r.listed || is_list(&r.rival, n))) *ratio = time_all(&r, n, tail);
  close_race(&r);
  if (!n) return no_room;
  return r.listed || tail->least == INT64_MAX ? NULL : time_far(s, fresh, n, tail);
}

/* A shape that is packed on both sides serves packs and unpacks alike: what is said of it is said of the worse. */
const char *judge_speed(const ldg_key *key, ldg_kernel *kernel, ldg_cache_tail *tail, double *ratio) {
  const ldg_shape *s = &key->shape;
  const bool able[] = { [LDG_PACK] = packed(s, 1), [LDG_UNPACK] = packed(s, 0), [COPY] = !packed(s, 0) && !packed(s, 1) };
  *ratio = INFINITY, tail->least = 0, tail->most = INT64_MAX;
  if (able[COPY] && (s->listed[0] || s->listed[1])) return "the other side of a list is not packed";
  for (int dir = LDG_PACK; dir <= COPY; dir++) {
    ldg_cache_tail t = { 0 };
    double x = 0;
    if (!able[dir]) continue;
    const char *why = speed_of(s, kernel, dir, &t, &x);
    if (why) return why;
    if (x < *ratio) *ratio = x, tail->before_ps = t.before_ps, tail->after_ps = t.after_ps;
    tail->least = ldg_max(tail->least, t.least), tail->most = ldg_min(tail->most, t.most);
  }
  return NULL;
}
