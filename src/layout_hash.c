/* layout_hash: the layout id. A stream of n offsets is the string of its n-1 byte deltas, each a letter of base_hash. Strings
 * are put together with the delta between them: h(AB) = (h(A) + letter(first(B) - last(A))) * r^|B| + h(B), where the power of
 * a part counts its offsets. Loops go by doubling, so nothing is expanded. */
#include "base_hash.h"
#include "layout.h"
#include "rep_map.h"

enum { ID_VERSION = 2 };

/* A stream. n == 0: empty, the rest is then the empty word. */
typedef struct part { int64_t n, first, last; ldg_word w; } part;

static const part empty = { 0, 0, 0, { { 0, 0 }, { 1, 1 } } };

static part moved(part p, int64_t by) {
  p.first = ldg_rep_move(p.first, by);
  p.last = ldg_rep_move(p.last, by);
  return p;
}

static part then(const part *a, const part *b) {
  if (a->n == 0 || b->n == 0) return a->n ? *a : *b;
  const ldg_word step = ldg_word_letter((uint64_t)b->first - (uint64_t)a->last);
  part c = { a->n + b->n, a->first, b->last, a->w };
  for (int i = 0; i < 2; i++) c.w.h[i] = ldg_word_fold(a->w.h[i] + step.h[i]);
  c.w = ldg_word_concat(c.w, b->w);
  return c;
}

/* n copies, by the binary digits of n from the top: c copies become 2c, or 2c + 1. */
static part copies(int64_t n, int64_t stride, const part *k) {
  if (n == 0 || k->n == 0) return empty;
  part all = *k;
  uint64_t done = 1;
  for (int bit = 62 - __builtin_clzll((uint64_t)n); bit >= 0; bit--) {
    part again = moved(all, (int64_t)(done * (uint64_t)stride));
    all = then(&all, &again);
    done *= 2;
    if (!((uint64_t)n >> bit & 1)) continue;
    part one = moved(*k, (int64_t)(done++ * (uint64_t)stride));
    all = then(&all, &one);
  }
  return all;
}

static part part_of(ldg_map *met, const ldg_rep *r);

static part bytes(int64_t n) {
  part one = { 1, 0, 0, ldg_word_letter(0) }; /* a first offset is no delta: it has a place, but no letter */
  one.w.h[0] = one.w.h[1] = 0;
  return copies(n, 1, &one);
}

/* Equal neighbours, of counts or of kids, are computed once. */
static part list(ldg_map *met, const ldg_rep *r) {
  part all = empty, k = r->child ? part_of(met, r->child) : empty, e = k;
  for (int64_t i = 0; i < r->n; i++) {
    if (r->cnt && (i == 0 || r->cnt[i] != r->cnt[i - 1])) e = copies(r->cnt[i], r->stride, &k);
    if (r->kids && (i == 0 || r->kids[i] != r->kids[i - 1])) e = part_of(met, r->kids[i]);
    part here = moved(e, r->at[i]);
    all = then(&all, &here);
  }
  return all;
}

static part part_made(ldg_map *met, const ldg_rep *r) {
  if (r->kind != LDG_REPEAT) return list(met, r);
  part k = part_of(met, r->child);
  return copies(r->n, r->stride, &k);
}

/* Those of shared nodes are remembered: time follows the nodes there are. */
static part part_of(ldg_map *met, const ldg_rep *r) {
  if (r->size == 0) return empty;
  if (r->runs == 1) return moved(bytes(r->size), r->first);
  if (!ldg_rep_shared(r)) return part_made(met, r);
  const part *known = ldg_map_get(met, r);
  if (known) return *known;
  const part p = part_made(met, r);
  part *kept = ldg_alloc(sizeof *kept);
  void **place = kept ? ldg_map_put(met, r) : NULL;
  if (place) *kept = p, *place = kept;
  else ldg_free(kept);
  return p;
}

lading_id ldg_layout_id(const ldg_rep *r) {
  ldg_map met;
  int64_t i = 0;
  ldg_map_open(&met);
  const part p = part_of(&met, r);
  for (void *kept; (kept = ldg_map_next(&met, &i));) ldg_free(kept);
  ldg_map_close(&met);
  return ldg_word_id(ID_VERSION, p.n, p.first, p.w.h);
}
