"""Random valid batched lookups, to compare what they do before and after transformation."""

import random

HEAD = """\
#include <stddef.h>
#include <stdint.h>

#include "gopt.h"

struct pair {
  uint32_t first, second;
};
struct named { /* as the variables of lookups are */
  uint32_t v1, v2, v3, v4[4];
};
typedef uint32_t four[4];
static const uint32_t bias = 77;
static inline uint32_t plain(uint32_t a, uint32_t b) { return (a ^ b >> 7) * 2654435761u; }
static inline void swap(struct pair* p) {
  const uint32_t first = p->first;
  p->first = p->second;
  p->second = first;
}
static uint32_t biased(const uint32_t* table, uint32_t mask, uint32_t at) {
  uint32_t x = at + bias;
  {
    const uint32_t bias = x & mask;
    if (bias & 1) return bias;
    g_expensive(&table[bias]);
    x ^= table[bias];
  }
  return x - bias;
}
static uint32_t follow(const uint32_t* table, uint32_t mask, uint32_t at, uint32_t steps) {
  for (uint32_t s = 0; s < (steps & 3); ++s) {
    if ((at & 31) == 7) return at + s;
    g_expensive(&table[at & mask]);
    at = table[at & mask];
  }
  return at;
}
static uint16_t narrow(const uint32_t* table, uint32_t mask, uint32_t at) {
  g_expensive(&table[at & mask]);
  const uint32_t x = table[at & mask];
  if (x & 1) return follow(table, mask, x, x >> 3);
  return x;
}
"""
HEADER = "uint32_t {name}(const uint32_t* table, uint32_t mask, const uint32_t* keys, uint32_t* out, int n)"


