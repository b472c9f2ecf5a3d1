/* op: reductions while packing, unpacking and copying, against a scalar judge of every element of the naive stream. */
#include "random_types.h"
#include "elements.h"

#include "api.h"
#include "base_model.h"

/* ---- the checks ---- */

static const char *const op_names[] = { "replace", "sum", "prod", "min", "max", "land", "lor", "lxor", "band", "bor", "bxor", "minloc", "maxloc" };

/* Values for all elements of the stream, packed. */
static buffer packed_values(const side *s, rng *r) {
  buffer b = buffer_new(s->pos[s->n]);
  for (int64_t i = 0; i < s->n; i++) some_element(r, s->kind[i], b.data + s->pos[i]);
  return b;
}

static void reduce_element(int op, int kind, const char *a, char *b) {
  if (op == LADING_REPLACE) memcpy(b, a, (size_t)elem_size(kind));
  else ref_op(op, kind, a, b);
}

/* Elements [i, j), in `parts` calls. */
static void check_unpack(side *s, const buffer *packed, int op, int64_t i, int64_t j, int64_t parts) {
  buffer before = copy_of(&s->b), want;
  char e[32];
  for (int64_t k = i; k < j; k++) get_element(s, k, e), reduce_element(op, s->kind[k], packed->data + s->pos[k], e), put_element(s, k, e);
  want = copy_of(&s->b);
  memcpy(s->b.data, before.data, (size_t)before.n);
  for (int64_t p = 0; p < parts; p++) {
    const int64_t lo = s->pos[i + (j - i) * p / parts], hi = s->pos[i + (j - i) * (p + 1) / parts];
    ck_assert_int_eq(lading_unpack_op(s->type, s->count, base_of(s), packed->data + lo, lo, hi, (lading_op)op), LADING_OK);
  }
  same_bytes(op_names[op], &want, &s->b, s, s->pos[i], s->pos[j]);
  buffer_free(&want);
  buffer_free(&before);
}

static void check_pack(side *s, buffer *packed, int op, int64_t i, int64_t j) {
  buffer want = copy_of(packed), mem = copy_of(&s->b);
  const int64_t lo = s->pos[i], hi = s->pos[j];
  char e[32];
  for (int64_t k = i; k < j; k++) get_element(s, k, e), reduce_element(op, s->kind[k], e, want.data + s->pos[k]);
  ck_assert_int_eq(lading_pack_op(s->type, s->count, base_of(s), packed->data + lo, lo, hi, (lading_op)op), LADING_OK);
  same_bytes(op_names[op], &want, packed, s, lo, hi);
  same_bytes("the source of pack_op", &mem, &s->b, s, lo, hi);
  buffer_free(&want);
  buffer_free(&mem);
}

/* Whole, twice, since the first call chooses the way, and some ranges; [lo, hi) inside of an element is refused. */
static void check_op(side *s, int op, int ranges, rng *r) {
  buffer packed = packed_values(s, r);
  for (int t = 0; t <= ranges; t++, buffer_free(&packed), packed = packed_values(s, r)) {
    const int64_t i = t > 1 ? rng_in(r, 0, s->n) : 0, j = t > 1 ? rng_in(r, i, s->n) : s->n;
    side_fill(s, r);
    check_pack(s, &packed, op, i, j);
    check_unpack(s, &packed, op, i, j, t % 3 + 1);
  }
  for (int64_t k = 0; k < s->n && op != LADING_REPLACE; k += 1 + s->n / 4)
    for (int64_t cut = s->pos[k] + 1; cut < s->pos[k + 1]; cut++) {
      buffer before = copy_of(&s->b);
      ck_assert_int_eq(lading_unpack_op(s->type, s->count, base_of(s), packed.data, cut, s->pos[s->n], (lading_op)op), LADING_ERR_ARG);
      ck_assert_int_eq(lading_unpack_op(s->type, s->count, base_of(s), packed.data, 0, cut, (lading_op)op), LADING_ERR_ARG);
      same_bytes("refused", &before, &s->b, s, cut, cut);
      buffer_free(&before);
    }
  buffer_free(&packed);
}

static void check_refused(side *s, int op, rng *r) {
  buffer packed = packed_values(s, r), before = copy_of(&packed), mem = copy_of(&s->b);
  const int64_t n = s->pos[s->n];
  ck_assert_int_eq(lading_pack_op(s->type, s->count, base_of(s), packed.data, 0, n, (lading_op)op), LADING_ERR_UNSUPPORTED);
  ck_assert_int_eq(lading_unpack_op(s->type, s->count, base_of(s), packed.data, 0, n, (lading_op)op), LADING_ERR_UNSUPPORTED);
  ck_assert_int_eq(lading_copy_op(s->type, s->count, packed.data, s->type, s->count, base_of(s), 0, 0, (lading_op)op), LADING_ERR_UNSUPPORTED);
  same_bytes("refused", &before, &packed, s, 0, n);
  same_bytes("refused", &mem, &s->b, s, 0, n);
  buffer_free(&packed);
  buffer_free(&before);
  buffer_free(&mem);
}

