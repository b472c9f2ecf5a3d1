/* build_sig: signatures. The tree of element kinds, its arithmetic, and the id that is equal iff MPI signatures match:
 * a polynomial hash of the string of kinds, which composes over the tree without expanding it, as layout ids do. */
#include "base_hash.h"
#include "build.h"

#define LONG_KIND (sizeof(long) == 8 ? LADING_INT64 : LADING_INT32)

/* The two kinds of a pair, in order; of any other element itself. */
static int letters_of(lading_elem e, lading_elem letter[2]) {
  letter[0] = e;
  letter[1] = LADING_INT32;
  switch (e) {
  case LADING_FLOAT_INT: letter[0] = LADING_FLOAT; return 2;
  case LADING_DOUBLE_INT: letter[0] = LADING_DOUBLE; return 2;
  case LADING_LONG_INT: letter[0] = LONG_KIND; return 2;
  case LADING_2INT: letter[0] = LADING_INT32; return 2;
  case LADING_SHORT_INT: letter[0] = LADING_INT16; return 2;
  case LADING_LONG_DOUBLE_INT: letter[0] = LADING_LONG_DOUBLE; return 2;
  default: return 1;
  }
}

/* ---- references and arithmetic ---- */

static bool counted(const ldg_signode *n) {
  return n && atomic_load_explicit(&n->refs, memory_order_relaxed) != LDG_IMMORTAL;
}

void ldg_build_sig_ref(ldg_sig s) {
  if (counted(s.node)) atomic_fetch_add_explicit(&((ldg_signode *)s.node)->refs, 1, memory_order_relaxed);
}

void ldg_build_sig_free(ldg_sig s) {
  ldg_signode *n = (ldg_signode *)s.node;
  if (!counted(n) || atomic_fetch_sub_explicit(&n->refs, 1, memory_order_acq_rel) != 1) return;
  for (int64_t i = 0; i < n->count; i++) ldg_build_sig_free(n->part[i]);
  ldg_free(n);
}

int ldg_build_sig_times(ldg_sig s, int64_t n, ldg_sig *out) {
  ldg_sig r = { 0 };
  if (n != 0 && s.n != 0) {
    int64_t elements;
    if (ldg_mul(s.n, n, &r.n) || ldg_mul(r.n, s.node->letters, &elements)) return LADING_ERR_OVERFLOW;
    r.node = s.node;
  }
  *out = r;
  return LADING_OK;
}

/* ERR_OVERFLOW never happens where the bytes of the parts can be counted, since no letter is shorter than one. ERR_DEPTH: the rep of a type that was shipped may be less deep. */
static int sum_parts(int64_t n, const ldg_sig *part, ldg_signode *node) {
  int64_t letters;
  node->kind = part[0].node->kind, node->kinds = 0, node->depth = 1;
  node->elements = node->letters = 0;
  for (int64_t i = 0; i < n; i++) {
    if (ldg_mul(part[i].n, part[i].node->letters, &letters) || ldg_add(node->letters, letters, &node->letters))
      return LADING_ERR_OVERFLOW;
    node->elements += part[i].n * part[i].node->elements;
    node->kinds |= part[i].node->kinds;
    if (part[i].node->depth >= node->depth) node->depth = part[i].node->depth + 1;
    if (part[i].node->kind != node->kind) node->kind = -1;
  }
  return node->depth > LADING_DEPTH_MAX ? LADING_ERR_DEPTH : LADING_OK;
}

/* Where the parts start. External bytes may be more than packed ones, where a long double is a double. */
static int sum_bytes(int64_t n, const ldg_sig *part, ldg_signode *node, ldg_sig_at *at) {
  at[0] = (ldg_sig_at){ 0, 0 };
  for (int64_t i = 0; i < n; i++) {
    ldg_sig_at all;
    if (ldg_mul(part[i].n, part[i].node->size, &all.packed) || ldg_mul(part[i].n, part[i].node->external, &all.external) ||
        ldg_add(at[i].packed, all.packed, &at[i + 1].packed) || ldg_add(at[i].external, all.external, &at[i + 1].external))
      return LADING_ERR_OVERFLOW;
  }
  node->size = at[n].packed, node->external = at[n].external;
  return LADING_OK;
}

