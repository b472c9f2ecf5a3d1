/* jit: keys, cuts, and kernels of every level on every range. Cuts are tried for all levels; kernels are compiled for LADING_ISA. */
#include "jit_tools.h"
#include "sides.h"

#include "gccjit/cut.h"
#include "gccjit/helper/judge.h"
#include "gccjit/helper/object.h"

#include <sys/wait.h>

static const char *const level_names[] = { "base", "v2", "v3", "v4", "v4+vbmi", "neon" };

/* ---- keys and cuts ---- */

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Fields with distinct destinations, in any order on both sides. */
static ldg_key random_key(rng *r) {
  const char *level = level_names[rng_in(r, 0, COUNT_OF(level_names) - 1)];
  ldg_key k = { .level = ldg_jit_level_of(level, strlen(level)) };
  ldg_shape *s = &k.shape;
  const ldg_how how = rng_in(r, 0, 2) ? LDG_MOVE : (ldg_how)rng_in(r, LDG_SUM, LDG_HOWS - 1);
  const bool chooses = how == LDG_MIN || how == LDG_MAX, floats = how && (how <= LDG_PROD || chooses) && rng_in(r, 0, 1);
  s->reduce = (ldg_reduce){ how, floats ? LDG_FLOATS : chooses ? (ldg_number)rng_in(r, LDG_SIGNED, LDG_UNSIGNED) : LDG_WHOLE, !how ? 1 : floats ? 4 << rng_in(r, 0, 1) : 1 << rng_in(r, 0, 3), 0 };
  int64_t end[2] = { 0, 0 }, lo[2] = { INT64_MAX, INT64_MAX }, bytes = 0;
  const int64_t width = how ? s->reduce.size : rng_in(r, 0, 1) ? 4 : 1, most = rng_in(r, 0, 3) ? 20 : 150, far = rng_in(r, 0, 9) ? 9 : 700, jump = rng_in(r, 0, 9) ? 0 : rng_in(r, 1, 5);
  for (const int64_t n = rng_in(r, 1, rng_in(r, 0, 1) ? 6 : LDG_SHAPE_FIELDS); s->n < n && bytes < LDG_SHAPE_BYTES - width * most; s->n++) {
    ldg_field *f = &s->field[s->n];
    f->len = width * rng_in(r, 1, most), bytes += f->len;
    f->src = end[0] + width * rng_in(r, 0, far) + (s->n == jump && jump ? 5000 : 0), f->dst = end[1] + width * rng_in(r, 0, 3);
    end[0] = f->src + f->len, end[1] = f->dst + f->len;
  }
  for (int i = s->n - 1; i > 0 && rng_in(r, 0, 2) == 0; i--) {
    const int j = (int)rng_in(r, 0, i);
    if (s->field[i].len != s->field[j].len) continue;
    const int64_t t = s->field[i].src;
    s->field[i].src = s->field[j].src, s->field[j].src = t;
  }
  for (int i = 0; i < s->n; i++) lo[0] = least(lo[0], s->field[i].src), lo[1] = least(lo[1], s->field[i].dst);
  for (int i = 0; i < s->n; i++) s->field[i].src -= lo[0], s->field[i].dst -= lo[1];
  const int64_t kind = rng_in(r, 0, 11);
  if (kind <= 1) s->listed[kind] = true;
  else if (kind >= 4) {
    s->stride[0] = (end[0] - lo[0] + width * rng_in(r, 0, 9)) * (rng_in(r, 0, 3) ? 1 : -1);
    s->stride[1] = (end[1] - lo[1] + width * rng_in(r, 0, 9)) * (rng_in(r, 0, 3) ? 1 : -1);
  }
  return k;
}

START_TEST(keys_read_back) {
  rng r = rng_of(71);
  char text[LDG_KEY_MAX], again[LDG_KEY_MAX];
  for (int i = 0; i < 3000; i++) {
    ldg_key k = random_key(&r), back;
    ck_assert(ldg_key_print(&k, text));
    ck_assert_msg(ldg_key_read(text, &back) && ldg_key_print(&back, again) && strcmp(text, again) == 0, "'%s' does not read back", text);
    text[rng_in(&r, 0, (int64_t)strlen(text) - 1)] = (char)rng_in(&r, 32, 126); /* whatever it is now, no harm is done */
    if (ldg_key_read(text, &back)) ck_assert(ldg_key_print(&back, again) && strcmp(text, again) == 0);
  }
}
END_TEST

