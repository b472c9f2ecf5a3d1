/* batch: requests end once, with the right bytes and the right errors, in rings of any size. Launches go to "host" queues, with and
 * without threads, and to an executor of this test that is late, takes things out of turn, fails, and loses its device. Meant to run
 * under the thread sanitizer too. */
#include "batch_works.h"
#include "api.h"
#include "base_model.h"
#include "batch.h"
#include <pthread.h>
#include <sched.h>

static lading_queue *host_queue(void) {
  lading_queue *q;
  ck_assert_int_eq(lading_queue_create("host", 0, &q), LADING_OK);
  return q;
}

/* ---- a clock that stands still ---- */

static int64_t hours;
static int64_t clock_now(void) { return hours; }

/* ---- memory of the host ---- */

static char bytes[ARENA], shadow[ARENA];
static void store(const arena *a, const char *from) { memcpy(a->at, from, ARENA); }
static void fetch(const arena *a, char *to) { memcpy(to, a->at, ARENA); }
static const arena memory = { bytes, shadow, store, fetch, { LADING_MEM_UNKNOWN, 0 }, TEST_ASAN || TEST_TSAN ? 10 : 40, 40 };

/* ---- an executor that does what a test says ---- */

enum { LATE = 4096 };
typedef struct jumble {
  ldg_batch_words words;
  int64_t n, starts, ran;
  ldg_batch_item *late[LATE];     /* in the order of their starts */
  rng r;
  int64_t fail_start;             /* this many starts from now one fails; negative: none */
  bool lost, stuck, recorded;     /* the device is lost; nothing goes on; what is started runs later, or never */
  int64_t largest;                /* launch so far */
} jumble;

static int jumble_take(void *self, ldg_work *w, bool *alone) {
  (void)self;
  *alone = w->reduction.op != LADING_REPLACE && w->hi - w->lo > 64;
  return LADING_OK;
}

static void jumble_end(jumble *j, ldg_batch_item *it, int error) {
  if (!error) ldg_queue_run(&it->work), j->ran++;
  ldg_batch_done(&j->words, it, error);
}

static int jumble_start(void *self, ldg_batch_item *const *items, int64_t n) {
  jumble *j = self;
  j->starts++, j->largest = ldg_max(j->largest, n);
  for (int64_t i = 1; i < n; i++) ck_assert(!items[i]->alone && !items[0]->alone);
  if (j->lost || j->fail_start-- == 0) return LADING_ERR_DEVICE;
  for (int64_t i = 0; i < n; i++) j->late[j->n++] = items[i];
  ck_assert_int_le(j->n, j->words.slots);
  return LADING_OK;
}

static bool apart(ldg_batch_place a[2], ldg_batch_place b[2]) {
  int64_t looks = INT64_MAX;
  return ldg_batch_apart(&a[1], &b[0], &looks) && ldg_batch_apart(&a[1], &b[1], &looks) && ldg_batch_apart(&a[0], &b[1], &looks);
}

/* Some end, any of those that are not to be in order: launches are, so what an item meets is not behind it. */
static void some_end(jumble *j, int64_t most) {
  for (; most > 0 && j->n; most--) {
    int64_t k = rng_in(&j->r, 0, j->n - 1);
    for (int64_t i = 0; i < k; i++)
      if (!apart(j->late[i]->place, j->late[k]->place)) k = i, i = -1;
    ldg_batch_item *it = j->late[k];
    memmove(&j->late[k], &j->late[k + 1], (size_t)(--j->n - k) * sizeof *j->late);
    jumble_end(j, it, LADING_OK);
  }
}

static int jumble_poll(void *self) {
  jumble *j = self;
  if (j->lost) return j->n = 0, LADING_ERR_DEVICE;
  if (!j->stuck) some_end(j, rng_in(&j->r, 0, 3) * rng_in(&j->r, 0, 8));
  return LADING_OK;
}

static bool jumble_runs(void *self) { return !((const jumble *)self)->recorded; }

static void jumble_close(void *self) {
  jumble *j = self;
  ldg_free((void *)j->words.at);
}

static ldg_batch_executor jumbled(jumble *j, int64_t slots) {
  *j = (jumble){ .words = { ldg_alloc(8 * slots), slots }, .r = rng_of(99), .fail_start = -1 };
  memset((void *)j->words.at, 0, 8 * (size_t)slots);
  return (ldg_batch_executor){ jumble_take, jumble_start, jumble_poll, jumble_runs, jumble_close, j->words, 1000, 0.01, slots, j };
}

