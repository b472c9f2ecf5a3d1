/* device: pack, unpack and copy by the kernels of a device, in memory of every kind, byte by byte against the naive stream, and
 * reductions against the host's. The device is a real one, or the stand-in of test/fake. */
#include "random_types.h"
#include "areas.h"
#include "build.h"
#include "queue.h"
#include <inttypes.h>

#define OK(call) ck_assert_int_eq(call, 0)

static devices v;

/* ---- one work and its judge ---- */

enum { MEM_MAX = 1 << 18 };
/* Grown as needed: allocations of a driver are slow. */
static area areas[2][LADING_MEM_MANAGED + 1];

static area *area_of(int side, lading_memkind kind, int64_t n) {
  area *a = &areas[side][kind];
  if (a->at && a->n < n) area_free(a), a->at = NULL;
  if (!a->at) *a = area_new(&v, kind, n < MEM_MAX ? MEM_MAX : n);
  return a;
}
static void free_areas(void) {
  for (int i = 0; i < 2; i++)
    for (int k = 0; k <= LADING_MEM_MANAGED; k++)
      if (areas[i][k].at) area_free(&areas[i][k]);
}

static lading_memkind some_kind(rng *r) {
  static const lading_memkind kinds[] = { LADING_MEM_DEVICE, LADING_MEM_DEVICE, LADING_MEM_PINNED, LADING_MEM_MANAGED, LADING_MEM_HOST };
  return kinds[rng_in(r, 0, COUNT_OF(kinds) - 1)];
}

/* A side: items in an area, or packed bytes (s is NULL). `at` is where its bytes begin there. */
typedef struct end { const sample *s; int64_t count; const stream *x; area *a; int64_t at, n; } end;

static end end_of(int side, const sample *s, int64_t count, const stream *x, lading_memkind kind, rng *r) {
  const int64_t n = x->hi - x->lo, shift = rng_in(r, 0, 2) ? 16 * rng_in(r, 0, 3) : rng_in(r, 0, 17);
  return (end){ s, count, x, area_of(side, kind, n + shift + 64), shift + 16, n };
}
static end packed_end(int side, int64_t n, lading_memkind kind, rng *r) {
  const int64_t shift = rng_in(r, 0, 2) ? 16 * rng_in(r, 0, 3) : rng_in(r, 0, 17);
  return (end){ NULL, 0, NULL, area_of(side, kind, n + shift + 64), shift + 16, n };
}

/* Random bytes where it is, and some around it. */
static void fill(end *e, rng *r) {
  area part = *e->a;
  part.n = e->at + e->n + 16;
  area_fill(&part, rng_next(r));
}
static void pull(end *e) {
  area part = *e->a;
  part.n = e->at + e->n + 16;
  area_pull(&part);
}

static char *byte_of(const end *e, char *bytes, int64_t k, int64_t lo) { return bytes + e->at + (e->s ? e->x->at[k] - e->x->lo : k - lo); }
static void *base_of(const end *e) { return at_offset(e->a->at, e->at - (e->s ? e->x->lo : 0)); }

static lading_work work_of(const end *src, const end *dst, int64_t lo, int64_t hi, bool hints) {
  lading_work w = { .kind = !dst->s ? LADING_WORK_PACK : !src->s ? LADING_WORK_UNPACK : LADING_WORK_COPY, .lo = lo, .hi = hi };
  w.src = base_of(src), w.dst = base_of(dst);
  if (src->s) w.src_type = src->s->type, w.src_count = src->count;
  if (dst->s) w.dst_type = dst->s->type, w.dst_count = dst->count;
  if (hints) w.src_mem = (lading_mem){ src->a->kind, 0 }, w.dst_mem = (lading_mem){ dst->a->kind, 0 };
  return w;
}

