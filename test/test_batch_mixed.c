/* batch_mixed: one launch of requests that are nearly what the one before was, of more tiles than a device runs at once, and of some that run here. */
#include "batch.h"
#include "batch_device.h"

static const lading_mem there = { LADING_MEM_DEVICE, 0 };

/* What is on the device, and what has to be there, byte for byte. */
typedef struct room { lading_queue *q; lading_batch *b; char *at, *host, *want; int64_t n; } room;

static room room_open(int64_t n, const char *settings) {
  room o = { .q = device_begin(settings), .n = n };
  o.b = batch_of(o.q, &by_hand), o.at = device_memory(n), o.host = pinned_memory(n), o.want = malloc((size_t)n);
  for (int64_t i = 0; i < n; i++) o.host[i] = o.want[i] = (char)(i * 11 + i / 4096);
  OK(d->to_device(o.at, o.host, (size_t)n, NULL));
  OK(d->sync(NULL));
  return o;
}

static void room_check(const room *o) {
  OK(d->to_host(o->host, o->at, (size_t)o->n, NULL));
  OK(d->sync(NULL));
  ck_assert(memcmp(o->host, o->want, (size_t)o->n) == 0);
}

static void room_close(room *o) {
  lading_batch_free(o->b);
  OK(d->free(o->at));
  OK(d->free_pinned(o->host));
  free(o->want);
  device_end(o->q);
}

/* Of `t` at byte `from` into byte `to`. */
static lading_work packed_work(const room *o, const lading_type *t, int64_t from, int64_t to, lading_op op) {
  lading_work w = { .kind = LADING_WORK_PACK, .op = op, .src_type = t, .src_count = 1, .src = o->at + from, .dst = o->at + to, .src_mem = there, .dst_mem = there };
  lading_type_size(t, &w.hi);
  return w;
}

static lading_request add_and_do(const room *o, const lading_work *w) {
  const lading_request r = added(o->b, w);
  in_turn(w, o->want - o->at);
  return r;
}

/* Each differs from the one before in one thing: the range, the op, or the elements, of which layouts know nothing. */
START_TEST(nearly_the_same) {
  enum { EACH = 256, MOST = 12 };
  room o = room_open(2 * MOST * EACH, "");
  static const lading_elem elem[] = { LADING_INT32, LADING_UINT32, LADING_FLOAT };
  lading_type *t[COUNT_OF(elem)];
  lading_request r[MOST];
  int n = 0;
  for (int i = 0; i < COUNT_OF(elem); i++) OK(lading_type_vector(10, 1, 4, lading_elem_type(elem[i]), &t[i]));
  lading_work w[MOST];
  const struct { int type; lading_op op; int64_t lo, hi; } all[] = {
    { 0, LADING_REPLACE, 0, 40 }, { 0, LADING_REPLACE, 0, 20 }, { 0, LADING_REPLACE, 8, 20 }, { 0, LADING_SUM, 8, 20 }, { 0, LADING_MAX, 8, 20 }, { 1, LADING_MAX, 8, 20 },
    { 1, LADING_PROD, 8, 20 }, { 2, LADING_PROD, 8, 20 }, { 2, LADING_SUM, 8, 20 }, { 0, LADING_SUM, 8, 20 }, { 0, LADING_SUM, 8, 40 }, { 0, LADING_REPLACE, 8, 40 },
  };
  for (; n < COUNT_OF(all); n++) {
    w[n] = packed_work(&o, t[all[n].type], n * EACH, (MOST + n) * EACH, all[n].op);
    w[n].lo = all[n].lo, w[n].hi = all[n].hi;
    r[n] = add_and_do(&o, &w[n]);
  }
  for (int i = 0; i < n; i++) OK(lading_batch_wait(o.b, r[i]));
  ck_assert_int_eq(counts_of(o.b).launches, 1);
  room_check(&o);
  for (int i = 0; i < COUNT_OF(elem); i++) lading_type_free(t[i]);
  room_close(&o);
}
END_TEST

