/* api: the public functions. Checks arguments, makes the plan of a type at first use, and calls the layers. */
#ifndef LDG_API_H
#define LDG_API_H

#include "build.h"
#include "canon.h"
#include "exec.h"

/* The plan of a type, made at first use and kept by the type: the types of one layout and extent share it. */
int ldg_api_plan(const lading_type *t, const ldg_plan **out);

static inline const ldg_plan *ldg_api_plan_made(const lading_type *t) {
  return atomic_load_explicit(&t->plan, memory_order_acquire);
}

/* No offset of `count` items leaves 64 bits: OK or ERR_OVERFLOW. The plan's layout and extent are known to fit for one. */
int ldg_api_fits(const ldg_plan *p, int64_t count);

/* `count` items of t at base, checked: ERR_ARG, ERR_OVERFLOW, and the errors of ldg_api_plan. */
int ldg_api_side(const lading_type *t, int64_t count, const void *base, const ldg_plan **plan, ldg_side *out);

#endif