static void put(const lading_work *w, rng *r) {
  lading_request q = 0;
  const bool asks = rng_in(r, 0, 1);
  ck_assert_int_eq(lading_enqueue(v.q, w, asks ? &q : NULL), LADING_OK);
  if (asks) ck_assert_int_eq(lading_wait(v.q, q), LADING_OK);
  else ck_assert_int_eq(lading_queue_sync(v.q), LADING_OK);
}

static const char *spell_of(const end *e) { return e->s ? e->s->spell : "packed"; }

static void judge(const end *src, const end *dst, const char *want, int64_t lo, int64_t hi) {
  for (int64_t i = 0; i < dst->at + dst->n + 16; i++)
    ck_assert_msg(want[i] == dst->a->copy[i], "byte %" PRId64 " (from %" PRId64 " on): [%" PRId64 ", %" PRId64 ") of %" PRId64 " x %s (kind %d) to %" PRId64 " x %s (kind %d), seed %" PRIu64,
                  i, dst->at, lo, hi, src->count, spell_of(src), src->a->kind, dst->count, spell_of(dst), dst->a->kind, test_seed);
}

/* Small layouts by the places of their words, by trees, and by one side each. */
static void some_images(rng *r) {
  static const int64_t most[] = { 1 << 16, 64, 0, 0 };
  ldg_queue_flat_most = most[rng_in(r, 0, COUNT_OF(most) - 1)];
}

static void try_move(end *src, end *dst, int64_t lo, int64_t hi, rng *r) {
  some_images(r);
  const lading_work w = work_of(src, dst, lo, hi, rng_in(r, 0, 1));
  fill(src, r), fill(dst, r);
  const size_t n = (size_t)(dst->at + dst->n + 16);
  char *want = malloc(n);
  memcpy(want, dst->a->copy, n);
  for (int64_t k = lo; k < hi; k++) *byte_of(dst, want, k, lo) = *byte_of(src, src->a->copy, k, lo);
  put(&w, r);
  pull(dst);
  judge(src, dst, want, lo, hi);
  free(want);
}

static void try_ranges(end *src, end *dst, int64_t n, int64_t small, int64_t tries, rng *r) {
  if (n <= small)
    for (int64_t lo = 0; lo <= n; lo++)
      for (int64_t hi = lo; hi <= n; hi++) try_move(src, dst, lo, hi, r);
  else
    for (int64_t i = 0; i < tries; i++) {
      const int64_t lo = i ? rng_in(r, 0, n) : 0;
      try_move(src, dst, lo, i ? rng_in(r, lo, n) : n, r);
    }
}

/* Both directions, kinds at random unless `device`. */
static void check_sample(const sample *s, int64_t count, bool device, int64_t small, int64_t tries, rng *r) {
  stream *x = stream_of(s->map, count);
  const lading_memkind a = device ? LADING_MEM_DEVICE : some_kind(r), b = device ? LADING_MEM_DEVICE : some_kind(r);
  end mem = end_of(0, s, count, x, a, r), packed = packed_end(1, x->n, b, r);
  try_ranges(&mem, &packed, x->n, small, tries, r);
  try_ranges(&packed, &mem, x->n, small, tries, r);
  stream_free(x);
}

/* ---- moves ---- */

/* A device is waited for; under the thread sanitizer each thread of a block is one of the system. */
static int some_of(int samples) { return samples / (TEST_TSAN ? 60 : !v.d->fake ? 15 : TEST_ASAN ? 4 : 1); }

START_TEST(every_range) {
  rng r = rng_of(21);
  v = devices_open();
  for (int i = 0; i < some_of(2000); i++) {
    sample *s = random_type(&r, i % 5, 9);
    check_sample(s, rng_in(&r, 1, 2), true, 18, 0, &r);
    sample_free(s);
  }
  free_areas();
  devices_close(&v);
}
END_TEST

START_TEST(random_ranges) {
  rng r = rng_of(22);
  v = devices_open();
  for (int i = 0; i < some_of(7500); i++) {
    sample *s = random_type(&r, i % 6, 650);
    check_sample(s, rng_in(&r, 0, 3), i % 2, 3, 3, &r);
    sample_free(s);
  }
  free_areas();
  devices_close(&v);
}
END_TEST

