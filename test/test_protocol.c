/* protocol: what the library asks of a driver, and what becomes of it when the driver fails. Runs over the stand-in driver alone,
 * whose counts and faults are the judge; the moves themselves are those of the host. */
#include "random_types.h"
#include "areas.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KERNELS = 4 /* of do_much */, BYTES = 1 << 16, FAILED = 719, NO_MEMORY = 2 };
#define OK(call) ck_assert_int_eq(call, LADING_OK)

static const char *backend = "cuda";
static const driver *d;

static void begin(const char *settings) {
  d = driver_open(backend);
  ck_assert_msg(d && d->fake, "the fake driver was not found: LD_LIBRARY_PATH must name its folder");
  if (*settings) OK((int)d->fake(settings));
}

static void *device_memory(int64_t n) {
  void *p = NULL;
  OK(driver_enter(d, 0));
  OK(d->alloc(&p, (size_t)n));
  OK(driver_leave(d, 0));
  return p;
}

static void copy_now(void *dst, const void *src, int64_t n) {
  OK(driver_enter(d, 0));
  OK(driver_copy(d, dst, src, (size_t)n, NULL));
  OK(d->sync(NULL));
  OK(driver_leave(d, 0));
}

static lading_queue *new_queue(void) {
  lading_queue *q = NULL;
  OK(lading_queue_create(backend, 0, &q));
  return q;
}

static const lading_mem on_device = { LADING_MEM_DEVICE, 0 }, on_host = { LADING_MEM_HOST, -1 };

static lading_work pack_of(const lading_type *t, int64_t count, const void *src, void *dst, lading_mem from, lading_mem to) {
  const lading_info i = info_of(t);
  return (lading_work){ .kind = LADING_WORK_PACK, .src_type = t, .src_count = count, .src = src, .dst = dst, .hi = count * i.size, .src_mem = from,
                        .dst_mem = to };
}

static lading_type *vector_type(void) { return parsed("vector(100,3,7,int)"); }
static lading_type *list_type(void) { return parsed("indexed_block(1,[5,1,9,3,30,7,2],double)"); }

/* ---- counts: what a small work takes ---- */

/* Calls of a work that has been done once before. */
static void calls_of(const lading_work *w, lading_request *r, lading_queue *q) {
  OK(lading_enqueue(q, w, r));
  OK(lading_queue_sync(q));
  d->fake("reset");
  OK(lading_enqueue(q, w, r));
}

static int64_t count(const char *cuda, const char *hip) {
  char line[64];
  snprintf(line, sizeof line, "count %s", strcmp(backend, "hip") ? cuda : hip);
  return d->fake(line);
}
static int64_t launches(void) { return count("cuLaunchKernel", "hipModuleLaunchKernel"); }
static int64_t copies(void) { return count("cuMemcpyAsync", "hipMemcpyAsync"); }
/* Beside those that make the context current and give it back. */
static int64_t all_calls(void) {
  const int64_t of_thread = d->device ? count(NULL, "hipGetDevice") + count(NULL, "hipSetDevice") : 0;
  return d->fake("count") - count("cuCtxPushCurrent", "hipCtxPushCurrent") - count("cuCtxPopCurrent", "hipCtxPopCurrent") - of_thread;
}

static void end(lading_queue *q) {
  OK(lading_queue_sync(q));
  lading_queue_free(q);
  ck_assert_int_eq(d->fake("faults"), 0);
}

START_TEST(one_launch) {
  begin("");
  lading_queue *q = new_queue();
  lading_type *t = vector_type();
  const lading_work w = pack_of(t, 1, device_memory(BYTES), device_memory(BYTES), on_device, on_device);
  calls_of(&w, NULL, q);
  ck_assert_int_eq(launches(), 1);
  ck_assert_int_eq(all_calls(), 1);
  lading_type_free(t);
  end(q);
}
END_TEST

/* A run is a copy, or a launch where the driver can do launches by graphs. */
START_TEST(one_command_for_a_run) {
  begin("");
  lading_queue *q = new_queue();
  lading_type *t = parsed("contiguous(1000,int)");
  const lading_work w = pack_of(t, 3, device_memory(BYTES), device_memory(BYTES), on_device, on_device);
  calls_of(&w, NULL, q);
  ck_assert_int_eq(copies() + launches(), 1);
  ck_assert_int_eq(all_calls(), 1);
  lading_type_free(t);
  end(q);
}
END_TEST

