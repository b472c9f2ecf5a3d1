/* Shared by the tests of the kernels that are compiled at run time: a cache of their own, and waiting, which the library never does. */
#ifndef TEST_JIT_TOOLS_H
#define TEST_JIT_TOOLS_H

#include "random_types.h"

#include "api.h"
#include "base_cpu.h"
#include "gccjit/cache.h"
#include "plan_jit.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static inline const char *helper_path(void) { return getenv("LADING_JIT_TESTED"); } /* lading-jit, or unset: it was not built */

static inline void pause_ms(int ms) { nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000L }, NULL); }
static inline bool settles(int seconds) {
  for (int i = 0; i < seconds * 500; i++) {
    if (ldg_jit_settled()) return true;
    pause_ms(2);
  }
  return false;
}

/* ---- files of this test alone ---- */

#define OWN_PATH 80
/* `name`, in a folder that is made when it is first asked for. */
static inline const char *own_file(const char *name, char path[OWN_PATH]) {
  static char folder[] = "/tmp/lading-test-own-XXXXXX";
  static bool made;
  if (!made) ck_assert_ptr_nonnull(mkdtemp(folder));
  made = true;
  snprintf(path, OWN_PATH, "%s/%s", folder, name);
  return path;
}
static inline void drop_own_files(void) {
  char path[OWN_PATH], line[OWN_PATH + 8];
  snprintf(line, sizeof line, "rm -rf %s", own_file("", path));
  ck_assert_int_eq(system(line), 0);
}

