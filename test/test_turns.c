/* turns: moves and reductions whose destination coincides, cut into pieces that keep their order among themselves: by brute force over the pieces, and by what the device
 * leaves in memory, against the naive stream and the host. */
#include "cargos.h"
#include "api.h"
#include <inttypes.h>

/* ---- samples: boxes of one array, lists, loops and items that may meet ---- */

static sample *boxes(rng *r, int64_t most) {
  const int64_t size[3] = { rng_in(r, 2, 12), rng_in(r, 2, 12), rng_in(r, 4, 20) }, n = rng_in(r, 2, most);
  int64_t one[30], at[30];
  sample *kid[30];
  for (int64_t i = 0; i < n; i++) {
    int64_t sub[3], starts[3];
    for (int d = 0; d < 3; d++) sub[d] = rng_in(r, 0, 1) ? size[d] - 1 : rng_in(r, 1, 2), starts[d] = rng_in(r, 0, size[d] - sub[d]);
    one[i] = 1, at[i] = 0;
    kid[i] = s_subarray(3, size, sub, starts, LADING_ORDER_C, s_elem(rng_in(r, 0, 3) ? LADING_DOUBLE : LADING_BYTE));
  }
  return s_struct(n, one, at, kid);
}

/* Mostly in order, so that neighbours share a piece; of blocks that are longer than they are apart, now and then. */
static sample *list(rng *r) {
  int64_t n = rng_in(r, 2, 120), bl[120], at[120], place = 0;
  for (int64_t i = 0; i < n; i++) bl[i] = rng_in(r, 0, 40), at[i] = place, place += rng_in(r, 0, 9) ? rng_in(r, 38, 90) : -rng_in(r, 0, 300);
  return s_hindexed(n, bl, at, s_elem(LADING_BYTE));
}

static sample *some_sample(rng *r) {
  switch (rng_in(r, 0, 6)) {
  case 0: return random_type(r, 5, 650);
  case 1: return list(r);
  case 2: return s_hvector(rng_in(r, 2, 9), 1, 8 * rng_in(r, -20, 20), boxes(r, 5));
  case 3: return s_resized(boxes(r, 3), 0, 8 * rng_in(r, 0, 9));
  case 4: return s_resized(s_vector(rng_in(r, 2, 30), rng_in(r, 1, 4), rng_in(r, 1, 8), s_elem(LADING_DOUBLE)), 0, 8 * rng_in(r, -9, 9));
  case 5: return s_hvector(rng_in(r, 2, 30), 1, 8 * rng_in(r, -9, 30), s_hvector(rng_in(r, 2, 30), 1, 8 * rng_in(r, 0, 4), s_contiguous(rng_in(r, 1, 12), s_elem(LADING_DOUBLE))));
  default: return boxes(r, 26);
  }
}

/* ---- the pieces ---- */

enum { SAMPLES = TEST_TSAN ? 60 : TEST_ASAN ? 300 : 600, TURNS = 1024 };

static lading_work unpack_work(const sample *s, int64_t count, char *at, const char *packed, int64_t lo, int64_t hi) {
  return (lading_work){ .kind = LADING_WORK_UNPACK, .dst_type = s->type, .dst_count = count, .dst = at, .src = packed, .lo = lo, .hi = hi,
                        .src_mem = { LADING_MEM_DEVICE, 0 }, .dst_mem = { LADING_MEM_DEVICE, 0 } };
}

/* Which stream byte stays at every place. */
enum { PLACES = 1 << 22 };
static int64_t want[PLACES], got[PLACES];

static void mark(int64_t *stays, const stream *x, int64_t lo, int64_t hi) {
  for (int64_t k = lo; k < hi; k++) stays[x->at[k] - x->lo] = k;
}

/* What its elements are reduced by; REPLACE: they are of several kinds. */
static lading_op op_of(const sample *s) {
  const int elem = info_of(s->type).elem;
  return elem == LADING_DOUBLE ? LADING_SUM : elem == LADING_BYTE ? LADING_BXOR : LADING_REPLACE;
}