/* A list goes through a table, which the second work finds. Capturing is asked for, since a graph would keep the table. */
START_TEST(one_launch_of_a_list) {
  begin("");
  lading_queue *q = new_queue();
  lading_type *t = list_type();
  const lading_work w = pack_of(t, 10, device_memory(BYTES), device_memory(BYTES), on_device, on_device);
  calls_of(&w, NULL, q);
  ck_assert_int_eq(launches(), 1);
  ck_assert_int_le(all_calls(), 2);
  lading_type_free(t);
  end(q);
}
END_TEST

START_TEST(one_event_for_a_request) {
  begin("");
  lading_queue *q = new_queue();
  lading_type *t = vector_type();
  lading_request r = 0;
  bool done = true;
  const lading_work w = pack_of(t, 1, device_memory(BYTES), device_memory(BYTES), on_device, on_device);
  OK((int)d->fake("patience -1"));
  calls_of(&w, &r, q);
  ck_assert_int_eq(count("cuEventRecord", "hipEventRecord"), 1);
  ck_assert_int_le(all_calls(), 4); /* whether a graph is recorded; the launch; an event, and its place in the stream */
  OK(lading_test(q, r, &done));
  ck_assert(!done);
  OK(lading_wait(q, r));
  OK(lading_test(q, r, &done));
  ck_assert(done);
  lading_type_free(t);
  end(q);
}
END_TEST

/* Without hints one question a side; with them none. */
START_TEST(questions) {
  begin("");
  lading_queue *q = new_queue();
  lading_type *t = vector_type();
  lading_work w = pack_of(t, 1, device_memory(BYTES), device_memory(BYTES), (lading_mem){ 0 }, (lading_mem){ 0 });
  calls_of(&w, NULL, q);
  ck_assert_int_eq(count("cuPointerGetAttributes", "hipDrvPointerGetAttributes"), 2);
  ck_assert_int_eq(count("cuPointerGetAttribute", "hipPointerGetAttribute"), 0);
  ck_assert_int_eq(all_calls(), 3);
  lading_type_free(t);
  end(q);
}
END_TEST

/* Nothing waits, though the work is not done. */
START_TEST(never_waits) {
  begin("patience -1");
  lading_queue *q = new_queue();
  lading_type *t = vector_type();
  const lading_work w = pack_of(t, 1, device_memory(BYTES), device_memory(BYTES), on_device, on_device);
  for (int i = 0; i < 100; i++) OK(lading_enqueue(q, &w, NULL));
  ck_assert_int_eq(d->fake("queued"), 100);
  lading_type_free(t);
  OK(lading_queue_sync(q));
  ck_assert_int_eq(d->fake("queued"), 0);
  end(q);
}
END_TEST

/* ---- the caller's context ---- */

static void *current(void) {
  void *now = NULL;
  OK(d->current(&now));
  return now;
}

/* HIP has one beside the context. */
static int device_of_thread(void) {
  int device = -1;
  if (d->device) OK(d->device(&device));
  return device;
}

static void use_everything(void) {
  int n = 0;
  lading_mem kind;
  lading_ipc token;
  lading_request r;
  lading_queue *q = new_queue();
  lading_type *t = list_type();
  char host[1 << 12];
  void *p = device_memory(BYTES);
  if (d->set_device) OK(d->set_device(1));
  const int of_thread = device_of_thread();
  memset(host, 1, sizeof host);
  OK(lading_device_count(backend, &n));
  ck_assert_int_eq(n, 2);
  OK(lading_mem_query(p, &kind));
  ck_assert(kind.kind == LADING_MEM_DEVICE && kind.device == 0);
  OK(lading_mem_query(host, &kind));
  ck_assert_int_eq(kind.kind, LADING_MEM_HOST);
  lading_work w = pack_of(t, 2, host, p, on_host, on_device);
  OK(lading_enqueue(q, &w, &r));
  OK(lading_wait(q, r));
  OK(lading_ipc_export(p, &token));
  lading_type_free(t);
  end(q);
  ck_assert_int_eq(device_of_thread(), of_thread);
}

START_TEST(no_current_context) {
  begin("");
  use_everything();
  ck_assert_ptr_null(current());
}
END_TEST

