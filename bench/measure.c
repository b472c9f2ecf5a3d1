/* measure: samples are taken in rounds, one of each way, so that a slow moment of the machine hits all ways alike. */
#include "measure.h"
#include "floor.h"
#include <stdio.h>

#define LANE_NS 2e9 /* a way that needs more time than this for its samples takes fewer */
#define SAMPLES_MIN 3

/* ---- the ways ----------------------------------------------------------------------------------------------------- */

static void whole_pack(sampler *s, int64_t reps) {
  const problem *p = s->p;
  while (reps-- > 0) {
    const copy *c = sampler_turn(s);
    lading_pack(p->type, p->count, c->mem, c->packed, 0, p->size);
  }
}

static void whole_unpack(sampler *s, int64_t reps) {
  const problem *p = s->p;
  while (reps-- > 0) {
    const copy *c = sampler_turn(s);
    lading_unpack(p->type, p->count, c->mem, c->packed, 0, p->size);
  }
}

static void segmented_pack(sampler *s, int64_t reps) {
  const problem *p = s->p;
  const int64_t step = s->segment;
  while (reps-- > 0) {
    const copy *c = sampler_turn(s);
    for (int64_t lo = 0; lo < p->size; lo += step)
      lading_pack(p->type, p->count, c->mem, c->packed + lo, lo, ldg_min(lo + step, p->size));
  }
}

static void segmented_unpack(sampler *s, int64_t reps) {
  const problem *p = s->p;
  const int64_t step = s->segment;
  while (reps-- > 0) {
    const copy *c = sampler_turn(s);
    for (int64_t lo = 0; lo < p->size; lo += step)
      lading_unpack(p->type, p->count, c->mem, c->packed + lo, lo, ldg_min(lo + step, p->size));
  }
}

/* What a segment costs at least: other calls, but nothing to find. */
static void segmented_memcpy(sampler *s, int64_t reps) {
  const int64_t step = s->segment, size = s->p->size;
  while (reps-- > 0) {
    const copy *c = sampler_turn(s);
    for (int64_t lo = 0; lo < size; lo += step) memcpy(c->other + lo, c->packed + lo, (size_t)ldg_min(step, size - lo));
  }
}

static void hand_pack(sampler *s, int64_t reps) {
  while (reps-- > 0) {
    const copy *c = sampler_turn(s);
    hand_move(s->p->hand, LDG_PACK, c->mem, c->packed);
  }
}

static void hand_unpack(sampler *s, int64_t reps) {
  while (reps-- > 0) {
    const copy *c = sampler_turn(s);
    hand_move(s->p->hand, LDG_UNPACK, c->mem, c->packed);
  }
}

static void sum_pack(sampler *s, int64_t reps) {
  const problem *p = s->p;
  while (reps-- > 0) {
    const copy *c = sampler_turn(s);
    lading_pack_op(p->type, p->count, c->mem, c->packed, 0, p->size, LADING_SUM);
  }
}

static void sum_unpack(sampler *s, int64_t reps) {
  const problem *p = s->p;
  while (reps-- > 0) {
    const copy *c = sampler_turn(s);
    lading_unpack_op(p->type, p->count, c->mem, c->packed, 0, p->size, LADING_SUM);
  }
}

static void hand_sum_pack(sampler *s, int64_t reps) {
  while (reps-- > 0) {
    const copy *c = sampler_turn(s);
    hand_move(s->p->hand, HAND_SUM + LDG_PACK, c->mem, c->packed);
  }
}

static void hand_sum_unpack(sampler *s, int64_t reps) {
  while (reps-- > 0) {
    const copy *c = sampler_turn(s);
    hand_move(s->p->hand, HAND_SUM + LDG_UNPACK, c->mem, c->packed);
  }
}

/* Every byte of every element: a number of the usual kind, however often it is added. */
static void fill_for_sums(const sampler *s) {
  const problem *p = s->p;
  for (int i = 0; i < s->copies; i++) {
    memset(s->copy[i].packed, 0x3f, (size_t)p->size);
    lading_unpack(p->type, p->count, s->copy[i].mem, s->copy[i].packed, 0, p->size);
  }
}

