/* map: ranges of remote memory are found where a naive list says, leave in the order of their last use, and are unmapped exactly
 * once, never while somebody holds them. */
#include "random_types.h"
#include "base.h"
#include <pthread.h>

static lading_map *map_new(int64_t entries, int64_t bytes, void (*unmap)(void *, void *, int64_t, void *), void *ctx) {
  lading_map *m = NULL;
  ck_assert_int_eq(lading_map_create(&(lading_map_attr){ entries, bytes, unmap, ctx }, &m), LADING_OK);
  return m;
}

static lading_map_counts counts_of(const lading_map *m) {
  lading_map_counts c;
  ck_assert_int_eq(lading_map_stats(m, &c), LADING_OK);
  return c;
}

/* Where byte `remote` would be; nobody looks there. */
static void *place(uint64_t remote) { return (void *)(uintptr_t)(remote + 1000000); }

static void insert(lading_map *m, uint64_t owner, uint64_t remote, int64_t bytes) {
  lading_mapping *pin = NULL;
  ck_assert_int_eq(lading_map_insert(m, owner, remote, bytes, place(remote), NULL, &pin), LADING_OK);
  lading_map_release(m, pin);
}

static bool finds(lading_map *m, uint64_t owner, uint64_t remote, int64_t bytes) {
  lading_mapping *pin = NULL;
  void *local = NULL;
  const int rc = lading_map_find(m, owner, remote, bytes, &local, &pin);
  if (rc == LADING_NOT_MAPPED) ck_assert(!local && !pin);
  else ck_assert(rc == LADING_OK && local == place(remote) && pin);
  lading_map_release(m, pin);
  return rc == LADING_OK;
}

/* ---- by hand ---- */

static void count_unmaps(void *ctx, void *local, int64_t bytes, void *handle) {
  (void)local, (void)handle;
  ((int64_t *)ctx)[0]++;
  ((int64_t *)ctx)[1] += bytes;
}

START_TEST(ranges) {
  int64_t gone[2] = { 0, 0 };
  lading_map *m = map_new(0, 0, count_unmaps, gone);
  insert(m, 1, 1000, 100);
  insert(m, 1, 1100, 50); /* touches, does not overlap */
  insert(m, 2, 1000, 10);
  ck_assert(finds(m, 1, 1000, 100) && finds(m, 1, 1099, 1) && finds(m, 1, 1100, 50) && finds(m, 1, 1040, 20));
  ck_assert(!finds(m, 1, 1050, 51) && !finds(m, 1, 999, 2) && !finds(m, 1, 1150, 1) && !finds(m, 1, 0, 1) && !finds(m, 3, 1000, 1));
  ck_assert(finds(m, 2, 1000, 10) && !finds(m, 2, 1000, 11));
  insert(m, 1, UINT64_MAX - 9, 10);
  ck_assert(finds(m, 1, UINT64_MAX, 1) && finds(m, 1, UINT64_MAX - 9, 10));
  const lading_map_counts c = counts_of(m);
  ck_assert(c.entries == 4 && c.bytes == 170 && c.pinned == 0 && c.hits == 7 && c.misses == 6 && c.evictions == 0);
  ck_assert_int_eq(gone[0], 0);
  lading_map_free(m);
  ck_assert(gone[0] == 4 && gone[1] == 170);
  lading_map_free(NULL);
}
END_TEST

START_TEST(newer_ranges_win) {
  int64_t gone[2] = { 0, 0 };
  lading_map *m = map_new(0, 0, count_unmaps, gone);
  for (uint64_t k = 0; k < 10; k++) insert(m, 1, 100 * k, 100);
  insert(m, 1, 250, 200); /* parts of 2 and 4, all of 3 */
  ck_assert(gone[0] == 3 && finds(m, 1, 250, 200) && finds(m, 1, 100, 100) && finds(m, 1, 500, 100));
  ck_assert(!finds(m, 1, 200, 10) && !finds(m, 1, 460, 10));
  insert(m, 1, 250, 200); /* the same again */
  ck_assert(gone[0] == 4 && finds(m, 1, 250, 200));
  insert(m, 1, 0, 1000);
  ck_assert(counts_of(m).entries == 1 && counts_of(m).bytes == 1000 && finds(m, 1, 0, 1000));
  lading_map_free(m);
}
END_TEST

