/* lbench: one tool to see what lading makes of a type (explain, dump), to check it (verify) and to time it (time). */
#include "batches.h"
#include "calibrate.h"
#include "calls.h"
#include "on_device.h"
#include "explain.h"
#include "jit.h"
#include "pairs.h"
#include "place.h"
#include "report.h"
#include "verify.h"
#include "base_cpu.h"
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef LBENCH_SUITES
#define LBENCH_SUITES "bench/suites" /* where the build says the suites are */
#endif

static const char usage[] =
    "usage: lbench MODE [options] [WHAT...]\n"
    "       lbench --version: of it, and of the machine, as reports of numbers begin\n"
    "\n"
    "  explain   what the library makes of a type and why\n"
    "  dump      canonical text and first segments\n"
    "  verify    every strategy against the definition, byte for byte\n"
    "  time      pack and unpack against the hand-written loop and memcpy\n"
    "  calls     what calls take that move nothing or little: types made, segments found, a few bytes\n"
    "  copy      layout to layout, against packing and unpacking and loops by hand; WHAT: pairs, see suites/copy.pairs\n"
    "  jit       kernels compiled at run time: gains, commits, calls while a compiler runs; WHAT: lading-jit\n"
    "  batch     many requests at once on a device: fused, a launch each, a stream each, a graph\n"
    "  ipc       two processes on one GPU: out of the other's memory directly, and packed, copied, unpacked\n"
    "  calibrate measures this machine for the planner's costs, in less than a minute\n"
    "\n"
    "WHAT is a suite (ddtbench, or a path to a .suite file), the name of a problem, a type such as 'vector(8,1,8,double)',\n"
    "or a whole problem line 'name | count | hand loop | type'. Nothing means all suites.\n"
    "\n"
    "  --filter REGEX   only problems whose name matches      --count N      items, for a type on the command line\n"
    "explain: --measure predicted and measured time of every strategy, by the options of time\n"
    "calibrate: --out FILE  and not to the file that the library reads    --device  what the model knows of GPUs\n"
    "        --seconds N  to measure for (40); with 0 as long as it takes to measure all three times\n"
    "verify: --quick    small problems only                   --ranges N     random ranges per strategy (24)\n"
    "        --seed N   of the random bytes and ranges (1)\n"
    "copy:   the options of time but --csv, --segment, --floor and --peers\n"
    "time:   --csv      one line a problem, for programs      --samples N    the median of N counts (21)\n"
    "        --least    the least sample, not the median: for a machine that does other things meanwhile\n"
    "        --min-time US  length of a sample (50)           --segment N    move in ranges of N bytes\n"
    "        --cold N   N bytes of cache lines touched between two uses of a buffer\n"
    "        --floor    the least time for the cache lines touched    --peers[=NAME,...]  other engines, in the same run\n"
    "        --sum      what is packed or unpacked is added to what is there, here and by hand\n"
    "        --peers-dir DIR  where their helpers are (peers/ beside lbench)\n"
    "        --where device|pinned|host-to-device  in the memory of a GPU        --backend cuda|hip (cuda)\n"
    "\n"
    "exit status: 77 no device, 0 all is well, 1 verify found a mismatch, 2 a bad command line or problem\n";

enum { NO_DEVICE = 77 }; /* as tests say that they were skipped */
#define MIN_NS 50e3 /* of a sample */

typedef struct options {
  const char *mode, *suites_dir;
  regex_t filter;
  bool filtered, csv, with_peers, measured, on_device;
  device_where where;
  const char *backend;
  const char *peer_names, *peers_dir, *out;
  int64_t count, seconds;
  verify_options verify;
  measure_options measure;
  char **what;
  int n_what;
} options;

typedef struct work { suite *suites; int n; } work; /* what to do: problems the command line names are suites of one */

static int __attribute__((format(printf, 1, 2))) refuse(const char *format, ...) {
  va_list args;
  fprintf(stderr, "lbench: ");
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fprintf(stderr, "\n");
  return 2;
}

/* ---- command line -------------------------------------------------------------------------------------------------- */

static bool read_number(const char *name, const char *value, int64_t *out) {
  char *end = NULL;
  errno = 0;
  if (value) *out = strtoll(value, &end, 10);
  if (value && *value && !*end && *out >= 0 && !errno) return true;
  refuse("%s needs a number from 0 to %" PRId64, name, INT64_MAX);
  return false;
}

