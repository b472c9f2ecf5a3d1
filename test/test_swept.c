/* swept: which lists are read from end to end before they are moved, that all ways move the same, and that no page is touched but the message's own. */
#include "common.h"
#include "base_cpu.h"
#include "base_model.h"
#include "plan.h"
#include "../backends/host/ahead.h"
#include "../backends/host/swept.h"
#include "../backends/host/trial.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST = 1 << 15 }; /* at least two pages, of any size, by 16 bytes */
enum { ROOM = 1000 * 128 + 600 };
static int64_t at[MOST];
static int32_t at4[MOST];

/* Of n blocks so far apart, in any order, from `from` on. */
static ldg_nest list_of(int64_t n, int64_t block, int64_t apart, int64_t from, int side, rng *r) {
  ck_assert_int_le(n, MOST);
  for (int64_t i = 0; i < n; i++) at[i] = from + i * apart;
  for (int64_t i = n - 1; i > 0; i--) {
    const int64_t k = rng_in(r, 0, i), t = at[i];
    at[i] = at[k], at[k] = t;
  }
  for (int64_t i = 0; i < n; i++) at4[i] = (int32_t)at[i];
  const int64_t dense = side == LDG_LIST_SRC ? block : 0;
  return (ldg_nest){ .block = block, .nd = 1, .dim = { { n, block - dense, dense } }, .at = at, .at4 = at4, .span = (n - 1) * apart + block, .list = side };
}

static ldg_model small_caches; /* it is not copied */
static void use(int64_t touched) {
  ldg_model *const m = &small_caches;
  *m = ldg_model_builtin();
  for (int k = 0; k < LDG_MODEL_LEVELS; k++) m->level[k] = INT64_C(16384) << 5 * k; /* 512 KiB in the second cache, halfway */
  m->number[LDG_MODEL_TOUCHED] = touched, m->number[LDG_MODEL_AHEAD] = 16;
  ldg_model_use(m);
}

START_TEST(which_lists) {
  static const struct { int64_t n, block, apart; const char *why_not; } of[] = {
    { 4096, 8, 8, NULL },     { 128, 8, 128, NULL },     { 127, 8, 8, "blocks are few" },      { 128, 64, 64, NULL },
    { 200, 65, 65, "blocks are long" }, { 4096, 8, 130, "most lines have no block" }, { 5000, 64, 240, "the second cache does not hold its lines" },
  };
  rng r = rng_of(51);
  for (int i = 0; i < 2 * COUNT_OF(of); i++) {
    ldg_nest n = list_of(of[i / 2].n, of[i / 2].block, of[i / 2].apart, -100, i % 2, &r);
    use(1);
    const char *why = ldg_swept_why_not(&n), *expected = of[i / 2].why_not;
    ck_assert_msg(why == expected || (why && expected && !strcmp(why, expected)), "list %d: %s", i / 2, why ? why : "swept");
    n.once = true;
    ck_assert(ldg_swept_why_not(&n));
    n.once = false, use(0);
    ck_assert(ldg_swept_why_not(&n));
  }
  use(1), small_caches.level[LDG_MODEL_L2] = 4 << 20; /* a larger cache than lists may reach over */
  for (int i = 0; i < 2; i++) {
    const ldg_nest n = list_of((1 << 14) + i, 8, 128, -100, LDG_LIST_SRC, &r);
    ck_assert_int_eq(ldg_swept_why_not(&n) != NULL, i);
  }
  static const struct { int64_t gap; bool may; } gaps[] = { { 0, true }, { 2047, true }, { 2048, false }, { 4096, false } }; /* bytes, where a half page ends: no half page is left, one is, two are */
  use(1);
  for (int k = 0; k < COUNT_OF(gaps); k++) {
    ldg_nest n = list_of(1000, 8, 8, 0, LDG_LIST_SRC, &r);
    for (int i = 0; i < 1000; i++)
      if (at[i] >= 2048) at[i] += gaps[k].gap, at4[i] = (int32_t)at[i]; /* the last one before begins at 2040 */
    n.span += gaps[k].gap;
    ck_assert_msg((ldg_swept_why_not(&n) == NULL) == gaps[k].may, "gap %d", (int)gaps[k].gap);
  }
  ldg_model_use(NULL);
}
END_TEST

