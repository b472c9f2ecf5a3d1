/* plan_tree: the strategies that go down the tree themselves, for steps that are not one nest, and as last resort. */
#ifndef LDG_PLAN_TREE_H
#define LDG_PLAN_TREE_H

#include "plan.h"

/* Whose strategies are planned. */
#define LDG_PLAN_BACKEND (&ldg_backend_host)

/* The definition as a mover: bytes [lo, hi) of r, piece by piece. */
void ldg_tree_walk(const ldg_rep *r, int dir, const char *mem, const char *packed, int64_t lo, int64_t hi);

typedef struct ldg_tree_strategy {
  ldg_strategy row;                                                        /* name and says; no nest functions */
  const char *(*why_not)(const ldg_step *s, int dir);
  double (*cost)(const ldg_step *s, int dir);
  int (*prepare)(ldg_step *s, int dir, const char *force);                 /* ERR_NOMEM */
} ldg_tree_strategy;

#define LDG_TREE_STRATEGIES 4
extern const ldg_tree_strategy ldg_tree_table[LDG_TREE_STRATEGIES];        /* terms, pieces, loop, walk */

#endif
