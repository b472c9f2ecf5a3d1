/* Columns whose lines are slower the more of them are on their way at once, and what is done about that: groups, idle slots, and near stores.
 *
 * A first-level cache finds a line's set by its place in a page. Of a column with a power of two between its blocks all lines are of few
 * sets, and a processor that has more of them on their way than a set has ways lets them drive each other out before they were used, or
 * waits for a way. Here a group of them has to be there before the next one is asked for: its place is made to depend on what was read. Lines that
 * come from memory would come sooner if more were on their way, so that is tried (trial.h). */
#include "paced.h"
#include "kernels.h"

#include "base_cpu.h"
#include "cost.h"
#include "loops.h"
#include "trial.h"

#include <math.h>

#define PAGE 4096 /* lines so far apart are of one set */
enum { LITTLE = 8, QUARTER = 16, HALF = 32, LINE = 64 }; /* bytes of a line */

/* First what kernels go by. Of a column of any length, up to `few` blocks go by `plain`. */
typedef struct paced { ldg_paced each; ldg_run *kernel, *other, *plain; int64_t few; } paced;
_Static_assert(sizeof(paced) <= LDG_ASKED_AT, "kernels that ask find theirs behind it");

/* No processor was seen to gain by columns of more sets; numbers of a file may be anything; and no first cache has fewer ways. */
enum { SETS_MOST = 8, MEET_MOST = 1024, SLOTS_MOST = 64, WAYS = 8 };
static int64_t sets_by(ldg_model_name name) { return ldg_min(ldg_model_count(name), SETS_MOST); }
static int64_t meet_by(ldg_model_name name) { return ldg_min(ldg_model_count(name), MEET_MOST); }
static int64_t slots_by(ldg_model_name name) { return ldg_min(ldg_model_count(name), SLOTS_MOST); }
static int64_t pace(void) { return slots_by(LDG_MODEL_PACE); }

/* Columns of so many sets gain, of more there are ways enough; by the bytes of a block. What is written by a few bytes a line waits the longest
 * for it, and a line that is written whole may not have to. */
static int64_t few_read(int64_t block) {
  const int64_t sets = sets_by(LDG_MODEL_SETS);
  return block <= 32 ? sets : block <= 64 ? sets / 2 : 0;
}
static int64_t few_written(int64_t block) {
  const int64_t sets = sets_by(LDG_MODEL_SETS_WRITTEN);
  if (block > 32) return block <= 64 ? sets_by(LDG_MODEL_SETS_WHOLE) : 0;
  return block >= 8 ? sets : ldg_min(2 * sets, SETS_MOST);
}

/* The sign of a stride does not matter to the power of two in it. */
int64_t ldg_paced_sets(int64_t stride) {
  const uint64_t power = ((uint64_t)stride & -(uint64_t)stride) | PAGE;
  return PAGE / (int64_t)(power & -power);
}
/* 0: of more than `few`, or lines are come back to. */
static int64_t sets_of(int64_t stride, int64_t few) {
  const int64_t sets = ldg_paced_sets(stride);
  return stride == 0 || sets > few ? 0 : sets;
}
/* Lines that are a few bytes more or less than a power of two apart stay in few sets, too, for as many blocks as matter, of sixteen a set: up to 3 bytes, of two sets 2, of four 1. */
enum { DRIFT = 4 };
static int64_t without_drift(int64_t stride, int64_t *drift) {
  for (int64_t sets = 1; sets <= DRIFT; sets *= 2) {
    const int64_t more = stride & (PAGE / sets - 1), less = PAGE / sets - more;
    *drift = ldg_min(more, less);
    if (*drift >= DRIFT || *drift * sets > DRIFT || stride > INT64_MAX - DRIFT) continue;
    const int64_t near = more < less ? stride - more : stride + less;
    if (near) return near;
  }
  *drift = 0;
  return stride;
}
static int64_t written_sets(int64_t block, int64_t stride, int64_t *drift) { return sets_of(without_drift(stride, drift), few_written(block)); }
static int64_t group_read(int64_t sets) { return sets * meet_by(LDG_MODEL_MEET); }
static int64_t group_written(int64_t sets) { return sets * meet_by(LDG_MODEL_MEET_WRITTEN); }
int64_t ldg_paced_read(int64_t block, int64_t stride) { return group_read(sets_of(stride, few_read(block))); }
int64_t ldg_paced_written(int64_t block, int64_t stride) {
  int64_t drift;
  return group_written(written_sets(block, stride, &drift));
}

