/* ipc: memory of another process that is of a pool: by a descriptor of the pool, and the driver's word for the place in it. */
#include "ipc_sides.h"
#include <pthread.h>

enum { BY_FILE = 1, BY_FABRIC = 8, N = 4096, GLOBAL = 0, OTHERS = 64, PATIENCE = 10, ROUTE = 7, SPACE = 16, BYTES = 48, NONCE = 64, ROUTE_POOL = 3, POOLS = 12, KEPT = 8 };

static void *pool_new(int types) {
  const driver_pool how = { .type = 1, .handles = types, .place = 1 };
  void *pool = NULL;
  OK(v.d->pool(&pool, &how));
  return pool;
}
static char *memory_of(void *pool, size_t bytes) {
  void *at = NULL;
  OK(v.d->alloc_of(&at, bytes, pool, v.stream));
  OK(v.d->sync(v.stream));
  return at;
}
static void memory_free(char *at) {
  OK(v.d->free_async(at, v.stream));
  OK(v.d->sync(v.stream));
}
static void fill(char *at, int value) {
  OK(v.d->fill(at, (unsigned char)value, N, v.stream));
  OK(v.d->sync(v.stream));
}
static int first_of(char *at) {
  char c = 0;
  OK(v.d->to_host(&c, at, 1, v.stream));
  OK(v.d->sync(v.stream));
  return c;
}

static int64_t imports(void) { return count("cuMemPoolImportFromShareableHandle", "hipMemPoolImportFromShareableHandle"); }
static int64_t places(void) { return count("cuMemPoolImportPointer", "hipMemPoolImportPointer"); }

/* Two that talk, where the other one may fetch descriptors here. */
static line begin(void (*part)(const line *l)) {
  const line l = start(part);
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  return l;
}
/* What a child is told, opened if it may be. */
static char *heard(const line *l, lading_ipc *token, bool may) {
  void *p = NULL;
  hear(l, token, sizeof *token);
  ck_assert_int_eq(lading_ipc_open(token, &p), may ? LADING_OK : LADING_ERR_UNSUPPORTED);
  return p;
}

/* Two places of one pool: what was one layout there is another one here, and back. */
static void mover(const line *l) {
  lading_ipc token[2];
  const bool may = may_fetch();
  const int before = descriptors();
  char *p = heard(l, &token[0], may), *q = heard(l, &token[1], may);
  if (may) {
    lading_type *rows = parsed("vector(40,3,7,int)"), *columns = parsed("hvector(40,1,12,resized(hvector(3,1,1024,int),0,4))");
    lading_work w = { .kind = LADING_WORK_COPY, .src_type = rows, .src_count = 1, .src = p + 20, .dst_type = columns, .dst_count = 1, .dst = q,
                      .hi = info_of(rows).size, .src_mem = on_device, .dst_mem = on_device };
    OK(lading_enqueue(v.q, &w, NULL));
    OK(lading_queue_sync(v.q));
    if (v.d->fake) ck_assert_int_eq(imports(), 1);
    if (v.d->fake) ck_assert_int_eq(places(), 2);
    char *again = opened(&token[0]); /* found, not imported again */
    ck_assert_ptr_eq(again, p);
    if (v.d->fake) ck_assert_int_eq(places(), 2);
    OK(lading_ipc_close(again));
    OK(lading_ipc_close(p));
    OK(lading_ipc_close(q));
    ck_assert_int_eq(lading_ipc_close(p), LADING_ERR_ARG);
    lading_type_free(rows), lading_type_free(columns);
  }
  no_more_than(before + 1); /* the arena of the stand-in */
  tell(l, &may, sizeof may);
  wait_for_other(l);
}

