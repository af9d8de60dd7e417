"""Statements whose meaning is easily lost: what is made of them gives what they give, with warnings as errors."""

from pathlib import Path

import pytest
import support
from gopt.cli import main
from gopt.transform import transform

HEAD = """\
#include <stdint.h>
#include <stddef.h>
#include <string.h>
#include "gopt.h"
"""
FUNCTION = "long look(const uint32_t* t, uint32_t* out, int n) {\n"
DRIVER = """\
#include <stdint.h>
#include <stdio.h>
#include <string.h>
long look(const uint32_t* t, uint32_t* out, int n);
long look_gopt(const uint32_t* t, uint32_t* out, int n);
int main(void) {
  static uint32_t t[1024], right[256], found[256];
  uint32_t state = 7;
  for (int i = 0; i < 1024; ++i) t[i] = (state = state * 1664525u + 1013904223u) >> 22;
  for (int n = 0; n < 200; n += 1 + n / 3) {
    memset(right, 0, sizeof right), memset(found, 0, sizeof found);
    const long one = look(t, right, n), other = look_gopt(t, found, n);
    if (one != other || memcmp(right, found, sizeof right) != 0) printf("differs: batch of %d\\n", n);
  }
  return 0;
}
"""


def whole(body: str, helper: str = "", before: str = "", result: str = "0") -> str:
    return f"{HEAD}{helper}\n{FUNCTION}{before}\n  foreach (i, n) {{\n{body}\n  }}\n  return {result};\n}}\n"


