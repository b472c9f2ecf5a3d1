/* fields: items of a few fields, and rows of a few blocks, that are moved item by item, and one item of few runs, under masks or in words: what is moved, which items, what it is said to cost. */
#include "random_types.h"
#include "api.h"
#include "base_cpu.h"
#include "base_model.h"
#include "plan.h"
#include "../backends/host/fields.h"
#include "../backends/host/trial.h"

enum { ROOM = 1 << 20, ENTRIES = 20 };

static const ldg_strategy *fields(void) { return strategy_named("fields"); }
static const ldg_strategy *few(void) { return strategy_named("runs"); }
#define TEXT_OF_(...) #__VA_ARGS__
#define TEXT_OF(...) TEXT_OF_(__VA_ARGS__)
static bool has_masks(void) { return strstr(TEXT_OF(LDG_LEVELS), "_v4") && ldg_cpu_runs("v4"); } /* other levels have none, and not all are built */

static ldg_model model; /* it is not copied */
static void use(int64_t pace) {
  model = ldg_model_builtin();
  model.number[LDG_MODEL_PACE] = pace;
  ldg_model_use(&model);
}

/* ---- by hand ---- */

typedef struct list { int64_t at[ENTRIES], psum[ENTRIES + 1]; } list;

static void move_entry(const ldg_nest *n, int64_t i, const char *s, char *d) {
  const ldg_dim *x = &n->dim[0];
  const bool from = n->list == LDG_LIST_SRC;
  const int64_t len = n->psum ? n->psum[i + 1] - n->psum[i] : n->block, other = n->psum ? n->psum[i] : i * (from ? x->dst : x->src);
  if (len == 0) return; /* where it would be may be nowhere */
  if (n->at) memcpy(d + (from ? other : n->at[i]), s + (from ? n->at[i] : other), (size_t)len);
  else memcpy(d + i * x->dst, s + i * x->src, (size_t)len);
}
static void move_plainly(const ldg_nest *n, int k, const char *s, char *d, int64_t some) {
  for (int64_t i = 0; i < some; i++)
    if (k) move_plainly(n, k - 1, s + i * n->dim[k].src, d + i * n->dim[k].dst, n->dim[k - 1].n);
    else move_entry(n, i, s, d);
}
/* Of a list, entries from i0 on; else s and d are where iteration i0 is. */
static void move_some(const ldg_nest *n, int64_t i0, const char *s, char *d, int64_t some) {
  for (int64_t i = i0; n->nd == 1 && i < i0 + some; i++) move_entry(n, i, s, d);
  if (n->nd > 1) move_plainly(n, n->nd - 1, s, d, some);
}

/* Strides of all loops but the first one, each of which leaves room for what is inside of it; backwards as often. */
static void set_outer(ldg_nest *n, int side, int64_t span, rng *r) {
  for (int k = 1; k < n->nd; k++) {
    const int64_t stride = (span + rng_in(r, 0, 40)) * (rng_in(r, 0, 1) ? 1 : -1);
    *(side ? &n->dim[k].dst : &n->dim[k].src) = stride;
    span += (n->dim[k].n - 1) * (stride < 0 ? -stride : stride);
  }
  ck_assert_int_lt(span, ROOM / 2 - 100);
}
static int64_t set_inner(ldg_nest *n, int side, bool dense, rng *r) {
  const int64_t stride = dense ? n->block : n->block + rng_in(r, 1, 100);
  *(side ? &n->dim[0].dst : &n->dim[0].src) = dense || rng_in(r, 0, 3) ? stride : -stride;
  return 2 * (n->dim[0].n - 1) * stride + n->block;
}
/* Fields with gaps of up to `gap` bytes, now and then none, and some of none; in any order where `mixed`, those that are read also one over the other. Bytes from the first one to the last. */
static int64_t set_list(ldg_nest *n, list *l, bool lengths, int64_t gap, bool mixed, rng *r) {
  int64_t at = 0;
  for (int64_t i = 0; i < n->dim[0].n; i++) {
    const int64_t len = !lengths ? n->block : rng_in(r, 0, 9) ? rng_in(r, 1, rng_in(r, 0, 1) ? 16 : rng_in(r, 0, 5) ? 64 : 200) : 0;
    l->at[i] = at += rng_in(r, 0, 2) ? rng_in(r, 0, gap) : 0, at += len;
    l->psum[i + 1] = l->psum[i] + len;
  }
  for (int64_t i = 1; mixed && !lengths && i < n->dim[0].n; i++) {
    const int64_t other = rng_in(r, 0, i), swap = l->at[i];
    l->at[i] = l->at[other], l->at[other] = swap;
  }
  for (int64_t i = 0; mixed && lengths && i < n->dim[0].n; i++) {
    const int64_t len = l->psum[i + 1] - l->psum[i];
    if (n->list == LDG_LIST_SRC) l->at[i] = rng_in(r, 0, at - len);
    else l->at[i] = at - l->at[i] - len; /* backwards */
    if (len == 0) l->at[i] = n->nd > 1 ? INT64_MIN : 0; /* it may be anywhere, but for parts of one list: of those it is a place, from which nothing is read */
  }
  n->at = l->at, n->psum = lengths ? l->psum : NULL;
  return at;
}

