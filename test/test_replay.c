/* replay: what is launched by graphs of one node is what launches would do: with other buffers and layouts, in any order of grids, beside recordings, and
 * when any call of it fails. */
#include "cargos.h"
#include "queue.h"
#include "../backends/device/site.h"

enum { WAITED = 16 /* launches, before a graph is made */, SANITIZED = TEST_TSAN || TEST_ASAN, TRIALS = SANITIZED ? 2 * WAITED : 3 * WAITED, KINDS = 6, MOST = 48 };

static const char *const layouts[KINDS] = {
  "vector(5,3,7,int)", "vector(100,10,64,double)", "indexed([2,1,3],[5,0,9],int)", "hvector(700,1,24,short)", "vector(300,12,20,double)", "indexed([1,4,1],[7,0,20],double)",
};

/* The queue of the test has a site, which is found by a lane in the same context. */
static void know(int known) {
  ldg_lane *lane;
  const ldg_device *dev = ldg_queue_device_of(v.backend);
  OK(dev->create(dev, 0, &lane));
  if (known != LDG_REPLAYS_SLOWER && !ldg_replays_can(lane->site->driver)) known = LDG_REPLAYS_SLOWER;
  dev->replays(lane, known);
  dev->destroy(lane);
}

static int64_t count_of(const char *call) {
  char line[80];
  snprintf(line, sizeof line, "count %s", call);
  return v.d->fake && !strcmp(v.backend, "cuda") ? devices_say(&v, line) : -1;
}

static void begin(int known) {
  v = devices_open();
  count_from_here();
  know(known);
}

/* n packs each of layouts of their own, in turn, all of them under way together where the driver lets them; lists by places, and by trees. */
static void turns(int n) {
  const int64_t most = ldg_queue_flat_most;
  cargo c[MOST];
  for (int i = 0; i < MOST; i++) c[i] = cargo_new(layouts[i % KINDS], LADING_MEM_DEVICE, LADING_MEM_DEVICE);
  for (int i = 0; i < n; i++) {
    const lading_work w = pack_work(&c[i % MOST]);
    ldg_queue_flat_most = i % KINDS == 5 ? 0 : most; /* each kernel is of one kind, always */
    OK(lading_enqueue(v.q, &w, NULL));
  }
  ldg_queue_flat_most = most;
  OK(lading_queue_sync(v.q));
  for (int i = 0; i < MOST; i++) check_packed(&c[i]), cargo_free(&c[i]);
}

START_TEST(other_arguments_each_time) {
  begin(LDG_REPLAYS_FASTER);
  if (v.d->fake) devices_say(&v, "patience -1");
  turns(KINDS * TRIALS);
  if (count_of("cuGraphLaunch") >= 0) {
    ck_assert_int_ge(count_of("cuGraphLaunch"), KINDS * (TRIALS - WAITED) - KINDS);
    ck_assert_int_le(count_of("cuLaunchKernel"), KINDS * WAITED + KINDS);
    ck_assert_int_le(count_of("cuGraphInstantiateWithFlags"), KINDS);
  }
  devices_close(&v);
}
END_TEST

START_TEST(none_where_slower) {
  begin(LDG_REPLAYS_SLOWER);
  turns(KINDS * TRIALS);
  if (count_of("cuGraphLaunch") >= 0) ck_assert_int_eq(count_of("cuGraphLaunch"), 0);
  devices_close(&v);
}
END_TEST

/* Both ways are timed, and then one of them is taken. */
START_TEST(found_out) {
  begin(LDG_REPLAYS_UNKNOWN);
  turns(KINDS * TRIALS);
  const int64_t replays = count_of("cuGraphLaunch"), launches = count_of("cuLaunchKernel");
  turns(KINDS * TRIALS);
  if (replays >= 0) {
    const int64_t more = count_of("cuGraphLaunch") - replays, others = count_of("cuLaunchKernel") - launches;
    ck_assert_int_ge(replays, 8);
    ck_assert_int_eq(more + others, KINDS * TRIALS);
    ck_assert(more == 0 || others == 0);
  }
  devices_close(&v);
}
END_TEST

/* Queues that go while what they launched is under way. */
START_TEST(queues_that_go) {
  begin(LDG_REPLAYS_FASTER);
  if (v.d->fake) devices_say(&v, "patience -1");
  for (int k = 0; k < 3; k++) {
    cargo c[MOST];
    lading_queue *q;
    OK(lading_queue_create(v.backend, 0, &q));
    for (int i = 0; i < MOST; i++) {
      c[i] = cargo_new(layouts[0], LADING_MEM_DEVICE, LADING_MEM_DEVICE);
      const lading_work w = pack_work(&c[i]);
      OK(lading_enqueue(q, &w, NULL));
    }
    lading_queue_free(q);
    OK(lading_queue_sync(v.q));
    for (int i = 0; i < MOST; i++) check_packed(&c[i]), cargo_free(&c[i]);
  }
  devices_close(&v);
}
END_TEST

