/* The host backend: which kernels run a nest, what they cost, and which instruction set level this machine has. */
#include "kernels.h"

#include "ahead.h"
#include "base_cpu.h"
#include "cost.h"
#include "fields.h"
#include "paced.h"
#include "pieces.h"
#include "shuffle.h"
#include "swept.h"
#include "trial.h"

#include <stdlib.h>

const char ldg_zeros[4096] __attribute__((aligned(4096))) = { 0 };
static const ldg_block_row rows[] = { LDG_BLOCK_ROW_TABLE };
enum { LINE = 64 };
static const int transpose_width[] = { LDG_TRANSPOSE_WIDTHS };

/* ---- the level, found once ---- */

static const ldg_kernels *const built[] = { LDG_LEVELS }; /* best first */
enum { LEVELS = sizeof built / sizeof built[0] };

static const ldg_kernels *find_kernels(void) {
  for (int i = 0; i < LEVELS; i++)
    if (ldg_cpu_runs(built[i]->isa)) return built[i];
  return built[LEVELS - 1];
}

const ldg_kernels *ldg_host_kernels(void) {
  static const ldg_kernels *_Atomic found;
  const ldg_kernels *k = atomic_load_explicit(&found, memory_order_acquire);
  if (!k) atomic_store_explicit(&found, k = find_kernels(), memory_order_release);
  return k;
}

/* ---- what strategies ask of a nest ---- */

static int block_row(int64_t block) {
  int r = 0;
  while (block < rows[r].lo || block > rows[r].hi) r++;
  return r;
}

/* ---- strategies ---- */

static const char *memcpy_why_not(const ldg_nest *n) {
  if (n->at) return "the blocks are listed";
  if (n->nd != 1 || n->dim[0].src != n->block || n->dim[0].dst != n->block) return "not dense on both sides";
  return NULL;
}
static ldg_long *long_of(ldg_job *j) {
  ldg_long *l = (ldg_long *)(void *)j->own;
  *l = (ldg_long){ .libc = ldg_model_count(LDG_MODEL_LIBC), .stream = ldg_model_count(LDG_MODEL_STREAM), .ahead = (int32_t)ldg_min(ldg_model_count(LDG_MODEL_PREFETCH), INT32_MAX) };
  return l;
}
static double bytes_of(const ldg_nest *n) {
  double bytes = n->psum ? (double)n->psum[n->dim[0].n] - (double)n->psum[0] : (double)n->block;
  for (int k = n->psum ? 1 : 0; k < n->nd; k++) bytes *= (double)n->dim[k].n;
  return bytes;
}
/* Of an iteration of the outermost dim, packed. */
static int64_t bytes_each(const ldg_nest *n) {
  int64_t bytes = n->block;
  for (int k = 0; k < n->nd - 1; k++) bytes *= n->dim[k].n;
  return bytes;
}
/* Of more than the first cache holds, the C library may be better from shorter blocks on. */
static int64_t libc_of(const ldg_nest *n) {
  const int64_t run = ldg_model_count(LDG_MODEL_LIBC), row = ldg_model_count(LDG_MODEL_LIBC_ROWS);
  return bytes_of(n) > ldg_model_footprint(LDG_MODEL_L1) ? ldg_min(run, row) : run;
}
/* What the first cache does not hold is loaded by 16 bytes where what comes from memory is best read in some places before (bench/README.md). */
static bool loads_16(void) { return ldg_host_kernels()->register_bytes > 16 && ldg_model_count(LDG_MODEL_TOUCHED) != 0; }
static bool to_aligned(void) { return ldg_model_count(LDG_MODEL_ALIGN) != 0; }
enum { PIECE_LIBC = 4096 }; /* bytes: parts of a run of which most is elsewhere (8 KiB of 32 KiB 95 GB/s, so 155; of 64 to 128 KiB 98, so 115; 2 KiB of them 98, so 80; Zen 5, by 128 bytes after the other) */
enum { ALIGNED = 512, ALIGNED_LATER = 2048 }; /* bytes: runs that lie anywhere, unpacked: 1 and 2 KB 0.92 to 0.99 as fast to aligned places, 3 KB 1.01 to 1.05, 4 KB 1.08, 6 KB 1.13, 20 KB 1.24 (Zen 5) */
_Static_assert(sizeof(ldg_one_run) <= LDG_TRIAL_OWN, "a trial leaves it room");
static int by_libc(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) { /* n bytes, as dense_loop */
  (void)j, (void)i0;
  memcpy(dst, src, (size_t)n);
  return LADING_OK;
}
/* What the first cache holds takes longer when it is asked for. Whether it holds a message only calls find out, where the C library is better beyond it. */
static void memcpy_prepare(ldg_job *j) {
  const int64_t written = ldg_model_count(LDG_MODEL_WRITTEN), libc = ldg_model_count(LDG_MODEL_LIBC), from_cache = ldg_model_count(LDG_MODEL_LIBC_ROWS);
  ldg_one_run *r = (ldg_one_run *)(void *)j->own;
  *r = (ldg_one_run){ .libc = libc, .stream = ldg_model_count(LDG_MODEL_STREAM), .tried = INT64_MAX, .asks = INT64_MAX, .ahead = 64 * written };
  r->back = to_aligned() ? 0 : libc; /* where it was measured */
  if (j->nest.part) r->libc = ldg_min(libc, ldg_max(from_cache, PIECE_LIBC));
  if (written || loads_16()) r->asks = (int64_t)ldg_model_footprint(LDG_MODEL_L1);
  const int64_t tried = ldg_max(from_cache, LDG_TRIAL_LEAST);
  if (tried < r->libc && !j->nest.once) {
    r->tried = tried;
    ldg_trial_prepare(j, (ldg_run *const[]){ ldg_host_kernels()->dense_loop, by_libc }, 2, 0, 1, LDG_TRIAL_LEAST);
    r->trial = j->run;
  }
  r->plain = ldg_min(ldg_min(to_aligned() ? ALIGNED : ALIGNED_LATER, r->asks), ldg_min(ldg_min(r->libc, r->stream), r->tried));
  j->run = ldg_host_kernels()->dense;
}

