/* The canonical form of whole trees: it keeps the sequence and depends on nothing else, it does not change again, known
 * traps and workloads, the layout id, and memory that runs out. */
#include "canon_rules.h"
#include "layout.h"
#include "rep_tools.h"

/* ---- what every canonical tree is ---- */

static void check_below_root(const ldg_rep *r) {
  ck_assert_int_gt(r->size, 0);
  ck_assert_int_eq(r->first, 0);
  if (r->kind == LDG_BYTES) return;
  ck_assert_int_ge(r->n, 2);
  ck_assert_int_gt(r->runs, 1);
  if (r->at) ck_assert_int_eq(r->at[0], 0);
  for (int64_t i = 0; r->cnt && i < r->n; i++) ck_assert_int_gt(r->cnt[i], 0);
  for (int64_t i = 0; r->kids && i < r->n; i++) {
    ck_assert(r->kids[i]->kind != LDG_JOIN || r->kids[i]->n > 4); /* few entries would be spliced */
    check_below_root(r->kids[i]);
  }
  if (!r->child) return;
  check_below_root(r->child);
  if (r->kind != LDG_REPEAT) return;
  ck_assert(!(r->child->kind == LDG_BYTES && r->stride == r->child->n));
  ck_assert(!(r->child->kind == LDG_REPEAT && r->stride == r->child->n * r->child->stride));
}

static void check_root(const ldg_rep *c) {
  if (c->size == 0) {
    ck_assert(c->kind == LDG_BYTES && c->n == 0);
    return;
  }
  if (c->first == 0) {
    check_below_root(c);
    return;
  }
  ck_assert(c->kind == LDG_JOIN && c->n == 1 && c->at[0] == c->first);
  check_below_root(c->kids[0]);
}

static const ldg_rep *canon_within(const ldg_rep *r, int64_t limit) {
  const ldg_rep *c, *again;
  ck_assert_int_eq(ldg_canon_within(r, limit, &c, NULL), 0);
  ck_assert_msg(same_seq(r, c, 0), "%s => %s", print_rep(r), print_rep(c));
  check_root(c);
  ck_assert_int_eq(ldg_canon_within(c, limit, &again, NULL), 0);
  ck_assert_msg(ldg_rep_equal(c, again), "not idempotent: %s => %s", print_rep(c), print_rep(again));
  ldg_rep_free(again);
  return c;
}

static void canonical(const char *text, const char *want) {
  const ldg_rep *r = read_rep(text), *c = canon_within(r, LDG_CANON_RUNS);
  ck_assert_str_eq(print_rep(c), want);
  ldg_rep_free(c);
  ldg_rep_free(r);
}

/* ---- random trees, and other spellings of them ---- */

static const ldg_rep *free_kids(const ldg_rep **kids, int64_t n, const ldg_rep *r) {
  while (n > 0) ldg_rep_free(kids[--n]);
  return r;
}

static const ldg_rep *make_bytes(int64_t n) {
  const ldg_rep *r;
  ck_assert_int_eq(ldg_rep_bytes(n, &r), 0);
  return r;
}

/* These eat their children. */
static const ldg_rep *make_repeat(int64_t n, int64_t stride, const ldg_rep *k) {
  const ldg_rep *r;
  ck_assert_int_eq(ldg_rep_repeat(n, stride, k, &r), 0);
  return free_kids(&k, 1, r);
}

static const ldg_rep *make_blocks(int64_t n, const int64_t *at, const int64_t *cnt, int64_t stride, const ldg_rep *k) {
  const ldg_rep *r;
  ck_assert_int_eq(ldg_rep_blocks(n, at, cnt, stride, k, &r), 0);
  return free_kids(&k, 1, r);
}

static const ldg_rep *make_join(int64_t n, const int64_t *at, const ldg_rep **kids) {
  const ldg_rep *r;
  ck_assert_int_eq(ldg_rep_join(n, at, kids, &r), 0);
  return free_kids(kids, n, r);
}