static bool is_among(const char *name, const char *const *all, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(name, all[i]) == 0) return true;
  return false;
}

static bool takes_number(const char *name) {
  static const char *const all[] = { "--count", "--ranges", "--seed", "--samples", "--min-time", "--segment", "--cold", "--seconds" };
  return is_among(name, all, sizeof all / sizeof *all);
}

static bool takes_text(const char *name) {
  static const char *const all[] = { "--where", "--backend", "--out", "--suites", "--peers-dir" };
  return is_among(name, all, sizeof all / sizeof *all);
}

static bool read_text(options *o, const char *name, const char *value) {
  if (!value || !*value) return refuse("%s needs a value", name), false;
  if (strcmp(name, "--where") == 0) return o->on_device = device_where_read(value, &o->where), o->on_device || refuse("no such place: %s", value) == 0;
  if (strcmp(name, "--backend") == 0) o->backend = value;
  else if (strcmp(name, "--out") == 0) o->out = value;
  else if (strcmp(name, "--suites") == 0) o->suites_dir = value;
  else o->peers_dir = value, o->with_peers = true;
  return true;
}

static bool read_option(options *o, const char *name, const char *value) {
  int64_t v = 0;
  if (strcmp(name, "--filter") == 0) {
    o->filtered = value && regcomp(&o->filter, value, REG_EXTENDED | REG_NOSUB) == 0;
    if (!o->filtered) refuse("--filter needs a regular expression");
    return o->filtered;
  }
  if (takes_text(name)) return read_text(o, name, value);
  if (!takes_number(name)) return refuse("unknown option %s; 'lbench' alone prints the usage", name), false;
  if (!read_number(name, value, &v)) return false;
  if (strcmp(name, "--count") == 0) o->count = v;
  else if (strcmp(name, "--ranges") == 0) o->verify.ranges = (int)ldg_min(v, 1 << 20);
  else if (strcmp(name, "--seed") == 0) o->verify.seed = (uint64_t)v;
  else if (strcmp(name, "--samples") == 0) o->measure.samples = (int)ldg_min(v, 1001);
  else if (strcmp(name, "--min-time") == 0) o->measure.min_ns = (double)v * 1e3;
  else if (strcmp(name, "--segment") == 0) o->measure.segment = v;
  else if (strcmp(name, "--cold") == 0) o->measure.cold = v;
  else o->seconds = v;
  return true;
}

/* What sums are not measured by. */
static bool fits_sums(const options *o) {
  return !o->measure.sum || (!o->measure.segment && !o->with_peers) || refuse("--sum goes with neither --segment nor --peers") == 0;
}

static bool is_mode(const options *o, const char *mode) { return strcmp(o->mode, mode) == 0; }

/* What is not measured on devices; --csv says all that there is of floors. */
static bool fits_device(const options *o) {
  if (!is_mode(o, "time") || !o->on_device) return true;
  const bool fits = !o->measure.segment && !o->measure.cold && !o->with_peers && o->measure.min_ns == MIN_NS && (!o->measure.floor || o->csv);
  return fits || refuse("--where goes with none of --segment, --cold, --floor, --peers and --min-time") == 0;
}

/* What is not measured of copies. */
static bool fits_copies(const options *o) {
  const bool fits = !is_mode(o, "copy") || (!o->measure.segment && !o->csv && !o->measure.floor && !o->with_peers && !o->on_device);
  return fits || refuse("copy goes with none of --segment, --csv, --floor, --peers and --where") == 0;
}

/* Modes that have no choice of problems. */
static bool fits_what(const options *o) {
  const char *what = o->n_what ? o->what[0] : NULL;
  if (what && is_mode(o, "calibrate")) return refuse("calibrate has no use for '%s'; a file to write is named by --out FILE", what), false;
  if (what && (is_mode(o, "calls") || is_mode(o, "batch"))) return refuse("%s has no use for '%s'", o->mode, what), false;
  return o->n_what < 2 || !is_mode(o, "jit") || refuse("jit takes one path, that of lading-jit") == 0;
}

