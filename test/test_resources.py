#!/usr/bin/env python3
"""What the kernels take of a multiprocessor: `test_resources.py FILE FLAG...`, the file with what nvcc said, called with these flags and -Xptxas -v.

ptxas says it for each architecture that the table names. A kernel that takes more registers than its row, or spills more bytes, has fewer blocks
on a multiprocessor than it was written for, or touches memory that it was not meant to; only a device would show it otherwise. 77: no nvcc.
"""
import pathlib
import re
import sys

# kernel -> (blocks of 256 threads that fit beside each other, by their registers; bytes that may be spilled, once every 4 loads).
BUDGET = {
    "narrow": (8, 0), "wide": (8, 0), "flat": (8, 0), "trees": (5, 0), "transpose": (8, 0), "transpose_sum": (4, 0), "reduce": (4, 20),
    "list": (8, 0), "narrow_one": (8, 0), "wide_one": (8, 0), "list_one": (8, 0), "flat_one": (8, 0), "trees_one": (6, 0), "reduce_one": (4, 0), "sum_one": (8, 0),
    "fused": (5, 12), "pair": (6, 20), "few": (6, 20), "pair_reduce": (4, 56), "fused_reduce": (4, 20), "few_reduce": (4, 56),
}
MORE = {("fused", "sm_100"): 232, ("fused_reduce", "sm_100"): 210}  # bytes
FEWER = {("narrow_one", "sm_100"): 6}  # blocks
REGISTERS, STEP, THREADS = 65536, 8, 256  # of a multiprocessor; in how many a thread gets them; of a block


def blocks(registers):
    return REGISTERS // (THREADS * ((registers + STEP - 1) // STEP * STEP))


def usage(text):
    """(kernel, architecture) -> (registers, bytes of spill stores)."""
    found, key, spill = {}, None, 0
    for line in text.splitlines():
        if m := re.search(r"Compiling entry function 'ldg_d_(\w+)' for '(\w+)'", line):
            key, spill = m.groups(), 0
        elif m := re.search(r"(\d+) bytes spill stores", line):
            spill += int(m.group(1))  # functions that it calls come after its registers, and have a line of their own
            if key in found:
                found[key] = (found[key][0], found[key][1] + int(m.group(1)))
        elif m := re.search(r"Used (\d+) registers", line):
            found[key] = (int(m.group(1)), spill)
    return found


def judge(found, arches):
    wrong = [f"{arch}: ptxas says nothing of {k}" for arch in arches for k in BUDGET if (k, arch) not in found]
    for (kernel, arch), (registers, spill) in sorted(found.items()):
        least, most = BUDGET.get(kernel, (1, 0))
        least = FEWER.get((kernel, arch), least)
        print(f"{arch} {kernel}: {registers} registers, {blocks(registers)} blocks, {spill} bytes spilled")
        if blocks(registers) < least:
            wrong.append(f"{arch} {kernel}: {registers} registers, so {blocks(registers)} blocks, not {least}")
        if spill > MORE.get((kernel, arch), most):
            wrong.append(f"{arch} {kernel}: {spill} bytes are spilled, more than {most}")
    return wrong


def main():
    if len(sys.argv) < 3:
        print("no nvcc here")
        return 77
    said, *flags = sys.argv[1:]
    arches = sorted(set(re.findall(r"sm_\d+", " ".join(flags))))
    wrong = judge(usage(pathlib.Path(said).read_text()), arches)
    print("\n".join(wrong))
    return 1 if wrong else 0


sys.exit(main())
