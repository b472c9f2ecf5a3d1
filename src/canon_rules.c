/* canon_rules: the table of rules, the rules that look at a node and its children only, and the loop that applies them.
 * Each returns 1 and *out when it fired, 0 when it has nothing to say, or a negative error. */
#include "canon_rules.h"

static int finish(int rc) {
  return rc ? rc : 1;
}

static int give(const ldg_rep *r, const ldg_rep **out) {
  *out = ldg_rep_ref(r);
  return 1;
}

/* ---- any kind -------------------------------------------------------------------------------------------------------- */

static int once(ldg_canon_ctx *x, const ldg_rep *v, const ldg_rep **out) {
  if (v->n != 1) return 0;
  if (v->kids) return give(v->kids[0], out);
  if (!v->cnt) return give(v->child, out);
  ldg_rep entry = ldg_view_repeat(v->cnt[0], v->stride, v->child);
  return finish(ldg_canon_node(x, &entry, out));
}

/* ---- repeat ---------------------------------------------------------------------------------------------------------- */

static int dense(ldg_canon_ctx *x, const ldg_rep *v, const ldg_rep **out) {
  int64_t n;
  (void)x;
  if (v->child->kind != LDG_BYTES || v->stride != v->child->n || ldg_mul(v->n, v->child->n, &n)) return 0;
  return finish(ldg_rep_bytes(n, out));
}

static int merge(ldg_canon_ctx *x, const ldg_rep *v, const ldg_rep **out) {
  const ldg_rep *k = v->child;
  int64_t span, n;
  if (k->kind != LDG_REPEAT || ldg_mul(k->n, k->stride, &span) || span != v->stride || ldg_mul(v->n, k->n, &n)) return 0;
  ldg_rep all = ldg_view_repeat(n, k->stride, k->child);
  return finish(ldg_canon_node(x, &all, out));
}

/* ---- blocks ---------------------------------------------------------------------------------------------------------- */

static int single(ldg_canon_ctx *x, const ldg_rep *v, const ldg_rep **out) {
  if (!v->cnt) return 0;
  for (int64_t i = 1; i < v->n; i++)
    if (v->cnt[i] != v->cnt[0]) return 0;
  ldg_rep entry = ldg_view_repeat(v->cnt[0], v->stride, v->child);
  const ldg_rep *child;
  int rc = ldg_canon_node(x, &entry, &child);
  if (rc) return rc;
  ldg_rep list = ldg_view_blocks(v->n, v->at, NULL, 0, child);
  rc = ldg_canon_node(x, &list, out);
  ldg_rep_free(child);
  return finish(rc);
}

static int counted(ldg_canon_ctx *x, const ldg_rep *v, const ldg_rep **out) {
  if (!v->cnt || v->child->kind != LDG_BYTES || v->stride != v->child->n || v->stride == 1) return 0;
  int64_t *cnt = ldg_alloc(8 * v->n);
  if (!cnt) return LADING_ERR_NOMEM;
  for (int64_t i = 0; i < v->n; i++) cnt[i] = v->cnt[i] * v->stride; /* <= size */
  ldg_rep bytes = ldg_view_blocks(v->n, v->at, cnt, 1, &ldg_rep_one_byte);
  int rc = ldg_canon_node(x, &bytes, out);
  ldg_free(cnt);
  return finish(rc);
}

static int64_t entry_length(const ldg_rep *v, int64_t i) {
  return v->cnt ? (int64_t)((uint64_t)v->cnt[i] * (uint64_t)v->stride) : v->child->n;
}

static bool goes_on(const ldg_rep *v, int64_t i) {
  return ldg_gap(v->at, i, i + 1) == entry_length(v, i);
}

/* Entries that go on where the one before ends, as counted entries. at[] and cnt[] have room for all. */
static int64_t melt(const ldg_rep *v, int64_t *at, int64_t *cnt) {
  int64_t n = 0;
  for (int64_t i = 0; i < v->n; i++) {
    int64_t c = v->cnt ? v->cnt[i] : v->child->n;
    if (i > 0 && goes_on(v, i - 1)) {
      cnt[n - 1] += c;
    } else {
      at[n] = v->at[i];
      cnt[n++] = c;
    }
  }
  return n;
}

