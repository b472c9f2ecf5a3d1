/* jit_faults: whatever becomes of the helper, of its files, or of the process, data is moved as ever and nobody notices a child. */
#include "jit_tools.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

/* A helper that is a script: lines of it, and where it is. Its first argument is the mode, after `--` come keys. */
static const char *script(const char *lines) {
  static char path[64];
  snprintf(path, sizeof path, "/tmp/lading-test-helper-%ld", (long)getpid());
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
  ck_assert_int_ge(fd, 0);
  dprintf(fd, "#!/bin/sh\n%s\n", lines);
  close(fd);
  return path;
}

static sample *one_shape(void) { return s_resized(S_STRUCT(3, LIST(1, 1, 1), LIST(0, 8, 16), s_elem(LADING_INT32), s_elem(LADING_DOUBLE), s_elem(LADING_CHAR)), 0, 24); }

static void moves_well(const sample *s) {
  rng r = rng_of(91);
  check_moves(s, 100, &r);
}

/* The kernel of the one shape, that `helper` should have made, does not come, and says why; all is moved all the same. */
static void comes_to_nothing(const char *helper, const char *why, int seconds) {
  char *cache = own_cache(helper);
  sample *s = one_shape();
  ask(s->type), moves_well(s);
  ck_assert_msg(settles(seconds), "%s does not settle", helper);
  ask(s->type), moves_well(s);
  ck_assert_int_eq(count_text(s->type, "tier 2"), 0);
  ck_assert_msg(count_text(s->type, why) > 0, "explain does not say '%s'", why);
  sample_free(s);
  drop_cache(cache);
}

START_TEST(helper_missing) { comes_to_nothing("/nonexistent/lading-jit", "cannot be started", 1); }
END_TEST
START_TEST(helper_fails) { comes_to_nothing("/bin/false", "not in the cache", 5); }
END_TEST
START_TEST(helper_crashes) {
  const char *path = script("kill -SEGV $$");
  comes_to_nothing(path, "not in the cache", 5);
  unlink(path);
}
END_TEST

/* It ends itself by its limits. */
START_TEST(helper_hangs) {
  char lines[4200];
  snprintf(lines, sizeof lines, "exec %s limits", helper_path());
  const char *path = script(lines);
  setenv("LADING_JIT_LIMIT", "1", 1);
  comes_to_nothing(path, "not in the cache", 10);
  unlink(path);
}
END_TEST

/* One that has no limits is forgotten. */
START_TEST(helper_hangs_for_good) {
  const char *path = script("exec sleep 8");
  setenv("LADING_JIT_LIMIT", "1", 1);
  comes_to_nothing(path, "did not end in time", 10);
  unlink(path);
}
END_TEST

/* ---- files ---- */

static void file_of(const lading_type *t, const char *cache, char path[4096]) {
  char name[256] = "";
  (void)t;
  DIR *d = opendir(cache);
  for (struct dirent *e; d && (e = readdir(d));)
    if (ldg_cache_is_name(e->d_name)) snprintf(name, sizeof name, "%s", e->d_name);
  closedir(d);
  ck_assert_msg(name[0], "no kernel in %s", cache);
  snprintf(path, 4096, "%s/%s", cache, name);
}

/* In a process of its own, since slots and options stay: asks for the kernels of the one shape, moves data by it, and says
 * how many there are: 0 to 2, for pack and unpack. */
static int in_a_process(const char *helper, const char *force) {
  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0) {
    setenv("LADING_JIT", helper, 1), setenv("LADING_FORCE", force, 1);
    sample *s = one_shape();
    ask(s->type);
    const bool settled = settles(60);
    moves_well(s);
    _exit(settled ? count_text(s->type, "tier 2") : 99);
  }
  int status = -1;
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  ck_assert_msg(WIFEXITED(status), "it was ended by signal %d", WTERMSIG(status));
  return WEXITSTATUS(status);
}

#define NO_HELPER "/nonexistent/lading-jit"

