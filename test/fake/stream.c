/* Streams and events. A command waits in its stream until somebody runs it: who synchronizes, who asks (one command a question),
 * or the impatient thread, when a command has waited for long. So results are never there before they may be expected, work on
 * different streams runs in any order, and a host that polls memory is served, too.
 */
#include "fake.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t numbers;
static int64_t taken; /* ns that the clock of devices is ahead */
static pthread_t impatient;
static bool impatient_runs;

/* ---- marks ---- */

static fake_mark *mark_new(void) {
  fake_mark *m = calloc(1, sizeof *m);
  m->users = 1;
  return m;
}

static fake_mark *mark_share(fake_mark *m) { return m->users++, m; }

void fake_mark_drop(fake_mark *m) {
  if (m && --m->users == 0) free(m);
}

/* ---- which stream ---- */

static fake_stream *null_stream(fake_context *c) {
  if (!c) return NULL;
  if (!c->null) {
    c->null = fake_new(A_STREAM, sizeof *c->null);
    c->null->object.context = c;
    fake_stream_born(c->null);
  }
  return c->null;
}

fake_stream *fake_stream_of(void *handle) {
  if ((uintptr_t)handle <= 2) return null_stream(fake_current());
  return fake_is(handle, A_STREAM) ? handle : NULL;
}

fake_stream *fake_stream_here(void *handle, int *err) {
  fake_stream *s = fake_stream_of(handle);
  if (!s) return *err = fake_fault(E_HANDLE, "%p is no stream", handle), NULL;
  if (s->object.context == fake_current()) return s;
  return *err = fake_fault(E_HANDLE, "a stream of device %d is used while device %d is current", s->object.context->device, fake_current()->device), NULL;
}

void fake_stream_born(fake_stream *s) { s->end = &s->first; }

/* ---- commands ---- */

void fake_command_end(fake_command *c) {
  if (c->what == DO_LAUNCH) free(c->launch.args);
  if (c->what == DO_COPY) free(c->copy.snapshot);
  if (c->what == DO_MARK || c->what == DO_AWAIT) fake_mark_drop(c->mark);
  free(c);
}

static void *copy_of(const void *p, size_t n) { return p ? memcpy(malloc(n ? n : 1), p, n) : NULL; }

fake_command *fake_command_copy(const fake_command *c) {
  fake_command *new = copy_of(c, sizeof *c);
  new->next = NULL;
  if (c->what == DO_LAUNCH) new->launch.args = copy_of(c->launch.args, c->launch.kernel->args_size);
  if (c->what == DO_COPY && c->copy.snapshot) {
    new->copy.snapshot = copy_of(c->copy.snapshot, (size_t)(c->copy.width * c->copy.height * c->copy.depth));
    new->copy.src.p = new->copy.snapshot;
  }
  if (c->what == DO_MARK || c->what == DO_AWAIT) mark_share(new->mark);
  return new;
}

static void free_range(uintptr_t base) {
  fake_range *r = fake_range_at((void *)base);
  if (r) fake_range_free(r);
}

/* Without the lock: callbacks may wait for other threads that call the driver. */
static int call_out(fake_stream *s, fake_command *c) {
  s->busy = true;
  fake_unlock();
  c->call.run(c->call.data);
  fake_lock();
  s->busy = false;
  return E_OK;
}

static int run(fake_stream *s, fake_command *c) {
  switch (c->what) {
    case DO_LAUNCH: return fake_kernel_run(&c->launch);
    case DO_COPY: return fake_copy_run(&c->copy);
    case DO_FILL: {
      char *p = fake_bytes(c->fill.p, c->fill.n, "a fill");
      return p ? memset(p, c->fill.value, (size_t)c->fill.n), E_OK : E_ADDRESS;
    }
    case DO_MARK: return c->mark->done = true, c->mark->when = fake_now() + taken, E_OK;
    case DO_AWAIT: return E_OK;
    case DO_CALL: return call_out(s, c);
    case DO_FREE: return free_range(c->free), E_OK;
  }
  return E_UNKNOWN;
}

