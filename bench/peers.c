/* peers: starts the helpers and talks to them, one line there and one line back over a socket. Who does not answer in time is
 * killed, and started again for the next problem. The protocol is in peers/serve.c. */
#define _GNU_SOURCE /* sched_setaffinity */
#include "peers.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PREFIX "lbench-peer-"
#define PATIENCE_MS 120000
#define GOODBYE_MS 3000
#define REPLY_MAX 512

extern char **environ;

/* ---- lines -------------------------------------------------------------------------------------------------------- */

static void lose(peer *r) {
  if (r->fd >= 0) close(r->fd);
  if (r->pid > 0) {
    kill(r->pid, SIGKILL);
    waitpid(r->pid, NULL, 0);
  }
  r->fd = r->pid = -1;
  r->open = false;
}

static bool send_all(peer *r, const char *s, size_t n) {
  while (n > 0) {
    ssize_t done = send(r->fd, s, n, MSG_NOSIGNAL);
    if (done < 0 && errno != EINTR) return false;
    if (done > 0) s += done, n -= (size_t)done;
  }
  return true;
}

/* One line without its end; what does not fit is dropped. */
static bool read_line(peer *r, char *line, size_t cap) {
  struct pollfd ready = { .fd = r->fd, .events = POLLIN };
  for (size_t n = 0;;) {
    char c;
    int rc = poll(&ready, 1, PATIENCE_MS);
    if (rc < 0 && errno == EINTR) continue;
    if (rc <= 0 || read(r->fd, &c, 1) != 1) return false;
    if (c == '\n') return line[n] = 0, true;
    if (n + 1 < cap) line[n++] = c;
  }
}

static bool __attribute__((format(printf, 3, 4))) ask(peer *r, char reply[REPLY_MAX], const char *format, ...) {
  char *text = NULL;
  va_list args;
  if (r->fd < 0) return false;
  va_start(args, format);
  int n = vasprintf(&text, format, args);
  va_end(args);
  bool ok = n >= 0 && send_all(r, text, (size_t)n) && read_line(r, reply, REPLY_MAX);
  if (n >= 0) free(text);
  if (!ok) lose(r);
  return ok;
}

/* ---- processes ---------------------------------------------------------------------------------------------------- */

/* The helper talks on its standard input, the memory comes after the standard error, where what its MPI prints goes, too. */
static bool spawn(peer *r) {
  int pair[2];
  char *args[] = { r->path, NULL };
  posix_spawn_file_actions_t actions;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return false;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pair[1], 0);
  posix_spawn_file_actions_adddup2(&actions, 2, 1);
  posix_spawn_file_actions_adddup2(&actions, r->memory, PEER_MEMORY);
  int rc = posix_spawn(&r->pid, r->path, &actions, NULL, args, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pair[1]);
  r->fd = pair[0];
  if (rc != 0) r->pid = -1;
  return rc == 0;
}

/* hello RANGES VERSION */
static bool start(peer *r) {
  char reply[REPLY_MAX];
  int ranges, at = 0;
  r->fd = r->pid = -1;
  r->open = false;
  if (spawn(r) && read_line(r, reply, sizeof reply) && sscanf(reply, "hello %d %n", &ranges, &at) == 1 && at > 0) {
    r->ranges = ranges != 0;
    snprintf(r->version, sizeof r->version, "%.90s", reply + at);
    return true;
  }
  lose(r);
  return false;
}

static bool named(const char *names, const char *name) {
  size_t len = strlen(name);
  for (const char *s = names; s && *s; s += strcspn(s, ","), s += *s == ',')
    if (strncmp(s, name, len) == 0 && (s[len] == ',' || !s[len])) return true;
  return !names || !*names;
}

static int is_helper(const struct dirent *d) {
  return strncmp(d->d_name, PREFIX, strlen(PREFIX)) == 0 && !strchr(d->d_name, '.'); /* no lbench-peer-mpich.p of the build */
}

static void add(peers *all, const char *dir, const char *file, const char *names) {
  const char *name = file + strlen(PREFIX);
  peer *r = &all->list[all->n];
  if (all->n == PEERS_MAX || !named(names, name)) return;
  snprintf(r->path, sizeof r->path, "%s/%s", dir, file);
  snprintf(r->name, sizeof r->name, "%s", name);
  r->memory = all->memory;
  if (access(r->path, X_OK) != 0) return;
  if (start(r)) all->n++;
  else fprintf(stderr, "lbench: %s does not start; going on without it\n", r->path);
}

