/* queue: requests, order, what a call costs in calls of the driver, graphs, failures. Some of it asks the stand-in driver, and does
 * nothing with a real one. */
#include "cargos.h"
#include "queue.h"

#include <pthread.h>

/* ---- what a call costs ---- */

START_TEST(one_launch_and_nothing_else) {
  v = devices_open();
  cargo c = cargo_new(STRIDED, LADING_MEM_DEVICE, LADING_MEM_DEVICE);
  lading_work w = pack_work(&c);
  OK(lading_enqueue(v.q, &w, NULL));
  OK(lading_queue_sync(v.q));
  count_from_here();
  OK(lading_enqueue(v.q, &w, NULL));
  called("LaunchKernel", 1), called("CtxPushCurrent", 1), called("CtxPopCurrent", 1), called("", 3);
  check_packed(&c);
  cargo_free(&c);
  devices_close(&v);
}
END_TEST

START_TEST(a_table_is_made_once) {
  v = devices_open();
  cargo c = cargo_new(LISTED, LADING_MEM_DEVICE, LADING_MEM_DEVICE);
  lading_type *same = parsed("hindexed([8,4,12],[20,0,36],byte)");
  lading_work w = pack_work(&c);
  OK(lading_enqueue(v.q, &w, NULL));
  count_from_here();
  w.src_type = same;
  OK(lading_enqueue(v.q, &w, NULL));
  called("MemAlloc", 0), called("MemcpyAsync", 0), called("LaunchKernel", 1), called("PointerGetAttributes", 0);
  OK(lading_queue_sync(v.q));
  check_packed(&c);
  lading_type_free(same);
  cargo_free(&c);
  devices_close(&v);
}
END_TEST

/* Ranges of a transpose: whole iterations in squares, in a launch of their own; the ends in another one. With the outermost stride odd,
 * iterations begin at addresses of every kind, and words are bytes. */
static void check_squares(const char *type, int64_t lo, int64_t hi, int64_t launches) {
  cargo c = cargo_new(type, LADING_MEM_DEVICE, LADING_MEM_DEVICE);
  char *want = malloc((size_t)c.mem.n);
  lading_work w = pack_work(&c);
  w.lo = lo, w.hi = c.n - hi;
  count_from_here();
  OK(lading_enqueue(v.q, &w, NULL));
  called("LaunchKernel", launches);
  OK(lading_pack(c.type, 1, c.mem.copy, want, w.lo, w.hi));
  area_pull(&c.packed); /* has other bytes behind the range */
  OK(lading_queue_sync(v.q));
  memcpy(want + (w.hi - w.lo), c.packed.copy + (w.hi - w.lo), (size_t)(lo + hi));
  area_pull(&c.packed);
  ck_assert(!memcmp(want, c.packed.copy, (size_t)c.n));
  memcpy(want, c.mem.copy, (size_t)c.mem.n);
  area_fill(&c.packed, 7);
  OK(lading_unpack(c.type, 1, want, c.packed.copy, w.lo, w.hi));
  w = (lading_work){ .kind = LADING_WORK_UNPACK, .dst_type = c.type, .dst_count = 1, .dst = c.mem.at, .src = c.packed.at, .lo = w.lo, .hi = w.hi,
                     .src_mem = w.dst_mem, .dst_mem = w.src_mem };
  OK(lading_enqueue(v.q, &w, NULL));
  OK(lading_queue_sync(v.q));
  area_pull(&c.mem);
  ck_assert(!memcmp(want, c.mem.copy, (size_t)c.mem.n));
  free(want);
  cargo_free(&c);
}

START_TEST(ranges_of_transposes) {
  static const char flat[] = "(repeat 500 8 (repeat 400 4000 (bytes 8)))", deep[] = "(repeat 5 513600 (repeat 160 8 (repeat 400 1280 (bytes 8))))",
                    odd[] = "(repeat 5 513601 (repeat 160 8 (repeat 400 1280 (bytes 8))))";
  v = devices_open();
  if (!TEST_TSAN) { /* where each thread of a block is one for it, and barriers order them all */
    check_squares(flat, 12344, 6789, 2);
    check_squares(flat, 3200, 3200, 1);   /* whole iterations */
    check_squares(flat, 700000, 0, 1);    /* too little is left of it */
    check_squares(flat, 12345, 0, 1);     /* words that are bytes: the packed side begins inside of one */
    check_squares(deep, 8, 7, 2), check_squares(odd, 512000, 1, 1);
  }
  devices_close(&v);
}
END_TEST

