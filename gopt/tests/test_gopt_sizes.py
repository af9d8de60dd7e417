"""Transformed lookups give what the originals give, under ASan and UBSan, for every number in flight from 1 to 64."""

import re
from dataclasses import dataclass
from pathlib import Path

import generator
import pytest
import support
from gopt.transform import MOST, transform

HERE = Path(__file__).parent
FUNCTIONS = HERE.parent.parent / "functions"  # Heddle's, where gopt lies in it
SIZES = range(1, MOST + 1)
COMMON = ["stdint", "stdio", "stdlib", "string"]
# The comparison: `table` is random, and n grows with steps, so that the last group is full and is not.
MAIN = """\
int main(void) {{
  uint32_t state = 1;
  static uint32_t table[256];
  for (int t = 0; t < 256; ++t) table[t] = (state = state * 1664525u + 1013904223u) & 0x00ff00ffu;
  {setup}
  for (int n = 0; n <= {batch}; n += 1 + n / 9) {{
    {key}* const keys = ({key}*)malloc(sizeof({key}) * (size_t)n + 1);
    {kind}* const right = ({kind}*)malloc(sizeof({kind}) * (size_t)n + 1);
    {kind}* const found = ({kind}*)malloc(sizeof({kind}) * (size_t)n + 1);
    for (int i = 0; i < n; ++i) {set_key}
    memset(right, 255, sizeof({kind}) * (size_t)n);
    const {result} one = {before}as_written({arguments}, keys, right, n){behind};
    for (int size = 1; size <= {most}; ++size) {{
      memset(found, 255, sizeof({kind}) * (size_t)n);
      const {result} other = {before}transformed[size - 1]({arguments}, keys, found, n){behind};
      if (one != other || memcmp(right, found, sizeof({kind}) * (size_t)n) != 0)
        printf("differs: %d in flight, batch of %d\\n", size, n);
    }}
    free(keys), free(right), free(found);
  }}
  return 0;
}}
"""
RANDOM = "state = state * 1664525u + 1013904223u"


@dataclass
class Case:
    """A function, and how to call it: function(arguments, keys [n], results [n], n)."""

    function: str
    declaration: str  # with {} for the name
    arguments: str
    kind: str = "uint32_t"  # of results
    key: str = "uint32_t"  # type of keys
    set_key: str = f"keys[i] = ({RANDOM}) >> 5;"
    setup: str = ""  # statements that make what the arguments name
    batch: int = 199  # the most keys

    def main(self) -> str:
        result = self.declaration.partition(" ")[0]
        parts = {"before": "", "behind": "", "result": result}
        if result == "void":
            parts = {"before": "(", "behind": ", 0)", "result": "int"}
        return MAIN.format(most=MOST, **parts, **vars(self))


def every_size(folder: Path, source: Path, case: Case, backend: str, *flags: str) -> str:
    """What a program prints that compares `source` with what gopt makes of it for each size ("": no difference)."""
    function = case.function
    # clang is done with the sanitizers' code twice as fast as gcc.
    extension, compiler = ("cc", ["clang++", "-std=c++20"]) if backend == "coroutine" else ("c", ["clang"])
    made = transform(str(source), flags, backend=backend, group_size=1, suffix="_1")

    def of_size(size: int, text: str) -> str:
        text = re.sub(rf"\b{function}_1\b", f"{function}_{size}", text).replace("g_group = 1 }", f"g_group = {size} }}")
        return re.sub(r"(--group |Up to |Groups of |gopt::run<)1\b", rf"\g<1>{size}", text)

    preamble = made[: made.index("#line 1 ")]
    begin = re.search(rf"^[^\n]*\b{function}_1\b[^\n]*{{$", made, re.MULTILINE).start()
    text = made[begin : made.index("\n}\n", begin) + 3]
    assert of_size(MOST, text) in transform(str(source), flags, backend, MOST, suffix=f"_{MOST}")
    lines = [f"#include <{name}.h>" for name in ("stdint", "stdio", "stdlib", "string")]
    lines += [f"#define {function} as_written", f'#include "{source}"', f"#undef {function}", preamble]
    lines += [case.declaration.format(f"{function}_{size}") + ";\n" + of_size(size, text) for size in SIZES]
    names = ", ".join(f"{function}_{size}" for size in SIZES)
    lines += [f"typedef {case.declaration.format('lookup')};", f"static lookup* const transformed[] = {{{names}}};"]
    (folder / f"all.{extension}").write_text("\n".join([*lines, case.main()]))
    words = [
        *compiler,
        *support.SANITIZERS,
        "-O0",
        "-w",
        f"-I{support.INCLUDE}",
        *flags,
        f"all.{extension}",
        "-o",
        "all",
    ]
    support.run(*words, cwd=folder)
    return support.run("./all", cwd=folder)


