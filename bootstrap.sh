#!/bin/sh
# From a bare machine to a result, in one command. `./bootstrap.sh --help` says what there is. Safe to run again at any time:
# what is there already is neither installed nor built a second time, and then nothing is asked of the network.
set -eu
cd "$(dirname "$0")"
exec < /dev/null
CC=${CC:-cc} CXX=${CXX:-c++} CCACHE_DISABLE=1
export CC CXX CCACHE_DISABLE
passed=0 failed=0 new='' cpu=aarch64 # cpu: the one that is emulated, as uname names it

usage() {
  cat <<'END'
usage: ./bootstrap.sh COMMAND
  bench          build, check lbench's strategies on every small problem, time the DDTBench suite
  test           every test: release, install, sanitizers, kernels for aarch64 in an emulator, clang, a short fuzz; ends with
                 "N passed, N failed"
  test --quick   the release build and its tests only
  test-on CPU    what test does for aarch64, with all kernels, for CPU: aarch64, ppc64le, riscv64 or s390x
  build          build the libraries, lbench and the examples into build/
  clean          remove build/ and build-*/
All but clean first install what is missing (compiler, Meson, Ninja, pkg-config, Python, xxHash header; for test also
Check, clang, lld, libgccjit, shellcheck, a compiler and an emulator for aarch64; for test-on those for CPU) with apt-get, dnf, zypper or pacman, as root or through sudo; for test also nvcc, with
pip into build-nvcc/. No GPU is needed.
Environment: CC, CXX; a folder that this script made with others is set up anew.
END
}

say() { printf '== %s\n' "$*"; }
die() { printf 'bootstrap: %s\n' "$*" >&2; exit 1; }

# ---- what is needed: `probe_X` tells whether it is there; the names are those of apt dnf zypper pacman ----

compiles() { printf '%s\n' "$1" | $CC -x c - -o /dev/null "${2:--O0}" 2> /dev/null; }
probe_cc() { compiles 'int main(void){return 0;}'; }
probe_cxx() { echo 'int main(){}' | $CXX -x c++ - -o /dev/null 2> /dev/null; }
probe_python() { command -v python3 > /dev/null; }
probe_meson() { command -v meson > /dev/null; }
probe_ninja() { command -v ninja > /dev/null || command -v ninja-build > /dev/null; }
probe_pkgconfig() { command -v pkg-config > /dev/null; }
probe_xxhash() { printf '#include <xxhash.h>\n#if XXH_VERSION_NUMBER < 800\n#error\n#endif\n' | $CC -x c -fsyntax-only - 2> /dev/null; }
probe_check() { pkg-config --exists check 2> /dev/null; }
probe_sanitizers() {
  compiles 'int main(void){return 0;}' -fsanitize=address,undefined && compiles 'int main(void){return 0;}' -fsanitize=thread
}
probe_binutils() { command -v readelf > /dev/null && command -v nm > /dev/null; }
probe_clang() {
  command -v clang > /dev/null &&
    echo 'int LLVMFuzzerTestOneInput(void){return 0;}' | clang -x c - -o /dev/null -w -fsanitize=fuzzer,address,undefined 2> /dev/null
}
probe_gccjit() { printf '#include <libgccjit.h>\nint main(void){return gcc_jit_version_major()<0;}\n' | $CC -x c - -o /dev/null -lgccjit 2> /dev/null; }
probe_amdgpu() {
  command -v clang > /dev/null && echo '__attribute__((global)) void k(void) {}' |
    clang -x hip --cuda-device-only -nogpuinc -nogpulib --offload-arch=gfx90a -o /dev/null - 2> /dev/null
}
triple() { case $cpu in ppc64le) echo powerpc64le-linux-gnu ;; *) echo "$cpu-linux-gnu" ;; esac; }
emulator() { command -v "qemu-$cpu-static" || command -v "qemu-$cpu" || true; }
probe_emulated() { # compiles and runs
  command -v "$(triple)-gcc" > /dev/null && [ -n "$(emulator)" ] || return 1
  mkdir -p "build-$cpu-include"
  echo 'int main(void){return 0;}' | "$(triple)-gcc" -x c - -o "build-$cpu-include/probe" 2> /dev/null &&
    "$(emulator)" -L "/usr/$(triple)" "build-$cpu-include/probe" 2> /dev/null
}
probe_pip() { python3 -m pip --version > /dev/null 2>&1; }
probe_nvcc() { command -v nvcc > /dev/null || [ -x /usr/local/cuda/bin/nvcc ] || [ -x build-nvcc/nvidia/cu13/bin/nvcc ]; }
probe_shellcheck() { command -v shellcheck > /dev/null; }

