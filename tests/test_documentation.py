"""docs/elements/ is what `make docs` makes, and every element has a manual."""

import importlib.util
import re

from whole.program import ROOT

spec = importlib.util.spec_from_file_location("manuals", ROOT / "cmake/manuals.py")
manuals = importlib.util.module_from_spec(spec)
spec.loader.exec_module(manuals)

HEADERS = [*ROOT.glob("elements/*/*.h"), *ROOT.glob("functions/*/*.h")]


def test_pages_are_up_to_date():
    made = manuals.pages(manuals.read(HEADERS))
    found = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs/elements").glob("*.md")}
    stale = sorted(name for name in made.keys() | found.keys() if made.get(name) != found.get(name))
    assert not stale, f"run `make docs`, which writes docs/elements of the comments in the headers: {stale}"


def test_every_element_has_a_manual(heddle):
    elements = heddle.ok("elements", "--json").json
    assert len(elements) > 20
    bad = [e["name"] for e in elements if ": " not in e["manual"].split("\n")[0]]
    assert not bad, f"no manual, or its first line is not 'Name: summary': {bad}"
    for element in elements:
        title = element["manual"].split(": ")[0]
        assert title in {e["name"] for e in elements}, element


def values_of(cell, ends_moved):
    """What a cell of docs/placement.md names: `values`, and the ends of ranges, or what is just beyond those."""
    if least_and_most := re.fullmatch(r"(\d+)(us|) to (\d+)(s|)", cell):
        least, unit, most, other = least_and_most.groups()
        return [f"{int(least) - ends_moved}{unit}", f"{int(most) + ends_moved}{other}"]
    return ["nonsense"] if ends_moved else re.findall(r"`([^`]+)`", cell)


def test_keywords_about_placement_are_as_their_page_says(heddle):
    page = (ROOT / "docs/placement.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([A-Z_]+)` \| ([^|]+) \|", page, re.MULTILINE)
    assert len(rows) == 9
    taken, refused = (
        [(keyword, value) for keyword, cell in rows for value in values_of(cell, beyond)] for beyond in (0, 1)
    )
    chain = "InfiniteSource -> " + "".join(f"XOR(DEVICE cpu, {k} {v}) -> " for k, v in taken if k != "DEVICE")
    heddle.ok("check", "-e", chain + "".join(f"XOR(DEVICE {v}) -> " for k, v in taken if k == "DEVICE") + "Discard")
    text = heddle(
        "check", "-e", "InfiniteSource -> " + "".join(f"XOR({k} {v}) -> " for k, v in refused) + "Discard"
    ).err
    assert [k for k, _ in refused] == re.findall(r"'XOR@\d+': ([A-Z_]+): ", text), text
