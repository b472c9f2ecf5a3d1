/* place: mmap with forbidden pages at both ends. */
#include "place.h"
#include "problem.h"
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Large pages of a file can be mapped only where they start in the file, too. */
static bool map_file(const place *p, int64_t unit, place_file *in) {
  const int64_t body = p->end - p->first, at = (in->end + unit - 1) & -unit;
  struct stat now;
  in->end = at + body;
  if (fstat(in->fd, &now) != 0 || (now.st_size < in->end && ftruncate(in->fd, in->end) != 0)) return false;
  return mmap(p->first, (size_t)body, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, in->fd, at) != MAP_FAILED;
}

bool place_open_in(place *p, int64_t lo, int64_t hi, int64_t shift, int how, place_file *in) {
  const int64_t page = sysconf(_SC_PAGESIZE), need = hi - lo + shift;
  const bool large = (how & PLACE_LARGE) && need >= PLACE_LARGE_PAGE / 2;
  const int64_t unit = large ? PLACE_LARGE_PAGE : page, body = (need / unit + (need % unit != 0) + (need == 0)) * unit;
  *p = (place){ 0 };
  p->mapped = body + 2 * page + (large ? 2 * PLACE_LARGE_PAGE : 0);
  p->map = mmap(NULL, (size_t)p->mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p->map == MAP_FAILED) return p->mapped = 0, false;
  p->first = p->map + page;
  if (large) p->first += -(uintptr_t)p->first & (uintptr_t)(PLACE_LARGE_PAGE - 1);
  p->end = p->first + body;
  if (in ? !map_file(p, unit, in) : mprotect(p->first, (size_t)body, PROT_READ | PROT_WRITE) != 0) return place_close(p), false;
#if defined(MADV_HUGEPAGE)
  if (large) (void)madvise(p->first, (size_t)body, MADV_HUGEPAGE); /* a wish */
#endif
  p->base = ldg_at(how & PLACE_FLUSH ? p->end - (hi - lo) : p->first + shift, -lo);
  return true;
}

bool place_open(place *p, int64_t lo, int64_t hi, int64_t shift, int how) { return place_open_in(p, lo, hi, shift, how, NULL); }

void place_close(place *p) {
  if (!p->mapped) return;
  munmap(p->map, (size_t)p->mapped);
  *p = (place){ 0 };
}

void place_fill(void *at, int64_t bytes, uint64_t *seed) {
  char *s = at;
  for (int64_t i = 0; i < bytes; i += 8) {
    uint64_t r = splitmix64(seed);
    memcpy(s + i, &r, (size_t)ldg_min(8, bytes - i));
  }
}

int64_t place_available(void) {
  char line[128];
  int64_t kib = -1;
  FILE *f = fopen("/proc/meminfo", "r");
  while (f && kib < 0 && fgets(line, sizeof line, f))
    if (sscanf(line, "MemAvailable: %" SCNd64, &kib) != 1) kib = -1;
  if (f) fclose(f);
  if (kib >= 0) return kib * 1024;
  return (int64_t)sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
}
