/* cma: copies straight between processes are the copies of one process, for any types on both sides and any range. The other
 * process is a child that sleeps; its memory is a shared mapping at an address that only it has, so the test sees what is there. */
#define _GNU_SOURCE
#include "random_types.h"
#include "api.h"
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARENA = 24 << 20, PAGE = 4096 };

typedef struct remote { pid_t pid; uint64_t there; char *view; } remote;

/* The child gives up bytes [hole, hole_end) of the arena, then says so. */
static void child_main(char *there, int64_t hole, int64_t hole_end, int ready) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (hole < hole_end && munmap(there + hole, (size_t)(hole_end - hole))) _exit(1);
  if (write(ready, "r", 1) != 1) _exit(1);
  for (;;) pause();
}

static remote remote_start(int64_t hole, int64_t hole_end) {
  remote r;
  int fd = memfd_create("lading-test", MFD_CLOEXEC), ready[2];
  char c;
  ck_assert(fd >= 0 && ftruncate(fd, ARENA) == 0 && pipe(ready) == 0);
  char *there = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  r.view = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ck_assert(there != MAP_FAILED && r.view != MAP_FAILED);
  r.there = (uint64_t)(uintptr_t)there;
  r.pid = fork();
  ck_assert_int_ge(r.pid, 0);
  if (r.pid == 0) child_main(there, hole, hole_end, ready[1]);
  close(ready[1]);
  ck_assert_int_eq(read(ready[0], &c, 1), 1);
  close(ready[0]);
  close(fd);
  munmap(there, ARENA);
  return r;
}

static void remote_stop(remote *r) {
  kill(r->pid, SIGKILL);
  ck_assert_int_eq(waitpid(r->pid, NULL, 0), r->pid);
  munmap(r->view, ARENA);
}

/* ---- against the naive stream ---- */

typedef struct end { const lading_type *type; int64_t count; const stream *x; } end;

/* Gets [lo, hi) into a local buffer at `shift`; every byte of the buffer is then as it should be. */
static void get_is_right(const remote *r, const end *far, int64_t at, const end *near, int64_t lo, int64_t hi, const char *spell) {
  buffer mem = buffer_new(near->x->hi - near->x->lo), want = buffer_new(mem.n);
  int64_t done = -7;
  bytes_random(&(rng){ 5 }, mem.data, mem.n);
  memcpy(want.data, mem.data, (size_t)mem.n);
  for (int64_t k = lo; k < hi; k++) want.data[near->x->at[k] - near->x->lo] = r->view[at + far->x->at[k] - far->x->lo];
  const int rc = lading_cma_get(r->pid, r->there + (uint64_t)(at - far->x->lo), far->type, far->count, at_offset(mem.data, -near->x->lo), near->type,
                                near->count, lo, hi, &done);
  ck_assert_msg(rc == LADING_OK && done == hi - lo, "%s: get of [%d, %d): %d, errno %d, done %d", spell, (int)lo, (int)hi, rc, errno, (int)done);
  ck_assert_msg(memcmp(mem.data, want.data, (size_t)mem.n) == 0, "%s: get of [%d, %d) is wrong", spell, (int)lo, (int)hi);
  ck_assert(buffer_guards(&mem));
  buffer_free(&mem);
  buffer_free(&want);
}

/* Puts; nothing else in the arena changes. */
static void put_is_right(remote *r, const end *far, int64_t at, const end *near, int64_t lo, int64_t hi, const char *spell) {
  buffer mem = buffer_new(near->x->hi - near->x->lo);
  const int64_t span = far->x->hi - far->x->lo + PAGE, from = at < PAGE ? 0 : at - PAGE, n = at + span - from;
  char *want = malloc((size_t)n);
  int64_t done = -7;
  bytes_random(&(rng){ (uint64_t)lo + 77 }, mem.data, mem.n);
  memcpy(want, r->view + from, (size_t)n);
  for (int64_t k = lo; k < hi; k++) want[at - from + far->x->at[k] - far->x->lo] = mem.data[near->x->at[k] - near->x->lo];
  const int rc = lading_cma_put(r->pid, r->there + (uint64_t)(at - far->x->lo), far->type, far->count, at_offset(mem.data, -near->x->lo), near->type,
                                near->count, lo, hi, &done);
  ck_assert_msg(rc == LADING_OK && done == hi - lo, "%s: put of [%d, %d): %d, errno %d, done %d", spell, (int)lo, (int)hi, rc, errno, (int)done);
  ck_assert_msg(memcmp(r->view + from, want, (size_t)n) == 0, "%s: put of [%d, %d) is wrong", spell, (int)lo, (int)hi);
  free(want);
  buffer_free(&mem);
}

