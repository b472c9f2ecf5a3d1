/* shared: types of few nodes that are very many when written out, deep ones, and those that touch: what they cost follows the nodes there are. No clock is read: time is bounded by
 * the runner's timeout alone. */
#include "random_types.h"
#include "api.h"
#include "canon.h"
#include "plan.h"
#include "rep_map.h"

#include <pthread.h>

static lading_type *struct_over(lading_type *old, int64_t n, const int64_t *lens, const int64_t *at, const lading_type *const *olds) {
  lading_type *t;
  ck_assert_int_eq(lading_type_struct(n, lens, at, olds, &t), LADING_OK);
  lading_type_free(old);
  return t;
}

/* Two and three of the type before, `levels` times, over a list: 5 * 2^levels - 3 nodes. */
static lading_type *tower_of(int levels, int64_t entries, const int64_t *at) {
  lading_type *t;
  ck_assert_int_eq(lading_type_indexed_block(entries, 1, at, lading_elem_type(LADING_DOUBLE), &t), LADING_OK);
  for (int i = 0; i < levels; i++) {
    const lading_type *const olds[] = { t, t };
    const int64_t extent = info_of(t).extent;
    t = struct_over(t, 2, LIST(2, 3), LIST(0, 2 * extent + 8), olds);
  }
  return t;
}

/* Over a list that is no progression. */
static lading_type *tower(int levels, int64_t entries) {
  int64_t *at = malloc((size_t)entries * sizeof *at);
  rng r = rng_of(91);
  for (int64_t i = 0, mem = 0; i < entries; i++) at[i] = mem, mem += rng_in(&r, 2, 9);
  lading_type *t = tower_of(levels, entries, at);
  free(at);
  return t;
}

/* A commit asks twice whether blocks are apart, and an id is a word for each node. */
enum { TALL = TEST_ASAN ? 100000 : 1000000 };
START_TEST(towers) {
  lading_type *t = tower(16, TALL);
  ck_assert_int_eq(lading_type_commit(t), LADING_OK);
  lading_type *again = tower(16, TALL);
  ck_assert(!info_of(t).overlaps && same_id(id_of(t, 1), id_of(again, 1)));
  lading_type_free(again);
  lading_type_free(t);
}
END_TEST

/* On the wire lists, joins and what loops over them are there once, and come back so. */
START_TEST(towers_are_shipped) {
  lading_type *list = tower(0, TALL), *t = tower(16, TALL), *back;
  int64_t n, most, used;
  ck_assert_int_eq(lading_wire_size(list, &most), LADING_OK);
  ck_assert_int_eq(lading_wire_size(t, &n), LADING_OK);
  ck_assert_int_lt(n, most + 16 * 36);
  unsigned char *bytes = malloc((size_t)n), *again = malloc((size_t)n);
  ck_assert_int_eq(lading_wire_encode(t, bytes, n, &used), LADING_OK);
  ck_assert_int_eq(lading_wire_decode(bytes, n, &back), LADING_OK);
  ck_assert(same_id(id_of(t, 1), id_of(back, 1)));
  ck_assert_int_eq(lading_wire_encode(back, again, n, &used), LADING_OK);
  ck_assert(used == n && !memcmp(bytes, again, (size_t)n));
  lading_type_free(list), lading_type_free(t), lading_type_free(back);
  free(bytes), free(again);
}
END_TEST

