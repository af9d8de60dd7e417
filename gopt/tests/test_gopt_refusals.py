"""What is outside the subset is refused with file, line, reason and remedy, and never half transformed."""

import subprocess
import sys
from pathlib import Path

import pytest
import support
from gopt.errors import Refusal
from gopt.transform import transform

HEAD = """\
#include <stdint.h>
#include "gopt.h"
static uint32_t fetch(const uint32_t* t, uint32_t x) { g_expensive(&t[x]); return t[x]; }
static uint32_t deep(const uint32_t* t, uint32_t x) { g_expensive(&t[x]); if (x) return deep(t, t[x]); return 0; }
void fill(uint32_t*); int count(void); double third(uint32_t); extern struct own* cfg;
enum { ZERO, ONE }; static int bias = 3;
static uint32_t biased(const uint32_t* t, uint32_t x) { g_expensive(&t[x]); int y = bias; { int bias = y; y += bias; } return y + (int)t[x]; }
struct own { uint32_t a, b; }; void set(struct own*);
struct to { uint32_t* p; uint32_t n; }; struct holder { struct to to; }; typedef uint32_t* const fixed;
struct rows { uint32_t r[4]; }; union both { uintptr_t a; uint32_t* p; }; union bytes { uint8_t b[4]; uint32_t w; uint16_t h[2]; }; struct inner { int n; union { struct { uint32_t v, u[2]; } s; union bytes x; }; struct rows rows; }; uint32_t sum(struct rows); extern struct inner* to; struct mixed { struct own own; uint32_t* p; const uint32_t* q; }; struct bits { int : 3; const uint32_t* q; uint32_t* p; };
void look(const uint32_t* t, const uint32_t* keys, uint32_t* out, int n) {
  uint32_t last = 0, a[4] = {0}; float total = 0; double (*part)(uint32_t) = third;
  const struct { float f; } scale = {0.3f}; _Bool odd = 0; struct own own = {0, 0};
  uint32_t m[4][2] = {{0}}; struct rows many = {{0}};
"""
FIRST = HEAD.count("\n") + 1  # the line of foreach
MARK = "g_expensive(&t[keys[i]]);"


def in_loop(*lines: str) -> str:
    return HEAD + "\n".join(
        [
            "  foreach (i, n) {",
            *lines,
            "  }",
            "  out[0] += last + (uint32_t)total + (uint32_t)part(last) + (uint32_t)scale.f + odd + own.a + a[0] + m[0][0] + many.r[0];",
            "}",
            "",
        ]
    )


