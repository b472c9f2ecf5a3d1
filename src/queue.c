/* Queues: backends by name, requests by number. */
#include "queue.h"

#include <pthread.h>

struct lading_queue {
  const ldg_device *dev;   /* NULL: the host */
  ldg_lane *lane;
  pthread_mutex_t lock;
  int64_t last, done;      /* requests given out; known to be done, as are all before */
};

/* A name without a device is known, but has none in this build. */
static const struct { const char *name; const ldg_device *dev; } backends[] = {
#if LDG_CUDA
  { "cuda", &ldg_device_cuda },
#else
  { "cuda", NULL },
#endif
#if LDG_HIP
  { "hip", &ldg_device_hip },
#else
  { "hip", NULL },
#endif
  { "fake", NULL },
};
enum { BACKENDS = sizeof backends / sizeof backends[0] };

static bool is_host(const char *name) { return !strcmp(name, "host"); }

/* False: no such name. */
static bool find(const char *name, const ldg_device **out) {
  for (int i = 0; i < BACKENDS; i++)
    if (!strcmp(name, backends[i].name)) return *out = backends[i].dev, true;
  return false;
}

bool ldg_queue_is_host(const lading_queue *q) { return !q->dev; }
const ldg_device *ldg_queue_device_of(const char *backend) {
  const ldg_device *dev = NULL;
  return find(backend, &dev) ? dev : NULL;
}

int ldg_queue_device_count(const char *backend, int *n) {
  const ldg_device *dev = NULL;
  if (!is_host(backend) && !find(backend, &dev)) return LADING_ERR_ARG;
  *n = is_host(backend) ? 1 : dev ? dev->count(dev) : 0;
  return LADING_OK;
}

int ldg_queue_mem_query(const void *at, lading_mem *out) {
  lading_mem m = { LADING_MEM_HOST, -1 };
  for (int i = 0; i < BACKENDS && m.kind == LADING_MEM_HOST; i++) {
    const ldg_device *dev = backends[i].dev;
    const int e = dev && dev->count(dev) > 0 ? dev->query(dev, NULL, at, &m) : LADING_OK;
    if (e) return e;
  }
  *out = m;
  return LADING_OK;
}

/* ---- life ---- */

static int open_queue(const char *backend, lading_queue **out) {
  const ldg_device *dev = NULL;
  if (!is_host(backend) && !find(backend, &dev)) return LADING_ERR_ARG;
  if (!is_host(backend) && (!dev || dev->count(dev) == 0)) return LADING_ERR_DEVICE;
  lading_queue *q = ldg_alloc(sizeof *q);
  if (!q) return LADING_ERR_NOMEM;
  *q = (lading_queue){ .dev = dev };
  pthread_mutex_init(&q->lock, NULL);
  *out = q;
  return LADING_OK;
}

static void close_queue(lading_queue *q) {
  pthread_mutex_destroy(&q->lock);
  ldg_free(q);
}

int ldg_queue_wrap(const char *backend, void *stream, lading_queue **out) {
  lading_queue *q;
  int e = open_queue(backend, &q);
  if (e) return e;
  if (q->dev) e = q->dev->wrap(q->dev, stream, &q->lane);
  if (e) close_queue(q);
  else *out = q;
  return e;
}

int ldg_queue_create(const char *backend, int device, lading_queue **out) {
  lading_queue *q;
  int e = open_queue(backend, &q);
  if (e) return e;
  if (q->dev) e = q->dev->create(q->dev, device, &q->lane);
  else if (device != 0) e = LADING_ERR_ARG;
  if (e) close_queue(q);
  else *out = q;
  return e;
}

void ldg_queue_free(lading_queue *q) {
  if (!q) return;
  if (q->dev) ldg_queue_leave(q->dev, q->lane), q->dev->destroy(q->lane);
  close_queue(q);
}

/* ---- work ---- */

static int put_host(const ldg_work *w) {
  if (w->mem[LDG_SRC].kind == LADING_MEM_DEVICE || w->mem[LDG_DST].kind == LADING_MEM_DEVICE) return LADING_ERR_DEVICE;
  if (w->lo < w->hi) ldg_queue_run(w);
  return LADING_OK;
}

