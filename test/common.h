/* Shared by the tests: seeded random numbers, a naive typemap model of every constructor, guarded buffers, and checks of
 * a type against its model. The model is written from MPI-4.1 chapter 5 alone; it knows nothing of the library's trees. */
#ifndef TEST_COMMON_H
#define TEST_COMMON_H

#include <check.h>
#include <lading.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Check writes each assertion that holds to a file, a microsecond of the system's time: a byte that is compared took longer than to be moved. So who
 * crashes does so "after" the start of the test; a debugger knows where. */
#undef ck_assert_msg
#undef ck_assert
#define ck_assert_msg(expr, ...) ((expr) ? (void)0 : ck_abort_msg(__VA_ARGS__))
#define ck_assert(expr) ck_assert_msg(expr, "Assertion '%s' failed", #expr)

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(TEST_ASAN) /* the judges', which are not instrumented themselves */
#elif defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define TEST_ASAN 1
#else
#define TEST_ASAN 0
#endif
/* What judges is not judged itself. */
#if TEST_ASAN
#define UNJUDGED __attribute__((no_sanitize("address"), no_sanitize("undefined")))
#else
#define UNJUDGED
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define TEST_TSAN 1
#else
#define TEST_TSAN 0
#endif

/* For tests that take long under the thread sanitizer, and have nothing for it: one thread, and none of the library's, or threads that do what they do in other tests, too. */
#define ONE_THREAD_ONLY() do { if (TEST_TSAN) return; } while (0)

#define COUNT_OF(a) ((int64_t)(sizeof(a) / sizeof((a)[0])))
#define LIST(...) ((const int64_t[]){__VA_ARGS__})

/* ---- programs: one suite each, every test its own case, so that CK_RUN_CASE=<test> runs one of them ---- */
int check_main(const char *layer, const TTest *const *tests, int64_t n, int argc, char **argv);
#define CHECK_MAIN(layer, argc, argv, ...) \
  check_main(layer, (const TTest *const[]){__VA_ARGS__}, (int64_t)(sizeof((const TTest *const[]){__VA_ARGS__}) / sizeof(TTest *)), argc, argv)
extern uint64_t test_seed; /* argv[1], else a fixed one */

int share_of(int samples); /* runs by the kernels of one level more, and slow ones, take every so many samples only */

typedef struct rng { uint64_t state; } rng;
rng rng_of(uint64_t salt);                            /* the same salt and seed give the same numbers */
uint64_t rng_next(rng *r);
void bytes_random(rng *r, void *at, int64_t n);
void bytes_vary(char *at, int64_t n); /* each becomes another one */
int64_t rng_in(rng *r, int64_t lo, int64_t hi);       /* lo..hi, both included */

/* ---- the model: a typemap, with explicit markers for lb and ub (MPI-4.1 section 5.1.7) ---- */
typedef struct map_entry { int kind; int64_t at; } map_entry;
typedef struct map {
  map_entry *e;
  int64_t n, cap;
  int64_t lb, ub;        /* natural, or of the markers when there are some */
  bool marked, placed;   /* has markers; has any bounds at all */
} map;

int64_t elem_size(int kind);
int64_t elem_align(int kind);
int elem_pieces(int kind, int64_t at[2], int64_t len[2], int kinds[2]); /* a pair is two elements with a hole */

map *map_of_elem(int kind);
map *map_copy(const map *m);
void map_free(map *m);
int64_t map_extent(const map *m);
map *map_contiguous(int64_t n, const map *old);
map *map_hvector(int64_t n, int64_t bl, int64_t stride, const map *old);
map *map_vector(int64_t n, int64_t bl, int64_t stride, const map *old);
map *map_hindexed(int64_t n, const int64_t *bl, const int64_t *at, const map *old);
map *map_indexed(int64_t n, const int64_t *bl, const int64_t *at, const map *old);
map *map_struct(int64_t n, const int64_t *bl, const int64_t *at, const map *const *olds);
map *map_subarray(int nd, const int64_t *sizes, const int64_t *sub, const int64_t *starts, lading_order order, const map *old);
map *map_darray(int64_t size, int64_t rank, int nd, const int64_t *gsizes, const lading_distrib *dist, const int64_t *dargs,
                const int64_t *psizes, lading_order order, const map *old);
map *map_resized(const map *old, int64_t lb, int64_t extent);

/* ---- the stream: what the map means, byte by byte ---- */
typedef struct stream {
  int64_t n, *at;          /* n byte offsets in stream order */
  int64_t runs, *start;    /* run k is stream bytes [start[k], start[k+1]) */
  int64_t lo, hi;          /* bounds of the offsets; 0, 0 when empty */
  int64_t min_run, max_run;
  bool monotonic, overlaps;
} stream;
stream *stream_of(const map *m, int64_t count);
stream *stream_of_offsets(const int64_t *at, int64_t n);
void stream_free(stream *s);
bool stream_equal(const stream *a, const stream *b);
int64_t map_signature(const map *m, int64_t count, unsigned char **kinds); /* basic elements, pairs taken apart */

/* ---- buffers: guard bytes on both sides, poisoned for the address sanitizer ---- */
typedef struct buffer { char *raw, *data; int64_t n; } buffer;
buffer buffer_new(int64_t n);
void buffer_fill(buffer *b, uint64_t salt);
bool buffer_guards(const buffer *b);                  /* still whole? */
void buffer_free(buffer *b);
static inline char *at_offset(const void *p, int64_t off) { return (char *)((uintptr_t)p + (uintptr_t)off); }

/* ---- a type with its model and its spelling, and the checks of one against the other ---- */
typedef struct sample { lading_type *type; map *map; char *spell; } sample;
void sample_free(sample *s);
void check_info(const sample *s);
void check_segments(const sample *s, int64_t count, rng *r);
void check_moves(const sample *s, int64_t count, rng *r);       /* pack and unpack through the API */
const struct ldg_strategy *strategy_named(const char *name); /* of the host; there is one */
void check_strategies(const sample *s, int64_t count, rng *r);  /* the same through every strategy there is */
void check_all(const sample *s, int64_t count);

lading_info info_of(const lading_type *t);
lading_id id_of(const lading_type *t, int64_t count);
char *text_of(const lading_type *t);                  /* to be freed */
bool same_id(lading_id a, lading_id b);
lading_type *parsed(const char *text);                /* fails the test when it does not parse */

#endif
