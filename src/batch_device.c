/* Launches on a device's queue: fused ones, by pages of cargos; what no kernel shares, one by one; and what is small and in the host's
 * reach, here, when the device has nothing to do. */
#include "batch.h"

#include "base_model.h"

/* A request with a launch of its own: the queue knows when it is done. */
typedef struct own { ldg_batch_item *item; lading_request request; } own;

/* A page in use: its requests, of which those before `done` are. */
typedef struct page { int n, done; bool recorded; ldg_batch_item *item[LDG_FUSED_REQUESTS]; uint64_t id[LDG_FUSED_REQUESTS]; } page;

typedef struct device {
  lading_queue *queue;
  const ldg_device *dev;
  ldg_lane *lane;
  ldg_batch_words words;
  ldg_fuser fuser;
  page page[LDG_FUSED_PAGES];
  int64_t looked;          /* when the device was last asked whether it lives */
  int64_t head, tail;      /* of the requests alone that are under way, in order; counted up */
  own own[];
} device;

#define BLOCK 64      /* bytes of a typical block */
#define LOOK_EVERY 1000000 /* ns */
#define TILES_MOST 4096 /* of a launch: several times the blocks that a device runs at once */

static void done(const device *d, ldg_batch_item *it, int error) { ldg_batch_done(&d->words, it, error); }
static own *own_of(device *d, int64_t n) { return &d->own[n & (d->words.slots - 1)]; }

/* ---- taking ---- */

/* What no hint says has to be asked for, under the queue's lock; what kernels reach is known without. */
static int ask(void *arg, const ldg_device *dev, ldg_lane *lane) {
  bool reached;
  return ldg_queue_reaches(dev, lane, arg, &reached);
}

static bool reached(const device *d, const ldg_work *w) {
  return d->dev->reaches(d->lane, w->mem[LDG_SRC].kind) && d->dev->reaches(d->lane, w->mem[LDG_DST].kind);
}

static int take(void *self, ldg_work *w, bool *alone) {
  const device *d = self;
  const bool known = w->mem[LDG_SRC].kind != LADING_MEM_UNKNOWN && w->mem[LDG_DST].kind != LADING_MEM_UNKNOWN;
  bool coincides = false;
  if (w->lo == w->hi) return LADING_OK;
  int e = known ? LADING_OK : ldg_queue_with(d->queue, ask, w);
  if (!e) e = ldg_queue_coincides(w, &coincides);
  *alone = coincides || !reached(d, w) || !ldg_queue_ships(w);
  return e;
}

/* ---- here: an idle device has nothing that would have to come first ---- */

static bool in_reach(lading_memkind k) { return k == LADING_MEM_HOST || k == LADING_MEM_PINNED; }

static double cost_here(const ldg_work *w) {
  double ns = 0;
  for (int i = LDG_SRC; i <= LDG_DST; i++)
    if (w->plan[i]) ns += ldg_plan_cost(w->plan[i], w->side[i].count, i == LDG_SRC ? LDG_PACK : LDG_UNPACK, w->hi - w->lo);
  return ns;
}

/* What is left of a launch's time, and whether a request fits in; they run behind the launch of the others. */
static bool fits_here(const ldg_work *w, double *left) {
  if (!in_reach(w->mem[LDG_SRC].kind) || !in_reach(w->mem[LDG_DST].kind)) return false;
  const double ns = cost_here(w);
  if (ns > *left) return false;
  *left -= ns;
  return true;
}

/* ---- fused ---- */

static page *free_page(device *d) {
  for (int i = 0; i < LDG_FUSED_PAGES; i++) {
    page *p = &d->page[i];
    while (!p->recorded && p->done < p->n && ldg_batch_is_done(&d->words, p->id[p->done])) p->done++;
    if (!p->recorded && p->done == p->n) return p;
  }
  return NULL;
}

typedef struct launch {
  device *d;
  ldg_batch_item *const *items;
  int64_t n, taken;        /* all of them; those that are in this launch, or done */
  page *page;
  ldg_fused_page *to;
  bool recorded, idle, reduces;
  double here;             /* time for those that run here */
  int64_t cargos;
  const ldg_work *last;    /* the one that was loaded last, by so many cargos, of words of so many bytes at most; NULL: none */
  int last_n;
  int32_t last_word;
} launch;

static int64_t distance(const ldg_work *from, const ldg_work *to, int side) {
  return (int64_t)((uintptr_t)to->side[side].base - (uintptr_t)from->side[side].base);
}

/* The same bytes of the same types, so far away that words stay aligned. */
static bool is_moved(const ldg_work *from, const ldg_work *to, int32_t word) {
  for (int i = LDG_SRC; i <= LDG_DST; i++)
    if (from->plan[i] != to->plan[i] || from->side[i].count != to->side[i].count || distance(from, to, i) % word) return false;
  return from->lo == to->lo && from->hi == to->hi && from->reduction.op == to->reduction.op && from->reduction.sig.node == to->reduction.sig.node;
}

