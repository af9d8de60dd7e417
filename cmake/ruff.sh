#!/bin/sh
# Runs ruff, in a virtual environment of its own under build/, since Debian does not package it.
set -eu
cd "$(dirname "$0")/.."
if ! [ -x build/ruff/bin/ruff ]; then
  /usr/bin/python3 -m venv build/ruff
  build/ruff/bin/pip -q install ruff==0.17.5
fi
exec build/ruff/bin/ruff "$@" --line-length 120 bench cmake gopt measure tests chains
