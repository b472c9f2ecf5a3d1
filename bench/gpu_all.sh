#!/bin/sh
# All there is to do on a machine with a GPU, in one go: build, test, sanitize, measure, judge. It has one deadline, 520 s from its begin:
# every step gets its own time or what is left, whichever is less, and the judgement is written whatever happened. Needs nvcc or clang, a C
# compiler, Meson, ninja and Python; asks nothing of a network. What such a machine often lacks (the header of xxHash, Check) is
# carried along: `--carry`, run elsewhere, puts it into build-carry/, an ignored folder, where this script finds it.
set -u
cd "$(dirname "$0")/.." || exit 2

usage() {
  cat <<'END2'
usage: bench/gpu_all.sh [OUT]          builds into build-gpu/, writes logs, CSV files and summary.txt into OUT (build-gpu/results)
       bench/gpu_all.sh --carry [DIR]  what a bare machine needs of this one, into DIR (build-carry)
Environment: BACKEND (cuda), SECONDS_ALL (520), CARRY (build-carry); WHAT (problems to measure instead of the suites), TESTS (instead of all of
the suite `device`: a name), BUILT (a build folder that is complete: nothing is compiled). With LD_LIBRARY_PATH=BUILT/test/fake it is a rehearsal.
END2
}

# The file that the compiler means by <NAME>.
header() { echo "#include <$1>" | ${CC:-cc} -E -x c - 2> /dev/null | sed -n "s|^# [0-9]* \"\(/.*/$1\)\".*|\1|p" | head -n 1; }

carry() { # carry DIR
  mkdir -p "$1/include" "$1/lib" "$1/bin"
  for h in xxhash.h xxh3.h check.h check_stdint.h; do
    found=$(header "$h")
    if [ -n "$found" ]; then cp "$found" "$1/include/"; fi
  done
  for l in libcheck.a libsubunit.a; do
    found=$(${CC:-cc} -print-file-name="$l")
    if [ -f "$found" ]; then cp "$found" "$1/lib/"; fi
  done
  # as much of pkg-config as Meson asks for, since the real one may be missing as well
  cat > "$1/bin/pkg-config" <<'END2'
#!/bin/sh
here=$(cd "$(dirname "$0")/.." && pwd)
for a in "$@"; do
  case $a in --version) echo 0.29; exit 0 ;; check | libxxhash) name=$a ;; --modversion | --cflags | --libs | --variable=*) ask=$a ;; esac
done
[ -n "${name:-}" ] || exit 1
case $name${ask:-} in
  check--modversion) echo 0.15.2 ;; libxxhash--modversion) echo 0.8.1 ;;
  *--cflags) echo "-I$here/include" ;; *--variable=includedir) echo "$here/include" ;;
  check--libs) if [ -f "$here/lib/libsubunit.a" ]; then s="$here/lib/libsubunit.a"; fi; echo "$here/lib/libcheck.a ${s:-} -lm -lrt -lpthread" ;;
