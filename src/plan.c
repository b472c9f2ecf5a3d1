/* The planner: a tree of steps shaped like the canonical tree, each with the cheapest able strategy per direction. */
#include "plan.h"

#include "nest_tree.h"
#include "plan_jit.h"
#include "plan_joint.h"
#include "plan_pair.h"
#include "plan_tree.h"
#include "rep_map.h"

#include <pthread.h>

/* ---- the strategy table ---- */

#define BACKEND LDG_PLAN_BACKEND

int ldg_plan_strategies(void) { return BACKEND->n + LDG_TREE_STRATEGIES; }
const ldg_strategy *ldg_plan_strategy(int i) {
  return i < BACKEND->n ? &BACKEND->strategies[i] : &ldg_tree_table[i - BACKEND->n].row;
}

/* "/name" and "*name" are for roots alone; whoever is below is asked with below(). */
static bool root_only(const char *force) { return force && (*force == '/' || *force == '*'); }
static const char *below(const char *force) { return root_only(force) ? NULL : force; }
static bool forced(const char *name, const char *force) { return force && !strcmp(name, force + root_only(force)); }

#define ABLE_MAX 32
static int able(const ldg_nest *nest, const ldg_strategy *out[ABLE_MAX]) {
  int n = 0;
  for (int i = 0; i < BACKEND->n && n < ABLE_MAX; i++)
    if (!BACKEND->strategies[i].why_not(nest)) out[n++] = &BACKEND->strategies[i];
  return n;
}

/* Of strategies in a row that share a cost it is found once. */
static const ldg_strategy *cheapest(const ldg_nest *nest, const ldg_strategy *const *list, int n, double *least) {
  const ldg_strategy *best = NULL;
  double all = 0;
  for (int i = 0; i < n; i++) {
    if (i == 0 || list[i]->cost != list[i - 1]->cost) all = list[i]->cost(nest);
    const double c = ldg_strategy_share(list[i], nest, all);
    if (!best || c < *least) best = list[i], *least = c;
  }
  return best;
}

static bool plan_nest(ldg_job *job, const ldg_nest *given, bool once, const char *force, double *cost) {
  const ldg_strategy *list[ABLE_MAX], *best;
  const ldg_nest *nest = &job->nest;
  double least = 0;
  job->nest = *given, job->nest.once |= once;
  int n = able(nest, list);
  for (int i = 0; i < n; i++)
    if (forced(list[i]->name, force)) list[0] = list[i], n = 1;
  best = n == 1 && !cost ? list[0] : cheapest(nest, list, n, &least); /* of one there is nothing to weigh up */
  if (!best) return false;
  job->name = best->name, job->aux = NULL;
  best->prepare(job);
  if (cost) *cost = least;
  return true;
}

bool ldg_plan_nest(ldg_job *job, const ldg_nest *nest, const char *force, double *cost) { return plan_nest(job, nest, false, force, cost); }
bool ldg_plan_once(ldg_job *job, const ldg_nest *nest) { return plan_nest(job, nest, true, NULL, NULL); }

static bool has_nest(const ldg_step *s, int dir) { return s->job[dir].nest.block > 0; }

double ldg_plan_step_cost(const ldg_step *s, int dir) {
  for (int i = 0; s->cost[dir] < 0 && i < BACKEND->n; i++)
    if (!strcmp(BACKEND->strategies[i].name, s->job[dir].name)) return ldg_strategy_cost(&BACKEND->strategies[i], &s->job[dir].nest);
  return s->cost[dir];
}

/* Chooses the job of one direction. job->nest is set if the step is one nest, and a nest beats every way down the tree. */
static int choose(ldg_step *s, int dir, const char *force) {
  const ldg_nest nest = s->job[dir].nest;
  double least = -1;
  const bool found = has_nest(s, dir) && ldg_plan_nest(&s->job[dir], &nest, force, NULL);
  const ldg_tree_strategy *best = NULL;
  bool wanted = found && (!force || forced(s->job[dir].name, force));
  for (int i = 0; i < LDG_TREE_STRATEGIES && !wanted; i++) {
    const ldg_tree_strategy *t = &ldg_tree_table[i];
    wanted = forced(t->row.name, force);
    if ((found && !wanted) || t->why_not(s, dir)) { wanted = false; continue; }
    const double c = t->cost(s, dir);
    if (!best || c < least || wanted) best = t, least = c;
  }
  s->cost[dir] = least;
  if (!best) return LADING_OK;
  s->job[dir].name = best->row.name;
  return best->prepare(s, dir, below(force));
}

