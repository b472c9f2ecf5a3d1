/* peer: what an adapter to another datatype engine has to bring; peers/serve.c is the program around it. */
#ifndef LBENCH_PEER_H
#define LBENCH_PEER_H

#include "../sampler.h"

typedef struct peer_engine {
  /* Starts the engine and says what it is. false: it does not start. */
  bool (*start)(char *version, size_t cap);
  void (*stop)(void);
  /* Builds the type of the problem, ready to move, from its text with all list macros expanded. NULL with a message. */
  void *(*open)(const problem *p, const char *type_text, char *why, size_t cap);
  void (*close)(void *type);
  /* Pack and unpack. s->arg is the type; an error is left in s->error. */
  batch *whole[2], *segmented[2]; /* segmented NULL: it cannot move ranges */
} peer_engine;

extern const peer_engine peer_is; /* each adapter defines it, one is linked into a helper */

#endif
