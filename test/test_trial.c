/* trial: which of some ways calls find out to be the fastest, by a clock that is made up. */
#include "common.h"

#include "base_model.h"
#include "base_trial.h"

/* Ticks of a call, by the way it takes and the one that the call before took. */
typedef uint64_t cost(int which, int before, int64_t n);
typedef struct run { ldg_trial trial; cost *cost; int before; int64_t took[LDG_TRIAL_WAYS]; } run;

enum { EACH = 64, SHORT = 200, LONG = 20000 }; /* bytes of an iteration, iterations */

/* Trials of a test are in one place, or a thread would wait for one that is no more. */
static run a, b;
static void start_some(run *r, cost *c, int ways, int likely) {
  ldg_trial_init(&r->trial, EACH, LDG_TRIAL_LEAST, ways, likely);
  if (r->trial.few == INT64_MAX) r->trial.few = SHORT; /* the clock is ours */
  r->cost = c, r->before = likely, memset(r->took, 0, sizeof r->took);
}
static void start(run *r, cost *c, bool other_is_likely) { start_some(r, c, 2, other_is_likely); }

static int call(run *r, int64_t n) {
  ldg_lap lap;
  const bool due = ldg_trial_may(&r->trial, n) && ldg_trial_is_due(&r->trial, n);
  const int which = due ? ldg_trial_start(&r->trial, n, &lap) : ldg_trial_best(&r->trial, n);
  const uint64_t ticks = r->cost(which, r->before, n);
  if (due) lap.since = 1000, ldg_trial_stop(&lap, n, 1000 + ticks);
  r->took[which]++, r->before = which;
  return which;
}

/* Of so many calls, those that go the other way. */
static int64_t others(run *r, int calls, int64_t n) {
  r->took[1] = 0;
  for (int i = 0; i < calls; i++) call(r, n);
  return r->took[1];
}

/* Of 1000 calls of a new trial those that go the other way, once it had time to find out. */
static int64_t others_at_last(cost *c, bool other_is_likely, int64_t n) {
  start(&a, c, other_is_likely);
  others(&a, 2000, n);
  return others(&a, 1000, n);
}

static uint64_t other_gains(int which, int before, int64_t n) { return (void)before, (uint64_t)(which ? 20 * n : 30 * n); }
static uint64_t other_loses(int which, int before, int64_t n) { return (void)before, (uint64_t)(which ? 30 * n : 20 * n); }
static uint64_t other_gains_little(int which, int before, int64_t n) { return (void)before, (uint64_t)(which ? 98 * n : 100 * n); }
static uint64_t other_gains_enough(int which, int before, int64_t n) { return (void)before, (uint64_t)(which ? 96 * n : 100 * n); }
static uint64_t other_gains_if_short(int which, int before, int64_t n) { return n == SHORT ? other_gains(which, before, n) : other_loses(which, before, 2 * n); }
static uint64_t other_gains_if_long(int which, int before, int64_t n) { return n == LONG ? other_gains(which, before, 2 * n) : other_loses(which, before, n); }
static uint64_t other_gains_in_a_row(int which, int before, int64_t n) { return (uint64_t)(which ? before ? 80 * n : 130 * n : 100 * n); }

START_TEST(first_calls) {
  for (int i = 0; i < 4; i++) {
    const int other = i % 2, row = i < 2 ? 32 : 4; /* long ones: fewer */
    const int64_t n = i < 2 ? SHORT : LONG;
    start(&a, other_gains, other);
    for (int k = 0; k < 2 * row + 1; k++) {
      ck_assert_int_eq(call(&a, SHORT - 100), other); /* too short to be timed */
      ck_assert_int_eq(call(&a, n), (k > 0 && k <= row) ^ other);
    }
    ck_assert_int_gt(others(&a, 100, n), 90);
  }
}
END_TEST

