/* batch_device: fused launches, through the stand-in driver or a real one: the bytes, the number of calls, errors, capture. What only
 * the stand-in can do (fail, lose its device, count) is skipped on a real one. Meant to run under the thread sanitizer too. */
#include "batch.h"
#include "../backends/device/site.h"
#include "batch_device.h"
#include "queue.h"

static const call syncs = { "cuStreamSynchronize", "hipStreamSynchronize" }, copies = { "cuMemcpyAsync", "hipMemcpyAsync" }, event_queries = { "cuEventQuery", "hipEventQuery" },
                  stream_queries = { "cuStreamQuery", "hipStreamQuery" }, pinned = { "cuMemHostAlloc", "hipHostMalloc" },
                  allocations = { "cuMemAlloc", "hipMalloc" };

/* ---- the same bytes as one after the other ---- */

static char *stage, *shadow;

static void store(const arena *a, const char *from) {
  memcpy(stage, from, ARENA);
  OK(d->to_device(a->at, stage, ARENA, NULL));
  OK(d->sync(NULL));
}

static void fetch(const arena *a, char *to) {
  OK(d->to_host(stage, a->at, ARENA, NULL));
  OK(d->sync(NULL));
  memcpy(to, stage, ARENA);
}

static void store_here(const arena *a, const char *from) { memcpy(a->at, from, ARENA); }
static void fetch_here(const arena *a, char *to) { memcpy(to, a->at, ARENA); }

/* The stand-in takes about a millisecond for a tile, more with threads for threads: there is less to do then. */
enum { ROUNDS = TEST_TSAN ? 1 : 3, WORKS = TEST_TSAN ? 10 : 30 };

/* Small layouts by the places of their words, by one side's, and by trees. */
static void bytes_of(lading_queue *q, const arena *a, int64_t salt) {
  const lading_batch_attr attrs[] = { { 0 }, { .slots = 8 }, { .slots = 256, .policy = LADING_BATCH_MANUAL } };
  const int64_t most = ldg_queue_flat_most, flat[COUNT_OF(attrs)] = { most, 64, 0 };
  for (int64_t i = 0; i < COUNT_OF(attrs); i++) {
    ldg_queue_flat_most = flat[i];
    lading_batch *b = batch_of(q, &attrs[i]);
    same_as_in_turn(b, a, salt + i);
    lading_batch_free(b);
  }
  ldg_queue_flat_most = most;
}

START_TEST(bytes_on_the_device) {
  lading_queue *q = device_begin("shuffle 5");
  stage = pinned_memory(ARENA), shadow = pinned_memory(ARENA);
  char *at = device_memory(ARENA), *near = pinned_memory(ARENA), *host = malloc(ARENA);
  bytes_of(q, &(arena){ at, shadow, store, fetch, { LADING_MEM_DEVICE, 0 }, ROUNDS, WORKS }, 1);
  bytes_of(q, &(arena){ at, shadow, store, fetch, { LADING_MEM_UNKNOWN, 0 }, 1, WORKS }, 10);
  bytes_of(q, &(arena){ near, shadow, store_here, fetch_here, { LADING_MEM_PINNED, 0 }, ROUNDS, WORKS }, 20);
  bytes_of(q, &(arena){ host, shadow, store_here, fetch_here, { LADING_MEM_UNKNOWN, 0 }, 2, WORKS }, 30);
  OK(d->free(at));
  OK(d->free_pinned(near));
  OK(d->free_pinned(stage));
  OK(d->free_pinned(shadow));
  free(host);
  device_end(q);
}
END_TEST

/* ---- many works of other types at once ---- */

enum { MANY = 32, EACH = 4096 };
typedef struct many { lading_type *type[MANY]; char *from, *to, *back; lading_work work[MANY]; int64_t size[MANY], shift[MANY]; } many;

