/* The driver as tests call it, beside the library: found in the library of the vendor that the process would load, real or fake.
 * Tests that need the fake ask ldg_fake_control; where it is not there, they skip. */
#ifndef TEST_DRIVER_H
#define TEST_DRIVER_H

#include "fake/control.h"
#include <stddef.h>
#include <stdint.h>

/* DRIVER(name here, in CUDA, in HIP, (parameters)); handles are void *, errors int with the numbers of both vendors */
#define DRIVER_CALLS(DRIVER)                                                                                                       \
  DRIVER(init, "cuInit", "hipInit", (unsigned))                                                                                    \
  DRIVER(device_count, "cuDeviceGetCount", "hipGetDeviceCount", (int *))                                                           \
  DRIVER(retain, "cuDevicePrimaryCtxRetain", "hipDevicePrimaryCtxRetain", (void **, int))                                          \
  DRIVER(release, "cuDevicePrimaryCtxRelease_v2", "hipDevicePrimaryCtxRelease", (int))                                             \
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
  DRIVER(instantiate, "cuGraphInstantiateWithFlags", "hipGraphInstantiateWithFlags", (void **, void *, unsigned long long))        \
  DRIVER(graph_launch, "cuGraphLaunch", "hipGraphLaunch", (void *, void *))                                                        \
  DRIVER(graph_free, "cuGraphDestroy", "hipGraphDestroy", (void *))                                                                \
  DRIVER(exec_free, "cuGraphExecDestroy", "hipGraphExecDestroy", (void *))                                                         \
  DRIVER(ipc_get, "cuIpcGetMemHandle", "hipIpcGetMemHandle", (void *, void *))                                                     \
  DRIVER(ipc_open, "cuIpcOpenMemHandle_v2", "hipIpcOpenMemHandle", (void **, driver_ipc, unsigned))                                \
  DRIVER(ipc_close, "cuIpcCloseMemHandle", "hipIpcCloseMemHandle", (void *))                                                       \
  DRIVER(attribute, "cuPointerGetAttribute", "hipPointerGetAttribute", (void *, int, void *))                                      \
  DRIVER(range, "cuMemGetAddressRange_v2", "hipMemGetAddressRange", (void **, size_t *, void *))

typedef struct driver_ipc { unsigned char bytes[64]; } driver_ipc;
#define DRIVER_POINTER(name, cuda, hip, params) int (*name) params;
typedef struct driver {
  DRIVER_CALLS(DRIVER_POINTER)
  ldg_fake_control_fn *fake; /* NULL: this is the real one */
} driver;
#undef DRIVER_POINTER

/* "cuda" or "hip"; initialized. NULL: there is none here. */
const driver *driver_open(const char *backend);
/* Also makes the context of that device current, which the caller gives back with driver_leave. */
void driver_enter(const driver *d, int device);
void driver_leave(const driver *d, int device);

#endif
