/* explain: every able strategy is put at the root of the plan, the steps below as planned, and timed like any way of moving. */
#include "explain.h"
#include "floor.h"
#include "sampler.h"
#include <inttypes.h>
#include <stdio.h>

typedef struct way_of { const ldg_plan *plan; int dir; } way_of;

/* One item as lading_pack runs it, its job at once. */
static void run_one(sampler *s, int64_t reps) {
  const way_of *w = s->arg;
  const ldg_job *j = &w->plan->one.job[w->dir];
  while (reps-- > 0) {
    const copy *c = sampler_turn(s);
    char *mem = ldg_at(c->mem, w->plan->at), *packed = c->packed;
    j->run(j, w->dir == LDG_PACK ? mem : packed, w->dir == LDG_PACK ? packed : mem, 0, w->plan->one.n);
  }
}

static void run_many(sampler *s, int64_t reps) {
  const way_of *w = s->arg;
  const problem *p = s->p;
  while (reps-- > 0) {
    const copy *c = sampler_turn(s);
    ldg_exec(w->plan, p->count, w->dir, c->mem, c->packed, 0, p->size);
  }
}

/* ---- the able strategies of one direction, sampled in rounds ---- */

#define WAYS_MAX 32
typedef struct row { const char *name; double predicted, *ns; int64_t reps; way_of way; } row;
typedef struct rows { int n; row list[WAYS_MAX]; } rows;

static void add_row(rows *r, const problem *p, const ldg_plan *like, int dir, int i, int samples) {
  char force[64];
  const char *why, *name = ldg_plan_strategy(i)->name;
  row *x = &r->list[r->n];
  x->predicted = ldg_plan_predict(like, p->count, dir, i, &why);
  if (why || r->n == WAYS_MAX) return;
  snprintf(force, sizeof force, "%c%s", p->count == 1 ? '/' : '*', name);
  if (ldg_plan_forced(like->layout, like->extent, force, &x->way.plan) != LADING_OK) return;
  x->name = name, x->way.dir = dir, x->ns = bench_alloc(samples * (int64_t)sizeof *x->ns);
  r->n++;
}

static void sample_rows(sampler *s, rows *r, int samples) {
  batch *run = s->p->count == 1 ? run_one : run_many;
  for (int i = 0; i < r->n; i++) s->arg = &r->list[i].way, r->list[i].reps = sampler_calibrate(s, run);
  for (int k = 0; k < samples; k++)
    for (int i = 0; i < r->n; i++) s->arg = &r->list[i].way, r->list[i].ns[k] = sampler_time(s, run, r->list[i].reps);
}

static void time_cell(double ns) {
  if (ns < 1e4) printf(" %10.1f ns", ns);
  else if (ns < 1e7) printf(" %10.1f us", ns / 1e3);
  else printf(" %10.1f ms", ns / 1e6);
}

static void direction(sampler *s, const ldg_plan *plan, int dir, int samples) {
  const char *chosen = (s->p->count == 1 ? &plan->one : &plan->many)->job[dir].name;
  rows r = { 0 };
  for (int i = 0; i < ldg_plan_strategies(); i++) add_row(&r, s->p, plan, dir, i, samples);
  sample_rows(s, &r, samples);
  for (int i = 0; i < r.n; i++) {
    const double ns = sampler_stats(r.list[i].ns, samples).ns;
    printf("  %-8s %c %-12s", dir == LDG_PACK ? "pack" : "unpack", strcmp(chosen, r.list[i].name) == 0 ? '*' : ' ', r.list[i].name);
    time_cell(r.list[i].predicted), time_cell(ns);
    printf(" %9.2f\n", ns > 0 ? r.list[i].predicted / ns : 0);
    ldg_plan_release(r.list[i].way.plan), ldg_free(r.list[i].ns);
  }
}

bool explain_measured(const problem *p, const measure_options *o, char *why, size_t cap) {
  sampler s = { .p = p, .min_ns = o->min_ns };
  const ldg_plan *plan;
  const int samples = (int)ldg_max(1, ldg_min(o->samples, SAMPLES_MAX));
  if (p->size == 0) return snprintf(why, cap, "it has no bytes"), false;
  if (!sampler_size(&s, o->cold, floor_touched(p), 1) || ldg_api_plan(p->type, &plan) != LADING_OK || !sampler_open(&s, false)) return snprintf(why, cap, "not enough memory"), false;
  printf("%s: %" PRId64 " bytes in %" PRId64 " blocks\n  %-8s   %-12s %13s %13s %9s\n", p->name, p->size, p->runs, "", "", "predicted", "measured", "ratio");
  direction(&s, plan, LDG_PACK, samples);
  direction(&s, plan, LDG_UNPACK, samples);
  sampler_close(&s);
  return true;
}
