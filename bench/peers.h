/* peers: other datatype engines, each in a helper process of its own (peers/), so that two MPIs never meet in one process.
 * A helper maps lbench's buffers, the same pages, and sleeps while another way is timed; all of them run on the processor that
 * lbench runs on. */
#ifndef LBENCH_PEERS_H
#define LBENCH_PEERS_H

#include "sampler.h"
#include <sys/types.h>

#define PEERS_MAX 6
#define PEER_TEXT 160

typedef struct peer {
  char name[32], version[96]; /* what the helper's file is called after lbench-peer-; what it says it is */
  char path[4600];
  bool ranges;                /* it can move any range of packed bytes; else --segment leaves it moving whole messages */
  bool open;                  /* it has a problem, and answers */
  int copies;                 /* of that problem */
  pid_t pid;
  int fd, memory;             /* to talk over; whose pages it maps */
} peer;

typedef struct peers { int n, memory; peer list[PEERS_MAX]; } peers; /* memory: of all, see sampler.h; 0: none yet */

/* Starts every helper in `dir`, or only those in the comma-separated `names`. false with a message. */
bool peers_start(peers *all, const char *dir, const char *names, char *why, size_t cap);
void peers_stop(peers *all);

/* Has it build the type, check that it packs and unpacks as defined, in the buffers of `s`. false with a note. */
bool peer_open(peer *r, const sampler *s, char *note, size_t cap);
bool peer_close(peer *r); /* false when the helper was lost since peer_open */
/* Both begin with copy *next, and leave there the one whose turn it is then. */
int64_t peer_calibrate(peer *r, int dir, int *next); /* repetitions of a sample; 0: it is lost */
bool peer_time(peer *r, int dir, int64_t reps, int *next, double *ns);

#endif
