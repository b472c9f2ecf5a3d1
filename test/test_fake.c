/* fake: the stand-in driver does what real ones do, later than one hopes, and finds what it is there to find. */
#include "fake_tools.h"
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- kernels ---- */

START_TEST(fills) {
  begin("");
  char *p = device_memory(4 * N);
  uint32_t *back = (uint32_t *)pinned_memory(4 * N);
  void *s = new_stream();
  OK(launch("ldg_d_own_fill", 4, 256, s, (own_args){ .dst = p, .n = N, .value = 77 }));
  OK(d->to_host(back, p, 4 * N, s));
  OK(d->sync(s));
  for (int i = 0; i < N; i++) ck_assert_uint_eq(back[i], 77);
  OK(d->stream_free(s));
  OK(d->free(p));
  OK(d->free_pinned(back));
  unload();
}
END_TEST

/* Runs a kernel over 4 blocks of 64 words 0, 1, 2 ... and returns what it made of them. */
static const uint32_t *over_blocks(const char *name, uint32_t value, int expect) {
  char *p = device_memory(4 * 256), *q = device_memory(4 * 256);
  uint32_t *host = (uint32_t *)pinned_memory(4 * 256);
  for (uint32_t i = 0; i < 256; i++) host[i] = i;
  OK(d->to_device(p, host, 4 * 256, NULL));
  OK(launch(name, 4, 64, NULL, (own_args){ .src = p, .dst = q, .n = 32, .value = value }));
  if (!expect) OK(d->to_host(host, q, 4 * 256, NULL));
  ck_assert_int_eq(d->sync(NULL), expect);
  return host;
}

START_TEST(barriers) {
  begin("");
  for (uint32_t turn = 0; turn < 20; turn++) {
    const uint32_t *out = over_blocks("ldg_d_own_reverse", turn, 0);
    for (uint32_t i = 0; i < 256; i++) ck_assert_uint_eq(out[i], i + turn);
  }
  OK(driver_leave(d, 0));
}
END_TEST

/* A race: the sanitizer for them sees it, and without it what comes out is wrong. */
static void without_barrier(void) {
  const uint32_t *out = over_blocks("ldg_d_own_no_barrier", 0, 0);
  bool right = true;
  for (uint32_t i = 0; i < 256; i++) right = right && out[i] == i / 64 * 64 + 63 - i % 64;
  exit(right);
}

