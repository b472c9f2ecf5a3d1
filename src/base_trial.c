/* Calls that are long enough are timed, the first ones all, later ones now and then, both ways, and the others go the faster one. */
#include "base_trial.h"

#include "base_cpu.h"

enum {
  LINE = 64,
  MANY = 1024 * LINE, /* bytes: from so many on, calls are timed as often as that is worth it */
  BETWEEN = 16,       /* such calls of a thread, in the mean, between two that are timed */
  EARLY = 8,          /* calls that are all timed */
  SLOWLY = 8,         /* slower calls that it takes until most of that is believed */
  PATIENCE = 16,      /* calls of others that wait for a second call of one trial */
  OFTEN = 4, SELDOM = 32, /* of calls that are timed then, one goes the way that seems slower */
  MARGIN = 32,        /* of the time of way 0, what the other one has to gain */
  COARSE = 64         /* ticks: shorter calls are all alike (of 10 ns, a virtual Zen 5's clock goes on by 26, others by one of 40) */
};

/* The least of late: interruptions, and lines that happen to be far, only ever add time. A slower call counts for an eighth of what it took
 * more, or of all that was taken before, if that is less: one that was interrupted changes little, and one of what has become slower by n times is
 * believed after some 9 ln n others. */
static void settle(_Atomic uint64_t *pace, uint64_t now) {
  const uint64_t was = atomic_load_explicit(pace, memory_order_relaxed);
  const uint64_t is = !was || now <= was ? now : was + (now - was < was ? now - was : was) / SLOWLY;
  atomic_store_explicit(pace, is, memory_order_relaxed);
}

/* The other one has to be faster by a thirty-second part: of two that take as long as each other one stays, the one that does less. */
static void decide(ldg_verdict *v) {
  const uint64_t plain = atomic_load_explicit(&v->pace[0], memory_order_relaxed), other = atomic_load_explicit(&v->pace[1], memory_order_relaxed);
  if (plain && other) atomic_store_explicit(&v->which, other < plain - plain / MARGIN, memory_order_relaxed);
}

/* Of a thread: bytes before a call is timed. Chance says how many, or of trials that take turns some would never be. */
typedef struct turns {
  int until;
  uint32_t chance;
  uintptr_t next; /* address of a verdict whose next call is timed; 0: none */
  int patience;   /* so many calls of others at most are not timed instead */
  enum { FREE, TIMING, EXPLORING } within; /* a call that is timed, or one before that */
} turns;
static _Thread_local turns turn;
static int some_bytes(void) {
  turn.chance = turn.chance * 1664525 + 1013904223;
  return MANY * BETWEEN / 2 + (int)((turn.chance >> 8) % (MANY * BETWEEN));
}
static bool is_early(const ldg_verdict *v) { return atomic_load_explicit(&v->timed, memory_order_relaxed) < EARLY; }

bool ldg_trial_is_due(const ldg_trial *t, int64_t n) {
  if (turn.within == TIMING) return false;
  if (is_early(ldg_trial_verdict(t, n))) return true;
  return turn.within == FREE && (turn.until -= n < t->edge[0] ? (int)(n * t->bytes) : MANY) < 0;
}

/* What a first call finds is never as it will be: pages are new, lines far. So the likely way has that one, the other the next four,
 * and the likely one three again. From then on the other one has a turn of four, or of 32 if it takes half as long again: it must not be forgotten,
 * but some columns take four times as long, and a tenth of all time would go there. */
static bool is_of_other(const ldg_verdict *v, unsigned call, int best) {
  if (call < EARLY) return call >= 1 && call <= EARLY / 2;
  const uint64_t is = atomic_load_explicit(&v->pace[best], memory_order_relaxed), other = atomic_load_explicit(&v->pace[!best], memory_order_relaxed);
  return call % (other > is + is / 2 ? SELDOM : OFTEN) == 0;
}

/* The first of those that go one way in a row: stores of a short call may all still wait when it ends, and it is the next one that waits for them. */
static bool is_first_of_early(unsigned call) { return call <= 1 || call == EARLY / 2 + 1; }

