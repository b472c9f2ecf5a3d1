#!/usr/bin/env python3
"""Writes bench/suites/*.suite from formulas: `make_suites.py [FOLDER]`; `make_suites.py --random SEED FOLDER` writes random.suite
instead, of layouts that nobody chose, `--large` large.suite, of those that no last cache holds, and `--columns` columns.suite, of those whose lines are of few sets.

Every problem is stated twice, as a type and as a hand-written loop. Bytes, blocks and run lengths are computed here from the
loop, by a few lines that know nothing of the library, and stated in the line, so that `lbench verify` compares three
independent sources. Sections in comments are those of workloads.md.
"""
import pathlib
import sys

MASK = (1 << 64) - 1
ENUMERATE = 1_100_000  # runs; larger messages are counted by formula


# ---- random numbers, as in bench/expand.c ---------------------------------------------------------------------------

class Split:
    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        return z ^ z >> 31

    def between(self, lo, hi):
        return lo + self.next() % (hi - lo + 1)


class Macro:
    """A list with a short name: text for the suite, numbers for the facts."""
    def __init__(self, text, values):
        self.text, self.values = text, values

    def __str__(self):
        return self.text


def shuffle(n, size, seed, scale=1):
    rng, a = Split(seed), list(range(size))
    for i in range(size):
        j = rng.next() % size
        a[i], a[j] = a[j], a[i]
    return Macro(f"shuffle({n},{size},{seed}" + (f",{scale})" if scale != 1 else ")"), [v * scale for v in a[:n]])


def iota(n, start, step):
    return Macro(f"iota({n},{start},{step})", [start + i * step for i in range(n)])


def wrap(n, step, size, scale=1):
    return Macro(f"wrap({n},{step},{size}" + (f",{scale})" if scale != 1 else ")"), [i * step % size * scale for i in range(n)])


def grid(n, step, m, step2):
    return Macro(f"grid({n},{step},{m},{step2})", [i * step + j * step2 for i in range(n) for j in range(m)])


def lengths(n, lo, hi, seed):
    rng = Split(seed)
    return Macro(f"lengths({n},{lo},{hi},{seed})", [rng.between(lo, hi) for _ in range(n)])


def starts(n, lo, hi, seed, gap_lo, gap_hi):
    rng, gaps, at, out = Split(seed), Split(seed + 1), 0, []
    for _ in range(n):
        out.append(at)
        at += rng.between(lo, hi) + gaps.between(gap_lo, gap_hi)
    return Macro(f"starts({n},{lo},{hi},{seed},{gap_lo},{gap_hi})", out)


# ---- hand loops: what they say and which runs they move ---------------------------------------------------------------

class Nest:
    """Loops dims = [(n, stride), ...], outermost first, around `cell` elements of `width` bytes or a run of `run`."""
    def __init__(self, width, dims=(), off=0, run=0, cell=1):
        self.width, self.dims, self.off, self.run, self.cell = width, list(dims), off, run, cell
        self.length = width * (run or cell)

    def text(self):
        return " ".join([f"{self.width}" + (f"x{self.cell}" if self.cell > 1 else "")] + ([f"@{self.off}"] if self.off else []) +
                        [f"{n}x{s}" for n, s in self.dims] + ([f":{self.run}"] if self.run else []))

    def count(self):
        n = 1
        for d, _ in self.dims:
            n *= d
        return n

    def runs(self):
        def level(i, at):
            if i == len(self.dims):
                yield at, self.length
                return
            n, s = self.dims[i]
            for k in range(n):
                yield from level(i + 1, at + k * s)
        yield from level(0, self.off)

    def formula(self):
        """(blocks, length of each or None when they differ): cells minus the joints where one ends and the next begins."""
        cells, last, joints, length, all_so_far = self.count(), 0, 0, self.length, True
        outer = cells
        for n, s in reversed(self.dims):
            outer //= n
            touch = n > 1 and s == last + self.length
            if touch:
                joints += (n - 1) * outer
                length = length * n if all_so_far and length else None
            elif n > 1:
                all_so_far = False
            last += (n - 1) * s
        return cells - joints, length


class List:
    """`cell` elements or a run of `run`, or lens[i] elements, at each at[i] (in elements)."""
    def __init__(self, width, at, off=0, run=0, cell=1, lens=None):
        self.width, self.at, self.off, self.run, self.cell, self.lens = width, at, off, run, cell, lens

    def text(self):
        return " ".join([f"{self.width}" + (f"x{self.cell}" if self.cell > 1 else "")] + ([f"@{self.off}"] if self.off else []) +
                        [f"[{self.at}]"] + ([f"[{self.lens}]"] if self.lens else []) + ([f":{self.run}"] if self.run else []))

    def count(self):
        return len(self.at.values)

    def runs(self):
        same = [self.run or self.cell] * self.count()
        for a, n in zip(self.at.values, self.lens.values if self.lens else same):
            if n:
                yield self.off + a * self.width, n * self.width