static lading_batch *jumbled_batch(jumble *j, lading_batch_attr a) {
  const ldg_batch_executor x = jumbled(j, a.slots);
  lading_batch *b;
  if (!a.flush_bytes) a.flush_bytes = 4096;
  if (!a.max_age_ns) a.max_age_ns = INT64_MAX;
  ck_assert_int_eq(ldg_batch_open(&x, &a, &b), LADING_OK);
  return b;
}

START_TEST(bytes_on_the_host) {
  lading_queue *q = host_queue();
  const lading_batch_attr attrs[] = {
    { 0 }, { .slots = 1 }, { .slots = 8, .policy = LADING_BATCH_MANUAL }, { .slots = 64, .policy = LADING_BATCH_MANUAL },
  };
  for (int64_t i = 0; i < COUNT_OF(attrs); i++) {
    lading_batch *b = batch_of(q, &attrs[i]);
    same_as_in_turn(b, &memory, 10 + i);
    lading_batch_free(b);
  }
  lading_queue_free(q);
}
END_TEST

START_TEST(bytes_out_of_turn) {
  jumble j;
  for (int64_t slots = 1; slots <= 64; slots *= 4)
    for (int policy = 0; policy < 2; policy++) {
      lading_batch *b = jumbled_batch(&j, (lading_batch_attr){ .slots = slots, .policy = policy });
      same_as_in_turn(b, &memory, 20 + slots);
      const lading_batch_counts c = counts_of(b);
      ck_assert(slots < 16 || (c.by_order > 0 && j.largest > 1));
      lading_batch_free(b);
    }
}
END_TEST

/* ---- threads of the caller ---- */

typedef struct cut { void (*body)(void *, int64_t); void *arg; int64_t n; _Atomic int64_t next; } cut;
static void *cut_work(void *arg) {
  cut *c = arg;
  for (int64_t i; (i = c->next++) < c->n;) c->body(c->arg, c->n - 1 - i);
  return NULL;
}
static void on_threads(void *ctx, int64_t n, void (*body)(void *, int64_t), void *arg) {
  pthread_t thread[3];
  cut c = { .body = body, .arg = arg, .n = n };
  ++*(int64_t *)ctx;
  for (int i = 0; i < 3; i++) ck_assert_int_eq(pthread_create(&thread[i], NULL, cut_work, &c), 0);
  cut_work(&c);
  for (int i = 0; i < 3; i++) pthread_join(thread[i], NULL);
}

START_TEST(bytes_on_threads) {
  ldg_model m = ldg_model_builtin();
  int64_t calls = 0;
  m.number[LDG_MODEL_PART] = 1;
  ldg_model_use(&m);
  lading_queue *q = host_queue();
  lading_batch *b = batch_of(q, &(lading_batch_attr){ .policy = LADING_BATCH_MANUAL, .pf = on_threads, .ctx = &calls, .ways = 7 });
  same_as_in_turn(b, &memory, 30);
  ck_assert_int_gt(calls, 10);
  lading_batch_free(b);
  calls = 0;
  b = batch_of(q, &(lading_batch_attr){ .policy = LADING_BATCH_MANUAL, .pf = on_threads, .ctx = &calls, .ways = 0 });
  same_as_in_turn(b, &memory, 30);
  ck_assert_int_eq(calls, 0);
  lading_batch_free(b);
  lading_queue_free(q);
  ldg_model_use(NULL);
}
END_TEST

/* Sums into one place and around it: every request writes what the last one did. */
START_TEST(reductions_in_turn) {
  jumble j;
  int32_t sum = 0, one[3] = { 1, 10, 100 };
  const lading_type *t = lading_elem_type(LADING_INT32);
  lading_batch *b = jumbled_batch(&j, (lading_batch_attr){ .slots = 16, .policy = LADING_BATCH_MANUAL });
  lading_request r = 0;
  for (int i = 0; i < 300; i++) {
    const lading_work w = { .kind = LADING_WORK_UNPACK, .op = LADING_SUM, .dst_type = t, .dst_count = 1, .dst = &sum, .src = &one[i % 3], .hi = 4 };
    while (lading_batch_add(b, &w, &r) == LADING_BATCH_FULL) ck_assert_int_eq(lading_batch_flush(b), LADING_OK);
  }
  ck_assert_int_eq(lading_batch_wait(b, r), LADING_OK);
  lading_batch_free(b);
  ck_assert_int_eq(sum, 11100);
  ck_assert_int_eq(j.ran, 300);
}
END_TEST

