/* queue, without any device: the "host" backend does what the calls for host memory do, and arguments are checked. */
#include "random_types.h"

#define OK(call) ck_assert_int_eq(call, LADING_OK)
#define REFUSED(call) ck_assert_int_eq(call, LADING_ERR_ARG)

static lading_queue *host_queue(void) {
  lading_queue *q;
  OK(lading_queue_create("host", 0, &q));
  return q;
}

/* One range of one type, there and back; done when the call returns. */
static void check_there_and_back(lading_queue *q, const sample *s, int64_t count, rng *r) {
  stream *x = stream_of(s->map, count);
  buffer mem = buffer_new(x->hi - x->lo), want = buffer_new(x->hi - x->lo), packed = buffer_new(x->n), same = buffer_new(x->n);
  buffer_fill(&mem, rng_next(r));
  memcpy(want.data, mem.data, (size_t)mem.n);
  const int64_t lo = rng_in(r, 0, x->n), hi = rng_in(r, lo, x->n);
  void *base = at_offset(mem.data, -x->lo);
  lading_request done;
  bool is_done = false;
  const lading_work there = { .kind = LADING_WORK_PACK, .src_type = s->type, .src_count = count, .src = base, .dst = packed.data, .lo = lo, .hi = hi };
  OK(lading_enqueue(q, &there, &done));
  OK(lading_test(q, done, &is_done));
  ck_assert(is_done);
  OK(lading_pack(s->type, count, base, same.data, lo, hi));
  ck_assert(!memcmp(same.data, packed.data, (size_t)(hi - lo)));
  buffer_fill(&packed, rng_next(r));
  const lading_work back = { .kind = LADING_WORK_UNPACK, .dst_type = s->type, .dst_count = count, .dst = base, .src = packed.data, .lo = lo, .hi = hi };
  OK(lading_enqueue(q, &back, NULL));
  OK(lading_unpack(s->type, count, at_offset(want.data, -x->lo), packed.data, lo, hi));
  ck_assert(!memcmp(want.data, mem.data, (size_t)mem.n));
  ck_assert(buffer_guards(&mem) && buffer_guards(&packed));
  buffer_free(&mem), buffer_free(&want), buffer_free(&packed), buffer_free(&same);
  stream_free(x);
}

START_TEST(host_moves) {
  rng r = rng_of(41);
  lading_queue *q = host_queue();
  for (int i = 0; i < 500; i++) {
    sample *s = random_type(&r, i % 5, 300);
    check_there_and_back(q, s, rng_in(&r, 0, 3), &r);
    sample_free(s);
  }
  OK(lading_queue_sync(q));
  lading_queue_free(q);
}
END_TEST

START_TEST(host_copies_and_reductions) {
  lading_queue *q = host_queue();
  lading_type *rows = parsed("vector(4,4,6,int)"), *columns = parsed("hvector(4,1,4,vector(4,1,4,int))");
  int a[24], b[16] = { 0 }, want[16] = { 0 };
  for (int i = 0; i < 24; i++) a[i] = i * i;
  lading_work w = { .kind = LADING_WORK_COPY, .src_type = rows, .dst_type = columns, .src_count = 1, .dst_count = 1, .src = a, .dst = b, .hi = 64 };
  for (int op = LADING_REPLACE; op <= LADING_MAX; op++) {
    w.op = (lading_op)op;
    OK(lading_enqueue(q, &w, NULL));
    OK(lading_copy_op(rows, 1, a, columns, 1, want, 0, 64, (lading_op)op));
    ck_assert(!memcmp(b, want, sizeof b));
  }
  int packed[16] = { 1, 2, 3 };
  const lading_work sum = { .kind = LADING_WORK_PACK, .op = LADING_SUM, .src_type = rows, .src_count = 1, .src = a, .dst = packed, .hi = 12 };
  OK(lading_enqueue(q, &sum, NULL));
  ck_assert_int_eq(packed[2], 3 + a[2]);
  lading_type_free(rows), lading_type_free(columns);
  lading_queue_free(q);
}
END_TEST

