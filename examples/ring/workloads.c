/* What is exchanged, as types and once more as lists of blocks by plain loops. The shapes are those of DDTBench (Schneider, Gerstenberger,
 * Hoefler, EuroMPI 2012), with the memory of each message in one window, and of a 7-point stencil. */
#include "ring.h"

#include <stdlib.h>
#include <string.h>

void blocks_add(blocks *b, int64_t at, int64_t n) {
  if (b->n == b->cap) {
    b->cap = 2 * b->cap + 64;
    block *more = realloc(b->at, (size_t)b->cap * sizeof *more);
    if (!more) exit(1);
    b->at = more;
  }
  b->at[b->n++] = (block){ at, n };
}

static const lading_type *elem(lading_elem e) { return lading_elem_type(e); }

/* `old`, `at` bytes further. As all of these it frees what it is made of, and gives NULL when something went wrong, also before. */
static lading_type *moved(lading_type *old, int64_t at) {
  lading_type *t = NULL;
  const int err = lading_type_hindexed_block(1, 1, &at, old, &t);
  lading_type_free(old);
  return err ? NULL : t;
}

static lading_type *vec(int64_t n, int64_t b, int64_t stride, const lading_type *old) {
  lading_type *t = NULL;
  return lading_type_vector(n, b, stride, old, &t) ? NULL : t;
}

static lading_type *hvec(int64_t n, int64_t b, int64_t stride, lading_type *old) {
  lading_type *t = NULL;
  const int err = lading_type_hvector(n, b, stride, old, &t);
  lading_type_free(old);
  return err ? NULL : t;
}

static lading_type *record(int n, const int64_t *at, lading_type **parts) {
  static const int64_t ones[16] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
  lading_type *t = NULL;
  const int err = lading_type_struct(n, ones, at, (const lading_type *const *)parts, &t);
  for (int i = 0; i < n; i++) lading_type_free(parts[i]);
  return err ? NULL : t;
}

/* ---- MILC: half planes of an X Y Z T lattice of three complex floats ---- */

static lading_type *milc_type(const int64_t *p, int64_t at) {
  const int64_t xy = p[0] * p[1], xyz = xy * p[2];
  lading_type *su3 = NULL;
  int err = lading_type_contiguous(6, elem(LADING_FLOAT), &su3);
  lading_type *w = err ? NULL : vec(p[3], xy / 2, xyz / 2, su3);
  lading_type_free(su3);
  return moved(hvec(2, 1, 12 * xyz * p[3], w), at);
}

static void milc(const int64_t *p, workload *o) {
  const int64_t xy = p[0] * p[1], xyz = xy * p[2];
  o->send = milc_type(p, 0);
  o->recv = milc_type(p, 12 * xy);
  for (int64_t t = 0; t < 2 * p[3]; t++) blocks_add(&o->sent, 12 * xyz * t, 12 * xy), blocks_add(&o->received, 12 * xyz * t + 12 * xy, 12 * xy);
  o->window = 24 * xyz * p[3];
}

/* ---- WRF: three rows of four 2-D, three 3-D and two 4-D arrays; p = d1 d2 d3 s1 ---- */

static void wrf_side(const int64_t *p, int64_t o3, lading_type **out, blocks *b, int64_t *bytes) {
  const int64_t d1 = p[0], d2 = p[1], d3 = p[2], s1 = p[3], s2 = d2, s3 = 3, o1 = 5;
  lading_type *parts[9];
  int64_t at[9], end = 0;
  for (int m = 0; m < 9; m++) {
    const bool flat = m < 4;
    const int64_t species = m < 7 ? 0 : 4 * d1 * d2 * d3; /* of two, the second one is sent */
    at[m] = end + species + 4 * (flat ? o1 + d1 * o3 : o1 + d1 * d2 * o3);
    end += (4 * d1 * (flat ? 1 : d2) * d3 * (m < 7 ? 1 : 2) + 63) / 64 * 64;
    parts[m] = flat ? vec(s3, s1, d1, elem(LADING_FLOAT)) : hvec(s3, 1, 4 * d1 * d2, vec(s2, s1, d1, elem(LADING_FLOAT)));
    for (int64_t y = 0; y < s3; y++)
      for (int64_t z = 0; z < (flat ? 1 : s2); z++) blocks_add(b, at[m] + 4 * d1 * (flat ? y : y * d2 + z), 4 * s1);
  }
  *out = record(9, at, parts);
  *bytes = end;
}

