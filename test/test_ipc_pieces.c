/* ipc: memory of another process that was mapped from pieces, as virtual memory is: by a descriptor of its owner, or, of CUDA, for a fabric. */
#include "ipc_sides.h"
#include "base.h"
#include <dlfcn.h>
#include <stdarg.h>
#include <sys/resource.h>

enum { PIECE = 2 << 20, BY_FILE = 1, BY_FABRIC = 8, PIECES = 70, SLOTS = 64, KEPT = 256 };
/* Where the fields of a token are, for those that are made wrong. */
enum { ROUTE = 7, OWNER = 8, SPACE = 16, BUFFER = 32, OFFSET = 40, TICKET = 56, ROUTE_FILE = 2 };

/* Where no fabric is set up, real drivers make no memory for one. */
static void *piece_make(int types) {
  driver_piece how = { .type = 1, .handles = strcmp(v.backend, "hip") ? types : types & BY_FILE, .place = 1 };
  void *piece;
  int e = v.d->create(&piece, PIECE, &how, 0);
  if (e && !v.d->fake) how.handles = BY_FILE, e = v.d->create(&piece, PIECE, &how, 0);
  OK(e);
  return piece;
}
static void piece_show(void *at, void *piece) {
  const driver_access here = { 1, 0, 3 };
  OK(v.d->map(at, PIECE, 0, piece, 0));
  OK(v.d->access(at, PIECE, &here, 1));
}
static void piece_at(void *at, int types) {
  void *piece = piece_make(types);
  piece_show(at, piece);
  OK(v.d->release_piece(piece));
}
static char *piece_new(int types) {
  void *at = NULL;
  OK(v.d->reserve(&at, PIECE, 0, NULL, 0));
  piece_at(at, types);
  return at;
}
static void piece_free(char *at) {
  OK(v.d->unmap(at, PIECE));
  OK(v.d->unreserve(at, PIECE));
}

/* Packs out of the owner's layout, and writes what it got, turned over, back into it. */
static void piece_mover(const line *l) {
  enum { AT = 100 };
  lading_ipc token, again;
  void *p = NULL;
  const int before = descriptors();
  const bool may = may_fetch();
  hear(l, &token, sizeof token);
  const bool by_file = token.bytes[ROUTE] == ROUTE_FILE;
  const int e = lading_ipc_open(&token, &p);
  ck_assert_int_eq(e, by_file && !may ? LADING_ERR_UNSUPPORTED : LADING_OK);
  tell(l, &e, sizeof e);
  if (e) return;
  lading_type *t = parsed("vector(40,3,7,int)");
  const lading_info i = info_of(t);
  area mine = area_new(&v, LADING_MEM_DEVICE, i.size);
  lading_work w = { .kind = LADING_WORK_PACK, .src_type = t, .src_count = 1, .src = (char *)p + AT, .dst = mine.at, .hi = i.size, .src_mem = on_device, .dst_mem = on_device };
  OK(lading_enqueue(v.q, &w, NULL));
  OK(lading_queue_sync(v.q));
  area_pull(&mine);
  for (int64_t k = 0; k < i.size; k++) mine.copy[k] = (char)~mine.copy[k];
  area_push(&mine);
  w = (lading_work){ .kind = LADING_WORK_UNPACK, .dst_type = t, .dst_count = 1, .dst = (char *)p + AT, .src = mine.at, .hi = i.size, .src_mem = on_device, .dst_mem = on_device };
  OK(lading_enqueue(v.q, &w, NULL));
  OK(lading_queue_sync(v.q));
  hear(l, &again, sizeof again); /* of the same memory, a little further on: found, not mapped again */
  char *q = opened(&again);
  ck_assert_int_eq(q - (char *)p, 7);
  OK(lading_ipc_close(q));
  OK(lading_ipc_close(p));
  if (v.d->fake) ck_assert_int_eq(count("cuMemMap", "hipMemMap"), 1);
  no_more_than(before + 2);
  area_free(&mine);
  lading_type_free(t);
  wait_for_other(l);
}

