/* model: the file of the measured model, whole or not at all; interpolation; and that decisions follow the table. */
#include "random_types.h"
#include "api.h"
#include "base_cpu.h"
#include "base_model.h"
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *const machine = "a machine of the test, caches 1 2 3";

static int64_t print_model(const ldg_model *m, const char *on, char *text) {
  ldg_text t;
  ldg_text_init(&t, text, LDG_MODEL_TEXT_MAX);
  ldg_model_print(m, on, &t);
  ck_assert_int_lt(t.len, LDG_MODEL_TEXT_MAX);
  return t.len;
}

static bool same(const ldg_model *a, const ldg_model *b) { return memcmp(a, b, sizeof *a) == 0; }

/* A model like no other, all values in order. */
static ldg_model strange(int64_t salt) {
  ldg_model m = ldg_model_builtin();
  int64_t *v = (int64_t *)&m;
  for (int64_t i = LDG_MODEL_LEVELS; i < (int64_t)(sizeof m / sizeof *v); i++) v[i] = salt + i;
  return m;
}

static void refused(const char *text, int64_t n, const char *on) {
  const ldg_model before = strange(77);
  ldg_model m = before;
  const char *why = ldg_model_read(text, n, on, &m);
  ck_assert_msg(why != NULL, "taken: the first %d bytes of a damaged file", (int)n);
  ck_assert_msg(same(&m, &before), "refused (%s), but the model changed", why);
}

/* ---- reading ---- */

START_TEST(goes_round) {
  char text[LDG_MODEL_TEXT_MAX], again[LDG_MODEL_TEXT_MAX], line[LDG_CPU_LINE];
  const ldg_model models[] = { ldg_model_builtin(), strange(1), strange(123456789) };
  for (int i = 0; i < 3; i++) {
    ldg_model m = strange(3);
    const int64_t n = print_model(&models[i], machine, text);
    const char *why = ldg_model_read(text, n, machine, &m);
    ck_assert_msg(!why, "refused: %s", why);
    ck_assert(same(&m, &models[i]));
    ck_assert_int_eq(print_model(&m, machine, again), n);
    ck_assert_int_eq(memcmp(text, again, (size_t)n), 0);
  }
  ldg_cpu_fingerprint(line);
  ck_assert_int_gt((int64_t)strlen(line), 10);
  ck_assert_ptr_null(strchr(line, '\n'));
}
END_TEST

START_TEST(truncated_anywhere) {
  char text[LDG_MODEL_TEXT_MAX];
  const ldg_model m = strange(5);
  const int64_t n = print_model(&m, machine, text);
  for (int64_t k = 0; k < n; k++) {
    char *part = malloc((size_t)k + 1); /* its own block, so that the address sanitizer sees reads past its end */
    memcpy(part, text, (size_t)k);
    refused(part, k, machine);
    free(part);
  }
}
END_TEST

START_TEST(damaged_anywhere) {
  char text[LDG_MODEL_TEXT_MAX];
  const ldg_model m = strange(5);
  const int64_t n = print_model(&m, machine, text);
  rng r = rng_of(3);
  for (int64_t k = 0; k < n; k++) {
    const char was = text[k];
    do text[k] = (char)rng_in(&r, 0, 255); while (text[k] == was);
    refused(text, n, machine);
    text[k] = was == '7' ? '8' : '7';
    refused(text, n, machine);
    text[k] = was;
  }
  text[n] = '\n';
  refused(text, n + 1, machine);
}
END_TEST

START_TEST(of_elsewhere) {
  char text[LDG_MODEL_TEXT_MAX];
  const ldg_model m = strange(5);
  int64_t n = print_model(&m, machine, text);
  refused(text, n, "a machine of the test, caches 1 2 4");
  refused(text, n, "a machine of the test, caches 1 2 33");
  refused(text, n, "a machine of the test, caches 1 2 ");
  refused(text, n, "");
  const char *rest = strchr(text, '\n');
  char other[LDG_MODEL_TEXT_MAX];
  n = snprintf(other, sizeof other, "lading model %d%s", LDG_MODEL_VERSION + 1, rest);
  refused(other, n, machine);
}
END_TEST

/* Whole, sealed, and nonsense. */
static void nonsense(int64_t at, int64_t value) {
  char text[LDG_MODEL_TEXT_MAX];
  ldg_model m = strange(1000);
  ((int64_t *)&m)[at] = value;
  refused(text, print_model(&m, machine, text), machine);
}

