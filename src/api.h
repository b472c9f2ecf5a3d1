/* api: the public functions. Checks arguments, makes the plan of a type at first use, and calls the layers. */
#ifndef LDG_API_H
#define LDG_API_H

#include "build.h"
#include "canon.h"
#include "exec.h"
#include "queue.h"

/* The plan of a type, made at first use and kept by the type: the types of one layout and extent share it. */
int ldg_api_plan(const lading_type *t, const ldg_plan **out);

static inline const ldg_plan *ldg_api_plan_made(const lading_type *t) {
  return atomic_load_explicit(&t->plan, memory_order_acquire);
}

/* No offset of `count` items leaves 64 bits: OK or ERR_OVERFLOW. The plan's layout and extent are known to fit for one. */
int ldg_api_fits(const ldg_plan *p, int64_t count);

/* `count` items of t at base, checked: ERR_ARG, ERR_OVERFLOW, and the errors of ldg_api_plan. */
int ldg_api_side(const lading_type *t, int64_t count, const void *base, const ldg_plan **plan, ldg_side *out);

/* The elements of a reduction, with all that a reduction asks for checked; the items fit. ERR_OVERFLOW, ERR_RANGE, ERR_UNSUPPORTED,
 * ERR_ARG. */
int ldg_api_elements(const lading_type *t, int64_t count, lading_op op, int64_t lo, int64_t hi, ldg_sig *out);
/* Every kind that has its bit. */
bool ldg_api_all_support(lading_op op, uint32_t kinds);
int ldg_api_common_elements(const lading_type *st, int64_t sc, const lading_type *dt, int64_t dc, lading_op op, int64_t lo, int64_t hi, ldg_sig *out);

/* A work with its arguments checked, as the queue layer takes it; ERR_ARG, and those of the call for host memory. */
int ldg_api_work(const lading_work *w, ldg_work *out);

#endif
