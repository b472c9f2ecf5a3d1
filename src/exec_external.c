/* external32 (MPI-4.1 section 14.5.2): elements one after the other, big-endian, in sizes that are the same everywhere. */
#include "exec_elements.h"
#include "exec_quad.h"

#include <float.h>

#define BIG (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
#define QUAD_KNOWN (LDBL_MANT_DIG == 64 || LDBL_MANT_DIG == 53 || LDBL_MANT_DIG == 113)

/* ---- elements as one or two numbers ---- */

/* Numbers in the other byte order, of w bytes. L: a long, 4 bytes there. Q: a long double, binary128 there. */
enum { NONE, L = -1, Q = LDBL_MANT_DIG == 113 ? 16 : -2 };
static const signed char numbers[LADING_ELEM_MAX][2] = {
  [LADING_BYTE] = { 1 }, [LADING_CHAR] = { 1 }, [LADING_BOOL] = { 1 },
  [LADING_INT8] = { 1 }, [LADING_INT16] = { 2 }, [LADING_INT32] = { 4 }, [LADING_INT64] = { 8 },
  [LADING_UINT8] = { 1 }, [LADING_UINT16] = { 2 }, [LADING_UINT32] = { 4 }, [LADING_UINT64] = { 8 },
  [LADING_FLOAT16] = { 2 }, [LADING_BFLOAT16] = { 2 }, [LADING_FLOAT] = { 4 }, [LADING_DOUBLE] = { 8 }, [LADING_LONG_DOUBLE] = { Q },
  [LADING_C_FLOAT] = { 4, 4 }, [LADING_C_DOUBLE] = { 8, 8 }, [LADING_C_LONG_DOUBLE] = { Q, Q },
  [LADING_FLOAT_INT] = { 4, 4 }, [LADING_DOUBLE_INT] = { 8, 4 }, [LADING_LONG_INT] = { sizeof(long) == 4 ? 4 : L, 4 },
  [LADING_2INT] = { 4, 4 }, [LADING_SHORT_INT] = { 2, 4 }, [LADING_LONG_DOUBLE_INT] = { Q, 4 },
};

/* Every byte there is one here: an element may be cut. */
static bool by_bytes(lading_elem e) { return numbers[e][0] > 0 && numbers[e][1] >= 0; }

#define SWAP_RUN(bits)                                                            \
  static void swap##bits(const char *restrict s, char *restrict d, int64_t n) {   \
    for (int64_t i = 0; i < n; i++) {                                             \
      uint##bits##_t x;                                                           \
      memcpy(&x, s + i * (bits / 8), bits / 8);                                   \
      x = __builtin_bswap##bits(x);                                               \
      memcpy(d + i * (bits / 8), &x, bits / 8);                                   \
    }                                                                             \
  }
SWAP_RUN(16)
SWAP_RUN(32)
SWAP_RUN(64)

/* n numbers of w bytes, either way. */
static void swap_run(int w, const char *s, char *d, int64_t n) {
  if (w == 1 || BIG) memcpy(d, s, (size_t)(n * w));
  else if (w == 2) swap16(s, d, n);
  else if (w == 4) swap32(s, d, n);
  else if (w == 8) swap64(s, d, n);
  else for (; n > 0; n--, s += 16, d += 16) swap64(s, d + 8, 1), swap64(s + 8, d, 1);
}

/* ---- long and long double ---- */

static void put_quad(char *out, ldg_quad q) {
  for (int i = 15; i >= 0; i--, q >>= 8) out[i] = (char)(unsigned char)q;
}
static ldg_quad get_quad(const char *in) {
  ldg_quad q = 0;
  for (int i = 0; i < 16; i++) q = q << 8 | (unsigned char)in[i];
  return q;
}

