#!/usr/bin/env bash
# Runs every fuzz target for an equal share of SECONDS, as many at once as there are cores. What a run finds to be new
# stays in BUILD/corpus/NAME, a crash in BUILD/crash-*.
#
# Usage: run.sh BUILD SECONDS [NAME...]
set -euo pipefail
build=$(cd "$1" && pwd)
seconds=$2
shift 2
cd "$(dirname "$0")"
targets=("$@")
[ $# -gt 0 ] || for source in *_fuzz.cc; do targets+=("${source%_fuzz.cc}"); done
share=$((seconds / ${#targets[@]}))

one() { # NAME
  local name=$1
  mkdir -p "$build/corpus/$name"
  if "$build/tests/fuzz/${name}_fuzz" -max_total_time="$share" -timeout=120 -rss_limit_mb=4096 -print_final_stats=1 \
    -artifact_prefix="$build/crash-$name-" "$build/corpus/$name" "corpus/$name" >"$build/$name.log" 2>&1; then
    echo "fuzz $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$name.log") inputs in $share s, no crash"
  else
    tail -n 60 "$build/$name.log"
    echo "fuzz $name: FAILED"
    return 1
  fi
}
export -f one
export build share
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -c 'set -euo pipefail; one {}'
