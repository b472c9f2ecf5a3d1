/* Calls that are long enough are timed, the first ones all, later ones now and then, all ways, and the others go the fastest one. */
#include "base_trial.h"

#include "base_cpu.h"
#include "base_model.h"

enum {
  LINE = 64,
  MANY = 1024 * LINE, /* bytes: from so many on, calls are timed as often as that is worth it */
  BETWEEN = 16,       /* such calls of a thread, in the mean, between two that are timed */
  DOUBTS = 5,         /* proofs that failed: each halves how often another one is tried, up to so many */
  SLOWLY = 32, QUICKLY = 4, /* calls that it takes until most of what they take is believed, and faster ones of a way that is not taken: one slower call alone is within the margin */
  PATIENCE = 16,      /* calls of others that wait for a second call of one trial */
  OFTEN = 4, SELDOM = 32, /* of calls that are timed then, one goes a way that seems slower */
  MARGIN = 32,        /* of the time of way 0, what another one has to gain */
  WAITED = 4,         /* times the pace of two other calls of its row: such a call does not count */
  PACE_BITS = 16,     /* of a pace behind the point */
  COARSE = 64         /* ticks: shorter calls are all alike (of 10 ns, a virtual Zen 5's clock goes on by 26, others by one of 40) */
};

/* Calls of one way by which it is known, or proves that it is faster, by kinds. Parts of a message are not alike, so short calls, which may be parts,
 * are enough to go through one; long ones leave little in the caches, and fewer of them are much. */
static const unsigned row_by[LDG_TRIAL_KINDS] = { 32, 16, 4, 4 };

static uint64_t pace_of(const ldg_verdict *v, int way) { return atomic_load_explicit(&v->pace[way], memory_order_relaxed); }

/* A call that was interrupted takes more, but the one after it less: stores have drained that it would have waited for (512 blocks of 2 bytes, 512 apart, written: 1.4 us
 * each, 0.3 after a pause; Zen 5). So of a row the least and the greatest do not count, and later calls count for a 32nd, of at most twice the pace; but those of a
 * way that is not taken for a quarter of what they take less: a proof follows. */
static void settle(ldg_verdict *v, int way, uint64_t now) {
  const uint64_t was = pace_of(v, way);
  const uint64_t more = now > was ? (ldg_min(now - was, was) + SLOWLY - 1) / SLOWLY : 0;
  const uint64_t calls = way == atomic_load_explicit(&v->which, memory_order_relaxed) ? SLOWLY : QUICKLY, less = now < was ? (was - now + calls - 1) / calls : 0;
  atomic_store_explicit(&v->pace[way], was ? was + more - less : now, memory_order_relaxed);
}

typedef struct paces { uint64_t least, second, greatest, sum; unsigned counted; } paces; /* second: the least but one */
static paces row_read(const ldg_verdict *v) {
  return (paces){ atomic_load_explicit(&v->least, memory_order_relaxed), atomic_load_explicit(&v->second, memory_order_relaxed), atomic_load_explicit(&v->greatest, memory_order_relaxed),
                atomic_load_explicit(&v->sum, memory_order_relaxed), atomic_load_explicit(&v->counted, memory_order_relaxed) };
}
static void row_write(ldg_verdict *v, paces r) {
  atomic_store_explicit(&v->least, r.least, memory_order_relaxed), atomic_store_explicit(&v->second, r.second, memory_order_relaxed), atomic_store_explicit(&v->greatest, r.greatest, memory_order_relaxed);
  atomic_store_explicit(&v->sum, r.sum, memory_order_relaxed), atomic_store_explicit(&v->counted, (unsigned short)r.counted, memory_order_relaxed);
}
static void begin_row(ldg_verdict *v) { row_write(v, (paces){ INT64_MAX, INT64_MAX, 0, 0, 0 }); }

/* What takes several times as long as two others of its row was interrupted, or waited for new pages, as first calls often do, some of one way and none of the other (162 blocks of 40 bytes: three of 65 took
 * a hundred times as long, two of them of one row of 16). One other alone may be the one after such a call. */
