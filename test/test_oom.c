/* oom: every allocation of every public function fails once; each time the call says ERR_NOMEM, writes nothing, leaks
 * nothing (checked builds count), and the next call works. */
#include "random_types.h"
#include "memo.h"
#include <inttypes.h>

/* One call under test on a type that nobody has used yet. `act` returns the library's code; *wrote: it touched an output. */
typedef struct call { const char *name; int (*act)(const lading_type *t, bool *wrote); } call;

static int act_info(const lading_type *t, bool *wrote) {
  lading_info i, was;
  memset(&i, 0xEE, sizeof i);
  was = i;
  int rc = lading_type_info(t, &i);
  *wrote = memcmp(&i, &was, sizeof i) != 0;
  return rc;
}

static int act_id(const lading_type *t, bool *wrote) {
  lading_id id = { { 7, 7 } };
  int rc = lading_type_id(t, 3, &id);
  *wrote = id.w[0] != 7 || id.w[1] != 7;
  return rc;
}

static int act_signature(const lading_type *t, bool *wrote) {
  lading_id id = { { 7, 7 } };
  int rc = lading_type_signature(t, 3, &id);
  *wrote = id.w[0] != 7 || id.w[1] != 7;
  return rc;
}

static int act_commit(const lading_type *t, bool *wrote) {
  *wrote = false;
  return lading_type_commit(t);
}

static int act_text(const lading_type *t, bool *wrote) {
  char text[200];
  int64_t rc = lading_type_text(t, text, sizeof text);
  *wrote = false;
  return rc < 0 ? (int)rc : LADING_OK;
}

static int act_explain(const lading_type *t, bool *wrote) {
  char text[200];
  int64_t rc = lading_explain(t, 2, text, sizeof text);
  *wrote = false;
  return rc < 0 ? (int)rc : LADING_OK;
}

static int act_segments(const lading_type *t, bool *wrote) {
  int64_t n = -7;
  int rc = lading_segments_count(t, 2, &n);
  *wrote = n != -7;
  return rc;
}

static int act_iov(const lading_type *t, bool *wrote) {
  struct iovec v[2] = { { NULL, 99 }, { NULL, 99 } };
  int64_t got = -7;
  int rc = lading_iov(t, 2, NULL, 1, v, 2, &got);
  *wrote = got != -7 || v[0].iov_len != 99;
  return rc;
}

static int act_segment_at(const lading_type *t, bool *wrote) {
  int64_t k = -7, rest = -7;
  int rc = lading_segment_at(t, 2, 5, &k, &rest);
  *wrote = k != -7 || rest != -7;
  return rc;
}

enum { SPAN = 4096, PACKED = 512 };

static int act_pack(const lading_type *t, bool *wrote) {
  static char mem[SPAN], packed[PACKED], blank[PACKED];
  memset(mem, 1, SPAN);
  memset(packed, 0, PACKED);
  int rc = lading_pack(t, 2, mem + SPAN / 2, packed, 1, 40);
  *wrote = memcmp(packed, blank, PACKED) != 0;
  return rc;
}

static int act_unpack(const lading_type *t, bool *wrote) {
  static char mem[SPAN], packed[PACKED], blank[SPAN];
  memset(mem, 0, SPAN);
  memset(packed, 1, PACKED);
  int rc = lading_unpack(t, 2, mem + SPAN / 2, packed, 1, 40);
  *wrote = memcmp(mem, blank, SPAN) != 0;
  return rc;
}

static int act_copy(const lading_type *t, bool *wrote) {
  static char mem[SPAN], to[SPAN], blank[SPAN];
  lading_type *other;
  memset(mem, 1, SPAN);
  memset(to, 0, SPAN);
  *wrote = false;
  int rc = lading_type_hvector(13, 1, 7, lading_elem_type(LADING_INT32), &other);
  if (rc) return rc;
  rc = lading_copy(t, 2, mem + SPAN / 2, other, 1, to, 1, 40);
  *wrote = memcmp(to, blank, SPAN) != 0;
  lading_type_free(other);
  return rc;
}

static const call calls[] = {
  { "info", act_info }, { "id", act_id }, { "signature", act_signature }, { "commit", act_commit }, { "text", act_text }, { "explain", act_explain },
  { "segments_count", act_segments }, { "iov", act_iov }, { "segment_at", act_segment_at }, { "pack", act_pack }, { "unpack", act_unpack }, { "copy", act_copy },
};