/* A small run is a launch, which may come to be one of a graph; what is large, or not on the device, the driver copies. */
static void check_run(const char *type, lading_memkind to, bool copied) {
  v = devices_open();
  cargo c = cargo_new(type, LADING_MEM_DEVICE, to);
  const lading_work w = pack_work(&c);
  count_from_here();
  OK(lading_enqueue(v.q, &w, NULL));
  called("MemcpyAsync", copied), called("LaunchKernel", !copied), called("", 3);
  OK(lading_queue_sync(v.q));
  check_packed(&c);
  cargo_free(&c);
  devices_close(&v);
}

START_TEST(contiguous_is_one_command) {
  check_run("contiguous(300,double)", LADING_MEM_DEVICE, false);
  check_run("contiguous(301,short)", LADING_MEM_DEVICE, false);
  check_run("contiguous(300,double)", LADING_MEM_PINNED, true);
  check_run("contiguous(600000,double)", LADING_MEM_DEVICE, true);
}
END_TEST

/* One layout in two spellings, too long for one normal form: a list, and a join of two. Where neither is flat they share a table, which is of whichever came first. */
enum { PLACES = 70000, TAKEN = 8192 /* bytes that are packed */ };
static lading_type *long_list(bool joined) {
  static int64_t at[PLACES];
  lading_type *t, *half[2];
  const int64_t one[2] = { 1, 1 }, zero[2] = { 0, 0 };
  rng r = rng_of(5);
  for (int64_t i = 0, next = 0; i < PLACES; next = at[i++] + 8) at[i] = next + (i ? 4 * rng_in(&r, 1, 4) : 0);
  if (!joined) {
    OK(lading_type_hindexed_block(PLACES, 1, at, lading_elem_type(LADING_DOUBLE), &t));
    return t;
  }
  for (int k = 0; k < 2; k++) OK(lading_type_hindexed_block(PLACES / 2, 1, at + k * PLACES / 2, lading_elem_type(LADING_DOUBLE), &half[k]));
  OK(lading_type_struct(2, one, zero, (const lading_type *const[]){ half[0], half[1] }, &t));
  for (int k = 0; k < 2; k++) lading_type_free(half[k]);
  return t;
}

static void check_spellings(bool joined_first) {
  v = devices_open();
  lading_type *t[2] = { long_list(joined_first), long_list(!joined_first) };
  area mem = area_new(&v, LADING_MEM_DEVICE, PLACES * 24), packed = area_new(&v, LADING_MEM_DEVICE, TAKEN);
  char want[TAKEN];
  area_fill(&mem, 1), area_fill(&packed, 2);
  OK(lading_pack(t[0], 1, mem.copy, want, 0, TAKEN));
  for (int i = 0; i < 2; i++) {
    const lading_work w = { .kind = LADING_WORK_PACK, .src_type = t[i], .src_count = 1, .src = mem.at, .dst = packed.at, .hi = TAKEN,
                            .src_mem = { LADING_MEM_DEVICE, 0 }, .dst_mem = { LADING_MEM_DEVICE, 0 } };
    OK(lading_enqueue(v.q, &w, NULL));
    OK(lading_queue_sync(v.q));
    area_pull(&packed);
    for (int64_t k = 0; k < TAKEN; k++) ck_assert_msg(want[k] == packed.copy[k], "byte %lld of spelling %d, %s first", (long long)k, i, joined_first ? "joined" : "listed");
    area_fill(&packed, 2);
  }
  for (int i = 0; i < 2; i++) lading_type_free(t[i]);
  area_free(&mem), area_free(&packed);
  devices_close(&v);
}