/* Of `each` process of its own: with a file that was spoiled, nothing is loaded, and a helper makes it anew. */
static void spoiled(const char *path, const char *good, int64_t n, const char *bad, int64_t m) {
  int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
  ck_assert(write(fd, bad, (size_t)m) == m);
  close(fd);
  ck_assert_int_eq(in_a_process(NO_HELPER, "jit"), 1); /* the other direction's is good */
  fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
  ck_assert(write(fd, good, (size_t)n) == n);
  close(fd);
}

START_TEST(files_that_are_spoiled) {
  rng r = rng_of(92);
  char *cache = own_cache(helper_path()), path[4096];
  static char good[LDG_CACHE_FILE_MAX], bad[LDG_CACHE_FILE_MAX];
  ck_assert_int_eq(in_a_process(helper_path(), "jit"), 2);
  ck_assert_int_eq(in_a_process(NO_HELPER, "jit"), 2); /* no compiler is needed any more */
  file_of(NULL, cache, path);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const int64_t n = read(fd, good, sizeof good);
  close(fd);
  for (int i = 0; i < 12; i++) { /* bits flipped */
    memcpy(bad, good, (size_t)n);
    bad[rng_in(&r, 0, n - 1)] ^= (char)(1 << rng_in(&r, 0, 7));
    spoiled(path, good, n, bad, n);
  }
  for (int i = 0; i < 8; i++) spoiled(path, good, n, good, i ? rng_in(&r, 0, n - 1) : 0); /* cut off */
  memset(bad, 0, sizeof bad);
  spoiled(path, good, n, bad, n);
  ck_assert_int_eq(in_a_process(NO_HELPER, "jit"), 2);
  ck_assert_int_eq(truncate(path, n / 2), 0);
  ck_assert_int_eq(in_a_process(helper_path(), "jit"), 2); /* made again */
  ck_assert_int_eq(in_a_process(NO_HELPER, "jit"), 2);
  drop_cache(cache);
}
END_TEST

/* Every bit of the tail, and some of the rest, through the check alone. */
START_TEST(every_bit_counts) {
  rng r = rng_of(93);
  char *cache = own_cache(helper_path()), path[4096];
  static char file[LDG_CACHE_FILE_MAX] __attribute__((aligned(8)));
  const ldg_cache_tail *tail;
  const char *key;
  ck_assert_int_eq(in_a_process(helper_path(), "jit"), 2);
  file_of(NULL, cache, path);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const int64_t n = read(fd, file, sizeof file);
  close(fd);
  ck_assert_ptr_null(ldg_cache_check(file, n, &tail, &key));
  for (int64_t i = 0; i < 8 * (int64_t)sizeof *tail + 2000; i++) {
    const int64_t bit = i < 8 * (int64_t)sizeof *tail ? 8 * n - 1 - i : rng_in(&r, 0, 8 * n - 1);
    file[bit / 8] ^= (char)(1 << bit % 8);
    ck_assert_msg(ldg_cache_check(file, n, &tail, &key) != NULL, "bit %" PRId64 " of %" PRId64 " can be flipped", bit, 8 * n);
    file[bit / 8] ^= (char)(1 << bit % 8);
  }
  for (int64_t k = 0; k < n; k += rng_in(&r, 1, 40)) ck_assert_msg(ldg_cache_check(file, k, &tail, &key) != NULL, "%" PRId64 " bytes are enough", k);
  drop_cache(cache);
}
END_TEST

