/* What tests of the stand-in driver share: its calls, and that it saw no fault and no leak. Each test is a process of its own; one
 * that provokes a fault forgives it, or the process would end badly. */
#ifndef TEST_FAKE_TOOLS_H
#define TEST_FAKE_TOOLS_H

#include "common.h"
#include "../bench/driver.h"
#include "fake/own.h"

enum { N = 1000, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, INVALID_CONTEXT = 201, NOT_FOUND = 500, NOT_READY = 600, ILLEGAL_ADDRESS = 700,
       MISALIGNED = 716, LAUNCH_FAILED = 719, NOT_PERMITTED = 800, CAPTURED = 900, UNJOINED = 904, SEEN_BY_SANITIZER = 66, BAD_END = 86 };
#define OK(call) ck_assert_int_eq(call, 0)

static const driver *d;
static const char *backend = "cuda";

static inline void begin(const char *settings) {
  d = driver_open(backend);
  ck_assert_msg(d && d->fake, "the fake driver was not found: LD_LIBRARY_PATH must name its folder");
  if (*settings) OK(d->fake(settings));
  OK(driver_enter(d, 0));
}

static inline void end(void) {
  OK(driver_leave(d, 0));
  ck_assert_int_eq(d->fake("leaks"), 0);
  ck_assert_int_eq(d->fake("faults"), 0);
}

static inline int64_t faults(void) {
  const int64_t n = d->fake("faults");
  d->fake("forgive");
  return n;
}

static inline char *device_memory(int64_t n) {
  void *p = NULL;
  OK(d->alloc(&p, (size_t)n));
  return p;
}

static inline char *pinned_memory(int64_t n) {
  void *p = NULL;
  OK(d->alloc_pinned(&p, (size_t)n, 0));
  return p;
}

static inline void *new_stream(void) {
  void *s = NULL;
  OK(d->stream(&s, 1));
  return s;
}

static inline void *kernel(const char *name) {
  static void *module;
  void *f = NULL;
  if (!module) OK(d->load(&module, "ldg fake image"));
  OK(d->function(&f, module, name));
  return f;
}

static inline int launch(const char *name, unsigned grid, unsigned block, void *queue, own_args a) {
  return d->launch(kernel(name), grid, 1, 1, block, 1, 1, 0, queue, (void *[]){ &a }, NULL);
}

static inline void unload(void) { /* the module of kernel() is the only object of these tests that is alive at their end */
  ck_assert_int_eq(d->fake("leaks"), 1);
  OK(driver_leave(d, 0));
  ck_assert_int_eq(d->fake("faults"), 0);
}

#endif
