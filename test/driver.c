#include "driver.h"
#include <check.h>
#include <dlfcn.h>
#include <string.h>

static void *first_of(const char *const *names) {
  void *found = NULL;
  for (; *names && !found; names++) found = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
  return found;
}

const driver *driver_open(const char *backend) {
  static driver d;
  const int hip = !strcmp(backend, "hip");
  static const char *const cuda_names[] = { "libcuda.so.1", NULL }, *const hip_names[] = { "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", NULL };
  void *library = first_of(hip ? hip_names : cuda_names);
  if (!library) return NULL;
#define DRIVER_FIND(name, cuda_name, hip_name, params) \
  *(void **)&d.name = dlsym(library, hip ? hip_name : cuda_name);
  DRIVER_CALLS(DRIVER_FIND)
#undef DRIVER_FIND
  *(void **)&d.fake = dlsym(library, "ldg_fake_control");
  int n = 0;
  return d.init && !d.init(0) && !d.device_count(&n) && n ? &d : NULL;
}

void driver_enter(const driver *d, int device) {
  void *context = NULL;
  ck_assert_int_eq(d->retain(&context, device), 0);
  ck_assert_int_eq(d->push(context), 0);
}

void driver_leave(const driver *d, int device) {
  void *context = NULL;
  ck_assert_int_eq(d->pop(&context), 0);
  ck_assert_int_eq(d->release(device), 0);
}
