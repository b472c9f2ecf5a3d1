/* calibrate: every point of the model's table, by the kernels themselves. A point is measured in many rounds, spread over the
 * whole run, and the least counts: what disturbs a measurement only ever adds to it. */
#include "calibrate.h"
#include "base_cpu.h"
#include "base_model.h"
#include "calibrate_numbers.h"
#include "place.h"
#include "problem.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define POOL ((int64_t)320 << 20)    /* on either side; cold samples go round in it */
#define WINDOW ((int64_t)2 << 20)    /* bytes of lines that a cold sample touches */
#define SLACK ((int64_t)32 << 20)    /* behind a pool, so that samples can begin anywhere in it */
#define STEP ((int64_t)17 * 64)      /* between sparse cold samples: beside no line of the last ones, nor one that was prefetched */
#define SAMPLE_NS 20e3
#define ROUNDS_MIN 3
#define UNKNOWN INT64_MAX

double calibrate_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- one measurement ------------------------------------------------------------------------------------------------- */

static double repeat(const ldg_job *j, const char *src, char *dst, int64_t n, int64_t reps) {
  const double start = calibrate_now();
  for (int64_t i = 0; i < reps; i++) {
    j->run(j, src, dst, 0, n);
    __asm__ volatile("" ::: "memory");
  }
  return (calibrate_now() - start) / (double)reps;
}

double calibrate_warm(const ldg_job *j, const char *src, char *dst, int64_t n) {
  repeat(j, src, dst, n, 1);
  const double once = repeat(j, src, dst, n, 2);
  const int64_t reps = once < SAMPLE_NS / 2 ? (int64_t)(SAMPLE_NS / (once + 1)) + 1 : 1;
  double least = once;
  for (int i = 0; i < 3; i++) least = fmin(least, repeat(j, src, dst, n, reps));
  return least;
}

/* Every run begins where no line was touched since the pools went round. */
static double cold(const bench_pools *p, const ldg_job *j, bool reads, int64_t n, int64_t strided_step, int64_t dense_step) {
  static int64_t turn[2];
  double least = 1e18;
  for (int i = 0; i < 2; i++) {
    char *strided = p->strided + turn[0], *dense = p->dense + turn[1];
    turn[0] = (turn[0] + strided_step) % p->bytes, turn[1] = (turn[1] + dense_step) % p->bytes;
    least = fmin(least, repeat(j, reads ? strided : dense, reads ? dense : strided, n, 1));
  }
  return least;
}

static void take(int64_t *best, double ns) {
  const int64_t ps = (int64_t)fmax(1, ns * 1e3 + 0.5);
  if (ps < *best) *best = ps;
}

/* ---- strided blocks ---------------------------------------------------------------------------------------------------- */

static int64_t lines(int64_t bytes) { return (bytes + 63) & -64; }

/* Strides of a class, an odd number of lines, so that they use all sets of a cache. */
static int64_t stride_of(int class, int64_t b) {
  if (class == LDG_MODEL_NEAR) return b + ldg_min(b, 56);
  return (lines(b) | 64) + (class == LDG_MODEL_LINE ? 128 : 4096);
}

static bool strided_job(ldg_job *j, int side, int64_t b, int64_t stride, int64_t n) {
  ldg_nest nest = { .block = b, .nd = 1, .dim = { { n, stride, b } }, .once = true }; /* one kernel, and not the best one of those that are tried */
  if (side == LDG_MODEL_WRITE) nest = ldg_nest_swapped(nest);
  return ldg_plan_nest(j, &nest, "block", NULL) && !strcmp(j->name, "block");
}

/* ns a block */
static double block_ns(const bench_pools *p, int side, int class, int64_t b, int level) {
  const int64_t stride = stride_of(class, b), each = class == LDG_MODEL_NEAR ? stride : lines(b);
  const int64_t most = level == LDG_MODEL_MEMORY ? WINDOW : p->level[level];
  const int64_t n = ldg_max(1, ldg_min(most / (each + b), p->bytes / 2 / stride));
  const bool reads = side == LDG_MODEL_READ;
  ldg_job j;
  if (!strided_job(&j, side, b, stride, n)) return 0;
  double ns;
  if (level != LDG_MODEL_MEMORY) ns = calibrate_warm(&j, reads ? p->strided : p->dense, reads ? p->dense : p->strided, n);
  else ns = cold(p, &j, reads, n, class == LDG_MODEL_PAGE ? STEP : n * stride, lines(n * b));
  return fmax(0, ns - p->call) / (double)n;
}

static void blocks(const bench_pools *p, ldg_model *m) {
  int64_t *v = m->block;
  for (int side = 0; side < LDG_MODEL_SIDES; side++)
    for (int class = 0; class < LDG_MODEL_STRIDES; class++)
      for (int level = 0; level < LDG_MODEL_LEVELS; level++)
        for (int e = 0; e < LDG_MODEL_BLOCKS; e++, v++) take(v, block_ns(p, side, class, (int64_t)1 << e, level));
}