/* What is recorded is a launch of that graph, and the queue goes on as before. */
START_TEST(not_in_recordings) {
  begin(LDG_REPLAYS_FASTER);
  void *recorder, *graph;
  lading_queue *q;
  OK(v.d->stream(&recorder, 1));
  OK(lading_queue_wrap(v.backend, recorder, &q));
  cargo c = cargo_new(layouts[0], LADING_MEM_DEVICE, LADING_MEM_DEVICE), other = cargo_new(layouts[0], LADING_MEM_DEVICE, LADING_MEM_DEVICE);
  const lading_work w = pack_work(&c), recorded = pack_work(&other);
  for (int i = 0; i < TRIALS; i++) OK(lading_enqueue(q, &w, NULL));
  const int64_t replays = count_of("cuGraphLaunch"), launches = count_of("cuLaunchKernel");
  OK(v.d->begin_capture(recorder, 0));
  OK(lading_enqueue(q, &recorded, NULL));
  OK(v.d->end_capture(recorder, &graph));
  if (replays >= 0) {
    ck_assert_int_eq(count_of("cuGraphLaunch"), replays);
    ck_assert_int_eq(count_of("cuLaunchKernel"), launches + 1);
  }
  OK(v.d->graph_free(graph));
  OK(lading_enqueue(q, &recorded, NULL));
  OK(lading_queue_sync(q));
  check_packed(&c), check_packed(&other);
  cargo_free(&c), cargo_free(&other);
  lading_queue_free(q);
  OK(v.d->stream_free(recorder));
  devices_close(&v);
}
END_TEST

/* Somebody records another stream, and wants to hear of every call that might disturb that. */
START_TEST(beside_recordings_of_others) {
  void *other, *graph;
  begin(LDG_REPLAYS_FASTER);
  OK(v.d->stream(&other, 1));
  cargo c = cargo_new(layouts[0], LADING_MEM_DEVICE, LADING_MEM_DEVICE);
  const lading_work w = pack_work(&c);
  OK(v.d->begin_capture(other, 0));
  for (int i = 0; i < TRIALS; i++) OK(lading_enqueue(v.q, &w, NULL));
  OK(v.d->end_capture(other, &graph));
  OK(v.d->graph_free(graph));
  OK(v.d->stream_free(other));
  OK(lading_queue_sync(v.q));
  check_packed(&c);
  cargo_free(&c);
  devices_close(&v);
}
END_TEST

/* Some requests at a time, whose cargos are arguments: other ones in each turn. */
START_TEST(batches_of_few) {
  enum { TURNS = 2 * WAITED + 8 };
  static const int sizes[] = { 1, 2, 5 };
  begin(LDG_REPLAYS_FASTER);
  const lading_batch_attr by_hand = { .policy = LADING_BATCH_MANUAL };
  lading_batch *b;
  OK(lading_batch_create(v.q, &by_hand, &b));
  for (int64_t s = 0; s < COUNT_OF(sizes); s++) {
    const int64_t before = count_of("cuGraphLaunch");
    for (int t = 0; t < TURNS; t++) {
      cargo c[5];
      lading_request r[5];
      for (int i = 0; i < sizes[s]; i++) {
        c[i] = cargo_new(layouts[i], LADING_MEM_DEVICE, LADING_MEM_DEVICE); /* of one size of grid each turn */
        const lading_work w = pack_work(&c[i]);
        OK(lading_batch_add(b, &w, &r[i]));
      }
      OK(lading_batch_flush(b));
      for (int i = 0; i < sizes[s]; i++) {
        OK(lading_batch_wait(b, r[i]));
        check_packed(&c[i]), cargo_free(&c[i]);
      }
    }
    if (before >= 0) ck_assert_int_ge(count_of("cuGraphLaunch") - before, TURNS - WAITED - (s == 1 ? WAITED : 0)); /* two are more tiles than one, but one kernel */
  }
  lading_batch_free(b);
  devices_close(&v);
}
END_TEST

START_TEST(calls_that_fail) {
  static const char *const calls[] = { "cuGraphCreate", "cuGraphAddKernelNode", "cuGraphInstantiateWithFlags", "cuGraphExecKernelNodeSetParams", "cuGraphLaunch",
                                       "cuStreamIsCapturing" };
  for (int known = SANITIZED ? LDG_REPLAYS_FASTER : LDG_REPLAYS_UNKNOWN; known <= LDG_REPLAYS_FASTER; known++)
    for (int64_t k = 0; k < COUNT_OF(calls); k++)
      for (int nth = 1; nth < (SANITIZED ? 2 : 4); nth += 2) {
        char line[80];
        begin(known);
        if (!v.d->fake || strcmp(v.backend, "cuda")) { /* nobody else fails when told to */
          devices_close(&v);
          return;
        }
        snprintf(line, sizeof line, "fail %s %d 999", calls[k], nth);
        ck_assert_int_ge(devices_say(&v, line), 0);
        turns(KINDS * TRIALS);
        devices_say(&v, "reset");
        devices_close(&v);
      }
}
END_TEST

int main(int argc, char **argv) {
  if (!devices_there()) return 77;
  return CHECK_MAIN("replay", argc, argv, other_arguments_each_time, none_where_slower, found_out, queues_that_go, not_in_recordings, beside_recordings_of_others,
                    batches_of_few, calls_that_fail);
}
