"""Packets of a flow leave in their order of arrival (section 4.2 of the paper): lookups that look at headers only take
the same way for all packets of a flow, and overtake nobody of theirs. For every back end and 1 to 64 lookups in
flight."""

import re

import pytest
import support
from gopt.transform import MOST, transform

# A handler that transmits within foreach. How many accesses a packet's lookup takes, and how it leaves, follows from
# its flow alone, or with BODY from its number as well, as in programs that look into packets.
HANDLER = """\
#include <stdint.h>

#include "gopt.h"

#define HANDLER(name) void name(const uint32_t* table, const uint32_t* flows, uint32_t* sent, uint32_t* count, int n)
HANDLER(forward);

static uint32_t follow(const uint32_t* table, uint32_t at, uint32_t steps) {
  uint32_t x = at;
  for (uint32_t s = 0; s < steps; ++s) {
    g_expensive(&table[x & 255]);
    x = table[x & 255];
  }
  return x;
}

HANDLER(forward) {
  foreach (i, n) {
    const uint32_t flow = flows[i];
    uint32_t steps = (flow * 2654435761u) >> 29;
    PACKET
    const uint32_t x = follow(table, flow, steps);
    if (x % 3 == 0) continue; /* dropped */
    if (x % 3 == 1) {
      g_expensive(&table[(x >> 8) & 255]);
      if (table[(x >> 8) & 255] % 5 == 0) continue;
    }
    sent[(*count)++] = (uint32_t)i;
  }
}
"""
SIMPLE = HANDLER.replace("s < steps", "s < 4").replace("(void)", "")
MAIN = """\
#include <stdint.h>
#include <stdio.h>
#include <string.h>
enum { kPackets = 1000 };
typedef void handler(const uint32_t*, const uint32_t*, uint32_t*, uint32_t*, int);
DECLARATIONS
static handler* const handlers[] = {HANDLERS};
int main(void) {
  uint32_t state = 1, table[256], flows[kPackets], right[kPackets], sent[kPackets], last[16];
  for (int t = 0; t < 256; ++t) table[t] = (state = state * 1664525u + 1013904223u) >> 3;
  for (int i = 0; i < kPackets; ++i) flows[i] = (state = state * 1664525u + 1013904223u) >> 28;
  uint32_t wanted = 0;
  forward(table, flows, right, &wanted, kPackets);
  for (unsigned h = 0; h < sizeof handlers / sizeof *handlers; ++h) {
    uint32_t count = 0, seen[kPackets] = {0}, strangers = 0, reordered = 0, mixed = 0;
    handlers[h](table, flows, sent, &count, kPackets);
    memset(last, 0, sizeof last);
    for (uint32_t k = 0; k < count; ++k) {
      const uint32_t packet = sent[k];
      reordered += packet + 1 < last[flows[packet]];
      last[flows[packet]] = packet + 1;
      mixed += packet != right[k];
      seen[packet]++;
    }
    for (uint32_t k = 0; k < wanted; ++k) strangers += seen[right[k]] != 1;
    printf("%u %d %u %u\\n", h + 1, count != wanted || strangers != 0, reordered, mixed);
  }
  return 0;
}
"""


def measured(tmp_path, text: str, sizes, backend: str, extension: str = "c") -> dict[int, tuple[int, int, int]]:
    """Packets in flight -> (whether other packets left than should, of a flow reordered, of all reordered)."""
    (tmp_path / "in.c").write_text(text)
    names = [f"forward_{size}" for size in sizes]
    linkage = 'extern "C" ' if extension == "cc" else ""
    declaration = "{}void {}(const uint32_t*, const uint32_t*, uint32_t*, uint32_t*, int);"
    objects = [support.compile_c(tmp_path, "in.c", *support.SANITIZERS)]
    for size, name in zip(sizes, names, strict=True):
        made = transform(str(tmp_path / "in.c"), backend=backend, group_size=size, suffix=f"_{size}")
        source = f"made_{size}.{extension}"
        (tmp_path / source).write_text("#include <stdint.h>\n" + declaration.format(linkage, name) + "\n" + made)
        flags = ["-std=c++20"] if extension == "cc" else []
        compiler = "g++" if extension == "cc" else "gcc"
        objects.append(support.compile_c(tmp_path, source, *support.SANITIZERS, *flags, compiler=compiler))
    main = MAIN.replace("{HANDLERS}", "{" + ", ".join(names) + "}")
    declarations = "\n".join(declaration.format("", name) for name in ["forward", *names])
    (tmp_path / "main.c").write_text(main.replace("DECLARATIONS", declarations))
    objects.append(support.compile_c(tmp_path, "main.c", *support.SANITIZERS))
    linker = "g++" if extension == "cc" else "gcc"
    support.run(linker, *support.SANITIZERS, *objects, "-o", "program", cwd=tmp_path)
    lines = support.run("./program", cwd=tmp_path)
    found = [
        tuple(int(word) for word in line.split()) for line in re.findall(r"^\d+ \d+ \d+ \d+$", lines, re.MULTILINE)
    ]
    assert len(found) == len(names)
    return {size: line[1:] for size, line in zip(sizes, found, strict=True)}


def test_flows_keep_their_order(tmp_path):
    found = measured(tmp_path, HANDLER.replace("PACKET", ""), [1, 2, 3, 7, 8, 16, 24, 31, 33, 63, MOST], "goto")
    assert all(line[:2] == (0, 0) for line in found.values()), found
    # Lookups do overtake one another: those of other flows.
    assert found[1][2] == 0
    assert all(mixed > 0 for size, (_, _, mixed) in found.items() if size > 1)


@pytest.mark.parametrize("backend,extension", [("group", "c"), ("coroutine", "cc")])
def test_flows_keep_their_order_in_other_back_ends(tmp_path, backend, extension):
    found = measured(tmp_path, SIMPLE.replace("PACKET", ""), [1, 8, 33, MOST], backend, extension)
    assert all(line[:2] == (0, 0) for line in found.values()), found


def test_notices_packets_that_are_reordered(tmp_path):
    """A lookup whose way depends on more than headers is what the README warns of: the test above can fail."""
    found = measured(tmp_path, HANDLER.replace("PACKET", "steps += (uint32_t)i & 3;"), [8], "goto")
    assert found[8][0] == 0
    assert found[8][1] > 0
