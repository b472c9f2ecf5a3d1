/* peer: whatever the transport does to the messages, what is accepted is what was offered, and as soon as messages arrive
 * again so does every type. Explored exhaustively over short histories and at random over long ones. */
#include "random_types.h"
#include "peer_table.h"
#include "wire.h"
#include <inttypes.h>
#include <pthread.h>

enum { HEAD = 36, ROOM = 2048 };

static lading_peer *peer_of(int64_t capacity, uint64_t epoch) {
  lading_peer *p = NULL;
  ck_assert_int_eq(lading_peer_create(&(lading_peer_attr){ capacity, epoch }, &p), LADING_OK);
  return p;
}

static lading_peer_counts counts_of(const lading_peer *p) {
  lading_peer_counts c;
  ck_assert_int_eq(lading_peer_stats(p, &c), LADING_OK);
  return c;
}

static bool same_name(const lading_type *a, const lading_type *b) { return same_id(ldg_wire_name(a), ldg_wire_name(b)); }

typedef struct message { int64_t n; int type; int64_t count; unsigned char at[ROOM]; } message;

static void offer(lading_peer *p, const lading_type *t, int64_t count, message *m) {
  ck_assert_int_eq(lading_peer_offer(p, t, count, m->at, ROOM, &m->n), LADING_OK);
}

/* The state; *out is checked against what was offered, and freed. */
static int accept_as(lading_peer *p, const message *m, const lading_type *want, int64_t count, message *reply) {
  lading_type *got = NULL;
  int64_t n = -7;
  int rc = lading_peer_accept(p, m->at, m->n, &got, &n, reply->at, ROOM, &reply->n);
  if (rc == LADING_OK) {
    ck_assert(same_name(got, want) && n == count && reply->n == 0);
    lading_type_free(got);
  } else {
    ck_assert(rc == LADING_NEED_LAYOUT && !got && n == -7 && reply->n > 0 && reply->n <= HEAD);
  }
  return rc;
}

/* ---- one conversation ---- */

START_TEST(offer_accept) {
  lading_type *t = parsed("vector(8,1,8,double)");
  lading_peer *a = peer_of(0, 1), *b = peer_of(0, 1);
  message m, r;
  offer(a, t, 5, &m);
  ck_assert_int_gt(m.n, HEAD);
  ck_assert_int_eq(accept_as(b, &m, t, 5, &r), LADING_OK);
  for (int64_t count = 0; count < INT64_MAX / 3; count = 3 * count + 1) {
    offer(a, t, count, &m);
    ck_assert(m.n >= 16 && m.n <= HEAD);
    ck_assert_int_eq(accept_as(b, &m, t, count, &r), LADING_OK);
  }
  const lading_peer_counts x = counts_of(a), y = counts_of(b);
  ck_assert(x.offers > 30 && x.hits == x.offers - 1 && x.layouts_sent == 1 && x.needs == 0 && x.evictions == 0 && x.bytes > 0);
  ck_assert(y.hits == x.hits && y.offers == 0 && y.needs == 0 && y.bytes > 0);
  lading_type_free(t);
  lading_peer_free(a);
  lading_peer_free(b);
}
END_TEST

/* The receiver's answer decides: the offer with the type never came. */
START_TEST(need_and_reply) {
  lading_type *t = parsed("hindexed([3,1,2],[0,40,100],int32)");
  lading_peer *a = peer_of(0, 1), *b = peer_of(0, 1);
  message m, need, r;
  offer(a, t, 1, &m);
  offer(a, t, 9, &m);
  lading_type *keep = lading_type_ref(t);
  lading_type_free(t); /* the peer has its own reference */
  ck_assert_int_eq(accept_as(b, &m, keep, 9, &need), LADING_NEED_LAYOUT);
  ck_assert_int_eq(lading_peer_reply(a, need.at, need.n, r.at, ROOM, &r.n), LADING_OK);
  ck_assert_int_eq(accept_as(b, &r, keep, 9, &m), LADING_OK);
  ck_assert_int_eq(accept_as(b, &r, keep, 9, &m), LADING_OK);
  ck_assert(counts_of(a).needs == 1 && counts_of(b).needs == 1 && counts_of(a).layouts_sent == 2);
  lading_type_free(keep);
  lading_peer_free(a);
  lading_peer_free(b);
}
END_TEST

