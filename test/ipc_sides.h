/* Two processes that talk, each with a driver of its own: a parent that owns memory, a child that opens it. */
#ifndef TEST_IPC_SIDES_H
#define TEST_IPC_SIDES_H

#include "random_types.h"
#include "areas.h"
#include "../backends/device/ipc.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define OK(call) ck_assert_int_eq(call, LADING_OK)

static devices v;
static const lading_mem on_device = { LADING_MEM_DEVICE, 0 };

/* ---- two processes that talk ---- */

typedef struct line { int in, out; pid_t pid; } line;

static inline void tell(const line *l, const void *p, size_t n) { ck_assert_int_eq(write(l->out, p, n), (int64_t)n); }
static inline void hear(const line *l, void *p, size_t n) {
  for (char *at = p; n;) {
    const ssize_t got = read(l->in, at, n);
    ck_assert_msg(got > 0, "the other process is gone");
    at += got, n -= (size_t)got;
  }
}
static inline void wait_for_other(const line *l) { char c; tell(l, "", 1), hear(l, &c, 1); } /* both come here */

/* The child runs `part` and ends; both open the driver after the fork. */
static inline line start(void (*part)(const line *l)) {
  int down[2], up[2];
  OK(pipe(down));
  OK(pipe(up));
  fflush(stdout);
  const pid_t pid = fork();
  ck_assert(pid >= 0);
  line l = pid ? (line){ up[0], down[1], pid } : (line){ down[0], up[1], 0 };
  close(pid ? up[1] : up[0]), close(pid ? down[0] : down[1]);
  if (!pid) prctl(PR_SET_PDEATHSIG, SIGKILL);
  v = devices_open();
  if (pid) return l;
  part(&l);
  devices_close(&v);
  exit(0);
}

static inline void finish(const line *l) {
  int status = 0;
  ck_assert_int_eq(waitpid(l->pid, &status, 0), l->pid);
  ck_assert_int_eq(status, 0);
  close(l->in), close(l->out);
  devices_close(&v);
}

static inline int64_t count(const char *cuda, const char *hip) {
  char text[64];
  snprintf(text, sizeof text, "count %s", strcmp(v.backend, "hip") ? cuda : hip);
  return devices_say(&v, text);
}
static inline int64_t opens(void) { return count("cuIpcOpenMemHandle", "hipIpcOpenMemHandle"); }
static inline int64_t closes(void) { return count("cuIpcCloseMemHandle", "hipIpcCloseMemHandle"); }

/* Whether one process may fetch descriptors of another one here: tried by the child. */
static inline bool may_fetch(void) {
  const int process = (int)syscall(SYS_pidfd_open, getppid(), 0), fd = (int)syscall(SYS_pidfd_getfd, process, 0, 0);
  const bool yes = fd >= 0 || errno == EBADF;
  if (fd >= 0) close(fd);
  close(process);
  return yes;
}

/* Of tests that had little to test where that may not be: no success. */
static inline int unless_barred(int failed) {
  int status = 0;
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  const pid_t pid = fork();
  if (!pid) _exit(!may_fetch());
  waitpid(pid, &status, 0);
  if (status) fprintf(stderr, "descriptors of other processes may not be fetched here (pidfd_getfd): only the refusals were tested\n");
  return failed ? failed : status ? 77 : 0;
}

static inline int descriptors(void) {
  int n = 0;
  for (int fd = 0; fd < 1024; fd++) n += fcntl(fd, F_GETFD) >= 0;
  return n;
}
static inline void no_more_than(int most) { /* what a real driver opens is its own business */
  if (v.d->fake) ck_assert_int_le(descriptors(), most);
}

/* The next call of that name: without what names of a vendor begin with. */
static inline void let_fail(const char *call, int with) {
  char text[80];
  snprintf(text, sizeof text, "fail %s%s 1 %d", strcmp(v.backend, "hip") ? "cu" : "hip", call, with);
  devices_say(&v, text);
}

static inline lading_ipc exported(const void *at) {
  lading_ipc token;
  OK(lading_ipc_export(at, &token));
  return token;
}
static inline char *opened(const lading_ipc *token) {
  void *p = NULL;
  OK(lading_ipc_open(token, &p));
  return p;
}

/* One byte, as somebody would who means to. */
static inline void forge(lading_ipc *token, int at, int value) { token->bytes[at] = (unsigned char)value, ldg_ipc_seal(token); }

/* A token of that memory goes to the other side, who is done with it then. */
static inline void serve(const line *l, const void *at) {
  const lading_ipc token = exported(at);
  tell(l, &token, sizeof token);
  wait_for_other(l);
}

/* Bytes that were changed on their way come to no driver; what somebody seals anew is an error, or memory that is there. Of a real driver that is asked
 * only with LADING_TEST_FORGE: an H200's was seen to overwrite its own memory where a process held hundreds of changed handles open (backends/device/ipc.h). */
static inline void refuser(const line *l) {
  enum { HEAD = 8 /* bytes that say what it is */ };
  lading_ipc token;
  void *p = NULL;
  hear(l, &token, sizeof token);
  rng r = rng_of(5);
  for (int i = 0; i < 2000; i++) {
    lading_ipc bad = token;
    if (i % 2) for (size_t k = HEAD; k < sizeof bad; k++) bad.bytes[k] = (unsigned char)rng_next(&r);
    else bad.bytes[rng_in(&r, 0, sizeof bad - 1)] ^= (unsigned char)rng_in(&r, 1, 255);
    ck_assert_int_eq(lading_ipc_open(&bad, &p), LADING_ERR_FORMAT);
    ck_assert_ptr_null(p);
    if (!v.d->fake && !getenv("LADING_TEST_FORGE")) continue;
    ldg_ipc_seal(&bad);
    if (lading_ipc_open(&bad, &p) == LADING_OK) OK(lading_ipc_close(p));
    p = NULL;
  }
  wait_for_other(l);
}

#endif
