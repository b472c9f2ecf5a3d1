/* The memo and the layouts in it: one object per content, weak entries, collisions, threads, fork, memory that runs out. */
#include "layout.h"
#include "rep_tools.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a memo of numbers, which counts what is made and destroyed ---- */

typedef struct number { ldg_memo_entry entry; int64_t value; } number;
static _Atomic int64_t made, destroyed;
static ldg_memo *reenter; /* make() is called without a lock: it may use the memo */

static bool number_equal(const ldg_memo_entry *e, const void *key) {
  return ((const number *)e)->value == *(const int64_t *)key;
}

static int number_make(const void *key, ldg_memo_entry **out) {
  const int64_t value = *(const int64_t *)key, half = value / 2;
  ldg_memo_entry *e;
  if (reenter && half != value) {
    int rc = ldg_memo_intern(reenter, (uint64_t)half, &half, &e);
    if (rc) return rc;
    ldg_memo_release(e);
  }
  number *n = ldg_alloc(sizeof *n);
  if (!n) return LADING_ERR_NOMEM;
  n->value = value;
  made++;
  *out = &n->entry;
  return LADING_OK;
}

static void number_destroy(ldg_memo_entry *e) {
  destroyed++;
  ldg_free(e);
}

static const ldg_memo_class number_class = { number_equal, number_make, number_destroy };
static ldg_memo numbers = { .cls = &number_class };

static number *get(int64_t value) {
  ldg_memo_entry *e;
  ck_assert_int_eq(ldg_memo_intern(&numbers, (uint64_t)value * 0x9E3779B97F4A7C15u, &value, &e), 0);
  ck_assert_int_eq(((number *)e)->value, value);
  return (number *)e;
}

static void drop(number *n) {
  ldg_memo_release(&n->entry);
}

START_TEST(one_per_content) {
  const int64_t live = ldg_alloc_live();
  number *a = get(5), *b = get(5), *c = get(6);
  ck_assert(a == b && a != c);
  ck_assert_int_eq(ldg_memo_entries(), 2);
  drop(a);
  a = get(5);
  ck_assert(a == b);
  ldg_memo_ref(&a->entry);
  for (int i = 0; i < 3; i++) drop(a);
  ck_assert_int_eq(ldg_memo_entries(), 1);
  drop(c);
  ck_assert_int_eq(ldg_memo_entries(), 0);
  ck_assert_int_eq(ldg_alloc_live(), live); /* the buckets are gone, too */
}
END_TEST

static void many(void) {
  enum { N = 5000 };
  static number *n[N];
  const int64_t live = ldg_alloc_live(), was = made - destroyed;
  for (int i = 0; i < N; i++) n[i] = get(i);
  ck_assert_int_eq(ldg_memo_entries(), N);
  for (int i = 0; i < N; i += 7) {
    ck_assert(get(i) == n[i]);
    drop(n[i]);
  }
  for (int i = 0; i < N; i += 2) drop(n[i]);
  for (int i = 1; i < N; i += 2) ck_assert(get(i) == n[i]);
  for (int i = 1; i < N; i += 2) drop(n[i]), drop(n[i]);
  ck_assert_int_eq(ldg_memo_entries(), 0);
  ck_assert_int_eq(made - destroyed, was);
  ck_assert_int_eq(ldg_alloc_live(), live);
}

START_TEST(growth) {
  many();
}
END_TEST

START_TEST(collisions) {
  for (uint64_t mask = 0; mask < 4; mask++) {
    ldg_memo_set_mask(mask);
    many();
  }
  ldg_memo_set_mask(UINT64_MAX);
}
END_TEST

START_TEST(make_may_intern) {
  reenter = &numbers;
  for (int64_t i = 0; i < 100; i++) drop(get(i));
  reenter = NULL;
  ck_assert_int_eq(ldg_memo_entries(), 0);
}
END_TEST

/* ---- threads ---- */