/* ---- steps ---- */

static void close_step(ldg_step *s);
static void free_step(ldg_step *s) {
  if (!s || s->shared-- > 0) return;
  close_step(s);
  ldg_free(s);
}
static void close_step(ldg_step *s) {
  ldg_jit_unwrap(s); /* first: it may be looked at just now */
  if (s->kids) for (int64_t i = 0; i < s->n; i++) free_step(s->kids[i]);
  ldg_free(s->kids), ldg_free(s->at4), ldg_free(s->where), ldg_free(s->aux[LDG_PACK]), ldg_free(s->aux[LDG_UNPACK]);
  free_step(s->child), ldg_rep_free(s->copies);
}

/* Offsets in 4 bytes: half the table traffic of a gather. */
static int short_offsets(ldg_step *s) {
  const ldg_rep *r = s->rep;
  if (r->lo < INT32_MIN || r->hi > INT32_MAX) return LADING_OK;
  s->at4 = ldg_alloc(r->n * (int64_t)sizeof *s->at4);
  if (!s->at4) return LADING_ERR_NOMEM;
  for (int64_t i = 0; i < r->n; i++) s->at4[i] = (int32_t)r->at[i];
  return LADING_OK;
}

#define SEARCHED 64 /* entries: fewer are bisected in no time */
#define BUCKET 4

/* A bisection of many prefix sums takes as long as 1 or 2 KiB to move: here it begins among few. */
static int index_entries(ldg_step *s) {
  const ldg_rep *r = s->rep;
  if (s->thin || !r->psum || r->n < SEARCHED || r->n > INT32_MAX) return LADING_OK;
  while (r->size >> s->shift > r->n / BUCKET) s->shift++;
  const int64_t last = (r->size >> s->shift) + 1; /* what is in the bucket before it ends by the last entry */
  s->where = ldg_alloc((last + 1) * (int64_t)sizeof *s->where);
  if (!s->where) return LADING_ERR_NOMEM;
  s->where[last] = (int32_t)r->n - 1;
  for (int64_t b = 0, i = 0; b < last; s->where[b++] = (int32_t)i)
    while (i < r->n - 1 && (uint64_t)r->psum[i + 1] <= (uint64_t)b << s->shift) i++;
  return LADING_OK;
}

/* The nest of a step, memory to packed; block 0 when it is not one nest. */
static int nest_of_step(ldg_step *s, ldg_nest *n) {
  const ldg_rep *r = s->rep;
  if (!ldg_nest_of(r, n) && !ldg_nest_of_list(r, n)) ldg_nest_blank(n);
  if (r->kind == LDG_BYTES) n->dim[n->nd++] = (ldg_dim){ 1, r->n, r->n };
  if (r->kind != LDG_BLOCKS || r->cnt) return LADING_OK;
  const int e = short_offsets(s); /* where this is no nest, terms may run it as lists */
  n->at4 = s->at4;
  return e;
}

/* What steps are opened with: the steps of nodes that are there more than once, which have one each, with one table of offsets; and what is forced, below the root the same everywhere. */
typedef struct opening { ldg_map *met; const char *force; } opening;
static opening opening_below(const opening *o) { return (opening){ o->met, below(o->force) }; }

