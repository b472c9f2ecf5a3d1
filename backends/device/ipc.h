/* ipc: what tokens of memory carry between processes, between the files of this folder. */
#ifndef LDG_DEVICE_IPC_H
#define LDG_DEVICE_IPC_H

#include "site.h"

#include <sys/types.h>

/* How the memory is found: by a handle of the driver's for whole allocations; where it was mapped from pieces (cuMemCreate), by a handle of
 * a fabric, or by a file descriptor of its owner; where it is of a pool, by a descriptor of the pool, and the driver's word for the place in it. */
enum { LDG_IPC_LEGACY, LDG_IPC_FABRIC, LDG_IPC_FILE, LDG_IPC_POOL, LDG_IPC_ROUTES };
enum { LDG_BY_FILE = 1, LDG_BY_FABRIC = 8 };                      /* types of handles, of either vendor */
enum { LDG_ON_DEVICE = 1, LDG_READ_AND_WRITE = 3 };               /* of ldg_access */

/* Written behind the rest of a token, by export and by tests that forge some. No bytes that were changed on their way come to a driver: a program of the
 * driver's calls alone, which held up to 256 changed handles open, was stopped 2 of 4 times by libc, in a lock of the driver that had been overwritten (H200, driver 580; with
 * handles as they were none of 2 times). It names no author: who means to can seal what he forges. */
void ldg_ipc_seal(lading_ipc *token);

/* ---- descriptors of other processes (ipc_ledger.c) ----
 *
 * A descriptor is a number of its process, and numbers come back: which one is for whom stands in a page of shared memory, the ledger,
 * that is fetched in the same way. An entry is wiped before its descriptor is closed, so who finds it there before and after has fetched
 * what was meant. Fetching takes the permission to trace that process. */
typedef struct ldg_ticket { int32_t ledger, slot; uint64_t nonce, serial; } ldg_ticket;
enum { LDG_LEDGER_KEPT = 64, LDG_LEDGER_SLOTS = LDG_LEDGER_KEPT + 1 }; /* one more while the next one comes */
/* What is told beside a descriptor of a pool: which of its owner's it is; the length of the memory, and the driver's word for it. */
typedef struct ldg_ledger_note { uint64_t pool, bytes; ldg_ipc_handle place; } ldg_ledger_note;

/* ERR_NOMEM: no slot is free; ERR_SYSTEM. */
int ldg_ledger_enter(int fd, const ldg_ledger_note *note, ldg_ticket *out);
void ldg_ledger_wipe(const ldg_ticket *t); /* before the descriptor is closed */
/* A descriptor of this process. ERR_UNSUPPORTED: it may not, or the kernel cannot; ERR_DEVICE: it is there no more;
 * ERR_NOMEM, ERR_SYSTEM: such as too many descriptors here. */
int ldg_ledger_fetch(pid_t from, const ldg_ticket *t, int *fd, ldg_ledger_note *note);

/* ---- descriptors that are kept open for others (ipc_kept.c): of the last places exported, as long as they are what they were ---- */
typedef struct ldg_kept ldg_kept;
typedef struct ldg_kept_kind {
  bool (*lives)(const ldg_kept *k);
  int (*open)(ldg_kept *k, ldg_ledger_note *note); /* sets fd */
  void (*let_go)(const ldg_kept *k);               /* beside the descriptor */
} ldg_kept_kind;
struct ldg_kept {
  ldg_lru_link link;
  const ldg_kept_kind *kind;
  ldg_vendor *vendor;
  ldg_address base;
  uint64_t id;            /* which of those that were there: the piece, or the number of the buffer */
  void *pool;             /* NULL: of none. Its handle is another one's only after all memory of it went */
  uint64_t pool_number, bytes;
  int fd;
  ldg_ticket ticket;
};
/* The ticket of what is kept already, which is let go, or of a copy of it that is kept from now on. */
int ldg_kept_ticket(const ldg_kept *what, ldg_ticket *out);

/* ---- memory that was mapped from pieces (ipc_virtual.c) ---- */

/* `types` of handles that the driver gives for it; *out is what travels. ERR_UNSUPPORTED: none that is known here. */
int ldg_virtual_export(ldg_vendor *v, ldg_address base, int types, int *route, ldg_ipc_handle *out);
/* Maps `bytes` of it for the device that is current. */
int ldg_virtual_open(ldg_vendor *v, int route, pid_t from, const ldg_ipc_handle *handle, uint64_t bytes, ldg_address *out);
void ldg_virtual_close(const ldg_driver *d, ldg_address at, uint64_t bytes);
int ldg_import_error(int driver_error); /* also: ERR_UNSUPPORTED */

/* ---- memory of pools (ipc_pool.c) ---- */

typedef struct ldg_pool ldg_pool; /* of another process, imported once a context */
void *ldg_pool_of(ldg_vendor *v, ldg_address base); /* NULL: of none, or the driver does not say */
int ldg_pool_export(ldg_vendor *v, void *pool, ldg_address base, uint64_t bytes, uint64_t buffer, int types, ldg_ipc_handle *out);
/* Not locked. The place is freed before its owner frees it, and then its pool is left; pools are kept. */
int ldg_pool_open(ldg_vendor *v, pid_t from, const ldg_ipc_handle *handle, uint64_t bytes, ldg_context context, ldg_pool **pool, ldg_address *out);
void ldg_pool_leave(ldg_pool *p);

#endif
