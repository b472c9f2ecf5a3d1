/* wire: what is encoded decodes to the same type, in few bytes, and encodes the same again; what was cut or altered is
 * refused or is some other valid type; the decoder's memory is bounded. malloc and free are wrapped by the linker. */
#include "random_types.h"
#include "build.h"
#include "wire.h"
#include "wire_bytes.h"
#include <inttypes.h>
#include <malloc.h>

/* ---- the most memory at a time since the last call of start_counting ---- */

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void __real_free(void *p);
void __wrap_free(void *p);
static int64_t live, peak;

void *__wrap_malloc(size_t n) {
  void *p = __real_malloc(n);
  live += p ? (int64_t)malloc_usable_size(p) : 0;
  peak = live > peak ? live : peak;
  return p;
}

void __wrap_free(void *p) {
  live -= p ? (int64_t)malloc_usable_size(p) : 0;
  __real_free(p);
}

static void start_counting(void) { live = peak = 0; }

/* ---- helpers ---- */

typedef struct bytes { unsigned char *at; int64_t n; } bytes;

static bytes encoded(const lading_type *t) {
  bytes b = { NULL, 0 };
  int64_t used;
  ck_assert_int_eq(lading_wire_size(t, &b.n), LADING_OK);
  b.at = malloc((size_t)b.n);
  ck_assert_int_eq(lading_wire_encode(t, b.at, b.n, &used), LADING_OK);
  ck_assert_int_eq(used, b.n);
  return b;
}

static lading_type *decoded(bytes b) {
  lading_type *t = NULL;
  int rc = lading_wire_decode(b.at, b.n, &t);
  ck_assert_msg(rc == LADING_OK, "decode gives %d (%s)", rc, lading_strerror(rc));
  return t;
}

static bool same_bytes(bytes a, bytes b) { return a.n == b.n && memcmp(a.at, b.at, (size_t)a.n) == 0; }

static bool same_info(const lading_type *a, const lading_type *b) {
  const lading_info x = info_of(a), y = info_of(b);
  return x.size == y.size && x.lb == y.lb && x.extent == y.extent && x.true_lb == y.true_lb && x.true_extent == y.true_extent && x.blocks == y.blocks &&
         x.min_block == y.min_block && x.max_block == y.max_block && x.elements == y.elements && x.elem == y.elem && x.depth == y.depth &&
         x.contiguous == y.contiguous && x.monotonic == y.monotonic && x.overlaps == y.overlaps;
}

static bool same_type(const lading_type *a, const lading_type *b) {
  lading_id x, y;
  ck_assert_int_eq(lading_type_signature(a, 3, &x), LADING_OK);
  ck_assert_int_eq(lading_type_signature(b, 3, &y), LADING_OK);
  return same_id(x, y) && same_id(id_of(a, 1), id_of(b, 1)) && same_info(a, b) && same_id(ldg_wire_name(a), ldg_wire_name(b)) && a->align == b->align &&
         a->marked == b->marked;
}

/* Its length on the wire. */
static int64_t check_round_trip(const lading_type *t, const char *spell) {
  bytes b = encoded(t);
  lading_type *d = decoded(b);
  ck_assert_msg(same_type(t, d), "%s: another type after a decode", spell);
  bytes again = encoded(d);
  ck_assert_msg(same_bytes(b, again), "%s: other bytes after a decode", spell);
  lading_type_free(d);
  free(b.at);
  free(again.at);
  return b.n;
}

static int64_t round_trip_of(const char *text) {
  lading_type *t = parsed(text);
  int64_t n = check_round_trip(t, text);
  lading_type_free(t);
  return n;
}

/* ---- round trips ---- */

START_TEST(random_types_return) {
  rng r = rng_of(71);
  for (int i = 0; i < 6000; i++) {
    sample *s = random_type(&r, i % 7, 600);
    check_round_trip(s->type, s->spell);
    sample_free(s);
  }
}
END_TEST

START_TEST(built_in_types_return) {
  for (int k = 0; k < LADING_ELEM_MAX; k++) ck_assert_int_le(check_round_trip(lading_elem_type((lading_elem)k), "an element"), 40);
}
END_TEST