static const ldg_rep *random_tree(rng *r, int depth) {
  int64_t at[6], cnt[6], n = rng_in(r, rng_in(r, 0, 9) > 0, 6), kind = depth ? rng_in(r, 0, 6) : 0;
  const ldg_rep *kids[6];
  if (kind == 0) return make_bytes(rng_in(r, rng_in(r, 0, 9) > 0, 8));
  if (kind <= 2) {
    const ldg_rep *k = random_tree(r, depth - 1);
    int64_t natural = k->n * k->stride, stride = rng_in(r, 0, 3) ? rng_in(r, -30, 60) : rng_in(r, 0, 1) ? natural : k->hi - k->lo;
    return make_repeat(n, stride, k);
  }
  for (int64_t i = 0, step = rng_in(r, -9, 40); i < n; i++) {
    at[i] = i && rng_in(r, 0, 2) ? at[i - 1] + step : rng_in(r, -50, 200);
    cnt[i] = rng_in(r, 0, 3);
    if (kind > 4) kids[i] = i && rng_in(r, 0, 1) ? ldg_rep_ref(kids[i - 1]) : random_tree(r, depth - 1);
  }
  if (kind > 4) return make_join(n, at, kids);
  return make_blocks(n, at, kind == 3 ? cnt : NULL, rng_in(r, -20, 40), random_tree(r, depth - 1));
}

static const ldg_rep *small_tree(rng *r, int depth, int64_t bytes) {
  for (;;) {
    const ldg_rep *t = random_tree(r, depth);
    if (t->size <= bytes) return t;
    ldg_rep_free(t);
  }
}

static const ldg_rep *respell(rng *r, const ldg_rep *t);

/* `n` copies as one of the things that mean it. */
static const ldg_rep *respell_copies(rng *r, int64_t n, int64_t stride, const ldg_rep *k) {
  int64_t at[64], zero = 0, how = rng_in(r, 0, 4);
  const ldg_rep *kids[64];
  if (n > 64 || how == 0) return make_repeat(n, stride, respell(r, k));
  for (int64_t i = 0; i < n; i++) at[i] = i * stride;
  if (how == 1) return make_blocks(n, at, NULL, 0, respell(r, k));
  if (how == 2 && n % 2 == 0) return make_repeat(n / 2, 2 * stride, make_repeat(2, stride, respell(r, k)));
  if (how == 3 && n > 1) {
    int64_t cut = rng_in(r, 1, n - 1);
    kids[0] = respell_copies(r, cut, stride, k);
    kids[1] = respell_copies(r, n - cut, stride, k);
    return make_join(2, (int64_t[]){ 0, cut * stride }, kids);
  }
  if (n == 0) return make_blocks(1, &zero, &n, stride, respell(r, k));
  for (int64_t i = 0; i < n; i++) kids[i] = i && rng_in(r, 0, 3) ? ldg_rep_ref(kids[i - 1]) : respell(r, k);
  return make_join(n, at, kids);
}

static const ldg_rep *respell_entries(rng *r, const ldg_rep *t, int64_t from, int64_t n) {
  const ldg_rep *kids[6];
  if (n > 1 && rng_in(r, 0, 2) == 0) {
    int64_t cut = rng_in(r, 1, n - 1), at[2] = { 0, 0 };
    kids[0] = respell_entries(r, t, from, cut);
    kids[1] = respell_entries(r, t, from + cut, n - cut);
    return make_join(2, at, kids);
  }
  if (t->child && rng_in(r, 0, 1)) {
    return make_blocks(n, t->at + from, t->cnt ? t->cnt + from : NULL, t->stride, respell(r, t->child));
  }
  for (int64_t i = 0; i < n; i++) {
    if (t->kids) kids[i] = respell(r, t->kids[from + i]);
    else kids[i] = t->cnt ? respell_copies(r, t->cnt[from + i], t->stride, t->child) : respell(r, t->child);
  }
  return make_join(n, t->at + from, kids);
}

static const ldg_rep *respell(rng *r, const ldg_rep *t) {
  if (rng_in(r, 0, 9) == 0) { /* through another place */
    const ldg_rep *k = respell(r, t);
    int64_t by = rng_in(r, -99, 99), back = -by;
    k = make_join(1, &by, &k);
    return make_join(1, &back, &k);
  }
  if (t->kind == LDG_REPEAT) return respell_copies(r, t->n, t->stride, t->child);
  if (t->kind != LDG_BYTES) return respell_entries(r, t, 0, t->n);
  if (t->n < 2 || rng_in(r, 0, 1)) return make_bytes(t->n);
  const ldg_rep *one = make_bytes(1), *all = respell_copies(r, t->n, 1, one);
  ldg_rep_free(one);
  return all;
}