START_TEST(moves) {
  const line l = begin(mover);
  void *pool = pool_new(BY_FILE);
  char *a = memory_of(pool, N), *b = memory_of(pool, N), from[N], got[N], want[N];
  bool may;
  rng r = rng_of(9);
  bytes_random(&r, from, N), memset(want, 0, N);
  OK(v.d->to_device(a, from, N, v.stream));
  fill(b, 0);
  const lading_ipc token[2] = { exported(a), exported(b) }, same = exported(a);
  ck_assert_int_eq(token[0].bytes[ROUTE], ROUTE_POOL);
  ck_assert(!memcmp(&same, &token[0], sizeof same));
  for (int i = 0; i < 2; i++) tell(&l, &token[i], sizeof token[i]);
  hear(&l, &may, sizeof may);
  OK(v.d->to_host(got, b, N, v.stream));
  OK(v.d->sync(v.stream));
  for (int i = 0; i < 40; i++) /* the naive way */
    for (int k = 0; k < 3; k++) memcpy(want + 12 * i + 1024 * k, from + 20 + 28 * i + 4 * k, 4);
  if (may) ck_assert(!memcmp(got, want, N));
  memory_free(a), memory_free(b); /* everybody closed it: no fault of the stand-in */
  OK(v.d->pool_free(pool));
  wait_for_other(&l);
  finish(&l);
}
END_TEST

/* The pool of each round is gone in the next one, and its handle another one's. */
static void comparer(const line *l) {
  lading_ipc token;
  const bool may = may_fetch();
  for (int i = 0; i < POOLS; i++) {
    char *p = heard(l, &token, may);
    if (may) {
      ck_assert_int_eq(first_of(p), i);
      OK(lading_ipc_close(p));
    }
    wait_for_other(l);
  }
  if (may && v.d->fake) ck_assert_int_eq(imports(), POOLS);
  if (may && v.d->fake) ck_assert_int_eq(count("cuMemPoolDestroy", "hipMemPoolDestroy"), POOLS - KEPT); /* some are kept for what comes */
}

static void makes_pools(void (*other)(const line *l)) {
  const line l = begin(other);
  for (int i = 0; i < POOLS; i++) {
    void *pool = pool_new(BY_FILE);
    char *at = memory_of(pool, N);
    fill(at, i);
    serve(&l, at);
    memory_free(at);
    OK(v.d->pool_free(pool));
  }
  finish(&l);
}

START_TEST(another_pool_there) { makes_pools(comparer); }
END_TEST

/* One pool, one import, whatever is allocated of it: as long as something that was exported lives. */
static void follower(const line *l) {
  lading_ipc token;
  const bool may = may_fetch();
  for (int i = 0; i < POOLS; i++) {
    char *p = heard(l, &token, may);
    if (may) ck_assert_int_eq(first_of(p), i);
    if (may) OK(lading_ipc_close(p));
    wait_for_other(l);
  }
  if (may && v.d->fake) ck_assert_int_eq(imports(), 1);
}

START_TEST(one_pool) {
  const line l = begin(follower);
  void *pool = pool_new(BY_FILE);
  char *at[POOLS];
  for (int i = 0; i < POOLS; i++) {
    at[i] = memory_of(pool, N);
    fill(at[i], i);
    serve(&l, at[i]);
    if (i) memory_free(at[i - 1]);
  }
  memory_free(at[POOLS - 1]);
  OK(v.d->pool_free(pool));
  finish(&l);
}
END_TEST

/* In a context of another device it is imported anew, for that one. */
static void on_two_devices(const line *l) {
  lading_ipc token;
  const bool may = may_fetch();
  char *p = heard(l, &token, may);
  if (may && v.d->fake) {
    OK(driver_enter(v.d, 1));
    char *q = opened(&token);
    ck_assert_ptr_ne(p, q);
    ck_assert_int_eq(imports(), 2);
    OK(lading_ipc_close(q));
    OK(driver_leave(v.d, 1));
  }
  if (may) OK(lading_ipc_close(p));
  wait_for_other(l);
}

/* The owner of N bytes of a pool that the other side does something with. */
static void owns_memory(void (*other)(const line *l)) {
  const line l = begin(other);
  void *pool = pool_new(BY_FILE);
  char *at = memory_of(pool, N);
  fill(at, 1);
  serve(&l, at + 33);
  memory_free(at);
  OK(v.d->pool_free(pool));
  finish(&l);
}

START_TEST(two_devices) { owns_memory(on_two_devices); }
END_TEST

static void pool_refuser(const line *l) {
  const int before = descriptors();
  refuser(l);
  no_more_than(before + 2);
}

