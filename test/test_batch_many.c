/* batch_many: a great many requests, from several threads, through the stand-in driver or a real one: none is lost, none done twice. Meant to
 * run under the thread sanitizer too. */
#include "base.h"
#include "batch_device.h"
#include <pthread.h>
#include <sched.h>

enum { ADDERS = 4, LANES = 2, WINDOW = 16, IN_ALL_FAKE = TEST_TSAN ? 512 : TEST_ASAN ? 2048 : 1 << 15, IN_ALL_REAL = 1 << 20, NUMBERS = ADDERS * 2 * WINDOW };
typedef struct adder { lading_batch *b; char *from, *to; int64_t adds, wrong; } adder;

/* LADING_TEST_REQUESTS: so many in all. */
static int64_t adds_of_each(void) {
  const char *told = getenv("LADING_TEST_REQUESTS");
  const int64_t all = told ? atoll(told) : d->fake ? IN_ALL_FAKE : IN_ALL_REAL;
  return ldg_max(1, all / ADDERS / WINDOW) * WINDOW;
}

static void *add_many(void *arg) {
  adder *a = arg;
  lading_request r[WINDOW];
  for (int64_t i = 0; i < a->adds; i++) {
    const int64_t k = i % WINDOW;
    const lading_work w = sum_of(a->from + 4 * k, a->to + 4 * k);
    if (i >= WINDOW) a->wrong += lading_batch_wait(a->b, r[k]) != LADING_OK;
    while (lading_batch_add(a->b, &w, &r[k]) != LADING_OK) lading_batch_flush(a->b), sched_yield();
  }
  for (int64_t k = 0; k < WINDOW; k++) a->wrong += lading_batch_wait(a->b, r[k]) != LADING_OK;
  return NULL;
}

/* Two to a batch. */
static void add_from_threads(lading_batch *const *b, char *at, int64_t adds) {
  adder a[ADDERS];
  pthread_t thread[ADDERS];
  for (int i = 0; i < ADDERS; i++) {
    a[i] = (adder){ b[i % LANES], at + 8 * i * WINDOW, at + (8 * i + 4) * WINDOW, adds, 0 };
    OK(pthread_create(&thread[i], NULL, add_many, &a[i]));
  }
  for (int i = 0; i < ADDERS; i++) pthread_join(thread[i], NULL);
  for (int i = 0; i < ADDERS; i++) ck_assert_int_eq(a[i].wrong, 0);
}

static void tell_counts(lading_batch *const *b, int64_t all) {
  int64_t requests = 0, launched = 0, failed = 0;
  for (int i = 0; i < LANES; i++) {
    const lading_batch_counts c = counts_of(b[i]);
    requests += c.requests, launched += c.launches, failed += c.failed;
  }
  printf("%lld requests in %lld launches\n", (long long)requests, (long long)launched);
  ck_assert_int_eq(requests, all);
  ck_assert_int_eq(failed, 0);
}

/* Sums, again and again, in batches of two queues whose commands the stand-in runs late and in any order: what is lost or done twice shows. */
START_TEST(adders) {
  lading_queue *q[LANES] = { device_begin("shuffle 9") };
  lading_batch *b[LANES];
  OK(lading_queue_create(backend, 0, &q[1]));
  tell("late 2");
  char *at = device_memory(4 * NUMBERS);
  int32_t *host = (int32_t *)pinned_memory(4 * NUMBERS);
  const int64_t adds = adds_of_each();
  for (int i = 0; i < NUMBERS; i++) host[i] = i;
  OK(d->to_device(at, host, 4 * NUMBERS, NULL));
  OK(d->sync(NULL));
  for (int i = 0; i < LANES; i++) b[i] = batch_of(q[i], &(lading_batch_attr){ .slots = 128 });
  add_from_threads(b, at, adds);
  OK(d->to_host(host, at, 4 * NUMBERS, NULL));
  OK(d->sync(NULL));
  for (int i = 0; i < NUMBERS; i++) ck_assert_int_eq(host[i], i / WINDOW % 2 ? i + (i - WINDOW) * (int)(adds / WINDOW) : i);
  tell_counts(b, ADDERS * adds);
  for (int i = 0; i < LANES; i++) lading_batch_free(b[i]);
  OK(d->free(at));
  OK(d->free_pinned(host));
  lading_queue_free(q[1]);
  device_end(q[0]);
}
END_TEST

BATCH_DEVICE_MAIN("batch_many", adders)
