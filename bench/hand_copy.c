/* The loops a person would write to copy from one layout into another: four deep around an element, or around a row of them. */
#include "pairs.h"

typedef struct two_doubles { double re, im; } two_doubles;

#define LOOPS(TYPE, NAME)                                                                                             \
  static void NAME##_rows(const TYPE *restrict s, TYPE *restrict d, int64_t n) {                                      \
    for (int64_t i = 0; i < n; i++) d[i] = s[i];                                                                      \
  }                                                                                                                   \
  static void NAME##_inner(const pair_part *p, const char *s, char *d) {                                              \
    const int64_t n = p->n[3], ss = p->ss[3], ds = p->ds[3], run = p->run;                                            \
    if (run > 1)                                                                                                      \
      for (int64_t i = 0; i < n; i++) NAME##_rows((const TYPE *)(const void *)(s + i * ss), (TYPE *)(void *)(d + i * ds), run); \
    else                                                                                                              \
      for (int64_t i = 0; i < n; i++) *(TYPE *)(void *)(d + i * ds) = *(const TYPE *)(const void *)(s + i * ss);      \
  }
LOOPS(uint8_t, bytes)
LOOPS(float, floats)
LOOPS(double, doubles)
LOOPS(two_doubles, pairs)

bool pair_hand_move(const pair_part *p, const char *src, char *dst) {
  void (*inner)(const pair_part *, const char *, char *) =
      p->width == 1 ? bytes_inner : p->width == 4 ? floats_inner : p->width == 8 ? doubles_inner : p->width == 16 ? pairs_inner : NULL;
  if (!inner) return false;
  src += p->src, dst += p->dst;
  for (int64_t i = 0; i < p->n[0]; i++)
    for (int64_t j = 0; j < p->n[1]; j++)
      for (int64_t k = 0; k < p->n[2]; k++)
        inner(p, src + i * p->ss[0] + j * p->ss[1] + k * p->ss[2], dst + i * p->ds[0] + j * p->ds[1] + k * p->ds[2]);
  return true;
}
