/* fuzz_wire: any bytes, as a type and as a message between peers. As they are hardly any pass the comparison of ids, so they
 * are tried once more with the id that belongs to them. What decodes must be a type like any other: it encodes to bytes that
 * decode to the same one, moves without harm in buffers as large as it says, and can be offered. */
#include <lading.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x) do { if (!(x)) { fprintf(stderr, "fuzz_wire: not so: %s\n", #x); __builtin_trap(); } } while (0)
enum { MOVED_MAX = 1 << 14, RUNS_MAX = 1 << 16, SEAL = 64 };

static bool same(lading_id a, lading_id b) { return a.w[0] == b.w[0] && a.w[1] == b.w[1]; }

static bool refusal(int rc) {
  return rc == LADING_ERR_FORMAT || rc == LADING_ERR_OVERFLOW || rc == LADING_ERR_DEPTH;
}

/* The first encoding is of the canonical tree; from then on nothing changes. */
static void check_encoding(const lading_type *t) {
  int64_t n, m, used;
  lading_type *again, *third;
  MUST(lading_wire_size(t, &n) == LADING_OK);
  char *a = malloc((size_t)n), *b = malloc((size_t)n);
  MUST(lading_wire_encode(t, a, n, &used) == LADING_OK && used == n);
  MUST(lading_wire_decode(a, n, &again) == LADING_OK);
  MUST(lading_wire_encode(again, b, n, &m) == LADING_OK && m == n && memcmp(a, b, (size_t)n) == 0);
  MUST(lading_wire_decode(b, n - 1, &third) == LADING_ERR_FORMAT);
  MUST(same(ldg_wire_name(t), ldg_wire_name(again)));
  lading_type_free(again);
  free(a);
  free(b);
}

static void check_moves(const lading_type *t, const lading_info *info) {
  const size_t n = (size_t)info->size, room = (size_t)info->true_extent;
  const int64_t cut = info->size / 3;
  char *mem = malloc(room), *a = malloc(n), *b = malloc(n);
  char *base = (char *)((uintptr_t)mem - (uintptr_t)info->true_lb);
  for (size_t i = 0; i < room; i++) mem[i] = (char)(i * 37 ^ i >> 8);
  MUST(lading_pack(t, 1, base, a, 0, info->size) == LADING_OK);
  MUST(lading_pack(t, 1, base, b + cut, cut, info->size) == LADING_OK);
  MUST(lading_pack(t, 1, base, b, 0, cut) == LADING_OK);
  MUST(n == 0 || memcmp(a, b, n) == 0);
  MUST(lading_unpack(t, 1, base, a, 0, info->size) == LADING_OK);
  free(mem);
  free(a);
  free(b);
}

/* First with the type, then by name alone; the other side knows nothing, then everything. */
static void check_offers(const lading_type *t) {
  const lading_peer_attr attr = { 0, 7 };
  lading_peer *here, *there;
  lading_type *got;
  int64_t size, n, count, rn;
  char reply[36];
  MUST(lading_wire_size(t, &size) == LADING_OK);
  char *msg = malloc((size_t)size + 36);
  MUST(lading_peer_create(&attr, &here) == LADING_OK && lading_peer_create(&attr, &there) == LADING_OK);
  for (int i = 0; i < 2; i++) {
    MUST(lading_peer_offer(here, t, 3, msg, size + 36, &n) == LADING_OK);
    MUST(lading_peer_accept(there, msg, n, &got, &count, reply, 36, &rn) == LADING_OK && count == 3);
    MUST(same(ldg_wire_name(t), ldg_wire_name(got)));
    lading_type_free(got);
  }
  lading_peer_free(here);
  lading_peer_free(there);
  free(msg);
}

static void check_type(lading_type *t) {
  lading_info info;
  MUST(lading_type_info(t, &info) == LADING_OK);
  if (info.blocks <= RUNS_MAX) {
    check_encoding(t);
    check_offers(t);
  }
  if (info.size <= MOVED_MAX && info.true_extent <= MOVED_MAX) check_moves(t, &info);
  lading_type_free(t);
}

static void check_bytes(const uint8_t *data, int64_t size) {
  lading_type *t = NULL;
  int rc = lading_wire_decode(data, size, &t);
  MUST(rc == LADING_OK ? t != NULL : refusal(rc) && !t);
  if (t) check_type(t);
}

static void check_sealed(const uint8_t *data, size_t size) {
  uint8_t *copy = malloc(size + SEAL);
  if (size) memcpy(copy, data, size);
  const int64_t n = ldg_wire_seal(copy, (int64_t)size, (int64_t)size + SEAL);
  MUST(n > 0 || refusal((int)n));
  if (n > 0) check_bytes(copy, n);
  free(copy);
}

static void check_message(const uint8_t *data, int64_t size) {
  const lading_peer_attr attr = { 4096, 7 };
  lading_peer *p;
  lading_type *t = NULL;
  int64_t count = -7, rn = -7;
  char out[256];
  MUST(lading_peer_create(&attr, &p) == LADING_OK);
  int rc = lading_peer_accept(p, data, size, &t, &count, out, 36, &rn);
  MUST(rc == LADING_OK ? t && count >= 0 && rn == 0 : rc == LADING_NEED_LAYOUT ? !t && rn > 0 && rn <= 36 : refusal(rc) && !t);
  if (t) check_type(t);
  rc = lading_peer_reply(p, data, size, out, sizeof out, &rn);
  MUST(rc == LADING_ERR_FORMAT || rc == LADING_ERR_ARG);
  lading_peer_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  check_message(data, (int64_t)size);
  check_bytes(data, (int64_t)size);
  check_sealed(data, size);
  return 0;
}
