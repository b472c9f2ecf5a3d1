/* Memory of other processes. A token is a handle of a whole allocation, one of several routes, and the offset in it; what is open is found by who
 * allocated it, where, which of the allocations at that place it was, its handle, and the context that it was opened in. */
#include "ipc.h"

#include <sys/stat.h>
#include <unistd.h>

enum { OPEN_MAX = 256, MAGIC = 0x3349444c }; /* mappings kept that nobody uses; another number whenever tokens, or the ledger, mean something else */

typedef struct owner { uint64_t pid, space, base, buffer; } owner;
typedef struct token { uint32_t magic; uint16_t device; char vendor; uint8_t route; owner from; uint64_t offset, bytes; ldg_ipc_handle handle; uint64_t seal; } token;
_Static_assert(sizeof(token) == sizeof(lading_ipc), "a token fits, and no byte of it is left unsealed");

static uint64_t seal_of(const token *t) { return ldg_checksum(t, offsetof(token, seal)); }

void ldg_ipc_seal(lading_ipc *token_bytes) {
  token t;
  memcpy(&t, token_bytes, sizeof t);
  t.seal = seal_of(&t);
  memcpy(token_bytes, &t, sizeof t);
}

/* Opened once, in the context that was current then, however many use it. The process's own memory is not mapped a second time. What of a pool
 * nobody uses any more is not kept. */
typedef struct mapping {
  ldg_lru_link link;       /* first */
  ldg_vendor *vendor;
  owner from;
  uint64_t length;         /* of it there, as its token says */
  int route;
  ldg_ipc_handle handle;
  ldg_context context;
  bool ours;
  ldg_pool *pool;          /* that it is of, or NULL */
  ldg_address at;
  uint64_t bytes;
  int64_t users;
  bool leaving;            /* let go by its last user, who does not hold the lock: waited for by who wants the same */
} mapping;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;
static ldg_lru mappings;
static int unused;

/* Two containers may have the same pids. */
static uint64_t pid_space(void) {
  struct stat s;
  return stat("/proc/self/ns/pid", &s) == 0 ? (uint64_t)s.st_ino : 0;
}
static owner ourselves(uint64_t base, uint64_t buffer) { return (owner){ (uint64_t)getpid(), pid_space(), base, buffer }; }
static bool same_process(const owner *a, const owner *b) { return a->pid == b->pid && a->space == b->space; }
static bool same_owner(const owner *a, const owner *b) { return same_process(a, b) && a->base == b->base && a->buffer == b->buffer; }
static bool by_ticket(int route) { return route == LDG_IPC_FILE || route == LDG_IPC_POOL; }

/* What follows needs a current context: that of the caller, or else the primary one of the device, until context_pop. */
typedef struct visit { ldg_context context; int mode; } visit;
static int enter(ldg_vendor *v, int ordinal, visit *out) {
  void *at;
  int e = v->driver.context_get(&at);
  if (!e && !at) e = ldg_site_primary(v, ordinal, &at);
  if (!e) e = v->driver.context_push(at);
  if (!e) *out = (visit){ ldg_driver_context(&v->driver, at), ldg_driver_relax(&v->driver) };
  return e;
}

static int leave(ldg_vendor *v, const visit *in, int e) {
  void *was;
  ldg_driver_restore(&v->driver, in->mode);
  v->driver.context_pop(&was);
  return e;
}

/* ---- export ---- */

typedef struct facts { int kind, device, exportable, types; uint64_t buffer; } facts; /* types: of handles, of memory that is not exportable */

/* 0, or an error of the driver; kind 0 for what it does not know. */
static int facts_of(ldg_vendor *v, ldg_address at, facts *out) {
  int asked[] = { v->fact_kind, v->fact_device, v->fact_buffer, v->fact_exportable, v->fact_types };
  void *values[] = { &out->kind, &out->device, &out->buffer, &out->exportable, &out->types };
  uint64_t types = 0;
  *out = (facts){ .exportable = 1 };
  values[4] = &types; /* room for either width */
  const int e = ldg_site_facts(v, v->fact_types ? 5 : v->fact_exportable ? 4 : 3, asked, values, at);
  out->types = (int)types;
  return e;
}