START_TEST(keys_refused) {
  static const char *const bad[] = { "", "v3", "v3 ", "v3 *", "v9 * 0>0:4", "v3 * 0>0:0", "v3 * 0>0:4 ", "v3 * 00>0:4", "v3 * 1>0:4", "v3 * 0>1:4", "v3 * 0>0:4 4>2:4",
                                     "v3 0,0 0>0:4", "v3 -0,4 0>0:4", "v3 * 0>0:9999999", "v3 * 0>0:2049", "v3 * 0>0:4x", "v3 * -1>0:4", "v3 4 0>0:4", "v3  * 0>0:4",
                                     "v3 sum * 0>0:4", "v3 sum.f2 * 0>0:4", "v3 and.f4 * 0>0:4", "v3 sum.f8 * 0>0:4", "v3 sum.i3 * 0>0:3", "v3 max.i4 * 0>0:4", "v3 sum.s4 * 0>0:4", "v3 lor.u4 * 0>0:4", "v3 min. * 0>0:4", "v3 min.", "v3 sum.i4* 0>0:4",
                                     "v3 @ 0>0:4", "v3 @,@ 0>0:4", "v3 @,4 0>0:4", "v3 4,@ 0>0:4", "v3 *,* 0>0:4", "v3 *, 0>0:4" };
  ldg_key k;
  for (int64_t i = 0; i < COUNT_OF(bad); i++) ck_assert_msg(!ldg_key_read(bad[i], &k), "'%s' was taken", bad[i]);
  ck_assert(ldg_key_read("v3 * 0>0:4", &k) && !k.shape.listed[0] && !k.shape.listed[1]);
  ck_assert(ldg_key_read("v3 @,* 0>0:4", &k) && k.shape.listed[0] && !k.shape.listed[1]);
  ck_assert(ldg_key_read("v3 *,@ 0>0:4", &k) && !k.shape.listed[0] && k.shape.listed[1]);
}
END_TEST

/* Both sides of a cut, from offset lo on, and how often each byte of the destination was written. */
typedef struct board { int64_t lo[2]; const char *src; char *dst; unsigned char *wrote; } board;

static void play_shuffle(const ldg_cut *c, const board *b, const char *text) {
  for (int i = 0; i < 64; i++) {
    if (!(c->store >> i & 1)) continue;
    const int w = c->lane[i] / 64, at = c->lane[i] % 64;
    ck_assert_msg(w < c->windows && (c->load[w] >> at & 1), "%s: a lane that is not loaded", text);
    b->dst[c->to + i - b->lo[1]] = b->src[c->from[w] + at - b->lo[0]], b->wrote[c->to + i - b->lo[1]]++;
  }
}
static void play(const ldg_cut *c, const board *b, int width, const char *text) {
  if (!c->width) { play_shuffle(c, b, text); return; }
  ck_assert_msg(c->width <= width && (c->width & (c->width - 1)) == 0, "%s: a move of %d bytes", text, c->width);
  for (int i = 0; i < c->width; i++) b->dst[c->to + i - b->lo[1]] = b->src[c->from[0] + i - b->lo[0]], b->wrote[c->to + i - b->lo[1]]++;
}

enum { SIDE = 1 << 20, NEAR = 4096 };
static char from_side[SIDE], to_side[SIDE], want_side[SIDE];
static unsigned char wrote[SIDE];

