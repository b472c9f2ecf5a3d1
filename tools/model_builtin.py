#!/usr/bin/env python3
"""Turns a file of `lbench calibrate` into the built-in model: `model_builtin.py MODEL > src/base_model_MAKER.inc`."""
import sys


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    lines = open(sys.argv[1]).read().splitlines()
    fields = {}
    for line in lines[2:-1]:
        label, *values = line.split()
        fields.setdefault(label.split(".")[0], []).append((label, values))
    print("/* base: the built-in numbers of the model, in the order of base_model.h. Written by tools/model_builtin.py; measured on")
    print(f" * {lines[1].split(' ', 1)[1]}. */")
    for field, rows in fields.items():
        if field in ("kernel", "transfer", "launch", "handover"):  # devices have a file of their own, base_model_device.inc
            continue
        print(f".{field} = {{")
        for label, values in rows:
            print(f"  {', '.join(values)}, /* {label} */")
        print("},")


main()