static int open_step(ldg_step *s, const ldg_rep *r, const opening *o);
static int new_step(ldg_step **out, const ldg_rep *r, const opening *o) {
  if (r->kind == LDG_BYTES) return LADING_OK; /* NULL stands for bytes */
  const bool shares = ldg_rep_shared(r);
  ldg_step *met = shares ? ldg_map_get(o->met, r) : NULL;
  if (met) return met->shared++, *out = met, LADING_OK;
  if (!(*out = ldg_alloc(sizeof **out))) return LADING_ERR_NOMEM;
  const int e = open_step(*out, r, o);
  void **place = shares && !e ? ldg_map_put(o->met, r) : NULL;
  if (place) *place = *out;
  return e;
}

static int open_copies(ldg_step *s, const opening *o) {
  const ldg_rep *r = s->rep;
  int64_t most = 1;
  if (ldg_nest_of_list(r, &(ldg_nest){ 0 })) return LADING_OK; /* one run an entry */
  for (int64_t i = 0; i < r->n; i++) most = ldg_max(most, r->cnt[i]);
  const int e = ldg_rep_repeat(most, r->stride, r->child, &s->copies);
  return e ? e : new_step(&s->child, s->copies, o);
}

/* Written-out nodes that get a step each. Shared children are few nodes of description and may be very many of these. */
#define STEPS_MAX (1 << 16)

static int open_kids(ldg_step *s, const opening *o) {
  const ldg_rep *r = s->rep;
  s->thin = r->nodes > STEPS_MAX;
  if (s->thin) return LADING_OK;
  if (r->cnt) return open_copies(s, o);
  if (r->kind == LDG_REPEAT || r->kind == LDG_BLOCKS) return new_step(&s->child, r->child, o);
  if (r->kind != LDG_JOIN) return LADING_OK;
  s->kids = ldg_alloc(r->n * (int64_t)sizeof *s->kids);
  if (!s->kids) return LADING_ERR_NOMEM;
  memset(s->kids, 0, (size_t)r->n * sizeof *s->kids);
  int e = LADING_OK;
  for (int64_t i = 0; i < r->n && !e; i++) e = new_step(&s->kids[i], r->kids[i], o);
  return e;
}

/* Both directions of a step from its nest (if it is one), memory to packed. */
static int both_ways(ldg_step *s, ldg_nest *n, bool ordered, const char *force) {
  n->ordered = false;
  s->job[LDG_PACK].nest = *n;
  s->job[LDG_UNPACK].nest = ldg_nest_swapped(*n);
  s->job[LDG_UNPACK].nest.ordered = ordered;
  int e = choose(s, LDG_PACK, force);
  if (!e) e = choose(s, LDG_UNPACK, force);
  for (int dir = LDG_PACK; dir <= LDG_UNPACK && !e; dir++)
    if (ldg_jit_lets(force)) ldg_jit_wrap(s, dir);
  return e;
}

static void blank(ldg_step *s, const ldg_rep *r) {
  memset(s, 0, offsetof(ldg_step, job));
  s->rep = r, s->size = r->size;
  s->n = r->kind == LDG_BYTES ? 1 : r->n;
  s->each = r->psum ? 0 : r->kind == LDG_BYTES ? r->size : r->child->size;
  if (s->each) s->per_each = ldg_inverse_of(s->each, 63);
  s->stride[0] = r->stride, s->stride[1] = s->each;
}

/* On an error the caller closes the step. */
static int open_step(ldg_step *s, const ldg_rep *r, const opening *o) {
  ldg_nest n;
  const opening kids = opening_below(o);
  blank(s, r);
  int e = open_kids(s, &kids);
  if (!e) e = nest_of_step(s, &n);
  if (!e) e = index_entries(s);
  return e ? e : both_ways(s, &n, !ldg_rep_disjoint(r), o->force);
}

/* ---- plans ---- */

/* The largest number of items that provably do not overlap; 0: one does. Far items never do; interleaved ones by bisection. */
static int64_t distinct_items(const ldg_rep *r, int64_t extent) {
  if (!ldg_rep_disjoint(r)) return 0;
  if (extent >= r->hi - r->lo || extent <= r->lo - r->hi) return INT64_MAX;
  int64_t lo = 1, hi = (int64_t)1 << 32;
  while (lo + 1 < hi) {
    ldg_rep many;
    const int64_t mid = lo + (hi - lo) / 2;
    const bool fits = !ldg_rep_repeat_in(&many, mid, extent, r) && ldg_rep_disjoint(&many);
    *(fits ? &lo : &hi) = mid;
  }
  return lo;
}

