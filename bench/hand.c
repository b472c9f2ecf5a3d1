/* hand: the compiled baseline loops and the table that finds them. Its own translation unit, so that it can have
 * -O3 -march=native as an application would, while the library keeps its own flags. */
#include "hand.h"
#include <string.h>

/* Elements as applications have them. Alignment 1, since suites shift bases on purpose; x86 and arm64 do not mind. */
#define LOOSE __attribute__((aligned(1), may_alias))
typedef uint8_t e1 LOOSE;
typedef uint16_t e2 LOOSE;
typedef uint32_t e4 LOOSE;
typedef uint64_t e8 LOOSE;
typedef struct { double re, im; } LOOSE complex16;
typedef complex16 e16 LOOSE;
typedef float f4 LOOSE;
typedef double f8 LOOSE;
typedef double f16 __attribute__((vector_size(16), aligned(1), may_alias)); /* which is added by parts */

#define ELEM e1
#define SUMMED e1
#define TAG w1
#define CELL 1
#include "hand_pair.h"
#define ELEM e1
#define SUMMED e1
#define TAG w1x3
#define CELL 3
#include "hand_pair.h"
#define ELEM e2
#define SUMMED e2
#define TAG w2
#define CELL 1
#include "hand_pair.h"
#define ELEM e4
#define SUMMED f4
#define TAG w4
#define CELL 1
#include "hand_pair.h"
#define ELEM e4
#define SUMMED f4
#define TAG w4x3
#define CELL 3
#include "hand_pair.h"
#define ELEM e8
#define SUMMED f8
#define TAG w8
#define CELL 1
#include "hand_pair.h"
#define ELEM e8
#define SUMMED f8
#define TAG w8x2
#define CELL 2
#include "hand_pair.h"
#define ELEM e8
#define SUMMED f8
#define TAG w8x3
#define CELL 3
#include "hand_pair.h"
#define ELEM e8
#define SUMMED f8
#define TAG w8x4
#define CELL 4
#include "hand_pair.h"
#define ELEM e8
#define SUMMED f8
#define TAG w8x5
#define CELL 5
#include "hand_pair.h"
#define ELEM e16
#define SUMMED f16
#define TAG w16
#define CELL 1
#include "hand_pair.h"

/* ---- structs with compiled-in fields: one field after the other, each a copy of constant size -------------------- */

static inline char *field(char *cell, char *s, size_t n, bool pack) {
  if (pack) memcpy(s, cell, n);
  else memcpy(cell, s, n);
  return s + n;
}

typedef char *record_item(char *cell, char *s, bool pack);

static inline char *gap400(char *cell, char *s, bool pack) {
  s = field(cell, s, 4, pack);
  for (int i = 0; i < 9; i++) s = field(cell + 8 + 44 * i, s, 40, pack);
  return field(cell + 404, s, 36, pack);
}

static inline char *merged17(char *cell, char *s, bool pack) {
  return field(cell, s, 17, pack);
}

/* struct { int i; double d; char c; } */
static inline char *int_double_char(char *cell, char *s, bool pack) {
  s = field(cell, s, 4, pack);
  s = field(cell + 8, s, 8, pack);
  return field(cell + 16, s, 1, pack);
}

/* struct { double x[3]; float v[3]; int id; short kind; char flag; double charge; } without the flag's padding */
static inline char *particle(char *cell, char *s, bool pack) {
  s = field(cell, s, 24, pack);
  s = field(cell + 24, s, 12, pack);
  s = field(cell + 36, s, 4, pack);
  s = field(cell + 40, s, 2, pack);
  s = field(cell + 42, s, 1, pack);
  return field(cell + 48, s, 8, pack);
}

/* every other one of 16 shorts */
static inline char *shorts8(char *cell, char *s, bool pack) {
  for (int i = 0; i < 8; i++) s = field(cell + 4 * i, s, 2, pack);
  return s;
}

/* fields out of order: { long b at 8; int a at 0; int c at 20; } */
static inline char *swapped(char *cell, char *s, bool pack) {
  s = field(cell + 8, s, 8, pack);
  s = field(cell, s, 4, pack);
  return field(cell + 20, s, 4, pack);
}

/* Some fields of a struct: their bytes, and those from each struct to the next one. */
#define TAKE(at, n) s = field(cell + (at), s, n, pack);
#define FIELDS(name, all) \
  static inline char *name(char *cell, char *s, bool pack) { all return s; }
FIELDS(s24_4_in_64, TAKE(0, 24) TAKE(40, 4))
FIELDS(s8_8_in_200, TAKE(0, 8) TAKE(136, 8))
FIELDS(s1_8_4_in_24, TAKE(0, 1) TAKE(8, 8) TAKE(16, 4))
FIELDS(s4_8_2_in_48, TAKE(0, 4) TAKE(16, 8) TAKE(40, 2))
FIELDS(s8_4_8_16_in_256, TAKE(8, 8) TAKE(72, 4) TAKE(128, 8) TAKE(200, 16))
FIELDS(s24_24_8_in_160, TAKE(0, 24) TAKE(64, 24) TAKE(128, 8))
FIELDS(s4_8_in_120, TAKE(0, 4) TAKE(100, 8))
FIELDS(s8_4_1_12_in_96, TAKE(0, 8) TAKE(12, 4) TAKE(20, 1) TAKE(80, 12))
FIELDS(s6_in_440, TAKE(0, 8) TAKE(80, 4) TAKE(160, 4) TAKE(240, 2) TAKE(320, 8) TAKE(400, 24))

