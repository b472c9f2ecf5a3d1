/* calibrate --device: what a launch costs the host; what a block costs a kernel, by its length and what lies between blocks, with its packed
 * side on the device or in pinned memory of the host; what the driver's copies between them cost. By the device's clock but for the first;
 * many rounds, of which the least counts. */
#include "calibrate.h"
#include "on_device_way.h"
#include "problem.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#define AREA ((int64_t)512 << 20)       /* of the layout: far beyond a device's cache */
#define PACKED ((int64_t)256 << 20)
#define FAR ((int64_t)32 << 20)         /* of what goes over the link to the host */
#define FAKE_AREA ((int64_t)1 << 18)
#define ROUNDS 7
#define REPS 4

typedef struct areas { const device *on; int64_t bytes, packed_bytes, far_bytes; char *mem, *packed, *pinned; } areas;

typedef struct task { const areas *a; lading_work work; char *dst, *src; int64_t n; } task; /* a work, or n bytes to copy */

static int do_task(const task *t) {
  const device *on = t->a->on;
  return t->n ? driver_copy(on->d, t->dst, t->src, (size_t)t->n, on->stream) : lading_enqueue(on->queue, &t->work, NULL);
}

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ns of one, the least of some rounds; infinite when it fails. */
static double time_of(const task *t) {
  const device *on = t->a->on;
  const driver *d = on->d;
  double least = INFINITY;
  const int reps = d->fake ? 1 : REPS;
  for (int k = 0; k < (d->fake ? 1 : ROUNDS); k++) {
    float ms = 0;
    int err = do_task(t); /* nothing waits for the host then */
    if (!err) err = d->record(on->event[0], on->stream);
    for (int i = 0; !err && i < reps; i++) err = do_task(t);
    if (err || d->record(on->event[1], on->stream) || d->event_sync(on->event[1]) || d->elapsed(&ms, on->event[0], on->event[1])) return INFINITY;
    least = fmin(least, (double)ms * 1e6 / reps);
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
  return stride == LDG_MODEL_NEAR ? ldg_min(b, 16) : stride == LDG_MODEL_LINE ? ldg_max(64 - b, ldg_min(b, 2048)) : 8192 + 64;
}

/* ns of a block; of a stream of kernels that do next to nothing, `idle` ns each. Infinite: it failed. */
static double block_ns(const areas *a, int kernel, int side, int stride, int64_t b, double idle) {
  const int64_t gap = gap_of(stride, b), most = kernel == LDG_MODEL_FAR ? a->far_bytes : a->packed_bytes;
  const int64_t n = ldg_min((a->bytes - 3 * b) / (b + gap + ldg_min(gap, b) / 3 + 1), most / b) / 3 * 3;
  lading_type *t = blocks_of(kernel, n, b, gap);
  if (!t) return INFINITY;
  const double ns = time_of(&(task){ .a = a, .work = work_of(a, t, n * b, kernel, side) });
  lading_type_free(t);
  return fmax(ns - idle, 0) / (double)n;
}

static double idle_ns(const areas *a) {
  lading_type *t = blocks_of(LDG_MODEL_HERE, 3, 8, 8);
  const double ns = t ? time_of(&(task){ .a = a, .work = work_of(a, t, 24, LDG_MODEL_HERE, LDG_MODEL_READ) }) : INFINITY;
  lading_type_free(t);
  return ns;
}

static bool kernel_rows(const areas *a, ldg_model *m) {
  const double idle = idle_ns(a);
  int64_t *v = m->kernel;
  for (int kernel = 0; kernel < LDG_MODEL_KERNELS; kernel++)
    for (int side = 0; side < LDG_MODEL_SIDES; side++)
      for (int stride = 0; stride < LDG_MODEL_STRIDES; stride++)
        for (int e = 0; e < LDG_MODEL_BLOCKS; e++) {
          const double ns = block_ns(a, kernel, side, stride, (int64_t)1 << e, idle);
          if (ns == INFINITY || idle == INFINITY) return false;
          *v++ = ldg_max(1, (int64_t)(ns * 1e3 + 0.5));
        }
  return true;
}

/* What an enqueue of one launch takes of the host: the least of some short rows, which no stream is too full for. */
static bool launch_row(const areas *a, ldg_model *m) {
  enum { IN_A_ROW = 64 };
  lading_type *t = blocks_of(LDG_MODEL_HERE, 3, 8, 8);
  const task one = { .a = a, .work = work_of(a, t, 24, LDG_MODEL_HERE, LDG_MODEL_READ) };
  double least = INFINITY;
  bool ok = t != NULL;
  for (int k = 0; ok && k < ROUNDS; k++) {
    ok = do_task(&one) == 0 && a->on->d->sync(a->on->stream) == 0;
    const double from = now_ns();
    for (int i = 0; ok && i < IN_A_ROW; i++) ok = do_task(&one) == 0;
    least = fmin(least, (now_ns() - from) / IN_A_ROW);
  }
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

/* ---- all ---- */

static bool open_areas(areas *a) {
  const driver *d = a->on->d;
  void *p[3] = { NULL, NULL, NULL };
  a->bytes = d->fake ? FAKE_AREA : AREA, a->packed_bytes = d->fake ? FAKE_AREA / 2 : PACKED, a->far_bytes = d->fake ? FAKE_AREA / 4 : FAR;
  const bool ok = !d->alloc(&p[0], (size_t)a->bytes) && !d->alloc(&p[1], (size_t)a->packed_bytes) && !d->alloc_pinned(&p[2], (size_t)a->packed_bytes, 0);
  a->mem = p[0], a->packed = p[1], a->pinned = p[2];
  return ok && !d->fill(a->mem, 1, (size_t)a->bytes, a->on->stream) && !d->fill(a->packed, 1, (size_t)a->packed_bytes, a->on->stream);
}

static void close_areas(const areas *a) {
  const driver *d = a->on->d;
  if (a->mem) d->free(a->mem);
  if (a->packed) d->free(a->packed);
  if (a->pinned) d->free_pinned(a->pinned);
}

/* While it measures, no kernel is spared the far side. */
static bool measure(const areas *a, ldg_model *m) {
  enum { ROWS = LDG_MODEL_SIDES * LDG_MODEL_STRIDES };
  ldg_model direct = *m;
  for (int i = 0; i < ROWS * LDG_MODEL_BLOCKS; i++) direct.kernel[LDG_MODEL_FAR * ROWS * LDG_MODEL_BLOCKS + i] = 1;
  ldg_model_use(&direct);
  const bool ok = launch_row(a, m) && kernel_rows(a, m) && transfer_rows(a, m);
  ldg_model_use(NULL);
  for (int i = 0; i < LDG_MODEL_WAYS; i++) calibrate_settle(m->transfer + i * LDG_MODEL_COPIES, 1, LDG_MODEL_COPIES);
  for (int i = 0; i < LDG_MODEL_KERNELS * ROWS; i++) calibrate_settle(m->kernel + i * LDG_MODEL_BLOCKS, 1, LDG_MODEL_BLOCKS);
  return ok;
}

int calibrate_device(const char *backend, const char *path) {
  char why[200];
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
