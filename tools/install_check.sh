#!/bin/sh
# Installs a build into a scratch folder and uses what is there as others would: through pkg-config, shared and static, whichever
# -Ddefault_library chose, and as a Meson subproject, both ways.    install_check.sh SOURCE BUILD
set -eu
[ $# = 2 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
source=$1 build=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cc=${CC:-cc}
example=$source/examples/halo3d.c

say() { printf 'install: %s\n' "$*"; }
fail() { say "$*"; exit 1; }

DESTDIR=$scratch/root meson install -C "$build" --no-rebuild --quiet
pc=$(find "$scratch/root" -name lading.pc)
[ -f "$pc" ] || fail "no lading.pc"
lib=$(find "$scratch/root" -name 'liblading.so')
static=$(find "$scratch/root" -name 'liblading.a')
wanted=$(meson introspect --buildoptions "$build" | python3 -c 'import json, sys; print(next(o["value"] for o in json.load(sys.stdin) if o["name"] == "default_library"))')
[ -e "$lib" ] || [ "$wanted" = static ] || fail "no liblading.so"
[ -f "$static" ] || [ "$wanted" = shared ] || fail "no liblading.a"

pc_flags() {
  PKG_CONFIG_LIBDIR=$(dirname "$pc") PKG_CONFIG_SYSROOT_DIR=$scratch/root pkg-config "$@" lading # which finds no other library's
}
check_shared() {
  [ -e "$lib.0" ] || fail "no liblading.so.0"
  extra=$(nm -D --defined-only "$lib" | awk '$NF !~ /^lading_/ { print $NF }')
  [ -z "$extra" ] || fail "liblading.so exports $extra"
  nm -D --defined-only "$lib" | grep -q 'T lading_pack@' || fail "liblading.so does not export lading_pack"
  needs=$(readelf -d "$lib" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v -E '^(libc|libpthread|libm|ld-linux.*|ld64|libc\.musl-.*|lib[a-z]*san)\.so' || true)
  [ -z "$needs" ] || fail "liblading.so needs $needs"
  # shellcheck disable=SC2046 # flags are words
  $cc -O1 -o "$scratch/shared" "$example" $(pc_flags --cflags --libs)
  LD_LIBRARY_PATH=$(dirname "$lib") "$scratch/shared"
  say "pkg-config: ok, shared $(wc -c < "$lib") bytes"
}

check_static() {
  extra=$(nm -g --defined-only "$static" | awk 'NF == 3 && $2 ~ /[A-Z]/ && $3 !~ /^(lading|ldg)_/ { print $3 }')
  [ -z "$extra" ] || fail "liblading.a defines $extra"
  # shellcheck disable=SC2046 # flags are words
  $cc -O1 -o "$scratch/static" "$example" $(pc_flags --cflags) "$static" $(pc_flags --static --libs-only-other) -pthread
  "$scratch/static"
  if readelf -d "$scratch/static" | grep -q liblading; then fail "the static example needs the shared library"; fi
  say "pkg-config: ok, static $(wc -c < "$static") bytes"
}

# A plugin with all of it inside, which exports nothing of it, and may be closed at any time.
check_plugin() {
  # shellcheck disable=SC2046 # flags are words
  $cc -O1 -shared -fPIC -o "$scratch/plugin.so" "$source/test/plugin.c" $(pc_flags --cflags) "$static" -Wl,--exclude-libs,liblading.a -pthread
  $cc -O1 -DHOST -o "$scratch/host" "$source/test/plugin.c" -ldl
  if nm -D --defined-only "$scratch/plugin.so" | grep -q lading_; then fail "the plugin exports functions of lading"; fi
  mkdir -m 700 "$scratch/kernels"
  printf '#!/bin/sh\nsleep 0.7\nexit 1\n' > "$scratch/helper" # which is waited for when the plugin is closed
  chmod 700 "$scratch/helper"
  LADING_JIT=$scratch/helper LADING_CACHE=$scratch/kernels "$scratch/host" "$scratch/plugin.so" || fail "a plugin that is closed ends its program"
  say "plugin: ok"
}

if [ -e "$lib" ]; then check_shared; fi
if [ -f "$static" ]; then check_static; check_plugin; fi

# libyaksa, where it was built: alone under its prefix, by the name that an MPI was linked with, needing nothing of ours.
yaksa_pc=$(find "$scratch/root" -name yaksa.pc)
if [ -n "$yaksa_pc" ]; then
  yaksa=${yaksa_pc%/lib/pkgconfig/yaksa.pc}
  case $yaksa in */lib/lading/yaksa) ;; *) fail "yaksa.pc is in $yaksa_pc" ;; esac
  readelf -d "$yaksa/lib/libyaksa.so" | grep -q 'SONAME.*\[libyaksa\.so\.0\]' || fail "libyaksa.so has another name"
  if readelf -d "$yaksa/lib/libyaksa.so" | grep NEEDED | grep -q lading; then fail "libyaksa.so needs liblading"; fi
  symbols=$(nm -D --defined-only "$yaksa/lib/libyaksa.so" | awk '{ print $NF }' | sort)
  wanted=$(sed -n 's/^int \(yaksa_[a-z_]*\)(.*/\1/p' "$yaksa/include/yaksa.h" | sort)
  [ "$symbols" = "$wanted" ] || fail "libyaksa.so does not export what yaksa.h declares"
  # shellcheck disable=SC2046 # flags are words
  $cc -O1 -Wall -Werror -o "$scratch/client" "$source/test/yaksa_client.c" \
    $(PKG_CONFIG_PATH=$(dirname "$yaksa_pc") PKG_CONFIG_SYSROOT_DIR=$scratch/root pkg-config --cflags --libs yaksa)
  LD_LIBRARY_PATH=$yaksa/lib "$scratch/client"
  say "libyaksa: ok, $(echo "$wanted" | wc -l) functions, $(wc -c < "$yaksa/lib/libyaksa.so") bytes"
