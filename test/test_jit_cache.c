/* jit_cache: what is no kernel's file is not taken for one, and nothing of it runs; where files are looked for; and what jobs know of their kernels. But for the last no helper is needed: files are made here. */
#include "jit_tools.h"

enum { OBJECT = 64, ENTRY = 16, ROOM = 4096 };
static const char key[] = "v3 * 0>0:4 8>4:8", other_key[] = "v3 * 0>0:4 8>4:9";

typedef struct file { int64_t n; char bytes[ROOM] __attribute__((aligned(8))); } file;
static ldg_cache_tail *tail_of(file *f) { return (ldg_cache_tail *)(void *)(f->bytes + f->n - (int64_t)sizeof(ldg_cache_tail)); }
static void seal(file *f) { tail_of(f)->sum = ldg_checksum(f->bytes, f->n - 8); }

/* An object that does nothing, the key, and the tail. */
static void good_file(file *f, const char *of) {
  const int64_t room = ((int64_t)strlen(of) + 8) & -8;
  memset(f, 0, sizeof *f);
  f->n = OBJECT + room + (int64_t)sizeof(ldg_cache_tail);
  memcpy(f->bytes + ENTRY, at_once.bytes, at_once.n), strcpy(f->bytes + OBJECT, of);
  *tail_of(f) = (ldg_cache_tail){ .object = OBJECT, .entry = ENTRY, .least = 1, .most = 100, .machine = ldg_cache_machine(), .key = room };
  memcpy(tail_of(f)->magic, LDG_CACHE_MAGIC, sizeof tail_of(f)->magic);
  seal(f);
}

static const char *checked(const file *f) {
  const ldg_cache_tail *tail = NULL;
  const char *found = NULL, *why = ldg_cache_check(f->bytes, f->n, &tail, &found);
  ck_assert(why || (tail && !strcmp(found, key)));
  return why;
}

/* Every number of a tail out of its range, under a checksum that is right. */
START_TEST(numbers_that_make_no_sense) {
  static const char numbers[] = "its numbers make no sense";
  static const struct { size_t at; int64_t value; const char *why; } all[] = {
    { offsetof(ldg_cache_tail, object), OBJECT, NULL }, { offsetof(ldg_cache_tail, object), 0, numbers }, { offsetof(ldg_cache_tail, object), -1, numbers },
    { offsetof(ldg_cache_tail, object), INT64_MAX, numbers }, { offsetof(ldg_cache_tail, object), OBJECT + 25, numbers }, { offsetof(ldg_cache_tail, object), ENTRY, numbers },
    { offsetof(ldg_cache_tail, entry), 0, numbers }, { offsetof(ldg_cache_tail, entry), -8, numbers }, { offsetof(ldg_cache_tail, entry), OBJECT, numbers }, { offsetof(ldg_cache_tail, entry), OBJECT - 1, NULL },
    { offsetof(ldg_cache_tail, least), 0, numbers }, { offsetof(ldg_cache_tail, least), INT64_MIN, numbers }, { offsetof(ldg_cache_tail, most), 0, numbers }, { offsetof(ldg_cache_tail, most), -1, numbers },
    { offsetof(ldg_cache_tail, key), 0, numbers }, { offsetof(ldg_cache_tail, key), -24, numbers }, { offsetof(ldg_cache_tail, key), INT64_MAX, numbers }, { offsetof(ldg_cache_tail, key), 32, numbers },
  };
  file f;
  for (int64_t i = 0; i < COUNT_OF(all); i++) {
    good_file(&f, key);
    memcpy((char *)tail_of(&f) + all[i].at, &all[i].value, 8), seal(&f);
    const char *why = checked(&f);
    ck_assert_msg(all[i].why ? why && !strcmp(why, all[i].why) : !why, "%d: %s", (int)i, why ? why : "taken");
  }
  good_file(&f, key), f.bytes[OBJECT + tail_of(&f)->key - 1] = 'x', seal(&f);
  ck_assert_str_eq(checked(&f), "its key does not end");
  good_file(&f, key), tail_of(&f)->magic[0] ^= 1, seal(&f);
  ck_assert_str_eq(checked(&f), "it is no kernel, or cut off");
  good_file(&f, key), f.bytes[3] ^= 4;
  ck_assert_str_eq(checked(&f), "it is damaged");
  for (int64_t n = 0; n < (int64_t)sizeof(ldg_cache_tail); n++) {
    f.n = n;
    ck_assert_str_eq(checked(&f), "it is cut off");
  }
}
END_TEST

