"""The wheel builds, has all that is needed, and works without the source tree; and README.md's five minutes are
right."""

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with what the wheel installs."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, folder / "source", ignore=shutil.ignore_patterns("tests", "__pycache__"))
    build = "from setuptools import build_meta; print(build_meta.build_wheel('..'))"
    subprocess.run([sys.executable, "-c", build], cwd=folder / "source", check=True, capture_output=True)
    (wheel,) = folder.glob("gopt-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert any(name.endswith("LICENSE") for name in archive.namelist())
        archive.extractall(folder / "installed")
    return folder / "installed"


def test_wheel(installed, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "gopt", "transform", ROOT / "examples" / "find.c"],
        env={"PYTHONPATH": str(installed), "PATH": "/usr/bin:/bin"},
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "G_PSS(" in done.stdout


def test_cmake_rule_of_the_wheel(installed, tmp_path):
    (rule,) = re.findall(r"^```cmake\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(example C)\n" + rule)
    (tmp_path / "gopt").write_text(f'#!/bin/sh\nPYTHONPATH={installed} exec {sys.executable} -m gopt "$@"\n')
    (tmp_path / "gopt").chmod(0o755)
    (tmp_path / "lookup.c").write_text(
        """#include "gopt.h"
void first_bytes(char* const* strings, char* bytes, int n) {
  foreach (i, n) {
    g_expensive(strings[i]);
    bytes[i] = strings[i][0];
  }
}
"""
    )
    (tmp_path / "main.c").write_text(
        """void first_bytes_fast(char* const* strings, char* bytes, int n);
int main(void) {
  char *strings[] = {"a", "b", "c"}, bytes[3];
  first_bytes_fast(strings, bytes, 3);
  return bytes[0] == 'a' && bytes[1] == 'b' && bytes[2] == 'c' ? 0 : 1;
}
"""
    )
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    for words in (["cmake", "-S", ".", "-B", "build"], ["cmake", "--build", "build"], ["build/program"]):
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


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
