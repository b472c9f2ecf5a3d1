/* What the library relies on of drivers while somebody captures a stream, asked of the driver itself: the stand-in has to answer as a device
 * does, so that what it finds counts. An H200 (driver 580.159.04, CUDA 13.0) answers as the table says. Rows that differ are printed, all of
 * them; with LADING_TEST_SHOW, every row. */
#include "areas.h"
#include <stdatomic.h>
#include <time.h>

enum { GLOBAL, THREAD, RELAXED, BESIDE = 1 /* a stream that the default one does not wait for */, REFUSED = 900, BROKEN = 901, IMPLICIT = 906, BYTES = 4096 };

typedef struct scene { const driver *d; void *captured, *beside, *event, *mem, *page; } scene;

static scene scene_new(const devices *v) {
  scene s = { .d = v->d };
  ck_assert_int_eq(s.d->stream(&s.captured, 0), 0);
  ck_assert_int_eq(s.d->stream(&s.beside, BESIDE), 0);
  ck_assert_int_eq(s.d->event(&s.event, 0), 0);
  ck_assert_int_eq(s.d->alloc(&s.mem, BYTES), 0);
  ck_assert_int_eq(s.d->alloc_pinned(&s.page, BYTES, 0), 0);
  ck_assert_int_eq(s.d->record(s.event, s.beside), 0);
  ck_assert_int_eq(s.d->sync(s.beside), 0);
  return s;
}

static void scene_free(scene *s) {
  ck_assert_int_eq(s->d->stream_free(s->captured) | s->d->stream_free(s->beside) | s->d->event_free(s->event), 0);
  if (s->mem) ck_assert_int_eq(s->d->free(s->mem), 0);
  if (s->page) ck_assert_int_eq(s->d->free_pinned(s->page), 0);
}

/* ---- the calls ---- */

static int alloc(scene *s) {
  void *at;
  const int e = s->d->alloc(&at, BYTES);
  if (!e) s->d->free(s->mem), s->mem = at;
  return e;
}
static int alloc_pinned(scene *s) {
  void *at;
  const int e = s->d->alloc_pinned(&at, BYTES, 0);
  if (!e) s->d->free_pinned(s->page), s->page = at;
  return e;
}
static int free_device(scene *s) {
  const int e = s->d->free(s->mem);
  if (!e) s->mem = NULL;
  return e;
}
static int free_pinned(scene *s) {
  const int e = s->d->free_pinned(s->page);
  if (!e) s->page = NULL;
  return e;
}
static int make_stream(scene *s) {
  void *made;
  const int e = s->d->stream(&made, BESIDE);
  return e ? e : s->d->stream_free(made);
}
static int make_event(scene *s) {
  void *made;
  const int e = s->d->event(&made, 0);
  return e ? e : s->d->event_free(made);
}
static int alloc_async(scene *s) {
  void *at;
  const int e = s->d->alloc_async(&at, BYTES, s->beside);
  return e ? e : s->d->free_async(at, s->beside);
}
static int ipc_get(scene *s) {
  driver_ipc token;
  return s->d->ipc_get(&token, s->mem);
}
static int range(scene *s) {
  void *at;
  size_t n;
  return s->d->range(&at, &n, s->mem);
}
static void nothing(void *arg) { (void)arg; }

static int fill(scene *s) { return s->d->fill(s->mem, 1, BYTES, s->beside); }
static int to_device(scene *s) { return s->d->to_device(s->mem, s->page, BYTES, s->beside); }
static int call(scene *s) { return s->d->call(s->beside, nothing, NULL); }
static int record(scene *s) { return s->d->record(s->event, s->beside); }
static int query(scene *s) { return s->d->query(s->beside); }
static int sync(scene *s) { return s->d->sync(s->beside); }
static int event_query(scene *s) { return s->d->event_query(s->event); }
static int event_sync(scene *s) { return s->d->event_sync(s->event); }
static int capturing(scene *s) {
  int status = -1;
  return s->d->capturing(s->beside, &status);
}
static int fill_default(scene *s) { return s->d->fill(s->mem, 1, BYTES, NULL); }
static int record_default(scene *s) { return s->d->record(s->event, NULL); }
static int query_default(scene *s) { return s->d->query(NULL); }
static int sync_default(scene *s) { return s->d->sync(NULL); }
static int capturing_default(scene *s) {
  int status = -1;
  return s->d->capturing(NULL, &status);
}

/* ---- what comes of them ---- */

typedef struct answer { int call, end; } answer;
typedef struct fact { const char *name; int (*ask)(scene *s); answer relaxed, otherwise; } fact;
#define FACT(name, ...) { #name, name, __VA_ARGS__ }

