/* object: looks at sections and symbols. */
#include "object.h"

#include <elf.h>

typedef struct image { const char *bytes; int64_t n; const Elf64_Shdr *section; int sections; } image;

static bool inside(const image *m, uint64_t at, uint64_t n) { return at <= (uint64_t)m->n && n <= (uint64_t)m->n - at; }

/* What is loaded and read-only must stand in the file where it is to be in memory. The dynamic linker's own tables go unused. */
static const char *in_place(const image *m) {
  for (int i = 0; i < m->sections; i++) {
    const Elf64_Shdr *s = &m->section[i];
    if ((s->sh_type == SHT_RELA || s->sh_type == SHT_REL) && s->sh_size) return "it has relocations";
    if (s->sh_type == SHT_PROGBITS && (s->sh_flags & SHF_ALLOC) && (s->sh_flags & SHF_WRITE) && s->sh_size) return "it has variables";
    if (s->sh_type == SHT_PROGBITS && (s->sh_flags & SHF_ALLOC) && s->sh_addr != s->sh_offset) return "its sections are moved when loaded";
  }
  return NULL;
}

static const char *find(const image *m, const char *symbol, int64_t *entry) {
  for (int i = 0; i < m->sections; i++) {
    const Elf64_Shdr *s = &m->section[i];
    if (s->sh_type != SHT_DYNSYM || s->sh_link >= (uint32_t)m->sections || !inside(m, s->sh_offset, s->sh_size)) continue;
    const Elf64_Shdr *names = &m->section[s->sh_link];
    const Elf64_Sym *sym = (const Elf64_Sym *)(const void *)(m->bytes + s->sh_offset);
    if (!inside(m, names->sh_offset, names->sh_size)) continue;
    for (uint64_t k = 0; k < s->sh_size / sizeof *sym; k++) {
      if (sym[k].st_name + strlen(symbol) + 1 > names->sh_size || strcmp(m->bytes + names->sh_offset + sym[k].st_name, symbol) != 0) continue;
      *entry = (int64_t)sym[k].st_value;
      return inside(m, sym[k].st_value, sym[k].st_size) ? NULL : "its kernel is outside of the file";
    }
  }
  return "it has no such symbol";
}

const char *object_entry(const char *bytes, int64_t n, const char *symbol, int64_t *entry) {
  image m = { .bytes = bytes, .n = n };
  const Elf64_Ehdr *h = (const Elf64_Ehdr *)(const void *)bytes;
  if (n < (int64_t)sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64) return "it is no shared object";
  if (h->e_shentsize != sizeof(Elf64_Shdr) || !inside(&m, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr))) return "it is cut off";
  m.section = (const Elf64_Shdr *)(const void *)(bytes + h->e_shoff), m.sections = h->e_shnum;
  const char *why = in_place(&m);
  return why ? why : find(&m, symbol, entry);
}
