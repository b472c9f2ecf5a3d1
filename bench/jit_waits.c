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

/* The control takes as long and calls nobody: what happens to it, too, is the machine's doing. Its times are behind those of the calls. */
typedef struct stream { lading_type *type; int64_t count, control, bytes; const hand_jit *h; char *mem, *packed; } stream;
enum { CONTROL_MOST = 1000 };

static bool call_one(const runner *r, void *state, int64_t i) {
  const stream *s = state;
  const double start = jit_now();
  lading_pack(s->type, s->count, s->mem, s->packed, 0, s->bytes);
  const double between = jit_now();
  s->h->move[0](s->mem, s->packed, s->control);
  r->ns[i] = (float)(between - start), r->ns[CALLS + i] = (float)(jit_now() - between);
  return true;
}

/* So many items that the loop by hand takes as long as a call. */
static bool set_control(const runner *r, stream *s) {
  enum { SOME = 1000 };
  for (int64_t i = 0; i < SOME; i++) call_one(r, s, i);
  qsort(r->ns, SOME, sizeof *r->ns, by_size), qsort(r->ns + CALLS, SOME, sizeof *r->ns, by_size);
  s->control = (int64_t)((double)s->count * quantile(r->ns, SOME, 0.5) / quantile(r->ns + CALLS, SOME, 0.5));
  return s->control > 0 && s->control <= CONTROL_MOST;
}

/* Of a shape that no round before had, so that its kernel is not in the cache. */
static int call_all(const runner *r) {
  const hand_jit *h = &hand_jit_table[1];
  char type[64];
  const int len = 1 + asked / QUEUE % 8;
  snprintf(type, sizeof type, "resized(hindexed([%d,8,3],[0,8,17],byte),0,24)", len);
  stream s = { .h = h, .count = 100, .control = 100, .bytes = 100 * (len + 11), .mem = bench_alloc(CONTROL_MOST * h->extent), .packed = bench_alloc(CONTROL_MOST * h->size) };
  if (!s.mem || !s.packed || lading_type_parse(type, &s.type) || !set_control(r, &s)) return 1;
  if (r->on && ask_for_many()) return 1;
  const int bad = run(r, call_one, &s);
  return bad || (r->on && ldg_jit_settled()); /* then nothing was compiled to the end */
}

enum { CALL, CONTROL, KINDS };
static const char *const kinds[KINDS] = { "calls", "control" };

/* Beyond twice the median of their kind with kernels off. */
static void tell_calls(float *ns[BOTH], double beyond[KINDS][BOTH]) {
  for (int k = 0; k < KINDS; k++) {
    const float *sorted[BOTH] = { ns[OFF] + k * CALLS, ns[ON] + k * CALLS };
    const double median = quantile(sorted[OFF], CALLS, 0.5);
    for (int on = OFF; on < BOTH; on++) {
      int64_t slow = 0;
      for (int64_t i = 0; i < CALLS; i++) slow += sorted[on][i] > 2 * median;
      beyond[k][on] = (double)slow;
      printf("%d %-7s %-4s median %4.0f ns, p99 %4.0f, p99.9 %5.0f, p99.99 %6.0f, most %8.0f; %5" PRId64 " beyond twice the median of off\n", CALLS, kinds[k], on ? "on:" : "off:",
             quantile(sorted[on], CALLS, 0.5), quantile(sorted[on], CALLS, 0.99), quantile(sorted[on], CALLS, 0.999), quantile(sorted[on], CALLS, 0.9999), (double)sorted[on][CALLS - 1], slow);
    }
  }
}

