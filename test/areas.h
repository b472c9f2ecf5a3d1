/* Memory of every kind there is, with a copy of it on the host, for tests of devices. */
#ifndef TEST_AREAS_H
#define TEST_AREAS_H

#include "common.h"
#include "../bench/driver.h"

bool devices_there(void);                /* else main returns 77: skipped */
/* The driver and its first device, entered. */
typedef struct devices { const char *backend; const driver *d; void *stream; lading_queue *q; } devices;
devices devices_open(void);
void devices_close(devices *v);          /* a stand-in driver has seen no fault */
int64_t devices_say(const devices *v, const char *line); /* to the stand-in; -1 with a real one */

typedef struct area { lading_memkind kind; int64_t n; char *at, *copy; const devices *v; } area;
area area_new(const devices *v, lading_memkind kind, int64_t n);
void area_free(area *a);
void area_push(area *a);                 /* the copy into the memory */
void area_pull(area *a);                 /* and back; all queued work is done */
void area_fill(area *a, uint64_t salt);  /* random bytes, in both */

#endif