enum { THREADS = 8, ROUNDS = 4000, VALUES = 16 };

static void *churn(void *arg) {
  rng r = { (uint64_t)(uintptr_t)arg + test_seed };
  number *held[4] = { NULL };
  for (int i = 0; i < ROUNDS; i++) {
    number **slot = &held[rng_in(&r, 0, 3)];
    if (*slot) drop(*slot);
    int64_t value = rng_in(&r, 0, VALUES - 1);
    ldg_memo_entry *e = NULL;
    if (ldg_memo_intern(&numbers, (uint64_t)value * 0x9E3779B97F4A7C15u, &value, &e) || ((number *)e)->value != value) return arg;
    *slot = (number *)e;
  }
  for (int i = 0; i < 4; i++)
    if (held[i]) drop(held[i]);
  return NULL;
}

static void run_threads(void *(*body)(void *)) {
  pthread_t t[THREADS];
  void *bad;
  for (intptr_t i = 0; i < THREADS; i++) ck_assert_int_eq(pthread_create(&t[i], NULL, body, (void *)(i + 1)), 0);
  for (int i = 0; i < THREADS; i++) {
    pthread_join(t[i], &bad);
    ck_assert(bad == NULL);
  }
}

START_TEST(threads_numbers) {
  const int64_t live = ldg_alloc_live();
  run_threads(churn);
  ck_assert_int_eq(ldg_memo_entries(), 0);
  ck_assert_int_eq(made, destroyed);
  ck_assert_int_eq(ldg_alloc_live(), live);
}
END_TEST

static const ldg_rep *pool[VALUES];

static void *churn_layouts(void *arg) {
  rng r = { (uint64_t)(uintptr_t)arg + test_seed };
  for (int i = 0; i < ROUNDS / 4; i++) {
    const ldg_rep *rep = pool[rng_in(&r, 0, VALUES - 1)];
    const ldg_layout *a, *b;
    ldg_rep_stats st;
    if (ldg_layout_intern(rep, &a) || ldg_layout_intern(rep, &b)) return arg;
    if (a != b || !ldg_rep_equal(a->rep, rep) || ldg_layout_stats(a, &st) || st.max_run != rep->n) return arg;
    ldg_layout_release(ldg_layout_ref(a));
    ldg_layout_release(a);
    ldg_layout_release(b);
  }
  return NULL;
}

START_TEST(threads_layouts) {
  const int64_t live = ldg_alloc_live();
  for (int i = 0; i < VALUES; i++) ck_assert_int_eq(ldg_rep_bytes(i + 1, &pool[i]), 0);
  run_threads(churn_layouts);
  for (int i = 0; i < VALUES; i++) ldg_rep_free(pool[i]);
  ck_assert_int_eq(ldg_memo_entries(), 0);
  ck_assert_int_eq(ldg_alloc_live(), live);
}
END_TEST

/* ---- fork, while other threads hold locks ---- */

static _Atomic int stop;

static void *churn_until(void *arg) {
  while (!stop)
    if (churn(arg)) return arg;
  return NULL;
}

/* The child only looks up what is there: malloc after fork, with threads about, is not ours to test. */
static void use_in_child(number *const *held) {
  signal(SIGALRM, SIG_DFL);
  alarm(20); /* a lock that nobody holds any more */
  for (int64_t i = 0; i < LDG_MEMO_SHARDS; i++) {
    ldg_memo_entry *e;
    const int64_t value = 1000 + i;
    if (ldg_memo_intern(&numbers, (uint64_t)i << 58, &value, &e) || e != &held[i]->entry) _exit(1);
    ldg_memo_release(e);
  }
  _exit(0);
}

