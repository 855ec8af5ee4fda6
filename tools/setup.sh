#!/usr/bin/env bash
# Sets this machine up for building and testing Sconce. Safe to run again: a second run only looks.
#
#   tools/setup.sh            native, wasm, node and web
#   tools/setup.sh native     C compilers, CMake, Ninja, flatc
#   tools/setup.sh wasm       CMake, Ninja, Emscripten and the system libraries we link
#   tools/setup.sh node       npm packages of this checkout
#   tools/setup.sh web        Chromium, for the page's tests
#   tools/setup.sh official   the official torch and executorch, for the conformance tests
#
# On Debian, as root, what is missing is installed; elsewhere it is named and the script stops.
# SCONCE_CACHE moves the folder that holds what is made once per machine (~/.cache/sconce).
#
# The scripts of npm ask what there is to do and have it done work by work, so that they can tell
# how far it is: --due PART... prints a line for each work, --do WORK PART... does one.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

emscripten=$CACHE/emscripten
no_emscripten=("Put Emscripten 4 or newer on PATH (or its folder in EMSDK) and run this again.")

# Empty where there is none that fits. Asking starts Python, so it is asked once.
emcc_version=$("$REPO/tools/bin/emcc" --version 2>/dev/null | sed -n 1p || true)

is_part() { case " $parts " in *" $1 "*) ;; *) return 1 ;; esac }

# --- packages: what comes from Debian ------------------------------------------------------------

# The packages among command=package pairs whose command is not here.
missing() {
  local pair
  for pair in "$@"; do
    have "${pair%%=*}" || printf '%s ' "${pair#*=}"
  done
}

missing_packages() {
  ! is_part native ||
    missing cmake=cmake ninja=ninja-build gcc=gcc clang=clang clang-format=clang-format \
      llvm-symbolizer=llvm flatc=flatbuffers-compiler
  if is_part wasm; then
    is_part native || missing cmake=cmake ninja=ninja-build
    [ -n "$emcc_version" ] || ! have apt-get || missing mmdebstrap=mmdebstrap bwrap=bubblewrap
  fi
  ! is_part web || have chromium-browser || have google-chrome || [ -n "${CHROME_PATH:-}" ] ||
    missing chromium=chromium
}

# Kept for these compilers once they were seen to link.
native_stamp() {
  echo "$CACHE/native-$({ gcc --version && clang --version; } 2>&1 | cksum | tr ' ' -)"
}

due_packages() {
  local packages
  packages=$(missing_packages)
  if [ -n "$packages" ]; then
    # shellcheck disable=SC2086 # one word a package
    set -- $packages
    echo "$((5 + 5 * $#)) Debian packages: $*"
  elif is_part native && [ ! -e "$(native_stamp)" ]; then
    echo "1 a look at what the C compilers link"
  fi
}

do_packages() {
  local packages
  packages=$(missing_packages)
  # shellcheck disable=SC2086 # one word a package
  [ -z "$packages" ] || apt_install $packages
  ! is_part native || [ -e "$(native_stamp)" ] || complete_compilers
}

