/* One source of a device kernel for nvcc, hipcc and the host compiler (C there, C++ here: write what is both).
 *
 *     LDG_KERNEL(fill, ldg_fill_args) {                     the symbol is ldg_d_fill, extern "C"; its only parameter is the struct, by
 *       const uint64_t i = LDG_BID * (uint64_t)LDG_BLOCK_DIM + LDG_TID;     value, seen as `const ldg_fill_args *a`
 *       if (i < a->n) LDG_STORE(uint32_t, a->dst + 4 * i, a->value);
 *     }
 *
 * A kernel is launched with at most LDG_BLOCK_MAX threads a block, in one dimension; LDG_KERNEL_BESIDE(name, args, blocks) has registers for so many
 * blocks on an NVIDIA multiprocessor (../test/test_resources.py looks at all). It knows nothing of warps. Buffers are read and
 * written with LDG_LOAD and LDG_STORE alone: on a device plain accesses of that type, on the host checked ones (aligned? inside of
 * memory that a device may touch?). The host branch belongs to test/fake/, which runs the very same bodies: every thread of a block
 * must meet every LDG_SYNC() of its way, no thread may leave before the others meet one.
 */
#ifndef LDG_DEVICE_H
#define LDG_DEVICE_H

#define LDG_BLOCK_MAX 256

#if defined(__CUDACC__) || defined(__HIP__)
#define LDG_ON_DEVICE 1
#else
#define LDG_ON_DEVICE 0
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__HIP__)
/* Kernels need nothing of ROCm: the words of the language are the compiler's, so any clang with this target makes them. */
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(n, ...) __attribute__((amdgpu_flat_work_group_size(1, n)))
#define __align__(n) __attribute__((aligned(n)))
#endif

#if LDG_ON_DEVICE

#define LDG_DEVICE static __device__ __forceinline__
#define LDG_OUTLINE static __device__ __noinline__ /* for what is large and has several callers */
/* nvcc knows how to leave the parameter where it is, even if its address is taken; clang finds out by itself. */
#if defined(__HIP__)
#define LDG_PARAM(T) const T
#else
#define LDG_PARAM(T) const __grid_constant__ T
#endif
#define LDG_KERNEL_BOUND(name, args_struct, ...)                                                                \
  LDG_DEVICE void ldg_body_##name(const args_struct *a);                                                        \
  extern "C" __global__ void __launch_bounds__(__VA_ARGS__) ldg_d_##name(LDG_PARAM(args_struct) args) {         \
    ldg_body_##name(&args);                                                                                     \
  }                                                                                                             \
  LDG_DEVICE void ldg_body_##name(const args_struct *a)
/* To say 1 block is not to say nothing: the compiler then takes as many registers as it likes. */
#define LDG_KERNEL(name, args_struct) LDG_KERNEL_BOUND(name, args_struct, LDG_BLOCK_MAX)
#define LDG_KERNEL_BESIDE(name, args_struct, blocks) LDG_KERNEL_BOUND(name, args_struct, LDG_BLOCK_MAX, blocks)

#define LDG_SHARED(type, name, count) __shared__ type name[count]
#define LDG_PRAGMA(text) _Pragma(#text)
#define LDG_UNROLL(n) LDG_PRAGMA(unroll n)
#define LDG_LOAD(T, p) (*(const T *)(p))
#define LDG_STORE(T, p, v) (*(T *)(p) = (v))

