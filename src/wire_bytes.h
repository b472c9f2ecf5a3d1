/* wire_bytes: numbers and lists as bytes, written and read. */
#ifndef LDG_WIRE_BYTES_H
#define LDG_WIRE_BYTES_H

#include "base.h"

/* Counts what there is to say, writes what fits. */
typedef struct ldg_writer { unsigned char *buf; int64_t cap, len; } ldg_writer;

static inline void ldg_wire_put_byte(ldg_writer *w, int b) {
  if (w->len < w->cap) w->buf[w->len] = (unsigned char)b;
  w->len++;
}

static inline void ldg_wire_put_uint(ldg_writer *w, uint64_t v) {
  for (; v >= 0x80; v >>= 7) ldg_wire_put_byte(w, (int)(v & 0x7f) | 0x80);
  ldg_wire_put_byte(w, (int)v);
}

static inline uint64_t ldg_wire_fold(int64_t v) { return (uint64_t)v << 1 ^ (0 - ((uint64_t)v >> 63)); }
static inline int64_t ldg_wire_unfold(uint64_t u) { return (int64_t)(u >> 1 ^ (0 - (u & 1))); }

static inline void ldg_wire_put_int(ldg_writer *w, int64_t v) { ldg_wire_put_uint(w, ldg_wire_fold(v)); }

static inline void ldg_wire_put_word(ldg_writer *w, uint64_t v) {
  for (int i = 0; i < 8; i++) ldg_wire_put_byte(w, (int)(v >> 8 * i & 0xff));
}

/* After an error every read gives 0 and nothing is left. */
typedef struct ldg_reader { const unsigned char *at, *end; int err; } ldg_reader;

static inline int64_t ldg_wire_left(const ldg_reader *r) { return r->end - r->at; }

static inline int ldg_wire_refuse(ldg_reader *r, int err) {
  if (!r->err) r->err = err;
  r->at = r->end;
  return r->err;
}

/* One number has one spelling: none longer than it needs. */
static inline uint64_t ldg_wire_get_uint(ldg_reader *r) {
  uint64_t v = 0;
  for (int shift = 0; r->at < r->end; shift += 7) {
    const unsigned char b = *r->at++;
    if ((shift == 63 && b > 1) || (shift > 0 && b == 0)) break;
    v |= (uint64_t)(b & 0x7f) << shift;
    if (b < 0x80) return v;
  }
  ldg_wire_refuse(r, LADING_ERR_FORMAT);
  return 0;
}

static inline int64_t ldg_wire_get_int(ldg_reader *r) { return ldg_wire_unfold(ldg_wire_get_uint(r)); }

/* A length, a count: least <= value. */
static inline int64_t ldg_wire_get_count(ldg_reader *r, int64_t least) {
  const uint64_t v = ldg_wire_get_uint(r);
  if (!r->err && v <= INT64_MAX && (int64_t)v >= least) return (int64_t)v;
  ldg_wire_refuse(r, LADING_ERR_FORMAT);
  return 0;
}

static inline uint64_t ldg_wire_get_word(ldg_reader *r) {
  uint64_t v = 0;
  if (ldg_wire_left(r) < 8) ldg_wire_refuse(r, LADING_ERR_FORMAT);
  for (int i = 0; i < 8 && !r->err; i++) v |= (uint64_t)*r->at++ << 8 * i;
  return v;
}

void ldg_wire_put_list(ldg_writer *w, int64_t n, const int64_t *v); /* n >= 1 */
/* *out is to be freed; no longer than what is left to read. The reader's error. */
int ldg_wire_get_list(ldg_reader *r, int64_t *n, int64_t **out);

#endif
