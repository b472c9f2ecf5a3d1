/* cut: an iteration (or some, taken together) cut into stores: plain moves, or windows of the destination, each shuffled together from
 * some of the source: of 64 bytes from two, under masks; or of 16 bytes from four, where all of them are stored. */
#ifndef LDG_JIT_CUT_H
#define LDG_JIT_CUT_H

#include "key.h"

#define LDG_CUT_WINDOWS 4
typedef struct ldg_cut {
  int64_t to, from[LDG_CUT_WINDOWS]; /* where the destination's bytes start, and the source's windows */
  int width;                /* of a plain move from from[0]: 1, 2, 4 .. 64 bytes; 0: a shuffle */
  int windows;              /* of the source */
  bool masked;              /* the windows reach beyond what may be read: load the lanes below only */
  uint64_t load[LDG_CUT_WINDOWS], store; /* a bit for every byte that is read, and written */
  unsigned char lane[64];   /* of every byte of the destination its byte in the windows, 64 for each */
} ldg_cut;

#define LDG_CUTS 256
/* Two ways to cut; which is faster is measured. */
typedef enum ldg_cut_way { LDG_CUT_PLAIN, LDG_CUT_SHUFFLED, LDG_CUT_WAYS } ldg_cut_way;
/* Cuts `items` iterations; how many cuts that makes, -1 when more than LDG_CUTS, or when this way is not able. `out` may be NULL. */
int ldg_cut_group(const ldg_key *key, ldg_cut_way way, int64_t items, ldg_cut *out);
/* Is that way able, for as many iterations as are best for it? */
bool ldg_cut_able(const ldg_key *key, ldg_cut_way way);
/* How many iterations are best taken together; 1 where the strides are not known, and always for plain moves. */
int64_t ldg_cut_items(const ldg_key *key, ldg_cut_way way);

#endif