static void put(const char *folder, const char *of, const file *f) {
  char name[LDG_CACHE_NAME], path[2 * LDG_CACHE_PATH];
  ldg_cache_name(of, 0, name);
  snprintf(path, sizeof path, "%s/%s", folder, name);
  unlink(path);
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  ck_assert(fd >= 0 && write(fd, f->bytes, (size_t)f->n) == f->n);
  close(fd);
}

/* By the name of a key stands what is another one's, nothing, or no file. */
START_TEST(files_that_are_something_else) {
  ldg_cache_kernel k;
  file f;
  char name[LDG_CACHE_NAME], path[2 * LDG_CACHE_PATH];
  char *folder = own_cache("off");
  ck_assert_ptr_eq(ldg_cache_load(key, &k), ldg_cache_none);
  good_file(&f, key), put(folder, key, &f);
  ck_assert_ptr_null(ldg_cache_load(key, &k));
  ck_assert(k.least == 1 && k.most == 100);
#if defined(__x86_64__) || defined(__aarch64__)
  ck_assert_int_eq(k.run(NULL, NULL, 0, 0, 0, NULL), LADING_OK);
#endif
  ldg_cache_unload(&k);
  good_file(&f, other_key), put(folder, key, &f);
  ck_assert_str_eq(ldg_cache_load(key, &k), "it is the kernel of another shape");
  f.n = 0, put(folder, key, &f);
  ck_assert_str_eq(ldg_cache_load(key, &k), "it is cut off");
  ldg_cache_name(key, 0, name);
  snprintf(path, sizeof path, "%s/%s", folder, name);
  ck_assert(unlink(path) == 0 && mkfifo(path, 0600) == 0); /* nobody waits for who writes to it */
  ck_assert_str_eq(ldg_cache_load(key, &k), "it is no file");
  ck_assert(unlink(path) == 0 && symlink("/dev/null", path) == 0);
  ck_assert_str_eq(ldg_cache_load(key, &k), "it cannot be opened");
  ck_assert(unlink(path) == 0);
  good_file(&f, key), put(folder, key, &f);
  ck_assert(truncate(path, LDG_CACHE_FILE_MAX + 8) == 0);
  ck_assert_str_eq(ldg_cache_load(key, &k), "it is too long");
  drop_cache(folder);
}
END_TEST

/* ---- where: options are read once in a process, of which each of these is one ---- */

static const char *path_with(const char *cache, const char *xdg, const char *home, char path[LDG_CACHE_PATH]) {
  setenv("LADING_CACHE", cache, 1), setenv("XDG_CACHE_HOME", xdg, 1), setenv("HOME", home, 1);
  return ldg_cache_path(path);
}

START_TEST(cache_of_the_user) {
  char path[LDG_CACHE_PATH];
  ck_assert(!path_with("", "/some/where", "/home/me", path) && !strcmp(path, "/some/where/lading/jit"));
}
END_TEST
START_TEST(cache_at_home) { /* a relative folder is to be ignored */
  char path[LDG_CACHE_PATH];
  ck_assert(!path_with("", "some/where", "/home/me", path) && !strcmp(path, "/home/me/.cache/lading/jit"));
}
END_TEST
START_TEST(cache_nowhere) {
  char path[LDG_CACHE_PATH];
  ck_assert_str_eq(path_with("", "", "home", path), "there is no folder for a cache: neither LADING_CACHE nor HOME is set");
}
END_TEST
START_TEST(cache_too_deep) {
  char path[LDG_CACHE_PATH], deep[LDG_CACHE_PATH - 4];
  memset(deep, 'x', sizeof deep), deep[0] = '/', deep[sizeof deep - 1] = 0;
  ck_assert_str_eq(path_with("", deep, "", path), "the name of the cache's folder is too long");
}
END_TEST

/* What the host sets once we have read our options is not for us, nor for the helper: it would put kernels where nobody looks. */
static void kernels_come_all_the_same(void) {
  sample *s = one_shape();
  ck_assert(!ldg_jit_on() || ldg_option_get(LDG_OPT_CACHE));
  setenv("LADING_CACHE", "/proc/nonexistent", 1), setenv("HOME", "/proc/nonexistent", 1), unsetenv("XDG_CACHE_HOME");
  ask(s->type);
  ck_assert(settles(80));
  ck_assert_int_eq(count_text(s->type, "tier 2"), 2);
  sample_free(s);
}
START_TEST(hosts_that_move_the_cache) {
  if (!helper_path()) return;
  char *cache = own_cache(helper_path());
  kernels_come_all_the_same();
  drop_cache(cache);
}
END_TEST

