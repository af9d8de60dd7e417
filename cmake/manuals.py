"""The manuals of all elements are the comments above their classes; this collects them.

Usage: manuals.py source OUTPUT HEADER...    one C++ source, for `heddle elements`
       manuals.py pages FOLDER HEADER...     a page for each element and README.md, an index by folder
"""

import pathlib
import re
import sys
from dataclasses import dataclass

MANUAL = re.compile(r"/\*\*\s(?P<name>[A-Za-z0-9_]+): (?P<text>.*?)\*/\s*class (?P<class>[A-Za-z0-9_]+)", re.DOTALL)
REGISTRATION = re.compile(r"^HEDDLE_(?:ELEMENT(?:_AS|_NAMED)?|COMPOUND)\((\w+)(?:, \"?(\w+)\"?)?\)", re.MULTILINE)

# In the manual of each element with the keyword DEVICE.
PLACEMENT = "All keywords of where it runs and how packets get there: docs/placement.md."

FOLDERS = {
    "elements/basic": "Basic",
    "elements/ethernet": "Ethernet",
    "elements/endpoints": "Sources and sinks",
    "elements/ip": "IP",
    "elements/script": "Scripts and control",
    "functions": "Network functions (CPU and GPU)",
}


@dataclass
class Manual:
    """One element's manual."""

    name: str
    text: str
    header: str  # as the repository names it
    names: list[str]  # under which it is registered

    @property
    def summary(self):
        return self.text.splitlines()[0].split(": ", 1)[1].rstrip(".")

    @property
    def folder(self):
        parts = pathlib.PurePath(self.header).parts
        return "functions" if parts[0] == "functions" else "/".join(parts[:2])


def with_title(text):
    """The text with its title, the first sentence, in one line, however many the header has for it."""
    title = re.match(r".*?(\.$|(?=\n\n)|\Z)", text, re.DOTALL | re.MULTILINE)[0]
    return title.replace("\n", " ") + text[len(title) :]


def usage_of(text):
    """The lines of a manual that say how the element is written, in one."""
    usage = re.search(r"^    \w+\(.*?(?=\n\n|\Z)", text, re.DOTALL | re.MULTILINE)
    return usage[0].replace("\n", " ") if usage else ""


def with_placement(text):
    """The manual with PLACEMENT before its example."""
    before, example, rest = text.partition("\n\nExample:\n")
    return f"{before}\n\n{PLACEMENT}{example}{rest}"


def read(headers):
    """The manuals of these headers, by name; raises ValueError if one name has two."""
    root = pathlib.Path(__file__).resolve().parents[1]
    manuals = {}
    for header in map(pathlib.Path, headers):
        sources = "".join(source.read_text(encoding="utf-8") for source in sorted(header.parent.glob("*.cc")))
        registered = REGISTRATION.findall(sources)
        for match in MANUAL.finditer(header.read_text(encoding="utf-8")):
            lines = f"{match['name']}: {match['text']}".splitlines()
            text = with_title("\n".join(re.sub(r"^ \*(  )?", "", line).rstrip() for line in lines).strip())
            names = sorted({other or name for name, other in registered if name == match["class"]})
            if match["name"] in manuals:
                raise ValueError(f"{header}: {match['name']} has a manual already")
            where = header.resolve().relative_to(root).as_posix()
            if where.startswith("functions/") and re.search(r"\(.*\bDEVICE\b.*\)", usage_of(text)):
                text = with_placement(text)
            manuals[match["name"]] = Manual(match["name"], text, where, names)
    return [manuals[name] for name in sorted(manuals)]


def source(manuals):
    """A C++ function that gives the manual of a class."""
    text = '#include "apps/heddle/commands.h"\n\nnamespace heddle {\n\n'
    text += "std::string manual(const std::string& class_name) {\n"
    for manual in manuals:
        for name in sorted({manual.name, *manual.names}):
            text += f'  if (class_name == "{name}") return R"manual({manual.text}\n)manual";\n'
    return text + "  return {};\n}\n\n}  // namespace heddle\n"


def plain(line):
    """A line of running text: outside code, characters that mean something to Markdown stand for themselves."""
    if line.startswith("    "):
        return line
    parts = line.split("`")
    return "`".join(part if i % 2 else re.sub(r"([<>*_|])", r"\\\1", part) for i, part in enumerate(parts))


def page(manual):
    """A manual as Markdown: what is indented is code already, and the first line is the title."""
    title, _, body = manual.text.partition("\n")
    name, summary = title.split(": ", 1)
    text = (
        "\n".join(map(plain, body.split("\n"))).strip("\n").replace("docs/placement.md", "[placement](../placement.md)")
    )
    others = [other for other in manual.names if other != name]
    also = f"\n\nOther names: {', '.join(others)}." if others else ""
    return f"# {name}\n\n{summary[0].upper()}{summary[1:]}\n\n{text}{also}\n\nSource: [{manual.header}](../../{manual.header})\n"


def index(manuals):
    """README.md: the elements by folder."""
    text = (
        "# Elements\n\nMade by `make docs` from the comments in the headers. `heddle elements NAME` prints the same.\n"
    )
    folders = sorted({manual.folder for manual in manuals}, key=lambda folder: FOLDERS.get(folder, folder))
    for folder in folders:
        text += (
            f"\n## {FOLDERS.get(folder, folder.split('/')[-1].capitalize())}\n\n| element | what it does |\n|---|---|\n"
        )
        for manual in manuals:
            if manual.folder == folder:
                summary = manual.summary.replace("|", "\\|")
                text += f"| [{manual.name}]({manual.name}.md) | {summary} |\n"
    return text


def pages(manuals):
    """Every page's text by its file's name."""
    return {"README.md": index(manuals), **{f"{manual.name}.md": page(manual) for manual in manuals}}


def main(mode, output, headers):
    output = pathlib.Path(output)
    if mode == "source":
        output.write_text(source(read(headers)), encoding="utf-8")
        return
    output.mkdir(parents=True, exist_ok=True)
    made = pages(read(headers))
    for old in output.glob("*.md"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (output / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
