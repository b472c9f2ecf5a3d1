/* Drivers are loaded at run time, so that one build runs everywhere. */
#include "driver.h"

#include <dlfcn.h>
#include <pthread.h>

enum { UNKNOWN, THERE, MISSING };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int ldg_device_error(int e) { return e == 0 ? LADING_OK : e == LDG_OUT_OF_MEMORY ? LADING_ERR_NOMEM : LADING_ERR_DEVICE; }

static void *open_library(const ldg_vendor *v) {
  void *l = NULL;
  for (int i = 0; !l && v->libraries[i]; i++) l = dlopen(v->libraries[i], RTLD_NOW | RTLD_LOCAL);
  return l;
}

/* Both are structs of pointers, in the same order. */
static bool find_functions(const ldg_driver_names *names, ldg_driver *out, void *library) {
#define LDG_COUNT(name, takes) + 1
  enum { OPTIONAL = 4 LDG_DRIVER_OPTIONAL(LDG_COUNT) LDG_DRIVER_GRAPHS(LDG_COUNT) LDG_DRIVER_REPLAYS(LDG_COUNT), ALL = sizeof *names / sizeof(char *) };
  _Static_assert(sizeof *names == sizeof *out, "a name for each function");
  for (size_t i = 0; i < ALL; i++) {
    const char *name;
    memcpy(&name, (const char *)names + i * sizeof name, sizeof name);
    void *f = name ? dlsym(library, name) : NULL;
    const size_t from_end = ALL - i;
    if (!f && (from_end == 1 || from_end > OPTIONAL + 1)) return false;
    memcpy((char *)out + i * sizeof f, &f, sizeof f);
  }
  return true;
}

static bool load(ldg_vendor *v) {
  void *library = open_library(v);
  if (!library || !find_functions(&v->names, &v->driver, library)) return false; /* a library that was opened stays */
  if (v->adapt && !v->adapt(&v->driver, library)) return false;
  return v->driver.init(0) == 0 && v->driver.device_count(&v->devices) == 0 && v->devices > 0;
}

const ldg_driver *ldg_device_driver(ldg_vendor *v) {
  int s = atomic_load_explicit(&v->state, memory_order_acquire);
  if (s == UNKNOWN) {
    pthread_mutex_lock(&lock);
    s = atomic_load_explicit(&v->state, memory_order_relaxed);
    if (s == UNKNOWN) {
      s = load(v) ? THERE : MISSING;
      atomic_store_explicit(&v->state, s, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
  }
  return s == THERE ? &v->driver : NULL;
}