/* Fresh types of every constructor, big enough for the ranges above and inside SPAN. */
static sample *fresh(int which) {
  static const lading_distrib cyclic[] = { LADING_DISTRIB_CYCLIC, LADING_DISTRIB_BLOCK };
  sample *e = s_elem(LADING_INT32);
  switch (which) {
  case 0: return s_contiguous(20, e);
  case 1: return s_vector(9, 2, 3, e);
  case 2: return s_hvector(3, 1, 100, s_vector(5, 1, 3, e));
  case 3: return s_indexed(4, LIST(2, 5, 1, 4), LIST(0, 9, 3, 30), e);
  case 4: return s_hindexed(4, LIST(2, 5, 1, 4), LIST(0, 90, 3, 300), e);
  case 5: return s_indexed_block(6, 2, LIST(0, 9, 3, 30, 17, 5), e);
  case 6: return s_hindexed_block(6, 2, LIST(0, 90, 31, 300, 170, 50), e);
  case 7: return S_STRUCT(3, LIST(2, 1, 4), LIST(0, 40, 200), s_elem(LADING_DOUBLE), s_vector(4, 1, 2, s_elem(LADING_SHORT_INT)), e);
  case 8: return s_subarray(3, LIST(4, 5, 6), LIST(2, 3, 4), LIST(1, 1, 1), LADING_ORDER_FORTRAN, e);
  case 9: return s_darray(4, 1, 2, LIST(9, 8), cyclic, LIST(2, LADING_DARG_DEFAULT), LIST(2, 2), LADING_ORDER_C, e);
  case 10: return s_resized(s_vector(9, 2, 3, e), -4, 300);
  default: return s_hindexed(6, LIST(1, 2, 3, 1, 2, 3), LIST(0, 10, 50, 200, 210, 250), s_vector(3, 1, 2, e));
  }
}
enum { SHAPES = 12 };

static void check_call(const call *c, int which, int64_t live) {
  for (int64_t n = 0;; n++) {
    bool wrote = false;
    sample *s = fresh(which);
    ldg_alloc_fail(n);
    int rc = c->act(s->type, &wrote);
    ldg_alloc_fail(-1);
    ck_assert_msg(rc == LADING_OK || rc == LADING_ERR_NOMEM, "%s of %s, allocation %" PRId64 ": %d (%s)", c->name, s->spell, n, rc, lading_strerror(rc));
    ck_assert_msg(rc == LADING_OK || !wrote, "%s of %s, allocation %" PRId64 ": wrote to its output", c->name, s->spell, n);
    int again = c->act(s->type, &wrote);
    ck_assert_msg(again == LADING_OK, "%s of %s, after allocation %" PRId64 " failed: %d", c->name, s->spell, n, again);
    char spell[200];
    snprintf(spell, sizeof spell, "%s", s->spell);
    sample_free(s);
    if (live >= 0) ck_assert_msg(ldg_alloc_live() == live, "%s of %s, allocation %" PRId64 ": %" PRId64 " leaked", c->name, spell, n, ldg_alloc_live() - live);
    if (rc == LADING_OK) return;
    ck_assert_int_lt(n, 1000);
  }
}

/* Tables that grow are no leaks: the first round lets them. */
START_TEST(every_call_on_a_fresh_type) {
  int64_t entries = ldg_memo_entries();
  for (int64_t k = 0; k < COUNT_OF(calls); k++)
    for (int which = 0; which < SHAPES; which++) {
      check_call(&calls[k], which, -1);
      check_call(&calls[k], which, ldg_alloc_live());
    }
  ck_assert_int_eq(ldg_memo_entries(), entries);
}
END_TEST

/* ---- constructors and the reader ---- */

static char *spelling(int which) {
  sample *s = fresh(which);
  char *text = strdup(s->spell);
  sample_free(s);
  return text;
}

/* Through the reader every constructor runs, with all that lies below it. */
static void check_parse(const char *text, int64_t live) {
  for (int64_t n = 0;; n++) {
    lading_type *t = NULL;
    ldg_alloc_fail(n);
    int rc = lading_type_parse(text, &t);
    ldg_alloc_fail(-1);
    ck_assert_msg(rc == LADING_OK || (rc == LADING_ERR_NOMEM && !t), "parse of %s, allocation %" PRId64 ": %d, output %p", text, n, rc, (void *)t);
    lading_type_free(t);
    ck_assert_msg(ldg_alloc_live() == live, "parse of %s, allocation %" PRId64 ": %" PRId64 " leaked", text, n, ldg_alloc_live() - live);
    if (rc == LADING_OK) return;
    ck_assert_int_lt(n, 1000);
  }
}

START_TEST(every_constructor_through_the_reader) {
  for (int which = 0; which < SHAPES; which++) {
    char *text = spelling(which);
    check_parse(text, ldg_alloc_live());
    free(text);
  }
  const char *const texts[] = { "(repeat 3 256 (repeat 4 32 (bytes 8)))", "(blocks 3 (0 40 13) (bytes 4))", "(blocks 2 (0 100) (3 4) 16 (bytes 4))",
                                "(join (0 (bytes 3)) (9 (repeat 2 8 (bytes 1))) (80 (bytes 2)))", "contiguous(2,(repeat 3 9 (bytes 2)))" };
  for (int64_t i = 0; i < COUNT_OF(texts); i++) check_parse(texts[i], ldg_alloc_live());
}
END_TEST

