/* One message to the right and one from the left at a time, in five ways. The direct ones are a rendezvous: the sender offers its
 * layout and says where its buffer is, the receiver copies straight out of that memory into its own layout and says when it has. */
#include "ring.h"

#include <errno.h>
#include <string.h>

const char *const method_names[METHODS] = { "staged", "pipelined", "unknown", "direct", "cma" };

/* ---- through the staging buffer: packed by one process, unpacked by the other ---- */

static void staged(world *w, job *j) {
  const workload *l = j->w;
  world_check(w, "pack", lading_pack(l->send, 1, j->out.at, w->stage_out, 0, l->bytes));
  mail_post(w, &w->out->forward, MAIL_READY, NULL, 0);
  mail_wait(w, &w->in->forward, MAIL_READY);
  mail_taken(&w->in->forward);
  world_check(w, "unpack", lading_unpack(l->recv, 1, j->in.at, w->stage_in, 0, l->bytes));
  mail_post(w, &w->in->backward, MAIL_DONE, NULL, 0);
  mail_wait(w, &w->out->backward, MAIL_DONE);
  mail_taken(&w->out->backward);
}

/* In chunks: the next one is packed while the last one is unpacked on the other side. */
static int64_t chunk_end(const workload *l, int64_t at) { return at + CHUNK < l->bytes ? at + CHUNK : l->bytes; }

static bool pack_chunk(world *w, job *j, int64_t *at) {
  const int64_t k = w->out->produced, end = chunk_end(j->w, *at);
  if (*at == j->w->bytes || k - w->out->consumed >= SLOTS) return false;
  world_check(w, "pack", lading_pack(j->w->send, 1, j->out.at, w->stage_out + k % SLOTS * CHUNK, *at, end));
  w->out->produced = k + 1;
  *at = end;
  return true;
}

static bool unpack_chunk(world *w, job *j, int64_t *at) {
  const int64_t k = w->in->consumed, end = chunk_end(j->w, *at);
  if (*at == j->w->bytes || w->in->produced == k) return false;
  world_check(w, "unpack", lading_unpack(j->w->recv, 1, j->in.at, w->stage_in + k % SLOTS * CHUNK, *at, end));
  w->in->consumed = k + 1;
  *at = end;
  return true;
}

static void pipelined(world *w, job *j) {
  int64_t sent = 0, got = 0;
  int turns = 0;
  while (sent < j->w->bytes || got < j->w->bytes) {
    const bool packed = pack_chunk(w, j, &sent), unpacked = unpack_chunk(w, j, &got);
    if (packed || unpacked) turns = 0;
    else relax(w, &turns);
  }
  while (w->out->consumed != w->out->produced) relax(w, &turns);
}

/* ---- direct ---- */

typedef struct place { uint64_t buffer, at; int64_t bytes; } place; /* in the sender: the buffer, and the memory it is in */

typedef struct rendezvous {
  job *job;
  lading_peer *in, *out;
  bool by_cma, got, sent;
  place from;
  lading_type *type;          /* of the sender; waits for memory to be mapped */
  int64_t count;
} rendezvous;

static void offer(world *w, rendezvous *v) {
  static unsigned char msg[MAIL_MAX];
  const place here = { (uint64_t)(uintptr_t)v->job->out.at, (uint64_t)(uintptr_t)v->job->out.at, v->job->out.bytes };
  int64_t n;
  memcpy(msg, &here, sizeof here);
  world_check(w, "offer", lading_peer_offer(v->out, v->job->w->send, 1, msg + sizeof here, MAIL_MAX - (int64_t)sizeof here, &n));
  if (!v->job->first) v->job->first = n;
  v->job->repeat = n;
  mail_post(w, &w->out->forward, MAIL_OFFER, msg, n + (int64_t)sizeof here);
}

static void received(world *w, rendezvous *v) {
  lading_type_free(v->type);
  v->type = NULL;
  v->got = true;
  mail_post(w, &w->in->backward, MAIL_DONE, NULL, 0);
}

static void copy_by_cma(world *w, rendezvous *v) {
  const workload *l = v->job->w;
  int64_t done;
  errno = 0;
  world_check(w, "cma", lading_cma_get(w->all->pid[w->left], v->from.buffer, v->type, v->count, v->job->in.at, l->recv, 1, 0, l->bytes, &done));
  received(w, v);
}

/* One look-up for the whole buffer. Where its memory is not mapped yet, the sender is asked for it. */
static void copy_mapped(world *w, rendezvous *v) {
  const workload *l = v->job->w;
  lading_mapping *pin;
  int64_t lo, hi;
  void *local;
  world_check(w, "span", lading_type_span(v->type, v->count, &lo, &hi));
  const int rc = lading_map_find(w->map, (uint64_t)w->left, v->from.buffer + (uint64_t)lo, hi - lo, &local, &pin);
  if (rc == LADING_NOT_MAPPED) {
    mail_post(w, &w->in->backward, MAIL_WANT_MEMORY, NULL, 0);
    return;
  }
  world_check(w, "find", rc);
  world_check(w, "copy", lading_copy(v->type, v->count, (char *)local - lo, l->recv, 1, v->job->in.at, 0, l->bytes));
  lading_map_release(w->map, pin);
  received(w, v);
}

static void copy(world *w, rendezvous *v) {
  if (v->by_cma) copy_by_cma(w, v);
  else copy_mapped(w, v);
}

