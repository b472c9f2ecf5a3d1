/* Shipping layouts: types as bytes, and peers. */
#include "api.h"
#include "peer.h"
#include "wire.h"

int lading_wire_size(const lading_type *type, int64_t *n) {
  const ldg_plan *p;
  int64_t used;
  if (!type || !n) return LADING_ERR_ARG;
  const int e = ldg_api_plan(type, &p);
  if (e) return e;
  const int rc = ldg_wire_encode(type, NULL, 0, &used);
  if (rc != LADING_ERR_RANGE) return rc; /* nothing fits, so it only counts */
  *n = used;
  return LADING_OK;
}

int lading_wire_encode(const lading_type *type, void *buf, int64_t cap, int64_t *used) {
  const ldg_plan *p;
  if (!type || !used || cap < 0 || (cap > 0 && !buf)) return LADING_ERR_ARG;
  const int e = ldg_api_plan(type, &p);
  return e ? e : ldg_wire_encode(type, buf, cap, used);
}

int lading_wire_decode(const void *buf, int64_t n, lading_type **out) {
  if (!out || n < 0 || (n > 0 && !buf)) return LADING_ERR_ARG;
  return ldg_wire_decode(buf, n, out);
}

int lading_peer_create(const lading_peer_attr *attr, lading_peer **out) {
  if (!attr || !out || attr->capacity_bytes < 0) return LADING_ERR_ARG;
  return ldg_peer_create(attr, out);
}

void lading_peer_free(lading_peer *peer) {
  if (peer) ldg_peer_free(peer);
}

int lading_peer_offer(lading_peer *peer, const lading_type *type, int64_t count, void *msg, int64_t cap, int64_t *n) {
  const ldg_plan *p;
  if (!peer || !type || count < 0 || !n || cap < 0 || (cap > 0 && !msg)) return LADING_ERR_ARG;
  const int e = ldg_api_plan(type, &p);
  return e ? e : ldg_peer_offer(peer, type, count, msg, cap, n);
}

int lading_peer_accept(lading_peer *peer, const void *msg, int64_t n, lading_type **out, int64_t *count, void *reply, int64_t cap, int64_t *rn) {
  if (!peer || n < 0 || (n > 0 && !msg) || !out || !count || !rn || cap < 0 || (cap > 0 && !reply)) return LADING_ERR_ARG;
  return ldg_peer_accept(peer, msg, n, out, count, reply, cap, rn);
}

int lading_peer_reply(lading_peer *peer, const void *msg, int64_t n, void *out, int64_t cap, int64_t *on) {
  if (!peer || n < 0 || (n > 0 && !msg) || !on || cap < 0 || (cap > 0 && !out)) return LADING_ERR_ARG;
  return ldg_peer_reply(peer, msg, n, out, cap, on);
}

int lading_peer_stats(const lading_peer *peer, lading_peer_counts *out) {
  if (!peer || !out) return LADING_ERR_ARG;
  ldg_peer_stats((lading_peer *)(uintptr_t)peer, out);
  return LADING_OK;
}
