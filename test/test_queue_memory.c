/* queue: the memory of its own that it needs: tables that come and go, the ways to pinned memory; and memory of several
 * kinds in one type. */
#include "cargos.h"
#include "base_model.h"
#include "queue.h"
#include "../backends/device/site.h"

#include <pthread.h>

/* ---- tables that go ---- */

/* More lists than there is room for, on queues that come and go, with nobody waiting: no kernel reads a table that has gone, which
 * the stand-in would see, and none is freed for ever. */
START_TEST(tables_come_and_go) {
  rng r = rng_of(31);
  v = devices_open();
  ldg_lane *lane;
  OK(ldg_queue_device_of(v.backend)->create(ldg_queue_device_of(v.backend), 0, &lane));
  ldg_site_tables(lane, 3000);
  cargo c[40];
  for (int i = 0; i < 40; i++) {
    char list[80];
    snprintf(list, sizeof list, "indexed([2,1,%d],[5,0,9],int)", i + 1);
    c[i] = cargo_new(list, LADING_MEM_DEVICE, LADING_MEM_DEVICE);
  }
  if (v.d->fake) devices_say(&v, "patience -1"), devices_say(&v, "shuffle 3");
  count_from_here();
  for (int k = 0; k < 20; k++) {
    lading_queue *q;
    OK(lading_queue_create(v.backend, 0, &q));
    for (int i = 0; i < 20; i++) {
      const lading_work w = pack_work(&c[rng_in(&r, 0, 39)]);
      OK(lading_enqueue(i % 2 ? q : v.q, &w, NULL));
    }
    lading_queue_free(q);
  }
  for (int i = 0; i < 40; i++) {
    const lading_work w = pack_work(&c[i]);
    OK(lading_enqueue(v.q, &w, NULL));
  }
  OK(lading_queue_sync(v.q));
  if (v.d->fake && !strcmp(v.backend, "cuda")) ck_assert_int_gt(devices_say(&v, "count cuMemFree"), 40);
  for (int i = 0; i < 40; i++) check_packed(&c[i]), cargo_free(&c[i]);
  ldg_queue_device_of(v.backend)->destroy(lane);
  devices_close(&v);
}
END_TEST

/* No memory for a table: another one goes, and it is tried again. */
START_TEST(room_when_there_is_none) {
  v = devices_open();
  cargo a = cargo_new(LISTED, LADING_MEM_DEVICE, LADING_MEM_DEVICE), b = cargo_new("indexed([2,1,4],[5,0,9],int)", LADING_MEM_DEVICE, LADING_MEM_DEVICE);
  const lading_work w = pack_work(&a), next = pack_work(&b);
  OK(lading_enqueue(v.q, &w, NULL));
  devices_say(&v, !strcmp(v.backend, "cuda") ? "fail cuMemAlloc 1 2" : "fail hipMalloc 1 2");
  OK(lading_enqueue(v.q, &next, NULL));
  OK(lading_enqueue(v.q, &w, NULL));
  OK(lading_queue_sync(v.q));
  check_packed(&a), check_packed(&b);
  cargo_free(&a), cargo_free(&b);
  devices_close(&v);
}
END_TEST

/* Two images of one work, more than there is room for: the second does not push out the first. */
START_TEST(both_tables_of_a_copy) {
  v = devices_open();
  ldg_lane *lane;
  OK(ldg_queue_device_of(v.backend)->create(ldg_queue_device_of(v.backend), 0, &lane));
  ldg_site_tables(lane, 1);
  cargo a = cargo_new("indexed([2,1,3],[5,0,9],int)", LADING_MEM_DEVICE, LADING_MEM_DEVICE), b = cargo_new("indexed([1,4,1],[7,0,20],int)", LADING_MEM_DEVICE, LADING_MEM_DEVICE);
  const lading_work w = { .kind = LADING_WORK_COPY, .src_type = a.type, .src_count = 1, .src = a.mem.at, .dst_type = b.type, .dst_count = 1, .dst = b.mem.at, .hi = a.n };
  OK(lading_copy(a.type, 1, a.mem.copy, b.type, 1, b.mem.copy, 0, a.n));
  char *want = memcpy(malloc((size_t)b.mem.n), b.mem.copy, (size_t)b.mem.n);
  OK(lading_enqueue(v.q, &w, NULL));
  OK(lading_queue_sync(v.q));
  area_pull(&b.mem);
  ck_assert(!memcmp(want, b.mem.copy, (size_t)b.mem.n));
  free(want);
  cargo_free(&a), cargo_free(&b);
  ldg_queue_device_of(v.backend)->destroy(lane);
  devices_close(&v);
}
END_TEST

