/* base: the file of the model. Whole or not at all: every row in its place, every value in its bounds, a checksum over all
 * bytes, the version, and the machine it was measured on. Numbers are whole, so no locale has a say. */
#include "base_model.h"

#include "base_cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define VALUE_MAX ((int64_t)1 << 52) /* sums and products of a few stay exact, and everything fits a double */

/* ---- the rows ---- */

#define AT(field) (int)(offsetof(ldg_model, field) / sizeof(int64_t))

/* `rows` of `points` values, named by up to three words. In a block of `levels` rows values rise (or stay) along a row and
 * from row to row; levels 0: they need not. */
typedef struct group {
  const char *name;
  int at, points, levels, least;
  int words[3];
  const char *const *word[3];
} group;

static const char *const level_words[] = { "L1", "L2", "L3", "memory" };
static const char *const stride_words[] = { "near", "line", "page" };
static const char *const side_words[] = { "read", "write" };
static const char *const odd_words[] = { "read", "write", "transpose" };
static const char *const kernel_words[] = { "here", "far", "tree" };
static const char *const way_words[] = { "to", "from" };
static const char *const number_words[] = { "call", "row", "tiled", "child", "walk", "varlist", "shuffle", "window", "part", "prefetch", "stream", "libc", "libc.rows", "align", "lanes", "meet", "meet.written", "sets", "sets.written", "sets.whole", "sets.apart", "stores", "idle", "ahead", "written", "shuffle.far", "masked", "joined", "touched", "pace", "reduced" };

static const group groups[] = {
  { "level", AT(level), LDG_MODEL_LEVELS, 1, 1, { 1, 1, 1 }, { NULL } },
  { "copy", AT(copy), LDG_MODEL_COPIES, 1, 1, { 1, 1, 1 }, { NULL } },
  { "block", AT(block), LDG_MODEL_BLOCKS, LDG_MODEL_LEVELS, 1, { 2, 3, 4 }, { side_words, stride_words, level_words } },
  { "list", AT(list), LDG_MODEL_BLOCKS, LDG_MODEL_LEVELS, 1, { 1, 2, 4 }, { NULL, side_words, level_words } },
  { "transpose", AT(transpose), LDG_MODEL_WIDTHS, LDG_MODEL_LEVELS, 1, { 1, 1, 4 }, { NULL, NULL, level_words } },
  { "odd", AT(odd), LDG_MODEL_BLOCKS, 0, 0, { 1, 1, 3 }, { NULL, NULL, odd_words } },
  { "number", AT(number), 1, 0, 0, { 1, 1, LDG_MODEL_NAMES }, { NULL, NULL, number_words } },
  { "kernel", AT(kernel), LDG_MODEL_BLOCKS, 1, 1, { LDG_MODEL_KERNELS, LDG_MODEL_SIDES, LDG_MODEL_STRIDES }, { kernel_words, side_words, stride_words } },
  { "transfer", AT(transfer), LDG_MODEL_COPIES, 1, 1, { 1, 1, LDG_MODEL_WAYS }, { NULL, NULL, way_words } },
  { "launch", AT(launch), 1, 0, 1, { 1, 1, 1 }, { NULL } },
  { "handover", AT(handover), 1, 0, 1, { 1, 1, 1 }, { NULL } },
};
enum { GROUPS = sizeof groups / sizeof groups[0] };

static int rows_of(const group *g) { return g->words[0] * g->words[1] * g->words[2]; }

static void label(const group *g, int row, char buf[64]) {
  const int k[3] = { row / (g->words[1] * g->words[2]), row / g->words[2] % g->words[1], row % g->words[2] };
  int n = snprintf(buf, 64, "%s", g->name);
  for (int i = 0; i < 3; i++)
    if (g->word[i]) n += snprintf(buf + n, (size_t)(64 - n), ".%s", g->word[i][k[i]]);
}

typedef struct row { int64_t at, n; } row; /* n values from index `at` of the table */
/* Row i of the table in the order of the file; false past the end. */
static bool row_at(int i, char name[64], row *out) {
  int g = 0;
  for (; g < GROUPS && i >= rows_of(&groups[g]); g++) i -= rows_of(&groups[g]);
  if (g == GROUPS) return false;
  label(&groups[g], i, name);
  *out = (row){ groups[g].at + i * groups[g].points, groups[g].points };
  return true;
}

/* ---- writing ---- */

void ldg_model_print(const ldg_model *m, const char *fingerprint, ldg_text *t) {
  const int64_t *v = (const int64_t *)m, from = t->len;
  char name[64];
  row r;
  ldg_text_add(t, "lading model %d\nmachine %s\n", LDG_MODEL_VERSION, fingerprint);
  for (int i = 0; row_at(i, name, &r); i++) {
    ldg_text_add(t, "%s", name);
    for (int64_t k = 0; k < r.n; k++) ldg_text_add(t, " %lld", (long long)v[r.at + k]);
    ldg_text_add(t, "\n");
  }
  if (t->len < t->cap) ldg_text_add(t, "end %016llx\n", (unsigned long long)ldg_checksum(t->buf + from, t->len - from));
  else t->len += 21; /* as long as it would be */
}

