/* Descriptors that are kept open for others. */
#include "ipc.h"

#include <fcntl.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ldg_lru all;
static int many;
static uint64_t pools; /* that were numbered */

static void drop(ldg_kept *k) {
  ldg_ledger_wipe(&k->ticket);
  close(k->fd);
  k->kind->let_go(k);
  ldg_lru_remove(&all, &k->link);
  ldg_free(k);
  many--;
}

/* An open descriptor holds memory: of what is there no more it goes. */
static void sweep(void) {
  for (ldg_lru_link *l = all.oldest, *next; l; l = next) {
    next = l->newer;
    if (!((ldg_kept *)l)->kind->lives((ldg_kept *)l)) drop((ldg_kept *)l);
  }
}

static bool is_same(const ldg_kept *a, const ldg_kept *b) { return a->kind == b->kind && a->vendor == b->vendor && a->base == b->base && a->id == b->id; }

static ldg_kept *find(const ldg_kept *what) {
  ldg_lru_link *l = all.newest;
  while (l && !is_same((ldg_kept *)l, what)) l = l->older;
  return (ldg_kept *)l;
}

/* That of other memory of it which lives, so that no other pool had its handle meanwhile. */
static uint64_t number_of(const ldg_kept *what) {
  const ldg_lru_link *l = what->pool ? all.newest : NULL;
  while (l && !(((const ldg_kept *)l)->pool == what->pool && ((const ldg_kept *)l)->vendor == what->vendor)) l = l->older;
  return l ? ((const ldg_kept *)l)->pool_number : ++pools;
}

static int enter(ldg_kept *k) {
  ldg_ledger_note note = { .pool = k->pool_number, .bytes = k->bytes };
  int e = k->kind->open(k, &note);
  if (e) return e;
  e = fcntl(k->fd, F_SETFD, FD_CLOEXEC) ? LADING_ERR_SYSTEM : ldg_ledger_enter(k->fd, &note, &k->ticket);
  if (e) close(k->fd);
  return e;
}

static int keep(const ldg_kept *what, ldg_ticket *out) {
  ldg_kept *k = ldg_alloc(sizeof *k);
  int e = k ? LADING_OK : LADING_ERR_NOMEM;
  if (k) *k = *what, k->pool_number = number_of(what);
  if (!e) e = enter(k);
  if (e) {
    ldg_free(k);
    what->kind->let_go(what);
    return e;
  }
  ldg_lru_add(&all, &k->link);
  *out = k->ticket;
  if (++many > LDG_LEDGER_KEPT) drop((ldg_kept *)all.oldest);
  return LADING_OK;
}

static int ticket_of(const ldg_kept *what, ldg_ticket *out) {
  sweep();
  ldg_kept *k = find(what);
  if (!k) return keep(what, out);
  ldg_lru_use(&all, &k->link);
  *out = k->ticket;
  what->kind->let_go(what);
  return LADING_OK;
}

int ldg_kept_ticket(const ldg_kept *what, ldg_ticket *out) {
  pthread_mutex_lock(&lock);
  const int e = ticket_of(what, out);
  pthread_mutex_unlock(&lock);
  return e;
}