/* One side of a column: of so many sets, 0 if of more than matter; blocks in a group, 0 if none waits; between blocks LDG_IDLE so many times, and stores to a
 * near line; whether groups come first nevertheless; whether its lines come from so far that groups lose; whether it is short, and goes by what the model knows of the second cache; and what is known of that: likely the best of what is tried, only worth a trial, or better than all else. */
typedef enum trust { LIKELY, GUESSED, KNOWN } trust;
typedef struct flank { int64_t sets, group; int32_t idle, stores; bool groups_first, far, at_pace; trust trust; } flank;

static int64_t stride_of(const ldg_dim *d, int side) { return side == LDG_MODEL_READ ? d->src : d->dst; }
static double reach_of(const ldg_nest *n, int side) {
  double all = 0;
  for (int k = 0; k < n->nd; k++) all += (double)(n->dim[k].n - 1) * fabs((double)stride_of(&n->dim[k], side));
  return all;
}

/* Lines from memory take so long that as many as possible should be on their way; those of one set wait in any case. Of a cache that is indexed
 * by addresses a column has as large a part as its lines are of what lies between them: so what counts is how far it reaches. 8 bytes, 1 KiB
 * apart: by groups 0.65 of the time for a reach of 16 MiB, 1 for 32, 1.5 for 64 (Zen 4); 512 bytes apart 0.4 for 16 MiB, 1 for 64 (Zen 5). Those that drift have all of it (2049 bytes apart, reaching over 80 MB, by stores 0.44). */
static double lines_of(const ldg_nest *n, int side) {
  double lines = 1;
  for (int k = 0; k < n->nd; k++)
    if (fabs((double)stride_of(&n->dim[k], side)) >= LINE) lines *= (double)n->dim[k].n;
  return lines;
}
static int64_t lines_of_block(const ldg_nest *n) { return (n->block - 1) / LINE + 1; }
/* Of blocks that begin anywhere in a line, in the mean. */
static double bytes_of_lines(const ldg_nest *n, int side) { return ((double)n->block + LINE - 1) * lines_of(n, side); }
static double beyond(const ldg_nest *n, int side, int64_t sets, bool drifts) { /* of the last cache, halfway into which its level is */
  return sets > 1 ? (drifts ? bytes_of_lines(n, side) : reach_of(n, side)) / ldg_model_footprint(LDG_MODEL_L3) : 0;
}
/* Up to twice that, or how many blocks there are, only calls find out (16000 blocks of 16 bytes, 2 KiB apart, packed: 79 us at once, 45 as calls then find; Zen 4). */
static bool is_far(const ldg_nest *n, double beyond) { return beyond > 2 && !n->any; }
static trust trust_of(double beyond) { return beyond > 1 ? GUESSED : LIKELY; }
/* Where columns are written, stores to a near line between blocks may do better than groups: the store queue, of some hundred, then has so many fewer lines of one set
 * on their way (8 bytes, 4096 blocks, ns each at once, by groups, and so: 512 bytes apart 2.7, 1.1, 0.85; 1 KiB 3.6, 2.3, 1.2; 2 KiB 6.9, 2.8, 1.6; 4 KiB 6.9, 5.1, 2.8; 100
 * blocks 4 KiB apart 7.0, 3.9, 2.5; Zen 5). For a block of one set as many as the model says, its own among them (Zen 5 16, Zen 4, whose store queue is shorter, 4); fewer where that drifts (8 bytes, 8192 blocks at once, and so: 4097 B apart 6.2 and 2.75, 4099 3.1 and 2.5, 2049 3.8 and
 * 1.3, 2050 1.9 and 1.2, 1025 1.7 and 0.85), and of a column of up to 640 lines (8 bytes, 4 KiB apart, by 16 and 12: 64 blocks 2.4 and 1.9, 600 2.2 and 2.0, 1500 2.3 and 3.1; 1024 1 KiB apart 0.86 and 1.04). */
