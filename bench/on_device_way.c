/* The ways: by lading, by a kernel as a person writes it, by the driver's copies, by the host. */
#include "on_device_way.h"
#include "hand_device.h"
#include "nest_tree.h"
#include "plan.h"

enum { BLOCKS_MAX = 1 << 14, ROW = 128, BLOCK = 256 }; /* runs of that many elements take one block each */

/* ---- lading ---- */

static lading_mem kind(const device_run *r, bool is_packed) {
  static const lading_mem there = { LADING_MEM_DEVICE, 0 }, pinned = { LADING_MEM_PINNED, 0 }, host = { LADING_MEM_HOST, -1 };
  if (is_packed) return r->on->where == WHERE_PINNED ? pinned : there;
  return r->on->where == WHERE_HOST_TO_DEVICE ? host : there;
}

static int by_lading(const device_run *r, char *mem, char *packed) {
  const problem *p = r->p;
  const lading_op op = r->sum ? LADING_SUM : LADING_REPLACE;
  lading_work w = { .kind = LADING_WORK_PACK, .op = op, .src_type = p->type, .src_count = p->count, .src = mem, .dst = packed, .hi = p->size,
                    .src_mem = kind(r, false), .dst_mem = kind(r, true) };
  if (r->dir == LDG_UNPACK)
    w = (lading_work){ .kind = LADING_WORK_UNPACK, .op = op, .dst_type = p->type, .dst_count = p->count, .dst = mem, .src = packed, .hi = p->size,
                       .src_mem = kind(r, true), .dst_mem = kind(r, false) };
  return lading_enqueue(r->on->queue, &w, NULL);
}

/* ---- by hand ---- */

#define RECORD(name, width) { #name, "ldg_d_hand_" #name, width }
const struct hand_record hand_records[] = {
  RECORD(gap400, 4), RECORD(merged17, 1), RECORD(int_double_char, 1), RECORD(particle, 1), RECORD(shorts8, 2), RECORD(swapped, 4),
};

static int record_of(const hand_part *p) {
  int i = HAND_KERNELS - HAND_RECORDS - 1;
  while (i >= 0 && strcmp(hand_records[i].name, p->record)) i--;
  return i;
}
/* Bytes of what one thread moves; 0: nobody wrote a kernel for that. Where elements are not aligned, loops take parts of them; records, lists and sums do not. */
static int64_t width_of(const device_run *r, const hand_part *p) {
  const int i = p->record[0] ? record_of(p) : -1;
  const int64_t own = !p->record[0] ? p->width : i < 0 ? 0 : hand_records[i].width;
  int64_t bits = r->p->shift | (r->p->lo + p->off) | p->pos | own, w = own;
  for (int k = 0; k < p->depth; k++) bits |= p->stride[k];
  while (w > 1 && bits % w) w /= 2;
  return w == own || !(p->record[0] || p->at || r->sum) ? w : 0;
}

static int launch(const device *on, int kernel, int64_t grid, hand_device_args *a) {
  void *params[] = { a };
  return on->d->launch(on->kernel[kernel], (unsigned)grid, 1, 1, BLOCK, 1, 1, 0, on->stream, params, NULL);
}

int device_launch_nothing(const device *on) {
  hand_device_args a = { .elements = 0 };
  return launch(on, HAND_NOTHING, 1, &a);
}

static int64_t list_words(const hand_part *p) { return p->at ? p->entries * (p->len ? 3 : 1) : 0; }

static void write_lists(const hand_part *p, int32_t *to) {
  memcpy(to, p->at, (size_t)p->entries * 4);
  if (!p->len) return;
  memcpy(to + p->entries, p->len, (size_t)p->entries * 4);
  for (int64_t i = 0, pos = 0; i < p->entries; pos += p->len[i++]) to[2 * p->entries + i] = (int32_t)pos;
}

bool device_lists_upload(device_run *r) {
  const hand *h = r->p->hand;
  const driver *d = r->on->d;
  int64_t words = 0;
  for (int i = 0; h && i < h->n; i++) words += list_words(&h->part[i]);
  if (!words) return true;
  int32_t *host = bench_alloc(words * 4), *to = host;
  for (int i = 0; i < h->n; to += list_words(&h->part[i++]))
    if (h->part[i].at) write_lists(&h->part[i], to);
  const bool ok = d->alloc(&r->lists, (size_t)words * 4) == 0 && driver_copy(d, r->lists, host, (size_t)words * 4, r->on->stream) == 0 &&
                  d->sync(r->on->stream) == 0;
  ldg_free(host);
  return ok;
}

