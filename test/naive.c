/* The naive model: typemaps by the definitions of MPI-4.1 chapter 5, entry by entry, and their expansion to byte offsets. */
#include "common.h"

/* ---- basic elements: the C types they stand for ---- */

struct float_int { float a; int b; };
struct double_int { double a; int b; };
struct long_int { long a; int b; };
struct two_int { int a, b; };
struct short_int { short a; int b; };
struct long_double_int { long double a; int b; };

typedef struct elem_row { int64_t size, align, second; int parts[2]; } elem_row;
#define PLAIN(kind, c) [kind] = { sizeof(c), _Alignof(c), 0, { kind, -1 } }
#define PAIR(kind, c, first) [kind] = { sizeof(c), _Alignof(c), offsetof(c, b), { first, LADING_INT32 } }
static const elem_row elems[LADING_ELEM_MAX] = {
  PLAIN(LADING_BYTE, char), PLAIN(LADING_CHAR, char), PLAIN(LADING_BOOL, bool),
  PLAIN(LADING_INT8, int8_t), PLAIN(LADING_INT16, int16_t), PLAIN(LADING_INT32, int32_t), PLAIN(LADING_INT64, int64_t),
  PLAIN(LADING_UINT8, uint8_t), PLAIN(LADING_UINT16, uint16_t), PLAIN(LADING_UINT32, uint32_t), PLAIN(LADING_UINT64, uint64_t),
  PLAIN(LADING_FLOAT16, uint16_t), PLAIN(LADING_BFLOAT16, uint16_t), PLAIN(LADING_FLOAT, float), PLAIN(LADING_DOUBLE, double),
  PLAIN(LADING_LONG_DOUBLE, long double), PLAIN(LADING_C_FLOAT, float _Complex), PLAIN(LADING_C_DOUBLE, double _Complex),
  PLAIN(LADING_C_LONG_DOUBLE, long double _Complex),
  PAIR(LADING_FLOAT_INT, struct float_int, LADING_FLOAT), PAIR(LADING_DOUBLE_INT, struct double_int, LADING_DOUBLE),
  PAIR(LADING_LONG_INT, struct long_int, LADING_INT64), PAIR(LADING_2INT, struct two_int, LADING_INT32),
  PAIR(LADING_SHORT_INT, struct short_int, LADING_INT16), PAIR(LADING_LONG_DOUBLE_INT, struct long_double_int, LADING_LONG_DOUBLE),
};

int64_t elem_size(int kind) { return elems[kind].second ? elems[elems[kind].parts[0]].size + elems[LADING_INT32].size : elems[kind].size; }
int64_t elem_align(int kind) { return elems[kind].align; }

int elem_pieces(int kind, int64_t at[2], int64_t len[2], int kinds[2]) {
  const elem_row *e = &elems[kind];
  at[0] = 0;
  kinds[0] = e->parts[0];
  len[0] = elems[kinds[0]].size;
  if (!e->second) return 1;
  at[1] = e->second;
  kinds[1] = e->parts[1];
  len[1] = elems[kinds[1]].size;
  return 2;
}

/* ---- typemaps ---- */

static map *map_new(void) { return calloc(1, sizeof(map)); }
void map_free(map *m) {
  if (m) free(m->e);
  free(m);
}
int64_t map_extent(const map *m) { return m->ub - m->lb; }

static void map_add(map *m, int kind, int64_t at) {
  if (m->n == m->cap) m->e = realloc(m->e, (size_t)(m->cap = m->cap * 2 + 8) * sizeof(map_entry));
  m->e[m->n++] = (map_entry){ kind, at };
}

static void add_data(map *m, const map *old, int64_t at) {
  for (int64_t i = 0; i < old->n; i++) map_add(m, old->e[i].kind, old->e[i].at + at);
}

/* Markers drive out natural bounds: once one is there only markers count. An empty map without markers leaves no trace. */
static void add_bounds(map *m, const map *old, int64_t at) {
  if (!old->placed || (m->marked && !old->marked)) return;
  bool fresh = !m->placed || (old->marked && !m->marked);
  int64_t lb = old->lb + at, ub = old->ub + at;
  m->lb = fresh || lb < m->lb ? lb : m->lb;
  m->ub = fresh || ub > m->ub ? ub : m->ub;
  m->marked |= old->marked;
  m->placed = true;
}

