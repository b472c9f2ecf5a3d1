/* Lines of the first-level cache that can be waited for are few (about 20), and no processor foresees strides well. The second level can
 * wait for more, so lines are asked for to there, some blocks before it is their turn. Where they are already, that takes a tenth
 * longer, and nobody can tell from a layout whether its bytes are still in a cache: so that is tried (trial.h). Some processors wait for
 * lines that they store to much longer than for those that they read (LDG_MODEL_WRITTEN): there it is what is written that is asked for, by a prefetch
 * that reads. */
#include "ahead.h"

#include "cost.h"
#include "kernels.h"
#include "paced.h"
#include "swept.h"
#include "trial.h"

enum {
  LINE = 64, PAGE = 4096,
  BLOCK_MAX = 8192,  /* bytes: longer ones are streams by themselves */
  WRITTEN_MAX = 1 << 20, /* bytes: those of lines that are read before they are written */
  LISTED_MAX = 256,  /* bytes: of listed blocks, one line each is asked for */
  TOUCHED_MAX = 256, /* bytes: of blocks that are read before they are moved */
  SOONER = 16,       /* bytes: longer ones of those are timed from half as many lines on */
  SHORT_MAX = 256,   /* bytes: of blocks that have no line after the other */
  SHARERS = 8,       /* listed blocks that have a line in common, where lines that are written are what takes longest */
  ROW_MAX = 1024,    /* blocks: of rows that are no longer, lines are asked for while the row before is moved */
  CLOSE = LINE / 2,  /* bytes: blocks with fewer between them share most lines, and go on from line to line */
  FORESEEN = LINE + LINE / 4, /* bytes: so do columns of smaller strides that go forwards, in one loop or long rows: then reading first is all (bench/README.md) */
  ROW_GAP = 512,     /* bytes: close blocks also in short rows that begin fewer behind the end of the one before (12 blocks, 300 bytes behind it: packed 1.04 times as fast as when the next row is asked for, unpacked 1.09; in a program by itself as fast 258 bytes behind for 8 blocks and more, 0.73 to 1 for 4, 0.6 514; Zen 4) */
  MEETING = 256      /* bytes: lines of such strides are of few sets of every cache, and few channels of memory: in a machine's slow pace they gain nothing by being asked for alone */
};

static int64_t stride_of(const ldg_dim *d, int side) { return side == LDG_MODEL_READ ? d->src : d->dst; }
static bool is_below(int64_t stride, int64_t most) { return stride > -most && stride < most; }
static int64_t lines_of(const ldg_nest *n) { return (n->block + LINE - 1) / LINE; }

/* Strided blocks of up to four lines come from memory sooner where some bytes of them are read one by one before the block is moved by wide loads, or written
 * (bench/README.md). Not where lines that are written are of one set or two, nor listed blocks: shuffled ones take 1.2 to 1.7 times as long. Memory that is written for the first time has two
 * faults a page by that, so what one call writes is not read. */
enum { SETS = 2 };
static bool is_touched(const ldg_nest *n, int side) {
  if (!ldg_model_count(LDG_MODEL_TOUCHED) || n->at || n->block > TOUCHED_MAX) return false;
  return side == LDG_MODEL_READ || (!n->once && ldg_paced_sets(n->dim[0].dst) > SETS);
}

/* Are blocks a line apart at least, so many bytes between them, and does no loop around come back to their lines? */
static bool are_apart(const ldg_nest *n, int side, int64_t gap) {
  if (is_below(stride_of(&n->dim[0], side), ldg_max(LINE, n->block + gap))) return false;
  for (int k = 1; k < n->nd; k++)
    if (n->dim[k].n > 1 && is_below(stride_of(&n->dim[k], side), LINE)) return false;
  return true;
}
static bool has_lines(const ldg_nest *n, int side) { return are_apart(n, side, CLOSE); }
/* What is read first gains by it as soon as a byte lies between two blocks. */
static bool may_gain_by(const ldg_nest *n, int side) { return are_apart(n, side, is_touched(n, side) ? 1 : CLOSE); }

static int64_t blocks_of(const ldg_nest *n, int dims) {
  int64_t all = 1;
  for (int k = 0; k < dims; k++)
    if (ldg_mul(all, n->dim[k].n, &all)) return INT64_MAX;
  return all;
}

static const char *list_why_not(const ldg_nest *n) {
  if (n->nd > 1 || n->at2 || n->psum || !n->at4) return "loops around a list, or two of them, or one of long offsets or lengths";
  const bool written = ldg_model_count(LDG_MODEL_WRITTEN) && n->list == LDG_LIST_DST;
  return n->span / n->dim[0].n < (written ? LINE / SHARERS : LINE) ? "blocks share lines" : NULL;
}