/* Of a call, and of the capture's end: in a thread that takes what may wait on itself, and in one that does not. */
static const fact facts[] = {
  FACT(alloc, { 0, 0 }, { REFUSED, BROKEN }),
  FACT(alloc_pinned, { 0, 0 }, { REFUSED, BROKEN }),
  FACT(free_device, { 0, 0 }, { REFUSED, BROKEN }),
  FACT(free_pinned, { 0, 0 }, { REFUSED, BROKEN }),
  FACT(make_stream, { 0, 0 }, { 0, 0 }),
  FACT(make_event, { 0, 0 }, { 0, 0 }),
  FACT(alloc_async, { 0, 0 }, { REFUSED, BROKEN }),
  FACT(ipc_get, { 0, 0 }, { 0, 0 }),
  FACT(range, { 0, 0 }, { 0, 0 }),
  FACT(fill, { 0, 0 }, { 0, 0 }),
  FACT(to_device, { 0, 0 }, { 0, 0 }),
  FACT(call, { 0, 0 }, { 0, 0 }),
  FACT(record, { 0, 0 }, { 0, 0 }),
  FACT(query, { 0, 0 }, { REFUSED, BROKEN }),
  FACT(sync, { 0, 0 }, { REFUSED, BROKEN }),
  FACT(event_query, { 0, 0 }, { REFUSED, BROKEN }),
  FACT(event_sync, { 0, 0 }, { REFUSED, BROKEN }),
  FACT(capturing, { 0, 0 }, { 0, 0 }),
  FACT(fill_default, { IMPLICIT, BROKEN }, { IMPLICIT, BROKEN }),
  FACT(record_default, { IMPLICIT, BROKEN }, { IMPLICIT, BROKEN }),
  FACT(query_default, { IMPLICIT, BROKEN }, { IMPLICIT, BROKEN }),
  FACT(sync_default, { IMPLICIT, BROKEN }, { IMPLICIT, BROKEN }),
  FACT(capturing_default, { IMPLICIT, 0 }, { IMPLICIT, 0 }),
};

static answer ask(const devices *v, const fact *f, int mode) {
  scene s = scene_new(v);
  void *graph = NULL;
  ck_assert_int_eq(s.d->begin_capture(s.captured, GLOBAL), 0);
  ck_assert_int_eq(s.d->capture_mode(&mode), 0);
  const int called = f->ask(&s);
  if (called) devices_say(v, "forgive"); /* what is asked may be refused, and nothing else */
  ck_assert_int_eq(s.d->capture_mode(&mode), 0);
  const answer a = { called, s.d->end_capture(s.captured, &graph) };
  if (graph) s.d->graph_free(graph);
  scene_free(&s);
  return a;
}

static bool is(answer a, answer b) { return a.call == b.call && a.end == b.end; }

START_TEST(captures) {
  devices v = devices_open();
  int differ = 0;
  for (int i = 0; i < (int)COUNT_OF(facts); i++) {
    const fact *f = &facts[i];
    const answer relaxed = ask(&v, f, RELAXED), otherwise = ask(&v, f, GLOBAL);
    const bool same = is(relaxed, f->relaxed) && is(otherwise, f->otherwise);
    if (!same || getenv("LADING_TEST_SHOW"))
      fprintf(stderr, "%-18s relaxed %d, end %d (believed %d, %d); otherwise %d, end %d (believed %d, %d)%s\n", f->name, relaxed.call, relaxed.end, f->relaxed.call, f->relaxed.end,
             otherwise.call, otherwise.end, f->otherwise.call, f->otherwise.end, same ? "" : " DIFFERS");
    differ += !same;
  }
  ck_assert_int_eq(differ, 0);
  devices_close(&v);
}
END_TEST

/* ---- freeing waits ---- */

static void slowly(void *done) {
  nanosleep(&(struct timespec){ .tv_nsec = 100 * 1000 * 1000 }, NULL);
  atomic_store((atomic_int *)done, 1);
}

/* For what is under way on the device, of any stream: so that what it reads may go behind that, as well while a stream is captured. */
static bool try_free(void *devices_stream(const scene *s), bool captured) {
  devices v = devices_open();
  scene s = scene_new(&v);
  atomic_int done = 0;
  void *graph = NULL;
  int mode = RELAXED;
  ck_assert_int_eq(s.d->call(devices_stream(&s), slowly, &done), 0);
  if (captured) ck_assert_int_eq(s.d->begin_capture(s.captured, GLOBAL), 0);
  ck_assert_int_eq(s.d->capture_mode(&mode), 0);
  const int before = atomic_load(&done); /* held up so long: the round says nothing */
  ck_assert_int_eq(free_device(&s), 0);
  const int seen = atomic_load(&done);
  ck_assert_int_eq(s.d->capture_mode(&mode), 0);
  if (captured) ck_assert_int_eq(s.d->end_capture(s.captured, &graph), 0);
  if (graph) s.d->graph_free(graph);
  ck_assert_int_eq(s.d->sync(devices_stream(&s)), 0);
  scene_free(&s);
  devices_close(&v);
  ck_assert_int_eq(seen, 1);
  return before == 0;
}
static void check_free(void *devices_stream(const scene *s), bool captured) {
  enum { ROUNDS = 5 };
  int round = 0;
  while (round < ROUNDS && !try_free(devices_stream, captured)) round++;
  ck_assert_int_lt(round, ROUNDS);
}

static void *beside(const scene *s) { return s->beside; }
static void *default_one(const scene *s) { return (void)s, NULL; }

START_TEST(free_waits) { check_free(beside, false); }
END_TEST
START_TEST(free_waits_for_the_default) { check_free(default_one, false); }
END_TEST
START_TEST(free_waits_while_captured) { check_free(beside, true); }
END_TEST
START_TEST(free_waits_for_the_default_while_captured) { check_free(default_one, true); }
END_TEST

int main(int argc, char **argv) {
  if (!devices_there()) return 77;
  return CHECK_MAIN("driver_facts", argc, argv, captures, free_waits, free_waits_for_the_default, free_waits_while_captured, free_waits_for_the_default_while_captured);
}
