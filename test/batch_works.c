#include "batch_works.h"
#include "api.h"
#include "batch_apart.h"

lading_work byte_copy(const void *from, void *to) {
  const lading_type *t = lading_elem_type(LADING_BYTE);
  return (lading_work){ .kind = LADING_WORK_COPY, .src_type = t, .dst_type = t, .src_count = 1, .dst_count = 1, .src = from, .dst = to, .hi = 1 };
}

lading_request added(lading_batch *b, const lading_work *w) {
  lading_request r = 0;
  ck_assert_int_eq(lading_batch_add(b, w, &r), LADING_OK);
  return r;
}

/* ---- the same bytes as one after the other ---- */

void in_turn(const lading_work *w, int64_t shift) {
  const void *src = at_offset(w->src, shift);
  void *dst = at_offset(w->dst, shift);
  int e;
  if (w->kind == LADING_WORK_PACK) e = lading_pack_op(w->src_type, w->src_count, src, dst, w->lo, w->hi, w->op);
  else if (w->kind == LADING_WORK_UNPACK) e = lading_unpack_op(w->dst_type, w->dst_count, dst, src, w->lo, w->hi, w->op);
  else e = lading_copy_op(w->src_type, w->src_count, src, w->dst_type, w->dst_count, dst, w->lo, w->hi, w->op);
  ck_assert_int_eq(e, LADING_OK);
}

/* `count` items of s somewhere in the arena; NULL: they are too long. */
static char *somewhere(rng *r, const arena *a, const sample *s, int64_t count) {
  int64_t lo, hi;
  ck_assert_int_eq(lading_type_span(s->type, count, &lo, &hi), LADING_OK);
  return hi - lo > ARENA / 4 ? NULL : a->at + rng_in(r, 0, ARENA - (hi - lo)) - lo;
}

static bool spans_meet(const lading_work *w) {
  ldg_work k;
  ck_assert_int_eq(ldg_api_work(w, &k), LADING_OK);
  int64_t span[2][2];
  for (int i = 0; i < 2; i++) {
    ldg_batch_place p;
    if (k.plan[i]) ldg_batch_place_side(&p, &k.side[i], k.lo, k.hi);
    else ldg_batch_place_dense(&p, ldg_at(k.side[i].base, k.lo), k.hi - k.lo);
    span[i][0] = (int64_t)p.lo, span[i][1] = (int64_t)p.hi;
  }
  return span[0][0] < span[1][1] && span[1][0] < span[0][1];
}

bool random_work(rng *r, const arena *a, const sample *s, lading_work *w) {
  const int64_t count = rng_in(r, 1, 3), n = count * info_of(s->type).size, lo = rng_in(r, 0, n), hi = rng_in(r, lo, n);
  char *mem = somewhere(r, a, s, count), *packed = a->at + rng_in(r, 0, ARENA - (hi - lo));
  if (!mem) return false;
  *w = (lading_work){ .kind = (lading_work_kind)rng_in(r, 0, 2), .lo = lo, .hi = hi, .src_mem = a->kind, .dst_mem = a->kind };
  if (w->kind == LADING_WORK_PACK) w->src_type = s->type, w->src_count = count, w->src = mem, w->dst = packed;
  else if (w->kind == LADING_WORK_UNPACK) w->dst_type = s->type, w->dst_count = count, w->dst = mem, w->src = packed;
  else {
    w->src_type = w->dst_type = s->type, w->src_count = w->dst_count = count, w->src = mem;
    w->dst = somewhere(r, a, s, count);
  }
  return !spans_meet(w);
}

/* When the batch is full, it waits for the oldest ones. */
static lading_request add(lading_batch *b, const lading_work *w, const lading_request *before) {
  lading_request id;
  int e = lading_batch_add(b, w, &id);
  for (int64_t i = 0; e == LADING_BATCH_FULL; i++) {
    ck_assert_int_eq(lading_batch_wait(b, before[i]), LADING_OK);
    e = lading_batch_add(b, w, &id);
  }
  ck_assert_int_eq(e, LADING_OK);
  return id;
}

static void one_round(rng *r, lading_batch *b, const arena *a) {
  lading_request req[64];
  int64_t n = 0;
  for (int k = 0; k < a->works; k++) {
    sample *s = random_type(r, 1 + k % 4, 900);
    lading_work w;
    if (random_work(r, a, s, &w)) req[n] = add(b, &w, req), n++, in_turn(&w, a->shadow - a->at);
    sample_free(s); /* also the type, in flight */
    if (rng_in(r, 0, 9) == 0) ck_assert_int_eq(lading_batch_flush(b), LADING_OK);
  }
  for (int64_t i = n - 1; i >= 0; i -= rng_in(r, 1, 5)) ck_assert_int_eq(lading_batch_wait(b, req[i]), LADING_OK);
  for (bool done = false; n && !done;) ck_assert_int_eq(lading_batch_test(b, req[0], &done), LADING_OK);
  for (int64_t i = 0; i < n; i++) ck_assert_int_eq(lading_batch_wait(b, req[i]), LADING_OK);
}

void same_as_in_turn(lading_batch *b, const arena *a, int64_t salt) {
  static char got[ARENA];
  rng r = rng_of((uint64_t)salt);
  bytes_random(&r, a->shadow, ARENA);
  a->store(a, a->shadow);
  for (int i = 0; i < a->rounds; i++) {
    one_round(&r, b, a);
    a->fetch(a, got);
    int64_t same = 0;
    while (same < ARENA && got[same] == a->shadow[same]) same++;
    ck_assert_msg(same == ARENA, "round %d of salt %d: byte %d is wrong", i, (int)salt, (int)same);
  }
}

lading_batch *batch_of(lading_queue *q, const lading_batch_attr *a) {
  lading_batch *b;
  ck_assert_int_eq(lading_batch_create(q, a, &b), LADING_OK);
  return b;
}

lading_batch_counts counts_of(lading_batch *b) {
  lading_batch_counts c;
  ck_assert_int_eq(lading_batch_stats(b, &c), LADING_OK);
  return c;
}
