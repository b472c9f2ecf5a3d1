/* Elements in buffers: which element of a stream is where, read and written byte by byte. */
#ifndef TEST_ELEMENTS_H
#define TEST_ELEMENTS_H

#include "random_types.h"
#include "api.h"
#include "ref_op.h"
#include <inttypes.h>

typedef struct side {
  const lading_type *type;
  const char *spell;
  int64_t count, n;          /* items, elements */
  stream *x;
  int *kind;                 /* of the n elements */
  int64_t *pos;              /* n + 1 packed offsets where they start */
  buffer b;
} side;

static inline char *base_of(const side *s) { return at_offset(s->b.data, -s->x->lo); }

static inline void get_element(const side *s, int64_t i, char *out) {
  for (int64_t k = s->pos[i]; k < s->pos[i + 1]; k++) *out++ = s->b.data[s->x->at[k] - s->x->lo];
}
static inline void put_element(side *s, int64_t i, const char *in) {
  for (int64_t k = s->pos[i]; k < s->pos[i + 1]; k++) s->b.data[s->x->at[k] - s->x->lo] = *in++;
}

static inline void side_fill(side *s, rng *r) {
  char e[32];
  buffer_fill(&s->b, rng_next(r));
  for (int64_t i = 0; i < s->n; i++) some_element(r, s->kind[i], e), put_element(s, i, e);
}

static inline side side_of_kinds(const lading_type *t, const char *spell, int64_t count, stream *x, int64_t n, int *kind, rng *r) {
  side s = { t, spell, count, n, x, kind, malloc((size_t)(n + 1) * sizeof(int64_t)), buffer_new(x->hi - x->lo) };
  s.pos[0] = 0;
  for (int64_t i = 0; i < n; i++) s.pos[i + 1] = s.pos[i] + elem_size(kind[i]);
  side_fill(&s, r);
  return s;
}

static inline side side_of(const sample *s, int64_t count, rng *r) {
  int *kind = malloc((size_t)(count * s->map->n + 1) * sizeof *kind);
  for (int64_t i = 0; i < count * s->map->n; i++) kind[i] = s->map->e[i % s->map->n].kind;
  return side_of_kinds(s->type, s->spell, count, stream_of(s->map, count), count * s->map->n, kind, r);
}

static inline void side_free(side *s) {
  ck_assert(buffer_guards(&s->b));
  buffer_free(&s->b);
  stream_free(s->x);
  free(s->kind);
  free(s->pos);
}

static inline buffer copy_of(const buffer *b) {
  buffer c = buffer_new(b->n);
  memcpy(c.data, b->data, (size_t)b->n);
  return c;
}

static inline void same_bytes(const char *what, const buffer *want, const buffer *got, const side *s, int64_t lo, int64_t hi) {
  ck_assert(buffer_guards(want) && buffer_guards(got));
  if (memcmp(want->data, got->data, (size_t)got->n) == 0) return;
  for (int64_t i = 0; i < got->n; i++)
    ck_assert_msg(want->data[i] == got->data[i], "%s of [%" PRId64 ", %" PRId64 ") of %s x %" PRId64 ": byte %" PRId64 " is %02x, not %02x", what, lo,
                  hi, s->spell, s->count, i, (unsigned char)got->data[i], (unsigned char)want->data[i]);
}

/* One kind of element in the shapes that plans tell apart. */
enum { SHAPES = 9 };
static inline sample *shape(int which, int kind) {
  int64_t lb, x;
  lading_type_extent(lading_elem_type((lading_elem)kind), &lb, &x);
  switch (which) {
  case 0: return s_elem(kind);
  case 1: return s_contiguous(37, s_elem(kind));
  case 2: return s_vector(19, 1, 3, s_elem(kind));
  case 3: return s_vector(5, 7, 9, s_elem(kind));
  case 4: return s_indexed_block(9, 1, LIST(5, 0, 3, 30, 11, 12, 40, 20, 25), s_elem(kind));
  case 5: return s_indexed(5, LIST(3, 1, 0, 9, 2), LIST(0, 50, 3, 20, 9), s_elem(kind));
  case 6: return s_hvector(6, 1, x, s_vector(5, 1, 6, s_elem(kind)));
  case 7: return s_resized(S_STRUCT(3, LIST(2, 1, 3), LIST(3 * x, 0, 7 * x), s_elem(kind), s_elem(kind), s_elem(kind)), 0, 11 * x);
  default: return s_subarray(3, LIST(4, 5, 6), LIST(3, 2, 4), LIST(1, 2, 1), LADING_ORDER_FORTRAN, s_elem(kind));
  }
}

/* Types that no constructor makes, but a decoder may: elements cut into pieces anywhere. */
static inline lading_type *cut_type(const int64_t *at, int64_t n, ldg_sig sig, rng *r) {
  stream *x = stream_of_offsets(at, n);
  lading_type *bytes = respelled(x, (int)rng_in(r, 0, RESPELLINGS - 1), r), *t = NULL;
  const ldg_bounds bounds = { .lb = bytes->lb, .ub = bytes->ub, .any = true };
  ck_assert_int_eq(ldg_build_make(ldg_rep_ref(bytes->rep), sig, bounds, 1, &t), LADING_OK);
  lading_type_free(bytes);
  stream_free(x);
  return t;
}

#endif
