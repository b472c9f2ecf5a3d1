/* fields: items of a few fields each, moved item by item; or one item of fields of several lengths. */
#ifndef LDG_HOST_FIELDS_H
#define LDG_HOST_FIELDS_H

#include "../backend.h"
#include "kernel_rows.h" /* generated */

/* What a kernel goes by, first in job->own: how far items are apart, in bytes, the places of the first word, from those of the item, and of up to LDG_FIELD_WORDS - 1 others, from those of the first one. Up to
 * LDG_FIELD_ORDERED words are in any order, of more the longest come first, whose lengths the kernel knows. */
typedef struct ldg_field_group { int32_t src, dst, at[2 * LDG_FIELD_WORDS]; } ldg_field_group;
#define LDG_FIELD_GROUP(job) ((const ldg_field_group *)(const void *)((const char *)(job) + offsetof(ldg_job, own)))
/* The lengths of its words, 0 where there are fewer; in the order of memcmp. */
typedef struct ldg_field_kernel { unsigned char word[LDG_FIELD_WORDS]; ldg_run *run; } ldg_field_kernel;
extern const ldg_field_kernel ldg_field_kernels[];
extern const size_t ldg_field_kernel_count;

/* In words why not; else NULL. */
const char *ldg_fields_why_not(const ldg_nest *n);
double ldg_fields_cost(const ldg_nest *n);
/* Where it says so, which is where one kernel does it, of what is not listed, job->own has room for an ldg_asked at LDG_ASKED_AT, and from LDG_TRIAL_OWN on. */
bool ldg_fields_prepare(ldg_job *j);
void ldg_fields_prepare_item(ldg_job *j, const ldg_job *part); /* without a loop: `part` is of the same nest, and runs some of its entries */
/* One loop around listed fields: the kernel, which goes by *g first in job->own; NULL: no kernel has as many words. */
ldg_run *ldg_fields_of_list(const ldg_nest *n, ldg_field_group *g);

#endif