# A table in which each entry leads to a lower one, so that all walks end.
DOWN = f"for (uint32_t t = 1; t < 256; ++t) table[t] = (({RANDOM}) >> 8) % t;\n  table[0] = 0;"
OF_TABLE = "(const uint32_t*, uint32_t, const uint32_t*, uint32_t*, {n})"
GOLDEN = {  # golden/NAME.c, perhaps one of its functions
    "nested": Case("walk", "void {}" + OF_TABLE.replace("{n}", "uint32_t"), "table, 255"),
    "stages": Case(
        "look", "void {}(const uint16_t*, int, const uint32_t*, uint16_t*, int)", "(uint16_t*)table, 3", kind="uint16_t"
    ),
    "chain": Case(
        "find",
        "int {}(struct entry* const*, uint32_t, const uint32_t*, uint32_t*, int)",
        "heads, 63",
        set_key=f"keys[i] = ({RANDOM}) >> 22;",  # half of them are there
        setup="""\
  static struct entry entries[512], *heads[64];
  for (uint32_t t = 0; t < 512; ++t) {
    struct entry** const head = &heads[hash(t) & 63];
    entries[t].key = t, entries[t].value = &table[t & 255], entries[t].next = *head;
    *head = &entries[t];
  }
""",
    ),
    "twice": Case("look", "void {}" + OF_TABLE.replace("{n}", "int"), "table, 255"),
    "once follow": Case(
        "follow",
        "void {}(const uint32_t*, int, const uint32_t*, uint32_t*, int)",
        "table, n % 5",
        set_key=f"keys[i] = ({RANDOM}) >> 24;",
        setup=DOWN,
    ),
    "once search": Case(
        "search",
        "void {}(const uint32_t*, const uint32_t*, uint32_t*, int)",
        "table",
        set_key=f"keys[i] = ({RANDOM}) >> 24;",
        setup=DOWN,
    ),
}


@pytest.mark.parametrize(
    "name,backend",
    [
        ("nested", "goto"),
        ("chain", "goto"),
        ("chain", "coroutine"),
        ("stages", "group"),
        ("stages", "coroutine"),
        ("twice", "group"),
        ("once follow", "goto"),
        ("once search", "goto"),
        ("once search", "coroutine"),
    ],
)
def test_golden_files(tmp_path, name, backend):
    text = (HERE / "golden" / f"{name.split()[0]}.c").read_text().partition("// ======== ")[0]
    (tmp_path / "in.c").write_text(text)
    assert every_size(tmp_path, tmp_path / "in.c", GOLDEN[name], backend) == ""


@pytest.mark.parametrize("backend,seed", [("goto", 2), ("group", 3), ("coroutine", 3)])
def test_a_random_lookup(tmp_path, backend, seed):
    """Short ones, with helpers."""
    (tmp_path / "in.c").write_text(generator.program(seed, 1, simple=backend != "goto"))
    case = Case("f0", "uint32_t {}" + OF_TABLE.replace("{n}", "int"), "table, 255")
    assert every_size(tmp_path, tmp_path / "in.c", case, backend) == ""


