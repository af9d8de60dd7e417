"""What gopt makes of some files, word for word: golden/NAME.c has the input and, behind a line that starts with MARK,
the output of each back end. GOPT_UPDATE=1 writes them anew: look at the difference before you commit it."""

import os
import re
from pathlib import Path

import pytest
import support
from gopt.transform import MOST, transform

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.c"))
MARK = "// ======== gopt transform --backend "
BACKENDS = {"chain": ["goto"], "nested": ["goto"], "stages": ["goto", "group", "coroutine"]}


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
            support.compile_c(tmp_path, "output.cc", "-std=c++20", "-O2", *support.WARNINGS, compiler="g++")
            continue
        Path("output.c").write_text(output)
        for compiler in ("gcc", "clang"):
            for level in ("-O0", "-O3"):
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


CALLS = {  # name: function, declaration of its kind, arguments, result's type
    "nested": (
        "walk",
        "void {}(const uint32_t*, uint32_t, const uint32_t*, uint32_t*, uint32_t)",
        "table, 255",
        "uint32_t",
    ),
    "stages": ("look", "void {}(const uint16_t*, int, const uint32_t*, uint16_t*, int)", "(void*)table, 3", "uint16_t"),
}
MAIN = """\
int main(void) {{
  uint32_t state = 1, table[256];
  for (int t = 0; t < 256; ++t) table[t] = (state = state * 1664525u + 1013904223u) & 0x00ff00ffu;
  for (int n = 0; n < 200; n += 1 + n / 9) {{
    uint32_t* const keys = malloc(4 * (size_t)n + 1);
    {kind}* const right = malloc(sizeof({kind}) * (size_t)n + 1);
    {kind}* const found = malloc(sizeof({kind}) * (size_t)n + 1);
    for (int i = 0; i < n; ++i) keys[i] = (state = state * 1664525u + 1013904223u) >> 5;
    as_written({arguments}, keys, right, n);
    for (int size = 1; size <= {most}; ++size) {{
      memset(found, 255, sizeof({kind}) * (size_t)n);
      transformed[size - 1]({arguments}, keys, found, n);
      if (memcmp(right, found, sizeof({kind}) * (size_t)n) != 0) printf("differs: %d in flight, batch of %d\\n", size, n);
    }}
    free(keys), free(right), free(found);
  }}
  return 0;
}}
"""


@pytest.mark.parametrize("name,backend", [("nested", "goto"), ("stages", "group")])
def test_every_group_size(tmp_path, name, backend):
    """Transformed lookups give what the original gives, under ASan and UBSan, for 1 to 64 in flight."""
    text, _ = parts(next(p for p in GOLDEN if p.stem == name))
    function, declaration, arguments, kind = CALLS[name]
    sizes = range(1, MOST + 1)
    (tmp_path / "in.c").write_text(text)
    all_sizes = ["#include <stdio.h>", "#include <stdlib.h>", "#include <string.h>"]
    all_sizes += [f"#define {function} as_written", '#include "in.c"', f"#undef {function}"]
    made = transform(str(tmp_path / "in.c"), backend=backend, group_size=1, suffix="_1")

    def of_size(size: int) -> str:
        text = made.replace(f"{function}_1(", f"{function}_{size}(").replace("g_group = 1 }", f"g_group = {size} }}")
        return re.sub(r"(--group|Up to|Groups of) 1\b", rf"\1 {size}", text)

    assert of_size(64) == transform(str(tmp_path / "in.c"), backend=backend, group_size=64, suffix="_64")
    for size in sizes:
        (tmp_path / f"made_{size}.c").write_text(of_size(size))
        all_sizes += [f"#define second second_{size}", f'#include "made_{size}.c"', "#undef second"]
    all_sizes.append(f"typedef {declaration.format('lookup')};")
    all_sizes.append(f"static lookup* const transformed[] = {{{', '.join(f'{function}_{s}' for s in sizes)}}};")
    all_sizes.append(MAIN.format(kind=kind, arguments=arguments, most=MOST))
    (tmp_path / "all.c").write_text("\n".join(all_sizes))
    support.run("gcc", *support.SANITIZERS, "-O0", f"-I{support.INCLUDE}", "all.c", "-o", "all", cwd=tmp_path)
    assert support.run("./all", cwd=tmp_path) == ""
