/* exec: movers by themselves, in every width that has a loop of its own and in every arrangement; through plans most of them are seldom chosen. */
#include "random_types.h"
#include "api.h"
#include "exec_range.h"
#include "sides.h"

#include <inttypes.h>
#include <sys/mman.h>

static const int64_t widths[] = { 1, 2, 3, 4, 7, 8, 12, 16, 20, 24, 32, 40, 48, 56, 64 };

/* ---- two layouts zipped ---- */

/* n blocks of so many bytes, listed in no order or strided, where `twice` some coincide. */
static sample *blocks_of(rng *r, bool listed, int64_t n, int64_t width, bool twice) {
  int64_t at[64];
  sample *block = s_contiguous(width, s_elem(LADING_BYTE));
  if (!listed) return s_hvector(n, 1, rng_in(r, 0, 1) ? width + rng_in(r, 1, 30) : -width - rng_in(r, 1, 30), block);
  for (int64_t i = 0; i < n; i++) at[i] = twice ? rng_in(r, 0, n * width) : i * (width + 5);
  for (int64_t i = n - 1; i > 0; i--) {
    const int64_t k = rng_in(r, 0, i), t = at[i];
    at[i] = at[k], at[k] = t;
  }
  return s_hindexed_block(n, 1, at, block);
}

static ldg_side plain_side(const side *d) {
  ldg_side s;
  ck_assert_int_eq(ldg_api_side(d->s->type, d->count, base_of(d), NULL, &s), LADING_OK);
  return s;
}

static void try_zip(const side *a, side *b, int64_t lo, int64_t hi) {
  const ldg_side s = plain_side(a), d = plain_side(b);
  char *want = malloc((size_t)b->b.n + 1);
  memcpy(want, b->b.data, (size_t)b->b.n);
  for (int64_t k = lo; k < hi; k++) want[b->x->at[k] - b->x->lo] = a->b.data[a->x->at[k] - a->x->lo];
  ldg_exec_zip(s.rep, s.base, d.rep, d.base, lo, hi);
  ck_assert_msg(memcmp(want, b->b.data, (size_t)b->b.n) == 0, "[%" PRId64 ", %" PRId64 ") of %s zipped with %s is wrong", lo, hi, a->s->spell, b->s->spell);
  free(want);
}

/* Fewer blocks than are planned for, or more; places that coincide keep the byte that comes last. */
START_TEST(rows_of_every_width) {
  rng r = rng_of(501);
  for (int64_t i = 0; i < 4 * COUNT_OF(widths) * share_of(6); i++) {
    const int64_t width = widths[i / 4 % COUNT_OF(widths)], n = rng_in(&r, 4, 64);
    sample *s = blocks_of(&r, i & 1, n, width, i % 3 == 0), *d = blocks_of(&r, i & 2, n, width, i % 5 == 0);
    side a = side_of(s, 1, rng_next(&r)), b = side_of(d, 1, rng_next(&r));
    for (int k = 0; k < 4; k++) {
      const int64_t lo = k ? rng_in(&r, 0, a.x->n - 1) : 0, hi = k ? rng_in(&r, lo + 1, a.x->n) : a.x->n;
      buffer_fill(&a.b, rng_next(&r)), try_zip(&a, &b, lo, hi);
    }
    side_free(&a), side_free(&b);
    sample_free(s), sample_free(d);
  }
}
END_TEST