/* What differs in anything that can be told has another name: the same 12 bytes under other bounds, elements, pairs,
 * alignment, markers. */
START_TEST(names_tell_types_apart) {
  static const char *const texts[] = {
    "contiguous(12,byte)", "contiguous(3,int32)", "contiguous(3,float)", "resized(contiguous(3,int32),0,12)", "resized(contiguous(3,int32),0,16)",
    "resized(contiguous(3,int32),-4,12)", "resized(contiguous(12,byte),0,12)", "struct([1,1],[0,4],[int32,2int])", "struct([1,1],[0,8],[2int,int32])",
    "struct([1,1],[0,4],[int32,double])", "struct([1,1],[0,8],[double,int32])", "contiguous(6,int16)", "hindexed_block(1,[4,0,8],int32)",
  };
  enum { N = sizeof texts / sizeof *texts };
  lading_type *t[N], *got[N];
  lading_peer *a = peer_of(0, 1), *b = peer_of(0, 1);
  message m;
  for (int i = 0; i < N; i++) {
    t[i] = parsed(texts[i]);
    offer(a, t[i], 1, &m);
    int64_t count, rn;
    ck_assert_int_eq(lading_peer_accept(b, m.at, m.n, &got[i], &count, NULL, 0, &rn), LADING_OK);
    for (int j = 0; j < i; j++) ck_assert_msg(!same_name(t[i], t[j]) && got[i] != got[j], "%s and %s", texts[i], texts[j]);
  }
  ck_assert_int_eq(counts_of(a).layouts_sent, N);
  for (int i = 0; i < N; i++) {
    ck_assert(info_of(t[i]).extent == info_of(got[i]).extent && info_of(t[i]).elem == info_of(got[i]).elem && info_of(t[i]).elements == info_of(got[i]).elements);
    lading_type_free(t[i]);
    lading_type_free(got[i]);
  }
  lading_peer_free(a);
  lading_peer_free(b);
}
END_TEST

/* Made in other ways, one type all the same: its layout goes out once. */
START_TEST(constructors_do_not_matter) {
  rng r = rng_of(81);
  for (int i = 0; i < 300; i++) {
    sample *s = random_type(&r, i % 5, 300);
    stream *x = stream_of(s->map, 1);
    lading_peer *a = peer_of(0, 1), *b = peer_of(0, 1);
    unsigned char *buf = malloc(1 << 16);
    for (int how = 0; how < RESPELLINGS; how++) {
      lading_type *t = respelled(x, how, &r), *got;
      int64_t n, count, rn;
      ck_assert_int_eq(lading_peer_offer(a, t, 1, buf, 1 << 16, &n), LADING_OK);
      ck_assert_int_eq(lading_peer_accept(b, buf, n, &got, &count, NULL, 0, &rn), LADING_OK);
      ck_assert(same_name(t, got) && same_id(id_of(t, 2), id_of(got, 2)));
      lading_type_free(t);
      lading_type_free(got);
    }
    ck_assert_int_eq(counts_of(a).layouts_sent, 1);
    free(buf);
    lading_peer_free(a);
    lading_peer_free(b);
    stream_free(x);
    sample_free(s);
  }
}
END_TEST

/* ---- capacity ---- */

/* Different types of equally many bytes of memory. */
static lading_type *shape(int64_t k) {
  lading_type *t = NULL;
  ck_assert_int_eq(lading_type_vector(8, 1, 3 + k, lading_elem_type(LADING_DOUBLE), &t), LADING_OK);
  return t;
}

