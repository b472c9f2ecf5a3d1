#!/usr/bin/env python3
"""Checks the rules of the house: `lint.py [ROOT]`. Prints what is broken and returns 1, else one line of numbers.

Who may include whom, file prefixes, one getenv, one malloc, no assert or abort, no file too long, no loose
ends in the text, no link that leads nowhere. Functions over 60 lines are reported, not refused.
"""
import pathlib
import re
import sys

# layer -> layers whose headers it may include (design: data goes right only; what is missing here is not to be seen)
LEFT_OF_PLAN = "base rep build canon memo layout nest trees"
LAYERS = {
    "base": "base",
    "rep": "base rep",
    "build": "base rep build",
    "canon": "base rep canon",
    "memo": "base rep memo",
    "layout": "base rep memo layout",
    "nest": "base",  # nest.h alone: what backends see. The other nest_ files turn trees into nests
    "trees": "base rep layout nest trees",
    "plan": LEFT_OF_PLAN + " plan backend",
    "exec": LEFT_OF_PLAN + " plan backend exec",
    "wire": LEFT_OF_PLAN + " plan backend exec wire",
    "peer": LEFT_OF_PLAN + " plan backend exec wire peer",
    "direct": LEFT_OF_PLAN + " plan backend exec direct",
    "batch": LEFT_OF_PLAN + " plan backend exec queue batch",
    "queue": LEFT_OF_PLAN + " plan backend exec queue",
    "api": LEFT_OF_PLAN + " plan backend exec wire peer direct queue batch api",
    "compat": "api compat",  # src/compat/: the interfaces of other engines, over ours
    "backend": "base nest backend",  # backends/backend.h, cargo.h and jit.h: what the planner sees
    "gccjit": "base backend gccjit",
    "helper": "base backend gccjit helper plan api bench",  # lading-jit, a program of its own over the library
    "host": "base nest backend host generated",
    "device": "base nest backend device",  # what vendors share
    "cuda": "base nest backend device cuda",
    "hip": "base nest backend device hip",
}
GENERATED = {"kernel_rows.h"}
# function -> the only files that may call it
ONLY = {
    "malloc calloc realloc free aligned_alloc posix_memalign memalign strdup strndup asprintf": {"src/base_alloc.c"},
    "getenv secure_getenv": {"src/base_option.c"},
    "assert abort exit _exit _Exit quick_exit": set(),
}
LOOSE_ENDS = re.compile(r"\b(" + "|".join(["TO" "DO", "FIX" "ME", "XX" "X"]) + r")\b")
TEXT = {".c", ".h", ".inc", ".py", ".md", ".build", ".txt", ".sh", ".map", ".suite", ".case"}
MAX_FILE, LONG_FUNCTION = 600, 60

problems = []
lengths = []


def problem(path, line, text):
    problems.append(f"{path}:{line}: {text}")


def code_only(text):
    """The text with comments and the insides of strings blanked, line numbers kept."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
    return token.sub(lambda m: '""' if m[0][0] in "\"'" else "\n" * m[0].count("\n") or " ", text)


def layer_of(path):
    """src/rep_walk.c -> rep; None when the name has no layer's prefix."""
    parts = path.split("/")
    if path.startswith("backends/gccjit/helper/"):
        return "helper"
    if parts[0] == "bench":
        return "bench"
    if parts[0] == "backends":
        return "backend" if path in ("backends/backend.h", "backends/cargo.h", "backends/jit.h") else parts[1] if len(parts) == 3 else None
    if parts[:-1] == ["src", "compat"]:
        return "compat"
    stem = parts[-1].rsplit(".", 1)[0]
    layer = stem.split("_", 1)[0]
    if layer == "nest" and path != "src/nest.h":
        return "trees"
    return layer if layer in LAYERS and layer not in ("backend", "compat", "gccjit", "host", "device", "cuda", "hip", "trees") else None


def included_layer(path, name, files):
    """The layer of the header that `#include "name"` in `path` means, None if there is no such header."""
    if name in GENERATED:
        return "generated"
    folders = [path.rsplit("/", 1)[0], "src", "backends", "genkernels", "bench"]
    for folder in folders:
        found = str(pathlib.PurePosixPath(folder) / name)
        while "/../" in found:
            found = re.sub(r"[^/]+/\.\./", "", found, count=1)
        if found in files:
            return "generated" if found.startswith("genkernels/") else layer_of(found)
    return None