/* A range of a list, by each way of its trial, some of which is the one that reads first. */
static bool check_ways(const char *strategy, const ldg_nest *n, char *far, char *packed, char *expected, int64_t size, rng *r) {
  ldg_job j = { .run = NULL }, copy;
  bool swept = false;
  ck_assert(ldg_plan_nest(&j, n, strategy, NULL));
  copy = j;
  ldg_run *const sweeps = ldg_swept_way(&copy, j.run);
  for (int k = 0; k < LDG_TRIAL_WAYS && (k == 0 || ldg_trial_way(&j, k)); k++) {
    ldg_run *const way = ldg_trial_way(&j, k);
    for (int turn = 0; turn < 4; turn++) {
      const int64_t i0 = turn ? rng_in(r, 0, n->dim[0].n - 1) : 0, some = turn ? rng_in(r, 1, n->dim[0].n - i0) : n->dim[0].n;
      const bool packs = n->list == LDG_LIST_SRC;
      char *to = packs ? packed : far;
      memset(to, 7, (size_t)size), memset(expected, 7, (size_t)size);
      for (int64_t i = i0; i < i0 + some; i++) memcpy(expected + (packs ? i * n->block : n->at[i]), packs ? far + n->at[i] : packed + i * n->block, (size_t)n->block);
      (way ? way : j.run)(&j, packs ? far : packed, to, i0, some);
      ck_assert_msg(!memcmp(to, expected, (size_t)size), "way %d", k);
    }
    swept |= way && way == sweeps;
  }
  return swept;
}

START_TEST(ways_of_lists) {
  rng r = rng_of(52);
  char *far = malloc(ROOM), *packed = malloc(ROOM), *expected = malloc(ROOM);
  use(1);
  for (int i = 0; i < 60; i++) {
    const int64_t block = rng_in(&r, 1, 64), apart = block + rng_in(&r, 0, 64);
    const ldg_nest n = list_of(rng_in(&r, 130, 1000), block, apart, rng_in(&r, 0, 500), i % 2, &r);
    const int64_t size = n.dim[0].n * apart + 600;
    for (int64_t k = 0; k < size; k++) far[k] = (char)rng_in(&r, 0, 255), packed[k] = (char)rng_in(&r, 0, 255);
    ck_assert_int_eq(check_ways("list", &n, far, packed, expected, size, &r), ldg_cpu_ticks() != 0);
    if (!ldg_ahead_why_not(&n)) ck_assert_int_eq(check_ways("ahead", &n, far, packed, expected, size, &r), ldg_cpu_ticks() != 0);
  }
  ldg_model_use(NULL);
  free(far), free(packed), free(expected);
}
END_TEST

/* What the model said when a strategy was chosen it may no longer say when that is prepared. */
START_TEST(no_longer) {
  rng r = rng_of(56);
  static char far[1000 * 16], packed[1000 * 8];
  const ldg_strategy *row = strategy_named("swept");
  use(0);
  for (int side = LDG_LIST_SRC; side <= LDG_LIST_DST; side++) {
    ldg_job j = { .nest = list_of(1000, 8, 16, 0, side, &r) };
    for (int64_t k = 0; k < (int64_t)sizeof far; k++) far[k] = (char)rng_in(&r, 0, 255);
    for (int64_t k = 0; k < (int64_t)sizeof packed; k++) packed[k] = (char)rng_in(&r, 0, 255);
    row->prepare(&j);
    ck_assert(j.run && !j.run(&j, side == LDG_LIST_SRC ? far : packed, side == LDG_LIST_SRC ? packed : far, 0, 1000));
    for (int64_t i = 0; i < 1000; i++) ck_assert(!memcmp(packed + 8 * i, far + at[i], 8));
  }
  ldg_model_use(NULL);
}
END_TEST

