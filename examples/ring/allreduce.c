/* A partitioned allreduce without staging: every process owns one part of the stream, sums it up straight out of the mapped buffers
 * of all others, and then copies the other parts from their owners. Each one has a layout of its own. A part of a buffer is written
 * by one process only, and read by others only on the other side of a barrier. For comparison: the same through staging buffers. */
#include "ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 31, POISON = 0x5A };
enum { BY_STAGE, BY_STAGE_OP, DIRECT_SUM, WAYS };

typedef struct recipe { const char *name; lading_elem elem; int64_t rows, row; } recipe;
static const recipe large[] = {
  { "double 64 KiB", LADING_DOUBLE, 64, 128 },   { "double 512 KiB", LADING_DOUBLE, 512, 128 },
  { "double 4 MiB", LADING_DOUBLE, 2048, 256 },  { "int32 512 KiB", LADING_INT32, 512, 256 },
};
static const recipe few[] = { { "double", LADING_DOUBLE, 30, 14 }, { "int32", LADING_INT32, 31, 18 } };

typedef struct sum {
  const recipe *r;
  int64_t elements, width, bytes;
  blocks own;                                 /* the layout of this process, by plain loops */
  lading_type *type[RANKS_MAX];               /* of all of them: as it came from each */
  uint64_t buffer[RANKS_MAX];                 /* address there */
  int64_t span[RANKS_MAX];
  window mine, temp;
} sum;

/* ---- layouts: rows, rows of half the length, every second element ---- */

static lading_type *layout(const recipe *r, int rank, int64_t width, blocks *b, int64_t *span) {
  const int64_t all = r->rows * r->row, n = rank % 3 == 0 ? r->rows : rank % 3 == 1 ? 2 * r->rows : all;
  const int64_t len = all / n, stride = len + (rank % 3 == 2 ? 1 : 3 + rank);
  lading_type *t = NULL;
  for (int64_t i = 0; i < n; i++) blocks_add(b, width * i * stride, width * len);
  *span = width * n * stride;
  return lading_type_vector(n, len, stride, lading_elem_type(r->elem), &t) ? NULL : t;
}

/* ---- contents: small numbers in doubles, so that sums are exact in any order; numbers that wrap in integers ---- */

static double number(int rank, int64_t k) { return (double)((k * 7 + 3) % 1001 * (rank + 1)); }
static uint32_t word(int rank, int64_t k) { return (uint32_t)k * 2654435761u + 77u * (uint32_t)rank; }

static void put(const sum *s, char *at, int rank, int64_t k) {
  const double x = number(rank, k);
  const uint32_t y = word(rank, k);
  if (s->r->elem == LADING_DOUBLE) memcpy(at, &x, sizeof x);
  else memcpy(at, &y, sizeof y);
}

static bool is_sum(const sum *s, const char *at, int size, int64_t k) {
  double x, want = 0;
  uint32_t y, sum_of_words = 0;
  for (int p = 0; p < size; p++) want += number(p, k), sum_of_words += word(p, k);
  if (s->r->elem == LADING_DOUBLE) return memcpy(&x, at, sizeof x), x == want;
  return memcpy(&y, at, sizeof y), y == sum_of_words;
}

static void fill(const world *w, const sum *s, bool gaps) {
  int64_t k = 0;
  if (gaps) memset(s->mine.at, POISON, (size_t)s->mine.bytes);
  for (int64_t i = 0; i < s->own.n; i++)
    for (int64_t b = 0; b < s->own.at[i].n; b += s->width) put(s, s->mine.at + s->own.at[i].at + b, w->rank, k++);
}

/* Every element, and with `gaps` every byte between them. */
static void verify(const world *w, const sum *s, bool gaps) {
  int64_t k = 0, at = 0;
  for (int64_t i = 0; i < s->own.n; i++) {
    const block b = s->own.at[i];
    for (; gaps && at < b.at; at++)
      if (s->mine.at[at] != POISON) world_fail(w, "allreduce wrote between elements", LADING_ERR_FORMAT);
    for (int64_t o = 0; o < b.n; o += s->width)
      if (!is_sum(s, s->mine.at + b.at + o, w->size, k++)) world_fail(w, "an element of the allreduce is wrong", LADING_ERR_FORMAT);
    at = b.at + b.n;
  }
  if (k != s->elements) world_fail(w, "the allreduce has another length", LADING_ERR_FORMAT);
}

