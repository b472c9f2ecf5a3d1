/* driver: what the vendors' driver interfaces have in common, as one table of functions that is found at run time. */
#ifndef LDG_DEVICE_DRIVER_H
#define LDG_DEVICE_DRIVER_H

#include "backend.h"

typedef struct ldg_ipc_handle { char bytes[64]; } ldg_ipc_handle; /* goes by value */
typedef uint64_t ldg_address;                                     /* CUdeviceptr; of HIP a pointer, passed alike */

/* member, what it takes. All return 0 or an error of the driver. */
#define LDG_DRIVER(F) \
  F(init, (unsigned flags)) \
  F(device_count, (int *n)) \
  F(device_get, (int *device, int ordinal)) \
  F(context_retain, (void **context, int device)) \
  F(context_release, (int device)) \
  F(context_push, (void *context)) \
  F(context_pop, (void **context)) \
  F(context_get, (void **context)) \
  F(context_device, (int *device)) \
  F(module_load, (void **module, const void *image)) \
  F(module_unload, (void *module)) \
  F(module_function, (void **function, void *module, const char *name)) \
  F(launch, (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream, \
             void **params, void **extra)) \
  F(memory_alloc, (ldg_address *at, size_t bytes)) \
  F(memory_free, (ldg_address at)) \
  F(memory_range, (ldg_address *base, size_t *bytes, ldg_address at)) \
  F(pinned_alloc, (void **at, size_t bytes, unsigned flags)) \
  F(pinned_free, (void *at)) \
  F(stream_create, (void **stream, unsigned flags)) \
  F(stream_destroy, (void *stream)) \
  F(stream_sync, (void *stream)) \
  F(stream_query, (void *stream)) \
  F(stream_capturing, (void *stream, int *status)) \
  F(stream_wait, (void *stream, void *event, unsigned flags)) \
  F(stream_call, (void *stream, void (*fn)(void *arg), void *arg)) \
  F(event_create, (void **event, unsigned flags)) \
  F(event_record, (void *event, void *stream)) \
  F(event_query, (void *event)) \
  F(event_sync, (void *event)) \
  F(event_destroy, (void *event)) \
  F(pointer_facts, (unsigned n, int *attributes, void **values, ldg_address at)) \
  F(ipc_get, (ldg_ipc_handle *handle, ldg_address at)) \
  F(ipc_open, (ldg_address *at, ldg_ipc_handle handle, unsigned flags)) \
  F(ipc_close, (ldg_address at))

/* Not every driver has these. Pieces are memory without addresses (virtual memory), pools are what stream-ordered memory is of; of the functions
 * of pieces all are used, or none, of those of pools the first three, which make one, and the others, which share one, likewise. */
typedef struct ldg_access { int place, device, flags; } ldg_access;
typedef struct ldg_pool_kind { int type, handles, place, device; void *security; unsigned char rest[64]; } ldg_pool_kind;
enum { LDG_POOL_PINNED = 1, LDG_POOL_ON_DEVICE = 1, LDG_POOL_KEEPS = 4 /* bytes that are not in use, an attribute of 64 bits */ };
#define LDG_DRIVER_OPTIONAL(F) \
  F(thread_capture, (int *mode)) \
  F(context_id, (void *context, unsigned long long *id)) \
  F(context_state, (int device, unsigned *flags, int *active)) \
  F(stream_flags, (void *stream, unsigned *flags)) \
  F(piece_of, (uint64_t *piece, ldg_address at)) \
  F(piece_free, (uint64_t piece)) \
  F(piece_export, (void *out, uint64_t piece, int type, unsigned long long flags)) \
  F(piece_import, (uint64_t *piece, void *from, int type)) \
  F(space_take, (ldg_address *out, size_t bytes, size_t align, ldg_address hint, unsigned long long flags)) \
  F(space_free, (ldg_address at, size_t bytes)) \
  F(space_map, (ldg_address at, size_t bytes, size_t offset, uint64_t piece, unsigned long long flags)) \
  F(space_unmap, (ldg_address at, size_t bytes)) \
  F(space_access, (ldg_address at, size_t bytes, const ldg_access *who, size_t n)) \
  F(pool_make, (void **pool, const ldg_pool_kind *kind)) \
  F(pool_set, (void *pool, int attribute, void *value)) \
  F(pool_alloc, (ldg_address *at, size_t bytes, void *pool, void *stream)) \
  F(pool_export, (void *out, void *pool, int type, unsigned long long flags)) \
  F(pool_import, (void **pool, void *from, int type, unsigned long long flags)) \
  F(pool_free, (void *pool)) \
  F(pool_access, (void *pool, const ldg_access *who, size_t n)) \
  F(pool_share, (ldg_ipc_handle *out, ldg_address at)) \
  F(pool_take, (ldg_address *at, void *pool, ldg_ipc_handle *from))
/* All of these, or none is used. */
#define LDG_DRIVER_GRAPHS(F) \
  F(capture_begin, (void *stream, int mode)) \
  F(capture_end, (void *stream, void **graph)) \
  F(graph_instantiate, (void **exec, void *graph, unsigned long long flags)) \
  F(graph_launch, (void *exec, void *stream)) \
  F(graph_free, (void *graph)) \
  F(exec_free, (void *exec)) \
  F(event_elapsed, (float *ms, void *from, void *to))
