"""Checks that no folder includes what lies above it. The layers, highest first, are the first table of
docs/architecture.md. Tests and benchmarks are exempt, and so is what stands beside them for them (test_support.h).

    python3 cmake/layers.py FILE...
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXEMPT = re.compile(r"^tests/|_(test|bench|fuzz)\.(h|cc|cu)$|/test_support\.h$|^functions/[^/]+/\w+_for_test\.h$")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def layers() -> list[str]:
    """The folders in the first table of docs/architecture.md, without what stands for any name: `elements/<topic>`."""
    names = []
    for line in (ROOT / "docs/architecture.md").read_text().splitlines():
        row = re.match(r"\|\s*`([^`]+)`", line)
        if row:
            names.append(re.sub(r"/<.*", "", row[1]))
        elif names:
            break
    return names


def level(path: str, order: list[str]) -> int | None:
    """How far down in the list `path` lies; None if none of its folders is listed."""
    found = [i for i, name in enumerate(order) if path == name or path.startswith(name + "/")]
    return found[0] if found else None


def main(files: list[str]) -> int:
    order = layers()
    problems = []
    for file in files:
        here = level(file, order)
        if EXEMPT.search(file):
            continue
        if here is None:
            problems.append(f"{file}: its folder is not in the table of docs/architecture.md")
            continue
        for number, line in enumerate((ROOT / file).read_text().splitlines(), 1):
            include = INCLUDE.match(line)
            if not include:
                continue
            there = level(include[1], order)
            if there is not None and there < here:
                problems.append(
                    f"{file}:{number}: {order[here]} may not include {include[1]}: {order[there]} lies above"
                )
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
