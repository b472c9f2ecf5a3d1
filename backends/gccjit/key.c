/* key: shapes as text. */
#include "key.h"

#include <stdio.h>

/* clang and gcc before 11 do not know the levels by name, so features are spelled out; -march=native is refused by libgccjit. */
static const ldg_jit_level levels[] = {
  { "base", 16, 0, "-mtune=generic" },
  { "v2", 16, 0, "-msse4.2 -mpopcnt" },
  { "v3", 32, 0, "-mavx2 -mbmi -mbmi2" },
  { "v4", 64, 4, "-mavx2 -mbmi -mbmi2 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512" },
  { "v4+vbmi", 64, 1, "-mavx2 -mbmi -mbmi2 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vbmi -mprefer-vector-width=512" },
  { "neon", 16, 0, "-mtune=generic" },
};

const ldg_jit_level *ldg_jit_level_of(const char *name, size_t n) {
  for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
    if (strlen(levels[i].name) == n && !memcmp(levels[i].name, name, n)) return &levels[i];
  return NULL;
}

/* ---- printing ---- */

bool ldg_key_print(const ldg_key *key, char text[LDG_KEY_MAX]) {
  const ldg_shape *s = &key->shape;
  ldg_text t;
  ldg_text_init(&t, text, LDG_KEY_MAX);
  ldg_text_add(&t, "%s ", key->level->name);
  if (s->stride[0] || s->stride[1]) ldg_text_add(&t, "%lld,%lld", (long long)s->stride[0], (long long)s->stride[1]);
  else ldg_text_add(&t, "*");
  for (int i = 0; i < s->n; i++) {
    const ldg_field *f = &s->field[i];
    if (f->src >= LDG_KEY_FAR || f->dst >= LDG_KEY_FAR) return false;
    ldg_text_add(&t, " %lld>%lld:%lld", (long long)f->src, (long long)f->dst, (long long)f->len);
  }
  return t.len < LDG_KEY_MAX;
}

/* ---- reading ---- */

static bool take(const char **at, char c) { return **at == c && ++*at; }

/* Without a leading zero, below LDG_KEY_FAR; negative only where that is allowed. */
static bool take_number(const char **at, bool may_be_negative, int64_t *out) {
  const bool negative = may_be_negative && take(at, '-');
  const char *from = *at;
  int64_t v = 0;
  for (; **at >= '0' && **at <= '9'; ++*at)
    if ((v = 10 * v + (**at - '0')) >= LDG_KEY_FAR) return false;
  if (*at == from || (*from == '0' && *at > from + 1) || (negative && v == 0)) return false;
  *out = negative ? -v : v;
  return true;
}

static bool take_strides(const char **at, ldg_shape *s) {
  s->stride[0] = s->stride[1] = 0;
  if (take(at, '*')) return true;
  return take_number(at, true, &s->stride[0]) && take(at, ',') && take_number(at, true, &s->stride[1]) && (s->stride[0] || s->stride[1]);
}

static bool take_field(const char **at, ldg_field *f) {
  return take(at, ' ') && take_number(at, false, &f->src) && take(at, '>') && take_number(at, false, &f->dst) && take(at, ':') &&
         take_number(at, false, &f->len) && f->len > 0;
}

static bool meet(const ldg_field *a, const ldg_field *b) { return a->dst < b->dst + b->len && b->dst < a->dst + a->len; }

/* What jit.h promises of shapes. */
static bool valid(const ldg_shape *s) {
  int64_t bytes = 0, least[2] = { INT64_MAX, INT64_MAX };
  for (int i = 0; i < s->n; i++) {
    bytes += s->field[i].len;
    least[0] = ldg_min(least[0], s->field[i].src), least[1] = ldg_min(least[1], s->field[i].dst);
    for (int k = 0; k < i; k++)
      if (meet(&s->field[i], &s->field[k])) return false;
  }
  return s->n > 0 && bytes <= LDG_SHAPE_BYTES && least[0] == 0 && least[1] == 0;
}

bool ldg_key_read(const char *text, ldg_key *key) {
  const char *at = strchr(text, ' ');
  ldg_shape *s = &key->shape;
  if (!at || !(key->level = ldg_jit_level_of(text, (size_t)(at - text)))) return false;
  at++, s->n = 0;
  if (!take_strides(&at, s)) return false;
  while (*at)
    if (s->n == LDG_SHAPE_FIELDS || !take_field(&at, &s->field[s->n++])) return false;
  return valid(s);
}

/* ---- names ---- */

uint64_t ldg_key_hash(const char *text) { /* FNV-1a, then mixed */
  uint64_t h = 0xcbf29ce484222325u;
  for (; *text; text++) h = (h ^ (unsigned char)*text) * 0x100000001b3u;
  h = (h ^ h >> 32) * 0x9E3779B97F4A7C15u;
  return h ^ h >> 29;
}

void ldg_key_symbol(const ldg_key *key, const char *text, char symbol[LDG_KEY_SYMBOL]) {
  const ldg_shape *s = &key->shape;
  int64_t bytes = 0;
  for (int i = 0; i < s->n; i++) bytes += s->field[i].len;
  snprintf(symbol, LDG_KEY_SYMBOL, "ldg_j_%s_f%d_b%lld_%s%016llx", key->level->name, s->n, (long long)bytes,
           s->stride[0] || s->stride[1] ? "s_" : "", (unsigned long long)ldg_key_hash(text));
  for (char *c = symbol; *c; c++)
    if (*c == '+') *c = '_';
}
