/* id: layout ids are equal iff the byte sequences are, signatures iff the element sequences are; text reads back. */
#include "random_types.h"
#include "build.h"
#include "plan.h"
#include <inttypes.h>

/* Many small types of all counts, with their sequences: ids must partition them exactly as the sequences do. */
typedef struct row { char *spell, *text; int64_t count; stream *x; unsigned char *kinds; int64_t nkinds; lading_id id, sig; } row;
typedef struct pool { row *rows; int64_t n, cap; } pool;

static void pool_add(pool *p, sample *s, int64_t counts) {
  for (int64_t count = 0; count < counts; count++) {
    if (p->n == p->cap) p->rows = realloc(p->rows, (size_t)(p->cap = 2 * p->cap + 64) * sizeof(row));
    row *r = &p->rows[p->n++];
    *r = (row){ .spell = strdup(s->spell), .count = count, .x = stream_of(s->map, count), .id = id_of(s->type, count) };
    r->nkinds = map_signature(s->map, count, &r->kinds);
    if (count == 1) r->text = text_of(s->type);
    ck_assert_int_eq(lading_type_signature(s->type, count, &r->sig), LADING_OK);
  }
  sample_free(s);
}

static void pool_free(pool *p) {
  for (int64_t i = 0; i < p->n; i++) {
    stream_free(p->rows[i].x);
    free(p->rows[i].kinds);
    free(p->rows[i].spell);
    free(p->rows[i].text);
  }
  free(p->rows);
}

/* Every strided type of up to two levels with tiny numbers, over two elements: thousands of coincidences. */
static void add_strided(pool *p) {
  for (int64_t n = 0; n <= 3; n++)
    for (int64_t bl = 0; bl <= 2; bl++)
      for (int64_t stride = -2; stride <= 3; stride++) {
        pool_add(p, s_hvector(n, bl, stride, s_elem(LADING_BYTE)), 3);
        for (int64_t m = 1; m <= 3; m++)
          for (int64_t outer = -2; outer <= 4; outer++)
            if (n == 2 && bl == 1) pool_add(p, s_hvector(m, 1, outer, s_hvector(n, bl, stride, s_elem(LADING_BYTE))), 2);
      }
}

static void add_listed(pool *p, rng *r) {
  for (int i = 0; i < 500; i++) {
    int64_t n = rng_in(r, 0, 3), bl[3], at[3];
    for (int64_t k = 0; k < n; k++) {
      bl[k] = rng_in(r, 0, 2);
      at[k] = rng_in(r, -1, 3);
    }
    pool_add(p, s_hindexed(n, bl, at, s_elem(rng_in(r, 0, 1) ? LADING_BYTE : LADING_INT16)), 2);
  }
}

static pool coincidences(void) {
  pool p = { 0 };
  rng r = rng_of(31);
  add_strided(&p);
  add_listed(&p, &r);
  for (int i = 0; i < 500; i++) pool_add(&p, random_type(&r, 3, 12), 3);
  return p;
}

START_TEST(ids_equal_iff_sequences_equal) {
  pool p = coincidences();
  int64_t equal = 0;
  for (int64_t i = 0; i < p.n; i++)
    for (int64_t j = i; j < p.n; j++) {
      const row *a = &p.rows[i], *b = &p.rows[j];
      bool same = stream_equal(a->x, b->x);
      equal += same;
      if (same != same_id(a->id, b->id))
        ck_abort_msg("%s x %" PRId64 " and %s x %" PRId64 ": sequences %s, ids %s", a->spell, a->count, b->spell, b->count, same ? "equal" : "differ",
                     same ? "differ" : "equal");
    }
  ck_assert_int_gt(equal, 2 * p.n); /* the pool would be no test without many equal pairs */
  pool_free(&p);
}
END_TEST

START_TEST(signatures_equal_iff_elements_equal) {
  pool p = coincidences();
  for (int64_t i = 0; i < p.n; i++)
    for (int64_t j = i; j < p.n; j++) {
      const row *a = &p.rows[i], *b = &p.rows[j];
      bool same = a->nkinds == b->nkinds && memcmp(a->kinds, b->kinds, (size_t)a->nkinds) == 0;
      if (same != same_id(a->sig, b->sig))
        ck_abort_msg("%s x %" PRId64 " and %s x %" PRId64 ": elements %s, signatures %s", a->spell, a->count, b->spell, b->count, same ? "equal" : "differ",
                     same ? "differ" : "equal");
    }
  pool_free(&p);
}
END_TEST

