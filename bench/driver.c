#include "driver.h"
#include <dlfcn.h>
#include <string.h>

static void *first_of(const char *const *names) {
  void *found = NULL;
  for (; *names && !found; names++) found = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
  return found;
}

/* name NULL: that vendor has none. */
static void find(void *library, void **out, const char *name) { *out = name ? dlsym(library, name) : NULL; }

const driver *driver_open(const char *backend) {
  static driver d;
  const int hip = !strcmp(backend, "hip");
  static const char *const cuda_names[] = { "libcuda.so.1", NULL }, *const hip_names[] = { "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", NULL };
  void *library = first_of(hip ? hip_names : cuda_names);
  if (!library) return NULL;
#define DRIVER_FIND(name, cuda_name, hip_name, params) \
  find(library, (void **)&d.name, hip ? hip_name : cuda_name);
  DRIVER_CALLS(DRIVER_FIND)
#undef DRIVER_FIND
  *(void **)(hip ? (void *)&d.copy_of_kind : (void *)&d.copy) = dlsym(library, hip ? "hipMemcpyAsync" : "cuMemcpyAsync");
  *(void **)&d.device = dlsym(library, "hipGetDevice"), *(void **)&d.set_device = dlsym(library, "hipSetDevice");
  *(void **)&d.fake = dlsym(library, "ldg_fake_control");
  int n = 0;
  return d.init && !d.init(0) && !d.device_count(&n) && n ? &d : NULL;
}

int driver_copy(const driver *d, void *dst, const void *src, size_t n, void *stream) {
  return d->copy ? d->copy(dst, src, n, stream) : d->copy_of_kind(dst, src, n, DRIVER_ANY, stream);
}

int driver_enter(const driver *d, int device) {
  void *context = NULL;
  const int err = d->retain(&context, device);
  return err ? err : d->push(context);
}

int driver_leave(const driver *d, int device) {
  void *context = NULL;
  const int err = d->pop(&context);
  return err ? err : d->release(device);
}
