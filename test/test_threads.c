/* threads: eight at once share, intern, pack and free. Meant to run under the thread sanitizer too. */
#include "random_types.h"
#include "memo.h"
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 8 };

typedef struct crew crew;
typedef struct member { crew *c; int id; int64_t bad; } member;
struct crew {
  pthread_barrier_t gate;
  void (*work)(crew *c, member *m);
  lading_type *t;
  const sample *s;
  const stream *x;
  const char *base;
  char *packed;
  lading_id id[THREADS];
  _Atomic bool stop;
};

/* Wrong results are counted and judged by the main thread: check's own failures do not belong on other threads. */
#define EXPECT(m, what) ((m)->bad += !(what))

static void *run_member(void *arg) {
  member *m = arg;
  pthread_barrier_wait(&m->c->gate);
  m->c->work(m->c, m);
  return NULL;
}

static void run_crew(crew *c, void (*work)(crew *, member *)) {
  pthread_t thread[THREADS];
  member m[THREADS];
  c->work = work;
  pthread_barrier_init(&c->gate, NULL, THREADS);
  for (int i = 0; i < THREADS; i++) {
    m[i] = (member){ c, i, 0 };
    ck_assert_int_eq(pthread_create(&thread[i], NULL, run_member, &m[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(thread[i], NULL);
    ck_assert_msg(m[i].bad == 0, "thread %d saw %d wrong results", i, (int)m[i].bad);
  }
  pthread_barrier_destroy(&c->gate);
}

static lading_type *shape(int64_t k) {
  lading_type *row, *t;
  if (lading_type_hvector(5 + k % 3, 1, 24 + k, lading_elem_type(LADING_DOUBLE), &row)) return NULL;
  if (lading_type_struct(2, LIST(1, 2), LIST(0, 1000 + k), (const lading_type *const[]){ row, lading_elem_type(LADING_INT32) }, &t)) t = NULL;
  lading_type_free(row);
  return t;
}

/* ---- the first use of a fresh type ---- */

static void use_first(crew *c, member *m) {
  char mem[2048], packed[80];
  lading_info i;
  int64_t n;
  for (int k = 0; k < 2048; k++) mem[k] = (char)k;
  switch (m->id % 4) {
  case 0: EXPECT(m, lading_type_info(c->t, &i) == LADING_OK && i.elements > 5); break;
  case 1: EXPECT(m, lading_segments_count(c->t, 1, &n) == LADING_OK && n > 5); break;
  case 2: EXPECT(m, lading_type_commit(c->t) == LADING_OK); break;
  default: break;
  }
  EXPECT(m, lading_pack(c->t, 1, mem, packed, 3, 43) == LADING_OK);
  for (int64_t k = 3; k < 40; k++) EXPECT(m, packed[k - 3] == c->base[c->x->at[k]]);
  EXPECT(m, lading_type_id(c->t, 1, &c->id[m->id]) == LADING_OK);
}

START_TEST(first_use_is_shared) {
  for (int64_t k = 0; k < 150; k++) {
    char mem[2048];
    for (int i = 0; i < 2048; i++) mem[i] = (char)i;
    sample *s = S_STRUCT(2, LIST(1, 2), LIST(0, 1000 + k), s_hvector(5 + k % 3, 1, 24 + k, s_elem(LADING_DOUBLE)), s_elem(LADING_INT32));
    crew c = { .t = s->type, .s = s, .x = stream_of(s->map, 1), .base = mem };
    run_crew(&c, use_first);
    for (int i = 1; i < THREADS; i++) ck_assert(same_id(c.id[0], c.id[i]));
    stream_free((stream *)c.x);
    sample_free(s);
  }
}
END_TEST

/* ---- the same layouts, made by everyone, come and go ---- */

static void intern_and_drop(crew *c, member *m) {
  lading_type *kept[16] = { NULL };
  (void)c;
  for (int64_t k = 0; k < 3000; k++) {
    int64_t slot = (k * 7 + m->id) % 16;
    lading_type *t = shape(k % 40);
    lading_id a, b;
    EXPECT(m, t && lading_type_commit(t) == LADING_OK);
    if (kept[slot]) {
      EXPECT(m, lading_type_id(kept[slot], 1, &a) == LADING_OK && lading_type_id(kept[slot], 1, &b) == LADING_OK && same_id(a, b));
      lading_type_free(kept[slot]);
    }
    kept[slot] = t;
  }
  for (int i = 0; i < 16; i++) lading_type_free(kept[i]);
}

START_TEST(interning_comes_and_goes) {
  int64_t before = ldg_memo_entries();
  crew c = { 0 };
  run_crew(&c, intern_and_drop);
  ck_assert_int_eq(ldg_memo_entries(), before);
}
END_TEST

static void intern_same(crew *c, member *m) {
  for (int64_t k = 0; k < 40; k++) {
    lading_type *t = shape(k);
    lading_id id;
    EXPECT(m, t && lading_type_commit(t) == LADING_OK && lading_type_id(t, 2, &id) == LADING_OK);
    if (k == 39) c->id[m->id] = id;
    lading_type_free(t);
  }
}

START_TEST(interning_agrees) {
  crew c = { 0 };
  run_crew(&c, intern_same);
  for (int i = 1; i < THREADS; i++) ck_assert(same_id(c.id[0], c.id[i]));
}
END_TEST

/* ---- one type, many references ---- */

static void ref_pack_free(crew *c, member *m) {
  char mem[2048] = { 0 }, packed[48];
  for (int k = 0; k < 4000; k++) {
    lading_type *mine = lading_type_ref(c->t);
    EXPECT(m, lading_pack(mine, 1, mem, packed, k % 20, 40) == LADING_OK);
    lading_type_free(mine);
  }
  lading_type_free(c->t); /* everybody gives back one of the first references, the last one ends the type */
}

START_TEST(freed_in_flight) {
  for (int k = 0; k < 10; k++) {
    int64_t before = ldg_memo_entries();
    crew c = { .t = shape(k) };
    for (int i = 1; i < THREADS; i++) lading_type_ref(c.t);
    run_crew(&c, ref_pack_free);
    ck_assert_int_eq(ldg_memo_entries(), before);
  }
}
END_TEST

/* ---- one type packed in ranges ---- */

static void pack_range(crew *c, member *m) {
  int64_t n = c->x->n, lo = n * m->id / THREADS, hi = n * (m->id + 1) / THREADS;
  for (int64_t at = lo, step; at < hi; at += step) {
    step = 1 + (at * 31 + m->id) % 97;
    if (step > hi - at) step = hi - at;
    EXPECT(m, lading_pack(c->t, 3, at_offset(c->base, -c->x->lo), c->packed + at, at, at + step) == LADING_OK);
  }
}

START_TEST(one_type_in_ranges) {
  rng r = rng_of(41);
  for (int k = 0; k < 60; k++) {
    sample *s = random_type(&r, 4, 1500);
    crew c = { .t = s->type, .s = s, .x = stream_of(s->map, 3) };
    buffer mem = buffer_new(c.x->hi - c.x->lo), packed = buffer_new(c.x->n);
    buffer_fill(&mem, 1);
    c.base = mem.data;
    c.packed = packed.data;
    run_crew(&c, pack_range);
    for (int64_t i = 0; i < c.x->n; i++) ck_assert_int_eq(packed.data[i], mem.data[c.x->at[i] - c.x->lo]);
    ck_assert(buffer_guards(&packed));
    buffer_free(&mem);
    buffer_free(&packed);
    stream_free((stream *)c.x);
    sample_free(s);
  }
}
END_TEST

/* ---- fork while the others work: the child goes on ---- */

static void child_works(void) {
  char mem[2048] = { 0 }, packed[48];
  signal(SIGALRM, SIG_DFL);
  alarm(20); /* a lock that nobody will ever open must not hang the test */
  for (int64_t k = 0; k < 60; k++) {
    lading_type *t = shape(k);
    if (!t || lading_pack(t, 1, mem, packed, 0, 48) != LADING_OK) _exit(3);
    lading_type_free(t);
  }
  _exit(0);
}

static void pack_again(crew *c, member *m) {
  char mem[2048] = { 0 }, packed[48];
  EXPECT(m, lading_pack(c->t, 1, mem, packed, 0, 48) == LADING_OK);
}

/* The sanitizers' malloc may have a lock of its own taken at the fork and hang the child, so nobody allocates under them. */
static void fork_or_work(crew *c, member *m) {
  if (m->id) {
    while (!c->stop) (TEST_ASAN || TEST_TSAN ? pack_again : intern_same)(c, m);
    return;
  }
  for (int k = 0; k < 40; k++) {
    int status = -1;
    pid_t child = fork();
    if (child == 0) child_works();
    EXPECT(m, child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  c->stop = true;
}

START_TEST(fork_under_load) {
  crew c = { .t = shape(1) };
  ck_assert_int_eq(lading_type_commit(c.t), LADING_OK); /* else the first pack allocates */
  run_crew(&c, fork_or_work);
  lading_type_free(c.t);
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("threads", argc, argv, first_use_is_shared, interning_comes_and_goes, interning_agrees, freed_in_flight, one_type_in_ranges,
                    fork_under_load);
}
