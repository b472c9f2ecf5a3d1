/* The contract between the planner and a place that compiles kernels while the program runs. Like backend.h it is all that the
 * planner sees. A shape says what one iteration of a loop moves; all loops of one shape share one slot, and so one kernel. Nothing
 * here ever waits for a compiler, and every failure leaves things as they are without a kernel.
 */
#ifndef LDG_JIT_H
#define LDG_JIT_H

#include "base_field.h"

/* What becomes of elements that meet. Whole numbers wrap: their sign makes a difference only to MIN and MAX, and only there it is told. */
typedef enum ldg_how { LDG_MOVE, LDG_SUM, LDG_PROD, LDG_AND, LDG_OR, LDG_XOR, LDG_MIN, LDG_MAX, LDG_ALL, LDG_ANY, LDG_ONE, LDG_HOWS } ldg_how;
typedef enum ldg_number { LDG_WHOLE, LDG_SIGNED, LDG_UNSIGNED, LDG_FLOATS } ldg_number;
/* Bytes of what is reduced, 1 of a move; and of an element, of which that may be a part. */
typedef struct ldg_reduce { ldg_how how; ldg_number number; int size, whole; } ldg_reduce;

#define LDG_SHAPE_FIELDS 64
#define LDG_SHAPE_BYTES 2048
/* An iteration: at most so many fields with at most so many bytes. Their destinations are distinct, also those of different
 * iterations, unless these are listed. src and dst of all fields are >= 0, the least of each is 0. */
typedef struct ldg_shape {
  ldg_reduce reduce;   /* fields are whole elements */
  int64_t stride[2];   /* source, destination: of the loop; { 0, 0 } when the kernel gets them as arguments */
  bool listed[2];      /* iterations of at most one side are where a table says, in its order; strides are arguments */
  int n;
  ldg_field field[LDG_SHAPE_FIELDS];
} ldg_shape;

/* n iterations from src to dst: moves, or destination elements become how(source, destination). Iteration i of a listed side is at at[i],
 * and its stride means nothing; no other kernel looks at `at`. Says LADING_OK, as ldg_run. */
typedef int ldg_kernel(const char *src, char *dst, int64_t n, int64_t src_stride, int64_t dst_stride, const int32_t *at);

typedef struct ldg_slot {
  _Atomic(ldg_kernel *) kernel;  /* acquire; NULL: none yet, or none that is better */
  int64_t least, most;           /* iterations of the kernel's loop from which on it is faster, and up to how many in all loops; set before the kernel is */
  _Atomic int64_t moved;         /* bytes by all loops of this shape */
  _Atomic int state;             /* of slot.c */
} ldg_slot;

/* May there be kernels at all? Cheap. */
bool ldg_jit_on(void);
/* Is a kernel wanted at first use, whatever it gains? (LADING_FORCE=jit) */
bool ldg_jit_forced(void);
/* Something to be looked at: a shape to be made, and its slot to be found. Plain data, since the caller goes on; `run` may make slots,
 * takes no lock and no memory, and is also called when it comes to nothing. */
#define LDG_LOOK_WORDS 12
typedef struct ldg_look ldg_look;
struct ldg_look {
  void (*run)(const ldg_look *l, bool dropped);
  const void *of[2];             /* who frees any of these says so first: ldg_jit_forget */
  int64_t word[LDG_LOOK_WORDS];  /* run's own */
};
/* Has it looked at soon, by a thread of ours. Costs as much as some atomics, or the start of that thread. False: not now, there is too much
 * to look at. */
bool ldg_jit_look(const ldg_look *l);
/* What was left, and found no memory for that thread, is looked at soon. */
void ldg_jit_remind(void);
/* Looks at it at once. */
void ldg_jit_look_now(const ldg_look *l);
/* Nothing of it will be looked at from now on; waits for a look at it that is under way. */
void ldg_jit_forget(const void *what);
/* Never 0; the child of a fork has another one. What was left in another one will not be looked at. */
int ldg_jit_generation(void);

/* For those that look: the slot of a shape, which will have a kernel soon if the cache has one. `gain` is the most ns that it could save
 * for a byte, `bytes` are those moved so far. NULL, or why there is none. */
const char *ldg_jit_slot(const ldg_shape *shape, double gain, int64_t bytes, ldg_slot **out);
extern const char ldg_jit_later[];   /* why not: not before more was moved */
/* So many bytes more went through loops of this shape: may ask for a kernel. False: nothing more is to be expected. */
bool ldg_jit_moved(ldg_slot *slot, int64_t bytes);
/* Asks for the kernel at once, whatever it gains. */
void ldg_jit_ask(ldg_slot *slot);
/* One line: which kernel, counters, why there is none yet. */
void ldg_jit_explain(const ldg_slot *slot, ldg_text *t);

/* For tests and measurements: true when nothing is under way. */
bool ldg_jit_settled(void);

#endif
