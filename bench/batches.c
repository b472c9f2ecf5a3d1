#include "batches.h"
#include "driver.h"
#include "sampler.h"
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

enum { MOST = 64, FACES = 26, SAMPLES = 101, WARM = 10 }; /* of a stand-in driver, one sample */
#define BOX 66 /* doubles a side, a layer of ghosts around */

static int complain(const char *what, int error) { return fprintf(stderr, "lbench: %s (error %d)\n", what, error), 2; }

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* ---- requests: packs of one problem in arrays of their own, or of the faces of boxes ---- */

typedef struct load {
  const driver *d;
  const char *name, *backend;
  lading_type *type[FACES];
  int types, n;                         /* request i packs type i % types */
  int64_t lo, span, size;               /* of an array; packed bytes of the longest */
  char *mem, *packed, *host;            /* on the device; both, here */
  lading_work work[MOST];
  lading_queue *queue, *own[MOST];      /* one for all; one each */
  void *stream, *graph, *exec;
  lading_batch *batch;
  lading_request request[MOST];
} load;

static bool faces(load *l) {
  const int64_t sizes[3] = { BOX, BOX, BOX };
  int e = LADING_OK;
  for (int d = 0; d < 27 && !e; d++) {
    int64_t sub[3], start[3];
    for (int i = 0, k = d; i < 3; i++, k /= 3) sub[i] = k % 3 == 1 ? BOX - 2 : 1, start[i] = k % 3 == 2 ? BOX - 2 : 1;
    if (d != 13) e = lading_type_subarray(3, sizes, sub, start, LADING_ORDER_C, lading_elem_type(LADING_DOUBLE), &l->type[l->types++]);
  }
  l->name = "halo26", l->lo = 0, l->span = 8 * BOX * BOX * BOX, l->size = 8 * BOX * BOX;
  return !e;
}

static void of_problem(load *l, const problem *p) {
  l->name = p->name, l->type[0] = lading_type_ref(p->type), l->types = 1;
  l->lo = p->lo, l->span = p->hi - p->lo, l->size = p->size;
}

static int64_t array_of(const load *l, int i) { return (int64_t)(i / l->types) * l->span; } /* all faces of a box in one array */
static int64_t arrays(const load *l) { return array_of(l, MOST - 1) + l->span; }

static bool open_load(load *l) {
  const driver *d = l->d;
  const lading_mem there = { LADING_MEM_DEVICE, 0 };
  int e = d->alloc((void **)&l->mem, (size_t)arrays(l)) || d->alloc((void **)&l->packed, (size_t)(MOST * l->size)) ||
          d->alloc_pinned((void **)&l->host, (size_t)(arrays(l) + 2 * MOST * l->size), 0) || d->stream(&l->stream, 1);
  if (!e) e = lading_queue_wrap(l->backend, l->stream, &l->queue);
  if (!e) e = lading_batch_create(l->queue, &(lading_batch_attr){ .policy = LADING_BATCH_MANUAL }, &l->batch);
  for (int i = 0; i < MOST && !e; i++) e = lading_queue_create(l->backend, 0, &l->own[i]);
  for (int i = 0; i < MOST; i++) {
    int64_t size;
    lading_type_size(l->type[i % l->types], &size);
    l->work[i] = (lading_work){ .kind = LADING_WORK_PACK, .src_type = l->type[i % l->types], .src_count = 1, .src = l->mem + array_of(l, i) - l->lo,
                                .dst = l->packed + i * l->size, .hi = size, .src_mem = there, .dst_mem = there };
  }
  return !e;
}

static void close_load(load *l) {
  lading_batch_free(l->batch), lading_queue_free(l->queue);
  for (int i = 0; i < MOST; i++) lading_queue_free(l->own[i]);
  for (int i = 0; i < l->types; i++) lading_type_free(l->type[i]);
  if (l->stream) l->d->stream_free(l->stream);
  if (l->mem) l->d->free(l->mem);
  if (l->packed) l->d->free(l->packed);
  if (l->host) l->d->free_pinned(l->host);
}

/* ---- ways; each returns when all is done, or an error ---- */

typedef struct way { const char *name; int (*run)(load *l); } way;

static double host_us; /* of the last batch: until all was started */

static int fused(load *l) {
  int e = LADING_OK;
  const double start = now_us();
  for (int i = 0; i < l->n && !e; i++) e = lading_batch_add(l->batch, &l->work[i], &l->request[i]);
  if (!e) e = lading_batch_flush(l->batch);
  host_us = now_us() - start;
  for (int i = 0; i < l->n && !e; i++) e = lading_batch_wait(l->batch, l->request[i]);
  return e;
}

static int launches(load *l) {
  int e = LADING_OK;
  for (int i = 0; i < l->n && !e; i++) e = lading_enqueue(l->queue, &l->work[i], NULL);
  return e ? e : lading_queue_sync(l->queue);
}

