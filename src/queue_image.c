/* The image of a tree: what a kernel reads to find any byte, as long as the description. */
#include "queue.h"

#include "base_inverse.h"

_Static_assert((int)LDG_IMAGE_BYTES == (int)LDG_BYTES && (int)LDG_IMAGE_JOIN == (int)LDG_JOIN, "an image names kinds as a rep does");

ldg_divisor ldg_queue_divisor(int64_t n, bool narrow) {
  if (n <= 1) return (ldg_divisor){ 1, 0, 0 };
  const ldg_inverse i = ldg_inverse_of(n, narrow ? 31 : 63);
  return (ldg_divisor){ n, i.by, i.shift - 1 };
}

int64_t ldg_queue_image_words(const ldg_rep *r) {
  int64_t words = LDG_IMAGE_NODE_WORDS + (r->at ? r->n : 0) + (r->psum ? r->n + 1 : 0) + (r->kids ? r->n : 0);
  if (r->child) words += ldg_queue_image_words(r->child);
  for (int64_t i = 0; r->kids && i < r->n; i++) words += ldg_queue_image_words(r->kids[i]);
  return words;
}

typedef struct page { int64_t *words, used; } page;

static int64_t take(page *p, int64_t n) { return (p->used += n) - n; }

static int64_t list(page *p, const int64_t *from, int64_t n) {
  if (!from) return 0;
  const int64_t at = take(p, n);
  memcpy(p->words + at, from, (size_t)n * sizeof *from);
  return at;
}

static int64_t write(page *p, const ldg_rep *r) {
  const int64_t at = take(p, LDG_IMAGE_NODE_WORDS);
  ldg_image_node node = { .kind = r->kind, .n = r->n, .stride = r->stride };
  node.each = ldg_queue_divisor(r->child ? r->child->size : 1, false);
  node.at = list(p, r->at, r->n), node.psum = list(p, r->psum, r->n + 1);
  node.kids = r->kids ? take(p, r->n) : 0;
  for (int64_t i = 0; r->kids && i < r->n; i++) p->words[node.kids + i] = write(p, r->kids[i]);
  if (r->child) node.child = write(p, r->child);
  memcpy(p->words + at, &node, sizeof node);
  return at;
}

void ldg_queue_image_write(const ldg_rep *r, int64_t *words) {
  page p = { words, 0 };
  write(&p, r);
}
