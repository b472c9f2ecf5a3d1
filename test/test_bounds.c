/* Memory against the description: the canonical form of a small tree is small, however long it is written out or as runs.
 * Memory counts each node once. No clock is read: time is bounded by the runner's timeout alone. */
#include "canon_rules.h"
#include "layout.h"
#include "rep_tools.h"

static bool ids_equal(const ldg_rep *a, const ldg_rep *b) {
  const lading_id s = ldg_layout_id(a), t = ldg_layout_id(b);
  return s.w[0] == t.w[0] && s.w[1] == t.w[1];
}

/* Canonical form and layout of t take at most `times` its memory and 4 KB; the sequence stays, the form stays as it is. */
static void bounded(const ldg_rep *t, int64_t times, const char *what) {
  const ldg_rep *c, *again;
  const ldg_layout *l;
  ck_assert_int_eq(ldg_canon(t, &c, NULL), 0);
  ck_assert_int_eq(ldg_layout_intern(c, &l), 0);
  const int64_t from = ldg_rep_memory(t), to = ldg_rep_memory(c);
  if (getenv("BOUNDS_SAY")) printf("%-28s runs %10lld  %8lld B => %8lld B\n", what, (long long)t->runs, (long long)from, (long long)to);
  ck_assert_msg(to <= times * from + 4096, "%s: %lld bytes become %lld", what, (long long)from, (long long)to);
  ck_assert(t->size == c->size && t->first == c->first && t->runs == c->runs);
  ck_assert_msg(ids_equal(t, c), "%s: another sequence", what);
  ck_assert_int_eq(ldg_canon(c, &again, NULL), 0);
  ck_assert_msg(ldg_rep_equal(c, again), "%s: not idempotent", what);
  ldg_layout_release(l);
  ldg_rep_free(again);
  ldg_rep_free(c);
}

/* The same for another limit of runs: most of the tree is then reduced as it is written. */
static void stays_within(const ldg_rep *t, int64_t limit) {
  const ldg_rep *c, *again;
  ck_assert_int_eq(ldg_canon_within(t, limit, &c, NULL), 0);
  ck_assert_int_le(ldg_rep_memory(c), 4 * ldg_rep_memory(t) + 4096);
  ck_assert_int_eq(ldg_canon_within(c, limit, &again, NULL), 0);
  ck_assert_msg(ldg_rep_equal(c, again), "limit %lld, not idempotent: %s => %s => %s", (long long)limit, print_rep(t), print_rep(c), print_rep(again));
  ck_assert(ids_equal(t, c));
  ldg_rep_free(c);
  ldg_rep_free(again);
}

/* ---- trees; these eat their children ---- */

static const ldg_rep *bytes_of(int64_t n) {
  const ldg_rep *r;
  ck_assert_int_eq(ldg_rep_bytes(n, &r), 0);
  return r;
}

static const ldg_rep *repeat(int64_t n, int64_t stride, const ldg_rep *k) {
  const ldg_rep *r;
  ck_assert_int_eq(ldg_rep_repeat(n, stride, k, &r), 0);
  ldg_rep_free(k);
  return r;
}

static const ldg_rep *list(int64_t n, const int64_t *at, const int64_t *cnt, int64_t stride, const ldg_rep *k) {
  const ldg_rep *r;
  ck_assert_int_eq(ldg_rep_blocks(n, at, cnt, stride, k, &r), 0);
  ldg_rep_free(k);
  return r;
}

/* Of borrowed kids. */
static const ldg_rep *join(int64_t n, const int64_t *at, const ldg_rep *const *kids) {
  const ldg_rep *r;
  ck_assert_int_eq(ldg_rep_join(n, at, kids, &r), 0);
  return r;
}

/* ---- shared children ---- */

typedef struct pair { const ldg_rep *a, *b; } pair;

static pair leaves(void) {
  return (pair){ list(3, LIST(0, 8, 24), NULL, 0, bytes_of(4)), list(3, LIST(0, 12, 20), NULL, 0, bytes_of(4)) };
}