class Record:
    """n items `stride` apart of a struct that bench/hand.c knows by name; fields = [(at, bytes), ...]."""
    def __init__(self, name, n, stride, fields, off=0):
        self.name, self.n, self.stride, self.fields, self.off = name, n, stride, fields, off

    def text(self):
        return " ".join([self.name] + ([f"@{self.off}"] if self.off else []) + [f"{self.n}x{self.stride}"])

    def count(self):
        return self.n * len(self.fields)

    def runs(self):
        for i in range(self.n):
            for at, n in self.fields:
                yield self.off + i * self.stride + at, n


def merged(parts):
    """Maximal runs of the whole stream."""
    start = end = None
    for part in parts:
        for at, n in part.runs():
            if at == end:
                end += n
                continue
            if end is not None:
                yield end - start
            start, end = at, at + n
    if end is not None:
        yield end - start


def facts(parts, count):
    if sum(p.count() for p in parts) <= ENUMERATE:
        sizes = list(merged(parts))
        out = {"bytes": sum(sizes), "blocks": len(sizes)}
        return dict(out, min=min(sizes), max=max(sizes)) if sizes and count == 1 else out
    assert len(parts) == 1
    blocks, length = parts[0].formula()
    out = {"bytes": parts[0].count() * parts[0].length, "blocks": blocks}
    return dict(out, min=length, max=length) if length and count == 1 else out


# ---- lines ------------------------------------------------------------------------------------------------------------

class Suite:
    def __init__(self, name, about):
        self.name, self.lines, self.names = name, [f"# {line}" for line in about.strip().split("\n")], set()
        self.lines += ["# Written by tools/make_suites.py. name | count | hand-written loop | type | facts; see bench/README.md.", ""]

    def note(self, text):
        self.lines += ["", f"# {text}"]

    def add(self, name, kind, *parts, count=1, origin=0, array=None, shift=0, table=None):
        """table = (bytes, blocks) of workloads.md section 3, asserted against the loop."""
        assert name not in self.names, name
        self.names.add(name)
        have = facts(parts, count) if parts else {}
        if table:
            assert (have["bytes"], have["blocks"]) == table, (name, have, table)
        where = {k: v for k, v in (("origin", origin), ("array", array), ("shift", shift)) if v}
        text = " ".join(f"{k}={v}" for k, v in {**where, **have}.items())
        hand = " + ".join(p.text() for p in parts) or "-"
        self.lines.append(f"{name} | {count} | {hand} | {kind}" + (f" | {text}" if text else ""))

    def write(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.name}.suite").write_text("\n".join(self.lines) + "\n")
        print(f"{self.name}: {len(self.names)} problems")


def text_list(values):
    return "[" + ",".join(str(v) for v in values) + "]"


def struct(*fields):
    """fields: (blocklength, displacement, type)"""
    return f"struct({text_list(f[0] for f in fields)},{text_list(f[1] for f in fields)},{text_list(f[2] for f in fields)})"


def sub(sizes, subsizes, begin, kind, order="C"):
    return f"subarray({text_list(sizes)},{text_list(subsizes)},{text_list(begin)},{order},{kind})"


def arena(sizes):
    """Arrays one after another, each rounded up to 64 bytes: their offsets, and the size of all."""
    at, out = 0, []
    for s in sizes:
        out.append(at)
        at += (s + 63) // 64 * 64
    return out, at


C16 = "contiguous(2,double)"
ELEMS = {1: "byte", 2: "int16", 4: "float", 8: "double", 16: C16, 32: "contiguous(4,double)"}


def bytes_loop(length, dims, off=0):
    """A loop over runs of bytes, with the widest element that fits."""
    if length == 16:
        return Nest(16, dims, off)
    width = next(w for w in (8, 4, 2, 1) if length % w == 0)
    return Nest(width, dims, off, run=length // width if length > width else 0)


def loops(width, run, dims, swap):
    """Type and hand-written loop of dims = [(n, stride), ...], innermost first, the two innermost swapped if so."""
    order = list(reversed(dims))
    if swap:
        order[-1], order[-2] = order[-2], order[-1]
    kind = f"contiguous({run},{ELEMS[width]})"
    for n, stride in reversed(order):
        kind = f"hvector({n},1,{stride},{kind})"
    return kind, Nest(width, order, run=run if run > 1 else 0)


def main():
    import suites_field
    import suites_own
    import suites_random
    nobodys = {"--random": suites_random.suite, "--large": suites_random.large_suite, "--columns": suites_random.columns_suite}
    if sys.argv[1:] and sys.argv[1] in nobodys:
        if len(sys.argv) != 4 or not sys.argv[2].isdigit():
            sys.exit(f"usage: make_suites.py {sys.argv[1]} SEED FOLDER")
        nobodys[sys.argv[1]](int(sys.argv[2])).write(pathlib.Path(sys.argv[3]))
        return
    if len(sys.argv) > 2 or any(a.startswith("-") for a in sys.argv[1:]):
        sys.exit("usage: make_suites.py [FOLDER] | --random SEED FOLDER | --large SEED FOLDER | --columns SEED FOLDER")
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent / "bench/suites")
    for suite in suites_field.all_suites() + suites_own.all_suites():
        suite.write(folder)


if __name__ == "__main__":
    sys.modules["make_suites"] = sys.modules["__main__"]
    main()