static bool read_args(options *o, int argc, char **argv) {
  o->what = argv; /* reused for what is no option */
  for (int i = 2; i < argc; i++) {
    char *arg = argv[i];
    if (strcmp(arg, "--quick") == 0) o->verify.quick = true;
    else if (strcmp(arg, "--device") == 0) o->on_device = true;
    else if (strcmp(arg, "--measure") == 0) o->measured = true;
    else if (strcmp(arg, "--csv") == 0) o->csv = o->measure.floor = true;
    else if (strcmp(arg, "--least") == 0) sampler_take_least();
    else if (strcmp(arg, "--floor") == 0) o->measure.floor = true;
    else if (strcmp(arg, "--sum") == 0) o->measure.sum = true;
    else if (strcmp(arg, "--peers") == 0) o->with_peers = true;
    else if (strncmp(arg, "--peers=", 8) == 0) o->peer_names = arg + 8, o->with_peers = true;
    else if (strncmp(arg, "--", 2) != 0) o->what[o->n_what++] = arg;
    else {
      char *eq = strchr(arg, '=');
      if (eq) *eq = 0;
      const char *value = eq ? eq + 1 : i + 1 < argc ? argv[++i] : NULL;
      if (!read_option(o, arg, value)) return false;
    }
  }
  return true;
}

/* ---- finding problems ---------------------------------------------------------------------------------------------- */

static int is_suite_file(const struct dirent *d) {
  size_t n = strlen(d->d_name);
  return n > 6 && strcmp(d->d_name + n - 6, ".suite") == 0;
}

/* `name` in the folder that this program is in; false when that is unknown. */
static bool beside_tool(char *path, const char *name) {
  ssize_t n = readlink("/proc/self/exe", path, 4096);
  while (n > 0 && path[n - 1] != '/') n--;
  if (n > 0) strcpy(path + n, name);
  return n > 0;
}

/* As built, from the root of the sources, or beside the tool. */
static void find_suites_dir(options *o) {
  static char beside[4096 + 32];
  static const char *const tries[] = { "bench/suites", "suites", "../bench/suites" };
  if (o->suites_dir) return;
  o->suites_dir = LBENCH_SUITES;
  for (int i = 0; i < 3 && access(o->suites_dir, R_OK) != 0; i++) o->suites_dir = tries[i];
  if (access(o->suites_dir, R_OK) != 0 && beside_tool(beside, "../../bench/suites")) o->suites_dir = beside;
}

static suite *more(work *w) {
  suite *s = bench_alloc((w->n + 1) * (int64_t)sizeof *s);
  ldg_copy_bytes(s, w->suites, w->n * (int64_t)sizeof *s);
  ldg_free(w->suites);
  w->suites = s;
  return &s[w->n++];
}

static bool add_file(work *w, const char *path) {
  char fault[512];
  if (suite_load(more(w), path, fault, sizeof fault)) return true;
  w->n--;
  refuse("%s", fault);
  return false;
}

static bool add_named(work *w, const options *o, const char *name) {
  char path[4600];
  snprintf(path, sizeof path, "%s/%s.suite", o->suites_dir, name);
  return add_file(w, path);
}

static bool add_all(work *w, const options *o) {
  struct dirent **list;
  int n = scandir(o->suites_dir, &list, is_suite_file, alphasort);
  bool ok = n > 0;
  if (!ok) refuse("no suites in %s; name the folder with --suites", o->suites_dir);
  for (int i = 0; i < n; i++) {
    char path[4600];
    snprintf(path, sizeof path, "%s/%s", o->suites_dir, list[i]->d_name);
    ok = ok && add_file(w, path);
    free(list[i]);
  }
  if (n >= 0) free(list);
  return ok;
}

static bool add_line(work *w, const char *line) {
  char fault[512];
  suite *s = more(w);
  *s = (suite){ .name = bench_alloc(1), .path = bench_alloc(1), .list = bench_alloc(sizeof *s->list), .n = 1 };
  if (!problem_read(s->list, line, fault, sizeof fault)) {
    refuse("%s", fault);
    s->n = 0;
    return false;
  }
  s->list->suite = "";
  return true;
}

static bool add_type(work *w, const options *o, const char *text) {
  int64_t cap = 2 * (int64_t)strlen(text) + 64;
  char *line = bench_alloc(cap);
  snprintf(line, (size_t)cap, "%.30s%s | %" PRId64 " | - | %s", text, strlen(text) > 30 ? "..." : "", o->count, text);
  bool ok = add_line(w, line);
  ldg_free(line);
  return ok;
}

