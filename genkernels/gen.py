#!/usr/bin/env python3
"""Turns the kernel table into C: `gen.py --header --levels base,v2 --out F.h`, `gen.py --isa v3 [--levels base,v3 | --ops | --op-rows] --out F.c`,
`gen.py --fields --out F.c`, `gen.py --device-ops --out F.h`; with --few of fewer rows, which all files of a build have to be of.

Generated files hold no logic: each row defines its parameters and includes a kernel body from this folder.
"""
import argparse
import collections
import itertools
import pathlib

from table import (BLOCKS, CARRIERS, CUDA_ARCHES, DEVICE_CARRIERS, DEVICE_COMPLEX, FEW_BLOCKS, FEW_OPS, FEW_ORDERED, FIELD_MOST, FIELD_ORDERED, FIELD_WORDS, HIP_ARCHES, ISAS, JOINS, LANES, MASKS, OP_ISAS, OP_SINGLY, OPS, PACED,
                   SHARED, SHUFFLES, TRANSPOSES, WIDE, WINDOWS)

HERE = pathlib.Path(__file__).resolve().parent
STAMP = "/* made by genkernels/gen.py {args}; edit genkernels/table.py instead */\n"

# What a build has rows of: blocks, fields in any order up to so many, and whether short rows of (op, carrier) go several elements at once.
Rows = collections.namedtuple("Rows", "blocks ordered at_once")


def widened(names):
    """These rows of blocks, each down to where the one before it ends, and the long ones."""
    rows, lo = [], 1
    for name, _, hi, head, tail in (one for one in BLOCKS if one[0] in names):
        rows.append((name, lo, hi, head, tail))
        lo = hi + 1
    long = [one for one in BLOCKS if isinstance(one[2], str)]
    assert len(rows) == len(names) and lo == long[0][1], "names are of rows, up to where the long ones begin"
    return rows + long


ALL = Rows(BLOCKS, FIELD_ORDERED, lambda op, carrier: op not in OP_SINGLY and (op, carrier) not in OP_SINGLY)
FEW = Rows(widened(FEW_BLOCKS), FEW_ORDERED, lambda op, carrier: (op, carrier) in FEW_OPS)


def op_kernels():
    """One per op and carrier: (name, op, carrier, expression), in the order of the table."""
    seen = {}
    for op, expr, elems in OPS:
        for _, carrier in elems:
            seen.setdefault(f"{op.lower()}_{carrier}", (op, carrier, expr))
    return [(name, *row) for name, row in seen.items()]


def op_table(names):
    """Rows of [op][elem]: the kernel's number from 1 on, 0 where the op is not defined."""
    out = ""
    for op in dict.fromkeys(op for op, *_ in OPS):
        cells = [f"[LADING_{e}] = {names.index(f'{op.lower()}_{c}') + 1}" for o, _, elems in OPS if o == op for e, c in elems]
        out += f"  [LADING_{op}] = {{ {', '.join(cells)} }}, \\\n"
    return out


def op_levels(levels):
    return [level for level in levels if level in OP_ISAS] or levels


def header(levels, built):
    rows = "".join(f"  {{ {lo}, {hi} }}, \\\n" for _, lo, hi, _, _ in built.blocks)
    widths = "".join(f"  {w}, \\\n" for w in TRANSPOSES)
    best_first = ", ".join(f"&ldg_kernels_{level}" for level in reversed(levels))
    ops_first = ", ".join(f"&ldg_ops_{level}" for level in reversed(op_levels(levels)))
    names = [name for name, *_ in op_kernels()]
    return (f"#define LDG_LEVELS {best_first}\n"
            f"#define LDG_OP_LEVELS {ops_first}\n"
            f"#define LDG_OP_ROWS {len(names)}\n#define LDG_OP_TABLE \\\n{op_table(names)}\n"
            f"#define LDG_BLOCK_ROWS {len(built.blocks)}\n#define LDG_BLOCK_ROW_TABLE \\\n{rows}\n"
            f"#define LDG_FIELD_WORDS {FIELD_MOST}\n#define LDG_FIELD_ORDERED {built.ordered}\n"
            f"#define LDG_TRANSPOSE_ROWS {len(TRANSPOSES)}\n#define LDG_TRANSPOSE_WIDTHS \\\n{widths}\n")


def row(body, isa, **params):
    """One kernel: define the parameters, include the body, which undefines them."""
    defs = "".join(f"#define K_{k} {v}\n" for k, v in params.items())
    level = f"#define K_ISA {isa}\n" if isa else ""
    return f"{defs}{level}#include \"{HERE / body}\"\n"


def laned(isa, block):
    _, lo, hi, _, _ = block
    return lo in LANES or hi in JOINS.get(isa, [])


