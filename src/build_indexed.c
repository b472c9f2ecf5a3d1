/* build_indexed: the index constructors (MPI-4.1 section 5.1.2). Two builders, for blocks of one length and of many;
 * displacements become bytes by one multiplier. Lists are long: every loop over them is a plain one, checks are outside. */
#include "build.h"

typedef struct range { int64_t lo, hi; } range;

static range range_of(int64_t n, const int64_t *v) {
  range r = { v[0], v[0] };
  for (int64_t i = 1; i < n; i++) {
    r.lo = ldg_min(r.lo, v[i]);
    r.hi = ldg_max(r.hi, v[i]);
  }
  return r;
}

/* Byte offsets of a list: the caller's own when the scale is 1, else in `own`. */
typedef struct offsets { const int64_t *at; int64_t *own; range range; } offsets;

/* A product lies between those of the extreme displacements, so checking these two is enough. */
static int scaled_range(range d, int64_t scale, range *out) {
  int64_t a, b;
  if (ldg_mul(d.lo, scale, &a) || ldg_mul(d.hi, scale, &b)) return LADING_ERR_OVERFLOW;
  *out = (range){ ldg_min(a, b), ldg_max(a, b) };
  return LADING_OK;
}

static int scale_offsets(int64_t n, const int64_t *displs, int64_t scale, offsets *o) {
  int r = scaled_range(range_of(n, displs), scale, &o->range);
  o->own = NULL;
  o->at = displs;
  if (r || scale == 1) return r;
  o->own = ldg_alloc(n * (int64_t)sizeof *o->own);
  if (!o->own) return LADING_ERR_NOMEM;
  for (int64_t i = 0; i < n; i++) o->own[i] = displs[i] * scale;
  o->at = o->own;
  return LADING_OK;
}

/* ---- blocks of one length ---- */

static int fixed_rep(int64_t n, int64_t blocklen, const int64_t *at, const lading_type *old, const ldg_rep **out) {
  const ldg_rep *block;
  int r = ldg_build_loop(blocklen, ldg_build_extent(old), ldg_rep_ref(old->rep), &block);
  if (r) return r;
  if (n == 1 || block->size == 0) return ldg_build_place(at[0], block, out);
  r = ldg_rep_blocks(n, at, NULL, 0, block, out);
  ldg_rep_free(block);
  return r;
}

static int fixed_type(int64_t n, int64_t blocklen, const offsets *o, const lading_type *old, lading_type **out) {
  ldg_bounds b = ldg_build_bounds(old);
  ldg_sig sig;
  const ldg_rep *rep;
  int r = ldg_build_spread(&b, blocklen, ldg_build_extent(old));
  if (!r) r = ldg_build_shift(&b, o->range.lo, o->range.hi);
  if (!r) r = ldg_build_sig_times(old->sig, blocklen, &sig);
  if (!r) r = ldg_build_sig_times(sig, n, &sig);
  if (!r) r = fixed_rep(n, blocklen, o->at, old, &rep);
  return r ? r : ldg_build_make(rep, sig, b, old->align, out);
}

static int fixed(int64_t n, int64_t blocklen, const int64_t *displs, int64_t scale, const lading_type *old, lading_type **out) {
  offsets o;
  if (n < 0 || blocklen < 0 || (n > 0 && !displs) || !old || !out) return LADING_ERR_ARG;
  if (n == 0 || blocklen == 0 || !ldg_build_bounds(old).any) return ldg_build_empty(out);
  int r = scale_offsets(n, displs, scale, &o);
  if (r) return r;
  r = fixed_type(n, blocklen, &o, old, out);
  ldg_free(o.own);
  return r;
}

/* ---- blocks of many lengths, all at least 1 ---- */

/* Where the items of all blocks start, the first and the last of each: at[i] + (lens[i] - 1) * extent, which may need 127 bits. */
static int item_range(int64_t n, const int64_t *lens, const offsets *o, int64_t extent, range *out) {
  __int128 lo = o->range.lo, hi = o->range.hi;
  for (int64_t i = 0; i < n; i++) {
    __int128 v = (__int128)(lens[i] - 1) * extent + o->at[i];
    lo = v < lo ? v : lo;
    hi = v > hi ? v : hi;
  }
  if (lo < INT64_MIN || hi > INT64_MAX) return LADING_ERR_OVERFLOW;
  *out = (range){ (int64_t)lo, (int64_t)hi };
  return LADING_OK;
}

