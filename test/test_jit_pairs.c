/* jit_pairs: what a plan keeps of those that it is moved to, from or reduced with, and which of them have kernels. */
#define _GNU_SOURCE
#include "jit_tools.h"

#include "plan_hot.h"

#include <errno.h>
#include <pthread.h>

/* ---- places ---- */

enum { PARTNERS = 6, ITEMS = 2000 }; /* items of 3 bytes and 2, at places of their own: no two loops are alike */
static lading_type *partner(int i) {
  char text[128];
  snprintf(text, sizeof text, "resized(hindexed([3,2],[0,%d],byte),0,%d)", 4 + i, 8 + 2 * i);
  return parsed(text);
}
static bool copies_well(lading_type *const *t, int i, int seed) {
  char from[ITEMS * 8], to[ITEMS * (8 + 2 * PARTNERS)] = "";
  for (int k = 0; k < ITEMS * 8; k++) from[k] = (char)(k * 7 + seed);
  if (lading_copy(t[0], ITEMS, from, t[i], ITEMS, to, 0, ITEMS * 5)) return false;
  for (int k = 0; k < ITEMS; k++)
    if (memcmp(from + 8 * k, to + (8 + 2 * i) * k, 3) != 0 || memcmp(from + 8 * k + 4, to + (8 + 2 * i) * k + 4 + i, 2) != 0) return false;
  return true;
}
static void copy_often(lading_type *const *t, int i, int often) {
  for (int k = 0; k < often; k++) ck_assert(copies_well(t, i, k));
}
/* Is it among those that the plan of t[0] tells of, by their numbers? */
static bool is_told_of(lading_type *const *t, int i) {
  static char text[1 << 16];
  char line[64];
  ck_assert(settles(20)); /* a place is kept while its shape is looked at */
  ck_assert_int_gt(lading_explain(t[i], 1, text, sizeof text), 0);
  snprintf(line, sizeof line, "copies to plan %ld: ", strtol(strstr(text, "\nplan ") + 6, NULL, 10));
  return count_text(t[0], line) == 1;
}

static int kernels_of(const lading_type *t) {
  static char text[1 << 16];
  int n = 0;
  ck_assert_int_gt(lading_explain(t, 1, text, sizeof text), 0);
  for (const char *at = text; (at = strstr(at, "copies to plan ")); at++) n += strstr(at, ": tier 2 from") == strchr(at, ':');
  return n;
}

/* Who moved most stays, who moves more than the least of them has its place, and who has none is told of. */
START_TEST(partners_have_places) {
  char *cache = own_cache(NO_HELPER);
  lading_type *t[PARTNERS];
  for (int i = 0; i < PARTNERS; i++) t[i] = partner(i);
  for (int i = 1; i < 5; i++) copy_often(t, i, 10 * i), ck_assert(is_told_of(t, i));
  ck_assert_int_eq(count_text(t[0], "others: "), 0);
  copy_often(t, 5, 10);
  ck_assert(!is_told_of(t, 5));
  ck_assert_int_eq(count_text(t[0], "others: "), 1);
  copy_often(t, 5, 1);
  ck_assert(is_told_of(t, 5) && !is_told_of(t, 1));
  for (int i = 2; i < 5; i++) ck_assert(is_told_of(t, i));
  ck_assert(settles(20));
  for (int i = 0; i < PARTNERS; i++) lading_type_free(t[i]);
  drop_cache(cache);
}
END_TEST

/* Those with a kernel stay. */
START_TEST(partners_with_kernels_stay) {
  char *cache = own_cache(helper_path());
  lading_type *t[PARTNERS];
  for (int i = 0; i < PARTNERS; i++) t[i] = partner(i);
  for (int k = 0; k < 3; k++, settles(60))
    for (int i = 1; i < 5; i++) copy_often(t, i, 2);
  ck_assert_int_eq(kernels_of(t[0]), 4);
  copy_often(t, 5, 100);
  ck_assert(!is_told_of(t, 5));
  for (int i = 1; i < 5; i++) ck_assert(is_told_of(t, i)), copy_often(t, i, 2);
  for (int i = 0; i < PARTNERS; i++) lading_type_free(t[i]);
  drop_cache(cache);
}
END_TEST