/* ---- lists ----------------------------------------------------------------------------------------------------------- */

#define LIST_MAX ((int64_t)1 << 18)
typedef struct list { int64_t *at; int32_t *at4; int64_t n, span; } list;

/* Places of n blocks in random order, a line or more apart, out of `slots`. */
static list list_of(int64_t n, int64_t slots, int64_t step) {
  uint64_t seed = 11;
  list l = { bench_alloc(n * 8), bench_alloc(n * 4), n, slots * step };
  for (int64_t i = 0; i < n; i++) l.at[i] = (slots / n) * i * step; /* spread, then shuffled: none twice */
  for (int64_t i = n - 1; i > 0; i--) {
    const int64_t k = (int64_t)(splitmix64(&seed) % (uint64_t)(i + 1)), t = l.at[i];
    l.at[i] = l.at[k], l.at[k] = t;
  }
  for (int64_t i = 0; i < n; i++) l.at4[i] = (int32_t)l.at[i];
  return l;
}
static void list_free(list *l) { ldg_free(l->at), ldg_free(l->at4); }

static double list_ns(const bench_pools *p, const list *l, int side, int64_t b, bool is_cold) {
  ldg_nest nest = { .block = b, .nd = 1, .dim = { { l->n, 0, b } }, .at = l->at, .at4 = l->at4, .span = l->span, .once = true };
  if (side == LDG_MODEL_WRITE) nest = ldg_nest_swapped(nest);
  const bool reads = side == LDG_MODEL_READ;
  ldg_job j;
  if (!ldg_plan_nest(&j, &nest, "list", NULL) || strcmp(j.name, "list") != 0) return 0;
  double ns;
  if (!is_cold) ns = calibrate_warm(&j, reads ? p->strided : p->dense, reads ? p->dense : p->strided, l->n);
  else ns = cold(p, &j, reads, l->n, STEP, lines(l->n * b));
  return fmax(0, ns - p->call) / (double)l->n;
}

static void lists(const bench_pools *p, ldg_model *m) {
  for (int level = 0; level < LDG_MODEL_LEVELS; level++)
    for (int e = 0; e < LDG_MODEL_BLOCKS; e++) {
      const int64_t b = (int64_t)1 << e, step = lines(b);
      const bool is_cold = level == LDG_MODEL_MEMORY;
      const int64_t n = ldg_max(1, ldg_min(LIST_MAX, (is_cold ? WINDOW : p->level[level]) / (step + b)));
      list l = list_of(n, is_cold ? p->bytes / 2 / step : n, step);
      for (int side = 0; side < LDG_MODEL_SIDES; side++)
        take(&m->list[(side * LDG_MODEL_LEVELS + level) * LDG_MODEL_BLOCKS + e], list_ns(p, &l, side, b, is_cold));
      list_free(&l);
    }
}

/* ---- transposes ------------------------------------------------------------------------------------------------------- */

/* ns an element of w bytes; 0: there is no such kernel. Rows are padded by a line, against strides of a power of two. */
static double transpose_ns(const bench_pools *p, int64_t w, int level) {
  const bool is_cold = level == LDG_MODEL_MEMORY;
  const int64_t unit = ldg_max(16, 64 / w), most = is_cold ? WINDOW : p->level[level];
  const int64_t n = ldg_max(unit, (int64_t)sqrt((double)(most / 2 / w)) / unit * unit), row = lines(n * w) + 64;
  const ldg_nest nest = { .block = w, .nd = 2, .dim = { { n, row, w }, { n, w, n * w } } };
  ldg_job j;
  if (!ldg_plan_nest(&j, &nest, "transpose", NULL) || strcmp(j.name, "transpose") != 0) return 0;
  const double ns = is_cold ? cold(p, &j, true, n, lines(n * row), lines(n * n * w)) : calibrate_warm(&j, p->strided, p->dense, n);
  return fmax(0, ns - p->call) / (double)(n * n);
}

static void transposes(const bench_pools *p, ldg_model *m) {
  for (int level = 0; level < LDG_MODEL_LEVELS; level++)
    for (int e = 0; e < LDG_MODEL_WIDTHS; e++) {
      const double ns = transpose_ns(p, (int64_t)1 << e, level);
      if (ns > 0) take(&m->transpose[level * LDG_MODEL_WIDTHS + e], ns);
    }
}

/* ---- the rest -------------------------------------------------------------------------------------------------------- */

