/* xpmem: a range that one process exports is attached and copied by another. Where the library was built without it, or the machine
 * has no such device, every call says so and writes nothing. */
#include "random_types.h"
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool here(void) {
  static char memory[64];
  lading_xpmem token;
  const int rc = lading_xpmem_export(memory, sizeof memory, &token);
  ck_assert(rc == LADING_OK || rc == LADING_ERR_UNSUPPORTED);
  if (rc == LADING_OK) ck_assert_int_eq(lading_xpmem_withdraw(&token), LADING_OK);
  return rc == LADING_OK;
}

START_TEST(arguments) {
  lading_xpmem token = { { 0 } };
  void *local, *handle;
  int64_t bytes;
  ck_assert_int_eq(lading_xpmem_export(NULL, 1, &token), LADING_ERR_ARG);
  ck_assert_int_eq(lading_xpmem_export(&token, 0, &token), LADING_ERR_ARG);
  ck_assert_int_eq(lading_xpmem_export(&token, INT64_MAX, &token), LADING_ERR_ARG);
  ck_assert_int_eq(lading_xpmem_export(&token, 1, NULL), LADING_ERR_ARG);
  ck_assert_int_eq(lading_xpmem_withdraw(NULL), LADING_ERR_ARG);
  ck_assert_int_eq(lading_xpmem_attach(NULL, &local, &bytes, &handle), LADING_ERR_ARG);
  ck_assert_int_eq(lading_xpmem_attach(&token, NULL, &bytes, &handle), LADING_ERR_ARG);
  ck_assert_int_eq(lading_xpmem_attach(&token, &local, NULL, &handle), LADING_ERR_ARG);
  ck_assert_int_eq(lading_xpmem_attach(&token, &local, &bytes, NULL), LADING_ERR_ARG);
  ck_assert_int_eq(lading_xpmem_detach(NULL, NULL), LADING_ERR_ARG);
}
END_TEST

START_TEST(unsupported_or_hostile) {
  lading_xpmem token, before;
  char mine[8];
  void *local = mine, *handle = mine;
  int64_t bytes = 77;
  const int want = here() ? LADING_ERR_FORMAT : LADING_ERR_UNSUPPORTED;
  memset(&token, 0x3C, sizeof token);
  before = token;
  if (want == LADING_ERR_UNSUPPORTED) ck_assert_int_eq(lading_xpmem_export(mine, sizeof mine, &token), want);
  if (want == LADING_ERR_UNSUPPORTED) ck_assert_int_eq(lading_xpmem_detach(mine, NULL), want);
  ck_assert_int_eq(lading_xpmem_attach(&token, &local, &bytes, &handle), want);
  ck_assert_int_eq(lading_xpmem_withdraw(&token), want);
  ck_assert(!memcmp(&token, &before, sizeof token) && local == mine && handle == mine && bytes == 77);
  if (want == LADING_ERR_UNSUPPORTED) printf("xpmem: round trip SKIPPED: not built in, or no /dev/xpmem here\n");
}
END_TEST

/* The child adds one to every second number of the parent's private memory. */
static int child(const lading_xpmem *token, int64_t n) {
  void *local, *handle;
  int64_t bytes;
  if (lading_xpmem_attach(token, &local, &bytes, &handle) || bytes != 8 * n) return 1;
  for (int64_t i = 0; i < n; i += 2) ((int64_t *)local)[i]++;
  return lading_xpmem_detach(local, handle) ? 1 : 0;
}

START_TEST(round_trip) {
  static int64_t numbers[5000];
  int64_t *at = numbers + 3;
  lading_xpmem token;
  int status;
  if (!here()) return;
  for (int64_t i = 0; i < 4900; i++) at[i] = i;
  ck_assert_int_eq(lading_xpmem_export(at, 8 * 4900, &token), LADING_OK);
  const pid_t pid = fork();
  if (pid == 0) _exit(child(&token, 4900));
  ck_assert(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  for (int64_t i = 0; i < 4900; i++) ck_assert_int_eq(at[i], i + (i % 2 == 0));
  ck_assert_int_eq(lading_xpmem_withdraw(&token), LADING_OK);
}
END_TEST

int main(int argc, char **argv) {
  return CHECK_MAIN("xpmem", argc, argv, arguments, unsupported_or_hostile, round_trip);
}
