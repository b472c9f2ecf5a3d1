/* Shared by the tests: the runner, random numbers, guarded buffers, and the checks of a type against its naive model. */
#include "common.h"
#include "api.h"
#include "base_cpu.h"
#include <inttypes.h>
#include <sys/wait.h>
#include <unistd.h>

#if TEST_ASAN
#include <sanitizer/asan_interface.h>
#define poison(p, n) __asan_poison_memory_region(p, n) /* its macro looks at whether this file is instrumented */
#define unpoison(p, n) __asan_unpoison_memory_region(p, n)
#define watched(p, n) ck_assert_msg(!__asan_region_is_poisoned(p, (size_t)(n)), "%lld bytes do not fit", (long long)(n)) /* as nobody else looks */
#else
#define poison(p, n) ((void)0)
#define unpoison(p, n) ((void)0)
#define watched(p, n) ((void)0)
#endif

uint64_t test_seed = 20240611;

/* The suite `levels` says of which level it is. In a process of its own, since what LADING_ISA says is read once. */
static bool is_best(const char *level) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) unsetenv("LADING_ISA"), _exit(strcmp(ldg_cpu_isa(), level) || !ldg_cpu_runs(level));
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
static const char *why_skipped(void) {
  const char *level = getenv("LADING_TEST_LEVEL");
  if (level && is_best(level)) return "the suite `unit` runs it";
  return level && !ldg_cpu_runs(level) ? "this machine does not have it" : NULL;
}

int check_main(const char *layer, const TTest *const *tests, int64_t n, int argc, char **argv) {
  const char *why = why_skipped();
  if (why) {
    printf("%s: skipped, %s\n", getenv("LADING_TEST_LEVEL"), why);
    return 77;
  }
  if (argc > 1) test_seed = strtoull(argv[1], NULL, 0);
  printf("%s: seed %" PRIu64 "\n", layer, test_seed);
  fflush(stdout);
  Suite *suite = suite_create(layer);
  for (int64_t i = 0; i < n; i++) {
    TCase *tc = tcase_create(tests[i]->name);
    tcase_set_timeout(tc, 300);
    tcase_add_test(tc, tests[i]);
    suite_add_tcase(suite, tc);
  }
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}

int share_of(int samples) {
  const char *every = getenv("LADING_TEST_EVERY");
  return every && atoi(every) > 1 ? samples / atoi(every) : samples;
}