enum { ROW_STORES = 16, NEAR_LINES = 640 };
static int64_t stores_of(int64_t most, int64_t blocks, int64_t lines, int64_t sets, int64_t drift) {
  const int64_t stores = drift || blocks > NEAR_LINES / lines ? most : most - most / 4;
  return DRIFT * stores / (DRIFT * sets + drift) - 1;
}
/* Below 1 a processor has too few stores on their way to need that, and groups come first. Of up to four sets there are three at least (8 bytes, 1 KiB
 * apart, ns a block at once, by groups, by one and by three: 1000 blocks 1.28, 0.98, 1.65, 1.36, 16000 3.24, 1.58, 1.85, 1.63; Zen 4; 120 blocks by one 2.30, by two 0.70, by three 0.54, 4096 3.57 at once, 1.17 by two, 1.31 by three; Zen 5). */
enum { STORES_LEAST = 3 };
static int64_t least_stores(int64_t sets) { return sets <= 4 ? STORES_LEAST : 1; }
static int64_t column_stores(int64_t blocks, int64_t sets, int64_t drift) { return stores_of(slots_by(LDG_MODEL_STORES), blocks, 1, sets, drift); }
int64_t ldg_paced_stores(int64_t block, int64_t stride, bool *first) {
  int64_t drift;
  const int64_t sets = written_sets(block, stride, &drift), stores = sets && meet_by(LDG_MODEL_MEET_WRITTEN) ? column_stores(INT64_MAX, sets, drift) : 0;
  *first = sets_by(LDG_MODEL_SETS_APART) && stores >= 1;
  return sets && meet_by(LDG_MODEL_MEET_WRITTEN) ? ldg_max(least_stores(sets), stores) : 0;
}
/* In a column; INT64_MAX: the caller says. Where its lines are from is judged by the likely number. */
static int64_t blocks_of(const ldg_nest *n) { return n->any && n->nd == 1 ? INT64_MAX : n->dim[0].n; }
/* What is read and drifts is tried where the second cache holds its lines (blocks of 33 bytes, 12289 bytes apart, packed: 1000 of them 4.2 us at once, 3.0 by groups; 16000 lost,
 * 79 us and 97; measured on Zen 4 alone). */
static int64_t read_sets(const ldg_nest *n, int64_t few, int64_t *drift) {
  const int64_t sets = sets_of(without_drift(n->dim[0].src, drift), few);
  return *drift && bytes_of_lines(n, LDG_MODEL_READ) > ldg_model_footprint(LDG_MODEL_L2) ? 0 : sets;
}
/* Of so many lines a call is timed, as far as this side tells. Columns have what those calls find best then, which is groups as often; of those that are written in more than half a line what is at their pace is one of that. */
static bool is_long(const ldg_nest *n, int side) { return blocks_of(n) == INT64_MAX || lines_of(n, side) * (double)lines_of_block(n) >= LDG_TRIAL_LEAST / LINE; }
/* Where few stores are on their way, and no pace is kept, columns that are packed gain by groups from so few blocks on that calls of fewer are timed than elsewhere (8 bytes, 4 KiB apart: 40 blocks 121 ns at once,
 * 97 so, 65 215 and 131, 127 428 and 212; 33 lose a third, and so do narrow ones that leave their set soon; out of cache 65 take 1.5 us and 3.0; Zen 3). INT64_MAX: none does. */