# Compilers can be there without what they link: the C library, the sanitizers, libFuzzer.
complete_compilers() {
  local probe lacking=()
  probe=$(mktemp -d)
  cat >"$probe/p.c" <<'C'
#include <stdio.h>
int LLVMFuzzerTestOneInput(const unsigned char *data, unsigned long size);
int LLVMFuzzerTestOneInput(const unsigned char *data, unsigned long size) {
    return data && size ? 0 : puts("");
}
C
  gcc -fsanitize=address,undefined -shared -fPIC -o "$probe/p" "$probe/p.c" 2>/dev/null ||
    lacking+=(gcc libc6-dev)
  clang -fsanitize=fuzzer,address,undefined -o "$probe/p" "$probe/p.c" 2>/dev/null ||
    lacking+=(libc6-dev libclang-rt-dev libstdc++-12-dev)
  rm -rf "$probe"
  [ ${#lacking[@]} = 0 ] || apt_install "${lacking[@]}"
  mkdir -p "$CACHE"
  : >"$(native_stamp)"
}

# --- emscripten: a root of its own ---------------------------------------------------------------

due_emscripten() { [ -n "$emcc_version" ] || echo "25 Emscripten, 850 MB in $emscripten"; }

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

# Debian 12 and 13 carry no Emscripten that is new enough; the suites named here do.
make_root() {
  local mirror=$1 suite line options=()
  while IFS= read -r line; do
    [ -z "$line" ] || options+=("--aptopt=${line%;}")
  done < <(apt_options)
  for suite in forky sid; do
    rm -rf "$emscripten/root.new"
    ! quietly mmdebstrap --variant=extract \
      --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr "${options[@]}" \
      --include=emscripten,ca-certificates,dash,bash,coreutils,sed,grep,base-files,python3 \
      "$suite" "$emscripten/root.new" "$mirror" || return 0
    say "Debian $suite gave no Emscripten."
  done
  return 1
}

do_emscripten() {
  local mirror
  can_apt || { have mmdebstrap && have bwrap && have apt-get; } ||
    die "There is no Emscripten 4 or newer on PATH or in EMSDK, and this is not Debian with root." \
      "Install Emscripten (the package 'emscripten' of Debian forky or newer, or the emsdk)" \
      "and run this again."
  bwrap --bind / / true || die "bubblewrap cannot make a namespace here." "${no_emscripten[@]}"
  mirror=$(debian_mirror)
  [ -n "$mirror" ] ||
    die "apt names no mirror of Debian's main archive here." "${no_emscripten[@]}"
  mkdir -p "$emscripten"
  make_root "$mirror" || die "An Emscripten root could not be made." "${no_emscripten[@]}"
  rm -rf "$emscripten/root" "$emscripten/root.ready" "$emscripten/cache"
  mv "$emscripten/root.new" "$emscripten/root"
  : >"$emscripten/root.ready"
}

# --- libraries: Emscripten's own, with the flags we link with ------------------------------------

link_flags() { grep -v '^#' "$REPO/tools/emscripten-flags.txt"; }

libraries_stamp() {
  echo "$emscripten/libraries-$(printf '%s%s' "$emcc_version" "$(link_flags)" | cksum | tr ' ' -)"
}

due_libraries() { [ -e "$(libraries_stamp)" ] || echo "70 Emscripten's system libraries"; }

# Keeps the words of the command by which the root's emcc compiles a file, up to the first flag that
# it is given: tools/bin/emtool then does without emcc. They name the cache and go with it.
note_compiler() {
  local new=$emscripten/cache/compile.new
  (cd "$1" && "$REPO/tools/bin/emcc" -v -c probe.c 2>&1) |
    sed -n 's/^ *\(.*clang.*\) -v -c probe\.c.*/\1/p' | tr ' ' '\n' >"$new"
  if grep -qxF -e "--sysroot=$emscripten/cache/sysroot" "$new"; then
    mv "$new" "${new%.new}"
  else
    rm -f "$new"
  fi
}

# Links a small program with the flags of the build, so the system libraries that they need are
# built here, once, and not in the middle of a build that looks hung.
do_libraries() {
  local dir
  dir=$(mktemp -d)
  cat >"$dir/probe.c" <<'C'
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((export_name("probe"))) double probe(size_t n, double x);
double probe(size_t n, double x) {
    char *text = malloc(n);
    if (!text) return 0;
    snprintf(text, n, "%g", exp(x) + sinf((float)x));
    x = strtod(text, NULL);
    free(text);
    return x;
}
C
  local flags
  while read -r flags; do
    # shellcheck disable=SC2086 # a list of flags
    (cd "$dir" && quietly "$REPO/tools/bin/emcc" probe.c $flags -o probe.wasm </dev/null) ||
      die "Emscripten could not link with: $flags"
  done < <(link_flags)
  [ ! -e "$emscripten/cache" ] || note_compiler "$dir"
  rm -rf "$dir"
  : >"$(libraries_stamp)"
}

# --- npm packages --------------------------------------------------------------------------------

# The lock file alone: package.json also holds what has nothing to do with packages.
npm_wanted() { (cd "$REPO" && cksum package-lock.json); }

due_npm() {
  local stamp=$REPO/node_modules/.sconce-installed
  grep -qsxF "$(npm_wanted)" "$stamp" || echo "8 npm packages"
}

do_npm() {
  have node && have npm || die "Node.js 20 or newer, with npm, is needed and not on PATH."
  node -e 'process.exit(parseInt(process.versions.node) >= 20 ? 0 : 1)' ||
    die "Node.js 20 or newer is needed; this is $(node --version)."
  (cd "$REPO" && quietly npm ci) || die "npm ci failed"
  npm_wanted >"$REPO/node_modules/.sconce-installed"
}

# --- official: the judges of the conformance tests -----------------------------------------------

due_official() {
  "$REPO/tools/official.sh" --here ||
    echo "150 the official torch and executorch to compare with (2 GB)"
}

# Out of reach is not an error here: the tests say what that means for them.
do_official() { "$REPO/tools/official.sh" >/dev/null || [ $? = 3 ]; }

# --- what was asked for --------------------------------------------------------------------------

# The work that the parts need, each after those before it.
works() {
  local work
  for work in packages emscripten libraries npm official; do
    case $work in
      packages) is_part native || is_part wasm || is_part web || continue ;;
      emscripten | libraries) is_part wasm || continue ;;
      npm) is_part node || continue ;;
      official) is_part official || continue ;;
    esac
    echo "$work"
  done
}

# One line a work that is left to do: its name, about how many seconds it takes, what it is.
due() {
  local work line
  for work in $(works); do
    line=$("due_$work")
    [ -z "$line" ] || echo "$work $line"
  done
}

mode=all
case ${1:-} in
  --due) mode=due && shift ;;
  --do) mode=do && work=${2:?which work} && shift 2 ;;
esac
parts=${*:-native wasm node web}
for part in $parts; do
  case $part in
    native | wasm | node | web | official) ;;
    *) die "There is no part '$part': native, wasm, node, web or official." ;;
  esac
done
case $mode in
  due) due ;;
  do) "do_$work" ;;
  all)
    due | while read -r work seconds title; do
      say "$title (about $seconds s)"
      # Asks anew what is here: the work before may have changed it.
      "$REPO/tools/setup.sh" --do "$work" $parts </dev/null
    done
    ;;
esac
