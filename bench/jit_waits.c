/* jit_waits: what nobody should notice. Two processes, kernels off in one and on in the other, take turns of some ms, so that whatever else
 * goes on in the machine meets both alike; and medians of several rounds are told. */
#include "jit.h"

#include "../backends/jit.h"
#include "api.h"
#include "hand_jit.h"
#include "plan_jit.h"
#include "sampler.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OFF, ON, BOTH };
enum { COMMITS = 100000, COMMIT_ROUNDS = 9, COMMIT_TURN = 2000, CALLS = 1000000, CALL_ROUNDS = 5, CALL_TURN = 10000 };

static int by_size(const void *a, const void *b) {
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}
static double quantile(const float *sorted, int64_t n, double q) { return sorted[(int64_t)((double)(n - 1) * q)]; }

/* One of the pair. It runs n units, times each into ns[], and now and then waits for its turn. */
typedef struct runner { int on, n, turn; const char *helper; int from, to; float *ns; } runner;
typedef bool unit(const runner *r, void *state, int64_t i);

static bool next_turn(const runner *r, bool first) {
  char token = 0;
  if (first && r->on == OFF) return true;
  return (first || write(r->to, &token, 1) == 1) && read(r->from, &token, 1) == 1;
}

static int run(const runner *r, unit *work, void *state) {
  if (!next_turn(r, true)) return 1;
  for (int64_t i = 0; i < r->n; i++) {
    if (i && i % r->turn == 0 && !next_turn(r, false)) return 1;
    if (!work(r, state, i)) return 1;
  }
  return write(r->to, "", 1) != 1;
}

/* Both sorted in ns[OFF] and ns[ON], which are shared. */
static int run_pair(int work(const runner *r), const char *helper, int n, int turn, float *ns[BOTH]) {
  int pipes[BOTH][2], bad = 0;
  pid_t pid[BOTH];
  if (pipe(pipes[OFF]) || pipe(pipes[ON])) return 1;
  fflush(NULL);
  for (int on = OFF; on < BOTH; on++) {
    const runner r = { on, n, turn, helper, pipes[on][0], pipes[1 - on][1], ns[on] };
    if ((pid[on] = fork()) == 0) {
      setenv("LADING_JIT", on ? helper : "off", 1);
      _exit(work(&r));
    }
  }
  for (int on = OFF, status; on < BOTH; on++) bad |= pid[on] < 0 || waitpid(pid[on], &status, 0) != pid[on] || status;
  for (int on = OFF; on < BOTH; on++) {
    close(pipes[on][0]), close(pipes[on][1]);
    qsort(ns[on], (size_t)n, sizeof **ns, by_size);
  }
  return bad;
}

/* ---- commit ---- */

/* Structs and nests, all different, of the kinds that are wrapped and of others. */
static int make_type(int64_t i, lading_type **t) {
  const int64_t at[] = { 0, 8 + i % 97, 200 + i / 97 }, len[] = { 3, 5, 9 };
  if (i % 2) return lading_type_hvector(100, 16 + i % 61, 100 + i, lading_elem_type(LADING_BYTE), t);
  return lading_type_hindexed(3, len, at, lading_elem_type(LADING_BYTE), t);
}

static bool commit_one(const runner *r, void *state, int64_t i) {
  lading_type *t;
  (void)state;
  if (make_type(i, &t)) return false;
  const double start = jit_now();
  const int e = lading_type_commit(t);
  r->ns[i] = (float)(jit_now() - start);
  lading_type_free(t);
  return !e;
}
static int commit_all(const runner *r) { return run(r, commit_one, NULL); }

static int time_commits(const char *helper, float *ns[BOTH]) {
  double q50[BOTH][COMMIT_ROUNDS], q99[BOTH][COMMIT_ROUNDS];
  int bad = 0;
  for (int round = 0; round < COMMIT_ROUNDS && !bad; round++) {
    bad = run_pair(commit_all, helper, COMMITS, COMMIT_TURN, ns);
    for (int on = OFF; on < BOTH; on++) q50[on][round] = quantile(ns[on], COMMITS, 0.5), q99[on][round] = quantile(ns[on], COMMITS, 0.99);
  }
  timing t50[BOTH], t99[BOTH];
  for (int on = OFF; on < BOTH; on++) t50[on] = sampler_stats(q50[on], COMMIT_ROUNDS), t99[on] = sampler_stats(q99[on], COMMIT_ROUNDS);
  for (int on = OFF; on < BOTH; on++)
    printf("%d x %d commits, %-4s median %5.0f ns, p99 %5.0f ns (quartiles of the rounds %.0f and %.0f)\n", COMMIT_ROUNDS, COMMITS, on ? "on:" : "off:", t50[on].ns, t99[on].ns,
           t99[on].q1, t99[on].q3);
  printf("commits with kernels on: median %+.1f %%, p99 %+.1f %%\n", 100 * (t50[ON].ns / t50[OFF].ns - 1), 100 * (t99[ON].ns / t99[OFF].ns - 1));
  return bad;
}

/* ---- calls while kernels are compiled ---- */

