/* What the fake's own kernels take. */
#ifndef FAKE_OWN_H
#define FAKE_OWN_H

#include <stdint.h>

typedef struct own_args { char *dst; const char *src, *flag; uint64_t n; uint32_t value; } own_args;

#endif