/* ---- reading ---- */

typedef struct reader { const char *at, *end; } reader;

static bool take_text(reader *r, const char *s) {
  const int64_t n = (int64_t)strlen(s);
  if (r->end - r->at < n || memcmp(r->at, s, (size_t)n) != 0) return false;
  r->at += n;
  return true;
}

static bool take_number(reader *r, int64_t *out) {
  const char *from = r->at;
  int64_t v = 0;
  for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
    if ((v = 10 * v + (*r->at - '0')) > VALUE_MAX) return false;
  *out = v;
  return r->at > from;
}

static bool take_row(reader *r, const char *name, int64_t n, int64_t *v) {
  if (!take_text(r, name)) return false;
  for (int64_t k = 0; k < n; k++)
    if (!take_text(r, " ") || !take_number(r, &v[k])) return false;
  return take_text(r, "\n");
}

static bool take_all(reader *r, ldg_model *m) {
  char name[64];
  row v;
  for (int i = 0; row_at(i, name, &v); i++)
    if (!take_row(r, name, v.n, (int64_t *)m + v.at)) return false;
  return true;
}

/* The last line, over all that stands before it. */
static bool sealed(const char *text, const reader *r) {
  char line[24];
  snprintf(line, sizeof line, "end %016llx\n", (unsigned long long)ldg_checksum(text, r->at - text));
  return r->end - r->at == 21 && memcmp(r->at, line, 21) == 0;
}

static bool in_bounds(const ldg_model *m) {
  const int64_t *v = (const int64_t *)m;
  for (const group *g = groups; g < groups + GROUPS; g++)
    for (int i = 0, all = rows_of(g) * g->points; i < all; i++) {
      const int64_t *x = v + g->at + i;
      if (*x < g->least) return false;
      if (g->levels && i % g->points && *x < x[-1]) return false;
      if (g->levels && i / g->points % g->levels && *x < x[-g->points]) return false;
    }
  for (int i = 1; i < LDG_MODEL_LEVELS; i++)
    if (m->level[i] < 2 * m->level[i - 1]) return false;
  return true;
}

const char *ldg_model_read(const char *text, int64_t n, const char *fingerprint, ldg_model *out) {
  reader r = { text, text + n };
  ldg_model m;
  char version[32];
  snprintf(version, sizeof version, " %d\n", LDG_MODEL_VERSION);
  if (!take_text(&r, "lading model")) return "it is not a model";
  if (!take_text(&r, version)) return "it is of another version";
  if (!take_text(&r, "machine ") || !take_text(&r, fingerprint) || !take_text(&r, "\n")) return "it was measured on another machine";
  if (!take_all(&r, &m) || !sealed(text, &r)) return "it is damaged";
  if (!in_bounds(&m)) return "its numbers make no sense";
  *out = m;
  return NULL;
}

/* ---- the file ---- */

static const char *read_file(int fd, char *text, int64_t *n) {
  *n = 0;
  while (*n < LDG_MODEL_TEXT_MAX) {
    const ssize_t got = read(fd, text + *n, (size_t)(LDG_MODEL_TEXT_MAX - *n));
    if (got == 0) return NULL;
    if (got > 0) *n += got;
    else if (errno != EINTR) return "it cannot be read";
  }
  return "it is too long";
}

const char *ldg_model_load(const char *path, ldg_model *out) {
  char text[LDG_MODEL_TEXT_MAX], line[LDG_CPU_LINE];
  int64_t n;
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); /* a pipe without a writer must not block */
  if (fd < 0) return errno == ENOENT ? "there is none (lbench calibrate makes one)" : "it cannot be opened";
  const char *why = read_file(fd, text, &n);
  close(fd);
  if (why) return why;
  ldg_cpu_fingerprint(line);
  return ldg_model_read(text, n, line, out);
}

/* Homes are shared by machines of different kinds, so each kind has its file. */
bool ldg_model_path(char *buf, int64_t cap) {
  char line[LDG_CPU_LINE];
  const char *given = ldg_option_get(LDG_OPT_MODEL), *cache = ldg_option_get(LDG_OPT_CACHE_HOME), *home = ldg_option_get(LDG_OPT_HOME);
  if (given && !strcmp(given, "builtin")) return false;
  if (given && *given) return snprintf(buf, (size_t)cap, "%s", given) < cap;
  const bool xdg = cache && *cache == '/'; /* relative ones are to be ignored, says the XDG specification */
  if (!xdg && !(home && *home)) return false;
  ldg_cpu_fingerprint(line);
  const unsigned long long kind = ldg_checksum(line, (int64_t)strlen(line));
  return snprintf(buf, (size_t)cap, "%s%s/lading/model-%016llx", xdg ? cache : home, xdg ? "" : "/.cache", kind) < cap;
}
