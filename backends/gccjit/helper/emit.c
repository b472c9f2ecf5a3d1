/* emit: a kernel is loops over groups of iterations, the largest group first, and a group is a row of cuts.
 *
 *   int kernel(const char *src, char *dst, int64_t n, int64_t src_stride, int64_t dst_stride, const int32_t *at)
 *     while (n >= 16) { cuts of 16 iterations; src += 16 * src_stride; dst += 16 * dst_stride; n -= 16; }
 *     while (n >= 4) ...
 *
 * Of a listed source, say, it is while (n >= 1) { place = src + *at; cuts from place; at++; ... }.
 *
 * Plain moves are loads and stores of vector types with an alignment of 1. Libgccjit has no target builtins, so shuffles are spelled
 * in assembly, one cut a statement. */
#include "emit.h"

#include "base_model.h"

#include <libgccjit.h>
#include <stdio.h>
#include <stdlib.h>

typedef gcc_jit_context ctx;
typedef gcc_jit_rvalue rvalue;
typedef gcc_jit_type type;

typedef struct maker {
  ctx *c;
  const ldg_key *key;
  ldg_cut_way way;
  type *bytes, *count, *offsets;        /* const char * and char * alike; int64_t; int32_t * */
  gcc_jit_function *fn;
  gcc_jit_lvalue *place[2], *n;         /* source and destination of the group; what is left */
  rvalue *stride[2], *base[2];          /* of a listed side its base, and no stride */
  gcc_jit_lvalue *list;                 /* the offset of the group */
  gcc_jit_block *block;                 /* where statements go */
  int64_t items;                        /* of the group */
  int cut;                              /* number in the group */
} maker;

static rvalue *number(maker *m, int64_t v) { return gcc_jit_context_new_rvalue_from_long(m->c, m->count, (long)v); }

/* ---- plain moves ---- */

static type *element_of(maker *m) {
  const ldg_reduce *r = &m->key->shape.reduce;
  if (r->number == LDG_FLOATS) return gcc_jit_context_get_type(m->c, r->size == 4 ? GCC_JIT_TYPE_FLOAT : GCC_JIT_TYPE_DOUBLE);
  return gcc_jit_context_get_int_type(m->c, r->size, r->number == LDG_SIGNED);
}

static type *vector_of(maker *m, int width) {
  const ldg_reduce *r = &m->key->shape.reduce;
  if (r->how ? width == r->size : width <= 8) return r->how ? element_of(m) : gcc_jit_context_get_int_type(m->c, width, 0);
  return gcc_jit_type_get_vector(element_of(m), (size_t)(width / r->size));
}

static gcc_jit_lvalue *at(maker *m, int side, int64_t off, type *t) {
  rvalue *address = gcc_jit_lvalue_get_address(
    gcc_jit_context_new_array_access(m->c, NULL, gcc_jit_lvalue_as_rvalue(m->place[side]), number(m, off)), NULL);
  type *loose = gcc_jit_type_get_pointer(gcc_jit_type_get_aligned(t, 1));
  return gcc_jit_rvalue_dereference(gcc_jit_context_new_cast(m->c, NULL, address, loose), NULL);
}

/* A variable of its own: operators take no type with an alignment. */
static gcc_jit_lvalue *load(maker *m, const char *what, int side, int64_t off, type *t) {
  char name[48];
  snprintf(name, sizeof name, "%s%lld_%d", what, (long long)m->items, m->cut);
  gcc_jit_lvalue *local = gcc_jit_function_new_local(m->fn, NULL, t, name);
  gcc_jit_block_add_assignment(m->block, NULL, local, gcc_jit_lvalue_as_rvalue(at(m, side, off, t)));
  return local;
}
static rvalue *loaded(maker *m, const char *what, int side, int64_t off, type *t) { return gcc_jit_lvalue_as_rvalue(load(m, what, side, off, t)); }
static rvalue *binary(maker *m, enum gcc_jit_binary_op op, type *t, rvalue *a, rvalue *b) { return gcc_jit_context_new_binary_op(m->c, NULL, op, t, a, b); }

/* 0 or 1 */
static rvalue *truth(maker *m, enum gcc_jit_comparison c, rvalue *a, rvalue *b, type *t) {
  return gcc_jit_context_new_cast(m->c, NULL, gcc_jit_context_new_comparison(m->c, NULL, c, a, b), t);
}

