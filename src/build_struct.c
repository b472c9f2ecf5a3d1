/* build_struct: struct types (MPI-4.1 section 5.1.2), and the alignment epsilon, which no other constructor applies.
 *
 * The rule for the upper bound (the standard leaves room here; MPI libraries differ): markers anywhere below decide it alone, as
 * they stand; else the data does, and the extent is rounded up to the strictest alignment of any basic element below. The
 * rounding leaves no marker, but an enclosing constructor sees the rounded bound, as every MPI does it. */
#include "build.h"

/* The entries that hold bytes, as they come: places and reps for the join, runs of equal nodes for the signature. */
typedef struct fields {
  int64_t n, parts;
  int64_t *at;
  const ldg_rep **kid; /* each with a reference */
  ldg_sig *part;
  ldg_bounds bounds;
  int64_t align;
} fields;

static int open_fields(int64_t count, fields *f) {
  int64_t bytes, each = sizeof *f->part + sizeof *f->at + sizeof *f->kid;
  memset(f, 0, sizeof *f);
  f->align = 1;
  if (ldg_mul(count, each, &bytes)) return LADING_ERR_OVERFLOW;
  f->part = ldg_alloc(bytes);
  if (!f->part) return LADING_ERR_NOMEM;
  f->at = (int64_t *)(f->part + count);
  f->kid = (const ldg_rep **)(f->at + count);
  return LADING_OK;
}

static void close_fields(fields *f) {
  for (int64_t i = 0; i < f->n; i++) ldg_rep_free(f->kid[i]);
  ldg_free(f->part);
}

static int add_part(fields *f, ldg_sig sig) {
  ldg_sig *last = f->parts ? &f->part[f->parts - 1] : NULL;
  if (!last || last->node != sig.node) {
    f->part[f->parts++] = sig;
    return LADING_OK;
  }
  return ldg_add(last->n, sig.n, &last->n) ? LADING_ERR_OVERFLOW : LADING_OK;
}

static int add_bounds(fields *f, int64_t blocklen, int64_t at, const lading_type *old) {
  ldg_bounds b = ldg_build_bounds(old);
  int r = ldg_build_spread(&b, blocklen, ldg_build_extent(old));
  if (!r) r = ldg_build_shift(&b, at, at);
  if (!r) f->bounds = ldg_build_unite(f->bounds, b);
  return r;
}

/* `same`: the entry repeats the block of the one before, and shares its rep */
static int add_field(fields *f, int64_t blocklen, int64_t at, const lading_type *old, bool same) {
  const ldg_rep *kid;
  ldg_sig sig;
  int r = add_bounds(f, blocklen, at, old);
  if (r || old->rep->size == 0) return r;
  r = ldg_build_sig_times(old->sig, blocklen, &sig);
  if (!r) r = add_part(f, sig);
  if (r) return r;
  if (same && f->n) kid = ldg_rep_ref(f->kid[f->n - 1]);
  else r = ldg_build_loop(blocklen, ldg_build_extent(old), ldg_rep_ref(old->rep), &kid);
  if (r) return r;
  f->at[f->n] = at;
  f->kid[f->n++] = kid;
  f->align = ldg_max(f->align, old->align);
  return LADING_OK;
}

static int add_fields(fields *f, int64_t count, const int64_t *blocklens, const int64_t *displs, const lading_type *const *olds) {
  for (int64_t i = 0; i < count; i++) {
    bool same = i && olds[i] == olds[i - 1] && blocklens[i] == blocklens[i - 1];
    if (blocklens[i] == 0) continue;
    int r = add_field(f, blocklens[i], displs[i], olds[i], same);
    if (r) return r;
  }
  return LADING_OK;
}

static int add_epsilon(ldg_bounds *b, int64_t align) {
  int64_t extent;
  if (!b->any || b->marked) return LADING_OK;
  if (ldg_sub(b->ub, b->lb, &extent)) return LADING_ERR_OVERFLOW;
  int64_t over = extent % align; /* data bounds may lie the wrong way round: children may have negative extents */
  if (over) over = over > 0 ? align - over : -over;
  return ldg_build_shift(b, 0, over);
}

static int fields_rep(const fields *f, const ldg_rep **out) {
  *out = &ldg_rep_nothing;
  if (f->n == 0) return LADING_OK;
  if (f->n == 1) return ldg_build_place(f->at[0], ldg_rep_ref(f->kid[0]), out);
  return ldg_rep_join(f->n, f->at, f->kid, out);
}

/* The rep comes before the signature: it proves that the bytes can be counted, hence the elements. */
static int fields_type(fields *f, lading_type **out) {
  const ldg_rep *rep;
  ldg_sig sig;
  int r = add_epsilon(&f->bounds, f->align);
  if (!r) r = fields_rep(f, &rep);
  if (r) return r;
  r = ldg_build_sig_join(f->parts, f->part, &sig);
  if (r) {
    ldg_rep_free(rep);
    return r;
  }
  r = ldg_build_make(rep, sig, f->bounds, f->align, out);
  ldg_build_sig_free(sig);
  return r;
}

static bool valid(int64_t count, const int64_t *blocklens, const int64_t *displs, const lading_type *const *olds) {
  if (count < 0 || (count > 0 && (!blocklens || !displs || !olds))) return false;
  for (int64_t i = 0; i < count; i++)
    if (blocklens[i] < 0 || !olds[i]) return false;
  return true;
}

int lading_type_struct(int64_t count, const int64_t *blocklens, const int64_t *displs_bytes, const lading_type *const *olds,
                       lading_type **out) {
  fields f;
  if (!valid(count, blocklens, displs_bytes, olds) || !out) return LADING_ERR_ARG;
  int r = open_fields(count, &f);
  if (r) return r;
  r = add_fields(&f, count, blocklens, displs_bytes, olds);
  if (!r) r = fields_type(&f, out);
  close_fields(&f);
  return r;
}
