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
int ldg_runs_of(const ldg_nest *n, int inner, ldg_field f[LDG_RUNS_FEW]) {
  const ldg_dim over = inner > 1 ? n->dim[1] : (ldg_dim){ 1, 0, 0 };
  int runs = 0;
  for (int64_t row = 0; row < over.n; row++)
    for (int64_t i = 0; i < n->dim[0].n; i++) {
      const ldg_field one = entry_of(n, i);
      if (!ldg_field_add(&(ldg_fields){ f, &runs, LDG_RUNS_FEW }, (ldg_field){ one.src + row * over.src, one.dst + row * over.dst, one.len })) return 0;
    }
  return runs;
}

/* ---- their words ---- */

/* The last word ends where the run does; it may overlap the one before: both move the same there. */
int ldg_words_of(const ldg_field *run, int widest, ldg_cut_word *w, int room) {
  int n = 0;
  for (int64_t at = 0; at < run->len; n++) {
    const int64_t left = run->len - at;
    const int less = left >= widest ? widest : 1 << (63 - __builtin_clzll((uint64_t)left)), more = less == left || less == widest ? less : 2 * less;
    const bool ends = more >= left && more <= run->len;
    const int64_t from = ends ? run->len - more : at;
    if (n == room) return -1;
    w[n] = (ldg_cut_word){ (int32_t)(run->src + from), (int32_t)(run->dst + from), ends ? more : less };
    at += ends ? left : less;
  }
  return n;
}

/* All words of an item, where there are no masks, and how many of each width. */
typedef struct words { ldg_cut_word w[LDG_PIECE_ROOM]; int n, of[LDG_PIECE_WIDTHS]; } words;
static int width_of(const ldg_cut_word *w) { return __builtin_ctz(LDG_PIECE_WORD / (unsigned)w->len); }
static bool cut_all(words *all, const ldg_field *f, int n) {
  *all = (words){ .n = 0 };
  for (int i = 0; i < n; i++) {
    const int more = ldg_words_of(&f[i], LDG_PIECE_WORD, all->w + all->n, LDG_PIECE_ROOM - all->n);
    if (more < 0) return false;
    for (int k = 0; k < more; k++)
      if (all->of[width_of(&all->w[all->n + k])]++ == LDG_PIECE_MOST) return false;
    all->n += more;
  }
  return true;
}

/* Under masks the last whole word of a run ends where it does. */
static bool is_short(const ldg_field *f) { return f->len < LDG_PIECE_WORD; }
static int64_t masked_words(const ldg_field *f) { return (f->len + LDG_PIECE_WORD - 1) / LDG_PIECE_WORD; }
static bool fit_masked(const ldg_field *f, int n) {
  int64_t whole = 0, masked = 0;
  for (int i = 0; i < n; i++) *(is_short(&f[i]) ? &masked : &whole) += masked_words(&f[i]);
  return whole <= LDG_PIECE_MOST && masked <= LDG_PIECE_MOST && whole + 2 * masked <= LDG_PIECE_ROOM;
}

const char *ldg_pieces_why_not(const ldg_field *f, int n) {
  words all;
  for (int i = 0; i < n; i++)
    if (!ldg_run_is_near(f[i].src) || !ldg_run_is_near(f[i].dst) || !ldg_run_is_near(f[i].len)) return "a run that is far";
  if (ldg_host_kernels()->words) return cut_all(&all, f, n) ? NULL : "more words of a width, or words, than there is room for";
  return fit_masked(f, n) ? NULL : "more words of 32 bytes, or runs of less, than there is room for";
}
/* A word under a mask, or of 32 bytes among such, takes as long as two narrower ones (0.55 ns; Zen 4). Without masks one takes 0.6 ns, and 5 more to enter (Zen 3, where a child of a loop takes 2.6, the median of four runs of calibrate, and is said to take 1.3: so of both two thirds are said). */
double ldg_pieces_cost(const ldg_field *f, int n) {
  const double each = ldg_model_block(LDG_MODEL_WRITE, LDG_MODEL_LINE, 8, 0);
  words all;
  if (ldg_host_kernels()->words) return cut_all(&all, f, n), 2 * ldg_model_ns(LDG_MODEL_CALL) + 1.5 * all.n * each;
  int64_t pieces = 0;
  for (int i = 0; i < n; i++) pieces += masked_words(&f[i]);
  return ldg_model_ns(LDG_MODEL_CALL) + 2 * (double)pieces * each;
}

