"""Lookups that write elements of what they share: those that would meet there are refused."""

import pytest
from test_gopt_refusals import FIRST, MARK, in_loop, refused


def in_union(*lines: str) -> str:
    return in_loop(*lines).replace(
        "  uint32_t last", "  union bytes u = {{0}}; struct inner in = {0}; uint32_t last", 1
    )


CASES = {  # name: text, the refusal's line, words of it
    "an element that a call without arguments chooses": (
        in_loop("a[count()] = t[i];", MARK, "out[i] = a[count()];"),
        FIRST + 1,
        "`a[count()]`, of an array",
    ),
    "an element that a pointer chooses": (in_loop(MARK, "a[*t] = t[i];"), FIRST + 2, "`a[*t]`, of an array"),
    "an element that a member chooses": (in_loop(MARK, "a[cfg->b] = t[i];"), FIRST + 2, "`a[cfg->b]`, of an array"),
    "an element that a variable of the lookup with what a call gives chooses": (
        in_loop("uint32_t k;", "k = count();", MARK, "if (count()) ++k;", "a[k] = t[i];"),
        FIRST + 5,
        "`a[k]`, of an array",
    ),
    "an element that a variable which a call sets chooses": (
        in_loop("uint32_t k, *p = &k;", "fill(p);", MARK, "a[k] = t[i];"),
        FIRST + 4,
        "`a[k]`, of an array",
    ),
    "an array through a pointer that a call moves": (
        in_loop("uint32_t* p = a;", "p += count();", MARK, "*p = t[i];"),
        FIRST + 1,
        "the address of `a`",
    ),
    "a union of which lookups write elements": (
        in_union("u.b[i & 1] = t[i];", MARK, "out[i] = u.w;"),
        FIRST + 3,
        "`u.w` shares memory with `u.b[i & 1]`",
    ),
    "elements of a union by other names": (
        in_union("u.b[i & 1] = t[i];", MARK, "out[i] = u.h[i & 1];"),
        FIRST + 3,
        "`u.h[i & 1]` shares memory",
    ),
    "a union of which a pointer writes elements": (
        in_union("uint8_t* p = u.b + (i & 1);", "*p = t[i];", MARK, "out[i] = u.w;"),
        FIRST + 4,
        "`u.w` shares memory",
    ),
    "a union without a name": (
        in_union("in.s.u[i & 1] = t[i];", MARK, "out[i] = in.n;", "out[i] += in.s.v;", "out[i] = in.x.w;"),
        FIRST + 5,
        "`in.x.w` shares memory with `in.s.u[i & 1]`",
    ),
    "a struct of which lookups write elements, as a whole": (
        in_loop("many.r[i & 1] = t[i];", MARK, "struct rows l = many;", "out[i] = l.r[0];"),
        FIRST + 3,
        "`many` shares memory with `many.r[i & 1]`",
    ),
    "a struct in a struct, as an argument": (
        in_union("in.rows.r[i & 1] = t[i];", MARK, "out[i] = sum(in.rows);"),
        FIRST + 3,
        "`in.rows` shares memory",
    ),
    "a variable that a pointer writes": (
        in_loop("uint32_t* p = t[i] ? out + i : &last;", MARK, "*p = 1;"),
        FIRST + 1,
        "the address of `last`",
    ),
    "a variable whose address loses its const": (
        in_loop("const uint32_t* p = &last;", MARK, "*(uint32_t*)p = t[i];"),
        FIRST + 3,
        "the address of `last`",
    ),
    "a variable by another type": (in_loop(MARK, "*(char*)&last = 1;"), FIRST + 2, "the address of `last`"),
    "a variable's address among bits": (
        in_loop(MARK, "uintptr_t b = (uintptr_t)&last | 1;", "*(uint8_t*)b += 1;"),
        FIRST + 3,
        "the address of `last`",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_refused(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    refused(*CASES[name])
