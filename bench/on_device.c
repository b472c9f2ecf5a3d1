/* on_device: buffers, checks and times on a device. */
#include "on_device_way.h"
#include "floor.h"
#include "place.h"
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COLD ((int64_t)256 << 20)       /* bytes touched between two uses: several times a device's cache */
#define BUDGET ((int64_t)8 << 30)       /* of device memory, all copies */
#define FAKE_BUDGET ((int64_t)64 << 20)
#define COPIES_MAX 2048
#define SAMPLE_MS 0.5f
#define ENQUEUES 64                     /* in a row, when their host time is taken: fewer than a stream takes before it makes one wait */
#define LATENCIES 21
#define POISON 0xa5
#define PIECE ((int64_t)1 << 20)        /* of what comes back to be looked at: what was looked at is in the host's cache still */
/* What takes long is measured less often: samples of one way for so long, but a few in any case; the host's part of enqueues likewise. */
#define LANE_NS 30e6
#define LONG_NS 2e6                     /* of one call */
#define HOST_NS 100e6
#define FEW 3

extern const char lbench_cuda_image[], lbench_hip_image[];

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

bool device_where_read(const char *text, device_where *out) {
  for (int i = 0; i < 3; i++)
    if (!strcmp(text, device_where_names[i])) return *out = (device_where)i, true;
  return false;
}

/* ---- the device ---- */

static const char *image_of(const char *backend) {
  (void)backend;
#ifdef LBENCH_CUDA
  if (!strcmp(backend, "cuda")) return lbench_cuda_image;
#endif
#ifdef LBENCH_HIP
  if (!strcmp(backend, "hip")) return lbench_hip_image;
#endif
  return NULL;
}

static bool load_hand(device *on) {
  static const char *const names[] = { "ldg_d_hand_loops", "ldg_d_hand_rows", "ldg_d_hand_list", "ldg_d_hand_lengths", "ldg_d_hand_nothing" };
  const char *image = image_of(on->backend);
  if (!image) return true;
  bool ok = on->d->load(&on->module, image) == 0;
  for (int i = 0; ok && i < HAND_KERNELS; i++)
    ok = on->d->function(&on->kernel[i], on->module, i < HAND_RECORDS ? names[i] : hand_records[i - HAND_RECORDS].kernel) == 0;
  return ok;
}

static bool begin(device *on) {
  const driver *d = on->d;
  return driver_enter(d, 0) == 0 && d->device_name(on->name, sizeof on->name, 0) == 0 && d->stream(&on->stream, 1) == 0 &&
         d->event(&on->event[0], 0) == 0 && d->event(&on->event[1], 0) == 0 && d->alloc_pinned((void **)&on->pieces, 2 * PIECE, 0) == 0 &&
         load_hand(on) && lading_queue_wrap(on->backend, on->stream, &on->queue) == LADING_OK;
}