gccjit_major() { $CC -dumpversion 2> /dev/null | cut -d. -f1 | grep -E '^[0-9]+$' || echo 12; } # Debian has one package a version of gcc

debian_name() { case $cpu in aarch64) echo arm64 ;; ppc64le) echo ppc64el ;; *) echo "$cpu" ;; esac; }

packages() { # packages MANAGER THING
  case $1:$2 in
    apt:cc) echo gcc libc6-dev ;;                *:cc) echo gcc ;;
    apt:cxx) echo g++ ;;                         pacman:cxx) echo gcc ;; *:cxx) echo gcc-c++ ;;
    pacman:python) echo python ;;                *:python) echo python3 ;;
    apt:ninja | dnf:ninja) echo ninja-build ;;   *:ninja) echo ninja ;;
    pacman:pkgconfig) echo pkgconf ;;            dnf:pkgconfig) echo pkgconf-pkg-config ;; *:pkgconfig) echo pkg-config ;;
    apt:xxhash) echo libxxhash-dev ;;            pacman:xxhash) echo xxhash ;; *:xxhash) echo xxhash-devel ;;
    apt:gccjit) echo "libgccjit-$(gccjit_major)-dev" ;; dnf:gccjit) echo libgccjit-devel ;; zypper:gccjit) echo libgccjit-devel-gcc ;; *:gccjit) echo libgccjit ;;
    dnf:check | zypper:check) echo check-devel ;;
    dnf:sanitizers) echo libasan libubsan libtsan ;; *:sanitizers) echo gcc ;;
    apt:clang) echo clang libclang-rt-dev ;;     zypper:clang) echo clang ;; *:clang) echo clang compiler-rt ;;
    apt:amdgpu) echo clang clang-tools lld ;;    *:amdgpu) echo clang lld ;;
    apt:emulated) echo "gcc-$(triple) libc6-dev-$(debian_name)-cross qemu-user-static" ;;
    pacman:emulated) echo "$(triple)-gcc qemu-user-static" ;; *:emulated) ;;
    pacman:pip) echo python-pip ;;               *:pip) echo python3-pip ;;
    dnf:shellcheck | zypper:shellcheck) echo ShellCheck ;;
    *) echo "$2" ;;
  esac
}

manager() {
  for m in apt-get dnf zypper pacman; do
    if command -v $m > /dev/null; then echo "${m%-get}"; return; fi
  done
}

install_packages() { # install_packages MANAGER PACKAGE...
  m=$1; shift
  if [ "$(id -u)" = 0 ]; then root=; elif command -v sudo > /dev/null; then root="sudo -n"; else
    say "need root or sudo to install: $*"
    return 1
  fi
  say "installing with $m: $*"
  case $m in # $root is empty or two words
    apt) $root apt-get update -q && $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" ;;
    dnf) $root dnf install -y "$@" ;;
    zypper) $root zypper --non-interactive install --no-recommends "$@" ;;
    pacman) $root pacman -Sy --noconfirm --needed "$@" ;;
    *) false ;;
  esac
}

missing() { for thing in "$@"; do "probe_$thing" || echo "$thing"; done; }

# need THING...: installs what of it is missing; fails when something is still missing then.
need() {
  todo=$(missing "$@")
  [ -n "$todo" ] || return 0
  m=$(manager)
  [ -n "$m" ] || { say "missing, and no package manager known here:" "$(echo "$todo" | tr '\n' ' ')"; return 1; }
  list=
  for thing in $todo; do list="$list $(packages "$m" "$thing")"; done
  [ -n "${list# }" ] || return 1 # nobody packages it there
  # shellcheck disable=SC2086 # a list of words
  install_packages "$m" $list || return 1
  todo=$(missing "$@")
  [ -z "$todo" ] || { say "still missing:" "$(echo "$todo" | tr '\n' ' ')"; return 1; }
}

need_build() {
  need cc python meson ninja pkgconfig xxhash || die "install by hand: a C11 compiler, python3, meson >= 1.0, ninja, pkg-config, the xxHash header"
}

# nvcc from NVIDIA's packages for Python: 115 MB, pinned together, since any other set of them does not fit.
get_nvcc() {
  need pip || return 1
  say "installing with pip, into build-nvcc: nvcc"
  python3 -m pip install -q --no-deps --target build-nvcc nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-crt==13.0.88 \
    nvidia-cuda-runtime==13.0.96 > build-nvcc.log 2>&1 || { tail -n 3 build-nvcc.log; return 1; }
  ln -sf lib build-nvcc/nvidia/cu13/lib64
  probe_nvcc
}