/* ---- the ring ---- */

START_TEST(ids_beyond_32_bits) {
  static char from[16], to[16];
  for (int64_t slots = 1; slots <= 16; slots *= 2) {
    jumble j;
    lading_batch *b = jumbled_batch(&j, (lading_batch_attr){ .slots = slots, .policy = LADING_BATCH_MANUAL });
    const uint64_t first = (UINT64_C(1) << 32) - 21;
    ldg_batch_begin_at(b, first);
    for (uint64_t i = 0; i < 64; i++) {
      from[i % 16] = (char)i;
      lading_work w = byte_copy(&from[i % 16], &to[i % 16]);
      bool done = true;
      const lading_request r = added(b, &w);
      ck_assert_uint_eq(r, first + i);
      ck_assert_int_eq(lading_batch_test(b, r, &done), LADING_OK);
      ck_assert(!done); /* by hand: nobody started it */
      ck_assert_int_eq(lading_batch_wait(b, r), LADING_OK);
      ck_assert_int_eq(to[i % 16], (char)i);
      ck_assert_int_eq(lading_batch_test(b, first, &done), LADING_OK);
      ck_assert(done);
    }
    bool done;
    ck_assert_int_eq(lading_batch_test(b, first + 64, &done), LADING_ERR_ARG);
    ck_assert_int_eq(lading_batch_test(b, first - 1, &done), LADING_ERR_ARG);
    ck_assert_int_eq(lading_batch_wait(b, 0), LADING_ERR_ARG);
    lading_batch_free(b);
  }
}
END_TEST

START_TEST(full_ring) {
  static char from[8], to[8];
  jumble j;
  lading_batch *b = jumbled_batch(&j, (lading_batch_attr){ .slots = 4, .policy = LADING_BATCH_MANUAL });
  lading_request r[8];
  lading_work w[8];
  j.stuck = true;
  for (int i = 0; i < 8; i++) w[i] = byte_copy(&from[i], &to[i]), from[i] = (char)(i + 1);
  for (int i = 0; i < 4; i++) r[i] = added(b, &w[i]);
  r[4] = 7;
  ck_assert_int_eq(lading_batch_add(b, &w[4], &r[4]), LADING_BATCH_FULL);
  ck_assert_int_eq(lading_batch_flush(b), LADING_OK);
  ck_assert_int_eq(lading_batch_add(b, &w[4], &r[4]), LADING_BATCH_FULL); /* under way, all four */
  ck_assert_uint_eq(r[4], 7);
  j.stuck = false;
  for (int i = 0; i < 4; i++) ck_assert_int_eq(lading_batch_wait(b, r[i]), LADING_OK);
  for (int i = 4; i < 8; i++) r[i] = added(b, &w[i]);
  const lading_batch_counts c = counts_of(b);
  ck_assert_int_eq(c.full, 2);
  ck_assert_int_eq(c.requests, 8);
  ck_assert_int_eq(c.waiting, 4);
  lading_batch_free(b);
  ck_assert_int_eq(j.ran, 8);
  ck_assert_int_eq(memcmp(from, to, 8), 0);
}
END_TEST

/* A work without bytes is done when it is added, and nobody waits for it. */
START_TEST(none_of_no_bytes_waits) {
  static char from[2], to[2];
  lading_queue *q = host_queue();
  lading_batch *b;
  ck_assert_int_eq(lading_batch_create(q, &(lading_batch_attr){ .slots = 8, .policy = LADING_BATCH_MANUAL }, &b), LADING_OK);
  const lading_work some = byte_copy(&from[0], &to[0]);
  lading_work none = byte_copy(&from[1], &to[1]);
  none.hi = 0;
  bool done = false;
  ck_assert_int_eq(lading_batch_test(b, added(b, &none), &done), LADING_OK);
  ck_assert(done);
  ck_assert_int_eq(counts_of(b).waiting, 0);
  const lading_request r = added(b, &some);
  added(b, &none);
  ck_assert_int_eq(counts_of(b).waiting, 1);
  ck_assert_int_eq(lading_batch_wait(b, r), LADING_OK);
  ck_assert_int_eq(counts_of(b).waiting, 0);
  lading_batch_free(b);
  lading_queue_free(q);
}
END_TEST

