/* yaksa_iov: segments. Callers tell from iov_len(2) whether a type is contiguous, and take half of it for the segments of an
 * item: so items stay apart, even where the last segment of one touches the first of the next, unless all of them are one run. */
#include "yaksa_type.h"

typedef struct items { const lading_type *type; int64_t count, each; } items; /* `each`: segments of an item */

static bool one_run(const items *x) {
  const lading_type *t = x->type;
  return x->each == 1 && (x->count == 1 || t->ub - t->lb == t->rep->size);
}

/* `segments`, `bytes`: of all items. */
static int open_items(uintptr_t count, yaksa_type_t type, items *x, int64_t *segments, int64_t *bytes) {
  const lading_type *t = ldg_yaksa_type(type);
  if (!t) return LADING_ERR_ARG;
  if (count > INT64_MAX) return LADING_ERR_OVERFLOW;
  *x = (items){ t, (int64_t)count, t->rep->runs };
  if (ldg_mul(x->count, x->each, segments) || ldg_mul(x->count, t->rep->size, bytes)) return LADING_ERR_OVERFLOW;
  if (*segments > 1 && one_run(x)) *segments = 1;
  return LADING_OK;
}

int yaksa_iov_len(uintptr_t count, yaksa_type_t type, uintptr_t *iov_len) {
  items x;
  int64_t segments, bytes;
  if (!iov_len) return YAKSA_ERR__INTERNAL;
  const int e = open_items(count, type, &x, &segments, &bytes);
  if (!e) *iov_len = type == YAKSA_TYPE__NULL ? 1 : (uintptr_t)segments;
  return ldg_yaksa_error(e);
}

/* Whole items, then whole segments of the next one, within `max` bytes, which are less than there are. */
static int segments_within(const items *x, int64_t max, int64_t *segments, int64_t *bytes) {
  const int64_t size = x->type->rep->size, whole = one_run(x) ? 0 : max / size;
  int64_t index = 0, residue = max;
  const int e = one_run(x) ? LADING_OK : lading_segment_at(x->type, 1, max - whole * size, &index, &residue);
  if (!e) *segments = whole * x->each + index, *bytes = max - residue;
  return e;
}

int yaksa_iov_len_max(uintptr_t count, yaksa_type_t type, uintptr_t max_iov_bytes, uintptr_t *iov_len, uintptr_t *actual_iov_bytes) {
  items x;
  int64_t segments, bytes;
  if (!iov_len || !actual_iov_bytes) return YAKSA_ERR__INTERNAL;
  int e = open_items(count, type, &x, &segments, &bytes);
  if (!e && max_iov_bytes < (uintptr_t)bytes) e = segments_within(&x, (int64_t)max_iov_bytes, &segments, &bytes);
  if (e) return ldg_yaksa_error(e);
  *iov_len = type == YAKSA_TYPE__NULL ? 1 : (uintptr_t)segments, *actual_iov_bytes = (uintptr_t)bytes;
  return YAKSA_SUCCESS;
}

/* ---- the list ---- */

static int item_by_item(const items *x, const char *buf, int64_t first, struct iovec *iov, int64_t max, int64_t *got) {
  const int64_t extent = x->type->ub - x->type->lb;
  int64_t n = 0, some;
  for (int64_t i = first / x->each, skip = first % x->each; i < x->count && n < max; i++, skip = 0, n += some) {
    const int e = lading_iov(x->type, 1, ldg_at(buf, i * extent), skip, iov + n, max - n, &some);
    if (e) return e;
  }
  *got = n;
  return LADING_OK;
}

/* Segments [first, first + max), some of which are there. */
static int list(const items *x, const char *buf, int64_t first, struct iovec *iov, int64_t max, int64_t *got) {
  int64_t two = 0;
  int e = x->count > 1 && !one_run(x) ? lading_segments_count(x->type, 2, &two) : LADING_OK;
  if (e) return e;
  if (two == 0 || two == 2 * x->each) return lading_iov(x->type, x->count, buf, first, iov, max, got);
  ldg_rep all; /* no offset of all items leaves 64 bits, so none of one does */
  e = ldg_rep_repeat_in(&all, x->count, x->type->ub - x->type->lb, x->type->rep);
  return e ? e : item_by_item(x, buf, first, iov, max, got);
}

int yaksa_iov(const char *buf, uintptr_t count, yaksa_type_t type, uintptr_t iov_offset, struct iovec *iov, uintptr_t max_iov_len,
              uintptr_t *actual_iov_len) {
  items x;
  int64_t segments, bytes, got = 0;
  if (!actual_iov_len || (max_iov_len > 0 && !iov)) return YAKSA_ERR__INTERNAL;
  int e = open_items(count, type, &x, &segments, &bytes);
  if (e) return ldg_yaksa_error(e);
  if (type == YAKSA_TYPE__NULL && iov_offset == 0 && max_iov_len > 0) iov[got++] = (struct iovec){ ldg_at(buf, 0), 0 };
  else if (iov_offset < (uintptr_t)segments) {
    const int64_t left = segments - (int64_t)iov_offset, max = max_iov_len < (uintptr_t)left ? (int64_t)max_iov_len : left;
    e = list(&x, buf, (int64_t)iov_offset, iov, max, &got);
  }
  if (!e) *actual_iov_len = (uintptr_t)got;
  return ldg_yaksa_error(e);
}
