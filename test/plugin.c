/* A plugin with a static lading in it, and (-DHOST) a program that closes it while a kernel is being made for it: install_check.sh. */
#ifdef HOST
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

int main(int argc, char **argv) {
  void *h = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
  if (!h) return fprintf(stderr, "no plugin\n"), 2;
  int (*use)(void);
  *(void **)&use = dlsym(h, "plugin_use");
  const int e = use ? use() : 2;
  dlclose(h);
  nanosleep(&(struct timespec){ 1, 0 }, NULL); /* what goes on meanwhile needs its code */
  return e;
}
#else
#include <lading.h>

int plugin_use(void);
int plugin_use(void) {
  enum { ITEMS = 200, MANY = 200000 };
  static char mem[ITEMS * 96], packed[ITEMS * 96];
  lading_type *t;
  lading_info info;
  int e = lading_type_parse("struct([1,3,1,2,1,5,1,1,1,1,1,3],[0,8,21,24,34,40,60,64,72,80,84,90],[int,char,char,int16,float,char,int,double,double,float,char,char])", &t);
  if (e) return e;
  lading_type_info(t, &info);
  if (info.extent > 96) e = LADING_ERR_RANGE;
  for (int i = 0; i < MANY && !e; i++) e = lading_pack(t, ITEMS, mem, packed, 0, info.size * ITEMS);
  lading_type_free(t);
  return e;
}
#endif
