/* Memory of other processes. A handle names the process, its arena's file and where in it an allocation stands: always the whole
 * allocation, as with real drivers, so an offset must travel beside it. Whoever has the handle's process as a neighbour opens the
 * file through /proc. Opening twice gives the same address and counts; the process that owns the memory cannot open it.
 */
#define _GNU_SOURCE
#include "fake.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LAZY_PEER_ACCESS = 1 };
static const uint64_t MAGIC = 0x6c6164696e673031u;

typedef struct handle { unsigned char bytes[64]; } handle;

fake_ticket fake_ticket_of(const fake_range *r, uint64_t magic) {
  return (fake_ticket){ .magic = magic, .id = r->id, .offset = fake_arena_offset(r->base) - FAKE_PAGE, .size = r->size, .pid = getpid(),
                        .file = fake_arena_file(), .device = r->context->device };
}

FAKE(cuIpcGetMemHandle, hipIpcGetMemHandle, CURRENT, (handle *out, void *p), (out, p)) {
  const fake_range *r = fake_range_at(p);
  if (!r || r->memory != MEMORY_DEVICE || r->pool || r->opened) return E_VALUE;
  const fake_ticket t = fake_ticket_of(r, MAGIC);
  memset(out, 0, sizeof *out);
  memcpy(out, &t, sizeof t);
  return E_OK;
}

static size_t mapped_size(int64_t size) { return (size_t)(size + 2 * FAKE_PAGE - 1) / FAKE_PAGE * FAKE_PAGE; }

static void *real_at(uintptr_t base) { return (void *)(base + (uintptr_t)fake_arena_real() - FAKE_PAGE); }

/* A made-up process or number may name any file, which ends before that place: whoever reads there gets a signal. */
static bool holds(int file, const fake_ticket *t) {
  struct stat now;
  return fstat(file, &now) == 0 && S_ISREG(now.st_mode) && now.st_size - t->offset >= (off_t)mapped_size(t->size);
}

static bool map_there(const fake_ticket *t, uintptr_t base) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd/%d", t->pid, t->file);
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return false;
  if (!holds(file, t)) return close(file), false;
  void *p = mmap(real_at(base), mapped_size(t->size), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, t->offset);
  close(file);
  const fake_shared_header *h = real_at(base);
  return p != MAP_FAILED && h->id == t->id && __atomic_load_n(&h->alive, __ATOMIC_ACQUIRE);
}

/* Our own pages again, so that the arena stays whole. */
static void unmap(uintptr_t base, int64_t size) {
  mmap(real_at(base), mapped_size(size), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fake_arena_file(), fake_arena_offset(base) - FAKE_PAGE);
}

/* Of a handle that somebody made up. */
static bool is_nowhere(const fake_ticket *t) { return !fake_arena_has(t->offset, t->size); }

int fake_ticket_open(const fake_ticket *t, fake_range **out) {
  if (is_nowhere(t)) return E_MAP;
  const uintptr_t base = fake_arena_take(t->size);
  if (!base) return E_MEMORY;
  if (!map_there(t, base)) return unmap(base, t->size), E_MAP;
  *out = fake_range_add((fake_range){ .base = base, .size = t->size, .real = fake_arena_real(), .memory = MEMORY_DEVICE, .opened = 1,
                                      .context = fake_current(), .id = t->id, .header = real_at(base) });
  __atomic_add_fetch(&(*out)->header->importers, 1, __ATOMIC_ACQ_REL);
  return E_OK;
}

int fake_ticket_close(uintptr_t base) {
  const int err = fake_drain_all(); /* work that is queued may use it */
  fake_range *r = fake_range_at((void *)base);
  __atomic_sub_fetch(&r->header->importers, 1, __ATOMIC_ACQ_REL);
  unmap(r->base, r->size);
  fake_range_remove(r);
  return err;
}

static fake_range *already_open(const handle *h) {
  for (fake_range *r = fake_range_first(); r < fake_range_end(); r++)
    if (r->opened && r->context == fake_current() && !memcmp(r->handle, h, sizeof *h)) return r;
  return NULL;
}

/* Whoever still has what was there before, in the way of what is there now, is refused that. */
static bool is_in_the_way(const fake_range *r, const fake_ticket *t) {
  fake_ticket was;
  memcpy(&was, r->handle, sizeof was);
  return r->opened && !r->of && r->context == fake_current() && was.magic == MAGIC && was.pid == t->pid && was.id != t->id &&
         was.offset < t->offset + t->size && t->offset < was.offset + was.size;
}

FAKE(cuIpcOpenMemHandle_v2, hipIpcOpenMemHandle, CURRENT, (void **out, handle h, unsigned flags), (out, h, flags)) {
  fake_ticket t;
  memcpy(&t, &h, sizeof t);
  if (t.magic != MAGIC || flags != LAZY_PEER_ACCESS) return E_VALUE;
  if (t.pid == getpid()) return E_CONTEXT;
  if (is_nowhere(&t)) return E_MAP;
  fake_range *r = already_open(&h);
  if (r) return r->opened++, *out = (void *)r->base, E_OK;
  for (r = fake_range_first(); r < fake_range_end(); r++)
    if (is_in_the_way(r, &t)) return E_OVERLAPS;
  const int err = fake_ticket_open(&t, &r);
  if (!err) memcpy(r->handle, &h, sizeof h), *out = (void *)r->base;
  return err;
}

FAKE(cuIpcCloseMemHandle, hipIpcCloseMemHandle, CURRENT, (void *p), (p)) {
  fake_range *r = fake_range_at(p);
  if (!r || !r->opened || r->of || r->base != (uintptr_t)p) return fake_fault(E_VALUE, "%p is closed, but not opened", p);
  if (--r->opened) return E_OK;
  r->opened = 1;
  return fake_ticket_close(r->base);
}