/* Kernels that put blocks together are of one length of a row, the greatest one. Words have to fill a register, since such kernels save some of the caller's first (two bytes packed 4.1 ns, so 2.7; Zen 4). More than a word goes by a call for each row (16 rows of 4 blocks of 48 bytes one by one 36 ns, so 40; 8 rows of 8 of 16 bytes 18 and 25; Zen 4; bench/README.md has longer rows). */
enum { WORD = 8, REGISTER = 16, ROW_LEAST = 8, REGISTERS_LEAST = 16 };
static bool in_lanes(const ldg_nest *n, int row) {
  if (n->block != rows[row].hi) return false;
  const int64_t least = n->block <= WORD ? REGISTER / n->block : n->block == REGISTER ? REGISTERS_LEAST : n->nd > 1 ? ROW_LEAST : 0;
  return ldg_model_count(n->block > WORD ? LDG_MODEL_JOINED : LDG_MODEL_LANES) != 0 && (n->dim[0].n >= least || (n->any && n->nd == 1));
}
static ldg_run *strided_kernel(const ldg_kernels *k, const ldg_nest *n, int row, int to_dense) {
  const int density = n->dim[0].dst == n->block ? to_dense : n->dim[0].src == n->block ? LDG_DENSE_SRC : LDG_ANY;
  return k->block[row]->strided[ldg_min(n->nd, 3) - 1][density];
}
static ldg_run *block_kernel(const ldg_nest *n, int row) {
  return strided_kernel(ldg_host_kernels(), n, row, in_lanes(n, row) ? LDG_IN_LANES : LDG_DENSE_DST);
}

/* A dim that is dense on one side and strided on the other, and the mirrored one: the makings of a transpose. */
static bool transpose_dims(const ldg_nest *n, int *p, int *q) {
  *p = *q = -1;
  for (int i = n->nd - 1; i >= 0; i--) {
    if (n->dim[i].dst == n->block && n->dim[i].src != n->block) *p = i;
    if (n->dim[i].src == n->block && n->dim[i].dst != n->block) *q = i;
  }
  return *p >= 0 && *q >= 0;
}
static int transpose_row(int64_t block) {
  for (int r = 0; r < LDG_TRANSPOSE_ROWS; r++)
    if (transpose_width[r] == block) return r;
  return -1;
}
static const char *transpose_why_not(const ldg_nest *n) {
  int p, q;
  if (n->at) return "the blocks are listed";
  if (transpose_row(n->block) < 0) return "no transpose kernel of that element width";
  if (!transpose_dims(n, &p, &q)) return "no pair of dims, one dense at the source and one at the destination";
  if (n->ordered) return "destination bytes may coincide, so stream order must be kept";
  return NULL;
}
static double transpose_cost(const ldg_nest *n) {
  int p, q;
  transpose_dims(n, &p, &q);
  return ldg_cost_transpose(n, p, q);
}
/* Packed rows as long as the lines of the other side go on. */
static int64_t transpose_part(const ldg_nest *n) {
  int p, q;
  transpose_dims(n, &p, &q);
  return ldg_max(1, LINE / n->block) * ldg_min(n->dim[n->dim[p].dst == n->block ? p : q].n, INT32_MAX) * n->block;
}

/* Elements of more than a word have no squares, at any level, so from memory they are moved one by one either way: block by block has more lines on their way at once, tiles load each of them fewer times. So where all lines between two visits of one
 * stay in the second cache (the level is halfway into it), both are tried. (Packed out of cache, 300 x 300 of 12 bytes 347 us by tiles, 140 as calls find; 1024 x 1024 of 16 bytes, whose lines have few sets
 * of that cache, 2.5 and 3.8 ms while it was tried; Zen 4, where alone this was measured.) How many items there are to a call of any number nobody knows before, so those are tried, too: shorter calls are not timed. */
