"""Large and deep lookups: gopt's work grows with the text, and what is too deep is refused, not a stack that ends."""

import re
import sys
from pathlib import Path

import pytest
import support
from gopt.errors import Refusal
from gopt.transform import transform

HEAD = """\
#include <stdint.h>
#include "gopt.h"
static uint32_t leaf(const uint32_t* t, uint32_t x) { g_expensive(&t[x]); return t[x]; }
"""


def lookup(body: str, helpers: str = "", before: str = "", behind: str = "") -> str:
    return (
        f"{HEAD}{helpers}\nvoid look(const uint32_t* t, uint32_t* out, int n) {{\n{before}\n  foreach (i, n) {{\n"
        f"    uint32_t x = t[i];\n    g_expensive(&t[x]);\n{body}\n  }}\n{behind}\n}}\n"
    )


def chain(length: int) -> str:
    """A chain of else if."""
    tests = [f"if (x == {k}) {{\n g_expensive(&t[x + {k}]);\n out[i] = t[x + {k}];\n }}" for k in range(length)]
    return lookup(" else ".join([*tests, "x = leaf(t, x);"]))


SHAPES = {  # name: a lookup of a given size
    "else if": chain,
    "marks": lambda size: lookup("g_expensive(&t[x]); x = t[x]; out[i] += x;\n" * size),
    "variables": lambda size: lookup(
        "".join(f"uint32_t v{k} = t[x + {k}];\n" for k in range(size))
        + "g_expensive(&t[x]);\n"
        + "".join(f"out[i] += v{k};\n" for k in range(size))
    ),
    "sums": lambda size: lookup(
        "".join(f"s{k} += x;\n" for k in range(size)),
        before="".join(f"uint32_t s{k} = 0;\n" for k in range(size)),
        behind="".join(f"out[{k}] = s{k};\n" for k in range(size)),
    ),
    "arrays": lambda size: lookup(
        "".join(f"a{k}[i] = x; x += a{k}[i];\n" for k in range(size)),
        before="".join(f"uint32_t a{k}[64];\n" for k in range(size)),
    ),
    "helpers": lambda size: lookup("x = leaf(t, x);\n" * size),
    "blocks": lambda size: lookup(
        "{ uint32_t y = t[x];\n" * size + "g_expensive(&t[x]); out[i] = t[x];\n" + "}" * size
    ),
}


def calls(folder: Path, text: str, backend: str) -> int:
    """How often functions and generators are entered while gopt transforms `text`."""
    (folder / "in.c").write_text(text)
    count = 0

    def event(frame, what, argument):
        nonlocal count
        count += what == "call"

    before = sys.getprofile()
    sys.setprofile(event)
    try:
        transform(str(folder / "in.c"), backend=backend)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("shape,backend", [*((shape, "goto") for shape in SHAPES), ("else if", "group")])
def test_twice_as_large_is_twice_the_work(tmp_path, shape, backend):
    make = SHAPES[shape]
    assert calls(tmp_path, make(60), backend) < 2.5 * calls(tmp_path, make(30), backend)


def test_a_long_chain_of_else_if(tmp_path):
    """Compilers limit how deep braces may be within one another, too."""
    (tmp_path / "in.c").write_text(chain(240))
    made = transform(str(tmp_path / "in.c"))
    assert made.count("else if") == 239 and not re.search("^ {20}", made, re.MULTILINE)
    (tmp_path / "made.c").write_text(made)
    support.run("clang", "-fsyntax-only", *support.WARNINGS, f"-I{support.INCLUDE}", "made.c", cwd=tmp_path)


def nested(name: str, callee: str, depth: int) -> str:
    return f"static uint32_t {name}(const uint32_t* t, uint32_t x) {{ {'if (x) ' * depth} return {callee}(t, x); return x; }}\n"


def test_the_depths_of_helpers_add_up(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    helpers = nested("h1", "leaf", 60) + "".join(nested(f"h{k}", f"h{k - 1}", 60) for k in range(2, 41))
    Path("in.c").write_text(lookup("out[i] = h3(t, x);", helpers))
    transform("in.c")
    Path("in.c").write_text(lookup("out[i] = h40(t, x);", helpers))
    with pytest.raises(Refusal, match=r"^in.c:40: more than 250 levels .* within a lookup; divide it"):
        transform("in.c")


@pytest.mark.parametrize("where", ["function", "initialiser", "before", "type"])
def test_what_is_deep_elsewhere_is_none_of_its_business(tmp_path, where):
    deep = "1 + " * 5000 + "1"
    text = {
        "function": lookup("", f"static inline int other(int x) {{ return {deep} + x; }}"),
        "initialiser": lookup("", f"static int other[] = {{{deep}}};"),
        "before": lookup("", before=f"out[0] = {deep}; {'if (n > 0) ' * 3000} out[1] = 2;"),
        "type": lookup("", f"struct other {{ char text[{deep}]; }};"),
    }
    (tmp_path / "in.c").write_text(text[where])
    made = transform(str(tmp_path / "in.c"))
    assert text[where].partition("  foreach")[0] in made