START_TEST(eviction_spares_what_is_held) {
  enum { N = 40, KEPT = 3 };
  lading_type *t[N], *got[N];
  for (int i = 0; i < N; i++) t[i] = shape(i);
  const int64_t each = ldg_peer_table_bytes(t[0]);
  lading_peer *a = peer_of(1 << 20, 1), *b = peer_of(KEPT * each, 1);
  message m, need, r;
  int64_t count, rn;
  for (int i = 0; i < N; i++) {
    offer(a, t[i], 1, &m);
    ck_assert_int_eq(lading_peer_accept(b, m.at, m.n, &got[i], &count, NULL, 0, &rn), LADING_OK);
    ck_assert_int_le(counts_of(b).bytes, KEPT * each);
  }
  ck_assert_int_eq(counts_of(b).evictions, N - KEPT);
  for (int i = 0; i < N; i++) ck_assert(same_name(t[i], got[i]) && info_of(got[i]).size == 64);
  for (int i = N - KEPT; i < N; i++) {
    offer(a, t[i], 1, &m);
    ck_assert_int_eq(accept_as(b, &m, t[i], 1, &need), LADING_OK);
  }
  offer(a, t[0], 1, &m); /* gone there, which is not known here */
  ck_assert_int_eq(accept_as(b, &m, t[0], 1, &need), LADING_NEED_LAYOUT);
  ck_assert_int_eq(lading_peer_reply(a, need.at, need.n, r.at, ROOM, &r.n), LADING_OK);
  ck_assert_int_eq(accept_as(b, &r, t[0], 1, &need), LADING_OK);
  lading_peer_free(a);
  lading_peer_free(b);
  for (int i = 0; i < N; i++) {
    ck_assert_int_eq(info_of(got[i]).blocks, 8); /* also without the peer */
    lading_type_free(t[i]);
    lading_type_free(got[i]);
  }
}
END_TEST

/* Then every offer carries the layout, and nothing is kept. */
START_TEST(no_capacity_at_all) {
  lading_type *t = shape(1);
  lading_peer *a = peer_of(1, 1), *b = peer_of(1, 1);
  message m, r;
  for (int i = 0; i < 5; i++) {
    offer(a, t, 1, &m);
    ck_assert_int_eq(accept_as(b, &m, t, 1, &r), LADING_OK);
  }
  ck_assert(counts_of(a).layouts_sent == 5 && counts_of(a).bytes == 0 && counts_of(b).bytes == 0);
  lading_type_free(t);
  lading_peer_free(a);
  lading_peer_free(b);
}
END_TEST

START_TEST(epochs) {
  lading_type *t = shape(1);
  lading_peer *a = peer_of(0, 1), *b = peer_of(0, 1);
  message m, need, r;
  offer(a, t, 1, &m);
  ck_assert_int_eq(accept_as(b, &m, t, 1, &r), LADING_OK);
  lading_peer_free(b); /* begins anew */
  b = peer_of(0, 2);
  offer(a, t, 1, &m);
  ck_assert_int_le(m.n, HEAD);
  ck_assert_int_eq(accept_as(b, &m, t, 1, &need), LADING_NEED_LAYOUT);
  ck_assert_int_eq(lading_peer_reply(a, need.at, need.n, r.at, ROOM, &r.n), LADING_OK);
  ck_assert_int_eq(accept_as(b, &r, t, 1, &need), LADING_OK);
  lading_peer_free(a); /* now the sender, with a message of its former life under way */
  message old = m;
  a = peer_of(0, 3);
  offer(a, t, 1, &m);
  offer(a, t, 2, &r);
  ck_assert_int_eq(accept_as(b, &r, t, 2, &need), LADING_NEED_LAYOUT); /* it had the type, of another epoch */
  ck_assert_int_eq(accept_as(b, &m, t, 1, &need), LADING_OK);
  ck_assert_int_eq(accept_as(b, &r, t, 2, &need), LADING_OK);
  ck_assert_int_eq(accept_as(b, &old, t, 1, &need), LADING_NEED_LAYOUT);
  lading_type_free(t);
  lading_peer_free(a);
  lading_peer_free(b);
}
END_TEST

