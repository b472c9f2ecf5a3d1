/* fake: captures, contexts that are reset, and memory of other processes, as real drivers have them. */
#include "fake_tools.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- captures ---- */

START_TEST(graphs) {
  begin("patience -1");
  char *p = device_memory(256), *host = pinned_memory(256), *s = new_stream();
  void *graph = NULL, *exec = NULL;
  kernel("ldg_d_own_fill"); /* no module is loaded while a stream is captured */
  OK(d->begin_capture(s, 1));
  OK(launch("ldg_d_own_fill", 1, 64, s, (own_args){ .dst = p, .n = 64, .value = 0x05050505 }));
  OK(d->to_host(host, p, 256, s));
  OK(d->end_capture(s, &graph));
  OK(d->instantiate(&exec, graph, 0));
  OK(d->graph_free(graph));
  for (int turn = 0; turn < 3; turn++) {
    memset(host, 0, 256);
    OK(d->graph_launch(exec, s));
    ck_assert_int_eq(host[255], 0);
    OK(d->sync(s));
    ck_assert_int_eq(host[255], 5);
  }
  OK(d->graph_launch(exec, s));
  ck_assert_int_ne(d->exec_free(exec), 0); /* not done yet */
  ck_assert_int_eq(faults(), 1);
  OK(d->sync(s));
  OK(d->begin_capture(s, 0));
  ck_assert_int_ne(d->sync(s), 0); /* breaks it */
  ck_assert_int_ne(d->end_capture(s, &graph), 0);
  OK(d->exec_free(exec));
  OK(d->stream_free(s));
  OK(d->free(p));
  OK(d->free_pinned(host));
  unload();
}
END_TEST

/* What disturbs a capture, and who may do it all the same; a stream that joins and is not joined. */
static void *disturb(void *may) {
  int mode = 2;
  void *p = NULL;
  OK(driver_enter(d, 0));
  if (may) OK(d->capture_mode(&mode));
  const int expected = may ? 0 : CAPTURED;
  ck_assert_int_eq(d->query(may), expected);
  ck_assert_int_eq(d->alloc(&p, 16), expected);
  if (may) OK(d->free(p));
  if (may) OK(d->capture_mode(&mode));
  OK(driver_leave(d, 0));
  return NULL;
}

static int captured_beside(void *other) {
  pthread_t t;
  void *s = new_stream(), *graph = NULL;
  OK(d->begin_capture(s, 0));
  OK(pthread_create(&t, NULL, disturb, other));
  pthread_join(t, NULL);
  const int err = d->end_capture(s, &graph);
  if (!err) OK(d->graph_free(graph));
  OK(d->stream_free(s));
  return err;
}

START_TEST(disturbed_captures) {
  begin("");
  void *other = new_stream();
  OK(captured_beside(other));
  ck_assert_int_ne(captured_beside(NULL), 0);
  ck_assert_int_eq(faults(), 2);
  OK(d->stream_free(other));
  end();
}
END_TEST

START_TEST(unjoined_captures) {
  begin("");
  void *s = new_stream(), *other = new_stream(), *graph = NULL, *event[2];
  char *p = device_memory(16);
  for (int i = 0; i < 2; i++) OK(d->event(&event[i], 2));
  for (int joined = 0; joined < 2; joined++) {
    OK(d->begin_capture(s, 1));
    OK(d->record(event[0], s));
    OK(d->wait_event(other, event[0], 0));
    OK(d->fill(p, 1, 16, other));
    OK(d->record(event[1], other));
    if (joined) OK(d->wait_event(s, event[1], 0));
    ck_assert_int_eq(d->end_capture(s, &graph), joined ? 0 : UNJOINED);
  }
  OK(d->graph_free(graph));
  for (int i = 0; i < 2; i++) OK(d->event_free(event[i]));
  OK(d->stream_free(s));
  OK(d->stream_free(other));
  OK(d->free(p));
  end();
}
END_TEST

/* All that was there goes, by whomever it was held. */
START_TEST(resets) {
  begin("");
  void *s = new_stream();
  char *p = device_memory(16);
  OK(d->reset(0));
  ck_assert_int_eq(d->fake("leaks"), 0);
  ck_assert_int_ne(d->stream_free(s), 0);
  ck_assert_int_ne(d->free(p), 0);
  ck_assert_int_eq(faults(), 2);
}
END_TEST

/* ---- other processes ---- */

typedef struct lines { int down[2], up[2]; } lines;

static void send_to(int fd, const void *p, size_t n) { ck_assert_int_eq(write(fd, p, n), (int64_t)n); }
static void receive(int fd, void *p, size_t n) { ck_assert_int_eq(read(fd, p, n), (int64_t)n); }

/* A process at the other ends, which are closed here: where it is gone, reading fails. */
static pid_t start(lines *l, void other(const lines *)) {
  OK(pipe(l->down));
  OK(pipe(l->up));
  const pid_t pid = fork();
  ck_assert(pid >= 0);
  if (!pid) other(l);
  OK(close(l->down[0]));
  OK(close(l->up[1]));
  return pid;
}

