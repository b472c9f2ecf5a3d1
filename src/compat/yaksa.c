/* yaksa: the library itself, info objects, requests. There is no global state, nothing is pending when a call returns, and no
 * hint is needed: most of it is a promise kept by doing nothing. */
#include "yaksa_type.h"

int yaksa_init(yaksa_info_t info) {
  (void)info;
  return YAKSA_SUCCESS;
}

int yaksa_finalize(void) { return YAKSA_SUCCESS; }

/* ---- info ---- */

static char the_info; /* all of them: programs make one a message, and some forget to free it */

int yaksa_info_create(yaksa_info_t *info) {
  if (!info) return YAKSA_ERR__INTERNAL;
  *info = &the_info;
  return YAKSA_SUCCESS;
}

int yaksa_info_free(yaksa_info_t info) {
  (void)info;
  return YAKSA_SUCCESS;
}

int yaksa_info_keyval_append(yaksa_info_t info, const char *key, const void *val, unsigned int vallen) {
  (void)info, (void)key, (void)val, (void)vallen;
  return YAKSA_SUCCESS;
}

/* ---- requests ---- */

int yaksa_request_test(yaksa_request_t request, int *completed) {
  if (request != YAKSA_REQUEST__NULL || !completed) return YAKSA_ERR__INTERNAL; /* none of ours */
  *completed = 1;
  return YAKSA_SUCCESS;
}

int yaksa_request_wait(yaksa_request_t request) { return request == YAKSA_REQUEST__NULL ? YAKSA_SUCCESS : YAKSA_ERR__INTERNAL; }

/* ---- errors ---- */

int ldg_yaksa_error(int e) {
  switch (e) {
  case LADING_OK: return YAKSA_SUCCESS;
  case LADING_ERR_NOMEM: return YAKSA_ERR__OUT_OF_MEM;
  case LADING_ERR_UNSUPPORTED: return YAKSA_ERR__NOT_SUPPORTED;
  default: return YAKSA_ERR__INTERNAL;
  }
}
