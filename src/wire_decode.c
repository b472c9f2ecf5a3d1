/* wire_decode: bytes of anybody to a type. Every count is bounded by the bytes that are left, every number checked where it
 * is used, depth by the constructors of reps; at the end the id and the bounds of what was read must be those that were sent.
 * Memory is bounded by LDG_WIRE_MEMORY: the dearest byte is half a bytes node, which takes 2. */
#include "layout.h"
#include "wire.h"
#include "wire_format.h"

/* ---- nodes ---- */

/* `top`: those without a parent as yet; `made`: all but bytes, for those that come again. References of both. */
typedef struct nodes { ldg_reader *r; const ldg_rep **top, **made; int64_t held, numbered; } nodes;

/* The last `n` nodes go, `rep` comes. */
static int replace(nodes *s, int64_t n, int rc, const ldg_rep *rep) {
  if (rc) return ldg_wire_refuse(s->r, rc == LADING_ERR_ARG ? LADING_ERR_FORMAT : rc);
  for (; n > 0; n--) ldg_rep_free(s->top[--s->held]);
  s->top[s->held++] = rep;
  return LADING_OK;
}

static const ldg_rep *last(const nodes *s) {
  return s->held ? s->top[s->held - 1] : NULL; /* constructors refuse NULL */
}

static int get_bytes(nodes *s) {
  const ldg_rep *rep = NULL;
  const int64_t n = ldg_wire_get_count(s->r, 0);
  if (s->r->err) return s->r->err;
  const int rc = ldg_rep_bytes(n, &rep);
  return replace(s, 0, rc, rep);
}

static int get_repeat(nodes *s) {
  const ldg_rep *rep = NULL;
  const int64_t n = ldg_wire_get_count(s->r, 1), stride = ldg_wire_get_int(s->r);
  if (s->r->err) return s->r->err;
  const int rc = ldg_rep_repeat(n, stride, last(s), &rep);
  return replace(s, 1, rc, rep);
}

static int get_blocks(nodes *s) {
  const ldg_rep *rep = NULL;
  int64_t n, *at;
  if (ldg_wire_get_list(s->r, &n, &at)) return s->r->err;
  const int rc = ldg_rep_blocks(n, at, NULL, 0, last(s), &rep);
  ldg_free(at);
  return replace(s, 1, rc, rep);
}

static bool all_positive(int64_t n, const int64_t *v) {
  for (int64_t i = 0; i < n; i++)
    if (v[i] < 1) return false;
  return true;
}

static int get_counted(nodes *s) {
  const ldg_rep *rep = NULL;
  int64_t n, n_at, *cnt, *at;
  const int64_t stride = ldg_wire_get_int(s->r);
  if (ldg_wire_get_list(s->r, &n, &cnt)) return s->r->err;
  if (!ldg_wire_get_list(s->r, &n_at, &at)) {
    const int rc = n_at == n && all_positive(n, cnt) ? ldg_rep_blocks(n, at, cnt, stride, last(s), &rep) : LADING_ERR_FORMAT;
    ldg_free(at);
    replace(s, 1, rc, rep);
  }
  ldg_free(cnt);
  return s->r->err;
}

static int get_join(nodes *s) {
  const ldg_rep *rep = NULL;
  int64_t n, *at;
  if (ldg_wire_get_list(s->r, &n, &at)) return s->r->err;
  const int rc = n <= s->held ? ldg_rep_join(n, at, s->top + s->held - n, &rep) : LADING_ERR_FORMAT;
  ldg_free(at);
  return replace(s, n, rc, rep);
}

static int get_again(nodes *s) {
  const int64_t back = ldg_wire_get_count(s->r, 1);
  if (back > s->numbered) return ldg_wire_refuse(s->r, LADING_ERR_FORMAT);
  return s->r->err ? s->r->err : replace(s, 0, LADING_OK, ldg_rep_ref(s->made[s->numbered - back]));
}

/* Nothing empty may stand inside a tree, as in canonical ones. */
static int get_node(nodes *s) {
  static int (*const get[])(nodes *) = { get_bytes, get_repeat, get_blocks, get_counted, get_join, get_again };
  const uint64_t kind = ldg_wire_get_uint(s->r);
  if (s->r->err || kind > LDG_WIRE_AGAIN) return ldg_wire_refuse(s->r, LADING_ERR_FORMAT);
  if (s->held && last(s)->size == 0) return ldg_wire_refuse(s->r, LADING_ERR_FORMAT);
  if (!get[kind](s) && kind != LDG_BYTES && kind != LDG_WIRE_AGAIN) s->made[s->numbered++] = ldg_rep_ref(last(s));
  return s->r->err;
}

