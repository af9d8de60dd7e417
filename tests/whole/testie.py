"""Element tests in the manner of Click's: configuration and expected output in one file, beside the element.

    %info             what the test shows
    %script           shell commands; `heddle` is on PATH, the working directory is empty, $CHAINS is chains/
    %file NAME        an input file
    %expect NAME      exact content of a file; stdout and stderr are those of the script. {{regex}} within a line
    %ignore NAME      regular expressions; lines that one of them matches are left out before comparing
    %require          shell commands; if they fail, the test is skipped

A line that begins with %% stands for one that begins with %.
"""

import os
import re
import subprocess
from dataclasses import dataclass, field

from whole.program import CHAINS


@dataclass
class Testie:
    """The sections of one file."""

    __test__ = False
    info: str = ""
    script: str = ""
    require: str = ""
    files: dict[str, str] = field(default_factory=dict)
    expect: dict[str, str] = field(default_factory=dict)
    ignore: dict[str, list[str]] = field(default_factory=dict)


def read(path):
    """Parses a .testie file; raises ValueError with the line that it does not understand."""
    test = Testie()
    kind, names, lines = None, [], []

    def end_section():
        text = "".join(lines)
        if kind in ("info", "script", "require"):
            setattr(test, kind, getattr(test, kind) + text)
        for name in names:
            if kind == "file":
                test.files[name] = text
            elif kind == "expect":
                test.expect[name] = text
            elif kind == "ignore":
                test.ignore.setdefault(name, []).extend(line for line in text.splitlines() if line)

    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.startswith("%") and not line.startswith("%%"):
                end_section()
                kind, *names = line[1:].split()
                lines = []
                known = {"info": 0, "script": 0, "require": 0, "file": 1, "expect": 1, "ignore": 1}
                if kind not in known or (len(names) > 0) != bool(known[kind]):
                    raise ValueError(f"{path}:{number}: {line.strip()!r} is no section")
            elif kind is None and line.strip():
                raise ValueError(f"{path}:{number}: text before the first section")
            else:
                lines.append(line[1:] if line.startswith("%%") else line)
    end_section()
    if not test.script or not test.expect:
        raise ValueError(f"{path}: needs %script and %expect")
    return test


def pattern(line):
    """The regular expression of an expected line: {{...}} as written, the rest literally."""
    parts = re.split(r"\{\{(.*?)\}\}", line)
    return "".join(part if i % 2 else re.escape(part) for i, part in enumerate(parts))


def difference(wanted, got, ignored):
    """What differs, as text; "" if nothing does."""
    keep = [line for line in got.splitlines() if not any(re.fullmatch(i, line) for i in ignored)]
    want = wanted.rstrip("\n").splitlines()  # blank lines before the next section are for the eye
    while keep and not keep[-1]:
        keep.pop()
    for number in range(max(len(want), len(keep))):
        if number >= len(want):
            return f"line {number + 1} is not expected: {keep[number]!r}"
        if number >= len(keep):
            return f"line {number + 1} is missing: {want[number]!r}"
        if not re.fullmatch(pattern(want[number]), keep[number]):
            return f"line {number + 1}: expected {want[number]!r}, got {keep[number]!r}"
    return ""


def run(test, folder, heddle):
    """Runs a test in `folder`. Returns what differs, as text; None if the machine lacks what it requires."""
    path = f"{heddle.parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "CHAINS": str(CHAINS), "LC_ALL": "C"}

    def shell(commands):
        return subprocess.run(
            ["bash", "-c", commands], cwd=folder, env=environment, capture_output=True, timeout=300, check=False
        )

    if test.require and shell(test.require).returncode != 0:
        return None
    for name, text in test.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    result = shell(test.script)
    outputs = {"stdout": result.stdout.decode(errors="replace"), "stderr": result.stderr.decode(errors="replace")}
    for name, wanted in test.expect.items():
        got = outputs[name] if name in outputs else (folder / name).read_text(encoding="utf-8", errors="replace")
        if problem := difference(wanted, got, test.ignore.get(name, [])):
            return f"{name}: {problem}\n--- stdout\n{outputs['stdout']}--- stderr\n{outputs['stderr']}"
    return ""
