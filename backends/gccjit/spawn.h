/* spawn: starts a program that the host process never hears of again: it is not its child, and no signal tells of its end. */
#ifndef LDG_JIT_SPAWN_H
#define LDG_JIT_SPAWN_H

#include "base.h"

#include <sys/types.h>

/* What the program is to know of the host's environment, and of our options as this process read them, in one piece, to be freed with ldg_free; NULL: no memory. For a thread that may
 * read the environment, which is the caller's. */
char **ldg_spawn_environment(void);

/* Are the host's other descriptors closed before the program starts? Older C libraries cannot; there it is the program's first care. */
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
#define LDG_SPAWN_CLOSES 1
#else
#define LDG_SPAWN_CLOSES 0
#endif

/* `end` reads what they write, and end of file once the program and all it started are gone; `alive`, -1 on an old system, can be read when it is. */
typedef struct ldg_spawned { int end, alive; pid_t pid; } ldg_spawned;
/* 0 or an errno. Standard input is nothing, standard output for one word to us; standard error is the host's if `talks`,
 * else nothing. One call at a time; it takes as long as an exec, and longer where the file system does. */
int ldg_spawn(const char *path, char *const argv[], char *const env[], bool talks, ldg_spawned *out);
/* Waits so many ms for the end of all, then ends the program and its group. Did they end by themselves? Calls `meanwhile` every
 * LDG_SPAWN_TICK ms. *word: the first byte that they wrote to standard output, 0: none. */
#define LDG_SPAWN_TICK 10
bool ldg_spawn_await(const ldg_spawned *s, int64_t ms, bool (*meanwhile)(void), char *word);
/* Is this process heir to orphans, so that it would hear of the program after all? The first of a container, or a subreaper. */
bool ldg_spawn_inherits(void);

#endif
