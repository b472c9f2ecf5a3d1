/* spawn: a child of a child. The one between is cloned without a signal for its end, so neither SIGCHLD nor a waitpid for any child
 * sees it (an exec would bring the signal back, so it runs none); it shares our memory, so no page table is copied, and it is gone
 * when the call returns. The program itself then belongs to init. */
#define _GNU_SOURCE
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#if defined(__SANITIZE_THREAD__) /* takes every clone for a fork, after which no thread may be started */
int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);
#define clone __clone
#endif

typedef struct start {
  const char *path;
  char *const *argv, *const *env;
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attr;
  ldg_spawned out;
  int error;
} start;

/* ---- the environment ---- */

/* Beside our options. What would make it another program, preloaded libraries above all, is not among them; the last four are for instrumented builds. */
static bool passes(const char *v) {
  static const char *const passed[] = { "PATH=", "LD_LIBRARY_PATH=", "ASAN_", "LSAN_", "TSAN_", "UBSAN_" };
  for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++)
    if (!strncmp(v, passed[i], strlen(passed[i]))) return true;
  return false;
}

/* Variables, and room for so many in so many bytes; without a list they are only counted. */
typedef struct vars { char **list, *text; int64_t n, bytes, most, most_bytes; } vars;

static void add(vars *v, const char *name, const char *is, const char *value) {
  const int64_t len = (int64_t)(strlen(name) + strlen(is) + strlen(value)) + 1;
  if (v->list && (v->n == v->most || len > v->most_bytes - v->bytes)) return;
  if (v->list) snprintf(v->list[v->n] = v->text + v->bytes, (size_t)len, "%s%s%s", name, is, value);
  v->n++, v->bytes += len;
}

/* Options are what this process goes by, not what the host has set since: the helper would put kernels where nobody looks for them. */
static void gather(vars *v) {
  for (int o = 0; o < LDG_OPT_MAX; o++) {
    const char *value = ldg_option_get((ldg_option)o);
    if (value) add(v, ldg_option_name((ldg_option)o), "=", value);
  }
  for (char **e = environ; e && *e; e++)
    if (passes(*e)) add(v, *e, "", "");
}

/* Should somebody change the environment meanwhile, the copy still has no more than was counted. */
char **ldg_spawn_environment(void) {
  vars all = { 0 };
  gather(&all);
  char **copy = ldg_alloc((all.n + 1) * (int64_t)sizeof *copy + all.bytes);
  if (!copy) return NULL;
  vars v = { .list = copy, .text = (char *)(copy + all.n + 1), .most = all.n, .most_bytes = all.bytes };
  gather(&v);
  copy[v.n] = NULL;
  return copy;
}

/* ---- the program ---- */

static int between(void *arg) {
  start *s = arg;
  s->error = posix_spawn(&s->out.pid, s->path, &s->files, &s->attr, s->argv, s->env);
#if defined(SYS_pidfd_open)
  if (!s->error) s->out.alive = (int)syscall(SYS_pidfd_open, s->out.pid, 0u); /* it is our child: the number is its own */
#endif
  return 0;
}

/* All signals are blocked here, so that no handler runs in the one between. */
static int start_between(start *s) {
  static char stack[128 << 10] __attribute__((aligned(64)));
  sigset_t all, before;
  int error = 0;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = clone(between, stack + sizeof stack, CLONE_VM | CLONE_FILES | CLONE_VFORK, s);
  if (pid < 0) error = errno;
  else while (waitpid(pid, NULL, __WCLONE) < 0 && errno == EINTR) { } /* who waits for clones may have been first: no harm */
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error ? error : s->error;
}

static int describe(start *s, bool talks, int end) {
  sigset_t none, all;
  sigemptyset(&none), sigfillset(&all);
  posix_spawnattr_setsigmask(&s->attr, &none);
  posix_spawnattr_setsigdefault(&s->attr, &all);
  posix_spawnattr_setflags(&s->attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  int e = posix_spawn_file_actions_adddup2(&s->files, end, 1); /* held open to its end; first, since it may be 0 */
  if (!e) e = posix_spawn_file_actions_addopen(&s->files, 0, "/dev/null", O_RDONLY, 0);
  if (!e && !talks) e = posix_spawn_file_actions_addopen(&s->files, 2, "/dev/null", O_WRONLY, 0);
#if LDG_SPAWN_CLOSES /* a host may wait for the end of a pipe or a lock of its own, while the helper is loaded */
  if (!e) e = posix_spawn_file_actions_addclosefrom_np(&s->files, 3);
#endif
  return e;
}

static int spawn(start *s, bool talks, int end) {
  if (posix_spawn_file_actions_init(&s->files)) return ENOMEM;
  int e = posix_spawnattr_init(&s->attr);
  if (!e) {
    e = describe(s, talks, end);
    if (!e) e = start_between(s);
    posix_spawnattr_destroy(&s->attr);
  }
  posix_spawn_file_actions_destroy(&s->files);
  return e;
}

bool ldg_spawn_inherits(void) {
  int reaper = 0;
  return getpid() == 1 || (prctl(PR_GET_CHILD_SUBREAPER, &reaper) == 0 && reaper);
}

int ldg_spawn(const char *path, char *const argv[], char *const env[], bool talks, ldg_spawned *out) {
  start s = { .path = path, .argv = argv, .env = env, .out = { .alive = -1 } };
  int end[2];
  if (pipe2(end, O_CLOEXEC | O_NONBLOCK)) return errno;
  const int e = spawn(&s, talks, end[1]);
  close(end[1]);
  if (e) close(end[0]);
  else *out = s.out, out->end = end[0];
  return e;
}

static bool happens(int fd, int64_t ms) { return poll(&(struct pollfd){ fd, POLLIN, 0 }, 1, (int)ms) != 0; }

static int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

/* What comes after the first byte is read, so that nobody waits for room, and not kept. The pipe ends with the program, whoever has its other end, too: a process that the host forked
 * while it was started, which runs on. */
static bool read_to_end(const ldg_spawned *s, int64_t ms, bool (*meanwhile)(void), char *word) {
  char some[256];
  ssize_t n = 1;
  for (const int64_t until = now_ms() + ms; n && now_ms() < until;) {
    if (!happens(s->end, LDG_SPAWN_TICK)) {
      if (s->alive >= 0 && happens(s->alive, 0) && !happens(s->end, 0)) return true;
      meanwhile();
      continue;
    }
    n = read(s->end, some, sizeof some);
    if (n > 0 && !*word) *word = some[0];
    if (n < 0 && errno != EINTR && errno != EAGAIN) n = 0;
  }
  return !n;
}

/* As long as the program is there its number is not another's. */
bool ldg_spawn_await(const ldg_spawned *s, int64_t ms, bool (*meanwhile)(void), char *word) {
  *word = 0;
  const bool ended = read_to_end(s, ms, meanwhile, word);
  if (!ended && s->alive >= 0 && !happens(s->alive, 0)) kill(-s->pid, SIGKILL);
  close(s->end);
  if (s->alive >= 0) close(s->alive);
  return ended;
}