static bool adds(const hand_part *h, int elem) {
  if (!h->move[HAND_SUM]) return false;
  return elem == LADING_DOUBLE || elem == LADING_C_DOUBLE ? h->width == 8 || h->width == 16
       : elem == LADING_FLOAT ? h->width == 4 : elem == LADING_INT16 ? h->width == 2 : elem == LADING_INT8 && h->width == 1;
}

const char *measure_no_sums(const problem *p) {
  lading_info info;
  if (lading_type_info(p->type, &info) != LADING_OK || info.elem < 0 || !lading_op_supported(LADING_SUM, (lading_elem)info.elem)) return "its elements have no sum";
  for (int i = 0; p->hand && i < p->hand->n; i++)
    if (!adds(&p->hand->part[i], info.elem)) return "its loop adds other elements";
  return NULL;
}

/* ---- lanes: what is sampled ----------------------------------------------------------------------------------------- */

typedef struct lane {
  batch *run;            /* here, or else */
  peer *peer; int dir;   /* there */
  int64_t reps;
  int wanted, got;       /* samples */
  timing *out;
  double ns[SAMPLES_MAX];
} lane;

#define LANES_MAX (WAY_MAX + 2 * PEERS_MAX)
typedef struct lanes { int n; lane list[LANES_MAX], *turn[LANES_MAX]; } lanes; /* turn: the order of a round */

static void add_way(lanes *all, batch *run, timing *out) {
  lane *l = &all->list[all->n];
  if (!run) return;
  l->run = run;
  l->peer = NULL;
  l->out = out;
  all->n++;
}

static void add_peers(lanes *all, peers *rivals, int dir, measure_row *row) {
  for (int i = 0; rivals && i < rivals->n; i++) {
    lane *l = &all->list[all->n];
    if (!rivals->list[i].open) continue;
    l->run = NULL;
    l->peer = &rivals->list[i];
    l->dir = dir;
    l->out = &row->peer[i][dir];
    all->n++;
  }
}

static void choose_sums(const sampler *s, lanes *all, measure_row *row) {
  const bool looped = s->p->hand != NULL;
  all->n = 0;
  add_way(all, sum_pack, &row->way[WAY_PACK]);
  add_way(all, looped ? hand_sum_pack : NULL, &row->way[WAY_HAND_PACK]);
  add_way(all, sum_unpack, &row->way[WAY_UNPACK]);
  add_way(all, looped ? hand_sum_unpack : NULL, &row->way[WAY_HAND_UNPACK]);
  add_way(all, floor_memcpy, &row->way[WAY_MEMCPY]);
}

static void choose_lanes(const sampler *s, lanes *all, peers *rivals, measure_row *row) {
  const bool split = s->segment > 0, looped = s->p->hand != NULL;
  all->n = 0;
  add_way(all, split ? segmented_pack : whole_pack, &row->way[WAY_PACK]);
  add_way(all, looped ? hand_pack : NULL, &row->way[WAY_HAND_PACK]);
  add_peers(all, rivals, LDG_PACK, row);
  add_way(all, split ? segmented_unpack : whole_unpack, &row->way[WAY_UNPACK]);
  add_way(all, looped ? hand_unpack : NULL, &row->way[WAY_HAND_UNPACK]);
  add_peers(all, rivals, LDG_UNPACK, row);
  add_way(all, floor_memcpy, &row->way[WAY_MEMCPY]);
  add_way(all, split ? whole_pack : NULL, &row->way[WAY_WHOLE_PACK]);
  add_way(all, split ? whole_unpack : NULL, &row->way[WAY_WHOLE_UNPACK]);
  add_way(all, split ? segmented_memcpy : NULL, &row->way[WAY_SPLIT_MEMCPY]);
}

/* ---- sampling ----------------------------------------------------------------------------------------------------- */

static bool take(sampler *s, lane *l, double *ns) {
  if (l->run) return *ns = sampler_time(s, l->run, l->reps), true;
  return peer_time(l->peer, l->dir, l->reps, &s->next, ns);
}

