/* Which of two kernels is faster may hang on where the lines of a call come from, which nobody can tell from a layout. So calls that are long
 * enough are timed, the first ones all, later ones now and then, by both kernels, and the faster one runs the others. */
#include "trial.h"

#include "base_cpu.h"

enum {
  LINE = 64,
  MANY = 1024,       /* lines: from so many on, calls are timed as often as that is worth it */
  BETWEEN = 16,      /* such calls of a thread, in the mean, between two that are timed */
  EARLY = 8,         /* calls of a job that are all timed */
  SLOWLY = 8,        /* slower calls that it takes until most of that is believed */
  PATIENCE = 16,     /* calls of others that wait for a second call of one job */
  OFTEN = 4, SELDOM = 32, /* of calls that are timed then, one is of the kernel that seems slower */
  MARGIN = 32        /* of the time of the plain kernel, what the other one has to gain */
};

typedef struct trial {
  ldg_run *run[2];          /* plain, and the other one */
  int32_t few, many, lines; /* iterations of the outermost dim: fewer are not timed, so many count as MANY lines; lines of one */
  _Atomic int which;        /* of both is run; of the first calls, the likely one */
  _Atomic bool waits;       /* the slower one ran untimed: the next turn is timed */
  _Atomic unsigned timed;   /* calls */
  _Atomic uint64_t pace[2]; /* 1/1024 ticks for such an iteration; 0: not known. All of them are racy: who is lost was only timed in vain */
} trial;
_Static_assert(LDG_TRIAL_OWN + sizeof(trial) <= sizeof ((ldg_job *)NULL)->own && LDG_TRIAL_OWN % _Alignof(trial) == 0, "it fits into a job");

static trial *trial_of(const ldg_job *j) { return (trial *)((uintptr_t)(const void *)j->own + LDG_TRIAL_OWN); }

/* The least of late: interruptions, and lines that happen to be far, only ever add time. A slower call counts for an eighth of what it took
 * more, or of all that was taken before, if that is less: one that was interrupted changes little, and one of what has become slower by n times is
 * believed after some 9 ln n others. */
static void settle(_Atomic uint64_t *pace, uint64_t now) {
  const uint64_t was = atomic_load_explicit(pace, memory_order_relaxed);
  const uint64_t is = !was || now <= was ? now : was + (now - was < was ? now - was : was) / SLOWLY;
  atomic_store_explicit(pace, is, memory_order_relaxed);
}

/* The other one has to be faster by a thirty-second part: of two that take as long as each other one stays, the one that does less. */
static void decide(trial *a) {
  const uint64_t plain = atomic_load_explicit(&a->pace[0], memory_order_relaxed), other = atomic_load_explicit(&a->pace[1], memory_order_relaxed);
  if (plain && other) atomic_store_explicit(&a->which, other < plain - plain / MARGIN, memory_order_relaxed);
}

/* Of a thread: lines before a call is timed. Chance says how many, or of jobs that take turns some would never be. */
typedef struct turns {
  int until;
  uint32_t chance;
  uintptr_t next; /* address of a trial whose next call is timed; 0: none */
  int patience;     /* so many calls of others at most are not timed instead */
} turns;
static _Thread_local turns turn;
static int some_lines(void) {
  turn.chance = turn.chance * 1664525 + 1013904223;
  return MANY * BETWEEN / 2 + (int)((turn.chance >> 8) % (MANY * BETWEEN));
}
static bool is_early(const trial *a) { return atomic_load_explicit(&a->timed, memory_order_relaxed) < EARLY; }
static bool is_turn(const trial *a, int64_t n) { return (turn.until -= n < a->many ? (int)n * a->lines : MANY) < 0; }

/* What a job's first call finds is never as it will be: pages are new, lines far. So the likely kernel has that one, the other the next four,
 * and the likely one three again. From then on the other one has a turn of four, or of 32 if it takes half as long again: it must not be forgotten,
 * but some columns take four times as long, and a tenth of all time would go there. */
