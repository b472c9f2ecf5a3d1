/* look: what callers leave for the attendant to look at: a few places, so that who finds none free tries again later. One look at a
 * time is taken, so that slots are made by one thread at a time, and what a look is about can be freed. */
#ifndef LDG_JIT_LOOK_H
#define LDG_JIT_LOOK_H

#include "../jit.h"

bool ldg_look_some(void);
/* Takes all looks there are. Were there any? */
bool ldg_look_all(void);
/* Of a fork's child: whoever was looking, or leaving something, is not there. What was left is nowhere, half done or not: who left it does so
 * again, in a new generation. */
void ldg_look_forked(void);

#endif