/* Calls of one way that take another time than the rest of its row: the first ones, all at some distance, or one. */
typedef struct odd_calls { int way; int64_t first, every, one; } odd_calls;
static odd_calls odd;
static int quick; /* way */
static int64_t done[LDG_TRIAL_WAYS];
static bool is_odd(int which) {
  const int64_t k = ++done[which];
  return which == odd.way && (k <= odd.first || (odd.every && k % odd.every == 0) || k == odd.one);
}
/* They wait for new pages, or are interrupted, or are those after one that was. */
static uint64_t ticks_of(int which, int64_t n) { return (uint64_t)(which == quick ? 20 : 30) * (uint64_t)n; }
static uint64_t waits(int which, int before, int64_t n) { return (void)before, ticks_of(which, n) * (is_odd(which) ? 100 : 1); }
static uint64_t hurries(int which, int before, int64_t n) { return (void)before, ticks_of(which, n) / (is_odd(which) ? 5 : 1); }
static uint64_t waits_and_hurries(int which, int before, int64_t n) {
  const bool is = is_odd(which);
  return (void)before, is ? ticks_of(which, n) * 100 : ticks_of(which, n) / (which == odd.way && done[which] == odd.one + 1 ? 5 : 1);
}
static uint64_t hurries_but_loses(int which, int before, int64_t n) { return (void)before, (which ? 33 : 30) * (uint64_t)n / (is_odd(which) ? 5 : 1); }
static void begin_with(odd_calls which, cost *c, int64_t n, int likely) {
  odd = which;
  memset(done, 0, sizeof done);
  start(&a, c, likely);
  others(&a, n == SHORT ? 65 : 9, n);
}
/* Whichever way is odd, is quick, or is likely: the quick one is found. */
static void check_found(odd_calls which, cost *c, int64_t n) {
  for (int k = 0; k < 8; k++) {
    which.way = k & 1, quick = k / 2 & 1;
    begin_with(which, c, n, k / 4);
    ck_assert_msg(ldg_trial_best(&a.trial, n) == quick, "way %d first %d every %d one %d, likely %d, n %d", which.way, (int)which.first, (int)which.every, (int)which.one, k / 4, (int)n);
  }
}
START_TEST(calls_that_waited) {
  static const odd_calls some[] = { { 0, 1, 0, 0 }, { 0, 17, 0, 0 }, { 0, 30, 0, 0 }, { 0, 0, 16, 0 }, { 0, 0, 8, 0 }, { 0, 0, 5, 0 }, { 0, 20, 7, 0 } };
  for (int i = 0; i < COUNT_OF(some); i++) check_found(some[i], waits, SHORT);
  for (int64_t k = 1; k <= 33; k++) check_found((odd_calls){ 0, 0, 0, k }, hurries, SHORT), check_found((odd_calls){ 0, 0, 0, k }, waits_and_hurries, SHORT); /* one alone tells nothing */
  for (int64_t k = 1; k <= 5; k++) {
    check_found((odd_calls){ 0, 0, 0, k }, waits, LONG), check_found((odd_calls){ 0, 0, 0, k }, hurries, LONG);
    check_found((odd_calls){ 0, 0, 0, k }, waits_and_hurries, LONG);
  }
}
END_TEST

/* So it is when another way proves that it is faster, or that it is not. */
START_TEST(odd_calls_of_a_proof) {
  for (int i = 0; i < 2; i++) {
    const int64_t n = i ? LONG : SHORT;
    begin_with((odd_calls){ 1, 0, 11, 0 }, other_loses, n, 0);
    a.cost = waits, quick = 1;
    others(&a, 8000, n);
    ck_assert_int_gt(others(&a, 1000, n), 900);
    begin_with((odd_calls){ 1, 0, 23, 0 }, hurries_but_loses, n, 0);
    others(&a, 8000, n);
    ck_assert_int_lt(others(&a, 1000, n), 150);
  }
}
END_TEST