/* Every page that is touched has a byte that is moved. */
static void check_reads(const ldg_cut *c, const ldg_key *k, int64_t items, const char *text) {
  if (!c->width && k->level->window == 16) ck_assert_msg(c->store == 0xffff && !c->masked, "%s: a mask", text);
  for (int w = 0; w < c->windows && !c->masked && !c->width; w++) {
    bool before = false, after = false; /* bytes within a page of the first and of the last that is read, on that side of it or at it */
    for (int64_t i = 0; i < items; i++)
      for (int f = 0; f < k->shape.n; f++) {
        const int64_t a = k->shape.field[f].src + i * k->shape.stride[0], z = a + k->shape.field[f].len, first = c->from[w], last = first + k->level->window - 1;
        before |= a <= first && z > first - NEAR, after |= z > last && a < last + NEAR;
      }
    ck_assert_msg(before && after, "%s: reads beyond what is there", text);
  }
}

static void check_cuts(const ldg_key *k, ldg_cut_way way, int64_t items, const char *text) {
  static ldg_cut cut[LDG_CUTS];
  const int n = ldg_cut_group(k, way, items, cut);
  const board b = { { -SIDE / 2, -SIDE / 2 }, from_side, to_side, wrote };
  if (n < 0) return;
  ck_assert_int_eq(n, ldg_cut_group(k, way, items, NULL));
  memset(to_side, 0, SIDE), memset(want_side, 0, SIDE), memset(wrote, 0, SIDE);
  for (int i = 0; i < n; i++) play(&cut[i], &b, k->level->width, text), check_reads(&cut[i], k, items, text);
  for (int64_t i = 0; i < items; i++)
    for (int f = 0; f < k->shape.n; f++) {
      const ldg_field *x = &k->shape.field[f];
      memcpy(want_side + SIDE / 2 + x->dst + i * k->shape.stride[1], from_side + SIDE / 2 + x->src + i * k->shape.stride[0], (size_t)x->len);
      for (int64_t c = 0; c < x->len; c++) wrote[SIDE / 2 + x->dst + i * k->shape.stride[1] + c] |= 128;
    }
  ck_assert_msg(memcmp(to_side, want_side, SIDE) == 0, "%s: the cuts of %" PRId64 " iterations move other bytes", text, items);
  bool stray = false;
  for (int64_t i = 0; i < SIDE; i++) stray |= (wrote[i] > 0 && wrote[i] <= 128) || (k->shape.reduce.how && wrote[i] > 129);
  ck_assert_msg(!stray, "%s: writes bytes that are not its own, or reduces twice", text);
}

START_TEST(cuts_of_every_level) {
  rng r = rng_of(72);
  char text[LDG_KEY_MAX];
  int together = 0;
  for (int64_t i = 0; i < SIDE; i += 8) memcpy(from_side + i, &(uint64_t){ rng_next(&r) }, 8);
  for (int i = 0; i < 400; i++) {
    const ldg_key k = random_key(&r);
    ck_assert(ldg_key_print(&k, text));
    for (int way = 0; way < LDG_CUT_WAYS; way++) {
      const int64_t items = ldg_cut_items(&k, (ldg_cut_way)way);
      check_cuts(&k, (ldg_cut_way)way, 1, text);
      if (items > 1) check_cuts(&k, (ldg_cut_way)way, items, text), together++;
    }
  }
  ck_assert_int_gt(together, 5);
}
END_TEST

/* ---- the judge ---- */

/* Kernels of one block of 92 bytes, one of them right. */
static int honest(const char *src, char *dst, int64_t n, int64_t ss, int64_t ds, const int32_t *at) {
  (void)at;
  for (int64_t i = 0; i < n; i++) memcpy(dst + i * ds, src + i * ss, 92);
  return LADING_OK;
}
static int swaps_strides(const char *src, char *dst, int64_t n, int64_t ss, int64_t ds, const int32_t *at) { return honest(src, dst, n, ds, ss, at); }
static int packs_only(const char *src, char *dst, int64_t n, int64_t ss, int64_t ds, const int32_t *at) { return (void)ds, honest(src, dst, n, ss, 92, at); }
static int unpacks_only(const char *src, char *dst, int64_t n, int64_t ss, int64_t ds, const int32_t *at) { return (void)ss, honest(src, dst, n, 92, ds, at); }
static int knows_one_stride(const char *src, char *dst, int64_t n, int64_t ss, int64_t ds, const int32_t *at) { return (void)ds, honest(src, dst, n, ss, ss, at); }
static int forgets_the_last(const char *src, char *dst, int64_t n, int64_t ss, int64_t ds, const int32_t *at) { return honest(src, dst, n - (n == 17), ss, ds, at); }
static int forgets_a_byte(const char *src, char *dst, int64_t n, int64_t ss, int64_t ds, const int32_t *at) {
  (void)at;
  for (int64_t i = 0; i < n; i++) memcpy(dst + i * ds, src + i * ss, 91);
  return LADING_OK;
}

