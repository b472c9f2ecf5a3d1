/* build_array: subarray and darray (MPI-4.1 sections 5.1.3 and 5.1.4). Both go through the dimensions from the fastest to
 * the slowest in memory; `slab` is the extent of what one step of the current dimension holds, that is of the FULL array
 * below it, whatever part of it is taken. The bounds are those of the full array, as markers. */
#include "build.h"

/* The part of the array below the current dimension: rep at offset `at`, the items in it, and the slab. */
typedef struct part {
  const ldg_rep *rep;
  int64_t at, slab;
  ldg_sig sig;
} part;

static part whole_item(const lading_type *old) {
  return (part){ .rep = ldg_rep_ref(old->rep), .slab = ldg_build_extent(old), .sig = old->sig };
}

static int nth_dim(int i, int ndims, lading_order order) {
  return order == LADING_ORDER_C ? ndims - 1 - i : i;
}

static bool valid_order(lading_order order) {
  return order == LADING_ORDER_C || order == LADING_ORDER_FORTRAN;
}

/* Takes over p->rep. */
static int part_type(part *p, const lading_type *old, lading_type **out) {
  const ldg_rep *rep;
  ldg_bounds b = { .ub = p->slab, .any = true, .marked = true };
  int r = ldg_build_place(p->at, p->rep, &rep);
  return r ? r : ldg_build_make(rep, p->sig, b, old->align, out);
}

/* ---- a dimension ---- */

/* What is taken of a dimension: `full` blocks one period apart, then one of `rest` slabs, the first at slab `start`. */
typedef struct hand { int64_t start, full, period, rest; } hand;

static int full_rep(const hand *h, int64_t block, int64_t slab, const ldg_rep *item, const ldg_rep **out) {
  const ldg_rep *one;
  int r = ldg_build_loop(block, slab, ldg_rep_ref(item), &one);
  return r ? r : ldg_build_loop(h->full, h->period * slab, one, out);
}

/* full blocks and a rest, both there */
static int mixed_rep(const hand *h, int64_t block, int64_t slab, const ldg_rep *item, const ldg_rep **out) {
  const ldg_rep *kid[2];
  int64_t at[2] = { 0, h->full * h->period * slab };
  int r = full_rep(h, block, slab, item, &kid[0]);
  if (r) return r;
  r = ldg_build_loop(h->rest, slab, ldg_rep_ref(item), &kid[1]);
  if (!r) {
    r = ldg_rep_join(2, at, kid, out);
    ldg_rep_free(kid[1]);
  }
  ldg_rep_free(kid[0]);
  return r;
}

static int hand_rep(const hand *h, int64_t block, int64_t slab, const ldg_rep *item, const ldg_rep **out) {
  if (item->size == 0 || (h->full == 0 && h->rest == 0)) {
    *out = &ldg_rep_nothing;
    return LADING_OK;
  }
  if (h->rest == 0) return full_rep(h, block, slab, item, out);
  if (h->full == 0) return ldg_build_loop(h->rest, slab, ldg_rep_ref(item), out);
  return mixed_rep(h, block, slab, item, out);
}

/* Of `size` slabs. Nothing that lies inside the array can overflow when its extent does not. */
static int take(part *p, int64_t size, const hand *h, int64_t block) {
  int64_t slab;
  const ldg_rep *rep;
  if (ldg_mul(p->slab, size, &slab)) return LADING_ERR_OVERFLOW;
  int r = ldg_build_sig_times(p->sig, h->full * block + h->rest, &p->sig);
  if (r || ldg_add(p->at, h->start * p->slab, &p->at)) return r ? r : LADING_ERR_OVERFLOW;
  r = hand_rep(h, block, p->slab, p->rep, &rep);
  if (r) return r;
  ldg_rep_free(p->rep);
  p->rep = rep;
  p->slab = slab;
  return LADING_OK;
}

/* ---- subarray ---- */

static bool valid_subarray(int ndims, const int64_t *sizes, const int64_t *subsizes, const int64_t *starts) {
  if (ndims < 1 || !sizes || !subsizes || !starts) return false;
  for (int d = 0; d < ndims; d++)
    if (subsizes[d] < 0 || starts[d] < 0 || subsizes[d] > sizes[d] || starts[d] > sizes[d] - subsizes[d]) return false;
  return true;
}