# What lies in Heddle, with tables of random entries: to a lookup they are as good as others.
DIR24 = f"""
  static uint16_t tbl24[4096], tbl8[8 * kGroupEntries];
  for (int k = 0; k < 4096; ++k) tbl24[k] = (uint16_t)(({RANDOM}) >> 31 ? kFirstGroup + (state >> 8) % 8 : k);
  for (int k = 0; k < 8 * kGroupEntries; ++k) tbl8[k] = (uint16_t)(({RANDOM}) >> 16);
"""
CUCKOO = f"""
  static struct {{ struct Image image; struct Bucket buckets[13]; }} made = {{.image = {{.seed = 7, .buckets = 13}}}};
  static uint32_t hashes[64];
  for (int k = 0; k < 64; ++k) hashes[k] = {RANDOM};
  for (int k = 0; k < 13 * kSlots; ++k) /* one in four is empty */
    made.buckets[k / kSlots].word[k % kSlots] = ({RANDOM}) >> 30 ? (uint64_t)(k + 1) << kValueShift | (state >> 8) % 64 : 0;
"""
TRIE = f"""
  typedef uint8_t address[16];
  enum {{ kGroups = 40 }};
  struct Image image = {{.trie = sizeof image}};
  static char* made; /* to the end */
  made = malloc(sizeof image + 4 * (kTrieRootEntries + kGroups * kTrieGroupEntries));
  uint32_t* const trie = (uint32_t*)(made + sizeof image);
  memcpy(made, &image, sizeof image);
  for (int k = 0; k < 4096; ++k) trie[k] = ({RANDOM}) >> 31 ? kTrieGroup + (state >> 8) % kGroups : state >> 16;
  for (uint32_t k = 0; k < kGroups * kTrieGroupEntries; ++k) {{ /* groups lead to later ones only */
    const uint32_t next = k / kTrieGroupEntries + 1 + (state >> 8) % 4;
    trie[kTrieRootEntries + k] = ({RANDOM}) >> 30 && next < kGroups ? kTrieGroup + next : state >> 16;
  }}
"""
TREES = f"""
  typedef uint8_t address[16];
  static struct {{ struct Image image; uint32_t bases[2]; struct Tree trees[4]; struct Leaf lines[512]; }} made;
  struct Image* const image = &made.image;
  image->levels = 3, image->level[1] = 1, image->level[2] = 10, image->far = 1; /* lines 10 to 90 are leaves */
  image->lines = (uint64_t)((char*)made.lines - (char*)image);
  image->trees = (uint64_t)((char*)made.trees - (char*)image);
  image->bases = (uint64_t)((char*)made.bases - (char*)image);
  for (size_t k = 0; k < sizeof made.lines; ++k) ((unsigned char*)made.lines)[k] = (unsigned char)(({RANDOM}) >> 24);
  for (int k = 10; k <= 90; ++k) {{
    made.lines[k].first_tree = 0;
    for (uint16_t v = 0; v < kLeafValues; ++v) made.lines[k].value[v] = ({RANDOM}) >> 31 ? kFirstTree + v % 4 : v;
  }}
  for (uint32_t k = 0; k < 4; ++k) made.trees[k] = (struct Tree){{91 + 60 * k, k == 0 ? 1 : 16 * k}};
"""
ADDRESS = f"for (int b = 0; b < 16; ++b) keys[i][b] = (uint8_t)(({RANDOM}) >> 24);"
LOOKUPS = {  # folder, case
    "dir24": (
        "ip_lookup",
        Case(
            "dir24_lookups",
            "void {}(const uint16_t*, const uint16_t*, const uint32_t*, uint16_t*, int)",
            "tbl24, tbl8",
            kind="uint16_t",
            set_key=f"keys[i] = ({RANDOM}) >> 12;",
            setup=DIR24,
        ),
    ),
    "cuckoo": (
        "cuckoo",
        Case(
            "cuckoo_lookups",
            "uint64_t {}(const struct Image*, const uint32_t*, const uint64_t*, uint64_t*, int)",
            "&made.image, hashes",
            kind="uint64_t",
            key="uint64_t",
            set_key=f"keys[i] = ({RANDOM}) >> 26;",
            setup=CUCKOO,
            batch=64,
        ),
    ),
    "ip6 trie": (
        "ip6_lookup",
        Case(
            "ip6_trie_lookups",
            "void {}(const struct Image*, const uint8_t (*)[16], uint16_t*, int)",
            "(const struct Image*)made",
            kind="uint16_t",
            key="address",
            set_key="{ " + ADDRESS + " keys[i][0] = 0, keys[i][1] &= 15; }",
            setup=TRIE,
        ),
    ),
    "ip6 trees": (
        "ip6_lookup",
        Case(
            "ip6_lookups",
            "void {}(const struct Image*, const uint8_t (*)[16], uint16_t*, int)",
            "image",
            kind="uint16_t",
            key="address",
            set_key=ADDRESS,
            setup=TREES,
        ),
    ),
}


@pytest.mark.skipif(not FUNCTIONS.exists(), reason="gopt without Heddle")
@pytest.mark.parametrize("name", LOOKUPS)
def test_lookups_of_heddle(tmp_path, name):
    folder, case = LOOKUPS[name]
    assert every_size(tmp_path, FUNCTIONS / folder / "lookups.c", case, "goto", f"-I{FUNCTIONS.parent}") == ""
