/* The library's kernels for devices, for this one. */
#include "../../genkernels/cargo.cu"
