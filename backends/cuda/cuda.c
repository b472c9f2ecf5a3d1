/* CUDA: what its driver calls the functions of driver.h. Versioned symbols are named, so that no header of the toolkit is needed. */
#include "../device/site.h"

extern const char ldg_cuda_image[];

static const char *const libraries[] = { "libcuda.so.1", NULL };

static int copy(const ldg_driver *d, void *dst, const void *src, size_t n, void *stream) {
  typedef int function(ldg_address dst, ldg_address src, size_t n, void *stream);
  return ((function *)d->memory_copy)((uintptr_t)dst, (uintptr_t)src, n, stream);
}

static int context_of(ldg_vendor *v, void *stream, void **context) {
  typedef int function(void *stream, void **context);
  return ((function *)v->driver.stream_context)(stream, context);
}

static ldg_vendor vendor = {
  .name = "cuda", .libraries = libraries, .image = ldg_cuda_image, .copy = copy, .context_of = context_of,
  .fact_kind = 2, .fact_address = 3, .fact_managed = 8, .fact_device = 9, .fact_buffer = 7, .fact_exportable = 10, .fact_types = 14, .fact_pool = 17,
  .kind_host = 1, .kind_device = 2,
  .names = {
    .init = "cuInit", .device_count = "cuDeviceGetCount", .device_get = "cuDeviceGet",
    .context_retain = "cuDevicePrimaryCtxRetain", .context_release = "cuDevicePrimaryCtxRelease_v2", .context_id = "cuCtxGetId", .context_state = "cuDevicePrimaryCtxGetState",
    .thread_capture = "cuThreadExchangeStreamCaptureMode", .context_push = "cuCtxPushCurrent_v2", .context_pop = "cuCtxPopCurrent_v2",
    .context_get = "cuCtxGetCurrent", .context_device = "cuCtxGetDevice",
    .module_load = "cuModuleLoadData", .module_unload = "cuModuleUnload", .module_function = "cuModuleGetFunction", .launch = "cuLaunchKernel",
    .memory_alloc = "cuMemAlloc_v2", .memory_free = "cuMemFree_v2", .memory_range = "cuMemGetAddressRange_v2", .memory_copy = "cuMemcpyAsync",
    .scratch_alloc = "cuMemAllocAsync", .scratch_free = "cuMemFreeAsync",
    .pinned_alloc = "cuMemHostAlloc", .pinned_free = "cuMemFreeHost",
    .stream_create = "cuStreamCreate", .stream_destroy = "cuStreamDestroy_v2", .stream_sync = "cuStreamSynchronize",
    .stream_query = "cuStreamQuery", .stream_capturing = "cuStreamIsCapturing", .stream_context = "cuStreamGetCtx",
    .stream_flags = "cuStreamGetFlags",
    .stream_wait = "cuStreamWaitEvent", .stream_call = "cuLaunchHostFunc",
    .event_create = "cuEventCreate", .event_record = "cuEventRecord", .event_query = "cuEventQuery", .event_sync = "cuEventSynchronize",
    .event_destroy = "cuEventDestroy_v2", .pointer_facts = "cuPointerGetAttributes", .pointer_set = "cuPointerSetAttribute",
    .piece_of = "cuMemRetainAllocationHandle", .piece_free = "cuMemRelease", .piece_export = "cuMemExportToShareableHandle",
    .piece_import = "cuMemImportFromShareableHandle", .space_take = "cuMemAddressReserve", .space_free = "cuMemAddressFree",
    .space_map = "cuMemMap", .space_unmap = "cuMemUnmap", .space_access = "cuMemSetAccess",
    .pool_make = "cuMemPoolCreate", .pool_set = "cuMemPoolSetAttribute", .pool_alloc = "cuMemAllocFromPoolAsync",
    .pool_export = "cuMemPoolExportToShareableHandle", .pool_import = "cuMemPoolImportFromShareableHandle", .pool_free = "cuMemPoolDestroy",
    .pool_access = "cuMemPoolSetAccess", .pool_share = "cuMemPoolExportPointer", .pool_take = "cuMemPoolImportPointer",
    .ipc_get = "cuIpcGetMemHandle", .ipc_open = "cuIpcOpenMemHandle_v2", .ipc_close = "cuIpcCloseMemHandle",
    .capture_begin = "cuStreamBeginCapture_v2", .capture_end = "cuStreamEndCapture", .graph_instantiate = "cuGraphInstantiateWithFlags",
    .graph_launch = "cuGraphLaunch", .graph_free = "cuGraphDestroy", .exec_free = "cuGraphExecDestroy",
    .event_elapsed = "cuEventElapsedTime",
    .graph_create = "cuGraphCreate", .graph_kernel = "cuGraphAddKernelNode_v2", .exec_set = "cuGraphExecKernelNodeSetParams_v2",
  },
};

const ldg_device ldg_device_cuda = { .name = "cuda", .own = &vendor, LDG_DEVICE_ROWS };
