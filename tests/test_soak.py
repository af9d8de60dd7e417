"""tests/soak.py for a moment, on simt: on a GPU it is to run for ten minutes."""

import os
import subprocess
import sys

import pytest
from whole.program import ROOT, TIMEOUT_S, environment, program_path


@pytest.mark.parametrize(
    ("name", "seconds", "lines"), [("placement", 8, 8), ("c4", 3, 1), ("rings", 2, 1), ("mesh", 2, 1)]
)
def test_soak(name, seconds, lines):
    folder = ROOT / "tests"  # from where the program is named, as it is in the bundle
    command = [
        sys.executable,
        ROOT / "tests/soak.py",
        os.path.relpath(program_path(), folder),
        "--device",
        "simt",
        "--seconds",
        str(seconds),
        name,
    ]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=TIMEOUT_S, env=environment(), cwd=folder
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    assert len(done.stdout.splitlines()) == lines, done.stdout


def test_soak_of_nothing_that_there_is():
    command = [sys.executable, ROOT / "tests/soak.py", program_path(), "everything"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 2 and "there is no everything, but placement, c4, rings, mesh" in done.stderr