START_TEST(folders_that_others_write) {
  char *cache = own_cache(helper_path()), path[4096], other[4200];
  ck_assert_int_eq(in_a_process(helper_path(), "jit"), 2);
  file_of(NULL, cache, path);
  ck_assert_int_eq(chmod(cache, 0777), 0);
  ck_assert_int_eq(in_a_process(NO_HELPER, "jit"), 0);
  ck_assert_int_eq(in_a_process(helper_path(), "jit"), 0); /* nor does the helper write there */
  ck_assert_int_eq(chmod(cache, 0700), 0);
  ck_assert_int_eq(chmod(path, 0666), 0);
  ck_assert_int_eq(in_a_process(NO_HELPER, "jit"), 1);
  ck_assert_int_eq(chmod(path, 0600), 0);
  ck_assert_int_eq(in_a_process(NO_HELPER, "jit"), 2);
  snprintf(other, sizeof other, "%s/elsewhere", cache);
  ck_assert_int_eq(rename(path, other), 0);
  ck_assert_int_eq(symlink(other, path), 0); /* a link is not followed */
  ck_assert_int_eq(in_a_process(NO_HELPER, "jit"), 1);
  if (geteuid() == 0 && unlink(path) == 0 && rename(other, path) == 0 && chown(path, 12345, 0) == 0) ck_assert_int_eq(in_a_process(NO_HELPER, "jit"), 1);
  drop_cache(cache);
}
END_TEST

/* The home is unset, or cannot be written: no kernels, no noise. */
START_TEST(no_place_for_a_cache) {
  char *cache = own_cache(helper_path());
  unsetenv("LADING_CACHE"), unsetenv("XDG_CACHE_HOME"), unsetenv("HOME");
  ck_assert_int_eq(in_a_process(helper_path(), "jit"), 0);
  setenv("HOME", "/proc/nonexistent", 1);
  ck_assert_int_eq(in_a_process(helper_path(), "jit"), 0);
  drop_cache(cache);
}
END_TEST

/* As a full disk: no file can grow beyond some bytes. In a process of its own, since Check's notes are a file, too. */
START_TEST(disk_full) {
  const struct rlimit few = { 3000, 3000 };
  char *cache = own_cache(helper_path());
  int status = -1;
  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0) {
    signal(SIGXFSZ, SIG_IGN);
    _exit(setrlimit(RLIMIT_FSIZE, &few) ? 99 : in_a_process(helper_path(), "jit"));
  }
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "its status is %x", status);
  DIR *d = opendir(cache);
  for (struct dirent *e; (e = readdir(d));) ck_assert_msg(e->d_name[0] == '.', "%s was left", e->d_name);
  closedir(d);
  drop_cache(cache);
}
END_TEST

START_TEST(processes_race) {
  char *cache = own_cache(helper_path());
  pid_t pid[4];
  fflush(NULL);
  for (int i = 0; i < 4; i++)
    if ((pid[i] = fork()) == 0) _exit(in_a_process(helper_path(), "jit"));
  for (int i = 0, status; i < 4; i++) {
    ck_assert_int_eq(waitpid(pid[i], &status, 0), pid[i]);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 2, "process %d has status %x", i, status);
  }
  ck_assert_int_eq(in_a_process(NO_HELPER, "jit"), 2);
  drop_cache(cache);
}
END_TEST

static void for_each_kernel(const char *cache, void fn(const char *path)) {
  char path[4096];
  DIR *d = opendir(cache);
  for (struct dirent *e; d && (e = readdir(d));)
    if (ldg_cache_is_name(e->d_name)) snprintf(path, sizeof path, "%s/%s", cache, e->d_name), fn(path);
  closedir(d);
}
static void overwrite_in_place(const char *path) {
  static char other[100000];
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  const ssize_t n = write(fd, memset(other, 0x0f, sizeof other), sizeof other);
  close(fd);
  ck_assert_int_eq(n, (ssize_t)sizeof other);
}
static void cut_to_nothing(const char *path) { ck_assert_int_eq(truncate(path, 0), 0); }

/* What was checked is what runs, whatever is done to its file later. */
START_TEST(files_change_while_in_use) {
  char *cache = own_cache(helper_path());
  sample *s = one_shape();
  ask(s->type);
  ck_assert(settles(60));
  ck_assert_int_eq(count_text(s->type, "tier 2"), 2);
  for_each_kernel(cache, overwrite_in_place), moves_well(s);
  for_each_kernel(cache, cut_to_nothing), moves_well(s);
  sample_free(s);
  drop_cache(cache);
}
END_TEST