START_TEST(arguments_of_queues) {
  lading_queue *q = NULL, *host = host_queue();
  lading_mem m;
  int n = -1, here;
  REFUSED(lading_device_count(NULL, &n));
  REFUSED(lading_device_count("host", NULL));
  REFUSED(lading_device_count("nothing", &n));
  OK(lading_device_count("host", &n));
  ck_assert_int_eq(n, 1);
  OK(lading_device_count("fake", &n));
  ck_assert_int_eq(n, 0);
  REFUSED(lading_queue_create("host", 1, &q));
  REFUSED(lading_queue_create(NULL, 0, &q));
  REFUSED(lading_queue_create("host", 0, NULL));
  REFUSED(lading_queue_create("nothing", 0, &q));
  REFUSED(lading_queue_wrap("nothing", NULL, &q));
  ck_assert_int_eq(lading_queue_create("fake", 0, &q), LADING_ERR_DEVICE);
  ck_assert_ptr_null(q);
  lading_queue_free(NULL);
  OK(lading_queue_wrap("host", NULL, &q));
  lading_queue_free(q);
  REFUSED(lading_queue_sync(NULL));
  REFUSED(lading_mem_query(&here, NULL));
  OK(lading_mem_query(&here, &m));
  ck_assert_int_eq((int)m.kind, LADING_MEM_HOST);
  lading_queue_free(host);
}
END_TEST

START_TEST(arguments_of_works) {
  lading_queue *q = host_queue();
  const lading_type *t = lading_elem_type(LADING_INT32);
  int a[2] = { 1, 2 }, b[2];
  bool done;
  lading_request r = 0;
  const lading_work good = { .kind = LADING_WORK_PACK, .src_type = t, .src_count = 2, .src = a, .dst = b, .hi = 8 };
  lading_work w = good;
  REFUSED(lading_enqueue(NULL, &w, &r));
  REFUSED(lading_enqueue(q, NULL, &r));
  w.src_type = NULL;
  REFUSED(lading_enqueue(q, &w, &r));
  w = good, w.src_count = -1;
  REFUSED(lading_enqueue(q, &w, &r));
  w = good, w.kind = (lading_work_kind)3;
  REFUSED(lading_enqueue(q, &w, &r));
  w = good, w.op = LADING_OP_MAX;
  REFUSED(lading_enqueue(q, &w, &r));
  w = good, w.src_mem.kind = (lading_memkind)9;
  REFUSED(lading_enqueue(q, &w, &r));
  w = good, w.dst = NULL;
  REFUSED(lading_enqueue(q, &w, &r));
  w = good, w.kind = LADING_WORK_UNPACK, w.dst_type = t, w.dst_count = 2, w.dst = b, w.src = NULL;
  REFUSED(lading_enqueue(q, &w, &r));
  w = good, w.hi = 9;
  ck_assert_int_eq(lading_enqueue(q, &w, &r), LADING_ERR_RANGE);
  w = good, w.lo = -1;
  ck_assert_int_eq(lading_enqueue(q, &w, &r), LADING_ERR_RANGE);
  w = good, w.lo = -1, w.src_type = NULL;
  REFUSED(lading_enqueue(q, &w, &r));
  w = good, w.lo = INT64_MIN;
  ck_assert_int_eq(lading_enqueue(q, &w, &r), LADING_ERR_RANGE);
  w = good, w.op = LADING_MINLOC;
  ck_assert_int_eq(lading_enqueue(q, &w, &r), LADING_ERR_UNSUPPORTED);
  w = good, w.op = LADING_SUM, w.lo = 2;
  REFUSED(lading_enqueue(q, &w, &r));
  w = good, w.src_mem.kind = LADING_MEM_DEVICE;
  ck_assert_int_eq(lading_enqueue(q, &w, &r), LADING_ERR_DEVICE);
  ck_assert_int_eq((int)r, 0);
  REFUSED(lading_test(q, 1, &done));
  REFUSED(lading_test(NULL, 1, &done));
  REFUSED(lading_test(q, 1, NULL));
  REFUSED(lading_wait(q, 0));
  REFUSED(lading_wait(NULL, 1));
  OK(lading_enqueue(q, &good, &r));
  OK(lading_wait(q, r));
  lading_queue_free(q);
}
END_TEST

START_TEST(arguments_of_ipc) {
  lading_ipc token = { { 0 } };
  void *p;
  int here, n = 0, m = 0;
  REFUSED(lading_ipc_export(NULL, &token));
  REFUSED(lading_ipc_export(&here, NULL));
  REFUSED(lading_ipc_open(NULL, &p));
  REFUSED(lading_ipc_open(&token, NULL));
  REFUSED(lading_ipc_close(NULL));
  REFUSED(lading_ipc_close(&here));
  OK(lading_device_count("cuda", &n));
  OK(lading_device_count("hip", &m));
  ck_assert_int_eq(lading_ipc_export(&here, &token), n + m ? LADING_ERR_UNSUPPORTED : LADING_ERR_DEVICE);
  ck_assert_int_eq(lading_ipc_open(&token, &p), n + m ? LADING_ERR_FORMAT : LADING_ERR_DEVICE);
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("queue_host", argc, argv, host_moves, host_copies_and_reductions, arguments_of_queues, arguments_of_works, arguments_of_ipc);
}
