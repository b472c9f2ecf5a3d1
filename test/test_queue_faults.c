/* queue and batch: what is left behind when something fails midway, or is refused while a stream is recorded: neither tables that nobody evicts
 * any more, nor recordings that are broken, nor errors that mean something else. Most of it only the stand-in driver can judge. */
#include "cargos.h"
#include "queue.h"
#include "../backends/device/site.h"

enum { GLOBAL, ELSE = 999 /* an error of the driver */ };

/* The n-th call from now, by CUDA's name. */
static void let_fail(const char *name, int n) {
  char line[80];
  snprintf(line, sizeof line, "fail %s%s %d %d", strcmp(v.backend, "hip") ? "cu" : "hip", name, n, ELSE);
  devices_say(&v, line);
}
static int64_t frees(void) { return devices_say(&v, strcmp(v.backend, "hip") ? "count cuMemFree" : "count hipFree"); }

static cargo list_of(int last) {
  char list[80];
  snprintf(list, sizeof list, "indexed([2,1,%d],[5,0,9],int)", last);
  return cargo_new(list, LADING_MEM_DEVICE, LADING_MEM_DEVICE);
}

static lading_work copy_of(const cargo *a, const cargo *b) {
  const lading_mem there = { LADING_MEM_DEVICE, 0 };
  return (lading_work){ .kind = LADING_WORK_COPY, .src_type = a->type, .src_count = 1, .src = a->mem.at, .dst_type = b->type, .dst_count = 1, .dst = b->mem.at,
                        .hi = a->n, .src_mem = there, .dst_mem = there };
}

/* ---- tables of what was never launched ---- */

static ldg_lane *room_for_one_table(void) {
  ldg_lane *lane;
  OK(ldg_queue_device_of(v.backend)->create(ldg_queue_device_of(v.backend), 0, &lane));
  ldg_site_tables(lane, 1);
  return lane;
}

/* Each of some more pushes out the one before, whatever some other queue has failed of. */
static void check_eviction(void) {
  enum { MORE = 5 };
  lading_queue *q;
  count_from_here();
  OK(lading_queue_create(v.backend, 0, &q));
  for (int i = 0; i < MORE; i++) {
    cargo c = list_of(20 + i);
    const lading_work w = pack_work(&c);
    const int64_t before = frees();
    OK(lading_enqueue(q, &w, NULL));
    ck_assert_int_gt(frees(), before);
    OK(lading_queue_sync(q));
    check_packed(&c);
    cargo_free(&c);
  }
  lading_queue_free(q);
}

/* The second table of a work cannot be filled: its queue need not launch anything before the first one may go. */
static void check_half_done(int (*put)(const lading_work *w)) {
  v = devices_open();
  ldg_lane *lane = room_for_one_table();
  cargo a = list_of(3), b = cargo_new("indexed([1,4,1],[7,0,20],int)", LADING_MEM_DEVICE, LADING_MEM_DEVICE);
  const lading_work w = copy_of(&a, &b);
  if (v.d->fake) {
    ck_assert_int_eq(put(&w), LADING_ERR_DEVICE);
    check_eviction();
  }
  cargo_free(&a), cargo_free(&b);
  ldg_queue_device_of(v.backend)->destroy(lane);
  devices_close(&v);
}

static int by_queue(const lading_work *w) {
  let_fail("MemcpyAsync", 2);
  return lading_enqueue(v.q, w, NULL);
}

static int by_batch(const lading_work *w) {
  lading_batch *b;
  lading_request r;
  OK(lading_batch_create(v.q, NULL, &b));
  let_fail("MemcpyAsync", 2);
  OK(lading_batch_add(b, w, &r));
  const int e = lading_batch_wait(b, r);
  lading_batch_free(b);
  return e;
}

START_TEST(a_table_of_two) { check_half_done(by_queue); }
END_TEST
START_TEST(a_table_of_two_in_a_batch) { check_half_done(by_batch); }
END_TEST

/* ---- what was not enqueued before is not recorded ---- */

/* Requests in pinned memory, which while nothing is under way run in the calling thread, so that no table is made of their type: that says nothing of the device. */
static void check_unknown(int (*put)(const lading_work *w, lading_batch *b)) {
  lading_queue *q;
  lading_batch *b;
  lading_request r;
  void *graph = NULL;
  v = devices_open();
  cargo c = cargo_new(LISTED, LADING_MEM_PINNED, LADING_MEM_PINNED);
  const lading_work w = pack_work(&c);
  OK(lading_queue_wrap(v.backend, v.stream, &q));
  OK(lading_batch_create(q, NULL, &b));
  OK(lading_batch_add(b, &w, &r));
  OK(lading_batch_wait(b, r));
  check_packed(&c);
  ck_assert_int_eq(v.d->begin_capture(v.stream, GLOBAL), 0);
  count_from_here();
  ck_assert_int_eq(put ? put(&w, b) : lading_enqueue(q, &w, NULL), LADING_ERR_UNSUPPORTED);
  called("LaunchKernel", 0);
  ck_assert_int_eq(v.d->end_capture(v.stream, &graph), 0);
  ck_assert_int_eq(v.d->graph_free(graph), 0);
  OK(lading_enqueue(q, &w, NULL)); /* as the header says: once before */
  OK(lading_queue_sync(q));
  ck_assert_int_eq(v.d->begin_capture(v.stream, GLOBAL), 0);
  OK(put ? put(&w, b) : lading_enqueue(q, &w, NULL));
  ck_assert_int_eq(v.d->end_capture(v.stream, &graph), 0);
  ck_assert_int_eq(v.d->graph_free(graph), 0);
  lading_batch_free(b);
  lading_queue_free(q);
  cargo_free(&c);
  devices_close(&v);
}

