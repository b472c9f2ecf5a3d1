/* Items of a few fields each, as structs have them, and rows, and planes, of a few blocks. Field by field each line would be come back to for each of its fields, and a call take as long as some items; row by row to find out how
 * many blocks are left takes as long as to move them. So they are moved item by item, in words of up to 16 bytes, six of which have a kernel for their lengths; of more, or where their order matters, there are groups, which take turns over
 * tiles that the first cache holds. And so is one item of up to six words. */
#include "fields.h"
#include "kernels.h"

#include "base_model.h"
#include "cost.h"
#include "loops.h"
#include "paced.h"
#include "pieces.h"
#include "trial.h"

#include <math.h>
#include <stdlib.h>

enum { LINE = 64, RUN_MOST = 64, WORD_MOST = 16, GROUPS_MOST = 3, WORDS_MOST = GROUPS_MOST * LDG_FIELD_WORDS, TILE = 16 << 10 /* bytes, on both sides */, ITEMS_FEW = 16, WORDS_UNSAVED = 4 /* places of so many are in registers that a kernel need not save */ };

/* ---- words ---- */

typedef struct cut { ldg_cut_word w[WORDS_MOST]; int n, inner; int64_t moved, touched[2]; } cut; /* its inner dims; bytes of an item: of its fields, and of their lines on either side */

static bool cut_run(cut *c, const ldg_field *r) {
  const int words = r->len > RUN_MOST ? -1 : ldg_words_of(r, WORD_MOST, c->w + c->n, WORDS_MOST - c->n);
  c->n += ldg_max(words, 0);
  return words >= 0;
}

static ldg_dim items_of(const ldg_nest *n, const cut *c) { return n->nd > 1 ? n->dim[c->inner] : (ldg_dim){ 1, 0, 0 }; }
static bool writes_gaps(const ldg_nest *n) { return n->at ? n->list == LDG_LIST_DST : n->dim[0].dst != n->block; }

/* Of the next run: what lies between it and the last one is of the same lines if it is less than a line. */
static int64_t lines_of(const ldg_field *last, int64_t end, int64_t at, int64_t len) {
  const bool near = last->len && at >= end && at - end < LINE;
  return len + (near ? at - end : LINE - 1);
}
static void add_lines(cut *c, const ldg_field *last, const ldg_field *r) {
  c->moved += r->len;
  c->touched[LDG_MODEL_READ] += lines_of(last, last->src + last->len, r->src, r->len), c->touched[LDG_MODEL_WRITE] += lines_of(last, last->dst + last->len, r->dst, r->len);
}
static bool cut_inner(const ldg_nest *n, int inner, cut *c) {
  ldg_field f[LDG_RUNS_FEW];
  const int runs = ldg_runs_of(n, inner, f);
  c->n = 0, c->inner = inner, c->moved = c->touched[0] = c->touched[1] = 0;
  for (int i = 0; i < runs; i++) {
    if (!ldg_run_is_near(f[i].src) || !ldg_run_is_near(f[i].dst) || !cut_run(c, &f[i])) return false;
    add_lines(c, i ? &f[i - 1] : &(ldg_field){ 0, 0, 0 }, &f[i]);
  }
  return runs > 0;
}

/* ---- which items ---- */

/* Lines of few sets of the first cache come and go at a pace of their own on some processors, and slower where the processor is ahead of that: of two sets, or if they are
 * written two for each line of an item (60 rows of two blocks of 4 bytes, 100 apart: 2 KiB apart packed 75 ns block by block, 140 so, 1 KiB apart unpacked 86 and 141, packed 84 and 52; Zen 4). Of lists it is those that are
 * written in one window (4 KiB apart 0.5 times as fast as by shuffles; others are faster, also so: four fields in four lines 1.1 to 1.4 times, in columns). */
