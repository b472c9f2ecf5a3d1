/* jit: options of the library are read once in a process, so every measurement runs in a child that sets its own. */
#include "jit.h"

#include "../backends/jit.h"
#include "api.h"
#include "base_cpu.h"
#include "gccjit/cache.h"
#include "hand_jit.h"
#include "plan_jit.h"
#include "sampler.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

double jit_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int jit_in_a_child(int work(void *arg), void *arg) {
  int status = 1;
  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0) {
    status = work(arg);
    fflush(NULL);
    _exit(status);
  }
  return pid < 0 || waitpid(pid, &status, 0) != pid ? 1 : WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* ---- gains: tier 1, with kernels, by hand; in turns ---- */

enum { TIER1, KERNEL, HAND, WAYS };
#define FIRST_CALLS 1000
#define PATIENCE_NS 5e9     /* for a kernel to be asked for; and to come */
#define PATIENCE_MORE_NS 30e9
#define SAMPLES 41
#define SAMPLE_NS 50e3

typedef struct subject { const hand_jit *h; int64_t items; lading_type *type; const ldg_plan *tier1; char *mem, *packed; } subject;

static void call(const subject *s, int way, int dir) {
  const int64_t all = s->h->count * s->h->size;
  if (way == HAND) s->h->move[dir](s->mem, s->packed, s->h->count);
  else if (way == TIER1) ldg_exec(s->tier1, s->items, dir, s->mem, s->packed, 0, all);
  else if (dir == LDG_PACK) lading_pack(s->type, s->items, s->mem, s->packed, 0, all);
  else lading_unpack(s->type, s->items, s->mem, s->packed, 0, all);
  __asm__ volatile("" ::: "memory");
}

static double sample(const subject *s, int way, int dir, int64_t reps) {
  const double start = jit_now();
  for (int64_t i = 0; i < reps; i++) call(s, way, dir);
  return (jit_now() - start) / (double)reps;
}

static void time_ways(const subject *s, int dir, double out[WAYS]) {
  double ns[WAYS][SAMPLES];
  int64_t reps = 1;
  while (sample(s, HAND, dir, reps) * (double)reps < SAMPLE_NS) reps *= 2;
  for (int i = 0; i < SAMPLES; i++)
    for (int w = 0; w < WAYS; w++) ns[w][i] = sample(s, w, dir, reps);
  for (int w = 0; w < WAYS; w++) out[w] = sampler_stats(ns[w], SAMPLES).ns;
}

/* The entries of a list are one item. */
static bool list_subject(subject *s) {
  int64_t at[HAND_JIT_ENTRIES];
  lading_type *entry = s->type;
  s->items = 1;
  for (int i = 0; i < HAND_JIT_ENTRIES; i++) at[i] = s->h->list[i] * s->h->extent;
  const int e = lading_type_hindexed_block(HAND_JIT_ENTRIES, 1, at, entry, &s->type);
  lading_type_free(entry);
  return !e;
}

static bool open_subject(subject *s, const hand_jit *h) {
  const ldg_plan *p;
  *s = (subject){ .h = h, .items = h->count, .mem = bench_alloc((h->list ? HAND_JIT_PLACES : h->count) * h->extent), .packed = bench_alloc(h->count * h->size) };
  if (lading_type_parse(h->type, &s->type) || (h->list && !list_subject(s)) || ldg_api_plan(s->type, &p)) return false;
  if (ldg_plan_forced(p->layout, p->extent, "tier1", &s->tier1)) return false; /* no strategy's name: planned as ever, without kernels */
  return true;
}

/* What became of the kernel of a direction; NULL: nothing yet. */
static const char *verdict(const subject *s, int dir) {
  static const struct { const char *says, *means; } all[] = { { "tier 2", "yes" }, { "tier 1, its kernel is no faster", "no faster" }, { "tier 1, no kernel came", "did not come" } };
  static char text[1 << 16];
  char line[64];
  lading_explain(s->type, s->items, text, sizeof text);
  for (int i = 0; i < 3; i++) {
    snprintf(line, sizeof line, " %s: %s", dir == LDG_PACK ? "pack" : "unpack", all[i].says);
    if (strstr(text, line)) return all[i].means;
  }
  return NULL;
}

static bool is_patient(double start) { return jit_now() - start < (ldg_jit_settled() ? PATIENCE_NS : PATIENCE_MORE_NS); }

/* As a program would that moves the same data over and over: nothing is asked for but by the calls themselves. */
static const char *call_until_verdict(const subject *s, int dir) {
  const double start = jit_now();
  const char *v = NULL;
  while (!v && is_patient(start)) {
    for (int k = 0; k < FIRST_CALLS; k++) call(s, KERNEL, dir);
    v = verdict(s, dir);
  }
  return v ? v : "not asked for";
}

