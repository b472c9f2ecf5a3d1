/* hand_jit: loops by hand for the problems of `lbench jit`, everything but the count of items known to the compiler. */
#ifndef LBENCH_HAND_JIT_H
#define LBENCH_HAND_JIT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct hand_jit {
  const char *name, *type;
  int64_t count;                                             /* items in a message */
  int64_t size, extent;                                      /* packed and in memory, of an item */
  const int32_t *list;                                       /* not NULL: a message is one item, with entries of that type at these indices */
  void (*move[2])(char *mem, char *packed, int64_t count);   /* pack, unpack */
} hand_jit;

#define HAND_JIT_ENTRIES 1000
#define HAND_JIT_PLACES (HAND_JIT_ENTRIES * 3 / 2) /* for them */
void hand_jit_make_lists(void);

/* From one layout to another, or reduced (SUM) while it is. */
typedef struct hand_jit_copy {
  const char *name, *type[2];                                /* of the source, unless that is packed, and of the destination */
  bool sums;
  int64_t count, size, extent[2];
  void (*move)(const char *src, char *dst, int64_t count);
} hand_jit_copy;

extern const hand_jit_copy hand_jit_copies[];
extern const int hand_jit_copies_n;
extern const hand_jit hand_jit_table[], hand_jit_lists[];
extern const int hand_jit_rows, hand_jit_lists_n;

#endif
