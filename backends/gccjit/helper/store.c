/* store: files of the cache. Everything is written under a name of its own and renamed when it is whole. */
#define _GNU_SOURCE
#include "store.h"

#include "object.h"
#include "emit.h"
#include "base_cpu.h"
#include "judge.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- the folder ---- */

static void make_folders(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    mkdir(path, 0755);
    *slash = '/';
  }
  mkdir(path, 0700);
}

/* By the deepest folder of the path that is there. Root with a user's HOME, by su or sudo, would make folders there that lock him out; where all may write, in
 * /tmp and such, the folder is root's. */
static bool is_home_of_another(const char *path) {
  char above[LDG_CACHE_PATH];
  struct stat st = { 0 };
  snprintf(above, sizeof above, "%s", path);
  while (stat(above, &st) && strrchr(above, '/') > above) *strrchr(above, '/') = 0;
  return st.st_uid != geteuid() && st.st_uid != 0;
}

/* One that was named is made wherever that is. */
static bool may_make(const char *path) {
  const char *named = ldg_option_get(LDG_OPT_CACHE);
  return (named && *named) || !is_home_of_another(path);
}

int store_open(const char **why) {
  char path[LDG_CACHE_PATH];
  const int dir = ldg_cache_dir(why);
  if (dir >= 0 || *why != ldg_cache_none || ldg_cache_path(path)) return dir;
  if (!may_make(path)) return *why = "it would be a folder in another user's home; LADING_CACHE may name one", -1;
  make_folders(path);
  const int made = ldg_cache_dir(why);
  if (made < 0 && *why == ldg_cache_none) *why = "the cache's folder cannot be made";
  return made;
}

