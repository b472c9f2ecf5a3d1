/* wire_list: lists of numbers as differences, in the unit that all of them are multiples of. Offsets of small elements in
 * a small range take a byte or two each. */
#include "wire_bytes.h"

/* Differences are q * unit. Biased ones are written as q - least: half as long where they all rise. */
typedef struct form { bool biased; int64_t unit, least; } form;

/* Wraps only for lists that no rep holds. */
static int64_t difference(const int64_t *v, int64_t i) {
  return (int64_t)((uint64_t)v[i] - (uint64_t)v[i - 1]);
}

static int64_t length_of(uint64_t v) {
  return (70 - __builtin_clzll(v | 1)) / 7;
}

static form form_of(int64_t n, const int64_t *v) {
  uint64_t unit = 0;
  int64_t least = INT64_MAX, biased, folded = 0;
  for (int64_t i = 1; i < n; i++) {
    const int64_t d = difference(v, i);
    unit = unit == 1 ? 1 : ldg_gcd(d < 0 ? 0 - (uint64_t)d : (uint64_t)d, unit);
    least = ldg_min(least, d);
  }
  form f = { false, unit && unit <= INT64_MAX ? (int64_t)unit : 1, 0 };
  f.least = least / f.unit;
  biased = length_of(ldg_wire_fold(f.least));
  for (int64_t i = 1; i < n; i++) {
    const int64_t q = difference(v, i) / f.unit;
    folded += length_of(ldg_wire_fold(q));
    biased += length_of((uint64_t)q - (uint64_t)f.least);
  }
  f.biased = biased < folded;
  return f;
}

void ldg_wire_put_list(ldg_writer *w, int64_t n, const int64_t *v) {
  ldg_wire_put_uint(w, (uint64_t)n);
  ldg_wire_put_int(w, v[0]);
  if (n == 1) return;
  const form f = form_of(n, v);
  ldg_wire_put_byte(w, f.biased);
  ldg_wire_put_uint(w, (uint64_t)f.unit);
  if (f.biased) ldg_wire_put_int(w, f.least);
  for (int64_t i = 1; i < n; i++) {
    const int64_t q = difference(v, i) / f.unit;
    ldg_wire_put_uint(w, f.biased ? (uint64_t)q - (uint64_t)f.least : ldg_wire_fold(q));
  }
}

static int get_values(ldg_reader *r, int64_t n, int64_t *v) {
  v[0] = ldg_wire_get_int(r);
  if (n == 1) return r->err;
  const uint64_t biased = ldg_wire_get_uint(r);
  const int64_t unit = ldg_wire_get_count(r, 1), least = biased ? ldg_wire_get_int(r) : 0;
  if (biased > 1) return ldg_wire_refuse(r, LADING_ERR_FORMAT);
  for (int64_t i = 1; i < n && !r->err; i++) {
    const uint64_t u = ldg_wire_get_uint(r);
    int64_t q = ldg_wire_unfold(u), step;
    if ((biased && __builtin_add_overflow(least, u, &q)) || ldg_mul(q, unit, &step) || ldg_add(v[i - 1], step, &v[i]))
      ldg_wire_refuse(r, LADING_ERR_OVERFLOW);
  }
  return r->err;
}

int ldg_wire_get_list(ldg_reader *r, int64_t *n, int64_t **out) {
  *n = ldg_wire_get_count(r, 1);
  if (*n - 1 > ldg_wire_left(r)) ldg_wire_refuse(r, LADING_ERR_FORMAT); /* each takes a byte at least */
  if (r->err) return r->err;
  int64_t *v = ldg_alloc(8 * *n);
  if (!v) return ldg_wire_refuse(r, LADING_ERR_NOMEM);
  if (get_values(r, *n, v)) ldg_free(v);
  else *out = v;
  return r->err;
}
