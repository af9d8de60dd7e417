"""docs/elements/ is what `make docs` makes, and every element has a manual."""

import importlib.util

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
