/* Inside the stand-in driver: a library with the names of libcuda.so.1 (or of libamdhip64.so) that runs kernels in host memory
 * and judges who calls it. Test equipment, never installed. README.md says what it can show; control.h is what tests say to it.
 *
 *   call     one entry point: counted, made to fail on demand
 *   range    memory that a device may touch: its kind, and where it really is
 *   stream   a queue of commands; nobody runs them before somebody waits, asks, or loses patience
 *   mark     the completion of one command, which events and waiting streams share
 *   lane     the stack of one thread of a block
 *
 * One lock holds everything; kernels and copies run under it, callbacks of the caller do not.
 */
#ifndef FAKE_H
#define FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(FAKE_TSAN)
/* said by the build, for a file that is compiled without it */
#elif defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define FAKE_TSAN 1
#else
#define FAKE_TSAN 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define FAKE_ASAN 1
#else
#define FAKE_ASAN 0
#endif

/* ---- errors: one set of numbers, since HIP took CUDA's ---- */
enum {
  E_OK = 0, E_VALUE = 1, E_MEMORY = 2, E_NOT_INIT = 3, E_NO_DEVICE = 100, E_DEVICE = 101, E_IMAGE = 200, E_CONTEXT = 201, E_MAP = 205, E_OVERLAPS = 208,
  E_HANDLE = 400, E_NOT_FOUND = 500, E_NOT_READY = 600, E_ADDRESS = 700, E_RESOURCES = 701, E_ALREADY_MAPPED = 712, E_NOT_MAPPED = 713,
  E_MISALIGNED = 716, E_LAUNCH = 719, E_NOT_PERMITTED = 800, E_CAPTURE = 900, E_CAPTURE_BROKEN = 901, E_UNJOINED = 904, E_IMPLICIT = 906,
  E_UNKNOWN = 999,
};

/* ---- calls ---- */
typedef enum fake_needs { ANYTIME, INIT, CURRENT } fake_needs; /* INIT: after cuInit; CURRENT: and with a current context */
typedef struct fake_call {
  const char *name;
  fake_needs needs;
  int64_t count, fail_in; /* fail_in: that many calls from now, 0: not */
  int fail_with;
  struct fake_call *next;
} fake_call;
void fake_know(fake_call *c);
int fake_enter(fake_call *c);  /* 0: go on, and the lock is held */
int fake_leave(int err);

#ifdef FAKE_HIP
#define FAKE_PICK(cuda, hip) hip
#else
#define FAKE_PICK(cuda, hip) cuda
#endif
#define FAKE_WORD_(x) #x
#define FAKE_WORD(x) FAKE_WORD_(x)
#define FAKE_EXPORT __attribute__((visibility("default")))

