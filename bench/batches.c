#include "batches.h"
#include "driver.h"
#include "sampler.h"
#include "queue.h"
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

enum { MOST = 64, FACES = 26, SAMPLES = 101, WARM = 10, ABREAST = 8, FAKE_MS = 8 }; /* a stand-in driver gets so much time for its samples */
#define BOX 66 /* doubles a side, a layer of ghosts around */

static int complain(const char *what, int error) { return fprintf(stderr, "lbench: %s (error %d)\n", what, error), 2; }

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* ---- requests: packs of one problem in arrays of their own, or of the faces of boxes; or unpacks into the ghosts of boxes, whose places mesh ---- */

typedef struct load {
  const driver *d;
  const char *name, *backend;
  lading_type *type[FACES];
  int types, n;                         /* request i moves type i % types */
  bool unpacks;
  int64_t lo, span, size;               /* of an array; packed bytes of the longest */
  char *mem, *packed, *host;            /* on the device; both, here */
  lading_work work[MOST];
  lading_queue *queue, *own[MOST];      /* one for all; one each */
  void *stream, *beside[MOST], *passed[MOST], *graph, *exec; /* streams of these; events behind the own ones */
  lading_batch *batch;
  lading_request request[ABREAST][MOST];
} load;

/* Those that are sent, or with `ghosts` those that are received. */
static bool faces(load *l, bool ghosts) {
  const int64_t sizes[3] = { BOX, BOX, BOX };
  int e = LADING_OK;
  for (int d = 0; d < 27 && !e; d++) {
    int64_t sub[3], start[3];
    for (int i = 0, k = d; i < 3; i++, k /= 3) {
      sub[i] = k % 3 == 1 ? BOX - 2 : 1;
      start[i] = k % 3 == 1 ? 1 : k % 3 == 0 ? !ghosts : BOX - 2 + ghosts;
    }
    if (d != 13) e = lading_type_subarray(3, sizes, sub, start, LADING_ORDER_C, lading_elem_type(LADING_DOUBLE), &l->type[l->types++]);
  }
  l->name = ghosts ? "ghosts26" : "halo26", l->unpacks = ghosts, l->lo = 0, l->span = 8 * BOX * BOX * BOX, l->size = 8 * BOX * BOX;
  return !e;
}

static void of_problem(load *l, const problem *p) {
  l->name = p->name, l->type[0] = lading_type_ref(p->type), l->types = 1;
  l->lo = p->lo, l->span = p->hi - p->lo, l->size = p->size;
}

static int64_t array_of(const load *l, int i) { return (int64_t)(i / l->types) * l->span; } /* all faces of a box in one array */
static int64_t arrays(const load *l) { return array_of(l, MOST - 1) + l->span; }
static int64_t written(const load *l) { return l->unpacks ? arrays(l) : MOST * l->size; }

static lading_work work_of(const load *l, int i) {
  const lading_mem there = { LADING_MEM_DEVICE, 0 };
  lading_type *t = l->type[i % l->types];
  char *array = l->mem + array_of(l, i) - l->lo, *packed = l->packed + i * l->size;
  lading_work w = { .kind = l->unpacks ? LADING_WORK_UNPACK : LADING_WORK_PACK, .src = l->unpacks ? packed : array, .dst = l->unpacks ? array : packed,
                    .src_mem = there, .dst_mem = there };
  if (l->unpacks) w.dst_type = t, w.dst_count = 1;
  else w.src_type = t, w.src_count = 1;
  lading_type_size(t, &w.hi);
  return w;
}