/* Columns that mesh, so that spans tell nothing, in a ring that would wait for thousands: an add looks at so much, then starts them. */
START_TEST(looks_are_bounded) {
  enum { COLUMNS = 3000, ROWS = 4 };
  static char to[COLUMNS * ROWS * 2], from[COLUMNS * ROWS];
  jumble j;
  lading_type *column;
  lading_batch *b = jumbled_batch(&j, (lading_batch_attr){ .slots = 4096, .policy = LADING_BATCH_MANUAL });
  ck_assert_int_eq(lading_type_vector(ROWS, 1, 2 * COLUMNS, lading_elem_type(LADING_BYTE), &column), LADING_OK);
  for (int i = 0; i < COLUMNS; i++) {
    const lading_work w = { .kind = LADING_WORK_UNPACK, .dst_type = column, .dst_count = 1, .dst = to + 2 * i, .src = from + ROWS * i, .hi = ROWS };
    for (int k = 0; k < ROWS; k++) from[ROWS * i + k] = (char)(i + k);
    added(b, &w);
    ck_assert_int_le(ldg_batch_looked(b), LDG_BATCH_LOOKS);
    if (i == 60) ck_assert_int_eq(counts_of(b).by_order, 0); /* these are told apart */
  }
  const lading_batch_counts c = counts_of(b);
  ck_assert_int_gt(c.by_order, 0);
  ck_assert_int_le(c.by_order, COLUMNS / 60);
  lading_batch_free(b);
  ck_assert_int_eq(j.ran, COLUMNS);
  for (int i = 0; i < COLUMNS * ROWS; i++) ck_assert_int_eq(to[i / ROWS * 2 + i % ROWS * 2 * COLUMNS], from[i]);
  lading_type_free(column);
}
END_TEST

/* ---- errors ---- */

START_TEST(launch_fails) {
  static char from[8], to[8];
  jumble j;
  lading_batch *b = jumbled_batch(&j, (lading_batch_attr){ .slots = 4, .policy = LADING_BATCH_MANUAL });
  lading_request r[4], s;
  bool done;
  for (int i = 0; i < 3; i++) { const lading_work w = byte_copy(&from[i], &to[i]); r[i] = added(b, &w); }
  const lading_work w = byte_copy(&from[3], &to[3]);
  ck_assert_int_eq(lading_batch_add(b, &w, NULL), LADING_OK);
  j.fail_start = 0;
  ck_assert_int_eq(lading_batch_flush(b), LADING_ERR_DEVICE); /* that of the one that nobody can ask for */
  ck_assert_int_eq(lading_batch_flush(b), LADING_OK);
  ck_assert_int_eq(lading_batch_add(b, &w, &s), LADING_BATCH_FULL); /* the first one has something to tell */
  ck_assert_int_eq(lading_batch_test(b, r[1], &done), LADING_ERR_DEVICE);
  ck_assert_int_eq(lading_batch_add(b, &w, &s), LADING_BATCH_FULL);
  ck_assert_int_eq(lading_batch_wait(b, r[0]), LADING_ERR_DEVICE);
  ck_assert_int_eq(lading_batch_wait(b, r[0]), LADING_ERR_DEVICE); /* until the slot is another's */
  s = added(b, &w);
  ck_assert_int_eq(lading_batch_wait(b, s), LADING_OK);
  ck_assert_int_eq(lading_batch_wait(b, r[0]), LADING_OK);
  ck_assert_int_eq(lading_batch_test(b, r[2], &done), LADING_ERR_DEVICE);
  ck_assert(done);
  ck_assert_int_eq(counts_of(b).failed, 4);
  lading_batch_free(b);
}
END_TEST

