/* threads_api: moves on threads of the caller give what one thread gives, whatever the type, the range and the threads. Meant to
 * run under the thread sanitizer too. */
#include "random_types.h"
#include "api.h"
#include "base_model.h"
#include <pthread.h>

/* ---- a parallel-for, as an embedder has one ---- */

typedef struct pool { int threads; int64_t calls, parts; } pool;
typedef struct batch { void (*body)(void *, int64_t); void *arg; int64_t n; _Atomic int64_t next; _Atomic int64_t done; } batch;

static void *work(void *arg) {
  batch *b = arg;
  for (int64_t i = b->next++; i < b->n; i = b->next++) b->body(b->arg, b->n - 1 - i), b->done++;
  return NULL;
}

static void run_all(void *ctx, int64_t n, void (*body)(void *, int64_t), void *arg) {
  pool *p = ctx;
  batch b = { .body = body, .arg = arg, .n = n };
  pthread_t thread[8];
  p->calls++, p->parts = n;
  for (int i = 0; i < p->threads; i++) ck_assert_int_eq(pthread_create(&thread[i], NULL, work, &b), 0);
  work(&b);
  for (int i = 0; i < p->threads; i++) pthread_join(thread[i], NULL);
  ck_assert_int_eq(b.done, n);
}

/* Every part is worth it, so that small moves are cut too. */
static ldg_model eager(void) {
  ldg_model m = ldg_model_builtin();
  m.number[LDG_MODEL_PART] = 1;
  return m;
}

/* ---- equal to one thread ---- */

static void same_pack(const sample *s, int64_t count, const stream *x, const buffer *mem, int64_t lo, int64_t hi, pool *p, int64_t shift) {
  buffer packed = buffer_new(hi - lo + shift);
  const char *base = at_offset(mem->data, -x->lo);
  ck_assert_int_eq(lading_pack_threads(s->type, count, base, packed.data + shift, lo, hi, run_all, p, p->threads + 1), LADING_OK);
  for (int64_t k = lo; k < hi; k++)
    ck_assert_msg(packed.data[shift + k - lo] == mem->data[x->at[k] - x->lo], "%s: packed byte %d is wrong", s->spell, (int)k);
  ck_assert(buffer_guards(&packed));
  buffer_free(&packed);
}

static void same_unpack(const sample *s, int64_t count, const stream *x, buffer *mem, int64_t lo, int64_t hi, pool *p, int64_t shift) {
  buffer packed = buffer_new(hi - lo + shift), want = buffer_new(mem->n);
  buffer_fill(&packed, (uint64_t)hi);
  memcpy(want.data, mem->data, (size_t)mem->n);
  for (int64_t k = lo; k < hi; k++) want.data[x->at[k] - x->lo] = packed.data[shift + k - lo];
  char *base = at_offset(mem->data, -x->lo);
  ck_assert_int_eq(lading_unpack_threads(s->type, count, base, packed.data + shift, lo, hi, run_all, p, p->threads + 1), LADING_OK);
  ck_assert_msg(memcmp(want.data, mem->data, (size_t)mem->n) == 0, "%s: unpack of [%d, %d) is wrong", s->spell, (int)lo, (int)hi);
  ck_assert(buffer_guards(mem));
  buffer_free(&packed);
  buffer_free(&want);
}

START_TEST(equals_one_thread) {
  const ldg_model m = eager();
  rng r = rng_of(51);
  int64_t cut = 0;
  ldg_model_use(&m);
  for (int i = 0; i < 250; i++) {
    sample *s = random_type(&r, 1 + i % 5, 2500);
    const int64_t count = rng_in(&r, 1, 12);
    stream *x = stream_of(s->map, count);
    buffer mem = buffer_new(x->hi - x->lo);
    buffer_fill(&mem, 1);
    for (int k = 0; k < 3; k++) {
      pool p = { .threads = (int)rng_in(&r, 1, 4) };
      const int64_t lo = k ? rng_in(&r, 0, x->n) : 0, hi = k ? rng_in(&r, lo, x->n) : x->n, shift = rng_in(&r, 0, 70);
      same_pack(s, count, x, &mem, lo, hi, &p, shift);
      same_unpack(s, count, x, &mem, lo, hi, &p, shift);
      ck_assert(p.parts <= p.threads + 1);
      cut += p.calls;
    }
    buffer_free(&mem);
    stream_free(x);
    sample_free(s);
  }
  ck_assert_msg(cut > 200, "only %d of 1500 moves were cut", (int)cut);
  ldg_model_use(NULL);
}
END_TEST