esac
exit 0
END2
  chmod +x "$1/bin/pkg-config"
  ls "$1"/*
}

case ${1:-} in
  -h | --help) usage; exit 0 ;;
  --carry) carry "${2:-build-carry}"; exit ;;
  -*) usage >&2; exit 2 ;;
esac
if [ $# -gt 1 ]; then usage >&2; exit 2; fi

out=${1:-build-gpu/results}
backend=${BACKEND:-cuda}
build=${BUILT:-build-gpu}
carried=${CARRY:-build-carry}
begun=$(date +%s)
ends=$((begun + ${SECONDS_ALL:-520}))
kept=10 # seconds for the judgement
failed=0 missed=0
if ! mkdir -p -- "$out" || ! out=$(cd -- "$out" && pwd); then exit 2; fi # else it would write into /
if [ -x "$carried/bin/pkg-config" ]; then PATH=$(cd "$carried/bin" && pwd):$PATH; fi
export PATH

say() { printf '== %4ds  %s\n' $(($(date +%s) - begun)) "$*" | tee -a "$out/summary.txt"; }
left() { echo $((ends - kept - $(date +%s))); }
least() { if [ "$1" -lt "$2" ]; then echo "$1"; else echo "$2"; fi; }

# note RESULT NAME WORDS: for people, and for the judgement
note() {
  echo "$2,$1" >> "$out/steps.csv"
  case $1 in failed) failed=$((failed + 1)) ;; missed) missed=$((missed + 1)) ;; esac
  say "$1: $2$3"
}

# limited NAME SECONDS COMMAND...: runs it for so long, or for what is left; its exit status, 124 out of time, 125 no time at all
limited() {
  name=$1 seconds=$(least "$2" "$(left)"); shift 2
  if [ "$seconds" -lt 1 ]; then return 125; fi
  timeout -k 2 "$seconds" "$@"
}

last_line() { tail -n 1 "$1" | cut -c 1-200; }

# told NAME STATUS: what became of a step
told() {
  rc=$2
  case $rc in
    0) note ok "$1" "$(if [ "$1" = tests ]; then echo ": $(last_line "$out/$1.log")"; fi)" ;;
    77) note skipped "$1" ": $(last_line "$out/$1.log")" ;;
    124 | 137) note missed "$1" ", out of time" ;;
    125) note missed "$1" ", no time left" ;;
    *) note failed "$1" " ($rc): $(last_line "$out/$1.log")" ;;
  esac
  return "$rc"
}

# step NAME SECONDS COMMAND...: its output goes to OUT/NAME.log; 77 is skipped
step() {
  limited "$@" > "$out/$1.log" 2>&1
  told "$1" $?
}

# beside NAME SECONDS COMMAND...: a step that goes on while others do, until all_told waits for all of them, and tells in the order they began in
beside() {
  begun_beside="$begun_beside $1"
  rm -f "$out/$1.rc"
  {
    limited "$@" > "$out/$1.log" 2>&1
    echo $? > "$out/$1.rc"
  } &
}
begun_beside=
all_told() {
  wait
  for one in $begun_beside; do told "$one" "$(cat "$out/$one.rc" || echo 137)"; done
  begun_beside=
}

# csv PARTS NAME 'MODE OPTIONS' WHAT...: so many parts of what is left for those still to come; what was measured when it is over counts
csv() {
  parts=$1 name=$2 mode=$3; shift 3
  case $mode in batch) ;; *) if [ -n "${WHAT:-}" ]; then set -- "$WHAT"; fi ;; esac
  share=$(($(left) * parts / to_come)) to_come=$((to_come - parts))
  share=$((share > 0 ? share : 1))
  # shellcheck disable=SC2048,SC2086 # lists of words
  limited "$name" "$share" "$build/bench/lbench" $mode --backend "$backend" --csv $* > "$out/$name.csv" 2> "$out/$name.log"
  rc=$?
  rows=$(($(wc -l < "$out/$name.csv") - $(grep -c '^#' "$out/$name.csv") - 1)) # whole ones, behind the header
  rows=$((rows > 0 ? rows : 0))
  case $rc in
    0) note ok "$name" ": $rows rows" ;;
    124 | 125 | 137) note missed "$name" ": $rows rows, out of time" ;;
    *) note failed "$name" " ($rc): $(last_line "$out/$name.log")" ;;
  esac
}

judge() {
  say "$failed failed, $missed out of time; results in $out"
  seconds=$(($(left) + kept - 1)) # killed a second before the end, if it must be
  seconds=$((seconds > 1 ? seconds : 1))
  timeout -k 1 "$seconds" python3 bench/gpu_report.py "$out" > "$out/report.txt" 2>&1 || echo "the report failed" >> "$out/report.txt"
  tee -a "$out/summary.txt" < "$out/report.txt"
  [ "$failed" = 0 ] && [ "$missed" = 0 ]
  exit
}

: > "$out/summary.txt"
: > "$out/steps.csv"
say "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2> /dev/null || echo 'no nvidia-smi here')"

# ---- build ----
if [ -z "${BUILT:-}" ]; then
  other=$(if [ "$backend" = cuda ]; then echo hip; else echo cuda; fi)
  options="--buildtype=release -Dtests=true -Dpeers=false -Dexamples=false -Djit=disabled -D$backend=true -D$other=false"
  # shellcheck disable=SC2086
  [ -f build-gpu/build.ninja ] || step setup 40 meson setup build-gpu $options || judge
  step build 200 meson compile -C build-gpu || judge
fi

# ---- test: those that want a device, on the real one; two processes and IPC are among them. Sanitizers beside them: each waits most of the time ----
# Tests that find no device are skipped, which is no success.
cat > "$out/run_tests" <<'END2'
#!/bin/sh
meson test -C "$1" --no-rebuild --logbase gpu_all --print-errorlogs --suite device -t 0.35 ${2:+"$2"} 2>&1 | tee "$0.out"
# a summary may lack lines whose count is 0, or have none at all
count() { sed -n "s/^$1: *\([0-9]*\).*/\1/p" "$0.out" | tail -n 1 | grep . || echo 0; }
echo "$(count Ok) passed, $(count Fail) failed, $(count Timeout) out of time, $(count Skipped) skipped"
[ "$(count Ok)" -gt 0 ] && [ "$(count Fail)$(count Timeout)" = 00 ]
END2
beside tests 100 sh "$out/run_tests" "$build" "${TESTS:-}"

# ---- sanitize ----
sanitize() { # sanitize TOOL PROGRAM CASE
  beside "$1-$2-$3" 60 env CK_RUN_CASE="$3" CK_FORK=no CK_DEFAULT_TIMEOUT=0 LADING_TEST_BACKEND="$backend" LADING_TEST_QUICK=1 \
    compute-sanitizer --tool "$1" --error-exitcode 9 "$build/test/test_$2"
}
if command -v compute-sanitizer > /dev/null; then
  for one in copies every_op; do sanitize memcheck device $one; done
  for tool in racecheck synccheck; do sanitize $tool device large_nests; done
  sanitize initcheck device copies
  for tool in memcheck racecheck synccheck; do sanitize $tool batch_device one_launch; done
  sanitize memcheck queue requests_in_order
  all_told
else
  all_told
  note skipped sanitizers ": compute-sanitizer is not here"
fi

# ---- measure: first what the planner goes by ----
step calibrate 40 "$build/bench/lbench" calibrate --device --backend "$backend" --out "$out/model"
if [ -s "$out/model" ]; then export LADING_MODEL="$out/model"; fi
few='--samples 9' # a copy a block takes long
to_come=19
csv 3 device-ddtbench "time --where device $few" ddtbench
csv 3 device-tempi "time --where device $few" tempi
csv 3 device-other "time --where device $few" transpose comb ompi other
csv 2 sums "time --where device --sum $few" ddtbench transpose comb ompi other
csv 1 batch batch
csv 1 pinned-ddtbench "time --where pinned $few" ddtbench
csv 2 pinned-tempi "time --where pinned $few" tempi
csv 1 host-ddtbench "time --where host-to-device $few" ddtbench
csv 2 ipc-ddtbench ipc ddtbench
csv 1 ipc-tempi ipc tempi
judge
