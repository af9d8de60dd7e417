#!/bin/sh
# Runs npf, in a virtual environment of its own under build/, since Debian does not package it.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
if ! [ -x "$root/build/npf/bin/npf-run" ]; then
  /usr/bin/python3 -m venv "$root/build/npf"
  "$root/build/npf/bin/pip" -q install npf==2.1.1
fi
exec "$root/build/npf/bin/npf-run" "$@"
