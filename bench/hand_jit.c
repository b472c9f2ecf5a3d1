/* hand_jit: fields as X(memory offset, packed offset, length); both directions are made of the same list. */
#include "hand_jit.h"

#include <stddef.h>
#include <string.h>

#define PACK_FIELD(at, pos, len) memcpy(packed + (pos), mem + (at), (len));
#define UNPACK_FIELD(at, pos, len) memcpy(mem + (at), packed + (pos), (len));
#define LOOPS(name, fields, size, extent)                                                                       \
  static void name##_pack(char *restrict mem, char *restrict packed, int64_t count) {                           \
    for (int64_t i = 0; i < count; i++, mem += (extent), packed += (size)) { fields(PACK_FIELD) }               \
  }                                                                                                             \
  static void name##_unpack(char *restrict mem, char *restrict packed, int64_t count) {                         \
    for (int64_t i = 0; i < count; i++, mem += (extent), packed += (size)) { fields(UNPACK_FIELD) }             \
  }

#define IDC(X) X(0, 0, 4) X(8, 4, 8) X(16, 12, 1)
LOOPS(idc, IDC, 13, 24)

/* struct { int a; double b; char c; char d[3]; double e; int16_t f[2]; int g; double h; char i[5]; int j; float k; double l; } */
#define TWELVE(X)                                                                                                \
  X(0, 0, 4) X(8, 4, 8) X(16, 12, 1) X(20, 13, 3) X(32, 16, 8) X(40, 24, 4) X(48, 28, 4) X(56, 32, 8) X(64, 40, 5) X(72, 45, 4) X(80, 49, 4) X(88, 53, 8)
LOOPS(twelve, TWELVE, 61, 96)

#define GAP_BLOCK(X, k) X(8 + 44 * (k), 4 + 40 * (k), 40)
#define GAP400(X)                                                                                                \
  X(0, 0, 4) GAP_BLOCK(X, 0) GAP_BLOCK(X, 1) GAP_BLOCK(X, 2) GAP_BLOCK(X, 3) GAP_BLOCK(X, 4) GAP_BLOCK(X, 5) GAP_BLOCK(X, 6) GAP_BLOCK(X, 7) GAP_BLOCK(X, 8) \
  X(404, 364, 36)
LOOPS(gap400, GAP400, 400, 440)

#define TEN(X) X(0, 0, 8) X(16, 8, 8) X(24, 16, 8) X(56, 24, 8) X(88, 32, 8) X(96, 40, 8) X(136, 48, 8) X(168, 56, 8) X(176, 64, 8) X(216, 72, 8)
LOOPS(ten, TEN, 80, 240)

#define PAIRS(X) X(0, 0, 8) X(12, 8, 8) X(28, 16, 8) X(48, 24, 8) X(68, 32, 8) X(84, 40, 8)
LOOPS(pairs, PAIRS, 48, 96)

#define ROW(X) X(0, 0, 92)
LOOPS(wrf, ROW, 92, 128)

#define INT_DOUBLE_CHAR "struct([1,1,1],[0,8,16],[int,double,char])"
#define TWELVE_MIXED "struct([1,1,1,3,1,2,1,1,5,1,1,1],[0,8,16,20,32,40,48,56,64,72,80,88],[int,double,char,char,double,int16,int,double,char,int,float,double])"
#define TEN_DOUBLES "resized(indexed_block(1,[0,2,3,7,11,12,17,21,22,27],double),0,240)"
const hand_jit hand_jit_table[] = {
  { "struct_int_double_char", INT_DOUBLE_CHAR, 4096, 13, 24, NULL, { idc_pack, idc_unpack } },
  { "struct_12_mixed", TWELVE_MIXED, 1024, 61, 96, NULL, { twelve_pack, twelve_unpack } },
  { "gap400", "resized(struct([1,9,9],[0,8,404],[float,resized(contiguous(10,float),0,44),float]),0,440)", 1, 400, 440, NULL, { gap400_pack, gap400_unpack } },
  { "irregular_10_doubles", TEN_DOUBLES, 64, 80, 240, NULL, { ten_pack, ten_unpack } },
  { "irregular_6_pairs", "resized(indexed_block(2,[0,3,7,12,17,21],int),0,96)", 256, 48, 96, NULL, { pairs_pack, pairs_unpack } },
  { "wrf_rows_23_floats", "resized(contiguous(23,float),0,128)", 192, 92, 128, NULL, { wrf_pack, wrf_unpack } },
};
const int hand_jit_rows = sizeof hand_jit_table / sizeof hand_jit_table[0];