/* Nests of more than one tile, in words of every width; half of them transposes of some kind. Blocks have 1 to 16 bytes, or elements of more. */
static sample *large_nest(rng *r, lading_elem elem) {
  sample *const one = s_elem(elem);
  const int64_t size = info_of(one->type).size, elements = ldg_max(1, (INT64_C(1) << rng_in(r, 0, 4)) / size), b = elements * size, n = rng_in(r, 20, 50), m = rng_in(r, 20, 50);
  const int64_t gap = rng_in(r, 0, 2) ? b * rng_in(r, 0, 3) : rng_in(r, 0, 9);
  sample *block = s_contiguous(elements, one);
  if (rng_in(r, 0, 1)) return s_hvector(m, 1, n * (b + gap) + b, s_hvector(n, 1, b + gap, block));
  sample *plane = s_hvector(n, 1, b, s_hvector(m, 1, n * b + gap, block)); /* by columns */
  return rng_in(r, 0, 1) ? plane : s_hvector(3, 1, m * (n * b + gap) + b, plane);
}

START_TEST(large_nests) {
  rng r = rng_of(23);
  v = devices_open();
  for (int i = 0; i < some_of(360); i++) {
    sample *s = large_nest(&r, LADING_BYTE);
    check_sample(s, rng_in(&r, 1, 2), true, 0, 3, &r);
    sample_free(s);
  }
  free_areas();
  devices_close(&v);
}
END_TEST

/* Lists beyond what a block of threads has a copy of: entries of one length or of several, of bytes or of loops, in any order, beside others and around each other. */
static sample *long_list(rng *r, lading_elem elem) {
  enum { MOST = 350 };
  sample *const one = s_elem(elem);
  const int64_t size = info_of(one->type).size, elements = ldg_max(1, (INT64_C(1) << rng_in(r, 0, 3)) / size), b = elements * size;
  const int64_t n = rng_in(r, 180, MOST), unit = rng_in(r, 0, 1) ? b : 1, gap = rng_in(r, 1, 3) * unit;
  int64_t len[MOST], at[MOST], next = 0;
  const bool even = rng_in(r, 0, 1), turned = rng_in(r, 0, 1);
  const int64_t most = even ? 2 : rng_in(r, 0, 1) ? 4 : 40; /* of the shorter ones a list by atoms is made */
  for (int64_t i = 0; i < n; i++) len[i] = rng_in(r, 0, 3) ? rng_in(r, 0, 2) : rng_in(r, 0, most), at[i] = next, next += most * 3 * b + rng_in(r, 1, 5) * gap;
  for (int64_t i = 0; turned && i < n / 2; i++) {
    const int64_t j = rng_in(r, 0, n - 1), was = at[i];
    at[i] = at[j], at[j] = was;
  }
  sample *const block = s_contiguous(elements, one), *const entry = rng_in(r, 0, 1) ? s_hvector(2, 1, b + unit, block) : block;
  sample *const list = even ? s_hindexed_block(n, 1, at, entry) : s_hindexed(n, len, at, entry);
  return rng_in(r, 0, 2) ? list : s_hvector(2, 1, next + 7 * unit, list);
}

START_TEST(long_lists) {
  rng r = rng_of(27);
  v = devices_open();
  for (int i = 0; i < some_of(180); i++) {
    sample *s = long_list(&r, LADING_BYTE);
    check_sample(s, rng_in(&r, 1, 2), i % 4, 0, 2, &r);
    sample_free(s);
  }
  free_areas();
  devices_close(&v);
}
END_TEST

