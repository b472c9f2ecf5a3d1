/* verify: the oracle is ldg_rep_walk on the tree as constructed. Each way of moving bytes (the public functions, the plan,
 * every strategy forced, the hand loop) packs and unpacks the whole message and many ranges, in memory full of random
 * bytes; what must not change is compared too, and the pages around the arrays cannot be touched. */
#include "verify.h"
#include "place.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define QUICK_SPAN ((int64_t)16 << 20)
#define QUICK_BYTES ((int64_t)2 << 20)
#define QUICK_RUNS ((int64_t)100000)
#define QUICK_RANGES 8
#define SPAN_MAX ((int64_t)1 << 40)
#define BYTES_MAX ((int64_t)1 << 36)
#define FLUSH_SPAN ((int64_t)64 << 20)  /* larger arrays are not checked a second time at the end of a page */
#define WHOLE_SPAN ((int64_t)8 << 10)   /* larger arrays are compared near the bytes of a range, and whole once per mover */
#define LARGE_SPAN ((int64_t)1 << 20)   /* of a range whose bytes are further apart memory is compared only with all others, once per mover */
#define SPARSE_SPAN ((int64_t)256 << 20) /* in larger arrays only what the type touches is made random */
#define SMALL_RANGE ((int64_t)64 << 10)
#define MARGIN 256
#define WALKED 16 /* of so many ranges one goes down the tree nevertheless */
#define NOTED_MOST ((int64_t)1 << 20) /* so many runs are noted down: to go down the tree to each, for each range, takes longer than the rest of a check */

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1 /* what gcc defines: it tells more about a fault than we could */
#endif
#endif

/* One way of moving bytes. */
typedef struct mover { const char *name; const ldg_plan *plan; const hand *hand; } mover;

typedef struct piece { int64_t off, pos, len; } piece;

typedef struct check {
  problem *p;
  ldg_rep items;                  /* all items, as constructed */
  piece *noted;                   /* the runs that a walk of the whole message visits, which are what all ranges are parts of; NULL: too many to be noted */
  int64_t n_noted;
  bool disjoint;                  /* no byte of memory is moved twice: what a range was unpacked from is what packing it gives */
  uint64_t random;
  bool flush;
  place mem, want, packed;        /* memory under test, memory as it must be, the packed buffer under test */
  char *data, *expect;            /* random packed bytes to unpack; what packing must give */
  const mover *by;
  int64_t strategies, ranges;
  const verify_options *o;
} check;

/* ---- the definition ----------------------------------------------------------------------------------------------- */

typedef struct walk_arg { char *mem, *packed; int64_t lo, near_lo, near_hi, end, runs; piece *noted; } walk_arg;

static int visit_pack(void *arg, int64_t off, int64_t pos, int64_t len) {
  walk_arg *w = arg;
  ldg_copy_bytes(w->packed + (pos - w->lo), ldg_at(w->mem, off), len);
  return 0;
}

static int visit_unpack(void *arg, int64_t off, int64_t pos, int64_t len) {
  walk_arg *w = arg;
  ldg_copy_bytes(ldg_at(w->mem, off), w->packed + (pos - w->lo), len);
  w->near_lo = ldg_min(w->near_lo, off);
  w->near_hi = ldg_max(w->near_hi, off + len);
  return 0;
}

static int visit_run(void *arg, int64_t off, int64_t pos, int64_t len) {
  walk_arg *w = arg;
  w->runs += pos == 0 || off != w->end;
  w->end = off + len;
  return 0;
}

static int visit_note(void *arg, int64_t off, int64_t pos, int64_t len) {
  walk_arg *w = arg;
  if (pos == 0 || off != w->end) w->noted[w->runs++] = (piece){ off, pos, 0 };
  w->noted[w->runs - 1].len += len;
  w->end = off + len;
  return 0;
}