static void both_ways(remote *r, const end *far, const end *near, rng *g, int ranges, const char *spell) {
  const int64_t n = far->x->n < near->x->n ? far->x->n : near->x->n;
  for (int k = 0; k < ranges; k++) {
    const int64_t lo = k ? rng_in(g, 0, n) : 0, hi = k ? rng_in(g, lo, n) : n, at = rng_in(g, 0, 3 * PAGE);
    get_is_right(r, far, at, near, lo, hi, spell);
    put_is_right(r, far, at, near, lo, hi, spell);
  }
}

START_TEST(random_types_on_both_sides) {
  rng g = rng_of(61);
  remote r = remote_start(0, 0);
  bytes_random(&(rng){ 3 }, r.view, 1 << 20);
  for (int i = 0; i < 400; i++) {
    sample *a = random_type(&g, i % 5, 3000), *b = random_type(&g, 1 + i % 4, 3000);
    char spell[1200];
    const int64_t ac = rng_in(&g, 0, 5), bc = rng_in(&g, 1, 5);
    stream *x = stream_of(a->map, ac), *y = stream_of(b->map, bc);
    snprintf(spell, sizeof spell, "%d x %.500s and %d x %.500s", (int)ac, a->spell, (int)bc, b->spell);
    both_ways(&r, &(end){ a->type, ac, x }, &(end){ b->type, bc, y }, &g, 3, spell);
    stream_free(x);
    stream_free(y);
    sample_free(a);
    sample_free(b);
  }
  remote_stop(&r);
}
END_TEST

/* ---- sizes beyond a call, beyond scratch memory, and all ways that the bytes may go ---- */

/* The offsets by the library's own cursor, which other tests judge. */
static stream *offsets_of(const lading_type *t, int64_t count) {
  const lading_info i = info_of(t);
  int64_t runs, got, k = 0, *at = malloc((size_t)(i.size * count + 1) * 8);
  ck_assert_int_eq(lading_segments_count(t, count, &runs), LADING_OK);
  struct iovec *v = malloc((size_t)(runs + 1) * sizeof *v);
  ck_assert(lading_iov(t, count, NULL, 0, v, runs, &got) == LADING_OK && got == runs);
  for (int64_t j = 0; j < runs; j++)
    for (size_t b = 0; b < v[j].iov_len; b++) at[k++] = (int64_t)(uintptr_t)v[j].iov_base + (int64_t)b;
  stream *x = stream_of_offsets(at, k);
  free(v);
  free(at);
  return x;
}

/* Scattered blocks of 12 bytes in [0, span). */
static lading_type *scattered(rng *g, int64_t n, int64_t span) {
  int64_t *at = malloc((size_t)n * 8);
  lading_type *t = NULL;
  for (int64_t i = 0; i < n; i++) at[i] = i * (span / 12 / n) * 12;
  for (int64_t i = 0; i < n; i++) {
    const int64_t j = rng_in(g, 0, n - 1), was = at[i];
    at[i] = at[j], at[j] = was;
  }
  ck_assert_int_eq(lading_type_hindexed_block(n, 12, at, lading_elem_type(LADING_BYTE), &t), LADING_OK);
  free(at);
  return t;
}

static const char *const big[] = {
  "contiguous(700000,byte)",                    /* one block */
  "vector(90000,1,2,double)",                   /* dense: covered, several scratches */
  "hvector(90000,1,-16,double)",                /* backwards */
  "hvector(4000,1,5000,double)",                /* sparse: listed, more than one call */
  "vector(3000,200,300,byte)",
  "hvector(5,1,3000000,vector(9000,1,3,double))", /* dense heaps far apart */
  "struct([1,1,3000],[0,1500000,1600000],[contiguous(300000,byte),contiguous(1000,byte),resized(int32,0,24)])",
  "hvector(40,1,8,vector(4000,1,40,double))",   /* interleaved columns */
  "hvector(3,1,700000,hvector(60,1,9000,vector(100,2,3,float)))",
};

