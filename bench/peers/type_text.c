/* type_text: lading has read the text before, so that whatever does not fit here is no more than "cannot be read". */
#include "type_text.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct reader { const char *at; const type_maker *maker; char *why; size_t cap; } reader;

static bool read_type(reader *r, type_handle *out);

static bool fail(reader *r, const char *what, const char *name) {
  if (!r->why[0]) snprintf(r->why, r->cap, what, name);
  return false;
}

/* ---- words -------------------------------------------------------------------------------------------------------- */

static void blanks(reader *r) {
  while (isspace((unsigned char)*r->at)) r->at++;
}

static bool take(reader *r, char c) {
  blanks(r);
  if (*r->at != c) return false;
  r->at++;
  blanks(r);
  return true;
}

static bool expect(reader *r, char c) {
  return take(r, c) || fail(r, "the reader of types stops at '%.20s'", r->at);
}

/* Moves past `word` when the whole of it stands here. */
static bool take_word(reader *r, const char *word) {
  size_t n = strlen(word);
  blanks(r);
  if (strncmp(r->at, word, n) != 0 || isalnum((unsigned char)r->at[n]) || r->at[n] == '_') return false;
  r->at += n;
  return true;
}

static bool read_number(reader *r, int64_t *v) {
  char *end;
  blanks(r);
  *v = strtoll(r->at, &end, 10);
  if (end == r->at) return fail(r, "the reader of types wants a number at '%.20s'", r->at);
  r->at = end;
  blanks(r);
  return true;
}

static bool read_distrib(reader *r, int64_t *v) {
  static const char *const names[] = { "block", "cyclic", "none" };
  for (*v = 0; *v < 3; ++*v)
    if (take_word(r, names[*v])) return true;
  return expect(r, 'b');
}

/* ---- arguments ---------------------------------------------------------------------------------------------------- */

static bool grow(void **list, int64_t n, int64_t *cap, int64_t width) {
  if (n < *cap) return true;
  int64_t more = *cap ? 2 * *cap : 16;
  void *p = realloc(*list, (size_t)(more * width));
  if (!p) return false;
  *list = p;
  *cap = more;
  return true;
}

/* Items up to `close`, with commas between them or without. */
static bool read_list(reader *r, type_call *c, char close, bool (*item)(reader *, int64_t *)) {
  int64_t cap = 0, *v = NULL, n = 0;
  bool ok = grow((void **)&v, 0, &cap, sizeof *v);
  while (ok && !take(r, close)) {
    ok = grow((void **)&v, n, &cap, sizeof *v) && item(r, &v[n]);
    if (ok) n++;
    if (ok) take(r, ',');
  }
  c->list[c->lists++] = v; /* freed with the call, also after an error */
  c->n = n;
  return ok;
}

static bool read_old(reader *r, type_call *c) {
  if (!grow((void **)&c->old, c->olds, &c->olds_cap, sizeof *c->old)) return false;
  if (!read_type(r, &c->old[c->olds])) return false;
  c->olds++;
  return true;
}

static bool read_olds(reader *r, type_call *c) {
  if (!expect(r, '[')) return false;
  while (!take(r, ']')) {
    if (!read_old(r, c)) return false;
    take(r, ',');
  }
  return true;
}

/* n number, l list of numbers, d list of distributions, o order, t type, s list of types */
static bool read_arg(reader *r, char form, type_call *c) {
  switch (form) {
  case 'n': return read_number(r, &c->number[c->numbers++]);
  case 'l': return expect(r, '[') && read_list(r, c, ']', read_number);
  case 'd': return expect(r, '[') && read_list(r, c, ']', read_distrib);
  case 'o': return (c->fortran = take_word(r, "F")) || take_word(r, "C") || expect(r, 'C');
  case 't': return read_old(r, c);
  default: return read_olds(r, c);
  }
}

static void free_call(reader *r, type_call *c) {
  for (int64_t i = 0; i < c->olds; i++) r->maker->drop(c->old[i]);
  for (int i = 0; i < c->lists; i++) free(c->list[i]);
  free(c->old);
}

static bool make(reader *r, const type_call *c, const char *name, type_handle *out) {
  return r->maker->make(c, out) || fail(r, "it has no such %s, or takes only smaller numbers", name);
}

/* ---- constructors and elements ------------------------------------------------------------------------------------------ */

static const struct { const char *name, *form; } calls[] = {
  { "contiguous", "nt" }, { "vector", "nnnt" }, { "hvector", "nnnt" }, { "indexed", "llt" }, { "hindexed", "llt" }, { "indexed_block", "nlt" },
  { "hindexed_block", "nlt" }, { "struct", "lls" }, { "subarray", "lllot" }, { "darray", "nnldllot" }, { "resized", "tnn" },
}; /* in the order of type_kind */
#define CALLS ((int)(sizeof calls / sizeof *calls))

static bool read_call(reader *r, int kind, type_handle *out) {
  type_call c = { .kind = (type_kind)kind };
  bool ok = expect(r, '(');
  for (const char *form = calls[kind].form; ok && *form; form++) ok = (form == calls[kind].form || expect(r, ',')) && read_arg(r, *form, &c);
  ok = ok && expect(r, ')') && make(r, &c, calls[kind].name, out);
  free_call(r, &c);
  return ok;
}

