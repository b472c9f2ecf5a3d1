/* base: bounded text. Counts everything that is said, keeps what fits, and is terminated wherever there is room for that.
 * And numbers in text that is read. */
#include "base.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

void ldg_text_init(ldg_text *t, char *buf, int64_t cap) {
  *t = (ldg_text){ buf, buf && cap > 0 ? cap : 0, 0 };
  if (t->cap) buf[0] = '\0';
}

void ldg_text_add(ldg_text *t, const char *format, ...) {
  int64_t room = ldg_min(ldg_max(t->cap - t->len, 0), INT_MAX);
  va_list args;
  va_start(args, format);
  int said = vsnprintf(room ? t->buf + t->len : NULL, (size_t)room, format, args);
  va_end(args);
  if (said > 0) t->len += said;
}

/* Downwards, since the least number has no positive counterpart. */
bool ldg_text_int(const char **at, int64_t *out) {
  const char *s = *at;
  const bool minus = *s == '-';
  int64_t v = 0;
  s += minus;
  if (*s < '0' || *s > '9') return false;
  for (; *s >= '0' && *s <= '9'; s++)
    if (ldg_mul(v, 10, &v) || ldg_sub(v, *s - '0', &v)) return false;
  if (!minus && ldg_sub(0, v, &v)) return false;
  *at = s, *out = v;
  return true;
}