/* The form of the runs alone; not empty. */
static const ldg_rep *rebuilt(const ldg_rep *t) {
  ldg_canon_ctx x = { .limit = LDG_CANON_RUNS };
  ldg_canon_item item;
  ck_assert_int_eq(ldg_canon_rebuild(&x, t, &item), 0);
  return item.rep;
}

/* Two canonical forms of one sequence are one, unless the form of the runs is large and many times what the spelling takes:
 * then it is the ids that agree. */
static bool agree(const ldg_rep *c, const ldg_rep *d) {
  if (ldg_rep_equal(c, d)) return true;
  const lading_id x = ldg_layout_id(c), y = ldg_layout_id(d);
  const ldg_rep *r = rebuilt(c), *least = ldg_rep_memory(c) < ldg_rep_memory(d) ? c : d;
  const int64_t bytes = ldg_rep_memory(r), room = least->kind == LDG_JOIN && least->n == 1 ? ldg_rep_memory(least->kids[0]) : ldg_rep_memory(least);
  ldg_rep_free(r);
  return x.w[0] == y.w[0] && x.w[1] == y.w[1] && bytes > 4096 && bytes > 4 * room;
}

START_TEST(random_trees) {
  rng r = rng_of(10);
  for (int i = 0; i < 1500; i++) {
    const ldg_rep *t = small_tree(&r, (int)rng_in(&r, 1, 5), 3000), *c = canon_within(t, LDG_CANON_RUNS);
    for (int j = 0; j < 3; j++) {
      const ldg_rep *other = respell(&r, t), *d = canon_within(other, LDG_CANON_RUNS);
      ck_assert_msg(agree(c, d), "%s and another spelling: %s", print_rep(c), print_rep(d));
      ldg_rep_free(other);
      ldg_rep_free(d);
    }
    ldg_rep_free(t);
    ldg_rep_free(c);
  }
}
END_TEST

/* Beyond the limit the form depends on the spelling, but it keeps the sequence and stays as it is. */
START_TEST(beyond_the_limit) {
  rng r = rng_of(11);
  for (int i = 0; i < 3000; i++) {
    const ldg_rep *t = small_tree(&r, (int)rng_in(&r, 1, 5), 2000), *c = canon_within(t, rng_in(&r, 0, 12));
    ldg_rep_free(t);
    ldg_rep_free(c);
  }
}
END_TEST

/* A list in sections: random, progressions, copies of what came before; most lengths equal. */
static const ldg_rep *random_list(rng *r) {
  int64_t at[600], len[600], n = 0, most = rng_in(r, 1, 600), unit = rng_in(r, 1, 3) * 4, mixed = rng_in(r, 0, 3);
  while (n < most) {
    int64_t m = ldg_min(rng_in(r, 1, 100), most - n), how = rng_in(r, 0, 3), step = unit * rng_in(r, -4, 9);
    int64_t start = unit * rng_in(r, 0, 999), back = how == 3 && n ? rng_in(r, 1, n) : 0;
    for (int64_t i = n; i < n + m; i++) {
      at[i] = back ? at[i - back] + step : how ? start + (i - n) * step : unit * rng_in(r, 0, 999);
      len[i] = back ? len[i - back] : mixed == 0 || rng_in(r, 0, 30) ? unit : unit * rng_in(r, 1, mixed + 1);
    }
    n += m;
  }
  return make_blocks(n, at, len, 1, make_bytes(1));
}

static const ldg_rep *respell_list(rng *r, const ldg_rep *t) {
  int64_t *at = malloc((size_t)(64 * t->n)), *len = at + 4 * t->n, n = 0;
  for (int64_t i = 0; i < t->n; i++) {
    for (int64_t done = 0, left = t->cnt[i]; left; n++) {
      len[n] = n < 3 * t->n + i && left > 1 && rng_in(r, 0, 9) == 0 ? rng_in(r, 1, left - 1) : left;
      at[n] = t->at[i] + done;
      done += len[n];
      left -= len[n];
    }
  }
  const ldg_rep *list = make_blocks(n, at, len, 1, make_bytes(1));
  free(at);
  return list;
}

