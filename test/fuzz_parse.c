/* fuzz_parse: hostile text through lading_type_parse, and whatever type comes out through everything that takes one. Built
 * with libFuzzer; fuzz_replay.c runs its seeds as an ordinary test. */
#include <lading.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(what) do { if (!(what)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); abort(); } } while (0)
enum { SPAN_MAX = 1 << 20, TEXT_MAX = 1 << 16 };

static char *at_offset(const void *p, int64_t off) { return (char *)((uintptr_t)p + (uintptr_t)off); }

/* What is printed reads back as the same bytes, unless it is too long or the tree too deep for its own text. */
static void text_round_trip(const lading_type *t) {
  static char text[TEXT_MAX];
  lading_type *back;
  lading_id a, b;
  int64_t n = lading_type_text(t, text, TEXT_MAX);
  MUST(n > 0);
  if (n >= TEXT_MAX) return;
  MUST(lading_type_parse(text, &back) == LADING_OK);
  MUST(lading_type_id(t, 1, &a) == LADING_OK && lading_type_id(back, 1, &b) == LADING_OK);
  MUST(a.w[0] == b.w[0] && a.w[1] == b.w[1]);
  lading_type_free(back);
}

/* The segments partition the stream; entry k and the byte where it starts agree. */
static void segments(const lading_type *t, const lading_info *i) {
  int64_t n = -1, got = -1, k = -1, rest = -1, sum = 0, step = i->blocks / 16 + 1;
  struct iovec v[4];
  MUST(lading_segments_count(t, 1, &n) == LADING_OK && n == i->blocks);
  for (int64_t first = 0; first < n; first += n <= 1024 ? 4 : step) {
    MUST(lading_iov(t, 1, NULL, first, v, 4, &got) == LADING_OK && got == (n - first < 4 ? n - first : 4));
    for (int64_t s = 0; s < got; s++) {
      MUST((int64_t)v[s].iov_len >= i->min_block && (int64_t)v[s].iov_len <= i->max_block);
      if (n <= 1024) {
        MUST(lading_segment_at(t, 1, sum, &k, &rest) == LADING_OK && k == first + s && rest == 0);
        sum += (int64_t)v[s].iov_len;
      }
    }
  }
  MUST(n > 1024 || sum == i->size);
}

/* A range of the stream out of an exact buffer and back: the sanitizer watches the ends, the segments say what to expect. */
static void round_trip(const lading_type *t, const lading_info *i, int64_t lo, int64_t hi) {
  char *mem = calloc(1, (size_t)i->true_extent + 1), *packed = malloc((size_t)(hi - lo) + 1), *again = malloc((size_t)(hi - lo) + 1);
  char *base = at_offset(mem, -i->true_lb);
  for (int64_t k = 0; k < i->true_extent; k++) mem[k] = (char)(k * 7 + k / 251);
  MUST(lading_pack(t, 1, base, packed, lo, hi) == LADING_OK);
  MUST(lading_unpack(t, 1, base, packed, lo, hi) == LADING_OK);
  for (int64_t k = 0; k < i->true_extent; k++) MUST(mem[k] == (char)(k * 7 + k / 251)); /* what came from a place went back to it */
  MUST(lading_pack(t, 1, base, again, lo, hi) == LADING_OK && memcmp(packed, again, (size_t)(hi - lo)) == 0);
  MUST(lading_copy(t, 1, base, lading_elem_type(LADING_BYTE), i->size, at_offset(again, -lo), lo, hi) == LADING_OK);
  MUST(memcmp(packed, again, (size_t)(hi - lo)) == 0);
  free(mem);
  free(packed);
  free(again);
}

static void use(const lading_type *t, uint64_t dice) {
  lading_info i;
  char why[64];
  MUST(lading_type_info(t, &i) == LADING_OK);
  MUST(i.size >= 0 && i.true_extent >= 0 && i.blocks >= 0 && i.blocks <= i.size && i.depth <= LADING_DEPTH_MAX + 64);
  MUST(lading_explain(t, 1, why, sizeof why) > 0);
  text_round_trip(t);
  segments(t, &i);
  if (i.true_extent > SPAN_MAX || i.size > SPAN_MAX) return;
  int64_t lo = i.size ? (int64_t)(dice % (uint64_t)i.size) : 0, hi = lo + (int64_t)(dice / 7 % (uint64_t)(i.size - lo + 1));
  round_trip(t, &i, 0, i.size);
  round_trip(t, &i, lo, hi);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  lading_type *t = (lading_type *)(uintptr_t)1;
  uint64_t dice = size;
  char *text = malloc(size + 1);
  memcpy(text, data, size);
  text[size] = 0;
  for (size_t k = 0; k < size; k++) dice = dice * 31 + data[k];
  int rc = lading_type_parse(text, &t);
  if (rc == LADING_OK) {
    use(t, dice);
    lading_type_free(t);
  } else {
    MUST(t == (lading_type *)(uintptr_t)1);
    MUST(rc == LADING_ERR_FORMAT || rc == LADING_ERR_ARG || rc == LADING_ERR_OVERFLOW || rc == LADING_ERR_DEPTH || rc == LADING_ERR_NOMEM);
  }
  free(text);
  return 0;
}
