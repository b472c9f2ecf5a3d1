/* calibrate --device: what a launch costs the host; what a block costs a kernel, by its length and what lies between blocks, with its packed
 * side on the device or in pinned memory of the host; what the driver's copies between them cost, and to go over to one from a kernel.
 * By the device's clock but for the first; many rounds, of which the least counts. What a block costs is how much longer more of them take, so that nothing of a launch is in it. */
#include "calibrate.h"
#include "on_device_way.h"
#include "problem.h"
#include "queue.h"
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#define AREA_MOST ((int64_t)8 << 30)    /* of the layout: a million blocks that are pages apart */
#define AREA_LEAST ((int64_t)512 << 20)
#define PACKED ((int64_t)256 << 20)
#define FAR ((int64_t)32 << 20)         /* of what goes over the link to the host */
#define FAKE_AREA ((int64_t)1 << 18)
#define ROUNDS 7
#define REPS 4
#define LINE_APART 512                  /* what lines that are apart usually are; at 64 bytes a device's memory gives two blocks at a time */
#define CACHE_LINE 128

typedef struct areas { const device *on; int64_t bytes, packed_bytes, far_bytes; char *mem, *packed, *pinned; } areas;

/* A work, or n bytes to copy. Works go round among `turns` places in the gaps, `step` bytes apart, so that their lines are not in the cache. */
typedef struct task { const areas *a; lading_work work; char *dst, *src; int64_t n, turns, step; } task;

static int do_task(const task *t, int64_t i) {
  const device *on = t->a->on;
  lading_work w = t->work;
  if (t->n) return driver_copy(on->d, t->dst, t->src, (size_t)t->n, on->stream);
  const int64_t off = t->turns ? i % t->turns * t->step : 0;
  if (w.kind == LADING_WORK_PACK) w.src = (const char *)w.src + off;
  else w.dst = (char *)w.dst + off;
  return lading_enqueue(on->queue, &w, NULL);
}

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Not for ever: a driver may be told to end a launch before it returns. */
static void await(void *arg) {
  for (const double until = now_ns() + 1e8; !atomic_load((_Atomic bool *)arg) && now_ns() < until;) {}
}

/* ns of one of a row; infinite when it fails. The device starts when all is enqueued, or a short one would take as long as the host needs for it. */
static double row_ns(const task *t, int64_t first, int reps) {
  const device *on = t->a->on;
  const driver *d = on->d;
  static _Atomic bool enqueued; /* the callback of a device that fails may be late */
  float ms = 0;
  atomic_store(&enqueued, false);
  int err = d->call(on->stream, await, &enqueued);
  if (!err) err = do_task(t, first);
  if (!err) err = d->record(on->event[0], on->stream);
  for (int i = 0; !err && i < reps; i++) err = do_task(t, first + i + 1);
  if (!err) err = d->record(on->event[1], on->stream);
  atomic_store(&enqueued, true);
  if (d->sync(on->stream) || err || d->elapsed(&ms, on->event[0], on->event[1])) return INFINITY;
  return (double)ms * 1e6 / reps;
}

/* The least of some rounds. What is made at first use is made before. */
static double time_of(const task *t) {
  const driver *d = t->a->on->d;
  const int rounds = d->fake ? 1 : ROUNDS, reps = d->fake ? 1 : REPS;
  double least = INFINITY;
  if (do_task(t, 0) || d->sync(t->a->on->stream)) return INFINITY;
  for (int k = 0; k < rounds; k++) {
    const double ns = row_ns(t, k * (reps + 1), reps);
    if (ns == INFINITY) return ns;
    least = fmin(least, ns);
  }
  return least;
}

/* ---- kernels ---- */

/* n blocks of b bytes, `gap` bytes between them; three by three in uneven gaps, and so no nest, for a tree. */
static lading_type *blocks_of(int kernel, int64_t n, int64_t b, int64_t gap) {
  char text[200];
  lading_type *t = NULL;
  const int64_t s = b + gap, uneven = 2 * s + ldg_min(gap, b);
  if (kernel == LDG_MODEL_TREE)
    snprintf(text, sizeof text, "(repeat %" PRId64 " %" PRId64 " (blocks 3 (0 %" PRId64 " %" PRId64 ") (bytes %" PRId64 ")))", n / 3, uneven + s, s, uneven, b);
  else snprintf(text, sizeof text, "(repeat %" PRId64 " %" PRId64 " (bytes %" PRId64 "))", n, s, b);
  return lading_type_parse(text, &t) == LADING_OK ? t : NULL;
}

