/* ipc: what tokens of memory carry between processes, between the files of this folder. */
#ifndef LDG_DEVICE_IPC_H
#define LDG_DEVICE_IPC_H

#include "site.h"

#include <sys/types.h>

/* How the memory is found: by a handle of the driver's for whole allocations; where it was mapped from pieces (cuMemCreate), by a handle of
 * a fabric, or by a file descriptor of its owner. */
enum { LDG_IPC_LEGACY, LDG_IPC_FABRIC, LDG_IPC_FILE, LDG_IPC_ROUTES };

/* ---- descriptors of other processes (ipc_ledger.c) ----
 *
 * A descriptor is a number of its process, and numbers come back: which one is for whom stands in a page of shared memory, the ledger,
 * that is fetched in the same way. An entry is wiped before its descriptor is closed, so who finds it there before and after has fetched
 * what was meant. Fetching takes the permission to trace that process. */
typedef struct ldg_ticket { int32_t ledger, slot; uint64_t nonce, serial; } ldg_ticket;
enum { LDG_LEDGER_KEPT = 64, LDG_LEDGER_SLOTS = LDG_LEDGER_KEPT + 1 }; /* one more while the next one comes */

/* ERR_NOMEM: no slot is free; ERR_SYSTEM. */
int ldg_ledger_enter(int fd, ldg_ticket *out);
void ldg_ledger_wipe(const ldg_ticket *t); /* before the descriptor is closed */
/* A descriptor of this process. ERR_UNSUPPORTED: it may not, or the kernel cannot; ERR_DEVICE: it is there no more;
 * ERR_NOMEM, ERR_SYSTEM: such as too many descriptors here. */
int ldg_ledger_fetch(pid_t from, const ldg_ticket *t, int *fd);

/* ---- memory that was mapped from pieces (ipc_virtual.c) ---- */

/* `types` of handles that the driver gives for it; *out is what travels. ERR_UNSUPPORTED: none that is known here. */
int ldg_virtual_export(ldg_vendor *v, ldg_address base, int types, int *route, ldg_ipc_handle *out);
/* Maps `bytes` of it for the device that is current. */
int ldg_virtual_open(ldg_vendor *v, int route, pid_t from, const ldg_ipc_handle *handle, uint64_t bytes, ldg_address *out);
void ldg_virtual_close(const ldg_driver *d, ldg_address at, uint64_t bytes);

#endif
