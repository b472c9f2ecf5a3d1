/* queue: memory that the device does not reach, by way of pinned chunks: who packs it, and when; chunks that come back. */
#include "cargos.h"
#include "queue.h"
#include "../backends/device/site.h"

#include <pthread.h>
#include <time.h>

/* Nobody is called where nothing is under way: the host packs at once, into the chunk that it had before. */
START_TEST(from_host_when_idle) {
  enum { TIMES = 2 * LDG_CHUNKS };
  v = devices_open();
  cargo c = cargo_new(STRIDED, LADING_MEM_HOST, LADING_MEM_DEVICE);
  const lading_work w = pack_work(&c);
  count_from_here();
  for (uint64_t i = 0; i < TIMES; i++) {
    area_fill(&c.mem, i);
    OK(lading_enqueue(v.q, &w, NULL));
    memset(c.mem.at, 0, (size_t)c.mem.n); /* it has been read */
    OK(lading_queue_sync(v.q));
    check_packed(&c);
  }
  called("LaunchHostFunc", 0), called("MemHostAlloc", 1), called("EventCreate", 1), called("EventRecord", TIMES), called("EventQuery", TIMES - 1);
  cargo_free(&c);
  devices_close(&v);
}
END_TEST

/* What is under way writes the source, by the host's hand: nobody reads it before. */
static void read_in_order(lading_queue *q, cargo *c) {
  area packed = area_new(&v, LADING_MEM_DEVICE, c->n);
  const lading_work there = { .kind = LADING_WORK_UNPACK, .dst_type = c->type, .dst_count = 1, .src = packed.at, .dst = c->mem.at, .hi = c->n,
                              .src_mem = { LADING_MEM_DEVICE, 0 }, .dst_mem = { LADING_MEM_HOST, -1 } }, back = pack_work(c);
  for (uint64_t i = 0; i < 5; i++) {
    area_fill(&packed, i), area_fill(&c->packed, i + 9);
    OK(lading_enqueue(q, &there, NULL));
    OK(lading_enqueue(q, &back, NULL));
    OK(lading_queue_sync(q));
    area_pull(&c->packed);
    ck_assert(!memcmp(packed.copy, c->packed.copy, (size_t)c->n));
  }
  area_free(&packed);
}

START_TEST(from_host_when_busy) {
  v = devices_open();
  lading_queue *q;
  OK(lading_queue_wrap(v.backend, v.stream, &q));
  cargo c = cargo_new(STRIDED, LADING_MEM_HOST, LADING_MEM_DEVICE);
  read_in_order(v.q, &c), read_in_order(q, &c);
  if (v.d->fake) devices_say(&v, "patience -1"), devices_say(&v, "still 1");
  count_from_here();
  read_in_order(v.q, &c), read_in_order(q, &c);
  called("LaunchHostFunc", 20);
  cargo_free(&c);
  lading_queue_free(q);
  devices_close(&v);
}
END_TEST

static void write_source(void *of) {
  const cargo *c = of;
  const struct timespec nap = { .tv_nsec = 5000000 };
  nanosleep(&nap, NULL);
  memcpy(c->mem.at, c->mem.copy, (size_t)c->mem.n);
}

/* A stream that the default one holds up may say that it is done while it is not: its host has its turn as ever. */
static void from_host_behind(void *first, void *second) {
  lading_queue *q;
  cargo c = cargo_new(STRIDED, LADING_MEM_HOST, LADING_MEM_DEVICE);
  const lading_work w = pack_work(&c);
  OK(lading_queue_wrap(v.backend, second, &q));
  for (int i = 0; i < 3; i++) {
    area_fill(&c.mem, (uint64_t)i), memset(c.mem.at, 0, (size_t)c.mem.n);
    ck_assert_int_eq(v.d->call(first, write_source, &c), 0);
    OK(lading_enqueue(q, &w, NULL));
    OK(lading_queue_sync(q));
    check_packed(&c);
  }
  lading_queue_free(q);
  cargo_free(&c);
}

START_TEST(from_host_behind_others) {
  v = devices_open();
  void *with_default;
  ck_assert_int_eq(v.d->stream(&with_default, 0), 0);
  if (v.d->fake) devices_say(&v, "patience -1"), devices_say(&v, "still 1");
  from_host_behind(NULL, with_default), from_host_behind(with_default, NULL), from_host_behind(v.stream, v.stream);
  ck_assert_int_eq(v.d->stream_free(with_default), 0);
  devices_close(&v);
}
END_TEST

/* Nobody knows of a stream whether it is held up. */
START_TEST(from_host_without_flags) {
  v = devices_open();
  lading_queue *q;
  cargo c = cargo_new(STRIDED, LADING_MEM_HOST, LADING_MEM_DEVICE);
  const lading_work w = pack_work(&c);
  devices_say(&v, !strcmp(v.backend, "cuda") ? "fail cuStreamGetFlags 1 1" : "fail hipStreamGetFlags 1 1");
  OK(lading_queue_wrap(v.backend, v.stream, &q));
  count_from_here();
  OK(lading_enqueue(q, &w, NULL));
  OK(lading_queue_sync(q));
  called("LaunchHostFunc", 1);
  check_packed(&c);
  lading_queue_free(q);
  cargo_free(&c);
  devices_close(&v);
}
END_TEST

