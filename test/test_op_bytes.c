/* Reductions between a type with elements and a layout of bytes alone (parsed, or sent as bytes), which takes the elements of the other side. */
#include "random_types.h"
#include "base.h"
#include <pthread.h>

START_TEST(bytes_take_the_other_side) {
  double src[6] = { 1, 2, 3, 4, 5, 6 }, dst[6] = { 10, 20, 30, 40, 50, 60 };
  lading_type *hole = parsed("(repeat 3 16 (bytes 8))"), *split = parsed("(repeat 6 8 (bytes 4))");
  sample *three = s_contiguous(3, s_elem(LADING_DOUBLE));
  ck_assert_int_eq(lading_copy_op(hole, 1, src, three->type, 1, dst, 0, 24, LADING_SUM), LADING_OK);
  ck_assert(dst[0] == 11 && dst[1] == 23 && dst[2] == 35 && dst[3] == 40);
  ck_assert_int_eq(lading_copy_op(three->type, 1, src, hole, 1, dst, 8, 16, LADING_SUM), LADING_OK);
  ck_assert(dst[2] == 37 && dst[0] == 11 && dst[4] == 50);
  ck_assert_int_eq(lading_copy_op(three->type, 1, src, hole, 1, dst, 8, 12, LADING_SUM), LADING_ERR_ARG);
  ck_assert_int_eq(lading_copy_op(hole, 1, src, hole, 1, dst, 0, 24, LADING_SUM), LADING_ERR_UNSUPPORTED);
  const uint64_t whole[3] = { 5 + (UINT64_C(1) << 32), 6, 7 };
  uint64_t a[6], b[3] = { 1, UINT32_MAX, 1 };
  for (int i = 0; i < 6; i++) memcpy(&a[i], (const char *)whole + 4 * i, 4); /* every half has eight bytes */
  sample *words = s_contiguous(3, s_elem(LADING_UINT64));
  ck_assert_int_eq(lading_copy_op(split, 1, a, words->type, 1, b, 0, 24, LADING_SUM), LADING_OK);
  ck_assert(b[0] == 6 + (UINT64_C(1) << 32) && b[1] == UINT64_C(6) + UINT32_MAX && b[2] == 8);
  lading_type_free(hole), lading_type_free(split);
  sample_free(three), sample_free(words);
}
END_TEST

/* ---- elements of several kinds, of which items of bytes begin with any ---- */

enum { KINDS_MOST = 4, WORDS_MOST = 40, BYTES = 4800, ROOM = 8 * BYTES + 64 };
typedef struct mix { int n; lading_elem kind[KINDS_MOST]; } mix; /* one after the other, again and again */

static mix random_mix(rng *r) {
  static const lading_elem any[] = { LADING_FLOAT, LADING_INT32, LADING_INT64, LADING_DOUBLE, LADING_INT16, LADING_INT8 };
  mix m = { .n = (int)rng_in(r, 2, KINDS_MOST) };
  for (int i = 0; i < m.n; i++) m.kind[i] = any[rng_in(r, 0, COUNT_OF(any) - 1)];
  return m;
}
static int64_t size_of(const mix *m) {
  int64_t size = 0;
  for (int i = 0; i < m->n; i++) size += elem_size((int)m->kind[i]);
  return size;
}
/* All elements of so many bytes, end to end. */
static lading_type *type_of(const mix *m, int64_t bytes) {
  int64_t at[KINDS_MOST], one[KINDS_MOST], pos = 0;
  const lading_type *kinds[KINDS_MOST];
  lading_type *t, *tight, *all;
  for (int i = 0; i < m->n; pos += elem_size((int)m->kind[i]), i++) at[i] = pos, one[i] = 1, kinds[i] = lading_elem_type(m->kind[i]);
  ck_assert_int_eq(lading_type_struct(m->n, one, at, kinds, &t), LADING_OK);
  ck_assert_int_eq(lading_type_resized(t, 0, pos, &tight), LADING_OK);
  ck_assert_int_eq(lading_type_contiguous(bytes / pos, tight, &all), LADING_OK);
  lading_type_free(t), lading_type_free(tight);
  return all;
}

