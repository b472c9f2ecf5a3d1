/* cache: where kernels are kept, and which of them are trusted. */
#include "cache.h"

#include "base_cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

const char ldg_cache_none[] = "it is not in the cache";

#define LIMIT 20 /* seconds, unless LADING_JIT_LIMIT says otherwise */
int64_t ldg_cache_limit(void) {
  const char *v = ldg_option_get(LDG_OPT_JIT_LIMIT);
  const int64_t s = v ? strtol(v, NULL, 10) : 0;
  return s > 0 && s < 3600 ? s : LIMIT;
}

/* ---- names ---- */

const char *ldg_cache_path(char path[LDG_CACHE_PATH]) {
  const char *own = ldg_option_get(LDG_OPT_CACHE), *xdg = ldg_option_get(LDG_OPT_CACHE_HOME), *home = ldg_option_get(LDG_OPT_HOME);
  int n;
  if (own && *own && *own != '/') return "LADING_CACHE is no absolute path: it would be another folder for the helper";
  if (own && *own) n = snprintf(path, LDG_CACHE_PATH, "%s", own);
  else if (xdg && *xdg == '/') n = snprintf(path, LDG_CACHE_PATH, "%s/lading/jit", xdg);
  else if (home && *home == '/') n = snprintf(path, LDG_CACHE_PATH, "%s/.cache/lading/jit", home);
  else return "there is no folder for a cache: neither LADING_CACHE nor HOME is set";
  return n < LDG_CACHE_PATH ? NULL : "the name of the cache's folder is too long";
}

void ldg_cache_name(const char *key, uint64_t machine, char name[LDG_CACHE_NAME]) {
  char all[LDG_KEY_MAX + 128], verdict[20] = "";
  if (machine) snprintf(verdict, sizeof verdict, " %016llx", (unsigned long long)machine);
  snprintf(all, sizeof all, "%d %s %s%s", LDG_CACHE_VERSION, LDG_JIT_COMPILER, key, verdict);
  snprintf(name, LDG_CACHE_NAME, "k%016llx.so", (unsigned long long)ldg_key_hash(all));
}

bool ldg_cache_is_name(const char *name) {
  return strlen(name) == 20 && name[0] == 'k' && strspn(name + 1, "0123456789abcdef") == 16 && !strcmp(name + 17, ".so");
}

uint64_t ldg_cache_machine(void) {
  char all[LDG_CPU_LINE + 64], line[LDG_CPU_LINE];
  ldg_cpu_fingerprint(line);
  snprintf(all, sizeof all, "%s %s", LDG_JIT_LIBRARY, line);
  return ldg_key_hash(all);
}

/* ---- whom to trust ---- */

static const char *owned(const struct stat *st) {
  if (st->st_uid != geteuid()) return "it belongs to another user";
  return st->st_mode & (S_IWGRP | S_IWOTH) ? "others may write to it" : NULL;
}

int ldg_cache_dir(const char **why) {
  char path[LDG_CACHE_PATH];
  struct stat st;
  if ((*why = ldg_cache_path(path))) return -1;
  const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    *why = errno == ENOENT ? ldg_cache_none : "the cache's folder cannot be opened";
    return -1;
  }
  *why = fstat(fd, &st) ? "the cache's folder cannot be read" : owned(&st);
  if (!*why) return fd;
  close(fd);
  return -1;
}

int ldg_cache_open(int dir, const char *name, int64_t *size, const char **why) {
  struct stat st;
  const int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return *why = errno == ENOENT ? ldg_cache_none : "it cannot be opened", -1;
  if (fstat(fd, &st) || !S_ISREG(st.st_mode)) *why = "it is no file";
  else if (!(*why = owned(&st)) && st.st_size > LDG_CACHE_FILE_MAX) *why = "it is too long";
  if (!*why) return *size = st.st_size, fd;
  close(fd);
  return -1;
}