static void moves_pieces(int types) {
  const line l = start(piece_mover);
  int e;
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  char *at = piece_new(types), *host = malloc(PIECE), *want = malloc(PIECE);
  const lading_ipc token = exported(at + 50), again = exported(at + 57);
  lading_type *t = parsed("vector(40,3,7,int)");
  rng r = rng_of(8);
  bytes_random(&r, host, PIECE), memcpy(want, host, PIECE);
  OK(v.d->to_device(at, host, PIECE, v.stream));
  OK(v.d->sync(v.stream));
  const lading_info i = info_of(t);
  char *packed = malloc((size_t)i.size);
  OK(lading_pack(t, 1, host + 150, packed, 0, i.size));
  for (int64_t k = 0; k < i.size; k++) packed[k] = (char)~packed[k];
  OK(lading_unpack(t, 1, want + 150, packed, 0, i.size));
  tell(&l, &token, sizeof token);
  hear(&l, &e, sizeof e);
  if (!e) {
    tell(&l, &again, sizeof again);
    wait_for_other(&l);
    OK(v.d->to_host(host, at, PIECE, v.stream));
    OK(v.d->sync(v.stream));
    ck_assert(!memcmp(host, want, PIECE));
  }
  free(packed), free(host), free(want);
  lading_type_free(t);
  piece_free(at);
  finish(&l);
}

START_TEST(pieces_by_file) { moves_pieces(BY_FILE); }
END_TEST
START_TEST(pieces_by_fabric) { moves_pieces(BY_FABRIC | BY_FILE); }
END_TEST

/* Of the last so many a descriptor is open. Those that came before are told, not taken for others. */
static void piece_opener(const line *l) {
  lading_ipc token;
  const bool may = may_fetch();
  for (int i = 0; i < PIECES; i++) {
    void *p = NULL;
    hear(l, &token, sizeof token);
    const int e = lading_ipc_open(&token, &p);
    ck_assert_int_eq(e, !may ? LADING_ERR_UNSUPPORTED : i < PIECES - SLOTS ? LADING_ERR_DEVICE : LADING_OK);
    if (e) continue;
    char first;
    OK(v.d->to_host(&first, p, 1, v.stream));
    OK(v.d->sync(v.stream));
    ck_assert_int_eq(first, i);
    OK(lading_ipc_close(p));
  }
  wait_for_other(l);
}

START_TEST(many_pieces) {
  const line l = start(piece_opener);
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  static char *at[PIECES];
  static lading_ipc token[PIECES];
  const int before = descriptors();
  for (int i = 0; i < PIECES; i++) {
    at[i] = piece_new(BY_FILE);
    OK(v.d->fill(at[i], (unsigned char)i, 16, v.stream));
    token[i] = exported(at[i]);
  }
  OK(v.d->sync(v.stream));
  const lading_ipc same = exported(at[PIECES - 1]);
  ck_assert(!memcmp(&same, &token[PIECES - 1], sizeof same));
  for (int i = 0; i < PIECES; i++) tell(&l, &token[i], sizeof token[i]);
  wait_for_other(&l);
  for (int i = 0; i < PIECES; i++) piece_free(at[i]);
  at[0] = piece_new(BY_FILE);
  token[0] = exported(at[0]); /* what is mapped no more is let go */
  no_more_than(before + 4); /* the ledger, this one, and its piece; the arena of the stand-in */
  piece_free(at[0]);
  finish(&l);
}
END_TEST

/* It opens one that its owner still keeps. */
static void keeper(const line *l) {
  lading_ipc token;
  void *p = NULL;
  const bool may = may_fetch();
  hear(l, &token, sizeof token);
  ck_assert_int_eq(lading_ipc_open(&token, &p), may ? LADING_OK : LADING_ERR_UNSUPPORTED);
  if (may) OK(lading_ipc_close(p));
  wait_for_other(l);
}