class Generator:
    """Makes one function. `simple`: only what group prefetching takes."""

    def __init__(self, seed: int, simple: bool = False):
        self.random = random.Random(seed)
        self.simple = simple
        self.lines: list[str] = []
        self.count = 0
        self.left = 25  # statements that may still come

    def function(self, name: str) -> str:
        self.lines = [HEADER.format(name=name) + " {", "  uint32_t sum = 0, own[256], hits[4] = {0};"]
        self.lines += ["  four few = {mask, 7u, 11u, 13u};", "  foreach (i, n) {"]
        scope: list[str] = ["keys[i]"]
        for _ in range(2):
            self.declare(scope, 2, self.expression(scope))
        self.block(scope, 2, 5, loop=False, top=True)
        self.mark(scope, 2)
        self.put(2, f"out[i] = {' ^ '.join(scope[1:])};")
        self.put(1, "}")
        if self.random.random() < 0.5:  # another loop, with the same helpers
            helpers = ["narrow_once", "biased"] if self.simple else ["narrow", "biased"]
            self.put(1, "foreach (j, n) {")
            self.put(2, f"out[j] += {self.random.choice(helpers)}(table, mask, out[j] ^ keys[j]);")
            self.put(1, "}")
        self.put(1, "return sum + hits[0] + 3u * hits[1] + 5u * hits[2] + 7u * hits[3];")
        return "\n".join([*self.lines, "}"]) + "\n"

    def put(self, depth: int, text: str) -> None:
        self.lines.append("  " * depth + text)

    def name(self) -> str:
        # Few names, so that inner variables hide outer ones.
        self.count += 1
        return f"v{self.count}"

    def expression(self, scope: list[str], depth: int = 2) -> str:
        pick = self.random.random()
        if depth == 0 or pick < 0.3:
            return self.random.choice([*scope, f"{self.random.randrange(1000)}u"])
        left, right = self.expression(scope, depth - 1), self.expression(scope, depth - 1)
        if pick < 0.8:
            return f"({left} {self.random.choice(['+', '-', '*', '^', '|', '&'])} {right})"
        if pick < 0.87:
            return f"({left} >> ({right} & 15u))"
        if pick < 0.9:
            return f"(uint32_t)offsetof(struct named, {self.random.choice(['v1', 'v2', 'v3', 'v4[2]'])})"
        if pick < 0.95:
            return f"(({left}) % 3u ? {right} : {self.expression(scope, depth - 1)})"
        return f"plain({left}, {right})"

    def condition(self, scope: list[str]) -> str:
        test = f"({self.expression(scope)}) % {self.random.choice([2, 3, 5])}u == 0"
        if self.random.random() < 0.2:
            test += f" {self.random.choice(['&&', '||'])} {self.expression(scope, 1)} > 77u"
        return test

    def declare(self, scope: list[str], depth: int, value: str) -> None:
        name = self.name()
        self.put(depth, f"uint32_t {name} = {value};")
        scope.append(name)

    def variable(self, scope: list[str]) -> str:
        return self.random.choice([s for s in scope if s != "keys[i]" and not s.startswith("k")])

    def mark(self, scope: list[str], depth: int) -> None:
        at, target = self.name().replace("v", "at"), self.variable(scope)
        self.put(depth, f"const uint32_t {at} = {self.expression(scope)} & mask;")
        self.put(depth, f"g_expensive(&table[{at}]);")
        self.put(depth, f"{target} = {target} * 3u + table[{at}];")

    def block(self, scope: list[str], depth: int, most: int, loop: bool, top: bool = False) -> None:
        inner = scope if top else list(scope)
        for _ in range(self.random.randint(1, most)):
            if self.left <= 0:
                break
            self.left -= 1
            self.statement(inner, depth, loop)

    def statement(self, scope: list[str], depth: int, loop: bool) -> None:
        kinds = [
            "assign",
            "assign",
            "mark",
            "mark",
            "declare",
            "if",
            "if",
            "helper",
            "sum",
            "array",
            "struct",
            "outside",
        ]
        kinds += (
            ["uniform", "end"] if self.simple else ["for", "while", "do", "switch", "pointer", "end", "goto", "into"]
        )
        if loop and not self.simple:
            kinds += ["leave"]
        if depth > 5:
            kinds = ["assign", "mark", "helper"]
        getattr(self, "on_" + self.random.choice(kinds))(scope, depth, loop)

    def on_assign(self, scope, depth, loop) -> None:
        op = self.random.choice(["=", "+=", "^=", "*="])
        self.put(depth, f"{self.variable(scope)} {op} {self.expression(scope)};")

    def on_mark(self, scope, depth, loop) -> None:
        self.mark(scope, depth)

    def on_declare(self, scope, depth, loop) -> None:
        self.declare(scope, depth, self.expression(scope))

    def on_sum(self, scope, depth, loop) -> None:
        self.put(depth, self.random.choice(["sum++;", f"sum += {self.expression(scope, 1)};"]))

    def on_helper(self, scope, depth, loop) -> None:
        target = self.variable(scope)
        value = self.random.choice([self.variable(scope), self.expression(scope, 1)])
        calls = (
            [
                f"{target} = narrow_once(table, mask, {value});",
                f"{target} = biased(table, mask, narrow_once(table, mask, {value}));",
                f"{target} ^= narrow_once(table, mask, narrow_once(table, mask, {value}));",
            ]
            if self.simple
            else [
                f"{target} = follow(table, mask, {value}, {self.expression(scope, 1)});",
                f"{target} += narrow(table, mask, {value}) + 1u;",
                f"{target} = biased(table, mask, narrow(table, mask, {value}));",
                f"{target} ^= follow(table, mask, narrow(table, mask, {value}), {value});",
            ]
        )
        self.put(depth, self.random.choice(calls))

    def on_if(self, scope, depth, loop) -> None:
        self.put(depth, f"if ({self.condition(scope)}) {{")
        self.block(scope, depth + 1, 3, loop)
        if self.random.random() < 0.5:
            self.put(depth, "} else {")
            self.block(scope, depth + 1, 3, loop)
        self.put(depth, "}")

    def on_for(self, scope, depth, loop) -> None:
        k = f"k{self.count}"
        self.count += 1
        self.put(depth, f"for (uint32_t {k} = 0; {k} < ({self.expression(scope, 1)} & 3u); ++{k}) {{")
        # The bound may change within; the counter alone ends it.
        self.put(depth + 1, f"if ({k} > 4u) break;")
        self.block([*scope, k], depth + 1, 3, True)
        self.put(depth, "}")

    def on_uniform(self, scope, depth, loop) -> None:
        k = f"k{self.count}"
        self.count += 1
        guarded = self.random.random() < 0.5
        if guarded:
            self.put(depth, f"if ({self.condition(scope)})")
        self.put(depth + guarded, f"for (uint32_t {k} = 0; {k} < (mask & 3u); ++{k}) {{")
        self.block([*scope, k], depth + guarded + 1, 3, True)
        self.put(depth + guarded, "}")

    def on_while(self, scope, depth, loop) -> None:
        k = f"k{self.count}"
        self.count += 1
        self.put(depth, f"uint32_t {k} = {self.expression(scope, 1)} & 3u;")
        self.put(depth, f"while ({k}-- > 0) {{")
        self.block([*scope, k], depth + 1, 3, True)
        self.put(depth, "}")

    def on_do(self, scope, depth, loop) -> None:
        k = f"k{self.count}"
        self.count += 1
        self.put(depth, f"uint32_t {k} = 0;")
        self.put(depth, "do {")
        self.block([*scope, k], depth + 1, 3, True)
        self.put(depth, f"}} while (++{k} < 3u && ({self.condition(scope)}));")

    def on_leave(self, scope, depth, loop) -> None:
        self.put(depth, f"if ({self.condition(scope)}) {self.random.choice(['break', 'continue'])};")

    def on_end(self, scope, depth, loop) -> None:
        if loop:
            return
        self.put(depth, f"if ({self.condition(scope)}) {{")
        self.put(depth + 1, f"out[i] = {self.variable(scope)};")
        self.put(depth + 1, "continue;")
        self.put(depth, "}")

    def on_switch(self, scope, depth, loop) -> None:
        self.put(depth, f"switch ({self.expression(scope, 1)} & 3u) {{")
        for label in ("case 0:", "case 2:", "default:"):
            self.put(depth + 1, label + ";")
            self.block(scope, depth + 2, 2, False) if not loop else self.on_assign(scope, depth + 2, loop)
            if self.random.random() < 0.8 or label == "default:":
                self.put(depth + 2, "break;")
            else:
                self.put(depth + 2, "/* fall through */")
        self.put(depth, "}")

    def on_array(self, scope, depth, loop) -> None:
        name, index = self.name().replace("v", "a"), self.expression(scope, 1)
        kind = self.random.choice([f"uint32_t {name}[4]", f"four {name}"])
        self.put(depth, f"{kind} = {{{self.expression(scope, 1)}, 5u}};")
        self.put(depth, f"{name}[{index} & 3u] += {self.expression(scope, 1)};")
        self.mark(scope, depth)
        self.put(depth, f"{self.variable(scope)} ^= {name}[{self.expression(scope, 1)} & 3u];")

    def on_outside(self, scope, depth, loop) -> None:
        """Arrays declared before foreach: an element for each lookup, some that are read, and counts."""
        self.put(depth, f"own[i] = {self.expression(scope, 1)};")
        self.put(depth, f"hits[{self.expression(scope, 1)} & 3u]++;")
        self.mark(scope, depth)
        self.put(depth, f"{self.variable(scope)} ^= own[i] + few[{self.expression(scope, 1)} & 3u];")

    def on_struct(self, scope, depth, loop) -> None:
        name = self.name().replace("v", "s")
        self.put(depth, f"struct pair {name} = {{{self.expression(scope, 1)}, {self.expression(scope, 1)}}};")
        self.mark(scope, depth)
        if self.random.random() < 0.5:
            self.put(depth, f"swap(&{name});")
        self.put(depth, f"{self.variable(scope)} += {name}.first - 2u * {name}.second;")

    def on_pointer(self, scope, depth, loop) -> None:
        name, target = self.name().replace("v", "p"), self.variable(scope)
        self.put(depth, f"uint32_t* {name} = &{target};")
        self.mark(scope, depth)
        self.put(depth, f"*{name} += {self.expression(scope, 1)};")

    def on_goto(self, scope, depth, loop) -> None:
        label = f"skip_{self.count}"
        self.count += 1
        self.put(depth, f"if ({self.condition(scope)}) goto {label};")
        self.mark(scope, depth)
        self.put(depth, f"{label}:")
        self.on_assign(scope, depth, loop)

    def on_into(self, scope, depth, loop) -> None:
        """A loop with one mark that some lookups jump into."""
        k, label = f"k{self.count}", f"inside_{self.count}"
        self.count += 1
        self.put(depth, f"uint32_t {k} = {self.expression(scope, 1)} & 3u;")
        self.put(depth, f"if ({self.condition(scope)}) goto {label};")
        self.put(depth, f"while ({k} > 0 && {k}-- < 4u) {{")
        self.on_assign(scope, depth + 1, True)
        self.put(depth, f"{label}:;")
        self.mark(scope, depth + 1)
        self.put(depth, "}")


