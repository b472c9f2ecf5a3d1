/* Work on a lane: launches, copies, calls of the host, marks. */
#include "site.h"


static int enter(ldg_lane *l) { return ldg_device_error(ldg_site_enter(l->site)); }
static int leave(ldg_lane *l, int driver_error) {
  ldg_site_leave(l->site);
  return ldg_device_error(driver_error);
}

/* ---- kernels ---- */

static int end_launch(ldg_lane *l, int driver_error) {
  const int e = leave(l, driver_error);
  atomic_store(&l->since, 0);
  return e;
}

static int launch_one(ldg_lane *l, int kernel, const ldg_cargo *cargo, int64_t tiles) {
  ldg_one_args args = { tiles, *cargo };
  void *params[] = { &args };
  const int e = enter(l);
  return e ? e : end_launch(l, ldg_replay_launch(l, kernel, tiles, params));
}

static int launch_several(ldg_lane *l, int kernel, const ldg_cargo *cargo, int n, bool ordered) {
  ldg_cargo_args args; /* the driver takes all of it, the kernel reads n */
  void *params[] = { &args };
  args.tiles = 0, args.n = n;
  for (int i = 0; i < n; i++) {
    args.cargo[i] = cargo[i];
    args.cargo[i].first = args.tiles;
    args.tiles += ldg_cargo_tiles(&cargo[i]);
  }
  const unsigned grid = ordered ? 1 : (unsigned)ldg_min(args.tiles, LDG_GRID_MOST);
  const int e = enter(l);
  return e ? e : end_launch(l, l->site->driver->launch(l->site->kernel[kernel], grid, 1, 1, ordered ? 1 : LDG_BLOCK, 1, 1, 0, l->stream, params, NULL));
}

static int kernel_of_one(const ldg_cargo *c) {
  if (c->op == LADING_REPLACE) return LDG_KERNEL_ONE + c->form;
  return LDG_CARGO_SUMS(c) ? LDG_KERNEL_ONE_SUM : LDG_KERNEL_ONE_REDUCE;
}

int ldg_device_move(ldg_lane *l, const ldg_cargo *cargo, int n, bool ordered) {
  if (n == 1 && !ordered) return launch_one(l, kernel_of_one(cargo), cargo, ldg_cargo_tiles(cargo));
  return launch_several(l, cargo->op == LADING_REPLACE ? cargo->form : LDG_KERNEL_REDUCE, cargo, n, ordered);
}

int ldg_device_transpose(ldg_lane *l, const ldg_cargo *cargo) {
  int64_t tiles = 1;
  for (int k = 0; k < cargo->nd; k++) tiles *= cargo->as.grid.dim[k].n.n;
  return launch_one(l, cargo->op == LADING_REPLACE ? LDG_KERNEL_TRANSPOSE : LDG_KERNEL_TRANSPOSE_SUM, cargo, tiles);
}

bool ldg_device_reaches(const ldg_lane *l, lading_memkind kind) {
  (void)l;
  return kind == LADING_MEM_DEVICE || kind == LADING_MEM_PINNED || kind == LADING_MEM_MANAGED;
}

int ldg_device_copy(ldg_lane *l, void *dst, const void *src, int64_t n) {
  const int e = enter(l);
  return e ? e : leave(l, l->site->vendor->copy(l->site->driver, dst, src, (size_t)n, l->stream));
}

/* ---- scratch memory ---- */

/* The driver's own pool gives back to the system what is not in use whenever somebody waits, and maps memory anew at the next use (some 75 to 95 us,
 * concluded from times on an H200), and what it keeps is the application's to say. NULL: that one will have to do. */
static void *make_pool(const ldg_site *s) {
  const ldg_driver *d = s->driver;
  const ldg_pool_kind kind = { .type = LDG_POOL_PINNED, .place = LDG_POOL_ON_DEVICE, .device = s->device };
  uint64_t keeps = LDG_SCRATCH_KEPT;
  void *pool = NULL;
  if (!d->pool_make || !d->pool_set || !d->pool_alloc || !d->pool_free || d->pool_make(&pool, &kind)) return NULL;
  if (d->pool_set(pool, LDG_POOL_KEEPS, &keeps) == 0) return pool;
  d->pool_free(pool);
  return NULL;
}

/* Made at first use. Who comes later takes no lock, which others may hold while they wait for streams. */
static void *pool_of(ldg_site *s) {
  if (atomic_load(&s->pool_settled)) return s->pool;
  pthread_mutex_lock(&s->lock);
  if (!atomic_load(&s->pool_settled)) s->pool = make_pool(s), atomic_store(&s->pool_settled, true);
  pthread_mutex_unlock(&s->lock);
  return s->pool;
}