/* Design 2.1: small trees are rebuilt from their list of runs, so equal sequences have one canonical text. */
START_TEST(one_text_for_one_sequence) {
  pool p = coincidences();
  for (int64_t i = 0; i < p.n; i++)
    for (int64_t j = i + 1; j < p.n; j++) {
      const row *a = &p.rows[i], *b = &p.rows[j];
      if (!a->text || !b->text || stream_equal(a->x, b->x) == (strcmp(a->text, b->text) == 0)) continue;
      ck_abort_msg("%s and %s: %s and %s", a->spell, b->spell, a->text, b->text);
    }
  pool_free(&p);
}
END_TEST

/* Strided nests have a unique irreducible form, whatever their size. */
START_TEST(one_text_for_one_nest) {
  rng r = rng_of(32);
  for (int i = 0; i < 3000; i++) {
    sample *s = random_nest(&r, 1 + i % 4, 600);
    stream *x = stream_of(s->map, 1);
    lading_type *t = respelled(x, i % RESPELLINGS, &r);
    char *a = text_of(s->type), *b = text_of(t);
    ck_assert_msg(strcmp(a, b) == 0, "%s prints %s, its runs print %s", s->spell, a, b);
    free(a);
    free(b);
    lading_type_free(t);
    stream_free(x);
    sample_free(s);
  }
}
END_TEST

START_TEST(respelled_types_have_the_same_id) {
  rng r = rng_of(33);
  for (int i = 0; i < 2000; i++) {
    sample *s = random_type(&r, i % 6, 500);
    int64_t count = rng_in(&r, 0, 3);
    stream *x = stream_of(s->map, count);
    lading_id want = id_of(s->type, count);
    for (int how = 0; how < RESPELLINGS; how++) {
      lading_type *t = respelled(x, how, &r);
      ck_assert_msg(same_id(id_of(t, 1), want), "%s x %" PRId64 ", spelling %d: other id", s->spell, count, how);
      ck_assert_int_eq(info_of(t).blocks, x->runs);
      lading_type_free(t);
    }
    stream_free(x);
    sample_free(s);
  }
}
END_TEST

/* One byte elsewhere, two bytes swapped, one byte less: another id. */
START_TEST(altered_sequences_have_another_id) {
  rng r = rng_of(34);
  for (int i = 0; i < 2000; i++) {
    sample *s = random_type(&r, 4, 200);
    stream *x = stream_of(s->map, 1);
    if (x->n > 1) {
      int64_t *at = malloc((size_t)x->n * sizeof *at), a = rng_in(&r, 0, x->n - 1), b = rng_in(&r, 0, x->n - 1), n = x->n - (i % 3 == 2);
      memcpy(at, x->at, (size_t)x->n * sizeof *at);
      if (i % 3 == 0) at[a] += rng_in(&r, 1, 5);
      if (i % 3 == 1) { at[a] = x->at[b]; at[b] = x->at[a]; }
      stream *y = stream_of_offsets(at, n);
      lading_type *t = respelled(y, i % RESPELLINGS, &r);
      ck_assert_msg(same_id(id_of(t, 1), id_of(s->type, 1)) == stream_equal(x, y), "%s altered at %" PRId64 " and %" PRId64, s->spell, a, b);
      lading_type_free(t);
      stream_free(y);
      free(at);
    }
    stream_free(x);
    sample_free(s);
  }
}
END_TEST

START_TEST(text_reads_back) {
  rng r = rng_of(35);
  for (int i = 0; i < 4000; i++) {
    sample *s = random_type(&r, i % 6, 500);
    char *text = text_of(s->type), *again, cut[9];
    lading_type *t = parsed(text);
    lading_info a = info_of(s->type), b = info_of(t);
    again = text_of(t);
    ck_assert_msg(same_id(id_of(t, 1), id_of(s->type, 1)), "%s prints %s, which reads back as another sequence", s->spell, text);
    ck_assert_msg(strcmp(text, again) == 0, "%s prints %s, which prints %s", s->spell, text, again);
    ck_assert(b.lb == a.true_lb && b.extent == a.true_extent && b.size == a.size && b.blocks == a.blocks);
    ck_assert_int_eq(lading_type_text(s->type, cut, 9), (int64_t)strlen(text));
    ck_assert(strlen(cut) <= 8 && strncmp(cut, text, strlen(cut)) == 0);
    lading_type_free(t);
    free(again);
    free(text);
    sample_free(s);
  }
}
END_TEST

/* The spelling of a sample is a constructor call: read back it has the same bounds, bytes and elements. */
START_TEST(constructor_calls_read_back) {
  rng r = rng_of(37);
  for (int i = 0; i < 4000; i++) {
    sample *s = random_type(&r, i % 6, 300);
    lading_type *t = parsed(s->spell);
    lading_info a = info_of(s->type), b = info_of(t);
    lading_id x, y;
    ck_assert_msg(same_id(id_of(t, 3), id_of(s->type, 3)), "%s reads back as another sequence", s->spell);
    ck_assert(a.lb == b.lb && a.extent == b.extent && a.size == b.size && a.elements == b.elements && a.elem == b.elem);
    ck_assert_int_eq(lading_type_signature(s->type, 2, &x), LADING_OK);
    ck_assert_int_eq(lading_type_signature(t, 2, &y), LADING_OK);
    ck_assert(same_id(x, y));
    lading_type_free(t);
    sample_free(s);
  }
}
END_TEST