/* Of memory that has no handle of the driver's by itself, and may have some of other types. */
static int export_typed(ldg_vendor *v, const facts *f, ldg_address base, size_t bytes, int *route, ldg_ipc_handle *out) {
  void *const pool = f->types ? ldg_pool_of(v, base) : NULL;
  if (!pool) return ldg_virtual_export(v, base, f->types, route, out);
  *route = LDG_IPC_POOL;
  return ldg_pool_export(v, pool, base, bytes, f->buffer, f->types, out);
}

/* ROCm does not say what is exportable: it refuses. */
static int export_any(ldg_vendor *v, const facts *f, ldg_address base, size_t bytes, int *route, ldg_ipc_handle *out) {
  const int e = f->exportable ? v->driver.ipc_get(out, base) : LDG_BAD_VALUE;
  *route = LDG_IPC_LEGACY;
  return e == LDG_BAD_VALUE ? export_typed(v, f, base, bytes, route, out) : ldg_import_error(e);
}

/* Copies of the driver that are not of a stream must not be overtaken by readers elsewhere. */
static void set_ordered(const ldg_driver *d, ldg_address base) {
  typedef int function(const void *value, int attribute, ldg_address at);
  const unsigned yes = 1;
  if (d->pointer_set) ((function *)d->pointer_set)(&yes, 6, base);
}

static int fill(ldg_vendor *v, const void *at, const facts *f, token *t) {
  const ldg_driver *d = &v->driver;
  size_t bytes;
  ldg_address base;
  int route = LDG_IPC_LEGACY, e = ldg_device_error(d->memory_range(&base, &bytes, (uintptr_t)at));
  if (e) return e;
  e = export_any(v, f, base, bytes, &route, &t->handle);
  if (e) return e;
  set_ordered(d, base);
  t->from = ourselves(base, f->buffer), t->offset = (uintptr_t)at - base, t->bytes = bytes, t->route = (uint8_t)route;
  return LADING_OK;
}

int ldg_device_ipc_export(const ldg_device *dev, const void *at, lading_ipc *out) {
  ldg_vendor *v = ldg_device_vendor(dev);
  facts f;
  visit in;
  token t = { .magic = MAGIC, .vendor = v->name[0] };
  if (!ldg_device_driver(v)) return LADING_ERR_DEVICE;
  int e = facts_of(v, (uintptr_t)at, &f);
  if (!e && f.kind != v->kind_device) return LADING_ERR_UNSUPPORTED;
  if (!e) e = enter(v, f.device, &in);
  if (e) return ldg_device_error(e);
  e = leave(v, &in, fill(v, at, &f, &t));
  if (e) return e;
  t.device = (uint16_t)f.device;
  memcpy(out, &t, sizeof t), ldg_ipc_seal(out);
  return LADING_OK;
}

/* ---- open ---- */

/* What a reset has taken is not closed again. An error: of a place of a pool, which is here still. */
static int let_go(const mapping *m) {
  const ldg_driver *d = &m->vendor->driver;
  void *was;
  int e = LADING_OK;
  if (m->ours || !ldg_context_same(m->context, ldg_driver_context(d, m->context.at)) || d->context_push(m->context.at)) return e;
  const int mode = ldg_driver_relax(d);
  if (m->pool) e = ldg_device_error(d->memory_free(m->at));
  else if (m->route == LDG_IPC_LEGACY) d->ipc_close(m->at);
  else ldg_virtual_close(d, m->at, m->bytes);
  ldg_driver_restore(d, mode);
  d->context_pop(&was);
  return e;
}

static void forget(mapping *m) {
  if (m->pool) ldg_pool_leave(m->pool);
  ldg_lru_remove(&mappings, &m->link);
  ldg_free(m);
  unused--;
}