static int scratch_alloc(const ldg_lane *l, ldg_address *at, int64_t bytes) {
  typedef int function(ldg_address *at, size_t bytes, void *stream);
  const ldg_driver *d = l->site->driver;
  void *pool = pool_of(l->site);
  return pool ? d->pool_alloc(at, (size_t)bytes, pool, l->stream) : ((function *)d->scratch_alloc)(at, (size_t)bytes, l->stream);
}

int ldg_device_scratch(ldg_lane *l, int64_t bytes, char **out) {
  ldg_address at = 0;
  if (!l->site->driver->scratch_alloc || !l->site->driver->scratch_free) return LADING_ERR_UNSUPPORTED;
  const int e = enter(l);
  if (e) return e;
  const bool recorded = ldg_lane_recorded(l); /* a graph that allocates cannot run twice at a time */
  const int mode = ldg_driver_relax(l->site->driver), made = recorded ? 0 : scratch_alloc(l, &at, bytes);
  ldg_driver_restore(l->site->driver, mode);
  const int d = leave(l, made);
  if (!d) *out = (char *)(uintptr_t)at;
  return recorded ? LADING_ERR_UNSUPPORTED : d;
}

int ldg_device_scratch_free(ldg_lane *l, char *at) {
  typedef int function(ldg_address at, void *stream);
  const int e = enter(l);
  if (e) return e;
  const int mode = ldg_driver_relax(l->site->driver), freed = ((function *)l->site->driver->scratch_free)((uintptr_t)at, l->stream);
  ldg_driver_restore(l->site->driver, mode);
  return leave(l, freed);
}

/* ---- the host's turn ---- */

static bool records(const ldg_lane *l, bool *waits) {
  int status = 0;
  const int e = l->site->driver->stream_capturing(l->stream, &status);
  *waits = e == LDG_CAPTURE_IMPLICIT;
  return e == 0 && status != 0;
}
/* Or would wait for a stream that is, as the default one may: whatever uses it breaks that recording. */
bool ldg_lane_recorded(const ldg_lane *l) {
  bool waits;
  return records(l, &waits) || waits;
}
bool ldg_lane_records(const ldg_lane *l) {
  bool waits;
  return records(l, &waits);
}

int ldg_device_call(ldg_lane *l, void (*fn)(void *arg), void *arg) {
  const int e = enter(l);
  if (e) return e;
  const bool recorded = ldg_lane_recorded(l); /* it would be called at every replay */
  const int d = leave(l, recorded ? 0 : l->site->driver->stream_call(l->stream, fn, arg));
  return recorded ? LADING_ERR_UNSUPPORTED : d;
}

int ldg_device_sync(ldg_lane *l) {
  const ldg_driver *d = l->site->driver;
  const int e = enter(l);
  if (e) return e;
  const int mode = ldg_driver_relax(d), done = d->stream_sync(l->stream);
  ldg_driver_restore(d, mode);
  return leave(l, done);
}

/* ---- marks ---- */

static bool has_passed(const ldg_driver *d, void *event) {
  const int mode = ldg_driver_relax(d), e = d->event_query(event);
  ldg_driver_restore(d, mode);
  return e == 0;
}

/* A slot that is used again moves its event on, to a later mark: whoever waits for an earlier one waits for more. So it is asked once before, and
 * only a mark that has not passed by then is told of late. */
int ldg_device_mark(ldg_lane *l, int64_t n, int64_t *passed) {
  const ldg_driver *d = l->site->driver;
  void **event = &l->event[n % LDG_MARKS];
  const int64_t before = l->mark[n % LDG_MARKS];
  int e = enter(l);
  if (e) return e;
  if (before > *passed && has_passed(d, *event)) *passed = before;
  if (!*event) e = d->event_create(event, LDG_EVENT_NO_TIMING);
  if (!e) e = d->event_record(*event, l->stream);
  if (!e) l->mark[n % LDG_MARKS] = n;
  return leave(l, e);
}

void ldg_device_watch(const ldg_lane *l, int64_t n, ldg_watch *out) {
  *out = (ldg_watch){ l->event[n % LDG_MARKS], l->mark[n % LDG_MARKS] };
}

int ldg_device_passed(const ldg_lane *l, const ldg_watch *w, bool wait, bool *done) {
  const ldg_driver *d = l->site->driver;
  int e = ldg_site_enter(l->site);
  if (e) return ldg_device_error(e);
  const int mode = ldg_driver_relax(d);
  e = wait ? d->event_sync(w->event) : d->event_query(w->event);
  ldg_driver_restore(d, mode);
  ldg_site_leave(l->site);
  *done = e == 0;
  return ldg_device_error(!wait && e == LDG_NOT_READY ? 0 : e);
}