static int in_child(void (*work)(void), const char *settings) {
  const pid_t pid = fork();
  ck_assert(pid >= 0);
  if (!pid) {
    signal(SIGSEGV, SIG_DFL); /* a sanitizer may have its own */
    signal(SIGABRT, SIG_DFL);
    begin(settings);
    work();
    exit(0);
  }
  int status = 0;
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/* Threads without a barrier share lanes, but not with those beside them: the sanitizer sees that both write. */
static void neighbours(void) {
  char *p = device_memory(4 * 256);
  OK(launch("ldg_d_own_neighbours", 1, 256, NULL, (own_args){ .dst = p }));
  OK(d->sync(NULL));
  exit(0);
}

START_TEST(race_of_neighbours) {
  ck_assert_int_eq(in_child(neighbours, ""), TEST_TSAN ? SEEN_BY_SANITIZER : 0);
}
END_TEST

START_TEST(missing_barrier) {
  ck_assert_int_eq(in_child(without_barrier, ""), TEST_TSAN ? SEEN_BY_SANITIZER : 0);
}
END_TEST

static void lone_fault(const char *name, int err) {
  begin("");
  over_blocks(name, 0, err);
  ck_assert_int_eq(d->sync(NULL), err); /* the context is lost */
  ck_assert_int_eq(faults(), 1);
}

START_TEST(threads_that_leave) { lone_fault("ldg_d_own_early_leave", LAUNCH_FAILED); }
END_TEST
START_TEST(two_barriers) { lone_fault("ldg_d_own_two_barriers", LAUNCH_FAILED); }
END_TEST
START_TEST(too_much_shared_memory) { lone_fault("ldg_d_own_greedy", LAUNCH_FAILED); }
END_TEST

static void fault_at(own_args a, int err) {
  OK(launch("ldg_d_own_wide", 1, 1, NULL, a));
  ck_assert_int_eq(d->sync(NULL), err);
  ck_assert_int_eq(faults(), err != 0);
}

START_TEST(aligned_words) {
  begin("");
  char *p = device_memory(64);
  fault_at((own_args){ .dst = p, .src = p + 48 }, 0);
  fault_at((own_args){ .dst = p, .src = p + 8 }, MISALIGNED);
}
END_TEST

START_TEST(over_the_end) {
  begin("");
  char *p = device_memory(63);
  fault_at((own_args){ .dst = p, .src = p + 32 }, 0);
  fault_at((own_args){ .dst = p + 48, .src = p }, ILLEGAL_ADDRESS);
}
END_TEST

START_TEST(memory_of_the_host) {
  begin("");
  static _Alignas(16) char mine[4096];
  char *p = device_memory(16);
  OK(d->enroll(mine, sizeof mine, 0));
  fault_at((own_args){ .dst = p, .src = mine }, 0);
  OK(d->unenroll(mine));
  fault_at((own_args){ .dst = p, .src = mine }, ILLEGAL_ADDRESS);
}
END_TEST

START_TEST(freed_memory) {
  begin("");
  char *p = device_memory(16), *q = device_memory(16);
  OK(d->free(q));
  fault_at((own_args){ .dst = p, .src = q }, ILLEGAL_ADDRESS);
}
END_TEST

START_TEST(memory_of_another_device) {
  begin("");
  char *p = device_memory(16);
  OK(driver_enter(d, 1));
  char *q = device_memory(16);
  OK(driver_leave(d, 1));
  fault_at((own_args){ .dst = p, .src = q }, ILLEGAL_ADDRESS);
}
END_TEST

/* ---- the host keeps off ---- */

static void touch(void) { *(volatile char *)device_memory(16) = 1; }

START_TEST(poison) {
  const int ended = in_child(touch, "");
  ck_assert(ended == -SIGSEGV || (TEST_ASAN && ended == 1) || (TEST_TSAN && ended == SEEN_BY_SANITIZER));
}
END_TEST

START_TEST(copies_out_of_bounds) {
  begin("");
  char *p = device_memory(100), host[200] = { 0 };
  OK(d->to_device(p + 50, host, 50, NULL));
  ck_assert_int_ne(d->to_device(p + 50, host, 51, NULL), 0);
  ck_assert_int_ne(d->to_host(host, p - 1, 2, NULL), 0);
  ck_assert_int_ne(d->fill(p, 0, 101, NULL), 0);
  ck_assert_int_ge(faults(), 3);
  OK(d->free(p));
  ck_assert_int_ne(d->free(p), 0);
  ck_assert_int_eq(faults(), 1);
  ck_assert_int_eq(d->fake("pageable"), 1);
  end();
}
END_TEST

/* ---- streams ---- */

START_TEST(later) {
  begin("patience -1");
  char *p = device_memory(4), *s = new_stream();
  volatile char *host = pinned_memory(4);
  host[0] = 1;
  OK(d->fill(p, 2, 4, s));
  OK(d->to_host((char *)host, p, 4, s));
  usleep(3000);
  ck_assert_int_eq(host[0], 1);
  ck_assert_int_eq(d->fake("queued"), 2);
  ck_assert_int_eq(d->query(s), NOT_READY);
  ck_assert_int_eq(host[0], 1);
  OK(d->query(s));
  ck_assert_int_eq(host[0], 2);
  d->fake("late 3");
  OK(d->fill(p, 3, 4, s));
  for (int i = 0; i < 3; i++) ck_assert_int_eq(d->query(s), NOT_READY);
  OK(d->query(s));
  OK(d->stream_free(s));
  OK(d->free(p));
  OK(d->free_pinned((char *)host));
  end();
}
END_TEST

/* A host that polls memory is served by the driver's own thread. */
START_TEST(polled) {
  begin("patience 100");
  uint32_t *counter = (uint32_t *)device_memory(16), *flag = (uint32_t *)pinned_memory(4);
  void *s = new_stream();
  __atomic_store_n(flag, 0, __ATOMIC_RELEASE);
  OK(d->fill(counter, 0, 8, s));
  uint32_t *threads = (uint32_t *)pinned_memory(4);
  *threads = 3 * 64;
  OK(d->to_device(counter + 2, threads, 4, s));
  OK(launch("ldg_d_own_last", 3, 64, s, (own_args){ .dst = (char *)counter, .flag = (char *)flag, .value = 9 }));
  while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != 9) usleep(50);
  uint64_t *sum = (uint64_t *)pinned_memory(8);
  OK(d->to_host(sum, counter, 8, s));
  OK(d->sync(s));
  ck_assert_uint_eq(*sum, 2 * 3 * 64);
}
END_TEST

