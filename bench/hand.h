/* hand: the loops an application programmer would write instead of a datatype, compiled with -O3 -march=native. They are
 * the baseline of every ratio that lbench prints. */
#ifndef LBENCH_HAND_H
#define LBENCH_HAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HAND_DIMS 4
enum { HAND_SUM = 2, HAND_WAYS = 4 }; /* pack, unpack, and, behind HAND_SUM, the same as sums */

typedef struct hand_part hand_part;
/* One loop nest; mem is the buffer argument of the type, packed the start of this part in the stream. */
typedef void hand_loop(const hand_part *p, char *mem, char *packed);

struct hand_part {
  hand_loop *move[HAND_WAYS];              /* sums of structs: NULL */
  int width, cell;                         /* bytes of an element; elements per cell, a constant in the compiled loop */
  int64_t off, pos, bytes;                 /* where it starts in memory and in the stream; packed bytes */
  int depth;
  int64_t n[HAND_DIMS], stride[HAND_DIMS]; /* outermost first; strides in bytes */
  int64_t run;                             /* innermost contiguous run of elements, a run-time number; 0: cells instead */
  int64_t entries;                         /* of an index list */
  int32_t *at, *len;                       /* element offsets; lengths in elements, or NULL */
  char record[24];                         /* name of a struct whose fields are compiled in, or "" */
};

typedef struct hand { int n; hand_part *part; } hand;

/* Reads `8x5 @560 12x1120 + 4 [3,1,2]`; lists are already expanded. NULL with a message. */
hand *hand_read(const char *text, char *fault, size_t cap);
void hand_free(hand *h);
/* Finds the compiled loop for a part; false when there is none. Sets bytes. */
bool hand_bind(hand_part *p);

static inline void hand_move(const hand *h, int way, char *mem, char *packed) {
  for (int i = 0; i < h->n; i++) h->part[i].move[way](&h->part[i], mem, packed + h->part[i].pos);
}

#endif
