"""From source to source: all but the foreach loops stays as it is."""

import re
from collections.abc import Sequence

from gopt import __version__, coroutine, group, interleave
from gopt.constants import checks, refuse_popped
from gopt.emit import Lines
from gopt.errors import Refusal
from gopt.lookup import lookups_of
from gopt.source import read

BACKENDS = {"goto": interleave, "group": group, "coroutine": coroutine}
MOST = 64  # lookups in flight: bits of a word


def transform(
    path: str,
    flags: Sequence[str] = (),
    backend: str = "goto",
    group_size: int = 16,
    hint: int = 3,
    suffix: str = "",
    files: list[str] | None = None,
) -> str:
    """The transformed text of the C file `path`. `flags` (-I, -D, -m...) are the preprocessor's; `hint` is
    __builtin_prefetch's third argument; `suffix` is appended to the names of the functions with foreach; `files`
    receives the names of the files read. Raises Refusal."""
    if not 1 <= group_size <= MOST:
        raise Refusal("gopt", f"a group of {group_size} lookups", f"1 to {MOST} can be in flight")
    if not 0 <= hint <= 3:
        raise Refusal("gopt", f"prefetch hint {hint}", "0 (used once) to 3 (kept in all caches)")
    back = BACKENDS[backend]
    source = read(path, list(flags))
    if files is not None:
        files += source.files
    if not re.fullmatch(r"\w*", suffix):
        raise Refusal("gopt", f"suffix '{suffix}'", "letters, digits and _ make a name")
    taken = sorted((source.words | {m.name for m in source.macros}) & set(back.NAMES))
    if taken:
        raise Refusal(path, f"`{taken[0]}` is a name that gopt uses", "rename it")
    lines = Lines(source)
    lines.out.append(
        f"/* Made from {path} by gopt {__version__} (--backend {backend} --group {group_size}): do not edit. */"
    )
    lines.out += back.preamble(hint, group_size).rstrip("\n").split("\n")
    done, number, function = 0, 0, ""
    renamed = {loop.head_line: loop.function for loop in source.loops}
    for lookup in lookups_of(source):
        loop = lookup.loop
        number, function = (number + 1 if loop.function == function else 1), loop.function
        _verbatim(lines, done + 1, loop.first - 1, renamed, suffix)
        refuse_popped(lookup)
        for text in checks(lookup):
            lines.at(path, loop.first - 1)  # so that #error is on the loop's
            for part in text:
                lines.put(part)
        lines.at(path, loop.first)
        begin = len(lines.out)
        back.write(lookup, lines, group_size, number)
        _refuse_macros(path, loop, lines.out[begin:], set(back.NAMES))
        done = loop.last
    _verbatim(lines, done + 1, len(source.lines), renamed, suffix)
    return source.line_end.join([*lines.out, ""])


def _refuse_macros(path: str, loop, made: list[str], own: set[str]) -> None:
    """A loop is printed after the preprocessor has been over it, and it will go over it again."""
    text = "\n".join(line for line in made if not line.startswith("#"))
    text = re.sub(r'/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', " ", text, flags=re.DOTALL)
    for word in sorted((set(re.findall(r"[A-Za-z_$][\w$]*", text)) & set(loop.macros)) - own):
        raise Refusal(
            f"{path}:{loop.first}",
            f"macro `{word}` would be expanded twice, or hides what a helper means",
            "rename one of the two",
        )


def _verbatim(lines: Lines, first: int, last: int, renamed: dict[int, str], suffix: str) -> None:
    if first > last:
        return
    lines.at(lines.source.path, first)
    for number in range(first, last + 1):
        text = lines.source.lines[number - 1].rstrip("\r\n")
        if number in renamed:
            name = renamed[number]
            called = rf"\b{name}\b(?=\s*\()"  # unless a macro adds the parameters
            text = re.sub(called if re.search(called, text) else rf"\b{name}\b", name + suffix, text, count=1)
        lines.out.append(text)
    lines.line = last + 1