/* Longer blocks are split into, or put together of, whole ones of every width. */
START_TEST(split_into_every_width) {
  enum { LONG = 20, MOST = 9, ROOM = LONG * MOST * 64 + 4096 };
  static char src[ROOM], dst[ROOM], want[ROOM];
  rng r = rng_of(502);
  for (int64_t i = 0; i < 2 * COUNT_OF(widths) * share_of(20); i++) {
    const bool splits = i & 1;
    const int64_t piece = widths[i / 2 % COUNT_OF(widths)], n = rng_in(&r, 1, LONG), m = rng_in(&r, 2, MOST), block = piece * m;
    int32_t each[LONG], list[LONG * MOST];
    for (int64_t k = 0; k < n; k++) each[k] = (int32_t)rng_in(&r, 0, ROOM - block);
    for (int64_t k = 0; k < n * m; k++) list[k] = (int32_t)rng_in(&r, 0, ROOM - piece); /* some coincide */
    bytes_random(&r, src, ROOM), bytes_random(&r, dst, ROOM), memcpy(want, dst, ROOM);
    const bool has_loop = piece != 3 && piece != 7 && piece != 56;
    for (int64_t k = 0; has_loop && k < n * m; k++) {
      const int64_t at = each[k / m] + k % m * piece;
      memcpy(want + (splits ? list[k] : at), src + (splits ? at : list[k]), (size_t)piece);
    }
    const ldg_lists l = { src, dst, splits ? each : list, splits ? list : each };
    ck_assert_int_eq(ldg_exec_split(&l, splits ? block : piece, splits ? piece : block, n), has_loop);
    ck_assert_msg(memcmp(dst, want, ROOM) == 0, "%" PRId64 " blocks of %" PRId64 " pieces of %" PRId64 " bytes", n, m, piece);
  }
}
END_TEST

/* ---- reductions by nests ---- */

enum { SPACE = 1 << 17, ENTRIES = 70 };
static int32_t numbers[SPACE], sums[SPACE], expected[SPACE];

/* One iteration, or entry, after the other; everything in elements. */
static int32_t of_two(int op, int32_t a, int32_t b) { return op == LADING_SUM ? (int32_t)((uint32_t)a + (uint32_t)b) : a ^ b; }
static void add_nest(const ldg_nest *n, int op, int k, int64_t src, int64_t dst, int64_t i0, int64_t count) {
  for (int64_t i = i0; i < i0 + count; i++) {
    const int64_t step = i - (n->at && k == 0 ? 0 : i0);
    int64_t s = src + step * n->dim[k].src, d = dst + step * n->dim[k].dst, len = n->block;
    if (k == 0 && n->at) {
      const int64_t line = n->psum ? n->psum[i] : i * (n->list == LDG_LIST_SRC ? n->dim[0].dst : n->dim[0].src);
      s = src + (n->list == LDG_LIST_SRC ? n->at[i] : line), d = dst + (n->list == LDG_LIST_SRC ? line : n->at[i]);
      len = n->psum ? n->psum[i + 1] - n->psum[i] : n->block;
    }
    if (k) add_nest(n, op, k - 1, s, d, 0, n->dim[k - 1].n);
    else for (int64_t b = 0; b < len; b += 4) expected[(d + b) / 4] = of_two(op, numbers[(s + b) / 4], expected[(d + b) / 4]);
  }
}

/* A sum has rows of up to 2 KiB by one call, BXOR, which goes one by one, of up to 128 bytes. */
static void check_nest(const ldg_nest *n, int op, int64_t src, int64_t dst, int64_t i0, int64_t count, rng *r) {
  for (int i = 0; i < SPACE; i++) numbers[i] = (int32_t)rng_next(r), sums[i] = expected[i] = (int32_t)rng_next(r);
  add_nest(n, op, n->nd - 1, src, dst, i0, count);
  ldg_exec_nest_op(ldg_plan_op((lading_op)op, LADING_INT32), n, (const char *)numbers + src, (char *)sums + dst, i0, count);
  ck_assert_msg(memcmp(sums, expected, sizeof sums) == 0, "%d loops, %" PRId64 " entries of %" PRId64 " bytes, %" PRId64 " of %" PRId64 " iterations from %" PRId64, n->nd, n->dim[0].n,
                n->psum ? -1 : n->block, count, n->dim[n->nd - 1].n, i0);
}