/* Equal sequences have equal bytes, however they were made. */
START_TEST(one_encoding_for_one_sequence) {
  rng r = rng_of(72);
  for (int i = 0; i < 1500; i++) {
    sample *s = random_type(&r, i % 6, 400);
    stream *x = stream_of(s->map, 1);
    lading_type *first = respelled(x, 0, &r);
    bytes want = encoded(first);
    for (int how = 1; how < RESPELLINGS; how++) {
      lading_type *t = respelled(x, how, &r);
      bytes b = encoded(t);
      ck_assert_msg(same_bytes(want, b), "%s, spelling %d", s->spell, how);
      ck_assert(same_id(ldg_wire_name(first), ldg_wire_name(t)));
      lading_type_free(t);
      free(b.at);
    }
    lading_type_free(first);
    free(want.at);
    stream_free(x);
    sample_free(s);
  }
}
END_TEST

static lading_type *random_list(rng *r, int64_t n, int64_t range, int64_t bl) {
  int64_t *at = malloc((size_t)n * sizeof *at);
  lading_type *t = NULL;
  for (int64_t i = 0; i < n; i++) at[i] = rng_in(r, 0, range);
  ck_assert_int_eq(lading_type_indexed_block(n, bl, at, lading_elem_type(LADING_DOUBLE), &t), LADING_OK);
  free(at);
  return t;
}

/* Beyond the size up to which trees are rebuilt from their runs. */
START_TEST(large_trees_return) {
  rng r = rng_of(73);
  for (int i = 0; i < 6; i++) {
    lading_type *a = random_list(&r, 70000, 1 << 22, 1), *b = random_list(&r, 3000, 1 << 14, 2), *t, *u;
    ck_assert_int_eq(lading_type_struct(3, LIST(2, i, 9), LIST(0, 1 << 27, 1 << 28), (const lading_type *const[]){ a, b, a }, &t), LADING_OK);
    ck_assert_int_eq(lading_type_hvector(1000, 1, (int64_t)1 << 31, t, &u), LADING_OK);
    check_round_trip(u, "a large tree");
    lading_type_free(a);
    lading_type_free(b);
    lading_type_free(t);
    lading_type_free(u);
  }
  for (int i = 0; i < 400; i++) {
    sample *s = random_type(&r, 5, 300);
    lading_type *t;
    if (lading_type_contiguous(rng_in(&r, 1, (int64_t)1 << 30), s->type, &t) == LADING_OK) {
      check_round_trip(t, s->spell);
      lading_type_free(t);
    }
    sample_free(s);
  }
}
END_TEST

START_TEST(odd_numbers_return) {
  lading_type *t;
  round_trip_of("hvector(2,1,4611686018427387904,byte)");
  round_trip_of("resized(int32,-9223372036854775807,9223372036854775806)");
  round_trip_of("contiguous(10,resized(contiguous(0,int32),-8,20))");
  round_trip_of("struct([1,1],[0,16],[float_int,struct([1,1],[0,4],[float,int32])])");
  ck_assert_int_eq(lading_type_hindexed_block(3, 1, LIST(INT64_MIN, INT64_MIN + 7, -9), lading_elem_type(LADING_BYTE), &t), LADING_OK);
  check_round_trip(t, "offsets far below 0");
  lading_type_free(t);
  ck_assert_int_eq(lading_type_hindexed_block(2, 1, LIST(INT64_MAX - 20, INT64_MAX - 2), lading_elem_type(LADING_BYTE), &t), LADING_OK);
  check_round_trip(t, "offsets far above 0");
  lading_type_free(t);
}
END_TEST

/* ---- sizes ---- */

START_TEST(nests_are_short) {
  rng r = rng_of(74);
  ck_assert_int_lt(round_trip_of("subarray([512,512,512,512],[256,256,256,256],[128,128,128,128],C,double)"), 100);
  ck_assert_int_lt(round_trip_of("hvector(64,1,1048576,hvector(64,1,8192,hvector(64,1,512,vector(4,4,16,double))))"), 100);
  for (int i = 0; i < 2000; i++) {
    sample *s = random_nest(&r, 1 + i % 5, 2000);
    ck_assert_int_lt(check_round_trip(s->type, s->spell), 100);
    sample_free(s);
  }
}
END_TEST

static void shuffle(rng *r, int64_t n, int64_t *v) {
  for (int64_t i = n - 1; i > 0; i--) {
    int64_t j = rng_in(r, 0, i), x = v[i];
    v[i] = v[j];
    v[j] = x;
  }
}

