/* base: the options, from LADING_<NAME> in the environment. Each is read at its first use and copied, so that a later
 * setenv neither changes nor frees it; as with getenv itself, nobody may change the environment during that first use. */
#include "base.h"

#include <stdlib.h>

#define VALUE_MAX 1024 /* with the NUL; a longer value counts as unset */

typedef struct option {
  const char *name, *says;
} option;

static const option table[LDG_OPT_MAX] = {
  [LDG_OPT_VERBOSE] = { "LADING_VERBOSE", "0 to 3: how much to tell on stderr; 0, the default, is nothing" },
  [LDG_OPT_FORCE] = { "LADING_FORCE", "name of a strategy to use wherever it is able; device, one-shot, staged or direct, on devices; jit: compile kernels at first use" },
  [LDG_OPT_ISA] = { "LADING_ISA", "base, v2, v3 or v4: use no instructions above this x86-64 level, nor AVX-512 VBMI" },
  [LDG_OPT_MODEL] = { "LADING_MODEL", "file of the measured model, or builtin: read no file" },
  [LDG_OPT_JIT] = { "LADING_JIT", "the path of lading-jit, from / on; anything else (off): compile nothing" },
  [LDG_OPT_CACHE] = { "LADING_CACHE", "folder of the compiled kernels; lading/jit in the folder of caches otherwise" },
  [LDG_OPT_JIT_LIMIT] = { "LADING_JIT_LIMIT", "seconds that lading-jit may take for a kernel" },
  [LDG_OPT_DUMP] = { "LADING_DUMP", "jit: lading-jit leaves each kernel as text, and a program that makes it again, in the cache's folder" },
  [LDG_OPT_CACHE_HOME] = { "XDG_CACHE_HOME", NULL }, /* these two are not told */
  [LDG_OPT_HOME] = { "HOME", NULL },
};

enum { UNREAD, READING, SET, UNSET };
static _Atomic int state[LDG_OPT_MAX];
static char value[LDG_OPT_MAX][VALUE_MAX];

/* A thread that finds another one copying takes getenv's word for now rather than wait: no lock, also not over a fork. */
static const char *read_once(ldg_option o) {
  const char *found = getenv(table[o].name);
  bool set = found && strlen(found) < VALUE_MAX;
  int was = UNREAD;
  if (!atomic_compare_exchange_strong(&state[o], &was, READING)) {
    if (was == READING) return set ? found : NULL;
    return was == SET ? value[o] : NULL;
  }
  if (set) strcpy(value[o], found);
  atomic_store_explicit(&state[o], set ? SET : UNSET, memory_order_release);
  return set ? value[o] : NULL;
}

const char *ldg_option_get(ldg_option o) {
  int now = atomic_load_explicit(&state[o], memory_order_acquire);
  if (now == UNSET) return NULL;
  return now == SET ? value[o] : read_once(o);
}

const char *ldg_option_name(ldg_option o) { return table[o].name; }

void ldg_option_print(ldg_text *t) {
  for (int o = 0; o < LDG_OPT_CACHE_HOME; o++) {
    const char *v = ldg_option_get((ldg_option)o);
    if (v) ldg_text_add(t, "%-10s %s=%s  (%s)\n", "setting", table[o].name, v, table[o].says);
  }
}