/* Atomics return what was there before; other blocks see them in some order, and nothing else is ordered by them. */
#if defined(__HIP__)
#define LDG_TID ((uint32_t)__builtin_amdgcn_workitem_id_x())
#define LDG_BID ((uint32_t)__builtin_amdgcn_workgroup_id_x())
#define LDG_BLOCK_DIM ((uint32_t)__builtin_amdgcn_workgroup_size_x())
#define LDG_GRID_DIM (__builtin_amdgcn_grid_size_x() / LDG_BLOCK_DIM) /* in threads, there */
LDG_DEVICE void ldg_dev_sync(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#define LDG_SYNC() ldg_dev_sync()
LDG_DEVICE uint64_t ldg_dev_atomic_add64(uint64_t *p, uint64_t n) { return __hip_atomic_fetch_add(p, n, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
LDG_DEVICE uint32_t ldg_dev_atomic_sub32(uint32_t *p, uint32_t n) { return __hip_atomic_fetch_add(p, 0 - n, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
LDG_DEVICE void ldg_dev_fence(void) { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
LDG_DEVICE void ldg_dev_fence_system(void) { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); } /* "": the scope of the system */
LDG_DEVICE uint64_t ldg_dev_mulhi64(uint64_t a, uint64_t b) { return (uint64_t)((unsigned __int128)a * b >> 64); } /* the upper half of a * b */
LDG_DEVICE uint32_t ldg_dev_mulhi32(uint32_t a, uint32_t b) { return (uint32_t)((uint64_t)a * b >> 32); }
LDG_DEVICE uint64_t ldg_dev_mad(uint32_t a, int32_t b, uint64_t c) { return c + (uint64_t)((int64_t)(int32_t)a * b); } /* a < 2^31 */
LDG_DEVICE char *ldg_dev_global(uint64_t at) { return (char *)(__attribute__((address_space(1))) char *)at; } /* not of a block: what loads and stores are told */
#else
#define LDG_TID ((uint32_t)threadIdx.x)
#define LDG_BID ((uint32_t)blockIdx.x)
#define LDG_BLOCK_DIM ((uint32_t)blockDim.x)
#define LDG_GRID_DIM ((uint32_t)gridDim.x)
#define LDG_SYNC() __syncthreads()
LDG_DEVICE uint64_t ldg_dev_atomic_add64(uint64_t *p, uint64_t n) { return atomicAdd((unsigned long long *)p, (unsigned long long)n); }
LDG_DEVICE uint32_t ldg_dev_atomic_sub32(uint32_t *p, uint32_t n) { return atomicSub((unsigned int *)p, (unsigned int)n); }
LDG_DEVICE void ldg_dev_fence(void) { __threadfence(); } /* for the other blocks */
LDG_DEVICE void ldg_dev_fence_system(void) { __threadfence_system(); }
LDG_DEVICE uint64_t ldg_dev_mulhi64(uint64_t a, uint64_t b) { return __umul64hi(a, b); }
LDG_DEVICE uint32_t ldg_dev_mulhi32(uint32_t a, uint32_t b) { return __umulhi(a, b); }
/* One instruction; of C, in a loop, the compiler makes six. */
LDG_DEVICE uint64_t ldg_dev_mad(uint32_t a, int32_t b, uint64_t c) {
  uint64_t r;
  asm("mad.wide.s32 %0, %1, %2, %3;" : "=l"(r) : "r"(a), "r"(b), "l"(c));
  return r;
}
LDG_DEVICE char *ldg_dev_global(uint64_t at) { return (char *)__cvta_global_to_generic(at); }
#endif
/* A word in pinned memory that the host polls: what was written before is seen by who sees the word. */
LDG_DEVICE void ldg_dev_publish64(uint64_t *p, uint64_t v) { ldg_dev_fence_system(); *(volatile uint64_t *)p = v; }
LDG_DEVICE void ldg_dev_publish32(uint32_t *p, uint32_t v) { ldg_dev_fence_system(); *(volatile uint32_t *)p = v; }

#else /* the host: test/fake/ */

/* Where the thread that runs now stands. */
typedef struct ldg_fake_place { uint32_t tid, bid, block_dim, grid_dim; } ldg_fake_place;
extern _Thread_local ldg_fake_place ldg_fake_here;
typedef void ldg_fake_body(const void *args);
void ldg_fake_register(const char *name, size_t args_size, ldg_fake_body *body); /* a kernel makes itself known when it is loaded */
void ldg_fake_sync(const char *file, int line);
void *ldg_fake_shared(const void *key, size_t size, size_t align);               /* the block's own memory of this name */
void *ldg_fake_touch(const void *p, size_t size, size_t align, bool writes);     /* p, or the end of the kernel */
void ldg_fake_fence(void);

#define LDG_DEVICE static inline __attribute__((unused))
#define LDG_OUTLINE static __attribute__((unused, noinline))
#define LDG_KERNEL(name, args_struct)                                                                           \
  static void ldg_body_##name(const args_struct *a);                                                            \
  static void ldg_d_##name(const void *args) { ldg_body_##name((const args_struct *)args); }                    \
  __attribute__((constructor)) static void ldg_register_##name(void) {                                          \
    ldg_fake_register("ldg_d_" #name, sizeof(args_struct), ldg_d_##name);                                       \
  }                                                                                                             \
  static void ldg_body_##name(const args_struct *a)

#define LDG_KERNEL_BESIDE(name, args_struct, blocks) LDG_KERNEL(name, args_struct)

#define LDG_TID ldg_fake_here.tid
#define LDG_BID ldg_fake_here.bid
#define LDG_BLOCK_DIM ldg_fake_here.block_dim
#define LDG_GRID_DIM ldg_fake_here.grid_dim
#define LDG_SYNC() ldg_fake_sync(__FILE__, __LINE__)
/* A pointer here, an array there: sizeof of it means different things. */
#define LDG_SHARED(type, name, count) \
  static const char name##_key = 0; \
  type *const name = (type *)ldg_fake_shared(&name##_key, sizeof(type) * (count), _Alignof(type))
#define LDG_UNROLL(n)
#define LDG_LOAD(T, p) (*(const T *)ldg_fake_touch((const void *)(p), sizeof(T), _Alignof(T), false))
#define LDG_STORE(T, p, v) ((void)(*(T *)ldg_fake_touch((const void *)(p), sizeof(T), _Alignof(T), true) = (v)))

/* Ordered, unlike those of a device: the thread sanitizer knows no fences. */
LDG_DEVICE uint64_t ldg_dev_atomic_add64(uint64_t *p, uint64_t n) {
  return __atomic_fetch_add((uint64_t *)ldg_fake_touch(p, 8, 8, true), n, __ATOMIC_ACQ_REL);
}
LDG_DEVICE uint32_t ldg_dev_atomic_sub32(uint32_t *p, uint32_t n) {
  return __atomic_fetch_sub((uint32_t *)ldg_fake_touch(p, 4, 4, true), n, __ATOMIC_ACQ_REL);
}
LDG_DEVICE void ldg_dev_fence(void) { ldg_fake_fence(); }
LDG_DEVICE void ldg_dev_fence_system(void) { ldg_fake_fence(); }
LDG_DEVICE void ldg_dev_publish64(uint64_t *p, uint64_t v) {
  __atomic_store_n((uint64_t *)ldg_fake_touch(p, 8, 8, true), v, __ATOMIC_RELEASE);
}
LDG_DEVICE void ldg_dev_publish32(uint32_t *p, uint32_t v) {
  __atomic_store_n((uint32_t *)ldg_fake_touch(p, 4, 4, true), v, __ATOMIC_RELEASE);
}
LDG_DEVICE uint64_t ldg_dev_mulhi64(uint64_t a, uint64_t b) { return (uint64_t)((unsigned __int128)a * b >> 64); }
LDG_DEVICE uint32_t ldg_dev_mulhi32(uint32_t a, uint32_t b) { return (uint32_t)((uint64_t)a * b >> 32); }
LDG_DEVICE uint64_t ldg_dev_mad(uint32_t a, int32_t b, uint64_t c) { return c + (uint64_t)((int64_t)(int32_t)a * b); }
LDG_DEVICE char *ldg_dev_global(uint64_t at) { return (char *)(uintptr_t)at; }

#endif

/* The widest word a thread moves at once; shorter ones are plain integers. */
#if LDG_ON_DEVICE
struct __align__(16) ldg_word16 { uint64_t a, b; };
#else
typedef struct ldg_word16 { _Alignas(16) uint64_t a; uint64_t b; } ldg_word16;
#endif

#endif
