/* calibrate: measures this machine for the model (base_model.h) and writes its file. */
#ifndef LBENCH_CALIBRATE_H
#define LBENCH_CALIBRATE_H

#include <stdbool.h>

#define CALIBRATE_SECONDS 40
/* Measures for about `seconds`, then writes `path`, or with NULL the file that the library reads. An exit status. */
int calibrate_machine(const char *path, double seconds);

#endif