/* As LAMMPS sends: the same atoms, in no order, of an array of three and five arrays of one number each. */
START_TEST(lists_take_few_bytes) {
  enum { ALL = 3534, SENT = 3062 };
  rng r = rng_of(75);
  int64_t one[ALL], three[ALL];
  lading_type *x, *q, *t;
  for (int64_t i = 0; i < ALL; i++) one[i] = i;
  shuffle(&r, ALL, one);
  for (int64_t i = 0; i < ALL; i++) three[i] = 3 * one[i];
  ck_assert_int_eq(lading_type_indexed_block(SENT, 3, three, lading_elem_type(LADING_DOUBLE), &x), LADING_OK);
  ck_assert_int_eq(lading_type_indexed_block(SENT, 1, one, lading_elem_type(LADING_DOUBLE), &q), LADING_OK);
  ck_assert_int_eq(lading_type_struct(6, LIST(1, 1, 1, 1, 1, 1), LIST(0, 158336, 211136, 263936, 316736, 369536), (const lading_type *const[]){ x, q, q, q, q, q }, &t),
                   LADING_OK);
  ck_assert_int_le(check_round_trip(x, "3 numbers of each atom"), 3 * SENT);
  ck_assert_int_le(check_round_trip(t, "all of each atom"), 3 * 6 * SENT);
  lading_type_free(x);
  lading_type_free(q);
  lading_type_free(t);
  t = random_list(&r, 20000, 1 << 20, 1);
  ck_assert_int_le(check_round_trip(t, "a random list"), 4 * 20000);
  lading_type_free(t);
}
END_TEST

/* ---- bytes that were cut or altered ---- */

static bool refusal(int rc) {
  return rc == LADING_ERR_FORMAT || rc == LADING_ERR_OVERFLOW || rc == LADING_ERR_DEPTH;
}

/* Whatever was accepted is a type like any other. */
static void check_usable(const lading_type *t) {
  const lading_info i = info_of(t);
  lading_id id;
  ck_assert_int_eq(lading_type_id(t, 1, &id), LADING_OK);
  ck_assert_int_eq(lading_type_signature(t, 1, &id), LADING_OK);
  if (i.size > 1 << 14 || i.true_extent > 1 << 16) return;
  buffer mem = buffer_new(i.true_extent), packed = buffer_new(i.size);
  buffer_fill(&mem, 1);
  const char *base = at_offset(mem.data, -i.true_lb);
  ck_assert_int_eq(lading_pack(t, 1, base, packed.data, 0, i.size), LADING_OK);
  ck_assert_int_eq(lading_unpack(t, 1, at_offset(base, 0), packed.data, 0, i.size), LADING_OK);
  ck_assert(buffer_guards(&mem) && buffer_guards(&packed));
  buffer_free(&mem);
  buffer_free(&packed);
}

/* In a buffer of exactly n bytes, so that a read behind it shows. Whether it was accepted. */
static bool check_decode(const unsigned char *at, int64_t n) {
  unsigned char *exact = malloc((size_t)n + (n == 0));
  lading_type *t = NULL;
  memcpy(exact, at, (size_t)n);
  start_counting();
  int rc = lading_wire_decode(exact, n, &t);
  ck_assert_msg(peak <= LDG_WIRE_MEMORY(n), "%" PRId64 " bytes of memory for %" PRId64 " of input", peak, n);
  ck_assert_msg(rc == LADING_OK || (refusal(rc) && !t), "decode gives %d", rc);
  if (t) check_usable(t);
  lading_type_free(t);
  free(exact);
  return rc == LADING_OK;
}

START_TEST(every_cut_is_refused) {
  rng r = rng_of(76);
  for (int i = 0; i < 300; i++) {
    sample *s = random_type(&r, i % 6, 300);
    bytes b = encoded(s->type);
    unsigned char *longer = malloc((size_t)b.n + 1);
    for (int64_t n = 0; n < b.n; n++) ck_assert_msg(!check_decode(b.at, n), "%s: %" PRId64 " of %" PRId64 " bytes are enough", s->spell, n, b.n);
    memcpy(longer, b.at, (size_t)b.n);
    longer[b.n] = 0;
    ck_assert(!check_decode(longer, b.n + 1));
    free(longer);
    free(b.at);
    sample_free(s);
  }
}
END_TEST

enum { ALTERED_MAX = 4096 };