enum { QUEUE = 150 }; /* types that are asked for in a round: enough to keep a helper busy for longer than the calls take */
static int asked;     /* in all rounds, none twice */

static int ask_for_many(void) {
  for (int i = 0; i < QUEUE; i++) {
    lading_type *t;
    const ldg_plan *p;
    const int64_t k = asked + i;
    const int e = lading_type_hindexed(2, (const int64_t[]){ 1 + k % 100, 7 + k / 100 }, (const int64_t[]){ 0, 200 }, lading_elem_type(LADING_BYTE), &t);
    if (e || ldg_api_plan(t, &p)) return 1;
    ldg_jit_warm(p);
  }
  return 0;
}

typedef struct stream { lading_type *type; int64_t count, bytes; char *mem, *packed; } stream;

static bool call_one(const runner *r, void *state, int64_t i) {
  const stream *s = state;
  const double start = jit_now();
  lading_pack(s->type, s->count, s->mem, s->packed, 0, s->bytes);
  r->ns[i] = (float)(jit_now() - start);
  return true;
}

static int call_all(const runner *r) {
  const hand_jit *h = &hand_jit_table[1];
  stream s = { .count = 100, .bytes = 100 * h->size, .mem = bench_alloc(100 * h->extent), .packed = bench_alloc(100 * h->size) };
  if (!s.mem || !s.packed || lading_type_parse(h->type, &s.type)) return 1;
  if (r->on && ask_for_many()) return 1;
  const int bad = run(r, call_one, &s);
  return bad || (r->on && ldg_jit_settled()); /* then nothing was compiled to the end */
}

static void tell_calls(float *ns[BOTH], double beyond[BOTH]) {
  const double median = quantile(ns[OFF], CALLS, 0.5);
  for (int on = OFF; on < BOTH; on++) {
    int64_t slow = 0;
    for (int64_t i = 0; i < CALLS; i++) slow += ns[on][i] > 2 * median;
    beyond[on] = (double)slow;
    printf("%d calls, %-4s median %4.0f ns, p99 %4.0f, p99.9 %5.0f, p99.99 %6.0f, most %8.0f; %5" PRId64 " beyond twice the median of off\n", CALLS, on ? "on:" : "off:",
           quantile(ns[on], CALLS, 0.5), quantile(ns[on], CALLS, 0.99), quantile(ns[on], CALLS, 0.999), quantile(ns[on], CALLS, 0.9999), (double)ns[on][CALLS - 1], slow);
  }
}

static int time_calls(const char *helper, float *ns[BOTH]) {
  double slow[BOTH][CALL_ROUNDS], more[CALL_ROUNDS], both[BOTH];
  int bad = 0;
  for (int round = 0; round < CALL_ROUNDS && !bad; round++, asked += QUEUE) {
    bad = run_pair(call_all, helper, CALLS, CALL_TURN, ns);
    tell_calls(ns, both);
    slow[OFF][round] = both[OFF], slow[ON][round] = both[ON], more[round] = both[ON] - both[OFF];
  }
  for (int on = OFF; on < BOTH; on++) both[on] = sampler_stats(slow[on], CALL_ROUNDS).ns;
  const timing t = sampler_stats(more, CALL_ROUNDS);
  printf("of a million calls beyond twice the median of off: %.0f off, %.0f on; %+.0f a round in the median (%+.0f to %+.0f)\n", both[OFF], both[ON], t.ns, more[0], more[CALL_ROUNDS - 1]);
  return bad;
}

/* ---- the calls that have something to do for a kernel ---- */

enum { SIGHTS = 60 }; /* half of the table is for shapes that nobody has moved much by */

/* A shape that nobody saw before: its key is made, and it gets a slot; where no attendant is there, one is started. */
static int first_sights(void *arg) {
  double ns[2][SIGHTS];
  setenv("LADING_JIT", arg, 1);
  for (int i = 0; i < 2 * SIGHTS; i++) {
    ldg_shape shape = { .reduce.size = 1, .n = 3, .field = { { 0, 0, 1 + i % 50 }, { 64, 64, 5 + i / 50 }, { 80, 80, 4 } } };
    ldg_slot *slot;
    if (i % 2 == 0) while (!ldg_jit_settled()) nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    const double start = jit_now();
    ldg_jit_slot(&shape, 0, 0, &slot);
    ns[i % 2][i / 2] = jit_now() - start;
  }
  for (int k = 0; k < 2; k++) {
    const timing t = sampler_stats(ns[k], SIGHTS); /* which sorts */
    printf("the call that sees a shape first, %s: least %.1f us, median %.1f, most %.1f\n", k ? "an attendant is there" : "an attendant is started", ns[k][0] * 1e-3, t.ns * 1e-3,
           ns[k][SIGHTS - 1] * 1e-3);
  }
  return 0;
}

int jit_waits(const char *helper) {
  float *ns[BOTH];
  for (int on = OFF; on < BOTH; on++)
    if ((ns[on] = mmap(NULL, CALLS * sizeof **ns, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) == MAP_FAILED) return 1;
  const int bad = time_commits(helper, ns) || time_calls(helper, ns);
  return jit_in_a_child(first_sights, (void *)(uintptr_t)helper) || bad;
}
