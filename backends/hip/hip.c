/* HIP: what its runtime calls the functions of driver.h. Of version 6 or later: before, kinds of memory had other numbers. */
#include "../device/site.h"

#include <dlfcn.h>

extern const char ldg_hip_image[];

static const char *const libraries[] = { "libamdhip64.so.7", "libamdhip64.so.6", NULL };

enum { KIND_BY_ADDRESS = 4 };

static int copy(const ldg_driver *d, void *dst, const void *src, size_t n, void *stream) {
  typedef int function(void *dst, const void *src, size_t n, int kind, void *stream);
  return ((function *)d->memory_copy)(dst, src, n, KIND_BY_ADDRESS, stream);
}

/* A stream says its device, if the runtime is new enough; else the current context is taken. */
static int context_of(ldg_vendor *v, void *stream, void **context) {
  typedef int function(void *stream, int *device);
  int device;
  if (!v->driver.stream_context) return v->driver.context_get(context);
  const int e = ((function *)v->driver.stream_context)(stream, &device);
  return e ? e : ldg_site_primary(v, device, context);
}

/* ROCm's push makes the device of the context the thread's, and its pop leaves it so: what was the device before is put back here. */
enum { NESTED = 8 };
static struct { int (*push)(void *context), (*pop)(void **context), (*get)(int *device), (*set)(int device); } runtime;
static _Thread_local struct { int n, device[NESTED]; } before;

static int push(void *context) {
  int device = 0;
  if (before.n == NESTED) return LDG_NO_CONTEXT;
  int e = runtime.get(&device);
  if (!e) e = runtime.push(context);
  if (!e) before.device[before.n++] = device;
  return e;
}

static int pop(void **context) {
  const int e = runtime.pop(context);
  if (before.n) runtime.set(before.device[--before.n]);
  return e;
}

/* Up to 7.0 a descriptor was read from where its number points to: whoever is told of one there must not look. Later ones say by which handles
 * memory is exported, or leave those facts alone (it is 0 kinds then): their own functions end the process when they are asked about other memory. */
enum { DESCRIPTORS_BY_VALUE = 70100000 };

/* 0 where it cannot be asked; false: the runtime fails. */
static bool version_of(void *library, int *out) {
  int (*version)(int *out);
  *(void **)&version = dlsym(library, "hipRuntimeGetVersion");
  *out = 0;
  return !version || version(out) == 0;
}

static bool adapt(ldg_driver *d, void *library) {
  int version;
  if (!version_of(library, &version)) return false;
  if (version < DESCRIPTORS_BY_VALUE) d->piece_import = NULL, d->pool_import = NULL;
  runtime.push = d->context_push, runtime.pop = d->context_pop;
  *(void **)&runtime.get = dlsym(library, "hipGetDevice"), *(void **)&runtime.set = dlsym(library, "hipSetDevice");
  if (!runtime.get || !runtime.set) return false;
  d->context_push = push, d->context_pop = pop;
  return true;
}

static ldg_vendor vendor = {
  .name = "hip", .libraries = libraries, .image = ldg_hip_image, .copy = copy, .context_of = context_of, .adapt = adapt,
  .fact_kind = 2, .fact_address = 3, .fact_managed = 8, .fact_device = 9, .fact_buffer = 7, .fact_exportable = 10, .fact_types = 14, .fact_pool = 17,
  .kind_host = 1, .kind_device = 2,
  .names = {
    .init = "hipInit", .device_count = "hipGetDeviceCount", .device_get = "hipDeviceGet",
    .context_retain = "hipDevicePrimaryCtxRetain", .context_release = "hipDevicePrimaryCtxRelease", .context_state = "hipDevicePrimaryCtxGetState",
    .thread_capture = "hipThreadExchangeStreamCaptureMode", .context_push = "hipCtxPushCurrent", .context_pop = "hipCtxPopCurrent",
    .context_get = "hipCtxGetCurrent", .context_device = "hipCtxGetDevice",
    .module_load = "hipModuleLoadData", .module_unload = "hipModuleUnload", .module_function = "hipModuleGetFunction", .launch = "hipModuleLaunchKernel",
    .memory_alloc = "hipMalloc", .memory_free = "hipFree", .memory_range = "hipMemGetAddressRange", .memory_copy = "hipMemcpyAsync",
    .scratch_alloc = "hipMallocAsync", .scratch_free = "hipFreeAsync",
    .pinned_alloc = "hipHostMalloc", .pinned_free = "hipHostFree",
    .stream_create = "hipStreamCreateWithFlags", .stream_destroy = "hipStreamDestroy", .stream_sync = "hipStreamSynchronize",
    .stream_query = "hipStreamQuery", .stream_capturing = "hipStreamIsCapturing", .stream_context = "hipStreamGetDevice",
    .stream_flags = "hipStreamGetFlags",
    .stream_wait = "hipStreamWaitEvent", .stream_call = "hipLaunchHostFunc",
    .event_create = "hipEventCreateWithFlags", .event_record = "hipEventRecord", .event_query = "hipEventQuery", .event_sync = "hipEventSynchronize",
    .event_destroy = "hipEventDestroy", .pointer_facts = "hipDrvPointerGetAttributes", .pointer_set = "hipPointerSetAttribute",
    .piece_of = "hipMemRetainAllocationHandle", .piece_free = "hipMemRelease", .piece_export = "hipMemExportToShareableHandle",
    .piece_import = "hipMemImportFromShareableHandle", .space_take = "hipMemAddressReserve", .space_free = "hipMemAddressFree",
    .space_map = "hipMemMap", .space_unmap = "hipMemUnmap", .space_access = "hipMemSetAccess",
    .pool_make = "hipMemPoolCreate", .pool_set = "hipMemPoolSetAttribute", .pool_alloc = "hipMallocFromPoolAsync",
    .pool_export = "hipMemPoolExportToShareableHandle", .pool_import = "hipMemPoolImportFromShareableHandle", .pool_free = "hipMemPoolDestroy",
    .pool_access = "hipMemPoolSetAccess", .pool_share = "hipMemPoolExportPointer", .pool_take = "hipMemPoolImportPointer",
    .ipc_get = "hipIpcGetMemHandle", .ipc_open = "hipIpcOpenMemHandle", .ipc_close = "hipIpcCloseMemHandle",
    .capture_begin = "hipStreamBeginCapture", .capture_end = "hipStreamEndCapture", .graph_instantiate = "hipGraphInstantiateWithFlags",
    .graph_launch = "hipGraphLaunch", .graph_free = "hipGraphDestroy", .exec_free = "hipGraphExecDestroy",
    .event_elapsed = "hipEventElapsedTime",
  },
};

const ldg_device ldg_device_hip = { .name = "hip", .own = &vendor, LDG_DEVICE_ROWS };