START_TEST(least_recently_used_leave) {
  int64_t gone[2] = { 0, 0 };
  lading_map *m = map_new(3, 1000, count_unmaps, gone);
  for (uint64_t k = 0; k < 3; k++) insert(m, 1, 100 * k, 100);
  ck_assert(finds(m, 1, 0, 1));
  insert(m, 1, 300, 100);
  ck_assert(!finds(m, 1, 100, 1) && finds(m, 1, 0, 1) && finds(m, 1, 200, 1) && finds(m, 1, 300, 1));
  insert(m, 1, 5000, 800); /* now by bytes: 0, then 200 */
  ck_assert(!finds(m, 1, 0, 1) && finds(m, 1, 300, 1) && finds(m, 1, 5000, 800) && counts_of(m).bytes <= 1000);
  ck_assert_int_eq(counts_of(m).evictions, gone[0]);
  insert(m, 1, 10000, 5000); /* too much alone: it stays as long as it is pinned */
  ck_assert(!finds(m, 1, 10000, 1) && counts_of(m).entries == 0);
  lading_map_free(m);
}
END_TEST

START_TEST(pins_keep) {
  int64_t gone[2] = { 0, 0 };
  lading_map *m = map_new(2, 0, count_unmaps, gone);
  lading_mapping *pin[3], *again;
  void *local;
  for (uint64_t k = 0; k < 3; k++) ck_assert_int_eq(lading_map_insert(m, 1, 100 * k, 100, place(100 * k), NULL, &pin[k]), LADING_OK);
  ck_assert(counts_of(m).entries == 3 && counts_of(m).pinned == 3 && gone[0] == 0); /* more than fits, since all are held */
  ck_assert_int_eq(lading_map_find(m, 1, 150, 1, &local, &again), LADING_OK);
  ck_assert_int_eq(lading_map_invalidate(m, 1, 120, 1), LADING_OK);
  ck_assert(!finds(m, 1, 150, 1) && gone[0] == 0 && counts_of(m).pinned == 3 && counts_of(m).entries == 2);
  lading_map_release(m, pin[1]);
  ck_assert_int_eq(gone[0], 0);
  lading_map_release(m, again);
  ck_assert(gone[0] == 1 && counts_of(m).pinned == 2);
  insert(m, 1, 900, 1); /* too many: this one goes as soon as it is let go */
  ck_assert(gone[0] == 2 && finds(m, 1, 0, 1) && finds(m, 1, 200, 1) && !finds(m, 1, 900, 1));
  lading_map_release(m, pin[0]);
  lading_map_release(m, pin[2]);
  lading_map_release(m, NULL);
  lading_map_free(m);
  ck_assert_int_eq(gone[0], 4);
}
END_TEST

START_TEST(invalidation) {
  int64_t gone[2] = { 0, 0 };
  lading_map *m = map_new(0, 0, count_unmaps, gone);
  for (uint64_t k = 0; k < 10; k++) insert(m, k % 2, 100 * k, 50);
  ck_assert_int_eq(lading_map_invalidate(m, 0, 250, 150), LADING_OK); /* between 200..249 and 400..449 */
  ck_assert_int_eq(lading_map_invalidate(m, 0, 0, 0), LADING_OK);
  ck_assert_int_eq(gone[0], 0);
  ck_assert_int_eq(lading_map_invalidate(m, 0, 249, 152), LADING_OK);
  ck_assert(gone[0] == 2 && !finds(m, 0, 200, 1) && !finds(m, 0, 400, 1) && finds(m, 0, 600, 1) && finds(m, 1, 300, 1));
  ck_assert_int_eq(lading_map_invalidate(m, 1, 500, UINT64_MAX), LADING_OK);
  ck_assert_int_eq(gone[0], 5);
  ck_assert_int_eq(lading_map_invalidate(m, 1, 0, UINT64_MAX), LADING_OK);
  ck_assert(gone[0] == 7 && counts_of(m).entries == 3);
  lading_map_free(m);
}
END_TEST

