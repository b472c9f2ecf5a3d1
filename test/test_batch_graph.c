/* batch_graph: a launch that comes again and again becomes a graph where that is faster, by clocks that the stand-in driver sets; whatever
 * fails of graphs, launches do it. */
#include "batch_device.h"
#include "backend.h"

static const call graph_launches = { "cuGraphLaunch", "hipGraphLaunch" },
                  graphs_made = { "cuGraphInstantiateWithFlags", "hipGraphInstantiateWithFlags" },
                  graphs_freed = { "cuGraphExecDestroy", "hipGraphExecDestroy" },
                  event_queries = { "cuEventQuery", "hipEventQuery" },
                  streams_made = { "cuStreamCreate", "hipStreamCreateWithFlags" },
                  events_made = { "cuEventCreate", "hipEventCreateWithFlags" };

enum { KEPT = 32 /* graphs */, TRIALS = 14 /* more than it takes to decide */, SPOTS = 32, SOURCES = 7, MANY = LDG_FEW_CARGOS + 1 /* for a page */ };

/* Turns of n sums, or copies, of 4-byte numbers; every turn takes other ones to other spots. */
typedef struct sums { void *stream; lading_queue *q; lading_batch *b; char *at; int32_t *host, want[SPOTS]; int turns; } sums;

static bool sums_open(sums *s, const char *setting) {
  *s = (sums){ .stream = NULL };
  lading_queue_free(device_begin(""));
  if (*setting && !d->fake) return driver_leave(d, 0), false; /* a real one cannot be told */
  OK(d->stream(&s->stream, 1));
  OK(lading_queue_wrap(backend, s->stream, &s->q));
  tell("reset");
  if (*setting) tell(setting);
  s->b = batch_of(s->q, &by_hand);
  s->at = device_memory((SOURCES + 1) * SPOTS * 4), s->host = (int32_t *)pinned_memory((SOURCES + 1) * SPOTS * 4);
  for (int i = 0; i < (SOURCES + 1) * SPOTS; i++) s->host[i] = i < SOURCES * SPOTS ? i + 1 : 0;
  OK(d->to_device(s->at, s->host, (SOURCES + 1) * SPOTS * 4, NULL));
  OK(d->sync(NULL));
  return true;
}

static void sums_start(sums *s, int n, lading_op op, lading_request *r) {
  const int from = s->turns++ % SOURCES * SPOTS;
  for (int i = 0; i < n; i++) {
    const int to = (i + s->turns) % SPOTS;
    lading_work w = sum_of(s->at + 4 * (from + i), s->at + 4 * (SOURCES * SPOTS + to));
    w.op = op;
    r[i] = added(s->b, &w), s->want[to] = from + i + 1 + (op == LADING_SUM ? s->want[to] : 0);
  }
  OK(lading_batch_flush(s->b));
}

static void sums_turn(sums *s, int n, lading_op op) {
  lading_request r[SPOTS];
  sums_start(s, n, op, r);
  for (int i = 0; i < n; i++) OK(lading_batch_wait(s->b, r[i]));
  OK(lading_queue_sync(s->q));
}

static void sums_close(sums *s) {
  OK(d->to_host(s->host, s->at + SOURCES * SPOTS * 4, SPOTS * 4, NULL));
  OK(d->sync(NULL));
  for (int i = 0; i < SPOTS; i++) ck_assert_int_eq(s->host[i], s->want[i]);
  ck_assert_int_eq(counts_of(s->b).failed, 0);
  lading_batch_free(s->b);
  OK(d->free(s->at));
  OK(d->free_pinned(s->host));
  lading_queue_free(s->q);
  OK(d->stream_free(s->stream));
  driver_leave(d, 0);
  ck_assert_int_eq(tell("faults"), 0);
  tell("reset");
}

/* The clock of events says what is faster, by a second. */
static void decided(const char *setting, bool graphs) {
  enum { TURNS = 10 };
  sums s;
  if (!sums_open(&s, setting)) return;
  for (int i = 0; i < TRIALS; i++) sums_turn(&s, MANY, LADING_SUM);
  ck_assert_int_eq(counted(graphs_made), 1);
  const int64_t before = counted(graph_launches), launched = counted(launches);
  for (int i = 0; i < TURNS; i++) sums_turn(&s, MANY, LADING_SUM);
  ck_assert_int_eq(counted(graph_launches) - before, graphs ? TURNS : 0);
  ck_assert_int_eq(counted(launches) - launched, graphs ? 0 : TURNS);
  sums_close(&s);
}

