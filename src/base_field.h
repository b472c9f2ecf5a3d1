/* Bytes that are in one run on both sides. */
#ifndef LDG_BASE_FIELD_H
#define LDG_BASE_FIELD_H

#include "base.h"

/* len bytes from src to dst, both counted from the places of what they are of. */
typedef struct ldg_field { int64_t src, dst, len; } ldg_field;

/* What comes next in the stream: one more of at most `most`, or a longer last one, if it goes on there on both sides. An empty one is left out, wherever it is. False: too many. */
typedef struct ldg_fields { ldg_field *f; int *n, most; } ldg_fields;
static inline bool ldg_field_add(const ldg_fields *to, ldg_field next) {
  ldg_field *last = *to->n ? &to->f[*to->n - 1] : NULL;
  if (next.len == 0) return true;
  if (last && last->src + last->len == next.src && last->dst + last->len == next.dst) last->len += next.len;
  else if (*to->n == to->most) return false;
  else to->f[(*to->n)++] = next;
  return true;
}

#endif