START_TEST(arguments) {
  lading_map *m = NULL;
  lading_mapping *pin = NULL;
  lading_map_counts c;
  void *local = NULL;
  ck_assert_int_eq(lading_map_create(NULL, &m), LADING_ERR_ARG);
  ck_assert_int_eq(lading_map_create(&(lading_map_attr){ -1, 0, NULL, NULL }, &m), LADING_ERR_ARG);
  ck_assert_int_eq(lading_map_create(&(lading_map_attr){ 0, -1, NULL, NULL }, &m), LADING_ERR_ARG);
  ck_assert_int_eq(lading_map_create(&(lading_map_attr){ 0, 0, NULL, NULL }, NULL), LADING_ERR_ARG);
  m = map_new(0, 0, NULL, NULL);
  ck_assert_int_eq(lading_map_insert(NULL, 1, 0, 1, place(0), NULL, &pin), LADING_ERR_ARG);
  ck_assert_int_eq(lading_map_insert(m, 1, 0, 0, place(0), NULL, &pin), LADING_ERR_ARG);
  ck_assert_int_eq(lading_map_insert(m, 1, 0, -5, place(0), NULL, &pin), LADING_ERR_ARG);
  ck_assert_int_eq(lading_map_insert(m, 1, UINT64_MAX, 2, place(0), NULL, &pin), LADING_ERR_ARG);
  ck_assert_int_eq(lading_map_insert(m, 1, 0, 1, NULL, NULL, &pin), LADING_ERR_ARG);
  ck_assert_int_eq(lading_map_insert(m, 1, 0, 1, place(0), NULL, NULL), LADING_ERR_ARG);
  ck_assert_int_eq(lading_map_find(m, 1, 0, 0, &local, &pin), LADING_ERR_ARG);
  ck_assert_int_eq(lading_map_find(m, 1, 0, 1, NULL, &pin), LADING_ERR_ARG);
  ck_assert_int_eq(lading_map_find(m, 1, 0, 1, &local, NULL), LADING_ERR_ARG);
  ck_assert_int_eq(lading_map_find(NULL, 1, 0, 1, &local, &pin), LADING_ERR_ARG);
  ck_assert_int_eq(lading_map_invalidate(NULL, 1, 0, 1), LADING_ERR_ARG);
  ck_assert_int_eq(lading_map_stats(NULL, &c), LADING_ERR_ARG);
  ck_assert_int_eq(lading_map_stats(m, NULL), LADING_ERR_ARG);
  lading_map_release(NULL, NULL);
  lading_map_free(m);
}
END_TEST

/* Ranges of more bytes than can be counted. */
START_TEST(bytes_are_counted) {
  int64_t gone[2] = { 0, 0 };
  lading_map *m = map_new(0, 100, count_unmaps, gone);
  lading_mapping *pin = NULL, *none = NULL;
  ck_assert_int_eq(lading_map_insert(m, 1, 0, INT64_MAX, place(0), NULL, &pin), LADING_OK);
  ck_assert_int_eq(lading_map_insert(m, 2, 0, INT64_MAX, place(0), NULL, &none), LADING_ERR_OVERFLOW);
  ck_assert(!none && counts_of(m).entries == 1 && counts_of(m).bytes == INT64_MAX);
  lading_map_release(m, pin);
  ck_assert_int_eq(lading_map_insert(m, 1, 5, INT64_MAX, place(5), NULL, &pin), LADING_OK); /* instead of the other */
  ck_assert(gone[0] == 1 && gone[1] == INT64_MAX && counts_of(m).bytes == INT64_MAX);
  gone[1] = 0; /* as many again are too many to add */
  lading_map_release(m, pin);
  insert(m, 2, 0, 10);
  ck_assert(gone[0] == 2 && gone[1] == INT64_MAX && counts_of(m).bytes == 10);
  gone[1] = 0;
  lading_map_free(m);
}
END_TEST

/* Without memory a range is not taken: it is still the caller's, and those that it would replace stay. */
START_TEST(no_memory) {
  int64_t gone[2] = { 0, 0 };
  lading_map *m = NULL;
  lading_mapping *pin = NULL;
  ldg_alloc_fail(0);
  ck_assert_int_eq(lading_map_create(&(lading_map_attr){ 0, 0, NULL, NULL }, &m), LADING_ERR_NOMEM);
  ldg_alloc_fail(-1);
  ck_assert_ptr_null(m);
  m = map_new(0, 0, count_unmaps, gone);
  for (uint64_t k = 0; k < 40; k++) {
    for (int64_t n = 0; n < 2; n++) {
      ldg_alloc_fail(n);
      const int rc = lading_map_insert(m, 1, 10 * k, 10, place(10 * k), NULL, &pin);
      ldg_alloc_fail(-1);
      ck_assert(rc == LADING_ERR_NOMEM ? !pin && counts_of(m).entries == (int64_t)k : rc == LADING_OK && n == 1);
      if (rc == LADING_OK) break;
    }
    if (!pin) insert(m, 1, 10 * k, 10);
    lading_map_release(m, pin);
    pin = NULL;
  }
  ck_assert(counts_of(m).entries == 40 && gone[0] == 0);
  lading_map_free(m);
  ck_assert_int_eq(gone[0], 40);
}
END_TEST

