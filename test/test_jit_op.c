/* jit_op: reductions by kernels of the level of LADING_ISA, on any range against the walk by elements. */
#include "jit_tools.h"

typedef struct reducer { lading_type *t; int64_t count, span; char *mem; } reducer; /* t NULL: packed */

/* Fields of some elements each, at any bytes. */
static reducer reducer_of(rng *r, lading_elem e, int64_t elements, int64_t count) {
  int64_t at[32], len[32], n = 0, p = 0, size;
  lading_type *t;
  reducer d = { .count = count };
  ck_assert_int_eq(lading_type_size(lading_elem_type(e), &size), LADING_OK);
  for (int64_t left = elements; left > 0; n++) {
    len[n] = n == 20 ? left : ldg_min(left, rng_in(r, 1, 12)), at[n] = p += rng_in(r, 0, 9);
    p += len[n] * size, left -= len[n];
  }
  ck_assert_int_eq(lading_type_hindexed(n, len, at, lading_elem_type(e), &t), LADING_OK);
  ck_assert_int_eq(lading_type_resized(t, 0, p + rng_in(r, 0, 3), &d.t), LADING_OK);
  lading_type_free(t);
  d.span = count * (p + 3) + 64, d.mem = ldg_alloc(d.span);
  return d;
}
static reducer packed_of(int64_t bytes) { return (reducer){ NULL, bytes, bytes, ldg_alloc(bytes) }; }
static void reducer_free(reducer *d) { lading_type_free(d->t), ldg_free(d->mem); }

/* Entries of some elements at places in no order, some of them twice if that is wanted. */
static reducer list_of(rng *r, lading_elem e, int64_t elements, int64_t entries, bool twice) {
  int64_t *at = ldg_alloc(entries * 8);
  reducer entry = reducer_of(r, e, elements, 1), d = { .count = 1 };
  for (int64_t i = 0; i < entries; i++) at[i] = entry.span * (twice ? rng_in(r, 0, entries / 2) : i);
  for (int64_t i = entries - 1; i > 0 && !twice; i--) {
    const int64_t k = rng_in(r, 0, i), t = at[i];
    at[i] = at[k], at[k] = t;
  }
  ck_assert_int_eq(lading_type_hindexed_block(entries, 1, at, entry.t, &d.t), LADING_OK);
  d.span = entries * entry.span, d.mem = ldg_alloc(d.span);
  reducer_free(&entry), ldg_free(at);
  return d;
}

typedef struct reduction { lading_elem e; int64_t size; lading_op op; } reduction;
static bool judges(lading_op op) { return op == LADING_LAND || op == LADING_LOR || op == LADING_LXOR; }
static bool compares_floats(const reduction *o) { return (o->op == LADING_MIN || o->op == LADING_MAX) && (o->e == LADING_FLOAT || o->e == LADING_DOUBLE); }

/* What ops tell apart, and noise has none of, by elements of the stream: zeros where each is judged, about one in three; where floats are
 * compared, those of both signs, and NaNs on one side. */
typedef struct seasoning { const reduction *o; int which; char *mem; int64_t before; } seasoning; /* bytes of the stream */
static void season(const seasoning *s, char *at, int64_t element) {
  const uint64_t zero[2] = { 0, (uint64_t)1 << (8 * s->o->size - 1) }, nan = s->o->size == 4 ? 0x7fc00001 : 0x7ff8000000000001;
  const int64_t pick = (element + element / 9) % 9;
  if (judges(s->o->op) && (s->which ? pick / 3 : pick % 3) == 0) memset(at, 0, (size_t)s->o->size);
  if (!compares_floats(s->o)) return;
  if (pick < 2) memcpy(at, &zero[pick != s->which], (size_t)s->o->size);
  else if (pick == 2 + s->which) memcpy(at, &nan, (size_t)s->o->size);
}
static int season_run(void *arg, int64_t off, int64_t pos, int64_t len) {
  const seasoning *s = arg;
  for (int64_t at = 0; at < len; at += s->o->size) season(s, s->mem + off + at, (s->before + pos + at) / s->o->size);
  return 0;
}

