/* The host backend: which kernels run a nest, what they cost, and which instruction set level this machine has. */
#include "kernels.h"

#include "base_cpu.h"
#include "cost.h"

#include <stdlib.h>

static const ldg_block_row rows[] = { LDG_BLOCK_ROW_TABLE };
static const int transpose_width[] = { LDG_TRANSPOSE_WIDTHS };

/* ---- the level, found once ---- */

/* The best kernels that were built and that this machine has the instructions for. */
static const ldg_kernels *find_kernels(void) {
  static const ldg_kernels *const built[] = { LDG_LEVELS }; /* best first */
  const int n = sizeof built / sizeof built[0];
  for (int i = 0; i < n; i++)
    if (ldg_cpu_has(built[i]->isa)) return built[i];
  return built[n - 1];
}

static const ldg_kernels *kernels(void) {
  static const ldg_kernels *_Atomic found;
  const ldg_kernels *k = atomic_load_explicit(&found, memory_order_acquire);
  if (!k) atomic_store_explicit(&found, k = find_kernels(), memory_order_release);
  return k;
}

/* ---- what strategies ask of a nest ---- */

static int block_row(int64_t block) {
  int r = 0;
  while (block < rows[r].lo || block > rows[r].hi) r++;
  return r;
}

/* ---- strategies ---- */

static const char *memcpy_why_not(const ldg_nest *n) {
  if (n->at) return "the blocks are listed";
  if (n->nd != 1 || n->dim[0].src != n->block || n->dim[0].dst != n->block) return "not dense on both sides";
  return NULL;
}
static void memcpy_prepare(ldg_job *j) { j->run = kernels()->dense; }

/* A dim that is dense on one side and strided on the other, and the mirrored one: the makings of a transpose. */
static bool transpose_dims(const ldg_nest *n, int *p, int *q) {
  *p = *q = -1;
  for (int i = n->nd - 1; i >= 0; i--) {
    if (n->dim[i].dst == n->block && n->dim[i].src != n->block) *p = i;
    if (n->dim[i].src == n->block && n->dim[i].dst != n->block) *q = i;
  }
  return *p >= 0 && *q >= 0;
}
static int transpose_row(int64_t block) {
  for (int r = 0; r < LDG_TRANSPOSE_ROWS; r++)
    if (transpose_width[r] == block) return r;
  return -1;
}
static const char *transpose_why_not(const ldg_nest *n) {
  int p, q;
  if (n->at) return "the blocks are listed";
  if (transpose_row(n->block) < 0) return "no transpose kernel of that element width";
  if (!transpose_dims(n, &p, &q)) return "no pair of dims, one dense at the source and one at the destination";
  if (n->ordered) return "destination bytes may coincide, so stream order must be kept";
  return NULL;
}
static double transpose_cost(const ldg_nest *n) {
  int p, q;
  transpose_dims(n, &p, &q);
  return ldg_cost_transpose(n, p, q);
}
static void transpose_prepare(ldg_job *j) {
  int p, q;
  transpose_dims(&j->nest, &p, &q);
  j->aux = (const void *)(uintptr_t)(p + 8 * q);
  j->run = kernels()->transpose[transpose_row(j->nest.block)];
}

static const char *block_why_not(const ldg_nest *n) { return n->at ? "the blocks are listed" : NULL; }
static void block_prepare(ldg_job *j) {
  const ldg_nest *n = &j->nest;
  const int density = n->dim[0].dst == n->block ? LDG_DENSE_DST : n->dim[0].src == n->block ? LDG_DENSE_SRC : LDG_ANY;
  j->run = kernels()->block[block_row(n->block)].strided[ldg_min(n->nd, 3) - 1][density];
}

static const char *list_why_not(const ldg_nest *n) {
  if (!n->at) return "the blocks are not listed";
  return n->psum ? "the blocks differ in length" : NULL;
}
#define FAR_SPAN (512 << 10) /* lists over more memory than this find their lines beyond the second-level cache */
static void list_prepare(ldg_job *j) {
  const int how = !j->nest.at4 ? LDG_NEAR8 : j->nest.span > FAR_SPAN ? LDG_FAR4 : LDG_NEAR4;
  j->run = kernels()->block[block_row(j->nest.block)].list[j->nest.list == LDG_LIST_DST][how];
}

static const char *varlist_why_not(const ldg_nest *n) {
  if (!n->at) return "the blocks are not listed";
  return n->psum ? NULL : "the blocks are of one length";
}
static void varlist_prepare(ldg_job *j) { j->run = kernels()->varlist[j->nest.list == LDG_LIST_DST]; }

static const ldg_strategy table[] = {
  { "memcpy", "one memcpy: dense on both sides", memcpy_why_not, ldg_cost_memcpy, memcpy_prepare },
  { "transpose", "tiles of a cache line, transposed in registers", transpose_why_not, transpose_cost, transpose_prepare },
  { "block", "strided loops around a block mover of fixed width", block_why_not, ldg_cost_block, block_prepare },
  { "list", "gather or scatter of blocks of one length through an offset table", list_why_not, ldg_cost_list, list_prepare },
  { "varlist", "gather or scatter of blocks that differ in length", varlist_why_not, ldg_cost_varlist, varlist_prepare },
};

/* ---- reductions ---- */

static const unsigned char op_row[LADING_OP_MAX][LADING_ELEM_MAX] = { LDG_OP_TABLE }; /* counts from 1; 0: not defined */

static const ldg_ops *find_ops(void) {
  static const ldg_ops *const built[] = { LDG_OP_LEVELS }; /* best first */
  const int n = sizeof built / sizeof built[0];
  for (int i = 0; i < n; i++)
    if (ldg_cpu_has(built[i]->isa)) return built[i];
  return built[n - 1];
}

static const ldg_op *host_op(lading_op op, lading_elem e) {
  static const ldg_ops *_Atomic found;
  const int row = op_row[op][e];
  if (row == 0) return NULL;
  const ldg_ops *o = atomic_load_explicit(&found, memory_order_acquire);
  if (!o) atomic_store_explicit(&found, o = find_ops(), memory_order_release);
  return &o->row[row - 1];
}

const ldg_backend ldg_backend_host = { "host", table, sizeof table / sizeof table[0], host_op };
