/* The ledger of descriptors that other processes may fetch. */
#define _GNU_SOURCE
#include "ipc.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

typedef struct slot { _Atomic uint64_t serial; _Atomic int64_t fd; ldg_ledger_note note; } slot; /* serial 0: empty */
typedef struct page { uint64_t nonce; slot slot[LDG_LEDGER_SLOTS]; } page;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct { page *at; int fd; pid_t owner; uint64_t last; } ledger;

/* ---- ours ---- */

/* A child's is its own: the one that it was forked with says what its parent has. */
static int open_ledger(void) {
  if (ledger.at && ledger.owner == getpid()) return LADING_OK;
  const int fd = memfd_create("lading ledger", MFD_CLOEXEC);
  if (fd < 0) return LADING_ERR_SYSTEM;
  page *p = ftruncate(fd, sizeof *p) ? MAP_FAILED : mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED || getrandom(&p->nonce, sizeof p->nonce, 0) != sizeof p->nonce) {
    if (p != MAP_FAILED) munmap(p, sizeof *p);
    close(fd);
    return LADING_ERR_SYSTEM;
  }
  ledger.at = p, ledger.fd = fd, ledger.owner = getpid();
  return LADING_OK;
}

static int enter(int fd, const ldg_ledger_note *note, ldg_ticket *out) {
  int i = 0, e = open_ledger();
  if (e) return e;
  while (i < LDG_LEDGER_SLOTS && atomic_load(&ledger.at->slot[i].serial)) i++;
  if (i == LDG_LEDGER_SLOTS) return LADING_ERR_NOMEM;
  *out = (ldg_ticket){ ledger.fd, i, ledger.at->nonce, ++ledger.last };
  atomic_store(&ledger.at->slot[i].fd, fd);
  ledger.at->slot[i].note = note ? *note : (ldg_ledger_note){ .pool = 0 };
  atomic_store(&ledger.at->slot[i].serial, out->serial);
  return LADING_OK;
}

int ldg_ledger_enter(int fd, const ldg_ledger_note *note, ldg_ticket *out) {
  pthread_mutex_lock(&lock);
  const int e = enter(fd, note, out);
  pthread_mutex_unlock(&lock);
  return e;
}

void ldg_ledger_wipe(const ldg_ticket *t) {
  pthread_mutex_lock(&lock);
  if (ledger.owner == getpid() && ledger.at->nonce == t->nonce) atomic_store(&ledger.at->slot[t->slot].serial, 0);
  pthread_mutex_unlock(&lock);
}

/* ---- of others ---- */

/* Of both calls: it may not be, the other one is gone, or there is something that this process lacks. */
static int error_of(int error) {
  switch (error) {
    case ENOSYS: case EPERM: case EACCES: return LADING_ERR_UNSUPPORTED;
    case ESRCH: case EBADF: return LADING_ERR_DEVICE;
    case ENOMEM: return LADING_ERR_NOMEM;
    default: return LADING_ERR_SYSTEM;
  }
}

static int fetch(int process, int number, int *fd) {
  *fd = (int)syscall(SYS_pidfd_getfd, process, number, 0);
  return *fd >= 0 ? LADING_OK : error_of(errno);
}

/* -1: the ledger says nothing of that ticket. Serials do not come back: what stands beside the same one twice was written before the first look. */
static int64_t number_of(int book, const ldg_ticket *t, ldg_ledger_note *note) {
  uint64_t nonce = 0;
  struct { uint64_t serial; int64_t fd; ldg_ledger_note note; } s = { .fd = -1 };
  _Static_assert(sizeof s == sizeof(slot), "a slot as it is read");
  const off_t at = (off_t)(offsetof(page, slot) + (size_t)t->slot * sizeof(slot));
  if (pread(book, &nonce, sizeof nonce, 0) != sizeof nonce || pread(book, &s, sizeof s, at) != sizeof s) return -1;
  *note = s.note;
  return nonce == t->nonce && s.serial && s.serial == t->serial ? s.fd : -1;
}

static int fetch_by(int process, int book, const ldg_ticket *t, int *fd, ldg_ledger_note *note) {
  ldg_ledger_note again;
  const int64_t number = number_of(book, t, note);
  int e = number < 0 ? LADING_ERR_DEVICE : fetch(process, (int)number, fd);
  if (!e && number_of(book, t, &again) != number) close(*fd), e = LADING_ERR_DEVICE;
  return e;
}

int ldg_ledger_fetch(pid_t from, const ldg_ticket *t, int *fd, ldg_ledger_note *note) {
  int book = -1;
  if (t->slot < 0 || t->slot >= LDG_LEDGER_SLOTS || from <= 0) return LADING_ERR_FORMAT;
  const int process = (int)syscall(SYS_pidfd_open, from, 0);
  if (process < 0) return error_of(errno);
  int e = fetch(process, t->ledger, &book);
  if (!e) e = fetch_by(process, book, t, fd, note);
  if (book >= 0) close(book);
  close(process);
  return e;
}
