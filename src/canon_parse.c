/* canon_parse: structure in lists, the deterministic repetition parse. Rules for blocks and joins whose entries repeat
 * themselves; the list of the merged runs of a sequence is one of them. All of it is a function of the list alone, so that
 * every spelling of a sequence ends in the same tree. A random list is passed by in a few linear scans that stop early, and
 * stays one uniform list. */
#include "canon_parts.h"

/* ---- tandem: the list repeats itself ------------------------------------------------------------------------------------ */

/* Entry i stands to entry i-1 as entry j to entry j-1. */
static inline bool same_step(const ldg_rep *v, int64_t i, int64_t j) {
  return ldg_gap(v->at, i - 1, i) == ldg_gap(v->at, j - 1, j) && ldg_alike(v, i, j);
}

/* The first k >= i, at most `end`, whose step is not that of k - back. */
static int64_t steps_end(const ldg_rep *v, int64_t i, int64_t end, int64_t back) {
  const int64_t *at = v->at, *cnt = v->cnt;
  if (v->kids) while (i < end && same_step(v, i, i - back)) i++;
  else if (cnt) while (i < end && ldg_gap(at, i - 1, i) == ldg_gap(at, i - 1 - back, i - back) && cnt[i] == cnt[i - back]) i++;
  else while (i < end && ldg_gap(at, i - 1, i) == ldg_gap(at, i - 1 - back, i - back)) i++;
  return i;
}

/* The list is head entries, then `reps` periods of `period` entries, then a tail. */
typedef struct tandem { int64_t head, period, reps; } tandem;

/* Where neighbouring items of an array of structs touch, the first run and the last one are shorter than those between:
 * then one entry stands aside at the front, and at the end what is left, at most a period long. *work counts comparisons. */
static bool is_tandem(const ldg_rep *v, int64_t head, int64_t period, tandem *t, int64_t *work) {
  if (!ldg_alike(v, head, head + period)) return false;
  int64_t end = steps_end(v, head + period + 1, v->n, period), reps = (end - head) / period, rest = v->n - reps * period;
  *work += end - head - period;
  *t = (tandem){ head, period, reps };
  return rest == 0 ? reps >= 2 : end >= v->n - 1 && reps >= 4 && rest <= period + 1;
}

/* A period of the list is one of the list without its first entry, too. */
static bool has_period(const ldg_rep *v, int64_t period, tandem *t, int64_t *work) {
  return 2 * period <= v->n && (is_tandem(v, 0, period, t, work) || is_tandem(v, 1, period, t, work));
}

/* Failure function of the steps from entry 2 on (Knuth, Morris, Pratt): the smallest period without the first entry, and
 * without the first and the last. */
static int tandem_kmp(const ldg_rep *v, tandem *t) {
  int64_t m = v->n - 2, work = 0;
  if (m < 2 || m > INT32_MAX) return 0;
  int32_t *fail = ldg_alloc(4 * m), f = 0;
  if (!fail) return LADING_ERR_NOMEM;
  fail[0] = 0;
  for (int64_t i = 1; i < m; i++) {
    while (f > 0 && !same_step(v, 2 + i, 2 + f)) f = fail[f - 1];
    f += same_step(v, 2 + i, 2 + f);
    fail[i] = f;
  }
  int64_t all = m - fail[m - 1], most = m - 1 - fail[m - 2];
  ldg_free(fail);
  return has_period(v, most, t, &work) || has_period(v, all, t, &work);
}

/* Periods whose first step is right are tried one by one while that is cheap: random lists have few. */
static int find_tandem(const ldg_rep *v, tandem *t) {
  const int64_t *at = v->at, n = v->n;
  if (n < 3) return 0;
  int64_t first = ldg_gap(at, 1, 2), work = 0;
  for (int64_t p = 1; 2 * p <= n; p++) {
    while (2 * p <= n && p + 2 < n && ldg_gap(at, p + 1, p + 2) != first) p++;
    if (has_period(v, p, t, &work)) return 1;
    if (work > 2 * n) return tandem_kmp(v, t);
  }
  return 0;
}

/* `n` copies, `stride` apart, of the canonical form of a list. */
static int repeat_of(ldg_canon_ctx *x, int64_t n, int64_t stride, const ldg_rep *list, const ldg_rep **out) {
  const ldg_rep *child;
  int rc = ldg_canon_node(x, list, &child);
  if (rc) return rc;
  ldg_rep loop = ldg_view_repeat(n, stride, child);
  rc = ldg_canon_node(x, &loop, out);
  ldg_rep_free(child);
  return rc;
}