static void wrf_y(const int64_t *p, workload *o) {
  wrf_side(p, 7, &o->send, &o->sent, &o->window);
  wrf_side(p, p[2] - 4, &o->recv, &o->received, &o->window);
}

/* ---- NAS MG: faces of an n3 n2 n1 grid of doubles ---- */

static void mg_side(const int64_t *p, int64_t n, int64_t stride, int64_t from, lading_type **out, blocks *b) {
  *out = moved(vec(n, p[0] - 2, stride, elem(LADING_DOUBLE)), 8 * from);
  for (int64_t i = 0; i < n; i++) blocks_add(b, 8 * (from + i * stride), 8 * (p[0] - 2));
}

static void mg_y(const int64_t *p, workload *o) {
  const int64_t plane = p[0] * p[1];
  mg_side(p, p[2] - 2, plane, 1 + p[0] * (p[1] - 2) + plane, &o->send, &o->sent);
  mg_side(p, p[2] - 2, plane, 1 + p[0] * (p[1] - 1) + plane, &o->recv, &o->received);
  o->window = 8 * plane * p[2];
}

static void mg_z(const int64_t *p, workload *o) {
  const int64_t plane = p[0] * p[1];
  mg_side(p, p[1] - 2, p[0], 1 + p[0] + plane, &o->send, &o->sent);
  mg_side(p, p[1] - 2, p[0], 1 + p[0], &o->recv, &o->received);
  o->window = 8 * plane * p[2];
}

/* ---- a 7-point stencil: faces of n n n cells with one layer of ghosts; p = n, axis (0 z, 1 y, 2 x, 3: all six faces) ---- */

static lading_type *face(int64_t n, int axis, int64_t layer, blocks *b) {
  const int64_t m = n + 2, sizes[3] = { m, m, m };
  int64_t sub[3] = { n, n, n }, start[3] = { 1, 1, 1 };
  lading_type *t = NULL;
  sub[axis] = 1, start[axis] = layer;
  for (int64_t z = 0; z < sub[0]; z++)
    for (int64_t y = 0; y < sub[1]; y++) blocks_add(b, 8 * (((start[0] + z) * m + start[1] + y) * m + start[2]), 8 * sub[2]);
  return lading_type_subarray(3, sizes, sub, start, LADING_ORDER_C, elem(LADING_DOUBLE), &t) ? NULL : t;
}

static void stencil(const int64_t *p, workload *o) {
  static const int64_t zero[6];
  const int64_t n = p[0];
  lading_type *from[6], *to[6];
  o->window = 8 * (n + 2) * (n + 2) * (n + 2);
  if (p[1] < 3) {
    o->send = face(n, (int)p[1], n, &o->sent), o->recv = face(n, (int)p[1], 0, &o->received);
    return;
  }
  for (int i = 0; i < 6; i++) from[i] = face(n, i / 2, i % 2 ? n : 1, &o->sent), to[i] = face(n, i / 2, i % 2 ? 0 : n + 1, &o->received);
  o->send = record(6, zero, from), o->recv = record(6, zero, to);
}

/* ---- LAMMPS: n of N atoms in random order, positions and five scalars, to the end of the same arrays ---- */

