/* jit_faults: whatever becomes of the helper or of the process, data is moved as ever and nobody notices a child. */
#define _GNU_SOURCE
#include "jit_tools.h"

#include "base_model.h"
#include "gccjit/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

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
START_TEST(helper_fails) { comes_to_nothing("/bin/false", "not in the cache", 60); }
END_TEST
START_TEST(helper_crashes) {
  const char *path = script("kill -SEGV $$");
  comes_to_nothing(path, "not in the cache", 60);
  drop_own_files();
}
END_TEST

/* Its end counts, whoever has the pipe open still: a process that was forked while it was started. */
START_TEST(helper_leaves_someone) {
  const char *path = script("sleep 15 &");
  setenv("LADING_JIT_LIMIT", "1", 1);
  comes_to_nothing(path, "not in the cache", 60);
  drop_own_files();
}
END_TEST

/* It ends itself by its limits. */
START_TEST(helper_hangs) {
  char lines[4200];
  snprintf(lines, sizeof lines, "exec %s limits", helper_path());
  const char *path = script(lines);
  setenv("LADING_JIT_LIMIT", "1", 1);
  comes_to_nothing(path, "not in the cache", 60);
  drop_own_files();
}
END_TEST

static bool is_gone(pid_t pid) {
  char path[64], state = 'Z'; /* gone but for the note that init has not read */
  snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
  FILE *f = fopen(path, "r");
  if (!f) return true;
  const int got = fscanf(f, "%*d %*s %c", &state);
  fclose(f);
  return got < 1 || state == 'Z';
}

/* One that has no limits is ended, with what it started. */
START_TEST(helper_hangs_for_good) {
  char lines[256], note[OWN_PATH], text[64];
  snprintf(lines, sizeof lines, "sleep 80 &\necho $$ $! > %s\nexec sleep 80", own_file("pids", note));
  const char *path = script(lines);
  setenv("LADING_JIT_LIMIT", "1", 1);
  comes_to_nothing(path, "did not end in time", 60); /* it is waited for 9 s, two shapes and the lock */
  long pid[2] = { 0, 0 };
  FILE *f = fopen(note, "r");
  ck_assert(fgets(text, sizeof text, f) && sscanf(text, "%ld %ld", &pid[0], &pid[1]) == 2);
  fclose(f);
  for (int i = 0; i < 2; i++) {
    for (int k = 0; k < 500 && !is_gone((pid_t)pid[i]); k++) pause_ms(10);
    ck_assert_msg(is_gone((pid_t)pid[i]), "process %d of the helper is still there", i);
  }
  drop_own_files();
}
END_TEST

/* What held it up has gone. */
static void comes_when_asked(sample *s, char *cache) {
  ask(s->type);
  ck_assert(settles(60));
  ck_assert_int_eq(count_text(s->type, "tier 2"), 2);
  moves_well(s);
  sample_free(s);
  drop_cache(cache);
}