/* Whatever is likely, and also what becomes so. */
START_TEST(faster_way_is_taken) {
  for (int i = 0; i < 4; i++) {
    start(&a, i & 1 ? other_gains : other_loses, i & 2);
    others(&a, 2000, LONG);
    ck_assert(i & 1 ? others(&a, 1000, LONG) > 900 : others(&a, 1000, LONG) < 100);
    a.cost = i & 1 ? other_loses : other_gains;
    others(&a, 4000, LONG);
    ck_assert(i & 1 ? others(&a, 1000, LONG) < 100 : others(&a, 1000, LONG) > 900);
  }
}
END_TEST

START_TEST(small_gains_do_not_count) {
  for (int other = 0; other < 2; other++) {
    ck_assert_int_lt(others_at_last(other_gains_little, other, LONG), 100);
    ck_assert_int_gt(others_at_last(other_gains_enough, other, LONG), 900);
  }
}
END_TEST

/* What is faster for short calls is not for long ones, in the same trial, by turns. */
START_TEST(short_and_long_calls) {
  static cost *const costs[] = { other_gains_if_short, other_gains_if_long };
  for (int i = 0; i < 4; i++) {
    start(&a, costs[i & 1], i & 2);
    for (int k = 0; k < 4000; k++) call(&a, k % 2 ? SHORT : LONG);
    a.took[1] = 0;
    for (int k = 0; k < 1000; k++) call(&a, SHORT);
    const int64_t in_short = a.took[1];
    for (int k = 0; k < 1000; k++) call(&a, LONG);
    const int64_t in_long = a.took[1] - in_short;
    ck_assert(i & 1 ? in_short < 100 && in_long > 900 : in_short > 900 && in_long < 100);
  }
}
END_TEST

/* A way that pays for following the other one is judged by what it takes behind itself. */
START_TEST(second_call_counts) {
  for (int other = 0; other < 2; other++) {
    start(&a, other_loses, other);
    others(&a, 1000, LONG);
    a.cost = other_gains_in_a_row;
    others(&a, 8000, LONG);
    ck_assert_int_gt(others(&a, 1000, LONG), 900);
  }
}
END_TEST

/* Of a message that goes by parts some take less, or much less, than others: what they take in the mean counts, at first and later. */
static int part, low, high;
static uint64_t by_parts(int which, int before, int64_t n) {
  (void)before;
  return (uint64_t)((which ? 98 : ++part % 3 ? high : low) * n);
}
START_TEST(parts_that_differ) {
  for (int i = 0; i < 4; i++) {
    low = i < 2 ? 85 : 50, high = i < 2 ? 118 : 135; /* in the mean 107 */
    start(&a, by_parts, i % 2);
    others(&a, 100, SHORT);
    ck_assert_int_eq(ldg_trial_best(&a.trial, SHORT), 1);
    ck_assert_int_gt(others(&a, 20000, SHORT), 18000);
    a.cost = other_loses, others(&a, 100000, SHORT);
    ck_assert_int_eq(ldg_trial_best(&a.trial, SHORT), 0);
    a.cost = by_parts, others(&a, 100000, SHORT);
    ck_assert_int_eq(ldg_trial_best(&a.trial, SHORT), 1);
  }
}
END_TEST

/* The slower way is not forgotten, and takes little: two calls of each 16 x 4, or 16 x 32 where it takes half as long again. */
static uint64_t other_loses_much(int which, int before, int64_t n) { return (void)before, (uint64_t)(which ? 100 * n : 20 * n); }
static uint64_t other_loses_some(int which, int before, int64_t n) { return (void)before, (uint64_t)(which ? 24 * n : 20 * n); }
START_TEST(slower_way_is_seldom) {
  start(&a, other_loses_some, false);
  others(&a, 100, LONG);
  const int64_t some = others(&a, 64000, LONG);
  start(&a, other_loses_much, false);
  others(&a, 100, LONG);
  const int64_t much = others(&a, 64000, LONG);
  ck_assert_msg(some > 1200 && some < 3000 && much > 120 && much < 400, "%lld and %lld", (long long)some, (long long)much);
}
END_TEST

