#!/usr/bin/env bash
# Prints a folder with the packages that the tour of architectures and the official backend suite
# need in addition to the official torch and executorch: for PYTHONPATH, so that the environment of
# the conformance tests stays what it is. The first argument is that environment's Python.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Without what they ask for: the environment has it, and pip would bring another torch.
packages="torchvision==0.28.0 timm==1.0.31 transformers==5.23.0 safetensors==0.8.0 pillow==13.0.0"
packages+=" pytest==9.2.0 iniconfig==2.3.1 pluggy==1.7.0 pygments==2.21.0"

python=$1
home=$CACHE/tour
stamp=$home/packages
if [ "$(cat "$stamp" 2>/dev/null)" != "$packages" ]; then
  say "installing $packages in $home"
  rm -rf "$home"
  mkdir -p "$home"
  # shellcheck disable=SC2086  # a list of words
  quietly "$python" -m pip install --disable-pip-version-check --no-deps \
    --target "$home" $packages ||
    die "pip could not install them"
  printf '%s\n' "$packages" >"$stamp"
fi
printf '%s\n' "$home"
