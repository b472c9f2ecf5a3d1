/* Text: the canonical form printed and read, and the explanation for people. */
#include "api.h"

int64_t lading_type_text(const lading_type *type, char *buf, int64_t cap) {
  const ldg_plan *p;
  ldg_text t;
  if (!type || cap < 0 || (cap > 0 && !buf)) return LADING_ERR_ARG;
  const int e = ldg_api_plan(type, &p);
  if (e) return e;
  ldg_text_init(&t, buf, cap);
  ldg_rep_print(p->layout->rep, &t);
  return t.len;
}

int lading_type_parse(const char *text, lading_type **out) {
  lading_type *t;
  if (!text || !out) return LADING_ERR_ARG;
  const int e = ldg_build_read(&text, &t);
  if (e) return e;
  if (*text) { /* something is left over */
    lading_type_free(t);
    return LADING_ERR_FORMAT;
  }
  *out = t;
  return LADING_OK;
}

/* ---- explain ---- */

#define LONGEST 400 /* characters of a tree; a list of 10^6 entries explains nothing */

static void tree(ldg_text *t, const char *title, const ldg_rep *r) {
  char line[LONGEST + 1];
  ldg_text one;
  ldg_text_init(&one, line, sizeof line);
  ldg_rep_print(r, &one);
  ldg_text_add(t, "%-10s %s%s\n", title, line, one.len > LONGEST ? " ..." : "");
}

static void rules(ldg_text *t, const ldg_canon_trace *trace) {
  const ldg_canon_rule *table;
  const int n = ldg_canon_rules(&table);
  bool any = false;
  for (int i = 0; i < n; i++) {
    if (!trace->fired[i]) continue;
    ldg_text_add(t, "%-10s %s x%lld: %s\n", any ? "" : "rules", table[i].name, (long long)trace->fired[i], table[i].says);
    any = true;
  }
  if (!any) ldg_text_add(t, "%-10s none: it was in normal form\n", "rules");
}

static void facts(ldg_text *t, const lading_info *f, int64_t count, const lading_id *id) {
  ldg_text_add(t, "%-10s %016llx%016llx (of %lld item%s)\n", "id", (unsigned long long)id->w[1], (unsigned long long)id->w[0],
               (long long)count, count == 1 ? "" : "s");
  ldg_text_add(t, "%-10s %lld B in %lld blocks of %lld..%lld B; lb %lld, extent %lld; true lb %lld, true extent %lld\n", "item",
               (long long)f->size, (long long)f->blocks, (long long)f->min_block, (long long)f->max_block, (long long)f->lb,
               (long long)f->extent, (long long)f->true_lb, (long long)f->true_extent);
  ldg_text_add(t, "%-10s %s, %s, %s; description %lld B\n", "", f->contiguous ? "contiguous" : "not contiguous",
               f->monotonic ? "monotonic" : "not monotonic", f->overlaps ? "overlapping" : "no overlap", (long long)f->description_bytes);
}

int64_t lading_explain(const lading_type *type, int64_t count, char *buf, int64_t cap) {
  const ldg_plan *p;
  const ldg_rep *canonical;
  ldg_canon_trace trace = { { 0 } };
  lading_info info;
  lading_id id;
  ldg_text t;
  if (!type || cap < 0 || (cap > 0 && !buf)) return LADING_ERR_ARG;
  int e = ldg_api_plan(type, &p);
  if (!e) e = lading_type_info(type, &info);
  if (!e) e = lading_type_id(type, count, &id);
  if (!e) e = ldg_canon(type->rep, &canonical, &trace);
  if (e) return e;
  ldg_rep_free(canonical);
  ldg_text_init(&t, buf, cap);
  tree(&t, "rep", type->rep);
  rules(&t, &trace);
  tree(&t, "canonical", p->layout->rep);
  facts(&t, &info, count, &id);
  ldg_option_print(&t);
  ldg_plan_explain(p, &t);
  if (info.elem >= 0) ldg_plan_op_explain(p, (lading_elem)info.elem, &t);
  ldg_queue_explain(p, count, &t);
  return t.len;
}