typedef struct dance { lading_type *const *t; int first; _Atomic bool *stop; } dance;
static void *dance_on(void *arg) {
  const dance *d = arg;
  for (int k = 0; !*d->stop; k++)
    if (!copies_well(d->t, 1 + (k / 3 + d->first) % (PARTNERS - 1), k)) return arg;
  return NULL;
}

/* Places change hands while kernels come, and each moves what is asked for. */
START_TEST(partners_change_while_kernels_come) {
  char *cache = own_cache(helper_path());
  lading_type *t[PARTNERS];
  pthread_t thread[3];
  dance d[3];
  _Atomic bool stop = false;
  void *wrong;
  for (int i = 0; i < PARTNERS; i++) t[i] = partner(i);
  for (int i = 0; i < 3; i++) {
    d[i] = (dance){ t, i, &stop };
    ck_assert_int_eq(pthread_create(&thread[i], NULL, dance_on, &d[i]), 0);
  }
  for (int i = 0; i < 6000 && kernels_of(t[0]) < 4; i++) pause_ms(10);
  stop = true;
  for (int i = 0; i < 3; i++) {
    pthread_join(thread[i], &wrong);
    ck_assert_ptr_null(wrong);
  }
  ck_assert_int_eq(kernels_of(t[0]), 4);
  ck_assert(settles(60));
  for (int i = 0; i < PARTNERS; i++) lading_type_free(t[i]);
  drop_cache(cache);
}
END_TEST

/* What was left to be looked at, and never was, or just now is: shapes of a type, and of a pair, either of which may go first. */
static void *types_come_and_go(void *arg) {
  enum { TYPES = 200, EACH = 60 };
  static const char from[EACH * 64];
  char to[EACH * 64];
  for (int i = 0; i < TYPES; i++) {
    lading_type *t[2];
    char text[128];
    for (int k = 0; k < 2; k++) {
      snprintf(text, sizeof text, "resized(hindexed([%d,8],[0,%d],byte),0,%d)", 1 + i % 7, 16 + i / 7 % 5, 48 + 8 * k);
      if (lading_type_parse(text, &t[k])) return arg;
    }
    const int64_t bytes = EACH * (9 + i % 7);
    if (lading_pack(t[0], EACH, from, to, 0, bytes) || lading_unpack(t[1], EACH, to, from, 0, bytes)) return arg;
    if (lading_copy_op(t[0], EACH, from, t[1], EACH, to, 0, bytes, LADING_BXOR)) return arg;
    lading_type_free(t[i % 2]), lading_type_free(t[1 - i % 2]);
  }
  return NULL;
}

START_TEST(types_freed_while_looked_at) {
  char *cache = own_cache(NO_HELPER);
  pthread_t thread[2];
  void *wrong;
  const int64_t live = ldg_alloc_live();
  for (int i = 0; i < 2; i++) ck_assert_int_eq(pthread_create(&thread[i], NULL, types_come_and_go, cache), 0);
  for (int i = 0; i < 2; i++) {
    pthread_join(thread[i], &wrong);
    ck_assert_ptr_null(wrong);
  }
  ck_assert(settles(60));
  ck_assert_int_eq(ldg_alloc_live(), live);
  drop_cache(cache);
}
END_TEST

/* ---- what a pair is about ---- */

/* What a copy through packed bytes makes of it, which asks no pair. */
static void check_pair(const lading_type *s, int64_t sn, const lading_type *d, int64_t dn, int64_t bytes) {
  enum { SPAN = 200000 };
  static char from[SPAN], to[SPAN], want[SPAN], packed[SPAN];
  for (int i = 0; i < SPAN; i++) from[i] = (char)(i * 7 + i / 251), to[i] = want[i] = 0;
  ck_assert_int_eq(lading_pack(s, sn, from, packed, 0, bytes), LADING_OK);
  ck_assert_int_eq(lading_unpack(d, dn, want, packed, 0, bytes), LADING_OK);
  ck_assert_int_eq(lading_copy(s, sn, from, d, dn, to, 0, bytes), LADING_OK);
  ck_assert_mem_eq(to, want, SPAN);
}