static void place(map *m, const map *old, int64_t at) {
  add_data(m, old, at);
  add_bounds(m, old, at);
}

static map *mark(map *m, int64_t lb, int64_t ub) {
  m->lb = lb;
  m->ub = ub;
  m->marked = m->placed = true;
  return m;
}

map *map_of_elem(int kind) {
  map *m = map_new();
  map_add(m, kind, 0);
  m->ub = elems[kind].size;
  m->placed = true;
  return m;
}

map *map_copy(const map *m) {
  map *c = map_new();
  place(c, m, 0);
  return c;
}

map *map_hvector(int64_t n, int64_t bl, int64_t stride, const map *old) {
  map *m = map_new();
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < bl; j++) place(m, old, i * stride + j * map_extent(old));
  return m;
}

map *map_vector(int64_t n, int64_t bl, int64_t stride, const map *old) { return map_hvector(n, bl, stride * map_extent(old), old); }
map *map_contiguous(int64_t n, const map *old) { return map_hvector(1, n, 0, old); }

static map *listed(int64_t n, const int64_t *bl, const int64_t *at, int64_t unit, const map *old) {
  map *m = map_new();
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < bl[i]; j++) place(m, old, at[i] * unit + j * map_extent(old));
  return m;
}

map *map_hindexed(int64_t n, const int64_t *bl, const int64_t *at, const map *old) { return listed(n, bl, at, 1, old); }
map *map_indexed(int64_t n, const int64_t *bl, const int64_t *at, const map *old) { return listed(n, bl, at, map_extent(old), old); }

/* The alignment epsilon: the extent is rounded up to the strictest alignment in the map, unless markers say otherwise. */
static void pad(map *m) {
  int64_t k = 1, rest;
  for (int64_t i = 0; i < m->n; i++) k = elems[m->e[i].kind].align > k ? elems[m->e[i].kind].align : k;
  rest = (map_extent(m) % k + k) % k;
  if (!m->marked && rest) m->ub += k - rest;
}

map *map_struct(int64_t n, const int64_t *bl, const int64_t *at, const map *const *olds) {
  map *m = map_new();
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < bl[i]; j++) place(m, olds[i], at[i] + j * map_extent(olds[i]));
  pad(m);
  return m;
}

map *map_resized(const map *old, int64_t lb, int64_t extent) {
  map *m = map_new();
  add_data(m, old, 0);
  return mark(m, lb, lb + extent);
}

/* One dimension of an array: the global indices that take part, ascending. */
typedef struct axis { int64_t size, n; int64_t *index; } axis;

/* Loops over the axes, the last of `ax` fastest, data only: the markers of `old` do not count (section 5.1.3). */
static void add_axes(map *m, const axis *ax, int nd, int64_t unit, int64_t base, const map *old) {
  if (nd == 0) { add_data(m, old, base * unit); return; }
  for (int64_t i = 0; i < ax->n; i++) add_axes(m, ax + 1, nd - 1, unit, base * ax->size + ax->index[i], old);
}

static map *of_axes(axis *ax, int nd, lading_order order, const map *old) {
  axis rows[32];
  map *m = map_new();
  int64_t whole = map_extent(old);
  for (int d = 0; d < nd; d++) {
    rows[d] = order == LADING_ORDER_C ? ax[d] : ax[nd - 1 - d];
    whole *= ax[d].size;
  }
  add_axes(m, rows, nd, map_extent(old), 0, old);
  for (int d = 0; d < nd; d++) free(ax[d].index);
  return mark(m, 0, whole);
}

map *map_subarray(int nd, const int64_t *sizes, const int64_t *sub, const int64_t *starts, lading_order order, const map *old) {
  axis ax[32];
  for (int d = 0; d < nd; d++) {
    ax[d] = (axis){ sizes[d], sub[d], malloc((size_t)sub[d] * sizeof(int64_t) + 1) };
    for (int64_t i = 0; i < sub[d]; i++) ax[d].index[i] = starts[d] + i;
  }
  return of_axes(ax, nd, order, old);
}