START_TEST(bad_tokens) { owns_memory(pool_refuser); }
END_TEST

/* Neither the close, nor that of the last place of a pool too many, breaks what another one records. */
static void recorder(const line *l) {
  lading_ipc token;
  const bool may = may_fetch();
  for (int i = 0; i < POOLS; i++) {
    char *p = heard(l, &token, may);
    void *graph = NULL;
    if (may) {
      OK(v.d->begin_capture(v.stream, GLOBAL));
      OK(lading_ipc_close(p));
      ck_assert_int_eq(v.d->end_capture(v.stream, &graph), 0);
      OK(v.d->graph_free(graph));
    }
    wait_for_other(l);
  }
}

START_TEST(closed_while_recorded) { makes_pools(recorder); }
END_TEST

/* What could not be freed is said, and found by the next one. */
static void unlucky(const line *l) {
  lading_ipc token;
  const bool may = may_fetch();
  char *p = heard(l, &token, may);
  if (may && v.d->fake) {
    devices_say(&v, strcmp(v.backend, "hip") ? "fail cuMemFree 1 999" : "fail hipFree 1 999");
    ck_assert_int_eq(lading_ipc_close(p), LADING_ERR_DEVICE);
    devices_say(&v, "reset");
    ck_assert_int_eq(lading_ipc_close(p), LADING_ERR_ARG);
    ck_assert_ptr_eq(opened(&token), p);
    ck_assert_int_eq(places(), 0);
  }
  if (may) OK(lading_ipc_close(p));
  wait_for_other(l);
}

START_TEST(a_free_that_fails) { owns_memory(unlucky); }
END_TEST

/* The owner has a new ticket for it: what is open is found, by its old one and the new one. */
static void of_two_tickets(const line *l) {
  lading_ipc token[2];
  const bool may = may_fetch();
  char *p = heard(l, &token[0], may);
  wait_for_other(l);
  char *q = heard(l, &token[1], may);
  ck_assert(memcmp(&token[0], &token[1], sizeof token[0]));
  ck_assert_ptr_eq(p, q);
  if (may) {
    if (v.d->fake) ck_assert_int_eq(places(), 1);
    lading_ipc stranger = token[1], longer = token[1];
    forge(&stranger, NONCE, stranger.bytes[NONCE] ^ 1), forge(&longer, BYTES, longer.bytes[BYTES] ^ 1); /* of another process that had its number; of other memory */
    ck_assert_int_eq(lading_ipc_open(&stranger, (void **)&q), LADING_ERR_DEVICE);
    ck_assert_int_eq(lading_ipc_open(&longer, (void **)&q), LADING_ERR_FORMAT);
    OK(lading_ipc_close(q));
    OK(lading_ipc_close(opened(&token[0])));
    OK(lading_ipc_close(p));
    ck_assert_int_eq(lading_ipc_close(p), LADING_ERR_ARG);
    p = opened(&token[1]); /* by the new one alone */
    ck_assert_int_eq(first_of(p), 7);
    OK(lading_ipc_close(p));
  }
  wait_for_other(l);
}

static void gives_two_tickets(void (*other)(const line *l)) {
  const line l = begin(other);
  void *pool = pool_new(BY_FILE);
  char *at[OTHERS + 1];
  for (int i = 0; i <= OTHERS; i++) at[i] = memory_of(pool, N);
  fill(at[0], 7);
  serve(&l, at[0]);
  for (int i = 1; i <= OTHERS; i++) exported(at[i]);
  serve(&l, at[0]);
  for (int i = 0; i <= OTHERS; i++) memory_free(at[i]);
  OK(v.d->pool_free(pool));
  finish(&l);
}

START_TEST(another_ticket) { gives_two_tickets(of_two_tickets); }
END_TEST

/* ---- threads ---- */