static void add_to_row(ldg_verdict *v, uint64_t now) {
  paces r = row_read(v);
  if (now / WAITED > r.second) return;
  const uint64_t second = ldg_max(r.least, ldg_min(r.second, now));
  if (second < r.second / WAITED) r = (paces){ .least = r.least, .greatest = r.least, .sum = r.least, .counted = 1 }; /* all before but the least waited */
  row_write(v, (paces){ ldg_min(r.least, now), second, ldg_max(r.greatest, now), r.sum + now, r.counted + 1 });
}
/* Threads may have mixed rows; what makes no sense is not known. */
static uint64_t pace_of_row(const paces *r) {
  if (r->counted > 2 && r->sum > r->least + r->greatest) return (r->sum - r->least - r->greatest) / (r->counted - 2);
  if (r->counted == 2 && r->second < INT64_MAX) return r->second; /* the least may be the call after one that waited */
  return r->counted && r->least < INT64_MAX ? r->least : 0;
}
static void end_row(ldg_verdict *v, int way) {
  const paces r = row_read(v);
  atomic_store_explicit(&v->pace[way], pace_of_row(&r), memory_order_relaxed);
}

/* Is this way worth leaving that one? Another one than way 0 has to be faster by a thirty-second part: of two that take as long as each other one stays, the
 * one that does less. */
static bool gains(const ldg_verdict *v, int this, int that) {
  const uint64_t is = pace_of(v, this), other = pace_of(v, that);
  if (!is || !other) return false;
  return this ? is < other - other / MARGIN : is - is / MARGIN <= other;
}
static int fastest(const ldg_trial *t, const ldg_verdict *v, int which) {
  int best = which;
  for (int k = 0; k < t->ways; k++)
    if (gains(v, k, best)) best = k;
  return best;
}

/* Of a thread: bytes before a call is timed. Chance says how many, or of trials that take turns some would never be. */
typedef struct turns {
  int until;
  uint32_t chance;
  uintptr_t next; /* address of a verdict whose next call is timed; 0: none */
  int patience;   /* so many calls of others at most are not timed instead */
  bool within;     /* a call that is timed, or one before that */
  unsigned firsts; /* first calls that were timed; it may wrap */
} turns;
#if defined(__GLIBC__) && defined(__x86_64__) && LDG_CHECKS < 2
/* Its address takes a call there, as long as the rest of what a call that is not timed looks at, unless it is near the thread's own block, where glibc keeps room (rtld.optional_static_tls,
 * 512 bytes) for libraries that are loaded late. All that the library has of each thread goes there then, which is more where everything is checked. */
_Static_assert(sizeof(turns) <= 40, "of that room little is taken");
__attribute__((tls_model("initial-exec")))
#endif
static _Thread_local turns turn;
static int some_bytes(void) {
  turn.chance = turn.chance * 1664525 + 1013904223;
  return MANY * BETWEEN / 2 + (int)((turn.chance >> 8) % (MANY * BETWEEN));
}
static int kind_of(const ldg_trial *t, const ldg_verdict *v) { return (int)(v - t->of); }
static unsigned row_of(const ldg_trial *t, const ldg_verdict *v) { return row_by[kind_of(t, v)]; }
/* Of a row these do not count; not the first one, since the stores of the other way may still have waited. */
static unsigned skipped_of(const ldg_trial *t, const ldg_verdict *v) { return kind_of(t, v) > 1 ? 1 : row_of(t, v) / 2; }
static unsigned early_of(const ldg_trial *t, const ldg_verdict *v) { return row_of(t, v) * (unsigned)t->ways + 1; }
static bool is_early(const ldg_trial *t, const ldg_verdict *v) { return atomic_load_explicit(&v->timed, memory_order_relaxed) < early_of(t, v); }

bool ldg_trial_is_due(const ldg_trial *t, int64_t n) {
  const ldg_verdict *v = ldg_trial_verdict(t, n);
  if (is_early(t, v)) return true;
  return !turn.within && (atomic_load_explicit(&v->proof, memory_order_relaxed) || (turn.until -= n < t->edge[0] ? (int)(n * t->bytes) : MANY) < 0);
}

/* Of the ways that are not this one the k-th, round and round. */
static int another(const ldg_trial *t, int one, unsigned k) {
  const int way = (int)(k % (unsigned)(t->ways - 1));
  return way < one ? way : way + 1;
}

static bool is_doubted(const ldg_verdict *v, int way, unsigned times) { return times % (1u << atomic_load_explicit(&v->doubts[way], memory_order_relaxed)) != 0; }

