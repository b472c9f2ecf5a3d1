/* Captures: commands are recorded into a graph in the order of the calls, which is one of the orders that a real graph allows;
 * a launch of it puts copies of them into a stream. What a capture forbids breaks it, as it does on real devices.
 */
#include "fake.h"
#include <string.h>

enum { MODE_GLOBAL, MODE_THREAD, MODE_RELAXED };
static _Thread_local char me;
static _Thread_local int my_mode; /* what this thread wants to know of the captures of others */

static int broken(fake_graph *g) {
  g->broken = true;
  return E_CAPTURE;
}

/* Calls that may make a device wait are refused to threads that did not say they know what they do. */
static bool bans(const fake_graph *g) {
  if (g->mode == MODE_RELAXED || my_mode == MODE_RELAXED) return false;
  return g->thread == (uintptr_t)&me || (g->mode == MODE_GLOBAL && my_mode == MODE_GLOBAL);
}

int fake_capture_forbids(const char *what, fake_stream *s) {
  if (s && s->capture) return broken(s->capture);
  if (s && fake_capture_implicit(s)) return E_IMPLICIT;
  for (fake_stream *o = NULL; (o = fake_find(A_STREAM, o));) {
    fake_graph *g = o->capture;
    if (!g || !bans(g)) continue;
    broken(g);
    return fake_fault(E_CAPTURE, "%s while a stream is captured", what);
  }
  return E_OK;
}

/* The recording that the default stream would wait for. */
static fake_graph *before_default(const fake_stream *s) {
  if (s != s->object.context->null) return NULL;
  for (fake_stream *o = NULL; (o = fake_find(A_STREAM, o));)
    if (o->capture && !o->beside && o->object.context == s->object.context) return o->capture;
  return NULL;
}

/* Whatever uses the default stream then, work or a wait, breaks it. */
bool fake_capture_implicit(const fake_stream *s) {
  fake_graph *g = before_default(s);
  return g && broken(g);
}

int fake_record(fake_graph *g, fake_command *c) {
  if (g->broken) return fake_command_end(c), E_CAPTURE_BROKEN;
  *g->end = c, g->end = &c->next;
  return E_OK;
}

static fake_graph *graph_new(fake_kind kind) {
  fake_graph *g = fake_new(kind, sizeof *g);
  g->end = &g->first;
  return g;
}

static void graph_free(fake_graph *g) {
  for (fake_command *c = g->first, *next; c; c = next) {
    next = c->next;
    fake_command_end(c);
  }
  fake_drop(g);
}

FAKE(cuStreamBeginCapture_v2, hipStreamBeginCapture, CURRENT, (void *handle, int mode), (handle, mode)) {
  int err = E_OK;
  fake_stream *s = fake_stream_here(handle, &err);
  if (!s) return err;
  if (s == s->object.context->null || s->capture || mode < MODE_GLOBAL || mode > MODE_RELAXED) return E_CAPTURE;
  s->capture = graph_new(A_GRAPH);
  s->capture->mode = mode, s->capture->thread = (uintptr_t)&me, s->capture->streams = 1;
  s->origin = true;
  return E_OK;
}

FAKE(cuThreadExchangeStreamCaptureMode, hipThreadExchangeStreamCaptureMode, INIT, (int *mode), (mode)) {
  const int was = my_mode;
  if (*mode < MODE_GLOBAL || *mode > MODE_RELAXED) return E_VALUE;
  my_mode = *mode, *mode = was;
  return E_OK;
}

FAKE(cuStreamEndCapture, hipStreamEndCapture, CURRENT, (void *handle, fake_graph **out), (handle, out)) {
  int err = E_OK;
  fake_stream *s = fake_stream_here(handle, &err);
  *out = NULL;
  if (!s) return err;
  fake_graph *g = s->capture;
  if (!g || !s->origin) return E_VALUE;
  bool unjoined = false;
  for (fake_stream *o = NULL; (o = fake_find(A_STREAM, o));)
    if (o->capture == g) unjoined |= o->unjoined, o->capture = NULL, o->origin = o->unjoined = false;
  if (unjoined) return graph_free(g), E_UNJOINED;
  if (g->broken) return graph_free(g), E_CAPTURE_BROKEN;
  *out = g;
  return E_OK;
}

FAKE(cuStreamIsCapturing, hipStreamIsCapturing, CURRENT, (void *handle, int *status), (handle, status)) {
  const fake_stream *s = fake_stream_of(handle);
  if (!s) return fake_fault(E_HANDLE, "%p is no stream", handle);
  if (before_default(s)) return E_IMPLICIT; /* to ask does no harm */
  *status = !s->capture ? 0 : s->capture->broken ? 2 : 1;
  return E_OK;
}

static void append_copies(fake_graph *to, const fake_graph *from) {
  for (const fake_command *c = from->first; c; c = c->next) {
    fake_command *new = fake_command_copy(c);
    *to->end = new, to->end = &new->next;
  }
}