/* Would runs be cut into these entries again? Their lengths have no common factor then. */
static bool are_atoms(const ldg_rep *v, int64_t runs) {
  int64_t common = 0, in_long = 0;
  for (int64_t i = 0, j; i < v->n; i = j) {
    for (j = i + 1; j < v->n && goes_on(v, j - 1); j++) { }
    common = ldg_gcd(j - i, common), in_long += ldg_canon_if_long(j - i);
  }
  return common == 1 && ldg_canon_in_atoms(v->n, runs, v->child->n, in_long);
}

/* A uniform list in which few neighbours touch stays uniform, since that is what runs fast: the same measures by which
 * ldg_canon_stretches cuts runs into atoms. */
static int touch_blocks(ldg_canon_ctx *x, const ldg_rep *v, const ldg_rep **out) {
  int64_t touches = 0;
  if (x->merged || (!v->cnt && v->child->kind != LDG_BYTES)) return 0;
  for (int64_t i = 0; i + 1 < v->n; i++) touches += goes_on(v, i);
  int64_t runs = v->n - touches;
  if (v->cnt ? !touches : ldg_canon_few_touch(v->n, runs)) return 0;
  if (!v->cnt && are_atoms(v, runs)) return 0;
  int64_t *at = ldg_alloc(16 * v->n);
  if (!at) return LADING_ERR_NOMEM;
  int64_t *cnt = at + v->n, n = melt(v, at, cnt);
  ldg_rep list = v->cnt ? ldg_view_blocks(n, at, cnt, v->stride, v->child) : ldg_view_blocks(n, at, cnt, 1, &ldg_rep_one_byte);
  int rc = ldg_canon_node(x, &list, out);
  ldg_free(at);
  return finish(rc);
}

static int constant(ldg_canon_ctx *x, const ldg_rep *v, const ldg_rep **out) {
  if (v->cnt || v->n < 2) return 0;
  int64_t stride = ldg_gap(v->at, 0, 1);
  for (int64_t i = 2; i < v->n; i++)
    if (ldg_gap(v->at, i - 1, i) != stride) return 0;
  ldg_rep loop = ldg_view_repeat(v->n, stride, v->child);
  return finish(ldg_canon_node(x, &loop, out));
}

/* ---- join ------------------------------------------------------------------------------------------------------------ */

/* Copying the entries of a kid undoes its sharing, and again at every level above: so only few of them are copied. */
enum { SPLICED_KID = 4, SPLICED_JOIN = 32 };

/* Kids with at most so many entries are spliced: all of them when the result is small. */
static int64_t spliced_most(const ldg_rep *v) {
  int64_t n = 0;
  for (int64_t i = 0; i < v->n && n <= SPLICED_JOIN; i++) n += v->kids[i]->kind == LDG_JOIN ? v->kids[i]->n : 1;
  return n <= SPLICED_JOIN ? SPLICED_JOIN : SPLICED_KID;
}

static bool is_spliced(const ldg_rep *k, int64_t most) {
  return k->kind == LDG_JOIN && k->n <= most;
}

static int64_t spliced_entries(const ldg_rep *v, int64_t most) {
  int64_t n = 0;
  for (int64_t i = 0; i < v->n; i++) n += is_spliced(v->kids[i], most) ? v->kids[i]->n : 1;
  return n;
}

static void splice_into(const ldg_rep *v, int64_t most, int64_t *at, const ldg_rep **kids) {
  int64_t n = 0;
  for (int64_t i = 0; i < v->n; i++) {
    const ldg_rep *k = v->kids[i];
    const bool open = is_spliced(k, most);
    int64_t zero = 0, count = open ? k->n : 1;
    const int64_t *from = open ? k->at : &zero;
    const ldg_rep *const *grand = open ? k->kids : &v->kids[i];
    for (int64_t j = 0; j < count; j++, n++) {
      at[n] = ldg_rep_move(v->at[i], from[j]);
      kids[n] = grand[j];
    }
  }
}

static int splice(ldg_canon_ctx *x, const ldg_rep *v, const ldg_rep **out) {
  const int64_t most = spliced_most(v), n = spliced_entries(v, most);
  if (n == v->n || n > LDG_NODES_MAX) return 0;
  int64_t *at = ldg_alloc(16 * n);
  if (!at) return LADING_ERR_NOMEM;
  const ldg_rep **kids = (const ldg_rep **)(at + n);
  splice_into(v, most, at, kids);
  ldg_rep flat = ldg_view_join(n, at, kids);
  int rc = ldg_canon_node(x, &flat, out);
  ldg_free(at);
  return finish(rc);
}

/* Two neighbours as one item: 1 and *c (unless NULL), 0, or an error. */
typedef int combine(ldg_canon_item a, ldg_canon_item b, ldg_canon_item *c);

