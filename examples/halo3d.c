/* halo3d: the six faces of a 3-D box with ghost cells, each a subarray type. A face is packed at one end of an axis and
 * unpacked into the ghost layer at the other end, as a periodic halo exchange with oneself does. */
#include <lading.h>
#include <stdio.h>
#include <stdlib.h>

enum { NX = 20, NY = 12, NZ = 9, GHOST = 2 };
static const int64_t inner[3] = { NZ, NY, NX };
static const int64_t outer[3] = { NZ + 2 * GHOST, NY + 2 * GHOST, NX + 2 * GHOST };
#define CELLS ((NZ + 2 * GHOST) * (NY + 2 * GHOST) * (NX + 2 * GHOST))

/* GHOST layers of cells across `axis`, beginning at `start`. */
static lading_type *layer(int axis, int64_t start) {
  int64_t sub[3] = { inner[0], inner[1], inner[2] }, at[3] = { GHOST, GHOST, GHOST };
  lading_type *t = NULL;
  sub[axis] = GHOST, at[axis] = start;
  if (lading_type_subarray(3, outer, sub, at, LADING_ORDER_C, lading_elem_type(LADING_DOUBLE), &t)) exit(1);
  return t;
}

/* Packs the layers inside one end of the box and unpacks them into the ghosts beyond the other end. */
static int exchange(double *box, int axis, int high) {
  lading_type *send = layer(axis, high ? inner[axis] : GHOST);
  lading_type *recv = layer(axis, high ? 0 : inner[axis] + GHOST);
  lading_info info;
  int err = lading_type_info(send, &info);
  void *wire = err ? NULL : malloc((size_t)info.size);
  if (!err && wire) err = lading_pack(send, 1, box, wire, 0, info.size);
  if (!err && wire) err = lading_unpack(recv, 1, box, wire, 0, info.size);
  if (!wire) err = LADING_ERR_NOMEM;
  free(wire);
  lading_type_free(send);
  lading_type_free(recv);
  return err;
}

static int64_t cell(const int64_t c[3]) { return (c[0] * outer[1] + c[1]) * outer[2] + c[2]; }

/* How many of the axes put c into a ghost layer; `from` is the cell it mirrors. */
static int ghosts(const int64_t c[3], int64_t from[3]) {
  int n = 0;
  for (int d = 0; d < 3; d++) {
    int64_t i = c[d] - GHOST;
    from[d] = (i + inner[d]) % inner[d] + GHOST;
    n += i < 0 || i >= inner[d];
  }
  return n;
}

/* Ghosts on a face hold what they mirror; edges and corners were not sent and are still 0. */
static int verify(const double *box) {
  int64_t c[3], from[3];
  for (c[0] = 0; c[0] < outer[0]; c[0]++)
    for (c[1] = 0; c[1] < outer[1]; c[1]++)
      for (c[2] = 0; c[2] < outer[2]; c[2]++) {
        double want = ghosts(c, from) > 1 ? 0.0 : (double)(1 + cell(from));
        if (box[cell(c)] < want || box[cell(c)] > want) return printf("halo3d: wrong value in cell %ld\n", (long)cell(c)), 1;
      }
  return 0;
}

int main(void) {
  static double box[CELLS];
  int64_t c[3], from[3];
  for (c[0] = 0; c[0] < outer[0]; c[0]++)
    for (c[1] = 0; c[1] < outer[1]; c[1]++)
      for (c[2] = 0; c[2] < outer[2]; c[2]++) box[cell(c)] = ghosts(c, from) ? 0.0 : (double)(1 + cell(c));
  for (int face = 0; face < 6; face++) {
    int err = exchange(box, face / 2, face % 2);
    if (err) return printf("halo3d: %s\n", lading_strerror(err)), 1;
  }
  if (verify(box)) return 1;
  printf("halo3d: ok, 6 faces of a %d x %d x %d box\n", NX, NY, NZ);
  return 0;
}