/* One wire form, also where an unlike node before has the same hash, and like ones are two objects. */
START_TEST(same_hash) {
  lading_type *t = parsed("struct([1,1,1,1],[0,100000,200000,300000],[hvector(300,1,24,hindexed_block(1,[0,8,13],byte)),int32,hvector(300,1,24,hindexed_block(1,[0,9,13],byte)),hvector(300,1,24,hindexed_block(1,[0,9,13],byte))])");
  const ldg_plan *p;
  ck_assert_int_eq(ldg_api_plan(t, &p), LADING_OK);
  const ldg_rep *root = ldg_rep_body(p->layout->rep), **kids = (const ldg_rep **)(uintptr_t)root->kids, *own = kids[3];
  ck_assert(root->kind == LDG_JOIN && root->n == 4 && own != kids[2] && ldg_rep_equal(own, kids[2]) && own->depth > 2 && kids[0]->depth > 2);
  unsigned char bytes[512], again[512];
  int64_t n, used;
  ck_assert_int_eq(lading_wire_encode(t, bytes, sizeof bytes, &n), LADING_OK);
  const uint64_t hash = ldg_rep_hash(kids[2]), other = ldg_rep_hash(kids[0]);
  for (int k = 0; k < 4; k++) {
    kids[3] = k / 2 ? kids[2] : own;
    atomic_store(&((ldg_rep *)(uintptr_t)kids[0])->hash, k % 2 ? hash : other);
    ck_assert_int_eq(lading_wire_encode(t, again, sizeof again, &used), LADING_OK);
    ck_assert(used == n && !memcmp(bytes, again, (size_t)n));
  }
  kids[3] = own;
  atomic_store(&((ldg_rep *)(uintptr_t)kids[0])->hash, other);
  lading_type *back;
  ck_assert_int_eq(lading_wire_decode(bytes, n, &back), LADING_OK);
  ck_assert(same_id(id_of(t, 1), id_of(back, 1)));
  lading_type_free(back);
  lading_type_free(t);
}
END_TEST

/* Three trees of equal content, of nodes that are met in new pairs each time: as `a` is over (a, a), `b` and `c` are over (b, c), level by level. A fourth has another offset far below. */
START_TEST(equal_in_any_pairs) {
  enum { TREES = 4, LEVELS = 20, LIST_OF = 1000000 };
  const ldg_rep *of[TREES], *byte;
  int64_t *at = malloc(LIST_OF * sizeof *at);
  rng r = rng_of(92);
  for (int64_t i = 0, mem = 0; i < LIST_OF; i++) at[i] = mem, mem += rng_in(&r, 3, 9);
  ck_assert_int_eq(ldg_rep_bytes(1, &byte), LADING_OK);
  for (int k = 0; k < TREES; k++) {
    if (k == 3) at[LIST_OF / 2]++;
    ck_assert_int_eq(ldg_rep_blocks(LIST_OF, at, NULL, 0, byte, &of[k]), LADING_OK);
  }
  for (int level = 0; level < LEVELS; level++) {
    static const int under[TREES][2] = { { 0, 0 }, { 1, 2 }, { 1, 2 }, { 3, 3 } };
    const int64_t far[2] = { 0, of[0]->hi + 8 };
    const ldg_rep *next[TREES];
    for (int k = 0; k < TREES; k++) ck_assert_int_eq(ldg_rep_join(2, far, (const ldg_rep *const[]){ of[under[k][0]], of[under[k][1]] }, &next[k]), LADING_OK);
    for (int k = 0; k < TREES; k++) ldg_rep_free(of[k]), of[k] = next[k];
  }
  ldg_map met;
  ldg_map_open(&met);
  for (int k = 0; k < 2 * TREES * TREES; k++) {
    const int i = k / TREES % TREES, j = k % TREES;
    ck_assert_int_eq(ldg_rep_equal(of[i], of[j]), i == j || (i < 3 && j < 3));
    ck_assert_int_eq(ldg_map_equal(&met, of[i], of[j]), i == j || (i < 3 && j < 3));
  }
  ldg_map_close(&met);
  for (int k = 0; k < TREES; k++) ldg_rep_free(of[k]);
  ldg_rep_free(byte);
  free(at);
}
END_TEST