static void append(void *at) { /* of a list that ends with 0 */
  char *list = at;
  list[strlen(list)] = '!';
}

/* Work on two streams is ordered by events, and by the default stream if they let it. */
START_TEST(events) {
  begin("patience -1");
  void *a = new_stream(), *b = new_stream(), *e = NULL;
  char list[8] = "";
  OK(d->event(&e, 2));
  OK(d->event_query(e)); /* never recorded */
  OK(d->call(a, append, list));
  OK(d->record(e, a));
  OK(d->wait_event(b, e, 0));
  OK(d->call(b, append, list));
  ck_assert_int_eq(d->event_query(e), NOT_READY);
  OK(d->sync(b));
  ck_assert_str_eq(list, "!!");
  OK(d->event_query(e));
  OK(d->event_sync(e));
  OK(d->event_free(e));
  OK(d->stream_free(a));
  OK(d->stream_free(b));
  end();
}
END_TEST

static void call_driver(void *err) {
  int n;
  *(int *)err = d->device_count(&n);
}

START_TEST(callbacks_do_not_call) {
  begin("");
  int err = 0;
  OK(d->call(NULL, call_driver, &err));
  OK(d->sync(NULL));
  ck_assert_int_eq(err, NOT_PERMITTED);
  ck_assert_int_eq(faults(), 1);
}
END_TEST

/* ---- faults on demand, contexts, counts ---- */

START_TEST(on_demand) {
  begin("");
  void *p = NULL;
  d->fake("fail cuMemAlloc 2 2");
  d->fake("fail hipMalloc 2 2");
  OK(d->alloc(&p, 8));
  void *q = p;
  ck_assert_int_eq(d->alloc(&q, 8), OUT_OF_MEMORY);
  d->fake("room 16");
  OK(d->alloc(&q, 8));
  void *r = NULL;
  ck_assert_int_eq(d->alloc(&r, 1), OUT_OF_MEMORY);
  OK(d->free(p));
  OK(d->free(q));
  d->fake("reset");
  OK(d->device_count(&(int){ 0 }));
  OK(d->device_count(&(int){ 0 }));
  ck_assert_int_eq(d->fake(strcmp(backend, "hip") ? "count cuDeviceGetCount" : "count hipGetDeviceCount"), 2);
  ck_assert_int_eq(d->fake("count"), 2);
  ck_assert_int_eq(d->fake("nonsense"), -1);
  d->fake("lost 46");
  ck_assert_int_eq(d->alloc(&p, 8), 46);
  ck_assert_int_eq(d->sync(NULL), 46);
  d->fake("reset");
  end();
}
END_TEST

START_TEST(failing_kernels) {
  begin("kernel-fail 2 719");
  char *p = device_memory(4);
  OK(launch("ldg_d_own_fill", 1, 1, NULL, (own_args){ .dst = p, .n = 1 }));
  OK(d->sync(NULL));
  OK(launch("ldg_d_own_fill", 1, 1, NULL, (own_args){ .dst = p, .n = 1 }));
  ck_assert_int_eq(d->sync(NULL), LAUNCH_FAILED);
  ck_assert_int_eq(d->fill(p, 0, 4, NULL), LAUNCH_FAILED);
  ck_assert_int_eq(d->fake("faults"), 0);
}
END_TEST

