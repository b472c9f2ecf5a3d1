/* window: records that are packed by whole registers, and lists that go without branches, where every page without a byte of the message, on either side, cannot be touched; and
 * loops of many windows, from any place of a line. */
#include "common.h"
#include "base_model.h"
#include "plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 48, FIELDS = 6 };
static int64_t page;

/* A nest with a dense destination. */
typedef struct pattern { ldg_nest n; int64_t at[FIELDS], psum[FIELDS + 1]; } pattern;

static void list_body(rng *r, pattern *p) {
  const int64_t n = rng_in(r, 2, FIELDS), longest = rng_in(r, 1, 9);
  const bool alike = rng_in(r, 0, 1);
  for (int64_t i = 0, end = 0; i < n; i++) {
    const int64_t len = alike ? longest : rng_in(r, i > 0 && i < n - 1 ? 0 : 1, longest);
    p->at[i] = len ? end + rng_in(r, 0, 4) : -4, p->psum[i + 1] = p->psum[i] + len; /* of no bytes: nobody's place */
    end = len ? p->at[i] + len : end;
  }
  p->n.at = p->at, p->n.psum = alike ? NULL : p->psum;
  p->n.block = alike ? longest : 1, p->n.span = p->at[n - 1] + p->psum[n] - p->psum[n - 1];
  p->n.nd = 1, p->n.dim[0] = (ldg_dim){ n, 0, p->n.block };
}

/* Strides near the block, of half a page and more, and backwards. */
static int64_t stride(rng *r, int64_t least) {
  switch (rng_in(r, 0, 9)) {
  case 0: return -rng_in(r, least, least + 40);
  case 1: return rng_in(r, 1, page / 2 + 40);
  case 2: return rng_in(r, 0, 1) ? 2 * page + rng_in(r, -9, 9) : rng_in(r, page / 2, page);
  case 3: return rng_in(r, 0, least); /* bytes that are packed more than once */
  default: return least + rng_in(r, 0, 24);
  }
}

static pattern random_pattern(rng *r) {
  pattern p = { .n = { .block = rng_in(r, 1, 24) } };
  int64_t bytes, span;
  if (rng_in(r, 0, 1)) list_body(r, &p), bytes = p.n.psum ? p.psum[p.n.dim[0].n] : p.n.dim[0].n * p.n.block, span = p.n.span;
  else bytes = span = p.n.block;
  for (int64_t more = rng_in(r, p.n.nd ? 0 : 1, 2); more > 0; more--) {
    const ldg_dim d = { rng_in(r, 1, bytes < 40 ? 20 : 4), stride(r, span), bytes };
    p.n.dim[p.n.nd++] = d;
    bytes *= d.n, span += (d.n - 1) * llabs(d.src);
  }
  return p;
}

/* Every block of n iterations of dim k, by the definition; NULL instead of a destination: its pages become accessible. */
static void blocks(const pattern *p, int k, const char *s, char *d, int64_t n) {
  const ldg_nest *x = &p->n;
  for (int64_t i = 0; k >= 0 && i < n; i++) {
    const bool listed = k == 0 && x->at;
    const int64_t src = listed ? x->at[i] : i * x->dim[k].src, dst = listed && x->psum ? x->psum[i] : i * x->dim[k].dst;
    const int64_t len = listed && x->psum ? x->psum[i + 1] - x->psum[i] : x->block;
    if (k > 0) blocks(p, k - 1, s + src, d ? d + dst : NULL, x->dim[k - 1].n);
    else if (d) memcpy(d + dst, s + src, (size_t)len);
    else if (len) {
      char *from = (char *)((uintptr_t)(s + src) & -(uintptr_t)page);
      ck_assert_int_eq(mprotect(from, (size_t)(s + src + len - from), PROT_READ | PROT_WRITE), 0);
    }
  }
}

/* Where offsets lo to hi of a side are put: from the start of a page on, to the end of one, or anywhere. */
static char *place(rng *r, char *area, int64_t lo, int64_t hi) {
  const int64_t room = (PAGES - 2) * page - (hi - lo), how = rng_in(r, 0, 2);
  char *first = area + page + (how == 0 ? 0 : how == 1 ? room : rng_in(r, 0, room));
  return first - lo;
}

