/* serve: a peer's helper. Works in lbench's memory, which is its descriptor 3, and answers lines on its standard input, a socket:
 *   (start)                                   hello RANGES VERSION
 *   open COPIES PLACES LARGE SEGMENT MIN_NS PROBLEM  ok, or: no WHY
 *   reps DIR FIRST                            REPETITIONS NEXT
 *   time DIR REPETITIONS FIRST                NANOSECONDS a call, NEXT
 *   close                                     ok
 * (FIRST is the copy that it begins with, NEXT the one whose turn it is then) and leaves when the socket is closed. What it times
 * was compared with the definition first, in both directions. */
#include "peer.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct server {
  problem p;
  sampler s;
  batch *run[2];
  int memory;
  char why[160];
} server;

/* ---- the definition ----------------------------------------------------------------------------------------------- */

typedef struct mover { char *mem, *packed; } mover;

static int visit_pack(void *arg, int64_t off, int64_t pos, int64_t len) {
  mover *m = arg;
  ldg_copy_bytes(m->packed + pos, ldg_at(m->mem, off), len);
  return 0;
}

static int visit_unpack(void *arg, int64_t off, int64_t pos, int64_t len) {
  mover *m = arg;
  ldg_copy_bytes(ldg_at(m->mem, off), m->packed + pos, len);
  return 0;
}

typedef struct check { server *v; const copy *c; ldg_rep items; char *want, *data; uint64_t random; } check;

static void define(const check *k, int dir, char *packed) {
  mover m = { k->c->mem, packed };
  ldg_rep_walk(&k->items, 0, k->v->p.size, dir == LDG_PACK ? visit_pack : visit_unpack, &m);
}

static bool differs(check *k, const char *got, const char *dir) {
  server *v = k->v;
  int64_t i = 0;
  while (i < v->p.size && got[i] == k->want[i]) i++;
  if (i == v->p.size && !v->s.error) return false;
  if (v->s.error) snprintf(v->why, sizeof v->why, "%s returns error %d", dir, v->s.error);
  else snprintf(v->why, sizeof v->why, "%s differs from the definition at packed byte %" PRId64, dir, i);
  return true;
}

/* The first copy is the one that the next call moves. */
static void move_once(server *v, int dir) {
  v->s.next = 0;
  v->s.error = 0;
  v->run[dir](&v->s, 1);
}

static bool check_pack(check *k) {
  char *packed = k->c->packed;
  define(k, LDG_PACK, k->want);
  memset(packed, 0x5a, (size_t)k->v->p.size);
  move_once(k->v, LDG_PACK);
  return !differs(k, packed, "pack");
}

/* Leaves other bytes in that copy, as good as those before. What the definition packs after its unpack and after the peer's has to be the same, also where bytes overlap. */
static bool check_unpack(check *k) {
  char *packed = k->c->packed;
  const int64_t size = k->v->p.size;
  place_fill(packed, size, &k->random);
  define(k, LDG_UNPACK, packed);
  define(k, LDG_PACK, k->want);
  place_fill(k->data, size, &k->random);
  define(k, LDG_UNPACK, k->data); /* something else in the meantime */
  move_once(k->v, LDG_UNPACK);
  define(k, LDG_PACK, k->data);
  return !differs(k, k->data, "unpack");
}

static bool right(server *v) {
  check k = { .v = v, .c = v->s.copy, .random = 11 };
  const problem *p = &v->p;
  if (!p->size) return true;
  if (ldg_rep_repeat_in(&k.items, p->count, p->info.extent, p->type->rep) != LADING_OK) return false;
  k.want = bench_alloc(p->size);
  k.data = bench_alloc(p->size);
  bool ok = check_pack(&k) && check_unpack(&k);
  ldg_free(k.want);
  ldg_free(k.data);
  return ok;
}

/* ---- requests ----------------------------------------------------------------------------------------------------- */

static void close_problem(server *v) {
  if (v->s.arg) peer_is.close(v->s.arg);
  sampler_close(&v->s);
  problem_close(&v->p);
  ldg_free(v->p.text);
  v->p = (problem){ 0 };
  v->s = (sampler){ 0 };
}

static bool open_type(server *v) {
  char *text = expand_macros(v->p.type_text, v->why, sizeof v->why);
  if (text) v->s.arg = peer_is.open(&v->p, text, v->why, sizeof v->why);
  free(text);
  return v->s.arg != NULL;
}

static bool open_problem(server *v, const char *request) {
  int places, large, at = 0;
  if (sscanf(request, "%d %d %d %" SCNd64 " %lf %n", &v->s.copies, &places, &large, &v->s.segment, &v->s.min_ns, &at) != 5) return false;
  v->s.places = places != 0, v->s.large = large != 0;
  v->s.shared = v->memory;
  v->s.guest = true;
  if (!problem_read(&v->p, request + at, v->why, sizeof v->why) || !problem_open(&v->p, v->why, sizeof v->why)) return false;
  v->s.p = &v->p;
  for (int dir = 0; dir < 2; dir++) v->run[dir] = v->s.segment && peer_is.segmented[dir] ? peer_is.segmented[dir] : peer_is.whole[dir];
  if (!open_type(v)) return false;
  if (sampler_open(&v->s, false)) return right(v);
  snprintf(v->why, sizeof v->why, "its memory cannot be mapped");
  return false;
}

static bool begin_with(sampler *s, int first) {
  s->next = first;
  return s->copy && first >= 0 && first < s->copies;
}

static void answer(server *v, int out, const char *request) {
  int dir = 0, first = 0;
  int64_t reps;
  v->why[0] = 0;
  if (strncmp(request, "open ", 5) == 0) {
    if (open_problem(v, request + 5)) {
      dprintf(out, "ok\n");
      return;
    }
    close_problem(v);
    dprintf(out, "no %s\n", v->why[0] ? v->why : "this helper does not understand lbench; build both again");
  } else if (sscanf(request, "reps %d %d", &dir, &first) == 2 && begin_with(&v->s, first)) {
    reps = sampler_calibrate(&v->s, v->run[dir & 1]);
    dprintf(out, "%" PRId64 " %d\n", reps, v->s.next);
  } else if (sscanf(request, "time %d %" SCNd64 " %d", &dir, &reps, &first) == 3 && begin_with(&v->s, first)) {
    const double ns = sampler_time(&v->s, v->run[dir & 1], ldg_max(reps, 1));
    dprintf(out, "%.6g %d\n", ns, v->s.next);
  } else {
    close_problem(v);
    dprintf(out, "ok\n");
  }
}

/* Both leave their places: no engine reads from the one, and none is started with the other. */
static FILE *take_files(int *out, int *memory) {
  *out = fcntl(0, F_DUPFD_CLOEXEC, 10);
  *memory = fcntl(PEER_MEMORY, F_DUPFD_CLOEXEC, 10);
  close(PEER_MEMORY);
  int null = open("/dev/null", O_RDONLY);
  if (null >= 0) dup2(null, 0);
  return *out < 0 || *memory < 0 ? NULL : fdopen(*out, "r");
}

int main(void) {
  static server v;
  char version[160] = "", *line = NULL;
  size_t cap = 0;
  int out;
  FILE *in = take_files(&out, &v.memory);
  if (!in || !peer_is.start(version, sizeof version)) return 1;
  dprintf(out, "hello %d %s\n", peer_is.segmented[0] != NULL, version);
  while (getline(&line, &cap, in) > 0) {
    line[strcspn(line, "\n")] = 0;
    answer(&v, out, line);
  }
  close_problem(&v);
  free(line);
  peer_is.stop();
  return 0;
}