START_TEST(copies) {
  enum { N = 96 };
  static double a[N][N], b[N][N];
  const ldg_model m = eager();
  lading_type *rows = parsed("contiguous(9216,double)"), *columns = parsed("contiguous(96,resized(vector(96,1,96,double),0,8))");
  pool p = { .threads = 3 };
  ldg_model_use(&m);
  for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) a[i][j] = i * 1000.0 + j;
  for (int64_t lo = 0; lo < 4000; lo += 1237) {
    memset(b, 0, sizeof b);
    ck_assert_int_eq(lading_copy_threads(rows, 1, a, columns, 1, b, lo * 8, N * N * 8, run_all, &p, 4), LADING_OK);
    for (int64_t k = 0; k < N * N; k++) ck_assert(b[k % N][k / N] == (k < lo ? 0.0 : a[k / N][k % N]));
  }
  ck_assert_int_eq(p.calls, 4);
  ldg_model_use(NULL);
  lading_type_free(rows);
  lading_type_free(columns);
}
END_TEST

/* ---- cuts ---- */

static void in_order(void *ctx, int64_t n, void (*body)(void *, int64_t), void *arg) {
  *(int64_t *)ctx = n;
  for (int64_t i = 0; i < n; i++) body(arg, i);
}

/* Only one part is run: what it writes begins and ends on lines of the packed side, or at the ends. */
static int64_t only;
static void one_of_them(void *ctx, int64_t n, void (*body)(void *, int64_t), void *arg) {
  *(int64_t *)ctx = n;
  if (only < n) body(arg, only);
}

START_TEST(cut_at_lines) {
  enum { N = 6000 };
  static char mem[2 * N], packed[N + 64] __attribute__((aligned(64)));
  const ldg_model m = eager();
  lading_type *t = parsed("vector(750,1,2,double)");
  ldg_model_use(&m);
  memset(mem, 1, sizeof mem);
  for (int64_t shift = 0; shift < 64; shift += 9) {
    int64_t parts = 1, all = 0;
    for (only = 0; only < parts; only++) {
      memset(packed, 0, sizeof packed);
      ck_assert_int_eq(lading_pack_threads(t, 1, mem, packed + shift, 0, N, one_of_them, &parts, 5), LADING_OK);
      int64_t lo = 0, hi = N + 64;
      while (!packed[lo]) lo++;
      while (!packed[hi - 1]) hi--;
      ck_assert(lo % 64 == 0 || lo == shift);
      ck_assert(hi % 64 == 0 || hi == shift + N);
      all += hi - lo;
    }
    ck_assert_int_eq(parts, 5);
    ck_assert_int_eq(all, N);
  }
  ldg_model_use(NULL);
  lading_type_free(t);
}
END_TEST

/* ---- when not ---- */

static void never(void *ctx, int64_t n, void (*body)(void *, int64_t), void *arg) {
  (void)n, (void)body, (void)arg;
  *(bool *)ctx = true;
}

START_TEST(in_this_thread) {
  static char mem[1 << 16], packed[1 << 16] __attribute__((aligned(64)));
  const ldg_model m = eager();
  lading_type *t = parsed("vector(512,1,2,double)"), *twice = parsed("hvector(512,1,4,double)"), *close = parsed("resized(vector(512,1,2,double),0,8)");
  bool called = false;
  int64_t parts = 0;
  ldg_model_use(&m);
  ck_assert_int_eq(lading_pack_threads(t, 1, mem, packed, 0, 4096, NULL, NULL, 8), LADING_OK);
  ck_assert_int_eq(lading_pack_threads(t, 1, mem, packed, 0, 4096, never, &called, 1), LADING_OK);
  ck_assert_int_eq(lading_pack_threads(t, 1, mem, packed, 0, 4096, never, &called, -3), LADING_OK);
  ck_assert_int_eq(lading_pack_threads(t, 1, mem, packed, 77, 77, never, &called, 8), LADING_OK);
  ck_assert_int_eq(lading_pack_threads(t, 1, mem, packed, 64, 120, never, &called, 8), LADING_OK);
  ck_assert_int_eq(lading_unpack_threads(twice, 1, mem, packed, 0, 4096, never, &called, 8), LADING_OK);
  ck_assert_int_eq(lading_unpack_threads(close, 3, mem, packed, 0, 3 * 4096, never, &called, 8), LADING_OK);
  ck_assert_int_eq(lading_copy_threads(t, 1, packed, twice, 1, mem, 0, 4096, never, &called, 8), LADING_OK);
  ck_assert(!called);
  ck_assert_int_eq(lading_pack_threads(twice, 1, mem, packed, 0, 4096, in_order, &parts, 8), LADING_OK); /* reading twice is fine */
  ck_assert_int_eq(parts, 8);
  ldg_model_use(NULL);
  ck_assert_int_eq(lading_pack_threads(t, 1, mem, packed, 0, 4096, never, &called, 8), LADING_OK); /* 4 KiB are no work for two */
  ck_assert(!called);
  lading_type_free(t);
  lading_type_free(twice);
  lading_type_free(close);
}
END_TEST

