/* base: the measured model in use, and how costs are interpolated from it. */
#include "base_model.h"

#include "base_cpu.h"

#include <stdio.h>

/* Where the makers of processors differ (libraries' memcpy, stores past the caches), a table measured on another one's misleads. */
static const ldg_model builtin_intel = {
#include "base_model_intel.inc"
#include "base_model_device.inc"
};
static const ldg_model builtin_amd = {
#include "base_model_amd.inc"
#include "base_model_device.inc"
};
static const ldg_model builtin_zen5 = {
#include "base_model_zen5.inc"
#include "base_model_device.inc"
};
static const ldg_model *builtin(void) {
  const int family = ldg_cpu_amd_family();
  return !family ? &builtin_intel : family < 0x1a ? &builtin_amd : &builtin_zen5;
}

/* ---- the model in use ---- */

static ldg_model found;
static _Atomic(const ldg_model *) current, settled;
static _Atomic bool begun;

/* Footprints halfway into each cache, and one far beyond the last. Of the last cache one core of many gets a share only. */
ldg_model ldg_model_builtin(void) {
  ldg_model m = *builtin();
  int64_t *l = m.level;
  l[LDG_MODEL_L1] = ldg_cpu_cache(1) / 2;
  l[LDG_MODEL_L2] = ldg_max(ldg_cpu_cache(2) / 2, 2 * l[LDG_MODEL_L1]);
  l[LDG_MODEL_L3] = ldg_max(ldg_min(ldg_cpu_cache(3) / 2, 16 << 20), 2 * l[LDG_MODEL_L2]);
  l[LDG_MODEL_MEMORY] = ldg_max(256 << 20, 2 * l[LDG_MODEL_L3]);
  if (!ldg_cpu_has("v4")) m.number[LDG_MODEL_WRITTEN] = m.number[LDG_MODEL_PACE] = 0; /* Intel's, and AMD's, were found there; who else has their tables was not measured, and ARM's processors have not been */
  if (!ldg_cpu_has("v4") && ldg_cpu_amd_family() == 0x19) m.number[LDG_MODEL_STREAM] = 8 << 20; /* Zen 3's; the table is Zen 4's */
  if (!ldg_cpu_has("v3") && !ldg_cpu_amd_family()) m.number[LDG_MODEL_LIBC] = 16 << 10; /* loops of narrow registers */
  if (!ldg_cpu_has("v3") && !ldg_cpu_has("neon")) m.number[LDG_MODEL_WINDOW] = 360; /* those of 16 bytes: AMD's, with LADING_ISA=v2 */
  return m;
}

bool ldg_model_assumes_devices(void) {
  const ldg_model *m = ldg_model_get(), *b = builtin();
  return m->launch == b->launch && m->handover == b->handover && !memcmp(m->kernel, b->kernel, sizeof b->kernel) && !memcmp(m->transfer, b->transfer, sizeof b->transfer);
}

static void find(void) {
  char path[1024];
  const char *why = "there is no folder for it";
  found = ldg_model_builtin();
  const bool any = ldg_model_path(path, sizeof path);
  if (any) why = ldg_model_load(path, &found);
  const char *verbose = ldg_option_get(LDG_OPT_VERBOSE);
  if (why && verbose && *verbose > '0') fprintf(stderr, "lading: model %s: %s; the built-in numbers are used\n", any ? path : "file", why);
}

/* Who comes while another thread reads the file goes on without it: no lock, also not over a fork. */
static const ldg_model *first_use(void) {
  if (atomic_exchange_explicit(&begun, true, memory_order_relaxed)) return builtin();
  find();
  const ldg_model *none = NULL;
  atomic_store_explicit(&settled, &found, memory_order_release);
  atomic_compare_exchange_strong_explicit(&current, &none, &found, memory_order_acq_rel, memory_order_acquire);
  return none ? none : &found;
}

const ldg_model *ldg_model_get(void) {
  const ldg_model *m = atomic_load_explicit(&current, memory_order_acquire);
  return m ? m : first_use();
}

void ldg_model_use(const ldg_model *m) {
  ldg_model_get();
  if (!m) m = atomic_load_explicit(&settled, memory_order_acquire);
  if (m) atomic_store_explicit(&current, m, memory_order_release);
}

/* ---- interpolation ---- */

/* log2 of x >= 1, between powers of two by the straight line; exact at them. The exponent and the fraction of a double are that. */
static inline double lg(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (double)((int64_t)(bits >> 52) - 1023) + (double)(int64_t)(bits & 0xfffffffffffffu) * 0x1p-52;
}

/* A place on an axis: between points i and i + 1, share t of the way. */
typedef struct spot { int i; double t; } spot;