LATE = in_loop("out[i] = behind(t, t[i]);").replace(
    "struct own {", "static uint32_t behind(const uint32_t* t, uint32_t x); struct own {", 1
)
LATE_HELPER = """\
static uint32_t behind(const uint32_t* t, uint32_t x) {
  int y = late;
  { int late = 2; y += late; }
  g_expensive(&t[x]);
  return t[x] + y;
}
"""
CASES = {  # name: text, the refusal's line, words of it
    "nothing marked": (in_loop("out[i] = t[i];"), FIRST, "no access within foreach is marked"),
    "return": (in_loop(MARK, "if (t[i]) return;"), FIRST + 2, "would end the whole batch"),
    "break": (in_loop(MARK, "if (t[i]) break;"), FIRST + 2, "continue"),
    "goto out": (
        in_loop(MARK, "if (t[i]) goto out;").replace("  out[0]", "out:\n  out[0]"),
        FIRST + 2,
        "goto out leaves",
    ),
    "order": (in_loop(MARK, "out[i] = last;", "last = t[i];"), FIRST + 3, "`last` is declared outside"),
    "read of a sum": (in_loop(MARK, "last += t[i];", "out[i] = last;"), FIRST + 2, "order of lookups"),
    "two kinds of sum": (in_loop(MARK, "last += t[i];", "last ^= t[i];"), FIRST + 2, "order of lookups"),
    "floating sum": (in_loop(MARK, "total += 0.5f;"), FIRST + 2, "`total`"),
    "index": (in_loop(MARK, "i += 2;"), FIRST + 2, "the index `i` is changed"),
    "static": (in_loop("static int calls;", MARK), FIRST + 1, "`calls` is static"),
    "variable length": (in_loop("uint32_t a[n];", MARK), FIRST + 1, "variable length"),
    "type": (in_loop("struct s { int x; } s;", MARK), FIRST + 1, "file scope"),
    "effect in the address": (in_loop("uint32_t x = 0;", "g_expensive(&t[x++]);"), FIRST + 2, "compute the address"),
    "mark in an expression": (
        in_loop("int x = (g_expensive(t), 1);", "out[i] = x;"),
        FIRST + 1,
        "statement of its own",
    ),
    "no argument": (in_loop("g_expensive();"), FIRST + 1, "g_expensive(address)"),
    "recursion": (in_loop("out[i] = deep(t, 1);"), 4, "calls itself"),
    "helper in a condition": (in_loop("while (fetch(t, 1)) out[i]++;"), FIRST + 1, "fetch(), which has marks"),
    "helper behind &&": (in_loop("if (n && fetch(t, 1)) out[i]++;"), FIRST + 1, "behind &&"),
    "wrong arguments": (in_loop("out[i] = fetch(t);"), FIRST + 1, "takes 2 arguments, not 1"),
    "foreach in foreach": (
        in_loop("  foreach (k, n) { g_expensive(t); }").replace("  foreach (k, n) {", "\n  foreach (k, n) {\n"),
        FIRST + 2,
        "",
    ),
    "attribute": (in_loop("uint32_t x __attribute__((aligned(64))) = 0;", MARK), FIRST + 1, "attributes"),
    "directive": (in_loop("#ifdef A", MARK, "#endif"), FIRST, "preprocessor directives"),
    "own name": (in_loop("uint32_t g_i = 0;", MARK), None, "`g_i` is a name that gopt uses"),
    "no braces": (HEAD + "  foreach (i, n)\n    out[i] = 0;\n}\n", FIRST, "not in braces"),
    "shared line": (HEAD + "  if (n) foreach (i, n) {\n  }\n}\n", FIRST, "begin a line with foreach"),
    "no foreach": ("int x;\n", None, "no function of this file has a foreach loop"),
    "a batch in the style of K&R": (
        '#include "gopt.h"\nvoid look(t, n) const int* t; int n;\n{\n  foreach (i, n) {\n    g_expensive(t);\n  }\n}\n',
        4,
        "does not take for a function",
    ),
    "not C": (in_loop(MARK, "out[i] = t[i] ?: 1;"), FIRST + 2, "not C that gopt can read"),
    "statement expression": (in_loop(MARK, "out[i] = ({ 1; });"), FIRST + 2, "a statement within an expression"),
    "text behind the brace": (
        in_loop(MARK).replace("  }\n", "  } if (n) { out[0] = 7; }\n", 1),
        FIRST,
        "shares a line",
    ),
    "assembler of GNU C": (in_loop(MARK, 'asm volatile ("" ::: "memory");'), FIRST + 2, "assembler within a lookup"),
    "assembler": (in_loop(MARK, '__asm__("nop");'), FIRST + 2, "assembler within a lookup"),
    "attribute by a macro": (
        "#define AL __attribute__((aligned(64)))\n" + in_loop("uint32_t x AL = 0;", MARK),
        FIRST + 2,
        "attr",
    ),
    "alignment": (in_loop("_Alignas(64) uint32_t x = t[i];", MARK, "out[i] = x;"), FIRST + 1, "has an alignment"),
    "shared literal": (in_loop("const uint32_t* p = (uint32_t[2]){1, i};", MARK, "out[i] = *p;"), FIRST + 1, "literal"),
    "type of the function": (
        in_loop("A a;", MARK, "a[0] = 1; out[i] = a[0];").replace(
            "  uint32_t last", "  typedef uint32_t A[2]; uint32_t last"
        ),
        FIRST,
        "type `A` is defined within the function",
    ),
    "floating steps": (in_loop(MARK, "last += (t[i] - 512) * 0.3;"), FIRST + 2, "order of lookups"),
    "an initialiser for a constant's place": (in_loop("uint32_t b[2] = {[ONE] = 5};", MARK), FIRST + 1, "[NAME + 0]"),
    "a global that a variable of the function hides": (
        in_loop("out[i] = biased(t, t[i]);").replace("  uint32_t last", "  const int bias = 5; uint32_t last"),
        FIRST + 1,
        "biased() uses `bias` of file scope",
    ),
    "a global behind the function": (LATE + "static int late = 4;\n" + LATE_HELPER, FIRST + 1, "uses `late`, which is"),
    "a struct behind the function": (
        LATE.replace("int late", "")
        + "struct late { int x; };\n"
        + LATE_HELPER.replace("late;", "(int)sizeof(struct late);"),
        FIRST + 1,
        "uses `struct late`, which is",
    ),
    "a helper in the style of K&R": (
        in_loop("out[i] = old(t, 1);").replace(
            "struct own {",
            "static int old(t, x) const uint32_t* t; int x; { g_expensive(&t[x]); return 1; }\nstruct own {",
            1,
        ),
        FIRST + 2,
        "old() has its parameters' types behind",
    ),
    "an atomic count": (in_loop(MARK, "__atomic_fetch_add(&last, 1, 0);"), FIRST + 2, "the address of `last`"),
    "a deep expression": (in_loop(MARK, "out[i] = " + "i + " * 400 + "i;"), FIRST + 2, "more than 250 levels"),
    "the end is missing": (in_loop(MARK)[: -len("}\n")], in_loop(MARK).count("\n") - 1, "At end of input"),
    "a sum from a pointer to a function": (in_loop(MARK, "last += part(t[i]);"), FIRST + 2, "order of lookups"),
    "a sum from a member without a tag": (in_loop(MARK, "last += scale.f * t[i];"), FIRST + 2, "order of lookups"),
    "a sum from a builtin": (in_loop(MARK, "last += __builtin_sqrt(t[i]);"), FIRST + 2, "order of lookups"),
    "a parity in a _Bool": (in_loop(MARK, "odd ^= t[i];"), FIRST + 2, "`odd` is declared outside"),
    "an element that is carried on": (
        in_loop(MARK, "a[0] += t[i];", "out[i] = a[0];"),
        FIRST + 2,
        "`a[0]`, of an array",
    ),
    "an element for scratch": (in_loop("a[1] = t[i];", "g_expensive(&t[a[1]]);"), FIRST + 1, "`a[1]`, of an array"),
    "an element that another lookup writes": (in_loop(MARK, "a[t[i] & 3] = 1;", "out[i] = a[2];"), FIRST + 3, "`a[2]`"),
    "an element of an element": (in_loop(MARK, "out[0] = t[i];", "out[i] = out[0];"), FIRST + 2, "`out[0]`, of an"),
    "an array that is copied to": (in_loop(MARK, "__builtin_memcpy(a, &t[i], 4);"), FIRST + 2, "the address of `a`"),
    "an array that is written through a pointer": (
        in_loop("uint32_t* p = a;", MARK, "*p = 1;"),
        FIRST + 1,
        "address of `a`",
    ),
    "an array's end": (in_loop(MARK, "fill(a + 1);"), FIRST + 2, "the address of `a`"),
    "an element that is named by *": (in_loop("*(a + 1) = t[i];", MARK, "out[i] = *(1 + a);"), FIRST + 1, "`a[1]`"),
    "an array's first element": (in_loop("a[t[i] & 3] = 1;", MARK, "out[i] = *a;"), FIRST + 3, "`a[0]`, of an array"),
    "a struct by its address": (in_loop("(&own)->a = t[i];", MARK, "out[i] = own.a;"), FIRST + 1, "`own` is declared"),
    "an array by another type": (
        in_loop("((char*)a)[1] = 1;", MARK, "out[i] = a[0];"),
        FIRST + 1,
        "the address of `a`",
    ),
    "an array or another": (
        in_loop("uint32_t* p = t[i] ? a : out;", MARK, "*p = 1;", "out[i] = a[0];"),
        FIRST + 1,
        "the address of `a`",
    ),
    "an array behind a comma": (in_loop("uint32_t* p = (i, a);", MARK, "*p = 1;"), FIRST + 1, "the address of `a`"),
    "an array's address in braces": (
        in_loop("uint32_t* p[2] = {out, a};", MARK, "*p[1] = t[i];", "out[i] = a[0];"),
        FIRST + 1,
        "the address of `a`",
    ),
    "an address in a struct without braces of its own": (
        in_loop("struct holder q = {a, 1};", MARK, "q.to.p[0] = t[i];", "out[i] = a[0];"),
        FIRST + 1,
        "the address of `a`",
    ),
    "addresses in an array of structs without braces": (
        in_loop("struct to q[2] = {out, 1, a, 2};", MARK, "q[1].p[0] = t[i];", "out[i] = a[0];"),
        FIRST + 1,
        "the address of `a`",
    ),
    "an address in an array of arrays without braces": (
        in_loop("fixed q[1][2] = {out, a};", MARK, "*q[0][1] = t[i];", "out[i] = a[0];"),
        FIRST + 1,
        "the address of `a`",
    ),
    "an address behind what has no braces": (
        in_loop("struct mixed q = {1, 2, a};", MARK, "q.p[0] = t[i];", "out[i] = a[0];"),
        FIRST + 1,
        "the address of `a`",
    ),
    "an address behind bits without a name": (
        in_loop("struct bits q = {out, a};", MARK, "q.p[0] = t[i];", "out[i] = a[0];"),
        FIRST + 1,
        "the address of `a`",
    ),
    "an element of an element that is named by *": (
        in_loop("*(*(m + i) + 1) = t[i];", MARK, "out[i] = m[1][1];"),
        FIRST + 3,
        "`m[1][1]`, of an array",
    ),
    "an element that a sum of three names": (
        in_loop("*(a + 2 + i) = t[i];", MARK, "out[i] = a[0];"),
        FIRST + 3,
        "`a[0]`, of an array",
    ),
    "an element by its distance from another": (
        in_loop("*(&a[0] + i) = t[i];", MARK, "out[i] = a[0];"),
        FIRST + 3,
        "`a[0]`, of an array",
    ),
    "an element by its distance from two others": (
        in_loop("*(i + &*(&a[3] - 2)) = t[i];", MARK, "out[i] = *(1 + a - 1 + 2);"),
        FIRST + 3,
        "`a[2]`, of an array",
    ),
    "an element of an array's address": (
        in_loop("(&a)[0][i + 0] = t[i];", MARK, "out[i] = a[0];"),
        FIRST + 1,
        "the address of `a`",
    ),
    "an element by another type": (
        in_loop("*((uint32_t*)a + i) = t[i];", MARK, "out[i] = a[0];"),
        FIRST + 1,
        "the address of `a`",
    ),
    "an element of a struct's member": (
        in_loop("*((*&many).r + i) = t[i];", MARK, "out[i] = many.r[0];"),
        FIRST + 3,
        "`many.r[0]`, of an array",
    ),
    "an array through a pointer to an element": (
        in_loop("uint32_t* p = a + i;", "*p = t[i];", MARK, "out[i] = a[0];"),
        FIRST + 4,
        "`a[0]`, of an array",
    ),
    "an array through a pointer that gets an element later": (
        in_loop("uint32_t* p;", "p = &a[i], p[0] = t[i];", MARK, "out[i] = *(a + 1);"),
        FIRST + 4,
        "`a[1]`, of an array",
    ),
    "an array through a pointer that is moved": (
        in_loop("uint32_t* p = out;", "p += i;", MARK, "*p = t[i];", "p[0] += out[1];"),
        FIRST + 5,
        "`out[1]`, of an array",
    ),
    "an array through a pointer to a pointer": (
        in_loop("uint32_t *p = &a[i], **q = &p;", "**q = t[i];", MARK, "out[i] = a[3];"),
        FIRST + 4,
        "`a[3]`, of an array",
    ),
    "an element that a function may write": (
        in_loop("uint32_t* p = &a[i];", "fill(p);", MARK, "out[i] = a[3];"),
        FIRST + 4,
        "`a[3]`, of an array",
    ),
    "an array that is written and handed on": (
        in_loop("*(a + i) = t[i];", MARK, "const uint32_t* q = a;", "out[i] = q[i];"),
        FIRST + 3,
        "`a`, of an array",
    ),
    "an array whose start is looked at through a pointer": (
        in_loop("const uint32_t* q = out;", "out[i] = t[i];", MARK, "out[i] = *q;"),
        FIRST + 4,
        "`*q`, of an array",
    ),
    "an integer made of an address": (
        in_loop("uintptr_t b = (uintptr_t)a;", MARK, "*(uint32_t*)(b + 4) += t[i];"),
        FIRST + 3,
        "the address of `a`",
    ),
    "an integer made of an element's address": (
        in_loop("uintptr_t b;", "b = (uintptr_t)&a[i] & ~63ul;", MARK, "uint32_t* p = (uint32_t*)b;", "*p = t[i];"),
        FIRST + 4,
        "the address of `a`",
    ),
    "an integer in a union": (
        in_loop("union both b = {.a = (uintptr_t)&own};", MARK, "b.p[1] = t[i];", "out[i] = own.b;"),
        FIRST + 3,
        "the address of `own`",
    ),
    "a pointer whose const is cast away": (
        in_loop("const uint32_t* p = a;", MARK, "((uint32_t*)p)[i] = t[i];", "out[i] = p[0];"),
        FIRST + 3,
        "the address of `a`",
    ),
    "an array of pointers to constants": (
        in_loop("const uint32_t** p = at;", MARK, "*p = &t[i];", "out[i] = *at[0];").replace(
            "  uint32_t last", "  const uint32_t* at[2] = {t, t}; uint32_t last"
        ),
        FIRST + 1,
        "the address of `at`",
    ),
    "scratch memory outside": (
        in_loop("for (int k = 0; k < 4; ++k)", "a[k] = t[i + k];", MARK, "for (int k = 0; k < 4; ++k) last += a[k];"),
        FIRST + 2,
        "`a[k]`, of an array",
    ),
    "an element that all lookups set": (in_loop(MARK, "a[1] = t[i];"), FIRST + 2, "`a[1]`, of an array"),
    "an initialiser for a constant's place in a member": (
        in_loop("struct rows b = {.r[ONE] = 5};", MARK),
        FIRST + 1,
        "[NAME + 0]",
    ),
    "an initialiser for a constant's place in ( )": (
        in_loop("uint32_t b[2] = {[(ONE)] = 5};", MARK),
        FIRST + 1,
        "[NAME + 0]",
    ),
    "an element of an element's element": (
        in_loop("m[0][i] = t[i];", MARK, "out[i] = m[0][1];"),
        FIRST + 3,
        "`m[0][1]`, of an array",
    ),
    "a selection by type": (
        in_loop(MARK, "out[i] = _Generic(t[i], default: 1);"),
        FIRST + 2,
        "a function without marks",
    ),
    "a struct that is set": (in_loop(MARK, "set(&own);", "out[i] = own.a;"), FIRST + 2, "the address of `own`"),
    "a struct's member that is set": (in_loop(MARK, "fill(&own.b);"), FIRST + 2, "the address of `own`"),
    "address of a variable outside": (in_loop(MARK, "fill(&last);"), FIRST + 2, "the address of `last`"),
    "macro expanded twice": (
        in_loop(MARK, "out[i] = shift;").replace(
            "  uint32_t last", "  const uint32_t shift = 1;\n#define shift (shift + 1)\n  uint32_t last"
        ),
        FIRST + 2,
        "macro `shift` would be expanded twice",
    ),
    "directive that ends": (in_loop("#undef A", MARK), FIRST, "preprocessor directives"),
    "literals side by side": (in_loop(MARK, r'out[i] = "\0" "1"[1];'), FIRST + 2, "string literals side by side"),
    "own label": (
        in_loop(MARK, "if (i) goto g_end;", "g_end: out[i] = 1;"),
        FIRST + 3,
        "`g_end` is a name that gopt uses",
    ),
    "constant type": (
        in_loop("cu x = t[i];", MARK, "out[i] = x;").replace("static", "typedef const uint32_t cu; static", 1),
        FIRST + 1,
        "constant by its type",
    ),
    "count that calls": (in_loop(MARK).replace("(i, n)", "(i, count())"), FIRST, "calls or assigns"),
    "case label": (in_loop(MARK, "switch (i) { case 1: if (n) { case 2: out[i] = 1; } }"), FIRST + 2, "case label"),
}