int ldg_canon_tandem(ldg_canon_ctx *x, const ldg_rep *v, const ldg_rep **out) {
  tandem t;
  int rc = find_tandem(v, &t);
  if (rc <= 0) return rc;
  int64_t stride = ldg_gap(v->at, t.head, t.head + t.period), end = t.head + t.reps * t.period;
  ldg_rep period = ldg_view_slice(v, t.head, t.period);
  ldg_parts p;
  if (t.reps * t.period == v->n) return (rc = repeat_of(x, t.reps, stride, &period, out)) ? rc : 1;
  const ldg_rep *loop;
  rc = repeat_of(x, t.reps, stride, &period, &loop);
  if (rc) return rc;
  rc = ldg_parts_open(&p, 3);
  if (!rc) {
    rc = ldg_parts_slice(x, &p, v, 0, t.head);
    ldg_rep one = ldg_view_join(1, &v->at[t.head], &loop);
    if (!rc) rc = ldg_parts_put(x, &p, v->at[t.head], &one);
    if (!rc) rc = ldg_parts_slice(x, &p, v, end, v->n);
    rc = ldg_parts_close(x, &p, rc, out);
  }
  ldg_rep_free(loop);
  return rc;
}

/* ---- separable: a list of equal rows ------------------------------------------------------------------------------------ */

/* Every row of M entries has the shape of the first. */
static bool rows_alike(const ldg_rep *v, int64_t m, int64_t *work) {
  for (int64_t row = m; row < v->n; row += m) {
    if (!ldg_alike(v, 0, row)) return false;
    const int64_t end = steps_end(v, row + 1, row + m, row);
    *work += end - row;
    if (end < row + m) return false;
  }
  return true;
}

static int64_t first_progression(const ldg_rep *v) {
  int64_t i = 2;
  while (i < v->n && same_step(v, i, 1)) i++;
  return i;
}

/* The rows' length: the first progression, else the least divisor of n that fits. Rows of less than 4 would make a list
 * slower, not shorter; the entries of a join are worth more. */
static int64_t row_length(const ldg_rep *v) {
  int64_t least = v->kids ? 2 : 4, work = 0, m = first_progression(v);
  if (m >= least && m < v->n && v->n % m == 0 && rows_alike(v, m, &work)) return m;
  for (m = least; m <= v->n / m && work < 8 * v->n; m++)
    if (v->n % m == 0 && rows_alike(v, m, &work)) return m;
  for (int64_t d = ldg_min(m, v->n / least); d > 1 && work < 8 * v->n; d--) {
    if (v->n % d == 0 && v->n / d >= least && rows_alike(v, v->n / d, &work)) return v->n / d;
  }
  return 0;
}

int ldg_canon_separable(ldg_canon_ctx *x, const ldg_rep *v, const ldg_rep **out) {
  int64_t m = v->n < 4 ? 0 : row_length(v), n = m ? v->n / m : 0;
  if (n < 2) return 0;
  int64_t *at = ldg_alloc(8 * n);
  if (!at) return LADING_ERR_NOMEM;
  for (int64_t i = 0; i < n; i++) at[i] = v->at[i * m];
  ldg_rep row = ldg_view_slice(v, 0, m);
  const ldg_rep *child;
  int rc = ldg_canon_node(x, &row, &child);
  if (!rc) {
    ldg_rep rows = ldg_view_blocks(n, at, NULL, 0, child);
    rc = ldg_canon_node(x, &rows, out);
    ldg_rep_free(child);
  }
  ldg_free(at);
  return rc ? rc : 1;
}

/* ---- sections: parts of a list that repeat themselves ------------------------------------------------------------------ */

/* Periods looked for, the entries that a section has at least (and 4 periods), and the distance at which the list is
 * sampled: every section holds a sample that stands to the one before as one period earlier. */
enum { SECTION_PERIOD = 16, SECTION_MIN = 32, SECTION_SAMPLE = 16 };

/* Entries [from, to): whole periods. */
typedef struct section { int64_t from, to, period; } section;

/* The section around step j, if it is long enough; not before entry `least`. */
static bool section_at(const ldg_rep *v, int64_t j, int64_t period, int64_t least, section *s) {
  if (!same_step(v, j, j - period)) return false;
  int64_t b = j, e = steps_end(v, j + 1, v->n, period);
  while (b - 1 - period > least && same_step(v, b - 1, b - 1 - period)) b--;
  b -= period;
  if (b > least && ldg_alike(v, b - 1, b - 1 + period)) b--;
  *s = (section){ b, b + (e - b) / period * period, period };
  return s->to - b >= ldg_max(SECTION_MIN, 4 * period);
}

