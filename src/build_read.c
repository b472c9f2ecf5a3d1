/* build_read: reads constructor calls, `vector(8,1,8,double)`, with the arguments of the C functions in their order.
 * Takes hostile text: recursion is bounded, and memory is a small multiple of the text read. The grammar is in README.md. */
#include "build.h"
#include <limits.h>

typedef struct numbers { int64_t n, *v; } numbers;
typedef struct types { int64_t n, cap; lading_type **v; } types;

/* What stood between the parentheses, by kind. A constructor knows which of its arguments is the how-manieth of a kind. */
typedef struct args {
  int64_t number[3];
  numbers list[4];
  int numbers, lists;
  types olds;       /* every type among the arguments */
  lading_order order;
} args;

typedef struct reader { const char *at; int depth; } reader;

static int read_type(reader *r, lading_type **out);

/* ---- constructors by name ---- */

static int make_contiguous(const args *a, lading_type **out) {
  return lading_type_contiguous(a->number[0], a->olds.v[0], out);
}

static int make_vector(const args *a, lading_type **out) {
  return lading_type_vector(a->number[0], a->number[1], a->number[2], a->olds.v[0], out);
}

static int make_hvector(const args *a, lading_type **out) {
  return lading_type_hvector(a->number[0], a->number[1], a->number[2], a->olds.v[0], out);
}

static int make_indexed(const args *a, lading_type **out) {
  return lading_type_indexed(a->list[0].n, a->list[0].v, a->list[1].v, a->olds.v[0], out);
}

static int make_hindexed(const args *a, lading_type **out) {
  return lading_type_hindexed(a->list[0].n, a->list[0].v, a->list[1].v, a->olds.v[0], out);
}

static int make_indexed_block(const args *a, lading_type **out) {
  return lading_type_indexed_block(a->list[0].n, a->number[0], a->list[0].v, a->olds.v[0], out);
}

static int make_hindexed_block(const args *a, lading_type **out) {
  return lading_type_hindexed_block(a->list[0].n, a->number[0], a->list[0].v, a->olds.v[0], out);
}

static int make_struct(const args *a, lading_type **out) {
  if (a->olds.n != a->list[0].n) return LADING_ERR_FORMAT;
  return lading_type_struct(a->olds.n, a->list[0].v, a->list[1].v, (const lading_type *const *)a->olds.v, out);
}

static int make_subarray(const args *a, lading_type **out) {
  if (a->list[0].n > INT_MAX) return LADING_ERR_ARG;
  return lading_type_subarray((int)a->list[0].n, a->list[0].v, a->list[1].v, a->list[2].v, a->order, a->olds.v[0], out);
}

static int make_darray(const args *a, lading_type **out) {
  int64_t n = a->list[0].n;
  if (n > INT_MAX) return LADING_ERR_ARG;
  lading_distrib *distribs = ldg_alloc(n * (int64_t)sizeof *distribs);
  if (!distribs) return LADING_ERR_NOMEM;
  for (int64_t i = 0; i < n; i++) distribs[i] = (lading_distrib)a->list[1].v[i];
  int r = lading_type_darray(a->number[0], a->number[1], (int)n, a->list[0].v, distribs, a->list[2].v, a->list[3].v,
                             a->order, a->olds.v[0], out);
  ldg_free(distribs);
  return r;
}

static int make_resized(const args *a, lading_type **out) {
  return lading_type_resized(a->olds.v[0], a->number[0], a->number[1], out);
}

/* form: n number, l list of numbers, d list of distributions, o order, t type, s list of types */
typedef struct call { const char *name, *form; int (*make)(const args *a, lading_type **out); } call;
static const call calls[] = {
  { "contiguous", "nt", make_contiguous },
  { "vector", "nnnt", make_vector },
  { "hvector", "nnnt", make_hvector },
  { "indexed", "llt", make_indexed },
  { "hindexed", "llt", make_hindexed },
  { "indexed_block", "nlt", make_indexed_block },
  { "hindexed_block", "nlt", make_hindexed_block },
  { "struct", "lls", make_struct },
  { "subarray", "lllot", make_subarray },
  { "darray", "nnldllot", make_darray },
  { "resized", "tnn", make_resized },
};

/* ---- words and numbers ---- */

static void skip_space(reader *r) {
  while (ldg_text_is_blank(*r->at)) r->at++;
}

static bool take(reader *r, char c) {
  skip_space(r);
  if (*r->at != c) return false;
  r->at++;
  skip_space(r);
  return true;
}

static bool word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static size_t word_length(const char *s) {
  size_t n = 0;
  while (word_char(s[n])) n++;
  return n;
}

/* Which of `names` stands here; -1: none. Moves past it. */
static int take_word(reader *r, const char *const *names, int n) {
  size_t len = word_length(r->at);
  for (int i = 0; i < n; i++) {
    if (strlen(names[i]) != len || memcmp(names[i], r->at, len) != 0) continue;
    r->at += len;
    return i;
  }
  return -1;
}

static int read_number(reader *r, int64_t *out) {
  const char *s = r->at;
  if (!ldg_text_int(&s, out) || word_char(*s)) return LADING_ERR_FORMAT;
  r->at = s;
  return LADING_OK;
}

static int read_distrib(reader *r, int64_t *out) {
  static const char *const names[] = { "block", "cyclic", "none" };
  int i = take_word(r, names, 3);
  *out = i; /* in the order of lading_distrib */
  return i < 0 ? LADING_ERR_FORMAT : LADING_OK;
}

static int read_order(reader *r, lading_order *out) {
  static const char *const names[] = { "C", "F" };
  int i = take_word(r, names, 2);
  *out = i == 1 ? LADING_ORDER_FORTRAN : LADING_ORDER_C;
  return i < 0 ? LADING_ERR_FORMAT : LADING_OK;
}

