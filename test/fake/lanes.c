/* The threads of a block. A lane is a stack that takes threads one after the other, until one meets a barrier: then the next lane
 * goes on. So a kernel without barriers needs one lane, and with them as many as there are threads. When nobody can go on
 * all must stand at the same barrier. In which order threads go on changes from phase to phase, since none may be relied on.
 *
 * For the thread sanitizer, which knows fibers, a lane is a thread, ordered with others by barriers and the launch alone, so that
 * a missing barrier is a race that it reports; a lane takes one thread of a block, or, behind the first APART lanes, every APARTth of
 * those that meet no barrier. This file is compiled without it: what happens here happens
 * between threads.
 */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE /* which takes jumps from stack to stack for mistakes */
#include "fake.h"
#include "../../genkernels/device.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#if FAKE_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if FAKE_TSAN
#include <sanitizer/tsan_interface.h>
enum { NO_SYNC = 1 };
#define ORDER_AFTER(p) __tsan_acquire(p)
#define ORDER_BEFORE(p) __tsan_release(p)
#else
#define ORDER_AFTER(p) ((void)(p))
#define ORDER_BEFORE(p) ((void)(p))
#endif

enum { LANES = LDG_BLOCK_MAX, APART = 37, STACK = 256 << 10, SHARED_MAX = 48 << 10, NAMES = 32, DIRT = 0xcb };

/* Where a stack goes on. To switch contexts is to ask the kernel for the mask of signals each time: that takes ten times as long as a jump,
 * but the sanitizers know nothing else. */
#if FAKE_ASAN || FAKE_TSAN
typedef ucontext_t place;
#define SWITCH(from, to) swapcontext(from, to)
#else
typedef struct place { jmp_buf at; } place;
#define SWITCH(from, to)                                \
  do {                                                  \
    if (!_setjmp((from)->at)) _longjmp((to)->at, 1);    \
  } while (0)
#endif

typedef struct lane {
  place here, top;         /* top: where it begins */
  char *stack;
  void *sanitizer;         /* of this lane, while it rests */
  uint32_t tid;
  unsigned phase;          /* barriers that its thread met */
  bool waits;              /* at file:line */
  bool ended;              /* its last thread did: nothing is left on its stack */
  const char *file;
  int line;
} lane;

static lane lanes[LANES];
static struct {
  const fake_launch *launch;
  void (*body)(const void *);
  place here;              /* of who runs the block */
  void *sanitizer, *stack;
  size_t stack_size;
  lane *now;
  uint32_t bid, begun;     /* threads that were begun */
  bool down;               /* threads begin in descending order */
  int err;
  char barrier[2], begins, ends; /* what the thread sanitizer orders by; barriers take turns, as some threads go on before others */
} block;

static struct { const void *key; void *at; } names[NAMES];
static int names_n;
static size_t shared_used;
static char *shared;

_Thread_local ldg_fake_place ldg_fake_here;

/* The range of the last access is most often that of the next. */
static struct { uintptr_t base; int64_t size, real, generation; } recent[2];

/* ---- switching stacks ---- */

static void sanitizer_leaves(void **keep, const void *stack, size_t size) {
#if FAKE_ASAN
  __sanitizer_start_switch_fiber(keep, stack, size);
#else
  (void)keep, (void)stack, (void)size;
#endif
}

static void sanitizer_arrives(void *kept, bool in_lane) {
#if FAKE_ASAN
  const void *stack = NULL;
  size_t size = 0;
  __sanitizer_finish_switch_fiber(kept, &stack, &size);
  if (in_lane) block.stack = (void *)(uintptr_t)stack, block.stack_size = size;
#else
  (void)kept, (void)in_lane;
#endif
}

static void to_scheduler(lane *l, bool ends) {
  sanitizer_leaves(ends ? NULL : &l->sanitizer, block.stack, block.stack_size);
#if FAKE_TSAN
  __tsan_switch_to_fiber(block.sanitizer, NO_SYNC);
#endif
  SWITCH(&l->here, &block.here);
  sanitizer_arrives(l->sanitizer, true);
}

static void resume(lane *l) {
  block.now = l;
  ldg_fake_here = (ldg_fake_place){ l->tid, block.bid, block.launch->block, block.launch->grid };
#if FAKE_TSAN
  block.sanitizer = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(l->sanitizer, NO_SYNC);
#endif
  void *kept = NULL;
  sanitizer_leaves(&kept, l->stack, STACK);
  SWITCH(&block.here, &l->here);
  sanitizer_arrives(kept, false);
}

/* ---- a lane ---- */