/* A new table waits for streams in which the host has its turn still to come: after a queue has gone, and for room. */
static void check_host_under_way(int64_t room) {
  v = devices_open();
  lading_queue *q;
  ldg_lane *lane;
  cargo c = cargo_new(LISTED, LADING_MEM_DEVICE, LADING_MEM_DEVICE), far = cargo_new(LISTED, LADING_MEM_HOST, LADING_MEM_DEVICE);
  const lading_work w = pack_work(&c), from_host = pack_work(&far);
  OK(ldg_queue_device_of(v.backend)->create(ldg_queue_device_of(v.backend), 0, &lane));
  ldg_site_tables(lane, room);
  OK(lading_queue_create(v.backend, 0, &q));
  if (v.d->fake) devices_say(&v, "patience -1"), devices_say(&v, "still 1");
  OK(lading_enqueue(q, &w, NULL));
  count_from_here();
  OK(lading_enqueue(q, &from_host, NULL));
  called("LaunchHostFunc", 1);
  if (room > 1) lading_queue_free(q);
  cargo other = cargo_new("indexed([2,1,4],[5,0,9],int)", LADING_MEM_DEVICE, LADING_MEM_DEVICE);
  const lading_work next = pack_work(&other);
  OK(lading_enqueue(v.q, &next, NULL));
  OK(lading_queue_sync(v.q));
  if (room == 1) {
    OK(lading_queue_sync(q));
    lading_queue_free(q);
  }
  check_packed(&c), check_packed(&far), check_packed(&other);
  cargo_free(&c), cargo_free(&far), cargo_free(&other);
  ldg_queue_device_of(v.backend)->destroy(lane);
  devices_close(&v);
}

START_TEST(gone_with_host_under_way) { check_host_under_way(LDG_TABLES_MOST); }
END_TEST
START_TEST(room_with_host_under_way) { check_host_under_way(1); }
END_TEST

/* What a thread without a context is told about memory. */
START_TEST(kinds_without_a_context) {
  v = devices_open();
  cargo c = cargo_new(STRIDED, LADING_MEM_DEVICE, LADING_MEM_DEVICE);
  lading_work w = pack_work(&c);
  lading_mem m;
  lading_ipc token;
  void *context;
  w.src_mem.kind = w.dst_mem.kind = LADING_MEM_UNKNOWN;
  ck_assert_int_eq(v.d->pop(&context), 0);
  OK(lading_mem_query(c.mem.at, &m));
  ck_assert_int_eq((int)m.kind, LADING_MEM_DEVICE);
  OK(lading_ipc_export(c.mem.at, &token));
  OK(lading_enqueue(v.q, &w, NULL));
  OK(lading_queue_sync(v.q));
  ck_assert_int_eq(v.d->push(context), 0);
  check_packed(&c);
  cargo_free(&c);
  devices_close(&v);
}
END_TEST

