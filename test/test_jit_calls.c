/* jit_calls: what calls do while a kernel is compiled, counted and not timed: a process is followed instruction by instruction. */
#define _GNU_SOURCE
#include "jit_tools.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#if defined(__x86_64__) && !TEST_ASAN && !TEST_TSAN

enum { LENGTH = 640, CALLS = 24, BEFORE = 8, WINDOWS = 2 };

/* Items of `type` to or from packed bytes, or to those of `other`. */
typedef struct subject { const char *type, *other; lading_op op; bool unpack; } subject;
static const subject subjects[] = {
  { "resized(struct([1,1,1],[0,8,16],[int,double,char]),0,56)", NULL, LADING_REPLACE, false },
  { "resized(struct([1,1,1],[0,8,16],[int,double,char]),0,32)", NULL, LADING_REPLACE, true },
  { "resized(struct([1,1,1,3,1,2,1,1,5,1,1,1],[0,8,16,20,32,40,48,56,64,72,80,88],[int,double,char,char,double,int16,int,double,char,int,float,double]),0,96)", NULL, LADING_REPLACE, false },
  { "hvector(2,5,2000,resized(hindexed([3,5,2],[0,7,19],byte),0,24))", NULL, LADING_REPLACE, false },
  { "resized(struct([1,1,1],[0,8,16],[int,double,char]),0,40)", "resized(hindexed([5,8],[0,9],byte),0,48)", LADING_REPLACE, false },
  { "resized(hindexed([2,3],[0,24],int),0,48)", NULL, LADING_SUM, true },
};

static char one[1 << 18], two[1 << 18];
typedef struct open_subject { lading_type *type, *other; int64_t n, bytes; const subject *s; } open_subject;

static open_subject open_it(const subject *s) {
  open_subject o = { parsed(s->type), s->other ? parsed(s->other) : NULL, 0, 0, s };
  const ldg_plan *p;
  ck_assert_int_eq(ldg_api_plan(o.type, &p), LADING_OK);
  o.n = LENGTH / p->size, o.bytes = o.n * p->size;
  if (o.other) ck_assert_int_eq(ldg_api_plan(o.other, &p), LADING_OK);
  return o;
}

static void call(const open_subject *o) {
  if (o->other) lading_copy(o->type, o->n, one, o->other, o->n, two, 0, o->bytes);
  else if (o->s->op == LADING_SUM) lading_unpack_op(o->type, o->n, one, two, 0, o->bytes, LADING_SUM);
  else if (o->s->unpack) lading_unpack(o->type, o->n, one, two, 0, o->bytes);
  else lading_pack(o->type, o->n, one, two, 0, o->bytes);
}

/* ---- who is followed ---- */

static void __attribute__((noinline)) mark(void) { __asm__ volatile("" ::: "memory"); }

/* Stops; some calls, each after a mark; then it is let go. */
static void followed_calls(const open_subject *o) {
  raise(SIGSTOP);
  for (int i = 0; i < CALLS; i++) mark(), call(o);
  mark();
}

/* The calls around the one that has the shape looked at, and around one that tells how much was moved. */
static bool be_followed(const subject *s) {
  const open_subject o = open_it(s);
  const lading_type *t = o.type;
  const int64_t looks = LDG_HOT_LOOK / o.bytes, tells = (1 << 20) / o.bytes;
  for (int64_t i = 0; i < looks - BEFORE; i++) call(&o);
  const int cold = count_text(t, "before one of its own is looked for");
  followed_calls(&o);
  const int after = cold - (s->op == LADING_SUM ? 3 : 1); /* a reduction through tiles packs and unpacks, too */
  for (int i = 0; i < 1000 && count_text(t, "before one of its own is looked for") > after; i++) pause_ms(2);
  const bool looked = count_text(t, "before one of its own is looked for") == after;
  for (int64_t i = 0; i < tells - (looks + CALLS); i++) call(&o);
  followed_calls(&o);
  return looked;
}

