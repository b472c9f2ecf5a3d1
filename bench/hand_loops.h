/* The loop bodies of hand.c, included once per element type, cell and direction: ELEM, CELL, LOOP(name), MOVE(place).
 * MOVE takes or puts the next element of the stream `s`. Bounds and strides are copied to locals first, since the
 * elements may alias the part that holds them. */

#define CELL_AT(where) do { ELEM *c = (ELEM *)(where); for (int k = 0; k < CELL; k++) MOVE(c[k]); } while (0)

static void LOOP(cells1)(const hand_part *p, char *mem, char *packed) {
  const int64_t n0 = p->n[0], s0 = p->stride[0];
  char *restrict m = mem + p->off;
  ELEM *restrict s = (ELEM *)packed;
  for (int64_t i = 0; i < n0; i++) CELL_AT(m + i * s0);
}

static void LOOP(cells2)(const hand_part *p, char *mem, char *packed) {
  const int64_t n0 = p->n[0], s0 = p->stride[0], n1 = p->n[1], s1 = p->stride[1];
  char *restrict m = mem + p->off;
  ELEM *restrict s = (ELEM *)packed;
  for (int64_t j = 0; j < n0; j++)
    for (int64_t i = 0; i < n1; i++) CELL_AT(m + j * s0 + i * s1);
}

static void LOOP(cells3)(const hand_part *p, char *mem, char *packed) {
  const int64_t n0 = p->n[0], s0 = p->stride[0], n1 = p->n[1], s1 = p->stride[1], n2 = p->n[2], s2 = p->stride[2];
  char *restrict m = mem + p->off;
  ELEM *restrict s = (ELEM *)packed;
  for (int64_t k0 = 0; k0 < n0; k0++)
    for (int64_t j = 0; j < n1; j++)
      for (int64_t i = 0; i < n2; i++) CELL_AT(m + k0 * s0 + j * s1 + i * s2);
}

static void LOOP(cells4)(const hand_part *p, char *mem, char *packed) {
  const int64_t n0 = p->n[0], s0 = p->stride[0];
  ELEM *restrict s = (ELEM *)packed;
  const int64_t n1 = p->n[1], s1 = p->stride[1], n2 = p->n[2], s2 = p->stride[2], n3 = p->n[3], s3 = p->stride[3];
  char *restrict m = mem + p->off;
  for (int64_t l = 0; l < n0; l++)
    for (int64_t k0 = 0; k0 < n1; k0++)
      for (int64_t j = 0; j < n2; j++)
        for (int64_t i = 0; i < n3; i++) CELL_AT(m + l * s0 + k0 * s1 + j * s2 + i * s3);
}

static void LOOP(list)(const hand_part *p, char *mem, char *packed) {
  const int64_t n = p->entries;
  const int32_t *restrict at = p->at;
  ELEM *restrict m = (ELEM *)(mem + p->off);
  ELEM *restrict s = (ELEM *)packed;
  for (int64_t i = 0; i < n; i++)
    for (int k = 0; k < CELL; k++) MOVE(m[at[i] + k]);
}

#if CELL == 1
#define RUN_AT(where) do { ELEM *c = (ELEM *)(where); for (int64_t k = 0; k < run; k++) MOVE(c[k]); } while (0)

static void LOOP(runs0)(const hand_part *p, char *mem, char *packed) {
  const int64_t run = p->run;
  char *restrict m = mem + p->off;
  ELEM *restrict s = (ELEM *)packed;
  RUN_AT(m);
}

static void LOOP(runs1)(const hand_part *p, char *mem, char *packed) {
  const int64_t run = p->run, n0 = p->n[0], s0 = p->stride[0];
  char *restrict m = mem + p->off;
  ELEM *restrict s = (ELEM *)packed;
  for (int64_t i = 0; i < n0; i++) RUN_AT(m + i * s0);
}

static void LOOP(runs2)(const hand_part *p, char *mem, char *packed) {
  const int64_t run = p->run, n0 = p->n[0], s0 = p->stride[0], n1 = p->n[1], s1 = p->stride[1];
  char *restrict m = mem + p->off;
  ELEM *restrict s = (ELEM *)packed;
  for (int64_t j = 0; j < n0; j++)
    for (int64_t i = 0; i < n1; i++) RUN_AT(m + j * s0 + i * s1);
}

static void LOOP(runs3)(const hand_part *p, char *mem, char *packed) {
  const int64_t run = p->run, n0 = p->n[0], s0 = p->stride[0], n1 = p->n[1], s1 = p->stride[1], n2 = p->n[2], s2 = p->stride[2];
  char *restrict m = mem + p->off;
  ELEM *restrict s = (ELEM *)packed;
  for (int64_t k0 = 0; k0 < n0; k0++)
    for (int64_t j = 0; j < n1; j++)
      for (int64_t i = 0; i < n2; i++) RUN_AT(m + k0 * s0 + j * s1 + i * s2);
}

static void LOOP(runs4)(const hand_part *p, char *mem, char *packed) {
  const int64_t run = p->run, n0 = p->n[0], s0 = p->stride[0];
  const int64_t n1 = p->n[1], s1 = p->stride[1], n2 = p->n[2], s2 = p->stride[2], n3 = p->n[3], s3 = p->stride[3];
  char *restrict m = mem + p->off;
  ELEM *restrict s = (ELEM *)packed;
  for (int64_t l = 0; l < n0; l++)
    for (int64_t k0 = 0; k0 < n1; k0++)
      for (int64_t j = 0; j < n2; j++)
        for (int64_t i = 0; i < n3; i++) RUN_AT(m + l * s0 + k0 * s1 + j * s2 + i * s3);
}

static void LOOP(list_runs)(const hand_part *p, char *mem, char *packed) {
  const int64_t n = p->entries, run = p->run;
  const int32_t *restrict at = p->at;
  ELEM *restrict m = (ELEM *)(mem + p->off);
  ELEM *restrict s = (ELEM *)packed;
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < run; k++) MOVE(m[at[i] + k]);
}

static void LOOP(list_lens)(const hand_part *p, char *mem, char *packed) {
  const int64_t n = p->entries;
  const int32_t *restrict at = p->at, *restrict len = p->len;
  ELEM *restrict m = (ELEM *)(mem + p->off);
  ELEM *restrict s = (ELEM *)packed;
  for (int64_t i = 0; i < n; i++) {
    ELEM *c = m + at[i];
    for (int32_t k = 0, stop = len[i]; k < stop; k++) MOVE(c[k]);
  }
}
#undef RUN_AT
#endif

#undef CELL_AT