/* Many requests are what the one before was, in another buffer: its cargos will do. */
static int cargos_of(launch *l, const ldg_device *dev, ldg_lane *lane, const ldg_work *w, ldg_cargo *c, int *n) {
  const ldg_work *last = l->last;
  if (!last || !is_moved(last, w, l->last_word)) {
    const int e = ldg_queue_cargos(dev, lane, w, c, LDG_CARGO_OWN, n);
    l->last = e ? NULL : w, l->last_n = *n, l->last_word = 1;
    for (int i = 0; i < *n; i++) l->last_word = c[i].word > l->last_word ? c[i].word : l->last_word;
    return e;
  }
  l->last = w;
  *n = l->last_n;
  memcpy(c, c - *n, (size_t)*n * sizeof *c);
  for (int i = 0; i < *n; i++) c[i].src += distance(last, w, LDG_SRC), c[i].dst += distance(last, w, LDG_DST);
  return LADING_OK;
}

/* The request's cargos behind those that are there. */
static int load(launch *l, const ldg_device *dev, ldg_lane *lane, const ldg_batch_item *it) {
  ldg_cargo *const c = &l->to->cargo[l->cargos];
  int n;
  const int e = cargos_of(l, dev, lane, &it->work, c, &n);
  if (e) return e;
  l->reduces |= it->work.reduction.op != LADING_REPLACE;
  ldg_fused_end *const end = &l->to->end[l->page->n];
  *end = (ldg_fused_end){ .word = l->recorded ? NULL : l->d->fuser.words + ldg_batch_slot(&l->d->words, it->id), .id = it->id };
  for (int i = 0; i < n; i++) l->to->start[l->cargos++].end = l->page->n;
  return LADING_OK;
}

static bool has_room(const launch *l) { return l->page->n < LDG_FUSED_REQUESTS && l->cargos + LDG_CARGO_OWN <= LDG_FUSED_CARGOS; }

static void gather(launch *l, const ldg_device *dev, ldg_lane *lane, ldg_batch_item **here, int64_t *n) {
  for (; l->taken < l->n && has_room(l); l->taken++) {
    ldg_batch_item *it = l->items[l->taken];
    if (l->idle && *n < LDG_FUSED_REQUESTS && fits_here(&it->work, &l->here)) {
      here[(*n)++] = it;
      continue;
    }
    const int e = load(l, dev, lane, it);
    if (e) done(l->d, it, e);
    else l->page->item[l->page->n] = it, l->page->id[l->page->n++] = it->id;
  }
}

/* Fewer tiles, of several parts, where there are many more than a device runs at once. */
static ldg_fused_launch number_tiles(const launch *l) {
  ldg_fused_page *const p = l->to;
  ldg_fused_launch to = { .cargos = l->cargos, .parts = 1, .page = (int)(l->page - l->d->page), .reduces = l->reduces, .recorded = l->recorded };
  int64_t all = 0;
  for (int64_t i = 0; i < l->cargos; i++) all += ldg_cargo_tiles(&p->cargo[i]);
  while (all / to.parts > TILES_MOST) to.parts *= 2;
  for (int64_t i = 0; i < l->cargos; i++) {
    const int64_t tiles = (ldg_cargo_tiles(&p->cargo[i]) - 1) / to.parts + 1;
    p->start[i].first = to.tiles;
    to.tiles += tiles, p->end[p->start[i].end].tiles += (uint32_t)tiles;
  }
  return to;
}

/* A recorded launch runs when the graph does, any number of times: its page stays, its requests are done with the recording. */
static int depart(launch *l, const ldg_device *dev, ldg_lane *lane) {
  page *p = l->page;
  if (!p->n) return LADING_OK;
  const ldg_fused_launch to = number_tiles(l);
  const int e = dev->fuse(lane, &l->d->fuser, &to);
  for (int i = 0; (e || l->recorded) && i < p->n; i++) done(l->d, p->item[i], e);
  p->recorded = l->recorded && !e;
  return LADING_OK;
}

static int run_launch(void *arg, const ldg_device *dev, ldg_lane *lane) {
  launch *l = arg;
  ldg_batch_item *here[LDG_FUSED_REQUESTS];
  int64_t n = 0;
  bool close = false;
  for (int64_t i = 0; i < l->n && !close; i++) close = in_reach(l->items[i]->work.mem[0].kind) && in_reach(l->items[i]->work.mem[1].kind);
  int e = dev->look(lane, &l->recorded, close ? &l->idle : NULL);
  if (e) return e;
  gather(l, dev, lane, here, &n);
  e = depart(l, dev, lane);
  dev->forgo(lane); /* of requests that failed, where none departed */
  for (int64_t i = 0; i < n; i++) ldg_queue_run(&here[i]->work), done(l->d, here[i], LADING_OK);
  return e;
}

/* ---- alone ---- */

