/* rep: the walk. The definition of what a rep denotes, kept as plain as it can be: everything else is tested against it. */
#include "rep.h"

typedef struct walk {
  ldg_rep_visit *fn;
  void *arg;
} walk;

static int visit(const walk *w, const ldg_rep *r, int64_t off, int64_t pos, int64_t lo, int64_t hi);

/* Children of one length, `stride` apart or listed in `at`. Here and below, [lo, hi) counts from the first byte of the part at
 * hand, which is at `off` in memory and at `pos` in the whole stream. */
static int visit_copies(const walk *w, const ldg_rep *child, const int64_t *at, int64_t stride, int64_t off, int64_t pos, int64_t lo, int64_t hi) {
  if (lo >= hi) return 0;
  int64_t size = child->size;
  for (int64_t i = lo / size; i <= (hi - 1) / size; i++) {
    int64_t from = ldg_max(lo - i * size, 0), to = ldg_min(hi - i * size, size);
    int rc = visit(w, child, ldg_rep_move(off, at ? at[i] : i * stride), pos + i * size, from, to);
    if (rc) return rc;
  }
  return 0;
}

static int visit_entry(const walk *w, const ldg_rep *r, int64_t i, int64_t off, int64_t pos, int64_t lo, int64_t hi) {
  off = ldg_rep_move(off, r->at[i]);
  return r->kids ? visit(w, r->kids[i], off, pos, lo, hi) : visit_copies(w, r->child, NULL, r->stride, off, pos, lo, hi);
}

/* Entries of unequal size. */
static int visit_summed(const walk *w, const ldg_rep *r, int64_t off, int64_t pos, int64_t lo, int64_t hi) {
  for (int64_t i = ldg_rep_find(r->psum, r->n, lo); i < r->n && r->psum[i] < hi; i++) {
    int64_t start = r->psum[i], from = ldg_max(lo - start, 0), to = ldg_min(hi, r->psum[i + 1]) - start;
    int rc = visit_entry(w, r, i, off, pos + start, from, to);
    if (rc) return rc;
  }
  return 0;
}

static int visit(const walk *w, const ldg_rep *r, int64_t off, int64_t pos, int64_t lo, int64_t hi) {
  if (lo >= hi) return 0;
  if (r->kind == LDG_BYTES) return w->fn(w->arg, ldg_rep_move(off, lo), pos + lo, hi - lo);
  return r->psum ? visit_summed(w, r, off, pos, lo, hi) : visit_copies(w, r->child, r->at, r->stride, off, pos, lo, hi);
}

int ldg_rep_walk(const ldg_rep *r, int64_t lo, int64_t hi, ldg_rep_visit *fn, void *arg) {
  walk w = { fn, arg };
  return visit(&w, r, 0, 0, lo, hi);
}
