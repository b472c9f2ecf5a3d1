/* hand_read: the little language of hand-written loops in suite lines,
 *   hand  := part { + part }          part := WIDTH[xCELL] or a record's name, then
 *   @OFF                              byte offset where it starts
 *   NxSTRIDE ...                      loops, outermost first, strides in bytes
 *   [at,...] [ [len,...] ]            index list in elements, with lengths in elements
 *   :RUN                              innermost contiguous run of elements, length known at run time only */
#include "hand.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader { const char *s; char *fault; size_t cap; } reader;

static bool __attribute__((format(printf, 2, 3))) fail(reader *r, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(r->fault, r->cap, format, args);
  va_end(args);
  return false;
}

static void blanks(reader *r) {
  while (isspace((unsigned char)*r->s)) r->s++;
}

static bool number(reader *r, int64_t *v) {
  char *end;
  *v = strtoll(r->s, &end, 10);
  if (end == r->s) return fail(r, "hand loop: a number is missing at '%.20s'", r->s);
  r->s = end;
  return true;
}

static int64_t commas(const char *s) {
  int64_t n = 0;
  while (*s && *s != ']') n += *s++ == ',';
  return n;
}

/* [a,b,...] into 32-bit indices, as applications keep them */
static bool read_list(reader *r, int32_t **list, int64_t *n) {
  int64_t cap = commas(r->s) + 1;
  r->s++;
  *n = 0;
  *list = calloc((size_t)cap, sizeof **list);
  if (!*list) return fail(r, "out of memory");
  for (blanks(r); *r->s != ']'; blanks(r)) {
    int64_t v;
    if (*n && *r->s == ',') r->s++;
    if (*n == cap || !number(r, &v)) return fail(r, "hand loop: bad list");
    if (v > INT32_MAX || v < INT32_MIN) return fail(r, "hand loop: index %lld does not fit in 32 bits", (long long)v);
    (*list)[(*n)++] = (int32_t)v;
  }
  r->s++;
  return true;
}

static bool read_index(reader *r, hand_part *p) {
  int64_t n;
  if (p->len) return fail(r, "hand loop: at most two lists, [at] [len]");
  if (!p->at) return read_list(r, &p->at, &p->entries);
  return read_list(r, &p->len, &n) && (n == p->entries || fail(r, "hand loop: lists of different lengths"));
}

static bool read_loop(reader *r, hand_part *p) {
  int64_t n, stride;
  if (p->depth == HAND_DIMS) return fail(r, "hand loop: more than %d loops", HAND_DIMS);
  if (!number(r, &n)) return false;
  if (*r->s++ != 'x') return fail(r, "hand loop: a loop is COUNTxSTRIDE");
  if (!number(r, &stride)) return false;
  p->n[p->depth] = n;
  p->stride[p->depth++] = stride;
  return true;
}

static bool read_head(reader *r, hand_part *p) {
  int64_t v;
  p->cell = 1;
  if (isalpha((unsigned char)*r->s)) {
    size_t len = 0;
    while (isalnum((unsigned char)r->s[len]) || r->s[len] == '_') len++;
    if (len >= sizeof p->record) return fail(r, "hand loop: no record of that name");
    memcpy(p->record, r->s, len);
    r->s += len;
    return true;
  }
  if (!number(r, &v)) return false;
  p->width = (int)v;
  if (*r->s != 'x') return true;
  r->s++;
  if (!number(r, &v)) return false;
  p->cell = (int)v;
  return true;
}

static bool read_part(reader *r, hand_part *p) {
  const char *start = r->s;
  if (!read_head(r, p)) return false;
  for (blanks(r); *r->s && *r->s != '+'; blanks(r)) {
    bool ok = *r->s == '@' ? (r->s++, number(r, &p->off))
            : *r->s == ':' ? (r->s++, number(r, &p->run))
            : *r->s == '[' ? read_index(r, p)
            : read_loop(r, p);
    if (!ok) return false;
  }
  if (hand_bind(p)) return true;
  return fail(r, "hand loop: none is compiled for '%.40s'; see the table at the end of bench/hand.c", start);
}

static bool read_parts(reader *r, hand *h) {
  int64_t pos = 0;
  for (int i = 0; i < h->n; i++) {
    blanks(r);
    if (!read_part(r, &h->part[i])) return false;
    h->part[i].pos = pos;
    pos += h->part[i].bytes;
    if (*r->s == '+') r->s++;
  }
  return !*r->s || fail(r, "hand loop: cannot read '%.40s'", r->s);
}

hand *hand_read(const char *text, char *fault, size_t cap) {
  reader r = { text, fault, cap };
  hand *h = calloc(1, sizeof *h);
  int parts = 1;
  for (const char *s = text; *s; s++) parts += *s == '+';
  if (h) h->part = calloc((size_t)parts, sizeof *h->part);
  if (!h || !h->part) {
    snprintf(fault, cap, "out of memory");
    hand_free(h);
    return NULL;
  }
  h->n = parts;
  if (read_parts(&r, h)) return h;
  hand_free(h);
  return NULL;
}

void hand_free(hand *h) {
  if (!h) return;
  for (int i = 0; h->part && i < h->n; i++) {
    free(h->part[i].at);
    free(h->part[i].len);
  }
  free(h->part);
  free(h);
}