START_TEST(random_lists) {
  rng r = rng_of(16);
  for (int i = 0; i < 1000; i++) {
    const ldg_rep *t = random_list(&r), *c = canon_within(t, LDG_CANON_RUNS), *other = respell_list(&r, t);
    const ldg_rep *d = canon_within(other, LDG_CANON_RUNS), *e = canon_within(t, rng_in(&r, 0, 50));
    ck_assert_msg(agree(c, d), "%s and another spelling: %s", print_rep(c), print_rep(d));
    ldg_rep_free(t);
    ldg_rep_free(c);
    ldg_rep_free(other);
    ldg_rep_free(d);
    ldg_rep_free(e);
  }
}
END_TEST

static const ldg_rep *random_nest_rep(rng *r) {
  const ldg_rep *k = make_bytes(rng_in(r, 1, 6));
  for (int64_t d = rng_in(r, 0, 5); d > 0; d--) {
    int64_t natural = k->kind == LDG_REPEAT ? k->n * k->stride : k->n;
    k = make_repeat(rng_in(r, 1, 4), rng_in(r, 0, 2) ? rng_in(r, -40, 40) : natural, k);
  }
  return k;
}

/* A nest has one form, whether it is read loop by loop or from its runs. */
START_TEST(nests) {
  rng r = rng_of(12);
  for (int i = 0; i < 1500; i++) {
    const ldg_rep *t = random_nest_rep(&r), *c = canon_within(t, LDG_CANON_RUNS);
    for (const ldg_rep *k = c; k->kind != LDG_BYTES; k = k->child) ck_assert_int_eq(k->kind, LDG_REPEAT);
    for (int j = 0; j < 3; j++) {
      const ldg_rep *other = respell(&r, t), *d = canon_within(other, LDG_CANON_RUNS);
      ck_assert_msg(ldg_rep_equal(c, d), "%s and another spelling: %s", print_rep(c), print_rep(d));
      ldg_rep_free(other);
      ldg_rep_free(d);
    }
    ldg_rep_free(t);
    ldg_rep_free(c);
  }
}
END_TEST

/* ---- traps and workloads ---- */

START_TEST(traps) {
  canonical("(repeat 2 4 (repeat 2 8 (bytes 4)))", "(repeat 2 4 (repeat 2 8 (bytes 4)))"); /* a transpose is no vector */
  canonical("(repeat 5 100 (blocks 1 (24) (bytes 8)))", "(join (24 (repeat 5 100 (bytes 8))))"); /* a face one thick */
  canonical("(repeat 3 -8 (bytes 8))", "(repeat 3 -8 (bytes 8))");
  canonical("(repeat 3 0 (bytes 8))", "(repeat 3 0 (bytes 8))");
  canonical("(repeat 3 4 (bytes 8))", "(repeat 3 4 (bytes 8))");
  canonical("(join (0 (bytes 8)) (4 (bytes 8)) (8 (bytes 8)))", "(repeat 3 4 (bytes 8))");
  canonical("(join (0 (bytes 8)) (0 (bytes 8)))", "(repeat 2 0 (bytes 8))"); /* duplicates stay */
  canonical("(repeat 2 8 (join (0 (bytes 2)) (4 (bytes 4))))", "(blocks 3 (0 4 12) (2 6 4) 1 (bytes 1))"); /* a pair's hole */
  canonical("(repeat 2 16 (join (0 (bytes 8)) (8 (bytes 4))))", "(repeat 2 16 (bytes 12))"); /* an extent under a count */
  canonical("(blocks 2 (8 0) (bytes 8))", "(join (8 (repeat 2 -8 (bytes 8))))"); /* order of the stream, not of memory */
  canonical("(join)", "(bytes 0)");
  canonical("(repeat 9 7 (bytes 0))", "(bytes 0)");
  canonical("(blocks 3 (1 2 3) (0 0 0) 5 (bytes 3))", "(bytes 0)");
  canonical("(join (0 (bytes 0)) (7 (bytes 3)) (10 (bytes 0)))", "(join (7 (bytes 3)))");
  canonical("(join (9223372036854775800 (bytes 7)))", "(join (9223372036854775800 (bytes 7)))");
  canonical("(join (-9223372036854775808 (repeat 2 9 (bytes 7))))", "(join (-9223372036854775808 (repeat 2 9 (bytes 7))))");
  canonical("(join (4611686018427387904 (join (-9223372036854775808 (repeat 2 9 (bytes 7))))))",
            "(join (-4611686018427387904 (repeat 2 9 (bytes 7))))");
}
END_TEST