static int touching(ldg_canon_item a, ldg_canon_item b, ldg_canon_item *c) {
  if (a.rep->kind != LDG_BYTES || b.rep->kind != LDG_BYTES || ldg_rep_move(a.at, a.rep->n) != b.at) return 0;
  if (!c) return 1;
  c->at = a.at;
  return finish(ldg_rep_bytes(a.rep->n + b.rep->n, &c->rep));
}

/* How many iterations of (stride, child) the item is; 0 when it is none. */
static int64_t iterations(const ldg_rep *r, int64_t stride, const ldg_rep *child) {
  if (r->kind == LDG_REPEAT && r->stride == stride && ldg_rep_equal(r->child, child)) return r->n;
  return ldg_rep_equal(r, child) ? 1 : 0;
}

static int continuing(ldg_canon_item a, ldg_canon_item b, ldg_canon_item *c) {
  const ldg_rep *loop = a.rep->kind == LDG_REPEAT ? a.rep : b.rep;
  if (loop->kind != LDG_REPEAT) return 0;
  int64_t na = iterations(a.rep, loop->stride, loop->child), nb = iterations(b.rep, loop->stride, loop->child);
  if ((!na || !nb) && a.rep->kind == LDG_REPEAT && b.rep->kind == LDG_REPEAT) { /* one may be the other's child */
    loop = b.rep;
    na = iterations(a.rep, loop->stride, loop->child);
    nb = loop->n;
  }
  if (!na || !nb || b.at != (int64_t)((uint64_t)a.at + (uint64_t)na * (uint64_t)loop->stride)) return 0;
  if (!c) return 1;
  c->at = a.at;
  return finish(ldg_rep_repeat(na + nb, loop->stride, loop->child, &c->rep));
}

static ldg_canon_item entry(const ldg_rep *v, int64_t i) {
  return (ldg_canon_item){ v->at[i], v->kids[i] };
}

static bool any_pair(const ldg_rep *v, combine *two) {
  for (int64_t i = 0; i + 1 < v->n; i++)
    if (two(entry(v, i), entry(v, i + 1), NULL)) return true;
  return false;
}

/* Left to right, each entry into what stands before it as long as it goes. at[] and kids[] take the result, with one
 * reference of each kid; *n of them, also on an error. */
static int fold_into(const ldg_rep *v, combine *two, int64_t *at, const ldg_rep **kids, int64_t *n) {
  for (int64_t i = 0; i < v->n; i++) {
    ldg_canon_item now = { v->at[i], ldg_rep_ref(v->kids[i]) }, both;
    int rc = 0;
    while (*n > 0 && (rc = two((ldg_canon_item){ at[*n - 1], kids[*n - 1] }, now, &both)) == 1) {
      ldg_rep_free(kids[--*n]);
      ldg_rep_free(now.rep);
      now = both;
    }
    at[*n] = now.at;
    kids[(*n)++] = now.rep;
    if (rc < 0) return rc;
  }
  return LADING_OK;
}

static int fold(ldg_canon_ctx *x, const ldg_rep *v, combine *two, const ldg_rep **out) {
  if (!any_pair(v, two)) return 0;
  int64_t n = 0, *at = ldg_alloc(16 * v->n);
  if (!at) return LADING_ERR_NOMEM;
  const ldg_rep **kids = (const ldg_rep **)(at + v->n);
  int rc = fold_into(v, two, at, kids, &n);
  ldg_rep folded = ldg_view_join(n, at, kids);
  if (!rc) rc = ldg_canon_node(x, &folded, out);
  while (n > 0) ldg_rep_free(kids[--n]);
  ldg_free(at);
  return finish(rc);
}

static int touch(ldg_canon_ctx *x, const ldg_rep *v, const ldg_rep **out) {
  return v->kind == LDG_JOIN ? fold(x, v, touching, out) : touch_blocks(x, v, out);
}

static int absorb(ldg_canon_ctx *x, const ldg_rep *v, const ldg_rep **out) {
  return fold(x, v, continuing, out);
}

static int same(ldg_canon_ctx *x, const ldg_rep *v, const ldg_rep **out) {
  for (int64_t i = 1; i < v->n; i++)
    if (!ldg_alike(v, i - 1, i)) return 0;
  ldg_rep list = ldg_view_blocks(v->n, v->at, NULL, 0, v->kids[0]);
  return finish(ldg_canon_node(x, &list, out));
}