typedef struct arena { char *from, *to, *expected; } arena;
static void check_run(const ldg_strategy *way, const ldg_nest *n, const arena *a, rng *r) {
  ldg_job j = { .nest = *n };
  const ldg_dim *outer = &n->dim[n->nd - 1];
  way->prepare(&j);
  for (int turn = 0; turn < 3; turn++) {
    const int64_t i0 = turn ? rng_in(r, 0, outer->n - 1) : 0, some = turn ? rng_in(r, 0, outer->n - i0) : outer->n;
    const bool listed = n->nd == 1;
    const int64_t s = ROOM / 2 + rng_in(r, 0, 64) + (listed ? 0 : i0 * outer->src), d = ROOM / 2 + rng_in(r, 0, 64) + (listed ? 0 : i0 * outer->dst);
    memset(a->to, 7, ROOM), memset(a->expected, 7, ROOM);
    move_some(n, i0, a->from + s, a->expected + d, some);
    ck_assert_int_eq(j.run(&j, a->from + s, a->to + d, i0, some), LADING_OK);
    ck_assert_msg(!memcmp(a->to, a->expected, ROOM), "%s, %d of %d bytes, %d dims, %s", way->name, (int)n->dim[0].n, (int)n->block, n->nd, n->at ? n->psum ? "lengths" : "listed" : "strided");
  }
}

