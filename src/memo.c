/* memo: a sharded hash table of counted objects. Entries are weak: the table holds no reference, the last holder takes the
 * entry out. A count that fell to 0 never rises again; who looks such an entry up makes a new one beside it. */
#include "memo.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

enum { BUCKETS_MIN = 8, SPINS = 64, YIELDS = 64 };

static _Atomic uint64_t mask = UINT64_MAX;

/* Every memo that was ever used, for fork and for counting; memos are static and never leave. */
static ldg_memo *known;
static _Atomic int known_lock;

/* Who has it may be a thread that runs only when nobody of a higher priority would: a real-time thread that only yields keeps it from running. No thread is cancelled in here. */
static void doze(void) {
  const int was = errno;
  int state;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  nanosleep(&(const struct timespec){ .tv_nsec = 10000 }, NULL);
  pthread_setcancelstate(state, NULL);
  errno = was;
}
static void lock(_Atomic int *l) {
  for (int spins = 0; atomic_exchange_explicit(l, 1, memory_order_acquire); spins++)
    while (atomic_load_explicit(l, memory_order_relaxed)) {
      if (spins > SPINS + YIELDS) doze();
      else if (++spins > SPINS) sched_yield();
    }
}

static void unlock(_Atomic int *l) {
  atomic_store_explicit(l, 0, memory_order_release);
}

/* ---- fork: the child gets tables at rest ------------------------------------------------------------------------------- */

static void before_fork(void) {
  lock(&known_lock);
  for (ldg_memo *m = known; m; m = m->next_memo)
    for (int i = 0; i < LDG_MEMO_SHARDS; i++) lock(&m->shard[i].lock);
}

static void after_fork(void) {
  for (ldg_memo *m = known; m; m = m->next_memo)
    for (int i = 0; i < LDG_MEMO_SHARDS; i++) unlock(&m->shard[i].lock);
  unlock(&known_lock);
}

/* When the library is loaded: a first use may already stand in a lock when another thread forks. */
__attribute__((constructor)) static void watch_forks(void) {
  pthread_atfork(before_fork, after_fork, after_fork);
}

static void make_known(ldg_memo *m) {
  lock(&known_lock);
  if (!atomic_load_explicit(&m->known, memory_order_relaxed)) {
    m->next_memo = known;
    known = m;
    atomic_store_explicit(&m->known, 1, memory_order_release);
  }
  unlock(&known_lock);
}

/* ---- one shard; its lock is held ----------------------------------------------------------------------------------------- */

static ldg_memo_shard *shard_of(ldg_memo *m, uint64_t hash) {
  return &m->shard[hash >> 58 & (LDG_MEMO_SHARDS - 1)];
}

static ldg_memo_entry **bucket_of(const ldg_memo_shard *s, uint64_t hash) {
  return &s->bucket[hash & (uint64_t)(s->cap - 1)];
}

static bool revive_not(ldg_memo_entry *e) {
  int64_t refs = atomic_load_explicit(&e->refs, memory_order_relaxed);
  while (refs > 0)
    if (atomic_compare_exchange_weak_explicit(&e->refs, &refs, refs + 1, memory_order_acquire, memory_order_relaxed)) return false;
  return true;
}

/* One more reference to the entry of the key, or NULL. */
static ldg_memo_entry *find(const ldg_memo *m, const ldg_memo_shard *s, uint64_t hash, const void *key) {
  if (s->cap == 0) return NULL;
  for (ldg_memo_entry *e = *bucket_of(s, hash); e; e = e->next)
    if (e->hash == hash && m->cls->equal(e, key) && !revive_not(e)) return e;
  return NULL;
}

