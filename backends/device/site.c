/* Contexts and their kernels; lanes and their streams. */
#include "site.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- sites ---- */

static int load_kernels(ldg_site *s) {
  static const char *const name[LDG_KERNELS] = { "ldg_d_narrow", "ldg_d_wide", "ldg_d_list", "ldg_d_flat", "ldg_d_trees", "ldg_d_reduce",
                                             "ldg_d_narrow_one", "ldg_d_wide_one", "ldg_d_list_one", "ldg_d_flat_one", "ldg_d_trees_one", "ldg_d_reduce_one", "ldg_d_sum_one", "ldg_d_transpose", "ldg_d_transpose_sum",
                                             "ldg_d_pair", "ldg_d_pair_reduce", "ldg_d_few", "ldg_d_few_reduce", "ldg_d_fused", "ldg_d_fused_reduce" };
  int e = s->driver->module_load(&s->module, s->vendor->image);
  const bool loaded = !e;
  for (int i = 0; !e && i < LDG_KERNELS; i++) e = s->driver->module_function(&s->kernel[i], s->module, name[i]);
  if (e && loaded) s->driver->module_unload(s->module);
  return ldg_device_error(e);
}

static int make_site(ldg_vendor *v, ldg_context context, ldg_site **out) {
  ldg_site *s = ldg_alloc(sizeof *s);
  if (!s) return LADING_ERR_NOMEM;
  memset(s, 0, sizeof *s);
  s->vendor = v, s->driver = &v->driver, s->context = context, s->table_most = LDG_TABLES_MOST, s->chunks_most = LDG_CHUNKS;
  s->replays = ldg_replays_can(s->driver) ? LDG_REPLAYS_UNKNOWN : LDG_REPLAYS_SLOWER;
  int e = ldg_device_error(s->driver->context_device(&s->device));
  if (!e) e = load_kernels(s);
  if (e) {
    ldg_free(s);
    return e;
  }
  pthread_mutex_init(&s->lock, NULL), pthread_mutex_init(&s->chunk_lock, NULL), pthread_mutex_init(&s->later_lock, NULL), pthread_cond_init(&s->returned, NULL);
  *out = s;
  return LADING_OK;
}

int ldg_site_find(ldg_vendor *v, void *context, ldg_site **out) {
  const ldg_context named = ldg_driver_context(&v->driver, context);
  int e = LADING_OK;
  pthread_mutex_lock(&lock);
  ldg_site *s = atomic_load(&v->sites);
  while (s && !ldg_context_same(s->context, named)) s = s->next;
  if (!s) {
    e = make_site(v, named, &s);
    if (!e) s->next = atomic_load(&v->sites), atomic_store(&v->sites, s);
  }
  pthread_mutex_unlock(&lock);
  *out = s;
  return e;
}

bool ldg_site_alive(const ldg_site *s) { return ldg_context_same(s->context, ldg_driver_context(s->driver, s->context.at)); }

/* Who retains a context that was reset gets a new one, whose first reference is kept again. */
int ldg_site_primary(ldg_vendor *v, int ordinal, void **out) {
  const ldg_driver *d = &v->driver;
  int device, e = d->device_get(&device, ordinal);
  if (!e) e = d->context_retain(out, device);
  if (e || ordinal >= LDG_CONTEXTS_HELD) return e;
  const ldg_context now = ldg_driver_context(d, *out);
  pthread_mutex_lock(&lock);
  const bool again = ldg_context_same(v->held[ordinal], now);
  v->held[ordinal] = now;
  pthread_mutex_unlock(&lock);
  return again ? d->context_release(device) : 0;
}

/* ---- lanes ---- */

int ldg_device_count(const ldg_device *d) {
  ldg_vendor *v = ldg_device_vendor(d);
  return ldg_device_driver(v) ? v->devices : 0;
}

/* The default streams (0 and 1 by value) are those of the current context. */
enum { DEFAULT_LAST = 1, DEFAULT_PER_THREAD };