/* Rows, and planes, of a few blocks, packed, unpacked, and from one strided side to another; lists of either side, with lengths and without, of one kernel and of some; one list with lengths, and parts of it. Exactly the bytes of the fields. */
START_TEST(what_is_moved) {
  rng r = rng_of(45);
  const arena a = { malloc(ROOM), malloc(ROOM), malloc(ROOM) };
  int able[3] = { 0 }, planes = 0, grouped = 0, alone = 0, written_out = 0, touching = 0;
  use(0);
  for (int64_t k = 0; k < ROOM; k++) a.from[k] = (char)rng_in(&r, 0, 255);
  for (int i = 0; i < 2400; i++) {
    const int kind = i % 3; /* strided, listed, with lengths */
    list l = { { 0 }, { 0 } };
    ldg_nest n = { .block = kind == 2 ? 1 : rng_in(&r, 1, kind ? 20 : 16), .nd = (int)rng_in(&r, kind && i % 4 < 2 ? 1 : 2, kind ? 3 : 4), .once = true, .list = i % 2 ? LDG_LIST_SRC : LDG_LIST_DST };
    for (int k = 0; k < n.nd; k++) n.dim[k] = (ldg_dim){ k ? rng_in(&r, 1, n.nd == 2 ? 60 : k == 3 ? 4 : !kind && k == 1 && i % 2 ? 3 : 9) : kind ? rng_in(&r, 1, n.nd == 1 && i % 2 ? 4 : ENTRIES) : rng_in(&r, 1, i % 4 == 3 ? 9 : 6), 0, 0 };
    if (!kind && (i % 8 == 3 || i % 8 == 6)) n.nd = 3, n.dim[0].n = 8, n.dim[1].n = 2, n.dim[2].n = 4, n.block = 8; /* three groups, or its rows two, where the model is another one */
    if (!kind) set_outer(&n, 0, set_inner(&n, 0, i % 9 < 3, &r), &r), set_outer(&n, 1, set_inner(&n, 1, i % 9 > 5, &r), &r);
    else {
      const int64_t span = set_list(&n, &l, kind == 2, rng_in(&r, 1, 150), i % 5 == 0, &r);
      const int side = n.list == LDG_LIST_DST, other = !side;
      *(other ? &n.dim[0].dst : &n.dim[0].src) = n.block;
      set_outer(&n, side, span, &r), set_outer(&n, other, kind == 2 ? l.psum[n.dim[0].n] : n.dim[0].n * n.block, &r);
    }
    n.once = false;
    if (!few()->why_not(&n)) {
      written_out++, touching += !n.psum;
      model.number[LDG_MODEL_MASKED] = i % 4 == 1, ldg_model_use(&model); /* lines are asked for */
      check_run(few(), &n, &a, &r);
    }
    n.once = kind || i % 2; /* else there are other ways, which have their part of the job */
    if (fields()->why_not(&n)) continue;
    if (!kind && n.nd > 2) {
      ldg_job j = { .nest = n };
      grouped += !ldg_fields_prepare(&j), planes += n.dim[0].n > 1 && n.dim[1].n > 1 && n.dim[0].n * n.dim[1].n <= LDG_FIELD_WORDS && !(n.block & (n.block - 1)); /* blocks are words */
    }
    const int64_t first = model.level[LDG_MODEL_L1];
    if (!kind && i % 4 == 3) model.level[LDG_MODEL_L1] = 64, ldg_model_use(&model); /* another one by now than it was when this was chosen */
    able[kind]++, alone += n.nd == 1, check_run(fields(), &n, &a, &r);
    model.level[LDG_MODEL_L1] = first, ldg_model_use(&model);
  }
  ck_assert_int_gt(able[0], 300);
  ck_assert_int_gt(able[1], 250);
  ck_assert_int_gt(able[2], 80);
  ck_assert(planes > 5 && grouped > 50);
  ck_assert_int_gt(alone, 20);
  ck_assert(written_out > 50 && touching > 5);
  free(a.from), free(a.to), free(a.expected);
  ldg_model_use(NULL);
}
END_TEST

/* Fewer lists than a window has, and some more, go by a kernel of fields, which finds what it goes by first, if one has as many words. */
START_TEST(few_in_windows) {
  static const int64_t at[7] = { 0, 4, 8, 10, 12, 14, 16 }, psum[8] = { 0, 3, 7, 8, 9, 10, 11, 12 };
  const ldg_strategy *way = strategy_named("window");
  const arena a = { malloc(ROOM), malloc(ROOM), malloc(ROOM) };
  rng r = rng_of(50);
  int tried = 0;
  for (int64_t k = 0; k < ROOM; k++) a.from[k] = (char)rng_in(&r, 0, 255);
  for (int64_t runs = 2; runs < 8; runs += 5) {
    ldg_job j = { .nest = { .block = 1, .nd = 2, .at = at, .psum = psum, .span = at[runs - 1] + psum[runs] - psum[runs - 1], .list = LDG_LIST_SRC, .dim = { { runs, 0, 1 }, { 100, runs == 2 ? 8 : 20, psum[runs] } } } };
    ldg_field_group group;
    if (way->why_not(&j.nest)) break; /* a level without */
    way->prepare(&j), tried++;
    ck_assert((ldg_fields_of_list(&j.nest, &group) != NULL) == (runs == 2)); /* else of seven words */
    if (runs == 2) ck_assert_mem_eq(j.own, &group, sizeof group);
    for (j.nest.dim[1].n = 1; j.nest.dim[1].n < 20; j.nest.dim[1].n++) check_run(way, &j.nest, &a, &r);
  }
  if (strstr(TEXT_OF(LDG_LEVELS), "_v3") && ldg_cpu_runs("v3") && !has_masks()) ck_assert_int_eq(tried, 2);
  free(a.from), free(a.to), free(a.expected);
}
END_TEST

