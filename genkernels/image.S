/* A device's kernels as bytes of the library: IMAGE is the file, NAME the symbol. */
  .section .rodata
  .balign 64
  .global NAME
  .hidden NAME
NAME:
  .incbin IMAGE
  .quad 0
  .section .note.GNU-stack, "", @progbits
