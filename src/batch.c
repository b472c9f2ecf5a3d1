/* The ring: adds, starts, ends. One lock; what is done is seen without it. */
#include "batch.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

struct lading_batch {
  pthread_mutex_t lock;
  ldg_batch_executor x;
  lading_batch_attr attr;
  ldg_batch_rules rules;
  ldg_batch_waiting waiting;
  ldg_batch_place hull[2];       /* spans of all that waits */
  int64_t expected;              /* requests announced and not yet added */
  int lost;                      /* the first error of a request that nobody can ask for */
  int64_t looked;                /* see ldg_batch_looked */
  uint64_t first, swept, begun;  /* ids below: were never given; have freed what they held; were started */
  _Atomic uint64_t next;
  lading_batch_counts counts;
  ldg_batch_item **launch;       /* room for the items of one */
  ldg_batch_item item[];
};

/* ---- time ---- */

static int64_t system_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t (*now)(void) = system_now;
void ldg_batch_clock(int64_t (*other)(void)) { now = other ? other : system_now; }
int64_t ldg_batch_now(void) { return now(); }

/* ---- slots ---- */

static ldg_batch_item *item_of(lading_batch *b, uint64_t id) { return &b->item[ldg_batch_slot(&b->x.words, id)]; }
static bool is_done(const lading_batch *b, uint64_t id) { return ldg_batch_is_done(&b->x.words, id); }

void ldg_batch_done(const ldg_batch_words *w, ldg_batch_item *it, int error) {
  atomic_store_explicit(&it->error, error, memory_order_relaxed);
  atomic_store_explicit(&w->at[ldg_batch_slot(w, it->id)], it->id, memory_order_release);
}

static void finish(lading_batch *b, uint64_t id, int error) { ldg_batch_done(&b->x.words, item_of(b, id), error); }

/* Once a request: what it held goes, and an error that nobody can ask for is kept for the next flush. */
static void settle(lading_batch *b, ldg_batch_item *it) {
  const int e = atomic_load_explicit(&it->error, memory_order_relaxed);
  for (int i = 0; i < 2; i++) lading_type_free(it->type[i]), it->type[i] = NULL;
  if (e) b->counts.failed++;
  if (e && it->nameless && !b->lost) b->lost = e;
}

static void sweep(lading_batch *b) {
  for (; b->swept < b->begun && is_done(b, b->swept); b->swept++) settle(b, item_of(b, b->swept));
}

/* Nothing that is not done by now ever will be. */
static void fail_all(lading_batch *b, int error) {
  for (uint64_t id = b->swept; id < b->begun; id++)
    if (!is_done(b, id)) finish(b, id, error);
}

static int poll(lading_batch *b) {
  const int e = b->swept < b->begun ? b->x.poll(b->x.self) : LADING_OK;
  if (e) fail_all(b, e);
  sweep(b);
  return e;
}

/* The slot of the next request: its last one is done, and has nothing left to tell. */
static bool has_room(lading_batch *b) {
  const uint64_t id = atomic_load_explicit(&b->next, memory_order_relaxed);
  const ldg_batch_item *it = item_of(b, id);
  return it->id == 0 || (it->id < b->swept && !(it->owes && atomic_load_explicit(&it->error, memory_order_relaxed)));
}

/* ---- starting ---- */

/* Items of the next launch, from begun on: one that is alone, or all up to the next such one. Those without bytes are done. */
static int64_t gather(lading_batch *b, uint64_t end) {
  int64_t n = 0, bytes = 0;
  for (; b->begun < end; b->begun++) {
    ldg_batch_item *it = item_of(b, b->begun);
    if (is_done(b, it->id)) continue;
    if (n && (it->alone || b->launch[0]->alone)) break;
    it->from = bytes, bytes += it->work.hi - it->work.lo;
    b->launch[n++] = it;
  }
  return n;
}