/* Nothing is made, or held, on a device that nobody uses: where no context is active all memory is the host's, else one that is says. */
START_TEST(kinds_without_any_context) {
  const char *backend = getenv("LADING_TEST_BACKEND");
  lading_mem m;
  lading_ipc token;
  void *at = NULL, *context = NULL;
  int n, other;
  v = (devices){ .backend = backend ? backend : "cuda" };
  v.d = driver_open(v.backend);
  ck_assert(v.d != NULL);
  OK(lading_device_count(v.backend, &n));
  other = n > 1;
  count_from_here();
  OK(lading_mem_query(&m, &m));
  ck_assert_int_eq((int)m.kind, LADING_MEM_HOST);
  ck_assert_int_eq(lading_ipc_export(&m, &token), LADING_ERR_UNSUPPORTED);
  called("DevicePrimaryCtxRetain", 0);
  OK(driver_enter(v.d, other));
  OK(v.d->alloc(&at, 64));
  OK(v.d->pop(&context));
  count_from_here();
  OK(lading_mem_query(at, &m));
  ck_assert_int_eq((int)m.kind, LADING_MEM_DEVICE);
  ck_assert_int_eq(m.device, other);
  called("DevicePrimaryCtxRetain", 1), called("DevicePrimaryCtxRelease", 1);
  OK(lading_ipc_export(at, &token));
  OK(v.d->push(context));
  OK(v.d->free(at));
  OK(driver_leave(v.d, other));
}
END_TEST

/* ---- ways to pinned memory ---- */

static void check_path(const char *force, int64_t copies) {
  setenv("LADING_FORCE", force, 1); /* each test is a process of its own */
  v = devices_open();
  cargo c = cargo_new(STRIDED, LADING_MEM_DEVICE, LADING_MEM_PINNED);
  lading_work w = pack_work(&c);
  char *want = malloc((size_t)c.mem.n), text[1 << 13];
  count_from_here();
  OK(lading_enqueue(v.q, &w, NULL));
  called("LaunchKernel", 1), called("MemcpyAsync", copies), called("MemAllocFromPoolAsync", copies), called("MemFreeAsync", copies), called("MemAllocAsync", 0);
  OK(lading_queue_sync(v.q));
  check_packed(&c);
  area_fill(&c.packed, 5);
  memcpy(want, c.mem.copy, (size_t)c.mem.n);
  OK(lading_unpack_op(c.type, 1, want, c.packed.copy + 8, 8, c.n - 4, LADING_SUM));
  w = (lading_work){ .kind = LADING_WORK_UNPACK, .op = LADING_SUM, .dst_type = c.type, .dst_count = 1, .src = c.packed.at + 8, .dst = c.mem.at, .lo = 8, .hi = c.n - 4 };
  OK(lading_enqueue(v.q, &w, NULL));
  called("MemcpyAsync", 2 * copies);
  OK(lading_queue_sync(v.q));
  area_pull(&c.mem);
  ck_assert(!memcmp(want, c.mem.copy, (size_t)c.mem.n));
  ck_assert_int_gt(lading_explain(c.type, 1, text, sizeof text), 0);
  ck_assert_ptr_nonnull(strstr(text, "into pinned memory: one-shot"));
  free(want);
  cargo_free(&c);
  devices_close(&v);
}

START_TEST(one_shot) { check_path("one-shot", 0); }
END_TEST
START_TEST(staged) { check_path("staged", 1); }
END_TEST

/* Several works with waits between them, on queues that come and go: of one pool, which is told what to keep, or of the driver's, where there is none. */
static void scratch_of(const char *fail, int64_t made, int64_t of_ours) {
  setenv("LADING_FORCE", "staged", 1);
  v = devices_open();
  cargo c = cargo_new(STRIDED, LADING_MEM_DEVICE, LADING_MEM_PINNED);
  const lading_work w = pack_work(&c);
  count_from_here();
  if (v.d->fake && !strcmp(v.backend, "cuda") && *fail) devices_say(&v, fail);
  for (int i = 0; i < 4; i++) {
    lading_queue *q;
    OK(lading_queue_create(v.backend, 0, &q));
    area_fill(&c.packed, (uint64_t)i);
    OK(lading_enqueue(q, &w, NULL));
    OK(lading_queue_sync(q));
    check_packed(&c);
    lading_queue_free(q);
  }
  called("MemPoolCreate", 1), called("MemPoolSetAttribute", made), called("MemAllocFromPoolAsync", of_ours), called("MemAllocAsync", 4 - of_ours);
  called("MemFreeAsync", 4);
  cargo_free(&c);
  devices_close(&v);
}

