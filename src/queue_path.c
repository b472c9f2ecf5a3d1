/* Which way the packed side takes between the host's pinned memory and a kernel, by the model. */
#include "queue.h"

#include "base_model.h"
#include "nest_tree.h"

static const char *const names[] = { "one-shot", "staged" };

typedef struct prediction { double ns[2]; int64_t block; } prediction;

/* `bytes` of a layout, packed (LDG_PACK) into pinned memory or unpacked out of it; launches take their time on both ways. */
static prediction predict(const ldg_rep *r, int dir, int64_t bytes) {
  const int side = dir == LDG_PACK ? LDG_MODEL_READ : LDG_MODEL_WRITE, way = dir == LDG_PACK ? LDG_MODEL_FROM_DEVICE : LDG_MODEL_TO_DEVICE;
  const int64_t block = ldg_max(1, r->size / ldg_max(1, r->runs));
  const double blocks = (double)bytes / (double)block;
  return (prediction){ { blocks * ldg_model_kernel(LDG_MODEL_FAR, side, block),
                         blocks * ldg_model_kernel(LDG_MODEL_HERE, side, block) + ldg_model_transfer(way, bytes) }, block };
}

static ldg_path faster(const prediction *p) { return p->ns[LDG_STAGED] < p->ns[LDG_ONE_SHOT] ? LDG_STAGED : LDG_ONE_SHOT; }

static bool is_packed(const ldg_work *w, int i) { return w->mem[i].kind == LADING_MEM_PINNED && ldg_side_is_run(&w->side[i]); }
static bool is_layout(const ldg_work *w, int i) { return w->mem[i].kind == LADING_MEM_DEVICE && !ldg_side_is_run(&w->side[i]); }

ldg_path ldg_queue_path(const ldg_work *w) {
  const bool moves = w->reduction.op == LADING_REPLACE;
  const int dir = is_packed(w, LDG_DST) && is_layout(w, LDG_SRC) && moves ? LDG_PACK : LDG_UNPACK;
  if (dir == LDG_UNPACK && !(is_packed(w, LDG_SRC) && is_layout(w, LDG_DST))) return LDG_ONE_SHOT;
  const char *force = ldg_option_get(LDG_OPT_FORCE);
  for (int i = 0; force && i < 2; i++)
    if (!strcmp(force, names[i])) return (ldg_path)i;
  const prediction p = predict(w->side[dir == LDG_PACK ? LDG_SRC : LDG_DST].rep, dir, w->hi - w->lo);
  return faster(&p);
}

/* ---- explain ---- */

static const char *kernel_of(const ldg_side *s, int64_t bytes) {
  const ldg_side line = ldg_queue_packed(NULL, bytes);
  ldg_nest n;
  int64_t from, to;
  if (ldg_side_is_run(s)) return "one copy of the driver";
  if (ldg_nest_common(s->rep, s->extent, line.rep, line.extent, bytes, &n, &from, &to)) return "one nest of loops";
  return "no nest: a kernel goes down the tree";
}

void ldg_queue_explain(const ldg_plan *p, int64_t count, ldg_text *t) {
  const ldg_side s = { p->layout->rep, count, p->extent, NULL };
  int64_t bytes;
  if (!ldg_queue_has_device() || count < 1 || ldg_mul(count, p->size, &bytes) || bytes == 0) return;
  ldg_text_add(t, "on a device: %s\n", kernel_of(&s, bytes));
  for (int dir = LDG_PACK; dir <= LDG_UNPACK && !ldg_side_is_run(&s); dir++) {
    const prediction d = predict(s.rep, dir, bytes);
    ldg_text_add(t, "  %s pinned memory: %s, since blocks are %lld B: one-shot %.1f us, staged %.1f us predicted\n", dir == LDG_PACK ? "into" : "out of",
                 names[faster(&d)], (long long)d.block, d.ns[LDG_ONE_SHOT] * 1e-3, d.ns[LDG_STAGED] * 1e-3);
  }
}
