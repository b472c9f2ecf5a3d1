/* types: size, bounds, elements and block facts of every constructor against the naive typemap. */
#include "random_types.h"

START_TEST(basic_elements) {
  for (int k = 0; k < LADING_ELEM_MAX; k++) {
    sample *s = s_elem(k);
    check_info(s);
    ck_assert_int_eq(info_of(s->type).extent % elem_align(k), 0);
    sample_free(s);
  }
}
END_TEST

START_TEST(every_constructor_over_every_element) {
  rng r = rng_of(1);
  for (int k = 0; k < LADING_ELEM_MAX; k++)
    for (int i = 0; i < 12; i++) {
      sample *parts[] = {
        s_contiguous(i % 4, s_elem(k)), s_vector(i % 4, i % 3, rng_in(&r, -3, 5), s_elem(k)), s_hvector(i % 5, 2, rng_in(&r, -64, 64), s_elem(k)),
        s_indexed(3, LIST(1, i % 3, 2), LIST(5, -1, i), s_elem(k)), s_hindexed(3, LIST(1, i % 3, 2), LIST(5, -1, i * 8), s_elem(k)),
        s_indexed_block(3, i % 3, LIST(5, -1, i), s_elem(k)), s_hindexed_block(3, i % 3, LIST(5, -1, i), s_elem(k)),
        S_STRUCT(2, LIST(i % 3, 1), LIST(i, 40), s_elem(k), s_elem(i)), s_resized(s_elem(k), -i, 3 * i),
        s_subarray(2, LIST(4, 3), LIST(i % 4 + 1, 2), LIST(0, i % 2), (lading_order)(i % 2), s_elem(k)),
      };
      for (int64_t c = 0; c < COUNT_OF(parts); c++) {
        check_info(parts[c]);
        sample_free(parts[c]);
      }
    }
}
END_TEST

START_TEST(random_trees) {
  rng r = rng_of(2);
  for (int i = 0; i < 12000; i++) {
    sample *s = random_type(&r, i % 6, 700);
    check_info(s);
    sample_free(s);
  }
}
END_TEST

/* The same facts when the type was committed before, and asked twice. */
START_TEST(facts_do_not_change) {
  rng r = rng_of(3);
  for (int i = 0; i < 1500; i++) {
    sample *s = random_type(&r, 4, 300);
    lading_info before = info_of(s->type);
    ck_assert_int_eq(lading_type_commit(s->type), LADING_OK);
    lading_info after = info_of(s->type);
    ck_assert_int_eq(before.blocks, after.blocks);
    ck_assert_int_eq(before.depth, after.depth);
    ck_assert_int_eq(before.lb, after.lb);
    check_info(s);
    sample_free(s);
  }
}
END_TEST

/* MPI-4.1 example 5.1 and the text of section 5.1: the epsilon belongs to struct, and pads to the strictest member. */
START_TEST(struct_epsilon) {
  sample *s = S_STRUCT(2, LIST(1, 1), LIST(0, 8), s_elem(LADING_DOUBLE), s_elem(LADING_CHAR));
  ck_assert_int_eq(info_of(s->type).extent, 16);
  s = s_contiguous(2, s);
  ck_assert_int_eq(info_of(s->type).extent, 32);
  check_info(s);
  sample_free(s);
  s = S_STRUCT(1, LIST(1), LIST(3), s_elem(LADING_DOUBLE)); /* the extent is rounded, not ub */
  ck_assert_int_eq(info_of(s->type).lb, 3);
  ck_assert_int_eq(info_of(s->type).extent, 8);
  sample_free(s);
  s = S_STRUCT(2, LIST(0, 1), LIST(0, 0), s_elem(LADING_DOUBLE), s_elem(LADING_CHAR)); /* entries of length 0 align nothing */
  ck_assert_int_eq(info_of(s->type).extent, 1);
  sample_free(s);
  s = s_hvector(2, 1, 6, s_elem(LADING_INT32));
  ck_assert_int_eq(info_of(s->type).extent, 10);
  sample_free(s);
}
END_TEST

START_TEST(zero_counts) {
  const int64_t none[1] = { 0 };
  sample *empty[] = {
    s_contiguous(0, s_elem(LADING_INT32)), s_vector(0, 3, 2, s_elem(LADING_INT32)), s_vector(3, 0, 2, s_elem(LADING_INT32)),
    s_indexed(0, none, none, s_elem(LADING_INT32)), s_hindexed_block(0, 5, none, s_elem(LADING_INT32)), s_struct(0, none, none, NULL),
    s_indexed_block(2, 0, LIST(7, 9), s_elem(LADING_INT32)), S_STRUCT(1, LIST(0), LIST(8), s_elem(LADING_DOUBLE)),
  };
  for (int64_t i = 0; i < COUNT_OF(empty); i++) {
    check_all(empty[i], 3);
    ck_assert_int_eq(info_of(empty[i]->type).extent, 0);
    ck_assert_int_eq(info_of(empty[i]->type).depth, 0);
    sample_free(empty[i]);
  }
}
END_TEST

START_TEST(depth_of_plain_shapes) {
  struct { sample *s; int depth; } rows[] = {
    { s_elem(LADING_INT32), 1 },
    { s_vector(8, 3, 3, s_elem(LADING_INT32)), 1 },
    { s_vector(8, 1, 2, s_elem(LADING_INT32)), 2 },
    { s_vector(3, 1, 4, s_vector(4, 1, 2, s_elem(LADING_INT32))), 3 },
    { s_hvector(3, 1, 32, s_vector(4, 1, 2, s_elem(LADING_INT32))), 2 },
  };
  for (int64_t i = 0; i < COUNT_OF(rows); i++) {
    ck_assert_msg(info_of(rows[i].s->type).depth == rows[i].depth, "%s: depth %d", rows[i].s->spell, info_of(rows[i].s->type).depth);
    sample_free(rows[i].s);
  }
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("types", argc, argv, basic_elements, every_constructor_over_every_element, random_trees, facts_do_not_change, struct_epsilon,
                    zero_counts, depth_of_plain_shapes);
}
