/* A device's kernels as bytes of the library: IMAGE is the file, NAME the symbol. */
#if defined(__CET__) && defined(__has_include)
#if __has_include(<cet.h>)
#include <cet.h> /* it says that there is no code, or the whole library would lose its marks */
#endif
#endif
  .section .rodata
  .balign 64
  .global NAME
  .hidden NAME
NAME:
  .incbin IMAGE
  .quad 0
  .section .note.GNU-stack, "", @progbits
