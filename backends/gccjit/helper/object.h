/* object: can the bytes of a shared object be run where they are mapped, without a linker? */
#ifndef LDG_JIT_OBJECT_H
#define LDG_JIT_OBJECT_H

#include "base.h"

/* NULL and where `symbol` starts, or why not. The bytes are those that the linker just wrote, but lengths are checked all the same. */
const char *object_entry(const char *bytes, int64_t n, const char *symbol, int64_t *entry);

#endif
