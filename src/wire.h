/* wire: a type as bytes, the same on every machine, and back. Also the name of a type: what two types share if and only if
 * neither of them can be told from the other.
 *
 *   'l' version            2 bytes
 *   flags                  bit 0: the bounds are explicit markers; bit 1: they are those of the data; bits 2-4: log2 of the alignment
 *   lb extent              unless bit 1
 *   nodes                  how many, then the canonical tree with children before parents:
 *     0 n                  bytes
 *     1 n stride           repeat of the last node
 *     2 list               blocks of it
 *     3 stride list list   counted blocks of it: counts, offsets
 *     4 list               join of the last n nodes, n being the length of the list
 *     5 k                  the k-th last one of all before that are neither bytes nor again, as it was
 *                          (written for equal nodes that are lists, joins, or loops over more than bytes)
 *   items                  how many, then the signature in the same manner, but all of it written out:
 *     elem n               n elements
 *     64 parts n           n times the last so many items
 *   true_lb true_extent id of the sequence of bytes; the id is 16 bytes, little-endian
 *
 * A number is 7 bits a byte, low ones first, in as few bytes as it takes; one that may be negative is folded first (0 -1 1
 * -2 ...). A list is its length n, its first value and, if n > 1: a flag, a unit, [the least difference if the flag is 1],
 * n-1 differences of neighbours in that unit, folded (flag 0) or less the least one (flag 1), whichever is shorter.
 */
#ifndef LDG_WIRE_H
#define LDG_WIRE_H

#include "build.h"

/* The decoder holds at most so many bytes at a time, with what it returns, for n bytes of input. */
#define LDG_WIRE_MEMORY(n) (96 * (int64_t)(n) + 4096)

/* Writes the type, whose plan is made. ERR_RANGE when it takes more than `cap` bytes: then only *used is written, with
 * the number it takes. ERR_NOMEM: nothing is written. */
int ldg_wire_encode(const lading_type *t, void *buf, int64_t cap, int64_t *used);
/* Trusts nothing. ERR_FORMAT, ERR_OVERFLOW, ERR_DEPTH, ERR_NOMEM. */
int ldg_wire_decode(const void *buf, int64_t n, lading_type **out);
/* Testing: writes true_lb, true_extent and id behind a body of n bytes that ends before them, so that altered bodies get
 * past the comparison. The new length, or an error; ERR_RANGE when there is no room. */
int64_t ldg_wire_seal(void *buf, int64_t n, int64_t cap);

/* Digest of layout id, bounds, alignment and elements; made once per type. */
lading_id ldg_wire_name(const lading_type *t);
/* The same of a type nobody else has seen yet, whose layout id is known. */
void ldg_wire_set_name(lading_type *t, const lading_id *layout);
int64_t ldg_wire_memory(const lading_type *t); /* bytes held by a type as it was made */

#endif