/* More classes than a map has on the stack, and no memory for more: it takes longer, no more. */
START_TEST(equal_without_memory) {
  enum { LISTS = 40, EACH = 2 };
  const ldg_rep *list[EACH][2 * LISTS], *tree[EACH], *byte;
  int64_t at[2 * LISTS];
  ck_assert_int_eq(ldg_rep_bytes(1, &byte), LADING_OK);
  for (int k = 0; k < EACH; k++) {
    for (int i = 0; i < LISTS; i++) {
      ck_assert_int_eq(ldg_rep_blocks(3, LIST(0, 2 + i, 99), NULL, 0, byte, &list[k][i]), LADING_OK);
      list[k][LISTS + i] = list[k][i], at[i] = 200 * i, at[LISTS + i] = 200 * (LISTS + i);
    }
    ck_assert_int_eq(ldg_rep_join(2 * LISTS, at, list[k], &tree[k]), LADING_OK);
  }
  for (int64_t n = 0; n < 8; n++) {
    ldg_alloc_fail(n);
    const bool same = ldg_rep_equal(tree[0], tree[1]);
    ldg_alloc_fail(-1);
    ck_assert(same);
  }
  for (int k = 0; k < EACH; k++) {
    ldg_rep_free(tree[k]);
    for (int i = 0; i < LISTS; i++) ldg_rep_free(list[k][i]);
  }
  ldg_rep_free(byte);
}
END_TEST

#define PART(n) "hvector(300,1,24,hindexed_block(1,[0," #n ",20],byte))"
#define NINE "struct([1,1,1,1,1,1,1,1,1],[0,10000,20000,30000,40000,50000,60000,70000,80000],[" PART(2) "," PART(3) "," PART(4) "," PART(5) "," PART(6) "," PART(7) "," PART(8) "," PART(9) "," PART(10) "])"

/* Types whose names take memory: nothing is told of an offer, or of an answer, for which there is none. */
START_TEST(messages_without_memory) {
  char msg[1024], need[64];
  int64_t offered, count, asked, len = -1, failed = 0;
  lading_type *t = parsed(NINE), *got = NULL;
  lading_peer *p, *q;
  ck_assert_int_eq(lading_peer_create(&(lading_peer_attr){ 1 << 20, 1 }, &p), LADING_OK);
  ck_assert_int_eq(lading_peer_create(&(lading_peer_attr){ 1 << 20, 2 }, &q), LADING_OK);
  for (int64_t n = 0, rc = LADING_ERR_NOMEM; rc; n++) {
    ldg_alloc_fail(n);
    rc = lading_peer_offer(p, t, 1, msg, sizeof msg, &len);
    ldg_alloc_fail(-1);
    ck_assert(rc ? rc == LADING_ERR_NOMEM && len == -1 : len > 0);
    failed += rc != 0;
  }
  ck_assert_int_gt(failed, 0);
  for (int i = 0; i < 2; i++) ck_assert_int_eq(lading_peer_offer(p, t, 1, msg, sizeof msg, &offered), LADING_OK); /* by name, once there was memory to note it */
  ck_assert_int_lt(offered, 40);
  ck_assert_int_eq(lading_peer_accept(q, msg, offered, &got, &count, need, sizeof need, &asked), LADING_NEED_LAYOUT);
  failed = 0, len = -1;
  for (int64_t n = 0, rc = LADING_ERR_NOMEM; rc; n++) {
    ldg_alloc_fail(n);
    rc = lading_peer_reply(p, need, asked, msg, sizeof msg, &len);
    ldg_alloc_fail(-1);
    ck_assert(rc ? rc == LADING_ERR_NOMEM && len == -1 : len > 0);
    failed += rc != 0;
  }
  ck_assert_int_gt(failed, 0);
  ck_assert_int_eq(lading_peer_accept(q, msg, len, &got, &count, need, sizeof need, &asked), LADING_OK);
  lading_type_free(got), lading_type_free(t);
  lading_peer_free(p), lading_peer_free(q);
}
END_TEST