static inline uint64_t next(rng *r) {
  uint64_t z = (r->state += 0x9E3779B97F4A7C15u);
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

uint64_t rng_next(rng *r) { return next(r); }

rng rng_of(uint64_t salt) {
  rng r = { test_seed };
  r.state = rng_next(&r) ^ salt;
  rng_next(&r);
  return r;
}

int64_t rng_in(rng *r, int64_t lo, int64_t hi) { return lo + (int64_t)(rng_next(r) % (uint64_t)(hi - lo + 1)); }

/* ---- buffers ---- */

enum { GUARD = 64, GUARD_BYTE = 0x5C };

buffer buffer_new(int64_t n) {
  buffer b = { malloc((size_t)n + 2 * GUARD), NULL, n };
  b.data = b.raw + GUARD;
  memset(b.raw, GUARD_BYTE, (size_t)n + 2 * GUARD);
  poison(b.raw, GUARD);
  if (n % 8 == 0) poison(b.data + n, GUARD);
  return b;
}

/* Eight at a time: some tests do little else. */
void bytes_random(rng *r, void *at, int64_t n) {
  watched(at, n);
  for (int64_t i = 0; i < n; i += 8) {
    const uint64_t eight = next(r);
    if (n - i >= 8) memcpy((char *)at + i, &eight, 8);
    else memcpy((char *)at + i, &eight, (size_t)(n - i));
  }
}

void buffer_fill(buffer *b, uint64_t salt) {
  rng r = { salt };
  bytes_random(&r, b->data, b->n);
}

void bytes_vary(char *at, int64_t n) {
  for (int64_t i = 0; i < n; i++) at[i] = (char)(at[i] * 5 + 1);
}

bool buffer_guards(const buffer *b) {
  bool whole = true;
  unpoison(b->raw, (size_t)b->n + 2 * GUARD);
  for (int i = 0; i < GUARD; i++) whole &= b->raw[i] == GUARD_BYTE && b->data[b->n + i] == GUARD_BYTE;
  return whole;
}

void buffer_free(buffer *b) {
  unpoison(b->raw, (size_t)b->n + 2 * GUARD);
  free(b->raw);
}

/* ---- a type against its model ---- */

void sample_free(sample *s) {
  lading_type_free(s->type);
  map_free(s->map);
  free(s->spell);
  free(s);
}

lading_info info_of(const lading_type *t) {
  lading_info i;
  ck_assert_int_eq(lading_type_info(t, &i), LADING_OK);
  return i;
}

lading_id id_of(const lading_type *t, int64_t count) {
  lading_id id;
  ck_assert_int_eq(lading_type_id(t, count, &id), LADING_OK);
  return id;
}

bool same_id(lading_id a, lading_id b) { return a.w[0] == b.w[0] && a.w[1] == b.w[1]; }

char *text_of(const lading_type *t) {
  int64_t n = lading_type_text(t, NULL, 0);
  ck_assert_int_ge(n, 0);
  char *s = malloc((size_t)n + 1);
  ck_assert_int_eq(lading_type_text(t, s, n + 1), n);
  ck_assert_int_eq((int64_t)strlen(s), n);
  return s;
}

lading_type *parsed(const char *text) {
  lading_type *t = NULL;
  int rc = lading_type_parse(text, &t);
  ck_assert_msg(rc == LADING_OK, "parse of '%s' gives %d (%s)", text, rc, lading_strerror(rc));
  return t;
}

static void expect(const sample *s, const char *field, int64_t is, int64_t want) {
  ck_assert_msg(is == want, "%s: %s is %" PRId64 ", not %" PRId64, s->spell, field, is, want);
}
#define EXPECT(field, want) expect(s, #field, i.field, want)

static void check_elem(const sample *s, const lading_info *i) {
  int kind = s->map->n ? s->map->e[0].kind : -1;
  for (int64_t k = 0; k < s->map->n; k++) kind = s->map->e[k].kind == kind ? kind : -1;
  if (s->map->n) ck_assert_msg(i->elem == kind, "%s: elem is %d, not %d", s->spell, i->elem, kind);
}

void check_info(const sample *s) {
  const lading_info i = info_of(s->type);
  stream *x = stream_of(s->map, 1);
  EXPECT(size, x->n);
  EXPECT(lb, s->map->lb);
  EXPECT(extent, map_extent(s->map));
  EXPECT(true_lb, x->lo);
  EXPECT(true_extent, x->hi - x->lo);
  EXPECT(blocks, x->runs);
  EXPECT(min_block, x->min_run);
  EXPECT(max_block, x->max_run);
  EXPECT(elements, s->map->n);
  EXPECT(monotonic, x->monotonic);
  EXPECT(overlaps, x->overlaps);
  if (x->n) EXPECT(contiguous, x->runs == 1 && map_extent(s->map) == x->n);
  expect(s, "depth == 0", i.depth == 0, x->n == 0);
  ck_assert_msg(i.description_bytes >= 0 && i.depth <= LADING_DEPTH_MAX, "%s: %" PRId64 " bytes, depth %d", s->spell, i.description_bytes, i.depth);
  check_elem(s, &i);
  stream_free(x);
}

static void check_iov(const sample *s, int64_t count, const stream *x, int64_t first, int64_t max, const char *mem) {
  struct iovec *v = malloc((size_t)(max + 1) * sizeof *v);
  int64_t got = -1, want = first >= x->runs ? 0 : max < x->runs - first ? max : x->runs - first;
  v[max].iov_len = 4711;
  ck_assert_int_eq(lading_iov(s->type, count, mem, first, v, max, &got), LADING_OK);
  ck_assert_msg(got == want, "%s x %" PRId64 ": iov from %" PRId64 " max %" PRId64 " got %" PRId64 ", not %" PRId64, s->spell, count, first, max, got, want);
  for (int64_t k = 0; k < got; k++) {
    int64_t b = x->start[first + k], len = x->start[first + k + 1] - b;
    ck_assert_msg((char *)v[k].iov_base == at_offset(mem, x->at[b]) && (int64_t)v[k].iov_len == len,
                  "%s x %" PRId64 ": segment %" PRId64 " (from %" PRId64 ") is %" PRId64 "+%zu, not %" PRId64 "+%" PRId64, s->spell, count, first + k,
                  first, (int64_t)((uintptr_t)v[k].iov_base - (uintptr_t)mem), v[k].iov_len, x->at[b], len);
  }
  ck_assert_int_eq((int64_t)v[max].iov_len, 4711);
  free(v);
}

void check_segments(const sample *s, int64_t count, rng *r) {
  stream *x = stream_of(s->map, count);
  int64_t n = -1, k = -1, rest = -1;
  ck_assert_int_eq(lading_segments_count(s->type, count, &n), LADING_OK);
  ck_assert_msg(n == x->runs, "%s x %" PRId64 ": %" PRId64 " segments, not %" PRId64, s->spell, count, n, x->runs);
  for (int64_t first = 0; first <= x->runs + 1; first += x->runs > 64 ? rng_in(r, 1, 9) : 1)
    check_iov(s, count, x, first, first == 0 ? x->runs + 2 : rng_in(r, 0, 5), (const char *)64);
  for (int64_t b = 0, run = 0; b < x->n; b++) {
    run += b == x->start[run + 1];
    ck_assert_int_eq(lading_segment_at(s->type, count, b, &k, &rest), LADING_OK);
    ck_assert_msg(k == run && rest == b - x->start[run], "%s x %" PRId64 ": byte %" PRId64 " at %" PRId64 "+%" PRId64 ", not %" PRId64 "+%" PRId64,
                  s->spell, count, b, k, rest, run, b - x->start[run]);
  }
  ck_assert_int_eq(lading_segment_at(s->type, count, x->n, &k, &rest), LADING_ERR_RANGE);
  ck_assert_int_eq(lading_segment_at(s->type, count, -1, &k, &rest), LADING_ERR_RANGE);
  stream_free(x);
}

/* One mover under test: the public functions (plan NULL), or a plan that was forced to one strategy. Between calls `mem` and `want` are the same. */
typedef struct mover { const sample *s; int64_t count; const stream *x; const ldg_plan *plan; const char *name; buffer mem, want, packed, want_packed; } mover;

static void move(mover *m, int dir, char *packed, int64_t lo, int64_t hi) {
  char *mem = at_offset(m->mem.data, -m->x->lo);
  int rc = LADING_OK;
  if (m->plan) ldg_exec(m->plan, m->count, dir, mem, packed, lo, hi);
  else rc = dir == LDG_PACK ? lading_pack(m->s->type, m->count, mem, packed, lo, hi) : lading_unpack(m->s->type, m->count, mem, packed, lo, hi);
  ck_assert_int_eq(rc, LADING_OK);
}

static void judge(const mover *m, const char *what, bool good, int64_t lo, int64_t hi) {
  ck_assert_msg(good, "%s x %" PRId64 ": %s of [%" PRId64 ", %" PRId64 ") by %s is wrong (seed %" PRIu64 ")", m->s->spell, m->count, what, lo, hi,
                m->name, test_seed);
}

/* The window [lo, hi) stands at either end of the packed buffer, where a guard is next to it. */
static void try_pack(mover *m, int64_t lo, int64_t hi, rng *r) {
  char *to = m->packed.data + (rng_in(r, 0, 1) ? m->x->n - (hi - lo) : 0);
  char *want = m->want_packed.data + (to - m->packed.data);
  memset(m->packed.data, 0x77, (size_t)m->x->n);
  memset(m->want_packed.data, 0x77, (size_t)m->x->n);
  for (int64_t k = lo; k < hi; k++) want[k - lo] = m->want.data[m->x->at[k] - m->x->lo];
  move(m, LDG_PACK, to, lo, hi);
  judge(m, "pack", memcmp(m->want_packed.data, m->packed.data, (size_t)m->x->n) == 0, lo, hi);
}

static void apply(mover *m, const char *from, int64_t lo, int64_t hi) {
  for (int64_t k = lo; k < hi; k++) m->want.data[m->x->at[k] - m->x->lo] = from[k - lo];
}

static void try_unpack(mover *m, int64_t lo, int64_t hi, rng *r) {
  char *from = m->packed.data + (rng_in(r, 0, 1) ? m->x->n - (hi - lo) : 0);
  buffer_fill(&m->packed, rng_next(r));
  apply(m, from, lo, hi);
  move(m, LDG_UNPACK, from, lo, hi);
  judge(m, "unpack", memcmp(m->want.data, m->mem.data, (size_t)m->mem.n) == 0, lo, hi);
}

/* The stream cut into up to 8 ranges. They are taken in random order; where bytes coincide, the order of the stream counts. */
static void try_split(mover *m, rng *r) {
  int64_t cut[9] = { 0 }, n = rng_in(r, 2, 8), order[8];
  for (int64_t i = 1; i < n; i++) cut[i] = rng_in(r, cut[i - 1], m->x->n);
  cut[n] = m->x->n;
  for (int64_t i = 0; i < n; i++) order[i] = i;
  for (int64_t i = n - 1; i > 0 && !m->x->overlaps; i--) {
    int64_t j = rng_in(r, 0, i), t = order[i];
    order[i] = order[j];
    order[j] = t;
  }
  for (int64_t i = 0; i < n; i++) try_unpack(m, cut[order[i]], cut[order[i] + 1], r);
  for (int64_t i = 0; i < n; i++) try_pack(m, cut[order[i]], cut[order[i] + 1], r);
}

static void try_ranges(mover *m, int64_t small, int64_t tries, rng *r) {
  if (m->x->n <= small)
    for (int64_t lo = 0; lo <= m->x->n; lo++)
      for (int64_t hi = lo; hi <= m->x->n; hi++) { try_pack(m, lo, hi, r); try_unpack(m, lo, hi, r); }
  else
    for (int64_t i = 0; i < tries; i++) {
      int64_t lo = i ? rng_in(r, 0, m->x->n) : 0, hi = i ? rng_in(r, lo, m->x->n) : m->x->n;
      try_pack(m, lo, hi, r);
      try_unpack(m, lo, hi, r);
    }
  try_split(m, r);
}

static mover mover_new(const sample *s, int64_t count, rng *r) {
  stream *x = stream_of(s->map, count);
  mover m = { s, count, x, NULL, "the plan", buffer_new(x->hi - x->lo), buffer_new(x->hi - x->lo), buffer_new(x->n), buffer_new(x->n) };
  buffer_fill(&m.mem, rng_next(r));
  memcpy(m.want.data, m.mem.data, (size_t)m.mem.n);
  return m;
}

static void mover_free(mover *m) {
  judge(m, "guard", buffer_guards(&m->mem) && buffer_guards(&m->packed), 0, m->x->n);
  judge(m, "memory left", memcmp(m->want.data, m->mem.data, (size_t)m->mem.n) == 0, 0, m->x->n); /* by packing, too */
  buffer_free(&m->mem);
  buffer_free(&m->want);
  buffer_free(&m->packed);
  buffer_free(&m->want_packed);
  stream_free((stream *)m->x);
}

void check_moves(const sample *s, int64_t count, rng *r) {
  mover m = mover_new(s, count, r);
  try_ranges(&m, 24, 12, r);
  mover_free(&m);
}

const ldg_strategy *strategy_named(const char *name) {
  const ldg_strategy *row = ldg_backend_host.strategies;
  while (strcmp(row->name, name)) row++;
  return row;
}

void check_strategies(const sample *s, int64_t count, rng *r) {
  mover m = mover_new(s, count, r);
  const ldg_plan *plan;
  ck_assert_int_eq(ldg_api_plan(s->type, &plan), LADING_OK);
  for (int i = 0; i < ldg_plan_strategies(); i++) {
    m.name = ldg_plan_strategy(i)->name;
    ck_assert_int_eq(ldg_plan_forced(plan->layout, plan->extent, m.name, &m.plan), LADING_OK);
    try_ranges(&m, 12, 3, r);
    ldg_plan_release(m.plan);
  }
  mover_free(&m);
}

void check_all(const sample *s, int64_t count) {
  rng r = rng_of((uint64_t)count);
  check_info(s);
  check_segments(s, count, &r);
  check_moves(s, count, &r);
  check_strategies(s, count, &r);
}
