/* Memory that was mapped from pieces (cuMemCreate, cuMemMap). What travels is a handle of a fabric, or the ticket of a descriptor, which
 * its owner keeps open: as long as the piece is mapped where it was, and of the last pieces exported. */
#include "ipc.h"

#include <fcntl.h>
#include <unistd.h>

enum { BY_FILE = 1, BY_FABRIC = 8, ON_DEVICE = 1, READ_AND_WRITE = 3 };

/* What is kept open. The reference to the piece keeps its number from being another one's. */
typedef struct kept { ldg_lru_link link; const ldg_driver *driver; uint64_t piece; ldg_address base; int fd; ldg_ticket ticket; } kept;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ldg_lru all;
static int many;

static bool able(const ldg_driver *d) {
  return d->piece_of && d->piece_free && d->piece_export && d->piece_import && d->space_take && d->space_free && d->space_map && d->space_unmap &&
         d->space_access;
}

/* ---- descriptors that are kept ---- */

static void drop(kept *k) {
  ldg_ledger_wipe(&k->ticket);
  close(k->fd);
  k->driver->piece_free(k->piece);
  ldg_lru_remove(&all, &k->link);
  ldg_free(k);
  many--;
}

static bool is_mapped(const kept *k) {
  uint64_t now = 0;
  if (k->driver->piece_of(&now, k->base)) return false;
  k->driver->piece_free(now);
  return now == k->piece;
}

/* An open descriptor holds memory: of pieces that are mapped no more it goes. */
static void sweep(void) {
  for (ldg_lru_link *l = all.oldest, *next; l; l = next) {
    next = l->newer;
    if (!is_mapped((kept *)l)) drop((kept *)l);
  }
}

static bool is_of(const kept *k, const ldg_driver *d, ldg_address base, uint64_t piece) { return k->driver == d && k->base == base && k->piece == piece; }

/* A piece may be mapped at several places, and is let go at each by itself. */
static kept *find(const ldg_driver *d, ldg_address base, uint64_t piece) {
  ldg_lru_link *l = all.newest;
  while (l && !is_of((kept *)l, d, base, piece)) l = l->older;
  return (kept *)l;
}

static int enter(kept *k) {
  if (k->driver->piece_export(&k->fd, k->piece, BY_FILE, 0)) return LADING_ERR_UNSUPPORTED;
  const int e = fcntl(k->fd, F_SETFD, FD_CLOEXEC) ? LADING_ERR_SYSTEM : ldg_ledger_enter(k->fd, &k->ticket);
  if (e) close(k->fd);
  return e;
}

/* Takes over the caller's reference to the piece. */
static int keep(const ldg_driver *d, ldg_address base, uint64_t piece, ldg_ticket *out) {
  kept *k = ldg_alloc(sizeof *k);
  int e = k ? LADING_OK : LADING_ERR_NOMEM;
  if (k) *k = (kept){ .driver = d, .piece = piece, .base = base };
  if (!e) e = enter(k);
  if (e) {
    ldg_free(k);
    d->piece_free(piece);
    return e;
  }
  ldg_lru_add(&all, &k->link);
  *out = k->ticket;
  if (++many > LDG_LEDGER_KEPT) drop((kept *)all.oldest);
  return LADING_OK;
}

static int ticket_of(const ldg_driver *d, ldg_address base, uint64_t piece, ldg_ticket *out) {
  sweep();
  kept *k = find(d, base, piece);
  if (!k) return keep(d, base, piece, out);
  ldg_lru_use(&all, &k->link);
  *out = k->ticket;
  d->piece_free(piece);
  return LADING_OK;
}

/* ---- export ---- */

static int by_file(const ldg_driver *d, ldg_address base, uint64_t piece, ldg_ipc_handle *out) {
  ldg_ticket t;
  pthread_mutex_lock(&lock);
  const int e = ticket_of(d, base, piece, &t);
  pthread_mutex_unlock(&lock);
  if (!e) memset(out, 0, sizeof *out), memcpy(out, &t, sizeof t);
  return e;
}

int ldg_virtual_export(ldg_vendor *v, ldg_address base, int types, int *route, ldg_ipc_handle *out) {
  const ldg_driver *d = &v->driver;
  uint64_t piece;
  if (!able(d) || !(types & (BY_FILE | BY_FABRIC)) || d->piece_of(&piece, base)) return LADING_ERR_UNSUPPORTED;
  *route = LDG_IPC_FABRIC;
  if (types & BY_FABRIC && d->piece_export(out, piece, BY_FABRIC, 0) == 0) return d->piece_free(piece), LADING_OK;
  *route = LDG_IPC_FILE;
  if (types & BY_FILE) return by_file(d, base, piece, out);
  d->piece_free(piece);
  return LADING_ERR_UNSUPPORTED;
}

/* ---- open ---- */

/* As when two processes are not of the same fabric. */
static int import_error(int e) { return e == LDG_NOT_PERMITTED || e == LDG_NOT_SUPPORTED ? LADING_ERR_UNSUPPORTED : ldg_device_error(e); }

static int import_file(const ldg_driver *d, pid_t from, const ldg_ipc_handle *handle, uint64_t *out) {
  ldg_ticket t;
  int fd;
  memcpy(&t, handle, sizeof t);
  int e = ldg_ledger_fetch(from, &t, &fd);
  if (e) return e;
  e = import_error(d->piece_import(out, (void *)(intptr_t)fd, BY_FILE));
  close(fd);
  return e;
}

static int import(const ldg_driver *d, int route, pid_t from, const ldg_ipc_handle *handle, uint64_t *out) {
  ldg_ipc_handle own = *handle;
  return route == LDG_IPC_FILE ? import_file(d, from, handle, out) : import_error(d->piece_import(out, &own, BY_FABRIC));
}

/* An error of the driver. */
static int map(const ldg_driver *d, uint64_t piece, uint64_t bytes, ldg_address *out) {
  int device, e = d->context_device(&device);
  if (!e) e = d->space_take(out, bytes, 0, 0, 0);
  if (e) return e;
  e = d->space_map(*out, bytes, 0, piece, 0);
  if (!e) {
    e = d->space_access(*out, bytes, &(ldg_access){ ON_DEVICE, device, READ_AND_WRITE }, 1);
    if (e) d->space_unmap(*out, bytes);
  }
  if (e) d->space_free(*out, bytes);
  return e;
}

int ldg_virtual_open(ldg_vendor *v, int route, pid_t from, const ldg_ipc_handle *handle, uint64_t bytes, ldg_address *out) {
  const ldg_driver *d = &v->driver;
  uint64_t piece;
  int e = able(d) ? import(d, route, from, handle, &piece) : LADING_ERR_UNSUPPORTED;
  if (e) return e;
  e = ldg_device_error(map(d, piece, bytes, out));
  d->piece_free(piece); /* what is mapped stays */
  return e;
}

void ldg_virtual_close(const ldg_driver *d, ldg_address at, uint64_t bytes) {
  if (d->space_unmap(at, bytes) == 0) d->space_free(at, bytes);
}
