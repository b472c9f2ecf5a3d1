/* mpi: any MPI as a peer. The problem becomes an MPI datatype, MPI_Pack and MPI_Unpack move it. MPI knows no ranges of a
 * message, and its counts are ints. */
#include "peer.h"
#include "type_text.h"
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

_Static_assert(sizeof(MPI_Datatype) <= sizeof(type_handle), "a handle holds a datatype");
_Static_assert(sizeof(MPI_Aint) == sizeof(int64_t), "byte displacements are passed as they are");

static type_handle wrap(MPI_Datatype t) {
  type_handle h = 0;
  memcpy(&h, &t, sizeof t);
  return h;
}

static MPI_Datatype unwrap(type_handle h) {
  MPI_Datatype t;
  memcpy(&t, &h, sizeof t);
  return t;
}

/* ---- types -------------------------------------------------------------------------------------------------------- */

/* MPI has no 16-bit floats; what moves is their bytes. */
static MPI_Datatype element(lading_elem e) {
  const MPI_Datatype table[LADING_ELEM_MAX] = {
    [LADING_BYTE] = MPI_BYTE, [LADING_CHAR] = MPI_CHAR, [LADING_BOOL] = MPI_C_BOOL, [LADING_INT8] = MPI_INT8_T, [LADING_INT16] = MPI_SHORT,
    [LADING_INT32] = MPI_INT, [LADING_INT64] = MPI_LONG, [LADING_UINT8] = MPI_UINT8_T, [LADING_UINT16] = MPI_UINT16_T,
    [LADING_UINT32] = MPI_UINT32_T, [LADING_UINT64] = MPI_UINT64_T, [LADING_FLOAT16] = MPI_UINT16_T, [LADING_BFLOAT16] = MPI_UINT16_T,
    [LADING_FLOAT] = MPI_FLOAT, [LADING_DOUBLE] = MPI_DOUBLE, [LADING_LONG_DOUBLE] = MPI_LONG_DOUBLE, [LADING_C_FLOAT] = MPI_C_FLOAT_COMPLEX,
    [LADING_C_DOUBLE] = MPI_C_DOUBLE_COMPLEX, [LADING_C_LONG_DOUBLE] = MPI_C_LONG_DOUBLE_COMPLEX, [LADING_FLOAT_INT] = MPI_FLOAT_INT,
    [LADING_DOUBLE_INT] = MPI_DOUBLE_INT, [LADING_LONG_INT] = MPI_LONG_INT, [LADING_2INT] = MPI_2INT, [LADING_SHORT_INT] = MPI_SHORT_INT,
    [LADING_LONG_DOUBLE_INT] = MPI_LONG_DOUBLE_INT,
  };
  return table[e];
}

static bool make_elem(lading_elem e, type_handle *out) {
  *out = wrap(element(e));
  return element(e) != MPI_DATATYPE_NULL;
}

static bool is_named(MPI_Datatype t) {
  int i, a, d, combiner = MPI_COMBINER_NAMED;
  MPI_Type_get_envelope(t, &i, &a, &d, &combiner);
  return combiner == MPI_COMBINER_NAMED;
}

static void drop(type_handle h) {
  MPI_Datatype t = unwrap(h);
  if (!is_named(t)) MPI_Type_free(&t);
}

/* The arguments as ints; the lists of a call keep their places. */
typedef struct ints { int number[3], *list[4]; MPI_Datatype *old; } ints;

static bool fits(int64_t v) { return v >= INT_MIN && v <= INT_MAX; }

static bool to_ints(const type_call *c, ints *n, bool bytes_last) {
  for (int i = 0; i < c->numbers; i++) n->number[i] = (int)c->number[i];
  for (int i = 0; i < c->lists; i++) {
    if (bytes_last && i == c->lists - 1) break; /* MPI_Aint, used as it is */
    n->list[i] = malloc((size_t)(c->n + 1) * sizeof *n->list[i]);
    for (int64_t j = 0; n->list[i] && j < c->n; j++) {
      if (!fits(c->list[i][j])) return false;
      n->list[i][j] = (int)c->list[i][j];
    }
    if (!n->list[i]) return false;
  }
  n->old = malloc((size_t)(c->olds + 1) * sizeof *n->old);
  for (int64_t i = 0; n->old && i < c->olds; i++) n->old[i] = unwrap(c->old[i]);
  return n->old && c->n <= INT_MAX;
}

static int distribution(int64_t d) {
  return d == LADING_DISTRIB_BLOCK ? MPI_DISTRIBUTE_BLOCK : d == LADING_DISTRIB_CYCLIC ? MPI_DISTRIBUTE_CYCLIC : MPI_DISTRIBUTE_NONE;
}

static int darray(const type_call *c, const ints *v, int order, MPI_Datatype *t) {
  for (int64_t i = 0; i < c->n; i++) {
    v->list[1][i] = distribution(c->list[1][i]);
    if (c->list[2][i] == LADING_DARG_DEFAULT) v->list[2][i] = MPI_DISTRIBUTE_DFLT_DARG;
  }
  return MPI_Type_create_darray(v->number[0], v->number[1], (int)c->n, v->list[0], v->list[1], v->list[2], v->list[3], order, v->old[0], t);
}

