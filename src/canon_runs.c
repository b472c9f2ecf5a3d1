/* canon_runs: a tree rebuilt from its merged runs, so that its form is a function of the sequence alone. */
#include "canon_rules.h"

/* ---- the merged runs of a tree --------------------------------------------------------------------------------------- */

typedef struct runs { int64_t n, *off, *len; } runs;

/* What one visit of a node left in the list: its first and last run may have melted into others there. */
typedef struct stamp {
  int64_t n, at;               /* runs of the node; index of its second one */
  int64_t off, first, last;    /* where the first run starts; lengths of the first and the last */
  int64_t base;
} stamp;

static inline void put(runs *q, int64_t off, int64_t len) {
  int64_t i = q->n - 1;
  if (i >= 0 && ldg_rep_move(q->off[i], q->len[i]) == off) {
    q->len[i] += len;
    return;
  }
  q->off[++i] = off;
  q->len[i] = len;
  q->n = i + 1;
}

static void collect(runs *q, const ldg_rep *r, int64_t base);

static stamp collect_first(runs *q, const ldg_rep *r, int64_t base) {
  const int64_t before = q->n, tail = before ? q->len[before - 1] : 0;
  collect(q, r, base);
  const bool melted = q->n - before < r->runs;
  stamp s = { .n = r->runs, .at = before + 1 - melted, .off = ldg_rep_move(base, r->first), .base = base };
  s.first = melted ? q->len[before - 1] - tail : q->len[before];
  s.last = q->len[q->n - 1];
  return s;
}

/* The same runs again, moved; n >= 2. */
static void collect_again(runs *q, const stamp *s, int64_t base) {
  const int64_t by = (int64_t)((uint64_t)base - (uint64_t)s->base), middle = s->n - 2;
  put(q, ldg_rep_move(s->off, by), s->first);
  for (int64_t k = 0; k < middle; k++) {
    q->off[q->n + k] = ldg_rep_move(q->off[s->at + k], by);
    q->len[q->n + k] = q->len[s->at + k];
  }
  q->n += middle;
  q->off[q->n] = ldg_rep_move(q->off[s->at + middle], by);
  q->len[q->n++] = s->last;
}

/* n copies of a node of one run: `stride` is not its length, or all would be one run and the caller done. */
static void collect_pieces(runs *q, int64_t n, int64_t stride, int64_t off, int64_t len) {
  for (int64_t i = 0; i < n; i++, off = ldg_rep_move(off, stride)) put(q, off, len);
}

/* One piece per entry: the lists that the world is full of. */
static void collect_list(runs *q, const ldg_rep *r, int64_t base) {
  const int64_t len = r->child->size, *at = r->at;
  int64_t *off = q->off, *lens = q->len;
  base = ldg_rep_move(base, r->child->first);
  put(q, ldg_rep_move(base, at[0]), len);
  int64_t m = q->n, next = ldg_rep_move(off[m - 1], lens[m - 1]);
  for (int64_t i = 1; i < r->n; i++) {
    const int64_t here = ldg_rep_move(base, at[i]);
    if (here == next) lens[m - 1] += len;
    else off[m] = here, lens[m++] = len;
    next = ldg_rep_move(here, len);
  }
  q->n = m;
}

/* Entry by entry, with the child walked once only. */
static void collect_blocks(runs *q, const ldg_rep *r, int64_t base) {
  const ldg_rep *k = r->child;
  stamp s = { 0 };
  const bool touching = k->runs == 1 && r->cnt && r->stride == k->size;
  for (int64_t i = 0; i < r->n; i++) {
    int64_t c = r->cnt ? r->cnt[i] : 1, at = ldg_rep_move(base, r->at[i]);
    if (touching) {
      if (c) put(q, ldg_rep_move(at, k->first), c * k->size);
    } else if (k->runs == 1) {
      collect_pieces(q, c, r->stride, ldg_rep_move(at, k->first), k->size);
    } else {
      for (int64_t j = 0; j < c; j++, at = ldg_rep_move(at, r->stride)) {
        if (s.n) collect_again(q, &s, at);
        else s = collect_first(q, k, at);
      }
    }
  }
}

static void collect_repeat(runs *q, const ldg_rep *r, int64_t base) {
  const ldg_rep *k = r->child;
  if (k->runs == 1) {
    collect_pieces(q, r->n, r->stride, ldg_rep_move(base, k->first), k->size);
    return;
  }
  stamp s = collect_first(q, k, base);
  for (int64_t i = 1; i < r->n; i++) {
    base = ldg_rep_move(base, r->stride);
    collect_again(q, &s, base);
  }
}

static void collect_join(runs *q, const ldg_rep *r, int64_t base) {
  stamp s = { 0 };
  for (int64_t i = 0; i < r->n; i++) {
    const ldg_rep *k = r->kids[i];
    const int64_t at = ldg_rep_move(base, r->at[i]);
    if (k->runs > 1 && i > 0 && k == r->kids[i - 1]) collect_again(q, &s, at);
    else if (k->runs > 1) s = collect_first(q, k, at);
    else if (k->size) put(q, ldg_rep_move(at, k->first), k->size);
  }
}