START_TEST(errors) {
  char mem[64], packed[64] = "untouched";
  bool called = false;
  lading_type *t = parsed("vector(4,1,2,double)");
  const lading_type *big = lading_elem_type(LADING_DOUBLE);
  ck_assert_int_eq(lading_pack_threads(NULL, 1, mem, packed, 0, 8, never, &called, 2), LADING_ERR_ARG);
  ck_assert_int_eq(lading_pack_threads(t, -1, mem, packed, 0, 8, never, &called, 2), LADING_ERR_ARG);
  ck_assert_int_eq(lading_pack_threads(t, 1, mem, packed, -1, 8, never, &called, 2), LADING_ERR_RANGE);
  ck_assert_int_eq(lading_unpack_threads(t, 1, packed, mem, 9, 8, never, &called, 2), LADING_ERR_RANGE);
  ck_assert_int_eq(lading_unpack_threads(t, 1, packed, mem, 0, 33, never, &called, 2), LADING_ERR_RANGE);
  ck_assert_int_eq(lading_pack_threads(big, INT64_MAX / 2, mem, packed, 0, 8, never, &called, 2), LADING_ERR_OVERFLOW);
  ck_assert_int_eq(lading_copy_threads(t, 1, mem, NULL, 1, packed, 0, 8, never, &called, 2), LADING_ERR_ARG);
  ck_assert_int_eq(lading_copy_threads(t, 1, mem, t, 1, packed, 0, 33, never, &called, 2), LADING_ERR_RANGE);
  ck_assert(!called);
  ck_assert_str_eq(packed, "untouched");
  lading_type_free(t);
}
END_TEST

/* What overflows is what an item touches, as for a call without threads. */
START_TEST(far_items) {
  static const struct { const char *spell; int64_t count; int want; } far[] = {
    { "resized(double,0,4611686018427387904)", 2, LADING_OK },
    { "resized(double,0,4611686018427387904)", 3, LADING_ERR_OVERFLOW },
    { "resized(hindexed([1],[4611686018427387904],double),0,2305843009213693952)", 2, LADING_OK },
    { "resized(hindexed([1],[4611686018427387904],double),0,2305843009213693952)", 3, LADING_ERR_OVERFLOW },
  };
  char packed[8];
  for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
    lading_type *t = parsed(far[i].spell);
    const int64_t n = far[i].count;
    ck_assert_int_eq(lading_pack(t, n, NULL, packed, 0, 0), far[i].want);
    ck_assert_int_eq(lading_pack_threads(t, n, NULL, packed, 0, 0, NULL, NULL, 2), far[i].want);
    ck_assert_int_eq(lading_unpack_threads(t, n, NULL, packed, 0, 0, NULL, NULL, 2), far[i].want);
    lading_type_free(t);
  }
}
END_TEST

/* ---- the model's first use, by many at once ---- */

static void *look(void *arg) {
  pthread_barrier_wait(arg);
  const ldg_model *m = ldg_model_get();
  return m->copy[0] > 0 && ldg_model_copy(100) > 0 ? NULL : arg;
}

START_TEST(first_use_of_the_model) {
  pthread_t thread[8];
  pthread_barrier_t gate;
  pthread_barrier_init(&gate, NULL, 8);
  for (int i = 0; i < 8; i++) ck_assert_int_eq(pthread_create(&thread[i], NULL, look, &gate), 0);
  for (int i = 0; i < 8; i++) {
    void *bad;
    pthread_join(thread[i], &bad);
    ck_assert_ptr_null(bad);
  }
  pthread_barrier_destroy(&gate);
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("threads_api", argc, argv, equals_one_thread, copies, cut_at_lines, in_this_thread, errors, far_items, first_use_of_the_model);
}
