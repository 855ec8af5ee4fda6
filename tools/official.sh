#!/usr/bin/env bash
# Prints the path of a Python that has the official torch and executorch, against which the
# conformance tests hold our files. $SCONCE_OFFICIAL_VENV names a virtual environment that has them;
# otherwise one is made in the cache folder (some minutes, 2 GB). Ends with 3 if that is not
# possible because the package index cannot be reached. With --here it only tells by its exit code
# whether there is one.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

torch=2.13.0
executorch=1.5.1
# Messages of pip when the package index cannot be reached.
unreachable='NewConnectionError|ConnectTimeout|ReadTimeout|Temporary failure in name resolution'
unreachable+='|Network is unreachable|No matching distribution'

# Without starting torch, which takes seconds.
has_both() {
  [ -x "$1" ] && "$1" - "$torch" "$executorch" 2>/dev/null <<'PY'
import sys
from importlib.metadata import version
have = version("torch").split("+")[0], version("executorch")
sys.exit(have != (sys.argv[1], sys.argv[2]))
PY
}

if [ -n "${SCONCE_OFFICIAL_VENV:-}" ]; then
  python=$SCONCE_OFFICIAL_VENV/bin/python
  has_both "$python" || die "SCONCE_OFFICIAL_VENV has no torch $torch with executorch $executorch"
  [ "${1:-}" = --here ] || printf '%s\n' "$python"
  exit
fi

home=$CACHE/official
python=$home/bin/python
if [ "${1:-}" = --here ]; then
  has_both "$python"
  exit
fi
# Two at once would take the folder away from under each other: the second one waits, and then finds
# what the first one made.
lock() {
  mkdir -p "$CACHE"
  exec 9>"$CACHE/official.lock"
  flock --nonblock 9 && return
  say "$home is being made by another process; waiting for it"
  flock 9
}
# macOS has no flock.
if ! has_both "$python" && have flock; then lock; fi
if ! has_both "$python"; then
  # Wheels exist for these; the system's python3 need not be among them.
  host=
  fits='import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 14))'
  for name in python3.12 python3.11 python3.13 python3.10 python3; do
    "$name" -c "$fits" 2>/dev/null &&
      host=$name && break
  done
  [ -n "$host" ] || { apt_install python3-venv && host=python3; }
  rm -rf "$home"
  if ! "$host" -m venv "$home" >/dev/null 2>&1; then
    rm -rf "$home"
    apt_install python3-venv
    "$host" -m venv "$home" >/dev/null
  fi
  say "installing torch $torch and executorch $executorch in $home (some minutes, 2 GB)"
  log=$home/pip.log
  install() { "$python" -m pip install --disable-pip-version-check "$@" >>"$log" 2>&1 </dev/null; }
  # torch first: what executorch asks for would otherwise pick another one.
  if ! { install "torch==$torch" && install "executorch==$executorch"; }; then
    tail -n 15 "$log" >&2
    if grep -qE "$unreachable" "$log"; then
      say "===================================================================="
      say "The official torch and executorch could NOT be fetched: NO conformance"
      say "test runs here. Name an environment that has them in"
      say "SCONCE_OFFICIAL_VENV, or run this again with the network up."
      say "===================================================================="
      rm -rf "$home"
      exit 3
    fi
    die "pip could not install them; see $log"
  fi
  has_both "$python" || die "pip installed other versions than torch $torch, executorch $executorch"
fi
printf '%s\n' "$python"
