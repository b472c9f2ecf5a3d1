/* store: the cache as lading-jit sees it: it makes the folder, writes files, and throws the oldest away. */
#ifndef LDG_JIT_STORE_H
#define LDG_JIT_STORE_H

#include "gccjit/cache.h"

#define STORE_BYTES (INT64_C(64) << 20) /* of all files together */

/* Makes the folder if there is none. -1 and why not. */
int store_open(const char **why);
/* Waits until no other lading-jit makes kernels in this folder; until the returned descriptor is closed, none does. -1: it cannot be
 * had on this file system. */
int store_lock(int dir);
/* Is there a good kernel of the key? */
bool store_has(const char *text);
/* Compiles, judges and publishes the kernel of a key; NULL or why not. */
const char *store_kernel(int dir, const char *text, bool dump);
/* Calls fn for every kernel: name, its size, when it was last used, and its tail and key; NULLs and why where it is damaged. */
typedef struct store_item { const char *name; int64_t size, used; const ldg_cache_tail *tail; const char *key, *why; } store_item;
void store_each(int dir, void fn(void *arg, const store_item *item), void *arg);
/* Removes all kernels, or those least recently used until the rest is small enough. */
void store_clear(int dir);
void store_trim(int dir, int64_t bytes);

#endif