map *map_darray(int64_t size, int64_t rank, int nd, const int64_t *gsizes, const lading_distrib *dist, const int64_t *dargs,
                const int64_t *psizes, lading_order order, const map *old) {
  axis ax[32];
  int64_t left = size, r = rank;
  for (int d = 0; d < nd; d++) {
    left /= psizes[d];
    int64_t coord = r / left, block = dargs[d];
    r %= left;
    if (dist[d] == LADING_DISTRIB_NONE) block = gsizes[d];
    else if (block == LADING_DARG_DEFAULT) block = dist[d] == LADING_DISTRIB_BLOCK ? (gsizes[d] + psizes[d] - 1) / psizes[d] : 1;
    ax[d] = (axis){ gsizes[d], 0, malloc((size_t)gsizes[d] * sizeof(int64_t) + 1) };
    for (int64_t g = 0; g < gsizes[d]; g++) /* index g belongs to process (g / block) mod p */
      if (g / block % psizes[d] == coord) ax[d].index[ax[d].n++] = g;
  }
  return of_axes(ax, nd, order, old);
}

/* ---- streams ---- */

static void find_runs(stream *s) {
  s->start = malloc((size_t)(s->n + 1) * sizeof(int64_t));
  for (int64_t i = 0; i < s->n; i++)
    if (i == 0 || s->at[i] != s->at[i - 1] + 1) s->start[s->runs++] = i;
  s->start[s->runs] = s->n;
  for (int64_t k = 0; k < s->runs; k++) {
    int64_t len = s->start[k + 1] - s->start[k];
    s->min_run = k == 0 || len < s->min_run ? len : s->min_run;
    s->max_run = len > s->max_run ? len : s->max_run;
  }
}

static void find_facts(stream *s) {
  const int64_t *at = s->at, n = s->n;
  int64_t lo = n ? at[0] : 0, hi = n ? at[0] + 1 : 0;
  bool monotonic = true;
  for (int64_t i = 1; i < n; i++) {
    lo = at[i] < lo ? at[i] : lo;
    hi = at[i] >= hi ? at[i] + 1 : hi;
    monotonic &= at[i] >= at[i - 1];
  }
  s->lo = lo, s->hi = hi, s->monotonic = monotonic;
  unsigned char *seen = calloc(1, (size_t)(s->hi - s->lo) + 1);
  for (int64_t i = 0; i < s->n; i++) {
    s->overlaps |= seen[s->at[i] - s->lo];
    seen[s->at[i] - s->lo] = 1;
  }
  free(seen);
}

static stream *finish(stream *s) {
  find_runs(s);
  find_facts(s);
  return s;
}

stream *stream_of_offsets(const int64_t *at, int64_t n) {
  stream *s = calloc(1, sizeof *s);
  s->n = n;
  s->at = malloc((size_t)n * sizeof(int64_t) + 1);
  if (n) memcpy(s->at, at, (size_t)n * sizeof(int64_t));
  return finish(s);
}

stream *stream_of(const map *m, int64_t count) {
  stream *s = calloc(1, sizeof *s);
  int64_t each = 0;
  for (int64_t i = 0; i < m->n; i++) each += elem_size(m->e[i].kind);
  s->at = malloc((size_t)(each * count) * sizeof(int64_t) + 1);
  for (int64_t item = 0; item < count; item++)
    for (int64_t i = 0; i < m->n; i++) {
      int64_t at[2], len[2];
      int kinds[2], pieces = elem_pieces(m->e[i].kind, at, len, kinds);
      for (int p = 0; p < pieces; p++)
        for (int64_t b = 0; b < len[p]; b++) s->at[s->n++] = item * map_extent(m) + m->e[i].at + at[p] + b;
    }
  return finish(s);
}

void stream_free(stream *s) {
  free(s->at);
  free(s->start);
  free(s);
}

bool stream_equal(const stream *a, const stream *b) {
  return a->n == b->n && (a->n == 0 || memcmp(a->at, b->at, (size_t)a->n * sizeof(int64_t)) == 0);
}

int64_t map_signature(const map *m, int64_t count, unsigned char **out) {
  int64_t n = 0;
  *out = malloc((size_t)(2 * m->n * count) + 1);
  for (int64_t item = 0; item < count; item++)
    for (int64_t i = 0; i < m->n; i++) {
      int64_t at[2], len[2];
      int kinds[2], pieces = elem_pieces(m->e[i].kind, at, len, kinds);
      for (int p = 0; p < pieces; p++) (*out)[n++] = (unsigned char)kinds[p];
    }
  return n;
}