/* Deltas that are equal modulo the prime of the hash, or differ in their high halves only, are different letters. */
START_TEST(far_deltas_have_ids_of_their_own) {
  const int64_t prime = (INT64_C(1) << 61) - 1;
  const int64_t near[][4] = { { 0, 8, 100, 16 }, { 0, 8, 100 + prime, 16 }, { 0, 8 + prime, 100, 16 }, { 0, 8, 100, 16 + prime },
                              { 0, 8, 100 + (INT64_C(1) << 32), 16 }, { 0, 8 - prime, 100, 16 }, { 0, 8, 100 - 2 * prime, 16 } };
  enum { N = sizeof near / sizeof near[0] };
  lading_id id[N];
  for (int i = 0; i < N; i++) {
    lading_type *t;
    ck_assert_int_eq(lading_type_hindexed_block(4, 1, near[i], lading_elem_type(LADING_BYTE), &t), LADING_OK);
    id[i] = id_of(t, 1);
    for (int j = 0; j < i; j++) ck_assert_msg(!same_id(id[i], id[j]), "lists %d and %d have one id", j, i);
    lading_type_free(t);
  }
}
END_TEST

START_TEST(id_of_count_is_id_of_contiguous) {
  rng r = rng_of(36);
  for (int i = 0; i < 1500; i++) {
    sample *s = random_type(&r, 3, 100);
    int64_t n = rng_in(&r, 0, 1) ? rng_in(&r, 0, 5) : rng_in(&r, 6, 100000);
    lading_type *t;
    ck_assert_int_eq(lading_type_contiguous(n, s->type, &t), LADING_OK);
    ck_assert_msg(same_id(id_of(t, 1), id_of(s->type, n)), "%s x %" PRId64, s->spell, n);
    lading_type_free(t);
    sample_free(s);
  }
}
END_TEST

/* The width of words: of what lies between entries as well as of entries, however they are counted. */
START_TEST(grains) {
  static const struct { const char *spell; int64_t grain; } of[] = {
    { "indexed([2,1,3],[5,0,9],double)", 8 }, { "indexed([2,1,3],[5,0,9],float)", 4 }, { "hindexed([8,4,16],[0,16,32],byte)", 4 }, { "hindexed([8,4,16],[0,17,32],byte)", 1 },
    { "hindexed([8,6,16],[0,16,32],byte)", 2 }, { "vector(3,2,5,int)", 4 }, { "vector(3,4,8,double)", 16 }, { "struct([1,1],[0,6],[int,short])", 2 }, { "byte", 1 },
    { "hvector(3,1,1000,indexed([2,1,3],[5,0,9],double))", 8 }, { "hvector(3,1,1004,indexed([2,1,3],[5,0,9],double))", 4 },
    { /* nine progressions of steps of 12 */
      "hindexed_block(8,[0,12,24,36,48,60,72,84,96,152,164,176,188,200,212,224,236,248,260,272,284,296,308,392,404,416,428,440,452,464,476,544,556,568,580,59"
      "2,604,616,628,640,652,664,676,688,700,712,724,736,748,760,772,880,892,904,916,928,940,952,964,976,988,1000,1072,1084,1096,1108,1120,1132,1144,1156,116"
      "8,1180,1192,1204,1216,1228,1240,1252,1264,1384,1396,1408,1420,1432,1444,1456,1468,1480,1492,1584,1596,1608,1620,1632,1644,1656,1668,1680,1692,1704,171"
      "6,1728,1824,1836,1848,1860,1872,1884,1896,1908,1920,1932,1944,1956,1968,1980,1992,2004],byte)", 4 },
  };
  for (int64_t i = 0; i < COUNT_OF(of); i++) {
    lading_type *t;
    ck_assert_int_eq(lading_type_parse(of[i].spell, &t), LADING_OK);
    ck_assert_int_eq(lading_type_commit(t), LADING_OK);
    const int64_t grain = ldg_layout_grain(((const ldg_plan *)atomic_load(&t->plan))->layout);
    ck_assert_msg(grain == of[i].grain, "%s: %" PRId64, of[i].spell, grain);
    lading_type_free(t);
  }
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("id", argc, argv, ids_equal_iff_sequences_equal, signatures_equal_iff_elements_equal, one_text_for_one_sequence, one_text_for_one_nest,
                    respelled_types_have_the_same_id, altered_sequences_have_another_id, text_reads_back, constructor_calls_read_back,
                    far_deltas_have_ids_of_their_own, id_of_count_is_id_of_contiguous, grains);
}