/* Vectors and lists of other widths; every third one is a sum. */
static many *many_works(void) {
  many *m = calloc(1, sizeof *m);
  m->from = device_memory(MANY * EACH), m->to = device_memory(MANY * EACH), m->back = pinned_memory(2 * MANY * EACH);
  const int64_t at[5] = { 0, 3, 4, 9, 17 };
  for (int i = 0; i < MANY; i++) {
    const lading_type *e = lading_elem_type(i % 2 ? LADING_INT32 : LADING_INT64);
    if (i % 4 < 2) OK(lading_type_vector(10 + i, 1 + i % 3, 4, e, &m->type[i]));
    else OK(lading_type_indexed_block(5, 2, at, e, &m->type[i]));
    lading_type_size(m->type[i], &m->size[i]);
    m->work[i] = (lading_work){ .kind = LADING_WORK_PACK, .op = i % 3 ? LADING_REPLACE : LADING_SUM, .src_type = m->type[i], .src_count = 1,
                                .src = m->from + i * EACH, .dst = m->to + i * EACH, .hi = m->size[i],
                                .src_mem = { LADING_MEM_DEVICE, 0 }, .dst_mem = { LADING_MEM_DEVICE, 0 } };
  }
  return m;
}

static void fill(many *m) {
  for (int64_t k = 0; k < 2 * MANY * EACH; k++) m->back[k] = (char)(k * 7 + k / EACH);
  OK(d->to_device(m->from, m->back, MANY * EACH, NULL));
  OK(d->to_device(m->to, m->back + MANY * EACH, MANY * EACH, NULL));
  OK(d->sync(NULL));
}

/* All like the first one, in other buffers; words of the same width do not always fit. */
static void make_alike(many *m) {
  for (int i = 1; i < MANY; i++) {
    lading_type_free(m->type[i]);
    m->type[i] = lading_type_ref(m->type[0]), m->size[i] = m->size[0];
    m->work[i] = m->work[0];
    m->work[i].src_type = m->type[i];
    m->work[i].src = m->from + i * EACH, m->work[i].dst = m->to + i * EACH;
    m->shift[i] = i % 4 < 2 ? 0 : i % 4 == 2 ? 8 : 4;
    m->work[i].src = (const char *)m->work[i].src + m->shift[i];
  }
}

/* As packed on the host, `times` times. */
static void check(many *m, int times) {
  char *want = malloc(MANY * EACH), *got = m->back + MANY * EACH;
  memcpy(want, got, MANY * EACH);
  for (int t = 0; t < times; t++)
    for (int i = 0; i < MANY; i++) OK(lading_pack_op(m->type[i], 1, m->back + i * EACH + m->shift[i], want + i * EACH, 0, m->size[i], m->work[i].op));
  OK(d->to_host(got, m->to, MANY * EACH, NULL));
  OK(d->sync(NULL));
  ck_assert(memcmp(want, got, MANY * EACH) == 0);
  free(want);
}

static void many_forget(many *m) {
  for (int i = 0; i < MANY; i++) lading_type_free(m->type[i]);
  free(m);
}

static void many_free(many *m) {
  OK(d->free(m->from));
  OK(d->free(m->to));
  OK(d->free_pinned(m->back));
  many_forget(m);
}

START_TEST(one_launch) {
  lading_queue *q = device_begin("");
  many *m = many_works();
  lading_batch *b = batch_of(q, &by_hand);
  lading_request r[MANY];
  for (int turn = 0; turn < 3; turn++) {
    if (turn == 2) make_alike(m);
    fill(m);
    tell("reset");
    for (int i = 0; i < MANY; i++) r[i] = added(b, &m->work[i]);
    OK(lading_batch_flush(b));
    if (d->fake) ck_assert_int_eq(counted(launches), 1);
    if (d->fake && turn) ck_assert_int_eq(counted(copies), 1); /* lists have tables, at first use */
    for (int i = 0; i < MANY; i++) OK(lading_batch_wait(b, r[i]));
    check(m, 1);
  }
  ck_assert_int_eq(counts_of(b).launches, 3);
  ck_assert_int_eq(counts_of(b).alone, 0);
  lading_batch_free(b);
  many_free(m);
  device_end(q);
}
END_TEST