/* ---- the explorer: a world of two peers, some types, and a transport that does as it pleases ---- */

enum { TYPES = 5, FLIGHT = 8, ACTIONS = 9 };
typedef struct world {
  lading_peer *a, *b;
  int64_t cap_a, cap_b;
  uint64_t epoch;
  lading_type *const *t;
  message to_a[FLIGHT], to_b[FLIGHT];
  int n_a, n_b;
  int64_t accepted, needs;
} world;

static void post(message *box, int *n, const message *m) {
  if (*n < FLIGHT) box[(*n)++] = *m;
}

static void lose(message *box, int *n, int i) {
  memmove(box + i, box + i + 1, (size_t)(--*n - i) * sizeof *box);
}

static void do_offer(world *w, int type) {
  message m = { .type = type, .count = type + 100 };
  offer(w->a, w->t[type], m.count, &m);
  post(w->to_b, &w->n_b, &m);
}

/* An offer, or an answer to a need, arrives. */
static void at_b(world *w, const message *m) {
  message reply = { .type = m->type, .count = m->count };
  if (accept_as(w->b, m, w->t[m->type], m->count, &reply) == LADING_OK) {
    w->accepted++;
    return;
  }
  w->needs++;
  post(w->to_a, &w->n_a, &reply);
}

/* A need arrives; whose type was forgotten offers it again. */
static void at_a(world *w, const message *need) {
  message m = { .type = need->type, .count = need->count };
  int rc = lading_peer_reply(w->a, need->at, need->n, m.at, ROOM, &m.n);
  ck_assert(rc == LADING_OK || rc == LADING_ERR_ARG);
  if (rc) offer(w->a, w->t[m.type], m.count, &m);
  post(w->to_b, &w->n_b, &m);
}

static void deliver(world *w, bool to_b, int i, bool keep) {
  const message m = to_b ? w->to_b[i] : w->to_a[i];
  if (!keep) lose(to_b ? w->to_b : w->to_a, to_b ? &w->n_b : &w->n_a, i);
  (to_b ? at_b : at_a)(w, &m);
}

static void restart(world *w, bool b) {
  lading_peer **p = b ? &w->b : &w->a;
  lading_peer_free(*p);
  *p = peer_of(b ? w->cap_b : w->cap_a, ++w->epoch);
}

/* `types`: how many of them this history knows. */
static void act(world *w, int action, int types, int at_b_, int at_a_) {
  const int last_b = w->n_b - 1, last_a = w->n_a - 1;
  switch (action) {
  case 0: case 1: do_offer(w, (action + at_b_) % types); break;
  case 2: if (w->n_b) deliver(w, true, at_b_ % w->n_b, false); break;
  case 3: if (w->n_b) deliver(w, true, last_b, true); break; /* the latest one first, and once more later */
  case 4: if (w->n_a) deliver(w, false, at_a_ % w->n_a, false); break;
  case 5: if (w->n_a) deliver(w, false, last_a, true); break;
  case 6: if (w->n_b) lose(w->to_b, &w->n_b, at_b_ % w->n_b); break;
  case 7: restart(w, true); break;
  default: restart(w, false); break;
  }
}

static world world_new(lading_type *const *t, int64_t entries_a, int64_t entries_b) {
  const int64_t each = ldg_peer_table_bytes(t[0]);
  world w = { .cap_a = entries_a * each, .cap_b = entries_b * each, .epoch = 2, .t = t };
  w.a = peer_of(w.cap_a, 1);
  w.b = peer_of(w.cap_b, 1);
  return w;
}

/* From here on nothing gets lost: each type is there after one need at most. */
static void check_not_stuck(world *w, int types) {
  message m, need, r;
  for (int k = 0; k < types; k++) {
    offer(w->a, w->t[k], k, &m);
    if (accept_as(w->b, &m, w->t[k], k, &need) == LADING_OK) continue;
    ck_assert_int_eq(lading_peer_reply(w->a, need.at, need.n, r.at, ROOM, &r.n), LADING_OK);
    ck_assert_int_eq(accept_as(w->b, &r, w->t[k], k, &need), LADING_OK);
  }
  ck_assert(counts_of(w->a).bytes <= w->cap_a && counts_of(w->b).bytes <= w->cap_b);
}