/* One element: b ^ ((a ^ b) & -(a < b)), of its bits. */
static rvalue *choose(maker *m, const ldg_cut *c, enum gcc_jit_comparison better) {
  type *t = element_of(m), *bits = gcc_jit_context_get_int_type(m->c, c->width, 0);
  rvalue *a = loaded(m, "src", 0, c->from[0], bits), *b = loaded(m, "dst", 1, c->to, bits);
  rvalue *yes = truth(m, better, loaded(m, "a", 0, c->from[0], t), loaded(m, "b", 1, c->to, t), bits);
  yes = gcc_jit_context_new_unary_op(m->c, NULL, GCC_JIT_UNARY_OP_MINUS, bits, yes);
  return binary(m, GCC_JIT_BINARY_OP_BITWISE_XOR, bits, b, binary(m, GCC_JIT_BINARY_OP_BITWISE_AND, bits, binary(m, GCC_JIT_BINARY_OP_BITWISE_XOR, bits, a, b), yes));
}

/* Many, or floats: a vector cannot be compared before libgccjit 13. Of those that do not compare the second stays, as it should: the
 * destination's. */
static rvalue *choose_by_instruction(maker *m, const ldg_cut *c, type *t) {
  static const char kinds[] = { [1] = 'b', [2] = 'w', [4] = 'd', [8] = 'q' };
  const ldg_reduce *r = &m->key->shape.reduce;
  const bool vex = m->key->level->width > 16, one = c->width == r->size;
  const char *what = r->how == LDG_MIN ? "min" : "max";
  char name[16], text[48];
  if (r->number == LDG_FLOATS) snprintf(name, sizeof name, "%s%c%c", what, one ? 's' : 'p', r->size == 4 ? 's' : 'd');
  else snprintf(name, sizeof name, "p%s%c%c", what, r->number == LDG_SIGNED ? 's' : 'u', kinds[r->size]);
  snprintf(text, sizeof text, vex ? "v%s %%1, %%0, %%0" : "%s %%1, %%0", name);
  gcc_jit_lvalue *a = load(m, "src", 0, c->from[0], t);
  rvalue *b = loaded(m, "dst", 1, c->to, t);
  gcc_jit_extended_asm *e = gcc_jit_block_add_extended_asm(m->block, NULL, text);
  gcc_jit_extended_asm_add_output_operand(e, NULL, m->key->level->window == 64 ? "+v" : "+x", a);
  gcc_jit_extended_asm_add_input_operand(e, NULL, m->key->level->window == 64 ? "v" : "x", b);
  return gcc_jit_lvalue_as_rvalue(a);
}

/* Of one element: is it not 0, is that of the other? */
static rvalue *judge(maker *m, const ldg_cut *c, type *t) {
  static const enum gcc_jit_binary_op op[] = { [LDG_ALL] = GCC_JIT_BINARY_OP_BITWISE_AND, [LDG_ANY] = GCC_JIT_BINARY_OP_BITWISE_OR, [LDG_ONE] = GCC_JIT_BINARY_OP_BITWISE_XOR };
  rvalue *none = gcc_jit_context_zero(m->c, t);
  return binary(m, op[m->key->shape.reduce.how], t, truth(m, GCC_JIT_COMPARISON_NE, loaded(m, "src", 0, c->from[0], t), none, t),
                truth(m, GCC_JIT_COMPARISON_NE, loaded(m, "dst", 1, c->to, t), none, t));
}

static rvalue *reduced(maker *m, const ldg_cut *c, type *t) {
  static const enum gcc_jit_binary_op op[] = { [LDG_SUM] = GCC_JIT_BINARY_OP_PLUS, [LDG_PROD] = GCC_JIT_BINARY_OP_MULT, [LDG_AND] = GCC_JIT_BINARY_OP_BITWISE_AND,
                                               [LDG_OR] = GCC_JIT_BINARY_OP_BITWISE_OR, [LDG_XOR] = GCC_JIT_BINARY_OP_BITWISE_XOR };
  const ldg_reduce *r = &m->key->shape.reduce;
  if (r->how >= LDG_ALL) return judge(m, c, t);
  if (r->how < LDG_MIN) return binary(m, op[r->how], t, loaded(m, "src", 0, c->from[0], t), loaded(m, "dst", 1, c->to, t));
  const bool able = ldg_key_width(m->key) > r->size;
  if (able && (c->width > r->size || r->number == LDG_FLOATS)) return choose_by_instruction(m, c, t);
  return choose(m, c, r->how == LDG_MIN ? GCC_JIT_COMPARISON_LT : GCC_JIT_COMPARISON_GT);
}