/* The verdict of a kernel: not to be used. */
static void judge_useless(const char *path) {
  static char file[LDG_CACHE_FILE_MAX] __attribute__((aligned(8)));
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  const int64_t n = read(fd, file, sizeof file);
  ldg_cache_tail *tail = (ldg_cache_tail *)(void *)(file + n - (int64_t)sizeof *tail);
  tail->least = INT64_MAX, tail->sum = ldg_cache_sum(file, n - 8);
  ck_assert_int_eq(pwrite(fd, file, (size_t)n, 0), n);
  close(fd);
}

static int runnable_mappings(void) {
  char line[4400];
  int n = 0;
  FILE *f = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, f)) n += strstr(line, " r-xp ") != NULL;
  fclose(f);
  return n;
}

/* Types come and go, and their kernel is found, and found useless, each time: nothing of it stays. */
START_TEST(useless_kernels_leave_no_mapping) {
  char *cache = own_cache(NO_HELPER), mem[2400] = "", packed[1300];
  ck_assert_int_eq(in_a_process(helper_path(), "jit"), 2);
  for_each_kernel(cache, judge_useless);
  unsetenv("LADING_FORCE");
  const int before = runnable_mappings();
  for (int i = 0; i < 20; i++) {
    sample *s = one_shape();
    for (int k = 0; k < 400; k++) ck_assert_int_eq(lading_pack(s->type, 100, mem, packed, 0, 1300), LADING_OK);
    ck_assert_int_eq(count_text(s->type, "before its shape is looked at"), 1); /* unpack's, not pack's */
    ck_assert_int_eq(count_text(s->type, "tier 2"), 0);
    sample_free(s);
  }
  ck_assert_int_eq(runnable_mappings(), before);
  drop_cache(cache);
}
END_TEST

/* ---- the host ---- */

static _Atomic int children_heard;
static void hear(int sig) { (void)sig, children_heard++; }

START_TEST(host_hears_of_no_child) {
  char *cache = own_cache(helper_path());
  struct sigaction act = { .sa_handler = hear };
  sigaction(SIGCHLD, &act, NULL);
  sample *s = one_shape();
  ask(s->type);
  ck_assert(!ldg_jit_settled());
  for (int i = 0; i < 20000; i++) { /* while it is at work, and when it has ended */
    ck_assert(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
    if (ldg_jit_settled()) break;
    pause_ms(1);
  }
  ck_assert(settles(60));
  ck_assert_int_eq(count_text(s->type, "tier 2"), 2);
  ck_assert_int_eq(children_heard, 0);
  ck_assert(waitpid(-1, NULL, WNOHANG | __WALL) == -1 && errno == ECHILD);
  moves_well(s);
  sample_free(s);
  drop_cache(cache);
}
END_TEST

/* Who is heir to orphans would hear of the helper: it starts none, and uses what is in the cache. */
START_TEST(heirs_start_no_helper) {
  char *cache = own_cache(helper_path());
  struct sigaction act = { .sa_handler = hear };
  ck_assert_int_eq(in_a_process(helper_path(), "jit"), 2);
  ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  sigaction(SIGCHLD, &act, NULL);
  sample *s = one_shape(), *other = s_resized(s_hindexed(2, LIST(3, 5), LIST(0, 8), s_elem(LADING_BYTE)), 0, 24);
  ask(s->type), ask(other->type);
  ck_assert(settles(5));
  ck_assert_int_eq(count_text(s->type, "tier 2"), 2);
  ck_assert_int_eq(count_text(other->type, "is init or a subreaper"), 2);
  ck_assert(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
  ck_assert_int_eq(children_heard, 0);
  moves_well(s), moves_well(other);
  sample_free(s), sample_free(other);
  drop_cache(cache);
}
END_TEST

START_TEST(type_freed_while_compiling) {
  char *cache = own_cache(helper_path());
  sample *s = one_shape();
  ask(s->type);
  ck_assert(!ldg_jit_settled());
  sample_free(s);
  ck_assert(settles(60));
  s = one_shape();
  ask(s->type);
  ck_assert_int_eq(count_text(s->type, "tier 2"), 2);
  moves_well(s);
  sample_free(s);
  drop_cache(cache);
}
END_TEST

START_TEST(fork_while_compiling) {
  char *cache = own_cache(helper_path());
  sample *s = one_shape();
  ask(s->type);
  ck_assert(!ldg_jit_settled());
  fflush(NULL);
  const pid_t pid = fork();
  const bool settled = settles(60);
  moves_well(s);
  const int kernels = count_text(s->type, "tier 2");
  if (pid == 0) _exit(settled && kernels == 2 ? 7 : 0);
  int status = 0;
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 7, "the child has status %x", status);
  ck_assert(settled && kernels == 2);
  sample_free(s);
  drop_cache(cache);
}
END_TEST

/* The process that asked is gone; the next one has the kernel for pack, which was at work. The other waited in that process. */
START_TEST(exit_while_compiling) {
  char *cache = own_cache(helper_path());
  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0) {
    ask(one_shape()->type);
    _exit(0);
  }
  ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
  int got = 0;
  for (int i = 0; i < 200 && got < 1; i++) pause_ms(50), got = in_a_process(NO_HELPER, "jit");
  ck_assert_int_eq(got, 1);
  drop_cache(cache);
}
END_TEST

