/* Kernels as a person writes them for one kind of loop: the baseline on devices. One thread an element, its place by division of
 * 32-bit numbers; where rows are long, one block a row; elements of the type that the application has. */
#include "hand_device.h"
#include "device.h"

#define HAND_MOVE(T, a, m, s)                                       \
  do {                                                              \
    if ((a)->unpack) LDG_STORE(T, m, LDG_LOAD(T, s));               \
    else LDG_STORE(T, s, LDG_LOAD(T, m));                           \
  } while (0)
#define HAND_ADD(T, from, to) LDG_STORE(T, to, (T)(LDG_LOAD(T, to) + LDG_LOAD(T, from)))

/* The numbers that hand.c adds. */
LDG_DEVICE void hand_add(uint32_t width, const char *from, char *to) {
  if (width == 8) HAND_ADD(double, from, to);
  else if (width == 4) HAND_ADD(float, from, to);
  else if (width == 2) HAND_ADD(int16_t, from, to);
  else if (width == 1) HAND_ADD(int8_t, from, to);
  else {
    union { ldg_word16 w; double v[2]; } x, y;
    x.w = LDG_LOAD(ldg_word16, from), y.w = LDG_LOAD(ldg_word16, to);
    y.v[0] += x.v[0], y.v[1] += x.v[1];
    LDG_STORE(ldg_word16, to, y.w);
  }
}

LDG_DEVICE void hand_element(const hand_device_args *a, char *m, char *s) {
  if (a->sum) {
    hand_add(a->width, a->unpack ? s : m, a->unpack ? m : s);
    return;
  }
  switch (a->width) {
  case 1: HAND_MOVE(uint8_t, a, m, s); break;
  case 2: HAND_MOVE(uint16_t, a, m, s); break;
  case 4: HAND_MOVE(uint32_t, a, m, s); break;
  case 8: HAND_MOVE(uint64_t, a, m, s); break;
  default: HAND_MOVE(ldg_word16, a, m, s); break;
  }
}

LDG_DEVICE char *hand_cell(const hand_device_args *a, uint32_t cell) {
  char *m = a->mem;
  for (int k = (int)a->depth - 1; k > 0; k--) {
    m += (int64_t)(cell % a->n[k]) * a->stride[k];
    cell /= a->n[k];
  }
  return a->depth ? m + (int64_t)cell * a->stride[0] : m;
}

LDG_KERNEL(hand_loops, hand_device_args) {
  const uint32_t i = LDG_BID * LDG_BLOCK_DIM + LDG_TID;
  if (i >= a->elements) return;
  hand_element(a, hand_cell(a, i / a->run) + (int64_t)(i % a->run) * a->width, a->packed + (int64_t)i * a->width);
}

LDG_KERNEL(hand_rows, hand_device_args) {
  char *m = hand_cell(a, LDG_BID), *s = a->packed + (int64_t)LDG_BID * a->run * a->width;
  for (uint32_t i = LDG_TID; i < a->run; i += LDG_BLOCK_DIM) hand_element(a, m + (int64_t)i * a->width, s + (int64_t)i * a->width);
}

LDG_KERNEL(hand_list, hand_device_args) {
  const uint32_t i = LDG_BID * LDG_BLOCK_DIM + LDG_TID;
  if (i >= a->elements) return;
  hand_element(a, a->mem + ((int64_t)LDG_LOAD(int32_t, a->at + i / a->run) + i % a->run) * a->width, a->packed + (int64_t)i * a->width);
}

/* Lengths of their own: one block an entry. */
LDG_KERNEL(hand_lengths, hand_device_args) {
  char *m = a->mem + (int64_t)LDG_LOAD(int32_t, a->at + LDG_BID) * a->width, *s = a->packed + (int64_t)LDG_LOAD(int32_t, a->pos + LDG_BID) * a->width;
  const uint32_t n = (uint32_t)LDG_LOAD(int32_t, a->len + LDG_BID);
  for (uint32_t i = LDG_TID; i < n; i += LDG_BLOCK_DIM) hand_element(a, m + (int64_t)i * a->width, s + (int64_t)i * a->width);
}

/* Records whose fields are compiled in (hand.c has them as structs): one thread an element of the widest type that their fields and the
 * stream have in common; `e` is which of the record's `count`. */
#define HAND_RECORD(name, T, count, place)                                                     \
  LDG_KERNEL(hand_##name, hand_device_args) {                                                  \
    const uint32_t i = LDG_BID * LDG_BLOCK_DIM + LDG_TID, e = i % (count);                     \
    if (i >= a->elements) return;                                                              \
    char *m = a->mem + (int64_t)(i / (count)) * a->stride[0] + (place), *s = a->packed + (int64_t)i * (int64_t)sizeof(T); \
    HAND_MOVE(T, a, m, s);                                                                     \
  }
HAND_RECORD(gap400, uint32_t, 100, e == 0 ? 0 : e < 91 ? 8 + (e - 1) / 10 * 44 + (e - 1) % 10 * 4 : 40 + 4 * e)
HAND_RECORD(merged17, uint8_t, 17, e)
HAND_RECORD(int_double_char, uint8_t, 13, e < 4 ? e : e + 4)
HAND_RECORD(particle, uint8_t, 51, e < 43 ? e : e + 5)
HAND_RECORD(shorts8, uint16_t, 8, 4 * e)
HAND_RECORD(swapped, uint32_t, 4, e < 2 ? 8 + 4 * e : e == 2 ? 0 : 20)

/* What a launch costs. */
LDG_KERNEL(hand_nothing, hand_device_args) {
  if (a->elements) LDG_STORE(uint8_t, a->packed, 0);
}
