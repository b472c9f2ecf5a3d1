/* Layouts that have no nest in common as a whole often do part by part: fields of a struct, entries of a list, one after the other.
 * A part that is one run on either side is packed or unpacked by the plan of the other side; parts with a nest in common run as
 * that; the rest is zipped, or goes through a tile that stays in cache where that would take a branch for every short piece. */
#include "exec.h"
#include "exec_range.h"
#include "nest_tree.h"
#include "plan_joint.h"

enum { PART_MIN = 1024 };  /* bytes: smaller entries are not worth to be looked at one by one, since each takes up to 200 ns */
/* Bytes of a tile: a large one spares work at its ends, where a list is searched; a small one is on the stack, for little, and for when
 * there is no memory. */
enum { TILE = 64 << 10, SMALL_TILE = 4 << 10, NEAR_TILE = 8 << 10, ROW_TILE = 6 << 10, LINE = 64 };  /* at a line: 2 to 5 % faster than anywhere */
/* Bytes up to which the plans that there are pack and unpack sooner than a plan for both sides is made, which takes 150 to 400 ns. */
enum { PLANNED_FROM = 12 << 10 };
/* What finding a piece, or a row of pieces of one length, has to be worth: it takes 3 or 15 ns, a plan 1 to 2 ns a piece. */
enum { PIECE_MIN = 96, ROW_MIN = 32, MANY_PIECES = 4, MANY_LISTED = 512 }; /* bytes, pieces, pieces in a longer one */
enum { SPLIT_MIN = 4 }; /* bytes */

/* A node that holds a place of the stream: where it starts in memory, and the stream bytes it has. The plan's step of it, or of the first
 * node below that has one: a plan knows neither the repeat around the items nor where an item starts. */
typedef struct part { const ldg_rep *rep; const ldg_step *step; int64_t off, lo, hi; ldg_rep copies; } part;

static const ldg_step *step_below(const ldg_step *s, int64_t i) {
  if (s->thin || s->copies) return NULL;
  return s->kids ? s->kids[i] : s->child;
}

/* From a node into its entry that holds the byte. An entry of counted blocks is a repeat without a node of its own. */
static void step_in(part *p, int64_t byte) {
  const ldg_rep *r = p->rep;
  const int64_t i = r->psum ? ldg_rep_find(r->psum, r->n, byte - p->lo) : (byte - p->lo) / r->child->size;
  p->off = ldg_rep_move(p->off, r->at ? r->at[i] : i * r->stride);
  p->hi = p->lo + ldg_rep_starts(r, i + 1);
  p->lo += ldg_rep_starts(r, i);
  p->rep = r->kind == LDG_JOIN ? r->kids[i] : r->child;
  if (p->step && p->step->rep == r) p->step = step_below(p->step, i);
  if (r->cnt && r->cnt[i] > 1 && !ldg_rep_repeat_in(&p->copies, r->cnt[i], r->stride, r->child)) p->rep = &p->copies;
}

/* Nests stay whole; one item is what it is made of. */
static bool opens(const ldg_rep *r) {
  ldg_nest n;
  if (r->kind == LDG_REPEAT && r->n == 1) return true;
  return r->runs > 1 && r->size / r->n >= PART_MIN && !ldg_nest_of(r, &n);
}

/* Entries of blocks apart from each other, any number in each. */
static bool is_rows(const ldg_rep *r) { return r->kind == LDG_BLOCKS && r->cnt && r->child->kind == LDG_BYTES && r->stride != r->child->size; }

/* As far as rows that may be zipped as they are. */
static void open_at(part *p, const ldg_rep *root, const ldg_plan *plan, int64_t byte) {
  p->rep = root, p->step = &plan->one, p->off = 0, p->lo = 0, p->hi = root->size;
  while (opens(p->rep) && !is_rows(p->rep)) step_in(p, byte);
}

static void open_fully(part *p, int64_t byte) {
  while (opens(p->rep)) step_in(p, byte);
}

typedef struct move { const ldg_plan *sp, *dp; const ldg_side *src, *dst; ldg_rep sr, dr; ldg_chain chain; } move;