def refused(text: str, line: int | None, words: str) -> None:
    """In the current folder."""
    Path("input.c").write_text(text)
    with pytest.raises(Refusal) as refusal:
        transform("input.c")
    message = str(refusal.value)
    assert message.startswith(f"input.c:{line}: " if line else "input.c: "), message
    assert words in message
    assert refusal.value.remedy, message


@pytest.mark.parametrize("name", CASES)
def test_refused(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    refused(*CASES[name])


GROUP_CASES = {
    "while": (in_loop("uint32_t x = 9;", "while (x) {", MARK, "x = t[x];", "}"), FIRST + 2),
    "rounds": (in_loop("for (uint32_t d = 0; d < keys[i]; ++d) {", MARK, "}"), FIRST + 1),
    "break": (in_loop("for (int d = 0; d < n; ++d) {", MARK, "if (t[d]) break;", "}"), FIRST + 3),
    "call in a head": (in_loop("for (int d = 0; d < count(); ++d) {", MARK, "}"), FIRST + 1),
    "guarded head": (in_loop("if (t[i]) for (uint32_t d = 0; d < t[0]; ++d) {", MARK, "}"), FIRST + 1),
    "head of a loop that some lookups do not reach": (
        in_loop("if (n == 0) continue;", "for (int d = 0; d < 10 / n; ++d) {", MARK, "}"),
        FIRST + 2,
    ),
    "head of a loop that some lookups leave a helper before": (
        in_loop("out[i] = rounds(t, n);").replace(
            "struct own",
            "static int rounds(const uint32_t* t, int n) { if (n == 0) return 1;\n"
            "  for (int d = 0; d < 10 / n; ++d) { g_expensive(t); } return 2; }\nstruct own",
            1,
        ),
        HEAD[: HEAD.index("struct own")].count("\n") + 2,
    ),
    "goto": (in_loop(MARK, "if (t[i]) goto on;", "out[i] = 1;", "on:", "out[i]++;"), FIRST + 4),
}


@pytest.mark.parametrize("name", GROUP_CASES)
def test_group_prefetching_refuses(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    text, line = GROUP_CASES[name]
    Path("input.c").write_text(text)
    transform("input.c")
    with pytest.raises(Refusal, match=rf"^input.c:{line}: .*--backend goto"):
        transform("input.c", backend="group")


@pytest.mark.parametrize("head", ["static inline {} void look(", "{} void look(", "inline void {} look("])
def test_a_batch_that_must_be_inlined(tmp_path, monkeypatch, head):
    monkeypatch.chdir(tmp_path)
    attribute = "__attribute__((unused, __always_inline__))"
    Path("input.c").write_text(in_loop(MARK).replace("void look(", head.format(attribute)))
    with pytest.raises(Refusal, match=rf"^input.c:{FIRST}: look\(\) is always_inline.*; .*--backend group"):
        transform("input.c")
    transform("input.c", backend="group")


def command(*arguments, cwd) -> subprocess.CompletedProcess:
    root = Path(__file__).parent.parent
    environment = {"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"}
    words = [sys.executable, "-m", "gopt", *arguments]
    return subprocess.run(words, cwd=cwd, env=environment, check=False, capture_output=True, text=True)


def test_command(tmp_path):
    (tmp_path / "good.c").write_text(in_loop(MARK, "out[i] = t[keys[i]];"))
    (tmp_path / "bad.c").write_text(in_loop("return;"))
    done = command(
        "transform", "good.c", "-o", "made.c", "--depfile", "made.d", "--group", "4", "--hint", "0", cwd=tmp_path
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    made = (tmp_path / "made.c").read_text()
    assert "g_group = 4" in made and "(address), 0, 0)" in made
    assert (tmp_path / "made.d").read_text().startswith("made.c: good.c ")
    done = command("transform", "bad.c", "-o", "none.c", cwd=tmp_path)
    assert done.returncode == 1 and done.stderr.startswith("bad.c:") and "Traceback" not in done.stderr
    assert not (tmp_path / "none.c").exists()
    for arguments, words in [
        (["transform", "absent.c"], "absent.c: cannot be read"),
        (["transform", "good.c", "--group", "65"], "1 to 64"),
        (["transform", "good.c", "--hint", "4"], "0 (used once) to 3"),
        (["transform", "good.c", "--profile", "absent.txt"], "absent.txt: cannot be read"),
        (["transform", "good.c", "--profile", "good.c"], "no samples of good.c"),
    ]:
        done = command(*arguments, cwd=tmp_path)
        assert done.returncode == 1 and words in done.stderr, done.stderr
    assert (Path(command("include", cwd=tmp_path).stdout.strip()) / "gopt.h").exists()


def test_no_file_that_was_read_is_overwritten(tmp_path):
    (tmp_path / "head.h").write_text("/* */\n")
    text = '#include "head.h"\n' + in_loop(MARK)
    (tmp_path / "in.c").write_text(text)
    for words in (["-o", "in.c"], ["-o", "./head.h"], ["-o", "made.c", "--depfile", "in.c"]):
        done = command("transform", "in.c", *words, cwd=tmp_path)
        assert done.returncode == 1 and "would overwrite" in done.stderr, done.stderr
    assert (tmp_path / "in.c").read_text() == text and (tmp_path / "head.h").read_text() == "/* */\n"


def test_more_on_the_stack_than_there_is(tmp_path):
    """The limit is one of all lookups in flight together; the compiler knows the sizes."""
    (tmp_path / "in.c").write_text(in_loop("uint32_t big[16384];", "big[i] = t[i];", MARK, "out[i] = big[i];"))
    for size in (16, 17):
        (tmp_path / "made.c").write_text(transform(str(tmp_path / "in.c"), group_size=size))
        words = ["gcc", "-w", f"-I{support.INCLUDE}", "-c", "made.c"]
        assert ("1 MiB" in support.run(*words, cwd=tmp_path, fails=True)) == (size > 16)


def test_a_preprocessor_error_is_passed_on(tmp_path):
    (tmp_path / "in.c").write_text('#include "absent.h"\n')
    done = command("transform", "in.c", cwd=tmp_path)
    assert done.returncode == 1 and "absent.h" in done.stderr and "Traceback" not in done.stderr


def test_the_same_file_compiles_without_gopt(tmp_path):
    (tmp_path / "in.c").write_text(in_loop(MARK, "out[i] = fetch(t, keys[i]) + deep(t, 0) + biased(t, 1);"))
    for compiler in ("gcc", "clang"):
        support.compile_c(tmp_path, "in.c", "-O2", *support.WARNINGS, compiler=compiler)
