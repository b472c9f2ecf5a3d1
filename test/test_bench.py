"""Tests lbench's tools: test_bench.py BENCH LBENCH [--peer NAME]. Small runs, so that numbers mean nothing and only what is
printed is looked at. With --peer, a real helper is run; else made-up ones show that lbench lives through bad helpers."""
import csv
import io
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import xml.dom.minidom

SHORT = ["--samples", "2", "--min-time", "1"]
HEADER = "suite,name,pack_ns,pack_q1_ns,pack_q3_ns,unpack_ns,hand_pack_ns,hand_unpack_ns,segment,cold,other_pack_ns,other_unpack_ns,other_note\n"
checks = 0


def check(what, says):
    global checks
    checks += 1
    if not what:
        sys.exit(f"test_bench: {says}")


def run(*command, status=0):
    r = subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=200)
    check(r.returncode == status, f"{command} returns {r.returncode}, not {status}: {r.stdout}{r.stderr}")
    return r


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def make_csv(path, pack, text=""):
    path.write_text(HEADER + f"s,first,{pack},{pack},{pack},50,200,100,0,0,400,,\ns,second,10,9,11,10,10,10,0,0,,,no range\n" + text)
    return path


def test_scripts(bench, tmp):
    a, b = make_csv(tmp / "a.csv", 100), make_csv(tmp / "b.csv", 50)
    compare, plot = [sys.executable, bench / "compare"], [sys.executable, bench / "plot"]
    out = run(*compare, a, b).stdout
    check(re.search(r"first +100 +0% +50 +0% +2\.00 +\+", out), f"compare does not see that it is faster: {out}")
    check("geometric mean of the changes 1.414" in out, f"compare's mean: {out}")
    check("0.50  -" in run(*compare, b, a).stdout, "compare does not see that it is slower")
    check(re.search(r"first +2 +0% +4 +0% +2.00", run(*compare, a, b, "--by", "hand").stdout), "compare --by hand")
    check("second" not in run(*compare, a, b, "--changed").stdout, "compare --changed")
    check("| first | 4 |" in run(*compare, a, b, "--by", "other", "--md").stdout, "compare --md --by a peer")
    twice = make_csv(tmp / "twice.csv", 100, HEADER + "s,first,300,300,300,50,,,0,0,,,\ns,first,40,40,40,50,,,0,0,,,\n")
    check(re.search(r"first +100 +260%", run(*compare, twice, a).stdout), "several measurements of a problem")
    cut, empty = make_csv(tmp / "cut.csv", 100, "s,third,1\n"), tmp / "empty.csv"
    empty.write_text(HEADER)
    for wrong, says in ((cut, ":4: 3 fields"), (empty, "no measurements"), (tmp / "none", "cannot read"), (bench / "README.md", "header of lbench")):
        for tool in (compare + [a, wrong], plot + [wrong, "--out", tmp]):
            check(says in run(*tool, status=1).stderr, f"{tool}: no advice")
    check("no times of such a peer" in run(*compare, a, b, "--by", "nobody", status=1).stderr, "compare --by nobody")
    alone = tmp / "alone.csv"
    alone.write_text(HEADER.split(",other")[0] + "\ns,first,50,50,50,50,200,100,0,0\n")
    for files in ((a, alone), (alone, a)):
        check(f"{alone} has no times of such a peer" in run(*compare, *files, "--by", "other", status=1).stderr, "compare --by a peer of one file")
    drawn = run(*plot, a, "--out", tmp / "new" / "folder").stdout.split()
    check(drawn == [str(tmp / "new" / "folder" / "s.svg")], f"plot wrote {drawn}")
    svg = xml.dom.minidom.parse(drawn[0])
    check(len(svg.getElementsByTagName("rect")) == 1 + 2 + 4 + 1, "plot: background, legend, 4 bars and that of the peer")
    check("nothing to draw" in run(*plot, a, "--out", tmp, "--filter", "third", status=1).stderr, "plot of nothing")
    slow = tmp / "slow.csv"
    slow.write_text("suite,name,bytes,blocks,pack_ns,unpack_ns,lines,floor_ns\n"
                    "s,far,8000,1000,9000,900,1125,800\ns,tiny,8,1,4,1,2,1\ntranspose,t,8000,1000,300,80,300,70\ns,runs,8000,1000,300,80,250,70\n")
    said = run(sys.executable, bench / "binds", slow).stdout
    for name, why in (("far", "misses"), ("tiny", "call"), ("t", "turn"), ("runs", "blocks")):
        part = said.split(f"**{why}**")[1].split("**")[0].split("|--:|\n")[1]
        check(re.search(rf"^\| \w+ {name} \| pack \| 0\.\d\d \|", part) and part.count("\n| ") == 0, f"binds, {why}: {said}")
    check("unpack" not in said, f"binds what is near the floor: {said}")
    for tool in (compare, plot):
        check("usage" in run(*tool, "--help").stdout and run(*tool, status=2), "--help")


