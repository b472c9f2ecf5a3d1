/* A graph for each kernel and size of grid that comes again and again: made after some launches, timed, kept for as long as the lane. */
#include "site.h"

enum { BEFORE = 16 /* launches */, TRIES = 8, GRID_MOST = 1024 /* the last of LDG_REPLAY_GRIDS */, GRID_OF_TREES = 8192 };
_Static_assert(LDG_KERNEL_FUSED - LDG_KERNEL_ONE == LDG_REPLAY_KERNELS, "a row for each kernel that is launched here");

bool ldg_replays_can(const ldg_driver *d) { return d->graph_instantiate && d->graph_launch && d->graph_free && d->exec_free LDG_DRIVER_REPLAYS(LDG_IS_THERE); }

/* 1, 2, 3, 4, 6, 8, 12, ... */
static unsigned grid_of(int k) { return k == 0 ? 1 : k % 2 ? 1u << (k + 1) / 2 : 3u << (k / 2 - 1); }
static int class_of(int64_t tiles) {
  int k = 0;
  while (grid_of(k) < tiles) k++;
  return k;
}

static ldg_node_params params_of(const ldg_lane *l, int kernel, unsigned grid, void **params) {
  return (ldg_node_params){ .function = l->site->kernel[kernel], .grid = { grid, 1, 1 }, .block = { LDG_BLOCK, 1, 1 }, .params = params };
}

static void drop(const ldg_driver *d, ldg_replay *r) {
  if (r->exec) d->exec_free(r->exec);
  if (r->graph) d->graph_free(r->graph);
  r->exec = r->graph = NULL;
}

static bool make(ldg_lane *l, ldg_replay *r, const ldg_node_params *p) {
  const ldg_driver *d = l->site->driver;
  const int mode = ldg_driver_relax(d); /* what others record is none of ours */
  r->refused = d->graph_create(&r->graph, 0) || d->graph_kernel(&r->node, r->graph, NULL, 0, p) || d->graph_instantiate(&r->exec, r->graph, 0);
  if (r->refused) drop(d, r);
  ldg_driver_restore(d, mode);
  return !r->refused;
}

/* Blocks that may copy an image first are no more than it takes to fill a device some times over. */
static int by_launch(const ldg_lane *l, int kernel, int64_t tiles, void **params) {
  const bool copies = kernel == LDG_KERNEL_ONE + LDG_FORM_TREES || kernel == LDG_KERNEL_ONE_REDUCE;
  const unsigned grid = (unsigned)ldg_min(tiles, copies ? GRID_OF_TREES : LDG_GRID_MOST);
  return l->site->driver->launch(l->site->kernel[kernel], grid, 1, 1, LDG_BLOCK, 1, 1, 0, l->stream, params, NULL);
}

/* False: it launched nothing. */
static bool by_replay(ldg_lane *l, ldg_replay *r, const ldg_node_params *p) {
  const ldg_driver *d = l->site->driver;
  if (!r->exec && !make(l, r, p)) return false;
  r->refused = d->exec_set(r->exec, r->node, p) || d->graph_launch(r->exec, l->stream);
  return !r->refused;
}

static void note(ldg_lane *l, int way, double ns) {
  ldg_replays *a = &l->replays;
  if (a->tries[way]++ == 0 || ns < a->least[way]) a->least[way] = ns;
  if (a->tries[LDG_BY_LAUNCH] < TRIES || a->tries[LDG_BY_REPLAY] < TRIES) return;
  atomic_store(&l->site->replays, a->least[LDG_BY_REPLAY] < a->least[LDG_BY_LAUNCH] ? LDG_REPLAYS_FASTER : LDG_REPLAYS_SLOWER);
}

/* By turns of each kernel and size, which then has part in both, until it is known; an exec is made before it is timed. */
static int timed(ldg_lane *l, ldg_replay *r, int kernel, int64_t tiles, const ldg_node_params *p) {
  const int way = r->exec && r->uses % 2 ? LDG_BY_REPLAY : LDG_BY_LAUNCH;
  if (!r->exec && !make(l, r, p)) return by_launch(l, kernel, tiles, p->params);
  const double start = ldg_device_now();
  if (way == LDG_BY_REPLAY && !by_replay(l, r, p)) return by_launch(l, kernel, tiles, p->params);
  const int e = way == LDG_BY_LAUNCH ? by_launch(l, kernel, tiles, p->params) : 0;
  if (!e) note(l, way, ldg_device_now() - start);
  return e;
}

/* What is recorded is a launch of the caller's graph. */
int ldg_replay_launch(ldg_lane *l, int kernel, int64_t tiles, void **params) {
  const int known = atomic_load_explicit(&l->site->replays, memory_order_relaxed);
  if (known == LDG_REPLAYS_SLOWER || tiles > GRID_MOST) return by_launch(l, kernel, tiles, params);
  const int k = class_of(tiles);
  ldg_replay *r = &l->replays.of[kernel - LDG_KERNEL_ONE][k];
  if (r->refused || ++r->uses <= BEFORE || ldg_lane_recorded(l)) return by_launch(l, kernel, tiles, params);
  const ldg_node_params p = params_of(l, kernel, grid_of(k), params);
  if (known == LDG_REPLAYS_UNKNOWN) return timed(l, r, kernel, tiles, &p);
  return by_replay(l, r, &p) ? 0 : by_launch(l, kernel, tiles, params);
}

/* Until it is known it is found out by launches. Other devices' memory a kernel may not reach. */
bool ldg_device_small_moves(const ldg_lane *l, int device) {
  return l->site->device == device && atomic_load_explicit(&l->site->replays, memory_order_relaxed) != LDG_REPLAYS_SLOWER;
}

/* In the lane's context. What is under way goes on: a driver that can replay frees a graph behind its last launch. */
void ldg_replays_close(ldg_lane *l) {
  for (int i = 0; i < LDG_REPLAY_KERNELS; i++)
    for (int k = 0; k < LDG_REPLAY_GRIDS; k++) drop(l->site->driver, &l->replays.of[i][k]);
}

int ldg_device_replays(ldg_lane *l, int known) { return atomic_exchange(&l->site->replays, known); }
