#!/usr/bin/env python3
"""What the CSV files of `lbench time --where` in a folder come to, beside what they are meant to show: `gpu_report.py DIR`."""
import csv
import math
import pathlib
import sys


def number(row, key):
    return float(row.get(key) or 0)


def ratio(row, way, rival):
    """The rival's time over lading's; 0 where one of them was not measured."""
    own, other = number(row, f"{way}_lading_ns"), number(row, f"{way}_{rival}_ns")
    return other / own if own and other else 0


def of_floor(row, way):
    return number(row, f"{way}_of_floor")


def line(title, values, goal):
    values = sorted((v, name) for v, name in values if v > 0)
    if not values:
        return print(f"  {title}: nothing measured")
    mean = math.exp(sum(math.log(v) for v, _ in values) / len(values))
    good = sum(v >= goal for v, _ in values)
    print(f"  {title}: {good} of {len(values)} at {goal:g} or more; geometric mean {mean:.2f}, least {values[0][0]:.2f} ({values[0][1]})")


def report(path):
    rows = list(csv.DictReader(path.open()))
    print(f"{path.stem}: {len(rows)} problems, {rows[0]['device'] if rows else 'no device'}")
    for row in rows:
        if row.get("note"):
            print(f"  WRONG: {row['note']}")
    if path.stem.startswith("ipc"):
        return line("directly against pack, copy, unpack", [(number(r, "packed_of_direct"), r["name"]) for r in rows], 1.5)
    large = [r for r in rows if number(r, "bytes") >= 1 << 20]
    for way in ("pack", "unpack"):
        wide = [r for r in large if number(r, "min_block") >= 32]
        narrow = [r for r in large if 4 <= number(r, "min_block") < 32]
        line(f"{way} of the floor, 1 MiB or more, blocks of 32 bytes or more", [(of_floor(r, way), r["name"]) for r in wide], 0.9)
        line(f"{way} of the floor, 1 MiB or more, blocks of 4 to 31 bytes", [(of_floor(r, way), r["name"]) for r in narrow], 0.7)
        line(f"{way} against kernels by hand", [(ratio(r, way, "hand"), r["name"]) for r in rows], 1.0)
        line(f"{way} against 2-D and 3-D copies of the driver", [(ratio(r, way, "box"), r["name"]) for r in rows], 1.0)
        line(f"{way} against a copy a block, 1000 blocks or more", [(ratio(r, way, "blocks"), r["name"]) for r in rows if number(r, "blocks") >= 1000], 100)
        line(f"{way} against the host and a copy", [(ratio(r, way, "staged"), r["name"]) for r in rows], 1.0)
    over = sorted(number(r, "enqueue_ns") - number(r, "launch_ns") for r in rows if number(r, "enqueue_ns") and number(r, "launch_ns"))
    if over:
        print(f"  an enqueue takes {over[len(over) // 2]:.0f} ns of the host more than a launch (median; most {over[-1]:.0f}); meant to be 1000 or less")


def main():
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.csv")):
        report(path)


main()