/* In stream order, and apart, where it is not ordered. */
static void check_turn(const ldg_turn *t, const sample *s, int64_t count, const stream *x) {
  for (int64_t k = t->lo; k < t->hi && !t->ordered; k++) {
    int64_t *const at = &got[x->at[k] - x->lo];
    if (*at >= t->lo || x->at[k] < t->from || x->at[k] >= t->to)
      ck_abort_msg("byte %" PRId64 " of [%" PRId64 ", %" PRId64 ") is where %" PRId64 " is, %" PRId64 " x %s", k, t->lo, t->hi, *at, count, s->spell);
    *at = k;
  }
  mark(got, x, t->lo, t->hi);
}

/* The last write of every place is in one of them; of a reduction all whole elements. */
static void check_turns(const sample *s, int64_t count, const stream *x, int64_t lo, int64_t hi, int max, lading_op op) {
  static ldg_turn turn[TURNS];
  ldg_work w;
  char mem;
  const int64_t size = op == LADING_SUM ? 8 : 1;
  lading_work work = unpack_work(s, count, &mem, &mem, lo, hi);
  work.op = op;
  ck_assert(x->hi - x->lo <= PLACES);
  for (int64_t k = lo; k < hi; k++) got[x->at[k] - x->lo] = -1;
  OK(ldg_api_work(&work, &w));
  const int n = ldg_queue_turns(&w, turn, max);
  ck_assert(n >= 1 && n <= max);
  for (int i = 0; i < n; i++) {
    const ldg_turn *t = &turn[i];
    ck_assert(t->lo < t->hi && t->lo >= (i ? t[-1].hi : lo) && t->hi <= hi);
    if (op != LADING_REPLACE) ck_assert(t->lo == (i ? t[-1].hi : lo) && t->hi % size == 0);
    check_turn(t, s, count, x);
  }
  if (op != LADING_REPLACE) ck_assert_int_eq(turn[n - 1].hi, hi);
  mark(want, x, lo, hi);
  for (int64_t k = lo; k < hi; k++)
    if (got[x->at[k] - x->lo] != want[x->at[k] - x->lo]) ck_abort_msg("byte %" PRId64 " of [%" PRId64 ", %" PRId64 "), %" PRId64 " x %s", k, lo, hi, count, s->spell);
}

START_TEST(pieces) {
  rng r = rng_of(31);
  for (int i = 0; i < SAMPLES; i++) {
    sample *s = some_sample(&r);
    const int64_t count = rng_in(&r, 0, 1) ? 1 : rng_in(&r, 2, 40);
    stream *x = stream_of(s->map, count);
    if (x->n && x->n < 24)
      for (int64_t lo = 0; lo < x->n; lo++)
        for (int64_t hi = lo + 1; hi <= x->n; hi++) check_turns(s, count, x, lo, hi, TURNS, LADING_REPLACE);
    for (int k = 0; k < 6 && x->n; k++) {
      const int64_t lo = k ? rng_in(&r, 0, x->n - 1) : 0, hi = k ? rng_in(&r, lo + 1, x->n) : x->n;
      const int max = k % 2 ? (int)rng_in(&r, 1, 8) : TURNS;
      check_turns(s, count, x, lo, hi, max, LADING_REPLACE);
      if (op_of(s) != LADING_REPLACE && lo / 8 < hi / 8) check_turns(s, count, x, lo / 8 * 8, hi / 8 * 8, max, op_of(s));
    }
    stream_free(x);
    sample_free(s);
  }
}
END_TEST

/* ---- on the device ---- */

enum { MEM = 1 << 20, ROOM = 64 };