static void world_end(world *w) {
  lading_peer_free(w->a);
  lading_peer_free(w->b);
}

static void make_shapes(lading_type **t) {
  for (int i = 0; i < TYPES; i++) {
    t[i] = shape(i);
    ck_assert_int_eq(ldg_peer_table_bytes(t[i]), ldg_peer_table_bytes(t[0]));
  }
}

static void free_shapes(lading_type **t) {
  for (int i = 0; i < TYPES; i++) lading_type_free(t[i]);
}

/* Every history of so many actions with two types. */
START_TEST(all_short_histories) {
  ONE_THREAD_ONLY();
  const int length = TEST_ASAN ? 4 : 5;
  lading_type *t[TYPES];
  int64_t histories = 1, accepted = 0, needs = 0;
  make_shapes(t);
  for (int i = 0; i < length; i++) histories *= ACTIONS;
  for (int64_t caps = 0; caps < 4; caps++)
    for (int64_t h = 0; h < histories; h++) {
      world w = world_new(t, 1 + caps % 2, 1 + caps / 2);
      int64_t rest = h;
      do_offer(&w, 0);
      for (int i = 0; i < length; i++, rest /= ACTIONS) act(&w, (int)(rest % ACTIONS), 2, 0, 0);
      accepted += w.accepted;
      needs += w.needs;
      check_not_stuck(&w, 2);
      world_end(&w);
    }
  printf("%" PRId64 " histories, %" PRId64 " types accepted, %" PRId64 " needs\n", 4 * histories, accepted, needs);
  free_shapes(t);
}
END_TEST

START_TEST(long_random_histories) {
  ONE_THREAD_ONLY();
  rng r = rng_of(82);
  lading_type *t[TYPES];
  int64_t accepted = 0, needs = 0, evictions = 0;
  make_shapes(t);
  for (int i = 0; i < 3000; i++) {
    world w = world_new(t, rng_in(&r, 1, 4), rng_in(&r, 1, 4));
    for (int k = 0; k < 200; k++) {
      const int action = (int)rng_in(&r, 0, 60), types = 2 + i % (TYPES - 1);
      act(&w, action < 57 ? action % 7 : action % ACTIONS, types, (int)rng_in(&r, 0, FLIGHT * TYPES), (int)rng_in(&r, 0, FLIGHT));
      if (k % 50 == 49) check_not_stuck(&w, types);
    }
    accepted += w.accepted;
    needs += w.needs;
    evictions += counts_of(w.a).evictions + counts_of(w.b).evictions;
    world_end(&w);
  }
  ck_assert(accepted > 10000 && needs > 1000 && evictions > 1000);
  free_shapes(t);
}
END_TEST

/* ---- messages nobody sent ---- */

/* A receiver that gets garbage refuses it or accepts another valid type under its own name; its table stays true. */
START_TEST(altered_messages) {
  rng r = rng_of(83);
  lading_type *t[TYPES];
  message m, need;
  int64_t count, rn;
  make_shapes(t);
  for (int i = 0; i < 1000; i++) {
    lading_peer *a = peer_of(0, 1), *b = peer_of(0, 1);
    for (int k = 0; k < 100; k++) {
      lading_type *got = NULL;
      offer(a, t[k % TYPES], k, &m);
      m.at[rng_in(&r, 0, m.n - 1)] ^= (unsigned char)(1 << rng_in(&r, 0, 7));
      if (rng_in(&r, 0, 3) == 0) m.n = rng_in(&r, 0, m.n);
      int rc = lading_peer_accept(b, m.at, m.n, &got, &count, need.at, ROOM, &rn);
      ck_assert(rc == LADING_OK || rc == LADING_NEED_LAYOUT || rc == LADING_ERR_FORMAT || rc == LADING_ERR_OVERFLOW || rc == LADING_ERR_DEPTH);
      lading_type_free(got);
      if (rc == LADING_NEED_LAYOUT) lading_peer_reply(a, need.at, rn, m.at, ROOM, &m.n);
      lading_peer_reply(a, m.at, m.n, need.at, ROOM, &rn);
    }
    world w = { .a = a, .b = b, .cap_a = LADING_DEPTH_MAX << 20, .cap_b = LADING_DEPTH_MAX << 20, .t = t };
    check_not_stuck(&w, TYPES);
    world_end(&w);
  }
  free_shapes(t);
}
END_TEST