/* What a first call finds is never as it will be: pages are new, lines far. So the likely way has that one, each of the others a row,
 * and the likely one its own. From then on others have a turn of four, by turns, or of 32 if they take half as long again, and fewer if they are
 * doubted: they must not be forgotten, but some columns take four times as long, and a tenth of all time would go there. */
static int way_of(const ldg_trial *t, const ldg_verdict *v, unsigned call, int best) {
  const unsigned row = row_of(t, v);
  if (call < early_of(t, v)) return call == 0 || call > row * (unsigned)(t->ways - 1) ? t->likely : another(t, t->likely, (call - 1) / row);
  if (call % OFTEN) return best;
  const unsigned round = call / OFTEN / (unsigned)(t->ways - 1);
  const int other = another(t, best, call / OFTEN);
  const uint64_t is = pace_of(v, best);
  const bool waits = is_doubted(v, other, round) || (pace_of(v, other) > is + is / 2 && round % (SELDOM / OFTEN));
  return waits ? best : other;
}

/* A call finds in the caches what the one before left there, which went the other way (columns of 32 bytes, 1 KiB apart, by blocks that are kept apart:
 * the first call takes as long as the plain ones before, those after it a quarter less). So of a way that seems slower it is the second call that is
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

/* What a single call gains may be what the other way left in the caches (512 blocks of 8 bytes, 512 apart, with late addresses: a second call takes 0.8 of the
 * time of blocks that are kept apart, the tenth 1.5). So a way that seems faster has some calls in a row, the last of which have to be; if they are not it is
 * tried less often. */
static void begin_proof(const ldg_trial *t, ldg_verdict *v, unsigned call) {
  const int which = atomic_load_explicit(&v->which, memory_order_relaxed), best = fastest(t, v, which);
  if (best == which || is_doubted(v, best, call)) return;
  begin_row(v);
  atomic_store_explicit(&v->proof, (unsigned)best << 8 | row_of(t, v), memory_order_relaxed);
}
static unsigned proof_after(unsigned proof) { return proof % 256 > 1 ? proof - 1 : 0; }
static void go_on_proving(ldg_verdict *v, ldg_lap *lap) {
  lap->which = (int)(lap->proof >> 8);
  atomic_store_explicit(&v->proof, proof_after(lap->proof), memory_order_relaxed);
}
static void end_proof(const ldg_trial *t, ldg_verdict *v, int way) {
  const int which = atomic_load_explicit(&v->which, memory_order_relaxed);
  if (which == way) return; /* another thread was faster */
  const bool good = fastest(t, v, which) == way;
  const unsigned char doubts = atomic_load_explicit(&v->doubts[way], memory_order_relaxed);
  atomic_store_explicit(&v->doubts[way], good ? 0 : (unsigned char)ldg_min(doubts + 1, DOUBTS), memory_order_relaxed);
  if (good) atomic_store_explicit(&v->which, (unsigned char)way, memory_order_relaxed);
}
static void prove(ldg_verdict *v, const ldg_lap *lap, uint64_t now) {
  const unsigned left = lap->proof % 256;
  if (now && left <= row_of(lap->trial, v) - skipped_of(lap->trial, v)) add_to_row(v, now);
  if (left == 1) end_row(v, lap->which), end_proof(lap->trial, v, lap->which);
}

/* One of the first calls. */
static void begin(ldg_verdict *v, const ldg_lap *lap, uint64_t now) {
  const unsigned row = row_of(lap->trial, v), at = (lap->call + row - 1) % row;
  const bool is_last = lap->call + 1 == early_of(lap->trial, v);
  if (at == 0) begin_row(v);
  if (now && lap->call > 0 && at >= skipped_of(lap->trial, v)) add_to_row(v, now);
  if (lap->call > 0 && (at == row - 1 || is_last)) end_row(v, lap->which);
  if (is_last) atomic_store_explicit(&v->which, (unsigned char)fastest(lap->trial, v, lap->trial->likely), memory_order_relaxed);
}