/* Those of a kind are run as they are in the stream: the last one is the first in the job. */
static ldg_piece piece_at(const ldg_field *f, int64_t at) { return (ldg_piece){ (int32_t)(f->src + at), (int32_t)(f->dst + at) }; }
static void add_masked(ldg_pieces *p, const ldg_field *f) {
  if (is_short(f)) LDG_PIECE_MASKED(p, p->n_masked) = (ldg_piece_masked){ piece_at(f, 0), ~UINT64_C(0) >> (64 - f->len) }, p->n_masked++;
  else for (int64_t k = masked_words(f) - 1; k >= 0; k--) p->whole[p->n_whole++] = piece_at(f, ldg_min(k * LDG_PIECE_WORD, f->len - LDG_PIECE_WORD));
}
static void fill_words(ldg_pieces *p, const words *all) {
  int64_t *to[LDG_PIECE_WIDTHS], *next = p->word;
  for (int k = 0; k < LDG_PIECE_WIDTHS; k++) to[k] = next, next += all->of[k], p->n_words[k] = (unsigned char)all->of[k];
  for (int i = all->n - 1; i >= 0; i--) *to[width_of(&all->w[i])]++ = ldg_piece_word(all->w[i].src, all->w[i].dst);
}
void ldg_pieces_prepare(ldg_job *job, const ldg_field *f, int n, ldg_run *part, int64_t iterations) {
  const ldg_kernels *k = ldg_host_kernels();
  ldg_pieces *p = (ldg_pieces *)(void *)job->own;
  words all;
  p->part = part, p->iterations = iterations, p->n_whole = p->n_masked = 0;
  job->run = k->words ? k->words : k->pieces[ldg_model_count(LDG_MODEL_MASKED) != 0];
  if (k->words) cut_all(&all, f, n), fill_words(p, &all);
  else for (int i = n - 1; i >= 0; i--) add_masked(p, &f[i]);
}

/* ---- lists ---- */

const char *ldg_runs_why_not(const ldg_nest *n) {
  ldg_field f[LDG_RUNS_FEW];
  if (n->nd > 1 || !n->at) return "not one list";
  if (n->at2) return "both sides are listed";
  if (n->once) return "one call does not make up for finding its runs";
  if (n->ordered) return "destination bytes may coincide, so stream order must be kept";
  if (n->dim[0].n > ENTRIES) return "more than 128 entries";
  const int runs = ldg_runs_of(n, 1, f);
  if (!runs) return "more than 30 runs, or none";
  return n->psum || 2 * runs <= n->dim[0].n ? ldg_pieces_why_not(f, runs) : "blocks of one length, few of which touch";
}
/* Of runs that entry by entry have no loop each it took less wherever both can, but a few entries are said to take less than they do (0.42 to 0.85 of it; Zen 4). */
double ldg_runs_cost(const ldg_nest *n) {
  ldg_field f[LDG_RUNS_FEW];
  const int runs = ldg_runs_of(n, 1, f);
  const int64_t entries = n->dim[0].n, bytes = n->psum ? n->psum[entries] - n->psum[0] : entries * n->block;
  const double cost = ldg_pieces_cost(f, runs), listed = 0.95 * (n->psum ? ldg_cost_varlist(n) : ldg_cost_list(n));
  return listed < cost && bytes <= runs * LDG_VAR_SHORT ? listed : cost;
}
void ldg_runs_prepare(ldg_job *j, const ldg_job *part) {
  ldg_field f[LDG_RUNS_FEW];
  memcpy(j->own, part->own, sizeof(ldg_long));
  ldg_pieces_prepare(j, f, ldg_runs_of(&j->nest, 1, f), part->run, j->nest.dim[0].n);
}