def test_floor(lbench):
    """Distinct lines on both sides, counted by hand."""
    cases = {"vector(8,1,8,double)": 8 + 1, "contiguous(64,double)": 8 + 8, "vector(64,1,2,float)": 8 + 4, "hvector(4,1,0,int)": 1 + 1,
             "contiguous(64,resized(vector(64,1,64,double),0,8))": 512 + 512, "hvector(3,1,-64,int)": 3 + 1,
             "hindexed([8,8],[60,0],byte)": 2 + 1, "contiguous(0,int)": 0, "hvector(3,1,100000000000,double)": 3 + 1}
    for text, lines in cases.items():
        row, = rows(run(lbench, "time", "--csv", *SHORT, text).stdout)
        check(int(row["lines"]) == lines, f"{text} touches {lines} lines, lbench says {row['lines']}")
        check(lines == 0 or float(row["floor_ns"]) > 0 and float(row["pack_of_floor"]) > 0, f"{text} has no floor")
    row, = rows(run(lbench, "time", "--csv", *SHORT, "hvector(5000000,1,64,double)").stdout)
    check(abs(int(row["lines"]) - 5625000) < 100, f"5000000 sampled lines and 625000 packed ones are said to be {row['lines']}")
    row, = rows(run(lbench, "time", "--csv", *SHORT, "--cold", 2 ** 27, "hvector(3,1,100000000000,double)").stdout)
    check(float(row["pack_ns"]) > 0, "far blocks have more copies than there are addresses")
    check("of floor" in run(lbench, "time", "--floor", *SHORT, "vec8of64").stdout, "no floor in the table")


def test_cold(bench, lbench, tmp):
    """Copies are counted by lines touched: a helper is told how many there are."""
    for text, touched in (("vector(8,1,8,double)", 9 * 64), ("hvector(64,1,4096,double)", 72 * 64), ("contiguous(4096,byte)", 128 * 64), ("double", 2 * 64)):
        log = tmp / "copies"
        make_helper(tmp, "cold", FAKE.replace("DIES", ":").replace("copies=", f"echo $rest > {log}; copies="))
        row, = rows(run(lbench, "time", "--csv", *SHORT, "--peers-dir", tmp, "--peers=cold", "--cold", 2 ** 20, text).stdout)
        copies = int(log.read_text().split()[0])
        check(int(row["touched"]) == touched and (copies - 1) * touched <= 2 ** 20 <= copies * touched, f"{text}: {copies} copies of {row['touched']} bytes")
    rest = "s,first,100,100,100,50,200,100,0,4096,400,,"
    old, new = tmp / "old.csv", tmp / "new.csv"
    old.write_text(HEADER + rest + "\n")
    new.write_text(HEADER.replace("\n", ",touched\n") + rest + ",128\n")
    compare = [sys.executable, bench / "compare"]
    check("1 problems" in run(*compare, old, old).stdout and "1 problems" in run(*compare, new, new).stdout, "compare of cold files")
    check("in common" in run(*compare, old, new, status=1).stderr, "packed bytes between two uses are taken for touched ones")
    new.write_text(new.read_text() + rest.replace("4096", "8192") + ",128\n" + rest.replace("4096", "0") + ",128\n")
    drawn = run(sys.executable, bench / "plot", new, "--out", tmp / "drawn").stdout.split()
    check([pathlib.Path(d).name for d in drawn] == ["s_cold_4096.svg", "s_cold_8192.svg", "s.svg"], f"plot of two distances: {drawn}")
    check("4096 packed B between two uses" in xml_text(run(sys.executable, bench / "plot", old, "--out", tmp).stdout.strip()), "plot of an old file")


def xml_text(path):
    return pathlib.Path(path).read_text()