/* Many more shapes than there are slots; helpers never meet each other. */
START_TEST(ten_thousand_shapes) {
  enum { SHAPES = TEST_ASAN || TEST_TSAN ? 500 : 10000 };
  char lines[1024], met[64];
  snprintf(met, sizeof met, "/tmp/lading-test-met-%ld", (long)getpid());
  snprintf(lines, sizeof lines, "mkdir %s.lock || touch %s\nfor i in \"$@\"; do echo \"$i\" >> %s.keys; done\nrmdir %s.lock\n", met, met, met, met);
  const char *helper = script(lines);
  char *cache = own_cache(helper);
  const int64_t live = ldg_alloc_live();
  for (int64_t i = 0; i < SHAPES; i++) {
    lading_type *t, *u;
    ck_assert_int_eq(lading_type_hindexed(2, LIST(1 + i % 50, 7), LIST(0, 100 + i / 50), lading_elem_type(LADING_BYTE), &t), LADING_OK);
    ck_assert_int_eq(lading_type_hvector(20, 1, 400, t, &u), LADING_OK);
    ask(u);
    lading_type_free(t), lading_type_free(u);
  }
  ck_assert(settles(60));
  ck_assert_int_eq(ldg_alloc_live(), live);
  ck_assert_msg(access(met, F_OK) != 0, "two helpers met");
  snprintf(lines, sizeof lines, "rm -rf %s.lock; test $(wc -l < %s.keys) -le 300", met, met); /* each key once, and the words before them */
  ck_assert_int_eq(system(lines), 0);
  snprintf(lines, sizeof lines, "%s.keys", met);
  unlink(lines), unlink(met), unlink(helper);
  drop_cache(cache);
}
END_TEST

/* ---- tiers ---- */

/* Nothing is compiled before it has paid for itself, and explain says so. */
START_TEST(cold_types_stay_as_they_are) {
  char *cache = own_cache(NO_HELPER), mem[2400] = "", packed[1300];
  unsetenv("LADING_FORCE");
  sample *s = one_shape();
  for (int i = 0; i < 400; i++) ck_assert_int_eq(lading_pack(s->type, 100, mem, packed, 0, 1300), LADING_OK);
  ck_assert(ldg_jit_settled()); /* nothing was asked for */
  ck_assert_int_gt(count_text(s->type, "counting"), 0);
  ck_assert_int_gt(count_text(s->type, "before its shape is looked at"), 0);
  ck_assert_int_eq(count_text(s->type, "no kernel came"), 0);
  sample_free(s);
  drop_cache(cache);
}
END_TEST

