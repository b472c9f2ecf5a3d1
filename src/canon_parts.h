/* canon_parts: a list cut into pieces, joined again. */
#ifndef LDG_CANON_PARTS_H
#define LDG_CANON_PARTS_H

#include "canon_rules.h"

typedef struct ldg_parts { int64_t n, *at; const ldg_rep **kids; } ldg_parts;

static inline int ldg_parts_open(ldg_parts *p, int64_t cap) {
  p->n = 0;
  p->at = ldg_alloc(16 * cap);
  if (!p->at) return LADING_ERR_NOMEM;
  p->kids = (const ldg_rep **)(p->at + cap);
  return LADING_OK;
}

static inline int ldg_parts_put(ldg_canon_ctx *x, ldg_parts *p, int64_t at, const ldg_rep *view) {
  int rc = ldg_canon_node(x, view, &p->kids[p->n]);
  if (!rc) p->at[p->n++] = at;
  return rc;
}

/* The slice [from, to) of a list, if there is any. */
static inline int ldg_parts_slice(ldg_canon_ctx *x, ldg_parts *p, const ldg_rep *v, int64_t from, int64_t to) {
  if (from == to) return LADING_OK;
  ldg_rep part = ldg_view_slice(v, from, to - from);
  return ldg_parts_put(x, p, v->at[from], &part);
}

/* Frees the parts; when all went well so far, *out is their join. Returns what a rule returns. */
static inline int ldg_parts_close(ldg_canon_ctx *x, ldg_parts *p, int rc, const ldg_rep **out) {
  ldg_rep all = ldg_view_join(p->n, p->at, p->kids);
  if (!rc) rc = ldg_canon_node(x, &all, out);
  while (p->n > 0) ldg_rep_free(p->kids[--p->n]);
  ldg_free(p->at);
  return rc ? rc : 1;
}

#endif