static bool is_few_stores(void) { return !pace() && slots_by(LDG_MODEL_STORES) < ROW_STORES; }
static int64_t tried_from(const ldg_nest *n) {
  if (!is_few_stores() || n->nd != 1 || n->dim[0].dst != n->block) return INT64_MAX;
  int64_t drift;
  const int64_t sets = read_sets(n, few_read(n->block), &drift), group = group_read(sets), least = 4 * group + (n->block <= HALF ? meet_by(LDG_MODEL_MEET) : 0);
  const bool leaves_soon = n->block <= LITTLE && sets * drift > 2;
  return group && !leaves_soon && least < LDG_TRIAL_LEAST / LINE ? ldg_max(least, 2 * WAYS * sets + 1) : INT64_MAX;
}
static bool is_short_tried(const ldg_nest *n) { return blocks_of(n) >= tried_from(n) && !is_long(n, LDG_MODEL_READ); }
static flank by_groups(const ldg_nest *n, int side) {
  const bool reads = side == LDG_MODEL_READ;
  int64_t drift;
  const int64_t sets = reads ? read_sets(n, few_read(n->block), &drift) : written_sets(n->block, n->dim[0].dst, &drift);
  const int64_t group = reads ? group_read(sets) : group_written(sets);
  if (!group) return (flank){ 0 };
  const double far = beyond(n, side, sets, drift != 0);
  flank f = { .sets = sets, .group = group, .far = is_far(n, far), .trust = reads && (drift || is_short_tried(n)) ? GUESSED : trust_of(far) };
  if (reads) return f;
  const int64_t stores = column_stores(n->dim[0].n, sets, drift);
  f.stores = (int32_t)ldg_max(least_stores(sets), stores), f.groups_first = stores < 1;
  return f;
}

/* A group that is waited for keeps lines of one set from driving each other out. Where a column is more than the second cache has room for in few sets,
 * lines that are on their way drive each other out of that one, too: then they should be few at any time, which takes no wait, but only some slots in
 * which nothing is done, the more the fewer sets there are (8 bytes, 1024 blocks 2 KiB apart: 1.65 ns a block, by 8 slots 1.1; 4 KiB apart by groups 2.5, by 36 slots 2.25, 8192 of them 4.1 and 3.1;
 * Zen 5). Where groups may gain as well, both are tried (1000 blocks 4 KiB apart by 4 slots 2.35, by groups of 8 2.5; Zen 4). What is written and
 * drifts rather has stores. */
static flank kept_apart(const ldg_nest *n, int side) {
  const bool is_more = n->block <= LINE && reach_of(n, side) > ldg_model_footprint(LDG_MODEL_L2);
  int64_t drift = 0;
  const int64_t few = is_more ? sets_by(LDG_MODEL_SETS_APART) : 0, sets = side == LDG_MODEL_READ ? read_sets(n, few, &drift) : sets_of(n->dim[0].dst, few);
  const int64_t idle = sets ? ldg_max(ldg_max(slots_by(LDG_MODEL_IDLE) / (sets * sets), pace() ? (pace() + 1) / sets : 0), 1) : 0;
  const double far = beyond(n, side, sets, drift != 0);
  return (flank){ .sets = sets, .idle = (int32_t)idle, .far = is_far(n, far), .trust = drift ? GUESSED : trust_of(far) };
}

/* More lines than the second cache holds, which reach over more than the last one: stores wait for them one after the other. Those of 4 or 8 sets
 * wait less where a store to a near line stands between two of them (1 byte, 1 KiB apart, by a loop of its own 5.2 ns a block, with 64 slots 5.1, so 4.05; Zen 5; what
 * the library gains by it is in bench/README.md), those of fewer sets by three (8 bytes, 2 KiB apart: 20000 blocks 5.8 at once, 5.4 with 64 slots, 2.8 so; 60000 7.2, 6.9, 5.9; 4 KiB 20000 7.4, 5.4, 5.3), of others
 * those of a few bytes by 64 slots. Only calls find out, but where there are more of 4 sets than the model's last level holds, of one or two bytes (1 byte, 1 KiB apart, 2^20 of them, unpacked: 6.5 ms at once, so 5.1), by processors with that many stores on their way (4.9 and 8.4; Zen 4). */
