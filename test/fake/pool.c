/* Pools that callers make, for stream-ordered memory. A descriptor of one is a small file that says whose it is; who imports it gets single
 * places by a word of its owner, and frees them before the owner does.
 */
#define _GNU_SOURCE
#include "fake.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BY_FILE = 1, BY_FABRIC = 8, KNOWN = FAKE_PICK(BY_FILE | BY_FABRIC, BY_FILE), READ_AND_WRITE = 3, KEEPS = 4 };
static const uint64_t MAGIC = 0x706f6f6c73303031u;
static const int64_t DEADLY = (int64_t)5248 << 20; /* longer places were seen to end the process that imports them */

typedef struct fake_pool { fake_object object; uint64_t id; int types, device; bool exported, imported, accessible, destroyed; int64_t places, keeps; } fake_pool;
typedef struct location { int type, id; } location;
typedef struct properties { int type, types; location at; void *security; unsigned char rest[64]; } properties;
typedef struct access_to { location at; int flags; } access_to;
typedef struct paper { uint64_t magic, id; } paper;
typedef struct word { fake_ticket place; uint64_t pool; } word;
typedef struct shared { union { word of; unsigned char bytes[64]; }; } shared;

static fake_pool *pool_of(void *handle) { return fake_is(handle, A_POOL) ? handle : NULL; }
int fake_pool_types(const fake_pool *p) { return p ? p->types : 0; }

static void drop_if_done(fake_pool *p) {
  if (p->destroyed && !p->places) fake_drop(p);
}
void fake_pool_lost(fake_pool *p) { p->places--, drop_if_done(p); }

FAKE(cuMemPoolCreate, hipMemPoolCreate, INIT, (void **out, const properties *how), (out, how)) {
  static uint64_t ids;
  if (how->type != 1 || how->at.type != 1 || how->types & ~KNOWN) return E_VALUE;
  fake_pool *p = fake_new(A_POOL, sizeof *p);
  p->id = ((uint64_t)getpid() << 32) | ++ids, p->types = how->types, p->device = how->at.id;
  return *out = p, E_OK;
}

FAKE(cuMemPoolSetAttribute, hipMemPoolSetAttribute, INIT, (void *handle, int attribute, const uint64_t *value), (handle, attribute, value)) {
  fake_pool *p = pool_of(handle);
  if (!p || p->imported || attribute != KEEPS) return E_VALUE;
  return p->keeps = (int64_t)*value, E_OK;
}

/* It goes with the last memory of it. Whether real drivers mind a capture is not written down: this one does. */
FAKE(cuMemPoolDestroy, hipMemPoolDestroy, INIT, (void *handle), (handle)) {
  fake_pool *p = pool_of(handle);
  const int err = fake_capture_forbids("the end of a pool", NULL);
  if (err) return err;
  if (!p || p->destroyed) return fake_fault(E_VALUE, "%p is destroyed, but no pool", handle);
  if (p->imported && p->places) return fake_fault(E_VALUE, "an imported pool is destroyed while memory of it is in use");
  p->destroyed = true;
  return drop_if_done(p), E_OK;
}

FAKE(cuMemAllocFromPoolAsync, hipMallocFromPoolAsync, CURRENT, (void **out, size_t n, void *handle, void *stream), (out, n, handle, stream)) {
  fake_pool *p = pool_of(handle);
  int err = E_OK;
  if (!p || p->imported || p->destroyed) return E_VALUE;
  if (!fake_stream_here(stream, &err)) return err;
  err = fake_device_new(out, (int64_t)n, p);
  p->places += !err;
  return err;
}

FAKE(cuMemPoolExportToShareableHandle, hipMemPoolExportToShareableHandle, INIT, (void *out, void *handle, int type, unsigned long long flags),
     (out, handle, type, flags)) {
  fake_pool *p = pool_of(handle);
  if (!p || p->imported || flags || type != BY_FILE || !(p->types & type)) return E_VALUE;
  const int file = memfd_create("fake pool", MFD_CLOEXEC);
  const paper says = { MAGIC, p->id };
  if (file < 0 || write(file, &says, sizeof says) != sizeof says) return E_MEMORY;
  p->exported = true;
  return *(int *)out = file, E_OK;
}

FAKE(cuMemPoolImportFromShareableHandle, hipMemPoolImportFromShareableHandle, INIT, (void **out, void *from, int type, unsigned long long flags),
     (out, from, type, flags)) {
  paper says = { 0, 0 };
  if (flags || type != BY_FILE || pread((int)(intptr_t)from, &says, sizeof says, 0) != sizeof says || says.magic != MAGIC) return E_VALUE;
  fake_pool *p = fake_new(A_POOL, sizeof *p);
  p->id = says.id, p->imported = true;
  return *out = p, E_OK;
}

FAKE(cuMemPoolSetAccess, hipMemPoolSetAccess, INIT, (void *handle, const access_to *who, size_t n), (handle, who, n)) {
  fake_pool *p = pool_of(handle);
  if (!p || n != 1 || who->at.type != 1 || who->flags != READ_AND_WRITE) return E_VALUE;
  p->accessible = true, p->device = who->at.id;
  return E_OK;
}

FAKE(cuMemPoolExportPointer, hipMemPoolExportPointer, INIT, (shared *out, void *at), (out, at)) {
  const fake_range *r = fake_range_at(at);
  if (!r || !r->of || r->of->imported || !r->of->exported || r->base != (uintptr_t)at) return E_VALUE;
  memset(out, 0, sizeof *out);
  out->of = (word){ fake_ticket_of(r, MAGIC), r->of->id };
  return E_OK;
}

FAKE(cuMemPoolImportPointer, hipMemPoolImportPointer, CURRENT, (void **out, void *handle, const shared *from), (out, handle, from)) {
  fake_pool *p = pool_of(handle);
  const word w = from->of;
  fake_range *r;
  if (!p || !p->imported || w.place.magic != MAGIC || w.pool != p->id) return E_VALUE;
  if (!p->accessible || p->device != fake_current()->device) return fake_fault(E_VALUE, "memory of a pool that this device may not touch");
  if (w.place.size > DEADLY) return fake_fault(E_VALUE, "memory of a pool is too long for other processes");
  for (r = fake_range_first(); r < fake_range_end(); r++)
    if (r->opened && r->of == p && r->id == w.place.id) return fake_fault(E_ALREADY_MAPPED, "memory of a pool is imported twice");
  if (fake_ticket_open(&w.place, &r)) return E_VALUE;
  r->pool = true, r->of = p, p->places++;
  return *out = (void *)r->base, E_OK;
}