static int64_t altered(rng *r, bytes b, unsigned char *out) {
  int64_t n = b.n;
  memcpy(out, b.at, (size_t)n);
  for (int64_t times = rng_in(r, 1, 4); times > 0; times--) {
    static const unsigned char odd[] = { 0, 1, 2, 4, 63, 64, 127, 128, 255 };
    int64_t i = rng_in(r, 2, n - 1), how = rng_in(r, 0, 4);
    if (how == 0) out[i] ^= (unsigned char)(1 << rng_in(r, 0, 7));
    if (how == 1) out[i] = odd[rng_in(r, 0, 8)];
    if (how == 2) out[i] = (unsigned char)rng_next(r);
    if (how == 3 && n > 3) memmove(out + i, out + i + 1, (size_t)(--n - i));
    if (how == 4 && n < ALTERED_MAX) {
      memmove(out + i + 1, out + i, (size_t)(n++ - i));
      out[i] = (unsigned char)rng_next(r);
    }
  }
  return n;
}

/* With the id as it was hardly anything passes; with the right one what is well-formed does. */
START_TEST(alterations_do_no_harm) {
  rng r = rng_of(77);
  int64_t sealed = 0, passed = 0;
  for (int i = 0; i < 2500; i++) {
    sample *s = random_type(&r, i % 6, 200);
    bytes b = encoded(s->type);
    for (int k = 0; k < 40 && b.n < ALTERED_MAX; k++) {
      unsigned char bad[ALTERED_MAX + 64];
      int64_t n = altered(&r, b, bad);
      check_decode(bad, n);
      n = ldg_wire_seal(bad, n, sizeof bad);
      ck_assert(n > 0 || refusal((int)n));
      sealed += n > 0;
      passed += n > 0 && check_decode(bad, n);
    }
    free(b.at);
    sample_free(s);
  }
  ck_assert_int_gt(sealed, 5000);
  ck_assert_int_gt(passed, sealed / 2);
}
END_TEST

/* ---- made by hand ---- */

typedef struct body { unsigned char at[8192]; ldg_writer w; } body;

static body *body_new(int flags) {
  body *b = malloc(sizeof *b);
  b->w = (ldg_writer){ b->at, sizeof b->at, 0 };
  ldg_wire_put_byte(&b->w, 'l');
  ldg_wire_put_byte(&b->w, 2);
  ldg_wire_put_byte(&b->w, flags);
  return b;
}

static void put(body *b, int64_t n, const int64_t *numbers) {
  for (int64_t i = 0; i < n; i++) ldg_wire_put_uint(&b->w, (uint64_t)numbers[i]);
}
#define PUT(b, ...) put(b, COUNT_OF(LIST(__VA_ARGS__)), LIST(__VA_ARGS__))

/* Sealed if it can be; what the decoder says. */
static int verdict(body *b) {
  lading_type *t = NULL;
  int64_t n = ldg_wire_seal(b->at, b->w.len, sizeof b->at);
  start_counting();
  int rc = lading_wire_decode(b->at, n > 0 ? n : b->w.len, &t);
  ck_assert_int_le(peak, LDG_WIRE_MEMORY(n > 0 ? n : b->w.len));
  if (t) check_usable(t);
  lading_type_free(t);
  free(b);
  return rc;
}

enum { NATURAL = 2, FEW_BYTES = 4 }; /* 4 bytes as 4 elements of kind 0 */
#define NUMBERS(want, flags, ...) do { body *b_ = body_new(flags); PUT(b_, __VA_ARGS__); ck_assert_int_eq(verdict(b_), want); } while (0)