#define ADD(type) do { type a, b; memcpy(&a, src, sizeof a), memcpy(&b, dst, sizeof b), b = (type)(a + b), memcpy(dst, &b, sizeof b); } while (0)
static void add(lading_elem kind, const char *src, char *dst) {
  switch (kind) {
  case LADING_FLOAT: ADD(float); break;
  case LADING_DOUBLE: ADD(double); break;
  case LADING_INT32: ADD(int32_t); break;
  case LADING_INT64: ADD(int64_t); break;
  case LADING_INT16: ADD(int16_t); break;
  default: ADD(int8_t);
  }
}
static void add_all(const mix *m, int64_t bytes, const char *src, char *dst) {
  for (int64_t at = 0, i = 0; at < bytes; at += elem_size((int)m->kind[i]), i = (i + 1) % m->n) add(m->kind[i], src + at, dst + at);
}
/* Small numbers, whatever they are read as: sums are exact and of no NaN, and integers do not overflow. */
static void fill(const mix *m, int64_t bytes, char *at, rng *r) {
  for (int64_t pos = 0, i = 0; pos < bytes; pos += elem_size((int)m->kind[i]), i = (i + 1) % m->n) {
    const int x = (int)rng_in(r, 0, 50);
    memset(at + pos, 0, (size_t)elem_size((int)m->kind[i]));
    if (m->kind[i] == LADING_FLOAT) memcpy(at + pos, &(float){ (float)x }, 4);
    else if (m->kind[i] == LADING_DOUBLE) memcpy(at + pos, &(double){ x }, 8);
    else at[pos] = (char)x;
  }
}

/* Items of words of bytes, with gaps, of a size that need not be one of the others' elements. */
static lading_type *bytes_type(int64_t words, int64_t word, int64_t apart) {
  char text[80];
  snprintf(text, sizeof text, "(repeat %lld %lld (bytes %lld))", (long long)words, (long long)apart, (long long)word);
  return parsed(text);
}

/* Packed numbers of `from` are added to those of `to`, one of them in the memory of items of bytes. */
static void check_mix(const mix *m, rng *r) {
  static char from[BYTES], to[BYTES], want[BYTES], memory[ROOM];
  const int64_t word = rng_in(r, 1, 3) * 4, words = rng_in(r, 1, WORDS_MOST), apart = word + rng_in(r, 0, 2) * 4, item = words * word;
  const int64_t size = size_of(m), count = BYTES / item, bytes = ldg_min(count * item, BYTES) / size * size;
  lading_type *b = bytes_type(words, word, apart), *t = type_of(m, bytes);
  fill(m, bytes, from, r), fill(m, bytes, to, r);
  memcpy(want, to, (size_t)bytes), add_all(m, bytes, from, want);
  const bool into = rng_in(r, 0, 1);
  ck_assert_int_eq(lading_unpack(b, count, memory, into ? to : from, 0, bytes), LADING_OK);
  if (into) ck_assert_int_eq(lading_copy_op(t, 1, from, b, count, memory, 0, bytes, LADING_SUM), LADING_OK);
  else ck_assert_int_eq(lading_copy_op(b, count, memory, t, 1, to, 0, bytes, LADING_SUM), LADING_OK);
  if (into) ck_assert_int_eq(lading_pack(b, count, memory, to, 0, bytes), LADING_OK);
  for (int64_t i = 0; i < bytes; i++)
    ck_assert_msg(to[i] == want[i], "byte %lld of %lld: %lld items of %lld words of %lld bytes, elements of %lld", (long long)i, (long long)bytes, (long long)count, (long long)words, (long long)word, (long long)size);
  lading_type_free(b), lading_type_free(t);
}
START_TEST(items_begin_with_any_element) {
  rng r = rng_of(48);
  for (int i = 0; i < share_of(4000); i++) {
    const mix m = random_mix(&r);
    check_mix(&m, &r);
  }
}
END_TEST

enum { STACK = 1 << 18, PAINT = 0x5a };
static unsigned char stack[STACK] __attribute__((aligned(4096)));

typedef struct stack_copy { lading_type *from, *to; int32_t *src, *dst; int error; } stack_copy;
static void *copies(void *arg) {
  stack_copy *c = arg;
  c->error = c->from ? lading_copy_op(c->from, 4, c->src, c->to, 1, c->dst, 0, 480, LADING_SUM) : LADING_OK;
  return NULL;
}

/* What a thread that does it leaves other than it was painted. */
static int64_t stack_of(stack_copy *c) {
  pthread_attr_t a;
  pthread_t t;
  int64_t free = 0;
  memset(stack, PAINT, STACK);
  pthread_attr_init(&a);
  ck_assert_int_eq(pthread_attr_setstack(&a, stack, STACK), 0);
  ck_assert_int_eq(pthread_create(&t, &a, copies, c), 0);
  pthread_join(t, NULL);
  pthread_attr_destroy(&a);
  while (free < STACK && stack[free] == PAINT) free++;
  return STACK - free;
}