/* `most` bytes at a time. */
static void through_tile(const ldg_plan *sp, const ldg_side *src, const ldg_plan *dp, const ldg_side *dst, int64_t lo, int64_t hi, int64_t most) {
  char small[SMALL_TILE], *large = hi - lo > SMALL_TILE ? ldg_alloc(ldg_min(hi - lo, most) + LINE) : NULL;
  char *const tile = large ? ldg_aligned(large) : small;
  for (int64_t n; lo < hi; lo += n) {
    n = ldg_min(hi - lo, large ? most : SMALL_TILE);
    ldg_exec(sp, src->count, LDG_PACK, src->base, tile, lo, lo + n);
    ldg_exec(dp, dst->count, LDG_UNPACK, dst->base, tile, lo, lo + n);
  }
  ldg_free(large);
}

/* A list of short blocks, with a step of its own. */
static bool has_entries(const part *p) {
  const ldg_rep *r = p->rep;
  return ldg_exec_is_list(r) && r->size / r->n < PIECE_MIN && p->step && p->step->rep == r && !p->step->thin;
}

/* Entries [i, i + n) of that list, n as many as the tile has room for; 0 where one is longer. */
static int64_t entries_in_tile(const int64_t *psum, int64_t i, int64_t n) {
  while (n > 0 && psum[i + n] - psum[i] > NEAR_TILE) n /= 2;
  return n;
}

/* Tiles of whole entries of one side, so that none is searched for or cut; small tiles, since then their ends cost little. Stream bytes
 * [lo, hi); how far that went: an entry that is cut, or too long, is left. */
static int64_t entries_through_tile(const move *m, const part *p, int dir, int64_t lo, int64_t hi) {
  const ldg_side *side = dir == LDG_PACK ? m->src : m->dst;
  const ldg_rep *r = p->rep;
  const int64_t first = ldg_rep_find(r->psum, r->n, lo - p->lo), last = ldg_rep_find(r->psum, r->n + 1, hi - p->lo);
  const int64_t some = NEAR_TILE / 4 * 3 * r->n / r->size;
  const char *mem = ldg_at(side->base, p->off);
  char room[NEAR_TILE + LDG_LINE_BYTES], *const tile = ldg_aligned(room);
  if (p->lo + r->psum[first] != lo) return lo;
  for (int64_t i = first, n; i < last && (n = entries_in_tile(r->psum, i, ldg_min(some, last - i))) > 0; i += n) {
    const int64_t end = p->lo + r->psum[i + n];
    const ldg_job *j = &p->step->job[dir];
    char *const zero = ldg_at(tile, -r->psum[i]);
    if (dir == LDG_PACK) ldg_job_run(j, mem, zero, i, n), ldg_exec(m->dp, m->dst->count, LDG_UNPACK, m->dst->base, tile, lo, end);
    else ldg_exec(m->sp, m->src->count, LDG_PACK, m->src->base, tile, lo, end), ldg_job_run(j, zero, (char *)(uintptr_t)mem, i, n);
    lo = end;
  }
  return lo;
}

/* Long rows of short blocks next to each other: a place in them is found by division, and a tile of the first cache is enough. */
static bool is_near(const ldg_rep *r) {
  while (r->kind == LDG_REPEAT && r->child->kind == LDG_REPEAT) r = r->child;
  return r->kind == LDG_REPEAT && r->child->kind == LDG_BYTES && r->n >= ROW_MIN && r->stride < 4 * LINE && r->stride > -4 * LINE;
}

/* A list of blocks of one length whose offsets the plan has in 4 bytes. */
static bool is_short_list(const part *p) {
  return p->rep->kind == LDG_BLOCKS && !p->rep->psum && p->rep->child->kind == LDG_BYTES && p->step && p->step->rep == p->rep && p->step->at4;
}

static int64_t block_of(const ldg_rep *r) {
  while (r->kind != LDG_BYTES) r = r->child;
  return r->size;
}

/* The least stretch of the stream that is whole blocks on both sides; INT64_MAX where that cannot be counted. */
static int64_t period_of(int64_t x, int64_t y) {
  int64_t all;
  return ldg_mul(x / (int64_t)ldg_gcd((uint64_t)x, (uint64_t)y), y, &all) ? INT64_MAX : all;
}

