/* rep: longer facts. Equality, hash and memory by content; run lengths and order by composition, without expanding loops;
 * and whether some byte appears twice. */
#define XXH_INLINE_ALL
#include "rep_map.h"

#include <stdlib.h>
#include <xxhash.h>

/* A join of many copies of one kid: what holds for the kid before holds for this one. */
static bool same_as_before(const ldg_rep *r, int64_t i) {
  return i > 0 && r->kids[i] == r->kids[i - 1];
}

/* ---- by content ------------------------------------------------------------------------------------------------------ */

static bool same_array(const int64_t *a, const int64_t *b, int64_t n) {
  if (!a || !b) return a == b;
  return memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

static bool same_node(const ldg_rep *a, const ldg_rep *b) {
  return a->kind == b->kind && a->n == b->n && a->stride == b->stride && a->size == b->size && a->depth == b->depth &&
         a->nodes == b->nodes && a->first == b->first && a->end == b->end && a->runs == b->runs &&
         same_array(a->at, b->at, a->n) && same_array(a->cnt, b->cnt, a->n);
}

/* Hashes that are known; nothing is hashed to find out. */
static bool hashes_differ(const ldg_rep *a, const ldg_rep *b) {
  const uint64_t x = atomic_load_explicit(&((ldg_rep *)a)->hash, memory_order_relaxed);
  const uint64_t y = atomic_load_explicit(&((ldg_rep *)b)->hash, memory_order_relaxed);
  return x && y && x != y;
}

/* Nodes that are equal, or still under way: one that differs ends it all, so either may be passed over. `met` leads each to another one of
 * its class, and none has more classes to join than there are nodes: time follows the nodes, whichever come with which. */
static const ldg_rep *class_of(ldg_map *met, const ldg_rep *r) {
  const ldg_rep *top = r, *up;
  while ((up = ldg_map_get(met, top))) top = up;
  for (; (up = ldg_map_get(met, r)); r = up) *ldg_map_put(met, r) = (void *)(uintptr_t)top; /* so that the way is short from now on */
  return top;
}

static bool are_one_class(ldg_map *met, const ldg_rep *a, const ldg_rep *b) {
  a = class_of(met, a), b = class_of(met, b);
  if (a == b) return true;
  void **up = ldg_map_put(met, a);
  if (up) *up = (void *)(uintptr_t)b;
  return false;
}

static bool equal(ldg_map *met, const ldg_rep *a, const ldg_rep *b) {
  if (a == b) return true;
  if (hashes_differ(a, b)) return false;
  if (a->depth > 1 && (ldg_rep_shared(a) || ldg_rep_shared(b)) && are_one_class(met, a, b)) return true;
  if (!same_node(a, b)) return false;
  for (int64_t i = 0; a->kids && i < a->n; i++) {
    if (same_as_before(a, i) && same_as_before(b, i)) continue;
    if (!equal(met, a->kids[i], b->kids[i])) return false;
  }
  return !a->child || equal(met, a->child, b->child);
}

bool ldg_map_equal(ldg_map *met, const ldg_rep *a, const ldg_rep *b) {
  if (a == b) return true;
  if (a->size == b->size && a->kind == b->kind && equal(met, a, b)) return true;
  ldg_map_close(met);
  return false;
}

bool ldg_rep_equal(const ldg_rep *a, const ldg_rep *b) {
  ldg_map met;
  ldg_map_open(&met);
  const bool same = ldg_map_equal(&met, a, b);
  ldg_map_close(&met);
  return same;
}

static uint64_t mix(uint64_t h, const int64_t *words, int64_t n) {
  return XXH3_64bits_withSeed(words, (size_t)n * sizeof *words, h);
}

static uint64_t hash_anew(const ldg_rep *r) {
  int64_t node[4] = { r->kind + (r->cnt ? 8 : 0), r->n, r->stride, r->child ? (int64_t)ldg_rep_hash(r->child) : 0 };
  uint64_t h = mix(0, node, 4);
  if (r->at) h = mix(h, r->at, r->n);
  if (r->cnt) h = mix(h, r->cnt, r->n);
  int64_t kid = 0;
  for (int64_t i = 0; r->kids && i < r->n; i++) {
    if (!same_as_before(r, i)) kid = (int64_t)ldg_rep_hash(r->kids[i]);
    h = mix(h, &kid, 1);
  }
  return h;
}

/* All who race write the same word. */
uint64_t ldg_rep_hash(const ldg_rep *shared) {
  ldg_rep *r = (ldg_rep *)shared;
  uint64_t h = atomic_load_explicit(&r->hash, memory_order_relaxed);
  if (h) return h;
  h = hash_anew(r);
  if (atomic_load_explicit(&r->refs, memory_order_relaxed) != LDG_IMMORTAL) atomic_store_explicit(&r->hash, h, memory_order_relaxed);
  return h;
}

int64_t ldg_rep_node_memory(const ldg_rep *r) {
  return (int64_t)sizeof *r + 8 * ((r->at ? r->n : 0) + (r->cnt ? r->n : 0) + (r->kids ? r->n : 0) + (r->psum ? r->n + 1 : 0));
}

/* Equal parts count once, whether or not they are one object: the figure is one of the content. */
static bool weighed(ldg_map *met, const ldg_rep *r) {
  if (r->kind == LDG_BYTES) return false;
  void **v = ldg_map_put(met, ldg_map_by_content(r));
  const bool before = v && *v;
  if (v) *v = met;
  return before;
}

static int64_t memory(ldg_map *met, const ldg_rep *r) {
  int64_t bytes = ldg_rep_node_memory(r);
  if (r->child && !weighed(met, r->child)) bytes += memory(met, r->child);
  for (int64_t i = 0; r->kids && i < r->n; i++)
    if (!same_as_before(r, i) && !weighed(met, r->kids[i])) bytes += memory(met, r->kids[i]);
  return bytes;
}

int64_t ldg_rep_memory(const ldg_rep *r) {
  ldg_map met;
  ldg_map_open(&met);
  const int64_t bytes = memory(&met, r);
  ldg_map_close(&met);
  return bytes;
}

/* ---- run lengths and order ------------------------------------------------------------------------------------------- */

/* A stretch of the stream. Its first and last run may still grow into their neighbours; those between are done. */
typedef struct stretch {
  int64_t first, end;         /* offsets, as in a rep */
  int64_t head, tail;         /* lengths of the first and last run; head 0: an empty stretch */
  int64_t min, max;           /* of the runs between */
  bool single;                /* head and tail are one and the same run */
  bool rises, climbs;         /* offsets never decrease; always increase */
} stretch;

static void close_run(stretch *s, int64_t len) {
  s->min = ldg_min(s->min, len);
  s->max = ldg_max(s->max, len);
}

/* a, then b moved by `at`. */
static void append(stretch *a, int64_t at, const stretch *b) {
  if (b->head == 0) return;
  if (a->head == 0) {
    *a = *b;
    a->first = ldg_rep_move(at, b->first);
    a->end = ldg_rep_move(at, b->end);
    return;
  }
  int64_t next = ldg_rep_move(at, b->first);
  bool touch = next == a->end, was_single = a->single;
  int64_t met = a->tail + b->head;
  a->min = ldg_min(a->min, b->min);
  a->max = ldg_max(a->max, b->max);
  if (touch && was_single) a->head = met;
  if (touch && !was_single && !b->single) close_run(a, met);
  if (!touch && !was_single) close_run(a, a->tail);
  if (!touch && !b->single) close_run(a, b->head);
  a->tail = touch && b->single ? met : b->tail;
  a->single = touch && was_single && b->single;
  a->rises &= b->rises && next >= a->end - 1;
  a->climbs &= b->climbs && next >= a->end;
  a->end = ldg_rep_move(at, b->end);
}

/* n copies. From the third on, a copy adds no length that was not there before, unless all of them are one run. */
static stretch copies(int64_t n, int64_t stride, const stretch *k) {
  stretch s = { 0 };
  if (n == 0 || k->head == 0) return s;
  s = *k;
  if (k->single && k->end - k->first == stride) s.head = s.tail = n * k->head;
  else for (int64_t i = 1; i < ldg_min(n, 3); i++) append(&s, i * stride, k);
  s.end = ldg_rep_move(k->end, (n - 1) * stride);
  return s;
}

/* The stretch of a node alone on its stack frame, and those of kids that were met before: a kid's stretch is kept where it
 * may come again. */
static stretch stretch_of(ldg_map *met, const ldg_rep *r);

static stretch stretch_of_kid(ldg_map *met, const ldg_rep *k) {
  if (k->runs == 1 || !ldg_rep_shared(k)) return stretch_of(met, k);
  stretch *known = ldg_map_get(met, k);
  if (known) return *known;
  const stretch s = stretch_of(met, k);
  void **keep = ldg_map_put(met, k);
  if (keep && (*keep = ldg_alloc(sizeof s))) *(stretch *)*keep = s;
  return s;
}

static stretch stretch_of(ldg_map *met, const ldg_rep *r) {
  stretch s = { 0 }, k = { 0 };
  if (r->runs == 1)
    return (stretch){ .first = r->first, .end = r->end, .head = r->size, .tail = r->size, .min = INT64_MAX, .single = true,
                      .rises = true, .climbs = true };
  if (r->child) k = stretch_of_kid(met, r->child);
  if (r->kind == LDG_REPEAT) return copies(r->n, r->stride, &k);
  for (int64_t i = 0; r->at && i < r->n; i++) {
    if (r->kids && !same_as_before(r, i)) k = stretch_of_kid(met, r->kids[i]);
    stretch e = r->cnt ? copies(r->cnt[i], r->stride, &k) : k;
    append(&s, r->at[i], &e);
  }
  return s;
}

static stretch whole_stretch(const ldg_rep *r) {
  ldg_map met;
  ldg_map_open(&met);
  const stretch s = stretch_of(&met, r);
  int64_t i = 0;
  for (void *kept; (kept = ldg_map_next(&met, &i));) ldg_free(kept);
  ldg_map_close(&met);
  return s;
}

/* ---- does a byte appear twice? ---------------------------------------------------------------------------------------- */

static int64_t magnitude(int64_t v) {
  return v < 0 ? -v : v;
}

/* Copies of the child at this stride keep clear of each other. */
static bool strides_clear(int64_t stride, const ldg_rep *child) {
  int64_t span = child->hi - child->lo;
  return stride >= span || stride <= -span;
}

/* The offsets that the children of entry i span; false when there are none. */
static bool entry_span(const ldg_rep *r, int64_t i, int64_t *lo, int64_t *hi) {
  const ldg_rep *k = r->kids ? r->kids[i] : r->child;
  int64_t n = r->cnt ? r->cnt[i] : 1;
  if (n == 0 || k->size == 0) return false;
  int64_t step = (n - 1) * r->stride;
  *lo = ldg_rep_move(r->at[i], k->lo + ldg_min(step, 0));
  *hi = ldg_rep_move(r->at[i], k->hi + ldg_max(step, 0));
  return true;
}

#define FEW 64

/* The spans of a few entries, in any order: sorted on the stack. */
static bool few_apart(const ldg_rep *r) {
  struct { int64_t lo, hi; } span[FEW];
  int n = 0;
  for (int64_t i = 0; i < r->n; i++) {
    int64_t lo, hi;
    if (!entry_span(r, i, &lo, &hi)) continue;
    int j = n++;
    for (; j > 0 && span[j - 1].lo > lo; j--) span[j] = span[j - 1];
    span[j].lo = lo, span[j].hi = hi;
  }
  for (int i = 1; i < n; i++)
    if (span[i].lo < span[i - 1].hi) return false;
  return true;
}

/* The spans of the entries are in ascending or descending order, or apart all the same if they are few. */
static bool entries_apart(const ldg_rep *r) {
  bool up = true, down = true, any = false;
  int64_t lo, hi, prev_lo = 0, prev_hi = 0;
  for (int64_t i = 0; i < r->n && (up || down || r->n <= FEW); i++) {
    if (!entry_span(r, i, &lo, &hi)) continue;
    if (r->cnt && r->cnt[i] > 1 && !strides_clear(r->stride, r->child)) return false;
    up &= !any || lo >= prev_hi;
    down &= !any || hi <= prev_lo;
    prev_lo = lo;
    prev_hi = hi;
    any = true;
  }
  return up || down || (r->n <= FEW && few_apart(r));
}

/* Children of one node cannot meet each other, only themselves. */
static bool children_apart(const ldg_rep *r) {
  if (r->kind == LDG_REPEAT) return r->n < 2 || strides_clear(r->stride, r->child);
  return r->kind == LDG_BYTES || entries_apart(r);
}

/* One loop, seen as a set of offsets: any two are at least `gap` apart and at most `reach`. */
typedef struct loop {
  int64_t gap, reach, n;
} loop;

static void sort_by_gap(loop *l, int n) {
  for (int i = 1; i < n; i++)
    for (int j = i; j > 0 && l[j].gap < l[j - 1].gap; j--) {
      loop t = l[j];
      l[j] = l[j - 1];
      l[j - 1] = t;
    }
}

/* Offsets of blocks that strictly rise or fall. */
static bool loop_of_list(int64_t n, const int64_t *at, loop *out) {
  int64_t least = INT64_MAX, most = INT64_MIN;
  for (int64_t i = 1; i < n; i++) {
    int64_t d = at[i] - at[i - 1];
    least = ldg_min(least, d);
    most = ldg_max(most, d);
  }
  if (least <= 0 && most >= 0) return false;
  *out = (loop){ ldg_min(magnitude(least), magnitude(most)), magnitude(at[n - 1] - at[0]), n };
  return true;
}

/* The loops around the first node that is not one, which is returned. A loop never runs over an empty child here. */
static const ldg_rep *peel(const ldg_rep *r, bool lists, loop *l, int *n) {
  for (*n = 0; r->runs > 1; r = r->child) {
    bool list = lists && r->kind == LDG_BLOCKS && !r->cnt;
    if (r->kind != LDG_REPEAT && !list) return r;
    if (r->n == 1) continue;
    if (!list) l[*n] = (loop){ magnitude(r->stride), (r->n - 1) * magnitude(r->stride), r->n };
    else if (!loop_of_list(r->n, r->at, &l[*n])) return r;
    ++*n;
  }
  return r;
}

/* Are copies of what the loops run over, *inner, apart? Two index vectors that differ first in a loop of gap g are at least g apart there; what
 * the loops of smaller gap add to that is less than their span. Not inlined: its loops are not to be on the stack while children are looked at. */
static __attribute__((noinline)) bool loops_apart(const ldg_rep *r, const ldg_rep **inner) {
  loop l[LDG_DEPTH_MAX + 1];
  int n;
  const ldg_rep *k = *inner = peel(r, true, l, &n);
  int64_t span = k->hi - k->lo;
  sort_by_gap(l, n);
  for (int i = 0; i < n; i++) {
    if (l[i].gap < span) return false;
    span += l[i].reach;
  }
  return true;
}

/* Whoever comes here with r has remembered it; what loops that nobody shares run over may be shared all the same. */
static bool disjoint(ldg_map *met, const ldg_rep *r) {
  const ldg_rep *k;
  if (r->runs <= 1) return true;
  if (!loops_apart(r, &k)) return false;
  if (k->runs == 1 || (k != r && ldg_map_met(met, k))) return true;
  if (!children_apart(k)) return false;
  for (int64_t i = 0; k->kids && i < k->n; i++)
    if (!same_as_before(k, i) && !ldg_map_met(met, k->kids[i]) && !disjoint(met, k->kids[i])) return false;
  return !k->child || ldg_map_met(met, k->child) || disjoint(met, k->child);
}

bool ldg_rep_disjoint(const ldg_rep *r) {
  ldg_map met;
  if (r->runs <= 1) return true;
  ldg_map_open(&met);
  const bool apart = disjoint(&met, r);
  ldg_map_close(&met);
  return apart;
}

/* What a search for overlaps may spend, over all nodes together; when it is spent, the answer is yes. */
typedef struct look {
  ldg_map met;   /* nodes with no overlap inside: one that has some ends it all */
  int64_t runs;  /* to be sorted */
  int steps;     /* of the search through loops */
} look;
#define LOOK_RUNS ((int64_t)1 << 20)
#define LOOK_STEPS (1 << 20)

/* Looks for two index vectors whose offsets differ by less than the block. Loops come by falling stride; `off` is the
 * difference so far, and left[k] how far the loops from k on and the block can still move it. */
typedef struct search {
  loop l[LDG_DEPTH_MAX + 1];
  int64_t left[LDG_DEPTH_MAX + 2];
  int n, *steps;
} search;

/* The greatest d <= most with d * gap <= room; room >= -most * gap. */
static int64_t steps_within(__int128 room, int64_t gap, int64_t most) {
  __int128 d = room / gap - (room % gap < 0);
  return d > most ? most : (int64_t)d;
}

static bool may_meet(search *s, int i, int64_t off, bool differ) {
  if (i == s->n) return differ;
  int64_t gap = s->l[i].gap, left = s->left[i + 1], most = s->l[i].n - 1;
  int64_t from = -steps_within((__int128)left + off, gap, most), to = steps_within((__int128)left - off, gap, most);
  /* a pair and its mirror image are one: the first difference may be taken as positive */
  if (!differ) from = 0;
  for (int64_t d = from; d <= to; d++) {
    if (--*s->steps < 0) return true;
    if (may_meet(s, i + 1, off + d * gap, differ || d)) return true;
  }
  return false;
}

/* Copies of whatever the loops run over meet, span for span; true also where the search gives up. */
static __attribute__((noinline)) bool loops_may_meet(int *steps, const ldg_rep *r, const ldg_rep **inner) {
  search s;
  loop up[LDG_DEPTH_MAX + 1];
  *inner = peel(r, false, up, &s.n);
  sort_by_gap(up, s.n);
  if (s.n && up[0].gap == 0) return true;
  s.left[s.n] = (*inner)->hi - (*inner)->lo - 1;
  for (int i = s.n - 1; i >= 0; i--) {
    s.l[i] = up[s.n - 1 - i];
    s.left[i] = s.left[i + 1] + s.l[i].reach;
  }
  s.steps = steps;
  return may_meet(&s, 0, 0, false);
}

typedef struct run {
  int64_t off, len;
} run;

static int by_offset(const void *a, const void *b) {
  int64_t x = ((const run *)a)->off, y = ((const run *)b)->off;
  return (x > y) - (x < y);
}

/* Exact: every run, in order of offsets. */
static int sort_and_look(const ldg_rep *r, bool *out) {
  run *v = ldg_alloc((int64_t)sizeof *v * r->runs);
  if (!v) return LADING_ERR_NOMEM;
  ldg_cursor c;
  ldg_cursor_seek(&c, r, 0);
  int64_t n = 0;
  while (n < r->runs && ldg_cursor_run(&c, &v[n].off, &v[n].len)) n++;
  qsort(v, (size_t)n, sizeof *v, by_offset);
  *out = false;
  for (int64_t i = 1; i < n && !*out; i++) *out = v[i].off - v[i - 1].off < v[i - 1].len;
  ldg_free(v);
  return LADING_OK;
}

static int overlaps(look *k, const ldg_rep *r, bool *out);

static int children_overlap(look *k, const ldg_rep *r, bool *out) {
  *out = false;
  if (r->child) return ldg_map_met(&k->met, r->child) ? LADING_OK : overlaps(k, r->child, out);
  for (int64_t i = 0; r->kids && i < r->n && !*out; i++) {
    int rc = same_as_before(r, i) || ldg_map_met(&k->met, r->kids[i]) ? LADING_OK : overlaps(k, r->kids[i], out);
    if (rc) return rc;
  }
  return LADING_OK;
}

/* From the cheapest argument to the dearest. */
static int overlaps(look *k, const ldg_rep *r, bool *out) {
  const ldg_rep *inner;
  *out = r->size > r->hi - r->lo;
  if (*out || ldg_rep_disjoint(r)) return LADING_OK;
  if (children_apart(r)) return children_overlap(k, r, out);
  if (r->runs <= k->runs) {
    k->runs -= r->runs;
    return sort_and_look(r, out);
  }
  *out = loops_may_meet(&k->steps, r, &inner) || inner == r;
  return *out || ldg_map_met(&k->met, inner) ? LADING_OK : overlaps(k, inner, out);
}

static int whole_overlaps(const ldg_rep *r, bool *out) {
  look k = { .runs = 2 * LOOK_RUNS, .steps = LOOK_STEPS }; /* parts that touch have more runs than the whole: each has two, and loses one at most */
  ldg_map_open(&k.met);
  const int rc = overlaps(&k, r, out);
  ldg_map_close(&k.met);
  return rc;
}

int ldg_rep_stats_of(const ldg_rep *r, ldg_rep_stats *out) {
  if (r->runs == 0) {
    *out = (ldg_rep_stats){ 0, 0, true, false };
    return LADING_OK;
  }
  stretch s = whole_stretch(r);
  bool twice = s.rises && !s.climbs;
  int rc = s.rises ? LADING_OK : whole_overlaps(r, &twice);
  if (rc) return rc;
  int64_t least = ldg_min(s.head, s.tail), most = ldg_max(s.head, s.tail);
  *out = (ldg_rep_stats){ ldg_min(s.min, least), ldg_max(s.max, most), s.rises, twice };
  return LADING_OK;
}

/* ---- fields ---- */

typedef struct fields { const ldg_fields *to; int64_t off, pos; bool to_memory; } fields;
static int add_field(void *arg, int64_t off, int64_t pos, int64_t len) {
  const fields *f = arg;
  const int64_t mem = f->off + off, packed = f->pos + pos;
  return !ldg_field_add(f->to, f->to_memory ? (ldg_field){ packed, mem, len } : (ldg_field){ mem, packed, len });
}
bool ldg_rep_fields(const ldg_rep *r, bool to_memory, int64_t off, int64_t pos, const ldg_fields *to) {
  return ldg_rep_walk(r, 0, r->size, add_field, &(fields){ to, off, pos, to_memory }) == 0;
}
