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
    "what a pointer leads to": (in_loop(MARK, "*out = t[i];"), FIRST + 2, "`*out`, where a pointer"),
    "a member of what a pointer leads to": (in_loop(MARK, "cfg->a = t[i];"), FIRST + 2, "`cfg->a`, where a pointer"),
    "a member of a pointer's first struct": (
        in_loop(MARK, "(*cfg).a = cfg->b;"),
        FIRST + 2,
        "`(*cfg).a`",
    ),
    "a count behind a pointer that is looked at": (
        in_loop(MARK, "cfg->a++;", "out[i] = cfg->a;"),
        FIRST + 2,
        "`cfg->a`",
    ),
    "counts of two kinds behind a pointer": (in_loop(MARK, "cfg->a += 2;", "cfg->a |= 2;"), FIRST + 2, "`cfg->a`"),
    "the first element behind a pointer": (in_loop(MARK, "out[i] = t[i];", "out[i] += *out;"), FIRST + 3, "`*out`"),
    "the first element behind a pointer, by another": (
        in_loop("uint32_t* p = out + i;", MARK, "*p = t[i];", "*p += *out;"),
        FIRST + 4,
        "`*out`, where a pointer",
    ),
    "a struct behind a pointer, as a whole": (
        in_loop(MARK, "to->rows.r[i & 1] = t[i];", "out[i] = sum(to->rows);"),
        FIRST + 3,
        "`to->rows`, where a pointer",
    ),
    "a union behind a pointer": (
        in_loop("uint32_t* p = &to->s.u[i & 1];", MARK, "*p = t[i];", "out[i] = to->n + to->x.w;"),
        FIRST + 4,
        "`to->x.w`, where a pointer",
    ),
    "a place that is counted and looked at": (
        in_loop(MARK, "a[cfg->a++] = t[i];", "out[i] = cfg->a;"),
        FIRST + 2,
        "`cfg->a`, where a pointer",
    ),
    "a place that the lookup's own variable counts": (
        in_loop("uint32_t k = 0, *p = &k;", MARK, "a[(*p)++] = t[i];"),
        FIRST + 3,
        "`a[(*p)++]`, of an array",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_refused(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    refused(*CASES[name])