/* Packed bytes into items, or out of one list of all of them: both are what a work's source can be. */
static void check_unpack(const sample *s, int64_t count, const stream *x, area *mem, area *packed, int64_t lo, int64_t hi, bool copies) {
  lading_work w = unpack_work(s, count, at_offset(mem->at, ROOM - x->lo), packed->at + lo, lo, hi);
  const size_t n = (size_t)(x->hi - x->lo + 2 * ROOM);
  char *stays = malloc(n);
  memcpy(stays, mem->copy, n);
  for (int64_t k = lo; k < hi; k++) stays[ROOM + x->at[k] - x->lo] = packed->copy[copies ? 2 * k : k];
  lading_type *gaps = NULL, *byte = parsed("byte");
  OK(lading_type_vector(x->n, 1, 2, byte, &gaps));
  if (copies) w.kind = LADING_WORK_COPY, w.src = packed->at, w.src_type = gaps, w.src_count = 1;
  OK(lading_enqueue(v.q, &w, NULL));
  OK(lading_queue_sync(v.q));
  area part = *mem;
  part.n = (int64_t)n;
  area_pull(&part);
  for (size_t i = 0; i < n; i++)
    if (stays[i] != mem->copy[i])
      ck_abort_msg("byte %zu of [%" PRId64 ", %" PRId64 "), %" PRId64 " x %s, seed %" PRIu64, i, lo, hi, count, s->spell, test_seed);
  lading_type_free(gaps), lading_type_free(byte);
  free(stays);
}

/* Bytes of which doubles of a usual size are. */
static void tame(area *a) {
  for (int64_t i = 0; i < a->n; i++) a->copy[i] &= 0x3f;
  area_push(a);
}

static void check_reduced(const sample *s, int64_t count, const stream *x, area *mem, area *packed, int64_t lo, int64_t hi) {
  lading_work w = unpack_work(s, count, at_offset(mem->at, ROOM - x->lo), packed->at + lo, lo, hi);
  const size_t n = (size_t)(x->hi - x->lo + 2 * ROOM);
  char *stays = malloc(n);
  w.op = op_of(s);
  memcpy(stays, mem->copy, n);
  OK(lading_unpack_op(s->type, count, at_offset(stays, ROOM - x->lo), packed->copy + lo, lo, hi, w.op));
  OK(lading_enqueue(v.q, &w, NULL));
  OK(lading_queue_sync(v.q));
  area part = *mem;
  part.n = (int64_t)n;
  area_pull(&part);
  ck_assert_msg(!memcmp(stays, mem->copy, n), "[%" PRId64 ", %" PRId64 "), %" PRId64 " x %s, seed %" PRIu64, lo, hi, count, s->spell, test_seed);
  tame(&part);
  free(stays);
}

START_TEST(moves) {
  rng r = rng_of(32);
  v = devices_open();
  area mem = area_new(&v, LADING_MEM_DEVICE, MEM), packed = area_new(&v, LADING_MEM_DEVICE, MEM);
  area_fill(&mem, 1), area_fill(&packed, 2);
  for (int i = 0; i < SAMPLES / 6; i++) {
    sample *s = some_sample(&r);
    const int64_t count = rng_in(&r, 0, 1) ? 1 : rng_in(&r, 2, 40);
    stream *x = stream_of(s->map, count);
    const bool fits = x->n && 2 * x->n <= MEM && x->hi - x->lo + 2 * ROOM <= MEM;
    for (int k = 0; k < 4 && fits; k++) {
      ldg_queue_flat_most = rng_in(&r, 0, 1) ? 1 << 16 : 0;
      const int64_t lo = k ? rng_in(&r, 0, x->n - 1) : 0, hi = k ? rng_in(&r, lo + 1, x->n) : x->n;
      check_unpack(s, count, x, &mem, &packed, lo, hi, k % 2);
    }
    stream_free(x);
    sample_free(s);
  }
  area_free(&mem), area_free(&packed);
  devices_close(&v);
}
END_TEST

/* By themselves, or as graphs of one. */
static int64_t launched(void) { return devices_say(&v, "count cuLaunchKernel") + devices_say(&v, "count cuGraphLaunch"); }