/* Rows of 61 bodies against loops that end elsewhere: no kernel goes beyond the end of a row. */
START_TEST(rows_that_do_not_end_together) {
  if (TEST_TSAN) return; /* the threads of the library do what they do in other tests */
  char *cache = own_cache(helper_path());
  lading_type *row = parsed("resized(hvector(61,1,100,resized(hindexed([16,16,16],[0,21,47],byte),0,90)),0,7000)");
  lading_type *three = parsed("resized(hvector(3,1,60,hindexed([8,16,8],[0,10,30],byte)),0,250)"), *one = parsed("resized(hindexed([8,16,8],[0,10,30],byte),0,47)");
  for (int k = 0; k < 4; k++, settles(60)) {
    check_pair(row, 12, one, 600, 19200), check_pair(one, 600, row, 12, 19200);
    check_pair(row, 12, three, 200, 19200), check_pair(three, 200, row, 12, 19200);
  }
  ck_assert_int_gt(count_text(row, "the loops of both sides do not end together"), 0);
  lading_type_free(row), lading_type_free(three), lading_type_free(one);
  drop_cache(cache);
}
END_TEST

/* Blocks of bytes alone that halve the numbers of the other side, and items that take too long to end together, have none. */
START_TEST(pairs_without_kernels) {
  if (TEST_TSAN) return; /* the threads of the library do what they do in other tests */
  enum { N = 500 };
  static float numbers[15 * N], whole[8 * N], want[8 * N];
  static char halved[46 * N];
  char *cache = own_cache(helper_path());
  lading_type *t = parsed("resized(hindexed([3,5],[0,20],float),0,60)"), *bytes = parsed("(join (0 (bytes 6)) (10 (bytes 10)) (30 (bytes 16)))");
  for (int k = 0; k < 4; k++, settles(60)) {
    for (int i = 0; i < 15 * N; i++) numbers[i] = (float)(i % 91);
    for (int i = 0; i < 8 * N; i++) whole[i] = (float)(i % 17), want[i] = whole[i] + numbers[i / 8 * 15 + (i % 8 < 3 ? i % 8 : i % 8 + 2)];
    ck_assert_int_eq(lading_unpack(bytes, N, halved, whole, 0, sizeof whole), LADING_OK);
    ck_assert_int_eq(lading_copy_op(t, N, numbers, bytes, N, halved, 0, sizeof whole, LADING_SUM), LADING_OK);
    ck_assert_int_eq(lading_pack(bytes, N, halved, whole, 0, sizeof whole), LADING_OK);
    ck_assert_mem_eq(whole, want, sizeof want);
  }
  ck_assert_int_eq(count_text(t, "it splits elements"), 1);
  lading_type *longer = parsed("resized(hindexed([60,40],[0,70],byte),0,120)"), *shorter = parsed("resized(hindexed([50,49],[0,60],byte),0,113)"); /* 9900 bytes */
  for (int k = 0; k < 4; k++, settles(60)) check_pair(longer, 990, shorter, 1000, 99000);
  ck_assert_int_eq(count_text(longer, "what both sides have in common is too large"), 1);
  ck_assert_int_eq(kernels_of(longer), 0);
  lading_type_free(t), lading_type_free(bytes), lading_type_free(longer), lading_type_free(shorter);
  drop_cache(cache);
}
END_TEST

/* Bytes added by hand: items of 8, 16 and 8 of them. */
static void sum_into(const lading_type *t, int64_t items, int64_t extent) {
  static unsigned char mem[1 << 16], want[1 << 16], packed[1 << 16];
  const int64_t second = extent == 20 ? 12 : 11, third = extent == 20 ? 36 : 33;
  for (int i = 0; i < 1 << 16; i++) packed[i] = (unsigned char)(i * 7 + i / 251), mem[i] = want[i] = (unsigned char)i;
  for (int64_t i = 0; i < 32 * items; i++) {
    const int64_t b = i % 32, at = b < 8 ? b : b < 24 ? second + b - 8 : third + b - 24;
    want[i / 32 * extent + at] = (unsigned char)(want[i / 32 * extent + at] + packed[i]);
  }
  ck_assert_int_eq(lading_unpack_op(t, items, mem, packed, 0, 32 * items, LADING_SUM), LADING_OK);
  ck_assert_mem_eq(mem, want, sizeof mem);
}