static void host(const char *helper) {
  setenv("LADING_JIT", helper, 1);
  sample *s = one_shape();
  ask(s->type);
  for (int i = 0; i < 5000 && !count_text(s->type, "is being compiled"); i++) pause_ms(1);
  if (!count_text(s->type, "is being compiled")) _exit(1);
  if (ptrace(PTRACE_TRACEME, 0, NULL, NULL)) _exit(4);
  for (size_t i = 0; i < COUNT_OF(subjects); i++)
    if (!be_followed(&subjects[i])) _exit(2);
  _exit(count_text(s->type, "is being compiled") ? 0 : 3); /* all the while */
}

/* ---- who follows ---- */

typedef struct steps { int64_t count[CALLS]; int calls_of_the_system; } steps;

static unsigned long place_of(pid_t pid) { return (unsigned long)ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user_regs_struct, rip), NULL); }
static bool calls_the_system(pid_t pid, unsigned long at) {
  const long word = ptrace(PTRACE_PEEKTEXT, pid, at, NULL);
  return (word & 0xffff) == 0x050f;
}
static bool stops(pid_t pid, int sig) {
  int status = 0;
  return waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) && WSTOPSIG(status) == sig;
}

/* From mark to mark; what is between the stop and the first one does not count. */
static void follow(pid_t pid, steps *s) {
  *s = (steps){ { 0 }, 0 };
  for (int call = -1; call < CALLS;) {
    ck_assert_int_eq(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
    ck_assert(stops(pid, SIGTRAP));
    const unsigned long at = place_of(pid);
    if (at == (unsigned long)(uintptr_t)mark) call++;
    else if (call >= 0 && call < CALLS) s->count[call]++, s->calls_of_the_system += calls_the_system(pid, at);
  }
}

static int by_size(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void judge(const char *type, int window, steps *s) {
  qsort(s->count, CALLS, sizeof s->count[0], by_size);
  const int64_t median = s->count[CALLS / 2], most = s->count[CALLS - 1];
  ck_assert_msg(s->calls_of_the_system == 0, "%s: %d calls of the system", type, s->calls_of_the_system);
  if (getenv("TELL")) printf("%.40s, window %d: median %lld instructions, most %lld\n", type, window, (long long)median, (long long)most);
  ck_assert_msg(most <= 2 * median, "%s, window %d: a call of %lld instructions, the median of all is %lld", type, window, (long long)most, (long long)median);
  ck_assert_msg(most > median, "%s, window %d: no call did anything for a kernel", type, window);
}

/* While a helper hangs, no call of a thread makes a call of the system, or is more than twice as long as others, whatever it finds out. */
START_TEST(calls_while_a_helper_is_there) {
  steps s;
  const char *helper = script("exec sleep 60");
  char *cache = own_cache(helper);
  unsetenv("LADING_FORCE");
  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0) host(helper);
  for (size_t i = 0; i < COUNT_OF(subjects) * WINDOWS; i++) {
    int status = 0;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFSTOPPED(status), "the host has status %x", status);
    ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL);
    follow(pid, &s);
    ptrace(PTRACE_CONT, pid, NULL, NULL);
    judge(subjects[i / WINDOWS].type, (int)(i % WINDOWS), &s);
  }
  int status = 0;
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the host has status %x", status);
  drop_own_files();
  drop_cache(cache);
}
END_TEST

static bool may_be_followed(void) {
  int status = 1;
  const pid_t pid = fork();
  if (pid == 0) _exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0);
  return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int main(int argc, char **argv) {
  if (!helper_path()) return puts("lading-jit was not built"), 77;
  if (!may_be_followed()) return puts("ptrace is not permitted here: nothing is counted"), 77;
  return CHECK_MAIN("jit_calls", argc, argv, calls_while_a_helper_is_there);
}

#else

int main(void) { return puts("instructions are counted on x86-64, of builds without sanitizers"), 77; }

#endif