SIMPLE_HELPER = """\
static uint16_t narrow_once(const uint32_t* table, uint32_t mask, uint32_t at) {
  at &= mask;
  g_expensive(&table[at]);
  const uint32_t x = table[at];
  if (x & 1) return x >> 4;
  g_expensive(&table[x & mask]);
  return table[x & mask];
}
"""


def program(seed: int, functions: int, simple: bool = False) -> str:
    """A file of `functions` random lookups, f0, f1, ..."""
    head = HEAD.split("static uint32_t follow(")[0] + SIMPLE_HELPER if simple else HEAD
    return head + "".join("\n" + Generator(seed * 1000 + k, simple).function(f"f{k}") for k in range(functions))


def driver(functions: int, batches: int) -> str:
    """A program that compares f0 ... with f0_gopt ... on random batches, and prints what differs."""
    names = [f"f{k}" for k in range(functions)]
    both = [name for pair in ((n, n + "_gopt") for n in names) for name in pair]
    return "\n".join(
        [
            "#include <stdint.h>",
            "#include <stdio.h>",
            "#include <stdlib.h>",
            "#include <string.h>",
            *(HEADER.format(name=name) + ";" for name in both),
            "typedef uint32_t lookup(const uint32_t*, uint32_t, const uint32_t*, uint32_t*, int);",
            f"static lookup* const as_written[] = {{{', '.join(names)}}};",
            f"static lookup* const transformed[] = {{{', '.join(n + '_gopt' for n in names)}}};",
            "int main(void) {",
            "  uint32_t state = 1, table[256];",
            "  int different = 0;",
            "  for (int t = 0; t < 256; ++t) table[t] = (state = state * 1664525u + 1013904223u) >> 3;",
            f"  for (int batch = 0; batch < {batches}; ++batch) {{",
            "    const int n = batch < 4 ? batch : batch % 7 * 37 + batch % 2;",
            "    uint32_t* const keys = malloc(4 * (size_t)n + 1);",
            "    uint32_t* const right = calloc((size_t)n + 1, 4);",
            "    uint32_t* const found = calloc((size_t)n + 1, 4);",
            "    for (int i = 0; i < n; ++i) keys[i] = (state = state * 1664525u + 1013904223u) >> 5;",
            f"    for (int f = 0; f < {functions}; ++f) {{",
            "      const uint32_t sum = as_written[f](table, 255, keys, right, n);",
            "      if (transformed[f](table, 255, keys, found, n) != sum || memcmp(right, found, 4 * (size_t)n) != 0) {",
            '        printf("f%d differs, batch of %d\\n", f, n);',
            "        ++different;",
            "      }",
            "    }",
            "    free(keys), free(right), free(found);",
            "  }",
            "  return different != 0;",
            "}",
        ]
    )