/* Each level holds both of the level below `times` times, alternating, and a loop around if `loops`. */
static pair tower(int levels, int64_t times, bool loops) {
  pair p = leaves();
  for (int l = 0; l < levels; l++) {
    int64_t at[8], bt[8], wide = ldg_max(p.a->hi, p.b->hi) + 8;
    const ldg_rep *kids[8];
    for (int64_t i = 0; i < 2 * times; i++) {
      kids[i] = i % 2 ? p.b : p.a;
      at[i] = i * wide + (i * i % 5 + l) * 8;
      bt[i] = i * wide + (i * i % 3 + l) * 16;
    }
    pair q = { join(2 * times, at, kids), join(2 * times, bt, kids) };
    if (loops) q = (pair){ repeat(2, 2 * times * wide + 1000, q.a), repeat(2, 2 * times * wide + 1000, q.b) };
    ldg_rep_free(p.a);
    ldg_rep_free(p.b);
    p = q;
  }
  return p;
}

static void towers(int levels, int64_t times, bool loops) {
  for (int l = 1; l <= levels; l++) {
    char what[80];
    const pair p = tower(l, times, loops);
    snprintf(what, sizeof what, "%d levels of %d pairs%s", l, (int)times, loops ? ", looped" : "");
    bounded(p.a, 8, what);
    ldg_rep_free(p.a);
    ldg_rep_free(p.b);
  }
}

START_TEST(shared_children) {
  towers(9, 2, true);
  towers(10, 2, false);
  towers(16, 1, true);
  towers(16, 1, false);
  towers(6, 4, true);
}
END_TEST

/* One long list under many loops and structs of different counts. */
START_TEST(shared_list) {
  int64_t at[1000], place[400];
  const ldg_rep *kids[400];
  rng r = rng_of(30);
  for (int i = 0; i < 1000; i++) at[i] = 1000 * i + 4 * rng_in(&r, 0, 200);
  const ldg_rep *k = list(1000, at, NULL, 0, bytes_of(4));
  for (int touching = 0; touching < 2; touching++) {
    for (int i = 0; i < 400; i++) {
      kids[i] = repeat(2 + i % 60, touching ? k->end - k->first : 1000000 + 8 * i, ldg_rep_ref(k));
      place[i] = (int64_t)i * 70000000;
    }
    const ldg_rep *t = join(400, place, kids);
    bounded(t, 4, "a list in 400 loops");
    for (int i = 0; i < 400; i++) ldg_rep_free(kids[i]);
    ldg_rep_free(t);
  }
  ldg_rep_free(k);
}
END_TEST

/* Two trees of shared nodes with no node in common: equality must not walk them written out, nor must the rest. */
START_TEST(facts_of_towers) {
  const pair p = tower(16, 1, true), q = tower(16, 1, true);
  ldg_rep_stats s;
  for (int i = 0; i < 20; i++) ck_assert(ldg_rep_equal(p.a, q.a) && !ldg_rep_equal(p.a, q.b));
  ck_assert_uint_eq(ldg_rep_hash(p.a), ldg_rep_hash(q.a));
  ck_assert(ldg_rep_hash(p.a) != ldg_rep_hash(p.b));
  ck_assert(!ldg_rep_equal(p.b, q.a));
  for (int i = 0; i < 20; i++) ck_assert_int_lt(ldg_rep_memory(p.a), 64 * 1024);
  for (int i = 0; i < 20; i++) ck_assert(ldg_rep_disjoint(p.a));
  for (int i = 0; i < 20; i++) ck_assert_int_eq(ldg_rep_stats_of(p.a, &s), 0);
  ck_assert(s.monotonic && !s.overlaps && s.min_run >= 4);
  ldg_rep_free(p.a);
  ldg_rep_free(p.b);
  ldg_rep_free(q.a);
  ldg_rep_free(q.b);
}
END_TEST

/* A struct of k different fields, of two types that are structs of k fields themselves. */
START_TEST(squares) {
  for (int k = 20; k <= 400; k *= 2) {
    int64_t at[400], bt[400], cnt[400], place[400];
    const ldg_rep *kids[400];
    char what[80];
    for (int i = 0; i < k; i++) {
      at[i] = (int64_t)i * 100 + i * i % 13;
      bt[i] = at[i] + i * i % 11;
      cnt[i] = 1 + i * i % 7;
      place[i] = (int64_t)i * 200 * k + (int64_t)i * i * 16;
    }
    const ldg_rep *a = list(k, at, cnt, 4, bytes_of(4)), *b = list(k, bt, cnt, 4, bytes_of(4));
    for (int i = 0; i < k; i++) kids[i] = i % 2 ? a : b;
    const ldg_rep *t = join(k, place, kids);
    snprintf(what, sizeof what, "a square of %d", k);
    bounded(t, 4, what);
    ldg_rep_free(t);
    ldg_rep_free(a);
    ldg_rep_free(b);
  }
}
END_TEST

