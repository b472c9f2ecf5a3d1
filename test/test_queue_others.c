/* queue: what it bears from others, and they from it: streams that other threads record, contexts that are reset, registered memory,
 * devices that fail midway. Most of it only the stand-in driver can judge. */
#include "cargos.h"
#include "queue.h"
#include "../backends/device/site.h"

#include <pthread.h>

enum { GLOBAL, RELAXED = 2 };

/* Calls by CUDA's names. */
static int64_t calls(const char *name) {
  char line[80];
  snprintf(line, sizeof line, "count %s%s", strcmp(v.backend, "hip") ? "cu" : "hip", name);
  return devices_say(&v, line);
}

/* ---- streams that are recorded ---- */

/* Everything that a queue does. */
typedef struct user { lading_queue *q; lading_work w[2]; } user;
static void *use_it_all(void *arg) {
  const user *u = arg;
  bool done;
  lading_request r;
  lading_mem kind;
  lading_queue *own;
  lading_batch *b;
  int n;
  OK(lading_device_count(v.backend, &n));
  OK(lading_queue_create(v.backend, n - 1, &own)); /* kernels are loaded there, if it is another device */
  lading_queue_free(own);
  OK(lading_queue_create(v.backend, 0, &own));
  OK(lading_mem_query(u->w[1].src, &kind));
  for (int i = 0; i < 2; i++) {
    OK(lading_enqueue(u->q, &u->w[i], &r));
    OK(lading_test(u->q, r, &done));
    OK(lading_wait(u->q, r));
    OK(lading_enqueue(own, &u->w[i], NULL));
  }
  OK(lading_batch_create(own, NULL, &b));
  OK(lading_batch_add(b, &u->w[1], &r));
  OK(lading_batch_wait(b, r));
  lading_batch_free(b);
  OK(lading_queue_sync(own));
  lading_queue_free(own);
  return NULL;
}

/* ... while somebody records a stream and lets nobody disturb that: this thread, or another one. */
static void use_while_recorded(bool by_another) {
  pthread_t t;
  void *graph = NULL;
  char list[80];
  snprintf(list, sizeof list, "indexed([2,1,%d],[5,0,9],int)", by_another ? 4 : 9); /* a table of its own */
  cargo far = cargo_new(list, LADING_MEM_HOST, LADING_MEM_DEVICE), near = cargo_new(list, LADING_MEM_DEVICE, LADING_MEM_DEVICE);
  user u = { v.q, { pack_work(&far), pack_work(&near) } };
  ck_assert_int_eq(v.d->begin_capture(v.stream, GLOBAL), 0);
  if (!by_another) use_it_all(&u);
  else ck_assert_int_eq(pthread_create(&t, NULL, use_it_all, &u), 0);
  if (by_another) pthread_join(t, NULL);
  ck_assert_int_eq(v.d->end_capture(v.stream, &graph), 0); /* nobody has broken it */
  ck_assert_int_eq(v.d->graph_free(graph), 0);
  check_packed(&far), check_packed(&near);
  cargo_free(&far), cargo_free(&near);
}

START_TEST(others_record) {
  v = devices_open();
  use_while_recorded(false), use_while_recorded(true);
  devices_close(&v);
}
END_TEST

/* A stranger's thread records; ours has no context at all. */
static void *ask_without_context(void *at) {
  lading_mem kind;
  OK(lading_mem_query(at, &kind));
  ck_assert_int_eq((int)kind.kind, LADING_MEM_DEVICE);
  return NULL;
}

START_TEST(asked_while_others_record) {
  pthread_t t;
  void *graph = NULL;
  v = devices_open();
  area a = area_new(&v, LADING_MEM_DEVICE, 64);
  ck_assert_int_eq(v.d->begin_capture(v.stream, GLOBAL), 0);
  ck_assert_int_eq(pthread_create(&t, NULL, ask_without_context, a.at), 0);
  pthread_join(t, NULL);
  ck_assert_int_eq(v.d->end_capture(v.stream, &graph), 0);
  ck_assert_int_eq(v.d->graph_free(graph), 0);
  area_free(&a);
  devices_close(&v);
}
END_TEST

/* The queue goes while its stream is recorded: that is the caller's still. */
START_TEST(freed_while_recorded) {
  v = devices_open();
  lading_queue *q;
  void *graph = NULL;
  lading_request r = 7;
  cargo c = cargo_new(LISTED, LADING_MEM_DEVICE, LADING_MEM_DEVICE);
  const lading_work w = pack_work(&c);
  OK(lading_queue_wrap(v.backend, v.stream, &q));
  OK(lading_enqueue(q, &w, NULL));
  OK(lading_queue_sync(q));
  ck_assert_int_eq(v.d->begin_capture(v.stream, RELAXED), 0);
  ck_assert_int_eq(lading_enqueue(q, &w, &r), LADING_ERR_UNSUPPORTED); /* no request of a graph */
  ck_assert_int_eq((int)r, 7);
  OK(lading_enqueue(q, &w, NULL));
  lading_queue_free(q);
  ck_assert_int_eq(v.d->end_capture(v.stream, &graph), 0);
  ck_assert_int_eq(v.d->graph_free(graph), 0);
  check_packed(&c);
  cargo_free(&c);
  devices_close(&v);
}
END_TEST