/* A helper that is a script: lines of it, and where it is. Its first argument is the mode, after `--` come keys. */
static inline const char *script(const char *lines) {
  static char path[OWN_PATH];
  const int fd = open(own_file("helper", path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
  ck_assert_int_ge(fd, 0);
  dprintf(fd, "#!/bin/sh\n%s\n", lines);
  close(fd);
  return path;
}

/* ---- a cache of this test alone ---- */

/* The real one tells why a kernel did not come. Scripts do not: they may hang, and would hold our standard error. */
static inline bool is_tested(const char *helper) { return helper_path() && !strcmp(helper, helper_path()); }
static inline void use_helper(const char *helper) { setenv("LADING_JIT", helper, 1), setenv("LADING_VERBOSE", is_tested(helper) ? "1" : "0", 1); }

/* A folder for this test alone, before anything of the library is asked. The options are read once in a process. */
static inline char *own_cache(const char *helper) {
  static char folder[] = "/tmp/lading-test-jit-XXXXXX";
  ck_assert_ptr_nonnull(mkdtemp(folder));
  use_helper(helper), setenv("LADING_CACHE", folder, 1), setenv("LADING_FORCE", "jit", 1);
  unsetenv("LADING_DUMP");
  return folder;
}

/* Once nobody is at work in it, who would make it again. */
static inline void drop_cache(const char *folder) {
  char path[4096];
  settles(80);
  chmod(folder, 0700);
  DIR *d = opendir(folder);
  for (struct dirent *e; d && (e = readdir(d));) snprintf(path, sizeof path, "%s/%s", folder, e->d_name), unlink(path);
  if (d) closedir(d);
  rmdir(folder);
}

/* But for the file that helpers take turns by. */
static inline void nothing_left(const char *folder) {
  DIR *d = opendir(folder);
  for (struct dirent *e; d && (e = readdir(d));)
    ck_assert_msg(!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || !strcmp(e->d_name, ".lock"), "%s was left", e->d_name);
  if (d) closedir(d);
}

static inline int count_text(const lading_type *t, const char *what) {
  static char text[1 << 16];
  int n = 0;
  ck_assert_int_gt(lading_explain(t, 1, text, sizeof text), 0);
  for (const char *at = text; (at = strstr(at, what)); at++) n++;
  return n;
}
static inline void ask(const lading_type *t) {
  const ldg_plan *p;
  ck_assert_int_eq(ldg_api_plan(t, &p), LADING_OK);
  ldg_jit_warm(p);
}

/* Fields that a kernel moves: n of up to `most` bytes, with gaps, some out of order, in items that do not touch. */
static inline sample *fields(rng *r, int64_t n, int64_t most, int64_t width) {
  int64_t at[64], len[64], p = 0;
  for (int64_t i = 0; i < n; i++) p += width * rng_in(r, 1, 6), at[i] = p, len[i] = width * rng_in(r, 1, most), p += len[i];
  for (int64_t i = n - 1; i > 0 && rng_in(r, 0, 3) == 0; i--) {
    const int64_t k = rng_in(r, 0, i), t = at[i], u = len[i];
    at[i] = at[k], len[i] = len[k], at[k] = t, len[k] = u;
  }
  return s_resized(s_hindexed(n, len, at, s_elem(LADING_BYTE)), 0, p + width * rng_in(r, 0, 3));
}

/* ---- one shape ---- */

static inline sample *one_shape(void) { return s_resized(S_STRUCT(3, LIST(1, 1, 1), LIST(0, 8, 16), s_elem(LADING_INT32), s_elem(LADING_DOUBLE), s_elem(LADING_CHAR)), 0, 24); }

static inline void moves_well(const sample *s) {
  rng r = rng_of(91);
  check_moves(s, 100, &r);
}

/* Why fewer kernels came than there are jobs. */
static inline void tell_of(const lading_type *t) {
  static char text[1 << 16];
  if (lading_explain(t, 1, text, sizeof text) <= 0) return;
  const char *jobs = strstr(text, "plan of many items");
  fputs(jobs ? jobs : text, stderr);
}

/* In a process of its own, since slots and options stay: asks for the kernels of the one shape, moves data by it, and says how many there are: 0 to 2, for pack and
 * unpack. Less: it ended in another way, as sanitizers end it. It waits for longer than the library does: (20 + 2) * 3 s. */
static inline int in_a_process(const char *helper, const char *force) {
  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0) {
    use_helper(helper), setenv("LADING_FORCE", force, 1);
    sample *s = one_shape();
    ask(s->type);
    const bool settled = settles(80);
    moves_well(s);
    const int kernels = count_text(s->type, "tier 2");
    if (kernels < 2 && is_tested(helper)) tell_of(s->type);
    _exit(settled ? 100 + kernels : 99);
  }
  int status = -1;
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  ck_assert_msg(WIFEXITED(status), "it was ended by signal %d", WTERMSIG(status));
  return WEXITSTATUS(status) - 100;
}

#define NO_HELPER "/nonexistent/lading-jit"

static inline void for_each_kernel(const char *cache, void fn(const char *path)) {
  char path[4096];
  DIR *d = opendir(cache);
  for (struct dirent *e; d && (e = readdir(d));)
    if (ldg_cache_is_name(e->d_name)) snprintf(path, sizeof path, "%s/%s", cache, e->d_name), fn(path);
  closedir(d);
}

/* ---- the tool, and what it made ---- */

static inline int tool(const char *what, char *out, int64_t cap) {
  char line[4600];
  snprintf(line, sizeof line, "%s %s 2>&1", helper_path(), what);
  FILE *p = popen(line, "r");
  const size_t n = fread(out, 1, (size_t)cap - 1, p);
  out[n] = 0;
  return pclose(p);
}

static inline void tool_works(const char *what, char *out, int64_t cap) {
  const int status = tool(what, out, cap);
  ck_assert_msg(status == 0, "%s: status %x: %s", what, status, out);
}

/* A kernel's code that only says that all is well. */
typedef struct code { const char *bytes; size_t n; } code;
#define CODE(bytes) { bytes, sizeof bytes - 1 }
#if defined(__aarch64__)
static const code at_once = CODE("\x00\x00\x80\x52\xc0\x03\x5f\xd6");
#else
static const code at_once = CODE("\x31\xc0\xc3");
#endif

/* A kernel's file with another verdict, or one that was given on another kind of machine, or other code than its own. */
static inline void forge(const char *path, int64_t least, int64_t most, bool elsewhere, const code *other) {
  static char file[LDG_CACHE_FILE_MAX] __attribute__((aligned(8)));
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  const int64_t n = read(fd, file, sizeof file);
  ldg_cache_tail *tail = (ldg_cache_tail *)(void *)(file + n - (int64_t)sizeof *tail);
  if (other) memcpy(file + tail->entry, other->bytes, other->n);
  tail->least = least, tail->most = most, tail->machine ^= elsewhere, tail->sum = ldg_checksum(file, n - 8);
  ck_assert_int_eq(pwrite(fd, file, (size_t)n, 0), n);
  close(fd);
}

#endif
