/* Samples: a type of the library, its naive model and its spelling, built side by side by the same constructor calls; and
 * random trees of them. Constructors eat their children (so every child is freed while its parent lives). */
#ifndef TEST_RANDOM_TYPES_H
#define TEST_RANDOM_TYPES_H

#include "common.h"

sample *s_elem(int kind);
sample *s_dup(const sample *s);
sample *s_contiguous(int64_t n, sample *old);
sample *s_vector(int64_t n, int64_t bl, int64_t stride, sample *old);
sample *s_hvector(int64_t n, int64_t bl, int64_t stride, sample *old);
sample *s_indexed(int64_t n, const int64_t *bl, const int64_t *at, sample *old);
sample *s_hindexed(int64_t n, const int64_t *bl, const int64_t *at, sample *old);
sample *s_indexed_block(int64_t n, int64_t bl, const int64_t *at, sample *old);
sample *s_hindexed_block(int64_t n, int64_t bl, const int64_t *at, sample *old);
sample *s_struct(int64_t n, const int64_t *bl, const int64_t *at, sample *const *olds);
sample *s_subarray(int nd, const int64_t *sizes, const int64_t *sub, const int64_t *starts, lading_order order, sample *old);
sample *s_darray(int64_t size, int64_t rank, int nd, const int64_t *gsizes, const lading_distrib *dist, const int64_t *dargs,
                 const int64_t *psizes, lading_order order, sample *old);
sample *s_resized(sample *old, int64_t lb, int64_t extent);
#define S_STRUCT(n, bl, at, ...) s_struct(n, bl, at, (sample *const[]){__VA_ARGS__})

extern uint32_t random_kinds; /* bit e: elements of kind e may be leaves; all, unless a test says so */
extern bool random_alike_fields; /* false: no struct of fields of one type, an index type instead */
/* A tree of at most `depth` constructors; an item has at most `bytes` packed bytes and spans at most 64 KiB. */
sample *random_type(rng *r, int depth, int64_t bytes);
/* The same, of strided constructors only (contiguous, vector, hvector, subarray): one nest of loops. */
sample *random_nest(rng *r, int depth, int64_t bytes);

/* Other types with exactly these offsets, made in ways that share nothing: bytes one by one, runs, pieces cut at random. */
enum { RESPELLINGS = 4 };
lading_type *respelled(const stream *x, int how, rng *r);

#endif
