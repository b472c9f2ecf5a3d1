/* loops: a nest by a kernel of its innermost dims. */
#ifndef LDG_HOST_LOOPS_H
#define LDG_HOST_LOOPS_H

#include "../backend.h"

/* n iterations of dim k, by a kernel that runs dim `inner` with all that is inside of it. */
static inline void ldg_loops(const ldg_job *j, ldg_run *kernel, int inner, int k, const char *src, char *dst, int64_t n) {
  const ldg_dim *d = &j->nest.dim[k];
  if (k == inner) kernel(j, src, dst, 0, n);
  else for (int64_t i = 0; i < n; i++) ldg_loops(j, kernel, inner, k - 1, src + i * d->src, dst + i * d->dst, d[-1].n);
}

#endif
