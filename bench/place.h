/* place: a piece of mapped memory between two pages that cannot be touched, for arrays of any size: pages that nobody
 * touches cost nothing. */
#ifndef LBENCH_PLACE_H
#define LBENCH_PLACE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct place {
  char *first, *end; /* every byte that may be touched, array and slack around it */
  char *base;        /* the buffer argument: lo bytes before it, hi after it are the array */
  int64_t mapped;
} place;

/* Maps an array that covers [lo, hi) around its base. It starts `shift` bytes after a forbidden page, or with `flush` ends
 * right before one. false when there is no memory. */
bool place_open(place *p, int64_t lo, int64_t hi, int64_t shift, bool flush);
void place_close(place *p); /* of a zeroed place: no-op */
void place_fill(void *at, int64_t bytes, uint64_t *seed); /* with random bytes */
int64_t place_available(void); /* memory that this machine could give now, in bytes */

#endif