# What compiles kernels for devices. A build without it drops that backend and says so. No GPU and no driver are needed.
need_devices() {
  need amdgpu || say "skipped: kernels for HIP, no clang with lld and AMD's target to be had here"
  case $(uname -m) in x86_64 | aarch64) probe_nvcc || get_nvcc || say "skipped: kernels for CUDA, no nvcc to be had here" ;; esac
}

# ---- building ----

compilers() { printf '%s\n%s\n' "$CC" "$CXX"; }

# A folder keeps the compilers that it was made with, and Meson does not look at CC and CXX again. One that does not say which was made with the usual ones.
other_compilers() { # other_compilers DIR
  [ -f "$1/build.ninja" ] && [ "$(compilers)" != "$(cat "$1/compilers" 2> /dev/null || printf 'cc\nc++\n')" ]
}

# configure DIR OPTION...: a Meson build folder with these options, made (then with the option in $new, too) or brought up to date
configure() {
  say "$1: meson $(shift; echo "$*")"
  if other_compilers "$1"; then
    say "$1: set up anew, for other compilers"
    meson setup --wipe "$1" > /dev/null 2>&1 || rm -rf "$1"
  fi
  # a folder of an older checkout may not know an option: then it is made anew
  if [ ! -f "$1/build.ninja" ] || ! meson configure "$@" > /dev/null 2>&1; then
    rm -rf "$1"
    meson setup ${new:+"$new"} "$@" > /dev/null || { tail -n 30 "$1/meson-logs/meson-log.txt"; return 1; }
  fi
  compilers > "$1/compilers"
}
build() {
  configure "$@" || return 1
  log=$1/compile.log
  meson compile -C "$1" > "$log" 2>&1 || { tail -n 60 "$log"; return 1; }
}

# ---- testing ----

# step NAME COMMAND...: runs it, counts it
step() {
  name=$1; shift
  if "$@"; then passed=$((passed + 1)); say "ok: $name"; else failed=$((failed + 1)); say "FAILED: $name"; fi
}

# tests DIR MESON_TEST_OPTION...: runs a build's tests, counts each program. One more at once than there are processors, since some wait for others; the few that time something go by the time of their own thread.
tests() {
  dir=$1; shift
  rm -f "$dir/meson-logs/testlog.json"
  meson test -C "$dir" --no-rebuild --print-errorlogs --num-processes $(($(getconf _NPROCESSORS_ONLN) + 1)) "$@" || true
  log=$dir/meson-logs/testlog.json
  good=$(grep -c '"result": "OK"' "$log") || good=0
  all=$(grep -c '"result": ' "$log") || all=0
  skipped=$(grep -c '"result": "SKIP"' "$log") || skipped=0
  if [ "$all" = 0 ]; then all=1; say "FAILED: $dir ran no test"; fi
  passed=$((passed + good)) failed=$((failed + all - good - skipped))
}

result() { printf '%d passed, %d failed\n' "$passed" "$failed"; [ "$failed" = 0 ]; }

# build_and_test NAME DIR "BUILD OPTIONS" "TEST OPTIONS"
build_and_test() {
  before=$failed
  # shellcheck disable=SC2086 # lists of words
  step "$1 build" build "$2" $3
  # shellcheck disable=SC2086
  [ "$failed" != "$before" ] || tests "$2" $4
}

# What reads bytes from other processes gets more.
fuzz_seconds() { if [ "$1" = wire ]; then echo 20; else echo 15; fi; }

fuzz_one() { # fuzz_one NAME
  mkdir -p "build-fuzz/corpus/$1"
  (cd build-fuzz && "test/fuzz_$1" -max_total_time="$(fuzz_seconds "$1")" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    "corpus/$1" "../test/corpus/$1") > "build-fuzz/$1.log" 2>&1 || { tail -n 40 "build-fuzz/$1.log"; return 1; }
  grep -E 'number_of_executed_units|new_units_added' "build-fuzz/$1.log" || true
}

fuzz() { # all at once: each is one thread, and there are as few of them as cores
  started=
  for program in build-fuzz/test/fuzz_*; do
    if [ ! -f "$program" ] || [ ! -x "$program" ]; then continue; fi
    fuzz_one "${program##*/fuzz_}" & started="$started $!"
  done
  [ -n "$started" ] || { say "no fuzzer was built"; return 1; }
  bad=0
  for one in $started; do wait "$one" || bad=1; done
  return $bad
}

# Another processor, by a compiler and an emulator: lbench looks at every strategy, examples run. $cpu says which. test_emulated [OPTION]
test_emulated() {
  header=$($CC -E -x c -include xxhash.h /dev/null | sed -n 's/^# 1 "\(.*xxhash\.h\)".*/\1/p' | head -n 1)
  ln -sf "${header:-xxhash.h}" "build-$cpu-include/" # it is good for all machines
  case $cpu in s390x) endian=big ;; *) endian=little ;; esac
  cat > "build-$cpu-include/cross.ini" <<END