MARKED = "static uint32_t h(const uint32_t* t, uint32_t x) { x &= 1023; g_expensive(&t[x]); return t[x] + x; }"
BOTH = {  # name: text
    "condition of more than a byte": whole(
        "uint32_t x = t[i]; out[i] = 0; if (x & 256) { g_expensive(&t[x]); out[i] = t[x]; }"
    ),
    "pointer to a variable": whole(
        "uint32_t x = t[i]; const uint32_t* p = &x; g_expensive(&t[i]); out[i] = *p + t[i];"
    ),
    "comma in a declaration": whole(
        "uint32_t y = t[i]; uint32_t x = (y++, y * 2); g_expensive(&t[y & 1023]); out[i] = x + y;"
    ),
    "pointers in a head": whole(
        "uint32_t x = 0; g_expensive(&t[i]); for (const uint32_t *p = t + i, *e = t + i + 3; p < e; ++p) x += *p; out[i] = x;"
    ),
    "switch in a loop": whole(
        "uint32_t x = t[i]; for (int d = 0; d < 3; ++d) { g_expensive(&t[x]); switch (t[x] & 1) { case 0: x = 1; break; "
        "default: x = t[x]; } } out[i] = x;"
    ),
    "falls through": whole(
        "uint32_t x = t[i]; g_expensive(&t[x]);\nswitch (t[x] & 3) { case 0: x++; /* fall through */\ncase 1: x *= 3; break;\n"
        "case 2: case 3: x--; break; default:; } out[i] = x;"
    ),
    "pointer to a function": whole(
        "uint32_t x = t[i]; uint32_t (*f)(uint32_t x) = sq; g_expensive(&t[x]); out[i] = f(x) + t[x];",
        "static uint32_t sq(uint32_t x) { return x * x; }",
    ),
    "alignment of a type": whole(
        "g_expensive(&t[i]); out[i] = t[i] + __alignof__(struct s) + offsetof(struct s, b);",
        "struct s { uint64_t a[4]; int b; };",
    ),
    "struct in braces": whole(
        "struct s q = {{1, 2, t[i]}, 4}; g_expensive(&t[i]); out[i] = q.a[2] + q.b + t[i];",
        "struct s { uint32_t a[3], b; };",
    ),
    "index that nobody reads": whole("g_expensive(t); s += t[0];", before="long s = 0; out[0] = 1;", result="s"),
    "array in a struct outside": whole(
        "g_expensive(&t[t[i]]); b.r[i] = t[t[i]]; out[i] = b.r[i];",
        before="static struct { uint32_t r[256]; int k; } b;",
    ),
    "brackets in strings": whole(
        'const char* s = "//}"; g_expensive(&t[i]); out[i] = t[i] + (uint32_t)s[0]; s = "//";\n'
    ),
    "counts in a head": whole(
        "uint32_t x = t[i]; g_expensive(&t[x]); for (int k = 0; k < 2; k++, hits++) x++; out[i] = x;",
        before="long hits = 0;",
        result="hits",
    ),
    "what compilers are told about a loop": whole(
        "uint32_t x = t[i]; g_expensive(&t[x]); x = t[x];\n#pragma GCC unroll 4\n    for (int k = 0; k < 4; ++k) {\n"
        'g_expensive(&t[x]);\nx = t[x];\n}\n_Pragma("GCC diagnostic push") for (int k = 0; k < 4; ++k) x += t[k];\n'
        '_Pragma("GCC diagnostic pop") out[i] = x;'
    ),
    "a parameter whose type is a typedef of an array": whole(
        "row r = {t[i], 1, 2, 3}; fill(t, r, t[i]); out[i] = r[0] + r[3];",
        "typedef uint32_t row[4];\nstatic void fill(const uint32_t* t, row r, uint32_t x) { g_expensive(&t[x]); "
        "r[0] = t[x]; r[3] += 5 + (uint32_t)sizeof r; ++r; r[0] += 2; }",
    ).replace("sizeof r", "sizeof(r + 0)"),
    "operators in a macro": whole("uint32_t x = t[i]; g_expensive(&t[x]); out[i] = t[x] TWICE + OPEN 3);").replace(
        FUNCTION, "#define TWICE * 2\n#define OPEN (1 +\n" + FUNCTION
    ),
    "a typedef of an array": whole(
        "vec v = {t[i], 2}; g_expensive(&t[t[i]]); out[i] = v[0] + v[1] + v[3] + t[t[i]];", "typedef uint32_t vec[4];"
    ),
    "a vector": whole(
        "v4 v = {t[i], 1, 2, 3}, w = v; g_expensive(&t[t[i]]); v += w; out[i] = v[0] + v[3] + t[t[i]];",
        "typedef uint32_t v4 __attribute__((vector_size(16)));",
    ),
    "a scalar in braces": whole("uint32_t v = {t[i]}; g_expensive(&t[v]); out[i] = v + t[v];"),
    "an array that is no null pointer": whole(
        "uint32_t a[2] = {t[i], 3}; out[i] = f(t, a) + f(t, &a[1]);",
        "static uint32_t f(const uint32_t* t, const uint32_t* p) {\n  if (!p || p == NULL) return 0;\n"
        "  g_expensive(&t[p[0]]);\n  return t[p[0]] + p[0]; }",
    ),
    "before else": whole("g_expensive(&t[t[i]]);\n    out[i] = t[t[i]];", before="  if (n > 5)").replace(
        "  }\n  return", "  }\n  else out[0] = t[0];\n  return"
    ),
    "the body of do": whole("g_expensive(&t[t[i]]);\n    out[i] += t[t[i]];", before="  int r = 0;\n  do").replace(
        "  }\n  return", "  }\n  while (++r < 3);\n  return"
    ),
    "a member named as a variable": whole(
        "uint32_t b = t[i], in = t[b]; g_expensive(&t[b]); out[i] = t[b] + in + (uint32_t)(offsetof(struct s, b) + "
        "offsetof(struct s, in.b) + offsetof(struct s, in) + offsetof(struct s, c[2].b));",
        "struct s { uint32_t a, b; struct { uint32_t a, b; } in, c[3]; };",
    ),
    "counts in an array and in a struct": whole(
        "uint32_t x = t[i]; if (x & 1) { g_expensive(&t[x]); x = t[x]; } a[x & 3]++; c.n++, c.sum += x; out[i] = x;",
        before="uint32_t a[4] = {0}; struct { long n, sum; } c = {0, 0};",
        result="a[0] + 3 * a[1] + 5 * a[2] + 7 * a[3] + c.n + c.sum",
    ),
    "arrays outside that are read": whole(
        "const uint32_t* p = a; g_expensive(&t[i]); r[i] = t[i] + total(a, 4) + a[2] + p[1]; out[i] = r[i] + first(&s);",
        "struct s { uint32_t a, b; }; static uint32_t first(const struct s* s) { return s->a; }\n"
        "static uint32_t total(const uint32_t* a, int n) { uint32_t x = 0; while (n > 0) x += a[--n]; return x; }",
        before="uint32_t a[4] = {1, 2, 3, 4}, r[256]; struct s s = {t[0], 2};",
    ),
    "elements of an array outside, by *": whole(
        "*(r + i) = t[i]; g_expensive(&t[t[i]]); *(*(m + i) + 1) = *(i + r); (&m[i])[0][0] = *m[i] + *(e + 2);\n"
        "out[i] = *(r + i) + *(*(m + i) + 1) + (&s)->a + q->b + *a + t[t[i]];",
        "struct s { uint32_t a, b; };",
        before="uint32_t r[256], m[256][2] = {{0}}, a[256] = {3}; const uint32_t* const e = a;\n"
        "  const struct s s = {t[0], 2}, q[1] = {{4, 5}};",
    ),
    "elements by several steps": whole(
        "const uint32_t x = t[i] & 7; const uint64_t k = x + 2; const uint32_t* const p = t + x; g_expensive(&t[x]);\n"
        "r[i] = (a + 9 - x)[k] + (b[1] - x)[k] + *(a + 2 + 1) + *(&a[9] - x) + *(9 + a - x + k - 1u) + 1[a + x] + (&b[1])[-1][x] +\n"
        "*(*(b + 1) + 9 - x) + *(a + (p - t)) + cg[p - t + 1] + *(a + x - x);\n"
        "*(r + 2 + i - 2) += *(i + &r[0]) + *p + t[&a[3] - a]; out[i] = r[i];",
        before="static uint32_t r[256], a[16], b[2][16]; static const uint32_t cg[9] = {1, 2, 4, 8, 16, 32, 64, 128, 256};\n"
        "  for (uint32_t k = 0; k < 16; ++k) a[k] = k * k, b[0][k] = 3 * k, b[1][k] = 1000 + k;",
    ),
    "addresses in braces, to read": whole(
        "struct s s = {a, .q = {a + 1, &a[2]}}; const uint32_t* p[2] = {a, a + 3}; g_expensive(&t[i]);\n"
        'struct r r = {v, {1}, "ab", a + 1}; out[i] = s.p[1] + *s.q[0] + *s.q[1] + *p[1] + t[i] + r.v.n + *r.p;',
        "struct s { const uint32_t* p; const uint32_t* q[2]; }; struct v { uint32_t n; };\n"
        "struct r { struct v v, w; char name[4]; const uint32_t* p; };",
        before="uint32_t a[4] = {t[0], 2, 3, 4}; struct v v = {t[1]};",
    ),
    "elements of an array of arrays": whole(
        "uint32_t own[2][2] = {{0}}; const int k = 1; rows[0][i] = t[i];\n own[0][k] = t[i];\n{ rows[1][i] = 3; } own[k][0] = 4;\n"
        "g_expensive(&t[t[i]]); switch (t[i] & 1) { case 0: own[1][k] = 2; } out[i] = rows[0][i] + rows[1][i] + own[0][1] + own[1][k];",
        before="uint32_t rows[2][256];",
    ),
    "pointers that only read what is outside": whole(
        "const uint32_t* p = g + t[i] % 200; uint32_t* q = &g[3]; const uint32_t* e; e = g; e += t[i] % 100; g_expensive(p);\n"
        "const uint8_t* b = (const uint8_t*)g; const uintptr_t a = (uintptr_t)(g + 64 + t[i] % 100) & ~(uintptr_t)3;\n"
        "struct s s = {g, 3}, c = s; s = c; for (const uint32_t* end = p + 3; p < end; ++p) out[i] += *p + p[1];\n"
        "out[i] += *e + g[0] + *q + b[t[i] % 99] + *(const uint32_t*)a + ((uint32_t)(a - (uintptr_t)g) & 63) + s.p[1] + of(c) +\n"
        "*(const uint16_t*)(b + 4) + (uint32_t)(p - g);",
        "struct s { const uint32_t* p; int n; };\nstatic uint32_t of(struct s s) { return s.p[s.n]; }\n"
        "static uint32_t g[256] = {5, 4, 3, 2, 1};",
    ).replace("uint32_t* q = &g[3]", "const uint32_t* q = &g[3]"),
    "pointers to elements of the lookup's own": whole(
        "uint32_t* p = g + i; *p = t[i]; struct s* const q = &s[i]; q->a = *p; uint32_t *o = out, *r = m[i]; o += i; *o = 1;\n"
        "g_expensive(&t[q->a]); p[0] += 2; q->b = t[t[i]]; memcpy(&g[i], p, 4); *r = t[i], r[1] = 4;\n"
        "int k = 0; while (k < i) ++k;\n h[k] = 5; for (k = 0; k < 256; ++k) if (k == i) break;\n h[k] += r[0] + r[1];\n"
        "uint32_t* even = &twice[2 * i]; even[0] = 1, even[1] = t[i]; one[0].r[i] = t[i]; out[i] = one[0].r[i];\n"
        "out[i] += g[i] + s[i].a * s[i].b + h[k] + twice[2 * i + 1];",
        "struct s { uint32_t a, b; }; struct r { uint32_t r[256]; };",
        before="uint32_t g[256], m[256][2], h[256], twice[512]; struct s s[256]; struct r one[1];",
    ),
    "elements that calls and pointers of the lookup's own choose": whole(
        "const struct s own = {t[i], (uint32_t)i}, *q = &own; const uint32_t* p = &own.b; uint32_t x, b[2], e[2], *w = &x; *w = (uint32_t)i;\n"
        "put(b, (uint32_t)i); e[i & 1] = 1; e[!(i & 1)] = 0; struct s c; memcpy(&c, q, sizeof c); g_expensive(&t[t[i]]);\n"
        "g[hs((uint32_t)i)] = t[t[i]]; g[*p] += 1; g[q->b] += 2; g[x] += 3; g[b[0]] += 4; g[c.b] += 5; d[2 * i] = 6; d[2 * (*p) + e[0] + e[1]] = 7;\n"
        "out[i] = g[i] + d[2 * i] + d[2 * i + 1];",
        "struct s { uint32_t a, b; }; static uint32_t hs(uint32_t x) { return x ^ 1 ^ 1; }\n"
        "static void put(uint32_t* b, uint32_t x) { b[0] = b[1] = x; }",
        before="uint32_t g[256], d[512];",
    ),
    "other members of a struct with elements": whole(
        "b.r[i] = t[i] + b.k + b.in.w + b.in.rest.x; uint32_t *p = b.o + i, *q = &b.q[i]; *p = *q = 3; struct rest l = b.in.rest;\n"
        "b.out[2 * i] = b.k; g_expensive(&t[t[i]]); b.in.v[i].x = t[t[i]]; *(b.out + 2 * i + 1) = (uint32_t)sizeof b;\n"
        "out[i] = b.in.v[i].x + b.in.v[i].y + b.r[i] + b.o[i] + b.k + l.x + b.out[2 * i] + b.q[i];",
        "struct rest { uint32_t x, y; }; struct b { uint32_t r[256], k, *out; struct { struct rest v[256], rest; union { uint32_t w; uint8_t c; }; } in;\n"
        "uint32_t o[256], q[256]; };",
        before="static uint32_t twice[512]; static struct b b; b.k = t[0], b.in.w = t[1], b.out = twice, b.in.rest.x = t[2];",
    ),
    "variables outside that pointers only read": whole(
        "uint32_t l; memcpy(&l, &bias, 4); const uint32_t* p = t[i] & 1 ? &bias : &g; g_expensive(&t[t[i]]);\n"
        "out[i] = l + *p + *(const uint8_t*)&g + get(&bias) + t[t[i]] + (&bias == &g) + *&bias;",
        "static uint32_t g = 7; static uint32_t get(const uint32_t* p) { return *p; }",
        before="uint32_t bias = t[0];",
    ),
    "what pointers outside lead to": whole(
        "uint32_t *p = &o->q[i], x = t[i] + *t + c->k + (*c).in.y; struct s* e = &one[i]; e->k = o->k + o->in.x; *p = x;\n"
        "g_expensive(&t[t[i]]); (*o).r[i] = t[t[i]]; o->out[2 * i] = x; o->hits++; (*o).hits += x; o->in.y |= x; ++*many; *many += x;\n"
        "struct in l = c->in; out[i] = o->r[i] + o->k + o->in.x + *p + e->k + l.x + o->out[2 * i];",
        "struct in { uint32_t x, y; }; struct s { uint32_t r[256], q[256], k, hits; uint32_t* out; struct in in; };",
        before="static uint32_t twice[512], sum; static struct s s, all[256], only = {.k = 3, .in = {4, 5}}; struct s *o = &s, *one = all;\n"
        "  const struct s* c = &only; uint32_t* many = &sum; s.out = twice, s.k = t[0], s.hits = s.in.y = sum = 0;",
        result="(long)s.hits + s.in.y + sum",
    ),
    "falls through, with GNU's word for it": whole(
        "uint32_t x = t[i]; g_expensive(&t[x]);\nswitch (t[x] & 3) { case 0: x++; __attribute__((fallthrough)); case 1: x *= 3; break;\n"
        "case 2: { x--; __attribute__((__fallthrough__)); } default:; } out[i] = x;"
    ),
    "sums of many kinds": whole(
        "uint32_t x = t[i]; if (x & 1) { g_expensive(&t[x]); x = t[x]; } s += (int)(x * 0.3) + f(x) + q[x & 1].n + *q[0].p;\n"
        "s -= two + __builtin_popcount(x) + ((void)x, -(int)x) + (x & 4 ? 1 : (int)sizeof x); out[i] = x;",
        "enum { one, two }; typedef struct { short n; const uint32_t* p; } pair;\n"
        "static int f(uint32_t x) { return (int)x / 3; }",
        before="long s = 0; const pair q[2] = {{4, t}, {5, t + 1}};",
        result="s",
    ),
    "the size of a call": whole("out[i] = h(t, t[i]) + (uint32_t)sizeof(h(t, t[i]));", MARKED),
}
GOTO = {  # where group prefetching refuses, or which it has no way to get wrong
    "a jump into a loop with one mark": whole(
        "uint32_t x = t[i], d = 0; g_expensive(&t[x]); if (t[x] & 1) goto inside;\n"
        "while (d < 3) { x ^= 4; inside: g_expensive(&t[x]); x = t[x]; ++d; } out[i] = x;"
    ),
    "a loop with one mark in a loop": whole(
        "uint32_t x = t[i]; g_expensive(&t[x]); x = t[x];\n"
        "for (int r = 0; r < 3; ++r) for (uint32_t d = x & 3; d > 0; --d) { g_expensive(&t[x]); x = t[x]; }\n"
        "g_expensive(&t[x]); out[i] = t[x];"
    ),
    "a pointer to a variable that a jump back finds": whole(
        "const uint32_t* p = NULL; uint32_t s = 0; int k = 0;\nagain:; g_expensive(&t[t[i]]);\nif (p) s += *p;\n"
        "uint32_t x = t[i] + (uint32_t)i; p = &x;\nif (++k < 3) goto again;\nout[i] = s + t[t[i]];"
    ),
    "comma as an argument": whole("uint32_t y = t[i]; out[i] = h(t, (y++, y * 2));", MARKED),
    "the size of a parameter": whole(
        "uint32_t a[3] = {t[i], 1, 2}; out[i] = h(t, a) + a[1];",
        "static uint32_t h(const uint32_t* t, uint32_t* p) { g_expensive(&t[*p]); return t[*p] + (uint32_t)sizeof p; }",
    ),
    "a function as a parameter": whole(
        "out[i] = apply(sq, sq, t, t[i]);",
        "typedef uint32_t of(uint32_t);\nstatic uint32_t sq(uint32_t x) { return x * x; }\n"
        "static uint32_t apply(uint32_t f(uint32_t), of g, const uint32_t* t, uint32_t x) {\n"
        "  g_expensive(&t[x]);\n  return f(t[x]) + g(x); }",
    ),
    "nothing before a comma": whole(
        "uint32_t x = t[i]; uint32_t y = (touch(t, x), t[x]); out[i] = y;",
        "static void touch(const uint32_t* t, uint32_t x) { (void)t, (void)x; g_expensive(&t[x]); }",
    ),
    "a batch within": whole(
        "g_expensive(&t[i]); out[i] = inner(t, t + t[i] / 2, 3);",
        "static uint32_t inner(const uint32_t* t, const uint32_t* k, int n) {\n  uint32_t s = 0;\n  foreach (i, n) {\n"
        "    g_expensive(&t[k[i]]);\n    s += t[k[i]];\n  }\n  return s;\n}",
    ),
}


