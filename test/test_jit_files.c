/* jit_files: the cache. Files gone wrong, or changed while they are used, what is in them, and the tool that makes and lists them. */
#include "jit_tools.h"

#include "base_model.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>

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

/* What the second process finds in the cache it does not have made: a helper that notes each start notes none. */
START_TEST(second_process_starts_nothing) {
  char *cache = own_cache(helper_path()), line[OWN_PATH + 32], note[OWN_PATH];
  ck_assert_int_eq(in_a_process(helper_path(), "jit"), 2);
  snprintf(line, sizeof line, "echo \"$@\" >> %s", own_file("started", note));
  const char *helper = script(line);
  ck_assert_int_eq(in_a_process(helper, "jit"), 2);
  ck_assert_int_ne(access(note, F_OK), 0);
  drop_cache(cache);
  ck_assert_int_eq(in_a_process(helper, "jit"), 0); /* it does note */
  ck_assert_int_eq(access(note, F_OK), 0);
  drop_own_files();
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

static void judge_useless(const char *path) { forge(path, INT64_MAX, INT64_MAX, false, NULL); }
static void move_nothing(const char *path) { forge(path, 1, INT64_MAX, false, &at_once); }
#if defined(__aarch64__) /* the same after a million turns of a loop */
static const code slowly = CODE("\x00\x02\xa0\x52\x00\x04\x00\x71\xe1\xff\xff\x54\xc0\x03\x5f\xd6");
#else
static const code slowly = CODE("\xb8\x40\x42\x0f\x00\xff\xc8\x75\xfc\xc3");
#endif
static void move_nothing_slowly(const char *path) { forge(path, 1, INT64_MAX, false, &slowly); }
enum { FEW = 50, ROW = 61 }; /* rows of more fields than a kernel has */
static void move_nothing_of_few(const char *path) { forge(path, 1, FEW, false, &at_once); }
static void move_nothing_of_few_elsewhere(const char *path) { forge(path, 1, FEW, true, &at_once); }
static void move_nothing_of_few_rows(const char *path) { forge(path, 1, FEW * ROW + ROW - 1, false, &at_once); }

static int runnable_mappings(void) {
  char line[4400];
  int n = 0;
  FILE *f = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, f)) n += strstr(line, " r-xp ") != NULL;
  fclose(f);
  return n;
}

static void judge_useless_elsewhere(const char *path) { forge(path, INT64_MAX, INT64_MAX, true, NULL); }

/* What gained nothing on another kind of machine is judged again here. */
START_TEST(verdicts_of_other_machines) {
  char *cache = own_cache(NO_HELPER);
  ck_assert_int_eq(in_a_process(helper_path(), "jit"), 2);
  for_each_kernel(cache, judge_useless);
  ck_assert_int_eq(in_a_process(NO_HELPER, "jit"), 2); /* forced */
  for_each_kernel(cache, judge_useless_elsewhere);
  ck_assert_int_eq(in_a_process(NO_HELPER, "jit"), 0);
  ck_assert_int_eq(in_a_process(helper_path(), "jit"), 2);
  ck_assert_int_eq(in_a_process(NO_HELPER, "jit"), 2);
  drop_cache(cache);
}
END_TEST

static uint64_t judge_of; /* whose verdict it becomes */
static void move_verdict(const char *path) {
  static char file[LDG_CACHE_FILE_MAX] __attribute__((aligned(8)));
  char name[LDG_CACHE_NAME], to[4096];
  const ldg_cache_tail *tail;
  const char *key;
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  const int64_t n = read(fd, file, sizeof file);
  close(fd);
  ck_assert_ptr_null(ldg_cache_check(file, n, &tail, &key));
  ldg_cache_tail *own = (ldg_cache_tail *)(void *)(file + n - (int64_t)sizeof *own);
  own->least = INT64_MAX, own->machine = judge_of, own->sum = ldg_checksum(file, n - 8);
  ldg_cache_name(key, judge_of, name);
  snprintf(to, sizeof to, "%.*s/%s", (int)(strrchr(path, '/') - path), path, name);
  const int other = open(to, O_WRONLY | O_CREAT | O_CLOEXEC | O_TRUNC, 0600);
  ck_assert_int_eq(write(other, file, (size_t)n), n);
  close(other);
}