/* ---- contexts ---- */

/* Kernels, tables, streams and pinned memory went with the context; the next one is at the same address. */
START_TEST(a_device_is_reset) {
  v = devices_open();
  if (v.d->fake && !v.d->device) { /* HIP tells no ids of contexts */
    lading_mem kind;
    for (int i = 0; i < 3; i++) {
      cargo c = cargo_new(LISTED, LADING_MEM_DEVICE, LADING_MEM_DEVICE), far = cargo_new(LISTED, LADING_MEM_HOST, LADING_MEM_DEVICE);
      const lading_work w = pack_work(&c), from_host = pack_work(&far);
      OK(lading_enqueue(v.q, &w, NULL));
      OK(lading_enqueue(v.q, &from_host, NULL));
      OK(lading_queue_sync(v.q));
      check_packed(&c), check_packed(&far);
      ck_assert_int_eq(v.d->reset(0), 0);
      lading_type_free(c.type), lading_type_free(far.type);
      free(c.mem.copy), free(c.packed.copy), free(far.mem.copy), free(far.packed.copy), free(far.mem.at);
      lading_queue_free(v.q);
      void *was;
      ck_assert_int_eq(v.d->pop(&was), 0);
      OK(lading_mem_query(&kind, &kind));
      v = devices_open();
    }
  }
  devices_close(&v);
}
END_TEST

/* However many queues, kinds and tokens: one reference to a primary context. */
START_TEST(one_reference) {
  v = devices_open();
  cargo c = cargo_new(STRIDED, LADING_MEM_DEVICE, LADING_MEM_DEVICE);
  void *context;
  lading_mem kind;
  lading_ipc token;
  count_from_here();
  ck_assert_int_eq(v.d->pop(&context), 0);
  for (int i = 0; i < 20; i++) {
    lading_queue *q;
    OK(lading_queue_create(v.backend, 0, &q));
    lading_queue_free(q);
    OK(lading_queue_wrap(v.backend, NULL, &q));
    lading_queue_free(q);
    OK(lading_queue_wrap(v.backend, v.stream, &q));
    lading_queue_free(q);
    OK(lading_mem_query(c.mem.at, &kind));
    OK(lading_ipc_export(c.mem.at, &token));
  }
  ck_assert_int_eq(v.d->push(context), 0);
  if (v.d->fake) ck_assert_int_eq(calls("DevicePrimaryCtxRetain"), calls("DevicePrimaryCtxRelease"));
  cargo_free(&c);
  devices_close(&v);
}
END_TEST

/* ---- streams of threads, registered memory ---- */

START_TEST(default_stream_of_each_thread) {
  v = devices_open();
  lading_queue *q = NULL;
  ck_assert_int_eq(lading_queue_wrap(v.backend, (void *)2, &q), LADING_ERR_UNSUPPORTED);
  ck_assert_ptr_null(q);
  devices_close(&v);
}
END_TEST

/* A thread without a context has that of the first device wrapped, which it has not itself afterwards. */
START_TEST(default_stream_without_a_context) {
  v = devices_open();
  lading_queue *q;
  void *was = NULL, *none = NULL;
  cargo c = cargo_new(STRIDED, LADING_MEM_DEVICE, LADING_MEM_DEVICE);
  const lading_work w = pack_work(&c);
  ck_assert_int_eq(v.d->pop(&was), 0);
  OK(lading_queue_wrap(v.backend, NULL, &q));
  OK(lading_enqueue(q, &w, NULL)); /* a kernel of the first device, which the memory is of */
  OK(lading_queue_sync(q));
  lading_queue_free(q);
  if (v.d->fake) ck_assert_int_ne(v.d->pop(&none), 0);
  if (v.d->fake) devices_say(&v, "forgive");
  ck_assert_int_eq(v.d->push(was), 0);
  check_packed(&c);
  cargo_free(&c);
  devices_close(&v);
}
END_TEST