/* Bytes of a tile. Of the first cache, where both sides find their places by division; whole blocks of both, where that is not too many. Of
 * two lists it is the places that take the time, and large tiles have fewer ends. */
static int64_t tile_of(const part *a, const part *b) {
  const bool x = is_near(a->rep), y = is_near(b->rep);
  if (!(x && (y || is_short_list(b))) && !(y && is_short_list(a))) return TILE;
  const int64_t p = period_of(block_of(a->rep), block_of(b->rep));
  return a->lo == b->lo && p <= ROW_TILE ? ROW_TILE / p * p : x && y ? NEAR_TILE : TILE;
}

/* Of the entry that has the byte. */
static int64_t entry_end(const part *p, int64_t byte) { return p->lo + p->rep->psum[ldg_rep_find(p->rep->psum, p->rep->n, byte - p->lo) + 1]; }

/* What is neither one nest nor zipped: through a tile, where one side is a list by its entries, and by itself what they leave. */
static void move_tiled(const move *m, const part *a, const part *b, int64_t lo, int64_t hi) {
  const bool from = has_entries(a);
  if (!from && !has_entries(b)) through_tile(m->sp, m->src, m->dp, m->dst, lo, hi, tile_of(a, b));
  else
    for (int64_t end; (lo = entries_through_tile(m, from ? a : b, from ? LDG_PACK : LDG_UNPACK, lo, hi)) < hi; lo = end) {
      end = ldg_min(hi, entry_end(from ? a : b, lo));
      through_tile(m->sp, m->src, m->dp, m->dst, lo, end, TILE);
    }
}

/* Piece by piece where the lists agree; where they do not, a tile, and then another try. */
static void move_lists(const move *m, const part *a, const part *b, int64_t lo, int64_t hi) {
  while (lo < hi) {
    lo = a->lo + ldg_exec_zip_alike(a->rep, ldg_at(m->src->base, a->off), b->rep, ldg_at(m->dst->base, b->off), lo - a->lo, hi - a->lo);
    const int64_t end = ldg_min(hi, lo + TILE);
    through_tile(m->sp, m->src, m->dp, m->dst, lo, end, TILE);
    lo = end;
  }
}

static bool is_row(const part *p) { return p->rep->kind == LDG_REPEAT && p->rep->child->kind == LDG_BYTES; }

/* Blocks of one length on both sides, listed on one at least. */
static bool are_entries(const part *a, const part *b) {
  const bool al = is_short_list(a), bl = is_short_list(b);
  return a->lo == b->lo && (al || bl) && (al || is_row(a)) && (bl || is_row(b)) && a->rep->child->size == b->rep->child->size;
}

/* Entries [i, i + n) of such parts. */
static void nest_of_entries(const part *a, const part *b, int64_t i, int64_t n, ldg_nest *o) {
  const bool al = is_short_list(a), bl = is_short_list(b);
  const part *first = al ? a : b; /* whose list is the first one */
  *o = (ldg_nest){ .block = a->rep->child->size, .nd = 1, .dim = { { n, al ? 0 : a->rep->stride, bl ? 0 : b->rep->stride } },
                   .at = first->rep->at + i, .at4 = first->step->at4 + i, .span = first->rep->hi - first->rep->lo,
                   .list = al ? LDG_LIST_SRC : LDG_LIST_DST, .ordered = true };
  if (al && bl) o->at2 = b->rep->at + i, o->at2_4 = b->step->at4 + i;
}

static bool move_entries(const part *a, const part *b, const char *src, const char *dst, int64_t i, int64_t n) {
  ldg_nest nest;
  ldg_job job;
  nest_of_entries(a, b, i, n, &nest);
  if (!ldg_plan_once(&job, &nest)) return false;
  job.run(&job, ldg_at(src, i * nest.dim[0].src), (char *)(uintptr_t)ldg_at(dst, i * nest.dim[0].dst), 0, n);
  return true;
}

/* Listed on both sides, and blocks of one are whole ones of the other's, not so short that it takes longer than a tile. */
static bool are_split(const part *a, const part *b) {
  if (a->lo != b->lo || !is_short_list(a) || !is_short_list(b)) return false;
  const int64_t x = a->rep->child->size, y = b->rep->child->size, least = ldg_min(x, y), most = ldg_max(x, y);
  return SPLIT_MIN <= least && least < most && most % least == 0;
}

