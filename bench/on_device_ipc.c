/* lbench ipc: two processes on one device. One owns a layout full of bytes, the other gets them into its own: directly, one kernel from
 * layout to layout out of the owner's memory; or packed by the owner, copied, unpacked. Both wait for a word of the owner first. */
#include "on_device_way.h"
#include "place.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 41, FAKE_TURNS = 3 };
enum { ASK_NOTHING = 'n', ASK_PACK = 'p', ASK_END = 'e' };

typedef struct pair { int in, out; } pair;                        /* this process's ends */
typedef struct side { device *on; const problem *p; char *array, *mem, *packed; int64_t span; } side;
typedef struct tokens { lading_ipc array, packed; bool ok; } tokens;

static bool put(const pair *l, const void *p, size_t n) { return write(l->out, p, n) == (ssize_t)n; }
static bool get(const pair *l, void *p, size_t n) { return read(l->in, p, n) == (ssize_t)n; }

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static const lading_mem here = { LADING_MEM_DEVICE, 0 };

static bool side_open(side *s, const char *backend, const problem *p) {
  char why[200];
  void *a = NULL, *b = NULL;
  *s = (side){ .on = device_open(backend, WHERE_DEVICE, why, sizeof why), .p = p, .span = p->hi - p->lo };
  if (!s->on) return fprintf(stderr, "lbench: %s\n", why), false;
  if (s->on->d->alloc(&a, (size_t)(s->span + p->shift + 1)) || s->on->d->alloc(&b, (size_t)p->size + 1)) return false;
  s->array = a, s->packed = b, s->mem = ldg_at(s->array, p->shift - p->lo);
  return lading_type_commit(p->type) == LADING_OK;
}

static void side_close(side *s) {
  if (s->array) s->on->d->free(s->array);
  if (s->packed) s->on->d->free(s->packed);
  if (s->on) device_close(s->on);
}

static bool done(const side *s, int err) { return !err && !s->on->d->sync(s->on->stream); }

static int enqueue(const side *s, lading_work_kind kind, const void *src, void *dst) {
  const problem *p = s->p;
  lading_work w = { .kind = kind, .src = src, .dst = dst, .hi = p->size, .src_mem = here, .dst_mem = here };
  if (kind != LADING_WORK_UNPACK) w.src_type = p->type, w.src_count = p->count;
  if (kind != LADING_WORK_PACK) w.dst_type = p->type, w.dst_count = p->count;
  return lading_enqueue(s->on->queue, &w, NULL);
}

/* ---- the owner ---- */

static bool fill_array(const side *s) {
  uint64_t seed = 9;
  char *host = bench_alloc(s->span + 8);
  place_fill(host, s->span, &seed);
  const bool ok = done(s, driver_copy(s->on->d, ldg_at(s->mem, s->p->lo), host, (size_t)s->span, s->on->stream));
  ldg_free(host);
  return ok;
}

static void own(const pair *l, const char *backend, const problem *p) {
  side s;
  tokens t = { .ok = side_open(&s, backend, p) && fill_array(&s) };
  t.ok = t.ok && lading_ipc_export(s.mem, &t.array) == LADING_OK && lading_ipc_export(s.packed, &t.packed) == LADING_OK;
  bool ok = put(l, &t, sizeof t) && t.ok;
  for (char ask; ok && get(l, &ask, 1) && ask != ASK_END; ok = put(l, &ok, 1))
    if (ask == ASK_PACK) ok = done(&s, enqueue(&s, LADING_WORK_PACK, s.mem, s.packed));
  side_close(&s);
}

/* ---- the other ---- */

typedef struct theirs { const pair *l; char *mem, *packed; } theirs;
typedef bool way_of_getting(const side *s, const theirs *o);

static bool ask(const theirs *o, char what) {
  char answer = 0;
  return put(o->l, &what, 1) && get(o->l, &answer, 1) && answer;
}

static bool directly(const side *s, const theirs *o) { return ask(o, ASK_NOTHING) && done(s, enqueue(s, LADING_WORK_COPY, o->mem, s->mem)); }

static bool by_packing(const side *s, const theirs *o) {
  if (!ask(o, ASK_PACK)) return false;
  const int err = driver_copy(s->on->d, s->packed, o->packed, (size_t)s->p->size, s->on->stream);
  return done(s, err ? err : enqueue(s, LADING_WORK_UNPACK, s->packed, s->mem));
}

