/* lading-jit: compiles kernels for the library, which starts it and never waits for it, and looks after the cache. */
#define _GNU_SOURCE
#include "store.h"

#include "api.h"
#include "plan_jit.h"
#include "plan_pair.h"
#if LADING_JIT_SUITES
#include "problem.h"
#endif

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
  "usage: lading-jit compile [--] KEY...     makes these kernels, one after the other\n"
  "       lading-jit warm WHAT...            makes the kernels that pack and unpack a TYPE, or all of a SUITE (.suite) of lbench's,\n"
  "                                          and those of copies: 'TYPE | TYPE', or all of a file of lbench's pairs (.pairs);\n"
  "                                          of reductions: 'TYPE | TYPE | OP', either may be - for packed bytes; OP: sum prod min\n"
  "                                          max land lor lxor band bor bxor; a line of a file of pairs may also end in | OP\n"
  "       lading-jit list                    the kernels in the cache\n"
  "       lading-jit clear                   removes them\n"
  "       lading-jit limits                  does nothing until it is ended by its own limits; for tests\n"
  "       lading-jit path                    says where the cache is\n"
  "Environment: LADING_CACHE, LADING_ISA, LADING_DUMP=jit, LADING_JIT_LIMIT, LADING_VERBOSE.\n";

#define LOCKED 3 /* exit status */

static int refuse(const char *what, const char *why) {
  fprintf(stderr, "lading-jit: %s: %s\n", what, why);
  return 1;
}

/* ---- limits ---- */

static unsigned int limit_seconds(void) { return (unsigned int)ldg_cache_limit(); }

static void limit(int what, rlim_t most) {
  struct rlimit r;
  if (getrlimit(what, &r)) return;
  if (r.rlim_cur == RLIM_INFINITY || r.rlim_cur > most) r.rlim_cur = most;
  setrlimit(what, &r);
}

#define MEMORY (INT64_C(2) << 30)
#define FILE_BYTES (16 << 20)

/* The processors and the class of the thread that asked are not ours: it computes there. */
static void make_way(void) {
  const struct sched_param none = { 0 };
  cpu_set_t all;
  memset(&all, 0xff, sizeof all);
  sched_setaffinity(0, sizeof all, &all);
  sched_setscheduler(0, SCHED_BATCH, &none);
  if (getpriority(PRIO_PROCESS, 0) < 10) setpriority(PRIO_PROCESS, 0, 10);
}

/* Time, memory, files, and the others first. The alarm also ends what hangs without using time. */
static void limit_myself(void) {
  const unsigned int seconds = limit_seconds();
  signal(SIGALRM, SIG_DFL), signal(SIGXFSZ, SIG_IGN);
  alarm(seconds);
  limit(RLIMIT_CPU, seconds);
#if !LADING_JIT_SANITIZED /* shadow memory is address space, too */
  limit(RLIMIT_AS, MEMORY);
#endif
  limit(RLIMIT_FSIZE, FILE_BYTES), limit(RLIMIT_CORE, 0);
  make_way();
}

/* ---- compile ---- */

static int compile_one(const char *key, const char *scratch) {
  const char *why;
  const char *dump = ldg_option_get(LDG_OPT_DUMP);
  char level[16];
  snprintf(level, sizeof level, "%.*s", (int)strcspn(key, " "), key);
  setenv("LADING_ISA", level, 1); /* it is timed against what the library does at its level */
  setenv("TMPDIR", scratch, 1);
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  limit_myself();
  const int dir = store_open(&why);
  if (dir < 0) return refuse("the cache", why);
  why = store_kernel(dir, scratch, key, dump && !strcmp(dump, "jit"));
  return why ? refuse(key, why) : 0;
}

/* With all that it started: an assembler that hangs is not ended by the alarm. */
static int end_group(pid_t pid) {
  int status = 1;
  siginfo_t ended;
  while (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) { }
  kill(-pid, SIGKILL);
  return waitpid(pid, &status, 0) == pid ? status : 1;
}

/* In a process of its own, in which a compiler may crash or be ended; whatever it leaves is removed. */
static int compile_apart(const char *key) {
  char scratch[STORE_PATH];
  if (!store_scratch(scratch)) return refuse(key, "no folder for the compiler");
  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0) _exit(compile_one(key, scratch));
  const int status = pid > 0 ? end_group(pid) : 1;
  if (WIFSIGNALED(status)) refuse(key, strsignal(WTERMSIG(status)));
  store_scratch_remove(scratch);
  return status != 0;
}

/* The host is no parent who could be told by an exit status. */
static void give_up(int sig) {
  const char word = LDG_JIT_LOCKED;
  (void)sig;
  _exit(write(1, &word, 1) == 1 ? LOCKED : 1);
}

/* One compiler for all processes of a user. Who waited finds what the others made; who waited too long ends, and his host asks again. */
static int lock(int dir) {
  signal(SIGALRM, give_up);
  alarm(limit_seconds());
  const int fd = store_lock(dir);
  alarm(0);
  signal(SIGALRM, SIG_DFL);
  return fd;
}

