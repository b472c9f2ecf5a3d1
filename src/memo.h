/* memo: interned, counted objects. A hash finds the bucket, the full key decides. Sharded; entries leave when their last
 * reference goes. Locks are held over a fork, so the child can go on. */
#ifndef LDG_MEMO_H
#define LDG_MEMO_H

#include "base.h"

typedef struct ldg_memo ldg_memo;
typedef struct ldg_memo_entry {
  _Atomic int64_t refs;
  uint64_t hash;
  ldg_memo *memo;
  struct ldg_memo_entry *next;
} ldg_memo_entry;

typedef struct ldg_memo_class {
  bool (*equal)(const ldg_memo_entry *e, const void *key);
  int (*make)(const void *key, ldg_memo_entry **out);   /* called without a lock held */
  void (*destroy)(ldg_memo_entry *e);
} ldg_memo_class;

#define LDG_MEMO_SHARDS 64
typedef struct ldg_memo_shard { _Atomic int lock; int64_t count, cap; ldg_memo_entry **bucket; } ldg_memo_shard;
struct ldg_memo { const ldg_memo_class *cls; ldg_memo *next_memo; _Atomic int known; ldg_memo_shard shard[LDG_MEMO_SHARDS]; };

int ldg_memo_intern(ldg_memo *m, uint64_t hash, const void *key, ldg_memo_entry **out);
void ldg_memo_ref(ldg_memo_entry *e);
void ldg_memo_release(ldg_memo_entry *e);
/* Testing: hashes are masked with this before use; a small mask forces collisions. Set only while no entry is alive. */
void ldg_memo_set_mask(uint64_t mask);
int64_t ldg_memo_entries(void); /* alive in all memos */

#endif
