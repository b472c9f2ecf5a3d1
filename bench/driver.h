/* driver: CUDA's or HIP's as lbench and the tests call it, beside the library: found at run time, real or the fake of the tests.
 * What needs the fake asks `fake`; where that is NULL it has to do without. */
#ifndef LBENCH_DRIVER_H
#define LBENCH_DRIVER_H

#include "../test/fake/control.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* DRIVER(name here, in CUDA, in HIP, (parameters)); handles are void *, errors int with the numbers of both vendors */
#define DRIVER_CALLS(DRIVER)                                                                                                       \
  DRIVER(init, "cuInit", "hipInit", (unsigned))                                                                                    \
  DRIVER(device_count, "cuDeviceGetCount", "hipGetDeviceCount", (int *))                                                           \
  DRIVER(retain, "cuDevicePrimaryCtxRetain", "hipDevicePrimaryCtxRetain", (void **, int))                                          \
  DRIVER(release, "cuDevicePrimaryCtxRelease_v2", "hipDevicePrimaryCtxRelease", (int))                                             \
  DRIVER(reset, "cuDevicePrimaryCtxReset_v2", "hipDevicePrimaryCtxReset", (int))                                                   \
  DRIVER(push, "cuCtxPushCurrent_v2", "hipCtxPushCurrent", (void *))                                                               \
  DRIVER(pop, "cuCtxPopCurrent_v2", "hipCtxPopCurrent", (void **))                                                                 \
  DRIVER(current, "cuCtxGetCurrent", "hipCtxGetCurrent", (void **))                                                                \
  DRIVER(load, "cuModuleLoadData", "hipModuleLoadData", (void **, const void *))                                                   \
  DRIVER(unload, "cuModuleUnload", "hipModuleUnload", (void *))                                                                    \
  DRIVER(function, "cuModuleGetFunction", "hipModuleGetFunction", (void **, void *, const char *))                                 \
  DRIVER(launch, "cuLaunchKernel", "hipModuleLaunchKernel",                                                                        \
         (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **))                 \
  DRIVER(alloc, "cuMemAlloc_v2", "hipMalloc", (void **, size_t))                                                                   \
  DRIVER(free, "cuMemFree_v2", "hipFree", (void *))                                                                                \
  DRIVER(alloc_async, "cuMemAllocAsync", "hipMallocAsync", (void **, size_t, void *))                                              \
  DRIVER(free_async, "cuMemFreeAsync", "hipFreeAsync", (void *, void *))                                                           \
  DRIVER(alloc_pinned, "cuMemHostAlloc", "hipHostMalloc", (void **, size_t, unsigned))                                             \
  DRIVER(free_pinned, "cuMemFreeHost", "hipHostFree", (void *))                                                                    \
  DRIVER(alloc_managed, "cuMemAllocManaged", "hipMallocManaged", (void **, size_t, unsigned))                                      \
  DRIVER(enroll, "cuMemHostRegister_v2", "hipHostRegister", (void *, size_t, unsigned))                                            \
  DRIVER(unenroll, "cuMemHostUnregister", "hipHostUnregister", (void *))                                                           \
  DRIVER(to_device, "cuMemcpyHtoDAsync_v2", "hipMemcpyHtoDAsync", (void *, const void *, size_t, void *))                          \
  DRIVER(to_host, "cuMemcpyDtoHAsync_v2", "hipMemcpyDtoHAsync", (void *, void *, size_t, void *))                                  \
  DRIVER(copy2, "cuMemcpy2DAsync_v2", "hipMemcpyParam2DAsync", (const driver_box2 *, void *))                                        \
  DRIVER(copy3, "cuMemcpy3DAsync_v2", "hipDrvMemcpy3DAsync", (const driver_box3 *, void *))                                         \
  DRIVER(elapsed, "cuEventElapsedTime", "hipEventElapsedTime", (float *, void *, void *))                                          \
  DRIVER(device_name, "cuDeviceGetName", "hipDeviceGetName", (char *, int, int))                                                   \
  DRIVER(fill, "cuMemsetD8Async", "hipMemsetD8Async", (void *, unsigned char, size_t, void *))                                     \
  DRIVER(stream, "cuStreamCreate", "hipStreamCreateWithFlags", (void **, unsigned))                                                \
  DRIVER(stream_free, "cuStreamDestroy_v2", "hipStreamDestroy", (void *))                                                          \
  DRIVER(sync, "cuStreamSynchronize", "hipStreamSynchronize", (void *))                                                            \
  DRIVER(query, "cuStreamQuery", "hipStreamQuery", (void *))                                                                       \
  DRIVER(wait_event, "cuStreamWaitEvent", "hipStreamWaitEvent", (void *, void *, unsigned))                                        \
  DRIVER(call, "cuLaunchHostFunc", "hipLaunchHostFunc", (void *, void (*)(void *), void *))                                        \
  DRIVER(event, "cuEventCreate", "hipEventCreateWithFlags", (void **, unsigned))                                                   \
  DRIVER(event_free, "cuEventDestroy_v2", "hipEventDestroy", (void *))                                                             \
  DRIVER(record, "cuEventRecord", "hipEventRecord", (void *, void *))                                                              \
  DRIVER(event_query, "cuEventQuery", "hipEventQuery", (void *))                                                                   \
  DRIVER(event_sync, "cuEventSynchronize", "hipEventSynchronize", (void *))                                                        \
  DRIVER(begin_capture, "cuStreamBeginCapture_v2", "hipStreamBeginCapture", (void *, int))                                         \
  DRIVER(end_capture, "cuStreamEndCapture", "hipStreamEndCapture", (void *, void **))                                              \
  DRIVER(capture_mode, "cuThreadExchangeStreamCaptureMode", "hipThreadExchangeStreamCaptureMode", (int *))                         \
  DRIVER(capturing, "cuStreamIsCapturing", "hipStreamIsCapturing", (void *, int *))                                                \
  DRIVER(instantiate, "cuGraphInstantiateWithFlags", "hipGraphInstantiateWithFlags", (void **, void *, unsigned long long))        \
  DRIVER(graph_launch, "cuGraphLaunch", "hipGraphLaunch", (void *, void *))                                                        \
  DRIVER(graph_free, "cuGraphDestroy", "hipGraphDestroy", (void *))                                                                \
  DRIVER(exec_free, "cuGraphExecDestroy", "hipGraphExecDestroy", (void *))                                                         \
  DRIVER(ipc_get, "cuIpcGetMemHandle", "hipIpcGetMemHandle", (void *, void *))                                                     \
  DRIVER(ipc_open, "cuIpcOpenMemHandle_v2", "hipIpcOpenMemHandle", (void **, driver_ipc, unsigned))                                \
  DRIVER(ipc_close, "cuIpcCloseMemHandle", "hipIpcCloseMemHandle", (void *))                                                       \
  DRIVER(create, "cuMemCreate", "hipMemCreate", (void **, size_t, const driver_piece *, unsigned long long))                                   \
  DRIVER(release_piece, "cuMemRelease", "hipMemRelease", (void *))                                                                            \
  DRIVER(export_piece, "cuMemExportToShareableHandle", "hipMemExportToShareableHandle", (void *, void *, int, unsigned long long))                            \
  DRIVER(import_piece, "cuMemImportFromShareableHandle", "hipMemImportFromShareableHandle", (void **, void *, int))                                             \
  DRIVER(reserve, "cuMemAddressReserve", "hipMemAddressReserve", (void **, size_t, size_t, void *, unsigned long long))                              \
  DRIVER(unreserve, "cuMemAddressFree", "hipMemAddressFree", (void *, size_t))                                                                    \
  DRIVER(map, "cuMemMap", "hipMemMap", (void *, size_t, size_t, void *, unsigned long long))                                              \
  DRIVER(unmap, "cuMemUnmap", "hipMemUnmap", (void *, size_t))                                                                              \
  DRIVER(access, "cuMemSetAccess", "hipMemSetAccess", (void *, size_t, const driver_access *, size_t))                                          \
  DRIVER(pool, "cuMemPoolCreate", "hipMemPoolCreate", (void **, const driver_pool *))                                                \
  DRIVER(pool_free, "cuMemPoolDestroy", "hipMemPoolDestroy", (void *))                                                             \
  DRIVER(alloc_of, "cuMemAllocFromPoolAsync", "hipMallocFromPoolAsync", (void **, size_t, void *, void *))                         \
  DRIVER(attribute, "cuPointerGetAttribute", "hipPointerGetAttribute", (void *, int, void *))                                      \
  DRIVER(range, "cuMemGetAddressRange_v2", "hipMemGetAddressRange", (void **, size_t *, void *))