#define MANY 64 /* the count of items that strategies for many are chosen for */
#define LONG (INT64_MAX >> 16) /* iterations: an item of more is many by itself */

/* Of MANY items, or as many as 64 bits can say the facts of. */
static int repeat_many(ldg_plan *p, int64_t stride, const ldg_rep *child) {
  int e = LADING_ERR_OVERFLOW;
  for (int64_t items = MANY; e == LADING_ERR_OVERFLOW && items > 0; items /= 2) e = ldg_rep_repeat_in(&p->many_rep, items * p->per, stride, child);
  return e;
}

/* The step for any number of items: the outer loop of `one` goes on where an item ends, or there is one more loop. What is best for many need not be best for one. */
static int open_many(ldg_plan *p, const ldg_rep *r, const char *force) {
  ldg_step *m = &p->many;
  ldg_nest n;
  const bool safe = p->distinct > 1 || p->one.job[LDG_UNPACK].nest.ordered;
  const bool goes_on = safe && r->kind == LDG_REPEAT && r->n <= LONG && (__int128)r->n * r->stride == p->extent;
  p->per = goes_on ? r->n : 1;
  int e = goes_on ? repeat_many(p, r->stride, r->child) : repeat_many(p, p->extent, r);
  if (e) return e;
  blank(m, &p->many_rep);
  m->child = goes_on ? p->one.child : r->kind == LDG_BYTES ? NULL : &p->one;
  m->thin = goes_on && p->one.thin; /* else `one` is, if there is need */
  e = nest_of_step(m, &n);
  n.any = true;
  return e ? e : both_ways(m, &n, p->distinct <= 1, force && *force == '/' ? NULL : force);
}

static void close_plan(ldg_plan *p) {
  ldg_jit_forget(p); /* of its pairs */
  ldg_joint_free(p);
  p->many.child = NULL; /* `one`, or its child */
  close_step(&p->many), close_step(&p->one);
  ldg_layout_release(p->layout);
  ldg_free(p);
}

/* Offsets of that many items stay in 64 bits, and if they overlap it is the job that keeps them in order. */
static int64_t easy_items(const ldg_plan *p, int dir) {
  const int64_t few = INT64_C(1) << 31, far = INT64_C(1) << 61;
  const ldg_rep *r = p->layout->rep;
  if (p->extent >= few || p->extent <= -few || r->size >= few || r->hi >= far || r->lo <= -far) return 1;
  return dir == LDG_UNPACK && p->distinct > 1 ? ldg_min(few - 1, p->distinct) : few - 1;
}

static uint64_t next_serial(void) {
  static _Atomic uint64_t last;
  return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

static ldg_job bytes_job, part_job;
const ldg_job *const ldg_plan_bytes = &bytes_job, *const ldg_plan_part = &part_job;
/* All layouts and threads share them: of what so many calls find in which cache there is nothing to learn. */
static void make_bytes(void) {
  ldg_plan_nest(&bytes_job, &(ldg_nest){ .block = 1, .nd = 1, .once = true, .dim = { { INT64_MAX, 1, 1 } } }, "memcpy", NULL);
  ldg_plan_nest(&part_job, &(ldg_nest){ .block = 1, .nd = 1, .once = true, .part = true, .dim = { { LDG_PLAN_LONG, 1, 1 } } }, "memcpy", NULL);
}

static int make(const ldg_layout *l, int64_t extent, const char *force, ldg_plan **out) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  ldg_plan *p = ldg_alloc(sizeof *p);
  if (!p) return LADING_ERR_NOMEM;
  pthread_once(&once, make_bytes);
  memset(&p->entry, 0, sizeof p->entry);
  atomic_init(&p->tile, 0), memset(p->op_way, 0, sizeof p->op_way);
  p->serial = next_serial();
  memset(p->pair, 0, sizeof p->pair);
  atomic_init(&p->unpaired, 0), memset(&p->joints, 0, sizeof p->joints);
  const ldg_rep *r = l->rep;
  p->layout = ldg_layout_ref(l), p->size = r->size, p->extent = extent, p->at = 0;
  if (ldg_rep_is_shifted(r)) p->at = r->at[0], r = r->kids[0];
  memset(&p->many, 0, offsetof(ldg_step, job));
  p->distinct = distinct_items(r, extent);
  for (int dir = LDG_PACK; dir <= LDG_UNPACK; dir++) p->easy[dir] = easy_items(p, dir);
  ldg_map met;
  ldg_map_open(&met);
  int e = open_step(&p->one, r, &(opening){ &met, force && *force == '*' ? NULL : force });
  ldg_map_close(&met);
  if (!e) e = open_many(p, r, force);
  if (e) close_plan(p);
  else *out = p;
  return e;
}

