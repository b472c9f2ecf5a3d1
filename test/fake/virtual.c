/* Memory in two parts: pieces of memory that have no address, and addresses that have no memory. A piece is a file of its own,
 * header page first, so that a descriptor of it is what other processes import; a handle for fabrics is where that file is to be found.
 * Pieces are mapped as a whole, and to a reservation as long as they are.
 */
#define _GNU_SOURCE
#include "fake.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BY_FILE = 1, BY_FABRIC = 8, GRANULE = 2 << 20, READ_AND_WRITE = 3, PLACES = 256,
       KNOWN = FAKE_PICK(BY_FILE | BY_FABRIC, BY_FILE) };
static const uint64_t MAGIC = 0x6661627269633031u;

typedef struct piece { fake_object object; int refs, file, types, device; int64_t size; uint64_t id; } piece;
typedef struct place { uintptr_t base; int64_t size; piece *mapped; } place;
typedef struct location { int type, id; } location;
typedef struct properties { int type, types; location at; void *security; unsigned char flags[8]; } properties;
typedef struct access_to { location at; int flags; } access_to;
typedef struct fabric { uint64_t magic; int32_t pid, file; char rest[48]; } fabric;

static place places[PLACES];

static piece *piece_of(void *handle) { return fake_is(handle, A_PIECE) ? handle : NULL; }

static place *place_at(uintptr_t base) {
  for (int i = 0; i < PLACES; i++)
    if (places[i].size && base - places[i].base < (uintptr_t)places[i].size) return &places[i];
  return NULL;
}

static piece *piece_new(int file, int64_t size, int types, int device) {
  piece *p = fake_new(A_PIECE, sizeof *p);
  p->refs = 1, p->file = file, p->size = size, p->types = types, p->device = device;
  return p;
}

static void let_go(piece *p) {
  if (--p->refs) return;
  close(p->file);
  fake_drop(p);
}

FAKE(cuMemCreate, hipMemCreate, INIT, (void **out, size_t size, const properties *how, unsigned long long flags), (out, size, how, flags)) {
  if (!size || size % GRANULE || flags || how->type != 1 || how->at.type != 1 || how->types & ~KNOWN) return E_VALUE;
  const int file = memfd_create("fake piece", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, (off_t)size + FAKE_PAGE)) return E_MEMORY;
  *out = piece_new(file, (int64_t)size, how->types, how->at.id);
  return E_OK;
}

FAKE(cuMemRelease, hipMemRelease, INIT, (void *handle), (handle)) {
  piece *p = piece_of(handle);
  if (!p) return fake_fault(E_VALUE, "%p is released, but no piece of memory", handle);
  return let_go(p), E_OK;
}

FAKE(cuMemAddressReserve, hipMemAddressReserve, INIT, (uintptr_t *out, size_t size, size_t align, uintptr_t hint, unsigned long long flags), (out, size, align, hint, flags)) {
  (void)align, (void)hint;
  if (!size || size % GRANULE || flags || size > (size_t)8 << 30) return E_VALUE;
  for (int i = 0; i < PLACES; i++) {
    if (places[i].size) continue;
    const uintptr_t base = fake_arena_take((int64_t)size);
    if (!base) return E_MEMORY;
    places[i] = (place){ .base = *out = base, .size = (int64_t)size };
    return E_OK;
  }
  return E_MEMORY;
}

FAKE(cuMemAddressFree, hipMemAddressFree, INIT, (uintptr_t base, size_t size), (base, size)) {
  place *p = place_at(base);
  if (!p || p->base != base || p->size != (int64_t)size || p->mapped) return fake_fault(E_VALUE, "addresses are freed that were not reserved, or are in use");
  *p = (place){ .base = 0 };
  return E_OK;
}

static void *real_at(uintptr_t base) { return (void *)(base + (uintptr_t)fake_arena_real() - FAKE_PAGE); }