/* Opens the owner's memory twice, copies its first half over its second, and waits for a word before it lets go. */
static void importer(const lines *l) {
  driver_ipc h;
  void *p = NULL, *again = NULL;
  receive(l->down[0], &h, sizeof h);
  begin("");
  OK(d->ipc_open(&p, h, 1));
  OK(d->ipc_open(&again, h, 1));
  ck_assert_ptr_eq(p, again);
  OK(launch("ldg_d_own_wide", 1, 1, NULL, (own_args){ .dst = (char *)p + 16, .src = p }));
  OK(d->sync(NULL));
  OK(d->ipc_close(again));
  send_to(l->up[1], "d", 1);
  receive(l->down[0], &h, 1);
  OK(d->ipc_close(p));
  ck_assert_int_ne(d->ipc_close(p), 0);
  ck_assert_int_eq(faults(), 1);
  unload();
  send_to(l->up[1], "c", 1);
  exit(0);
}

START_TEST(two_processes) {
  lines l;
  const pid_t pid = start(&l, importer);
  begin("");
  char *p = device_memory(32), word, *host = pinned_memory(32);
  void *mine = NULL;
  driver_ipc h;
  OK(d->ipc_get(&h, p + 20)); /* says nothing of the 20 */
  ck_assert_int_eq(d->ipc_open(&mine, h, 1), INVALID_CONTEXT);
  OK(d->fill(p, 3, 16, NULL));
  OK(d->fill(p + 16, 4, 16, NULL));
  OK(d->sync(NULL));
  send_to(l.down[1], &h, sizeof h);
  receive(l.up[0], &word, 1);
  OK(d->to_host(host, p, 32, NULL));
  OK(d->sync(NULL));
  for (int i = 0; i < 32; i++) ck_assert_int_eq(host[i], 3);
  send_to(l.down[1], "c", 1);
  receive(l.up[0], &word, 1);
  OK(d->free(p));
  OK(d->free_pinned(host));
  int status = 0;
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  ck_assert_int_eq(status, 0);
  end();
}
END_TEST

/* ---- memory from pieces: CUDA's alone ---- */

enum { PIECE = 2 << 20, BY_FILE = 1, BY_FABRIC = 8 };

/* One piece at two places, the second by way of a descriptor; nobody may use it who was not let. */
START_TEST(pieces) {
  begin("");
  if (!d->create) return;
  const driver_piece how = { .type = 1, .handles = BY_FILE, .place = 1 };
  const driver_access here = { 1, 0, 3 };
  void *piece, *again, *at[2];
  char fabric[64], *host = pinned_memory(16);
  int fd = -1;
  OK(d->create(&piece, PIECE, &how, 0));
  ck_assert_int_ne(d->export_piece(fabric, piece, BY_FABRIC, 0), 0); /* not made for it */
  OK(d->export_piece(&fd, piece, BY_FILE, 0));
  OK(d->import_piece(&again, (void *)(intptr_t)fd, BY_FILE));
  OK(close(fd));
  ck_assert_int_ne(d->import_piece(&again, (void *)(intptr_t)0, BY_FILE), 0);
  for (int i = 0; i < 2; i++) {
    OK(d->reserve(&at[i], PIECE, 0, NULL, 0));
    OK(d->map(at[i], PIECE, 0, i ? again : piece, 0));
  }
  OK(d->release_piece(piece));
  OK(d->release_piece(again));
  ck_assert_int_ne(d->fill(at[0], 1, 16, NULL), 0); /* before anybody has access */
  ck_assert_int_eq(faults(), 1);
  for (int i = 0; i < 2; i++) OK(d->access(at[i], PIECE, &here, 1));
  OK(d->fill(at[0], 9, 16, NULL));
  OK(d->to_host(host, at[1], 16, NULL));
  OK(d->sync(NULL));
  ck_assert_int_eq(host[15], 9);
  for (int i = 0; i < 2; i++) {
    ck_assert_int_ne(d->unreserve(at[i], PIECE), 0); /* in use */
    OK(d->unmap(at[i], PIECE));
    OK(d->unreserve(at[i], PIECE));
  }
  ck_assert_int_eq(faults(), 2);
  OK(d->free_pinned(host));
  end();
}
END_TEST

/* ... and where the owner frees what the other has open, the other may not use it. */
static void late_importer(const lines *l) {
  driver_ipc h;
  void *p = NULL;
  char word;
  receive(l->down[0], &h, sizeof h);
  begin("");
  OK(d->ipc_open(&p, h, 1));
  send_to(l->up[1], "o", 1);
  receive(l->down[0], &word, 1);
  OK(launch("ldg_d_own_wide", 1, 1, NULL, (own_args){ .dst = p, .src = p }));
  ck_assert_int_eq(d->sync(NULL), ILLEGAL_ADDRESS);
  exit((int)faults());
}

START_TEST(freed_by_its_owner) {
  lines l;
  const pid_t pid = start(&l, late_importer);
  begin("");
  char *p = device_memory(32), word;
  driver_ipc h;
  OK(d->ipc_get(&h, p));
  send_to(l.down[1], &h, sizeof h);
  receive(l.up[0], &word, 1);
  OK(d->free(p));
  ck_assert_int_eq(d->fake("orphans"), 1);
  send_to(l.down[1], "f", 1);
  int status = 0;
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 1);
  end();
}
END_TEST

int main(int argc, char **argv) {
  if (getenv("LADING_TEST_BACKEND")) backend = getenv("LADING_TEST_BACKEND");
  return CHECK_MAIN("fake_others", argc, argv, graphs, disturbed_captures, unjoined_captures, resets, two_processes, freed_by_its_owner, pieces);
}
