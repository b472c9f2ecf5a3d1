/* cost: what the host's strategies take for a nest, in ns, by the measured model. */
#ifndef LDG_HOST_COST_H
#define LDG_HOST_COST_H

#include "../backend.h"
#include "base_model.h"

/* Each for a nest that its strategy is able to run. */
double ldg_cost_memcpy(const ldg_nest *n);
double ldg_cost_transpose(const ldg_nest *n, int p, int q); /* dims p dense at the destination, q at the source */
double ldg_cost_block(const ldg_nest *n);
double ldg_cost_shuffle(const ldg_nest *n, int inside, int times); /* `inside` dims and `times` iterations of the next one a window */
enum { LDG_COST_WINDOWS_MORE = 5 };                                /* windows in the time that it takes to begin and end a row of them */
double ldg_cost_window(const ldg_nest *n, int inside, int times);  /* the same without masks */
double ldg_cost_list(const ldg_nest *n);
double ldg_cost_varlist(const ldg_nest *n);
double ldg_cost_reduce(const ldg_nest *n, int64_t size);           /* an op block by block, on elements of that size */

/* Bytes of all cache lines that a strided nest touches, on both sides. */
double ldg_cost_footprint(const ldg_nest *n);

#endif