static bool may_go_by_blocks(const ldg_nest *n, int p, int q) {
  const int64_t stride = p < q ? n->dim[p].src : n->dim[q].dst, power = (int64_t)((uint64_t)stride & -(uint64_t)stride); /* lines so far apart have as many times fewer sets */
  double lines = 1;
  for (int k = 0; k < ldg_max(p, q); k++) lines *= (double)n->dim[k].n;
  return n->block > WORD && (n->any || bytes_of(n) >= LDG_TRIAL_LEAST) && lines * (double)ldg_max(power, LINE) <= ldg_model_footprint(LDG_MODEL_L2);
}
_Static_assert(sizeof ((ldg_kernels *)NULL)->transpose[0] / sizeof(ldg_run *) < LDG_TRIAL_WAYS, "and one more way");
_Static_assert(2 * LDG_TILE_NUMBERS * sizeof(int64_t) <= LDG_TRIAL_OWN, "a trial leaves it room");
enum { ROW_SETS = 4 }; /* of lines of so few sets rows of the source go one after the other (8 bytes, packed columns of 2 KiB unpack 1.0 to 1.26 times as fast, of 8 KiB 1.6; of 512 bytes, eight sets, 0.8 to 1.06; Zen 5) */
/* Lines of the next tiles are asked for but by the first way, as a trial finds best: always, 33 transposes from memory took 0.76 of the time, warm 0.95, but those of 64 and 128 KiB 1.10 to 1.16 (Zen 4). Rows do not ask, nor few columns of elements that have squares; of others few columns were not measured, and have no such way either. */
static bool tiles_may_ask(const ldg_nest *n, int p, int q) {
  const int64_t few = LDG_FEW_COLUMNS(n->block), least = n->any && ldg_max(p, q) == n->nd - 1 ? n->dim[ldg_min(p, q)].n : ldg_min(n->dim[p].n, n->dim[q].n);
  return ldg_model_count(LDG_MODEL_AHEAD) && ldg_model_count(LDG_MODEL_TOUCHED) && least > few && (n->any || bytes_of(n) >= LDG_TRIAL_LEAST);
}
/* A tile writes to a line of as many rows as a line of the source has elements, and a first cache has eight ways or more. Lines from farther than the second cache
 * gain by being many, which is the plain way. */
static void transpose_prepare(ldg_job *j) {
  int p, q;
  transpose_dims(&j->nest, &p, &q);
  j->aux = (const void *)(uintptr_t)(p + 8 * q);
  const int64_t width = j->nest.block, read = ldg_paced_read(width, j->nest.dim[p].src), to = j->nest.dim[q].dst;
  bool stores_first;
  const int64_t groups = ldg_paced_written(width, to), stores = ldg_paced_stores(width, to, &stores_first) /* measured with those of long columns */, crowded = LINE / width > 8 * ldg_paced_sets(to);
  const int64_t order = crowded ? LDG_PUT_TOGETHER : read && !groups && ldg_paced_sets(j->nest.dim[p].src) <= ROW_SETS ? LDG_BY_ROWS : LDG_BY_LINES;
  const bool asks = order != LDG_BY_ROWS && tiles_may_ask(&j->nest, p, q), meet = read || groups || crowded;
  memcpy(j->own + (stores_first ? 0 : LDG_TILE_NUMBERS), (int64_t[LDG_TILE_NUMBERS]){ [LDG_FEW_READ] = read, [LDG_ORDER] = order, [LDG_NEAR_STORES] = stores, [LDG_ASKS] = asks }, LDG_TILE_NUMBERS * sizeof(int64_t));
  memcpy(j->own + (stores_first ? LDG_TILE_NUMBERS : 0), (int64_t[LDG_TILE_NUMBERS]){ [LDG_FEW_READ] = read, [LDG_FEW_WRITTEN] = groups, [LDG_ORDER] = order, [LDG_ASKS] = asks }, LDG_TILE_NUMBERS * sizeof(int64_t));
  const int tiled = groups ? 3 : meet || asks ? 2 : 1, likely = meet || (asks && bytes_of(&j->nest) > ldg_model_footprint(LDG_MODEL_L2));
  ldg_run *ways[LDG_TRIAL_WAYS];
  memcpy(ways, ldg_host_kernels()->transpose[transpose_row(width)], (size_t)tiled * sizeof *ways);
  ways[tiled] = block_kernel(&j->nest, block_row(width));
  ldg_trial_prepare(j, ways, tiled + may_go_by_blocks(&j->nest, p, q), likely, bytes_each(&j->nest), LDG_TRIAL_LEAST); /* of the far side a few columns have more lines, whole tiles no more */
}

/* Are all lines that blocks of the destination touch theirs alone, if the first one begins one? */
static bool has_whole_lines(const ldg_nest *n) {
  int64_t odd = n->block;
  for (int k = 0; k < n->nd; k++) odd |= n->dim[k].dst;
  return odd % LINE == 0 && !(n->at && n->list == LDG_LIST_DST) && !n->at2;
}

/* Long blocks. How many iterations there will be is not known before, so nor is whether there are bytes enough to go past the caches; nor where they go. Of a block that begins or ends within a
 * line the part there is stored to the caches, so the line is read first, and stores wait for it: short ones lose by that (bench/README.md, "Past the caches"). */
