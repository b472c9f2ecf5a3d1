/* The contract between the planner and a place that can run nests. A backend sees this header and its vendor's only.
 *
 * A strategy is a row {name, why_not, prepare}. why_not says in words why it cannot run a nest, NULL meaning able; it
 * must be right for every nest, since tests run every able strategy on every nest. prepare fills job->run (and may
 * reorder job->nest or fill job->aux). Preconditions for run: src and dst do not overlap; a nest that is `ordered` is run
 * in stream order by whoever says yes to it.
 */
#ifndef LDG_BACKEND_H
#define LDG_BACKEND_H

#include "base_field.h"
#include "cargo.h"
#include "nest.h"

#define LDG_JOB_OWN 69

typedef struct ldg_job ldg_job;
/* Runs n iterations of the outermost dim from i0 on. If it is strided, src and dst are the places of iteration i0, which is
 * not used; if it is the list, they are the origins of both sides, and i0 indexes the list. n is 0 or more. Says LADING_OK, so that who was asked
 * to move ends by going there. */
typedef int ldg_run(const ldg_job *job, const char *src, char *dst, int64_t i0, int64_t n);
struct ldg_job {
  ldg_run *run;          /* of a plan's job, which the planner changes while others run it: by ldg_job_run */
  const char *name;      /* of the strategy */
  const void *aux;       /* the strategy's own */
  void *hot;             /* the planner's own, where it put itself in front of run */
  ldg_nest nest;
  int64_t own[LDG_JOB_OWN]; /* the strategy's own, too: small, so that preparing takes no memory. Some note in it, atomically, how calls went */
};

static inline int ldg_job_run(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) {
  return __atomic_load_n(&j->run, __ATOMIC_ACQUIRE)(j, src, dst, i0, n);
}

/* How a backend runs one item of few runs, whatever its shape is: a nest is not needed. Their destinations do not coincide. All iterations of the job are run at once, others by `part`. */
enum { LDG_RUNS_FEW = 30, LDG_RUNS_FEW_BYTES = 2048 }; /* who has more is not asked about */
typedef struct ldg_piece_strategy {
  const char *(*why_not)(const ldg_field *f, int n);
  double (*cost)(const ldg_field *f, int n);
  void (*prepare)(ldg_job *job, const ldg_field *f, int n, ldg_run *part, int64_t iterations);
} ldg_piece_strategy;

typedef struct ldg_strategy {
  const char *name, *says;                          /* a word, and a line for explain */
  const char *(*why_not)(const ldg_nest *nest);
  double (*cost)(const ldg_nest *nest);             /* predicted ns, but for `share` */
  void (*prepare)(ldg_job *job);                    /* job->nest is set */
  double (*share)(const ldg_nest *nest);            /* of that cost; NULL: all of it */
  int64_t (*part)(const ldg_nest *nest);            /* packed bytes of a range that goes as fast as all does; NULL: a few KiB */
} ldg_strategy;
/* Predicted ns, from what `cost` says; the cheapest able strategy is planned. */
static inline double ldg_strategy_share(const ldg_strategy *s, const ldg_nest *nest, double cost) { return s->share ? cost * s->share(nest) : cost; }
static inline double ldg_strategy_cost(const ldg_strategy *s, const ldg_nest *nest) { return ldg_strategy_share(s, nest, s->cost(nest)); }

/* n rows of m elements, `src` and `dst` bytes apart, and that `planes` times, `src_out` and `dst_out` bytes apart. */
typedef struct ldg_op_planes { int64_t n, m, src, dst, planes, src_out, dst_out; } ldg_op_planes;
enum { LDG_OP_CALLED = 128, LDG_OP_CALLED_WIDE = 2048 }; /* ldg_op.called of elements that go one by one, or a few bytes at once; of registers of them at once */
/* Destination elements become op(source, destination), one after the other, in stream order, so that destinations may coincide;
 * source and destination never overlap. No element needs to be aligned. */