/* What is timed has other ways, which ask for lines, or have late addresses: they find what they go by, and so do items. */
START_TEST(ways_of_items) {
  rng r = rng_of(47);
  const arena a = { malloc(ROOM), malloc(ROOM), malloc(ROOM) };
  int ways = 0;
  use(0);
  model.level[LDG_MODEL_L1] = model.level[LDG_MODEL_L2] = 64, model.number[LDG_MODEL_AHEAD] = 4;
  for (int64_t k = 0; k < ROOM; k++) a.from[k] = (char)rng_in(&r, 0, 255);
  for (int i = 0; i < 60; i++) {
    const int64_t block = rng_in(&r, 1, 16), blocks = rng_in(&r, 2, 3), apart = block + rng_in(&r, 1, 90), items = 1200, row = 3 * apart + 1;
    ldg_nest n = { .block = block, .nd = 2, .dim = { { blocks, apart, block }, { items, row, blocks * block } } };
    if (i % 4 > 1) n.nd = 3, n.dim[1].n = 2, n.dim[2] = (ldg_dim){ items / 2, 2 * row + 5, 2 * blocks * block };
    ldg_job j = { .nest = i % 2 ? ldg_nest_swapped(n) : n };
    model.number[LDG_MODEL_TOUCHED] = i % 3 != 0, ldg_model_use(&model);
    if (fields()->why_not(&j.nest)) continue;
    fields()->prepare(&j);
    for (int k = 0; k < LDG_TRIAL_WAYS && ldg_trial_way(&j, k); k++, ways++) {
      memset(a.to, 7, ROOM), memset(a.expected, 7, ROOM);
      move_plainly(&j.nest, n.nd - 1, a.from + 9, a.expected + 5, n.dim[n.nd - 1].n);
      ck_assert_int_eq(ldg_trial_way(&j, k)(&j, a.from + 9, a.to + 5, 0, n.dim[n.nd - 1].n), LADING_OK);
      ck_assert_msg(!memcmp(a.to, a.expected, ROOM), "way %d of %d blocks of %d bytes", k, (int)blocks, (int)block);
    }
  }
  if (ldg_cpu_ticks()) ck_assert_int_gt(ways, 100);
  free(a.from), free(a.to), free(a.expected);
  ldg_model_use(NULL);
}
END_TEST

/* Every choice of lengths has its kernel, where bsearch finds it: up to four words in any order, five and six without one. */
START_TEST(kernels_are_in_order) {
  for (size_t i = 1; i < ldg_field_kernel_count; i++) ck_assert_int_lt(memcmp(ldg_field_kernels[i - 1].word, ldg_field_kernels[i].word, LDG_FIELD_WORDS), 0);
  ck_assert_int_eq((int64_t)ldg_field_kernel_count, 5 + 25 + 125 + (LDG_FIELD_ORDERED > 3 ? 625 : 70) + 126 + 210); /* of few: four without one, too */
}
END_TEST