/* A host that has no descriptor to spare for a while does without a kernel for that while only. */
START_TEST(no_descriptors_for_a_while) {
  char *cache = own_cache(helper_path());
  int fd[1024], n = 0;
  setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 256, 256 });
  sample *s = one_shape();
  while (n < 1024 && (fd[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) n++;
  for (int i = 0; i < 6; i++) { /* more often than a helper may fail */
    ask(s->type);
    ck_assert(settles(5));
    ck_assert_int_eq(count_text(s->type, "counting"), 2);
  }
  while (n > 0) close(fd[--n]);
  comes_when_asked(s, cache);
}
END_TEST

/* The helper, by whose limit alone it ends. */
static const char *helper_of(int seconds) {
  char lines[4200];
  snprintf(lines, sizeof lines, "export LADING_JIT_LIMIT=%d\nexec %s \"$@\"", seconds, helper_path());
  return script(lines);
}

/* Who does not get his turn in time goes without a kernel for that while only, however often that happens. */
START_TEST(others_have_the_lock) {
  const char *helper = helper_of(1);
  char *cache = own_cache(helper), path[4096];
  snprintf(path, sizeof path, "%s/.lock", cache);
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ck_assert_int_eq(flock(fd, LOCK_EX), 0);
  sample *s = one_shape();
  for (int i = 0; i < 5; i++) {
    ask(s->type);
    ck_assert(settles(20));
    ck_assert_int_eq(count_text(s->type, "tier 2"), 0);
    ck_assert_int_eq(count_text(s->type, "counting"), 2);
    ck_assert_int_eq(count_text(s->type, "other processes have theirs made"), 2);
  }
  close(fd);
  helper_of(20); /* a second is little for an instrumented one */
  comes_when_asked(s, cache);
  drop_own_files();
}
END_TEST

/* As a full disk: no file of the helper can grow beyond some bytes. Not of this process: Check's notes are a file, too. */
START_TEST(disk_full) {
  char lines[4200];
  snprintf(lines, sizeof lines, "ulimit -f 5\nexec %s \"$@\"", helper_path());
  const char *helper = script(lines);
  char *cache = own_cache(helper);
  sample *s = one_shape();
  ask(s->type), moves_well(s);
  ck_assert(settles(60));
  ask(s->type), moves_well(s);
  ck_assert_int_eq(count_text(s->type, "tier 2"), 0);
  nothing_left(cache);
  sample_free(s);
  drop_own_files();
  drop_cache(cache);
}
END_TEST

/* ---- the host ---- */

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

/* The library of a helper that was preloaded into the host, and what is the host's own, do not reach it. */
START_TEST(helper_knows_little_of_the_host) {
  char lines[256], note[OWN_PATH], text[64] = "";
  own_file("env", note);
  snprintf(lines, sizeof lines, "test -e /proc/$$/fd/77 && OPEN=open\necho \"$OPEN$LD_PRELOAD$LD_AUDIT$COMPILER_PATH$SECRET.$LADING_CACHE.$PATH.\" > %s; exit 1", note);
  const char *path = script(lines);
  if (LDG_SPAWN_CLOSES) ck_assert_int_eq(dup2(0, 77), 77); /* which an exec does not close */
  setenv("COMPILER_PATH", "/nonexistent", 1), setenv("SECRET", "x", 1), setenv("LD_PRELOAD", "liblading-none.so", 1);
  comes_to_nothing(path, "not in the cache", 60);
  FILE *f = fopen(note, "r");
  ck_assert(fgets(text, sizeof text, f));
  fclose(f);
  ck_assert_msg(!strncmp(text, "./tmp/lading-test-jit-", 22) && strchr(text + 2, '.'), "it was told '%s'", text);
  unsetenv("LD_PRELOAD");
  drop_own_files();
}
END_TEST

/* The host may change its environment between its calls: no thread of ours reads it then. This is instead of the C library's. */
static _Atomic int strangers;
char *getenv(const char *name) {
  const size_t n = strlen(name);
  if ((long)gettid() != (long)getpid()) strangers++;
  for (char **e = environ; e && *e; e++)
    if (!strncmp(*e, name, n) && (*e)[n] == '=') return *e + n + 1;
  return NULL;
}

START_TEST(environment_is_read_in_calls) {
  char *cache = own_cache(helper_path());
  sample *s = one_shape();
  ask(s->type);
  ck_assert(settles(60));
  ck_assert_int_eq(count_text(s->type, "tier 2"), 2);
  ck_assert_int_eq(strangers, 0);
  sample_free(s);
  drop_cache(cache);
}
END_TEST

/* The core that the caller computes on is not the helper's only one. */
START_TEST(helper_is_not_bound) {
  char lines[256], note[OWN_PATH], text[256] = "";
  cpu_set_t before, one;
  int cpu = 0;
  ck_assert_int_eq(sched_getaffinity(0, sizeof before, &before), 0);
  if (CPU_COUNT(&before) < 2) return;
  while (!CPU_ISSET(cpu, &before)) cpu++;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
  snprintf(lines, sizeof lines, "nproc > %s; exit 1", own_file("cpus", note));
  const char *path = script(lines);
  comes_to_nothing(path, "not in the cache", 60);
  FILE *f = fopen(note, "r");
  ck_assert(fgets(text, sizeof text, f));
  fclose(f);
  ck_assert_msg(atoi(text) > 1, "it has %s processors", text);
  drop_own_files();
}
END_TEST

/* A thread that is cancelled while it moves data is so elsewhere: nothing in there ends it half-way. */
static void *cancelled(void *arg) {
  const lading_type *t = arg;
  char mem[2400] = "", packed[1300];
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  pthread_cancel(pthread_self());
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
  for (int i = 0; i < 50; i++) lading_pack(t, 100, mem, packed, 0, 1300);
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  return arg;
}

START_TEST(no_call_is_cancelled) {
  char *cache = own_cache(helper_path());
  pthread_t thread;
  void *got;
  sample *s = one_shape();
  ck_assert_int_eq(lading_type_commit(s->type), LADING_OK); /* whose first call in a process may read the model */
  ck_assert_int_eq(pthread_create(&thread, NULL, cancelled, s->type), 0);
  ck_assert_int_eq(pthread_join(thread, &got), 0);
  ck_assert_ptr_eq(got, s->type);
  ask(s->type);
  ck_assert(settles(60));
  ck_assert_int_eq(count_text(s->type, "tier 2"), 2);
  sample_free(s);
  drop_cache(cache);
}
END_TEST

/* A host that has no memory for a thread when a shape is to be looked at has it looked at later, by no more than calls. */
START_TEST(no_thread_for_a_while) {
  if (TEST_ASAN || TEST_TSAN) return; /* they need memory all the time */
  char *cache = own_cache(helper_path()), mem[2400] = "", packed[1300];
  struct rlimit before;
  sample *s = one_shape();
  const ldg_plan *p;
  ck_assert_int_eq(ldg_api_plan(s->type, &p), LADING_OK);
  ck_assert_int_eq(getrlimit(RLIMIT_AS, &before), 0);
  ck_assert_int_eq(setrlimit(RLIMIT_AS, &(struct rlimit){ 1 << 20, before.rlim_max }), 0);
  ck_assert_int_eq(lading_pack(s->type, 100, mem, packed, 0, 1300), LADING_OK);
  ck_assert_int_eq(setrlimit(RLIMIT_AS, &before), 0);
  pause_ms(20);
  ck_assert_int_eq(count_text(s->type, "before one of its own is looked for"), 2);
  for (int i = 0; i < 2 * LDG_HOT_LOOK / 1300; i++) ck_assert_int_eq(lading_pack(s->type, 100, mem, packed, 0, 1300), LADING_OK);
  for (int i = 0; i < 500 && count_text(s->type, "before one of its own is looked for") > 1; i++) pause_ms(10);
  ck_assert_int_eq(count_text(s->type, "before one of its own is looked for"), 1);
  ck_assert(settles(60));
  sample_free(s);
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

#if TEST_TSAN /* it takes a process that was forked by one with threads for one that will have none */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "die_after_fork=0"; }
#endif

START_TEST(fork_while_compiling) {
  char *cache = own_cache(helper_path());
  sample *s = one_shape();
  ask(s->type);
  for (int i = 0; i < 5000 && !count_text(s->type, "is being compiled"); i++) pause_ms(1);
  ck_assert_int_gt(count_text(s->type, "is being compiled"), 0);
  fflush(NULL);
  if (TEST_ASAN || TEST_TSAN) pause_ms(100); /* until nobody is in their allocators: they have no care for that at a fork */
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

/* The process that asked is gone; the next one has the kernel for pack, which was at work, and the other if it was asked for in the same go. */
START_TEST(exit_while_compiling) {
  char *cache = own_cache(helper_path()), lock[4096];
  snprintf(lock, sizeof lock, "%s/.lock", cache);
  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0) {
    ask(one_shape()->type);
    for (int i = 0; i < 2000 && access(lock, F_OK); i++) pause_ms(1); /* until the helper is there */
    _exit(0);
  }
  ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
  int got = 0;
  for (int i = 0; i < 200 && got < 1; i++) pause_ms(50), got = in_a_process(NO_HELPER, "jit");
  ck_assert_int_ge(got, 1);
  const int fd = open(lock, O_RDWR | O_CLOEXEC);
  flock(fd, LOCK_EX); /* until the helper that nobody waits for has ended */
  close(fd);
  drop_cache(cache);
}
END_TEST

/* Many more shapes than there are slots; helpers never meet each other. */
START_TEST(ten_thousand_shapes) {
  enum { SHAPES = TEST_ASAN || TEST_TSAN ? 500 : 10000 };
  char lines[1024], met[OWN_PATH];
  own_file("met", met);
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
  snprintf(lines, sizeof lines, "test $(wc -l < %s.keys) -le 300", met); /* each key once, and the words before them */
  ck_assert_int_eq(system(lines), 0);
  drop_own_files();
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
  ck_assert(settles(5)); /* it was looked for, and not asked for */
  ck_assert_int_gt(count_text(s->type, "counting"), 0);
  ck_assert_int_gt(count_text(s->type, "before one of its own is looked for"), 0);
  ck_assert_int_eq(count_text(s->type, "no kernel came"), 0);
  sample_free(s);
  drop_cache(cache);
}
END_TEST

/* Whether a kernel is as fast as it could be is for the helper to say: these are no more than counted before they are asked for. */
START_TEST(shapes_are_hoped_for) {
  static char mem[100 * 440], packed[100 * 400];
  static const struct { const char *type; int64_t n, size; } hopes[] = {
    { "resized(struct([1,9,9],[0,8,404],[float,resized(contiguous(10,float),0,44),float]),0,440)", 100, 400 },
    { "resized(contiguous(23,float),0,128)", 192, 92 },
  };
  char *cache = own_cache(NO_HELPER);
  ldg_model m = ldg_model_builtin();
  m.number[LDG_MODEL_WRITTEN] = 0; /* or the second one would rather ask for lines */
  ldg_model_use(&m);
  unsetenv("LADING_FORCE");
  for (int64_t i = 0; i < COUNT_OF(hopes); i++) {
    lading_type *t = parsed(hopes[i].type);
    for (int k = 0; k < 20; k++) ck_assert_int_eq(lading_pack(t, hopes[i].n, mem, packed, 0, hopes[i].n * hopes[i].size), LADING_OK);
    ck_assert(settles(5)); /* it is not in the cache */
    ck_assert_msg(count_text(t, "counting") == 1, "%s: nothing is hoped for", hopes[i].type);
    lading_type_free(t);
  }
  ldg_model_use(NULL);
  drop_cache(cache);
}
END_TEST

/* What is asked for comes, whatever it gains: also after it was found that it gains nothing. */
START_TEST(who_asks_gets_it) {
  char *cache = own_cache(helper_path());
  const ldg_shape shape = { .reduce = { .size = 1 }, .stride = { 24, 13 }, .n = 2, .field = { { 0, 0, 4 }, { 8, 4, 9 } } };
  ldg_slot *slot;
  unsetenv("LADING_FORCE");
  ck_assert_ptr_null(ldg_jit_slot(&shape, 0, 0, &slot));
  ck_assert(settles(20));
  ck_assert(!ldg_jit_moved(slot, 1 << 30)); /* nothing is to be expected of it */
  ldg_jit_ask(slot);
  ck_assert(!ldg_jit_settled());
  ck_assert(settles(60));
  char text[4096];
  ldg_text t;
  ldg_text_init(&t, text, sizeof text);
  ldg_jit_explain(slot, &t);
  ck_assert_msg(strstr(text, "tier 2") || strstr(text, "its kernel is no faster"), "%s", text);
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

/* 10 KB a call, by a shape of its own for each i. What explain says then of pack. */
static bool says_after(int64_t i, int calls, const char *what) {
  static char mem[40 * 1000 + 8], packed[10 * 1000]; /* of the last shapes an item ends up to 2 bytes behind where the next one begins */
  lading_type *t, *u;
  ck_assert_int_eq(lading_type_hindexed(3, LIST(1 + i % 4, 6 - i % 4, 3), LIST(0, 8 + i / 4 % 3, 17 + i / 12), lading_elem_type(LADING_BYTE), &u), LADING_OK);
  ck_assert_int_eq(lading_type_resized(u, 0, 40, &t), LADING_OK);
  for (int k = 0; k < calls; k++) ck_assert_int_eq(lading_pack(t, 1000, mem, packed, 0, 10 * 1000), LADING_OK);
  ck_assert(settles(5));
  const bool says = count_text(t, what) > 0;
  lading_type_free(t), lading_type_free(u);
  return says;
}

/* Half of the table is kept for what moves much. */
START_TEST(shapes_that_move_little_leave_room) {
  enum { FIRST = 256, FEW = 30, MANY = 100000 };
  char *cache = own_cache(NO_HELPER);
  ldg_model m = ldg_model_builtin(); /* of a machine on which kernels could gain much */
  for (size_t i = 0; i < sizeof m.block / sizeof *m.block; i++) m.block[i] *= 10;
  for (size_t i = 0; i < sizeof m.list / sizeof *m.list; i++) m.list[i] *= 10;
  ldg_model_use(&m);
  unsetenv("LADING_FORCE"), setenv("LADING_ISA", "base", 1);
  for (int64_t i = 0; i < FIRST; i++) ck_assert(says_after(i, FEW, "counting"));
  for (int64_t i = FIRST; i < FIRST + 9; i++) ck_assert(says_after(i, FEW, "no room for shapes that little is moved by"));
  if (!TEST_TSAN && !TEST_ASAN) /* it takes half a minute there */
    ck_assert(!says_after(FIRST, MANY, "no room for shapes that little is moved by"));
  ldg_model_use(NULL);
  drop_cache(cache);
}
END_TEST

START_TEST(off_is_off) {
  char *cache = own_cache("off");
  const char *const off[] = { "off", "0", "no", "bin/lading-jit" };
  for (int i = 0; i < COUNT_OF(off); i++) ck_assert_int_eq(in_a_process(off[i], "jit"), 0);
  ck_assert_int_eq(in_a_process(helper_path(), "walk"), 0);
  sample *s = one_shape();
  ask(s->type), moves_well(s);
  ck_assert_int_eq(count_text(s->type, "tier "), 0); /* no job is wrapped */
  sample_free(s);
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
  return CHECK_MAIN("jit_faults", argc, argv, others_have_the_lock, disk_full, helper_missing, helper_fails, helper_crashes, helper_leaves_someone, helper_hangs, helper_hangs_for_good, processes_race, host_hears_of_no_child,
                    heirs_start_no_helper, no_descriptors_for_a_while, helper_knows_little_of_the_host, helper_is_not_bound, environment_is_read_in_calls, no_call_is_cancelled, no_thread_for_a_while, type_freed_while_compiling, fork_while_compiling, exit_while_compiling, ten_thousand_shapes, cold_types_stay_as_they_are,
                    who_asks_gets_it, hot_types_get_a_kernel, shapes_are_hoped_for, shapes_that_move_little_leave_room, off_is_off, threads_while_a_kernel_comes);
}