/* Done before its turn is over: nothing is known but by the words, and they are late. */
START_TEST(late_words) {
  lading_queue *q = device_begin("patience -1");
  if (!d->fake) return device_end(q);
  many *m = many_works();
  lading_batch *b = batch_of(q, &by_hand);
  bool done = true;
  lading_request r = 0;
  fill(m);
  for (int i = 0; i < MANY; i++) r = added(b, &m->work[i]);
  OK(lading_batch_flush(b));
  OK(lading_batch_test(b, r, &done));
  ck_assert(!done);
  OK(lading_queue_sync(q));
  OK(lading_batch_test(b, r, &done));
  ck_assert(done);
  check(m, 1);
  lading_batch_free(b);
  many_free(m);
  device_end(q);
}
END_TEST

/* Alone it would be a kernel of its own; here it is one of two. */
START_TEST(transposes) {
  enum { SIDE = 16, BYTES = SIDE * SIDE * 8 };
  lading_queue *q = device_begin("");
  char *at = device_memory(4 * BYTES), *host = pinned_memory(4 * BYTES), want[BYTES];
  lading_batch *b = batch_of(q, &by_hand);
  lading_type *column, *columns, *all;
  OK(lading_type_vector(SIDE, 1, SIDE, lading_elem_type(LADING_DOUBLE), &column));
  OK(lading_type_resized(column, 0, 8, &columns));
  OK(lading_type_contiguous(SIDE, columns, &all));
  for (int i = 0; i < 4 * BYTES; i++) host[i] = (char)(i * 5 + i / 256);
  OK(d->to_device(at, host, 4 * BYTES, NULL));
  OK(d->sync(NULL));
  lading_request r[2];
  for (int i = 0; i < 2; i++) {
    const lading_mem there = { LADING_MEM_DEVICE, 0 };
    const lading_work w = { .kind = LADING_WORK_PACK, .src_type = all, .src_count = 1, .src = at + i * BYTES, .dst = at + (2 + i) * BYTES, .hi = BYTES,
                            .src_mem = there, .dst_mem = there };
    r[i] = added(b, &w);
  }
  for (int i = 0; i < 2; i++) OK(lading_batch_wait(b, r[i]));
  OK(d->to_host(host + 2 * BYTES, at + 2 * BYTES, 2 * BYTES, NULL));
  OK(d->sync(NULL));
  for (int i = 0; i < 2; i++) {
    OK(lading_pack(all, 1, host + i * BYTES, want, 0, BYTES));
    ck_assert(memcmp(want, host + (2 + i) * BYTES, BYTES) == 0);
  }
  lading_type_free(column);
  lading_type_free(columns);
  lading_type_free(all);
  lading_batch_free(b);
  OK(d->free(at));
  OK(d->free_pinned(host));
  device_end(q);
}
END_TEST

/* ---- more than there are pages ---- */

START_TEST(many_small_launches) {
  lading_queue *q = device_begin("patience -1");
  if (!d->fake) return device_end(q);
  many *m = many_works();
  lading_batch *b = batch_of(q, &(lading_batch_attr){ .slots = 64, .policy = LADING_BATCH_MANUAL });
  lading_request r[MANY];
  fill(m);
  for (int i = 0; i < MANY; i++) r[i] = added(b, &m->work[i]), lading_batch_flush(b);
  for (int i = MANY - 1; i >= 0; i--) OK(lading_batch_wait(b, r[i]));
  check(m, 1);
  lading_batch_free(b);
  many_free(m);
  device_end(q);
}
END_TEST