static volatile char seen;
static int reads_beyond(const char *src, char *dst, int64_t n, int64_t ss, int64_t ds, const int32_t *at) {
  honest(src, dst, n, ss, ds, at);
  if (n == 3) seen = src[2 * ss + 92];
  return LADING_OK;
}
static int writes_beyond(const char *src, char *dst, int64_t n, int64_t ss, int64_t ds, const int32_t *at) {
  honest(src, dst, n, ss, ds, at);
  if (n == 3) *(volatile char *)(dst - 1) = 0;
  return LADING_OK;
}

static int says_no(const char *src, char *dst, int64_t n, int64_t ss, int64_t ds, const int32_t *at) {
  honest(src, dst, n, ss, ds, at);
  return n == 5 ? LADING_ERR_ARG : LADING_OK;
}

/* Kernels that go by a list, of fields of 4 and 9 bytes; two of them right. */
static int by_list(const char *src, char *dst, int64_t n, const int32_t *from, const int32_t *to, int64_t stride) {
  for (int64_t i = 0; i < n; i++) {
    const char *s = src + (from ? from[i] : i * stride);
    char *d = dst + (to ? to[i] : i * stride);
    memcpy(d, s, 4), memcpy(d + (to ? 8 : 4), s + (from ? 8 : 4), 9);
  }
  return LADING_OK;
}
static int packs_list(const char *src, char *dst, int64_t n, int64_t ss, int64_t ds, const int32_t *at) { return (void)ss, by_list(src, dst, n, at, NULL, ds); }
static int unpacks_list(const char *src, char *dst, int64_t n, int64_t ss, int64_t ds, const int32_t *at) { return (void)ds, by_list(src, dst, n, NULL, at, ss); }
static int reads_a_list_too_far(const char *src, char *dst, int64_t n, int64_t ss, int64_t ds, const int32_t *at) {
  unpacks_list(src, dst, n, ss, ds, at);
  if (n == 19) seen = (char)at[n];
  return LADING_OK;
}
static int goes_backwards(const char *src, char *dst, int64_t n, int64_t ss, int64_t ds, const int32_t *at) {
  for (int64_t i = n - 1; i >= 0; i--) unpacks_list(src + i * ss, dst, 1, ss, ds, at + i);
  return LADING_OK;
}
static int never_looks_back(const char *src, char *dst, int64_t n, int64_t ss, int64_t ds, const int32_t *at) {
  for (int64_t i = 0; i < n; i++) unpacks_list(src + i * ss, dst + (uint32_t)(at[i] < 0 ? -at[i] : at[i]), 1, ss, ds, (int32_t[]){ 0 });
  return LADING_OK;
}
static int field_by_field(const char *src, char *dst, int64_t n, int64_t ss, int64_t ds, const int32_t *at) {
  (void)ds;
  for (int64_t i = 0; i < n; i++) memcpy(dst + at[i], src + i * ss, 4);
  for (int64_t i = 0; i < n; i++) memcpy(dst + at[i] + 8, src + i * ss + 4, 9);
  return LADING_OK;
}

/* In a process of its own, since the pages around what may be touched end it. */
static bool refused(const char *text, ldg_kernel *kernel) {
  ldg_key k;
  int status = 0;
  ck_assert(ldg_key_read(text, &k));
  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0) _exit(judge_right(&k, kernel) != NULL);
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  return status != 0;
}