static int run_alone(void *arg, const ldg_device *dev, ldg_lane *lane) {
  launch *l = arg;
  const ldg_work *w = &l->items[0]->work;
  const bool close = in_reach(w->mem[0].kind) && in_reach(w->mem[1].kind);
  const int e = dev->look(lane, &l->recorded, close ? &l->idle : NULL);
  if (e || !l->idle || !fits_here(w, &l->here)) return e;
  ldg_queue_run(w);
  done(l->d, l->items[0], LADING_OK);
  l->taken = 1;
  return LADING_OK;
}

static int start_alone(device *d, ldg_batch_item *it) {
  launch l = { .d = d, .items = &it, .n = 1, .here = ldg_model_launch() };
  int e = ldg_queue_with(d->queue, run_alone, &l);
  if (e || l.taken) return e;
  own *o = own_of(d, d->tail);
  o->item = it;
  e = ldg_queue_put(d->queue, &it->work, l.recorded ? NULL : &o->request);
  if (e && !l.recorded) ldg_queue_sync(d->queue); /* parts of it may be under way, in buffers that are the caller's again */
  if (e || l.recorded) done(d, it, e);
  else d->tail++;
  return LADING_OK;
}

/* Those that departed are under way, whatever happens to the rest. */
static int start(void *self, ldg_batch_item *const *items, int64_t n) {
  device *d = self;
  for (int64_t i = 0; i < n;) {
    page *p = items[i]->alone ? NULL : free_page(d);
    launch l = { .d = d, .items = items + i, .n = n - i, .page = p, .here = ldg_model_launch() };
    int e;
    if (p) {
      p->n = p->done = 0, l.to = &d->fuser.page[p - d->page];
      e = ldg_queue_with(d->queue, run_launch, &l);
      i += l.taken;
    } else {
      e = start_alone(d, items[i]);
      i += e == LADING_OK;
    }
    for (; e && i < n; i++) done(d, items[i], e);
  }
  return LADING_OK;
}

/* ---- on and on ---- */

static int look(void *arg, const ldg_device *dev, ldg_lane *lane) {
  (void)arg;
  bool idle;
  return dev->look(lane, NULL, &idle);
}

/* Kernels say by themselves that they are done; only whether there is anybody left to say so has to be asked. */
static int look_now_and_then(device *d) {
  const int64_t now = ldg_batch_now();
  if (now - d->looked < LOOK_EVERY) return LADING_OK;
  d->looked = now;
  return ldg_queue_with(d->queue, look, NULL);
}

/* An error of a query need not be one of the device, as when somebody records a stream: the next poll asks again. */
static void look_at_own(device *d) {
  for (; d->head < d->tail; d->head++) {
    const own *o = own_of(d, d->head);
    bool passed = false;
    if (ldg_queue_passed(d->queue, o->request, false, &passed) || !passed) return;
    done(d, o->item, LADING_OK);
  }
}

static int poll(void *self) {
  device *d = self;
  look_at_own(d);
  const int e = look_now_and_then(d);
  if (e) d->head = d->tail;
  return e;
}

static int look_recorded(void *arg, const ldg_device *dev, ldg_lane *lane) { return dev->look(lane, arg, NULL); }

static bool runs(void *self) {
  const device *d = self;
  bool recorded = false;
  return ldg_queue_with(d->queue, look_recorded, &recorded) || !recorded;
}

/* ---- life ---- */

static int open_fuser(void *arg, const ldg_device *dev, ldg_lane *lane) {
  device *d = arg;
  d->dev = dev, d->lane = lane;
  return dev->fuse_open(lane, d->words.slots, &d->fuser);
}

static int close_fuser(void *arg, const ldg_device *dev, ldg_lane *lane) {
  device *d = arg;
  dev->fuse_close(lane, &d->fuser);
  return LADING_OK;
}

static void close_device(void *self) {
  device *d = self;
  ldg_queue_with(d->queue, close_fuser, d);
  ldg_free(d);
}

static int on_device(lading_queue *q, const lading_batch_attr *attr, ldg_batch_executor *out) {
  const int64_t bytes = (int64_t)sizeof(device) + (int64_t)sizeof(own) * attr->slots;
  device *d = ldg_alloc(bytes);
  if (!d) return LADING_ERR_NOMEM;
  memset(d, 0, (size_t)bytes);
  d->queue = q, d->words.slots = attr->slots;
  const int e = ldg_queue_with(q, open_fuser, d);
  if (e) {
    ldg_free(d);
    return e;
  }
  const double byte = ldg_model_kernel(LDG_MODEL_HERE, LDG_MODEL_READ, LDG_MODEL_LINE, BLOCK) / BLOCK;
  d->words.at = (_Atomic uint64_t *)d->fuser.words;
  *out = (ldg_batch_executor){ take, start, poll, runs, close_device, d->words, ldg_model_launch(), byte, LDG_FUSED_REQUESTS, d };
  return LADING_OK;
}

int ldg_batch_executor_of(lading_queue *q, const lading_batch_attr *attr, ldg_batch_executor *out) {
  return ldg_queue_is_host(q) ? ldg_batch_host(attr, out) : on_device(q, attr, out);
}
