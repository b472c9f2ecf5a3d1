/* pairs: copies from one layout into another of the same stream, against packing into a buffer of the message's size and unpacking
 * that, and against the loops a person would write. A line of a .pairs file is `name | hand loops or - | source | destination`. */
#ifndef LBENCH_PAIRS_H
#define LBENCH_PAIRS_H

#include "measure.h"
#include <regex.h>

typedef struct pairs_options {
  const measure_options *measure;
  const regex_t *filter;      /* NULL: all */
  const char *dir;            /* where copy.pairs is */
  char **what;                /* names, lines, files; none: all of copy.pairs */
  int n_what;
} pairs_options;

/* Checks each pair byte for byte, times it, prints a row, and at last the means. An exit status. */
int pairs_run(const pairs_options *o);

/* ---- hand_copy.c: compiled as the other loops by hand are ---- */

#define PAIR_DIMS 4
#define PAIR_PARTS 16
typedef struct pair_part {
  int64_t width, run, src, dst;                    /* bytes of an element; elements in a row; where both sides start */
  int64_t n[PAIR_DIMS], ss[PAIR_DIMS], ds[PAIR_DIMS]; /* outermost first; filled up with loops of 1 */
} pair_part;

/* False when there is no loop for elements of that width. */
bool pair_hand_move(const pair_part *p, const char *src, char *dst);

#endif