static void check_registered(lading_memkind expected) {
  enum { PAGE = 4096 };
  static char memory[3 * PAGE];
  char *at = memory + PAGE - (uintptr_t)memory % PAGE;
  lading_mem kind;
  cargo c = cargo_new(STRIDED, LADING_MEM_DEVICE, LADING_MEM_DEVICE);
  ck_assert_int_eq(v.d->enroll(at, PAGE, 0), 0);
  OK(lading_mem_query(at, &kind));
  ck_assert_int_eq((int)kind.kind, expected);
  lading_work w = pack_work(&c);
  w.dst = at, w.dst_mem.kind = LADING_MEM_UNKNOWN;
  OK(lading_enqueue(v.q, &w, NULL));
  OK(lading_queue_sync(v.q));
  char *want = malloc((size_t)c.n);
  OK(lading_pack(c.type, 1, c.mem.copy, want, 0, c.n));
  ck_assert(!memcmp(want, at, (size_t)c.n));
  free(want);
  ck_assert_int_eq(v.d->unenroll(at), 0);
  cargo_free(&c);
}

START_TEST(registered_memory) {
  v = devices_open();
  check_registered(LADING_MEM_PINNED);
  if (v.d->fake) {
    devices_say(&v, "apart 1");
    check_registered(LADING_MEM_HOST);
  }
  devices_close(&v);
}
END_TEST

/* ---- what fails midway ---- */

/* A request of several parts, the last of which fails: whoever is told so has his buffers back. */
START_TEST(nothing_under_way_after_an_error) {
  v = devices_open();
  if (v.d->fake) {
    cargo c = cargo_new("vector(400000,1,2,double)", LADING_MEM_HOST, LADING_MEM_DEVICE);
    const lading_work w = pack_work(&c);
    lading_batch *b;
    lading_request r;
    const lading_batch_attr by_hand = { .policy = LADING_BATCH_MANUAL };
    OK(lading_batch_create(v.q, &by_hand, &b));
    devices_say(&v, "patience -1"), devices_say(&v, "still 1");
    OK(lading_batch_add(b, &w, &r));
    devices_say(&v, strcmp(v.backend, "hip") ? "fail cuMemHostAlloc 3 999" : "fail hipHostMalloc 3 999");
    OK(lading_batch_flush(b));
    ck_assert_int_eq(devices_say(&v, "queued"), 0);
    ck_assert_int_eq(lading_batch_wait(b, r), LADING_ERR_DEVICE);
    lading_batch_free(b);
    cargo_free(&c);
  }
  devices_close(&v);
}
END_TEST

/* A queue goes, its work goes on: also the host's part of it, which it has where the queue was not idle. */
START_TEST(freed_with_host_under_way) {
  enum { WORKS = 5 };
  v = devices_open();
  lading_queue *q;
  cargo c[WORKS];
  OK(lading_queue_wrap(v.backend, v.stream, &q));
  for (int i = 0; i < WORKS; i++) c[i] = cargo_new(STRIDED, LADING_MEM_HOST, LADING_MEM_DEVICE);
  if (v.d->fake) devices_say(&v, "patience -1"), devices_say(&v, "still 1");
  count_from_here();
  for (int i = 0; i < WORKS; i++) {
    const lading_work w = pack_work(&c[i]);
    OK(lading_enqueue(q, &w, NULL));
  }
  if (v.d->fake) ck_assert_int_eq(calls("LaunchHostFunc"), WORKS - 1);
  lading_queue_free(q);
  ck_assert_int_eq(v.d->sync(v.stream), 0);
  for (int i = 0; i < WORKS; i++) check_packed(&c[i]), cargo_free(&c[i]);
  devices_close(&v);
}
END_TEST

/* The host's part of a work that the device never came to: what it held is let go with the queue. */
START_TEST(lost_with_host_under_way) {
  v = devices_open();
  if (v.d->fake) {
    cargo c = cargo_new(STRIDED, LADING_MEM_HOST, LADING_MEM_DEVICE);
    const lading_work w = pack_work(&c);
    OK(lading_enqueue(v.q, &w, NULL)); /* chunks and plans are made once */
    OK(lading_queue_sync(v.q));
    const int64_t live = ldg_alloc_live();
    lading_queue *q;
    OK(lading_queue_create(v.backend, 0, &q));
    devices_say(&v, "patience -1"), devices_say(&v, "still 1");
    for (int i = 0; i < 5; i++) OK(lading_enqueue(q, &w, NULL));
    devices_say(&v, "lost 700");
    lading_queue_free(q);
    ck_assert_int_eq(ldg_alloc_live(), live);
    lading_queue_free(v.q);
    devices_say(&v, "forgive");
    lading_type_free(c.type);
    free(c.mem.copy), free(c.mem.at), free(c.packed.copy);
  } else devices_close(&v);
}
END_TEST

int main(int argc, char **argv) {
  if (!devices_there()) return 77;
  return CHECK_MAIN("queue_others", argc, argv, others_record, asked_while_others_record, freed_while_recorded, a_device_is_reset, one_reference,
                    default_stream_of_each_thread, default_stream_without_a_context, registered_memory, nothing_under_way_after_an_error, freed_with_host_under_way, lost_with_host_under_way);
}
