/* For tests of queues: a type with its memory, and what a call of the library asks of the stand-in driver. */
#ifndef TEST_CARGOS_H
#define TEST_CARGOS_H

#include "random_types.h"
#include "areas.h"

#define OK(call) ck_assert_int_eq(call, LADING_OK)

static devices v; /* of the test that runs */

typedef struct cargo { lading_type *type; area mem, packed; int64_t n; } cargo;

static inline cargo cargo_new(const char *type, lading_memkind mem, lading_memkind packed) {
  cargo c = { .type = parsed(type) };
  const lading_info i = info_of(c.type);
  c.n = i.size;
  c.mem = area_new(&v, mem, i.true_extent), c.packed = area_new(&v, packed, i.size);
  area_fill(&c.mem, 1), area_fill(&c.packed, 2);
  return c;
}
static inline void cargo_free(cargo *c) {
  lading_type_free(c->type);
  area_free(&c->mem), area_free(&c->packed);
}
static inline lading_work pack_work(const cargo *c) {
  return (lading_work){ .kind = LADING_WORK_PACK, .src_type = c->type, .src_count = 1, .src = c->mem.at, .dst = c->packed.at, .hi = c->n,
                        .src_mem = { c->mem.kind, 0 }, .dst_mem = { c->packed.kind, 0 } };
}
static inline void check_packed(cargo *c) {
  char *want = malloc((size_t)c->n);
  OK(lading_pack(c->type, 1, c->mem.copy, want, 0, c->n));
  area_pull(&c->packed);
  ck_assert(!memcmp(want, c->packed.copy, (size_t)c->n));
  free(want);
}

#define STRIDED "vector(100,3,7,int)"
#define LISTED "indexed([2,1,3],[5,0,9],int)"

static inline void count_from_here(void) { devices_say(&v, "reset"); }
/* By CUDA's names; HIP's are the same calls. */
static inline void called(const char *name, int64_t times) {
  char line[80];
  snprintf(line, sizeof line, "count %s%s", *name ? "cu" : "", name);
  if (v.d->fake && !strcmp(v.backend, "cuda")) ck_assert_msg(devices_say(&v, line) == times, "%s was called %lld times", name, (long long)devices_say(&v, line));
}

#endif