/* Whatever an export fails of: the oldest one stays. */
START_TEST(failure_beside_many) {
  const line l = start(keeper);
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  char *at[SLOTS + 1];
  lading_ipc oldest, none;
  for (int i = 0; i <= SLOTS; i++) at[i] = piece_new(BY_FILE);
  oldest = exported(at[0]);
  for (int i = 1; i < SLOTS; i++) exported(at[i]);
  let_fail("MemExportToShareableHandle", 999);
  if (v.d->fake) ck_assert_int_eq(lading_ipc_export(at[SLOTS], &none), LADING_ERR_UNSUPPORTED);
  devices_say(&v, "reset");
  tell(&l, &oldest, sizeof oldest);
  wait_for_other(&l);
  for (int i = 0; i <= SLOTS; i++) piece_free(at[i]);
  finish(&l);
}
END_TEST

/* Its descriptor was let go, and there is another one: while it is open it is not mapped again. */
static void of_two_tickets(const line *l) {
  lading_ipc token[2];
  void *p = NULL;
  const bool may = may_fetch();
  for (int i = 0; i < 2; i++) {
    hear(l, &token[i], sizeof token[i]);
    void *was = p;
    ck_assert_int_eq(lading_ipc_open(&token[i], &p), may ? LADING_OK : LADING_ERR_UNSUPPORTED);
    if (i) ck_assert_ptr_eq(p, was);
    wait_for_other(l);
  }
  ck_assert(memcmp(&token[0], &token[1], sizeof token[0]));
  if (may && v.d->fake) ck_assert_int_eq(count("cuMemMap", "hipMemMap"), 1);
  for (int i = 0; may && i < 2; i++) OK(lading_ipc_close(p));
  if (may) ck_assert_int_eq(lading_ipc_close(p), LADING_ERR_ARG);
  wait_for_other(l);
}

START_TEST(another_ticket) {
  const line l = start(of_two_tickets);
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  char *at[SLOTS + 1];
  for (int i = 0; i <= SLOTS; i++) at[i] = piece_new(BY_FILE);
  serve(&l, at[0]);
  for (int i = 1; i <= SLOTS; i++) exported(at[i]);
  serve(&l, at[0]);
  wait_for_other(&l);
  for (int i = 0; i <= SLOTS; i++) piece_free(at[i]);
  finish(&l);
}
END_TEST

/* A piece that is mapped at two places is there as long as it is at the one that the token is of. */
START_TEST(one_of_two_places) {
  const line l = start(keeper);
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  void *piece = piece_make(BY_FILE), *at[2] = { NULL };
  for (int i = 0; i < 2; i++) {
    OK(v.d->reserve(&at[i], PIECE, 0, NULL, 0));
    piece_show(at[i], piece);
  }
  OK(v.d->release_piece(piece));
  exported(at[0]);
  const lading_ipc token = exported(at[1]);
  piece_free(at[0]);
  char *other = piece_new(BY_FILE);
  exported(other); /* lets go what is mapped no more */
  tell(&l, &token, sizeof token);
  wait_for_other(&l);
  piece_free(at[1]), piece_free(other);
  finish(&l);
}
END_TEST

/* At the same addresses there is another piece by now: each token is of its own. */
static void piece_comparer(const line *l) {
  lading_ipc token[2];
  void *p = NULL;
  char first;
  const bool may = may_fetch();
  hear(l, token, sizeof token);
  ck_assert_int_eq(lading_ipc_open(&token[0], &p), may ? LADING_ERR_DEVICE : LADING_ERR_UNSUPPORTED);
  if (may) {
    p = opened(&token[1]);
    OK(v.d->to_host(&first, p, 1, v.stream));
    OK(v.d->sync(v.stream));
    ck_assert_int_eq(first, 2);
    OK(lading_ipc_close(p));
  }
  wait_for_other(l);
}

START_TEST(another_piece_there) {
  const line l = start(piece_comparer);
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  lading_ipc token[2];
  void *p = NULL;
  char *at = piece_new(BY_FILE);
  OK(v.d->fill(at, 1, 16, v.stream));
  token[0] = exported(at);
  OK(v.d->sync(v.stream));
  OK(v.d->unmap(at, PIECE));
  piece_at(at, BY_FILE);
  OK(v.d->fill(at, 2, 16, v.stream));
  OK(v.d->sync(v.stream));
  token[1] = exported(at);
  if (v.d->fake) ck_assert_int_eq(lading_ipc_open(&token[0], &p), LADING_ERR_DEVICE); /* here, too */
  tell(&l, token, sizeof token);
  wait_for_other(&l);
  piece_free(at);
  finish(&l);
}
END_TEST

