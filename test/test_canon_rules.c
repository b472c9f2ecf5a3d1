/* Every rule of canon by itself: it fires where it should and nowhere else, keeps the sequence, and gives the form that it
 * promises. Small parameters, all of them or random ones. */
#include "canon_rules.h"
#include "rep_tools.h"

#include <stdarg.h>

/* ---- one rule at a time ---- */

static int rule_at(int rule, const ldg_rep *r, const ldg_rep **out) {
  const ldg_canon_rule *table;
  ck_assert_int_eq(ldg_canon_rules(&table), LDG_RULES);
  ck_assert(table[rule].kinds >> r->kind & 1);
  ldg_canon_ctx x = { .limit = LDG_CANON_RUNS };
  return table[rule].apply(&x, r, out);
}

/* The rule fires, keeps the sequence and gives exactly this. */
static void becomes(int rule, const ldg_rep *r, const char *want) {
  const ldg_rep *out, *wanted = read_rep(want);
  ck_assert_msg(rule_at(rule, r, &out) == 1, "rule %d is silent on %s", rule, print_rep(r));
  ck_assert_msg(same_seq(r, out, r->at ? r->at[0] : 0), "rule %d: %s => %s", rule, print_rep(r), print_rep(out));
  ck_assert_msg(ldg_rep_equal(out, wanted), "rule %d: got %s, not %s", rule, print_rep(out), want);
  ldg_rep_free(out);
  ldg_rep_free(wanted);
}

static void silent(int rule, const char *text) {
  const ldg_rep *out, *r = read_rep(text);
  ck_assert_msg(rule_at(rule, r, &out) == 0, "rule %d fires on %s", rule, text);
  ldg_rep_free(r);
}