/* Ids that pass 2^32 in a ring that is passed many times: kernels write all of their bits. */
START_TEST(ids_beyond_32_bits) {
  enum { SLOTS = 8, ALL = 6 * SLOTS };
  const uint64_t first = (UINT64_C(1) << 32) - 2 * SLOTS;
  lading_queue *q = device_begin("");
  lading_batch *b = batch_of(q, &(lading_batch_attr){ .slots = SLOTS, .policy = LADING_BATCH_MANUAL });
  char *at = device_memory(4 + 4 * ALL);
  int32_t *host = (int32_t *)pinned_memory(4 + 4 * ALL);
  for (int i = 0; i <= ALL; i++) host[i] = i;
  OK(d->to_device(at, host, 4 + 4 * ALL, NULL));
  OK(d->sync(NULL));
  ldg_batch_begin_at(b, first);
  for (int i = 0; i < ALL; i++) {
    const lading_work w = sum_of(at + 4 + 4 * i, at);
    bool done = true;
    const lading_request r = added(b, &w);
    ck_assert_uint_eq(r, first + (uint64_t)i);
    OK(lading_batch_test(b, r, &done));
    ck_assert(!done);
    if (i % 3 == 2) OK(lading_batch_wait(b, r));
  }
  OK(lading_batch_wait(b, first + ALL - 1));
  OK(d->to_host(host, at, 4, NULL));
  OK(d->sync(NULL));
  ck_assert_int_eq(host[0], ALL * (ALL + 1) / 2);
  lading_batch_free(b);
  OK(d->free(at));
  OK(d->free_pinned(host));
  device_end(q);
}
END_TEST

/* ---- errors ---- */

START_TEST(launch_fails) {
  lading_queue *q = device_begin("");
  if (!d->fake) return device_end(q);
  many *m = many_works();
  lading_batch *b = batch_of(q, &by_hand);
  lading_request r[MANY];
  fill(m);
  for (int turn = 0; turn < 2; turn++) { /* the second with all tables there */
    const int64_t before = counted(syncs);
    for (int i = 0; i < MANY; i++) r[i] = added(b, &m->work[i]);
    OK(tell_of("fail", launches, " 1 701"));
    OK(lading_batch_flush(b));
    if (turn) ck_assert_int_eq(counted(syncs) - before, 1); /* for the page, which was on its way and is written again */
    for (int i = 0; i < MANY; i++) ck_assert_int_eq(lading_batch_wait(b, r[i]), LADING_ERR_DEVICE);
  }
  for (int i = 0; i < MANY; i++) r[i] = added(b, &m->work[i]);
  for (int i = 0; i < MANY; i++) OK(lading_batch_wait(b, r[i]));
  check(m, 1);
  ck_assert_int_eq(counts_of(b).failed, 2 * MANY);
  lading_batch_free(b);
  many_free(m);
  device_end(q);
}
END_TEST

/* A query that fails says nothing of the device: somebody else may be recording. */
START_TEST(queries_fail) {
  lading_queue *q = device_begin("patience -1");
  if (!d->fake) return device_end(q);
  const lading_type *t = lading_elem_type(LADING_INT32);
  lading_type *same;
  int32_t *host = (int32_t *)pinned_memory(32), back = 0;
  char *at = device_memory(32);
  lading_batch *b = batch_of(q, &by_hand);
  OK(lading_type_hvector(4, 1, 0, t, &same)); /* destinations that coincide: alone */
  const lading_mem there = { LADING_MEM_DEVICE, 0 };
  const lading_work w = { .kind = LADING_WORK_UNPACK, .dst_type = same, .dst_count = 1, .src = at, .dst = at + 16, .hi = 16, .src_mem = there, .dst_mem = there };
  for (int i = 0; i < 8; i++) host[i] = i + 1;
  OK(d->to_device(at, host, 32, NULL));
  OK(d->sync(NULL));
  const lading_request r = added(b, &w);
  OK(lading_batch_flush(b));
  OK(tell_of("fail", event_queries, " 1 900"));
  OK(tell_of("fail", stream_queries, " 1 900"));
  bool done = true;
  OK(lading_batch_test(b, r, &done));
  OK(lading_batch_wait(b, r));
  OK(d->to_host(&host[7], at + 16, 4, NULL));
  OK(d->sync(NULL));
  back = host[7];
  ck_assert_int_eq(back, 4);
  ck_assert_int_eq(counts_of(b).failed, 0);
  ck_assert_int_eq(counts_of(b).alone, 1);
  lading_batch_free(b);
  lading_type_free(same);
  OK(d->free(at));
  OK(d->free_pinned(host));
  device_end(q);
}
END_TEST