static int compile(int n, char **key) {
  const char *why, *dump = ldg_option_get(LDG_OPT_DUMP);
  int bad = 0;
  make_way();
  const int dir = store_open(&why);
  if (dir < 0) return refuse("the cache", why);
  const int locked = lock(dir);
  for (int i = 0; i < n; i++)
    if ((dump && !strcmp(dump, "jit")) || !store_has(key[i])) bad |= compile_apart(key[i]);
  alarm(limit_seconds());
  store_trim(dir, STORE_BYTES);
  if (locked >= 0) close(locked);
  close(dir);
  return bad;
}

/* ---- warm ---- */

static int asked, refused; /* for whom kernels were asked for, and for whom there are none */

static void pause_ms(int ms) { nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000L }, NULL); }

/* As a program that uses the type would, but at once. */
static int warm_type(const lading_type *t) {
  const ldg_plan *p;
  const int e = ldg_api_plan(t, &p);
  if (e) return e;
  ldg_jit_warm(p), asked++;
  while (!ldg_jit_settled()) pause_ms(2);
  return LADING_OK;
}

/* Suites have words for long lists. */
static int parse(const char *text, lading_type **t) {
#if LADING_JIT_SUITES
  char fault[512], *all = expand_macros(text, fault, sizeof fault);
  const int e = all ? lading_type_parse(all, t) : LADING_ERR_ARG;
  free(all);
  return e;
#else
  return lading_type_parse(text, t);
#endif
}

static int warm_text(const char *text) {
  lading_type *t;
  int e = parse(text, &t);
  if (e) return refuse(text, lading_strerror(e));
  e = warm_type(t);
  lading_type_free(t);
  return e ? refuse(text, lading_strerror(e)) : 0;
}

/* NULL is packed bytes. *why: there is no kernel for these. */
static int warm_sides(lading_type *const t[2], lading_op op, const char **why) {
  ldg_items side[2] = { { NULL, 1, NULL }, { NULL, 1, NULL } };
  ldg_reduction r = { op, { 0 } };
  ldg_reduce how = { .size = 1 };
  int e = (t[0] && t[1]) || (op != LADING_REPLACE && (t[0] || t[1])) ? LADING_OK : LADING_ERR_ARG;
  for (int k = 0; k < 2 && !e; k++)
    if (t[k]) e = ldg_api_plan(t[k], &side[k].plan);
  if (!e && op != LADING_REPLACE) e = ldg_api_elements(t[!t[0]], 1, op, 0, side[!t[0]].plan->size, &r.sig), how = ldg_exec_how(&r);
  if (e) return e;
  if (op != LADING_REPLACE && !how.how) return LADING_ERR_UNSUPPORTED;
  *why = ldg_pair_warm(&side[0], &side[1], &how);
  while (!ldg_jit_settled()) pause_ms(2);
  return LADING_OK;
}

static int op_named(const char *name) {
  static const char *const names[LADING_OP_MAX] = { [LADING_SUM] = "sum", [LADING_PROD] = "prod", [LADING_MIN] = "min", [LADING_MAX] = "max", [LADING_LAND] = "land",
                                                    [LADING_LOR] = "lor", [LADING_LXOR] = "lxor", [LADING_BAND] = "band", [LADING_BOR] = "bor", [LADING_BXOR] = "bxor" };
  for (int op = 0; op < LADING_OP_MAX; op++)
    if (names[op] && !strcmp(names[op], name)) return op;
  return -1;
}

#define FIELDS 5
/* Between bars, without the blanks around; how many there are, at most FIELDS. */
static int split(char *text, char *field[FIELDS]) {
  int n = 0;
  for (char *next = text; next && n < FIELDS; n++) {
    char *s = strsep(&next, "|");
    field[n] = s += strspn(s, " ");
    for (char *end = s + strlen(s); end > s && strchr(" \n", end[-1]);) *--end = 0;
  }
  return n;
}

/* SOURCE | DESTINATION | OP, the last of which may be missing; `before` are fields that say nothing to us. */
static int warm_pair(const char *line, int before) {
  char *text = strdup(line), *field[FIELDS];
  const char *why = NULL;
  lading_type *t[2] = { NULL, NULL };
  int e = LADING_ERR_NOMEM;
  if (text) {
    const int n = split(text, field) - before, op = n == 3 ? op_named(field[before + 2]) : LADING_REPLACE;
    e = (n == 2 || n == 3) && op >= 0 ? LADING_OK : LADING_ERR_ARG;
    for (int k = 0; k < 2 && !e; k++)
      if (strcmp(field[before + k], "-") != 0) e = parse(field[before + k], &t[k]);
    if (!e) e = warm_sides(t, (lading_op)op, &why);
  }
  for (int k = 0; k < 2; k++) lading_type_free(t[k]);
  free(text);
  if (why) refuse(line, why), refused++;
  else asked++;
  return e ? refuse(line, lading_strerror(e)) : 0;
}