/* Whole ones of the longer blocks of parts that are one or the other, and what is cut in front of them, through a tile; how far that went. */
static int64_t move_whole(const move *m, const part *a, const part *b, int64_t lo, int64_t hi) {
  const bool split = are_split(a, b);
  if (!split && !are_entries(a, b)) return lo;
  const char *src = ldg_at(m->src->base, a->off), *dst = ldg_at(m->dst->base, b->off);
  const int64_t x = a->rep->child->size, y = b->rep->child->size, most = ldg_max(x, y);
  const int64_t first = (lo - a->lo) / most + ((lo - a->lo) % most > 0), start = a->lo + first * most, n = (hi - start) / most;
  if (n < (split ? 1 : ROW_MIN)) return lo;
  if (lo < start) through_tile(m->sp, m->src, m->dp, m->dst, lo, start, TILE);
  if (split) {
    const ldg_lists l = { src, (char *)(uintptr_t)dst, a->step->at4 + first * (most / x), b->step->at4 + first * (most / y) };
    return ldg_exec_split(&l, x, y, n) ? start + n * most : start;
  }
  return move_entries(a, b, src, dst, first, n) ? start + n * most : start;
}

/* Mean bytes of a run, negative where it is one of few in a row: then finding it takes as long as to move many. */
static int64_t piece_of(const ldg_rep *r) {
  const int64_t mean = r->size / r->runs;
  while (r->kind <= LDG_BLOCKS && !r->psum && r->child && r->child->runs > 1) r = r->child;
  return r->kind != LDG_JOIN && !r->psum && r->n >= ROW_MIN ? mean : -mean;
}

static bool has_list(const ldg_rep *r) {
  while (r->kind == LDG_REPEAT) r = r->child;
  return r->kind != LDG_BYTES;
}

/* Short pieces are zipped where whole ones of one side meet the other's, or enough of them are in one of that: then they move row by row. */
static bool zips(const part *a, const part *b) {
  const int64_t x = piece_of(a->rep), y = piece_of(b->rep), least = ldg_min(x, y), most = ldg_max(x, y);
  if (ldg_max(x, -x) >= PIECE_MIN && ldg_max(y, -y) >= PIECE_MIN) return true;
  const int64_t many = has_list(a->rep) || has_list(b->rep) ? MANY_LISTED : MANY_PIECES;
  return least > 0 && (a->lo - b->lo) % least == 0 && (x == y || (most >= many * least && most % least == 0));
}

static void zip(const move *m, int64_t lo, int64_t hi) {
  if (lo < hi) ldg_exec_zip(&m->sr, m->src->base, &m->dr, m->dst->base, lo, hi);
}

static void move_part(move *m, const part *a, const part *b, int64_t lo, int64_t hi) {
  const char *src = ldg_at(m->src->base, a->off), *dst = ldg_at(m->dst->base, b->off);
  const ldg_side s = { a->rep, 1, 0, src }, d = { b->rep, 1, 0, dst };
  lo = move_whole(m, a, b, lo, hi);
  if (lo == hi) return;
  if (a->rep->runs == 1) ldg_exec(m->dp, m->dst->count, LDG_UNPACK, m->dst->base, ldg_at(src, a->rep->first + lo - a->lo), lo, hi);
  else if (b->rep->runs == 1) ldg_exec(m->sp, m->src->count, LDG_PACK, m->src->base, ldg_at(dst, b->rep->first + lo - b->lo), lo, hi);
  else if (a->lo == b->lo && ldg_exec_nest(&m->chain, &s, &d, lo - a->lo, hi - a->lo)) return;
  else if (zips(a, b)) zip(m, lo, hi);
  else if (a->lo == b->lo && ldg_exec_is_list(a->rep) && ldg_exec_is_list(b->rep)) move_lists(m, a, b, lo, hi);
  else move_tiled(m, a, b, lo, hi);
}

/* Rows of blocks of one length on both sides, which would be opened on one at least: to zip a row takes some 20 ns, to look at an entry by
 * itself 100. */