START_TEST(by_hand) {
  const int64_t huge = INT64_MAX;
  NUMBERS(LADING_OK, NATURAL, 1, 0, 4, 1, LADING_BYTE, 4);
  NUMBERS(LADING_OK, NATURAL, 1, 0, 4, 1, LADING_INT32, 1);
  NUMBERS(LADING_OK, NATURAL, 1, 0, 0, 0);                                          /* the empty type */
  NUMBERS(LADING_OK, 1, 5, 9, 1, 0, 0, 0);                                          /* with markers */
  NUMBERS(LADING_OK, NATURAL | 4 << 2, 1, 0, 4, 1, LADING_BYTE, 4);
  NUMBERS(LADING_ERR_FORMAT, NATURAL | 4 << 2, 1, 0, 0, 0);                         /* nothing, aligned */
  NUMBERS(LADING_ERR_FORMAT, 0, 5, 9, 1, 0, 0, 0);                                  /* nothing, with bounds but no markers */
  NUMBERS(LADING_ERR_FORMAT, 32 | NATURAL, 1, 0, 4, 1, LADING_BYTE, 4);             /* an unknown flag */
  NUMBERS(LADING_ERR_OVERFLOW, 0, -2, -2, 1, 0, 4, 1, LADING_BYTE, 4);                /* INT64_MAX, twice */
  NUMBERS(LADING_ERR_FORMAT, NATURAL, 1, 0, 4, 1, LADING_BYTE, 3);                  /* fewer elements than bytes */
  NUMBERS(LADING_ERR_FORMAT, NATURAL, 1, 0, 4, 1, LADING_DOUBLE, 1);
  NUMBERS(LADING_ERR_FORMAT, NATURAL, 1, 0, 4, 0);
  NUMBERS(LADING_ERR_FORMAT, NATURAL, 1, 0, 4, 1, LADING_BYTE, 0);
  NUMBERS(LADING_ERR_FORMAT, NATURAL, 1, 0, 4, 1, LADING_ELEM_MAX, 4);
  NUMBERS(LADING_ERR_FORMAT, NATURAL, 1, 0, 4, 2, LADING_BYTE, 2, LADING_BYTE, 2);  /* two signatures */
  NUMBERS(LADING_ERR_FORMAT, NATURAL, 1, 0, 4, 3, LADING_BYTE, 2, LADING_BYTE, 2, 64, 2, 1); /* neighbours of one kind */
  NUMBERS(LADING_OK, NATURAL, 1, 0, 4, 3, LADING_BYTE, 2, LADING_INT8, 2, 64, 2, 1);
  NUMBERS(LADING_ERR_FORMAT, NATURAL, 1, 0, 4, 3, LADING_BYTE, 2, LADING_INT8, 2, 64, 3, 1);
  NUMBERS(LADING_ERR_FORMAT, NATURAL, 1, 0, 4, 2, LADING_BYTE, 4, 64, 1, 1);
  NUMBERS(LADING_ERR_OVERFLOW, NATURAL, 1, 0, 4, 1, LADING_DOUBLE, huge);
  NUMBERS(LADING_ERR_FORMAT, NATURAL, 0, 0);                                        /* no node */
  NUMBERS(LADING_ERR_FORMAT, NATURAL, 1, 1, 3, 8, 1, LADING_BYTE, 12);              /* a repeat of nothing */
  NUMBERS(LADING_OK, NATURAL, 2, 0, 4, 1, 3, 16, 1, LADING_BYTE, 12);
  NUMBERS(LADING_ERR_FORMAT, NATURAL, 2, 0, 0, 1, 3, 16, 1, LADING_BYTE, 12);       /* of an empty node */
  NUMBERS(LADING_ERR_FORMAT, NATURAL, 2, 0, 4, 1, 0, 16, 0);                        /* no times */
  NUMBERS(LADING_ERR_OVERFLOW, NATURAL, 2, 0, 4, 1, huge, 16, 1, LADING_BYTE, 12);
  NUMBERS(LADING_ERR_FORMAT, NATURAL, 2, 0, 4, 0, 4, 1, LADING_BYTE, 8);            /* two trees */
  NUMBERS(LADING_ERR_FORMAT, NATURAL, 2, 0, 4, 6, 1, 1, LADING_BYTE, 4);            /* an unknown node */
  NUMBERS(LADING_OK, NATURAL, 2, 0, 4, 2, 3, 0, 0, 8, 2, 6, 1, LADING_BYTE, 12);    /* blocks at 0, 8, 32 */
  NUMBERS(LADING_ERR_FORMAT, NATURAL, 2, 0, 4, 2, 0, 0, 1, LADING_BYTE, 4);         /* at no place */
  NUMBERS(LADING_ERR_FORMAT, NATURAL, 2, 0, 4, 2, 3, 0, 0, 0, 2, 6, 1, LADING_BYTE, 12); /* a unit of 0 */
  NUMBERS(LADING_ERR_FORMAT, NATURAL, 2, 0, 4, 2, 3, 0, 2, 8, 2, 6, 1, LADING_BYTE, 12);
  NUMBERS(LADING_ERR_FORMAT, NATURAL, 2, 0, 4, 2, (int64_t)1 << 40, 0, 0, 8, 2, 6, 1, LADING_BYTE, 12);
  NUMBERS(LADING_ERR_OVERFLOW, NATURAL, 2, 0, 4, 2, 3, 0, 0, huge, 2, 6, 1, LADING_BYTE, 12);
  NUMBERS(LADING_ERR_OVERFLOW, NATURAL, 2, 0, 4, 2, 3, 0, 1, 1, huge - 1, huge, huge, 1, LADING_BYTE, 12);
  NUMBERS(LADING_OK, NATURAL, 2, 0, 4, 3, 16, 2, 4, 0, 1, 1, 2, 0, 0, 64, 2, 1, LADING_BYTE, 12);       /* 2 at 0, 1 at 64 */
  NUMBERS(LADING_ERR_FORMAT, NATURAL, 2, 0, 4, 3, 16, 2, 4, 0, 1, 1, 3, 0, 0, 64, 2, 2, 1, LADING_BYTE, 12); /* 2 counts, 3 places */
  NUMBERS(LADING_ERR_FORMAT, NATURAL, 2, 0, 4, 3, 16, 2, 2, 0, 1, 3, 2, 0, 0, 64, 2, 1, LADING_BYTE, 8);     /* 1 and -1 times */
  NUMBERS(LADING_OK, NATURAL, 3, 0, 4, 0, 2, 4, 2, 0, 0, 8, 2, 1, LADING_BYTE, 6);
  NUMBERS(LADING_ERR_FORMAT, NATURAL, 2, 0, 4, 4, 2, 0, 0, 8, 2, 1, LADING_BYTE, 6);                    /* a join of more than there is */
  NUMBERS(LADING_OK, NATURAL, 4, 0, 4, 1, 3, 16, 5, 1, 4, 2, 0, 0, 128, 2, 1, LADING_BYTE, 24);         /* a repeat, and again */
  NUMBERS(LADING_OK, NATURAL, 6, 0, 4, 1, 3, 16, 1, 2, 128, 5, 2, 5, 1, 4, 3, 0, 0, 256, 2, 2, 1, LADING_BYTE, 60); /* the last but one, the last */
  NUMBERS(LADING_ERR_FORMAT, NATURAL, 3, 0, 4, 5, 1, 4, 2, 0, 0, 8, 2, 1, LADING_BYTE, 8);              /* bytes do not come again */
  NUMBERS(LADING_ERR_FORMAT, NATURAL, 4, 0, 4, 1, 3, 16, 5, 2, 4, 2, 0, 0, 128, 2, 1, LADING_BYTE, 24); /* before the first one */
  NUMBERS(LADING_ERR_FORMAT, NATURAL, 4, 0, 4, 1, 3, 16, 5, 0, 4, 2, 0, 0, 128, 2, 1, LADING_BYTE, 24); /* itself */
  NUMBERS(LADING_ERR_FORMAT, NATURAL, 3, 0, 4, 1, 3, 16, 5, 1, 1, LADING_BYTE, 12);                     /* left over */
}
END_TEST