static void fires(int rule, const char *want, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void fires(int rule, const char *want, const char *format, ...) {
  char text[2000];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  const ldg_rep *r = read_rep(text);
  becomes(rule, r, want);
  ldg_rep_free(r);
}

static char *say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *say(const char *format, ...) {
  static char text[4][2000];
  static int turn;
  va_list args;
  va_start(args, format);
  turn = (turn + 1) % 4;
  vsnprintf(text[turn], sizeof text[0], format, args);
  va_end(args);
  return text[turn];
}

static const char *const children[] = { "(bytes 4)", "(repeat 3 9 (bytes 2))", "(blocks 2 (0 7) (3 2) 1 (bytes 1))" };

START_TEST(rule_once) {
  for (int k = 0; k < 3; k++) {
    for (int at = -9; at <= 9; at += 9) {
      fires(LDG_RULE_ONCE, children[k], "(repeat 1 %d %s)", at, children[k]);
      fires(LDG_RULE_ONCE, children[k], "(blocks 1 (%d) %s)", at, children[k]);
      fires(LDG_RULE_ONCE, children[k], "(join (%d %s))", at, children[k]);
      fires(LDG_RULE_ONCE, say("(repeat 3 50 %s)", children[k]), "(blocks 1 (%d) (3) 50 %s)", at, children[k]);
    }
    silent(LDG_RULE_ONCE, say("(repeat 2 1 %s)", children[k]));
  }
}
END_TEST

START_TEST(rule_dense) {
  for (int n = 2; n < 6; n++) {
    for (int len = 1; len < 9; len++) {
      for (int stride = -9; stride <= 9; stride++) {
        if (stride == len) fires(LDG_RULE_DENSE, say("(bytes %d)", n * len), "(repeat %d %d (bytes %d))", n, stride, len);
        else silent(LDG_RULE_DENSE, say("(repeat %d %d (bytes %d))", n, stride, len));
      }
    }
  }
}
END_TEST

START_TEST(rule_merge) {
  for (int n = 2; n < 5; n++) {
    for (int m = 2; m < 5; m++) {
      for (int t = -12; t <= 12; t++) {
        if (t == 4) continue; /* the child would not be canonical */
        fires(LDG_RULE_MERGE, say("(repeat %d %d (bytes 4))", n * m, t), "(repeat %d %d (repeat %d %d (bytes 4)))", n, m * t, m, t);
        if (t) silent(LDG_RULE_MERGE, say("(repeat %d %d (repeat %d %d (bytes 4)))", n, -m * t, m, t));
        silent(LDG_RULE_MERGE, say("(repeat %d %d (repeat %d %d (bytes 4)))", n, m * t + 1, m, t));
      }
    }
  }
}
END_TEST

START_TEST(rule_splice) {
  for (int at = -40; at <= 40; at += 20)
    fires(LDG_RULE_SPLICE, say("(join (0 (bytes 2)) (%d (repeat 2 9 (bytes 3))) (%d (bytes 5)))", at, at + 100),
          "(join (7 (bytes 2)) (%d (join (0 (repeat 2 9 (bytes 3))) (100 (bytes 5)))))", at + 7);
  silent(LDG_RULE_SPLICE, "(join (0 (bytes 2)) (9 (bytes 3)))");
  /* a long kid stays shared in a long join, a short one is spliced */
  char kid[2000] = "(join", text[8000] = "(join";
  for (int i = 0; i < 20; i++) snprintf(kid + strlen(kid), 60, " (%d (repeat 2 9 (bytes %d)))", 100 * i, 1 + i % 5);
  strcat(kid, ")");
  snprintf(text + strlen(text), 7000, " (0 %s) (9000 %s))", kid, kid);
  silent(LDG_RULE_SPLICE, text);
}
END_TEST

START_TEST(rule_single) {
  for (int c = 1; c < 4; c++) {
    for (int s = -8; s <= 8; s++) {
      const char *entry = c == 1 ? "(bytes 3)" : s == 3 ? say("(bytes %d)", 3 * c) : say("(repeat %d %d (bytes 3))", c, s);
      fires(LDG_RULE_SINGLE, say("(blocks 3 (0 90 50) %s)", entry), "(blocks 3 (5 95 55) (%d %d %d) %d (bytes 3))", c, c, c, s);
    }
  }
  silent(LDG_RULE_SINGLE, "(blocks 3 (0 90 50) (2 2 1) 4 (bytes 3))");
  silent(LDG_RULE_SINGLE, "(blocks 3 (0 90 50) (bytes 3))");
}
END_TEST

START_TEST(rule_counted) {
  for (int len = 2; len < 9; len++) {
    fires(LDG_RULE_COUNTED, say("(blocks 3 (0 90 50) (%d %d %d) 1 (bytes 1))", len, 9 * len, 4 * len),
          "(blocks 3 (0 90 50) (1 9 4) %d (bytes %d))", len, len);
    silent(LDG_RULE_COUNTED, say("(blocks 3 (0 90 50) (1 3 2) %d (bytes %d))", -len, len));
    silent(LDG_RULE_COUNTED, say("(blocks 3 (0 90 50) (1 3 2) %d (bytes %d))", len + 1, len));
  }
}
END_TEST

START_TEST(rule_touch) {
  fires(LDG_RULE_TOUCH, "(blocks 2 (0 50) (7 3) 1 (bytes 1))", "(blocks 3 (0 4 50) (4 3 3) 1 (bytes 1))");
  fires(LDG_RULE_TOUCH, "(blocks 2 (0 50) (5 3) 9 (bytes 4))", "(blocks 3 (0 18 50) (2 3 3) 9 (bytes 4))");
  fires(LDG_RULE_TOUCH, "(blocks 2 (0 50) (8 4) 1 (bytes 1))", "(blocks 3 (0 4 50) (bytes 4))");
  fires(LDG_RULE_TOUCH, "(bytes 9)", "(join (3 (bytes 4)) (7 (bytes 5)))");
  fires(LDG_RULE_TOUCH, "(join (0 (bytes 9)) (9 (repeat 2 5 (bytes 1))))", "(join (0 (bytes 4)) (4 (bytes 5)) (9 (repeat 2 5 (bytes 1))))");
  silent(LDG_RULE_TOUCH, "(join (4 (bytes 4)) (0 (bytes 4)))"); /* in memory, not in the sequence */
  silent(LDG_RULE_TOUCH, "(blocks 2 (4 0) (4 4) 1 (bytes 1))");
  /* one touch in nine entries or more: it stays a uniform list */
  silent(LDG_RULE_TOUCH, "(blocks 9 (0 4 50 20 80 40 30 90 10) (bytes 4))");
}
END_TEST

START_TEST(rule_absorb) {
  for (int k = 0; k < 3; k++) {
    for (int s = -60; s <= 60; s += 40) {
      const char *kid = children[k], *want = say("(repeat 4 %d %s)", s, kid);
      fires(LDG_RULE_ABSORB, want, "(join (5 (repeat 3 %d %s)) (%d %s))", s, kid, 5 + 3 * s, kid);
      fires(LDG_RULE_ABSORB, want, "(join (5 %s) (%d (repeat 3 %d %s)))", kid, 5 + s, s, kid);
      fires(LDG_RULE_ABSORB, want, "(join (5 (repeat 2 %d %s)) (%d (repeat 2 %d %s)))", s, kid, 5 + 2 * s, s, kid);
      silent(LDG_RULE_ABSORB, say("(join (5 (repeat 3 %d %s)) (%d %s))", s, kid, 6 + 3 * s, kid));
      silent(LDG_RULE_ABSORB, say("(join (5 (repeat 3 %d %s)) (%d (bytes 3)))", s, kid, 5 + 3 * s));
    }
  }
}
END_TEST

START_TEST(rule_same) {
  for (int k = 0; k < 3; k++) {
    const char *kid = children[k];
    fires(LDG_RULE_SAME, say("(blocks 3 (0 90 50) %s)", kid), "(join (-7 %s) (83 %s) (43 %s))", kid, kid, kid);
    fires(LDG_RULE_SAME, say("(repeat 3 50 %s)", kid), "(join (-7 %s) (43 %s) (93 %s))", kid, kid, kid);
    silent(LDG_RULE_SAME, say("(join (-7 %s) (83 %s) (43 (bytes 5)))", kid, kid));
  }
}
END_TEST

START_TEST(rule_lengths) {
  fires(LDG_RULE_LENGTHS, "(blocks 3 (0 90 50) (1 2 30) 1 (bytes 1))", "(join (5 (bytes 1)) (95 (bytes 2)) (55 (bytes 30)))");
  silent(LDG_RULE_LENGTHS, "(join (5 (bytes 1)) (95 (repeat 2 3 (bytes 2))))");
}
END_TEST

START_TEST(rule_constant) {
  for (int n = 2; n < 6; n++) {
    for (int d = -30; d <= 30; d++) {
      int64_t at[6];
      const ldg_rep *r, *k;
      for (int i = 0; i < n; i++) at[i] = 11 + i * d;
      ldg_rep_bytes(8, &k);
      ldg_rep_blocks(n, at, NULL, 0, k, &r);
      becomes(LDG_RULE_CONSTANT, r, d == 8 ? say("(bytes %d)", 8 * n) : say("(repeat %d %d (bytes 8))", n, d));
      ldg_rep_free(r);
      ldg_rep_free(k);
    }
  }
  silent(LDG_RULE_CONSTANT, "(blocks 3 (0 10 21) (bytes 8))");
}
END_TEST

/* ---- rules for lists: at[i] by formula, the result by its shape ---- */

static const ldg_rep *list_of(int64_t n, const int64_t *at, const int64_t *len, int64_t bytes) {
  const ldg_rep *k, *r;
  ck_assert_int_eq(ldg_rep_bytes(len ? 1 : bytes, &k), 0);
  ck_assert_int_eq(ldg_rep_blocks(n, at, len, len ? 1 : 0, k, &r), 0);
  ldg_rep_free(k);
  return r;
}

static const ldg_rep *fired(int rule, const ldg_rep *r) {
  const ldg_rep *out;
  ck_assert_msg(rule_at(rule, r, &out) == 1, "rule %d is silent on %s", rule, print_rep(r));
  ck_assert_msg(same_seq(r, out, r->at[0]), "rule %d: %s => %s", rule, print_rep(r), print_rep(out));
  return out;
}

/* Random offsets far apart, no two differences equal. */
static void scatter(rng *r, int64_t n, int64_t *at) {
  for (int64_t i = 0; i < n; i++) at[i] = 1000000 * i + 8 * rng_in(r, 0, 100000);
}

START_TEST(rule_tandem) {
  rng r = rng_of(1);
  int64_t at[200], len[200];
  for (int64_t p = 2; p < 12; p++) {
    for (int64_t reps = 2; reps < 6; reps++) {
      scatter(&r, p, at);
      for (int64_t i = 0; i < p * reps; i++) at[i] = at[i % p] + 77000000 * (i / p), len[i] = 3 + i % p % 5;
      const ldg_rep *list = list_of(p * reps, at, len, 0), *out = fired(LDG_RULE_TANDEM, list);
      ck_assert(out->kind == LDG_REPEAT && out->n == reps && out->stride == 77000000);
      ldg_rep_free(out);
      ldg_rep_free(list);
    }
  }
  /* ragged: the first entry is shorter in front, the last one at its end */
  for (int64_t p = 1; p < 6; p++) {
    scatter(&r, p, at + 1);
    for (int64_t i = 0; i < 6 * p; i++) at[1 + i] = at[1 + i % p] + 77000000 * (i / p), len[1 + i] = 10 + i % p;
    at[0] = at[1] - 7777777;
    len[0] = 5;
    len[6 * p] = 2;
    const ldg_rep *list = list_of(6 * p + 1, at, len, 0), *out = fired(LDG_RULE_TANDEM, list);
    ck_assert(out->kind == LDG_JOIN && out->kids[1]->kind == LDG_REPEAT && out->kids[1]->n == 5);
    ldg_rep_free(out);
    ldg_rep_free(list);
  }
  silent(LDG_RULE_TANDEM, "(blocks 4 (0 10 30 41) (bytes 4))");
  fires(LDG_RULE_TANDEM, "(repeat 2 100 (join (0 (bytes 3)) (20 (repeat 2 9 (bytes 1)))))",
        "(join (0 (bytes 3)) (20 (repeat 2 9 (bytes 1))) (100 (bytes 3)) (120 (repeat 2 9 (bytes 1))))");
}
END_TEST

START_TEST(rule_separable) {
  rng r = rng_of(2);
  int64_t at[400], u[20], v[20];
  for (int64_t m = 4; m < 20; m += 3) {
    for (int64_t n = 2; n < 20; n += 5) {
      scatter(&r, m, v);
      for (int64_t i = 0; i < n; i++) u[i] = 100000000 * i * i;
      for (int64_t i = 0; i < n * m; i++) at[i] = u[i / m] + v[i % m];
      const ldg_rep *list = list_of(n * m, at, NULL, 8), *out = fired(LDG_RULE_SEPARABLE, list);
      ck_assert(out->n == n && out->child->kind == LDG_BLOCKS && out->child->n == m && out->child->child->kind == LDG_BYTES);
      ldg_rep_free(out);
      ldg_rep_free(list);
      at[n * m - 1] += 8;
      list = list_of(n * m, at, NULL, 8);
      ck_assert_int_eq(rule_at(LDG_RULE_SEPARABLE, list, &out), 0);
      ldg_rep_free(list);
    }
  }
}
END_TEST

/* As in LAMMPS: entries of 24 bytes, then of 8, and here and there two that touch. */
START_TEST(rule_stretches) {
  rng r = rng_of(3);
  int64_t at[600], len[600];
  scatter(&r, 600, at);
  for (int64_t i = 0; i < 600; i++) len[i] = i < 200 ? 24 : 8;
  len[77] = 48;
  len[200] = len[333] = 16;
  const ldg_rep *list = list_of(600, at, len, 0), *out = fired(LDG_RULE_STRETCHES, list);
  ck_assert(out->kind == LDG_JOIN && out->n == 2);
  ck_assert(out->kids[0]->n == 201 && !out->kids[0]->cnt && out->kids[0]->child->n == 24);
  ck_assert(out->kids[1]->n == 402 && !out->kids[1]->cnt && out->kids[1]->child->n == 8);
  ldg_rep_free(out);
  ldg_rep_free(list);
  for (int64_t i = 0; i < 600; i++) len[i] = rng_in(&r, 1, 40);
  list = list_of(600, at, len, 0);
  ck_assert_int_eq(rule_at(LDG_RULE_STRETCHES, list, &out), 0);
  ldg_rep_free(list);
}
END_TEST

/* Sorted indices of which some touch are one list of atoms of up to 32 bytes, if there are at most three a run, and an eighth of them in runs of more than 16, and four runs. */
START_TEST(atoms_of_a_mixture) {
  rng r = rng_of(8);
  int64_t at[200], len[200];
  for (int64_t n = 2; n <= 200; n += 1 + n / 4)
    for (int more = 0; more < 3; more++) {
      const int64_t atom = INT64_C(1) << n % 7;
      int64_t all = 0, where = 0;
      for (int64_t i = 0; i < n; i++) len[i] = more == 2 ? 1 + i % 2 : 1 + 4 * (i % 2) - (i % 4 == 3) + (i % 4 == 2), all += len[i]; /* 1, 5, 2, 4: three a run */
      if (more == 2) len[0] += 16, all += 16;
      else len[n - 2] += 3 * n + more - all, all = 3 * n + more;
      for (int64_t i = 0; i < n; i++) len[i] *= atom, at[i] = where, where += len[i] + atom * rng_in(&r, 1, 5);
      const bool few = n >= 4 && atom <= 32 && (more == 2 ? all <= 3 * n && 17 <= all / 8 : more == 0);
      const ldg_rep *list = list_of(n, at, len, 0), *out = NULL;
      const int rc = rule_at(LDG_RULE_STRETCHES, list, &out);
      ck_assert_int_ge(rc, 0);
      if (few && n < 8) ck_assert_int_eq(rc, 1); /* atoms of so few may make a loop */
      else if (few) ck_assert_msg(rc == 1 && out->kind == LDG_BLOCKS && !out->cnt && out->n == all && out->child->n == atom, "%s => %s", print_rep(list), rc == 1 ? print_rep(out) : "nothing");
      else ck_assert_int_eq(rc, 0);
      if (rc) ck_assert(same_seq(list, out, 0)), ldg_rep_free(out);
      ldg_rep_free(list);
    }
  silent(LDG_RULE_TOUCH, "(blocks 9 (0 4 50 58 90 94 98 120 140) (bytes 4))");
  fires(LDG_RULE_TOUCH, "(blocks 4 (0 50 90 120) (bytes 8))", "(blocks 8 (0 4 50 54 90 94 120 124) (bytes 4))"); /* all runs are of one length */
  fires(LDG_RULE_TOUCH, "(blocks 3 (0 50 90) (8 4 4) 1 (bytes 1))", "(blocks 4 (0 4 50 90) (bytes 4))");     /* three runs */
  fires(LDG_RULE_TOUCH, "(blocks 4 (0 150 300 400) (80 40 40 40) 1 (bytes 1))", "(blocks 5 (0 40 150 300 400) (bytes 40))");
}
END_TEST

/* One short run does not cut long ones to its length. */
START_TEST(stretches_next_to_a_mixture) {
  rng r = rng_of(10);
  int64_t at[601], len[601];
  for (int which = 0; which < 2; which++) {
    scatter(&r, 601, at);
    for (int64_t i = 0; i < 601; i++) len[i] = which ? i == 0 ? 16 : i <= 200 ? 24 : 8 : i < 600 ? 24 : 8;
    const ldg_rep *list = list_of(601, at, len, 0), *out = fired(LDG_RULE_STRETCHES, list);
    ck_assert_int_eq(out->kind, LDG_JOIN);
    bool kept = false;
    for (int64_t i = 0; i < out->n; i++) kept |= out->kids[i]->kind == LDG_BLOCKS && !out->kids[i]->cnt && out->kids[i]->n == (which ? 200 : 600) && out->kids[i]->child->n == 24;
    ck_assert_msg(kept, "%s", print_rep(out));
    ldg_rep_free(out), ldg_rep_free(list);
  }
}
END_TEST

/* Stated by its runs or by its atoms, a list has one form, which is its own, also where nothing is rebuilt from runs. */
START_TEST(runs_or_atoms) {
  rng r = rng_of(9);
  for (int round = 0; round < 4000; round++) {
    int64_t at[40], len[40], atoms[40 * 6 + 60], where = 0, m = 0;
    const int64_t n = rng_in(&r, 2, round % 3 ? 12 : 40), atom = INT64_C(1) << rng_in(&r, 0, 6), most = rng_in(&r, 1, 6), gaps = rng_in(&r, 1, 4), longer = rng_in(&r, 0, 9) ? -1 : rng_in(&r, 0, n - 1);
    for (int64_t i = 0; i < n; i++) {
      len[i] = atom * (i == longer ? rng_in(&r, 17, 60) : rng_in(&r, 1, most)), at[i] = where;
      for (int64_t done = 0; done < len[i]; done += atom) atoms[m++] = where + done;
      where += len[i] + atom * rng_in(&r, 1, gaps);
    }
    const ldg_rep *stated[2] = { list_of(n, at, len, 0), list_of(m, atoms, NULL, atom) }, *form[2][2];
    for (int k = 0; k < 2; k++)
      for (int local = 0; local < 2; local++) {
        const ldg_rep *again;
        ck_assert_int_eq(ldg_canon_within(stated[k], local ? 1 : LDG_CANON_RUNS, &form[k][local], NULL), LADING_OK);
        ck_assert(same_seq(stated[k], form[k][local], 0));
        ck_assert_int_eq(ldg_canon_within(form[k][local], local ? 1 : LDG_CANON_RUNS, &again, NULL), LADING_OK);
        ck_assert_msg(ldg_rep_equal(again, form[k][local]), "limit %d: %s => %s => %s", local, print_rep(stated[k]), print_rep(form[k][local]), print_rep(again));
        ldg_rep_free(again);
      }
    ck_assert_msg(ldg_rep_equal(form[0][0], form[1][0]), "%s: %s, and %s", print_rep(stated[0]), print_rep(form[0][0]), print_rep(form[1][0]));
    for (int k = 0; k < 2; k++) ldg_rep_free(stated[k]), ldg_rep_free(form[k][0]), ldg_rep_free(form[k][1]);
  }
}
END_TEST

START_TEST(rule_progressions) {
  int64_t at[5000], n = 0;
  for (int64_t i = 0; i < 60; i++)
    for (int64_t j = i; j < 60; j++) at[n++] = 8 * (i + 64 * j); /* columns of a triangle */
  const ldg_rep *list = list_of(n, at, NULL, 8), *out = fired(LDG_RULE_PROGRESSIONS, list);
  ck_assert(out->kind == LDG_BLOCKS && out->cnt && out->n < 64 && out->stride == 512);
  ldg_rep_free(out);
  ldg_rep_free(list);
  rng r = rng_of(4);
  scatter(&r, 1000, at);
  for (int64_t i = 400; i < 800; i++) at[i] = 1 << 30 | 24 * i;
  list = list_of(1000, at, NULL, 8);
  ck_assert_int_eq(rule_at(LDG_RULE_PROGRESSIONS, list, &out), 0);
  out = fired(LDG_RULE_LONG, list);
  ck_assert(out->kind == LDG_JOIN && out->n == 3 && out->kids[1]->kind == LDG_REPEAT && out->kids[1]->n >= 400);
  ldg_rep_free(out);
  ldg_rep_free(list);
  scatter(&r, 1000, at);
  list = list_of(1000, at, NULL, 8);
  for (int rule = LDG_RULE_ONCE; rule < LDG_RULE_RUNS; rule++) {
    const ldg_canon_rule *table;
    ldg_canon_rules(&table);
    if (table[rule].kinds >> LDG_BLOCKS & 1) ck_assert_int_eq(rule_at(rule, list, &out), 0); /* random stays one list */
  }
  ldg_rep_free(list);
}
END_TEST

/* Rows of few equal entries, as faces have them: cut where the count changes. */
START_TEST(rule_long_counted) {
  int64_t at[60], cnt[60];
  for (int64_t i = 0; i < 60; i++) at[i] = i < 30 ? 4096 * i : 200 + 4096 * (i - 30), cnt[i] = i < 30 ? 30 : 15;
  const ldg_rep *list = list_of(60, at, cnt, 0), *out = fired(LDG_RULE_LONG, list);
  ck_assert_str_eq(print_rep(out), "(join (0 (repeat 30 4096 (bytes 30))) (200 (repeat 30 4096 (bytes 15))))");
  ldg_rep_free(out);
  ldg_rep_free(list);
}
END_TEST

/* Arrays of structs, one after the other, with some entries on their own around them. */
START_TEST(rule_sections) {
  rng r = rng_of(5);
  static int64_t at[3000], len[3000];
  for (int64_t period = 2; period <= 16; period++) {
    int64_t n = rng_in(&r, 0, 3);
    scatter(&r, n, at);
    for (int64_t i = 0; i < n; i++) len[i] = 777 + i;
    for (int64_t part = 0; part < 2; part++) {
      const int64_t start = 10000000 * (part + 1), items = ldg_max(65, 5 * period) + part;
      for (int64_t i = 0; i < items * period; i++, n++) {
        at[n] = start + 1000 * (i / period) + 40 * (i % period) + (i % period == 1);
        len[n] = 2 + (i % period) * (i % period);
        if (len[n] > 30) len[n] = 30 - i % period;
      }
    }
    const ldg_rep *list = list_of(n, at, len, 0), *out = fired(LDG_RULE_SECTIONS, list);
    ck_assert(out->kind == LDG_JOIN && out->n <= 5 && out->kids[out->n - 1]->kind == LDG_REPEAT);
    ck_assert_int_eq(out->kids[out->n - 1]->child->n, period);
    ldg_rep_free(out);
    ldg_rep_free(list);
  }
  for (int64_t i = 0; i < 2000; i++) at[i] = 1000 * i + rng_in(&r, 0, 500), len[i] = rng_in(&r, 1, 40);
  const ldg_rep *list = list_of(2000, at, len, 0), *out;
  ck_assert_int_eq(rule_at(LDG_RULE_SECTIONS, list, &out), 0);
  ldg_rep_free(list);
}
END_TEST

START_TEST(rule_group) {
  fires(LDG_RULE_GROUP, "(join (0 (blocks 4 (0 9 20 8) (bytes 2))) (70 (repeat 2 5 (bytes 1))))",
        "(join (0 (bytes 2)) (9 (bytes 2)) (20 (bytes 2)) (8 (bytes 2)) (70 (repeat 2 5 (bytes 1))))");
  silent(LDG_RULE_GROUP, "(join (0 (bytes 2)) (9 (bytes 2)) (20 (bytes 2)) (70 (repeat 2 5 (bytes 1))))");
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("canon_rules", argc, argv, rule_once, rule_dense, rule_merge, rule_splice, rule_single, rule_counted, rule_touch,
                    rule_absorb, rule_same, rule_lengths, rule_constant, rule_tandem, rule_separable, rule_stretches, atoms_of_a_mixture, stretches_next_to_a_mixture, runs_or_atoms,
                    rule_progressions, rule_long_counted, rule_sections, rule_group);
}
