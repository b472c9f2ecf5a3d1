/* on_device: `lbench time --where`: problems in the memory of a device. Ways are checked byte for byte before they are timed. */
#ifndef LBENCH_ON_DEVICE_H
#define LBENCH_ON_DEVICE_H

#include "measure.h"

/* Where the layout and the packed bytes are: both on the device; packed bytes in pinned memory of the host; the layout in plain
 * memory of the host. */
typedef enum device_where { WHERE_DEVICE, WHERE_PINNED, WHERE_HOST_TO_DEVICE } device_where;
bool device_where_read(const char *text, device_where *out);

/* Who does it; with the layout on the host only the first and the last. BOX: one 2-D or 3-D copy of the driver, BLOCKS: one copy a
 * block, STAGED: by the host into pinned memory, and one copy. */
typedef enum device_way { BY_LADING, BY_HAND, BY_BOX, BY_BLOCKS, BY_STAGED, DEVICE_WAYS } device_way;
typedef struct device_row {
  timing way[DEVICE_WAYS][2];     /* per call in a stream of calls; pack, unpack */
  int64_t sectors;                /* of 32 bytes, touched on both sides */
  double floor_ns;                /* of one contiguous copy that touches as many */
  double latency_ns[2];           /* of one call and the wait for it */
  double enqueue_ns, launch_ns;   /* host time of an enqueue, of a launch */
  char note[160];                 /* a way that gave other bytes, or could not run */
} device_row;

typedef struct device device;
bool device_is_there(const char *backend); /* asked in a process of its own, since those that fork open no driver before */
device *device_open(const char *backend, device_where where, char *why, size_t cap); /* NULL: a message */
void device_close(device *d);
bool device_measure(device *d, const problem *p, const measure_options *o, device_row *row, char *why, size_t cap);

void device_report_header(const device *d, bool csv);
void device_report_row(const device *d, const problem *p, const device_row *row, bool csv);

/* `lbench ipc`: two processes on one device. false: it failed, or other bytes came. This process has no driver open. */
void device_ipc_header(bool csv);
bool device_ipc(const char *backend, const problem *p, bool csv);

#endif