START_TEST(lists_of_two_spellings) {
  const int64_t most = ldg_queue_flat_most;
  check_spellings(true), check_spellings(false);
  ldg_queue_flat_most = 0;
  check_spellings(true), check_spellings(false);
  ldg_queue_flat_most = most;
}
END_TEST

/* Which kernels run is of no matter but for the time they take. */
static void check_kernels(const char *ran, int times) {
  v = devices_open();
  cargo lists[] = { cargo_new(LISTED, LADING_MEM_DEVICE, LADING_MEM_DEVICE), cargo_new("indexed_block(1,[5,0,9,3,30,7,2],double)", LADING_MEM_DEVICE, LADING_MEM_DEVICE),
                    cargo_new("indexed_block(1,[9,0,4],vector(3,1,2,int))", LADING_MEM_DEVICE, LADING_MEM_DEVICE) };
  const int64_t before = v.d->fake ? devices_say(&v, ran) : 0;
  for (int64_t i = 0; i < COUNT_OF(lists); i++) {
    const lading_work w = pack_work(&lists[i]);
    OK(lading_enqueue(v.q, &w, NULL));
  }
  OK(lading_queue_sync(v.q));
  if (v.d->fake) ck_assert_int_eq(devices_say(&v, ran) - before, times);
  for (int64_t i = 0; i < COUNT_OF(lists); i++) check_packed(&lists[i]), cargo_free(&lists[i]);
  devices_close(&v);
}

START_TEST(small_layouts_are_flat) { check_kernels("ran ldg_d_flat_one", 3); }
END_TEST

START_TEST(long_lists_have_a_kernel) {
  const int64_t most = ldg_queue_flat_most;
  ldg_queue_flat_most = 0;
  check_kernels("ran ldg_d_list_one", 2); /* of several lengths a tree */
  ldg_queue_flat_most = most;
}
END_TEST

/* Items of one byte have no divisor; those that begin before their base, places below 0. */
START_TEST(flat_items) {
  const char *const spell[] = { "resized(hindexed([1],[5],byte),0,7)", "resized(hindexed([1],[-3],char),0,2)", "resized(struct([1,2],[8,-4],[int16,char]),0,24)",
                                "resized(hindexed([3,1,2],[40,-9,2],byte),0,-64)" };
  enum { ITEMS = 5, ROOM = 1024, HALF = ROOM / 2 };
  v = devices_open();
  area from = area_new(&v, LADING_MEM_DEVICE, ROOM), to = area_new(&v, LADING_MEM_DEVICE, ROOM);
  lading_type *listed;
  OK(lading_type_parse("indexed_block(1,[9,0,4,30,17,2,60,5,44,23,90,71,50,33,12,100,1,3,81,20,7,11,66,15,40,27,19,93,37,62],byte)", &listed));
  for (int64_t i = 0; i < COUNT_OF(spell); i++) {
    lading_type *t;
    int64_t size;
    OK(lading_type_parse(spell[i], &t));
    OK(lading_type_size(t, &size));
    const int64_t n = ITEMS * size;
    area_fill(&from, (uint64_t)i + 1), area_fill(&to, (uint64_t)i + 50);
    char want[ROOM];
    memcpy(want, to.copy, ROOM);
    OK(lading_copy(t, ITEMS, from.copy + HALF, listed, 1, want + HALF, 0, n));
    const int64_t before = v.d->fake ? devices_say(&v, "ran ldg_d_flat_one") : 0;
    const lading_work w = { .kind = LADING_WORK_COPY, .src_type = t, .src_count = ITEMS, .src = from.at + HALF, .dst_type = listed, .dst_count = 1, .dst = to.at + HALF, .hi = n,
                            .src_mem = { LADING_MEM_DEVICE, 0 }, .dst_mem = { LADING_MEM_DEVICE, 0 } };
    OK(lading_enqueue(v.q, &w, NULL));
    OK(lading_queue_sync(v.q));
    area_pull(&to);
    ck_assert_msg(memcmp(want, to.copy, ROOM) == 0, "%s", spell[i]);
    if (v.d->fake) ck_assert_int_eq(devices_say(&v, "ran ldg_d_flat_one") - before, 1);
    lading_type_free(t);
  }
  lading_type_free(listed);
  area_free(&from), area_free(&to);
  devices_close(&v);
}
END_TEST