int ldg_trial_start(const ldg_trial *t, int64_t n, ldg_lap *lap) {
  ldg_verdict *v = ldg_trial_verdict(t, n);
  const int best = atomic_load_explicit(&v->which, memory_order_relaxed);
  *lap = (ldg_lap){ .trial = t, .of = v, .early = is_early(t, v), .timed = true, .within = turn.within };
  turn.within = true;
  if (lap->early) turn.firsts++;
  else lap->proof = atomic_load_explicit(&v->proof, memory_order_relaxed);
  lap->firsts = turn.firsts;
  if (lap->proof) return go_on_proving(v, lap), lap->which;
  lap->call = lap->early ? atomic_fetch_add_explicit(&v->timed, 1, memory_order_relaxed) : atomic_load_explicit(&v->timed, memory_order_relaxed);
  lap->which = way_of(t, v, lap->call, best);
  if (lap->early) return lap->which;
  lap->timed = is_timed(v, best, &lap->which);
  if (lap->timed) atomic_fetch_add_explicit(&v->timed, 1, memory_order_relaxed), turn.until = some_bytes();
  else turn.until = -1; /* the turn stays */
  return lap->which;
}

static bool is_another_known(const ldg_lap *lap) {
  for (int k = 0; k < lap->trial->ways; k++)
    if (k != lap->which && pace_of(lap->of, k)) return true;
  return false;
}

/* What it called has first calls of its own, which have to be over before it can be judged. */
static void take_back(const ldg_lap *lap) {
  unsigned after = proof_after(lap->proof);
  if (lap->proof) atomic_compare_exchange_strong_explicit(&lap->of->proof, &after, lap->proof, memory_order_relaxed, memory_order_relaxed);
  else if (lap->timed) atomic_fetch_sub_explicit(&lap->of->timed, 1, memory_order_relaxed);
  if (!lap->early) turn.until = -1;
}

/* A way that takes less than the clock tells is known to be no slower than that, if another one is known. */
void ldg_trial_stop(const ldg_lap *lap, int64_t n, uint64_t now) {
  ldg_verdict *v = lap->of;
  const uint64_t ticks = now - lap->since;
  turn.within = lap->within;
  if (turn.firsts != lap->firsts) return take_back(lap);
  if (!lap->timed) return;
  const bool known = ticks >> (56 - PACE_BITS) == 0 && (ticks >= COARSE || is_another_known(lap));
  const uint64_t pace = known ? (ldg_max(ticks, COARSE) << PACE_BITS) / (uint64_t)n + 1 : 0;
  if (lap->proof) prove(v, lap, pace);
  else if (lap->early) begin(v, lap, pace);
  else if (known) settle(v, lap->which, pace), begin_proof(lap->trial, v, lap->call);
}

void ldg_trial_never(ldg_trial *t) { t->few = INT64_MAX; }

static int64_t iterations(int64_t bytes, int64_t each) { return (bytes - 1) / each + 1; }

void ldg_trial_init(ldg_trial *t, int64_t bytes, int64_t least, int ways, int likely) {
  const int64_t each = ldg_max(1, bytes), far = ldg_max(ldg_model_count(LDG_MODEL_STREAM), 8 * MANY);
  *t = (ldg_trial){ .few = ldg_trial_few(bytes, least), .edge = { iterations(MANY, each), iterations(8 * MANY, each), iterations(far, each) }, .bytes = each };
  t->ways = ways, t->likely = likely;
  for (int i = 0; i < LDG_TRIAL_KINDS; i++) {
    atomic_init(&t->of[i].which, (unsigned char)likely), atomic_init(&t->of[i].waits, false), atomic_init(&t->of[i].timed, 0);
    atomic_init(&t->of[i].proof, 0), begin_row(&t->of[i]);
    for (int k = 0; k < LDG_TRIAL_WAYS; k++) atomic_init(&t->of[i].pace[k], 0), atomic_init(&t->of[i].doubts[k], 0);
  }
  if (ldg_cpu_ticks() == 0) ldg_trial_never(t);
}

void ldg_trial_explain(const ldg_trial *t, const char *plain, ldg_text *out) {
  static const char *const kinds[LDG_TRIAL_KINDS] = { "less than 64 KiB", "64 to 512 KiB", "512 KiB and more", "what may go past the caches" };
  for (int i = 0; i < LDG_TRIAL_KINDS; i++)
    if (atomic_load_explicit(&t->of[i].which, memory_order_relaxed) == 0) ldg_text_add(out, "      calls of %s of lines took less time by %s\n", kinds[i], plain);
}
