/* queue: ordered work on a device, or here. Turns a work into cargos for a backend, and carries what the device does not reach
 * through memory that it does. */
#ifndef LDG_QUEUE_H
#define LDG_QUEUE_H

#include "exec.h"

/* A work whose arguments were checked: always layout to layout. The packed side is a run: one byte, as often as there are. */
enum { LDG_SRC, LDG_DST };
typedef struct ldg_work {
  ldg_side side[2];
  const ldg_plan *plan[2];     /* NULL: the packed side */
  ldg_reduction reduction;     /* op LADING_REPLACE: a move */
  int64_t lo, hi;
  lading_mem mem[2];
} ldg_work;

/* `base` is the place of stream byte 0. */
ldg_side ldg_queue_packed(const char *base, int64_t bytes);

bool ldg_queue_is_host(const lading_queue *q);
/* fn with the queue locked, which is not the host's. */
int ldg_queue_with(lading_queue *q, int (*fn)(void *arg, const ldg_device *dev, ldg_lane *lane), void *arg);
int ldg_queue_device_count(const char *backend, int *n);    /* ERR_ARG */
int ldg_queue_mem_query(const void *at, lading_mem *out);
int ldg_queue_wrap(const char *backend, void *stream, lading_queue **out);
int ldg_queue_create(const char *backend, int device, lading_queue **out);
void ldg_queue_free(lading_queue *q);
int ldg_queue_sync(lading_queue *q);
int ldg_queue_put(lading_queue *q, const ldg_work *w, lading_request *out);
int ldg_queue_passed(lading_queue *q, lading_request r, bool wait, bool *done);
/* The first device backend that takes it; `fn` picks the function. */
int ldg_queue_ipc_export(const void *at, lading_ipc *out);
int ldg_queue_ipc_open(const lading_ipc *token, void **out);
int ldg_queue_ipc_close(void *at);

const ldg_device *ldg_queue_device_of(const char *backend); /* NULL: not in this build */

/* ---- between the files of this layer ---- */

/* On the host, now. */
void ldg_queue_run(const ldg_work *w);
/* Kernels know it: all moves, and reductions of elements of one kind, but for long doubles. */
bool ldg_queue_ships(const ldg_work *w);
/* Such a work on the device, which reaches both sides: as one copy, or as cargos. ERR_NOMEM, those of the backend. */
int ldg_queue_ship(const ldg_device *dev, ldg_lane *lane, const ldg_work *w);
/* Puts the images of both layouts, neither of which is a run, where kernels find them: a graph that is recorded later may need them. */
int ldg_queue_keep_tables(const ldg_device *dev, ldg_lane *lane, const ldg_work *w);
/* The ways. DEVICE: all that is packed is on the device; between two layouts: packed there and unpacked. ONE_SHOT: a kernel goes to the packed
 * side in pinned memory itself. STAGED: a copy of the driver does, from or to packed bytes on the device. DIRECT: one kernel from layout to
 * layout. Which one is predicted to be faster, where there are two; else DEVICE. */
typedef enum ldg_path { LDG_DEVICE, LDG_ONE_SHOT, LDG_STAGED, LDG_DIRECT, LDG_PATHS } ldg_path;
ldg_path ldg_queue_path(const ldg_work *w);
/* What a device does with `count` items, and why; nothing where there is no device. */
void ldg_queue_explain(const ldg_plan *p, int64_t count, ldg_text *t);
bool ldg_queue_has_device(void);
/* The lane's queue is freed: what the host has still to do there is let go if the device has failed and asks for it no more. */
void ldg_queue_leave(const ldg_device *dev, ldg_lane *lane);
/* What ldg_queue_ship does, where the device may not reach all of it. */
int ldg_queue_carry(const ldg_device *dev, ldg_lane *lane, const ldg_work *w);
/* Fills in what no hint says, and tells whether the device reaches both sides. */
int ldg_queue_reaches(const ldg_device *dev, ldg_lane *lane, ldg_work *w, bool *out);
/* What ship sends, for a launch of somebody else: of a work that ships, whose sides the device reaches, and that does not coincide.
 * ERR_UNSUPPORTED: more than max. */
int ldg_queue_cargos(const ldg_device *dev, ldg_lane *lane, const ldg_work *w, ldg_cargo *out, int max, int *n);
/* Some destination byte may be written twice. ERR_NOMEM. */
int ldg_queue_coincides(const ldg_work *w, bool *out);

/* A work whose destination coincides, with a plan of it, as pieces of the stream, one after the other: at least one, at most max. What of [lo, hi) of a move is in none of them
 * is written again later; reductions are in pieces of whole elements. `ordered`: in the order of the stream, else no place is there twice: all of them are in [from, to), offsets of the destination. */
typedef struct ldg_turn { int64_t lo, hi, from, to; bool ordered; } ldg_turn;
int ldg_queue_turns(const ldg_work *w, ldg_turn *turn, int max);
int ldg_queue_turns_most(const ldg_work *w); /* launches that are worth it: so many, or more where they are long */

/* The image of a canonical tree (cargo.h); and of a layout that is small enough for it the flat one. Places are the body's. */
int64_t ldg_queue_image_words(const ldg_rep *r);
void ldg_queue_image_write(const ldg_rep *r, int64_t *words);
bool ldg_queue_is_flat(const ldg_layout *l);
/* A run, or items of runs or of flat layouts, of which all that is counted up to stream byte `hi` has 32 bits. */
bool ldg_queue_is_flat_side(const ldg_plan *p, const ldg_side *s, int64_t hi);
/* Places, where lists are no longer than that. With 0 no layout is flat: who wants that, tests and calibrate, sets it while nobody enqueues. */
extern int64_t ldg_queue_flat_most;
extern int64_t ldg_queue_sums_apart[2]; /* likewise: with 0 all sums of transposes go by squares */
int64_t ldg_queue_flat_words(const ldg_layout *l);
void ldg_queue_flat_write(const ldg_layout *l, int64_t *words);
ldg_divisor ldg_queue_divisor(int64_t n, bool narrow);

#endif
