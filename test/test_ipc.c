/* ipc: device memory of another process, by the public interface: one kernel moves straight between the layouts of both, what was
 * opened is found again, and memory that came where other memory was is not taken for it. Two processes, each with a driver of its
 * own: a parent that owns memory, a child that opens it. The device is a real one, or the stand-in of test/fake. */
#include "ipc_sides.h"

enum { BYTES = 1 << 16, ROUNDS = 40, MANY = 300, KEPT = 256, ALREADY_MAPPED = 208, DEVICE_AT = 4 /* in a token */ };

/* ---- from the layout there to the layout here, and back ---- */

typedef struct deal { sample *s; int64_t count; stream *x; } deal;

/* Both processes make the same ones. */
static deal next_deal(rng *r) {
  for (;;) {
    deal t = { random_type(r, 4, 400), rng_in(r, 1, 3), NULL };
    t.x = stream_of(t.s->map, t.count);
    if (t.x->n > 0 && t.x->hi - t.x->lo <= BYTES / 2) return t;
    stream_free(t.x), sample_free(t.s);
  }
}
static void deal_free(deal *t) { stream_free(t->x), sample_free(t->s); }

/* Reads the owner's bytes, then writes them, turned over, back into the owner's layout. */
static void mover(const line *l) {
  rng r = rng_of(77);
  area mine = area_new(&v, LADING_MEM_DEVICE, BYTES);
  for (int i = 0; i < ROUNDS; i++) {
    deal t = next_deal(&r);
    rng_in(&r, 0, BYTES / 2); /* the owner's business */
    const int64_t lo = rng_in(&r, 0, t.x->n), hi = rng_in(&r, lo, t.x->n);
    lading_ipc token;
    hear(l, &token, sizeof token);
    char *there = opened(&token);
    area_fill(&mine, (uint64_t)i);
    lading_work w = { .kind = LADING_WORK_PACK, .src_type = t.s->type, .src_count = t.count, .src = at_offset(there, -t.x->lo), .dst = mine.at,
                      .lo = lo, .hi = hi, .src_mem = on_device, .dst_mem = on_device };
    devices_say(&v, "reset");
    OK(lading_enqueue(v.q, &w, NULL));
    OK(lading_queue_sync(v.q));
    area_pull(&mine);
    tell(l, mine.copy, (size_t)(hi - lo));
    for (int64_t k = 0; k < hi - lo; k++) mine.copy[k] = (char)~mine.copy[k];
    area_push(&mine);
    w = (lading_work){ .kind = LADING_WORK_UNPACK, .dst_type = t.s->type, .dst_count = t.count, .dst = at_offset(there, -t.x->lo), .src = mine.at,
                       .lo = lo, .hi = hi, .src_mem = on_device, .dst_mem = on_device };
    OK(lading_enqueue(v.q, &w, NULL));
    OK(lading_queue_sync(v.q));
    OK(lading_ipc_close(there));
    wait_for_other(l);
    deal_free(&t);
  }
  if (v.d->fake) ck_assert_int_le(opens(), 1);
  area_free(&mine);
}

START_TEST(moves) {
  const line l = start(mover);
  rng r = rng_of(77);
  area mine = area_new(&v, LADING_MEM_DEVICE, BYTES);
  static char got[BYTES], before[BYTES], after[BYTES];
  for (int i = 0; i < ROUNDS; i++) {
    deal t = next_deal(&r);
    const int64_t at = rng_in(&r, 0, BYTES / 2), lo = rng_in(&r, 0, t.x->n), hi = rng_in(&r, lo, t.x->n);
    area_fill(&mine, 1000 + (uint64_t)i);
    memcpy(before, mine.copy, BYTES), memcpy(after, before, BYTES);
    const lading_ipc token = exported(mine.at + at); /* inside of the allocation */
    tell(&l, &token, sizeof token);
    hear(&l, got, (size_t)(hi - lo));
    wait_for_other(&l);
    area_pull(&mine);
    for (int64_t k = lo; k < hi; k++) {
      ck_assert_msg(got[k - lo] == before[at + t.x->at[k] - t.x->lo], "%s x %" PRId64 ": byte %" PRId64, t.s->spell, t.count, k);
      after[at + t.x->at[k] - t.x->lo] = (char)~before[at + t.x->at[k] - t.x->lo];
    }
    ck_assert_mem_eq(mine.copy, after, BYTES);
    deal_free(&t);
  }
  area_free(&mine);
  finish(&l);
}
END_TEST

/* ---- what is open is found ---- */

static void opener(const line *l) {
  lading_ipc token[2];
  hear(l, token, sizeof token);
  char *a = opened(&token[0]), *b = opened(&token[1]);
  ck_assert_int_eq(b - a, 100);
  OK(lading_ipc_close(a));
  OK(lading_ipc_close(b));
  ck_assert_int_eq(lading_ipc_close(b), LADING_ERR_ARG);
  ck_assert_ptr_eq(opened(&token[0]), a);
  OK(lading_ipc_close(a));
  if (v.d->fake) ck_assert_int_eq(opens(), 1);
  wait_for_other(l);
}