/* Leaves only the problem of that name; false when there is none. */
static bool keep_problem(suite *s, const char *name) {
  int kept = 0;
  for (int i = 0; i < s->n; i++) {
    problem p = s->list[i];
    if (strcmp(p.name, name) == 0) s->list[kept++] = p;
    else ldg_free(p.text);
  }
  s->n = kept;
  return kept > 0;
}

static bool add_problem(work *w, const options *o, const char *name) {
  int first = w->n;
  bool found = false;
  if (!add_all(w, o)) return false;
  for (int i = first; i < w->n; i++) found |= keep_problem(&w->suites[i], name);
  if (!found) refuse("'%s' is no suite, problem or type; 'lbench dump' lists the suites' problems", name);
  return found;
}

static bool add_what(work *w, const options *o, const char *what) {
  char path[4600];
  snprintf(path, sizeof path, "%s/%s.suite", o->suites_dir, what);
  if (strchr(what, '|')) return add_line(w, what);
  if (strstr(what, ".suite")) return add_file(w, what); /* no type has that in it, but a path what types have */
  if (strpbrk(what, "( ")) return add_type(w, o, what);
  if (access(path, R_OK) == 0) return add_named(w, o, what);
  lading_type *elem;
  if (lading_type_parse(what, &elem) != LADING_OK) return add_problem(w, o, what);
  lading_type_free(elem);
  return add_type(w, o, what);
}

static bool find_work(work *w, options *o) {
  find_suites_dir(o);
  if (!o->n_what && is_mode(o, "explain")) return refuse("explain what? A type, a problem's name or a suite"), false;
  if (!o->n_what) return add_all(w, o);
  for (int i = 0; i < o->n_what; i++)
    if (!add_what(w, o, o->what[i])) return false;
  return true;
}

static bool wanted(const options *o, const problem *p) {
  return !o->filtered || regexec(&o->filter, p->name, 0, NULL, 0) == 0;
}

/* ---- modes --------------------------------------------------------------------------------------------------------- */

typedef int do_problem(const options *o, problem *p, void *arg); /* an exit status */

static int explain_times(const options *o, const problem *p) {
  char why[200];
  return explain_measured(p, &o->measure, why, sizeof why) ? 0 : refuse("%s: %s", p->name, why);
}

static int explain(const options *o, problem *p, void *arg) {
  (void)arg;
  if (o->measured) return explain_times(o, p);
  int64_t n = lading_explain(p->type, p->count, NULL, 0);
  if (n < 0) return refuse("%s: %s", p->name, lading_strerror((int)n));
  char *text = bench_alloc(n + 1);
  lading_explain(p->type, p->count, text, n + 1);
  printf("%s%s", text, n && text[n - 1] == '\n' ? "" : "\n");
  ldg_free(text);
  return 0;
}

#define DUMP_SEGMENTS 16

static int dump_segments(const problem *p) {
  struct iovec iov[DUMP_SEGMENTS];
  int64_t got;
  int err = lading_iov(p->type, p->count, NULL, 0, iov, DUMP_SEGMENTS, &got);
  if (err) return refuse("%s: %s", p->name, lading_strerror(err));
  for (int64_t i = 0, pos = 0; i < got; i++) {
    printf("  packed %8" PRId64 "  memory %10" PRId64 "  length %zu\n", pos, (int64_t)(intptr_t)iov[i].iov_base, iov[i].iov_len);
    pos += (int64_t)iov[i].iov_len;
  }
  if (p->runs > got) printf("  ... %" PRId64 " more\n", p->runs - got);
  return 0;
}

static int dump(const options *o, problem *p, void *arg) {
  (void)o;
  (void)arg;
  const lading_info *t = &p->info;
  int64_t n = lading_type_text(p->type, NULL, 0);
  if (n < 0) return refuse("%s: %s", p->name, lading_strerror((int)n));
  char *text = bench_alloc(n + 1);
  lading_type_text(p->type, text, n + 1);
  printf("%s: %" PRId64 " x %.400s%s\n", p->name, p->count, text, n > 400 ? " ..." : "");
  printf("  item: size %" PRId64 " lb %" PRId64 " extent %" PRId64 " true lb %" PRId64 " true extent %" PRId64 "; %" PRId64 " bytes in %" PRId64 " segments\n",
         t->size, t->lb, t->extent, t->true_lb, t->true_extent, p->size, p->runs);
  ldg_free(text);
  return dump_segments(p);
}