/* Layouts without a loop in common: neither a nest nor what comes after it keeps the other's frame. */
START_TEST(stack_of_a_copy) {
  if (TEST_ASAN || TEST_TSAN) return; /* they have frames of their own */
  static int32_t src[1024], dst[1024];
  stack_copy none = { 0 }, c = { .src = src + 512, .dst = dst + 512 };
  ck_assert_int_eq(lading_type_parse("vector(6,5,11,int32)", &c.from), LADING_OK);
  ck_assert_int_eq(lading_type_parse("vector(13,2,2,indexed_block(3,[0,5,10,15,20,25],resized(indexed_block(2,[-5,-1,2,6],int32),3,0)))", &c.to), LADING_OK);
  copies(&c);
  const int64_t least = stack_of(&none);
  ck_assert_int_le(stack_of(&c) - least, 28 << 10);
  ck_assert_int_eq(c.error, LADING_OK);
  lading_type_free(c.from), lading_type_free(c.to);
}
END_TEST

/* Elements of two sides that are told apart by no more than how they are described go together; the first that differs is an error, and so is a range that cuts one of either side. */
START_TEST(elements_agree_one_by_one) {
  static const struct { const char *s, *d; int64_t lo, hi; int code; } all[] = {
    { "contiguous(6,struct([1,1],[0,4],[int,float]))", "contiguous(3,struct([1,1,1,1],[0,4,8,12],[int,float,int,float]))", 0, 48, LADING_OK },
    { "contiguous(6,struct([1,1],[0,4],[int,float]))", "contiguous(3,struct([1,1,1,1],[0,4,8,12],[int,float,int,float]))", 12, 44, LADING_OK },
    { "contiguous(6,struct([1,1],[0,4],[int,float]))", "contiguous(3,struct([1,1,1,1],[0,4,8,12],[int,float,float,int]))", 0, 48, LADING_ERR_ARG },
    { "contiguous(6,struct([1,1],[0,4],[int,float]))", "contiguous(3,struct([1,1,1,1],[0,4,8,12],[int,float,float,int]))", 0, 8, LADING_OK },
    { "contiguous(6,struct([1,1],[0,4],[int,float]))", "contiguous(3,struct([1,1,1,1],[0,4,8,12],[int,float,float,int]))", 4, 12, LADING_ERR_ARG },
    { "contiguous(6,struct([1,1],[0,4],[int,float]))", "struct([3,3],[0,24],[struct([1,1],[0,4],[int,float]),struct([1,1],[0,4],[int,float])])", 4, 48, LADING_OK },
    { "contiguous(12,int)", "contiguous(12,float)", 0, 48, LADING_ERR_ARG },
    { "contiguous(16,int8)", "contiguous(4,int)", 0, 4, LADING_ERR_ARG },
    { "contiguous(3,struct([1,1],[0,1],[int8,int16]))", "contiguous(3,struct([1,1],[0,2],[int16,int8]))", 1, 3, LADING_ERR_ARG },
    { "contiguous(4,struct([3,1],[0,12],[int,float]))", "contiguous(2,struct([2,1,1,3,1],[0,8,12,16,28],[int,int,float,int,float]))", 8, 60, LADING_OK },
  };
  for (int64_t i = 0; i < COUNT_OF(all); i++) {
    lading_type *s = parsed(all[i].s), *d = parsed(all[i].d);
    char src[64], dst[64], want[64];
    int32_t one = 1;
    for (int k = 0; k < 64; k += 4) memset(src + k, 0, 4), memcpy(dst + k, &one, 4), memcpy(want + k, &one, 4); /* as a float it is something, too */
    for (int64_t k = all[i].lo; k < all[i].hi; k++) src[k] = dst[k];
    const int e = lading_copy_op(s, 1, src, d, 1, dst, all[i].lo, all[i].hi, LADING_SUM);
    ck_assert_msg(e == all[i].code, "%s onto %s says %d", all[i].s, all[i].d, e);
    for (int64_t k = all[i].lo; !e && k < all[i].hi; k += 4) one = 2, memcpy(want + k, &one, 4);
    ck_assert_mem_eq(dst, want, 64); /* sums of the least numbers are bits that move by one, of floats, too */
    lading_type_free(s), lading_type_free(d);
  }
}
END_TEST

int main(int argc, char **argv) { return CHECK_MAIN("op_bytes", argc, argv, bytes_take_the_other_side, items_begin_with_any_element, stack_of_a_copy, elements_agree_one_by_one); }
