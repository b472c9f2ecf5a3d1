/* A map from ranges of remote memory to where they are mapped here. Ranges of one owner are disjoint, so they stand in one sorted
 * array and a look-up is a bisection; a list has them by last use. One lock, held for look-ups only: the caller's unmap runs
 * without it. What leaves the map while it is pinned is unmapped by the last release. */
#include "direct.h"
#include "base_lru.h"

#include <pthread.h>

struct lading_mapping {
  ldg_lru_link use;                   /* while in the map; first, see base_lru.h */
  uint64_t owner, remote;
  int64_t bytes, pins;
  void *local, *handle;
  bool gone;                          /* not in the map any more: the last pin takes it away */
  struct lading_mapping *next;        /* to unmap after it */
};

struct lading_map {
  pthread_mutex_t lock;
  lading_map_attr attr;
  lading_mapping **at;                /* sorted by owner and remote */
  int64_t room;
  ldg_lru uses;
  lading_map_counts counts;
};

enum { ROOM_MIN = 16 };

int ldg_direct_map_create(const lading_map_attr *attr, lading_map **out) {
  lading_map *m = ldg_alloc(sizeof *m);
  if (!m) return LADING_ERR_NOMEM;
  *m = (lading_map){ .attr = *attr };
  if (!m->attr.max_entries) m->attr.max_entries = INT64_MAX;
  if (!m->attr.max_bytes) m->attr.max_bytes = INT64_MAX;
  if (pthread_mutex_init(&m->lock, NULL)) {
    ldg_free(m);
    return LADING_ERR_NOMEM;
  }
  *out = m;
  return LADING_OK;
}

/* ---- the sorted array; the lock is held from here to `unmap` ---- */

/* Ends are last bytes, so that a range may reach to the end of the address space. */
static uint64_t last_of(uint64_t remote, uint64_t bytes) { return remote + (bytes - 1); }

static bool ends_before(const lading_mapping *e, uint64_t owner, uint64_t remote) {
  return e->owner != owner ? e->owner < owner : last_of(e->remote, (uint64_t)e->bytes) < remote;
}

/* The first range that does not end before `remote`: the one that holds it, or the next. */
static int64_t lower(const lading_map *m, uint64_t owner, uint64_t remote) {
  int64_t lo = 0, n = m->counts.entries;
  while (n > 0) {
    const int64_t half = n / 2;
    if (ends_before(m->at[lo + half], owner, remote)) lo += half + 1, n -= half + 1;
    else n = half;
  }
  return lo;
}

static bool overlaps(const lading_mapping *e, uint64_t owner, uint64_t last) { return e->owner == owner && e->remote <= last; }

static bool make_room(lading_map *m) {
  if (m->counts.entries < m->room) return true;
  const int64_t room = m->room ? 2 * m->room : ROOM_MIN;
  lading_mapping **at = ldg_alloc(room * (int64_t)sizeof(lading_mapping *));
  if (!at) return false;
  ldg_copy_bytes(at, m->at, m->counts.entries * (int64_t)sizeof *at);
  ldg_free(m->at);
  m->at = at;
  m->room = room;
  return true;
}

static void move_tail(lading_map *m, int64_t to, int64_t from) {
  memmove(m->at + to, m->at + from, (size_t)(m->counts.entries - from) * sizeof *m->at);
}

static void put_at(lading_map *m, int64_t i, lading_mapping *e) {
  move_tail(m, i + 1, i);
  m->at[i] = e;
  m->counts.entries++;
  m->counts.bytes += e->bytes;
  ldg_lru_add(&m->uses, &e->use);
}

/* Takes range i out; *dead gets it when nobody holds it. */
static void take_out(lading_map *m, int64_t i, lading_mapping **dead) {
  lading_mapping *e = m->at[i];
  move_tail(m, i, i + 1);
  m->counts.entries--;
  m->counts.bytes -= e->bytes;
  ldg_lru_remove(&m->uses, &e->use);
  e->gone = true;
  if (e->pins) return;
  e->next = *dead;
  *dead = e;
}

static void take_out_overlaps(lading_map *m, uint64_t owner, uint64_t remote, uint64_t last, lading_mapping **dead) {
  const int64_t i = lower(m, owner, remote);
  while (i < m->counts.entries && overlaps(m->at[i], owner, last)) take_out(m, i, dead);
}

/* Those of all ranges that stay, and of one more. */
static bool can_count(const lading_map *m, uint64_t owner, uint64_t remote, int64_t bytes) {
  int64_t all = m->counts.bytes;
  for (int64_t i = lower(m, owner, remote); i < m->counts.entries && overlaps(m->at[i], owner, last_of(remote, (uint64_t)bytes)); i++) all -= m->at[i]->bytes;
  return !ldg_add(all, bytes, &all);
}