/* ---- compact trees of many runs ---- */

static void text_bounded(const char *what, const char *text) {
  const ldg_rep *t = read_rep(text);
  bounded(t, 4, what);
  ldg_rep_free(t);
}

START_TEST(compact) {
  text_bounded("structs at four places", "(blocks 4 (0 356478 713044 1069466) (join (0 (repeat 3 118718 (repeat 56 2120 (repeat 48 44"
               " (join (0 (bytes 8)) (36 (bytes 1)) (37 (bytes 1))))))) (356158 (repeat 2 132 (join (0 (join (0 (bytes 1))"
               " (57 (bytes 3)))) (128 (bytes 4)))))))");
  text_bounded("touching at the edges", "(repeat 100 10000 (join (0 (repeat 100 92 (join (0 (bytes 4)) (8 (bytes 84)))))  (9204 (bytes 4))))");
  text_bounded("three loops of three lists", "(repeat 20 1000003 (join (0 (repeat 31 64 (bytes 8))) (5000 (repeat 17 80 (repeat 3 24 (bytes 8))))"
               " (40000 (repeat 90 72 (blocks 3 (0 16 40) (bytes 8))))))");
  text_bounded("overlaps", "(repeat 30 7 (repeat 40 11 (join (0 (bytes 2)) (1 (repeat 9 3 (bytes 2))) (70 (bytes 5)))))");
}
END_TEST

static const ldg_rep *random_compact(rng *r, int depth) {
  int64_t at[8], p = 0, n = rng_in(r, 2, 5);
  const ldg_rep *kids[8], *k, *t;
  if (depth == 0) return bytes_of(1 << rng_in(r, 0, 3));
  const int64_t kind = rng_in(r, 0, 4);
  if (kind < 3) {
    k = random_compact(r, depth - 1);
    n = rng_in(r, 2, k->runs > 3000 ? 3 : 40);
    if (kind < 2) return repeat(n, rng_in(r, 0, 2) ? k->hi - k->lo + rng_in(r, 0, 16) : rng_in(r, 1, k->hi - k->lo), k);
    n = ldg_min(n, 8);
    for (int64_t i = 0; i < n; i++) at[i] = p, p += k->hi - k->lo + 4 * rng_in(r, 0, 40);
    return list(n, at, NULL, 0, k);
  }
  k = random_compact(r, depth - 1);
  const ldg_rep *other = random_compact(r, depth > 1 ? depth - 2 : 0);
  for (int64_t i = 0; i < n; i++) {
    kids[i] = i % 2 ? other : k;
    at[i] = p;
    p += kids[i]->hi - kids[i]->lo + 4 * rng_in(r, 0, 20);
  }
  t = join(n, at, kids);
  ldg_rep_free(k);
  ldg_rep_free(other);
  return t;
}

START_TEST(random_compacts) {
  rng r = rng_of(31);
  for (int i = 0; i < 150; i++) {
    const ldg_rep *t = random_compact(&r, (int)rng_in(&r, 2, 6));
    bounded(t, 4, "a random tree");
    stays_within(t, 1 << rng_in(&r, 0, 16));
    ldg_rep_free(t);
  }
}
END_TEST

START_TEST(no_memory) {
  const pair p = tower(4, 2, true); /* kept as written */
  const int64_t live = ldg_alloc_live();
  const ldg_rep *c;
  int rc = LADING_ERR_NOMEM;
  for (int64_t n = 0; rc == LADING_ERR_NOMEM; n++) {
    ldg_alloc_fail(n);
    rc = ldg_canon(p.a, &c, NULL);
    ldg_alloc_fail(-1);
    if (rc) ck_assert_int_eq(ldg_alloc_live(), live);
  }
  ck_assert_int_eq(rc, 0);
  ldg_rep_free(c);
  ck_assert_int_eq(ldg_alloc_live(), live);
  ldg_rep_free(p.a);
  ldg_rep_free(p.b);
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("bounds", argc, argv, shared_children, shared_list, facts_of_towers, squares, compact, random_compacts,
                    no_memory);
}