/* Like the host, and by so many launches. */
static void check_launches_of(lading_op op, const char *type, int64_t count, int64_t launches) {
  lading_type *t = parsed(type);
  const lading_info f = info_of(t);
  const int64_t lb = ldg_min(0, (count - 1) * f.extent) + f.true_lb, n = count * f.size;
  area mem = area_new(&v, LADING_MEM_DEVICE, (count - 1) * llabs(f.extent) + f.true_extent), packed = area_new(&v, LADING_MEM_DEVICE, n);
  area_fill(&mem, 1), area_fill(&packed, 2), tame(&mem), tame(&packed);
  char *stays = malloc((size_t)mem.n);
  memcpy(stays, mem.copy, (size_t)mem.n);
  OK(lading_unpack_op(t, count, at_offset(stays, -lb), packed.copy, 0, n, op));
  const sample s = { .type = t };
  lading_work w = unpack_work(&s, count, at_offset(mem.at, -lb), packed.at, 0, n);
  w.op = op;
  count_from_here();
  OK(lading_enqueue(v.q, &w, NULL));
  if (v.d->fake && !strcmp(v.backend, "cuda")) ck_assert_msg(launched() == launches, "%" PRId64 " launches of %" PRId64 " x %s", launched(), count, type);
  OK(lading_queue_sync(v.q));
  area_pull(&mem);
  ck_assert_msg(!memcmp(stays, mem.copy, (size_t)mem.n), "%" PRId64 " x %s", count, type);
  free(stays);
  lading_type_free(t);
  area_free(&mem), area_free(&packed);
}

static void check_launches(const char *type, int64_t count, int64_t launches) { check_launches_of(LADING_REPLACE, type, count, launches); }

START_TEST(launches) {
  v = devices_open();
  check_launches("hindexed([200,200,200],[0,100,200],double)", 1, 3);
  check_launches("hindexed([200,200,200,200],[0,1600,100,5000],double)", 1, 2);              /* of neighbours that are apart, one */
  check_launches("struct([1,1,1],[0,8,0],[vector(50,4,8,double),vector(50,4,8,double),vector(100,1,8,double)])", 1, 3);
  check_launches("struct([1,1,1],[0,0,0],[vector(50,4,8,double),vector(50,4,8,double),vector(100,1,8,double)])", 1, 2); /* the first one is written over */
  check_launches("resized(contiguous(2,int),0,0)", 4096, 1);                                 /* the last one */
  check_launches("hvector(100,1,0,vector(50,1,2,double))", 1, 1);
  check_launches("resized(vector(50,1,2,double),0,0)", 50, 1);
  check_launches("resized(contiguous(100,double),0,8)", 20, 20);
  check_launches("resized(contiguous(100,double),0,-8)", 300, 300);
  check_launches("resized(contiguous(100,double),0,8)", 1025, 1);                            /* too many */
  check_launches("resized(contiguous(3,double),0,8)", 500, 1);                               /* too little each */
  check_launches("struct([1,1],[0,800],[contiguous(200,double),hvector(100,1,8,contiguous(2,double))])", 1, 2); /* the second one by a single thread */
  devices_close(&v);
}
END_TEST

/* What 26 neighbours get of a cube of 20 doubles: faces, edges and corners, which meet. */
START_TEST(neighbours) {
  static const int n[3] = { 1, 20, 1 }, at[3] = { 1, 1, 20 };
  char ones[200] = "", zeros[200] = "", kids[4000] = "", all[5000];
  v = devices_open();
  for (int i = 0; i < 27; i++) {
    const int k = i / 9, j = i / 3 % 3, l = i % 3;
    if (i == 13) continue;
    snprintf(ones + strlen(ones), 9, "%s1", *ones ? "," : ""), snprintf(zeros + strlen(zeros), 9, "%s0", *zeros ? "," : "");
    snprintf(kids + strlen(kids), 120, "%ssubarray([22,22,22],[%d,%d,%d],[%d,%d,%d],C,double)", *kids ? "," : "", n[k], n[j], n[l], at[k], at[j], at[l]);
  }
  snprintf(all, sizeof all, "struct([%s],[%s],[%s])", ones, zeros, kids);
  check_launches(all, 1, 15); /* what is of a few words in a row, by a single thread */
  check_launches("struct([1,1],[0,0],[subarray([20,20],[9,9],[0,0],C,double),subarray([20,20],[9,9],[4,4],C,double)])", 7, 8); /* the second of an item and the first of the next one go together */
  devices_close(&v);
}
END_TEST