/* ---- interning ---- */

typedef struct plan_key { const ldg_layout *layout; int64_t extent; } plan_key;

static bool plan_equal(const ldg_memo_entry *e, const void *key) {
  const ldg_plan *p = (const ldg_plan *)e;
  const plan_key *k = key;
  return p->layout == k->layout && p->extent == k->extent;
}
static int plan_make(const void *key, ldg_memo_entry **out) {
  const plan_key *k = key;
  ldg_plan *p;
  const int e = make(k->layout, k->extent, ldg_option_get(LDG_OPT_FORCE), &p);
  if (!e) *out = &p->entry;
  return e;
}
static void plan_destroy(ldg_memo_entry *e) { close_plan((ldg_plan *)e); }

static const ldg_memo_class plan_class = { plan_equal, plan_make, plan_destroy };
static ldg_memo plans = { .cls = &plan_class };

int ldg_plan_intern(const ldg_layout *l, int64_t extent, const ldg_plan **out) {
  const plan_key key = { l, extent };
  const uint64_t hash = ((uintptr_t)l >> 6) * 0x9E3779B97F4A7C15u ^ (uint64_t)extent * 0xC2B2AE3D27D4EB4Fu;
  ldg_memo_entry *e;
  const int err = ldg_memo_intern(&plans, hash ^ hash >> 32, &key, &e);
  if (!err) *out = (const ldg_plan *)e;
  return err;
}

int ldg_plan_forced(const ldg_layout *l, int64_t extent, const char *force, const ldg_plan **out) {
  ldg_plan *p;
  const int e = make(l, extent, force, &p);
  if (!e) *out = p;
  return e;
}

void ldg_plan_release(const ldg_plan *p) {
  if (!p) return;
  ldg_plan *own = (ldg_plan *)(uintptr_t)p;
  if (own->entry.memo) ldg_memo_release(&own->entry);
  else close_plan(own);
}

/* ---- explain ---- */

/* ns and why not of strategy i for a step, the outermost loop of which runs n times. */
static double predict(const ldg_step *s, int dir, int i, int64_t n, const char **why_not) {
  const ldg_tree_strategy *tree = i < BACKEND->n ? NULL : &ldg_tree_table[i - BACKEND->n];
  ldg_nest nest = s->job[dir].nest;
  if (tree) *why_not = tree->why_not(s, dir);
  else *why_not = has_nest(s, dir) ? BACKEND->strategies[i].why_not(&nest) : "not one nest";
  if (*why_not) return 0;
  if (tree) return tree->cost(s, dir) * (double)n / (double)s->n;
  nest.dim[nest.nd - 1].n = n, nest.any = false;
  return ldg_strategy_cost(&BACKEND->strategies[i], &nest);
}

double ldg_plan_predict(const ldg_plan *p, int64_t count, int dir, int i, const char **why_not) {
  return count == 1 ? predict(&p->one, dir, i, p->one.n, why_not) : predict(&p->many, dir, i, count * p->per, why_not);
}