def check(folder: Path, text: str, backend: str) -> None:
    assert support.differences(folder, text, DRIVER, backend=backend, group_size=8) == ""
    for compiler in ("gcc", "clang"):
        support.compile_c(folder, "in.c", "-O2", *support.WARNINGS, compiler=compiler)
        support.compile_c(folder, "made.c", "-O2", *support.WARNINGS, compiler=compiler)


@pytest.mark.parametrize("backend", ["goto", "group"])
@pytest.mark.parametrize("name", BOTH)
def test_means_the_same(tmp_path, name, backend):
    check(tmp_path, BOTH[name], backend)


@pytest.mark.parametrize("name", GOTO)
def test_means_the_same_by_goto(tmp_path, name):
    text = GOTO[name]
    if name == "a batch within":  # its own name gets the suffix, too, its calls do not
        text = text.replace("inner(t, t +", "INNER(t, t +").replace(FUNCTION, "#define INNER inner\n" + FUNCTION)
        (tmp_path / "in.c").write_text(text)
        made = transform(str(tmp_path / "in.c"), group_size=8)
        assert "__gopt" not in made
        return
    check(tmp_path, text, "goto")


@pytest.mark.parametrize("backend", ["goto", "group"])
def test_two_loops_inline_the_same_helper(tmp_path, backend):
    helper = "static uint32_t h(const uint32_t* t, uint32_t x) { g_expensive(&t[x]); if (t[x] & 1) return 5; return t[x]; }\n"
    loops = "".join(f"  foreach (i, n) {{\n    out[i] {op} h(t, t[i]);\n  }}\n" for op in ("=", "+="))
    text = f"{HEAD}{helper}{FUNCTION}{loops}  return 0;\n}}\n"
    assert support.differences(tmp_path, text, DRIVER, backend=backend) == ""


