/* canon: the normal form of a rep. Decides sameness, and nothing of speed but how a list is stated (canon_rules.h). Never changes the byte sequence: no sorting,
 * no flipping, no dropping of duplicates, since stream order is semantics. */
#ifndef LDG_CANON_H
#define LDG_CANON_H

#include "rep.h"

/* What happened, for explain: how often each rule fired. */
#define LDG_CANON_RULES_MAX 24
typedef struct ldg_canon_trace { int64_t fired[LDG_CANON_RULES_MAX]; } ldg_canon_trace;

/* One row of the table: what explain prints, and for canon itself the kinds of node the rule looks at and what it does. */
struct ldg_canon_ctx;
typedef int ldg_canon_apply(struct ldg_canon_ctx *x, const ldg_rep *node, const ldg_rep **out);
typedef struct ldg_canon_rule {
  const char *name, *says;
  unsigned kinds;          /* bits 1 << ldg_kind */
  ldg_canon_apply *apply;  /* NULL: canon.c does it while it assembles a node */
} ldg_canon_rule;
int ldg_canon_rules(const ldg_canon_rule **table); /* number of rules */

/* *out: the canonical form, one reference. Canonical trees have no empty nodes (an empty sequence is (bytes 0)), hold
 * offsets at the root only: a tree whose first byte is not at 0 is (join (at child)) of one entry at the root, and every
 * node below has first == 0. Of two reps with the same sequence both have the same canonical form when both are nests
 * (repeats around one run of bytes), or when they have at most LDG_CANON_RUNS runs and the form made from the runs takes at
 * most 4 KB, or 4 times the memory of either rep. Else the tree is reduced as it is written, so that memory and time are
 * bounded by the description: the form then depends on the spelling, and sameness is by layout id. Memory is that of
 * ldg_rep_memory, each shared node once. The result may be `in` itself or share its nodes, so `in` is no node of
 * ldg_rep_repeat_in. `trace` may be NULL. ERR_NOMEM. */
#define LDG_CANON_RUNS 65536
int ldg_canon(const ldg_rep *in, const ldg_rep **out, ldg_canon_trace *trace);

#endif
