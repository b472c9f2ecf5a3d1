/* build_type: the built-in types, and how any other type comes to be and goes: bounds, make, destroy, resized. */
#include "build.h"

/* ---- the built-in types ---- */

typedef struct float_int { float a; int b; } float_int;
typedef struct double_int { double a; int b; } double_int;
typedef struct long_int { long a; int b; } long_int;
typedef struct two_int { int a, b; } two_int;
typedef struct short_int { short a; int b; } short_int;
typedef struct long_double_int { long double a; int b; } long_double_int;

/* Element, name, the C type whose alignment and extent it has, packed bytes (one run from 0, but for short_int), bytes in
 * external32 (MPI-4.1 section 14.5.2: long is 4 bytes there, long double 16; the 16-bit floats, which the standard does not
 * have, and pairs, which it leaves out, take the bytes of their parts), elements of an MPI signature.
 * 16-bit floats only need a C type of their size; a complex number is two of its parts. */
#define ELEMS(X) \
  X(BYTE, "byte", unsigned char, 1, 1, 1) X(CHAR, "char", char, 1, 1, 1) X(BOOL, "bool", bool, sizeof(bool), 1, 1) \
  X(INT8, "int8", int8_t, 1, 1, 1) X(INT16, "int16", int16_t, 2, 2, 1) \
  X(INT32, "int32", int32_t, 4, 4, 1) X(INT64, "int64", int64_t, 8, 8, 1) \
  X(UINT8, "uint8", uint8_t, 1, 1, 1) X(UINT16, "uint16", uint16_t, 2, 2, 1) \
  X(UINT32, "uint32", uint32_t, 4, 4, 1) X(UINT64, "uint64", uint64_t, 8, 8, 1) \
  X(FLOAT16, "float16", uint16_t, 2, 2, 1) X(BFLOAT16, "bfloat16", uint16_t, 2, 2, 1) \
  X(FLOAT, "float", float, sizeof(float), 4, 1) X(DOUBLE, "double", double, sizeof(double), 8, 1) \
  X(LONG_DOUBLE, "long_double", long double, sizeof(long double), 16, 1) \
  X(C_FLOAT, "c_float", float _Complex, 2 * sizeof(float), 8, 1) \
  X(C_DOUBLE, "c_double", double _Complex, 2 * sizeof(double), 16, 1) \
  X(C_LONG_DOUBLE, "c_long_double", long double _Complex, 2 * sizeof(long double), 32, 1) \
  X(FLOAT_INT, "float_int", float_int, sizeof(float) + sizeof(int), 8, 2) \
  X(DOUBLE_INT, "double_int", double_int, sizeof(double) + sizeof(int), 12, 2) \
  X(LONG_INT, "long_int", long_int, sizeof(long) + sizeof(int), 8, 2) \
  X(2INT, "2int", two_int, 2 * sizeof(int), 8, 2) \
  X(SHORT_INT, "short_int", short_int, sizeof(short) + sizeof(int), 6, 2) \
  X(LONG_DOUBLE_INT, "long_double_int", long_double_int, sizeof(long double) + sizeof(int), 20, 2)

#define NODE(e, name, type, bytes, ext, count) [LADING_##e] = { \
  .refs = LDG_IMMORTAL, .depth = 1, .elem = LADING_##e, .elements = 1, .letters = (count), .size = (bytes), .external = (ext), \
  .kinds = UINT32_C(1) << LADING_##e, .kind = LADING_##e },
const ldg_signode ldg_build_elem_nodes[LADING_ELEM_MAX] = { ELEMS(NODE) };

#define ADJACENT(pair, first) _Static_assert(offsetof(pair, b) == sizeof(first), "the pair is one run")
ADJACENT(float_int, float);
ADJACENT(double_int, double);
ADJACENT(long_int, long);
ADJACENT(two_int, int);
ADJACENT(long_double_int, long double);
_Static_assert(offsetof(short_int, b) > sizeof(short) && sizeof(short_int) == offsetof(short_int, b) + sizeof(int), "two runs");

