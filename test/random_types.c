/* Samples: types built next to their models, and random trees of them. */
#include "random_types.h"
#include <inttypes.h>
#include <stdarg.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wformat-truncation" /* gcc's sanitizer build has a path on which the format is NULL */
#endif
static char *printed(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *printed(const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  char *s = malloc((size_t)n + 1);
  vsnprintf(s, (size_t)n + 1, format, again);
  va_end(args);
  va_end(again);
  return s;
}

static char *printed_list(int64_t n, const int64_t *v) {
  char *s = malloc((size_t)n * 22 + 3), *p = s;
  *p++ = '[';
  for (int64_t i = 0; i < n; i++) p += sprintf(p, i ? ",%" PRId64 : "%" PRId64, v[i]);
  strcpy(p, "]");
  return s;
}

static sample *pair(lading_type *type, map *m, char *spell) {
  sample *s = malloc(sizeof *s);
  *s = (sample){ type, m, spell };
  return s;
}

/* rc must be good: the arguments of samples always are. */
static sample *made(int rc, lading_type *type, map *m, char *spell, sample *old) {
  ck_assert_msg(rc == LADING_OK, "%s: %d (%s)", spell, rc, lading_strerror(rc));
  if (old) sample_free(old);
  return pair(type, m, spell);
}

static const char *const elem_names[LADING_ELEM_MAX] = {
  "byte", "char", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float",
  "double", "long_double", "c_float", "c_double", "c_long_double", "float_int", "double_int", "long_int", "2int", "short_int", "long_double_int",
};

sample *s_elem(int kind) {
  return pair(lading_type_ref(lading_elem_type((lading_elem)kind)), map_of_elem(kind), printed("%s", elem_names[kind]));
}

sample *s_dup(const sample *s) { return pair(lading_type_ref(s->type), map_copy(s->map), printed("%s", s->spell)); }

sample *s_contiguous(int64_t n, sample *old) {
  lading_type *t = NULL;
  int rc = lading_type_contiguous(n, old->type, &t);
  return made(rc, t, map_contiguous(n, old->map), printed("contiguous(%" PRId64 ",%s)", n, old->spell), old);
}

sample *s_vector(int64_t n, int64_t bl, int64_t stride, sample *old) {
  lading_type *t = NULL;
  int rc = lading_type_vector(n, bl, stride, old->type, &t);
  return made(rc, t, map_vector(n, bl, stride, old->map), printed("vector(%" PRId64 ",%" PRId64 ",%" PRId64 ",%s)", n, bl, stride, old->spell), old);
}

sample *s_hvector(int64_t n, int64_t bl, int64_t stride, sample *old) {
  lading_type *t = NULL;
  int rc = lading_type_hvector(n, bl, stride, old->type, &t);
  return made(rc, t, map_hvector(n, bl, stride, old->map), printed("hvector(%" PRId64 ",%" PRId64 ",%" PRId64 ",%s)", n, bl, stride, old->spell), old);
}

static char *printed_listed(const char *name, int64_t n, const int64_t *bl, const int64_t *at, const char *old) {
  char *b = printed_list(n, bl), *a = printed_list(n, at), *s = printed("%s(%s,%s,%s)", name, b, a, old);
  free(a);
  free(b);
  return s;
}

sample *s_indexed(int64_t n, const int64_t *bl, const int64_t *at, sample *old) {
  lading_type *t = NULL;
  int rc = lading_type_indexed(n, bl, at, old->type, &t);
  return made(rc, t, map_indexed(n, bl, at, old->map), printed_listed("indexed", n, bl, at, old->spell), old);
}

sample *s_hindexed(int64_t n, const int64_t *bl, const int64_t *at, sample *old) {
  lading_type *t = NULL;
  int rc = lading_type_hindexed(n, bl, at, old->type, &t);
  return made(rc, t, map_hindexed(n, bl, at, old->map), printed_listed("hindexed", n, bl, at, old->spell), old);
}

static map *blocked(int64_t n, int64_t bl, const int64_t *at, const map *old, map *(*list)(int64_t, const int64_t *, const int64_t *, const map *)) {
  int64_t *bls = malloc((size_t)n * sizeof *bls + 1);
  for (int64_t i = 0; i < n; i++) bls[i] = bl;
  map *m = list(n, bls, at, old);
  free(bls);
  return m;
}

static char *printed_blocked(const char *name, int64_t n, int64_t bl, const int64_t *at, const char *old) {
  char *a = printed_list(n, at), *s = printed("%s(%" PRId64 ",%s,%s)", name, bl, a, old);
  free(a);
  return s;
}

sample *s_indexed_block(int64_t n, int64_t bl, const int64_t *at, sample *old) {
  lading_type *t = NULL;
  int rc = lading_type_indexed_block(n, bl, at, old->type, &t);
  return made(rc, t, blocked(n, bl, at, old->map, map_indexed), printed_blocked("indexed_block", n, bl, at, old->spell), old);
}

sample *s_hindexed_block(int64_t n, int64_t bl, const int64_t *at, sample *old) {
  lading_type *t = NULL;
  int rc = lading_type_hindexed_block(n, bl, at, old->type, &t);
  return made(rc, t, blocked(n, bl, at, old->map, map_hindexed), printed_blocked("hindexed_block", n, bl, at, old->spell), old);
}

static char *printed_struct(int64_t n, const int64_t *bl, const int64_t *at, sample *const *olds) {
  char *list = printed("%s", ""), *b = printed_list(n, bl), *a = printed_list(n, at);
  for (int64_t i = 0; i < n; i++) {
    char *longer = printed("%s%s%s", list, i ? "," : "", olds[i]->spell);
    free(list);
    list = longer;
  }
  char *s = printed("struct(%s,%s,[%s])", b, a, list);
  free(list);
  free(a);
  free(b);
  return s;
}

sample *s_struct(int64_t n, const int64_t *bl, const int64_t *at, sample *const *olds) {
  const lading_type **types = calloc((size_t)n + 1, sizeof *types);
  const map **maps = calloc((size_t)n + 1, sizeof *maps);
  for (int64_t i = 0; i < n; i++) {
    types[i] = olds[i]->type;
    maps[i] = olds[i]->map;
  }
  lading_type *t = NULL;
  int rc = lading_type_struct(n, bl, at, types, &t);
  sample *s = made(rc, t, map_struct(n, bl, at, maps), printed_struct(n, bl, at, olds), NULL);
  for (int64_t i = 0; i < n; i++) sample_free(olds[i]);
  free(types);
  free(maps);
  return s;
}

sample *s_subarray(int nd, const int64_t *sizes, const int64_t *sub, const int64_t *starts, lading_order order, sample *old) {
  char *a = printed_list(nd, sizes), *b = printed_list(nd, sub), *c = printed_list(nd, starts);
  char *spell = printed("subarray(%s,%s,%s,%s,%s)", a, b, c, order == LADING_ORDER_C ? "C" : "F", old->spell);
  lading_type *t = NULL;
  int rc = lading_type_subarray(nd, sizes, sub, starts, order, old->type, &t);
  free(a);
  free(b);
  free(c);
  return made(rc, t, map_subarray(nd, sizes, sub, starts, order, old->map), spell, old);
}

sample *s_darray(int64_t size, int64_t rank, int nd, const int64_t *gsizes, const lading_distrib *dist, const int64_t *dargs,
                 const int64_t *psizes, lading_order order, sample *old) {
  static const char *const names[] = { "block", "cyclic", "none" };
  char *a = printed_list(nd, gsizes), *b = printed_list(nd, dargs), *c = printed_list(nd, psizes), d[64] = "";
  for (int i = 0; i < nd; i++) sprintf(d + strlen(d), "%s%s", i ? "," : "", names[dist[i]]);
  char *spell = printed("darray(%" PRId64 ",%" PRId64 ",%s,[%s],%s,%s,%s,%s)", size, rank, a, d, b, c, order == LADING_ORDER_C ? "C" : "F", old->spell);
  lading_type *t = NULL;
  int rc = lading_type_darray(size, rank, nd, gsizes, dist, dargs, psizes, order, old->type, &t);
  free(a);
  free(b);
  free(c);
  return made(rc, t, map_darray(size, rank, nd, gsizes, dist, dargs, psizes, order, old->map), spell, old);
}

sample *s_resized(sample *old, int64_t lb, int64_t extent) {
  lading_type *t = NULL;
  int rc = lading_type_resized(old->type, lb, extent, &t);
  return made(rc, t, map_resized(old->map, lb, extent), printed("resized(%s,%" PRId64 ",%" PRId64 ")", old->spell, lb, extent), old);
}

/* ---- random trees ---- */

static int64_t some(rng *r, int64_t most) { return rng_in(r, 0, 9) ? rng_in(r, 1, most) : 0; }

static sample *random_contiguous(rng *r, sample *old) { return s_contiguous(some(r, 5), old); }

/* Strides that touch, coincide and run backwards come up often: that is where rules fire and misfire. */
static sample *random_vector(rng *r, sample *old) {
  int64_t n = some(r, 5), bl = some(r, 3), pick = rng_in(r, 0, 5);
  return s_vector(n, bl, pick == 0 ? bl : pick == 1 ? -bl : pick == 2 ? 0 : rng_in(r, -4, 7), old);
}

static sample *random_hvector(rng *r, sample *old) {
  int64_t n = some(r, 5), bl = some(r, 3), pick = rng_in(r, 0, 5), hull = map_extent(old->map) * bl;
  return s_hvector(n, bl, pick == 0 ? hull : pick == 1 ? -hull : pick == 2 ? 8 * rng_in(r, -4, 6) : rng_in(r, -40, 64), old);
}

/* Index lists: random, regular, or periodic. */
static void random_list(rng *r, int64_t n, int64_t unit, int64_t *bl, int64_t *at) {
  int64_t kind = rng_in(r, 0, 3), step = rng_in(r, -5, 9), same = rng_in(r, 0, 3), period = rng_in(r, 1, 3);
  for (int64_t i = 0; i < n; i++) {
    bl[i] = kind ? same : some(r, 3);
    at[i] = kind <= 1 ? unit * rng_in(r, -6, 14) : kind == 2 ? unit * (i * step + 3) : unit * (i / period * (step + 9) + i % period * 2);
  }
}

static sample *random_indexed(rng *r, sample *old) {
  int64_t n = some(r, 7), bl[8], at[8], unit = rng_in(r, 0, 1) ? rng_in(r, 1, 9) : 4;
  switch (rng_in(r, 0, 3)) {
  case 0: random_list(r, n, 1, bl, at); return s_indexed(n, bl, at, old);
  case 1: random_list(r, n, unit, bl, at); return s_hindexed(n, bl, at, old);
  case 2: random_list(r, n, 1, bl, at); return s_indexed_block(n, n ? bl[0] : 1, at, old);
  default: random_list(r, n, unit, bl, at); return s_hindexed_block(n, n ? bl[0] : 1, at, old);
  }
}

static sample *random_subarray(rng *r, sample *old) {
  int64_t sizes[4], sub[4], starts[4];
  int nd = (int)rng_in(r, 1, 4);
  for (int d = 0; d < nd; d++) {
    sizes[d] = rng_in(r, 1, 5);
    sub[d] = rng_in(r, 0, 30) ? rng_in(r, 1, sizes[d]) : 0;
    if (rng_in(r, 0, 3) == 0) sub[d] = sizes[d];
    starts[d] = rng_in(r, 0, sizes[d] - sub[d]);
  }
  return s_subarray(nd, sizes, sub, starts, (lading_order)rng_in(r, 0, 1), old);
}

static sample *random_darray(rng *r, sample *old) {
  int64_t gsizes[3], dargs[3], psizes[3], size = 1;
  lading_distrib dist[3];
  int nd = (int)rng_in(r, 1, 3);
  for (int d = 0; d < nd; d++) {
    gsizes[d] = rng_in(r, 1, 7);
    dist[d] = (lading_distrib)rng_in(r, 0, 2);
    psizes[d] = dist[d] == LADING_DISTRIB_NONE ? 1 : rng_in(r, 1, 3);
    dargs[d] = LADING_DARG_DEFAULT;
    if (dist[d] == LADING_DISTRIB_BLOCK && rng_in(r, 0, 1)) dargs[d] = (gsizes[d] + psizes[d] - 1) / psizes[d] + rng_in(r, 0, 2);
    if (dist[d] == LADING_DISTRIB_CYCLIC && rng_in(r, 0, 1)) dargs[d] = rng_in(r, 1, 4);
    size *= psizes[d];
  }
  return s_darray(size, rng_in(r, 0, size - 1), nd, gsizes, dist, dargs, psizes, (lading_order)rng_in(r, 0, 1), old);
}

static sample *random_resized(rng *r, sample *old) {
  int64_t keep = map_extent(old->map);
  if (rng_in(r, 0, 2) == 0) return s_resized(old, old->map->lb, keep + 4 * rng_in(r, 0, 3));
  return s_resized(old, rng_in(r, -20, 20), rng_in(r, -24, 40));
}

bool random_alike_fields = true;

/* Fields of one type: one field, or the same built-in type in all. */
static bool alike(int64_t n, sample *const *olds) {
  for (int64_t i = 1; i < n; i++)
    if (strchr(olds[i]->spell, '(') || strcmp(olds[i]->spell, olds[0]->spell)) return false;
  return true;
}

static sample *random_struct(rng *r, sample *first, int depth, int64_t bytes) {
  int64_t n = rng_in(r, 1, 4), bl[4], at[4], end = 0;
  bool tight = rng_in(r, 0, 1);
  sample *olds[4] = { first };
  for (int64_t i = 0; i < n; i++) {
    if (i) olds[i] = rng_in(r, 0, 2) ? random_type(r, depth - 1, bytes / 2) : s_dup(first);
    bl[i] = some(r, 2);
    at[i] = tight ? end - olds[i]->map->lb : rng_in(r, -30, 60);
    end = at[i] + olds[i]->map->lb + bl[i] * map_extent(olds[i]->map);
  }
  if (random_alike_fields || !alike(n, olds)) return s_struct(n, bl, at, olds);
  for (int64_t i = 1; i < n; i++) sample_free(olds[i]);
  return s_hindexed(n, bl, at, first);
}

static bool modest(const sample *s, int64_t bytes) {
  int64_t size = 0, lo = 0, hi = 0;
  for (int64_t i = 0; i < s->map->n; i++) {
    int64_t at = s->map->e[i].at;
    size += elem_size(s->map->e[i].kind);
    lo = at < lo ? at : lo;
    hi = at > hi ? at : hi;
  }
  int64_t bounds = s->map->lb < -32768 || s->map->ub > 32768 || map_extent(s->map) > 32768 || map_extent(s->map) < -32768;
  return size <= bytes && hi - lo <= 65536 && !bounds;
}

typedef sample *grow_fn(rng *r, sample *old);

static sample *modestly(sample *new_one, sample *backup, int64_t bytes) {
  bool good = modest(new_one, bytes);
  sample_free(good ? backup : new_one);
  return good ? new_one : backup;
}

uint32_t random_kinds = ~UINT32_C(0);

static sample *random_leaf(rng *r) {
  int kind = rng_in(r, 0, 2) ? (int)rng_in(r, 0, 7) : (int)rng_in(r, 0, LADING_ELEM_MAX - 1);
  while (!(random_kinds >> kind & 1)) kind = (int)rng_in(r, 0, LADING_ELEM_MAX - 1);
  return s_elem(kind);
}

sample *random_type(rng *r, int depth, int64_t bytes) {
  static grow_fn *const grow[] = { random_contiguous, random_vector, random_hvector, random_indexed, random_indexed, random_subarray,
                                   random_darray, random_resized };
  if (depth <= 0 || rng_in(r, 0, 9) == 0) return random_leaf(r);
  sample *old = random_type(r, depth - 1, bytes), *backup = s_dup(old);
  int64_t pick = rng_in(r, 0, COUNT_OF(grow) + 1);
  return modestly(pick < COUNT_OF(grow) ? grow[pick](r, old) : random_struct(r, old, depth, bytes), backup, bytes);
}

sample *random_nest(rng *r, int depth, int64_t bytes) {
  static grow_fn *const grow[] = { random_contiguous, random_vector, random_hvector, random_subarray };
  if (depth <= 0) return s_elem((int)rng_in(r, 0, 5));
  sample *old = random_nest(r, depth - 1, bytes), *backup = s_dup(old);
  return modestly(grow[rng_in(r, 0, COUNT_OF(grow) - 1)](r, old), backup, bytes);
}

/* ---- the same offsets, spelled differently ---- */

static int in_pieces(const stream *x, int64_t piece, rng *r, int64_t *bl, int64_t *at) {
  int n = 0;
  for (int64_t i = 0, len; i < x->n; i += len) {
    int64_t most = piece ? rng_in(r, 1, piece) : x->n;
    for (len = 1; i + len < x->n && len < most && x->at[i + len] == x->at[i] + len; len++) { }
    bl[n] = len;
    at[n++] = x->at[i];
  }
  return n;
}

lading_type *respelled(const stream *x, int how, rng *r) {
  int64_t *bl = malloc((size_t)x->n * sizeof *bl + 1), *at = malloc((size_t)x->n * sizeof *at + 1);
  const lading_type *byte = lading_elem_type(LADING_BYTE), **olds = malloc((size_t)x->n * sizeof *olds + 1);
  lading_type *t = NULL, *part[2] = { NULL, NULL };
  int64_t n = in_pieces(x, how == 1 ? 0 : 5, r, bl, at), half = n / 2;
  int rc = LADING_OK;
  for (int64_t i = 0; i < x->n; i++) olds[i] = byte;
  if (how == 0) rc = lading_type_hindexed_block(x->n, 1, x->at, byte, &t);
  else if (how == 1) rc = lading_type_hindexed(n, bl, at, byte, &t);
  else if (how == 2) rc = lading_type_struct(n, bl, at, olds, &t);
  else {
    rc = lading_type_hindexed(half, bl, at, byte, &part[0]);
    if (!rc) rc = lading_type_hindexed(n - half, bl + half, at + half, byte, &part[1]);
    if (!rc) rc = lading_type_struct(2, LIST(1, 1), LIST(0, 0), (const lading_type *const[]){ part[0], part[1] }, &t);
  }
  ck_assert_int_eq(rc, LADING_OK);
  lading_type_free(part[0]);
  lading_type_free(part[1]);
  free(bl);
  free(at);
  free(olds);
  return t;
}
