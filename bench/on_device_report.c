/* The table of `lbench time --where`, for people and for programs. */
#include "on_device_way.h"
#include <inttypes.h>
#include <stdio.h>

const char *const device_way_names[DEVICE_WAYS] = { "lading", "hand", "box", "blocks", "staged" };
const char *const device_where_names[] = { "device", "pinned", "host-to-device" };

static const char *const dirs[2] = { "pack", "unpack" };

void device_report_header(const device *on, bool csv) {
  static const char *const wheres[] = { "on the device", "packed in pinned memory", "from and to memory of the host" };
  if (!csv) {
    printf("%s, %s. GB/s of packed bytes; `of` is the other's time over lading's\n%-30s %10s %8s", on->name, wheres[on->where], "", "bytes", "blocks");
    for (int dir = 0; dir < 2; dir++) printf(" |%9s%8s%8s%8s%8s%8s%9s", dirs[dir], "of floor", "of hand", "of box", "of blks", "of stgd", "latency");
    printf(" | enqueue  launch\n");
    return;
  }
  printf("device,where,suite,name,bytes,blocks,min_block,sectors,floor_ns,enqueue_ns,launch_ns");
  for (int dir = 0; dir < 2; dir++) {
    printf(",%s_gbs,%s_of_floor,%s_latency_ns", dirs[dir], dirs[dir], dirs[dir]);
    for (int by = 0; by < DEVICE_WAYS; by++) printf(",%s_%s_ns,%s_%s_q1_ns,%s_%s_q3_ns", dirs[dir], device_way_names[by], dirs[dir], device_way_names[by], dirs[dir], device_way_names[by]);
  }
  printf(",note\n");
}

static double rate(const problem *p, double ns) { return ns > 0 ? (double)p->size / ns : 0; } /* bytes per ns are GB/s */

static void value(double v) {
  if (v > 0) printf(",%.4g", v);
  else printf(",");
}

static void row_csv(const device *on, const problem *p, const device_row *row) {
  printf("%s,%s,%s,\"%s\",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64, on->name, device_where_names[on->where], p->suite, p->name, p->size, p->runs,
         p->info.min_block, row->sectors);
  value(row->floor_ns), value(row->enqueue_ns), value(row->launch_ns);
  for (int dir = 0; dir < 2; dir++) {
    const double own = row->way[BY_LADING][dir].ns;
    value(rate(p, own)), value(own > 0 ? row->floor_ns / own : 0), value(row->latency_ns[dir]);
    for (int by = 0; by < DEVICE_WAYS; by++) value(row->way[by][dir].ns), value(row->way[by][dir].q1), value(row->way[by][dir].q3);
  }
  printf(",%s\n", row->note);
}

static void ratio(double other, double own) {
  if (other > 0 && own > 0) printf(" %7.2f", other / own);
  else printf(" %7s", "-");
}

static void row_text(const problem *p, const device_row *row) {
  printf("%-30.40s %10" PRId64 " %8" PRId64, p->name, p->size, p->runs);
  for (int dir = 0; dir < 2; dir++) {
    const double own = row->way[BY_LADING][dir].ns;
    printf(" |%9.2f", rate(p, own));
    ratio(row->floor_ns, own);
    for (int by = BY_HAND; by < DEVICE_WAYS; by++) ratio(row->way[by][dir].ns, own);
    printf(" %6.1fus", row->latency_ns[dir] / 1e3);
  }
  printf(" | %5.0fns %5.0fns\n", row->enqueue_ns, row->launch_ns);
  if (row->note[0]) printf("  %s\n", row->note);
}

void device_report_row(const device *on, const problem *p, const device_row *row, bool csv) {
  if (csv) row_csv(on, p, row);
  else row_text(p, row);
  fflush(stdout);
}