static int add_and_wait(const lading_work *w, lading_batch *b) {
  lading_request r;
  OK(lading_batch_add(b, w, &r));
  return lading_batch_wait(b, r);
}

START_TEST(recorded_unknown) { check_unknown(NULL); }
END_TEST
START_TEST(recorded_unknown_in_a_batch) { check_unknown(add_and_wait); }
END_TEST

/* ---- what is recorded is not broken ---- */

/* A batch goes while its stream is recorded, and has recorded nothing itself. */
START_TEST(batch_freed_while_recorded) {
  lading_queue *q;
  lading_batch *b;
  lading_request r;
  void *graph = NULL;
  v = devices_open();
  cargo c = cargo_new(LISTED, LADING_MEM_DEVICE, LADING_MEM_DEVICE);
  const lading_work w = pack_work(&c);
  OK(lading_queue_wrap(v.backend, v.stream, &q));
  OK(lading_batch_create(q, NULL, &b));
  OK(lading_batch_add(b, &w, &r));
  OK(lading_batch_wait(b, r));
  ck_assert_int_eq(v.d->begin_capture(v.stream, GLOBAL), 0);
  lading_batch_free(b);
  ck_assert_int_eq(v.d->end_capture(v.stream, &graph), 0);
  ck_assert_int_eq(v.d->graph_free(graph), 0);
  check_packed(&c);
  lading_queue_free(q);
  cargo_free(&c);
  devices_close(&v);
}
END_TEST

/* Somebody records a stream that the default one waits for. That one is left alone: by a queue of it that is freed, and by a table that needs room. */
START_TEST(default_stream_while_recorded) {
  lading_queue *q[2];
  void *s = NULL, *graph = NULL;
  v = devices_open();
  ldg_lane *lane = room_for_one_table();
  cargo a = list_of(3), b = list_of(4);
  const lading_work w = pack_work(&a), next = pack_work(&b);
  for (int i = 0; i < 2; i++) {
    OK(lading_queue_wrap(v.backend, NULL, &q[i]));
    OK(lading_enqueue(q[i], &w, NULL));
  }
  OK(lading_queue_sync(q[1]));
  ck_assert_int_eq(v.d->stream(&s, 0), 0);
  ck_assert_int_eq(v.d->begin_capture(s, GLOBAL), 0);
  lading_queue_free(q[0]);
  OK(lading_enqueue(v.q, &next, NULL));
  OK(lading_queue_sync(v.q));
  ck_assert_int_eq(v.d->end_capture(s, &graph), 0);
  ck_assert_int_eq(v.d->graph_free(graph), 0);
  ck_assert_int_eq(v.d->stream_free(s), 0);
  lading_queue_free(q[1]);
  check_packed(&a), check_packed(&b);
  cargo_free(&a), cargo_free(&b);
  ldg_queue_device_of(v.backend)->destroy(lane);
  devices_close(&v);
}
END_TEST

/* ---- nothing is written, nothing leaks ---- */

START_TEST(unanswered) {
  v = devices_open();
  area a = area_new(&v, LADING_MEM_DEVICE, 64);
  lading_mem m = { LADING_MEM_MANAGED, 77 };
  if (v.d->fake) {
    devices_say(&v, strcmp(v.backend, "hip") ? "fail cuPointerGetAttributes 1 999" : "fail hipDrvPointerGetAttributes 1 999");
    ck_assert_int_eq(lading_mem_query(a.at, &m), LADING_ERR_DEVICE);
    ck_assert(m.kind == LADING_MEM_MANAGED && m.device == 77);
  }
  OK(lading_mem_query(a.at, &m));
  ck_assert(m.kind == LADING_MEM_DEVICE && m.device == 0);
  area_free(&a);
  devices_close(&v);
}
END_TEST