START_TEST(scratch_of_one_pool) { scratch_of("", 1, 4); }
END_TEST
START_TEST(scratch_without_a_pool) { scratch_of("fail cuMemPoolCreate 1 801", 0, 0); }
END_TEST
START_TEST(scratch_of_a_pool_that_keeps_nothing) { scratch_of("fail cuMemPoolSetAttribute 1 801", 1, 0); }
END_TEST

static void *stage(void *arg) {
  const cargo *c = arg;
  const lading_work w = pack_work(c);
  lading_queue *q;
  if (lading_queue_create(v.backend, 0, &q)) return arg;
  int e = LADING_OK;
  for (int i = 0; !e && i < 3; i++) {
    e = lading_enqueue(q, &w, NULL);
    if (!e && i == 1) e = lading_queue_sync(q);
  }
  if (!e) e = lading_queue_sync(q);
  lading_queue_free(q);
  return e ? arg : NULL;
}

/* Threads that all come first. */
START_TEST(scratch_of_one_pool_for_threads) {
  enum { THREADS = 4 };
  cargo c[THREADS];
  pthread_t thread[THREADS];
  setenv("LADING_FORCE", "staged", 1);
  v = devices_open();
  for (int i = 0; i < THREADS; i++) c[i] = cargo_new(STRIDED, LADING_MEM_DEVICE, LADING_MEM_PINNED);
  count_from_here();
  for (int i = 0; i < THREADS; i++) ck_assert_int_eq(pthread_create(&thread[i], NULL, stage, &c[i]), 0);
  for (int i = 0; i < THREADS; i++) {
    void *failed;
    pthread_join(thread[i], &failed);
    ck_assert_ptr_null(failed);
  }
  called("MemPoolCreate", 1), called("MemAllocFromPoolAsync", 3 * THREADS), called("MemFreeAsync", 3 * THREADS);
  for (int i = 0; i < THREADS; i++) check_packed(&c[i]), cargo_free(&c[i]);
  devices_close(&v);
}
END_TEST

/* No memory for it: the kernel goes to pinned memory itself, and next time there may be some. */
START_TEST(scratch_when_there_is_none) {
  setenv("LADING_FORCE", "staged", 1);
  v = devices_open();
  cargo c = cargo_new(STRIDED, LADING_MEM_DEVICE, LADING_MEM_PINNED);
  const lading_work w = pack_work(&c);
  for (int i = 0; i < 2; i++) {
    count_from_here();
    if (i == 0) devices_say(&v, strcmp(v.backend, "cuda") ? "fail hipMallocFromPoolAsync 1 2" : "fail cuMemAllocFromPoolAsync 1 2");
    OK(lading_enqueue(v.q, &w, NULL));
    called("MemcpyAsync", i), called("LaunchKernel", 1), called("MemFreeAsync", i);
    OK(lading_queue_sync(v.q));
    check_packed(&c);
  }
  cargo_free(&c);
  devices_close(&v);
}
END_TEST

/* By a model in which a block costs nothing but where a kernel goes to pinned memory, of which 100 take 100 us: what goes over to a copy of the
 * driver is dearer than that, or not. */
static void staged_by_model(int64_t handover_us, int64_t copies) {
  ldg_model m = ldg_model_builtin();
  char text[1 << 13], line[80];
  v = devices_open();
  for (int64_t i = 0, one = COUNT_OF(m.kernel) / LDG_MODEL_KERNELS; i < COUNT_OF(m.kernel); i++) m.kernel[i] = i / one == LDG_MODEL_FAR ? 1000000 : 1;
  for (int64_t i = 0; i < COUNT_OF(m.transfer); i++) m.transfer[i] = 1;
  m.handover = handover_us * 1000000;
  ldg_model_use(&m);
  ck_assert(!ldg_model_assumes_devices());
  cargo c = cargo_new(STRIDED, LADING_MEM_DEVICE, LADING_MEM_PINNED);
  const lading_work pack = pack_work(&c), unpack = { .kind = LADING_WORK_UNPACK, .dst_type = c.type, .dst_count = 1, .src = c.packed.at, .dst = c.mem.at, .hi = c.n,
                                                     .src_mem = pack.dst_mem, .dst_mem = pack.src_mem };
  count_from_here();
  OK(lading_enqueue(v.q, &pack, NULL));
  called("MemcpyAsync", copies);
  OK(lading_enqueue(v.q, &unpack, NULL));
  called("MemcpyAsync", 2 * copies), called("LaunchKernel", 2);
  OK(lading_queue_sync(v.q));
  check_packed(&c);
  ck_assert_int_gt(lading_explain(c.type, 1, text, sizeof text), 0);
  snprintf(line, sizeof line, "one-shot %.1f us, staged %.1f us predicted", 100 + (double)m.launch * 1e-6, (double)handover_us + (double)m.launch * 1e-6);
  ck_assert_msg(strstr(text, line), "%s is not in %s", line, text);
  cargo_free(&c);
  ldg_model_use(NULL);
  devices_close(&v);
}