int lading_type_subarray(int ndims, const int64_t *sizes, const int64_t *subsizes, const int64_t *starts, lading_order order,
                         const lading_type *old, lading_type **out) {
  if (!valid_subarray(ndims, sizes, subsizes, starts) || !valid_order(order) || !old || !out) return LADING_ERR_ARG;
  part p = whole_item(old);
  for (int i = 0; i < ndims; i++) {
    const int d = nth_dim(i, ndims, order);
    const hand h = { .start = starts[d], .rest = subsizes[d] };
    const int r = take(&p, sizes[d], &h, 0);
    if (r) {
      ldg_rep_free(p.rep);
      return r;
    }
  }
  return part_type(&p, old, out);
}

/* ---- darray ---- */

/* One dimension: gsize slabs dealt in blocks of `block` to `procs` processes, of which this is number `coord`. */
typedef struct deal { int64_t gsize, block, procs, coord; } deal;

/* Block and none are a deal of one round: block * procs covers the dimension. */
static int make_deal(lading_distrib distrib, int64_t gsize, int64_t darg, int64_t procs, deal *d) {
  bool given = darg != LADING_DARG_DEFAULT;
  if (gsize < 1 || procs < 1 || (given && darg < 1)) return LADING_ERR_ARG;
  *d = (deal){ .gsize = gsize, .procs = procs, .block = darg };
  switch (distrib) {
  case LADING_DISTRIB_BLOCK:
    if (!given) d->block = gsize / procs + (gsize % procs != 0);
    return (__int128)d->block * procs >= gsize ? LADING_OK : LADING_ERR_ARG;
  case LADING_DISTRIB_CYCLIC:
    if (!given) d->block = 1;
    return LADING_OK;
  case LADING_DISTRIB_NONE:
    d->block = gsize;
    return procs == 1 ? LADING_OK : LADING_ERR_ARG;
  }
  return LADING_ERR_ARG;
}

static hand play(const deal *d) {
  __int128 start = (__int128)d->block * d->coord, period = (__int128)d->block * d->procs;
  if (start >= d->gsize) return (hand){ 0 };
  int64_t left = d->gsize - (int64_t)start;
  hand h = { .start = (int64_t)start, .rest = left };
  if (period <= left) {
    h.period = (int64_t)period;
    h.full = left / h.period;
    h.rest = left % h.period;
  }
  h.rest = ldg_min(h.rest, d->block);
  if (h.rest == d->block) { /* the last block is whole; a single one needs no period */
    h.full++;
    h.rest = 0;
  }
  return h;
}

static bool valid_grid(int64_t size, int64_t rank, int ndims, const int64_t *psizes) {
  int64_t procs = 1;
  if (rank < 0 || rank >= size) return false;
  for (int d = 0; d < ndims; d++)
    if (psizes[d] < 1 || ldg_mul(procs, psizes[d], &procs)) return false;
  return procs == size;
}

/* Process grids are row-major whatever the storage order: the last dimension's coordinate changes fastest. *step, ranks to the next process of a dimension, goes along: dimensions come from the
 * last one on, or, as Fortran has them, from the first one. */
static int64_t coord_of(int64_t rank, int64_t p, lading_order order, int64_t *step) {
  if (order != LADING_ORDER_C) *step /= p;
  const int64_t coord = rank / *step % p;
  if (order == LADING_ORDER_C) *step *= p;
  return coord;
}

int lading_type_darray(int64_t size, int64_t rank, int ndims, const int64_t *gsizes, const lading_distrib *distribs,
                       const int64_t *dargs, const int64_t *psizes, lading_order order, const lading_type *old, lading_type **out) {
  if (ndims < 1 || !gsizes || !distribs || !dargs || !psizes || !valid_order(order) || !old || !out) return LADING_ERR_ARG;
  if (!valid_grid(size, rank, ndims, psizes)) return LADING_ERR_ARG;
  part p = whole_item(old);
  int64_t step = order == LADING_ORDER_C ? 1 : size;
  for (int i = 0; i < ndims; i++) {
    int k = nth_dim(i, ndims, order);
    deal d;
    int r = make_deal(distribs[k], gsizes[k], dargs[k], psizes[k], &d);
    d.coord = r ? 0 : coord_of(rank, psizes[k], order, &step);
    const hand h = r ? (hand){ 0 } : play(&d);
    if (!r) r = take(&p, d.gsize, &h, d.block);
    if (r) {
      ldg_rep_free(p.rep);
      return r;
    }
  }
  return part_type(&p, old, out);
}
