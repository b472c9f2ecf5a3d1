/* peer: the messages. One lock per peer, held for look-ups only: types are written and read without it, so two threads may
 * do the same work at a time and the second finds it done. */
#include "peer.h"
#include "peer_table.h"
#include "wire.h"
#include "wire_bytes.h"

#include <pthread.h>

enum { MAGIC = 'p', VERSION = 1, BY_NAME = 1, WITH_TYPE = 2, NEED = 3 };

struct lading_peer {
  pthread_mutex_t lock;
  uint64_t epoch, seen;            /* ours; that of the last message from the other side */
  ldg_peer_table sent, got;        /* types offered; types accepted */
  lading_peer_counts counts;       /* but evictions and bytes, which the tables know */
};

typedef struct message { int kind; uint64_t epoch; lading_id name; int64_t count; const unsigned char *type; int64_t type_bytes; } message;

int ldg_peer_create(const lading_peer_attr *attr, lading_peer **out) {
  lading_peer *p = ldg_alloc(sizeof *p);
  if (!p) return LADING_ERR_NOMEM;
  *p = (lading_peer){ .epoch = attr->epoch, .seen = attr->epoch };
  p->sent.capacity = p->got.capacity = attr->capacity_bytes ? attr->capacity_bytes : LDG_PEER_CAPACITY;
  if (pthread_mutex_init(&p->lock, NULL)) {
    ldg_free(p);
    return LADING_ERR_NOMEM;
  }
  *out = p;
  return LADING_OK;
}

void ldg_peer_free(lading_peer *p) {
  ldg_peer_table_clear(&p->sent);
  ldg_peer_table_clear(&p->got);
  pthread_mutex_destroy(&p->lock);
  ldg_free(p);
}

void ldg_peer_stats(lading_peer *p, lading_peer_counts *out) {
  pthread_mutex_lock(&p->lock);
  *out = p->counts;
  out->evictions = p->sent.evictions + p->got.evictions;
  out->bytes = p->sent.bytes + p->got.bytes;
  pthread_mutex_unlock(&p->lock);
}

/* ---- messages ---- */

static void put_head(ldg_writer *w, int kind, uint64_t epoch, const lading_id *name, int64_t count) {
  ldg_wire_put_byte(w, MAGIC);
  ldg_wire_put_byte(w, VERSION);
  ldg_wire_put_byte(w, kind);
  ldg_wire_put_word(w, epoch);
  ldg_wire_put_word(w, name->w[0]);
  ldg_wire_put_word(w, name->w[1]);
  ldg_wire_put_uint(w, (uint64_t)count);
}

/* A message that is all head. ERR_RANGE: *n is the length it has. */
static int write_head(int kind, uint64_t epoch, const lading_id *name, int64_t count, void *buf, int64_t cap, int64_t *n) {
  ldg_writer sized = { NULL, 0, 0 }, w = { buf, cap, 0 };
  put_head(&sized, kind, epoch, name, count);
  *n = sized.len;
  if (sized.len > cap) return LADING_ERR_RANGE;
  put_head(&w, kind, epoch, name, count);
  return LADING_OK;
}

/* The type goes first, into its place: only when it fits is anything written. */
static int write_type(uint64_t epoch, const lading_id *name, const lading_type *t, int64_t count, void *buf, int64_t cap, int64_t *n) {
  ldg_writer sized = { NULL, 0, 0 }, w = { buf, cap, 0 };
  int64_t used;
  put_head(&sized, WITH_TYPE, epoch, name, count);
  const int rc = ldg_wire_encode(t, ldg_at(buf, sized.len), ldg_max(cap - sized.len, 0), &used);
  if (rc && rc != LADING_ERR_RANGE) return rc;
  *n = sized.len + used;
  if (!rc) put_head(&w, WITH_TYPE, epoch, name, count);
  return rc;
}

static int read_message(const void *buf, int64_t n, message *m) {
  ldg_reader r = { buf, (const unsigned char *)ldg_at(buf, n), LADING_OK };
  if (n < 3 || r.at[0] != MAGIC || r.at[1] != VERSION) return LADING_ERR_FORMAT;
  *m = (message){ .kind = r.at[2] };
  r.at += 3;
  m->epoch = ldg_wire_get_word(&r);
  m->name.w[0] = ldg_wire_get_word(&r);
  m->name.w[1] = ldg_wire_get_word(&r);
  m->count = ldg_wire_get_count(&r, 0);
  m->type = r.at;
  m->type_bytes = ldg_wire_left(&r);
  const bool known = m->kind >= BY_NAME && m->kind <= NEED;
  return r.err || !known || (m->kind != WITH_TYPE && m->type_bytes) ? LADING_ERR_FORMAT : LADING_OK;
}

/* ---- what is known; the lock is held ---- */

/* Another epoch: the other side lost its tables, or wants to be sure. Types offered stay, to be asked for. */
static void heed_epoch(lading_peer *p, uint64_t epoch) {
  if (epoch == p->seen) return;
  p->seen = epoch;
  for (ldg_lru_link *e = p->sent.uses.oldest; e; e = e->newer) ((ldg_peer_entry *)e)->known = false;
  ldg_peer_table_clear(&p->got);
}

/* The type went out: the hint is that it arrives. What there is no memory to note travels again, as what the table has no room for does. */
static void note_sent(lading_peer *p, const lading_id *name, const lading_type *t) {
  ldg_peer_entry *e = ldg_peer_table_find(&p->sent, name);
  if (e) e->known = true;
  else (void)ldg_peer_table_add(&p->sent, name, t, true);
  p->counts.layouts_sent++;
}