/* The layout's bytes are those of the owner, which are known. */
static bool is_right(const side *s) {
  uint64_t seed = 9;
  const problem *p = s->p;
  char *host = bench_alloc(s->span + 8), *want = bench_alloc(p->size + 8), *got = bench_alloc(p->size + 8);
  place_fill(host, s->span, &seed);
  bool ok = lading_pack(p->type, p->count, ldg_at(host, -p->lo), want, 0, p->size) == LADING_OK &&
            done(s, driver_copy(s->on->d, host, ldg_at(s->mem, p->lo), (size_t)s->span, s->on->stream)) &&
            lading_pack(p->type, p->count, ldg_at(host, -p->lo), got, 0, p->size) == LADING_OK && !memcmp(want, got, (size_t)p->size);
  ldg_free(host), ldg_free(want), ldg_free(got);
  return ok;
}

static bool wipe(const side *s) { return done(s, s->on->d->fill(s->array, 0xa5, (size_t)(s->span + s->p->shift), s->on->stream)); }

/* Median ns of a turn; 0: it failed, or other bytes came. */
static double time_of(const side *s, const theirs *o, way_of_getting *get_it) {
  double ns[TURNS];
  const int turns = s->on->d->fake ? FAKE_TURNS : TURNS;
  if (!wipe(s) || !get_it(s, o) || !is_right(s)) return 0;
  for (int i = 0; i < turns; i++) {
    const double start = now_ns();
    if (!get_it(s, o)) return 0;
    ns[i] = now_ns() - start;
  }
  return sampler_stats(ns, turns).ns;
}

static bool take(const side *s, const theirs *o, bool csv) {
  const problem *p = s->p;
  const double direct = time_of(s, o, directly), packed = time_of(s, o, by_packing);
  const char what = ASK_END;
  const bool ok = direct > 0 && packed > 0;
  if (csv && ok) printf("%s,\"%s\",%" PRId64 ",%" PRId64 ",%.5g,%.5g,%.4g\n", s->on->name, p->name, p->size, p->runs, direct, packed, packed / direct);
  else if (ok) printf("%-30.40s %10" PRId64 " %8" PRId64 " %10.1f %10.1f %8.2f\n", p->name, p->size, p->runs, direct / 1e3, packed / 1e3, packed / direct);
  else fprintf(stderr, "%s: failed, or other bytes came\n", p->name);
  fflush(stdout);
  return put(o->l, &what, 1) && ok;
}

static bool other(const pair *l, const char *backend, const problem *p, bool csv) {
  side s;
  tokens t;
  void *mem = NULL, *packed = NULL;
  bool ok = side_open(&s, backend, p) && get(l, &t, sizeof t) && t.ok;
  ok = ok && lading_ipc_open(&t.array, &mem) == LADING_OK && lading_ipc_open(&t.packed, &packed) == LADING_OK;
  ok = ok && take(&s, &(theirs){ l, mem, packed }, csv);
  if (mem) lading_ipc_close(mem);
  if (packed) lading_ipc_close(packed);
  side_close(&s);
  return ok;
}

/* ---- both: children of a process that has no driver, which no child could use ---- */

void device_ipc_header(bool csv) {
  if (csv) printf("device,name,bytes,blocks,direct_ns,packed_ns,packed_of_direct\n");
  else printf("%-30s %10s %8s %10s %10s %8s\n", "two processes, one device", "bytes", "blocks", "direct us", "packed us", "ratio");
  fflush(stdout);
}

bool device_ipc(const char *backend, const problem *p, bool csv) {
  int down[2], up[2], status[2] = { 1, 1 };
  pid_t pid[2];
  if (!p->size || pipe(down) || pipe(up)) return false;
  for (int i = 0; i < 2; i++) {
    pid[i] = fork();
    if (pid[i]) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const pair l = i ? (pair){ up[0], down[1] } : (pair){ down[0], up[1] };
    close(i ? up[1] : up[0]), close(i ? down[0] : down[1]);
    if (i) exit(!other(&l, backend, p, csv));
    own(&l, backend, p);
    exit(0);
  }
  for (int i = 0; i < 2; i++) close(down[i]), close(up[i]);
  for (int i = 0; i < 2; i++) waitpid(pid[i], &status[i], 0);
  return !status[0] && !status[1];
}