static void piece_refuser(const line *l) {
  const int before = descriptors();
  refuser(l);
  no_more_than(before + 2 + KEPT); /* what opened is kept for a while, and the stand-in has a file for each */
}

/* The owner of a piece that the other side does something with. */
static void owns_piece(void (*other)(const line *l)) {
  const line l = start(other);
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  char *at = piece_new(BY_FILE);
  serve(&l, at);
  piece_free(at);
  finish(&l);
}

START_TEST(bad_tickets) { owns_piece(piece_refuser); }
END_TEST

/* Each field of a ticket, when all others are right. */
static void field_refuser(const line *l) {
  static const struct { int at, bytes; int64_t value; int result; } wrong[] = {
    { OWNER, 8, 0, LADING_ERR_FORMAT }, { OWNER, 8, -1, LADING_ERR_FORMAT },
    { TICKET, 4, -1, LADING_ERR_DEVICE }, { TICKET, 4, 1 << 20, LADING_ERR_DEVICE }, /* the ledger */
    { TICKET + 4, 4, -1, LADING_ERR_FORMAT }, { TICKET + 4, 4, 65, LADING_ERR_FORMAT }, { TICKET + 4, 4, INT32_MAX, LADING_ERR_FORMAT },
    { TICKET + 4, 4, INT32_MIN, LADING_ERR_FORMAT }, { TICKET + 4, 4, 1, LADING_ERR_DEVICE }, { TICKET + 4, 4, 64, LADING_ERR_DEVICE }, /* the slot */
    { TICKET + 8, 8, 0, LADING_ERR_DEVICE }, { TICKET + 8, 8, 12345, LADING_ERR_DEVICE }, /* the nonce */
    { TICKET + 16, 8, 0, LADING_ERR_DEVICE }, { TICKET + 16, 8, 2, LADING_ERR_DEVICE }, { TICKET + 16, 8, -1, LADING_ERR_DEVICE }, /* the serial */
  };
  lading_ipc token;
  void *p = NULL;
  const bool may = may_fetch();
  hear(l, &token, sizeof token);
  for (int64_t i = 0; may && i < COUNT_OF(wrong); i++) {
    lading_ipc bad = token;
    memcpy(bad.bytes + wrong[i].at, &wrong[i].value, (size_t)wrong[i].bytes), ldg_ipc_seal(&bad);
    const int e = lading_ipc_open(&bad, &p);
    ck_assert_msg(e == wrong[i].result, "field %" PRId64 ": %d, not %d", i, e, wrong[i].result);
  }
  if (may) OK(lading_ipc_close(opened(&token)));
  wait_for_other(l);
}

START_TEST(fields_of_tickets) { owns_piece(field_refuser); }
END_TEST

