/* fuzz_replay: runs a fuzzer's target over files, `fuzz_replay FOLDER`, where there is no libFuzzer. Every build tests the
 * seeds and what was once found. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path) {
  static uint8_t data[1 << 20];
  FILE *f = fopen(path, "rb");
  if (!f) return perror(path), 1;
  size_t n = fread(data, 1, sizeof data, f);
  fclose(f);
  LLVMFuzzerTestOneInput(data, n);
  return 0;
}

int main(int argc, char **argv) {
  char path[4096];
  int files = 0, failed = 0;
  DIR *d = argc == 2 ? opendir(argv[1]) : NULL;
  if (!d) return fprintf(stderr, "usage: fuzz_replay FOLDER\n"), 2;
  for (struct dirent *e; (e = readdir(d)) != NULL;) {
    if (e->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", argv[1], e->d_name);
    failed |= run_file(path);
    files++;
  }
  closedir(d);
  printf("%d files\n", files);
  return failed || files == 0;
}
