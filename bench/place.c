/* place: mmap with forbidden pages at both ends. */
#include "place.h"
#include "problem.h"
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

bool place_open(place *p, int64_t lo, int64_t hi, int64_t shift, bool flush) {
  const int64_t page = sysconf(_SC_PAGESIZE), need = hi - lo + shift;
  const int64_t body = (need / page + (need % page != 0) + (need == 0)) * page;
  *p = (place){ 0 };
  char *map = mmap(NULL, (size_t)(body + 2 * page), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return false;
  if (mprotect(map + page, (size_t)body, PROT_READ | PROT_WRITE) != 0) {
    munmap(map, (size_t)(body + 2 * page));
    return false;
  }
  p->first = map + page;
  p->end = p->first + body;
  p->mapped = body + 2 * page;
  p->base = ldg_at(flush ? p->end - (hi - lo) : p->first + shift, -lo);
  return true;
}

void place_close(place *p) {
  if (!p->mapped) return;
  const int64_t page = sysconf(_SC_PAGESIZE);
  munmap(p->first - page, (size_t)p->mapped);
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