#define REP(e, name, type, bytes, ext, count) [LADING_##e] = LDG_REP_BYTES(bytes),
static const ldg_rep reps[LADING_ELEM_MAX] = { ELEMS(REP) };

static const ldg_rep short_part = LDG_REP_BYTES(sizeof(short)), int_part = LDG_REP_BYTES(sizeof(int));
static const int64_t short_int_at[] = { 0, offsetof(short_int, b) };
static const int64_t short_int_rsum[] = { 0, 1, 2 }; /* given, so that no one hangs one onto a static node */
static const int64_t short_int_psum[] = { 0, sizeof(short), sizeof(short) + sizeof(int) };
static const ldg_rep *const short_int_kids[] = { &short_part, &int_part };
static const ldg_rep short_int_rep = {
  .refs = LDG_IMMORTAL, .kind = LDG_JOIN, .depth = 2, .nodes = 3, .n = 2, .at = short_int_at, .kids = short_int_kids,
  .psum = short_int_psum, .size = sizeof(short) + sizeof(int), .hi = sizeof(short_int), .end = sizeof(short_int),
  .runs = 2, .rsum = short_int_rsum
};

/* The padding of a pair is an epsilon, not a marker (MPI-4.1 section 6.9.4 makes pairs as struct types). */
#define TYPE(e, name, type, bytes, ext, count) [LADING_##e] = { \
  .refs = LDG_IMMORTAL, .rep = LADING_##e == LADING_SHORT_INT ? &short_int_rep : &reps[LADING_##e], \
  .sig = { 1, &ldg_build_elem_nodes[LADING_##e] }, .ub = sizeof(type), .align = _Alignof(type) },
static lading_type types[LADING_ELEM_MAX] = { ELEMS(TYPE) }; /* not const: plans are hung onto them */

#define NAME(e, name, type, bytes, ext, count) [LADING_##e] = name,
static const char *const names[LADING_ELEM_MAX] = { ELEMS(NAME) };

const lading_type *lading_elem_type(lading_elem elem) {
  return (unsigned)elem < LADING_ELEM_MAX ? &types[elem] : NULL;
}

const char *ldg_build_elem_name(lading_elem e) {
  return (unsigned)e < LADING_ELEM_MAX ? names[e] : "mixed";
}

/* ---- bounds, MPI-4.1 section 5.1.7 ---- */

ldg_bounds ldg_build_bounds(const lading_type *t) {
  return (ldg_bounds){ .lb = t->lb, .ub = t->ub, .any = t->rep->size > 0 || t->marked, .marked = t->marked };
}

int ldg_build_shift(ldg_bounds *b, int64_t lo, int64_t hi) {
  int64_t lb, ub;
  if (!b->any) return LADING_OK;
  if (ldg_add(b->lb, lo, &lb) || ldg_add(b->ub, hi, &ub)) return LADING_ERR_OVERFLOW;
  b->lb = lb;
  b->ub = ub;
  return LADING_OK;
}

int ldg_build_spread(ldg_bounds *b, int64_t n, int64_t stride) {
  int64_t last;
  if (!b->any) return LADING_OK;
  if (ldg_mul(n - 1, stride, &last)) return LADING_ERR_OVERFLOW;
  return ldg_build_shift(b, ldg_min(last, 0), ldg_max(last, 0));
}

ldg_bounds ldg_build_unite(ldg_bounds a, ldg_bounds b) {
  if (!b.any || (a.marked && !b.marked)) return a;
  if (!a.any || (b.marked && !a.marked)) return b;
  a.lb = ldg_min(a.lb, b.lb);
  a.ub = ldg_max(a.ub, b.ub);
  return a;
}

/* ---- reps without idle nodes ---- */

int ldg_build_loop(int64_t n, int64_t stride, const ldg_rep *child, const ldg_rep **out) {
  if (n == 1 || child->size == 0) {
    *out = child;
    return LADING_OK;
  }
  int r = n ? ldg_rep_repeat(n, stride, child, out) : LADING_OK;
  if (n == 0) *out = &ldg_rep_nothing;
  ldg_rep_free(child);
  return r;
}

int ldg_build_place(int64_t at, const ldg_rep *child, const ldg_rep **out) {
  if (at == 0 || child->size == 0) {
    *out = child;
    return LADING_OK;
  }
  int r = ldg_rep_join(1, &at, &child, out);
  ldg_rep_free(child);
  return r;
}

/* ---- types ---- */

static bool extents_fit(const ldg_rep *rep, ldg_bounds b) {
  int64_t extent;
  return !ldg_sub(b.ub, b.lb, &extent) && !ldg_sub(rep->hi, rep->lo, &extent);
}

static int nested(const ldg_rep *rep) {
  return rep->depth > LADING_DEPTH_MAX ? LADING_ERR_DEPTH : rep->nodes > LDG_BUILD_NODES_MAX ? LADING_ERR_OVERFLOW : LADING_OK;
}

int ldg_build_make(const ldg_rep *rep, ldg_sig sig, ldg_bounds b, int64_t align, lading_type **out) {
  const int e = nested(rep);
  if (e) ldg_rep_free(rep);
  return e ? e : ldg_build_own(rep, sig, b, align, out);
}

int ldg_build_own(const ldg_rep *rep, ldg_sig sig, ldg_bounds b, int64_t align, lading_type **out) {
  bool fit = extents_fit(rep, b);
  lading_type *t = fit ? ldg_alloc((int64_t)sizeof *t) : NULL;
  if (!t) {
    ldg_rep_free(rep);
    return fit ? LADING_ERR_NOMEM : LADING_ERR_OVERFLOW;
  }
  ldg_build_sig_ref(sig);
  atomic_init(&t->refs, 1);
  t->rep = rep;
  t->sig = sig;
  t->lb = b.lb;
  t->ub = b.ub;
  t->align = rep->size > 0 ? align : 1;
  t->marked = b.marked;
  atomic_init(&t->plan, NULL);
  atomic_init(&t->named, 0);
  *out = t;
  return LADING_OK;
}

int ldg_build_empty(lading_type **out) {
  return ldg_build_make(&ldg_rep_nothing, (ldg_sig){ 0 }, (ldg_bounds){ 0 }, 1, out);
}

int ldg_build_from_rep(const ldg_rep *rep, lading_type **out) {
  if (!rep || !out) return LADING_ERR_ARG;
  if (rep->size == 0) return ldg_build_empty(out);
  ldg_sig bytes = { rep->size, &ldg_build_elem_nodes[LADING_BYTE] };
  ldg_bounds b = { .lb = rep->lo, .ub = rep->hi, .any = true };
  return ldg_build_own(ldg_rep_ref(rep), bytes, b, 1, out);
}

void ldg_build_destroy(lading_type *t) {
  ldg_rep_free(t->rep);
  ldg_build_sig_free(t->sig);
  ldg_free(t);
}

static bool immortal(const lading_type *t) {
  return atomic_load_explicit(&t->refs, memory_order_relaxed) == LDG_IMMORTAL;
}

lading_type *lading_type_ref(const lading_type *type) {
  lading_type *t = (lading_type *)type;
  if (t && !immortal(t)) atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
  return t;
}

int lading_type_resized(const lading_type *old, int64_t lb, int64_t extent, lading_type **out) {
  ldg_bounds b = { .lb = lb, .any = true, .marked = true };
  if (!old || !out) return LADING_ERR_ARG;
  if (ldg_add(lb, extent, &b.ub)) return LADING_ERR_OVERFLOW;
  return ldg_build_own(ldg_rep_ref(old->rep), old->sig, b, old->align, out);
}