static void emit_move(maker *m, const ldg_cut *c) {
  type *t = vector_of(m, c->width);
  const bool reduces = m->key->shape.reduce.how;
  rvalue *v = reduces ? reduced(m, c, t) : gcc_jit_lvalue_as_rvalue(at(m, 0, c->from[0], t));
  gcc_jit_block_add_assignment(m->block, NULL, at(m, 1, c->to, reduces ? gcc_jit_rvalue_get_type(v) : t), v); /* it may be an element's bits */
}

/* ---- shuffles ---- */

/* A bit for every lane instead of every byte. */
static uint64_t in_lanes(uint64_t bits, int lane) {
  uint64_t out = 0;
  for (int i = 0; i < 64 / lane; i++) out |= (bits >> (i * lane) & 1) << i;
  return out;
}

static rvalue *lanes_of(maker *m, const ldg_cut *c) {
  const int lane = m->key->level->lane, n = 64 / lane;
  type *t = gcc_jit_context_get_int_type(m->c, lane, 0);
  rvalue *v[64];
  for (int i = 0; i < n; i++) v[i] = gcc_jit_context_new_rvalue_from_long(m->c, t, c->lane[i * lane] / lane);
  return gcc_jit_context_new_rvalue_from_vector(m->c, NULL, gcc_jit_type_get_vector(t, (size_t)n), (size_t)n, v);
}

static rvalue *mask_of(maker *m, uint64_t bits) {
  return gcc_jit_context_new_rvalue_from_long(m->c, gcc_jit_context_get_int_type(m->c, 8, 0), (long)in_lanes(bits, m->key->level->lane));
}

/* %0 source, %1 destination, %2 lanes; then the masks that are needed: of the loads, of the store. Braces of their own mean something
 * to the compiler. Lines moved under masks are asked for, bytes ahead of either side; 0: they are not. */
static void shuffle_text(const ldg_cut *c, int lane, const int64_t ahead[2], ldg_text *t) {
  const char perm = lane == 1 ? 'b' : 'd', *move = lane == 1 ? "vmovdqu8" : "vmovdqu32";
  const long long from = c->from[0], more = c->from[1], to = c->to;
  const bool two = c->windows == 2;
  for (int k = 0; k < c->windows && c->masked && ahead[0]; k++) ldg_text_add(t, "prefetcht0 %lld(%%0)\n\t", (long long)(c->from[k] + ahead[0]));
  if (c->store != UINT64_MAX && ahead[1]) ldg_text_add(t, "prefetcht0 %lld(%%1)\n\t", (long long)(to + ahead[1]));
  if (c->masked) ldg_text_add(t, "%s %lld(%%0), %%%%zmm31%%{%%3%%}%%{z%%}\n\t", move, from);
  else if (two) ldg_text_add(t, "vmovdqu64 %lld(%%0), %%%%zmm31\n\t", from);
  if (c->masked && two) ldg_text_add(t, "%s %lld(%%0), %%%%zmm30%%{%%4%%}%%{z%%}\n\tvpermt2%c %%%%zmm30, %%2, %%%%zmm31\n\t", move, more, perm);
  else if (two) ldg_text_add(t, "vpermt2%c %lld(%%0), %%2, %%%%zmm31\n\t", perm, more);
  else if (c->masked) ldg_text_add(t, "vperm%c %%%%zmm31, %%2, %%%%zmm31\n\t", perm);
  else ldg_text_add(t, "vperm%c %lld(%%0), %%2, %%%%zmm31\n\t", perm, from);
  if (c->store == UINT64_MAX) ldg_text_add(t, "vmovdqu64 %%%%zmm31, %lld(%%1)", to);
  else ldg_text_add(t, "%s %%%%zmm31, %lld(%%1)%%{%%%d%%}", move, to, 3 + (c->masked ? c->windows : 0));
}

/* Whole iterations of that side, where it is known how far those are apart: at least as many lines as windows are asked for ahead elsewhere. */
static int64_t ahead_of(const maker *m, int side) {
  const int64_t stride = m->key->shape.stride[side], least = 64 * ldg_model_count(LDG_MODEL_MASKED);
  return stride ? (least + llabs(stride) - 1) / llabs(stride) * stride : 0;
}