START_TEST(big_layouts) {
  enum { N = sizeof big / sizeof *big + 2 };
  rng g = rng_of(62);
  lading_type *t[N];
  stream *x[N];
  remote r = remote_start(0, 0);
  bytes_random(&(rng){ 3 }, r.view, ARENA);
  for (int i = 0; i < N - 2; i++) t[i] = parsed(big[i]);
  t[N - 2] = scattered(&g, 20000, 400000);  /* fits into scratch with its gaps, or nearly */
  t[N - 1] = scattered(&g, 20000, 20000000); /* does not */
  for (int i = 0; i < N; i++) x[i] = offsets_of(t[i], 1);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      if (TEST_ASAN && i != j && (i < j) == ((i + j) % 2)) continue; /* it takes a while there */
      char spell[40];
      snprintf(spell, sizeof spell, "layouts %d and %d", i, j);
      both_ways(&r, &(end){ t[i], 1, x[i] }, &(end){ t[j], 1, x[j] }, &g, i == j ? 3 : 1, spell);
    }
  for (int i = 0; i < N; i++) stream_free(x[i]), lading_type_free(t[i]);
  remote_stop(&r);
}
END_TEST

/* ---- what fails ---- */

/* Gets `t` with unmapped memory in the way: *done is how far it could go, and nothing behind that was written. */
static void stops_at(const remote *r, const char *text, int64_t at, int64_t lo, int64_t hi, int64_t want, bool put) {
  lading_type *t = parsed(text);
  char *packed = malloc((size_t)(hi + 1)), *local = malloc((size_t)(hi - lo + 1));
  int64_t done = -7;
  bytes_random(&(rng){ 9 }, local, hi - lo);
  memcpy(packed, local, (size_t)(hi - lo));
  lading_type *c = NULL;
  ck_assert_int_eq(lading_type_contiguous(hi, lading_elem_type(LADING_BYTE), &c), LADING_OK);
  errno = 0;
  const int rc = (put ? lading_cma_put(r->pid, r->there + (uint64_t)at, t, 1, local - lo, c, 1, lo, hi, &done)
                      : lading_cma_get(r->pid, r->there + (uint64_t)at, t, 1, local - lo, c, 1, lo, hi, &done));
  const int why = errno;
  ck_assert_msg(done == want - lo, "%s: done %d, not %d", text, (int)done, (int)(want - lo));
  ck_assert_int_eq(rc, want == hi ? LADING_OK : LADING_ERR_SYSTEM);
  if (rc) ck_assert_int_eq(why, EFAULT);
  if (!put) ck_assert(memcmp(local + done, packed + done, (size_t)(hi - want)) == 0);
  ck_assert_int_eq(lading_pack(t, 1, r->view + at, packed, lo, want), LADING_OK);
  ck_assert(memcmp(local, packed, (size_t)done) == 0);
  free(packed);
  free(local);
  lading_type_free(c);
  lading_type_free(t);
}

START_TEST(partly_unmapped) {
  remote r = remote_start(8 * PAGE, 16 * PAGE); /* pages 8..15 are not there */
  bytes_random(&(rng){ 3 }, r.view, 64 * PAGE);
  for (int put = 0; put < 2; put++) {
    stops_at(&r, "contiguous(100000,byte)", 0, 0, 100000, 8 * PAGE, put);
    stops_at(&r, "contiguous(100000,byte)", 100, 5000, 100000, 8 * PAGE - 100, put);
    stops_at(&r, "contiguous(20000,byte)", 0, 0, 20000, 20000, put);
    stops_at(&r, "contiguous(20000,byte)", 9 * PAGE, 7, 20000, 7, put);
    stops_at(&r, "vector(5000,1,2,double)", 0, 0, 40000, 8 * PAGE / 2, put);             /* covered up to the hole */
    stops_at(&r, "vector(5000,1,2,double)", 12, 13, 40000, 8 * PAGE / 2 - 4, put);        /* which cuts a block */
    stops_at(&r, "hvector(5000,1,-16,double)", 30 * PAGE, 0, 40000, 7 * PAGE + 8, put);
    stops_at(&r, "hvector(60,1,4096,double)", 0, 0, 480, 64, put);                        /* listed */
    stops_at(&r, "hvector(2,1,65536,vector(2048,1,2,double))", 0, 0, 32768, 32768, put);  /* the hole is between the blocks */
    stops_at(&r, "hvector(2,1,65536,vector(2047,1,2,double))", 8, 3, 32700, 32700, put);
  }
  remote_stop(&r);
}
END_TEST