/* ---- ways ---- */

enum { AS_PLANNED, BY_BLOCKS, BY_TILES, WAYS };

/* What types of which no plan is there will go by, as far as they can. */
static void use_way(int way) {
  static ldg_model models[WAYS];
  ldg_model *m = &models[way];
  *m = ldg_model_builtin();
  if (way == BY_TILES) m->number[LDG_MODEL_REDUCED] = INT32_MAX;
  for (int i = 12; way == BY_BLOCKS && i < LDG_MODEL_COPIES; i++) m->copy[i] = (int64_t)INT32_MAX << i; /* those of a tile, and of more */
  ldg_model_use(way == AS_PLANNED ? NULL : m);
}

static ldg_op_way way_of(const lading_type *t, int64_t count, int dir, lading_elem kind) {
  const ldg_plan *p;
  ck_assert_int_eq(ldg_api_plan(t, &p), LADING_OK);
  return ldg_plan_op_way(p, count, dir, kind, ldg_plan_op(LADING_SUM, kind)->size);
}

/* What explain says of one item. */
static bool says(const lading_type *t, const char *what) {
  static char text[16 << 10];
  ck_assert_int_lt(lading_explain(t, 1, text, sizeof text), (int64_t)sizeof text);
  return strstr(text, what) != NULL;
}

START_TEST(the_table_decides) {
  for (int kind = LADING_INT8; kind <= LADING_DOUBLE; kind++)
    for (int way = BY_BLOCKS; way <= BY_TILES; way++) {
      use_way(way);
      sample *t = s_vector(20, 3, 5, s_elem(kind)), *twice = s_vector(5, 3, 2, s_elem(kind));
      const ldg_op_way wanted = way == BY_TILES ? LDG_OP_TILES : LDG_OP_BLOCKS;
      for (int64_t count = 1; count <= 3; count++) {
        ck_assert_int_eq(way_of(t->type, count, LDG_PACK, (lading_elem)kind), wanted);
        ck_assert_int_eq(way_of(t->type, count, LDG_UNPACK, (lading_elem)kind), wanted);
        ck_assert_int_eq(way_of(twice->type, count, LDG_UNPACK, (lading_elem)kind), LDG_OP_BLOCKS); /* in the order of the stream */
      }
      ck_assert(says(t->type, way == BY_TILES ? "\n  unpack: through packed tiles; predicted" : "\n  unpack: block by block; predicted"));
      ck_assert(says(twice->type, "\n  unpack: block by block; destinations may coincide"));
      sample_free(t), sample_free(twice);
    }
  use_way(AS_PLANNED);
}
END_TEST

/* Streams of several tiles, with ends between any two elements, also where no tile ends with an item. */
START_TEST(long_streams) {
  rng r = rng_of(50);
  for (int k = 0, n = share_of(36); k < n; k++) {
    const int i = k * 36 / n;
    const int kind = (int[]){ LADING_INT8, LADING_UINT16, LADING_INT32, LADING_DOUBLE, LADING_C_DOUBLE, LADING_LONG_DOUBLE }[i % 6];
    sample *t = i % 4 == 0 ? s_vector(rng_in(&r, 900, 5000), 3, 5, s_elem(kind)) : i % 4 == 1 ? s_contiguous(rng_in(&r, 64, 96), s_resized(s_vector(70, 1, 96, s_elem(kind)), 0, elem_size(kind)))
              : i % 4 == 2 ? s_contiguous(rng_in(&r, 900, 1500), S_STRUCT(3, LIST(1, 2, 1), LIST(0, 24, 50), s_elem(kind), s_elem(LADING_INT32), s_elem(LADING_UINT16)))
                           : S_STRUCT(3, LIST(3000, 2900, 7), LIST(0, 60000, 80000), s_vector(1, 1, 1, s_elem(LADING_INT16)), s_elem(LADING_INT32), s_elem(kind));
    use_way(i / 4 % WAYS);
    side s = side_of(t, rng_in(&r, 1, 2), &r);
    check_op(&s, kind == LADING_C_DOUBLE ? LADING_SUM : i % 2 ? LADING_MAX : LADING_MIN, 3, &r);
    side_free(&s);
    sample_free(t);
  }
  use_way(AS_PLANNED);
}
END_TEST