START_TEST(workloads) {
  const char *gap400 = "(join (0 (bytes 4)) (8 (repeat 9 44 (bytes 40))) (404 (bytes 36)))";
  canonical(gap400, gap400);
  canonical("(repeat 10 44 (join (0 (bytes 4)) (8 (bytes 36))))", gap400);
  canonical("(repeat 47 131072 (repeat 1 256 (repeat 13 256 (repeat 100 1 (bytes 1)))))", "(repeat 47 131072 (repeat 13 256 (bytes 100)))");
  canonical("(repeat 20 24 (join (0 (bytes 8)) (16 (bytes 4))))", "(repeat 20 24 (blocks 2 (0 16) (8 4) 1 (bytes 1)))");
  int64_t at[611];
  for (int i = 0; i < 611; i++) at[i] = 131072 * (i / 13) + 256 * (i % 13);
  const ldg_rep *rows = make_blocks(611, at, NULL, 0, make_bytes(100)), *c = canon_within(rows, LDG_CANON_RUNS);
  ck_assert_str_eq(print_rep(c), "(repeat 47 131072 (repeat 13 256 (bytes 100)))");
  ldg_rep_free(rows);
  ldg_rep_free(c);
}
END_TEST

/* One index list for six arrays, of 24 and of 8 bytes; neighbours in the list touch by accident. */
START_TEST(lammps) {
  enum { N = 3062, OF = 3534 };
  rng r = rng_of(13);
  int64_t index[OF], at[N], place[6];
  const ldg_rep *kids[6];
  for (int64_t i = 0; i < OF; i++) index[i] = i;
  for (int64_t i = 0; i < OF; i++) {
    int64_t j = rng_in(&r, 0, OF - 1), t = index[i];
    index[i] = index[j];
    index[j] = t;
  }
  for (int64_t f = 0; f < 6; f++) {
    for (int64_t i = 0; i < N; i++) at[i] = index[i] * (f ? 8 : 24);
    kids[f] = make_blocks(N, at, NULL, 0, make_bytes(f ? 8 : 24));
    place[f] = f * (1 << 20) + f % 3 * 64;
  }
  const ldg_rep *t = make_join(6, place, kids), *c = canon_within(t, LDG_CANON_RUNS), *list = c->kids[0];
  ck_assert(list->kind == LDG_JOIN && list->n == 2);
  ck_assert(list->kids[0]->kind == LDG_BLOCKS && list->kids[0]->n == N && !list->kids[0]->cnt && list->kids[0]->child->n == 24);
  ck_assert(list->kids[1]->kind == LDG_BLOCKS && list->kids[1]->n == 5);
  ck_assert(list->kids[1]->child->n == N && !list->kids[1]->child->cnt && list->kids[1]->child->child->n == 8);
  ldg_rep_free(t);
  ldg_rep_free(c);
}
END_TEST