/* Who asked was told, though one before it was not done yet; a flush tells of those that nobody can ask for, no others. */
START_TEST(told_once) {
  static char from[4], to[4];
  jumble j;
  lading_batch *b = jumbled_batch(&j, (lading_batch_attr){ .slots = 4, .policy = LADING_BATCH_MANUAL });
  lading_work w = byte_copy(&from[0], &to[0]);
  j.stuck = true;
  const lading_request before = added(b, &w);
  ck_assert_int_eq(lading_batch_flush(b), LADING_OK);
  w = byte_copy(&from[1], &to[1]), j.fail_start = 0;
  ck_assert_int_eq(lading_batch_wait(b, added(b, &w)), LADING_ERR_DEVICE);
  j.stuck = false;
  ck_assert_int_eq(lading_batch_wait(b, before), LADING_OK);
  ck_assert_int_eq(lading_batch_flush(b), LADING_OK);
  w = byte_copy(&from[2], &to[2]), j.fail_start = 0;
  ck_assert_int_eq(lading_batch_add(b, &w, NULL), LADING_OK);
  ck_assert_int_eq(lading_batch_flush(b), LADING_ERR_DEVICE);
  ck_assert_int_eq(lading_batch_flush(b), LADING_OK);
  ck_assert_int_eq(counts_of(b).failed, 2);
  lading_batch_free(b);
}
END_TEST

START_TEST(device_is_lost) {
  static char from[64], to[64];
  jumble j;
  lading_batch *b = jumbled_batch(&j, (lading_batch_attr){ .slots = 64, .policy = LADING_BATCH_MANUAL });
  lading_request r[40];
  int64_t good = 0, bad = 0;
  for (int i = 0; i < 40; i++) {
    const lading_work w = byte_copy(&from[i], &to[i]);
    r[i] = added(b, &w);
    if (i % 7 == 6) ck_assert_int_eq(lading_batch_flush(b), LADING_OK);
    if (i == 30) j.lost = true; /* some are done, some under way, some to come */
  }
  for (int i = 0; i < 40; i++) {
    const int e = lading_batch_wait(b, r[i]);
    ck_assert(e == LADING_OK || e == LADING_ERR_DEVICE);
    good += !e, bad += e != 0;
  }
  ck_assert_int_eq(good, j.ran);
  ck_assert_int_ge(bad, 10);
  const lading_work w = byte_copy(&from[0], &to[0]);
  ck_assert_int_eq(lading_batch_wait(b, added(b, &w)), LADING_ERR_DEVICE);
  lading_batch_free(b);
}
END_TEST

START_TEST(bad_arguments) {
  lading_queue *q = host_queue();
  lading_batch *b = batch_of(q, NULL), *none = NULL;
  const lading_batch_attr bad[] = {
    { .slots = -1 }, { .slots = LDG_BATCH_SLOTS_MAX + 1 }, { .flush_bytes = -1 }, { .max_age_ns = -1 }, { .policy = 2 },
    { .policy = -1 }, { .send_ns = -1 }, { .send_rate = -1 }, { .ways = -1 },
  };
  char c[2] = { 0 };
  bool done;
  lading_request r = 5;
  lading_work w = byte_copy(&c[0], &c[1]);
  for (int64_t i = 0; i < COUNT_OF(bad); i++) ck_assert_int_eq(lading_batch_create(q, &bad[i], &none), LADING_ERR_ARG);
  ck_assert_int_eq(lading_batch_create(NULL, NULL, &none), LADING_ERR_ARG);
  ck_assert_int_eq(lading_batch_create(q, NULL, NULL), LADING_ERR_ARG);
  ck_assert_ptr_null(none);
  ck_assert_int_eq(lading_batch_add(NULL, &w, &r), LADING_ERR_ARG);
  ck_assert_int_eq(lading_batch_add(b, NULL, &r), LADING_ERR_ARG);
  ck_assert_int_eq(lading_batch_expect(b, -1), LADING_ERR_ARG);
  ck_assert_int_eq(lading_batch_test(b, 1, &done), LADING_ERR_ARG);
  ck_assert_int_eq(lading_batch_flush(NULL), LADING_ERR_ARG);
  ck_assert_int_eq(lading_batch_stats(b, NULL), LADING_ERR_ARG);
  w.hi = 2;
  ck_assert_int_eq(lading_batch_add(b, &w, &r), LADING_ERR_RANGE);
  w.hi = 1, w.src_mem.kind = LADING_MEM_DEVICE;
  ck_assert_int_eq(lading_batch_add(b, &w, &r), LADING_ERR_DEVICE);
  ck_assert_uint_eq(r, 5);
  ck_assert_int_eq(counts_of(b).requests, 0);
  w.src_mem.kind = LADING_MEM_UNKNOWN, w.hi = 0, w.src = w.dst = NULL;
  ck_assert_int_eq(lading_batch_wait(b, added(b, &w)), LADING_OK); /* nothing, from nowhere */
  lading_batch_free(b);
  lading_batch_free(NULL);
  lading_queue_free(q);
}
END_TEST