def test_ends_of_lines_stay(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = whole("uint32_t x = t[i]; // one\n\n    g_expensive(&t[x]);\n    out[i] = t[x];", "#define TWO \\\n  2")
    Path("in.c").write_bytes(text.encode())
    assert main(["transform", "in.c", "-o", "unix.c"]) == 0
    Path("in.c").write_bytes(text.replace("\n", "\r\n").encode())
    assert main(["transform", "in.c", "-o", "dos.c"]) == 0
    unix = Path("unix.c").read_bytes()
    assert b"\r" not in unix and b"G_PSS(" in unix
    assert Path("dos.c").read_bytes() == unix.replace(b"\n", b"\r\n")
    support.compile_c(tmp_path, "dos.c", "-O2", *support.WARNINGS)


def test_a_byte_order_mark_and_other_bytes(tmp_path):
    text = whole("g_expensive(&t[t[i]]); out[i] = t[t[i]];", '/* caf\xe9 \f */ static const char name[] = "caf\xe9";')
    (tmp_path / "in.c").write_bytes(b"\xef\xbb\xbf" + text.encode("latin-1"))
    made = transform(str(tmp_path / "in.c"))
    (tmp_path / "made.c").write_text(made, encoding="utf-8", errors="surrogateescape")
    assert b'"caf\xe9"' in (tmp_path / "made.c").read_bytes()
    support.compile_c(tmp_path, "made.c", "-O2", "-w")
