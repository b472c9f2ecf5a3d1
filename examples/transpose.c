/* transpose: the sender describes a matrix row by row, the receiver describes his column by column. The same stream of
 * bytes then is the transpose, in one copy, with no temporary and no loop of ours. */
#include <lading.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 300, COLS = 200 };

/* An m x n matrix of double, read column by column: n columns, one element further each. A column is m elements, n
 * apart; resized to the width of one element, so that the next column begins right beside it. */
static int columns(int64_t m, int64_t n, lading_type **out) {
  lading_type *column = NULL, *step = NULL;
  int err = lading_type_vector(m, 1, n, lading_elem_type(LADING_DOUBLE), &column);
  if (!err) err = lading_type_resized(column, 0, (int64_t)sizeof(double), &step);
  if (!err) err = lading_type_contiguous(n, step, out);
  lading_type_free(column);
  lading_type_free(step);
  return err;
}

static int verify(const double *a, const double *b) {
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLS; j++)
      if (b[j * ROWS + i] < a[i * COLS + j] || b[j * ROWS + i] > a[i * COLS + j]) return 1;
  return 0;
}

int main(void) {
  static double a[ROWS * COLS], b[COLS * ROWS];
  lading_type *by_row = NULL, *by_column = NULL;
  for (int i = 0; i < ROWS * COLS; i++) a[i] = i;
  int err = lading_type_contiguous(ROWS * COLS, lading_elem_type(LADING_DOUBLE), &by_row);
  if (!err) err = columns(COLS, ROWS, &by_column);
  if (!err) err = lading_copy(by_row, 1, a, by_column, 1, b, 0, (int64_t)sizeof a);
  lading_type_free(by_row);
  lading_type_free(by_column);
  if (err) return printf("transpose: %s\n", lading_strerror(err)), 1;
  if (verify(a, b)) return printf("transpose: wrong\n"), 1;
  printf("transpose: ok, %d x %d\n", ROWS, COLS);
  return 0;
}
