"""Compiling and running what gopt makes."""

import subprocess
from pathlib import Path

from gopt.source import INCLUDE
from gopt.transform import transform

WARNINGS = ["-Wall", "-Wextra", "-Werror"]
SANITIZERS = ["-O1", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
# What random lookups are full of, before and after.
RANDOM_STYLE = ["-w"]


def run(*command, cwd: Path, fails: bool = False) -> str:
    done = subprocess.run([str(c) for c in command], cwd=cwd, check=False, capture_output=True, text=True)
    text = done.stdout + done.stderr
    assert fails or done.returncode == 0, f"{' '.join(str(c) for c in command)}\n{text}"
    return text if not fails or done.returncode else ""


def compile_c(folder: Path, source: str, *flags: str, compiler: str = "gcc") -> str:
    """Compiles source to an object beside it, and returns its name."""
    made = source.rsplit(".", 1)[0] + ".o"
    run(compiler, *flags, f"-I{INCLUDE}", "-c", source, "-o", made, cwd=folder)
    return made


def differences(folder: Path, text: str, driver: str, compiler: str = "gcc", **options) -> str:
    """Builds in.c (`text`), what gopt makes of it, and a driver that compares both; what the driver prints ("": no
    difference). Sanitizers' reports fail the test."""
    (folder / "in.c").write_text(text)
    (folder / "made.c").write_text(transform(str(folder / "in.c"), suffix="_gopt", **options))
    (folder / "main.c").write_text(driver)
    objects = [
        compile_c(folder, s, *SANITIZERS, *RANDOM_STYLE, compiler=compiler) for s in ("in.c", "made.c", "main.c")
    ]
    run(compiler, *SANITIZERS, *objects, "-o", "program", cwd=folder)
    done = subprocess.run(["./program"], cwd=folder, check=False, capture_output=True, text=True)
    assert done.stderr == "", done.stderr
    return done.stdout
