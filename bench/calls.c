/* calls: types made and committed, segments found, messages of a few bytes. Each call is repeated until a sample lasts 50 us; the
 * median of 21 samples counts. */
#include "calls.h"
#include "api.h"
#include "problem.h"
#include "sampler.h"
#include <stdio.h>
#include <time.h>

#define SAMPLE_NS 50e3
#define SAMPLES 21

typedef struct subject {
  lading_type *vector, *list, *eight, *wide, *face; /* 2^20 blocks in a row, 2^20 listed, 8 blocks of 8 bytes, 8 farther apart, a face that stays */
  int64_t n, *at, *len;                      /* an irregular list */
  char *mem, *packed;
  int64_t turn;
} subject;

typedef int call(subject *s);

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double sample(call *f, subject *s, int64_t reps) {
  const double start = now_ns();
  for (int64_t i = 0; i < reps; i++)
    if (f(s) != LADING_OK) return 0;
  return (now_ns() - start) / (double)reps;
}

static void report(const char *what, call *f, subject *s) {
  double ns[SAMPLES];
  int64_t reps = 1;
  while (sample(f, s, reps) * (double)reps < SAMPLE_NS && reps < (1 << 24)) reps *= 2;
  for (int i = 0; i < SAMPLES; i++) ns[i] = sample(f, s, reps);
  const timing t = sampler_stats(ns, SAMPLES);
  printf("%-62s %12.1f ns\n", what, t.ns);
}

/* ---- the calls ---- */

static int made(int e, lading_type *t) {
  if (!e) e = lading_type_commit(t);
  if (!e) lading_type_free(t);
  return e;
}

static int face(int64_t start, lading_type **t) {
  return lading_type_subarray(3, (const int64_t[]){ 64, 64, 64 }, (const int64_t[]){ 8, 16, 2 }, (const int64_t[]){ 3, 5, start },
                              LADING_ORDER_C, lading_elem_type(LADING_DOUBLE), t);
}
static int make_known_face(subject *s) {
  (void)s;
  lading_type *t = NULL;
  const int e = face(7, &t);
  return made(e, t);
}
static int make_new_face(subject *s) {
  lading_type *t = NULL;
  const int e = face(8 + s->turn++ % 50, &t);
  return made(e, t);
}
static int make_list(subject *s) {
  lading_type *t = NULL;
  const int e = lading_type_hindexed(s->n, s->len, s->at, lading_elem_type(LADING_BYTE), &t);
  return made(e, t);
}
static int segment_of(const lading_type *t) {
  struct iovec v;
  int64_t got;
  return lading_iov(t, 1, NULL, (1 << 20) - 3, &v, 1, &got);
}
static int segment_of_vector(subject *s) { return segment_of(s->vector); }
static int segment_of_list(subject *s) { return segment_of(s->list); }
static int pack_eight(subject *s) { return lading_pack(s->eight, 1, s->mem, s->packed, 0, 64); }
static int unpack_eight(subject *s) { return lading_unpack(s->eight, 1, s->mem, s->packed, 0, 64); }
static int copy_eight(subject *s) { return lading_copy(s->eight, 1, s->mem, s->wide, 1, s->mem + 2048, 0, 64); }
static int sum_one(subject *s) {
  return lading_unpack_op(lading_elem_type(LADING_INT32), 1, s->mem, s->packed, 0, 4, LADING_SUM);
}
static int id_of_face(subject *s) {
  lading_id id;
  return lading_type_id(s->face, 1, &id);
}
static int encode_face(subject *s) {
  int64_t used;
  return lading_wire_encode(s->face, s->packed, 128, &used);
}

/* ---- the subjects ---- */

#define BLOCKS (1 << 20)
#define IRREGULAR 18372

static int make_subjects(subject *s) {
  const lading_type *d = lading_elem_type(LADING_DOUBLE);
  uint64_t seed = 9;
  s->at = bench_alloc(BLOCKS * (int64_t)sizeof *s->at), s->len = bench_alloc(IRREGULAR * (int64_t)sizeof *s->len);
  s->mem = bench_alloc(4096), s->packed = bench_alloc(4096);
  memset(s->mem, 0, 4096), memset(s->packed, 0, 4096);
  for (int64_t i = 0, at = 0; i < BLOCKS; i++) s->at[i] = at, at += 16 + 8 * (int64_t)(splitmix64(&seed) % 9);
  int e = lading_type_vector(BLOCKS, 1, 2, d, &s->vector);
  if (!e) e = lading_type_hindexed_block(BLOCKS, 1, s->at, d, &s->list);
  if (!e) e = lading_type_vector(8, 1, 2, d, &s->eight);
  if (!e) e = lading_type_vector(8, 1, 3, d, &s->wide);
  if (!e) e = face(7, &s->face);
  for (const lading_type *t[] = { s->vector, s->list, s->eight, s->wide, s->face }, **p = t; p < t + 5 && !e; p++) e = lading_type_commit(*p);
  s->n = IRREGULAR;
  for (int64_t i = 0; i < IRREGULAR; i++) s->len[i] = 8 + 8 * (int64_t)(splitmix64(&seed) % 2);
  return e;
}

int calls_time(void) {
  subject s = { 0 };
  if (make_subjects(&s) != LADING_OK) return fputs("lbench: no memory\n", stderr), 2;
  report("subarray of 3 dims: create, commit, free; its layout new", make_new_face, &s);
  report("subarray of 3 dims: create, commit, free; its layout alive", make_known_face, &s);
  report("hindexed of 18372 blocks of 8 and 16 B: create, commit, free", make_list, &s);
  report("lading_iov, one segment near 2^20 of a vector", segment_of_vector, &s);
  report("lading_iov, one segment near 2^20 of a list", segment_of_list, &s);
  report("lading_pack, 8 blocks of 8 B", pack_eight, &s);
  report("lading_unpack, 8 blocks of 8 B", unpack_eight, &s);
  report("lading_copy, 8 blocks of 8 B", copy_eight, &s);
  report("lading_unpack_op, one int, SUM", sum_one, &s);
  report("lading_type_id, known", id_of_face, &s);
  report("lading_wire_encode, subarray of 3 dims", encode_face, &s);
  lading_type_free(s.vector), lading_type_free(s.list), lading_type_free(s.eight), lading_type_free(s.wide), lading_type_free(s.face);
  ldg_free(s.at), ldg_free(s.len), ldg_free(s.mem), ldg_free(s.packed);
  return 0;
}
