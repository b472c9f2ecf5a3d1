/* What a device does not reach is packed into pinned memory and unpacked out of it by the host, when its turn in the queue comes, or at once
 * where that has come; so are reductions that only the host knows. */
#include "base_lru.h"
#include "queue.h"

#include <pthread.h>

/* ---- jobs: the host's part, later ---- */

typedef struct job {
  ldg_lru_link link;   /* first */
  uint64_t number;
  const ldg_device *dev;
  const ldg_lane *lane; /* NULL: it has gone */
  ldg_work work;
  ldg_chunk chunk;     /* to give back behind it, if any */
} job;

/* All that a driver was given, since one that has failed calls nobody. It knows numbers, not addresses: whoever takes a job off the
 * list has it, the driver's call or the end of the queue. The lock is never held over a call of a driver. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ldg_lru jobs;
static uint64_t last;

static uint64_t enlist(job *j) {
  pthread_mutex_lock(&lock);
  const uint64_t number = j->number = ++last;
  ldg_lru_add(&jobs, &j->link);
  pthread_mutex_unlock(&lock);
  return number;
}

/* The oldest come first, in general. NULL: there is none. */
static job *take(uint64_t number) {
  pthread_mutex_lock(&lock);
  ldg_lru_link *k = jobs.oldest;
  while (k && ((job *)k)->number != number) k = k->newer;
  if (k) ldg_lru_remove(&jobs, k);
  pthread_mutex_unlock(&lock);
  return (job *)k;
}

static void keep(const ldg_work *w) {
  for (int i = LDG_SRC; i <= LDG_DST; i++)
    if (w->plan[i]) ldg_memo_ref((ldg_memo_entry *)(uintptr_t)&w->plan[i]->entry);
  if (w->reduction.op != LADING_REPLACE) ldg_build_sig_ref(w->reduction.sig);
}

static void let_go(job *j) {
  for (int i = LDG_SRC; i <= LDG_DST; i++) ldg_plan_release(j->work.plan[i]);
  if (j->work.reduction.op != LADING_REPLACE) ldg_build_sig_free(j->work.reduction.sig);
  ldg_free(j);
}

static void end_job(job *j) {
  if (j->chunk.at) j->dev->give_back(j->chunk);
  let_go(j);
}

static void run_job(void *arg) {
  job *j = take((uintptr_t)arg);
  if (!j) return;
  ldg_queue_run(&j->work);
  end_job(j);
}

static const ldg_chunk no_chunk;

/* In the lane's turn: the work, and the chunk goes back. On an error neither happens. */
static int call(const ldg_device *dev, ldg_lane *lane, const ldg_work *w, ldg_chunk chunk) {
  job *j = ldg_alloc(sizeof *j);
  if (!j) return LADING_ERR_NOMEM;
  *j = (job){ .dev = dev, .lane = lane, .work = *w, .chunk = chunk };
  keep(w);
  const uint64_t number = enlist(j);
  const int e = dev->call(lane, run_job, (void *)(uintptr_t)number);
  if (e && (j = take(number)) != NULL) let_go(j);
  return e;
}

/* Jobs of the lane: those that nobody will call, or all of them as those of a lane that has gone. */
static job *next_of(const ldg_lane *lane, bool failed) {
  ldg_lru_link *k = jobs.oldest;
  for (; k && ((job *)k)->lane != lane; k = k->newer) {}
  if (k) ((job *)k)->lane = NULL;
  if (k && failed) ldg_lru_remove(&jobs, k);
  return (job *)k;
}

void ldg_queue_leave(const ldg_device *dev, ldg_lane *lane) {
  bool idle = false;
  const bool failed = dev->look(lane, NULL, &idle) && dev->look(lane, NULL, &idle); /* once may be somebody's recording */
  job *j;
  do {
    pthread_mutex_lock(&lock);
    j = next_of(lane, failed);
    pthread_mutex_unlock(&lock);
    if (j && failed) end_job(j);
  } while (j);
}

/* ---- through a chunk ---- */

/* The part of w that ends at an element. */
static ldg_work part_of(const ldg_work *w, int64_t lo, int64_t bytes) {
  ldg_work p = *w;
  p.lo = lo, p.hi = ldg_min(w->hi, lo + bytes);
  while (p.reduction.op != LADING_REPLACE && !ldg_elements_boundary(p.reduction.sig, p.hi)) p.hi--;
  return p;
}