START_TEST(no_memory) {
  lading_queue *q = host_queue();
  lading_batch *b = NULL;
  const int64_t live = ldg_alloc_live();
  for (int64_t k = 0;; k++) {
    ldg_alloc_fail(k);
    const int e = lading_batch_create(q, NULL, &b);
    ldg_alloc_fail(-1);
    if (e == LADING_OK) break;
    ck_assert_int_eq(e, LADING_ERR_NOMEM);
    ck_assert_int_eq(ldg_alloc_live(), live);
    ck_assert_int_lt(k, 10);
  }
  lading_batch_free(b);
  ck_assert_int_eq(ldg_alloc_live(), live);
  lading_queue_free(q);
}
END_TEST

/* ---- when ---- */

static int64_t launches_of(lading_batch *b) { return counts_of(b).launches; }

START_TEST(rules_of_the_model) {
  static char from[4096], to[4096];
  jumble j;
  ldg_batch_clock(clock_now);
  hours = 0;
  lading_batch *b = jumbled_batch(&j, (lading_batch_attr){ .slots = 64, .flush_bytes = 20, .max_age_ns = 5000 });
  lading_request r = 0;
  bool done;
  j.stuck = true;
  for (int i = 0; i < 19; i++) { const lading_work w = byte_copy(&from[i], &to[i]); r = added(b, &w); }
  ck_assert_int_eq(launches_of(b), 0);
  const lading_work w = byte_copy(&from[19], &to[19]);
  added(b, &w);
  ck_assert_int_eq(counts_of(b).by_bytes, 1);
  const lading_work v = byte_copy(&from[20], &to[20]), u = byte_copy(&from[21], &to[21]), t = byte_copy(&from[22], &to[22]);
  r = added(b, &v);
  hours += 4999; /* more than the rent, but a launch is under way */
  ck_assert_int_eq(lading_batch_test(b, r, &done), LADING_OK);
  ck_assert_int_eq(launches_of(b), 1);
  hours += 1;
  ck_assert_int_eq(lading_batch_test(b, r, &done), LADING_OK);
  ck_assert_int_eq(counts_of(b).by_age, 1);
  j.stuck = false;
  ck_assert_int_eq(lading_batch_wait(b, r), LADING_OK);
  while (j.n) ck_assert_int_eq(lading_batch_flush(b), LADING_OK); /* nothing is under way */
  added(b, &u);
  hours += 500;
  r = added(b, &t);
  hours += 249;
  ck_assert_int_eq(lading_batch_test(b, r, &done), LADING_OK);
  ck_assert_int_eq(launches_of(b), 2);
  hours += 1; /* 750 + 250 is what a launch costs */
  ck_assert_int_eq(lading_batch_test(b, r, &done), LADING_OK);
  ck_assert_int_eq(counts_of(b).by_rent, 1);
  lading_batch_free(b);
  ldg_batch_clock(NULL);
}
END_TEST

/* One more would be one more launch anyway. */
START_TEST(full_launch) {
  static char from[10], to[10];
  jumble j;
  lading_batch *b;
  ldg_batch_executor x = jumbled(&j, 64);
  x.most = 5;
  ldg_batch_clock(clock_now);
  ck_assert_int_eq(ldg_batch_open(&x, &(lading_batch_attr){ .slots = 64, .flush_bytes = 1000, .max_age_ns = 1000 }, &b), LADING_OK);
  for (int i = 0; i < 10; i++) {
    const lading_work w = byte_copy(&from[i], &to[i]);
    ck_assert_int_eq(counts_of(b).by_count, i / 5);
    added(b, &w);
  }
  ck_assert_int_eq(counts_of(b).by_count, 2);
  ck_assert_int_eq(j.largest, 5);
  lading_batch_free(b);
  ldg_batch_clock(NULL);
}
END_TEST