static ldg_side walked_side(const reducer *d, const char *mem, const ldg_rep *bytes) {
  ldg_side found = { bytes, 1, d->count, mem };
  if (d->t) ck_assert_int_eq(ldg_api_side(d->t, d->count, mem, NULL, &found), LADING_OK);
  return found;
}

/* Of the source (0) or the destination (1). Of two NaNs it is nobody's promise which comes out. */
static void fill_numbers(reducer *d, int which, const reduction *o, rng *r) {
  const ldg_rep bytes = LDG_REP_BYTES(d->span);
  const ldg_side side = walked_side(d, d->mem, &bytes);
  for (int64_t i = 0; i < d->span; i++) d->mem[i] = (char)(rng_next(r) & 0xBF);
  for (int64_t i = 0; i < side.count && (judges(o->op) || compares_floats(o)); i++)
    ldg_rep_walk(side.rep, 0, side.rep->size, season_run, &(seasoning){ o, which, d->mem + i * side.extent, i * side.rep->size });
}

static void reduce(const reducer *s, const reducer *d, lading_op op, int64_t lo, int64_t hi) {
  if (!s->t) ck_assert_int_eq(lading_unpack_op(d->t, d->count, d->mem, s->mem + lo, lo, hi, op), LADING_OK);
  else if (!d->t) ck_assert_int_eq(lading_pack_op(s->t, s->count, s->mem, d->mem + lo, lo, hi, op), LADING_OK);
  else ck_assert_int_eq(lading_copy_op(s->t, s->count, s->mem, d->t, d->count, d->mem, lo, hi, op), LADING_OK);
}

static void walk(const reducer *s, const reducer *d, char *to, lading_op op, int64_t lo, int64_t hi) {
  const ldg_rep bytes = LDG_REP_BYTES(hi);
  const reducer *typed = s->t ? s : d;
  ldg_reduction r = { op, { 0 } };
  ck_assert_int_eq(ldg_api_elements(typed->t, typed->count, op, lo, hi, &r.sig), LADING_OK);
  const ldg_side a = walked_side(s, s->mem, &bytes), b = walked_side(d, to, &bytes);
  ldg_exec_op_walk(&r, &a, &b, lo, hi);
}

static void check_reduction(reducer *s, reducer *d, const reduction *o, int64_t lo, int64_t hi, rng *r) {
  fill_numbers(s, 0, o, r), fill_numbers(d, 1, o, r);
  char *want = ldg_alloc(d->span);
  memcpy(want, d->mem, (size_t)d->span);
  walk(s, d, want, o->op, lo, hi);
  reduce(s, d, o->op, lo, hi);
  ck_assert_msg(memcmp(want, d->mem, (size_t)d->span) == 0, "op %d on [%" PRId64 ", %" PRId64 ") is wrong", o->op, lo, hi);
  ldg_free(want);
}

/* Lists with packed bytes, both ways; where entries coincide no kernel may be used, since their turn would be another (is_distinct). */
START_TEST(every_listed_reduction) {
  const int cases = share_of(12);
  static const reduction all[] = { { LADING_DOUBLE, 8, LADING_SUM }, { LADING_INT32, 4, LADING_MAX }, { LADING_FLOAT, 4, LADING_PROD }, { LADING_UINT16, 2, LADING_BXOR } };
  rng r = rng_of(77);
  int used = 0;
  char *cache = own_cache(helper_path());
  for (int i = 0; i < cases; i++) {
    const int64_t elements = rng_in(&r, 2, 20), n = rng_in(&r, 100, 300), size = all[i % 4].size, bytes = elements * n * size;
    const bool packs = i % 3 == 0, twice = i % 3 == 1;
    reducer list = list_of(&r, all[i % 4].e, elements, n, twice), line = packed_of(bytes), *s = packs ? &list : &line, *d = packs ? &line : &list;
    for (int k = 0; k < 4; k++) check_reduction(s, d, &all[i % 4], 0, bytes, &r), settles(60); /* the third call finds the kernel, the fourth goes by it */
    if (!twice) used += count_text(list.t, "tier 2") > 0;
    else ck_assert_int_eq(count_text(list.t, "tier 2"), 0);
    for (int k = 0; k < 10; k++) {
      const int64_t lo = size * rng_in(&r, 0, elements * n);
      check_reduction(s, d, &all[i % 4], lo, size * rng_in(&r, lo / size, elements * n), &r);
    }
    reducer_free(&list), reducer_free(&line);
  }
  ck_assert_msg(used >= cases / 3, "%d kernels were used", used);
  drop_cache(cache);
}
END_TEST

