/* base: the error codes in words. */
#include "base.h"

int lading_version(void) { return LADING_VERSION; }

const char *lading_strerror(int code) {
  switch (code) {
  case LADING_OK: return "success";
  case LADING_ERR_ARG: return "an argument is out of its domain";
  case LADING_ERR_NOMEM: return "memory is exhausted";
  case LADING_ERR_RANGE: return "a byte range lies outside the stream, or a buffer is too small";
  case LADING_ERR_OVERFLOW: return "a product or sum leaves 64 bits";
  case LADING_ERR_FORMAT: return "text, or bytes from the wire, that do not parse";
  case LADING_ERR_UNSUPPORTED: return "not defined for these arguments, or not in this build or on this system";
  case LADING_ERR_DEVICE: return "a device or its driver failed";
  case LADING_ERR_SYSTEM: return "a system call failed";
  case LADING_ERR_DEPTH: return "nested deeper than the limit on levels";
  case LADING_NEED_LAYOUT: return "no error: the layout is asked for first, by the bytes of the reply";
  case LADING_BATCH_FULL: return "no error, but not taken: the batch is full; flush or wait, then add again";
  case LADING_NOT_MAPPED: return "no error: none of the mapped ranges holds these bytes";
  default: return "an unknown error code";
  }
}
