/* yaksa_calls: what calls through yaksa.h cost: small ones, and large types moved in segments, as an MPI does. The same program
 * measures the original: run it with that library first in LD_LIBRARY_PATH. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <yaksa.h>

enum { SAMPLES = 21, BLOCKS = 1 << 20, SEGMENT = 64 << 10 };

typedef struct job {
  const char *name;
  yaksa_type_t type;
  yaksa_op_t op;
  uintptr_t size, segment;
  int unpack;
  char *mem, *packed;
} job;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The whole type, in segments; the number of calls, 0 when one fails. */
static int run(const job *j) {
  int calls = 0;
  for (uintptr_t at = 0, n = 0; at < j->size; at += n, calls++) {
    const uintptr_t max = j->segment < j->size - at ? j->segment : j->size - at;
    const int rc = j->unpack ? yaksa_unpack(j->packed + at, max, j->mem, 1, j->type, at, &n, NULL, j->op)
                             : yaksa_pack(j->mem, 1, j->type, at, j->packed + at, max, &n, NULL, j->op);
    if (rc || n == 0) return 0;
  }
  return calls;
}

static int by_value(const void *a, const void *b) { return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b); }

/* Median ns of a call, over samples of at least 200 us. */
static double measure(const job *j) {
  double sample[SAMPLES];
  int calls = run(j), reps = 1; /* the first call makes what is made once */
  if (calls == 0) return -1;
  for (double t = 0; t < 2e5; reps *= 2) {
    const double start = now();
    for (int i = 0; i < reps; i++) run(j);
    t = now() - start;
  }
  reps /= 2;
  for (int s = 0; s < SAMPLES; s++) {
    const double start = now();
    for (int i = 0; i < reps; i++) run(j);
    sample[s] = (now() - start) / reps / calls;
  }
  qsort(sample, SAMPLES, sizeof *sample, by_value);
  return sample[SAMPLES / 2];
}

static int report(const job *j) {
  const double ns = measure(j);
  if (ns < 0) return fprintf(stderr, "%s: failed\n", j->name), 1;
  const double bytes = (double)(j->segment < j->size ? j->segment : j->size);
  return printf("%-44s %10.1f ns a call %8.2f GB/s\n", j->name, ns, bytes / ns) < 0;
}

/* Blocks of an int and an int of hole, some of them longer. */
static int make_list(yaksa_type_t *list) {
  intptr_t *bl = malloc(BLOCKS * sizeof *bl), *at = malloc(BLOCKS * sizeof *at), end = 0;
  int rc = 1;
  for (intptr_t i = 0; bl && at && i < BLOCKS; end = at[i] + 4 * bl[i], i++) bl[i] = 1 + i * 7 % 3, at[i] = end + 4;
  if (bl && at) rc = yaksa_type_create_hindexed(BLOCKS, bl, at, YAKSA_TYPE__INT, NULL, list);
  free(bl);
  free(at);
  return rc;
}

int main(void) {
  yaksa_type_t small, vector, list;
  char *mem = calloc(4, BLOCKS * sizeof(double)), *packed = calloc(2, BLOCKS * sizeof(double));
  uintptr_t list_size;
  int rc = yaksa_init(NULL) || !mem || !packed || yaksa_type_create_vector(8, 1, 2, YAKSA_TYPE__DOUBLE, NULL, &small) ||
           yaksa_type_create_vector(BLOCKS, 1, 2, YAKSA_TYPE__DOUBLE, NULL, &vector) || make_list(&list) || yaksa_type_get_size(list, &list_size);
  if (rc) return fprintf(stderr, "cannot make the types\n"), 1;
  const job jobs[] = {
    { "unpack of one int, SUM", YAKSA_TYPE__INT, YAKSA_OP__SUM, 4, 4, 1, mem, packed },
    { "unpack of one double, MAX", YAKSA_TYPE__DOUBLE, YAKSA_OP__MAX, 8, 8, 1, mem, packed },
    { "pack of vector(8,1,2,double)", small, YAKSA_OP__REPLACE, 64, 64, 0, mem, packed },
    { "unpack of vector(8,1,2,double)", small, YAKSA_OP__REPLACE, 64, 64, 1, mem, packed },
    { "unpack of vector(8,1,2,double), SUM", small, YAKSA_OP__SUM, 64, 64, 1, mem, packed },
    { "pack of vector(2^20,1,2,double), 64 KiB", vector, YAKSA_OP__REPLACE, BLOCKS * sizeof(double), SEGMENT, 0, mem, packed },
    { "unpack of vector(2^20,1,2,double), 64 KiB", vector, YAKSA_OP__REPLACE, BLOCKS * sizeof(double), SEGMENT, 1, mem, packed },
    { "pack of hindexed of 2^20 entries, 64 KiB", list, YAKSA_OP__REPLACE, list_size, SEGMENT, 0, mem, packed },
    { "unpack of hindexed of 2^20 entries, 64 KiB", list, YAKSA_OP__REPLACE, list_size, SEGMENT, 1, mem, packed },
  };
  for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) rc |= report(&jobs[i]);
  yaksa_type_free(small), yaksa_type_free(vector), yaksa_type_free(list);
  yaksa_finalize();
  free(mem);
  free(packed);
  return rc;
}