/* Not inlined: a lane may go on in another thread of the process, where this is somewhere else. */
static __attribute__((noinline)) void next_thread(lane *l) {
  l->phase = 0;
  l->tid = block.down ? block.launch->block - 1 - block.begun : block.begun;
  block.begun++;
  ldg_fake_here = (ldg_fake_place){ l->tid, block.bid, block.launch->block, block.launch->grid };
}

static void lane_main(void) {
  lane *l = block.now;
  sanitizer_arrives(NULL, true);
  do {
    if (block.begun == block.launch->block) break;
    next_thread(l);
    ORDER_AFTER(&block.begins);
    block.body(block.launch->args);
    ORDER_BEFORE(&block.ends);
  } while (!FAKE_TSAN);
  l->waits = false, l->ended = true;
  to_scheduler(l, true);
}

static void stack_context(ucontext_t *c, char *stack, void (*run)(void)) {
  getcontext(c);
  c->uc_stack.ss_sp = stack, c->uc_stack.ss_size = STACK, c->uc_link = NULL;
  makecontext(c, run, 0);
}

#if FAKE_ASAN || FAKE_TSAN
static void at_top(lane *l, bool fresh) {
  (void)fresh;
#if FAKE_ASAN
  if (!l->ended) __asan_unpoison_memory_region(l->stack + FAKE_PAGE, STACK - FAKE_PAGE); /* frames of a thread that was stopped */
#endif
  stack_context(&l->here, l->stack, lane_main);
#if FAKE_ASAN
  l->here.uc_stack.ss_size = 0; /* or it would clear what it knows of all of it at each switch, which took most of the time */
#endif
}
#else
static ucontext_t maker;
static lane *made;
static void lane_first(void) {
  if (_setjmp(made->top.at)) lane_main();
  setcontext(&maker);
}
static void at_top(lane *l, bool fresh) {
  ucontext_t c;
  made = l;
  if (fresh) stack_context(&c, l->stack, lane_first), swapcontext(&maker, &c);
  l->here = l->top;
}
#endif

static bool lane_begin(lane *l) {
  const bool fresh = !l->stack;
  if (fresh) {
    l->stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (l->stack == MAP_FAILED) return l->stack = NULL, false;
    mprotect(l->stack, FAKE_PAGE, PROT_NONE);
#if FAKE_TSAN
    l->sanitizer = __tsan_create_fiber(0);
#endif
  }
  at_top(l, fresh);
  l->waits = l->ended = false;
  return true;
}

/* ---- a block ---- */

/* The end of a kernel, from inside of one of its threads. */
static void stop(int err) {
  block.err = err;
  block.now->waits = false;
  ORDER_BEFORE(&block.ends);
  to_scheduler(block.now, true);
}

/* All threads were begun, n lanes were used: how many wait, and do they wait for each other? */
static uint32_t waiting(uint32_t n) {
  const char *name = block.launch->kernel->name;
  const lane *first = NULL, *other = NULL;
  uint32_t waits = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (!lanes[i].waits) continue;
    if (!first) first = &lanes[i];
    if (lanes[i].line != first->line || strcmp(lanes[i].file, first->file)) other = &lanes[i];
    waits++;
  }
  if (other) block.err = fake_fault(E_LAUNCH, "%s: threads wait at %s:%d and at %s:%d", name, first->file, first->line, other->file, other->line);
  else if (waits && waits != block.launch->block)
    block.err = fake_fault(E_LAUNCH, "%s: %u of %u threads wait at %s:%d", name, waits, block.launch->block, first->file, first->line);
  return block.err ? 0 : waits;
}

/* Memory of a block is not zero at first, and holds nothing of the block before. The thread sanitizer gets new pages, or it would
 * see threads of one block race with those of another. */
static void renew_shared(void) {
  if (FAKE_TSAN && shared && shared_used) munmap(shared, SHARED_MAX), shared = NULL;
  if (!shared) {
    shared = mmap(NULL, SHARED_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) abort();
    shared_used = SHARED_MAX;
  }
  memset(shared, DIRT, shared_used);
  names_n = 0, shared_used = 0;
}

/* Who takes the next thread when n lanes were used. For the thread sanitizer (gcc 12's) 790 KB are cleared for each, in each process, so threads
 * APART from each other share one where none met a barrier. They do not race, as far as it sees, so APART is prime, and neither a power
 * of two nor next to one: there kernels have their rows. */
static lane *next_lane(uint32_t *n) {
  lane *shares = *n >= APART ? &lanes[block.begun % APART] : NULL;
  return shares && shares->ended ? shares : &lanes[(*n)++];
}