START_TEST(makes_no_sense) {
  const int64_t copy = offsetof(ldg_model, copy) / 8, block = offsetof(ldg_model, block) / 8;
  nonsense(0, 0);                          /* no footprint */
  nonsense(LDG_MODEL_L2, 1);               /* levels fall */
  nonsense(copy + 3, 0);                   /* free of charge */
  nonsense(copy + 3, -5);
  nonsense(copy + 3, INT64_MAX);
  nonsense(copy + 8, 1);                   /* more bytes for less */
  nonsense(block + 5, 1);
  nonsense(block + LDG_MODEL_BLOCKS, 1);   /* farther for less */
}
END_TEST

/* ---- files ---- */

static char folder[64];
static const char *file_of(const char *text, int64_t n) {
  static char path[128];
  if (!*folder) {
    strcpy(folder, "/tmp/lading-model-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
  }
  snprintf(path, sizeof path, "%s/model", folder);
  FILE *f = fopen(path, "w");
  ck_assert(f && fwrite(text, 1, (size_t)n, f) == (size_t)n && fclose(f) == 0);
  return path;
}
static void remove_files(void) {
  char path[128];
  if (!*folder) return;
  snprintf(path, sizeof path, "%s/model", folder);
  unlink(path);
  snprintf(path, sizeof path, "%s/said", folder);
  unlink(path);
  rmdir(folder);
  *folder = 0;
}

static void not_loaded(const char *path) {
  const ldg_model before = strange(9);
  ldg_model m = before;
  ck_assert_ptr_nonnull(ldg_model_load(path, &m));
  ck_assert(same(&m, &before));
}

START_TEST(files) {
  char text[LDG_MODEL_TEXT_MAX], line[LDG_CPU_LINE];
  const ldg_model good = strange(5);
  ldg_model m;
  ldg_cpu_fingerprint(line);
  const int64_t n = print_model(&good, line, text);
  ck_assert_ptr_null(ldg_model_load(file_of(text, n), &m));
  ck_assert(same(&m, &good));
  not_loaded(file_of(text, n - 1));
  not_loaded(file_of(text, 0));
  not_loaded(file_of(text, print_model(&good, machine, text)));
  char *long_one = calloc(1, 1 << 20);
  not_loaded(file_of(long_one, 1 << 20));
  free(long_one);
  not_loaded(folder);
  not_loaded("/nowhere/at/all");
  not_loaded("");
  remove_files();
}
END_TEST

/* A process of its own, as options are read once: what the library uses with this file, and whether it says so. */
static int with_file(const char *path, const ldg_model *expected, bool verbose) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("LADING_MODEL", path, 1);
    setenv("LADING_VERBOSE", verbose ? "1" : "0", 1);
    char said[128];
    snprintf(said, sizeof said, "%s/said", folder);
    if (!freopen(said, "w", stderr)) _exit(2);
    const bool right = same(ldg_model_get(), expected);
    fclose(stderr);
    struct stat st;
    if (stat(said, &st) != 0) _exit(2);
    _exit(right ? st.st_size > 0 : 3);
  }
  int status = -1;
  ck_assert(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}

START_TEST(used_or_not) {
  char text[LDG_MODEL_TEXT_MAX], line[LDG_CPU_LINE];
  const char *fork_mode = getenv("CK_FORK");
  if (fork_mode && !strcmp(fork_mode, "no")) return; /* earlier tests have read the options of this process */
  const ldg_model good = strange(5), builtin = ldg_model_builtin();
  ldg_cpu_fingerprint(line);
  const int64_t n = print_model(&good, line, text);
  ck_assert_int_eq(with_file(file_of(text, n), &good, true), 0);
  ck_assert_int_eq(with_file(file_of(text, n - 1), &builtin, true), 1);
  ck_assert_int_eq(with_file(file_of(text, n - 1), &builtin, false), 0);
  ck_assert_int_eq(with_file("/nowhere/at/all", &builtin, true), 1);
  ck_assert_int_eq(with_file("builtin", &builtin, false), 0);
  ck_assert_int_eq(with_file(file_of(text, print_model(&good, machine, text)), &builtin, true), 1);
  remove_files();
}
END_TEST

/* ---- interpolation ---- */