/* Through the library, as structs: ranges that begin and end within items and fields, and all other strategies beside it. */
START_TEST(structs) {
  rng r = rng_of(46);
  int planned = 0;
  for (int i = 0; i < 60; i++) {
    const int64_t n = rng_in(&r, 2, 8);
    int64_t lens[8], at[8], end = rng_in(&r, 0, 9);
    for (int64_t k = 0; k < n; k++) lens[k] = rng_in(&r, 1, k % 2 ? 9 : 30), at[k] = end += rng_in(&r, 0, 3) ? rng_in(&r, 1, 90) : 0, end += lens[k];
    sample *s = s_resized(s_hindexed(n, lens, at, s_elem(LADING_BYTE)), 0, end + rng_in(&r, 0, 70));
    const ldg_plan *p;
    ck_assert_int_eq(ldg_api_plan(s->type, &p), LADING_OK);
    for (int dir = LDG_PACK; dir <= LDG_UNPACK; dir++) planned += !strcmp(p->many.job[dir].name, "fields");
    check_strategies(s, rng_in(&r, 2, 40), &r);
    sample_free(s);
  }
  ck_assert_int_gt(planned, 40);
}
END_TEST

/* Structs of arrays that have few runs, as joins or, where that is shorter, as lists. */
START_TEST(few_runs) {
  rng r = rng_of(48);
  int planned = 0;
  for (int i = 0; i < 60; i++) {
    const int64_t n = rng_in(&r, 2, 4);
    int64_t ones[4] = { 1, 1, 1, 1 }, at[4], end = 0;
    sample *kid[4];
    for (int64_t k = 0; k < n; k++) {
      const int64_t count = rng_in(&r, 1, i % 2 ? 2 : 9), len = rng_in(&r, 1, rng_in(&r, 0, 2) ? 20 : 90), apart = len + rng_in(&r, 1, 40);
      kid[k] = s_hvector(count, len, apart, s_elem(LADING_BYTE)), at[k] = end += rng_in(&r, 0, 50), end += count * apart;
    }
    sample *s = s_struct(n, ones, at, kid);
    const ldg_plan *p;
    ck_assert_int_eq(ldg_api_plan(s->type, &p), LADING_OK);
    for (int dir = LDG_PACK; dir <= LDG_UNPACK; dir++) planned += !strcmp(p->one.job[dir].name, "pieces") || !strcmp(p->one.job[dir].name, "runs");
    check_strategies(s, rng_in(&r, 1, 3), &r);
    sample_free(s);
  }
  ck_assert_int_gt(planned, 60);
}
END_TEST

/* ---- which, and for how much ---- */

enum { MOST_ENTRIES = 128 };
static const char *why_few(const ldg_nest *like, int64_t n, int64_t len) {
  int64_t at[MOST_ENTRIES + 1], psum[MOST_ENTRIES + 2] = { 0 };
  ldg_nest nest = *like;
  for (int64_t i = 0; i < n; i++) at[i] = n > LDG_RUNS_FEW + 1 ? len * i : 1000 * i, psum[i + 1] = psum[i] + len; /* many of them touch */
  nest.block = 1, nest.nd = 1, nest.at = at, nest.psum = psum, nest.dim[0] = (ldg_dim){ n, 0, 1 };
  return few()->why_not(&nest);
}
/* As many as there is room for, of words and, under masks, of parts of one; in any order, near. */
START_TEST(which_few) {
  ldg_nest n = { .list = LDG_LIST_SRC };
  const bool masks = has_masks();
  ck_assert(!why_few(&n, LDG_RUNS_FEW, 32) && !why_few(&n, LDG_RUNS_FEW / 2, 64) && !why_few(&n, 1, 32 * LDG_RUNS_FEW));
  ck_assert(why_few(&n, LDG_RUNS_FEW + 1, 1) && why_few(&n, LDG_RUNS_FEW, 65) && why_few(&n, 1, 33 * LDG_RUNS_FEW) && why_few(&n, 3, 0));
  static const struct { int len; bool words, masked; } rows[] = { { 8, true, true }, { 10, true, true }, { 11, true, true }, { 14, false, true }, { 31, false, true }, { 33, true, false } };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) { /* words of 8; 8 and 2; 8 and 4; 8 twice; 16 twice; 32 and 1, or 32 twice */
    ck_assert_msg((why_few(&n, LDG_RUNS_FEW, rows[i].len) == NULL) == (masks ? rows[i].masked : rows[i].words), "%d bytes", rows[i].len);
    ck_assert_ptr_null(why_few(&n, LDG_RUNS_FEW / 2, rows[i].len));
  }
  ck_assert(!why_few(&n, MOST_ENTRIES, 7) && why_few(&n, MOST_ENTRIES + 1, 7));
  n.ordered = true;
  ck_assert_ptr_nonnull(why_few(&n, 2, 1));
  n.ordered = false, n.once = true;
  ck_assert_ptr_nonnull(why_few(&n, 2, 1));
  const ldg_piece_strategy *pieces = &ldg_backend_host.pieces;
  ldg_field f[LDG_RUNS_FEW];
  for (int i = 0; i < LDG_RUNS_FEW; i++) f[i] = (ldg_field){ 100 * i, 50 * i, i < LDG_RUNS_FEW / 2 ? 64 : 1 };
  ck_assert_ptr_null(pieces->why_not(f, LDG_RUNS_FEW)); /* 30 words and 15 parts, or 45 words */
  f[0].len = masks ? 65 : 96;
  ck_assert_ptr_nonnull(pieces->why_not(f, LDG_RUNS_FEW));
  f[0] = (ldg_field){ (int64_t)1 << 30, 0, 1 };
  ck_assert_ptr_nonnull(pieces->why_not(f, 1));
  f[0] = (ldg_field){ 0, -((int64_t)1 << 30), 1 };
  ck_assert_ptr_nonnull(pieces->why_not(f, 1));
  f[0] = (ldg_field){ 0, 0, INT64_MAX };
  ck_assert_ptr_nonnull(pieces->why_not(f, 1));
}
END_TEST