/* Are lines that are written what takes longest, dense ones, too? Narrow blocks that are dense have few of them. */
static bool is_by_written(const ldg_nest *n) {
  return ldg_model_count(LDG_MODEL_WRITTEN) && !n->at && n->block >= LINE && (n->dim[0].src != n->block || n->dim[0].dst != n->block);
}
/* Of close blocks only where the other side is no better. */
static int side_of(const ldg_nest *n) {
  if (n->at) return n->list == LDG_LIST_DST ? LDG_MODEL_WRITE : LDG_MODEL_READ;
  if (is_by_written(n)) return LDG_MODEL_WRITE;
  return has_lines(n, LDG_MODEL_READ) || (!has_lines(n, LDG_MODEL_WRITE) && may_gain_by(n, LDG_MODEL_READ)) ? LDG_MODEL_READ : LDG_MODEL_WRITE;
}

static double bytes_of_lines(const ldg_nest *n) { return LINE * (double)blocks_of(n, n->nd) * (double)lines_of(n); }

/* What even the last cache has no room for comes from memory: there any stride gains, by asking alone if lines are of one set or two, others by what is read first, which
 * not every single call does. */
static bool is_beyond(const ldg_nest *n, int side) {
  return ldg_model_count(LDG_MODEL_TOUCHED) && (!n->once || is_touched(n, side)) && bytes_of_lines(n) > 2 * ldg_model_footprint(LDG_MODEL_L3);
}

/* What is likely until calls were timed: levels are measured halfway into a cache; what goes on from line to line is foreseen, but not from
 * memory; page walks take longer than lines, and writes wait for them less than loads do. What only one call would gain or lose has to be sure. */
static bool is_likely(const ldg_nest *n) {
  if (n->at) return false;
  const int side = side_of(n);
  const int64_t stride = stride_of(&n->dim[0], side);
  const bool read_first = ldg_model_count(LDG_MODEL_WRITTEN) && side == LDG_MODEL_WRITE; /* gains by any stride */
  if (n->block <= SHORT_MAX && !read_first && !is_beyond(n, side) && (stride % MEETING == 0 || !is_below(stride, side == LDG_MODEL_READ ? PAGE / 2 : PAGE / 4))) return false;
  const double cached = 2 * ldg_model_footprint(n->once || is_below(stride, 2 * LINE) ? LDG_MODEL_L3 : LDG_MODEL_L2);
  const double lines = (double)blocks_of(n, n->nd) * (double)(lines_of(n) + 1); /* of one side, at most */
  return 2 * LINE * lines > cached && ldg_cost_footprint(n) > cached;
}

/* Blocks that take longer are timed sooner: a trial takes 2 ns of the 95 of 102 blocks of 40 bytes (Zen 4). How many blocks a call of any number has nobody knows, and few are quick. */
int64_t ldg_ahead_least(const ldg_nest *n) {
  return ldg_model_count(LDG_MODEL_TOUCHED) && !n->at && !n->any && n->block > SOONER && n->block <= TOUCHED_MAX ? LDG_TRIAL_LEAST / 2 : LDG_TRIAL_LEAST;
}

/* What the first cache holds may come from anywhere, too, but is over before much was asked for; and compiled kernels are good at it. Where
 * lines that are written take that long, they are worth the while nevertheless. */
static bool are_few(const ldg_nest *n) {
  if (!ldg_trial_times(n, ldg_ahead_least(n))) return true;
  if (ldg_model_count(LDG_MODEL_WRITTEN) && side_of(n) == LDG_MODEL_WRITE) return false;
  return bytes_of_lines(n) <= 2 * ldg_model_footprint(LDG_MODEL_L1);
}

/* Long blocks of so many bytes in all are stored past the caches: nothing is read first. */
static bool are_streamed(const ldg_nest *n) {
  return !n->at && n->block >= BLOCK_MAX && is_by_written(n) && (double)n->block * (double)blocks_of(n, n->nd) >= (double)ldg_model_count(LDG_MODEL_STREAM);
}

static const char *blocks_why_not(const ldg_nest *n) {
  if (n->at && list_why_not(n)) return list_why_not(n);
  if (!n->at && !is_by_written(n) && !may_gain_by(n, LDG_MODEL_READ) && !may_gain_by(n, LDG_MODEL_WRITE)) return "blocks share lines, or come back to them";
  return n->once && !is_likely(n) ? "one call does not find out whether that is faster" : NULL;
}
/* Blocks that are read before they are moved gain much where they come from memory, if calls of so few lines are timed; and of those that are not,
 * lines that meet. */
