"""Macros that stand for numbers: gopt has put the numbers into the loop, and the output checks that they still hold
where it is compiled."""

import re
from itertools import accumulate

from gopt.errors import Refusal
from gopt.lookup import Lookup
from gopt.source import Macro, Source, Span, defined_at
from gopt.tree import Inlined, walk

_WORD = re.compile(r"[A-Za-z_$][\w$]*")
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


def _numbers(lookup: Lookup) -> dict[str, str]:
    """The values of macros without parameters that the lookup, or a helper in it, mentions, perhaps by way of others.
    Raises Refusal where one that a helper mentions is not the same any more where the output can check it."""
    source, loop = lookup.source, lookup.loop
    found = _mentioned(_text(source, Span(source.path, loop.first, loop.last, 0)), loop.macros)
    helpers = {n.name for n in walk(lookup.body) if isinstance(n, Inlined)}
    for helper in sorted(helpers & set(source.spans)):
        span = source.spans[helper]
        for name, value in sorted(_mentioned(_text(source, span), defined_at(source.macros, span.start)).items()):
            later = loop.macros.get(name)
            if later is None or later.rest.strip() != value:
                now = "is not defined" if later is None else f"is `{later.rest.strip()}`"
                raise Refusal(
                    f"{span.file}:{span.first}",
                    f"`{name}` is {value} in {helper}(), which has marks, but {now} at the loop that calls it (line "
                    f"{loop.first}), where the output checks that the compiler has the same numbers as gopt",
                    f"use two names, or an enumerator, or an #undef behind {loop.function}()",
                )
            found[name] = value
    return found


def _mentioned(text: str, macros: dict[str, Macro]) -> dict[str, str]:
    """The numbers among `macros` that a text mentions."""
    seen: set[str] = set()
    words = set(_WORD.findall(text)) & set(macros)
    while words:
        seen |= words
        words = {word for name in words for word in _WORD.findall(macros[name].rest)} & set(macros) - seen
    return {name: macros[name].rest.strip() for name in seen if _is_number(macros[name])}


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
