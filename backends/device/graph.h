/* graph: what a fused launch enqueues, a copy and a kernel, as one command of the driver's, where that is faster. Pages are read when
 * the copy runs, so a graph serves every launch of as many cargos and tiles from the same page, whatever they move, from where to where. */
#ifndef LDG_DEVICE_GRAPH_H
#define LDG_DEVICE_GRAPH_H

#include "site.h"

typedef struct ldg_graphs ldg_graphs;
/* In the context, but for a close that could not enter it, which leaves to the driver what is the driver's. NULL: there are none; every
 * launch goes by its single commands then. */
ldg_graphs *ldg_graphs_open(const ldg_driver *d);
void ldg_graphs_close(ldg_graphs *g, bool entered); /* what it launched is done */

/* Enqueues it: by `enqueue`, an error of the driver, or by a graph of what that does. Both ways are tried a few times, and timed by the
 * host's clock and the device's; then the faster one stays. Whatever fails of a graph, `enqueue` does it. */
typedef int ldg_graph_enqueue(void *arg, void *stream);
int ldg_graphs_run(ldg_graphs *g, void *stream, const ldg_fused_launch *what, ldg_graph_enqueue *enqueue, void *arg);

#endif