static int lengths(ldg_canon_ctx *x, const ldg_rep *v, const ldg_rep **out) {
  for (int64_t i = 0; i < v->n; i++)
    if (v->kids[i]->kind != LDG_BYTES) return 0;
  int64_t *cnt = ldg_alloc(8 * v->n);
  if (!cnt) return LADING_ERR_NOMEM;
  for (int64_t i = 0; i < v->n; i++) cnt[i] = v->kids[i]->n;
  ldg_rep list = ldg_view_blocks(v->n, v->at, cnt, 1, &ldg_rep_one_byte);
  int rc = ldg_canon_node(x, &list, out);
  ldg_free(cnt);
  return finish(rc);
}

/* ---- the table ------------------------------------------------------------------------------------------------------- */

enum { REPEAT = 1u << LDG_REPEAT, BLOCKS = 1u << LDG_BLOCKS, JOIN = 1u << LDG_JOIN };

static const ldg_canon_rule table[LDG_RULES] = {
  [LDG_RULE_EMPTY] = { "empty", "entries that hold no byte leave", BLOCKS | JOIN, NULL },
  [LDG_RULE_HOIST] = { "hoist", "offsets move up to the root: at[0] == 0", BLOCKS | JOIN, NULL },
  [LDG_RULE_ONCE] = { "once", "repeat 1 s k => k; blocks or join of one entry => its child", REPEAT | BLOCKS | JOIN, once },
  [LDG_RULE_DENSE] = { "dense", "repeat n L (bytes L) => bytes nL", REPEAT, dense },
  [LDG_RULE_MERGE] = { "merge", "repeat n m*t (repeat m t k) => repeat nm t k", REPEAT, merge },
  [LDG_RULE_SPLICE] = { "splice", "join (.. join (a b) ..) => join (.. a b ..), where few entries are copied", JOIN, splice },
  [LDG_RULE_SINGLE] = { "single", "blocks of one common count c => blocks (repeat c s k)", BLOCKS, single },
  [LDG_RULE_COUNTED] = { "counted", "blocks of counts of (bytes L) at stride L => of counts of (bytes 1)", BLOCKS, counted },
  [LDG_RULE_TOUCH] = { "touch", "neighbours that touch in the stream and in memory => one", BLOCKS | JOIN, touch },
  [LDG_RULE_ABSORB] = { "absorb", "repeat n s k, then k where iteration n would be => repeat n+1 s k; likewise before", JOIN, absorb },
  [LDG_RULE_SAME] = { "same", "join of equal children => blocks", JOIN, same },
  [LDG_RULE_LENGTHS] = { "lengths", "join of bytes => blocks of counts of (bytes 1)", JOIN, lengths },
  [LDG_RULE_CONSTANT] = { "constant", "blocks at 0, d, 2d ... => repeat n d", BLOCKS, constant },
  [LDG_RULE_PROGRESSIONS] = { "progressions", "blocks that are nearly all progressions => blocks of counts of one stride", BLOCKS,
                               ldg_canon_progressions },
  [LDG_RULE_TANDEM] = { "tandem", "a list that repeats itself => repeat of its period", BLOCKS | JOIN, ldg_canon_tandem },
  [LDG_RULE_SEPARABLE] = { "separable", "at[i*M+j] = u[i]+v[j] => blocks u (blocks v k)", BLOCKS | JOIN, ldg_canon_separable },
  [LDG_RULE_STRETCHES] = { "stretches", "runs of few lengths => join of uniform lists, touching pairs being two", BLOCKS,
                            ldg_canon_stretches },
  [LDG_RULE_LONG] = { "long", "long progressions in a list => repeats between lists", BLOCKS, ldg_canon_long },
  [LDG_RULE_SECTIONS] = { "sections", "parts of a list that repeat themselves => repeats between lists", BLOCKS, ldg_canon_sections },
  [LDG_RULE_GROUP] = { "group", "stretches of equal children in a join => blocks", JOIN, ldg_canon_group },
  [LDG_RULE_RUNS] = { "runs", "rebuilt from the list of its merged runs", BLOCKS | JOIN | REPEAT, NULL },
  [LDG_RULE_NEST] = { "nest", "runs that are loops around equal pieces => repeats", BLOCKS, NULL },
};
_Static_assert(LDG_RULES <= LDG_CANON_RULES_MAX, "the trace has room for every rule");

int ldg_canon_rules(const ldg_canon_rule **out) {
  *out = table;
  return LDG_RULES;
}