typedef struct ldg_op {
  int64_t size;                                     /* packed bytes of an element */
  int64_t called;                                   /* bytes of rows from which on a call of `dense` for each takes no longer than one of those below for all */
  int (*dense)(const char *src, char *dst, int64_t n); /* as ldg_run: all say LADING_OK */
  /* n rows, ss and ds bytes apart, of m elements each */
  int (*strided)(const char *src, char *dst, int64_t n, int64_t m, int64_t ss, int64_t ds);
  int (*planes)(const char *src, char *dst, const ldg_op_planes *p);
  /* the same where row i is at at[i] on one side (of the destination: to_list), at i * stride on the other */
  int (*listed)(const char *src, char *dst, int64_t n, int64_t m, const int64_t *at, int64_t stride, bool to_list);
  /* rows of lengths of their own: sum[i + 1] - sum[i] bytes, at sum[i] on the other side */
  int (*ragged)(const char *src, char *dst, int64_t n, const int64_t *at, const int64_t *sum, bool to_list);
} ldg_op;

/* Elements in so many bytes, and whether that is a boundary of one. Most sizes are powers of two, which spares a division. */
static inline int64_t ldg_op_elements(const ldg_op *op, int64_t bytes) {
  return (op->size & (op->size - 1)) == 0 ? bytes >> __builtin_ctzll((uint64_t)op->size) : bytes / op->size;
}
static inline bool ldg_op_ends(const ldg_op *op, int64_t byte) {
  return (op->size & (op->size - 1)) == 0 ? (byte & (op->size - 1)) == 0 : byte % op->size == 0;
}

typedef struct ldg_backend {
  const ldg_strategy *strategies;
  int n;
  const ldg_op *(*op)(lading_op op, lading_elem e); /* NULL where MPI does not define it, and for LADING_REPLACE */
  double (*reduce)(const ldg_nest *nest, int64_t size); /* predicted ns of an op block by block, on elements of that size */
  ldg_piece_strategy pieces;                        /* of steps that are no nest */
} ldg_backend;

extern const ldg_backend ldg_backend_host;

/* ---- devices: places whose work is ordered by queues ----------------------------------------------------------------
 *
 * A lane is one such queue: a stream of the caller, or one of its own. What is given to a lane runs later, in order; nothing
 * here waits but where it says so, and the caller's current device and context stay as they are. A lane is not locked.
 * Errors: ERR_DEVICE for what the driver refuses, ERR_NOMEM, and what a function says.
 */
typedef struct ldg_lane ldg_lane;
/* How a table is made that is not there yet: as long as that, and filled by that. */
typedef struct ldg_table_maker { int64_t (*bytes)(const void *of); void (*fill)(const void *of, void *to); const void *of; } ldg_table_maker;
/* Where the device has a table, how long it is, and its first words; 0 where it has no more. */
typedef struct ldg_table_words { const int64_t *there; int64_t n, head[LDG_IMAGE_NODE_WORDS]; } ldg_table_words;
/* A piece of pinned memory that kernels reach at the same address. */
typedef struct ldg_chunk { char *at; int64_t bytes; void *home; } ldg_chunk;

/* What tells whether a mark was reached: when it did, so was every mark up to `mark`. */
typedef struct ldg_watch { void *event; int64_t mark; } ldg_watch;
/* What fused launches of a lane use: pinned words and pages, and room for the pages in the device's memory. */
typedef struct ldg_fuser {
  uint64_t *words;
  ldg_fused_page *page;              /* LDG_FUSED_PAGES of them */
  uint64_t there;                    /* where the device has them */
  struct ldg_graphs *graphs;         /* the backend's own */
} ldg_fuser;
/* One of them: the cargos of that page. */
typedef struct ldg_fused_launch {
  int64_t cargos, tiles, parts;
  int page;
  bool reduces, recorded;            /* some are reductions; the stream is recorded into a graph of the caller's */
} ldg_fused_launch;

/* Launches as launches of a graph, which a device's lanes try: what they found. */
enum { LDG_REPLAYS_UNKNOWN, LDG_REPLAYS_FASTER, LDG_REPLAYS_SLOWER };