def owners(isa, levels, built):
    """Whose each row of blocks is, of a level."""
    return [isa if laned(isa, block) or SHARED.get(isa) not in levels else SHARED[isa] for block in built.blocks]


def block_table(isa, levels, built):
    """The rows that are this level's, and where the level finds all of its: [blocks of the table]."""
    long_kind = {"LDG_HEAD_LOOP": "LOOP_", "LDG_HEAD_AS_IS": "AS_IS_"}
    kind = lambda lo, head: long_kind.get(head, "LONG_") if isinstance(head, str) else "LINES_" if lo > PACED else "WIDE_" if lo > WIDE else ""
    whose = owners(isa, levels, built)
    own = [f"  LDG_{'LANED_' * laned(isa, block)}{kind(block[1], block[3])}BLOCK_KERNELS({block[0]}, {isa}),\n" for block, one in zip(built.blocks, whose) if one == isa]
    row_of = {one: [n for n, o in enumerate(owners(one, levels, built)) if o == one] for one in set(whose)}
    rows = [f"&ldg_blocks_{one}[{row_of[one].index(n)}]" for n, one in enumerate(whose)]
    return f"const ldg_block_kernels ldg_blocks_{isa}[] = {{\n{''.join(own)}}};\n", ", ".join(rows)


def source(isa, levels, built):
    out = f'#include "{"window" if isa in WINDOWS else "kernels"}.h"\n' + row("dense.inc", isa)
    for (name, lo, hi, head, tail), whose in zip(built.blocks, owners(isa, levels, built)):
        if whose != isa:
            continue
        lanes = {"LANE": LANES[lo], "LANES": f"LDG_LANES_{lo}"} if lo in LANES else {}
        out += row("block.inc", isa, NAME=name, LO=lo, HI=hi, HEAD=head, TAIL=tail, WIDE=int(lo > WIDE), NARROW=int(lo in LANES), JOINED=int(hi in JOINS.get(isa, [])), **lanes)
    for w in TRANSPOSES:
        out += row("transpose.inc", isa, NAME=f"t{w}", OTHER=f"t{w}_other", FREE=f"t{w}_free", W=w)
    out += row("varlist.inc", isa, NAME="var")
    out += "".join(row("shuffle.inc", isa, **params) for params in SHUFFLES.get(isa, []))
    if isa in MASKS:
        out += row("pieces.inc", isa, NAME="pieces", ASKS=0) + row("pieces.inc", isa, NAME="pieces_asking", ASKS=1)
    else:
        out += row("words.inc", isa, NAME="words")
    if isa in WINDOWS:
        out += row("window.inc", isa) + f"_Static_assert(LDG_WINDOW == {WINDOWS[isa]}, \"table.py and window.h agree\");\n"
    rows, blocks = block_table(isa, levels, built)
    out += f"{rows}const ldg_kernels ldg_kernels_{isa} = {{ \"{isa}\", ldg_k_dense_{isa}, ldg_k_dense_loop_{isa},\n  {{ {blocks} }},\n  {{\n"
    out += "".join(f"    {{ ldg_k_t{w}_free_{isa}, ldg_k_t{w}_{isa}, ldg_k_t{w}_other_{isa} }},\n" for w in TRANSPOSES) + "  },\n"
    shuffles = ", ".join(f"ldg_k_{params['NAME']}_{isa}" for params in SHUFFLES.get(isa, [])) or "NULL"
    by_16 = ", ".join(f"ldg_k_{params['NAME']}_by_16_{isa}" for params in SHUFFLES.get(isa, [])) or "NULL"
    window = f"ldg_k_window_{isa}, {WINDOWS[isa]}" if isa in WINDOWS else "NULL, 0"
    pieces = f"{{ ldg_k_pieces_{isa}, ldg_k_pieces_asking_{isa} }}, NULL" if isa in MASKS else f"{{ NULL }}, ldg_k_words_{isa}"
    singly = [params["NAME"] for params in SHUFFLES.get(isa, []) if params["LANE"] == 1]
    once = ", ".join(f"{{ ldg_k_{name}_once{wide}_{isa}, ldg_k_{name}_once{wide}_asking_{isa} }}" for name in singly for wide in ("", "_wide")) or "{ NULL }"
    varlists = ", ".join(f"ldg_k_var_{suffix}_{isa}" for suffix in ("src", "dst", "both", "src_late", "dst_late"))
    return out + f"  {{ {varlists} }},\n  {{ {shuffles} }}, {{ {by_16} }}, {pieces}, {{ {once} }},\n  {window}, LDG_SHORT, LDG_REGISTER\n}};\n"


def op_bodies(isa, built):
    out = ""
    for name, op, carrier, expr in op_kernels():
        kind, size, how = CARRIERS[carrier]
        at_once = f"LDG_OP_WIDTH_{how}({size})" if built.at_once(op, carrier) else 1
        out += row("op.inc", isa, NAME=name, TYPE=kind, SIZE=f"((int64_t)({size}))", HOW=how, AT_ONCE=at_once, **{"EXPR(a, b)": f"({expr})"})
    return out


