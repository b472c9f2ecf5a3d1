/* Memory: what kind it is, and the pinned chunks that stand in for memory that kernels do not reach. */
#include "site.h"

#include <errno.h>
#include <time.h>

/* ---- kinds ---- */

static lading_mem mem_of(const ldg_vendor *v, int kind, int managed, int device) {
  if (kind == 0) return (lading_mem){ LADING_MEM_HOST, -1 };
  return (lading_mem){ managed ? LADING_MEM_MANAGED : kind == v->kind_device ? LADING_MEM_DEVICE : LADING_MEM_PINNED, device };
}

int ldg_device_query(const ldg_device *dev, const void *at, lading_mem *out) {
  ldg_vendor *v = ldg_device_vendor(dev);
  const ldg_driver *d = ldg_device_driver(v);
  int kind = 0, managed = 0, device = -1;
  int facts[] = { v->fact_kind, v->fact_managed, v->fact_device };
  void *values[] = { &kind, &managed, &device };
  int e = d ? d->pointer_facts(3, facts, values, (uintptr_t)at) : 0;
  if (e == LDG_NO_CONTEXT) e = 0, kind = 0; /* then nothing was allocated */
  if (!e) *out = mem_of(v, kind, managed, device);
  return ldg_device_error(e);
}

/* ---- chunks ---- */

static int make_chunk(ldg_site *s, char **out) {
  void *at;
  int e = ldg_site_enter(s);
  if (e) return ldg_device_error(e);
  e = s->driver->pinned_alloc(&at, LDG_CHUNK_BYTES, LDG_PINNED_PORTABLE | LDG_PINNED_MAPPED);
  ldg_site_leave(s);
  if (!e) *out = at;
  return ldg_device_error(e);
}

/* Waits a little. An error when nothing more will come, since the device has failed. */
static int wait_for_chunk(ldg_lane *l) {
  ldg_site *s = l->site;
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += 10 * 1000 * 1000;
  if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
  if (pthread_cond_timedwait(&s->returned, &s->lock, &until) != ETIMEDOUT) return LADING_OK;
  int e = ldg_site_enter(s);
  if (e) return ldg_device_error(e);
  e = s->driver->stream_query(l->stream);
  ldg_site_leave(s);
  return ldg_device_error(e == LDG_NOT_READY ? 0 : e);
}

static bool recorded(ldg_lane *l) {
  if (ldg_site_enter(l->site)) return false;
  const bool yes = ldg_lane_recorded(l);
  ldg_site_leave(l->site);
  return yes;
}

int ldg_device_borrow(ldg_lane *l, ldg_chunk *out) {
  ldg_site *s = l->site;
  char *at = NULL;
  int e = recorded(l) ? LADING_ERR_UNSUPPORTED : LADING_OK;
  pthread_mutex_lock(&s->lock);
  while (!e && !at) {
    if (s->chunks_free > 0) at = s->chunk[--s->chunks_free];
    else if (s->chunks_made < LDG_CHUNKS) {
      e = make_chunk(s, &at);
      if (!e) s->chunks_made++;
      else if (s->chunks_made > 0 && e == LADING_ERR_NOMEM) e = wait_for_chunk(l); /* goes on with fewer */
    } else e = wait_for_chunk(l);
  }
  pthread_mutex_unlock(&s->lock);
  if (!e) *out = (ldg_chunk){ at, LDG_CHUNK_BYTES, s };
  return e;
}

void ldg_device_give_back(ldg_chunk chunk) {
  ldg_site *s = chunk.home;
  pthread_mutex_lock(&s->lock);
  s->chunk[s->chunks_free++] = chunk.at;
  pthread_cond_signal(&s->returned);
  pthread_mutex_unlock(&s->lock);
}