enum { PARTS_LEAST = 768 };
static const ldg_long *long_at(const ldg_job *j) { return (const ldg_long *)(const void *)j->own; }
static bool is_far(const ldg_long *l, int64_t n) {
  int64_t all;
  return __builtin_mul_overflow(l->each, n, &all) || all >= l->stream;
}
static int run_far(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) {
  long_at(j)->far(j, src, dst, i0, n), LDG_STREAM_FENCE();
  return LADING_OK;
}
static bool likely_gains(const ldg_long *l, const char *dst) { return l->parts || (l->whole && (uintptr_t)dst % LINE == 0); }
static int long_run(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) {
  const ldg_long *l = long_at(j);
  return is_far(l, n) && likely_gains(l, dst) ? run_far(j, src, dst, i0, n) : l->near(j, src, dst, i0, n);
}
enum { ROW_STREAM = LDG_BLOCK_ROWS - 1, ROW_CALL = ROW_STREAM - 1, ROW_BY_16 = ROW_CALL - 1, ROW_LOOP = ROW_BY_16 - 1, ROW_AS_IS = ROW_LOOP - 1 };
_Static_assert(sizeof(ldg_long) <= sizeof ((ldg_job *)NULL)->own, "what long blocks go by fits into a job");

static const char *block_why_not(const ldg_nest *n) { return n->at ? "the blocks are listed" : NULL; }
#define FAR_SPAN (512 << 10) /* lists over more memory than this find their lines beyond the second-level cache */
static ldg_run *list_kernel(const ldg_nest *n, int row) {
  const bool far = n->span > FAR_SPAN, lanes = n->list == LDG_LIST_SRC && n->dim[0].dst == n->block && in_lanes(n, row);
  const int how = !n->at4 ? LDG_NEAR8 : lanes ? far ? LDG_FAR_LANES : LDG_NEAR_LANES : far ? LDG_FAR4 : LDG_NEAR4;
  return ldg_host_kernels()->block[row]->list[n->list == LDG_LIST_DST][how];
}

static bool is_by_16(const ldg_nest *n) { return loads_16() && bytes_of(n) > ldg_model_footprint(LDG_MODEL_L1); }
static void prepare_blocks(ldg_job *j, ldg_run *kernel(const ldg_nest *n, int row)) {
  const ldg_nest *n = &j->nest;
  const int row = block_row(n->block);
  j->run = kernel(n, row);
  if (row < ROW_AS_IS) return;
  ldg_long *l = long_of(j);
  l->each = ldg_trial_lines(n); /* as a trial counts, which knows such calls for a kind of their own */
  l->parts = n->block >= PARTS_LEAST, l->whole = has_whole_lines(n);
  l->near = kernel(n, n->block >= libc_of(n) ? ROW_CALL : n->once && is_by_16(n) ? ROW_BY_16 : to_aligned() ? ROW_LOOP : ROW_AS_IS), l->far = kernel(n, ROW_STREAM);
  j->run = long_run;
}

/* Strided addresses come late: of nests by a kernel that waits for them, of lists one by one, since their offsets come as late; what foresees
 * lines goes by instructions, too, and of four that take turns each sees a fourth of the list: so columns that gain by nothing else go one by one. It is for more lines than
 * the first cache holds. */
static bool are_many(const ldg_nest *n) {
  double lines = n->block > LINE ? (double)n->block / LINE : 1;
  for (int k = 0; k < n->nd; k++) lines *= (double)n->dim[k].n;
  return LINE * lines > ldg_model_footprint(LDG_MODEL_L1);
}
static ldg_run *late_kernel(const ldg_nest *n) {
  const int row = block_row(n->block);
  const ldg_block_kernels *k = ldg_host_kernels()->block[row < ROW_AS_IS ? row : ROW_LOOP];
  return !n->at ? k->strided[ldg_min(n->nd, 3) - 1][LDG_LATE] : n->at4 ? k->singly[n->list == LDG_LIST_DST] : NULL;
}

/* Which way is best for long blocks depends on where their lines are, which only calls find out: as they come and by the C library from the second cache,
 * with late addresses, too, where it is slow; by loads of 16 bytes, or four registers that are loaded before they are stored from memory, since then more lines are asked for at once; and of
 * so many bytes that stores may go past the caches, those, or not those if they are likely to gain. */
