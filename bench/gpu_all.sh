#!/bin/sh
# All there is to do on a machine with a GPU, in one go and under 9 minutes: build, test, sanitize, measure. Needs nvcc or clang, a C
# compiler, Meson, ninja and Python; asks nothing of a network. What such a machine often lacks (the header of xxHash, Check) is
# carried along: `--carry`, run elsewhere, puts it into build-carry/, an ignored folder, where this script finds it.
set -u
cd "$(dirname "$0")/.." || exit 2

usage() {
  cat <<'END2'
usage: bench/gpu_all.sh [OUT]          builds into build-gpu/, writes logs and CSV files into OUT (build-gpu/results)
       bench/gpu_all.sh --carry [DIR]  what a bare machine needs of this one, into DIR (build-carry)
Environment: BACKEND (cuda), WHAT (problems to measure instead of the suites), SECONDS_MEASURE (per CSV file, 60), CARRY (build-carry).
END2
}

carry() { # carry DIR
  mkdir -p "$1/include" "$1/lib" "$1/bin"
  for h in xxhash.h xxh3.h check.h check_stdint.h; do
    found=$(find /usr/include /usr/local/include -name "$h" -print -quit 2> /dev/null)
    if [ -n "$found" ]; then cp "$found" "$1/include/"; fi
  done
  for l in libcheck.a libsubunit.a; do
    found=$(find /usr/lib /usr/local/lib -name "$l" -print -quit 2> /dev/null)
    if [ -n "$found" ]; then cp "$found" "$1/lib/"; fi
  done
  # as much of pkg-config as Meson asks for, since the real one may be missing as well
  cat > "$1/bin/pkg-config" <<'END2'
#!/bin/sh
here=$(cd "$(dirname "$0")/.." && pwd)
for a in "$@"; do
  case $a in --version) echo 0.29; exit 0 ;; check | libxxhash) name=$a ;; --modversion | --cflags | --libs) ask=$a ;; esac
done
[ -n "${name:-}" ] || exit 1
case $name${ask:-} in
  check--modversion) echo 0.15.2 ;; libxxhash--modversion) echo 0.8.1 ;;
  *--cflags) echo "-I$here/include" ;;
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
esac

out=${1:-build-gpu/results}
backend=${BACKEND:-cuda}
limit=${SECONDS_MEASURE:-60}
carried=${CARRY:-build-carry}
begun=$(date +%s)
failed=0
mkdir -p "$out"
out=$(cd "$out" && pwd)
if [ -x "$carried/bin/pkg-config" ]; then PATH=$(cd "$carried/bin" && pwd):$PATH; fi
export PATH

say() { printf '== %4ds  %s\n' $(($(date +%s) - begun)) "$*" | tee -a "$out/summary.txt"; }

# step NAME SECONDS COMMAND...: its output goes to OUT/NAME.log; 77 is skipped
step() {
  name=$1 seconds=$2; shift 2
  timeout "$seconds" "$@" > "$out/$name.log" 2>&1
  rc=$?
  case $rc in
    0) say "ok: $name" ;;
    77) say "skipped: $name: $(tail -n 1 "$out/$name.log")" ;;
    124) say "FAILED: $name: longer than $seconds s"; failed=$((failed + 1)) ;;
    *) say "FAILED: $name ($rc): $(tail -n 1 "$out/$name.log")"; failed=$((failed + 1)) ;;
  esac
  return $rc
}

# csv NAME 'MODE OPTIONS' WHAT...: what was measured when the time is over counts
csv() {
  name=$1 mode=$2; shift 2
  # shellcheck disable=SC2086 # lists of words
  timeout "$limit" build-gpu/bench/lbench $mode --backend "$backend" --csv ${WHAT:-"$@"} > "$out/$name.csv" 2> "$out/$name.log"
  rc=$?
  say "measured: $name: $(($(wc -l < "$out/$name.csv") - 1)) problems$(if [ $rc = 124 ]; then echo ", out of time"; fi)"
  if [ $rc != 0 ] && [ $rc != 124 ]; then say "FAILED: $name ($rc): $(tail -n 1 "$out/$name.log")"; failed=$((failed + 1)); fi
}

: > "$out/summary.txt"
say "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2> /dev/null || echo 'no nvidia-smi here')"

# ---- build ----
options="--buildtype=release -Dtests=true -Dpeers=false -Dexamples=false -D$backend=true"
# shellcheck disable=SC2086
[ -f build-gpu/build.ninja ] || step setup 60 meson setup build-gpu $options || exit 1
step build 200 meson compile -C build-gpu || exit 1

# ---- test: those that want a device, on the real one ----
step tests 150 meson test -C build-gpu --no-rebuild --print-errorlogs --suite device -t 0.6

# ---- sanitize ----
if command -v compute-sanitizer > /dev/null; then
  for tool in memcheck racecheck synccheck initcheck; do
    case $tool in memcheck) cases="copies every_op" ;; racecheck | synccheck) cases=large_nests ;; *) cases=copies ;; esac
    for one in $cases; do
      step "$tool-$one" 45 env CK_RUN_CASE="$one" CK_FORK=no CK_DEFAULT_TIMEOUT=0 LADING_TEST_BACKEND="$backend" LADING_TEST_QUICK=1 \
        compute-sanitizer --tool "$tool" --error-exitcode 9 build-gpu/test/test_device
    done
  done
  for tool in memcheck racecheck synccheck; do
    step "$tool-batch" 45 env CK_RUN_CASE=one_launch CK_FORK=no CK_DEFAULT_TIMEOUT=0 LADING_TEST_BACKEND="$backend" \
      compute-sanitizer --tool "$tool" --error-exitcode 9 build-gpu/test/test_batch_device
  done
else
  say "skipped: compute-sanitizer is not here"
fi

# ---- measure ----
step calibrate 60 build-gpu/bench/lbench calibrate --device --backend "$backend" --out "$out/model"
step batch 60 build-gpu/bench/lbench batch --backend "$backend" --csv
csv device-ddtbench 'time --where device' ddtbench
csv device-tempi 'time --where device' tempi
csv device-other 'time --where device' transpose comb ompi
csv pinned-ddtbench 'time --where pinned' ddtbench
csv host-ddtbench 'time --where host-to-device' ddtbench
csv ipc-ddtbench ipc ddtbench
step report 20 python3 bench/gpu_report.py "$out"
cat "$out/report.log" >> "$out/summary.txt"
say "$failed failed; results in $out"
cat "$out/report.log"
[ "$failed" = 0 ]