/* Of addresses, with no base, as structs of an application are spelled. */
START_TEST(flat_addresses) {
  enum { N = 64, FIELDS = 3 };
  static const int64_t len[FIELDS] = { 3, 1, 2 }, at[FIELDS] = { 40, 3, 9 };
  v = devices_open();
  area from = area_new(&v, LADING_MEM_DEVICE, N), to = area_new(&v, LADING_MEM_DEVICE, N);
  int64_t address[FIELDS];
  lading_type *t;
  for (int i = 0; i < FIELDS; i++) address[i] = (int64_t)(intptr_t)from.at + at[i];
  OK(lading_type_hindexed(FIELDS, len, address, lading_elem_type(LADING_BYTE), &t));
  area_fill(&from, 1), area_fill(&to, 2);
  const int64_t before = v.d->fake ? devices_say(&v, "ran ldg_d_flat_one") : 0;
  const lading_work w = { .kind = LADING_WORK_PACK, .src_type = t, .src_count = 1, .src = NULL, .dst = to.at, .hi = 6,
                          .src_mem = { LADING_MEM_DEVICE, 0 }, .dst_mem = { LADING_MEM_DEVICE, 0 } };
  char want[6];
  for (int64_t i = 0, k = 0; i < FIELDS; k += len[i++]) memcpy(want + k, from.copy + at[i], (size_t)len[i]);
  OK(lading_enqueue(v.q, &w, NULL));
  OK(lading_queue_sync(v.q));
  area_pull(&to);
  ck_assert_mem_eq(to.copy, want, 6);
  if (v.d->fake) ck_assert_int_eq(devices_say(&v, "ran ldg_d_flat_one") - before, 1);
  lading_type_free(t);
  area_free(&from), area_free(&to);
  devices_close(&v);
}
END_TEST

START_TEST(unknown_kinds_take_one_query_each) {
  v = devices_open();
  cargo c = cargo_new(STRIDED, LADING_MEM_DEVICE, LADING_MEM_MANAGED);
  lading_work w = pack_work(&c);
  w.src_mem.kind = w.dst_mem.kind = LADING_MEM_UNKNOWN;
  count_from_here();
  OK(lading_enqueue(v.q, &w, NULL));
  called("PointerGetAttributes", 2), called("", 9); /* each in the queue's context */
  OK(lading_queue_sync(v.q));
  check_packed(&c);
  cargo_free(&c);
  devices_close(&v);
}
END_TEST

START_TEST(context_stays) {
  v = devices_open();
  void *before = NULL, *after = NULL;
  ck_assert_int_eq(v.d->current(&before), 0);
  cargo c = cargo_new(LISTED, LADING_MEM_HOST, LADING_MEM_DEVICE);
  const lading_work w = pack_work(&c);
  lading_request r;
  OK(lading_enqueue(v.q, &w, &r));
  OK(lading_wait(v.q, r));
  ck_assert_int_eq(v.d->current(&after), 0);
  ck_assert_ptr_eq(before, after);
  ck_assert_int_eq(v.d->pop(&before), 0); /* no context at all */
  OK(lading_enqueue(v.q, &w, &r));
  OK(lading_wait(v.q, r));
  ck_assert_int_eq(v.d->current(&after), 0);
  ck_assert_ptr_null(after);
  ck_assert_int_eq(v.d->push(before), 0);
  cargo_free(&c);
  devices_close(&v);
}
END_TEST

START_TEST(kinds_are_told) {
  v = devices_open();
  for (int k = LADING_MEM_HOST; k <= LADING_MEM_MANAGED; k++) {
    area a = area_new(&v, (lading_memkind)k, 100);
    lading_mem m;
    OK(lading_mem_query(a.at + 10, &m));
    ck_assert_int_eq((int)m.kind, k);
    ck_assert_int_eq(m.device, k == LADING_MEM_HOST ? -1 : 0);
    area_free(&a);
  }
  devices_close(&v);
}
END_TEST

