/* pieces: one item of few runs, each under a mask or cut into words. */
#ifndef LDG_HOST_PIECES_H
#define LDG_HOST_PIECES_H

#include "../backend.h"

/* Kernels know 32 bits of what is between two runs of an item. */
enum { LDG_RUN_FAR = 1 << 29 };
static inline bool ldg_run_is_near(int64_t at) { return at >= -LDG_RUN_FAR && at <= LDG_RUN_FAR; }

/* The runs of one iteration of what is around the innermost dim, or the two innermost, at most LDG_RUNS_FEW; 0: there are more, or none. */
int ldg_runs_of(const ldg_nest *n, int inner, ldg_field f[LDG_RUNS_FEW]);

/* Cuts a run into words of at most `widest` bytes: how many, -1 if of more than `room`. */
typedef struct ldg_cut_word { int32_t src, dst; int len; } ldg_cut_word;
int ldg_words_of(const ldg_field *run, int widest, ldg_cut_word *w, int room);

/* As ldg_piece_strategy has them. */
const char *ldg_pieces_why_not(const ldg_field *f, int n);
double ldg_pieces_cost(const ldg_field *f, int n);
void ldg_pieces_prepare(ldg_job *job, const ldg_field *f, int n, ldg_run *part, int64_t iterations);

/* The same of lists of blocks that differ in length, or many of which touch; `part` is of the same nest, and runs some of its entries. */
const char *ldg_runs_why_not(const ldg_nest *n);
double ldg_runs_cost(const ldg_nest *n);
void ldg_runs_prepare(ldg_job *j, const ldg_job *part);

#endif