/* ---- all get to know the buffers of all: layouts and descriptors go around the ring ---- */

typedef struct card { uint64_t buffer; int64_t bytes; } card; /* and the layout behind it */

static int64_t write_card(const world *w, const sum *s, unsigned char *msg) {
  const card c = { (uint64_t)(uintptr_t)s->mine.at, s->mine.bytes };
  int64_t n;
  memcpy(msg, &c, sizeof c);
  world_check(w, "encode", lading_wire_encode(s->type[w->rank], msg + sizeof c, MAIL_MAX - (int64_t)sizeof c, &n));
  return n + (int64_t)sizeof c;
}

static void take_card(world *w, sum *s, int p, const unsigned char *msg, int64_t n, int fd) {
  lading_mapping *pin;
  card c;
  memcpy(&c, msg, sizeof c);
  world_check(w, "decode", lading_wire_decode(msg + sizeof c, n - (int64_t)sizeof c, &s->type[p]));
  s->buffer[p] = c.buffer, s->span[p] = c.bytes;
  world_check(w, "insert", lading_map_insert(w->map, (uint64_t)p, c.buffer, c.bytes, window_attach(w, fd, c.bytes), NULL, &pin));
  lading_map_release(w->map, pin);
}

static void introduce(world *w, sum *s) {
  static unsigned char msg[MAIL_MAX];
  int64_t n = write_card(w, s, msg);
  window next = s->mine;
  for (int step = 1; step < w->size; step++) {
    window_send(w, &next);
    mail_post(w, &w->out->forward, MAIL_LAYOUT, msg, n);
    mail_wait(w, &w->in->forward, MAIL_LAYOUT);
    n = w->in->forward.n;
    memcpy(msg, w->in->forward.data, (size_t)n);
    mail_taken(&w->in->forward);
    if (step > 1) window_drop(&next);
    next.fd = window_receive(w);
    take_card(w, s, (w->rank - step + w->size) % w->size, msg, n, next.fd);
  }
  window_drop(&next);
}

/* ---- the ways ---- */

static int64_t part(const world *w, const sum *s, int p) { return s->elements * p / w->size * s->width; }

typedef struct peer_view { const char *at; lading_mapping *pin; } peer_view;

static peer_view look(world *w, const sum *s, int p) {
  peer_view v;
  void *at;
  world_check(w, "find", lading_map_find(w->map, (uint64_t)p, s->buffer[p], s->span[p], &at, &v.pin));
  v.at = at;
  return v;
}

/* Others begin with the next process each, so that not all read the same buffer. */
static void direct_sum(world *w, sum *s) {
  const int me = w->rank;
  const lading_type *type = s->type[me];
  peer_view of[RANKS_MAX];
  world_barrier(w);
  for (int i = 1, p; i < w->size; i++) {
    p = (me + i) % w->size, of[p] = look(w, s, p);
    const int rc = lading_copy_op(s->type[p], 1, of[p].at, type, 1, s->mine.at, part(w, s, me), part(w, s, me + 1), LADING_SUM);
    world_check(w, "copy_op", rc);
  }
  world_barrier(w);
  for (int i = 1, p; i < w->size; i++) {
    p = (me + i) % w->size;
    world_check(w, "copy", lading_copy(s->type[p], 1, of[p].at, type, 1, s->mine.at, part(w, s, p), part(w, s, p + 1)));
    lading_map_release(w->map, of[p].pin);
  }
  world_barrier(w);
}

static char *stage_of(const world *w, int p) { return w->stage_out + (p - w->rank) * STAGE_MAX; }

/* Part p of process p's staging buffer into this process's: by way of other memory and a sum of that, or summed while unpacked. */
static void add_staged(world *w, sum *s, int p, bool op) {
  const int64_t lo = part(w, s, w->rank), hi = part(w, s, w->rank + 1);
  const lading_type *type = s->type[w->rank];
  const char *from = stage_of(w, p) + lo;
  if (op) {
    world_check(w, "unpack_op", lading_unpack_op(type, 1, s->mine.at, from, lo, hi, LADING_SUM));
    return;
  }
  world_check(w, "unpack", lading_unpack(type, 1, s->temp.at, from, lo, hi));
  world_check(w, "sum", lading_copy_op(type, 1, s->temp.at, type, 1, s->mine.at, lo, hi, LADING_SUM));
}