/* Whether it waits for no default stream. */
static bool is_beside(const ldg_driver *d, void *stream) {
  unsigned flags = 0;
  return (uintptr_t)stream > DEFAULT_LAST && d->stream_flags && d->stream_flags(stream, &flags) == 0 && (flags & LDG_STREAM_NON_BLOCKING);
}

/* In the context: its own stream unless there is one. */
static int make_lane(ldg_vendor *v, void *context, void *stream, bool own, ldg_lane **out) {
  ldg_lane *l = ldg_alloc(sizeof *l);
  if (!l) return LADING_ERR_NOMEM;
  memset(l, 0, sizeof *l);
  l->stream = stream, l->own = own;
  int e = ldg_site_find(v, context, &l->site);
  if (!e && own) e = ldg_device_error(v->driver.stream_create(&l->stream, LDG_STREAM_NON_BLOCKING));
  if (e) {
    ldg_free(l);
    return e;
  }
  ldg_site *s = l->site;
  l->beside = own || is_beside(&v->driver, stream);
  pthread_mutex_lock(&s->lock);
  l->older = s->lanes, s->lanes = l;
  if (l->older) l->older->newer = l;
  pthread_mutex_unlock(&s->lock);
  *out = l;
  return LADING_OK;
}

static int lane_in(ldg_vendor *v, void *context, void *stream, bool own, ldg_lane **out) {
  int e = ldg_device_error(v->driver.context_push(context));
  if (e) return e;
  const int mode = ldg_driver_relax(&v->driver);
  e = make_lane(v, context, stream, own, out);
  ldg_driver_restore(&v->driver, mode);
  v->driver.context_pop(&context);
  return e;
}

int ldg_device_create(const ldg_device *dev, int device, ldg_lane **out) {
  ldg_vendor *v = ldg_device_vendor(dev);
  void *context;
  if (!ldg_device_driver(v)) return LADING_ERR_DEVICE;
  if (device < 0 || device >= v->devices) return LADING_ERR_ARG;
  const int e = ldg_device_error(ldg_site_primary(v, device, &context));
  return e ? e : lane_in(v, context, NULL, true, out);
}

static int context_of(ldg_vendor *v, void *stream, void **out) {
  if ((uintptr_t)stream > DEFAULT_LAST && v->context_of) return ldg_device_error(v->context_of(v, stream, out));
  const int e = v->driver.context_get(out);
  return ldg_device_error(e || *out ? e : ldg_site_primary(v, 0, out));
}

int ldg_device_wrap(const ldg_device *dev, void *stream, ldg_lane **out) {
  ldg_vendor *v = ldg_device_vendor(dev);
  void *context;
  if (!ldg_device_driver(v)) return LADING_ERR_DEVICE;
  if ((uintptr_t)stream == DEFAULT_PER_THREAD) return LADING_ERR_UNSUPPORTED; /* as many streams as threads use the queue: no order */
  const int e = context_of(v, stream, &context);
  return e ? e : lane_in(v, context, stream, false, out);
}

static void unlink_lane(ldg_lane *l) {
  ldg_site *s = l->site;
  pthread_mutex_lock(&s->lock);
  if (l->newer) l->newer->older = l->older;
  else s->lanes = l->older;
  if (l->older) l->older->newer = l->newer;
  pthread_mutex_unlock(&s->lock);
}

void ldg_device_destroy(ldg_lane *l) {
  const ldg_driver *d = l->site->driver;
  const bool entered = ldg_site_alive(l->site) && ldg_site_enter(l->site) == 0;
  const int mode = ldg_driver_relax(d);
  if (entered && l->tables && !ldg_lane_recorded(l)) ldg_site_leave_lane(l);
  unlink_lane(l); /* nobody waits for it from here on */
  if (entered) {
    ldg_replays_close(l);
    for (int i = 0; i < LDG_MARKS; i++)
      if (l->event[i]) d->event_destroy(l->event[i]);
    if (l->own) d->stream_destroy(l->stream);
    ldg_site_leave(l->site);
  }
  ldg_driver_restore(d, mode);
  ldg_free(l);
}