static void launch(lading_batch *b, int64_t n) {
  const int e = b->x.start(b->x.self, b->launch, n);
  b->counts.launches++;
  for (int64_t i = 0; e && i < n; i++)
    if (!is_done(b, b->launch[i]->id)) finish(b, b->launch[i]->id, e);
}

/* What the next launch waits for: as many as it takes, since one more is one more launch anyway; or half of the ring, so that the other
 * half may be under way. */
static void plan_next(lading_batch *b) {
  const int64_t full = ldg_max(1, ldg_min(b->x.most, b->attr.slots / 2));
  if (b->expected) b->rules = (ldg_batch_rules){ full, INT64_MAX, b->attr.max_age_ns, INT64_MAX };
  else b->rules = (ldg_batch_rules){ full, b->attr.flush_bytes, b->attr.max_age_ns, (int64_t)b->x.launch };
}

/* Or for so many of those that were announced, by the length of the first one. When all that are left fit into the ring, all of it may wait. */
static void plan_announced(lading_batch *b, int64_t bytes) {
  const double send = (double)b->attr.send_ns + (b->attr.send_rate ? 1e9 * (double)bytes / (double)b->attr.send_rate : 0);
  const int64_t best = ldg_batch_next(b->expected, b->x.launch, b->x.byte * (double)bytes, send);
  const int64_t room = b->expected <= b->attr.slots ? b->attr.slots : b->rules.count;
  b->rules.count = ldg_min(best, ldg_min(room, b->x.most));
}

static void start(lading_batch *b) {
  const uint64_t end = atomic_load_explicit(&b->next, memory_order_relaxed);
  for (int64_t n; (n = gather(b, end)) > 0;) launch(b, n);
  b->waiting.n = 0;
  for (int i = 0; i < 2; i++) b->hull[i].lo = b->hull[i].hi = 0;
  plan_next(b);
  sweep(b);
}

/* ---- adding ---- */

/* Which sides of the new one may meet which of those that wait: what is apart from their hull is apart from all of them. */
typedef struct doubt { bool dst_dst, dst_src, src_dst; } doubt;

static doubt doubt_of(const ldg_batch_place new[2], const ldg_batch_place hull[2]) {
  return (doubt){ !ldg_batch_spans_apart(&new[LDG_DST], &hull[LDG_DST]), !ldg_batch_spans_apart(&new[LDG_DST], &hull[LDG_SRC]),
                  !ldg_batch_spans_apart(&new[LDG_SRC], &hull[LDG_DST]) };
}

static bool is_apart(doubt d, ldg_batch_place new[2], ldg_batch_place old[2], int64_t *looks) {
  return (!d.dst_dst || ldg_batch_apart(&new[LDG_DST], &old[LDG_DST], looks)) && (!d.dst_src || ldg_batch_apart(&new[LDG_DST], &old[LDG_SRC], looks)) &&
         (!d.src_dst || ldg_batch_apart(&new[LDG_SRC], &old[LDG_DST], looks));
}

/* All looks together take about as long as a launch does (at most 14 ns each); what they cannot tell apart goes behind the others. */
static bool meets(lading_batch *b, ldg_batch_place place[2]) {
  const doubt d = doubt_of(place, b->hull);
  if (!d.dst_dst && !d.dst_src && !d.src_dst) return false;
  const uint64_t end = atomic_load_explicit(&b->next, memory_order_relaxed);
  int64_t looks = LDG_BATCH_LOOKS;
  bool apart = true;
  for (uint64_t id = b->begun; id < end && apart; id++) apart = is_apart(d, place, item_of(b, id)->place, &looks);
  b->looked = ldg_max(b->looked, LDG_BATCH_LOOKS - looks);
  return !apart;
}

static void widen(ldg_batch_place *hull, const ldg_batch_place *p) {
  if (p->lo == p->hi) return;
  if (hull->lo == hull->hi) hull->lo = p->lo, hull->hi = p->hi;
  if (p->lo < hull->lo) hull->lo = p->lo;
  if (p->hi > hull->hi) hull->hi = p->hi;
}

