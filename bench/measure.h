/* measure: times of one problem, all ways interleaved in one run, medians and quartiles. */
#ifndef LBENCH_MEASURE_H
#define LBENCH_MEASURE_H

#include "peers.h"

typedef struct measure_options {
  int samples;      /* of each way; the median counts */
  double min_ns;    /* a sample repeats the call until it lasts this long */
  int64_t segment;  /* move in ranges of this many bytes; 0: whole */
  int64_t cold;     /* go round among copies so that cache lines of this many bytes are touched between two uses; 0: warm */
  bool floor;       /* compute the floor, too */
  bool sum;         /* sums: what is packed or unpacked is added to what is there */
} measure_options;

/* Those behind WAY_MEMCPY are taken only when `segment` is set, to compare with. */
typedef enum way { WAY_PACK, WAY_HAND_PACK, WAY_UNPACK, WAY_HAND_UNPACK, WAY_MEMCPY, WAY_WHOLE_PACK, WAY_WHOLE_UNPACK, WAY_SPLIT_MEMCPY, WAY_MAX } way;

typedef struct measure_row {
  timing way[WAY_MAX];
  timing peer[PEERS_MAX][2];           /* pack, unpack */
  char note[PEERS_MAX][PEER_TEXT];     /* why a peer was not measured, or "" */
  int64_t lines;                       /* cache lines touched on both sides; 0: neither floor nor copies need to know */
  double floor_ns;                     /* the least time for that, see floor.h */
} measure_row;

/* NULL, or why there are no sums to compare: of one kind of element, the one of the loops. */
const char *measure_no_sums(const problem *p);

/* Times that are there. */
static inline bool measured(timing t) { return t.ns > 0; }

/* false with a message when it cannot be measured here. A peer that cannot do it leaves a note. */
bool measure_problem(const problem *p, const measure_options *o, peers *rivals, measure_row *row, char *why, size_t cap);

#endif
