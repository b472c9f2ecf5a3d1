/* peer_table: types by name, with a reference each, and no more bytes of them than a capacity: the least recently used
 * ones go. Types that others hold too live on without it. Not locked. */
#ifndef LDG_PEER_TABLE_H
#define LDG_PEER_TABLE_H

#include "base_lru.h"
#include "build.h"

typedef struct ldg_peer_entry {
  ldg_lru_link use;                            /* first, see base_lru.h */
  lading_id name;
  lading_type *type;
  int64_t bytes;
  bool known;                                  /* the hint of a sender: the receiver has it */
  struct ldg_peer_entry *next;                 /* in its bucket */
} ldg_peer_entry;

typedef struct ldg_peer_table {
  int64_t capacity, bytes, count, evictions, buckets; /* buckets: a power of 2, or 0 */
  ldg_peer_entry **bucket;
  ldg_lru uses;
} ldg_peer_table;

ldg_peer_entry *ldg_peer_table_find(ldg_peer_table *t, const lading_id *name); /* a use; NULL: not there */
/* Puts a type in that is not there yet, with a reference of its own, and drops what exceeds the capacity; a type that
 * exceeds it alone is not taken. ERR_NOMEM. */
int ldg_peer_table_add(ldg_peer_table *t, const lading_id *name, const lading_type *type, bool known);
void ldg_peer_table_clear(ldg_peer_table *t);
int64_t ldg_peer_table_bytes(const lading_type *type); /* that an entry counts as */

#endif