static void find_places(ldg_batch_place place[2], const ldg_work *w) {
  for (int i = LDG_SRC; i <= LDG_DST; i++)
    if (w->plan[i]) ldg_batch_place_side(&place[i], &w->side[i], w->lo, w->hi);
    else ldg_batch_place_dense(&place[i], ldg_at(w->side[i].base, w->lo), w->hi - w->lo);
}

/* The slot of `it` has its places already. */
static uint64_t put(lading_batch *b, ldg_batch_item *it, const ldg_work *w, const lading_type *const type[2], bool nameless, bool alone) {
  const uint64_t id = atomic_load_explicit(&b->next, memory_order_relaxed);
  it->id = id, it->work = *w, it->nameless = nameless, it->owes = !nameless, it->alone = alone;
  atomic_store_explicit(&it->error, LADING_OK, memory_order_relaxed);
  for (int i = 0; i < 2; i++) it->type[i] = lading_type_ref(type[i]), widen(&b->hull[i], &it->place[i]);
  if (w->lo == w->hi) finish(b, id, LADING_OK), b->begun += b->begun == id;
  atomic_store_explicit(&b->next, id + 1, memory_order_release);
  b->counts.requests++, b->counts.alone += alone;
  return id;
}

static int64_t *count_of(lading_batch_counts *c, ldg_batch_why why) {
  return why == LDG_BATCH_COUNT ? &c->by_count : why == LDG_BATCH_BYTES ? &c->by_bytes : why == LDG_BATCH_AGE ? &c->by_age : &c->by_rent;
}

/* What is started while the stream is recorded would not run now, perhaps never: that is for the caller to say. */
static void start_if_due(lading_batch *b, int64_t time) {
  if (b->attr.policy != LADING_BATCH_MODEL) return;
  const ldg_batch_why why = ldg_batch_due(&b->rules, &b->waiting, time, b->swept < b->begun);
  if (why == LDG_BATCH_NOT_YET || (b->x.runs && !b->x.runs(b->x.self))) return;
  ++*count_of(&b->counts, why);
  start(b);
}

/* Without rules nobody asks how long it waited, and to read a clock takes a tenth of all that an add does. */
static int64_t time_of(const lading_batch *b) { return b->attr.policy == LADING_BATCH_MODEL ? now() : 0; }

static int add(lading_batch *b, ldg_work *w, const lading_type *const type[2], lading_request *out) {
  bool alone = false;
  const int e = b->x.take(b->x.self, w, &alone);
  if (e) return e;
  sweep(b);
  if (!has_room(b)) poll(b);
  if (!has_room(b)) return b->counts.full++, LADING_BATCH_FULL;
  ldg_batch_item *it = item_of(b, atomic_load_explicit(&b->next, memory_order_relaxed));
  find_places(it->place, w);
  if (b->waiting.n && meets(b, it->place)) b->counts.by_order++, start(b);
  const int64_t time = time_of(b), bytes = w->hi - w->lo;
  const uint64_t id = put(b, it, w, type, !out, alone);
  if (out) *out = id;
  ldg_batch_came(&b->waiting, bytes, time);
  if (b->expected && b->waiting.n == 1) plan_announced(b, bytes);
  if (b->expected && --b->expected == 0) b->rules.count = 1; /* that was the last one */
  start_if_due(b, time);
  return LADING_OK;
}

int ldg_batch_add(lading_batch *b, ldg_work *w, const lading_type *const type[2], lading_request *out) {
  pthread_mutex_lock(&b->lock);
  const int e = add(b, w, type, out);
  pthread_mutex_unlock(&b->lock);
  return e;
}

void ldg_batch_expect(lading_batch *b, int64_t n) {
  pthread_mutex_lock(&b->lock);
  b->expected = n;
  plan_next(b);
  pthread_mutex_unlock(&b->lock);
}