bool ldg_ahead_may_gain(const ldg_nest *n, int64_t least) {
  return ldg_model_count(LDG_MODEL_AHEAD) && ldg_model_count(LDG_MODEL_TOUCHED) && !n->at && n->block <= TOUCHED_MAX && ldg_trial_times(n, least) && !blocks_why_not(n);
}

const char *ldg_ahead_why_not(const ldg_nest *n) {
  if (ldg_model_count(LDG_MODEL_AHEAD) == 0) return "this machine foresees what is read, or does not mind";
  if (n->block > (n->at ? LISTED_MAX : is_by_written(n) ? WRITTEN_MAX : BLOCK_MAX)) return "blocks are long";
  if (are_few(n)) return ldg_ahead_may_gain(n, ldg_ahead_least(n)) ? "lines are few, so it is only a way of the trials of others" : "lines are few";
  if (are_streamed(n)) return "they go past the caches";
  return blocks_why_not(n);
}

/* Not more than the plain kernel takes, since that is there, too. */
double ldg_ahead_share(const ldg_nest *n) { return is_likely(n) ? 0.75 : 0.99; }

/* Lines that are written next to each other are soon there; nor should those of a long block be asked for all at once. */
static bool is_near(const ldg_nest *n) { return is_by_written(n) && (n->dim[0].dst == n->block || n->block > BLOCK_MAX); }

/* Does a column go forwards from line to line, which the processor foresees, and, if that is by rows, each of them into the next one? */
static bool goes_on(const ldg_nest *n, int side, bool by_rows) {
  const int64_t stride = stride_of(&n->dim[0], side), close = n->block + CLOSE;
  if (stride <= 0 || stride >= (by_rows ? close : ldg_max(FORESEEN, close))) return false;
  const int64_t row = by_rows ? n->dim[0].n * stride : 0, next = by_rows ? stride_of(&n->dim[1], side) : 0;
  return next > row - stride && next < row + ROW_GAP;
}

/* Behind the end of a row, of a nest or of a part of it lines are asked for that come next, or in vain: where
 * few are as well, a quarter of them, in whole short rows. */
enum { PARTS = 4 };
void ldg_ahead_settle(ldg_job *j) {
  const ldg_nest *n = &j->nest;
  ldg_asked *a = (ldg_asked *)(void *)((char *)j->own + LDG_ASKED_AT);
  const int64_t most = (ldg_max(ldg_model_count(LDG_MODEL_AHEAD), 1) + lines_of(n) - 1) / lines_of(n), row = n->dim[0].n;
  const int64_t blocks = ldg_model_count(LDG_MODEL_TOUCHED) && !n->any ? ldg_min(most, ldg_max(blocks_of(n, n->nd) / PARTS, 1)) : most;
  const bool by_rows = n->nd > 1 && row <= ROW_MAX;
  const uint64_t many = (uint64_t)(by_rows ? (blocks + row - 1) / row : blocks);
  const int side = side_of(n);
  a->writes = side == LDG_MODEL_WRITE, a->touch = is_touched(n, side);
  if (is_near(n)) a->ahead = LINE * ldg_model_count(LDG_MODEL_WRITTEN);
  else if (a->touch && goes_on(n, side, by_rows)) a->ahead = 0; /* none but its own */
  else a->ahead = n->at ? (int64_t)many : (int64_t)(many * (uint64_t)stride_of(&n->dim[by_rows], side));
}

_Static_assert(sizeof(ldg_long) <= LDG_ASKED_AT && LDG_ASKED_AT + sizeof(ldg_asked) <= LDG_TRIAL_OWN, "a trial leaves it room");
void ldg_ahead_prepare(ldg_job *j, const ldg_job *plain, ldg_run *asking, ldg_run *by_16) {
  memcpy(j->own, plain->own, sizeof(ldg_long)), ldg_ahead_settle(j);
  ldg_run *ways[LDG_TRIAL_WAYS] = { plain->run, asking }, *swept = ldg_swept_way(j, plain->run);
  int n = 2;
  if (by_16) ways[n++] = by_16;
  if (swept) ways[n++] = swept;
  ldg_trial_prepare(j, ways, n, is_likely(&j->nest), ldg_trial_lines(&j->nest), ldg_ahead_least(&j->nest));
}