static void staged_sum(world *w, sum *s, bool op) {
  const lading_type *type = s->type[w->rank];
  const int64_t lo = part(w, s, w->rank), hi = part(w, s, w->rank + 1);
  world_check(w, "pack", lading_pack(type, 1, s->mine.at, w->stage_out, 0, s->bytes));
  world_barrier(w);
  for (int i = 1; i < w->size; i++) add_staged(w, s, (w->rank + i) % w->size, op);
  world_check(w, "pack", lading_pack(type, 1, s->mine.at, w->stage_out + lo, lo, hi)); /* nobody else reads this part */
  world_barrier(w);
  for (int i = 1, p; i < w->size; i++) {
    p = (w->rank + i) % w->size;
    world_check(w, "unpack", lading_unpack(type, 1, s->mine.at, stage_of(w, p) + part(w, s, p), part(w, s, p), part(w, s, p + 1)));
  }
  world_barrier(w);
}

static void run(world *w, sum *s, int how) {
  if (how == DIRECT_SUM) direct_sum(w, s);
  else staged_sum(w, s, how == BY_STAGE_OP);
}

/* ---- rounds ---- */

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void print_row(const sum *s, double ns[WAYS][ROUNDS]) {
  double us[WAYS];
  for (int m = 0; m < WAYS; m++) qsort(ns[m], ROUNDS, sizeof *ns[m], by_value), us[m] = ns[m][ROUNDS / 2] / 1e3;
  printf("| %-16s | %7lld | %8.1f | %9.1f | %8.1f | %8.2f | %9.2f |\n", s->r->name, (long long)s->bytes, us[BY_STAGE], us[BY_STAGE_OP], us[DIRECT_SUM],
         us[BY_STAGE] / us[DIRECT_SUM], us[BY_STAGE_OP] / us[DIRECT_SUM]);
  fflush(stdout);
}

static void rounds(world *w, sum *s, bool check) {
  static double ns[WAYS][ROUNDS];
  for (int r = 0; r < (check ? 2 : ROUNDS); r++)
    for (int m = 0; m < WAYS; m++) {
      fill(w, s, check || r == 0);
      world_barrier(w);
      const double start = world_ns();
      run(w, s, m);
      ns[m][r] = world_ns() - start;
      if (check || r == 0 || r == ROUNDS - 1) verify(w, s, check || r == 0);
    }
  if (!check && w->rank == 0) print_row(s, ns);
}

static void one(world *w, const recipe *r, bool check) {
  sum s = { .r = r, .elements = r->rows * r->row };
  int64_t span;
  world_check(w, "size", lading_type_size(lading_elem_type(r->elem), &s.width));
  s.bytes = s.elements * s.width;
  s.type[w->rank] = layout(r, w->rank, s.width, &s.own, &span);
  if (!s.type[w->rank]) world_fail(w, "layout", LADING_ERR_NOMEM);
  s.mine = window_make(w, span), s.temp = window_make(w, span);
  introduce(w, &s);
  rounds(w, &s, check);
  world_barrier(w);
  for (int p = 0; p < w->size; p++) {
    world_check(w, "invalidate", lading_map_invalidate(w->map, (uint64_t)p, 0, UINT64_MAX));
    lading_type_free(s.type[p]);
  }
  free(s.own.at);
  window_free(&s.mine), window_free(&s.temp);
}

int allreduce_all(world *w, bool check) {
  const recipe *list = check ? few : large;
  const int n = (int)(check ? sizeof few / sizeof *few : sizeof large / sizeof *large);
  if (w->rank == 0 && !check) {
    printf("\nallreduce (SUM) of %d processes with layouts of their own; us, medians of %d rounds of process 0;\n", w->size, ROUNDS);
    printf("staged: packed, unpacked beside, summed up; unpack_op: summed up while unpacked; direct: lading_copy_op out of mapped memory\n\n");
    printf("| elements         |   bytes |   staged | unpack_op |   direct | staged : | unp._op : |\n");
    printf("|------------------|--------:|---------:|----------:|---------:|---------:|----------:|\n");
  }
  for (int i = 0; i < n; i++) one(w, &list[i], check);
  return n;
}