/* Of calls that are shorter than the clock's steps nothing is learned, but that they are shorter than others. */
static uint64_t two_steps(int which, int before, int64_t n) { return (void)which, (void)before, (void)n, UINT64_C(2); }
static uint64_t other_takes_steps(int which, int before, int64_t n) { return (void)before, (void)n, which ? UINT64_C(7500) : UINT64_C(2); }
static uint64_t plain_takes_steps(int which, int before, int64_t n) { return (void)before, (void)n, which ? UINT64_C(2) : UINT64_C(100); }
START_TEST(coarse_clock) {
  for (int other = 0; other < 2; other++) {
    ck_assert_int_eq(others_at_last(two_steps, other, SHORT) > 900, other);
    ck_assert_int_lt(others_at_last(other_takes_steps, other, SHORT), 100);
    ck_assert_int_gt(others_at_last(plain_takes_steps, other, SHORT), 900);
  }
}
END_TEST

static int due_within(run *r, int calls, int64_t n) {
  int due = 0;
  for (int k = 0; k < calls; k++) due += ldg_trial_is_due(&r->trial, n);
  return due;
}

/* Within a call that is timed or explores nothing is timed, nor counted, but first calls; if there were some, the outer call does not count. */
START_TEST(calls_within_calls) {
  run old;
  int timed = 0, explored = 0, in_vain = 0;
  start(&a, other_loses_some, false), start(&b, other_gains, false), start(&old, other_gains, false);
  others(&old, 100, LONG);
  for (int i = 0; i < 20000; i++) {
    ldg_lap lap;
    if (!ldg_trial_is_due(&a.trial, LONG)) continue;
    const unsigned counted = ldg_trial_verdict(&a.trial, LONG)->timed;
    const int which = ldg_trial_start(&a.trial, LONG, &lap);
    ck_assert_int_eq(due_within(&old, 40, LONG), 0);
    const bool first = i % 7 == 0 && lap.timed;
    if (first) {
      ck_assert_int_eq(due_within(&b, 20, LONG), 20);
      others(&b, 1, LONG), start(&b, other_gains, false);
    }
    ck_assert_int_eq(due_within(&old, 40, LONG), 0); /* after the inner one the outer call is still one */
    timed += lap.timed, explored += !lap.timed, in_vain += first;
    lap.since = 1000, ldg_trial_stop(&lap, LONG, 1000 + (first ? 1 : a.cost(which, 0, LONG))); /* one that looks too good */
    if (first) ck_assert_uint_eq(ldg_trial_verdict(&a.trial, LONG)->timed, counted);
  }
  ck_assert_int_gt(explored, 100);
  ck_assert_int_gt(in_vain, 100);
  ck_assert(timed - in_vain > 3 * explored && timed - in_vain < 2000); /* one call in 16, had the others counted it were all */
  ck_assert_int_eq(ldg_trial_best(&a.trial, LONG), 0);
}
END_TEST

/* Of several ways the fastest is found, also when it becomes another one. */
static int fast;
static uint64_t one_is_fast(int which, int before, int64_t n) { return (void)before, (uint64_t)((which == fast ? 20 : 24 + 3 * which) * n); }
START_TEST(several_ways) {
  for (int ways = 3; ways <= LDG_TRIAL_WAYS; ways++)
    for (int likely = 0; likely < ways; likely++)
      for (fast = 0; fast < ways; fast++) {
        start_some(&a, one_is_fast, ways, likely);
        for (int k = 0; k < ways * 4 + 1; k++) call(&a, LONG); /* first calls */
        for (int k = 0; k < ways; k++) ck_assert_int_eq(a.took[k], 4 + (k == likely));
        ck_assert_int_eq(ldg_trial_best(&a.trial, LONG), fast);
        const int was = fast;
        fast = (fast + 1) % ways;
        for (int k = 0; k < 20000; k++) call(&a, LONG);
        ck_assert_int_eq(ldg_trial_best(&a.trial, LONG), fast);
        memset(a.took, 0, sizeof a.took);
        for (int k = 0; k < 20000; k++) call(&a, LONG);
        for (int k = 0; k < ways; k++) ck_assert(k == fast ? a.took[k] > 18000 : a.took[k] > 0); /* none is forgotten */
        fast = was;
      }
}
END_TEST