static void steps_are_shared(const ldg_step *s, int levels) {
  for (int i = 0; i < levels; i++, s = s->kids[0]->child) ck_assert(s->kids && s->kids[0]->child && s->kids[0]->child == s->kids[1]->child);
  ck_assert_ptr_nonnull(s->at4);
}

/* Steps of plans: one for each node, with one table of its offsets. */
START_TEST(steps_of_towers) {
  const int64_t before = ldg_alloc_live();
  lading_type *t = tower(12, 20000);
  const ldg_plan *p, *forced;
  ck_assert_int_eq(ldg_api_plan(t, &p), LADING_OK);
  steps_are_shared(&p->one, 12);
  ck_assert(ldg_alloc_live() - before < 12 * 30); /* which only builds with checks count */
  ck_assert_int_eq(ldg_plan_forced(p->layout, p->extent, "loop", &forced), LADING_OK);
  steps_are_shared(&forced->one, 12);
  ldg_plan_release(forced);
  lading_type_free(t);
  ck_assert_int_eq(ldg_alloc_live(), before);
}
END_TEST

/* Normal form has eight nodes more for the list, which its 2^19 copies have no room for: it goes without. */
START_TEST(towers_of_progressions) {
  enum { MANY = 512 };
  int64_t at[MANY], mem = 0;
  for (int64_t i = 0; i < MANY; i++) at[i] = mem, mem += 2 + i / 64;
  lading_type *t = tower_of(19, MANY, at), *further;
  ck_assert_int_eq(lading_type_commit(t), LADING_OK);
  ck_assert_int_eq(info_of(t).depth, 1 + 2 * 19 + 1);
  const ldg_rep *once, *twice; /* also where an offset is around it, which stays one */
  ck_assert_int_eq(lading_type_hindexed(1, LIST(1), LIST(40), t, &further), LADING_OK);
  ck_assert_int_eq(ldg_canon(further->rep, &once, NULL), LADING_OK);
  ck_assert_int_eq(ldg_canon(once, &twice, NULL), LADING_OK);
  ck_assert(ldg_rep_equal(once, twice) && ldg_rep_is_shifted(once) && ldg_rep_equal(once->kids[0], ldg_api_plan_made(t)->layout->rep));
  ldg_rep_free(once), ldg_rep_free(twice);
  lading_type_free(further), lading_type_free(t);
}
END_TEST

/* The same bytes as item by item, wherever the range begins. */
START_TEST(ranges_of_towers) {
  lading_type *t = tower(3, 50);
  const lading_info i = info_of(t);
  char *mem = malloc((size_t)i.true_extent), *whole = malloc((size_t)i.size), *part = malloc((size_t)i.size);
  rng r = rng_of(90);
  bytes_random(&r, mem, i.true_extent);
  int64_t n = 0, at = 0;
  ck_assert_int_eq(lading_segments_count(t, 1, &n), LADING_OK);
  struct iovec *run = malloc((size_t)n * sizeof *run);
  ck_assert_int_eq(lading_iov(t, 1, mem - i.true_lb, 0, run, n, &n), LADING_OK);
  for (int64_t k = 0; k < n; k++) memcpy(whole + at, run[k].iov_base, run[k].iov_len), at += (int64_t)run[k].iov_len;
  free(run);
  ck_assert_int_eq(at, i.size);
  for (int k = 0; k < 300; k++) {
    const int64_t lo = rng_in(&r, 0, i.size), hi = rng_in(&r, lo, i.size);
    ck_assert_int_eq(lading_pack(t, 1, mem - i.true_lb, part, lo, hi), LADING_OK);
    ck_assert_mem_eq(part, whole + lo, (size_t)(hi - lo));
  }
  free(mem), free(whole), free(part);
  lading_type_free(t);
}
END_TEST

