/* cache: compiled kernels as files of their own user, shared by all processes and by the next run. A file is a shared object without
 * relocations, so that its bytes run wherever they are copied to, then the key, then a tail with a checksum over all of it.
 * The dynamic linker is not asked: what cannot be trusted is looked at before anything of it runs. */
#ifndef LDG_JIT_CACHE_H
#define LDG_JIT_CACHE_H

#include "key.h"

#define LDG_CACHE_PATH 1024
#define LDG_CACHE_NAME 40
#define LDG_CACHE_FILE_MAX (1 << 20)  /* bytes of one file */
#define LDG_JIT_LOCKED 'L'            /* what the helper writes when others had the lock for too long: it was no fault of a kernel's */
#define LDG_CACHE_VERSION 10          /* of files, of what kernels promise, and of how they are judged */

typedef struct ldg_cache_tail {
  char magic[8];
  int64_t object, entry;              /* bytes of the shared object; where the kernel starts in it */
  int64_t least, most;                /* iterations from which on it was faster than without it, INT64_MAX: never; and up to which */
  int64_t compile_ns, before_ps, after_ps; /* all that it took; an iteration without it and with it */
  uint64_t machine;                   /* ldg_cache_machine of whoever judged it */
  int64_t key;                        /* bytes of the key, which stands before this, with its NUL */
  uint64_t sum;                       /* over all that stands before it */
} ldg_cache_tail;
#define LDG_CACHE_MAGIC "lading\nj"

/* Seconds that a compilation may take. */
int64_t ldg_cache_limit(void);
/* $LADING_CACHE, else $XDG_CACHE_HOME/lading/jit, else ~/.cache/lading/jit. NULL, or why there is none. */
const char *ldg_cache_path(char path[LDG_CACHE_PATH]);
/* Opens the folder: the user's own, writable by nobody else. -1 and why not. */
int ldg_cache_dir(const char **why);
/* The file of a key: compiler, version and key in a hash; and, of a verdict that a kernel is no faster, the machine that found it so: each
 * has its own, so that they do not put theirs over each other's in a folder that they share. 0: of a kernel that is of use. */
void ldg_cache_name(const char *key, uint64_t machine, char name[LDG_CACHE_NAME]);
bool ldg_cache_is_name(const char *name);
/* The kind of machine and the library's version, in a hash: a kernel of others is as right, but may gain less, or more. */
uint64_t ldg_cache_machine(void);
/* Of n bytes of a file: NULL and where the tail and the key are, or why it is no kernel. */
const char *ldg_cache_check(const char *bytes, int64_t n, const ldg_cache_tail **tail, const char **key);

/* The file `name` for reading, with its size; -1 and why not. */
int ldg_cache_open(int dir, const char *name, int64_t *size, const char **why);
typedef struct ldg_cache_kernel { ldg_kernel *run; int64_t least, most, compile_ns; void *map; int64_t size; } ldg_cache_kernel;
extern const char ldg_cache_none[];   /* why not: there is no such file */
/* Copies the kernel of a key into memory: the file is not looked at again. NULL or why not. */
const char *ldg_cache_load(const char *key, ldg_cache_kernel *out);
/* Of a kernel that nobody was shown. */
void ldg_cache_unload(const ldg_cache_kernel *k);

#endif
