/* sampler: copies of a problem's buffers, and samples that repeat a call until the clock's resolution does not matter. */
#include "sampler.h"
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define COPIES_MAX 131072
#define ADDRESSES (INT64_C(1) << 45) /* that all copies may span */
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
  filler f = { c->mem, c->packed };
  if (ldg_rep_repeat_in(&items, p->count, p->info.extent, p->type->rep) != LADING_OK) return false;
  ldg_rep_walk(&items, 0, p->size, fill_piece, &f);
  return true;
}

/* Writes what the problem touches, so that no page is the kernel's zero page. */
static bool fill(const copy *c, const problem *p, uint64_t *seed) {
  place_fill(c->packed, p->size, seed);
  if (c->other) place_fill(c->other, p->size, seed);
  return !c->mem || fill_array(c, p);
}

/* What one copy takes, if every run is in a page of its own as long as there are more pages. */
static int64_t footprint(const problem *p, int64_t page) {
  int64_t span = p->hi - p->lo, pages = p->runs < span / page ? p->runs * page : span;
  return ldg_min(span, pages + p->size) + 2 * p->size + 16384;
}

/* Far blocks would waste large pages: then small ones, if memory is short. */
bool sampler_size(sampler *s, int64_t cold, int64_t touched, int sharers) {
  const problem *p = s->p;
  int64_t span, available = place_available() / sharers;
  if (ldg_sub(p->hi, p->lo, &span) || span > INT64_C(1) << 40 || p->size > INT64_C(1) << 36 || footprint(p, PLACE_PAGE) > available) return false;
  const int64_t want = cold > 0 && touched > 0 ? cold / touched + 1 : 1, least = footprint(p, PLACE_PAGE);
  const int64_t fit = ldg_min(available / 2 / least, ADDRESSES / ldg_max(span, 1));
  s->copies = (int)ldg_max(1, ldg_min(ldg_min(want, fit), COPIES_MAX));
  s->large = footprint(p, PLACE_LARGE_PAGE) * s->copies <= ldg_max(available / 2, least * s->copies);
  return true;
}

/* Lines of a page from a copy to the next one. The packed buffer goes 3 lines further from both others each time: once round a page by 21 copies. */
enum { PLACES = 64, SMALL = 128 << 10, PACKED_ON = 5, ARRAY_ON = 2, OTHER_ON = 8 };
void sampler_vary(sampler *s, int samples) {
  const problem *p = s->p;
  if (s->copies > 1 || p->hi - p->lo > SMALL || p->size > SMALL) return;
  s->copies = (int)ldg_min(samples, PLACES), s->places = true;
  s->large = false; /* as one of them would be */
}

/* Each copy starts `shift` bytes after the start of a page, or so many lines further in its page than the one before. */
static bool open_places(sampler *s, place_file *in, place *at, int64_t lo, int64_t hi, int64_t shift, int64_t lines, int64_t *step) {
  *step = ((hi - lo + shift + PLACE_PAGE - 1) & -PLACE_PAGE) + (s->places ? 64 * lines : 0);
  return place_open_in(at, lo, hi + (s->copies - 1) * *step, shift, s->large ? PLACE_LARGE : 0, s->shared ? in : NULL);
}

/* What a guest does not need comes last. */
static bool map_copies(sampler *s, bool with_other) {
  const problem *p = s->p;
  place_file in = { .fd = s->shared };
  int64_t mem = 0, packed = 0, other = 0;
  if (!open_places(s, &in, &s->packed, 0, p->size, PACKED_SHIFT, PACKED_ON, &packed)) return false;
  if (p->type && !open_places(s, &in, &s->mem, p->lo, p->hi, p->shift, ARRAY_ON, &mem)) return false;
  if (with_other && !open_places(s, &in, &s->other, 0, p->size, 0, OTHER_ON, &other)) return false;
  for (int i = 0; i < s->copies; i++)
    s->copy[i] = (copy){ p->type ? s->mem.base + i * mem : NULL, s->packed.base + i * packed, with_other ? s->other.base + i * other : NULL };
  return true;
}

/* Prefetchers know the way from one copy to the next if it is always the same, and so foresee what a call loads by the calls before it, where each instruction
 * loads once a call, as in loops that a compiler unrolled; a program whose messages lie one after the other has that, too, but it is not what is measured here. The
 * order depends on how many there are alone: helpers find copies by their numbers, and two samplers of as many go in step. */
static void shuffle(sampler *s) {
  uint64_t seed = 11;
  for (int i = s->copies - 1; i > 0; i--) {
    const int j = (int)(splitmix64(&seed) % (uint64_t)(i + 1));
    const copy c = s->copy[i];
    s->copy[i] = s->copy[j], s->copy[j] = c;
  }
}

bool sampler_open(sampler *s, bool with_other) {
  uint64_t seed = 7;
  s->copy = bench_alloc(s->copies * (int64_t)sizeof *s->copy);
  bool ok = map_copies(s, with_other);
  for (int i = 0; ok && !s->guest && i < s->copies; i++) ok = fill(&s->copy[i], s->p, &seed);
  if (ok && !s->places) shuffle(s);
  if (!ok) sampler_close(s);
  return ok;
}

void sampler_close(sampler *s) {
  place_close(&s->mem);
  place_close(&s->packed);
  place_close(&s->other);
  if (s->shared && !s->guest) (void)!ftruncate(s->shared, 0); /* gives its pages back */
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
  if (s->copies == 1 || s->places)
    for (const double start = now_ns(); now_ns() - start < WARM_NS;) run(s, 1 + reps / 8);
  return timed(s, run, reps) / (double)reps;
}

int64_t sampler_calibrate(sampler *s, batch *run) {
  int64_t reps = 1;
  run(s, s->copies);
  for (;;) {
    double t = timed(s, run, reps);
    if (t >= s->min_ns) { /* an interruption during one call may last as long: believed at once, that call alone would be every sample */
      const double again = timed(s, run, reps);
      if (again >= s->min_ns) return reps;
      t = again;
    }
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
  const double middle = (ns[(n - 1) / 2] + ns[n / 2]) / 2;
  return (timing){ least_counts ? ns[0] : middle, ns[n / 4], ns[n - 1 - n / 4] };
}
