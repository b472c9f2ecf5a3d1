#!/usr/bin/env python3
"""Rehearses bench/gpu_all.sh: test_gpu_all.py SCRIPT [BUILD]. Against made-up programs, whose numbers have known verdicts and which may
take for ever; with BUILD, a build folder, against real ones over the stand-in driver, whose numbers mean nothing."""
import os
import pathlib
import subprocess
import sys
import tempfile

checks = 0


def check(what, says):
    global checks
    checks += 1
    if not what:
        sys.exit(f"test_gpu_all: {says}")


def run(script, out, status, **env):
    r = subprocess.run(["sh", str(script), str(out)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=200,
                       env={**os.environ, "LADING_MODEL": "builtin", **env})
    check(r.returncode == status, f"exit status {r.returncode}, not {status}: {r.stdout}")
    check((out / "summary.txt").read_text() == r.stdout, "the summary is not what was printed")
    return r.stdout


# ---- made-up programs ----

FIELDS = ["device", "where", "suite", "name", "bytes", "blocks", "min_block", "enqueue_ns", "launch_ns", "note"]
FIELDS += [f"{way}_{what}" for way in ("pack", "unpack") for what in ("of_floor", "lading_ns", "hand_ns", "box_ns", "blocks_ns", "staged_ns")]


def row(name, bytes, blocks, min_block, floor, hand, copies, enqueue=2500, note=""):
    r = {"device": "made up", "name": name, "bytes": bytes, "blocks": blocks, "min_block": min_block, "enqueue_ns": enqueue, "launch_ns": 2000, "note": note}
    for way in ("pack", "unpack"):
        r.update({f"{way}_of_floor": floor, f"{way}_lading_ns": 100, f"{way}_hand_ns": 100 * hand, f"{way}_blocks_ns": 100 * copies})
    return ",".join(str(r.get(f, "")) for f in FIELDS)


GOOD = [row("wide", 1 << 20, 2000, 64, 0.93, 1.2, 150), row("narrow", 1 << 21, 999999, 4, 0.71, 1.0, 300), row("small", 4096, 10, 8, 0.01, 1.1, 4)]
BAD = [row("wide", 1 << 20, 2000, 64, 0.89, 1.2, 150), row("narrow", 1 << 21, 999999, 4, 0.69, 0.9, 99), row("slow", 4096, 10, 8, 0.01, 1.1, 4, 3001, "pack by hand is wrong")]
IPC = "device,name,bytes,blocks,direct_ns,packed_ns,packed_of_direct\nmade up,a,1,1,10,16,%s\n"
BATCH = "# a note\nproblem,requests,bytes,block,fused_us,launches_us,streams_us,graph_us,against_launches,against_best,host_us_per_request,host_us_least\n"
BATCHES = [BATCH + "a,32,1,8,1,1,1,1,%s,%s,9,%s\nb,32,1,400,1,1,1,1,2,1,9,0.2\n" % three for three in ((4.9, 0.94, 0.31), (5.1, 0.96, 0.29))]
ASKED = 12


def stub(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


PASSED = "echo 'Ok: 3'; echo 'Fail: 0'; echo 'Timeout: 0'; echo 'Skipped: 1'"


def stage(tmp, rows, ipc, tests=PASSED, sanitizer="exit 0"):
    build, bin = tmp / "build", tmp / "bin"
    (tmp / "device.csv").write_text(",".join(FIELDS) + "\n" + "\n".join(rows) + "\n")
    (tmp / "ipc.csv").write_text(IPC % ipc)
    (tmp / "batch.csv").write_text(BATCHES[ipc >= 1.5])
    stub(build / "bench" / "lbench", f"case $1 in ipc | batch) cat {tmp}/$1.csv ;; time) cat {tmp}/device.csv ;; esac")
    stub(bin / "meson", tests)
    stub(bin / "compute-sanitizer", sanitizer)
    stub(bin / "nvidia-smi", "echo 'made up, 1'")
    return {"BUILT": str(build), "PATH": f"{bin}:{os.environ['PATH']}"}


def verdicts(text):
    """asked -> met, NOT MET or no data; what was measured"""
    lines = [line[2:] for line in text.split("asked, measured, met:\n")[1].splitlines() if line.startswith("  ")][:ASKED]
    return [line[:8].strip() for line in lines], "\n".join(lines)


def test_made_up(script, tmp):
    asked = ["met"] * ASKED
    text = run(script, tmp / "good", 0, **stage(tmp, GOOD, 1.6))
    got, lines = verdicts(text)
    check(got == asked, f"all is well: {lines}")
    for words in ("made up, 1", "3 passed, 0 failed", "4 of 4; least 0.93", "least 150x", "median 500 ns more, slowest 500 ns more", "2 of 2; least 1.6x", "9 ended well", "1 of 1; least 5.1x, a", "2 of 2; least 0.96x, 32 of a"):
        check(words in text, f"{words!r} is not in {text}")
    shorter = "echo 'Ok:                11  '; echo 'Fail:              0   '; echo 'Skipped:           1   '" # Meson 1.12 leaves out that none was out of time
    text = run(script, tmp / "shorter", 0, **stage(tmp, GOOD, 1.6, shorter))
    got, lines = verdicts(text)
    check(got == asked and "11 passed, 0 failed, 0 out of time, 1 skipped" in text, f"a count that is missing is 0: {text}")
    text = run(script, tmp / "bad", 1, **stage(tmp, BAD, 1.4, sanitizer="case \"$*\" in *racecheck*) exit 9 ;; esac"))
    got, lines = verdicts(text)
    check(got == ["met"] + ["NOT MET"] * (ASKED - 1), f"nothing is well: {lines}")
    for words in ("failed: racecheck-device-large_nests", "pack by hand is wrong", "0 of 4; least 0.89, pack of wide", "6 of 12; least 99", "slowest 1001 ns more, slow", "0 of 1; least 4.9x", "1 of 2; least 0.94x", "0.31 us, a"):
        check(words in text, f"{words!r} is not in {text}")
    for tests in ("echo 'No suitable tests defined.'", "echo 'Ok: 0'; echo 'Fail: 0'; echo 'Timeout: 0'; echo 'Skipped: 9'", "echo 'Ok: 5'; echo 'Fail: 1'; echo 'Timeout: 0'",
                  "echo 'Ok: 5'; echo 'Timeout: 1'", "echo 'Fail: 0'; echo 'Skipped: 1'", "exit 1"):
        got, lines = verdicts(run(script, tmp / "tests", 1, **stage(tmp, GOOD, 1.6, tests)))
        check(got == ["NOT MET"] + ["met"] * (ASKED - 1), f"tests that fail or do not run: {lines}")


def judged(script, tmp, text):
    """What is said of a file alone."""
    tmp.mkdir(parents=True)
    (tmp / "device-ddtbench.csv").write_text(",".join(FIELDS) + "\n" + text)
    return subprocess.run([sys.executable, str(script.parent / "gpu_report.py"), str(tmp)], check=True, stdout=subprocess.PIPE, text=True).stdout


def test_side_by_side(script, tmp):
    """The tests and all sanitizers are under way at the same time, or none of them ends well; they are told in their order."""
    (tmp / "met").mkdir()
    meet = f"touch {tmp}/met/$$; i=0; while [ $(ls {tmp}/met | wc -l) -lt 10 ]; do i=$((i + 1)); [ $i -lt 100 ] || exit 9; sleep 0.1; done; "
    text = run(script, tmp / "beside", 0, **stage(tmp, GOOD, 1.6, meet + PASSED, meet + "exit 0"))
    steps = [line.split(",")[0] for line in (tmp / "beside" / "steps.csv").read_text().splitlines()]
    check(steps[0] == "tests" and steps[1] == "memcheck-device-copies" and steps[9] == "memcheck-queue-requests_in_order" and steps[10] == "calibrate", steps)
    check("3 passed, 0 failed" in text and "9 ended well" in text, text)


def test_refused(script, tmp):
    """What is no folder, and cannot be one, ends it before it writes anything."""
    tmp.mkdir()
    (tmp / "file").write_text("")
    for args, says in ((["--quick"], "usage"), ([str(tmp / "one"), str(tmp / "two")], "usage"), ([str(tmp / "file" / "out")], "Not a directory")):
        r = subprocess.run(["sh", str(script), *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=200, env={**os.environ, **stage(tmp, GOOD, 1.6), "LC_ALL": "C"})
        check(r.returncode == 2 and r.stdout == "" and says in r.stderr, f"{args}: exit status {r.returncode}: {r.stdout}{r.stderr}")
    check(not (tmp / "one").exists(), "two folders")


def test_carry(script, tmp):
    """What stands for pkg-config on a bare machine answers all that the build asks, from wherever it was carried to."""
    subprocess.run(["sh", str(script), "--carry", str(tmp / "here")], check=True, stdout=subprocess.DEVNULL)
    there = (tmp / "here").rename(tmp / "there")
    answers = [(["--version"], "0.29"), (["--modversion", "libxxhash"], "0.8.1"), (["--modversion", "check"], "0.15.2"), (["--cflags", "check"], f"-I{there}/include"),
               (["--variable=includedir", "libxxhash"], f"{there}/include"), (["--variable=nothing", "libxxhash"], "")]
    for asked, answer in answers:
        got = subprocess.run([str(there / "bin" / "pkg-config"), *asked], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        check(got == answer, f"pkg-config {asked} says {got!r}, not {answer!r}")
    check(subprocess.run([str(there / "bin" / "pkg-config"), "--modversion", "other"]).returncode == 1, "what was not carried is not there")


def test_report(script, tmp):
    """A row without its end does not count, even where it lacks no field; what should have a number and has none is not met."""
    wide, narrow, small = GOOD
    text = judged(script, tmp / "report" / "whole", "\n".join(GOOD) + "\n")
    check("0.9 of the sector floor: 2 of 2; least 0.93" in text and "0.7 of the sector floor: 2 of 2; least 0.71" in text and "everywhere: 6 of 6" in text, text)
    text = judged(script, tmp / "report" / "cut", wide + "\n" + narrow)
    check("0.7 of the sector floor: nothing was measured" in text and "everywhere: 2 of 2" in text, text)
    text = judged(script, tmp / "report" / "without", "\n".join([wide, row("wide too", 1 << 20, 2000, 64, "", 1.2, 150), small]) + "\n")
    check("no data  blocks of 32 B or more, 1 MiB or more: 0.9 of the sector floor: 2 of 4, 2 without a number; least 0.93" in text, text)
    text = judged(script, tmp / "report" / "bad", "\n".join([BAD[0], row("wide too", 1 << 20, 2000, 64, "", 1.2, 150)]) + "\n")
    check("NOT MET  blocks of 32 B or more, 1 MiB or more: 0.9 of the sector floor: 0 of 4, 2 without a number; least 0.89" in text, text)
    fast = [row(name, 4096, 10, 8, 0.01, 1.1, 4, enqueue) for name, enqueue in (("fastest", 1100), ("fast", 1400), ("even", 2000))]
    for rows, words in ((fast, "met      an enqueue with hints takes the host a launch and 1 us at most: against a bare launch median 600 ns less, slowest as much, even"),
                        (fast[:2], "median 600 ns less, slowest 600 ns less, fast"), (fast[:2] + [GOOD[2]], "median 600 ns less, slowest 500 ns more, small")):
        text = judged(script, tmp / "report" / f"launch {len(words)}", "\n".join(rows) + "\n")
        check(words in text, f"{words!r} is not in {text}")
    none = dict.fromkeys(FIELDS, "") | {"name": "fields", "bytes": 1 << 20, "min_block": 64, "pack_lading_ns": 100, "unpack_lading_ns": 100}
    text = judged(script, tmp / "report" / "no rival", small + "\n" + ",".join(str(none[f]) for f in FIELDS) + "\n")
    check("met      1.0 of the kernel by hand, everywhere: 2 of 2; least" in text, f"no kernel by hand is no number that lacks: {text}")


def test_out_of_time(script, tmp):
    """Nothing comes to an end, and all of it is judged."""
    text = run(script, tmp / "never", 1, SECONDS_ALL="12", **stage(tmp, GOOD, 1.6, "sleep 100", "sleep 100"))
    got, lines = verdicts(text)
    check("missed: tests, out of time" in text and "missed: calibrate, no time left" in text and "missed: device-tempi: 0 rows, out of time" in text, text)
    check(got == ["no data"] * ASKED, f"nothing was measured: {lines}")
    env = stage(tmp, GOOD, 1.6)
    half = GOOD[1][: len(GOOD[1]) // 2]
    stub(tmp / "build" / "bench" / "lbench", f"case \"$*\" in *where?device?*ddtbench*) head -n 2 {tmp}/device.csv; printf '%s' '{half}'; exec sleep 100 ;; esac")
    text = run(script, tmp / "half", 1, SECONDS_ALL="16", **env)
    check("missed: device-ddtbench: 1 rows, out of time" in text, text)
    check("2 of 2; least 0.93, pack of wide (cut short)" in text, f"what was measured counts: {text}")


# ---- the real ones ----


def test_rehearsal(script, tmp, build):
    env = {"BUILT": str(build), "LD_LIBRARY_PATH": str(build / "test" / "fake"), "TESTS": "ipc cuda", "WHAT": "index37_1024 NAS_LU_y_12", "SECONDS_ALL": "600"} # a share of it for each step: batches took 15 s of the 17 that they had of 150, and more beside a compiler
    text = run(script, tmp / "fake", 0, **env)
    got, lines = verdicts(text)
    check("1 passed, 0 failed" in text and got[0] == "met" and got[2] == "met", lines)
    check(got[5] != "no data" and got[6] != "no data" and got[7] != "no data" and got[8] != "no data" and got[10] != "no data" and got[11] != "no data", f"what lbench writes is not what is read: {lines}")


def main():
    script = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        tmp = pathlib.Path(folder)
        if len(sys.argv) > 2:
            test_rehearsal(script, tmp, pathlib.Path(sys.argv[2]).resolve())
        else:
            test_refused(script, tmp / "refused")
            test_carry(script, tmp)
            test_made_up(script, tmp)
            test_side_by_side(script, tmp)
            test_report(script, tmp)
            test_out_of_time(script, tmp)
    print(f"{checks} checks")


main()