static int get_rep(ldg_reader *r, const ldg_rep **out) {
  const int64_t n = ldg_wire_get_count(r, 1);
  if (n > ldg_wire_left(r) / 2) ldg_wire_refuse(r, LADING_ERR_FORMAT); /* each takes two bytes at least */
  if (r->err) return r->err;
  nodes s = { .r = r, .top = ldg_alloc(2 * n * (int64_t)sizeof *s.top) };
  if (!s.top) return ldg_wire_refuse(r, LADING_ERR_NOMEM);
  s.made = s.top + n;
  for (int64_t i = 0; i < n && !r->err; i++) get_node(&s);
  if (!r->err && s.held != 1) ldg_wire_refuse(r, LADING_ERR_FORMAT);
  if (!r->err) *out = s.top[--s.held];
  while (s.held > 0) ldg_rep_free(s.top[--s.held]);
  while (s.numbered > 0) ldg_rep_free(s.made[--s.numbered]);
  ldg_free((void *)s.top);
  return r->err;
}

/* ---- the signature ---- */

typedef struct items { ldg_reader *r; ldg_sig *sig; int64_t *bytes, held; } items;

/* n times the last item, which holds a reference of its own. */
static int multiply(items *s, int64_t n) {
  const int64_t i = s->held - 1;
  const int rc = ldg_build_sig_times(s->sig[i], n, &s->sig[i]);
  return rc || ldg_mul(s->bytes[i], n, &s->bytes[i]) ? ldg_wire_refuse(s->r, LADING_ERR_OVERFLOW) : LADING_OK;
}

static void push_elem(items *s, lading_elem e) {
  const int64_t i = s->held++;
  s->sig[i] = (ldg_sig){ 1, &ldg_build_elem_nodes[e] };
  s->bytes[i] = lading_elem_type(e)->rep->size;
}

/* Bytes of items [from, held); ERR_FORMAT for equal neighbours, which would be one part. */
static int measure(const items *s, int64_t from, int64_t *bytes) {
  for (int64_t i = from; i < s->held; i++) {
    if (i > from && s->sig[i].node == s->sig[i - 1].node) return LADING_ERR_FORMAT;
    if (ldg_add(*bytes, s->bytes[i], bytes)) return LADING_ERR_OVERFLOW;
  }
  return LADING_OK;
}

static int push_parts(items *s) {
  int64_t n = ldg_wire_get_count(s->r, 2), bytes = 0;
  ldg_sig all = { 0 };
  if (n > s->held) ldg_wire_refuse(s->r, LADING_ERR_FORMAT);
  if (s->r->err) return s->r->err;
  int rc = measure(s, s->held - n, &bytes);
  if (!rc) rc = ldg_build_sig_join(n, s->sig + s->held - n, &all);
  if (rc) return ldg_wire_refuse(s->r, rc);
  while (n-- > 0) ldg_build_sig_free(s->sig[--s->held]);
  s->sig[s->held] = all;
  s->bytes[s->held++] = bytes;
  return LADING_OK;
}

static int get_item(items *s) {
  const uint64_t code = ldg_wire_get_uint(s->r);
  if (!s->r->err && code < LADING_ELEM_MAX) push_elem(s, (lading_elem)code);
  else if (!s->r->err && code == LDG_WIRE_PARTS) push_parts(s);
  else ldg_wire_refuse(s->r, LADING_ERR_FORMAT);
  const int64_t n = ldg_wire_get_count(s->r, 1);
  return s->r->err ? s->r->err : multiply(s, n);
}

/* `size`: what the elements must come to. */
static int get_items(ldg_reader *r, int64_t n, int64_t size, void *room, ldg_sig *out) {
  items s = { .r = r, .sig = room };
  s.bytes = (int64_t *)(s.sig + n);
  for (int64_t i = 0; i < n && !r->err; i++) get_item(&s);
  if (!r->err && (s.held != 1 || s.bytes[0] != size)) ldg_wire_refuse(r, LADING_ERR_FORMAT);
  if (!r->err) *out = s.sig[--s.held];
  while (s.held > 0) ldg_build_sig_free(s.sig[--s.held]);
  return r->err;
}

