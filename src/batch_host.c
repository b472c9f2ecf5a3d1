/* Launches on the host: by the planner's strategies, in this thread or cut into equal parts of all requests together, as the tiles of
 * a device's launch are: one huge and 31 tiny ones take as long as 32 equal ones. */
#include "batch.h"

#include "base_model.h"

typedef struct host {
  ldg_batch_words words;
  lading_parallel_for *pf;
  void *ctx;
  int64_t ways;
  double byte;
} host;

typedef struct job { ldg_batch_item *const *items; int64_t n, bytes, parts; } job;

static int take(void *self, ldg_work *w, bool *alone) {
  (void)self;
  *alone = false;
  return w->mem[LDG_SRC].kind == LADING_MEM_DEVICE || w->mem[LDG_DST].kind == LADING_MEM_DEVICE ? LADING_ERR_DEVICE : LADING_OK;
}

/* Reductions go by elements, and where destinations coincide order counts. */
static bool can_be_cut(const ldg_work *w) {
  const ldg_plan *p = w->plan[LDG_DST];
  if (w->reduction.op != LADING_REPLACE) return false;
  return !p || ldg_plan_is_distinct(p, w->side[LDG_DST].count);
}

/* Bytes [lo, hi) of the launch that are this item's; what cannot be cut goes with its first byte. */
static void run_item(const ldg_batch_item *it, int64_t lo, int64_t hi) {
  ldg_work w = it->work;
  const int64_t size = w.hi - w.lo;
  const bool whole = lo <= it->from && it->from + size <= hi;
  if (!whole && !can_be_cut(&w)) {
    if (it->from < lo) return;
  } else {
    w.hi = w.lo + ldg_min(size, hi - it->from), w.lo += ldg_max(0, lo - it->from);
  }
  ldg_queue_run(&w);
}

/* The item that holds this byte of the launch. */
static int64_t find(const job *j, int64_t byte) {
  int64_t lo = 0;
  for (int64_t n = j->n; n > 1;) {
    const int64_t half = n / 2;
    if (j->items[lo + half]->from <= byte) lo += half;
    n -= half;
  }
  return lo;
}

static void part(void *arg, int64_t i) {
  const job *j = arg;
  const int64_t step = (j->bytes - 1) / j->parts + 1, lo = ldg_min(i * step, j->bytes), hi = ldg_min(lo + step, j->bytes);
  if (lo < hi)
    for (int64_t k = find(j, lo); k < j->n && j->items[k]->from < hi; k++) run_item(j->items[k], lo, hi);
}

static int64_t parts_of(const host *h, int64_t bytes) {
  return h->pf ? ldg_max(1, ldg_model_parts(h->byte * (double)bytes, h->ways)) : 1;
}

static int start(void *self, ldg_batch_item *const *items, int64_t n) {
  const host *h = self;
  const ldg_work *last = &items[n - 1]->work;
  job j = { items, n, items[n - 1]->from + last->hi - last->lo, 1 };
  j.parts = parts_of(h, j.bytes);
  if (j.parts > 1) h->pf(h->ctx, j.parts, part, &j);
  else part(&j, 0);
  for (int64_t i = 0; i < n; i++) ldg_batch_done(&h->words, items[i], LADING_OK);
  return LADING_OK;
}

static int poll(void *self) { return (void)self, LADING_OK; }
static void close_host(void *self) { ldg_free(self); }

/* Cost of a packed byte in a large copy: what requests are weighed with before anybody has looked at their types. */
#define WEIGHED ((int64_t)1 << 20)

int ldg_batch_host(const lading_batch_attr *attr, ldg_batch_executor *out) {
  host *h = ldg_alloc((int64_t)sizeof *h + 8 * attr->slots);
  if (!h) return LADING_ERR_NOMEM;
  memset(h, 0, sizeof *h + 8 * (size_t)attr->slots);
  h->words = (ldg_batch_words){ (_Atomic uint64_t *)(void *)(h + 1), attr->slots };
  h->pf = attr->pf, h->ctx = attr->ctx, h->ways = attr->ways;
  h->byte = ldg_model_copy(WEIGHED) / (double)WEIGHED;
  const double launch = attr->pf && attr->ways > 1 ? ldg_model_ns(LDG_MODEL_PART) : 0;
  *out = (ldg_batch_executor){ take, start, poll, NULL, close_host, h->words, launch, h->byte, attr->slots, h };
  return LADING_OK;
}
