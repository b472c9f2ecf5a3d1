/* cargo: what one launch on a device moves, as plain data that host and device code read alike.
 *
 * A cargo moves units [lo, hi) of a stream from one place to another; a unit is one word, or one element of a reduction whose bytes do not lie in one. It
 * has one of these forms: NARROW and WIDE nests are loops with a stride on both sides; LIST has places around one; FLAT has the places of all words of one item; TREES finds
 * every word by going down the trees of both layouts, from their images in device memory: it never refuses, and the image of a tree is as long as the description,
 * not as the list of its blocks. No word is split: it divides all blocks, strides and offsets of both sides.
 */
#ifndef LDG_CARGO_H
#define LDG_CARGO_H

#include <lading.h>
#include <stdint.h>

/* x / n as a multiplication and a shift, for 0 <= x < 2^63, or in a NARROW cargo < 2^31. magic 0: n is 1. */
typedef struct ldg_divisor { int64_t n; uint64_t magic; int64_t shift; } ldg_divisor;

#define LDG_CARGO_DIMS 8
typedef struct ldg_cargo_dim { ldg_divisor n; int64_t src, dst; } ldg_cargo_dim;

/* Where unit x of a nest is, by quotients alone: up[0] = x / dim[0].n, up[k] = up[k - 1] / dim[k].n, and its place is x * src + the sum of
 * up[k] * dim[k].src, modulo 2^64. So `src` is the stride of the innermost loop, and that of a dim is what one more of it adds to
 * dim.n more of the loop inside. That is two multiplications a side and dim; with remainders it was five. */
typedef struct ldg_cargo_nest { int64_t src, dst; ldg_cargo_dim dim[LDG_CARGO_DIMS]; } ldg_cargo_nest;

/* The same with what an entry of a list of places adds: entry i is where the outermost loop is in iteration i, whose stride there is 0. */
typedef struct ldg_cargo_list { ldg_cargo_nest nest; const int64_t *at; int64_t at_dst; } ldg_cargo_list; /* at_dst: places are those of the destination */

/* A transpose: `n` units along dim[0], at which the source is dense, and along dim[1]; the divisors of these two are of squares, those of
 * further dims of iterations, all of fewer than 2^31; strides are those of the loops. */
typedef struct ldg_cargo_grid { int64_t n[2]; ldg_cargo_dim dim[LDG_CARGO_DIMS]; } ldg_cargo_grid;

/* An image is a tree as words: nodes, that name each other and their lists by index of word; the root is at 0, and a child at 0 is one of bytes, which
 * has no node. Entries of lengths of their own are pairs of words, where one begins in the stream and where in memory: which one a byte is in is looked
 * up by `index`: entry index[b] is the last one that begins at or before byte b << shift, for all b up to the first behind the end. What is small has
 * another image, FLAT: a root alone, and from word `at` on the places of every 2^shift bytes of the stream, in 32 bits each. */
enum { LDG_IMAGE_BYTES, LDG_IMAGE_REPEAT, LDG_IMAGE_BLOCKS, LDG_IMAGE_JOIN, LDG_IMAGE_FLAT };
typedef struct ldg_image_node {
  int64_t kind, stride;       /* as in a rep */
  ldg_divisor each;           /* packed bytes of the child */
  int64_t child;              /* word; of a JOIN entries have their own */
  int64_t at;                 /* word of a list of places, of entries of one length */
  int64_t pairs, index, shift; /* words of the lists of others; pairs 0: there are none */
  int64_t kids;               /* word of a list of a JOIN's children */
} ldg_image_node;
#define LDG_IMAGE_NODE_WORDS ((int64_t)(sizeof(ldg_image_node) / 8))

/* Items `extent` bytes apart, of item.n packed bytes each, all 0 where there is one; image NULL: the side is its stream. The root is here, too, so
 * that the way down begins without a load; `words` are those that a block of threads may copy, 0 where it reads as little anyway. */
typedef struct ldg_cargo_side { const int64_t *image; int64_t words; ldg_divisor item; int64_t extent; ldg_image_node root; } ldg_cargo_side;
#define LDG_IMAGE_NEAR 512 /* words of both images, up to which a block of threads has a copy of its own */
/* Unit 0 is at stream byte `from`. */
typedef struct ldg_cargo_trees { ldg_cargo_side side[2]; int64_t from; } ldg_cargo_trees;

/* The same of two sides that are flat, `place` NULL: an item is one run, or the side is its stream; few words, since each line of arguments is waited for. */
typedef struct ldg_flat_side { const int32_t *place; int64_t extent; uint32_t item, magic, shift, grain; } ldg_flat_side; /* items as divisors; 2^grain bytes a place */
typedef struct ldg_cargo_flat { ldg_flat_side side[2]; int64_t from; } ldg_cargo_flat;

