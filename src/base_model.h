/* base_model: the measured model of this machine: a table of times that costs are interpolated from, and of thresholds.
 *
 * The numbers are built in, or read once, at first use, from the file that `lbench calibrate` writes for this kind of
 * machine. A file counts as a whole or not at all. Nothing here locks or allocates: while one thread reads the file, others
 * go by the built-in numbers.
 *
 * Times are stored in picoseconds and given out in nanoseconds. Costs are interpolated linearly over log2 of bytes (piecewise
 * linear between powers of two), never fall as a block or a footprint grows, and keep to the ends of what was measured: a
 * footprint beyond counts as the last one, bytes beyond cost what the last bytes do.
 */
#ifndef LDG_BASE_MODEL_H
#define LDG_BASE_MODEL_H

#include "base.h"

/* A footprint is the bytes of all cache lines touched on both sides; rows are measured at one per level of memory. */
enum { LDG_MODEL_L1, LDG_MODEL_L2, LDG_MODEL_L3, LDG_MODEL_MEMORY, LDG_MODEL_LEVELS };
/* How a strided side goes on from a block: into the same or the next line, past some lines, into another page. */
enum { LDG_MODEL_NEAR, LDG_MODEL_LINE, LDG_MODEL_PAGE, LDG_MODEL_STRIDES };
/* The side that is not dense in memory: read (a pack) or written (an unpack). As the planner's directions. */
enum { LDG_MODEL_READ, LDG_MODEL_WRITE, LDG_MODEL_SIDES };
/* A kernel of a device that runs a nest, with its packed side in the device's memory, or in pinned memory of the host; and one that goes
 * down a tree, in the device's memory. */
enum { LDG_MODEL_HERE, LDG_MODEL_FAR, LDG_MODEL_TREE, LDG_MODEL_KERNELS };
enum { LDG_MODEL_TO_DEVICE, LDG_MODEL_FROM_DEVICE, LDG_MODEL_WAYS };
enum { LDG_MODEL_ODD_READ, LDG_MODEL_ODD_WRITE, LDG_MODEL_ODD_TRANSPOSE, LDG_MODEL_ODDS };

typedef enum ldg_model_name {
  LDG_MODEL_CALL,     /* ns to enter a kernel */
  LDG_MODEL_ROW,      /* ns more for every run of an innermost loop */
  LDG_MODEL_TILED,    /* ns more for every plane of a transpose */
  LDG_MODEL_CHILD,    /* ns more for every child of a loop over a tree */
  LDG_MODEL_WALK,     /* ns for every piece of the definition */
  LDG_MODEL_VARLIST,  /* ns more for a listed block with a length of its own */
  LDG_MODEL_SHUFFLE,  /* ns for a window of 64 bytes in the first-level cache */
  LDG_MODEL_WINDOW,   /* ns for one of 16 or 32 bytes, where there are no masks */
  LDG_MODEL_PART,     /* ns of work that make it worth to wake another thread */
  LDG_MODEL_PREFETCH, /* entries ahead to prefetch in index lists out of cache; 0: of no use, then kernels prefetch what they are about to move */
  LDG_MODEL_STREAM,   /* bytes moved from which on non-temporal stores pay */
  LDG_MODEL_LIBC,     /* bytes of one block from which on the C library's memcpy beats a loop */
  LDG_MODEL_LIBC_ROWS, /* the same where messages of such blocks are more than the first-level cache holds, if that is less */
  LDG_MODEL_ALIGN,    /* 1: long blocks of one length are best stored to aligned places; 0: 128 bytes after the other, as they come; of one run: from 512 bytes on, or from 2 KiB */
  LDG_MODEL_LANES,    /* 1: a register filled lane by lane and stored beats stores of 1 to 8 bytes; else 0 */
  LDG_MODEL_MEET,     /* lines of one set of the first-level cache to read at once, in columns of few sets; 0: it does not matter */
  LDG_MODEL_MEET_WRITTEN, /* the same of lines that are written */
  LDG_MODEL_SETS,     /* columns that are read in few bytes a line gain by that, if of no more sets than so many */
  LDG_MODEL_SETS_WRITTEN, /* the same of those that are written */
  LDG_MODEL_SETS_WHOLE, /* the same of lines that are written whole */
  LDG_MODEL_SETS_APART, /* columns of no more sets that are read from beyond the second-level cache gain by idle slots between blocks, and those that are written by near stores, if LDG_MODEL_STORES are enough, rather than groups; 0: they do not */
  LDG_MODEL_STORES,   /* stores that such a column of one set has for each block, its own among them, so that lines of that set on their way are few; of more sets fewer, of up to four three at least; where its own would be all, groups come first; below 16, where LDG_MODEL_PACE is 0, rows that calls do not time go at once, and short columns that are packed are timed (paced.c) */
  LDG_MODEL_IDLE,     /* times 4 idle slots between the blocks of one that is read from one set; of one more than LDG_MODEL_PACE at least, if that is not 0 */
  LDG_MODEL_AHEAD,    /* lines ahead, or listed blocks, to ask for lines into the second-level cache, where calls find that faster; 0: of no use */
  LDG_MODEL_WRITTEN,  /* lines ahead to read those that are about to be written, where a line that is only stored to takes longer; 0: of no use */
  LDG_MODEL_SHUFFLE_FAR, /* ns for a window of 64 bytes whose lines come from the second-level cache: some machines move and shuffle at once */
  LDG_MODEL_MASKED,   /* windows ahead to ask for lines that are stored under masks, where nobody foresees those and masks cost; 0: they do not */
  LDG_MODEL_JOINED,   /* 1: blocks of 12 bytes, and of 24 to 248 that are whole words and no whole registers of 32, are best put together where the destination is dense; else 0 */
  LDG_MODEL_TOUCHED,  /* 1: what comes from memory is best read in some places before it is moved (strided blocks, close lists) or loaded by 16 bytes (blocks, runs, rows, full windows), and tiles ask for the next ones; else 0 */
  LDG_MODEL_PACE,     /* stores to a near line between two blocks, of 17 to 64 bytes, of a column of one set, of few lines, that is read from the second-level cache; what follows from that for others, also for some of four sets, and goes before what LDG_MODEL_STORES says, is in paced.c; 0: not known */
  LDG_MODEL_REDUCED,  /* ns for up to four elements of 8 bytes of a row that are reduced at once, in the first-level cache; one or two take two thirds of it, three one and a half */
  LDG_MODEL_NAMES
} ldg_model_name;