/* ---- what is in a file ---- */

const char *ldg_cache_check(const char *bytes, int64_t n, const ldg_cache_tail **tail, const char **key) {
  const int64_t most = n - (int64_t)sizeof **tail;
  if (most < 0 || n % 8) return "it is cut off";
  const ldg_cache_tail *x = (const ldg_cache_tail *)(const void *)(bytes + most);
  if (memcmp(x->magic, LDG_CACHE_MAGIC, sizeof x->magic) != 0) return "it is no kernel, or cut off";
  if (x->sum != ldg_checksum(bytes, n - 8)) return "it is damaged";
  if (x->object < 1 || x->object > most || x->entry < 1 || x->entry >= x->object || x->least < 1 || x->most < 1) return "its numbers make no sense";
  if (x->key < 1 || x->key > LDG_KEY_MAX || x->key > most - x->object) return "its numbers make no sense";
  *tail = x, *key = bytes + most - x->key;
  return (*key)[x->key - 1] ? "its key does not end" : NULL;
}

static const char *take(const char *want, const char *map, int64_t size, ldg_cache_kernel *out) {
  const ldg_cache_tail *tail;
  const char *key, *why = ldg_cache_check(map, size, &tail, &key);
  if (why) return why;
  if (strcmp(key, want) != 0) return "it is the kernel of another shape";
  if (tail->least == INT64_MAX && tail->machine != ldg_cache_machine()) return "it was no faster, but on another kind of machine or with another library";
  const int64_t most = tail->machine == ldg_cache_machine() ? tail->most : INT64_MAX; /* other caches */
  *out = (ldg_cache_kernel){ (ldg_kernel *)(uintptr_t)(map + tail->entry), tail->least, most, tail->compile_ns, (void *)(uintptr_t)map, size };
  return NULL;
}

static bool read_all(int fd, char *to, int64_t n) {
  for (ssize_t got; n > 0; to += got, n -= got) {
    do got = read(fd, to, (size_t)n); while (got < 0 && errno == EINTR);
    if (got <= 0) return false;
  }
  return true;
}

/* It was used just now; said once a day, since the folder may be on a server that many processes ask. Where that is not permitted, it
 * counts as old. */
static void touch(int fd) {
  struct stat st;
  if (fstat(fd, &st) == 0 && st.st_mtime < time(NULL) - 86400) futimens(fd, NULL);
}

/* What is checked is what will run: a copy in memory of our own, which no later change of the file reaches. It stays when it is good. */
static const char *copy_file(const char *key, int fd, int64_t size, ldg_cache_kernel *out) {
  if (size == 0) return "it is cut off";
  char *map = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return "there is no memory for it";
  const char *why = read_all(fd, map, size) ? take(key, map, size, out) : "it cannot be read as a whole";
  if (!why && mprotect(map, (size_t)size, PROT_READ | PROT_EXEC)) why = "the system does not let it run";
  if (why) munmap(map, (size_t)size);
  else touch(fd);
  return why;
}

void ldg_cache_unload(const ldg_cache_kernel *k) { munmap(k->map, (size_t)k->size); }

static const char *load_file(int dir, const char *key, uint64_t machine, ldg_cache_kernel *out) {
  char name[LDG_CACHE_NAME];
  const char *why = NULL;
  int64_t size;
  ldg_cache_name(key, machine, name);
  const int fd = ldg_cache_open(dir, name, &size, &why);
  if (fd < 0) return why;
  why = copy_file(key, fd, size, out);
  close(fd);
  return why;
}

/* What was found on this machine goes before what others found. */
const char *ldg_cache_load(const char *key, ldg_cache_kernel *out) {
  const char *why = NULL;
  const int dir = ldg_cache_dir(&why);
  if (dir < 0) return why;
  if (load_file(dir, key, ldg_cache_machine(), out)) why = load_file(dir, key, 0, out);
  close(dir);
  return why;
}