static void rehash(ldg_memo_shard *s, ldg_memo_entry **bucket, int64_t cap) {
  ldg_memo_shard old = { .cap = s->cap, .bucket = s->bucket };
  s->bucket = bucket;
  s->cap = cap;
  for (int64_t i = 0; i < old.cap; i++) {
    for (ldg_memo_entry *e = old.bucket[i], *next; e; e = next) {
      next = e->next;
      ldg_memo_entry **b = bucket_of(s, e->hash);
      e->next = *b;
      *b = e;
    }
  }
  ldg_free(old.bucket);
}

/* Room for one more. Without memory for more buckets the chains get longer; only the first bucket is needed. */
static bool grow(ldg_memo_shard *s) {
  if (s->count < s->cap) return true;
  int64_t cap = s->cap ? 2 * s->cap : BUCKETS_MIN, bytes = cap * (int64_t)sizeof(ldg_memo_entry *);
  ldg_memo_entry **bucket = ldg_alloc(bytes);
  if (!bucket) return s->cap > 0;
  memset(bucket, 0, (size_t)bytes);
  rehash(s, bucket, cap);
  return true;
}

static void insert(ldg_memo_shard *s, ldg_memo_entry *e) {
  ldg_memo_entry **b = bucket_of(s, e->hash);
  e->next = *b;
  *b = e;
  s->count++;
}

/* An empty shard holds no memory, so that a process that freed its types has freed everything. */
static void take_out(ldg_memo_shard *s, const ldg_memo_entry *e) {
  ldg_memo_entry **p = bucket_of(s, e->hash);
  while (*p != e) p = &(*p)->next;
  *p = e->next;
  if (--s->count > 0) return;
  ldg_free(s->bucket);
  s->bucket = NULL;
  s->cap = 0;
}

/* ---- what the house uses --------------------------------------------------------------------------------------------------- */

/* Puts `own` in, unless another thread was faster: then its entry. NULL: no memory. */
static ldg_memo_entry *settle(ldg_memo *m, const void *key, ldg_memo_entry *own) {
  ldg_memo_shard *s = shard_of(m, own->hash);
  lock(&s->lock);
  ldg_memo_entry *e = find(m, s, own->hash, key);
  if (!e && grow(s)) {
    insert(s, own);
    e = own;
  }
  unlock(&s->lock);
  return e;
}

int ldg_memo_intern(ldg_memo *m, uint64_t hash, const void *key, ldg_memo_entry **out) {
  if (!atomic_load_explicit(&m->known, memory_order_acquire)) make_known(m);
  hash &= atomic_load_explicit(&mask, memory_order_relaxed);
  ldg_memo_shard *s = shard_of(m, hash);
  lock(&s->lock);
  ldg_memo_entry *e = find(m, s, hash, key), *own;
  unlock(&s->lock);
  if (!e) {
    int rc = m->cls->make(key, &own);
    if (rc) return rc;
    own->hash = hash;
    own->memo = m;
    own->next = NULL;
    atomic_store_explicit(&own->refs, 1, memory_order_relaxed);
    e = settle(m, key, own);
    if (e != own) m->cls->destroy(own);
    if (!e) return LADING_ERR_NOMEM;
  }
  *out = e;
  return LADING_OK;
}

void ldg_memo_ref(ldg_memo_entry *e) {
  atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
}

void ldg_memo_release(ldg_memo_entry *e) {
  if (atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1) return;
  ldg_memo *m = e->memo;
  ldg_memo_shard *s = shard_of(m, e->hash);
  lock(&s->lock);
  take_out(s, e);
  unlock(&s->lock);
  m->cls->destroy(e);
}

void ldg_memo_set_mask(uint64_t m) {
  atomic_store_explicit(&mask, m, memory_order_relaxed);
}

int64_t ldg_memo_entries(void) {
  int64_t n = 0;
  lock(&known_lock);
  for (ldg_memo *m = known; m; m = m->next_memo) {
    for (int i = 0; i < LDG_MEMO_SHARDS; i++) {
      lock(&m->shard[i].lock);
      n += m->shard[i].count;
      unlock(&m->shard[i].lock);
    }
  }
  unlock(&known_lock);
  return n;
}