static void copies(const bench_pools *p, ldg_model *m) {
  for (int e = 0; e < LDG_MODEL_COPIES; e++) {
    const ldg_nest nest = { .block = (int64_t)1 << e, .nd = 1, .once = true, .dim = { { 1, (int64_t)1 << e, (int64_t)1 << e } } };
    ldg_job j;
    if (nest.block <= p->bytes && ldg_plan_nest(&j, &nest, "memcpy", NULL)) take(&m->copy[e], calibrate_warm(&j, p->strided, p->dense, 1));
  }
}

/* Lengths halfway between powers of two, in cache; what they take more is known when all is. */
static void odds(const bench_pools *p, ldg_model *m) {
  for (int e = 1; e < LDG_MODEL_BLOCKS; e++) {
    const int64_t b = (int64_t)3 << (e - 1);
    for (int side = 0; side < LDG_MODEL_SIDES; side++)
      take(&m->odd[side * LDG_MODEL_BLOCKS + e], block_ns(p, side, LDG_MODEL_NEAR, b, LDG_MODEL_L1));
    const double ns = e < LDG_MODEL_WIDTHS ? transpose_ns(p, b, LDG_MODEL_L1) : 0;
    if (ns > 0) take(&m->odd[LDG_MODEL_ODD_TRANSPOSE * LDG_MODEL_BLOCKS + e], ns);
  }
}

static void excess(int64_t *odd, const int64_t *even, int points) {
  for (int e = 0; e < LDG_MODEL_BLOCKS; e++)
    odd[e] = odd[e] == UNKNOWN || e + 1 >= points ? 0 : ldg_max(0, odd[e] - (even[e] + even[e + 1]) / 2);
}

/* Noise only adds, so a value above one of more bytes or of a larger footprint was disturbed, and takes that one. */
void calibrate_settle(int64_t *v, int rows, int points) {
  for (int r = rows - 1; r >= 0; r--)
    for (int e = points - 1; e >= 0; e--) {
      if (e + 1 < points) v[r * points + e] = ldg_min(v[r * points + e], v[r * points + e + 1]);
      if (r + 1 < rows) v[r * points + e] = ldg_min(v[r * points + e], v[(r + 1) * points + e]);
    }
}

/* Where there is no kernel: as dear as its bytes at the next smaller width. */
static void fill_widths(ldg_model *m) {
  for (int i = 1; i < LDG_MODEL_LEVELS * LDG_MODEL_WIDTHS; i++)
    if (m->transpose[i] == UNKNOWN) m->transpose[i] = i % LDG_MODEL_WIDTHS ? 2 * m->transpose[i - 1] : m->transpose[i - LDG_MODEL_WIDTHS];
}

static void finish(ldg_model *m) {
  fill_widths(m);
  calibrate_settle(m->copy, 1, LDG_MODEL_COPIES);
  calibrate_settle(m->transpose, LDG_MODEL_LEVELS, LDG_MODEL_WIDTHS);
  for (int i = 0; i < LDG_MODEL_SIDES * LDG_MODEL_STRIDES; i++)
    calibrate_settle(m->block + i * LDG_MODEL_LEVELS * LDG_MODEL_BLOCKS, LDG_MODEL_LEVELS, LDG_MODEL_BLOCKS);
  for (int i = 0; i < LDG_MODEL_SIDES; i++) calibrate_settle(m->list + i * LDG_MODEL_LEVELS * LDG_MODEL_BLOCKS, LDG_MODEL_LEVELS, LDG_MODEL_BLOCKS);
  for (int side = 0; side < LDG_MODEL_SIDES; side++)
    excess(m->odd + side * LDG_MODEL_BLOCKS, m->block + side * LDG_MODEL_STRIDES * LDG_MODEL_LEVELS * LDG_MODEL_BLOCKS, LDG_MODEL_BLOCKS);
  excess(m->odd + LDG_MODEL_ODD_TRANSPOSE * LDG_MODEL_BLOCKS, m->transpose, LDG_MODEL_WIDTHS);
}

/* ---- a whole calibration ------------------------------------------------------------------------------------------------ */

static bool open_pools(bench_pools *p, place mem[2]) {
  const int64_t fit = place_available() / 6;
  *p = (bench_pools){ .bytes = ldg_min(POOL, fit & -(1 << 20)) };
  for (int i = 0; i < 2; i++)
    if (!place_open(&mem[i], 0, p->bytes + SLACK + p->bytes / 2, 0, 0)) return false;
  p->strided = mem[0].base, p->dense = mem[1].base;
  memset(p->strided, 1, (size_t)(p->bytes + SLACK + p->bytes / 2));
  memset(p->dense, 1, (size_t)(p->bytes + SLACK));
  return p->bytes >= (int64_t)64 << 20;
}