static int verify(const options *o, problem *p, void *arg) {
  int64_t *counts = arg;
  verdict v = verify_problem(p, &o->verify);
  counts[v]++;
  return v == VERIFY_WRONG;
}

typedef struct timing_run { report report; peers *rivals; tally tally; } timing_run;

static int timed(const options *o, problem *p, void *arg) {
  timing_run *t = arg;
  measure_row row;
  char why[200];
  if (!measure_problem(p, &o->measure, t->rivals, &row, why, sizeof why)) {
    fprintf(stderr, "%s skipped: %s\n", p->name, why);
    return 0;
  }
  report_row(&t->report, p, &row, &t->tally);
  return 0;
}

/* Opens, does and closes every wanted problem of a suite; the worst status. */
static int each_problem(const options *o, const suite *s, do_problem *fn, void *arg, int *done) {
  int status = 0;
  char fault[512];
  for (int i = 0; i < s->n; i++) {
    problem *p = &s->list[i];
    if (!wanted(o, p)) continue;
    ++*done;
    int rc;
    if (problem_open(p, fault, sizeof fault)) {
      rc = fn(o, p, arg);
      problem_close(p);
    } else if (p->line) rc = refuse("%s:%d: %s: %s", s->path, p->line, p->name, fault);
    else rc = refuse("%s", fault);
    status = rc > status ? rc : status;
  }
  return status;
}

static int run_plain(const options *o, const work *w, do_problem *fn, void *arg, int *done) {
  int status = 0;
  for (int i = 0; i < w->n; i++) {
    int rc = each_problem(o, &w->suites[i], fn, arg, done);
    status = rc > status ? rc : status;
  }
  return status;
}

static int run_verify(const options *o, const work *w, int *done) {
  int64_t counts[3] = { 0 };
  int status = 0;
  for (int i = 0; i < w->n; i++) {
    int rc = each_problem(o, &w->suites[i], verify, counts, done);
    status = rc > status ? rc : status;
  }
  printf("verify: %" PRId64 " ok, %" PRId64 " wrong, %" PRId64 " skipped\n", counts[VERIFY_OK], counts[VERIFY_WRONG], counts[VERIFY_SKIPPED]);
  return status;
}

static int time_suites(const options *o, const work *w, timing_run *t, int *done) {
  int status = 0, suites = 0;
  tally all = { 0 };
  report_header(&t->report);
  for (int i = 0; i < w->n; i++) {
    t->tally = (tally){ 0 };
    int rc = each_problem(o, &w->suites[i], timed, t, done);
    if (t->tally.problems) report_summary(&t->report, w->suites[i].name, &t->tally);
    suites += t->tally.problems > 0;
    report_add(&all, &t->tally);
    status = rc > status ? rc : status;
  }
  if (suites > 1) report_summary(&t->report, "all", &all);
  return status;
}

static int run_time(const options *o, const work *w, int *done) {
  static peers rivals;
  static char dir[4096 + 32];
  char why[400];
  timing_run t = { .report = { &o->measure, &rivals, o->csv }, .rivals = &rivals };
  if (o->with_peers) {
    beside_tool(dir, "peers");
    if (!peers_start(&rivals, o->peers_dir ? o->peers_dir : dir, o->peer_names, why, sizeof why)) return refuse("%s", why);
  }
  int status = time_suites(o, w, &t, done);
  peers_stop(&rivals);
  return status;
}

static int timed_on_device(const options *o, problem *p, void *arg) {
  device *on = arg;
  device_row row;
  char why[200];
  if (!device_measure(on, p, &o->measure, &row, why, sizeof why)) fprintf(stderr, "%s skipped: %s\n", p->name, why);
  else device_report_row(on, p, &row, o->csv);
  return row.note[0] != 0;
}

static int run_device(const options *o, const work *w, int *done) {
  char why[200];
  device *on = device_open(o->backend, o->where, why, sizeof why);
  if (!on) return refuse("%s", why);
  device_report_header(on, o->csv);
  const int status = run_plain(o, w, timed_on_device, on, done);
  device_close(on);
  return status;
}