/* A way that only seems faster, since another one left it something, never is the way of many calls, and is tried less and less. */
static int in_a_row;
static uint64_t other_gains_at_first(int which, int before, int64_t n) {
  in_a_row = which && before ? in_a_row + 1 : 0;
  return (uint64_t)((which ? in_a_row < 3 ? 80 : 150 : 100) * n);
}
START_TEST(gains_that_do_not_last) {
  start(&a, other_gains_at_first, false);
  others(&a, 4000, LONG);
  for (int turn = 0; turn < 4; turn++) {
    const int64_t some = others(&a, 50000, LONG);
    ck_assert_msg(some < 700 && some > 0, "%lld", (long long)some);
  }
}
END_TEST

/* Of overlapping calls, as of several threads, the last may be done first: it ends the row, by what is known by then. */
static uint64_t other_loses_in_a_row(int which, int before, int64_t n) { return (uint64_t)((which ? before ? 150 : 80 : 100) * n); }
START_TEST(overlapping_proofs) {
  ldg_lap laps[32];
  start(&a, other_loses, false);
  ldg_verdict *v = ldg_trial_verdict(&a.trial, SHORT);
  others(&a, 1000, SHORT);
  const unsigned char doubts = v->doubts[1];
  atomic_store(&v->pace[1], 1); /* as if one call had seemed fast */
  a.cost = other_loses_in_a_row;
  for (int k = 0; k < 1000 && !v->proof; k++) call(&a, SHORT);
  ck_assert(v->proof);
  for (int k = 0; k < 32; k++) ck_assert_int_eq(ldg_trial_start(&a.trial, SHORT, &laps[k]), 1);
  for (int k = 31; k >= 0; k--) laps[k].since = 1000, ldg_trial_stop(&laps[k], SHORT, 1000 + 150 * SHORT);
  ck_assert_int_eq(ldg_trial_best(&a.trial, SHORT), 0);
  ck_assert_int_eq(v->doubts[1], doubts + 1);
}
END_TEST

/* Way 0 is the measure of all others, also where another one is taken. */
static int64_t paces[3] = { 1000, 950, 945 };
static uint64_t by_paces(int which, int before, int64_t n) { return (void)before, (uint64_t)(paces[which] * n); }
START_TEST(near_ties) {
  start_some(&a, by_paces, 3, 1);
  for (int k = 0; k < 2000; k++) call(&a, LONG);
  ck_assert_int_eq(ldg_trial_best(&a.trial, LONG), 1); /* not faster by enough */
  paces[2] = 900;
  for (int k = 0; k < 8000; k++) call(&a, LONG);
  ck_assert_int_eq(ldg_trial_best(&a.trial, LONG), 2);
  memcpy(paces, (int64_t[]){ 1000, 950, 1100 }, sizeof paces);
  start_some(&a, by_paces, 3, 1);
  for (int k = 0; k < 2000; k++) call(&a, LONG);
  ck_assert_int_eq(ldg_trial_best(&a.trial, LONG), 1);
  memcpy(paces, (int64_t[]){ 1000, 975, 960 }, sizeof paces); /* 0 is as good as 1, and 2 is better than 0, but not than 1 by as much */
  for (int k = 0; k < 20000; k++) call(&a, LONG);
  a.took[0] = a.took[1] = a.took[2] = 0;
  for (int k = 0; k < 20000; k++) call(&a, LONG);
  ck_assert_int_gt(a.took[ldg_trial_best(&a.trial, LONG)], 19000); /* whichever it is, it stays */
}
END_TEST