/* A file, since network file systems lock nothing else; it stays, or two could hold one each. */
int store_lock(int dir) {
  const int fd = openat(dir, ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd >= 0 && flock(fd, LOCK_EX) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

bool store_has(const char *text) {
  ldg_cache_kernel k;
  if (ldg_cache_load(text, &k)) return false;
  ldg_cache_unload(&k);
  return true;
}

#define SCRATCH ".lading-jit-" /* and six of mkdtemp's */
static bool is_scratch(const char *name) {
  static const char drawn[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const size_t n = sizeof SCRATCH - 1;
  return !strncmp(name, SCRATCH, n) && strlen(name) == n + 6 && strspn(name + n, drawn) == 6;
}

static int remove_entry(const char *path, const struct stat *st, int what, struct FTW *where) {
  (void)st, (void)what, (void)where;
  remove(path);
  return 0;
}
void store_scratch_remove(const char *path) { nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS); }

bool store_scratch(char path[STORE_PATH]) {
  char folder[LDG_CACHE_PATH];
  if (ldg_cache_path(folder)) return false;
  snprintf(path, STORE_PATH, "%s/" SCRATCH "XXXXXX", folder);
  return mkdtemp(path) != NULL;
}

/* ---- making one ---- */

#define SPARE (LDG_KEY_MAX + 8 + (int64_t)sizeof(ldg_cache_tail))

static const char *const way_name[LDG_CUT_WAYS] = { [LDG_CUT_PLAIN] = "plain", [LDG_CUT_SHUFFLED] = "shuffled" }; /* in names of dumps */

typedef struct work {
  const char *text;
  ldg_key key;
  ldg_cut_way way;
  int dir, fd;
  char path[STORE_PATH + 16]; /* before it is good, and in the cache */
  char *map;                                       /* the file, to be tried */
  int64_t size;
  ldg_cache_tail tail;
  double ratio;
} work;

static const char *compile(work *w, bool dump, int64_t *entry, int64_t *object) {
  char symbol[LDG_KEY_SYMBOL], base[4300], folder[LDG_CACHE_PATH];
  struct stat st;
  ldg_key_symbol(&w->key, w->text, symbol);
  ldg_cache_path(folder);
  snprintf(base, sizeof base, "%s/%s-%s", folder, symbol, way_name[w->way]);
  const char *why = emit_kernel(&w->key, w->way, symbol, w->path, dump ? base : NULL);
  if (why) return why;
  w->fd = open(w->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (w->fd < 0 || fstat(w->fd, &st)) return "the compiler left no object";
  if (!S_ISREG(st.st_mode) || st.st_uid != geteuid()) return "the object is somebody else's";
  if (st.st_size < 64 || st.st_size > LDG_CACHE_FILE_MAX - SPARE) return "the object has a strange size";
  fchmod(w->fd, 0600);
  char *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, w->fd, 0);
  if (bytes == MAP_FAILED) return "the object cannot be read";
  why = object_entry(bytes, st.st_size, symbol, entry);
  munmap(bytes, (size_t)st.st_size);
  *object = st.st_size;
  return why;
}

static bool write_all(int fd, const void *bytes, int64_t n, int64_t at) {
  for (const char *p = bytes; n > 0;) {
    const ssize_t put = pwrite(fd, p, (size_t)n, at);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    p += put, n -= put, at += put;
  }
  return true;
}

/* The file of the object, the key and the tail; also when it stands already, to change the tail. */
static const char *write_tail(work *w, ldg_cache_tail *t) {
  char key[LDG_KEY_MAX + 8] = "";
  const int64_t start = (t->object + 7) & -8;
  strcpy(key, w->text);
  t->key = ((int64_t)strlen(key) + 8) & -8;
  w->size = start + t->key + (int64_t)sizeof *t;
  memcpy(t->magic, LDG_CACHE_MAGIC, sizeof t->magic);
  if (!write_all(w->fd, key, t->key, start) || !write_all(w->fd, t, (int64_t)sizeof *t, start + t->key)) return "no room on the disk";
  if (!w->map) w->map = mmap(NULL, (size_t)w->size, PROT_READ | PROT_EXEC, MAP_SHARED, w->fd, 0);
  if (w->map == MAP_FAILED) return "the object cannot be mapped to be run";
  t->sum = ldg_checksum(w->map, w->size - 8);
  return write_all(w->fd, &t->sum, 8, w->size - 8) ? NULL : "no room on the disk";
}

static const char *judge(work *w, ldg_cache_tail *t) {
  ldg_kernel *kernel = (ldg_kernel *)(uintptr_t)(w->map + t->entry);
  if (!ldg_cpu_has(w->key.level->name)) return "this machine cannot run what it would have to try";
  const char *why = judge_right(&w->key, kernel);
  return why ? why : judge_speed(&w->key, kernel, t, &w->ratio);
}

static const char *make(work *w, bool dump) {
  ldg_cache_tail *t = &w->tail;
  const char *why = compile(w, dump, &t->entry, &t->object);
  t->least = 1, t->most = INT64_MAX, t->machine = ldg_cache_machine();
  if (!why) why = write_tail(w, t);
  if (!why) why = judge(w, t);
  return why;
}

/* It is good and nothing of it can hang but the disk, which may take its time: the host awaits that for as long as it is patient. */
static const char *publish(work *w, int64_t since) {
  alarm(0);
  w->tail.compile_ns = judge_now() - since;
  const bool useless = w->tail.least == INT64_MAX;
  char name[LDG_CACHE_NAME], other[LDG_CACHE_NAME];
  const char *why = write_tail(w, &w->tail);
  ldg_cache_name(w->text, useless ? w->tail.machine : 0, name), ldg_cache_name(w->text, w->tail.machine, other);
  if (!why && (fsync(w->fd) || renameat(AT_FDCWD, w->path, w->dir, name))) why = "it cannot be put in its place";
  if (!why && !useless) unlinkat(w->dir, other, 0); /* this machine's verdict of before, damaged or not asked for */
  return why;
}

static void open_work(work *w, int dir, const char *scratch, const char *text, int way) {
  *w = (work){ .text = text, .dir = dir, .fd = -1, .way = (ldg_cut_way)way };
  ldg_key_read(text, &w->key);
  snprintf(w->path, sizeof w->path, "%s/%d.so", scratch, way);
}

static void close_work(work *w) {
  if (w->map && w->map != MAP_FAILED) munmap(w->map, (size_t)w->size);
  if (w->fd >= 0) close(w->fd);
}

/* In every way that is able; the fastest stays. What was right in one way is not excused by another that is wrong. */
const char *store_kernel(int dir, const char *scratch, const char *text, bool dump) {
  const int64_t since = judge_now();
  work w[LDG_CUT_WAYS];
  const char *why = "no way is able to";
  int best = -1, n = 0;
  if (strlen(text) >= LDG_KEY_MAX || !ldg_key_read(text, &w[0].key)) return "it is no key";
  const ldg_key key = w[0].key;
  for (; n < LDG_CUT_WAYS; n++) {
    open_work(&w[n], dir, scratch, text, n);
    if (!ldg_cut_able(&key, w[n].way)) continue;
    if ((why = make(&w[n], dump))) { close_work(&w[n]); break; }
    if (best < 0 || w[n].ratio > w[best].ratio) best = n;
  }
  if (n == LDG_CUT_WAYS && best >= 0) why = publish(&w[best], since);
  while (n > 0) close_work(&w[--n]);
  return why;
}

/* ---- the files ---- */

static void look_at(int dir, const char *name, void fn(void *arg, const store_item *item), void *arg) {
  store_item item = { .name = name };
  const int fd = ldg_cache_open(dir, name, &item.size, &item.why);
  if (fd < 0) return;
  char *map = item.size ? mmap(NULL, (size_t)item.size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
  item.why = map == MAP_FAILED ? "it cannot be read" : ldg_cache_check(map, item.size, &item.tail, &item.key);
  fn(arg, &item);
  if (map != MAP_FAILED) munmap(map, (size_t)item.size);
  close(fd);
}

static DIR *open_list(int dir) {
  const int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *d = fd < 0 ? NULL : fdopendir(fd);
  if (!d && fd >= 0) close(fd);
  return d;
}

void store_each(int dir, void fn(void *arg, const store_item *item), void *arg) {
  DIR *d = open_list(dir);
  for (struct dirent *e; d && (e = readdir(d));)
    if (ldg_cache_is_name(e->d_name)) look_at(dir, e->d_name, fn, arg);
  if (d) closedir(d);
}

/* ---- throwing away ---- */

#define NAME_MAX_OURS (LDG_KEY_SYMBOL + 32)
/* What a symbol and a way make: ldg_j_LEVEL...HASH-WAY.txt, or .c. The folder may be one in which the user has files, too. */
static bool is_dump(const char *name) {
  static const char *const ends[] = { ".txt", ".c" };
  char end[32];
  const char *dash = strrchr(name, '-');
  if (strncmp(name, "ldg_j_", 6) != 0 || strlen(name) >= NAME_MAX_OURS || !dash || dash - name < 6 + 16 || strspn(dash - 16, "0123456789abcdef") != 16) return false;
  for (int way = 0; way < LDG_CUT_WAYS; way++)
    for (int i = 0; i < 2; i++)
      if (snprintf(end, sizeof end, "-%s%s", way_name[way], ends[i]) > 0 && !strcmp(dash, end)) return true;
  return false;
}
static bool is_ours(const char *name) { return ldg_cache_is_name(name) || is_dump(name); }

/* Kernels, dumps and scratch folders, none of which is opened. */
static void each_name(int dir, void fn(void *arg, const char *name, const struct stat *st), void *arg) {
  DIR *d = open_list(dir);
  struct stat st;
  for (struct dirent *e; d && (e = readdir(d));)
    if ((is_ours(e->d_name) || is_scratch(e->d_name)) && !fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW)) fn(arg, e->d_name, &st);
  if (d) closedir(d);
}

static void remove_one(void *arg, const char *name, const struct stat *st) {
  (void)st;
  if (is_ours(name)) unlinkat(*(int *)arg, name, 0);
}
void store_clear(int dir) { each_name(dir, remove_one, &dir); }

/* Of a helper that was ended while it compiled. */
static void sweep(const char *name, const struct stat *st) {
  char folder[LDG_CACHE_PATH], path[STORE_PATH];
  if (!S_ISDIR(st->st_mode) || st->st_mtime > time(NULL) - 3600 || ldg_cache_path(folder)) return;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  store_scratch_remove(path);
}

typedef struct file { int64_t bytes, used; char name[NAME_MAX_OURS]; } file;
typedef struct census { int64_t n, room, bytes; file *list; } census;

static void count_one(void *arg, const char *name, const struct stat *st) {
  census *c = arg;
  if (is_scratch(name)) sweep(name, st);
  else c->room++, c->bytes += st->st_size;
}
static void note_one(void *arg, const char *name, const struct stat *st) {
  census *c = arg;
  if (is_scratch(name) || c->n == c->room) return;
  file *f = &c->list[c->n++];
  f->bytes = st->st_size, f->used = st->st_mtime;
  snprintf(f->name, sizeof f->name, "%s", name);
}
static int by_use(const void *a, const void *b) {
  const int64_t x = ((const file *)a)->used, y = ((const file *)b)->used;
  return (x > y) - (x < y);
}

void store_trim(int dir, int64_t bytes) {
  census c = { 0 };
  each_name(dir, count_one, &c);
  if (c.bytes <= bytes || !(c.list = ldg_alloc(c.room * (int64_t)sizeof *c.list))) return;
  each_name(dir, note_one, &c);
  qsort(c.list, (size_t)c.n, sizeof *c.list, by_use);
  for (int64_t i = 0; i < c.n && c.bytes > bytes / 4 * 3; i++)
    if (!unlinkat(dir, c.list[i].name, 0)) c.bytes -= c.list[i].bytes;
  ldg_free(c.list);
}