static bool open_load(load *l) {
  const driver *d = l->d;
  int e = d->alloc((void **)&l->mem, (size_t)arrays(l)) || d->alloc((void **)&l->packed, (size_t)(MOST * l->size)) ||
          d->alloc_pinned((void **)&l->host, (size_t)(arrays(l) + MOST * l->size + 2 * written(l)), 0) || d->stream(&l->stream, 1);
  if (!e) e = lading_queue_wrap(l->backend, l->stream, &l->queue);
  if (!e) e = lading_batch_create(l->queue, &(lading_batch_attr){ .slots = 2 * ABREAST * MOST, .policy = LADING_BATCH_MANUAL }, &l->batch);
  for (int i = 0; i < MOST && !e; i++) {
    e = d->stream(&l->beside[i], 1) || d->event(&l->passed[i], 2);
    if (!e) e = lading_queue_wrap(l->backend, l->beside[i], &l->own[i]);
  }
  for (int i = 0; i < MOST; i++) l->work[i] = work_of(l, i);
  return !e;
}

static void close_load(load *l) {
  lading_batch_free(l->batch), lading_queue_free(l->queue);
  for (int i = 0; i < MOST; i++) {
    lading_queue_free(l->own[i]);
    if (l->passed[i]) l->d->event_free(l->passed[i]);
    if (l->beside[i]) l->d->stream_free(l->beside[i]);
  }
  for (int i = 0; i < l->types; i++) lading_type_free(l->type[i]);
  if (l->stream) l->d->stream_free(l->stream);
  if (l->mem) l->d->free(l->mem);
  if (l->packed) l->d->free(l->packed);
  if (l->host) l->d->free_pinned(l->host);
}

/* ---- ways; each returns when all is done, or an error ---- */

typedef struct way { const char *name; int (*run)(load *l); bool plain; } way; /* plain: by launches of the driver, none by a graph of one node */

static int start_all(load *l, lading_request *r) {
  int e = LADING_OK;
  for (int i = 0; i < l->n && !e; i++) e = lading_batch_add(l->batch, &l->work[i], &r[i]);
  return e ? e : lading_batch_flush(l->batch);
}

static int wait_all(load *l, const lading_request *r) {
  int e = LADING_OK;
  for (int i = 0; i < l->n && !e; i++) e = lading_batch_wait(l->batch, r[i]);
  return e;
}

static int fused(load *l) {
  const int e = start_all(l, l->request[0]);
  return e ? e : wait_all(l, l->request[0]);
}

static int enqueues(load *l) {
  int e = LADING_OK;
  for (int i = 0; i < l->n && !e; i++) e = lading_enqueue(l->queue, &l->work[i], NULL);
  return e ? e : lading_queue_sync(l->queue);
}

/* One stream waits for an event behind each of the others, and the host for that one. */
static int streams(load *l) {
  int e = LADING_OK;
  for (int i = 0; i < l->n && !e; i++) {
    e = lading_enqueue(l->own[i], &l->work[i], NULL);
    if (!e) e = l->d->record(l->passed[i], l->beside[i]) || l->d->wait_event(l->stream, l->passed[i], 0);
  }
  return e ? e : l->d->sync(l->stream);
}

static int replay(load *l) {
  const int e = l->d->graph_launch(l->exec, l->stream);
  return e ? e : l->d->sync(l->stream);
}

static int record(load *l) {
  int e = l->d->begin_capture(l->stream, 0);
  for (int i = 0; i < l->n && !e; i++) e = lading_enqueue(l->queue, &l->work[i], NULL);
  if (!e) e = l->d->end_capture(l->stream, &l->graph);
  return e ? e : l->d->instantiate(&l->exec, l->graph, 0);
}

static void forget(load *l) {
  l->d->exec_free(l->exec), l->d->graph_free(l->graph);
}

static const way ways[] = { { "fused", fused, false }, { "launches", enqueues, true }, { "enqueues", enqueues, false }, { "streams", streams, false },
                            { "graph", replay, false } };
enum { WAYS = sizeof ways / sizeof *ways };

/* ---- the right bytes: of the side that is written, as the host makes them ---- */

static int to_device(load *l) {
  uint64_t seed = 11;
  place_fill(l->host, arrays(l) + MOST * l->size, &seed);
  int e = l->d->to_device(l->mem, l->host, (size_t)arrays(l), l->stream);
  if (!e) e = l->d->to_device(l->packed, l->host + arrays(l), (size_t)(MOST * l->size), l->stream);
  return e ? e : l->d->sync(l->stream);
}