static int get_sig(ldg_reader *r, int64_t size, ldg_sig *out) {
  const int64_t n = ldg_wire_get_count(r, 0);
  *out = (ldg_sig){ 0 };
  if (n > ldg_wire_left(r) / 2 || (n == 0) != (size == 0)) ldg_wire_refuse(r, LADING_ERR_FORMAT);
  if (r->err || n == 0) return r->err;
  void *room = ldg_alloc(n * (int64_t)(sizeof(ldg_sig) + sizeof(int64_t)));
  if (!room) return ldg_wire_refuse(r, LADING_ERR_NOMEM);
  get_items(r, n, size, room, out);
  ldg_free(room);
  return r->err;
}

/* ---- the whole ---- */

typedef struct body { int flags; int64_t lb, extent; const ldg_rep *rep; ldg_sig sig; lading_id id; } body;

static void drop(body *b) {
  ldg_rep_free(b->rep);
  ldg_build_sig_free(b->sig);
}

static int get_head(ldg_reader *r, body *b) {
  if (ldg_wire_left(r) < 3 || r->at[0] != LDG_WIRE_MAGIC || r->at[1] != LDG_WIRE_VERSION || r->at[2] >= LDG_WIRE_FLAGS)
    return ldg_wire_refuse(r, LADING_ERR_FORMAT);
  b->flags = r->at[2];
  r->at += 3;
  if (!(b->flags & LDG_WIRE_NATURAL)) {
    b->lb = ldg_wire_get_int(r);
    b->extent = ldg_wire_get_int(r);
  }
  return r->err;
}

/* All but the seal. On an error there is nothing to drop. */
static int get_body(ldg_reader *r, body *b) {
  *b = (body){ 0 };
  if (get_head(r, b) || get_rep(r, &b->rep)) return r->err;
  if (get_sig(r, b->rep->size, &b->sig)) {
    drop(b);
    return r->err;
  }
  b->id = ldg_layout_id(b->rep);
  if (!(b->flags & LDG_WIRE_NATURAL)) return LADING_OK;
  b->lb = b->rep->lo;
  b->extent = b->rep->hi - b->rep->lo;
  return LADING_OK;
}

static int check_seal(ldg_reader *r, const body *b) {
  const int64_t lo = ldg_wire_get_int(r);
  const uint64_t span = ldg_wire_get_uint(r), low = ldg_wire_get_word(r), high = ldg_wire_get_word(r);
  const bool same = lo == b->rep->lo && span == (uint64_t)(b->rep->hi - b->rep->lo) && low == b->id.w[0] && high == b->id.w[1];
  return r->err || !same || ldg_wire_left(r) ? LADING_ERR_FORMAT : LADING_OK;
}

/* Takes over the body. What is empty has no alignment, and no bounds but markers. */
static int make_type(body *b, lading_type **out) {
  const bool marked = b->flags & LDG_WIRE_MARKED, empty = b->rep->size == 0;
  const int align = b->flags >> LDG_WIRE_ALIGN;
  ldg_bounds bounds = { .lb = b->lb, .any = !empty || marked, .marked = marked };
  int rc = ldg_add(b->lb, b->extent, &bounds.ub) ? LADING_ERR_OVERFLOW : LADING_OK;
  if (empty && (align || (!marked && (b->lb || b->extent)))) rc = LADING_ERR_FORMAT;
  if (rc) {
    drop(b);
    return rc;
  }
  lading_type *t;
  rc = ldg_build_own(b->rep, b->sig, bounds, (int64_t)1 << align, &t); /* has the rep now, also if it failed */
  ldg_build_sig_free(b->sig);
  if (rc) return rc;
  ldg_wire_set_name(t, &b->id);
  *out = t;
  return LADING_OK;
}

int ldg_wire_decode(const void *buf, int64_t n, lading_type **out) {
  ldg_reader r = { buf, (const unsigned char *)ldg_at(buf, n), LADING_OK };
  body b;
  int rc = get_body(&r, &b);
  if (rc) return rc;
  rc = check_seal(&r, &b);
  if (!rc) return make_type(&b, out);
  drop(&b);
  return rc;
}

int64_t ldg_wire_seal(void *buf, int64_t n, int64_t cap) {
  ldg_reader r = { buf, (const unsigned char *)ldg_at(buf, n), LADING_OK };
  body b;
  int rc = get_body(&r, &b);
  if (rc) return rc;
  ldg_writer w = { buf, cap, n - ldg_wire_left(&r) };
  ldg_wire_put_seal(&w, b.rep, &b.id);
  drop(&b);
  return w.len <= cap ? w.len : LADING_ERR_RANGE;
}