static void hull(const pattern *p, int64_t n, int64_t *lo, int64_t *hi, int64_t *bytes) {
  const ldg_nest *x = &p->n;
  *lo = 0, *hi = x->at ? x->span : x->block, *bytes = x->at ? 0 : x->block;
  for (int k = 0; k < x->nd; k++) {
    const int64_t many = k == x->nd - 1 ? n : x->dim[k].n;
    if (k == 0 && x->at) { *bytes = x->psum ? x->psum[many] : many * x->block; continue; }
    *(x->dim[k].src < 0 ? lo : hi) += (many - 1) * x->dim[k].src;
    *bytes *= many;
  }
}

/* n iterations of the outermost dim. True: by windows. */
static bool check_pattern(rng *r, const pattern *p, int64_t n, const char *strategy, char *src, char *dst) {
  int64_t lo, hi, bytes;
  ldg_job job;
  hull(p, n, &lo, &hi, &bytes);
  if (bytes == 0 || hi - lo > (PAGES - 2) * page || !ldg_plan_nest(&job, &p->n, strategy, NULL)) return false;
  ck_assert_int_eq(mprotect(src, (size_t)(PAGES * page), PROT_READ | PROT_WRITE), 0);
  const char *s = place(r, src, lo, hi);
  char *d = place(r, dst, 0, bytes), *expected = malloc((size_t)bytes);
  blocks(p, p->n.nd - 1, s, expected, n);
  ck_assert_int_eq(mprotect(src, (size_t)(PAGES * page), PROT_NONE), 0);
  blocks(p, p->n.nd - 1, s, NULL, n);
  ck_assert_int_eq(mprotect(dst, (size_t)(PAGES * page), PROT_NONE), 0);
  char *from = (char *)((uintptr_t)d & -(uintptr_t)page), *to = (char *)(((uintptr_t)d + (uintptr_t)bytes + (uintptr_t)page - 1) & -(uintptr_t)page);
  ck_assert_int_eq(mprotect(from, (size_t)(to - from), PROT_READ | PROT_WRITE), 0);
  memset(from, 0x5a, (size_t)(to - from));
  job.run(&job, s, d, 0, n);
  ck_assert_msg(!memcmp(d, expected, (size_t)bytes), "%s: not what the definition packs", job.name);
  for (char *c = from; c < to; c++) ck_assert_msg((c >= d && c < d + bytes) || *c == 0x5a, "%s: writes at %td of %lld", job.name, c - d, (long long)bytes);
  free(expected);
  return !strcmp(job.name, strategy);
}