/* Work of the device that ends when another thread has opened and closed other memory, or with `late` after a while. */
static struct { pthread_mutex_t lock; pthread_cond_t change; bool running, over, late; } gate = { .lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER };
static void gate_set(bool *which) {
  pthread_mutex_lock(&gate.lock);
  *which = true;
  pthread_cond_broadcast(&gate.change);
  pthread_mutex_unlock(&gate.lock);
}
/* Whether it came to be. */
static bool gate_wait(const bool *which) {
  struct timespec until;
  int e = 0;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += PATIENCE;
  pthread_mutex_lock(&gate.lock);
  while (!*which && !e) e = pthread_cond_timedwait(&gate.change, &gate.lock, &until);
  const bool is = *which;
  pthread_mutex_unlock(&gate.lock);
  return is;
}
static void busy(void *arg) {
  (void)arg;
  gate_set(&gate.running);
  if (!gate_wait(&gate.over)) gate_set(&gate.late);
}

static void *passer(void *own) {
  gate_wait(&gate.running);
  OK(lading_ipc_close(opened(own)));
  gate_set(&gate.over);
  return NULL;
}

/* While a close waits for the device. */
static void waits_for_work(const line *l) {
  lading_ipc token;
  pthread_t t;
  area plain = area_new(&v, LADING_MEM_DEVICE, 64);
  lading_ipc own = exported(plain.at);
  const bool may = may_fetch();
  char *p = heard(l, &token, may);
  if (may) {
    OK(pthread_create(&t, NULL, passer, &own));
    OK(v.d->call(v.stream, busy, NULL));
    OK(lading_ipc_close(p));
    OK(pthread_join(t, NULL));
    OK(v.d->sync(v.stream));
    ck_assert(!gate.late);
  }
  area_free(&plain);
  wait_for_other(l);
}

START_TEST(others_need_not_wait) { owns_memory(waits_for_work); }
END_TEST

static void *by_the_other(void *token) {
  gate_wait(&gate.running);
  OK(lading_ipc_close(opened(token)));
  return NULL;
}
static void pause_a_while(void *arg) {
  (void)arg;
  gate_set(&gate.running);
  usleep(100000);
}

/* It is on its way out, and wanted by another ticket: not imported beside itself. */
static void reopens(const line *l) {
  lading_ipc token, other;
  pthread_t t;
  const bool may = may_fetch();
  char *p = heard(l, &token, may);
  wait_for_other(l);
  hear(l, &other, sizeof other);
  if (may) {
    OK(pthread_create(&t, NULL, by_the_other, &other));
    OK(v.d->call(v.stream, pause_a_while, NULL));
    OK(lading_ipc_close(p));
    OK(pthread_join(t, NULL));
  }
  wait_for_other(l);
}

START_TEST(wanted_while_it_goes) { gives_two_tickets(reopens); }
END_TEST

/* The last close of one, and the open of another one: never two of the same place. By an old ticket it is found as long as it is open. */
static void *in_and_out(void *tokens) {
  const lading_ipc *token = tokens;
  void *p = NULL;
  for (int i = 0; i < 200; i++) {
    const int e = lading_ipc_open(&token[i % 3 > 0], &p);
    ck_assert(!e || (i % 3 == 0 && e == LADING_ERR_DEVICE));
    if (!e) OK(lading_ipc_close(p));
  }
  return NULL;
}

static void crowd(const line *l) {
  lading_ipc token[2];
  pthread_t t[3];
  const bool may = may_fetch();
  for (int i = 0; i < 2; i++) {
    char *p = heard(l, &token[i], may);
    if (may) OK(lading_ipc_close(p));
    if (!i) wait_for_other(l);
  }
  for (int i = 0; may && i < 3; i++) OK(pthread_create(&t[i], NULL, in_and_out, token));
  for (int i = 0; may && i < 3; i++) OK(pthread_join(t[i], NULL));
  wait_for_other(l);
}

START_TEST(in_many_threads) { gives_two_tickets(crowd); }
END_TEST

