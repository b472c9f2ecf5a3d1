/* rep: the text form. Prints a tree and reads it back:
 *   (bytes n) | (repeat n stride rep) | (blocks n (at...) rep) | (blocks n (at...) (cnt...) stride rep) | (join (at rep)...)
 * with any white space between the words. */
#include "rep.h"

/* ---- printing --------------------------------------------------------------------------------------------------------- */

static void print_list(ldg_text *t, int64_t n, const int64_t *v) {
  ldg_text_add(t, "(");
  for (int64_t i = 0; i < n; i++) ldg_text_add(t, i ? " %lld" : "%lld", (long long)v[i]);
  ldg_text_add(t, ") ");
}

static void print_join(const ldg_rep *r, ldg_text *t) {
  ldg_text_add(t, "(join");
  for (int64_t i = 0; i < r->n; i++) {
    ldg_text_add(t, " (%lld ", (long long)r->at[i]);
    ldg_rep_print(r->kids[i], t);
    ldg_text_add(t, ")");
  }
  ldg_text_add(t, ")");
}

void ldg_rep_print(const ldg_rep *r, ldg_text *t) {
  long long n = r->n, stride = r->stride;
  switch (r->kind) {
  case LDG_BYTES: ldg_text_add(t, "(bytes %lld)", n); return;
  case LDG_JOIN: print_join(r, t); return;
  case LDG_REPEAT: ldg_text_add(t, "(repeat %lld %lld ", n, stride); break;
  case LDG_BLOCKS:
    ldg_text_add(t, "(blocks %lld ", n);
    print_list(t, r->n, r->at);
    if (!r->cnt) break;
    print_list(t, r->n, r->cnt);
    ldg_text_add(t, "%lld ", stride);
    break;
  }
  ldg_rep_print(r->child, t);
  ldg_text_add(t, ")");
}

/* ---- reading. `p` stays on the character that did not parse. ---------------------------------------------------------- */

static char peek(const char **p) {
  while (ldg_text_is_blank(**p)) ++*p;
  return **p;
}

static bool ends_word(char c) {
  return ldg_text_is_blank(c) || c == '(' || c == ')' || c == '\0';
}

static int read_mark(const char **p, char mark) {
  if (peek(p) != mark) return LADING_ERR_FORMAT;
  ++*p;
  return LADING_OK;
}

static int read_int(const char **p, int64_t *out) {
  peek(p);
  const char *s = *p;
  if (!ldg_text_int(&s, out) || !ends_word(*s)) return LADING_ERR_FORMAT;
  *p = s;
  return LADING_OK;
}

static bool read_word(const char **p, const char *word) {
  size_t len = strlen(word);
  peek(p);
  if (strncmp(*p, word, len) != 0 || !ends_word((*p)[len])) return false;
  *p += len;
  return true;
}

/* Numbers, or addresses of reps, that arrive one by one. */
typedef struct list {
  int64_t n, cap, *v;
} list;

static int list_add(list *l, int64_t v) {
  if (l->n == l->cap) {
    int64_t cap = l->cap ? 2 * l->cap : 4, *more = ldg_alloc(8 * cap);
    if (!more) return LADING_ERR_NOMEM;
    ldg_copy_bytes(more, l->v, 8 * l->n);
    ldg_free(l->v);
    l->v = more;
    l->cap = cap;
  }
  l->v[l->n++] = v;
  return LADING_OK;
}

static int read_list(const char **p, list *l) {
  int rc = read_mark(p, '(');
  while (!rc && peek(p) != ')') {
    int64_t v;
    rc = read_int(p, &v);
    if (!rc) rc = list_add(l, v);
  }
  return rc ? rc : read_mark(p, ')');
}

static int read_rep(const char **p, int level, const ldg_rep **out);

static int read_bytes(const char **p, const ldg_rep **out) {
  int64_t n;
  int rc = read_int(p, &n);
  return rc ? rc : ldg_rep_bytes(n, out);
}

static int read_repeat(const char **p, int level, const ldg_rep **out) {
  int64_t n, stride;
  const ldg_rep *child;
  int rc = read_int(p, &n);
  if (!rc) rc = read_int(p, &stride);
  if (!rc) rc = read_rep(p, level + 1, &child);
  if (rc) return rc;
  rc = ldg_rep_repeat(n, stride, child, out);
  ldg_rep_free(child);
  return rc;
}