/* ---- what may run ---- */

/* The default stream waits for what other streams got before, and they for it. */
static bool ordered_after(const fake_stream *s, const fake_stream *other) {
  const bool null = s == s->object.context->null, other_null = other == other->object.context->null;
  return s != other && s->object.context == other->object.context && ((null && !other->beside) || (other_null && !s->beside));
}

static bool may_run(const fake_stream *s) {
  if (s->busy || !s->first || (s->first->what == DO_AWAIT && !s->first->mark->done)) return false;
  for (fake_stream *o = NULL; (o = fake_find(A_STREAM, o));)
    if (o->first && o->first->number < s->first->number && ordered_after(s, o)) return false;
  return true;
}

static void step(fake_stream *s) {
  fake_command *c = s->first;
  fake_context *context = s->object.context;
  taken += c->takes;
  const int err = context->error ? context->error : run(s, c);
  if (!(s->first = c->next)) s->end = &s->first;
  if (c->what == DO_MARK) c->mark->done = true; /* also when the context is lost: nobody may wait for ever */
  if (err && !context->error) context->error = err;
  fake_command_end(c);
  fake_changed();
}

/* One command of any stream, the n-th that could, so that their order is no order to rely on. */
bool fake_step_any(int64_t older_than) {
  fake_stream *able[16];
  int n = 0;
  for (fake_stream *s = NULL; (s = fake_find(A_STREAM, s)) && n < 16;)
    if (may_run(s) && s->first->since <= older_than) able[n++] = s;
  if (n) step(able[fake_random() % (uint64_t)n]);
  return n;
}

static bool any_busy(void) {
  for (fake_stream *s = NULL; (s = fake_find(A_STREAM, s));)
    if (s->busy) return true;
  return false;
}

/* Lets the world go on by a command; false when it cannot. */
static bool go_on(fake_stream *s) {
  if (s && may_run(s)) return step(s), true;
  if (fake_step_any(INT64_MAX)) return true;
  if (!any_busy()) return false;
  fake_wait();
  return true;
}

int fake_drain(fake_stream *s) {
  const fake_context *context = s->object.context;
  while (s->first)
    if (!go_on(s)) return fake_fault(E_UNKNOWN, "a stream waits for what never comes");
  return context->error;
}

int fake_drain_all(void) {
  for (fake_stream *s = NULL; (s = fake_find(A_STREAM, s));) {
    const int err = fake_drain(s);
    if (err) return err;
  }
  return E_OK;
}

int fake_until(const fake_mark *m) {
  while (!m->done)
    if (!go_on(NULL)) return fake_fault(E_UNKNOWN, "an event waits for what never comes");
  return E_OK;
}

typedef struct event { fake_object object; fake_mark *mark; fake_graph *capture; fake_stream *from; bool untimed; } event; /* from: that was captured */

static void drop_all(fake_kind kind, const fake_context *c) {
  for (fake_object *o = NULL; (o = fake_find(kind, o));)
    if (o->context == c) {
      if (kind == AN_EVENT) fake_mark_drop(((event *)(void *)o)->mark);
      fake_drop(o), o = NULL;
    }
}

void fake_streams_reset(fake_context *c) {
  for (fake_stream *s = NULL; (s = fake_find(A_STREAM, s));)
    if (s->object.context == c) fake_drain(s);
  for (int kind = 0; kind < FAKE_KINDS; kind++) drop_all((fake_kind)kind, c);
  c->null = NULL;
}

/* ---- the impatient thread ---- */

static void *impatience(void *nothing) {
  const struct timespec nap = { .tv_nsec = 200000 };
  for (;;) {
    nanosleep(&nap, NULL);
    fake_lock();
    if (fake_set.patience >= 0) fake_step_any(fake_now() - fake_set.patience * 1000);
    fake_unlock();
  }
  return nothing;
}