START_TEST(staged_where_engines_change_fast) { staged_by_model(99, 1); }
END_TEST
START_TEST(one_shot_where_they_do_not) { staged_by_model(101, 0); }
END_TEST

/* ---- ways between layouts ---- */

/* Blocks of 3 and of 4 ints: each layout is loops, but they have none in common. */
static void copied(int64_t launched, int64_t allocated) {
  cargo a = cargo_new("vector(400,3,5,int)", LADING_MEM_DEVICE, LADING_MEM_DEVICE), b = cargo_new("vector(300,4,7,int)", LADING_MEM_DEVICE, LADING_MEM_DEVICE);
  const lading_mem there = { LADING_MEM_DEVICE, 0 };
  char *want = malloc((size_t)b.mem.n);
  for (int64_t lo = 4; lo < (TEST_TSAN ? 5 : 50); lo += 7) {
    const lading_work w = { .kind = LADING_WORK_COPY, .src_type = a.type, .src_count = 1, .src = a.mem.at, .dst_type = b.type, .dst_count = 1, .dst = b.mem.at,
                            .lo = lo, .hi = a.n - 2 * lo, .src_mem = there, .dst_mem = there };
    area_fill(&b.mem, (uint64_t)lo);
    memcpy(want, b.mem.copy, (size_t)b.mem.n);
    OK(lading_copy(a.type, 1, a.mem.copy, b.type, 1, want, w.lo, w.hi));
    OK(lading_enqueue(v.q, &w, NULL)); /* trees get their tables */
    count_from_here();
    OK(lading_enqueue(v.q, &w, NULL));
    called("LaunchKernel", launched), called("MemAllocFromPoolAsync", allocated), called("MemFreeAsync", allocated);
    OK(lading_queue_sync(v.q));
    area_pull(&b.mem);
    ck_assert(!memcmp(want, b.mem.copy, (size_t)b.mem.n));
  }
  free(want);
  cargo_free(&a), cargo_free(&b);
}

/* handover: two kernels are of one engine, so that it does not matter. */
static void by_model(int64_t flat, int64_t down_a_tree, int64_t handover, int64_t launched, int64_t allocated) {
  const int64_t most = ldg_queue_flat_most;
  ldg_model m = ldg_model_builtin();
  m.handover = handover, ldg_queue_flat_most = flat;
  v = devices_open();
  for (int i = 0; i < LDG_MODEL_SIDES * LDG_MODEL_STRIDES * LDG_MODEL_BLOCKS; i++)
    m.kernel[LDG_MODEL_TREE * LDG_MODEL_SIDES * LDG_MODEL_STRIDES * LDG_MODEL_BLOCKS + i] = down_a_tree;
  ldg_model_use(&m);
  copied(launched, allocated);
  ldg_model_use(NULL);
  ldg_queue_flat_most = most;
  devices_close(&v);
}