/* Loops around a list, forwards and backwards on the listed side, or none; of entries of a few elements and of many, of one length and of lengths of their own. */
START_TEST(loops_around_lists) {
  rng r = rng_of(503);
  for (int i = 0; i < share_of(300); i++) {
    int64_t at[ENTRIES], sum[ENTRIES + 1] = { 0 };
    const bool ragged = i % 3 == 0, to_list = i & 1;
    const int64_t n = rng_in(&r, 1, ragged || i % 5 == 0 ? ENTRIES : 20), most = rng_in(&r, 0, 3) ? 6 : 70, block = 4 * rng_in(&r, 1, most), loops = i % 7 == 0 ? 2 : 1;
    for (int64_t k = 0; k < n; k++) sum[k + 1] = sum[k] + (ragged ? 4 * rng_in(&r, 1, most) : block);
    for (int64_t k = 0; k < n; k++) at[k] = sum[n - 1 - k] + 4 * (n - k); /* backwards, apart */
    const int64_t size = sum[n], span = size + 4 * n + 8, all = 4 * SPACE / span, turns = ldg_min(all / 2, rng_in(&r, 1, 60)), outer = ldg_min(all / (2 * ldg_max(turns, 1)), 3);
    if (turns < 1 || (loops == 2 && outer < 1)) continue;
    const int64_t far = rng_in(&r, 0, 2) ? span : -span, shift = far < 0 ? (turns * (loops == 2 ? outer : 1) - 1) * span : 0;
    const ldg_dim loop = to_list ? (ldg_dim){ turns, size, far } : (ldg_dim){ turns, i % 4 ? far : 0, size };
    ldg_nest nest = { .block = ragged ? 1 : block, .nd = 2, .dim = { { n, to_list && !ragged ? block : 0, to_list || ragged ? 0 : block }, loop }, .at = at, .psum = ragged ? sum : NULL, .span = span,
                      .list = to_list ? LDG_LIST_DST : LDG_LIST_SRC };
    if (loops == 2) nest.dim[nest.nd++] = to_list ? (ldg_dim){ outer, turns * size, turns * far } : (ldg_dim){ outer, turns * far, turns * size };
    const int op = rng_in(&r, 0, 1) ? LADING_SUM : LADING_BXOR;
    check_nest(&nest, op, to_list ? 0 : shift, to_list ? shift : 0, 0, nest.dim[nest.nd - 1].n, &r);
    nest.nd = 1;
    const int64_t i0 = rng_in(&r, 0, n - 1);
    check_nest(&nest, op, 0, 0, i0, rng_in(&r, 1, n - i0), &r);
  }
}
END_TEST

/* Loops of rows of few elements and of many, dense on a side or apart, and some whose destinations coincide. */
START_TEST(loops_of_rows) {
  static const int64_t lengths[] = { 1, 2, 3, 5, 6, 31, 32, 33, 70, 255, 511, 512, 513 };
  rng r = rng_of(505);
  for (int i = 0; i < share_of(300); i++) {
    ldg_nest nest = { .block = 4 * lengths[rng_in(&r, 0, COUNT_OF(lengths) - 1)], .nd = (int)rng_in(&r, 1, 4) };
    int64_t src = nest.block, dst = nest.block;
    for (int k = 0; k < nest.nd; k++) {
      const int64_t n = rng_in(&r, 1, k ? 3 : 5);
      src += 4 * rng_in(&r, 0, 2), dst += 4 * rng_in(&r, 0, 2);
      nest.dim[k] = (ldg_dim){ n, src, rng_in(&r, 0, 7) ? dst : 0 };
      src *= n, dst *= n;
    }
    check_nest(&nest, i % 2 ? LADING_SUM : LADING_BXOR, 0, 0, 0, rng_in(&r, 1, nest.dim[nest.nd - 1].n), &r);
  }
}
END_TEST

/* ---- offsets that take more than 4 bytes ---- */

enum { FAR_BLOCKS = 120, FAR_BYTES = FAR_BLOCKS * 64 };
#define FAR_SPAN ((int64_t)3 << 30)
/* Blocks at either end of memory, most of which nobody touches. */
typedef struct far_list { char *mem; lading_type *type; int64_t n, width, at[FAR_BLOCKS]; } far_list;