static void impatience_begin(void) {
  if (impatient_runs || fake_set.patience < 0) return;
  impatient_runs = !pthread_create(&impatient, NULL, impatience, NULL);
  if (impatient_runs) pthread_detach(impatient);
}

fake_command *fake_command_take(fake_command c) { return copy_of(&c, sizeof c); }

int fake_push_taken(fake_stream *s, fake_command *c) {
  c->number = ++numbers, c->since = fake_now(), c->next = NULL;
  if (s->capture) return s->unjoined = !s->origin, fake_record(s->capture, c);
  if (fake_capture_implicit(s)) return fake_command_end(c), E_IMPLICIT;
  *s->end = c, s->end = &c->next;
  s->late = fake_set.late;
  impatience_begin();
  return E_OK;
}

int fake_push(fake_stream *s, fake_command c) { return fake_push_taken(s, fake_command_take(c)); }

/* ---- the calls: streams ---- */

FAKE(cuStreamCreate, hipStreamCreateWithFlags, CURRENT, (void **out, unsigned flags), (out, flags)) {
  if (flags > 1) return E_VALUE;
  fake_stream *s = fake_new(A_STREAM, sizeof *s);
  fake_stream_born(s);
  s->beside = flags;
  *out = s;
  return E_OK;
}

FAKE(cuStreamDestroy_v2, hipStreamDestroy, CURRENT, (void *handle), (handle)) {
  if ((uintptr_t)handle <= 2 || !fake_is(handle, A_STREAM)) return fake_fault(E_HANDLE, "%p is destroyed, but no stream", handle);
  fake_drain(handle); /* real ones let the work go on by itself, which comes to the same */
  fake_drop(handle);
  return E_OK;
}

FAKE(cuStreamSynchronize, hipStreamSynchronize, CURRENT, (void *handle), (handle)) {
  fake_stream *s = fake_stream_of(handle);
  if (!s) return fake_fault(E_HANDLE, "%p is no stream", handle);
  const int err = fake_capture_forbids("a synchronization", s);
  return err ? err : fake_drain(s);
}

FAKE(cuStreamQuery, hipStreamQuery, CURRENT, (void *handle), (handle)) {
  fake_stream *s = fake_stream_of(handle);
  if (!s) return fake_fault(E_HANDLE, "%p is no stream", handle);
  const int err = fake_capture_forbids("a query of a stream", s);
  if (err) return err;
  if (s->first && !fake_set.still) fake_step_any(INT64_MAX);
  if (s->first || s->busy || (s->late > 0 && s->late--)) return E_NOT_READY;
  return s->object.context->error;
}

FAKE(cuStreamGetFlags, hipStreamGetFlags, CURRENT, (void *handle, unsigned *flags), (handle, flags)) {
  const fake_stream *s = fake_stream_of(handle);
  if (!s) return fake_fault(E_HANDLE, "%p is no stream", handle);
  *flags = s->beside;
  return E_OK;
}

#ifdef FAKE_HIP
FAKE(cuStreamGetDevice, hipStreamGetDevice, INIT, (void *handle, int *device), (handle, device)) {
  const fake_stream *s = fake_stream_of(handle);
  if (!s) return fake_fault(E_HANDLE, "%p is no stream", handle);
  *device = s->object.context->device;
  return E_OK;
}
#else
FAKE(cuStreamGetCtx, , INIT, (void *handle, fake_context **context), (handle, context)) {
  const fake_stream *s = fake_stream_of(handle);
  if (!s) return (uintptr_t)handle <= 2 ? E_CONTEXT : fake_fault(E_HANDLE, "%p is no stream", handle);
  *context = s->object.context;
  return E_OK;
}
#endif

FAKE(cuLaunchHostFunc, hipLaunchHostFunc, CURRENT, (void *handle, void (*fn)(void *), void *data), (handle, fn, data)) {
  int err = E_OK;
  fake_stream *s = fake_stream_here(handle, &err);
  return s ? fake_push(s, (fake_command){ .what = DO_CALL, .call = { fn, data } }) : err;
}

