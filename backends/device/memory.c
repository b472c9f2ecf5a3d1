/* Memory: what kind it is, and the pinned chunks that stand in for memory that kernels do not reach. */
#include "site.h"

#include <time.h>

/* ---- kinds ---- */

/* Registered memory that the device has at another address is memory of the host: kernels are given the host's. */
static lading_mem mem_of(const ldg_vendor *v, int kind, int managed, int device, bool apart) {
  if (kind == 0 || (apart && !managed && kind != v->kind_device)) return (lading_mem){ LADING_MEM_HOST, -1 };
  return (lading_mem){ managed ? LADING_MEM_MANAGED : kind == v->kind_device ? LADING_MEM_DEVICE : LADING_MEM_PINNED, device };
}

typedef struct question { unsigned n; int *facts; void **values; ldg_address at; } question;

static int ask_in(const ldg_driver *d, void *context, const question *q) {
  void *was;
  int e = d->context_push(context);
  if (e) return e;
  e = d->pointer_facts(q->n, q->facts, q->values, q->at);
  d->context_pop(&was);
  return e;
}

static bool is_active(const ldg_driver *d, int device) {
  unsigned flags;
  int active = 0;
  return !d->context_state || (d->context_state(device, &flags, &active) == 0 && active);
}

/* Of a device that somebody uses. Where nobody does, nothing is told, nor made: memory of contexts that somebody made by himself is then not known, as the header says. */
static int ask_in_primary(ldg_vendor *v, const question *q) {
  const ldg_driver *d = &v->driver;
  void *context;
  int device = 0, e = 0, i = 0;
  for (; i < v->devices; i++)
    if ((e = d->device_get(&device, i)) || is_active(d, device)) break;
  if (e || i == v->devices) return e;
  e = d->context_retain(&context, device);
  if (e) return e;
  e = ask_in(d, context, q);
  d->context_release(device);
  return e;
}

/* In a context of any kind: a thread without one is told nothing about memory that others allocated. */
int ldg_site_facts(ldg_vendor *v, unsigned n, int *facts, void **values, ldg_address at) {
  const int e = v->driver.pointer_facts(n, facts, values, at);
  if (e != LDG_NO_CONTEXT) return e;
  const ldg_site *s = atomic_load(&v->sites);
  while (s && !ldg_site_alive(s)) s = s->next;
  const question q = { n, facts, values, at };
  return s ? ask_in(&v->driver, s->context.at, &q) : ask_in_primary(v, &q);
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

/* Calls of the host cost a stream some 10 us each, so what only the device uses comes back behind an event instead, which borrowers ask for. */

static int make_chunk(ldg_pinned *p) {
  ldg_site *s = p->site;
  void *at;
  int e = ldg_site_enter(s);
  if (e) return ldg_device_error(e);
  const int mode = ldg_driver_relax(s->driver);
  e = s->driver->pinned_alloc(&at, LDG_CHUNK_BYTES, LDG_PINNED_PORTABLE | LDG_PINNED_MAPPED);
  ldg_driver_restore(s->driver, mode);
  ldg_site_leave(s);
  if (!e) p->at = at;
  return ldg_device_error(e);
}

/* ERR_DEVICE when nothing more will come, since the device has failed; ERR_UNSUPPORTED while the stream is recorded. */
static int look_at(ldg_lane *l, bool *idle) {
  bool recorded = false;
  const int e = ldg_device_look(l, &recorded, idle);
  return e ? e : recorded ? LADING_ERR_UNSUPPORTED : LADING_OK;
}

static ldg_pinned *take_free(ldg_site *s) {
  pthread_mutex_lock(&s->chunk_lock);
  ldg_pinned *p = s->chunks_free > 0 ? s->chunk[--s->chunks_free] : NULL;
  pthread_mutex_unlock(&s->chunk_lock);
  return p;
}

/* The first one that its device is done with; any, since lanes do not wait for each other. In the context; an error of the driver. */
static int find_passed(ldg_site *s, ldg_pinned **out) {
  int i = 0, e = LDG_NOT_READY;
  while (i < s->later_n && (e = s->driver->event_query(s->later[i]->event)) == LDG_NOT_READY) i++;
  if (e) return e == LDG_NOT_READY ? 0 : e;
  *out = s->later[i];
  memmove(&s->later[i], &s->later[i + 1], (size_t)(--s->later_n - i) * sizeof s->later[0]);
  return 0;
}

static int take_passed(ldg_site *s, ldg_pinned **out) {
  int e = 0;
  pthread_mutex_lock(&s->later_lock);
  if (s->later_n > 0 && !(e = ldg_site_enter(s))) {
    const int mode = ldg_driver_relax(s->driver);
    e = find_passed(s, out);
    ldg_driver_restore(s->driver, mode);
    ldg_site_leave(s);
  }
  pthread_mutex_unlock(&s->later_lock);
  return ldg_device_error(e);
}

/* Events wake nobody: at first as long as a chunk is under way, some 20 us, and longer and longer where nothing moves. */
enum { WAIT_LEAST = 20 * 1000, WAIT_MOST = 10 * 1000 * 1000 /* ns */ };

static void wait_a_little(ldg_site *s, long ns) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += ns;
  if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
  pthread_cond_timedwait(&s->returned, &s->chunk_lock, &until);
}