START_TEST(another_current_context) {
  begin("");
  OK(driver_enter(d, 1));
  void *const mine = current();
  use_everything();
  ck_assert_ptr_eq(current(), mine);
  OK(driver_leave(d, 1));
  ck_assert_ptr_null(current());
}
END_TEST

/* The stream of the caller decides where work goes, not what is current. */
START_TEST(wrapped_stream) {
  begin("patience -1");
  void *s = NULL;
  lading_queue *q = NULL;
  lading_type *t = vector_type();
  void *p = device_memory(BYTES), *packed = device_memory(BYTES);
  OK(driver_enter(d, 0));
  OK(d->stream(&s, 1));
  OK(driver_enter(d, 1));
  OK(lading_queue_wrap(backend, s, &q));
  const lading_work w = pack_of(t, 1, p, packed, on_device, on_device);
  OK(lading_enqueue(q, &w, NULL));
  OK(driver_leave(d, 1));
  ck_assert_int_eq(d->fake("queued"), 1);
  OK(d->sync(s));
  ck_assert_int_eq(d->fake("queued"), 0);
  lading_queue_free(q);
  OK(d->stream_free(s));
  OK(driver_leave(d, 0));
  lading_type_free(t);
  ck_assert_int_eq(d->fake("faults"), 0);
}
END_TEST

/* ---- graphs: a work that was recorded is done at every launch ---- */

START_TEST(recorded) {
  begin("");
  void *s = NULL, *graph = NULL, *exec = NULL;
  lading_queue *q = NULL;
  lading_type *types[] = { vector_type(), list_type() };
  char *p = device_memory(BYTES), *packed = device_memory(BYTES), host[BYTES], want[BYTES], got[BYTES];
  OK(driver_enter(d, 0));
  OK(d->stream(&s, 1));
  OK(lading_queue_wrap(backend, s, &q));
  for (int k = 0; k < 2; k++) {
    const lading_work w = pack_of(types[k], 1, p, packed, on_device, on_device);
    OK(lading_enqueue(q, &w, NULL)); /* tables are made when nothing is recorded */
    OK(lading_queue_sync(q));
    OK(d->begin_capture(s, 1));
    OK(lading_enqueue(q, &w, NULL));
    OK(d->end_capture(s, &graph));
    OK(d->instantiate(&exec, graph, 0));
    OK(d->graph_free(graph));
    for (int turn = 0; turn < 3; turn++) {
      for (int i = 0; i < BYTES; i++) host[i] = (char)(i * 7 + turn);
      copy_now(p, host, BYTES);
      OK(d->graph_launch(exec, s));
      OK(d->sync(s));
      copy_now(got, packed, w.hi);
      OK(lading_pack(types[k], 1, host, want, 0, w.hi));
      ck_assert_mem_eq(got, want, (size_t)w.hi);
    }
    OK(d->exec_free(exec));
    lading_type_free(types[k]);
  }
  end(q);
}
END_TEST

/* ---- failures ---- */

/* Works of many ways; what the library says of the worst, and never less than what happened. */
static int do_much(void *p, void *out) {
  static char host[BYTES], packed[BYTES];
  lading_queue *q = NULL;
  lading_type *types[] = { vector_type(), list_type(), parsed("contiguous(64,int)") };
  lading_mem kind;
  lading_ipc token;
  lading_request r;
  int n, worst = LADING_OK, e;
#define TRY(call) if ((e = (call)) != LADING_OK) worst = e
  TRY(lading_device_count(backend, &n));
  TRY(lading_queue_create(backend, 0, &q));
  for (int i = 0; q && i < 3; i++) {
    lading_work w[] = { pack_of(types[i], 2, p, out, on_device, on_device), pack_of(types[i], 2, p, packed, on_device, on_host),
                        pack_of(types[i], 2, host, out, (lading_mem){ 0 }, (lading_mem){ 0 }) };
    for (int k = 0; k < 3; k++) {
      TRY(lading_enqueue(q, &w[k], &r));
      if (!e) TRY(lading_wait(q, r));
    }
  }
  TRY(lading_mem_query(p, &kind));
  if (q) TRY(lading_queue_sync(q));
  if (q) TRY(lading_ipc_export(p, &token));
#undef TRY
  lading_queue_free(q);
  for (int i = 0; i < 3; i++) lading_type_free(types[i]);
  return worst;
}

