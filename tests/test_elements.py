"""Runs every .testie file of the repository (tests/whole/testie.py says what they look like)."""

import pytest
from whole import testie
from whole.program import ROOT

FILES = sorted(path for path in ROOT.glob("*/**/*.testie") if "build" not in path.parts)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_element(path, tmp_path, heddle):
    difference = testie.run(testie.read(path), tmp_path, heddle.path)
    if difference is None:
        pytest.skip("this machine lacks what it requires")
    assert not difference, difference


def test_runner_sees_differences(tmp_path, heddle):
    test = testie.Testie(script="echo 1 apple; echo 2 pears >&2", expect={"stdout": "{{[0-9]+}} apple\n"})
    assert testie.run(test, tmp_path, heddle.path) == ""
    test.expect["stderr"] = "2 apples\n"
    assert "expected '2 apples', got '2 pears'" in testie.run(test, tmp_path, heddle.path)
    test.ignore["stderr"] = ["2 .*"]
    assert "line 1 is missing" in testie.run(test, tmp_path, heddle.path)