def test_copy(lbench, tmp):
    out = run(lbench, "copy", *SHORT).stdout
    check(re.search(r"of pack \+ unpack: geometric mean \d+\.\d\d, least \d+\.\d\d \(\w+\), (\d\d) pairs", out), f"copy has no means of 10 pairs or more: {out}")
    check("transpose_doubles" in out and len(run(lbench, "copy", *SHORT, "prime_strides").stdout.splitlines()) == 4, "copy of one pair")
    line = "mine | 8 @0:8 4x32:16 :2 | vector(4,2,4,double) | hindexed_block(64,[8],byte)"
    check(re.search(r"mine +64 +4 +1 ", run(lbench, "copy", *SHORT, line).stdout), "copy of a line")
    (tmp / "ops.pairs").write_text(f"{line}\nsums | - | vector(4,2,4,double) | - | sum\n")
    out = run(lbench, "copy", *SHORT, tmp / "ops.pairs").stdout
    check("mine" in out and "sums" not in out, f"a pair with an op is not left out: {out}")
    run(lbench, "copy", *SHORT, "--cold", 4096, "--filter", "wrf")
    for wrong, says in ((line.replace("4x32:16", "4x32:24"), "hand loop"), (line.replace("64", "65"), "destination 65"), ("a | b", "a pair is"),
                        ("none", "is no pair"), (str(tmp / "none.pairs"), "cannot be read")):
        check(says in run(lbench, "copy", *SHORT, wrong, status=2).stderr, f"copy of {wrong}: no advice")


FAKE = """#!/bin/sh
say() { printf '%s\\n' "$*" >&0; }
say hello 0 Fake 1
while read -r word rest; do
  case $word in
    open) copies=${rest%% *}; case $rest in *"vector(9,"*) say no nines ;; *) say ok ;; esac ;;
    reps) say 5 ${rest##* } ;;
    time) DIES; say 1000 $(((${rest##* } + 5) % copies)) ;;
    close) say ok ;;
  esac
done
"""


def make_helper(folder, name, text):
    path = folder / ("lbench-peer-" + name)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_made_up_peers(lbench, tmp):
    make_helper(tmp, "good", FAKE.replace("DIES", ":"))
    make_helper(tmp, "mortal", FAKE.replace("DIES", "exit 3"))
    make_helper(tmp, "dumb", "#!/bin/sh\nexit 0\n")
    command = [lbench, "time", "--csv", *SHORT, "--peers-dir", tmp]
    r = run(*command, "vector(8,1,8,double)", "vector(9,1,8,double)")
    check("lbench-peer-dumb does not start" in r.stderr, f"nothing is said of a helper that does not start: {r.stderr}")
    eight, nine = rows(r.stdout)
    check(eight["good_pack_ns"] == "1000" and eight["good_unpack_q3_ns"] == "1000", "the times of a helper")
    check(float(eight["pack_vs_good"]) > 1 and eight["pack_vs_best"] == eight["pack_vs_good"], "the ratios of a helper")
    check(eight["mortal_pack_ns"] == "" and "died" in eight["mortal_note"], "a helper that dies")
    check(nine["good_pack_ns"] == "" and nine["good_note"] == "nines", "a helper that says no")
    check("pack   of good: geometric mean" in r.stderr, "no summary of a peer")
    check("mortal" not in rows(run(*command, "--peers=good", "vector(8,1,8,double)").stdout)[0], "--peers=NAME")
    check("install an MPI" in run(*command, "--peers=bad", "double", status=2).stderr, "no peer of that name")


LOGS = FAKE.replace("DIES", 'echo "$0 $rest" >> LOG')


def logged(lbench, tmp, *args):
    """What two helpers are asked to time: [(helper, DIR, REPETITIONS, FIRST)]"""
    log = tmp / "asked"
    for name in ("left", "right"):
        make_helper(tmp, name, LOGS.replace("LOG", str(log)))
    run(lbench, "time", "--csv", "--min-time", "1", "--peers-dir", tmp, "--peers=left,right", *args, "vector(8,1,8,double)")
    asked = [line.split() for line in log.read_text().splitlines()]
    log.unlink()
    return [(pathlib.Path(who).name, *(int(n) for n in rest)) for who, *rest in asked]


