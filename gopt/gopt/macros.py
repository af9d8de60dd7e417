"""What macros mean at each place of a preprocessed file."""

import re
from dataclasses import dataclass


@dataclass
class Macro:
    """A #define, or an #undef (`rest` is None), at an offset of the preprocessed text."""

    start: int
    name: str
    rest: str | None  # what stands behind the name
    system: bool  # by the compiler or a header of its own


def defined_at(macros: list[Macro], start: int) -> dict[str, Macro]:
    """The macros that are defined at an offset of the preprocessed text, as they were defined last."""
    known = {m.name: m for m in macros if m.start < start}
    return {word: macro for word, macro in known.items() if macro.rest is not None}


def take_macros(text: str) -> tuple[str, list[Macro]]:
    """Preprocessed text without what -dD adds to it; which macros it defines and undefines. Those that stand for
    themselves are none."""
    found: list[Macro] = []
    system = False

    def take(line: re.Match) -> str:
        nonlocal system
        if line[1] is None:  # another file
            system = line[4] == "<built-in>" or " 3" in line[5]
            return line[0]
        if line[1] == "undef" or line[3].strip() != line[2]:
            found.append(Macro(line.start(), line[2], line[3] if line[1] == "define" else None, system))
        return " " * len(line[0])

    directive = r'^#(?:(define|undef) ([\w$]+)([^\n]*)| \d+ "([^"\n]*)"([^\n]*))$'
    return re.sub(directive, take, text, flags=re.MULTILINE), found