static lading_work work_of(const areas *a, const lading_type *t, int64_t bytes, int kernel, int side) {
  const lading_mem here = { LADING_MEM_DEVICE, 0 }, far = { LADING_MEM_PINNED, 0 };
  char *const packed = kernel == LDG_MODEL_FAR ? a->pinned : a->packed;
  const lading_mem kind = kernel == LDG_MODEL_FAR ? far : here;
  if (side == LDG_MODEL_READ)
    return (lading_work){ .kind = LADING_WORK_PACK, .src_type = t, .src_count = 1, .src = a->mem, .dst = packed, .hi = bytes, .src_mem = here, .dst_mem = kind };
  return (lading_work){ .kind = LADING_WORK_UNPACK, .dst_type = t, .dst_count = 1, .dst = a->mem, .src = packed, .hi = bytes, .src_mem = kind, .dst_mem = here };
}

/* In the same sector or the next, past some, into another page; with words as wide as the block admits. */
static int64_t gap_of(int stride, int64_t b) {
  return stride == LDG_MODEL_NEAR ? ldg_min(b, 16) : stride == LDG_MODEL_LINE ? ldg_max(LINE_APART - b, ldg_min(b, 2048)) : 8192 + 64;
}

/* ns of n blocks; of none 0. */
static double blocks_ns(const areas *a, int kernel, int side, int64_t n, int64_t b, int64_t gap) {
  const int64_t step = (b + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
  lading_type *t = n ? blocks_of(kernel, n, b, gap) : NULL;
  if (!t) return n ? INFINITY : 0;
  const double ns = time_of(&(task){ .a = a, .work = work_of(a, t, n * b, kernel, side), .turns = ldg_max(1, (b + gap) / step), .step = step });
  lading_type_free(t);
  return ns;
}

/* ns of a block: how much longer as many as there is room for take than a quarter of them; where noise says that they do not, with the launch. */
static double block_ns(const areas *a, int kernel, int side, int stride, int64_t b) {
  const int64_t gap = gap_of(stride, b), most = kernel == LDG_MODEL_FAR ? a->far_bytes : a->packed_bytes;
  const int64_t n = ldg_min((a->bytes - 3 * b) / (b + gap + ldg_min(gap, b) / 3 + 1), most / b) / 3 * 3, few = n / 4 / 3 * 3;
  const double all_ns = blocks_ns(a, kernel, side, n, b, gap), few_ns = blocks_ns(a, kernel, side, few, b, gap);
  if (all_ns == INFINITY || few_ns == INFINITY) return INFINITY;
  return all_ns > few_ns ? (all_ns - few_ns) / (double)(n - few) : all_ns / (double)n;
}

static bool kernel_rows(const areas *a, ldg_model *m) {
  int64_t *v = m->kernel;
  ldg_queue_flat_most = 0; /* trees, however small */
  for (int kernel = 0; kernel < LDG_MODEL_KERNELS; kernel++)
    for (int side = 0; side < LDG_MODEL_SIDES; side++)
      for (int stride = 0; stride < LDG_MODEL_STRIDES; stride++)
        for (int e = 0; e < LDG_MODEL_BLOCKS; e++) {
          const double ns = block_ns(a, kernel, side, stride, (int64_t)1 << e);
          if (ns == INFINITY) return false;
          *v++ = ldg_max(1, (int64_t)(ns * 1e3 + 0.5));
        }
  return true;
}

/* What an enqueue of one launch takes of the host: the least of some short rows, which no stream is too full for. As lbench time takes
 * it; last of all, since as the first, of fewer rows, it was 5.2 us on an H200 where lbench time found 3.1: host and device may be slow at first. */
static bool launch_row(const areas *a, ldg_model *m) {
  enum { ROWS = 20, IN_A_ROW = 64 };
  lading_type *t = blocks_of(LDG_MODEL_HERE, 3, 8, 8);
  const task one = { .a = a, .work = work_of(a, t, 24, LDG_MODEL_HERE, LDG_MODEL_READ) };
  double least = INFINITY;
  bool ok = t != NULL;
  for (int k = 0; ok && k < ROWS; k++) {
    ok = do_task(&one, 0) == 0 && a->on->d->sync(a->on->stream) == 0;
    const double from = now_ns();
    for (int i = 0; ok && i < IN_A_ROW; i++) ok = do_task(&one, 0) == 0;
    least = fmin(least, (now_ns() - from) / IN_A_ROW);
  }
  ok = ok && a->on->d->sync(a->on->stream) == 0;
  lading_type_free(t);
  m->launch = ldg_max(1, (int64_t)(least * 1e3));
  return ok;
}

/* ---- copies ---- */

/* Beyond what the areas hold bytes take as long as the last ones did. */
static bool transfer_rows(const areas *a, ldg_model *m) {
  for (int dir = 0; dir < LDG_MODEL_WAYS; dir++) {
    int64_t *row = m->transfer + dir * LDG_MODEL_COPIES;
    const bool to = dir == LDG_MODEL_TO_DEVICE;
    for (int e = 0; e < LDG_MODEL_COPIES; e++) {
      const int64_t n = (int64_t)1 << e;
      const double ns = n > a->packed_bytes ? 0 : time_of(&(task){ .a = a, .dst = to ? a->packed : a->pinned, .src = to ? a->pinned : a->packed, .n = n });
      if (ns == INFINITY) return false;
      row[e] = n > a->packed_bytes ? 2 * row[e - 1] : ldg_max(1, (int64_t)(ns * 1e3 + 0.5));
    }
  }
  return true;
}

/* What a small work that is staged takes beyond its kernel and its copy. */
static bool handover_row(const areas *a, ldg_model *m) {
  enum { BLOCKS = 256, LONG = 16, BYTES = BLOCKS * LONG };
  lading_type *t = blocks_of(LDG_MODEL_HERE, BLOCKS, LONG, LINE_APART - LONG);
  if (!t) return false;
  const double staged = time_of(&(task){ .a = a, .work = work_of(a, t, BYTES, LDG_MODEL_FAR, LDG_MODEL_READ) });
  const double kernel = time_of(&(task){ .a = a, .work = work_of(a, t, BYTES, LDG_MODEL_HERE, LDG_MODEL_READ) });
  const double copied = time_of(&(task){ .a = a, .dst = a->pinned, .src = a->packed, .n = BYTES });
  lading_type_free(t);
  m->handover = ldg_max(1, (int64_t)(fmax(staged - kernel - copied, 0) * 1e3 + 0.5));
  return staged < INFINITY && kernel < INFINITY && copied < INFINITY;
}

/* ---- all ---- */

/* As much as the device has, within bounds. */
static bool open_layout(areas *a) {
  const driver *d = a->on->d;
  void *p = NULL;
  a->bytes = d->fake ? FAKE_AREA : AREA_MOST;
  while (d->alloc(&p, (size_t)a->bytes) && !d->fake && a->bytes > AREA_LEAST) a->bytes /= 2;
  return a->mem = p, p != NULL;
}

static bool open_areas(areas *a) {
  const driver *d = a->on->d;
  void *p[2] = { NULL, NULL };
  a->packed_bytes = d->fake ? FAKE_AREA / 2 : PACKED, a->far_bytes = d->fake ? FAKE_AREA / 4 : FAR;
  const bool ok = !d->alloc(&p[0], (size_t)a->packed_bytes) && !d->alloc_pinned(&p[1], (size_t)a->packed_bytes, 0) && open_layout(a);
  a->packed = p[0], a->pinned = p[1];
  return ok && !d->fill(a->mem, 1, (size_t)a->bytes, a->on->stream) && !d->fill(a->packed, 1, (size_t)a->packed_bytes, a->on->stream);
}

static void close_areas(const areas *a) {
  const driver *d = a->on->d;
  if (a->mem) d->free(a->mem);
  if (a->packed) d->free(a->packed);
  if (a->pinned) d->free_pinned(a->pinned);
}

enum { ROWS = LDG_MODEL_SIDES * LDG_MODEL_STRIDES };

/* The model that is in use while it measures: what goes to pinned memory is staged where kernels are dear that go there, and else is not. */
static void use_with_far(ldg_model *m, int64_t ps) {
  for (int i = 0; i < ROWS * LDG_MODEL_BLOCKS; i++) m->kernel[LDG_MODEL_FAR * ROWS * LDG_MODEL_BLOCKS + i] = ps;
  ldg_model_use(m);
}

static bool measure(const areas *a, ldg_model *m) {
  ldg_model used = *m;
  use_with_far(&used, 1);
  bool ok = kernel_rows(a, m) && transfer_rows(a, m);
  use_with_far(&used, INT64_MAX / 2);
  ok = ok && handover_row(a, m) && launch_row(a, m);
  ldg_model_use(NULL);
  for (int i = 0; i < LDG_MODEL_WAYS; i++) calibrate_settle(m->transfer + i * LDG_MODEL_COPIES, 1, LDG_MODEL_COPIES);
  for (int i = 0; i < LDG_MODEL_KERNELS * ROWS; i++) calibrate_settle(m->kernel + i * LDG_MODEL_BLOCKS, 1, LDG_MODEL_BLOCKS);
  return ok;
}

int calibrate_device(const char *backend, const char *path) {
  char why[200];
  const int bad = calibrate_target(&path);
  if (bad) return bad;
  device *on = device_open(backend, WHERE_DEVICE, why, sizeof why);
  if (!on) return fprintf(stderr, "lbench: %s\n", why), 2;
  areas a = { .on = on };
  ldg_model m = *ldg_model_get();
  const bool ok = open_areas(&a) && measure(&a, &m);
  close_areas(&a);
  printf("%s\n", on->name);
  device_close(on);
  return ok ? calibrate_save(&m, path) : (fprintf(stderr, "lbench: the device failed, or has not enough memory\n"), 1);
}
