"""What gopt makes of some files, word for word: golden/NAME.c has the input and, behind a line that starts with MARK,
the output of each back end. GOPT_UPDATE=1 writes them anew: look at the difference before you commit it."""

import os
from pathlib import Path

import pytest
import support
from gopt.transform import transform

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.c"))
MARK = "// ======== gopt transform --backend "
BACKENDS = {
    "chain": ["goto"],
    "nested": ["goto"],
    "once": ["goto"],
    "stages": ["goto", "group", "coroutine"],
    "twice": ["goto", "group", "coroutine"],
}


def parts(path: Path) -> tuple[str, dict[str, str]]:
    first, *others = path.read_text().split(MARK)
    return first, {o.split("\n", 1)[0]: o.split("\n", 1)[1] for o in others}


@pytest.mark.parametrize("path", GOLDEN, ids=lambda p: p.stem)
def test_golden(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    text, right = parts(path)
    Path("input.c").write_text(text)
    found = {back: transform("input.c", backend=back, group_size=8) for back in BACKENDS[path.stem]}
    if os.environ.get("GOPT_UPDATE"):
        path.write_text(text + "".join(f"{MARK}{back}\n{output}" for back, output in found.items()))
        right = found
    assert found == right
    assert found == {back: transform("input.c", backend=back, group_size=8) for back in found}, "not deterministic"
    for back, output in found.items():
        if back == "coroutine":
            Path("output.cc").write_text(output)
            for compiler in ("g++", "clang++"):
                support.compile_c(tmp_path, "output.cc", "-std=c++20", "-O2", *support.WARNINGS, compiler=compiler)
            continue
        Path("output.c").write_text(output)
        for compiler in ("gcc", "clang"):
            for level in ("-O0", "-O1", "-O3"):
                support.compile_c(tmp_path, "output.c", level, *support.WARNINGS, compiler=compiler)


def test_lines_are_the_inputs(tmp_path, monkeypatch):
    """Compilers and debuggers speak of the input's lines."""
    monkeypatch.chdir(tmp_path)
    text, _ = parts(GOLDEN[0])
    wrong = text.replace("out[i] = *e->value;", "out[i] = *e->valeu;")
    line = wrong[: wrong.index("valeu")].count("\n") + 1
    Path("input.c").write_text(wrong)
    Path("output.c").write_text(transform("input.c"))
    errors = support.run("gcc", "-fsyntax-only", f"-I{support.INCLUDE}", "output.c", cwd=tmp_path, fails=True)
    assert f"input.c:{line}:" in errors