/* What the library calls, so that something may happen in between: `swap_at` is the line to an owner who is told before the second fetch. */
static const line *swap_at;
static int fetches;
/* Six arguments are passed on, however many there are, as libc does it; that is more than a sanitizer of addresses allows. */
__attribute__((no_sanitize("address"))) long syscall(long number, ...) {
  typedef long function(long number, ...);
  function *real;
  long a[6];
  va_list list;
  *(void **)&real = dlsym(RTLD_NEXT, "syscall");
  va_start(list, number);
  for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
  va_end(list);
  if (swap_at && number == SYS_pidfd_getfd && ++fetches == 2) wait_for_other(swap_at), wait_for_other(swap_at);
  return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Between two looks of the opener at the ledger its descriptor is closed, and its number is one of another piece. */
static void swapped(const line *l) {
  lading_ipc token;
  void *p = NULL;
  const bool may = may_fetch();
  hear(l, &token, sizeof token);
  if (may) swap_at = l;
  const int e = lading_ipc_open(&token, &p);
  swap_at = NULL;
  if (!may) wait_for_other(l), wait_for_other(l);
  else ck_assert_int_eq(fetches, 2);
  ck_assert_int_eq(e, may ? LADING_ERR_DEVICE : LADING_ERR_UNSUPPORTED);
  wait_for_other(l);
}

START_TEST(numbers_that_came_back) {
  enum { OTHERS = 4 };
  const line l = start(swapped);
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  char *at = piece_new(BY_FILE), *other[OTHERS];
  const lading_ipc token = exported(at);
  for (int i = 0; i < OTHERS; i++) other[i] = piece_new(BY_FILE);
  tell(&l, &token, sizeof token);
  wait_for_other(&l);
  piece_free(at);
  for (int i = 0; i < OTHERS; i++) exported(other[i]); /* lets go of the first one, then takes its number */
  wait_for_other(&l);
  wait_for_other(&l);
  for (int i = 0; i < OTHERS; i++) piece_free(other[i]);
  finish(&l);
}
END_TEST

START_TEST(pieces_not_exported) {
  v = devices_open();
  lading_ipc token;
  void *p = NULL;
  char *at = piece_new(0), *own = piece_new(BY_FILE);
  ck_assert_int_eq(lading_ipc_export(at, &token), LADING_ERR_UNSUPPORTED);
  token = exported(own + 3);
  ck_assert_ptr_eq(opened(&token), own + 3);
  OK(lading_ipc_close(own + 3));
  piece_free(at), piece_free(own);
  ck_assert_int_eq(lading_ipc_open(&token, &p), LADING_ERR_DEVICE);
  devices_close(&v);
}
END_TEST

/* A bad token of memory that is there leaves nothing that a good one would find when it is there no more. */
START_TEST(bad_offset_first) {
  v = devices_open();
  void *p = NULL;
  char *own = piece_new(BY_FILE);
  const lading_ipc token = exported(own + 3);
  lading_ipc bad = token;
  memset(bad.bytes + OFFSET, 0x7f, 8), ldg_ipc_seal(&bad);
  ck_assert_int_eq(lading_ipc_open(&bad, &p), LADING_ERR_FORMAT);
  piece_free(own);
  ck_assert_int_eq(lading_ipc_open(&token, &p), LADING_ERR_DEVICE);
  devices_close(&v);
}
END_TEST

/* Numbers of processes mean nothing in another pid namespace. A descriptor is found by them, a handle of a fabric is not. */
static void stranger(const line *l) {
  lading_ipc token;
  void *p = NULL;
  for (int i = 0; i < 2; i++) {
    hear(l, &token, sizeof token);
    forge(&token, SPACE, token.bytes[SPACE] ^ 1);
    const int e = lading_ipc_open(&token, &p);
    ck_assert_int_eq(e, token.bytes[ROUTE] == ROUTE_FILE ? LADING_ERR_UNSUPPORTED : LADING_OK);
    if (!e) OK(lading_ipc_close(p));
  }
  wait_for_other(l);
}

START_TEST(another_pid_namespace) {
  const line l = start(stranger);
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  char *at[2] = { piece_new(BY_FILE), piece_new(BY_FABRIC | BY_FILE) };
  for (int i = 0; i < 2; i++) {
    const lading_ipc token = exported(at[i]);
    if (v.d->fake && strcmp(v.backend, "hip")) ck_assert_int_eq(token.bytes[ROUTE] == ROUTE_FILE, i == 0);
    tell(&l, &token, sizeof token);
  }
  wait_for_other(&l);
  piece_free(at[0]), piece_free(at[1]);
  finish(&l);
}
END_TEST

/* A process that is out of descriptors is told so: that says nothing of the memory. */
static void out_of_descriptors(const line *l) {
  lading_ipc token;
  struct rlimit all;
  void *p = NULL;
  const bool may = may_fetch();
  hear(l, &token, sizeof token);
  OK(getrlimit(RLIMIT_NOFILE, &all));
  for (int room = 0; may && room < 3; room++) { /* it takes one of the process, one of the ledger, one of the piece */
    const int first = dup(l->in);
    const struct rlimit few = { (rlim_t)(first + room), all.rlim_max };
    close(first);
    OK(setrlimit(RLIMIT_NOFILE, &few));
    const int e = lading_ipc_open(&token, &p);
    OK(setrlimit(RLIMIT_NOFILE, &all));
    ck_assert_int_eq(e, LADING_ERR_SYSTEM);
  }
  if (may) OK(lading_ipc_close(opened(&token)));
  wait_for_other(l);
}

START_TEST(no_descriptors) { owns_piece(out_of_descriptors); }
END_TEST

/* Every call of the driver that takes part fails once, on either side: of the stand-in, since a real one cannot be told to. Then it opens. */
static void piece_failures(const line *l) {
  static const char *const calls[] = { "MemImportFromShareableHandle", "MemAddressReserve", "MemMap", "MemSetAccess", "MemRelease" };
  lading_ipc token;
  void *p = NULL;
  const bool may = may_fetch();
  hear(l, &token, sizeof token);
  ldg_alloc_fail(0);
  ck_assert_int_eq(lading_ipc_open(&token, &p), LADING_ERR_NOMEM);
  ldg_alloc_fail(-1);
  for (int64_t i = 0; may && v.d->fake && i < COUNT_OF(calls); i++) {
    let_fail(calls[i], 999);
    const int e = lading_ipc_open(&token, &p);
    ck_assert_int_eq(e, strcmp(calls[i], "MemRelease") ? LADING_ERR_DEVICE : LADING_OK);
    devices_say(&v, "reset");
    if (!e) OK(lading_ipc_close(p));
  }
  for (int with = 800; may && v.d->fake && with <= 801; with++) { /* not permitted, not supported; nothing is open of it yet */
    lading_ipc other = token;
    forge(&other, BUFFER, other.bytes[BUFFER] ^ ((with & 3) + 1)); /* as if of another buffer */
    let_fail("MemImportFromShareableHandle", with);
    ck_assert_int_eq(lading_ipc_open(&other, &p), LADING_ERR_UNSUPPORTED);
    let_fail("MemSetAccess", with);
    ck_assert_int_eq(lading_ipc_open(&other, &p), LADING_ERR_UNSUPPORTED);
  }
  if (may) OK(lading_ipc_close(opened(&token)));
  wait_for_other(l);
}

START_TEST(pieces_that_fail) {
  static const char *const calls[] = { "MemGetAddressRange", "MemRetainAllocationHandle", "MemExportToShareableHandle" };
  const line l = start(piece_failures);
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  char *at = piece_new(BY_FILE);
  lading_ipc token;
  for (int64_t i = 0; v.d->fake && i < COUNT_OF(calls); i++) {
    let_fail(calls[i], 999);
    ck_assert_int_eq(lading_ipc_export(at, &token), i ? LADING_ERR_UNSUPPORTED : LADING_ERR_DEVICE);
    devices_say(&v, "reset");
  }
  if (v.d->fake && !strcmp(v.backend, "cuda")) { /* nor is there a descriptor of it */
    char *only = piece_new(BY_FABRIC);
    const int64_t before = devices_say(&v, "leaks");
    let_fail("MemExportToShareableHandle", 999);
    ck_assert_int_eq(lading_ipc_export(only, &token), LADING_ERR_UNSUPPORTED);
    ck_assert_int_eq(devices_say(&v, "leaks"), before);
    piece_free(only);
  }
  const int64_t some = devices_say(&v, "leaks"), open = descriptors();
  ldg_alloc_fail(0);
  ck_assert_int_eq(lading_ipc_export(at, &token), LADING_ERR_NOMEM);
  ldg_alloc_fail(-1);
  ck_assert(devices_say(&v, "leaks") == some && descriptors() == open);
  serve(&l, at);
  piece_free(at);
  finish(&l);
}
END_TEST

int main(int argc, char **argv) {
  if (!devices_there()) return 77;
  return unless_barred(CHECK_MAIN("ipc_pieces", argc, argv, pieces_by_file, pieces_by_fabric, many_pieces, failure_beside_many, another_ticket, one_of_two_places,
                                  another_piece_there, bad_tickets, fields_of_tickets, numbers_that_came_back, pieces_not_exported, bad_offset_first,
                                  another_pid_namespace, no_descriptors, pieces_that_fail));
}