/* ---- requests ---- */

START_TEST(requests_in_order) {
  v = devices_open();
  cargo c = cargo_new(STRIDED, LADING_MEM_DEVICE, LADING_MEM_DEVICE);
  const lading_work w = pack_work(&c), none = { .kind = LADING_WORK_PACK, .src_type = c.type };
  lading_request r[200];
  bool done = false;
  for (int i = 0; i < 200; i++) OK(lading_enqueue(v.q, i % 3 ? &w : &none, &r[i]));
  OK(lading_wait(v.q, r[150]));
  for (int i = 0; i <= 150; i++) {
    OK(lading_test(v.q, r[i], &done));
    ck_assert(done);
  }
  for (done = false; !done;) OK(lading_test(v.q, r[199], &done));
  ck_assert_int_eq(lading_test(v.q, 0, &done), LADING_ERR_ARG);
  ck_assert_int_eq(lading_wait(v.q, r[199] + 1), LADING_ERR_ARG);
  check_packed(&c);
  cargo_free(&c);
  devices_close(&v);
}
END_TEST

START_TEST(not_done_before_it_is) {
  v = devices_open();
  cargo c = cargo_new(STRIDED, LADING_MEM_DEVICE, LADING_MEM_DEVICE);
  const lading_work w = pack_work(&c);
  lading_request r;
  bool done = true;
  if (v.d->fake) devices_say(&v, "patience -1"), devices_say(&v, "late 3");
  OK(lading_enqueue(v.q, &w, &r));
  OK(lading_test(v.q, r, &done));
  if (v.d->fake) ck_assert(!done);
  for (int i = 0; i < 100000 && !done; i++) OK(lading_test(v.q, r, &done));
  ck_assert(done);
  check_packed(&c);
  cargo_free(&c);
  devices_close(&v);
}
END_TEST

/* A queue over the caller's stream: what the caller put there before is done before. */
START_TEST(wrapped_streams) {
  v = devices_open();
  lading_queue *q, *other;
  OK(lading_queue_wrap(v.backend, v.stream, &q));
  OK(lading_queue_wrap(v.backend, NULL, &other));
  cargo c = cargo_new(LISTED, LADING_MEM_DEVICE, LADING_MEM_DEVICE);
  const lading_work w = pack_work(&c);
  ck_assert_int_eq(v.d->fill(c.mem.at, 7, (size_t)c.mem.n, v.stream), 0);
  memset(c.mem.copy, 7, (size_t)c.mem.n);
  OK(lading_enqueue(q, &w, NULL));
  OK(lading_queue_sync(q));
  check_packed(&c);
  OK(lading_enqueue(other, &w, NULL));
  OK(lading_queue_sync(other));
  lading_queue_free(q), lading_queue_free(other);
  cargo_free(&c);
  devices_close(&v);
}
END_TEST

/* Types, queues and all may go before the work is done. */
START_TEST(freed_early) {
  v = devices_open();
  lading_queue *q;
  OK(lading_queue_create(v.backend, 0, &q));
  cargo c = cargo_new("struct([1,1],[0,100],[vector(3,1,2,double),indexed([1,2],[3,0],int)])", LADING_MEM_HOST, LADING_MEM_DEVICE);
  const lading_work w = pack_work(&c);
  char *want = malloc((size_t)c.n);
  OK(lading_pack(c.type, 1, c.mem.copy, want, 0, c.n));
  if (v.d->fake) devices_say(&v, "patience 20000");
  OK(lading_enqueue(q, &w, NULL));
  lading_type_free(c.type);
  OK(lading_queue_sync(q));
  lading_queue_free(q);
  area_pull(&c.packed);
  ck_assert(!memcmp(want, c.packed.copy, (size_t)c.n));
  free(want);
  area_free(&c.mem), area_free(&c.packed);
  devices_close(&v);
}
END_TEST

/* ---- graphs ---- */

