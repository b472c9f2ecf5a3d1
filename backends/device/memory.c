/* Memory: what kind it is, and the pinned chunks that stand in for memory that kernels do not reach. */
#include "site.h"

#include <time.h>

/* ---- kinds ---- */

/* Registered memory that the device has at another address is memory of the host: kernels are given the host's. */
static lading_mem mem_of(const ldg_vendor *v, int kind, int managed, int device, bool apart) {
  if (kind == 0 || (apart && !managed && kind != v->kind_device)) return (lading_mem){ LADING_MEM_HOST, -1 };
  return (lading_mem){ managed ? LADING_MEM_MANAGED : kind == v->kind_device ? LADING_MEM_DEVICE : LADING_MEM_PINNED, device };
}

/* In a context of any kind: a thread without one is told nothing about memory that others allocated. */
static int facts_in(ldg_vendor *v, unsigned n, int *facts, void **values, ldg_address at) {
  const ldg_driver *d = &v->driver;
  const ldg_site *s = atomic_load(&v->sites);
  while (s && !ldg_site_alive(s)) s = s->next;
  void *context = s ? s->context.at : NULL, *was;
  int e = s ? 0 : ldg_site_primary(v, 0, &context);
  if (!e) e = d->context_push(context);
  if (e) return e;
  e = d->pointer_facts(n, facts, values, at);
  d->context_pop(&was);
  return e;
}

int ldg_site_facts(ldg_vendor *v, unsigned n, int *facts, void **values, ldg_address at) {
  const int e = v->driver.pointer_facts(n, facts, values, at);
  return e == LDG_NO_CONTEXT ? facts_in(v, n, facts, values, at) : e;
}

int ldg_device_query(const ldg_device *dev, const ldg_lane *l, const void *at, lading_mem *out) {
  ldg_vendor *v = ldg_device_vendor(dev);
  const ldg_driver *d = ldg_device_driver(v);
  int kind = 0, managed = 0, device = -1;
  ldg_address there = 0;
  int facts[] = { v->fact_kind, v->fact_managed, v->fact_device, v->fact_address };
  void *values[] = { &kind, &managed, &device, &there };
  int e = !d ? 0 : l ? ldg_site_enter(l->site) : ldg_site_facts(v, 4, facts, values, (uintptr_t)at);
  if (l && !e) {
    e = d->pointer_facts(4, facts, values, (uintptr_t)at);
    ldg_site_leave(l->site);
  }
  if (!e) *out = mem_of(v, kind, managed, device, there != (uintptr_t)at);
  return ldg_device_error(e);
}

/* ---- chunks ---- */

/* Their lock is one that callbacks of the driver take: it is never held over a call of the driver. */

static int make_chunk(ldg_site *s, char **out) {
  void *at;
  int e = ldg_site_enter(s);
  if (e) return ldg_device_error(e);
  const int mode = ldg_driver_relax(s->driver);
  e = s->driver->pinned_alloc(&at, LDG_CHUNK_BYTES, LDG_PINNED_PORTABLE | LDG_PINNED_MAPPED);
  ldg_driver_restore(s->driver, mode);
  ldg_site_leave(s);
  if (!e) *out = at;
  return ldg_device_error(e);
}

/* ERR_DEVICE when nothing more will come, since the device has failed; ERR_UNSUPPORTED while the stream is recorded. */
static int look_at(ldg_lane *l) {
  int e = ldg_site_enter(l->site);
  if (e) return ldg_device_error(e);
  const bool recorded = ldg_lane_recorded(l);
  const int mode = ldg_driver_relax(l->site->driver);
  e = recorded ? 0 : l->site->driver->stream_query(l->stream);
  ldg_driver_restore(l->site->driver, mode);
  ldg_site_leave(l->site);
  return recorded ? LADING_ERR_UNSUPPORTED : ldg_device_error(e == LDG_NOT_READY ? 0 : e);
}

static void wait_a_little(ldg_site *s) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += 10 * 1000 * 1000;
  if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
  pthread_cond_timedwait(&s->returned, &s->chunk_lock, &until);
}

/* One that is there, the right to make one, or neither, after a while. */
static char *take_or_reserve(ldg_site *s, bool *make) {
  pthread_mutex_lock(&s->chunk_lock);
  *make = s->chunks_free == 0 && s->chunks_made < s->chunks_most;
  if (*make) s->chunks_made++;
  else if (s->chunks_free == 0) wait_a_little(s);
  char *at = !*make && s->chunks_free > 0 ? s->chunk[--s->chunks_free] : NULL;
  pthread_mutex_unlock(&s->chunk_lock);
  return at;
}

/* There is no memory for it: others make do with what there is. ERR_NOMEM: nothing. */
static int unreserve(ldg_site *s, int e) {
  pthread_mutex_lock(&s->chunk_lock);
  s->chunks_made--;
  const bool some = s->chunks_made > 0;
  if (e == LADING_ERR_NOMEM && some) s->chunks_most = s->chunks_made;
  pthread_mutex_unlock(&s->chunk_lock);
  return e == LADING_ERR_NOMEM && some ? LADING_OK : e;
}

int ldg_device_borrow(ldg_lane *l, ldg_chunk *out) {
  ldg_site *s = l->site;
  char *at = NULL;
  int e = look_at(l);
  while (!e && !at) {
    bool make;
    at = take_or_reserve(s, &make);
    if (make) e = make_chunk(s, &at);
    if (make && e) e = unreserve(s, e);
    if (!e && !at) e = look_at(l);
  }
  if (!e) *out = (ldg_chunk){ at, LDG_CHUNK_BYTES, s };
  return e;
}

void ldg_device_give_back(ldg_chunk chunk) {
  ldg_site *s = chunk.home;
  pthread_mutex_lock(&s->chunk_lock);
  s->chunk[s->chunks_free++] = chunk.at;
  pthread_cond_signal(&s->returned);
  pthread_mutex_unlock(&s->chunk_lock);
}
