#!/usr/bin/env python3
"""Turns the kernel table into C: `gen.py --header --levels base,v2 --out F.h`, `gen.py --isa v3 --out F.c`.

Generated files hold no logic: each row defines its parameters and includes a kernel body from this folder.
"""
import argparse
import pathlib
import sys

from table import BLOCKS, ISAS, SHUFFLES, TRANSPOSES

HERE = pathlib.Path(__file__).resolve().parent
STAMP = "/* made by genkernels/gen.py {args}; edit genkernels/table.py instead */\n"


def header(levels):
    rows = "".join(f'  {{ "{n}", {lo}, {hi} }}, \\\n' for n, lo, hi, _, _ in BLOCKS)
    widths = "".join(f"  {w}, \\\n" for w in TRANSPOSES)
    best_first = ", ".join(f"&ldg_kernels_{level}" for level in reversed(levels))
    return (f"#define LDG_LEVELS {best_first}\n"
            f"#define LDG_BLOCK_ROWS {len(BLOCKS)}\n#define LDG_BLOCK_ROW_TABLE \\\n{rows}\n"
            f"#define LDG_TRANSPOSE_ROWS {len(TRANSPOSES)}\n#define LDG_TRANSPOSE_WIDTHS \\\n{widths}\n")


def row(body, isa, **params):
    """One kernel: define the parameters, include the body, which undefines them."""
    defs = "".join(f"#define K_{k} {v}\n" for k, v in params.items())
    return f"{defs}#define K_ISA {isa}\n#include \"{HERE / body}\"\n"


def source(isa):
    out = '#include "kernels.h"\n' + row("dense.inc", isa, NAME="dense")
    for name, lo, hi, head, tail in BLOCKS:
        out += row("block.inc", isa, NAME=name, LO=lo, HI=hi, HEAD=head, TAIL=tail)
    for w in TRANSPOSES:
        out += row("transpose.inc", isa, NAME=f"t{w}", W=w)
    out += row("varlist.inc", isa, NAME="var")
    out += "".join(row("shuffle.inc", isa, **params) for params in SHUFFLES.get(isa, []))
    out += f"const ldg_kernels ldg_kernels_{isa} = {{ \"{isa}\", ldg_k_dense_{isa},\n  {{\n"
    out += "".join(f"    LDG_BLOCK_KERNELS({n}, {isa}),\n" for n, *_ in BLOCKS) + "  },\n  {\n"
    out += "".join(f"    ldg_k_t{w}_{isa},\n" for w in TRANSPOSES) + "  },\n"
    shuffles = ", ".join(f"ldg_k_{params['NAME']}_{isa}" for params in SHUFFLES.get(isa, [])) or "NULL"
    return out + f"  {{ ldg_k_var_src_{isa}, ldg_k_var_dst_{isa} }},\n  {{ {shuffles} }}\n}};\n"


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--header", action="store_true")
    p.add_argument("--isa", choices=ISAS)
    p.add_argument("--levels", type=lambda s: s.split(","), default=["base"], help="the levels that are built, worst first")
    p.add_argument("--out", required=True)
    a = p.parse_args()
    if a.header == bool(a.isa):
        p.error("say either --header or --isa")
    text = STAMP.format(args="--header" if a.header else f"--isa {a.isa}")
    pathlib.Path(a.out).write_text(text + (header(a.levels) if a.header else source(a.isa)))


if __name__ == "__main__":
    sys.exit(main())
