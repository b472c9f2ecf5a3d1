/* problem: one line of a suite, `name | count | hand | type | facts`, and what it becomes: a type, a hand-written loop and
 * the piece of memory they work on. The format is described in README.md. */
#ifndef LBENCH_PROBLEM_H
#define LBENCH_PROBLEM_H

#include "api.h"
#include "hand.h"

#define NOT_STATED INT64_MIN

typedef struct problem {
  char *text;                                /* the line, cut into the fields below */
  const char *suite, *name, *type_text, *hand_text;
  int line;
  int64_t count;
  int64_t origin, array, shift;              /* bytes: of the buffer argument in the array, of the array, off 64-byte alignment */
  int64_t bytes, blocks, min_run, max_run;   /* what the suite says the whole message has, or NOT_STATED */
  /* after problem_open */
  lading_type *type;
  lading_info info;
  hand *hand;                                /* NULL when the line has none */
  int64_t size, runs;                        /* packed bytes and maximal runs of all items */
  int64_t lo, hi;                            /* memory to map, in bytes from the buffer argument */
} problem;

typedef struct suite {
  char *name, *path;
  int n;
  problem *list;
} suite;

/* Reads one line; false with a message in `fault` when it is malformed. The text is copied. */
bool problem_read(problem *p, const char *line, char *fault, size_t cap);
/* Builds type and hand loop. false with a message. */
bool problem_open(problem *p, char *fault, size_t cap);
void problem_close(problem *p);

bool suite_load(suite *s, const char *path, char *fault, size_t cap);
void suite_free(suite *s);

/* Replaces list macros (shuffle, iota, times, ...) by the lists they stand for. NULL with a message; free() the result. */
char *expand_macros(const char *text, char *fault, size_t cap);
/* The generator of workloads.md 1.8; everything random in lbench comes from it. */
uint64_t splitmix64(uint64_t *state);

void *bench_alloc(int64_t bytes); /* or leaves with a message; zeroed. Release with ldg_free */

#endif
