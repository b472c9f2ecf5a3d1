/* Entry and exit of every call, settings and faults, devices and contexts, live objects. */
#define _GNU_SOURCE
#include "fake.h"
#include "control.h"
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAD_END = 86, STACK = 64 };

fake_settings fake_set = { .devices = 2, .version = FAKE_PICK(13000, 70200000), .room = -1, .patience = 1000, .random = 0x9e3779b97f4a7c15u };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static fake_call *calls;
static bool initialized, forked;
static int64_t faults, any_fail_in;
static int any_fail_with;
static _Thread_local bool calling_back; /* no call into the driver from there */

void fake_lock(void) { pthread_mutex_lock(&lock); calling_back = false; }
void fake_unlock(void) { calling_back = true; pthread_mutex_unlock(&lock); }
void fake_changed(void) { pthread_cond_broadcast(&changed); }
void fake_wait(void) { pthread_cond_wait(&changed, &lock); }

int64_t fake_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

uint64_t fake_random(void) {
  fake_set.random ^= fake_set.random << 13;
  fake_set.random ^= fake_set.random >> 7;
  return fake_set.random ^= fake_set.random << 17;
}

int fake_fault(int err, const char *format, ...) {
  va_list list;
  va_start(list, format);
  fprintf(stderr, "fake driver: ");
  vfprintf(stderr, format, list);
  fprintf(stderr, " (error %d)\n", err);
  va_end(list);
  faults++;
  return err;
}

/* ---- calls ---- */

void fake_know(fake_call *c) { c->next = calls; calls = c; }

static bool named(const fake_call *c, const char *name) {
  const size_t n = strlen(name);
  return !strncmp(c->name, name, n) && (!c->name[n] || !strncmp(c->name + n, "_v", 2));
}

static int refused(fake_call *c) {
  c->count++;
  if (c->fail_in && --c->fail_in == 0) return c->fail_with;
  if (any_fail_in && !strstr(c->name, "PopCurrent") && --any_fail_in == 0) return any_fail_with;
  if (c->needs == ANYTIME) return E_OK;
  if (fake_set.lost) return fake_set.lost;
  if (!initialized) return fake_fault(E_NOT_INIT, "%s before the driver was initialized", c->name);
  if (c->needs == INIT) return E_OK;
  const fake_context *now = fake_current();
  if (!now) return fake_fault(E_CONTEXT, "%s without a current context", c->name);
  return now->error;
}

int fake_enter(fake_call *c) {
  if (forked) return E_NOT_INIT; /* as real drivers: nothing of it lives in a child */
  if (calling_back) return fake_fault(E_NOT_PERMITTED, "%s called by a callback", c->name);
  pthread_mutex_lock(&lock);
  const int err = refused(c);
  if (err) pthread_mutex_unlock(&lock);
  return err;
}

int fake_leave(int err) {
  pthread_mutex_unlock(&lock);
  return err;
}

/* ---- control ---- */

typedef struct setting { const char *name; int64_t *value; } setting;
static const setting settings[] = {
  { "room", &fake_set.room }, { "devices", &fake_set.devices }, { "version", &fake_set.version }, { "patience", &fake_set.patience },
  { "late", &fake_set.late }, { "reuse", &fake_set.reuse }, { "apart", &fake_set.apart },
  { "launch-takes", &fake_set.launch_takes }, { "graph-takes", &fake_set.graph_takes }, { "silent", &fake_set.silent },
  { "still", &fake_set.still },
};

static int64_t reset(void) {
  for (fake_call *c = calls; c; c = c->next) c->count = c->fail_in = 0;
  any_fail_in = fake_set.kernel_fail_in = fake_set.lost = 0;
  fake_set.pageable = fake_set.orphans = fake_set.launch_takes = fake_set.graph_takes = 0;
  return 0;
}

static int64_t count(const char *name) {
  int64_t n = 0;
  for (const fake_call *c = calls; c; c = c->next)
    if (!*name || named(c, name)) n += c->count;
  return n;
}