_Static_assert(sizeof(ldg_long_ways) <= LDG_TRIAL_OWN && LDG_LONG_OTHERS < LDG_TRIAL_WAYS, "a trial leaves it room");
static ldg_run *other_of(const ldg_job *j, int k) { return ((const ldg_long_ways *)(const void *)j->own)->other[k]; }
static int run_first(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) { return other_of(j, 0)(j, src, dst, i0, n); }
static int run_second(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) { return other_of(j, 1)(j, src, dst, i0, n); }
static int run_third(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) { return other_of(j, 2)(j, src, dst, i0, n); }
static int run_last(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) {
  const ldg_long *l = long_at(j);
  if (!is_far(l, n)) return other_of(j, LDG_LONG_OTHERS - 1)(j, src, dst, i0, n);
  return likely_gains(l, dst) ? l->near(j, src, dst, i0, n) : run_far(j, src, dst, i0, n);
}
static void try_long(ldg_job *j, ldg_run *kernel(const ldg_nest *n, int row), ldg_run *late) {
  static ldg_run *const others[LDG_LONG_OTHERS - 1] = { run_first, run_second, run_third };
  ldg_run *ways[LDG_TRIAL_WAYS] = { long_run };
  ldg_long_ways *t = (ldg_long_ways *)(void *)j->own;
  int n = 0;
  if (bytes_of(&j->nest) < LDG_TRIAL_LEAST) return;
  if (!to_aligned()) t->other[n++] = kernel(&j->nest, ROW_LOOP);
  if (!to_aligned() && j->nest.block >= libc_of(&j->nest)) t->other[n++] = kernel(&j->nest, ROW_AS_IS);
  if (loads_16()) {
    ldg_run *const by_16 = kernel(&j->nest, ROW_BY_16), *const wide = t->long_.near;
    const bool likely = is_by_16(&j->nest);
    t->long_.near = likely ? by_16 : wide, t->other[n++] = likely ? wide : by_16;
  }
  for (int k = 0; k < n; k++) ways[1 + k] = others[k];
  t->other[LDG_LONG_OTHERS - 1] = late ? late : t->long_.near;
  if (late || j->nest.any || is_far(&t->long_, j->nest.dim[j->nest.nd - 1].n)) ways[++n] = run_last;
  ldg_trial_prepare(j, ways, n + 1, 0, ldg_trial_lines(&j->nest), LDG_TRIAL_LEAST);
}
static ldg_run *asking_kernel(const ldg_nest *n) {
  const int row = block_row(n->block);
  const ldg_block_kernels *k = ldg_host_kernels()->block[row < ROW_AS_IS ? row : ROW_LOOP];
  return n->at ? k->list[n->list == LDG_LIST_DST][LDG_ASKING4] : k->strided[ldg_min(n->nd, 3) - 1][LDG_ASKING];
}
/* Behind what else kernels go by. NULL: it could gain nothing. */
static ldg_run *asking_too(ldg_job *j, int64_t least) {
  if (!ldg_ahead_may_gain(&j->nest, least)) return NULL;
  ldg_ahead_settle(j);
  return asking_kernel(&j->nest);
}
static ldg_run *late_if_many(const ldg_nest *n) { return are_many(n) ? late_kernel(n) : NULL; }
/* Blocks that come from memory, or go there, and lie anywhere: of moves by 16 bytes fewer cross lines than of those by wider registers. A lower level has the kernels. */
enum { REGISTER_WIDE = 32 }; /* bytes: shorter blocks go by 16 anyway */
static const ldg_kernels *kernels_by_16(void) {
  for (int i = 0; i < LEVELS; i++)
    if (built[i]->register_bytes == 16) return built[i];
  return NULL;
}
static const char *by_16_why_not(const ldg_nest *n) {
  if (n->at) return "the blocks are listed";
  if (n->block < REGISTER_WIDE || block_row(n->block) >= ROW_AS_IS) return "blocks of less than 32 bytes, or more than 256";
  if (!loads_16()) return "registers have 16 bytes, or this machine does not mind";
  if (!kernels_by_16()) return "no level whose registers have 16 bytes was built";
  return n->once || !ldg_trial_times(n, ldg_ahead_least(n)) ? "calls are few, or lines, so nobody finds out whether that is faster" : NULL;
}
static ldg_run *by_16_kernel(const ldg_nest *n) { return strided_kernel(kernels_by_16(), n, block_row(n->block), LDG_DENSE_DST); }
static ldg_run *by_16_too(const ldg_nest *n) { return by_16_why_not(n) ? NULL : by_16_kernel(n); }
/* And blocks of which lines are many: one by one, with late addresses, asked for, by 16 bytes, or swept first. */
static void try_others(ldg_job *j) {
  ldg_run *ways[LDG_TRIAL_WAYS] = { j->run }, *late = late_if_many(&j->nest), *asking = asking_too(j, ldg_ahead_least(&j->nest)), *by_16 = by_16_too(&j->nest), *swept = ldg_swept_way(j, j->run);
  int n = 1;
  if (late) ways[n++] = late;
  if (asking) ways[n++] = asking;
  if (by_16) ways[n++] = by_16;
  if (swept) ways[n++] = swept;
  ldg_trial_prepare(j, ways, n, 0, ldg_trial_lines(&j->nest), ldg_ahead_least(&j->nest));
}
static void try_blocks(ldg_job *j, ldg_run *kernel(const ldg_nest *n, int row)) {
  prepare_blocks(j, kernel);
  if (j->nest.once) return;
  if (j->run == long_run) try_long(j, kernel, late_if_many(&j->nest));
  else try_others(j);
}
static void block_plainly(ldg_job *j) { prepare_blocks(j, block_kernel); }
static void block_prepare(ldg_job *j) { try_blocks(j, block_kernel); }
static const char *only_listed(const ldg_nest *n) {
  if (!n->at) return "the blocks are not listed";
  if (n->nd > 1) return "loops around a list";
  return n->at2 ? "both sides are listed" : NULL;
}

static const char *list_why_not(const ldg_nest *n) {
  if (only_listed(n)) return only_listed(n);
  return n->psum ? "the blocks differ in length" : NULL;
}
static void list_plainly(ldg_job *j) { long_of(j), prepare_blocks(j, list_kernel); }
static void list_prepare(ldg_job *j) { long_of(j), try_blocks(j, list_kernel); }