static bool read_elem(reader *r, type_handle *out) {
  static const char *const alias[] = { "short", "int", "long" };
  static const lading_elem meant[] = { LADING_INT16, LADING_INT32, LADING_INT64 };
  int elem = -1;
  for (int i = 0; i < 3 && elem < 0; i++)
    if (take_word(r, alias[i])) elem = (int)meant[i];
  for (int i = 0; i < LADING_ELEM_MAX && elem < 0; i++)
    if (take_word(r, ldg_build_elem_name((lading_elem)i))) elem = i;
  if (elem < 0) return expect(r, 'T');
  return r->maker->elem((lading_elem)elem, out) || fail(r, "it has no element %s", ldg_build_elem_name((lading_elem)elem));
}

/* ---- the canonical language: (repeat 3 256 (bytes 8)) ------------------------------------------------------------------- */

static bool bytes_type(reader *r, type_call *c) {
  c->kind = TYPE_CONTIGUOUS;
  c->numbers = 1;
  if (!read_number(r, &c->number[0]) || !grow((void **)&c->old, 0, &c->olds_cap, sizeof *c->old)) return false;
  c->olds = r->maker->elem(LADING_BYTE, &c->old[0]);
  return c->olds == 1;
}

static bool repeat_type(reader *r, type_call *c) {
  c->kind = TYPE_HVECTOR;
  c->numbers = 3;
  c->number[1] = 1;
  return read_number(r, &c->number[0]) && read_number(r, &c->number[2]) && read_old(r, c);
}

/* Entry i of counted blocks is a vector of its own, so that bounds stay those of the data; empty ones would have bounds. */
static bool counted_olds(reader *r, type_call *c, const int64_t *at, const int64_t *cnt, int64_t stride, type_handle child) {
  int64_t kept = 0;
  for (int64_t i = 0; i < c->n; i++) {
    type_call row = { .kind = TYPE_HVECTOR, .numbers = 3, .number = { cnt[i], 1, stride }, .olds = 1, .old = &child };
    if (!cnt[i]) continue;
    if (!grow((void **)&c->old, c->olds, &c->olds_cap, sizeof *c->old) || !make(r, &row, "hvector", &c->old[c->olds])) return false;
    c->olds++;
    c->list[1][kept] = at[i];
    c->list[0][kept++] = 1;
  }
  c->n = kept;
  return true;
}

/* Counts and their stride are there when the next thing is a list of numbers. */
static bool blocks_type(reader *r, type_call *c) {
  int64_t n, stride;
  type_call child = { .kind = TYPE_CONTIGUOUS };
  if (!read_number(r, &n) || !expect(r, '(') || !read_list(r, c, ')', read_number)) return false;
  const char *inside = r->at + strspn(r->at, "( \t\n");
  c->kind = TYPE_HINDEXED_BLOCK;
  c->numbers = 1;
  c->number[0] = 1;
  if (isalpha((unsigned char)*inside)) return read_old(r, c);
  c->kind = TYPE_STRUCT;
  if (!expect(r, '(') || !read_list(r, c, ')', read_number) || !read_number(r, &stride)) return false;
  int64_t *at = c->list[0]; /* struct has its lengths first */
  c->list[0] = c->list[1];
  c->list[1] = at;
  bool ok = read_old(r, &child) && counted_olds(r, c, at, c->list[0], stride, child.old[0]);
  free_call(r, &child);
  return ok;
}

static bool join_type(reader *r, type_call *c) {
  int64_t caps[2] = { 0, 0 };
  c->kind = TYPE_STRUCT;
  c->lists = 2;
  for (; take(r, '('); c->n++) {
    if (!grow((void **)&c->list[0], c->n, &caps[0], 8) || !grow((void **)&c->list[1], c->n, &caps[1], 8)) return false;
    c->list[0][c->n] = 1;
    if (!read_number(r, &c->list[1][c->n]) || !read_old(r, c) || !expect(r, ')')) return false;
  }
  return true;
}

static bool read_rep(reader *r, type_handle *out) {
  static const struct { const char *name; bool (*read)(reader *, type_call *); } nodes[] = {
    { "bytes", bytes_type }, { "repeat", repeat_type }, { "blocks", blocks_type }, { "join", join_type },
  };
  type_call c = { .kind = TYPE_CONTIGUOUS };
  bool ok = false;
  for (int i = 0; i < 4; i++) {
    if (!take_word(r, nodes[i].name)) continue;
    ok = nodes[i].read(r, &c) && expect(r, ')') && make(r, &c, nodes[i].name, out);
    break;
  }
  free_call(r, &c);
  return ok || expect(r, '!');
}

static bool read_type(reader *r, type_handle *out) {
  if (take(r, '(')) return read_rep(r, out);
  for (int i = 0; i < CALLS; i++)
    if (take_word(r, calls[i].name)) return read_call(r, i, out);
  return read_elem(r, out);
}

bool type_text_read(const char *text, const type_maker *maker, type_handle *out, char *why, size_t cap) {
  reader r = { text, maker, why, cap };
  why[0] = 0;
  return read_type(&r, out);
}