/* ---- arguments ---- */

START_TEST(creation_arguments) {
  lading_peer *p = NULL;
  lading_peer_counts c;
  ck_assert_int_eq(lading_peer_create(NULL, &p), LADING_ERR_ARG);
  ck_assert_int_eq(lading_peer_create(&(lading_peer_attr){ 0, 0 }, NULL), LADING_ERR_ARG);
  ck_assert_int_eq(lading_peer_create(&(lading_peer_attr){ -1, 0 }, &p), LADING_ERR_ARG);
  ck_assert_ptr_null(p);
  lading_peer_free(NULL);
  p = peer_of(0, 1);
  ck_assert_int_eq(lading_peer_stats(NULL, &c), LADING_ERR_ARG);
  ck_assert_int_eq(lading_peer_stats(p, NULL), LADING_ERR_ARG);
  lading_peer_free(p);
}
END_TEST

START_TEST(call_arguments) {
  lading_type *t = shape(1), *out = NULL;
  lading_peer *p = peer_of(0, 1);
  unsigned char m[ROOM];
  int64_t n = -7, count = -7, rn = -7;
  ck_assert_int_eq(lading_peer_offer(NULL, t, 1, m, ROOM, &n), LADING_ERR_ARG);
  ck_assert_int_eq(lading_peer_offer(p, NULL, 1, m, ROOM, &n), LADING_ERR_ARG);
  ck_assert_int_eq(lading_peer_offer(p, t, -1, m, ROOM, &n), LADING_ERR_ARG);
  ck_assert_int_eq(lading_peer_offer(p, t, 1, NULL, ROOM, &n), LADING_ERR_ARG);
  ck_assert_int_eq(lading_peer_offer(p, t, 1, m, -1, &n), LADING_ERR_ARG);
  ck_assert_int_eq(lading_peer_offer(p, t, 1, m, ROOM, NULL), LADING_ERR_ARG);
  ck_assert_int_eq(lading_peer_accept(NULL, m, 9, &out, &count, m, ROOM, &rn), LADING_ERR_ARG);
  ck_assert_int_eq(lading_peer_accept(p, NULL, 9, &out, &count, m, ROOM, &rn), LADING_ERR_ARG);
  ck_assert_int_eq(lading_peer_accept(p, m, -1, &out, &count, m, ROOM, &rn), LADING_ERR_ARG);
  ck_assert_int_eq(lading_peer_accept(p, m, 9, NULL, &count, m, ROOM, &rn), LADING_ERR_ARG);
  ck_assert_int_eq(lading_peer_accept(p, m, 9, &out, NULL, m, ROOM, &rn), LADING_ERR_ARG);
  ck_assert_int_eq(lading_peer_accept(p, m, 9, &out, &count, NULL, ROOM, &rn), LADING_ERR_ARG);
  ck_assert_int_eq(lading_peer_accept(p, m, 9, &out, &count, m, ROOM, NULL), LADING_ERR_ARG);
  ck_assert_int_eq(lading_peer_reply(NULL, m, 9, m, ROOM, &rn), LADING_ERR_ARG);
  ck_assert_int_eq(lading_peer_reply(p, NULL, 9, m, ROOM, &rn), LADING_ERR_ARG);
  ck_assert_int_eq(lading_peer_reply(p, m, 9, NULL, ROOM, &rn), LADING_ERR_ARG);
  ck_assert_int_eq(lading_peer_reply(p, m, 9, m, ROOM, NULL), LADING_ERR_ARG);
  ck_assert_int_eq(lading_peer_accept(p, NULL, 0, &out, &count, NULL, 0, &rn), LADING_ERR_FORMAT);
  ck_assert_int_eq(lading_peer_reply(p, NULL, 0, NULL, 0, &rn), LADING_ERR_FORMAT);
  ck_assert(n == -7 && count == -7 && rn == -7 && !out);
  lading_type_free(t);
  lading_peer_free(p);
}
END_TEST