/* Operands are variables: libgccjit 12 crashes on constants. */
static rvalue *held(maker *m, const char *what, int i, rvalue *v) {
  char name[48];
  snprintf(name, sizeof name, "%s%lld_%d_%d", what, (long long)m->items, m->cut, i);
  gcc_jit_lvalue *local = gcc_jit_function_new_local(m->fn, NULL, gcc_jit_rvalue_get_type(v), name);
  gcc_jit_block_add_assignment(m->block, NULL, local, v);
  return gcc_jit_lvalue_as_rvalue(local);
}

static void emit_shuffle(maker *m, const ldg_cut *c) {
  const int64_t ahead[2] = { ahead_of(m, 0), ahead_of(m, 1) };
  char text[512];
  ldg_text t;
  rvalue *lanes = held(m, "lanes", 0, lanes_of(m, c)), *mask[3];
  int masks = 0;
  for (int w = 0; w < c->windows && c->masked; w++) mask[masks] = held(m, "mask", masks, mask_of(m, c->load[w])), masks++;
  if (c->store != UINT64_MAX) mask[masks] = held(m, "mask", masks, mask_of(m, c->store)), masks++;
  ldg_text_init(&t, text, sizeof text);
  shuffle_text(c, m->key->level->lane, ahead, &t);
  gcc_jit_extended_asm *a = gcc_jit_block_add_extended_asm(m->block, NULL, text);
  gcc_jit_extended_asm_set_volatile_flag(a, 1);
  for (int side = 0; side < 2; side++) gcc_jit_extended_asm_add_input_operand(a, NULL, "r", gcc_jit_lvalue_as_rvalue(m->place[side]));
  gcc_jit_extended_asm_add_input_operand(a, NULL, "v", lanes);
  for (int i = 0; i < masks; i++) gcc_jit_extended_asm_add_input_operand(a, NULL, "Yk", mask[i]);
  gcc_jit_extended_asm_add_clobber(a, "memory");
  gcc_jit_extended_asm_add_clobber(a, "xmm30"), gcc_jit_extended_asm_add_clobber(a, "xmm31");
}

/* Of 16 bytes: each window's bytes go where they belong, and zeros elsewhere. */
static void small_text(const ldg_cut *c, bool vex, ldg_text *t) {
  for (int w = 0; w < c->windows; w++) {
    const int x = w ? 14 : 15;
    if (vex) ldg_text_add(t, "vmovdqu %lld(%%0), %%%%xmm%d\n\tvpshufb %%%d, %%%%xmm%d, %%%%xmm%d\n\t", (long long)c->from[w], x, 2 + w, x, x);
    else ldg_text_add(t, "movdqu %lld(%%0), %%%%xmm%d\n\tpshufb %%%d, %%%%xmm%d\n\t", (long long)c->from[w], x, 2 + w, x);
    if (w) ldg_text_add(t, vex ? "vpor %%%%xmm14, %%%%xmm15, %%%%xmm15\n\t" : "por %%%%xmm14, %%%%xmm15\n\t");
  }
  ldg_text_add(t, vex ? "vmovdqu %%%%xmm15, %lld(%%1)" : "movdqu %%%%xmm15, %lld(%%1)", (long long)c->to);
}

static rvalue *places_of(maker *m, const ldg_cut *c, int w) {
  type *t = gcc_jit_context_get_int_type(m->c, 1, 0);
  rvalue *v[16];
  for (int i = 0; i < 16; i++) v[i] = gcc_jit_context_new_rvalue_from_long(m->c, t, c->lane[i] / 64 == w ? c->lane[i] % 64 : 128);
  return gcc_jit_context_new_rvalue_from_vector(m->c, NULL, gcc_jit_type_get_vector(t, 16), 16, v);
}

