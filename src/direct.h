/* direct: layout to layout where one side is memory of another process. By system calls (cross-memory attach), or out of memory
 * that the caller has mapped: then a map of remote ranges says where, and copies are those of exec. */
#ifndef LDG_DIRECT_H
#define LDG_DIRECT_H

#include "exec.h"

enum { LDG_GET, LDG_PUT };

/* Stream bytes [lo, hi) between `far`, whose base is an address in process `pid`, and `near`, which is memory here. The range is
 * valid and the counted reps of both sides fit. *done: stream bytes moved, also on an error. ERR_SYSTEM with errno, ERR_OVERFLOW,
 * ERR_NOMEM. */
int ldg_direct_cma(int dir, pid_t pid, const ldg_side *far, const ldg_plan *fp, const ldg_side *near, const ldg_plan *np,
                   int64_t lo, int64_t hi, int64_t *done);

/* As the public functions, arguments checked. */
int ldg_direct_map_create(const lading_map_attr *attr, lading_map **out);
void ldg_direct_map_free(lading_map *m);
int ldg_direct_map_insert(lading_map *m, uint64_t owner, uint64_t remote, int64_t bytes, void *local, void *handle, lading_mapping **pin);
int ldg_direct_map_find(lading_map *m, uint64_t owner, uint64_t remote, int64_t bytes, void **local, lading_mapping **pin);
void ldg_direct_map_release(lading_map *m, lading_mapping *pin);
void ldg_direct_map_invalidate(lading_map *m, uint64_t owner, uint64_t remote, uint64_t bytes);
void ldg_direct_map_stats(lading_map *m, lading_map_counts *out);

int ldg_direct_xpmem_export(const void *at, int64_t bytes, lading_xpmem *out);
int ldg_direct_xpmem_withdraw(const lading_xpmem *token);
int ldg_direct_xpmem_attach(const lading_xpmem *token, void **local, int64_t *bytes, void **handle);
int ldg_direct_xpmem_detach(void *local, void *handle);

#endif