static void *recorded(const lading_work *w, int expected) {
  lading_queue *q;
  void *graph = NULL, *exec = NULL;
  OK(lading_queue_wrap(v.backend, v.stream, &q));
  ck_assert_int_eq(v.d->begin_capture(v.stream, 2), 0);
  ck_assert_int_eq(lading_enqueue(q, w, NULL), expected);
  ck_assert_int_eq(v.d->end_capture(v.stream, &graph), 0);
  ck_assert_int_eq(v.d->instantiate(&exec, graph, 0), 0);
  ck_assert_int_eq(v.d->graph_free(graph), 0);
  lading_queue_free(q);
  return exec;
}

static void check_graph(const char *type) {
  cargo c = cargo_new(type, LADING_MEM_DEVICE, LADING_MEM_DEVICE);
  const lading_work w = pack_work(&c);
  OK(lading_enqueue(v.q, &w, NULL)); /* now a list has its table */
  OK(lading_queue_sync(v.q));
  void *exec = recorded(&w, LADING_OK);
  for (uint64_t i = 0; i < 3; i++) {
    area_fill(&c.mem, i), area_fill(&c.packed, i + 7);
    ck_assert_int_eq(v.d->graph_launch(exec, v.stream), 0);
    ck_assert_int_eq(v.d->sync(v.stream), 0);
    check_packed(&c);
  }
  ck_assert_int_eq(v.d->exec_free(exec), 0);
  cargo_free(&c);
}

START_TEST(graphs) {
  v = devices_open();
  check_graph(STRIDED), check_graph(LISTED), check_graph("contiguous(9,double)");
  cargo c = cargo_new(STRIDED, LADING_MEM_HOST, LADING_MEM_DEVICE);
  const lading_work w = pack_work(&c);
  void *exec = recorded(&w, LADING_ERR_UNSUPPORTED); /* the host's part would run at every replay */
  ck_assert_int_eq(v.d->exec_free(exec), 0);
  cargo_free(&c);
  devices_close(&v);
}
END_TEST

/* ---- failures: each is told, nothing hangs, nothing leaks, and what comes after works ---- */

START_TEST(calls_that_fail) {
  static const char *const calls[] = { "LaunchKernel", "CtxPushCurrent", "MemAlloc", "MemcpyAsync", "StreamSynchronize", "EventCreate", "EventRecord",
                                       "EventQuery",
                                       "StreamQuery", "LaunchHostFunc", "MemHostAlloc", "PointerGetAttributes", "StreamCreate" };
  static const lading_memkind kinds[] = { LADING_MEM_DEVICE, LADING_MEM_HOST };
  v = devices_open();
  for (int64_t i = 0; v.d->fake && i < COUNT_OF(calls); i++)
    for (int n = 1; n <= 3; n++)
      for (int k = 0; k < 2; k++) {
        char line[80], list[80];
        snprintf(list, sizeof list, "indexed([2,1,%d],[5,0,9],int)", (int)(100 + 6 * i + 2 * n + k)); /* a table of its own */
        cargo c = cargo_new(list, kinds[k], LADING_MEM_DEVICE);
        lading_work w = pack_work(&c);
        w.src_mem.kind = LADING_MEM_UNKNOWN;
        lading_request r;
        snprintf(line, sizeof line, "fail cu%s %d 1", calls[i], n);
        devices_say(&v, line);
        const int e = lading_enqueue(v.q, &w, &r);
        ck_assert(e == LADING_OK || e == LADING_ERR_DEVICE);
        devices_say(&v, "reset");
        OK(lading_queue_sync(v.q));
        OK(lading_enqueue(v.q, &w, &r));
        OK(lading_wait(v.q, r));
        check_packed(&c);
        cargo_free(&c);
      }
  devices_close(&v);
}
END_TEST