static int here(const load *l, int i, char *out) {
  const int64_t size = l->work[i].hi;
  if (l->unpacks) return lading_unpack(l->work[i].dst_type, 1, out + array_of(l, i) - l->lo, l->host + arrays(l) + i * l->size, 0, size);
  return lading_pack(l->work[i].src_type, 1, l->host + array_of(l, i) - l->lo, out + i * l->size, 0, size);
}

static int check(load *l, const way *w) {
  const size_t n = (size_t)written(l);
  char *to = l->unpacks ? l->mem : l->packed, *got = l->host + arrays(l) + MOST * l->size, *want = got + n;
  int e = l->d->fill(to, 0x5a, n, l->stream) || l->d->sync(l->stream);
  if (!e) e = w->run(l);
  if (!e) e = l->d->to_host(got, to, n, l->stream) || l->d->sync(l->stream);
  memset(want, 0x5a, n);
  for (int i = 0; i < l->n && !e; i++) e = here(l, i, want);
  if (e) return complain(w->name, e);
  return memcmp(got, want, n) ? complain("wrong bytes", 0) : 0;
}

/* ---- times ---- */

typedef struct cost { double us, least; } cost; /* the median, and the least */

static void cost_of(double *us, int n, cost *out) {
  out->us = sampler_stats(us, n).ns, out->least = us[0];
  for (int i = 1; i < n; i++) out->least = us[i] < out->least ? us[i] : out->least;
}

/* A stand-in runs its kernels here, and takes its time. */
static bool is_enough(const load *l, int n, double end) { return n >= SAMPLES || (l->d->fake && n && now_us() > end); }

static int time_way(load *l, const way *w, cost *out) {
  static double us[SAMPLES];
  const double end = now_us() + FAKE_MS * 1e3;
  int n = 0;
  for (int i = -WARM; !is_enough(l, n, end); i++) {
    const double start = now_us();
    const int e = w->run(l);
    if (e) return complain(w->name, e);
    if (i >= 0 || l->d->fake) us[n++] = now_us() - start;
  }
  cost_of(us, n, out);
  return 0;
}

/* What the host pays until all was started: some batches one after the other, before any of them is waited for. */
static int time_host(load *l, cost *out) {
  static double us[SAMPLES + ABREAST];
  const double end = now_us() + FAKE_MS * 1e3;
  int n = 0, e = LADING_OK;
  while (!is_enough(l, n, end)) {
    for (int k = 0; k < ABREAST && !e; k++) {
      const double start = now_us();
      e = start_all(l, l->request[k]);
      us[n++] = now_us() - start;
    }
    for (int k = 0; k < ABREAST && !e; k++) e = wait_all(l, l->request[k]);
    if (e) return complain("batches abreast", e);
  }
  cost_of(us, n, out);
  return 0;
}

/* The mean length of a block of the first request: what is short is sparse. */
static int64_t block_of(const load *l) {
  lading_info info;
  lading_type_info(l->type[0], &info);
  return info.blocks ? info.size / info.blocks : 0;
}

static void print_row(const load *l, const cost *c, const cost *host, bool csv) {
  double other = c[1].us;
  for (int k = 2; k < WAYS; k++)
    if (c[k].us < other) other = c[k].us;
  printf(csv ? "%s,%d,%" PRId64 ",%" PRId64 : "%-22s %3d %7" PRId64 " %6" PRId64, l->name, l->n, l->work[0].hi, block_of(l));
  for (int k = 0; k < WAYS; k++) printf(csv ? ",%.2f" : " %9.2f", c[k].us);
  printf(csv ? ",%.2f,%.2f,%.3f,%.3f\n" : " %9.2f %7.2f %7.3f %7.3f\n", c[1].us / c[0].us, other / c[0].us, host->us / l->n, host->least / l->n);
}