enum { FEW_SETS = 2 };
static bool meet(const ldg_nest *n, const cut *c) {
  const int lines = c->touched[LDG_MODEL_WRITE] < 2 * LINE ? 1 : 2;
  if (ldg_model_count(LDG_MODEL_PACE) == 0) return false;
  if (n->at) return lines == 1 && writes_gaps(n) && n->dim[1].dst && ldg_paced_sets(n->dim[1].dst) <= FEW_SETS;
  for (int k = 1; k <= c->inner; k++) { /* rows of a plane, too, as they were refused before planes were items; not measured */
    const ldg_dim d = n->dim[k];
    if ((d.src && ldg_paced_sets(d.src) <= FEW_SETS) || (d.dst && ldg_paced_sets(d.dst) <= FEW_SETS * lines)) return true;
  }
  return false;
}

static bool are_far(const ldg_nest *n, const cut *c) { return !ldg_run_is_near(items_of(n, c).src) || !ldg_run_is_near(items_of(n, c).dst); }

/* Of planes of more words than a kernel has there are groups, if the first cache holds all their lines, so that there is nothing to be found out about them, and if these are entered less often than their rows. */
static bool by_groups(const ldg_nest *n, const cut *c) {
  double planes = 1;
  for (int k = 2; k < n->nd; k++) planes *= (double)n->dim[k].n;
  return !n->any && n->dim[2].n > GROUPS_MOST && (double)(c->touched[LDG_MODEL_READ] + c->touched[LDG_MODEL_WRITE]) * planes <= ldg_model_footprint(LDG_MODEL_L1);
}
static bool is_plane(const ldg_nest *n, cut *c) {
  if (n->at || n->nd < 3 || n->dim[1].n > WORDS_MOST / ldg_max(n->dim[0].n, 1) || !cut_inner(n, 2, c)) return false;
  return (c->n <= LDG_FIELD_WORDS || by_groups(n, c)) && !are_far(n, c) && !meet(n, c);
}
/* An item is a plane of strided blocks that has a dim around it, else what is innermost. */
static bool cut_item(const ldg_nest *n, cut *c) { return is_plane(n, c) || cut_inner(n, 1, c); }

const char *ldg_fields_why_not(const ldg_nest *n) {
  cut c;
  if (n->nd < 2 && !n->psum) return "no loop around fields, and not one item of several lengths";
  if (n->at2) return "both sides are listed";
  if (n->ordered) return "destination bytes may coincide, so stream order must be kept";
  if (n->nd < 2) return cut_item(n, &c) && c.n <= LDG_FIELD_WORDS ? NULL : "one item of more than 6 words of 16 bytes, or of fields that are long, or far";
  if (!n->at && (n->dim[0].n > (n->nd > 2 ? WORDS_MOST : LDG_FIELD_WORDS) || n->block > WORD_MOST)) return "more than 6 blocks, in planes 18, or of more than 16 bytes";
  if (!cut_item(n, &c)) return "nothing in it, more than 18 words of 16 bytes, a field of more than 64, or one that is far";
  if (are_far(n, &c)) return "items are more than 512 MiB apart";
  if (!n->at && c.inner == 1 && c.n > LDG_FIELD_WORDS) return "rows, or blocks, of more than 6 words";
  return meet(n, &c) ? "its lines meet in few sets of the cache, and this machine minds" : NULL;
}

/* Stores that go on in one line are faster than those that change lines (four fields in two lines and more, unpacked: 1.13 times in the mean), so words that are written with gaps keep their order where there are kernels for any: up to four,
 * and up to eight by two kernels, from as many items on as make up for the second call (five words, 30 items 41 -> 39 ns, 100 items 136 -> 113, 10 items 16 either way; Zen 4). */
static bool is_ordered(const ldg_nest *n, const cut *c) { return n->at && writes_gaps(n) && c->n <= 2 * LDG_FIELD_ORDERED; }

/* Each kernel that is entered is one more call, once for each loop over items: what it saves for its caller takes as long (3 rows of 5 blocks packed 6.9 ns block by block, 8.6 so; Zen 4). Words are stored one by one; lines that the
 * first cache does not hold take as long as a memcpy that touches as many, if that is longer. Items may share lines. Of one item as many words as runs take about as long as under masks (pieces.c), out of cache 0.7 of it. */