static int measure(const bench_pools *p, ldg_model *m, double end) {
  int rounds = 0;
  double start = calibrate_now(), longest = 0;
  for (int64_t *v = (int64_t *)m; v < m->number; v++) *v = UNKNOWN; /* behind them stand numbers, and devices */
  memcpy(m->level, p->level, sizeof m->level);
  for (; rounds < ROUNDS_MIN || start + longest < end; rounds++) {
    copies(p, m), blocks(p, m), lists(p, m), transposes(p, m), odds(p, m);
    const double now = calibrate_now();
    longest = fmax(longest, now - start), start = now;
  }
  return rounds;
}

/* What `calibrate --device` measured stays, as the rest does there: what nobody measured is the same in all built-in tables. */
static void keep_devices(ldg_model *m, const ldg_model *used) {
  memcpy(m->kernel, used->kernel, sizeof m->kernel);
  memcpy(m->transfer, used->transfer, sizeof m->transfer);
  m->launch = used->launch, m->handover = used->handover;
}

static bool make_folders(char *path) {
  for (char *s = path + 1; *s; s++) {
    if (*s != '/') continue;
    *s = 0;
    const bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
    *s = '/';
    if (!made) return false;
  }
  return true;
}

enum { TEMP = 4200 };
static FILE *open_beside(const char *path, char temp[TEMP]) {
  snprintf(temp, TEMP, "%s.%ld", path, (long)getpid());
  return fopen(temp, "w");
}

static bool is_writable(const char *path) {
  char temp[TEMP];
  struct stat s;
  if (stat(path, &s) == 0 && S_ISDIR(s.st_mode)) return errno = EISDIR, false;
  FILE *f = open_beside(path, temp);
  if (f) fclose(f), unlink(temp);
  return f != NULL;
}

/* Readers see the old file or the new one. */
static bool write_file(const char *path, const char *text, size_t n) {
  char temp[TEMP];
  FILE *f = open_beside(path, temp);
  if (!f) return false;
  bool ok = fwrite(text, 1, n, f) == n;
  ok = fflush(f) == 0 && fsync(fileno(f)) == 0 && ok;
  ok = fclose(f) == 0 && ok;
  if (ok && rename(temp, path) == 0) return true;
  unlink(temp);
  return false;
}

static int cannot_write(const char *path) {
  fprintf(stderr, "lbench: cannot write %s: %s\n", path, strerror(errno));
  return 1;
}

int calibrate_target(const char **path) {
  static char own[4096];
  if (!*path) {
    if (!ldg_model_path(own, sizeof own)) return fprintf(stderr, "lbench: no folder for the model; name a file with --out\n"), 2;
    if (!make_folders(own)) return fprintf(stderr, "lbench: cannot make the folder of %s\n", own), 1;
    *path = own;
  }
  return is_writable(*path) ? 0 : cannot_write(*path);
}

int calibrate_save(const ldg_model *m, const char *path) {
  static char text[LDG_MODEL_TEXT_MAX];
  char line[LDG_CPU_LINE];
  ldg_text t;
  ldg_model again;
  ldg_text_init(&t, text, sizeof text);
  ldg_cpu_fingerprint(line);
  ldg_model_print(m, line, &t);
  const char *why = ldg_model_read(text, t.len, line, &again);
  if (why) return fprintf(stderr, "lbench: what was measured is no model: %s\n", why), 1;
  if (!write_file(path, text, (size_t)t.len)) return cannot_write(path);
  printf("model of %s\nwritten to %s\n", line, path);
  return 0;
}

int calibrate_machine(const char *path, double seconds) {
  const double start = calibrate_now();
  place mem[2] = { { 0 } };
  bench_pools p;
  ldg_model m;
  const int bad = calibrate_target(&path);
  if (bad) return bad;
  if (!open_pools(&p, mem)) return fprintf(stderr, "lbench: there is not enough memory to calibrate\n"), 1;
  m = ldg_model_builtin();
  keep_devices(&m, ldg_model_get());
  memcpy(p.level, m.level, sizeof p.level);
  m.number[LDG_MODEL_LANES] = calibrate_lanes(&p);
  m.number[LDG_MODEL_WRITTEN] = calibrate_written(&p);
  m.number[LDG_MODEL_MASKED] = calibrate_masked(&p);
  m.number[LDG_MODEL_JOINED] = calibrate_joined(&p);
  const ldg_model which = m; /* says which kernels are measured from here on */
  ldg_model_use(&which);
  p.call = calibrate_call(&p);
  const int rounds = measure(&p, &m, start + seconds * 1e9);
  finish(&m);
  calibrate_numbers(&p, &m);
  ldg_model_use(NULL);
  const int status = calibrate_save(&m, path);
  if (!status) printf("%d rounds, %.0f s\n", rounds, (calibrate_now() - start) / 1e9);
  place_close(&mem[0]), place_close(&mem[1]);
  return status;
}