static inline void each(const hand_part *p, char *mem, char *s, bool pack, record_item *item) {
  const int64_t n = p->n[0], stride = p->stride[0];
  char *m = mem + p->off;
  for (int64_t i = 0; i < n; i++) s = item(m + i * stride, s, pack);
}

#define RECORD(name) \
  static void name##_pack(const hand_part *p, char *mem, char *s) { each(p, mem, s, true, name); } \
  static void name##_unpack(const hand_part *p, char *mem, char *s) { each(p, mem, s, false, name); }
RECORD(gap400)
RECORD(merged17)
RECORD(int_double_char)
RECORD(particle)
RECORD(shorts8)
RECORD(swapped)
RECORD(s24_4_in_64)
RECORD(s8_8_in_200)
RECORD(s1_8_4_in_24)
RECORD(s4_8_2_in_48)
RECORD(s8_4_8_16_in_256)
RECORD(s24_24_8_in_160)
RECORD(s4_8_in_120)
RECORD(s8_4_1_12_in_96)
RECORD(s6_in_440)

static const struct { const char *name; int64_t bytes; hand_loop *move[2]; } records[] = {
  { "gap400", 400, { gap400_pack, gap400_unpack } },
  { "merged17", 17, { merged17_pack, merged17_unpack } },
  { "int_double_char", 13, { int_double_char_pack, int_double_char_unpack } },
  { "particle", 51, { particle_pack, particle_unpack } },
  { "shorts8", 16, { shorts8_pack, shorts8_unpack } },
  { "swapped", 16, { swapped_pack, swapped_unpack } },
  { "s24_4_in_64", 28, { s24_4_in_64_pack, s24_4_in_64_unpack } },
  { "s8_8_in_200", 16, { s8_8_in_200_pack, s8_8_in_200_unpack } },
  { "s1_8_4_in_24", 13, { s1_8_4_in_24_pack, s1_8_4_in_24_unpack } },
  { "s4_8_2_in_48", 14, { s4_8_2_in_48_pack, s4_8_2_in_48_unpack } },
  { "s8_4_8_16_in_256", 36, { s8_4_8_16_in_256_pack, s8_4_8_16_in_256_unpack } },
  { "s24_24_8_in_160", 56, { s24_24_8_in_160_pack, s24_24_8_in_160_unpack } },
  { "s4_8_in_120", 12, { s4_8_in_120_pack, s4_8_in_120_unpack } },
  { "s8_4_1_12_in_96", 25, { s8_4_1_12_in_96_pack, s8_4_1_12_in_96_unpack } },
  { "s6_in_440", 50, { s6_in_440_pack, s6_in_440_unpack } },
};

/* ---- finding a loop ----------------------------------------------------------------------------------------------- */

#define BOTH(name, tag) { name##_##tag##_pack, name##_##tag##_unpack, name##_##tag##_sum_pack, name##_##tag##_sum_unpack }
#define CELLS(tag) { BOTH(cells1, tag), BOTH(cells2, tag), BOTH(cells3, tag), BOTH(cells4, tag) }, BOTH(list, tag)
#define RUNS(tag) { BOTH(runs0, tag), BOTH(runs1, tag), BOTH(runs2, tag), BOTH(runs3, tag), BOTH(runs4, tag) }, \
                  BOTH(list_runs, tag), BOTH(list_lens, tag)

typedef struct loop_set {
  int width, cell;
  hand_loop *cells[HAND_DIMS][HAND_WAYS], *list[HAND_WAYS], *runs[HAND_DIMS + 1][HAND_WAYS], *list_runs[HAND_WAYS], *list_lens[HAND_WAYS];
} loop_set;

static const loop_set sets[] = {
  { 1, 1, CELLS(w1), RUNS(w1) }, { 2, 1, CELLS(w2), RUNS(w2) }, { 4, 1, CELLS(w4), RUNS(w4) }, { 8, 1, CELLS(w8), RUNS(w8) },
  { 16, 1, CELLS(w16), RUNS(w16) },
  { .width = 1, .cell = 3, CELLS(w1x3) }, { .width = 4, .cell = 3, CELLS(w4x3) }, { .width = 8, .cell = 2, CELLS(w8x2) },
  { .width = 8, .cell = 3, CELLS(w8x3) }, { .width = 8, .cell = 4, CELLS(w8x4) }, { .width = 8, .cell = 5, CELLS(w8x5) },
};

static hand_loop *const *pick(const loop_set *s, const hand_part *p) {
  if (p->at && p->len) return s->list_lens;
  if (p->at) return p->run ? s->list_runs : s->list;
  if (p->run) return s->runs[p->depth];
  return p->depth ? s->cells[p->depth - 1] : NULL;
}

static int64_t count_bytes(const hand_part *p) {
  int64_t cells = p->at ? p->entries : 1, elements = p->run ? p->run : p->cell;
  if (p->len) {
    for (int64_t i = cells = 0; i < p->entries; i++) cells += p->len[i];
    elements = 1;
  }
  for (int i = 0; i < p->depth; i++) cells *= p->n[i];
  return cells * elements * p->width;
}

static bool bind_record(hand_part *p) {
  for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
    if (strcmp(records[i].name, p->record) != 0) continue;
    memcpy(p->move, records[i].move, sizeof records[i].move);
    p->bytes = records[i].bytes * p->n[0];
    return p->depth == 1;
  }
  return false;
}

bool hand_bind(hand_part *p) {
  if (p->record[0]) return bind_record(p);
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
    if (sets[i].width != p->width || sets[i].cell != p->cell) continue;
    hand_loop *const *move = pick(&sets[i], p);
    if (!move || !move[0]) return false;
    memcpy(p->move, move, sizeof p->move);
    p->bytes = count_bytes(p);
    return true;
  }
  return false;
}