enum { KNOWN_BLOCK = 2, FAR_BLOCK = 16, FAR_STRIDE = 512, FAR_IDLE = 16, FAR_STORES = 3 };
static bool is_far_written(const ldg_nest *n) {
  const int64_t stride = n->dim[0].dst;
  return sets_by(LDG_MODEL_SETS_APART) && (stride >= FAR_STRIDE || stride <= -FAR_STRIDE) && LINE * lines_of(n, LDG_MODEL_WRITE) > ldg_model_footprint(LDG_MODEL_L2) &&
         reach_of(n, LDG_MODEL_WRITE) > ldg_model_footprint(LDG_MODEL_L3);
}
static flank far_written(const ldg_nest *n) {
  const int64_t sets = n->block <= LINE ? sets_of(n->dim[0].dst, sets_by(LDG_MODEL_SETS_APART)) : 0;
  if (!is_far_written(n) || (n->block > FAR_BLOCK && !sets)) return (flank){ 0 };
  const bool is_known = n->block <= KNOWN_BLOCK && sets == 4 && column_stores(INT64_MAX, sets, 0) >= 1 && LINE * lines_of(n, LDG_MODEL_WRITE) > ldg_model_footprint(LDG_MODEL_L3);
  return (flank){ .sets = SETS_MOST, .idle = sets ? 0 : FAR_IDLE, .stores = sets >= 4 ? 1 : sets ? FAR_STORES : 0, .trust = is_known ? KNOWN : GUESSED };
}

/* Blocks that have a page each: what is written gains by a near store, too (4 bytes, 16396 bytes apart: 2.6 ns a block, 2.45 so). What is read is only worth going
 * one by one, as late columns do. */
static flank written_by_pages(const ldg_nest *n) {
  const int64_t stride = n->dim[0].dst;
  const bool is_many = n->block <= LINE && (stride >= PAGE || stride <= -PAGE) && reach_of(n, LDG_MODEL_WRITE) > ldg_model_footprint(LDG_MODEL_L2);
  return is_many && sets_by(LDG_MODEL_SETS_APART) ? (flank){ .sets = SETS_MOST, .stores = 1, .trust = GUESSED } : (flank){ 0 };
}

/* Rows of some lines that are written to at most four sets have such stores, too: as many for each line (128 B, 2 KiB apart 4.8 ns a row at once, 1.9 so; 4 KiB apart 9.3 and 2.9;
 * 256 B, 4 KiB apart 11.3 and 4.1; of eight sets nothing; 30000 from memory, 128 B, 2 KiB apart 6.8 and 6.8; Zen 5); and idle slots where they are read from two (128 B, 4 KiB apart 4.6 and 3.6). So have
 * longer ones that are whole pages apart, but not to memory, where it takes long ways to ask for many lines at once (280 B, 4 KiB apart: 32 rows 307 ns at once, 100 so; 448 B 187 and
 * 146; 512 B 158 and 167; bench/README.md has more). They have as many on Zen 4, whatever columns have (128 B, 2 KiB apart: 128 rows 432 ns at once, 258 so; 256 B, 4 KiB apart 896 and 567; 100 of 300 B 986 and 497). */
enum { ROW_SETS = 4, ROW_IDLE = 4, ROW_MAX = 448 };
/* Rows that calls do not time lose where few stores are on their way, and no pace is kept (74 B, 4 KiB apart: 12 rows 58 ns at once, 107 so; 128 B, 8 KiB apart: 20 rows 109 and 186; Zen 3). */
static flank by_rows(const ldg_nest *n, int side) {
  if (n->block > ROW_MAX || !sets_by(LDG_MODEL_SETS_APART)) return (flank){ 0 };
  int64_t drift = 0, stride = stride_of(&n->dim[0], side);
  if (side == LDG_MODEL_WRITE) stride = without_drift(stride, &drift);
  const int64_t lines = lines_of_block(n), sets = lines * sets_of(stride, ldg_max(ROW_SETS / lines, 1));
  const bool far = trust_of(beyond(n, side, sets, drift != 0)) == GUESSED;
  if (!sets || (side == LDG_MODEL_READ && sets > 2) || (sets > ROW_SETS && far)) return (flank){ 0 };
  if (side == LDG_MODEL_READ) return (flank){ .sets = sets, .idle = (int32_t)lines * ROW_IDLE, .trust = GUESSED };
  return (flank){ .sets = sets, .stores = (int32_t)(lines * ldg_max(1, stores_of(ROW_STORES, n->dim[0].n, lines, sets, drift))), .trust = far || is_few_stores() ? GUESSED : LIKELY };
}

