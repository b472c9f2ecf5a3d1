/* Memory that was mapped from pieces (cuMemCreate, cuMemMap). What travels is a handle of a fabric, or the ticket of a descriptor, which
 * its owner keeps open: as long as the piece is mapped where it was, and of the last pieces exported. */
#include "ipc.h"

#include <fcntl.h>
#include <unistd.h>

typedef unsigned long long piece;                /* CUmemGenericAllocationHandle */
enum { BY_FILE = 1, BY_FABRIC = 8, ON_DEVICE = 1, READ_AND_WRITE = 3 };

/* What is kept open. The reference to the piece keeps its number from being another one's. */
typedef struct kept { ldg_lru_link link; const ldg_driver *driver; piece handle; ldg_address base; int fd; ldg_ticket ticket; } kept;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ldg_lru all;
static int many;

/* ---- calls of the driver: all of them are there, or `able` says no ---- */

static bool able(const ldg_driver *d) {
  return d->piece_of && d->piece_free && d->piece_export && d->piece_import && d->space_take && d->space_free && d->space_map && d->space_unmap &&
         d->space_access;
}
static int piece_of(const ldg_driver *d, ldg_address at, piece *out) {
  typedef int function(piece *out, ldg_address at);
  return ((function *)d->piece_of)(out, at);
}
static int piece_free(const ldg_driver *d, piece p) {
  typedef int function(piece p);
  return ((function *)d->piece_free)(p);
}
static int piece_export(const ldg_driver *d, void *out, piece p, int type) {
  typedef int function(void *out, piece p, int type, unsigned long long flags);
  return ((function *)d->piece_export)(out, p, type, 0);
}
static int piece_import(const ldg_driver *d, piece *out, void *from, int type) {
  typedef int function(piece *out, void *from, int type);
  return ((function *)d->piece_import)(out, from, type);
}
static int space_take(const ldg_driver *d, ldg_address *out, size_t bytes) {
  typedef int function(ldg_address *out, size_t bytes, size_t align, ldg_address hint, unsigned long long flags);
  return ((function *)d->space_take)(out, bytes, 0, 0, 0);
}
static int space_free(const ldg_driver *d, ldg_address at, size_t bytes) {
  typedef int function(ldg_address at, size_t bytes);
  return ((function *)d->space_free)(at, bytes);
}
static int space_map(const ldg_driver *d, ldg_address at, size_t bytes, piece p) {
  typedef int function(ldg_address at, size_t bytes, size_t offset, piece p, unsigned long long flags);
  return ((function *)d->space_map)(at, bytes, 0, p, 0);
}
static int space_unmap(const ldg_driver *d, ldg_address at, size_t bytes) {
  typedef int function(ldg_address at, size_t bytes);
  return ((function *)d->space_unmap)(at, bytes);
}
static int space_access(const ldg_driver *d, ldg_address at, size_t bytes, int device) {
  typedef struct to { int place, device, flags; } to;
  typedef int function(ldg_address at, size_t bytes, const to *who, size_t n);
  const to here = { ON_DEVICE, device, READ_AND_WRITE };
  return ((function *)d->space_access)(at, bytes, &here, 1);
}

/* ---- descriptors that are kept ---- */

static void drop(kept *k) {
  ldg_ledger_wipe(&k->ticket);
  close(k->fd);
  piece_free(k->driver, k->handle);
  ldg_lru_remove(&all, &k->link);
  ldg_free(k);
  many--;
}

static bool is_mapped(const kept *k) {
  piece now = 0;
  if (piece_of(k->driver, k->base, &now)) return false;
  piece_free(k->driver, now);
  return now == k->handle;
}

/* An open descriptor holds memory: of pieces that are mapped no more it goes. */
static void sweep(void) {
  for (ldg_lru_link *l = all.oldest, *next; l; l = next) {
    next = l->newer;
    if (!is_mapped((kept *)l)) drop((kept *)l);
  }
}

static kept *find(const ldg_driver *d, piece p) {
  ldg_lru_link *l = all.newest;
  while (l && (((kept *)l)->driver != d || ((kept *)l)->handle != p)) l = l->older;
  return (kept *)l;
}

static int enter(kept *k) {
  if (piece_export(k->driver, &k->fd, k->handle, BY_FILE)) return LADING_ERR_UNSUPPORTED;
  const int e = fcntl(k->fd, F_SETFD, FD_CLOEXEC) ? LADING_ERR_SYSTEM : ldg_ledger_enter(k->fd, &k->ticket);
  if (e) close(k->fd);
  return e;
}

