#!/usr/bin/env python3
"""What the results of gpu_all.sh come to: `gpu_report.py DIR`. First what was asked, a line each: met, NOT MET, or no data, and what was
measured; then more of every CSV file. "No data" is not "met": of a suite that was cut short, what is there is judged and said to be cut."""
import csv
import math
import pathlib
import sys

LARGE = 1 << 20  # packed bytes from which on a problem is large
WAYS = ("pack", "unpack")


def number(row, key):
    try:
        return float(row.get(key) or 0)
    except ValueError:
        return 0.0


def ratio(row, way, rival):
    """The rival's time over lading's; 0 where lading was not measured, None where the rival has no way to do it: its field is empty."""
    own, other = number(row, f"{way}_lading_ns"), number(row, f"{way}_{rival}_ns")
    if not row.get(f"{way}_{rival}_ns"):
        return None
    return share(other, own)


def share(what, of):
    return what / of if of else 0


def read_rows(path):
    """Whole rows: the last one of a file that was cut short may be half of one, or end in half a number."""
    lines = (line for line in path.open() if line.endswith("\n") and not line.startswith("#"))
    return [r for r in csv.DictReader(lines) if None not in r and None not in r.values()]


def both_ways(rows, value):
    return [(value(r, way), f"{way} of {r['name']}") for r in rows for way in WAYS]


class Results:
    def __init__(self, folder):
        self.files = {p.stem: read_rows(p) for p in sorted(folder.glob("*.csv")) if p.stem != "steps"}
        steps = folder / "steps.csv"
        log = folder / "tests.log"
        self.tests = log.read_text(errors="replace").strip().rsplit("\n", 1)[-1] if log.exists() else "" # how many passed
        self.steps = dict(line.strip().rsplit(",", 1) for line in steps.open()) if steps.exists() else {}

    def of(self, *begins):
        """Rows of files whose names begin so, and whether one of them was cut short or is missing."""
        names = [n for n in self.files if n.startswith(begins)]
        return [r for n in names for r in self.files[n]], not names or any(self.steps.get(n, "ok") != "ok" for n in names)


# ---- what was asked ----


def least_of(values, goal, unit=""):
    """The verdict on pairs (value, name), of which every one is to reach the goal: one without a number has not."""
    values = [v for v in values if v[0] is not None]
    known = sorted(v for v in values if v[0] > 0)
    if not known:
        return None, "nothing was measured"
    good, without = sum(v >= goal for v, _ in known), len(values) - len(known)
    words = f", {without} without a number" if without else ""
    met = False if good < len(known) else None if without else True
    return met, f"{good} of {len(values)}{words}; least {known[0][0]:.3g}{unit}, {known[0][1]}"


def ended(results, begins):
    """Steps are to have ended well; a step that had no time says nothing."""
    steps = {n: r for n, r in results.steps.items() if n.startswith(begins)}
    bad = [n for n, r in steps.items() if r == "failed"]
    if bad:
        return False, "failed: " + " ".join(bad)
    rest = [n for n, r in steps.items() if r != "ok"]
    if rest or not steps:
        return None, "did not run to an end: " + " ".join(rest) if rest else "did not run"
    return True, f"{len(steps)} ended well" if len(steps) > 1 else "ended well"


def against_launch(ns):
    return f"{ns:.0f} ns more" if ns > 0 else f"{-ns:.0f} ns less" if ns < 0 else "as much"


def over_launch(rows):
    """ns of an enqueue beyond a bare launch; less than none where it launches a graph, which is faster."""
    over = sorted((number(r, "enqueue_ns") - number(r, "launch_ns"), r["name"]) for r in rows if number(r, "enqueue_ns") and number(r, "launch_ns"))
    if not over:
        return None, "nothing was measured"
    return over[-1][0] <= 1000, f"against a bare launch median {against_launch(over[len(over) // 2][0])}, slowest {against_launch(over[-1][0])}, {over[-1][1]}"


def wrong_bytes(results):
    rows, _ = results.of("device", "pinned", "host", "sums")
    notes = [r["note"] for r in rows if r.get("note")]
    return (not notes if rows else None), "; ".join(notes[:3]) if notes else f"{len(rows)} problems"