/* ---- at random, against a list that is searched from end to end ---- */

enum { LIST_MAX = 4000, HELD_MAX = 6 };
typedef struct item { uint64_t owner, remote; int64_t bytes, used; int pins; bool in, unmapped; lading_mapping *pin; } item;
typedef struct naive { item at[LIST_MAX]; int64_t n, clock, max_entries, max_bytes; } naive;

static void note_unmap(void *ctx, void *local, int64_t bytes, void *handle) {
  item *e = handle;
  (void)ctx;
  ck_assert(!e->unmapped && e->bytes == bytes && local == place(e->remote));
  e->unmapped = true;
}

static bool meets(const item *e, uint64_t owner, uint64_t remote, int64_t bytes) {
  return e->in && e->owner == owner && e->remote < remote + (uint64_t)bytes && remote < e->remote + (uint64_t)e->bytes;
}

static void naive_drop(naive *l, uint64_t owner, uint64_t remote, int64_t bytes) {
  for (int64_t i = 0; i < l->n; i++)
    if (meets(&l->at[i], owner, remote, bytes)) l->at[i].in = false;
}

static void naive_evict(naive *l) {
  for (;;) {
    int64_t entries = 0, bytes = 0;
    item *oldest = NULL;
    for (int64_t i = 0; i < l->n; i++) {
      item *e = &l->at[i];
      if (!e->in) continue;
      entries++, bytes += e->bytes;
      if (!e->pins && (!oldest || e->used < oldest->used)) oldest = e;
    }
    if (!oldest || (entries <= l->max_entries && bytes <= l->max_bytes)) return;
    oldest->in = false;
  }
}

static item *naive_find(naive *l, uint64_t owner, uint64_t remote, int64_t bytes) {
  for (int64_t i = 0; i < l->n; i++) {
    item *e = &l->at[i];
    if (meets(e, owner, remote, bytes) && e->remote <= remote && remote + (uint64_t)bytes <= e->remote + (uint64_t)e->bytes) return e;
  }
  return NULL;
}

static void same_state(const lading_map *m, const naive *l) {
  int64_t entries = 0, bytes = 0, pinned = 0;
  for (int64_t i = 0; i < l->n; i++) {
    const item *e = &l->at[i];
    entries += e->in, bytes += e->in ? e->bytes : 0, pinned += e->pins > 0;
    ck_assert_msg(e->unmapped == (!e->in && !e->pins), "range %d: in %d, pins %d, unmapped %d", (int)i, e->in, e->pins, e->unmapped);
  }
  const lading_map_counts c = counts_of(m);
  ck_assert(c.entries == entries && c.bytes == bytes && c.pinned == pinned);
}

/* ---- the map is used while it goes ---- */

typedef struct reentry { lading_map *m; int gone, left; } reentry;

static void insert_another(void *ctx, void *local, int64_t bytes, void *handle) {
  reentry *r = ctx;
  lading_mapping *pin;
  r->gone++;
  if (r->left-- <= 0) return;
  ck_assert_int_eq(lading_map_insert(r->m, 9, 4096, bytes, local, handle, &pin), LADING_OK);
  lading_map_release(r->m, pin);
}

START_TEST(ranges_put_in_while_it_goes) {
  reentry r = { .left = 3 };
  lading_mapping *pin;
  char here[8];
  r.m = map_new(0, 0, insert_another, &r);
  ck_assert_int_eq(lading_map_insert(r.m, 1, 64, 8, here, NULL, &pin), LADING_OK);
  lading_map_release(r.m, pin);
  lading_map_free(r.m);
  ck_assert_int_eq(r.gone, 4);
}
END_TEST