START_TEST(every_reduction) {
  const int cases = share_of(TEST_ASAN ? 12 : 36); /* spread over all of them */
  static const reduction all[] = {
    { LADING_DOUBLE, 8, LADING_SUM }, { LADING_INT32, 4, LADING_PROD }, { LADING_FLOAT, 4, LADING_SUM }, { LADING_BYTE, 1, LADING_BXOR }, { LADING_UINT64, 8, LADING_BAND },
    { LADING_INT16, 2, LADING_SUM }, { LADING_DOUBLE, 8, LADING_PROD }, { LADING_UINT8, 1, LADING_PROD }, { LADING_INT8, 1, LADING_SUM }, { LADING_UINT32, 4, LADING_BOR },
    { LADING_INT64, 8, LADING_PROD }, { LADING_FLOAT, 4, LADING_PROD },
    { LADING_FLOAT, 4, LADING_MIN }, { LADING_DOUBLE, 8, LADING_MAX }, { LADING_INT8, 1, LADING_MIN }, { LADING_UINT8, 1, LADING_MAX }, { LADING_INT16, 2, LADING_MAX },
    { LADING_UINT16, 2, LADING_MIN }, { LADING_INT32, 4, LADING_MAX }, { LADING_UINT32, 4, LADING_MIN }, { LADING_INT64, 8, LADING_MIN }, { LADING_UINT64, 8, LADING_MAX },
    { LADING_C_FLOAT, 8, LADING_SUM }, { LADING_C_DOUBLE, 16, LADING_SUM }, { LADING_INT32, 4, LADING_LAND }, { LADING_UINT8, 1, LADING_LOR }, { LADING_INT64, 8, LADING_LXOR },
    { LADING_BOOL, 1, LADING_LXOR }, { LADING_C_FLOAT, 8, LADING_PROD }, { LADING_FLOAT16, 2, LADING_MAX },
    { LADING_DOUBLE, 8, LADING_MIN }, { LADING_FLOAT, 4, LADING_MAX }, { LADING_INT16, 2, LADING_MIN }, { LADING_UINT32, 4, LADING_MAX }, { LADING_UINT64, 8, LADING_MIN }, { LADING_INT8, 1, LADING_MAX },
  };
  rng r = rng_of(76);
  int used = 0;
  char *cache = own_cache(helper_path());
  for (int c = 0; c < cases; c++) {
    const int i = c * (int)COUNT_OF(all) / cases + (cases < COUNT_OF(all) ? (int)(rng_next(&r) % (uint64_t)(COUNT_OF(all) / cases)) : 0);
    const int64_t elements = rng_in(&r, 3, 40), n = rng_in(&r, 30, 60), size = all[i].size, bytes = elements * n * size;
    reducer s = i % 3 == 0 ? packed_of(bytes) : reducer_of(&r, all[i].e, elements, n), d = i % 3 == 1 ? packed_of(bytes) : reducer_of(&r, all[i].e, elements, n);
    for (int k = 0; k < 4; k++) check_reduction(&s, &d, &all[i], 0, bytes, &r), settles(60); /* as above */
    used += count_text((s.t ? s : d).t, "tier 2") > 0;
    for (int k = 0; k < 10; k++) {
      const int64_t lo = size * rng_in(&r, 0, elements * n);
      check_reduction(&s, &d, &all[i], lo, size * rng_in(&r, lo / size, elements * n), &r);
    }
    reducer_free(&s), reducer_free(&d);
  }
  ck_assert_msg(used >= cases / 2, "%d kernels were used", used);
  drop_cache(cache);
}
END_TEST