static int groups_of(const ldg_nest *n, const cut *c) {
  if (c->n <= LDG_FIELD_WORDS && (items_of(n, c).n < ITEMS_FEW || !is_ordered(n, c))) return 1;
  const int most = is_ordered(n, c) ? LDG_FIELD_ORDERED : LDG_FIELD_WORDS;
  return (c->n + most - 1) / most;
}
double ldg_fields_cost(const ldg_nest *n) {
  cut c;
  double entered = 1;
  cut_item(n, &c);
  const double each = ldg_model_block(LDG_MODEL_WRITE, LDG_MODEL_LINE, WORD_MOST / 2, 0);
  if (n->nd < 2) return ldg_model_ns(LDG_MODEL_CALL) + (1.4 * (double)c.n + 0.8) * each;
  for (int k = c.inner + 1; k < n->nd; k++) entered *= (double)n->dim[k].n;
  const int side = writes_gaps(n) ? LDG_MODEL_WRITE : LDG_MODEL_READ;
  const ldg_dim d = items_of(n, &c);
  const double items = entered * (double)d.n, apart = fabs((double)(side == LDG_MODEL_WRITE ? d.dst : d.src)), touched = (double)c.touched[side];
  const double bytes = items * ((apart < touched ? apart : touched) + (double)c.moved), words = (double)c.n * items * each;
  const double lines = bytes > ldg_model_footprint(LDG_MODEL_L1) ? ldg_model_copy(bytes < 0x1p62 ? (int64_t)bytes / 2 : (int64_t)1 << 62) : 0;
  const bool at_once = !n->at && n->nd == 2 && c.n <= WORDS_UNSAVED; /* the job is that kernel (bench/README.md, "Rows of a few blocks") */
  return (at_once ? 1 : 1 + entered * groups_of(n, &c)) * ldg_model_ns(LDG_MODEL_CALL) + (words > lines ? words : lines);
}

/* ---- kernels ---- */

typedef struct group { ldg_field_group go; ldg_run *run; } group;
/* All words by one kernel, where there is one, and by groups. Where one kernel moves blocks that are not listed, kernels that ask have their part of job->own, and trials all from `tile` on: then there are no groups. */
typedef struct fields { ldg_field_group all; ldg_asked asked; ldg_run *run; int64_t tile; int inner, groups; group group[GROUPS_MOST]; } fields;
_Static_assert(sizeof(ldg_field_group) <= LDG_ASKED_AT && offsetof(fields, run) >= LDG_ASKED_AT + sizeof(ldg_asked), "kernels that ask find theirs between");
_Static_assert(offsetof(fields, tile) <= LDG_TRIAL_OWN && sizeof(fields) <= sizeof ((ldg_job *)NULL)->own, "what fields go by fits into a job");
static const fields *fields_of(const ldg_job *j) { return (const fields *)(const void *)j->own; }

static int by_words(const void *a, const void *b) { return memcmp(((const ldg_field_kernel *)a)->word, ((const ldg_field_kernel *)b)->word, LDG_FIELD_WORDS); }
static ldg_run *kernel_of(const ldg_cut_word *w, int n) {
  ldg_field_kernel like = { { 0 }, NULL };
  for (int i = 0; i < n; i++) like.word[i] = (unsigned char)w[i].len;
  return ((const ldg_field_kernel *)bsearch(&like, ldg_field_kernels, ldg_field_kernel_count, sizeof like, by_words))->run;
}
static void sort_words(ldg_cut_word *w, int n) {
  for (int i = 1; i < n; i++)
    for (int k = i; k > 0 && w[k].len > w[k - 1].len; k--) {
      const ldg_cut_word swap = w[k];
      w[k] = w[k - 1], w[k - 1] = swap;
    }
}
static void fill(group *g, ldg_dim items, const ldg_cut_word *w, int n) {
  *g = (group){ { (int32_t)items.src, (int32_t)items.dst, { w[0].src, w[0].dst } }, kernel_of(w, n) };
  for (int i = 1; i < n; i++) g->go.at[2 * i] = w[i].src - w[0].src, g->go.at[2 * i + 1] = w[i].dst - w[0].dst;
}