static far_list far_list_of(rng *r, int64_t width, bool list) {
  far_list f = { .n = FAR_BYTES / width, .width = width };
  if (f.n > FAR_BLOCKS) f.n = FAR_BLOCKS;
  f.mem = mmap(NULL, (size_t)FAR_SPAN + (1 << 20), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ck_assert(f.mem != MAP_FAILED);
  for (int64_t i = 0; i < f.n; i++) f.at[i] = list ? (width + 3) * (f.n - i) + (rng_in(r, 0, 1) ? FAR_SPAN : 0) : (width + 3) * i;
  f.at[0] = list ? FAR_SPAN + (1 << 19) : 0, f.at[f.n - 1] = list ? 0 : (width + 3) * (f.n - 1);
  lading_type *block;
  ck_assert_int_eq(lading_type_contiguous(width, lading_elem_type(LADING_INT8), &block), LADING_OK);
  if (list) ck_assert_int_eq(lading_type_hindexed_block(f.n, 1, f.at, block, &f.type), LADING_OK);
  else ck_assert_int_eq(lading_type_hvector(f.n, 1, width + 3, block, &f.type), LADING_OK);
  lading_type_free(block);
  return f;
}
static void far_list_free(far_list *f) { lading_type_free(f->type), munmap(f->mem, (size_t)FAR_SPAN + (1 << 20)); }
static char *far_byte(const far_list *f, int64_t k) { return f->mem + f->at[k / f->width] + k % f->width; }
static void far_fill(const far_list *f, char *copy, rng *r) {
  for (int64_t k = 0; k < f->n * f->width; k++) *far_byte(f, k) = copy[k] = (char)rng_next(r);
}

static void copy_planned(const far_list *s, const far_list *d, int64_t lo, int64_t hi) {
  const ldg_plan *sp, *dp;
  ldg_side a, b;
  ck_assert_int_eq(ldg_api_side(s->type, 1, s->mem, &sp, &a), LADING_OK);
  ck_assert_int_eq(ldg_api_side(d->type, 1, d->mem, &dp, &b), LADING_OK);
  ldg_exec_move_planned(sp, &a, dp, &b, lo, hi);
}

/* Whole and in part: packed, unpacked, added to what is packed, and copied to another one, which may be a row, of blocks of that length or another. */
START_TEST(lists_that_reach_far) {
  static char a[FAR_BYTES], b[FAR_BYTES], packed[FAR_BYTES];
  rng r = rng_of(504);
  for (int i = 0; i < share_of(60); i++) {
    const int64_t width = widths[rng_in(&r, 0, COUNT_OF(widths) - 1)], other = i % 3 ? width : widths[rng_in(&r, 0, COUNT_OF(widths) - 1)];
    far_list s = far_list_of(&r, width, i % 4 != 1), d = far_list_of(&r, other, i % 4 != 2);
    const int64_t all = ldg_min(s.n * s.width, d.n * d.width);
    for (int k = 0; k < 6; k++) {
      const int64_t lo = k < 2 ? 0 : rng_in(&r, 0, all), hi = k < 2 ? all : rng_in(&r, lo, all);
      far_fill(&s, a, &r), far_fill(&d, b, &r);
      ck_assert_int_eq(lading_pack(s.type, 1, s.mem, packed, lo, hi), LADING_OK);
      ck_assert(!memcmp(packed, a + lo, (size_t)(hi - lo)));
      ck_assert_int_eq(lading_pack_op(s.type, 1, s.mem, packed, lo, hi, LADING_SUM), LADING_OK);
      for (int64_t x = lo; x < hi; x++) ck_assert_int_eq(packed[x - lo], (char)(2 * a[x]));
      if (k % 3 == 2) copy_planned(&s, &d, lo, hi); /* as more bytes are copied */
      else if (k % 3) ck_assert_int_eq(lading_copy(s.type, 1, s.mem, d.type, 1, d.mem, lo, hi), LADING_OK);
      else ck_assert_int_eq(lading_unpack(d.type, 1, d.mem, a + lo, lo, hi), LADING_OK);
      memcpy(b + lo, a + lo, (size_t)(hi - lo));
      for (int64_t x = 0; x < d.n * d.width; x++) ck_assert_msg(*far_byte(&d, x) == b[x], "%" PRId64 " to %" PRId64 " bytes, byte %" PRId64, width, other, x);
    }
    far_list_free(&s), far_list_free(&d);
  }
}
END_TEST

int main(int argc, char **argv) { return CHECK_MAIN("exec", argc, argv, rows_of_every_width, split_into_every_width, loops_around_lists, loops_of_rows, lists_that_reach_far); }
