/* expand: list macros of suite lines. shuffle(4,100,42) becomes 73,5,... so that a random index list of a million entries
 * is one short, exactly reproducible line. Macros stand where a list item may stand. */
#include "problem.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define ENTRIES_MAX ((int64_t)1 << 24)
#define ARGS_MAX 6

uint64_t splitmix64(uint64_t *state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

static void put(FILE *out, int64_t i, int64_t value) { fprintf(out, i ? ",%" PRId64 : "%" PRId64, value); }

/* shuffle(n, N, seed [, scale]): n distinct indices below N, unsorted; the naive shuffle of workloads.md 1.8. */
static void shuffle(FILE *out, const int64_t *a) {
  int64_t n = a[0], all = a[1], scale = a[3] ? a[3] : 1;
  int64_t *list = bench_alloc(all * (int64_t)sizeof *list);
  uint64_t state = (uint64_t)a[2];
  for (int64_t i = 0; i < all; i++) list[i] = i;
  for (int64_t i = 0; i < all; i++) {
    int64_t j = (int64_t)(splitmix64(&state) % (uint64_t)all), t = list[i];
    list[i] = list[j];
    list[j] = t;
  }
  for (int64_t i = 0; i < n; i++) put(out, i, list[i] * scale);
  ldg_free(list);
}

/* iota(n, start, step) */
static void iota(FILE *out, const int64_t *a) {
  for (int64_t i = 0; i < a[0]; i++) put(out, i, a[1] + i * a[2]);
}

/* wrap(n, step, N [, scale]): (step * i) mod N, Open MPI's index list */
static void wrap(FILE *out, const int64_t *a) {
  for (int64_t i = 0; i < a[0]; i++) put(out, i, a[1] * i % a[2] * (a[3] ? a[3] : 1));
}

/* grid(n, step, m, step2): i * step + j * step2, the rows of a box */
static void grid(FILE *out, const int64_t *a) {
  for (int64_t i = 0; i < a[0]; i++)
    for (int64_t j = 0; j < a[2]; j++) put(out, i + j, i * a[1] + j * a[3]);
}

static int64_t between(uint64_t *state, int64_t lo, int64_t hi) {
  return lo + (int64_t)(splitmix64(state) % (uint64_t)(hi - lo + 1));
}

/* lengths(n, lo, hi, seed): random lengths in [lo, hi] */
static void lengths(FILE *out, const int64_t *a) {
  uint64_t state = (uint64_t)a[3];
  for (int64_t i = 0; i < a[0]; i++) put(out, i, between(&state, a[1], a[2]));
}

/* starts(n, lo, hi, seed, gap_lo, gap_hi): where blocks of those same lengths start, with random gaps between them */
static void starts(FILE *out, const int64_t *a) {
  uint64_t state = (uint64_t)a[3], gaps = (uint64_t)a[3] + 1;
  for (int64_t i = 0, at = 0; i < a[0]; i++) {
    put(out, i, at);
    at += between(&state, a[1], a[2]) + between(&gaps, a[4], a[5]);
  }
}

static const struct { const char *name; int min, max; void (*write)(FILE *, const int64_t *); const char *use; } macros[] = {
  { "shuffle", 3, 4, shuffle, "shuffle(n, N, seed [, scale]) with 0 <= n <= N" },
  { "iota", 3, 3, iota, "iota(n, start, step)" },
  { "wrap", 3, 4, wrap, "wrap(n, step, N [, scale]) with N > 0" },
  { "lengths", 4, 4, lengths, "lengths(n, lo, hi, seed) with lo <= hi" },
  { "grid", 4, 4, grid, "grid(n, step, m, step) with n * m <= 2^24" },
  { "starts", 6, 6, starts, "starts(n, lo, hi, seed, gap_lo, gap_hi)" },
};
enum { SHUFFLE, IOTA, WRAP, LENGTHS, GRID, STARTS }; /* rows of the table */
#define MACROS ((int)(sizeof macros / sizeof *macros))

static bool sane(int macro, const int64_t *a) {
  if (a[0] < 0 || a[0] > ENTRIES_MAX) return false;
  for (int i = 1; i < ARGS_MAX; i++)
    if (a[i] > INT64_C(1) << 40 || a[i] < -(INT64_C(1) << 40)) return false;
  if (macro == SHUFFLE) return a[1] >= a[0] && a[1] <= ENTRIES_MAX;
  if (macro == WRAP) return a[2] > 0 && a[2] <= ENTRIES_MAX && a[1] >= 0 && a[1] <= ENTRIES_MAX;
  if (macro == LENGTHS) return a[1] <= a[2];
  if (macro == GRID) return a[2] >= 0 && (a[2] == 0 || a[0] <= ENTRIES_MAX / a[2]);
  if (macro == STARTS) return a[1] <= a[2] && a[4] <= a[5];
  return true;
}

/* Reads "(a,b,...)" at *s; the number of arguments, or -1. */
static int numbers(const char **s, int64_t *a) {
  int n = 0;
  const char *at = *s + 1;
  for (;;) {
    char *end;
    if (n == ARGS_MAX) return -1;
    a[n++] = strtoll(at, &end, 10);
    if (end == at) return -1;
    for (at = end; isspace((unsigned char)*at); at++) {}
    if (*at == ')') break;
    if (*at++ != ',') return -1;
  }
  *s = at + 1;
  return n;
}

static int find_macro(const char *word, size_t len) {
  for (int i = 0; i < MACROS; i++)
    if (strlen(macros[i].name) == len && memcmp(macros[i].name, word, len) == 0) return i;
  return -1;
}

static bool expand_into(FILE *out, const char *s, const char *end, char *fault, size_t cap);

/* times(n, text): the text n times, separated by commas; may hold macros itself. *s is at the parenthesis. */
static bool expand_times(FILE *out, const char **s, char *fault, size_t cap) {
  char *text;
  int64_t n = strtoll(*s + 1, &text, 10);
  int open = 0;
  const char *end = *s;
  do open += (*end == '(') - (*end == ')');
  while (open > 0 && *end++);
  if (open || *text != ',' || n < 0 || n > ENTRIES_MAX) {
    snprintf(fault, cap, "write times(n, text)");
    return false;
  }
  for (int64_t i = 0; i < n; i++) {
    if (i) putc(',', out);
    if (!expand_into(out, text + 1, end, fault, cap)) return false;
  }
  *s = end + 1;
  return true;
}

static bool expand_call(FILE *out, int macro, const char **s, char *fault, size_t cap) {
  int64_t a[ARGS_MAX] = { 0 };
  int n = numbers(s, a);
  if (n < macros[macro].min || n > macros[macro].max || !sane(macro, a)) {
    snprintf(fault, cap, "write %s", macros[macro].use);
    return false;
  }
  macros[macro].write(out, a);
  return true;
}

static bool expand_into(FILE *out, const char *s, const char *end, char *fault, size_t cap) {
  while (s < end) {
    size_t len = 0;
    while (s + len < end && (isalnum((unsigned char)s[len]) || s[len] == '_')) len++;
    bool call = len && s + len < end && s[len] == '(';
    int macro = call ? find_macro(s, len) : -1;
    if (call && len == 5 && memcmp(s, "times", 5) == 0) {
      s += len;
      if (!expand_times(out, &s, fault, cap)) return false;
    } else if (macro >= 0) {
      s += len;
      if (!expand_call(out, macro, &s, fault, cap)) return false;
    } else {
      len += !len;
      fwrite(s, 1, len, out);
      s += len;
    }
  }
  return true;
}

char *expand_macros(const char *text, char *fault, size_t cap) {
  char *buf = NULL;
  size_t size;
  FILE *out = open_memstream(&buf, &size);
  bool ok = out && expand_into(out, text, text + strlen(text), fault, cap);
  if (!out) snprintf(fault, cap, "out of memory");
  if (out && fclose(out) != 0) ok = false;
  if (ok) return buf;
  free(buf);
  return NULL;
}
