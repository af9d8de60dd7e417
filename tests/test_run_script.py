"""tests/run.sh: a filter that no longer names what it should is a failure."""

import subprocess

import pytest
from whole.program import ROOT

# As googletest's: lists its tests, or runs those of a filter, in shard 0.
PROGRAM = """#!/bin/bash
for word; do
  case $word in
    --gtest_list_tests) printf 'Suite.\\n  One\\nAll/Other.\\n  Two/cpu  # GetParam() = cpu\\n'; exit ;;
    --gtest_filter=*) filter=${word#*=} ;;
  esac
done
count=0
case ${filter:-*} in Suite.*) count=1 ;; "*" | *Two*) count=2 ;; esac
[ "$GTEST_SHARD_INDEX" = 0 ] || count=0
echo "[  PASSED  ] $count tests."
"""


@pytest.mark.parametrize(
    ("name_filter", "code", "says"),
    [
        (None, 0, "heddle_test: 2 passed, 0 failed"),
        ("Suite.*:*Two/cpu", 0, "heddle_test: 1 passed, 0 failed"),
        ("Suite.*:*Three*-*Two*", 1, "heddle_test: no test is named '*Three*'"),
        ("-*", 1, "heddle_test: 0 passed, 0 failed"),
    ],
)
def test_filters_name_tests(tmp_path, name_filter, code, says):
    (tmp_path / "tests").mkdir()
    for name in ("simt_test", "heddle_test"):
        program = tmp_path / "tests" / name
        program.write_text(PROGRAM)
        program.chmod(0o755)
    command = [ROOT / "tests/run.sh", tmp_path, "cpp", *([name_filter] if name_filter else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == code and says in done.stdout.splitlines(), done