static void print_row(const char *name, const char *what, double bytes, const double ns[WAYS], const char *kernel) {
  printf("%-24s %-7s %9.1f %9.1f %9.1f %9.2f %9.2f  %s\n", name, what, bytes / ns[TIER1], bytes / ns[KERNEL], bytes / ns[HAND], ns[TIER1] / ns[KERNEL], ns[HAND] / ns[KERNEL], kernel);
}

static bool row_gains(const hand_jit *h, int dir, double ratio[2]) {
  subject s;
  double ns[WAYS];
  if (!open_subject(&s, h)) return false;
  const char *kernel = call_until_verdict(&s, dir);
  time_ways(&s, dir, ns);
  print_row(h->name, dir == LDG_PACK ? "pack" : "unpack", (double)(h->count * h->size), ns, kernel);
  ratio[0] += log(ns[TIER1] / ns[KERNEL]), ratio[1] += log(ns[HAND] / ns[KERNEL]);
  ldg_plan_release(s.tier1), lading_type_free(s.type), ldg_free(s.mem), ldg_free(s.packed);
  return true;
}

static bool table_gains(const char *what, const hand_jit *rows, int n) {
  double ratio[2] = { 0, 0 };
  for (int i = 0; i < n; i++)
    for (int dir = LDG_PACK; dir <= LDG_UNPACK; dir++)
      if (!row_gains(&rows[i], dir, ratio)) return false;
  printf("geometric means of %s: %.2f times tier 1, %.2f times the hand-written loop\n", what, exp(ratio[0] / (2 * n)), exp(ratio[1] / (2 * n)));
  return true;
}

static int gains(void *arg) {
  setenv("LADING_JIT", arg, 1);
  hand_jit_make_lists();
  printf("%-24s %-7s %9s %9s %9s %9s %9s  %s\n", "GB/s", "", "tier 1", "jit", "hand", "/tier 1", "/hand", "kernel");
  return !table_gains("packs and unpacks", hand_jit_table, hand_jit_rows) || !table_gains("lists", hand_jit_lists, hand_jit_lists_n);
}

/* ---- copies, sums ---- */

typedef struct pair { const hand_jit_copy *h; lading_type *type[2]; const ldg_plan *tier1[2]; char *mem[2]; ldg_reduction sum; } pair;

static bool open_pair(pair *p, const hand_jit_copy *h) {
  const ldg_plan *plan;
  *p = (pair){ .h = h };
  for (int k = 0; k < 2; k++) {
    p->mem[k] = bench_alloc(h->count * h->extent[k]);
    if (!p->mem[k]) return false;
    memset(p->mem[k], 0, (size_t)(h->count * h->extent[k])); /* as numbers, and so that they stay that */
    if (!h->type[k]) continue;
    if (lading_type_parse(h->type[k], &p->type[k]) || ldg_api_plan(p->type[k], &plan)) return false;
    if (ldg_plan_forced(plan->layout, plan->extent, "tier1", &p->tier1[k])) return false;
  }
  p->sum.op = LADING_SUM;
  return !h->sums || !ldg_api_elements(p->type[1], h->count, LADING_SUM, 0, h->count * h->size, &p->sum.sig);
}

static void copy_tier1(const pair *p, int64_t bytes) {
  const ldg_plan *a = p->tier1[0], *b = p->tier1[1];
  const ldg_side dst = { b->layout->rep, p->h->count, b->extent, p->mem[1] }, src = { a ? a->layout->rep : NULL, p->h->count, a ? a->extent : 0, p->mem[0] };
  if (!a) ldg_exec_op(b, p->h->count, LDG_UNPACK, &p->sum, p->mem[1], p->mem[0], 0, bytes);
  else if (p->h->sums) ldg_exec_move_op(a, &src, b, &dst, &p->sum, 0, bytes);
  else ldg_exec_move(a, &src, b, &dst, 0, bytes);
}

static void copy_kernel(const pair *p, int64_t bytes) {
  const int64_t n = p->h->count;
  if (!p->type[0]) lading_unpack_op(p->type[1], n, p->mem[1], p->mem[0], 0, bytes, LADING_SUM);
  else lading_copy_op(p->type[0], n, p->mem[0], p->type[1], n, p->mem[1], 0, bytes, p->h->sums ? LADING_SUM : LADING_REPLACE);
}