static void stranger(const line *l) {
  lading_ipc token;
  void *p = NULL;
  hear(l, &token, sizeof token);
  lading_ipc other = token, longer = token, older = token;
  forge(&other, SPACE, other.bytes[SPACE] ^ 1), forge(&longer, BYTES, longer.bytes[BYTES] ^ 1);
  memcpy(older.bytes, "LDID", 4); /* of a build whose ledger says nothing of pools */
  ck_assert_int_eq(lading_ipc_open(&older, &p), LADING_ERR_FORMAT);
  const bool may = may_fetch();
  ck_assert_int_eq(lading_ipc_open(&other, &p), LADING_ERR_UNSUPPORTED);
  ck_assert_int_eq(lading_ipc_open(&longer, &p), may ? LADING_ERR_FORMAT : LADING_ERR_UNSUPPORTED);
  wait_for_other(l);
}

START_TEST(another_pid_namespace) { owns_memory(stranger); }
END_TEST

/* Its memory has gone: the ledger knows it as soon as something else is exported. Before that only the stand-in does, in the first round: real
 * drivers have been seen to open a place that its owner had freed, which is the owner's fault. */
static int first_round(void) { return v.d->fake ? 0 : 1; }
static void latecomer(const line *l) {
  lading_ipc token;
  void *p = NULL;
  const bool may = may_fetch();
  for (int i = first_round(); i < 2; i++) {
    hear(l, &token, sizeof token);
    ck_assert_int_eq(lading_ipc_open(&token, &p), may ? LADING_ERR_DEVICE : LADING_ERR_UNSUPPORTED);
    wait_for_other(l);
  }
}

START_TEST(freed_before) {
  const line l = begin(latecomer);
  void *pool = pool_new(BY_FILE);
  char *at = memory_of(pool, N), *other = memory_of(pool, N);
  const lading_ipc token = exported(at);
  memory_free(at);
  for (int i = first_round(); i < 2; i++) {
    if (i) exported(other);
    tell(&l, &token, sizeof token);
    wait_for_other(&l);
  }
  memory_free(other);
  OK(v.d->pool_free(pool));
  finish(&l);
}
END_TEST

START_TEST(not_exported) {
  v = devices_open();
  lading_ipc token;
  void *pool[2] = { pool_new(0), pool_new(BY_FILE) }, *p = NULL;
  char *none = memory_of(pool[0], N), *own = memory_of(pool[1], N);
  ck_assert_int_eq(lading_ipc_export(none, &token), LADING_ERR_UNSUPPORTED);
  token = exported(own + 3); /* ours: the memory itself, as long as it is there */
  ck_assert_ptr_eq(opened(&token), own + 3);
  OK(lading_ipc_close(own + 3));
  memory_free(none), memory_free(own);
  ck_assert_int_eq(lading_ipc_open(&token, &p), LADING_ERR_DEVICE);
  if (v.d->fake) {
    char *most = memory_of(pool[1], (size_t)5 << 30), *more = memory_of(pool[1], ((size_t)5 << 30) + 1);
    exported(most);
    ck_assert_int_eq(lading_ipc_export(more, &token), LADING_ERR_UNSUPPORTED);
    memory_free(most), memory_free(more);
  }
  for (int i = 0; i < 2; i++) OK(v.d->pool_free(pool[i]));
  if (v.d->fake && strcmp(v.backend, "hip")) {
    void *fabric = pool_new(BY_FABRIC);
    char *at = memory_of(fabric, N);
    ck_assert_int_eq(lading_ipc_export(at, &token), LADING_ERR_UNSUPPORTED);
    memory_free(at);
    OK(v.d->pool_free(fabric));
  }
  devices_close(&v);
}
END_TEST

/* ROCm up to 7 does not tell what is exportable: what has no handle of the old kind is refused, and nobody asks for its piece. */
START_TEST(a_silent_driver) {
  v = devices_open();
  if (v.d->fake && !strcmp(v.backend, "hip")) {
    lading_ipc token;
    area plain = area_new(&v, LADING_MEM_DEVICE, 64);
    void *pool = pool_new(BY_FILE);
    char *at = memory_of(pool, N);
    devices_say(&v, "silent 1");
    ck_assert_int_eq(lading_ipc_export(at, &token), LADING_ERR_UNSUPPORTED);
    exported(plain.at);
    devices_say(&v, "silent 0");
    exported(at);
    memory_free(at);
    OK(v.d->pool_free(pool));
    area_free(&plain);
  }
  devices_close(&v);
}
END_TEST