/* Structs of 17 fields, none alike, as deep as types may be; the last one's fields `shift` bytes further. */
enum { FIELDS = 17 };
static lading_type *deep(int64_t shift) {
  lading_type *t, *rows[FIELDS];
  ck_assert_int_eq(lading_type_hvector(100000, 1, 8, lading_elem_type(LADING_INT32), &t), LADING_OK);
  for (int i = 1; i < FIELDS; i++) ck_assert_int_eq(lading_type_hvector(2, 1, 8 + 8 * i, lading_elem_type(LADING_INT32), &rows[i]), LADING_OK);
  for (int level = 2; level < LADING_DEPTH_MAX; level++) {
    int64_t at[FIELDS], one[FIELDS];
    const lading_type *olds[FIELDS];
    int64_t mem = level == LADING_DEPTH_MAX - 1 ? shift : 0;
    for (int i = 0; i < FIELDS; i++) {
      olds[i] = i ? rows[i] : t, one[i] = 1, at[i] = mem;
      mem += info_of(olds[i]).extent + 8 + 4 * (i * i % 5);
    }
    t = struct_over(t, FIELDS, one, at, olds);
  }
  for (int i = 1; i < FIELDS; i++) lading_type_free(rows[i]);
  return t;
}

static void *use(void *arg) {
  lading_type *t = arg;
  const int rc = lading_type_commit(t);
  const lading_info i = rc ? (lading_info){ 0 } : info_of(t);
  char *mem = calloc(1, (size_t)i.true_extent + 1), *packed = malloc((size_t)i.size + 1);
  const int e = rc ? rc : lading_pack(t, 1, mem - i.true_lb, packed, 0, i.size);
  free(mem), free(packed);
  return (void *)(intptr_t)e;
}

/* What could be made can be used, also where normal form is one level deeper, and by a thread with a small stack; and nothing deeper can be made of it. */
enum { STACK = (TEST_ASAN ? 2048 : 256) << 10 };
START_TEST(deepest) {
  for (int64_t shift = 0; shift <= 4; shift += 4) {
    lading_type *t = deep(shift), *back, *up = NULL;
    const lading_type *const olds[] = { t, lading_elem_type(LADING_BYTE) };
    pthread_attr_t small;
    pthread_t thread;
    void *failed;
    ck_assert_int_eq(pthread_attr_init(&small), 0);
    ck_assert_int_eq(pthread_attr_setstacksize(&small, STACK), 0);
    ck_assert_int_eq(pthread_create(&thread, &small, use, t), 0);
    ck_assert_int_eq(pthread_join(thread, &failed), 0);
    ck_assert_int_eq((intptr_t)failed, LADING_OK);
    ck_assert_int_eq(lading_type_struct(2, LIST(1, 1), LIST(3, 0), olds, &up), LADING_ERR_DEPTH);
    ck_assert_ptr_null(up);
    char *text = text_of(t);
    back = parsed(text);
    ck_assert(same_id(id_of(back, 1), id_of(t, 1)));
    lading_type_free(back);
    free(text);
    int64_t n;
    ck_assert_int_eq(lading_wire_encode(t, NULL, 0, &n), LADING_ERR_RANGE);
    char *wire = malloc((size_t)n);
    ck_assert_int_eq(lading_wire_encode(t, wire, n, &n), LADING_OK);
    ck_assert_int_eq(lading_wire_decode(wire, n, &back), LADING_OK);
    ck_assert(same_id(id_of(back, 1), id_of(t, 1)));
    lading_type_free(back);
    free(wire);
    pthread_attr_destroy(&small);
    lading_type_free(t);
  }
}
END_TEST

/* One element more, of the other kind, behind the type. */
static int append(lading_type **t, int kind) {
  const lading_type *const olds[] = { *t, lading_elem_type(kind % 2 ? LADING_FLOAT : LADING_INT32) };
  lading_type *up;
  const int rc = lading_type_struct(2, LIST(1, 1), LIST(0, info_of(*t).size), olds, &up);
  if (!rc) lading_type_free(*t), *t = up;
  return rc;
}