START_TEST(announced_requests) {
  static char from[400], to[400];
  jumble j;
  ldg_batch_clock(clock_now);
  lading_batch *b = jumbled_batch(&j, (lading_batch_attr){ .slots = 1024, .flush_bytes = 1, .send_ns = 100 });
  int64_t want = 0;
  ck_assert_int_eq(lading_batch_expect(b, 400), LADING_OK);
  for (int i = 0; i < 400; i++) { const lading_work w = byte_copy(&from[i], &to[i]); added(b, &w); }
  for (int64_t left = 400; left > 0; left -= ldg_batch_next(left, 1000, 0.01, 100)) want++;
  ck_assert_int_eq(launches_of(b), want);
  ck_assert_int_gt(want, 2);
  ck_assert_int_eq(counts_of(b).waiting, 0);
  const lading_work w = byte_copy(&from[0], &to[0]);
  added(b, &w); /* not announced: the rules again, here that of bytes */
  ck_assert_int_eq(counts_of(b).by_bytes, 1);
  lading_batch_free(b);
  ldg_batch_clock(NULL);
}
END_TEST

/* ---- many ---- */

enum { ADDERS = 4, EACH = TEST_TSAN || TEST_ASAN ? 20000 : 250000, WINDOW = 64 };
typedef struct adder { lading_batch *b; int64_t wrong, full; char from[WINDOW], to[WINDOW]; lading_request r[WINDOW]; } adder;

/* A counter goes through every byte: it is there once each, in turn, or bytes are lost or written twice. */
static void *add_many(void *arg) {
  adder *a = arg;
  for (int64_t i = 0; i < EACH; i++) {
    const int64_t k = i % WINDOW;
    if (i >= WINDOW) a->wrong += lading_batch_wait(a->b, a->r[k]) != LADING_OK, a->wrong += a->to[k] != (char)(i / WINDOW);
    a->from[k] = (char)(i / WINDOW + 1);
    const lading_work w = byte_copy(&a->from[k], &a->to[k]);
    for (int e; (e = lading_batch_add(a->b, &w, &a->r[k])) != LADING_OK; a->full++) {
      if (e != LADING_BATCH_FULL) return a->wrong++, NULL;
      lading_batch_flush(a->b), sched_yield();
    }
  }
  for (int64_t k = 0; k < WINDOW; k++) a->wrong += lading_batch_wait(a->b, a->r[k]) != LADING_OK;
  return NULL;
}

static void many(lading_batch *b) {
  static adder a[ADDERS];
  pthread_t thread[ADDERS];
  for (int i = 0; i < ADDERS; i++) {
    a[i] = (adder){ .b = b };
    ck_assert_int_eq(pthread_create(&thread[i], NULL, add_many, &a[i]), 0);
  }
  for (int i = 0; i < ADDERS; i++) pthread_join(thread[i], NULL);
  for (int i = 0; i < ADDERS; i++) ck_assert_int_eq(a[i].wrong, 0);
}

START_TEST(a_million_out_of_turn) {
  jumble j;
  lading_batch *b = jumbled_batch(&j, (lading_batch_attr){ .slots = 256 });
  many(b);
  const lading_batch_counts c = counts_of(b);
  ck_assert_int_eq(j.ran, ADDERS * EACH);
  ck_assert_int_eq(c.requests, ADDERS * EACH);
  ck_assert_int_eq(c.failed, 0);
  lading_batch_free(b);
  printf("%d requests in %d launches, %d times full\n", (int)c.requests, (int)c.launches, (int)c.full);
}
END_TEST

START_TEST(adders_on_the_host) {
  lading_queue *q = host_queue();
  lading_batch *b = batch_of(q, &(lading_batch_attr){ .slots = 256 });
  many(b);
  ck_assert_int_eq(counts_of(b).requests, ADDERS * EACH);
  lading_batch_free(b);
  lading_queue_free(q);
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("batch", argc, argv, bytes_on_the_host, bytes_out_of_turn, bytes_on_threads, reductions_in_turn, ids_beyond_32_bits, full_ring, none_of_no_bytes_waits, looks_are_bounded,
                    launch_fails, told_once, device_is_lost, bad_arguments, no_memory, rules_of_the_model, full_launch, announced_requests, a_million_out_of_turn,
                    adders_on_the_host);
}
