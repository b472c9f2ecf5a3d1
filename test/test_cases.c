/* cases: every file of cases/ is one found bug or known layout; its lines say what must hold. See cases/README.md for the
 * format. argv[1] is the directory; it defaults to LDG_CASES_DIR, else to `cases` where the program is run. */
#include "common.h"
#include <dirent.h>
#include <inttypes.h>
#include <stdarg.h>

#ifndef LDG_CASES_DIR
#define LDG_CASES_DIR "cases"
#endif

static const char *directory = LDG_CASES_DIR;

/* What the lines before the current one said. */
typedef struct state { const char *file; int line, failures, facts; bool found_by; lading_type *t; int64_t count, unit; } state;

static void wrong(state *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void wrong(state *s, const char *format, ...) {
  va_list args;
  va_start(args, format);
  printf("%s:%d: ", s->file, s->line);
  vprintf(format, args);
  printf("\n");
  va_end(args);
  s->failures++;
}

static int error_code(const char *name) {
  static const char *const names[] = { "OK", "ARG", "NOMEM", "RANGE", "OVERFLOW", "FORMAT", "UNSUPPORTED", "DEVICE", "SYSTEM", "DEPTH" };
  for (int i = 0; i < (int)COUNT_OF(names); i++)
    if (strcmp(names[i], name) == 0) return -i;
  return 1;
}

/* ---- lines about the type as a whole ---- */

static void on_type(state *s, const char *value) {
  lading_type_free(s->t);
  s->t = NULL;
  s->count = 1;
  s->unit = 1;
  int rc = lading_type_parse(value, &s->t);
  if (rc) wrong(s, "'%s': %s", value, lading_strerror(rc));
}

static void on_error(state *s, const char *value) {
  char name[16] = "";
  int at = 0;
  lading_type *t = NULL;
  sscanf(value, "%15s %n", name, &at);
  int rc = lading_type_parse(value + at, &t);
  if (rc != error_code(name)) wrong(s, "'%s': %d (%s), not %s", value + at, rc, lading_strerror(rc), name);
  lading_type_free(t);
}

static void on_text(state *s, const char *value) {
  char *text = text_of(s->t);
  if (strcmp(text, value) != 0) wrong(s, "text is %s, not %s", text, value);
  free(text);
}

static void compare(state *s, const char *value, int what, bool want) {
  lading_type *t = NULL;
  lading_id a, b;
  int rc = lading_type_parse(value, &t);
  if (rc) { wrong(s, "'%s': %s", value, lading_strerror(rc)); return; }
  if (what == 0) { a = id_of(s->t, s->count); b = id_of(t, s->count); }
  else rc = lading_type_signature(s->t, s->count, &a) | lading_type_signature(t, s->count, &b);
  if (rc || same_id(a, b) != want) wrong(s, "'%s' %s", value, want ? "differs" : "is the same");
  lading_type_free(t);
}

static void on_same(state *s, const char *value) { compare(s, value, 0, true); }
static void on_differs(state *s, const char *value) { compare(s, value, 0, false); }
static void on_signature(state *s, const char *value) { compare(s, value, 1, true); }
static void on_other_signature(state *s, const char *value) { compare(s, value, 1, false); }
static void on_count(state *s, const char *value) { s->count = strtoll(value, NULL, 0); }
static void on_unit(state *s, const char *value) { s->unit = strtoll(value, NULL, 0); }
static void on_found_by(state *s, const char *value) { s->found_by = *value != 0; }

/* ---- lines about the bytes ---- */

static int64_t segments(const state *s) {
  int64_t n = -1;
  return lading_segments_count(s->t, s->count, &n) ? -1 : n;
}

static void on_nsegments(state *s, const char *value) {
  if (segments(s) != strtoll(value, NULL, 0)) wrong(s, "%" PRId64 " segments, not %s", segments(s), value);
}

/* `offset+length` each; a list that ends in ... names the first ones only */
static void on_segments(state *s, const char *value) {
  int64_t k = 0, off, len, got;
  int used;
  struct iovec v;
  for (; sscanf(value, "%" SCNd64 "+%" SCNd64 " %n", &off, &len, &used) == 2; value += used, k++) {
    if (lading_iov(s->t, s->count, NULL, k, &v, 1, &got) || got != 1) { wrong(s, "no segment %" PRId64, k); return; }
    if ((int64_t)(uintptr_t)v.iov_base != off || (int64_t)v.iov_len != len)
      wrong(s, "segment %" PRId64 " is %" PRId64 "+%zu", k, (int64_t)(uintptr_t)v.iov_base, v.iov_len);
  }
  if (strcmp(value, "...") == 0) return;
  if (*value) wrong(s, "what is '%s'?", value);
  if (segments(s) != k) wrong(s, "%" PRId64 " segments, not %" PRId64, segments(s), k);
}

/* Packed elements of `unit` bytes, by their number in memory from the base. */
static void on_order(state *s, const char *value) {
  lading_info i = info_of(s->t);
  int64_t tail = (s->count - 1) * i.extent, lo = i.true_lb + (tail < 0 ? tail : 0), span = i.true_extent + (tail < 0 ? -tail : tail), n = 0;
  int64_t size = i.size * s->count;
  char *bytes = malloc((size_t)span + 1), *packed = malloc((size_t)size + 1), *end;
  int64_t *first = malloc((size_t)size * 8 + 8); /* byte k of the stream comes from here */
  memset(first, 0, (size_t)size * 8);
  for (int round = 0; round < 8; round++) { /* the offset is packed eight times, one byte of it a time */
    for (int64_t k = 0; k < span; k++) bytes[k] = (char)((uint64_t)(k + lo) >> 8 * round);
    if (lading_pack(s->t, s->count, at_offset(bytes, -lo), packed, 0, size)) wrong(s, "pack");
    for (int64_t k = 0; k < size; k++) first[k] |= (int64_t)((uint64_t)(unsigned char)packed[k] << 8 * round);
  }
  for (; n * s->unit < size; n++, value = end) {
    int64_t want = strtoll(value, &end, 0);
    if (end == value) break;
    for (int64_t b = 0; b < s->unit; b++)
      if (first[n * s->unit + b] != want * s->unit + b) wrong(s, "byte %" PRId64 " of element %" PRId64 " is from %" PRId64, b, n, first[n * s->unit + b]);
  }
  if (strcmp(value + strspn(value, " "), n * s->unit == size ? "" : "...") != 0) wrong(s, "%" PRId64 " elements, %" PRId64 " named", size / s->unit, n);
  free(first);
  free(packed);
  free(bytes);
}

/* ---- facts ---- */

static bool fact(const lading_info *i, const char *key, int64_t *is) {
  const struct { const char *key; int64_t is; } facts[] = {
    { "size", i->size }, { "lb", i->lb }, { "extent", i->extent }, { "ub", i->lb + i->extent }, { "true_lb", i->true_lb }, { "true_extent", i->true_extent },
    { "blocks", i->blocks }, { "min_block", i->min_block }, { "max_block", i->max_block }, { "elements", i->elements }, { "elem", i->elem },
    { "depth", i->depth }, { "contiguous", i->contiguous }, { "monotonic", i->monotonic }, { "overlaps", i->overlaps },
  };
  for (int64_t k = 0; k < COUNT_OF(facts); k++)
    if (strcmp(facts[k].key, key) == 0) { *is = facts[k].is; return true; }
  return false;
}

static void on_fact(state *s, const char *key, const char *value) {
  lading_info i = info_of(s->t);
  int64_t is;
  char *end;
  int64_t want = strtoll(value, &end, 0);
  if (!fact(&i, key, &is)) wrong(s, "what is '%s'?", key);
  else if (*end || end == value || is != want) wrong(s, "%s is %" PRId64 ", not %s", key, is, value);
}

typedef struct handler { const char *key; void (*on)(state *, const char *); } handler;
static const handler handlers[] = {
  { "found by", on_found_by }, { "type", on_type }, { "error", on_error }, { "count", on_count }, { "unit", on_unit }, { "text", on_text }, { "same", on_same },
  { "differs", on_differs }, { "signature", on_signature }, { "other signature", on_other_signature }, { "nsegments", on_nsegments },
  { "segments", on_segments }, { "order", on_order },
};

static void on_line(state *s, char *line) {
  line[strcspn(line, "\n")] = 0;
  if (!*line || *line == '#') return;
  char *colon = strstr(line, ": ");
  if (!colon) { wrong(s, "no `key: value`"); return; }
  *colon = 0;
  const char *value = colon + 2 + strspn(colon + 2, " ");
  s->facts++;
  for (int64_t k = 0; k < COUNT_OF(handlers); k++)
    if (strcmp(handlers[k].key, line) == 0) {
      if (k < 3 || s->t) handlers[k].on(s, value);
      else wrong(s, "no type yet");
      return;
    }
  if (s->t) on_fact(s, line, value);
  else wrong(s, "no type yet");
}

static int run_file(const char *name) {
  char path[4096], *line = NULL;
  size_t cap = 0;
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE *f = fopen(path, "r");
  ck_assert_msg(f != NULL, "cannot open %s", path);
  state s = { .file = path, .count = 1, .unit = 1 };
  while (getline(&line, &cap, f) >= 0) {
    s.line++;
    on_line(&s, line);
  }
  if (!s.found_by) wrong(&s, "no `found by:`");
  if (s.facts < 3) wrong(&s, "too few lines to be a case");
  lading_type_free(s.t);
  free(line);
  fclose(f);
  return s.failures;
}

static int is_case(const struct dirent *e) {
  size_t n = strlen(e->d_name);
  return n > 5 && strcmp(e->d_name + n - 5, ".case") == 0;
}

START_TEST(all_cases) {
  struct dirent **files;
  int n = scandir(directory, &files, is_case, alphasort), failures = 0;
  ck_assert_msg(n >= 20, "%d cases in %s", n, directory);
  for (int i = 0; i < n; i++) {
    failures += run_file(files[i]->d_name);
    free(files[i]);
  }
  free(files);
  fflush(stdout);
  ck_assert_msg(failures == 0, "%d lines of the cases do not hold (printed above)", failures);
}
END_TEST

int main(int argc, char **argv) {
  if (argc > 1) directory = argv[1];
  return CHECK_MAIN("cases", 1, argv, all_cases);
}