/* Kernels that are not all there. */
START_TEST(kernels_missing) {
  v = devices_open();
  lading_queue *q = NULL;
  int n;
  OK(lading_device_count(v.backend, &n));
  if (v.d->fake && n > 1) {
    OK(driver_enter(v.d, 1));
    const int64_t before = devices_say(&v, "leaks");
    for (int i = 1; i < 4; i++) {
      let_fail("ModuleGetFunction", i);
      ck_assert_int_eq(lading_queue_create(v.backend, 1, &q), LADING_ERR_DEVICE);
      ck_assert_int_eq(devices_say(&v, "leaks"), before);
    }
    OK(driver_leave(v.d, 1));
  }
  devices_close(&v);
}
END_TEST

/* Requests by page, alone, here, from the host; of types that are there already. */
static bool use_a_batch(const cargo *c, int n) { /* did all of it work? */
  lading_queue *q = NULL;
  lading_batch *b = NULL;
  lading_request r[8];
  bool good = lading_queue_create(v.backend, 0, &q) == LADING_OK && lading_batch_create(q, NULL, &b) == LADING_OK;
  for (int turn = 0; b && turn < 3; turn++) {
    for (int i = 0; i < n; i++) {
      const lading_work w = pack_work(&c[i]);
      if (lading_batch_add(b, &w, &r[i])) r[i] = 0, good = false;
    }
    good = lading_batch_flush(b) == LADING_OK && good;
    for (int i = 0; i < n; i++) good = lading_batch_wait(b, r[i]) == LADING_OK && good;
  }
  lading_batch_free(b);
  lading_queue_free(q);
  return good;
}

START_TEST(batches_that_fail) {
  enum { CHUNKS_MORE = 2 * 2 }; /* chunks are kept, with an event each: of three works two are slower now and then */
  static const char *const calls[] = { "LaunchKernel", "MemAlloc", "MemcpyAsync", "StreamSynchronize", "EventCreate", "EventRecord", "EventQuery", "StreamQuery",
                                       "LaunchHostFunc", "MemHostAlloc", "PointerGetAttributes", "StreamCreate", "StreamIsCapturing", "CtxPushCurrent" };
  v = devices_open();
  cargo c[4] = { list_of(3), cargo_new(STRIDED, LADING_MEM_DEVICE, LADING_MEM_DEVICE), cargo_new(STRIDED, LADING_MEM_HOST, LADING_MEM_DEVICE),
                 cargo_new(STRIDED, LADING_MEM_DEVICE, LADING_MEM_HOST) };
  use_a_batch(c, COUNT_OF(c));
  const int64_t before = devices_say(&v, "leaks");
  for (int i = 0; v.d->fake && i < (int)COUNT_OF(calls); i++)
    for (int n = 1; n < 12; n++) {
      let_fail(calls[i], n);
      use_a_batch(c, COUNT_OF(c));
      devices_say(&v, "reset");
      ck_assert_msg(devices_say(&v, "leaks") <= before + CHUNKS_MORE, "%s %d", calls[i], n);
    }
  for (int i = 0; i < (int)COUNT_OF(c); i++) cargo_free(&c[i]);
  devices_close(&v);
}
END_TEST

/* Wherever memory of the library's ends: nothing is left behind, and then all goes on. What has a way without is done by that. */
START_TEST(no_memory_here) {
  enum { MOST = 40, CHUNKS_MORE = 2 * 2 };
  v = devices_open();
  cargo c[4] = { list_of(3), cargo_new(STRIDED, LADING_MEM_DEVICE, LADING_MEM_DEVICE), cargo_new(STRIDED, LADING_MEM_HOST, LADING_MEM_DEVICE),
                 cargo_new(STRIDED, LADING_MEM_DEVICE, LADING_MEM_HOST) };
  use_a_batch(c, COUNT_OF(c));
  OK(lading_queue_sync(v.q));
  const int64_t before = devices_say(&v, "leaks"), live = ldg_alloc_live();
  int felt = 0;
  for (int n = 0; n < MOST; n++) {
    ldg_alloc_fail(n);
    felt += !use_a_batch(c, COUNT_OF(c));
    ldg_alloc_fail(-1);
    if (v.d->fake) ck_assert_msg(devices_say(&v, "leaks") <= before + CHUNKS_MORE, "allocation %d", n);
    ck_assert_msg(ldg_alloc_live() <= live, "allocation %d: %lld are alive, of %lld", n, (long long)ldg_alloc_live(), (long long)live);
  }
  for (int64_t i = 0; i < COUNT_OF(c); i++) area_fill(&c[i].packed, 7);
  ck_assert(use_a_batch(c, COUNT_OF(c)));
  ck_assert_int_gt(felt, 3);
  for (int64_t i = 0; i < COUNT_OF(c); i++) check_packed(&c[i]), cargo_free(&c[i]);
  devices_close(&v);
}
END_TEST

int main(int argc, char **argv) {
  if (!devices_there()) return 77;
  return CHECK_MAIN("queue_faults", argc, argv, a_table_of_two, a_table_of_two_in_a_batch, recorded_unknown, recorded_unknown_in_a_batch, batch_freed_while_recorded,
                    default_stream_while_recorded, unanswered, kernels_missing, batches_that_fail, no_memory_here);
}
