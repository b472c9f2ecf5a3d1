/* Fused launches: one kernel runs the cargos of a page, which travels to the device, or as its arguments, if they are few. */
#include "graph.h"

/* cudaErrorStreamCapture..., hipErrorStreamCapture... */
enum { LDG_CAPTURE_FIRST = 900, LDG_CAPTURE_LAST = 908 };
_Static_assert(sizeof(ldg_few_args) <= 4096, "older drivers take no more arguments");

static const int64_t page_bytes = (int64_t)sizeof(ldg_fused_page) * LDG_FUSED_PAGES;

/* In the context: words and pages in one piece of pinned memory, and pages on the device that begin as that does, all 0. */
static int allocate(ldg_site *s, int64_t words, ldg_fuser *out) {
  const ldg_driver *d = s->driver;
  void *at;
  int e = d->pinned_alloc(&at, (size_t)(page_bytes + 8 * words), LDG_PINNED_PORTABLE | LDG_PINNED_MAPPED);
  if (e) return e;
  memset(at, 0, (size_t)(page_bytes + 8 * words));
  out->page = at, out->words = (uint64_t *)(void *)((char *)at + page_bytes);
  e = d->memory_alloc(&out->there, (size_t)page_bytes);
  if (!e) {
    pthread_mutex_lock(&s->lock);
    e = ldg_site_upload(s, out->there, at, page_bytes);
    pthread_mutex_unlock(&s->lock);
    if (e) d->memory_free(out->there);
  }
  if (e) d->pinned_free(at);
  return e;
}

int ldg_device_fuse_open(ldg_lane *l, int64_t words, ldg_fuser *out) {
  int e = ldg_site_enter(l->site);
  if (!e) {
    const int mode = ldg_driver_relax(l->site->driver);
    e = allocate(l->site, words, out);
    if (!e) out->graphs = ldg_graphs_open(l->site->driver);
    ldg_driver_restore(l->site->driver, mode);
    ldg_site_leave(l->site);
  }
  return ldg_device_error(e);
}

void ldg_device_fuse_close(ldg_lane *l, ldg_fuser *f) {
  const ldg_driver *d = l->site->driver;
  const bool entered = ldg_site_alive(l->site) && ldg_site_enter(l->site) == 0;
  const int mode = entered ? ldg_driver_relax(d) : 0;
  if (entered && !ldg_lane_recorded(l)) d->stream_sync(l->stream); /* which would break a recording of the caller's */
  if (entered && d->memory_free(f->there) == 0) d->pinned_free(f->page); /* the first waits for what is under way, too; else the page may still be read */
  ldg_graphs_close(f->graphs, entered);
  if (!entered) return;
  ldg_driver_restore(d, mode);
  ldg_site_leave(l->site);
}

static int64_t used(int64_t n) { return (int64_t)offsetof(ldg_fused_page, cargo) + n * (int64_t)sizeof(ldg_cargo); }

typedef struct fused { const ldg_site *site; const ldg_fuser *fuser; const ldg_fused_launch *what; } fused;

static ldg_fused_page *there_of(const fused *f) { return (ldg_fused_page *)(uintptr_t)f->fuser->there + f->what->page; }

static ldg_fused_args args_of(const fused *f) {
  return (ldg_fused_args){ f->what->tiles, (int32_t)f->what->cargos, (int32_t)f->what->parts, there_of(f) };
}

/* In the context. */
static int by_page(void *arg, void *stream) {
  const fused *f = arg;
  const ldg_fused_launch *w = f->what;
  ldg_fused_args args = args_of(f);
  void *params[] = { &args }, *const kernel = f->site->kernel[w->reduces ? LDG_KERNEL_FUSED_REDUCE : LDG_KERNEL_FUSED];
  const int e = f->site->vendor->copy(f->site->driver, args.page, &f->fuser->page[w->page], (size_t)used(w->cargos), stream);
  return e ? e : f->site->driver->launch(kernel, (unsigned)ldg_min(w->tiles, LDG_GRID_MOST), 1, 1, LDG_BLOCK, 1, 1, 0, stream, params, NULL);
}

static int by_value(ldg_lane *l, const fused *f, int kernel, void *args, ldg_fused_end *end, ldg_fused_start *start, ldg_cargo *cargo) {
  const ldg_fused_launch *w = f->what;
  const ldg_fused_page *p = &f->fuser->page[w->page];
  void *params[] = { args };
  memcpy(end, p->end, (size_t)w->cargos * sizeof *end); /* a request has a cargo at least */
  memcpy(start, p->start, (size_t)w->cargos * sizeof *start);
  memcpy(cargo, p->cargo, (size_t)w->cargos * sizeof *cargo);
  return ldg_replay_launch(l, kernel + w->reduces, w->tiles, params);
}

static int by_pair(ldg_lane *l, const fused *f) {
  ldg_pair_args args; /* the driver takes all of it, the kernel reads what is there */
  args.all = args_of(f);
  return by_value(l, f, LDG_KERNEL_PAIR, &args, args.end, args.start, args.cargo);
}

static int by_few(ldg_lane *l, const fused *f) {
  ldg_few_args args;
  args.all = args_of(f);
  return by_value(l, f, LDG_KERNEL_FEW, &args, args.end, args.start, args.cargo);
}

static int by_any(ldg_lane *l, const fused *f) {
  if (f->what->cargos <= LDG_PAIR_CARGOS) return by_pair(l, f);
  if (f->what->cargos <= LDG_FEW_CARGOS) return by_few(l, f);
  return ldg_graphs_run(f->fuser->graphs, l->stream, f->what, by_page, (void *)(uintptr_t)f);
}

int ldg_device_fuse(ldg_lane *l, const ldg_fuser *f, const ldg_fused_launch *what) {
  const fused job = { l->site, f, what };
  int e = ldg_site_enter(l->site);
  if (e) return ldg_device_error(e);
  e = by_any(l, &job);
  const bool waits = e && what->cargos > LDG_FEW_CARGOS && !ldg_lane_recorded(l);
  atomic_store(&l->since, 0); /* the tables of this page have their launch: they may go when it is done */
  ldg_site_leave(l->site);
  if (waits) ldg_device_sync(l); /* for the page, which may be on its way and is written again */
  return ldg_device_error(e);
}

/* Not now, since somebody records a stream: that says nothing of the device. */
static bool is_capture(int e) { return e >= LDG_CAPTURE_FIRST && e <= LDG_CAPTURE_LAST; }

/* A stream that the default one holds up says that it is done as long as nothing is in it: nobody may rely on that. */
int ldg_device_look(ldg_lane *l, bool *recorded, bool *idle) {
  if (idle) *idle = false;
  int e = idle && !ldg_site_alive(l->site) ? LDG_NO_CONTEXT : ldg_site_enter(l->site);
  if (e) return ldg_device_error(e);
  const bool yes = ldg_lane_recorded(l); /* then nobody may ask more */
  if (recorded) *recorded = yes;
  if (idle) {
    const int mode = ldg_driver_relax(l->site->driver);
    e = yes ? LDG_NOT_READY : l->site->driver->stream_query(l->stream);
    ldg_driver_restore(l->site->driver, mode);
    *idle = l->beside && e == 0;
  }
  ldg_site_leave(l->site);
  return ldg_device_error(e == LDG_NOT_READY || is_capture(e) ? 0 : e);
}