/* Boxes of bytes, as both vendors lay them out; kind 4: the address says whose memory it is. */
enum { DRIVER_HOST = 1, DRIVER_ANY = 4 };
typedef struct driver_side2 { size_t x, y; int kind; const void *host; const void *device; void *array; size_t pitch; } driver_side2;
typedef struct driver_box2 { driver_side2 src, dst; size_t width, height; } driver_box2;
typedef struct driver_side3 { size_t x, y, z, lod; int kind; const void *host; const void *device; void *array, *reserved; size_t pitch, height; } driver_side3;
typedef struct driver_box3 { driver_side3 src, dst; size_t width, height, depth; } driver_box3;
/* CUmemAllocationProp and CUmemAccessDesc; HIP has the same. */
typedef struct driver_piece { int type, handles, place, device; void *security; unsigned char flags[8]; } driver_piece;
typedef struct driver_pool { int type, handles, place, device; void *security; unsigned char rest[64]; } driver_pool; /* CUmemPoolProps */
typedef struct driver_access { int place, device, flags; } driver_access;
typedef struct driver_ipc { unsigned char bytes[64]; } driver_ipc;
#define DRIVER_POINTER(name, cuda, hip, params) int (*name) params;
typedef struct driver {
  DRIVER_CALLS(DRIVER_POINTER)
  int (*copy)(void *, const void *, size_t, void *);           /* CUDA's; HIP's has a kind before the stream */
  int (*device)(int *), (*set_device)(int);                    /* of this thread; HIP's alone */
  int (*copy_of_kind)(void *, const void *, size_t, int, void *);
  ldg_fake_control_fn *fake; /* NULL: this is the real one */
} driver;
#undef DRIVER_POINTER

/* "cuda" or "hip"; initialized. NULL: there is none here. */
const driver *driver_open(const char *backend);
int driver_copy(const driver *d, void *dst, const void *src, size_t n, void *stream); /* between memory of any kind */
/* Makes the context of that device current, until driver_leave. 0 or the driver's error. */
int driver_enter(const driver *d, int device);
int driver_leave(const driver *d, int device);

#endif