START_TEST(wrong_kernels_are_refused) {
  static ldg_kernel *const wrong[] = { swaps_strides, packs_only, unpacks_only, knows_one_stride, forgets_the_last, forgets_a_byte, reads_beyond, writes_beyond, says_no };
  ck_assert(!refused("v3 * 0>0:92", honest));
  ck_assert(!refused("v3 128,92 0>0:92", honest));
  for (int64_t i = 0; i < COUNT_OF(wrong); i++) ck_assert_msg(refused("v3 * 0>0:92", wrong[i]), "kernel %" PRId64 " was accepted", i);
  ck_assert_msg(refused("v3 -128,92 0>0:92", swaps_strides), "known strides are not tried");
}
END_TEST

START_TEST(wrong_lists_are_refused) {
  static ldg_kernel *const wrong[] = { packs_list, honest, reads_a_list_too_far, goes_backwards, never_looks_back, field_by_field };
  ck_assert(!refused("v3 @,* 0>0:4 8>4:9", packs_list));
  ck_assert(!refused("v3 *,@ 0>0:4 4>8:9", unpacks_list));
  for (int64_t i = 0; i < COUNT_OF(wrong); i++) ck_assert_msg(refused("v3 *,@ 0>0:4 4>8:9", wrong[i]), "kernel %" PRId64 " was accepted", i);
}
END_TEST

/* Kernels of 3 elements; the first judges as it should, the others as another op does. */
#define REDUCES(name, type, expression)                                                                               \
  static int name(const char *src, char *dst, int64_t n, int64_t ss, int64_t ds, const int32_t *at) {                 \
    (void)at;                                                                                                         \
    for (int64_t i = 0; i < 3 * n; i++) {                                                                             \
      type a, b;                                                                                                      \
      char *to = dst + i / 3 * ds + i % 3 * (int64_t)sizeof b;                                                        \
      memcpy(&a, src + i / 3 * ss + i % 3 * (int64_t)sizeof a, sizeof a), memcpy(&b, to, sizeof b);                   \
      b = expression, memcpy(to, &b, sizeof b);                                                                       \
    }                                                                                                                 \
    return LADING_OK;                                                                                                 \
  }
REDUCES(land, int32_t, a && b)
REDUCES(lor, int32_t, a || b)
REDUCES(lxor, int32_t, !a != !b)
REDUCES(ones, int32_t, 1)
REDUCES(min_float, float, a < b ? a : b)
REDUCES(min_float_of_source, float, b < a ? b : a)
REDUCES(min_float_or_equal, float, a <= b ? a : b)
REDUCES(max_double, double, a > b ? a : b)
REDUCES(max_double_of_source, double, b > a ? b : a)
REDUCES(max_double_or_nan, double, b >= a ? b : a)

START_TEST(wrong_ops_are_refused) {
  static const struct { const char *key; ldg_kernel *right, *wrong[3]; } of[] = {
    { "v3 land.i4 * 0>0:12", land, { lor, lxor, ones } }, { "v3 lor.i4 * 0>0:12", lor, { land, lxor, ones } }, { "v3 lxor.i4 * 0>0:12", lxor, { land, lor, ones } },
    { "v3 min.f4 * 0>0:12", min_float, { min_float_of_source, min_float_or_equal } }, { "v3 max.f8 * 0>0:24", max_double, { max_double_of_source, max_double_or_nan } },
  };
  for (int64_t i = 0; i < COUNT_OF(of); i++) {
    ck_assert_msg(!refused(of[i].key, of[i].right), "%s is refused", of[i].key);
    for (int k = 0; k < 3 && of[i].wrong[k]; k++) ck_assert_msg(refused(of[i].key, of[i].wrong[k]), "%s: wrong kernel %d was accepted", of[i].key, k);
  }
}
END_TEST

/* ---- objects ---- */

/* Of exactly n bytes, so that it shows when more is read. */
static char *first_bytes(const char *of, int64_t n) {
  char *copy = ldg_alloc(n);
  memcpy(copy, of, (size_t)n);
  return copy;
}

static char *read_self(int64_t *n) {
  struct stat st;
  FILE *f = fopen("/proc/self/exe", "rb");
  ck_assert_int_eq(fstat(fileno(f), &st), 0);
  char *bytes = ldg_alloc(st.st_size);
  *n = (int64_t)fread(bytes, 1, (size_t)st.st_size, f);
  fclose(f);
  return bytes;
}