/* To free a place waits for the device: others get the lock meanwhile. */
static int let_go_unlocked(mapping *m) {
  m->leaving = true;
  pthread_mutex_unlock(&lock);
  const int e = let_go(m);
  pthread_mutex_lock(&lock);
  m->leaving = false;
  pthread_cond_broadcast(&left);
  return e;
}

/* Our own costs nothing to map: it is looked at anew each time, as it may be gone by then. What could not be let go stays, to be found or
 * tried again. */
static int release(mapping *m) {
  const bool goes = m->users == 1 && (m->ours || m->pool);
  const int e = goes ? let_go_unlocked(m) : LADING_OK;
  if (--m->users == 0) unused++;
  if (goes && !e) forget(m);
  return e;
}

/* Of memory that was there before, wherever that began. */
static bool is_outdated(const mapping *m, const token *t) {
  const bool meets = t->from.base - m->from.base < m->length || m->from.base - t->from.base < t->bytes;
  return same_process(&m->from, &t->from) && meets && (m->from.buffer != t->from.buffer || memcmp(&m->handle, &t->handle, sizeof t->handle));
}

/* Those that are in the way, and the oldest when there are too many. */
static bool makes_room(const mapping *m, const token *t) { return is_outdated(m, t) || unused > OPEN_MAX; }
static bool is_near(const mapping *m, const token *t) { return m->route == LDG_IPC_LEGACY && same_process(&m->from, &t->from); }

/* Of those that nobody uses. Whether any went. */
static bool evict(const token *t, bool (*goes)(const mapping *m, const token *t)) {
  bool any = false;
  for (ldg_lru_link *k = mappings.oldest, *next; k; k = next) {
    mapping *m = (mapping *)k;
    next = k->newer;
    if (m->users || !goes(m, t) || let_go(m)) continue;
    forget(m);
    any = true;
  }
  return any;
}

/* Its owner has a new ticket for the same memory when others took the place of the old one. What somebody uses is not freed: the same process,
 * which its ledger's nonce tells, has nothing else there. */
static bool same_handle(const mapping *m, const token *t) {
  ldg_ticket a, b;
  if (!memcmp(&m->handle, &t->handle, sizeof t->handle)) return true;
  if (!m->users || !by_ticket(m->route) || m->bytes != t->bytes) return false;
  memcpy(&a, &m->handle, sizeof a), memcpy(&b, &t->handle, sizeof b);
  return a.nonce == b.nonce;
}

static bool is_of(const mapping *m, const ldg_vendor *v, const token *t, ldg_context context) {
  return m->vendor == v && m->route == t->route && same_owner(&m->from, &t->from) && same_handle(m, t) && ldg_context_same(m->context, context);
}

static mapping *find(const ldg_vendor *v, const token *t, ldg_context context) {
  ldg_lru_link *k = mappings.newest;
  while (k && !is_of((mapping *)k, v, t, context)) k = k->older;
  return (mapping *)k;
}

static mapping *find_there(const ldg_vendor *v, const token *t, ldg_context context) {
  mapping *m;
  while ((m = find(v, t, context)) && m->leaving) pthread_cond_wait(&left, &lock);
  return m;
}

/* Memory of our own is where it is, if it is what the token is of: at its place may be another allocation by now. */
static int map_ours(mapping *m) {
  facts f;
  size_t bytes = 0;
  int e = facts_of(m->vendor, m->from.base, &f);
  if (!e && (f.kind != m->vendor->kind_device || f.buffer != m->from.buffer)) return LADING_ERR_DEVICE;
  if (!e) e = m->vendor->driver.memory_range(&m->at, &bytes, m->at);
  m->bytes = bytes;
  return ldg_device_error(e);
}