/* The right to make one; NULL, after a while, where there are as many as there may be. */
static ldg_pinned *reserve_or_wait(ldg_site *s, long ns) {
  ldg_pinned *p = s->pinned;
  pthread_mutex_lock(&s->chunk_lock);
  const bool make = s->chunks_free == 0 && s->chunks_made < s->chunks_most;
  while (make && p->made) p++;
  if (make) s->chunks_made++, *p = (ldg_pinned){ .site = s, .made = true };
  else if (s->chunks_free == 0) wait_a_little(s, ns);
  pthread_mutex_unlock(&s->chunk_lock);
  return make ? p : NULL;
}

/* There is no memory for it: others make do with what there is. ERR_NOMEM: nothing. */
static int unreserve(ldg_pinned *p, int e) {
  ldg_site *s = p->site;
  pthread_mutex_lock(&s->chunk_lock);
  s->chunks_made--, p->made = false;
  const bool some = s->chunks_made > 0;
  if (e == LADING_ERR_NOMEM && some) s->chunks_most = s->chunks_made;
  pthread_mutex_unlock(&s->chunk_lock);
  return e == LADING_ERR_NOMEM && some ? LADING_OK : e;
}

static int make_or_wait(ldg_site *s, long ns, ldg_pinned **out) {
  ldg_pinned *p = reserve_or_wait(s, ns);
  int e = p ? make_chunk(p) : LADING_OK;
  if (p && !e) *out = p;
  return e ? unreserve(p, e) : LADING_OK;
}

int ldg_device_borrow(ldg_lane *l, ldg_chunk *out, bool *idle) {
  ldg_site *s = l->site;
  ldg_pinned *p = NULL;
  int e = look_at(l, idle);
  for (long ns = WAIT_LEAST; !e && !p; ns = ldg_min(2 * ns, WAIT_MOST)) {
    p = take_free(s);
    if (!p) e = take_passed(s, &p);
    if (!e && !p) e = make_or_wait(s, ns, &p);
    if (!e && !p) e = look_at(l, idle);
  }
  if (!e) *out = (ldg_chunk){ p->at, LDG_CHUNK_BYTES, p };
  return e;
}

int ldg_device_give_back_later(ldg_lane *l, ldg_chunk chunk) {
  ldg_pinned *p = chunk.home;
  ldg_site *s = l->site;
  int e = ldg_site_enter(s);
  if (e) return ldg_device_error(e);
  const bool recorded = ldg_lane_recorded(l); /* the event would be the graph's */
  if (!recorded && !p->event) e = s->driver->event_create(&p->event, LDG_EVENT_NO_TIMING);
  if (!recorded && !e) e = s->driver->event_record(p->event, l->stream); /* may wait, where much is under way: without the lock */
  ldg_site_leave(s);
  if (recorded || e) return recorded ? LADING_ERR_UNSUPPORTED : ldg_device_error(e);
  pthread_mutex_lock(&s->later_lock);
  s->later[s->later_n++] = p;
  pthread_mutex_unlock(&s->later_lock);
  return LADING_OK;
}

void ldg_device_give_back(ldg_chunk chunk) {
  ldg_pinned *p = chunk.home;
  ldg_site *s = p->site;
  pthread_mutex_lock(&s->chunk_lock);
  s->chunk[s->chunks_free++] = p;
  pthread_cond_signal(&s->returned);
  pthread_mutex_unlock(&s->chunk_lock);
}