/* A program that needs a linker is none, nor is what is no object, or part of one. */
START_TEST(bad_objects_are_refused) {
  rng r = rng_of(74);
  int64_t entry, n;
  char *self = read_self(&n);
  const char *why = object_entry(self, n, "main", &entry);
  ck_assert_msg(why && (strstr(why, "relocations") || strstr(why, "variables") || strstr(why, "moved")), "it is refused, for '%s'", why ? why : "nothing");
  for (int64_t k = 0; k < n; k += rng_in(&r, 1, n / 20)) {
    char *part = first_bytes(self, k);
    ck_assert(object_entry(part, k, "main", &entry) != NULL);
    ldg_free(part);
  }
  for (int i = 0; i < 2000; i++) {
    const int64_t at = rng_in(&r, 0, 1) ? rng_in(&r, 4, 63) : n - rng_in(&r, 1, 4000); /* the header, and the table of sections */
    self[at] ^= (char)(1 << rng_in(&r, 0, 7));
    if (!object_entry(self, n, "main", &entry)) ck_assert(entry >= 0 && entry < n);
  }
  memset(self, 0, (size_t)n);
  ck_assert(object_entry(self, n, "main", &entry) != NULL);
  ldg_free(self);
}
END_TEST

/* ---- kernels ---- */

/* The layouts that kernels are for, and any others. */
static sample *candidate(rng *r, int i) {
  const int64_t width = i % 2 ? 4 : 1;
  switch (i % 7) {
  case 0: return fields(r, rng_in(r, 2, 5), 6, width);
  case 1: return fields(r, rng_in(r, 6, 14), 9, width);
  case 2: return fields(r, rng_in(r, 15, 40), 12, width);
  case 3: return s_hvector(rng_in(r, 3, 9), 1, 700, s_hvector(rng_in(r, 9, 70), 1, rng_in(r, 93, 120), s_contiguous(92, s_elem(LADING_BYTE))));
  case 4: return s_hvector(rng_in(r, 2, 9), 1, -900, fields(r, rng_in(r, 2, 9), 9, width));
  case 5: return S_STRUCT(3, LIST(1, 9, 9), LIST(0, 8, 404), s_elem(LADING_FLOAT), s_resized(s_contiguous(10, s_elem(LADING_FLOAT)), 0, 44), s_elem(LADING_FLOAT));
  default: return random_type(r, 4, 500);
  }
}

enum { EACH = 7, SAMPLES = TEST_ASAN || TEST_TSAN ? EACH : 2 * EACH };

/* A level has half of them, base the first. */
static int samples_of_level(int *first) {
  const char *isa = getenv("LADING_ISA");
  *first = isa && strcmp(isa, "base") ? EACH : 0;
  return isa ? EACH : SAMPLES;
}

/* Whole items, so that jobs are run, and any ranges of them. */
START_TEST(every_range) {
  rng r = rng_of(73);
  sample *s[SAMPLES];
  int used = 0, waits = 0, first;
  const int samples = samples_of_level(&first);
  char *cache = own_cache(helper_path());
  for (int i = 0; i < samples; i++) s[i] = candidate(&r, first + i), ask(s[i]->type);
  ck_assert(settles(120));
  for (int i = 0; i < samples; i++) {
    used += count_text(s[i]->type, "tier 2"), waits += count_text(s[i]->type, "no kernel came");
    for (int k = 0; k < 6; k++) check_moves(s[i], rng_in(&r, 1, k < 3 ? 4 : 150), &r);
    sample_free(s[i]);
  }
  ck_assert_msg(used >= samples && waits == 0, "%d kernels were used, %d did not come (%s)", used, waits, ldg_cpu_isa());
  drop_cache(cache);
}
END_TEST

