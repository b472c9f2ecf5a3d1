/* wire_format: the constants of the format, for the encoder and the decoder. */
#ifndef LDG_WIRE_FORMAT_H
#define LDG_WIRE_FORMAT_H

#include "rep.h"
#include "wire_bytes.h"

enum {
  LDG_WIRE_MAGIC = 'l', LDG_WIRE_VERSION = 2,
  LDG_WIRE_MARKED = 1, LDG_WIRE_NATURAL = 2, LDG_WIRE_ALIGN = 2 /* the bit it starts at */, LDG_WIRE_FLAGS = 32 /* all are below */,
  LDG_WIRE_COUNTED = 3, LDG_WIRE_JOIN = 4, LDG_WIRE_AGAIN = 5,
  LDG_WIRE_PARTS = 64
};
_Static_assert(LDG_BYTES == 0 && LDG_REPEAT == 1 && LDG_BLOCKS == 2, "kinds are on the wire");
_Static_assert((int)LADING_ELEM_MAX <= LDG_WIRE_PARTS, "elements are on the wire");

/* What ends a message: the facts that the decoder finds again. */
void ldg_wire_put_seal(ldg_writer *w, const ldg_rep *r, const lading_id *id);

#endif
