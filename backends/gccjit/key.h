/* key: a shape and the instruction set level of its kernel as text that reads back: `v3 24,13 0>0:4 8>4:9` is level, strides (or *,
 * when they are arguments; @,* or *,@ when the source or the destination is listed), and fields from>to:length; `v3 sum.f8 * 0>0:24` adds doubles, min.s4 are signed. The kernel's symbol and its file in the cache are named after it. */
#ifndef LDG_JIT_KEY_H
#define LDG_JIT_KEY_H

#include "../jit.h"

#define LDG_KEY_MAX 1536 /* bytes with the NUL: LDG_SHAPE_FIELDS fields with offsets below LDG_KEY_FAR, and more */
#define LDG_KEY_FAR (1 << 20)

/* What kernels of a level go by. */
typedef struct ldg_jit_level {
  const char *name;
  int width;          /* bytes of the widest move */
  int window, lane;   /* shuffles so many bytes at once, 64 or 16, in lanes of so many; 0: does not */
  const char *march;  /* what the compiler calls it */
} ldg_jit_level;
/* NULL: unknown. */
const ldg_jit_level *ldg_jit_level_of(const char *name, size_t n);

typedef struct ldg_key { const ldg_jit_level *level; ldg_shape shape; } ldg_key;
/* Does it choose between elements, or judge each, so that less than a whole vector of LDG_KEY_VECTOR bytes is taken element by element? */
#define LDG_KEY_VECTOR 16
static inline bool ldg_key_chooses(const ldg_key *key) { return key->shape.reduce.how >= LDG_MIN; }
/* Bytes of the widest move: an element where there is no instruction for more. */
int ldg_key_width(const ldg_key *key);
/* False: it does not fit. */
bool ldg_key_print(const ldg_key *key, char text[LDG_KEY_MAX]);
/* Accepts exactly what print makes of a valid shape. */
bool ldg_key_read(const char *text, ldg_key *key);
uint64_t ldg_key_hash(const char *text);
/* A name for the linker and for dumps: level, fields, bytes, hash. */
#define LDG_KEY_SYMBOL 64
void ldg_key_symbol(const ldg_key *key, const char *text, char symbol[LDG_KEY_SYMBOL]);

#endif
