/* site: what the library has in one context of a device: the kernels, tables, pinned memory. Made at first use of the context, and
 * kept as long as the process runs. */
#ifndef LDG_DEVICE_SITE_H
#define LDG_DEVICE_SITE_H

#include "base_lru.h"
#include "driver.h"
#include "replay.h"

#include <pthread.h>
#include <time.h>

/* Of several cargos, first the forms; of one, the same forms, sums and transposes; of some requests' cargos by value, and of many. */
enum {
  LDG_KERNEL_REDUCE = LDG_FORMS, LDG_KERNEL_ONE, LDG_KERNEL_ONE_REDUCE = LDG_KERNEL_ONE + LDG_FORMS, LDG_KERNEL_ONE_SUM, LDG_KERNEL_TRANSPOSE, LDG_KERNEL_TRANSPOSE_SUM,
  LDG_KERNEL_PAIR, LDG_KERNEL_PAIR_REDUCE, LDG_KERNEL_FEW, LDG_KERNEL_FEW_REDUCE, LDG_KERNEL_FUSED, LDG_KERNEL_FUSED_REDUCE, LDG_KERNELS
};

enum { LDG_BLOCK = 256 /* threads */, LDG_GRID_MOST = 1 << 20 /* blocks take more tiles each beyond that: HIP refuses 2^32 threads */ };

/* ns, of the host. */
static inline double ldg_device_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Pinned memory for what kernels do not reach: more than one at a time, so that one fills while another one empties. */
enum { LDG_CHUNKS = 16, LDG_CHUNK_BYTES = 1 << 20 };

enum { LDG_SCRATCH_KEPT = 64 << 20 /* bytes of scratch memory that is not in use: two of the longest pieces */ };

enum { LDG_TABLES_MOST = 256 << 20 /* bytes */, LDG_BUCKETS = 1024 };

/* One of them. It is free, on its way back, or whoever borrowed it has it to himself. */
typedef struct ldg_pinned {
  ldg_site *site;
  char *at;                          /* NULL: there is none */
  bool made;                         /* or being made */
  void *event;                       /* behind its last use; NULL: nobody has given it back that way */
} ldg_pinned;

struct ldg_site {
  ldg_site *next;
  ldg_vendor *vendor;
  const ldg_driver *driver;
  ldg_context context;
  void *module, *kernel[LDG_KERNELS];
  int device;
  _Atomic int replays;               /* LDG_REPLAYS_... */
  void *pool;                        /* of scratch memory; NULL: the driver's own */
  _Atomic bool pool_settled;         /* it stays as it is */
  pthread_mutex_t lock;              /* of tables, lanes and the making of the pool; callbacks of the driver never take it, since it is held while one waits for streams */
  void *upload;                      /* a stream for tables, NULL until there is one */
  void *gone;                        /* one that waits for lanes that are gone, and has no other work: who uploads waits for none of them */
  ldg_lru tables;
  struct ldg_table *bucket[LDG_BUCKETS]; /* the same tables, by id */
  int64_t table_bytes, table_most;   /* bytes of all, and from which on old ones go */
  int64_t table_clock;               /* counts requests of tables */
  ldg_lane *lanes;                   /* all there are */
  pthread_mutex_t chunk_lock;        /* of what follows; callbacks of the driver take it, so that nobody holds it over a call of the driver */
  pthread_cond_t returned;           /* a chunk was */
  int chunks_made, chunks_free, chunks_most;
  ldg_pinned pinned[LDG_CHUNKS], *chunk[LDG_CHUNKS]; /* all; those not lent */
  pthread_mutex_t later_lock;        /* of what follows; no callback takes it, and it is held over questions to the driver, which never wait */
  int later_n;
  ldg_pinned *later[LDG_CHUNKS];     /* on their way back, oldest first */
};

/* A lane is one stream in the context of a site. */
#define LDG_MARKS 64
struct ldg_lane {
  ldg_site *site;
  ldg_lane *newer, *older;
  void *stream;
  bool tables;                       /* its kernels read some */
  _Atomic int64_t since;             /* the first request of a table that no launch has followed yet; 0: there is none */
  bool own;                          /* made here */
  bool beside;                       /* not ordered with the default stream: when all of its own is done, nothing holds up what comes next */
  ldg_replays replays;
  void *event[LDG_MARKS];            /* behind the mark of that slot, which is n % LDG_MARKS; NULL until used */
  int64_t mark[LDG_MARKS];
};

/* The primary context of a device, of which no reference is the caller's. An error of the driver. */
int ldg_site_primary(ldg_vendor *v, int ordinal, void **out);
bool ldg_site_alive(const ldg_site *s); /* nobody has reset its context */
/* The site of a context, which is current; NULL: the driver refuses the kernels, or there is no memory. */
int ldg_site_find(ldg_vendor *v, void *context, ldg_site **out);
/* Around calls of the driver, so that the caller's context stays what it is. Returns an error of the driver. */
static inline int ldg_site_enter(const ldg_site *s) { return s->driver->context_push(s->context.at); }
static inline void ldg_site_leave(const ldg_site *s) { void *was; s->driver->context_pop(&was); }

