"""tests/click_suite.py, on a checkout of its own: what it takes from Click's files, and what it says."""

import subprocess

from whole.program import ROOT

PASSES = r"""%info
Every kind of section.
%require
click-buildtool provides userlevel Counter
%script
click CONFIG -h c.count >COUNT
click -e 'Script(print "one")'
echo noise; cat; printf '%%a\n' >VERBATIM; echo A B >SPACES; cat UNMARKED >AGAIN
%file CONFIG
InfiniteSource(LIMIT 3, STOP true) -> c :: Counter -> Discard;
%stdin +6
input
%file -d UNMARKED
|%not a section
%expect COUNT
{{[0-9]}}
%expect
one
%expect -a
one
{{inp..}}
%ignore stdout
noi{{.*}}
%expectv VERBATIM
\%a
%expect -w SPACES
AB
%expectx AGAIN
\%not a .*
%eof
nothing of this counts
"""
FAILS = """%script
printf '%s\\n' apple pear
echo plum >FRUIT
exit 3
%expect stdout
apple
plum
%expect FRUIT
plum
%expect NOTHING
0
"""
SKIPS = """%require
click-buildtool provides NoSuchElement
%script
false
"""


def suite(heddle, *words):
    command = [ROOT / "tests/click_suite.py", heddle.path, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_counts_what_passes(heddle, tmp_path):
    for name, text in {"a/passes": PASSES, "b/fails": FAILS, "b/skips": SKIPS}.items():
        file = tmp_path / f"test/{name}.testie"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    found = suite(heddle, tmp_path, "-v")
    assert found.stdout.splitlines() == [
        "passed  a/passes.testie",
        "failed  b/fails.testie",
        "        exit 3",
        "        stdout: expected 'plum', got 'pear'",
        "        NOTHING: is not there",
        "skipped b/skips.testie",
        "1 passed, 1 failed, 1 skipped",
    ], found.stderr
    assert found.returncode == 1
    alone = suite(heddle, tmp_path, "a")
    assert (alone.stdout.splitlines()[-1], alone.returncode) == ("1 passed, 0 failed, 0 skipped", 0)


def test_says_what_it_needs(heddle, tmp_path):
    found = suite(heddle, tmp_path)
    assert found.returncode == 1
    assert "expected a checkout of Click" in found.stderr
