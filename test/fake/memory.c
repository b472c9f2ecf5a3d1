/* Memory. Device memory lives in one file of this process; callers get addresses where nothing can ever be accessed, the driver
 * sees the bytes elsewhere, `real` bytes away. So every access by the host is a fault of the processor, at any time, and other
 * processes map the same file (ipc.c). In front of each allocation stands a header page, behind it a page that is never used.
 */
#define _GNU_SOURCE
#include "fake.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#if FAKE_ASAN
#include <sanitizer/asan_interface.h>
#endif

static const int64_t ARENA = (int64_t)16 << 30;
enum { DIRT = 0xcb, DIRTY = 1 << 20 }; /* new memory is not zero; of large pieces only the front is made so */

static struct { char *there, *here; int file; int64_t used, room_used; } arena = { .file = -1 };
static struct { uintptr_t base; int64_t size; } freed[64]; /* addresses that may come back: "reuse 1" */
static int freed_n;

static fake_range *ranges; /* by address */
static int64_t ranges_n, ranges_cap;
int64_t fake_generation;

/* ---- the table ---- */

fake_range *fake_range_first(void) { return ranges; }
fake_range *fake_range_end(void) { return ranges ? ranges + ranges_n : NULL; }

static int64_t place_of(uintptr_t p) { /* the first range that begins after p */
  int64_t lo = 0, hi = ranges_n;
  while (lo < hi) {
    const int64_t mid = (lo + hi) / 2;
    if (ranges[mid].base <= p) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

fake_range *fake_range_at(const void *p) {
  const int64_t i = place_of((uintptr_t)p) - 1;
  return i >= 0 && (int64_t)((uintptr_t)p - ranges[i].base) < ranges[i].size ? &ranges[i] : NULL;
}

fake_range *fake_range_add(fake_range r) {
  static uint64_t ids;
  if (!r.id) r.id = ((uint64_t)getpid() << 32) | ++ids;
  if (ranges_n == ranges_cap) ranges = realloc(ranges, (size_t)(ranges_cap = 2 * ranges_cap + 16) * sizeof *ranges);
  const int64_t i = place_of(r.base);
  memmove(ranges + i + 1, ranges + i, (size_t)(ranges_n++ - i) * sizeof *ranges);
  ranges[i] = r;
  fake_generation++;
  return &ranges[i];
}

void fake_range_remove(fake_range *r) {
  memmove(r, r + 1, (size_t)(fake_range_end() - r - 1) * sizeof *r);
  ranges_n--;
  fake_generation++;
}

/* ---- the arena ---- */

static bool arena_begin(void) {
  if (arena.here) return true;
  arena.file = memfd_create("fake device", MFD_CLOEXEC);
  if (arena.file < 0 || ftruncate(arena.file, ARENA)) return false;
  void *there = mmap(NULL, (size_t)ARENA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  void *here = mmap(NULL, (size_t)ARENA, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, arena.file, 0);
  if (there == MAP_FAILED || here == MAP_FAILED) return false;
  arena.there = there, arena.here = here;
  return true;
}

int64_t fake_arena_real(void) { return (int64_t)((uintptr_t)arena.here - (uintptr_t)arena.there); }
int fake_arena_file(void) { return arena.file; }
int64_t fake_arena_offset(uintptr_t p) { return (int64_t)(p - (uintptr_t)arena.there); }
bool fake_in_arena(const void *p) { return arena.there && (uintptr_t)p - (uintptr_t)arena.there < (uintptr_t)ARENA; }

static int64_t whole_pages(int64_t n) { return (n + FAKE_PAGE - 1) / FAKE_PAGE * FAKE_PAGE; }

/* Of what is longer the front; behind a page that is never used, and one for a header, the rest may come back, too. */
static uintptr_t taken_again(int64_t size) {
  int best = -1;
  for (int i = freed_n - 1; fake_set.reuse && i >= 0 && (best < 0 || freed[best].size != size); i--)
    if (freed[i].size == size || (best < 0 && freed[i].size > size + 2 * FAKE_PAGE)) best = i;
  if (best < 0) return 0;
  const uintptr_t base = freed[best].base;
  const int64_t taken = size + 2 * FAKE_PAGE;
  if (freed[best].size == size) freed[best] = freed[--freed_n];
  else freed[best].base += (uintptr_t)taken, freed[best].size -= taken;
  return base;
}

bool fake_arena_has(int64_t offset, int64_t size) {
  return offset >= 0 && size >= 0 && offset <= ARENA && size <= ARENA - offset - 2 * FAKE_PAGE;
}

uintptr_t fake_arena_take(int64_t size) {
  size = whole_pages(size);
  if (!arena_begin() || size > ARENA - arena.used - 2 * FAKE_PAGE) return 0;
  const uintptr_t again = taken_again(size);
  if (again) return again;
  const uintptr_t base = (uintptr_t)arena.there + (uintptr_t)arena.used + FAKE_PAGE;
  arena.used += size + 2 * FAKE_PAGE;
  return base;
}

static void give_back(uintptr_t base, int64_t size) {
  if (freed_n == 64) memmove(freed, freed + 1, sizeof *freed * (size_t)--freed_n);
  freed[freed_n].base = base, freed[freed_n++].size = whole_pages(size);
}

/* ---- allocation ---- */

static bool room_for(int64_t n) { return fake_set.room < 0 || arena.room_used + n <= fake_set.room; }

static fake_shared_header *header_of(uintptr_t base) { return (fake_shared_header *)(base + (uintptr_t)fake_arena_real() - FAKE_PAGE); }

static int device_new(void **out, int64_t n, bool pool, struct fake_pool *of) {
  if (n <= 0) return E_VALUE;
  if (n > ARENA || !room_for(n)) return E_MEMORY;
  const uintptr_t base = fake_arena_take(n);
  if (!base) return E_MEMORY;
  fake_range *r = fake_range_add((fake_range){ .base = base, .size = n, .real = fake_arena_real(), .memory = MEMORY_DEVICE, .pool = pool, .of = of, .types = fake_pool_types(of),
                                               .context = fake_current(), .header = header_of(base) });
  *r->header = (fake_shared_header){ .magic = FAKE_PAGE, .id = r->id, .alive = 1 };
  memset((char *)base + r->real, DIRT, (size_t)(n < DIRTY ? n : DIRTY));
  arena.room_used += n;
  *out = (void *)base;
  return E_OK;
}

int fake_device_new(void **out, int64_t n, struct fake_pool *of) { return device_new(out, n, true, of); }

/* Whoever has it open in another process is told by the header. That is no fault: who keeps mappings for later cannot know. To use it is. */
static void device_free(fake_range *r) {
  const bool orphans = __atomic_load_n(&r->header->importers, __ATOMIC_ACQUIRE);
  fake_set.orphans += orphans;
  if (orphans && r->of) fake_fault(E_VALUE, "memory of a pool is freed while another process has it");
  if (r->of) fake_pool_lost(r->of);
  __atomic_store_n(&r->header->alive, 0, __ATOMIC_RELEASE);
  fallocate(arena.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, fake_arena_offset(r->base), whole_pages(r->size));
  give_back(r->base, r->size);
}

void fake_range_free(fake_range *r) {
  if (r->memory == MEMORY_DEVICE || r->memory == MEMORY_MANAGED) arena.room_used -= r->size;
  if (r->memory == MEMORY_DEVICE) device_free(r);
  else if (r->memory != MEMORY_REGISTERED) free((void *)r->base);
  fake_range_remove(r);
}

static int host_new(void **out, int64_t n, fake_memory memory) {
  if (n <= 0) return E_VALUE;
  if (memory == MEMORY_MANAGED && !room_for(n)) return E_MEMORY;
  void *p = NULL;
  if (posix_memalign(&p, FAKE_PAGE, (size_t)whole_pages(n))) return E_MEMORY; /* nobody else's memory is on its pages, as with real drivers */
  memset(p, DIRT, (size_t)(n < DIRTY ? n : DIRTY));
#if FAKE_ASAN
  __asan_poison_memory_region((char *)p + n, (size_t)(whole_pages(n) - n));
#endif
  if (memory == MEMORY_MANAGED) arena.room_used += n;
  fake_range_add((fake_range){ .base = (uintptr_t)p, .size = n, .memory = memory, .context = fake_current() });
  *out = p;
  return E_OK;
}

static fake_range *exactly(const void *p, bool host) {
  fake_range *r = fake_range_at(p);
  if (!r || r->base != (uintptr_t)p || r->opened) return NULL;
  return (host ? r->memory == MEMORY_PINNED : r->memory == MEMORY_DEVICE || r->memory == MEMORY_MANAGED) ? r : NULL;
}

static int free_now(void *p, bool host, const char *what) {
  const fake_range *r = fake_range_at(p);
  if (!p) return E_OK;
  if (!host && r && r->opened && r->of && r->base == (uintptr_t)p) return fake_pool_lost(r->of), fake_ticket_close(r->base);
  if (!exactly(p, host)) return fake_fault(E_VALUE, "%s of %p, which is not such memory", what, p);
  const int err = fake_drain_all(); /* as real drivers: all work that may use it is done first */
  fake_range_free(exactly(p, host));
  return err;
}

FAKE(cuMemAlloc_v2, hipMalloc, CURRENT, (void **out, size_t n), (out, n)) {
  const int err = fake_capture_forbids("an allocation", NULL);
  return err ? err : device_new(out, (int64_t)n, false, NULL);
}

FAKE(cuMemFree_v2, hipFree, CURRENT, (void *p), (p)) {
  const int err = fake_capture_forbids("a free", NULL);
  return err ? err : free_now(p, false, "cuMemFree");
}

FAKE(cuMemAllocAsync, hipMallocAsync, CURRENT, (void **out, size_t n, void *stream), (out, n, stream)) {
  int err = E_OK;
  const fake_stream *s = fake_stream_here(stream, &err);
  if (s && !s->capture) err = fake_capture_forbids("an allocation", NULL);
  return err ? err : fake_device_new(out, (int64_t)n, NULL);
}

FAKE(cuMemFreeAsync, hipFreeAsync, CURRENT, (void *p, void *stream), (p, stream)) {
  int err = E_OK;
  fake_stream *s = fake_stream_here(stream, &err);
  fake_range *r = exactly(p, false);
  if (!s) return err;
  if (!r || r->doomed) return fake_fault(E_VALUE, "cuMemFreeAsync of %p, which is not live device memory", p);
  r->doomed = true;
  return fake_push(s, (fake_command){ .what = DO_FREE, .free = r->base });
}

FAKE(cuMemHostAlloc, hipHostMalloc, CURRENT, (void **out, size_t n, unsigned flags), (out, n, flags)) {
  (void)flags;
  const int err = fake_capture_forbids("an allocation", NULL);
  return err ? err : host_new(out, (int64_t)n, MEMORY_PINNED);
}

FAKE(cuMemFreeHost, hipHostFree, CURRENT, (void *p), (p)) {
  const int err = fake_capture_forbids("a free", NULL);
  return err ? err : free_now(p, true, "cuMemFreeHost");
}

FAKE(cuMemAllocManaged, hipMallocManaged, CURRENT, (void **out, size_t n, unsigned flags), (out, n, flags)) {
  return flags != 1 && flags != 2 ? E_VALUE : host_new(out, (int64_t)n, MEMORY_MANAGED);
}

FAKE(cuMemHostRegister_v2, hipHostRegister, CURRENT, (void *p, size_t n, unsigned flags), (p, n, flags)) {
  (void)flags;
  const uintptr_t lo = (uintptr_t)p, hi = lo + n;
  if (!p || !n) return E_VALUE;
  for (const fake_range *r = fake_range_first(); r < fake_range_end(); r++)
    if (r->base < hi && lo < r->base + (uintptr_t)r->size) return E_ALREADY_MAPPED;
  fake_range_add((fake_range){ .base = lo, .size = (int64_t)n, .memory = MEMORY_REGISTERED, .context = fake_current() });
  return E_OK;
}

FAKE(cuMemHostUnregister, hipHostUnregister, CURRENT, (void *p), (p)) {
  fake_range *r = fake_range_at(p);
  if (!r || r->base != (uintptr_t)p || r->memory != MEMORY_REGISTERED) return E_NOT_MAPPED;
  const int err = fake_drain_all();
  fake_range_remove(fake_range_at(p));
  return err;
}

FAKE(cuMemHostGetDevicePointer_v2, hipHostGetDevicePointer, CURRENT, (void **out, void *p, unsigned flags), (out, p, flags)) {
  const fake_range *r = fake_range_at(p);
  if (flags || !r || (r->memory != MEMORY_PINNED && r->memory != MEMORY_REGISTERED)) return E_VALUE;
  *out = p;
  return E_OK;
}

FAKE(cuMemGetAddressRange_v2, hipMemGetAddressRange, CURRENT, (void **base, size_t *n, void *p), (base, n, p)) {
  const fake_range *r = fake_range_at(p);
  if (!r) return E_NOT_FOUND;
  if (base) *base = (void *)r->base;
  if (n) *n = (size_t)r->size;
  return E_OK;
}

void fake_memory_reset(fake_context *c) {
  for (fake_range *r = fake_range_first(); r < fake_range_end();)
    if (r->context == c && !r->opened) fake_range_free(r);
    else r++;
}

/* ---- questions about a pointer ---- */

enum { ASK_CONTEXT = 1, ASK_TYPE, ASK_DEVICE_POINTER, ASK_HOST_POINTER, ASK_SYNC = 6, ASK_ID, ASK_MANAGED, ASK_DEVICE, ASK_LEGACY, ASK_START,
       ASK_SIZE, ASK_TYPES = 14, ASK_POOL = 17 };

/* Where the device has registered memory at an address of its own. */
static const int64_t APART = (int64_t)1 << 45;
static bool is_apart(const fake_range *r) { return r->memory == MEMORY_REGISTERED && fake_set.apart; }

static int64_t answer(const fake_range *r, int attribute, const void *p) {
  const bool device = r->memory == MEMORY_DEVICE;
  switch (attribute) {
    case ASK_CONTEXT: return r->pool ? 0 : (int64_t)(uintptr_t)r->context;
    case ASK_TYPE: return device || r->memory == MEMORY_MANAGED ? 2 : 1;
    case ASK_DEVICE_POINTER: return (int64_t)(uintptr_t)p + (is_apart(r) ? APART : 0);
    case ASK_HOST_POINTER: return device ? 0 : (int64_t)(uintptr_t)p;
    case ASK_ID: return (int64_t)r->id;
    case ASK_MANAGED: return r->memory == MEMORY_MANAGED;
    case ASK_DEVICE: return r->context->device;
    case ASK_LEGACY: return device && !r->pool;
    case ASK_START: return (int64_t)r->base;
    case ASK_SIZE: return r->size;
    case ASK_TYPES: return r->types;
    case ASK_POOL: return (int64_t)(uintptr_t)r->of;
    default: return 0;
  }
}

static bool is_word(int attribute) { /* 4 bytes; the others have 8 */
  return attribute == ASK_TYPE || attribute == ASK_SYNC || attribute == ASK_MANAGED || attribute == ASK_DEVICE || attribute == ASK_LEGACY;
}

static void tell(void *out, int attribute, int64_t value) {
  if (is_word(attribute)) *(int32_t *)out = (int32_t)value;
  else *(int64_t *)out = value;
}

FAKE(cuPointerGetAttribute, hipPointerGetAttribute, INIT, (void *out, int attribute, void *p), (out, attribute, p)) {
  const fake_range *r = fake_range_at(p);
  if (!r) return E_VALUE;
  tell(out, attribute, answer(r, attribute, p));
  return E_OK;
}

/* What ROCm was seen to leave alone, without an error. */
static bool is_untold(int attribute) {
  return FAKE_PICK(false, true) && fake_set.silent && (attribute == ASK_LEGACY || attribute == ASK_TYPES || attribute == ASK_POOL);
}

/* Memory that no driver knows is no error here: every answer is 0, and the device -2. */
FAKE(cuPointerGetAttributes, hipDrvPointerGetAttributes, INIT, (unsigned n, const int *attributes, void **out, void *p), (n, attributes, out, p)) {
  const fake_range *r = fake_range_at(p);
  if (!fake_current()) return E_CONTEXT; /* a thread without one is told so, which is no fault */
  for (unsigned i = 0; i < n; i++)
    if (!is_untold(attributes[i])) tell(out[i], attributes[i], r ? answer(r, attributes[i], p) : attributes[i] == ASK_DEVICE ? -2 : 0);
  return E_OK;
}

FAKE(cuPointerSetAttribute, hipPointerSetAttribute, INIT, (const void *value, int attribute, void *p), (value, attribute, p)) {
  const fake_range *r = fake_range_at(p);
  return !value || attribute != ASK_SYNC || !r || r->memory != MEMORY_DEVICE ? E_VALUE : E_OK;
}

/* ---- for copies, and at the end ---- */

char *fake_bytes(const void *p, int64_t n, const char *what) {
  const fake_range *r = n > 0 ? fake_range_at(p) : NULL;
  if (n <= 0) return (char *)p;
  if (r && (int64_t)((uintptr_t)p - r->base) + n > r->size)
    return fake_fault(E_VALUE, "%s of %lld bytes at %p leaves its %lld bytes at %p", what, (long long)n, p, (long long)r->size, (void *)r->base), NULL;
  if (!r && fake_in_arena(p)) return fake_fault(E_VALUE, "%s at %p, which is not live device memory", what, p), NULL;
  return (char *)((uintptr_t)p + (uintptr_t)(r ? r->real : 0));
}

int64_t fake_leaks(bool say) {
  static const char *const names[] = { "streams", "events", "modules", "graphs", "executable graphs", "pieces of memory", "pools of memory" };
  static const char *const memories[] = { "", "device", "pinned", "registered", "managed" };
  int64_t n = ranges_n;
  for (const fake_range *r = fake_range_first(); say && r < fake_range_end(); r++)
    fprintf(stderr, "fake driver: %lld bytes of %s memory%s are alive\n", (long long)r->size, memories[r->memory], r->opened ? " of another" : "");
  for (int kind = 0; kind < FAKE_KINDS; kind++) {
    int64_t live = fake_live((fake_kind)kind);
    for (int i = 0; kind == A_STREAM && i < FAKE_DEVICES; i++) live -= fake_primary(i)->null != NULL;
    if (say && live) fprintf(stderr, "fake driver: %lld %s are alive\n", (long long)live, names[kind]);
    n += live;
  }
  return n;
}