/* Takes over the caller's reference to the piece. */
static int keep(const ldg_driver *d, ldg_address base, piece p, ldg_ticket *out) {
  kept *k = ldg_alloc(sizeof *k);
  int e = k ? LADING_OK : LADING_ERR_NOMEM;
  if (k) *k = (kept){ .driver = d, .handle = p, .base = base };
  if (many == LDG_LEDGER_SLOTS) drop((kept *)all.oldest);
  if (!e) e = enter(k);
  if (e) {
    ldg_free(k);
    piece_free(d, p);
    return e;
  }
  ldg_lru_add(&all, &k->link);
  many++;
  *out = k->ticket;
  return LADING_OK;
}

static int ticket_of(const ldg_driver *d, ldg_address base, piece p, ldg_ticket *out) {
  sweep();
  kept *k = find(d, p);
  if (!k) return keep(d, base, p, out);
  ldg_lru_use(&all, &k->link);
  *out = k->ticket;
  piece_free(d, p);
  return LADING_OK;
}

/* ---- export ---- */

static int by_file(const ldg_driver *d, ldg_address base, piece p, ldg_ipc_handle *out) {
  ldg_ticket t;
  pthread_mutex_lock(&lock);
  const int e = ticket_of(d, base, p, &t);
  pthread_mutex_unlock(&lock);
  if (!e) memset(out, 0, sizeof *out), memcpy(out, &t, sizeof t);
  return e;
}

int ldg_virtual_export(ldg_vendor *v, ldg_address base, int types, int *route, ldg_ipc_handle *out) {
  const ldg_driver *d = &v->driver;
  piece p;
  if (!able(d) || !(types & (BY_FILE | BY_FABRIC)) || piece_of(d, base, &p)) return LADING_ERR_UNSUPPORTED;
  *route = LDG_IPC_FABRIC;
  if (types & BY_FABRIC && piece_export(d, out, p, BY_FABRIC) == 0) return piece_free(d, p), LADING_OK;
  *route = LDG_IPC_FILE;
  if (types & BY_FILE) return by_file(d, base, p, out);
  piece_free(d, p);
  return LADING_ERR_UNSUPPORTED;
}

/* ---- open ---- */

/* As when two processes are not of the same fabric. */
static int import_error(int e) { return e == LDG_NOT_PERMITTED || e == LDG_NOT_SUPPORTED ? LADING_ERR_UNSUPPORTED : ldg_device_error(e); }

static int import_file(const ldg_driver *d, pid_t from, const ldg_ipc_handle *handle, piece *out) {
  ldg_ticket t;
  int fd;
  memcpy(&t, handle, sizeof t);
  int e = ldg_ledger_fetch(from, &t, &fd);
  if (e) return e;
  e = import_error(piece_import(d, out, (void *)(intptr_t)fd, BY_FILE));
  close(fd);
  return e;
}

static int import(const ldg_driver *d, int route, pid_t from, const ldg_ipc_handle *handle, piece *out) {
  ldg_ipc_handle own = *handle;
  return route == LDG_IPC_FILE ? import_file(d, from, handle, out) : import_error(piece_import(d, out, &own, BY_FABRIC));
}

/* An error of the driver. */
static int map(const ldg_driver *d, piece p, uint64_t bytes, ldg_address *out) {
  int device, e = d->context_device(&device);
  if (!e) e = space_take(d, out, bytes);
  if (e) return e;
  e = space_map(d, *out, bytes, p);
  if (!e) {
    e = space_access(d, *out, bytes, device);
    if (e) space_unmap(d, *out, bytes);
  }
  if (e) space_free(d, *out, bytes);
  return e;
}

int ldg_virtual_open(ldg_vendor *v, int route, pid_t from, const ldg_ipc_handle *handle, uint64_t bytes, ldg_address *out) {
  const ldg_driver *d = &v->driver;
  piece p;
  int e = able(d) ? import(d, route, from, handle, &p) : LADING_ERR_UNSUPPORTED;
  if (e) return e;
  e = ldg_device_error(map(d, p, bytes, out));
  piece_free(d, p); /* what is mapped stays */
  return e;
}

void ldg_virtual_close(const ldg_driver *d, ldg_address at, uint64_t bytes) {
  if (space_unmap(d, at, bytes) == 0) space_free(d, at, bytes);
}