START_TEST(no_such_process) {
  char mem[64];
  int64_t done = 7;
  const lading_type *t = lading_elem_type(LADING_DOUBLE);
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
  ck_assert_int_eq(lading_cma_get(pid, 4096, t, 1, mem, t, 1, 0, 8, &done), LADING_ERR_SYSTEM);
  ck_assert(errno == ESRCH && done == 0);
  done = 7;
  ck_assert_int_eq(lading_cma_put(pid, 4096, t, 1, mem, t, 1, 0, 8, &done), LADING_ERR_SYSTEM);
  ck_assert(errno == ESRCH && done == 0);
}
END_TEST

START_TEST(arguments) {
  char mem[64];
  int64_t done = 7;
  const lading_type *t = lading_elem_type(LADING_DOUBLE);
  lading_type *below = parsed("hindexed_block(1,[-16],double)");
  const pid_t me = getpid();
  ck_assert_int_eq(lading_cma_get(me, 0, NULL, 1, mem, t, 1, 0, 8, &done), LADING_ERR_ARG);
  ck_assert_int_eq(lading_cma_get(me, 0, t, 1, mem, NULL, 1, 0, 8, &done), LADING_ERR_ARG);
  ck_assert_int_eq(lading_cma_put(me, 0, t, -1, mem, t, 1, 0, 8, &done), LADING_ERR_ARG);
  ck_assert_int_eq(lading_cma_put(me, 0, t, 1, mem, t, -1, 0, 8, &done), LADING_ERR_ARG);
  ck_assert_int_eq(lading_cma_get(me, 0, t, 1, mem, t, 1, 0, 8, NULL), LADING_ERR_ARG);
  ck_assert_int_eq(lading_cma_get(me, 0, t, 1, mem, t, 2, 0, 9, &done), LADING_ERR_RANGE);
  ck_assert_int_eq(lading_cma_get(me, 0, t, 1, mem, t, 2, -1, 8, &done), LADING_ERR_RANGE);
  ck_assert_int_eq(lading_cma_get(me, 0, t, 1, mem, t, 2, 5, 4, &done), LADING_ERR_RANGE);
  ck_assert_int_eq(lading_cma_get(me, 0, t, INT64_MAX / 2, mem, t, 2, 5, 6, &done), LADING_ERR_OVERFLOW);
  ck_assert_int_eq(lading_cma_get(me, 15, below, 1, mem, t, 1, 0, 8, &done), LADING_ERR_OVERFLOW);
  ck_assert_int_eq(lading_cma_put(me, UINT64_MAX - 6, t, 1, mem, t, 1, 0, 8, &done), LADING_ERR_OVERFLOW);
  ck_assert_int_eq(done, 0);
  ck_assert_int_eq(lading_cma_get(0, 0, t, 1, NULL, t, 1, 3, 3, &done), LADING_OK); /* no byte, no call */
  ck_assert_int_eq(lading_cma_get(0, 0, t, 0, NULL, t, 0, 0, 0, &done), LADING_OK);
  lading_type_free(below);
}
END_TEST

/* Absolute displacements on both sides, and oneself as the other process. */
START_TEST(absolute_addresses) {
  static double from[64], to[64];
  int64_t done;
  lading_type *s = NULL, *d = NULL;
  for (int i = 0; i < 64; i++) from[i] = i, to[i] = -1;
  const int64_t at[] = { (int64_t)(uintptr_t)&from[40], (int64_t)(uintptr_t)&from[3] };
  const int64_t home[] = { (int64_t)(uintptr_t)&to[5], (int64_t)(uintptr_t)&to[60] };
  ck_assert_int_eq(lading_type_hindexed_block(2, 2, at, lading_elem_type(LADING_DOUBLE), &s), LADING_OK);
  ck_assert_int_eq(lading_type_hindexed_block(2, 2, home, lading_elem_type(LADING_DOUBLE), &d), LADING_OK);
  ck_assert_int_eq(lading_cma_get(getpid(), 0, s, 1, NULL, d, 1, 0, 32, &done), LADING_OK);
  ck_assert(done == 32 && to[4] == -1.0 && to[5] == 40.0 && to[6] == 41.0 && to[7] == -1.0 && to[60] == 3.0 && to[61] == 4.0);
  lading_type_free(s);
  lading_type_free(d);
}
END_TEST