/* Tiles are of more rows where a transpose needs them, of fewer where there is no memory; copies have one on either side. */
static sample *matrix(int64_t n, int kind) { return s_contiguous(n, s_resized(s_vector(n, 1, n, s_elem(kind)), 0, elem_size(kind))); }
static void copy_ranges(const sample *from, int64_t fc, const sample *to, int64_t tc, int op, rng *r);
START_TEST(large_tiles) {
  rng r = rng_of(53);
  const ldg_plan *p;
  for (int k = 0, n = (int)ldg_max(4, share_of(12)); k < n; k++) {
    const int i = k * 12 / n;
    const int kind = (int[]){ LADING_INT16, LADING_INT32, LADING_DOUBLE }[i % 3];
    use_way(i / 3 % 2 ? BY_TILES : AS_PLANNED);
    sample *t = matrix(132 + 30 * (i % 2), kind), *rows = s_vector(800, 11, 13, s_elem(kind)), *others = s_vector(1700, 7, 8, s_elem(kind)), *turned = matrix(137, kind);
    side s = side_of(t, 1, &r);
    ck_assert_int_eq(ldg_api_plan(t->type, &p), LADING_OK);
    ck_assert_int_gt(ldg_plan_tile(p, NULL), LDG_PLAN_TILE);
    if (i % 4 == 3) ldg_alloc_fail(0);
    check_op(&s, i % 2 ? LADING_SUM : LADING_MAX, 2, &r);
    ldg_alloc_fail(-1);
    copy_ranges(rows, 1, others, 1, LADING_SUM, &r);   /* no nest in common */
    copy_ranges(rows, 1, rows, 1, LADING_MAX, &r);     /* one in common */
    copy_ranges(t, 1, turned, 1, LADING_SUM, &r);
    side_free(&s);
    sample_free(t), sample_free(rows), sample_free(others), sample_free(turned);
  }
  use_way(AS_PLANNED);
}
END_TEST

/* Where no kernels are asked for, whole messages of up to 8 KiB go through a tile on the stack, and copies of up to 1024 bytes; and from 512 bytes on no other way than before. */
START_TEST(few_bytes) {
  rng r = rng_of(54);
  setenv("LADING_JIT", "off", 1);
  for (int k = 0, cases = share_of(200); k < cases; k++) {
    const int i = k * 200 / cases;
    static const int64_t bytes[] = { 496, 504, 512, 520, 1008, 1016, 1024, 1032, 4096, 8184, 8192, 8200 };
    const int kind = (int[]){ LADING_DOUBLE, LADING_FLOAT, LADING_INT64, LADING_INT16 }[i % 4];
    const int64_t n = bytes[i % COUNT_OF(bytes)] / elem_size(kind), m = i % 3 == 0 ? 2 : 1;
    use_way(i / 4 % WAYS);
    sample *t = i % 5 == 4 ? s_hvector(n, 1, -3 * elem_size(kind), s_elem(kind)) : s_vector(n / m, m, 2 * m + 1, s_elem(kind)), *u = s_vector(n, 1, i % 7 == 0 ? 0 : 2, s_elem(kind));
    side s = side_of(t, i % 11 == 0 ? 3 : 1, &r);
    check_op(&s, LADING_SUM, 2, &r);
    copy_ranges(t, 1, u, 1, i % 7 == 0 ? LADING_MAX : LADING_SUM, &r);
    side_free(&s);
    sample_free(t), sample_free(u);
  }
  use_way(AS_PLANNED);
}
END_TEST

/* Loops around a short list go entry by entry, unless their bytes may coincide, where the order of a sum of floats shows: extents from 0 to some times an item. */
START_TEST(lists_in_loops) {
  rng r = rng_of(52);
  for (int i = 0; i < 120; i++) {
    const int kind = (int[]){ LADING_FLOAT, LADING_UINT16, LADING_DOUBLE, LADING_UINT64 }[i % 4];
    const int64_t size = elem_size(kind), n = i % 7 == 0 ? 70 : rng_in(&r, 2, 12);
    int64_t at[70];
    for (int64_t k = 0, a = 0; k < n; k++) at[k] = a, a += rng_in(&r, 1, 4) + 2 * (i % 3);
    use_way(i % 2 ? BY_BLOCKS : AS_PLANNED);
    sample *t = s_indexed_block(n, i % 3 + 1, at, s_elem(kind));
    if (i % 5) t = s_resized(t, 0, rng_in(&r, i % 5 == 1 ? 0 : 300, 400) * size);
    if (i % 2) t = s_contiguous(rng_in(&r, 14, 40), t);
    side s = side_of(t, i % 2 ? 1 : rng_in(&r, 14, 40), &r);
    check_op(&s, i % 3 ? LADING_SUM : LADING_MAX, 4, &r);
    side_free(&s);
    sample_free(t);
  }
  use_way(AS_PLANNED);
}
END_TEST

/* ---- rows ---- */

enum { ROWS = 7, ROWS_OF_ONE = 20, ROW_MOST = 40, ROW_ROOM = 12 << 10, ROW_AT = 4 << 10 };
typedef struct room { char from[ROW_ROOM], to[ROW_ROOM], got[ROW_ROOM], want[ROW_ROOM]; } room;