/* One after the other and nobody waits, on queues that go meanwhile: there are as many chunks as there may be, and each comes back. */
START_TEST(chunks_of_queues_that_go) {
  enum { WORKS = 7 };
  v = devices_open();
  cargo c[WORKS];
  for (int i = 0; i < WORKS; i++) c[i] = cargo_new(i % 2 ? STRIDED : LISTED, LADING_MEM_HOST, LADING_MEM_DEVICE);
  if (v.d->fake) devices_say(&v, "patience -1"), devices_say(&v, "late 2"), devices_say(&v, "shuffle 5");
  count_from_here();
  for (int k = 0; k < 12; k++) {
    lading_queue *q;
    OK(lading_queue_create(v.backend, 0, &q));
    for (int i = 0; i < WORKS; i++) {
      const lading_work w = pack_work(&c[i]);
      OK(lading_enqueue(i < 3 ? q : v.q, &w, NULL));
    }
    if (k % 2) OK(lading_queue_sync(q));
    lading_queue_free(q);
  }
  OK(lading_queue_sync(v.q));
  if (v.d->fake && !strcmp(v.backend, "cuda")) ck_assert_int_le(devices_say(&v, "count cuMemHostAlloc"), LDG_CHUNKS);
  if (v.d->fake) devices_say(&v, "patience 1000");
  for (int i = 0; i < WORKS; i++) check_packed(&c[i]), cargo_free(&c[i]);
  devices_close(&v);
}
END_TEST

static void *pack_often(void *arg) {
  const cargo *c = arg;
  const lading_work w = pack_work(c);
  lading_queue *q;
  if (lading_queue_create(v.backend, 0, &q)) return arg;
  int e = LADING_OK;
  for (int i = 0; !e && i < 20; i++) e = lading_enqueue(q, &w, NULL);
  if (!e) e = lading_queue_sync(q);
  lading_queue_free(q);
  return e ? arg : NULL;
}

START_TEST(chunks_for_threads) {
  enum { THREADS = 4 };
  cargo c[THREADS];
  pthread_t thread[THREADS];
  v = devices_open();
  for (int i = 0; i < THREADS; i++) c[i] = cargo_new(STRIDED, LADING_MEM_HOST, LADING_MEM_DEVICE);
  count_from_here();
  for (int i = 0; i < THREADS; i++) ck_assert_int_eq(pthread_create(&thread[i], NULL, pack_often, &c[i]), 0);
  for (int i = 0; i < THREADS; i++) {
    void *failed;
    pthread_join(thread[i], &failed);
    ck_assert_ptr_null(failed);
  }
  if (v.d->fake && !strcmp(v.backend, "cuda")) ck_assert_int_le(devices_say(&v, "count cuMemHostAlloc"), LDG_CHUNKS);
  for (int i = 0; i < THREADS; i++) check_packed(&c[i]), cargo_free(&c[i]);
  devices_close(&v);
}
END_TEST

/* Whatever fails, more often than there are chunks: the chunk is there again. */
START_TEST(chunks_come_back_from_failures) {
  static const char *const calls[] = { "EventCreate", "EventRecord", "EventQuery", "StreamQuery", "MemcpyAsync", "LaunchHostFunc", "LaunchKernel" };
  v = devices_open();
  cargo c = cargo_new("contiguous(100,int)", LADING_MEM_HOST, LADING_MEM_DEVICE);
  const lading_work w = pack_work(&c);
  const bool cuda = v.d->fake && !strcmp(v.backend, "cuda");
  int64_t made = 0;
  for (int64_t i = 0; cuda && i < COUNT_OF(calls); i++)
    for (int k = 0; k <= LDG_CHUNKS; k++) {
      char line[80];
      snprintf(line, sizeof line, "fail cu%s %d 1", calls[i], 1 + k % 2);
      devices_say(&v, line);
      for (int twice = 0; twice < 2; twice++) { /* idle, and not */
        const int e = lading_enqueue(v.q, &w, NULL);
        ck_assert(e == LADING_OK || e == LADING_ERR_DEVICE);
      }
      made += devices_say(&v, "count cuMemHostAlloc");
      devices_say(&v, "reset");
      OK(lading_queue_sync(v.q));
      area_fill(&c.mem, (uint64_t)k);
      OK(lading_enqueue(v.q, &w, NULL));
      OK(lading_queue_sync(v.q));
      check_packed(&c);
    }
  ck_assert_int_le(made, 3);
  cargo_free(&c);
  devices_close(&v);
}
END_TEST

