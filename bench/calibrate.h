/* calibrate: measures this machine for the model (base_model.h) and writes its file. */
#ifndef LBENCH_CALIBRATE_H
#define LBENCH_CALIBRATE_H

#include "base_model.h"

#define CALIBRATE_SECONDS 40
/* Measures for about `seconds`, then writes `path`, or with NULL the file that the library reads. What the model in use knows of devices stays. An exit status. */
int calibrate_machine(const char *path, double seconds);
/* The same of what the model knows of devices; the rest stays as the model in use has it. */
int calibrate_device(const char *backend, const char *path);

/* Where it will be written, its folder made if `*path` is NULL: who cannot write there wants to know before all is measured. An exit status. */
int calibrate_target(const char **path);
int calibrate_save(const ldg_model *m, const char *path);
void calibrate_settle(int64_t *v, int rows, int points);

#endif