/* ---- lists: the same entries, in any places ---- */

/* The same places, in order and shuffled. */
enum { ENTRIES = HAND_JIT_ENTRIES, PLACES = HAND_JIT_PLACES };
static int32_t in_order[ENTRIES], shuffled[ENTRIES];

static int64_t draw(uint64_t *state, int64_t below) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (int64_t)((*state >> 33) % (uint64_t)below);
}

void hand_jit_make_lists(void) {
  uint64_t state = 1;
  for (int32_t place = 0, n = 0; n < ENTRIES; place++)
    if (draw(&state, PLACES - place) < ENTRIES - n) in_order[n] = shuffled[n] = place, n++;
  for (int64_t i = ENTRIES - 1; i > 0; i--) {
    const int64_t k = draw(&state, i + 1);
    const int32_t t = shuffled[k];
    shuffled[k] = shuffled[i], shuffled[i] = t;
  }
}

#define PACK_LISTED(at, pos, len) memcpy(packed + (pos), entry + (at), (len));
#define UNPACK_LISTED(at, pos, len) memcpy(entry + (at), packed + (pos), (len));
#define LIST_LOOP(name, list, op, fields, size, extent)                                                         \
  static void name(char *restrict mem, char *restrict packed, int64_t count) {                                  \
    for (int64_t i = 0; i < count; i++, packed += (size)) {                                                     \
      char *entry = mem + (int64_t)list[i] * (extent);                                                          \
      fields(op)                                                                                                \
    }                                                                                                           \
  }