/* The constructors alone, on old types that exist already. */
static int construct(int which, const lading_type *old, lading_type **out) {
  const lading_distrib cyclic[] = { LADING_DISTRIB_CYCLIC };
  const lading_type *const olds[] = { old, lading_elem_type(LADING_CHAR), old };
  switch (which) {
  case 0: return lading_type_contiguous(3, old, out);
  case 1: return lading_type_vector(3, 2, 4, old, out);
  case 2: return lading_type_hvector(3, 2, 400, old, out);
  case 3: return lading_type_indexed(3, LIST(1, 0, 2), LIST(0, 5, 9), old, out);
  case 4: return lading_type_hindexed(3, LIST(1, 3, 2), LIST(0, 500, 900), old, out);
  case 5: return lading_type_indexed_block(3, 2, LIST(0, 5, 9), old, out);
  case 6: return lading_type_hindexed_block(3, 2, LIST(0, 500, 900), old, out);
  case 7: return lading_type_struct(3, LIST(1, 2, 2), LIST(0, 500, 900), olds, out);
  case 8: return lading_type_subarray(2, LIST(4, 5), LIST(2, 3), LIST(1, 1), LADING_ORDER_C, old, out);
  case 9: return lading_type_darray(2, 1, 1, LIST(11), cyclic, LIST(2), LIST(2), LADING_ORDER_C, old, out);
  default: return lading_type_resized(old, -3, 77, out);
  }
}

START_TEST(every_constructor_alone) {
  sample *old = s_vector(3, 1, 2, s_elem(LADING_SHORT_INT));
  int64_t live = ldg_alloc_live();
  for (int which = 0; which < 11; which++)
    for (int64_t n = 0;; n++) {
      lading_type *t = NULL;
      ldg_alloc_fail(n);
      int rc = construct(which, old->type, &t);
      ldg_alloc_fail(-1);
      ck_assert_msg(rc == LADING_OK || (rc == LADING_ERR_NOMEM && !t), "constructor %d, allocation %" PRId64 ": %d", which, n, rc);
      ck_assert(rc != LADING_OK || n > 0); /* each must allocate something, else the failure was not felt */
      lading_type_free(t);
      ck_assert_msg(ldg_alloc_live() == live, "constructor %d, allocation %" PRId64 ": leak", which, n);
      if (rc == LADING_OK) break;
    }
  sample_free(old);
}
END_TEST

/* A built-in type keeps its plan once it has one; to get there may fail as well. */
START_TEST(built_in_types) {
  for (int k = 0; k < LADING_ELEM_MAX; k++)
    for (int64_t n = 0;; n++) {
      bool wrote = false;
      ldg_alloc_fail(n);
      int rc = act_info(lading_elem_type((lading_elem)k), &wrote);
      ldg_alloc_fail(-1);
      ck_assert(rc == LADING_OK || (rc == LADING_ERR_NOMEM && !wrote));
      if (rc == LADING_OK) break;
    }
}
END_TEST

static int parse_and_use(const char *text) {
  lading_type *t = NULL;
  lading_info f;
  int rc = lading_type_parse(text, &t);
  if (!rc) rc = lading_type_commit(t);
  if (!rc) rc = lading_type_info(t, &f);
  lading_type_free(t);
  return rc;
}

START_TEST(random_trees) {
  rng r = rng_of(51);
  for (int k = 0; k < LADING_ELEM_MAX; k++) ck_assert_int_eq(lading_type_commit(lading_elem_type((lading_elem)k)), LADING_OK); /* they keep their plans */
  int64_t entries = ldg_memo_entries();
  for (int i = 0; i < 300; i++) {
    sample *s = random_type(&r, 5, 120);
    char *text = strdup(s->spell);
    sample_free(s);
    int rc = parse_and_use(text); /* grows what tables it needs */
    int64_t live = ldg_alloc_live();
    for (int64_t n = 0; n < 400; n++) {
      ldg_alloc_fail(n);
      rc = parse_and_use(text);
      ldg_alloc_fail(-1);
      ck_assert_msg(rc == LADING_OK || rc == LADING_ERR_NOMEM, "%s, allocation %" PRId64 ": %d", text, n, rc);
      ck_assert_msg(ldg_alloc_live() == live, "%s, allocation %" PRId64 ": %" PRId64 " leaked", text, n, ldg_alloc_live() - live);
      if (rc == LADING_OK) break;
    }
    ck_assert_int_eq(rc, LADING_OK);
    free(text);
  }
  ck_assert_int_eq(ldg_memo_entries(), entries);
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("oom", argc, argv, every_call_on_a_fresh_type, every_constructor_through_the_reader, every_constructor_alone, built_in_types, random_trees);
}