static void emit_small(maker *m, const ldg_cut *c) {
  char text[1024];
  ldg_text t;
  rvalue *places[LDG_CUT_WINDOWS];
  for (int w = 0; w < c->windows; w++) places[w] = held(m, "places", w, places_of(m, c, w));
  ldg_text_init(&t, text, sizeof text);
  small_text(c, m->key->level->width > 16, &t);
  gcc_jit_extended_asm *a = gcc_jit_block_add_extended_asm(m->block, NULL, text);
  gcc_jit_extended_asm_set_volatile_flag(a, 1);
  for (int side = 0; side < 2; side++) gcc_jit_extended_asm_add_input_operand(a, NULL, "r", gcc_jit_lvalue_as_rvalue(m->place[side]));
  for (int w = 0; w < c->windows; w++) gcc_jit_extended_asm_add_input_operand(a, NULL, "xm", places[w]);
  gcc_jit_extended_asm_add_clobber(a, "memory");
  gcc_jit_extended_asm_add_clobber(a, "xmm14"), gcc_jit_extended_asm_add_clobber(a, "xmm15");
}

static void emit_cut(maker *m, const ldg_cut *c) {
  if (c->width) emit_move(m, c);
  else if (m->key->level->window == 16) emit_small(m, c);
  else emit_shuffle(m, c);
}

/* ---- loops ---- */

/* place = &from[by] */
static void move_place(maker *m, gcc_jit_lvalue *place, rvalue *from, rvalue *by) {
  gcc_jit_block_add_assignment(m->block, NULL, place, gcc_jit_lvalue_get_address(gcc_jit_context_new_array_access(m->c, NULL, from, by), NULL));
}

/* Of a listed side: to where the table says. */
static void look_up(maker *m, int side) {
  gcc_jit_lvalue *off = gcc_jit_context_new_array_access(m->c, NULL, gcc_jit_lvalue_as_rvalue(m->list), number(m, 0));
  move_place(m, m->place[side], m->base[side], gcc_jit_context_new_cast(m->c, NULL, gcc_jit_lvalue_as_rvalue(off), m->count));
}

static void step(maker *m, int side, int64_t items) {
  if (m->base[side]) move_place(m, m->list, gcc_jit_lvalue_as_rvalue(m->list), number(m, items));
  else move_place(m, m->place[side], gcc_jit_lvalue_as_rvalue(m->place[side]),
                  gcc_jit_context_new_binary_op(m->c, NULL, GCC_JIT_BINARY_OP_MULT, m->count, m->stride[side], number(m, items)));
}

static bool emit_group(maker *m, int64_t items) {
  static ldg_cut cut[LDG_CUTS];
  int n = ldg_cut_group(m->key, m->way, items, cut);
  if (n < 0) n = ldg_cut_group(m->key, LDG_CUT_PLAIN, items, cut); /* those left over, few as they are */
  for (int side = 0; side < 2; side++)
    if (m->base[side]) look_up(m, side);
  for (int i = m->cut = 0; i < n; m->cut = ++i) emit_cut(m, &cut[i]);
  step(m, 0, items), step(m, 1, items);
  gcc_jit_block_add_assignment_op(m->block, NULL, m->n, GCC_JIT_BINARY_OP_MINUS, number(m, items));
  return n > 0;
}

static gcc_jit_block *block_of(maker *m, const char *what) {
  char name[48];
  snprintf(name, sizeof name, "%s_%lld", what, (long long)m->items);
  return gcc_jit_function_new_block(m->fn, name);
}

/* while (n >= items) group */
static bool emit_loop(maker *m, int64_t items) {
  m->items = items;
  gcc_jit_block *test = block_of(m, "while"), *body = block_of(m, "do"), *after = block_of(m, "after");
  rvalue *more = gcc_jit_context_new_comparison(m->c, NULL, GCC_JIT_COMPARISON_GE, gcc_jit_lvalue_as_rvalue(m->n), number(m, items));
  gcc_jit_block_end_with_jump(m->block, NULL, test);
  gcc_jit_block_end_with_conditional(test, NULL, more, body, after);
  m->block = body;
  const bool good = emit_group(m, items);
  gcc_jit_block_end_with_jump(m->block, NULL, test);
  m->block = after;
  return good;
}

enum { SRC, DST, COUNT, STRIDES, AT = STRIDES + 2, PARAMS };

/* Strides that are known are constants, the arguments then go unused; as does the stride of a listed side, whose place is a variable. */
static void emit_side(maker *m, int side, gcc_jit_param *const p[PARAMS]) {
  const ldg_shape *s = &m->key->shape;
  const bool known = s->stride[0] || s->stride[1];
  m->place[side] = gcc_jit_param_as_lvalue(p[side]);
  m->stride[side] = known ? number(m, s->stride[side]) : gcc_jit_param_as_rvalue(p[STRIDES + side]);
  if (!s->listed[side]) return;
  m->base[side] = gcc_jit_param_as_rvalue(p[side]);
  m->place[side] = gcc_jit_function_new_local(m->fn, NULL, m->bytes, "place");
}