static const char *why(int64_t block, int64_t blocks, int64_t apart, int64_t read, int64_t written) {
  const ldg_nest n = { .block = block, .nd = 2, .dim = { { blocks, read == 16 ? block : apart, written == 16 ? block : apart }, { 100, read, written } } };
  return fields()->why_not(&n);
}

/* Planes are items where they may be, else their rows are, each plane of which is entered. */
static double calls_of(int64_t blocks, int64_t row, int64_t planes, int64_t apart) {
  const ldg_nest n = { .block = 8, .nd = 3, .dim = { { blocks, 24, 8 }, { 2, row, blocks * 8 }, { planes, apart, blocks * 16 } } };
  return (fields()->cost(&n) - (double)(blocks * 2 * planes) * ldg_model_block(LDG_MODEL_WRITE, LDG_MODEL_LINE, 8, 0)) / ldg_model_ns(LDG_MODEL_CALL);
}
/* The same of n rows of that many blocks. */
static double calls_of_rows(int64_t blocks, int64_t n) {
  const ldg_nest rows = { .block = 8, .nd = 2, .dim = { { blocks, 24, 8 }, { n, 300, blocks * 8 } } };
  return (fields()->cost(&rows) - (double)(blocks * n) * ldg_model_block(LDG_MODEL_WRITE, LDG_MODEL_LINE, 8, 0)) / ldg_model_ns(LDG_MODEL_CALL);
}
START_TEST(which_planes) {
  const ldg_nest meeting = { .block = 8, .nd = 3, .dim = { { 2, 24, 8 }, { 2, 4096, 16 }, { 20, 9000, 32 } } };
  use(4);
  ck_assert_double_eq_tol(calls_of(2, 88, 20, 9000), 2, 1e-9);
  ck_assert_double_eq_tol(calls_of(2, 88, 20, 4096), 21, 1e-9); /* their lines would meet */
  ck_assert_double_eq_tol(calls_of(2, 88, 20, (int64_t)1 << 30), 21, 1e-9);
  ck_assert_double_eq_tol(calls_of(4, 200, 20, 9000), 3, 1e-9);
  ck_assert_double_eq_tol(calls_of(4, 200, 3, 9000), 4, 1e-9);  /* no fewer calls by groups */
  ck_assert_double_eq_tol(calls_of_rows(2, 3), 1, 1e-9);        /* which are the kernel's own loop */
  ck_assert_double_eq_tol(calls_of_rows(4, 3), 1, 1e-9);
  ck_assert_double_eq_tol(calls_of_rows(5, 3), 2, 1e-9);
  ck_assert_double_gt(calls_of(4, 200, 2000, 9000), 2000);      /* more than the first cache holds */
  ck_assert_ptr_nonnull(fields()->why_not(&meeting));
  use(0);
  ck_assert_ptr_null(fields()->why_not(&meeting));
  ck_assert_double_eq_tol(calls_of(2, 88, 20, 4096), 2, 1e-9);
  ldg_model_use(NULL);
}
END_TEST

