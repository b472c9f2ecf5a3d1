/* external32: known bytes, every range, round trips, and long doubles against another binary128. */
#include "elements.h"
#include "exec_quad.h"

/* ---- the judge: one element as external32, from MPI-4.1 section 14.5.2 ---- */

static int64_t number_out(const char *in, int64_t n, char *out) {
  uint64_t v = 0;
  uint8_t v8;
  uint16_t v16;
  uint32_t v32;
  if (n == 1) memcpy(&v8, in, 1), v = v8;
  else if (n == 2) memcpy(&v16, in, 2), v = v16;
  else if (n == 4) memcpy(&v32, in, 4), v = v32;
  else memcpy(&v, in, 8);
  for (int64_t i = 0; i < n; i++) out[i] = (char)(v >> (8 * (n - 1 - i)));
  return n;
}

static int64_t long_double_out(const char *in, char *out) {
#if LDBL_MANT_DIG == 64 && defined(__SIZEOF_FLOAT128__)
  long double v;
  memcpy(&v, in, sizeof v);
  const __float128 q = v;
  for (int i = 0; i < 16; i++) out[i] = ((const char *)&q)[15 - i];
#elif LDBL_MANT_DIG == 113
  for (int i = 0; i < 16; i++) out[i] = in[__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? i : 15 - i];
#else
  (void)in, memset(out, 0, 16);
#endif
  return 16;
}

static int64_t letter_out(int kind, const char *in, char *out) {
  const int64_t n = elem_size(kind);
  if (kind == LADING_LONG_DOUBLE) return long_double_out(in, out);
  if (kind < LADING_C_FLOAT) return number_out(in, n, out);
  const int part = kind == LADING_C_FLOAT ? LADING_FLOAT : kind == LADING_C_DOUBLE ? LADING_DOUBLE : LADING_LONG_DOUBLE;
  const int64_t first = letter_out(part, in, out);
  return first + letter_out(part, in + n / 2, out + first);
}

static int64_t element_out(int kind, const char *in, char *out) {
  int64_t at[2], len[2], n = 0;
  int kinds[2];
  const int pieces = elem_pieces(kind, at, len, kinds);
  for (int p = 0; p < pieces; in += len[p], p++) {
    if (kind == LADING_LONG_INT && p == 0) {
      long v;
      memcpy(&v, in, sizeof v);
      n += number_out((const char *)&(int32_t){ (int32_t)v }, 4, out);
    } else n += letter_out(kinds[p], in, out + n);
  }
  return n;
}

static bool of_long_doubles(int kind) { return kind == LADING_LONG_DOUBLE || kind == LADING_C_LONG_DOUBLE || kind == LADING_LONG_DOUBLE_INT; }
static bool judged(int kind) { return LDBL_MANT_DIG != 53 || !of_long_doubles(kind); }
static bool whole_only(int kind) { return kind == LADING_LONG_INT || (LDBL_MANT_DIG != 113 && of_long_doubles(kind)); }

/* ---- checks ---- */

/* Longs that fit in 4 bytes: others are refused. */
static void tame(side *s) {
  char e[32];
  for (int64_t i = 0; i < s->n; i++) {
    get_element(s, i, e);
    if (s->kind[i] == LADING_LONG_INT) {
      long v;
      memcpy(&v, e, sizeof v);
      v = (int32_t)v;
      memcpy(e, &v, sizeof v);
    }
    put_element(s, i, e);
  }
}

typedef struct form { buffer b; int64_t *pos; } form;

static form form_of(const side *s) {
  form f = { buffer_new(s->pos[s->n] + 16 * s->n), malloc((size_t)(s->n + 1) * sizeof(int64_t)) };
  char e[32];
  f.pos[0] = 0;
  for (int64_t i = 0; i < s->n; i++) {
    get_element(s, i, e);
    f.pos[i + 1] = f.pos[i] + element_out(s->kind[i], e, f.b.data + f.pos[i]);
  }
  return f;
}
static void form_free(form *f) {
  buffer_free(&f->b);
  free(f->pos);
}