/* What follows the offsets: counts and their stride are there when the next thing is a list of numbers, not a rep. */
static int read_counts(const char **p, list *cnt, int64_t *stride, bool *counted) {
  if (peek(p) != '(') return LADING_ERR_FORMAT;
  const char *inside = *p + 1;
  char c = peek(&inside);
  *counted = c == ')' || c == '-' || (c >= '0' && c <= '9');
  if (!*counted) return LADING_OK;
  int rc = read_list(p, cnt);
  return rc ? rc : read_int(p, stride);
}

static int read_blocks_into(const char **p, int level, list *at, list *cnt, const ldg_rep **out) {
  int64_t n, stride = 0;
  bool counted = false;
  const ldg_rep *child;
  int rc = read_int(p, &n);
  if (!rc) rc = read_list(p, at);
  if (!rc) rc = read_counts(p, cnt, &stride, &counted);
  if (!rc && (at->n != n || (counted && cnt->n != n))) rc = LADING_ERR_FORMAT;
  if (!rc) rc = read_rep(p, level + 1, &child);
  if (rc) return rc;
  int64_t none = 0; /* lists without entries have no array, but counted blocks stay counted */
  rc = ldg_rep_blocks(n, at->v, counted ? (n ? cnt->v : &none) : NULL, stride, child, out);
  ldg_rep_free(child);
  return rc;
}

static int read_blocks(const char **p, int level, const ldg_rep **out) {
  list at = { 0 }, cnt = { 0 };
  int rc = read_blocks_into(p, level, &at, &cnt, out);
  ldg_free(at.v);
  ldg_free(cnt.v);
  return rc;
}

/* The kid belongs to the list as soon as it is in it. */
static int read_join_entry(const char **p, int level, list *at, list *kids) {
  int64_t v;
  const ldg_rep *kid;
  int rc = read_mark(p, '(');
  if (!rc) rc = read_int(p, &v);
  if (!rc) rc = read_rep(p, level + 1, &kid);
  if (rc) return rc;
  rc = list_add(kids, (int64_t)(intptr_t)kid);
  if (rc) ldg_rep_free(kid);
  if (!rc) rc = list_add(at, v);
  return rc ? rc : read_mark(p, ')');
}

static const ldg_rep *kid_of(const list *kids, int64_t i) {
  return (const ldg_rep *)(intptr_t)kids->v[i];
}

static int make_join(const list *at, const list *kids, const ldg_rep **out) {
  const ldg_rep **array = ldg_alloc((int64_t)sizeof *array * kids->n);
  if (!array) return LADING_ERR_NOMEM;
  for (int64_t i = 0; i < kids->n; i++) array[i] = kid_of(kids, i);
  int rc = ldg_rep_join(kids->n, at->v, array, out);
  ldg_free(array);
  return rc;
}

static int read_join(const char **p, int level, const ldg_rep **out) {
  list at = { 0 }, kids = { 0 };
  int rc = LADING_OK;
  while (!rc && peek(p) == '(') rc = read_join_entry(p, level, &at, &kids);
  if (!rc) rc = make_join(&at, &kids, out);
  for (int64_t i = 0; i < kids.n; i++) ldg_rep_free(kid_of(&kids, i));
  ldg_free(kids.v);
  ldg_free(at.v);
  return rc;
}

static int read_kind(const char **p, int level, const ldg_rep **out) {
  if (read_word(p, "bytes")) return read_bytes(p, out);
  if (read_word(p, "repeat")) return read_repeat(p, level, out);
  if (read_word(p, "blocks")) return read_blocks(p, level, out);
  if (read_word(p, "join")) return read_join(p, level, out);
  return LADING_ERR_FORMAT;
}

static int read_rep(const char **p, int level, const ldg_rep **out) {
  if (level > LDG_DEPTH_MAX) return LADING_ERR_DEPTH;
  const ldg_rep *r = NULL;
  int rc = read_mark(p, '(');
  if (!rc) rc = read_kind(p, level, &r);
  if (rc) return rc;
  rc = read_mark(p, ')');
  if (rc) ldg_rep_free(r);
  else *out = r;
  return rc;
}

int ldg_rep_read(const char **text, const ldg_rep **out) {
  int rc = read_rep(text, 1, out);
  return rc == LADING_ERR_ARG ? LADING_ERR_FORMAT : rc; /* a negative count is no number of things */
}