enum {
  LDG_MODEL_COPIES = 29, /* memcpy of 2^0 .. 2^28 bytes */
  LDG_MODEL_BLOCKS = 15, /* blocks of 2^0 .. 2^14 bytes */
  LDG_MODEL_WIDTHS = 7,  /* elements of 2^0 .. 2^6 bytes */
  LDG_MODEL_VERSION = 18
};

typedef struct ldg_model {
  int64_t level[LDG_MODEL_LEVELS];                                                                    /* footprints, rising */
  int64_t copy[LDG_MODEL_COPIES];                                                                     /* a memcpy */
  int64_t block[LDG_MODEL_SIDES * LDG_MODEL_STRIDES * LDG_MODEL_LEVELS * LDG_MODEL_BLOCKS];           /* a block of a strided loop */
  int64_t list[LDG_MODEL_SIDES * LDG_MODEL_LEVELS * LDG_MODEL_BLOCKS];                                /* an entry of a list, scattered */
  int64_t transpose[LDG_MODEL_LEVELS * LDG_MODEL_WIDTHS];                                             /* an element of a tiled transpose */
  int64_t odd[LDG_MODEL_ODDS * LDG_MODEL_BLOCKS];                                                     /* more, in cache, between powers of two */
  int64_t number[LDG_MODEL_NAMES];                                                                    /* ps, entries, bytes */
  int64_t kernel[LDG_MODEL_KERNELS * LDG_MODEL_SIDES * LDG_MODEL_STRIDES * LDG_MODEL_BLOCKS];         /* a block, of very many; no launch */
  int64_t transfer[LDG_MODEL_WAYS * LDG_MODEL_COPIES];                                                /* a copy of the driver, pinned memory */
  int64_t launch;                                                                                     /* host time of an enqueue that is one; where those go by graphs, of such a one */
  int64_t handover;                                                                                   /* from a kernel to a copy of the driver, and back */
} ldg_model;

/* The model in use; never NULL. The first call of the process reads the file. */
const ldg_model *ldg_model_get(void);
/* Testing and calibration: this model from now on (it must stay), or with NULL again the one found at first. */
void ldg_model_use(const ldg_model *m);
/* The built-in numbers, with this machine's cache sizes as levels. */
ldg_model ldg_model_builtin(void);
/* The rows of devices are the built-in ones, which nobody measured. */
bool ldg_model_assumes_devices(void);

double ldg_model_footprint(int level);
double ldg_model_copy(int64_t bytes);
double ldg_model_block(int side, int stride, int64_t block, double footprint);
double ldg_model_list(int side, int64_t block, double footprint);
double ldg_model_transpose(int64_t width, double footprint);
double ldg_model_shuffle(double footprint);
double ldg_model_kernel(int kernel, int side, int stride, int64_t block);
double ldg_model_transfer(int way, int64_t bytes);
double ldg_model_launch(void);
double ldg_model_handover(void);
int64_t ldg_model_parts(double ns, int64_t ways); /* at most `ways`: as many parts of that work as are worth to wake a thread; may be 0 */
double ldg_model_odd(int which, int64_t block); /* 0 for powers of two */
double ldg_model_ns(ldg_model_name n);          /* of the times among the numbers */
static inline int64_t ldg_model_count(ldg_model_name n) { return ldg_model_get()->number[n]; } /* of the others */

/* ---- the file ---- */

/* Text: a line with the version, the fingerprint, a line a row, a checksum. Lengths as ldg_text counts them. */
void ldg_model_print(const ldg_model *m, const char *fingerprint, ldg_text *t);
/* NULL when `text` is a whole model for that fingerprint, else in words why not; *out is then unchanged. */
const char *ldg_model_read(const char *text, int64_t n, const char *fingerprint, ldg_model *out);
/* Reads the file; as above, with the words of the system when it cannot be opened. */
const char *ldg_model_load(const char *path, ldg_model *out);
/* Where the file of this machine is: $LADING_MODEL, else in $XDG_CACHE_HOME/lading or ~/.cache/lading, a name per fingerprint.
 * False: nowhere. */
bool ldg_model_path(char *buf, int64_t cap);

#define LDG_MODEL_TEXT_MAX 16384

#endif