/* What another machine found useless is as if it were not there; what this one did is believed, also where a kernel of others is. */
START_TEST(verdicts_have_places_of_their_own) {
  static char out[1 << 16];
  char *cache = own_cache(NO_HELPER), first[4096];
  const char *compile = "compile -- 'base * 0>0:4 8>4:9'", *key = "base * 0>0:4 8>4:9";
  ldg_cache_kernel k;
  setenv("LADING_ISA", "base", 1); /* the kind of machine that judges it */
  tool_works(compile, out, sizeof out);
  file_of(NULL, cache, first);
  ck_assert_ptr_null(ldg_cache_load(key, &k));
  ldg_cache_unload(&k);
  judge_of = ldg_cache_machine() ^ 1, move_verdict(first);
  ck_assert_ptr_null(ldg_cache_load(key, &k));
  ldg_cache_unload(&k);
  judge_of = ldg_cache_machine(), move_verdict(first);
  ck_assert_ptr_null(ldg_cache_load(key, &k));
  ck_assert_int_eq(k.least, INT64_MAX);
  ldg_cache_unload(&k);
  tool_works("list", out, sizeof out);
  ck_assert(strstr(out, "not used"));
  drop_cache(cache);
}
END_TEST

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
    ck_assert(settles(20));
    ck_assert_int_eq(count_text(s->type, "before one of its own is looked for"), 1); /* unpack's, not pack's */
    ck_assert_int_eq(count_text(s->type, "tier 2"), 0);
    sample_free(s);
  }
  ck_assert_int_eq(runnable_mappings(), before);
  drop_cache(cache);
}
END_TEST

/* The kernels of a type, in a cache of its own, with other code: that moves nothing, and so tells where it is used. */
static char mem[1 << 17], packed[1 << 16];
static char *spoil_kernels(const sample *s, void spoil(const char *path), const char *says) {
  static char what[512];
  char *cache = own_cache(NO_HELPER);
  unsetenv("LADING_FORCE");
  const int64_t size = info_of(s->type).size;
  snprintf(what, sizeof what, "warm '%s'", s->spell);
  tool_works(what, packed, sizeof packed);
  for_each_kernel(cache, spoil);
  ask(s->type);
  ck_assert(settles(5));
  ck_assert_int_ge(count_text(s->type, says), 2);
  memset(mem, 7, sizeof mem);
  ck_assert_int_eq(lading_pack(s->type, 10, mem, packed, 0, size * 10), LADING_OK); /* which finds it */
  return cache;
}

/* Of so many calls, those that moved something. */
static int calls_that_move(const sample *s, int calls, int64_t n) {
  const int64_t size = info_of(s->type).size * n;
  int moved = 0;
  for (int i = 0; i < calls; i++) {
    memset(packed, 0, sizeof packed);
    ck_assert_int_eq(lading_pack(s->type, n, mem, packed, 0, size), LADING_OK);
    ck_assert_int_eq(packed[0], packed[size - 1]);
    moved += packed[0] == 7;
  }
  return moved;
}

/* They are for up to `most` items, once longer calls have found out that nothing is faster than this. */
static void check_used(sample *s, void spoil(const char *path), const char *says, int64_t most) {
  char *cache = spoil_kernels(s, spoil, says);
  calls_that_move(s, 64, most); /* first calls, of a trial within, too */
  for (int64_t n = most - 5; n <= most + 5; n++) ck_assert_int_eq(calls_that_move(s, 1, n), n > most);
  sample_free(s);
  drop_cache(cache);
}

