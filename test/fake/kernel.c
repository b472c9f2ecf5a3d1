/* Modules and launches. The kernels are compiled into this library and make themselves known (genkernels/device.h); an image is
 * only looked at: is it what a driver would take? */
#include "fake.h"
#include "../../genkernels/device.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KERNELS = 1024, FUNCTIONS = 256, SHARED_MAX = 48 << 10 };

static fake_kernel kernels[KERNELS];
static int kernels_n;

void ldg_fake_register(const char *name, size_t args_size, ldg_fake_body *body) {
  if (kernels_n == KERNELS) fake_fault(E_OK, "no room for kernel %s", name);
  else kernels[kernels_n++] = (fake_kernel){ name, args_size, body, 0 };
}

typedef struct module module;
typedef struct function { const module *module; const fake_kernel *kernel; } function;
struct module { fake_object object; function functions[FUNCTIONS]; int n; };

/* A fatbin, an ELF or PTX of nvcc; a bundle of hipcc; or, where no device compiler was, its stand-in. */
static bool is_image(const void *image) {
  static const char *const begins[] = { "\x50\xed\x55\xba", "\177ELF", "//", ".version", "__CLANG_OFFLOAD_BUNDLE__", "ldg fake image" };
  for (size_t i = 0; image && i < sizeof begins / sizeof begins[0]; i++)
    if (!strncmp(image, begins[i], strlen(begins[i]))) return true;
  return false;
}

FAKE(cuModuleLoadData, hipModuleLoadData, CURRENT, (void **out, const void *image), (out, image)) {
  const int err = fake_capture_forbids("loading a module", NULL);
  if (err) return err;
  if (!is_image(image)) return fake_fault(E_IMAGE, "a module is no image");
  *out = fake_new(A_MODULE, sizeof(module));
  return E_OK;
}

FAKE(cuModuleUnload, hipModuleUnload, CURRENT, (void *handle), (handle)) {
  if (!fake_is(handle, A_MODULE)) return fake_fault(E_HANDLE, "%p is no module", handle);
  const int err = fake_drain_all();
  fake_drop(handle);
  return err;
}

static fake_kernel *kernel_named(const char *name) {
  for (int i = 0; i < kernels_n; i++)
    if (!strcmp(kernels[i].name, name)) return &kernels[i];
  return NULL;
}

FAKE(cuModuleGetFunction, hipModuleGetFunction, CURRENT, (void **out, void *handle, const char *name), (out, handle, name)) {
  if (!fake_is(handle, A_MODULE)) return fake_fault(E_HANDLE, "%p is no module", handle);
  module *m = handle;
  const fake_kernel *k = kernel_named(name);
  if (!k || m->n == FUNCTIONS) return E_NOT_FOUND;
  m->functions[m->n] = (function){ m, k };
  *out = &m->functions[m->n++];
  return E_OK;
}

static const function *function_of(const void *handle) {
  for (module *m = NULL; (m = fake_find(A_MODULE, m));)
    for (int i = 0; i < m->n; i++)
      if (&m->functions[i] == handle) return handle;
  return NULL;
}

static int refused(const function *f, const unsigned dims[6], unsigned shared) {
  if (!f) return fake_fault(E_HANDLE, "a launch of no function");
  for (int i = 0; i < 6; i++)
    if (!dims[i] || dims[i] > INT32_MAX) return fake_fault(E_VALUE, "a launch of %u threads in a dimension", dims[i]);
  if (dims[1] * dims[2] * dims[4] * dims[5] != 1) return fake_fault(E_VALUE, "a launch in more than one dimension");
  if (dims[3] > LDG_BLOCK_MAX) return fake_fault(E_RESOURCES, "a launch of %u threads a block", dims[3]);
  if (FAKE_PICK(0, 1) && (uint64_t)dims[0] * dims[3] > UINT32_MAX) return fake_fault(E_VALUE, "a launch of 2^32 threads, too many for HIP");
  if (shared > SHARED_MAX) return fake_fault(E_VALUE, "a launch with %u bytes of shared memory", shared);
  return E_OK;
}

int fake_launch_command(const void *fn, const unsigned dims[6], unsigned shared, void **params, void **extra, fake_command *out) {
  const function *f = function_of(fn);
  const int err = refused(f, dims, shared);
  if (err) return err;
  if (!params || extra) return fake_fault(E_VALUE, "arguments of a launch that are no list of pointers");
  void *args = malloc(f->kernel->args_size);
  memcpy(args, params[0], f->kernel->args_size);
  *out = (fake_command){ .what = DO_LAUNCH, .takes = fake_set.launch_takes,
                         .launch = { f->kernel, dims[0], dims[3], args, f->module->object.context->device } };
  return E_OK;
}

FAKE(cuLaunchKernel, hipModuleLaunchKernel, CURRENT,
     (const void *fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream, void **params,
      void **extra), (fn, gx, gy, gz, bx, by, bz, shared, stream, params, extra)) {
  int err = E_OK;
  fake_command c;
  fake_stream *s = fake_stream_here(stream, &err);
  if (!s) return err;
  err = fake_launch_command(fn, (const unsigned[]){ gx, gy, gz, bx, by, bz }, shared, params, extra, &c);
  if (err) return err;
  if (c.launch.device != s->object.context->device) return free(c.launch.args), fake_fault(E_HANDLE, "a kernel of another device is launched");
  return fake_push(s, c);
}

int64_t fake_kernel_ran(const char *name) {
  const fake_kernel *k = kernel_named(name);
  return k ? k->ran : -1;
}

int fake_kernel_run(const fake_launch *l) {
  kernel_named(l->kernel->name)->ran++;
  if (fake_set.kernel_fail_in && --fake_set.kernel_fail_in == 0) return fake_set.kernel_fail_with;
  return fake_lanes_run(l, l->kernel->body);
}