/* It takes as many bytes as a compilation is worth, which is long for instrumented kernels. */
START_TEST(hot_types_get_a_kernel) {
  if (TEST_ASAN || TEST_TSAN) return;
  char *cache = own_cache(helper_path()), mem[9600] = "", packed[6100];
  unsetenv("LADING_FORCE");
  lading_type *t = parsed("struct([1,1,1,3,1,2,1,1,5,1,1,1],[0,8,16,20,32,40,48,56,64,72,80,88],[int,double,char,char,double,int16,int,double,char,int,float,double])");
  for (int64_t i = 0; i < 3000000 && !count_text(t, "tier 2"); i++)
    for (int k = 0; k < 5000; k++) ck_assert_int_eq(lading_pack(t, 100, mem, packed, 0, 6100), LADING_OK);
  ck_assert_int_eq(count_text(t, "tier 2"), 1); /* unpack is as cold as ever */
  lading_type_free(t);
  drop_cache(cache);
}
END_TEST

START_TEST(off_is_off) {
  char *cache = own_cache("off");
  ck_assert_int_eq(in_a_process("off", "jit"), 0);
  ck_assert_int_eq(in_a_process(helper_path(), "walk"), 0);
  sample *s = one_shape();
  ask(s->type), moves_well(s);
  ck_assert_int_eq(count_text(s->type, "tier "), 0); /* no job is wrapped */
  sample_free(s);
  drop_cache(cache);
}
END_TEST

/* ---- the tool ---- */

static int tool(const char *what, char *out, int64_t cap) {
  char line[4600];
  snprintf(line, sizeof line, "%s %s 2>&1", helper_path(), what);
  FILE *p = popen(line, "r");
  const size_t n = fread(out, 1, (size_t)cap - 1, p);
  out[n] = 0;
  return pclose(p);
}

static int files_named(const char *folder, const char *end, const char *says) {
  char path[4600];
  static char text[1 << 20];
  int n = 0;
  DIR *d = opendir(folder);
  for (struct dirent *e; (e = readdir(d));) {
    if (strlen(e->d_name) < strlen(end) || strcmp(e->d_name + strlen(e->d_name) - strlen(end), end) != 0) continue;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    FILE *f = fopen(path, "r");
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    n += strstr(text, says) != NULL;
  }
  closedir(d);
  return n;
}

START_TEST(warm_list_clear_and_dump) {
  static char out[1 << 16];
  char *cache = own_cache(helper_path());
  setenv("LADING_DUMP", "jit", 1);
  ck_assert_int_eq(tool("warm 'struct([1,1,1],[0,8,16],[int,double,char])'", out, sizeof out), 0);
  ck_assert_int_eq(tool("list", out, sizeof out), 0);
  ck_assert_msg(strstr(out, "0>0:4 8>4:9") && strstr(out, "0>0:4 4>8:9"), "pack and unpack are not listed: %s", out);
  ck_assert_int_eq(in_a_process(NO_HELPER, "jit"), 2);
  ck_assert_int_ge(files_named(cache, ".txt", "ldg_j_"), 2);
  ck_assert_int_ge(files_named(cache, ".c", "gcc_jit_context_acquire"), 2); /* a program that makes it again */
  ck_assert_int_eq(tool("clear", out, sizeof out), 0);
  ck_assert_int_eq(files_named(cache, ".so", ""), 0);
  ck_assert_int_eq(in_a_process(NO_HELPER, "jit"), 0);
  ck_assert_int_ne(tool("compile -- 'v3 * 0>0:4 2>2:4'", out, sizeof out), 0); /* fields that overlap */
  ck_assert_int_ne(tool("compile -- nonsense", out, sizeof out), 0);
  ck_assert_int_ne(tool("warm nonsense", out, sizeof out), 0);
  ck_assert_int_ne(tool("", out, sizeof out), 0);
  drop_cache(cache);
}
END_TEST