START_TEST(graphs_where_faster) { decided("launch-takes 1000000000", true); }
END_TEST
START_TEST(launches_where_faster) { ONE_THREAD_ONLY(); decided("graph-takes 1000000000", false); }
END_TEST

/* A graph of the caller's gets the single commands, and the launch that is recorded there is none that is timed. */
START_TEST(not_in_recordings) {
  sums s;
  void *graph;
  lading_request r[SPOTS];
  if (!sums_open(&s, "launch-takes 1000000000")) return;
  for (int i = 0; i < TRIALS; i++) sums_turn(&s, MANY, LADING_SUM);
  const int64_t before = counted(graph_launches), launched = counted(launches);
  ck_assert_int_gt(before, 0);
  int32_t want[SPOTS];
  memcpy(want, s.want, sizeof want);
  OK(d->begin_capture(s.stream, 0));
  sums_start(&s, MANY, LADING_SUM, r);
  OK(d->end_capture(s.stream, &graph));
  memcpy(s.want, want, sizeof want); /* it never runs */
  ck_assert_int_eq(counted(graph_launches), before);
  ck_assert_int_eq(counted(launches), launched + 1);
  OK(d->graph_free(graph));
  sums_turn(&s, MANY, LADING_SUM);
  sums_close(&s);
}
END_TEST

/* Somebody records another stream, and wants to hear of every call that might disturb that. */
START_TEST(beside_recordings_of_others) {
  void *other, *graph = NULL;
  sums s;
  if (!sums_open(&s, "launch-takes 1000000000")) return;
  OK(d->stream(&other, 1));
  OK(d->begin_capture(other, 0));
  for (int i = 0; i < TRIALS; i++) sums_turn(&s, MANY, LADING_SUM);
  ck_assert_int_eq(counted(graphs_made), 1);
  OK(d->end_capture(other, &graph));
  OK(d->graph_free(graph));
  OK(d->stream_free(other));
  sums_close(&s);
}
END_TEST

/* Launches alike, four of them under way at a time, from a page each. Whatever a real device finds faster, the sums are right. */
START_TEST(pages_of_their_own) {
  enum { ABREAST = 4 };
  sums s;
  sums_open(&s, "");
  tell("patience -1"), tell("launch-takes 1000000000");
  for (int i = 0; i < TRIALS + 6; i++) {
    lading_request r[ABREAST][SPOTS];
    for (int k = 0; k < ABREAST; k++) sums_start(&s, MANY, LADING_SUM, r[k]);
    for (int k = 0; k < ABREAST; k++)
      for (int j = 0; j < MANY; j++) OK(lading_batch_wait(s.b, r[k][j]));
    OK(lading_queue_sync(s.q));
  }
  if (d->fake) ck_assert_int_gt(counted(graph_launches), 2 * ABREAST);
  sums_close(&s);
}
END_TEST

/* As many tiles, by one request of two tiles or by two of one each, beside others, in turn. */
START_TEST(cargos_of_as_many_tiles) {
  enum { LONG = 8 * LDG_TILE, APART = LONG + 200, ALL = 2 * ((MANY + 1) * APART + 8) };
  lading_queue *q = device_begin("");
  tell("reset"), tell("launch-takes 1000000000");
  lading_batch *b = batch_of(q, &by_hand);
  char *at = device_memory(ALL), *host = pinned_memory(2 * ALL), *to = at + ALL / 2 + 4;
  lading_type *numbers;
  OK(lading_type_contiguous(LONG / 4, lading_elem_type(LADING_INT32), &numbers));
  for (int i = 0; i < 2 * TRIALS; i++) {
    const lading_mem there = { LADING_MEM_DEVICE, 0 };
    lading_request r[MANY + 1];
    const int n = MANY + i % 2;
    for (int k = 0; k < ALL; k++) host[k] = (char)(i + k / 100);
    OK(d->to_device(at, host, ALL, NULL));
    OK(d->sync(NULL));
    for (int k = 0; k < n; k++) {
      const int64_t bytes = i % 2 == 0 && k == 0 ? LONG : 4;
      lading_work w = { .kind = LADING_WORK_PACK, .src_type = numbers, .src_count = 1, .src = at + 4 + k * APART, .dst = to + k * APART, .hi = bytes,
                        .src_mem = there, .dst_mem = there };
      r[k] = added(b, &w);
      memcpy(host + ALL / 2 + 4 + k * APART, host + 4 + k * APART, (size_t)bytes);
    }
    OK(lading_batch_flush(b));
    for (int k = 0; k < n; k++) OK(lading_batch_wait(b, r[k]));
    OK(lading_queue_sync(q));
    OK(d->to_host(host + ALL, at, ALL, NULL));
    OK(d->sync(NULL));
    ck_assert(memcmp(host, host + ALL, ALL) == 0);
  }
  if (d->fake) ck_assert_int_eq(counted(graphs_made), 2);
  lading_type_free(numbers);
  lading_batch_free(b);
  OK(d->free(at));
  OK(d->free_pinned(host));
  device_end(q);
  tell("reset");
}
END_TEST