/* Root by su has a user's HOME: no folders are made there, unless one is named. */
START_TEST(homes_of_others_are_left_alone) {
  char home[OWN_PATH], made[OWN_PATH];
  if (!helper_path() || geteuid() != 0) return;
  char *cache = own_cache(helper_path());
  ck_assert_int_eq(mkdir(own_file("home", home), 0755), 0);
  if (chown(home, 12345, 12345)) { drop_own_files(), drop_cache(cache); return; } /* a root of its own in a container may not */
  unsetenv("LADING_CACHE"), unsetenv("XDG_CACHE_HOME"), setenv("HOME", home, 1);
  ck_assert_int_eq(in_a_process(helper_path(), "jit"), 0);
  ck_assert_int_ne(access(own_file("home/.cache", made), F_OK), 0);
  setenv("LADING_CACHE", own_file("home/named", made), 1);
  ck_assert_int_eq(in_a_process(helper_path(), "jit"), 2);
  unsetenv("LADING_CACHE"), setenv("XDG_CACHE_HOME", own_file("mine", made), 1); /* in a folder of root's */
  ck_assert_int_eq(in_a_process(helper_path(), "jit"), 2);
  drop_own_files(), drop_cache(cache);
}
END_TEST

/* ---- what a job runs is what is known of its kernel ---- */

static ldg_run *run_of(const ldg_plan *p) { return p->many.job[LDG_PACK].run; }
static const ldg_plan *plan_of(const sample *s) {
  const ldg_plan *p;
  ck_assert_int_eq(ldg_api_plan(s->type, &p), LADING_OK);
  return p;
}
/* By itself: in front of its jobs nobody counts. */
static ldg_run *run_alone(const sample *s) {
  const ldg_plan *p = plan_of(s), *alone;
  ck_assert_int_eq(ldg_plan_forced(p->layout, p->extent, p->many.job[LDG_PACK].name, &alone), LADING_OK);
  ldg_run *run = run_of(alone);
  ldg_plan_release(alone);
  return run;
}
enum { LEAST = 4, MOST = 50, ITEMS = MOST + 20 };
static bool pack_moves(const sample *s, int64_t n) {
  static char mem[24 * ITEMS], packed[24 * ITEMS];
  const int64_t size = info_of(s->type).size * n;
  memset(mem, 7, sizeof mem), memset(packed, 0, sizeof packed);
  ck_assert_int_eq(lading_pack(s->type, n, mem, packed, 0, size), LADING_OK);
  ck_assert_int_eq(packed[0], packed[size - 1]);
  return packed[0] == 7;
}
static void for_some(const char *path) { forge(path, LEAST, MOST, false, &at_once); }

START_TEST(jobs_go_to_their_kernel) { /* which moves nothing */
  if (!helper_path()) return;
  char *cache = own_cache(NO_HELPER), out[64];
  tool_works("warm 'resized(struct([1,1,1],[0,8,16],[int,double,char]),0,24)'", out, sizeof out);
  for_each_kernel(cache, for_some);
  unsetenv("LADING_FORCE"); /* by which they are for all */
  sample *s = one_shape();
  const ldg_plan *p = plan_of(s);
  ldg_run *const counts = run_of(p), *const alone = run_alone(s);
  ck_assert(counts != alone);
  ask(s->type);
  ck_assert(settles(20));
  ck_assert(run_of(p) == counts && pack_moves(s, MOST)); /* which finds it */
  ldg_run *known = run_of(p);
  ck_assert(known != counts && known != alone);
  for (int twice = 0; twice < 2; twice++)
    for (int64_t n = 2; n < ITEMS; n++) ck_assert_msg(pack_moves(s, n) == (n < LEAST || n > MOST), "%d items", (int)n);
  ck_assert(run_of(p) != known && run_of(p) != counts && run_of(p) != alone); /* few have nothing else to ask */
  sample_free(s);
  drop_cache(cache);
}
END_TEST

START_TEST(jobs_forget_what_comes_to_nothing) {
  char *cache = own_cache(NO_HELPER);
  if (!ldg_jit_on()) return; /* not for this machine */
  sample *s = one_shape();
  const ldg_plan *p = plan_of(s);
  ldg_run *const counts = run_of(p), *const alone = run_alone(s);
  ck_assert(counts != alone);
  for (int again = 0; again < 3; again++) { /* one may be asked for at any time */
    ask(s->type);
    ck_assert(settles(20) && run_of(p) == counts);
    for (int i = 0; i < 3; i++) ck_assert(pack_moves(s, MOST));
    ck_assert(run_of(p) == alone);
  }
  sample_free(s);
  drop_cache(cache);
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("jit_cache", argc, argv, numbers_that_make_no_sense, files_that_are_something_else, cache_of_the_user, cache_at_home, cache_nowhere, cache_too_deep, hosts_that_move_the_cache, homes_of_others_are_left_alone, jobs_go_to_their_kernel, jobs_forget_what_comes_to_nothing);
}