/* Three doubles a block: what a kernel for them does of complex numbers could begin or end within one, and a range of them is none of its own. */
START_TEST(blocks_that_halve_complex_numbers) {
  enum { BLOCKS = 1000, DOUBLES = 3 * BLOCKS };
  static double mem[4 * BLOCKS], got[DOUBLES], want[DOUBLES];
  char *cache = own_cache(helper_path());
  lading_type *blocks = parsed("(repeat 1000 32 (bytes 24))"), *doubles = parsed("contiguous(3000,double)"), *complex = parsed("contiguous(1500,c_double)");
  rng r = rng_of(78);
  for (int i = 0; i < 4 * BLOCKS; i++) mem[i] = (double)rng_in(&r, -1000, 1000);
  for (int i = 0; i < 60; i++) {
    const bool halves = i >= 6;
    const int64_t whole = halves ? 2 : 1, lo = i < 3 ? 0 : whole * rng_in(&r, 0, DOUBLES / whole), hi = i < 3 ? DOUBLES : whole * rng_in(&r, lo / whole, DOUBLES / whole);
    for (int64_t k = lo; k < hi; k++) want[k] += mem[k / 3 * 4 + k % 3];
    ck_assert_int_eq(lading_copy_op(blocks, 1, mem, halves ? complex : doubles, 1, got, 8 * lo, 8 * hi, LADING_SUM), LADING_OK);
    ck_assert_msg(memcmp(got, want, sizeof got) == 0, "doubles [%lld, %lld) of %s", (long long)lo, (long long)hi, halves ? "complex numbers" : "doubles");
    if (i < 6) settles(60);
  }
  ck_assert_int_gt(count_text(blocks, "tier 2"), 0);
  lading_type_free(blocks), lading_type_free(doubles), lading_type_free(complex);
  drop_cache(cache);
}
END_TEST

/* As far on in the stream as one can be: items that are all in one place are read there as they are at its start. */
static void check_far(const lading_type *t, const double *mem, int64_t each, int64_t items, int64_t bytes) {
  static double near[1600], far[1600];
  for (int64_t cut = 0; cut < each; cut += 72) {
    const int64_t hi = items * each - cut, lo = hi - bytes;
    memset(far, 0, sizeof far), memset(near, 0, sizeof near);
    ck_assert_int_eq(lading_pack_op(t, items, mem, far, lo, hi, LADING_SUM), LADING_OK);
    ck_assert_int_eq(lading_pack_op(t, items, mem, near, lo % each, lo % each + bytes, LADING_SUM), LADING_OK);
    ck_assert_int_eq(memcmp(near, far, sizeof far), 0);
  }
}

START_TEST(far_on) {
  enum { EACH = 1536 };
  static double mem[200], packed[8 * EACH / 8];
  char *cache = own_cache(helper_path());
  lading_type *t = parsed("resized(hindexed([96,96],[0,776],double),0,0)");
  const int64_t items = INT64_MAX / EACH;
  for (int i = 0; i < 200; i++) mem[i] = i + 1;
  for (int k = 0; k < 3; k++, settles(60)) ck_assert_int_eq(lading_pack_op(t, items, mem, packed, 0, sizeof packed, LADING_SUM), LADING_OK);
  ck_assert_int_eq(count_text(t, "sums to packed bytes: tier 2"), 1);
  check_far(t, mem, EACH, items, 7 * EACH);
  check_far(t, mem, EACH, items, 520); /* no whole item, and the next would be behind all numbers */
  lading_type_free(t);
  drop_cache(cache);
}
END_TEST

int main(int argc, char **argv) {
  if (!helper_path()) return puts("lading-jit was not built"), 77;
  return CHECK_MAIN("jit_op", argc, argv, every_reduction, blocks_that_halve_complex_numbers, every_listed_reduction, far_on);
}
