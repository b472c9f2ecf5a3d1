/* From trees to nests: perfect nests, sums of terms, and the common refinement of two layouts. */
#include "nest_tree.h"

#include <stdlib.h>

/* The first node that is no repeat. */
static const ldg_rep *peel(const ldg_rep *r, int *loops) {
  for (*loops = 0; r->kind == LDG_REPEAT; r = r->child) ++*loops;
  return r;
}

/* The repeats around that node, memory to packed; dim[from] is the innermost of them. */
static void set_loops(ldg_nest *n, const ldg_rep *r, int from) {
  for (int i = n->nd - 1; i >= from; i--, r = r->child) n->dim[i] = (ldg_dim){ r->n, r->stride, r->child->size };
}

bool ldg_nest_of(const ldg_rep *r, ldg_nest *n) {
  int loops;
  const ldg_rep *leaf = peel(r, &loops);
  if (leaf->kind != LDG_BYTES || loops > LDG_DIMS) return false;
  ldg_nest_blank(n);
  n->block = leaf->n, n->nd = loops;
  set_loops(n, r, 0);
  return true;
}

#define LOOPED_LIST_MAX 64 /* entries; longer lists have steps of their own */

/* One run an entry. */
static bool list_of_bytes(const ldg_rep *r) {
  if (r->kind == LDG_BLOCKS) return r->child->kind == LDG_BYTES && (!r->cnt || r->stride == r->child->size);
  if (r->kind != LDG_JOIN) return false;
  for (int64_t i = 0; i < r->n; i++)
    if (r->kids[i]->kind != LDG_BYTES) return false;
  return true;
}

bool ldg_nest_of_list(const ldg_rep *r, ldg_nest *n) {
  int loops;
  const ldg_rep *list = peel(r, &loops);
  if (!list_of_bytes(list) || loops + 1 > LDG_DIMS || (loops > 0 && list->n > LOOPED_LIST_MAX)) return false;
  ldg_nest_blank(n);
  n->block = list->kind == LDG_BLOCKS ? list->child->n : 1, n->nd = loops + 1;
  n->at = list->at, n->psum = list->psum, n->span = list->hi - list->lo;
  n->dim[0] = (ldg_dim){ list->n, 0, n->block };
  set_loops(n, r, 1);
  return true;
}

/* ---- terms ---- */

static int one_term(const ldg_rep *r, int64_t src, int64_t dst, ldg_term *out, int max) {
  if (max < 1) return -1;
  if (!ldg_nest_of(r, &out->nest)) return -1;
  out->src = src, out->dst = dst;
  return 1;
}

static int terms_at(const ldg_rep *r, int64_t src, int64_t dst, ldg_term *out, int max);

/* entry i of blocks and join: where, how often, what */
static int entry_terms(const ldg_rep *r, int64_t src, int64_t dst, ldg_term *out, int max) {
  if (r->n > max) return -1;
  int got = 0;
  for (int64_t i = 0; i < r->n; i++) {
    const ldg_rep *child = r->kind == LDG_JOIN ? r->kids[i] : r->child;
    const int64_t copies = r->cnt ? r->cnt[i] : 1;
    const bool dense = child->kind == LDG_BYTES && r->cnt && r->stride == child->size;
    if (copies > 1 && !dense) return -1;
    const int k = terms_at(child, src + r->at[i], dst + (r->psum ? r->psum[i] : i * child->size), out + got, max - got);
    if (k < 0) return -1;
    if (dense) out[got].nest.block *= copies;
    got += k;
  }
  return got;
}

/* every term of the body of a repeat gets one more, outermost, dim */
static int repeated_terms(const ldg_rep *r, int64_t src, int64_t dst, ldg_term *out, int max) {
  const int k = terms_at(r->child, src, dst, out, max);
  for (int i = 0; i < k; i++) {
    ldg_nest *n = &out[i].nest;
    if (n->nd == LDG_DIMS) return -1;
    n->dim[n->nd++] = (ldg_dim){ r->n, r->stride, r->child->size };
  }
  return k;
}

static int terms_at(const ldg_rep *r, int64_t src, int64_t dst, ldg_term *out, int max) {
  ldg_nest probe;
  if (r->kind == LDG_BYTES || (r->kind == LDG_REPEAT && ldg_nest_of(r, &probe))) return one_term(r, src, dst, out, max);
  return r->kind == LDG_REPEAT ? repeated_terms(r, src, dst, out, max) : entry_terms(r, src, dst, out, max);
}