double ldg_plan_cost(const ldg_plan *p, int64_t count, int dir, int64_t bytes) {
  const ldg_step *s = count > 1 ? &p->many : &p->one;
  return bytes > 0 ? ldg_plan_step_cost(s, dir) * ((double)bytes / (double)s->size) : 0;
}

static bool goes_down(const ldg_step *s) {
  for (int i = 0; i < LDG_TREE_STRATEGIES; i++)
    if (!strcmp(s->job[LDG_PACK].name, ldg_tree_table[i].row.name)) return true;
  return false;
}

static void explain_strategies(const ldg_step *s, int dir, ldg_text *t) {
  ldg_text_add(t, "  %s:\n", dir == LDG_PACK ? "pack" : "unpack");
  for (int i = 0; i < ldg_plan_strategies(); i++) {
    const char *why, *name = ldg_plan_strategy(i)->name;
    const double ns = predict(s, dir, i, s->n, &why);
    ldg_text_add(t, "    %c %-10s", !strcmp(s->job[dir].name, name) ? '*' : ' ', name);
    if (why) ldg_text_add(t, "no: %s\n", why);
    else ldg_text_add(t, "%.*f ns predicted; %s\n", ns < 100, ns, ldg_plan_strategy(i)->says);
  }
  if (has_nest(s, dir) && !goes_down(s)) ldg_text_add(t, "      (what goes down the tree, from terms on, is no candidate here: the layout is one nest of loops, which the rows above run as a whole)\n");
}

enum { EXPLAINED = 8 }; /* children */
static void explain_step(const ldg_step *s, int level, ldg_text *t) {
  static const char *const kind[] = { "bytes", "repeat", "blocks", "join" };
  const ldg_rep *r = s->rep;
  ldg_text_add(t, "  %*s%s %lld: %lld B, pack by %s, unpack by %s\n", 2 * level, "", kind[r->kind], (long long)s->n,
               (long long)s->size, s->job[LDG_PACK].name, s->job[LDG_UNPACK].name);
  for (int dir = LDG_PACK; dir <= LDG_UNPACK; dir++) ldg_jit_explain_step(s, dir, t);
  if (has_nest(s, LDG_PACK) && !goes_down(s)) return;
  if (s->child) explain_step(s->child, level + 1, t);
  for (int64_t i = 0; s->kids && i < s->n && i < EXPLAINED; i++) {
    if (s->kids[i]) explain_step(s->kids[i], level + 1, t);
    else ldg_text_add(t, "  %*sbytes: %lld B\n", 2 * level + 2, "", (long long)r->kids[i]->size);
  }
  if (s->kids && s->n > EXPLAINED) ldg_text_add(t, "  %*s... %lld more\n", 2 * level + 2, "", (long long)(s->n - EXPLAINED));
}

void ldg_plan_explain(const ldg_plan *p, ldg_text *t) {
  ldg_text_add(t, "plan %llu: strategies for one item\n", (unsigned long long)p->serial);
  explain_strategies(&p->one, LDG_PACK, t);
  explain_strategies(&p->one, LDG_UNPACK, t);
  ldg_text_add(t, "plan of one item, at offset %lld\n", (long long)p->at);
  explain_step(&p->one, 0, t);
  ldg_text_add(t, "plan of many items, %lld B apart\n", (long long)p->extent);
  ldg_text_add(t, "  ");
  if (p->per > 1) ldg_text_add(t, "the outer loop goes on: %lld iterations an item; ", (long long)p->per);
  ldg_text_add(t, "pack by %s, unpack by %s\n", p->many.job[LDG_PACK].name, p->many.job[LDG_UNPACK].name);
  for (int dir = LDG_PACK; dir <= LDG_UNPACK; dir++) ldg_jit_explain_step(&p->many, dir, t);
  ldg_pair_explain(p, t), ldg_joint_explain(p, t);
  if (p->distinct <= 1) ldg_text_add(t, "  items may overlap: they are unpacked in the order of the stream\n");
  else if (p->distinct < INT64_MAX) ldg_text_add(t, "  more than %lld items are unpacked one by one: they may overlap\n", (long long)p->distinct);
}