/* FAKE(name in CUDA, in HIP, what it needs, (parameters), (their names)) { body, under the lock } */
#define FAKE(cuda, hip, needs, params, args)                                            \
  static int do_##cuda params;                                                          \
  static fake_call call_##cuda = { FAKE_WORD(FAKE_PICK(cuda, hip)), needs, 0, 0, 0, NULL }; \
  __attribute__((constructor(200))) static void know_##cuda(void) { fake_know(&call_##cuda); } \
  FAKE_EXPORT int FAKE_PICK(cuda, hip) params;                                          \
  FAKE_EXPORT int FAKE_PICK(cuda, hip) params {                                         \
    const int refused_ = fake_enter(&call_##cuda);                                     \
    return refused_ ? refused_ : fake_leave(do_##cuda args);                            \
  }                                                                                     \
  static int do_##cuda params

/* ---- what went wrong that a real driver may let pass: printed, counted, and the process ends badly ---- */
int fake_fault(int err, const char *format, ...) __attribute__((format(printf, 2, 3))); /* returns err */

/* ---- settings: control.h ---- */
typedef struct fake_settings {
  int64_t devices, version, room, patience, late, reuse, apart, kernel_fail_in, pageable, orphans, launch_takes, graph_takes, silent, still;
  int kernel_fail_with, lost;
  uint64_t random;
} fake_settings;
extern fake_settings fake_set;
uint64_t fake_random(void);
void fake_lock(void);
void fake_unlock(void);
void fake_wait(void);      /* until something changed, with the lock given up meanwhile */
void fake_changed(void);

/* ---- contexts ---- */
enum { FAKE_DEVICES = 4 };
typedef struct fake_stream fake_stream;
typedef struct fake_context { int device, retained, error; unsigned long long id; fake_stream *null; } fake_context; /* id: a reset makes it another one */
fake_context *fake_current(void);
fake_context *fake_primary(int device);

/* ---- live objects: streams, events, modules ... are found before they are believed ---- */
typedef enum fake_kind { A_STREAM, AN_EVENT, A_MODULE, A_GRAPH, AN_EXEC, A_PIECE, A_POOL, FAKE_KINDS } fake_kind;
typedef struct fake_object { fake_kind kind; fake_context *context; struct fake_object *next; } fake_object;
void *fake_new(fake_kind kind, size_t size);           /* zeros, in the current context */
void fake_drop(void *object);
bool fake_is(const void *object, fake_kind kind);
void *fake_find(fake_kind kind, void *after);          /* the first one, or the next */
int64_t fake_live(fake_kind kind);
void fake_streams_reset(fake_context *c);                /* all that a context has, by kind */
void fake_memory_reset(fake_context *c);

/* ---- memory ---- */
typedef enum fake_memory { MEMORY_NONE, MEMORY_DEVICE, MEMORY_PINNED, MEMORY_REGISTERED, MEMORY_MANAGED } fake_memory;
/* The first page of a device allocation, seen by every process that has it. */
typedef struct fake_shared_header { uint64_t magic, id; int64_t alive, importers; } fake_shared_header;
typedef struct fake_range {
  uintptr_t base;          /* what the caller has; device memory is never accessible there */
  int64_t size, real;      /* real: added to an address, where the bytes are */
  fake_memory memory;
  bool pool;               /* of the stream-ordered allocator, or mapped from pieces: no legacy IPC */
  struct fake_pool *of;    /* that a caller made, or imported; NULL: of none */
  int types;               /* of handles that a piece or pool may be exported by */
  bool doomed;             /* a free is queued */
  int opened;              /* how often, if it came from another process */
  fake_context *context;
  uint64_t id;
  fake_shared_header *header;
  unsigned char handle[64];
} fake_range;
fake_range *fake_range_at(const void *p);              /* NULL: no range has this byte */
fake_range *fake_range_add(fake_range r);
void fake_range_remove(fake_range *r);
fake_range *fake_range_first(void), *fake_range_end(void);
bool fake_in_arena(const void *p);                     /* looks like device memory, live or not */
int64_t fake_leaks(bool say);                          /* live objects and memory */
/* n bytes at p as a copy may use them; NULL after a fault was told. */
char *fake_bytes(const void *p, int64_t n, const char *what);
bool fake_arena_has(int64_t offset, int64_t size);     /* may the file of any process have these bytes, and a header */
uintptr_t fake_arena_take(int64_t size);               /* pages of addresses, for header and data */
int64_t fake_arena_real(void);
int fake_arena_file(void);
int64_t fake_arena_offset(uintptr_t p);
void fake_range_free(fake_range *r);
int fake_device_new(void **out, int64_t n, struct fake_pool *of); /* stream-ordered */
/* Memory of another process: where it is, as bytes that may travel. */
typedef struct fake_ticket { uint64_t magic, id; int64_t offset, size; int32_t pid, file, device; } fake_ticket;
fake_ticket fake_ticket_of(const fake_range *r, uint64_t magic);
int fake_ticket_open(const fake_ticket *t, fake_range **out);
int fake_ticket_close(uintptr_t base);
void fake_pool_lost(struct fake_pool *p);              /* memory of it was freed */
int fake_pool_types(const struct fake_pool *p);
extern int64_t fake_generation;                        /* of the table of ranges */
enum { FAKE_PAGE = 4096 };

/* ---- streams ---- */
typedef struct fake_mark { int users; bool done; int64_t when; } fake_mark;
typedef enum fake_what { DO_LAUNCH, DO_COPY, DO_FILL, DO_MARK, DO_AWAIT, DO_CALL, DO_FREE } fake_what;
typedef struct fake_kernel fake_kernel;
typedef struct fake_launch { const fake_kernel *kernel; uint32_t grid, block; void *args; int device; } fake_launch;
/* Boxes of bytes; one row is a box of height and depth 1. */
typedef struct fake_box { char *p; int64_t pitch, slice; } fake_box;
typedef struct fake_copy { fake_box dst, src; int64_t width, height, depth; void *snapshot; } fake_copy;
typedef struct fake_fill { char *p; unsigned char value; int64_t n; } fake_fill;
typedef struct fake_command {
  fake_what what;
  uint64_t number;          /* of all streams */
  int64_t since, takes;     /* ns; takes: that the clock of devices goes forward */
  const struct fake_graph *of; /* the executable graph that was launched, or NULL */
  union {
    fake_launch launch; fake_copy copy; fake_fill fill; fake_mark *mark; uintptr_t free;
    struct { void (*run)(void *); void *data; } call;
  };
  struct fake_command *next;
} fake_command;
struct fake_stream {
  fake_object object;
  bool beside, busy;        /* beside: not ordered with the default stream; busy: its callback runs */
  fake_command *first, **end;
  int64_t late;             /* so many queries more say that it is not ready */
  struct fake_graph *capture; /* recorded, not run */
  bool origin, unjoined;    /* unjoined: the capture has work of it that the origin does not wait for */
};
typedef struct fake_graph {
  fake_object object;
  fake_command *first, **end;
  int mode;
  bool broken;
  bool single;              /* of one kernel, made as such: it may be freed while it is under way */
  uint64_t thread;
  int streams;              /* that record into it */
} fake_graph;

fake_stream *fake_stream_of(void *handle);              /* NULL, 1 and 2 are default streams; NULL: no such stream */
fake_stream *fake_stream_here(void *handle, int *err);  /* the same, and it must be of the current context */
void fake_stream_born(fake_stream *s);
int fake_push(fake_stream *s, fake_command c);          /* queues it, or records it; owns what it points to */
int fake_push_taken(fake_stream *s, fake_command *c);   /* the same, of a command of fake_command_copy */
fake_command *fake_command_take(fake_command c);        /* on the heap */
int fake_drain(fake_stream *s);
int fake_drain_all(void);
int fake_until(const fake_mark *m);
bool fake_step_any(int64_t older_than);
void fake_command_end(fake_command *c);                 /* frees what it owns */
fake_command *fake_command_copy(const fake_command *c);
void fake_mark_drop(fake_mark *m);
int64_t fake_now(void);

/* ---- captures ---- */
int fake_capture_forbids(const char *what, fake_stream *s); /* E_OK or why not; breaks captures. s: which the call is about, or NULL */
bool fake_capture_implicit(const fake_stream *s);
int fake_record(fake_graph *g, fake_command *c);

/* ---- kernels ---- */
int fake_launch_command(const void *fn, const unsigned dims[6], unsigned shared, void **params, void **extra, fake_command *out); /* E_OK or why not */
int fake_kernel_run(const fake_launch *l);
int fake_lanes_run(const fake_launch *l, void (*body)(const void *));
struct fake_kernel { const char *name; size_t args_size; void (*body)(const void *); int64_t ran; };
int64_t fake_kernel_ran(const char *name); /* so often; -1: no such kernel */
int fake_copy_run(const fake_copy *c);

#endif