bool ldg_lane_records(const ldg_lane *l);        /* into a graph; in its context */
bool ldg_lane_recorded(const ldg_lane *l);       /* into a graph, or may not be used while another one is; in its context */
int ldg_site_leave_lane(ldg_lane *l);            /* what its kernels still read is not evicted before they are done; in its context */

/* Waits for it; with the site's lock, in its context. An error of the driver. */
int ldg_site_upload(ldg_site *s, ldg_address to, const void *from, int64_t bytes);
void ldg_site_tables(ldg_lane *l, int64_t most);  /* for tests: as if there was so much room for tables */

/* A kernel of one cargo, or of a few by value, on so many tiles, in the lane's context. An error of the driver. */
int ldg_replay_launch(ldg_lane *l, int kernel, int64_t tiles, void **params);
void ldg_replays_close(ldg_lane *l);              /* in its context */
bool ldg_replays_can(const ldg_driver *d);

/* What the driver knows of an address, whether or not the thread has a context. An error of the driver. */
int ldg_site_facts(ldg_vendor *v, unsigned n, int *facts, void **values, ldg_address at);

/* The functions of ldg_device, in the files of this folder. */
int ldg_device_count(const ldg_device *d);
int ldg_device_query(const ldg_device *d, const ldg_lane *l, const void *at, lading_mem *out);
int ldg_device_create(const ldg_device *d, int device, ldg_lane **out);
int ldg_device_wrap(const ldg_device *d, void *stream, ldg_lane **out);
void ldg_device_destroy(ldg_lane *l);
int ldg_device_sync(ldg_lane *l);
bool ldg_device_reaches(const ldg_lane *l, lading_memkind kind);
int ldg_device_copy(ldg_lane *l, void *dst, const void *src, int64_t n);
bool ldg_device_small_moves(const ldg_lane *l, int device);
int ldg_device_move(ldg_lane *l, const ldg_cargo *cargo, int n, bool ordered);
int ldg_device_transpose(ldg_lane *l, const ldg_cargo *cargo);
int ldg_device_scratch(ldg_lane *l, int64_t bytes, char **out);
int ldg_device_scratch_free(ldg_lane *l, char *at);
int ldg_device_table(ldg_lane *l, const lading_id *id, const ldg_table_maker *maker, ldg_table_words *out);
void ldg_device_forgo(ldg_lane *l);
int ldg_device_call(ldg_lane *l, void (*fn)(void *arg), void *arg);
int ldg_device_borrow(ldg_lane *l, ldg_chunk *out, bool *idle);
int ldg_device_give_back_later(ldg_lane *l, ldg_chunk chunk);
void ldg_device_give_back(ldg_chunk chunk);
int ldg_device_mark(ldg_lane *l, int64_t n, int64_t *passed);
void ldg_device_watch(const ldg_lane *l, int64_t n, ldg_watch *out);
int ldg_device_passed(const ldg_lane *l, const ldg_watch *w, bool wait, bool *done);
int ldg_device_fuse_open(ldg_lane *l, int64_t words, ldg_fuser *out);
void ldg_device_fuse_close(ldg_lane *l, ldg_fuser *f);
int ldg_device_fuse(ldg_lane *l, const ldg_fuser *f, const ldg_fused_launch *what);
int ldg_device_look(ldg_lane *l, bool *recorded, bool *idle);
int ldg_device_replays(ldg_lane *l, int known);
int ldg_device_ipc_export(const ldg_device *d, const void *at, lading_ipc *out);
int ldg_device_ipc_open(const ldg_device *d, const lading_ipc *token, void **out);
int ldg_device_ipc_close(const ldg_device *d, void *at);

#define LDG_DEVICE_ROWS \
  .count = ldg_device_count, .query = ldg_device_query, .create = ldg_device_create, .wrap = ldg_device_wrap, .destroy = ldg_device_destroy, \
  .sync = ldg_device_sync, .reaches = ldg_device_reaches, .copy = ldg_device_copy, .small_moves = ldg_device_small_moves, .move = ldg_device_move, .transpose = ldg_device_transpose, \
  .scratch = ldg_device_scratch, .scratch_free = ldg_device_scratch_free, \
  .table = ldg_device_table, .forgo = ldg_device_forgo, .call = ldg_device_call, .borrow = ldg_device_borrow, .give_back_later = ldg_device_give_back_later, \
  .give_back = ldg_device_give_back, .mark = ldg_device_mark, .watch = ldg_device_watch, .passed = ldg_device_passed, .fuse_open = ldg_device_fuse_open, .fuse_close = ldg_device_fuse_close, .fuse = ldg_device_fuse, \
  .look = ldg_device_look, .replays = ldg_device_replays, .ipc_export = ldg_device_ipc_export, .ipc_open = ldg_device_ipc_open, .ipc_close = ldg_device_ipc_close

#endif