static double block_at(int which, int64_t x, double f) { return ldg_model_block(which / 3, which % 3, x, f); }
static double list_at(int which, int64_t x, double f) { return ldg_model_list(which, x, f); }
static double transpose_at(int which, int64_t x, double f) { (void)which; return ldg_model_transpose(x, f); }
static double copy_at(int which, int64_t x, double f) { (void)which, (void)f; return ldg_model_copy(x); }
static double kernel_at(int which, int64_t x, double f) { (void)f; return ldg_model_kernel(which / 6, which / 3 % 2, which % 3, x); }
static double transfer_at(int which, int64_t x, double f) { (void)f; return ldg_model_transfer(which, x); }
typedef struct surface { double (*at)(int, int64_t, double); int which; bool flat; } surface; /* flat: whatever the footprint */
static const surface surfaces[] = { { block_at, 6, false }, { list_at, 2, false }, { transpose_at, 1, false }, { copy_at, 1, true }, { kernel_at, 18, true }, { transfer_at, 2, true } };

static void never_falls(const surface *s, int which) {
  double row[400] = { 0 };
  for (double f = 1; f < (s->flat ? 2 : 1e13); f *= 1.37) {
    double last = 0;
    int i = 0;
    for (int64_t x = 1; x < (int64_t)1 << 45; x += x / 11 + 1, i++) {
      const double ns = s->at(which, x, f);
      ck_assert_msg(ns > 0 && ns >= last * (1 - 1e-12), "falls along bytes: %g after %g at %lld", ns, last, (long long)x);
      ck_assert_msg(ns >= row[i] * (1 - 1e-12), "falls along footprints: %g after %g at %lld, %g", ns, row[i], (long long)x, f);
      row[i] = last = ns;
    }
  }
}

START_TEST(monotone) {
  for (int64_t i = 0; i < COUNT_OF(surfaces); i++)
    for (int k = 0; k < surfaces[i].which; k++) never_falls(&surfaces[i], k);
}
END_TEST

static bool near(double a, double b) { return a - b < 1e-9 * b && b - a < 1e-9 * b; }

START_TEST(clamped_and_exact) {
  ldg_model m = ldg_model_builtin();
  ldg_model_use(&m);
  const double memory = (double)m.level[LDG_MODEL_MEMORY];
  for (int level = 0; level < LDG_MODEL_LEVELS; level++)
    for (int e = 0; e < LDG_MODEL_BLOCKS; e++) {
      const double want = (double)m.block[level * LDG_MODEL_BLOCKS + e] * 1e-3;
      ck_assert(near(ldg_model_block(LDG_MODEL_READ, LDG_MODEL_NEAR, (int64_t)1 << e, (double)m.level[level]), want));
    }
  const double two = ldg_model_block(1, 1, 2, 1e6), four = ldg_model_block(1, 1, 4, 1e6);
  ck_assert(near(ldg_model_block(1, 1, 3, 1e6), (two + four) / 2));
  ck_assert(near(ldg_model_block(0, 0, 64, 1), ldg_model_block(0, 0, 64, (double)m.level[0])));
  ck_assert(near(ldg_model_block(0, 0, 64, 1e300), ldg_model_block(0, 0, 64, memory)));
  ck_assert(near(ldg_model_block(0, 0, 1 << 20, 1), 64 * ldg_model_block(0, 0, 1 << 14, 1)));
  ck_assert(near(ldg_model_copy((int64_t)1 << 60), (double)((int64_t)1 << 32) * ldg_model_copy(1 << 28)));
  ck_assert(near(ldg_model_copy(0), ldg_model_copy(1)));
  ck_assert(ldg_model_odd(LDG_MODEL_ODD_READ, 16) == 0 && near(ldg_model_odd(LDG_MODEL_ODD_READ, 20), (double)m.odd[4] * 1e-3));
  ldg_model_use(NULL);
}
END_TEST

/* ---- decisions ---- */

static void fill(int64_t *v, int64_t n, int64_t value) { for (int64_t i = 0; i < n; i++) v[i] = value; }

/* All costs the same per block, so that a test can make one thing dear. */
static ldg_model flat(void) {
  ldg_model m = ldg_model_builtin();
  fill(m.copy, LDG_MODEL_COPIES, 1000);
  fill(m.block, COUNT_OF(m.block), 1000), fill(m.list, COUNT_OF(m.list), 1000), fill(m.transpose, COUNT_OF(m.transpose), 1000);
  fill(m.odd, COUNT_OF(m.odd), 0), fill(m.number, LDG_MODEL_NAMES, 0);
  return m;
}

static const char *chosen(const char *type, int dir) {
  const ldg_plan *made, *fresh;
  lading_type *t = parsed(type);
  ck_assert_int_eq(ldg_api_plan(t, &made), LADING_OK);
  ck_assert_int_eq(ldg_plan_forced(made->layout, made->extent, NULL, &fresh), LADING_OK); /* the interned one may be older than the table */
  const char *name = fresh->one.job[dir].name; /* of the strategy, not of the plan */
  ldg_plan_release(fresh);
  lading_type_free(t);
  return name;
}