/* Where items are of few sets, processors that have a pace for those are slower so: of two sets, and of four where items are written two lines each. */
START_TEST(which_items) {
  static const struct { int64_t read, written, apart, pace; bool able; } rows[] = {
    { 1000, 16, 100, 4, true },   { 2048, 16, 100, 4, false }, { 4096, 16, 100, 4, false },  { 1024, 16, 100, 4, true },  { -2048, 16, 100, 4, false },
    { 16, 1000, 100, 4, true },   { 16, 2048, 20, 4, false },  { 16, 1024, 20, 4, true },    { 16, 1024, 100, 4, false }, { 16, -1024, 100, 4, false },
    { 1024, 1024, 20, 4, true },  { 1024, 1024, 100, 4, false }, { 2048, 16, 100, 0, true },   { 16, 1024, 100, 0, true },  { 2048, 1000, 20, 4, false }, { 512, 512, 100, 4, true },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    use(rows[i].pace);
    ck_assert_msg(!why(8, 2, rows[i].apart, rows[i].read, rows[i].written) == rows[i].able, "row %d", (int)i);
  }
  ck_assert(!why(16, 6, 100, 1000, 1000) && !why(12, 3, 100, 1000, 1000) && !why(1, 1, 9, 1000, 1000));
  ck_assert(why(16, 7, 100, 1000, 1000) && why(12, 4, 100, 1000, 1000) && why(17, 2, 100, 1000, 1000) && why(24, 2, 100, 1000, 1000));
  const int64_t at[4] = { 0, 100, 200, 300 }, lens[5] = { 0, 64, 128, 192, 256 }, longer[5] = { 0, 65, 128, 192, 256 };
  ldg_nest n = { .block = 1, .nd = 2, .at = at, .psum = lens, .list = LDG_LIST_SRC, .dim = { { 4, 0, 1 }, { 9, 400, 256 } } };
  ck_assert_ptr_null(fields()->why_not(&n)); /* 16 words */
  n.psum = longer;
  ck_assert_ptr_nonnull(fields()->why_not(&n));
  const int64_t far[4] = { 0, 100, 200, 1 + ((int64_t)1 << 30) }, back[4] = { 0, 100, INT64_MIN, 300 };
  n.psum = lens, n.at = far;
  ck_assert_ptr_nonnull(fields()->why_not(&n));
  n.at = back;
  ck_assert_ptr_nonnull(fields()->why_not(&n));
  n.at = at;
  n.psum = lens, n.nd = 1;
  ck_assert_ptr_nonnull(fields()->why_not(&n));
  n.nd = 2, n.ordered = true;
  ck_assert_ptr_nonnull(fields()->why_not(&n));
  n.ordered = false, n.at2 = at;
  ck_assert_ptr_nonnull(fields()->why_not(&n));
  const int64_t near[2] = { 0, 20 }, bytes[3] = { 0, 8, 12 };
  ldg_nest window = { .block = 1, .nd = 2, .at = near, .psum = bytes, .list = LDG_LIST_DST, .dim = { { 2, 1, 0 }, { 9, 12, 4096 } } };
  use(4);
  ck_assert_ptr_nonnull(fields()->why_not(&window));
  window.dim[1].dst = 1024;
  ck_assert_ptr_null(fields()->why_not(&window));
  window = ldg_nest_swapped(window), window.dim[1].src = 4096;
  ck_assert_ptr_null(fields()->why_not(&window));
  window.dim[1].src = (int64_t)1 << 30; /* a kernel knows 32 bits of that */
  ck_assert_ptr_nonnull(fields()->why_not(&window));
  window.nd = 1; /* one item */
  ck_assert_ptr_null(fields()->why_not(&window));
  window.psum = NULL, window.block = 8;
  ck_assert_ptr_nonnull(fields()->why_not(&window));
  ldg_model_use(NULL);
}
END_TEST

