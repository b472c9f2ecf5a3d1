/* Copies straight between processes, and the map of their memory. */
#include "api.h"
#include "direct.h"

static int cma(int dir, pid_t pid, uint64_t remote, const lading_type *rt, int64_t rc, const void *local, const lading_type *lt, int64_t lc,
               int64_t lo, int64_t hi, int64_t *done) {
  const ldg_plan *fp, *np;
  ldg_side far, near;
  if (!done) return LADING_ERR_ARG;
  *done = 0;
  int e = ldg_api_side(rt, rc, (const void *)(uintptr_t)remote, &fp, &far);
  if (!e) e = ldg_api_side(lt, lc, local, &np, &near);
  if (e) return e;
  if (lo < 0 || lo > hi || hi > ldg_min(rc * far.rep->size, lc * near.rep->size)) return LADING_ERR_RANGE;
  return ldg_direct_cma(dir, pid, &far, fp, &near, np, lo, hi, done);
}

int lading_cma_get(pid_t pid, uint64_t remote, const lading_type *rt, int64_t rc, void *local, const lading_type *lt, int64_t lc,
                   int64_t lo, int64_t hi, int64_t *done) {
  return cma(LDG_GET, pid, remote, rt, rc, local, lt, lc, lo, hi, done);
}

int lading_cma_put(pid_t pid, uint64_t remote, const lading_type *rt, int64_t rc, const void *local, const lading_type *lt, int64_t lc,
                   int64_t lo, int64_t hi, int64_t *done) {
  return cma(LDG_PUT, pid, remote, rt, rc, local, lt, lc, lo, hi, done);
}

int lading_type_span(const lading_type *type, int64_t count, int64_t *lo, int64_t *hi) {
  ldg_side s;
  ldg_rep items;
  if (!lo || !hi) return LADING_ERR_ARG;
  int e = ldg_api_side(type, count, NULL, NULL, &s);
  if (!e) e = ldg_rep_repeat_in(&items, count, s.extent, s.rep);
  if (!e) *lo = items.lo, *hi = items.hi;
  return e;
}

/* ---- the map ---- */

int lading_map_create(const lading_map_attr *attr, lading_map **out) {
  if (!attr || !out || attr->max_entries < 0 || attr->max_bytes < 0) return LADING_ERR_ARG;
  return ldg_direct_map_create(attr, out);
}

void lading_map_free(lading_map *map) {
  if (map) ldg_direct_map_free(map);
}

/* A range has a byte and ends within 64 bits. */
static bool is_range(uint64_t remote, int64_t bytes) { return bytes > 0 && (uint64_t)bytes - 1 <= UINT64_MAX - remote; }

int lading_map_insert(lading_map *map, uint64_t owner, uint64_t remote, int64_t bytes, void *local, void *handle, lading_mapping **pin) {
  if (!map || !local || !pin || !is_range(remote, bytes)) return LADING_ERR_ARG;
  return ldg_direct_map_insert(map, owner, remote, bytes, local, handle, pin);
}

int lading_map_find(lading_map *map, uint64_t owner, uint64_t remote, int64_t bytes, void **local, lading_mapping **pin) {
  if (!map || !local || !pin || !is_range(remote, bytes)) return LADING_ERR_ARG;
  return ldg_direct_map_find(map, owner, remote, bytes, local, pin);
}

void lading_map_release(lading_map *map, lading_mapping *pin) {
  if (map && pin) ldg_direct_map_release(map, pin);
}

int lading_map_invalidate(lading_map *map, uint64_t owner, uint64_t remote, uint64_t bytes) {
  if (!map) return LADING_ERR_ARG;
  ldg_direct_map_invalidate(map, owner, remote, bytes);
  return LADING_OK;
}

int lading_map_stats(const lading_map *map, lading_map_counts *out) {
  if (!map || !out) return LADING_ERR_ARG;
  ldg_direct_map_stats((lading_map *)(uintptr_t)map, out);
  return LADING_OK;
}

/* ---- XPMEM ---- */

int lading_xpmem_export(const void *at, int64_t bytes, lading_xpmem *out) {
  if (!at || !out || !is_range((uint64_t)(uintptr_t)at, bytes) || bytes > INT64_MAX / 2) return LADING_ERR_ARG;
  return ldg_direct_xpmem_export(at, bytes, out);
}

int lading_xpmem_withdraw(const lading_xpmem *token) { return token ? ldg_direct_xpmem_withdraw(token) : LADING_ERR_ARG; }

int lading_xpmem_attach(const lading_xpmem *token, void **local, int64_t *bytes, void **handle) {
  if (!token || !local || !bytes || !handle) return LADING_ERR_ARG;
  return ldg_direct_xpmem_attach(token, local, bytes, handle);
}

int lading_xpmem_detach(void *local, void *handle) { return local ? ldg_direct_xpmem_detach(local, handle) : LADING_ERR_ARG; }
