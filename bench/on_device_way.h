/* on_device_way: the buffers of one problem on a device, and the ways of moving them. */
#ifndef LBENCH_ON_DEVICE_WAY_H
#define LBENCH_ON_DEVICE_WAY_H

#include "on_device.h"
#include "driver.h"

enum { HAND_LOOPS, HAND_ROWS, HAND_LIST, HAND_LENGTHS, HAND_NOTHING, HAND_RECORDS, HAND_KERNELS = HAND_RECORDS + 6 };
extern const struct hand_record { const char *name, *kernel; int width; } hand_records[HAND_KERNELS - HAND_RECORDS];

extern const char *const device_way_names[], *const device_where_names[];

struct device {
  const driver *d;
  const char *backend;
  device_where where;
  char name[64];
  void *stream, *event[2], *module, *kernel[HAND_KERNELS]; /* module NULL: no kernels by hand in this build */
  lading_queue *queue;
  char *pieces;           /* pinned: two, of what comes back to be looked at */
  char *image;            /* of a layout, image_room bytes; on the host */
  int64_t image_room;
};

/* Copies of the problem's buffers, gone round among so that nothing is found in the device's cache. */
typedef struct device_run {
  const device *on;
  const problem *p;
  int dir;                       /* LDG_PACK or LDG_UNPACK */
  bool sum;                      /* what is there is added to */
  int copies, next;
  int64_t step, packed_step;     /* bytes from copy to copy */
  char *mem, *packed;            /* of the first one: its buffer argument, its packed bytes */
  char *mem_block;               /* what was allocated */
  char *staging;                 /* pinned; BY_STAGED */
  char *line;                    /* two pieces of line_bytes each for contiguous copies, a copy */
  int64_t line_bytes;
  void *lists;                   /* of hand-written loops, on the device: for each part at, len, pos */
  int64_t first;                 /* offset of the problem's first block */
} device_run;

/* Enqueues one move; 0, or an error of the driver or the library. */
typedef int device_move(const device_run *r, char *mem, char *packed);
/* NULL: this way does not do this problem. */
device_move *device_way_of(const device_run *r, device_way by);
int device_line_copy(const device_run *r, char *mem, char *packed);
int device_launch_nothing(const device *on);
bool device_lists_upload(device_run *r);   /* false: no memory */

#endif
