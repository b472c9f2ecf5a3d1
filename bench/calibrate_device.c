/* calibrate --device: what a block costs a kernel, with its packed side on the device or in pinned memory of the host, and what the
 * driver's copies between them cost. By the device's clock; many rounds, of which the least counts. */
#include "calibrate.h"
#include "on_device_way.h"
#include "problem.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define AREA ((int64_t)512 << 20)       /* of the layout: far beyond a device's cache */
#define PACKED ((int64_t)256 << 20)
#define FAKE_AREA ((int64_t)1 << 20)
#define ROUNDS 7
#define REPS 4

typedef struct areas { const device *on; int64_t bytes, packed_bytes; char *mem, *packed, *pinned; } areas;

typedef struct task { const areas *a; lading_work work; char *dst, *src; int64_t n; } task; /* a work, or n bytes to copy */

static int do_task(const task *t) {
  const device *on = t->a->on;
  return t->n ? driver_copy(on->d, t->dst, t->src, (size_t)t->n, on->stream) : lading_enqueue(on->queue, &t->work, NULL);
}

/* ns of one, the least of some rounds; infinite when it fails. */
static double time_of(const task *t) {
  const device *on = t->a->on;
  const driver *d = on->d;
  double least = INFINITY;
  for (int k = 0; k < (d->fake ? 1 : ROUNDS); k++) {
    float ms = 0;
    int err = do_task(t); /* nothing waits for the host then */
    if (!err) err = d->record(on->event[0], on->stream);
    for (int i = 0; !err && i < REPS; i++) err = do_task(t);
    if (err || d->record(on->event[1], on->stream) || d->event_sync(on->event[1]) || d->elapsed(&ms, on->event[0], on->event[1])) return INFINITY;
    least = fmin(least, (double)ms * 1e6 / REPS);
  }
  return least;
}

/* ---- kernels ---- */

static lading_type *blocks_of(int64_t n, int64_t stride, int64_t b) {
  char text[120];
  lading_type *t = NULL;
  snprintf(text, sizeof text, "(repeat %" PRId64 " %" PRId64 " (bytes %" PRId64 "))", n, stride, b);
  return lading_type_parse(text, &t) == LADING_OK ? t : NULL;
}

static lading_work work_of(const areas *a, const lading_type *t, int64_t bytes, int where, int side) {
  const lading_mem here = { LADING_MEM_DEVICE, 0 }, far = { LADING_MEM_PINNED, 0 };
  char *const packed = where == LDG_MODEL_FAR ? a->pinned : a->packed;
  const lading_mem kind = where == LDG_MODEL_FAR ? far : here;
  if (side == LDG_MODEL_READ)
    return (lading_work){ .kind = LADING_WORK_PACK, .src_type = t, .src_count = 1, .src = a->mem, .dst = packed, .hi = bytes, .src_mem = here, .dst_mem = kind };
  return (lading_work){ .kind = LADING_WORK_UNPACK, .dst_type = t, .dst_count = 1, .dst = a->mem, .src = packed, .hi = bytes, .src_mem = kind, .dst_mem = here };
}

/* Blocks a sector or more apart, so many that the launch does not count. */
static bool kernel_rows(const areas *a, ldg_model *m) {
  for (int e = 0; e < LDG_MODEL_BLOCKS; e++) {
    const int64_t b = (int64_t)1 << e, stride = ldg_max(64, 2 * b), n = ldg_min(a->bytes / stride, a->packed_bytes / b);
    lading_type *t = blocks_of(n, stride, b);
    if (!t) return false;
    for (int where = 0; where < LDG_MODEL_PLACES; where++)
      for (int side = 0; side < LDG_MODEL_SIDES; side++) {
        const double ns = time_of(&(task){ .a = a, .work = work_of(a, t, n * b, where, side) });
        if (ns == INFINITY) return lading_type_free(t), false;
        m->kernel[(where * LDG_MODEL_SIDES + side) * LDG_MODEL_BLOCKS + e] = ldg_max(1, (int64_t)(ns / (double)n * 1e3 + 0.5));
      }
    lading_type_free(t);
  }
  return true;
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
  a->bytes = d->fake ? FAKE_AREA : AREA, a->packed_bytes = d->fake ? FAKE_AREA / 2 : PACKED;
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
  ldg_model direct = *m;
  for (int64_t *v = direct.kernel + LDG_MODEL_SIDES * LDG_MODEL_BLOCKS; v < direct.transfer; v++) *v = 1;
  ldg_model_use(&direct);
  const bool ok = kernel_rows(a, m) && transfer_rows(a, m);
  ldg_model_use(NULL);
  calibrate_settle(m->transfer, 1, LDG_MODEL_COPIES), calibrate_settle(m->transfer + LDG_MODEL_COPIES, 1, LDG_MODEL_COPIES);
  for (int i = 0; i < LDG_MODEL_PLACES * LDG_MODEL_SIDES; i++) calibrate_settle(m->kernel + i * LDG_MODEL_BLOCKS, 1, LDG_MODEL_BLOCKS);
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
