#!/usr/bin/env python3
"""Do kernels that are there to ask for lines ahead do so, and those that load by 16 bytes that? `test_asks.py LIBRARY`.

What they move is the same either way, so no other test sees it; and a compiler may drop a prefetch, which has no effect that it knows of: gcc did so with one that was
passed as a function; or load two halves at once. 77: no objdump, or no symbols.
"""
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "genkernels"))
from table import SHARED

# The suffixes of block.inc for what asks or prefetches, and rows that ask for what they are about to write.
FAMILIES = ["w\\d+_plane_pf", "loop_plane_pf"] + ["ldg_k_\\w+_" + suffix for suffix in ("srca", "dsta", "srcf", "dstf", "srcfl", "bothf")] + ["dense_asking_apart", "t\\d+_nest", "t\\d+_staged"]
LEVEL = r"_(base|v\d|neon)(\.(?!cold)\w+)*"  # and what gcc makes of one for some arguments, but not what it takes out of one
FIXED = re.compile(FAMILIES[0] + LEVEL)  # these have a loop each for what is read first, written first, and neither: as many prefetches at least
FUNCTION = re.compile(r"^[0-9a-f]+ <([\w.]+)>:$")
PREFETCH = re.compile(r"\b(prefetch|prfm)")
ELSEWHERE = re.compile(r"\b(?:jmp|b)\s+[0-9a-f]+ <([\w.]+)>$")  # two that are alike: one goes on in the other


# Where registers are wider, those that put 256 bytes, or a window, together from so many pairs.
BY_16 = {"ldg_k_by_16_copy1_v3": 8, "ldg_k_by_16_copy1_v4": 8, "dense_asking_apart_v3": 8, "dense_asking_apart_v4": 8, "ldg_k_shuffle1_by_16_v4": 2, "ldg_k_shuffle4_by_16_v4": 2}
PAIR = re.compile(r"\bvinsert[fi]128\b.*\(")


def functions(text):
    """name -> its lines."""
    found, name = {}, None
    for line in text.splitlines():
        if m := FUNCTION.match(line):
            name = m.group(1)
            found[name] = []
        elif name:
            found[name].append(line)
    return found


def asks(found, name, seen=()):
    if name in seen or name not in found:
        return False
    if sum(1 for line in found[name] if PREFETCH.search(line)) >= (3 if FIXED.fullmatch(name) else 1):
        return True
    ways = [m.group(1) for line in found[name] if (m := ELSEWHERE.search(line))]
    return any(asks(found, way, seen + (name,)) for way in ways if way != name)


def main():
    objdump = shutil.which("objdump")
    if not objdump:
        return 77
    found = functions(subprocess.run([objdump, "-d", "--no-show-raw-insn", sys.argv[1]], capture_output=True, text=True, check=True).stdout)
    if not any(name.startswith("ldg_k_") for name in found):
        return 77
    levels = {m.group(1) for name in found if (m := re.fullmatch(r"ldg_k_w\d+_\w+?" + LEVEL, name))}
    looping = {level for level in levels if SHARED.get(level) not in levels}  # those that have long blocks of their own
    wrong = 0 if levels else 1
    for family in FAMILIES:
        kernels = {name: m.group(1) for name in found if (m := re.fullmatch(family + LEVEL, name))}
        silent = [name for name in kernels if not asks(found, name)]
        none = sorted((looping if family.startswith("loop") else levels) - set(kernels.values()))
        print(f"{family}: {len(kernels)} kernels, {len(silent)} do not ask", *silent, *(f"none of level {level}" for level in none))
        wrong += len(silent) + len(none)
    for name, least in BY_16.items():
        if name[-2:] in levels and sum(1 for line in found.get(name, []) if PAIR.search(line)) < least:
            print(f"{name}: does not load by 16 bytes")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