static void long_double_out(const char *mem, char *out) {
  uint64_t m = 0;
  uint16_t se = 0;
  double d = 0;
  memcpy(&d, mem, sizeof d);
  memcpy(&m, mem, sizeof m);
  if (LDBL_MANT_DIG == 64) memcpy(&se, mem + sizeof m, sizeof se);
  put_quad(out, LDBL_MANT_DIG == 64 ? ldg_quad_of_x87(m, se) : ldg_quad_of_double(d));
}

/* The padding of an x87 number stays. */
static void long_double_in(const char *in, char *mem) {
  uint16_t se;
  const uint64_t m = ldg_x87_of_quad(get_quad(in), &se);
  const double d = ldg_double_of_quad(get_quad(in));
  if (LDBL_MANT_DIG == 64) memcpy(mem, &m, sizeof m), memcpy(mem + sizeof m, &se, sizeof se);
  else memcpy(mem, &d, sizeof d);
}

static bool long_fits(const char *mem) {
  long v;
  memcpy(&v, mem, sizeof v);
  return v == (int32_t)v;
}
static void long_out(const char *mem, char *out) {
  long v;
  memcpy(&v, mem, sizeof v);
  swap_run(4, (const char *)&(int32_t){ (int32_t)v }, out, 1);
}
static void long_in(const char *in, char *mem) {
  int32_t x;
  swap_run(4, in, (char *)&x, 1);
  memcpy(mem, &(long){ x }, sizeof(long));
}

/* ---- whole elements ---- */

enum { CHECK, PACK, UNPACK };

static int64_t bytes_here(int w) { return w == L ? (int64_t)sizeof(long) : w == Q ? (int64_t)sizeof(long double) : w; }
static int64_t bytes_there(int w) { return w == L ? 4 : w == Q ? 16 : w; }

/* False: the number has no place in external32. */
static bool number(int mode, int w, char *mem, char *there) {
  if (mode == CHECK) return w != L || long_fits(mem);
  if (w == L) mode == PACK ? long_out(mem, there) : long_in(there, mem);
  else if (w < 0) mode == PACK ? long_double_out(mem, there) : long_double_in(there, mem);
  else swap_run(w, mode == PACK ? mem : there, mode == PACK ? there : mem, 1);
  return true;
}

static bool elements(int mode, lading_elem e, char *mem, char *there, int64_t n) {
  const int a = numbers[e][0], b = numbers[e][1];
  if (a > 0 && (b == 0 || b == a)) {
    if (mode != CHECK) swap_run(a, mode == PACK ? mem : there, mode == PACK ? there : mem, b ? 2 * n : n);
    return true;
  }
  for (int64_t i = 0; i < n; i++)
    for (int k = 0; k < 2 && numbers[e][k]; k++) {
      if (!number(mode, numbers[e][k], mem, there)) return false;
      mem += bytes_here(numbers[e][k]);
      if (mode != CHECK) there += bytes_there(numbers[e][k]);
    }
  return true;
}

/* ---- split and cut elements ---- */

static bool split_element(int mode, lading_elem e, ldg_strand *s, char *there) {
  char here[LDG_ELEMENT_MAX];
  ldg_scattered at;
  ldg_strand_gather(s, ldg_build_elem_nodes[e].size, &at);
  ldg_scattered_read(&at, here); /* also to unpack: what is no part of the number stays */
  const bool good = elements(mode, e, here, there, 1);
  if (mode == UNPACK) ldg_scattered_write(&at, here);
  return good;
}

/* Where byte i of an element there is here. */
static int64_t mirrored(lading_elem e, int64_t i) {
  const int a = numbers[e][0], b = numbers[e][1];
  if (BIG) return i;
  return i < a ? a - 1 - i : a + b - 1 - (i - a);
}

/* The bytes that are given and no others: someone else may write the rest at the same time. */
static void unpack_cut(const ldg_scattered *at, lading_elem e, const char *there, int64_t from, int64_t to) {
  for (int64_t i = from; i < to; i++) {
    int64_t k = mirrored(e, i);
    int p = 0;
    for (; k >= at->piece[p].len; p++) k -= at->piece[p].len;
    at->piece[p].at[k] = there[i - from];
  }
}