/* All are lent to a stream that stands still, for a while: who needs one waits, and who needs none does not. */
static void *go_on_soon(void *arg) {
  const struct timespec nap = { .tv_nsec = 30000000 };
  nanosleep(&nap, NULL);
  devices_say(&v, "still 0");
  return arg;
}

START_TEST(all_chunks_are_lent) {
  v = devices_open();
  pthread_t t;
  cargo c = cargo_new(STRIDED, LADING_MEM_HOST, LADING_MEM_DEVICE), other = cargo_new(STRIDED, LADING_MEM_HOST, LADING_MEM_DEVICE);
  const lading_work w = pack_work(&c), last = pack_work(&other);
  lading_queue *q;
  OK(lading_queue_create(v.backend, 0, &q));
  if (v.d->fake) devices_say(&v, "patience -1"), devices_say(&v, "still 1");
  count_from_here();
  for (int i = 0; i < LDG_CHUNKS; i++) OK(lading_enqueue(v.q, &w, NULL));
  called("MemHostAlloc", LDG_CHUNKS);
  ck_assert_int_eq(pthread_create(&t, NULL, go_on_soon, NULL), 0);
  OK(lading_enqueue(q, &last, NULL));
  pthread_join(t, NULL);
  OK(lading_queue_sync(v.q));
  OK(lading_queue_sync(q));
  called("MemHostAlloc", LDG_CHUNKS);
  check_packed(&c), check_packed(&other);
  lading_queue_free(q);
  cargo_free(&c), cargo_free(&other);
  devices_close(&v);
}
END_TEST

/* Who is told that there is no memory for another chunk waits for those there are, and so do all from then on; who has none is told so. */
START_TEST(no_memory_for_another_chunk) {
  v = devices_open();
  if (!v.d->fake || strcmp(v.backend, "cuda")) return devices_close(&v);
  pthread_t t;
  cargo c = cargo_new(STRIDED, LADING_MEM_HOST, LADING_MEM_DEVICE);
  const lading_work w = pack_work(&c);
  devices_say(&v, "fail cuMemHostAlloc 1 2");
  ck_assert_int_eq(lading_enqueue(v.q, &w, NULL), LADING_ERR_NOMEM);
  devices_say(&v, "patience -1"), devices_say(&v, "still 1");
  for (int i = 0; i < 2; i++) OK(lading_enqueue(v.q, &w, NULL));
  count_from_here();
  devices_say(&v, "fail cuMemHostAlloc 1 2");
  ck_assert_int_eq(pthread_create(&t, NULL, go_on_soon, NULL), 0);
  OK(lading_enqueue(v.q, &w, NULL));
  pthread_join(t, NULL);
  OK(lading_queue_sync(v.q));
  check_packed(&c);
  devices_say(&v, "still 0");
  for (int i = 0; i < LDG_CHUNKS; i++) OK(lading_enqueue(v.q, &w, NULL));
  OK(lading_queue_sync(v.q));
  check_packed(&c);
  called("MemHostAlloc", 1);
  cargo_free(&c);
  devices_close(&v);
}
END_TEST

/* More than all chunks hold, and elements that chunks do not divide. */
START_TEST(through_chunks) {
  v = devices_open();
  cargo c = cargo_new("vector(1000000,1,2,double_int)", LADING_MEM_HOST, LADING_MEM_DEVICE), d = cargo_new("vector(20,100000,100001,double)", LADING_MEM_HOST, LADING_MEM_DEVICE);
  lading_work w = pack_work(&c);
  char *want = malloc((size_t)c.n);
  memset(c.mem.copy, 0x31, (size_t)c.mem.n), area_push(&c.mem);
  for (int64_t i = 0; i < c.packed.n; i++) c.packed.copy[i] &= 0x3f;
  area_push(&c.packed), memcpy(want, c.packed.copy, (size_t)c.n);
  OK(lading_pack_op(c.type, 1, c.mem.at, want, 0, c.n, LADING_MAXLOC));
  w.op = LADING_MAXLOC;
  OK(lading_enqueue(v.q, &w, NULL));
  OK(lading_queue_sync(v.q));
  area_pull(&c.packed);
  ck_assert(!memcmp(want, c.packed.copy, (size_t)c.n));
  free(want);
  w = pack_work(&d);
  count_from_here();
  OK(lading_enqueue(v.q, &w, NULL));
  called("LaunchHostFunc", 16); /* a chunk each: it would take the caller too long */
  OK(lading_queue_sync(v.q));
  check_packed(&d);
  cargo_free(&c), cargo_free(&d);
  devices_close(&v);
}
END_TEST

int main(int argc, char **argv) {
  if (!devices_there()) return 77;
  return CHECK_MAIN("queue_chunks", argc, argv, from_host_when_idle, from_host_when_busy, from_host_behind_others, from_host_without_flags, chunks_of_queues_that_go,
                    chunks_for_threads, chunks_come_back_from_failures, all_chunks_are_lent, no_memory_for_another_chunk, through_chunks);
}