/* ---- the calls: events ---- */


static event *event_of(void *handle, int *err) {
  if (fake_is(handle, AN_EVENT)) return handle;
  return *err = fake_fault(E_HANDLE, "%p is no event", handle), NULL;
}

FAKE(cuEventCreate, hipEventCreateWithFlags, CURRENT, (void **out, unsigned flags), (out, flags)) {
  event *e = fake_new(AN_EVENT, sizeof *e);
  e->untimed = flags & 2;
  *out = e;
  return E_OK;
}

FAKE(cuEventDestroy_v2, hipEventDestroy, CURRENT, (void *handle), (handle)) {
  int err = E_OK;
  event *e = event_of(handle, &err);
  if (!e) return err;
  fake_mark_drop(e->mark);
  fake_drop(e);
  return E_OK;
}

FAKE(cuEventRecord, hipEventRecord, CURRENT, (void *handle, void *stream), (handle, stream)) {
  int err = E_OK;
  fake_stream *s = fake_stream_here(stream, &err);
  event *e = s ? event_of(handle, &err) : NULL;
  if (!e) return err;
  if (e->object.context != s->object.context) return fake_fault(E_HANDLE, "an event of another device is recorded");
  fake_mark_drop(e->mark);
  e->mark = mark_new(), e->capture = s->capture, e->from = s;
  return fake_push(s, (fake_command){ .what = DO_MARK, .mark = mark_share(e->mark) });
}

FAKE(cuEventQuery, hipEventQuery, INIT, (void *handle), (handle)) {
  int err = E_OK;
  event *e = event_of(handle, &err);
  if (!e || !e->mark) return err;
  if (e->capture) return E_CAPTURE;
  if ((err = fake_capture_forbids("a query of an event", NULL)) != 0) return err;
  if (!e->mark->done && !fake_set.still) fake_step_any(INT64_MAX);
  return e->mark->done ? e->object.context->error : E_NOT_READY;
}

FAKE(cuEventSynchronize, hipEventSynchronize, INIT, (void *handle), (handle)) {
  int err = E_OK;
  event *e = event_of(handle, &err);
  if (!e || !e->mark) return err;
  if (e->capture) return E_CAPTURE;
  if ((err = fake_capture_forbids("a wait for an event", NULL)) != 0) return err;
  err = fake_until(e->mark);
  return err ? err : e->object.context->error;
}

FAKE(cuEventElapsedTime, hipEventElapsedTime, INIT, (float *ms, void *from, void *to), (ms, from, to)) {
  int err = E_OK;
  const event *a = event_of(from, &err), *b = event_of(to, &err);
  if (!a || !b || !a->mark || !b->mark || a->untimed || b->untimed) return E_HANDLE;
  if (!a->mark->done || !b->mark->done) return E_NOT_READY;
  *ms = (float)(b->mark->when - a->mark->when) * 1e-6f;
  return E_OK;
}

/* A stream that waits for a captured event is captured from then on, too. */
FAKE(cuStreamWaitEvent, hipStreamWaitEvent, CURRENT, (void *stream, void *handle, unsigned flags), (stream, handle, flags)) {
  int err = E_OK;
  (void)flags;
  fake_stream *s = fake_stream_here(stream, &err);
  event *e = s ? event_of(handle, &err) : NULL;
  if (!e || !e->mark) return err;
  if (e->capture && !fake_is(e->capture, A_GRAPH)) return E_CAPTURE;
  if (e->capture && e->from != s) e->from->unjoined = false;
  if (e->capture && !s->capture) s->capture = e->capture, s->unjoined = true, e->capture->streams++;
  if (e->capture) return E_OK; /* recorded in the order of the calls, which is one that may be */
  return fake_push(s, (fake_command){ .what = DO_AWAIT, .mark = mark_share(e->mark) });
}