/* ---- validation after every rule, in checked builds -------------------------------------------------------------------- */

#if LDG_CHECKS >= 2
#include <stdio.h>
#include <stdlib.h>

enum { CHECK_BYTES = 4096 };
typedef struct seen { int64_t n, at[CHECK_BYTES]; } seen;

static int note(void *arg, int64_t off, int64_t pos, int64_t len) {
  seen *s = arg;
  (void)pos;
  for (int64_t i = 0; i < len && s->n < CHECK_BYTES; i++) s->at[s->n++] = ldg_rep_move(off, i);
  return 0;
}

static int settle(ldg_canon_ctx *x, const ldg_rep *v, const ldg_rep **out);

/* Same first 4096 bytes, same facts; a difference is a bug in the rule, and the process says which and stops. */
static void check(const ldg_rep *v, int rule, const ldg_rep *result) {
  static _Thread_local seen a, b;
  ldg_canon_ctx plain = { 0 };
  const ldg_rep *before;
  if (settle(&plain, v, &before)) return;
  a.n = b.n = 0;
  ldg_rep_walk(before, 0, ldg_min(before->size, CHECK_BYTES), note, &a);
  ldg_rep_walk(result, 0, ldg_min(result->size, CHECK_BYTES), note, &b);
  bool good = before->size == result->size && before->runs == result->runs && result->first == 0 && before->end == result->end &&
              before->lo == result->lo && before->hi == result->hi && a.n == b.n && !memcmp(a.at, b.at, (size_t)a.n * 8);
  if (good) {
    ldg_rep_free(before);
    return;
  }
  char text[2][1000];
  ldg_text t;
  const ldg_rep *both[2] = { before, result };
  for (int i = 0; i < 2; i++) {
    ldg_text_init(&t, text[i], sizeof text[i]);
    ldg_rep_print(both[i], &t);
  }
  fprintf(stderr, "lading: rule %s changed a sequence: %s => %s\n", table[rule].name, text[0], text[1]);
  exit(70);
}
#else
static void check(const ldg_rep *v, int rule, const ldg_rep *result) {
  (void)v, (void)rule, (void)result;
}
#endif

/* ---- the loop ---------------------------------------------------------------------------------------------------------- */

/* No rule fires: the node as it is, its first entry at 0. */
static int settle(ldg_canon_ctx *x, const ldg_rep *v, const ldg_rep **out) {
  if (v->kind == LDG_REPEAT && !v->refs) return ldg_rep_repeat(v->n, v->stride, v->child, out);
  if (v->refs && (!v->at || v->at[0] == 0)) {
    *out = ldg_rep_ref(v);
    return LADING_OK;
  }
  int64_t *moved = NULL;
  if (v->at[0] != 0) {
    moved = ldg_alloc(8 * v->n);
    if (!moved) return LADING_ERR_NOMEM;
    for (int64_t i = 0; i < v->n; i++) moved[i] = ldg_gap(v->at, 0, i);
    ldg_canon_fired(x, LDG_RULE_HOIST);
  }
  const int64_t *at = moved ? moved : v->at;
  int rc = v->kind == LDG_JOIN ? ldg_rep_join(v->n, at, v->kids, out) : ldg_rep_blocks(v->n, at, v->cnt, v->stride, v->child, out);
  ldg_free(moved);
  return rc;
}

/* The first rule that fires; from some level on only the one that leaves nodes out. One that cannot build its result (a depth or a product out of bounds) has not fired. */
static int first_rule(ldg_canon_ctx *x, const ldg_rep *v, const ldg_rep **out) {
  const int last = x->level > LDG_CANON_LEVELS ? LDG_RULE_ONCE : v->kind == LDG_REPEAT ? LDG_RULE_MERGE : LDG_RULE_GROUP;
  for (int i = LDG_RULE_ONCE; i <= last; i++) {
    if (!(table[i].kinds >> v->kind & 1)) continue;
    int rc = table[i].apply(x, v, out);
    if (rc == LADING_ERR_NOMEM) return rc;
    if (rc != 1) continue;
    ldg_canon_fired(x, i);
    check(v, i, *out);
    return 1;
  }
  return 0;
}

int ldg_canon_node(ldg_canon_ctx *x, const ldg_rep *v, const ldg_rep **out) {
  x->level++;
  const int fired = first_rule(x, v, out);
  x->level--;
  if (fired) return fired < 0 ? fired : LADING_OK;
  return settle(x, v, out);
}