static int64_t kernel_inode;
static void note_inode(const char *path) {
  struct stat st;
  ck_assert_int_eq(stat(path, &st), 0);
  kernel_inode = (int64_t)st.st_ino;
}

/* Helpers of many processes take turns: one that does not get its turn ends, one that got it looks what has come meanwhile. */
START_TEST(helpers_take_turns) {
  static char out[1 << 16];
  const char *compile = "compile -- 'base * 0>0:4 8>4:9'";
  char *cache = own_cache(helper_path()), path[4096];
  snprintf(path, sizeof path, "%s/.lock", cache);
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ck_assert_int_eq(flock(fd, LOCK_EX), 0);
  setenv("LADING_JIT_LIMIT", "1", 1);
  ck_assert_int_ne(tool(compile, out, sizeof out), 0);
  ck_assert_int_eq(files_named(cache, ".so", ""), 0);
  setenv("LADING_JIT_LIMIT", "20", 1);
  close(fd);
  ck_assert_int_eq(tool(compile, out, sizeof out), 0);
  ck_assert_int_eq(files_named(cache, ".so", ""), 1);
  for_each_kernel(cache, note_inode);
  const int64_t first = kernel_inode;
  ck_assert_int_eq(tool(compile, out, sizeof out), 0);
  for_each_kernel(cache, note_inode);
  ck_assert_int_eq(kernel_inode, first);
  drop_cache(cache);
}
END_TEST

/* ---- threads ---- */

typedef struct crew { const sample *s; _Atomic bool stop; } crew;
static void *pack_on(void *arg) {
  const crew *c = arg;
  char mem[2400], packed[1300], *base = mem;
  for (int i = 0; i < 2400; i++) mem[i] = (char)(i * 7);
  for (int64_t n = 0; !c->stop; n++) {
    memset(packed, 0, sizeof packed);
    if (lading_pack(c->s->type, 100, base, packed, 0, 1300)) return arg;
    for (int i = 0; i < 100; i += 9)
      if (memcmp(packed + 13 * i, mem + 24 * i, 4) || memcmp(packed + 13 * i + 4, mem + 24 * i + 8, 9)) return arg;
  }
  return NULL;
}

START_TEST(threads_while_a_kernel_comes) {
  char *cache = own_cache(helper_path());
  pthread_t thread[3];
  void *wrong;
  sample *s = one_shape();
  crew c = { s, false };
  for (int i = 0; i < 3; i++) ck_assert_int_eq(pthread_create(&thread[i], NULL, pack_on, &c), 0);
  int got = 0;
  for (int i = 0; i < 3000 && !got; i++) pause_ms(10), got = count_text(s->type, "tier 2"); /* the threads themselves ask for it, and take it */
  pause_ms(50);
  c.stop = true;
  for (int i = 0; i < 3; i++) {
    pthread_join(thread[i], &wrong);
    ck_assert_ptr_null(wrong);
  }
  ck_assert_int_eq(got, 1);
  sample_free(s);
  drop_cache(cache);
}
END_TEST

int main(int argc, char **argv) {
  if (!helper_path()) return puts("lading-jit was not built"), 77;
  return CHECK_MAIN("jit_faults", argc, argv, helper_missing, helper_fails, helper_crashes, helper_hangs, helper_hangs_for_good, files_that_are_spoiled,
                    every_bit_counts, folders_that_others_write, no_place_for_a_cache, disk_full, files_change_while_in_use,
                    useless_kernels_leave_no_mapping, processes_race, host_hears_of_no_child, heirs_start_no_helper,
                    type_freed_while_compiling, fork_while_compiling, exit_while_compiling, ten_thousand_shapes, cold_types_stay_as_they_are,
                    hot_types_get_a_kernel, off_is_off, warm_list_clear_and_dump, helpers_take_turns, threads_while_a_kernel_comes);
}