def check_includes(path, text, files):
    layer = layer_of(path)
    if layer is None or layer not in LAYERS:
        return problem(path, 1, "the file name has no layer's prefix")
    for m in re.finditer(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', text, re.M):
        seen = included_layer(path, m[1], files)
        if seen not in LAYERS[layer].split():
            problem(path, text.count("\n", 0, m.start()) + 1, f'{layer} may not include "{m[1]}" ({seen or "unknown"})')


def check_calls(path, code):
    """Code that only -Dchecks builds see may stop the program."""
    code = re.sub(r"^#if LDG_CHECKS.*?^#(?:else|endif)", lambda m: "\n" * m[0].count("\n"), code, flags=re.M | re.S)
    for names, homes in ONLY.items():
        if path in homes:
            continue
        for m in re.finditer(r"(?<![\w.>])(" + names.replace(" ", "|") + r")\s*\(", code):
            problem(path, code.count("\n", 0, m.start()) + 1, f"{m[1]}() is not for here")


def check_functions(path, code):
    """Functions begin in column 0 and end with a } in column 0."""
    for m in re.finditer(r"^([A-Za-z_][^\n;{}#]*?)(\w+)\([^;{}#]*\)[^;{}#]*(?:\{[^\n]*\}$|\{[^\n]*\n.*?^\})", code, re.M | re.S):
        if "=" in m[1] or m[1].startswith("typedef"):
            continue
        line, length = code.count("\n", 0, m.start()) + 1, m[0].count("\n") + 1
        lengths.append(length)
        if length > LONG_FUNCTION:
            print(f"{path}:{line}: note: {m[2]} has {length} lines")


def check_text(path, text):
    for n, line in enumerate(text.split("\n"), 1):
        if LOOSE_ENDS.search(line):
            problem(path, n, "a loose end in the text")
        if line != line.rstrip():
            problem(path, n, "blanks at the end of the line")
        if path.endswith((".cu", ".h")) and "__CUDA_ARCH" in line:
            problem(path, n, "code of several architectures is made of one PTX (CUDA_ARCHES in genkernels/table.py)")
    if path.endswith((".c", ".h", ".inc", ".py")) and text.count("\n") > MAX_FILE:
        problem(path, MAX_FILE, f"longer than {MAX_FILE} lines")


def anchors(text):
    """What a heading is called in a link, as pages of repositories make it."""
    return {re.sub(r"[^\w\- ]", "", line.lstrip("# ")).strip().lower().replace(" ", "-") for line in text.splitlines() if line.startswith("#")}


def check_links(root, path, text):
    prose = re.sub(r"```.*?```|`[^`\n]*`", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S)
    for m in re.finditer(r"\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]*))?\)", prose):
        to = (root / path).parent / m[1] if m[1] else root / path
        if m[1].startswith("/") or not to.exists() or (m[2] and (not to.is_file() or m[2] not in anchors(to.read_text()))):
            problem(path, prose.count("\n", 0, m.start()) + 1, f"a link to {m[0][2:-1]}, which is not there")


def sources(root):
    builds = {p.parent for p in root.glob("*/meson-private")}
    for p in sorted(root.rglob("*")):
        path = p.relative_to(root).as_posix()
        if p.is_file() and p.suffix in TEXT and not re.match(r"(build[^/]*|subprojects|\.git)/", path) and not builds.intersection(p.parents):
            yield path, p.read_text(errors="replace")


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    files = dict(sources(root))
    for path, text in files.items():
        check_text(path, text)
        if path.endswith(".md"):
            check_links(root, path, text)
        if not path.endswith((".c", ".h", ".inc")):
            continue
        code = code_only(text)
        if path.startswith(("src/", "backends/")):
            check_includes(path, text, files)
        if path.startswith(("src/", "backends/")) and layer_of(path) != "helper":
            check_calls(path, code)
        elif path.startswith(("bench/", "backends/")):
            check_calls(path, re.sub(r"\b(?!(?:secure_)?getenv)\w+\s*\(", "(", code))
        check_functions(path, code)
    for p in problems:
        print(p)
    lengths.sort()
    if lengths:
        n = len(lengths)
        print(f"lint: {len(files)} files, {n} functions, lines: median {lengths[n // 2]}, p90 {lengths[n * 9 // 10]}, longest {lengths[-1]}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