static uint64_t splitmix(uint64_t *state) {
  uint64_t z = (*state += 0x9E3779B97F4A7C15u);
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

static lading_type *atoms(int64_t n, const int64_t *list, int64_t width) {
  lading_type *t = NULL;
  int64_t *at = malloc((size_t)n * sizeof *at);
  if (!at) return NULL;
  for (int64_t i = 0; i < n; i++) at[i] = width * list[i];
  const int err = lading_type_indexed_block(n, width, at, elem(LADING_DOUBLE), &t);
  free(at);
  return err ? NULL : t;
}

static void lammps(const int64_t *p, workload *o) {
  const int64_t n = p[0], all = p[1], room = n + all;
  int64_t *list = malloc((size_t)all * sizeof *list), at[6], home[6];
  uint64_t state = 42;
  lading_type *parts[6], *runs[6];
  if (!list) return;
  for (int64_t i = 0; i < all; i++) list[i] = i;
  for (int64_t i = 0; i < all; i++) {
    const int64_t j = (int64_t)(splitmix(&state) % (uint64_t)all), was = list[i];
    list[i] = list[j], list[j] = was;
  }
  for (int f = 0; f < 6; f++) {
    const int64_t width = f ? 1 : 3, bytes = 8 * width;
    at[f] = f ? 8 * room * (f + 2) : 0, home[f] = at[f] + bytes * all;
    parts[f] = atoms(n, list, width), runs[f] = vec(1, width * n, 1, elem(LADING_DOUBLE));
    for (int64_t i = 0; i < n; i++) blocks_add(&o->sent, at[f] + bytes * list[i], bytes);
    blocks_add(&o->received, home[f], bytes * n);
  }
  free(list);
  o->send = record(6, at, parts), o->recv = record(6, home, runs);
  o->window = 64 * room;
}

/* ---- the list ---- */

typedef struct recipe { const char *name; void (*make)(const int64_t *p, workload *o); int64_t p[4]; } recipe;

static const recipe large[] = {
  { "MILC 16 16 16 16", milc, { 16, 16, 16, 16 } },   { "MILC 32 32 16 16", milc, { 32, 32, 16, 16 } },
  { "WRF_y 2x2", wrf_y, { 32, 65, 52, 23 } },         { "WRF_y 3 x wider", wrf_y, { 96, 65, 52, 69 } },
  { "WRF_y 10 x wider", wrf_y, { 320, 65, 52, 230 } },
  { "NAS_MG_y 258", mg_y, { 258, 130, 130 } },        { "NAS_MG_y 514", mg_y, { 514, 258, 258 } },
  { "NAS_MG_z 258", mg_z, { 258, 130, 130 } },        { "NAS_MG_z 514", mg_z, { 514, 258, 258 } },
  { "stencil 256 z", stencil, { 256, 0 } },           { "stencil 256 y", stencil, { 256, 1 } },
  { "stencil 256 x", stencil, { 256, 2 } },           { "stencil 256 all", stencil, { 256, 3 } },
  { "LAMMPS_full P2", lammps, { 3062, 3534 } },
};
static const recipe few[] = {
  { "MILC", milc, { 8, 8, 8, 16 } },           { "WRF_y", wrf_y, { 19, 65, 24, 11 } },
  { "NAS_MG_y", mg_y, { 130, 66, 20 } },       { "NAS_MG_z", mg_z, { 130, 66, 5 } },
  { "stencil z", stencil, { 40, 0 } },         { "stencil y", stencil, { 40, 1 } },
  { "stencil x", stencil, { 40, 2 } },         { "stencil all", stencil, { 40, 3 } },
  { "LAMMPS_full", lammps, { 1662, 1907 } },
};

int workload_count(bool small) { return (int)(small ? sizeof few / sizeof *few : sizeof large / sizeof *large); }

int workload_make(int i, bool small, workload *out) {
  const recipe *r = small ? &few[i] : &large[i];
  *out = (workload){ .name = r->name };
  r->make(r->p, out);
  const int err = out->send && out->recv ? lading_type_commit(out->send) : LADING_ERR_NOMEM;
  for (int64_t k = 0; k < out->sent.n; k++) out->bytes += out->sent.at[k].n;
  return err ? err : lading_type_commit(out->recv);
}

void workload_free(workload *w) {
  lading_type_free(w->send);
  lading_type_free(w->recv);
  free(w->sent.at);
  free(w->received.at);
}