/* Appends the runs of a node. The list has room for all runs of the whole tree: runs that are done never change again. */
static void collect(runs *q, const ldg_rep *r, int64_t base) {
  if (r->size == 0) return;
  if (r->runs == 1) put(q, ldg_rep_move(base, r->first), r->size);
  else if (r->kind == LDG_REPEAT) collect_repeat(q, r, base);
  else if (r->kind == LDG_BLOCKS && !r->cnt && r->child->runs == 1) collect_list(q, r, base);
  else if (r->kind == LDG_BLOCKS) collect_blocks(q, r, base);
  else collect_join(q, r, base);
}

/* ---- nest: runs that are loops around equal pieces -------------------------------------------------------------------------- */

/* Feeds offsets of equal pieces one by one. Levels below `depth` are complete, innermost first; the open one has seen `open`
 * whole copies. The first offset that is not where the loops so far put it closes the open level, so the loops found are
 * the irreducible ones: there is only one such nest for a sequence. */
enum { NEST_LEVELS = 64 };
typedef struct nest {
  int depth;
  int64_t open, n[NEST_LEVELS], stride[NEST_LEVELS];
  int64_t i[NEST_LEVELS], at[NEST_LEVELS]; /* where each level stands */
} nest;

/* Innermost level that goes on, or `depth` when all complete levels are at their end. */
static int nest_step(nest *t) {
  int k = 0;
  while (k < t->depth && t->i[k] + 1 == t->n[k]) k++;
  return k;
}

static void nest_set(nest *t, int k, int64_t off) {
  t->at[k] = off;
  while (k-- > 0) t->i[k] = 0, t->at[k] = off;
}

static bool nest_feed(nest *t, int64_t off) {
  int k = nest_step(t), d = t->depth;
  int64_t next = ldg_rep_move(t->at[k], t->stride[k]);
  if (k < d) {
    if (off != next) return false;
    t->i[k]++;
  } else if (t->open == 1) {
    t->stride[d] = off;
    t->open = 2;
  } else if (off == next) {
    t->open++;
  } else {
    if (d + 1 == NEST_LEVELS) return false;
    t->n[d] = t->open;
    t->i[d] = t->open - 1;
    t->depth = k = d + 1;
    t->stride[k] = off;
    t->open = 2;
  }
  nest_set(t, k, off);
  return true;
}

/* A piece of a nest touches at most one neighbour, since the innermost loop has at least two pieces that do not: all runs
 * are one piece long, or two. */
static bool find_nest(int64_t n, const int64_t *off, const int64_t *len, nest *t) {
  t->depth = 0;
  t->open = 1;
  t->at[0] = 0;
  t->stride[0] = 0;
  for (int64_t i = 0; i < n; i++) {
    if (i > 0 && !nest_feed(t, off[i])) return false;
    if (len[i] == len[0]) continue;
    if (len[i] >> 1 != len[0] || len[i] & 1 || !nest_feed(t, off[i] + len[0])) return false;
  }
  if (nest_step(t) < t->depth) return false;
  t->n[t->depth++] = t->open;
  return true;
}

static int make_nest(int64_t piece, const nest *t, const ldg_rep **out) {
  const ldg_rep *r;
  int rc = ldg_rep_bytes(piece, &r);
  for (int k = 0; k < t->depth && !rc; k++) {
    const ldg_rep *child = r;
    rc = ldg_rep_repeat(t->n[k], t->stride[k], child, &r);
    ldg_rep_free(child);
  }
  if (!rc) *out = r;
  return rc;
}

/* Run i is len[i] bytes at off[i]; n >= 2, off[0] == 0, neighbours do not touch. */
static int parse(ldg_canon_ctx *x, int64_t n, const int64_t *off, const int64_t *len, const ldg_rep **out) {
  nest t;
  ldg_canon_fired(x, LDG_RULE_RUNS);
  if (find_nest(n, off, len, &t)) {
    ldg_canon_fired(x, LDG_RULE_NEST);
    return make_nest(len[0], &t, out);
  }
  ldg_rep list = ldg_view_blocks(n, off, len, 1, &ldg_rep_one_byte);
  const bool merged = x->merged;
  x->merged = true;
  int rc = ldg_canon_node(x, &list, out);
  x->merged = merged;
  return rc;
}

int ldg_canon_rebuild(ldg_canon_ctx *x, const ldg_rep *in, ldg_canon_item *out) {
  runs q = { 0, ldg_alloc(16 * in->runs), NULL };
  if (!q.off) return LADING_ERR_NOMEM;
  q.len = q.off + in->runs;
  collect(&q, in, (int64_t)(0 - (uint64_t)in->first));
  out->at = in->first;
  int rc = parse(x, q.n, q.off, q.len, &out->rep);
  ldg_free(q.off);
  return rc;
}
