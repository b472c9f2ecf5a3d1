/* Tables: words in device memory, found by content. Filled once; the least recently used ones go when there are too many. */
#include "site.h"

typedef struct ldg_table {
  ldg_lru_link link;       /* first: a link is a table */
  struct ldg_table *chain;     /* of a bucket */
  lading_id id;
  ldg_table_words words;
  int64_t bytes, stamp;    /* of the last request */
  bool kept;               /* a graph holds its address: it stays */
} table;

static ldg_address address_of(const table *t) { return (uintptr_t)t->words.there; }

static bool same_id(lading_id a, lading_id b) { return a.w[0] == b.w[0] && a.w[1] == b.w[1]; }

/* Where the table of that id is, or would be put, in its bucket; ids are hashes. */
static table **place_of(ldg_site *s, const lading_id *id) {
  table **at = &s->bucket[id->w[0] % LDG_BUCKETS];
  while (*at && !same_id((*at)->id, *id)) at = &(*at)->chain;
  return at;
}

/* ---- eviction ---- */

/* Every lane may have kernels that read any of the tables; those of a graph are kept. */
static int drain(ldg_site *s) {
  int e = s->gone ? s->driver->stream_sync(s->gone) : 0;
  for (ldg_lane *l = s->lanes; !e && l; l = l->older)
    if (l->tables && !ldg_lane_recorded(l)) e = s->driver->stream_sync(l->stream);
  return e;
}

/* Tables from here on may be named by a launch that is still to come. */
static int64_t waiting_since(const ldg_site *s) {
  int64_t first = INT64_MAX;
  for (const ldg_lane *l = s->lanes; l; l = l->older) {
    const int64_t since = atomic_load(&l->since);
    if (since) first = ldg_min(first, since);
  }
  return first;
}

/* That may go. */
static table *oldest(ldg_site *s, int64_t before) {
  ldg_lru_link *k = s->tables.oldest;
  while (k && ((table *)k)->kept) k = k->newer;
  return k && ((table *)k)->stamp < before ? (table *)k : NULL;
}

static void drop(ldg_site *s, table *t) {
  ldg_lru_remove(&s->tables, &t->link);
  *place_of(s, &t->id) = t->chain;
  s->table_bytes -= t->bytes;
  s->driver->memory_free(address_of(t));
  ldg_free(t);
}

static int make_room(ldg_site *s, int64_t bytes, int64_t most) {
  const int64_t before = waiting_since(s);
  if (s->table_bytes + bytes <= most || !oldest(s, before)) return 0;
  const int e = drain(s);
  for (table *t; !e && s->table_bytes + bytes > most && (t = oldest(s, before));) drop(s, t);
  return e;
}

/* ---- a new one ---- */

/* Both with the first upload, whose callers are told of errors: who frees a lane is not. */
static int make_streams(ldg_site *s) {
  int e = s->upload ? 0 : s->driver->stream_create(&s->upload, LDG_STREAM_NON_BLOCKING);
  if (!e && !s->gone) e = s->driver->stream_create(&s->gone, LDG_STREAM_NON_BLOCKING);
  return e;
}

int ldg_site_upload(ldg_site *s, ldg_address to, const void *from, int64_t bytes) {
  int e = make_streams(s);
  if (!e) e = s->vendor->copy(s->driver, (void *)(uintptr_t)to, from, (size_t)bytes, s->upload);
  return e ? e : s->driver->stream_sync(s->upload);
}

static int fill_table(ldg_site *s, table *t, const ldg_table_maker *maker) {
  void *words = ldg_alloc(t->bytes);
  if (!words) return LDG_OUT_OF_MEMORY;
  maker->fill(maker->of, words);
  memcpy(t->words.head, words, (size_t)ldg_min(t->bytes, (int64_t)sizeof t->words.head));
  ldg_address at = 0;
  int e = make_room(s, t->bytes, s->table_most);
  if (!e) e = s->driver->memory_alloc(&at, (size_t)t->bytes);
  if (e == LDG_OUT_OF_MEMORY && make_room(s, t->bytes, 0) == 0) e = s->driver->memory_alloc(&at, (size_t)t->bytes);
  if (!e) {
    e = ldg_site_upload(s, at, words, t->bytes);
    if (e) s->driver->memory_free(at);
  }
  t->words.there = (const int64_t *)(uintptr_t)at, t->words.n = t->bytes / 8;
  ldg_free(words);
  return e;
}

static int make(ldg_site *s, const lading_id *id, const ldg_table_maker *maker, table **out) {
  table *t = ldg_alloc(sizeof *t);
  if (!t) return LADING_ERR_NOMEM;
  *t = (table){ .id = *id, .bytes = maker->bytes(maker->of) };
  const int e = fill_table(s, t, maker);
  if (e) {
    ldg_free(t);
    return ldg_device_error(e);
  }
  ldg_lru_add(&s->tables, &t->link);
  *place_of(s, id) = t;
  s->table_bytes += t->bytes;
  *out = t;
  return LADING_OK;
}

/* Nothing can be allocated while a stream is recorded. */
static void note_request(ldg_lane *l, table *t) {
  int64_t none = 0;
  t->stamp = ++l->site->table_clock;
  atomic_compare_exchange_strong(&l->since, &none, t->stamp);
  l->tables = true;
}

static int find_or_make(ldg_lane *l, const lading_id *id, const ldg_table_maker *maker, table **out) {
  const bool recorded = ldg_lane_recorded(l);
  int e = LADING_OK;
  *out = *place_of(l->site, id);
  if (*out) ldg_lru_use(&l->site->tables, &(*out)->link);
  else {
    const int mode = ldg_driver_relax(l->site->driver);
    e = recorded ? LADING_ERR_UNSUPPORTED : make(l->site, id, maker, out);
    ldg_driver_restore(l->site->driver, mode);
  }
  if (!e) (*out)->kept |= recorded && ldg_lane_records(l), note_request(l, *out);
  return e;
}

int ldg_device_table(ldg_lane *l, const lading_id *id, const ldg_table_maker *maker, ldg_table_words *out) {
  ldg_site *s = l->site;
  table *t;
  int e = ldg_device_error(ldg_site_enter(s));
  if (e) return e;
  pthread_mutex_lock(&s->lock);
  e = find_or_make(l, id, maker, &t);
  if (!e) *out = t->words;
  pthread_mutex_unlock(&s->lock);
  ldg_site_leave(s);
  return e;
}

void ldg_device_forgo(ldg_lane *l) { atomic_store(&l->since, 0); }

void ldg_site_tables(ldg_lane *l, int64_t most) {
  pthread_mutex_lock(&l->site->lock);
  l->site->table_most = most;
  pthread_mutex_unlock(&l->site->lock);
}

/* A stream of the site waits for a lane that goes, in its place. */
int ldg_site_leave_lane(ldg_lane *l) {
  ldg_site *s = l->site;
  void *event;
  int e = s->driver->event_create(&event, LDG_EVENT_NO_TIMING);
  if (e) return e;
  pthread_mutex_lock(&s->lock);
  e = s->driver->event_record(event, l->stream);
  if (!e && s->gone) e = s->driver->stream_wait(s->gone, event, 0);
  pthread_mutex_unlock(&s->lock);
  s->driver->event_destroy(event);
  return e;
}