static void check_pack(const side *s, const form *f, int64_t lo, int64_t hi) {
  buffer out = buffer_new(hi - lo);
  const int rc = lading_pack_external32(s->type, s->count, base_of(s), out.data, lo, hi);
  if (rc || memcmp(out.data, f->b.data + lo, (size_t)(hi - lo))) ck_abort_msg("pack_external32 (%d) of [%" PRId64 ", %" PRId64 ") of %s", rc, lo, hi, s->spell);
  ck_assert(buffer_guards(&out));
  buffer_free(&out);
}

static int64_t element_at(const side *s, const form *f, int64_t byte) {
  int64_t i = 0;
  while (i < s->n && f->pos[i + 1] <= byte) i++;
  return i;
}
static bool cuts_whole_only(const side *s, const form *f, int64_t byte) {
  const int64_t i = element_at(s, f, byte);
  return i < s->n && f->pos[i] < byte && whole_only(s->kind[i]);
}

/* Unpacks [lo, hi) into other values; what comes out has these external bytes there, and the old ones elsewhere. */
static void check_unpack(side *s, const form *f, int64_t lo, int64_t hi, rng *r) {
  const bool refused = cuts_whole_only(s, f, lo) || cuts_whole_only(s, f, hi);
  side_fill(s, r), tame(s);
  buffer before = copy_of(&s->b);
  form old = form_of(s), now;
  const int rc = lading_unpack_external32(s->type, s->count, base_of(s), f->b.data + lo, lo, hi);
  if (lo < hi) ck_assert_int_eq(rc, refused ? LADING_ERR_UNSUPPORTED : LADING_OK);
  if (rc) same_bytes("refused", &before, &s->b, s, lo, hi);
  else memcpy(old.b.data + lo, f->b.data + lo, (size_t)(hi - lo));
  now = form_of(s);
  ck_assert_msg(!memcmp(now.b.data, old.b.data, (size_t)f->pos[s->n]), "unpack_external32 of [%" PRId64 ", %" PRId64 ") of %s", lo, hi, s->spell);
  form_free(&old), form_free(&now);
  buffer_free(&before);
}

/* All ranges of few bytes, else some. */
static void check_form(side *s, rng *r) {
  int64_t n;
  tame(s);
  form f = form_of(s);
  ck_assert_int_eq(lading_external32_size(s->type, s->count, &n), LADING_OK);
  ck_assert_int_eq(n, f.pos[s->n]);
  buffer keep = copy_of(&s->b);
  const int64_t ranges = n <= 20 ? (n + 1) * (n + 1) : 12;
  for (int64_t t = 0; t < ranges; t++) {
    int64_t lo = n <= 20 ? t / (n + 1) : t ? rng_in(r, 0, n) : 0, hi = n <= 20 ? t % (n + 1) : t ? rng_in(r, lo, n) : n;
    if (lo > hi) continue;
    memcpy(s->b.data, keep.data, (size_t)keep.n);
    check_pack(s, &f, lo, hi);
    check_unpack(s, &f, lo, hi, r);
  }
  char byte = 0;
  ck_assert_int_eq(lading_pack_external32(s->type, s->count, base_of(s), &byte, n, n + 1), LADING_ERR_RANGE);
  ck_assert_int_eq(lading_unpack_external32(s->type, s->count, base_of(s), &byte, -1, 0), LADING_ERR_RANGE);
  buffer_free(&keep);
  form_free(&f);
}

/* ---- tests ---- */

