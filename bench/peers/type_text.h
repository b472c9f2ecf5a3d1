/* type_text: reads the text of a type (README.md of the repository has the grammar) and has a peer's engine build it, one
 * constructor call at a time, from the inside out. */
#ifndef LBENCH_TYPE_TEXT_H
#define LBENCH_TYPE_TEXT_H

#include "api.h"

typedef enum type_kind {
  TYPE_CONTIGUOUS, TYPE_VECTOR, TYPE_HVECTOR, TYPE_INDEXED, TYPE_HINDEXED, TYPE_INDEXED_BLOCK, TYPE_HINDEXED_BLOCK, TYPE_STRUCT, TYPE_SUBARRAY,
  TYPE_DARRAY, TYPE_RESIZED
} type_kind;

typedef uint64_t type_handle; /* the engine's own */

/* One call: its arguments in their order, by kind; all lists are of length n. */
typedef struct type_call {
  type_kind kind;
  int numbers, lists;
  int64_t number[3];
  int64_t n, *list[4];      /* distributions are lading_distrib */
  bool fortran;
  int64_t olds, olds_cap;
  type_handle *old;
} type_call;

/* Both return false when the engine cannot do it. */
typedef struct type_maker {
  bool (*elem)(lading_elem e, type_handle *out);
  bool (*make)(const type_call *c, type_handle *out);
  void (*drop)(type_handle t); /* also called for elements */
} type_maker;

/* false with a message. */
bool type_text_read(const char *text, const type_maker *maker, type_handle *out, char *why, size_t cap);

#endif