static void take_layout(world *w, rendezvous *v, const unsigned char *msg, int64_t n) {
  unsigned char reply[64];
  int64_t rn;
  const int rc = lading_peer_accept(v->in, msg, n, &v->type, &v->count, reply, sizeof reply, &rn);
  mail_taken(&w->in->forward);
  if (rc == LADING_NEED_LAYOUT) {
    mail_post(w, &w->in->backward, MAIL_NEED, reply, rn);
    return;
  }
  world_check(w, "accept", rc);
  copy(w, v);
}

static void take_memory(world *w, rendezvous *v) {
  lading_mapping *pin;
  mail_taken(&w->in->forward);
  void *at = window_map(w, v->from.bytes);
  world_check(w, "insert", lading_map_insert(w->map, (uint64_t)w->left, v->from.at, v->from.bytes, at, NULL, &pin));
  lading_map_release(w->map, pin);
  copy(w, v);
}

/* From the left come offers and what we asked for. */
static bool serve_left(world *w, rendezvous *v) {
  mailbox *box = &w->in->forward;
  switch (mail_look(box)) {
  case MAIL_NONE: return false;
  case MAIL_OFFER:
    memcpy(&v->from, box->data, sizeof v->from);
    take_layout(w, v, box->data + sizeof v->from, box->n - (int64_t)sizeof v->from);
    return true;
  case MAIL_LAYOUT: take_layout(w, v, box->data, box->n); return true;
  case MAIL_MEMORY: take_memory(w, v); return true;
  default: world_fail(w, "a wrong message from the left", LADING_ERR_FORMAT); return false;
  }
}

static void send_layout(world *w, rendezvous *v, mailbox *need) {
  static unsigned char msg[MAIL_MAX];
  int64_t n;
  world_check(w, "reply", lading_peer_reply(v->out, need->data, need->n, msg, MAIL_MAX, &n));
  mail_taken(need);
  mail_post(w, &w->out->forward, MAIL_LAYOUT, msg, n);
}

/* From the right: what it lacks, and that it is done. */
static bool serve_right(world *w, rendezvous *v) {
  mailbox *box = &w->out->backward;
  switch (mail_look(box)) {
  case MAIL_NONE: return false;
  case MAIL_NEED: send_layout(w, v, box); return true;
  case MAIL_WANT_MEMORY:
    mail_taken(box);
    window_send(w, &v->job->out);
    mail_post(w, &w->out->forward, MAIL_MEMORY, NULL, 0);
    return true;
  case MAIL_DONE:
    mail_taken(box);
    v->sent = true;
    return true;
  default: world_fail(w, "a wrong message from the right", LADING_ERR_FORMAT); return false;
  }
}

static void direct(world *w, job *j, lading_peer *in, lading_peer *out, bool by_cma) {
  rendezvous v = { .job = j, .in = in, .out = out, .by_cma = by_cma };
  int turns = 0;
  offer(w, &v);
  while (!v.got || !v.sent) {
    const bool left = !v.got && serve_left(w, &v), right = !v.sent && serve_right(w, &v);
    if (left || right) turns = 0;
    else relax(w, &turns);
  }
}

/* Peers that know nothing: the layout travels with the message, is decoded and made canonical, every time. */
static void direct_unknown(world *w, job *j) {
  lading_peer *in, *out;
  const lading_peer_attr attr = { 0, (uint64_t)w->rank };
  world_check(w, "peer", lading_peer_create(&attr, &in));
  world_check(w, "peer", lading_peer_create(&attr, &out));
  direct(w, j, in, out, false);
  lading_peer_free(in);
  lading_peer_free(out);
}

void exchange(world *w, job *j, int method) {
  switch (method) {
  case STAGED: staged(w, j); return;
  case PIPELINED: pipelined(w, j); return;
  case DIRECT_UNKNOWN: direct_unknown(w, j); return;
  case DIRECT: direct(w, j, w->in_peer, w->out_peer, false); return;
  default: direct(w, j, w->in_peer, w->out_peer, true);
  }
}

/* Cross-memory attach may be forbidden. Tried on what all processes share, which is at one address in all of them. */
bool exchange_has_cma(world *w) {
  const lading_type *byte = lading_elem_type(LADING_BYTE);
  int64_t done;
  char c;
  if (lading_cma_get(w->all->pid[w->left], (uint64_t)(uintptr_t)w->all, byte, 1, &c, byte, 1, 0, 1, &done)) w->all->no_cma = true;
  world_barrier(w);
  return !w->all->no_cma;
}

/* ---- memory ---- */

void job_begin(world *w, job *j, const workload *load) {
  *j = (job){ .w = load, .out = window_make(w, load->window), .in = window_make(w, load->window) };
}

/* The address may be another buffer's next time, so who has mapped this one must hear of it. */
void job_end(world *w, job *j) {
  const place gone = { 0, (uint64_t)(uintptr_t)j->out.at, j->out.bytes };
  place left;
  world_barrier(w);
  mail_post(w, &w->out->forward, MAIL_GONE, &gone, sizeof gone);
  mail_wait(w, &w->in->forward, MAIL_GONE);
  memcpy(&left, w->in->forward.data, sizeof left);
  mail_taken(&w->in->forward);
  world_check(w, "invalidate", lading_map_invalidate(w->map, (uint64_t)w->left, left.at, (uint64_t)left.bytes));
  world_barrier(w);
  window_free(&j->out);
  window_free(&j->in);
}
