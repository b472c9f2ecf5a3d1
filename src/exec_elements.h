/* exec_elements: one side of a move by elements: how many stand whole at hand, and one that is split, put together. */
#ifndef LDG_EXEC_ELEMENTS_H
#define LDG_EXEC_ELEMENTS_H

#include "exec.h"

#define LDG_ELEMENT_MAX 32 /* bytes of the longest element: two long doubles */

typedef struct ldg_strand { ldg_cursor c; const char *base; } ldg_strand;
/* The bytes of one element, in stream order. */
typedef struct ldg_scattered { int n; struct { char *at; int64_t len; } piece[LDG_ELEMENT_MAX]; } ldg_scattered;

/* `items` is the caller's memory for the rep of all items; they fit. */
static inline void ldg_strand_open(ldg_strand *s, const ldg_side *side, ldg_rep *items, int64_t byte) {
  s->base = side->base, s->c.top = -1;
  if (!ldg_rep_repeat_in(items, side->count, side->extent, side->rep)) ldg_cursor_seek(&s->c, items, byte);
}

/* The elements of `size` bytes at hand in one piece, up to n, and where. */
static inline int64_t ldg_strand_whole(const ldg_strand *s, int64_t size, int64_t n, char **at) {
  int64_t off, len;
  if (!ldg_cursor_piece(&s->c, &off, &len)) return 0;
  *at = ldg_at(s->base, off);
  return len >= n * size ? n : len / size;
}

/* Takes the next `size` bytes, wherever they are. */
static inline void ldg_strand_gather(ldg_strand *s, int64_t size, ldg_scattered *e) {
  int64_t off, len;
  for (e->n = 0; size > 0 && ldg_cursor_piece(&s->c, &off, &len); e->n++, size -= len) {
    len = ldg_min(len, size);
    e->piece[e->n].at = ldg_at(s->base, off), e->piece[e->n].len = len;
    ldg_cursor_take(&s->c, len);
  }
}

static inline void ldg_scattered_read(const ldg_scattered *e, char *out) {
  for (int i = 0; i < e->n; out += e->piece[i].len, i++) memcpy(out, e->piece[i].at, (size_t)e->piece[i].len);
}
static inline void ldg_scattered_write(const ldg_scattered *e, const char *in) {
  for (int i = 0; i < e->n; in += e->piece[i].len, i++) memcpy(e->piece[i].at, in, (size_t)e->piece[i].len);
}

#endif