static int create(const type_call *c, const ints *v, MPI_Datatype *t) {
  const int n = (int)c->n, *num = v->number, order = c->fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C;
  const MPI_Aint *bytes = (const MPI_Aint *)c->list[c->lists ? c->lists - 1 : 0];
  switch (c->kind) {
  case TYPE_CONTIGUOUS: return MPI_Type_contiguous(num[0], v->old[0], t);
  case TYPE_VECTOR: return MPI_Type_vector(num[0], num[1], num[2], v->old[0], t);
  case TYPE_HVECTOR: return MPI_Type_create_hvector(num[0], num[1], (MPI_Aint)c->number[2], v->old[0], t);
  case TYPE_INDEXED: return MPI_Type_indexed(n, v->list[0], v->list[1], v->old[0], t);
  case TYPE_HINDEXED: return MPI_Type_create_hindexed(n, v->list[0], bytes, v->old[0], t);
  case TYPE_INDEXED_BLOCK: return MPI_Type_create_indexed_block(n, num[0], v->list[0], v->old[0], t);
  case TYPE_HINDEXED_BLOCK: return MPI_Type_create_hindexed_block(n, num[0], bytes, v->old[0], t);
  case TYPE_STRUCT: return MPI_Type_create_struct(n, v->list[0], bytes, v->old, t);
  case TYPE_SUBARRAY: return MPI_Type_create_subarray(n, v->list[0], v->list[1], v->list[2], order, v->old[0], t);
  case TYPE_DARRAY: return darray(c, v, order, t);
  case TYPE_RESIZED: return MPI_Type_create_resized(v->old[0], (MPI_Aint)c->number[0], (MPI_Aint)c->number[1], t);
  }
  return MPI_ERR_TYPE;
}

/* Numbers that are bytes have all 64 bits: the stride of hvector, both of resized. */
static bool numbers_fit(const type_call *c) {
  for (int i = 0; i < c->numbers; i++)
    if (!fits(c->number[i]) && c->kind != TYPE_RESIZED && !(c->kind == TYPE_HVECTOR && i == 2)) return false;
  return true;
}

static bool make(const type_call *c, type_handle *out) {
  ints v = { { 0 }, { NULL }, NULL };
  MPI_Datatype t = MPI_DATATYPE_NULL;
  const bool bytes_last = c->kind == TYPE_HINDEXED || c->kind == TYPE_HINDEXED_BLOCK || c->kind == TYPE_STRUCT;
  bool ok = numbers_fit(c) && to_ints(c, &v, bytes_last) && create(c, &v, &t) == MPI_SUCCESS;
  for (int i = 0; i < 4; i++) free(v.list[i]);
  free(v.old);
  *out = wrap(t);
  return ok;
}

static void *open_type(const problem *p, const char *text, char *why, size_t cap) {
  static const type_maker maker = { make_elem, make, drop };
  type_handle h;
  MPI_Datatype *t = malloc(sizeof *t);
  if (p->size > INT_MAX || p->count > INT_MAX) snprintf(why, cap, "MPI_Pack takes no more than 2^31-1 bytes");
  else if (t && type_text_read(text, &maker, &h, why, cap)) {
    *t = unwrap(h);
    if (is_named(*t) || MPI_Type_commit(t) == MPI_SUCCESS) return t;
    snprintf(why, cap, "MPI_Type_commit fails");
    drop(h);
  }
  free(t);
  return NULL;
}

static void close_type(void *type) {
  drop(wrap(*(MPI_Datatype *)type));
  free(type);
}

/* ---- moving ------------------------------------------------------------------------------------------------------- */

static void pack(sampler *s, int64_t reps) {
  const int count = (int)s->p->count, size = (int)s->p->size;
  const MPI_Datatype t = *(MPI_Datatype *)s->arg;
  while (reps-- > 0) {
    const copy *c = sampler_turn(s);
    int at = 0, rc = MPI_Pack(c->mem, count, t, c->packed, size, &at, MPI_COMM_SELF);
    if (rc) s->error = rc;
  }
}

static void unpack(sampler *s, int64_t reps) {
  const int count = (int)s->p->count, size = (int)s->p->size;
  const MPI_Datatype t = *(MPI_Datatype *)s->arg;
  while (reps-- > 0) {
    const copy *c = sampler_turn(s);
    int at = 0, rc = MPI_Unpack(c->packed, size, &at, c->mem, count, t, MPI_COMM_SELF);
    if (rc) s->error = rc;
  }
}

/* ---- the engine --------------------------------------------------------------------------------------------------- */

/* "Open MPI v4.1.4, package: ..." and "MPICH Version:\t4.0.2\nMPICH Release date: ..." as one short line */
static void shorten(char *version, size_t cap) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int n = 0;
  MPI_Get_library_version(text, &n);
  text[strcspn(text, ",\n")] = 0;
  for (char *s = text; *s; s++)
    if (*s == '\t') *s = ' ';
  snprintf(version, cap, "%s", text);
}

/* A process by itself: no launcher, no daemon. */
static bool start(char *version, size_t cap) {
  setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
  if (MPI_Init(NULL, NULL) != MPI_SUCCESS) return false;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  shorten(version, cap);
  return true;
}

static void stop(void) { MPI_Finalize(); }

const peer_engine peer_is = { start, stop, open_type, close_type, { pack, unpack }, { NULL, NULL } };