/* Lines of few sets come from the second cache, and go there, at a pace of their own on Zen 4, and up to three times as slowly where the processor is ahead of that: so between two blocks there is something that takes a
 * cycle each: stores to a near line where blocks of columns are read, and of rows; slots where those of columns are written, which would wait for more of such stores if their lines came from memory, but stores where 41 to 64 bytes are written to four sets, since slots gain nothing there (64 bytes, 1 KiB
 * apart: 100 of them 175 ns at once, 113 so; out of cache they take a sixth longer). The model knows how many suit
 * a line that is read from one set; how many suit others was found with that at 4, each where fewer than take the pace are no better than none, or worse: so they are what most places need, and not the best of any (bench/README.md). */
enum { PACED_SETS = 2, PACED_LINES = 3, TWO_LEAST = 41 /* bytes: below 64 of them a second store of 16 or 32 */ };
static int64_t stores_read(const ldg_nest *n, int64_t sets) {
  const int64_t lines = lines_of_block(n);
  if (lines > 1) return sets == 1 && lines <= PACED_LINES ? pace() + 1 : 0;
  return sets == 1 ? pace() - (n->block <= QUARTER) : sets == 2 ? pace() / 2 + (n->block > HALF) : 0;
}
static int64_t stores_written(const ldg_nest *n, int64_t sets) { /* other rows have what those have elsewhere */
  const int64_t lines = lines_of_block(n);
  if (lines == 1) return n->block >= TWO_LEAST && sets == 4 ? pace() / 2 : 0;
  return lines == 2 && sets == 1 ? 2 * pace() + 1 : lines == 3 && sets == 2 ? 1 : 0;
}
static int64_t slots_written(const ldg_nest *n, int64_t sets) {
  if (n->block > LINE || sets > PACED_SETS) return 0;
  return sets == 1 ? pace() + 1 : pace() / 2 + (n->block > QUARTER);
}
/* What is read from four sets goes block by block, with nothing between; what is read and drifts only gains where the second cache holds it (see read_sets). */
static flank at_pace(const ldg_nest *n, int side, int64_t sets, bool drifts) {
  const bool reads = side == LDG_MODEL_READ, singly = reads && sets > PACED_SETS && n->block <= LINE, timed = is_long(n, side);
  const int64_t stores = reads ? stores_read(n, sets) : stores_written(n, sets), idle = reads ? 0 : slots_written(n, sets), all = lines_of_block(n) * sets;
  if ((!stores && !idle && !singly) || (reads && drifts && bytes_of_lines(n, side) > ldg_model_footprint(LDG_MODEL_L2))) return (flank){ 0 };
  const bool guessed = timed && (reads || n->block <= LINE || trust_of(beyond(n, side, all, drifts)) == GUESSED);
  return (flank){ .sets = all, .idle = (int32_t)idle, .stores = (int32_t)stores, .at_pace = !timed, .trust = guessed ? GUESSED : LIKELY };
}

static flank flank_of(const ldg_nest *n, int side) {
  int64_t drift = 0;
  const int64_t sets = pace() ? sets_of(without_drift(stride_of(&n->dim[0], side), &drift), 2 * PACED_SETS) : 0;
  const flank here = sets ? at_pace(n, side, sets, drift != 0) : (flank){ 0 };
  if (here.sets && drift && n->block <= LITTLE && here.at_pace) return (flank){ 0 }; /* they leave their set soon, and seldom cross lines */
  if (here.sets && (n->block > LINE || here.at_pace)) return here;
  if (n->block > LINE) return by_rows(n, side);
  const flank groups = by_groups(n, side);
  flank apart = kept_apart(n, side);
  if (side == LDG_MODEL_READ && (!apart.sets || is_short_tried(n))) return groups;
  if (side == LDG_MODEL_READ) return apart.group = groups.group, apart; /* what is read gains more apart */
  if (groups.group && (groups.trust == LIKELY || n->any)) return groups;
  const flank far = far_written(n);
  return far.sets ? far : groups.group ? groups : here.sets ? here : apart.sets ? apart : written_by_pages(n);
}