/* The kernel ends badly, or the device goes: every request gets an error, and nobody waits forever. */
static void lost_by(const char *how) {
  lading_queue *q = device_begin("");
  if (!d->fake) return device_end(q);
  many *m = many_works();
  lading_batch *b = batch_of(q, &by_hand);
  lading_request r[2 * MANY];
  fill(m);
  for (int i = 0; i < MANY; i++) r[i] = added(b, &m->work[i]);
  for (int i = 0; i < MANY; i++) OK(lading_batch_wait(b, r[i]));
  tell("patience -1");
  for (int i = 0; i < 2 * MANY; i++) {
    r[i] = added(b, &m->work[i % MANY]);
    if (i != MANY / 2) continue;
    OK(lading_batch_flush(b));
    tell(how);
  }
  for (int i = 0; i < 2 * MANY; i++) ck_assert_int_eq(lading_batch_wait(b, r[i]), LADING_ERR_DEVICE);
  ck_assert_int_eq(lading_batch_wait(b, added(b, &m->work[0])), LADING_ERR_DEVICE);
  lading_batch_free(b);
  lading_queue_free(q);
  many_forget(m); /* its memory went with the device */
  tell("forgive");
}

START_TEST(device_is_lost) { lost_by("lost 719"); }
END_TEST
START_TEST(kernel_fails) { lost_by("kernel-fail 1 700"); }
END_TEST

START_TEST(no_memory_there) {
  lading_queue *q = device_begin("");
  if (!d->fake) return device_end(q);
  lading_batch *b = NULL;
  OK(tell_of("fail", pinned, " 1 2"));
  ck_assert_int_eq(lading_batch_create(q, NULL, &b), LADING_ERR_NOMEM);
  OK(tell_of("fail", allocations, " 1 2"));
  ck_assert_int_eq(lading_batch_create(q, NULL, &b), LADING_ERR_NOMEM);
  ck_assert_ptr_null(b);
  device_end(q);
}
END_TEST

/* ---- here, when the device has nothing to do ---- */

START_TEST(small_ones_run_here) {
  lading_queue *q = device_begin("");
  if (!d->fake) return device_end(q);
  char *a = pinned_memory(64);
  lading_batch *b = batch_of(q, &by_hand);
  lading_work w = byte_copy(a, a + 1);
  w.src_mem.kind = w.dst_mem.kind = LADING_MEM_PINNED;
  a[0] = 42, a[1] = 0;
  tell("reset");
  OK(lading_batch_wait(b, added(b, &w)));
  ck_assert_int_eq(a[1], 42);
  ck_assert_int_eq(counted(launches), 0);
  lading_batch_free(b);
  OK(d->free_pinned(a));
  device_end(q);
}
END_TEST

/* ---- recorded into a graph ---- */

/* Works, and a stream that may be recorded, with a queue for it. */
static many *recorder_open(void **s, lading_queue **q) {
  lading_queue_free(device_begin(""));
  driver_enter(d, 0);
  OK(d->stream(s, 1));
  OK(lading_queue_wrap(backend, *s, q));
  return many_works();
}
static void recorder_close(lading_batch *b, lading_queue *q, void *s, many *m) {
  lading_batch_free(b);
  lading_queue_free(q);
  OK(d->stream_free(s));
  many_free(m);
  driver_leave(d, 0);
  driver_leave(d, 0);
  ck_assert_int_eq(tell("faults"), 0);
}

START_TEST(recorded) {
  lading_queue *q;
  void *s, *graph, *exec;
  many *m = recorder_open(&s, &q);
  lading_batch *b = batch_of(q, &(lading_batch_attr){ .slots = 64, .policy = LADING_BATCH_MANUAL });
  for (int i = 0; i < MANY; i++) added(b, &m->work[i]); /* tables of lists are made at first use */
  OK(lading_batch_flush(b));
  OK(lading_queue_sync(q));
  fill(m);
  OK(d->begin_capture(s, 0));
  lading_request r[MANY];
  for (int i = 0; i < MANY; i++) {
    r[i] = added(b, &m->work[i]);
    if (i < 4 || i == 8 || i == MANY - 1) OK(lading_batch_flush(b)); /* some by themselves, five, and the rest by a page */
  }
  for (int i = 0; i < MANY; i++) OK(lading_batch_wait(b, r[i])); /* with the recording */
  OK(d->end_capture(s, &graph));
  OK(d->instantiate(&exec, graph, 0));
  lading_work again = m->work[1];
  lading_request last = 0;
  bool done = true;
  for (int turn = 1; turn <= 3; turn++) {
    OK(d->graph_launch(exec, s));
    OK(d->sync(s));
    if (last) OK(lading_batch_test(b, last, &done));
    ck_assert(done); /* its slot is one of those that were recorded: what runs again says nothing of it */
    for (int i = 0; i < 40; i++) { /* other launches of the batch in between */
      last = added(b, &again);
      OK(lading_batch_wait(b, last));
    }
  }
  OK(d->sync(s));
  check(m, 3);
  OK(d->exec_free(exec));
  OK(d->graph_free(graph));
  recorder_close(b, q, s, m);
}
END_TEST

