/* Memory of pools (cuMemPoolCreate, cuMemAllocFromPoolAsync). A pool that was made with handles for descriptors is imported as a whole, each
 * place in it by a word of the driver's, which is too long for a token and stands in the ledger. The pools that a driver has of its own have
 * no handles. A place that was imported is freed before its owner frees it, so none is kept when it is closed. */
#include "ipc.h"

#include <unistd.h>

enum { KEPT = 8 }; /* pools that nobody uses */
static const uint64_t longest = (uint64_t)5 << 30; /* a driver of CUDA 13 was seen to end a process that imports a place of more than 5248 MiB */

struct ldg_pool { ldg_lru_link link; const ldg_driver *driver; ldg_context context; uint64_t ledger, number; void *at; int64_t users; };

static ldg_lru all;
static int unused;

static bool able(const ldg_driver *d) {
  return d->pool_export && d->pool_import && d->pool_free && d->pool_access && d->pool_share && d->pool_take;
}

/* ---- export ---- */

/* By itself: of an attribute that a driver does not know it answers nothing else either. */
void *ldg_pool_of(ldg_vendor *v, ldg_address base) {
  void *pool = NULL, *values[] = { &pool };
  return v->fact_pool && ldg_site_facts(v, 1, &v->fact_pool, values, base) == 0 ? pool : NULL;
}

static bool lives(const ldg_kept *k) {
  int kind = 0;
  uint64_t buffer = 0;
  int asked[] = { k->vendor->fact_kind, k->vendor->fact_buffer };
  void *values[] = { &kind, &buffer };
  return ldg_site_facts(k->vendor, 2, asked, values, k->base) == 0 && kind == k->vendor->kind_device && buffer == k->id;
}

/* In this order: a place has no word before its pool was exported. */
static int open_pool(ldg_kept *k, ldg_ledger_note *note) {
  const ldg_driver *d = &k->vendor->driver;
  if (d->pool_export(&k->fd, k->pool, LDG_BY_FILE, 0)) return LADING_ERR_UNSUPPORTED;
  if (d->pool_share(&note->place, k->base) == 0) return LADING_OK;
  close(k->fd);
  return LADING_ERR_UNSUPPORTED;
}

static void let_go(const ldg_kept *k) { (void)k; }

int ldg_pool_export(ldg_vendor *v, void *pool, ldg_address base, uint64_t bytes, uint64_t buffer, int types, ldg_ipc_handle *out) {
  static const ldg_kept_kind places = { lives, open_pool, let_go };
  ldg_ticket t;
  if (!able(&v->driver) || !(types & LDG_BY_FILE) || bytes > longest) return LADING_ERR_UNSUPPORTED;
  const int e = ldg_kept_ticket(&(ldg_kept){ .kind = &places, .vendor = v, .base = base, .id = buffer, .pool = pool, .bytes = bytes }, &t);
  if (!e) memset(out, 0, sizeof *out), memcpy(out, &t, sizeof t);
  return e;
}

/* ---- open ---- */

static void forget(ldg_pool *p) {
  void *was;
  if (ldg_context_same(p->context, ldg_driver_context(p->driver, p->context.at)) && p->driver->context_push(p->context.at) == 0) {
    const int mode = ldg_driver_relax(p->driver);
    p->driver->pool_free(p->at);
    ldg_driver_restore(p->driver, mode);
    p->driver->context_pop(&was);
  }
  ldg_lru_remove(&all, &p->link);
  ldg_free(p);
  unused--;
}

static void make_room(void) {
  for (ldg_lru_link *l = all.oldest, *next; l && unused > KEPT; l = next) {
    next = l->newer;
    if (!((ldg_pool *)l)->users) forget((ldg_pool *)l);
  }
}

static bool is_of(const ldg_pool *p, const ldg_driver *d, uint64_t ledger, uint64_t number, ldg_context context) {
  return p->driver == d && p->ledger == ledger && p->number == number && ldg_context_same(p->context, context);
}

static ldg_pool *find(const ldg_driver *d, uint64_t ledger, uint64_t number, ldg_context context) {
  ldg_lru_link *l = all.newest;
  while (l && !is_of((ldg_pool *)l, d, ledger, number, context)) l = l->older;
  return (ldg_pool *)l;
}

/* What is imported is nobody's to touch at first. */
static int import(const ldg_driver *d, int fd, void **out) {
  int device;
  int e = ldg_device_error(d->context_device(&device));
  if (!e) e = ldg_import_error(d->pool_import(out, (void *)(intptr_t)fd, LDG_BY_FILE, 0));
  if (e) return e;
  e = ldg_import_error(d->pool_access(*out, &(ldg_access){ LDG_ON_DEVICE, device, LDG_READ_AND_WRITE }, 1));
  if (e) d->pool_free(*out);
  return e;
}

static int make(const ldg_driver *d, int fd, uint64_t ledger, uint64_t number, ldg_context context, ldg_pool **out) {
  ldg_pool *p = ldg_alloc(sizeof *p);
  if (!p) return LADING_ERR_NOMEM;
  *p = (ldg_pool){ .driver = d, .context = context, .ledger = ledger, .number = number };
  const int e = import(d, fd, &p->at);
  if (e) return ldg_free(p), e;
  ldg_lru_add(&all, &p->link);
  unused++;
  *out = p;
  return LADING_OK;
}

static int place_in(ldg_pool *p, ldg_ledger_note *note, ldg_address *out) {
  const int e = ldg_device_error(p->driver->pool_take(out, p->at, &note->place));
  if (!e && p->users++ == 0) unused--;
  ldg_lru_use(&all, &p->link);
  make_room();
  return e;
}

int ldg_pool_open(ldg_vendor *v, pid_t from, const ldg_ipc_handle *handle, uint64_t bytes, ldg_context context, ldg_pool **pool, ldg_address *out) {
  const ldg_driver *d = &v->driver;
  ldg_ledger_note note;
  ldg_ticket t;
  int fd;
  memcpy(&t, handle, sizeof t);
  int e = able(d) ? ldg_ledger_fetch(from, &t, &fd, &note) : LADING_ERR_UNSUPPORTED;
  if (e) return e;
  *pool = find(d, t.nonce, note.pool, context);
  if (note.bytes != bytes) e = LADING_ERR_FORMAT;
  else if (!*pool) e = make(d, fd, t.nonce, note.pool, context, pool);
  close(fd);
  return e ? e : place_in(*pool, &note, out);
}

void ldg_pool_leave(ldg_pool *p) {
  if (--p->users == 0) unused++;
  make_room();
}