/* An entry of a list: fields in any order, that do not meet but in the last case, which only packs have kernels for. */
static sample *entry(rng *r, bool last) {
  switch (last ? 9 : rng_in(r, 0, 3)) {
  case 0: return S_STRUCT(3, LIST(1, 1, 1), LIST(0, 8, 16), s_elem(LADING_INT32), s_elem(LADING_DOUBLE), s_elem(LADING_CHAR));
  case 1: return s_hvector(rng_in(r, 2, 9), 1, rng_in(r, 5, 20), s_elem(LADING_INT32)); /* one nest, its own loops inside the list */
  case 9: return S_STRUCT(3, LIST(1, 1, 1), LIST(0, 2, 12), s_elem(LADING_INT32), s_elem(LADING_INT32), s_elem(LADING_DOUBLE));
  default: return fields(r, rng_in(r, 2, rng_in(r, 0, 3) ? 6 : 50), 12, rng_in(r, 0, 1) ? 4 : 1);
  }
}

/* Some apart, some that overlap or repeat, before and behind the origin: whoever comes last in the stream stays. */
static sample *listed(rng *r, int i) {
  int64_t at[300], n = i < 3 ? rng_in(r, 1, 64) : rng_in(r, 65, 300);
  const int64_t pitch = i % 2 ? rng_in(r, 1, 60) : 1100, back = rng_in(r, 0, n), far = i % 7 ? 0 : INT64_C(1) << 33;
  for (int64_t k = 0; k < n; k++) at[k] = pitch * (k - back) + (i % 2 ? rng_in(r, 0, 9) : 0) - far;
  for (int64_t k = n - 1; k > 0 && i % 3; k--) {
    const int64_t x = rng_in(r, 0, k), t = at[x];
    at[x] = at[k], at[k] = t;
  }
  return s_hindexed_block(n, 1, at, s_hindexed(1, LIST(1), LIST(far), entry(r, i == 3)));
}

/* Asks for all kernels of all types, and says how many jobs of lists have one. */
static int lists_used(sample *const *s, int n) {
  int used = 0;
  for (int i = 0; i < n; i++) ask(s[i]->type);
  ck_assert(settles(120));
  for (int i = 0; i < n; i++) {
    ck_assert_msg(count_text(s[i]->type, "no kernel came") == 0, "a kernel did not come");
    used += count_text(s[i]->type, "@,* ") + count_text(s[i]->type, "*,@ ");
  }
  return used;
}

START_TEST(every_list) {
  int first;
  const int lists = samples_of_level(&first);
  rng r = rng_of(77);
  sample *s[SAMPLES];
  char *cache = own_cache(helper_path());
  for (int i = 0; i < lists; i++) s[i] = listed(&r, first + i);
  const int used = lists_used(s, lists);
  for (int i = 0; i < lists; i++) {
    for (int k = 0; k < 6; k++) check_moves(s[i], k < 4 ? 1 : rng_in(&r, 2, 4), &r);
    sample_free(s[i]);
  }
  ck_assert_msg(used >= lists / 2, "%d kernels of lists were used", used);
  drop_cache(cache);
}
END_TEST

/* Said to gain, whatever the helper found. */
static void gains(const char *path) { forge(path, 1, INT64_MAX, false, NULL); }

/* Unless all is forced calls of many entries are timed: by the library and by the kernel in turns. */
START_TEST(lists_that_are_timed) {
  enum { N = 400 };
  int64_t at[N];
  rng r = rng_of(78);
  char *cache = own_cache(helper_path());
  unsetenv("LADING_FORCE");
  for (int64_t k = 0; k < N; k++) at[k] = 40 * k;
  for (int64_t k = N - 1; k > 0; k--) {
    const int64_t x = rng_in(&r, 0, k), t = at[x];
    at[x] = at[k], at[k] = t;
  }
  sample *s = s_hindexed_block(N, 1, at, S_STRUCT(3, LIST(1, 1, 1), LIST(0, 8, 16), s_elem(LADING_INT32), s_elem(LADING_DOUBLE), s_elem(LADING_CHAR)));
  fflush(NULL);
  const pid_t pid = fork(); /* which has its own verdict */
  if (pid == 0) _exit((ask(s->type), settles(60)) ? 0 : 1);
  int status = -1;
  ck_assert(waitpid(pid, &status, 0) == pid && status == 0);
  for_each_kernel(cache, gains);
  ask(s->type);
  ck_assert(settles(60));
  ck_assert(count_text(s->type, "@,* ") + count_text(s->type, "*,@ ") == 2 && count_text(s->type, "tier 2") >= 2);
  for (int k = 0; k < 40; k++) check_moves(s, 1, &r);
  sample_free(s);
  drop_cache(cache);
}
END_TEST

