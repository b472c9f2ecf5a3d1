/* replay: launches of one cargo, or of a few, as launches of a graph of one node whose arguments are set anew each time. Where the driver is faster at that it is so
 * by half: on an H200, in a virtual machine, 1.5 us of the host and 6.3 us until a kernel that does nothing is done, 3.3 and 8.4 by launches. A driver
 * writes a node as a whole when its grid changes, so grids are of a few sizes, and blocks that have no tile end at once. */
#ifndef LDG_DEVICE_REPLAY_H
#define LDG_DEVICE_REPLAY_H

#include "driver.h"

enum { LDG_REPLAY_GRIDS = 20, LDG_REPLAY_KERNELS = 13 };

typedef struct ldg_replay {
  void *graph, *node, *exec; /* NULL: not made */
  int64_t uses;
  bool refused;              /* by the driver */
} ldg_replay;

/* Those of a lane, and what they and launches took of the host while it was not known which is faster. */
enum { LDG_BY_LAUNCH, LDG_BY_REPLAY, LDG_LAUNCH_WAYS };
typedef struct ldg_replays {
  ldg_replay of[LDG_REPLAY_KERNELS][LDG_REPLAY_GRIDS];
  int tries[LDG_LAUNCH_WAYS];
  double least[LDG_LAUNCH_WAYS]; /* ns */
} ldg_replays;

#endif
