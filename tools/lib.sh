# Shared by the set-up scripts: where things are kept, how they speak, what this machine is.
# Sourced, never run.

REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
CACHE=${SCONCE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sconce}

say() { printf 'setup: %s\n' "$*" >&2; }
die() {
  printf 'setup: %s\n' "$@" >&2
  exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

can_apt() { [ "$(id -u)" = 0 ] && have apt-get && [ -r /etc/debian_version ]; }

# Installs Debian packages, or says which ones to install and stops.
apt_install() {
  if ! can_apt; then
    die "Missing here: $*" "Install these (their names on Debian) and run this again:" \
      "  apt-get install $*"
  fi
  quietly apt-get -q update &&
    DEBIAN_FRONTEND=noninteractive quietly apt-get -q -y --no-install-recommends install "$@" ||
    die "apt-get could not install: $*"
}

# Runs a command quietly; its output is shown only if it fails, or if everything is to be shown.
quietly() {
  local log
  if [ -n "${SCONCE_VERBOSE:-}" ]; then
    "$@" </dev/null >&2
    return
  fi
  log=$(mktemp)
  if ! "$@" >"$log" 2>&1 </dev/null; then
    tail -n 40 "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}