/* The same with that side packed in the chunk, whose memory the device reaches. */
static ldg_work packed_at(const ldg_work *w, int side, const char *at) {
  ldg_work p = *w;
  p.plan[side] = NULL, p.side[side] = ldg_queue_packed(ldg_at(at, -w->lo), w->hi);
  p.mem[side].kind = LADING_MEM_PINNED;
  return p;
}

/* Or in memory of the device, from and to which the driver copies pinned memory while nobody waits. */
static ldg_work in_scratch(const ldg_work *w, int side, const char *at) {
  ldg_work p = packed_at(w, side, at);
  p.mem[side].kind = LADING_MEM_DEVICE;
  return p;
}

static ldg_work moved(ldg_work w) { return w.reduction = (ldg_reduction){ .op = LADING_REPLACE }, w; }

/* The source, which the device does not reach, into a chunk. A call of the driver costs 10 us and more, where small works take 6 by hand, so the host
 * does it at once where the lane is idle: all that might write the source before is done, and the queue is locked, so that nothing else of it comes in between. */
static int bring_from_host(const ldg_device *dev, ldg_lane *lane, const ldg_work *w, bool idle) {
  if (!idle) return call(dev, lane, w, no_chunk);
  ldg_queue_run(w);
  return LADING_OK;
}

static int from_host(const ldg_device *dev, ldg_lane *lane, const ldg_work *w, ldg_chunk c, bool idle) {
  const ldg_work in = moved(packed_at(w, LDG_DST, c.at)), out = packed_at(w, LDG_SRC, c.at);
  int e = bring_from_host(dev, lane, &in, idle);
  if (!e) e = ldg_queue_ship(dev, lane, &out);
  return e ? e : dev->give_back_later(lane, c);
}

static int to_host(const ldg_device *dev, ldg_lane *lane, const ldg_work *w, ldg_chunk c, bool idle) {
  (void)idle;
  const ldg_work in = moved(packed_at(w, LDG_DST, c.at)), out = packed_at(w, LDG_SRC, c.at);
  const int e = ldg_queue_ship(dev, lane, &in);
  return e ? e : call(dev, lane, &out, c);
}

/* The source side packed into pinned memory: by whoever reaches it. */
static int bring(const ldg_device *dev, ldg_lane *lane, const ldg_work *w, bool idle) {
  return dev->reaches(lane, w->mem[LDG_SRC].kind) ? ldg_queue_ship(dev, lane, w) : bring_from_host(dev, lane, w, idle);
}

/* Both operands come to the host, and the result goes back: what coincides in the destination would be lost. */
static int reduced_here(const ldg_device *dev, ldg_lane *lane, const ldg_work *w, ldg_chunk c, bool idle) {
  char *const second = c.at + c.bytes / 2 / 16 * 16;
  const ldg_work in = moved(packed_at(w, LDG_DST, c.at)), back = moved(packed_at(w, LDG_SRC, second));
  ldg_work there = back, both = packed_at(w, LDG_SRC, c.at);
  there.side[LDG_SRC] = w->side[LDG_DST], there.plan[LDG_SRC] = w->plan[LDG_DST], there.mem[LDG_SRC] = w->mem[LDG_DST];
  there = packed_at(&there, LDG_DST, second);
  both = packed_at(&both, LDG_DST, second);
  int e = bring(dev, lane, &in, idle);
  if (!e) e = ldg_queue_ship(dev, lane, &there);
  if (!e) e = call(dev, lane, &both, no_chunk);
  if (!e) e = ldg_queue_ship(dev, lane, &back);
  return e ? e : dev->give_back_later(lane, c);
}

typedef int through(const ldg_device *dev, ldg_lane *lane, const ldg_work *w, ldg_chunk c, bool idle);

/* Who enqueues does at once what takes no longer than the driver's calls that it saves (on an H200 31 to 82 us with them, packs of 0.5 to 98 KB alone; 20 to 28 without, of 55 to 91 KB). */
enum { SHORT_NS = 40000, SHORT_BYTES = 256 << 10 };
static bool is_short(const ldg_work *w) {
  const int64_t bytes = w->hi - w->lo;
  const ldg_plan *p = w->plan[LDG_SRC];
  return bytes <= SHORT_BYTES && (!p || ldg_plan_cost(p, w->side[LDG_SRC].count, LDG_PACK, bytes) <= SHORT_NS);
}