static int streams(load *l) {
  int e = LADING_OK;
  for (int i = 0; i < l->n && !e; i++) e = lading_enqueue(l->own[i], &l->work[i], NULL);
  for (int i = 0; i < l->n && !e; i++) e = lading_queue_sync(l->own[i]);
  return e;
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

static const way ways[] = { { "fused", fused }, { "launches", launches }, { "streams", streams }, { "graph", replay } };
enum { WAYS = sizeof ways / sizeof *ways };

/* ---- the right bytes ---- */

static int to_device(load *l) {
  uint64_t seed = 11;
  place_fill(l->host, arrays(l), &seed);
  const int e = l->d->to_device(l->mem, l->host, (size_t)arrays(l), l->stream);
  return e ? e : l->d->sync(l->stream);
}

static int check(load *l, const way *w) {
  char *got = l->host + arrays(l), *want = got + MOST * l->size;
  int e = l->d->fill(l->packed, 0x5a, (size_t)(MOST * l->size), l->stream) || l->d->sync(l->stream);
  if (!e) e = w->run(l);
  if (!e) e = l->d->to_host(got, l->packed, (size_t)(MOST * l->size), l->stream) || l->d->sync(l->stream);
  memset(want, 0x5a, (size_t)(MOST * l->size));
  for (int i = 0; i < l->n && !e; i++)
    e = lading_pack(l->work[i].src_type, 1, l->host + array_of(l, i) - l->lo, want + i * l->size, 0, l->work[i].hi);
  if (e) return complain(w->name, e);
  return memcmp(got, want, (size_t)(MOST * l->size)) ? complain("wrong bytes", 0) : 0;
}

/* ---- times ---- */

static int time_way(load *l, const way *w, timing *out, timing *host) {
  static double us[SAMPLES], h[SAMPLES];
  const int samples = l->d->fake ? 1 : SAMPLES;
  for (int i = l->d->fake ? 0 : -WARM; i < samples; i++) {
    const double start = now_us();
    const int e = w->run(l);
    if (e) return complain(w->name, e);
    if (i >= 0) us[i] = now_us() - start, h[i] = host_us;
  }
  *out = sampler_stats(us, samples), *host = sampler_stats(h, samples);
  return 0;
}

static void print_row(const load *l, const timing *t, double host, bool csv) {
  double other = t[1].ns;
  for (int k = 2; k < WAYS; k++)
    if (t[k].ns < other) other = t[k].ns;
  printf(csv ? "%s,%d,%" PRId64 : "%-28s %4d %9" PRId64, l->name, l->n, l->work[0].hi);
  for (int k = 0; k < WAYS; k++) printf(csv ? ",%.2f" : " %9.2f", t[k].ns);
  printf(csv ? ",%.2f,%.2f,%.3f\n" : " %9.2f %9.2f %9.3f\n", t[1].ns / t[0].ns, other / t[0].ns, host / l->n);
}

static int one_number(load *l, bool csv) {
  timing t[WAYS], host[WAYS];
  int status = record(l);
  if (status) return complain("capture", status);
  for (int k = 0; k < WAYS && !status; k++) {
    status = check(l, &ways[k]);
    if (!status) status = time_way(l, &ways[k], &t[k], &host[k]);
  }
  forget(l);
  if (!status) print_row(l, t, host[0].ns, csv);
  return status;
}

static int time_load(load *l, bool csv) {
  int status = open_load(l) ? to_device(l) : complain(l->name, 0);
  l->n = MOST;
  if (!status) status = launches(l); /* tables are made */
  for (l->n = 1; !status && l->n <= (l->d->fake ? 4 : MOST); l->n *= 2) status = one_number(l, csv);
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
  load box = { .d = d, .backend = backend };
  int status = 0;
  snprintf(path, sizeof path, "%s/ddtbench.suite", suites_dir);
  if (!suite_load(&s, path, fault, sizeof fault)) return fprintf(stderr, "lbench: %s\n", fault), 2;
  if (csv) printf("problem,requests,bytes,fused_us,launches_us,streams_us,graph_us,against_launches,against_best,host_us_per_request\n");
  else printf("%-28s %4s %9s %9s %9s %9s %9s %9s %9s %9s\n", "us for all", "n", "bytes", "fused", "launches", "streams", "graph", "x launch", "x best", "host us/r");
  for (int i = 0; i < s.n && !status; i++)
    if (is_wanted(s.list[i].name)) status = time_problem(d, backend, &s.list[i], csv);
  suite_free(&s);
  if (!status) status = faces(&box) ? time_load(&box, csv) : complain("faces", 0);
  return status;
}

int batches_time(const char *backend, const char *suites_dir, bool csv) {
  const driver *d = driver_open(backend);
  char device[128] = "";
  if (!d) return fprintf(stderr, "lbench: no device of %s here\n", backend), 77;
  int e = driver_enter(d, 0);
  if (e) return complain("no context", e);
  d->device_name(device, sizeof device, 0);
  printf("# %s%s\n", device, d->fake ? ", a stand-in: these times say nothing" : "");
  const int status = time_all(d, backend, suites_dir, csv);
  driver_leave(d, 0);
  return status;
}