START_TEST(heads) {
  static const unsigned char other_magic[] = { 'm', 2, 2, 1, 0, 4, 1, 0, 4 }, other_version[] = { 'l', 1, 2, 1, 0, 4, 1, 0, 4 },
                             long_spelling[] = { 'l', 2, 2, 1, 0, 0x84, 0, 1, 0, 4 };
  unsigned char b[64];
  const unsigned char *const bad[] = { other_magic, other_version, long_spelling };
  for (int i = 0; i < 3; i++) {
    memcpy(b, bad[i], 9);
    ck_assert_int_eq(ldg_wire_seal(b, 9 + (i == 2), sizeof b), LADING_ERR_FORMAT);
  }
  lading_type *t = NULL;
  ck_assert_int_eq(lading_wire_decode(NULL, 0, &t), LADING_ERR_FORMAT);
  ck_assert_ptr_null(t);
}
END_TEST

/* Another true_lb, true_extent or id than that of what stands before it. */
START_TEST(the_seal_is_checked) {
  lading_type *t = parsed("vector(8,1,8,double)"), *out = NULL;
  bytes b = encoded(t);
  for (int64_t i = b.n - 20; i < b.n; i++)
    for (int bit = 0; bit < 7; bit++) {
      b.at[i] ^= (unsigned char)(1 << bit);
      if (i >= b.n - 19) ck_assert_int_eq(lading_wire_decode(b.at, b.n, &out), LADING_ERR_FORMAT);
      b.at[i] ^= (unsigned char)(1 << bit);
    }
  ck_assert_ptr_null(out);
  lading_type_free(t);
  free(b.at);
}
END_TEST

