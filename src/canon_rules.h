/* canon_rules: the inside of canon. A rule looks at one node whose children are canonical and, if it fires, returns the
 * canonical form of what it made of it. Nodes on the way are views: an ldg_rep on the stack (refs == 0) that borrows arrays
 * and children and has no facts, so nothing is allocated before no rule fires any more. */
#ifndef LDG_CANON_RULES_H
#define LDG_CANON_RULES_H

#include "canon.h"
#include "rep_map.h"

/* In the order in which they are tried. */
enum {
  LDG_RULE_EMPTY, LDG_RULE_HOIST, LDG_RULE_ONCE, LDG_RULE_DENSE, LDG_RULE_MERGE,
  LDG_RULE_SPLICE, LDG_RULE_SINGLE, LDG_RULE_COUNTED, LDG_RULE_TOUCH, LDG_RULE_ABSORB, LDG_RULE_SAME, LDG_RULE_LENGTHS,
  LDG_RULE_CONSTANT, LDG_RULE_PROGRESSIONS, LDG_RULE_TANDEM, LDG_RULE_SEPARABLE, LDG_RULE_STRETCHES, LDG_RULE_LONG, LDG_RULE_SECTIONS, LDG_RULE_GROUP,
  LDG_RULE_RUNS, LDG_RULE_NEST,
  LDG_RULES
};

/* Deeper than any tree of rules that still gets somewhere; keeps a chain of rules that undo each other finite. */
enum { LDG_CANON_LEVELS = 64 };

typedef struct ldg_canon_ctx {
  ldg_canon_trace *trace; /* or NULL */
  int64_t limit;          /* trees of at most so many runs are rebuilt from them; LDG_CANON_RUNS but in tests */
  int level;              /* of ldg_canon_node in itself; beyond LDG_CANON_LEVELS no rule is tried but ONCE */
  int64_t stretch;        /* inside the stretches rule: how long a stretch must be to stand for itself; else 0 */
  int64_t most;           /* below the root: trees of at most so many runs may be rebuilt */
  ldg_map *shared, *equals; /* input nodes with several parents, and which input nodes are equal, see canon.c; or NULL */
  bool merged;            /* the lists at hand come from merged runs: nothing in them touches, but atoms of one list */
} ldg_canon_ctx;

/* A node moved by `at`. */
typedef struct ldg_canon_item { int64_t at; const ldg_rep *rep; } ldg_canon_item;

static inline ldg_rep ldg_view_repeat(int64_t n, int64_t stride, const ldg_rep *child) {
  return (ldg_rep){ .kind = LDG_REPEAT, .n = n, .stride = stride, .child = child };
}

static inline ldg_rep ldg_view_blocks(int64_t n, const int64_t *at, const int64_t *cnt, int64_t stride, const ldg_rep *child) {
  return (ldg_rep){ .kind = LDG_BLOCKS, .n = n, .at = at, .cnt = cnt, .stride = stride, .child = child };
}

static inline ldg_rep ldg_view_join(int64_t n, const int64_t *at, const ldg_rep *const *kids) {
  return (ldg_rep){ .kind = LDG_JOIN, .n = n, .at = at, .kids = kids };
}

/* Entries [from, from + n) of a blocks or join. */
static inline ldg_rep ldg_view_slice(const ldg_rep *v, int64_t from, int64_t n) {
  return (ldg_rep){ .kind = v->kind, .n = n, .stride = v->stride, .child = v->child, .at = v->at + from,
                    .cnt = v->cnt ? v->cnt + from : NULL, .kids = v->kids ? v->kids + from : NULL };
}

/* Distances wrap, as offsets above a node may (rep.h). */
static inline int64_t ldg_gap(const int64_t *at, int64_t from, int64_t to) {
  return (int64_t)((uint64_t)at[to] - (uint64_t)at[from]);
}

/* Measures of adjacency, by which runs are cut into atoms of one length. So few runs are longer than one atom that it is an accident. */
static inline bool ldg_canon_few_touch(int64_t atoms, int64_t runs) { return atoms <= runs + runs / 8; }
/* A block of its own length takes two to three times as long as one of a uniform list (sorted indices, ns an element by lengths, and so: 300 floats, 2 a run
 * 0.28 and 0.22, 1.3 a run 0.41 and 0.22; 4000 of 16 bytes, 3 a run 0.39 and 0.28, 5 a run 0.29 and 0.30; of 32 bytes, 2 a run 0.58 and 0.37, of 64 bytes, unpack, 0.67 and 1.1; Zen 5).
 * `in_long` of the atoms are in runs of more than LDG_CANON_ATOM_LONG. */
enum { LDG_CANON_ATOM = 32, LDG_CANON_ATOMS = 3, LDG_CANON_ATOM_RUNS = 4, LDG_CANON_ATOM_LONG = 16 };
static inline bool ldg_canon_in_atoms(int64_t atoms, int64_t runs, int64_t atom, int64_t in_long) {
  return runs >= LDG_CANON_ATOM_RUNS && atom <= LDG_CANON_ATOM && atoms <= LDG_CANON_ATOMS * runs && in_long <= atoms / 8;
}
static inline int64_t ldg_canon_if_long(int64_t atoms) { return atoms > LDG_CANON_ATOM_LONG ? atoms : 0; }

/* Whether entries i and j of a blocks or join differ in their offset only. */
static inline bool ldg_alike(const ldg_rep *v, int64_t i, int64_t j) {
  if (v->kids) return v->kids[i] == v->kids[j] || ldg_rep_equal(v->kids[i], v->kids[j]);
  return !v->cnt || v->cnt[i] == v->cnt[j];
}

static inline void ldg_canon_fired(const ldg_canon_ctx *x, int rule) {
  if (x->trace) x->trace->fired[rule]++;
}

/* Canonical form of a node whose children are canonical and have first == 0; of blocks and join relative to at[0]. One
 * reference. ERR_NOMEM, or ERR_OVERFLOW and ERR_DEPTH where the node itself cannot be made. */
int ldg_canon_node(ldg_canon_ctx *x, const ldg_rep *view, const ldg_rep **out);

/* canon_runs.c: the form that depends on the sequence alone, from its runs; not empty. */
int ldg_canon_rebuild(ldg_canon_ctx *x, const ldg_rep *in, ldg_canon_item *out);

/* canon with another limit, for tests of what happens beyond it. */
int ldg_canon_within(const ldg_rep *in, int64_t limit, const ldg_rep **out, ldg_canon_trace *trace);

/* canon_parse.c, canon_stretch.c: the rules that look for structure in lists. */
ldg_canon_apply ldg_canon_tandem, ldg_canon_separable, ldg_canon_stretches, ldg_canon_progressions,
  ldg_canon_long, ldg_canon_sections, ldg_canon_group;

#endif
