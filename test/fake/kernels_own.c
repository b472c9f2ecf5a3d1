/* Kernels for the fake's own tests: right ones, and one for each thing it must find. */
#include "own.h"
#include "../../genkernels/device.h"

LDG_DEVICE uint64_t everywhere(void) { return LDG_BID * (uint64_t)LDG_BLOCK_DIM + LDG_TID; }

LDG_KERNEL(own_fill, own_args) {
  const uint64_t i = everywhere();
  if (i < a->n) LDG_STORE(uint32_t, a->dst + 4 * i, a->value);
}

/* Each block reverses its piece through shared memory: wrong without the barriers. */
LDG_KERNEL(own_reverse, own_args) {
  LDG_SHARED(uint32_t, tile, LDG_BLOCK_MAX);
  LDG_UNROLL(2)
  for (int twice = 0; twice < 2; twice++) {
    tile[LDG_TID] = LDG_LOAD(uint32_t, (twice ? a->dst : a->src) + 4 * everywhere());
    LDG_SYNC();
    const uint32_t v = tile[LDG_BLOCK_DIM - 1 - LDG_TID];
    LDG_SYNC();
    LDG_STORE(uint32_t, a->dst + 4 * everywhere(), twice ? v + a->value : v);
    LDG_SYNC();
  }
}

LDG_KERNEL(own_no_barrier, own_args) {
  LDG_SHARED(uint32_t, tile, LDG_BLOCK_MAX);
  tile[LDG_TID] = LDG_LOAD(uint32_t, a->src + 4 * everywhere());
  LDG_STORE(uint32_t, a->dst + 4 * everywhere(), tile[LDG_BLOCK_DIM - 1 - LDG_TID]);
}

/* Two write the same word, behind the first threads of a block and before its last ones. */
LDG_KERNEL(own_neighbours, own_args) {
  LDG_SHARED(uint32_t, tile, LDG_BLOCK_MAX);
  if (LDG_TID / 2 % 50 == 20) tile[LDG_TID / 2] = LDG_TID;
  LDG_STORE(uint32_t, a->dst + 4 * everywhere(), tile[LDG_TID / 2]);
}

LDG_KERNEL(own_early_leave, own_args) {
  if (everywhere() >= a->n) return;
  LDG_SYNC();
}

LDG_KERNEL(own_two_barriers, own_args) {
  if (LDG_TID < a->n) {
    LDG_SYNC();
  } else {
    LDG_SYNC();
  }
}

LDG_KERNEL(own_wide, own_args) {
  const ldg_word16 w = LDG_LOAD(ldg_word16, a->src);
  LDG_STORE(ldg_word16, a->dst, w);
}

/* The last of all threads says so in memory that the host polls. */
LDG_KERNEL(own_last, own_args) {
  ldg_dev_atomic_add64((uint64_t *)a->dst, 2);
  if (ldg_dev_atomic_sub32((uint32_t *)(a->dst + 8), 1) == 1) ldg_dev_publish32((uint32_t *)a->flag, a->value);
}

LDG_KERNEL(own_greedy, own_args) {
  LDG_SHARED(uint64_t, much, 6144);
  LDG_SHARED(char, more, 1);
  much[0] = a->n, more[0] = 0;
}