/* More signatures than are kept: who was not used for long goes, and is made anew when it comes back. */
START_TEST(graphs_are_forgotten) {
  ONE_THREAD_ONLY();
  enum { LENGTHS = TEST_ASAN ? 2 : 17 };
  sums s;
  int64_t made = 0;
  if (!sums_open(&s, "launch-takes 1000000000")) return;
  for (int n = 1; n <= LENGTHS; n++)
    for (int sum = 0; sum < 2; sum++) {
      for (int i = 0; i < TRIALS; i++) sums_turn(&s, LDG_FEW_CARGOS + n, sum ? LADING_SUM : LADING_REPLACE);
      ck_assert_int_eq(counted(graphs_made), ++made);
      ck_assert_int_eq(made - counted(graphs_freed), ldg_min(made, KEPT));
    }
  for (int i = 0; i < TRIALS; i++) sums_turn(&s, MANY, LADING_REPLACE);
  ck_assert_int_eq(counted(graphs_made), made > KEPT ? made + 1 : made);
  made = counted(graphs_made);
  sums_close(&s);
}
END_TEST

/* The n-th signature of those below. */
static void turn_of(sums *s, int n) { sums_turn(s, MANY + n / 2, n % 2 ? LADING_SUM : LADING_REPLACE); }

/* A full table, and none goes: the stream is not done, as far as the driver says. Then all is well, and the oldest one goes. */
START_TEST(busy_graphs_stay) {
  sums s;
  if (TEST_TSAN || TEST_ASAN || !sums_open(&s, "launch-takes 1000000000")) return;
  for (int n = 0; n < KEPT; n++)
    for (int i = 0; i < TRIALS; i++) turn_of(&s, n);
  ck_assert_int_eq(counted(graphs_made), KEPT);
  tell("late 1000000"), turn_of(&s, KEPT - 1); /* it counts from the next command on */
  for (int i = 0; i < TRIALS; i++) turn_of(&s, KEPT);
  ck_assert_int_eq(counted(graphs_made), KEPT);
  ck_assert_int_eq(counted(graphs_freed), 0);
  tell("late 0"), turn_of(&s, KEPT - 1);
  for (int i = 0; i < TRIALS; i++) turn_of(&s, KEPT);
  ck_assert_int_eq(counted(graphs_made), KEPT + 1);
  ck_assert_int_eq(counted(graphs_freed), 1);
  sums_close(&s);
}
END_TEST

/* A launch whose end nobody has heard of is forgotten: its time is not taken for that of the one which got its place. */
START_TEST(timed_and_forgotten) {
  ONE_THREAD_ONLY();
  enum { TO_A_GRAPH = 5 /* one that is cold, four that are timed */ };
  sums s;
  if (!sums_open(&s, "launch-takes 1000000000")) return;
  for (int i = 0; i < 2; i++) turn_of(&s, 0);
  for (int n = 1; n <= KEPT; n++) {
    OK(tell_of("fail", event_queries, " 1 600")); /* not ready */
    turn_of(&s, n);
  }
  for (int i = 1; i < TO_A_GRAPH; i++) turn_of(&s, KEPT);
  ck_assert_int_eq(counted(graphs_made), 0);
  turn_of(&s, KEPT);
  ck_assert_int_eq(counted(graphs_made), 1);
  sums_close(&s);
}
END_TEST

/* Room is made beside a recording of somebody else's, too. */
START_TEST(forgotten_beside_a_recording) {
  sums s;
  void *other, *graph = NULL;
  if (!sums_open(&s, "launch-takes 1000000000")) return;
  for (int i = 0; i < TRIALS; i++) turn_of(&s, 0);
  ck_assert_int_eq(counted(graphs_made), 1);
  OK(d->stream(&other, 1));
  OK(d->begin_capture(other, 0));
  for (int n = 1; n <= KEPT; n++) turn_of(&s, n);
  OK(d->end_capture(other, &graph));
  ck_assert_int_eq(counted(graphs_freed), 1);
  OK(d->graph_free(graph));
  OK(d->stream_free(other));
  sums_close(&s);
}
END_TEST