/* ---- lists ---- */

/* No more entries than this stand before the closing bracket. */
static int64_t count_entries(const char *s) {
  int64_t n = 1;
  for (; *s && *s != ']'; s++) n += *s == ',';
  return n;
}

/* list->v is the caller's to free, also on an error */
static int read_numbers(reader *r, int (*read)(reader *, int64_t *), numbers *list) {
  if (!take(r, '[')) return LADING_ERR_FORMAT;
  list->v = ldg_alloc(count_entries(r->at) * (int64_t)sizeof *list->v);
  if (!list->v) return LADING_ERR_NOMEM;
  if (take(r, ']')) return LADING_OK;
  do {
    int e = read(r, &list->v[list->n]);
    if (e) return e;
    list->n++;
  } while (take(r, ','));
  return take(r, ']') ? LADING_OK : LADING_ERR_FORMAT;
}

static int reserve_type(types *l) {
  if (l->n < l->cap) return LADING_OK;
  int64_t cap = l->cap ? 2 * l->cap : 1;
  lading_type **v = ldg_alloc(cap * (int64_t)sizeof *v);
  if (!v) return LADING_ERR_NOMEM;
  ldg_copy_bytes(v, l->v, l->n * (int64_t)sizeof *v);
  ldg_free(l->v);
  l->v = v;
  l->cap = cap;
  return LADING_OK;
}

static int read_old(reader *r, types *l) {
  int e = reserve_type(l);
  if (!e) e = read_type(r, &l->v[l->n]);
  if (!e) l->n++;
  return e;
}

static int read_olds(reader *r, types *l) {
  if (!take(r, '[')) return LADING_ERR_FORMAT;
  if (take(r, ']')) return LADING_OK;
  do {
    int e = read_old(r, l);
    if (e) return e;
  } while (take(r, ','));
  return take(r, ']') ? LADING_OK : LADING_ERR_FORMAT;
}

/* ---- calls ---- */

static int read_arg(reader *r, char form, args *a) {
  switch (form) {
  case 'n': return read_number(r, &a->number[a->numbers++]);
  case 'l': return read_numbers(r, read_number, &a->list[a->lists++]);
  case 'd': return read_numbers(r, read_distrib, &a->list[a->lists++]);
  case 'o': return read_order(r, &a->order);
  case 't': return read_old(r, &a->olds);
  default: return read_olds(r, &a->olds);
  }
}

static int read_args(reader *r, const char *form, args *a) {
  for (const char *f = form; *f; f++) {
    if (!take(r, f == form ? '(' : ',')) return LADING_ERR_FORMAT;
    int e = read_arg(r, *f, a);
    if (e) return e;
  }
  for (int i = 1; i < a->lists; i++)
    if (a->list[i].n != a->list[0].n) return LADING_ERR_FORMAT;
  return take(r, ')') ? LADING_OK : LADING_ERR_FORMAT;
}

/* Types made here have no plan yet, so they need no more than this. */
static void drop_type(lading_type *t) {
  if (atomic_load_explicit(&t->refs, memory_order_relaxed) == LDG_IMMORTAL) return;
  if (atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) == 1) ldg_build_destroy(t);
}

static void free_args(args *a) {
  for (int64_t i = 0; i < a->olds.n; i++) drop_type(a->olds.v[i]);
  ldg_free(a->olds.v);
  for (int i = 0; i < a->lists; i++) ldg_free(a->list[i].v);
}

static int read_call(reader *r, const call *c, lading_type **out) {
  args a;
  memset(&a, 0, sizeof a);
  int e = read_args(r, c->form, &a);
  if (!e) e = c->make(&a, out);
  free_args(&a);
  return e;
}

/* The word must end here: `vector` is no `vectorial`. */
static const call *take_call(reader *r) {
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
    if (take_word(r, &calls[i].name, 1) == 0) return &calls[i];
  return NULL;
}

static int read_elem(reader *r, lading_type **out) {
  static const char *const alias[] = { "short", "int", "long" };
  static const lading_elem meant[] = { LADING_INT16, LADING_INT32, LADING_INT64 };
  const lading_type *t = NULL;
  for (int e = 0; e < LADING_ELEM_MAX && !t; e++) {
    const char *name = ldg_build_elem_name((lading_elem)e);
    if (take_word(r, &name, 1) == 0) t = lading_elem_type((lading_elem)e);
  }
  int i = t ? -1 : take_word(r, alias, 3);
  if (i >= 0) t = lading_elem_type(meant[i]);
  if (!t) return LADING_ERR_FORMAT;
  *out = lading_type_ref(t);
  return LADING_OK;
}

static int read_rep(reader *r, lading_type **out) {
  const ldg_rep *rep;
  int e = ldg_rep_read(&r->at, &rep);
  if (e) return e;
  e = ldg_build_from_rep(rep, out);
  ldg_rep_free(rep);
  return e;
}

static int read_one(reader *r, lading_type **out) {
  if (*r->at == '(') return read_rep(r, out);
  const call *c = take_call(r);
  return c ? read_call(r, c, out) : read_elem(r, out);
}

static int read_type(reader *r, lading_type **out) {
  if (r->depth == LADING_DEPTH_MAX) return LADING_ERR_DEPTH;
  skip_space(r);
  r->depth++;
  int e = read_one(r, out);
  r->depth--;
  skip_space(r);
  return e;
}

int ldg_build_read(const char **text, lading_type **out) {
  if (!text || !*text || !out) return LADING_ERR_ARG;
  reader r = { *text, 0 };
  int e = read_type(&r, out);
  *text = r.at;
  return e;
}