#define BYTES(type, value, ...)                                                                                  \
  do {                                                                                                           \
    static const unsigned char want[] = { __VA_ARGS__ };                                                         \
    unsigned char got[40] = { 0 };                                                                               \
    int64_t n_ = 0;                                                                                              \
    ck_assert_int_eq(lading_external32_size(lading_elem_type(type), 1, &n_), LADING_OK);                         \
    ck_assert_int_eq(n_, (int64_t)sizeof want);                                                                  \
    ck_assert_int_eq(lading_pack_external32(lading_elem_type(type), 1, value, got, 0, n_), LADING_OK);           \
    ck_assert_msg(!memcmp(got, want, sizeof want), #type " " #value);                                            \
  } while (0)

START_TEST(known_bytes) {
  BYTES(LADING_BYTE, "\xab", 0xab);
  BYTES(LADING_BOOL, &(bool){ true }, 1);
  BYTES(LADING_INT16, &(int16_t){ -2 }, 0xff, 0xfe);
  BYTES(LADING_UINT32, &(uint32_t){ 0x01020304 }, 1, 2, 3, 4);
  BYTES(LADING_INT64, &(int64_t){ 0x0102030405060708 }, 1, 2, 3, 4, 5, 6, 7, 8);
  BYTES(LADING_FLOAT16, &(uint16_t){ 0x3c00 }, 0x3c, 0);
  BYTES(LADING_FLOAT, &(float){ -1.5f }, 0xbf, 0xc0, 0, 0);
  BYTES(LADING_DOUBLE, &(double){ 1 }, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0);
  BYTES(LADING_C_FLOAT, ((float[]){ 1, -2 }), 0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0);
  BYTES(LADING_LONG_DOUBLE, &(long double){ -3 }, 0xc0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  BYTES(LADING_LONG_DOUBLE, &(long double){ 0 }, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  BYTES(LADING_2INT, ((int[]){ 1, -1 }), 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff);
  struct { short v; int i; } si = { 258, 3 };
  struct { long v; int i; } li = { -5, 3 };
  BYTES(LADING_SHORT_INT, &si, 1, 2, 0, 0, 0, 3);
  BYTES(LADING_LONG_INT, &li, 0xff, 0xff, 0xff, 0xfb, 0, 0, 0, 3);
}
END_TEST

START_TEST(every_element_in_every_range) {
  rng r = rng_of(51);
  for (int kind = 0; kind < LADING_ELEM_MAX; kind++)
    for (int which = 0; which < SHAPES && judged(kind); which++) {
      sample *t = shape(which, kind);
      side s = side_of(t, rng_in(&r, 1, 2), &r);
      check_form(&s, &r);
      side_free(&s);
      sample_free(t);
    }
}
END_TEST

START_TEST(random_ranges) {
  rng r = rng_of(52);
  for (int i = 0; i < 2000; i++) {
    if (i % 2 && LDBL_MANT_DIG == 64) random_kinds = ~UINT32_C(0);
    else random_kinds = 0x67fff & ~(1u << LADING_LONG_DOUBLE);
    sample *t = random_type(&r, i % 6, i % 3 ? 400 : 24);
    side s = side_of(t, rng_in(&r, 0, 3), &r);
    if (!s.x->overlaps) check_form(&s, &r);
    side_free(&s);
    sample_free(t);
  }
  random_kinds = ~UINT32_C(0);
}
END_TEST

START_TEST(split_elements) {
  rng r = rng_of(53);
  static const int kinds[] = { LADING_INT32, LADING_UINT64, LADING_2INT, LADING_INT16, LADING_SHORT_INT, LADING_C_DOUBLE, LADING_LONG_INT };
  for (int i = 0; i < 400; i++) {
    const int k = kinds[i % COUNT_OF(kinds)];
    const int64_t n = rng_in(&r, 1, 6), bytes = n * elem_size(k);
    int64_t at[200];
    for (int64_t b = 0, o = 0; b < bytes; b++) at[b] = o += rng_in(&r, 0, 3) ? 1 : rng_in(&r, 1, 12);
    lading_type *t = cut_type(at, bytes, (ldg_sig){ n, &ldg_build_elem_nodes[k] }, &r);
    int *kind = malloc((size_t)n * sizeof *kind);
    for (int64_t e = 0; e < n; e++) kind[e] = k;
    side s = side_of_kinds(t, "split", 1, stream_of_offsets(at, bytes), n, kind, &r);
    check_form(&s, &r);
    side_free(&s);
    lading_type_free(t);
  }
}
END_TEST

START_TEST(a_long_that_does_not_fit) {
  if (sizeof(long) == 4) return;
  struct { long v; int i; } li[3] = { { 1, 2 }, { INT64_C(1) << 31, 4 }, { -(INT64_C(1) << 31), 5 } };
  const lading_type *t = lading_elem_type(LADING_LONG_INT);
  char out[24];
  memset(out, 7, sizeof out);
  ck_assert_int_eq(lading_pack_external32(t, 3, li, out, 0, 24), LADING_ERR_UNSUPPORTED);
  for (int i = 0; i < 24; i++) ck_assert_int_eq(out[i], 7);
  ck_assert_int_eq(lading_pack_external32(t, 3, li, out, 0, 8), LADING_OK);
  ck_assert_int_eq(lading_pack_external32(t, 3, li, out, 16, 24), LADING_OK);
  ck_assert_int_eq(lading_pack_external32(t, 3, li, out, 7, 9), LADING_ERR_UNSUPPORTED);
  ck_assert_int_eq(lading_unpack_external32(t, 3, li, "\x80\0\0\0\0\0\0\7", 8, 16), LADING_OK);
  ck_assert(li[1].v == -(INT64_C(1) << 31) && li[1].i == 7);
  struct { long v; int i; } far = { 1L << 40, 5 };
  char alone[4];
  ck_assert_int_eq(lading_pack_external32(t, 1, &far, alone, 4, 8), LADING_OK); /* the int behind a long that nobody asks for */
  ck_assert_mem_eq(alone, "\0\0\0\5", 4);
}
END_TEST

START_TEST(refused) {
  int64_t n = 5;
  char c[8];
  const lading_type *t = lading_elem_type(LADING_DOUBLE);
  ck_assert_int_eq(lading_external32_size(NULL, 1, &n), LADING_ERR_ARG);
  ck_assert_int_eq(lading_external32_size(t, 1, NULL), LADING_ERR_ARG);
  ck_assert_int_eq(lading_external32_size(t, -1, &n), LADING_ERR_ARG);
  ck_assert_int_eq(lading_external32_size(t, INT64_MAX, &n), LADING_ERR_OVERFLOW);
  ck_assert_int_eq(n, 5);
  ck_assert_int_eq(lading_pack_external32(NULL, 1, c, c, 0, 0), LADING_ERR_ARG);
  ck_assert_int_eq(lading_pack_external32(t, 0, NULL, NULL, 0, 0), LADING_OK);
  ck_assert_int_eq(lading_external32_size(t, 0, &n), LADING_OK);
  ck_assert_int_eq(n, 0);
}
END_TEST

/* ---- binary128 ---- */

START_TEST(widening_is_exact_and_comes_back) {
  rng r = rng_of(54);
  for (int i = 0; i < 200000; i++) {
    uint64_t m = rng_next(&r), u = rng_next(&r);
    uint16_t se = (uint16_t)(rng_in(&r, 0, 1) ? rng_next(&r) : rng_next(&r) & 0x8001), back;
    double d, e;
    m = se & 0x7fff ? m | UINT64_C(1) << 63 : m & INT64_MAX;
    if ((se & 0x7fff) == 0x7fff) m |= UINT64_C(1) << 62;
    const uint64_t again = ldg_x87_of_quad(ldg_quad_of_x87(m, se), &back);
    if (again != m || back != se) ck_abort_msg("%04x %016" PRIx64 " comes back as %04x %016" PRIx64, se, m, back, again);
    if (i % 3 == 0) u &= ~(UINT64_C(0x7ff) << 52);
    if ((u >> 52 & 0x7ff) == 0x7ff) u |= UINT64_C(1) << 51;
    memcpy(&d, &u, 8);
    e = ldg_double_of_quad(ldg_quad_of_double(d));
    if (memcmp(&d, &e, 8)) ck_abort_msg("%a comes back as %a", d, e);
  }
}
END_TEST

#if LDBL_MANT_DIG == 64 && defined(__SIZEOF_FLOAT128__)
static ldg_quad random_quad(rng *r, int low_exponent, int high_exponent) {
  ldg_quad f = ((ldg_quad)rng_next(r) << 64 | rng_next(r)) & LDG_QUAD_FRACTION;
  if (rng_in(r, 0, 1)) f &= ~(ldg_quad)0 << rng_in(r, 0, 112); /* ties, and exact ones */
  if (rng_in(r, 0, 3) == 0) f |= LDG_QUAD_FRACTION & ~(ldg_quad)0 << rng_in(r, 0, 111); /* carries */
  return ldg_quad_make(rng_in(r, 0, 1), (uint64_t)rng_in(r, low_exponent, high_exponent), f);
}

static void against_the_compiler(ldg_quad q) {
  __float128 f;
  uint16_t se;
  memcpy(&f, &q, 16);
  const uint64_t m = ldg_x87_of_quad(q, &se);
  long double want = (long double)f, got = want;
  memcpy(&got, &m, 8), memcpy((char *)&got + 8, &se, 2);
  if (memcmp(&want, &got, 10) && (want == want || got == got)) ck_abort_msg("%La is not %La", got, want);
  const double d = (double)f, e = ldg_double_of_quad(q);
  if (memcmp(&d, &e, 8) && (d == d || e == e)) ck_abort_msg("%a is not %a", e, d);
  const __float128 wide = want, wider = d;
  const ldg_quad x = ldg_quad_of_x87(m, se), y = ldg_quad_of_double(e);
  if (want == want && (memcmp(&wide, &x, 16) || memcmp(&wider, &y, 16))) ck_abort_msg("%La is not widened well", want);
}

START_TEST(rounding_as_the_compiler_does) {
  rng r = rng_of(55);
  for (int i = 0; i < 200000; i++) {
    against_the_compiler(random_quad(&r, 0, 0x7fff));
    against_the_compiler(random_quad(&r, 0, 1)), against_the_compiler(random_quad(&r, 0x7ffd, 0x7fff));
    against_the_compiler(random_quad(&r, 16383 - 1080, 16383 - 1018)), against_the_compiler(random_quad(&r, 16383 + 1020, 16383 + 1026));
  }
}
END_TEST
#else
START_TEST(rounding_as_the_compiler_does) {}
END_TEST
#endif

/* What x87 calls invalid is a NaN; a subnormal with an integer bit is the least normal number. */
START_TEST(odd_x87_numbers) {
  ck_assert(ldg_quad_of_x87(1, 5) == ldg_quad_make(false, 0x7fff, LDG_QUAD_QUIET));
  ck_assert(ldg_quad_of_x87(0, 0xffff) == ldg_quad_make(true, 0x7fff, LDG_QUAD_QUIET));
  ck_assert(ldg_quad_of_x87(UINT64_C(1) << 63, 0) == ldg_quad_make(false, 1, 0));
  uint16_t se;
  ck_assert(ldg_x87_of_quad(ldg_quad_make(false, 0x7fff, 1), &se) == UINT64_C(3) << 62 && se == 0x7fff);
}
END_TEST

/* Through the calls: a NaN of anybody's stays one, also where all that makes it one is cut off here. */
START_TEST(long_doubles_that_are_no_numbers) {
  const lading_type *t = lading_elem_type(LADING_LONG_DOUBLE);
  const unsigned char low[16] = { 0x7f, 0xff, [15] = 1 };
  const long double in[3] = { __builtin_nanl(""), -__builtin_infl(), 1 };
  long double back[3] = { 0 };
  unsigned char out[48];
  ck_assert_int_eq(lading_pack_external32(t, 3, in, out, 0, 48), LADING_OK);
  ck_assert((out[0] & 0x7f) == 0x7f && out[1] == 0xff && (out[2] & 0x80));
  ck_assert(out[16] == 0xff && out[17] == 0xff && out[18] == 0 && out[31] == 0 && out[32] == 0x3f);
  ck_assert_int_eq(lading_unpack_external32(t, 3, back, out, 0, 48), LADING_OK);
  ck_assert(back[0] != back[0] && back[1] == in[1] && back[2] == 1);
  ck_assert_int_eq(lading_unpack_external32(t, 1, back, low, 0, 16), LADING_OK);
  ck_assert(back[0] != back[0]);
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("external32", argc, argv, known_bytes, every_element_in_every_range, random_ranges, split_elements, a_long_that_does_not_fit,
                    refused, widening_is_exact_and_comes_back, rounding_as_the_compiler_does, odd_x87_numbers, long_doubles_that_are_no_numbers);
}