/* As `late`: there to be forced, and verified. */
static void swept_prepare(ldg_job *j) {
  list_plainly(j);
  ldg_run *swept = ldg_swept_way(j, j->run);
  if (swept) j->run = swept; /* the model may be another one by now than it was when this was chosen */
}

static void ahead_prepare(ldg_job *j) {
  ldg_job plain = *j;
  (j->nest.at ? list_plainly : block_plainly)(&plain);
  ldg_ahead_prepare(j, &plain, asking_kernel(&j->nest), by_16_too(&j->nest));
}

static void paced_prepare(ldg_job *j) {
  const int row = block_row(j->nest.block);
  const ldg_block_kernels *k = ldg_host_kernels()->block[row];
  ldg_paced_prepare(j, &(ldg_paced_ways){ k->groups, k->apart, block_kernel(&j->nest, row), late_if_many(&j->nest), asking_too(j, LDG_TRIAL_LEAST) });
}

static const char *varlist_why_not(const ldg_nest *n) {
  if (only_listed(n)) return only_listed(n);
  return n->psum ? NULL : "the blocks are of one length";
}
enum { LIST_LIBC = 4096 }; /* bytes: blocks of lists differ in length, so a call for each is foreseen worse (8 to 2048 bytes: 1.07 times the time; Zen 5) */
static int64_t longest_of(const ldg_nest *n) {
  int64_t longest = 0;
  for (int64_t i = 0; i < n->dim[0].n; i++) longest = ldg_max(longest, n->psum[i + 1] - n->psum[i]);
  return longest;
}
static void prepare_varlist(ldg_job *j, int which) {
  const ldg_nest *n = &j->nest;
  ldg_long *l = long_of(j);
  l->each = longest_of(n);
  l->libc = ldg_max(libc_of(n), LIST_LIBC);
  j->run = ldg_host_kernels()->varlist[which];
}
static int listed_side(const ldg_nest *n) { return n->list == LDG_LIST_DST ? LDG_VAR_DST : LDG_VAR_SRC; }
static void varlist_plainly(ldg_job *j) { prepare_varlist(j, listed_side(&j->nest)); }
static int64_t end_of_list(const ldg_nest *n) {
  int64_t end = INT64_MIN / 2; /* kernels take some from it */
  for (int64_t i = 0; i < n->dim[0].n; i++)
    if (n->psum[i + 1] > n->psum[i]) end = ldg_max(end, n->at[i] + (n->psum[i + 1] - n->psum[i]));
  return end;
}
static ldg_run *varlist_late(ldg_job *j) {
  ((ldg_long *)(void *)j->own)->end = end_of_list(&j->nest);
  return ldg_host_kernels()->varlist[LDG_VAR_LATE + listed_side(&j->nest)];
}
static bool varlist_is_much(const ldg_nest *n) { return bytes_of(n) > ldg_model_footprint(LDG_MODEL_L1); }
/* Late kernels have late addresses where blocks are long. Where all are short they ask for lines, if masks are not foreseen here; without masks they have no branch that hangs on lengths (genkernels/varlist.inc). */
enum { LATE_SHORTS = 64 };
static bool late_shorts(const ldg_nest *n, int64_t longest) {
  const int64_t masked = ldg_host_kernels()->short_bytes;
  return n->dim[0].n >= LDG_TRIAL_LEAST / LINE && (masked ? longest <= masked && ldg_model_count(LDG_MODEL_MASKED) : longest <= LATE_SHORTS);
}
static void varlist_prepare(ldg_job *j) {
  varlist_plainly(j);
  const int64_t longest = ((const ldg_long *)(const void *)j->own)->each;
  const bool may_gain = !j->nest.once && (late_shorts(&j->nest, longest) || (longest > LDG_VAR_SHORT && varlist_is_much(&j->nest)));
  ldg_trial_prepare(j, (ldg_run *const[]){ j->run, may_gain ? varlist_late(j) : NULL }, may_gain ? 2 : 1, 0, ldg_trial_lines(&j->nest), LDG_TRIAL_LEAST);
}

static void runs_prepare(ldg_job *j) {
  ldg_job part = *j;
  (j->nest.psum ? varlist_plainly : list_plainly)(&part), ldg_runs_prepare(j, &part);
}

static void fields_prepare(ldg_job *j) {
  if (j->nest.nd == 1) {
    ldg_job part = *j;
    varlist_plainly(&part), ldg_fields_prepare_item(j, &part);
  } else if (ldg_fields_prepare(j) && !j->nest.once) try_others(j);
}

/* Of kernels that move block by block. */
static double plain_cost(const ldg_nest *n) { return n->psum ? ldg_cost_varlist(n) : n->at ? ldg_cost_list(n) : ldg_cost_block(n); }

static const char *only_both_listed(const ldg_nest *n) {
  if (!n->at2) return "not both sides are listed";
  return n->list == LDG_LIST_SRC ? NULL : "the first list is that of the destination";
}
static const char *lists_why_not(const ldg_nest *n) {
  if (only_both_listed(n)) return only_both_listed(n);
  if (n->psum) return "the blocks differ in length";
  return n->at4 && n->at2_4 ? NULL : "offsets of more than 4 bytes";
}
static ldg_run *lists_kernel(const ldg_nest *n, int row) { return ldg_host_kernels()->block[row]->both[n->span > FAR_SPAN]; }
static void lists_prepare(ldg_job *j) { long_of(j), prepare_blocks(j, lists_kernel); }