/* Of lines that lie at one place in their pages a first cache that is found by places in a page holds one for each of its pages; its level in the model is half of what it holds. What
 * is written to as many, and some more, waits for nothing (8 bytes, ns at once, and by stores: 4 KiB apart 12 blocks 3.5 and 37, 17 31 and 49, 24 98 and 64; 2 KiB 24 6 and 40,
 * 33 72 and 54; 1 KiB 48 21 and 48, 64 165 and 65; Zen 5); of blocks that go by a store of 32 bytes and one that overlaps it fewer more (50 bytes, 4 KiB apart, ns at once, and by slots: 9 blocks 23.5 and 31, 11 40 and 44, 12 48 and 31, 13 45 and 34; 36 bytes 12 31 and 31; Zen 4). Zen 4 loses by groups up to twice that many of four sets (8 bytes, 1 KiB apart: 48 blocks 75 ns by those, 60 by hand), and of narrow blocks of one set that are read
 * half as many more (16 bytes, 4 KiB apart: 24 blocks 30 ns at once, 46 by stores). */
enum { MORE = 5, MORE_IN_TWO = 3 };
static int64_t more_of(int64_t block) { return pace() && block >= TWO_LEAST && block < LINE ? MORE_IN_TWO : MORE; }
static int64_t held_blocks(const ldg_nest *n, int side, int64_t sets) {
  const int64_t ways = ldg_max(2 * (int64_t)ldg_model_footprint(LDG_MODEL_L1) / PAGE, WAYS);
  const int64_t read = 2 * WAYS * sets + (pace() && n->block <= QUARTER && sets == 1 ? WAYS : 0), written = pace() && n->block <= LINE && sets == 4 ? 2 * WAYS * sets : ways * sets + more_of(n->block);
  return (side == LDG_MODEL_WRITE ? written : read) / lines_of_block(n);
}
/* What is read gains little by slots and groups elsewhere, if it gains, so nests of fewer lines than a call must have to be timed do not try them (48 blocks 4 KiB apart 41 and 106 ns, 96 183 and 206, 250 520 and 477; Zen 5). */
static bool are_few(const ldg_nest *n, int side, const flank *f) {
  if (blocks_of(n) <= held_blocks(n, side, f->sets)) return true;
  return side == LDG_MODEL_READ && !f->at_pace && !is_long(n, side) && !is_short_tried(n);
}
/* A side that there is something to be done about. */
static flank unless_few(const ldg_nest *n, int side, flank f) { return f.sets && are_few(n, side, &f) ? (flank){ 0 } : f; }
static flank slow_flank(const ldg_nest *n, int side) { return unless_few(n, side, flank_of(n, side)); }

/* Blocks in a group, of both sides; 0: none is waited for. */
static int64_t group_of(flank r, flank w) { return r.group && w.group ? ldg_min(r.group, w.group) : r.group + w.group; }
/* Fewer are no columns that groups would gain by, if what is read has nothing else. */
static int64_t least_blocks(flank r, flank w) { return r.idle || r.at_pace || w.at_pace ? 0 : 4 * group_of(r, w); }

/* A guess about what is read does not change what is likely for what is written. False: there is nothing to be done about either side. */
static bool slow_flanks(const ldg_nest *n, flank *r, flank *w) {
  *r = slow_flank(n, LDG_MODEL_READ), *w = slow_flank(n, LDG_MODEL_WRITE);
  if (r->trust == GUESSED && w->sets && w->trust != GUESSED) *r = (flank){ 0 };
  return r->sets || w->sets;
}

static bool is_only_guessed(flank r, flank w) { return (!r.sets || r.trust == GUESSED) && (!w.sets || w.trust == GUESSED); }

