/* soa: particles as a struct of arrays, and a list of those that leave. One type gathers position, velocity and id of
 * every listed particle from three separate arrays: displacements are absolute addresses and the buffer is NULL. */
#include <lading.h>
#include <stdio.h>
#include <stdlib.h>

enum { PARTICLES = 5000, LEAVING = 700 };
typedef struct { double x[PARTICLES][3], v[PARTICLES][3]; int64_t id[PARTICLES]; } particles;

/* The listed entries of an array whose entries are `width` elements of kind `elem`. */
static int listed(lading_elem elem, int64_t width, const int64_t *list, lading_type **out) {
  lading_info info;
  int64_t at[LEAVING];
  int err = lading_type_info(lading_elem_type(elem), &info);
  for (int i = 0; i < LEAVING && !err; i++) at[i] = list[i] * width * info.extent;
  return err ? err : lading_type_hindexed_block(LEAVING, width, at, lading_elem_type(elem), out);
}

/* All three arrays of p; the result is good for this p only. */
static int leaving(const particles *p, const int64_t *list, lading_type **out) {
  const int64_t one[3] = { 1, 1, 1 }, at[3] = { (intptr_t)p->x, (intptr_t)p->v, (intptr_t)p->id };
  lading_type *triple = NULL, *id = NULL;
  int err = listed(LADING_DOUBLE, 3, list, &triple);
  if (!err) err = listed(LADING_INT64, 1, list, &id);
  if (!err) err = lading_type_struct(3, one, at, (const lading_type *[]){ triple, triple, id }, out);
  lading_type_free(triple);
  lading_type_free(id);
  return err;
}

/* Listed particles arrived, the others are untouched zeros. The list may not be sorted, but names no one twice. */
static int verify(const particles *a, const particles *b, const char *listed_too) {
  for (int i = 0; i < PARTICLES; i++) {
    int64_t want = listed_too[i] ? a->id[i] : 0;
    if (b->id[i] != want) return 1;
    for (int d = 0; d < 3; d++)
      if ((int64_t)b->x[i][d] != want * (d + 1) || (int64_t)b->v[i][d] != -want * (d + 1)) return 1;
  }
  return 0;
}

int main(void) {
  static particles a, b;
  static char in_list[PARTICLES];
  int64_t list[LEAVING];
  for (int i = 0; i < LEAVING; i++) list[i] = (int64_t)i * 1237 % PARTICLES, in_list[list[i]] = 1; /* 1237 is prime to 5000 */
  for (int i = 0; i < PARTICLES; i++) {
    a.id[i] = i + 1;
    for (int d = 0; d < 3; d++) a.x[i][d] = (double)(a.id[i] * (d + 1)), a.v[i][d] = -a.x[i][d];
  }
  lading_type *from = NULL, *to = NULL;
  lading_info info = { 0 };
  int err = leaving(&a, list, &from);
  if (!err) err = leaving(&b, list, &to);
  if (!err) err = lading_type_info(from, &info);
  char *wire = malloc((size_t)info.size + 1);
  if (!wire) err = LADING_ERR_NOMEM;
  if (!err) err = lading_pack(from, 1, NULL, wire, 0, info.size);
  if (!err) err = lading_unpack(to, 1, NULL, wire, 0, info.size);
  free(wire);
  lading_type_free(from);
  lading_type_free(to);
  if (err) return printf("soa: %s\n", lading_strerror(err)), 1;
  if (verify(&a, &b, in_list)) return printf("soa: wrong\n"), 1;
  printf("soa: ok, %d of %d particles, %ld bytes\n", LEAVING, PARTICLES, (long)info.size);
  return 0;
}