static int64_t fail(const char *name, int64_t in, int with) {
  if (!strcmp(name, "any")) return any_fail_in = in, any_fail_with = with, 0;
  for (fake_call *c = calls; c; c = c->next)
    if (named(c, name)) return c->fail_in = in, c->fail_with = with, 0;
  return -1;
}

static int64_t queued(void) {
  int64_t n = 0;
  for (fake_stream *s = NULL; (s = fake_find(A_STREAM, s));)
    for (const fake_command *c = s->first; c; c = c->next) n++;
  return n;
}

static int64_t control(const char *line) {
  char verb[32] = "", name[64] = "";
  long long n = 0, e = 0;
  if (sscanf(line, " %31s", verb) != 1) return 0;
  if (!strcmp(verb, "reset")) return reset();
  if (!strcmp(verb, "count")) return sscanf(line, " %*s %63s", name), count(name);
  if (!strcmp(verb, "ran")) return sscanf(line, " %*s %63s", name), fake_kernel_ran(name);
  if (!strcmp(verb, "fail")) return sscanf(line, " %*s %63s %lld %lld", name, &n, &e) == 3 ? fail(name, n, (int)e) : -1;
  if (!strcmp(verb, "faults")) return faults;
  if (!strcmp(verb, "forgive")) return faults = 0;
  if (!strcmp(verb, "leaks")) return fake_leaks(true);
  if (!strcmp(verb, "pageable")) return fake_set.pageable;
  if (!strcmp(verb, "orphans")) return fake_set.orphans;
  if (!strcmp(verb, "queued")) return queued();
  const int got = sscanf(line, " %*s %lld %lld", &n, &e);
  if (!strcmp(verb, "kernel-fail") && got == 2) return fake_set.kernel_fail_in = n, fake_set.kernel_fail_with = (int)e, 0;
  if (!strcmp(verb, "lost") && got == 1) return fake_set.lost = (int)n, 0;
  if (!strcmp(verb, "shuffle") && got == 1) return fake_set.random = (uint64_t)n * 2 + 1, 0;
  for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
    if (!strcmp(verb, settings[i].name) && got == 1) return *settings[i].value = n, 0;
  return -1;
}

FAKE_EXPORT int64_t ldg_fake_control(const char *line);
FAKE_EXPORT int64_t ldg_fake_control(const char *line) {
  if (forked) return -1;
  pthread_mutex_lock(&lock);
  const int64_t n = control(line);
  pthread_mutex_unlock(&lock);
  return n;
}

static void in_child(void) { forked = initialized; }

/* After all calls are known. */
__attribute__((constructor)) static void begin(void) {
  char *lines = getenv("LDG_FAKE"), *copy = lines ? strdup(lines) : NULL, *rest = copy;
  for (char *line; rest && (line = strsep(&rest, ";"));)
    if (control(line) < 0) fake_fault(0, "LDG_FAKE: '%s' means nothing", line);
  free(copy);
  pthread_atfork(NULL, NULL, in_child);
}

__attribute__((destructor)) static void end(void) {
  if (faults && !forked) fprintf(stderr, "fake driver: %lld faults\n", (long long)faults), _exit(BAD_END);
}

/* ---- devices and contexts ---- */

static fake_context primary[FAKE_DEVICES];
static _Thread_local struct { fake_context *at[STACK]; int n; } stack;

fake_context *fake_primary(int device) { return &primary[device]; }
fake_context *fake_current(void) { return stack.n ? stack.at[stack.n - 1] : NULL; }

static bool device_exists(int device) { return device >= 0 && device < fake_set.devices; }

FAKE(cuInit, hipInit, ANYTIME, (unsigned flags), (flags)) {
  if (flags) return E_VALUE;
  if (fake_set.devices < 1) return E_NO_DEVICE;
  for (int i = 0; i < FAKE_DEVICES; i++) primary[i].device = i;
  initialized = true;
  return E_OK;
}

FAKE(cuDriverGetVersion, hipDriverGetVersion, ANYTIME, (int *version), (version)) {
  *version = (int)fake_set.version;
  return E_OK;
}

