/* Copies and fills. All of them are a box of rows. Memory that no driver knows is read when the call is made, and written before
 * it returns, which is what the real one does with it: it cannot do better, so such copies are counted. Between two sides that are
 * the host's a copy is done when its call returns, as CUDA's manual says of all such memory. */
#include "fake.h"
#include <stdlib.h>
#include <string.h>

static char *row(const fake_box *b, int64_t y, int64_t z) { return b->p + z * b->slice + y * b->pitch; }

int fake_copy_run(const fake_copy *c) {
  for (int64_t z = 0; z < c->depth; z++)
    for (int64_t y = 0; y < c->height; y++) {
      char *d = fake_bytes(row(&c->dst, y, z), c->width, "a copy to"), *s = fake_bytes(row(&c->src, y, z), c->width, "a copy from");
      if (!d || !s) return E_ADDRESS;
      memmove(d, s, (size_t)c->width);
    }
  return E_OK;
}

/* All rows may be used now. */
static bool reachable(const fake_box *b, const fake_copy *c, const char *what) {
  for (int64_t z = 0; z < c->depth; z++)
    for (int64_t y = 0; y < c->height; y++)
      if (!fake_bytes(row(b, y, z), c->width, what)) return false;
  return true;
}

static bool pageable(const fake_box *b) { return !fake_range_at(b->p) && !fake_in_arena(b->p); }

static bool is_host(const fake_box *b) {
  const fake_range *r = fake_range_at(b->p);
  return r ? r->memory == MEMORY_PINNED || r->memory == MEMORY_REGISTERED : !fake_in_arena(b->p);
}

static void take_snapshot(fake_copy *c) {
  const fake_box dense = { .p = malloc((size_t)(c->width * c->height * c->depth)), .pitch = c->width, .slice = c->width * c->height };
  fake_copy now = *c;
  now.dst = dense;
  fake_copy_run(&now);
  c->src = dense, c->snapshot = dense.p;
}

static int copy(void *stream, fake_copy c) {
  int err = E_OK;
  fake_stream *s = fake_stream_here(stream, &err);
  if (!s) return err;
  if (c.width < 0 || c.height < 0 || c.depth < 0) return E_VALUE;
  if (!c.width || !c.height || !c.depth) return E_OK;
  if (!reachable(&c.dst, &c, "a copy to") || !reachable(&c.src, &c, "a copy from")) return E_VALUE;
  const bool from = pageable(&c.src), to = pageable(&c.dst), waits = to || (is_host(&c.src) && is_host(&c.dst));
  if ((from || to) && s->capture) return E_CAPTURE;
  fake_set.pageable += from || to;
  if (from) take_snapshot(&c);
  err = fake_push(s, (fake_command){ .what = DO_COPY, .copy = c });
  return err || !waits || s->capture ? err : fake_drain(s);
}

static int copy_line(void *dst, const void *src, size_t n, void *stream) {
  return copy(stream, (fake_copy){ .dst = { .p = dst }, .src = { .p = (char *)(uintptr_t)src }, .width = (int64_t)n, .height = 1, .depth = 1 });
}

#ifdef FAKE_HIP
FAKE(cuMemcpyAsync, hipMemcpyAsync, CURRENT, (void *dst, const void *src, size_t n, int kind, void *s), (dst, src, n, kind, s)) {
  return kind < 0 || kind > 4 ? E_VALUE : copy_line(dst, src, n, s);
}
#else
FAKE(cuMemcpyAsync, hipMemcpyAsync, CURRENT, (void *dst, void *src, size_t n, void *s), (dst, src, n, s)) { return copy_line(dst, src, n, s); }
#endif

static bool device_side(const void *p) {
  const fake_range *r = fake_range_at(p);
  return r && r->memory != MEMORY_REGISTERED;
}

FAKE(cuMemcpyHtoDAsync_v2, hipMemcpyHtoDAsync, CURRENT, (void *dst, const void *src, size_t n, void *s), (dst, src, n, s)) {
  if (!device_side(dst) || fake_in_arena(src)) return fake_fault(E_VALUE, "a copy from host to device with sides that are not");
  return copy_line(dst, src, n, s);
}

FAKE(cuMemcpyDtoHAsync_v2, hipMemcpyDtoHAsync, CURRENT, (void *dst, void *src, size_t n, void *s), (dst, src, n, s)) {
  if (!device_side(src) || fake_in_arena(dst)) return fake_fault(E_VALUE, "a copy from device to host with sides that are not");
  return copy_line(dst, src, n, s);
}

/* ---- boxes, as the vendors' headers lay them out; kinds of memory: 1 host, 2 device, 4 whatever the address says ---- */

typedef struct side2 { size_t x, y; int kind; const char *host; char *device; void *array; size_t pitch; } side2;
typedef struct box2 { side2 src, dst; size_t width, height; } box2;
typedef struct side3 { size_t x, y, z, lod; int kind; const char *host; char *device; void *array, *reserved; size_t pitch, height; } side3;
typedef struct box3 { side3 src, dst; size_t width, height, depth; } box3;

enum { KIND_HOST = 1 };

static fake_box corner(int kind, const char *host, char *device, size_t x, size_t y, size_t z, size_t pitch, size_t slice) {
  char *p = kind == KIND_HOST ? (char *)(uintptr_t)host : device;
  return (fake_box){ .p = p + z * slice + y * pitch + x, .pitch = (int64_t)pitch, .slice = (int64_t)slice };
}

static fake_box side2_box(const side2 *s, size_t width) {
  return corner(s->kind, s->host, s->device, s->x, s->y, 0, s->pitch ? s->pitch : width, 0);
}

static fake_box side3_box(const side3 *s, const box3 *b) {
  const size_t pitch = s->pitch ? s->pitch : b->width, height = s->height ? s->height : b->height;
  return corner(s->kind, s->host, s->device, s->x, s->y, s->z, pitch, pitch * height);
}

FAKE(cuMemcpy2DAsync_v2, hipMemcpyParam2DAsync, CURRENT, (const box2 *b, void *s), (b, s)) {
  if ((b->src.pitch && b->src.pitch < b->width) || (b->dst.pitch && b->dst.pitch < b->width)) return E_VALUE;
  return copy(s, (fake_copy){ side2_box(&b->dst, b->width), side2_box(&b->src, b->width), (int64_t)b->width, (int64_t)b->height, 1, NULL });
}

FAKE(cuMemcpy3DAsync_v2, hipDrvMemcpy3DAsync, CURRENT, (const box3 *b, void *s), (b, s)) {
  if ((b->src.pitch && b->src.pitch < b->width) || (b->dst.pitch && b->dst.pitch < b->width)) return E_VALUE;
  return copy(s, (fake_copy){ side3_box(&b->dst, b), side3_box(&b->src, b), (int64_t)b->width, (int64_t)b->height, (int64_t)b->depth, NULL });
}

FAKE(cuMemsetD8Async, hipMemsetD8Async, CURRENT, (char *p, unsigned char value, size_t n, void *stream), (p, value, n, stream)) {
  int err = E_OK;
  fake_stream *s = fake_stream_here(stream, &err);
  if (!s) return err;
  if (!fake_range_at(p) || !fake_bytes(p, (int64_t)n, "a fill")) return fake_fault(E_VALUE, "a fill at %p, where no device may write", (void *)p);
  return fake_push(s, (fake_command){ .what = DO_FILL, .fill = { p, value, (int64_t)n } });
}
