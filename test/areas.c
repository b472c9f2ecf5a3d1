#include "areas.h"

#include <sys/wait.h>
#include <unistd.h>

#define OK(call) ck_assert_int_eq(call, 0)

static const char *backend_name(void) {
  const char *name = getenv("LADING_TEST_BACKEND");
  return name ? name : "cuda";
}

/* No driver survives a fork: it is looked for in a child. */
bool devices_there(void) {
  int n = 0, status = 1;
  const pid_t child = fork();
  if (child == 0) _exit(lading_device_count(backend_name(), &n) == LADING_OK && n > 0 ? 0 : 1);
  waitpid(child, &status, 0);
  if (status) printf("no device for %s here\n", backend_name());
  if (status && getenv("LADING_TEST_FAKE")) exit(1); /* there must be one: then it is no test that is skipped */
  return status == 0;
}

devices devices_open(void) {
  devices v = { .backend = backend_name() };
  v.d = driver_open(v.backend);
  ck_assert(v.d != NULL); /* main has looked */
  OK(driver_enter(v.d, 0));
  OK(v.d->stream(&v.stream, 1));
  OK(lading_queue_create(v.backend, 0, &v.q));
  return v;
}

int64_t devices_say(const devices *v, const char *line) { return v->d->fake ? v->d->fake(line) : -1; }

void devices_close(devices *v) {
  OK(lading_queue_sync(v->q));
  lading_queue_free(v->q);
  OK(v->d->stream_free(v->stream));
  if (v->d->fake) ck_assert_int_eq(v->d->fake("faults"), 0);
  OK(driver_leave(v->d, 0));
}

area area_new(const devices *v, lading_memkind kind, int64_t n) {
  area a = { kind, n, NULL, malloc((size_t)n + 1), v };
  void *p = NULL;
  const size_t bytes = (size_t)n + 64;
  switch (kind) {
  case LADING_MEM_DEVICE: OK(v->d->alloc(&p, bytes)); break;
  case LADING_MEM_PINNED: OK(v->d->alloc_pinned(&p, bytes, 0)); break;
  case LADING_MEM_MANAGED: OK(v->d->alloc_managed(&p, bytes, 1)); break;
  default: p = malloc(bytes);
  }
  a.at = p;
  return a;
}

void area_free(area *a) {
  switch (a->kind) {
  case LADING_MEM_DEVICE: case LADING_MEM_MANAGED: OK(a->v->d->free(a->at)); break;
  case LADING_MEM_PINNED: OK(a->v->d->free_pinned(a->at)); break;
  default: free(a->at);
  }
  free(a->copy);
}

void area_push(area *a) {
  if (a->kind != LADING_MEM_DEVICE) memcpy(a->at, a->copy, (size_t)a->n);
  else if (a->n) {
    OK(a->v->d->to_device(a->at, a->copy, (size_t)a->n, a->v->stream));
    OK(a->v->d->sync(a->v->stream));
  }
}

void area_pull(area *a) {
  if (a->kind != LADING_MEM_DEVICE) memcpy(a->copy, a->at, (size_t)a->n);
  else if (a->n) {
    OK(a->v->d->to_host(a->copy, a->at, (size_t)a->n, a->v->stream));
    OK(a->v->d->sync(a->v->stream));
  }
}

void area_fill(area *a, uint64_t salt) {
  rng r = rng_of(salt);
  bytes_random(&r, a->copy, a->n);
  area_push(a);
}
