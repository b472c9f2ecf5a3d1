/* ring [--check | --same] [--only=WORD] [PROCESSES]: exchanges messages of known shapes around a ring of processes, in five ways, checks every byte,
 * and prints what each way took; then the same for sums over all processes. --check: smaller messages, no table, and memory between
 * the blocks is checked too. --same: senders do not write their messages anew before each exchange, so that receivers may find them in
 * their own caches. --only: those workloads that have the word in their names, at least one; sums run anyway.
 *
 * An exchange alone is what benchmarks of MPI time, and what the first ratio is of. It favours the direct ways: their receivers take the
 * sender's own lines, and the sender has to take them back when it writes its next message, while a staged exchange has all of its
 * traffic in lines of the staging buffer, within its time. So the next write of the message's bytes is timed too, after each way, and
 * the second ratio is of both together: what an application sees that writes all of its message, and nothing else, between two
 * exchanges. One that does more in between is somewhere between the two ratios, in time that neither of them counts. */
#include "ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POISON = 0xA5, LINE = 64 };
/* Exchanges that are timed: in a turn, at most, and at least; s after which few are enough, and after which any number is. Fewer are
 * marked in the table. */
enum { TURN = 4, SAMPLES = 400, FEW = 12, SECONDS = 1, PATIENCE = 10 };

typedef struct options { bool check, same; const char *only; int size; } options;

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

typedef struct samples { int n; double ns[SAMPLES]; } samples;
/* Of the exchanges of each way, of the write after each, of both; of a write after no exchange. */
typedef struct times { samples exchange[METHODS], write[METHODS], both[METHODS], alone; } times;

static bool has(const world *w, int method) { return method != CMA || !w->all->no_cma; }

static void add(samples *s, double ns) {
  if (ns >= 0 && s->n < SAMPLES) s->ns[s->n++] = ns;
}

static double time_write(world *w, job *j) {
  world_start(w);
  write_anew(j);
  return world_stop(w);
}

static double time_exchange(world *w, job *j, int method) {
  world_start(w);
  exchange(w, j, method);
  return world_stop(w);
}

/* Nothing is kept of the first exchange of a turn, and the write before it: they find the caches as another way left them, and no
 * program changes its way. */
static void turn(world *w, job *j, const options *o, int method, times *t) {
  for (int i = 0; i <= TURN; i++) {
    const double wrote = o->same ? -1 : time_write(w, j), took = time_exchange(w, j, method);
    if (i == 0) continue;
    add(&t->write[method], wrote), add(&t->exchange[method], took);
    add(&t->both[method], wrote < 0 || took < 0 ? -1 : wrote + took);
  }
}

static void turn_alone(world *w, job *j, times *t) {
  for (int i = 0; i <= TURN; i++) {
    const double wrote = time_write(w, j);
    if (i > 0) add(&t->alone, wrote);
  }
}

static void checked_turn(world *w, job *j, bool all, int method) {
  poison(j, all);
  world_barrier(w);
  exchange(w, j, method);
  verify(w, j, method_names[method], all);
}

static void check_all(world *w, job *j, bool all) {
  for (int m = 0; m < METHODS; m++)
    if (has(w, m)) checked_turn(w, j, all, m);
}

static int fewest(const world *w, const times *t) {
  int n = SAMPLES;
  for (int m = 0; m < METHODS; m++)
    if (has(w, m) && t->exchange[m].n < n) n = t->exchange[m].n;
  return n;
}