static int time_calls(const char *helper, float *ns[BOTH]) {
  double slow[KINDS][BOTH][CALL_ROUNDS], more[CALL_ROUNDS], all[KINDS][BOTH];
  int bad = 0;
  for (int round = 0; round < CALL_ROUNDS && !bad; round++, asked += QUEUE) {
    bad = run_pair(call_all, helper, CALLS, CALL_TURN, ns);
    for (int on = OFF; on < BOTH; on++) qsort(ns[on] + CALLS, CALLS, sizeof **ns, by_size);
    tell_calls(ns, all);
    for (int k = 0; k < KINDS; k++)
      for (int on = OFF; on < BOTH; on++) slow[k][on][round] = all[k][on];
    more[round] = (all[CALL][ON] - all[CALL][OFF]) - (all[CONTROL][ON] - all[CONTROL][OFF]);
  }
  for (int k = 0; k < KINDS; k++)
    printf("of a million %s beyond twice the median of off: %.0f off, %.0f on\n", kinds[k], sampler_stats(slow[k][OFF], CALL_ROUNDS).ns, sampler_stats(slow[k][ON], CALL_ROUNDS).ns);
  const timing t = sampler_stats(more, CALL_ROUNDS);
  printf("more of the calls than of the control when kernels are on: %+.0f a round in the median (%+.0f to %+.0f)\n", t.ns, more[0], more[CALL_ROUNDS - 1]);
  return bad;
}

/* ---- the calls that have something to do for a kernel ---- */

enum { SIGHTS = 60, SIGHT_ITEMS = 100, SIGHT_BYTES = 40 };

/* The call by which enough was moved for the i-th shape to be looked at, and the one before it. */
static int time_sight(int64_t i, double *ns, double *usual) {
  static char mem[SIGHT_ITEMS * 200], packed[SIGHT_ITEMS * SIGHT_BYTES];
  const int64_t each = SIGHT_ITEMS * SIGHT_BYTES, a = 1 + i % 9, at = 64 + i / 9;
  lading_type *t, *u;
  if (lading_type_hindexed(3, (const int64_t[]){ a, 16 - a, SIGHT_BYTES - 16 }, (const int64_t[]){ 0, 24, at }, lading_elem_type(LADING_BYTE), &u)) return 1;
  if (lading_type_resized(u, 0, 200, &t)) return 1;
  for (int64_t k = 0; k < (LDG_HOT_LOOK + each - 1) / each; k++) {
    const double start = jit_now();
    *usual = *ns;
    lading_pack(t, SIGHT_ITEMS, mem, packed, 0, each);
    *ns = jit_now() - start;
  }
  lading_type_free(t), lading_type_free(u);
  return 0;
}

static void tell_sights(const char *what, double *ns) {
  const timing t = sampler_stats(ns, SIGHTS); /* which sorts */
  printf("%s: least %.2f us, median %.2f, most %.2f\n", what, ns[0] * 1e-3, t.ns * 1e-3, ns[SIGHTS - 1] * 1e-3);
}

/* A shape that nobody saw before is looked at by an attendant: one is started, or is there while a helper compiles. */
static int first_sights(void *arg) {
  double ns[2][SIGHTS], usual[2][SIGHTS];
  setenv("LADING_JIT", arg, 1);
  for (int i = 0; i < 2 * SIGHTS; i++) {
    if (i == SIGHTS && ask_for_many()) return 1;
    while (i < SIGHTS && !ldg_jit_settled()) nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    if (time_sight(i, &ns[i / SIGHTS][i % SIGHTS], &usual[i / SIGHTS][i % SIGHTS])) return 1;
  }
  tell_sights("the call that has a shape looked at, an attendant is started", ns[0]), tell_sights("the call before it", usual[0]);
  tell_sights("the call that has a shape looked at, an attendant is there", ns[1]), tell_sights("the call before it", usual[1]);
  return 0;
}

int jit_waits(const char *helper) {
  float *ns[BOTH];
  for (int on = OFF; on < BOTH; on++)
    if ((ns[on] = mmap(NULL, KINDS * CALLS * sizeof **ns, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) == MAP_FAILED) return 1;
  const int bad = time_commits(helper, ns) || time_calls(helper, ns);
  return jit_in_a_child(first_sights, (void *)(uintptr_t)helper) || bad;
}
