#!/usr/bin/env bash
# Sets this machine up for building and testing Sconce. Safe to run again: a second run only looks.
#
#   tools/setup.sh            everything below
#   tools/setup.sh native     C compilers, CMake, Ninja, flatc
#   tools/setup.sh wasm       CMake, Ninja, Emscripten and the system libraries we link
#   tools/setup.sh node       npm packages of this checkout
#   tools/setup.sh web        Chromium, for the page's tests
#
# On Debian, as root, what is missing is installed; elsewhere it is named and the script stops.
# SCONCE_CACHE moves the folder that holds what is made once per machine (~/.cache/sconce).
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# command=package pairs of which the missing ones are installed together.
need() {
  local pair missing=()
  for pair in "$@"; do
    have "${pair%%=*}" || missing+=("${pair#*=}")
  done
  [ ${#missing[@]} = 0 ] || apt_install "${missing[@]}"
}

setup_native() {
  need cmake=cmake ninja=ninja-build gcc=gcc clang=clang clang-format=clang-format \
    llvm-symbolizer=llvm flatc=flatbuffers-compiler
  # Compilers can be there without what they link: the C library, the sanitizers, libFuzzer.
  local probe stamp missing=()
  stamp=$CACHE/native-$({ gcc --version && clang --version; } 2>&1 | cksum | tr ' ' -)
  [ ! -e "$stamp" ] || return 0
  probe=$(mktemp -d)
  cat >"$probe/p.c" <<'C'
#include <stdio.h>
int LLVMFuzzerTestOneInput(const unsigned char *data, unsigned long size);
int LLVMFuzzerTestOneInput(const unsigned char *data, unsigned long size) {
    return data && size ? 0 : puts("");
}
C
  gcc -fsanitize=address,undefined -shared -fPIC -o "$probe/p" "$probe/p.c" 2>/dev/null ||
    missing+=(gcc libc6-dev)
  clang -fsanitize=fuzzer,address,undefined -o "$probe/p" "$probe/p.c" 2>/dev/null ||
    missing+=(libc6-dev libclang-rt-dev libstdc++-12-dev)
  rm -rf "$probe"
  [ ${#missing[@]} = 0 ] || apt_install "${missing[@]}"
  mkdir -p "$CACHE"
  : >"$stamp"
}

# The machine's own mirror of Debian, read from apt, whichever way its sources are written down.
debian_mirror() {
  local codename
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v name="$codename" '$2 == name && $3 == "main" { print $1; exit }'
}

# The machine's own way of reaching it: proxies, certificates, clock checks. Lists of index kinds
# and of compression types are apt's defaults and only noise.
apt_options() {
  apt-config dump | grep '^Acquire::' | grep -v ' "";$' |
    grep -vE '^Acquire::(IndexTargets|cdrom|CompressionTypes|Changelogs|GzipIndexes)' || true
}

make_emscripten_root() {
  local home=$CACHE/emscripten mirror suite line options=() made=
  need mmdebstrap=mmdebstrap bwrap=bubblewrap
  bwrap --bind / / true || die "bubblewrap cannot make a namespace here." \
    "Put Emscripten 4 or newer on PATH (or its folder in EMSDK) and run this again."
  mirror=$(debian_mirror)
  [ -n "$mirror" ] || die "apt names no mirror of Debian's main archive here." \
    "Put Emscripten 4 or newer on PATH (or its folder in EMSDK) and run this again."
  while IFS= read -r line; do
    [ -z "$line" ] || options+=("--aptopt=${line%;}")
  done < <(apt_options)
  mkdir -p "$home"
  # The first suite that carries an Emscripten new enough; Debian 12 and 13 do not.
  for suite in forky sid; do
    say "making an Emscripten root from Debian $suite in $home (half a minute, 850 MB)"
    rm -rf "$home/root.new"
    if quietly mmdebstrap --variant=extract \
      --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr "${options[@]}" \
      --include=emscripten,ca-certificates,dash,bash,coreutils,sed,grep,base-files,python3 \
      "$suite" "$home/root.new" "$mirror"; then
      made=1
      break
    fi
    say "Debian $suite did not give one"
  done
  [ -n "$made" ] || die "could not make an Emscripten root." \
    "Put Emscripten 4 or newer on PATH (or its folder in EMSDK) and run this again."
  rm -rf "$home/root" "$home/root.ready" "$home/cache"
  mv "$home/root.new" "$home/root"
  : >"$home/root.ready"
}

# Links a small program with each set of flags of the build, so the system libraries they need are
# built here, once, and not in the middle of a build that looks hung.
warm_emscripten() {
  local version stamp dir flags line
  flags=$(grep -v '^#' "$REPO/tools/emscripten-flags.txt")
  version=$("$REPO/tools/bin/emcc" --version | head -n 1)
  stamp=$CACHE/emscripten/warm-$(printf '%s%s' "$version" "$flags" | cksum | tr ' ' -)
  [ ! -e "$stamp" ] || return 0
  say "building Emscripten's system libraries (a minute or two, once per machine)"
  dir=$(mktemp -d)
  cat >"$dir/probe.c" <<'C'
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__attribute__((export_name("probe"))) double probe(size_t n, double x);
double probe(size_t n, double x) {
    char *text = malloc(n);
    if (!text) return 0;
    snprintf(text, n, "%g", exp(x) + sinf((float)x));
    x = strtod(text, NULL);
    free(text);
    return x;
}
int main(int argc, char **argv) {
    FILE *file = fopen(argv[argc - 1], "rb");
    printf("%g\n", probe((size_t)argc, 1));
    return file ? fclose(file) : 1;
}
C
  while read -r line; do
    # shellcheck disable=SC2086 # one line is a list of flags
    (cd "$dir" && quietly "$REPO/tools/bin/emcc" probe.c $line) ||
      die "Emscripten could not link with: $line"
  done <<<"$flags"
  rm -rf "$dir"
  : >"$stamp"
}

setup_wasm() {
  need cmake=cmake ninja=ninja-build
  if ! "$REPO/tools/bin/emcc" --version >/dev/null 2>&1; then
    if ! can_apt && ! { have mmdebstrap && have bwrap && have apt-get; }; then
      die "no Emscripten 4 or newer on PATH or in EMSDK, and this is not Debian with root." \
        "Install Emscripten (the package 'emscripten' of Debian forky or newer, or the emsdk)" \
        "and run this again."
    fi
    make_emscripten_root
  fi
  warm_emscripten
}

setup_node() {
  have node && have npm || die "Node.js 20 or newer, with npm, is needed and not on PATH."
  node -e 'process.exit(parseInt(process.versions.node) >= 20 ? 0 : 1)' ||
    die "Node.js 20 or newer is needed; this is $(node --version)."
  local want stamp=$REPO/node_modules/.sconce-installed
  want=$(cd "$REPO" && cksum package.json package-lock.json)
  [ -e "$stamp" ] && [ "$(cat "$stamp")" = "$want" ] && return 0
  say "installing npm packages"
  (cd "$REPO" && quietly npm ci) || die "npm ci failed"
  printf '%s\n' "$want" >"$stamp"
}

setup_web() {
  have chromium || have chromium-browser || have google-chrome || [ -n "${CHROME_PATH:-}" ] ||
    apt_install chromium
}

[ $# -gt 0 ] || set -- native wasm node web
for part in "$@"; do
  case $part in
    native | wasm | node | web) "setup_$part" ;;
    *) die "unknown part '$part': native, wasm, node or web" ;;
  esac
done