/* Without scratch memory everything is listed; without any, nothing happens. */
START_TEST(little_memory) {
  static char local[40000], want[40000];
  int64_t done = 7;
  remote r = remote_start(0, 0);
  bytes_random(&(rng){ 3 }, r.view, 1 << 20);
  lading_type *t = parsed("vector(5000,1,2,double)"), *c = parsed("contiguous(40000,byte)");
  ck_assert(lading_type_commit(t) == LADING_OK && lading_type_commit(c) == LADING_OK);
  ck_assert_int_eq(lading_pack(t, 1, r.view, want, 0, 40000), LADING_OK);
  ck_assert_int_eq(lading_cma_get(r.pid, r.there, t, 1, local, c, 1, 0, 40000, &done), LADING_OK); /* builds what is built once */
  for (int64_t n = 0; n < 2; n++) {
    memset(local, 0, sizeof local);
    ldg_alloc_fail(n);
    const int rc = lading_cma_get(r.pid, r.there, t, 1, local, c, 1, 0, 40000, &done);
    ldg_alloc_fail(-1);
    ck_assert_int_eq(rc, n ? LADING_OK : LADING_ERR_NOMEM);
    ck_assert_int_eq(done, n ? 40000 : 0);
    ck_assert(!n || memcmp(local, want, sizeof local) == 0);
  }
  lading_type_free(t);
  lading_type_free(c);
  remote_stop(&r);
}
END_TEST

/* ---- bounds of a part of the stream ---- */

static void hull_is_tight(const ldg_rep *rep, const stream *x, int64_t lo, int64_t hi, const char *spell) {
  int64_t from, to, low = lo < hi ? INT64_MAX : 0, high = lo < hi ? INT64_MIN : 0;
  for (int64_t k = lo; k < hi; k++) low = ldg_min(low, x->at[k]), high = ldg_max(high, x->at[k] + 1);
  ldg_rep_hull(rep, lo, hi, &from, &to);
  ck_assert_msg(from == low && to == high, "%s: [%d, %d) is at [%d, %d), not [%d, %d)", spell, (int)lo, (int)hi, (int)from, (int)to,
                (int)low, (int)high);
}

START_TEST(hulls) {
  rng g = rng_of(63);
  for (int i = 0; i < 600; i++) {
    sample *s = random_type(&g, i % 6, 400);
    const int64_t count = rng_in(&g, 0, 4);
    stream *x = stream_of(s->map, count);
    ldg_rep items, raw;
    ldg_side side;
    int64_t lo, hi;
    ck_assert_int_eq(ldg_api_side(s->type, count, NULL, NULL, &side), LADING_OK);
    ck_assert_int_eq(ldg_rep_repeat_in(&items, count, side.extent, side.rep), LADING_OK);
    ck_assert_int_eq(ldg_rep_repeat_in(&raw, count, side.extent, s->type->rep), LADING_OK); /* as written, not canonical */
    ck_assert(lading_type_span(s->type, count, &lo, &hi) == LADING_OK && lo == x->lo && hi == x->hi);
    for (int k = 0; k < 40; k++) {
      const int64_t from = k ? rng_in(&g, 0, x->n) : 0, to = k ? rng_in(&g, from, x->n) : x->n;
      hull_is_tight(&items, x, from, to, s->spell);
      hull_is_tight(&raw, x, from, to, s->spell);
    }
    stream_free(x);
    sample_free(s);
  }
}
END_TEST

/* Not allowed in some containers: said aloud, and reported to the runner as skipped. */
static const char *refusal(void) {
  char a = 1, b = 0;
  const struct iovec from = { &a, 1 }, to = { &b, 1 };
  const pid_t pid = fork();
  if (pid == 0) for (;;) pause();
  const ssize_t n = process_vm_readv(pid, &to, 1, &from, 1, 0);
  const int why = errno;
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  return n == 1 ? NULL : strerror(why);
}

int main(int argc, char **argv) {
  const char *why = refusal();
  if (why) {
    printf("cma: SKIPPED, process_vm_readv of a child does not work here: %s\n", why);
    return 77;
  }
  return CHECK_MAIN("cma", argc, argv, random_types_on_both_sides, big_layouts, partly_unmapped, no_such_process, arguments, absolute_addresses,
                    little_memory, hulls);
}
