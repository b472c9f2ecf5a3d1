/* Blocks in any order of which many share each line, as those of particles and of unstructured meshes do. From memory their lines come one by one, since nobody
 * foresees them; from end to end a processor foresees them all, and the blocks then find theirs in the second cache. A prefetch in that order
 * gains a fourth of what a read does, since what foresees lines goes by reads (bench/README.md). Where lines are near it takes longer, so it is tried (trial.h). */
#include "swept.h"
#include "kernels.h"

#include "base_model.h"
#include "base_trial.h"

enum {
  LINE = 64, PAGE = 4096,
  LINES_EACH = 2,        /* lines from end to end for each block, at most: of more most would be read in vain */
  REACH = 1 << 21,       /* bytes that a list may reach over */
  CELL = PAGE / 2        /* bytes */
};

/* Behind what lists go by, which has the kernel that moves the blocks. */
typedef struct swept { int32_t lo, lines; } swept;
_Static_assert(sizeof(ldg_long) + sizeof(swept) <= LDG_ASKED_AT, "it leaves what those go by that ask");
static ldg_long *long_at(const ldg_job *j) { return (ldg_long *)(uintptr_t)(const void *)j->own; }
static swept *swept_of(const ldg_job *j) { return (swept *)(void *)(long_at(j) + 1); }

typedef struct hull { int64_t lo, hi; } hull;
static hull hull_of(const ldg_nest *n) {
  hull h = { n->at4[0], n->at4[0] };
  for (int64_t i = 1; i < n->dim[0].n; i++) h.lo = ldg_min(h.lo, n->at4[i]), h.hi = ldg_max(h.hi, n->at4[i]);
  h.hi += n->block;
  return h;
}

/* If each half page from the first byte on has the first byte of a block, any two that have none between them are less than a page apart: then no page is read but the message's own. */
static bool is_close(const ldg_nest *n, hull h) {
  unsigned char has[REACH / CELL] = { 0 };
  int64_t left = (h.hi - n->block - h.lo) / CELL + 1;
  for (int64_t i = 0; left > 0 && i < n->dim[0].n; i++) {
    unsigned char *cell = &has[(n->at4[i] - h.lo) / CELL];
    left -= !*cell, *cell = 1;
  }
  return left == 0;
}

static const char *why_not(const ldg_nest *n) {
  if (!n->at) return "the blocks are not listed";
  if (n->at2 || n->psum || n->nd > 1 || !n->at4) return "not one list of blocks of one length, and of short offsets";
  if (!ldg_model_count(LDG_MODEL_TOUCHED)) return "this machine was not seen to gain by what is read first";
  if (n->block > LINE) return "blocks are long";
  if (n->once) return "one call does not find out whether that is faster";
  if (n->dim[0].n < LDG_TRIAL_LEAST / LINE) return "blocks are few";
  if (n->span > REACH || (double)n->span > 2 * ldg_model_footprint(LDG_MODEL_L2)) return "the second cache does not hold its lines"; /* its level is halfway */
  return n->span / LINE > LINES_EACH * n->dim[0].n ? "most lines have no block" : NULL;
}
/* Only what may gain is looked at block by block. */
static const char *look(const ldg_nest *n, hull *h) {
  const char *why = why_not(n);
  if (why) return why;
  *h = hull_of(n);
  return h->hi - h->lo <= REACH && is_close(n, *h) ? NULL : "blocks may be a page apart";
}
const char *ldg_swept_why_not(const ldg_nest *n) {
  hull h;
  return look(n, &h);
}

/* Gaps are read, which others may be writing to: nothing is made of what is read. */
__attribute__((no_sanitize("thread"), no_sanitize("address"))) static void sweep(const volatile char *at, int64_t lines) {
  for (int64_t i = 0; i < lines; i++) (void)at[i * LINE];
}

/* A part of a list has blocks anywhere, and the rest of it is not asked for: its pages are left alone. So parts are timed as if they went another way, and take as long by either. */
static int run(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) {
  const swept s = *swept_of(j);
  if (i0 == 0 && n == j->nest.dim[0].n) sweep((j->nest.list == LDG_LIST_DST ? dst : src) + s.lo, s.lines);
  return long_at(j)->near(j, src, dst, i0, n);
}

ldg_run *ldg_swept_way(ldg_job *j, ldg_run *plain) {
  hull h;
  if (look(&j->nest, &h)) return NULL;
  long_at(j)->near = plain; /* kernels of blocks of up to a line do not look there */
  *swept_of(j) = (swept){ (int32_t)h.lo, (int32_t)((h.hi - h.lo + LINE - 1) / LINE) };
  return run;
}