static void put_nested(body *b, int levels) {
  PUT(b, levels + 1, 0, 1);
  for (int i = 0; i < levels; i++) PUT(b, 1, 1, 0);
  PUT(b, 1, LADING_BYTE, 1);
}

static void put_nested_items(body *b, int levels) {
  PUT(b, 1, 0, 1 + 1 * levels, 1 + 2 * levels, LADING_BYTE, 1);
  for (int i = 0; i < levels; i++) PUT(b, LADING_INT8, 1, 64, 2, 1);
}

START_TEST(depth_is_limited) {
  for (int levels = 100; levels < 400; levels++) {
    body *a = body_new(NATURAL), *b = body_new(NATURAL);
    put_nested(a, levels);
    put_nested_items(b, levels);
    const int want[2] = { levels < LADING_DEPTH_MAX + 64 ? LADING_OK : LADING_ERR_DEPTH, levels < LADING_DEPTH_MAX ? LADING_OK : LADING_ERR_DEPTH };
    ck_assert_int_eq(verdict(a), want[0]);
    ck_assert_int_eq(verdict(b), want[1]);
  }
}
END_TEST

/* What costs the decoder most: nodes of two bytes each, left over or joined; lists; items; parts. */
enum { MANY = 1000 };

static void put_same(body *b, int64_t n, int64_t v) {
  for (int64_t i = 0; i < n; i++) PUT(b, v);
}

static void put_few_elements(body *b) { PUT(b, 1, LADING_BYTE, MANY); }

static void put_leftover_nodes(body *b) {
  PUT(b, MANY);
  for (int i = 0; i < MANY; i++) PUT(b, 0, 1);
  put_few_elements(b);
}

static void put_joined_nodes(body *b) {
  PUT(b, MANY + 1);
  for (int i = 0; i < MANY; i++) PUT(b, 0, 1);
  PUT(b, 4, MANY, 0, 0, 1);
  put_same(b, MANY - 1, 4);
  put_few_elements(b);
}

static void put_joined_again(body *b) {
  PUT(b, MANY + 2, 0, 1, 1, 2, 2);
  for (int i = 1; i < MANY; i++) PUT(b, 5, 1);
  PUT(b, 4, MANY, 0, 0, 1);
  put_same(b, MANY - 1, 4);
  PUT(b, 1, LADING_BYTE, 2 * MANY);
}

static void put_shared(body *b) { /* repeats of one that has two runs, all of them joined */
  PUT(b, 2 * MANY + 3, 0, 1, 1, 2, 4);
  for (int i = 1; i <= MANY; i++) PUT(b, 5, i, 1, 1, 0);
  PUT(b, 4, MANY + 1, 0, 0, 1);
  put_same(b, MANY, 16);
  PUT(b, 1, LADING_BYTE, 2 * MANY + 2);
}

static void put_long_list(body *b) {
  PUT(b, 2, 0, 1, 2, MANY, 0, 0, 1);
  put_same(b, MANY - 1, 4);
  put_few_elements(b);
}

static void put_counted_list(body *b) {
  PUT(b, 2, 0, 1, 3, 4, MANY, 2, 0, 1);
  put_same(b, MANY - 1, 0);
  PUT(b, MANY, 0, 0, 1);
  put_same(b, MANY - 1, 4);
  put_few_elements(b);
}

static void put_many_parts(body *b) {
  PUT(b, 1, 0, MANY, MANY + 1);
  for (int i = 0; i < MANY; i++) PUT(b, i % 2, 1);
  PUT(b, 64, MANY, 1);
}

START_TEST(memory_is_bounded) {
  static void (*const make[])(body *) = { put_leftover_nodes, put_joined_nodes, put_joined_again, put_shared, put_long_list, put_counted_list, put_many_parts };
  for (int i = 0; i < COUNT_OF(make); i++) {
    body *b = body_new(NATURAL);
    make[i](b);
    const int64_t n = b->w.len;
    const int rc = verdict(b);
    ck_assert_int_eq(rc, i ? LADING_OK : LADING_ERR_FORMAT);
    printf("%" PRId64 " bytes of input take %" PRId64 " bytes of memory\n", n, peak);
  }
}
END_TEST