/* A first sample says what the others will cost. */
static void calibrate(sampler *s, lane *l, int samples) {
  double ns = 0;
  l->wanted = l->got = 0;
  l->reps = l->run ? sampler_calibrate(s, l->run) : peer_calibrate(l->peer, l->dir, &s->next);
  if (l->reps <= 0 || !take(s, l, &ns)) return;
  double fit = LANE_NS / (ns * (double)l->reps + 1);
  l->wanted = fit < samples ? (int)ldg_min(samples, ldg_max(SAMPLES_MIN, (int64_t)fit)) : samples;
}

/* Round i of n takes a sample of a lane that wants fewer only now and then, evenly. */
static bool due(const lane *l, int i, int n) {
  return (int64_t)(i + 1) * l->wanted / n != (int64_t)i * l->wanted / n;
}

/* Caches, pages and branches are as the way before left them: who always followed the same one would be measured after that one. */
static void shuffle_lanes(lanes *all, uint64_t *seed) {
  for (int i = all->n - 1; i > 0; i--) {
    const int j = (int)(splitmix64(seed) % (uint64_t)(i + 1));
    lane *l = all->turn[i];
    all->turn[i] = all->turn[j];
    all->turn[j] = l;
  }
}

static void sample(sampler *s, lane *l, int i) {
  if (s->places) s->next = i % s->copies;
  if (take(s, l, &l->ns[l->got])) l->got++;
  else l->wanted = l->got = 0;
}

static void sample_all(sampler *s, lanes *all, int samples) {
  static uint64_t seed = 5; /* other orders for other problems */
  for (int i = 0; i < all->n; i++) calibrate(s, all->turn[i] = &all->list[i], samples);
  for (int i = 0; i < samples; i++) {
    shuffle_lanes(all, &seed);
    for (int j = 0; j < all->n; j++)
      if (due(all->turn[j], i, samples)) sample(s, all->turn[j], i);
  }
  for (int j = 0; j < all->n; j++) *all->list[j].out = sampler_stats(all->list[j].ns, all->list[j].got);
}

/* ---- one problem -------------------------------------------------------------------------------------------------- */

static void open_peers(const sampler *s, peers *rivals, measure_row *row) {
  for (int i = 0; rivals && i < rivals->n; i++)
    peer_open(&rivals->list[i], s, row->note[i], sizeof row->note[i]);
}

static void close_peers(peers *rivals, measure_row *row) {
  for (int i = 0; rivals && i < rivals->n; i++) {
    if (row->note[i][0] || peer_close(&rivals->list[i])) continue;
    snprintf(row->note[i], sizeof row->note[i], "its helper died or hangs");
    memset(row->peer[i], 0, sizeof row->peer[i]);
  }
}

bool measure_problem(const problem *p, const measure_options *o, peers *rivals, measure_row *row, char *why, size_t cap) {
  static lanes all;
  sampler s = { .p = p, .segment = o->segment, .min_ns = o->min_ns, .shared = rivals ? rivals->memory : 0 };
  const int samples = (int)ldg_max(1, ldg_min(o->samples, SAMPLES_MAX));
  memset(row, 0, sizeof *row);
  if (o->sum && measure_no_sums(p)) return snprintf(why, cap, "%s", measure_no_sums(p)), false;
  if (o->floor || o->cold) row->lines = floor_lines(p, FLOOR_LINE);
  if (!sampler_size(&s, o->cold, row->lines * FLOOR_LINE, 1)) return snprintf(why, cap, "needs more memory than there is"), false;
  const double traffic_ns = o->floor ? floor_traffic_ns(&s, row->lines, samples) : 0;
  if (!o->cold) sampler_vary(&s, samples);
  if (lading_type_commit(p->type) != LADING_OK || !sampler_open(&s, true)) return snprintf(why, cap, "its memory cannot be mapped"), false;
  open_peers(&s, rivals, row);
  if (o->sum) fill_for_sums(&s), choose_sums(&s, &all, row);
  else choose_lanes(&s, &all, rivals, row);
  sample_all(&s, &all, samples);
  close_peers(rivals, row);
  sampler_close(&s);
  if (o->floor) row->floor_ns = floor_least_ns(row->lines, traffic_ns, row->way[WAY_MEMCPY].ns);
  return true;
}