START_TEST(bad_launches) {
  begin("");
  void *f = kernel("ldg_d_own_fill"), *other = NULL, *module = NULL;
  own_args a = { .n = 0 };
  OK(d->load(&module, "ldg fake image"));
  ck_assert_int_eq(d->function(&other, module, "ldg_d_nothing"), NOT_FOUND);
  OK(d->unload(module));
  ck_assert_int_ne(d->launch(f, 0, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &a }, NULL), 0);
  ck_assert_int_ne(d->launch(f, 1, 1, 1, 257, 1, 1, 0, NULL, (void *[]){ &a }, NULL), 0);
  ck_assert_int_ne(d->launch(f, 1, 1, 1, 1, 1, 1, 1 << 20, NULL, (void *[]){ &a }, NULL), 0);
  ck_assert_int_ne(d->launch(&a, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &a }, NULL), 0);
  ck_assert_int_ne(d->launch(f, 1, 1, 1, 1, 1, 1, 0, &a, (void *[]){ &a }, NULL), 0);
  ck_assert_int_eq(faults(), 5);
  ck_assert_int_ne(d->load(&module, "nonsense"), 0);
  ck_assert_int_eq(faults(), 1);
}
END_TEST

START_TEST(contexts) {
  begin("");
  void *s = new_stream(), *now = NULL, *other = NULL;
  char *p = device_memory(8);
  OK(driver_enter(d, 1));
  OK(d->current(&other));
  ck_assert_int_ne(d->fill(p, 0, 8, s), 0); /* a stream of the other device */
  ck_assert_int_eq(faults(), 1);
  OK(driver_leave(d, 1));
  OK(d->current(&now));
  ck_assert(now && now != other);
  OK(d->stream_free(s));
  OK(d->free(p));
  OK(driver_leave(d, 0));
  void *none = NULL;
  OK(d->current(&none));
  ck_assert_ptr_null(none);
  ck_assert_int_eq(d->alloc(&none, 8), INVALID_CONTEXT);
  ck_assert_int_eq(d->pop(NULL), INVALID_CONTEXT);
  ck_assert_int_eq(faults(), 2);
  ck_assert_int_eq(d->fake("leaks"), 0);
}
END_TEST

static void fault_unseen(void) { ck_assert_int_ne(d->free((void *)8), 0); }

START_TEST(a_fault_ends_badly) { ck_assert_int_eq(in_child(fault_unseen, ""), BAD_END); }
END_TEST

START_TEST(children_have_nothing) {
  begin("");
  const pid_t pid = fork();
  ck_assert(pid >= 0);
  if (!pid) _exit(d->device_count(&(int){ 0 }));
  int status = 0;
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == NOT_INITIALIZED);
}
END_TEST

/* ---- memory ---- */

START_TEST(questions) {
  begin("");
  char *p = device_memory(1000), here[16];
  void *base = NULL, *pool = NULL;
  size_t n = 0;
  int32_t type = 0, legacy = -1, device = -1;
  OK(d->range(&base, &n, p + 999));
  ck_assert(base == p && n == 1000);
  OK(d->attribute(&type, 2, p + 5));
  OK(d->attribute(&device, 9, p));
  ck_assert(type == 2 && device == 0);
  ck_assert_int_ne(d->attribute(&type, 2, here), 0);
  OK(d->alloc_async(&pool, 16, NULL));
  OK(d->attribute(&legacy, 10, pool));
  ck_assert_int_eq(legacy, 0);
  ck_assert_int_ne(d->ipc_get(here, pool), 0);
  OK(d->free_async(pool, NULL));
  ck_assert_int_ne(d->free_async(pool, NULL), 0);
  ck_assert_int_eq(faults(), 1);
  OK(d->sync(NULL));
  d->fake("reuse 1");
  OK(d->free(p));
  ck_assert_ptr_eq(device_memory(1000), p);
  OK(d->free(p));
  end();
}
END_TEST

int main(int argc, char **argv) {
  if (getenv("LADING_TEST_BACKEND")) backend = getenv("LADING_TEST_BACKEND");
  return CHECK_MAIN("fake", argc, argv, fills, barriers, race_of_neighbours, missing_barrier, threads_that_leave, two_barriers, too_much_shared_memory, aligned_words,
                    over_the_end, memory_of_the_host, freed_memory,
                    memory_of_another_device, poison, copies_out_of_bounds, later, polled, events, callbacks_do_not_call,
                    on_demand, failing_kernels, bad_launches, contexts, a_fault_ends_badly, children_have_nothing, questions);
}