/* Items without bytes: only their markers count. */
static int varied_void(int64_t n, const int64_t *lens, const offsets *o, const lading_type *old, lading_type **out) {
  ldg_bounds b = ldg_build_bounds(old);
  range item;
  int r = item_range(n, lens, o, ldg_build_extent(old), &item);
  if (!r) r = ldg_build_shift(&b, item.lo, item.hi);
  return r ? r : ldg_build_make(&ldg_rep_nothing, old->sig, b, 1, out);
}

/* The rep has been through the list and knows what is asked here: how far the copies of `old` reach, and how many there are. */
static int varied_facts(const ldg_rep *rep, const lading_type *old, ldg_bounds *b, ldg_sig *sig) {
  int64_t lo, hi;
  if (ldg_sub(rep->lo, old->rep->lo, &lo) || ldg_sub(rep->hi, old->rep->hi, &hi)) return LADING_ERR_OVERFLOW;
  int r = ldg_build_shift(b, lo, hi);
  return r ? r : ldg_build_sig_times(old->sig, rep->size / old->rep->size, sig);
}

static int varied_type(int64_t n, const int64_t *lens, const offsets *o, const lading_type *old, lading_type **out) {
  ldg_bounds b = ldg_build_bounds(old);
  ldg_sig sig;
  const ldg_rep *rep;
  if (old->rep->size == 0) return varied_void(n, lens, o, old, out);
  int r = ldg_rep_blocks(n, o->at, lens, ldg_build_extent(old), old->rep, &rep);
  if (r) return r;
  r = varied_facts(rep, old, &b, &sig);
  if (!r) return ldg_build_make(rep, sig, b, old->align, out);
  ldg_rep_free(rep);
  return r;
}

static int varied_full(int64_t n, const int64_t *lens, const int64_t *displs, int64_t scale, const lading_type *old, lading_type **out) {
  offsets o;
  int r = scale_offsets(n, displs, scale, &o);
  if (r) return r;
  r = varied_type(n, lens, &o, old, out);
  ldg_free(o.own);
  return r;
}

static int varied(int64_t n, const int64_t *lens, const int64_t *displs, int64_t scale, const lading_type *old, lading_type **out);

/* Blocks of length 0 leave no trace, so their displacements are free to be anything: they go before any arithmetic. */
static int varied_sparse(int64_t n, const int64_t *lens, const int64_t *displs, int64_t scale, const lading_type *old, lading_type **out) {
  int64_t *full_lens = ldg_alloc(2 * n * (int64_t)sizeof *full_lens), full = 0;
  if (!full_lens) return LADING_ERR_NOMEM;
  int64_t *full_displs = full_lens + n;
  for (int64_t i = 0; i < n; i++) {
    full_lens[full] = lens[i];
    full_displs[full] = displs[i];
    full += lens[i] > 0;
  }
  int r = varied(full, full_lens, full_displs, scale, old, out);
  ldg_free(full_lens);
  return r;
}

static int varied(int64_t n, const int64_t *lens, const int64_t *displs, int64_t scale, const lading_type *old, lading_type **out) {
  if (n < 0 || (n > 0 && (!lens || !displs)) || !old || !out) return LADING_ERR_ARG;
  if (n == 0) return ldg_build_empty(out);
  range len = range_of(n, lens);
  if (len.lo < 0) return LADING_ERR_ARG;
  if (len.hi == 0 || !ldg_build_bounds(old).any) return ldg_build_empty(out);
  if (len.lo == len.hi) return fixed(n, len.lo, displs, scale, old, out);
  if (len.lo == 0) return varied_sparse(n, lens, displs, scale, old, out);
  return varied_full(n, lens, displs, scale, old, out);
}

/* ---- the constructors ---- */

int lading_type_indexed(int64_t count, const int64_t *blocklens, const int64_t *displs, const lading_type *old, lading_type **out) {
  return old ? varied(count, blocklens, displs, ldg_build_extent(old), old, out) : LADING_ERR_ARG;
}

int lading_type_hindexed(int64_t count, const int64_t *blocklens, const int64_t *displs_bytes, const lading_type *old, lading_type **out) {
  return varied(count, blocklens, displs_bytes, 1, old, out);
}

int lading_type_indexed_block(int64_t count, int64_t blocklen, const int64_t *displs, const lading_type *old, lading_type **out) {
  return old ? fixed(count, blocklen, displs, ldg_build_extent(old), old, out) : LADING_ERR_ARG;
}

int lading_type_hindexed_block(int64_t count, int64_t blocklen, const int64_t *displs_bytes, const lading_type *old, lading_type **out) {
  return fixed(count, blocklen, displs_bytes, 1, old, out);
}
