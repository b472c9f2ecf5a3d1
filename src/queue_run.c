/* A work on the host, by the planner's strategies: what "host" queues do, and what a device's queue does with memory of the host. */
#include "queue.h"

ldg_side ldg_queue_packed(const char *base, int64_t bytes) { return (ldg_side){ &ldg_rep_one_byte, bytes, 1, base }; }

static void move(const ldg_work *w) {
  const ldg_side *s = &w->side[LDG_SRC], *d = &w->side[LDG_DST];
  if (!w->plan[LDG_SRC] && !w->plan[LDG_DST]) memcpy(ldg_at(d->base, w->lo), ldg_at(s->base, w->lo), (size_t)(w->hi - w->lo));
  else if (!w->plan[LDG_DST]) ldg_exec(w->plan[LDG_SRC], s->count, LDG_PACK, s->base, ldg_at(d->base, w->lo), w->lo, w->hi);
  else if (!w->plan[LDG_SRC]) ldg_exec(w->plan[LDG_DST], d->count, LDG_UNPACK, d->base, ldg_at(s->base, w->lo), w->lo, w->hi);
  else ldg_exec_move(w->plan[LDG_SRC], s, w->plan[LDG_DST], d, w->lo, w->hi);
}

void ldg_queue_run(const ldg_work *w) {
  if (w->reduction.op == LADING_REPLACE) move(w);
  else ldg_exec_move_op(w->plan[LDG_SRC], &w->side[LDG_SRC], w->plan[LDG_DST], &w->side[LDG_DST], &w->reduction, w->lo, w->hi);
}