/* A call finds in the caches what the one before left there, which went the other way (columns of 32 bytes, 1 KiB apart, by blocks that are kept apart:
 * the first call takes as long as the plain ones before, those after it a quarter less). So of the way that seems slower it is the second call that is
 * timed, while other trials of the thread leave the turn to it for a while; what is rare is timed when it has a turn again. False: this call goes there
 * untimed, or the best way since another one waits. */
static bool is_timed(ldg_verdict *v, int best, int *which) {
  const bool is_next = turn.next == (uintptr_t)v;
  if (turn.next && !is_next && turn.patience-- > 0) return *which = best, false;
  turn.next = 0;
  if (atomic_exchange_explicit(&v->waits, false, memory_order_relaxed) || is_next || *which == best) return true;
  atomic_store_explicit(&v->waits, true, memory_order_relaxed);
  turn.next = (uintptr_t)v, turn.patience = PATIENCE;
  return false;
}

int ldg_trial_start(const ldg_trial *t, int64_t n, ldg_lap *lap) {
  ldg_verdict *v = ldg_trial_verdict(t, n);
  const int best = atomic_load_explicit(&v->which, memory_order_relaxed);
  lap->of = v, lap->early = is_early(v), lap->timed = true, lap->within = turn.within, turn.within = TIMING;
  lap->call = lap->early ? atomic_fetch_add_explicit(&v->timed, 1, memory_order_relaxed) : atomic_load_explicit(&v->timed, memory_order_relaxed);
  lap->which = is_of_other(v, lap->call, best) ? !best : best;
  if (lap->early) return lap->which;
  lap->timed = is_timed(v, best, &lap->which);
  if (lap->timed) atomic_fetch_add_explicit(&v->timed, 1, memory_order_relaxed), turn.until = some_bytes();
  else turn.until = -1, turn.within = EXPLORING; /* the turn stays */
  return lap->which;
}

/* A way that takes less than the clock tells is known to be no slower than that, if the other one is known. */
void ldg_trial_stop(const ldg_lap *lap, int64_t n, uint64_t now) {
  const uint64_t ticks = now - lap->since;
  turn.within = lap->within;
  if (!lap->timed || ticks >> 44 || (lap->early && is_first_of_early(lap->call))) return;
  if (ticks < COARSE && !atomic_load_explicit(&lap->of->pace[!lap->which], memory_order_relaxed)) return;
  settle(&lap->of->pace[lap->which], (ldg_max(ticks, COARSE) << 10) / (uint64_t)n + 1);
  if (lap->call + 1 >= EARLY) decide(lap->of);
}

void ldg_trial_never(ldg_trial *t) { t->few = INT64_MAX; }

static int64_t iterations(int64_t bytes, int64_t each) { return (bytes - 1) / each + 1; }

void ldg_trial_init(ldg_trial *t, int64_t bytes, bool other_is_likely) {
  const int64_t each = ldg_max(1, bytes);
  *t = (ldg_trial){ .few = LDG_TRIAL_LEAST / ldg_min(each, LDG_TRIAL_LEAST), .edge = { iterations(MANY, each), iterations(8 * MANY, each) }, .bytes = each };
  for (int i = 0; i < LDG_TRIAL_KINDS; i++) {
    atomic_init(&t->of[i].which, other_is_likely), atomic_init(&t->of[i].waits, false), atomic_init(&t->of[i].timed, 0);
    atomic_init(&t->of[i].pace[0], 0), atomic_init(&t->of[i].pace[1], 0);
  }
  if (ldg_cpu_ticks() == 0) ldg_trial_never(t);
}

void ldg_trial_explain(const ldg_trial *t, const char *plain, ldg_text *out) {
  static const char *const kinds[LDG_TRIAL_KINDS] = { "less than 64 KiB", "64 to 512 KiB", "512 KiB and more" };
  for (int i = 0; i < LDG_TRIAL_KINDS; i++)
    if (atomic_load_explicit(&t->of[i].which, memory_order_relaxed) == 0) ldg_text_add(out, "      calls of %s of lines took less time by %s\n", kinds[i], plain);
}
