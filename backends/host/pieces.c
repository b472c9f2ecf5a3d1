/* One small item, of runs that have nothing in common: a struct of some fields and arrays, a short list of blocks of several lengths. Child by child, or entry by entry, what is called or asked for each takes longer than
 * to move it (bench/README.md, "One item of few runs"). */
#include "pieces.h"

#include "base_model.h"
#include "cost.h"
#include "kernels.h"

enum { ENTRIES = 128 }; /* of lists that are looked at */
_Static_assert(sizeof(ldg_pieces) <= sizeof ((ldg_job *)NULL)->own, "what pieces go by fits into a job");

/* ---- the runs of an item ---- */

/* Entry i of the innermost dim. */
static ldg_field entry_of(const ldg_nest *n, int64_t i) {
  const ldg_dim d = n->dim[0];
  if (!n->at) return (ldg_field){ i * d.src, i * d.dst, n->block };
  const bool from = n->list == LDG_LIST_SRC;
  const int64_t len = n->psum ? n->psum[i + 1] - n->psum[i] : n->block, other = n->psum ? n->psum[i] : i * (from ? d.dst : d.src);
  return (ldg_field){ from ? n->at[i] : other, from ? other : n->at[i], len };
}
int ldg_runs_of(const ldg_nest *n, ldg_field f[LDG_RUNS_FEW]) {
  int runs = 0;
  for (int64_t i = 0; i < n->dim[0].n; i++)
    if (!ldg_field_add(&(ldg_fields){ f, &runs, LDG_RUNS_FEW }, entry_of(n, i))) return 0;
  return runs;
}

/* ---- their words ---- */

/* Words of a run: the last whole one ends where it does. */
static bool is_short(const ldg_field *f) { return f->len < LDG_PIECE_WORD; }
static int64_t words_of(const ldg_field *f) { return (f->len + LDG_PIECE_WORD - 1) / LDG_PIECE_WORD; }

const char *ldg_pieces_why_not(const ldg_field *f, int n) {
  int64_t whole = 0, masked = 0;
  if (!ldg_host_kernels()->pieces[0]) return "this level has no masks for single bytes";
  for (int i = 0; i < n; i++) {
    if (!ldg_run_is_near(f[i].src) || !ldg_run_is_near(f[i].dst) || !ldg_run_is_near(f[i].len)) return "a run that is far";
    *(is_short(&f[i]) ? &masked : &whole) += words_of(&f[i]);
  }
  return whole <= LDG_PIECE_MOST && masked <= LDG_PIECE_MOST && whole + 2 * masked <= LDG_PIECE_ROOM ? NULL : "more words of 32 bytes, or runs of less, than there is room for";
}
/* A word takes as long as two narrower ones (0.55 ns; Zen 4). */
double ldg_pieces_cost(const ldg_field *f, int n) {
  int64_t words = 0;
  for (int i = 0; i < n; i++) words += words_of(&f[i]);
  return ldg_model_ns(LDG_MODEL_CALL) + 2 * (double)words * ldg_model_block(LDG_MODEL_WRITE, LDG_MODEL_LINE, 8, 0);
}

/* Those of a kind are run as they are in the stream: the last one is the first in the job. */
static ldg_piece piece_at(const ldg_field *f, int64_t at) { return (ldg_piece){ (int32_t)(f->src + at), (int32_t)(f->dst + at) }; }
static void add_words(ldg_pieces *p, const ldg_field *f) {
  if (is_short(f)) LDG_PIECE_MASKED(p, p->n_masked) = (ldg_piece_masked){ piece_at(f, 0), ~UINT64_C(0) >> (64 - f->len) }, p->n_masked++;
  else for (int64_t k = words_of(f) - 1; k >= 0; k--) p->whole[p->n_whole++] = piece_at(f, ldg_min(k * LDG_PIECE_WORD, f->len - LDG_PIECE_WORD));
}
void ldg_pieces_prepare(ldg_job *job, const ldg_field *f, int n, ldg_run *part, int64_t iterations) {
  ldg_pieces *p = (ldg_pieces *)(void *)job->own;
  p->part = part, p->iterations = iterations, p->n_whole = p->n_masked = 0;
  for (int i = n - 1; i >= 0; i--) add_words(p, &f[i]);
  job->run = ldg_host_kernels()->pieces[ldg_model_count(LDG_MODEL_MASKED) != 0];
}

/* ---- lists ---- */

const char *ldg_masked_why_not(const ldg_nest *n) {
  ldg_field f[LDG_RUNS_FEW];
  if (n->nd > 1 || !n->at) return "not one list";
  if (n->at2) return "both sides are listed";
  if (n->once) return "one call does not make up for finding its runs";
  if (n->ordered) return "destination bytes may coincide, so stream order must be kept";
  if (n->dim[0].n > ENTRIES) return "more than 128 entries";
  const int runs = ldg_runs_of(n, f);
  if (!runs) return "more than 30 runs, or none";
  return n->psum || 2 * runs <= n->dim[0].n ? ldg_pieces_why_not(f, runs) : "blocks of one length, few of which touch";
}
/* Of runs that entry by entry have no loop each it took less wherever both can, but a few entries are said to take less than they do (0.42 to 0.85 of it; Zen 4). */
double ldg_masked_cost(const ldg_nest *n) {
  ldg_field f[LDG_RUNS_FEW];
  const int runs = ldg_runs_of(n, f);
  const int64_t entries = n->dim[0].n, bytes = n->psum ? n->psum[entries] - n->psum[0] : entries * n->block;
  const double cost = ldg_pieces_cost(f, runs), listed = 0.95 * (n->psum ? ldg_cost_varlist(n) : ldg_cost_list(n));
  return listed < cost && bytes <= runs * LDG_VAR_SHORT ? listed : cost;
}
void ldg_masked_prepare(ldg_job *j, const ldg_job *part) {
  ldg_field f[LDG_RUNS_FEW];
  memcpy(j->own, part->own, sizeof(ldg_long));
  ldg_pieces_prepare(j, f, ldg_runs_of(&j->nest, f), part->run, j->nest.dim[0].n);
}