#ifdef FAKE_HIP
FAKE(cuda_has_no_version_of_that, hipRuntimeGetVersion, ANYTIME, (int *version), (version)) {
  *version = (int)fake_set.version;
  return E_OK;
}
#endif

FAKE(cuDeviceGetCount, hipGetDeviceCount, INIT, (int *n), (n)) {
  *n = (int)fake_set.devices;
  return E_OK;
}

FAKE(cuDeviceGet, hipDeviceGet, INIT, (int *device, int ordinal), (device, ordinal)) {
  if (!device_exists(ordinal)) return E_DEVICE;
  *device = ordinal;
  return E_OK;
}

FAKE(cuDeviceGetName, hipDeviceGetName, INIT, (char *name, int n, int device), (name, n, device)) {
  if (!device_exists(device)) return E_DEVICE;
  snprintf(name, (size_t)n, "a fake device in host memory");
  return E_OK;
}

/* CUDA's numbers; HIP's differ, and there the answer to all is 1. */
FAKE(cuDeviceGetAttribute, hipDeviceGetAttribute, INIT, (int *value, int attribute, int device), (value, attribute, device)) {
  static const struct { int attribute, value; } known[] = {
    { 1, 1024 }, { 2, 1024 }, { 5, 2147483647 }, { 8, 49152 }, { 10, 32 }, { 13, 1500000 }, { 16, 4 }, { 36, 2600000 }, { 37, 4096 },
    { 38, 1 << 20 }, { 39, 2048 }, { 40, 2 }, { 41, 1 }, { 75, 9 }, { 76, 0 }, { 83, 1 }, { 89, 1 }, { 97, 49152 }, { 115, 1 },
  };
  if (!device_exists(device)) return E_DEVICE;
  *value = FAKE_PICK(0, 1);
  for (size_t i = 0; !FAKE_PICK(0, 1) && i < sizeof known / sizeof known[0]; i++)
    if (known[i].attribute == attribute) *value = known[i].value;
  return E_OK;
}

FAKE(cuDevicePrimaryCtxRetain, hipDevicePrimaryCtxRetain, INIT, (void **context, int device), (context, device)) {
  static unsigned long long ids;
  if (!device_exists(device)) return E_DEVICE;
  if (!primary[device].id) primary[device].id = ++ids;
  primary[device].retained++;
  *context = &primary[device];
  return E_OK;
}

FAKE(cuDevicePrimaryCtxRelease_v2, hipDevicePrimaryCtxRelease, INIT, (int device), (device)) {
  if (!device_exists(device)) return E_DEVICE;
  if (!primary[device].retained) return fake_fault(E_CONTEXT, "a primary context is released that nobody holds");
  primary[device].retained--;
  return E_OK;
}

FAKE(cuDevicePrimaryCtxGetState, hipDevicePrimaryCtxGetState, INIT, (int device, unsigned *flags, int *active), (device, flags, active)) {
  if (!device_exists(device)) return E_DEVICE;
  *flags = 0, *active = primary[device].retained > 0;
  return E_OK;
}

/* All there is goes, whoever holds it; who retains it next finds a new one at the same address. */
FAKE(cuDevicePrimaryCtxReset_v2, hipDevicePrimaryCtxReset, INIT, (int device), (device)) {
  if (!device_exists(device)) return E_DEVICE;
  fake_streams_reset(&primary[device]), fake_memory_reset(&primary[device]);
  primary[device] = (fake_context){ .device = device };
  return E_OK;
}

/* HIP's alone: the device of the thread, which ROCm's push changes and its pop does not put back. */
#ifdef FAKE_HIP
static _Thread_local int thread_device;
static void becomes(const fake_context *context) { thread_device = context->device; }
FAKE(cuda_has_no_device_of_threads, hipGetDevice, INIT, (int *device), (device)) {
  *device = thread_device;
  return E_OK;
}
FAKE(cuda_sets_no_device_of_threads, hipSetDevice, INIT, (int device), (device)) {
  if (!device_exists(device)) return E_DEVICE;
  thread_device = device;
  return E_OK;
}
#else
static void becomes(const fake_context *context) { (void)context; }
#endif

