/* Memory that was mapped from pieces (cuMemCreate, cuMemMap). What travels is a handle of a fabric, or the ticket of a descriptor, which
 * its owner keeps open: as long as the piece is mapped where it was, and of the last pieces exported. */
#include "ipc.h"

#include <unistd.h>

static bool able(const ldg_driver *d) {
  return d->piece_of && d->piece_free && d->piece_export && d->piece_import && d->space_take && d->space_free && d->space_map && d->space_unmap &&
         d->space_access;
}

/* ---- export ---- */

/* ROCm's runtime ends the process when it is asked for the piece of what is none. */
static bool is_piece(ldg_vendor *v, ldg_address base) {
  int kind = 0;
  uint64_t types = 0;
  int asked[] = { v->fact_kind, v->fact_types };
  void *values[] = { &kind, &types };
  return ldg_site_facts(v, 2, asked, values, base) == 0 && kind == v->kind_device && types && !ldg_pool_of(v, base);
}

static bool is_mapped(const ldg_kept *k) {
  const ldg_driver *d = &k->vendor->driver;
  uint64_t now = 0;
  if (!is_piece(k->vendor, k->base) || d->piece_of(&now, k->base)) return false;
  d->piece_free(now);
  return now == k->id;
}

static int open_piece(ldg_kept *k, ldg_ledger_note *note) {
  (void)note;
  return k->vendor->driver.piece_export(&k->fd, k->id, LDG_BY_FILE, 0) ? LADING_ERR_UNSUPPORTED : LADING_OK;
}

/* The reference to the piece keeps its number from being another one's. */
static void free_piece(const ldg_kept *k) { k->vendor->driver.piece_free(k->id); }

/* A piece may be mapped at several places, and is let go at each by itself. */
static int by_file(ldg_vendor *v, ldg_address base, uint64_t piece, ldg_ipc_handle *out) {
  static const ldg_kept_kind pieces = { is_mapped, open_piece, free_piece };
  ldg_ticket t;
  const int e = ldg_kept_ticket(&(ldg_kept){ .kind = &pieces, .vendor = v, .base = base, .id = piece }, &t);
  if (!e) memset(out, 0, sizeof *out), memcpy(out, &t, sizeof t);
  return e;
}

int ldg_virtual_export(ldg_vendor *v, ldg_address base, int types, int *route, ldg_ipc_handle *out) {
  const ldg_driver *d = &v->driver;
  uint64_t piece;
  if (!able(d) || !(types & (LDG_BY_FILE | LDG_BY_FABRIC)) || d->piece_of(&piece, base)) return LADING_ERR_UNSUPPORTED;
  *route = LDG_IPC_FABRIC;
  if (types & LDG_BY_FABRIC && d->piece_export(out, piece, LDG_BY_FABRIC, 0) == 0) return d->piece_free(piece), LADING_OK;
  *route = LDG_IPC_FILE;
  if (types & LDG_BY_FILE) return by_file(v, base, piece, out);
  d->piece_free(piece);
  return LADING_ERR_UNSUPPORTED;
}

/* ---- open ---- */

/* As when two processes are not of the same fabric, or two devices do not reach each other. */
int ldg_import_error(int e) {
  return e == LDG_NOT_PEERS || e == LDG_NOT_PERMITTED || e == LDG_NOT_SUPPORTED ? LADING_ERR_UNSUPPORTED : ldg_device_error(e);
}

static int import_file(const ldg_driver *d, pid_t from, const ldg_ipc_handle *handle, uint64_t *out) {
  ldg_ticket t;
  ldg_ledger_note none;
  int fd;
  memcpy(&t, handle, sizeof t);
  int e = ldg_ledger_fetch(from, &t, &fd, &none);
  if (e) return e;
  e = ldg_import_error(d->piece_import(out, (void *)(intptr_t)fd, LDG_BY_FILE));
  close(fd);
  return e;
}

static int import(const ldg_driver *d, int route, pid_t from, const ldg_ipc_handle *handle, uint64_t *out) {
  ldg_ipc_handle own = *handle;
  return route == LDG_IPC_FILE ? import_file(d, from, handle, out) : ldg_import_error(d->piece_import(out, &own, LDG_BY_FABRIC));
}

/* An error of the driver. */
static int map(const ldg_driver *d, uint64_t piece, uint64_t bytes, ldg_address *out) {
  int device, e = d->context_device(&device);
  if (!e) e = d->space_take(out, bytes, 0, 0, 0);
  if (e) return e;
  e = d->space_map(*out, bytes, 0, piece, 0);
  if (!e) {
    e = d->space_access(*out, bytes, &(ldg_access){ LDG_ON_DEVICE, device, LDG_READ_AND_WRITE }, 1);
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
  e = ldg_import_error(map(d, piece, bytes, out));
  d->piece_free(piece); /* what is mapped stays */
  return e;
}

void ldg_virtual_close(const ldg_driver *d, ldg_address at, uint64_t bytes) {
  if (d->space_unmap(at, bytes) == 0) d->space_free(at, bytes);
}