/* A chunk whose turn will not come is not given back before all that was enqueued is done. */
static int by_chunks(const ldg_device *dev, ldg_lane *lane, const ldg_work *w, through *go, int parts) {
  int e = LADING_OK;
  bool idle;
  for (int64_t lo = w->lo; !e && lo < w->hi;) {
    ldg_chunk c;
    e = dev->borrow(lane, &c, &idle);
    if (e) break;
    const ldg_work part = part_of(w, lo, c.bytes / parts / 16 * 16);
    e = go(dev, lane, &part, c, idle && is_short(w));
    if (e) dev->sync(lane), dev->give_back(c);
    lo = part.hi;
  }
  return e;
}

/* ---- through the device's memory ---- */

enum { SCRATCH_MOST = 32 << 20 }; /* bytes of the device's memory at a time */

/* By way of packed bytes there, each side by the loops it has alone; one that is packed already, in pinned memory, by a copy of the driver. */
static int through_scratch(const ldg_device *dev, ldg_lane *lane, const ldg_work *w) {
  char *at;
  if (dev->scratch(lane, w->hi - w->lo, &at)) return ldg_queue_ship(dev, lane, w); /* no room for it: one kernel does it alone */
  const ldg_work in = moved(in_scratch(w, LDG_DST, at)), out = in_scratch(w, LDG_SRC, at);
  int e = ldg_queue_ship(dev, lane, &in);
  if (!e) e = ldg_queue_ship(dev, lane, &out);
  const int freed = dev->scratch_free(lane, at);
  return e ? e : freed;
}

static int by_parts(const ldg_device *dev, ldg_lane *lane, const ldg_work *w) {
  int e = LADING_OK;
  for (int64_t lo = w->lo; !e && lo < w->hi;) {
    const ldg_work part = part_of(w, lo, SCRATCH_MOST);
    e = through_scratch(dev, lane, &part);
    lo = part.hi;
  }
  return e;
}

static int by_path(const ldg_device *dev, ldg_lane *lane, const ldg_work *w) {
  const ldg_path path = ldg_queue_path(w);
  const bool packed = ldg_side_is_run(&w->side[LDG_SRC]) || ldg_side_is_run(&w->side[LDG_DST]);
  if (path == LDG_STAGED) return by_parts(dev, lane, w);
  if (path != LDG_DEVICE || packed) return ldg_queue_ship(dev, lane, w);
  const int e = ldg_queue_keep_tables(dev, lane, w); /* there is no scratch memory in a graph: it goes directly */
  return e && e != LADING_ERR_NOMEM ? e : by_parts(dev, lane, w); /* who needs them asks for them again */
}

/* ---- where memory is ---- */

static bool is_absolute(const ldg_work *w, int i) { return w->plan[i] && !w->side[i].base; }

static bool same_kind(lading_mem a, lading_mem b) { return a.kind == b.kind && a.device == b.device; }

/* A page is of one kind, and so is a run: no two allocations are next to each other. */
static uintptr_t page_of(const char *at) { return (uintptr_t)at >> 12; }

/* Segments from stream byte lo on that are in memory of one kind on that side: up to *end. */
static int segments_alike(const ldg_device *dev, const ldg_lane *lane, const ldg_work *w, int64_t lo, int i, lading_mem *kind, int64_t *end) {
  const ldg_side *s = &w->side[i];
  ldg_rep items;
  ldg_cursor c;
  int64_t off, len;
  uintptr_t page = 0;
  int e = ldg_rep_repeat_in(&items, s->count, s->extent, s->rep);
  if (e) return e;
  ldg_cursor_seek(&c, &items, lo);
  for (*end = lo; *end < w->hi && ldg_cursor_run(&c, &off, &len); *end += len) {
    const char *at = ldg_at(s->base, off);
    lading_mem next = *kind;
    if (*end == lo || page_of(at) != page) e = dev->query(dev, lane, at, &next);
    if (e || (*end > lo && !same_kind(*kind, next))) break;
    *kind = next, page = page_of(at + len - 1);
  }
  *end = ldg_min(*end, w->hi);
  return e;
}

