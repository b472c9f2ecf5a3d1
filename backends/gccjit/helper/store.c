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

int store_open(const char **why) {
  char path[LDG_CACHE_PATH];
  const int dir = ldg_cache_dir(why);
  if (dir >= 0 || *why != ldg_cache_none || ldg_cache_path(path)) return dir;
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

/* ---- making one ---- */

#define SPARE (LDG_KEY_MAX + 8 + (int64_t)sizeof(ldg_cache_tail))

typedef struct work {
  const char *text;
  ldg_key key;
  ldg_cut_way way;
  int dir, fd;
  char name[LDG_CACHE_NAME], temp[64], path[4200]; /* temp: a name in the folder; path: the same for the compiler */
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
  snprintf(base, sizeof base, "%s/%s%s", folder, symbol, w->way == LDG_CUT_PLAIN ? "-plain" : "-shuffled");
  const char *why = emit_kernel(&w->key, w->way, symbol, w->path, dump ? base : NULL);
  if (why) return why;
  w->fd = openat(w->dir, w->temp, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (w->fd < 0 || fstat(w->fd, &st)) return "the compiler left no object";
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
  t->sum = ldg_cache_sum(w->map, w->size - 8);
  return write_all(w->fd, &t->sum, 8, w->size - 8) ? NULL : "no room on the disk";
}

static const char *judge(work *w, ldg_cache_tail *t) {
  ldg_kernel *kernel = (ldg_kernel *)(uintptr_t)(w->map + t->entry);
  if (!ldg_cpu_has(w->key.level->name)) return "this machine cannot run what it would have to try";
  const char *why = judge_right(&w->key, kernel);
  return why ? why : judge_speed(&w->key, kernel, t, &w->ratio);
}

static const char *make(work *w, bool dump) {
  struct timespec from, to;
  ldg_cache_tail *t = &w->tail;
  clock_gettime(CLOCK_MONOTONIC, &from);
  const char *why = compile(w, dump, &t->entry, &t->object);
  clock_gettime(CLOCK_MONOTONIC, &to);
  t->least = 1, t->compile_ns = (to.tv_sec - from.tv_sec) * INT64_C(1000000000) + to.tv_nsec - from.tv_nsec;
  if (!why) why = write_tail(w, t);
  if (!why) why = judge(w, t);
  return why;
}

static const char *publish(work *w) {
  const char *why = write_tail(w, &w->tail);
  if (!why && (fsync(w->fd) || renameat(w->dir, w->temp, w->dir, w->name))) why = "it cannot be put in its place";
  return why;
}

static void open_work(work *w, int dir, const char *text, int way) {
  char folder[LDG_CACHE_PATH] = "", name[LDG_CACHE_NAME], temp[sizeof w->temp];
  *w = (work){ .text = text, .dir = dir, .fd = -1, .way = (ldg_cut_way)way };
  ldg_key_read(text, &w->key);
  ldg_cache_name(text, name);
  ldg_cache_path(folder);
  snprintf(temp, sizeof temp, "t%ld-%d%.16s.tmp", (long)getpid(), way, name + 1);
  snprintf(w->path, sizeof w->path, "%s/%s", folder, temp);
  memcpy(w->name, name, sizeof name), memcpy(w->temp, temp, sizeof temp);
}

static void close_work(work *w) {
  unlinkat(w->dir, w->temp, 0); /* published ones have another name by now */
  if (w->map && w->map != MAP_FAILED) munmap(w->map, (size_t)w->size);
  if (w->fd >= 0) close(w->fd);
}

/* In every way that is able; the fastest stays. What was right in one way is not excused by another that is wrong. */
const char *store_kernel(int dir, const char *text, bool dump) {
  work w[LDG_CUT_WAYS];
  const char *why = "no way is able to";
  int best = -1, n = 0;
  if (strlen(text) >= LDG_KEY_MAX || !ldg_key_read(text, &w[0].key)) return "it is no key";
  const ldg_key key = w[0].key;
  for (; n < LDG_CUT_WAYS; n++) {
    open_work(&w[n], dir, text, n);
    if (ldg_cut_group(&key, w[n].way, 1, NULL) < 0) continue;
    if ((why = make(&w[n], dump))) { close_work(&w[n]); break; }
    if (best < 0 || w[n].ratio > w[best].ratio) best = n;
  }
  if (n == LDG_CUT_WAYS && best >= 0) why = publish(&w[best]);
  while (n > 0) close_work(&w[--n]);
  return why;
}

/* ---- the files ---- */

static void look_at(int dir, const char *name, void fn(void *arg, const store_item *item), void *arg) {
  store_item item = { .name = name };
  struct stat st;
  const int fd = ldg_cache_open(dir, name, &item.size, &item.why);
  if (fd < 0) return;
  char *map = item.size ? mmap(NULL, (size_t)item.size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
  if (!fstat(fd, &st)) item.used = st.st_mtime;
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

static void remove_one(void *arg, const store_item *item) { unlinkat(*(int *)arg, item->name, 0); }
void store_clear(int dir) { store_each(dir, remove_one, &dir); }

/* What a helper left that was ended while it wrote. */
static void sweep(int dir) {
  DIR *d = open_list(dir);
  struct stat st;
  for (struct dirent *e; d && (e = readdir(d));) {
    const size_t n = strlen(e->d_name);
    if (e->d_name[0] != 't' || n < 5 || strcmp(e->d_name + n - 4, ".tmp") != 0) continue;
    if (!fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) && st.st_mtime < time(NULL) - 3600) unlinkat(dir, e->d_name, 0);
  }
  if (d) closedir(d);
}

typedef struct census { int64_t bytes, used; char name[LDG_CACHE_NAME]; } census;
static void take_census(void *arg, const store_item *item) {
  census *c = arg;
  c->bytes += item->size;
  if (c->name[0] && item->used >= c->used) return;
  c->used = item->used;
  snprintf(c->name, sizeof c->name, "%s", item->name);
}

void store_trim(int dir, int64_t bytes) {
  sweep(dir);
  for (;;) {
    census c = { 0 };
    store_each(dir, take_census, &c);
    if (c.bytes <= bytes || !c.name[0] || unlinkat(dir, c.name, 0)) return;
  }
}