/* Trees that are small as written and huge written out: neither time nor memory may follow the size. */
START_TEST(huge) {
  const ldg_rep *c, *t = read_rep("(repeat 1000000 4000000 (repeat 1000000 4 (bytes 1)))");
  ck_assert_int_eq(ldg_canon(t, &c, NULL), 0);
  ck_assert_str_eq(print_rep(c), "(repeat 1000000000000 4 (bytes 1))");
  ldg_rep_free(t);
  ldg_rep_free(c);
  t = read_rep("(repeat 1000000 4000000 (join (0 (repeat 1000000 1 (bytes 1))) (1000000 (bytes 4)) (1000005 (repeat 70000 3 (bytes 1)))))");
  ck_assert_int_eq(ldg_canon(t, &c, NULL), 0);
  ck_assert_str_eq(print_rep(c), "(repeat 1000000 4000000 (join (0 (bytes 1000004)) (1000005 (repeat 70000 3 (bytes 1)))))");
  ldg_rep_free(t);
  ldg_rep_free(c);
  t = make_bytes(1);
  for (int i = 0; i < 21; i++) { /* 2^22 nodes that share all their children */
    const ldg_rep *kids[2] = { ldg_rep_ref(t), t };
    t = make_join(2, (int64_t[]){ 0, i < 19 ? 1 << i : 5000001 * (i - 17) }, kids);
  }
  ck_assert_int_eq(ldg_canon(t, &c, NULL), 0);
  ck_assert_str_eq(print_rep(c), "(repeat 2 15000003 (repeat 2 10000002 (bytes 524288)))");
  ldg_rep_free(t);
  ldg_rep_free(c);
}
END_TEST

/* ---- ids ---- */

/* What explain shows: a tree that changed says by which rules. */
START_TEST(trace) {
  rng r = rng_of(15);
  for (int i = 0; i < 3000; i++) {
    const ldg_rep *in = small_tree(&r, (int)rng_in(&r, 0, 4), 60), *out;
    ldg_canon_trace t = { { 0 } };
    int64_t fired = 0;
    ck_assert_int_eq(ldg_canon(in, &out, &t), LADING_OK);
    for (int k = 0; k < LDG_CANON_RULES_MAX; k++) fired += t.fired[k];
    ck_assert(fired > 0 || ldg_rep_equal(in, out));
    ldg_rep_free(in);
    ldg_rep_free(out);
  }
}
END_TEST

START_TEST(ids) {
  rng r = rng_of(14);
  enum { TREES = 300 };
  const ldg_rep *t[TREES];
  for (int i = 0; i < TREES; i++) {
    t[i] = small_tree(&r, (int)rng_in(&r, 0, 4), 12 + 40 * (i % 3));
    const ldg_rep *other = respell(&r, t[i]);
    const lading_id a = ldg_layout_id(t[i]), b = ldg_layout_id(other);
    ck_assert(a.w[0] == b.w[0] && a.w[1] == b.w[1]);
    ldg_rep_free(other);
    for (int j = 0; j < i; j++) {
      const lading_id c = ldg_layout_id(t[j]);
      ck_assert(same_seq(t[i], t[j], 0) == (a.w[0] == c.w[0] && a.w[1] == c.w[1]));
    }
  }
  for (int i = 0; i < TREES; i++) ldg_rep_free(t[i]);
  /* content, the same on every machine: a change here is a change of the format */
  const ldg_rep *pin = read_rep("(join (-3 (repeat 1000000 -24 (bytes 8))))");
  const lading_id id = ldg_layout_id(pin);
  ck_assert_uint_eq(id.w[0], 17015631067348129540u);
  ck_assert_uint_eq(id.w[1], 17338061853470445048u);
  ldg_rep_free(pin);
}
END_TEST

/* ---- memory runs out ---- */

START_TEST(no_memory) {
  rng r = rng_of(15);
  for (int i = 0; i < 400; i++) {
    const ldg_rep *t = small_tree(&r, 4, 600), *c;
    const int64_t live = ldg_alloc_live(), limit = rng_in(&r, 0, 1) ? LDG_CANON_RUNS : 2;
    int rc = LADING_ERR_NOMEM;
    for (int64_t n = 0; rc == LADING_ERR_NOMEM; n++) {
      ldg_alloc_fail(n);
      rc = ldg_canon_within(t, limit, &c, NULL);
      ldg_alloc_fail(-1);
      if (rc) ck_assert_int_eq(ldg_alloc_live(), live);
    }
    ck_assert_int_eq(rc, 0);
    ldg_rep_free(c);
    ck_assert_int_eq(ldg_alloc_live(), live);
    ldg_rep_free(t);
  }
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("canon", argc, argv, random_trees, random_lists, beyond_the_limit, nests, traps, workloads, lammps, huge, trace, ids,
                    no_memory);
}