#define LIST_LOOPS(name, fields, size, extent)                                                                  \
  LIST_LOOP(name##_in_order_pack, in_order, PACK_LISTED, fields, size, extent)                                  \
  LIST_LOOP(name##_in_order_unpack, in_order, UNPACK_LISTED, fields, size, extent)                              \
  LIST_LOOP(name##_shuffled_pack, shuffled, PACK_LISTED, fields, size, extent)                                  \
  LIST_LOOP(name##_shuffled_unpack, shuffled, UNPACK_LISTED, fields, size, extent)
LIST_LOOPS(idc, IDC, 13, 24)
LIST_LOOPS(twelve, TWELVE, 61, 96)
LIST_LOOPS(ten, TEN, 80, 240)

#define LISTED(name, type, loops, size, extent)                                                                 \
  { name "_in_order", type, ENTRIES, size, extent, in_order, { loops##_in_order_pack, loops##_in_order_unpack } },  \
  { name "_shuffled", type, ENTRIES, size, extent, shuffled, { loops##_shuffled_pack, loops##_shuffled_unpack } }
const hand_jit hand_jit_lists[] = {
  LISTED("list_int_double_char", INT_DOUBLE_CHAR, idc, 13, 24),
  LISTED("list_12_mixed", TWELVE_MIXED, twelve, 61, 96),
  LISTED("list_10_doubles", TEN_DOUBLES, ten, 80, 240),
};
const int hand_jit_lists_n = sizeof hand_jit_lists / sizeof hand_jit_lists[0];

/* ---- copies: X(from, to, length) ---- */

#define COPY_FIELD(from, to, len) memcpy(dst + (to), src + (from), (len));
#define COPY_LOOP(name, fields, from, to)                                                                       \
  static void name(const char *restrict src, char *restrict dst, int64_t count) {                               \
    for (; count > 0; count--, src += (from), dst += (to)) { fields(COPY_FIELD) }                               \
  }

#define IDC_WIDER(X) X(0, 0, 4) X(8, 16, 8) X(16, 24, 1)
COPY_LOOP(idc_wider, IDC_WIDER, 24, 32)
#define TWELVE_CLOSER(X)                                                                                        \
  X(0, 0, 4) X(8, 8, 8) X(16, 16, 1) X(20, 17, 3) X(32, 24, 8) X(40, 32, 4) X(48, 36, 4) X(56, 40, 8) X(64, 48, 5) X(72, 56, 4) X(80, 60, 4) X(88, 64, 8)
COPY_LOOP(twelve_closer, TWELVE_CLOSER, 96, 88)
#define PAIRS_CLOSER(X) X(0, 0, 8) X(12, 8, 8) X(28, 24, 8) X(48, 32, 8) X(68, 48, 8) X(84, 64, 8)
COPY_LOOP(pairs_closer, PAIRS_CLOSER, 96, 80)
#define SIX(X) X(0, 0, 4) X(8, 8, 4) X(12, 16, 4) X(20, 24, 4) X(28, 32, 4) X(32, 40, 4)
COPY_LOOP(six_floats, SIX, 40, 48)

/* ---- sums: X(from, to, elements) of the loop's type ---- */

#define ADD_FIELD(from, to, n)                                                                                  \
  for (int e = 0; e < (n); e++) {                                                                               \
    element x, y;                                                                                               \
    memcpy(&x, src + (from) + e * (int)sizeof x, sizeof x), memcpy(&y, dst + (to) + e * (int)sizeof y, sizeof y); \
    y += x;                                                                                                     \
    memcpy(dst + (to) + e * (int)sizeof y, &y, sizeof y);                                                       \
  }
#define SUM_LOOP(name, kind, fields, from, to)                                                                  \
  static void name(const char *restrict src, char *restrict dst, int64_t count) {                               \
    typedef kind element;                                                                                       \
    for (; count > 0; count--, src += (from), dst += (to)) { fields(ADD_FIELD) }                                \
  }

#define VECTOR3(X) X(0, 0, 3)
SUM_LOOP(sum_vectors, double, VECTOR3, 24, 32)
#define TEN_OF_8(X) X(0, 0, 1) X(8, 16, 2) X(24, 56, 1) X(32, 88, 2) X(48, 136, 1) X(56, 168, 2) X(72, 216, 1)
SUM_LOOP(sum_ten, double, TEN_OF_8, 80, 240)
#define GAP_SUM(X, k) X(4 + 40 * (k), 8 + 44 * (k), 10)
#define GAP400_OF_4(X)                                                                                          \
  X(0, 0, 1) GAP_SUM(X, 0) GAP_SUM(X, 1) GAP_SUM(X, 2) GAP_SUM(X, 3) GAP_SUM(X, 4) GAP_SUM(X, 5) GAP_SUM(X, 6) GAP_SUM(X, 7) GAP_SUM(X, 8) X(364, 404, 9)
SUM_LOOP(sum_gap400, float, GAP400_OF_4, 400, 440)
#define ROW_OF_4(X) X(0, 0, 23)
SUM_LOOP(sum_row, float, ROW_OF_4, 92, 128)
#define SIX_OF_4(X) X(0, 0, 1) X(8, 8, 1) X(12, 16, 1) X(20, 24, 1) X(28, 32, 1) X(32, 40, 1)
SUM_LOOP(sum_six, float, SIX_OF_4, 40, 48)

const hand_jit_copy hand_jit_copies[] = {
  { "copy_int_double_char", { INT_DOUBLE_CHAR, "resized(struct([1,1,1],[0,16,24],[int,double,char]),0,32)" }, false, 1000, 13, { 24, 32 }, idc_wider },
  { "copy_12_mixed", { TWELVE_MIXED,
    "resized(struct([1,1,1,3,1,2,1,1,5,1,1,1],[0,8,16,17,24,32,36,40,48,56,60,64],[int,double,char,char,double,int16,int,double,char,int,float,double]),0,88)" },
    false, 200, 61, { 96, 88 }, twelve_closer },
  { "copy_6_pairs", { "resized(indexed_block(2,[0,3,7,12,17,21],int),0,96)", "resized(indexed_block(2,[0,2,6,8,12,16],int),0,80)" }, false, 250, 48, { 96, 80 }, pairs_closer },
  { "copy_6_floats", { "resized(indexed_block(1,[0,2,3,5,7,8],float),0,40)", "resized(vector(6,1,2,float),0,48)" }, false, 500, 24, { 40, 48 }, six_floats },
  { "sum_3_doubles", { NULL, "resized(contiguous(3,double),0,32)" }, true, 500, 24, { 24, 32 }, sum_vectors },
  { "sum_10_doubles", { NULL, TEN_DOUBLES }, true, 64, 80, { 80, 240 }, sum_ten },
  { "sum_gap400", { NULL, "resized(struct([1,9,9],[0,8,404],[float,resized(contiguous(10,float),0,44),float]),0,440)" }, true, 30, 400, { 400, 440 }, sum_gap400 },
  { "sum_23_floats", { NULL, "resized(contiguous(23,float),0,128)" }, true, 192, 92, { 92, 128 }, sum_row },
  { "sum_copy_6_floats", { "resized(indexed_block(1,[0,2,3,5,7,8],float),0,40)", "resized(vector(6,1,2,float),0,48)" }, true, 500, 24, { 40, 48 }, sum_six },
};
const int hand_jit_copies_n = sizeof hand_jit_copies / sizeof hand_jit_copies[0];