int ldg_nest_terms(const ldg_rep *r, ldg_term *out, int max) { return terms_at(r, 0, 0, out, max); }

/* ---- common refinement ---- */

/* One side of a copy, read from the inside out: bytes, dims, items. There are as many items as it takes ("open"). */
typedef struct radix { int64_t n, stride; } radix;
typedef struct side { radix r[LDG_DEPTH_MAX + 2]; int count, next; bool open; int64_t left, stride; } side;

static bool side_of(side *s, const ldg_rep *r, int64_t extent, int64_t *at) {
  *at = 0;
  if (ldg_rep_is_shifted(r)) *at = r->at[0], r = r->kids[0];
  int loops;
  const ldg_rep *leaf = peel(r, &loops);
  if (leaf->kind != LDG_BYTES || r->size == 0) return false;
  s->r[0] = (radix){ leaf->n, 1 };
  for (int i = loops; i >= 1; i--, r = r->child) s->r[i] = (radix){ r->n, r->stride };
  s->r[loops + 1] = (radix){ INT64_MAX, extent };
  s->count = loops + 2, s->next = 0, s->left = 1, s->stride = 0, s->open = false;
  return true;
}

static void refill(side *s) {
  for (; s->left == 1 && s->next < s->count; s->next++) s->left = s->r[s->next].n, s->stride = s->r[s->next].stride;
  s->open = s->next == s->count;
}

static void take(side *s, int64_t n) {
  if (!s->open) s->left /= n;
  s->stride = (int64_t)((uint64_t)s->stride * (uint64_t)n); /* wraps only past the end of the stream, where it is not used */
}

/* Appends a dim, fused with the one inside where both strides continue it. */
static bool append(ldg_nest *n, ldg_dim d) {
  if (n->nd == 0 && n->block == 1 && d.src == 1 && d.dst == 1) { n->block = d.n; return true; }
  ldg_dim *in = n->nd ? &n->dim[n->nd - 1] : NULL;
  if (!in && d.src == n->block && d.dst == n->block) { n->block *= d.n; return true; }
  if (in && d.src == in->n * in->src && d.dst == in->n * in->dst) { in->n *= d.n; return true; }
  if (n->nd == LDG_DIMS) return false;
  n->dim[n->nd++] = d;
  return true;
}

bool ldg_nest_common(const ldg_rep *sr, int64_t se, const ldg_rep *dr, int64_t de, int64_t bytes, ldg_nest *n,
                     int64_t *src_at, int64_t *dst_at) {
  side a, b;
  if (!side_of(&a, sr, se, src_at) || !side_of(&b, dr, de, dst_at)) return false;
  memset(n, 0, sizeof *n);
  n->block = 1;
  for (int64_t done = 1, m; done < bytes; take(&a, m), take(&b, m), done *= m) {
    refill(&a), refill(&b);
    m = ldg_min(a.left, b.left);
    const bool last = done > bytes / m; /* nothing outside this dim is touched, so it need not divide */
    if (!last && ((!a.open && a.left % m) || (!b.open && b.left % m))) return false;
    if (last) m = (bytes - 1) / done + 1;
    if (!append(n, (ldg_dim){ m, a.stride, b.stride })) return false;
    if (last) break;
  }
  if (n->nd == 0) n->dim[n->nd++] = (ldg_dim){ 1, n->block, n->block };
  return true;
}

/* ---- distinct destinations ---- */

/* Sufficient: sorted by stride, every dim steps over all that the smaller ones cover. */
bool ldg_nest_distinct(const ldg_nest *n) {
  int64_t span = n->block;
  bool used[LDG_DIMS] = { false };
  for (int round = 0; round < n->nd; round++) {
    int best = -1;
    for (int i = 0; i < n->nd; i++)
      if (!used[i] && n->dim[i].n > 1 && (best < 0 || llabs(n->dim[i].dst) < llabs(n->dim[best].dst))) best = i;
    if (best < 0) break;
    used[best] = true;
    if (llabs(n->dim[best].dst) < span) return false;
    span += (n->dim[best].n - 1) * llabs(n->dim[best].dst);
  }
  return true;
}