/* What was packed in between before is recorded: there it goes directly, by the images that it did not need until then. */
static void check_recorded(int64_t flat) {
  setenv("LADING_FORCE", "device", 1);
  ldg_model m = ldg_model_builtin();
  const int64_t most = ldg_queue_flat_most;
  ldg_queue_flat_most = flat;
  v = devices_open();
  for (int64_t i = 0; i < COUNT_OF(m.kernel); i++) m.kernel[i] = i < LDG_MODEL_TREE * COUNT_OF(m.kernel) / LDG_MODEL_KERNELS ? 1 : 1000000;
  ldg_model_use(&m);
  lading_queue *q;
  void *graph = NULL, *exec = NULL;
  cargo a = cargo_new("vector(400,3,5,int)", LADING_MEM_DEVICE, LADING_MEM_DEVICE), b = cargo_new("vector(300,4,7,int)", LADING_MEM_DEVICE, LADING_MEM_DEVICE);
  const lading_mem there = { LADING_MEM_DEVICE, 0 };
  const lading_work w = { .kind = LADING_WORK_COPY, .src_type = a.type, .src_count = 1, .src = a.mem.at, .dst_type = b.type, .dst_count = 1, .dst = b.mem.at,
                          .hi = a.n, .src_mem = there, .dst_mem = there };
  OK(lading_queue_wrap(v.backend, v.stream, &q));
  count_from_here();
  OK(lading_enqueue(q, &w, NULL));
  called("LaunchKernel", 2);
  OK(lading_queue_sync(q));
  ck_assert_int_eq(v.d->begin_capture(v.stream, 0), 0);
  OK(lading_enqueue(q, &w, NULL));
  ck_assert_int_eq(v.d->end_capture(v.stream, &graph), 0);
  ck_assert_int_eq(v.d->instantiate(&exec, graph, 0), 0);
  area_fill(&a.mem, 5), area_fill(&b.mem, 6);
  OK(lading_copy(a.type, 1, a.mem.copy, b.type, 1, b.mem.copy, 0, a.n));
  char *want = memcpy(malloc((size_t)b.mem.n), b.mem.copy, (size_t)b.mem.n);
  ck_assert_int_eq(v.d->graph_launch(exec, v.stream), 0);
  ck_assert_int_eq(v.d->sync(v.stream), 0);
  area_pull(&b.mem);
  ck_assert(!memcmp(want, b.mem.copy, (size_t)b.mem.n));
  ck_assert_int_eq(v.d->exec_free(exec), 0);
  ck_assert_int_eq(v.d->graph_free(graph), 0);
  free(want);
  lading_queue_free(q);
  cargo_free(&a), cargo_free(&b);
  ldg_model_use(NULL);
  ldg_queue_flat_most = most;
  devices_close(&v);
}

START_TEST(packed_then_recorded) { check_recorded(0), check_recorded(ldg_queue_flat_most); }
END_TEST

START_TEST(direct_where_trees_are_cheap) { by_model(0, 1, 1, 1, 0); }
END_TEST
START_TEST(packed_where_trees_are_dear) { by_model(0, 1000000, INT64_C(1000000000000), 2, 1); }
END_TEST
/* A flat way goes word by word, of 4 bytes there, and loops by blocks of 12 and 16. */
START_TEST(packed_where_words_are_dear) {
  ldg_model m = ldg_model_builtin();
  v = devices_open();
  for (int64_t i = 0; i < COUNT_OF(m.kernel) / LDG_MODEL_KERNELS; i++)
    if (i % LDG_MODEL_BLOCKS < 3) m.kernel[LDG_MODEL_HERE * (COUNT_OF(m.kernel) / LDG_MODEL_KERNELS) + i] = 1000000;
  ldg_model_use(&m);
  copied(2, 1);
  ldg_model_use(NULL);
  devices_close(&v);
}
END_TEST
START_TEST(direct_where_both_are_flat) { by_model(ldg_queue_flat_most, 1000000, INT64_C(1000000000000), 1, 0); }
END_TEST

static void by_force(const char *force, bool tables, int64_t launched, int64_t allocated) {
  setenv("LADING_FORCE", force, 1);
  v = devices_open();
  if (!tables) devices_say(&v, strcmp(v.backend, "cuda") ? "fail hipStreamCreateWithFlags 1 2" : "fail cuStreamCreate 1 2"); /* to upload the first */
  copied(launched, allocated);
  devices_close(&v);
}
START_TEST(forced_direct) { by_force("direct", true, 1, 0); }
END_TEST
START_TEST(forced_packed) { by_force("device", true, 2, 1); }
END_TEST
/* Loops need no tables: what has no memory for one, which a recording would need, goes as it would with them. */
START_TEST(packed_without_tables) { by_force("device", false, 2, 1); }
END_TEST

