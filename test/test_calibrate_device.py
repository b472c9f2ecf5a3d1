#!/usr/bin/env python3
"""What lbench measures of a device is a whole file that the library reads, and explain says what is assumed: `test_calibrate_device.py LBENCH BACKEND [--host]`;
with --host, that what lbench measures of the rest of the machine after that keeps it."""
import os
import pathlib
import subprocess
import sys
import tempfile

ASSUMED = "its costs are assumed, not measured"
lbench, backend, *host = sys.argv[1:]


def run(*args, model):
    env = {**os.environ, "LADING_MODEL": str(model), "LADING_VERBOSE": "1"}
    done = subprocess.run([lbench, *args], env=env, capture_output=True, text=True)
    assert done.returncode == 0, f"{args}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def rows(text):
    return {words[0]: words[1:] for words in (line.split() for line in text.splitlines()) if words}


with tempfile.TemporaryDirectory() as folder:
    whole, cut = pathlib.Path(folder, "model"), pathlib.Path(folder, "cut")
    said = run("explain", "vec8of64", model="builtin")
    assert "on a device: " in said and ASSUMED in said, said
    run("calibrate", "--device", "--backend", backend, "--out", str(whole), model="builtin")
    text = whole.read_text()
    names = rows(text)
    for name in ["kernel." + ".".join((where, side, gap)) for where in ("here", "far", "tree") for side in ("read", "write") for gap in ("near", "line", "page")]:
        assert len(names.get(name, [])) == 15 and all(int(n) > 0 for n in names[name]), f"{name}: {names.get(name)}\n{text}"
    assert int(names["launch"][0]) > 0 and int(names["handover"][0]) > 0, text
    said = run("explain", "vec8of64", model=whole)
    assert "on a device: " in said and ASSUMED not in said and "built-in numbers" not in said, said
    cut.write_text(text[: len(text) // 2])
    said = run("explain", "vec8of64", model=cut)
    assert ASSUMED in said and "built-in numbers are used" in said, said
    if host:
        both = pathlib.Path(folder, "both")
        run("calibrate", "--seconds", "0", "--out", str(both), model=whole)
        old, new = names, rows(both.read_text())
        kept = {name for name in old if name in ("launch", "handover") or name.startswith(("kernel.", "transfer."))}
        assert len(kept) == 22 and all(new[name] == old[name] for name in kept), both.read_text()
        assert any(new[name] != old[name] for name in old if name.startswith("block.")), "nothing was measured"
        said = run("explain", "vector(256,1,2,float)", model=both)
        for way in ("window", "shuffle"):  # what this machine can is measured, not taken to be free
            can = any(way in line.split()[:2] and "predicted" in line for line in said.splitlines())
            assert not can or int(new[f"number.{way}"][0]) > 0, f"number.{way}\n{said}"
