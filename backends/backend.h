/* The contract between the planner and a place that can run nests. A backend sees this header and its vendor's only.
 *
 * A strategy is a row {name, why_not, prepare}. why_not says in words why it cannot run a nest, NULL meaning able; it
 * must be right for every nest, since tests run every able strategy on every nest. prepare fills job->run (and may
 * reorder job->nest or fill job->aux). Preconditions for run: src and dst do not overlap; a nest that is `ordered` is run
 * in stream order by whoever says yes to it.
 */
#ifndef LDG_BACKEND_H
#define LDG_BACKEND_H

#include "nest.h"

#define LDG_JOB_OWN 20

typedef struct ldg_job ldg_job;
/* Runs n iterations of the outermost dim from i0 on. If it is strided, src and dst are the places of iteration i0, which is
 * not used; if it is the list, they are the origins of both sides, and i0 indexes the list. */
typedef void ldg_run(const ldg_job *job, const char *src, char *dst, int64_t i0, int64_t n);
struct ldg_job {
  ldg_run *run;
  const char *name;      /* of the strategy */
  const void *aux;       /* the strategy's own */
  void *hot;             /* the planner's own, where it put itself in front of run */
  ldg_nest nest;
  int64_t own[LDG_JOB_OWN]; /* the strategy's own, too: small, so that preparing takes no memory */
};

typedef struct ldg_strategy {
  const char *name, *says;                          /* a word, and a line for explain */
  const char *(*why_not)(const ldg_nest *nest);
  double (*cost)(const ldg_nest *nest);             /* predicted ns; the cheapest able strategy is planned */
  void (*prepare)(ldg_job *job);                    /* job->nest is set */
} ldg_strategy;

/* Destination elements become op(source, destination), one after the other, in stream order, so that destinations may coincide;
 * source and destination never overlap. No element needs to be aligned. */
typedef struct ldg_op {
  int64_t size;                                     /* packed bytes of an element */
  void (*dense)(const char *src, char *dst, int64_t n);
  void (*strided)(const char *src, char *dst, int64_t n, int64_t ss, int64_t ds); /* n single elements, ss and ds bytes apart */
  /* the same where element i is at at[i] on one side (of the destination: to_list), at i * stride on the other */
  void (*listed)(const char *src, char *dst, int64_t n, const int64_t *at, int64_t stride, bool to_list);
} ldg_op;

typedef struct ldg_backend {
  const char *name;
  const ldg_strategy *strategies;
  int n;
  const ldg_op *(*op)(lading_op op, lading_elem e); /* NULL where MPI does not define it, and for LADING_REPLACE */
} ldg_backend;

extern const ldg_backend ldg_backend_host;

#endif