/* The words of each way, and why. */
START_TEST(explained) {
  static const char *const lines[] = { "into memory of the device: device, one kernel", "into pinned memory: ", "one-shot", "staged", "into such a layout elsewhere", ": direct, since" };
  char text[1 << 13];
  v = devices_open();
  lading_type *t = parsed(LISTED);
  ck_assert_int_gt(lading_explain(t, 1000, text, sizeof text), 0);
  for (int64_t i = 0; i < COUNT_OF(lines); i++) ck_assert_msg(strstr(text, lines[i]), "%s is not in %s", lines[i], text);
  lading_type_free(t);
  devices_close(&v);
}
END_TEST

/* ---- members here and there ---- */

static const char *address_of(char *buf, const area *a, int64_t at) { return sprintf(buf, "%lld", (long long)(intptr_t)(a->at + at)), buf; }

enum { PARTS = 5, LONG = 30, ALL = PARTS * LONG };

/* Bytes at absolute addresses in memory of every kind, in that order. */
typedef struct scattered { area part[PARTS]; lading_type *type; } scattered;

static scattered scattered_new(const lading_memkind *kinds, int salt) {
  scattered s;
  char text[400], at[PARTS][24];
  for (int i = 0; i < PARTS; i++) s.part[i] = area_new(&v, kinds[i], 64), area_fill(&s.part[i], (uint64_t)(salt + i)), address_of(at[i], &s.part[i], i);
  snprintf(text, sizeof text, "hindexed([%d,%d,%d,%d,%d],[%s,%s,%s,%s,%s],byte)", LONG, LONG, LONG, LONG, LONG, at[0], at[1], at[2], at[3], at[4]);
  s.type = parsed(text);
  return s;
}
static void scattered_read(scattered *s, char *out) {
  for (int i = 0; i < PARTS; i++) area_pull(&s->part[i]), memcpy(out + LONG * i, s->part[i].copy + i, LONG);
}
static void scattered_free(scattered *s) {
  for (int i = 0; i < PARTS; i++) area_free(&s->part[i]);
  lading_type_free(s->type);
}

static void run(lading_work w) {
  OK(lading_enqueue(v.q, &w, NULL));
  OK(lading_queue_sync(v.q));
}

START_TEST(members_of_several_kinds) {
  static const lading_memkind kinds[] = { LADING_MEM_DEVICE, LADING_MEM_HOST, LADING_MEM_MANAGED, LADING_MEM_HOST, LADING_MEM_PINNED },
                              others[] = { LADING_MEM_HOST, LADING_MEM_MANAGED, LADING_MEM_PINNED, LADING_MEM_DEVICE, LADING_MEM_DEVICE };
  v = devices_open();
  scattered s = scattered_new(kinds, 0), d = scattered_new(others, PARTS);
  area packed = area_new(&v, LADING_MEM_DEVICE, ALL);
  char want[ALL], got[ALL];
  scattered_read(&s, want);
  for (int64_t lo = 0; lo <= ALL; lo += 17)
    for (int64_t hi = lo; hi <= ALL; hi += 13) {
      run((lading_work){ .kind = LADING_WORK_PACK, .src_type = s.type, .src_count = 1, .dst = packed.at, .lo = lo, .hi = hi });
      area_pull(&packed);
      ck_assert(!memcmp(packed.copy, want + lo, (size_t)(hi - lo)));
    }
  run((lading_work){ .kind = LADING_WORK_COPY, .src_type = s.type, .src_count = 1, .dst_type = d.type, .dst_count = 1, .hi = ALL });
  scattered_read(&d, got);
  ck_assert(!memcmp(got, want, ALL));
  area_fill(&packed, 9);
  run((lading_work){ .kind = LADING_WORK_UNPACK, .dst_type = s.type, .dst_count = 1, .src = packed.at, .hi = ALL });
  scattered_read(&s, got);
  ck_assert(!memcmp(got, packed.copy, ALL));
  scattered_free(&s), scattered_free(&d);
  area_free(&packed);
  devices_close(&v);
}
END_TEST

