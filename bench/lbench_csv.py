"""Reads what `lbench time --csv` prints, for compare and plot. Rows that stand for the same problem, measured the same way,
may occur several times (files that were appended to): then the median of their medians counts, with their widest quartiles."""
import csv
import re
import statistics

DIRS = ("pack", "unpack")


class Fault(Exception):
    """What the user can do something about; the text says what."""


class Row:
    """One problem: times in ns as (median, first quartile, third quartile); None where there is none."""

    def __init__(self, fields):
        self.fields = fields
        self.suite, self.name = fields["suite"] or "command line", fields["name"]
        cold = fields.get("cold") or "0"
        if cold != "0" and "touched" not in fields:
            cold += " packed"  # an older file: what passed between two uses was counted in packed bytes, not in lines touched
        self.key = (self.suite, self.name, fields.get("segment") or "0", cold)

    def number(self, column):
        text = self.fields.get(column) or ""
        try:
            return float(text) if text else None
        except ValueError:
            raise Fault(f"{self.name}: column {column} holds '{text}', which is no number") from None

    def time(self, who, direction):
        """who: lading, hand, memcpy, best, or a peer's name."""
        if who == "best":
            times = [t for t in (self.time(rival, direction) for rival in ["hand"] + self.peers()) if t]
            return min(times, default=None)
        stem = {"lading": direction, "memcpy": "memcpy"}.get(who, f"{who}_{direction}")
        median = self.number(stem + "_ns")
        if not median:
            return None
        return median, self.number(stem + "_q1_ns") or median, self.number(stem + "_q3_ns") or median

    def ratio(self, who, direction):
        """That one's time over lading's: above 1, lading is faster."""
        own, other = self.time("lading", direction), self.time(who, direction)
        return other[0] / own[0] if own and other else None

    def peers(self):
        return [m[1] for m in (re.fullmatch(r"(\w+)_note", column or "") for column in self.fields) if m]

    def how(self):
        segment, cold = self.key[2:]
        return (f", segments of {segment} B" if segment != "0" else "") + (f", {cold} B between two uses" if cold != "0" else "")


def merge(rows):
    """The row of several measurements of one problem."""
    fields = dict(rows[0].fields)
    for column in fields:
        if not (column or "").endswith("_ns"):
            continue
        values = [v for v in (row.number(column) for row in rows) if v is not None]
        pick = min if column.endswith("_q1_ns") else max if column.endswith("_q3_ns") else statistics.median
        fields[column] = str(pick(values)) if values else ""
    return Row(fields)


def read(path):
    """Rows by key, in the order of the file."""
    try:
        with open(path, newline="") as f:
            lines = list(csv.reader(f))
    except (OSError, UnicodeDecodeError, csv.Error) as e:
        raise Fault(f"cannot read {path}: {e}") from None
    if not lines or lines[0][:2] != ["suite", "name"] or "pack_ns" not in lines[0]:
        raise Fault(f"{path} does not begin with the header of lbench; make it with: lbench time --csv > {path}")
    found, header = {}, []
    for number, line in enumerate(lines, 1):
        if line[:2] == ["suite", "name"]:
            header = line
        elif len(line) == len(header):
            row = Row(dict(zip(header, line)))
            found.setdefault(row.key, []).append(row)
        elif line:
            raise Fault(f"{path}:{number}: {len(line)} fields, the header has {len(header)}; was the run cut off? Delete the line or run again")
    if not found:
        raise Fault(f"{path} holds no measurements; was lbench's run cut off?")
    return {key: rows[0] if len(rows) == 1 else merge(rows) for key, rows in found.items()}
