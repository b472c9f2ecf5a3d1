/* Reps in tests: read, print, and compare them byte by byte. */
#ifndef TEST_REP_TOOLS_H
#define TEST_REP_TOOLS_H

#include "common.h"
#include "rep.h"

typedef struct seq { int64_t n, *at; } seq;

static inline int seq_note(void *arg, int64_t off, int64_t pos, int64_t len) {
  seq *s = arg;
  for (int64_t i = 0; i < len; i++) s->at[pos + i] = off + i;
  return 0;
}

static inline seq seq_of(const ldg_rep *r) {
  seq s = { r->size, malloc((size_t)(8 * r->size + 8)) };
  ck_assert_int_eq(ldg_rep_walk(r, 0, r->size, seq_note, &s), 0);
  return s;
}

/* The same sequence, b moved by `by`. */
static inline bool same_seq(const ldg_rep *a, const ldg_rep *b, int64_t by) {
  if (a->size != b->size) return false;
  seq x = seq_of(a), y = seq_of(b);
  bool same = true;
  for (int64_t i = 0; i < x.n; i++) same &= x.at[i] == y.at[i] + by;
  free(x.at);
  free(y.at);
  return same;
}

static inline char *print_rep(const ldg_rep *r) {
  static char text[2][4000];
  static int turn;
  ldg_text t;
  turn = !turn;
  ldg_text_init(&t, text[turn], sizeof text[turn]);
  ldg_rep_print(r, &t);
  return text[turn];
}

static inline const ldg_rep *read_rep(const char *text) {
  const ldg_rep *r;
  ck_assert_msg(ldg_rep_read(&text, &r) == 0, "does not parse at: %s", text);
  return r;
}

#endif
