#!/usr/bin/env bash
# Runs every fuzz target for an equal share of SECONDS, as many at once as there are cores. What a run finds to be new
# stays in BUILD/corpus/NAME, a crash in BUILD/crash-*. Failures are shown last, each with its input, so that the end of
# a log is enough to repeat one: base64 -d | gzip -d > INPUT, and BUILD/tests/fuzz/NAME_fuzz INPUT.
#
# Usage: run.sh BUILD SECONDS [NAME...]
#
# FUZZ_SEED: of the random numbers, so that a run does much the same as the last one (default: another one each time).
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
  rm -f "$build/$name.failed"
  if "$build/tests/fuzz/${name}_fuzz" -seed="${FUZZ_SEED:-0}" -max_total_time="$share" -timeout=120 \
    -rss_limit_mb=4096 -print_final_stats=1 -artifact_prefix="$build/crash-$name-" \
    "$build/corpus/$name" "corpus/$name" >"$build/$name.log" 2>&1; then
    echo "fuzz $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$name.log") inputs in $share s, no crash"
  else
    touch "$build/$name.failed"
  fi
}
export -f one
export build share
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -c 'set -euo pipefail; one {}'

status=0
for name in "${targets[@]}"; do
  [ -e "$build/$name.failed" ] || continue
  status=1
  tail -n 60 "$build/$name.log"
  sed -n 's/.*Test unit written to //p' "$build/$name.log" | while read -r input; do
    echo "$input, by gzip and base64:" && gzip -9c "$input" | base64
  done
  echo "fuzz $name: FAILED"
done
exit $status
