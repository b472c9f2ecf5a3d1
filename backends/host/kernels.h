/* The generated kernels, as the strategies of the host backend see them: one table per instruction set level. */
#ifndef LDG_HOST_KERNELS_H
#define LDG_HOST_KERNELS_H

#include "../backend.h"
#include "kernel_rows.h" /* generated */

#define LDG_INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#define LDG_UNROLL _Pragma("clang loop unroll(full)")
#define LDG_UNROLL_FEW _Pragma("clang loop unroll_count(4)")
#else
#define LDG_UNROLL _Pragma("GCC unroll 16")
#define LDG_UNROLL_FEW _Pragma("GCC unroll 4")
#endif
#define LDG_LIST_AHEAD 24      /* entries that a list kernel prefetches ahead */
#define LDG_TRANSPOSE_PANEL 64 /* rows of a transpose panel: as many pages as the smallest first-level TLB holds */

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define LDG_HAVE_SHUFFLE 1
#endif
#endif
#ifndef LDG_HAVE_SHUFFLE
#define LDG_HAVE_SHUFFLE 0
#endif

typedef struct ldg_block_row { const char *name; int64_t lo, hi; } ldg_block_row;

enum { LDG_ANY, LDG_DENSE_DST, LDG_DENSE_SRC };                   /* what is known of the innermost strides */
enum { LDG_NEAR4, LDG_NEAR8, LDG_FAR4 };                          /* width of the offsets; far: prefetched */
typedef struct ldg_block_kernels {
  ldg_run *strided[3][3];                                         /* [dims - 1, 3 and more alike][density] */
  ldg_run *list[2][3];                                            /* [side of the list][how] */
} ldg_block_kernels;

typedef struct ldg_kernels {
  const char *isa;
  ldg_run *dense;
  ldg_block_kernels block[LDG_BLOCK_ROWS];
  ldg_run *transpose[LDG_TRANSPOSE_ROWS];
  ldg_run *varlist[2];                                            /* [side of the list] */
} ldg_kernels;

#define LDG_BLOCK_KERNELS(name, isa)                                                                                  \
  { { { ldg_k_##name##_copy1_##isa, ldg_k_##name##_copy1_pd_##isa, ldg_k_##name##_copy1_ps_##isa },                   \
      { ldg_k_##name##_copy2_##isa, ldg_k_##name##_copy2_pd_##isa, ldg_k_##name##_copy2_ps_##isa },                   \
      { ldg_k_##name##_copyn_##isa, ldg_k_##name##_copyn_pd_##isa, ldg_k_##name##_copyn_ps_##isa } },                 \
    { { ldg_k_##name##_src4_##isa, ldg_k_##name##_src8_##isa, ldg_k_##name##_srcf_##isa },                            \
      { ldg_k_##name##_dst4_##isa, ldg_k_##name##_dst8_##isa, ldg_k_##name##_dstf_##isa } } }

/* Reductions. Dense runs are made for some levels; single elements gain nothing from a level, so all levels share them. */
typedef struct ldg_ops { const char *isa; ldg_op row[LDG_OP_ROWS]; } ldg_ops;
#define LDG_OP_KERNELS(name, isa) { ldg_k_##name##_size, ldg_k_##name##_dense_##isa, ldg_k_##name##_strided, ldg_k_##name##_listed }

extern const ldg_ops ldg_ops_base, ldg_ops_v2, ldg_ops_v3, ldg_ops_v4, ldg_ops_neon;
extern const ldg_kernels ldg_kernels_base, ldg_kernels_v2, ldg_kernels_v3, ldg_kernels_v4, ldg_kernels_neon;

#endif