fi

mkdir -p "$scratch/user/subprojects/lading"
(cd "$source" && tar cf - --exclude='./build*' --exclude=./.git --exclude=./subprojects .) | (cd "$scratch/user/subprojects/lading" && tar xf -)
cp "$example" "$scratch/user/main.c"
cat > "$scratch/user/meson.build" <<'END'
project('user', 'c', meson_version: '>= 1.0.0')
lading = dependency('lading', version: '>= 0.1', fallback: 'lading')
executable('user', 'main.c', dependencies: lading)
shared_module('plugin', 'main.c', dependencies: lading)
END
few='-Dlading:levels=base,neon -Dlading:few=true -Dlading:cuda=false' # with less to compile: first with AMD's devices, of one architecture, as NVIDIA's take 50 s, and then with none
user() { # user KIND: builds the program above with lading as a subproject of that kind; kernels that one kind compiled are good for the other
  if [ "$1" = static ]; then
    # shellcheck disable=SC2086 # a list of words
    CC=$cc meson setup "$scratch/user/build" "$scratch/user" -Ddebug=false -Dlading:default_library=static $few --wrap-mode=forcefallback
  else
    meson configure "$scratch/user/build" "-Dlading:default_library=$1" -Dlading:hip=false
  fi && ninja -C "$scratch/user/build"
}
for kind in static shared; do
  user $kind > "$scratch/$kind.log" 2>&1 || { cat "$scratch/$kind.log"; fail "the $kind subproject does not build"; }
  "$scratch/user/build/user"
  if readelf -d "$scratch/user/build/user" | grep -q 'NEEDED.*liblading'; then linked=shared; else linked=static; fi
  [ $linked = $kind ] || fail "the $kind subproject is linked as a $linked library"
  if nm -D --defined-only "$scratch/user/build/libplugin.so" | grep -q lading_; then fail "a plugin with the $kind subproject exports functions of lading"; fi
  say "subproject: ok, $kind"
done
