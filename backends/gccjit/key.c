/* key: shapes as text. */
#include "key.h"

#include <stdio.h>

/* clang and gcc before 11 do not know the levels by name, so features are spelled out; -march=native is refused by libgccjit. */
static const ldg_jit_level levels[] = {
  { "base", 16, 0, 0, "-mtune=generic" },
  { "v2", 16, 16, 1, "-msse4.2 -mpopcnt" },
  { "v3", 32, 16, 1, "-mavx2 -mbmi -mbmi2" },
  { "v4", 64, 64, 4, "-mavx2 -mbmi -mbmi2 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512" },
  { "v4+vbmi", 64, 64, 1, "-mavx2 -mbmi -mbmi2 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vbmi -mprefer-vector-width=512" },
  { "neon", 16, 0, 0, "-mtune=generic" },
};

const ldg_jit_level *ldg_jit_level_of(const char *name, size_t n) {
  for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
    if (strlen(levels[i].name) == n && !memcmp(levels[i].name, name, n)) return &levels[i];
  return NULL;
}

static const char *const hows[LDG_HOWS] = { [LDG_MOVE] = "", [LDG_SUM] = "sum", [LDG_PROD] = "prod", [LDG_AND] = "and", [LDG_OR] = "or", [LDG_XOR] = "xor",
                                            [LDG_MIN] = "min", [LDG_MAX] = "max", [LDG_ALL] = "land", [LDG_ANY] = "lor", [LDG_ONE] = "lxor" };
static const char numbers[] = { [LDG_WHOLE] = 'i', [LDG_SIGNED] = 's', [LDG_UNSIGNED] = 'u', [LDG_FLOATS] = 'f', 0 };

/* SSE2 has bytes without a sign and words with one, SSE4.1 the others, AVX-512 those of 8 bytes. */
static bool has_least(const ldg_jit_level *l, const ldg_reduce *r) {
  const bool first = strcmp(l->name, "base") == 0;
  if (strcmp(l->name, "neon") == 0) return false;
  if (r->number == LDG_FLOATS) return true;
  if (r->size == 8) return l->window == 64;
  return !first || (r->size == 1 && r->number == LDG_UNSIGNED) || (r->size == 2 && r->number == LDG_SIGNED);
}

int ldg_key_width(const ldg_key *key) {
  const ldg_reduce *r = &key->shape.reduce;
  if (!ldg_key_chooses(key)) return key->level->width;
  return r->how <= LDG_MAX && has_least(key->level, r) ? key->level->width : r->size;
}

/* ---- printing ---- */

/* Those that are arguments. */
static const char *strides_of(const ldg_shape *s) { return s->listed[0] ? "@,*" : s->listed[1] ? "*,@" : "*"; }

bool ldg_key_print(const ldg_key *key, char text[LDG_KEY_MAX]) {
  const ldg_shape *s = &key->shape;
  ldg_text t;
  ldg_text_init(&t, text, LDG_KEY_MAX);
  ldg_text_add(&t, "%s ", key->level->name);
  if (s->reduce.how) ldg_text_add(&t, "%s.%c%d ", hows[s->reduce.how], numbers[s->reduce.number], s->reduce.size);
  if (s->stride[0] || s->stride[1]) ldg_text_add(&t, "%lld,%lld", (long long)s->stride[0], (long long)s->stride[1]);
  else ldg_text_add(&t, "%s", strides_of(s));
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

/* Which numbers an op is told of. */
static bool fits(const ldg_reduce *r) {
  if (r->how == LDG_MIN || r->how == LDG_MAX) return r->number != LDG_WHOLE;
  return r->number == LDG_WHOLE || (r->number == LDG_FLOATS && r->how <= LDG_PROD);
}

/* sum.f8 and the like; nothing where it is a move. */
static bool take_reduce(const char **at, ldg_reduce *r) {
  *r = (ldg_reduce){ LDG_MOVE, LDG_WHOLE, 1, 1 };
  for (int h = LDG_SUM; h < LDG_HOWS && r->how == LDG_MOVE; h++)
    if (!strncmp(*at, hows[h], strlen(hows[h]))) r->how = (ldg_how)h, *at += strlen(hows[h]);
  if (r->how == LDG_MOVE) return true;
  int64_t size = 0;
  const char *number = take(at, '.') && **at ? strchr(numbers, *(*at)++) : NULL;
  if (!number) return false;
  r->number = (ldg_number)(number - numbers);
  if (!take_number(at, false, &size) || !take(at, ' ') || (size != 1 && size != 2 && size != 4 && size != 8)) return false;
  r->size = (int)size;
  return fits(r) && (r->number != LDG_FLOATS || size >= 4);
}

static bool take_strides(const char **at, ldg_shape *s) {
  s->stride[0] = s->stride[1] = 0;
  s->listed[0] = take(at, '@'), s->listed[1] = false;
  if (s->listed[0]) return take(at, ',') && take(at, '*');
  if (take(at, '*')) return !take(at, ',') || (s->listed[1] = take(at, '@'));
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
    if (s->field[i].len % s->reduce.size) return false;
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
  if (!take_reduce(&at, &s->reduce) || !take_strides(&at, s)) return false;
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
  snprintf(symbol, LDG_KEY_SYMBOL, "ldg_j_%s_%s%sf%d_b%lld_%s%016llx", key->level->name, hows[s->reduce.how], s->reduce.how ? "_" : "", s->n, (long long)bytes,
           s->stride[0] || s->stride[1] ? "s_" : s->listed[0] || s->listed[1] ? "l_" : "", (unsigned long long)ldg_key_hash(text));
  for (char *c = symbol; *c; c++)
    if (*c == '+') *c = '_';
}