START_TEST(pages_beside) {
  rng r = rng_of(41);
  const ldg_nest records = { .block = 4, .nd = 1, .dim = { { 100, 8, 4 } } }; /* which all levels but base shuffle */
  ldg_job job;
  ldg_model m = ldg_model_builtin();
  int64_t taken = 0, shuffled = 0;
  const int half = share_of(800);
  page = sysconf(_SC_PAGESIZE);
  char *src = mmap(NULL, (size_t)(PAGES * page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char *dst = mmap(NULL, (size_t)(PAGES * page), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert(src != MAP_FAILED && dst != MAP_FAILED);
  for (int64_t i = 0; i < PAGES * page; i += 8) *(uint64_t *)(void *)(src + i) = rng_next(&r);
  for (int i = 0; i < 2 * half; i++) {
    m.number[LDG_MODEL_MASKED] = i % 6 == 1 ? 0 : 1 + i % 20; /* mostly not 0, or windows under masks would load no more than their bytes */
    m.level[LDG_MODEL_L2] = i / 2 % 2 ? 16 : 512 << 10; /* lines that are beyond it are asked for */
    ldg_model_use(&m);
    const pattern p = random_pattern(&r);
    pattern own = p;
    if (p.n.at) own.n.at = own.at, own.n.psum = p.n.psum ? own.psum : NULL;
    *(i % 2 ? &shuffled : &taken) += check_pattern(&r, &own, rng_in(&r, 1, p.n.dim[p.n.nd - 1].n), i % 2 ? "shuffle" : "window", src, dst);
  }
  munmap(src, (size_t)(PAGES * page)), munmap(dst, (size_t)(PAGES * page));
  ldg_nest pairs = { .block = 4, .nd = 2, .dim = { { 2, 8, 4 }, { 2, 5000, 8 } } };
  const bool able = strategy_named("window")->why_not(&pairs) == NULL;
  pairs.dim[1].src = INT64_MAX; /* nothing overflows */
  ck_assert((strategy_named("window")->why_not(&pairs) == NULL) == able);
  ck_assert(ldg_plan_nest(&job, &records, "window", NULL));
  printf("%lld of %d by windows, %lld by shuffles\n", (long long)taken, half, (long long)shuffled);
  if (!strcmp(job.name, "window")) ck_assert_int_ge(taken, half / 6);
  else ck_assert_int_eq(taken, 0); /* levels that have none */
  if (ldg_plan_nest(&job, &records, "shuffle", NULL) && !strcmp(job.name, "shuffle")) ck_assert_int_ge(shuffled, half / 60); /* of lanes of 4 bytes there are few */
  ldg_model_use(NULL);
}
END_TEST

/* To a place so many bytes behind the start of a line; all that is not of the message stays as it is. */
static void check_nest(const ldg_job *j, int64_t from_line) {
  enum { HALF = 2048 };
  static char src[2 * HALF], dst[2 * HALF] __attribute__((aligned(64))), want[2 * HALF];
  const ldg_dim *in = &j->nest.dim[0], *out = &j->nest.dim[1];
  for (int i = 0; i < 2 * HALF; i++) src[i] = (char)(i * 7 + i / 251), dst[i] = want[i] = (char)~i;
  for (int64_t i = 0; i < out->n; i++)
    for (int64_t k = 0; k < in->n; k++)
      memcpy(want + HALF + from_line + i * out->dst + k * in->dst, src + HALF + i * out->src + k * in->src, (size_t)j->nest.block);
  j->run(j, src + HALF, dst + HALF + from_line, 0, out->n);
  ck_assert_mem_eq(dst, want, sizeof dst);
}

/* Loops of 8 to 20 windows of 8 bodies, forwards and backwards on either side: they begin with a part of a window, depending on where in a
 * line the destination is, and those in between load and store whole registers where masks are said to cost. */
START_TEST(long_loops) {
  static const struct { int64_t block; ldg_dim inside, around; } body[] = {
    { 4, { 1, 0, 0 }, { 0, 8, 4 } }, { 4, { 1, 0, 0 }, { 0, 4, 8 } }, { 2, { 2, 3, 2 }, { 0, 8, 4 } }, { 2, { 2, 2, 3 }, { 0, 4, 8 } },
  };
  rng r = rng_of(49);
  ldg_model m = ldg_model_builtin();
  int taken = 0;
  for (int i = 0; i < 32; i++) {
    ldg_nest n = { .block = body[i / 4 % 4].block, .nd = 2, .dim = { body[i / 4 % 4].inside, body[i / 4 % 4].around } };
    ldg_job j;
    m.number[LDG_MODEL_MASKED] = i / 16;
    ldg_model_use(&m);
    n.dim[1].n = 160, n.dim[1].src *= i & 1 ? -1 : 1, n.dim[1].dst *= i & 2 ? -1 : 1;
    ck_assert(ldg_plan_nest(&j, &n, "shuffle", NULL));
    if (strcmp(j.name, "shuffle") != 0) continue;
    for (int64_t at = 0; at < 64; at++) j.nest.dim[1].n = rng_in(&r, 64, 160), check_nest(&j, at);
    taken++;
  }
  ldg_model_use(NULL);
  ck_assert_msg(taken == 0 || taken == 16 || taken == 32, "%d", taken); /* levels that have none, those with lanes of 4 bytes, and of 1 */
}
END_TEST

/* A side of a list, whose end within a page only the address sanitizer watches (test_late): entries of up to `longest` bytes, some of none, which are nobody's place; sometimes the next one is pages on. */
enum { ENTRIES = 200 };
typedef struct listed { int64_t n, at[ENTRIES], psum[ENTRIES + 1], hull; } listed;
static void random_list(rng *r, listed *l, int64_t longest) {
  int64_t end = 0;
  l->n = rng_in(r, 1, ENTRIES), l->hull = 0;
  for (int64_t i = 0; i < l->n; i++) {
    const int64_t len = rng_in(r, 0, 5) ? rng_in(r, 1, longest) : 0;
    if (len && rng_in(r, 0, 5) == 0) end += rng_in(r, page - 80, 2 * page);
    l->at[i] = len ? end + rng_in(r, 0, 9) : rng_in(r, -90, end + 9000), l->psum[i + 1] = l->psum[i] + len;
    if (len) end = l->hull = l->at[i] + len;
    if (end > (PAGES - 6) * page) l->n = i + 1;
  }
  for (int64_t i = l->n - 1; i > 0; i--) { /* in any order, as far as lengths are alike */
    const int64_t k = rng_in(r, 0, i), li = l->psum[i + 1] - l->psum[i], lk = l->psum[k + 1] - l->psum[k], at = l->at[i];
    if (li == lk) l->at[i] = l->at[k], l->at[k] = at;
  }
}

/* Entries i0 and on, n of them, from a side to the other; gaps of the destination stay as they are. */
static void check_listed(rng *r, const listed *l, int list, char *src, char *dst) {
  ldg_job j = { .nest = { .block = 1, .nd = 1, .dim = { { l->n, list == LDG_LIST_SRC ? 0 : 1, list == LDG_LIST_SRC ? 1 : 0 } }, .at = l->at, .psum = l->psum, .list = list, .span = l->hull } };
  char *const area[2] = { list == LDG_LIST_SRC ? src : dst, list == LDG_LIST_SRC ? dst : src }; /* listed, dense */
  const int64_t i0 = rng_in(r, 0, l->n - 1), n = rng_in(r, 1, l->n - i0), bytes = l->psum[l->n];
  char *at = place(r, area[0], 0, l->hull), *dense = place(r, area[1], 0, bytes), *expected = malloc((size_t)(PAGES * page));
  for (int k = 0; k < 2; k++) ck_assert_int_eq(mprotect(area[k], (size_t)(PAGES * page), PROT_READ | PROT_WRITE), 0);
  for (int64_t k = 0; k < PAGES * page; k += 8) *(uint64_t *)(void *)(src + k) = rng_next(r);
  memset(dst, 0x5a, (size_t)(PAGES * page)), memset(expected, 0x5a, (size_t)(PAGES * page));
  for (int64_t i = i0; i < i0 + n; i++) {
    char *const to = list == LDG_LIST_SRC ? dense + l->psum[i] : at + l->at[i];
    memcpy(expected + (to - dst), list == LDG_LIST_SRC ? at + l->at[i] : dense + l->psum[i], (size_t)(l->psum[i + 1] - l->psum[i]));
  }
  for (int k = 0; k < 2; k++) ck_assert_int_eq(mprotect(area[k], (size_t)(PAGES * page), PROT_NONE), 0);
  for (int64_t i = 0; i < l->n; i++) {
    const int64_t len = l->psum[i + 1] - l->psum[i];
    char *const one[2] = { at + l->at[i], dense + l->psum[i] };
    for (int k = 0; len && k < 2; k++) {
      char *from = (char *)((uintptr_t)one[k] & -(uintptr_t)page);
      ck_assert_int_eq(mprotect(from, (size_t)(one[k] + len - from), PROT_READ | PROT_WRITE), 0);
    }
  }
  strategy_named("late")->prepare(&j);
  j.run(&j, list == LDG_LIST_SRC ? at : dense, list == LDG_LIST_SRC ? dense : at, i0, n);
  ck_assert_int_eq(mprotect(dst, (size_t)(PAGES * page), PROT_READ | PROT_WRITE), 0);
  ck_assert_mem_eq(dst, expected, (size_t)(PAGES * page));
  free(expected);
}

START_TEST(lists_beside_pages) {
  static const int64_t longest[] = { 7, 8, 15, 16, 31, 32, 33, 63, 64, 70 };
  rng r = rng_of(50);
  page = sysconf(_SC_PAGESIZE);
  char *src = mmap(NULL, (size_t)(PAGES * page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char *dst = mmap(NULL, (size_t)(PAGES * page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert(src != MAP_FAILED && dst != MAP_FAILED);
  const int many = share_of(600);
  for (int i = 0; i < many; i++) {
    static listed l;
    random_list(&r, &l, longest[i / 2 % 10]);
    if (l.psum[l.n] > 0) check_listed(&r, &l, i % 2 ? LDG_LIST_SRC : LDG_LIST_DST, src, dst);
  }
  munmap(src, (size_t)(PAGES * page)), munmap(dst, (size_t)(PAGES * page));
}
END_TEST

int main(int argc, char **argv) { return CHECK_MAIN("window", argc, argv, pages_beside, lists_beside_pages, long_loops); }