/* The next section from entry i on: of the shortest period. */
static bool next_section(const ldg_rep *v, int64_t i, section *s) {
  for (int64_t j = i + SECTION_SAMPLE; j < v->n; j += SECTION_SAMPLE)
    for (int64_t p = 2; p <= SECTION_PERIOD && j - p > i; p++)
      if (section_at(v, j, p, i, s)) return true;
  *s = (section){ v->n, v->n, 1 };
  return false;
}

static int64_t count_sections(const ldg_rep *v) {
  section s;
  int64_t n = 0;
  for (int64_t i = 0; i < v->n; i = s.to) n += next_section(v, i, &s) + (s.from > i);
  return n;
}

static int put_section(ldg_canon_ctx *x, ldg_parts *p, const ldg_rep *v, const section *s) {
  const ldg_rep period = ldg_view_slice(v, s->from, s->period), *loop;
  int rc = repeat_of(x, (s->to - s->from) / s->period, ldg_gap(v->at, s->from, s->from + s->period), &period, &loop);
  if (rc) return rc;
  const ldg_rep one = ldg_view_join(1, &v->at[s->from], &loop);
  rc = ldg_parts_put(x, p, v->at[s->from], &one);
  ldg_rep_free(loop);
  return rc;
}

/* Only where it clearly pays. What follows are the rules for joins: they find the sections that are alike. */
int ldg_canon_sections(ldg_canon_ctx *x, const ldg_rep *v, const ldg_rep **out) {
  const int64_t n = v->n < 2 * SECTION_MIN ? 0 : count_sections(v);
  section s;
  ldg_parts p;
  if (n < 2 || n > v->n / 16) return 0;
  int rc = ldg_parts_open(&p, n);
  if (rc) return rc;
  for (int64_t i = 0; i < v->n && !rc; i = s.to) {
    const bool any = next_section(v, i, &s);
    rc = ldg_parts_slice(x, &p, v, i, s.from);
    if (!rc && any) rc = put_section(x, &p, v, &s);
  }
  return ldg_parts_close(x, &p, rc, out);
}

/* ---- group: stretches of equal children in a join -------------------------------------------------------------------------- */

enum { GROUP_MIN = 4 };

static bool groups_with(const ldg_rep *v, int64_t i, int64_t j) {
  return (v->kids[i]->kind == LDG_BYTES && v->kids[j]->kind == LDG_BYTES) || ldg_alike(v, i, j);
}

static int64_t group_end(const ldg_rep *v, int64_t i) {
  int64_t j = i + 1;
  while (j < v->n && groups_with(v, i, j)) j++;
  return j;
}

static int put_groups(ldg_canon_ctx *x, ldg_parts *p, const ldg_rep *v) {
  int rc = LADING_OK;
  for (int64_t i = 0, j; i < v->n && !rc; i = j) {
    j = group_end(v, i);
    if (j - i < GROUP_MIN) j = i + 1;
    rc = ldg_parts_slice(x, p, v, i, j);
  }
  return rc;
}

int ldg_canon_group(ldg_canon_ctx *x, const ldg_rep *v, const ldg_rep **out) {
  int64_t best = 0;
  ldg_parts p;
  for (int64_t i = 0, j; i < v->n; i = j) {
    j = group_end(v, i);
    best = ldg_max(best, j - i);
  }
  if (best < GROUP_MIN || best == v->n) return 0;
  int rc = ldg_parts_open(&p, v->n);
  return rc ? rc : ldg_parts_close(x, &p, put_groups(x, &p, v), out);
}

/* ---- progressions inside a list ------------------------------------------------------------------------------------------ */

enum { SHORT_PROGRESSION = 4, LONG_PROGRESSION = 32 };

/* The end of the progression that starts with entry i; i + 1 when it is shorter than `least`. */
static int64_t progression_end(const ldg_rep *v, int64_t i, int64_t least) {
  int64_t j = i + 2;
  if (j > v->n) return v->n;
  while (j < v->n && ldg_gap(v->at, j - 1, j) == ldg_gap(v->at, i, i + 1)) j++;
  return j - i >= least ? j : i + 1;
}

/* Whether at least half of the differences equal the one before. Random lists are known when half of them is seen. */
static bool mostly_straight(const ldg_rep *v) {
  const int64_t *at = v->at, n = v->n;
  int64_t bends = 0;
  for (int64_t i = 2, end; i < n && 2 * bends <= n; i = end) {
    end = ldg_min(i + 256, n);
    for (int64_t j = i; j < end; j++) bends += ldg_gap(at, j - 1, j) != ldg_gap(at, j - 2, j - 1);
  }
  return 2 * bends <= n;
}

