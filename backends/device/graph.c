/* A graph for each launch that comes again and again: tried, timed, kept while it is used. */
#include "graph.h"
#include "site.h"

enum { MOST = 32, TRIES = 4 };
typedef enum way { SINGLY, AS_GRAPH, WAYS } way;

typedef struct entry {
  ldg_fused_launch what;
  int64_t last, uses;      /* last: when, by the clock of the graphs */
  void *exec;              /* NULL: not made */
  bool refused;            /* by the driver, in some step: never again */
  int tries[WAYS];
  double least[WAYS];      /* ns: what the calls took, and then the device */
} entry;

struct ldg_graphs {
  const ldg_driver *driver;
  void *stream, *event[2]; /* to record from; around what is timed; made when a launch comes again, as few batches need them */
  bool refused;            /* they could not be made */
  int64_t clock;
  entry *timed;            /* under way; NULL: none */
  way way;
  double calls;            /* ns of it */
  int n;
  entry entry[MOST];
};

/* ---- life ---- */

static bool has_graphs(const ldg_driver *d) { return true LDG_DRIVER_GRAPHS(LDG_IS_THERE); }

static void clear(ldg_graphs *g) {
  const ldg_driver *d = g->driver;
  for (int i = 0; i < 2; i++)
    if (g->event[i]) d->event_destroy(g->event[i]);
  if (g->stream) d->stream_destroy(g->stream);
  g->stream = g->event[0] = g->event[1] = NULL;
}

ldg_graphs *ldg_graphs_open(const ldg_driver *d) {
  ldg_graphs *g = has_graphs(d) ? ldg_alloc(sizeof *g) : NULL;
  if (!g) return NULL;
  memset(g, 0, sizeof *g);
  g->driver = d;
  return g;
}

static bool is_ready(ldg_graphs *g) {
  if (g->stream || g->refused) return g->stream;
  const int mode = ldg_driver_relax(g->driver);
  int e = g->driver->stream_create(&g->stream, LDG_STREAM_NON_BLOCKING);
  for (int i = 0; i < 2 && !e; i++) e = g->driver->event_create(&g->event[i], 0);
  if (e) clear(g);
  g->refused = e;
  ldg_driver_restore(g->driver, mode);
  return !e;
}

void ldg_graphs_close(ldg_graphs *g, bool entered) {
  for (int i = 0; g && entered && i < g->n; i++)
    if (g->entry[i].exec) g->driver->exec_free(g->entry[i].exec);
  if (g && entered) clear(g);
  ldg_free(g);
}

/* ---- which ---- */

static bool is_same(const ldg_fused_launch *a, const ldg_fused_launch *b) {
  return a->tiles == b->tiles && a->cargos == b->cargos && a->parts == b->parts && a->page == b->page && a->reduces == b->reduces;
}

/* Only once nothing of it is under way. */
static bool forget(const ldg_driver *d, void *exec, void *stream) {
  const int mode = ldg_driver_relax(d);
  const bool idle = d->stream_query(stream) == 0;
  if (idle) d->exec_free(exec);
  ldg_driver_restore(d, mode);
  return idle;
}

/* Room for one more; NULL: not now, as no graph goes before what it launched is done. */
static entry *make_room(ldg_graphs *g, void *stream) {
  if (g->n < MOST) return &g->entry[g->n++];
  entry *oldest = g->entry;
  for (int i = 1; i < MOST; i++)
    if (g->entry[i].last < oldest->last) oldest = &g->entry[i];
  if (oldest->exec && !forget(g->driver, oldest->exec, stream)) return NULL;
  if (oldest == g->timed) g->timed = NULL;
  return oldest;
}

static entry *find(ldg_graphs *g, void *stream, const ldg_fused_launch *what) {
  entry *e = g->entry;
  while (e < g->entry + g->n && !is_same(&e->what, what)) e++;
  if (e == g->entry + g->n) {
    e = make_room(g, stream);
    if (e) *e = (entry){ .what = *what };
  }
  if (e) e->last = ++g->clock;
  return e;
}

/* ---- how ---- */

static bool is_open(const entry *e) { return !e->refused && e->tries[AS_GRAPH] < TRIES; }

static way way_of(const entry *e) {
  if (e->refused || e->tries[SINGLY] < TRIES) return SINGLY;
  return is_open(e) || e->least[AS_GRAPH] < e->least[SINGLY] ? AS_GRAPH : SINGLY;
}

static bool record_relaxed(ldg_graphs *g, entry *e, ldg_graph_enqueue *enqueue, void *arg) {
  const ldg_driver *d = g->driver;
  void *graph = NULL;
  if (d->capture_begin(g->stream, LDG_CAPTURE_RELAXED)) return false;
  const int enqueued = enqueue(arg, g->stream);
  bool good = d->capture_end(g->stream, &graph) == 0 && !enqueued && d->graph_instantiate(&e->exec, graph, 0) == 0;
  if (!good) e->exec = NULL;
  if (graph) d->graph_free(graph);
  return good;
}

/* What others record is none of ours. */
static bool record(ldg_graphs *g, entry *e, ldg_graph_enqueue *enqueue, void *arg) {
  const int mode = ldg_driver_relax(g->driver);
  const bool good = record_relaxed(g, e, enqueue, arg);
  ldg_driver_restore(g->driver, mode);
  return good;
}

static int launch(ldg_graphs *g, entry *e, void *stream, ldg_graph_enqueue *enqueue, void *arg) {
  if (way_of(e) == AS_GRAPH && !e->exec) e->refused = !record(g, e, enqueue, arg);
  if (way_of(e) == AS_GRAPH && g->driver->graph_launch(e->exec, stream) == 0) return 0;
  e->refused |= way_of(e) == AS_GRAPH;
  return enqueue(arg, stream);
}

/* ---- times ---- */

/* The device is done with what is timed: its part is known. */
static void look_at_timed(ldg_graphs *g) {
  entry *e = g->timed;
  float ms = 0;
  if (!e) return;
  const int mode = ldg_driver_relax(g->driver);
  int error = g->driver->event_query(g->event[1]);
  ldg_driver_restore(g->driver, mode);
  if (error == LDG_NOT_READY) return;
  if (!error) error = g->driver->event_elapsed(&ms, g->event[0], g->event[1]);
  const double ns = g->calls + (double)ms * 1e6;
  if (error) e->refused = true;
  else if (e->tries[g->way]++ == 0 || ns < e->least[g->way]) e->least[g->way] = ns;
  g->timed = NULL;
}

/* The first time it is cold. */
static int launch_timed(ldg_graphs *g, entry *e, void *stream, ldg_graph_enqueue *enqueue, void *arg) {
  const ldg_driver *d = g->driver;
  const bool timed = e->uses++ && is_open(e) && !g->timed && is_ready(g) && d->event_record(g->event[0], stream) == 0;
  const double start = timed ? ldg_device_now() : 0;
  const bool made = e->exec;
  const int error = launch(g, e, stream, enqueue, arg);
  const double calls = timed ? ldg_device_now() - start : 0;
  if (timed && !error && made == (e->exec != NULL) && d->event_record(g->event[1], stream) == 0)
    g->timed = e, g->way = way_of(e), g->calls = calls;
  return error;
}

int ldg_graphs_run(ldg_graphs *g, void *stream, const ldg_fused_launch *what, ldg_graph_enqueue *enqueue, void *arg) {
  if (!g || what->recorded) return enqueue(arg, stream);
  look_at_timed(g);
  entry *e = find(g, stream, what);
  return e ? launch_timed(g, e, stream, enqueue, arg) : enqueue(arg, stream);
}