/* A launch by a page fails while the stream is recorded: nobody waits for that, which would break the recording. */
START_TEST(recorded_launch_fails) {
  lading_queue *q;
  void *s, *graph;
  many *m = recorder_open(&s, &q);
  lading_batch *b = batch_of(q, &(lading_batch_attr){ .slots = 64, .policy = LADING_BATCH_MANUAL });
  lading_request r[MANY];
  for (int i = 0; i < MANY; i++) added(b, &m->work[i]); /* tables, as above */
  OK(lading_batch_flush(b));
  OK(lading_queue_sync(q));
  OK(d->begin_capture(s, 0));
  const int64_t before = counted(syncs);
  for (int i = 0; i < MANY; i++) r[i] = added(b, &m->work[i]);
  if (d->fake) OK(tell_of("fail", launches, " 1 701"));
  OK(lading_batch_flush(b));
  for (int i = 0; i < MANY; i++) ck_assert_int_eq(lading_batch_wait(b, r[i]), d->fake ? LADING_ERR_DEVICE : LADING_OK);
  if (d->fake) ck_assert_int_eq(counted(syncs) - before, 0);
  OK(d->end_capture(s, &graph));
  OK(d->graph_free(graph));
  recorder_close(b, q, s, m);
}
END_TEST

/* What waits when a recording begins is not started into it by a look, however old it is: it would not run. */
START_TEST(waits_for_the_recording) {
  lading_queue *q;
  void *s, *graph;
  many *m = recorder_open(&s, &q);
  fill(m);
  lading_batch *b = batch_of(q, &(lading_batch_attr){ .max_age_ns = 1 });
  bool done = true;
  OK(lading_batch_wait(b, added(b, &m->work[1])));
  OK(d->begin_capture(s, 0));
  const lading_request r = added(b, &m->work[2]);
  OK(lading_batch_test(b, r, &done));
  ck_assert(!done);
  ck_assert_int_eq(counts_of(b).waiting, 1);
  OK(d->end_capture(s, &graph));
  OK(lading_batch_test(b, r, &done));
  ck_assert_int_eq(counts_of(b).by_age, 1);
  OK(lading_batch_wait(b, r));
  for (int i = 0; i < MANY; i++) m->size[i] = i == 1 || i == 2 ? m->size[i] : 0;
  check(m, 1);
  OK(d->graph_free(graph));
  recorder_close(b, q, s, m);
}
END_TEST

