#include "batch_device.h"

const driver *d;
const char *backend = "cuda";

int64_t tell(const char *line) { return d->fake ? d->fake(line) : 0; }

const call launches = { "cuLaunchKernel", "hipModuleLaunchKernel" };

int64_t tell_of(const char *verb, call c, const char *rest) {
  char line[96];
  snprintf(line, sizeof line, "%s %s%s", verb, strcmp(backend, "hip") ? c.cuda : c.hip, rest);
  return tell(line);
}
int64_t counted(call c) { return tell_of("count", c, ""); }

lading_queue *device_begin(const char *settings) {
  lading_queue *q;
  d = driver_open(backend);
  if (*settings) tell(settings);
  OK(lading_queue_create(backend, 0, &q));
  driver_enter(d, 0);
  return q;
}

void device_end(lading_queue *q) {
  lading_queue_free(q);
  driver_leave(d, 0);
  ck_assert_int_eq(tell("faults"), 0);
}

char *device_memory(int64_t n) {
  void *p;
  OK(d->alloc(&p, (size_t)n));
  return p;
}

char *pinned_memory(int64_t n) {
  void *p;
  OK(d->alloc_pinned(&p, (size_t)n, 0));
  return p;
}

lading_work sum_of(const char *from, char *to) {
  const lading_type *t = lading_elem_type(LADING_INT32);
  const lading_mem there = { LADING_MEM_DEVICE, 0 };
  return (lading_work){ .kind = LADING_WORK_COPY, .op = LADING_SUM, .src_type = t, .dst_type = t, .src_count = 1, .dst_count = 1,
                        .src = from, .dst = to, .hi = 4, .src_mem = there, .dst_mem = there };
}

const lading_batch_attr by_hand = { .policy = LADING_BATCH_MANUAL };