static void fill_room(room *x, int kind, rng *r) {
  for (int64_t at = 0, n = elem_size(kind); at + n <= ROW_ROOM; at += n) some_element(r, kind, x->from + at), some_element(r, kind, x->to + at);
}
static void same_rooms(const room *x, const char *what, int op, int kind, int64_t m) {
  if (memcmp(x->got, x->want, ROW_ROOM)) ck_abort_msg("%s: %s of %lld elements of kind %d", what, op_names[op], (long long)m, kind);
}

/* By strides, by a list on either side, and of lengths of their own, each row is what the dense loop makes of it; destinations may coincide. */
static void check_rows(const ldg_op *k, int op, int kind, int64_t m, room *x, rng *r) {
  const int64_t n = rng_in(r, 0, m == 1 ? ROWS_OF_ONE : ROWS), size = k->size, apart = m == 1 ? size : 3 * size; /* all of it within the room */
  const int64_t ss = rng_in(r, -4, 4) * apart, ds = m == 1 && rng_in(r, 0, 1) ? size : rng_in(r, -4, 4) * apart;
  int64_t at[ROWS_OF_ONE], sum[ROWS_OF_ONE + 1] = { 0 };
  memcpy(x->got, x->to, ROW_ROOM), memcpy(x->want, x->to, ROW_ROOM);
  k->strided(x->from + ROW_AT, x->got + ROW_AT, n, m, ss, ds);
  for (int64_t i = 0; i < n; i++) k->dense(x->from + ROW_AT + i * ss, x->want + ROW_AT + i * ds, m);
  same_rooms(x, "strided", op, kind, m);
  const ldg_op_planes p = { n, m, ss, ds, rng_in(r, 0, 3), rng_in(r, -9, 9) * size, rng_in(r, -9, 9) * size };
  k->planes(x->from + ROW_AT, x->got + ROW_AT, &p);
  for (int64_t j = 0; j < p.planes; j++)
    for (int64_t i = 0; i < n; i++) k->dense(x->from + ROW_AT + i * ss + j * p.src_out, x->want + ROW_AT + i * ds + j * p.dst_out, m);
  same_rooms(x, "planes", op, kind, m);
  for (int64_t i = 0; i < n; i++) at[i] = rng_in(r, 0, 2 * m) * size, sum[i + 1] = sum[i] + rng_in(r, 0, m) * size;
  for (int to = 0; to < 2; to++) {
    k->listed(x->from, x->got, n, m, at, m * size, to);
    for (int64_t i = 0; i < n; i++) k->dense(x->from + (to ? i * m * size : at[i]), x->want + (to ? at[i] : i * m * size), m);
    same_rooms(x, "listed", op, kind, m);
    k->ragged(x->from, x->got, n, at, sum, to);
    for (int64_t i = 0; i < n; i++) k->dense(x->from + (to ? sum[i] : at[i]), x->want + (to ? at[i] : sum[i]), (sum[i + 1] - sum[i]) / size);
    same_rooms(x, "ragged", op, kind, m);
  }
}

START_TEST(rows_of_every_length) {
  rng r = rng_of(51);
  room *x = malloc(sizeof *x);
  for (int op = LADING_SUM; op < LADING_OP_MAX; op++)
    for (int kind = 0; kind < LADING_ELEM_MAX; kind++)
      for (int64_t m = 0; m <= ROW_MOST && ref_defined(op, kind); m += 1 + (m > 20) * 3) {
        if (m == 0) fill_room(x, kind, &r);
        check_rows(ldg_plan_op((lading_op)op, (lading_elem)kind), op, kind, m, x, &r);
      }
  free(x);
}
END_TEST

/* ---- the matrix ---- */

START_TEST(every_op_on_every_element) {
  rng r = rng_of(41);
  for (int kind = 0; kind < LADING_ELEM_MAX; kind++)
    for (int which = 0; which < SHAPES; which++) {
      use_way((kind + which) % WAYS);
      sample *t = shape(which, kind);
      for (int64_t count = 1; count <= 3; count += 2) {
        side s = side_of(t, count, &r);
        for (int op = 0; op < LADING_OP_MAX; op++) {
          ck_assert_int_eq(lading_op_supported((lading_op)op, (lading_elem)kind), ref_defined(op, kind));
          if (ref_defined(op, kind)) check_op(&s, op, 3, &r);
          else check_refused(&s, op, &r);
        }
        side_free(&s);
      }
      sample_free(t);
    }
}
END_TEST