static inline spot on_powers(int64_t x, int points) {
  const double y = lg((double)ldg_max(x, 1));
  const int i = (int)y;
  return i >= points - 1 ? (spot){ points - 2, 1.0 } : (spot){ i, y - i };
}

static inline spot on_levels(const int64_t *level, double footprint) {
  if (footprint <= (double)level[0]) return (spot){ 0, 0.0 };
  if (footprint >= (double)level[LDG_MODEL_LEVELS - 1]) return (spot){ LDG_MODEL_LEVELS - 2, 1.0 };
  int i = 0;
  while (footprint >= (double)level[i + 1]) i++;
  const double y = lg((double)level[i]);
  return (spot){ i, (lg(footprint) - y) / (lg((double)level[i + 1]) - y) };
}

static inline double between(double a, double b, double t) { return a + t * (b - a); }
static inline double along(const int64_t *row, spot s) { return between((double)row[s.i], (double)row[s.i + 1], s.t); }

/* ns from rows of `points` powers of two, one row a level; bytes beyond the last point cost what its bytes do */
static double on_grid(const int64_t *rows, int points, int64_t x, const int64_t *level, double footprint) {
  const spot p = on_powers(x, points), f = on_levels(level, footprint);
  const double ps = between(along(rows + f.i * points, p), along(rows + (f.i + 1) * points, p), f.t);
  const int64_t last = (int64_t)1 << (points - 1);
  return x > last ? ps * 1e-3 * ((double)x / (double)last) : ps * 1e-3;
}

double ldg_model_footprint(int level) { return (double)ldg_model_get()->level[level]; }

/* ns by one row of `points` powers of two */
static double on_row(const int64_t *row, int points, int64_t x) {
  const int64_t last = (int64_t)1 << (points - 1);
  const double ps = along(row, on_powers(x, points));
  return x > last ? ps * 1e-3 * ((double)x / (double)last) : ps * 1e-3;
}

double ldg_model_copy(int64_t bytes) { return on_row(ldg_model_get()->copy, LDG_MODEL_COPIES, bytes); }

double ldg_model_kernel(int kernel, int side, int stride, int64_t block) {
  const int row = (kernel * LDG_MODEL_SIDES + side) * LDG_MODEL_STRIDES + stride;
  return on_row(ldg_model_get()->kernel + row * LDG_MODEL_BLOCKS, LDG_MODEL_BLOCKS, block);
}

int64_t ldg_model_parts(double ns, int64_t ways) {
  const double least = ldg_model_ns(LDG_MODEL_PART), most = least > 0 ? ns / least : (double)ways;
  return most < (double)ways ? (int64_t)most : ways;
}

double ldg_model_launch(void) { return (double)ldg_model_get()->launch * 1e-3; }
double ldg_model_handover(void) { return (double)ldg_model_get()->handover * 1e-3; }

double ldg_model_transfer(int way, int64_t bytes) {
  return on_row(ldg_model_get()->transfer + way * LDG_MODEL_COPIES, LDG_MODEL_COPIES, bytes);
}

double ldg_model_block(int side, int stride, int64_t block, double footprint) {
  const ldg_model *m = ldg_model_get();
  const int64_t *rows = m->block + (side * LDG_MODEL_STRIDES + stride) * LDG_MODEL_LEVELS * LDG_MODEL_BLOCKS;
  return on_grid(rows, LDG_MODEL_BLOCKS, block, m->level, footprint);
}

double ldg_model_list(int side, int64_t block, double footprint) {
  const ldg_model *m = ldg_model_get();
  return on_grid(m->list + side * LDG_MODEL_LEVELS * LDG_MODEL_BLOCKS, LDG_MODEL_BLOCKS, block, m->level, footprint);
}

double ldg_model_transpose(int64_t width, double footprint) {
  const ldg_model *m = ldg_model_get();
  return on_grid(m->transpose, LDG_MODEL_WIDTHS, width, m->level, footprint);
}

double ldg_model_odd(int which, int64_t block) {
  if (block < 3 || !(block & (block - 1))) return 0;
  const int e = 63 - __builtin_clzll((uint64_t)block);
  return (double)ldg_model_get()->odd[which * LDG_MODEL_BLOCKS + ldg_min(e, LDG_MODEL_BLOCKS - 1)] * 1e-3;
}

double ldg_model_ns(ldg_model_name n) { return (double)ldg_model_get()->number[n] * 1e-3; }

double ldg_model_shuffle(double footprint) {
  const spot f = on_levels(ldg_model_get()->level, footprint);
  const double near = ldg_model_ns(LDG_MODEL_SHUFFLE), far = ldg_model_ns(LDG_MODEL_SHUFFLE_FAR);
  return between(near, far > near ? far : near, f.i > LDG_MODEL_L1 ? 1 : f.t);
}
