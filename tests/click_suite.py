#!/usr/bin/python3
"""Runs the tests that come with Click, on Heddle in Click's place, and says how many pass.

    click_suite.py HEDDLE CHECKOUT [TEST...] [-v]

HEDDLE is the program, CHECKOUT a folder with Click's sources (github.com/kohler/click), TEST a file or folder below its
test/; default: all. The tests' `click` is `heddle --batch 1`, packets one by one as in Click; `click-flatten` is
`heddle flatten`, and `click-buildtool provides` knows Heddle's elements. What a test requires and this machine lacks
(other tools of Click, tcpdump) skips it. With -v, what differs in those that fail. Every test has a folder of its own
and 60 seconds, and no process that it starts outlives it.

Sections and options of these files are those that the manual of Click's own runner (test/testie) describes.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

LONGEST_S = 60
PROGRAMS = {
    "click": 'exec -a click "{heddle}" --batch 1 "$@"',
    "click-flatten": 'exec "{heddle}" flatten "$@"',
    "click-buildtool": """[ "$1" = provides ] || exit 1
shift
for name; do
  case $name in
    userlevel | umultithread) ;;
    *) "{heddle}" elements "$name" >/dev/null 2>&1 || exit 1 ;;
  esac
done""",
}


@dataclass
class Wanted:
    """What a file must hold: one of the alternatives that a test has for it."""

    text: str
    kind: str  # "expect", "expectx": every line is an expression; "expectv": to the byte
    ignore_case: bool = False
    ignore_space: bool = False


@dataclass
class Test:
    script: str = ""
    require: str = ""
    files: dict[str, str] = field(default_factory=dict)
    wanted: dict[str, list[Wanted]] = field(default_factory=dict)
    ignored: list[tuple[str, str]] = field(default_factory=list)  # file or "all", expression


def expression(line, ignore_case=False):
    """Of an expected line: {{...}} as written, the rest literally. {{?...}} is a comment."""
    line = re.sub(r"\s*\{\{\?.*?\}\}\s*", "", line)
    parts = re.split(r"\{\{(.*?)\}\}", line)
    case = "i" if ignore_case else ""
    return "".join(f"(?{case}:{part})" if i % 2 else re.escape(part) for i, part in enumerate(parts))


def section(text, flags):
    """The text of a section, as its flags say."""
    return re.sub(r"(?m)^.", "", text) if "d" in flags else re.sub(r"(?m)^\\%", "%", text)


def read(path):
    """The tests in a file; most have one."""
    text = path.read_bytes().decode("latin1")
    tests, test, at = [], Test(), 0
    header = re.compile(r"(?m)^%[ \t]*(\w+)[ \t]*(.*?)[ \t]*$\n?")
    while found := header.search(text, at):
        kind, words = found[1].lower(), found[2].split()
        flags, length = "", None
        while words and re.fullmatch(r"-\w+|\+\d+", words[0]):
            word = words.pop(0)
            flags, length = (flags, int(word[1:])) if word[0] == "+" else (flags + word[1:], length)
        behind = header.search(text, found.end())
        at = found.end() + length if length is not None else behind.start() if behind else len(text)
        body = text[found.end() : at]
        if length is None:
            body = section(body, flags)
        kind = {"test": "script", "verbatim": "expectv", "expect_verbatim": "expectv", "ignorev": "ignorex"}.get(
            kind, kind
        )
        if kind in ("stdin", "input"):
            kind, words = "file", ["stdin"]
        elif kind in ("stdout", "output", "stderr"):
            kind, words = "expect", ["stderr" if kind == "stderr" else "stdout"]
        if kind in ("script", "require"):
            setattr(test, kind, getattr(test, kind) + body)
        elif kind == "file":
            test.files.update(dict.fromkeys(words or ["stdin"], body))
        elif kind in ("expect", "expectx", "expectv"):
            for name in words or ["stdout"]:
                test.wanted.setdefault(name, []).append(Wanted(body, kind, "i" in flags, "w" in flags))
        elif kind in ("ignore", "ignorex"):
            for line in filter(str.strip, body.splitlines()):
                # As an expression, and with expressions in braces: tests of all ages have either under either name.
                expressions = {expression(line, "i" in flags), line if kind == "ignorex" or "{{" not in line else ""}
                test.ignored += [(name, each) for name in words or ["all"] for each in expressions if each]
        elif kind == "eot":
            tests.append(test)
            test = Test()
        elif kind == "eof":
            break
    return [*tests, test] if test.script else tests


def difference(test, name, got):
    """Between what a file holds and the first of its alternatives, as text; "" if it is as one of them says."""
    problems = []
    for wanted in test.wanted[name]:
        if got == wanted.text:
            return ""
        if wanted.kind == "expectv":
            problems.append("differs")
            continue
        drop = [each for file, each in test.ignored if file in (name, "all")]
        have = [line.rstrip() for line in got.split("\n")]
        have = [line for line in have if line and not any(matches(each, line) for each in drop)]
        want = [line.rstrip() for line in wanted.text.split("\n") if line.strip()]
        problems.append(first_difference(wanted, want, have))
        if not problems[-1]:
            return ""
    return problems[0]


def matches(pattern, line):
    try:
        return re.fullmatch(pattern, line) is not None
    except re.error:  # an expression of Perl's that Python lacks
        return False


def first_difference(wanted, want, have):
    spaces = (lambda text: re.sub(r"\s", "", text)) if wanted.ignore_space else (lambda text: text)
    for number in range(max(len(want), len(have))):
        if number >= len(have):
            return f"{want[number]!r} is missing"
        if number >= len(want):
            return f"{have[number]!r} is not expected"
        line = spaces(want[number])
        if line != spaces(have[number]) and not matches(
            line if wanted.kind == "expectx" else expression(line, wanted.ignore_case), spaces(have[number])
        ):
            return f"expected {want[number]!r}, got {have[number]!r}"
    return ""


def shell(script, folder, path, outputs):
    """Its exit status, None after LONGEST_S; standard output and error go to `outputs`."""
    stdin = folder / "stdin"
    with (
        open(stdin if stdin.exists() else os.devnull, "rb") as source,
        open(outputs[0], "wb") as out,
        open(outputs[1], "wb") as err,
    ):
        process = subprocess.Popen(
            ["/bin/sh", "-ec", script],
            cwd=folder,
            env={**os.environ, "PATH": f"{path}:{os.environ['PATH']}", "LC_ALL": "C"},
            stdin=source,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        try:
            return process.wait(LONGEST_S)
        except subprocess.TimeoutExpired:
            return None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


def run(test, path):
    """What is wrong, as a list of texts; None if the machine lacks what it requires."""
    with tempfile.TemporaryDirectory(prefix="click-suite-") as name:
        folder = Path(name) / "test"
        folder.mkdir()
        if test.require and shell(test.require, folder, path, (os.devnull, os.devnull)) != 0:
            return None
        for name, text in test.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(text.encode("latin1"))
        outputs = {"stdout": folder.parent / "stdout", "stderr": folder.parent / "stderr"}
        status = shell(test.script, folder, path, (outputs["stdout"], outputs["stderr"]))
        problems = [] if status == 0 else [f"took more than {LONGEST_S} s" if status is None else f"exit {status}"]
        for name in test.wanted:
            file = outputs.get(name, folder / name)
            problem = difference(test, name, file.read_bytes().decode("latin1")) if file.is_file() else "is not there"
            if problem:
                problems.append(f"{name}: {problem}")
        return problems


def files_of(checkout, chosen):
    root = checkout / "test"
    places = [Path(word) if Path(word).exists() else root / word for word in chosen] or [root]
    for place in places:
        if not place.exists():
            sys.exit(
                f"click_suite.py: {place}: no such file; expected a checkout of Click, and a test or a folder of it"
            )
    found = [file for place in places for file in (sorted(place.rglob("*.testie")) if place.is_dir() else [place])]
    return [(file.relative_to(root) if file.is_relative_to(root) else file, file) for file in found]


def main():
    words = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    words.add_argument("heddle", type=Path, help="the program")
    words.add_argument("checkout", type=Path, help="a folder with Click's sources")
    words.add_argument("tests", nargs="*", help="files or folders below its test/; default: all")
    words.add_argument("-v", "--verbose", action="store_true", help="say what differs")
    words = words.parse_args()
    if not os.access(words.heddle, os.X_OK):
        sys.exit(f"click_suite.py: {words.heddle}: not a program")
    files = files_of(words.checkout, words.tests)
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    with tempfile.TemporaryDirectory(prefix="click-suite-") as path:
        for name, body in PROGRAMS.items():
            program = Path(path) / name
            program.write_text("#!/bin/bash\n" + body.replace("{heddle}", str(words.heddle.absolute())) + "\n")
            program.chmod(0o755)
        for name, file in files:
            found = [run(test, path) for test in read(file)]
            problems = [problem for each in found if each for problem in each]
            result = "failed" if problems else "skipped" if None in found else "passed"
            counts[result] += 1
            print(f"{result:8}{name}", flush=True)
            if words.verbose:
                for problem in problems:
                    print(f"        {problem}")
    print(", ".join(f"{count} {result}" for result, count in counts.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