/* Elements of a type that was shipped nest deeper than its blocks, of which there is one: what is made of it has no more levels of either. */
START_TEST(elements_nest_no_deeper) {
  lading_type *t = lading_type_ref(lading_elem_type(LADING_DOUBLE)), *back;
  int levels = 1;
  for (; levels < LADING_DEPTH_MAX - 7; levels++) ck_assert_int_eq(append(&t, levels), LADING_OK);
  char wire[4096];
  int64_t n;
  ck_assert_int_eq(lading_wire_encode(t, wire, sizeof wire, &n), LADING_OK);
  ck_assert_int_eq(lading_wire_decode(wire, n, &back), LADING_OK);
  int rc;
  while (!(rc = append(&back, levels))) {
    char from[8 * LADING_DEPTH_MAX] = { 0 }, to[8 * LADING_DEPTH_MAX];
    ck_assert_int_eq(lading_pack_external32(back, 1, from, to, 0, 8), LADING_OK);
    ck_assert_int_eq(lading_pack_op(back, 1, from, to, 0, 8, LADING_SUM), LADING_OK);
    levels++;
  }
  ck_assert_int_eq(rc, LADING_ERR_DEPTH);
  ck_assert_int_eq(levels, LADING_DEPTH_MAX);
  lading_type_free(back), lading_type_free(t);
}
END_TEST

/* Of fields that touch the runs are more in sum than those of the whole, which are fewer than 2^20: whether it overlaps is known. */
START_TEST(fields_that_touch) {
  enum { N = 17700, TURNS = 20, RUNS = 3 * TURNS };
  int64_t *at = malloc(N * sizeof *at), *one = malloc(N * sizeof *one), place = 0;
  lading_type **olds = malloc(N * sizeof(lading_type *)), *t;
  for (int64_t i = 0; i < N; i++) {
    lading_type *three;
    ck_assert_int_eq(lading_type_hindexed_block(3, 1, LIST(0, 2, RUNS + 1 + i), lading_elem_type(LADING_BYTE), &three), LADING_OK);
    ck_assert_int_eq(lading_type_hvector(TURNS, 1, 3, three, &olds[i]), LADING_OK);
    lading_type_free(three);
    at[i] = place, one[i] = 1, place += RUNS + 1 + i + 3 * (TURNS - 1) + 1;
  }
  ck_assert_int_eq(lading_type_struct(N, one, at, (const lading_type *const *)olds, &t), LADING_OK);
  const lading_info i = info_of(t);
  ck_assert(i.blocks == N * RUNS - (N - 1) && i.blocks <= 1 << 20 && N * RUNS > 1 << 20);
  ck_assert(!i.overlaps);
  for (int64_t k = 0; k < N; k++) lading_type_free(olds[k]);
  free(at), free(one), free(olds);
  lading_type_free(t);
}
END_TEST

/* Many dimensions of one element are no node, so nothing but their number bounds them. */
START_TEST(dimensions) {
  enum { N = 300000 };
  int64_t *one = malloc(N * sizeof *one), *none = malloc(N * sizeof *none);
  lading_distrib *how = malloc(N * sizeof *how);
  lading_type *t;
  for (int64_t i = 0; i < N; i++) one[i] = 1, none[i] = LADING_DARG_DEFAULT, how[i] = LADING_DISTRIB_NONE;
  for (int order = LADING_ORDER_C; order <= LADING_ORDER_FORTRAN; order++) {
    ck_assert_int_eq(lading_type_darray(1, 0, N, one, how, none, one, (lading_order)order, lading_elem_type(LADING_INT32), &t), LADING_OK);
    ck_assert_int_eq(info_of(t).size, 4);
    lading_type_free(t);
  }
  free(one), free(none), free(how);
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("shared", argc, argv, towers, towers_are_shipped, equal_in_any_pairs, equal_without_memory, same_hash, messages_without_memory, steps_of_towers, towers_of_progressions, ranges_of_towers, deepest, elements_nest_no_deeper, fields_that_touch, dimensions);
}