static void check_copy(const sample *a, const sample *b, rng *r) {
  const int64_t ac = rng_in(r, 1, 3), bc = rng_in(r, 1, 3);
  stream *x = stream_of(a->map, ac), *y = stream_of(b->map, bc);
  end src = end_of(0, a, ac, x, some_kind(r), r), dst = end_of(1, b, bc, y, some_kind(r), r);
  try_ranges(&src, &dst, x->n < y->n ? x->n : y->n, 4, 3, r);
  stream_free(x), stream_free(y);
}

START_TEST(copies) {
  rng r = rng_of(24);
  v = devices_open();
  for (int i = 0; i < some_of(6000); i++) {
    sample *a = i % 3 ? random_type(&r, i % 5, 300) : random_nest(&r, 4, 600), *b = i % 3 == 1 ? random_type(&r, i % 4, 300) : random_nest(&r, 4, 600);
    check_copy(a, b, &r);
    sample_free(a), sample_free(b);
  }
  free_areas();
  devices_close(&v);
}
END_TEST

/* Streams of 2^43 bytes, all of them in one place. */
START_TEST(huge_streams) {
  rng r = rng_of(25);
  ldg_queue_flat_most = 1 << 16;
  v = devices_open();
  static const struct { const char *spell; int64_t count; } types[] = {
    { "hvector(1099511627776,1,0,double)", 1 }, { "hvector(1048576,1,0,hvector(1048576,1,0,hindexed_block(1,[0,16,8],int)))", 1 },
    { "struct([1,1],[0,20],[hvector(4611686018427387912,1,0,byte),hvector(3000,1,2,byte)])", 1 }, /* an index of its entries goes beyond 2^63 */
    /* a flat item: of more than 2^31 bytes, of as many as 32 bits count, and of just more than that */
    { "resized(hindexed([3,1,2],[40,0,9],byte),0,0)", INT64_C(1) << 30 }, { "resized(hindexed([3,1,2],[40,0,9],byte),0,0)", INT32_MAX / 6 },
    { "resized(hindexed([3,1,2],[40,0,9],byte),0,0)", INT32_MAX / 6 + 1 },
  };
  for (int i = 0; i < COUNT_OF(types); i++) {
    lading_type *t = parsed(types[i].spell);
    const int64_t count = types[i].count;
    area *mem = area_of(0, LADING_MEM_DEVICE, 8192), *packed = area_of(1, LADING_MEM_DEVICE, 8192);
    area_fill(mem, 1), area_fill(packed, 2);
    for (int k = 0; k < 10; k++) {
      const int64_t size = count * info_of(t).size, last = k > 1 || size < INT32_MAX - 6 ? 0 : k ? ldg_min(size, INT32_MAX) : size;
      const int64_t lo = last ? last - 5000 : rng_in(&r, k % 2 ? size - 8192 : size / 2, size - 6001), hi = last ? last : lo + rng_in(&r, 1, 6000);
      const lading_work w = { .kind = LADING_WORK_PACK, .src_type = t, .src_count = count, .src = mem->at, .dst = packed->at, .lo = lo, .hi = hi };
      char *want = malloc((size_t)(hi - lo));
      ck_assert_int_eq(lading_pack(t, count, mem->copy, want, lo, hi), LADING_OK);
      put(&w, &r);
      area_pull(packed);
      ck_assert_msg(!memcmp(want, packed->copy, (size_t)(hi - lo)), "[%" PRId64 ", %" PRId64 ") of %s", lo, hi, types[i].spell);
      free(want);
    }
    lading_type_free(t);
  }
  free_areas();
  devices_close(&v);
}
END_TEST

