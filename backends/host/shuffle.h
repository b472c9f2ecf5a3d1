/* shuffle: bodies that fit into a window on both sides, as many iterations at a time as fit. */
#ifndef LDG_HOST_SHUFFLE_H
#define LDG_HOST_SHUFFLE_H

#include "kernels.h"

/* Fills all of *w but `part` for lanes of `lane` bytes (1 or 4). In words why not, NULL when done. */
const char *ldg_shuffle_of(const ldg_nest *n, int lane, ldg_shuffle *w);
/* Is it better to load its windows by 16 bytes? */
bool ldg_shuffle_is_by_16(const ldg_nest *n, int lane, const ldg_shuffle *w);
/* Only how many loops are inside, and how many iterations of the next one a window holds. */
const char *ldg_shuffle_extent(const ldg_nest *n, int lane, int *inside, int *times);
/* The same where there are no masks, so the destination has no gaps, for windows of `window` bytes (16 or 32). */
const char *ldg_window_of(const ldg_nest *n, int window, ldg_window *w);

#endif
