/* peer_table: a hash table whose entries also stand in a list by last use. How a type ends is the matter of the public
 * lading_type_free alone, since types from here have been given out. */
#include "peer_table.h"
#include "wire.h"

enum { BUCKETS_MIN = 16 };

/* Names are digests: any of their bits will do. */
static ldg_peer_entry **bucket_of(const ldg_peer_table *t, const lading_id *name) {
  return &t->bucket[name->w[0] & (uint64_t)(t->buckets - 1)];
}

static void drop(ldg_peer_table *t, ldg_peer_entry *e) {
  ldg_peer_entry **p = bucket_of(t, &e->name);
  while (*p != e) p = &(*p)->next;
  *p = e->next;
  ldg_lru_remove(&t->uses, &e->use);
  t->bytes -= e->bytes;
  t->count--;
  lading_type_free(e->type);
  ldg_free(e);
}

ldg_peer_entry *ldg_peer_table_find(ldg_peer_table *t, const lading_id *name) {
  ldg_peer_entry *e = t->buckets ? *bucket_of(t, name) : NULL;
  while (e && (e->name.w[0] != name->w[0] || e->name.w[1] != name->w[1])) e = e->next;
  if (e) ldg_lru_use(&t->uses, &e->use);
  return e;
}

/* Room for one more; without memory for more buckets the chains get longer, only the first ones are needed. */
static bool grow(ldg_peer_table *t) {
  if (t->count < t->buckets) return true;
  const int64_t n = t->buckets ? 2 * t->buckets : BUCKETS_MIN, bytes = n * (int64_t)sizeof *t->bucket;
  ldg_peer_entry **bucket = ldg_alloc(bytes);
  if (!bucket) return t->buckets > 0;
  memset(bucket, 0, (size_t)bytes);
  ldg_free(t->bucket);
  t->bucket = bucket;
  t->buckets = n;
  for (ldg_peer_entry *e = (ldg_peer_entry *)t->uses.oldest; e; e = (ldg_peer_entry *)e->use.newer) {
    ldg_peer_entry **b = bucket_of(t, &e->name);
    e->next = *b;
    *b = e;
  }
  return true;
}

int64_t ldg_peer_table_bytes(const lading_type *type) {
  return (int64_t)sizeof(ldg_peer_entry) + ldg_wire_memory(type);
}

int ldg_peer_table_add(ldg_peer_table *t, const lading_id *name, const lading_type *type, bool known) {
  const int64_t bytes = ldg_peer_table_bytes(type);
  if (bytes > t->capacity) return LADING_OK;
  ldg_peer_entry *e = grow(t) ? ldg_alloc(sizeof *e) : NULL;
  if (!e) return LADING_ERR_NOMEM;
  while (t->bytes > t->capacity - bytes) {
    drop(t, (ldg_peer_entry *)t->uses.oldest);
    t->evictions++;
  }
  ldg_peer_entry **b = bucket_of(t, name);
  *e = (ldg_peer_entry){ .name = *name, .type = lading_type_ref(type), .bytes = bytes, .known = known, .next = *b };
  *b = e;
  ldg_lru_add(&t->uses, &e->use);
  t->bytes += bytes;
  t->count++;
  return LADING_OK;
}

void ldg_peer_table_clear(ldg_peer_table *t) {
  while (t->uses.oldest) drop(t, (ldg_peer_entry *)t->uses.oldest);
  ldg_free(t->bucket);
  t->bucket = NULL;
  t->buckets = 0;
}
