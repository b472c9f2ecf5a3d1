/* Processes in a ring: mailboxes and staging buffers in memory that all share, sockets to hand over descriptors of memory. */
#define _GNU_SOURCE
#include "ring.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Turns until a process that waits lets others run: more where each has a processor, since to come back takes as long as a message. */
enum { PATIENCE_S = 30, FEW_SPINS = 200, SPINS = 100000 };
static int spins = FEW_SPINS;

double world_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

void world_fail(const world *w, const char *what, int err) {
  const char *why = err == LADING_ERR_SYSTEM ? strerror(errno) : err ? lading_strerror(err) : "gave up";
  fprintf(stderr, "ring: process %d: %s: %s\n", w->rank, what, why);
  fflush(NULL);
  _exit(1);
}

void world_check(const world *w, const char *what, int err) {
  if (err) world_fail(w, what, err);
}

/* ---- waiting: there may be fewer processors than processes ---- */

static void pause_a_little(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

void relax(const world *w, int *turns) {
  static double since;
  pause_a_little();
  if (++*turns < spins) return;
  if (*turns == spins) since = world_ns();
  if (*turns % 4096 == 0 && world_ns() - since > PATIENCE_S * 1e9) world_fail(w, "nobody answers", 0);
  sched_yield();
}

void world_barrier(world *w) {
  const int turn = w->all->turn;
  int turns = 0;
  if (atomic_fetch_add(&w->all->arrived, 1) == w->size - 1) {
    w->all->arrived = 0;
    w->all->turn = turn + 1;
  }
  while (w->all->turn == turn) relax(w, &turns);
}

/* ---- time ---- */

/* How often another program took the processor away. */
static long switches(void) {
  struct rusage u;
  return getrusage(RUSAGE_SELF, &u) ? 0 : u.ru_nivcsw;
}

double world_now(const world *w) { return w->all->now; }

void world_start(world *w) {
  w->switches = switches();
  world_barrier(w);
  w->start = world_ns();
}

double world_stop(world *w) {
  const double now = world_ns();
  double all = 0;
  w->all->took[w->rank] = switches() == w->switches ? now - w->start : -1;
  if (w->rank == 0) w->all->now = now;
  world_barrier(w);
  for (int p = 0; p < w->size && all >= 0; p++) all = w->all->took[p] < 0 ? -1 : w->all->took[p] > all ? w->all->took[p] : all;
  return all;
}

/* The least of several tries: only the way there and back counts, not that somebody else had the processor. */
double world_hop(world *w) {
  enum { TRIES = 50, TIMES = 20 };
  double least = 0, last = world_ns();
  int turns = 0;
  world_barrier(w);
  for (int i = 1; i <= TRIES * TIMES && w->rank < 2; i++) {
    if (w->rank == 0) w->all->ping = i;
    while ((w->rank == 0 ? w->all->pong : w->all->ping) != i) relax(w, &turns);
    if (w->rank == 1) w->all->pong = i;
    turns = 0;
    if (i % TIMES) continue;
    const double now = world_ns(), ns = (now - last) / (2 * TIMES);
    if (i == 2 * TIMES || ns < least) least = ns;
    last = now;
  }
  world_barrier(w);
  w->all->ping = w->all->pong = 0;
  world_barrier(w);
  return least;
}

/* ---- mail ---- */

uint32_t mail_look(mailbox *box) { return atomic_load_explicit(&box->kind, memory_order_acquire); }
void mail_taken(mailbox *box) { atomic_store_explicit(&box->kind, MAIL_NONE, memory_order_release); }

void mail_post(const world *w, mailbox *box, uint32_t kind, const void *data, int64_t n) {
  int turns = 0;
  while (mail_look(box) != MAIL_NONE) relax(w, &turns);
  if (n > 0) memcpy(box->data, data, (size_t)n);
  box->n = n;
  atomic_store_explicit(&box->kind, kind, memory_order_release);
}

void mail_wait(const world *w, mailbox *box, uint32_t kind) {
  int turns = 0;
  while (mail_look(box) == MAIL_NONE) relax(w, &turns);
  if (mail_look(box) != kind) world_fail(w, "an unexpected message", LADING_ERR_FORMAT);
}

/* ---- memory that others can map ---- */

window window_make(const world *w, int64_t bytes) {
  window o = { memfd_create("ring", MFD_CLOEXEC), NULL, bytes };
  if (o.fd < 0 || ftruncate(o.fd, bytes)) world_fail(w, "memfd_create", LADING_ERR_SYSTEM);
  o.at = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, o.fd, 0);
  if (o.at == MAP_FAILED) world_fail(w, "mmap", LADING_ERR_SYSTEM);
  return o;
}

void window_free(window *o) {
  munmap(o->at, (size_t)o->bytes);
  close(o->fd);
}

/* One byte of data carries one descriptor. */
typedef union control { struct cmsghdr head; char room[CMSG_SPACE(sizeof(int))]; } control;