/* All of these, and what launches and frees graphs, or none is used. Only where a graph that is freed while it is under way goes when it is done. */
typedef struct ldg_node_params { void *function; unsigned grid[3], block[3], shared; void **params, **extra, *kernel, *context; } ldg_node_params;
#define LDG_DRIVER_REPLAYS(F) \
  F(graph_create, (void **graph, unsigned flags)) \
  F(graph_kernel, (void **node, void *graph, const void *const *behind, size_t n, const ldg_node_params *params)) \
  F(exec_set, (void *exec, void *node, const ldg_node_params *params))

#define LDG_IS_THERE(name, takes) && d->name

typedef void ldg_driver_any(void);
typedef struct ldg_driver {
#define LDG_MEMBER(name, takes) int (*name) takes;
  LDG_DRIVER(LDG_MEMBER)
  LDG_DRIVER_OPTIONAL(LDG_MEMBER)
  LDG_DRIVER_GRAPHS(LDG_MEMBER)
  LDG_DRIVER_REPLAYS(LDG_MEMBER)
#undef LDG_MEMBER
  /* Not every driver has these, but for the last, which takes something else in each. */
  ldg_driver_any *stream_context, *pointer_set, *scratch_alloc, *scratch_free, *memory_copy;
} ldg_driver;

typedef struct ldg_driver_names {
#define LDG_MEMBER(name, takes) const char *name;
  LDG_DRIVER(LDG_MEMBER)
  LDG_DRIVER_OPTIONAL(LDG_MEMBER)
  LDG_DRIVER_GRAPHS(LDG_MEMBER)
  LDG_DRIVER_REPLAYS(LDG_MEMBER)
#undef LDG_MEMBER
  const char *stream_context, *pointer_set, *scratch_alloc, *scratch_free, *memory_copy;
} ldg_driver_names;

/* Numbers that both vendors have, but for these. */
enum { LDG_NOT_READY = 600, LDG_BAD_VALUE = 1, LDG_OUT_OF_MEMORY = 2, LDG_NO_CONTEXT = 201, LDG_NOT_PEERS = 217, LDG_NOT_PERMITTED = 800, LDG_NOT_SUPPORTED = 801, LDG_CAPTURE_IMPLICIT = 906 };
enum { LDG_CAPTURE_RELAXED = 2 };
enum { LDG_STREAM_NON_BLOCKING = 1, LDG_EVENT_NO_TIMING = 2, LDG_PINNED_PORTABLE = 1, LDG_PINNED_MAPPED = 2, LDG_IPC_LAZY_PEER = 1 };

/* A context, and which of those that were at its address; 0: the driver does not say. */
typedef struct ldg_context { void *at; uint64_t id; } ldg_context;
enum { LDG_CONTEXTS_HELD = 64 };

typedef struct ldg_site ldg_site;
typedef struct ldg_vendor {
  const char *name;
  const char *const *libraries;          /* tried in turn, to a NULL */
  ldg_driver_names names;
  const char *image;                     /* of all kernels, for all architectures */
  int fact_kind, fact_address, fact_managed, fact_device, fact_buffer, fact_exportable, fact_types, fact_pool; /* attributes of pointers; 0: not known */
  int kind_host, kind_device;            /* values of the first */
  int (*copy)(const ldg_driver *d, void *dst, const void *src, size_t n, void *stream);
  int (*context_of)(struct ldg_vendor *v, void *stream, void **context); /* of a stream; NULL where there is none */
  bool (*adapt)(ldg_driver *d, void *library); /* NULL: the functions are as driver.h means them; false: they cannot be made so */
  /* what is found at run time */
  _Atomic int state;                     /* 0: nobody has looked yet; 1: there; 2: not there */
  ldg_driver driver;
  int devices;
  _Atomic(ldg_site *) sites;
  ldg_context held[LDG_CONTEXTS_HELD];   /* primary contexts, by device: of each the library holds one reference */
} ldg_vendor;

/* Loads the driver at first use. NULL: there is none, or it has no device. */
const ldg_driver *ldg_device_driver(ldg_vendor *v);
/* 0 or an error code of the library. */
int ldg_device_error(int driver_error);

/* Around calls that wait, ask, allocate or free: somebody may record a stream, and the thread says that it touches none of that. What
 * relax returns is for restore. */
static inline int ldg_driver_relax(const ldg_driver *d) {
  int mode = LDG_CAPTURE_RELAXED;
  return d->thread_capture && d->thread_capture(&mode) == 0 ? mode : LDG_CAPTURE_RELAXED;
}
static inline void ldg_driver_restore(const ldg_driver *d, int mode) {
  if (mode != LDG_CAPTURE_RELAXED) d->thread_capture(&mode);
}

static inline ldg_context ldg_driver_context(const ldg_driver *d, void *at) {
  unsigned long long id = 0;
  if (d->context_id && d->context_id(at, &id)) id = UINT64_MAX; /* it is gone */
  return (ldg_context){ at, id };
}
static inline bool ldg_context_same(ldg_context a, ldg_context b) { return a.at == b.at && a.id == b.id; }

static inline ldg_vendor *ldg_device_vendor(const ldg_device *d) { return d->own; }

#endif
