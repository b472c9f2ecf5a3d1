/* spawn: starts a program that the host process never hears of again: it is not its child, and no signal tells of its end. */
#ifndef LDG_JIT_SPAWN_H
#define LDG_JIT_SPAWN_H

#include "base.h"

/* 0 or an errno. *fd, to be closed by the caller, reads end of file once the program and all it started are gone; reading never
 * blocks. Standard input and output are nothing; standard error is the host's if `talks`, else nothing. One call at a time. */
int ldg_spawn(const char *path, char *const argv[], bool talks, int *fd);
/* Is this process heir to orphans, so that it would hear of the program after all? The first of a container, or a subreaper. */
bool ldg_spawn_inherits(void);

#endif