def op_row_source(isa, built):
    return '#include "op_carriers.h"\n#define K_ROWS\n' + op_bodies(isa, built)


def op_source(isa, built):
    """The dense kernels of a level, and the table, which has those of rows, too."""
    rows = "".join(f"    LDG_OP_KERNELS({name}, {isa}),\n" for name, *_ in op_kernels())
    return '#include "op_carriers.h"\n' + op_bodies(isa, built) + f"const ldg_ops ldg_ops_{isa} = {{ \"{isa}\", {{\n{rows}  }} }};\n"


def field_source(built):
    """A kernel for each choice of words, and their table."""
    orders = lambda n: itertools.product(FIELD_WORDS, repeat=n) if n <= built.ordered else itertools.combinations_with_replacement(FIELD_WORDS, n)
    choices = sorted(c for n in range(1, FIELD_MOST + 1) for c in orders(n))
    out, table = '#include "kernels.h"\n#include "fields.h"\n', ""
    for words in choices:
        name = "_".join(map(str, words))
        rest = " ".join(f"F({k}, {w})" for k, w in enumerate(words) if k)
        out += row("fields.inc", None, NAME=name, FIRST=words[0], **{"WORDS(F)": rest})
        table += f"  {{ {{ {', '.join(map(str, words))} }}, ldg_k_fields_{name} }},\n"
    return out + f"const ldg_field_kernel ldg_field_kernels[] = {{\n{table}}};\nconst size_t ldg_field_kernel_count = {len(choices)};\n"


def device_ops():
    """A case for each op and carrier that devices have, but sums (cargo_reduce.h); elements of one carrier share it."""
    cases = {}
    for op, expr, elems in OPS:
        for elem, carrier in elems:
            if op != "SUM" and carrier in DEVICE_CARRIERS:
                cases.setdefault((op, expr, carrier), []).append(elem)
    out = ""
    for (op, expr, carrier), elems in cases.items():
        kind, size, how = DEVICE_CARRIERS[carrier]
        labels = " ".join(f"case LDG_REDUCTION(LADING_{op}, LADING_{e}):" for e in elems)
        body = DEVICE_COMPLEX[expr].format(kind) if carrier in ("cf", "cd") else expr
        out += f"{labels} LDG_REDUCE({kind}, {size}, {how}, {body});\n"
    return out


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--header", action="store_true")
    p.add_argument("--isa", choices=ISAS)
    p.add_argument("--few", action="store_true", help="fewer rows of every kind, for tests of what they have in common")
    p.add_argument("--ops", action="store_true", help="the reductions instead of the movers")
    p.add_argument("--op-rows", action="store_true", help="those of rows of a few elements")
    p.add_argument("--fields", action="store_true", help="those of items of a few fields")
    p.add_argument("--levels", type=lambda s: s.split(","), help="the levels that are built, worst first; of --isa that one alone")
    p.add_argument("--device-ops", action="store_true", help="the reductions of devices")
    p.add_argument("--say-arches", choices=["cuda", "hip"], help="the compiler's options, for the build")
    p.add_argument("--say-op-levels", action="store_true", help="those of the levels that have reductions of their own, for the build")
    p.add_argument("--out")
    a = p.parse_args()
    if a.say_op_levels:
        return print(*op_levels(a.levels or ["base"]))
    if a.say_arches == "cuda":
        return print(*(f"-gencode=arch={arch},code={code}" for arch, code in CUDA_ARCHES))
    if a.say_arches == "hip":
        return print(*(f"--offload-arch={arch}" for arch in HIP_ARCHES))
    if not a.out:
        p.error("--out is needed")
    built, levels = FEW if a.few else ALL, a.levels or [a.isa or "base"]
    if a.device_ops:
        return pathlib.Path(a.out).write_text(STAMP.format(args="--device-ops") + device_ops())
    if a.fields:
        return pathlib.Path(a.out).write_text(STAMP.format(args="--fields" + " --few" * a.few) + field_source(built))
    if a.header == bool(a.isa):
        p.error("say either --header or --isa")
    text = STAMP.format(args="--header" if a.header else " ".join([f"--isa {a.isa}", f"--levels {','.join(levels)}"] + ["--ops"] * a.ops + ["--op-rows"] * a.op_rows) + " --few" * a.few)
    if a.header:
        text += header(levels, built)
    elif a.ops or a.op_rows:
        text += (op_source if a.ops else op_row_source)(a.isa, built)
    else:
        text += source(a.isa, levels, built)
    pathlib.Path(a.out).write_text(text)


if __name__ == "__main__":
    main()
