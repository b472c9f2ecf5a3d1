/* problem: from a line of text to a type, a hand loop and a span of memory. */
#include "problem.h"
#include "build.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct complaint { char *text; size_t cap; } complaint;

static bool __attribute__((format(printf, 2, 3))) fail(complaint c, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(c.text, c.cap, format, args);
  va_end(args);
  return false;
}

void *bench_alloc(int64_t bytes) {
  void *p = ldg_alloc(bytes);
  if (!p) {
    fprintf(stderr, "lbench: out of memory (%" PRId64 " bytes); run fewer or smaller problems\n", bytes);
    exit(2);
  }
  memset(p, 0, (size_t)bytes);
  return p;
}

/* ---- lines -------------------------------------------------------------------------------------------------------- */

static char *trim(char *s) {
  while (isspace((unsigned char)*s)) s++;
  char *end = s + strlen(s);
  while (end > s && isspace((unsigned char)end[-1])) *--end = 0;
  return s;
}

static char *next_field(char **rest) {
  char *s = *rest;
  if (!s) return NULL;
  char *bar = strchr(s, '|');
  *rest = bar ? bar + 1 : NULL;
  if (bar) *bar = 0;
  return trim(s);
}

static int64_t *fact(problem *p, const char *key, size_t len) {
  const struct { const char *key; int64_t *at; } table[] = {
    { "origin", &p->origin }, { "array", &p->array }, { "shift", &p->shift }, { "bytes", &p->bytes }, { "blocks", &p->blocks },
    { "min", &p->min_run }, { "max", &p->max_run },
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (strlen(table[i].key) == len && memcmp(table[i].key, key, len) == 0) return table[i].at;
  return NULL;
}

static bool read_facts(problem *p, char *s, complaint c) {
  for (char *word = strtok(s, " \t"); word; word = strtok(NULL, " \t")) {
    char *eq = strchr(word, '='), *end;
    int64_t *at = eq ? fact(p, word, (size_t)(eq - word)) : NULL;
    if (!at) return fail(c, "'%s' is not a fact; known are origin= array= shift= bytes= blocks= min= max=", word);
    *at = strtoll(eq + 1, &end, 10);
    if (*end || end == eq + 1) return fail(c, "'%s' needs a number", word);
  }
  return true;
}

static bool read_fields(problem *p, complaint c) {
  char *rest = p->text, *end, *fields[5] = { 0 };
  for (int i = 0; i < 5 && rest; i++) fields[i] = next_field(&rest);
  if (rest || !fields[3]) return fail(c, "a problem is 'name | count | hand loop or - | type [| facts]'");
  p->name = fields[0];
  p->count = strtoll(fields[1], &end, 10);
  if (*end || end == fields[1] || p->count < 0) return fail(c, "count '%s' is not a number >= 0", fields[1]);
  p->hand_text = fields[2];
  p->type_text = fields[3];
  return !fields[4] || read_facts(p, fields[4], c);
}

bool problem_read(problem *p, const char *line, char *fault, size_t cap) {
  *p = (problem){ .array = NOT_STATED, .bytes = NOT_STATED, .blocks = NOT_STATED, .min_run = NOT_STATED, .max_run = NOT_STATED,
                  .suite = "" };
  p->text = bench_alloc((int64_t)strlen(line) + 1);
  memcpy(p->text, line, strlen(line));
  if (read_fields(p, (complaint){ fault, cap })) return true;
  ldg_free(p->text);
  p->text = NULL;
  return false;
}

/* ---- from text to things ------------------------------------------------------------------------------------------ */

/* Where the reader of types stopped, or what is left over begins. */
static const char *stopped_at(const char *text) {
  lading_type *t = NULL;
  const char *at = text;
  if (ldg_build_read(&at, &t) == LADING_OK) lading_type_free(t);
  return at;
}
static bool fail_type(complaint c, const char *text, int err) {
  const char *at = stopped_at(text), *more = strlen(text) > 60 ? "..." : "";
  if (!*at) return fail(c, "type '%.60s%s': %s; up to its end", text, more, lading_strerror(err));
  return fail(c, "type '%.60s%s': %s; up to character %td, where '%.20s' is", text, more, lading_strerror(err), at - text + 1, at);
}

static bool open_type(problem *p, complaint c) {
  char *text = expand_macros(p->type_text, c.text, c.cap);
  if (!text) return false;
  int err = lading_type_parse(text, &p->type);
  if (!err) err = lading_type_info(p->type, &p->info);
  if (err) fail_type(c, text, err);
  free(text);
  return !err;
}

static bool open_hand(problem *p, complaint c) {
  if (strcmp(p->hand_text, "-") == 0) return true;
  char *text = expand_macros(p->hand_text, c.text, c.cap);
  if (!text) return false;
  p->hand = hand_read(text, c.text, c.cap);
  free(text);
  if (!p->hand) return false;
  const hand_part *last = &p->hand->part[p->hand->n - 1];
  if (last->pos + last->bytes == p->size) return true;
  return fail(c, "the hand loop moves %" PRId64 " bytes, the type %" PRId64, last->pos + last->bytes, p->size);
}

/* The memory of the array, or of the data where no array is stated; starts at a multiple of 64 from the buffer argument,
 * or at the array. */
static bool open_span(problem *p, complaint c) {
  const lading_info *t = &p->info;
  int64_t step, lo = t->true_lb, hi;
  bool far = ldg_mul(p->count > 0 ? p->count - 1 : 0, t->extent, &step) || ldg_add(lo, t->true_extent, &hi) ||
             ldg_mul(p->count, t->size, &p->size);
  if (far || (step < 0 ? ldg_add(lo, step, &lo) : ldg_add(hi, step, &hi))) return fail(c, "%" PRId64 " items leave 64 bits", p->count);
  if (!p->size) lo = hi = 0;
  if (p->array == NOT_STATED) {
    p->lo = lo - (lo % 64 + 64) % 64;
    p->hi = ldg_max(hi, p->lo);
    return true;
  }
  p->lo = -p->origin;
  p->hi = p->array - p->origin;
  if (lo >= p->lo && hi <= p->hi) return true;
  return fail(c, "the type reaches [%" PRId64 ", %" PRId64 ") around its origin, the array is [%" PRId64 ", %" PRId64 ")", lo, hi, p->lo, p->hi);
}

bool problem_open(problem *p, char *fault, size_t cap) {
  complaint c = { fault, cap };
  if (open_type(p, c) && open_span(p, c) && open_hand(p, c)) {
    int err = lading_segments_count(p->type, p->count, &p->runs);
    if (!err) return true;
    fail(c, "lading_segments_count: %s", lading_strerror(err));
  }
  problem_close(p);
  return false;
}

void problem_close(problem *p) {
  lading_type_free(p->type);
  hand_free(p->hand);
  p->type = NULL;
  p->hand = NULL;
}

/* ---- suites ------------------------------------------------------------------------------------------------------- */

static char *read_file(const char *path) {
  FILE *f = fopen(path, "r");
  char *text = NULL, chunk[4096];
  size_t size, n;
  if (!f) return NULL;
  FILE *out = open_memstream(&text, &size);
  while (out && (n = fread(chunk, 1, sizeof chunk, f)) > 0) fwrite(chunk, 1, n, out);
  bool ok = out && !ferror(f) && fclose(out) == 0;
  fclose(f);
  if (ok) return text;
  free(text);
  return NULL;
}

/* bench/suites/ompi.suite -> ompi */
static char *base_name(const char *path) {
  const char *slash = strrchr(path, '/'), *s = slash ? slash + 1 : path, *dot = strrchr(s, '.');
  size_t n = dot ? (size_t)(dot - s) : strlen(s);
  char *name = bench_alloc((int64_t)n + 1);
  memcpy(name, s, n);
  return name;
}

static char *copy_text(const char *s) {
  char *t = bench_alloc((int64_t)strlen(s) + 1);
  memcpy(t, s, strlen(s));
  return t;
}

static bool load_lines(suite *s, char *text, complaint c) {
  int number = 1;
  char why[256];
  for (char *line = text, *next; line; line = next, number++) {
    next = strchr(line, '\n');
    if (next) *next++ = 0;
    char *body = trim(line);
    if (!*body || *body == '#') continue;
    problem *p = &s->list[s->n];
    if (!problem_read(p, body, why, sizeof why)) return fail(c, "%s:%d: %s", s->path, number, why);
    p->suite = s->name;
    p->line = number;
    s->n++;
  }
  return true;
}

bool suite_load(suite *s, const char *path, char *fault, size_t cap) {
  complaint c = { fault, cap };
  char *text = read_file(path);
  *s = (suite){ 0 };
  if (!text) return fail(c, "cannot read %s", path);
  int64_t lines = 1;
  for (const char *t = text; *t; t++) lines += *t == '\n';
  s->name = base_name(path);
  s->path = copy_text(path);
  s->list = bench_alloc(lines * (int64_t)sizeof *s->list);
  bool ok = load_lines(s, text, c);
  free(text);
  if (!ok) suite_free(s);
  return ok;
}

void suite_free(suite *s) {
  for (int i = 0; i < s->n; i++) ldg_free(s->list[i].text);
  ldg_free(s->list);
  ldg_free(s->name);
  ldg_free(s->path);
  *s = (suite){ 0 };
}