START_TEST(opened_once) {
  const line l = start(opener);
  area mine = area_new(&v, LADING_MEM_DEVICE, BYTES);
  const lading_ipc token[2] = { exported(mine.at + 5), exported(mine.at + 105) };
  tell(&l, token, sizeof token);
  wait_for_other(&l);
  area_free(&mine);
  finish(&l);
}
END_TEST

/* The same addresses hold other memory, time and again: what the child reads is of now. */
static void reader(const line *l) {
  lading_ipc token;
  char *host = malloc(BYTES);
  for (int i = 0; i < 5; i++) {
    hear(l, &token, sizeof token);
    char *p = opened(&token);
    OK(v.d->to_host(host, p, 16, v.stream));
    OK(v.d->sync(v.stream));
    for (int k = 0; k < 16; k++) ck_assert_int_eq(host[k], i);
    OK(lading_ipc_close(p));
    wait_for_other(l);
  }
  free(host);
}

START_TEST(memory_that_came_back) {
  const line l = start(reader);
  devices_say(&v, "reuse 1");
  for (int i = 0; i < 5; i++) {
    area mine = area_new(&v, LADING_MEM_DEVICE, BYTES);
    memset(mine.copy, i, BYTES);
    area_push(&mine);
    serve(&l, mine.at);
    area_free(&mine);
  }
  finish(&l);
}
END_TEST

/* So do parts of what was there, the last one first. */
START_TEST(memory_that_was_cut_up) {
  const line l = start(reader);
  devices_say(&v, "reuse 1");
  area whole = area_new(&v, LADING_MEM_DEVICE, BYTES), part[2];
  memset(whole.copy, 0, BYTES);
  area_push(&whole);
  serve(&l, whole.at);
  area_free(&whole);
  for (int i = 0; i < 2; i++) part[i] = area_new(&v, LADING_MEM_DEVICE, BYTES / 4);
  for (int i = 1; i < 5; i++) {
    area *const a = &part[i % 2];
    memset(a->copy, i, BYTES / 4);
    area_push(a);
    serve(&l, a->at);
  }
  for (int i = 0; i < 2; i++) area_free(&part[i]);
  finish(&l);
}
END_TEST

/* Whatever the driver minds: what nobody uses goes, and it is asked again. */
static void insister(const line *l) {
  lading_ipc token[2];
  hear(l, token, sizeof token);
  OK(lading_ipc_close(opened(&token[0])));
  if (v.d->fake) let_fail("IpcOpenMemHandle", ALREADY_MAPPED);
  OK(lading_ipc_close(opened(&token[1])));
  if (v.d->fake) ck_assert_int_eq(closes(), 1);
  wait_for_other(l);
}

START_TEST(in_the_way) {
  const line l = start(insister);
  area a = area_new(&v, LADING_MEM_DEVICE, BYTES), b = area_new(&v, LADING_MEM_DEVICE, BYTES);
  const lading_ipc token[2] = { exported(a.at), exported(b.at) };
  tell(&l, token, sizeof token);
  wait_for_other(&l);
  area_free(&a), area_free(&b);
  finish(&l);
}
END_TEST

/* Of many mappings that nobody uses a bounded number stays. */
static void hoarder(const line *l) {
  lading_ipc token;
  for (int i = 0; i < MANY; i++) {
    hear(l, &token, sizeof token);
    OK(lading_ipc_close(opened(&token)));
  }
  if (v.d->fake) {
    ck_assert_int_eq(opens(), MANY);
    ck_assert_int_ge(closes(), MANY - KEPT - 1);
  }
  wait_for_other(l);
}

START_TEST(many_mappings) {
  const line l = start(hoarder);
  area *mine = calloc(MANY, sizeof *mine);
  for (int i = 0; i < MANY; i++) {
    mine[i] = area_new(&v, LADING_MEM_DEVICE, 64);
    const lading_ipc token = exported(mine[i].at);
    tell(&l, &token, sizeof token);
  }
  wait_for_other(&l);
  for (int i = 0; i < MANY; i++) area_free(&mine[i]);
  free(mine);
  finish(&l);
}
END_TEST

static void owns_area(void (*other)(const line *l)) {
  const line l = start(other);
  area mine = area_new(&v, LADING_MEM_DEVICE, BYTES);
  serve(&l, mine.at);
  area_free(&mine);
  finish(&l);
}

/* Each device of the child has a mapping of its own; both are kept. */
static void two_devices(const line *l) {
  lading_ipc token;
  hear(l, &token, sizeof token);
  char *on[2];
  int n;
  OK(lading_device_count(v.backend, &n));
  for (int turn = 0; n > 1 && turn < 3; turn++)
    for (int i = 0; i < 2; i++) {
      OK(driver_enter(v.d, i));
      char *p = opened(&token);
      if (turn) ck_assert_ptr_eq(p, on[i]);
      on[i] = p;
      OK(lading_ipc_close(p));
      OK(driver_leave(v.d, i));
    }
  if (n > 1) ck_assert_ptr_ne(on[0], on[1]);
  if (v.d->fake) ck_assert_int_eq(opens(), 2);
  wait_for_other(l);
}