static const char *varlists_why_not(const ldg_nest *n) {
  if (only_both_listed(n)) return only_both_listed(n);
  return n->psum ? NULL : "the blocks are of one length";
}

/* It is there to be forced, and verified: what it gains only a trial knows, of which it is a way. */
static const char *late_why_not(const ldg_nest *n) {
  if (n->once) return "one call does not find out whether that is faster";
  const char *why = !n->at ? NULL : n->psum ? varlist_why_not(n) : list_why_not(n);
  if (why) return why;
  if (n->psum ? !varlist_is_much(n) && !late_shorts(n, longest_of(n)) : !are_many(n)) return "the first cache holds its lines";
  return n->psum || late_kernel(n) ? NULL : "offsets of more than 4 bytes, or blocks of more than a line";
}
static double late_share(const ldg_nest *n) { return (void)n, 1.01; }
static void late_prepare(ldg_job *j) {
  if (j->nest.psum) varlist_plainly(j), j->run = varlist_late(j);
  else if (block_row(j->nest.block) < ROW_AS_IS) j->run = late_kernel(&j->nest);
  else prepare_blocks(j, block_kernel), ((ldg_long *)(void *)j->own)->near = late_kernel(&j->nest);
}

static void varlists_prepare(ldg_job *j) { prepare_varlist(j, LDG_VAR_BOTH); }

/* The lanes to shuffle by: single bytes where the machine can, since they take any nest. LDG_LANES: none. Found once. */
static int shuffle_lanes(void) {
  static _Atomic int found;
  int lanes = atomic_load_explicit(&found, memory_order_relaxed) - 1;
  if (lanes >= 0) return lanes;
  lanes = !ldg_host_kernels()->shuffle[LDG_LANES_OF_4] ? LDG_LANES : ldg_cpu_runs("v4+vbmi") ? LDG_LANES_OF_1 : LDG_LANES_OF_4;
  atomic_store_explicit(&found, lanes + 1, memory_order_relaxed);
  return lanes;
}
static int lane_bytes(void) { return shuffle_lanes() == LDG_LANES_OF_1 ? 1 : 4; }
static const char *shuffle_extent(const ldg_nest *n, int *inside, int *times) {
  return shuffle_lanes() == LDG_LANES ? "needs AVX-512" : ldg_shuffle_extent(n, lane_bytes(), inside, times);
}
static const char *shuffle_why_not(const ldg_nest *n) {
  int inside, times;
  return n->at2 ? "both sides are listed" : shuffle_extent(n, &inside, &times);
}
static double shuffle_cost(const ldg_nest *n) {
  int inside, times;
  shuffle_extent(n, &inside, &times);
  return ldg_cost_shuffle(n, inside, times);
}
_Static_assert(sizeof(ldg_shuffle) <= sizeof ((ldg_job *)NULL)->own, "what a shuffle goes by fits into a job");
/* Half the register takes less of the few cycles that a small call has. */
static ldg_run *once_kernel(const ldg_nest *n, const ldg_shuffle *w) {
  if (!n->at || w->inside != n->nd || shuffle_lanes() != LDG_LANES_OF_1) return NULL;
  return ldg_host_kernels()->once[(w->load | w->store) > UINT32_MAX][w->ahead || w->from || w->to];
}
static void shuffle_prepare(ldg_job *j) {
  ldg_shuffle *w = (ldg_shuffle *)(void *)j->own;
  ldg_shuffle_of(&j->nest, lane_bytes(), w);
  j->run = once_kernel(&j->nest, w);
  if (!j->run) j->run = (ldg_shuffle_is_by_16(&j->nest, lane_bytes(), w) ? ldg_host_kernels()->by_16 : ldg_host_kernels()->shuffle)[shuffle_lanes()];
  if (!j->nest.at) return;
  ldg_job part = *j;
  (j->nest.psum ? varlist_plainly : list_plainly)(&part);
  memcpy(&w->long_, part.own, sizeof w->long_), w->part = part.run;
}