static int in_child(const char *settings, int (*work)(void *, void *)) {
  fflush(stdout);
  const pid_t pid = fork();
  ck_assert(pid >= 0);
  if (!pid) {
    begin("");
    void *p = device_memory(BYTES), *out = device_memory(BYTES);
    OK((int)d->fake(settings));
    const int err = work(p, out);
    if (d->fake("faults")) _exit(100);
    void *now = NULL;
    d->fake("reset");
    if (d->current(&now) || now) _exit(101);
    _exit(-err);
  }
  int status = 0;
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  ck_assert_msg(WIFEXITED(status), "%s: died of signal %d", settings, WTERMSIG(status));
  return -WEXITSTATUS(status);
}

/* Every call of the driver fails once, in a process of its own. There are no threads in it. */
static void each_call_fails(int with, int expect) {
  char settings[64];
  if (TEST_TSAN) return;
  for (int n = 1; n < 500; n++) {
    snprintf(settings, sizeof settings, "fail any %d %d", n, with);
    const int err = in_child(settings, do_much);
    ck_assert_msg(err == LADING_OK || err == LADING_ERR_DEVICE || err == expect, "%s: %d", settings, err);
    if (n > 200 && err == LADING_OK) return;
  }
}

START_TEST(every_call_fails) { each_call_fails(FAILED, LADING_ERR_DEVICE); }
END_TEST
START_TEST(every_call_finds_no_memory) { each_call_fails(NO_MEMORY, LADING_ERR_NOMEM); }
END_TEST

START_TEST(all_is_well) { ck_assert_int_eq(in_child("patience 100", do_much), LADING_OK); }
END_TEST

/* A kernel fails when it runs: the queue says so, and so does every one after it. */
static int after_a_kernel(void *p, void *out) {
  const int err = do_much(p, out);
  lading_queue *q = NULL;
  lading_type *t = vector_type();
  if (lading_queue_create(backend, 0, &q) == LADING_OK) {
    const lading_work w = pack_of(t, 1, p, out, on_device, on_device);
    ck_assert_int_eq(lading_enqueue(q, &w, NULL), LADING_ERR_DEVICE);
    ck_assert_int_eq(lading_queue_sync(q), LADING_ERR_DEVICE);
  }
  lading_queue_free(q);
  lading_type_free(t);
  return err;
}

START_TEST(kernels_fail) {
  for (int n = 1; n <= KERNELS; n++) {
    char settings[64];
    snprintf(settings, sizeof settings, "kernel-fail %d %d", n, FAILED);
    ck_assert_int_eq(in_child(settings, after_a_kernel), LADING_ERR_DEVICE);
  }
}
END_TEST

static int lost_midway(void *p, void *out) {
  lading_queue *q = new_queue();
  lading_type *t = vector_type();
  lading_request r = 0;
  bool done = false;
  const lading_work w = pack_of(t, 1, p, out, on_device, on_device);
  OK(lading_enqueue(q, &w, &r));
  d->fake("lost 46");
  ck_assert_int_eq(lading_enqueue(q, &w, NULL), LADING_ERR_DEVICE);
  ck_assert_int_eq(lading_test(q, r, &done), LADING_ERR_DEVICE);
  ck_assert_int_eq(lading_wait(q, r), LADING_ERR_DEVICE);
  ck_assert_int_eq(lading_queue_sync(q), LADING_ERR_DEVICE);
  lading_queue_free(q);
  lading_type_free(t);
  return LADING_OK;
}

START_TEST(device_lost) { ck_assert_int_eq(in_child("patience -1", lost_midway), LADING_OK); }
END_TEST

/* ---- no devices: the library alone, before anybody else has loaded the driver ---- */

static bool does_without(void) {
  int n = 1;
  lading_queue *q = NULL;
  lading_mem kind;
  return lading_device_count(backend, &n) == LADING_OK && n == 0 && lading_queue_create(backend, 0, &q) == LADING_ERR_DEVICE && !q &&
         lading_mem_query(&n, &kind) == LADING_OK && kind.kind == LADING_MEM_HOST;
}

static void nothing_there(const char *environment) {
  const pid_t pid = fork();
  ck_assert(pid >= 0);
  if (!pid) {
    setenv("LDG_FAKE", environment, 1);
    _exit(!does_without());
  }
  int status = 0;
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  ck_assert_int_eq(status, 0);
}

START_TEST(no_devices) { nothing_there("devices 0"); }
END_TEST
START_TEST(a_driver_that_fails) { nothing_there("fail any 1 999"); }
END_TEST

