/* Devices: checks arguments, and turns every kind of work into one from layout to layout. */
#include "api.h"

int lading_device_count(const char *backend, int *n) { return backend && n ? ldg_queue_device_count(backend, n) : LADING_ERR_ARG; }

int lading_mem_query(const void *at, lading_mem *out) { return out ? ldg_queue_mem_query(at, out) : LADING_ERR_ARG; }

int lading_queue_wrap(const char *backend, void *native_stream, lading_queue **out) {
  return backend && out ? ldg_queue_wrap(backend, native_stream, out) : LADING_ERR_ARG;
}

int lading_queue_create(const char *backend, int device, lading_queue **out) {
  return backend && out ? ldg_queue_create(backend, device, out) : LADING_ERR_ARG;
}

void lading_queue_free(lading_queue *queue) { ldg_queue_free(queue); }

int lading_queue_sync(lading_queue *queue) { return queue ? ldg_queue_sync(queue) : LADING_ERR_ARG; }

/* ---- work ---- */

static bool valid(const lading_work *w) {
  return (unsigned)w->kind <= LADING_WORK_COPY && (unsigned)w->op < LADING_OP_MAX &&
         (unsigned)w->src_mem.kind <= LADING_MEM_MANAGED && (unsigned)w->dst_mem.kind <= LADING_MEM_MANAGED;
}

static int range(const lading_work *w, const ldg_work *k) {
  int64_t most = INT64_MAX;
  for (int i = LDG_SRC; i <= LDG_DST; i++)
    if (k->plan[i]) most = ldg_min(most, k->side[i].count * k->plan[i]->size);
  return w->lo < 0 || w->lo > w->hi || w->hi > most ? LADING_ERR_RANGE : LADING_OK;
}

static int elements(const lading_work *w, ldg_sig *out) {
  if (w->kind == LADING_WORK_PACK) return ldg_api_elements(w->src_type, w->src_count, w->op, w->lo, w->hi, out);
  if (w->kind == LADING_WORK_UNPACK) return ldg_api_elements(w->dst_type, w->dst_count, w->op, w->lo, w->hi, out);
  return ldg_api_common_elements(w->src_type, w->src_count, w->dst_type, w->dst_count, w->op, w->lo, w->hi, out);
}

/* Where byte 0 of the stream would be; lo is not checked yet. */
static char *stream_at(const void *packed, int64_t lo) { return (char *)((uintptr_t)packed - (uintptr_t)lo); }

int ldg_api_work(const lading_work *w, ldg_work *out) {
  int e = LADING_OK;
  if (!w || !valid(w)) return LADING_ERR_ARG;
  *out = (ldg_work){ .lo = w->lo, .hi = w->hi, .mem = { w->src_mem, w->dst_mem }, .reduction.op = w->op };
  if (w->kind == LADING_WORK_UNPACK) out->side[LDG_SRC] = ldg_queue_packed(stream_at(w->src, w->lo), w->hi);
  else e = ldg_api_side(w->src_type, w->src_count, w->src, &out->plan[LDG_SRC], &out->side[LDG_SRC]);
  if (!e && w->kind == LADING_WORK_PACK) out->side[LDG_DST] = ldg_queue_packed(stream_at(w->dst, w->lo), w->hi);
  else if (!e) e = ldg_api_side(w->dst_type, w->dst_count, w->dst, &out->plan[LDG_DST], &out->side[LDG_DST]);
  if (!e) e = range(w, out);
  if (!e && w->lo < w->hi && ((w->kind == LADING_WORK_UNPACK && !w->src) || (w->kind == LADING_WORK_PACK && !w->dst))) e = LADING_ERR_ARG;
  if (!e && w->op != LADING_REPLACE) e = elements(w, &out->reduction.sig);
  return e;
}

int lading_enqueue(lading_queue *queue, const lading_work *work, lading_request *out) {
  ldg_work w;
  if (!queue) return LADING_ERR_ARG;
  const int e = ldg_api_work(work, &w);
  return e ? e : ldg_queue_put(queue, &w, out);
}

int lading_test(lading_queue *queue, lading_request request, bool *done) {
  return queue && done ? ldg_queue_passed(queue, request, false, done) : LADING_ERR_ARG;
}

int lading_wait(lading_queue *queue, lading_request request) {
  return queue ? ldg_queue_passed(queue, request, true, NULL) : LADING_ERR_ARG;
}

/* ---- IPC ---- */

int lading_ipc_export(const void *device_ptr, lading_ipc *out) { return device_ptr && out ? ldg_queue_ipc_export(device_ptr, out) : LADING_ERR_ARG; }

int lading_ipc_open(const lading_ipc *token, void **ptr) { return token && ptr ? ldg_queue_ipc_open(token, ptr) : LADING_ERR_ARG; }

int lading_ipc_close(void *ptr) { return ptr ? ldg_queue_ipc_close(ptr) : LADING_ERR_ARG; }
