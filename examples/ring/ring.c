/* ring [--check | --same] [PROCESSES]: exchanges messages of known shapes around a ring of processes, in five ways, checks every byte,
 * and prints what each way took; then the same for sums over all processes. --check: smaller messages, no table, and memory between
 * the blocks is checked too. --same: senders do not write their messages anew before each exchange, so that receivers may find them in
 * their own caches. */
#include "ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 41, POISON = 0xA5, LINE = 64 };

typedef struct options { bool check, same; int size; } options;

/* ---- contents: a byte of a process says whose and where it is ---- */

static unsigned char content(int rank, int64_t at) {
  return (unsigned char)((((uint64_t)at * 0x9E3779B97F4A7C15u) >> 56) + 37u * (unsigned)rank + 1u);
}

static void fill(const world *w, job *j) {
  for (int64_t k = 0; k < j->w->sent.n; k++) {
    const block b = j->w->sent.at[k];
    for (int64_t i = b.at; i < b.at + b.n; i++) j->out.at[i] = (char)content(w->rank, i);
  }
}

/* What an application does before it sends: the sender's cache has the message, and no other one. */
static void write_anew(job *j) {
  for (int64_t k = 0; k < j->w->sent.n; k++) {
    volatile char *at = j->out.at + j->w->sent.at[k].at;
    for (int64_t i = 0; i < j->w->sent.at[k].n; i += 8) at[i] = at[i];
  }
}

/* Pages that are never touched take no memory, so all of a large window is left alone. */
static void poison(job *j, bool all) {
  if (all) memset(j->in.at, POISON, (size_t)j->in.bytes);
  for (int64_t k = 0; !all && k < j->w->received.n; k++) memset(j->in.at + j->w->received.at[k].at, POISON, (size_t)j->w->received.at[k].n);
}

/* Both lists name the stream piece by piece; byte by byte is slow and plain. Bytes that are right become poison again. */
static void verify(const world *w, job *j, const char *how, bool all) {
  const blocks *s = &j->w->sent, *d = &j->w->received;
  int64_t p = 0, used = 0, seen = 0;
  for (int64_t k = 0; k < d->n; k++)
    for (int64_t i = d->at[k].at; i < d->at[k].at + d->at[k].n; i++, seen++) {
      const int64_t from = s->at[p].at + used;
      if ((unsigned char)j->in.at[i] != content(w->left, from)) {
        fprintf(stderr, "ring: %s %s: byte %lld of the message is wrong\n", j->w->name, how, (long long)seen);
        world_fail(w, "verify", LADING_ERR_FORMAT);
      }
      j->in.at[i] = (char)POISON;
      if (++used == s->at[p].n) p++, used = 0;
    }
  if (seen != j->w->bytes) world_fail(w, "the message has another length", LADING_ERR_FORMAT);
  for (int64_t i = 0; all && i < j->in.bytes; i++)
    if ((unsigned char)j->in.at[i] != POISON) world_fail(w, "a byte between the blocks was written", LADING_ERR_FORMAT);
}

/* ---- rounds ---- */

typedef struct times { double ns[METHODS][ROUNDS]; } times;

static double timed(world *w, job *j, int method) {
  world_barrier(w);
  const double start = world_ns();
  exchange(w, j, method);
  return world_ns() - start;
}

static bool has(const world *w, int method) { return method != CMA || !w->all->no_cma; }

/* All ways in every round, so that what else the machine does hits them alike. */
static void rounds(world *w, job *j, const options *o, times *t) {
  const bool check = o->check;
  for (int r = 0; r < (check ? 2 : ROUNDS); r++)
    for (int m = 0; m < METHODS; m++) {
      const bool look = check || r == 0 || r == ROUNDS - 1;
      if (!has(w, m)) continue;
      if (look) poison(j, check);
      if (!o->same) write_anew(j);
      t->ns[m][r] = timed(w, j, m);
      if (look) verify(w, j, method_names[m], check);
    }
}

/* Cache lines that the blocks touch, if none comes back to a line of an earlier one but the last. */
static double lines_of(const blocks *b) {
  int64_t lines = 0, last = -1;
  for (int64_t k = 0; k < b->n; k++) {
    const int64_t first = b->at[k].at / LINE, end = (b->at[k].at + b->at[k].n - 1) / LINE;
    lines += end - first + (first != last), last = end;
  }
  return (double)lines;
}