/* Every allocation fails once: an error, or work that is done all the same. */
START_TEST(no_memory) {
  v = devices_open();
  for (int k = 0; k < 3; k++) {
    const lading_memkind mem = k == 1 ? LADING_MEM_HOST : LADING_MEM_DEVICE;
    int e = LADING_ERR_NOMEM;
    for (int n = 0; e && n < 100; n++) {
      char list[80];
      snprintf(list, sizeof list, "indexed([2,1,%d],[5,0,9],%s)", 100 + n, k == 2 ? "long_double" : "int"); /* a table of its own */
      cargo c = cargo_new(list, mem, LADING_MEM_DEVICE);
      lading_work w = pack_work(&c);
      if (k == 2) w.op = LADING_SUM;
      const int64_t live = ldg_alloc_live();
      ldg_alloc_fail(n);
      e = lading_enqueue(v.q, &w, NULL);
      ldg_alloc_fail(-1);
      OK(lading_queue_sync(v.q));
      ck_assert(e == LADING_OK || e == LADING_ERR_NOMEM);
      if (e) ck_assert_int_le(ldg_alloc_live() - live, 20); /* what the type has made of itself */
      else if (k < 2) check_packed(&c);
      cargo_free(&c);
    }
    OK(e);
  }
  devices_close(&v);
}
END_TEST

START_TEST(device_lost) {
  v = devices_open();
  if (v.d->fake) {
    cargo c = cargo_new(STRIDED, LADING_MEM_DEVICE, LADING_MEM_DEVICE);
    const lading_work w = pack_work(&c);
    lading_request r;
    bool done;
    lading_queue *q = NULL;
    devices_say(&v, "patience -1");
    OK(lading_enqueue(v.q, &w, &r));
    devices_say(&v, "lost 700");
    ck_assert_int_eq(lading_enqueue(v.q, &w, &r), LADING_ERR_DEVICE);
    ck_assert_int_eq(lading_test(v.q, r, &done), LADING_ERR_DEVICE);
    ck_assert_int_eq(lading_wait(v.q, r), LADING_ERR_DEVICE);
    ck_assert_int_eq(lading_queue_sync(v.q), LADING_ERR_DEVICE);
    ck_assert_int_eq(lading_queue_create(v.backend, 0, &q), LADING_ERR_DEVICE);
    lading_queue_free(v.q);
    devices_say(&v, "forgive");
    lading_type_free(c.type); /* the driver takes nothing back any more */
    free(c.mem.copy), free(c.packed.copy);
  }
}
END_TEST

/* ---- threads ---- */

enum { THREADS = 4 };
static cargo shared_cargo[THREADS];

static void *many_works(void *arg) {
  const int i = (int)(intptr_t)arg;
  cargo *c = &shared_cargo[i];
  const lading_work w = pack_work(c);
  lading_queue *own;
  OK(lading_queue_create(v.backend, 0, &own));
  for (int k = 0; k < 30; k++) {
    lading_request r;
    lading_queue *q = k % 2 ? own : v.q;
    OK(lading_enqueue(q, &w, &r));
    if (k % 4 < 2) OK(lading_wait(q, r));
  }
  OK(lading_queue_sync(own));
  lading_queue_free(own);
  return NULL;
}

START_TEST(threads) {
  pthread_t t[THREADS];
  v = devices_open();
  for (int i = 0; i < THREADS; i++) shared_cargo[i] = cargo_new(i % 2 ? STRIDED : LISTED, i < 2 ? LADING_MEM_DEVICE : LADING_MEM_HOST, LADING_MEM_DEVICE);
  for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, many_works, (void *)(intptr_t)i);
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
  OK(lading_queue_sync(v.q));
  for (int i = 0; i < THREADS; i++) check_packed(&shared_cargo[i]), cargo_free(&shared_cargo[i]);
  devices_close(&v);
}
END_TEST

int main(int argc, char **argv) {
  if (!devices_there()) return 77;
  return CHECK_MAIN("queue", argc, argv, one_launch_and_nothing_else, a_table_is_made_once, ranges_of_transposes, contiguous_is_one_command,
                    lists_of_two_spellings, small_layouts_are_flat, long_lists_have_a_kernel, flat_items, flat_addresses, unknown_kinds_take_one_query_each, context_stays,
                    kinds_are_told, requests_in_order, not_done_before_it_is, wrapped_streams, freed_early, graphs, calls_that_fail, no_memory, device_lost,
                    threads);
}