def test_turns(lbench, tmp):
    asked = [(who, way) for who, way, *_ in logged(lbench, tmp, "--samples", "20")]
    rounds = [tuple(asked[i:i + 4]) for i in range(4, len(asked), 4)]  # the first four calibrate
    check(len(rounds) == 20 and all(len(set(r)) == 4 for r in rounds), f"rounds are not of one sample of each way: {rounds}")
    check(len(set(rounds)) > 5, f"rounds have the same order: {rounds}")
    asked = logged(lbench, tmp, "--samples", "20", "--cold", "6400000")
    first = {way: {a[3] for a in asked if a[:2] == way} for way in {a[:2] for a in asked}}
    check(all(len(f) > 10 for f in first.values()), f"ways have copies of their own: {first}")
    check(any(b[3] == a[3] + 5 for a, b in zip(asked, asked[1:])), f"no way goes on where the one before it stopped: {asked}")


def test_shared_pages(lbench, name, tmp):
    """Who shares the memory sees that lbench filled it, and that a real helper's check puts other bytes there."""
    sums = tmp / "sums"
    show = f"cksum < /proc/self/fd/3 >> {sums}; tr -d '\\0' < /proc/self/fd/3 | wc -c >> {sums};"
    make_helper(tmp, "first", FAKE.replace("DIES", ":").replace("copies=", show + " copies=").replace("reps)", "reps) " + show))
    helper = "lbench-peer-" + name
    (tmp / helper).symlink_to(lbench.parent / "peers" / helper)
    row, = rows(run(lbench, "time", "--csv", *SHORT, "--peers-dir", tmp, "vector(512,1,2,double)").stdout)
    opened, opened_bytes, later = sums.read_text().splitlines()[:3]
    check(row[f"{name}_note"] == "" and int(opened_bytes) > 2 * 512 * 8 * 9 // 10, f"helpers find {opened_bytes} bytes of lbench's")
    check(opened != later, f"{name} works in memory of its own")


def test_peer(lbench, name):
    """One type of each constructor, checked against the definition by the helper before it is timed."""
    types = ["contiguous(3,int)", "vector(8,1,8,double)", "hvector(3,2,-100,short)", "indexed([2,0,1],[5,9,1],float)", "hindexed([1,2],[104,0],int64)",
             "indexed_block(2,[4,0],c_double)", "hindexed_block(3,[77,1],char)", "struct([1,2],[0,8],[int,double_int])",
             "subarray([4,6],[2,3],[1,2],C,int)", "subarray([4,6],[2,3],[1,2],F,bool)", "resized(vector(2,1,3,uint16),-4,40)",
             "darray(4,1,[8,9],[block,cyclic],[-1,2],[2,2],C,double)", "(repeat 3 64 (blocks 2 (0 32) (bytes 5)))",
             "(join (0 (bytes 4)) (9 (blocks 3 (0 64 256) (1 0 3) 16 (bytes 8))))"]
    out = run(lbench, "time", "--csv", *SHORT, "--peers=" + name, "--count", 3, *types)
    for text, row in zip(types, rows(out.stdout)):
        missing = "darray" in text and name == "yaksa"
        check(missing or row[f"{name}_note"] == "" and float(row[f"{name}_unpack_ns"]) > 0, f"{name}, {text}: {row[name + '_note']}")
    for what, *how in (["vec8of64_x8192", "--segment", 24], ["vec8of64_x8192", "--cold", 4096], ["vec2of64", "--cold", 1 << 20]):
        row, = rows(run(lbench, "time", "--csv", *SHORT, "--peers=" + name, *how, what).stdout)
        check(float(row[f"{name}_pack_ns"]) > 0, f"{name} with {how}")
        check((row["memcpy_vs_whole"] != "") == ("--segment" in how), f"memcpy by segments with {how}: {row['memcpy_vs_whole']}")


def test_calls(lbench):
    lines = run(lbench, "calls").stdout.splitlines()
    ns = [float(line.split()[-2]) for line in lines]
    check(len(lines) == 11 and min(ns) > 0, f"lbench calls: {lines}")


def test_jit_by_a_short_path(lbench, tmp):
    """The library hears of lading-jit by a path from / on, whatever was given."""
    helper, asked = tmp / "helper", tmp / "helper.asked"
    helper.write_text(f"#!/bin/sh\necho \"$0 $LADING_CACHE\" > {asked}.new; mv {asked}.new {asked}; exit 1\n")
    helper.chmod(0o700)
    r = subprocess.Popen([str(lbench), "jit", "helper"], cwd=tmp, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
    for _ in range(600):
        if asked.exists() or r.poll() is not None:
            break
        time.sleep(0.1)
    if r.poll() is None:
        os.killpg(r.pid, signal.SIGKILL)
    r.wait()
    check(asked.exists(), "lbench jit helper does not start it")
    path, cache = asked.read_text().split()
    check(path == str(helper.resolve()) and cache.startswith("/tmp/lbench-jit-"), f"lbench jit starts {path} for {cache}")
    shutil.rmtree(cache, ignore_errors=True)


def test_command_line(bench, lbench, tmp):
    version = run(lbench, "--version").stdout.splitlines()
    project = re.search(r"version: '(.*)'", (bench.parent / "meson.build").read_text())[1]
    check(version[0] == f"lbench {project}" and "caches" in version[1], f"lbench --version: {version}")
    for args in (["batch"], ["ipc", "gap400"], ["time", "--where", "device", "gap400"], ["calibrate", "--device"]):
        run(lbench, *args, "--backend", "nobody", status=77)
    for args, says in ((["explain", "vector(8,1,8,Double)"], "character 14, where 'Double)'"), (["explain", "vector(8,1,8,double"], "up to its end"),
                       (["time", "--bogus", "3"], "unknown option --bogus"), (["time", "--samples", "x"], "--samples needs a number"),
                       (["time", "--samples", "9" * 20], "--samples needs a number"), (["time", "--out"], "--out needs a value"), (["jit", "none"], "none cannot be run"),
                       (["calibrate", "my.model"], "by --out"), (["calls", "x"], "calls has no use for 'x'"), (["jit", "a", "b"], "one path"),
                       *((["time", "--where", "device", *how, "double"], "--where goes with none of") for how in (["--segment", "8"], ["--cold", "8"], ["--floor"], ["--peers"]))):
        error = run(lbench, *args, status=2).stderr
        check(says in error, f"{args}: {error}")
    for path, says in ((tmp / "none" / "model", "No such file"), (tmp, "Is a directory")): # before it measures for years
        check(says in run(lbench, "calibrate", "--seconds", 1 << 30, "--out", path, status=1).stderr, f"calibrate --out {path}")
    odd = tmp / "a (folder" / "my own.suite"
    odd.parent.mkdir()
    odd.write_text((bench / "suites" / "small.suite").read_text())
    check("vec8of64: 1 x " in run(lbench, "dump", "--filter", "^vec8of64$", odd).stdout, "a path with what types have in it")
    for script in ("tools/make_suites.py", "tools/model_builtin.py", "bench/gpu_report.py"):
        error = run(sys.executable, bench.parent / script, "--help", status=1).stderr
        check("Traceback" not in error and pathlib.Path(script).name in error, f"{script} --help: {error}")


def test_layouts_by_seed(bench, lbench, tmp):
    """Suites that are not committed: some problems of each move as the definition says, by type and by loop."""
    for option, suite, some in (("--random", "random", "_7$"), ("--columns", "columns", "_[0-9]$")):
        run(sys.executable, bench.parent / "tools/make_suites.py", option, 1, tmp)
        out = run(lbench, "verify", "--quick", tmp / f"{suite}.suite", "--filter", some).stdout
        check(re.search(r"verify: ([1-9][0-9]*) ok, 0 wrong, ", out), f"{option}: {out}")


def main():
    bench, lbench = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    os.chdir(bench.parent)
    if sys.argv[3:4] == ["--peer"]:
        test_peer(lbench, sys.argv[4])
        with tempfile.TemporaryDirectory() as tmp:
            test_shared_pages(lbench, sys.argv[4], pathlib.Path(tmp))
    else:
        with tempfile.TemporaryDirectory() as tmp:
            test_scripts(bench, pathlib.Path(tmp))
            test_floor(lbench)
            test_command_line(bench, lbench, pathlib.Path(tmp))
            test_jit_by_a_short_path(lbench, pathlib.Path(tmp))
            test_calls(lbench)
            test_cold(bench, lbench, pathlib.Path(tmp))
            test_copy(lbench, pathlib.Path(tmp))
            test_layouts_by_seed(bench, lbench, pathlib.Path(tmp))
            test_made_up_peers(lbench, pathlib.Path(tmp))
            test_turns(lbench, pathlib.Path(tmp))
    print(f"{checks} checks")


main()
