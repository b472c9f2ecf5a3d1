/* store: the cache as lading-jit sees it: it makes the folder, writes files, and throws the oldest away. */
#ifndef LDG_JIT_STORE_H
#define LDG_JIT_STORE_H

#include "gccjit/cache.h"

#define STORE_BYTES (INT64_C(64) << 20) /* of all files together */
#define STORE_PATH 4200

/* Makes the folder if there is none. -1 and why not. */
int store_open(const char **why);
/* Waits until no other lading-jit makes kernels in this folder; until the returned descriptor is closed, none does. -1: it cannot be
 * had on this file system. */
int store_lock(int dir);
/* A new folder in that folder, for all that a compilation leaves; false: there is none. Its removal, with what is in it. */
bool store_scratch(char path[STORE_PATH]);
void store_scratch_remove(const char *path);
/* Is there a good kernel of the key? */
bool store_has(const char *text);
/* Compiles, judges and publishes the kernel of a key; NULL or why not. */
const char *store_kernel(int dir, const char *scratch, const char *text, bool dump);
/* Calls fn for every kernel: name, its size, and its tail and key; NULLs and why where it is damaged. */
typedef struct store_item { const char *name; int64_t size; const ldg_cache_tail *tail; const char *key, *why; } store_item;
void store_each(int dir, void fn(void *arg, const store_item *item), void *arg);
/* Removes all kernels and dumps; or, if they have more than so many bytes, those least recently used, until a quarter is free. */
void store_clear(int dir);
void store_trim(int dir, int64_t bytes);

#endif