/* Items that meet in the destination are written in the order of the stream, by no kernel. */
START_TEST(items_that_coincide) {
  if (TEST_TSAN) return; /* the threads of the library do what they do in other tests */
  char *cache = own_cache(helper_path());
  lading_type *s = parsed("resized(hindexed([8,16,8],[0,11,33],uint8),0,50)"), *d = parsed("resized(hindexed([8,16,8],[0,12,36],uint8),0,20)");
  for (int k = 0; k < 4; k++, settles(60)) check_pair(s, 500, d, 500, 16000);
  ck_assert_int_eq(kernels_of(s), 0);
  for (int k = 0; k < 4; k++, settles(60)) check_pair(d, 500, s, 500, 16000); /* where they are read from, they may */
  ck_assert_int_eq(kernels_of(d), 1);
  for (int k = 0; k < 4; k++, settles(60)) sum_into(d, 500, 20);
  ck_assert_int_eq(count_text(d, "sums of"), 0);
  sum_into(s, 500, 50), settles(60), sum_into(s, 500, 50); /* which has none that coincide */
  ck_assert_int_eq(count_text(s, "sums of"), 1);
  lading_type_free(s), lading_type_free(d);
  drop_cache(cache);
}
END_TEST

/* Sums and products of one plan have kernels of their own. */
START_TEST(ops_take_turns) {
  enum { N = 1000 };
  static double mem[5 * N], want[5 * N], x[3 * N];
  char *cache = own_cache(helper_path());
  lading_type *t = parsed("resized(hindexed([1,2],[0,16],double),0,40)");
  for (int k = 0; k < 8; k++, settles(60)) {
    const bool product = k % 2;
    for (int i = 0; i < 3 * N; i++) x[i] = i % 7 + 2;
    for (int i = 0; i < 5 * N; i++) mem[i] = want[i] = i % 5 + 1;
    for (int i = 0; i < 3 * N; i++) {
      double *y = &want[5 * (i / 3) + (i % 3 ? i % 3 + 1 : 0)];
      *y = product ? *y * x[i] : *y + x[i];
    }
    ck_assert_int_eq(lading_unpack_op(t, N, mem, x, 0, sizeof x, product ? LADING_PROD : LADING_SUM), LADING_OK);
    ck_assert_mem_eq(mem, want, sizeof mem);
  }
  ck_assert_int_eq(count_text(t, "sums of packed bytes: tier 2"), 1);
  ck_assert_int_eq(count_text(t, "products of packed bytes: tier 2"), 1);
  lading_type_free(t);
  drop_cache(cache);
}
END_TEST

/* Kernels that move nothing tell where they are used: for up to so many periods of 32 bytes, in all rows. */
enum { ROW = 61, MOST = 2 * ROW + 7 };
static void move_nothing_of_few(const char *path) { forge(path, 1, MOST, false, &at_once); }

START_TEST(kernels_are_for_as_many_as_they_gain) {
  if (TEST_TSAN) return; /* the threads of the library do what they do in other tests */
  static const char from[4 * 7000] = { 7 };
  static char out[1 << 16], to[4 * ROW * 50], what[512];
  char *cache = own_cache(NO_HELPER);
  const char *rows = "resized(hvector(61,1,100,hindexed([16,16],[0,21],byte)),0,7000)", *one = "resized(hindexed([8,16,8],[0,10,30],byte),0,50)";
  lading_type *s = parsed(rows), *d = parsed(one);
  snprintf(what, sizeof what, "warm '%s | %s'", rows, one);
  tool_works(what, out, sizeof out);
  for_each_kernel(cache, move_nothing_of_few);
  unsetenv("LADING_FORCE");
  for (int k = 0; k < 200; k++) ck_assert_int_eq(lading_copy(s, 4, from, d, 4 * ROW, to, 0, 4 * ROW * 32), LADING_OK);
  ck_assert(settles(20));
  ck_assert_int_eq(lading_copy(s, 4, from, d, 4 * ROW, to, 0, 4 * ROW * 32), LADING_OK); /* which finds it */
  ck_assert_int_eq(count_text(s, "tier 2 from 1 iterations on, up to 129"), 1);
  for (int64_t n = MOST - 2; n <= MOST + 2; n++) {
    memset(to, 0, sizeof to);
    ck_assert_int_eq(lading_copy(s, 4, from, d, 4 * ROW, to, 0, 32 * n), LADING_OK);
    ck_assert_int_eq(to[0], n <= MOST ? 0 : 7);
  }
  lading_type_free(s), lading_type_free(d);
  drop_cache(cache);
}
END_TEST