/* A kernel each. NARROW: a nest of fewer than 2^31 units, and of strides in it, all of 32 bits; WIDE: any nest; LIST: a list around a nest that is NARROW; FLAT: both
 * sides are flat, items of one run, or their streams, these shorter than 2^31 bytes, and extents of 32 bits; TREES: any two sides. */
enum { LDG_FORM_NARROW, LDG_FORM_WIDE, LDG_FORM_LIST, LDG_FORM_FLAT, LDG_FORM_TREES, LDG_FORMS };

typedef struct ldg_cargo {
  int64_t first;          /* tile of the launch from which on it is this cargo's; those of its neighbours bound it */
  int64_t lo, hi;         /* units, 0 <= lo < hi */
  const char *src;        /* places of stream byte 0; of a nest, of its first block */
  char *dst;
  int32_t form, word;     /* bytes of a load or store: 1, 2, 4, 8, 16 */
  int32_t unit;           /* bytes: the word's, which is one element of a reduction, or several of a sum; or the element's, which words divide */
  int32_t nd;             /* dims of a nest or grid */
  int16_t op, elem;       /* lading_op, lading_elem; LADING_REPLACE moves words */
  int32_t tile;           /* units: what a block of threads does at once, LDG_TILE or LDG_TILE_MOST */
  union { ldg_cargo_nest nest; ldg_cargo_list list; ldg_cargo_grid grid; ldg_cargo_trees trees; ldg_cargo_flat flat; } as;
} ldg_cargo;

/* Sums of whole words have a kernel, and a way inside of those of several cargos; but not of trees, the way down which takes more registers (36 instead of 25, of nvcc 13.0 for sm_90). */
#define LDG_CARGO_SUMS(c) ((c)->op == LADING_SUM && (c)->unit == (c)->word && (c)->form != LDG_FORM_TREES)

/* Of units: that many. */
static inline int64_t ldg_cargo_tiles(const ldg_cargo *c) { return (c->hi - c->lo - 1) / c->tile + 1; }

/* The argument of the kernels. Tile t of the launch is tile t - first of the last cargo whose first <= t. Tiles of units are what
 * a block of threads does at once; those of a transpose are squares of dim[0] by dim[1], the first square inside of all outer dims. */
#define LDG_CARGO_OWN 8
#define LDG_WORD_MAX 16   /* bytes */
#define LDG_TILE 256      /* units: one a thread, so that as many as there are go at once, ... */
#define LDG_TILE_MOST 1024 /* ... or four, read before the first is written, where there are more than threads, and dense */
#define LDG_SQUARE 32     /* a side of it, in units */
typedef struct ldg_cargo_args { int64_t tiles, n; ldg_cargo cargo[LDG_CARGO_OWN]; } ldg_cargo_args;

/* Of one cargo, as most launches are: a driver copies all arguments, whether or not they are used. */
typedef struct ldg_one_args { int64_t tiles; ldg_cargo cargo; } ldg_one_args;

/* Fused launches: cargos of many requests, of any forms, by one kernel. A tile has `parts` tiles of its cargo here, so that where there are many the search
 * for its cargo, the 400 bytes of that, two barriers and a count are shared by some. Tile t is cargo i's when start[i].first <= t, i the last such; whoever is done
 * with a tile counts its request's `left` down from 0, and the last of `tiles` sets it back and writes the request's id to its word. */
enum { LDG_FUSED_REQUESTS = 64, LDG_FUSED_CARGOS = 128, LDG_FUSED_PAGES = 16 };
typedef struct ldg_fused_end { uint64_t *word; uint64_t id; uint32_t left, tiles; } ldg_fused_end; /* word NULL: nobody asks */
typedef struct ldg_fused_start { int64_t first, end; } ldg_fused_start;                          /* tile; index of its request's end */
typedef struct ldg_fused_page {
  ldg_fused_end end[LDG_FUSED_REQUESTS];
  ldg_fused_start start[LDG_FUSED_CARGOS];
  ldg_cargo cargo[LDG_FUSED_CARGOS]; /* last: only those that are there travel */
} ldg_fused_page;
typedef struct ldg_fused_args { int64_t tiles; int32_t n, parts; ldg_fused_page *page; } ldg_fused_args; /* n cargos */

/* A few cargos are arguments, and nothing travels before the launch: of the page only `left` is used. Two or one of them are arguments of a kernel of their
 * own, since all arguments are copied. */
enum { LDG_PAIR_CARGOS = 2, LDG_FEW_CARGOS = 8 };
#define LDG_FUSED_BY_VALUE(name, cargos) \
  typedef struct name { ldg_fused_args all; ldg_fused_end end[cargos]; ldg_fused_start start[cargos]; ldg_cargo cargo[cargos]; } name
LDG_FUSED_BY_VALUE(ldg_pair_args, LDG_PAIR_CARGOS);
LDG_FUSED_BY_VALUE(ldg_few_args, LDG_FEW_CARGOS);

#endif