/* The start of a loop of 2^33 iterations: counted in 32 bits, and divided by what is not of 32 bits. */
START_TEST(start_of_a_long_loop) {
  enum { N = 6000 };
  rng r = rng_of(26);
  v = devices_open();
  lading_type *t = parsed("hvector(3,1,8,hvector(8589934592,1,0,hindexed_block(2,[0,3],byte)))");
  area *mem = area_of(0, LADING_MEM_DEVICE, 8192), *packed = area_of(1, LADING_MEM_DEVICE, N);
  char *want = malloc(N);
  area_fill(mem, 1), area_fill(packed, 2);
  OK(lading_pack(t, 1, mem->copy, want, 0, N));
  put(&(lading_work){ .kind = LADING_WORK_PACK, .src_type = t, .src_count = 1, .src = mem->at, .dst = packed->at, .hi = N }, &r);
  area_pull(packed);
  ck_assert(!memcmp(want, packed->copy, N));
  lading_type_free(t);
  t = parsed("resized(contiguous(4294967301,byte),0,100)");
  lading_type *list = parsed("indexed_block(1,[9,0,4,30,17,2,60,5,44,23,90,71,50,33,12,100],byte)");
  memcpy(want, packed->copy, 128);
  OK(lading_copy(t, 2, mem->copy, list, 1, want, 0, 16));
  ldg_queue_flat_most = 1 << 16;
  put(&(lading_work){ .kind = LADING_WORK_COPY, .src_type = t, .src_count = 2, .src = mem->at, .dst_type = list, .dst_count = 1, .dst = packed->at, .hi = 16 }, &r);
  area_pull(packed);
  ck_assert(!memcmp(want, packed->copy, 128));
  free(want);
  lading_type_free(t), lading_type_free(list);
  free_areas();
  devices_close(&v);
}
END_TEST

/* ---- few bytes that are far apart ---- */

static int pull_block(void *to, int64_t off, int64_t pos, int64_t len) {
  const struct { char *base, *out; } *at = to;
  return v.d->to_host(at->out + pos, at->base + off, (size_t)len, v.stream);
}

/* Strides on both sides of what 32 bits hold, and of which only what is left of the inner loops is not. */
START_TEST(far_apart) {
  static const char *const types[] = {
    "hvector(3,8,2147483647,byte)", "hvector(3,8,2147483648,byte)", "hvector(3,16,2147483664,byte)", "hvector(3,5,-2147483649,byte)",
    "hvector(2,1,4294967296,hvector(3,7,11,byte))", "hvector(3,1,-2147483640,hvector(3,4,24,int))", "hvector(2,1,2147483700,hvector(2,1,2147483600,hvector(3,2,64,int)))",
    "hindexed([3,1,2],[5,2147483651,9],byte)", "hindexed([3,1,2],[5,2147483652,9],byte)", "hindexed([3,1,2],[5,-2147483643,9],byte)", "hindexed([3,1,2],[5,-2147483644,9],byte)",
    "resized(hindexed([3,1,2],[5,40,9],byte),0,2147483647)", "resized(hindexed([3,1,2],[5,40,9],byte),0,3221225472)",
    "resized(hindexed([3,1,2],[5,40,9],byte),0,-2147483648)", "resized(hindexed([3,1,2],[5,40,9],byte),0,-3221225472)",
  };
  enum { ITEMS = 2 };
  const int64_t most = (int64_t)7 << 30;
  rng r = rng_of(27);
  ldg_queue_flat_most = 1 << 16;
  void *far = NULL;
  v = devices_open();
  OK(v.d->alloc(&far, (size_t)most));
  for (int i = 0; i < COUNT_OF(types); i++) {
    lading_type *t = parsed(types[i]);
    const lading_info f = info_of(t);
    const int64_t count = strncmp(types[i], "resized", 7) ? 1 : ITEMS, n = count * f.size;
    area *packed = area_of(0, LADING_MEM_DEVICE, n), *back = area_of(1, LADING_MEM_DEVICE, n);
    ck_assert(f.true_extent + (count - 1) * llabs(f.extent) <= most);
    char *got = malloc((size_t)n), *base = at_offset(far, -f.true_lb - (count - 1) * ldg_min(0, f.extent));
    area_fill(packed, (uint64_t)i + 1);
    put(&(lading_work){ .kind = LADING_WORK_UNPACK, .dst_type = t, .dst_count = count, .dst = base, .src = packed->at, .hi = n }, &r);
    for (int64_t k = 0; k < count; k++) {
      const struct { char *base, *out; } at = { base + k * f.extent, got + k * f.size };
      OK(ldg_rep_walk(t->rep, 0, f.size, pull_block, (void *)&at));
    }
    OK(v.d->sync(v.stream));
    ck_assert_msg(!memcmp(got, packed->copy, (size_t)n), "unpack of %s", types[i]);
    put(&(lading_work){ .kind = LADING_WORK_PACK, .src_type = t, .src_count = count, .src = base, .dst = back->at, .hi = n }, &r);
    area_pull(back);
    ck_assert_msg(!memcmp(back->copy, packed->copy, (size_t)n), "pack of %s", types[i]);
    free(got);
    lading_type_free(t);
  }
  OK(v.d->free(far));
  free_areas();
  devices_close(&v);
}
END_TEST