/* Where times cannot be had, no graph is tried again and again. */
START_TEST(no_times) {
  ONE_THREAD_ONLY();
  static const call calls[] = { { "cuEventElapsedTime", "hipEventElapsedTime" }, { "cuEventQuery", "hipEventQuery" } };
  for (int64_t k = 0; k < COUNT_OF(calls); k++) {
    sums s;
    if (!sums_open(&s, "launch-takes 1000000000")) return;
    OK(tell_of("fail", calls[k], " 1 999"));
    for (int i = 0; i < 2 * TRIALS; i++) sums_turn(&s, MANY, LADING_SUM);
    ck_assert_int_eq(counted(graphs_made), 0);
    sums_close(&s);
  }
}
END_TEST

/* What graphs take is made when a launch comes again: neither for a batch that launches nothing, nor for what comes once. */
START_TEST(made_when_needed) {
  sums s;
  lading_batch *idle[4];
  if (!sums_open(&s, "launch-takes 1000000000")) return;
  const int64_t events = counted(events_made), streams = counted(streams_made);
  for (int i = 0; i < 4; i++) idle[i] = batch_of(s.q, &by_hand);
  ck_assert_int_eq(counted(events_made), events);
  for (int n = 1; n < 5; n++) sums_turn(&s, LDG_FEW_CARGOS + n, LADING_SUM);
  ck_assert_int_eq(counted(streams_made), streams);
  for (int n = 1; n < 5; n++) sums_turn(&s, LDG_FEW_CARGOS + n, LADING_SUM);
  ck_assert_int_eq(counted(streams_made), streams + 1);
  for (int i = 0; i < 4; i++) lading_batch_free(idle[i]);
  sums_close(&s);
}
END_TEST

/* Whatever fails of a graph: what it would have done is done by launches. */
START_TEST(graphs_fail) {
  ONE_THREAD_ONLY();
  static const call calls[] = {
    { "cuStreamBeginCapture", "hipStreamBeginCapture" }, { "cuStreamEndCapture", "hipStreamEndCapture" },
    { "cuGraphInstantiateWithFlags", "hipGraphInstantiateWithFlags" }, { "cuGraphLaunch", "hipGraphLaunch" },
    { "cuGraphDestroy", "hipGraphDestroy" }, { "cuGraphExecDestroy", "hipGraphExecDestroy" },
    { "cuEventRecord", "hipEventRecord" }, { "cuEventElapsedTime", "hipEventElapsedTime" },
    { "cuEventQuery", "hipEventQuery" },
  };
  for (int64_t k = 0; k < COUNT_OF(calls); k++)
    for (int nth = 1; nth <= (TEST_ASAN ? 1 : 3); nth++) {
      sums s;
      char rest[24];
      snprintf(rest, sizeof rest, " %d 999", nth);
      if (!sums_open(&s, "launch-takes 1000000000")) return;
      OK(tell_of("fail", calls[k], rest));
      for (int i = 0; i < TRIALS + 4; i++) sums_turn(&s, MANY + i % 2, LADING_SUM);
      sums_close(&s);
    }
}
END_TEST

/* What is recorded fails, or nothing that graphs take can be made: all goes as it would without them. */
START_TEST(no_graphs) {
  ONE_THREAD_ONLY();
  static const call calls[] = { { "cuLaunchKernel", "hipModuleLaunchKernel" }, { "cuStreamCreate", "hipStreamCreateWithFlags" }, { "cuEventCreate", "hipEventCreateWithFlags" } };
  static const char *const when[] = { " 6 999", " 1 2", " 2 2" }; /* the sixth launch: five by themselves, then one that is recorded */
  for (int64_t k = 0; k < COUNT_OF(calls); k++) {
    sums s;
    if (!sums_open(&s, "launch-takes 1000000000")) return;
    lading_batch_free(s.b);
    OK(tell_of("fail", calls[k], when[k]));
    s.b = batch_of(s.q, &by_hand);
    for (int i = 0; i < TRIALS; i++) sums_turn(&s, MANY, LADING_SUM);
    ck_assert_int_eq(counted(graph_launches), 0);
    sums_close(&s);
  }
}
END_TEST

BATCH_DEVICE_MAIN("batch_graph", graphs_where_faster, launches_where_faster, not_in_recordings, beside_recordings_of_others, pages_of_their_own, cargos_of_as_many_tiles, graphs_are_forgotten, busy_graphs_stay, timed_and_forgotten,
                  forgotten_beside_a_recording, no_times, made_when_needed, graphs_fail, no_graphs)