static double time_copies(const pair *p, int way, int64_t reps) {
  const int64_t bytes = p->h->count * p->h->size;
  const double start = jit_now();
  for (int64_t i = 0; i < reps; i++) {
    if (way == HAND) p->h->move(p->mem[0], p->mem[1], p->h->count);
    else if (way == TIER1) copy_tier1(p, bytes);
    else copy_kernel(p, bytes);
    __asm__ volatile("" ::: "memory");
  }
  return (jit_now() - start) / (double)reps;
}

static const char *copy_until_kernel(const pair *p) {
  static char text[1 << 16];
  const lading_type *holder = p->type[0] ? p->type[0] : p->type[1];
  const char *line = NULL;
  for (const double start = jit_now(); !line && is_patient(start);) {
    time_copies(p, KERNEL, FIRST_CALLS);
    lading_explain(holder, p->h->count, text, sizeof text);
    line = strstr(text, p->h->sums ? "  sums " : "  copies ");
    line = line && strstr(line, ": tier 2") ? "yes" : NULL;
  }
  return line ? line : "none used";
}

static int copy_gains(void *arg) {
  setenv("LADING_JIT", arg, 1);
  double ratio[2][2] = { { 0, 0 }, { 0, 0 } };
  int rows[2] = { 0, 0 };
  for (int i = 0; i < hand_jit_copies_n; i++) {
    pair p;
    double ns[WAYS][SAMPLES];
    if (!open_pair(&p, &hand_jit_copies[i])) return 1;
    const char *kernel = copy_until_kernel(&p);
    for (int k = 0; k < SAMPLES; k++)
      for (int w = 0; w < WAYS; w++) ns[w][k] = time_copies(&p, w, 64);
    const double median[WAYS] = { sampler_stats(ns[TIER1], SAMPLES).ns, sampler_stats(ns[KERNEL], SAMPLES).ns, sampler_stats(ns[HAND], SAMPLES).ns };
    print_row(p.h->name, p.type[0] ? "copy" : "unpack", (double)(p.h->count * p.h->size), median, kernel);
    ratio[p.h->sums][0] += log(median[TIER1] / median[KERNEL]), ratio[p.h->sums][1] += log(median[HAND] / median[KERNEL]), rows[p.h->sums]++;
    for (int k = 0; k < 2; k++) ldg_plan_release(p.tier1[k]), lading_type_free(p.type[k]), ldg_free(p.mem[k]);
  }
  for (int sums = 0; sums < 2; sums++)
    printf("geometric means of %s: %.2f times tier 1, %.2f times the hand-written loop\n", sums ? "sums" : "copies", exp(ratio[sums][0] / rows[sums]), exp(ratio[sums][1] / rows[sums]));
  return 0;
}

/* ---- a second process: what a kernel in the cache takes to load ---- */

static int time_load(void *arg) {
  const char *why;
  ldg_cache_kernel k;
  char key[LDG_KEY_MAX];
  ldg_key x = { .level = ldg_jit_level_of(ldg_cpu_isa(), strlen(ldg_cpu_isa())), .shape = { .reduce.size = 1, .stride = { 24, 13 }, .n = 2, .field = { { 0, 0, 4 }, { 8, 4, 9 } } } };
  (void)arg;
  if (!x.level->lane || x.level->lane == 4) x.shape.stride[0] = x.shape.stride[1] = 0;
  if (!ldg_key_print(&x, key)) return 1;
  const double start = jit_now();
  why = ldg_cache_load(key, &k);
  if (why) return fprintf(stderr, "lbench: the cache: %s: %s\n", key, why), 1;
  printf("first load of a kernel in a process: %.0f us\n", (jit_now() - start) * 1e-3);
  return 0;
}

/* ---- all ---- */

static int fill_cache(void *arg) {
  const char *argv[3 + 32] = { arg, "warm" };
  for (int i = 0; i < hand_jit_rows && i < 32; i++) argv[2 + i] = hand_jit_table[i].type;
  execv(arg, (char *const *)(uintptr_t)argv);
  return 1;
}

static int clear_cache(void *arg) {
  execl(arg, arg, "clear", (char *)NULL);
  return 1;
}

int jit_time(const char *helper) {
  char folder[] = "/tmp/lbench-jit-XXXXXX";
  void *path = (void *)(uintptr_t)helper;
  if (!mkdtemp(folder) || setenv("LADING_CACHE", folder, 1)) return 1;
  int bad = jit_in_a_child(gains, path) || jit_in_a_child(copy_gains, path) || jit_in_a_child(fill_cache, path) || jit_in_a_child(time_load, NULL);
  bad = jit_in_a_child(clear_cache, path) || bad;
  bad = bad || jit_waits(helper);
  bad = jit_in_a_child(clear_cache, path) || bad;
  if (chdir(folder) == 0) unlink(".lock");
  rmdir(folder);
  return bad;
}