/* Bytes [from, to) of one element. */
static bool cut_element(int mode, lading_elem e, ldg_strand *s, char *there, int64_t from, int64_t to) {
  char here[LDG_ELEMENT_MAX], all[LDG_ELEMENT_MAX];
  ldg_scattered at;
  ldg_strand_gather(s, ldg_build_elem_nodes[e].size, &at);
  if (mode == UNPACK) {
    unpack_cut(&at, e, there, from, to);
    return true;
  }
  if (mode == CHECK && from >= bytes_there(numbers[e][0])) return true; /* nothing of the number that may not fit */
  ldg_scattered_read(&at, here);
  if (!elements(mode, e, here, all, 1)) return false;
  if (mode == PACK) memcpy(there, all + from, (size_t)(to - from));
  return true;
}

/* ---- ranges ---- */

/* At least one element of the next n; how many, or 0: what is there has no place in external32. */
static int64_t some_elements(int mode, lading_elem e, ldg_strand *s, char *there, int64_t n) {
  const int64_t size = ldg_build_elem_nodes[e].size;
  char *mem;
  n = ldg_strand_whole(s, size, n, &mem);
  if (n == 0) return split_element(mode, e, s, there);
  if (!elements(mode, e, mem, there, n)) return 0;
  ldg_cursor_take(&s->c, n * size);
  return n;
}

/* External bytes [lo, hi) of the side; `packed` is the place of byte 0. */
static bool walk(int mode, const ldg_side *side, ldg_sig sig, char *packed, int64_t lo, int64_t hi) {
  ldg_rep items;
  ldg_strand s;
  ldg_elements e;
  int64_t at, into = ldg_elements_seek(&e, sig, LDG_EXTERNAL, lo, &at), n;
  ldg_strand_open(&s, side, &items, at);
  for (; lo < hi; ldg_elements_take(&e, n), into = 0) {
    const int64_t size = ldg_build_elem_nodes[e.kind].external, to = ldg_min(size, into + hi - lo);
    if (to - into < size) n = cut_element(mode, e.kind, &s, ldg_at(packed, lo), into, to), lo += to - into;
    else n = some_elements(mode, e.kind, &s, ldg_at(packed, lo), ldg_min(e.n, (hi - lo) / size)), lo += n * size;
    if (n == 0) return false;
  }
  return true;
}

/* Does byte `at` cut an element that cannot be put together from parts? */
static bool cuts(ldg_sig sig, int64_t at) {
  ldg_elements e;
  return ldg_elements_seek(&e, sig, LDG_EXTERNAL, at, NULL) && !by_bytes(e.kind);
}

#define BIT(e) (UINT32_C(1) << LADING_##e)
#define LONG_DOUBLES (BIT(LONG_DOUBLE) | BIT(C_LONG_DOUBLE) | BIT(LONG_DOUBLE_INT))

int ldg_exec_external(const ldg_side *side, ldg_sig sig, int dir, const char *packed, int64_t lo, int64_t hi) {
  char *there = ldg_at(packed, -lo);
  if (lo == hi) return LADING_OK;
  if (!QUAD_KNOWN && (sig.node->kinds & LONG_DOUBLES)) return LADING_ERR_UNSUPPORTED;
  if (dir == LDG_UNPACK && (cuts(sig, lo) || cuts(sig, hi))) return LADING_ERR_UNSUPPORTED;
  if (dir == LDG_PACK && (sig.node->kinds & BIT(LONG_INT)) && !walk(CHECK, side, sig, there, lo, hi)) return LADING_ERR_UNSUPPORTED;
  walk(dir == LDG_PACK ? PACK : UNPACK, side, sig, there, lo, hi);
  return LADING_OK;
}