typedef int per_part(const ldg_device *dev, ldg_lane *lane, const ldg_work *part);

/* ERR_UNSUPPORTED: bytes of one element are in memory of two kinds. */
static int each_alike(const ldg_device *dev, ldg_lane *lane, const ldg_work *w, int i, per_part *go) {
  int e = LADING_OK;
  for (int64_t lo = w->lo, end; !e && lo < w->hi;) {
    lading_mem kind = { LADING_MEM_UNKNOWN, 0 };
    e = segments_alike(dev, lane, w, lo, i, &kind, &end);
    if (e) break;
    ldg_work part = part_of(w, lo, end - lo);
    part.mem[i] = kind;
    e = part.hi > lo ? go(dev, lane, &part) : LADING_ERR_UNSUPPORTED;
    lo = part.hi;
  }
  return e;
}

static int check_segments(const ldg_device *dev, ldg_lane *lane, const ldg_work *w) {
  for (int i = LDG_SRC; i <= LDG_DST; i++)
    if (w->mem[i].kind == LADING_MEM_UNKNOWN && is_absolute(w, i)) return each_alike(dev, lane, w, i, check_segments);
  return LADING_OK;
}

/* Of a reduction that would cut an element nothing is enqueued. */
static int by_segments(const ldg_device *dev, ldg_lane *lane, const ldg_work *w, int i) {
  const int e = w->reduction.op == LADING_REPLACE ? LADING_OK : check_segments(dev, lane, w);
  return e ? e : each_alike(dev, lane, w, i, ldg_queue_carry);
}

static int ask(const ldg_device *dev, const ldg_lane *lane, ldg_work *w, int i) {
  const ldg_side *s = &w->side[i];
  if (w->mem[i].kind != LADING_MEM_UNKNOWN) return LADING_OK;
  return dev->query(dev, lane, ldg_at(s->base, s->rep->first + (w->plan[i] ? 0 : w->lo)), &w->mem[i]);
}

/* ---- all ---- */

/* Items that mesh count as if they coincided until it is looked at. */
static bool are_apart(const ldg_side *s) {
  ldg_rep items;
  ldg_rep_stats st;
  return s->count > 1 && ldg_rep_repeat_in(&items, s->count, s->extent, s->rep) == LADING_OK && ldg_rep_stats_of(&items, &st) == LADING_OK && !st.overlaps;
}

static int reduce_here(const ldg_device *dev, ldg_lane *lane, const ldg_work *w) {
  bool coincides;
  const int e = ldg_queue_coincides(w, &coincides);
  if (e) return e;
  return coincides && !are_apart(&w->side[LDG_DST]) ? LADING_ERR_UNSUPPORTED : by_chunks(dev, lane, w, reduced_here, 2);
}

int ldg_queue_carry(const ldg_device *dev, ldg_lane *lane, const ldg_work *work) {
  ldg_work w = *work;
  bool reached[2];
  for (int i = LDG_SRC; i <= LDG_DST; i++) {
    if (w.mem[i].kind == LADING_MEM_UNKNOWN && is_absolute(&w, i)) return by_segments(dev, lane, &w, i);
    const int e = ask(dev, lane, &w, i);
    if (e) return e;
    reached[i] = dev->reaches(lane, w.mem[i].kind);
  }
  if (reached[LDG_DST] && !ldg_queue_ships(&w)) return reduce_here(dev, lane, &w);
  if (reached[LDG_SRC] && reached[LDG_DST]) return by_path(dev, lane, &w);
  if (!reached[LDG_SRC] && !reached[LDG_DST]) return call(dev, lane, &w, no_chunk);
  return by_chunks(dev, lane, &w, reached[LDG_DST] ? from_host : to_host, 1);
}

int ldg_queue_reaches(const ldg_device *dev, ldg_lane *lane, ldg_work *w, bool *out) {
  *out = true;
  for (int i = LDG_SRC; i <= LDG_DST && *out; i++) {
    const bool known = w->mem[i].kind != LADING_MEM_UNKNOWN || !is_absolute(w, i);
    const int e = known ? ask(dev, lane, w, i) : LADING_OK;
    if (e) return e;
    *out = known && dev->reaches(lane, w->mem[i].kind);
  }
  return LADING_OK;
}