START_TEST(what_is_no_op_or_no_element) {
  ck_assert(!lading_op_supported(LADING_OP_MAX, LADING_INT32) && !lading_op_supported((lading_op)-1, LADING_INT32));
  ck_assert(!lading_op_supported(LADING_REPLACE, LADING_ELEM_MAX) && !lading_op_supported(LADING_SUM, (lading_elem)-1));
  int32_t a = 1, b = 2;
  const lading_type *t = lading_elem_type(LADING_INT32);
  ck_assert_int_eq(lading_unpack_op(t, 1, &a, &b, 0, 4, LADING_OP_MAX), LADING_ERR_ARG);
  ck_assert_int_eq(lading_pack_op(t, 1, &a, &b, 0, 4, (lading_op)-1), LADING_ERR_ARG);
  ck_assert_int_eq(lading_copy_op(t, 1, &a, t, 1, &b, 0, 4, LADING_OP_MAX), LADING_ERR_ARG);
  ck_assert_int_eq(lading_unpack_op(NULL, 1, &a, &b, 0, 4, LADING_SUM), LADING_ERR_ARG);
  ck_assert_int_eq(lading_unpack_op(t, -1, &a, &b, 0, 0, LADING_SUM), LADING_ERR_ARG);
  ck_assert_int_eq(lading_unpack_op(t, 1, &a, &b, 0, 5, LADING_SUM), LADING_ERR_RANGE);
  ck_assert_int_eq(lading_unpack_op(t, 1, &a, &b, -4, 4, LADING_SUM), LADING_ERR_RANGE);
  ck_assert_int_eq(lading_unpack_op(t, INT64_MAX, &a, &b, 0, 4, LADING_SUM), LADING_ERR_OVERFLOW);
  ck_assert_int_eq(lading_unpack_op(t, 0, NULL, NULL, 0, 0, LADING_SUM), LADING_OK);
  ck_assert_int_eq(lading_copy_op(t, 0, NULL, t, 1, NULL, 0, 0, LADING_SUM), LADING_OK);
  const lading_type *c = lading_elem_type(LADING_CHAR);
  ck_assert_int_eq(lading_pack_op(c, 0, NULL, NULL, 0, 0, LADING_SUM), LADING_ERR_UNSUPPORTED);
  ck_assert_int_eq(lading_copy_op(c, 0, NULL, c, 0, NULL, 0, 0, LADING_SUM), LADING_ERR_UNSUPPORTED);
  lading_type *far; /* one run of all items, which ends beyond 64 bits */
  ck_assert_int_eq(lading_type_hindexed_block(1, 1, LIST(INT64_C(1) << 62), lading_elem_type(LADING_BYTE), &far), LADING_OK);
  char *const from = at_offset((char *)&a, -(INT64_C(1) << 62));
  ck_assert_int_eq(lading_unpack_op(far, INT64_C(1) << 62, from, &b, 0, 1, LADING_BOR), LADING_ERR_OVERFLOW);
  ck_assert_int_eq(lading_unpack_op(far, (INT64_C(1) << 62) - 1, from, &b, 0, 0, LADING_BOR), LADING_OK);
  lading_type_free(far);
  ck_assert(a == 1 && b == 2);
}
END_TEST

/* Only the first use of a type may want memory. */
START_TEST(without_memory) {
  sample *t = s_vector(7, 1, 1234567, s_elem(LADING_INT16));
  int16_t in[7] = { 1 };
  ldg_alloc_fail(0);
  ck_assert_int_eq(lading_unpack_op(t->type, 1, in, in, 0, 14, LADING_SUM), LADING_ERR_NOMEM);
  ck_assert_int_eq(lading_unpack_external32(t->type, 1, in, in, 0, 14), LADING_ERR_NOMEM);
  ldg_alloc_fail(-1);
  ck_assert_int_eq(lading_type_commit(t->type), LADING_OK);
  ldg_alloc_fail(0);
  ck_assert_int_eq(lading_unpack_op(t->type, 1, in, in + 1, 0, 2, LADING_SUM), LADING_OK);
  ldg_alloc_fail(-1);
  sample_free(t);
}
END_TEST

/* ---- values ---- */

START_TEST(signed_overflow_wraps) {
  int8_t a = 100, b = 100;
  int16_t c = -32768, d = -1, c2 = -32768;
  int64_t e = INT64_MAX, f = 2;
  uint16_t g = 65535, h = 65535;
  lading_unpack_op(lading_elem_type(LADING_INT8), 1, &b, &a, 0, 1, LADING_SUM);
  lading_unpack_op(lading_elem_type(LADING_INT16), 1, &d, &c, 0, 2, LADING_PROD);
  lading_unpack_op(lading_elem_type(LADING_INT16), 1, &c2, &c, 0, 2, LADING_SUM);
  lading_unpack_op(lading_elem_type(LADING_INT64), 1, &f, &e, 0, 8, LADING_PROD);
  lading_unpack_op(lading_elem_type(LADING_UINT16), 1, &h, &g, 0, 2, LADING_PROD);
  ck_assert(b == -56 && d == -32768 && c2 == 0 && f == -2 && h == 1);
}
END_TEST

