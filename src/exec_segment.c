/* Segments: the runs of a counted layout, from any index, without walking from the start. */
#include "exec.h"

int ldg_exec_segments(const ldg_side *s, int64_t *n) {
  ldg_rep items;
  const int e = ldg_rep_repeat_in(&items, s->count, s->extent, s->rep);
  if (!e) *n = items.runs;
  return e;
}

int ldg_exec_iov(const ldg_side *s, int64_t first, struct iovec *iov, int64_t max, int64_t *got) {
  ldg_rep items;
  ldg_cursor c;
  int64_t byte = 0, off, len, n = 0;
  int e = ldg_rep_repeat_in(&items, s->count, s->extent, s->rep);
  if (!e && first < items.runs && max > 0) {
    e = ldg_rep_run_start(&items, first, &byte);
    if (!e) ldg_cursor_seek(&c, &items, byte);
    for (; !e && n < max && ldg_cursor_run(&c, &off, &len); n++) iov[n] = (struct iovec){ ldg_at(s->base, off), (size_t)len };
  }
  if (!e) *got = n;
  return e;
}

int ldg_exec_segment_at(const ldg_side *s, int64_t byte, int64_t *index, int64_t *residue) {
  ldg_rep items;
  int64_t k, start;
  int e = ldg_rep_repeat_in(&items, s->count, s->extent, s->rep);
  if (!e && (byte < 0 || byte >= items.size)) e = LADING_ERR_RANGE;
  if (!e) e = ldg_rep_run_at(&items, byte, &k, &start);
  if (!e) *index = k, *residue = byte - start;
  return e;
}