static int map_legacy(mapping *m) {
  const ldg_driver *d = &m->vendor->driver;
  size_t bytes = 0;
  int e = d->ipc_open(&m->at, m->handle, LDG_IPC_LAZY_PEER);
  const bool opened = !e;
  if (!e) e = d->memory_range(&m->at, &bytes, m->at);
  if (e && opened) d->ipc_close(m->at);
  m->bytes = bytes;
  return ldg_import_error(e);
}

static int map(mapping *m) {
  if (m->ours) return map_ours(m);
  if (m->route == LDG_IPC_LEGACY) return map_legacy(m);
  if (by_ticket(m->route) && m->from.space != pid_space()) return LADING_ERR_UNSUPPORTED; /* which is another process's here */
  if (m->route == LDG_IPC_POOL) return ldg_pool_open(m->vendor, (pid_t)m->from.pid, &m->handle, m->bytes, m->context, &m->pool, &m->at);
  return ldg_virtual_open(m->vendor, m->route, (pid_t)m->from.pid, &m->handle, m->bytes, &m->at);
}

static int make(ldg_vendor *v, const token *t, ldg_context context, mapping **out) {
  const owner self = ourselves(t->from.base, t->from.buffer);
  mapping *m = ldg_alloc(sizeof *m);
  if (!m) return LADING_ERR_NOMEM;
  *m = (mapping){ .vendor = v, .from = t->from, .length = t->bytes, .route = t->route, .handle = t->handle, .context = context, .at = t->from.base, .bytes = t->bytes, .ours = same_owner(&self, &t->from) };
  evict(t, makes_room);
  int e = map(m);
  if (e && e != LADING_ERR_UNSUPPORTED && m->route == LDG_IPC_LEGACY && evict(t, is_near)) e = map(m); /* a driver may refuse what meets something else that is open */
  if (e) {
    ldg_free(m);
    return e;
  }
  ldg_lru_add(&mappings, &m->link);
  unused++;
  *out = m;
  return LADING_OK;
}

static int find_or_make(ldg_vendor *v, const token *t, ldg_context context, void **out) {
  mapping *m = find_there(v, t, context);
  const int e = m ? LADING_OK : make(v, t, context, &m);
  if (e) return e;
  if (m->users++ == 0) unused--;
  if (t->offset >= m->bytes) return release(m), LADING_ERR_FORMAT;
  ldg_lru_use(&mappings, &m->link);
  *out = (void *)(uintptr_t)(m->at + t->offset);
  return LADING_OK;
}

int ldg_device_ipc_open(const ldg_device *dev, const lading_ipc *from, void **out) {
  ldg_vendor *v = ldg_device_vendor(dev);
  token t;
  if (!ldg_device_driver(v)) return LADING_ERR_DEVICE;
  memcpy(&t, from, sizeof t);
  if (t.magic != MAGIC || t.vendor != v->name[0] || t.route >= LDG_IPC_ROUTES || t.seal != seal_of(&t)) return LADING_ERR_FORMAT;
  visit in;
  int e = ldg_device_error(enter(v, (int)t.device < v->devices ? (int)t.device : 0, &in)); /* its owner may see others */
  if (e) return e;
  pthread_mutex_lock(&lock);
  e = find_or_make(v, &t, in.context, out);
  pthread_mutex_unlock(&lock);
  return leave(v, &in, e);
}

/* ---- close ---- */

static mapping *used_at(const ldg_vendor *v, uintptr_t at) {
  ldg_lru_link *k = mappings.newest;
  for (; k; k = k->older) {
    const mapping *m = (mapping *)k;
    if (m->vendor == v && m->users && !m->leaving && at - m->at < m->bytes) break;
  }
  return (mapping *)k;
}

int ldg_device_ipc_close(const ldg_device *dev, void *at) {
  pthread_mutex_lock(&lock);
  mapping *m = used_at(ldg_device_vendor(dev), (uintptr_t)at);
  const int e = m ? release(m) : LADING_ERR_ARG;
  pthread_mutex_unlock(&lock);
  return e;
}
