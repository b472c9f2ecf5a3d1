/* emit: the only file that knows libgccjit. */
#ifndef LDG_JIT_EMIT_H
#define LDG_JIT_EMIT_H

#include "gccjit/cut.h"

/* Writes the kernel of a key to `object`, a shared object without relocations. Where `dump` is given, also dump.txt, which is close
 * to C, and dump.c, a program that makes the kernel again. NULL or why not. */
const char *emit_kernel(const ldg_key *key, ldg_cut_way way, const char *symbol, const char *object, const char *dump);

#endif
