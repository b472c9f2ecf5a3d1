/* queue: streams that are held up: who waits for them, and who does not. */
#include "cargos.h"
#include "../backends/device/site.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

static lading_queue *q; /* over the stream of `v` */
static _Atomic bool held;

/* Until somebody lets go; whoever waits for it in vain finds that nobody did. */
static void hold(void *arg) {
  const double until = ldg_device_now() + 20e9;
  (void)arg;
  while (held && ldg_device_now() < until) sched_yield();
  held = false;
}
static void hold_up(void) {
  held = true;
  ck_assert_int_eq(v.d->call(v.stream, hold, NULL), 0);
}
static void let_go(void) {
  ck_assert(held);
  held = false;
}

static void begin(void) {
  v = devices_open();
  OK(lading_queue_wrap(v.backend, v.stream, &q));
  if (v.d->fake) devices_say(&v, "still 1"); /* or who asks would be the one that runs hold() */
}

typedef struct waiter { lading_queue *q; lading_request r; } waiter;
static void *wait_for(void *arg) {
  const waiter *w = arg;
  OK(lading_wait(w->q, w->r));
  return NULL;
}

/* One waits for work that is held up; another one goes on. */
START_TEST(waiting_holds_up_nobody) {
  begin();
  waiter w = { .q = q };
  pthread_t t;
  lading_request second;
  cargo c = cargo_new(STRIDED, LADING_MEM_DEVICE, LADING_MEM_DEVICE);
  const lading_work work = pack_work(&c);
  hold_up();
  OK(lading_enqueue(q, &work, &w.r));
  pthread_create(&t, NULL, wait_for, &w);
  usleep(5000);
  OK(lading_enqueue(q, &work, &second));
  let_go();
  pthread_join(t, NULL);
  OK(lading_wait(q, second));
  check_packed(&c);
  lading_queue_free(q);
  cargo_free(&c);
  devices_close(&v);
}
END_TEST

/* A queue has gone, its stream is held up: new tables, of works or of batches, on other queues do not wait for it. */
START_TEST(tables_beside_one_that_is_gone) {
  begin();
  lading_queue *other;
  lading_batch *b;
  cargo c = cargo_new(LISTED, LADING_MEM_DEVICE, LADING_MEM_DEVICE), next = cargo_new("indexed([2,1,4],[5,0,9],int)", LADING_MEM_DEVICE, LADING_MEM_DEVICE);
  const lading_work w = pack_work(&c), new = pack_work(&next);
  hold_up();
  OK(lading_enqueue(q, &w, NULL));
  lading_queue_free(q);
  OK(lading_queue_create(v.backend, 0, &other));
  OK(lading_enqueue(other, &new, NULL));
  OK(lading_batch_create(other, NULL, &b));
  if (v.d->fake) let_go(); /* a real driver that allocates may wait for all that is under way */
  held = false;
  OK(lading_queue_sync(other));
  ck_assert_int_eq(v.d->sync(v.stream), 0);
  check_packed(&c), check_packed(&next);
  lading_batch_free(b);
  lading_queue_free(other);
  cargo_free(&c), cargo_free(&next);
  devices_close(&v);
}
END_TEST

/* What is done when the event of its mark moves on is not said to be done only with what it moves to. */
START_TEST(done_before_others_came) {
  begin();
  cargo c = cargo_new(STRIDED, LADING_MEM_DEVICE, LADING_MEM_DEVICE);
  const lading_work w = pack_work(&c);
  lading_request first, last;
  bool done;
  OK(lading_enqueue(q, &w, &first));
  ck_assert_int_eq(v.d->sync(v.stream), 0); /* of which the queue knows nothing */
  hold_up();
  for (int i = 0; i < LDG_MARKS; i++) OK(lading_enqueue(q, &w, &last));
  OK(lading_test(q, last, &done));
  ck_assert(!done);
  OK(lading_test(q, first, &done));
  ck_assert(done);
  OK(lading_wait(q, first));
  let_go();
  OK(lading_wait(q, last));
  check_packed(&c);
  lading_queue_free(q);
  cargo_free(&c);
  devices_close(&v);
}
END_TEST

/* ---- runs between memory of the host, by whatever way ---- */

/* Nobody waits for what is there before, once all that is made once is there; a driver that copies would. */
static void enqueued_at_once(const lading_work *w) {
  OK(lading_enqueue(q, w, NULL));
  OK(lading_queue_sync(q));
  count_from_here();
  hold_up();
  OK(lading_enqueue(q, w, NULL));
  called("MemcpyAsync", 0);
  let_go();
  OK(lading_queue_sync(q));
}

static void check_host_run(const char *type, lading_memkind from, lading_memkind to) {
  begin();
  cargo c = cargo_new(type, from, to);
  const lading_work w = pack_work(&c);
  enqueued_at_once(&w);
  check_packed(&c);
  lading_queue_free(q);
  cargo_free(&c);
  devices_close(&v);
}

START_TEST(pinned_runs) {
  check_host_run("contiguous(300,double)", LADING_MEM_PINNED, LADING_MEM_PINNED);
  check_host_run("contiguous(7,char)", LADING_MEM_PINNED, LADING_MEM_PINNED);
  if (!TEST_TSAN) check_host_run("contiguous(1048583,char)", LADING_MEM_PINNED, LADING_MEM_PINNED); /* long, with an end that is no word */
}
END_TEST
START_TEST(pinned_runs_to_the_host) { check_host_run("contiguous(301,short)", LADING_MEM_PINNED, LADING_MEM_HOST); }
END_TEST
START_TEST(pinned_runs_from_the_host) { check_host_run("contiguous(301,short)", LADING_MEM_HOST, LADING_MEM_PINNED); }
END_TEST

/* Long doubles come to the host, are added there, and go back. */
START_TEST(pinned_runs_reduced_here) {
  enum { N = 20 };
  begin();
  cargo c = cargo_new("contiguous(20,long_double)", LADING_MEM_PINNED, LADING_MEM_PINNED);
  const lading_work w = { .kind = LADING_WORK_UNPACK, .op = LADING_SUM, .dst_type = c.type, .dst_count = 1, .src = c.packed.at, .dst = c.mem.at, .hi = c.n,
                          .src_mem = { LADING_MEM_PINNED, 0 }, .dst_mem = { LADING_MEM_PINNED, 0 } };
  long double *sum = (void *)c.mem.at, *add = (void *)c.packed.at;
  for (int i = 0; i < N; i++) sum[i] = i, add[i] = 100;
  enqueued_at_once(&w);
  for (int i = 0; i < N; i++) ck_assert(sum[i] == i + 200);
  lading_queue_free(q);
  cargo_free(&c);
  devices_close(&v);
}
END_TEST

int main(int argc, char **argv) {
  if (!devices_there()) return 77;
  return CHECK_MAIN("queue_held", argc, argv, waiting_holds_up_nobody, tables_beside_one_that_is_gone, done_before_others_came, pinned_runs,
                    pinned_runs_to_the_host, pinned_runs_from_the_host, pinned_runs_reduced_here);
}
