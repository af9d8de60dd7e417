"""Manual pages of what a build has: heddle(1) from the help of its commands, and a page heddle-CLASS(7) of each element
class from its registration.

    man.py PROGRAM FOLDER        writes FOLDER/man1/heddle.1 and FOLDER/man7/heddle-*.7
"""

import json
import pathlib
import re
import subprocess
import sys
import textwrap

WIDTH = 100  # columns of a page


def escaped(text):
    """Text as groff takes it literally."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def page(name, section, summary, parts):
    """A page of parts (title, text); text is shown as it is."""
    lines = [f'.TH "{name.upper()}" {section} "" "Heddle"', ".SH NAME", f"{escaped(name)} \\- {escaped(summary)}"]
    for title, text in parts:
        lines += [f'.SH "{title}"', ".nf", escaped(text.strip("\n")), ".fi"]
    return "\n".join(lines) + "\n"


def element_page(entry):
    name, manual = entry["name"], entry["manual"]
    first, _, rest = manual.partition("\n")
    return page(f"heddle-{name}", 7, first.removeprefix(f"{name}: ").rstrip("."), [("DESCRIPTION", rest)])


def wrapped(line):
    """A line of the program's help, its explanation below itself."""
    indent = " " * 30 if line.startswith(" ") else ""
    return textwrap.fill(line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def help_of(command):
    """The help of a command, a list of words, and of those below it: (command, text) each."""
    text = subprocess.run([*command, "--help"], check=True, capture_output=True, text=True).stdout
    below = re.findall(r"^  ([a-z]+) ", text.partition("\nSubcommands:\n")[2], re.MULTILINE)
    yield command, "\n".join(map(wrapped, text.splitlines()))
    for name in below:
        yield from help_of([*command, name])


def program_page(program):
    (_, general), *commands = help_of([program])
    summary, _, rest = general.partition("\n")
    parts = [("SYNOPSIS", rest)] + [(" ".join(command[1:]).upper(), text) for command, text in commands]
    return page("heddle", 1, summary.rstrip("."), parts)


def main(program, folder):
    elements = json.loads(subprocess.run([program, "elements", "--json"], check=True, capture_output=True).stdout)
    pages = {f"man7/heddle-{entry['name']}.7": element_page(entry) for entry in elements if entry["manual"]}
    pages["man1/heddle.1"] = program_page(program)
    for name, text in pages.items():
        path = pathlib.Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