static int64_t piece_at(const check *c, int64_t pos) { /* the first one that ends behind */
  int64_t lo = 0, hi = c->n_noted;
  while (lo < hi) {
    const int64_t mid = lo + (hi - lo) / 2;
    if (c->noted[mid].pos + c->noted[mid].len <= pos) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

static void replay(const check *c, ldg_rep_visit *fn, walk_arg *w, int64_t lo, int64_t hi) {
  for (const piece *x = c->noted + piece_at(c, lo); x < c->noted + c->n_noted && x->pos < hi; x++) {
    const int64_t from = ldg_max(x->pos, lo), to = ldg_min(x->pos + x->len, hi);
    if (from < to) fn(w, x->off + (from - x->pos), from, to - from);
  }
}

static walk_arg walk(check *c, ldg_rep_visit *fn, place *mem, char *packed, int64_t lo, int64_t hi) {
  walk_arg w = { .mem = mem->base, .packed = packed, .lo = lo, .near_lo = INT64_MAX, .near_hi = INT64_MIN };
  if (c->noted && c->ranges % WALKED) replay(c, fn, &w, lo, hi);
  else ldg_rep_walk(&c->items, lo, hi, fn, &w);
  return w;
}

/* ---- complaints --------------------------------------------------------------------------------------------------- */

static char crash_text[4096];

/* A command line that shows it again; problems that are in no suite are written out. */
static void print_again(FILE *out, const check *c) {
  const problem *p = c->p;
  fprintf(out, "  to see it again: lbench verify %s--seed %" PRIu64 " --ranges %d ", c->o->quick ? "--quick " : "", c->o->seed, c->o->ranges);
  if (*p->suite) fprintf(out, "%s\n", p->name);
  else fprintf(out, "'%s | %" PRId64 " | %s | %s | shift=%" PRId64 " origin=%" PRId64 "'\n", p->name, p->count, p->hand_text, p->type_text, p->shift, p->origin);
}

/* A fault inside a strategy should say where, too. */
static void say_where(const check *c, const char *dir, int64_t lo, int64_t hi) {
  FILE *out = fmemopen(crash_text, sizeof crash_text, "w");
  if (!out) return;
  fprintf(out, "verify %s FAILED: %s, %s [%" PRId64 ", %" PRId64 ")%s touched memory outside its buffers\n", c->p->name, c->by->name, dir, lo, hi,
          c->flush ? ", array at the end of a page," : "");
  print_again(out, c);
  fclose(out);
}

static bool wrong(const check *c, const char *dir, int64_t lo, int64_t hi, const char *what, int64_t at, int got, int want) {
  printf("verify %s FAILED: %s, %s [%" PRId64 ", %" PRId64 ") of %" PRId64 "%s: %s %" PRId64 " is 0x%02x, should be 0x%02x\n", c->p->name, c->by->name,
         dir, lo, hi, c->p->size, c->flush ? ", array at the end of a page" : "", what, at, got & 255, want & 255);
  print_again(stdout, c);
  return false;
}

static int64_t first_difference(const char *a, const char *b, int64_t n) {
  int64_t i = 0;
  while (i < n && a[i] == b[i]) i++;
  return i;
}

/* ---- one range ---------------------------------------------------------------------------------------------------- */

static int move(check *c, int dir, char *packed, int64_t lo, int64_t hi) {
  const problem *p = c->p;
  if (c->by->hand) return hand_move(c->by->hand, dir, c->mem.base, packed), LADING_OK;
  if (c->by->plan) return ldg_exec(c->by->plan, p->count, dir, c->mem.base, packed, lo, hi), LADING_OK;
  if (dir == LDG_PACK) return lading_pack(p->type, p->count, c->mem.base, packed, lo, hi);
  return lading_unpack(p->type, p->count, c->mem.base, packed, lo, hi);
}

/* Where the packed bytes of a range go: up against the forbidden page, or at a random alignment. */
static char *packed_place(check *c, int64_t n) {
  if (c->flush) return c->packed.end - n;
  return c->packed.first + MARGIN + splitmix64(&c->random) % 64;
}

static bool untouched(check *c, int64_t lo, int64_t hi, const char *from, const char *to, const char *at) {
  if (from == to || (*from == 0x5a && memcmp(from, from + 1, (size_t)(to - from - 1)) == 0)) return true;
  while (*from == 0x5a) from++;
  return wrong(c, "pack", lo, hi, "byte outside the packed buffer, at", from - at, *from, 0x5a);
}

/* After unpack_range of the same range, which has made c->data and the memory. */
static bool pack_range(check *c, int64_t lo, int64_t hi) {
  const int64_t n = hi - lo;
  char *at = packed_place(c, n), *from = at - MARGIN, *to = c->flush ? at + n : at + n + MARGIN;
  const char *expect = c->disjoint ? c->data : c->expect;
  if (!c->disjoint) walk(c, visit_pack, &c->want, c->expect, lo, hi);
  memset(from, 0x5a, (size_t)(to - from));
  say_where(c, "pack", lo, hi);
  int err = move(c, LDG_PACK, at, lo, hi);
  if (err) return wrong(c, "pack", lo, hi, lading_strerror(err), err, err, 0);
  if (n && memcmp(at, expect, (size_t)n) != 0) {
    int64_t i = first_difference(at, expect, n);
    return wrong(c, "pack", lo, hi, "packed byte", lo + i, at[i], expect[i]);
  }
  return untouched(c, lo, hi, from, at, at) && untouched(c, lo, hi, at + n, to, at);
}

static bool compare_memory(check *c, int64_t lo, int64_t hi, const char *from, const char *to) {
  const char *a = c->mem.first + (from - c->want.first);
  if (memcmp(a, from, (size_t)(to - from)) == 0) return true;
  int64_t i = first_difference(a, from, to - from);
  return wrong(c, "unpack", lo, hi, "memory byte at offset", from + i - c->want.base, a[i], from[i]);
}

static bool unpack_range(check *c, int64_t lo, int64_t hi) {
  const int64_t n = hi - lo;
  char *at = packed_place(c, n);
  place_fill(c->data, n, &c->random);
  ldg_copy_bytes(at, c->data, n);
  walk_arg w = walk(c, visit_unpack, &c->want, c->data, lo, hi);
  say_where(c, "unpack", lo, hi);
  int err = move(c, LDG_UNPACK, at, lo, hi);
  if (err) return wrong(c, "unpack", lo, hi, lading_strerror(err), err, err, 0);
  int64_t same = n && memcmp(at, c->data, (size_t)n) != 0 ? first_difference(at, c->data, n) : n;
  if (same < n) return wrong(c, "unpack", lo, hi, "byte of the packed input", lo + same, at[same], c->data[same]);
  const char *from = c->want.first, *to = c->want.end;
  if (n && c->p->hi - c->p->lo > WHOLE_SPAN) {
    from = ldg_at(c->want.base, ldg_max(w.near_lo - MARGIN, from - c->want.base));
    to = ldg_at(c->want.base, ldg_min(w.near_hi + MARGIN, to - c->want.base));
  }
  if (to - from > LARGE_SPAN) return true; /* check_mover compares everything at its end */
  return compare_memory(c, lo, hi, from, to);
}

/* ---- one mover ---------------------------------------------------------------------------------------------------- */

static bool both(check *c, int64_t lo, int64_t hi) {
  c->ranges++;
  return unpack_range(c, lo, hi) && pack_range(c, lo, hi);
}

static bool all_ranges(check *c) {
  for (int64_t lo = 0; lo <= c->p->size; lo++)
    for (int64_t hi = lo; hi <= c->p->size; hi++)
      if (!both(c, lo, hi)) return false;
  return true;
}

/* Tiny ranges, middling ones, and any; long ones of large messages are rare, since they cost. */
static bool random_range(check *c) {
  const int64_t size = c->p->size;
  const int64_t limit[] = { 32, 1024, SMALL_RANGE, size };
  uint64_t kind = splitmix64(&c->random) % (size > 16 * SMALL_RANGE ? 3 : 4);
  int64_t n = (int64_t)(splitmix64(&c->random) % (uint64_t)(ldg_min(limit[kind], size) + 1));
  int64_t lo = (int64_t)(splitmix64(&c->random) % (uint64_t)(size - n + 1));
  return both(c, lo, lo + n);
}

static bool check_mover(check *c, const mover *by) {
  const int64_t size = c->p->size;
  const int ranges = c->o->quick ? (int)ldg_min(c->o->ranges, QUICK_RANGES) : c->o->ranges;
  c->by = by;
  if (!both(c, 0, size)) return false;
  if (size <= 16 && !by->hand && !all_ranges(c)) return false;
  for (int i = 0; size > 16 && !by->hand && i < ranges; i++)
    if (!random_range(c)) return false;
  return compare_memory(c, 0, size, c->want.first, c->want.end);
}

static bool check_forced(check *c, const ldg_plan *plan, int i) {
  mover by = { .name = ldg_plan_strategy(i)->name };
  if (ldg_plan_forced(plan->layout, plan->extent, by.name, &by.plan) != LADING_OK) {
    printf("verify %s FAILED: no plan can be made with strategy %s\n", c->p->name, by.name);
    return false;
  }
  bool ok = check_mover(c, &by);
  ldg_plan_release(by.plan);
  return ok;
}

static bool check_movers(check *c) {
  const ldg_plan *plan;
  if (ldg_api_plan(c->p->type, &plan) != LADING_OK) {
    printf("verify %s FAILED: no plan can be made\n", c->p->name);
    return false;
  }
  const mover own[] = { { .name = "lading_pack" }, { .name = "the plan", .plan = plan }, { .name = "the hand loop", .hand = c->p->hand } };
  if (!check_mover(c, &own[0]) || !check_mover(c, &own[1])) return false;
  if (c->p->hand && !check_mover(c, &own[2])) return false;
  for (int i = 0; i < ldg_plan_strategies(); i++)
    if (!check_forced(c, plan, i)) return false;
  c->strategies = ldg_plan_strategies();
  return true;
}

/* ---- one problem -------------------------------------------------------------------------------------------------- */

static bool fact(const problem *p, const char *what, int64_t stated, int64_t have) {
  if (stated == NOT_STATED || stated == have) return true;
  printf("verify %s FAILED: %s is %" PRId64 ", the suite says %" PRId64 "\n", p->name, what, have, stated);
  return false;
}

static void note_runs(check *c, int64_t n) {
  if (n > NOTED_MOST) return;
  walk_arg w = { .noted = bench_alloc(n * (int64_t)sizeof(piece)) };
  ldg_rep_walk(&c->items, 0, c->p->size, visit_note, &w);
  c->noted = w.noted, c->n_noted = n;
}

static bool check_facts(check *c) {
  const problem *p = c->p;
  place none = { 0 };
  walk_arg w = walk(c, visit_run, &none, NULL, 0, p->size);
  note_runs(c, w.runs);
  return fact(p, "packed bytes", p->bytes, p->size) && fact(p, "blocks", p->blocks, p->runs) && fact(p, "the shortest run", p->min_run, p->info.min_block) &&
         fact(p, "the longest run", p->max_run, p->info.max_block) && fact(p, "lading_segments_count", w.runs, p->runs) &&
         (p->count != 1 || fact(p, "info.blocks", p->blocks, p->info.blocks));
}

static void make_random(check *c) {
  const problem *p = c->p;
  if (p->hi - p->lo <= SPARSE_SPAN) {
    place_fill(c->mem.first, c->mem.end - c->mem.first, &c->random);
    memcpy(c->want.first, c->mem.first, (size_t)(c->mem.end - c->mem.first));
  } else {
    place_fill(c->data, p->size, &c->random);
    walk(c, visit_unpack, &c->mem, c->data, 0, p->size);
    walk(c, visit_unpack, &c->want, c->data, 0, p->size);
  }
}

static bool check_places(check *c) {
  problem *p = c->p;
  const int how = c->flush ? PLACE_FLUSH : 0;
  bool ok = place_open(&c->mem, p->lo, p->hi, p->shift, how) && place_open(&c->want, p->lo, p->hi, p->shift, how) &&
            place_open(&c->packed, -MARGIN, p->size + 64 + MARGIN, 0, how);
  if (!ok) printf("verify %s FAILED: cannot map its memory; free some, or use --quick\n", p->name);
  if (ok) {
    make_random(c);
    ok = check_movers(c);
  }
  place_close(&c->mem);
  place_close(&c->want);
  place_close(&c->packed);
  return ok;
}

static const char *too_large(const problem *p, bool quick) {
  int64_t span;
  if (ldg_sub(p->hi, p->lo, &span) || span > SPAN_MAX || p->size > BYTES_MAX) return "too large to be moved here";
  int64_t need = 2 * ldg_min(span, ldg_min(p->runs, span / 4096 + 1) * 4096 + p->size) + 4 * p->size;
  if (need > place_available()) return "it needs more memory than there is";
  return quick && (span > QUICK_SPAN || p->size > QUICK_BYTES || p->runs > QUICK_RUNS) ? "too large for --quick" : NULL;
}

#ifdef __SANITIZE_ADDRESS__
static void catch_crashes(bool on) { (void)on; }
#else
static void crashed(int sig) {
  ssize_t n = write(STDERR_FILENO, crash_text, strlen(crash_text));
  (void)n;
  signal(sig, SIG_DFL);
  raise(sig);
}

static void catch_crashes(bool on) {
  signal(SIGSEGV, on ? crashed : SIG_DFL);
  signal(SIGBUS, on ? crashed : SIG_DFL);
}
#endif

verdict verify_problem(problem *p, const verify_options *o) {
  check c = { .p = p, .random = o->seed, .o = o };
  const char *why = too_large(p, o->quick);
  if (why) {
    printf("verify %s skipped: %s\n", p->name, why);
    return VERIFY_SKIPPED;
  }
  if (ldg_rep_repeat_in(&c.items, p->count, p->info.extent, p->type->rep) != LADING_OK) {
    printf("verify %s FAILED: %" PRId64 " items cannot be described\n", p->name, p->count);
    return VERIFY_WRONG;
  }
  c.disjoint = ldg_rep_disjoint(&c.items);
  c.data = bench_alloc(p->size);
  c.expect = c.disjoint ? NULL : bench_alloc(p->size);
  catch_crashes(true);
  bool ok = check_facts(&c) && check_places(&c);
  if (ok && p->hi - p->lo <= FLUSH_SPAN) {
    c.flush = true;
    ok = check_places(&c);
  }
  catch_crashes(false);
  ldg_free(c.noted);
  ldg_free(c.data);
  ldg_free(c.expect);
  if (ok) printf("verify %s ok (%" PRId64 " strategies, %" PRId64 " ranges)\n", p->name, c.strategies, c.ranges);
  return ok ? VERIFY_OK : VERIFY_WRONG;
}