static void emit_function(maker *m, const char *symbol) {
  static const char *const name[PARAMS] = { "src", "dst", "n", "src_stride", "dst_stride", "at" };
  gcc_jit_param *p[PARAMS];
  for (int i = 0; i < PARAMS; i++) p[i] = gcc_jit_context_new_param(m->c, NULL, i <= DST ? m->bytes : i == AT ? m->offsets : m->count, name[i]);
  m->fn = gcc_jit_context_new_function(m->c, NULL, GCC_JIT_FUNCTION_EXPORTED, gcc_jit_context_get_int_type(m->c, sizeof(int), 1), symbol, PARAMS, p, 0);
  m->block = gcc_jit_function_new_block(m->fn, "start");
  emit_side(m, SRC, p), emit_side(m, DST, p);
  m->n = gcc_jit_param_as_lvalue(p[COUNT]), m->list = gcc_jit_param_as_lvalue(p[AT]);
}

static bool emit(maker *m, const char *symbol) {
  bool good = true;
  int64_t items = ldg_cut_items(m->key, m->way);
  m->count = gcc_jit_context_get_int_type(m->c, 8, 1);
  m->bytes = gcc_jit_type_get_pointer(gcc_jit_context_get_int_type(m->c, 1, 0));
  m->offsets = gcc_jit_type_get_pointer(gcc_jit_context_get_int_type(m->c, 4, 1));
  emit_function(m, symbol);
  for (; good && items > 1; items /= 4) good = emit_loop(m, items);
  good = good && emit_loop(m, 1);
  gcc_jit_block_end_with_return(m->block, NULL, gcc_jit_context_zero(m->c, gcc_jit_context_get_int_type(m->c, sizeof(int), 1)));
  return good;
}

/* ---- the context ---- */

/* One segment, so that the file's bytes are the kernel's memory. */
static void set_options(ctx *c, const ldg_key *key) {
  char flags[256];
  gcc_jit_context_set_int_option(c, GCC_JIT_INT_OPTION_OPTIMIZATION_LEVEL, 2);
  gcc_jit_context_set_bool_allow_unreachable_blocks(c, 1);
  gcc_jit_context_set_bool_print_errors_to_stderr(c, 0);
  snprintf(flags, sizeof flags, "%s", key->level->march);
  for (char *f = strtok(flags, " "); f; f = strtok(NULL, " ")) gcc_jit_context_add_command_line_option(c, f);
  gcc_jit_context_add_command_line_option(c, "-fno-tree-loop-distribute-patterns"); /* calls to memcpy would need the linker */
  gcc_jit_context_add_command_line_option(c, "-fno-stack-protector");
  gcc_jit_context_add_command_line_option(c, "-fno-strict-aliasing"); /* listed destinations may meet, in fields of different widths */
  gcc_jit_context_add_command_line_option(c, "-fno-tree-scev-cprop");
  gcc_jit_context_add_driver_option(c, "-nostdlib");
  gcc_jit_context_add_driver_option(c, "-Wl,-z,noseparate-code,--hash-style=gnu,--build-id=none");
}

const char *emit_kernel(const ldg_key *key, ldg_cut_way way, const char *symbol, const char *object, const char *dump) {
  static char why[256];
  char path[4200];
  maker m = { .c = gcc_jit_context_acquire(), .key = key, .way = way };
  if (!m.c) return "libgccjit does not start";
  set_options(m.c, key);
  bool good = emit(&m, symbol);
  if (good && dump) {
    snprintf(path, sizeof path, "%s.txt", dump);
    gcc_jit_context_dump_to_file(m.c, path, 0);
    snprintf(path, sizeof path, "%s.c", dump);
    gcc_jit_context_dump_reproducer_to_file(m.c, path);
  }
  if (good) gcc_jit_context_compile_to_file(m.c, GCC_JIT_OUTPUT_KIND_DYNAMIC_LIBRARY, object);
  const char *error = good ? gcc_jit_context_get_first_error(m.c) : "it does not fit into a kernel";
  if (error) snprintf(why, sizeof why, "%s", error);
  gcc_jit_context_release(m.c);
  return error ? why : NULL;
}