/* Two integers are added whose bytes lie in three places: one that would be cut where the kind of memory changes is refused, and none is added. */
static void add_pieces(const int *len, const lading_memkind *kind, int result) {
  char text[200], at[3][24];
  int32_t from[2], to[2], got[2];
  int64_t n = 0;
  area part[3], d = area_new(&v, LADING_MEM_DEVICE, sizeof to);
  area_fill(&d, 7);
  for (int i = 0; i < 3; n += len[i++]) {
    part[i] = area_new(&v, kind[i], 8), area_fill(&part[i], (uint64_t)i), address_of(at[i], &part[i], 0);
    memcpy((char *)from + n, part[i].copy, (size_t)len[i]);
  }
  snprintf(text, sizeof text, "hindexed([%d,%d,%d],[%s,%s,%s],byte)", len[0], len[1], len[2], at[0], at[1], at[2]);
  lading_type *t = parsed(text);
  const lading_work w = { .kind = LADING_WORK_COPY, .op = LADING_SUM, .src_type = t, .src_count = 1, .dst_type = lading_elem_type(LADING_INT32), .dst_count = 2,
                          .dst = d.at, .hi = sizeof to };
  memcpy(to, d.copy, sizeof to);
  ck_assert_int_eq(lading_enqueue(v.q, &w, NULL), result);
  OK(lading_queue_sync(v.q));
  for (int i = 0; !result && i < 2; i++) to[i] = (int32_t)((uint32_t)to[i] + (uint32_t)from[i]);
  area_pull(&d);
  memcpy(got, d.copy, sizeof got);
  ck_assert_mem_eq(got, to, sizeof to);
  for (int i = 0; i < 3; i++) area_free(&part[i]);
  area_free(&d);
  lading_type_free(t);
}

START_TEST(elements_in_pieces) {
  static const struct { int len[3]; lading_memkind kind[3]; int result; } rows[] = {
    { { 3, 1, 4 }, { LADING_MEM_DEVICE, LADING_MEM_DEVICE, LADING_MEM_HOST }, LADING_OK },
    { { 4, 3, 1 }, { LADING_MEM_HOST, LADING_MEM_PINNED, LADING_MEM_PINNED }, LADING_OK },
    { { 3, 5, 0 }, { LADING_MEM_DEVICE, LADING_MEM_HOST, LADING_MEM_HOST }, LADING_ERR_UNSUPPORTED },
    { { 5, 3, 0 }, { LADING_MEM_HOST, LADING_MEM_PINNED, LADING_MEM_HOST }, LADING_ERR_UNSUPPORTED },
    { { 4, 3, 1 }, { LADING_MEM_DEVICE, LADING_MEM_HOST, LADING_MEM_PINNED }, LADING_ERR_UNSUPPORTED },
    { { 3, 4, 1 }, { LADING_MEM_PINNED, LADING_MEM_PINNED, LADING_MEM_DEVICE }, LADING_ERR_UNSUPPORTED },
  };
  v = devices_open();
  for (int64_t i = 0; i < COUNT_OF(rows); i++) add_pieces(rows[i].len, rows[i].kind, rows[i].result);
  devices_close(&v);
}
END_TEST

int main(int argc, char **argv) {
  if (!devices_there()) return 77;
  return CHECK_MAIN("queue_memory", argc, argv, tables_come_and_go, room_when_there_is_none, both_tables_of_a_copy, gone_with_host_under_way, room_with_host_under_way,
                    kinds_without_a_context, kinds_without_any_context, one_shot, staged, scratch_of_one_pool, scratch_without_a_pool, scratch_of_a_pool_that_keeps_nothing, scratch_of_one_pool_for_threads,
                    scratch_when_there_is_none,
                    staged_where_engines_change_fast, one_shot_where_they_do_not, direct_where_trees_are_cheap, packed_where_trees_are_dear, packed_where_words_are_dear, direct_where_both_are_flat, forced_direct, forced_packed, packed_without_tables,
                    packed_then_recorded,
                    explained, members_of_several_kinds, elements_in_pieces);
}
