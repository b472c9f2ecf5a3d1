/* peer: what one remote process knows of our types, and we of its. A state machine without a transport: the caller moves
 * the messages, and may lose, double and reorder them.
 *
 *   'p' version kind       3 bytes; kind 1: offer by name, 2: offer with the type, 3: need
 *   epoch                  of the sender, 8 bytes
 *   name                   of the type, 16 bytes
 *   count                  of items, as wire writes it; a need gives back that of the offer
 *   type                   as wire writes it; kind 2 only
 *
 * Every message can be answered from what is in it and from the tables of whoever gets it, so none has to arrive. The
 * sender's table is a hint about the receiver's: where it is wrong, one need brings the type.
 */
#ifndef LDG_PEER_H
#define LDG_PEER_H

#include "build.h"

#define LDG_PEER_CAPACITY ((int64_t)1 << 20) /* bytes, for a capacity of 0 */

/* As the public functions, arguments checked. The type of an offer has a plan. */
int ldg_peer_create(const lading_peer_attr *attr, lading_peer **out);
void ldg_peer_free(lading_peer *p);
int ldg_peer_offer(lading_peer *p, const lading_type *t, int64_t count, void *msg, int64_t cap, int64_t *n);
int ldg_peer_accept(lading_peer *p, const void *msg, int64_t n, lading_type **out, int64_t *count, void *reply, int64_t cap, int64_t *rn);
int ldg_peer_reply(lading_peer *p, const void *msg, int64_t n, void *out, int64_t cap, int64_t *on);
void ldg_peer_stats(lading_peer *p, lading_peer_counts *out);

#endif
