/* ring: a small runtime of processes in a ring, which embeds lading as an MPI would. Every process sends to its right and receives
 * from its left at the same time.
 *
 *   transport.c  processes, mailboxes in shared memory, descriptors over Unix sockets, memory that others can map
 *   exchange.c   the ways a message goes: through a staging buffer at once or in chunks, or straight out of the sender's memory
 *   workloads.c  what is exchanged: halos and index lists of known applications, as types and, for the check, as lists of blocks
 *   allreduce.c  a sum of all buffers in all buffers, straight out of mapped memory, each process owning a part
 *   ring.c       the rounds and the table
 */
#ifndef RING_H
#define RING_H

#include <lading.h>
#include <stdatomic.h>
#include <sys/types.h>

enum { RANKS_MAX = 8, MAIL_MAX = 256 << 10, CHUNK = 64 << 10, SLOTS = 4 };
#define STAGE_MAX ((int64_t)8 << 20)

/* ---- transport.c ---- */

enum { MAIL_NONE, MAIL_READY, MAIL_OFFER, MAIL_LAYOUT, MAIL_NEED, MAIL_WANT_MEMORY, MAIL_MEMORY, MAIL_DONE, MAIL_GONE };
typedef struct mailbox {                      /* holds one message; its writer waits until the last one was taken */
  _Atomic uint32_t kind;
  int64_t n;
  unsigned char data[MAIL_MAX];
} mailbox;

typedef struct lane {                         /* from a process to its right, and back */
  mailbox forward, backward;
  _Alignas(64) _Atomic int64_t produced;      /* chunks, since the start */
  _Alignas(64) _Atomic int64_t consumed;
} lane;

typedef struct shared {
  _Atomic int arrived, turn;                  /* of the barrier */
  _Alignas(64) _Atomic int ping;
  _Alignas(64) _Atomic int pong;
  _Alignas(64) double took[RANKS_MAX], now;   /* ns of what was timed last in each process; when that ended in process 0 */
  _Atomic pid_t pid[RANKS_MAX];
  _Atomic bool no_cma;                        /* some process may not read another one's memory */
  lane lane[RANKS_MAX];
} shared;

typedef struct window { int fd; char *at; int64_t bytes; } window; /* memory that others can map */

typedef struct world {
  int rank, size, left, right;
  int from_left, to_right;                    /* sockets */
  shared *all;
  lane *in, *out;
  char *stage_in, *stage_out;                 /* STAGE_MAX bytes each */
  lading_map *map;                            /* of memory of the left process */
  lading_peer *in_peer, *out_peer;            /* what we know of types of the left one, and the right one of ours */
  bool crowded;                               /* fewer processors than processes */
  double start;                               /* of what is timed */
  long switches;
} world;

/* Forks `size` processes that run `body`; 0 when all of them returned 0. If one does not, the others are killed; nothing is left
 * behind in any case, since no memory has a name. */
int world_run(int size, int (*body)(world *w, void *arg), void *arg);
void world_fail(const world *w, const char *what, int err);       /* says so and ends this process */
void world_check(const world *w, const char *what, int err);      /* the same unless err is LADING_OK */
void world_barrier(world *w);
double world_ns(void);
double world_now(const world *w);                                 /* the same in all processes: when world_stop was last called */
void world_start(world *w);                                       /* all processes come here, and then to the other one */
double world_stop(world *w);                                      /* ns since then in the slowest one; < 0: one was made to wait */
double world_hop(world *w);                                       /* ns of a line from process 0 to 1 */

void mail_post(const world *w, mailbox *box, uint32_t kind, const void *data, int64_t n);
uint32_t mail_look(mailbox *box);                                 /* MAIL_NONE, or the kind of the message in it */
void mail_taken(mailbox *box);
void mail_wait(const world *w, mailbox *box, uint32_t kind);      /* until that message is there */
void relax(const world *w, int *turns);                           /* between two looks */

window window_make(const world *w, int64_t bytes);
void window_free(window *o);
void window_send(const world *w, const window *o);                /* its descriptor, to the right */
int window_receive(const world *w);                               /* that descriptor, from the left */
void *window_attach(const world *w, int fd, int64_t bytes);       /* mapped here */
void *window_map(const world *w, int64_t bytes);                  /* both */
void window_drop(window *o);                                      /* a descriptor that is not mapped */
void window_unmap(void *ctx, void *local, int64_t bytes, void *handle);

/* ---- workloads.c ---- */

typedef struct block { int64_t at, n; } block;
typedef struct blocks { block *at; int64_t n, cap; } blocks;
typedef struct workload {
  const char *name;
  lading_type *send, *recv;
  blocks sent, received;        /* the same two by plain loops */
  int64_t bytes, window;        /* of a message; of the memory it is in */
} workload;

void blocks_add(blocks *b, int64_t at, int64_t n);
int workload_count(bool small);
int workload_make(int i, bool small, workload *out);
void workload_free(workload *w);

/* ---- exchange.c ---- */

typedef struct job { const workload *w; window out, in; int64_t first, repeat; } job; /* first, repeat: bytes of offers */
enum { STAGED, PIPELINED, DIRECT_UNKNOWN, DIRECT, CMA, METHODS };
extern const char *const method_names[METHODS];
void exchange(world *w, job *j, int method);
bool exchange_has_cma(world *w);
void job_begin(world *w, job *j, const workload *load);
void job_end(world *w, job *j);

/* ---- allreduce.c ---- */

int allreduce_all(world *w, bool check);                          /* how many there were */

#endif