FAKE(cuMemMap, hipMemMap, INIT, (uintptr_t base, size_t size, size_t offset, void *handle, unsigned long long flags), (base, size, offset, handle, flags)) {
  place *to = place_at(base);
  piece *p = piece_of(handle);
  if (!to || !p || to->mapped || to->base != base || to->size != (int64_t)size || p->size != (int64_t)size || offset || flags) return E_VALUE;
  if (mmap(real_at(base), size + FAKE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, p->file, 0) == MAP_FAILED) return E_MEMORY;
  to->mapped = p, p->refs++;
  return E_OK;
}

/* Nobody may touch it before this. */
FAKE(cuMemSetAccess, hipMemSetAccess, INIT, (uintptr_t base, size_t size, const access_to *who, size_t n), (base, size, who, n)) {
  const place *p = place_at(base);
  if (!p || !p->mapped || p->base != base || p->size != (int64_t)size || n != 1 || who->at.type != 1 || who->flags != READ_AND_WRITE) return E_VALUE;
  if (fake_range_at((void *)base)) return E_VALUE;
  fake_shared_header *h = real_at(base);
  if (!h->magic) *h = (fake_shared_header){ .magic = FAKE_PAGE, .alive = 1 };
  fake_range_add((fake_range){ .base = base, .size = p->size, .real = fake_arena_real(), .memory = MEMORY_DEVICE, .pool = true, .types = p->mapped->types,
                               .context = fake_primary(who->at.id), .header = h });
  return E_OK;
}

/* Our own pages again, so that the arena stays whole. */
FAKE(cuMemUnmap, hipMemUnmap, INIT, (uintptr_t base, size_t size), (base, size)) {
  place *p = place_at(base);
  if (!p || !p->mapped || p->base != base || p->size != (int64_t)size) return fake_fault(E_VALUE, "memory is unmapped that is not mapped");
  const int err = fake_drain_all();
  fake_range *r = fake_range_at((void *)base);
  if (r) fake_range_remove(r);
  mmap(real_at(base), size + FAKE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fake_arena_file(), fake_arena_offset(base) - FAKE_PAGE);
  let_go(p->mapped), p->mapped = NULL;
  return err;
}

FAKE(cuMemRetainAllocationHandle, hipMemRetainAllocationHandle, INIT, (void **out, void *at), (out, at)) {
  const place *p = place_at((uintptr_t)at);
  if ((!p || !p->mapped) && FAKE_PICK(false, true)) return fake_fault(E_VALUE, "%p is no piece, at which ROCm ends the process", at);
  if (!p || !p->mapped) return E_VALUE;
  p->mapped->refs++, *out = p->mapped;
  return E_OK;
}

FAKE(cuMemExportToShareableHandle, hipMemExportToShareableHandle, INIT, (void *out, void *handle, int type, unsigned long long flags), (out, handle, type, flags)) {
  const piece *p = piece_of(handle);
  if (!p || flags || !(p->types & type)) return E_VALUE;
  if (type == BY_FILE) return *(int *)out = fcntl(p->file, F_DUPFD_CLOEXEC, 0), E_OK;
  if (type != BY_FABRIC) return E_VALUE;
  const fabric f = { .magic = MAGIC, .pid = getpid(), .file = p->file };
  memcpy(out, &f, sizeof f);
  return E_OK;
}

static int file_of(void *from, int type) {
  char path[64];
  fabric f;
  if (type == BY_FILE) return fcntl((int)(intptr_t)from, F_DUPFD_CLOEXEC, 0);
  memcpy(&f, from, sizeof f);
  if (f.magic != MAGIC) return -1;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", f.pid, f.file);
  return open(path, O_RDWR | O_CLOEXEC);
}

FAKE(cuMemImportFromShareableHandle, hipMemImportFromShareableHandle, INIT, (void **out, void *from, int type), (out, from, type)) {
  struct stat s;
  const int file = type == BY_FILE || type == BY_FABRIC ? file_of(from, type) : -1;
  if (file < 0) return E_VALUE;
  if (fstat(file, &s) || s.st_size <= FAKE_PAGE || (s.st_size - FAKE_PAGE) % GRANULE) return close(file), E_VALUE; /* no piece of memory */
  *out = piece_new(file, s.st_size - FAKE_PAGE, 0, 0);
  return E_OK;
}