def claims(results):
    device, cut = results.of("device-ddtbench", "device-tempi")
    every, cut_every = results.of("device")
    ipc, cut_ipc = results.of("ipc")
    large = [r for r in device if number(r, "bytes") >= LARGE]
    floors = {g: [r for r in large if lo <= number(r, "min_block") < hi] for g, lo, hi in (("wide", 32, math.inf), ("narrow", 4, 32))}
    met, measured = ended(results, "tests")
    yield "all tests pass on the device", met, f"{measured}, {results.tests}", False
    yield "compute-sanitizer finds nothing", *ended(results, ("memcheck", "racecheck", "synccheck", "initcheck", "sanitizers")), False
    yield "every way gives the right bytes", *wrong_bytes(results), cut_every
    yield "blocks of 32 B or more, 1 MiB or more: 0.9 of the sector floor", *least_of(both_ways(floors["wide"], lambda r, w: number(r, f"{w}_of_floor")), 0.9), cut
    yield "blocks of 4 to 31 B, 1 MiB or more: 0.7 of the sector floor", *least_of(both_ways(floors["narrow"], lambda r, w: number(r, f"{w}_of_floor")), 0.7), cut
    yield "1.0 of the kernel by hand, everywhere", *least_of(both_ways(every, lambda r, w: ratio(r, w, "hand")), 1.0, "x"), cut_every
    many = [r for r in every if number(r, "blocks") >= 1000]
    yield "1000 blocks or more: 100 times one copy a block", *least_of(both_ways(many, lambda r, w: ratio(r, w, "blocks")), 100, "x"), cut_every
    yield "an enqueue with hints takes the host a launch and 1 us at most", *over_launch(every), cut_every
    yield "direct IPC: 1.5 times pack, copy, unpack", *least_of([(number(r, "packed_of_direct"), r["name"]) for r in ipc], 1.5, "x"), cut_ipc
    batch, cut_batch = results.of("batch")
    sparse = [r for r in batch if number(r, "requests") == 32 and 0 < number(r, "block") <= 32]
    late = [(share(0.3, number(r, "host_us_least")), f"{number(r, 'host_us_least'):.2f} us, {r['problem']}") for r in batch if number(r, "requests") >= 32]
    yield "batches of 32 sparse requests: 5 times a launch each", *least_of([(number(r, "against_launches"), r["problem"]) for r in sparse], 5.0, "x"), cut_batch
    yield "batches: 0.95 of the best other way, everywhere", *least_of([(number(r, "against_best"), f"{r['requests']} of {r['problem']}") for r in batch], 0.95, "x"), cut_batch
    yield "batches of 32 and more: the host pays 0.3 us a request", *least_of(late, 1.0, " of what may be"), cut_batch


def print_claims(results):
    print("asked, measured, met:")
    for asked, met, measured, cut in claims(results):
        verdict = "no data" if met is None else "met" if met else "NOT MET"
        print(f"  {verdict:8} {asked}: {measured}{' (cut short)' if cut and met is not None else ''}")


# ---- more ----


def line(title, values, goal):
    values = sorted((v, name) for v, name in values if v and v > 0)
    if not values:
        return
    mean = math.exp(sum(math.log(v) for v, _ in values) / len(values))
    good = sum(v >= goal for v, _ in values)
    print(f"  {title}: {good} of {len(values)} at {goal:g} or more; geometric mean {mean:.2f}, least {values[0][0]:.2f} ({values[0][1]})")


def print_file(name, rows):
    print(f"{name}: {len(rows)} rows{', ' + rows[0]['device'] if rows and 'device' in rows[0] else ''}")
    for row in rows:
        if row.get("note"):
            print(f"  WRONG: {row['note']}")
    if name.startswith("ipc"):
        return line("directly against pack, copy, unpack", [(number(r, "packed_of_direct"), r["name"]) for r in rows], 1.5)
    if name.startswith("batch"):
        few = [r for r in rows if 16 <= number(r, "requests") <= 32]
        line("16 to 32 requests, against a launch each", [(number(r, "against_launches"), r["problem"]) for r in few], 1.0)
        return line("16 to 32 requests, against the best of the others", [(number(r, "against_best"), r["problem"]) for r in few], 1.0)
    for way in WAYS:
        line(f"{way} of the floor, 1 MiB or more", [(number(r, f"{way}_of_floor"), r["name"]) for r in rows if number(r, "bytes") >= LARGE], 0.7)
        for rival, words in (("hand", "kernels by hand"), ("box", "2-D and 3-D copies of the driver"), ("blocks", "a copy a block"), ("staged", "the host and a copy")):
            line(f"{way} against {words}", [(ratio(r, way, rival), r["name"]) for r in rows], 1.0)


def main():
    if len(sys.argv) != 2 or not pathlib.Path(sys.argv[1]).is_dir():
        sys.exit(__doc__)
    results = Results(pathlib.Path(sys.argv[1]))
    print_claims(results)
    for name, rows in results.files.items():
        print_file(name, rows)


main()