/* A graph has no requests: what is recorded is done at every launch of it, or never. */
static int refuse_recorded(const lading_queue *q) {
  bool recorded = false;
  const int e = q->dev->look(q->lane, &recorded, NULL);
  return !e && recorded ? LADING_ERR_UNSUPPORTED : e;
}

static int put(lading_queue *q, const ldg_work *w, lading_request *out) {
  int e = !q->dev ? put_host(w) : out ? refuse_recorded(q) : LADING_OK;
  if (e) return e;
  if (q->dev && w->lo < w->hi) e = ldg_queue_carry(q->dev, q->lane, w);
  if (q->dev && e) q->dev->forgo(q->lane);
  if (!e && out && q->dev) e = q->dev->mark(q->lane, q->last + 1, &q->done);
  if (!e && out) *out = (lading_request)++q->last;
  if (!q->dev) q->done = q->last;
  return e;
}

int ldg_queue_put(lading_queue *q, const ldg_work *w, lading_request *out) {
  pthread_mutex_lock(&q->lock);
  const int e = put(q, w, out);
  pthread_mutex_unlock(&q->lock);
  return e;
}

int ldg_queue_with(lading_queue *q, int (*fn)(void *arg, const ldg_device *dev, ldg_lane *lane), void *arg) {
  pthread_mutex_lock(&q->lock);
  const int e = fn(arg, q->dev, q->lane);
  pthread_mutex_unlock(&q->lock);
  return e;
}

static void note_done(lading_queue *q, int64_t upto) {
  pthread_mutex_lock(&q->lock);
  q->done = ldg_max(q->done, upto);
  pthread_mutex_unlock(&q->lock);
}

/* ERR_ARG: no such request. *done, else what to watch. */
static int watch(lading_queue *q, lading_request r, bool *done, ldg_watch *out) {
  pthread_mutex_lock(&q->lock);
  const bool known = r >= 1 && r <= (lading_request)q->last;
  *done = known && (int64_t)r <= q->done;
  if (known && !*done) q->dev->watch(q->lane, (int64_t)r, out);
  pthread_mutex_unlock(&q->lock);
  return known ? LADING_OK : LADING_ERR_ARG;
}

/* Others may go on with the queue while one waits. */
int ldg_queue_passed(lading_queue *q, lading_request r, bool wait, bool *done) {
  ldg_watch w;
  bool passed;
  int e = watch(q, r, &passed, &w);
  if (!e && !passed) {
    e = q->dev->passed(q->lane, &w, wait, &passed);
    if (!e && passed) note_done(q, w.mark);
  }
  if (!e && done) *done = passed;
  return e;
}

int ldg_queue_sync(lading_queue *q) {
  if (!q->dev) return LADING_OK;
  pthread_mutex_lock(&q->lock);
  const int64_t last = q->last;
  pthread_mutex_unlock(&q->lock);
  const int e = q->dev->sync(q->lane);
  if (!e) note_done(q, last);
  return e;
}

/* ---- memory of other processes ---- */

static const ldg_device *next_device(int *i) {
  for (; *i < BACKENDS; ++*i)
    if (backends[*i].dev && backends[*i].dev->count(backends[*i].dev) > 0) return backends[(*i)++].dev;
  return NULL;
}

bool ldg_queue_has_device(void) {
  int i = 0;
  return next_device(&i) != NULL;
}

/* The others are asked only when the memory or the token is none of this one's. */
int ldg_queue_ipc_export(const void *at, lading_ipc *out) {
  int e = LADING_ERR_UNSUPPORTED, i = 0;
  const ldg_device *d = next_device(&i);
  if (!d) return LADING_ERR_DEVICE;
  for (; d && e == LADING_ERR_UNSUPPORTED; d = next_device(&i)) e = d->ipc_export(d, at, out);
  return e;
}

int ldg_queue_ipc_open(const lading_ipc *token, void **out) {
  int e = LADING_ERR_FORMAT, i = 0;
  const ldg_device *d = next_device(&i);
  if (!d) return LADING_ERR_DEVICE;
  for (; d && e == LADING_ERR_FORMAT; d = next_device(&i)) e = d->ipc_open(d, token, out);
  return e;
}

int ldg_queue_ipc_close(void *at) {
  int e = LADING_ERR_ARG, i = 0;
  for (const ldg_device *d; e == LADING_ERR_ARG && (d = next_device(&i));) e = d->ipc_close(d, at);
  return e;
}