/* Then a block takes some tiles in a row, the last of which may be beyond the end. One request is of tiles of more units, as close ones are. */
START_TEST(more_tiles_than_run_at_once) {
  if (TEST_TSAN) return; /* a thread for each of 256 for thousands of tiles, which have barriers */
  enum { CLOSE = (1 << 18) + 77, APART = (1 << 20) - 200 * 256 + 19, SPAN = 3 * APART, ALL = 2 * CLOSE + SPAN + CLOSE + APART + 64 };
  room o = room_open(ALL, "");
  lading_type *close, *apart, *few;
  OK(lading_type_vector(CLOSE, 1, 2, lading_elem_type(LADING_INT8), &close));
  OK(lading_type_vector(APART, 1, 3, lading_elem_type(LADING_INT8), &apart));
  OK(lading_type_vector(5, 1, 3, lading_elem_type(LADING_INT8), &few));
  const int64_t to = 2 * CLOSE + SPAN;
  const lading_work w[] = { packed_work(&o, few, 0, to, LADING_SUM), packed_work(&o, close, 0, to + 32, LADING_REPLACE), packed_work(&o, apart, 2 * CLOSE, to + 40 + CLOSE, LADING_REPLACE) };
  lading_request r[COUNT_OF(w)];
  for (int i = 0; i < COUNT_OF(w); i++) r[i] = add_and_do(&o, &w[i]);
  for (int i = 0; i < COUNT_OF(w); i++) OK(lading_batch_wait(o.b, r[i]));
  ck_assert_int_eq(counts_of(o.b).launches, 1);
  room_check(&o);
  lading_type_free(close), lading_type_free(apart), lading_type_free(few);
  room_close(&o);
}
END_TEST

/* Of one flush, what is short and in the host's reach runs here, until that would take as long as a launch; the rest is launched. */
START_TEST(some_here_and_some_there) {
  enum { LONG = 1 << 20, FEW = 4 };
  room o = room_open(4096, "");
  char *near = pinned_memory(3 * LONG);
  for (int i = 0; i < 3 * LONG; i++) near[i] = (char)(i * 7);
  lading_type *t, *many;
  OK(lading_type_vector(16, 1, 2, lading_elem_type(LADING_INT16), &t));
  OK(lading_type_vector(LONG / 2, 1, 2, lading_elem_type(LADING_INT16), &many));
  lading_work w[2 * FEW + 1];
  lading_request r[2 * FEW + 1];
  for (int i = 0; i < 2 * FEW; i += 2) {
    w[i] = packed_work(&o, t, 64 * i, 2048 + 64 * i, LADING_REPLACE), in_turn(&w[i], o.want - o.at);
    w[i + 1] = packed_work(&o, t, 0, 0, LADING_REPLACE);
    w[i + 1].src = near + 100 * i, w[i + 1].dst = near + 2 * LONG + 100 * i, w[i + 1].src_mem.kind = w[i + 1].dst_mem.kind = LADING_MEM_PINNED;
  }
  w[2 * FEW] = packed_work(&o, many, 0, 0, LADING_REPLACE);
  w[2 * FEW].src = near, w[2 * FEW].dst = near + 2 * LONG + 1000, w[2 * FEW].src_mem.kind = w[2 * FEW].dst_mem.kind = LADING_MEM_PINNED, w[2 * FEW].hi = LONG / 2;
  OK(lading_queue_sync(o.q));
  tell("reset");
  for (int i = 0; i <= 2 * FEW; i++) r[i] = added(o.b, &w[i]);
  for (int i = 0; i <= 2 * FEW; i++) OK(lading_batch_wait(o.b, r[i]));
  if (d->fake) ck_assert_int_eq(counted(launches), 1);
  ck_assert_int_eq(counts_of(o.b).launches, 1);
  room_check(&o);
  for (int i = 0; i < 16 * FEW; i++) ck_assert_int_eq(near[2 * LONG + 200 * (i / 16) + i % 16 * 2], near[200 * (i / 16) + i % 16 * 4]);
  for (int i = 0; i < LONG / 4; i++) ck_assert(!memcmp(near + 2 * LONG + 1000 + 2 * i, near + 4 * i, 2));
  lading_type_free(t), lading_type_free(many);
  OK(d->free_pinned(near));
  room_close(&o);
}
END_TEST

BATCH_DEVICE_MAIN("batch_mixed", nearly_the_same, more_tiles_than_run_at_once, some_here_and_some_there)
