/* A program that knows yaksa.h alone, as an MPI does: a column of a matrix goes out and comes back doubled. */
#include <yaksa.h>

int main(void) {
  static int matrix[8][8];
  int column[8];
  yaksa_type_t t = YAKSA_TYPE__NULL;
  uintptr_t packed = 0, unpacked = 0, segments = 0;
  for (int i = 0; i < 64; i++) matrix[i / 8][i % 8] = i;
  int rc = yaksa_init(NULL) || yaksa_type_create_vector(8, 1, 8, YAKSA_TYPE__INT, NULL, &t) || yaksa_iov_len(1, t, &segments) ||
           yaksa_pack(&matrix[0][3], 1, t, 0, column, sizeof column, &packed, NULL, YAKSA_OP__REPLACE) ||
           yaksa_unpack(column, sizeof column, &matrix[0][3], 1, t, 0, &unpacked, NULL, YAKSA_OP__SUM) || yaksa_type_free(t) || yaksa_finalize();
  if (rc || segments != 8 || packed != sizeof column || unpacked != sizeof column || matrix[5][3] != 86 || matrix[5][4] != 44) return 1;
  return printf("yaksa %s: %d\n", YAKSA_VERSION, matrix[5][3]) < 0;
}