START_TEST(nan_and_zero) {
  const double nan = NAN;
  double one = 1, x = nan;
  for (int op = LADING_MIN; op <= LADING_MAX; op++) {
    lading_unpack_op(lading_elem_type(LADING_DOUBLE), 1, &one, &nan, 0, 8, (lading_op)op);
    ck_assert(one == 1);
    lading_unpack_op(lading_elem_type(LADING_DOUBLE), 1, &x, &one, 0, 8, (lading_op)op);
    ck_assert(x != x);
  }
  lading_unpack_op(lading_elem_type(LADING_DOUBLE), 1, &one, &nan, 0, 8, LADING_SUM);
  ck_assert(one != one);
}
END_TEST

/* All 2^16 halves, and sums that round either way, to subnormals, and to infinity. */
START_TEST(halves) {
  for (int kind = LADING_FLOAT16; kind <= LADING_BFLOAT16; kind++) {
    const int bits = kind == LADING_FLOAT16 ? 10 : 7, bias = kind == LADING_FLOAT16 ? 15 : 127;
    static const uint16_t others[] = { 0, 0x8000, 1, 0x3c00, 0x3f80, 0x0400, 0x7bff, 0x7f7f, 0x7c00, 0xfbff, 0x1234, 0x8001, 0x3555 };
    for (int64_t o = 0; o < COUNT_OF(others); o++)
      for (uint32_t h = 0; h < 65536; h++)
        for (int op = LADING_SUM; op <= LADING_MAX; op++) {
          uint16_t got = others[o], want = others[o], src = (uint16_t)h;
          const int rc = lading_unpack_op(lading_elem_type((lading_elem)kind), 1, &got, &src, 0, 2, (lading_op)op);
          ref_half(op, &src, &want, bits, bias);
          const bool nans = isnan(half_value(got, bits, bias)) && isnan(half_value(want, bits, bias));
          if (rc || (got != want && !nans)) ck_abort_msg("op %d of %04x, %04x is %04x, not %04x", op, h, others[o], got, want);
        }
  }
}
END_TEST

START_TEST(pairs_take_the_lower_index) {
  struct { float v; int i; } a = { 2, 7 }, b = { 2, 9 }, c = { 1, 3 };
  lading_unpack_op(lading_elem_type(LADING_FLOAT_INT), 1, &b, &a, 0, 8, LADING_MAXLOC);
  ck_assert(b.v == 2 && b.i == 7);
  lading_unpack_op(lading_elem_type(LADING_FLOAT_INT), 1, &b, &c, 0, 8, LADING_MAXLOC);
  ck_assert(b.v == 2 && b.i == 7);
  lading_unpack_op(lading_elem_type(LADING_FLOAT_INT), 1, &b, &c, 0, 8, LADING_MINLOC);
  ck_assert(b.v == 1 && b.i == 3);
}
END_TEST

/* Every iteration falls onto the same element, or half of one. */
START_TEST(coinciding_destinations) {
  rng r = rng_of(42);
  int32_t in[] = { 1, 2, 3, 4, 5, 6, 7 }, sum = 100;
  sample *t = s_hvector(7, 1, 0, s_elem(LADING_INT32));
  ck_assert_int_eq(lading_unpack_op(t->type, 1, &sum, in, 0, 28, LADING_SUM), LADING_OK);
  ck_assert_int_eq(sum, 128);
  sample_free(t);
  for (int64_t stride = -5; stride <= 5; stride++)
    for (int64_t n = 1; n < 40; n += 6) {
      sample *u = s_hvector(3, 1, stride * 2, s_hvector(n, 2, stride, s_elem(LADING_UINT32)));
      side s = side_of(u, stride & 1 ? 1 : 2, &r);
      check_op(&s, LADING_SUM, 4, &r);
      check_op(&s, LADING_BXOR, 4, &r);
      side_free(&s);
      sample_free(u);
    }
}
END_TEST

static int random_op(rng *r, uint32_t kinds) {
  for (;;) {
    const int op = (int)rng_in(r, 0, LADING_OP_MAX - 1);
    bool all = true;
    for (int e = 0; e < LADING_ELEM_MAX; e++) all &= !(kinds >> e & 1) || ref_defined(op, e);
    if (all) return op;
  }
}

/* Arrays of structs go many items at a time, where these do not overlap and split no element. */
START_TEST(many_mixed_items) {
  rng r = rng_of(48);
  for (int i = 0; i < 200; i++) {
    use_way(i / 5 % WAYS);
    random_kinds = 0x7f8;
    sample *t = random_type(&r, 2, 60);
    if (i % 4) t = S_STRUCT(3, LIST(1, 1, 2), LIST(8, 80, 0), t, s_elem(LADING_UINT16), s_elem(LADING_INT32));
    if (i % 3 == 0) t = S_STRUCT(2, LIST(1, 1), LIST(0, 200), t, s_elem(LADING_2INT));
    if (i % 5) t = s_resized(t, 0, rng_in(&r, -300, 300));
    side s = side_of(t, rng_in(&r, 15, 90), &r);
    check_op(&s, i % 3 ? random_op(&r, random_kinds) : LADING_REPLACE, 5, &r);
    side_free(&s);
    sample_free(t);
  }
  random_kinds = ~UINT32_C(0);
}
END_TEST