START_TEST(forks) {
  pthread_t t[2];
  number *held[LDG_MEMO_SHARDS];
  stop = 0;
  for (int64_t i = 0; i < LDG_MEMO_SHARDS; i++) {
    const int64_t value = 1000 + i;
    ldg_memo_entry *e;
    ck_assert_int_eq(ldg_memo_intern(&numbers, (uint64_t)i << 58, &value, &e), 0);
    held[i] = (number *)e;
  }
  for (intptr_t i = 0; i < 2; i++) pthread_create(&t[i], NULL, churn_until, (void *)(i + 1));
  for (int i = 0; i < 20; i++) {
    const pid_t child = fork();
    if (child == 0) use_in_child(held);
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
  }
  stop = 1;
  for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
  for (int i = 0; i < LDG_MEMO_SHARDS; i++) drop(held[i]);
  ck_assert_int_eq(ldg_memo_entries(), 0);
}
END_TEST

/* ---- memory runs out ---- */

START_TEST(no_memory) {
  const int64_t live = ldg_alloc_live();
  for (int64_t n = 0; n < 2; n++) {
    int64_t value = 9;
    ldg_memo_entry *e;
    ldg_alloc_fail(n);
    ck_assert_int_eq(ldg_memo_intern(&numbers, 1, &value, &e), LADING_ERR_NOMEM);
    ldg_alloc_fail(-1);
    ck_assert_int_eq(ldg_memo_entries(), 0);
    ck_assert_int_eq(ldg_alloc_live(), live);
  }
  /* buckets cannot grow: the chains do */
  ldg_memo_set_mask(UINT64_MAX >> 6); /* one shard */
  number *n[100];
  for (int i = 0; i < 8; i++) n[i] = get(i);
  ldg_memo_entry *e;
  int64_t value = 8;
  ldg_alloc_fail(1);
  ck_assert_int_eq(ldg_memo_intern(&numbers, (uint64_t)value * 0x9E3779B97F4A7C15u, &value, &e), 0);
  ldg_alloc_fail(-1);
  for (int i = 0; i < 9; i++) ck_assert(get(i)->value == i);
  for (int i = 0; i < 8; i++) drop(n[i]), drop(n[i]);
  drop((number *)e);
  drop((number *)e);
  ldg_memo_set_mask(UINT64_MAX);
  ck_assert_int_eq(ldg_alloc_live(), live);
  const ldg_rep *rep = read_rep("(repeat 3 9 (bytes 2))");
  const ldg_layout *l;
  for (int64_t k = 0; k < 2; k++) {
    ldg_alloc_fail(k);
    ck_assert_int_eq(ldg_layout_intern(rep, &l), LADING_ERR_NOMEM);
    ldg_alloc_fail(-1);
  }
  ldg_rep_free(rep);
  ck_assert_int_eq(ldg_alloc_live(), live);
}
END_TEST

/* ---- layouts ---- */

START_TEST(layouts) {
  const int64_t live = ldg_alloc_live();
  const ldg_rep *a = read_rep("(repeat 3 9 (bytes 2))"), *b = read_rep("(repeat 3 9 (bytes 2))"), *c = read_rep("(repeat 3 8 (bytes 2))");
  const ldg_layout *x, *y, *z;
  for (uint64_t mask = 0; mask < 2; mask++) {
    ldg_memo_set_mask(mask - 1);
    ck_assert_int_eq(ldg_layout_intern(a, &x), 0);
    ck_assert_int_eq(ldg_layout_intern(b, &y), 0);
    ck_assert_int_eq(ldg_layout_intern(c, &z), 0);
    ck_assert(x == y && x != z && ldg_rep_equal(z->rep, c));
    ldg_layout_release(x);
    ldg_layout_release(y);
    ldg_layout_release(z);
    ldg_layout_release(NULL);
  }
  ldg_memo_set_mask(UINT64_MAX);
  ldg_rep_free(a);
  ldg_rep_free(b);
  ldg_rep_free(c);
  ck_assert_int_eq(ldg_alloc_live(), live);
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("memo", argc, argv, one_per_content, growth, collisions, make_may_intern, threads_numbers, threads_layouts,
                    forks, no_memory, layouts);
}