/* Lists that are freed once they were added, with room for one of their tables: what waits keeps its type, what is launched its table. */
START_TEST(types_freed_in_flight) {
  enum { LISTS = 40, EVERY = 1024, ALL = 2 * LISTS * EVERY };
  lading_queue *q = device_begin("patience -1");
  lading_batch *b = batch_of(q, &by_hand);
  char *at = device_memory(ALL), *host = pinned_memory(ALL), *want = malloc(ALL);
  ldg_lane *lane;
  lading_request r[LISTS];
  OK(ldg_queue_device_of(backend)->create(ldg_queue_device_of(backend), 0, &lane));
  ldg_site_tables(lane, 1);
  for (int i = 0; i < ALL; i++) host[i] = want[i] = (char)(i * 3 + i / EVERY);
  OK(d->to_device(at, host, ALL, NULL));
  OK(d->sync(NULL));
  for (int i = 0; i < LISTS; i++) {
    const lading_mem there = { LADING_MEM_DEVICE, 0 };
    const int64_t list[4] = { 9, 0, 20 + i, 5 };
    lading_type *t;
    OK(lading_type_indexed_block(4, 2, list, lading_elem_type(LADING_INT32), &t));
    const lading_work w = { .kind = LADING_WORK_PACK, .src_type = t, .src_count = 2, .src = at + i * EVERY, .dst = at + (LISTS + i) * EVERY, .hi = 64,
                            .src_mem = there, .dst_mem = there };
    r[i] = added(b, &w), in_turn(&w, want - at);
    lading_type_free(t);
    if (i % 15 == 14) OK(lading_batch_flush(b));
  }
  for (int i = LISTS - 1; i >= 0; i--) OK(lading_batch_wait(b, r[i]));
  OK(d->to_host(host, at, ALL, NULL));
  OK(d->sync(NULL));
  ck_assert(memcmp(host, want, ALL) == 0);
  ck_assert_int_eq(counts_of(b).launches, 3);
  lading_batch_free(b);
  ldg_queue_device_of(backend)->destroy(lane);
  OK(d->free(at));
  OK(d->free_pinned(host));
  free(want);
  device_end(q);
}
END_TEST

/* ---- words of every width, in requests of several tiles that end anywhere ---- */

START_TEST(tiles_of_all_words) {
  enum { WORDS = 5, KINDS = 3, EVERY = 64 << 10, ALL = 2 * WORDS * KINDS * EVERY };
  static const lading_elem elem[WORDS] = { LADING_INT8, LADING_INT16, LADING_INT32, LADING_INT64, LADING_C_DOUBLE };
  lading_queue *q = device_begin("shuffle 3");
  lading_batch *b = batch_of(q, &by_hand);
  char *at = device_memory(ALL), *host = pinned_memory(ALL), *want = malloc(ALL);
  lading_request r[WORDS * KINDS];
  for (int i = 0; i < ALL; i++) host[i] = want[i] = (char)(i * 11 + i / 4096);
  OK(d->to_device(at, host, ALL, NULL));
  OK(d->sync(NULL));
  for (int i = 0; i < WORDS * KINDS; i++) { /* a nest, a sum, a list */
    const int64_t word = 1 << i % WORDS, n = 18000 / word + 1, list[3] = { 0, n / 2 + 3, n + 7 };
    const lading_type *e = lading_elem_type(elem[i % WORDS]);
    const lading_mem there = { LADING_MEM_DEVICE, 0 };
    lading_type *t;
    if (i / WORDS < 2) OK(lading_type_vector(n, 1, 2, e, &t));
    else OK(lading_type_indexed_block(3, n / 3, list, e, &t));
    lading_work w = { .kind = LADING_WORK_PACK, .op = i / WORDS == 1 ? LADING_SUM : LADING_REPLACE, .src_type = t, .src_count = 1, .src = at + i * EVERY,
                      .dst = at + ALL / 2 + i * EVERY, .src_mem = there, .dst_mem = there };
    lading_type_size(t, &w.hi);
    r[i] = added(b, &w), in_turn(&w, want - at);
    lading_type_free(t);
  }
  for (int i = 0; i < WORDS * KINDS; i++) OK(lading_batch_wait(b, r[i]));
  ck_assert_int_eq(counts_of(b).launches, 1);
  OK(d->to_host(host, at, ALL, NULL));
  OK(d->sync(NULL));
  ck_assert(memcmp(host, want, ALL) == 0);
  lading_batch_free(b);
  OK(d->free(at));
  OK(d->free_pinned(host));
  free(want);
  device_end(q);
}
END_TEST

BATCH_DEVICE_MAIN("batch_device", bytes_on_the_device, one_launch, transposes, late_words, many_small_launches, ids_beyond_32_bits, launch_fails, device_is_lost,
                  kernel_fails, queries_fail, no_memory_there, small_ones_run_here, recorded, recorded_launch_fails, waits_for_the_recording, types_freed_in_flight, tiles_of_all_words)