/* Mixed pairs: one of their elements is split, so that nothing goes at a time. */
START_TEST(many_pairs) {
  rng r = rng_of(49);
  for (int i = 0; i < 40; i++) {
    sample *t = S_STRUCT(3, LIST(1, 2, 1), LIST(0, 24, 60), s_elem(i % 2 ? LADING_SHORT_INT : LADING_DOUBLE_INT), s_elem(LADING_LONG_INT), s_elem(LADING_2INT));
    side s = side_of(t, rng_in(&r, 1, 60), &r);
    check_op(&s, i % 4 < 2 ? LADING_MINLOC : LADING_MAXLOC, 5, &r);
    side_free(&s);
    sample_free(t);
  }
}
END_TEST

/* ---- random types ---- */

static const uint32_t kind_sets[] = {
  0x7f8, /* the integers */
  1u << LADING_2INT | 1u << LADING_SHORT_INT | 1u << LADING_LONG_INT, 1u << LADING_BYTE | 1u << LADING_INT16 | 1u << LADING_UINT64, 1u << LADING_INT32,
  1u << LADING_UINT16, 1u << LADING_SHORT_INT, 1u << LADING_BOOL | 1u << LADING_INT8,
  /* where elements overlap, of these NaNs may come */
  1u << LADING_DOUBLE, 1u << LADING_FLOAT | 1u << LADING_DOUBLE | 1u << LADING_LONG_DOUBLE, 1u << LADING_DOUBLE_INT | 1u << LADING_LONG_DOUBLE_INT,
  1u << LADING_C_FLOAT | 1u << LADING_FLOAT16 | 1u << LADING_INT32,
};
enum { SETS = sizeof kind_sets / sizeof kind_sets[0], INT_SETS = 7 };

START_TEST(random_ranges) {
  rng r = rng_of(43);
  for (int i = 0; i < 3000; i++) {
    const int set = i % SETS;
    random_kinds = kind_sets[set];
    use_way(i / SETS % WAYS);
    sample *t = random_type(&r, i % 6, 500);
    side s = side_of(t, rng_in(&r, 0, 3), &r);
    if (set < INT_SETS || !s.x->overlaps) check_op(&s, random_op(&r, random_kinds), 4, &r);
    side_free(&s);
    sample_free(t);
  }
  random_kinds = ~UINT32_C(0);
}
END_TEST

START_TEST(split_elements) {
  rng r = rng_of(44);
  static const int kinds[] = { LADING_INT32, LADING_UINT64, LADING_2INT, LADING_INT16, LADING_SHORT_INT };
  for (int i = 0; i < 600; i++) {
    const int k = kinds[i % COUNT_OF(kinds)];
    use_way(i / 5 % WAYS);
    const int64_t n = rng_in(&r, 1, 9), bytes = n * elem_size(k);
    int64_t at[200], all[600];
    for (int64_t b = 0, o = 0; b < bytes; b++) at[b] = o += rng_in(&r, 0, 3) ? 1 : rng_in(&r, -6, 12);
    lading_type *t = cut_type(at, bytes, (ldg_sig){ n, &ldg_build_elem_nodes[k] }, &r);
    const int64_t count = rng_in(&r, 1, 2), extent = info_of(t).extent;
    for (int64_t b = 0; b < count * bytes; b++) all[b] = at[b % bytes] + b / bytes * extent;
    int *kind = malloc((size_t)(count * n) * sizeof *kind);
    for (int64_t e = 0; e < count * n; e++) kind[e] = k;
    side s = side_of_kinds(t, "split", count, stream_of_offsets(all, count * bytes), count * n, kind, &r);
    check_op(&s, random_op(&r, 1u << k), 6, &r);
    side_free(&s);
    lading_type_free(t);
  }
}
END_TEST

/* ---- copies ---- */

static void check_copy(side *a, side *b, int op, int64_t i, int64_t j) {
  buffer before = copy_of(&b->b), want, from = copy_of(&a->b);
  char x[32], y[32];
  for (int64_t k = i; k < j; k++) {
    get_element(a, k, x), get_element(b, k, y);
    reduce_element(op, a->kind[k], x, y);
    put_element(b, k, y);
  }
  want = copy_of(&b->b);
  memcpy(b->b.data, before.data, (size_t)before.n);
  ck_assert_int_eq(lading_copy_op(a->type, a->count, base_of(a), b->type, b->count, base_of(b), a->pos[i], a->pos[j], (lading_op)op), LADING_OK);
  same_bytes(op_names[op], &want, &b->b, b, a->pos[i], a->pos[j]);
  same_bytes("the source of copy_op", &from, &a->b, a, a->pos[i], a->pos[j]);
  buffer_free(&want);
  buffer_free(&before);
  buffer_free(&from);
}