/* What others on the processor do meanwhile is not counted. */
static uint64_t clock_of_thread(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Whether a kernel gains is found out by the calls themselves, where they are long enough to be timed. */
static void check_tried(void spoil(const char *path), bool gains) {
  sample *s = one_shape();
  char *cache = spoil_kernels(s, spoil, "tier 2 from 1 iterations on");
  ck_assert_int_eq(calls_that_move(s, 3, 100), 0); /* after short calls long ones are timed all the same */
  calls_that_move(s, 100, 1000);
  const int moved = calls_that_move(s, 100, 1000);
  if (ldg_cpu_ticks()) ck_assert(gains ? moved < 20 : moved > 80);
  ck_assert_int_eq(calls_that_move(s, 100, 100), 0);
  sample_free(s);
  drop_cache(cache);
}
START_TEST(kernels_that_gain_are_used) { check_tried(move_nothing, true); }
END_TEST
START_TEST(kernels_that_lose_are_not) { check_tried(move_nothing_slowly, false); }
END_TEST

/* What gains in the first-level cache may lose in the second. */
START_TEST(kernels_are_for_as_many_as_they_gain) { check_used(one_shape(), move_nothing_of_few, "tier 2 from 1 iterations on, up to 50", FEW); }
END_TEST

/* The caches of another machine are not these. Nor do bytes end it from which on stores may go past the caches: calls of so many only are another kind. */
START_TEST(few_elsewhere_are_any_here) {
  ldg_model m = ldg_model_builtin();
  m.number[LDG_MODEL_STREAM] = 13 * FEW;
  ldg_model_use(&m);
  sample *s = one_shape();
  char *cache = spoil_kernels(s, move_nothing_of_few_elsewhere, "tier 2 from 1 iterations on\n");
  calls_that_move(s, 64, 20 * FEW);
  for (int64_t n = FEW; n <= 20 * FEW; n += FEW) ck_assert_int_lt(calls_that_move(s, 20, n), 5); /* now and then one tries the other way */
  sample_free(s);
  drop_cache(cache);
  ldg_model_use(NULL);
}
END_TEST

/* Iterations of all rows count. */
START_TEST(kernels_are_for_as_many_rows_as_they_gain) {
  sample *rows = s_resized(s_contiguous(ROW, one_shape()), 0, 24 * ROW + 40);
  check_used(rows, move_nothing_of_few_rows, "tier 2 from 1 iterations on, up to 3110", FEW);
}
END_TEST

/* ---- the tool ---- */

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

/* The programs that were left do make the kernels. */
static void make_again(const char *cache) {
  static char out[1 << 16];
  char line[4096];
  const char *cc = getenv("LADING_TEST_CC");
  ck_assert_int_ge(files_named(cache, ".c", "gcc_jit_context_acquire"), 2);
  snprintf(line, sizeof line, "set -e; cd %s; for c in *.c; do %s -o again \"$c\" -lgccjit; ./again; done; rm again", cache, cc ? cc : "cc");
  FILE *p = popen(line, "r");
  out[fread(out, 1, sizeof out - 1, p)] = 0;
  ck_assert_msg(pclose(p) == 0, "%s", out);
}

START_TEST(warm_list_clear_and_dump) {
  static char out[1 << 16];
  char *cache = own_cache(helper_path());
  setenv("LADING_DUMP", "jit", 1);
  tool_works("warm 'struct([1,1,1],[0,8,16],[int,double,char])'", out, sizeof out);
  tool_works("list", out, sizeof out);
  ck_assert_msg(strstr(out, "0>0:4 8>4:9") && strstr(out, "0>0:4 4>8:9"), "pack and unpack are not listed: %s", out);
  ck_assert_int_eq(in_a_process(NO_HELPER, "jit"), 2);
  ck_assert_int_ge(files_named(cache, ".txt", "ldg_j_"), 2);
  ck_assert_int_eq(files_named(cache, ".txt", "UNNAMED"), 0);
  make_again(cache);
  tool_works("clear", out, sizeof out);
  ck_assert_int_eq(files_named(cache, ".so", "") + files_named(cache, ".txt", "") + files_named(cache, ".c", ""), 0);
  ck_assert_int_eq(in_a_process(NO_HELPER, "jit"), 0);
  ck_assert_int_ne(tool("compile -- 'v3 * 0>0:4 2>2:4'", out, sizeof out), 0); /* fields that overlap */
  ck_assert_int_ne(tool("compile -- nonsense", out, sizeof out), 0);
  ck_assert_int_ne(tool("warm nonsense", out, sizeof out), 0);
  ck_assert_int_ne(tool("", out, sizeof out), 0);
  drop_cache(cache);
}
END_TEST

/* Copies and reductions, one by one or from a file; and what makes no sense. */
START_TEST(warm_pairs) {
  static char out[1 << 16];
  static const char *const bad[] = { "int | ", "int | - ", "- | - | sum", "int | int | mean", "struct([1,1],[0,4],[int,float]) | - | sum", "double | - | band", "int | int | sum | sum", "/nonexistent.pairs" };
  char *cache = own_cache(helper_path()), text[4096], path[OWN_PATH];
  tool_works("warm 'resized(indexed_block(2,[0,3],double),0,64) | resized(indexed_block(1,[0,2,3,7],double),0,80)' '-|resized(indexed_block(2,[0,3],int),0,24)|max'", out, sizeof out);
  tool_works("list", out, sizeof out);
  ck_assert_msg(strstr(out, "0>0:8 8>16:8 24>24:8 32>56:8") && strstr(out, "max.s4 * 0>0:8 8>12:8"), "copy and maximum are not listed: %s", out);
  FILE *f = fopen(own_file("some.pairs", path), "w");
  fputs("# pairs\n\nfirst | - | resized(indexed_block(1,[0,2,5],float),0,24) | resized(indexed_block(1,[0,1,5],float),0,32)\n"
        "second | 8 1x8:8 :1 | resized(indexed_block(2,[0,3],double),0,64) | - | sum\n", f);
  fclose(f);
  snprintf(text, sizeof text, "warm %s", path);
  tool_works(text, out, sizeof out);
  tool_works("list", out, sizeof out);
  ck_assert_msg(strstr(out, "0>0:4 8>4:4 20>20:4") && strstr(out, "sum.f8 * 0>0:16 24>16:16"), "those of the file are not listed: %s", out);
  drop_own_files();
  for (int64_t i = 0; i < COUNT_OF(bad); i++) {
    snprintf(text, sizeof text, "warm '%s'", bad[i]);
    ck_assert_msg(tool(text, out, sizeof out) != 0, "'%s' was taken", bad[i]);
  }
  drop_cache(cache);
}
END_TEST

/* What a user may have in that folder, all of it old. */
static const char *const foreign[] = { "tickets/0.so", "t12345/0.so", ".lading-jit-AbCdE/0.so", ".lading-jit-AbCdEfg/0.so", ".lading-jit-AbCdE-/0.so", "notes.txt",
                                       "ldg_j_notes.txt", "ldg_j_0123456789abcdef.txt", "ldg_j_0123456789abcdef-mine.txt", "k0123.so", "k0123456789abcdeF.so" };

static void foreign_path(const char *cache, int64_t i, char path[4096], char folder[4096]) {
  const char *slash = strchr(foreign[i], '/');
  snprintf(path, 4096, "%s/%s", cache, foreign[i]);
  snprintf(folder, 4096, "%s/%.*s", cache, slash ? (int)(slash - foreign[i]) : 0, foreign[i]);
}

static void foreign_put(const char *cache) {
  char path[4096], folder[4096];
  for (int64_t i = 0; i < COUNT_OF(foreign); i++) {
    foreign_path(cache, i, path, folder);
    mkdir(folder, 0700); /* or it is the cache itself */
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    futimens(fd, (const struct timespec[]){ { 1, 0 }, { 1, 0 } });
    close(fd);
    if (strchr(foreign[i], '/')) utimensat(AT_FDCWD, folder, (const struct timespec[]){ { 1, 0 }, { 1, 0 } }, 0);
  }
}
static void foreign_stays(const char *cache) {
  char path[4096], folder[4096];
  for (int64_t i = 0; i < COUNT_OF(foreign); i++) {
    foreign_path(cache, i, path, folder);
    ck_assert_msg(access(path, F_OK) == 0, "%s is gone", path);
  }
}
static void foreign_take(const char *cache) {
  char path[4096], folder[4096];
  for (int64_t i = 0; i < COUNT_OF(foreign); i++) {
    foreign_path(cache, i, path, folder);
    unlink(path), rmdir(folder);
  }
}

/* More than the limit, by files that are one younger than the other: the oldest go until a quarter is free; dumps count. */
START_TEST(the_cache_stays_small) {
  enum { FILES = 80, KEPT = 47 }; /* of 1 MiB: 48 are three quarters of the limit, and one is newer */
  static char out[1 << 16];
  char *cache = own_cache(helper_path()), path[4200], left[4096];
  for (int i = 0; i < FILES; i++) {
    snprintf(path, sizeof path, i % 2 ? "%s/k%016x.so" : "%s/ldg_j_v3_f2_b9_%016x-plain.txt", cache, i);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq(ftruncate(fd, 1 << 20), 0);
    futimens(fd, (const struct timespec[]){ { 1000000 + i, 0 }, { 1000000 + i, 0 } });
    close(fd);
  }
  snprintf(left, sizeof left, "%s/.lading-jit-AbCdEf", cache);
  ck_assert_int_eq(mkdir(left, 0700), 0);
  snprintf(path, sizeof path, "%s/0.so", left);
  close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  utimensat(AT_FDCWD, left, (const struct timespec[]){ { 1, 0 }, { 1, 0 } }, 0);
  foreign_put(cache);
  tool_works("compile -- 'base * 0>0:4 8>4:9'", out, sizeof out);
  foreign_stays(cache);
  int kept = 0;
  for (int i = 0; i < FILES; i++) {
    snprintf(path, sizeof path, i % 2 ? "%s/k%016x.so" : "%s/ldg_j_v3_f2_b9_%016x-plain.txt", cache, i);
    const bool is_there = access(path, F_OK) == 0;
    ck_assert_msg(is_there || kept == 0, "file %d is gone, but not one that is older", i);
    kept += is_there;
  }
  ck_assert_int_eq(kept, KEPT);
  ck_assert_int_eq(files_named(cache, ".so", "lading\nj"), 0); /* all but the new one are holes */
  ck_assert_int_ne(access(left, F_OK), 0); /* of a helper that was ended long ago */
  tool_works("clear", out, sizeof out);
  foreign_stays(cache), foreign_take(cache);
  ck_assert_int_eq(files_named(cache, ".so", "") + files_named(cache, ".txt", ""), 0);
  drop_cache(cache);
}
END_TEST

/* A helper whose assembler hangs is ended by its limits, and nothing of it stays: no process, no file. */
START_TEST(compilers_that_hang_leave_nothing) {
  static char out[1 << 16];
  char *cache = own_cache(helper_path()), path[OWN_PATH], line[8192];
  FILE *f = fopen(own_file("as", path), "w");
  fprintf(f, "#!/bin/sh\nexec sleep 77\n");
  fclose(f);
  ck_assert_int_eq(chmod(path, 0700), 0);
  snprintf(line, sizeof line, "%.*s:%s", (int)(strrchr(path, '/') - path), path, getenv("PATH"));
  setenv("PATH", line, 1), setenv("LADING_JIT_LIMIT", "1", 1);
  ck_assert_int_ne(tool("compile -- 'base * 0>0:4 8>4:9'", out, sizeof out), 0); /* which reads its output to the end */
  nothing_left(cache);
  drop_own_files();
  drop_cache(cache);
}
END_TEST

START_TEST(no_relative_cache) {
  char *cache = own_cache(helper_path());
  setenv("LADING_CACHE", "somewhere", 1);
  ck_assert_int_eq(in_a_process(helper_path(), "jit"), 0);
  ck_assert_int_ne(access("somewhere", F_OK), 0);
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
  setenv("LADING_ISA", "base", 1); /* the kind of machine that judges it */
  snprintf(path, sizeof path, "%s/.lock", cache);
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ck_assert_int_eq(flock(fd, LOCK_EX), 0);
  setenv("LADING_JIT_LIMIT", "1", 1);
  ck_assert_int_ne(tool(compile, out, sizeof out), 0);
  ck_assert_int_eq(files_named(cache, ".so", ""), 0);
  setenv("LADING_JIT_LIMIT", "20", 1);
  close(fd);
  tool_works(compile, out, sizeof out);
  ck_assert_int_eq(files_named(cache, ".so", ""), 1);
  for_each_kernel(cache, note_inode);
  const int64_t first = kernel_inode;
  tool_works(compile, out, sizeof out);
  for_each_kernel(cache, note_inode);
  ck_assert_int_eq(kernel_inode, first);
  drop_cache(cache);
}
END_TEST

/* ---- warm ---- */

/* The exit status, and whether it says so. */
static int warmed(const char *what, const char *says) {
  char text[4096];
  snprintf(text, sizeof text, "'%s' warm %s 2>&1", helper_path(), what);
  FILE *f = popen(text, "r");
  ck_assert_ptr_nonnull(f);
  text[fread(text, 1, sizeof text - 1, f)] = 0;
  ck_assert_msg(strstr(text, says), "%s: it says '%s'", what, text);
  return WEXITSTATUS(pclose(f));
}

/* What has no kernel is told of; it is an error where there is nothing else. */
START_TEST(warm_tells_why_none_came) {
  static const char fields[] = "'resized(hindexed([2,3],[0,24],int),0,48) | int'";
  static const char coincide[] = "'resized(hindexed([2,3],[0,24],int),0,48) | resized(hindexed([5,8],[0,9],byte),0,10)'";
  static const char nest[] = "'vector(1000,3,5,double) | vector(1000,3,7,double)'";
  char *cache = own_cache(helper_path()), both[512];
  ck_assert_int_eq(warmed(fields, ""), 0);
  ck_assert_int_eq(warmed(coincide, "may coincide"), 1);
  ck_assert_int_eq(warmed(nest, "a nest does"), 1);
  snprintf(both, sizeof both, "%s %s", nest, fields);
  ck_assert_int_eq(warmed(both, "a nest does"), 0);
  drop_cache(cache);
}
END_TEST

int main(int argc, char **argv) {
  if (!helper_path()) return puts("lading-jit was not built"), 77;
  ldg_cpu_clock = clock_of_thread;
  return CHECK_MAIN("jit_files", argc, argv, files_that_are_spoiled, every_bit_counts, folders_that_others_write, second_process_starts_nothing, no_place_for_a_cache,
                    files_change_while_in_use, useless_kernels_leave_no_mapping, kernels_that_gain_are_used, kernels_that_lose_are_not, kernels_are_for_as_many_as_they_gain, few_elsewhere_are_any_here, kernels_are_for_as_many_rows_as_they_gain, verdicts_of_other_machines, verdicts_have_places_of_their_own, warm_list_clear_and_dump, warm_pairs, the_cache_stays_small, compilers_that_hang_leave_nothing, no_relative_cache, helpers_take_turns, warm_tells_why_none_came);
}