/* An item costs what its words do, or its lines if they are far; no loop over its fields. */
START_TEST(cost_of_items) {
  ldg_nest n = { .block = 8, .nd = 2, .dim = { { 2, 100, 8 }, { 100, 1000, 16 } } };
  use(0);
  model.number[LDG_MODEL_ROW] = 1000 * 1000;
  const double each = ldg_model_block(LDG_MODEL_WRITE, LDG_MODEL_LINE, 8, 0), near = fields()->cost(&n);
  ck_assert(near >= 200 * each && near < 205 * each + ldg_model_ns(LDG_MODEL_CALL)); /* it is entered once */
  n.dim[0].n = 1;
  ck_assert_double_lt(fields()->cost(&n), near);
  n.dim[1].n = 1 << 20;
  ck_assert_double_gt(fields()->cost(&n), 1.5 * each * (1 << 20));
  const ldg_field f[4] = { { 0, 0, 8 }, { 100, 8, 33 }, { 200, 41, 31 }, { 300, 72, 64 } }; /* 1, 2, 1 and 2 words; without masks the third has two */
  const ldg_piece_strategy *pieces = &ldg_backend_host.pieces;
  const double word = (has_masks() ? 2 : 1.5) * each;
  ck_assert_double_eq_tol(pieces->cost(f, 1), (has_masks() ? 1 : 2) * ldg_model_ns(LDG_MODEL_CALL) + word, 1e-9);
  for (int k = 1; k < 4; k++) ck_assert_double_eq_tol(pieces->cost(f, k + 1) - pieces->cost(f, k), (k == 2 && has_masks() ? 1 : 2) * word, 1e-9);
  const int64_t at[3] = { 0, 100, 200 }, psum[4] = { 0, 8, 12, 13 }, long_psum[4] = { 0, 400, 800, 900 };
  ldg_nest item = { .block = 1, .nd = 1, .at = at, .psum = psum, .list = LDG_LIST_SRC, .dim = { { 2, 0, 1 } } };
  const double two = fields()->cost(&item);
  item.dim[0].n = 3;
  ck_assert_double_eq_tol(fields()->cost(&item) - two, 1.4 * each, 1e-9);
  ck_assert_double_le(few()->cost(&item), 0.95 * strategy_named("varlist")->cost(&item));
  item.psum = long_psum;
  ck_assert_double_gt(few()->cost(&item), 29 * 1.5 * each); /* not cheaper than its words, where its runs have a loop each */
  ldg_nest planes = { .block = 8, .nd = 3, .dim = { { 2, 100, 8 }, { 2, 1000, 16 }, { 50, 9000, 32 } } };
  ck_assert_double_eq_tol(fields()->cost(&planes), near + ldg_model_ns(LDG_MODEL_CALL), 1e-9); /* a plane of four words is an item, in a loop that is entered, too */
  planes.dim[1].n = 4, planes.dim[2] = (ldg_dim){ 20, 9000, 64 };
  ck_assert_double_eq_tol(fields()->cost(&planes), 160 * each + 3 * ldg_model_ns(LDG_MODEL_CALL), 1e-9); /* one of eight has two groups */
  planes.any = true;
  ck_assert_double_eq_tol(fields()->cost(&planes), 160 * each + 21 * ldg_model_ns(LDG_MODEL_CALL), 1e-9); /* of any number its rows are items, and each plane is entered */
  ldg_model_use(NULL);
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("fields", argc, argv, what_is_moved, few_in_windows, ways_of_items, kernels_are_in_order, structs, few_runs, which_few, which_planes, which_items, cost_of_items);
}