/* Windows where whole registers are all that is stored. */
static const char *window_of(const ldg_nest *n, ldg_window *w) {
  if (n->at2) return "both sides are listed";
  if (!ldg_host_kernels()->window) return "this level shuffles no bytes";
  return shuffle_lanes() == LDG_LANES_OF_1 ? "shuffles under masks do that" : ldg_window_of(n, ldg_host_kernels()->window_bytes, w);
}
static const char *window_why_not(const ldg_nest *n) { return window_of(n, NULL); }
static double window_cost(const ldg_nest *n) {
  ldg_window w;
  window_of(n, &w);
  return ldg_cost_window(n, w.inside, w.times);
}
/* Iterations of the outermost dim from which on windows take no longer than what does the same without. */
static int64_t few_of(const ldg_nest *n, const ldg_window *w, double (*other)(const ldg_nest *)) {
  ldg_nest some = *n;
  int64_t *few = &some.dim[n->nd - 1].n;
  for (*few = w->times; *few < n->dim[n->nd - 1].n && ldg_cost_window(&some, w->inside, w->times) > other(&some); *few *= 2) ;
  return *few;
}
_Static_assert(sizeof(ldg_window) <= sizeof ((ldg_job *)NULL)->own, "what a window goes by fits into a job");
_Static_assert(sizeof(ldg_field_group) <= sizeof ((ldg_window *)NULL)->own, "what fields go by has room");
/* A list has one window; few lists go field by field, at least as many as a window has, and those that no kernel of fields moves go list by list. */
static void window_prepare(ldg_job *j) {
  const ldg_nest *n = &j->nest;
  ldg_window *w = (ldg_window *)(void *)j->own;
  ldg_job part = *j;
  window_of(n, w);
  j->run = ldg_host_kernels()->window;
  if (n->at) part.nest.nd = 1;
  (!n->at ? block_plainly : n->psum ? varlist_plainly : list_plainly)(&part);
  ldg_run *fields = ldg_fields_of_list(n, (ldg_field_group *)(void *)part.own);
  memcpy(w->own, part.own, sizeof w->own), w->part = fields ? fields : part.run;
  w->few = !n->at ? few_of(n, w, ldg_cost_block) : fields ? few_of(n, w, ldg_fields_cost) : w->inside == n->nd ? n->dim[0].n : 0;
}

static void by_16_prepare(ldg_job *j) { j->run = by_16_kernel(&j->nest); }

static const ldg_strategy table[] = {
  { "memcpy", "one memcpy: dense on both sides", memcpy_why_not, ldg_cost_memcpy, memcpy_prepare, NULL, NULL },
  { "transpose", "tiles of a cache line, transposed in registers", transpose_why_not, transpose_cost, transpose_prepare, NULL, transpose_part },
  { "block", "strided loops around a block mover of fixed width", block_why_not, plain_cost, block_prepare, NULL, NULL },
  { "paced", "the same, a few at a time or further apart in time where their lines meet in few sets of the caches, or are written to a page each", ldg_paced_why_not, plain_cost, paced_prepare, ldg_paced_share, NULL },
  { "ahead", "the same, and lines are asked for before it is their turn where that is measured to be faster", ldg_ahead_why_not, plain_cost, ahead_prepare, ldg_ahead_share, NULL },
  { "late", "block or list, one by one, most of them with strided addresses that come some cycles later, which suits some caches; blocks under masks ask for their lines; without masks, short ones that differ in length have no branch for it", late_why_not, plain_cost, late_prepare, late_share, NULL },
  { "by_16", "block, by 16 bytes at a time where registers are wider, so that fewer moves cross lines: for blocks that lie anywhere and come from memory, as a way of a trial", by_16_why_not, plain_cost, by_16_prepare, late_share, NULL },
  { "list", "gather or scatter of blocks of one length through an offset table", list_why_not, plain_cost, list_prepare, NULL, NULL },
  { "swept", "the same, its lines read from end to end first: where blocks share them and come from memory, as a way of a trial", ldg_swept_why_not, plain_cost, swept_prepare, late_share, NULL },
  { "fields", "item by item, in words of up to 16 bytes at places that stay in registers", ldg_fields_why_not, ldg_fields_cost, fields_prepare, NULL, NULL },
  { "runs", "a list of few runs, each under a mask or in words, at places that the job has", ldg_runs_why_not, ldg_runs_cost, runs_prepare, NULL, NULL },
  { "shuffle", "64 bytes at a time: one load, one shuffle, one store", shuffle_why_not, shuffle_cost, shuffle_prepare, NULL, NULL },
  { "window", "16 or 32 bytes at a time, shuffled; stores overwrite what the ones before had too much", window_why_not, window_cost, window_prepare, NULL, NULL },
  { "varlist", "gather or scatter of blocks that differ in length", varlist_why_not, plain_cost, varlist_prepare, NULL, NULL },
  { "lists", "from listed places to listed places, blocks of one length", lists_why_not, ldg_cost_list, lists_prepare, NULL, NULL },
  { "varlists", "from listed places to listed places, blocks that differ in length", varlists_why_not, ldg_cost_varlist, varlists_prepare, NULL, NULL },
};

/* ---- reductions ---- */

static const unsigned char op_row[LADING_OP_MAX][LADING_ELEM_MAX] = { LDG_OP_TABLE }; /* counts from 1; 0: not defined */

static const ldg_ops *find_ops(void) {
  static const ldg_ops *const made[] = { LDG_OP_LEVELS }; /* best first */
  const int n = sizeof made / sizeof made[0];
  for (int i = 0; i < n; i++)
    if (ldg_cpu_runs(made[i]->isa)) return made[i];
  return made[n - 1];
}

static const ldg_op *host_op(lading_op op, lading_elem e) {
  const int row = op_row[op][e];
  return row ? &find_ops()->row[row - 1] : NULL;
}

const ldg_backend ldg_backend_host = { table, sizeof table / sizeof table[0], host_op, ldg_cost_reduce, { ldg_pieces_why_not, ldg_pieces_cost, ldg_pieces_prepare } };