/* One processor for all: each way finds the caches as the one before left them, and no sleeper's clock is slower. */
static void stay_here(void) {
  cpu_set_t here;
  int cpu = sched_getcpu();
  if (cpu < 0) return;
  CPU_ZERO(&here);
  CPU_SET(cpu, &here);
  sched_setaffinity(0, sizeof here, &here);
}

/* A file without a name. Its number is none that a helper finds something at. */
static bool make_memory(peers *all) {
  const int fd = memfd_create("lbench", MFD_CLOEXEC);
  all->memory = fcntl(fd, F_DUPFD_CLOEXEC, PEER_MEMORY + 1);
  if (fd >= 0) close(fd);
  return all->memory > 0;
}

bool peers_start(peers *all, const char *dir, const char *names, char *why, size_t cap) {
  struct dirent **list;
  all->n = 0;
  if (!make_memory(all)) return snprintf(why, cap, "no memory can be shared with peers: memfd_create fails"), false;
  int n = scandir(dir, &list, is_helper, alphasort);
  if (n > 0) stay_here();
  for (int i = 0; i < n; i++) {
    add(all, dir, list[i]->d_name, names);
    free(list[i]);
  }
  if (n >= 0) free(list);
  if (all->n) return true;
  snprintf(why, cap, "no peer's helper %s%s in %s; install an MPI (libmpich-dev, libopenmpi-dev) or Yaksa, then 'meson setup --reconfigure' and build",
           names && *names ? "called " : "", names ? names : "", dir);
  return false;
}

/* A helper leaves when its socket is closed, and an MPI then removes what it left in /tmp and /dev/shm. */
static void dismiss(peer *r) {
  if (r->fd >= 0) close(r->fd);
  r->fd = -1;
  for (int ms = 0; r->pid > 0 && ms < GOODBYE_MS; ms += 10) {
    if (waitpid(r->pid, NULL, WNOHANG) != 0) r->pid = -1;
    else usleep(10000);
  }
  lose(r);
}

void peers_stop(peers *all) {
  for (int i = 0; i < all->n; i++) dismiss(&all->list[i]);
  if (all->memory > 0) close(all->memory);
  all->n = all->memory = 0;
}

/* ---- one problem -------------------------------------------------------------------------------------------------- */

/* open COPIES PLACES LARGE SEGMENT MIN_NS PROBLEM: the line again, without the hand loop and what the suite says of it */
static bool send_problem(peer *r, const sampler *s, char reply[REPLY_MAX]) {
  const problem *p = s->p;
  char array[40] = "", *type = NULL;
  if (p->array != NOT_STATED) snprintf(array, sizeof array, "array=%" PRId64, p->array);
  if (asprintf(&type, "%s", p->type_text) < 0) return false;
  for (char *c = type; *c; c++)
    if (*c == '\n') *c = ' ';
  bool ok = ask(r, reply, "open %d %d %d %" PRId64 " %.0f x | %" PRId64 " | - | %s | origin=%" PRId64 " shift=%" PRId64 " %s\n", s->copies, s->places, s->large, s->segment,
                s->min_ns, p->count, type, p->origin, p->shift, array);
  free(type);
  return ok;
}

bool peer_open(peer *r, const sampler *s, char *note, size_t cap) {
  char reply[REPLY_MAX];
  if (r->pid <= 0 && !start(r)) snprintf(note, cap, "its helper does not start again");
  else if (!send_problem(r, s, reply)) snprintf(note, cap, "its helper died or hangs");
  else if (strcmp(reply, "ok") != 0) snprintf(note, cap, "%s", strncmp(reply, "no ", 3) == 0 ? reply + 3 : reply);
  else r->open = true, r->copies = s->copies;
  return r->open;
}

bool peer_close(peer *r) {
  char reply[REPLY_MAX];
  bool ok = r->open && ask(r, reply, "close\n");
  r->open = false;
  return ok;
}

/* Answers are NUMBER NEXT. Who answers something else is no helper of this lbench, and is lost. */
static bool understood(peer *r, const char *reply, double *number, int *next) {
  int turn;
  if (sscanf(reply, "%lf %d", number, &turn) != 2 || turn < 0 || turn >= r->copies || !(*number > 0 && *number < 1e15)) return lose(r), false;
  *next = turn;
  return true;
}

int64_t peer_calibrate(peer *r, int dir, int *next) {
  char reply[REPLY_MAX];
  double reps;
  return r->open && ask(r, reply, "reps %d %d\n", dir, *next) && understood(r, reply, &reps, next) ? (int64_t)reps : 0;
}

bool peer_time(peer *r, int dir, int64_t reps, int *next, double *ns) {
  char reply[REPLY_MAX];
  return r->open && ask(r, reply, "time %d %" PRId64 " %d\n", dir, reps, *next) && understood(r, reply, ns, next);
}