/* One that reads a descriptor from where its number points to is asked for none, whatever a token says. */
static void of_an_old_runtime(const line *l) {
  lading_ipc token;
  void *p = NULL;
  hear(l, &token, sizeof token);
  ck_assert_int_eq(lading_ipc_open(&token, &p), LADING_ERR_UNSUPPORTED);
  forge(&token, ROUTE, ROUTE_POOL - 1);
  ck_assert_int_eq(lading_ipc_open(&token, &p), LADING_ERR_UNSUPPORTED);
  if (v.d->fake) ck_assert_int_eq(imports(), 0);
  wait_for_other(l);
}

START_TEST(an_old_runtime) {
  const char *backend = getenv("LADING_TEST_BACKEND");
  if (!backend || strcmp(backend, "hip") || !getenv("LADING_TEST_FAKE")) return;
  setenv("LDG_FAKE", "version 70051831", 1); /* 7.0 */
  const line l = begin(of_an_old_runtime);
  lading_ipc token;
  void *pool = pool_new(BY_FILE);
  char *at = memory_of(pool, N);
  area plain = area_new(&v, LADING_MEM_DEVICE, 64);
  ck_assert_int_eq(lading_ipc_export(at, &token), LADING_ERR_UNSUPPORTED);
  token = exported(plain.at);
  forge(&token, ROUTE, ROUTE_POOL); /* as one of a newer process */
  tell(&l, &token, sizeof token);
  wait_for_other(&l);
  memory_free(at);
  OK(v.d->pool_free(pool));
  area_free(&plain);
  finish(&l);
}
END_TEST

/* Every call of the driver that takes part fails once, on either side: of the stand-in, since a real one cannot be told to. Then all is well. */
static void failures(const line *l) {
  static const char *const calls[] = { "CtxGetDevice", "MemPoolImportFromShareableHandle", "MemPoolSetAccess", "MemPoolImportPointer" };
  lading_ipc token;
  void *p = NULL;
  const bool may = may_fetch();
  const int before = descriptors();
  hear(l, &token, sizeof token);
  for (int64_t i = 0; may && v.d->fake && i < COUNT_OF(calls); i++) {
    let_fail(calls[i], 999);
    ck_assert_msg(lading_ipc_open(&token, &p) == LADING_ERR_DEVICE, "%s failed", calls[i]);
    if (i == 1 || i == 2) { /* not permitted */
      let_fail(calls[i], 800);
      ck_assert_int_eq(lading_ipc_open(&token, &p), LADING_ERR_UNSUPPORTED);
    }
  }
  devices_say(&v, "reset");
  if (may) {
    OK(lading_ipc_close(opened(&token)));
    if (v.d->fake) ck_assert_int_eq(imports(), 0); /* it was kept, although no place of it was had */
  }
  no_more_than(before + 1);
  wait_for_other(l);
}

START_TEST(calls_that_fail) {
  static const char *const calls[] = { "MemGetAddressRange", "MemPoolExportToShareableHandle", "MemPoolExportPointer" };
  const line l = begin(failures);
  void *pool = pool_new(BY_FILE);
  char *at = memory_of(pool, N);
  lading_ipc token;
  const int before = descriptors();
  for (int64_t i = 0; v.d->fake && i < COUNT_OF(calls); i++) {
    let_fail(calls[i], 999);
    ck_assert_int_eq(lading_ipc_export(at, &token), i ? LADING_ERR_UNSUPPORTED : LADING_ERR_DEVICE);
    devices_say(&v, "reset");
  }
  no_more_than(before);
  serve(&l, at);
  memory_free(at);
  OK(v.d->pool_free(pool));
  finish(&l);
}
END_TEST

int main(int argc, char **argv) {
  if (!devices_there()) return 77;
  return unless_barred(CHECK_MAIN("ipc_pools", argc, argv, moves, another_pool_there, one_pool, two_devices, bad_tokens, closed_while_recorded,
                                  a_free_that_fails, another_ticket, others_need_not_wait, wanted_while_it_goes, in_many_threads, another_pid_namespace, freed_before,
                                  not_exported, a_silent_driver, an_old_runtime, calls_that_fail));
}