static struct msghdr message(struct iovec *byte, control *c) {
  memset(c, 0, sizeof *c);
  return (struct msghdr){ .msg_iov = byte, .msg_iovlen = 1, .msg_control = c->room, .msg_controllen = sizeof c->room };
}

void window_send(const world *w, const window *o) {
  control c;
  struct iovec byte = { &(char){ 'w' }, 1 };
  struct msghdr m = message(&byte, &c);
  struct cmsghdr *h = CMSG_FIRSTHDR(&m);
  *h = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int)) };
  memcpy(CMSG_DATA(h), &o->fd, sizeof(int));
  if (sendmsg(w->to_right, &m, 0) != 1) world_fail(w, "sendmsg", LADING_ERR_SYSTEM);
}

int window_receive(const world *w) {
  control c;
  char got;
  struct iovec byte = { &got, 1 };
  struct msghdr m = message(&byte, &c);
  int fd = -1;
  if (recvmsg(w->from_left, &m, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&m)) world_fail(w, "recvmsg", LADING_ERR_SYSTEM);
  memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
  return fd;
}

void *window_attach(const world *w, int fd, int64_t bytes) {
  void *at = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) world_fail(w, "mmap", LADING_ERR_SYSTEM);
  return at;
}

void *window_map(const world *w, int64_t bytes) {
  window o = { window_receive(w), NULL, bytes };
  void *at = window_attach(w, o.fd, bytes);
  window_drop(&o);
  return at;
}

void window_drop(window *o) { close(o->fd); }

void window_unmap(void *ctx, void *local, int64_t bytes, void *handle) {
  (void)ctx, (void)handle;
  munmap(local, (size_t)bytes);
}

/* ---- life ---- */

static void *share(int64_t bytes) {
  void *p = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

/* A processor each, where there are enough: two processes on one would wait for each other's turn. */
static void settle(world *w) {
  cpu_set_t usable, own;
  if (sched_getaffinity(0, sizeof usable, &usable)) return;
  w->crowded = CPU_COUNT(&usable) < w->size;
  if (!w->crowded) spins = SPINS;
  CPU_ZERO(&own);
  for (int cpu = 0, k = w->rank % CPU_COUNT(&usable); cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, &usable) && k-- == 0) CPU_SET(cpu, &own);
  sched_setaffinity(0, sizeof own, &own);
}

/* Some systems let only parents trace: siblings have to be allowed to, for cross-memory attach. */
static int child(world *w, int (*body)(world *, void *), void *arg) {
  settle(w);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#ifdef PR_SET_PTRACER
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
  w->all->pid[w->rank] = getpid();
  world_check(w, "peer", lading_peer_create(&(lading_peer_attr){ 0, (uint64_t)getpid() }, &w->in_peer));
  world_check(w, "peer", lading_peer_create(&(lading_peer_attr){ 0, (uint64_t)getpid() }, &w->out_peer));
  world_check(w, "map", lading_map_create(&(lading_map_attr){ .max_entries = 16, .unmap = window_unmap }, &w->map));
  world_barrier(w);
  const int rc = body(w, arg);
  lading_map_free(w->map);
  lading_peer_free(w->in_peer);
  lading_peer_free(w->out_peer);
  return rc;
}

/* The first one that fails takes the others along: they would wait for it. */
static int reap(pid_t *pid, int size) {
  int rc = 0, status;
  for (int left = size; left > 0; left--) {
    const pid_t who = waitpid(-1, &status, 0);
    for (int i = 0; i < size; i++)
      if (pid[i] == who) pid[i] = 0;
    if (who > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    rc = 1;
    for (int i = 0; i < size; i++)
      if (pid[i] > 0) kill(pid[i], SIGKILL);
  }
  return rc;
}

int world_run(int size, int (*body)(world *w, void *arg), void *arg) {
  int sock[RANKS_MAX][2];
  pid_t pid[RANKS_MAX] = { 0 };
  shared *all = share(sizeof *all);
  char *stage = share(size * STAGE_MAX);
  if (!all || !stage) return 1;
  for (int i = 0; i < size; i++)
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sock[i])) return 1;
  fflush(NULL);
  for (int i = 0; i < size; i++) {
    const int left = (i + size - 1) % size;
    world w = { .rank = i, .size = size, .left = left, .right = (i + 1) % size, .from_left = sock[left][1], .to_right = sock[i][0], .all = all,
                .in = &all->lane[left], .out = &all->lane[i], .stage_in = stage + left * STAGE_MAX, .stage_out = stage + i * STAGE_MAX };
    pid[i] = fork();
    if (pid[i] == 0) {
      const int rc = child(&w, body, arg);
      fflush(NULL);
      _exit(rc);
    }
  }
  const int rc = reap(pid, size);
  for (int i = 0; i < size; i++) close(sock[i][0]), close(sock[i][1]);
  munmap(all, sizeof *all);
  munmap(stage, (size_t)(size * STAGE_MAX));
  return rc;
}
