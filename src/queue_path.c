/* Which way a work takes on a device, by the model: where there is a choice, between two ways. */
#include "queue.h"

#include "base_model.h"
#include "nest_tree.h"

#include <stdio.h>

static const char *const names[LDG_PATHS] = { "device", "one-shot", "staged", "direct" };

enum { SECTOR = 32, PAGE = 4096 };

/* ---- costs: launches, and blocks of the layouts ---- */

/* Which loop the layout has beside its packed bytes, or beside another layout. */
static bool is_nest(const ldg_side *a, const ldg_side *b, int64_t bytes) {
  ldg_nest n;
  int64_t from, to;
  return ldg_nest_common(a->rep, a->extent, b->rep, b->extent, bytes, &n, &from, &to);
}
static bool is_loop(const ldg_side *s, int64_t bytes) {
  const ldg_side line = ldg_queue_packed(NULL, bytes);
  return is_nest(s, &line, bytes);
}

/* A flat layout costs as a loop of its words does: what is read besides are places, in the order of the stream. */
enum { BY_PLACES = LDG_MODEL_KERNELS };
static int kernel_of(const ldg_plan *p, const ldg_side *s, int64_t bytes) {
  return is_loop(s, bytes) ? LDG_MODEL_HERE : ldg_queue_is_flat_side(p, s, bytes) ? BY_PLACES : LDG_MODEL_TREE;
}

/* The mean block, and what a block goes on past to the next one. */
static int64_t block_of(const ldg_rep *r) { return ldg_max(1, r->size / ldg_max(1, r->runs)); }
static int stride_of(const ldg_rep *r) {
  const double gap = ((double)r->hi - (double)r->lo) / (double)ldg_max(1, r->runs) - (double)block_of(r);
  return gap < SECTOR ? LDG_MODEL_NEAR : gap < PAGE ? LDG_MODEL_LINE : LDG_MODEL_PAGE;
}

/* A kernel that goes down a tree or reads places does so for every word: blocks count as so many words where words are narrower than they could be. */
static double kernel_ns(int kernel, const ldg_side *s, int dir, int64_t grain, int64_t bytes) {
  const int side = dir == LDG_PACK ? LDG_MODEL_READ : LDG_MODEL_WRITE;
  const int64_t block = block_of(s->rep), piece = (kernel == LDG_MODEL_TREE || kernel == BY_PLACES) && grain < LDG_WORD_MAX ? ldg_min(grain, block) : block;
  const int stride = piece < block ? LDG_MODEL_NEAR : stride_of(s->rep);
  return (double)bytes / (double)piece * ldg_model_kernel(kernel == BY_PLACES ? LDG_MODEL_HERE : kernel, side, stride, piece);
}

static int64_t grain_of(const ldg_plan *p, const ldg_side *s) {
  const uint64_t bits = (uint64_t)ldg_layout_grain(p->layout) | (s->count > 1 ? (uint64_t)s->extent : 0);
  return (int64_t)(bits & -bits);
}

/* One kernel between the layout and its packed bytes, on the device. */
static double packed_ns(const ldg_plan *p, const ldg_side *s, int dir, int64_t bytes) {
  return ldg_model_launch() + kernel_ns(kernel_of(p, s, bytes), s, dir, grain_of(p, s), bytes);
}

/* Of the two ways that there are. */
typedef struct forecast { const ldg_path *way; double ns[2]; } forecast;
static const ldg_path to_packed[2] = { LDG_ONE_SHOT, LDG_STAGED }, to_layout[2] = { LDG_DIRECT, LDG_DEVICE };
static ldg_path faster(const forecast *f) { return f->way[f->ns[1] < f->ns[0]]; }

/* `bytes` of a layout, packed (LDG_PACK) into pinned memory or unpacked out of it. A kernel and a copy are of two engines, which wait for each other;
 * two kernels are not. */
static forecast to_pinned(const ldg_plan *p, const ldg_side *s, int dir, int64_t bytes) {
  const double there = packed_ns(p, s, dir, bytes), far = ldg_model_launch() + kernel_ns(LDG_MODEL_FAR, s, dir, LDG_WORD_MAX, bytes);
  const double copy = ldg_model_transfer(dir == LDG_PACK ? LDG_MODEL_FROM_DEVICE : LDG_MODEL_TO_DEVICE, bytes);
  return (forecast){ to_packed, { far > there ? far : there, there + ldg_model_handover() + copy } };
}

/* One kernel goes from layout to layout, by their loops, by places or down both trees; or one packs and another one unpacks. */
static forecast between(const ldg_plan *const p[2], const ldg_side s[2], int64_t bytes) {
  const bool nest = is_nest(&s[LDG_SRC], &s[LDG_DST], bytes);
  const int64_t grain = ldg_min(grain_of(p[LDG_SRC], &s[LDG_SRC]), grain_of(p[LDG_DST], &s[LDG_DST]));
  const bool flat = ldg_queue_is_flat_side(p[LDG_SRC], &s[LDG_SRC], bytes) && ldg_queue_is_flat_side(p[LDG_DST], &s[LDG_DST], bytes);
  const int kernel = nest ? LDG_MODEL_HERE : flat ? BY_PLACES : LDG_MODEL_TREE;
  const double direct = ldg_model_launch() + kernel_ns(kernel, &s[LDG_SRC], LDG_PACK, grain, bytes) + kernel_ns(kernel, &s[LDG_DST], LDG_UNPACK, grain, bytes);
  const double packed = packed_ns(p[LDG_SRC], &s[LDG_SRC], LDG_PACK, bytes) + packed_ns(p[LDG_DST], &s[LDG_DST], LDG_UNPACK, bytes);
  return (forecast){ to_layout, { direct, packed } };
}

