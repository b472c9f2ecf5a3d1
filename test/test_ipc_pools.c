/* ipc: memory of another process that is of a pool: by a descriptor of the pool, and the driver's word for the place in it. */
#include "ipc_sides.h"

enum { BY_FILE = 1, BY_FABRIC = 8, N = 4096, ROUTE = 7, SPACE = 16, BYTES = 48, ROUTE_POOL = 3, POOLS = 12, KEPT = 8 };

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
  for (int i = 0; i < N; i++) from[i] = (char)rng_next(&r), want[i] = 0;
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

START_TEST(another_pool_there) {
  const line l = begin(comparer);
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

static void stranger(const line *l) {
  lading_ipc token;
  void *p = NULL;
  hear(l, &token, sizeof token);
  lading_ipc other = token, longer = token, older = token;
  other.bytes[SPACE] ^= 1, longer.bytes[BYTES] ^= 1;
  memcpy(older.bytes, "LDID", 4); /* of a build whose ledger says nothing of pools */
  ck_assert_int_eq(lading_ipc_open(&older, &p), LADING_ERR_FORMAT);
  const bool may = may_fetch();
  ck_assert_int_eq(lading_ipc_open(&other, &p), LADING_ERR_UNSUPPORTED);
  ck_assert_int_eq(lading_ipc_open(&longer, &p), may ? LADING_ERR_FORMAT : LADING_ERR_UNSUPPORTED);
  wait_for_other(l);
}

START_TEST(another_pid_namespace) { owns_memory(stranger); }
END_TEST

/* Its memory has gone: the ledger knows it as soon as something else is exported, the driver in any case. */
static void latecomer(const line *l) {
  lading_ipc token;
  void *p = NULL;
  const bool may = may_fetch();
  for (int i = 0; i < 2; i++) {
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
  for (int i = 0; i < 2; i++) {
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
  token.bytes[ROUTE] = ROUTE_POOL - 1;
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
  token.bytes[ROUTE] = ROUTE_POOL; /* as one of a newer process */
  tell(&l, &token, sizeof token);
  wait_for_other(&l);
  memory_free(at);
  OK(v.d->pool_free(pool));
  area_free(&plain);
  finish(&l);
}
END_TEST

/* Every call of the driver that takes part fails once, on either side; then all is well. */
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
    if (i == 1) { /* not permitted */
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
  return unless_barred(CHECK_MAIN("ipc_pools", argc, argv, moves, another_pool_there, one_pool, two_devices, bad_tokens, another_pid_namespace, freed_before,
                                  not_exported, a_silent_driver, an_old_runtime, calls_that_fail));
}
