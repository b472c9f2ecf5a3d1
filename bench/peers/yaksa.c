/* yaksa: Yaksa by itself as a peer. It moves ranges, too. */
#include "peer.h"
#include "yaksa_types.h"
#include <stdio.h>
#include <stdlib.h>
#include <yaksa.h>

/* ---- types -------------------------------------------------------------------------------------------------------- */

static void *open_type(const problem *p, const char *text, char *why, size_t cap) {
  (void)p;
  type_handle *t = malloc(sizeof *t);
  if (t && type_text_read(text, &yaksa_maker, t, why, cap)) return t;
  free(t);
  return NULL;
}

static void close_type(void *type) {
  yaksa_maker.drop(*(type_handle *)type);
  free(type);
}

/* ---- moving ------------------------------------------------------------------------------------------------------- */

static int move(const sampler *s, int dir, const copy *c, int64_t at, int64_t n, uintptr_t *moved) {
  const problem *p = s->p;
  const yaksa_type_t t = *(type_handle *)s->arg;
  if (dir == LDG_PACK)
    return yaksa_pack(c->mem, (uintptr_t)p->count, t, (uintptr_t)at, c->packed + at, (uintptr_t)n, moved, NULL, YAKSA_OP__REPLACE);
  return yaksa_unpack(c->packed + at, (uintptr_t)n, c->mem, (uintptr_t)p->count, t, (uintptr_t)at, moved, NULL, YAKSA_OP__REPLACE);
}

/* A range ends where an element ends: the next one starts where this one stopped. */
static void ranges(sampler *s, int dir, int64_t step, int64_t reps) {
  const int64_t size = s->p->size;
  while (reps-- > 0) {
    const copy *c = sampler_turn(s);
    uintptr_t moved = 0;
    for (int64_t at = 0; at < size; at += (int64_t)moved) {
      int rc = move(s, dir, c, at, ldg_min(step, size - at), &moved);
      if (rc || !moved) {
        s->error = rc ? rc : -1;
        break;
      }
    }
  }
}

static void whole_pack(sampler *s, int64_t reps) { ranges(s, LDG_PACK, s->p->size, reps); }
static void whole_unpack(sampler *s, int64_t reps) { ranges(s, LDG_UNPACK, s->p->size, reps); }
static void segmented_pack(sampler *s, int64_t reps) { ranges(s, LDG_PACK, s->segment, reps); }
static void segmented_unpack(sampler *s, int64_t reps) { ranges(s, LDG_UNPACK, s->segment, reps); }

/* ---- the engine --------------------------------------------------------------------------------------------------- */

static bool start(char *version, size_t cap) {
  snprintf(version, cap, "Yaksa %s", YAKSA_VERSION);
  return yaksa_init(NULL) == YAKSA_SUCCESS;
}

static void stop(void) { yaksa_finalize(); }

const peer_engine peer_is = { start, stop, open_type, close_type, { whole_pack, whole_unpack }, { segmented_pack, segmented_unpack } };
