/* Fused launches: a page of cargos travels to the device, and one kernel runs it. */
#include "site.h"

/* cudaErrorStreamCapture..., hipErrorStreamCapture... */
enum { LDG_CAPTURE_FIRST = 900, LDG_CAPTURE_LAST = 908 };
enum { BLOCK = 256, GRID_MAX = 1 << 20 }; /* HIP counts threads in 32 bits; blocks take one tile after the other */

static const int64_t page_bytes = (int64_t)sizeof(ldg_fused_page) * LDG_FUSED_PAGES;

/* In the context: words and pages in one piece of pinned memory. */
static int allocate(const ldg_driver *d, int64_t words, ldg_fuser *out) {
  void *at;
  int e = d->pinned_alloc(&at, (size_t)(page_bytes + 8 * words), LDG_PINNED_PORTABLE | LDG_PINNED_MAPPED);
  if (e) return e;
  memset(at, 0, (size_t)(page_bytes + 8 * words));
  out->page = at, out->words = (uint64_t *)(void *)((char *)at + page_bytes);
  e = d->memory_alloc(&out->there, (size_t)page_bytes);
  if (e) d->pinned_free(at);
  return e;
}

int ldg_device_fuse_open(ldg_lane *l, int64_t words, ldg_fuser *out) {
  int e = ldg_site_enter(l->site);
  if (!e) {
    const int mode = ldg_driver_relax(l->site->driver);
    e = allocate(l->site->driver, words, out);
    ldg_driver_restore(l->site->driver, mode);
    ldg_site_leave(l->site);
  }
  return ldg_device_error(e);
}

void ldg_device_fuse_close(ldg_lane *l, ldg_fuser *f) {
  const ldg_driver *d = l->site->driver;
  if (!ldg_site_alive(l->site) || ldg_site_enter(l->site)) return;
  const int mode = ldg_driver_relax(d);
  d->stream_sync(l->stream);
  d->memory_free(f->there), d->pinned_free(f->page);
  ldg_driver_restore(d, mode);
  ldg_site_leave(l->site);
}

static int64_t used(int64_t n) { return (int64_t)offsetof(ldg_fused_page, cargo) + n * (int64_t)sizeof(ldg_cargo); }

int ldg_device_fuse(ldg_lane *l, const ldg_fuser *f, int page, int64_t n, int64_t tiles, bool reduces) {
  const ldg_site *s = l->site;
  ldg_fused_page *const there = (ldg_fused_page *)(uintptr_t)f->there + page;
  ldg_fused_args args = { tiles, n, there };
  void *params[] = { &args }, *const kernel = s->kernel[reduces ? LDG_KERNEL_FUSED_REDUCE : LDG_KERNEL_FUSED];
  int e = ldg_site_enter(s);
  if (e) return ldg_device_error(e);
  e = s->vendor->copy(s->driver, there, &f->page[page], (size_t)used(n), l->stream);
  if (!e) e = s->driver->launch(kernel, (unsigned)ldg_min(tiles, GRID_MAX), 1, 1, BLOCK, 1, 1, 0, l->stream, params, NULL);
  atomic_store(&l->since, 0); /* the tables of this page have their launch: they may go when it is done */
  ldg_site_leave(s);
  return ldg_device_error(e);
}

/* Not now, since somebody records a stream: that says nothing of the device. */
static bool is_capture(int e) { return e >= LDG_CAPTURE_FIRST && e <= LDG_CAPTURE_LAST; }

int ldg_device_look(ldg_lane *l, bool *recorded, bool *idle) {
  int e = idle && !ldg_site_alive(l->site) ? LDG_NO_CONTEXT : ldg_site_enter(l->site);
  if (e) return ldg_device_error(e);
  const bool yes = ldg_lane_recorded(l); /* then nobody may ask more */
  if (recorded) *recorded = yes;
  if (idle) {
    const int mode = ldg_driver_relax(l->site->driver);
    e = yes ? LDG_NOT_READY : l->site->driver->stream_query(l->stream);
    ldg_driver_restore(l->site->driver, mode);
    *idle = e == 0;
  }
  ldg_site_leave(l->site);
  return ldg_device_error(e == LDG_NOT_READY || is_capture(e) ? 0 : e);
}
