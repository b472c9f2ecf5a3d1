/* Launches on a device's queue. */
#include "batch.h"

/* A request with a launch of its own: the queue knows when it is done. */
typedef struct own { ldg_batch_item *item; lading_request request; } own;

typedef struct device {
  lading_queue *queue;
  _Atomic uint64_t *words;
  int64_t slots;
  int64_t head, tail;      /* of the requests alone that are under way, in order; counted up */
  own own[];
} device;

static int take(void *self, const ldg_work *w, bool *alone) {
  (void)self, (void)w;
  *alone = true;
  return LADING_OK;
}

static own *own_at(device *d, int64_t i) { return &d->own[i & (d->slots - 1)]; }

static void done(const device *d, ldg_batch_item *it, int error) {
  const ldg_batch_executor x = { .words = d->words };
  ldg_batch_done(&x, (int64_t)(it->id & (uint64_t)(d->slots - 1)), it, error);
}

static int start(void *self, ldg_batch_item *const *items, int64_t n) {
  device *d = self;
  (void)n;
  own *o = own_at(d, d->tail);
  o->item = items[0];
  const int e = ldg_queue_put(d->queue, &items[0]->work, &o->request);
  if (!e) d->tail++;
  return e;
}

static int poll(void *self, bool wait) {
  device *d = self;
  for (; d->head < d->tail; d->head++) {
    const own *o = own_at(d, d->head);
    bool passed = false;
    const int e = ldg_queue_passed(d->queue, o->request, wait, &passed);
    if (e) {
      d->head = d->tail;
      return e;
    }
    if (!passed) break;
    done(d, o->item, LADING_OK);
  }
  return LADING_OK;
}

static void close_device(void *self) { ldg_free(self); }

int ldg_batch_device(lading_queue *q, const lading_batch_attr *attr, ldg_batch_executor *out) {
  const int64_t bytes = (int64_t)sizeof(device) + ((int64_t)sizeof(own) + 8) * attr->slots;
  device *d = ldg_alloc(bytes);
  if (!d) return LADING_ERR_NOMEM;
  memset(d, 0, (size_t)bytes);
  d->queue = q, d->slots = attr->slots, d->words = (_Atomic uint64_t *)(void *)(d->own + attr->slots);
  *out = (ldg_batch_executor){ take, start, poll, close_device, d->words, 5000, 0.001, d };
  return LADING_OK;
}

int ldg_batch_executor_of(lading_queue *q, const lading_batch_attr *attr, ldg_batch_executor *out) {
  return ldg_queue_is_host(q) ? ldg_batch_host(attr, out) : ldg_batch_device(q, attr, out);
}