/* The ways take turns, so that what else the machine does hits them alike. All processes see the same times, so all stop together. */
static void rounds(world *w, job *j, const options *o, times *t) {
  const double patience = w->crowded ? SECONDS : PATIENCE;
  int n;
  *t = (times){ 0 };
  world_start(w), world_stop(w); /* from now on */
  const double start = world_now(w);
  do {
    for (int m = 0; m < METHODS; m++)
      if (has(w, m)) turn(w, j, o, m, t);
    if (!o->same) turn_alone(w, j, t);
    n = fewest(w, t);
  } while (n < SAMPLES && (n < FEW || world_now(w) - start < SECONDS * 1e9) && world_now(w) - start < patience * 1e9);
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

static void sort(samples *s) { qsort(s->ns, (size_t)s->n, sizeof *s->ns, by_value); }

/* Of samples that are sorted; < 0: there is none. */
static double least(const samples *s) { return s->n ? s->ns[0] : -1; }
static double median(const samples *s) { return s->n ? s->ns[s->n / 2] : -1; }

static void print_us(double ns, const char *end) {
  if (ns < 0) printf("       -%s", end);
  else printf("%8.1f%s", ns / 1e3, end);
}

static void print_ratio(double staged, double direct) {
  if (staged < 0 || direct <= 0) printf("     - |");
  else printf(" %5.2f |", staged / direct);
}

/* The hop before and after: a machine that others share may move a process to another cache. */
static void print_row(const job *j, times *t, const double hop[2]) {
  const int n = t->exchange[t->exchange[STAGED].n < t->exchange[DIRECT].n ? STAGED : DIRECT].n;
  const bool moved = hop[0] > 1.5 * hop[1] || hop[1] > 1.5 * hop[0];
  sort(&t->alone);
  printf("| %-16s | %7lld | %6lld |", j->w->name, (long long)j->w->bytes, (long long)j->w->sent.n);
  for (int m = 0; m < METHODS; m++) {
    sort(&t->exchange[m]), sort(&t->write[m]), sort(&t->both[m]);
    printf(" "), print_us(median(&t->exchange[m]), ""), print_us(median(&t->write[m]), " |");
  }
  print_us(median(&t->alone), " |");
  print_ratio(median(&t->exchange[STAGED]), median(&t->exchange[DIRECT]));
  print_ratio(median(&t->both[STAGED]), median(&t->both[DIRECT]));
  print_ratio(least(&t->exchange[STAGED]), least(&t->exchange[DIRECT]));
  print_ratio(line_ratio(j->w), 1);
  printf(" %4.0f%c | %4d%c | %6lld | %6lld |\n", hop[0], moved ? '?' : ' ', n, n < FEW ? '?' : ' ', (long long)j->first, (long long)j->repeat);
  fflush(stdout);
}

static void print_head(const world *w, const options *o) {
  printf("%d processes; each sends to its right and receives from its left; us until the last one is done, medians\n", w->size);
  printf("of what no process had to leave its processor in: of an exchange, and of the sender's next write of the message's bytes;\n");
  printf("ways take turns of %d, after one that is not timed; messages are %s\n", TURN, o->same ? "never written again" : "written anew before each exchange");
  if (w->crowded) printf("THERE ARE FEWER PROCESSORS THAN PROCESSES, which leave them all the time: there will be few times, or none\n");
  printf("staged: packed into shared memory, unpacked from it; pipelined: so in chunks of %d KiB;\n", CHUNK >> 10);
  printf("direct: one copy out of the sender's mapped memory, by its layout; unknown: which is shipped every time;\n");
  printf("cma: by lading_cma_get%s; write: with no exchange before it\n", w->all->no_cma ? " (not allowed here)" : "");
  printf("ratio: staged to direct, of exchanges alone, as benchmarks of MPI have it; +write: of exchange and next write together, in which a\n");
  printf("sender takes back lines that its receiver read; best: as ratio, of the best ones; lines: of cache lines touched in an exchange;\n");
  printf("hop: ns of a line from process 0 to 1, ?: another one afterwards; n: exchanges timed, of those two ways, ?: too few to rely on, -: none;\n");
  printf("layout, repeat: bytes of the first offer and of a later one\n\n");
  printf("| workload         |   bytes | blocks |");
  for (int m = 0; m < METHODS; m++) printf("%9s  +write |", method_names[m]);
  printf("   write | ratio |+write |  best | lines |  hop  |    n  | layout | repeat |\n|------------------|--------:|-------:|");
  for (int m = 0; m < METHODS; m++) printf("-----------------:|");
  printf("--------:|------:|------:|------:|------:|------:|------:|-------:|-------:|\n");
}

/* False: not asked for. */
static bool one(world *w, int i, const options *o, times *t) {
  const bool check = o->check;
  workload load;
  job j;
  world_check(w, "types", workload_make(i, check, &load));
  if (o->only && !strstr(load.name, o->only)) {
    workload_free(&load);
    return false;
  }
  if (load.bytes > STAGE_MAX) world_fail(w, "a message is longer than the staging buffer", LADING_ERR_RANGE);
  job_begin(w, &j, &load);
  fill(w, &j);
  check_all(w, &j, check);
  if (!check) {
    double hop[2] = { world_hop(w) };
    rounds(w, &j, o, t);
    hop[1] = world_hop(w);
    if (w->rank == 0) print_row(&j, t, hop);
  }
  check_all(w, &j, false); /* the first offer of a layout is not the last one, whichever ways there are */
  if (j.repeat > 40) world_fail(w, "a repeated offer is longer than 40 bytes", LADING_ERR_RANGE);
  job_end(w, &j);
  workload_free(&load);
  return true;
}

static int body(world *w, void *arg) {
  const options *o = arg;
  static times t;
  const bool cma = exchange_has_cma(w);
  if (w->rank == 0 && !o->check) print_head(w, o);
  int done = 0;
  for (int i = 0; i < workload_count(o->check); i++) done += one(w, i, o, &t);
  const int sums = allreduce_all(w, o->check);
  const char *skipped = cma ? "" : "; cma SKIPPED: not allowed here";
  if (w->rank == 0 && o->check) printf("ring: ok, %d workloads, %d allreduces, %d processes%s\n", done, sums, w->size, skipped);
  return 0;
}

/* Is there a workload that is asked for? */
static bool is_any(const options *o) {
  bool found = !o->only;
  for (int i = 0; !found && i < workload_count(o->check); i++) {
    workload load;
    if (workload_make(i, o->check, &load)) continue;
    found = strstr(load.name, o->only) != NULL;
    workload_free(&load);
  }
  return found;
}

int main(int argc, char **argv) {
  options o = { .size = 2 };
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--check")) o.check = true;
    else if (!strcmp(argv[i], "--same")) o.same = true;
    else if (!strncmp(argv[i], "--only=", 7)) o.only = argv[i] + 7;
    else o.size = atoi(argv[i]);
  }
  if (!is_any(&o)) {
    fprintf(stderr, "ring: no workload has \"%s\" in its name\n", o.only);
    return 2;
  }
  if (o.size >= 2 && o.size <= RANKS_MAX) return world_run(o.size, body, &o);
  fprintf(stderr, "usage: ring [--check | --same] [--only=WORD] [PROCESSES], 2 to %d of them\n", RANKS_MAX);
  return 2;
}