typedef struct ldg_device ldg_device;
struct ldg_device {
  const char *name;
  void *own;                                                                /* the backend's */
  int (*count)(const ldg_device *d);                                        /* of devices; 0: no driver */
  /* HOST for what the driver does not know; l, which may be NULL, spares a look for a context to ask in */
  int (*query)(const ldg_device *d, const ldg_lane *l, const void *at, lading_mem *out);
  int (*create)(const ldg_device *d, int device, ldg_lane **out);           /* ERR_ARG: no such device */
  int (*wrap)(const ldg_device *d, void *stream, ldg_lane **out);           /* the stream outlives the lane */
  void (*destroy)(ldg_lane *l);                                             /* work goes on */
  int (*sync)(ldg_lane *l);                                                 /* waits; needs no lock */
  bool (*reaches)(const ldg_lane *l, lading_memkind kind);                  /* whether kernels may touch that memory; needs no lock */
  int (*copy)(ldg_lane *l, void *dst, const void *src, int64_t n);          /* memory of any kind that reaches() admits */
  /* a move of one cargo within that device's memory takes less of the host than a copy, or may */
  bool (*small_moves)(const ldg_lane *l, int device);
  /* n <= LDG_CARGO_OWN cargos of one form, all of them moves or all reductions; `first` is set there. ordered: by one thread */
  int (*move)(ldg_lane *l, const ldg_cargo *cargo, int n, bool ordered);
  /* a NARROW move, a unit a block, dim[0] dense at the source and dim[1] at the destination */
  int (*transpose)(ldg_lane *l, const ldg_cargo *cargo);
  /* Device memory for what is enqueued between the two; ERR_UNSUPPORTED: the driver has none in the order of streams, or the stream is recorded */
  int (*scratch)(ldg_lane *l, int64_t bytes, char **out);
  int (*scratch_free)(ldg_lane *l, char *at);
  /* Words in the device's memory that do not change, by content; filled at first use, which waits for the transfer, and kept.
   * ERR_UNSUPPORTED: the lane's stream is recorded, and they are not there yet */
  int (*table)(ldg_lane *l, const lading_id *id, const ldg_table_maker *maker, ldg_table_words *out);
  void (*forgo)(ldg_lane *l);                                               /* tables that no launch has followed: none will, so they may go */
  /* The next three are ERR_UNSUPPORTED while the lane's stream is recorded into a graph */
  int (*call)(ldg_lane *l, void (*fn)(void *arg), void *arg);               /* on a thread of the driver's, which fn may not call */
  /* Waits while all are lent. *idle: nothing was under way that work of the lane would come behind; never told of streams that others hold up */
  int (*borrow)(ldg_lane *l, ldg_chunk *out, bool *idle);
  int (*give_back_later)(ldg_lane *l, ldg_chunk chunk);                     /* when all that was given to the lane so far is done; on an error it is still lent */
  void (*give_back)(ldg_chunk chunk);                                       /* now; also from call() */
  /* n counts up: behind all that was given to the lane so far. *passed: all marks up to that one have, as far as anybody knows; it goes up where a
   * mark has that nobody can ask for any more. */
  int (*mark)(ldg_lane *l, int64_t n, int64_t *passed);
  void (*watch)(const ldg_lane *l, int64_t n, ldg_watch *out);              /* for a mark that was made */
  int (*passed)(const ldg_lane *l, const ldg_watch *w, bool wait, bool *done); /* needs no lock, as sync() */
  /* So many words, all 0. On an error there is nothing to close */
  int (*fuse_open)(ldg_lane *l, int64_t words, ldg_fuser *out);
  void (*fuse_close)(ldg_lane *l, ldg_fuser *f);                            /* waits for the lane, unless its stream is recorded */
  /* The page stays as it is until all of its words were written */
  int (*fuse)(ldg_lane *l, const ldg_fuser *f, const ldg_fused_launch *what);
  /* Never waits: whether the stream is recorded into a graph, whether all was done; NULL: not asked for. ERR_DEVICE: it failed */
  int (*look)(ldg_lane *l, bool *recorded, bool *idle);
  /* For measurements and tests: as if that had been found; what was before */
  int (*replays)(ldg_lane *l, int known);
  int (*ipc_export)(const ldg_device *d, const void *at, lading_ipc *out);  /* ERR_UNSUPPORTED: no memory to be exported */
  int (*ipc_open)(const ldg_device *d, const lading_ipc *token, void **out); /* ERR_FORMAT: not of this backend */
  int (*ipc_close)(const ldg_device *d, void *at);                          /* ERR_ARG: not from ipc_open */
};

extern const ldg_device ldg_device_cuda, ldg_device_hip; /* where the build has them: LDG_CUDA, LDG_HIP */

#endif