/* What staging costs in lines, of what a direct copy does: the staging buffer's are written once and read once. Where every line holds
 * a single element, as in a face across the rows, a copy saves next to nothing. */
static double line_ratio(const workload *w) {
  const double ends = lines_of(&w->sent) + lines_of(&w->received), between = (double)((w->bytes + LINE - 1) / LINE);
  return (ends + 2 * between) / ends;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The medians; the times are sorted, so the best ones come first. */
static void print_row(const world *w, const job *j, times *t) {
  double us[METHODS] = { 0 };
  for (int m = 0; m < METHODS; m++) {
    if (!has(w, m)) continue;
    qsort(t->ns[m], ROUNDS, sizeof *t->ns[m], by_value);
    us[m] = t->ns[m][ROUNDS / 2] / 1e3;
  }
  printf("| %-16s | %7lld | %6lld |", j->w->name, (long long)j->w->bytes, (long long)j->w->sent.n);
  for (int m = 0; m < METHODS; m++) printf(" %8.1f |", us[m]);
  printf(" %5.2f | %5.2f | %5.2f |", us[STAGED] / us[DIRECT], t->ns[STAGED][0] / t->ns[DIRECT][0], line_ratio(j->w));
  printf(" %6lld | %6lld |\n", (long long)j->first, (long long)j->repeat);
  fflush(stdout);
}

static void print_head(const world *w, const options *o) {
  printf("%d processes; each sends to its right and receives from its left; us, medians of %d rounds of process 0;\n", w->size, ROUNDS);
  printf("messages are %s\n", o->same ? "never written again" : "written anew before each exchange");
  printf("staged: packed into shared memory, unpacked from it; pipelined: so in chunks of %d KiB;\n", CHUNK >> 10);
  printf("direct: one copy out of the sender's mapped memory, by its layout; unknown: which is shipped every time;\n");
  printf("cma: by lading_cma_get%s\n", w->all->no_cma ? " (not allowed here)" : "");
  printf("ratio: staged to direct, of medians, of the best rounds, of cache lines touched;\n");
  printf("layout, repeat: bytes of the first offer and of a later one\n\n");
  printf("| workload         |   bytes | blocks |   staged | pipelined|  unknown |   direct |      cma | ratio |  best | lines | layout | repeat |\n");
  printf("|------------------|--------:|-------:|---------:|---------:|---------:|---------:|---------:|------:|------:|------:|-------:|-------:|\n");
}

static void one(world *w, int i, const options *o, times *t) {
  const bool check = o->check;
  workload load;
  job j;
  world_check(w, "types", workload_make(i, check, &load));
  if (load.bytes > STAGE_MAX) world_fail(w, "a message is longer than the staging buffer", LADING_ERR_RANGE);
  job_begin(w, &j, &load);
  fill(w, &j);
  rounds(w, &j, o, t);
  if (w->rank == 0 && !check) print_row(w, &j, t);
  if (j.repeat > 40) world_fail(w, "a repeated offer is longer than 40 bytes", LADING_ERR_RANGE);
  job_end(w, &j);
  workload_free(&load);
}

static int body(world *w, void *arg) {
  const options *o = arg;
  static times t;
  const bool cma = exchange_has_cma(w);
  if (w->rank == 0 && !o->check) print_head(w, o);
  for (int i = 0; i < workload_count(o->check); i++) one(w, i, o, &t);
  const int sums = allreduce_all(w, o->check);
  const char *skipped = cma ? "" : "; cma SKIPPED: not allowed here";
  if (w->rank == 0 && o->check) printf("ring: ok, %d workloads, %d allreduces, %d processes%s\n", workload_count(true), sums, w->size, skipped);
  return 0;
}

int main(int argc, char **argv) {
  options o = { .size = 2 };
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--check")) o.check = true;
    else if (!strcmp(argv[i], "--same")) o.same = true;
    else o.size = atoi(argv[i]);
  }
  if (o.size >= 2 && o.size <= RANKS_MAX) return world_run(o.size, body, &o);
  fprintf(stderr, "usage: ring [--check | --same] [PROCESSES], 2 to %d of them\n", RANKS_MAX);
  return 2;
}