/* Too small a buffer: the length is told, nothing else changes, and the next call does it. */
START_TEST(small_buffers) {
  lading_type *t = shape(1), *out = NULL;
  lading_peer *a = peer_of(0, 1), *b = peer_of(0, 1);
  unsigned char m[ROOM], need[HEAD], r[ROOM];
  int64_t n, used, count = -7, rn, on;
  ck_assert_int_eq(lading_peer_offer(a, t, 1, NULL, 0, &n), LADING_ERR_RANGE);
  for (int64_t cap = 0; cap < n; cap += 5) ck_assert_int_eq(lading_peer_offer(a, t, 1, m, cap, &used), LADING_ERR_RANGE);
  ck_assert(counts_of(a).offers == 0 && counts_of(a).bytes == 0);
  ck_assert_int_eq(lading_peer_offer(a, t, 1, m, n, &used), LADING_OK);
  ck_assert_int_eq(used, n);
  ck_assert_int_eq(lading_peer_offer(a, t, 1, m, 12, &n), LADING_ERR_RANGE);
  ck_assert_int_le(n, HEAD);
  ck_assert_int_eq(lading_peer_offer(a, t, 1, m, n, &n), LADING_OK);
  ck_assert_int_eq(lading_peer_accept(b, m, n, &out, &count, NULL, 0, &rn), LADING_ERR_RANGE);
  ck_assert(counts_of(b).needs == 0 && count == -7 && !out);
  ck_assert_int_eq(lading_peer_accept(b, m, n, &out, &count, need, rn, &rn), LADING_NEED_LAYOUT);
  ck_assert_int_eq(lading_peer_reply(a, need, rn, r, 40, &on), LADING_ERR_RANGE);
  ck_assert_int_eq(lading_peer_reply(a, need, rn, r, on, &on), LADING_OK);
  ck_assert_int_eq(lading_peer_accept(b, r, on, &out, &count, NULL, 0, &rn), LADING_OK);
  ck_assert(same_name(out, t) && count == 1);
  ck_assert_int_eq(lading_peer_accept(b, need, 28, &out, &count, NULL, 0, &rn), LADING_ERR_FORMAT);
  ck_assert_int_eq(lading_peer_reply(b, r, on, m, ROOM, &n), LADING_ERR_FORMAT);
  lading_type_free(out);
  lading_type_free(t);
  lading_peer_free(a);
  lading_peer_free(b);
}
END_TEST

/* ---- threads: both sides of one pair, from everywhere ---- */

enum { THREADS = 8 };
typedef struct member { world *w; int id; int64_t bad; } member;

static int bring(world *w, const lading_type *t, lading_type **out) {
  unsigned char m[ROOM], r[ROOM];
  int64_t n, rn, count;
  int rc = lading_peer_offer(w->a, t, 1, m, ROOM, &n);
  if (!rc) rc = lading_peer_accept(w->b, m, n, out, &count, r, ROOM, &rn);
  if (rc == LADING_NEED_LAYOUT) {
    rc = lading_peer_reply(w->a, r, rn, m, ROOM, &n);
    if (rc == LADING_ERR_ARG) return rc;
    if (!rc) rc = lading_peer_accept(w->b, m, n, out, &count, r, ROOM, &rn);
  }
  return rc;
}

