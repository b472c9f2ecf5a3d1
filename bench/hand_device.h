/* What the hand-written kernels take (hand_device.cu), on both sides. */
#ifndef LBENCH_HAND_DEVICE_H
#define LBENCH_HAND_DEVICE_H

#include <stdint.h>

/* One part of a hand-written loop (hand.h): elements of `width` bytes; `run` of them in a row; loops outermost first, or entries
 * of a list. */
typedef struct hand_device_args {
  char *mem, *packed;            /* of this part */
  uint32_t unpack, sum, width, depth, run; /* sum: what is there is added to, as numbers of that width (hand_add) */
  uint32_t elements, n[4];
  int64_t stride[4];
  const int32_t *at, *len, *pos; /* of lists, in device memory: elements; pos: where an entry is in the stream */
} hand_device_args;

#endif
