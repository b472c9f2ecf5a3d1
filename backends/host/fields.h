/* fields: items of a few fields each, moved item by item. */
#ifndef LDG_HOST_FIELDS_H
#define LDG_HOST_FIELDS_H

#include "../backend.h"
#include "kernel_rows.h" /* generated */

/* n items, ss and ds bytes apart: up to LDG_FIELD_WORDS words of each, up to LDG_FIELD_ORDERED of them in any order, of more the longest first, whose lengths the kernel knows, at[2 * k] and at[2 * k + 1] bytes behind the places of their item. Says LADING_OK, so
 * that who was asked to move ends by going there. */
typedef int ldg_field_run(const char *restrict src, char *restrict dst, int64_t n, int64_t ss, int64_t ds, const int32_t *at);
/* The lengths of its words, 0 where there are fewer; in the order of memcmp. */
typedef struct ldg_field_kernel { unsigned char word[LDG_FIELD_WORDS]; ldg_field_run *run; } ldg_field_kernel;
extern const ldg_field_kernel ldg_field_kernels[];
extern const size_t ldg_field_kernel_count;

/* In words why not; else NULL. */
const char *ldg_fields_why_not(const ldg_nest *n);
double ldg_fields_cost(const ldg_nest *n);
/* Of what is not listed job->own has room from LDG_ASKED_AT on. */
void ldg_fields_prepare(ldg_job *j);

#endif