/* One call has first calls within while others end the proof that it belongs to: that stays ended. */
START_TEST(proof_that_others_ended) {
  ldg_lap lap, inner;
  start(&a, other_loses, false), start(&b, other_gains, false);
  others(&a, 1000, SHORT);
  ldg_verdict *v = ldg_trial_verdict(&a.trial, SHORT);
  atomic_store(&v->proof, 1u << 8 | 8);
  a.cost = other_gains;
  ck_assert_int_eq(ldg_trial_start(&a.trial, SHORT, &lap), 1);
  ldg_trial_start(&b.trial, SHORT, &inner), inner.since = 1000, ldg_trial_stop(&inner, SHORT, 2000);
  atomic_store(&v->proof, 0), atomic_store(&v->which, 1);
  lap.since = 1000, ldg_trial_stop(&lap, SHORT, 1000 + 20 * SHORT);
  ck_assert_uint_eq(v->proof, 0);
  atomic_store(&v->proof, 1u << 8 | 1); /* the last call of a way that was taken meanwhile */
  const unsigned char doubts = v->doubts[1];
  call(&a, SHORT);
  ck_assert_int_eq(v->doubts[1], doubts);
  ck_assert_int_eq(v->which, 1);
}
END_TEST

/* Where one kind of calls ends, for iterations of any length. */
static int64_t iterations(int64_t all, int64_t each) { return all / each + (all % each != 0); }
START_TEST(kinds_of_calls) {
  static const int64_t bytes[] = { 1, 63, 64, 65, 40000, 65536, 100000, 1 << 24, INT64_MAX / 2, INT64_MAX };
  const int64_t edge[LDG_TRIAL_KINDS - 1] = { 65536, 8 * 65536, ldg_model_count(LDG_MODEL_STREAM) };
  for (int i = 0; i < COUNT_OF(bytes); i++) {
    ldg_trial t;
    ldg_trial_init(&t, bytes[i], LDG_TRIAL_LEAST, 2, 1);
    for (int k = 0; k < LDG_TRIAL_KINDS - 1; k++) {
      int kinds = k + 1; /* an iteration may be longer than some of them end */
      while (kinds < LDG_TRIAL_KINDS - 1 && iterations(edge[kinds], bytes[i]) == iterations(edge[k], bytes[i])) kinds++;
      const int64_t first = iterations(edge[k], bytes[i]);
      ck_assert_ptr_eq(ldg_trial_verdict(&t, first), &t.of[kinds]);
      if (first > 1) ck_assert_ptr_eq(ldg_trial_verdict(&t, first - 1), &t.of[k > 0 && iterations(edge[k - 1], bytes[i]) < first ? k : 0]);
    }
    ck_assert_ptr_eq(ldg_trial_verdict(&t, INT64_MAX), &t.of[LDG_TRIAL_KINDS - 1]);
  }
}
END_TEST

START_TEST(never) {
  start(&a, other_loses, true);
  ldg_trial_never(&a.trial);
  ck_assert_int_eq(others(&a, 100, LONG), 100);
  ck_assert(!ldg_trial_may(&a.trial, INT64_MAX - 1));
}
END_TEST

START_TEST(explained) {
  char text[400] = "";
  ldg_text t = { text, sizeof text, 0 };
  start(&a, other_gains_if_short, true);
  ldg_trial_explain(&a.trial, "that one", &t);
  ck_assert_str_eq(text, "");
  for (int k = 0; k < 4000; k++) call(&a, k % 2 ? SHORT : LONG);
  ldg_trial_explain(&a.trial, "that one", &t);
  ck_assert_str_eq(text, "      calls of 512 KiB and more of lines took less time by that one\n");
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("trial", argc, argv, first_calls, calls_that_waited, odd_calls_of_a_proof, faster_way_is_taken, small_gains_do_not_count, short_and_long_calls, second_call_counts, parts_that_differ, slower_way_is_seldom, coarse_clock, calls_within_calls, several_ways, gains_that_do_not_last, overlapping_proofs, near_ties, proof_that_others_ended, kinds_of_calls, never, explained);
}