static void copy_ranges(const sample *from, int64_t fc, const sample *to, int64_t tc, int op, rng *r) {
  side a = side_of(from, fc, r), b = side_of(to, tc, r);
  const int64_t n = a.n < b.n ? a.n : b.n;
  check_copy(&a, &b, op, 0, n);
  for (int t = 0; t < 4; t++) {
    const int64_t i = rng_in(r, 0, n);
    side_fill(&a, r), side_fill(&b, r);
    check_copy(&a, &b, op, i, rng_in(r, i, n));
  }
  side_free(&a);
  side_free(&b);
}

START_TEST(copy_between_layouts) {
  rng r = rng_of(45);
  for (int kind = 0; kind < LADING_ELEM_MAX; kind++)
    for (int a = 0; a < SHAPES; a++)
      for (int b = 0; b < SHAPES; b++) {
        use_way((kind + a + b) % WAYS);
        sample *s = shape(a, kind), *d = shape(b, kind);
        copy_ranges(s, rng_in(&r, 1, 3), d, rng_in(&r, 1, 3), random_op(&r, 1u << kind), &r);
        sample_free(s);
        sample_free(d);
      }
}
END_TEST

START_TEST(copy_between_strangers) {
  rng r = rng_of(46);
  for (int i = 0; i < 1500; i++) {
    random_kinds = 1u << (i % 8 + LADING_INT8);
    use_way(i / 8 % WAYS);
    sample *s = i % 2 ? random_nest(&r, 3, 300) : random_type(&r, i % 5, 300), *d = random_type(&r, i / 6 % 6, 300);
    if (i % 2 == 0) copy_ranges(s, rng_in(&r, 0, 3), d, rng_in(&r, 0, 3), random_op(&r, random_kinds), &r);
    sample_free(s);
    sample_free(d);
  }
  random_kinds = ~UINT32_C(0);
}
END_TEST

/* Mixed types: the same elements in other places; one that differs, or a pair for its parts, is refused. */
START_TEST(copy_of_mixed_types) {
  rng r = rng_of(47);
  sample *one = S_STRUCT(3, LIST(1, 2, 1), LIST(0, 8, 40), s_elem(LADING_INT32), s_elem(LADING_DOUBLE), s_elem(LADING_INT16));
  sample *two = S_STRUCT(3, LIST(1, 2, 1), LIST(2, 30, 10), s_elem(LADING_INT32), s_elem(LADING_DOUBLE), s_elem(LADING_INT16));
  for (int op = LADING_REPLACE; op <= LADING_MAX; op++) copy_ranges(one, 3, two, 4, op, &r), copy_ranges(two, 2, two, 2, op, &r);
  sample *other = S_STRUCT(3, LIST(1, 2, 1), LIST(2, 30, 10), s_elem(LADING_INT32), s_elem(LADING_DOUBLE), s_elem(LADING_UINT16));
  side a = side_of(one, 2, &r), b = side_of(other, 2, &r);
  ck_assert_int_eq(lading_copy_op(a.type, 2, base_of(&a), b.type, 2, base_of(&b), 0, 20, LADING_SUM), LADING_OK);
  ck_assert_int_eq(lading_copy_op(a.type, 2, base_of(&a), b.type, 2, base_of(&b), 0, 22, LADING_SUM), LADING_ERR_ARG);
  ck_assert_int_eq(lading_copy_op(a.type, 2, base_of(&a), b.type, 2, base_of(&b), 24, 44, LADING_SUM), LADING_ERR_ARG);
  ck_assert_int_eq(lading_copy_op(a.type, 2, base_of(&a), b.type, 2, base_of(&b), 0, 4, LADING_BAND), LADING_ERR_UNSUPPORTED);
  int pair[2] = { 1, 2 }, ints[2] = { 3, 4 };
  sample *two_ints = s_contiguous(2, s_elem(LADING_INT32));
  ck_assert_int_eq(lading_copy_op(lading_elem_type(LADING_2INT), 1, pair, two_ints->type, 1, ints, 0, 8, LADING_SUM), LADING_ERR_UNSUPPORTED);
  ck_assert_int_eq(lading_copy_op(two_ints->type, 1, ints, lading_elem_type(LADING_UINT32), 2, pair, 0, 8, LADING_SUM), LADING_ERR_ARG);
  ck_assert(ints[0] == 3 && ints[1] == 4 && pair[0] == 1 && pair[1] == 2);
  side_free(&a);
  side_free(&b);
  sample_free(one), sample_free(two), sample_free(other), sample_free(two_ints);
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("op", argc, argv, the_table_decides, long_streams, large_tiles, few_bytes, lists_in_loops, rows_of_every_length, every_op_on_every_element, what_is_no_op_or_no_element, without_memory, signed_overflow_wraps, nan_and_zero, halves,
                    pairs_take_the_lower_index, coinciding_destinations, many_mixed_items, many_pairs, random_ranges, split_elements, copy_between_layouts,
                    copy_between_strangers, copy_of_mixed_types);
}