static const char square[] = "(repeat 64 8 (repeat 64 512 (bytes 8)))";
static const char records[] = "(repeat 1000 512 (join (0 (repeat 8 16 (bytes 8))) (256 (repeat 8 24 (bytes 8)))))";

START_TEST(transpose_or_block) {
  ldg_model m = flat();
  ldg_model_use(&m);
  for (int dir = LDG_PACK; dir <= LDG_UNPACK; dir++) {
    fill(m.transpose, COUNT_OF(m.transpose), 5000);
    ck_assert_str_eq(chosen(square, dir), "block");
    fill(m.transpose, COUNT_OF(m.transpose), 200);
    ck_assert_str_eq(chosen(square, dir), "transpose");
    fill(m.transpose, COUNT_OF(m.transpose), 1000), fill(m.block, COUNT_OF(m.block), 5000);
    ck_assert_str_eq(chosen(square, dir), "transpose");
    fill(m.block, COUNT_OF(m.block), 200);
    ck_assert_str_eq(chosen(square, dir), "block");
    fill(m.block, COUNT_OF(m.block), 1000), fill(m.transpose, COUNT_OF(m.transpose), 100);
    ck_assert_str_eq(chosen("(repeat 163 1 (repeat 5 169 (bytes 1)))", dir), "transpose"); /* 10 quarters of a square, and 175 bytes */
    fill(m.transpose, COUNT_OF(m.transpose), 300);
    ck_assert_str_eq(chosen("(repeat 163 1 (repeat 5 169 (bytes 1)))", dir), "block"); /* which take longer than 815 */
    fill(m.transpose, COUNT_OF(m.transpose), 100);
    ck_assert_str_eq(chosen("(repeat 163 1 (repeat 3 169 (bytes 1)))", dir), "block"); /* no part of a square */
    fill(m.transpose, COUNT_OF(m.transpose), 1000);
  }
  ldg_model_use(NULL);
}
END_TEST

/* Only what is read far, and only far away, is dear: the table's axes are looked at. */
START_TEST(by_footprint) {
  ldg_model m = flat();
  ldg_model_use(&m);
  int64_t *far = m.block + LDG_MODEL_PAGE * LDG_MODEL_LEVELS * LDG_MODEL_BLOCKS;
  fill(far + LDG_MODEL_L2 * LDG_MODEL_BLOCKS, 3 * LDG_MODEL_BLOCKS, 90000);
  fill(m.transpose, COUNT_OF(m.transpose), 2000);
  ck_assert_str_eq(chosen("(repeat 32 8 (repeat 32 8256 (bytes 8)))", LDG_PACK), "block");
  ck_assert_str_eq(chosen("(repeat 4096 8 (repeat 4096 65600 (bytes 8)))", LDG_PACK), "transpose");
  ldg_model_use(NULL);
}
END_TEST

START_TEST(ways_down_the_tree) {
  ldg_model m = flat();
  ldg_model_use(&m);
  m.number[LDG_MODEL_CHILD] = m.number[LDG_MODEL_WALK] = 1000000, m.number[LDG_MODEL_SHUFFLE] = m.number[LDG_MODEL_WINDOW] = 900000000;
  ck_assert_str_eq(chosen(records, LDG_PACK), "terms");
  fill(m.block, LDG_MODEL_LEVELS * LDG_MODEL_BLOCKS, 50000000); /* near blocks: not those of the walk, which expects nothing */
  fill(m.block + (LDG_MODEL_WRITE * LDG_MODEL_STRIDES + LDG_MODEL_LINE) * LDG_MODEL_LEVELS * LDG_MODEL_BLOCKS, LDG_MODEL_BLOCKS, 50000000); /* and those of few runs of one record */
  ck_assert_str_eq(chosen(records, LDG_PACK), "walk");
  m.number[LDG_MODEL_WALK] = m.number[LDG_MODEL_ROW] = 900000000, m.number[LDG_MODEL_CHILD] = 0;
  fill(m.block, COUNT_OF(m.block), 1000);
  ck_assert_str_eq(chosen(records, LDG_PACK), "loop");
  ldg_model_use(NULL);
}
END_TEST