static bool is_of_other(const trial *a, unsigned call, int best) {
  if (call < EARLY) return call >= 1 && call <= EARLY / 2;
  const uint64_t is = atomic_load_explicit(&a->pace[best], memory_order_relaxed), other = atomic_load_explicit(&a->pace[!best], memory_order_relaxed);
  return call % (other > is + is / 2 ? SELDOM : OFTEN) == 0;
}

/* The first of those that one kernel has in a row: stores of a short call may all still wait when it ends, and it is the next one that waits for them. */
static bool is_first_of_early(unsigned call) { return call <= 1 || call == EARLY / 2 + 1; }

/* A call finds in the caches what the one before left there, which was another kernel (columns of 32 bytes, 1 KiB apart, by blocks that are kept apart:
 * the first call takes as long as the plain ones before, those after it a quarter less). So of the kernel that seems slower it is the second call that is
 * timed, while other jobs of the thread leave the turn to it for a while; a job that is rare is timed when it has a turn again. Which kernel runs untimed;
 * TIMED: this call is. */
enum { TIMED = -1 };
static int runs_untimed(trial *a, int best, int which) {
  const bool is_next = turn.next == (uintptr_t)a;
  if (turn.next && !is_next && turn.patience-- > 0) return best;
  turn.next = 0;
  if (atomic_exchange_explicit(&a->waits, false, memory_order_relaxed) || is_next || which == best) return TIMED;
  atomic_store_explicit(&a->waits, true, memory_order_relaxed);
  turn.next = (uintptr_t)a, turn.patience = PATIENCE;
  return which;
}

static __attribute__((noinline)) int run_timed(const ldg_job *j, trial *a, const char *src, char *dst, int64_t i0, int64_t n) {
  const bool early = is_early(a);
  const unsigned call = early ? atomic_fetch_add_explicit(&a->timed, 1, memory_order_relaxed) : atomic_load_explicit(&a->timed, memory_order_relaxed);
  const int best = atomic_load_explicit(&a->which, memory_order_relaxed), which = is_of_other(a, call, best) ? !best : best;
  if (!early) {
    const int untimed = runs_untimed(a, best, which);
    if (untimed != TIMED) return turn.until = -1, a->run[untimed](j, src, dst, i0, n); /* the turn stays */
    atomic_fetch_add_explicit(&a->timed, 1, memory_order_relaxed);
  }
  if (!early) turn.until = some_lines();
  const uint64_t start = ldg_cpu_ticks();
  a->run[which](j, src, dst, i0, n);
  const uint64_t ticks = ldg_cpu_ticks() - start;
  if (ticks >> 44 || (early && is_first_of_early(call))) return LADING_OK;
  settle(&a->pace[which], (ticks << 10) / (uint64_t)n + 1);
  if (call + 1 >= EARLY) decide(a);
  return LADING_OK;
}

static int run(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) {
  trial *a = trial_of(j);
  if (n >= a->few && (is_early(a) || is_turn(a, n))) return run_timed(j, a, src, dst, i0, n);
  return a->run[atomic_load_explicit(&a->which, memory_order_relaxed)](j, src, dst, i0, n);
}

/* Of an iteration of the outermost dim, MANY at most. */
static int32_t lines_each(const ldg_nest *n) {
  int64_t lines = ldg_min((n->block + LINE - 1) / LINE, MANY);
  for (int k = 0; k < n->nd - 1; k++) lines = ldg_min(lines * ldg_min(n->dim[k].n, MANY), MANY);
  return (int32_t)ldg_max(lines, 1);
}

void ldg_trial_prepare(ldg_job *j, ldg_run *plain, ldg_run *other, bool other_is_likely) {
  trial *a = trial_of(j);
  const int32_t lines = lines_each(&j->nest);
  *a = (trial){ .run = { plain, other }, .few = LDG_TRIAL_LEAST / (int32_t)ldg_min(lines, LDG_TRIAL_LEAST), .many = MANY / lines, .lines = lines };
  atomic_init(&a->which, other_is_likely), atomic_init(&a->waits, false), atomic_init(&a->timed, 0), atomic_init(&a->pace[0], 0), atomic_init(&a->pace[1], 0);
  j->run = !j->nest.once && ldg_cpu_ticks() ? run : a->run[other_is_likely];
}