static int hand_part_launch(const device_run *r, const hand_part *p, const int32_t *lists, char *mem, char *packed) {
  const int64_t width = width_of(r, p), elements = p->bytes / width, split = p->record[0] ? 1 : p->width / width;
  hand_device_args a = { .mem = mem + p->off, .packed = packed + p->pos, .unpack = r->dir == LDG_UNPACK, .sum = r->sum, .width = (uint32_t)width,
                         .depth = (uint32_t)p->depth, .run = (uint32_t)((p->run ? p->run : p->cell) * split), .elements = (uint32_t)elements, .at = lists };
  for (int i = 0; i < p->depth; i++) a.n[i] = (uint32_t)p->n[i], a.stride[i] = p->stride[i];
  const int64_t blocks = (elements + BLOCK - 1) / BLOCK;
  if (p->record[0]) return launch(r->on, HAND_RECORDS + record_of(p), blocks, &a);
  if (p->len) {
    a.len = lists + p->entries, a.pos = lists + 2 * p->entries;
    return launch(r->on, HAND_LENGTHS, p->entries, &a);
  }
  if (p->at) return launch(r->on, HAND_LIST, blocks, &a);
  if (a.run >= ROW) return launch(r->on, HAND_ROWS, elements / a.run, &a);
  return launch(r->on, HAND_LOOPS, blocks, &a);
}

static int by_hand(const device_run *r, char *mem, char *packed) {
  const hand *h = r->p->hand;
  const int32_t *lists = r->lists;
  int err = 0;
  for (int i = 0; !err && i < h->n; lists = lists ? lists + list_words(&h->part[i]) : NULL, i++) err = hand_part_launch(r, &h->part[i], lists, mem, packed);
  return err;
}

static const ldg_plan *plan_of(const problem *p) { return (const ldg_plan *)atomic_load(&p->type->plan); } /* of a committed type */

/* Threads would add to one place at the same time. */
static bool would_race(const device_run *r) { return r->sum && r->dir == LDG_UNPACK && r->p->count > plan_of(r->p)->distinct; }

/* A person's kernel counts in 32 bits. */
static bool hand_can(const device_run *r) {
  const hand *h = r->p->hand;
  if (!h || !r->on->module || !r->p->size || would_race(r)) return false;
  for (int i = 0; i < h->n; i++) {
    const hand_part *p = &h->part[i];
    const int64_t w = width_of(r, p);
    bool ok = w && p->bytes / w < UINT32_MAX - BLOCK;
    for (int k = 0; k < p->depth; k++) ok = ok && p->n[k] < UINT32_MAX;
    if (!ok || !p->bytes) return false;
  }
  return true;
}

/* ---- by the driver: one box, or one copy a block ---- */

static const ldg_rep *canonical(const problem *p) { return plan_of(p)->layout->rep; }

/* From the first block on, without the dims that go round once. */
static bool nest_of(const problem *p, ldg_nest *n) {
  const ldg_rep *r = canonical(p);
  ldg_rep items;
  if (r->kind == LDG_JOIN && r->n == 1) r = r->kids[0]; /* an offset */
  if (ldg_rep_repeat_in(&items, p->count, p->info.extent, r) != LADING_OK || !ldg_nest_of(&items, n)) return false;
  int nd = 0;
  for (int i = 0; i < n->nd; i++)
    if (n->dim[i].n != 1) n->dim[nd++] = n->dim[i];
  n->nd = nd;
  return nd > 0;
}

static bool is_pitch(const ldg_nest *n, int k) { return n->dim[k].src >= (k ? n->dim[0].src : n->block); }
static bool box_can(const device_run *r) {
  ldg_nest n;
  if (!nest_of(r->p, &n) || n.nd > 2 || !is_pitch(&n, 0)) return false;
  return n.nd < 2 || (is_pitch(&n, 1) && n.dim[1].src % n.dim[0].src == 0 && n.dim[1].src / n.dim[0].src >= n.dim[0].n);
}