/* ---- reductions ---- */

static bool wraps; /* elements are whole numbers, of any size */

/* Bytes that are positive numbers of moderate size in every kind of float. */
static void tame(end *e) {
  area part = *e->a;
  if (wraps) return;
  part.n = e->at + e->n + 16;
  for (int64_t i = 0; i < part.n; i++) part.copy[i] &= 0x3f;
  area_push(&part);
}

static int on_host(const lading_work *w, const end *src, const end *dst, char *from, char *to) {
  const void *s = at_offset(from, src->at - (src->s ? src->x->lo : 0));
  void *d = at_offset(to, dst->at - (dst->s ? dst->x->lo : 0));
  if (w->kind == LADING_WORK_PACK) return lading_pack_op(w->src_type, w->src_count, s, d, w->lo, w->hi, w->op);
  if (w->kind == LADING_WORK_UNPACK) return lading_unpack_op(w->dst_type, w->dst_count, d, s, w->lo, w->hi, w->op);
  return lading_copy_op(w->src_type, w->src_count, s, w->dst_type, w->dst_count, d, w->lo, w->hi, w->op);
}

static void try_op(end *src, end *dst, lading_op op, int64_t lo, int64_t hi, bool twice, rng *r) {
  lading_work w = work_of(src, dst, lo, hi, rng_in(r, 0, 1));
  w.op = op;
  some_images(r);
  fill(src, r), fill(dst, r), tame(src), tame(dst);
  const size_t n = (size_t)(dst->at + dst->n + 16);
  char *want = malloc(n);
  memcpy(want, dst->a->copy, n);
  const int host = on_host(&w, src, dst, src->a->copy, want), e = lading_enqueue(v.q, &w, NULL);
  ck_assert_int_eq(lading_queue_sync(v.q), LADING_OK);
  if (twice && e == LADING_ERR_UNSUPPORTED && !host) memcpy(want, dst->a->copy, n); /* as it says, nothing was written */
  else ck_assert_int_eq(e, host);
  pull(dst);
  judge(src, dst, want, lo, hi);
  free(want);
}

/* Every op that the elements of the sample have, there and back. */
static void check_ops(const sample *s, int64_t count, uint32_t kinds, rng *r) {
  stream *x = stream_of(s->map, count);
  end mem = end_of(0, s, count, x, some_kind(r), r), packed = packed_end(1, x->n, some_kind(r), r);
  for (int op = LADING_REPLACE + 1; op < LADING_OP_MAX && x->n; op++) {
    bool all = true;
    for (int e = 0; e < LADING_ELEM_MAX; e++) all &= !(kinds >> e & 1) || lading_op_supported((lading_op)op, (lading_elem)e);
    if (!all) continue;
    try_op(&mem, &packed, (lading_op)op, 0, x->n, false, r);
    try_op(&packed, &mem, (lading_op)op, 0, x->n, x->overlaps, r);
  }
  stream_free(x);
}