/* What is read is the list's own from its first byte to its last one, and a page that is skipped is not there. */
START_TEST(pages_of_others) {
  rng r = rng_of(53);
  const int64_t page = sysconf(_SC_PAGESIZE), n = 2 * page / 16; /* of pages of any size, 8 bytes of each 16 */
  char *pages = mmap(NULL, (size_t)(6 * page), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *packed = calloc(1, (size_t)page);
  ck_assert(pages != MAP_FAILED && mprotect(pages + page, (size_t)page, PROT_READ | PROT_WRITE) == 0 && mprotect(pages + 3 * page, (size_t)page, PROT_READ | PROT_WRITE) == 0);
  use(1);
  for (int turn = 0; turn < 4; turn++) {
    const bool skips = turn / 2;
    ldg_nest list = list_of(skips ? n : n / 2, 8, 16, 0, turn % 2, &r);
    for (int64_t i = 0; i < list.dim[0].n; i++) { /* from the first byte of its pages to the last one */
      at[i] += at[i] % page == page - 16 ? 8 : 0;
      if (at[i] >= page) at[i] += page, list.span = 3 * page;
      at4[i] = (int32_t)at[i];
    }
    ldg_job j = { .run = NULL };
    ck_assert(ldg_plan_nest(&j, &list, "list", NULL));
    ldg_job copy = j;
    ck_assert_int_eq(ldg_swept_way(&copy, j.run) != NULL, !skips);
    char *far = pages + page;
    for (int k = 0; k < LDG_TRIAL_WAYS && (k == 0 || ldg_trial_way(&j, k)); k++)
      (ldg_trial_way(&j, k) ? ldg_trial_way(&j, k) : j.run)(&j, turn % 2 ? packed : far, turn % 2 ? far : packed, 0, list.dim[0].n);
  }
  ldg_model_use(NULL);
  munmap(pages, (size_t)(6 * page)), free(packed);
}
END_TEST

/* Of a part of a list what the rest has may not be there. */
START_TEST(pages_of_the_rest) {
  rng r = rng_of(54);
  const int64_t page = sysconf(_SC_PAGESIZE), n = 2 * page / 16;
  char *pages = mmap(NULL, (size_t)(2 * page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *packed = calloc(1, (size_t)page);
  ck_assert(pages != MAP_FAILED && mprotect(pages + page, (size_t)page, PROT_NONE) == 0);
  use(1);
  for (int side = LDG_LIST_SRC; side <= LDG_LIST_DST; side++) {
    const ldg_nest list = list_of(n, 8, 16, 0, side, &r);
    for (int64_t i = 0; i < n; i++) at[i] = 16 * i, at4[i] = (int32_t)at[i]; /* in order: the first half is in the first page */
    ldg_job j = { .run = NULL };
    ck_assert(ldg_plan_nest(&j, &list, "list", NULL));
    ldg_job swept = { .run = NULL };
    ck_assert(ldg_plan_nest(&swept, &list, "swept", NULL) && !strcmp(swept.name, "swept"));
    swept.run(&swept, side == LDG_LIST_SRC ? pages : packed, side == LDG_LIST_SRC ? packed : pages, 0, n / 2);
    for (int k = 0; k < LDG_TRIAL_WAYS && ldg_trial_way(&j, k); k++)
      ldg_trial_way(&j, k)(&j, side == LDG_LIST_SRC ? pages : packed, side == LDG_LIST_SRC ? packed : pages, 0, n / 2);
  }
  ldg_model_use(NULL);
  munmap(pages, (size_t)(2 * page)), free(packed);
}
END_TEST

/* Two threads write blocks by turns of the same lines, 24 bytes apart, so that each reads what the other one writes, and makes nothing of it. */
enum { SHARED = 1000, CALLS = 200 };
typedef struct writer { ldg_job job; char *mem; char packed[SHARED * 8]; } writer;
static void *write_often(void *arg) {
  const writer *w = arg;
  for (int i = 0; i < CALLS; i++) w->job.run(&w->job, w->packed, w->mem, 0, SHARED);
  return NULL;
}
START_TEST(gaps_of_others) {
  static char mem[SHARED * 24];
  static writer w[2];
  static int64_t places[2][SHARED];
  static int32_t places4[2][SHARED];
  rng r = rng_of(55);
  pthread_t thread[2];
  use(1);
  for (int k = 0; k < 2; k++) {
    ldg_nest n = list_of(SHARED, 8, 24, 8 * k, LDG_LIST_DST, &r);
    memcpy(places[k], at, sizeof places[k]), memcpy(places4[k], at4, sizeof places4[k]);
    n.at = places[k], n.at4 = places4[k];
    memset(w[k].packed, 'a' + k, sizeof w[k].packed), w[k].mem = mem;
    ck_assert(ldg_plan_nest(&w[k].job, &n, "swept", NULL) && !strcmp(w[k].job.name, "swept"));
  }
  for (int k = 0; k < 2; k++) ck_assert_int_eq(pthread_create(&thread[k], NULL, write_often, &w[k]), 0);
  for (int k = 0; k < 2; k++) pthread_join(thread[k], NULL);
  for (int i = 0; i < SHARED * 24; i++) ck_assert_int_eq(mem[i], i / 8 % 3 < 2 ? 'a' + i / 8 % 3 : 0);
  ldg_model_use(NULL);
}
END_TEST

int main(int argc, char **argv) { return CHECK_MAIN("swept", argc, argv, which_lists, ways_of_lists, no_longer, pages_of_others, pages_of_the_rest, gaps_of_others); }
