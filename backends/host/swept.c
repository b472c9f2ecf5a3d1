/* Blocks in any order of which many share each line, as those of particles and of unstructured meshes do. From memory their lines come one by one, since nobody
 * foresees them; from end to end a processor foresees them all, and the blocks then find theirs in the second cache. A prefetch in that order
 * gains a fourth of what a read does, since what foresees lines goes by reads (bench/README.md). Where lines are near it takes longer, so it is tried (trial.h). */
#include "swept.h"
#include "kernels.h"

#include "base_model.h"
#include "trial.h"

enum {
  LINE = 64, PAGE = 4096,
  LINES_EACH = 2,        /* lines from end to end for each block, at most: of more most would be read in vain */
  CELLS = (1 << 21) / (PAGE / 2) /* half pages that a list may reach over */
};

typedef struct swept { int32_t lo, lines; } swept;
_Static_assert(sizeof(ldg_long) <= LDG_SWEPT_AT && LDG_SWEPT_AT + sizeof(swept) <= LDG_ASKED_AT, "it fits between what lists and what those that ask go by");
static swept *swept_of(const ldg_job *j) { return (swept *)((uintptr_t)(const void *)j->own + LDG_SWEPT_AT); }

typedef struct hull { int64_t lo, hi; } hull;
static hull hull_of(const ldg_nest *n) {
  hull h = { n->at4[0], n->at4[0] };
  for (int64_t i = 1; i < n->dim[0].n; i++) h.lo = ldg_min(h.lo, n->at4[i]), h.hi = ldg_max(h.hi, n->at4[i]);
  h.hi += n->block;
  return h;
}
static int64_t lines_of(hull h) { return (h.hi - h.lo + LINE - 1) / LINE; }

/* If each half page of it has the first byte of a block, any two that have none between them are less than a page apart: then no page is read but the message's own. */
static bool is_close(const ldg_nest *n, hull h) {
  unsigned char has[CELLS] = { 0 };
  const int64_t cells = (h.hi - n->block - h.lo) / (PAGE / 2) + 1;
  int64_t left = cells;
  if (cells > CELLS) return false;
  for (int64_t i = 0; left > 0 && i < n->dim[0].n; i++) {
    unsigned char *cell = &has[(n->at4[i] - h.lo) / (PAGE / 2)];
    left -= !*cell, *cell = 1;
  }
  return left == 0;
}

const char *ldg_swept_why_not(const ldg_nest *n) {
  if (!ldg_model_count(LDG_MODEL_TOUCHED)) return "this machine was not seen to gain by what is read first";
  if (!n->at || n->at2 || n->psum || n->nd > 1 || !n->at4) return "not one list of blocks of one length, and of short offsets";
  if (n->block > LINE) return "blocks are long";
  if (n->once) return "one call does not find out whether that is faster";
  if (n->dim[0].n < LDG_TRIAL_LEAST / LINE) return "blocks are few";
  if (n->span > 2 * ldg_model_footprint(LDG_MODEL_L2)) return "the second cache does not hold its lines"; /* its level is halfway */
  if (n->span / LINE > LINES_EACH * n->dim[0].n) return "most lines have no block";
  return is_close(n, hull_of(n)) ? NULL : "blocks may be a page apart";
}

/* Gaps are read, which others may be writing to: nothing is made of what is read. */
__attribute__((no_sanitize("thread"), no_sanitize("address"))) static void sweep(const volatile char *at, int64_t lines) {
  for (; lines > 0; lines--, at += LINE) (void)*at;
}

/* A part of a list has blocks anywhere. */
static int run(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) {
  const swept s = *swept_of(j);
  if (s.lines <= LINES_EACH * n) sweep((j->nest.list == LDG_LIST_DST ? dst : src) + s.lo, s.lines);
  return ldg_trial_way(j, 0)(j, src, dst, i0, n);
}

ldg_run *ldg_swept_way(ldg_job *j) {
  if (ldg_swept_why_not(&j->nest)) return NULL;
  const hull h = hull_of(&j->nest);
  *swept_of(j) = (swept){ (int32_t)h.lo, (int32_t)lines_of(h) };
  return run;
}
