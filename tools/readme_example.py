#!/usr/bin/env python3
"""Takes the first ```c block out of a README: `readme_example.py README.md OUT.c`. The tests compile and run it."""
import pathlib
import re
import sys


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    text = pathlib.Path(sys.argv[1]).read_text()
    block = re.search(r"^```c\n(.*?)^```$", text, re.M | re.S)
    if not block:
        sys.exit(f"{sys.argv[1]}: no ```c block")
    line = text[:block.start(1)].count("\n") + 1
    pathlib.Path(sys.argv[2]).write_text(f'#line {line} "README.md"\n{block.group(1)}')


if __name__ == "__main__":
    main()
