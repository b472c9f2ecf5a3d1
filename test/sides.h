/* sides: items of a type with memory of their own, and copies between them. */
#ifndef TEST_SIDES_H
#define TEST_SIDES_H

#include "common.h"

typedef struct side { const sample *s; int64_t count; stream *x; buffer b; } side;
side side_of(const sample *s, int64_t count, uint64_t salt);  /* filled with random bytes */
void side_free(side *d);                                      /* nothing around it was written */
char *base_of(const side *d);

/* From layout to layout through the API: all of it, and some ranges. */
void check_copy(const sample *s, int64_t sc, const sample *d, int64_t dc, rng *r);

#endif