/* Of a node of n parts. */
int64_t ldg_build_sig_memory(int64_t n) {
  return (int64_t)sizeof(ldg_signode) + n * (int64_t)sizeof(ldg_sig) + (n + 1) * (int64_t)sizeof(ldg_sig_at);
}

static ldg_signode *alloc_node(int64_t n, const ldg_sig *parts) {
  ldg_signode *node = ldg_alloc(ldg_build_sig_memory(n));
  if (!node) return NULL;
  ldg_sig *part = (ldg_sig *)(node + 1);
  memcpy(part, parts, (size_t)n * sizeof *parts);
  atomic_init(&node->refs, 1);
  atomic_init(&node->hashed, 0);
  node->elem = LADING_ELEM_MAX;
  node->count = n;
  node->part = part;
  node->at = (ldg_sig_at *)(part + n);
  return node;
}

int ldg_build_sig_join(int64_t n, const ldg_sig *parts, ldg_sig *out) {
  if (n <= 1) {
    *out = n ? parts[0] : (ldg_sig){ 0 };
    ldg_build_sig_ref(*out);
    return LADING_OK;
  }
  ldg_signode *node = alloc_node(n, parts);
  if (!node) return LADING_ERR_NOMEM;
  int r = sum_parts(n, parts, node);
  if (!r) r = sum_bytes(n, parts, node, (ldg_sig_at *)(uintptr_t)node->at);
  if (r) {
    ldg_free(node);
    return r;
  }
  for (int64_t i = 0; i < n; i++) ldg_build_sig_ref(parts[i]);
  *out = (ldg_sig){ 1, node };
  return LADING_OK;
}

/* ---- the id ---- */

/* n copies by doubling; all factors are powers of one word, so their order does not matter */
static ldg_word times(ldg_word w, int64_t n) {
  ldg_word r = ldg_word_empty;
  for (; n > 0; n >>= 1) {
    if (n & 1) r = ldg_word_concat(r, w);
    if (n > 1) w = ldg_word_concat(w, w);
  }
  return r;
}

static ldg_word elem_word(lading_elem e) {
  lading_elem letter[2];
  const int n = letters_of(e, letter);
  ldg_word r = ldg_word_empty;
  for (int i = 0; i < n; i++) r = ldg_word_concat(r, ldg_word_letter((uint64_t)letter[i] + 1)); /* 0 would hide in front */
  return r;
}

static ldg_word known_word(const ldg_signode *n) {
  ldg_word w;
  for (int k = 0; k < 2; k++) {
    w.h[k] = atomic_load_explicit(&n->hash[k], memory_order_relaxed);
    w.power[k] = atomic_load_explicit(&n->hash[2 + k], memory_order_relaxed);
  }
  return w;
}

static void remember(ldg_signode *n, ldg_word w) {
  for (int k = 0; k < 2; k++) {
    atomic_store_explicit(&n->hash[k], w.h[k], memory_order_relaxed);
    atomic_store_explicit(&n->hash[2 + k], w.power[k], memory_order_relaxed);
  }
  atomic_store_explicit(&n->hashed, 1, memory_order_release);
}

/* Remembered per node: nodes are shared, and a tree of shared nodes is long when written out. */
static ldg_word node_word(const ldg_signode *n) {
  if (n->count == 0) return elem_word(n->elem);
  if (atomic_load_explicit(&n->hashed, memory_order_acquire)) return known_word(n);
  ldg_word w = ldg_word_empty;
  for (int64_t i = 0; i < n->count; i++) w = ldg_word_concat(w, times(node_word(n->part[i].node), n->part[i].n));
  remember((ldg_signode *)n, w);
  return w;
}

#define FORMAT_VERSION 2

int ldg_build_signature(const ldg_sig *sig, int64_t count, lading_id *out) {
  ldg_sig all;
  if (!sig || count < 0 || !out) return LADING_ERR_ARG;
  int r = ldg_build_sig_times(*sig, count, &all);
  if (r) return r;
  const ldg_word w = all.n ? times(node_word(all.node), all.n) : ldg_word_empty;
  *out = ldg_word_id(FORMAT_VERSION, all.n ? all.n * all.node->letters : 0, 0, w.h);
  return LADING_OK;
}
