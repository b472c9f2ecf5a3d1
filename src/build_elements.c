/* build_elements: which elements stand where in the stream. A signature is a tree of counted parts, and so is walked like one. */
#include "build.h"

static int64_t bytes_of(const ldg_signode *node, int stream) { return stream == LDG_PACKED ? node->size : node->external; }
static int64_t place(const ldg_sig_at *at, int stream) { return stream == LDG_PACKED ? at->packed : at->external; }

/* The part that holds byte `byte` of a node: the last one that starts there or before. None is empty. */
static int64_t find_part(const ldg_signode *node, int stream, int64_t byte) {
  int64_t lo = 0;
  for (int64_t n = node->count; n > 1; n -= n / 2)
    if (place(&node->at[lo + n / 2], stream) <= byte) lo += n / 2;
  return lo;
}

/* Opens levels from s down to its first run. */
static void open_first(ldg_elements *c, ldg_sig s) {
  for (; s.node->count > 0; s = s.node->part[0]) c->level[++c->top] = (ldg_elements_level){ s, 0, 0 };
  c->kind = s.node->elem, c->n = s.n;
}

int64_t ldg_elements_seek(ldg_elements *c, ldg_sig s, int stream, int64_t byte, int64_t *packed) {
  int64_t at = 0, copy;
  c->top = -1, c->n = 0;
  if (s.n == 0 || byte / bytes_of(s.node, stream) >= s.n) {
    if (packed) *packed = s.n ? s.n * s.node->size : 0;
    return 0;
  }
  for (;; s = s.node->part[c->level[c->top].part]) {
    copy = byte / bytes_of(s.node, stream);
    byte -= copy * bytes_of(s.node, stream), at += copy * s.node->size;
    if (s.node->count == 0) break;
    const int64_t part = find_part(s.node, stream, byte);
    byte -= place(&s.node->at[part], stream), at += s.node->at[part].packed;
    c->level[++c->top] = (ldg_elements_level){ s, copy, part };
  }
  c->kind = s.node->elem, c->n = s.n - copy;
  if (packed) *packed = at;
  return byte;
}

/* The next run, when there is one. */
static void next_run(ldg_elements *c) {
  for (; c->top >= 0; c->top--) {
    ldg_elements_level *l = &c->level[c->top];
    if (++l->part == l->sig.node->count) l->part = 0, l->copy++;
    if (l->copy < l->sig.n) {
      open_first(c, l->sig.node->part[l->part]);
      return;
    }
  }
}

void ldg_elements_take(ldg_elements *c, int64_t n) {
  c->n -= n;
  if (c->n == 0) next_run(c);
}

bool ldg_elements_boundary(ldg_sig s, int64_t byte) {
  ldg_elements c;
  if (s.n == 0) return byte == 0;
  return s.node->count ? ldg_elements_seek(&c, s, LDG_PACKED, byte, NULL) == 0 : byte % s.node->size == 0;
}

/* The same sequence of elements, described alike. Nodes are shared, so written out they may be very many: after some steps the answer is no. */
static bool are_alike(const ldg_signode *a, const ldg_signode *b, int *steps) {
  if (a == b) return true;
  if (a->count == 0 || a->count != b->count || a->size != b->size || a->kinds != b->kinds) return false;
  for (int64_t i = 0; i < a->count; i++)
    if (--*steps < 0 || a->part[i].n != b->part[i].n || !are_alike(a->part[i].node, b->part[i].node, steps)) return false;
  return true;
}

bool ldg_elements_agree(ldg_sig a, ldg_sig b, int64_t lo, int64_t hi) {
  ldg_elements x, y;
  int steps = 1 << 10;
  if (lo == hi || are_alike(a.node, b.node, &steps)) return true;
  if (a.node->kind >= 0 && b.node->kind >= 0) return a.node->kind == b.node->kind;
  if (ldg_elements_seek(&x, a, LDG_PACKED, lo, NULL) || ldg_elements_seek(&y, b, LDG_PACKED, lo, NULL)) return false;
  while (lo < hi) {
    const int64_t n = ldg_min(x.n, y.n);
    if (x.kind != y.kind) return false;
    lo += n * ldg_build_elem_nodes[x.kind].size;
    ldg_elements_take(&x, n), ldg_elements_take(&y, n);
  }
  return true;
}
