/* sampler: copies of a problem's buffers, and samples that repeat a call until the clock's resolution does not matter. */
#include "sampler.h"
#include <stdlib.h>
#include <time.h>

#define COPIES_MAX 4096
/* Packed buffers start at another place in their page than arrays do, so that stores do not alias the next loads. */
#define PACKED_SHIFT 1088

/* ---- memory ------------------------------------------------------------------------------------------------------- */

typedef struct filler { char *mem; const char *packed; } filler;

static int fill_piece(void *arg, int64_t off, int64_t pos, int64_t len) {
  filler *f = arg;
  ldg_copy_bytes(ldg_at(f->mem, off), f->packed + pos, len);
  return 0;
}

static bool fill_array(const copy *c, const problem *p) {
  ldg_rep items;
  filler f = { c->mem.base, c->packed.base };
  if (ldg_rep_repeat_in(&items, p->count, p->info.extent, p->type->rep) != LADING_OK) return false;
  ldg_rep_walk(&items, 0, p->size, fill_piece, &f);
  return true;
}

/* Writes what the problem touches, so that no page is the kernel's zero page. */
static bool open_copy(copy *c, const problem *p, bool with_other, uint64_t *seed) {
  if (!place_open(&c->packed, 0, p->size, PACKED_SHIFT, PLACE_LARGE)) return false;
  place_fill(c->packed.base, p->size, seed);
  if (with_other) {
    if (!place_open(&c->other, 0, p->size, 0, PLACE_LARGE)) return false;
    place_fill(c->other.base, p->size, seed);
  }
  if (!p->type) return true;
  return place_open(&c->mem, p->lo, p->hi, p->shift, PLACE_LARGE) && fill_array(c, p);
}

static int64_t footprint(const problem *p) {
  int64_t span = p->hi - p->lo, pages = p->runs < span / 4096 ? p->runs * 4096 : span;
  return ldg_min(span, pages + p->size) + 2 * p->size + 16384;
}

int sampler_copies(const problem *p, int64_t cold, int sharers) {
  int64_t span, available = place_available() / sharers;
  if (ldg_sub(p->hi, p->lo, &span) || span > INT64_C(1) << 40 || p->size > INT64_C(1) << 36 || footprint(p) > available) return 0;
  int64_t want = cold > 0 ? cold / ldg_max(p->size, 1) + 1 : 1, fit = available / 2 / footprint(p);
  return (int)ldg_max(1, ldg_min(ldg_min(want, fit), COPIES_MAX));
}

bool sampler_open(sampler *s, bool with_other) {
  uint64_t seed = 7;
  bool ok = true;
  s->copy = bench_alloc(s->copies * (int64_t)sizeof *s->copy);
  for (int i = 0; ok && i < s->copies; i++) ok = open_copy(&s->copy[i], s->p, with_other, &seed);
  if (!ok) sampler_close(s);
  return ok;
}

void sampler_close(sampler *s) {
  for (int i = 0; s->copy && i < s->copies; i++) {
    place_close(&s->copy[i].mem);
    place_close(&s->copy[i].packed);
    place_close(&s->copy[i].other);
  }
  ldg_free(s->copy);
  s->copy = NULL;
}

/* ---- samples ------------------------------------------------------------------------------------------------------ */

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double timed(sampler *s, batch *run, int64_t reps) {
  double start = now_ns();
  run(s, reps);
  return now_ns() - start;
}

/* A warm sample starts as warm as it goes on: else who comes after memcpy would pay for its evictions, and who has slept for what
 * the others put into the caches. One call is not enough: a last cache that keeps what was used often gives way only by and by. */
#define WARM_NS 2e6
double sampler_time(sampler *s, batch *run, int64_t reps) {
  if (s->copies == 1)
    for (const double start = now_ns(); now_ns() - start < WARM_NS;) run(s, 1 + reps / 8);
  return timed(s, run, reps) / (double)reps;
}

int64_t sampler_calibrate(sampler *s, batch *run) {
  int64_t reps = 1;
  run(s, s->copies);
  for (;;) {
    double t = timed(s, run, reps);
    if (t >= s->min_ns) return reps;
    double more = t > 100 ? s->min_ns / t * 1.1 : 10;
    reps = (int64_t)((double)reps * (more > 10 ? 10 : more < 1.2 ? 1.2 : more)) + 1;
  }
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static bool least_counts;
void sampler_take_least(void) { least_counts = true; }

timing sampler_stats(double *ns, int n) {
  if (n <= 0) return (timing){ 0, 0, 0 };
  qsort(ns, (size_t)n, sizeof *ns, by_value);
  return (timing){ ns[least_counts ? 0 : n / 2], ns[n / 4], ns[n - 1 - n / 4] };
}
