/* spawn: a child of a child. The one between is cloned without a signal for its end, so neither SIGCHLD nor a waitpid for any child
 * sees it (an exec would bring the signal back, so it runs none); it shares our memory, so no page table is copied, and it is gone
 * when the call returns. The program itself then belongs to init. */
#define _GNU_SOURCE
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#if defined(__SANITIZE_THREAD__) /* takes every clone for a fork, after which no thread may be started */
int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);
#define clone __clone
#endif

typedef struct start {
  const char *path;
  char *const *argv;
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attr;
  int error;
} start;

static int between(void *arg) {
  start *s = arg;
  pid_t pid;
  s->error = posix_spawn(&pid, s->path, &s->files, &s->attr, s->argv, environ);
  return 0;
}

/* All signals are blocked here, so that no handler runs in the one between. */
static int start_between(start *s) {
  static char stack[128 << 10] __attribute__((aligned(64)));
  sigset_t all, before;
  int error = 0;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = clone(between, stack + sizeof stack, CLONE_VM | CLONE_VFORK, s);
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
  int e = posix_spawn_file_actions_adddup2(&s->files, end, 1); /* held open to its end, never written to; first, since it may be 0 */
  if (!e) e = posix_spawn_file_actions_addopen(&s->files, 0, "/dev/null", O_RDONLY, 0);
  if (!e && !talks) e = posix_spawn_file_actions_addopen(&s->files, 2, "/dev/null", O_WRONLY, 0);
  return e;
}

static int spawn(const char *path, char *const argv[], bool talks, int end) {
  start s = { .path = path, .argv = argv };
  if (posix_spawn_file_actions_init(&s.files)) return ENOMEM;
  int e = posix_spawnattr_init(&s.attr);
  if (!e) {
    e = describe(&s, talks, end);
    if (!e) e = start_between(&s);
    posix_spawnattr_destroy(&s.attr);
  }
  posix_spawn_file_actions_destroy(&s.files);
  return e;
}

bool ldg_spawn_inherits(void) {
  int reaper = 0;
  return getpid() == 1 || (prctl(PR_GET_CHILD_SUBREAPER, &reaper) == 0 && reaper);
}

int ldg_spawn(const char *path, char *const argv[], bool talks, int *fd) {
  const int saved = errno;
  int end[2];
  if (pipe2(end, O_CLOEXEC | O_NONBLOCK)) return errno;
  const int e = spawn(path, argv, talks, end[1]);
  close(end[1]);
  if (e) close(end[0]);
  else *fd = end[0];
  errno = saved;
  return e;
}