static int by_box2(const device_run *r, const ldg_nest *n, const char *mem, const char *packed) {
  const driver_side2 there = { .kind = DRIVER_ANY, .device = mem, .pitch = (size_t)n->dim[0].src },
                     here = { .kind = DRIVER_ANY, .device = packed, .pitch = (size_t)n->block };
  const driver_box2 b = { r->dir == LDG_PACK ? there : here, r->dir == LDG_PACK ? here : there, (size_t)n->block, (size_t)n->dim[0].n };
  return r->on->d->copy2(&b, r->on->stream);
}

static int by_box(const device_run *r, char *mem, char *packed) {
  ldg_nest n;
  if (!nest_of(r->p, &n)) return -1;
  if (n.nd < 2) return by_box2(r, &n, mem + r->first, packed);
  const driver_side3 there = { .kind = DRIVER_ANY, .device = mem + r->first, .pitch = (size_t)n.dim[0].src, .height = (size_t)(n.dim[1].src / n.dim[0].src) },
                     here = { .kind = DRIVER_ANY, .device = packed, .pitch = (size_t)n.block, .height = (size_t)n.dim[0].n };
  const driver_box3 b = { r->dir == LDG_PACK ? there : here, r->dir == LDG_PACK ? here : there, (size_t)n.block, (size_t)n.dim[0].n, (size_t)n.dim[1].n };
  return r->on->d->copy3(&b, r->on->stream);
}

typedef struct block_copies { const device_run *r; char *mem, *packed; } block_copies;

static int copy_block(void *arg, int64_t off, int64_t pos, int64_t len) {
  const block_copies *c = arg;
  char *const there = ldg_at(c->mem, off), *const here = c->packed + pos;
  const bool pack = c->r->dir == LDG_PACK;
  return driver_copy(c->r->on->d, pack ? here : there, pack ? there : here, (size_t)len, c->r->on->stream);
}

static int by_blocks(const device_run *r, char *mem, char *packed) {
  ldg_rep items;
  block_copies c = { r, mem, packed };
  if (ldg_rep_repeat_in(&items, r->p->count, r->p->info.extent, canonical(r->p)) != LADING_OK) return -1;
  return ldg_rep_walk(&items, 0, r->p->size, copy_block, &c);
}

/* ---- by the host ---- */

/* The pinned piece is used again at every call, so calls wait for each other. */
static int by_staging(const device_run *r, char *mem, char *packed) {
  const problem *p = r->p;
  const device *on = r->on;
  int err = on->d->sync(on->stream);
  if (!err && r->dir == LDG_PACK) err = lading_pack(p->type, p->count, mem, r->staging, 0, p->size);
  if (err || r->dir == LDG_PACK) return err ? err : driver_copy(on->d, packed, r->staging, (size_t)p->size, on->stream);
  err = driver_copy(on->d, r->staging, packed, (size_t)p->size, on->stream);
  if (!err) err = on->d->sync(on->stream);
  return err ? err : lading_unpack(p->type, p->count, mem, r->staging, 0, p->size);
}

/* ---- choice ---- */

device_move *device_way_of(const device_run *r, device_way by) {
  const bool on_host = r->on->where == WHERE_HOST_TO_DEVICE, moves_here = !on_host && !r->sum;
  switch (by) {
    case BY_LADING: return by_lading;
    case BY_HAND: return !on_host && hand_can(r) ? by_hand : NULL;
    case BY_BOX: return moves_here && box_can(r) ? by_box : NULL;
    case BY_BLOCKS: return moves_here && r->p->runs <= BLOCKS_MAX ? by_blocks : NULL;
    case BY_STAGED: return on_host && !r->sum ? by_staging : NULL;
    default: return NULL;
  }
}

/* As many bytes read and written in a row as sectors are touched. */
int device_line_copy(const device_run *r, char *mem, char *packed) {
  char *const from = r->line + 2 * r->line_bytes * ((packed - r->packed) / r->packed_step);
  (void)mem;
  return driver_copy(r->on->d, from + r->line_bytes, from, (size_t)r->line_bytes, r->on->stream);
}
