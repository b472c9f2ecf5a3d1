/* Types of yaksa.h next to naive models, built from their spelling; elements of their streams in buffers. */
#ifndef TEST_YAKSA_SIDE_H
#define TEST_YAKSA_SIDE_H

#include "elements.h"
#include "yaksa_types.h"
#include <yaksa.h>

/* There is no darray in yaksa.h, and no 16-bit float. */
enum { KINDS = LADING_ELEM_MAX };
#define ALL_KINDS (((UINT32_C(1) << KINDS) - 1) & ~(UINT32_C(1) << LADING_FLOAT16) & ~(UINT32_C(1) << LADING_BFLOAT16))

static inline yaksa_type_t yaksa_of(const sample *s) {
  char why[200];
  type_handle t = 0;
  ck_assert_msg(type_text_read(s->spell, &yaksa_maker, &t, why, sizeof why), "%s: %s", s->spell, why);
  return t;
}

static inline sample *random_yaksa(rng *r, int depth, int64_t bytes) {
  sample *s = random_type(r, depth, bytes);
  while (strstr(s->spell, "darray")) {
    sample_free(s);
    s = random_type(r, depth, bytes);
  }
  return s;
}

/* The last element boundary that is not beyond `byte`. */
static inline int64_t boundary(const side *s, int64_t byte) {
  int64_t i = s->n;
  while (s->pos[i] > byte) i--;
  return i;
}

/* Elements [*i, *j) are what a call with this offset and room for so many bytes moves. */
static inline void moved_elements(const side *s, int64_t offset, int64_t max, int64_t *i, int64_t *j) {
  const int64_t total = s->pos[s->n];
  *i = *j = boundary(s, offset < total ? offset : total);
  if (s->pos[*i] == offset) *j = boundary(s, max < total - offset ? offset + max : total);
}

static const int lading_op_of[] = {
  [YAKSA_OP__MAX] = LADING_MAX, [YAKSA_OP__MIN] = LADING_MIN, [YAKSA_OP__SUM] = LADING_SUM, [YAKSA_OP__PROD] = LADING_PROD,
  [YAKSA_OP__LAND] = LADING_LAND, [YAKSA_OP__BAND] = LADING_BAND, [YAKSA_OP__LOR] = LADING_LOR, [YAKSA_OP__BOR] = LADING_BOR,
  [YAKSA_OP__LXOR] = LADING_LXOR, [YAKSA_OP__BXOR] = LADING_BXOR, [YAKSA_OP__REPLACE] = LADING_REPLACE,
};
static const char *const op_name[] = { "max", "min", "sum", "prod", "land", "band", "lor", "bor", "lxor", "bxor", "replace" };

/* An op on a pair is one on each of its parts. */
static inline bool op_defined(int op, int kind) {
  int64_t at[2], len[2];
  int kinds[2];
  bool good = true;
  if (lading_op_of[op] == LADING_REPLACE) return true;
  for (int p = elem_pieces(kind, at, len, kinds); p-- > 0;) good &= ref_defined(lading_op_of[op], kinds[p]);
  return good;
}

static inline bool op_defined_all(int op, const side *s) {
  bool good = true;
  for (int64_t k = 0; k < s->n; k++) good &= op_defined(op, s->kind[k]);
  return good;
}

static inline void op_element(int op, int kind, const char *in, char *out) {
  int64_t at[2], len[2], pos = 0;
  int kinds[2];
  const int parts = elem_pieces(kind, at, len, kinds);
  if (lading_op_of[op] == LADING_REPLACE) memcpy(out, in, (size_t)elem_size(kind));
  else for (int p = 0; p < parts; pos += len[p], p++) ref_op(lading_op_of[op], kinds[p], in + pos, out + pos);
}

#endif
