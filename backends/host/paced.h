/* paced: columns whose lines meet in few sets of a cache, a few at a time, or further apart in time; and those that are written to a page for each block. */
#ifndef LDG_HOST_PACED_H
#define LDG_HOST_PACED_H

#include "../backend.h"

/* What kernels of columns go by, in job->own. Groups: how many blocks at a time, and on which sides a line is waited for. Blocks that are kept
 * apart: by how many times LDG_IDLE, and by how many stores to a line that is near. */
typedef struct ldg_paced { int64_t group; int32_t idle, stores; bool reads, writes; } ldg_paced;
#define LDG_PACED(job) ((const ldg_paced *)(const void *)(job)->own)

/* What a transpose goes by, in job->own, twice: lines of its far sides to be on their way at once, 0: any number; in which order: of lines of the source, of such lines that are
 * put together nearby before they are written, or of rows of the source; stores to a near line for each that is written; whether lines are asked for ahead, but of rows and of few columns. */
enum { LDG_FEW_READ, LDG_FEW_WRITTEN, LDG_ORDER, LDG_NEAR_STORES, LDG_ASKS, LDG_TILE_NUMBERS };
enum { LDG_BY_LINES, LDG_PUT_TOGETHER, LDG_BY_ROWS };

/* In words why lines do not meet; else NULL. */
const char *ldg_paced_why_not(const ldg_nest *n);
double ldg_paced_share(const ldg_nest *n); /* of what the plain kernel takes */
/* For transposes: blocks that may be on their way at once, where the lines of a side with that stride meet (of what is read without drift); 0: any number. */
int64_t ldg_paced_read(int64_t block, int64_t stride);
int64_t ldg_paced_written(int64_t block, int64_t stride);
/* Sets of a first cache that lines so many bytes apart, which is not 0, are of: 1 to 4096; of an odd stride as many as bytes of a page. */
int64_t ldg_paced_sets(int64_t stride);
/* Stores to a near line for each of very many such blocks that are written, which may be better than to wait for them, and whether that comes first; 0: none. */
int64_t ldg_paced_stores(int64_t block, int64_t stride, bool *first);
/* Kernels: the first two of the innermost dim of job->nest, the others of all of it; the last two are tried as well, if not NULL. */
typedef struct ldg_paced_ways { ldg_run *groups, *apart, *plain, *late, *asking; } ldg_paced_ways;
void ldg_paced_prepare(ldg_job *j, const ldg_paced_ways *k);

#endif