START_TEST(every_op) {
  rng r = rng_of(26);
  v = devices_open();
  for (int e = 0; e < LADING_ELEM_MAX; e++)
    for (int i = 0; i < (TEST_TSAN ? 1 : 6); i++) {
      random_kinds = 1u << e;
      sample *s = i % 2 ? random_type(&r, 3, 300) : random_nest(&r, 3, 600);
      check_ops(s, rng_in(&r, 1, 3), random_kinds, &r);
      sample_free(s);
    }
  for (int i = 0; i < (TEST_TSAN ? 4 : 40); i++) { /* elements of several kinds */
    random_kinds = 1u << LADING_INT16 | 1u << LADING_DOUBLE | 1u << LADING_FLOAT16 | 1u << LADING_UINT8;
    sample *s = random_type(&r, 4, 300);
    check_ops(s, rng_in(&r, 1, 3), random_kinds, &r);
    sample_free(s);
  }
  random_kinds = ~0u;
  free_areas();
  devices_close(&v);
}
END_TEST

/* Sums of words of several elements, and ops of one at a time, in ranges of elements. */
static void check_words(const sample *s, lading_elem elem, rng *r) {
  static const lading_op ops[] = { LADING_SUM, LADING_SUM, LADING_PROD };
  const int64_t count = rng_in(r, 1, 2), size = elem_size(elem);
  stream *x = stream_of(s->map, count);
  end mem = end_of(0, s, count, x, LADING_MEM_DEVICE, r), packed = packed_end(1, x->n, LADING_MEM_DEVICE, r);
  for (int k = 0; k < COUNT_OF(ops) && x->n; k++) {
    const int64_t lo = k ? rng_in(r, 0, x->n - 1) / size * size : 0, hi = k ? lo + rng_in(r, 1, (x->n - lo) / size) * size : x->n;
    try_op(&mem, &packed, ops[k], lo, hi, false, r);
    try_op(&packed, &mem, ops[k], lo, hi, x->overlaps, r);
  }
  stream_free(x);
}

START_TEST(words_of_elements) {
  static const lading_elem elems[] = { LADING_INT8, LADING_UINT16, LADING_INT32, LADING_INT64, LADING_FLOAT16, LADING_BFLOAT16, LADING_FLOAT, LADING_DOUBLE,
                                       LADING_C_FLOAT, LADING_C_DOUBLE };
  rng r = rng_of(28);
  v = devices_open();
  for (int e = 0; e < COUNT_OF(elems); e++)
    for (int i = 0; i < some_of(20) + 1; i++) {
      wraps = elems[e] <= LADING_UINT64;
      ldg_queue_sums_apart[0] = ldg_queue_sums_apart[1] = rng_in(&r, 0, 1) << 20;
      sample *s = i % 2 ? large_nest(&r, elems[e]) : long_list(&r, elems[e]);
      check_words(s, elems[e], &r);
      sample_free(s);
    }
  ldg_queue_sums_apart[0] = ldg_queue_sums_apart[1] = 0;
  for (int e = 0; e < COUNT_OF(elems) && !TEST_TSAN; e += TEST_ASAN ? 3 : 1) { /* and long enough for ends beside squares, of elements of 8 bytes and more */
    const int64_t size = elem_size(elems[e]);
    wraps = elems[e] <= LADING_UINT64;
    sample *s = s_hvector(519, 1, size, s_hvector(307, 1, 519 * size, s_elem(elems[e])));
    check_words(s, elems[e], &r);
    sample_free(s);
  }
  wraps = false;
  sample *const run = s_contiguous((1 << 18) + 3, s_elem(LADING_FLOAT)); /* a long block, and what is no word behind it */
  if (!TEST_TSAN) check_words(run, LADING_FLOAT, &r);
  sample_free(run);
  free_areas();
  devices_close(&v);
}
END_TEST

int main(int argc, char **argv) {
  if (!devices_there()) return 77;
  return CHECK_MAIN("device", argc, argv, every_range, random_ranges, large_nests, long_lists, copies, huge_streams, start_of_a_long_loop, far_apart, every_op, words_of_elements);
}
