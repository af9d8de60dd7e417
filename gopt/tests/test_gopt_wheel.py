"""The wheel builds, has all that is needed, and works without the source tree; and README.md's five minutes are
right."""

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_wheel(tmp_path):
    source = tmp_path / "source"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns("tests", "__pycache__"))
    build = "from setuptools import build_meta; print(build_meta.build_wheel('..'))"
    subprocess.run([sys.executable, "-c", build], cwd=source, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("gopt-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    example = ROOT / "examples" / "find.c"
    done = subprocess.run(
        [sys.executable, "-m", "gopt", "transform", example],
        env={"PYTHONPATH": str(tmp_path / "installed"), "PATH": "/usr/bin:/bin"},
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "G_PSS(" in done.stdout


def test_five_minutes(tmp_path):
    """The commands of README.md on its example, with a table that is made at once."""
    (commands,) = re.findall(
        r"^## Five minutes\n\n```sh\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL
    )
    install, move, *others = commands.splitlines()
    assert install.startswith("pip install ./gopt ") and move == "cd gopt/examples" and len(others) == 3
    text = (ROOT / "examples" / "find.c").read_text()
    for large, small in {"1 << 24": "1 << 14", "1 << 21": "1 << 11", "batch < 1000": "batch < 20"}.items():
        assert text.count(large) == 1
        text = text.replace(large, small)
    (tmp_path / "find.c").write_text(text)
    (tmp_path / "gopt").write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m gopt "$@"\n')
    (tmp_path / "gopt").chmod(0o755)
    script = "\n".join(["set -e", *others])
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    sums = re.findall(r"million lookups a second \(sum (\d+)\)\n", done.stdout)
    assert len(sums) == 2 and sums[0] == sums[1] != "0", done.stdout
    assert "G_PSS(" in (tmp_path / "fast.c").read_text()