static bool context_exists(const fake_context *c) { return c >= primary && c < primary + FAKE_DEVICES && c->retained; }

FAKE(cuCtxPushCurrent_v2, hipCtxPushCurrent, INIT, (fake_context *context), (context)) {
  if (!context_exists(context)) return fake_fault(E_CONTEXT, "no such context is pushed");
  if (stack.n == STACK) return fake_fault(E_VALUE, "contexts are pushed and never popped");
  stack.at[stack.n++] = context;
  becomes(context);
  return E_OK;
}

FAKE(cuCtxPopCurrent_v2, hipCtxPopCurrent, INIT, (fake_context **context), (context)) {
  if (!stack.n) return fake_fault(E_CONTEXT, "a context is popped where none is current");
  stack.n--;
  if (context) *context = stack.at[stack.n];
  return E_OK;
}

#ifndef FAKE_HIP
FAKE(cuCtxGetId, , INIT, (const fake_context *context, unsigned long long *id), (context, id)) {
  if (!context) context = fake_current();
  if (!context || !context_exists(context)) return E_CONTEXT;
  *id = context->id;
  return E_OK;
}
#endif

FAKE(cuCtxSetCurrent, hipCtxSetCurrent, INIT, (fake_context *context), (context)) {
  if (context && !context_exists(context)) return fake_fault(E_CONTEXT, "no such context is made current");
  if (stack.n) stack.n--;
  if (context) stack.at[stack.n++] = context;
  return E_OK;
}

FAKE(cuCtxGetCurrent, hipCtxGetCurrent, INIT, (fake_context **context), (context)) {
  *context = fake_current();
  return E_OK;
}

FAKE(cuCtxGetDevice, hipCtxGetDevice, CURRENT, (int *device), (device)) {
  *device = fake_current()->device;
  return E_OK;
}

/* ---- live objects ---- */

static fake_object *objects[FAKE_KINDS];

void *fake_new(fake_kind kind, size_t size) {
  fake_object *o = calloc(1, size);
  o->kind = kind, o->context = fake_current(), o->next = objects[kind];
  return objects[kind] = o;
}

void fake_drop(void *object) {
  fake_object *o = object, **at = &objects[o->kind];
  while (*at != o) at = &(*at)->next;
  *at = o->next;
  free(o);
}

bool fake_is(const void *object, fake_kind kind) {
  const fake_object *o = objects[kind];
  while (o && o != object) o = o->next;
  return o;
}

void *fake_find(fake_kind kind, void *after) { return after ? ((fake_object *)after)->next : objects[kind]; }

int64_t fake_live(fake_kind kind) {
  int64_t n = 0;
  for (const fake_object *o = objects[kind]; o; o = o->next) n++;
  return n;
}

/* ---- words for errors ---- */

static const struct { int err; const char *name, *says; } words[] = {
  { E_OK, "SUCCESS", "no error" },                     { E_VALUE, "INVALID_VALUE", "invalid argument" },
  { E_MEMORY, "OUT_OF_MEMORY", "out of memory" },      { E_NOT_INIT, "NOT_INITIALIZED", "not initialized" },
  { E_NO_DEVICE, "NO_DEVICE", "no device" },           { E_CONTEXT, "INVALID_CONTEXT", "invalid context" },
  { E_HANDLE, "INVALID_HANDLE", "invalid handle" },    { E_NOT_READY, "NOT_READY", "not ready" },
  { E_ADDRESS, "ILLEGAL_ADDRESS", "illegal address" }, { E_LAUNCH, "LAUNCH_FAILED", "launch failed" },
};

static const char *word(int err, bool says) {
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (words[i].err == err) return says ? words[i].says : words[i].name;
  return says ? "an error" : "ERROR";
}

FAKE(cuGetErrorName, hipDrvGetErrorName, ANYTIME, (int err, const char **name), (err, name)) {
  *name = word(err, false);
  return E_OK;
}

FAKE(cuGetErrorString, hipDrvGetErrorString, ANYTIME, (int err, const char **text), (err, text)) {
  *text = word(err, true);
  return E_OK;
}