/* ---- the choice ---- */

static bool is_packed(const ldg_work *w, int i) { return w->mem[i].kind == LADING_MEM_PINNED && ldg_side_is_run(&w->side[i]); }
static bool is_layout(const ldg_work *w, int i) { return w->mem[i].kind == LADING_MEM_DEVICE && !ldg_side_is_run(&w->side[i]); }

static int direction(const ldg_work *w) { return is_packed(w, LDG_DST) ? LDG_PACK : LDG_UNPACK; }

/* NULL: there is none. */
static const ldg_path *ways_of(const ldg_work *w) {
  const bool moves = w->reduction.op == LADING_REPLACE;
  if (is_layout(w, LDG_SRC) && moves) return is_layout(w, LDG_DST) ? to_layout : is_packed(w, LDG_DST) ? to_packed : NULL;
  return is_packed(w, LDG_SRC) && is_layout(w, LDG_DST) ? to_packed : NULL;
}

static forecast foresee(const ldg_work *w, const ldg_path *way) {
  const int dir = direction(w), side = dir == LDG_PACK ? LDG_SRC : LDG_DST;
  return way == to_layout ? between(w->plan, w->side, w->hi - w->lo) : to_pinned(w->plan[side], &w->side[side], dir, w->hi - w->lo);
}

ldg_path ldg_queue_path(const ldg_work *w) {
  const char *force = ldg_option_get(LDG_OPT_FORCE);
  const ldg_path *way = ways_of(w);
  if (!way) return ldg_side_is_run(&w->side[LDG_SRC]) || ldg_side_is_run(&w->side[LDG_DST]) ? LDG_DEVICE : LDG_DIRECT;
  for (int i = 0; force && i < 2; i++)
    if (!strcmp(force, names[way[i]])) return way[i];
  if (way == to_layout && is_nest(&w->side[LDG_SRC], &w->side[LDG_DST], w->hi - w->lo)) return LDG_DIRECT; /* one launch, the same loops */
  const forecast f = foresee(w, way);
  return faster(&f);
}

/* ---- explain ---- */

static const char *how(const ldg_plan *p, const ldg_side *s, int64_t bytes) {
  if (ldg_side_is_run(s)) return "one copy of the driver, or one kernel if it is small";
  if (is_loop(s, bytes)) return "one nest of loops";
  return ldg_queue_is_flat_side(p, s, bytes) ? "no nest: a kernel reads where each word is" : "no nest: a kernel goes down the tree";
}

static void tell(ldg_text *t, const char *where, const char *why, const forecast *f) {
  ldg_text_add(t, "  %s: %s, since %s: %s %.1f us, %s %.1f us predicted\n", where, names[faster(f)], why, names[f->way[0]], f->ns[0] * 1e-3, names[f->way[1]],
               f->ns[1] * 1e-3);
}

void ldg_queue_explain(const ldg_plan *p, int64_t count, ldg_text *t) {
  static const char *const gaps[] = { "near each other", "lines apart", "pages apart" };
  const ldg_side s = { p->layout->rep, count, p->extent, NULL };
  char why[100];
  int64_t bytes;
  if (!ldg_queue_has_device() || count < 1 || ldg_mul(count, p->size, &bytes) || bytes == 0) return;
  ldg_text_add(t, "on a device: %s%s\n", how(p, &s, bytes), ldg_model_assumes_devices() ? "; its costs are assumed, not measured" : "");
  if (ldg_side_is_run(&s)) return;
  snprintf(why, sizeof why, "blocks are %lld B, %s", (long long)block_of(s.rep), gaps[stride_of(s.rep)]);
  for (int dir = LDG_PACK; dir <= LDG_UNPACK; dir++)
    ldg_text_add(t, "  %s memory of the device: device, one kernel: %.1f us predicted, %.1f us of it a launch\n", dir == LDG_PACK ? "into" : "out of",
                 packed_ns(p, &s, dir, bytes) * 1e-3, ldg_model_launch() * 1e-3);
  for (int dir = LDG_PACK; dir <= LDG_UNPACK; dir++) {
    const forecast f = to_pinned(p, &s, dir, bytes);
    tell(t, dir == LDG_PACK ? "into pinned memory" : "out of pinned memory", why, &f);
  }
  const forecast f = between((const ldg_plan *const[2]){ p, p }, (const ldg_side[2]){ s, s }, bytes);
  tell(t, "into such a layout elsewhere, of another process for instance", "packing and unpacking are two kernels", &f);
}