static int run_block(uint32_t bid) {
  uint32_t n = 0;
  block.bid = bid, block.begun = 0, block.err = E_OK, block.down = fake_random() & 1;
  renew_shared();
  ORDER_BEFORE(&block.begins);
  while (block.begun < block.launch->block && !block.err) {
    lane *l = next_lane(&n);
    if (!lane_begin(l)) return E_MEMORY;
    resume(l);
  }
  while (!block.err && waiting(n)) {
    const bool down = fake_random() & 1;
    for (uint32_t i = 0; i < n && !block.err; i++) resume(&lanes[down ? n - 1 - i : i]);
  }
  return block.err;
}

int fake_lanes_run(const fake_launch *l, void (*body)(const void *)) {
  block.launch = l, block.body = body;
  recent[0].generation = recent[1].generation = -1; /* of a kernel on another device, perhaps */
  int err = E_OK;
  const uint32_t first = (uint32_t)(fake_random() % l->grid); /* blocks begin somewhere */
  for (uint32_t i = 0; i < l->grid && !err; i++) err = run_block((uint32_t)(((uint64_t)first + i) % l->grid));
  ORDER_AFTER(&block.ends);
  return err;
}

/* ---- what bodies call ---- */

void ldg_fake_sync(const char *file, int line) {
  lane *l = block.now;
  char *const barrier = &block.barrier[l->phase++ & 1];
  l->waits = true, l->file = file, l->line = line;
  ORDER_BEFORE(barrier);
  ORDER_BEFORE(&block.ends); /* it may be the last thing that this thread does */
  to_scheduler(l, false);
  ORDER_AFTER(barrier);
}

void *ldg_fake_shared(const void *key, size_t size, size_t align) {
  for (int i = 0; i < names_n; i++)
    if (names[i].key == key) return names[i].at;
  const size_t at = (shared_used + align - 1) / align * align;
  if (at + size > SHARED_MAX || names_n == NAMES) stop(fake_fault(E_LAUNCH, "%s: too much shared memory", block.launch->kernel->name));
  shared_used = at + size;
  names[names_n].key = key;
  return names[names_n++].at = shared + at;
}


static bool in_recent(int i, uintptr_t p, size_t size) {
  return recent[i].generation == fake_generation && p - recent[i].base < (uintptr_t)recent[i].size &&
         (int64_t)(p - recent[i].base + size) <= recent[i].size;
}

static void forbidden(const void *p, size_t size, bool writes, const fake_range *r) {
  const char *verb = writes ? "writes" : "reads", *kernel = block.launch->kernel->name;
  if (r) fake_fault(E_ADDRESS, "%s %s %zu bytes at %p, over the end of %lld bytes at %p", kernel, verb, size, p, (long long)r->size, (void *)r->base);
  else fake_fault(E_ADDRESS, "%s %s %zu bytes at %p, where a device may not", kernel, verb, size, p);
  stop(E_ADDRESS);
}

static void look_up(const void *p, size_t size, bool writes) {
  const fake_range *r = fake_range_at(p);
  if (!r || (int64_t)((uintptr_t)p - r->base + size) > r->size) forbidden(p, size, writes, r);
  if (r->header && !__atomic_load_n(&r->header->alive, __ATOMIC_ACQUIRE))
    stop(fake_fault(E_ADDRESS, "%s uses memory at %p that its owner freed", block.launch->kernel->name, p));
  if (r->memory == MEMORY_DEVICE && r->context->device != block.launch->device)
    stop(fake_fault(E_ADDRESS, "%s runs on device %d and uses memory of device %d at %p", block.launch->kernel->name, block.launch->device, r->context->device, p));
  if (r->memory == MEMORY_REGISTERED && fake_set.apart) forbidden(p, size, writes, NULL);
  recent[1] = recent[0];
  recent[0].base = r->base, recent[0].size = r->size, recent[0].real = r->real, recent[0].generation = r->opened ? -1 : fake_generation;
}

void *ldg_fake_touch(const void *p, size_t size, size_t align, bool writes) {
  const uintptr_t at = (uintptr_t)p;
  if (at % align) stop(fake_fault(E_MISALIGNED, "%s uses %zu bytes at %p", block.launch->kernel->name, size, p));
  if (at - (uintptr_t)shared < shared_used) return (void *)at; /* the block's own, which is as long as its names say */
  if (in_recent(0, at, size)) return (void *)(at + (uintptr_t)recent[0].real);
  if (in_recent(1, at, size)) return (void *)(at + (uintptr_t)recent[1].real);
  look_up(p, size, writes);
  return (void *)(at + (uintptr_t)recent[0].real);
}

void ldg_fake_fence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
