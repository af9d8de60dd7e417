"""Macros that stand for numbers: gopt has put the numbers into the loop, and the output checks that they still hold
where it is compiled."""

import re
import subprocess
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from gopt.errors import Refusal
from gopt.lookup import Lookup
from gopt.macros import Macro, defined_at
from gopt.source import Source, Span, compiler
from gopt.tree import inlined

# Words, and what words within it are none of: comments, strings and numbers.
_WORD = re.compile(
    r"""//(?:\\\r?\n|[^\n])* |/\*.*?\*/ |"(?:\\.|[^"\\\n])*" |'(?:\\.|[^'\\\n])*' |\.?\d[\w.$]* |([A-Za-z_$][\w$]*)""",
    re.VERBOSE | re.DOTALL,
)
_STRING = r""""(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*\'"""
_POPPING = re.compile(
    rf"""_Pragma\s*\(\s*(?:L|u8?|U)?"((?:\\.|[^"\\\n])*)"|\b(push|pop)_macro\b(?:\s*\(\s*"([\w$]+)")?|{_STRING}"""
)
_NUMBER = re.compile(r"(?:\s|[-+*/%()<>&|^~!=?:]|(?:0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)[uUlL]*\b)+")


def checks(lookup: Lookup) -> list[tuple[str, str, str]]:
    """Directives that stop the compiler where a number is another than the one in the lookup."""
    return [
        (
            f"#if !defined({name}) || ({name}) != ({value})",
            f'#error "{name} was {value} when gopt read this file: give gopt the same -D as the compiler"',
            "#endif",
        )
        for name, value in sorted(_numbers(lookup).items())
    ]


def refuse_popped(lookup: Lookup) -> None:
    """Macros that #pragma pop_macro has changed: of it the preprocessor's output says nothing."""
    source, loop = lookup.source, lookup.loop
    spans = [Span(source.path, loop.first, loop.last, 0)]
    spans += [source.spans[name] for name in sorted(inlined(lookup.body) & set(source.spans))]
    for span in spans:
        for number, word, _ in _changes("".join(source.text_of(span.file))):
            if span.first <= number <= span.last:
                raise Refusal(
                    f"{span.file}:{number}",
                    f"{word} within a lookup: what follows in the output would mean something else",
                    "move it out of the function",
                )
    popped = _popped(source, loop.last)
    words = set().union(*(_words(_text(source, span)) for span in spans))
    meant = {m.name: set() for m in source.macros}
    for macro in source.macros if popped else ():
        meant[macro.name] |= _words(macro.rest or "")
    new = words
    while new:
        new = set().union(*(meant.get(word, set()) for word in new)) - words
        words |= new
    for name in sorted(words & set(popped)):
        raise Refusal(
            popped[name],
            f"pop_macro changes `{name}`, which the lookup of line {loop.first} mentions: gopt cannot tell what it means",
            "#undef and #define it instead, or use two names",
        )


def _popped(source: Source, before: int) -> dict[str, str]:
    """Macros that pop_macro names before a line of the file, or in one that it includes, and where."""
    found: dict[str, str] = {}
    for file in (f for f in source.files if Path(f).is_file()):
        for number, word, name in _changes("".join(source.text_of(file))):
            if word == "pop_macro" and name and (file != source.path or number <= before):
                found.setdefault(name, f"{file}:{number}")
    return found


def _changes(text: str) -> Iterator[tuple[int, str, str]]:
    """Each push_macro and pop_macro of a file that is not in a comment or string: its line, and the macro."""
    text = _logical(r"\\[ \t]*\r?\n", "", text)
    if "_macro" not in text:
        return
    text = _logical(rf"//[^\n]*|/\*.*?\*/|{_STRING}", " ", text)
    for found in _POPPING.finditer(text):
        inside = _POPPING.match(re.sub(r"\\(.)", r"\1", found[1]).strip()) if found[1] else found
        if inside and inside[2]:
            yield text.count("\n", 0, found.start()) + 1, f"{inside[2]}_macro", inside[3] or ""


def _logical(pattern: str, instead: str, text: str) -> str:
    """Text with something else for what a pattern finds, but for strings. Ends of lines within it come behind the line,
    so that the next ones keep their numbers."""
    held = 0

    def take(found: re.Match) -> str:
        nonlocal held
        if found[0] == "\n":
            ends, held = "\n" * (held + 1), 0
            return ends
        if found[0][0] in "\"'":
            return found[0]
        held += found[0].count("\n")
        return instead

    return re.sub(rf"{pattern}|\n", take, text, flags=re.DOTALL)


def _numbers(lookup: Lookup) -> dict[str, str]:
    """The values of macros without parameters that the lookup, or a helper in it, mentions, perhaps by way of others.
    Raises Refusal where one that a helper mentions is not the same any more where the output can check it."""
    source, loop = lookup.source, lookup.loop
    found = _mentioned(_text(source, Span(source.path, loop.first, loop.last, 0)), loop.macros)
    for helper in sorted(inlined(lookup.body) & set(source.spans)):
        span = source.spans[helper]
        for name, value in sorted(_mentioned(_text(source, span), defined_at(source.macros, span.start)).items()):
            later = loop.macros.get(name)
            if later is None or not _is_same(source, value, later):
                now = "is not defined" if later is None else f"is `{later.rest.strip()}`"
                raise Refusal(
                    f"{span.file}:{span.first}",
                    f"`{name}` is {value} in {helper}(), which has marks, but {now} at the loop that calls it (line "
                    f"{loop.first}), where the output checks that the compiler has the same numbers as gopt",
                    f"use two names, or an enumerator, or an #undef behind {loop.function}()",
                )
            found[name] = value
    return found


def _is_same(source: Source, value: str, macro: Macro) -> bool:
    """Whether a macro stands for this number, however it is written, where the output checks it."""
    text = macro.rest.strip()
    if text == value or not _is_number(macro):
        return text == value
    check = f"#if ({text}) != ({value})\n#error\n#endif\n"
    words = [*compiler(source.path), "-E", "-x", "c", "-"]
    return subprocess.run(words, input=check, check=False, capture_output=True, text=True).returncode == 0


def _mentioned(text: str, macros: dict[str, Macro]) -> dict[str, str]:
    """The numbers among `macros` that a text mentions."""
    seen: set[str] = set()
    words = _words(text) & set(macros)
    while words:
        seen |= words
        words = set().union(*(_words(macros[name].rest) for name in words)) & set(macros) - seen
    return {name: macros[name].rest.strip() for name in seen if _is_number(macros[name])}


def _words(text: str) -> set[str]:
    return {found[1] for found in _WORD.finditer(text) if found[1]}


def _is_number(macro: Macro) -> bool:
    """Whether it is a whole expression of numbers; `* 2` and `(1` are parts of one."""
    own, text = not macro.system and macro.rest.startswith(" "), macro.rest.strip()
    whole = not re.match(r"[*/%<>&|^=?:)]|!=", text) and not re.search(r"[-+*/%<>&|^~!=?:(]$", text)
    depths = list(accumulate((c == "(") - (c == ")") for c in text))
    balanced = bool(depths) and min(depths) >= 0 and depths[-1] == 0
    return own and whole and balanced and bool(_NUMBER.fullmatch(macro.rest)) and any(c.isdigit() for c in text)


def _text(source: Source, span: Span) -> str:
    """What is written there."""
    return "".join(source.text_of(span.file)[span.first - 1 : span.last])