static bool are_rows(const part *a, const part *b) {
  const ldg_rep *x = a->rep, *y = b->rep;
  const bool ax = is_rows(x), by = is_rows(y);
  return ((ax && opens(x)) || (by && opens(y))) && (ax || is_row(a)) && (by || is_row(b)) && x->child->size == y->child->size;
}

/* Zipped, then; but short ones that nowhere begin at one byte of the stream would go piece by piece. */
static bool rows_zip(const part *a, const part *b) {
  const int64_t each = a->rep->child->size;
  return each >= PIECE_MIN || (a->lo - b->lo) % each == 0;
}

/* Surely zipped: then parts that follow each other are so together, which saves plans. */
static bool only_zips(const part *a, const part *b) {
  return a->rep->runs > 1 && b->rep->runs > 1 && a->lo != b->lo && zips(a, b);
}

/* All before `done` is moved; between it and lo is what is to be zipped. Order counts, since destinations may coincide. */
static void by_parts(move *m, int64_t lo, int64_t hi) {
  part a = { .hi = lo }, b = { .hi = lo };
  int64_t done = lo;
  for (int64_t end; lo < hi; lo = end) {
    if (lo >= a.hi) open_at(&a, &m->sr, m->sp, lo);
    if (lo >= b.hi) open_at(&b, &m->dr, m->dp, lo);
    const bool rows = are_rows(&a, &b);
    if (!rows) open_fully(&a, lo), open_fully(&b, lo);
    end = ldg_min(hi, ldg_min(a.hi, b.hi));
    if (rows ? rows_zip(&a, &b) : only_zips(&a, &b)) continue;
    zip(m, done, lo);
    if (rows) through_tile(m->sp, m->src, m->dp, m->dst, lo, end, TILE);
    else move_part(m, &a, &b, lo, end);
    done = end;
  }
  zip(m, done, hi);
}

void ldg_exec_move_planned(const ldg_plan *sp, const ldg_side *src, const ldg_plan *dp, const ldg_side *dst, int64_t lo, int64_t hi) {
  move m;
  m.sp = sp, m.dp = dp, m.src = src, m.dst = dst, m.chain.made = false;
  if (lo == hi || ldg_exec_nest(&m.chain, src, dst, lo, hi)) return;
  if (ldg_rep_repeat_in(&m.sr, src->count, src->extent, src->rep) || ldg_rep_repeat_in(&m.dr, dst->count, dst->extent, dst->rep)) return;
  by_parts(&m, lo, hi);
}

static void without_kernel(const ldg_plan *sp, const ldg_side *src, const ldg_plan *dp, const ldg_side *dst, int64_t lo, int64_t hi) {
  if (hi - lo <= PLANNED_FROM) through_tile(sp, src, dp, dst, lo, hi, TILE);
  else ldg_exec_move_planned(sp, src, dp, dst, lo, hi);
}

/* What a kernel leaves is less than a period at either end. */
static void both_sides(const ldg_plan *sp, const ldg_side *src, const ldg_plan *dp, const ldg_side *dst, int64_t lo, int64_t hi) {
  const ldg_items s = { sp, src->count, src->base }, d = { dp, dst->count, dst->base };
  const ldg_joint *j = lo == 0 ? ldg_joint_of(&s, &d, hi) : NULL;
  int64_t from = hi, to = hi;
  if (j) {
    ldg_joint_run(j, src->base, dst->base);
    return;
  }
  ldg_pair_run(&s, &d, NULL, lo, hi, &from, &to);
  if (lo < from) without_kernel(sp, src, dp, dst, lo, from);
  if (to < hi) without_kernel(sp, src, dp, dst, to, hi);
}

void ldg_exec_move(const ldg_plan *sp, const ldg_side *src, const ldg_plan *dp, const ldg_side *dst, int64_t lo, int64_t hi) {
  if (lo == hi) return;
  if (ldg_side_is_run(src)) ldg_exec(dp, dst->count, LDG_UNPACK, dst->base, ldg_at(src->base, src->rep->first + lo), lo, hi);
  else if (ldg_side_is_run(dst)) ldg_exec(sp, src->count, LDG_PACK, src->base, ldg_at(dst->base, dst->rep->first + lo), lo, hi);
  else both_sides(sp, src, dp, dst, lo, hi);
}