START_TEST(windows_by_their_lines) {
  ldg_model m = flat();
  ldg_model_use(&m);
  m.number[LDG_MODEL_SHUFFLE] = 1000, m.number[LDG_MODEL_SHUFFLE_FAR] = 3000;
  const double l1 = ldg_model_footprint(LDG_MODEL_L1), l2 = ldg_model_footprint(LDG_MODEL_L2);
  ck_assert_double_eq(ldg_model_shuffle(l1), 1);
  ck_assert_double_gt(ldg_model_shuffle(2 * l1 + 1), 1);
  ck_assert_double_lt(ldg_model_shuffle(2 * l1 + 1), 3);
  ck_assert_double_eq(ldg_model_shuffle(l2), 3);
  ck_assert_double_eq(ldg_model_shuffle(64 * l2), 3); /* beyond it is the lines that take the time */
  m.number[LDG_MODEL_SHUFFLE_FAR] = 0;
  ck_assert_double_eq(ldg_model_shuffle(l2), 1);
  ldg_model_use(NULL);
}
END_TEST

/* Two blocks a window: shuffles that take long from the second-level cache on are not planned there, and stay what they were in the first. */
START_TEST(shuffles_by_footprint) {
  static const char near[] = "(repeat 100 24 (repeat 2 16 (bytes 4)))", far[] = "(repeat 4096 24 (repeat 2 16 (bytes 4)))";
  ldg_model m = flat();
  ldg_model_use(&m);
  for (int k = 0; k < LDG_MODEL_LEVELS; k++) m.level[k] = INT64_C(16384) << 3 * k;
  fill(m.transpose, COUNT_OF(m.transpose), 50000);
  m.number[LDG_MODEL_CHILD] = m.number[LDG_MODEL_WALK] = m.number[LDG_MODEL_WINDOW] = 900000000;
  const bool is_there = !strcmp(chosen(near, LDG_PACK), "shuffle"); /* on machines with AVX-512 */
  for (int dir = LDG_PACK; dir <= LDG_UNPACK && is_there; dir++)
    for (int times = 1; times <= 10; times += 9) {
      m.number[LDG_MODEL_SHUFFLE] = 2500, m.number[LDG_MODEL_SHUFFLE_FAR] = times * 2500;
      ck_assert_str_eq(chosen(near, dir), "shuffle");
      ck_assert_str_eq(chosen(far, dir), times == 1 ? "shuffle" : "block");
    }
  ldg_model_use(NULL);
}
END_TEST

/* ---- the time of a decision: printed, not judged ---- */

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void decide(const char *name, const ldg_nest *n) {
  double least = 1e9;
  ldg_job j;
  for (int round = 0; round < 200; round++) {
    const double start = now_ns();
    for (int i = 0; i < 50; i++) {
      ldg_plan_nest(&j, n, NULL, NULL);
      __asm__ volatile("" ::: "memory");
    }
    const double ns = (now_ns() - start) / 50;
    least = ns < least ? ns : least;
  }
  printf("a decision takes %.0f ns: %s, %s\n", least, name, j.name);
}

START_TEST(time_of_a_decision) {
  static int64_t at[1000];
  for (int64_t i = 0; i < 1000; i++) at[i] = i * 7919 % 1000 * 64;
  const ldg_nest vector = { .block = 12, .nd = 1, .dim = { { 100, 48, 12 } } };
  const ldg_nest square8 = { .block = 8, .nd = 2, .dim = { { 64, 512, 8 }, { 64, 8, 512 } } };
  const ldg_nest cube = { .block = 8, .nd = 3, .dim = { { 64, 8192, 8 }, { 64, 512, 512 }, { 64, 8, 32768 } } };
  const ldg_nest list = { .block = 8, .nd = 1, .dim = { { 1000, 0, 8 } }, .at = at, .span = 64000 };
  decide("a vector", &vector);
  decide("a square", &square8);
  decide("a cube", &cube);
  decide("a list", &list);
}
END_TEST

/* What is measured on levels of x86-64 says nothing of another architecture, whose levels are none of those. */
START_TEST(levels_of_here) {
  const bool x86 = ldg_cpu_has("v2"), neon = ldg_cpu_has("neon");
  const ldg_model m = ldg_model_builtin();
  ck_assert(ldg_cpu_has("base") && ldg_cpu_has(ldg_cpu_isa()));
  ck_assert(!x86 || !neon);
  if (neon) ck_assert(m.number[LDG_MODEL_WRITTEN] == 0 && m.number[LDG_MODEL_LIBC] == 16 << 10);
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("model", argc, argv, levels_of_here, goes_round, truncated_anywhere, damaged_anywhere, of_elsewhere, makes_no_sense, files, used_or_not, monotone,
                    clamped_and_exact, transpose_or_block, by_footprint, ways_down_the_tree, windows_by_their_lines, shuffles_by_footprint, time_of_a_decision);
}
