"""Macros that stand for numbers: gopt has put the numbers into the loop, and the output checks that they still hold
where it is compiled."""

import re
import subprocess
from itertools import accumulate

from gopt.errors import Refusal
from gopt.lookup import Lookup
from gopt.source import Macro, Source, Span, compiler, defined_at
from gopt.tree import Inlined, walk

# Words, and what words within it are none of: comments, strings and numbers.
_WORD = re.compile(
    r"""//(?:\\\r?\n|[^\n])* |/\*.*?\*/ |"(?:\\.|[^"\\\n])*" |'(?:\\.|[^'\\\n])*' |\.?\d[\w.$]* |([A-Za-z_$][\w$]*)""",
    re.VERBOSE | re.DOTALL,
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