const char *ldg_paced_why_not(const ldg_nest *n) {
  if (n->at) return "the blocks are listed";
  flank r, w;
  if (!flank_of(n, LDG_MODEL_READ).sets && !flank_of(n, LDG_MODEL_WRITE).sets) return "its lines neither meet in few sets of the cache nor are written to a page each, or this machine does not mind";
  if (!slow_flanks(n, &r, &w) || blocks_of(n) < least_blocks(r, w)) return "there are few blocks";
  return r.far || w.far ? "its lines come from memory" : NULL;
}

/* What it gains is not predicted: it is worth a trial, which every column has that could gain. A guess is not worth to leave another strategy for. */
double ldg_paced_share(const ldg_nest *n) {
  flank r, w;
  slow_flanks(n, &r, &w);
  return is_only_guessed(r, w) ? 0.99 : 0.9;
}

static const paced *paced_of(const ldg_job *j) { return (const paced *)(const void *)j->own; }
static int run_by(const ldg_job *j, ldg_run *kernel, const char *src, char *dst, int64_t i0, int64_t n) {
  if (n <= paced_of(j)->few) return paced_of(j)->plain(j, src, dst, i0, n);
  ldg_loops(j, kernel, 0, j->nest.nd - 1, src, dst, n);
  return LADING_OK;
}
static int run(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) { return run_by(j, paced_of(j)->kernel, src, dst, i0, n); }
static int run_other(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) { return run_by(j, paced_of(j)->other, src, dst, i0, n); }

/* Of a column of any length so many blocks are few, for what is written; if that is nothing, for what is read as many as are not timed. So are those of a range of a short one. Where no
 * call can be timed it stays with what calls of any length did. */
static int64_t least_timed(const ldg_nest *n) {
  const bool may = is_short_tried(n) || (n->any && !n->once && ldg_cpu_ticks());
  return may ? ldg_min(tried_from(n), LDG_TRIAL_LEAST / LINE) : LDG_TRIAL_LEAST / LINE;
}
static int64_t few_blocks(const ldg_nest *n, flank r, flank w) {
  if (blocks_of(n) < INT64_MAX) return is_short_tried(n) ? least_timed(n) - 1 : 0;
  const int64_t few = w.sets ? held_blocks(n, LDG_MODEL_WRITE, w.sets) : ldg_max(held_blocks(n, LDG_MODEL_READ, r.sets), least_timed(n) - 1);
  return ldg_max(few, least_blocks(r, w) - 1);
}

/* By groups if what is read is by nothing else, and neither side goes at the pace of the second cache, else as this machine likes it; the other of both is worth a trial. */
void ldg_paced_prepare(ldg_job *j, const ldg_paced_ways *k) {
  flank r, w;
  slow_flanks(&j->nest, &r, &w);
  const int64_t group = group_of(r, w); /* none, perhaps: the model may be another one by now than it was when this was chosen */
  const bool in_groups = group && !r.idle && !r.at_pace && !w.at_pace && (r.group || w.groups_first || !sets_by(LDG_MODEL_SETS_APART)), either = group && (r.idle || w.stores || (pace() && w.idle));
  const int32_t idle = pace() ? (int32_t)ldg_max(r.idle, w.idle) : r.idle ? r.idle : w.idle;
  *(paced *)(void *)j->own = (paced){
    { group, idle, (int32_t)ldg_max(r.stores, w.stores), r.group != 0, w.group != 0 }, in_groups ? k->groups : k->apart, in_groups ? k->apart : k->groups, k->plain, few_blocks(&j->nest, r, w)
  };
  ldg_run *ways[LDG_TRIAL_WAYS] = { k->plain, run };
  int n = 2;
  if (either) ways[n++] = run_other;
  if (k->late) ways[n++] = k->late;
  if (k->asking) ways[n++] = k->asking;
  if (w.trust == KNOWN && !r.sets) ways[0] = run, n = 1; /* the first calls are all that some programs make, and 9 of 13 would go the slower ways */
  ldg_trial_prepare(j, ways, n, n > 1 && !is_only_guessed(r, w), ldg_trial_lines(&j->nest), least_timed(&j->nest) * LINE);
}