static int64_t count_progressions(const ldg_rep *v, int64_t most) {
  int64_t n = 0;
  for (int64_t i = 0; i < v->n && n <= most; n++) i = progression_end(v, i, SHORT_PROGRESSION);
  return n;
}

/* Progressions of one stride and what stands alone between them: entries of blocks with counts, from *i on. at: room
 * for cap entries and their counts. */
static int put_family(ldg_canon_ctx *x, ldg_parts *p, const ldg_rep *v, int64_t *i, int64_t *at, int64_t cap) {
  int64_t n = 0, stride = 0, start = v->at[*i], *cnt = at + cap;
  bool known = false;
  while (*i < v->n) {
    const int64_t end = progression_end(v, *i, SHORT_PROGRESSION);
    const bool alone = end == *i + 1;
    if (!alone && known && stride != ldg_gap(v->at, *i, *i + 1)) break;
    if (!alone) stride = ldg_gap(v->at, *i, *i + 1), known = true;
    at[n] = v->at[*i];
    cnt[n++] = end - *i;
    *i = end;
  }
  ldg_rep family = ldg_view_blocks(n, at, cnt, stride, v->child);
  return ldg_parts_put(x, p, start, &family);
}

static int cover(ldg_canon_ctx *x, const ldg_rep *v, int64_t n, const ldg_rep **out) {
  ldg_parts p;
  int rc = ldg_parts_open(&p, n);
  if (rc) return rc;
  int64_t *at = ldg_alloc(16 * n);
  if (!at) rc = LADING_ERR_NOMEM;
  for (int64_t i = 0; i < v->n && !rc;) rc = put_family(x, &p, v, &i, at, n);
  ldg_free(at);
  return ldg_parts_close(x, &p, rc, out);
}

/* What ends a progression: entry j does not follow entry j-1 as that follows the one before. */
static inline bool bends(const ldg_rep *v, int64_t j) {
  bool b = ldg_gap(v->at, j - 1, j) != ldg_gap(v->at, j - 2, j - 1);
  if (v->cnt) b |= (v->cnt[j] != v->cnt[j - 1]) | (v->cnt[j - 1] != v->cnt[j - 2]);
  return b;
}

/* Entries of unequal count are dear, since each of them is looked up: shorter progressions of them are worth a node. */
static int64_t long_enough(const ldg_rep *v) {
  return v->cnt ? LONG_PROGRESSION / 4 : LONG_PROGRESSION;
}

/* The next long progression from entry i on. No branch depends on the data but the last. */
static int64_t next_long(const ldg_rep *v, int64_t i, int64_t *end) {
  const int64_t least = long_enough(v);
  int64_t straight = 0, j = i + 2;
  for (; j < v->n && straight < least - 2; j++) straight = bends(v, j) ? 0 : straight + 1;
  if (straight < least - 2) return v->n;
  i = j - least;
  while (j < v->n && !bends(v, j)) j++;
  *end = j;
  return i;
}

static int64_t count_long(const ldg_rep *v) {
  int64_t n = 0;
  for (int64_t i = 0, from, end = 0; i < v->n; i = from < v->n ? end : v->n) {
    from = next_long(v, i, &end);
    n += (from > i) + (from < v->n);
  }
  return n;
}

static int cut_long(ldg_canon_ctx *x, const ldg_rep *v, int64_t n, const ldg_rep **out) {
  ldg_parts p;
  int rc = ldg_parts_open(&p, n);
  if (rc) return rc;
  for (int64_t i = 0, from, end = 0; i < v->n && !rc; i = from < v->n ? end : v->n) {
    from = next_long(v, i, &end);
    rc = ldg_parts_slice(x, &p, v, i, from);
    if (!rc && from < v->n) rc = ldg_parts_slice(x, &p, v, from, end);
  }
  return ldg_parts_close(x, &p, rc, out);
}

/* Both only where it clearly pays, since a uniform list is what runs fastest. */
int ldg_canon_progressions(ldg_canon_ctx *x, const ldg_rep *v, const ldg_rep **out) {
  if (v->cnt || v->n < 8 || !mostly_straight(v)) return 0;
  const int64_t n = count_progressions(v, v->n / 4);
  return n <= v->n / 4 ? cover(x, v, n, out) : 0;
}

int ldg_canon_long(ldg_canon_ctx *x, const ldg_rep *v, const ldg_rep **out) {
  const int64_t least = long_enough(v);
  if (v->n < least) return 0;
  const int64_t n = count_long(v);
  return n > 1 && 2 * n <= v->n / (least / 4) ? cut_long(x, v, n, out) : 0;
}
