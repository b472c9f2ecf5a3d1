/* Images: what a kernel reads to find any byte. That of a tree is as long as the description; that of a small layout is flat, the places of its words. */
#include "queue.h"

#include "base_inverse.h"

_Static_assert((int)LDG_IMAGE_BYTES == (int)LDG_BYTES && (int)LDG_IMAGE_JOIN == (int)LDG_JOIN, "an image names kinds as a rep does");

ldg_divisor ldg_queue_divisor(int64_t n, bool narrow) {
  if (n <= 1) return (ldg_divisor){ 1, 0, 0 };
  const ldg_inverse i = ldg_inverse_of(n, narrow ? 31 : 63);
  return (ldg_divisor){ n, i.by, i.shift - 1 };
}

/* The index has at most as many entries as the list it is of. */
static int64_t shift_of(const ldg_rep *r) {
  int64_t shift = 0;
  while ((r->size - 1) >> shift >= r->n) shift++;
  return shift;
}
static int64_t index_words(const ldg_rep *r) { return ((r->size - 1) >> shift_of(r)) + 2; }

static bool is_bytes(const ldg_rep *r) { return r->kind == LDG_BYTES; }
static int64_t node_words(const ldg_rep *r) { return is_bytes(r) ? 0 : ldg_queue_image_words(r); }

int64_t ldg_queue_image_words(const ldg_rep *r) {
  int64_t words = LDG_IMAGE_NODE_WORDS + (r->psum ? 2 * r->n + index_words(r) : r->at ? r->n : 0) + (r->kids ? r->n : 0);
  if (r->child) words += node_words(r->child);
  for (int64_t i = 0; r->kids && i < r->n; i++) words += node_words(r->kids[i]);
  return words;
}

typedef struct page { int64_t *words, used; } page;

static int64_t take(page *p, int64_t n) { return (p->used += n) - n; }

static int64_t write_places(page *p, const ldg_rep *r) {
  const int64_t at = take(p, r->n);
  memcpy(p->words + at, r->at, (size_t)r->n * sizeof *r->at);
  return at;
}

static int64_t write_pairs(page *p, const ldg_rep *r) {
  const int64_t at = take(p, 2 * r->n);
  for (int64_t i = 0; i < r->n; i++) p->words[at + 2 * i] = r->psum[i], p->words[at + 2 * i + 1] = r->at[i];
  return at;
}

static int64_t write_index(page *p, const ldg_rep *r, int64_t shift) {
  const int64_t n = index_words(r), at = take(p, n);
  for (int64_t b = 0, i = 0; b < n; p->words[at + b++] = i)
    while (i + 1 < r->n && (uint64_t)r->psum[i + 1] <= (uint64_t)b << shift) i++;
  return at;
}

static int64_t write_node(page *p, const ldg_rep *r);
static int64_t write(page *p, const ldg_rep *r) { return is_bytes(r) ? 0 : write_node(p, r); }

static int64_t write_node(page *p, const ldg_rep *r) {
  const int64_t at = take(p, LDG_IMAGE_NODE_WORDS);
  ldg_image_node node = { .kind = r->kind, .stride = r->stride };
  node.each = ldg_queue_divisor(r->child ? r->child->size : 1, false);
  if (r->psum) node.shift = shift_of(r), node.pairs = write_pairs(p, r), node.index = write_index(p, r, node.shift);
  else if (r->at) node.at = write_places(p, r);
  node.kids = r->kids ? take(p, r->n) : 0;
  for (int64_t i = 0; r->kids && i < r->n; i++) p->words[node.kids + i] = write(p, r->kids[i]);
  if (r->child) node.child = write(p, r->child);
  memcpy(p->words + at, &node, sizeof node);
  return at;
}

void ldg_queue_image_write(const ldg_rep *r, int64_t *words) {
  page p = { words, 0 };
  write_node(&p, r);
}

/* ---- flat ---- */

/* So many are written once, in 0.02 to 0.4 ms, and an H200 finds them 0.4 to 2.3 us sooner a launch than by a tree (../bench/README.md). */
int64_t ldg_queue_flat_most = 1 << 16;

static int64_t flat_places(const ldg_layout *l) { return l->rep->size / ldg_layout_grain(l); }

bool ldg_queue_is_flat(const ldg_layout *l) {
  const ldg_rep *r = ldg_rep_body(l->rep);
  const int64_t words = r->kind == LDG_BLOCKS && ldg_queue_flat_most ? r->n * (r->psum ? 2 : 1) : 0; /* as long as its lists are anyway */
  return r->kind != LDG_BYTES /* which has no places */ && r->size <= UINT32_MAX && r->lo >= INT32_MIN && r->hi <= INT32_MAX && flat_places(l) <= ldg_max(ldg_queue_flat_most, 2 * words);
}

bool ldg_queue_is_flat_side(const ldg_plan *p, const ldg_side *s, int64_t hi) {
  if (hi > INT32_MAX) return false;
  if (ldg_side_is_run(s)) return true;
  const bool near = s->count == 1 || s->extent == (int32_t)s->extent;
  return near && (ldg_rep_body(s->rep)->kind == LDG_BYTES || ldg_queue_is_flat(p->layout));
}

int64_t ldg_queue_flat_words(const ldg_layout *l) { return LDG_IMAGE_NODE_WORDS + (flat_places(l) + 1) / 2; }

/* By runs, which the grain divides; pieces of them it need not. */
void ldg_queue_flat_write(const ldg_layout *l, int64_t *words) {
  const int64_t grain = ldg_layout_grain(l);
  const ldg_image_node root = { .kind = LDG_IMAGE_FLAT, .at = LDG_IMAGE_NODE_WORDS, .shift = __builtin_ctzll((uint64_t)grain) };
  int32_t *place = (int32_t *)(words + root.at), *const end = place + flat_places(l);
  memcpy(words, &root, sizeof root);
  words[ldg_queue_flat_words(l) - 1] = 0; /* of which half may be no place */
  ldg_cursor c;
  int64_t off, len;
  ldg_cursor_seek(&c, ldg_rep_body(l->rep), 0);
  while (ldg_cursor_run(&c, &off, &len))
    for (int64_t k = 0; k < len && place < end; k += grain) *place++ = (int32_t)(off + k);
}
