/* yaksa_oom: every allocation behind yaksa.h fails once: the call says OUT_OF_MEM, and nothing leaks (checked builds count). The
 * sources of libyaksa are linked as they are here, since the library hides its allocator. */
#include "common.h"
#include "api.h"
#include <yaksa.h>

enum { MEMBERS = 100 };
typedef struct scene { yaksa_type_t list, item, got; char *bytes; } scene;

static int make(scene *s) {
  intptr_t bl[MEMBERS], at[MEMBERS];
  yaksa_type_t olds[MEMBERS];
  for (int i = 0; i < MEMBERS; i++) bl[i] = 1, at[i] = 24 * i * i, olds[i] = i % 3 ? YAKSA_TYPE__DOUBLE_INT : YAKSA_TYPE__LONG;
  const int rc = yaksa_type_create_struct(MEMBERS, bl, at, olds, NULL, &s->list);
  return rc ? rc : yaksa_type_create_resized(s->list, 0, 24 * MEMBERS * MEMBERS + 8, NULL, &s->item);
}

/* Ops on pairs inside of a struct take the signature apart. */
static int move(const scene *s) {
  static char mem[2 * 24 * MEMBERS * MEMBERS + 16], packed[2 * 16 * MEMBERS];
  struct iovec v[3];
  uintptr_t n = 0;
  int rc = yaksa_pack(mem, 2, s->item, 0, packed, sizeof packed, &n, NULL, YAKSA_OP__REPLACE);
  if (!rc) rc = yaksa_unpack(packed, sizeof packed, mem, 2, s->item, 0, &n, NULL, YAKSA_OP__SUM);
  if (rc) ck_assert_uint_eq(n, 0);
  if (!rc) rc = yaksa_iov(mem, 2, s->item, 150, v, 3, &n);
  if (!rc) rc = yaksa_iov_len_max(2, s->item, 1000, &n, &n);
  return rc;
}

static int ship(scene *s) {
  uintptr_t n = 0;
  int rc = yaksa_flatten_size(s->item, &n);
  if (!rc) rc = (s->bytes = malloc(n)) ? yaksa_flatten(s->item, s->bytes) : YAKSA_ERR__INTERNAL;
  return rc ? rc : yaksa_unflatten(&s->got, s->bytes);
}

static int play(void) {
  scene s = { 0, 0, 0, NULL };
  int rc = make(&s);
  if (!rc) rc = move(&s);
  if (!rc) rc = ship(&s);
  ck_assert((rc == YAKSA_SUCCESS) == (s.got != 0));
  yaksa_type_free(s.list), yaksa_type_free(s.item), yaksa_type_free(s.got);
  free(s.bytes);
  return rc;
}

START_TEST(every_allocation) {
  ck_assert_int_eq(play(), YAKSA_SUCCESS);
  const int64_t live = ldg_alloc_live();
  int64_t n = 0;
  for (int rc = YAKSA_ERR__OUT_OF_MEM; rc; n++) {
    ldg_alloc_fail(n);
    rc = play();
    ldg_alloc_fail(-1);
    ck_assert_msg(rc == YAKSA_SUCCESS || rc == YAKSA_ERR__OUT_OF_MEM, "allocation %d: %d", (int)n, rc);
    ck_assert_msg(ldg_alloc_live() == live, "allocation %d leaks", (int)n);
  }
  ck_assert_int_gt(n, 10);
}
END_TEST

/* Once a type was used. An accumulate makes millions of them. */
START_TEST(small_calls_take_no_memory) {
  double mem[16] = { 1 }, packed[8] = { 2 };
  uintptr_t n = 0;
  yaksa_type_t t;
  ck_assert_int_eq(yaksa_type_create_vector(8, 1, 2, YAKSA_TYPE__DOUBLE, NULL, &t), YAKSA_SUCCESS);
  ck_assert_int_eq(yaksa_pack(mem, 1, t, 0, packed, sizeof packed, &n, NULL, YAKSA_OP__SUM), YAKSA_SUCCESS);
  ldg_alloc_fail(0);
  ck_assert_int_eq(yaksa_unpack(packed, sizeof packed, mem, 1, t, 0, &n, NULL, YAKSA_OP__SUM), YAKSA_SUCCESS);
  ck_assert_int_eq(yaksa_pack(mem, 1, t, 8, packed, 20, &n, NULL, YAKSA_OP__REPLACE), YAKSA_SUCCESS);
  ck_assert_int_eq(yaksa_unpack(packed, sizeof packed, mem, 8, YAKSA_TYPE__DOUBLE, 0, &n, NULL, YAKSA_OP__MAX), YAKSA_SUCCESS);
  ck_assert_int_eq(yaksa_unpack(packed, sizeof *packed, mem, 1, YAKSA_TYPE__INT64_T, 0, &n, NULL, YAKSA_OP__BXOR), YAKSA_SUCCESS);
  ldg_alloc_fail(-1);
  ck_assert_int_eq(yaksa_type_free(t), YAKSA_SUCCESS);
}
END_TEST

int main(int argc, char **argv) { return CHECK_MAIN("yaksa_oom", argc, argv, every_allocation, small_calls_take_no_memory); }