/* Allocations fail from some one on: an error, or what the host does. Where all is known but there is no room for the list of pieces, a single thread does it. */
START_TEST(no_memory) {
  v = devices_open();
  int e = LADING_ERR_NOMEM;
  for (int n = 0; e && n < 100; n++) {
    char type[80];
    snprintf(type, sizeof type, "hindexed([200,200,200],[0,800,%d],double)", 1000 + 8 * n); /* a table of its own */
    cargo c = cargo_new(type, LADING_MEM_DEVICE, LADING_MEM_DEVICE);
    char *stays = malloc((size_t)c.mem.n);
    memcpy(stays, c.mem.copy, (size_t)c.mem.n);
    OK(lading_unpack(c.type, 1, stays, c.packed.copy, 0, c.n));
    const sample s = { .type = c.type };
    const lading_work w = unpack_work(&s, 1, c.mem.at, c.packed.at, 0, c.n);
    for (int again = 0; again < 2; again++) {
      count_from_here();
      ldg_alloc_fail(again ? 0 : n);
      e = lading_enqueue(v.q, &w, NULL);
      ldg_alloc_fail(-1);
      ck_assert(e == LADING_OK || e == LADING_ERR_NOMEM);
      if (again && v.d->fake && !strcmp(v.backend, "cuda")) ck_assert_int_eq(launched(), 1);
      OK(lading_queue_sync(v.q));
      if (e) break;
      area_pull(&c.mem);
      ck_assert(!memcmp(stays, c.mem.copy, (size_t)c.mem.n));
      area_fill(&c.mem, 1);
    }
    free(stays);
    cargo_free(&c);
  }
  OK(e);
  devices_close(&v);
}
END_TEST

/* What moves write over counts, and no element is cut. */
START_TEST(reductions) {
  rng r = rng_of(33);
  v = devices_open();
  area mem = area_new(&v, LADING_MEM_DEVICE, MEM), packed = area_new(&v, LADING_MEM_DEVICE, MEM);
  tame(&mem), area_fill(&packed, 2), tame(&packed);
  for (int i = 0; i < SAMPLES / 6; i++) {
    sample *s = some_sample(&r);
    const int64_t count = rng_in(&r, 0, 1) ? 1 : rng_in(&r, 2, 40);
    stream *x = stream_of(s->map, count);
    const bool fits = op_of(s) != LADING_REPLACE && x->n && x->n <= MEM && x->hi - x->lo + 2 * ROOM <= MEM;
    for (int k = 0; k < 3 && fits; k++) {
      const int64_t lo = k ? rng_in(&r, 0, x->n - 1) / 8 * 8 : 0, hi = k ? rng_in(&r, lo + 1, x->n) : x->n;
      ldg_queue_flat_most = rng_in(&r, 0, 1) ? 1 << 16 : 0;
      if (hi / 8 * 8 > lo) check_reduced(s, count, x, &mem, &packed, lo, hi / 8 * 8);
    }
    stream_free(x);
    sample_free(s);
  }
  area_free(&mem), area_free(&packed);
  check_launches_of(LADING_SUM, "hindexed([200,200,200],[0,100,200],double)", 1, 3);
  check_launches_of(LADING_MAXLOC, "hindexed([64,28,34],[446,308,430],short_int)", 1, 1); /* five, if it were cut between a value and its index */
  check_launches_of(LADING_MAXLOC, "hvector(3,1,800,hindexed([97,95],[1216,362],contiguous(12,short_int)))", 1, 3);   /* nine */
  if (!TEST_TSAN) check_launches_of(LADING_SUM, "hvector(1030,1,0,contiguous(4096,double))", 1, 1030); /* long ones may be many */
  check_launches_of(LADING_SUM, "hvector(100,1,0,vector(50,1,2,double))", 1, 100);
  check_launches_of(LADING_SUM, "resized(contiguous(2,int),0,0)", 4096, 1); /* too little each */
  devices_close(&v);
}
END_TEST

int main(int argc, char **argv) {
  if (!devices_there()) return 77;
  return CHECK_MAIN("turns", argc, argv, pieces, moves, launches, neighbours, no_memory, reductions);
}
