/* XPMEM: a kernel module by which a process attaches memory of another one that this one has exported, of whatever kind it is (heap,
 * stack, private mappings). A thin layer: exports are of whole pages, so a token says where in them the range is. Without the build
 * option, or where the device is missing, all of it is unsupported. */
#include "direct.h"

#if LDG_XPMEM
#include <unistd.h>
#include <xpmem.h>

enum { MAGIC = 0x58676461 }; /* in a token, with its version below */
enum { VERSION = 1 };
typedef struct content { int64_t magic, version, segment, offset, bytes; } content; /* tokens stay on one machine: no byte order */
_Static_assert(sizeof(content) <= sizeof(lading_xpmem), "what a token says fits into it");

static bool has_device(void) { return access("/dev/xpmem", F_OK) == 0; }
static int64_t page(void) { return sysconf(_SC_PAGESIZE); }
static int64_t pages_of(const content *t) { return (t->offset + t->bytes + page() - 1) / page() * page(); }

int ldg_direct_xpmem_export(const void *at, int64_t bytes, lading_xpmem *out) {
  content t = { MAGIC, VERSION, -1, (int64_t)((uintptr_t)at % (uintptr_t)page()), bytes };
  if (!has_device()) return LADING_ERR_UNSUPPORTED;
  t.segment = xpmem_make((char *)(uintptr_t)at - t.offset, (size_t)pages_of(&t), XPMEM_PERMIT_MODE, (void *)(uintptr_t)0600);
  if (t.segment == -1) return LADING_ERR_SYSTEM;
  memset(out, 0, sizeof *out);
  memcpy(out->bytes, &t, sizeof t);
  return LADING_OK;
}

/* Tokens come from anyone; a segment that is none is the module's to refuse. */
static int read_token(const lading_xpmem *token, content *t) {
  if (!has_device()) return LADING_ERR_UNSUPPORTED;
  memcpy(t, token->bytes, sizeof *t);
  const bool range = t->offset >= 0 && t->offset < page() && t->bytes > 0 && t->bytes < INT64_MAX - 2 * page();
  return range && t->magic == MAGIC && t->version == VERSION ? LADING_OK : LADING_ERR_FORMAT;
}

int ldg_direct_xpmem_withdraw(const lading_xpmem *token) {
  content t;
  const int e = read_token(token, &t);
  if (e) return e;
  return xpmem_remove(t.segment) ? LADING_ERR_SYSTEM : LADING_OK;
}

int ldg_direct_xpmem_attach(const lading_xpmem *token, void **local, int64_t *bytes, void **handle) {
  content t;
  const int e = read_token(token, &t);
  if (e) return e;
  const xpmem_apid_t apid = xpmem_get(t.segment, XPMEM_RDWR, XPMEM_PERMIT_MODE, (void *)(uintptr_t)0600);
  if (apid == -1) return LADING_ERR_SYSTEM;
  char *at = xpmem_attach((struct xpmem_addr){ .apid = apid, .offset = 0 }, (size_t)pages_of(&t), NULL);
  if (at == (void *)-1) {
    xpmem_release(apid);
    return LADING_ERR_SYSTEM;
  }
  *local = at + t.offset, *bytes = t.bytes, *handle = (void *)(intptr_t)apid;
  return LADING_OK;
}

int ldg_direct_xpmem_detach(void *local, void *handle) {
  if (!has_device()) return LADING_ERR_UNSUPPORTED;
  const int kept = xpmem_detach((char *)local - (uintptr_t)local % (uintptr_t)page()), held = xpmem_release((xpmem_apid_t)(intptr_t)handle);
  return kept || held ? LADING_ERR_SYSTEM : LADING_OK;
}

#else

int ldg_direct_xpmem_export(const void *at, int64_t bytes, lading_xpmem *out) { return (void)at, (void)bytes, (void)out, LADING_ERR_UNSUPPORTED; }
int ldg_direct_xpmem_withdraw(const lading_xpmem *token) { return (void)token, LADING_ERR_UNSUPPORTED; }
int ldg_direct_xpmem_attach(const lading_xpmem *token, void **local, int64_t *bytes, void **handle) {
  return (void)token, (void)local, (void)bytes, (void)handle, LADING_ERR_UNSUPPORTED;
}
int ldg_direct_xpmem_detach(void *local, void *handle) { return (void)local, (void)handle, LADING_ERR_UNSUPPORTED; }

#endif
