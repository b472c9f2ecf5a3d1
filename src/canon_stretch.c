/* canon_stretch: a list of runs of few lengths => a uniform list of each, since uniform lists are what runs fastest. */
#include "canon_parts.h"

/* Shorter stretches are not worth a node of their own; nor those that chance makes in a long mixture. */
enum { STRETCH_MIN = 16, STRETCHES_MAX = 64 };

/* Runs [from, to): all multiples of `atom` bytes, `atoms` in all; atom 0: a mixture. */
typedef struct stretch { int64_t from, to, atom, atoms; } stretch;
typedef struct stretches { stretch s[2 * STRETCHES_MAX + 2]; int64_t n, least; } stretches;

/* What is too short or too ragged for a list of its own joins the mixture before it. */
static void close_stretch(stretches *all, stretch s) {
  stretch *last = all->n ? &all->s[all->n - 1] : NULL;
  if (s.to - s.from < all->least || !ldg_canon_few_touch(s.atoms, s.to - s.from)) s.atom = 0;
  if (last && !last->atom && !s.atom) {
    last->to = s.to;
  } else {
    all->s[all->n++] = s;
  }
}

/* Takes c runs of `len` bytes into the stretch if they are its atoms, or a few accidents of them. The slack lets a stretch
 * start with accidents; close_stretch has the last word. */
static bool take(stretch *s, int64_t len, int64_t c) {
  int64_t runs = s->to - s->from, atom = s->atom, atoms;
  if (len != atom) {
    if (c < STRETCH_MIN && len % atom == 0) atoms = s->atoms + c * (len / atom);
    else if (runs < STRETCH_MIN && atom % len == 0) atoms = s->atoms * (atom / len) + c, atom = len;
    else return false;
    if (!ldg_canon_few_touch(atoms - 4, runs + c)) return false;
  } else {
    atoms = s->atoms + c;
  }
  *s = (stretch){ s->from, s->to + c, atom, atoms };
  return true;
}

/* Quotients stay small: a run of more than 2^16 atoms is no accident. */
static bool comparable(int64_t a, int64_t b) {
  return a >> 16 < b && b >> 16 < a;
}

static void find_stretches(const ldg_rep *v, stretches *all) {
  const int64_t *len = v->cnt;
  stretch now = { 0, 0, len[0], 0 };
  for (int64_t i = 0, j; i < v->n; i = j) {
    for (j = i + 1; j < v->n && len[j] == len[i]; j++) { }
    if (comparable(len[i], now.atom) && take(&now, len[i], j - i)) continue;
    close_stretch(all, now);
    now = (stretch){ i, j, len[i], j - i };
  }
  close_stretch(all, now);
}

static void cut_atoms(const ldg_rep *v, const stretch *s, int64_t *at) {
  for (int64_t i = s->from; i < s->to; i++)
    for (int64_t done = 0; done < v->cnt[i]; done += s->atom) *at++ = ldg_rep_move(v->at[i], done);
}

static int put_uniform(ldg_canon_ctx *x, ldg_parts *p, const ldg_rep *v, const stretch *s) {
  const bool cut = s->atoms != s->to - s->from;
  const ldg_rep *atom;
  int rc = ldg_rep_bytes(s->atom, &atom);
  if (rc) return rc;
  int64_t *at = cut ? ldg_alloc(8 * s->atoms) : NULL;
  if (cut && at) cut_atoms(v, s, at);
  ldg_rep list = ldg_view_blocks(s->atoms, cut ? at : v->at + s->from, NULL, 0, atom);
  rc = cut && !at ? LADING_ERR_NOMEM : ldg_parts_put(x, p, v->at[s->from], &list);
  ldg_free(at);
  ldg_rep_free(atom);
  return rc;
}

static int put_stretches(ldg_canon_ctx *x, const ldg_rep *v, const stretches *all, const ldg_rep **out) {
  ldg_parts p;
  int rc = ldg_parts_open(&p, all->n);
  if (rc) return rc;
  for (int64_t i = 0; i < all->n && !rc; i++) {
    const stretch *s = &all->s[i];
    rc = s->atom ? put_uniform(x, &p, v, s) : ldg_parts_slice(x, &p, v, s->from, s->to);
  }
  return ldg_parts_close(x, &p, rc, out);
}

/* Where stretches would leave a mixture, and are of the atoms of that, all is one list of these if they are not too many. */
static void unmix(const ldg_rep *v, stretches *all) {
  int64_t atom = 0, atoms = 0, in_long = 0;
  bool mixed = false;
  for (int64_t i = 0; i < v->n; i++) atom = ldg_gcd(v->cnt[i], atom);
  for (int64_t i = 0; i < v->n; i++) atoms += v->cnt[i] / atom, in_long += ldg_canon_if_long(v->cnt[i] / atom);
  for (int64_t i = 0; i < all->n; i++) {
    if (all->s[i].atom && all->s[i].atom != atom) return;
    mixed |= !all->s[i].atom;
  }
  if (mixed && ldg_canon_in_atoms(atoms, v->n, atom, in_long)) all->s[0] = (stretch){ 0, v->n, atom, atoms }, all->n = 1;
}

int ldg_canon_stretches(ldg_canon_ctx *x, const ldg_rep *v, const ldg_rep **out) {
  if (!v->cnt || v->stride != 1 || v->n < LDG_CANON_ATOM_RUNS || v->child->kind != LDG_BYTES || v->child->n != 1) return 0;
  const int64_t outer = x->stretch;
  if (!outer) x->stretch = ldg_max(STRETCH_MIN, v->n / STRETCHES_MAX);
  stretches all;
  all.n = 0;
  all.least = x->stretch;
  find_stretches(v, &all), unmix(v, &all);
  int rc = all.n > 1 || all.s[0].atom ? put_stretches(x, v, &all, out) : 0;
  x->stretch = outer;
  return rc;
}