/* Sides whose bodies have the same bytes, or multiples of some, at other places; around them loops that end together, or do not. */
static sample *partner(rng *r, int64_t each, int64_t of, bool looped) {
  int64_t at[64], len[64], n = 0, p = rng_in(r, 0, 3), left = each * of;
  for (; left > 0; n++, p += rng_in(r, 1, 5)) {
    len[n] = n == 40 ? left : least(left, rng_in(r, 1, 17));
    at[n] = p, p += len[n], left -= len[n];
  }
  for (int64_t i = n - 1; i > 0 && rng_in(r, 0, 3) == 0; i--) {
    const int64_t k = rng_in(r, 0, i), t = at[i];
    if (len[i] == len[k]) at[i] = at[k], at[k] = t;
  }
  sample *s = s_resized(s_hindexed(n, len, at, s_elem(LADING_BYTE)), 0, p);
  return !looped ? s : s_resized(s_hvector(rng_in(r, 1, 7) * 6, 1, p + rng_in(r, 0, 9), s), 0, 60 * p + 1000);
}

static bool is_copied_by_kernel(const lading_type *t) {
  static char text[1 << 16];
  ck_assert_int_gt(lading_explain(t, 1, text, sizeof text), 0);
  const char *line = strstr(text, "copies to plan");
  return line && strstr(line, ": tier 2") && strstr(line, ": tier 2") < strchr(line, '\n');
}

START_TEST(every_copy) {
  enum { PAIRS = 4 };
  rng r = rng_of(75);
  sample *s[PAIRS], *d[PAIRS];
  int64_t n[PAIRS][2];
  int used = 0;
  char *cache = own_cache(helper_path());
  for (int i = 0; i < PAIRS; i++) {
    const int64_t each = rng_in(&r, 12, 40); /* few bytes are not for kernels of copies */
    s[i] = partner(&r, each, rng_in(&r, 1, 3), i == 1), d[i] = partner(&r, each, rng_in(&r, 1, 2), i == 2);
    n[i][0] = i == 1 ? rng_in(&r, 40, 90) : rng_in(&r, 400, 600), n[i][1] = i == 2 ? rng_in(&r, 40, 90) : rng_in(&r, 400, 600);
  }
  for (int k = 0; k < 3; k++, settles(60)) /* who calls asks, each time a little more */
    for (int i = 0; i < PAIRS; i++) check_copy(s[i], n[i][0], d[i], n[i][1], &r);
  for (int i = 0; i < PAIRS; i++) {
    used += is_copied_by_kernel(s[i]->type);
    for (int k = 0; k < 8; k++) check_copy(s[i], rng_in(&r, 1, n[i][0]), d[i], rng_in(&r, 1, n[i][1]), &r);
    sample_free(s[i]), sample_free(d[i]);
  }
  ck_assert_msg(used > 0, "%d kernels were used", used);
  drop_cache(cache);
}
END_TEST

int main(int argc, char **argv) {
  if (helper_path() && getenv("LADING_ISA")) return CHECK_MAIN("jit", argc, argv, every_range, every_list, every_copy); /* the others are about all levels */
  if (!helper_path()) return CHECK_MAIN("jit", argc, argv, keys_read_back, keys_refused, cuts_of_every_level, wrong_kernels_are_refused, wrong_lists_are_refused, wrong_ops_are_refused, bad_objects_are_refused);
  return CHECK_MAIN("jit", argc, argv, keys_read_back, keys_refused, cuts_of_every_level, wrong_kernels_are_refused, wrong_lists_are_refused, wrong_ops_are_refused, bad_objects_are_refused, every_range, every_list,
                    lists_that_are_timed, every_copy);
}