START_TEST(opened_once_a_device) { owns_area(two_devices); }
END_TEST

/* Its owner may see more devices than are seen here, in another order: whatever the number, it is opened for the device that is current, or for one
 * that there is. */
static void sees_fewer(const line *l) {
  lading_ipc token;
  hear(l, &token, sizeof token);
  forge(&token, DEVICE_AT, 200);
  char *const p = opened(&token);
  OK(driver_leave(v.d, 0));
  ck_assert_ptr_eq(opened(&token), p);
  OK(driver_enter(v.d, 0));
  OK(lading_ipc_close(p));
  OK(lading_ipc_close(p));
  wait_for_other(l);
}

START_TEST(of_more_devices) { owns_area(sees_fewer); }
END_TEST

/* ---- what cannot be opened ---- */

/* A token of our own whose memory has gone, though something else is at its place. */
START_TEST(of_our_own_that_was) {
  void *p = NULL;
  v = devices_open();
  devices_say(&v, "reuse 1");
  area a = area_new(&v, LADING_MEM_DEVICE, BYTES);
  const lading_ipc token = exported(a.at);
  area_free(&a);
  ck_assert_int_eq(lading_ipc_open(&token, &p), LADING_ERR_DEVICE);
  area b = area_new(&v, LADING_MEM_DEVICE, BYTES);
  ck_assert_int_eq(lading_ipc_open(&token, &p), LADING_ERR_DEVICE);
  ck_assert_ptr_null(p);
  area_free(&b);
  devices_close(&v);
}
END_TEST

START_TEST(of_our_own) {
  v = devices_open();
  area mine = area_new(&v, LADING_MEM_DEVICE, BYTES);
  const lading_ipc token = exported(mine.at + 33);
  ck_assert_ptr_eq(opened(&token), mine.at + 33);
  OK(lading_ipc_close(mine.at + 33));
  ck_assert_int_eq(lading_ipc_close(mine.at + 33), LADING_ERR_ARG);
  area_free(&mine);
  devices_close(&v);
}
END_TEST

START_TEST(not_exported) {
  v = devices_open();
  lading_ipc token;
  void *pool = NULL;
  area pinned = area_new(&v, LADING_MEM_PINNED, 64);
  char here[16];
  ck_assert_int_eq(lading_ipc_export(here, &token), LADING_ERR_UNSUPPORTED);
  ck_assert_int_eq(lading_ipc_export(pinned.at, &token), LADING_ERR_UNSUPPORTED);
  if (v.d->alloc_async && !v.d->alloc_async(&pool, 64, v.stream)) {
    for (int i = 0; i < 2; i++) ck_assert_int_eq(lading_ipc_export((char *)pool + 17 * i, &token), LADING_ERR_UNSUPPORTED); /* nor what is inside of it */
    OK(v.d->free_async(pool, v.stream));
  }
  area_free(&pinned);
  devices_close(&v);
}
END_TEST

START_TEST(bad_tokens) { owns_area(refuser); }
END_TEST

/* What two devices cannot do together is no failure of one. */
static const int not_together[] = { 217, 800, 801 }; /* peer access is unsupported; not permitted, not supported */

static void barred(const line *l) {
  lading_ipc token;
  void *p = NULL;
  hear(l, &token, sizeof token);
  for (int i = 0; v.d->fake && i < (int)COUNT_OF(not_together); i++) {
    let_fail("IpcOpenMemHandle", not_together[i]);
    ck_assert_int_eq(lading_ipc_open(&token, &p), LADING_ERR_UNSUPPORTED);
  }
  OK(lading_ipc_close(opened(&token)));
  wait_for_other(l);
}

START_TEST(of_devices_apart) {
  const line l = start(barred);
  area mine = area_new(&v, LADING_MEM_DEVICE, BYTES);
  lading_ipc none;
  for (int i = 0; v.d->fake && i < (int)COUNT_OF(not_together); i++) {
    let_fail("IpcGetMemHandle", not_together[i]);
    ck_assert_int_eq(lading_ipc_export(mine.at, &none), LADING_ERR_UNSUPPORTED);
  }
  serve(&l, mine.at);
  area_free(&mine);
  finish(&l);
}
END_TEST

static void latecomer(const line *l) {
  lading_ipc token;
  void *p = NULL;
  hear(l, &token, sizeof token);
  ck_assert_int_eq(lading_ipc_open(&token, &p), LADING_ERR_DEVICE);
}

START_TEST(freed_before) {
  const line l = start(latecomer);
  area mine = area_new(&v, LADING_MEM_DEVICE, 64);
  const lading_ipc token = exported(mine.at);
  area_free(&mine);
  tell(&l, &token, sizeof token);
  finish(&l);
}
END_TEST

int main(int argc, char **argv) {
  if (!devices_there()) return 77;
  return CHECK_MAIN("ipc", argc, argv, moves, opened_once, memory_that_came_back, memory_that_was_cut_up, in_the_way, many_mappings, opened_once_a_device, of_more_devices, of_our_own, of_our_own_that_was,
                    not_exported, bad_tokens, of_devices_apart, freed_before);
}