int ldg_batch_flush(lading_batch *b) {
  pthread_mutex_lock(&b->lock);
  if (b->waiting.n) b->counts.by_caller++, start(b);
  poll(b);
  const int e = b->lost;
  b->lost = LADING_OK;
  pthread_mutex_unlock(&b->lock);
  return e;
}

/* ---- asking ---- */

static void progress(lading_batch *b, uint64_t id, bool wait) {
  pthread_mutex_lock(&b->lock);
  if (id >= b->begun && wait) b->counts.by_wait++, start(b);
  else if (id >= b->begun) start_if_due(b, now());
  if (!is_done(b, id)) poll(b);
  pthread_mutex_unlock(&b->lock);
}

/* Its error, if it had one; once a request, as afterwards the slot may be another's. */
static int tell(lading_batch *b, uint64_t id) {
  ldg_batch_item *it = item_of(b, id);
  int e = atomic_load_explicit(&it->error, memory_order_relaxed);
  if (!e) return e;
  pthread_mutex_lock(&b->lock);
  if (it->id == id) e = atomic_load_explicit(&it->error, memory_order_relaxed), it->owes = false;
  else e = LADING_OK;
  pthread_mutex_unlock(&b->lock);
  return e;
}

int ldg_batch_passed(lading_batch *b, lading_request r, bool wait, bool *done) {
  if (r < b->first || r >= atomic_load_explicit(&b->next, memory_order_acquire)) return LADING_ERR_ARG;
  if (!is_done(b, r)) progress(b, r, wait);
  while (wait && !is_done(b, r)) sched_yield(), progress(b, r, wait);
  const bool passed = is_done(b, r);
  if (done) *done = passed;
  return passed ? tell(b, r) : LADING_OK;
}

int64_t ldg_batch_looked(const lading_batch *b) { return b->looked; }

/* Those without bytes have a slot and count for the rules until the next start, but are done. */
static int64_t not_started(const lading_batch *b) {
  const uint64_t end = atomic_load_explicit(&b->next, memory_order_relaxed);
  int64_t n = 0;
  for (uint64_t id = b->begun; id < end; id++) n += !is_done(b, id);
  return n;
}

void ldg_batch_stats(lading_batch *b, lading_batch_counts *out) {
  pthread_mutex_lock(&b->lock);
  *out = b->counts;
  out->waiting = not_started(b);
  pthread_mutex_unlock(&b->lock);
}

/* ---- life ---- */

int ldg_batch_open(const ldg_batch_executor *x, const lading_batch_attr *attr, lading_batch **out) {
  const int64_t items = (int64_t)sizeof(ldg_batch_item) * attr->slots;
  lading_batch *b = ldg_alloc((int64_t)sizeof *b + items + (int64_t)sizeof *b->launch * attr->slots);
  if (!b) {
    x->close(x->self);
    return LADING_ERR_NOMEM;
  }
  memset(b, 0, sizeof *b + (size_t)items);
  b->x = *x, b->attr = *attr;
  b->launch = (ldg_batch_item **)(void *)((char *)b->item + items);
  plan_next(b);
  pthread_mutex_init(&b->lock, NULL);
  ldg_batch_begin_at(b, 1);
  *out = b;
  return LADING_OK;
}

void ldg_batch_begin_at(lading_batch *b, uint64_t id) {
  b->first = b->swept = b->begun = id;
  atomic_store(&b->next, id);
}

static void finish_all(lading_batch *b) {
  start(b);
  for (poll(b); b->swept < b->begun; poll(b)) sched_yield();
}

void ldg_batch_free(lading_batch *b) {
  if (!b) return;
  pthread_mutex_lock(&b->lock);
  finish_all(b);
  pthread_mutex_unlock(&b->lock);
  b->x.close(b->x.self);
  pthread_mutex_destroy(&b->lock);
  ldg_free(b);
}