/* ---- torture: threads, queues, kinds of memory, late and shuffled ---- */

enum { THREADS = 4, TURNS = 60 };
typedef struct worker { pthread_t thread; uint64_t salt; lading_queue *queue; bool ok; } worker;

/* Packs out of device or host memory into either, now or later, and compares with the host's pack. */
static bool turn(worker *me, rng *r, char *there, char *packed_there) {
  sample *s = random_type(r, 3, 600);
  const int64_t count = rng_in(r, 1, 3), size = count * info_of(s->type).size;
  stream *x = stream_of(s->map, count);
  const int64_t span = x->hi - x->lo;
  char *host = malloc((size_t)span + 1), *want = malloc((size_t)size + 1), *got = malloc((size_t)size + 1);
  bytes_random(r, host, span);
  const bool from = rng_next(r) & 1, to = rng_next(r) & 1, asked = rng_next(r) & 1;
  const int64_t lo = rng_in(r, 0, size), hi = rng_in(r, lo, size);
  bool ok = span <= BYTES && size <= BYTES;
  if (ok && from) copy_now(there, host, span);
  lading_work w = pack_of(s->type, count, at_offset(from ? there : host, -x->lo), to ? packed_there : got, from ? on_device : on_host,
                          to ? on_device : on_host);
  w.lo = lo, w.hi = hi;
  if (asked) w.src_mem.kind = w.dst_mem.kind = LADING_MEM_UNKNOWN;
  lading_request q = 0;
  ok = ok && lading_enqueue(me->queue, &w, &q) == LADING_OK && lading_wait(me->queue, q) == LADING_OK;
  if (ok && to) copy_now(got, packed_there, hi - lo);
  ok = ok && lading_pack(s->type, count, at_offset(host, -x->lo), want, lo, hi) == LADING_OK && !memcmp(got, want, (size_t)(hi - lo));
  if (!ok) printf("%s x %lld [%lld, %lld) %d %d %d\n", s->spell, (long long)count, (long long)lo, (long long)hi, from, to, asked);
  stream_free(x), free(host), free(want), free(got);
  sample_free(s);
  return ok;
}

static void *torment(void *arg) {
  worker *me = arg;
  rng r = rng_of(me->salt);
  char *there = device_memory(BYTES), *packed = device_memory(BYTES);
  me->ok = true;
  for (int i = 0; me->ok && i < TURNS; i++) me->ok = turn(me, &r, there, packed);
  return NULL;
}

START_TEST(torture) {
  begin("patience 50");
  OK((int)d->fake("late 2"));
  worker w[THREADS];
  lading_queue *shared = new_queue();
  for (int i = 0; i < THREADS; i++) {
    w[i] = (worker){ .salt = 1000 + (uint64_t)i, .queue = i < 2 ? shared : new_queue() };
    ck_assert_int_eq(pthread_create(&w[i].thread, NULL, torment, &w[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(w[i].thread, NULL);
    ck_assert(w[i].ok);
    if (i >= 2) lading_queue_free(w[i].queue);
  }
  end(shared);
}
END_TEST

/* In a child, since nothing of a driver may live in the process that tests are forked from. */
static bool fake_there(void) {
  int status = 1;
  const pid_t pid = fork();
  if (!pid) _exit(!((d = driver_open(backend)) && d->fake));
  const bool there = waitpid(pid, &status, 0) == pid && !status;
  if (!there) printf("the driver of %s is no stand-in, which alone counts calls and fails when told to: nothing was tested\n", backend);
  return there;
}

/* --without: the folder in LD_LIBRARY_PATH has no driver, or an old one. */
int main(int argc, char **argv) {
  if (getenv("LADING_TEST_BACKEND")) backend = getenv("LADING_TEST_BACKEND");
  if (argc > 1 && !strcmp(argv[1], "--without")) return !does_without();
  if (!devices_there() || !fake_there()) return 77;
  return CHECK_MAIN("protocol", argc, argv, all_is_well, one_launch, one_command_for_a_run, one_launch_of_a_list, one_event_for_a_request, questions, never_waits,
                    no_current_context, another_current_context, wrapped_stream, recorded, every_call_fails, every_call_finds_no_memory,
                    kernels_fail, device_lost, no_devices, a_driver_that_fails, torture);
}
