/* base: allocation. malloc and free, with a counter that lets tests make the n-th allocation fail and, in checked builds,
 * one that shows leaks. */
#include "base.h"

#include <stdlib.h>

static _Atomic int64_t until_failure = -1; /* allocations that still succeed; -1: all */
#if LDG_CHECKS >= 1
static _Atomic int64_t live;
#endif

static bool fails_now(void) {
  int64_t left = atomic_load_explicit(&until_failure, memory_order_relaxed);
  while (left > 0 && !atomic_compare_exchange_weak(&until_failure, &left, left - 1)) { }
  return left == 0;
}

void *ldg_alloc(int64_t bytes) {
  if (bytes < 0) return NULL;
  if (atomic_load_explicit(&until_failure, memory_order_relaxed) >= 0 && fails_now()) return NULL;
  void *p = malloc((size_t)bytes + (bytes == 0));
#if LDG_CHECKS >= 1
  if (p) atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
#endif
  return p;
}

void ldg_free(void *p) {
#if LDG_CHECKS >= 1
  if (p) atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
#endif
  free(p);
}

void ldg_alloc_fail(int64_t n) {
  atomic_store_explicit(&until_failure, n, memory_order_relaxed);
}

int64_t ldg_alloc_live(void) {
#if LDG_CHECKS >= 1
  return atomic_load_explicit(&live, memory_order_relaxed);
#else
  return 0;
#endif
}