/* ---- arguments, and no memory ---- */

START_TEST(arguments) {
  const lading_type *d = lading_elem_type(LADING_DOUBLE);
  lading_type *t = NULL;
  unsigned char b[64];
  int64_t n, used = -7;
  ck_assert_int_eq(lading_wire_size(NULL, &n), LADING_ERR_ARG);
  ck_assert_int_eq(lading_wire_size(d, NULL), LADING_ERR_ARG);
  ck_assert_int_eq(lading_wire_encode(NULL, b, 64, &used), LADING_ERR_ARG);
  ck_assert_int_eq(lading_wire_encode(d, NULL, 64, &used), LADING_ERR_ARG);
  ck_assert_int_eq(lading_wire_encode(d, b, -1, &used), LADING_ERR_ARG);
  ck_assert_int_eq(lading_wire_encode(d, b, 64, NULL), LADING_ERR_ARG);
  ck_assert_int_eq(used, -7);
  ck_assert_int_eq(lading_wire_size(d, &n), LADING_OK);
  memset(b, 0xEE, sizeof b);
  ck_assert_int_eq(lading_wire_encode(d, b, n - 1, &used), LADING_ERR_RANGE);
  ck_assert_int_eq(used, n);
  for (int i = 0; i < 64; i++) ck_assert_int_eq(b[i], 0xEE);
  ck_assert_int_eq(lading_wire_encode(d, NULL, 0, &used), LADING_ERR_RANGE);
  ck_assert_int_eq(lading_wire_encode(d, b, n, &used), LADING_OK);
  ck_assert_int_eq(b[n], 0xEE);
  ck_assert_int_eq(lading_wire_decode(NULL, 4, &t), LADING_ERR_ARG);
  ck_assert_int_eq(lading_wire_decode(b, -1, &t), LADING_ERR_ARG);
  ck_assert_int_eq(lading_wire_decode(b, n, NULL), LADING_ERR_ARG);
  ck_assert_ptr_null(t);
}
END_TEST

static void check_oom(const char *text, int64_t before) {
  for (int64_t n = 0;; n++) {
    lading_type *t = parsed(text), *d = NULL;
    unsigned char b[1024];
    int64_t used = -7;
    memset(b, 0xEE, sizeof b);
    ldg_alloc_fail(n);
    int rc = lading_wire_encode(t, b, sizeof b, &used);
    if (!rc) rc = lading_wire_decode(b, used, &d);
    ldg_alloc_fail(-1);
    ck_assert_msg(rc == LADING_OK || (rc == LADING_ERR_NOMEM && !d && (used != -7 || b[0] == 0xEE)), "%s, allocation %" PRId64 ": %d", text, n, rc);
    lading_type_free(t);
    lading_type_free(d);
    ck_assert_msg(ldg_alloc_live() == before, "%s, allocation %" PRId64 ": leak", text, n);
    if (!rc) return;
    ck_assert_int_lt(n, 1000);
  }
}

#define PART(n) "hvector(300,1,24,hindexed_block(1,[0," #n ",20],byte))" /* each has a name, and the table of names takes memory from nine on */
START_TEST(no_memory) {
  for (int k = 0; k < LADING_ELEM_MAX; k++) ck_assert_int_eq(lading_type_commit(lading_elem_type((lading_elem)k)), LADING_OK);
  const int64_t before = ldg_alloc_live();
  check_oom("vector(8,1,8,double)", before);
  check_oom("hindexed([3,1,2,7],[0,40,100,200],int32)", before);
  check_oom("struct([1,2,1],[0,16,100],[int32,vector(3,1,2,struct([1,1],[0,8],[double,char])),hindexed_block(1,[0,9,13],byte)])", before);
  check_oom("struct([1,1,1,1,1,1,1,1,1],[0,10000,20000,30000,40000,50000,60000,70000,80000],[" PART(2) "," PART(3) "," PART(4) "," PART(5) "," PART(6) "," PART(7) "," PART(8) "," PART(9) "," PART(10) "])", before);
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("wire", argc, argv, random_types_return, built_in_types_return, one_encoding_for_one_sequence, large_trees_return, odd_numbers_return,
                    nests_are_short, lists_take_few_bytes, every_cut_is_refused, alterations_do_no_harm, by_hand, heads, the_seal_is_checked,
                    depth_is_limited, memory_is_bounded, arguments, no_memory);
}
