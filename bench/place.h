/* place: a piece of mapped memory between two pages that cannot be touched, for arrays of any size: pages that nobody
 * touches cost nothing. */
#ifndef LBENCH_PLACE_H
#define LBENCH_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#define PLACE_PAGE ((int64_t)4 << 10)
#define PLACE_LARGE_PAGE ((int64_t)2 << 20)

typedef struct place {
  char *first, *end; /* every byte that may be touched, array and slack around it */
  char *base;        /* the buffer argument: lo bytes before it, hi after it are the array */
  char *map;
  int64_t mapped;
} place;

/* Maps an array that covers [lo, hi) around its base. It starts `shift` bytes after a forbidden page, or with PLACE_FLUSH ends
 * right before one. PLACE_LARGE: in large pages, if it fills one and the system gives them; else speed hangs on which small pages
 * a process happened to get. false when there is no memory. */
enum { PLACE_FLUSH = 1, PLACE_LARGE = 2 };
bool place_open(place *p, int64_t lo, int64_t hi, int64_t shift, int how);
/* A file of memory that several processes map, each the same places in the same order. */
typedef struct place_file { int fd; int64_t end; } place_file; /* end: of its places so far */
bool place_open_in(place *p, int64_t lo, int64_t hi, int64_t shift, int how, place_file *in); /* in NULL: memory of its own */
void place_close(place *p); /* of a zeroed place: no-op */
void place_fill(void *at, int64_t bytes, uint64_t *seed); /* with random bytes */
int64_t place_available(void); /* memory that this machine could give now, in bytes */

#endif