static int exchanged(const options *o, problem *p, void *arg) {
  (void)arg;
  return !device_ipc(o->backend, p, o->csv);
}

static int run_ipc(const options *o, const work *w, int *done) {
  device_ipc_header(o->csv);
  return run_plain(o, w, exchanged, NULL, done);
}

static int run_pairs(options *o) {
  find_suites_dir(o);
  return pairs_run(&(pairs_options){ &o->measure, o->filtered ? &o->filter : NULL, o->suites_dir, o->what, o->n_what });
}

static int run_batches(options *o) {
  find_suites_dir(o);
  return batches_time(o->backend, o->suites_dir, o->csv);
}

static int run(const options *o, const work *w) {
  int done = 0, status;
  if (is_mode(o, "verify")) status = run_verify(o, w, &done);
  else if (is_mode(o, "time")) status = o->on_device ? run_device(o, w, &done) : run_time(o, w, &done);
  else if (is_mode(o, "ipc")) status = run_ipc(o, w, &done);
  else status = run_plain(o, w, is_mode(o, "explain") ? explain : dump, NULL, &done);
  return done || status ? status : refuse("no problem matches --filter");
}

/* The library takes a path from / on only. */
static int run_jit(const options *o) {
  static char beside[4096 + 32], path[4096];
  if (!o->n_what) beside_tool(beside, "../backends/gccjit/helper/lading-jit");
  const char *given = o->n_what ? o->what[0] : beside;
  return !realpath(given, path) || access(path, X_OK) ? refuse("%s cannot be run: it is built where libgccjit is", given) : jit_time(path);
}

/* What needs a device ends here where there is none. */
static bool lacks_device(const options *o) {
  const bool needs = is_mode(o, "ipc") || is_mode(o, "batch") || (o->on_device && (is_mode(o, "time") || is_mode(o, "calibrate")));
  if (!needs || device_is_there(o->backend)) return false;
  refuse("no driver and device for %s here", o->backend);
  return true;
}

static bool is_known(const char *mode) {
  static const char *const modes[] = { "explain", "dump", "verify", "time", "calls", "copy", "jit", "batch", "ipc", "calibrate" };
  return is_among(mode, modes, sizeof modes / sizeof *modes);
}

static int print_version(void) {
  char machine[LDG_CPU_LINE];
  ldg_cpu_fingerprint(machine);
  printf("lbench %s\n%s\n", LBENCH_VERSION, machine);
  return 0;
}

int main(int argc, char **argv) {
  options o = { .count = 1, .seconds = CALIBRATE_SECONDS, .backend = "cuda", .verify = { .ranges = 24, .seed = 1 }, .measure = { .samples = 21, .min_ns = MIN_NS } };
  work w = { 0 };
  if (argc < 2 || strcmp(argv[1], "--help") == 0) return fputs(usage, argc < 2 ? stderr : stdout), argc < 2 ? 2 : 0;
  if (strcmp(argv[1], "--version") == 0) return print_version();
  o.mode = argv[1];
  if (!is_known(o.mode)) return refuse("'%s' is no mode; lbench --help names them", o.mode);
  setvbuf(stdout, NULL, _IOLBF, 0);
  const bool read = read_args(&o, argc, argv) && fits_sums(&o) && fits_device(&o) && fits_copies(&o) && fits_what(&o);
  if (read && lacks_device(&o)) return NO_DEVICE;
  if (read && strcmp(o.mode, "calls") == 0) return calls_time();
  if (read && strcmp(o.mode, "jit") == 0) return run_jit(&o);
  if (read && strcmp(o.mode, "calibrate") == 0) return o.on_device ? calibrate_device(o.backend, o.out) : calibrate_machine(o.out, (double)o.seconds);
  if (read && strcmp(o.mode, "batch") == 0) return run_batches(&o);
  const bool pairs = read && strcmp(o.mode, "copy") == 0;
  int status = pairs ? run_pairs(&o) : read && find_work(&w, &o) ? run(&o, &w) : 2;
  for (int i = 0; i < w.n; i++) suite_free(&w.suites[i]);
  ldg_free(w.suites);
  if (o.filtered) regfree(&o.filter);
  return status;
}