FAKE(cuGraphInstantiateWithFlags, hipGraphInstantiateWithFlags, CURRENT, (fake_graph **out, fake_graph *graph, unsigned long long flags),
     (out, graph, flags)) {
  (void)flags;
  if (!fake_is(graph, A_GRAPH)) return fake_fault(E_HANDLE, "%p is no graph", (void *)graph);
  *out = graph_new(AN_EXEC);
  (*out)->single = graph->single;
  append_copies(*out, graph);
  return E_OK;
}

FAKE(cuGraphLaunch, hipGraphLaunch, CURRENT, (fake_graph *exec, void *handle), (exec, handle)) {
  int err = E_OK;
  fake_stream *s = fake_stream_here(handle, &err);
  if (!s) return err;
  if (!fake_is(exec, AN_EXEC)) return fake_fault(E_HANDLE, "%p is no executable graph", (void *)exec);
  for (const fake_command *c = exec->first; c && !err; c = c->next) {
    if (c->what == DO_MARK) continue; /* of events that were recorded meanwhile */
    fake_command *new = fake_command_copy(c);
    new->takes = c == exec->first ? fake_set.graph_takes : 0, new->of = exec;
    err = fake_push_taken(s, new);
  }
  return err;
}

FAKE(cuGraphDestroy, hipGraphDestroy, INIT, (fake_graph *graph), (graph)) {
  if (!fake_is(graph, A_GRAPH)) return fake_fault(E_HANDLE, "%p is no graph", (void *)graph);
  graph_free(graph);
  return E_OK;
}

/* ---- graphs of one kernel, whose arguments are set anew ---- */

#ifndef FAKE_HIP
typedef struct node_params { const void *function; unsigned grid[3], block[3], shared; void **params, **extra, *kernel, *context; } node_params;

static int command_of(const node_params *p, fake_command *out) {
  return p->kernel || p->context ? fake_fault(E_VALUE, "a node of another kind of kernel")
                                 : fake_launch_command(p->function, (const unsigned[]){ p->grid[0], p->grid[1], p->grid[2], p->block[0], p->block[1], p->block[2] },
                                                       p->shared, p->params, p->extra, out);
}

FAKE(cuGraphCreate, , CURRENT, (fake_graph **out, unsigned flags), (out, flags)) {
  if (flags) return E_VALUE;
  *out = graph_new(A_GRAPH);
  (*out)->single = true;
  return E_OK;
}

FAKE(cuGraphAddKernelNode_v2, , CURRENT, (void **node, fake_graph *graph, const void *const *behind, size_t n, const node_params *p), (node, graph, behind, n, p)) {
  fake_command c;
  if (!fake_is(graph, A_GRAPH)) return fake_fault(E_HANDLE, "%p is no graph", (void *)graph);
  if (behind || n || graph->first) return fake_fault(E_VALUE, "a second node of a graph");
  const int err = command_of(p, &c);
  if (err) return err;
  *node = graph->first = fake_command_take(c), graph->end = &graph->first->next;
  return E_OK;
}

/* What was launched before keeps its arguments: its commands are copies. */
FAKE(cuGraphExecKernelNodeSetParams_v2, , CURRENT, (fake_graph *exec, void *node, const node_params *p), (exec, node, p)) {
  fake_command c;
  if (!fake_is(exec, AN_EXEC)) return fake_fault(E_HANDLE, "%p is no executable graph", (void *)exec);
  if (!node || !exec->first || exec->first->next) return fake_fault(E_HANDLE, "%p is no node of the graph", node);
  const int err = command_of(p, &c);
  if (err) return err;
  fake_command_end(exec->first);
  exec->first = fake_command_take(c), exec->end = &exec->first->next;
  return E_OK;
}
#endif

static bool under_way(const fake_graph *exec) {
  for (fake_stream *s = NULL; (s = fake_find(A_STREAM, s));)
    for (const fake_command *c = s->first; c; c = c->next)
      if (c->of == exec) return true;
  return false;
}

/* It goes when its commands are done, which have all that they need. */
static void let_go(const fake_graph *exec) {
  for (fake_stream *s = NULL; (s = fake_find(A_STREAM, s));)
    for (fake_command *c = s->first; c; c = c->next)
      if (c->of == exec) c->of = NULL;
}

FAKE(cuGraphExecDestroy, hipGraphExecDestroy, INIT, (fake_graph *exec), (exec)) {
  if (!fake_is(exec, AN_EXEC)) return fake_fault(E_HANDLE, "%p is no executable graph", (void *)exec);
  if (exec->single) let_go(exec);
  else if (under_way(exec)) return fake_fault(E_HANDLE, "a graph is destroyed while it is under way");
  graph_free(exec);
  return E_OK;
}
