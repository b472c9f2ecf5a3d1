/* How many requests a launch takes, and when. */
#include "batch_policy.h"

#define ROWS 64 /* with more batches than that the first one is too large by at most n / 64: what is left is cut anew after it */

/* b(j) = slope x + from, for all j so far, summed up. */
typedef struct row { double slope, from, slopes, froms; } row;

static void row_longer(row *r, double launch, double pack, double send) {
  r->slope *= pack / send, r->from = (launch + pack * r->from) / send;
  r->slopes += r->slope, r->froms += r->from;
}

typedef struct plan { double end, first; } plan; /* when n messages have been sent; the size of their first batch */

static plan best_row(int64_t n, double launch, double pack, double send) {
  row r = { 1, 0, 1, 0 };
  plan best = { launch + send * (double)n, (double)n };
  for (int q = 2; q <= ROWS; q++) {
    row_longer(&r, launch, pack, send);
    const double x = ((double)n - r.froms) / r.slopes, end = q * launch + send * x;
    if (x <= 0 || end >= best.end) break;
    best = (plan){ end, r.slope * x + r.from };
  }
  best.end = n ? best.end + pack * (double)n : 0;
  return best;
}

/* The end with a first batch of b: what is left goes on when it is packed. A network that is the bottleneck waits before every
 * batch, once b is too small. */
static double end_with(int64_t b, int64_t n, double launch, double pack, double send) {
  const double packed = launch + pack * (double)b, rest = best_row(n - b, launch, pack, send).end;
  const double gap = send > pack && packed > send * (double)b ? packed - send * (double)b : 0;
  const double network = send * (double)n + gap * ((double)n / (double)b - 1);
  return packed + (rest > network ? rest : network);
}

int64_t ldg_batch_next(int64_t n, double launch, double pack, double send) {
  if (!(launch > 0)) return 1;
  if (!(send > 0)) return n;
  const double first = best_row(n, launch, pack, send).first;
  const int64_t less = first < 1 ? 1 : ldg_min(n, (int64_t)first), more = ldg_min(n, less + 1);
  return end_with(less, n, launch, pack, send) < end_with(more, n, launch, pack, send) ? less : more;
}

ldg_batch_why ldg_batch_due(const ldg_batch_rules *r, const ldg_batch_waiting *w, int64_t now, bool busy) {
  if (w->n == 0) return LDG_BATCH_NOT_YET;
  if (w->n >= r->count) return LDG_BATCH_COUNT;
  if (w->bytes >= r->bytes) return LDG_BATCH_BYTES;
  if (now - w->oldest >= r->age) return LDG_BATCH_AGE;
  return !busy && ldg_batch_waited(w, now) >= r->launch ? LDG_BATCH_RENT : LDG_BATCH_NOT_YET;
}