static bool too_much(const lading_map *m) {
  return m->counts.entries > m->attr.max_entries || m->counts.bytes > m->attr.max_bytes;
}

/* Pinned ranges stay, so it may be that nothing can go. */
static void evict(lading_map *m, lading_mapping **dead) {
  for (lading_mapping *e = (lading_mapping *)m->uses.oldest, *next; e && too_much(m); e = next) {
    next = (lading_mapping *)e->use.newer;
    if (e->pins) continue;
    take_out(m, lower(m, e->owner, e->remote), dead);
    m->counts.evictions++;
  }
}

/* ---- without the lock ---- */

static void unmap(const lading_map *m, lading_mapping *dead) {
  while (dead) {
    lading_mapping *e = dead;
    dead = e->next;
    if (m->attr.unmap) m->attr.unmap(m->attr.ctx, e->local, e->bytes, e->handle);
    ldg_free(e);
  }
}

void ldg_direct_map_free(lading_map *m) {
  while (m->counts.entries) { /* unmap may put new ones in */
    lading_mapping *dead = NULL;
    while (m->counts.entries) take_out(m, m->counts.entries - 1, &dead);
    unmap(m, dead);
  }
  pthread_mutex_destroy(&m->lock);
  ldg_free(m->at);
  ldg_free(m);
}

int ldg_direct_map_insert(lading_map *m, uint64_t owner, uint64_t remote, int64_t bytes, void *local, void *handle, lading_mapping **pin) {
  lading_mapping *dead = NULL, *e = ldg_alloc(sizeof *e);
  if (!e) return LADING_ERR_NOMEM;
  *e = (lading_mapping){ .owner = owner, .remote = remote, .bytes = bytes, .pins = 1, .local = local, .handle = handle };
  pthread_mutex_lock(&m->lock);
  const bool counts = can_count(m, owner, remote, bytes), fits = counts && make_room(m);
  if (fits) {
    take_out_overlaps(m, owner, remote, last_of(remote, (uint64_t)bytes), &dead);
    put_at(m, lower(m, owner, remote), e);
    m->counts.pinned++;
    evict(m, &dead);
  }
  pthread_mutex_unlock(&m->lock);
  unmap(m, dead);
  if (fits) *pin = e;
  else ldg_free(e);
  return fits ? LADING_OK : counts ? LADING_ERR_NOMEM : LADING_ERR_OVERFLOW;
}

int ldg_direct_map_find(lading_map *m, uint64_t owner, uint64_t remote, int64_t bytes, void **local, lading_mapping **pin) {
  pthread_mutex_lock(&m->lock);
  const int64_t i = lower(m, owner, remote);
  lading_mapping *e = i < m->counts.entries ? m->at[i] : NULL;
  const bool hit = e && overlaps(e, owner, remote) && last_of(remote, (uint64_t)bytes) <= last_of(e->remote, (uint64_t)e->bytes);
  if (hit) {
    ldg_lru_use(&m->uses, &e->use);
    m->counts.pinned += e->pins++ == 0;
    *local = ldg_at(e->local, (int64_t)(remote - e->remote));
    *pin = e;
  }
  m->counts.hits += hit;
  m->counts.misses += !hit;
  pthread_mutex_unlock(&m->lock);
  return hit ? LADING_OK : LADING_NOT_MAPPED;
}

void ldg_direct_map_release(lading_map *m, lading_mapping *pin) {
  lading_mapping *dead = NULL;
  pthread_mutex_lock(&m->lock);
  const bool last = --pin->pins == 0;
  m->counts.pinned -= last;
  if (last && pin->gone) {
    pin->next = NULL;
    dead = pin;
  } else if (last) {
    evict(m, &dead); /* more than fits may be there, since it was pinned */
  }
  pthread_mutex_unlock(&m->lock);
  unmap(m, dead);
}

void ldg_direct_map_invalidate(lading_map *m, uint64_t owner, uint64_t remote, uint64_t bytes) {
  lading_mapping *dead = NULL;
  const uint64_t room = UINT64_MAX - remote;
  if (!bytes) return;
  pthread_mutex_lock(&m->lock);
  take_out_overlaps(m, owner, remote, bytes - 1 > room ? UINT64_MAX : last_of(remote, bytes), &dead);
  pthread_mutex_unlock(&m->lock);
  unmap(m, dead);
}

void ldg_direct_map_stats(lading_map *m, lading_map_counts *out) {
  pthread_mutex_lock(&m->lock);
  *out = m->counts;
  pthread_mutex_unlock(&m->lock);
}