START_TEST(random_histories) {
  rng g = rng_of(71);
  static naive l;
  for (int round = 0; round < 12; round++) {
    memset(&l, 0, sizeof l);
    l.max_entries = rng_in(&g, 1, 12), l.max_bytes = rng_in(&g, 200, 2000);
    lading_map *m = map_new(l.max_entries, l.max_bytes, note_unmap, NULL);
    item *held[HELD_MAX] = { NULL };
    for (int i = 0; i < 700; i++) {
      const uint64_t owner = (uint64_t)rng_in(&g, 0, 1), remote = (uint64_t)rng_in(&g, 0, 1500);
      const int64_t bytes = rng_in(&g, 1, 200), what = rng_in(&g, 0, 9), h = rng_in(&g, 0, HELD_MAX - 1);
      lading_mapping *pin = NULL;
      void *local = NULL;
      item *e = NULL;
      if (held[h]) {
        held[h]->pins--;
        naive_evict(&l);
        lading_map_release(m, held[h]->pin);
        held[h] = NULL;
      } else if (what < 4) {
        e = &l.at[l.n++];
        naive_drop(&l, owner, remote, bytes);
        *e = (item){ owner, remote, bytes, ++l.clock, 1, true, false, NULL };
        naive_evict(&l);
        ck_assert_int_eq(lading_map_insert(m, owner, remote, bytes, place(remote), e, &pin), LADING_OK);
      } else if (what < 9) {
        const int64_t few = rng_in(&g, 1, 9);
        e = naive_find(&l, owner, remote, few);
        ck_assert_int_eq(lading_map_find(m, owner, remote, few, &local, &pin), e ? LADING_OK : LADING_NOT_MAPPED);
        ck_assert(!e || local == place(remote));
        if (e) e->used = ++l.clock, e->pins++;
      } else {
        naive_drop(&l, owner, remote, bytes);
        ck_assert_int_eq(lading_map_invalidate(m, owner, remote, (uint64_t)bytes), LADING_OK);
      }
      if (e) e->pin = pin, held[h] = e;
      same_state(m, &l);
    }
    for (int h = 0; h < HELD_MAX; h++)
      if (held[h]) lading_map_release(m, held[h]->pin);
    lading_map_free(m);
    for (int64_t i = 0; i < l.n; i++) ck_assert(l.at[i].unmapped);
  }
}
END_TEST

/* ---- threads: what is found is mapped until it is let go ---- */

enum { SLOTS = 40, THREADS = 6, TURNS = 3000 };
typedef struct shared { lading_map *m; _Atomic int64_t made, gone; } shared;

/* A mapping is a word on the heap: whoever reads it after unmap is caught by the sanitizers. */
static void drop_word(void *ctx, void *local, int64_t bytes, void *handle) {
  (void)bytes;
  ck_assert(local == handle);
  free(handle);
  ((shared *)ctx)->gone++;
}

static void *thread_main(void *arg) {
  shared *s = arg;
  static _Atomic uint64_t number;
  rng g = { ++number };
  for (int i = 0; i < TURNS; i++) {
    const uint64_t slot = (uint64_t)rng_in(&g, 0, SLOTS - 1);
    lading_mapping *pin = NULL;
    void *local = NULL;
    if (rng_in(&g, 0, 19) == 0) {
      lading_map_invalidate(s->m, 0, slot * 8, 16);
    } else if (lading_map_find(s->m, 0, slot * 8, 8, &local, &pin) == LADING_NOT_MAPPED) {
      uint64_t *word = malloc(8);
      *word = slot;
      s->made++;
      if (lading_map_insert(s->m, 0, slot * 8, 8, word, word, &pin)) return s;
      local = word;
    }
    const bool right = !local || *(uint64_t *)local == slot;
    lading_map_release(s->m, pin);
    if (!right) return s;
  }
  return NULL;
}

START_TEST(many_threads) {
  shared s = { .m = NULL };
  pthread_t t[THREADS];
  s.m = map_new(SLOTS / 2, 0, drop_word, &s);
  for (int i = 0; i < THREADS; i++) ck_assert_int_eq(pthread_create(&t[i], NULL, thread_main, &s), 0);
  for (int i = 0; i < THREADS; i++) {
    void *bad;
    pthread_join(t[i], &bad);
    ck_assert_ptr_null(bad);
  }
  ck_assert(counts_of(s.m).pinned == 0 && counts_of(s.m).entries <= SLOTS / 2);
  lading_map_free(s.m);
  ck_assert(s.made == s.gone && s.made > SLOTS);
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("map", argc, argv, ranges, newer_ranges_win, least_recently_used_leave, pins_keep, invalidation, arguments, bytes_are_counted, no_memory, ranges_put_in_while_it_goes,
                    random_histories, many_threads);
}