static void *bring_all(void *arg) {
  member *m = arg;
  for (int k = 0; k < (TEST_TSAN ? 1000 : 3000); k++) {
    const lading_type *t = m->w->t[(k * 7 + m->id) % TYPES];
    lading_type *got = NULL;
    int rc = bring(m->w, t, &got);
    m->bad += rc == LADING_OK ? !same_name(got, t) : rc != LADING_ERR_ARG; /* evicted meanwhile by another thread */
    lading_type_free(got);
  }
  return NULL;
}

START_TEST(threads_share_a_peer) {
  lading_type *t[TYPES];
  pthread_t thread[THREADS];
  member m[THREADS];
  make_shapes(t);
  for (int64_t entries = 1; entries < 5; entries++) {
    world w = world_new(t, 5 - entries, entries);
    for (int i = 0; i < THREADS; i++) {
      m[i] = (member){ &w, i, 0 };
      ck_assert_int_eq(pthread_create(&thread[i], NULL, bring_all, &m[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
      pthread_join(thread[i], NULL);
      ck_assert_int_eq(m[i].bad, 0);
    }
    world_end(&w);
  }
  free_shapes(t);
}
END_TEST

/* ---- no memory ---- */

static int talk(int64_t capacity, lading_type *const *t, int64_t fail) {
  world w = { .t = t };
  int rc = LADING_OK;
  ldg_alloc_fail(fail);
  rc = lading_peer_create(&(lading_peer_attr){ capacity, 1 }, &w.a);
  if (!rc) rc = lading_peer_create(&(lading_peer_attr){ capacity / 2, 1 }, &w.b);
  for (int k = 0; k < 2 * TYPES && !rc; k++) {
    lading_type *got = NULL;
    rc = bring(&w, t[k % TYPES], &got);
    ck_assert((rc == LADING_OK) == (got != NULL));
    lading_type_free(got);
  }
  ldg_alloc_fail(-1);
  if (w.a && w.b) check_not_stuck(&(world){ .a = w.a, .b = w.b, .cap_a = capacity, .cap_b = capacity / 2, .t = t }, TYPES);
  lading_peer_free(w.a);
  lading_peer_free(w.b);
  return rc;
}

START_TEST(no_memory) {
  lading_type *t[TYPES];
  make_shapes(t);
  for (int i = 0; i < TYPES; i++) ck_assert_int_eq(lading_type_commit(t[i]), LADING_OK);
  const int64_t before = ldg_alloc_live();
  int rc = LADING_ERR_NOMEM;
  for (int64_t n = 0; rc; n++) {
    rc = talk(4 * ldg_peer_table_bytes(t[0]), t, n);
    ck_assert(rc == LADING_OK || rc == LADING_ERR_NOMEM);
    ck_assert_msg(ldg_alloc_live() == before, "allocation %" PRId64 ": leak", n);
    ck_assert_int_lt(n, 2000);
  }
  free_shapes(t);
}
END_TEST

/* An offer that fails has written nothing; one that there is no memory to note is an offer all the same. */
START_TEST(offers_without_memory) {
  for (int64_t n = 0, len = -1, rc = LADING_ERR_NOMEM; rc; n++) {
    char msg[256] = { 0 };
    lading_peer *p;
    ck_assert_int_eq(lading_peer_create(&(lading_peer_attr){ 1 << 20, 1 }, &p), LADING_OK); ldg_alloc_fail(n);
    rc = lading_peer_offer(p, lading_elem_type(LADING_INT32), 1, msg, sizeof msg, &len);
    ldg_alloc_fail(-1), lading_peer_free(p);
    ck_assert(rc ? rc == LADING_ERR_NOMEM && len == -1 && !msg[0] : len > 0 && msg[0]);
  }
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("peer", argc, argv, offer_accept, need_and_reply, names_tell_types_apart, constructors_do_not_matter, eviction_spares_what_is_held,
                    no_capacity_at_all, epochs, all_short_histories, long_random_histories, altered_messages, creation_arguments, call_arguments, small_buffers,
                    threads_share_a_peer, no_memory, offers_without_memory);
}