static int warm_pairs(const char *path) {
  char *line = NULL;
  size_t cap = 0;
  int bad = 0;
  FILE *f = fopen(path, "r");
  if (!f) return refuse(path, strerror(errno));
  while (getline(&line, &cap, f) > 0)
    if (*line != '#' && *line != '\n') bad |= warm_pair(line, 2);
  free(line);
  fclose(f);
  return bad;
}

static int warm_suite(const char *path);
static int warm_one(const char *what) {
  if (strchr(what, '|')) return warm_pair(what, 0);
  return strstr(what, ".suite") ? warm_suite(what) : strstr(what, ".pairs") ? warm_pairs(what) : warm_text(what);
}

#if LADING_JIT_SUITES
static int warm_suite(const char *path) {
  suite s;
  char fault[512];
  int bad = 0;
  if (!suite_load(&s, path, fault, sizeof fault)) return refuse(path, fault);
  for (int i = 0; i < s.n; i++) {
    if (!problem_open(&s.list[i], fault, sizeof fault)) { bad = refuse(s.list[i].name, fault); continue; }
    if (warm_type(s.list[i].type)) bad = refuse(s.list[i].name, "no memory");
    problem_close(&s.list[i]);
  }
  suite_free(&s);
  return bad;
}
#else
static int warm_suite(const char *path) { return refuse(path, "suites are read where lbench is built"); }
#endif

static int warm_all(int n, char **what) {
  int bad = 0;
  for (int i = 0; i < n; i++) bad |= warm_one(what[i]);
  return bad || (refused && !asked);
}

/* In a child, which is never the first process of a container: that one would have no helpers. */
static int warm(int n, char **what) {
  int status = 1;
  const pid_t pid = fork();
  if (pid == 0) {
    status = warm_all(n, what);
    fflush(NULL);
    _exit(status);
  }
  return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

/* ---- list, clear ---- */

static void list_one(void *arg, const store_item *i) {
  int64_t *bytes = arg;
  *bytes += i->size;
  if (i->why) { printf("%s  %s\n", i->name, i->why); return; }
  printf("%s  %6" PRId64 " B  %4.0f ms to make, %7.2f -> %7.2f ns", i->name, i->size, (double)i->tail->compile_ns * 1e-6, (double)i->tail->before_ps * 1e-3,
         (double)i->tail->after_ps * 1e-3);
  if (i->tail->least < INT64_MAX && i->tail->most < INT64_MAX) printf(", from %" PRId64 " to %" PRId64 "  %s\n", i->tail->least, i->tail->most, i->key);
  else if (i->tail->least < INT64_MAX) printf(", from %" PRId64 " on  %s\n", i->tail->least, i->key);
  else printf(", not used  %s\n", i->key);
}

static int list(int dir) {
  int64_t bytes = 0;
  store_each(dir, list_one, &bytes);
  printf("%" PRId64 " bytes\n", bytes);
  return 0;
}

static int path(void) {
  char text[LDG_CACHE_PATH];
  const char *why = ldg_cache_path(text);
  return why ? refuse("the cache", why) : puts(text) < 0;
}

static int on_cache(const char *mode) {
  const char *why;
  const int dir = ldg_cache_dir(&why);
  if (dir < 0 && why == ldg_cache_none) return 0;
  if (dir < 0) return refuse("the cache", why);
  if (!strcmp(mode, "list")) return list(dir);
  store_clear(dir);
  return 0;
}

static void close_others(void) {
#if defined(SYS_close_range)
  if (syscall(SYS_close_range, 3u, ~0u, 0u) == 0) return;
#endif
  for (int fd = 3; fd < 1024; fd++) close(fd);
}

/* Nothing of the host's reaches the compiler, its files and its preloaded libraries least of all. The library in here must not ask
 * for kernels while it is timed; to warm, it must, and of this program. */
static void settle_down(const char *mode) {
  static char self[4200];
  close_others();
  unsetenv("LD_PRELOAD");
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  if (strcmp(mode, "warm") == 0) setenv("LADING_FORCE", "jit", 1), setenv("LADING_JIT", n > 0 ? self : "off", 1);
  else setenv("LADING_JIT", "off", 1), unsetenv("LADING_FORCE");
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  if (!strcmp(mode, "--help")) return fputs(usage, stdout), 0;
  argc -= 2, argv += 2;
  settle_down(mode);
  if (argc > 0 && !strcmp(argv[0], "--")) argc--, argv++;
  if (!strcmp(mode, "compile") && argc > 0) return compile(argc, argv);
  if (!strcmp(mode, "warm") && argc > 0) return warm(argc, argv);
  if ((!strcmp(mode, "list") || !strcmp(mode, "clear")) && argc == 0) return on_cache(mode);
  if (!strcmp(mode, "path") && argc == 0) return path();
  if (!strcmp(mode, "limits") && argc == 0) {
    limit_myself();
    for (;;) pause();
  }
  fputs(usage, stderr);
  return 2;
}