/* ---- looks ---- */

/* One that is counted as those of pairs are, and stands still before or after it is done, while that is wanted. */
enum { GO, STAND_BEFORE, STAND_AFTER };
static struct { ldg_hot hot; _Atomic int stand, busy, looks; _Atomic bool stands; } seen;
static void stand(int when) {
  for (; seen.stand == when; pause_ms(1)) seen.stands = true;
}
static const char *no_shape(void *arg, ldg_shape *s, double *gain) { return (void)arg, (void)s, (void)gain, "it is none"; }
static void look(const ldg_look *l, bool dropped) {
  (void)l;
  stand(STAND_BEFORE);
  if (!dropped) ldg_hot_attach(&seen.hot, no_shape, NULL);
  seen.looks++;
  seen.busy--;
  stand(STAND_AFTER);
}
static void count_once(void) {
  if (!ldg_hot_count(&seen.hot, 1 << 20)) return;
  seen.busy++;
  if (!ldg_hot_due(&seen.hot, &(const ldg_look){ look, { &seen, NULL }, { 0 } })) seen.busy--;
}
static void look_that_stands(int when) {
  ldg_hot_init(&seen.hot);
  seen.stand = when;
  seen.stands = false;
  seen.looks = 0;
  count_once();
  for (int i = 0; i < 5000 && !seen.stands; i++) pause_ms(1);
  ck_assert(seen.stands);
}

static void *forget(void *what) { return ldg_jit_forget(what), what; }

/* Who frees something else does not wait for it, who frees what it is about does. */
START_TEST(looks_hold_up_what_they_are_about) {
  char *cache = own_cache(NO_HELPER);
  pthread_t thread;
  int other;
  look_that_stands(STAND_AFTER);
  ldg_jit_forget(&other);
  ck_assert_int_eq(pthread_create(&thread, NULL, forget, &seen), 0);
  pause_ms(50);
  ck_assert_int_eq(pthread_tryjoin_np(thread, NULL), EBUSY);
  seen.stand = GO;
  pthread_join(thread, NULL);
  ck_assert(settles(20));
  drop_cache(cache);
}
END_TEST

/* In a fork's child, that counts on. */
static void check_child(int looks) {
  int status = 1;
  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0) {
    seen.stand = GO;
    seen.looks = 0;
    for (int i = 0; i < 3; i++) count_once();
    ldg_jit_remind();
    const bool settled = settles(20);
    _exit(!settled ? 1 : seen.busy ? 2 : seen.looks != looks ? 3 : 0);
  }
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child has status %x", status);
  seen.stand = GO;
  ck_assert(settles(20));
}

/* Once, whenever it is forked: before a look is over, behind it, and when it was meant to be left, by a thread that is not there. */
START_TEST(forks_look_once) {
  if (TEST_TSAN) return; /* which ends a child that starts a thread */
  char *cache = own_cache(NO_HELPER);
  look_that_stands(STAND_BEFORE), check_child(1);
  ck_assert(seen.looks == 1 && seen.busy == 0);
  look_that_stands(STAND_AFTER), check_child(0);
  ck_assert(seen.looks == 1 && seen.busy == 0);
  ldg_hot_init(&seen.hot);
  seen.hot.left = 1;
  seen.busy = 1;
  check_child(1);
  drop_cache(cache);
}
END_TEST

int main(int argc, char **argv) {
  if (!helper_path()) return puts("lading-jit was not built"), 77;
  return CHECK_MAIN("jit_pairs", argc, argv, partners_have_places, partners_with_kernels_stay, partners_change_while_kernels_come, types_freed_while_looked_at,
                    rows_that_do_not_end_together, pairs_without_kernels, items_that_coincide, ops_take_turns, kernels_are_for_as_many_as_they_gain, looks_hold_up_what_they_are_about, forks_look_once);
}