/* By the job whose first group it would be; of that the kernel sees nothing else. */
LDG_INLINE int run_group(const group *g, const char *src, char *dst, int64_t n) {
  return g->run((const ldg_job *)(const void *)((const char *)&g->go - offsetof(ldg_job, own)), src, dst, 0, n);
}
static int run_tiles(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) {
  const fields *f = fields_of(j);
  const ldg_dim *d = &j->nest.dim[f->inner];
  for (int64_t some; n > 0; n -= some, src += some * d->src, dst += some * d->dst) {
    some = ldg_min(n, f->tile);
    for (int k = 0; k < f->groups; k++) run_group(&f->group[k], src, dst, some);
  }
  (void)i0;
  return LADING_OK;
}
static int run_either(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) {
  return (n < ITEMS_FEW ? fields_of(j)->run : run_tiles)(j, src, dst, i0, n);
}
static ldg_run *run_of(const ldg_job *j) {
  const fields *f = fields_of(j);
  if (!j->nest.at) return f->run ? f->run : run_tiles;
  return f->groups == 1 ? f->run : f->run ? run_either : run_tiles;
}
static int run_loops(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) {
  ldg_loops(j, run_of(j), 1, j->nest.nd - 1, src, dst, n);
  (void)i0;
  return LADING_OK;
}
static int run_planes(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) {
  ldg_loops(j, run_of(j), 2, j->nest.nd - 1, src, dst, n);
  (void)i0;
  return LADING_OK;
}

static void fill_some(group *g, const ldg_nest *n, ldg_dim items, const ldg_cut_word *from, int words) {
  ldg_cut_word w[LDG_FIELD_WORDS];
  memcpy(w, from, (size_t)words * sizeof *w);
  if (!writes_gaps(n) || words > LDG_FIELD_ORDERED) sort_words(w, words);
  fill(g, items, w, words);
}
/* As many words in each group, or one more in some. */
static int fill_groups(group *g, const ldg_nest *n, const cut *c) {
  const int groups = groups_of(n, c);
  for (int k = 0; k < groups; k++) {
    const int from = k * c->n / groups;
    fill_some(&g[k], n, items_of(n, c), c->w + from, (k + 1) * c->n / groups - from);
  }
  return groups;
}

bool ldg_fields_prepare(ldg_job *j) {
  const ldg_nest *n = &j->nest;
  fields *f = (fields *)(void *)j->own;
  group all = { { 0 }, NULL };
  cut c;
  cut_item(n, &c);
  if (c.n <= LDG_FIELD_WORDS) fill_some(&all, n, items_of(n, &c), c.w, c.n);
  f->all = all.go, f->run = all.run;
  const bool groups = n->at || !f->run;
  if (groups) f->inner = c.inner, f->groups = fill_groups(f->group, n, &c), f->tile = ldg_max(TILE / (c.touched[LDG_MODEL_READ] + c.touched[LDG_MODEL_WRITE]), 8);
  j->run = n->nd == c.inner + 1 ? run_of(j) : c.inner == 1 ? run_loops : run_planes;
  return !groups;
}

ldg_run *ldg_fields_of_list(const ldg_nest *n, ldg_field_group *g) {
  group all;
  cut c;
  if (n->nd != 2 || !n->at || ldg_fields_why_not(n) || !cut_item(n, &c) || c.n > LDG_FIELD_WORDS) return NULL;
  fill_some(&all, n, items_of(n, &c), c.w, c.n), *g = all.go;
  return all.run;
}

/* ---- one item ---- */

/* What parts of it go by comes first, as they look for it there. */
typedef struct item { ldg_long long_; ldg_run *part; group group; } item;
_Static_assert(sizeof(item) <= sizeof ((ldg_job *)NULL)->own, "what an item goes by fits into a job");

static int run_item(const ldg_job *j, const char *src, char *dst, int64_t i0, int64_t n) {
  const item *t = (const item *)(const void *)j->own;
  return n == j->nest.dim[0].n ? run_group(&t->group, src, dst, 1) : t->part(j, src, dst, i0, n);
}
void ldg_fields_prepare_item(ldg_job *j, const ldg_job *part) {
  item *t = (item *)(void *)j->own;
  cut c;
  memcpy(&t->long_, part->own, sizeof t->long_), t->part = part->run;
  cut_item(&j->nest, &c), fill_some(&t->group, &j->nest, items_of(&j->nest, &c), c.w, c.n);
  j->run = run_item;
}