[binaries]
c = '$(triple)-gcc'
ar = '$(triple)-ar'
exe_wrapper = ['$(emulator)', '-L', '/usr/$(triple)']
[built-in options]
c_args = ['-I$PWD/build-$cpu-include']
[host_machine]
system = 'linux'
cpu_family = '${cpu%le}'
cpu = '$cpu'
endian = '$endian'
END
  new=--cross-file=build-$cpu-include/cross.ini
  build_and_test "$cpu" "build-$cpu" "--buildtype=release -Dwerror=true -Dtests=true -Dcuda=false -Dhip=false -Dpeers=false ${1:-}" \
    "--suite emulated"
  new=
}

test_on() {
  case $1 in aarch64 | ppc64le | riscv64 | s390x) cpu=$1 ;; *) usage >&2; exit 2 ;; esac
  need_build
  need emulated || die "no compiler and emulator for $cpu to be had here"
  test_emulated
  result
}

test_all() {
  need_build
  need cxx check sanitizers binutils || die "install by hand: a C++ compiler, check, the sanitizer libraries of the compiler, binutils"
  need shellcheck || say "skipped: shellcheck"
  need gccjit || say "skipped: kernels compiled at run time, no libgccjit to be had here"
  need_devices
  build_and_test release build "--buildtype=release -Dwerror=true -Dtests=true -Dyaksa=true" ""
  if [ "${1:-}" != --quick ]; then
    # -g1, names and lines, is what a report needs: all of -g takes half as long again to compile. Kernels for devices are the release build's, and
    # instrumented ones take long to compile: few of base are enough there, and where addresses are watched of v4, played (genkernels/played.h): nobody else sees what is under masks.
    # What mostly runs scripts the release build has run.
    instrumented="--buildtype=plain -Doptimization=1 -Dwerror=true -Dtests=true -Dyaksa=true -Dcuda=fake -Dhip=fake -Dfew=true -Dc_args=-g1"
    levels='' watched=''
    [ "$(uname -m)" != x86_64 ] || levels=-Dlevels=base watched='-Dlevels=base,v4 -Dplayed=true'
    export UBSAN_OPTIONS="${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}"
    export ASAN_OPTIONS="handle_sigill=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}" # in kernels what is undefined ends in a trap
    build_and_test "address and undefined sanitizer" build-asan "$instrumented $watched -Dchecks=full -Db_sanitize=address,undefined -Db_lundef=false" \
      "--suite unit --suite watched --suite examples --suite bench --no-suite scripts -t 4"
    build_and_test "thread sanitizer" build-tsan "$instrumented $levels -Dbench=false -Dexamples=false -Db_sanitize=thread -Db_lundef=false" \
      "--suite threads -t 4"
    if [ "$(uname -m)" = "$cpu" ]; then :; elif need emulated; then test_emulated -Dfew=true; else # all of them by test-on: what they have in common compiles in half the time
      say "skipped: $cpu, no compiler and emulator to be had here"
    fi
    if need clang; then
      before=$failed CC=clang CXX=clang++ # from here on
      # shellcheck disable=SC2086 # a list of words
      step "clang build" build build-fuzz $instrumented $levels -Dbench=false -Dexamples=false -Dfuzz=true -Dchecks=full -Db_sanitize=address,undefined -Db_lundef=false
      [ "$failed" != "$before" ] || step "fuzz" fuzz
    else
      say "skipped: the clang build and the fuzzers, no clang with libFuzzer to be had here"
    fi
  fi
  result
}

bench() {
  need_build
  build build --buildtype=release
  say "lbench verify --quick: every strategy that can, on every small problem, against the definition"
  build/bench/lbench verify --quick
  say "lbench time bench/suites/ddtbench.suite"
  build/bench/lbench time bench/suites/ddtbench.suite
}

case $#:${1:-}:${2:-} in # a word too many or mistyped would run for minutes what nobody asked for
  0:* | 1:* | 2:test:--quick | 2:test-on:*) ;;
  *) usage >&2; exit 2 ;;
esac
case ${1:---help} in
  bench) bench ;;
  test) test_all "${2:-}" ;;
  test-on) test_on "${2:-}" ;;
  build) need_build && build build --buildtype=release && say "built: build/liblading.so build/liblading.a build/bench/lbench" ;;
  clean) rm -rf build build-* ;;
  -h | --help | help) usage ;;
  *) usage >&2; exit 2 ;;
esac
