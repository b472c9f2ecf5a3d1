/* What tests of batches on a device share: the driver under both vendors' names, what to tell it when it is the stand-in, and memory. */
#ifndef TEST_BATCH_DEVICE_H
#define TEST_BATCH_DEVICE_H

#include "areas.h"
#include "batch_works.h"

extern const driver *d;
extern const char *backend;   /* LADING_TEST_BACKEND, or cuda */
#define OK(call) ck_assert_int_eq(call, 0)

/* To the stand-in: control.h of it. 0 where the driver is a real one. */
int64_t tell(const char *line);
/* Of a call that both vendors have: verb, name, rest. */
typedef struct call { const char *cuda, *hip; } call;
int64_t tell_of(const char *verb, call c, const char *rest);
int64_t counted(call c);
extern const call launches;

/* A queue on device 0, whose context is current from then on. */
lading_queue *device_begin(const char *settings);
void device_end(lading_queue *q);
char *device_memory(int64_t n);
char *pinned_memory(int64_t n);
/* dst += src, of one number of 4 bytes on the device. */
lading_work sum_of(const char *from, char *to);
extern const lading_batch_attr by_hand;
/* main's: 77 where there is no such device. */
#define BATCH_DEVICE_MAIN(name, ...)                                                             \
  int main(int argc, char **argv) {                                                              \
    if (getenv("LADING_TEST_BACKEND")) backend = getenv("LADING_TEST_BACKEND");                  \
    return devices_there() ? CHECK_MAIN(name, argc, argv, __VA_ARGS__) : 77;                     \
  }

#endif
