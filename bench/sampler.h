/* sampler: the buffers of one problem, and how long a way of moving them takes. lbench and the helpers of its peers share it,
 * so that all are measured alike. */
#ifndef LBENCH_SAMPLER_H
#define LBENCH_SAMPLER_H

#include "place.h"
#include "problem.h"

#define SAMPLES_MAX 1001

#define PEER_MEMORY 3 /* the descriptor by which a helper finds the shared file */

typedef struct copy { char *mem, *packed, *other; } copy; /* other: where memcpy puts the packed bytes */

typedef struct sampler {
  const problem *p;
  int64_t segment;   /* move in ranges of this many bytes; 0: whole */
  double min_ns;     /* a sample repeats the call until it lasts this long */
  int copies, next;  /* calls go round among the copies, each way from where the one before it stopped */
  bool places;       /* calls stay with copy `next`, and each copy starts at another place of its pages */
  copy *copy;
  bool large;        /* they are in large pages */
  int shared;        /* the file that they are in, for helpers to map them, too; 0: memory of its own */
  bool guest;        /* who maps what lbench made and filled */
  place mem, packed, other; /* where they are, one after another */
  void *arg;         /* of a peer's adapter */
  int error;         /* the last one that a peer's adapter met */
} sampler;

typedef void batch(sampler *s, int64_t reps);
typedef struct timing { double ns, q1, q3; } timing; /* per call: median and quartiles; 0: not measured */

/* Chooses how many copies of the buffers of s->p it takes that cache lines of `cold` bytes are touched between two uses (1 when warm),
 * if one call touches `touched`, as far as memory allows with `sharers` that do the same, and in which pages. false when not even one
 * fits. */
bool sampler_size(sampler *s, int64_t cold, int64_t touched, int sharers);
/* A warm problem of up to 128 KiB gets a copy for each sample, and at most 64, at other places of their pages: what a small call takes depends on what lies
 * in the same place of a page as its bytes, and one place, or where a process happens to have its types, would decide who wins. */
void sampler_vary(sampler *s, int samples);
/* Maps and, but for a guest, fills s->copies buffers of s->p; without a type only the packed ones. false when there is no memory. */
bool sampler_open(sampler *s, bool with_other);
void sampler_close(sampler *s);

int64_t sampler_calibrate(sampler *s, batch *run);            /* repetitions that last min_ns; also warms up */
double sampler_time(sampler *s, batch *run, int64_t reps);    /* one sample: ns per call */
timing sampler_stats(double *ns, int n);                      /* sorts */
void sampler_take_least(void);                                /* from now on .ns is the least, no median: others use the machine, too */

static inline const copy *sampler_turn(sampler *s) {
  const copy *c = &s->copy[s->next];
  if (!s->places) s->next = s->next + 1 < s->copies ? s->next + 1 : 0;
  __asm__ volatile("" ::: "memory"); /* every repetition moves its bytes */
  return c;
}

#endif
