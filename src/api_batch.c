/* Batches: checks arguments, fills in what the attributes leave to the model. */
#include "api.h"
#include "batch.h"

static bool valid(const lading_batch_attr *a) {
  return a->slots >= 0 && a->slots <= LDG_BATCH_SLOTS_MAX && a->flush_bytes >= 0 && a->max_age_ns >= 0 && a->send_ns >= 0 &&
         a->send_rate >= 0 && a->ways >= 0 && (a->policy == LADING_BATCH_MODEL || a->policy == LADING_BATCH_MANUAL);
}

static int64_t power_of_two(int64_t n) {
  int64_t p = 1;
  while (p < n) p *= 2;
  return p;
}

#define AGES 20 /* launches */

int lading_batch_create(lading_queue *queue, const lading_batch_attr *attr, lading_batch **out) {
  ldg_batch_executor x;
  lading_batch_attr a = { 0 };
  if (attr) a = *attr;
  if (!queue || !out || !valid(&a)) return LADING_ERR_ARG;
  a.slots = power_of_two(a.slots ? a.slots : LDG_BATCH_SLOTS);
  if (!a.flush_bytes) a.flush_bytes = LDG_BATCH_FLUSH_BYTES;
  const int e = ldg_batch_executor_of(queue, &a, &x);
  if (e) return e;
  if (!a.max_age_ns) a.max_age_ns = AGES * (int64_t)x.launch;
  return ldg_batch_open(&x, &a, out);
}

void lading_batch_free(lading_batch *batch) { ldg_batch_free(batch); }

int lading_batch_add(lading_batch *batch, const lading_work *work, lading_request *out) {
  ldg_work w;
  if (!batch) return LADING_ERR_ARG;
  const int e = ldg_api_work(work, &w);
  if (e) return e;
  return ldg_batch_add(batch, &w, (const lading_type *const[2]){ w.plan[0] ? work->src_type : NULL, w.plan[1] ? work->dst_type : NULL }, out);
}

int lading_batch_expect(lading_batch *batch, int64_t n) {
  if (!batch || n < 0) return LADING_ERR_ARG;
  ldg_batch_expect(batch, n);
  return LADING_OK;
}

int lading_batch_flush(lading_batch *batch) { return batch ? ldg_batch_flush(batch) : LADING_ERR_ARG; }

int lading_batch_test(lading_batch *batch, lading_request request, bool *done) {
  return batch && done ? ldg_batch_passed(batch, request, false, done) : LADING_ERR_ARG;
}

int lading_batch_wait(lading_batch *batch, lading_request request) {
  return batch ? ldg_batch_passed(batch, request, true, NULL) : LADING_ERR_ARG;
}

int lading_batch_stats(lading_batch *batch, lading_batch_counts *out) {
  if (!batch || !out) return LADING_ERR_ARG;
  ldg_batch_stats(batch, out);
  return LADING_OK;
}