bool device_is_there(const char *backend) {
  const pid_t pid = fork();
  int status = 1;
  if (pid == 0) _exit(driver_open(backend) == NULL);
  return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

device *device_open(const char *backend, device_where where, char *why, size_t cap) {
  static device on;
  on = (device){ .d = driver_open(backend), .backend = backend, .where = where };
  if (!on.d) return snprintf(why, cap, "no driver and device for %s here", backend), NULL;
  if (!begin(&on)) return snprintf(why, cap, "%s: the driver refuses, or the library has no such backend", backend), NULL;
  return &on;
}

void device_close(device *on) {
  lading_queue_free(on->queue);
  ldg_free(on->image);
  on->d->free_pinned(on->pieces);
  for (int i = 0; i < 2; i++) on->d->event_free(on->event[i]);
  on->d->stream_free(on->stream);
  if (on->module) on->d->unload(on->module);
  driver_leave(on->d, 0);
}

/* ---- buffers ---- */

static int64_t round_up(int64_t n) { return (n + 511) / 256 * 256; }

static bool take(const device *on, char **out, int64_t n, bool pinned) {
  void *p = NULL;
  const int err = pinned ? on->d->alloc_pinned(&p, (size_t)n, 0) : on->d->alloc(&p, (size_t)n);
  return *out = p, !err;
}

static void give(const device *on, char *p, bool pinned) {
  if (p) (void)(pinned ? on->d->free_pinned(p) : on->d->free(p));
}

static bool plan_copies(device_run *r, int64_t sectors) {
  const problem *p = r->p;
  const int64_t budget = r->on->d->fake ? FAKE_BUDGET : BUDGET, touched = sectors * 32 + 1;
  int64_t span;
  if (ldg_sub(p->hi, p->lo, &span) || span > budget || p->size > budget) return false;
  r->step = round_up(span + p->shift), r->packed_step = round_up(p->size), r->line_bytes = round_up(touched / 2);
  const int64_t each = r->step + r->packed_step + 2 * r->line_bytes;
  r->copies = (int)ldg_max(1, ldg_min(ldg_min(COLD / touched + 1, budget / each), r->on->d->fake ? 2 : COPIES_MAX));
  return each <= budget;
}

static bool open_run(device_run *r) {
  const device *on = r->on;
  const problem *p = r->p;
  const bool host = on->where == WHERE_HOST_TO_DEVICE;
  if (host) r->mem_block = bench_alloc(r->step * r->copies);
  else if (!take(on, &r->mem_block, r->step * r->copies, false)) return false;
  r->mem = r->mem_block + p->shift - p->lo;
  return take(on, &r->packed, r->packed_step * r->copies, on->where == WHERE_PINNED) && take(on, &r->line, 2 * r->line_bytes * r->copies, false) &&
         (!host || take(on, &r->staging, r->packed_step, true)) && device_lists_upload(r);
}

static void close_run(device_run *r) {
  const device *on = r->on;
  if (on->where == WHERE_HOST_TO_DEVICE) ldg_free(r->mem_block);
  else give(on, r->mem_block, false);
  give(on, r->packed, on->where == WHERE_PINNED);
  give(on, r->line, false);
  give(on, r->staging, true);
  give(on, r->lists, false);
}

/* ---- checks: what a way makes of random bytes is what the host makes of them, and it writes nothing else ----
 *
 * One image of the layout is right for both directions, random bytes in its blocks and POISON between them: packs read it, unpacks make it out
 * of POISON. Spans may be GBs: they go to the device once, and come back once an unpack, piece by piece. Sums are added to POISON, which is a number of any kind, too. */

typedef struct judge { char *image, *packed, *want; int64_t span; } judge; /* want: what packs make */

static bool is_host(const device_run *r, bool packed) { return r->on->where == (packed ? WHERE_PINNED : WHERE_HOST_TO_DEVICE); }
static char *first_of(const device_run *r, bool packed) { return packed ? r->packed : r->mem + r->p->lo; }

static bool put(const device_run *r, bool packed, const char *from, int64_t n) {
  char *const to = first_of(r, packed);
  if (is_host(r, packed)) return memcpy(to, from, (size_t)n), true;
  return driver_copy(r->on->d, to, from, (size_t)n, r->on->stream) == 0 && r->on->d->sync(r->on->stream) == 0;
}

static bool poison(const device_run *r, bool packed, int64_t n) {
  char *const to = first_of(r, packed);
  if (is_host(r, packed)) return memset(to, POISON, (size_t)n), true;
  return r->on->d->fill(to, POISON, (size_t)n, r->on->stream) == 0;
}

/* Piece k of n bytes is on its way. */
static bool fetch(const device_run *r, const char *from, int64_t n, int64_t k) {
  const device *on = r->on;
  if (k * PIECE >= n) return true;
  return driver_copy(on->d, on->pieces + k % 2 * PIECE, from + k * PIECE, (size_t)ldg_min(PIECE, n - k * PIECE), on->stream) == 0 &&
         on->d->record(on->event[k % 2], on->stream) == 0;
}

/* One piece is looked at while the next one comes. */
static bool holds(const device_run *r, bool packed, const char *want, int64_t n) {
  const char *const from = first_of(r, packed);
  if (is_host(r, packed)) return !memcmp(from, want, (size_t)n);
  bool same = fetch(r, from, n, 0);
  for (int64_t k = 0; same && k * PIECE < n; k++)
    same = fetch(r, from, n, k + 1) && r->on->d->event_sync(r->on->event[k % 2]) == 0 &&
           !memcmp(r->on->pieces + k % 2 * PIECE, want + k * PIECE, (size_t)ldg_min(PIECE, n - k * PIECE));
  return r->on->d->sync(r->on->stream) == 0 && same;
}

static int do_once(device_run *r, device_move *move) {
  const int err = move(r, r->mem, r->packed);
  return err ? err : r->on->d->sync(r->on->stream);
}

static bool packs(device_run *r, device_move *move, const judge *j) {
  return poison(r, true, r->p->size) && !do_once(r, move) && holds(r, true, j->want, r->p->size);
}

static bool unpacks(device_run *r, device_move *move, const judge *j) {
  return put(r, true, j->packed, r->p->size) && poison(r, false, j->span) && !do_once(r, move) && holds(r, false, j->image, j->span);
}

/* Kept for the next problem: its pages are there then. */
static bool room_for_image(device *on, int64_t n) {
  if (n <= on->image_room) return true;
  ldg_free(on->image);
  on->image = ldg_alloc(n), on->image_room = on->image ? n : 0;
  return on->image != NULL;
}

/* Bytes of which any number of them is one of a usual size. */
static void make_numbers(char *at, int64_t n) {
  for (int64_t i = 0; i < n; i++) at[i] = (char)(0x38 | (at[i] & 7));
}

/* Where blocks overlap, the last one counts: what is packed of that is what makes it again. */
static bool judge_open(judge *j, device *on, const device_run *r) {
  const problem *p = r->p;
  uint64_t seed = 3;
  *j = (judge){ .span = p->hi - p->lo, .packed = bench_alloc(p->size + 8) };
  j->want = r->sum ? bench_alloc(p->size + 8) : j->packed;
  if (!room_for_image(on, j->span)) return false;
  j->image = on->image;
  void *const argument = ldg_at(j->image, -p->lo);
  place_fill(j->packed, p->size, &seed);
  if (r->sum) make_numbers(j->packed, p->size), memset(j->want, POISON, (size_t)p->size);
  memset(j->image, POISON, (size_t)j->span);
  return lading_unpack(p->type, p->count, argument, j->packed, 0, p->size) == LADING_OK &&
         lading_pack(p->type, p->count, argument, j->packed, 0, p->size) == LADING_OK &&
         (!r->sum || lading_pack_op(p->type, p->count, argument, j->want, 0, p->size, LADING_SUM) == LADING_OK) && put(r, false, j->image, j->span);
}

/* From packs to unpacks, of which sums make another image. */
static bool judge_unpacks(const judge *j, const device_run *r) {
  const problem *p = r->p;
  if (!r->sum) return true;
  memset(j->image, POISON, (size_t)j->span);
  return lading_unpack_op(p->type, p->count, ldg_at(j->image, -p->lo), j->packed, 0, p->size, LADING_SUM) == LADING_OK;
}

static void judge_close(judge *j) {
  if (j->want != j->packed) ldg_free(j->want);
  ldg_free(j->packed);
}

/* ---- times ---- */

typedef struct lane { device_move *move; int dir; int64_t reps; int turns, got; timing *out; double ns[SAMPLES_MAX]; } lane; /* turns: samples still to take */

static int turn(device_run *r, device_move *move) {
  const int i = r->next;
  r->next = i + 1 < r->copies ? i + 1 : 0;
  return move(r, r->mem + i * r->step, r->packed + i * r->packed_step);
}

/* ns a call, by the device's clock; 0: it failed. */
static double sample(device_run *r, const lane *l, int64_t reps) {
  const device *on = r->on;
  float ms = 0;
  r->dir = l->dir;
  int err = on->d->record(on->event[0], on->stream);
  for (int64_t i = 0; !err && i < reps; i++) err = turn(r, l->move);
  if (!err) err = on->d->record(on->event[1], on->stream);
  if (!err) err = on->d->event_sync(on->event[1]);
  if (!err) err = on->d->elapsed(&ms, on->event[0], on->event[1]);
  return err ? 0 : (double)ms * 1e6 / (double)reps;
}

static void keep(lane *l, double ns) {
  if (ns > 0) l->ns[l->got++] = ns;
}

/* How many calls a sample has, and how many samples there are. The first call warms up: tables, kernels. A long one is a sample by itself. */
static void calibrate(device_run *r, lane *l, int samples) {
  const double first = sample(r, l, 1), once = sample(r, l, first > LONG_NS ? 1 : 4);
  const int64_t most = r->on->d->fake ? 2 : 1000;
  if (once <= 0) return;
  l->reps = ldg_max(1, ldg_min(most, (int64_t)(SAMPLE_MS * 1e6 / once)));
  l->turns = (int)ldg_min(samples, ldg_max(FEW, (int64_t)((LANE_NS - first) / (once * (double)l->reps))));
  if (first > LONG_NS && l->reps == 1) keep(l, once), l->turns--;
}

static void sample_all(device_run *r, lane *lanes, int n, int samples) {
  for (int i = 0; i < n; i++) calibrate(r, &lanes[i], samples);
  for (int k = 0; k < samples; k++)
    for (int i = 0; i < n; i++)
      if (k < lanes[i].turns) keep(&lanes[i], sample(r, &lanes[i], lanes[i].reps));
  for (int i = 0; i < n; i++) *lanes[i].out = sampler_stats(lanes[i].ns, lanes[i].got);
}

static double latency(device_run *r, int dir) {
  double ns[LATENCIES], all = 0;
  int n = 0;
  r->dir = dir;
  device_move *const move = device_way_of(r, BY_LADING);
  while (n < (r->on->d->fake ? 1 : LATENCIES) && (n < FEW || all < LANE_NS)) {
    const double start = now_ns();
    if (turn(r, move) || r->on->d->sync(r->on->stream)) return 0;
    all += ns[n++] = now_ns() - start;
  }
  return sampler_stats(ns, n).ns;
}

static int nothing(const device_run *r, char *mem, char *packed) { return (void)mem, (void)packed, device_launch_nothing(r->on); }

/* The least of the means of a few rows of calls. */
static double host_ns(device_run *r, device_move *move) {
  const int rows = r->on->d->fake ? 1 : 20, calls = r->on->d->fake ? 2 : ENQUEUES; /* the fake's times mean nothing */
  const double begun = now_ns();
  double least = 0;
  r->dir = LDG_PACK;
  for (int k = 0; k < rows && (k < FEW || now_ns() - begun < HOST_NS); k++) {
    if (r->on->d->sync(r->on->stream)) return 0;
    const double start = now_ns();
    for (int i = 0; i < calls; i++)
      if (turn(r, move)) return 0;
    const double ns = (now_ns() - start) / calls;
    least = k == 0 || ns < least ? ns : least;
  }
  r->on->d->sync(r->on->stream);
  return least;
}

/* ---- one problem ---- */

/* All packs come before the first unpack, which poisons what they read. */
static int choose_lanes(device_run *r, lane *lanes, const judge *j, device_row *row, timing *line) {
  int n = 0;
  for (int dir = 0; dir < 2; dir++) {
    if (dir == LDG_UNPACK && !judge_unpacks(j, r)) {
      snprintf(row->note, sizeof row->note, "%s: the host does not sum it", r->p->name);
      break;
    }
    for (int by = 0; by < DEVICE_WAYS; by++) {
      r->dir = dir;
      device_move *const move = device_way_of(r, (device_way)by);
      if (!move) continue;
      if (dir == LDG_PACK ? packs(r, move, j) : unpacks(r, move, j)) lanes[n++] = (lane){ .move = move, .dir = dir, .out = &row->way[by][dir] };
      else snprintf(row->note, sizeof row->note, "%s: %s by %s is wrong or failed", r->p->name, dir ? "unpack" : "pack", device_way_names[by]);
    }
  }
  lanes[n++] = (lane){ .move = device_line_copy, .out = line };
  return n;
}

static void measure_run(device *on, device_run *r, const measure_options *o, device_row *row) {
  static lane lanes[2 * DEVICE_WAYS + 1];
  timing line = { 0 };
  judge j = { 0 };
  if (!judge_open(&j, on, r)) snprintf(row->note, sizeof row->note, "its bytes cannot be put on the device");
  else {
    sample_all(r, lanes, choose_lanes(r, lanes, &j, row, &line), (int)ldg_max(1, ldg_min(o->samples, SAMPLES_MAX)));
    for (int dir = 0; dir < 2; dir++) row->latency_ns[dir] = measured(row->way[BY_LADING][dir]) ? latency(r, dir) : 0;
    if (r->on->where != WHERE_HOST_TO_DEVICE) row->enqueue_ns = host_ns(r, device_way_of(r, BY_LADING));
    if (r->on->module) row->launch_ns = host_ns(r, nothing);
  }
  row->floor_ns = line.ns;
  judge_close(&j);
}

static int first_block(void *arg, int64_t off, int64_t pos, int64_t len) {
  (void)pos, (void)len;
  return *(int64_t *)arg = off, 1;
}

bool device_measure(device *on, const problem *p, const measure_options *o, device_row *row, char *why, size_t cap) {
  device_run r = { .on = on, .p = p, .sum = o->sum };
  ldg_rep items;
  *row = (device_row){ 0 };
  if (!p->size || ldg_rep_repeat_in(&items, p->count, p->info.extent, p->type->rep) != LADING_OK) return snprintf(why, cap, "it has no bytes"), false;
  if (o->sum && measure_no_sums(p)) return snprintf(why, cap, "%s", measure_no_sums(p)), false;
  ldg_rep_walk(&items, 0, p->size, first_block, &r.first);
  row->sectors = floor_lines(p, 32);
  const bool fits = plan_copies(&r, row->sectors) && lading_type_commit(p->type) == LADING_OK && open_run(&r);
  if (fits) measure_run(on, &r, o, row);
  else snprintf(why, cap, "its memory does not fit");
  close_run(&r);
  return fits;
}
