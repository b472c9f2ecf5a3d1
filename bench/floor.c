/* floor: lines are marked in a bitmap over the array; the rate is that of memcpy at the same footprint. */
#include "floor.h"

#define RUNS_MAX ((int64_t)1 << 22)
#define WINDOWS 64                          /* of a message with more runs */
#define BITMAP_SPAN ((int64_t)1 << 34)      /* bytes of array */
#define EXACT ((int64_t)4096)               /* smaller footprints are measured as they are, larger ones by quarters of an octave */
#define TRAFFIC_MAX ((int64_t)1 << 30)      /* of all copies: beyond every cache, the rate stays as it is */
#define L1 ((int64_t)32 << 10)
#define ENOUGH_NS 5e8                       /* of samples of one class */
#define CHEAP ((int64_t)1 << 21)            /* bytes that are copied soon enough */
#define CLASSES 512

/* ---- lines -------------------------------------------------------------------------------------------------------- */

typedef struct marks {
  uint64_t *bits;           /* one a line of the array; NULL: only the last line is remembered */
  int64_t last, lines, bytes, line;
} marks;

static void mark(marks *m, int64_t line) {
  if (line == m->last) return;
  m->last = line;
  if (m->bits) {
    uint64_t *word = &m->bits[line / 64], bit = UINT64_C(1) << line % 64;
    if (*word & bit) return;
    *word |= bit;
  }
  m->lines++;
}

/* Up to `runs` runs from packed byte `from` on; `zero` is the offset of line 0. */
static void mark_runs(marks *m, const ldg_rep *items, int64_t zero, int64_t from, int64_t runs) {
  ldg_cursor c;
  int64_t off, len;
  ldg_cursor_seek(&c, items, from);
  while (runs-- > 0 && ldg_cursor_run(&c, &off, &len)) {
    for (int64_t line = (off - zero) / m->line; line <= (off + len - 1 - zero) / m->line; line++) mark(m, line);
    m->bytes += len;
  }
}

static void mark_samples(marks *m, const problem *p, const ldg_rep *items, int64_t zero) {
  for (int64_t i = 0; i < WINDOWS; i++) mark_runs(m, items, zero, p->size / WINDOWS * i, RUNS_MAX / WINDOWS);
}

static int64_t array_lines(const problem *p, const ldg_rep *items, int64_t line) {
  const int64_t zero = p->lo - p->shift, all = (p->hi - zero) / line + 1; /* see place_open: there a page starts */
  marks m = { .last = -1, .line = line };
  if (p->hi - zero <= BITMAP_SPAN) m.bits = bench_alloc((all / 64 + 1) * 8);
  if (p->runs <= RUNS_MAX) mark_runs(&m, items, zero, 0, RUNS_MAX);
  else mark_samples(&m, p, items, zero);
  ldg_free(m.bits);
  if (m.bytes < p->size) m.lines = (int64_t)((double)m.lines * ((double)p->size / (double)m.bytes));
  return ldg_min(m.lines, all);
}

int64_t floor_lines(const problem *p, int64_t line) {
  ldg_rep items;
  if (!p->size || ldg_rep_repeat_in(&items, p->count, p->info.extent, p->type->rep) != LADING_OK) return 0;
  return array_lines(p, &items, line) + (p->size + line - 1) / line;
}

/* ---- memcpy ------------------------------------------------------------------------------------------------------- */

void floor_memcpy(sampler *s, int64_t reps) {
  while (reps-- > 0) {
    const copy *c = sampler_turn(s);
    memcpy(c->other, c->packed, (size_t)s->p->size);
  }
}

static int64_t size_class(int64_t bytes) {
  int64_t step = EXACT / 4;
  if (bytes <= EXACT) return bytes;
  while (4 * step < bytes / 2) step *= 2;
  return (bytes + step - 1) / step * step;
}

static int copies_class(int64_t bytes, int copies) {
  int c = 1;
  while (2 * c <= copies && 2 * c * 2 * bytes <= TRAFFIC_MAX) c *= 2;
  return c;
}

static double measure_memcpy(int64_t bytes, int copies, const sampler *like, int samples) {
  const problem stream = { .size = bytes, .hi = bytes };
  static double ns[SAMPLES_MAX];
  sampler s = { .p = &stream, .min_ns = like->min_ns, .shared = like->shared };
  if (!sampler_size(&s, TRAFFIC_MAX, 2 * bytes, 1)) return 0;
  s.copies = (int)ldg_min(copies, s.copies);
  if (!sampler_open(&s, true)) return 0;
  const int64_t reps = sampler_calibrate(&s, floor_memcpy);
  int n = 0;
  for (double spent = 0; n < samples && (n < 3 || spent < ENOUGH_NS); n++) {
    ns[n] = sampler_time(&s, floor_memcpy, reps);
    spent += ns[n] * (double)reps;
  }
  sampler_close(&s);
  return sampler_stats(ns, n).ns;
}

/* A slow moment of the machine must not make a low floor for all problems of a class: while it is cheap the class is measured
 * again for each of them, and the fastest counts. */
double floor_traffic_ns(const sampler *like, int64_t lines, int samples) {
  static struct { int64_t bytes; int copies; double ns; } known[CLASSES];
  static int n;
  const int64_t half = lines * FLOOR_LINE / 2, bytes = ldg_min(size_class(half), TRAFFIC_MAX / 2);
  const int copies = copies_class(bytes, like->copies);
  if (!lines) return 0;
  int i = 0;
  while (i < n && (known[i].bytes != bytes || known[i].copies != copies)) i++;
  if (i == CLASSES) i = --n; /* the last one makes room */
  const bool fresh = i == n;
  if (fresh || bytes * copies <= CHEAP) {
    const double ns = measure_memcpy(bytes, copies, like, samples);
    known[i].bytes = bytes;
    known[i].copies = copies;
    if (fresh || ns < known[i].ns) known[i].ns = ns;
  }
  n += fresh;
  return known[i].ns * (double)half / (double)bytes;
}

double floor_least_ns(int64_t lines, double traffic_ns, double memcpy_ns) {
  return lines * FLOOR_LINE <= L1 && memcpy_ns > traffic_ns ? memcpy_ns : traffic_ns;
}