/* One more reference to a type in the table, or NULL. */
static lading_type *take(ldg_peer_table *table, const lading_id *name) {
  const ldg_peer_entry *e = ldg_peer_table_find(table, name);
  return e ? lading_type_ref(e->type) : NULL;
}

/* ---- sender ---- */

static bool offer_name(lading_peer *p, const lading_id *name, int64_t count, void *msg, int64_t cap, int64_t *n, int *rc) {
  pthread_mutex_lock(&p->lock);
  const ldg_peer_entry *e = ldg_peer_table_find(&p->sent, name);
  const bool known = e && e->known;
  if (known) *rc = write_head(BY_NAME, p->epoch, name, count, msg, cap, n);
  if (known && !*rc) {
    p->counts.offers++;
    p->counts.hits++;
  }
  pthread_mutex_unlock(&p->lock);
  return known;
}

int ldg_peer_offer(lading_peer *p, const lading_type *t, int64_t count, void *msg, int64_t cap, int64_t *n) {
  const lading_id name = ldg_wire_name(t);
  int64_t used;
  int rc;
  if (offer_name(p, &name, count, msg, cap, n, &rc)) return rc;
  rc = write_type(p->epoch, &name, t, count, msg, cap, &used);
  if (!rc) {
    pthread_mutex_lock(&p->lock);
    note_sent(p, &name, t);
    p->counts.offers++;
    pthread_mutex_unlock(&p->lock);
  }
  if (!rc || rc == LADING_ERR_RANGE) *n = used;
  return rc;
}

int ldg_peer_reply(lading_peer *p, const void *msg, int64_t n, void *out, int64_t cap, int64_t *on) {
  message m;
  if (read_message(msg, n, &m) || m.kind != NEED) return LADING_ERR_FORMAT;
  pthread_mutex_lock(&p->lock);
  heed_epoch(p, m.epoch);
  ldg_peer_entry *e = ldg_peer_table_find(&p->sent, &m.name);
  lading_type *t = e ? lading_type_ref(e->type) : NULL;
  if (e) e->known = false; /* until the answer is out */
  pthread_mutex_unlock(&p->lock);
  if (!t) return LADING_ERR_ARG;
  int rc = write_type(p->epoch, &m.name, t, m.count, out, cap, on);
  pthread_mutex_lock(&p->lock);
  if (!rc) note_sent(p, &m.name, t), p->counts.needs++;
  pthread_mutex_unlock(&p->lock);
  lading_type_free(t);
  return rc;
}

/* ---- receiver ---- */

static int accept_name(lading_peer *p, const message *m, lading_type **out, void *reply, int64_t cap, int64_t *rn) {
  int rc = LADING_OK;
  pthread_mutex_lock(&p->lock);
  lading_type *t = take(&p->got, &m->name);
  if (t) {
    p->counts.hits++;
    *out = t;
    *rn = 0;
  } else {
    rc = write_head(NEED, p->epoch, &m->name, m->count, reply, cap, rn);
    if (!rc) p->counts.needs++;
    if (!rc) rc = LADING_NEED_LAYOUT;
  }
  pthread_mutex_unlock(&p->lock);
  return rc;
}

/* The name is what the type says, not what the message says. */
static int decode(const message *m, lading_type **out) {
  lading_type *t;
  const int rc = ldg_wire_decode(m->type, m->type_bytes, &t);
  if (rc) return rc;
  const lading_id name = ldg_wire_name(t);
  if (name.w[0] == m->name.w[0] && name.w[1] == m->name.w[1]) {
    *out = t;
    return LADING_OK;
  }
  lading_type_free(t);
  return LADING_ERR_FORMAT;
}

/* Of two threads that bring the same type, the second gets that of the first. */
static int keep(lading_peer *p, const message *m, lading_type *own, lading_type **out) {
  pthread_mutex_lock(&p->lock);
  lading_type *t = take(&p->got, &m->name);
  const int rc = t ? LADING_OK : ldg_peer_table_add(&p->got, &m->name, own, false);
  pthread_mutex_unlock(&p->lock);
  if (t || rc) lading_type_free(own);
  if (!rc) *out = t ? t : own;
  return rc;
}

static int accept_type(lading_peer *p, const message *m, lading_type **out) {
  lading_type *own;
  pthread_mutex_lock(&p->lock);
  lading_type *t = take(&p->got, &m->name);
  pthread_mutex_unlock(&p->lock);
  if (t) {
    *out = t;
    return LADING_OK;
  }
  const int rc = decode(m, &own);
  return rc ? rc : keep(p, m, own, out);
}

int ldg_peer_accept(lading_peer *p, const void *msg, int64_t n, lading_type **out, int64_t *count, void *reply, int64_t cap, int64_t *rn) {
  message m;
  if (read_message(msg, n, &m) || m.kind == NEED) return LADING_ERR_FORMAT;
  pthread_mutex_lock(&p->lock);
  heed_epoch(p, m.epoch);
  pthread_mutex_unlock(&p->lock);
  const int rc = m.kind == BY_NAME ? accept_name(p, &m, out, reply, cap, rn) : accept_type(p, &m, out);
  if (rc == LADING_OK) {
    *count = m.count;
    *rn = 0;
  }
  return rc;
}
