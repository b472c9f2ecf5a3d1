/* Works for batches: random ones in one arena, of any memory, that meet each other as they like; what has to come out is what they make
 * of a shadow of the arena one after the other. */
#ifndef TEST_BATCH_WORKS_H
#define TEST_BATCH_WORKS_H

#include "random_types.h"

enum { ARENA = 1 << 16 };
typedef struct arena {
  char *at, *shadow;                                      /* the arena, ARENA bytes; host memory of the same size */
  void (*store)(const struct arena *a, const char *from); /* sets the arena */
  void (*fetch)(const struct arena *a, char *to);         /* reads it, when all requests are done */
  lading_mem kind;
  int rounds, works;                                      /* rounds of so many works */
} arena;

/* A copy of one byte, the smallest work there is. */
lading_work byte_copy(const void *from, void *to);
lading_request added(lading_batch *b, const lading_work *w);
lading_batch *batch_of(lading_queue *q, const lading_batch_attr *a);
lading_batch_counts counts_of(lading_batch *b);
/* False: no such work this time. Both sides are somewhere in the arena, and have no byte in common. */
bool random_work(rng *r, const arena *a, const sample *s, lading_work *w);
/* The work, now, by the calls for host memory, with both sides moved. */
void in_turn(const lading_work *w, int64_t shift);
/* Through the batch, and one after the other: the same bytes. Types are freed in flight. */
void same_as_in_turn(lading_batch *b, const arena *a, int64_t salt);

#endif
