/* fuzz_replay: runs a fuzzer's target without libFuzzer. `fuzz_replay FOLDER`: over the files, as every build does with the seeds
 * and what was once found. `fuzz_replay FOLDER N SEED`: over N inputs that are made of them by a few random changes, which
 * learns nothing from coverage but takes 10^8 inputs in an hour. An input that kills the program is in `fuzz_replay.input`. */
#include <dirent.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILES_MAX = 1024, INPUT_MAX = 4096 };
typedef struct input { size_t n; uint8_t byte[INPUT_MAX]; } input;
static input *seed[FILES_MAX];
static int seeds;

/* xorshift64*: Vigna, ACM TOMS 42(4), 2016. */
static uint64_t state;
static uint64_t draw(uint64_t below) {
  state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
  return (state * UINT64_C(2685821657736338717) >> 11) % below;
}

static int run_file(const char *path) {
  static uint8_t data[1 << 20];
  FILE *f = fopen(path, "rb");
  if (!f) return perror(path), 1;
  size_t n = fread(data, 1, sizeof data, f);
  fclose(f);
  LLVMFuzzerTestOneInput(data, n);
  if (n <= INPUT_MAX / 2 && seeds < FILES_MAX && (seed[seeds] = malloc(sizeof *seed[0]))) {
    seed[seeds]->n = n;
    memcpy(seed[seeds++]->byte, data, n);
  }
  return 0;
}

/* ---- changes ---- */

static void shift(input *x, size_t at, size_t gone, size_t come) {
  memmove(x->byte + at + come, x->byte + at + gone, x->n - at - gone);
  x->n += come - gone;
}

static void change(input *x) {
  static const uint8_t odd[] = { 0, 1, 2, 3, 0x7f, 0x80, 0x81, 0xfe, 0xff };
  const size_t at = x->n ? draw(x->n) : 0, some = x->n ? 1 + draw(x->n - at < 8 ? x->n - at : 8) : 0;
  const input *other = seed[draw((uint64_t)seeds)];
  switch (draw(8)) {
  case 0: if (x->n) x->byte[at] ^= (uint8_t)(1u << draw(8)); return;
  case 1: if (x->n) x->byte[at] = (uint8_t)draw(256); return;
  case 2: if (x->n) x->byte[at] = odd[draw(sizeof odd)]; return;
  case 3: if (x->n) x->byte[at] = (uint8_t)(x->byte[at] + draw(9) - 4); return;
  case 4: shift(x, at, some, 0); return;
  case 5:
    if (x->n + some > INPUT_MAX) return;
    shift(x, at, 0, some);
    for (size_t i = 0; i < some; i++) x->byte[at + i] = (uint8_t)draw(256);
    return;
  case 6: /* a piece of itself, elsewhere */
    if (x->n < some || !some) return;
    memmove(x->byte + draw(x->n - some + 1), x->byte + at, some);
    return;
  default: /* the rest of another one */
    if (!other->n || at + other->n > INPUT_MAX) return;
    const size_t from = draw(other->n);
    memcpy(x->byte + at, other->byte + from, other->n - from);
    x->n = at + other->n - from;
  }
}

/* In memory that outlives a crash. */
static input *kept(void) {
  FILE *f = fopen("fuzz_replay.input", "w+b");
  if (!f) return perror("fuzz_replay.input"), NULL;
  static const input none;
  void *p = MAP_FAILED;
  if (fwrite(&none, sizeof none, 1, f) == 1 && fflush(f) == 0) p = mmap(NULL, sizeof none, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0);
  fclose(f);
  return p == MAP_FAILED ? NULL : p;
}

static int run_changed(int64_t n) {
  input *x = kept();
  if (!x || !seeds) return fprintf(stderr, "nothing to change, or nowhere to keep it\n"), 1;
  for (int64_t i = 0; i < n; i++) {
    const input *s = seed[draw((uint64_t)seeds)];
    memcpy(x, s, offsetof(input, byte) + s->n);
    for (uint64_t k = 1 + draw(4); k > 0; k--) change(x);
    uint8_t *exact = malloc(x->n ? x->n : 1); /* so that sanitizers see its end */
    if (!exact) return 1;
    memcpy(exact, x->byte, x->n);
    LLVMFuzzerTestOneInput(exact, x->n);
    free(exact);
  }
  return remove("fuzz_replay.input");
}

int main(int argc, char **argv) {
  char path[4096];
  int files = 0, failed = 0;
  DIR *d = argc == 2 || argc == 4 ? opendir(argv[1]) : NULL;
  if (!d) return fprintf(stderr, "usage: fuzz_replay FOLDER [INPUTS SEED]\n"), 2;
  for (struct dirent *e; (e = readdir(d)) != NULL;) {
    if (e->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", argv[1], e->d_name);
    failed |= run_file(path);
    files++;
  }
  closedir(d);
  printf("%d files\n", files);
  if (argc == 4 && !failed) {
    const int64_t n = strtoll(argv[2], NULL, 10);
    state = strtoull(argv[3], NULL, 10) | 1;
    failed = run_changed(n);
    if (!failed) printf("%" PRId64 " inputs made of %d\n", n, seeds);
  }
  return failed || files == 0;
}