static int with_replays(void *arg, const ldg_device *dev, ldg_lane *lane) {
  return *(int *)arg = dev->replays(lane, *(int *)arg), 0;
}

static int check_and_time(load *l, const way *w, cost *out) {
  int known = LDG_REPLAYS_SLOWER;
  if (w->plain) ldg_queue_with(l->queue, with_replays, &known);
  int status = check(l, w);
  if (!status) status = time_way(l, w, out);
  if (w->plain) ldg_queue_with(l->queue, with_replays, &known);
  return status;
}

static int one_number(load *l, cost *c, bool csv) {
  cost host = { 0, 0 };
  int status = record(l);
  if (status) return complain("capture", status);
  for (int k = 0; k < WAYS && !status; k++) status = check_and_time(l, &ways[k], &c[k]);
  forget(l);
  if (!status) status = time_host(l, &host);
  if (!status) print_row(l, c, &host, csv);
  return status;
}

static int time_load(load *l, bool csv) {
  int status = open_load(l) ? to_device(l) : complain(l->name, 0);
  l->n = MOST;
  if (!status) status = enqueues(l); /* tables are made */
  cost c[WAYS] = { 0 };
  for (l->n = 1; !status && l->n <= MOST && !(l->d->fake && c[0].us > 5 * FAKE_MS * 1e3); l->n *= 2) status = one_number(l, c, csv);
  close_load(l);
  return status;
}

/* ---- all ---- */

static const char *const names[] = { "SPECFEM3D_oc_c4", "SPECFEM3D_cm_c4", "MILC_su3_zdown_8_8_8_8", "NAS_MG_x_34", "NAS_MG_x_130" };

static bool is_wanted(const char *name) {
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(name, names[i])) return true;
  return false;
}

static int time_problem(const driver *d, const char *backend, problem *p, bool csv) {
  char fault[256];
  load l = { .d = d, .backend = backend };
  if (!problem_open(p, fault, sizeof fault)) return fprintf(stderr, "lbench: %s\n", fault), 2;
  of_problem(&l, p);
  const int status = time_load(&l, csv);
  problem_close(p);
  return status;
}

static int time_all(const driver *d, const char *backend, const char *suites_dir, bool csv) {
  char path[4200], fault[400];
  suite s;
  int status = 0;
  snprintf(path, sizeof path, "%s/ddtbench.suite", suites_dir);
  if (!suite_load(&s, path, fault, sizeof fault)) return fprintf(stderr, "lbench: %s\n", fault), 2;
  if (csv) printf("problem,requests,bytes,block,fused_us,launches_us,enqueues_us,streams_us,graph_us,against_launches,against_best,host_us_per_request,host_us_least\n");
  else
    printf("%-22s %3s %7s %6s %9s %9s %9s %9s %9s %9s %7s %7s %7s\n", "us for all", "n", "bytes", "block", "fused", "launches", "enqueues", "streams", "graph", "x launch",
           "x best", "host us/r", "least");
  for (int i = 0; i < s.n && !status; i++)
    if (is_wanted(s.list[i].name)) status = time_problem(d, backend, &s.list[i], csv);
  suite_free(&s);
  for (int ghosts = 0; ghosts < 2 && !status; ghosts++) {
    load box = { .d = d, .backend = backend };
    status = faces(&box, ghosts) ? time_load(&box, csv) : complain("faces", 0);
  }
  return status;
}

int batches_time(const char *backend, const char *suites_dir, bool csv) {
  const driver *d = driver_open(backend);
  char device[128] = "";
  if (!d) return fprintf(stderr, "lbench: no device of %s here\n", backend), 2;
  int e = driver_enter(d, 0);
  if (e) return complain("no context", e);
  d->device_name(device, sizeof device, 0);
  printf("# %s%s\n", device, d->fake ? ", a stand-in: these times say nothing" : "");
  const int status = time_all(d, backend, suites_dir, csv);
  driver_leave(d, 0);
  return status;
}
