#!/usr/bin/env bash
# Runs the tests of a build, half as many again as JOBS at once, for tests often wait (default: as many as there are
# cores).
#
# Usage: run.sh BUILD cpp [GTEST_FILTER]      the C++ tests, in shards
#        run.sh BUILD whole [PYTEST_WORD...]  whole-program tests
#
# A GTEST_FILTER by which no test runs is a failure, and so is a pattern in it, before any "-", that names none.
#
# With HEDDLE_TEST_LOAD=N, N busy loops run beside the tests and end with them.
set -euo pipefail
build=$(cd "$1" && pwd) kind=$2
shift 2
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
jobs=$(((3 * jobs + 1) / 2))
HEDDLE_TEST_LOAD=${HEDDLE_TEST_LOAD:-0}
out=$(mktemp -d)
beside=()
finish() {
  [ ${#beside[@]} = 0 ] || kill "${beside[@]}" 2>/dev/null || true
  rm -rf "$out"
}
trap finish EXIT
trap 'exit 130' INT TERM
for ((i = 0; i < HEDDLE_TEST_LOAD; ++i)); do
  (while kill -0 $$ 2>/dev/null; do for ((n = 0; n < 100000; ++n)); do :; done; done) &
  beside+=($!)
done

# More shards than run at once, so that the last ones end at about the same time. One that fails shows all that it
# wrote.
shards() { # PROGRAM [OPTION...]
  local program=$1 count=$((16 * jobs)) i passed=0 bad=0 failed
  shift
  for ((i = 0; i < count; ++i)); do echo "$i"; done |
    GTEST_TOTAL_SHARDS=$count xargs -P "$jobs" -I {} \
      env GTEST_SHARD_INDEX={} bash -c '"${@:2}" >"$1" 2>&1 || touch "$1.failed"' _ "$out/{}" "$program" "$@"
  for ((i = 0; i < count; ++i)); do
    if [ -e "$out/$i.failed" ]; then
      echo "--- $(basename "$program"), shard $i of $count failed:"
      grep -Ev '^\[ +(OK|RUN) ' "$out/$i" || true
    fi
    passed=$((passed + $(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$out/$i" | tail -n 1 | grep . || echo 0)))
    failed=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) tests\?, listed below.*/\1/p' "$out/$i" | tail -n 1)
    [ ! -e "$out/$i.failed" ] || [ -n "$failed" ] || failed=1 # died
    bad=$((bad + ${failed:-0}))
    rm -f "$out/$i" "$out/$i.failed"
  done
  echo "$(basename "$program"): $passed passed, $bad failed"
  [ "$bad" = 0 ] && [ "$passed" -gt 0 ]
}

named() { # PROGRAM GTEST_FILTER
  local patterns pattern tests test status=0
  mapfile -t tests < <("$1" --gtest_list_tests | awk '/^[^ ]/ { suite = $1 } /^ / { print suite $1 }')
  IFS=: read -ra patterns <<<"${2%%-*}"
  for pattern in "${patterns[@]}"; do
    for test in "${tests[@]}"; do
      # shellcheck disable=SC2053 # a pattern of gtest is one of the shell, too
      [[ $test == $pattern ]] && continue 2
    done
    echo "$(basename "$1"): no test is named '$pattern'"
    status=1
  done
  return $status
}

case $kind in
  cpp)
    status=0
    shards "$build/tests/simt_test" ${SIMT_FILTER:+"--gtest_filter=$SIMT_FILTER"} || status=1
    named "$build/tests/heddle_test" "${1:-}" || status=1
    shards "$build/tests/heddle_test" ${1:+"--gtest_filter=$1"} || status=1
    exit $status
    ;;
  whole)
    export HEDDLE_BIN=$build/heddle
    if [ $# -gt 0 ]; then
      /usr/bin/python3 -m pytest -q tests "$@"
      exit
    fi
    # An AF_PACKET socket sees every interface of its namespace until it is bound, and some tests hold the program to a
    # time: these run one by one, in the namespace of this script. They mostly wait, so the others, whose namespaces are
    # their own (conftest.py), run beside them with what they leave of the processor (but not beside busy loops, which
    # would leave nothing).
    alone=(tests/test_ports.py tests/test_memif_ports.py tests/test_namespaces.py tests/test_routing_daemon.py
      tests/test_stopping.py tests/test_program.py tests/test_ip_router_namespaces.py tests/test_nat.py
      tests/test_kernel_routes.py)
    status=0
    # The shell has what runs in the background ignore interrupts, and so would the programs under test.
    env --default-signal=INT,QUIT /usr/bin/python3 -m pytest -q "${alone[@]}" >"$out/alone" 2>&1 &
    beside+=($!)
    nice -n "$((HEDDLE_TEST_LOAD ? 0 : 10))" /usr/bin/python3 -m pytest -q -n "$jobs" tests "${alone[@]/#/--ignore=}" || status=1
    wait "${beside[-1]}" || status=1
    cat "$out/alone"
    exit $status
    ;;
  *)
    sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
